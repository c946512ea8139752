"""The volumes of a body: what it occupies, for looking at it and, later, for asking what it touches."""

from .volumes import VolumeMesh, Volumes

__all__ = ["VolumeMesh", "Volumes"]
