"""Motions that play in a page: `Player`, made once, shown in a notebook, opened in a browser or saved as HTML.

The page needs no network and no running Python: it carries the motion and the program that draws it
(`assets/player.min.js`: our own sources in `tools/player` with three.js, bundled by `tools/player/build.mjs`).
"""

from __future__ import annotations

from .page import Player, script

__all__ = ["Player", "script"]
