"""Reach: the tab (`tab`) and its parts."""
