"""The express tab from Python: chains, methods, targets, motors, robots, postures."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from posable.compute import PosableError, Status
from posable.express import ERIK, SKELETONS, Chain
from posable.studio import Session
from posable.studio.tabs.robot.chain import chain_size
from posable.studio.tabs.robot.posture import EXAMPLES, example_posture
from posable.studio.tabs.robot.tab import BOTH, NAMES, NONE, RobotTab
from posable.studio.tabs.robot.target import AIMS, DIRECTION, ORIENTATION, POINT

ROBOT = """<robot name="lamp">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry><material name="blue"/></visual></link>
  <link name="arm"><visual><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.03" length="0.4"/></geometry></visual>
    <visual><geometry><box size="1 2"/></geometry></visual>
    <visual><geometry><mesh filename="a.stl"/></geometry></visual>
  </link>
  <link name="neck"/><link name="head"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="pan" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="1.5" velocity="2" effort="1"/></joint>
  <joint name="nod" type="revolute"><parent link="arm"/><child link="neck"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/><limit lower="-1.2" upper="1.2" velocity="2" effort="1"/></joint>
  <joint name="roll" type="continuous"><parent link="neck"/><child link="head"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture(autouse=True)
def alone(tab: RobotTab, session: Session) -> Iterator[None]:
    """The studio's loop goes on with the chains as time does: not during a test that counts moments."""
    with session.lock:
        yield


def settle(tab: RobotTab, most: int = 600) -> None:
    """Go on until everything stands still."""
    for _ in range(most):
        tab.step(1 / 60)
        if all(runner.still for runner in tab.runners):
            return
    pytest.fail("it never stands still")


def test_both_methods_solve_the_problem_of_the_panel(tab: RobotTab):
    settle(tab)
    assert [runner.method for runner in tab.runners] == ["best", "erik"]
    posture, ball = tab.sliders.values, tab.target.position
    for runner in tab.runners:
        alone = ERIK(SKELETONS["C"], runner.method).solve(posture, look_at=ball)
        assert runner.solution.error <= alone.error + 0.01, "following is about as good as starting afresh"
        assert f"{runner.solution.error:.4f}" in tab._numbers.content and NAMES[runner.method] in tab._text.content
        assert (runner.angles >= tab.chain.lower).all() and (runner.angles <= tab.chain.upper).all()
        assert str(runner.solution.iterations) in tab._numbers.content
    assert tab._errors.labels == ("Least error", "ERIK")
    assert np.allclose(tab._errors.samples[-1, 1:], [runner.solution.error for runner in tab.runners])


def test_every_skeleton_and_every_aim_is_solved_and_drawn(tab: RobotTab, session: Session):
    for name in SKELETONS:
        tab.choose(name)
        for kind in AIMS:
            tab._aim.value = kind
            tab.step(1 / 60)
            tab.update(session.time)
            assert all(np.isfinite(runner.solution.error) for runner in tab.runners)
            assert len(tab._looks) == 3 and session.stage.only is not None


@pytest.mark.parametrize("kind", AIMS)
def test_the_tip_follows_the_target_wherever_it_is_put(tab: RobotTab, kind: str):
    tab._aim.value = kind
    tab.solve_by("best")
    for place in ((0.5, 0.9, 1.4), (-0.4, 0.5, 1.5), (0.0, 1.4, 1.2)):
        tab.target.set(np.array(place))
        tab.target.face(tab.chain)
        settle(tab)
        answer, frames = tab.runners[0].solution, tab.chain.forward(tab.runners[0].angles)
        assert float(answer.orientation_error) < 0.02
        expected = {
            POINT: tab.target.position - frames.positions[-1],
            DIRECTION: tab.target.position,
            ORIENTATION: tab.target.position,
        }[kind]
        assert frames.pointing @ expected / np.linalg.norm(expected) > 0.999


def test_a_slider_changes_the_posture_and_recalling_can_be_undone(tab: RobotTab, session: Session):
    assert np.allclose(tab.sliders.values, example_posture(tab.chain, "sad"))
    tab.sliders._sliders[1].value = 30.0
    tab.sliders._slid(1)
    assert np.isclose(tab.sliders.values[1], np.radians(30.0))
    mine = tab.sliders.values
    tab.postures.recall("proud")
    assert np.allclose(tab.sliders.values, example_posture(tab.chain, "proud"))
    session.undo()
    assert np.array_equal(tab.sliders.values, mine)


def test_examples_are_inside_the_limits_of_any_chain_and_differ():
    for chain in SKELETONS.values():
        found = [example_posture(chain, name) for name in EXAMPLES]
        assert all((chain.lower <= one).all() and (one <= chain.upper).all() for one in found)
        assert not np.allclose(found[1], found[2])


def test_postures_are_stored_saved_and_read_back_to_the_last_bit(tab: RobotTab, tmp_path: Path):
    values = np.array([0.1, -0.2, 1 / 3, 0.4, -0.5])
    tab.set_posture(values)
    tab.postures.store("mine")
    assert tab.postures.offered[-1] == "mine"
    tab.postures.save(str(tmp_path / "p.json"))
    tab.postures.forget("mine")
    assert "mine" not in tab.postures.offered
    tab.set_posture(np.zeros(5))
    tab.postures.load(str(tmp_path / "p.json"))
    tab.postures.recall("mine")
    assert np.array_equal(tab.sliders.values, values)
    tab.choose("D")
    assert "mine" not in tab.postures.offered, "it is a posture of C"
    tab.choose("C")
    sent = SimpleNamespace(name="../x/mine.json", content=(tmp_path / "p.json").read_bytes())
    tab.postures.load_upload(sent)
    assert "mine" in tab.postures.offered


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": "other", "postures": []}', b'{"format": 1}', b"[" * 5000])
def test_a_library_that_is_none_is_refused_and_changes_nothing(tab: RobotTab, content: bytes):
    tab.postures.store("mine")
    with pytest.raises(PosableError, match=r"bad\.json"):
        tab.postures.load_upload(SimpleNamespace(name="bad.json", content=content))
    assert [one.name for one in tab.postures.stored] == ["mine"]


def test_the_target_goes_around_by_itself_and_stops(tab: RobotTab, session: Session):
    tab._orbits.value = True
    way = []
    for _ in range(90):
        tab.step(0.1)
        way.append(tab.target.position)
    assert "express" in session.animating
    assert np.allclose(way[-1], tab.target._home, atol=1e-9), "one round takes nine seconds"
    assert np.linalg.norm(np.diff(way, axis=0), axis=-1).max() < 0.2 * chain_size(tab.chain)
    tab._orbits.value = False
    settle(tab)
    assert "express" not in session.animating


@pytest.mark.parametrize("kind", ["limits", "nutty"])
def test_motors_follow_the_answers_through_the_filter(tab: RobotTab, kind: str):
    settle(tab)
    tab._filtered.value, tab._kind.value = True, kind
    tab.step(1 / 60)
    start = tab.runners[0].angles
    tab.target.set(np.array([-0.6, 0.6, 1.4]))
    speeds = []
    for _ in range(120):
        tab.step(1 / 60)
        speeds.append(np.abs(tab.runners[0].sent.velocity).max())
    runner = tab.runners[0]
    assert np.abs(runner.angles - start).max() > 0.05 and max(speeds) > 0.0
    if kind == "limits":
        assert max(speeds) <= 3.0 + 1e-9
        settle(tab)
        assert np.allclose(runner.angles, runner.solution.angles, atol=2e-3)
    assert tab._motor_plot.labels == ("sent", "target")
    tab._quantity.value = "speed"
    tab.step(1 / 60)
    assert tab._motor_plot.labels[0] == "sent" and np.isclose(tab._motor_plot.samples[-1, 2], 3.0)
    tab._quantity.value = "angle"


def test_a_robot_comes_with_its_own_shapes_and_its_chain_can_be_chosen(tab: RobotTab, tmp_path: Path):
    (tmp_path / "lamp.urdf").write_text(ROBOT)
    tab.robots.load(str(tmp_path / "lamp.urdf"))
    chain = tab.chain
    assert tab._choice.value == "lamp" and chain.names == ("pan", "nod", "roll")
    shapes = tab._robots["lamp"].skeleton.robot.shapes
    assert [shape.kind for shape in shapes] == ["box", "cylinder", "sphere"], "what is broken or a mesh is left out"
    assert shapes[0].colour == (0, 0, 255)
    settle(tab)
    assert tab.runners[0].solution.status in (Status.REACHED, Status.UNREACHABLE, Status.LIMITS)
    tab.robots.choose(tip="neck")
    assert tab.chain.names == ("pan", "nod")
    tab.update(0.0)
    for sent in (SimpleNamespace(name="r.urdf", content=b"<robot/>"), SimpleNamespace(name="r.txt", content=b"")):
        with pytest.raises(PosableError, match=r"r\.(urdf|txt)"):
            tab.robots.load_upload(sent)
    assert tab.chain.names == ("pan", "nod"), "what cannot be read changes nothing"


def test_every_robot_at_hand_is_drawn_and_aims(tab: RobotTab, data_dir: Path, session: Session):
    for path in sorted((data_dir / "robots").glob("*.urdf")):
        tab.robots.load(str(path))
        tab.step(1 / 60)
        tab.update(session.time)
        assert isinstance(tab.chain, Chain) and all(np.isfinite(one.solution.error) for one in tab.runners)


def test_a_humanoid_is_drawn_with_its_meshes_and_looks_at_the_ball(tab: RobotTab, data_dir: Path, session: Session):
    path = data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml"
    tab.robots.load(str(path))
    tab.robots.choose(tip="torso_link")
    assert tab.chain.names == ("waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint")
    tab.step(1 / 60)
    tab.update(session.time)
    drawn = tab._looks["best"]._mesh
    assert 10_000 < len(drawn.posed) < 40_000, "its own shape, in as many vertices as can be sent"
    height = np.ptp(drawn.posed[:, 1])
    assert 1.1 < height < 1.5, "a G1 is 1.3 m tall"
    with pytest.raises(PosableError, match=r"r\.xml"):
        tab.robots.load_upload(SimpleNamespace(name="r.xml", content=b"<scene/>"))
    tab.choose(NONE)
    actor = session.open(path)
    body, _ = session.stage._looks[actor]
    assert 10_000 < len(body.posed) <= 30_000


def test_the_bodies_step_aside_for_a_chain_and_come_back(tab: RobotTab, session: Session):
    body, _ = session.stage._looks[session.active]
    assert not body.plain.parts[0][0].visible
    tab.choose(NONE)
    assert body.plain.parts[0][0].visible and session.stage.only is None and tab._looks == {}
    tab.choose("A")
    session.open_sample("walk", keep=False)
    assert tab.chain is None and session.stage.only is None, "a motion that is opened is seen"
    session.clock.pause()


def test_mistakes_are_reported_with_what_would_have_been_right(tab: RobotTab):
    for wrong, words in (
        (lambda: tab.choose("Z"), "unknown chain 'Z'"),
        (lambda: tab.solve_by("magic"), BOTH),
        (lambda: tab.set_posture(np.zeros(3)), r"\(5,\)"),
        (lambda: tab.postures.recall("nothing"), "upright"),
        (lambda: tab.postures.store(" "), "1 to 60"),
        (lambda: tab.postures.forget("never"), "never"),
        (lambda: tab.robots.load(""), r"robot\.urdf"),
    ):
        with pytest.raises(PosableError, match=words):
            wrong()


def test_each_chain_is_named_on_the_stage_and_its_curve_has_its_colour(tab: RobotTab, session: Session):
    settle(tab)
    tab.update(session.time)
    labels = [label for label in tab._names_of._labels if label.visible]
    assert [label.text for label in labels] == ["Posture", "Least error", "ERIK"]
    xs = [label.position[0] for label in labels]
    assert xs == sorted(xs) and len(set(xs)) == 3, "each over its own chain"
    curves = [bytes.fromhex(series["stroke"][1:]) for series in tab._errors._plot.series[1:]]
    for k, (runner, curve) in enumerate(zip(tab.runners, curves, strict=True)):
        painted = [handle.color for handle, _ in tab._looks[runner.method]._mesh.plain.parts]
        assert tuple(curve) in painted, f"the curve of chain {k} is one of its own colours"


def test_the_chain_goes_with_its_tab_and_comes_back_as_it_was(tab: RobotTab, session: Session):
    tab.update(session.time)
    posture = tab.sliders.values
    session.show_tab("Play")
    assert session.stage.only is None and session.gizmos == {} and tab._looks == {}
    assert not any(label.visible for label in tab._names_of._labels)
    session.show_tab(tab.title)
    tab.update(session.time)
    assert session.stage.only is not None and len(tab._looks) == 3
    assert np.array_equal(tab.sliders.values, posture)
