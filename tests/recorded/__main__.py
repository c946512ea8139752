"""`python -m tests.recorded`: make the recorded calls, and write down or compare what they give."""

import argparse
import sys
import time
import traceback
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
    parser.add_argument("--answers", type=Path, default=answers.FOLDER, help="another folder of answers")
    parser.add_argument("--backwards", action="store_true", help="the last call first: no call may depend on another")
    asked = parser.parse_args()
    calls = all_calls()
    chosen = [
        made
        for key, made in calls.items()
        if (not asked.room or made.room in asked.room) and (not asked.call or key in asked.call)
    ]
    recorded, where = answers.load(asked.answers)
    if asked.check:
        return _check(chosen[::-1] if asked.backwards else chosen, recorded, where)
    if asked.forget or asked.rename:
        gone = [*asked.forget, *(asked.rename or [])[:1]]
        kept = {key: flat for key, flat in recorded.items() if key not in gone}
        if asked.rename:
            kept[asked.rename[1]] = recorded[asked.rename[0]]
            where.setdefault(answers.room_of(asked.rename[1]), where[answers.room_of(asked.rename[0])])
        return _save(kept, where, {answers.room_of(key) for key in [*gone, *(asked.rename or [])]}, asked.answers)
    here = answers.fingerprint()
    rooms = {made.room for made in chosen}
    part = bool(asked.call or asked.fields)
    if part and any(where.get(room, here) != here for room in rooms):
        print(
            "the room's other answers were recorded elsewhere: record all of the room, or do it there", file=sys.stderr
        )
        return 1
    kept = recorded if part else {key: flat for key, flat in recorded.items() if answers.room_of(key) not in rooms}
    failed: list[str] = []
    for made in chosen:
        paths = _missing_or_paths(made)
        if isinstance(paths, str):
            print(f"{made.key}: left out, {paths}", file=sys.stderr)
            continue
        began = time.perf_counter()
        try:
            found = flatten(made.function(*paths))
            kept[made.key] = _merged(made.key, recorded[made.key], found, asked.fields) if asked.fields else found
        except Exception:
            traceback.print_exc()
            failed.append(made.key)
            continue
        print(f"{made.key}: {len(kept[made.key])} values, {time.perf_counter() - began:.2f} s", flush=True)
    if failed:
        print(f"nothing is written: {', '.join(failed)} failed", file=sys.stderr)
        return 1
    return _save(kept, {**where, **dict.fromkeys(rooms, here)}, rooms, asked.answers)


def _save(kept: answers.Answers, where: dict[str, Any], rooms: set[str], folder: Path) -> int:
    """Write the files of some rooms; one without answers goes."""
    for room in sorted(rooms):
        mine = {key: flat for key, flat in kept.items() if answers.room_of(key) == room}
        if mine:
            path = answers.save(room, mine, where[room], folder)
            print(f"{len(mine)} calls in {path}, {path.stat().st_size} bytes")
        else:
            (folder / f"{room}.npz").unlink(missing_ok=True)
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


def _check(chosen: list[Call], recorded: answers.Answers, where: dict[str, Any]) -> int:
    here = answers.fingerprint()
    elsewhere = sorted({made.room for made in chosen if where.get(made.room) != here})
    if elsewhere:
        print(f"closely, since recorded on another machine or with other libraries: {', '.join(elsewhere)}")
    wrong = 0
    for made in chosen:
        paths = _missing_or_paths(made)
        if isinstance(paths, str):
            print(f"{made.key}: not checked, {paths}")
            continue
        began = time.perf_counter()
        within = made.within if made.room in elsewhere else None
        try:
            found = flatten(made.function(*paths))
            lines = compare.differences(recorded.get(made.key, {}), found, within, made.fitted)
        except Exception:
            lines = traceback.format_exc().splitlines()
        wrong += bool(lines)
        print(f"{made.key}: {'differs' if lines else 'same'}, {time.perf_counter() - began:.2f} s", flush=True)
        for line in lines:
            print(f"    {line}")
    print(f"{wrong} of {len(chosen)} calls differ{'' if elsewhere else ' (to the last bit)'}")
    return int(wrong > 0)


def _missing_or_paths(made: Call) -> str | list[Path]:
    """The paths of its files, or what is missing."""
    if made.extra and find_spec(made.extra) is None:
        return f"{made.extra} is not installed"
    paths = [data_folder() / file for file in made.files]
    gone = [str(path) for path in paths if not path.exists()]
    return f"no {gone[0]}" if gone else paths


if __name__ == "__main__":
    sys.exit(main())
