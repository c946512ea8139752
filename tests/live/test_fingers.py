"""Fingers of a performer arrive on the hands of any body: sent by python-osc, judged in the sender's own frame."""

import math
import random
import time
from itertools import pairwise

import numpy as np
import pytest
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message_builder import OscMessageBuilder

import posable as ps
import posable.math as pm
from posable.body.roles import FINGER_CHAINS, FINGERS
from posable.live import FramesSource, Live, Status, VmcWriter, run
from posable.live.board import LOST
from posable.live.fingers import RELAXING
from posable.live.following import Follower
from posable.live.intake import Intake

from ..body.bodies import file_body
from ..body.test_fingers import METACARPALS, NAMES, handed
from .hostile_packets import NUMBERS
from .models import write_vrm
from .receiver import Renderer
from .test_loop import LOOPBACK, Keeper, vmc_in

UNITY = {  # of HumanBodyBones, by hand: the thumb's three bones are VRM 1's metacarpal, proximal and distal
    f"{side}_{finger}": [f"{side.title()}{finger.title()}{part}" for part in ("Proximal", "Intermediate", "Distal")]
    for side in ("left", "right")
    for finger in ("thumb", "index", "middle", "ring", "little")
}
STILL = (0.0, 0.0, 0.0, 1.0)


def about(axis, degrees: float) -> np.ndarray:
    """A rotation `xyzw`."""
    half = math.radians(degrees) / 2.0
    return np.append(math.sin(half) * np.asarray(axis, float), math.cos(half))


def product(p, q) -> np.ndarray:
    return np.append(p[3] * q[:3] + q[3] * p[:3] + np.cross(p[:3], q[:3]), p[3] * q[3] - p[:3] @ q[:3])


def turned(q, v) -> np.ndarray:
    return v + 2.0 * np.cross(q[:3], np.cross(q[:3], v) + q[3] * np.asarray(v))


class Glove:
    """A performer's hands: a model in a T-pose at identity in Unity's frame, palms down, left at -X, ahead at +Z."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.rotations: dict[str, np.ndarray] = {}
        for finger, names in UNITY.items():
            s = -1.0 if finger.startswith("left") else 1.0  # where the fingers of this hand point, along x
            for k, name in enumerate(names):
                if "thumb" in finger:  # across the palm about the vertical, out of its plane about the bone's normal
                    q = about((0.0, 1.0, 0.0), s * draw.uniform(0.0, 14.0))
                else:  # down, about ahead; the first bone spread as well, about the vertical
                    q = about((0.0, 0.0, 1.0), -s * draw.uniform(2.0, 60.0))
                    q = product(about((0.0, 1.0, 0.0), draw.uniform(-8.0, 8.0)), q) if k == 0 else q
                self.rotations[name] = q

    def directions(self, finger: str) -> np.ndarray:
        """(3, 3): bones of a finger as seen from its palm: out of it, along it, towards the thumb."""
        s = -1.0 if finger.startswith("left") else 1.0
        bone = np.array([s, 0.0, 1.0]) / math.sqrt(2.0) if "thumb" in finger else np.array([s, 0.0, 0.0])
        world, found = np.array(STILL), []
        for name in UNITY[finger]:
            world = product(world, self.rotations[name])
            x, y, z = turned(world, bone)
            found.append([-y, s * x, z])
        return np.array(found)

    def packets(self, split: int = 12, names=None) -> list[bytes]:
        """By python-osc, some bones a packet."""
        made, rows = [], [*self.rotations.items()] if names is None else [(n, self.rotations[n]) for n in names]
        for first in range(0, len(rows), split):
            packet = OscBundleBuilder(IMMEDIATELY)
            for name, rotation in rows[first : first + split]:
                message = OscMessageBuilder("/VMC/Ext/Bone/Pos")
                outwards = -0.03 if name.startswith("Left") else 0.03
                for value in (name, outwards, 0.0, 0.002, *rotation.tolist()):
                    message.add_arg(value)
                packet.add_content(message.build())
            made.append(packet.build().dgram)
        return made


def shown(body: ps.Humanoid, pose: ps.Pose, finger: str) -> dict[int, np.ndarray]:
    """Bones of a finger that a body has, by their number, as `Glove.directions` has them."""
    frames, side = body.skeleton.forward(pose), finger.partition("_")[0]
    hand = body.index(f"{side}_hand")
    palm = pm.multiply(frames.orientations[hand], pm.conjugate(body.neutral_orientation(hand)))
    out = -1.0 if side == "left" else 1.0
    axes = pm.rotate(palm, [[out, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    chain = [(k, body.fingers[role]) for k, role in enumerate(FINGER_CHAINS[finger]) if role in body.fingers]
    found = {}
    for n, (k, joint) in enumerate(chain):
        ends = np.flatnonzero(body.skeleton.end_parents == joint)
        after = frames.ends[ends[0]] if len(ends) else None
        if n + 1 < len(chain):
            after = frames.positions[chain[n + 1][1]]
        if after is not None:
            bone = after - frames.positions[joint]
            found[k] = axes @ bone / np.linalg.norm(bone)
    return found


def rigs(data_dir, tmp_path) -> dict[str, ps.Humanoid]:
    found = {"figure": ps.figure(fingers=True), "MakeHuman": file_body(data_dir, "MakeHuman")}
    found["mixamo"] = ps.Humanoid(handed(NAMES["mixamo"], curl=0.3))
    found["metacarpals"] = ps.Humanoid(handed(NAMES["rigify"], METACARPALS["rigify"], curl=0.2))
    found["two joints"] = ps.Humanoid(handed(NAMES["unreal"], fingers=("thumb", "index", "middle", "little"), joints=2))
    found |= {f"vrm {v}": ps.Humanoid(ps.load(write_vrm(tmp_path / f"{v}.vrm", v)).skeleton) for v in (0, 1)}
    return found


def standing_at(body) -> list[bytes]:
    """The six trackers of somebody who stands."""
    frames = body.skeleton.forward(body.neutral_pose)
    return VmcWriter(body, trackers=True, bones=False).packets(frames, 0.0, Status())


def live_body(body, *glove: bytes) -> ps.Pose:
    """The body of a moment, standing at its own six points, with what a glove sent."""
    intake = Intake()
    for packet in [*standing_at(body), *glove]:
        intake.osc(packet, "me", 0.0)
    frame = Follower(body).step(intake.board, 0.0)
    assert frame is not None
    return frame.pose


@pytest.mark.parametrize("seed", range(3))
def test_bones_of_fingers_point_where_the_performers_do_on_every_rig(seed, data_dir, tmp_path):
    glove = Glove(seed)
    for name, body in rigs(data_dir, tmp_path).items():
        pose, checked = live_body(body, *glove.packets()), 0
        for finger in UNITY:
            expected = glove.directions(finger)
            for k, bone in shown(body, pose, finger).items():
                np.testing.assert_allclose(bone, expected[k], atol=2e-6, err_msg=f"{name} {finger} {k}")
                checked += 1
        assert checked >= 14, (name, checked)
        posture = body.canonical(pose)
        rows = [posture.index(role) for role in body.fingers]
        assert body.limits.excess([*body.fingers], posture.rotations[rows]).max() < 1e-9, name


def test_fingers_go_over_sockets_and_out_again_and_replay_to_the_same_bytes(tmp_path, mailbox, send):
    """In by python-osc, out to a renderer that was written from the protocol's text, and from a capture once more."""
    path = write_vrm(tmp_path / "me.vrm", 1)
    body = ps.Humanoid(ps.load(path).skeleton)
    capture, sink = tmp_path / "take.osc", f"vmc://{LOOPBACK}:{mailbox.port}"
    standing = standing_at(body)
    renderer, received = Renderer(path), []
    with Live(vmc_in(), sink, body=path, rate=100, record=capture, lock_feet=False) as live:
        for seed in range(8):
            glove = Glove(seed)
            for packet in [*glove.packets(), *standing]:
                send(live.sources[0].port, packet)
            before = live.sent
            for _ in range(50):
                live.poll(0.05)
                if live.sent > before:
                    break
            time.sleep(0.012)
            received += mailbox.read()
        end = time.monotonic() + 0.3  # a busy machine may have sent a body before it had read all of the last hand
        while time.monotonic() < end:
            live.poll(0.02)
            received += mailbox.read()
        assert live.sent >= 8
        for packet in received:
            renderer.receive(packet)
        frame, world = live.frame, renderer.world()
        for joint in live.body.fingers.values():
            there = world[renderer.names.index(live.body.skeleton.names[joint])]
            np.testing.assert_allclose(there[:3, 3], frame.frames.positions[joint], atol=1e-5)
            axes = there[:3, :3] / np.linalg.norm(there[:3, 0])
            np.testing.assert_allclose(axes, pm.to_matrix(frame.frames.orientations[joint]), atol=1e-5)
        for finger in UNITY:
            for k, bone in shown(live.body, frame.pose, finger).items():
                np.testing.assert_allclose(bone, glove.directions(finger)[k], atol=2e-6)
    received += mailbox.read()
    with Live(str(capture), sink, body=path, lock_feet=False) as replay:
        replay.run(realtime=False)
    again = mailbox.read()
    assert len(received) > 30 and again == received


@pytest.mark.parametrize("version", [0, 1])
def test_what_we_send_of_a_model_comes_back_on_the_same_model(version, tmp_path):
    """Its bones sit where the file has them, so rotations count as the file's, whatever they are at rest."""
    body = ps.Humanoid(ps.load(write_vrm(tmp_path / "me.vrm", version, seed=4)).skeleton)
    pose = body.pose_hand(body.pose_hand(body.neutral_pose, "left", "fist"), "right", "point")
    made = live_body(body, *VmcWriter(body).packets(body.skeleton.forward(pose), 0.0, Status()))
    before, after = body.canonical(pose), body.canonical(made)
    for role in FINGERS:
        assert pm.angle(before.rotation(role), after.rotation(role)) < 1e-5, role


def test_fingers_of_another_vrm_1_whose_frames_nobody_knows_are_not_taken_and_that_is_said(tmp_path):
    there = ps.Humanoid(ps.load(write_vrm(tmp_path / "there.vrm", 1, seed=9)).skeleton)
    body, notes = ps.figure(fingers=True), []
    pose = there.pose_hand(there.neutral_pose, "left", "fist")
    sent = VmcWriter(there).packets(there.skeleton.forward(pose), 0.0, Status())
    np.testing.assert_allclose(
        shape(body, live_body(body, *sent), "left"), shape(body, live_body(body), "left"), atol=1e-9
    )
    with Live(vmc_in(), (), body=body, show=notes.append) as live:
        for k in range(3):
            sender = live.senders.admit("me", "somebody", 0.1 * k)
            for packet in [*standing_at(body), *sent]:
                live.take_packet(0, "osc", packet, sender, 0.1 * k)
            live.send_if_due(0.1 * k + 0.002)
            live.look_round(1.0 + k)
    assert sum("fingers of somebody are not counted from a T-pose" in note for note in notes) == 1
    glove = Glove(0)
    assert (
        pm.angle(shape(body, live_body(body, *glove.packets()), "left"), shape(body, live_body(body), "left")).max()
        > 0.1
    )


def test_a_joint_that_the_body_lacks_is_taken_over_by_the_next_one():
    whole = ps.Humanoid(handed(NAMES["mixamo"]))
    lacking = ps.Humanoid(whole.skeleton, roles=dict(whole.fingers) | {"left_index_intermediate": None})
    glove = Glove(3)
    glove.rotations["LeftIndexIntermediate"] = about((0, 0, 1), 15.0)  # what one joint can do for two
    glove.rotations["LeftIndexDistal"] = about((0, 0, 1), 15.0)
    assert "left_index_intermediate" not in lacking.fingers
    pose = live_body(lacking, *glove.packets())
    np.testing.assert_allclose(shown(lacking, pose, "left_index")[2], glove.directions("left_index")[2], atol=2e-6)


def test_a_finger_of_which_some_joints_are_reported_is_straight_in_the_others_and_the_others_are_as_at_rest():
    body = ps.Humanoid(handed(NAMES["mixamo"], curl=0.3))
    glove = Glove(0)
    pose = live_body(body, *glove.packets(names=["LeftIndexProximal"]))
    bones = shown(body, pose, "left_index")
    for k in range(3):
        np.testing.assert_allclose(bones[k], glove.directions("left_index")[0], atol=2e-6)
    plain = live_body(body)
    others = [j for j in range(len(body.skeleton)) if "LeftHandIndex" not in body.skeleton.names[j]]
    np.testing.assert_array_equal(pose.rotations[others], plain.rotations[others])


def test_fingers_stay_inside_limits_whatever_is_reported():
    body, glove, draw = ps.figure(fingers=True), Glove(0), np.random.default_rng(5)
    for _ in range(20):
        for name in glove.rotations:
            q = draw.normal(size=4)
            glove.rotations[name] = q * draw.choice([1.0, 0.01, 500.0])  # not unit either
        posture = body.canonical(live_body(body, *glove.packets()))
        rows = [posture.index(role) for role in FINGERS]
        assert body.limits.excess(FINGERS, posture.rotations[rows]).max() < 1e-9


def follow(body, events, end: float, rate: float = 100.0, smoothing: float | None = None) -> list[ps.Pose]:
    """Bodies at even times that stand at their points; `events` are (time, packet) of a glove."""
    intake, follower, poses = Intake(), Follower(body, smoothing=smoothing), []
    standing = standing_at(body)
    waiting = sorted(events, key=lambda event: event[0])
    for k in range(int(end * rate)):
        now = k / rate
        for packet in standing:
            intake.osc(packet, "trackers", now)
        while waiting and waiting[0][0] <= now + 1e-9:
            intake.osc(waiting.pop(0)[1], "glove", now)
        poses.append(follower.step(intake.board, now).pose)
    return poses


def shape(body, pose, side: str) -> np.ndarray:
    return ps.HandShape.of(body, pose, side).rotations


def test_lost_fingers_relax_and_come_back_without_a_leap():
    body, glove = ps.figure(fingers=True), Glove(1)
    lost, back, end = 0.5, 2.0, 3.0
    events = [(t, p) for t in np.arange(0, end, 0.01) if not lost < t < back for p in glove.packets()]
    poses = follow(body, events, end)
    relaxed = ps.HandShape.named("relaxed").rotations
    given = shape(body, poses[0], "left")
    kept = int((lost + LOST) * 100) - 1
    np.testing.assert_allclose(shape(body, poses[kept], "left"), given, atol=1e-12)
    gone = shape(body, poses[int((lost + LOST + RELAXING) * 100) + 3], "left")
    inside = body.limits.clamp([f"left_{role.removeprefix('left_')}" for role in FINGERS[:15]], relaxed)
    assert pm.angle(gone, inside).max() < 1e-7
    assert pm.angle(shape(body, poses[-1], "left"), given).max() < 1e-7
    steps = [pm.angle(shape(body, a, "left"), shape(body, b, "left")).max() for a, b in pairwise(poses)]
    most = pm.angle(given, relaxed).max()
    assert max(steps) < 1.6 * most / (RELAXING * 100)  # a smooth step is at most half as fast again as a straight one


def test_a_finger_that_is_reported_with_numbers_that_are_none_is_lost_at_once_and_the_others_stay():
    body, glove = ps.figure(fingers=True), Glove(2)
    intake, bad = Intake(), Glove(2)
    bad.rotations["LeftIndexProximal"] = np.array([math.nan, 0.0, 0.0, 1.0])
    bad.rotations["LeftIndexIntermediate"] = np.zeros(4)
    bad.rotations["LeftIndexDistal"] = np.array([1e30, 0.0, 0.0, 1.0])
    for packet in glove.packets():
        intake.osc(packet, "me", 0.0)
    for packet in bad.packets():
        intake.osc(packet, "me", 0.1)
    events = [(0.0, p) for p in glove.packets()] + [(t, p) for t in np.arange(0.01, 1.0, 0.01) for p in bad.packets()]
    pose = follow(body, events, 1.0)[-1]
    assert pose.is_finite() and not math.isfinite(intake.board.fingers["left_index_proximal"].time)
    given, seen = shape(body, live_body(body, *glove.packets()), "left"), shape(body, pose, "left")
    relaxed = ps.HandShape.named("relaxed").rotations
    index = [FINGERS.index(role) for role in FINGER_CHAINS["left_index"]]
    assert pm.angle(seen[index], relaxed[index]).max() < 1e-6
    others = [k for k in range(15) if k not in index]
    assert pm.angle(seen[others], given[others]).max() < 1e-7


def test_nobody_reports_fingers_and_they_are_as_they_were(figure):
    """And a body without fingers is the same to the last bit, whoever reports some."""
    fingered = ps.figure(fingers=True)
    for body in (figure, fingered):
        with_glove = live_body(body, *(Glove(0).packets() if body is figure else ()))
        np.testing.assert_array_equal(with_glove.rotations, live_body(body).rotations)
    left = shape(fingered, live_body(fingered), "left")
    np.testing.assert_allclose(np.abs(left[:, 0]), 1.0, atol=1e-12)


def test_a_body_waits_for_fingers_that_come_in_packets_after_its_points():
    """For a millisecond at most, so that hands are not a frame behind arms."""
    body = ps.figure(fingers=True)
    packets = [*standing_at(body)[1:], *Glove(0).packets(split=10)]
    with Live(vmc_in(), (), body=body, rate=100) as live:
        for k in range(10):
            now, sent = 0.012 * k, live.sent
            late = k == 9  # the last of its packets is lost
            for n, packet in enumerate(packets[: -1 if late else None]):
                sender = live.senders.admit("me", "me", now)
                live.take_packet(0, "osc", packet, sender, now + 1e-4 * n)
                live.send_if_due(now + 1e-4 * n)
                last = n == len(packets) - 1
                assert k == 0 or live.sent - sent == last, (k, n)
            live.send_if_due(now + 0.0011)
            assert k == 0 or live.sent - sent == 1


def test_a_take_with_fingers_moves_them_and_so_do_json_lines(tmp_path):
    body, child = ps.figure(fingers=True), ps.figure(1.2, fingers=True)
    walk = ps.samples.walk(body, duration=1.0)
    weights = np.linspace(0.0, 1.0, len(walk))
    closing = body.pose_hand(body.pose_hand(walk.pose, "left", "open"), "left", "fist", weights)
    take = ps.Motion(body.skeleton, closing, walk.fps)
    keeper = Keeper()
    with Live(take, keeper, body=child, record=tmp_path / "take.osc", show=lambda _: None) as live:
        live.run(realtime=False)
        last = shape(child, live.frame.pose, "left")
    assert len(keeper.kept) >= len(walk) - 1
    assert pm.angle(last, shape(body, closing[-1], "left")).max() < 1e-7
    again = Keeper()
    with Live(str(tmp_path / "take.osc"), again, body=child, show=lambda _: None) as replay:
        replay.run(realtime=False)
    assert again.kept == keeper.kept
    rows = shape(body, closing[-1], "left")
    standing = dict(zip(ps.MARKERS, child.markers(child.neutral_pose).tolist(), strict=True))
    frame = standing | {role: rows[k].tolist() for k, role in enumerate(FINGERS[:15])} | {"LeftThumbDistal": None}
    made = run(FramesSource([(0.0, frame)]), (), body=child, realtime=False)
    assert pm.angle(shape(child, made.frame.pose, "left"), rows).max() < 1e-7


def test_fingers_for_a_body_without_any_are_said_once(figure, send):
    notes: list[str] = []
    with Live(vmc_in(), (), body=figure, show=notes.append) as live:
        for _ in range(4):
            for packet in Glove(0).packets():
                send(live.sources[0].port, packet)
            live.poll(0.05)
            live.look_round(live._now() + 1.0)
    assert sum("this body has none" in note for note in notes) == 1


def test_two_gloves_are_said():
    intake = Intake()
    for sender in ("one", "other"):
        for packet in Glove(0).packets():
            intake.osc(packet, sender, 0.0)
    assert ("left_index_proximal", "one", "other") in intake.board.doubled


def test_smoothing_takes_the_tremor_out_of_fingers():
    body, draw = ps.figure(fingers=True), np.random.default_rng(0)
    events = []
    for k in range(200):
        glove = Glove(0)
        for name, q in glove.rotations.items():
            glove.rotations[name] = product(q, about(pm.rotate([1, 0, 0, 0], [0.0, 0.0, 1.0]), draw.normal(0.0, 0.8)))
        events += [(0.01 * k, packet) for packet in glove.packets()]
    jumps = []
    for smoothing in (None, 0.05):
        poses = follow(body, events, 2.0, smoothing=smoothing)[100:]
        index = [FINGERS.index(role) for role in FINGER_CHAINS["left_index"]]
        steps = [shape(body, a, "left")[index] - shape(body, b, "left")[index] for a, b in pairwise(poses)]
        jumps.append(float(np.abs(steps).mean()))
    assert jumps[1] < 0.4 * jumps[0]


def test_hostile_bones_of_fingers_leave_the_hands_whole():
    body, draw = ps.figure(fingers=True), random.Random(7)
    intake, follower = Intake(), Follower(body)
    names = [name for chain in UNITY.values() for name in chain] + ["LeftIndexFoo", "leftindexproximal", "", "\u3042"]
    standing = standing_at(body)
    for k in range(1500):
        now = 0.01 * k * draw.random()  # times go back and forth
        message = OscMessageBuilder("/VMC/Ext/Bone/Pos")
        message.add_arg(draw.choice(names))
        for _ in range(draw.choice([7, 7, 7, 7, 3, 9])):
            message.add_arg(draw.choice([*NUMBERS, "x", 3, True]) if draw.random() < 0.2 else draw.uniform(-2, 2))
        intake.osc(message.build().dgram, f"s{draw.randrange(99)}", now)
        if k % 5 == 0:
            for packet in standing:
                intake.osc(packet, "me", now)
            frame = follower.step(intake.board, now)
            posture = body.canonical(frame.pose)
            rows = [posture.index(role) for role in FINGERS]
            assert frame.pose.is_finite()
            assert body.limits.excess(FINGERS, posture.rotations[rows]).max() < 1e-9
    assert set(intake.board.fingers) <= set(FINGERS) and len(intake.board.doubled) <= 64
