"""Measures, tables, plots and pictures: what tells how good an answer is."""

from .picture import portrait, save_picture, strip

__all__ = ["portrait", "save_picture", "strip"]
