"""How many rows of a skeleton's frames, one a joint and frame, a file may ask for: joints that never move cost no text.

A file of ten thousand joints without channels and a hundred thousand frames of one number would be gigabytes.
"""

from __future__ import annotations

from pathlib import Path

from ..compute import FormatError

FREE_ROWS, BYTES_A_ROW = 1 << 20, 4  # of frames times joints that any file may have, and of the file for more of them


def most_rows(size: int) -> int:
    """Return how many frames times joints a file of so many bytes may have."""
    return FREE_ROWS + size // BYTES_A_ROW


def check_rows(path: Path, frames: int, joints: int) -> None:
    """Raise where a file is too small for frames of so many joints."""
    if frames * joints > most_rows(path.stat().st_size):
        raise FormatError(path, f"its {frames} frames of a skeleton of {joints} joints are more than its size allows")
