"""Real motion by name: forty clips of the CMU database, from a local mirror or from their public repository.

The list (`assets/cmu_clips.json`) ships with the package; the clips do not. `fetch` takes a clip from the mirror in
`$POSABLE_DATA` where it is there, else downloads it once with pooch. A file is handed on only if its sha256 is the
list's, wherever it came from.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..compute import PosableError, UnknownNameError, atomic_write, cache_dir, require
from ..compute.files import sha256_of


def list_clips() -> list[dict[str, Any]]:
    """A row for each clip: its name, what is done in it, frames in the file, true frame rate, seconds, megabytes."""
    return [
        {
            "clip": clip["clip"],
            "description": clip["description"],
            "frames": clip["frames"],
            "fps": clip["fps"],
            "seconds": round(clip["frames"] / clip["fps"], 1),
            "MB": round(clip["bytes"] / 1e6, 1),
        }
        for clip in _manifest()["clips"]
    ]


def fetch(names: Iterable[str] | str, destination: str | os.PathLike[str] | None = None) -> list[Path]:
    """The paths of clips by name ("17_10"), checked by hash; in `destination`, or in the cache when not given."""
    clips = {clip["clip"]: clip for clip in _manifest()["clips"]}
    requested = [names] if isinstance(names, str) else list(names)
    for name in requested:
        if name not in clips:
            raise UnknownNameError("clip", name, clips)
    folder = cache_dir() / "cmu" if destination is None else Path(destination)
    above = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PosableError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
    try:
        return [_fetch_one(clips[name], folder) for name in requested]
    except PosableError:
        with suppress(OSError):  # folders that were made for nothing
            for path in above:
                path.rmdir()
        raise


@cache
def _manifest() -> dict[str, Any]:
    text = resources.files("posable").joinpath("assets", "cmu_clips.json").read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def _fetch_one(clip: dict[str, Any], folder: Path) -> Path:
    target = folder / f"{clip['clip']}.bvh"
    if target.is_file() and sha256_of(target) == clip["sha256"]:
        return target
    source = _mirrored(clip["clip"])
    if source is None:
        return _download(clip, target)
    if (found := sha256_of(source)) != clip["sha256"]:
        raise PosableError(f"{source}: its sha256 is {found}, not {clip['sha256']}; the mirror holds another file")
    with atomic_write(target) as temporary:
        shutil.copyfile(source, temporary)
    return target


def _mirrored(name: str) -> Path | None:
    if not (data := os.environ.get("POSABLE_DATA")):
        return None
    candidates = (Path(data) / "cmu" / f"{name}.bvh", Path(data) / f"{name}.bvh")
    return next((path for path in candidates if path.is_file()), None)


def _download(clip: dict[str, Any], target: Path) -> Path:
    pooch = require("pooch", "data")
    pooch.get_logger().setLevel("WARNING")  # what is going on is for the caller to show
    name = clip["clip"]
    url = f"{_manifest()['url']}{int(name.split('_')[0]):03d}/{name}.bvh"
    try:
        # pooch writes next to the target, compares the hash, and only then moves the file into place.
        pooch.retrieve(url, known_hash=f"sha256:{clip['sha256']}", fname=target.name, path=target.parent)
    except (OSError, ValueError) as error:  # no network, no such file, another hash
        raise PosableError(
            f"cannot fetch clip {name!r} from {url}: {error}; "
            "or set POSABLE_DATA to a folder that has it as cmu/<clip>.bvh"
        ) from error
    return target
