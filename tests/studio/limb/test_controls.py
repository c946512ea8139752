"""The limb tab's further controls: limits, what people do, obstacles, poses in files."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError, Status
from posable.formats import load, save
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session
from posable.studio.tabs.limb.ranges import limb_frame
from posable.studio.tabs.limb.tab import NONE, LimbTab
from posable.studio.view.obstacle import NAME, NOTHING

from ..window import by
from .conftest import PARTS, UNUSUAL_OFFSET, shown


def drawn(tab: LimbTab, session: Session) -> None:
    tab.update(session.time)


# Limits.


def test_the_drawing_of_the_limits_follows_the_limb_and_goes_with_it(tab: LimbTab, session: Session):
    hand = shown(tab, session, "left_hand")
    before = tab._swing._html.content
    assert "limits of the left arm" in before and tab._swing._html.visible
    tab.drag(hand + by(0.0, 0.2, 0.2))
    drawn(tab, session)
    assert tab._swing._html.content != before
    tab.choose("right_foot")
    drawn(tab, session)
    assert "limits of the right leg" in tab._swing._html.content
    tab.choose(NONE)
    drawn(tab, session)
    assert not tab._swing._html.visible


# What people do.


@pytest.mark.parametrize("part", PARTS)
def test_a_limb_that_keeps_to_what_people_do_is_where_people_have_it(tab: LimbTab, session: Session, part: str):
    body, limb = session.body, part.replace("hand", "arm").replace("foot", "leg")
    tab.choose(part)
    start = shown(tab, session, part)
    tab.learned.apply(True)
    found = tab.learned.of(body, limb)
    rng = np.random.default_rng(3)
    stopped = 0
    for _ in range(40):
        tab.drag(start + rng.uniform(-0.5, 0.5, 3))
        drawn(tab, session)
        text = tab._text.content
        margins = found.margins(body.limb(limb).read(session.active.pose_override).position, 0.0)
        if tab.placement.status == Status.REACHED:
            assert margins.direction > -1e-6 and margins.distance > -1e-6
            assert "the direction" not in text and "distance" not in text
        elif "people do not reach there" in text:
            stopped += 1
            assert "the range changed the " in text and tab.placement.position_error > 1e-6
    assert stopped > 3


def test_the_text_names_what_the_range_changed_for_the_solver(tab: LimbTab, session: Session):
    body = session.body
    hand = shown(tab, session, "left_hand")
    tab.drag(hand + UNUSUAL_OFFSET)
    drawn(tab, session)
    free = tab.placement
    tab.learned.show(True)
    drawn(tab, session)
    assert "people do not do this: " in tab._text.content
    assert np.array_equal(free.pose.rotations, tab.placement.pose.rotations), "showing it changes nothing"
    tab.learned.apply(True)
    drawn(tab, session)
    assert "the range changed the " in tab._text.content and "unusual" in tab._legend.content
    orientation, origin = limb_frame(body, "left_arm", session.active.pose_override)
    goal = pm.rotate(pm.conjugate(orientation), hand + UNUSUAL_OFFSET - session.active.position - origin)
    corrected = tab.learned.of(body, "left_arm").correct(goal, np.radians(tab._preferred.value))
    there = body.limb("left_arm").read(session.active.pose_override).position
    assert np.linalg.norm(there - corrected.position) < 1e-6, "the hand is where the correction has it"
    tab.learned.apply(False)
    tab.learned.show(False)
    drawn(tab, session)
    assert "people" not in tab._text.content and "unusual" not in tab._legend.content


def test_the_frame_of_the_sphere_is_the_frame_of_the_limb(tab: LimbTab, session: Session):
    body, pose = session.body, session.pose
    frames = body.skeleton.forward(pose)
    for part in PARTS:
        limb = part.replace("hand", "arm").replace("foot", "leg")
        turned, origin = limb_frame(body, limb, pose)
        read = body.limb(limb).read(pose)
        assert np.allclose(origin + pm.rotate(turned, read.position), frames.positions[body.index(part)], atol=1e-9)


def test_the_sphere_is_around_the_shoulder_and_its_point_is_in_the_hands_direction(tab: LimbTab, session: Session):
    tab.learned.show(True)
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    drawn(tab, session)
    frames = session.active.frames(session.time)
    shoulder, hand = (frames.positions[session.body.index(f"left_{name}")] for name in ("upper_arm", "hand"))
    node, dot = tab.learned._node, tab.learned._dot
    assert node.visible and np.allclose(node.position, shoulder)
    point = np.array(node.position) + pm.rotate(np.array(node.wxyz), np.array(dot.position))
    directions = [(place - shoulder) / np.linalg.norm(place - shoulder) for place in (point, hand)]
    assert np.allclose(*directions, atol=1e-6)
    tab.learned.show(False)
    drawn(tab, session)
    assert not node.visible


def test_swivels_that_people_do_not_have_are_marked_on_the_orbit(tab: LimbTab, session: Session):
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    drawn(tab, session)
    assert tab._orbit.usual is None
    tab.learned.show(True)
    drawn(tab, session)
    swivels = np.linspace(-np.pi, np.pi, len(tab._orbit.usual), endpoint=False)
    place = session.body.limb("left_arm").read(session.active.pose_override).position
    found = tab.learned.of(session.body, "left_arm")
    assert np.array_equal(tab._orbit.usual, found.contains(place, swivels))
    assert tab._orbit.usual.any() and not tab._orbit.usual.all()


# Obstacles.


def test_each_step_with_an_obstacle_can_be_undone(tab: LimbTab, session: Session):
    tab.obstacle.choose("box")
    first = tab.obstacle.now.position
    tab.obstacle.choose("capsule")
    tab.obstacle.move(first + session.active.position + by(0.1, 0.0, 0.0))
    tab.obstacle.move(first + session.active.position + by(0.2, 0.0, 0.0), pm.axis_angle([1.0, 0.0, 0.0], 0.7))
    tab.obstacle.drop()
    tab.obstacle.choose(NOTHING)
    assert NAME not in session.gizmos and len(tab.obstacle.scene) == 0
    assert session.undo() == "Remove the obstacle"
    assert np.allclose(tab.obstacle.scene[NAME].position, first + by(0.2, 0.0, 0.0))
    assert session.undo() == "Move the capsule"
    assert np.allclose(tab.obstacle.scene[NAME].position, first)
    assert np.allclose(tab.obstacle.scene[NAME].orientation, [1.0, 0.0, 0.0, 0.0])
    assert np.allclose(session.gizmos[NAME].position, first + session.active.position)
    assert session.undo() == "Put a capsule" and tab.obstacle.scene[NAME].kind == "box"
    assert tab.obstacle._choices[0].value == "box"
    assert session.undo() == "Put a box" and tab.obstacle.now is None
    for _ in range(4):
        session.redo()
    assert tab.obstacle.now is None and session.history.redoable is None


def test_a_rotated_obstacle_collides_as_it_is_rotated(tab: LimbTab, session: Session):
    hand = shown(tab, session, "left_hand") + by(0.0, 0.15, 0.15)
    tab.drag(hand)
    tab.obstacle.choose("capsule")
    near = hand + by(0.25, 0.0, 0.0)
    tab.obstacle.move(near)
    drawn(tab, session)
    assert tab.placement.status == Status.REACHED, "it stands beside the hand"
    tab.obstacle.move(near, pm.axis_angle([0.0, 0.0, 1.0], np.pi / 2))
    drawn(tab, session)
    assert tab.placement.status == Status.COLLISION, "now it lies, and reaches the hand"


def test_an_obstacle_waits_while_there_is_no_body(tab: LimbTab, session: Session):
    tab.obstacle.choose("box")
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    assert len(tab.obstacle.scene) == 0 and NAME not in session.gizmos
    session.undo()
    assert NAME in tab.obstacle.scene and NAME in session.gizmos


# Files.


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_a_saved_pose_is_loaded_exactly_and_can_be_undone(tab: LimbTab, session: Session, tmp_path: Path, suffix: str):
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    tab.drop()
    drawn(tab, session)
    placed = session.active.frames(session.time).positions
    tab.files.save(str(tmp_path / f"pose{suffix}"))
    assert len(load(tmp_path / f"pose{suffix}")) == 1
    tab.release()
    session.clock.seek(0.9)
    drawn(tab, session)
    before = session.active.frames(session.time).positions
    assert np.abs(before - placed).max() > 0.1
    tab.files.load(str(tmp_path / f"pose{suffix}"))
    drawn(tab, session)
    assert np.abs(session.active.frames(session.time).positions - placed).max() < 1e-5
    hand = shown(tab, session, "right_hand") + by(0.0, 0.1, 0.1)
    tab.choose("right_hand")
    tab.drag(hand)
    tab.drop()
    assert np.allclose(shown(tab, session, "right_hand"), hand, atol=1e-9), "and worked on further"
    session.undo()
    assert session.undo() == "Set the pose of pose"
    drawn(tab, session)
    assert np.allclose(session.active.frames(session.time).positions, before) and session.active.pose_override is None


def test_a_pose_of_another_body_is_taken_as_the_same_posture(tab: LimbTab, session: Session, tmp_path: Path):
    tall = ps.figure(height=1.95)
    skeleton = Skeleton(
        [f"mixamorig:{name}" if name == "hips" else name for name in tall.skeleton.names],
        tall.skeleton.parents,
        tall.skeleton.offsets,
    )
    throw = ps.samples.throw(tall)
    pose = throw[len(throw) // 2]
    save(Motion(skeleton, pose.reshape(1), 30.0), tmp_path / "tall.npz")
    tab.files.load(str(tmp_path / "tall.npz"))
    drawn(tab, session)
    taken, given = session.body.canonical(session.active.pose_override), tall.canonical(pose)
    for role in ("hips", "left_upper_arm", "right_lower_arm", "left_foot"):
        one, other = taken.rotations[taken.index(role)], given.rotations[given.index(role)]
        assert pm.angle(one, other) < 1e-6


def test_a_file_without_a_pose_is_refused_and_changes_nothing(tab: LimbTab, session: Session, tmp_path: Path):
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    save(Motion(chain, Pose(np.zeros((1, 3)), np.tile([1.0, 0, 0, 0], (1, 2, 1))), 30.0), tmp_path / "chain.npz")
    for path, why in ((tmp_path / "chain.npz", "no human roles"), (tmp_path / "none.npz", "none.npz"), ("", "path")):
        with pytest.raises(PosableError, match=why):
            tab.files.load(str(path))
    with pytest.raises(PosableError, match="suffix"):
        tab.files.load_upload(SimpleNamespace(name="pose.exe", content=b""))
    assert session.history.undoable is None and session.active.pose_override is None
    session.paths = False
    try:
        for refused in (tab.files.save, tab.files.load):
            with pytest.raises(PosableError, match="other machines"):
                refused(str(tmp_path / "pose.npz"))
    finally:
        session.paths = True
