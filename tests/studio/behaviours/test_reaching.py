"""What the body does: reaches, maps, two hands, obstacles, motions."""

import numpy as np

import posable.math as pm
from posable.limb import Target
from posable.reach import Reacher
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session
from posable.studio.tabs.behaviours.swing_plane import direction_of
from posable.studio.tabs.behaviours.tab import NONE, BehavioursTab

from ..window import by, wait
from .conftest import shown


def test_the_map_says_of_each_swing_what_a_single_reach_says(tab: BehavioursTab, session: Session):
    tab.view.mapping.value = True
    shown(tab, session)
    swings, status = tab.map
    assert len(swings) > 200 and len(np.unique(status)) > 1
    start = tab.options.start(session.active, session.body, session.time)
    reacher = Reacher(session.body, right=tab.keys.behaviours["right"])
    turned, origin = tab.targets.frame("right")
    far = np.linalg.norm(tab.targets["right"] - origin)
    for k in np.random.default_rng(3).integers(0, len(swings), 40):
        place = origin + far * pm.rotate(turned, direction_of(swings[k]))
        assert reacher.solve(right=Target(place), start=start).status == status[k]


def test_dragging_the_target_lets_the_key_go_and_both_hands_reach(tab: BehavioursTab, session: Session):
    tab.keys.choose(tab.keys.behaviour.keys[0].id)
    shown(tab, session)
    assert tab.weight == 1.0
    place = tab.targets["right"] + session.active.position + by(0.05, 0.1, 0.0)
    tab.targets.drag("right", place)
    assert tab.keys.chosen is None and tab.weight is None
    tab.choose("both hands")
    shown(tab, session)
    assert tab.solution.right is not None and tab.solution.left is not None
    assert "right hand" in tab.report.content and "left hand" in tab.report.content
    tab.edit_side("left")
    shown(tab, session)
    assert tab.keys.behaviour.limb == "left_arm"


def test_an_obstacle_in_the_body_lowers_the_weight_and_it_is_told(tab: BehavioursTab, session: Session):
    tab.keys.choose(tab.keys.behaviour.keys[1].id)
    shown(tab, session)
    chest = session.body.skeleton.forward(tab.solution.pose).positions[session.body.index("head")]
    tab.options.obstacle.choose("sphere")
    tab.options.obstacle.move(chest + session.active.position + by(0.0, 0.0, 0.05))
    shown(tab, session)
    assert tab.solution.lowered and float(tab.solution.weight) < 1.0
    assert "lowered" in tab.report.content


def test_the_motion_comes_back_when_no_hand_reaches(tab: BehavioursTab, session: Session):
    assert shown(tab, session) is not None
    tab.choose(NONE)
    assert shown(tab, session) is None and not any(name.startswith("reach") for name in session.gizmos)
    tab.choose("left hand")
    chain = Skeleton(["root", "tip"], [-1, 0], [[0, 1, 0], [0.3, 0, 0]])
    session.add(Motion(chain, Pose(np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))), 30.0, name="chain"))
    assert shown(tab, session) is None
    session.undo()
    assert shown(tab, session) is not None


def test_every_key_of_the_normal_example_is_shown_with_the_hand_on_its_target(tab: BehavioursTab, session: Session):
    for key in tab.keys.behaviour.keys:
        tab.keys.choose(key.id)
        shown(tab, session)
        assert np.allclose(tab.targets.swing("right"), key.at, atol=1e-9)
        assert tab.solution.ok or key.outer, f"{key.name}: {tab.report.content}"


def test_a_reach_is_played_from_the_start_to_the_target_and_kept(tab: BehavioursTab, session: Session):
    start = tab.options.start(session.active, session.body, session.time)
    made = tab.motion()
    assert np.allclose(made.motion[0].rotations, start.rotations) and made.ok.all()
    last = session.body.skeleton.forward(made.motion[len(made.motion) - 1]).positions
    assert np.linalg.norm(last[session.body.index("right_hand")] - tab.targets["right"]) < 1e-9
    tab.play()
    assert session.animating
    wait(lambda: not tab.playing, "the reach to end")
    assert not session.animating and np.allclose(shown(tab, session).rotations, tab.solution.pose.rotations)
    tab.add_to_stage()
    assert session.active.name == "reach" and len(session.motion) == len(made.motion)
    tab.choose(NONE)
    assert session.undo() == "Open reach"
    session.clock.pause()


def test_targets_go_with_somebody_who_stands_and_stay_for_somebody_who_moves(tab: BehavioursTab, session: Session):
    before, swing = tab.targets["right"], tab.targets.swing("right")
    session.clock.seek(1.5)
    shown(tab, session)
    assert not np.allclose(tab.targets["right"], before) and np.allclose(tab.targets.swing("right"), swing)
    tab.options._start.value = "as in the motion"
    shown(tab, session)
    there = tab.targets["right"]
    session.clock.seek(0.5)
    shown(tab, session)
    assert np.array_equal(tab.targets["right"], there)
    tab.options._start.value = "standing"
