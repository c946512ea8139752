"""The file of recorded answers, and the fingerprint of the machine that they were recorded on."""

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from .flat import Flat

PATH = Path(__file__).with_name("answers.npz")
SETTINGS = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")
"""Environment variables that change what is compiled."""

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


def save(answers: Answers, where: dict[str, Any], path: Path = PATH) -> None:
    """Write answers and the fingerprint of where they were recorded.

    Each room has a list of what there is and one run of bytes: a thousand small arrays of their own would be headers
    for the most part.
    """
    packed: dict[str, np.ndarray] = {"fingerprint": _text(where)}
    for room in sorted({key.partition(".")[0] for key in answers}):
        listed: list[Any] = []
        data = b""
        for key in sorted(key for key in answers if key.partition(".")[0] == room):
            for name, value in answers[key].items():
                if isinstance(value, str):
                    listed.append([key, name, value])
                else:
                    listed.append([key, name, value.dtype.str, value.shape, len(data)])
                    data += value.tobytes()
        packed |= {f"{room} list": _text(listed), f"{room} data": np.frombuffer(data, np.uint8)}
    np.savez_compressed(path, allow_pickle=False, **packed)


def load(path: Path = PATH) -> tuple[Answers, dict[str, Any]]:
    """Answers and the fingerprint of where they were recorded."""
    answers: Answers = {}
    with np.load(path) as packed:
        for member in packed.files:
            if not member.endswith(" list"):
                continue
            data = packed[member.removesuffix(" list") + " data"].tobytes()
            for key, name, kind, *where in json.loads(packed[member].tobytes()):
                value: Any = kind
                if where:
                    shape, first = where
                    value = np.frombuffer(data, kind, int(np.prod(shape, dtype=np.int64)), first).reshape(shape)
                answers.setdefault(key, {})[name] = value
        return answers, json.loads(packed["fingerprint"].tobytes())


def _text(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), np.uint8)
