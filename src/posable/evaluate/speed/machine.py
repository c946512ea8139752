"""The machine of a measurement, in the words that a reader needs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

from ...compute.kernels import mode

PACKAGES: tuple[str, ...] = (
    "numpy",
    "numba",
    "scipy",
    "pin",
    "yourdfpy",
    "pybvh",
    "bvhio",
    "upc-pymotion",
    "EAIK",
    "pin-pink",
)
PACKAGES += ("roboticstoolbox-python", "mink", "placo", "mujoco", "daqp", "coal")

__all__ = ["in_words", "machine"]


def machine() -> dict[str, Any]:
    """Return the processor, its cores and load, the system, how kernels are compiled, and the packages' versions."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "kernels": mode(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d"),
    }


def in_words(facts: dict[str, Any]) -> str:
    """Return a machine in one line."""
    load = f", load {facts['load']:.1f}" if isinstance(facts.get("load"), float) else ""
    return f"{facts['cpu']}, {facts['cores']} cores{load}, Python {facts['python']}, {facts['date']}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
