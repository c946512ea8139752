"""VMC and VRChat packets made by hand from the protocols' texts."""

import math
import struct

import numpy as np
import pytest

import posable as ps
from posable.live import Status, VmcWriter, VrchatWriter, decode, encode
from posable.live.intake import Intake

from .receiver import messages

# /VMC/Ext/Tra/Pos "LHR-1" at (1, 2, 3), rotated by 90 degrees about x: sqrt(0.5) is 3f3504f3.
TRACKER = bytes.fromhex(
    "2f564d43 2f457874 2f547261 2f506f73 00000000"
    "2c736666 66666666 66000000"
    "4c48522d 31000000"
    "3f800000 40000000 40400000 3f3504f3 00000000 00000000 3f3504f3"
)
VRCHAT = bytes.fromhex(
    "2f747261 636b696e 672f7472 61636b65 72732f31 2f706f73 6974696f 6e000000 2c666666 00000000"
    "3f800000 40000000 40400000"
)


def test_a_tracker_is_read_into_our_frame():
    intake = Intake()
    assert intake.osc(TRACKER, "me", 5.0)
    point = intake.board.points["LHR-1"]
    assert point.kind == "tracker" and point.position == (-1.0, 2.0, 3.0) and point.time == 5.0
    half = math.sqrt(0.5)
    assert point.rotation == pytest.approx((half, half, 0.0, 0.0), abs=1e-7)


def test_vrchats_tracker_1_is_the_hips():
    intake = Intake()
    assert intake.osc(VRCHAT, "me", 0.0)
    assert intake.osc(encode("/tracking/trackers/1/rotation", 0.0, 90.0, 0.0), "me", 0.0)
    point = intake.board.points["vrchat/1"]
    assert point.position == (-1.0, 2.0, 3.0)
    half = math.sqrt(0.5)
    assert point.rotation == pytest.approx((half, 0.0, -half, 0.0), abs=1e-7)  # to the right, here as there
    from posable.live.intake import part_of

    assert (
        part_of("vrchat/1") == "hips" and part_of("vrchat/head") == "head" and part_of("vrchat/8") == "right_lower_arm"
    )


def test_headset_and_controllers_local_and_longer_forms():
    intake = Intake()
    pose = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    intake.osc(encode("/VMC/Ext/Hmd/Pos", "hmd", *pose), "me", 0.0)
    intake.osc(encode("/VMC/Ext/Con/Pos/Local", "con", *pose), "me", 0.0)
    intake.osc(encode("/VMC/Ext/Hmd/Pos/Local", "hmd", 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 1.0), "me", 0.1)
    assert intake.board.points["hmd"].position == (0.0, 1.0, 0.0)  # in the world, not from the device's origin
    assert {p.kind for p in intake.board.points.values()} == {"headset", "controller"}
    assert not intake.osc(encode("/VMC/Ext/Root/Pos", "root", *pose, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0), "me", 0.2)


def test_what_a_body_is_sent_as():
    body = ps.figure()
    writer = VmcWriter(body, trackers=True)
    packets = writer.packets(body.skeleton.forward(body.neutral_pose), 2.5, Status(True, 3, 0, True), {"Joy": 0.5})
    read = [message for packet in packets for message in messages(packet)]
    by_address: dict[str, list] = {}
    for message in read:
        by_address.setdefault(message.address, []).append(message.params)
    assert by_address["/VMC/Ext/OK"] == [[1, 3, 0, 1]]
    assert by_address["/VMC/Ext/T"] == [[2.5]]
    assert by_address["/VMC/Ext/Root/Pos"] == [["root", 0, 0, 0, 0, 0, 0, 1]]
    assert len(by_address["/VMC/Ext/Bone/Pos"]) == len(writer.bones)
    assert len(by_address["/VMC/Ext/Hmd/Pos"]) == 1 and len(by_address["/VMC/Ext/Con/Pos"]) == 2
    assert by_address["/VMC/Ext/Blend/Val"] == [["Joy", 0.5]] and by_address["/VMC/Ext/Blend/Apply"] == [[]]
    assert [m.address for m in read].index("/VMC/Ext/Blend/Val") < [m.address for m in read].index(
        "/VMC/Ext/Blend/Apply"
    )
    left = next(p for p in by_address["/VMC/Ext/Tra/Pos"] if p[0] == "posable_left_foot")
    assert left[1] < 0  # the left side is at -x in Unity's frame
    assert all(len(packet) <= 1200 for packet in packets)
    assert all(struct.unpack_from(">Q", packet, 8) == (1,) for packet in packets)


def test_how_often_each_family_is_sent_can_be_set():
    body = ps.figure()
    writer, frames = VmcWriter(body), body.skeleton.forward(body.neutral_pose)
    writer.set_periods((0, 2, 3, 1, 1, 1))
    seen = []
    for _ in range(6):
        addresses = {m.address for packet in writer.packets(frames, 0.0, Status()) for m in messages(packet)}
        seen.append(("/VMC/Ext/OK" in addresses, "/VMC/Ext/Root/Pos" in addresses, "/VMC/Ext/Bone/Pos" in addresses))
    assert [one[0] for one in seen] == [False] * 6
    assert [one[1] for one in seen] == [True, False] * 3
    assert [one[2] for one in seen] == [True, False, False] * 2


def test_vrchats_trackers_of_a_body_are_its_joints():
    body = ps.figure()
    frames = body.skeleton.forward(ps.samples.boxing(body).pose[40])
    intake = Intake()
    for packet in VrchatWriter(body).packets(frames):
        assert len(packet) <= 1200
        intake.osc(packet, "me", 0.0)
    points = intake.board.points
    assert set(points) == {"vrchat/head", *(f"vrchat/{k}" for k in range(1, 9))}
    upper = {"left_lower_leg": "left_upper_leg", "right_lower_arm": "right_upper_arm"}
    numbers = {"1": "hips", "2": "left_foot", "3": "right_foot", "4": "left_lower_leg", "8": "right_lower_arm"}
    for name, part in numbers.items():
        oriented = upper.get(part, part)
        point = points[f"vrchat/{name}"]
        np.testing.assert_allclose(point.position, frames.positions[body.index(part)], atol=1e-5)
        turned = ps.math.angle(np.array(point.rotation), body.canonical_orientation(frames, body.index(oriented)))
        assert turned < 1e-3
    np.testing.assert_allclose(points["vrchat/head"].position, frames.positions[body.index("head")], atol=1e-5)
    assert points["vrchat/head"].rotation is None


def test_bones_of_another_performer_are_points_of_a_body():
    """Sent by us as a receiver without our file would get them: at identity in a T-pose."""
    body = ps.figure()
    frames = body.skeleton.forward(ps.samples.dance(body).pose[100])
    intake = Intake()
    for packet in VmcWriter(body).packets(frames, 0.0, Status()):
        intake.osc(packet, "me", 0.0)
    for role in ("hips", "head", "left_hand", "right_hand", "left_foot", "right_foot", "left_lower_leg"):
        point = intake.board.points[f"bone:{role}"]
        np.testing.assert_allclose(point.position, frames.positions[body.index(role)], atol=1e-5)
        true = body.canonical_orientation(frames, body.index(role))
        assert ps.math.angle(np.array(point.rotation), true) < 1e-3, role


def test_expressions_and_commands_are_taken():
    intake = Intake()
    intake.osc(encode("/VMC/Ext/Blend/Val", "Joy", 0.25), "me", 0.0)
    intake.osc(encode("/VMC/Ext/Set/Calib/Ready"), "me", 0.0)
    intake.osc(encode("/VMC/Ext/Set/Calib/Exec", 0), "me", 0.0)
    intake.osc(encode("/VMC/Ext/Set/Period", 1, 2, 3, 4, 5, 6), "me", 0.0)
    assert intake.expressions == {"Joy": 0.25} and not intake.apply
    assert [(c.name, c.values) for c in intake.commands] == [
        ("ready", ()), ("calibrate", (0,)), ("periods", (1, 2, 3, 4, 5, 6))
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [(), ("a",), (1.0,) * 8, ("a", "b", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), ("a", None, True, b"x", 1, 1, 1, 1)]
)
def test_messages_with_other_arguments_are_counted(arguments):
    intake = Intake()
    for device in ("Hmd", "Con", "Tra"):
        assert not intake.osc(encode(f"/VMC/Ext/{device}/Pos", *arguments), "me", 0.0)
    assert intake.counts.broken == 3 and not intake.board.points


@pytest.mark.parametrize("bad", [math.nan, math.inf, 2e6])
def test_a_point_that_is_no_position_is_lost(bad):
    intake = Intake()
    intake.osc(TRACKER, "me", 0.0)
    intake.osc(encode("/VMC/Ext/Tra/Pos", "LHR-1", bad, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), "me", 0.01)
    assert not intake.board.present(0.01)
    intake.osc(TRACKER, "me", 0.02)
    (point,) = intake.board.present(0.02)
    assert point.velocity == (0.0, 0.0, 0.0) and point.at(0.04)[0] == (-1.0, 2.0, 3.0)


def test_names_senders_and_shapes_are_bounded():
    intake = Intake()
    for k in range(5000):
        intake.osc(encode("/VMC/Ext/Tra/Pos", f"tracker {k}", 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0), f"s{k}", 0.001 * k)
        intake.osc(encode("/VMC/Ext/Blend/Val", f"shape {k}", 1.0), f"s{k}", 0.001 * k)
        intake.osc(encode("/VMC/Ext/T", float(k)), f"s{k}", 0.001 * k)
        intake.osc(encode("/VMC/Ext/Set/Calib/Ready"), f"s{k}", 0.001 * k)
    assert len(intake.board.points) <= 64 and len(intake.expressions) <= 256
    assert len(intake.times) <= 64 and len(intake.commands) <= 16 and len(intake._world) <= 64
    assert intake.board.refused > 4000


def test_json_lines():
    intake = Intake()
    line = b'{"hips": [0, 0.95, 0], "head": [0, 1.6, 0, 2, 0, 0, 0], "left_hand": null}\n'
    assert intake.lines(line, "me", 0.0)
    points = intake.board.points
    assert points["hips"].position == (0, 0.95, 0) and points["head"].rotation == (1, 0, 0, 0)
    assert [p.name for p in intake.board.present(0.0)] == ["head", "hips"]
    for wrong in (b"[1]", b'{"a": "b"}', b"\xff\xfe", b"[" * 5000, b'{"a": [1e999, 0, 0]}'):
        try:
            intake.lines(wrong, "me", 0.1)
        except ps.PosableError as error:
            assert "expected JSON lines" in str(error)
    assert not intake.lines(b'{"a": [1, 2]}', "me", 0.0) and intake.counts.broken == 1


def test_decoded_bones_are_those_of_the_template():
    """The template writes numbers into bytes; message by message gives the same packets."""
    body = ps.figure()
    writer = VmcWriter(body)
    frames = body.skeleton.forward(ps.samples.walk(body).pose[10])
    values = writer.bones.transforms(frames)
    sent = [m for packet in writer.packets(frames, 0.0, Status()) for m in decode(packet) if "Bone" in m.address]
    assert [m.arguments[0] for m in sent] == list(writer.bones.names)
    np.testing.assert_array_equal(np.array([m.arguments[1:] for m in sent]), values.astype(np.float32))
