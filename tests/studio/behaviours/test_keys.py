"""Keys of the reach tab: on the plane, added, moved, copied, removed, undone."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import PosableError
from posable.reach import Posture
from posable.studio import Session
from posable.studio.tabs.behaviours.swing_plane import MARK, Stroke, direction_of, stroke_of, swing_of
from posable.studio.tabs.behaviours.tab import NONE, BehavioursTab
from posable.studio.widgets.pointer import read_pointed

from ..window import by
from .conftest import LOW, shown, written


def read_stroke(text: str) -> Stroke | None:
    pointed = read_pointed(MARK, text)
    return None if pointed is None else stroke_of(pointed)


def test_a_swing_and_its_direction_are_one():
    swings = np.random.default_rng(0).uniform(-2.1, 2.1, (5000, 2))
    assert np.allclose(swing_of(direction_of(swings)), swings, atol=1e-9)
    assert np.allclose(direction_of([np.pi / 2, 0.0]), [0.0, -1.0, 0.0], atol=1e-12), "an arm that hangs"


@given(st.text(max_size=40))
def test_what_is_no_stroke_is_not_taken_for_one(text: str):
    assert read_stroke(text) is None
    stroke = read_stroke(f"{MARK}{text}")
    assert stroke is None or np.isfinite(stroke.now).all()


@pytest.mark.parametrize(
    "words", ["1 2 down - nan 0 0 0 -", "1 2 down x 0 0 0 0 -", "1 2 down - 0 0 0 inf -", "1 2 up", ""]
)
def test_a_broken_stroke_is_left_alone(words: str):
    assert read_stroke(MARK + words) is None


def test_a_press_on_the_plane_has_the_hand_there_at_the_same_distance(tab: BehavioursTab, session: Session):
    origin = tab.targets.frame("right")[1]
    far = np.linalg.norm(tab.targets["right"] - origin)
    tab.keys.stroke(Stroke(1, False, None, LOW, LOW))
    pose = shown(tab, session)
    turned, origin = tab.targets.frame("right")
    way = pm.rotate(pm.conjugate(turned), tab.targets["right"] - origin)
    assert np.allclose(swing_of(way), LOW) and np.isclose(np.linalg.norm(way), far)
    if tab.solution.ok:
        hand = session.body.skeleton.forward(pose).positions[session.body.index("right_hand")]
        assert np.linalg.norm(hand - tab.targets["right"]) < 1e-9


def test_a_key_that_is_edited_is_shown_as_it_is(tab: BehavioursTab, session: Session):
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    tab.keys.add()
    before = shown(tab, session)
    tab.editor.rotate("chest", pm.axis_angle([1.0, 0.0, 0.0], 0.3), None)
    tab.editor.shift(np.array([0.0, -0.1, 0.05]), None)
    pose = shown(tab, session)
    key, start = tab.keys.behaviour.key(tab.keys.chosen), tab.options.start(session.active, session.body, session.time)
    assert np.allclose(key.at, LOW) and not np.allclose(pose.rotations, before.rotations)
    assert float(tab.solution.weight) == 1.0 and not tab.solution.lowered
    taken = Posture.of(session.body, pose, start, key.posture.parts)
    assert np.allclose(taken.rotations, key.posture.rotations, atol=1e-9)
    assert np.allclose(taken.hips, key.posture.hips, atol=1e-9)


def test_a_key_changes_nothing_until_it_is_edited(tab: BehavioursTab, session: Session):
    probes = np.random.default_rng(1).uniform(-1.0, 1.0, (200, 2))
    before = tab.keys.behaviour.posture_at(probes)
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    tab.keys.add()
    after = tab.keys.behaviour.posture_at(probes)
    assert np.array_equal(before.rotations, after.rotations) and np.array_equal(before.hips, after.hips)


def test_each_edit_is_undone_and_done_again_to_the_last_bit(tab: BehavioursTab, session: Session, tmp_path: Path):
    states, labels = [written(tab, tmp_path)], []

    def did(label: str) -> None:
        states.append(written(tab, tmp_path))
        labels.append(label)
        assert session.history.undoable == label and states[-1] != states[-2]

    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    first = tab.keys.add()
    did("Add a key")
    for angle in (0.1, 0.2, 0.3):  # a slider on its way is one step
        tab.editor.rotate("chest", pm.axis_angle([1.0, 0.0, 0.0], angle), 0)
    did("Rotate the chest")
    tab.editor.shift(np.array([0.0, -0.1, 0.0]), 1)
    did("Shift the hips")
    for k in range(1, 4):  # and so is a key
        here = (LOW[0] - 0.1 * k, LOW[1])
        tab.keys.stroke(Stroke(2, k == 3, first, LOW, here))
    assert np.allclose(tab.keys.behaviour.key(first).at, here)
    did("Move the key")
    copy = tab.keys.copy()
    assert tab.keys.chosen == copy != first
    did("Copy the key")
    tab.keys.choose(first)
    tab.keys.remove()
    assert tab.keys.chosen is None
    did("Remove the key")
    tab.files._interpolation.receive("smooth")
    assert tab.keys.behaviour.interpolation == "smooth"
    did("Restyle the behaviour")
    tab.files._k.receive(0.5)
    assert tab.keys.behaviour.weight.k == 0.5
    did("Restyle the behaviour")
    tab.keys.mirror()
    did("Mirror to the left arm")
    tab.keys.start_from("tired")
    did("Start from tired")
    for state, label in zip(states[-2::-1], labels[::-1], strict=True):
        assert session.undo() == label
        assert written(tab, tmp_path) == state
        shown(tab, session)
    for state in states[1:]:
        session.redo()
        assert written(tab, tmp_path) == state


def test_keys_stay_inside_the_ellipse_and_outer_keys_where_they_are(tab: BehavioursTab, session: Session):
    tab.keys.stroke(Stroke(1, True, None, LOW, LOW))
    key = tab.keys.add()
    tab.keys.stroke(Stroke(2, True, key, LOW, (LOW[0], 2.6)))
    at, ellipse = np.array(tab.keys.behaviour.key(key).at), tab.keys.behaviour.ellipse
    share = np.linalg.norm((at - ellipse.centre) / np.array(ellipse.radii))
    assert 0.999 < share <= 1.0
    outer = tab.keys.behaviour.keys[0]
    tab.keys.stroke(Stroke(3, True, outer.id, outer.at, LOW))
    assert tab.keys.behaviour.key(outer.id).at == outer.at and tab.keys.chosen == outer.id
    with pytest.raises(PosableError, match="outer"):
        tab.keys.remove()


def test_tools_without_a_key_say_what_to_do(tab: BehavioursTab):
    for tool in (tab.keys.copy, tab.keys.remove):
        with pytest.raises(PosableError, match="choose a key"):
            tool()
    tab.choose(NONE)
    with pytest.raises(PosableError, match="choose a hand"):
        tab.keys.add()


# The sphere.


def test_a_click_on_the_sphere_has_the_target_there(tab: BehavioursTab, session: Session):
    rng, ellipse = np.random.default_rng(4), tab.keys.behaviour.ellipse
    for _ in range(100):
        shown(tab, session)
        turn, share = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.0, 0.95)
        swing = np.array(ellipse.centre) + share * np.array(ellipse.radii) * [np.cos(turn), np.sin(turn)]
        turned, origin = tab.targets.frame("right")
        origin, far = origin + session.active.position, tab.targets.distance("right")
        on = origin + far * pm.rotate(turned, direction_of(swing))
        eye = origin + 4.0 * pm.rotate(turned, direction_of(swing + rng.uniform(-0.2, 0.2, 2)))
        way = (on - eye) / np.linalg.norm(on - eye)
        chosen = tab.view.sphere.key_at(eye, way)
        assert tab.keys.click(eye, way)
        shown(tab, session)
        if chosen is None:
            assert tab.keys.chosen is None and np.allclose(tab.targets.swing("right"), swing, atol=1e-6)
            assert np.isclose(tab.targets.distance("right"), far)
        else:
            assert tab.keys.chosen == chosen
            tab.keys.aim(LOW)
    assert not tab.keys.click(origin + by(0.0, 9.0, 5.0), by(0.0, 0.0, -1.0)), "past the sphere"
    tab.view.on_sphere.value = False
    shown(tab, session)
    assert not tab.keys.click(eye, way), "no sphere, no click"
    tab.view.on_sphere.value = True


def test_a_click_on_the_body_is_the_bodys_while_a_key_is_edited(tab: BehavioursTab, session: Session):
    key = tab.keys.add()
    shown(tab, session)
    places = session.active.frames(session.time).positions
    before = places[session.body.index("chest")] + by(0.0, 0.0, 3.0)
    assert not tab.keys.click(before, by(0.0, 0.0, -1.0))
    session._clicked(SimpleNamespace(ray_origin=before + session.stage.offset, ray_direction=(0.0, 0.0, -1.0)))
    assert tab.keys.chosen == key and session.selection is not None
    session.select(None)
