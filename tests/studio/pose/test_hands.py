"""Hands in the tab Pose: shapes at a frame, and a hand that closes on the obstacle, each an edit that can be undone."""

import pytest

import posable as ps
import posable.math as pm
from posable.compute import PosableError
from posable.studio.tabs.pose.options import LIMB
from posable.studio.view.obstacle import NAME, NOTHING

from ..window import wait


@pytest.fixture
def answer() -> str:
    return LIMB


@pytest.fixture
def tab(tab, studio):
    """The tab with a figure that has fingers on the stage."""
    session, body = studio.session, ps.figure(fingers=True)
    session.add(ps.samples.walk(body)[:60], body=body, name="fingers", keep=False)
    session.clock.pause()
    session.clock.seek(30 / session.motion.fps)
    tab.update(session.time)
    wait(lambda: session.edits.editor is not None, "the editor")
    tab.update(session.time)
    session.history.clear()
    return tab


def hand_at(tab, session, side="left"):
    tab.update(session.time)
    actor = session.active
    pose = actor.pose(session.time)
    return ps.HandShape.of(session.body, pose, side).rotations


def angles(one, other):
    return pm.angle(one, other).max()


def test_fingers_take_a_shape_which_fades_and_can_be_undone(tab, studio):
    session, hands = studio.session, tab.pose.hands
    assert len(session.body.fingers) == 30
    before, other = hand_at(tab, session), hand_at(tab, session, "right")
    hands.side.value, hands.shape.value, hands.weight.value = "left", "fist", 1.0
    hands.apply()
    fist = ps.HandShape.named("fist").rotations
    assert angles(hand_at(tab, session), fist) < 1e-3
    assert angles(hand_at(tab, session, "right"), other) < 1e-6
    assert angles(before, fist) > 0.5
    session.clock.seek(session.active.motion.duration)
    assert angles(hand_at(tab, session), fist) > 0.5
    session.clock.seek(30 / session.motion.fps)
    session.undo()
    assert angles(hand_at(tab, session), before) < 1e-6


def test_a_grip_of_a_radius_opens_with_the_radius(tab, studio):
    session, hands = studio.session, tab.pose.hands
    hands.side.value, hands.shape.value = "both hands", "around a ball"
    bends = []
    for radius in (1.0, 6.0):
        hands.radius.value = radius
        tab.update(session.time)
        assert hands.radius.visible
        hands.apply()
        bends.append(pm.angle(hand_at(tab, session, "right")[3:], [1.0, 0.0, 0.0, 0.0]).sum())
    assert bends[1] < 0.8 * bends[0]


def test_a_hand_closes_on_the_obstacle_and_the_panel_says_how(tab, studio):
    session, hands, obstacle = studio.session, tab.pose.hands, tab.pose.obstacle
    hands.side.value = "left"
    with pytest.raises(PosableError, match="obstacle"):
        hands.close_on_obstacle()
    obstacle.choose("ball")
    frames = session.active.frames(session.time)
    wrist = session.body.index("left_hand")
    turn = session.body.canonical_orientation(frames, wrist)
    radius = float(obstacle.scene[NAME].sizes[0])
    obstacle.move(frames.positions[wrist] + pm.rotate(turn, [-0.021 - radius, -0.085, 0.0]))
    hands.close_on_obstacle()
    tab.update(session.time)
    assert "fingers touch" in hands.text.content
    pose = session.active.pose(session.time)
    as_it_is = ps.HandShape.of(session.body, pose, "left")
    gaps = session.body.close_hand(pose, "left", obstacle.scene, start=None, end=as_it_is).gaps
    assert gaps[1:].min() > -1e-4 and gaps[1:].max() < 1e-3  # the ball of the thumb may be in a ball as large as this
    obstacle.choose(NOTHING)


def test_a_body_without_fingers_says_so(tab, studio):
    session = studio.session
    body = ps.figure()
    session.add(ps.samples.walk(body)[:10], body=body, name="mittens", keep=False)
    tab.update(session.time)
    assert "no fingers" in tab.pose.hands.text.content
    with pytest.raises(PosableError, match="fingers"):
        tab.pose.hands.apply()
