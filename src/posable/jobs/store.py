"""The results of a job as files that anybody may open, so that a job that was killed goes on where it was.

    STORE/3f0c.../manifest.json      the job: function, settings, versions; another setting is another folder
    STORE/3f0c.../a4/a4c1....npz     the result of one item, under a hash of what the item is
    STORE/3f0c.../failures.json      what failed in the latest run, and why

A file is written under another name and renamed, so it is there and whole or not there; one that is damaged counts as
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

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..compute import FormatError, PosableError, atomic_write
from ..compute.archive import PLAIN, archive_bytes, read_any_archive

FORMAT, VERSION = "posable-result", 1
MAX_BYTES = 1 << 34
ARRAY = "$array"  # {"$array": 2} in the tree is the archive's member array_2
ABANDONED = 3600.0  # seconds after which half a file is nobody's any more


class Store:
    """The results of one job: one function with one set of settings."""

    def __init__(self, folder: str | os.PathLike[str], function: Callable[..., Any], settings: Mapping[str, Any]):
        about = {"posable": __version__, **_named(function), "settings": json_tree(settings, "settings")}
        self.root = Path(folder) / _digest(about)[:16]
        self._about = json.dumps(about, indent=1).encode()

    def open(self) -> None:
        """Make the folder; not before it is known that there is work for it, so that a mistake leaves none behind."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PosableError(f"cannot store results in {str(self.root.parent)!r}: {error.strerror}") from error
        _remove_abandoned(self.root)
        _write(self.root / "manifest.json", self._about)

    def path(self, key: str) -> Path:
        """Return the file of the result with this key; 256 folders, so that none gets too large."""
        return self.root / key[:2] / f"{key}.npz"

    def put(self, key: str, data: bytes) -> None:
        """Store the file of a result."""
        _write(self.path(key), data)

    def get(self, key: str, identity: str | None = None) -> Any:
        """Return the result with this key; FormatError where it is missing, damaged or that of another item."""
        path = self.path(key)
        found, result = read_result(path)
        if identity is not None and found != identity:
            raise FormatError(path, f"is the result of {found[:100]}")
        return result

    def write_failures(self, failures: Sequence[Mapping[str, Any]]) -> None:
        """Write the list of failures."""
        _write(self.root / "failures.json", json.dumps(failures, indent=1).encode())


class Results(Sequence[Any]):
    """Results in the order of their items, each read from its file when it is asked for; None where it failed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys = bytearray()  # 16 bytes an item: a million of them must fit into memory with the job

    def add(self, key: str | None) -> None:
        """Append the key of the next item, None until it is done."""
        self._keys += bytes(16) if key is None else bytes.fromhex(key)

    def set(self, index: int, key: str) -> None:
        """Store the key of item `index`, which is done."""
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
    """Return the identity of an item as text: files inside it with their size and time of change."""
    return json.dumps(_identity(item), sort_keys=True)


def key_of(identity: str) -> str:
    """Return the name under which a result is stored: 32 hexadecimal digits."""
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
    return json_tree(item, "an item")


def result_bytes(identity: str, result: Any) -> bytes:
    """Return the file of a result, with the identity of its item: a tree of JSON, and the arrays it points to.

    Nothing is pickled, so a store that came from a stranger can at worst hold wrong numbers. Floats and arrays come
    back with the same bits; tuples come back as lists, NumPy's numbers as Python's.
    """
    arrays: list[NDArray[Any]] = []
    about = {"format": FORMAT, "version": VERSION, "item": identity, "result": _tree(result, arrays, "the result")}
    text = json.dumps(about, ensure_ascii=False).encode("utf-8", "surrogatepass")
    members = {"about": np.frombuffer(text, np.uint8)}
    return archive_bytes(members | {f"array_{k}": array for k, array in enumerate(arrays)})


def read_result(path: str | os.PathLike[str]) -> tuple[str, Any]:
    """Return (identity, result) of a file; raise FormatError unless it is whole and one of ours."""
    arrays = read_any_archive(path, MAX_BYTES)
    try:
        about = json.loads(arrays.pop("about").tobytes().decode("utf-8", "surrogatepass"))
        if (about["format"], about["version"]) != (FORMAT, VERSION):
            raise FormatError(path, f"is no {FORMAT} of version {VERSION}")
        identity = about["item"]
        if not isinstance(identity, str):
            raise TypeError("item is no text")
        return identity, _value(about["result"], arrays)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(path, f"is no result as we write them: {error}") from error


def json_tree(value: Any, what: str) -> Any:
    """Return a value as JSON knows it, without arrays: settings and items may be such values."""
    arrays: list[NDArray[Any]] = []
    tree = _tree(value, arrays, what)
    if arrays:
        raise PosableError(f"{what} has an array in it; expected numbers, text, lists, dicts and paths")
    return tree


def _tree(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    """Return a value with its arrays taken out and named by their number."""
    if value is None or isinstance(value, bool):
        return value
    for simple in (str, int, float):
        if isinstance(value, simple):
            return simple(value)  # of a NumPy number or an enumeration, its value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in PLAIN:
        arrays.append(value)
        return {ARRAY: len(arrays) - 1}
    try:
        if isinstance(value, list | tuple):
            return [_tree(part, arrays, f"{where}[{k}]") for k, part in enumerate(value)]
        if isinstance(value, Mapping):
            return {_key(name, where): _tree(part, arrays, f"{where}[{name!r}]") for name, part in value.items()}
        if isinstance(value, os.PathLike):
            return os.fsdecode(value)
    except RecursionError:
        raise PosableError("it is nested too deeply, or in itself") from None
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise PosableError(f"{where} is a {kind}; expected numbers, text, None, lists, dicts, paths and arrays of numbers")


def _key(name: Any, where: str) -> str:
    if not isinstance(name, str) or name.startswith("$"):
        raise PosableError(f"{where} has the key {name!r}; keys are text that does not begin with $")
    return str(name)


def _value(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that a tree was made from: the tree itself, with its arrays put in, since two could be large."""
    if isinstance(tree, dict) and ARRAY in tree:
        return arrays[f"array_{tree[ARRAY]}"]
    if isinstance(tree, list | dict):
        for name, part in enumerate(tree) if isinstance(tree, list) else tree.items():
            if isinstance(part, list | dict):
                tree[name] = _value(part, arrays)
    return tree


def _named(function: Callable[..., Any]) -> dict[str, Any]:
    """A function as the manifest knows it: its name, and its source where that can be read."""
    # Public functions of a room are wrapped to explain wrong arguments; another's decorator may be part of its work.
    plain = inspect.unwrap(function) if hasattr(function, "__explains__") else function
    if not inspect.isfunction(plain) or plain.__closure__:
        raise PosableError(
            f"{function!r} cannot be recognised in a later run; with a store, expected a plain function, "
            "and what it needs besides the item in settings="
        )
    try:
        source = inspect.getsource(plain)
    except (OSError, TypeError):
        source = ""
    return {
        "function": f"{function.__module__}:{function.__qualname__}",
        "source": hashlib.sha256(source.encode()).hexdigest(),
    }


def _digest(about: Any) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:  # a disk that is full, or that went away
        raise PosableError(
            f"cannot store results in {str(path.parent)!r}: {error.strerror}; what was done is stored: run it again"
        ) from error


def _remove_abandoned(root: Path) -> None:
    """Remove the half files of runs that were killed; they begin with a dot and nobody waits for them."""
    for path in [*root.glob(".*"), *root.glob("*/.*")]:
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
        except OSError:
            continue  # somebody else was faster
