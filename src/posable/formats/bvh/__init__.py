"""BVH: the hierarchy, its channels, and files written so that other programs read them."""

from .reader import read, write

__all__ = ["read", "write"]
