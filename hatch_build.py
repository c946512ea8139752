"""What the wheel is made of: with the compiled library for one system, or with Numba for any.

`make wheel` makes the libraries (`build/kernels/TARGET`) and then a wheel for each, with `POSABLE_TARGET` naming it.
Without that variable, as when pip installs a clone, the wheel is a pure one and asks for Numba, which compiles kernels
when they are first used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "linux-aarch64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
}


def library(root: str) -> Path | None:
    """Return the library that goes into the wheel; None for a pure one."""
    target = os.environ.get("POSABLE_TARGET", "")
    if not target:
        return None
    if target not in TAGS:
        raise ValueError(f"POSABLE_TARGET is {target!r}; expected one of {', '.join(TAGS)}")
    found = sorted(Path(root, "build", "kernels", target).glob("_loops_*"))
    if len(found) != 1:
        raise ValueError(f"{len(found)} libraries in build/kernels/{target}; make wheel makes one")
    return found[0]


class Requirements(MetadataHookInterface):
    """Numba where the library is not in the wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what is required."""
        numba = [] if library(self.root) else self.config["without-library"]
        metadata["dependencies"] = [*self.config["dependencies"], *numba]


class Library(BuildHookInterface):
    """The library in the wheel, and the wheel's tag: any Python from 3.11 on of one system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library."""
        found = library(self.root)
        if found is not None and version == "standard":
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{TAGS[os.environ['POSABLE_TARGET']]}"
            build_data["force_include"][str(found)] = f"posable/compute/{found.name}"


def get_metadata_hook() -> type[MetadataHookInterface]:
    """Return the hook that hatchling asks for."""
    return Requirements


def get_build_hook() -> type[BuildHookInterface]:
    """Return the hook that hatchling asks for."""
    return Library
