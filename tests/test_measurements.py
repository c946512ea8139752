"""The page of measurements is made of what was recorded, and of nothing else."""

import struct
from pathlib import Path

import pytest

from benchmarks import page

STATIC = page.PAGE.parent / "_static"


def text_of(picture: Path) -> dict[str, str]:
    """The texts that a PNG carries."""
    data, at, found = picture.read_bytes(), 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"tEXt":
            name, _, text = data[at + 8 : at + 8 + size].partition(b"\0")
            found[name.decode()] = text.decode()
        at += size + 12
    return found


def test_the_page_shows_what_was_recorded():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run python -m benchmarks page"


@pytest.mark.parametrize("name", page.PICTURES)
def test_the_pictures_were_drawn_of_what_was_recorded(name):
    assert text_of(STATIC / name)["Source"] == page.fingerprint(), "run python -m benchmarks page"
    assert f"_static/{name}" in page.PAGE.read_text(encoding="utf-8")


def test_every_result_is_on_the_page():
    shown = page.PAGE.read_text(encoding="utf-8")
    for path in sorted(page.RESULTS.glob("*.md")):
        assert path.read_text(encoding="utf-8").rstrip() in shown, path.name
        assert (page.RESULTS / f"{path.stem}.json").exists()
    run = page.read_run(page.SOLVERS)
    assert {row.case for row in run.rows} >= {"limb", "reach", "six", "classic", "best", "drag", "retarget"}
    assert run.growth and run.floors


def test_a_figure_that_was_changed_by_hand_is_noticed(tmp_path, monkeypatch):
    changed = tmp_path / "measurements.md"
    changed.write_text(page.PAGE.read_text(encoding="utf-8").replace("100.0 %", "99.9 %", 1), encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", changed)
    assert changed.read_text(encoding="utf-8") != page.page()
