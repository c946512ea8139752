"""The files of recorded answers, one a room, with the fingerprint of the machine that they were recorded on."""

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from .flat import Flat

FOLDER = Path(__file__).with_name("answers")
SETTINGS = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")
SETTINGS += ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Environment variables that change what is compiled, and in which order OpenBLAS sums."""

Answers = dict[str, Flat]
"""Key of a call to its flat result."""


def fingerprint() -> dict[str, Any]:
    """Everything that decides how numbers are rounded here, short of our own code."""
    import llvmlite
    import llvmlite.binding
    import numba
    import numpy
    import scipy
    from numpy._core._multiarray_umath import __cpu_features__

    try:
        import coal

        meshes = coal.__version__
    except ImportError:
        meshes = ""
    return {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "coal": meshes,
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "processor": llvmlite.binding.get_host_cpu_name(),
        "features": sorted(name for name, has in __cpu_features__.items() if has),
        "settings": {name: os.environ[name] for name in SETTINGS if os.environ.get(name)},
    }


def room_of(key: str) -> str:
    """The room of a call: "limb" of "limb.search"."""
    return key.partition(".")[0]


def save(room: str, answers: Answers, where: dict[str, Any], folder: Path = FOLDER) -> Path:
    """Write the answers of a room, and the fingerprint of where they were recorded.

    They are a list of what there is and one run of bytes: a hundred small arrays of their own would be headers for the
    most part.
    """
    listed: list[Any] = []
    data = b""
    for key in sorted(answers):
        for name, value in answers[key].items():
            if isinstance(value, str):
                listed.append([key, name, value])
            else:
                listed.append([key, name, value.dtype.str, value.shape, len(data)])
                data += value.tobytes()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{room}.npz"
    packed = {"fingerprint": _text(where), "list": _text(listed), "data": np.frombuffer(data, np.uint8)}
    np.savez_compressed(path, allow_pickle=False, **packed)
    return path


def load(folder: Path = FOLDER) -> tuple[Answers, dict[str, dict[str, Any]]]:
    """The answers of all rooms, and by room the fingerprint of where they were recorded."""
    answers: Answers = {}
    where: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as packed:
            where[path.stem] = json.loads(packed["fingerprint"].tobytes())
            data = packed["data"].tobytes()
            for key, name, kind, *place in json.loads(packed["list"].tobytes()):
                value: Any = kind
                if place:
                    shape, first = place
                    value = np.frombuffer(data, kind, int(np.prod(shape, dtype=np.int64)), first).reshape(shape)
                answers.setdefault(key, {})[name] = value
    return answers, where


def _text(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), np.uint8)
