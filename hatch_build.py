"""What the wheel is made of: with the compiled library for one system, or with Numba for any.

`make wheel` makes the libraries (`build/kernels/TARGET`), the code for GPUs (`build/kernels/gpu`, 2 MB, the same on
every system that NVIDIA has a driver for), and then a wheel for each target, with `POSABLE_TARGET` naming it.
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


def compiled(root: str) -> list[Path]:
    """Return what was compiled for the wheel: the library, and code for GPUs; nothing for a pure one."""
    target = os.environ.get("POSABLE_TARGET", "")
    if not target:
        return []
    if target not in TAGS:
        raise ValueError(f"POSABLE_TARGET is {target!r}; expected one of {', '.join(TAGS)}")
    wanted = [(target, "_loops_*"), ("gpu", "_ptx_*.zip")]
    if target.startswith("macos"):  # where no driver of NVIDIA is
        wanted = wanted[:1]
    return [_only(Path(root, "build", "kernels", folder), pattern) for folder, pattern in wanted]


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"{len(found)} files {pattern} in {folder}; make wheel makes one")
    return found[0]


class Requirements(MetadataHookInterface):
    """Numba where the library is not in the wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what is required."""
        numba = [] if compiled(self.root) else self.config["without-library"]
        metadata["dependencies"] = [*self.config["dependencies"], *numba]


class Library(BuildHookInterface):
    """What was compiled in the wheel, and the wheel's tag: any Python from 3.11 on of one system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what was compiled."""
        found = compiled(self.root)
        if found and version == "standard":
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{TAGS[os.environ['POSABLE_TARGET']]}"
            build_data["force_include"].update({str(path): f"posable/compute/{path.name}" for path in found})


def get_metadata_hook() -> type[MetadataHookInterface]:
    """Return the hook that hatchling asks for."""
    return Requirements


def get_build_hook() -> type[BuildHookInterface]:
    """Return the hook that hatchling asks for."""
    return Library
