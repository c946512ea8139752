"""Measurements that anybody can repeat: how fast every solver is here, what its answers do, and what became slower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compute.arguments import explain_mistakes
from ...compute.lazy import lazy_names

if TYPE_CHECKING:
    from .record import Change, Run, changes, read_run, write_run
    from .run import bench, confirmed

__all__ = ["Change", "Run", "bench", "changes", "confirmed", "read_run", "write_run"]

_HOMES = {
    "record": ("Change", "Run", "changes", "read_run", "write_run"),
    "run": ("bench", "confirmed"),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)

explain_mistakes(__name__)
