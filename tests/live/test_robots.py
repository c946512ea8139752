"""Robots that follow: limits, speeds and accelerations hold whatever comes, and they come to rest."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.live import Address, ChainDriver, HumanoidDriver, LinesSink, Live, Sending, robot_driver
from posable.live.following import BodyFrame

ROOT = Path(__file__).resolve().parents[2]
LITTLE = ROOT / "examples" / "little_robot.xml"


def frame_of(body: ps.Humanoid, pose: ps.Pose, time: float, tracking: bool = True) -> BodyFrame:
    frames = body.skeleton.forward(pose)
    none = np.zeros(0)
    return BodyFrame(pose, frames, time, (), np.zeros((0, 3)), none, tracking)


def erratic(body: ps.Humanoid, motion: ps.Motion, seed: int) -> list[BodyFrame | None]:
    """Bodies that jump, come late, are not there, and stop."""
    draw = np.random.default_rng(seed)
    found: list[BodyFrame | None] = []
    for k in range(300):
        u = draw.random()
        if u < 0.2 or 60 <= k < 80 or k >= 120:
            found.append(None if u < 0.1 else frame_of(body, motion[0], k / 50, tracking=False))
        else:
            found.append(frame_of(body, motion[int(draw.integers(len(motion)))], k / 50))
    return found


def check(driver, frames: list[BodyFrame | None], rest: bool = True) -> np.ndarray:
    values = np.array([driver.step(frame) for frame in frames])
    assert np.isfinite(values).all()
    low, high = driver.limits.T
    assert (values >= low - 1e-9).all() and (values <= high + 1e-9).all()
    speeds = np.diff(values, axis=0) * driver.rate
    assert (np.abs(speeds) <= driver.speeds * (1 + 1e-6) + 1e-9).all()
    pushes = np.diff(speeds, axis=0) * driver.rate
    assert (np.abs(pushes) <= driver.accelerations * (1 + 1e-4) + 1e-6).all()
    if rest:
        assert np.abs(speeds[-5:]).max() < 1e-3
    return values


@pytest.fixture(scope="module")
def boxing(figure) -> ps.Motion:
    return ps.samples.boxing(figure)


def test_a_chain_looks_at_the_head_within_its_limits_and_comes_to_rest(figure, boxing):
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.2, 1.2))
    driver = ChainDriver(chain, [0.0, 0.6, 0.6, 0.2, 0.0], position=(0.0, 0.0, 2.0), rate=50)
    values = check(driver, erratic(figure, boxing, 0))
    assert np.abs(np.diff(values, axis=0)).max() > 1e-3


def test_a_chain_that_sees_somebody_stand_points_at_them(figure):
    chain = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
    driver = ChainDriver(chain, [0.0, 0.5, 0.5, 0.1, 0.0], position=(0.3, 0.0, -2.0), rate=50, look_at="head")
    frame = frame_of(figure, figure.neutral_pose, 0.0)
    for _ in range(200):
        values = driver.step(frame)
    head = frame.frames.positions[figure.index("head")] - [0.3, 0.0, -2.0]
    tip = chain.forward(values)
    along = head - tip.positions[-1]
    cosine = tip.pointing @ along / np.linalg.norm(along)
    assert abs(cosine) > np.cos(np.radians(2.0))  # it may be upside down, never turned away by a degree


@pytest.mark.parametrize("seed", range(2))
def test_a_humanoid_follows_within_its_limits_and_comes_to_rest(data_dir, figure, boxing, seed):
    robot = ps.Humanoid(ps.load(data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml").skeleton)
    driver = HumanoidDriver(figure, robot, rate=50, speeds=8.0, accelerations=60.0)
    values = check(driver, erratic(figure, boxing, seed))
    assert len(driver.names) == 29 and np.ptp(values, axis=0).max() > 0.2


def test_json_lines_of_a_robot_over_a_socket(figure, mailbox, tmp_path):
    """The robot of the examples looks at somebody who walks past; at its own rate, by the names of its joints."""
    somebody = ps.samples.walk(figure, duration=1.0)
    table = tmp_path / "angles.csv"
    sinks = [f"udp://127.0.0.1:{mailbox.port}", str(table)]
    with Live(somebody, sinks, body=figure, robot=LITTLE, look_at="head", rate=50, show=lambda _: None) as live:
        live.run(realtime=False)
        names = live.robot.names
    lines = [json.loads(packet) for packet in mailbox.read()]
    assert all(list(line["joints"]) == list(names) for line in lines)
    times = [line["time"] for line in lines]
    np.testing.assert_allclose(np.diff(times), 0.02, atol=1e-5)
    read = np.loadtxt(table, delimiter=",", skiprows=1)
    assert table.read_text().splitlines()[0].split(",")[0] == "time" and len(read) == len(lines) >= 49
    np.testing.assert_allclose(read[:, 1:], [list(line["joints"].values()) for line in lines], atol=1e-6)
    skeleton = ps.load(LITTLE).skeleton
    chain = ps.Chain.from_robot(skeleton)
    assert (read[:, 1:] >= chain.limits[:, 0] - 1e-6).all() and (read[:, 1:] <= chain.limits[:, 1] + 1e-6).all()


def test_a_body_as_json_lines_is_read_back(figure, mailbox):
    from posable.live.intake import Intake

    sink = LinesSink(Address("udp", "127.0.0.1", mailbox.port), figure)
    sink.open()
    frame = frame_of(figure, ps.samples.boxing(figure)[30], 0.0)
    assert sink.write(sink.packets(frame, Sending(0.5))) == ""
    sink.close()
    (packet,) = mailbox.read()
    parts = json.loads(packet)["parts"]
    intake = Intake()
    assert intake.frame(parts, "me", 0.0)
    point = intake.board.points["left_hand"]
    joint = figure.index("left_hand")
    np.testing.assert_allclose(point.position, frame.frames.positions[joint], atol=1e-6)
    assert ps.math.angle(np.array(point.rotation), figure.canonical_orientation(frame.frames, joint)) < 1e-5


def test_what_is_no_robot_is_named(figure, tmp_path):
    ps.save(ps.samples.walk(figure, duration=0.2), tmp_path / "walk.bvh")
    with pytest.raises(ps.PosableError, match="no robot's file"):
        robot_driver(tmp_path / "walk.bvh", figure, posture=[0.0])
    with pytest.raises(ps.UnknownNameError):
        robot_driver(LITTLE, figure, look_at="tail")


def test_the_first_values_are_the_robots_rest(figure, boxing):
    driver = robot_driver(LITTLE, figure, look_at="head", rate=50)
    before = driver.step(None)
    np.testing.assert_array_equal(before, driver.posture)
    steps = [driver.step(frame_of(figure, boxing[0], 0.0)) for _ in range(3)]
    for a, b in pairwise([before, *steps]):
        assert np.abs(b - a).max() <= 3.0 / 50 + 1e-9
