"""Pose: the tab (`tab`) and its parts."""
