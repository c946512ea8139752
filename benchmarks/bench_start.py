"""How long a start takes: importing, and the first answer, with the compiled library and with the JIT beside it.

Every measurement is a new interpreter, so that nothing is warm but the disk. Bytecode is there, as `pip install` leaves
it, in a folder made for the purpose. The JIT's cache is one too; the library needs none, so that a new machine is like
any other.
"""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec

from .harness import Table, fresh_python, table

PRINT_IMPORT_TIME = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

# What a first answer may be; each includes the start of Python and every import on the way.
ANSWERS = {
    "one skeleton's forward kinematics": """
import posable as ps
skeleton = ps.Skeleton(["a", "b", "c"], [-1, 0, 1], [[0, 0, 0], [0, 1, 0], [0, 1, 0]])
skeleton.forward(skeleton.rest).positions
""",
    "the figure, a second of walking, its joints in the world": """
import posable as ps
body = ps.figure()
motion = ps.samples.walk(body, duration=1.0)
body.skeleton.forward(motion.pose).positions
""",
    "a hand of the figure sent somewhere": """
import posable as ps
body = ps.figure()
body.place(body.neutral_pose, "right_hand", ps.Target([-0.3, 1.25, 0.3]))
""",
    "a body from six points": """
import posable as ps
body = ps.figure()
ps.SequentialIK(body).solve(body.markers(body.neutral_pose))
""",
}
ROUNDS = {"a body from six points": 2}
"""Where compiling takes a minute; else five."""


def run() -> list[Table]:
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        return [_imports(), *(_answers(title, code, ROUNDS.get(title, 5)) for title, code in ANSWERS.items())]


def _imports(rounds: int = 15) -> Table:
    modules = [name for name in ("posable", "numpy", "numba", "pinocchio", "yourdfpy") if find_spec(name)]
    samples: dict[str, list[float]] = {module: [] for module in modules}
    for module in modules:
        fresh_python(f"import {module}")  # its bytecode
    for _ in range(rounds):
        for module in modules:
            _, printed = fresh_python(PRINT_IMPORT_TIME.format(module=module))
            samples[module].append(1e3 * float(printed))
    named = {f"import {module}": (times, "") for module, times in samples.items()}
    return table("Importing", "ms", named, note="Measured inside the interpreter; Python's own start comes on top.")


def _answers(title: str, code: str, rounds: int) -> Table:
    samples: dict[str, tuple[list[float], str]] = {
        "library": ([], "compiled ahead of time: a new machine, and every later start"),
        "library, processor": ([], "processor time of the same: what one waits for on an idle machine"),
        "JIT, second start": ([], "compiled code comes from the cache"),
        "JIT, new machine": ([], "an empty cache: everything on the way is compiled"),
        "Python alone": ([], "what starting the interpreter takes"),
    }
    fresh_python(code, POSABLE_KERNELS="library")  # its bytecode
    for _ in range(rounds):
        samples["Python alone"][0].append(fresh_python("pass")[0])
        with tempfile.TemporaryDirectory() as folder:
            before = _processor_time()
            samples["library"][0].append(fresh_python(code, POSABLE_CACHE=folder, POSABLE_KERNELS="library")[0])
            samples["library, processor"][0].append(_processor_time() - before)
            for name in ("JIT, new machine", "JIT, second start"):
                samples[name][0].append(fresh_python(code, POSABLE_CACHE=folder, POSABLE_KERNELS="jit")[0])
    note = (
        "From the start of a new interpreter to its end, with the bytecode that `pip install` leaves; wall-clock time."
    )
    return table(f"Start to first answer: {title}", "s", samples, note=note)


def _processor_time() -> float:
    """Seconds of processor time that finished child processes took."""
    times = os.times()
    return times.children_user + times.children_system
