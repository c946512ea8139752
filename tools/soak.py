"""Runs what `make soak` runs, the tests that draw millions of cases, and writes down what each did.

    python -m tools.soak                      # everything
    python -m tools.soak --missing            # only what has no result yet: a run that was stopped goes on
    python -m tools.soak hostile truth        # tests with one of these words in their name; other results stay
    python -m tools.soak --share 0.01         # a hundredth of the cases, and the table says so

Each test function has a process of its own, so that its time and memory are its own. `benchmarks/results/soak.json` is
written after each of them; `soak.md` is the table of `docs/measurements.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import page  # noqa: E402
from benchmarks.harness import RESULTS, machine  # noqa: E402

PYTEST = [sys.executable, "-m", "pytest", "-m", "soak", "--timeout=0", "-p", "no:cacheprovider"]
ENDED = {0: "passed", 5: "skipped"}


def functions() -> list[str]:
    """The test functions of the soak, "tests/limb/test_limb_soak.py::test_a_million_targets", in the suite's order."""
    collect = [*PYTEST, "-o", "addopts=--strict-markers", "--collect-only", "-q"]
    told = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return list(dict.fromkeys(line.partition("[")[0] for line in told.splitlines() if "::" in line))


def run(function: str, share: float) -> dict[str, Any]:
    """Run one function with all its parameters; what it did."""
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "soak", "POSABLE_SOAK_SHARE": repr(share)}
    with tempfile.TemporaryDirectory() as folder:
        report, told = Path(folder) / "report.xml", Path(folder) / "told.txt"
        begun = time.monotonic()
        with told.open("wb") as output:
            command = [*PYTEST, function, f"--junit-xml={report}"]
            child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
            _, code, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(code)
        cases = ElementTree.parse(report).getroot().iter("testcase") if report.exists() else []
        tests, drawn, wanted, skipped = 0, 0, 0, 0
        for test in cases:
            tests += 1
            skipped += test.find("skipped") is not None
            said = {one.get("name"): float(one.get("value", 0)) for one in test.iter("property")}
            drawn += int(said.get("cases", 1))
            wanted += int(said.get("wanted", 1))
        ended = "skipped" if tests and skipped == tests else ENDED.get(child.returncode, "failed")
        ended = "killed" if child.returncode < 0 else ended  # by somebody else, or for want of memory
        if ended == "failed":
            print(told.read_text(encoding="utf-8", errors="replace")[-6000:], flush=True)
    scale = 1 if sys.platform == "darwin" else 1024
    return {
        "ended": ended,
        "tests": tests,
        "cases": drawn,
        "wanted": wanted,
        "seconds": round(time.monotonic() - begun, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "memory": used.ru_maxrss * scale,
    }


def save(results: dict[str, dict[str, Any]], folder: Path = RESULTS) -> None:
    """Write all facts, and the table."""
    facts = {"machine": machine(), "functions": results}
    (folder / "soak.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    (folder / "soak.md").write_text(table(results, facts["machine"]), encoding="utf-8")
    if folder == RESULTS:
        page.write()


def table(results: dict[str, dict[str, Any]], where: Any) -> str:
    """The table as people read it, a row for each function, and what is missing for a whole soak."""
    lines = ["| | cases | of those of a whole soak | minutes | memory | |", "|---|---|---|---|---|---|"]
    for function, did in sorted(results.items()):
        share = "all" if did["cases"] >= did["wanted"] else f"{100 * did['cases'] / did['wanted']:.2g} %"
        file, name = function.removeprefix("tests/").split("::")
        what = f"{name.removeprefix('test_').replace('_', ' ')} (`{file}`)"
        lines.append(
            f"| {what} | {did['cases']:,} | {share} | {did['seconds'] / 60:.1f} | {did['memory'] / 1e6:,.0f} MB "
            f"| {did['ended']} |"
        )
    total = sum(did["cases"] for did in results.values()), sum(did["seconds"] for did in results.values()) / 3600
    parts = sum(did["cases"] < did["wanted"] for did in results.values())
    whole = f"; {parts} of the {len(results)} rows drew a part of their cases" if parts else ""
    lines += ["", f"Together {total[0]:,} cases in {total[1]:.1f} hours of one process{whole}."]
    foot = f"*{where['cpu']}, {where['cores']} cores, Python {where['python']}, {where['date']}.*"
    return "\n".join([*lines, "", foot]) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run and report; the exit code says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run tests with one of these words in their name")
    parser.add_argument("--missing", action="store_true", help="run what has no result that passed")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of each test; 1 is a whole soak")
    parser.add_argument("--workers", type=int, default=1, help="processes side by side")
    chosen = parser.parse_args(arguments)
    file = RESULTS / "soak.json"
    results: dict[str, dict[str, Any]] = {}
    known = functions()
    if (chosen.words or chosen.missing) and file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))["functions"]
        results = {name: found[name] for name in known if name in found}
    if not known:
        print("soak: the tests could not be collected", file=sys.stderr)
        return 1
    wanted = [name for name in known if not chosen.words or any(word in name for word in chosen.words)]
    if chosen.missing:
        wanted = [name for name in wanted if results.get(name, {}).get("ended") != "passed"]
    lock = Lock()

    def one(function: str) -> None:
        did = run(function, chosen.share)
        with lock:
            results[function] = did
            save(results)
            minutes, memory = did["seconds"] / 60, did["memory"] / 1e6
            print(f"{did['ended']:8} {did['cases']:>10,} {minutes:7.1f} min {memory:6.0f} MB  {function}", flush=True)

    with ThreadPoolExecutor(max(1, chosen.workers)) as pool:
        list(pool.map(one, wanted))
    failed = [name for name, did in results.items() if did["ended"] in ("failed", "killed")]
    print(f"soak: {len(wanted)} test functions ran, {len(failed)} failed", *failed, sep="\n    ", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
