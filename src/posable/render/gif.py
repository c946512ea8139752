"""Animated GIF, a frame at a time: Pillow packs the frames, and nothing but the last one stays in memory.

One palette serves all frames, or the ground would flicker; a frame holds only what changed since the one before.
"""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from .raster import Pixels

COLOURS = 255  # the last of 256 is spare


class GifWriter:
    """Writes (H, W, 3) pictures of one size.

    Args:
        file: open for writing bytes.
        size: width and height [pixels].
        fps: frames a second; a frame lasts whole hundredths of a second, which are shared out so that none is lost.
    """

    def __init__(self, file: IO[bytes], size: tuple[int, int], fps: float) -> None:
        self._file, self._size, self._fps = file, size, fps
        self._palette: Any = None
        self._before: Any = None
        self._written = 0

    def write(self, picture: Pixels) -> None:
        """Add a frame."""
        from PIL import GifImagePlugin, Image, ImageChops

        image = Image.fromarray(picture)
        if self._palette is None:
            self._begin(image)
        frame = image.quantize(palette=self._palette, dither=Image.Dither.NONE)
        box = (0, 0, *self._size)
        if self._before is not None:
            changed = ImageChops.difference(frame.convert("RGB"), self._before.convert("RGB")).getbbox()
            box = changed or (0, 0, 1, 1)
        ends = [round(100 * k / self._fps) for k in (self._written, self._written + 1)]
        part = frame.crop(box)
        for piece in GifImagePlugin.getdata(part, box[:2], duration=10 * (ends[1] - ends[0]), disposal=1):
            self._file.write(piece)
        self._before = frame
        self._written += 1

    def close(self) -> None:
        """Write the end of the file."""
        self._file.write(b";")

    def _begin(self, image: Any) -> None:
        """Write the header: the palette of the first picture, and that it plays again and again."""
        self._palette = image.quantize(COLOURS)
        table = np.zeros(768, np.uint8)
        colours = self._palette.getpalette()[:768]
        table[: len(colours)] = colours
        width, height = (side.to_bytes(2, "little") for side in self._size)
        self._file.write(b"GIF89a" + width + height + b"\xf7\x00\x00" + table.tobytes())
        self._file.write(b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")
