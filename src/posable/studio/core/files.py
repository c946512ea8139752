"""Files of the studio: opened by path, uploaded by a browser, saved, downloaded.

What a browser uploads is a stranger's until it is parsed: it must be small enough and have a known suffix, it is
written under a name of ours into a folder of its own, and the folder goes when it has been read.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from ...compute import FormatError, PosableError
from ...formats import load, save, suffixes
from ...formats.cmu import is_conversion
from ...skeleton import Motion

LARGEST_UPLOAD = 256 * 1024 * 1024
"""Bytes of the largest file taken from a browser."""


def open_path(path: str | Path) -> Motion:
    """Read a file of this machine; `~` is the user's home."""
    text = str(path).strip().strip('"')
    if not text:
        raise PosableError(f"give the path of a file to open; known suffixes: {', '.join(suffixes())}")
    source = Path(text).expanduser()
    try:
        return _read(source).replace(name=source.stem)
    except OSError as error:
        raise FormatError(source, error.strerror or str(error)) from error


def open_upload(name: str, content: bytes) -> Motion:
    """Read what a browser sent under a name; an error speaks of that name, never of a folder of this machine."""
    shown = upload_name(name)
    if len(content) > LARGEST_UPLOAD:
        raise FormatError(shown, f"has {len(content)} bytes; at most {LARGEST_UPLOAD} are taken")
    suffix = Path(shown).suffix.lower()
    if suffix not in suffixes():
        raise FormatError(shown, f"unknown suffix {suffix!r}; known: {', '.join(suffixes())}")
    with tempfile.TemporaryDirectory(prefix="posable-upload-") as folder:
        kept = Path(folder) / f"upload{suffix}"
        kept.write_bytes(content)
        try:
            motion = _read(kept)
        except PosableError as error:
            raise PosableError(str(error).replace(str(kept), shown).replace(folder, "")) from None
        except OSError as error:
            raise FormatError(shown, error.strerror or "cannot be read") from None
    return motion.replace(name=Path(shown).stem)


def upload_name(name: str) -> str:
    """The last part of a name that a browser gave, without anything that could lead elsewhere."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    kept = re.sub(r"[^\w .()+-]", "_", last).strip(" .")[-100:]
    return kept or "upload"


def save_path(motion: Motion, path: str | Path) -> Path:
    """Write a motion to a file of this machine; the format by its suffix. Returns the whole path."""
    text = str(path).strip().strip('"')
    if not text:
        raise PosableError(f"give a file name to save to; suffixes: {', '.join(suffixes(written=True))}")
    target = Path(text).expanduser().absolute()
    try:
        save(motion, target)
    except OSError as error:
        raise FormatError(target, error.strerror or str(error)) from error
    return target


def encoded(motion: Motion, name: str) -> tuple[str, bytes]:
    """A motion as the bytes of a file; the format by the suffix of the name. Returns a plain name and the bytes."""
    shown = upload_name(name)
    with tempfile.TemporaryDirectory(prefix="posable-download-") as folder:
        target = Path(folder) / f"motion{Path(shown).suffix.lower()}"
        try:
            save(motion, target)
        except PosableError as error:
            raise PosableError(str(error).replace(str(target), shown)) from None
        return shown, target.read_bytes()


def _read(path: Path) -> Motion:
    """A file as one wants to see it: clips of the CMU conversion, which say no unit, are mended."""
    motion = load(path)
    if path.suffix.lower() == ".bvh" and is_conversion(motion.skeleton):
        return load(path, repair="cmu")
    return motion
