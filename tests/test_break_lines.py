"""The tool that breaks lines: which lines it draws, and what it says of them."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import break_lines

SOURCE = '''
@kernel
def unit(v, limit):
    """Return v / its length: 1 + 1."""
    length = math.sqrt(v[0] * v[0])
    if length < 1e-12:
        return v
    if length > 0.0:
        v = v / length
    if limit < 0.0:
        raise PosableError(f"limit is {limit + 1}; expected " + "more")
    print(limit - 1)
    share = limit / max(length, 1e-9) / max(count, 1)
    names = given or ()
    return min(v, limit) if v > limit else v - limit


class Answer:
    def __repr__(self):
        return "a" + "b"
'''


def test_lines_that_decide_an_answer_are_drawn_and_guards_and_words_are_not():
    drawn = {broken.strip() for _, _, _, broken in break_lines.breaks(SOURCE)}
    assert drawn == {
        "length = math.sqrt(v[0] / v[0])",
        "return max(v, limit) if v > limit else v - limit",
        "return min(v, limit) if v <= limit else v - limit",
        "return min(v, limit) if v > limit else v + limit",
    }


@pytest.mark.parametrize("kind", break_lines.KINDS)
def test_each_room_gives_lines_of_different_functions_that_are_there(kind):
    for room in break_lines.ROOMS:
        rows = break_lines.draw(room, 6, seed=1, kind=kind)
        assert len({(row["file"], row["function"]) for row in rows}) == 6
        for row in rows:
            assert ("@kernel" in (break_lines.ROOT / row["file"]).read_text()) == (kind == "kernel")
            lines = (break_lines.ROOT / row["file"]).read_text().splitlines()
            assert lines[row["line"] - 1] == row["old"] != row["new"]
            compile("\n".join([*lines[: row["line"] - 1], row["new"], *lines[row["line"] :]]), row["file"], "exec")


def test_the_list_has_ten_lines_of_kernels_and_five_of_plain_python_for_each_room():
    listed = json.loads(break_lines.LIST.read_text())
    counts = Counter((row["room"], break_lines.kind_of(break_lines.ROOT / row["file"])) for row in listed)
    assert counts == {
        (room, kind): 10 if kind == "kernel" else 5 for room in break_lines.ROOMS for kind in break_lines.KINDS
    }
    for row in listed:
        assert row["old"] in (break_lines.ROOT / row["file"]).read_text().splitlines(), f"{row['file']}: {row['old']}"


def test_verdicts_are_written_as_they_come_and_time_is_kept(monkeypatch, tmp_path, capsys):
    answers = {"a": "FAILED tests/a.py", "b": "", "c": break_lines.GONE, "d": break_lines.NO_TIME}
    monkeypatch.setattr(break_lines, "noticed", lambda one, copy, cache, until: answers[one["new"]])
    rows = [{"room": "limb", "file": "x.py", "line": 1, "old": "o", "new": name} for name in answers]
    code = break_lines.run_all(rows, 2, 1.0, tmp_path / "out.json")
    told = json.loads((tmp_path / "out.json").read_text())
    assert code == 1 and (told["lines"], told["judged"], told["noticed"]) == (4, 2, 1)
    assert {row["new"]: row["noticed"] for row in told["rows"]} == {"a": True, "b": False, "c": None, "d": None}
    out = capsys.readouterr().out
    assert "NOT NOTICED" in out and "1 of 2 broken lines were noticed; 2 were not tried" in out


def test_a_command_that_takes_too_long_is_ended(tmp_path):
    run = [sys.executable, "-c", "import sys, time; print('ran', flush=True); time.sleep(float(sys.argv[1]))"]
    assert break_lines._run([*run, "0"], tmp_path, dict(os.environ), 60.0) == ("ran\n", 0)
    assert break_lines._run([*run, "600"], tmp_path, dict(os.environ), 1.0) == ("", None)


def test_no_line_is_begun_when_the_time_is_up(tmp_path):
    row = break_lines.draw("limits", 1, seed=1, kind="kernel")[0]
    assert break_lines.noticed(row, tmp_path / "copy", tmp_path / "cache", 0.0) == break_lines.NO_TIME
    assert not list(tmp_path.iterdir())


def test_a_broken_line_of_plain_python_finds_the_compiled_kernels_of_the_one_before(monkeypatch, capsys):
    runs = []

    def run(command, folder, environment, seconds):
        if environment.get("NUMBA_BOUNDSCHECK") == "1":
            return "FAILED tests/a.py", 1
        ages = {path.relative_to(folder): path.stat().st_mtime for path in (folder / "src").rglob("*.py")}
        runs.append((folder, environment["POSABLE_CACHE"], ages))
        return "", 0

    monkeypatch.setattr(break_lines, "_run", run)
    plain, kernel = break_lines.draw("limits", 2, 1, "plain"), break_lines.draw("limits", 2, 1, "kernel")
    assert break_lines.run_all([*plain, *kernel], 1, 1.0, None) == 1
    assert "2 of 4 broken lines were noticed" in capsys.readouterr().out  # those of kernels, with indices checked
    folders, caches, ages = zip(*runs)
    assert len(set(folders)) == 1 and caches[0] == caches[1]
    assert not Path(caches[0]).is_relative_to(folders[0])  # it outlives the copy
    assert all(Path(cache).is_relative_to(folders[0]) for cache in caches[2:])
    for name, age in ages[0].items():
        if "@kernel" in (break_lines.ROOT / name).read_text():
            assert age == ages[1][name] == (break_lines.ROOT / name).stat().st_mtime


@pytest.mark.parametrize("moved", [False, True])
def test_a_line_is_broken_in_a_copy_also_where_it_moved(tmp_path, moved):
    row = break_lines.draw("limits", 1, seed=1, kind="kernel")[0]
    given = {**row, "line": row["line"] + 40} if moved else row
    if (break_lines.ROOT / row["file"]).read_text().splitlines().count(row["old"]) > 1:
        pytest.skip("the line is not the only one of its kind")
    (tmp_path / "copy").mkdir()
    assert break_lines._copy_broken(given, tmp_path / "copy")
    original = (break_lines.ROOT / row["file"]).read_text().splitlines()
    broken = (tmp_path / "copy" / row["file"]).read_text().splitlines()
    assert [k for k in range(len(original)) if original[k] != broken[k]] == [row["line"] - 1]
    assert not break_lines._copy_broken({**row, "old": "no such line"}, tmp_path / "other")
