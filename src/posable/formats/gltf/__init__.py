"""glTF 2.0, GLB and VRM: documents read with care, and written."""

from .reader import animations, read, write

__all__ = ["animations", "read", "write"]
