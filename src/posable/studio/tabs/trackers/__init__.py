"""Trackers: the tab (`tab`) and its parts."""
