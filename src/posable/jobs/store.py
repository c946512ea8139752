"""Where results are kept, so that a job that was killed goes on where it was.

    STORE/3f0c.../manifest.json      the job: function, settings, versions; another setting is another folder
    STORE/3f0c.../a4/a4c1....npz     the result of one item, under a hash of what the item is
    STORE/3f0c.../failures.json      what failed in the latest run, and why

A file is written beside its place and renamed, so it is there and whole or not there; one that is damaged counts as
not there. Whether an item is done is asked of its file alone: there is no list that could disagree with the files.

A file's identity is its absolute path, its size and the time it was last changed, as make and rsync have it; that of
anything else is its value.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from .. import __version__
from ..compute import FormatError, PosableError, atomic_write
from .plain import plain, unpacked

ABANDONED = 3600.0  # seconds after which half a file is nobody's any more


class Store:
    """The results of one job: one function with one set of settings."""

    def __init__(self, folder: str | os.PathLike[str], function: Callable[..., Any], settings: Mapping[str, Any]):
        about = {"posable": __version__, **_named(function), "settings": plain(settings, "settings")}
        self.root = Path(folder) / _digest(about)[:16]
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PosableError(f"cannot keep results in {str(folder)!r}: {error.strerror}") from error
        _remove_abandoned(self.root)
        _write(self.root / "manifest.json", json.dumps(about, indent=1).encode())

    def path(self, key: str) -> Path:
        """Where the result with this key lies; 256 folders, so that none gets too large."""
        return self.root / key[:2] / f"{key}.npz"

    def put(self, key: str, data: bytes) -> None:
        """Keep the file of a result."""
        path = self.path(key)
        path.parent.mkdir(exist_ok=True)
        _write(path, data)

    def get(self, key: str, identity: str | None = None) -> Any:
        """The result with this key; FormatError where there is none, or a damaged one, or that of something else."""
        path = self.path(key)
        found, result = unpacked(path)
        if identity is not None and found != identity:
            raise FormatError(path, f"is the result of {found[:100]}")
        return result

    def tell(self, failures: Sequence[Mapping[str, Any]]) -> None:
        """Write down what failed."""
        _write(self.root / "failures.json", json.dumps(failures, indent=1).encode())


class Results(Sequence[Any]):
    """Results in the order of their items, each read from its file when it is asked for; None where it failed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys = bytearray()  # 16 bytes an item: a million of them must fit beside the job

    def add(self, key: str | None) -> None:
        """The key of the next item, None until it is done."""
        self._keys += bytes(16) if key is None else bytes.fromhex(key)

    def set(self, index: int, key: str) -> None:
        """Item `index` is done."""
        self._keys[16 * index : 16 * index + 16] = bytes.fromhex(key)

    def __len__(self) -> int:
        return len(self._keys) // 16

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"result {index} of {len(self)}")
        key = bytes(self._keys[16 * (index % len(self)) :][:16])
        return self._store.get(key.hex()) if any(key) else None


def identity_of(item: Any) -> str:
    """What an item is, as text: files inside it with their size and time of change."""
    return json.dumps(_identity(item), sort_keys=True)


def key_of(identity: str) -> str:
    """The name under which a result is kept: 32 hexadecimal digits."""
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _identity(item: Any) -> Any:
    if isinstance(item, os.PathLike):
        path = Path(os.fsdecode(item)).absolute()
        try:
            about = path.stat()
        except (OSError, ValueError):  # whoever opens it will say so
            return {"file": str(path)}
        return {"file": str(path), "bytes": about.st_size, "changed_ns": about.st_mtime_ns}
    if isinstance(item, list | tuple):
        return [_identity(part) for part in item]
    if isinstance(item, Mapping):
        return {str(name): _identity(part) for name, part in item.items()}
    return plain(item, "an item")


def _named(function: Callable[..., Any]) -> dict[str, Any]:
    """A function as the manifest knows it: its name, and its source where that can be read."""
    if not inspect.isfunction(function) or function.__closure__:
        raise PosableError(
            f"{function!r} cannot be recognised in a later run; with a store, expected a plain function, "
            "and what it needs besides the item in settings="
        )
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = ""
    return {
        "function": f"{function.__module__}:{function.__qualname__}",
        "source": hashlib.sha256(source.encode()).hexdigest(),
    }


def _digest(about: Any) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _write(path: Path, data: bytes) -> None:
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def _remove_abandoned(root: Path) -> None:
    """Remove the half files of runs that were killed; they begin with a dot and nobody waits for them."""
    for path in [*root.glob(".*"), *root.glob("*/.*")]:
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
        except OSError:
            continue  # somebody else was faster
