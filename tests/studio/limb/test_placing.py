"""The limb tab: goals, orbit, obstacle and undo."""

from collections.abc import Iterator

import numpy as np
import pytest

import posable.math as pm
from posable.compute import Status
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session, Studio
from posable.studio.tabs.limb.ranges import SWIVELS
from posable.studio.tabs.limb.tab import NONE, LimbTab
from posable.studio.view.obstacle import KINDS, NOTHING

from ..window import by
from .conftest import PARTS, limb_tab, shown


@pytest.fixture
def tab(studio: Studio) -> Iterator[LimbTab]:
    """The tab with nothing chosen, beside a walk that stands still."""
    session, tab = studio.session, limb_tab(studio)
    session.open_sample("walk", keep=False)
    session.clock.pause()
    session.clock.seek(0.5)
    session.history.clear()
    yield tab
    tab.choose(NONE)
    tab.obstacle.choose(NOTHING)
    tab.learned.apply(False)
    tab.learned.show(False)


@pytest.mark.parametrize("part", PARTS)
def test_the_handle_is_at_the_part_and_the_part_follows_it(tab: LimbTab, session: Session, part: str):
    before = shown(tab, session, part)
    tab.choose(part)
    assert np.allclose(session.gizmos["limb"].position, before)
    assert np.allclose(shown(tab, session, part), before, atol=1e-12), "choosing moves nothing"
    target = before + by(0.0, 0.08, 0.05)
    tab.drag(target)
    assert np.allclose(shown(tab, session, part), target, atol=1e-9)
    assert tab.placement.status == Status.REACHED
    text = tab._text.content
    assert "REACHED" in text and "error 0.0 mm" in text and "swivel" in text and " test" in text


def test_a_target_out_of_reach_is_reported_with_its_distance(tab: LimbTab, session: Session):
    before = shown(tab, session, "left_hand")
    tab.choose("left_hand")
    tab.drag(before + by(0.0, 0.0, 3.0))
    shown(tab, session, "left_hand")
    assert tab.placement.status == Status.UNREACHABLE
    assert f"error {1000 * float(tab.placement.position_error):.1f} mm" in tab._text.content
    assert float(tab.placement.position_error) > 2.0


def test_rotating_too_gives_the_hand_the_orientation_of_the_handle(tab: LimbTab, session: Session):
    body, part = session.body, "right_hand"
    place = shown(tab, session, part) + by(0.0, 0.15, 0.15)
    tab.choose(part)
    tab.rotate(True)
    start = np.array(session.gizmos["limb"].wxyz)
    target = pm.multiply(pm.axis_angle(np.array([0.0, 1.0, 0.0]), 0.2), start)
    tab.drag(place, target)
    assert np.allclose(shown(tab, session, part), place, atol=1e-9)
    world = session.active.frames(session.time).orientations[body.index(part)]
    canonical = pm.multiply(world, pm.conjugate(body.neutral_orientation(part)))
    assert tab.placement.status == Status.REACHED
    assert pm.angle(canonical, target) < 1e-7


def test_one_drag_is_one_step_to_undo_and_to_redo(tab: LimbTab, session: Session):
    before = shown(tab, session, "right_hand")
    tab.choose("right_hand")
    for step in range(1, 6):
        tab.drag(before + by(0.0, 0.02 * step, 0.0))
    tab.drop()
    assert session.history.undoable == "Place the right hand"
    after = shown(tab, session, "right_hand")
    assert session.undo() == "Place the right hand"
    assert np.allclose(shown(tab, session, "right_hand"), before, atol=1e-12)
    assert session.active.pose_override is None
    assert np.allclose(session.gizmos["limb"].position, before)
    session.redo()
    assert np.allclose(shown(tab, session, "right_hand"), after, atol=1e-12)
    assert np.allclose(session.gizmos["limb"].position, after, atol=1e-9)
    assert session.history.redoable is None


def test_a_click_on_the_handle_moves_nothing(tab: LimbTab, session: Session):
    tab.choose("right_hand")
    shown(tab, session, "right_hand")
    tab.drag(np.float32(session.gizmos["limb"].position).astype(float))
    tab.drop()
    shown(tab, session, "right_hand")
    assert session.history.undoable is None and session.active.pose_override is None


def test_back_to_the_motion_lets_every_part_go_and_can_be_undone(tab: LimbTab, session: Session):
    before = {part: shown(tab, session, part) for part in PARTS}
    for part in PARTS:
        tab.choose(part)
        tab.drag(before[part] + by(0.0, 0.05, 0.0))
        tab.drop()
    for part in PARTS:
        assert np.allclose(shown(tab, session, part), before[part] + by(0.0, 0.05, 0.0), atol=1e-9)
    tab.release()
    for part in PARTS:
        assert np.allclose(shown(tab, session, part), before[part], atol=1e-12)
    assert session.undo() == "Back to the motion"
    assert np.allclose(shown(tab, session, "left_foot"), before["left_foot"] + by(0.0, 0.05, 0.0), atol=1e-9)


def test_a_placed_hand_stays_while_the_body_moves_on(tab: LimbTab, session: Session):
    place = shown(tab, session, "left_hand") + by(0.0, 0.2, 0.2)
    tab.choose("left_hand")
    tab.drag(place)
    foot = shown(tab, session, "left_foot")
    session.clock.seek(0.55)
    assert np.allclose(shown(tab, session, "left_hand"), place, atol=1e-9)
    assert np.linalg.norm(shown(tab, session, "left_foot") - foot) > 1e-3


def test_the_orbit_is_green_exactly_where_the_swivel_is_valid(tab: LimbTab, session: Session):
    import posable as ps

    body, part = session.body, "right_hand"
    place = shown(tab, session, part) + by(0.0, 0.2, 0.15)
    tab.choose(part)
    tab.drag(place)
    shown(tab, session, part)
    assert len(tab._orbit.status) == SWIVELS
    pose = session.motion.at(session.time)
    for swivel, status in zip(np.linspace(-np.pi, np.pi, SWIVELS, endpoint=False), tab._orbit.status, strict=True):
        alone = body.place(pose, part, ps.Target(place - session.active.position), swivel=swivel, self_collision=True)
        assert (alone.status == Status.REACHED) == (status == Status.REACHED)
    assert {Status.REACHED, Status.LIMITS} <= {Status(int(status)) for status in tab._orbit.status}
    points = np.asarray(tab._orbit._circle.points, dtype=float)
    frames = session.active.frames(session.time)
    elbow, shoulder = (frames.positions[body.index(f"right_{name}_arm")] for name in ("lower", "upper"))
    middle = points.mean(axis=1)
    assert np.abs(np.linalg.norm(middle - shoulder, axis=-1) - np.linalg.norm(elbow - shoulder)).max() < 2e-3
    assert np.linalg.norm(middle - elbow, axis=-1).min() < 0.03, "the elbow is on its orbit"


def test_an_obstacle_is_avoided_or_reported(tab: LimbTab, session: Session):
    part = "right_hand"
    place = shown(tab, session, part) + by(0.0, 0.2, 0.2)
    tab.choose(part)
    tab.drag(place)
    shown(tab, session, part)
    assert tab.placement.status == Status.REACHED
    for kind in KINDS:
        tab.obstacle.choose(kind)
        tab.obstacle.move(place)
        shown(tab, session, part)
        assert tab.placement.status == Status.COLLISION
        assert Status.COLLISION in tab._orbit.status
    tab.obstacle.move(place + by(0.0, 0.0, 2.0))
    shown(tab, session, part)
    assert tab.placement.status == Status.REACHED
    tab.obstacle.choose(NOTHING)
    assert "obstacle" not in session.gizmos


def test_the_preferred_swivel_is_taken_where_it_is_valid(tab: LimbTab, session: Session):
    tab.choose("right_hand")
    tab.drag(shown(tab, session, "right_hand") + by(0.0, 0.2, 0.2))
    shown(tab, session, "right_hand")
    valid = np.rad2deg(np.linspace(-np.pi, np.pi, SWIVELS, endpoint=False)[tab._orbit.status == Status.REACHED])
    for degrees in valid:
        tab._preferred.value = round(degrees)
        shown(tab, session, "right_hand")
        assert abs(np.rad2deg(float(tab.placement.swivel)) - degrees) < 1e-6


def test_a_motion_without_limbs_has_nothing_to_choose(tab: LimbTab, session: Session):
    tab.choose("right_hand")
    tab.drag(shown(tab, session, "right_hand") + by(0.0, 0.1, 0.0))
    shown(tab, session, "right_hand")
    walk = session.active
    assert session.stage.transparent is walk
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    assert tab.part is None and "limb" not in session.gizmos
    assert session.stage.transparent is None
    assert walk.pose_override is None, "what is no longer worked on goes back to its motion"
    tab.update(session.time)
    session.undo()
    assert session.active is walk
