"""Break lines of the solvers on purpose, and see whether a test notices.

    python -m tools.break_lines --draw 10 --kind kernel   # print ten lines of each solver's kernels, drawn from a seed
    python -m tools.break_lines --draw 5 --kind plain     # and five of its plain Python
    python -m tools.break_lines                           # run the tests of each broken line's room
    python -m tools.break_lines --room reach --workers 8
    python -m tools.break_lines --workers 15 --minutes 50 --out broken.json   # what was done in that time, as JSON

A line is broken in a copy of the package: a comparison the other way round, a minimum for a maximum, a minus for a
plus. The tests of its room run there until one fails; those of a kernel, where all pass, once more with every array
index checked (as `make check-bounds` does). A line that no test notices is either one that does not matter (a speed-up,
a guard that another one repeats) or one that wants a test.

Lines are drawn from those that decide an answer, each from another function as long as there are any: not from guards
against a division by zero, messages of errors, texts for people, or what is only printed. A line is of a *kernel* when
its file has kernels, and *plain* Python otherwise. Nothing but the folders `src` and `tests` is needed, so that the
list can be run on another machine, from an archive.

Compiled code is found again only for the same files in the same folder with the same times. So each worker has one
folder for all its lines and copies are as old as what they are copied from: a broken line of plain Python then runs
with the kernels that the worker's first such line compiled. A broken kernel is compiled in a cache of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("broken_lines.json")
KINDS = ("kernel", "plain")
ROOMS = ("limits", "collision", "limb", "body", "reach", "reconstruct", "classic", "express", "edit")
OTHER = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.And: "or",
    ast.Or: "and",
}
SIGNS = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.And: "and", ast.Or: "or"},
}
NAMES = {"min": "max", "max": "min", "cos": "sin", "sin": "cos", "lower": "upper", "upper": "lower"}
TINY = 1e-5  # a number so small stands in a guard
TINY_NAMES = ("tiny", "eps", "small", "nothing", "epsilon")
FOR_PEOPLE = {"__repr__", "__str__", "__format__"}
SPEECH = ("Error", "print", "note", "warn", "log")
LONGEST = 1500.0  # [s] of the tests of one line
GONE, ENDLESS, NO_TIME = "the line is gone: draw it anew", "it no longer ends", "there was no time for it"


def breaks(source: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield (function, line number, line, broken line) for what can be broken without a change of types and matters."""
    lines = source.splitlines()
    seen: set[tuple[int, str]] = set()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or function.name in FOR_PEOPLE:
            continue
        for node in _that_matter(function):
            for number, line, broken in _broken(node, lines):
                if (number, broken) not in seen:  # a function inside a function is walked through twice
                    seen.add((number, broken))
                    yield function.name, number, line, broken


def _that_matter(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body but for guards, messages and annotations."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or _is_speech(node):
            continue
        if isinstance(node, ast.If | ast.IfExp) and _guards(node):
            branches = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
            waiting += [branch for branch in branches if branch is not None]
            continue
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value is not None else []
            continue
        if isinstance(node, ast.FunctionDef):
            waiting += node.body
            continue
        if not _has_tiny(node):
            yield node
        waiting += list(ast.iter_child_nodes(node))


def _is_speech(node: ast.AST) -> bool:
    """Return whether a node is a call that speaks to people: an error, a line printed."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.endswith(SPEECH)


def _guards(node: ast.If | ast.IfExp) -> bool:
    """Return whether a condition only raises, or keeps a division from a divisor of nothing."""
    body = [node.body] if isinstance(node, ast.IfExp) else node.body
    if any(isinstance(one, ast.Raise) for one in body):
        return True
    test = node.test
    if isinstance(test, ast.Compare) and len(test.comparators) == 1:
        left, right = test.left, test.comparators[0]
        for one, other in ((left, right), (right, left)):
            if _is_tiny(other):
                return True
            if _is_zero(other):
                branches = [*body, *([node.orelse] if isinstance(node, ast.IfExp) else node.orelse)]
                divisors = {
                    ast.unparse(part.right)
                    for branch in branches
                    if branch is not None
                    for part in ast.walk(branch)
                    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div)
                }
                if any(ast.unparse(one) in divisor for divisor in divisors):
                    return True
    return False


def _has_tiny(node: ast.AST) -> bool:
    """Return whether an operation has a tiny number for an operand: `max(length, 1e-12)`, `d + 1e-300`, `x < EPS`."""
    if isinstance(node, ast.Compare):
        return any(map(_is_tiny, (node.left, *node.comparators)))
    if isinstance(node, ast.BinOp):
        return _is_tiny(node.left) or _is_tiny(node.right)
    if isinstance(node, ast.BoolOp):  # `names or ()`: what stands in for nothing
        return any(isinstance(one, ast.Tuple | ast.List | ast.Dict | ast.Constant) for one in node.values)
    # `count / max(poses, 1)` guards a division too.
    return isinstance(node, ast.Call) and any(_is_tiny(one) or ast.unparse(one) == "1" for one in node.args)


def _is_tiny(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_tiny(node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and 0.0 < abs(node.value) <= TINY
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name.lower() in TINY_NAMES


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value in (0, 0.0)


def _broken(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Yield (line number, line, broken line) of one node."""
    if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
        sign = node.ops[0] if isinstance(node, ast.Compare) else node.op
        left = node.left if isinstance(node, ast.Compare | ast.BinOp) else node.values[0]
        right = node.comparators[0] if isinstance(node, ast.Compare) else None
        right = node.right if isinstance(node, ast.BinOp) else right or node.values[1]
        if type(sign) not in OTHER or left.end_lineno != right.lineno or left.end_lineno is None:
            return
        line = lines[left.end_lineno - 1]
        between = line[left.end_col_offset : right.col_offset]
        if SIGNS[type(sign)] in between:
            other = between.replace(SIGNS[type(sign)], OTHER[type(sign)], 1)
            yield left.end_lineno, line, line[: left.end_col_offset] + other + line[right.col_offset :]
    elif isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in NAMES and called.end_lineno is not None:
            line, end = lines[called.end_lineno - 1], called.end_col_offset or 0
            yield called.end_lineno, line, line[: end - len(name)] + NAMES[name] + line[end:]
    elif isinstance(node, ast.Attribute) and node.attr in ("lower", "upper") and node.end_lineno is not None:
        line, end = lines[node.end_lineno - 1], node.end_col_offset or 0
        yield node.end_lineno, line, line[: end - len(node.attr)] + NAMES[node.attr] + line[end:]


def kind_of(file: Path) -> str:
    """Return whether a file is compiled ("kernel") or not ("plain"); one that is gone is plain."""
    return "kernel" if file.exists() and "@kernel" in file.read_text(encoding="utf-8") else "plain"


def draw(room: str, count: int, seed: int, kind: str) -> list[dict[str, Any]]:
    """Return lines of a room and a kind, each from another function as long as there are any."""
    functions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in sorted((ROOT / "src" / "posable" / room).rglob("*.py")):
        if kind_of(path) == kind:
            name = path.relative_to(ROOT).as_posix()
            for function, number, old, new in breaks(path.read_text(encoding="utf-8")):
                row = {"room": room, "file": name, "function": function, "line": number, "old": old, "new": new}
                functions.setdefault((name, function), []).append(row)
    chance = random.Random(f"{room} {seed}" if kind == "kernel" else f"{room} {kind} {seed}")
    groups = list(functions.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    rounds = (row for taken in zip_longest(*groups) for row in taken if row is not None)
    return [row for row, _ in zip(rounds, range(count), strict=False)]


def noticed(one: dict[str, Any], copy: Path, cache: Path, until: float) -> str:
    """Return the first test that fails with this line broken; "" where all pass.

    The project is copied to the folder `copy`, which is removed again. `cache` holds the compiled kernels of lines of
    plain Python. `until` is a time of `monotonic`.
    """
    if until - time.monotonic() <= 1.0:
        return NO_TIME
    try:
        if not _copy_broken(one, copy):
            return GONE
        paths, compiled = [str(copy / "src"), str(copy), os.environ.get("PYTHONPATH", "")], str(copy / "cache")
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "POSABLE_CACHE": compiled,
            "HYPOTHESIS_PROFILE": "few",
            "POSABLE_THREADS": "2",
        }
        if kind_of(ROOT / str(one["file"])) == "plain":
            return _first_failure(one, copy, environment | {"POSABLE_CACHE": str(cache)}, until)
        checked = {"NUMBA_BOUNDSCHECK": "1", "POSABLE_THREADS": "1", "POSABLE_CACHE": f"{compiled}-checked"}
        return _first_failure(one, copy, environment, until) or _first_failure(one, copy, environment | checked, until)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _first_failure(one: dict[str, Any], copy: Path, environment: dict[str, str], until: float) -> str:
    """Return the first test of a line's room that fails in a copy; "" where all pass."""
    left = min(LONGEST, until - time.monotonic())
    tests = [f"tests/{one['room']}", "tests/test_truth.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-rfE", *tests]
    output, code = _run(command, copy, environment, max(left, 0.0))
    if code is None:
        return ENDLESS if left >= LONGEST else NO_TIME
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else "" if code == 0 else f"exit code {code}"


def _run(command: list[str], folder: Path, environment: dict[str, str], seconds: float) -> tuple[str, int | None]:
    """Return (the output of a command, its exit code); None where it took longer, and it ends with all it started."""
    run = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        return run.communicate(timeout=seconds)[0], run.returncode
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return "", None


def _copy_broken(one: dict[str, Any], copy: Path) -> bool:
    """Copy the project with one line broken; return whether the line is still there."""
    passed_over = shutil.ignore_patterns("__pycache__", "node_modules", "_build")
    for name in ("src", "tests", "docs", "pyproject.toml", "Makefile", "README.md"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=passed_over)
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, copy / name)
    path = copy / str(one["file"])
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    at = int(one["line"]) - 1
    if not (at < len(lines) and lines[at] == one["old"]):
        where = [k for k, line in enumerate(lines) if line == one["old"]]
        if len(where) != 1:
            return False
        at = where[0]
    lines[at] = str(one["new"])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return True


def run_all(broken: list[dict[str, Any]], workers: int, minutes: float | None, out: Path | None) -> int:
    """Run the tests of each broken line, say its verdict at once, and write what is known so far."""
    until = time.monotonic() + (60.0 * minutes if minutes else 1e9)
    done: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        free: SimpleQueue[Path] = SimpleQueue()  # folders that no worker uses
        for k in range(workers):
            free.put(Path(folder) / f"worker-{k}")
        jobs = {pool.submit(_timed, one, free, until): one for one in broken}
        for job in as_completed(jobs):
            one, (answer, seconds) = jobs[job], job.result()
            judged = answer not in (GONE, NO_TIME)
            done.append({**one, "verdict": answer, "noticed": bool(answer) if judged else None, "seconds": seconds})
            print(f"{one['file']}:{one['line']}: {str(one['new']).strip()}", flush=True)
            print(f"    {answer or 'NOT NOTICED'} ({seconds:.0f} s)", flush=True)
            if out is not None:
                _write(out, broken, done)
    judged_lines = [row for row in done if row["noticed"] is not None]
    seen = sum(row["noticed"] for row in judged_lines)
    print(f"{seen} of {len(judged_lines)} broken lines were noticed; {len(broken) - len(judged_lines)} were not tried")
    return 0 if judged_lines and seen >= 0.9 * len(judged_lines) else 1


def _timed(one: dict[str, Any], free: SimpleQueue[Path], until: float) -> tuple[str, float]:
    began = time.monotonic()
    folder = free.get()
    try:
        verdict = noticed(one, folder / "copy", folder / "cache", until)
    finally:
        free.put(folder)
    return verdict, round(time.monotonic() - began, 1)


def _write(out: Path, broken: list[dict[str, Any]], done: list[dict[str, Any]]) -> None:
    """Write the verdicts so far; a run that is stopped leaves a whole file."""
    judged = [row for row in done if row["noticed"] is not None]
    seen = sum(row["noticed"] for row in judged)
    facts = {"lines": len(broken), "judged": len(judged), "noticed": seen, "rows": done}
    temporary = out.with_name(f".{out.name}")
    temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    temporary.replace(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="COUNT", help="print a new list with so many lines of each room")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this room; may be given more than once")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind; may be given more than once")
    parser.add_argument("--workers", type=int, default=1, help="broken lines at a time")
    parser.add_argument(
        "--minutes", type=float, help="stop after so long; lines of all rooms are tried alike until then"
    )
    parser.add_argument("--list", type=Path, default=LIST, help="the lines; tools/broken_lines.json when not given")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the verdicts as JSON, after each line anew")
    given = parser.parse_args()
    rooms, kinds = given.room or ROOMS, given.kind or KINDS
    if given.draw:
        drawn = [one for kind in kinds for room in rooms for one in draw(room, given.draw, given.seed, kind)]
        print(json.dumps(drawn, indent=1))
        return 0
    listed = json.loads(given.list.read_text(encoding="utf-8"))
    listed = [one for one in listed if kind_of(ROOT / one["file"]) in kinds]
    by_room = [[one for one in listed if one["room"] == room] for room in rooms]
    broken = [one for taken in zip_longest(*by_room) for one in taken if one is not None]
    return run_all(broken, given.workers, given.minutes, given.out)


if __name__ == "__main__":
    sys.exit(main())
