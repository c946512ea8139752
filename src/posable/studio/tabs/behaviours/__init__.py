"""Behaviours: the tab (`tab`) and its parts."""
