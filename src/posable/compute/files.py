"""Bounded reading, writing that never leaves half a file, paths that stay in their folder, and where caches live."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FormatError, PosableError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it into place on success, remove it on failure.

    The temporary file lies in the target's folder, so that the rename never crosses file systems.
    An existing file keeps its permissions.
    """
    target = Path(path)
    check_writable(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise PosableError(f"cannot write into {str(target.parent)!r}: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise where a file could never be written to `path`: for jobs that should not work for minutes first."""
    target = Path(path)
    if target.is_dir():
        raise PosableError(f"cannot write {str(target)!r}: it is a folder; give a file name in it")
    # A rename would put a file in the place of a device or a pipe, and of the link /dev/stdout.
    if (target.exists() and not target.is_file()) or target.absolute().parent in (Path("/dev"), Path("/proc/self/fd")):
        raise PosableError(f"cannot write {str(target)!r}: it is not a regular file; give the name of one")
    if not target.parent.is_dir():
        raise PosableError(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise PosableError(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} may not be written to")


def read_bytes(path: str | os.PathLike[str], max_bytes: int, *, first: int | None = None) -> bytes:
    """Return the content of a regular file; one that is larger, missing or unreadable is a FormatError.

    Pipes, devices and folders are refused without waiting for them.

    Args:
        path: the file.
        max_bytes: files with more bytes are refused unread.
        first: how many bytes to read from the beginning, however large the file is; all by default.
    """
    file = Path(path)
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FormatError(file, "is not a regular file")
            length = about.st_size if first is None else min(first, about.st_size)
            if length > max_bytes:
                raise FormatError(file, f"has {about.st_size} bytes; files up to {max_bytes} are read")
            return opened.read(length)
    except (OSError, ValueError) as error:  # a ValueError: a name with a character of code zero
        if isinstance(error, FormatError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FormatError(file, f"cannot be read: {reason}") from error


def _open_at_once(name: str, flags: int) -> int:
    """Open a file; without O_NONBLOCK, opening a pipe waits for somebody who writes into it."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | os.PathLike[str], max_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, without a byte-order mark; what is no text is a FormatError."""
    try:
        return read_bytes(path, max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(path, "is not text") from None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inside_folder(folder: Path, name: str) -> Path | None:
    """Return the file that a relative path with "/" names, if it is in the folder or below, links followed; else None.

    For names that stand in files from strangers.
    """
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or ":" in parts[0] or name.startswith("/") or ".." in parts:
        return None
    home = folder.resolve()
    try:
        target = (home / name).resolve()
        target.is_file()
        return target if target.is_relative_to(home) else None
    except (OSError, RuntimeError, ValueError):  # too long, or links that run in a circle
        return None


def cache_dir() -> Path:
    """Return the folder for files that can be made again: `$POSABLE_CACHE`, or the platform's cache folder.

    The path is absolute, so that what is stored there is found again after the current folder was changed.
    """
    if chosen := os.environ.get("POSABLE_CACHE"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local").absolute() / "posable"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "posable"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "posable"


def _umask() -> int:
    current = os.umask(0)  # the umask can only be read by setting it
    os.umask(current)
    return current
