"""The body answers as people do: what was dragged stays where it was put, until it is released."""

import numpy as np
import pytest

from posable.compute import PosableError
from posable.studio import Session
from posable.studio.tabs.pose.options import PEOPLE

from ..desk import Desk
from ..window import by


@pytest.fixture
def answer() -> str:
    return PEOPLE


def at(session: Session, part: str) -> np.ndarray:
    """Where a part of the active body is at frame 30, by forward kinematics alone."""
    return session.body.skeleton.forward(session.motion[30]).positions[session.body.index(part)]


def drag(tab: Desk, session: Session, part: str, by_how_much: np.ndarray) -> np.ndarray:
    """Drag a part in three steps and drop it; return where it was put."""
    tab.pose.choose(part)
    tab.update(session.time)
    start = at(session, part) + session.active.position
    for s in (0.3, 0.7, 1.0):
        tab.pose.drag(start + s * by_how_much)
        tab.update(session.time)
    tab.pose.drop()
    tab.update(session.time)
    return start + by_how_much - session.active.position


def test_parts_that_were_dragged_stay_while_others_are(tab: Desk, session: Session):
    feet = [at(session, foot) for foot in ("left_foot", "right_foot")]
    head = drag(tab, session, "head", by(0.0, -0.12, 0.08))
    hand = drag(tab, session, "left_hand", by(0.05, 0.25, 0.2))
    assert np.linalg.norm(at(session, "head") - head) < 1e-5
    assert np.linalg.norm(at(session, "left_hand") - hand) < 1e-5
    assert tab.pose.touched.parts == ("head", "left_hand") and len(session.edits.entries) == 1
    assert "head" in tab.pose.touched._text.content and "left hand" in tab.pose.touched._text.content
    lower = min(range(2), key=lambda k: feet[k][1])
    assert np.linalg.norm(at(session, ("left_foot", "right_foot")[lower]) - feet[lower]) < 2e-3
    assert [session.history.undoable, len(session.motion)] == ["Drag the left hand", 60]


def test_undo_brings_back_what_was_dragged_before(tab: Desk, session: Session):
    before = session.motion
    head = drag(tab, session, "head", by(0.0, -0.12, 0.08))
    drag(tab, session, "left_hand", by(0.05, 0.25, 0.2))
    session.history.undo()
    tab.update(session.time)
    assert tab.pose.touched.parts == ("head",) and np.linalg.norm(at(session, "head") - head) < 1e-5
    hand = drag(tab, session, "right_hand", by(-0.05, 0.2, 0.2))
    assert tab.pose.touched.parts == ("head", "right_hand")
    assert np.linalg.norm(at(session, "head") - head) < 1e-5 and np.linalg.norm(at(session, "right_hand") - hand) < 1e-5
    session.history.undo()
    session.history.undo()
    tab.update(session.time)
    assert tab.pose.touched.parts == () and session.motion is before


def test_a_part_that_is_released_does_what_people_do_again(tab: Desk, session: Session):
    was = session.motion[30]
    head = drag(tab, session, "head", by(0.0, -0.12, 0.08))
    hand = drag(tab, session, "left_hand", by(0.05, 0.25, 0.2))
    tab.pose.choose("head")
    tab.pose.touched.release(("head",))
    tab.update(session.time)
    assert tab.pose.touched.parts == ("left_hand",) and np.linalg.norm(at(session, "left_hand") - hand) < 1e-5
    assert np.linalg.norm(at(session, "head") - head) > 0.02
    tab.pose.touched.release(tab.pose.touched.parts)
    tab.update(session.time)
    assert tab.pose.touched.parts == ()
    np.testing.assert_allclose(session.motion[30].rotations, was.rotations, atol=1e-9)
    session.history.undo()
    tab.update(session.time)
    assert tab.pose.touched.parts == ("left_hand",)


def test_another_frame_and_another_change_begin_anew(tab: Desk, session: Session):
    drag(tab, session, "head", by(0.0, -0.12, 0.08))
    session.clock.seek(40 / session.motion.fps)
    tab.update(session.time)
    assert tab.pose.touched.parts == ()
    session.clock.seek(30 / session.motion.fps)
    tab.update(session.time)
    assert tab.pose.touched.parts == ("head",)
    session.edits.remove(0)
    tab.update(session.time)
    assert tab.pose.touched.parts == ()


def test_pins_stay_where_they_are(tab: Desk, session: Session):
    tab.pins.toggle("right_hand")
    hand = at(session, "right_hand")
    drag(tab, session, "head", by(0.0, -0.15, 0.1))
    assert np.linalg.norm(at(session, "right_hand") - hand) < 1e-5
    assert tab.pose.touched.parts == ("head",)


def test_key_4_chooses_it(tab: Desk, session: Session):
    tab.pose.answer_by("Limb alone")
    session.keys.press("4", None)
    assert tab.pose.answer == PEOPLE
    with pytest.raises(PosableError, match=PEOPLE):
        tab.pose.answer_by("as it likes")


def test_head_and_two_hands_are_dragged_undone_redone_and_reset(tab: Desk, session: Session):
    """What a newcomer tries first: all that was touched is met, the rest follows, and each step can be taken back."""
    origin, poses, put = session.motion[30], [session.motion[30]], {}
    drags = {"head": (0.0, -0.15, 0.1), "left_hand": (0.05, 0.25, 0.2), "right_hand": (-0.05, 0.2, 0.25)}
    for part, displacement in drags.items():
        put[part] = drag(tab, session, part, by(*displacement))
        assert all(np.linalg.norm(at(session, role) - there) < 1e-5 for role, there in put.items()), part
        poses.append(session.motion[30])
    assert tab.pose.touched.parts == tuple(drags)
    hips = [session.body.skeleton.forward(pose).positions[session.body.index("hips")] for pose in (origin, poses[-1])]
    assert np.linalg.norm(hips[1] - hips[0]) > 0.02
    for step, pose in ((-1, 2), (-1, 1), (-1, 0), (1, 1), (1, 2), (1, 3)):
        session.history.undo() if step < 0 else session.history.redo()
        tab.update(session.time)
        np.testing.assert_array_equal(session.motion[30].rotations, poses[pose].rotations)
        assert tab.pose.touched.parts == tuple(drags)[:pose]
    tab.pose.touched.release(tab.pose.touched.parts)
    tab.update(session.time)
    np.testing.assert_allclose(session.motion[30].rotations, origin.rotations, atol=1e-9)
