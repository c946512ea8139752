"""Files of the studio: opened and saved by path, uploaded and downloaded by a browser.

An upload is untrusted until it is parsed: it must be small enough and have a known suffix, it is stored under a name
of ours in a folder of its own, the folder goes when it has been read, and an error speaks of the name that the browser
gave, never of a folder of this machine.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeVar

from ...compute import FormatError, PosableError
from ...formats import load, suffixes
from ...formats.cmu import is_conversion
from ...skeleton import Motion

LARGEST_UPLOAD = 256 * 1024 * 1024
"""Bytes of the largest file taken from a browser."""
Content = TypeVar("Content")


def read_motion(path: Path, name: str) -> Motion:
    """Read a motion that people know by a file name.

    Clips of the CMU conversion, which state no unit, are repaired, and go without the T-pose at their beginning.
    """
    motion = load(path)
    if path.suffix.lower() == ".bvh" and is_conversion(motion.skeleton):
        first = min(1, len(motion) - 1)
        motion = load(path, repair="cmu", first_frame=first)
        if first:
            motion = motion.replace(notes=(*motion.notes, "the converter's T-pose, frame 0 of the file, is left out"))
    return motion.replace(name=Path(name).stem)


def local_path(text: str | Path, example: str) -> Path:
    """Return the absolute path that a user typed; `~` is the user's home."""
    typed = str(text).strip().strip('"')
    if not typed:
        raise PosableError(f"give the path of a file, such as {example}")
    return Path(typed).expanduser().absolute()


def use_path(path: Path, use: Callable[[Path], Content]) -> Content:
    """Return `use(path)`, which reads or writes a file of this machine; an error of the system names the file."""
    try:
        return use(path)
    except OSError as error:
        raise FormatError(path, error.strerror or str(error)) from error


def read_upload(
    name: str, content: bytes, read: Callable[[Path, str], Content], known: Sequence[str], largest: int
) -> Content:
    """Read an uploaded file with `read(path, name)`.

    Args:
        name: the file's name, as the browser gave it.
        content: its bytes.
        read: called with the path where it is stored meanwhile, and with the name that people know it by.
        known: the suffixes that are taken.
        largest: bytes that are taken at most.
    """
    shown = upload_name(name)
    suffix = Path(shown).suffix.lower()
    if suffix not in known:
        raise FormatError(shown, f"unknown suffix {suffix!r}; known: {', '.join(known)}")
    if len(content) > largest:
        raise FormatError(shown, f"has {len(content)} bytes; at most {largest} are read")
    with tempfile.TemporaryDirectory(prefix="posable-upload-") as folder:
        # In a folder of its own: what a file names in the folder above it is not that of other uploads.
        stored = Path(folder) / "upload" / f"upload{suffix}"
        stored.parent.mkdir()
        stored.write_bytes(content)
        try:
            return read(stored, shown)
        except PosableError as error:
            raise PosableError(
                str(error).replace(str(stored), shown).replace(str(stored.parent), "").replace(folder, "")
            ) from None
        except OSError as error:
            raise FormatError(shown, error.strerror or "cannot be read") from None


def download(name: str, write: Callable[[Path], object]) -> tuple[str, bytes]:
    """Return a plain file name and the bytes that `write(path)` writes for it; the format by the name's suffix."""
    shown = upload_name(name)
    with tempfile.TemporaryDirectory(prefix="posable-download-") as folder:
        target = Path(folder) / f"download{Path(shown).suffix.lower()}"
        try:
            write(target)
        except PosableError as error:
            raise PosableError(str(error).replace(str(target), shown)) from None
        return shown, target.read_bytes()


def open_path(path: str | Path) -> Motion:
    """Read a motion of this machine."""
    file = local_path(path, f"walk.bvh (known suffixes: {', '.join(suffixes())})")
    return use_path(file, lambda file: read_motion(file, file.name))


def upload_name(name: str) -> str:
    """Return the last part of a name that a browser gave, without anything that could lead elsewhere."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    plain = re.sub(r"[^\w .()+-]", "_", last).strip(" .")[-100:]
    return plain or "upload"
