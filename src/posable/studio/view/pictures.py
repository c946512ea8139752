"""Pictures and videos of what a window shows: drawn by the browser, without its panels, and written here."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from ...compute import PosableError, require

VIDEOS: dict[str, tuple[str, float, int]] = {
    ".gif": ("GIF (plays anywhere, 256 colours)", 25.0, 720),
    ".png": ("Animated PNG (all colours, large)", 25.0, 960),
    ".mp4": ("MP4 (small, any length)", 30.0, 1920),
}
"""What each suffix is, its frames a second, and its width at most [pixels]. (A GIF's frames last whole 1/100 s.)"""
LONGEST = 1500
"""Frames of a GIF or an animated PNG at most: all of them are in memory at once."""
PATIENCE = 60.0
"""Seconds that a window may take for one frame."""
Image = NDArray[np.uint8]


def still(client: viser.ClientHandle, width: int, height: int) -> bytes:
    """Return what a window shows as a PNG file."""
    return _encoded(seen(client, width, height, "png"))


def seen(client: viser.ClientHandle, width: int, height: int, transport: Any = "jpeg") -> Image:
    """Return (H, W, 3) what a window shows now."""
    if not (0 < width <= 8192 and 0 < height <= 8192):
        raise PosableError(f"a picture of {width} by {height} pixels cannot be made; give 1 to 8192 for each")
    try:
        drawn = client.get_render(height, width, transport_format=transport, timeout=PATIENCE)
    except (TimeoutError, RuntimeError) as error:
        raise PosableError(f"the window gave no picture ({error}); keep it open and in sight") from error
    return np.ascontiguousarray(drawn[..., :3])


def video_size(suffix: str, width: int, height: int) -> tuple[int, int]:
    """Return width and height [pixels] of a video of a window with these: even, and not wider than is sensible."""
    scale = min(1.0, VIDEOS[suffix][2] / max(width, 1))
    return max(2, int(width * scale) // 2 * 2), max(2, int(height * scale) // 2 * 2)


def video_times(suffix: str, first: float, last: float) -> NDArray[np.float64]:
    """Return (N,) the times [s] of a video's frames, from the first to the last second of a motion."""
    fps = VIDEOS[suffix][1]
    count = max(1, round((last - first) * fps))
    if count > LONGEST and suffix != ".mp4":
        raise PosableError(
            f"{last - first:.0f} s are {count} frames, and {suffix} takes {LONGEST} at most; "
            "zoom into the timeline, whose range is filmed, or choose MP4"
        )
    return first + np.arange(count) / fps


def check_video(suffix: str) -> None:
    """Raise where a video cannot be written, before its frames are drawn."""
    if suffix not in VIDEOS:
        raise PosableError(f"unknown kind of video {suffix!r}; it is one of {', '.join(VIDEOS)}")
    if suffix == ".mp4":
        require("imageio_ffmpeg", "video")


def video(suffix: str, frames: Iterable[Image]) -> bytes:
    """Return frames (H, W, 3), one size for all, as a video file."""
    check_video(suffix)
    return _movie(iter(frames)) if suffix == ".mp4" else _animation(suffix, frames)


def _animation(suffix: str, frames: Iterable[Image]) -> bytes:
    from PIL import Image as Picture

    pictures = [Picture.fromarray(frame) for frame in frames]
    if suffix == ".gif":  # one palette for all, or the ground would flicker
        sample = np.concatenate([np.asarray(each)[::4, ::4] for each in pictures[:: max(1, len(pictures) // 8)]])
        palette = Picture.fromarray(sample).quantize(256)
        pictures = [each.quantize(palette=palette, dither=Picture.Dither.NONE) for each in pictures]
    buffer = io.BytesIO()
    rest = {"save_all": True, "append_images": pictures[1:], "duration": round(1000 / VIDEOS[suffix][1]), "loop": 0}
    pictures[0].save(buffer, format=suffix[1:].upper(), **rest)
    return buffer.getvalue()


def _movie(frames: Iterator[Image]) -> bytes:
    ffmpeg = require("imageio_ffmpeg", "video")
    first = next(frames)
    with tempfile.TemporaryDirectory(prefix="posable-video-") as folder:
        path = Path(folder) / "video.mp4"
        size = (first.shape[1], first.shape[0])
        writer = ffmpeg.write_frames(str(path), size, fps=VIDEOS[".mp4"][1], macro_block_size=2, quality=7)
        writer.send(None)
        try:
            writer.send(first.tobytes())
            for frame in frames:
                writer.send(np.ascontiguousarray(frame).tobytes())
        finally:
            writer.close()
        return path.read_bytes()


def _encoded(image: Image) -> bytes:
    from PIL import Image as Picture

    buffer = io.BytesIO()
    Picture.fromarray(image).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()
