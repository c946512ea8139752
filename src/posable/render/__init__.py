"""Pictures of bodies without a screen: a software rasteriser, the meshes drawn for a body, strips and portraits."""

from __future__ import annotations

from .picture import portrait, save_picture, strip

__all__ = ["portrait", "save_picture", "strip"]
