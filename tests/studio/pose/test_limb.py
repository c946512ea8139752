"""The limb alone: hands and feet placed by the exact solver, the orbit of the elbow, ranges and obstacles."""

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
from posable.studio.core.actor import canonical_orientation
from posable.studio.tabs.pose.options import LIMB, NONE
from posable.studio.tabs.pose.ranges import SWIVELS, limb_frame
from posable.studio.view.obstacle import KINDS, NAME, NOTHING

from ..desk import Desk
from ..window import by

PARTS = ("right_hand", "left_hand", "right_foot", "left_foot")
UNUSUAL_OFFSET = by(0.1, 0.25, -0.5)
"""From a walker's left hand: behind the back, where no hand goes."""


@pytest.fixture
def answer() -> str:
    return LIMB


def shown(tab: Desk, session: Session, part: str) -> np.ndarray:
    """(3,) where the part is on the stage once this moment is prepared [m]."""
    tab.update(session.time)
    return session.active.frames(session.time).positions[session.body.index(part)]


def found(tab: Desk):
    """The answer to the drag under way."""
    return tab.pose._drag.answer


@pytest.mark.parametrize("part", PARTS)
def test_the_handle_is_at_the_part_and_the_part_follows_it(tab: Desk, session: Session, part: str):
    tab.choose(part)
    before = shown(tab, session, part)
    assert np.allclose(session.gizmos["pose"].position, before)
    assert session.active.pose_override is None, "selecting moves nothing"
    target = before + by(0.0, 0.08, 0.05)
    tab.drag(target)
    assert np.allclose(shown(tab, session, part), target, atol=1e-9)
    assert found(tab).status == Status.REACHED and "On target" in tab.report.text.content
    assert "0.0 mm" in tab.pose._numbers.content and "tried" in tab.pose._numbers.content
    tab.drop()
    assert np.allclose(shown(tab, session, part), target, atol=1e-3), "it stays as a key at this frame"
    assert session.active.pose_override is None and len(session.edits.entries) == 1


def test_only_the_limb_moves(tab: Desk, session: Session):
    before = session.motion
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.1, 0.1))
    tab.drop()
    arm = {session.body.index(f"left_{name}") for name in ("upper_arm", "lower_arm", "hand")}
    others = [joint for joint in range(len(session.body.skeleton)) if joint not in arm]
    assert np.array_equal(session.motion.pose.rotations[:, others], before.pose.rotations[:, others])
    assert not np.array_equal(session.motion.pose.rotations, before.pose.rotations)


def test_a_target_out_of_reach_is_reported_with_its_distance(tab: Desk, session: Session):
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.0, 3.0))
    tab.update(session.time)
    assert found(tab).status == Status.UNREACHABLE and found(tab).position_error > 2.0
    assert f"Out of reach**</span>, {100 * found(tab).position_error:.0f} cm short" in tab.report.text.content


def test_a_ring_gives_the_hand_the_orientation_of_the_handle(tab: Desk, session: Session):
    body, part = session.body, "right_hand"
    tab.choose(part)
    position = shown(tab, session, part) + by(0.0, 0.15, 0.15)
    start, rotation = canonical_orientation(body, part, session.pose), pm.axis_angle(np.array([0.0, 1.0, 0.0]), 0.2)
    tab.drag(position, rotation)
    assert np.allclose(shown(tab, session, part), position, atol=1e-9) and found(tab).status == Status.REACHED
    assert pm.angle(canonical_orientation(body, part, session.pose), pm.multiply(rotation, start)) < 1e-7


@pytest.mark.parametrize("part", ["head", "chest", "left_lower_arm", "hips"])
def test_a_ring_rotates_a_part_of_no_limb_alone(tab: Desk, session: Session, part: str):
    tab.choose(part)
    before = shown(tab, session, part)
    joint = session.body.index(part)
    start = session.active.frames(session.time).orientations[joint]
    rotation = pm.axis_angle(np.array([0.0, 1.0, 0.0]), 0.15)
    tab.drag(before, rotation)
    tab.update(session.time)
    now = session.active.frames(session.time)
    assert np.allclose(now.positions[joint], before, atol=1e-9)
    away = float(pm.angle(now.orientations[joint], pm.multiply(rotation, start)))
    assert away == pytest.approx(found(tab).orientation_error, abs=1e-9)
    assert (found(tab).status == Status.REACHED) == (away < 5e-3)
    moved = np.abs(session.pose.rotations - session.motion.at(session.time).rotations).max(axis=-1) > 1e-9
    assert set(np.flatnonzero(moved)) <= {joint}


def test_one_drag_is_one_step_to_undo_and_to_redo(tab: Desk, session: Session):
    tab.choose("right_hand")
    before = shown(tab, session, "right_hand")
    for step in range(1, 6):
        tab.drag(before + by(0.0, 0.02 * step, 0.0))
    tab.drop()
    assert session.history.undoable == "Drag the right hand"
    after = shown(tab, session, "right_hand")
    assert session.undo() == "Drag the right hand"
    assert np.allclose(shown(tab, session, "right_hand"), before, atol=1e-12)
    assert np.allclose(session.gizmos["pose"].position, before) and session.edits.entries == ()
    session.redo()
    assert np.allclose(shown(tab, session, "right_hand"), after, atol=1e-12)
    assert np.allclose(session.gizmos["pose"].position, after, atol=1e-9) and session.history.redoable is None


def test_a_click_on_the_handle_moves_nothing(tab: Desk, session: Session):
    tab.drag(np.float32(session.gizmos["pose"].position).astype(float))
    tab.drop()
    assert session.history.undoable is None and session.active.pose_override is None


# Where the elbow can go.


def test_the_orbit_is_green_exactly_where_the_swivel_is_valid(tab: Desk, session: Session):
    body, part = session.body, "right_hand"
    tab.choose(part)
    tab.pose.show_orbit.value = True
    position = shown(tab, session, part) + by(0.0, 0.2, 0.15)
    assert session.stage.transparent is session.active
    tab.drag(position)
    tab.update(session.time)
    orbit = tab.pose._orbit
    assert len(orbit.status) == SWIVELS
    pose, target = session.motion.at(session.time), ps.Target(position - session.active.position)
    for swivel, status in zip(np.linspace(-np.pi, np.pi, SWIVELS, endpoint=False), orbit.status, strict=True):
        alone = body.place(pose, part, target, swivel=swivel, self_collision=True)
        assert (alone.status == Status.REACHED) == (status == Status.REACHED)
    assert {Status.REACHED, Status.LIMITS} <= {Status(int(status)) for status in orbit.status}
    points = np.asarray(orbit._circle.points, dtype=float)
    frames = session.active.frames(session.time)
    elbow, shoulder = (frames.positions[body.index(f"right_{name}_arm")] for name in ("lower", "upper"))
    middle = points.mean(axis=1)
    assert np.abs(np.linalg.norm(middle - shoulder, axis=-1) - np.linalg.norm(elbow - shoulder)).max() < 2e-3
    assert np.linalg.norm(middle - elbow, axis=-1).min() < 0.03, "the elbow is on its orbit"
    tab.show("Play")
    assert not orbit._circle.visible and session.stage.transparent is None, "it goes with its tab"


def test_the_preferred_swivel_is_taken_where_it_is_valid(tab: Desk, session: Session):
    tab.choose("right_hand")
    tab.pose.show_orbit.value = True
    target = shown(tab, session, "right_hand") + by(0.0, 0.2, 0.2)
    tab.drag(target)
    tab.update(session.time)
    free = tab.pose._orbit.status == Status.REACHED
    for degrees in np.rad2deg(np.linspace(-np.pi, np.pi, SWIVELS, endpoint=False)[free]):
        tab.options.preferred.value = round(degrees)
        tab.drag(target)
        assert abs(np.rad2deg(float(found(tab).solution.swivel)) - degrees) < 1e-6


def test_the_drawing_of_the_limits_follows_the_limb_and_goes_with_it(tab: Desk, session: Session):
    tab.pose.show_limits.value = True
    hand, drawing = shown(tab, session, "left_hand"), tab.pose._swing._html
    before = drawing.content
    assert "limits of the left arm" in before and drawing.visible
    tab.drag(hand + by(0.0, 0.2, 0.2))
    tab.update(session.time)
    assert drawing.content != before
    tab.drop()
    tab.choose("right_foot")
    tab.update(session.time)
    assert "limits of the right leg" in drawing.content
    tab.choose(NONE)
    tab.update(session.time)
    assert not drawing.visible


# What people do.


@pytest.mark.parametrize("part", PARTS)
def test_a_limb_that_keeps_to_what_people_do_is_where_people_have_it(tab: Desk, session: Session, part: str):
    body, limb = session.body, part.replace("hand", "arm").replace("foot", "leg")
    tab.choose(part)
    start = shown(tab, session, part)
    tab.learned.apply(True)
    learned, stopped = tab.learned.of(body, limb), 0
    rng = np.random.default_rng(3)
    for _ in range(40):
        tab.drag(start + rng.uniform(-0.5, 0.5, 3))
        tab.update(session.time)
        text = tab.report.text.content
        margins = learned.margins(body.limb(limb).read(session.active.pose_override).position, 0.0)
        if found(tab).status == Status.REACHED:
            assert margins.direction > -1e-6 and margins.distance > -1e-6
            assert "direction" not in text and "distance" not in text
        elif "People do not reach there" in text:
            stopped += 1
            assert "was corrected" in text and found(tab).position_error > 1e-6
    assert stopped > 3


def test_the_text_names_what_the_range_changed_for_the_solver(tab: Desk, session: Session):
    body, pose_tab = session.body, tab.pose
    pose_tab.show_orbit.value = True
    target = shown(tab, session, "left_hand") + UNUSUAL_OFFSET
    tab.drag(target)
    free = found(tab).pose
    tab.learned.show(True)
    tab.update(session.time)
    assert "People do not do this: " in tab.report.text.content
    tab.drag(target)
    assert np.array_equal(free.rotations, found(tab).pose.rotations), "showing it changes nothing"
    tab.learned.apply(True)
    tab.drag(target)
    tab.update(session.time)
    assert "was corrected" in tab.report.text.content and "unusual" in pose_tab._legend.content
    orientation, origin = limb_frame(body, "left_arm", session.active.pose_override)
    goal = pm.rotate(pm.conjugate(orientation), target - session.active.position - origin)
    corrected = tab.learned.of(body, "left_arm").correct(goal, np.radians(tab.options.preferred.value))
    there = body.limb("left_arm").read(session.active.pose_override).position
    assert np.linalg.norm(there - corrected.position) < 1e-6, "the hand is where the correction has it"
    tab.learned.apply(False)
    tab.learned.show(False)
    tab.drag(target)
    tab.update(session.time)
    assert "People" not in tab.report.text.content and "unusual" not in pose_tab._legend.content


def test_the_frame_of_the_sphere_is_the_frame_of_the_limb(tab: Desk, session: Session):
    body, pose = session.body, session.pose
    frames = body.skeleton.forward(pose)
    for part in PARTS:
        limb = part.replace("hand", "arm").replace("foot", "leg")
        orientation, origin = limb_frame(body, limb, pose)
        read = body.limb(limb).read(pose)
        there = origin + pm.rotate(orientation, read.position)
        assert np.allclose(there, frames.positions[body.index(part)], atol=1e-9)


def test_the_sphere_is_around_the_shoulder_and_its_point_is_in_the_hands_direction(tab: Desk, session: Session):
    tab.learned.show(True)
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    tab.update(session.time)
    frames = session.active.frames(session.time)
    shoulder, hand = (frames.positions[session.body.index(f"left_{name}")] for name in ("upper_arm", "hand"))
    node, dot = tab.learned._node, tab.learned._dot
    assert node.visible and np.allclose(node.position, shoulder)
    point = np.array(node.position) + pm.rotate(np.array(node.wxyz), np.array(dot.position))
    directions = [(position - shoulder) / np.linalg.norm(position - shoulder) for position in (point, hand)]
    assert np.allclose(*directions, atol=1e-6)
    tab.learned.show(False)
    tab.update(session.time)
    assert not node.visible


def test_swivels_that_people_do_not_have_are_marked_on_the_orbit(tab: Desk, session: Session):
    tab.pose.show_orbit.value = True
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    tab.update(session.time)
    orbit = tab.pose._orbit
    assert orbit.usual is None
    tab.learned.show(True)
    tab.update(session.time)
    swivels = np.linspace(-np.pi, np.pi, len(orbit.usual), endpoint=False)
    position = session.body.limb("left_arm").read(session.active.pose_override).position
    assert np.array_equal(orbit.usual, tab.learned.of(session.body, "left_arm").contains(position, swivels))
    assert orbit.usual.any() and not orbit.usual.all()


# Obstacles.


def test_an_obstacle_is_avoided_or_reported(tab: Desk, session: Session):
    tab.choose("right_hand")
    tab.pose.show_orbit.value = True
    target = shown(tab, session, "right_hand") + by(0.0, 0.2, 0.2)
    tab.drag(target)
    assert found(tab).status == Status.REACHED
    for kind in KINDS:
        tab.obstacle.choose(kind)
        tab.obstacle.move(target)
        tab.drag(target)
        tab.update(session.time)
        assert found(tab).status == Status.COLLISION and Status.COLLISION in tab.pose._orbit.status
    tab.obstacle.move(target + by(0.0, 0.0, 2.0))
    tab.drag(target)
    assert found(tab).status == Status.REACHED
    tab.obstacle.choose(NOTHING)
    assert NAME not in session.gizmos


def test_each_step_with_an_obstacle_can_be_undone(tab: Desk, session: Session):
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


def test_a_rotated_obstacle_collides_as_it_is_rotated(tab: Desk, session: Session):
    hand = shown(tab, session, "left_hand") + by(0.0, 0.15, 0.15)
    tab.obstacle.choose("capsule")
    near = hand + by(0.25, 0.0, 0.0)
    tab.obstacle.move(near)
    tab.drag(hand)
    assert found(tab).status == Status.REACHED, "it stands beside the hand"
    tab.obstacle.move(near, pm.axis_angle([0.0, 0.0, 1.0], np.pi / 2))
    tab.drag(hand)
    assert found(tab).status == Status.COLLISION, "now it lies, and reaches the hand"


def test_an_obstacle_waits_while_there_is_no_body_and_while_no_tab_works_with_it(tab: Desk, session: Session):
    tab.obstacle.choose("box")
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    assert len(tab.obstacle.scene) == 0 and NAME not in session.gizmos
    session.undo()
    assert NAME in tab.obstacle.scene and NAME in session.gizmos
    tab.show("Play")
    assert NAME not in session.gizmos
    session.undo()
    session.redo()
    assert NAME not in session.gizmos, "nor does an undo bring its handle there"
    tab.show("Pose")
    assert NAME in tab.obstacle.scene and NAME in session.gizmos


# Files.


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_a_saved_pose_is_a_key_where_it_is_loaded_and_can_be_undone(
    tab: Desk, session: Session, tmp_path: Path, suffix: str
):
    tab.drag(shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2))
    tab.drop()
    tab.update(session.time)
    posed = session.active.frames(session.time).positions
    tab.pose.files.save(str(tmp_path / f"pose{suffix}"))
    assert len(load(tmp_path / f"pose{suffix}")) == 1
    session.undo()
    session.clock.seek(50 / session.motion.fps)
    tab.update(session.time)
    before = session.motion
    tab.pose.files.load(str(tmp_path / f"pose{suffix}"))
    tab.update(session.time)
    assert np.abs(session.active.frames(session.time).positions - posed).max() < 1e-5
    assert session.edits.entries[0].target_frames == (50,) and session.active.pose_override is None
    tab.choose("right_hand")
    hand = shown(tab, session, "right_hand") + by(0.0, 0.1, 0.1)
    tab.drag(hand)
    tab.drop()
    assert np.allclose(shown(tab, session, "right_hand"), hand, atol=1e-3), "and worked on further"
    session.undo()
    assert session.undo() == "Set the pose of pose" and session.motion is before


def test_a_pose_of_another_body_is_taken_as_the_same_posture(tab: Desk, session: Session, tmp_path: Path):
    tall = ps.figure(height=1.95)
    skeleton = Skeleton(
        [f"mixamorig:{name}" if name == "hips" else name for name in tall.skeleton.names],
        tall.skeleton.parents,
        tall.skeleton.offsets,
    )
    throw = ps.samples.throw(tall)
    pose = throw[len(throw) // 2]
    save(Motion(skeleton, pose.reshape(1), 30.0), tmp_path / "tall.npz")
    tab.pose.files.load(str(tmp_path / "tall.npz"))
    tab.update(session.time)
    taken, given = session.body.canonical(session.pose), tall.canonical(pose)
    for role in ("hips", "left_upper_arm", "right_lower_arm", "left_foot"):
        one, other = taken.rotations[taken.index(role)], given.rotations[given.index(role)]
        assert pm.angle(one, other) < 1e-6


def test_a_file_without_a_pose_is_refused_and_changes_nothing(tab: Desk, session: Session, tmp_path: Path):
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    save(Motion(chain, Pose(np.zeros((1, 3)), np.tile([1.0, 0, 0, 0], (1, 2, 1))), 30.0), tmp_path / "chain.npz")
    files = tab.pose.files
    for path, why in ((tmp_path / "chain.npz", "no human roles"), (tmp_path / "none.npz", "none.npz"), ("", "path")):
        with pytest.raises(PosableError, match=why):
            files.load(str(path))
    with pytest.raises(PosableError, match="suffix"):
        files.load_upload(SimpleNamespace(name="pose.exe", content=b""))
    assert session.history.undoable is None and session.active.pose_override is None
    session.paths = False
    try:
        for refused in (files.save, files.load):
            with pytest.raises(PosableError, match="other machines"):
                refused(str(tmp_path / "pose.npz"))
    finally:
        session.paths = True
