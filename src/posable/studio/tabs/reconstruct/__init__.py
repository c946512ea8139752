"""Reconstruct: the tab (`tab`) and its parts."""
