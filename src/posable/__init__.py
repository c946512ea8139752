"""Posable gives a body to a target."""

__version__ = "0.1.0"
