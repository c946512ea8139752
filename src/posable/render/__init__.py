"""Pictures of bodies: strips, portraits and films drawn without a screen, and motions that play in a page."""

from __future__ import annotations

from ..compute.arguments import explain_mistakes
from .film import film
from .picture import portrait, save_picture, strip
from .player import Player

__all__ = ["Player", "film", "portrait", "save_picture", "strip"]

explain_mistakes(__name__)
