"""Postures of keys: turned by sliders and by handles, inside the limits."""

from types import SimpleNamespace

import numpy as np

import posable.math as pm
from posable.studio import Session
from posable.studio.core.actor import canonical_orientation
from posable.studio.tabs.behaviours.swing_plane import Stroke
from posable.studio.tabs.behaviours.tab import BehavioursTab

from ..window import by
from .conftest import LOW, shown


def test_sliders_keep_joints_inside_the_limits_and_turn_one_way_each(tab: BehavioursTab, session: Session):
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    key = tab.keys.add()
    shown(tab, session)
    rng = np.random.default_rng(2)
    limits = session.body.limits
    for part in tab.keys.behaviour.parts:
        tab.editor.choose(part)
        for _ in range(3):
            tab.editor.rotate(part, pm.exp(rng.uniform(-1.5, 1.5, 3)), None)
            assert limits.contains(part, tab.keys.behaviour.posture(key).rotation(part), tolerance=1e-7)
            shown(tab, session)
            for slider in (follower.control for follower in tab.editor._angles):
                assert slider.min <= slider.value <= slider.max
    tab.editor.choose("chest")
    tab.editor.reset("Straight")
    shown(tab, session)
    tab.editor._angles[0].receive(12)
    assert pm.angle(tab.keys.behaviour.posture(key).rotation("chest"), pm.exp([np.radians(12.0), 0.0, 0.0])) < 1e-9


def test_the_handle_at_a_joint_turns_it_and_shifts_the_hips(tab: BehavioursTab, session: Session):
    body, actor = session.body, session.active
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    tab.keys.add()
    for part in ("spine", "chest", "neck"):
        tab.editor.choose(part)
        pose = shown(tab, session)
        handle = tab.joint.handle.gizmo
        assert np.allclose(handle.position, body.skeleton.forward(pose).positions[body.index(part)] + actor.position)
        wanted = pm.multiply(pm.axis_angle([1.0, 0.0, 0.0], 0.1), np.array(handle.wxyz))
        tab.joint.move(np.array(handle.position), wanted)
        pose = shown(tab, session)
        assert pm.angle(canonical_orientation(body, part, pose), wanted) < 1e-7
    tab.editor.choose("hips")
    shown(tab, session)
    wanted = np.array(tab.joint.handle.gizmo.position) + by(0.03, -0.08, 0.02)
    tab.joint.move(wanted, np.array(tab.joint.handle.gizmo.wxyz))
    pose = shown(tab, session)
    assert np.allclose(body.skeleton.forward(pose).positions[body.index("hips")] + actor.position, wanted, atol=1e-7)
    assert session.history.undoable == "Shift the hips"
    before = tab.keys.behaviour.posture(tab.keys.chosen).hips
    for k, phase in enumerate(("start", "update", "end", "update")):  # the last one comes late and changes nothing
        shown(tab, session)
        handle = tab.joint.handle.gizmo
        moved = SimpleNamespace(position=wanted + by(0.0, -0.01 * min(k, 2), 0.0), wxyz=handle.wxyz)
        tab.joint.handle.receive(SimpleNamespace(target=moved if k < 3 else handle, phase=phase))
    shown(tab, session)
    assert np.allclose(
        tab.keys.behaviour.posture(tab.keys.chosen).hips - before, [0.0, -0.02 / body.leg_length, 0.0], atol=1e-7
    )
    session.undo()
    assert np.allclose(tab.keys.behaviour.posture(tab.keys.chosen).hips, before), "one step for the whole drag"
    tab.keys.stroke(Stroke(2, True, None, LOW, LOW))
    shown(tab, session)
    assert tab.joint.handle.gizmo is None


def test_a_key_with_its_own_elbow_has_the_elbow_there(tab: BehavioursTab, session: Session):
    at = (np.radians(15.0), np.radians(60.0))
    tab.keys.stroke(Stroke(1, True, None, at, at))
    tab.keys.add()
    for degrees in (20.0, 45.0):
        tab.editor.set_elbow(degrees)
        shown(tab, session)
        assert tab.solution.ok and np.isclose(np.degrees(float(tab.solution.right.swivel)), degrees, atol=1e-6)
    tab.editor.rename("<b>low</b>")
    shown(tab, session)
    assert tab.keys.behaviour.key(tab.keys.chosen).name == "<b>low</b>" and "low" not in tab.editor._title.content
    assert session.undo() == "Name the key"
    assert session.undo() == "Set the elbow" and tab.keys.behaviour.key(tab.keys.chosen).search is None
