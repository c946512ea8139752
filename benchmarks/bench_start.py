"""How long a start takes: importing, the first answer with nothing compiled yet, and the first answer ever after.

Every measurement is a new interpreter, so that nothing is warm but the disk. The compile cache is a folder made for the
purpose.
"""

from __future__ import annotations

import tempfile

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
}


def run() -> list[Table]:
    return [_imports(), *(_answers(title, code) for title, code in ANSWERS.items())]


def _imports(rounds: int = 15) -> Table:
    modules = ["posable", "numpy", "numba", "pinocchio", "yourdfpy"]
    samples: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(rounds):
        for module in modules:
            _, printed = fresh_python(PRINT_IMPORT_TIME.format(module=module))
            samples[module].append(1e3 * float(printed))
    named = {f"import {module}": (times, "") for module, times in samples.items()}
    return table("Importing", "ms", named, note="Measured inside the interpreter; Python's own start comes on top.")


def _answers(title: str, code: str, rounds: int = 5) -> Table:
    bare: list[float] = []
    first: list[float] = []
    second: list[float] = []
    for _ in range(rounds):
        bare.append(fresh_python("pass")[0])
        with tempfile.TemporaryDirectory() as folder:
            first.append(fresh_python(code, POSABLE_CACHE=folder)[0])
            second.append(fresh_python(code, POSABLE_CACHE=folder)[0])
    samples = {
        "second start": (second, "compiled code comes from the cache"),
        "new machine": (first, "an empty cache: everything on the way is compiled"),
        "Python alone": (bare, "what starting the interpreter takes"),
    }
    return table(f"Start to first answer: {title}", "s", samples)
