"""`python -m tests.recorded`: make the recorded calls, and write down or compare what they give."""

import argparse
import sys
import time
import traceback
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import data_folder

from . import answers, compare
from .calls import Call, all_calls
from .flat import Flat, flatten


def main() -> int:
    """Record or compare; 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__)
    parser.add_argument("--room", action="append", help="only the calls of this room; may be given more than once")
    parser.add_argument("--call", action="append", help="only this call, as room.name; may be given more than once")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--forget", action="append", default=[], help="drop the answers of a call that is gone")
    parser.add_argument("--rename", nargs=2, metavar=("OLD", "NEW"), help="a call that is called otherwise now")
    parser.add_argument("--fields", action="append", help="record only fields of this pattern anew, keep the others")
    parser.add_argument("--answers", type=Path, default=answers.PATH, help="another file of answers")
    parser.add_argument("--backwards", action="store_true", help="the last call first: no call may depend on another")
    asked = parser.parse_args()
    calls = all_calls()
    chosen = [
        made
        for key, made in calls.items()
        if (not asked.room or made.room in asked.room) and (not asked.call or key in asked.call)
    ]
    recorded, where = answers.load(asked.answers) if asked.answers.exists() else ({}, {})
    here = answers.fingerprint()
    if asked.check:
        return _check(chosen[::-1] if asked.backwards else chosen, recorded, where == here)
    kept = {key: flat for key, flat in recorded.items() if key not in asked.forget}
    if asked.rename:
        kept[asked.rename[1]] = kept.pop(asked.rename[0])
    if asked.forget or asked.rename:
        chosen, here = [], where
    elif (asked.room or asked.call) and recorded and where != here:
        print("the other answers were recorded elsewhere: record everything, or do it there", file=sys.stderr)
        return 1
    elif not (asked.room or asked.call):
        kept = {}
    failed: list[str] = []
    for made in chosen:
        paths = _missing_or_paths(made)
        if isinstance(paths, str):
            print(f"{made.key}: left out, {paths}", file=sys.stderr)
            continue
        began = time.perf_counter()
        try:
            found = flatten(made.function(*paths))
            if asked.fields:
                found = _merged(made.key, kept[made.key], found, asked.fields)
            kept[made.key] = found
        except Exception:
            traceback.print_exc()
            failed.append(made.key)
            continue
        print(f"{made.key}: {len(kept[made.key])} values, {time.perf_counter() - began:.2f} s", flush=True)
    if failed:
        print(f"nothing is written: {', '.join(failed)} failed", file=sys.stderr)
        return 1
    answers.save(kept, here, asked.answers)
    print(f"{len(kept)} calls in {asked.answers}, {asked.answers.stat().st_size} bytes")
    return 0


def _merged(key: str, recorded: Flat, found: Flat, patterns: list[str]) -> Flat:
    """The recorded fields with those of the patterns replaced by what was found; each that changed is printed."""
    merged = {name: value for name, value in recorded.items() if name in found}
    for name, value in found.items():
        if any(fnmatch(name, pattern) for pattern in patterns):
            if name not in recorded or compare.differences({name: recorded[name]}, {name: value}, None):
                print(f"    {key}: {name} is recorded anew")
            merged[name] = value
    return merged


def _check(chosen: list[Call], recorded: answers.Answers, same: bool) -> int:
    print(
        "to the last bit" if same else "closely: the answers were recorded on another machine or with other libraries"
    )
    wrong = 0
    for made in chosen:
        paths = _missing_or_paths(made)
        if isinstance(paths, str):
            print(f"{made.key}: not checked, {paths}")
            continue
        began = time.perf_counter()
        try:
            found = flatten(made.function(*paths))
            lines = compare.differences(recorded.get(made.key, {}), found, None if same else made.within)
        except Exception:
            lines = traceback.format_exc().splitlines()
        wrong += bool(lines)
        print(f"{made.key}: {'differs' if lines else 'same'}, {time.perf_counter() - began:.2f} s", flush=True)
        for line in lines:
            print(f"    {line}")
    print(f"{wrong} of {len(chosen)} calls differ")
    return int(wrong > 0)


def _missing_or_paths(made: Call) -> str | list[Path]:
    """The paths of its files, or what is missing."""
    if made.extra and find_spec(made.extra) is None:
        return f"{made.extra} is not installed"
    paths = [data_folder() / file for file in made.files]
    gone = [str(path) for path in paths if not path.exists()]
    return f"no {gone[0]}" if gone else paths


sys.exit(main())
