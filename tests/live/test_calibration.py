"""Calibration while somebody stands and moves: who is what, how trackers sit, by packets and by call."""

import numpy as np
import pytest

import posable as ps
from posable.live import Address, Live, LiveCalibration, UdpSource, calibrated, encode
from posable.live.assignment import assign, swapped
from posable.live.board import Board, Point
from posable.live.bones import t_pose
from posable.live.following import Follower

VRCHAT = ("hips", "left_foot", "right_foot", "chest")
VRCHAT += ("left_lower_leg", "right_lower_leg", "left_lower_arm", "right_lower_arm")
PARTS = (*ps.MARKERS, "left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg", "chest")


def person(draw: np.random.Generator) -> ps.Humanoid:
    return ps.figure(height=float(draw.uniform(1.4, 2.0)))


def worn(
    body: ps.Humanoid,
    pose: ps.Pose,
    parts,
    draw: np.random.Generator,
    *,
    facing: float = 0.0,
    shift=(0.0, 0.0),
    kinds=None,
    offset: float = 0.03,
    along=None,
) -> list[Point]:
    """Trackers on parts, each a few centimetres off its joint, on a person who stands somewhere.

    `along`: part to (another part, how far towards it the tracker is worn).
    """
    frames = body.skeleton.forward(pose)
    floor = min(frames.positions[:, 1].min(), frames.ends[:, 1].min())
    turn = ps.math.axis_angle((0.0, 1.0, 0.0), facing)
    found = []
    for part in parts:
        at = frames.positions[body.index(part)] - [0.0, floor, 0.0]
        if along and part in along:
            other, fraction = along[part]
            at = at + fraction * (frames.positions[body.index(other)] - frames.positions[body.index(part)])
        at = ps.math.rotate(turn, at) + np.array([shift[0], 0.0, shift[1]]) + draw.normal(scale=offset, size=3)
        kind = (kinds or {}).get(part, "tracker")
        q = ps.math.multiply(turn, body.canonical_orientation(frames, body.index(part)))
        found.append(Point(f"LHR-{hash(part) % 1000}-{part[::-1]}", kind, "me", 0.0, tuple(at), tuple(q)))
    draw.shuffle(found)
    return found


def true_roles(points: list[Point]) -> dict[str, str]:
    return {point.name: point.name.split("-")[-1][::-1] for point in points}


@pytest.mark.parametrize("pose", ["neutral", "t"])
@pytest.mark.parametrize("parts", [PARTS[:6], PARTS, PARTS[:2] + PARTS[4:6], ("head", "left_hand", "right_hand")])
def test_trackers_are_found_by_where_they_are(pose, parts):
    """Any person, anywhere, facing anywhere that the headset faces; worn a few centimetres off."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        body = person(draw)
        kinds = {"head": "headset", "left_hand": "controller", "right_hand": "controller"}
        standing = body.neutral_pose if pose == "neutral" else t_pose(body)
        facing = float(draw.uniform(-np.pi, np.pi))
        points = worn(body, standing, parts, draw, facing=facing, shift=draw.normal(size=2), kinds=kinds)
        found = assign(points, ps.figure())
        assert found.roles == true_roles(points), seed
        if len(parts) == 6:
            assert found.pose == pose


SETS = {
    "VRChat's eight": ("head", *VRCHAT),
    "VRChat's eight with controllers": ("head", "left_hand", "right_hand", *VRCHAT),
    "SlimeVR's core": ("head", "hips", "chest", "left_lower_leg", "right_lower_leg", "left_foot", "right_foot"),
    "knees and hips": ("head", "hips", "left_hand", "right_hand", "left_lower_leg", "right_lower_leg"),
    "elbows and feet": ("head", "hips", "left_foot", "right_foot", "left_lower_arm", "right_lower_arm"),
    "all eleven": PARTS,
}


@pytest.mark.parametrize("pose", ["neutral", "t"])
@pytest.mark.parametrize("parts", SETS.values(), ids=SETS)
def test_trackers_of_knees_and_elbows_are_found_wherever_they_are_strapped(pose, parts):
    """On the upper bone, at the joint or on the lower one; any person, anywhere, facing where the headset does.

    A tracker on a forearm hangs where that of a hand does: where hands have none, elbows are worn on the upper arm.
    """
    for seed in range(12):
        draw = np.random.default_rng(seed)
        body = person(draw)
        kinds = {"head": "headset", "left_hand": "controller", "right_hand": "controller"}
        standing = body.neutral_pose if pose == "neutral" else t_pose(body)
        ends = {"lower_arm": ("upper_arm", "hand"), "lower_leg": ("upper_leg", "foot")}
        along = {}
        for part in parts:
            side, _, rest = part.partition("_")
            if rest in ends:
                lower_too = rest == "lower_leg" or "left_hand" in parts
                end = ends[rest][int(draw.integers(2)) if lower_too else 0]
                along[part] = (f"{side}_{end}", draw.uniform(0.0, 0.5 if end.startswith("upper") else 0.4))
        points = worn(
            body,
            standing,
            parts,
            draw,
            facing=float(draw.uniform(-3, 3)),
            shift=draw.normal(size=2),
            kinds=kinds,
            along=along,
        )
        found = calibrated(ps.figure(), [points] * 20)
        assert found.roles == true_roles(points), (seed, found.notes)
        assert len(found.notes) == 1, found.notes  # nothing was left out
        assert found.calibration is not None and set(found.calibration.markers) == set(parts)


@pytest.mark.parametrize("parts", [PARTS[:6], PARTS])
def test_a_tracker_that_lies_on_the_desk_is_left_out_and_shifts_nobody(figure, parts):
    for seed in range(12):
        draw = np.random.default_rng(seed)
        body, where = person(draw), draw.uniform(-2.5, 2.5, 2)
        kinds = {"head": "headset", "left_hand": "controller", "right_hand": "controller"}
        points = worn(body, body.neutral_pose, parts, draw, kinds=kinds, shift=draw.normal(size=2))
        desk = Point("desk", "tracker", "me", 0.0, (where[0] + 3.0, 0.75, where[1]), (1.0, 0.0, 0.0, 0.0))
        roles = true_roles(points)
        found = calibrated(figure, [[*points, desk]] * 20)
        assert found.roles == roles, seed
        assert sum("is left out" in note for note in found.notes) == 1
        assert any("desk is left out: it fits nowhere" in note for note in found.notes)


def test_two_trackers_for_one_knee_are_one_and_the_other_is_said(figure):
    draw = np.random.default_rng(0)
    points = worn(figure, figure.neutral_pose, PARTS, draw, kinds={"head": "headset"})
    more = worn(figure, figure.neutral_pose, ("left_lower_leg",), draw, along={"left_lower_leg": ("left_foot", 0.4)})
    more[0].name = "second"
    found = calibrated(figure, [points + more] * 20)
    assert set(found.roles.values()) == set(PARTS)
    assert sum("is left out" in note for note in found.notes) == 1


def test_a_knee_that_nobody_can_know_is_left_out(figure):
    """Half-way up the thigh and without an orientation, the tracker does not say where the knee is."""
    draw = np.random.default_rng(0)
    parts = (*PARTS[:6], "left_lower_leg", "right_lower_leg")
    points = worn(figure, figure.neutral_pose, parts, draw, along={"left_lower_leg": ("left_upper_leg", 0.5)})
    roles = true_roles(points)
    for point in points:
        point.rotation = None
    found = calibrated(figure, [points] * 20)
    left = next(name for name, role in roles.items() if role == "left_lower_leg")
    assert set(found.roles.values()) == set(parts) - {"left_lower_leg"}
    assert any(f"{left} is left out: it has no orientation" in note for note in found.notes)


def test_who_does_not_stand_as_said_is_told_so(figure):
    """Better none than a wrong one: who boxes or dances is not calibrated as somebody else."""
    told = 0
    for motion in (ps.samples.boxing(figure), ps.samples.dance(figure), ps.samples.walk(figure)):
        for k in (5, 10, 20, 30, 45, 60, 80):
            points = worn(figure, motion[k], PARTS[:6], np.random.default_rng(k), kinds={"head": "headset"})
            try:
                found = calibrated(figure, [points] * 20)
            except ps.PosableError as error:
                assert "m from where they would be on somebody who stands upright" in str(error)
                told += 1
            else:
                assert all(true_roles(points)[name] == role for name, role in found.roles.items())
    assert told > 10


def test_who_does_not_move_is_told_so(figure):
    draw = np.random.default_rng(0)
    points = worn(figure, figure.neutral_pose, PARTS[:6], draw, kinds={"head": "headset"})
    assert any("nobody moved" in note for note in calibrated(figure, [points] * 40, [points] * 100).notes)


def test_without_hips_and_head_there_is_no_body(figure):
    draw = np.random.default_rng(0)
    points = worn(figure, figure.neutral_pose, PARTS[2:6], draw)
    fixed = true_roles(points)
    with pytest.raises(ps.PosableError, match="no tracker was found on the hips or the head"):
        calibrated(figure, [points] * 20, fixed=fixed)


@pytest.mark.parametrize(("towards", "fraction"), [("upper", 0.5), ("upper", 0.2), ("lower", 0.4)])
def test_knees_and_elbows_follow_trackers_strapped_anywhere(figure, towards, fraction):
    """Eleven trackers at any angle on somebody of another size; judged by the knees and elbows of the body."""
    draw = np.random.default_rng(1)
    tall = ps.figure(height=1.85)
    motion = ps.samples.dance(tall)
    bones = {"lower_arm": ("upper_arm", "hand"), "lower_leg": ("upper_leg", "foot")}
    joints = [part for part in PARTS if part.partition("_")[2] in bones]
    levers, straps = {}, dict(zip(PARTS, ps.math.normalize(draw.normal(size=(len(PARTS), 4))), strict=True))
    still = tall.skeleton.forward(tall.neutral_pose)
    floor = min(still.positions[:, 1].min(), still.ends[:, 1].min())

    def bone_of(part: str) -> str:
        """The part that the tracker is strapped to."""
        side, _, rest = part.partition("_")
        return f"{side}_{bones[rest][0]}" if rest in bones and towards == "upper" else part

    for part in PARTS:
        side, _, rest = part.partition("_")
        at = still.positions[tall.index(part)]
        if rest in bones:
            end = still.positions[tall.index(f"{side}_{bones[rest][towards == 'lower']}")]
            at = at + fraction * (end - at)
        bone = tall.index(bone_of(part))
        q = tall.canonical_orientation(still, bone)
        levers[part] = ps.math.rotate(
            ps.math.conjugate(q), at - still.positions[bone] + draw.normal(scale=0.02, size=3)
        )

    def reported(pose: ps.Pose, time: float):
        frames = tall.skeleton.forward(pose)
        found = []
        for part in PARTS:
            bone = tall.index(bone_of(part))
            q = tall.canonical_orientation(frames, bone)
            at = frames.positions[bone] + ps.math.rotate(q, levers[part]) - [0.0, floor, 0.0]
            strap = np.array([1.0, 0.0, 0.0, 0.0]) if part == "head" else straps[part]
            kind = "headset" if part == "head" else "tracker"
            found.append(Point(f"T-{part[::-1]}", kind, "me", time, tuple(at), tuple(ps.math.multiply(q, strap))))
        return found, frames

    stood = [reported(tall.neutral_pose, 0.0)[0]] * 60
    moved = [reported(motion[k % len(motion)], 0.0)[0] for k in range(0, 480, 2)]
    found = calibrated(figure, stood, moved)
    assert found.roles == {f"T-{part[::-1]}": part for part in PARTS}, found.notes
    board, follower, errors = Board(), Follower(figure, calibration=found), []
    for k in range(240):
        points, frames = reported(motion[k % len(motion)], k / 60)
        for p in points:
            board.report(p.name, p.kind, p.position, p.rotation, "me", k / 60)
        frame = follower.step(board, k / 60)
        got = np.array([frame.frames.positions[figure.index(part)] for part in joints])
        true = np.array([frames.positions[tall.index(part)] for part in joints]) - [0.0, floor, 0.0]
        errors.append(np.linalg.norm(got * 1.85 / 1.75 - true, axis=-1))
    # As it is with trackers on the very joints: what is left is the person's size, and a body with limits.
    assert np.median(errors) < 0.03 and np.percentile(errors, 95) < 0.1


def test_without_a_headset_a_person_faces_ahead_and_moving_says_otherwise(figure):
    for facing in (0.0, np.pi):
        draw = np.random.default_rng(3)
        still = worn(figure, figure.neutral_pose, PARTS[:6], draw, facing=facing)
        stood = [still] * 40
        moved = []
        for pose in ps.samples.boxing(figure)[::4]:
            frame = worn(figure, pose, PARTS[:6], np.random.default_rng(3), facing=facing)
            moved.append(frame)
        found = calibrated(figure, stood, moved)
        assert found.roles == true_roles(still)
        assert any("exchanged" in note for note in found.notes) == (facing != 0.0)


def test_names_that_say_what_they_are_on_and_given_ones_stay(figure):
    draw = np.random.default_rng(0)
    points = worn(figure, figure.neutral_pose, PARTS[:6], draw)
    roles = true_roles(points)
    wrong = next(name for name, role in roles.items() if role == "left_foot")
    assert assign(points, figure, {wrong: "right_foot"}).roles[wrong] == "right_foot"
    named = [Point(roles[p.name], "part", "me", 0.0, p.position, None) for p in points]
    assert assign(named, figure).roles == {role: role for role in roles.values()}
    assert swapped({"a": "left_foot", "b": "head"}) == {"a": "right_foot", "b": "head"}


def test_who_does_not_stand_still_is_told(figure):
    draw = np.random.default_rng(0)
    frames = [
        worn(figure, figure.neutral_pose, PARTS[:6], np.random.default_rng(0), shift=(0.02 * k, 0.0)) for k in range(20)
    ]
    with pytest.raises(ps.PosableError, match=r"moved by 0\.38 m while standing"):
        calibrated(figure, frames)
    with pytest.raises(ps.PosableError, match="no tracker"):
        calibrated(figure, [[] for _ in range(9)])
    del draw


def take_of(body: ps.Humanoid, tall: ps.Humanoid, seed: int):
    """Trackers over time: three seconds of standing, eight of moving, each tracker strapped on anyhow."""
    draw = np.random.default_rng(seed)
    motion = ps.samples.dance(tall)
    still = tall.neutral_pose
    offsets = draw.normal(scale=0.03, size=(6, 3))
    straps = ps.math.normalize(draw.normal(size=(6, 4)))
    poses = [still] * 190 + [motion[k % len(motion)] for k in range(500)]
    fixed = tall.skeleton.forward(still)
    floor = min(fixed.positions[:, 1].min(), fixed.ends[:, 1].min())
    for k, pose in enumerate(poses):
        frames = tall.skeleton.forward(pose)
        messages = []
        for m, role in enumerate(ps.MARKERS):
            q = tall.canonical_orientation(frames, tall.index(role))
            p = frames.positions[tall.index(role)] + ps.math.rotate(q, offsets[m]) - [0.0, floor, 0.0]
            w, x, y, z = ps.math.multiply(q, straps[m])
            device = "Hmd" if role == "head" else "Tra"
            if role == "head":  # a headset looks ahead
                w, x, y, z = q
            messages.append(encode(f"/VMC/Ext/{device}/Pos", f"S{m}", *map(float, (-p[0], p[1], p[2], x, -y, -z, w))))
        yield k / 60, messages, frames, floor


def test_calibrating_by_packets_while_standing_and_moving(figure, mailbox):
    """Trackers strapped on at any angle, on somebody of another size: the body then does what the person does."""
    tall = ps.figure(height=1.9)
    states, distances, angles = [], [], []
    live = Live(UdpSource(Address("vmc", "127.0.0.1", 0)), (), body=figure, show=lambda _: None)
    from posable.live import bundle

    sender = live.senders.admit("x", "me", 0.0)
    for k, (time, messages, *_) in enumerate(take_of(figure, tall, 1)):
        if k == 1:
            messages = [encode("/VMC/Ext/Set/Calib/Ready"), *messages]
        if k == 3:
            messages = [encode("/VMC/Ext/Set/Calib/Exec", 0), *messages]
        live.take_packet(0, "osc", bundle(messages), sender, time)
        live.send(time, True)
        states.append(live.calibrating.state)
        if live.calibrating.phase == "done":
            break
    assert live.calibrating.phase == "done", live.calibrating.message
    assert states[0] == 0 and states[1] == 1 and states[3] == 2 and states[-1] == 3
    assert 10.9 < len(states) / 60 < 11.4  # [s]
    found = live.follower.calibration
    assert found.roles == {f"S{m}": role for m, role in enumerate(ps.MARKERS)}
    assert found.calibration.scales["legs"] == pytest.approx(1.9 / 1.75, rel=0.06)
    for time, messages, frames, floor in list(take_of(figure, tall, 1))[200:690]:
        live.take_packet(0, "osc", bundle(messages), sender, time + 20)
        live.send(time + 20, True)
        true = frames.positions[[tall.index(role) for role in ps.MARKERS]] - [0.0, floor, 0.0]
        got = figure.markers(live.frame.pose) * 1.9 / 1.75
        distances.append(np.linalg.norm(got - true, axis=-1))
        pairs = [(figure, live.frame.frames), (tall, frames)]
        parts = [[body.canonical_orientation(f, body.index(role)) for role in ps.MARKERS] for body, f in pairs]
        angles.append(ps.math.angle(*parts))
    assert np.median(distances) < 0.05 and np.max(distances) < 0.3
    # How each is strapped on is known from the next body on: what is left is how well six offsets show where ahead is.
    # For a quarter of a second after 20 s without packets, hands and feet still turn to where they are.
    assert np.max(angles[15:]) < np.radians(6.0) and np.max(angles) < np.radians(15.0)


def test_a_calibration_is_saved_and_read_back(figure, tmp_path):
    draw = np.random.default_rng(0)
    points = worn(figure, figure.neutral_pose, PARTS, draw)
    found = calibrated(figure, [points] * 10)
    found.save(tmp_path / "me.json")
    again = LiveCalibration.load(tmp_path / "me.json")
    assert again.roles == found.roles
    np.testing.assert_array_equal(again.calibration.offsets, found.calibration.offsets)
    assert again.calibration.scales == found.calibration.scales


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected"),
        ('{"format": "x", "roles": {}}', "expected 'posable-live-calibration/1'"),
        ('{"format": "posable-live-calibration/1", "roles": {"a": "tail"}}', "tail"),
        ('{"format": "posable-live-calibration/1", "roles": {"a": "head", "b": "head"}}', "each part once"),
        (
            '{"format": "posable-live-calibration/1", "roles": {}, "sits": {"trackers": [{"part": "head", "offset": '
            '[0, 0, 0], "rotation": [0, 0, 0, 0]}], "scales": {}}}',
            "unit quaternion",
        ),
    ],
)
def test_a_calibration_that_is_none_is_named(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ps.FormatError, match=message):
        LiveCalibration.load(tmp_path / "a.json")


def test_two_trackers_called_after_one_part_make_a_calibration_that_can_be_saved(tmp_path):
    """VRChat's first tracker and one called hips are both on the hips."""
    body = ps.figure()
    at = body.skeleton.forward(body.neutral_pose).positions
    points = [Point(r, "tracker", "a", 0.0, tuple(at[body.index(r)]), (1.0, 0.0, 0.0, 0.0)) for r in ps.MARKERS]
    points.append(Point("vrchat/1", "tracker", "b", 0.0, tuple(at[body.index("hips")] + 0.02), None))
    found = calibrated(body, [points] * 30)
    assert sorted(found.roles.values()) == sorted(ps.MARKERS)
    found.save(tmp_path / "me.json")
    assert LiveCalibration.load(tmp_path / "me.json").roles == found.roles
