"""Behaviours in files."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import posable.math as pm
from posable.compute import PosableError
from posable.reach import Behaviour, Posture
from posable.studio import Session
from posable.studio.tabs.behaviours.keys import IN_SPACE
from posable.studio.tabs.behaviours.swing_plane import Stroke
from posable.studio.tabs.behaviours.tab import BehavioursTab

from .conftest import LOW, shown, written


def test_what_is_no_behaviour_is_told_and_changes_nothing(tab: BehavioursTab, session: Session, tmp_path: Path):
    before = written(tab, tmp_path)
    with pytest.raises(PosableError, match="json"):
        tab.files.load_upload(SimpleNamespace(name="b.exe", content=b""))
    with pytest.raises(PosableError, match=r"^mine.json"):
        tab.files.load_upload(SimpleNamespace(name="../mine.json", content=b"{"))
    with pytest.raises(PosableError):
        tab.files.load(str(tmp_path / "none.json"))
    with pytest.raises(PosableError):
        tab.files.save(str(tmp_path / "no" / "such" / "folder" / "b.json"))
    Behaviour("right_arm", ["chest"], interpolation="around").save(tmp_path / "empty.json")
    with pytest.raises(PosableError, match="no key with a posture"):
        tab.files.load(str(tmp_path / "empty.json"))
    session.paths = False
    try:
        with pytest.raises(PosableError, match="other machines"):
            tab.files.load(str(tmp_path / "right.json"))
    finally:
        session.paths = True
    assert written(tab, tmp_path) == before and session.history.undoable is None


def test_a_file_of_the_other_arm_becomes_that_arms(tab: BehavioursTab, session: Session, tmp_path: Path):
    Behaviour.example("energetic", "left_arm", session.body).save(tmp_path / "left_one.json")
    tab.files.load(str(tmp_path / "left_one.json"))
    assert tab.side == "left" and tab.keys.behaviours["left"].name == "energetic"
    shown(tab, session)
    assert tab.solution.left is not None


# Keys in space.


@pytest.fixture
def around(session: Session, tab: BehavioursTab, tmp_path: Path) -> Path:
    """A file of a behaviour with keys in space, loaded: low ahead the chest bends, high it straightens."""
    made = Behaviour("right_arm", ["spine", "chest"], interpolation="around", name="in space")
    for at, bent in (((0.7, -0.6, 0.3), 0.5), ((0.2, 0.8, 0.2), -0.1), ((0.1, 0.0, 0.9), 0.0)):
        posture = Posture.neutral(made.parts).rotated(chest=pm.axis_angle([1.0, 0.0, 0.0], bent))
        made.add(at, posture.shifted(np.array([0.0, -0.2 * max(bent, 0.0), 0.0])))
    made.save(tmp_path / "space.json")
    tab.files.load(str(tmp_path / "space.json"))
    return tmp_path / "space.json"


def test_keys_in_space_are_shown_reached_for_and_played(tab: BehavioursTab, session: Session, around: Path):
    assert session.history.undoable == "Load space"
    for key in tab.keys.behaviour.keys:
        tab.keys.choose(key.id)
        pose = shown(tab, session)
        assert np.allclose(tab.targets.in_frame("right"), key.at, atol=1e-9)
        start = tab.options.start(session.active, session.body, session.time)
        taken = Posture.of(session.body, pose, start, key.posture.parts)
        assert tab.solution.lowered or np.allclose(taken.rotations, key.posture.rotations, atol=1e-9)
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    shown(tab, session)
    assert np.allclose(tab.targets.swing("right"), LOW) and "in space" in tab.report.content
    tab.view.mapping.value = True
    shown(tab, session)
    assert len(tab.map[0]) > 200
    assert len(tab.motion().motion) > 10
    tab.keys.mirror()
    tab.choose("left hand")
    shown(tab, session)
    assert tab.keys.behaviour.interpolation == "around" and tab.solution.left is not None


def test_keys_in_space_are_edited_but_not_dragged_on_the_plane(tab: BehavioursTab, session: Session, around: Path):
    first = tab.keys.behaviour.keys[0]
    tab.keys.stroke(Stroke(1, True, first.id, LOW, (LOW[0] - 0.4, LOW[1])))
    assert tab.keys.chosen == first.id and tab.keys.behaviour.key(first.id).at == first.at
    assert session.message == ("note", IN_SPACE) and session.history.undoable == "Load space"
    tab.editor.rotate("chest", pm.axis_angle([1.0, 0.0, 0.0], 0.2), None)
    copy = tab.keys.copy()
    assert not np.allclose(tab.keys.behaviour.key(copy).at, first.at)
    tab.targets.put("right", (0.3, -0.3, 0.6))
    added = tab.keys.add()
    assert np.allclose(tab.keys.behaviour.key(added).at, (0.3, -0.3, 0.6))
    tab.keys.remove()
    shown(tab, session)
    for key in (copy, *(key.id for key in tab.keys.behaviour.keys[1:3])):
        tab.keys.choose(key)
        tab.keys.remove()
    tab.keys.choose(first.id)
    with pytest.raises(PosableError, match="only key"):
        tab.keys.remove()


def test_keys_in_space_are_saved_as_they_were_loaded(
    tab: BehavioursTab, session: Session, around: Path, tmp_path: Path
):
    shown(tab, session)
    assert tab.files._interpolation.control.options == ("around",)
    tab.files.save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_text() == around.read_text()
    session.undo()
    shown(tab, session)
    assert tab.files._interpolation.control.options == ("linear", "smooth") and "in space" not in tab.report.content
