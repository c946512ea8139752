"""Break lines of the solvers on purpose, and see whether a test notices.

    python -m tools.break_lines --draw 10 > tools/broken_lines.json   # ten lines of each solver, drawn from a seed
    python -m tools.break_lines                                       # run the tests of each broken line's room
    python -m tools.break_lines --room reach --workers 8

A line is broken in a copy of the package: a comparison the other way round, a minimum for a maximum, a minus for a
plus. The tests of its room run there until one fails. A line that no test notices is either one that does
not matter (a speed-up, a guard that another one repeats) or one that wants a test.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("broken_lines.json")
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


def breaks(source: str) -> Iterator[tuple[int, str, str]]:
    """(line number, line, broken line) for everything in functions that can be broken without a change of types."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
                sign = node.ops[0] if isinstance(node, ast.Compare) else node.op
                left = node.left if isinstance(node, ast.Compare | ast.BinOp) else node.values[0]
                right = node.comparators[0] if isinstance(node, ast.Compare) else None
                right = node.right if isinstance(node, ast.BinOp) else right or node.values[1]
                if type(sign) not in OTHER or left.end_lineno != right.lineno:
                    continue
                line = lines[left.end_lineno - 1]
                between = line[left.end_col_offset : right.col_offset]
                if SIGNS[type(sign)] not in between:
                    continue
                other = between.replace(SIGNS[type(sign)], OTHER[type(sign)], 1)
                yield left.end_lineno, line, line[: left.end_col_offset] + other + line[right.col_offset :]
            elif isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if name in NAMES and node.end_lineno is not None:
                    line, end = lines[node.end_lineno - 1], node.end_col_offset or 0
                    yield node.end_lineno, line, line[: end - len(name)] + NAMES[name] + line[end:]


def draw(room: str, count: int, seed: int) -> list[dict[str, object]]:
    """Lines of a room, each from another function where there are enough."""
    found = []
    for path in sorted((ROOT / "src" / "posable" / room).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "@kernel" in source:
            name = path.relative_to(ROOT).as_posix()
            found += [{"room": room, "file": name, "line": n, "old": a, "new": b} for n, a, b in breaks(source)]
    random.Random(f"{room} {seed}").shuffle(found)
    return found[:count]


def noticed(one: dict[str, object], folder: Path) -> str:
    """The name of the first test that fails with this line broken; "" where all pass."""
    copy = Path(tempfile.mkdtemp(dir=folder))
    for name in ("src", "tests", "pyproject.toml", "docs", "Makefile", "README.md"):
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "_build")
            )
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    path = copy / str(one["file"])
    lines = path.read_text(encoding="utf-8").splitlines()
    at = int(str(one["line"])) - 1
    if lines[at] != one["old"]:
        where = [k for k, line in enumerate(lines) if line == one["old"]]
        if len(where) != 1:
            shutil.rmtree(copy)
            return "the line is gone: draw it anew"
        at = where[0]
    lines[at] = str(one["new"])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy), os.environ.get("PYTHONPATH", "")]),
        "POSABLE_CACHE": str(copy / "cache"),
        "HYPOTHESIS_PROFILE": "few",
        "NUMBA_NUM_THREADS": "2",
    }
    tests = [f"tests/{one['room']}", "tests/test_truth.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-rf", *tests]
    try:
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=1500)
        failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else "" if run.returncode == 0 else f"exit code {run.returncode}"
    except subprocess.TimeoutExpired:
        return "it no longer ends"
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="COUNT", help="print a new list with so many lines of each room")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this room; may be given more than once")
    parser.add_argument("--workers", type=int, default=1, help="broken lines at a time")
    asked = parser.parse_args()
    rooms = asked.room or ROOMS
    if asked.draw:
        print(json.dumps([one for room in rooms for one in draw(room, asked.draw, asked.seed)], indent=1))
        return 0
    broken = [one for one in json.loads(LIST.read_text(encoding="utf-8")) if one["room"] in rooms]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(asked.workers) as pool:
        answers = []
        for one, answer in zip(broken, pool.map(lambda one: noticed(one, Path(folder)), broken)):
            answers.append(answer)
            print(f"{one['file']}:{one['line']}: {str(one['new']).strip()}\n    {answer or 'NOT NOTICED'}", flush=True)
    seen = sum(bool(answer) for answer in answers)
    print(f"{seen} of {len(broken)} broken lines were noticed")
    return 0 if seen >= 0.9 * len(broken) else 1


if __name__ == "__main__":
    sys.exit(main())
