"""Real motion and robots by name: clips of the CMU database and robots of MuJoCo Menagerie, from public repositories.

The lists (`assets/cmu_clips.json`, `assets/robots.json`) ship with the package; the files do not. `fetch` takes one
from the mirror in `$POSABLE_DATA` where it is there, else downloads it once with pooch. A file is handed on only if its
sha256 is the list's, wherever it came from.
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


def list_robots() -> list[dict[str, Any]]:
    """A row for each robot: its name, which one it is, the file that is read, its licence, files and megabytes."""
    return [
        {
            "robot": robot["robot"],
            "description": robot["description"],
            "read": robot["read"],
            "licence": robot["licence"],
            "files": len(robot["files"]),
            "MB": round(sum(file["bytes"] for file in robot["files"]) / 1e6, 1),
        }
        for robot in _robots()["robots"]
    ]


def fetch(names: Iterable[str] | str, destination: str | os.PathLike[str] | None = None) -> list[Path]:
    """The paths of clips ("17_10") and robots ("g1") by name, checked by hash; in the cache without a destination.

    A robot is a folder with its meshes; the path is that of the file to load.
    """
    clips = {clip["clip"]: clip for clip in _manifest()["clips"]}
    robots = {robot["robot"]: robot for robot in _robots()["robots"]}
    requested = [names] if isinstance(names, str) else list(names)
    for name in requested:
        if name not in clips and name not in robots:
            raise UnknownNameError("clip or robot", name, [*clips, *robots])
    above: list[Path] = []

    def folder_for(kind: str) -> Path:
        folder = cache_dir() / kind if destination is None else Path(destination)
        above.extend(path for path in (folder, *folder.parents) if not path.exists())
        return _made(folder)

    try:
        return [
            _fetch_clip(clips[name], folder_for("cmu"))
            if name in clips
            else _fetch_robot(robots[name], folder_for("robots"))
            for name in requested
        ]
    except PosableError:
        with suppress(OSError):  # folders that were made for nothing
            for path in above:
                path.rmdir()
        raise


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PosableError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
    return folder


@cache
def _manifest() -> dict[str, Any]:
    return _list("cmu_clips.json")


@cache
def _robots() -> dict[str, Any]:
    return _list("robots.json")


def _list(name: str) -> dict[str, Any]:
    text = resources.files("posable").joinpath("assets", name).read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text)
    return manifest


def _fetch_clip(clip: dict[str, Any], folder: Path) -> Path:
    name = clip["clip"]
    url = f"{_manifest()['url']}{int(name.split('_')[0]):03d}/{name}.bvh"
    mirrored = _mirrored(f"cmu/{name}.bvh", f"{name}.bvh")
    hint = "or set POSABLE_DATA to a folder that has it as cmu/<clip>.bvh"
    return _fetched(folder / f"{name}.bvh", clip["sha256"], mirrored, url, f"clip {name!r}", hint)


def _fetch_robot(robot: dict[str, Any], folder: Path) -> Path:
    for file in robot["files"]:
        target = folder / file["file"]
        _made(target.parent)
        mirrored = _mirrored(f"robots/menagerie/{file['file']}")
        hint = "or set POSABLE_DATA to a folder that has it as robots/menagerie/<file>"
        what = f"robot {robot['robot']!r}"
        _fetched(target, file["sha256"], mirrored, f"{_robots()['url']}{file['file']}", what, hint)
    return folder / str(robot["read"])


def _fetched(target: Path, sha256: str, mirrored: Path | None, url: str, what: str, hint: str) -> Path:
    """Return the path of a file with this hash: one that is there, else from the mirror, else downloaded."""
    if target.is_file() and sha256_of(target) == sha256:
        return target
    if mirrored is None:
        return _download(target, sha256, url, what, hint)
    if (found := sha256_of(mirrored)) != sha256:
        raise PosableError(f"{mirrored}: its sha256 is {found}, not {sha256}; the mirror holds another file")
    with atomic_write(target) as temporary:
        shutil.copyfile(mirrored, temporary)
    return target


def _mirrored(*names: str) -> Path | None:
    if not (data := os.environ.get("POSABLE_DATA")):
        return None
    return next((path for name in names if (path := Path(data) / name).is_file()), None)


def _download(target: Path, sha256: str, url: str, what: str, hint: str) -> Path:
    pooch = require("pooch", "data")
    pooch.get_logger().setLevel("WARNING")  # what is going on is for the caller to show
    try:
        # pooch writes next to the target, compares the hash, and only then moves the file into place.
        pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=target.name, path=target.parent)
    except (OSError, ValueError) as error:  # no network, no such file, another hash
        raise PosableError(f"cannot fetch {what} from {url}: {error}; {hint}") from error
    return target
