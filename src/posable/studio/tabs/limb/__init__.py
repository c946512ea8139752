"""Limb: the tab (`tab`) and its parts."""
