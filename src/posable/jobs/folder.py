"""The files of a folder as the items of a job, each with the file that is made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..compute.files import sha256_of

STORE = ".posable"
"""The folder inside the output that stores what is done."""


@dataclass(frozen=True)
class FolderFiles:
    """The files of a folder and of its folders, in the order of names, listed while it is walked through.

    Iterating gives for each `{"file": Path, "output": str, **shared}`, which a task of `posable.jobs.run` takes.
    """

    source: Path
    target: Path
    """The folder of the files that are made; folders inside the source are there again."""
    suffix: str
    """Of the files that are made: ".glb"."""
    suffixes: tuple[str, ...]
    """Of the files that are taken; others, and hidden ones, are left out."""
    shared: Mapping[str, Path | None] = field(default_factory=dict)
    """Further files that every item needs: one that changes makes every item another."""

    def __len__(self) -> int:
        return sum(1 for _ in self._files())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for file, name in self._files():
            yield {"file": file, "output": str(self.target / name), **self.shared}

    def _files(self) -> Iterator[tuple[Path, str]]:
        """Yield (file, path of what is made of it, below the target)."""
        for folder, inside, names in os.walk(self.source):
            here = Path(folder)
            inside[:] = sorted(name for name in inside if not name.startswith(".") and here / name != self.target)
            found = sorted(name for name in names if not name.startswith("."))
            found = [name for name in found if Path(name).suffix.lower() in self.suffixes]
            stems = [Path(name).stem for name in found]
            for name in found:
                file = here / name
                # Two files of one name and different suffixes must not become one.
                stem = file.stem if stems.count(file.stem) == 1 else name.replace(".", "_")
                yield file, str(file.relative_to(self.source).with_name(stem + self.suffix))


def is_whole(job: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Return whether the file that a task wrote is still there, and as it was written: its facts have its "sha256"."""
    try:
        return bool(sha256_of(Path(job["output"])) == facts["sha256"])
    except OSError:
        return False
