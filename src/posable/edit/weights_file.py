"""Weights kept in a file beside their motion, since a fit takes milliseconds a frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..compute import FormatError
from ..compute.archive import read_archive, write_archive
from ..compute.types import Floats
from .clip import Clip
from .weights import LOCKED_LOG, Progress, fit_weights

MOST_FILE = 1 << 30  # bytes


def cached_weights(
    path: str | os.PathLike[str] | None, clip: Clip, kind: str, similar: Sequence[Clip], progress: Progress | None
) -> Floats:
    """(F, n): weights from a file where it belongs to this motion, else fitted and kept in it; no path keeps none."""
    settings = " ".join([kind, *(other.digest for other in similar)])
    if path is not None and Path(path).exists():
        found = load_weights(path, clip, settings)
        if found is not None:
            return found
    logs = fit_weights(clip, kind, similar=similar, progress=progress)
    if path is not None:
        save_weights(path, clip, logs, settings)
    return logs


def save_weights(path: str | os.PathLike[str], clip: Clip, logs: Floats, settings: str) -> None:
    """Keep weights in a file, with the name of the motion they belong to."""
    free = np.ascontiguousarray(logs[:, clip.parts.free], dtype=np.float32)
    write_archive(path, {"format": np.array("posable weights 1"), "key": np.array(_key(clip, settings)), "logs": free})


def load_weights(path: str | os.PathLike[str], clip: Clip, settings: str) -> Floats | None:
    """Weights from a file, or None where it belongs to another motion or other settings; raises for a broken file."""
    found = read_archive(path, {"format": ("U", 0), "key": ("U", 0), "logs": ("<f4", 2)}, MOST_FILE)
    if set(found) != {"format", "key", "logs"} or str(found["format"]) != "posable weights 1":
        raise FormatError(path, "is no file of weights as we write them")
    if str(found["key"]) != _key(clip, settings):
        return None
    if found["logs"].shape != (len(clip), int(clip.parts.free.sum())) or np.abs(found["logs"]).max(initial=0.0) > 50.0:
        raise FormatError(path, "its weights do not fit the motion they name", "member 'logs'")
    logs = np.full((len(clip), len(clip.parts.dofs)), LOCKED_LOG)
    logs[:, clip.parts.free] = found["logs"]
    return logs


def _key(clip: Clip, settings: str) -> str:
    return f"{clip.digest} {settings}"
