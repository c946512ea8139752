"""Hostile files: whatever structure a file has, it is read or refused in time and memory that follow its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cases import Case


def all_cases() -> dict[str, Case]:
    """Every case by its name."""
    from . import (  # noqa: F401  # each adds its own
        archive_cases,
        document_cases,
        fbx_cases,
        gltf_cases,
        marker_cases,
        rig_cases,
        robot_cases,
        text_cases,
        trajectory_cases,
    )
    from .cases import CASES

    return CASES
