"""The reconstruct tab from Python: what is reconstructed, compared, lost, dragged, kept and saved."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posable.body import MARKERS
from posable.compute import PosableError, Status
from posable.evaluate import evaluate_clip, find_method, method_names
from posable.formats import load
from posable.reconstruct import SequentialIK
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session
from posable.studio.tabs.trackers import tab as reconstruct
from posable.studio.tabs.trackers.tab import ADJACENT, NAMES, NONE, OURS, OVER, TrackersTab

from ..window import by, wait
from .conftest import FREE, set_untracked


def reconstructed(tab: TrackersTab, session: Session):
    """What the tab makes of the whole motion as its controls are now."""

    def done() -> bool:
        tab.update(session.time)
        return tab.result is not None

    wait(done, "the motion to be reconstructed")
    tab.update(session.time)
    return tab.result


def test_the_motion_is_reconstructed_as_the_solver_reconstructs_it(tab: TrackersTab, session: Session):
    tab.show(OVER)
    found = reconstructed(tab, session)
    body, motion = session.body, session.motion
    wanted = find_method("sik")(body, (1.0, 1.0, 0.0)).track(body.markers(motion.pose), fps=motion.fps)
    assert np.array_equal(found.motion.pose.rotations, wanted.motion.pose.rotations)
    assert np.array_equal(found.status, wanted.status) and found.motion.fps == motion.fps
    told = evaluate_clip(motion, ["sik"], weights=(1.0, 1.0, 0.0))["methods"]["sik"]
    assert np.isclose(found.overall, told["position"], rtol=1e-12), "the paper's measure"
    assert f"{100 * found.overall:.2f} %" in tab._numbers.content and "six points are met" in tab.report.text.content
    assert tab.guest.pose_override is not None and tab.guest in session.shown and tab.guest not in session.actors


def test_the_body_stands_over_the_original_or_beside_it(tab: TrackersTab, session: Session):
    tab.show(OVER)
    tab.update(session.time)
    reconstructed(tab, session)
    assert np.array_equal(tab.guest.position, session.active.position) and tab.guest.ghost
    tab.show(ADJACENT)
    tab.update(session.time)
    here, there = session.active.frames(session.time).positions, tab.guest.frames(session.time).positions
    assert there[:, 0].min() > here[:, 0].max() and not tab.guest.ghost
    tab.show(NONE)
    tab.update(session.time)
    assert session.shown == session.actors and not any(name.startswith("reconstruct") for name in session.gizmos)


def test_methods_are_switched_and_compared(tab: TrackersTab, session: Session):
    tab.show(OVER)
    first = reconstructed(tab, session)
    tab.choose(FREE)
    second = reconstructed(tab, session)
    assert second is not first and not np.array_equal(second.motion.pose.rotations, first.motion.pose.rotations)
    assert tab.report.plot.labels == (NAMES["sik"], FREE)
    tab.choose("sik")
    tab.update(session.time)
    assert tab.result is first, "what was reconstructed is kept"
    tab.choose(OURS)
    third = reconstructed(tab, session)
    points = session.body.markers(session.motion.pose)
    wanted = SequentialIK(session.body, (1.0, 1.0, 0.0)).track(points, fps=session.motion.fps)
    assert np.array_equal(third.motion.pose.rotations, wanted.motion.pose.rotations)


@pytest.mark.parametrize("method", method_names())
def test_every_method_reconstructs_the_walk(tab: TrackersTab, session: Session, method: str):
    points = session.body.markers(session.motion.pose)
    find_method(method)(session.body, (1.0, 1.0, 0.0)).track(points[:2])  # compiles here, where nobody waits for it
    tab.choose(method)
    tab.show(OVER)
    found = reconstructed(tab, session)
    assert found.motion.pose.is_finite() and found.overall < 0.2


def test_of_many_questions_the_last_is_answered(tab: TrackersTab, session: Session):
    tab.show(OVER)
    for k in range(12):
        tab._weights[2].value = 0.05 * k
        tab.update(session.time)
    found = reconstructed(tab, session)
    wanted = find_method("sik")(session.body, (1.0, 1.0, 0.55)).track(session.body.markers(session.motion.pose))
    assert np.array_equal(found.motion.pose.rotations, wanted.motion.pose.rotations)
    tab._weights[2].value = 0.0
    tab.update(session.time)


def test_untracked_points_are_nan_for_as_long_as_they_are_untracked(tab: TrackersTab, session: Session):
    set_untracked(tab, "left_hand", "head", between=(25, 50))
    points = tab.points.of_motion(session.active, session.body)
    lost = np.isnan(points).all(axis=-1)
    share = np.arange(60) / 59
    assert np.array_equal(lost.any(axis=1), (share >= 0.25) & (share <= 0.5))
    assert [MARKERS[k] for k in np.flatnonzero(lost.any(axis=0))] == ["head", "left_hand"]
    tab.show(OVER)
    found = reconstructed(tab, session)
    wanted = find_method("sik")(session.body, (1.0, 1.0, 0.0)).track(points, fps=session.motion.fps)
    assert np.array_equal(found.motion.pose.rotations, wanted.motion.pose.rotations)
    assert found.motion.pose.is_finite() and np.isfinite(found.errors).all()
    session.clock.seek(20 / session.motion.fps)
    tab.update(session.time)
    assert tab.status == Status.INVALID and "Lost: head, left hand, guessed" in tab.report.text.content
    assert not session.gizmos["reconstruct_head"].visible and session.gizmos["reconstruct_left_foot"].visible


def test_a_dragged_point_is_followed_and_each_drag_is_a_step(tab: TrackersTab, session: Session):
    tab.show(ADJACENT)
    reconstructed(tab, session)
    body, before = session.body, tab.guest.pose_override
    handle = session.gizmos["reconstruct_left_hand"]
    start = np.array(handle.position)
    assert np.allclose(start - tab.guest.position, body.markers(session.pose)[2])
    for share, phase in ((0.5, "start"), (1.0, "update"), (1.0, "end")):
        moved = SimpleNamespace(position=start + share * by(0.05, 0.15, 0.05), wxyz=handle.wxyz)
        tab.points.handles["left_hand"].receive(SimpleNamespace(target=moved, phase=phase))
        tab.update(session.time)
    points = body.markers(session.pose)
    points[2] += by(0.05, 0.15, 0.05)
    wanted = find_method("sik")(body, (1.0, 1.0, 0.0)).solve(points)
    assert np.allclose(tab.guest.pose_override.rotations, wanted.pose.rotations, atol=1e-9)
    assert np.allclose(body.markers(tab.guest.pose_override)[2], points[2], atol=1e-6) == bool(wanted.ok)
    assert session.history.undoable == "Drag a point"
    session.undo()
    tab.update(session.time)
    assert np.array_equal(tab.guest.pose_override.rotations, before.rotations)
    session.redo()
    tab.update(session.time)
    assert np.allclose(tab.guest.pose_override.rotations, wanted.pose.rotations, atol=1e-9)
    tab.points.release()
    tab.update(session.time)
    assert np.array_equal(tab.guest.pose_override.rotations, before.rotations)
    click = SimpleNamespace(position=start, wxyz=handle.wxyz)
    tab.points.handles["left_hand"].receive(SimpleNamespace(target=click, phase="end"))
    assert session.history.undoable == "Release the points", "a click drags nothing"


def test_limits_and_volumes_of_the_reconstructed_body_are_shown(tab: TrackersTab, session: Session):
    tab.show(OVER)
    tab.limits._limb.value, tab.limits._volumes.value = "right arm", True
    reconstructed(tab, session)
    assert "limits of the right arm" in tab.limits._swing._html.content and tab.limits._swing._html.visible
    assert tab.guest.volumes_only and tab.limits._contacts.visible and "touch" in tab.limits._contacts.content
    tab.limits._limb.value, tab.limits._volumes.value = NONE, False
    tab.update(session.time)
    assert not tab.limits._swing._html.visible and not tab.limits._contacts.visible and not tab.guest.volumes_only


@pytest.mark.parametrize("suffix", ["bvh", "npz", "glb"])
def test_the_reconstructed_motion_is_saved_and_comes_back(
    tab: TrackersTab, session: Session, tmp_path: Path, suffix: str
):
    tab.show(OVER)
    found = reconstructed(tab, session)
    tab.files.save(str(tmp_path / f"reconstructed.{suffix}"))
    back = load(tmp_path / f"reconstructed.{suffix}")
    assert len(back) == 60 and np.isclose(back.fps, session.motion.fps, rtol=1e-3)
    there = session.body.skeleton.forward(found.motion.pose).positions
    here = back.skeleton.forward(back.pose).positions[:, [back.skeleton.index(n) for n in session.body.skeleton.names]]
    assert np.abs(here - there).max() < 1e-4


def test_the_reconstructed_motion_is_kept_on_the_stage(tab: TrackersTab, session: Session):
    with pytest.raises(PosableError, match="nothing is reconstructed"):
        tab.add_to_stage()
    tab.show(OVER)
    found = reconstructed(tab, session)
    tab.add_to_stage()
    assert session.active.name == "walk from six points" and len(session.actors) == 2
    assert np.array_equal(session.motion.pose.rotations, found.motion.pose.rotations) and tab.mode == NONE
    session.undo()
    assert len(session.actors) == 1


def test_a_method_that_fails_is_told_and_the_studio_goes_on(tab: TrackersTab, session: Session, monkeypatch):
    def broken(body, weights):
        raise PosableError("this body has three heads")

    monkeypatch.setattr(reconstruct, "find_method", lambda name: broken)
    tab._weights[0].value = 0.35  # a question that nobody has asked
    tab.show(OVER)
    tab.update(session.time)
    wait(lambda: session.message is not None and "three heads" in session.message[1], "the error")
    tab.update(session.time)
    with pytest.raises(PosableError, match="still being reconstructed"):
        tab.files.save("never.bvh")
    tab._weights[0].value = 1.0


def test_without_a_person_there_is_nothing_to_reconstruct(tab: TrackersTab, session: Session):
    tab.show(OVER)
    reconstructed(tab, session)
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    tab.update(session.time)
    assert tab.guest is None and session.extras == () and "person" in tab.report.text.content
    session.undo()
    reconstructed(tab, session)
    assert tab.guest is not None


@pytest.mark.parametrize("lost", ["hips", "head", "left_hand", "left_foot"])
def test_a_point_dragged_while_another_is_lost_leaves_the_body_on_the_floor(
    tab: TrackersTab, session: Session, lost: str
):
    set_untracked(tab, lost, between=(0, 100))
    tab.choose(OURS)
    tab.show(OVER)
    reconstructed(tab, session)
    session.clock.seek(0.5)
    tab.update(session.time)
    before = tab.guest.frames(session.time).positions
    there = session.body.markers(session.motion.at(session.time))[MARKERS.index("right_hand")]
    tab.points.drag("right_hand", there + session.active.position + by(0.0, 0.05, 0.05))
    tab.update(session.time)
    after = tab.guest.frames(session.time).positions
    assert np.isfinite(after).all() and after[:, 1].min() > before[:, 1].min() - 0.05
    assert np.linalg.norm(after - before, axis=-1).max() < 0.3, "it goes on from where it was"
    assert f"Lost: {lost.replace('_', ' ')}, guessed" in tab.report.text.content
    shown = np.array(tab.points._cloud.node.points, dtype=np.float64)[MARKERS.index(lost)]
    guess = session.body.markers(tab.guest.pose_override)[MARKERS.index(lost)] + tab.guest.position
    assert np.allclose(shown, guess, atol=1e-6), "its point is where the body guesses it"
    tab.points.drop()


def test_every_method_has_a_name_that_people_read():
    assert set(method_names()) <= set(NAMES) and len(set(NAMES.values())) == len(NAMES)
    assert not any("_" in name for name in NAMES.values())
