"""Hands: shapes that blend and stay inside limits, and fingers that close on objects as far as their surface."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable as ps
import posable.math as pm
from posable.body.hand.closing import TOUCHING, finger_volumes
from posable.body.hand.shapes import JOINTS, SHAPES
from posable.body.roles import FINGERS
from posable.compute import PosableError, Status
from posable.skeleton import Pose

from .bodies import file_body
from .test_fingers import METACARPALS, NAMES, fingertips, handed, palm_of

SIDES = ("left", "right")


@pytest.fixture(scope="module")
def figure():
    return ps.figure(fingers=True)


def bodies(data_dir):
    found = {"figure": ps.figure(fingers=True), "child": ps.figure(1.1, fingers=True)}
    found |= {"mixamo": ps.Humanoid(handed(NAMES["mixamo"])), "MakeHuman": file_body(data_dir, "MakeHuman")}
    found["four fingers"] = ps.Humanoid(
        handed(NAMES["unreal"], fingers=("thumb", "index", "middle", "little"), joints=2)
    )
    found["metacarpals"] = ps.Humanoid(handed(NAMES["rigify"], METACARPALS["rigify"], curl=0.2))
    return found


def stretched_out(body):
    """A pose with both arms out to the sides, so that only hands are near the hands."""
    posture = body.canonical(body.neutral_pose)
    arms = {f"{side}_upper_arm": pm.axis_angle([0, 0, sign], 1.4) for side, sign in (("left", 1), ("right", -1))}
    return body.pose(posture.rotated(**arms), base=body.neutral_pose)


def hand_frame(body, pose, side):
    """A function from a position seen from the neutral hand, x out of its back for the left one, to the world [m]."""
    frames = body.skeleton.forward(pose)
    joint = body.index(f"{side}_hand")
    turn = body.canonical_orientation(frames, joint)
    sign = 1.0 if side == "left" else -1.0
    return lambda x, y, z: frames.positions[joint] + pm.rotate(turn, [sign * x, y, z]), turn


# Shapes


def test_the_figure_with_fingers_is_the_figure_but_for_its_hands():
    plain, fingered = ps.figure(1.8), ps.figure(1.8, fingers=True)
    assert tuple(fingered.fingers) == FINGERS and plain.fingers == {}
    assert fingered.roles.keys() == plain.roles.keys()
    for role in plain.roles:
        one, two = (b.neutral_frames.positions[b.index(role)] for b in (plain, fingered))
        np.testing.assert_array_equal(one, two)
    assert fingered.measures == pytest.approx(plain.measures)
    assert fingered.height == 1.8
    rotations = fingered.canonical(fingered.skeleton.rest).rotations
    np.testing.assert_allclose(np.abs(rotations[:, 0]), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_inside_the_limits_of_every_body_and_mirror_images(name, data_dir):
    for which, body in bodies(data_dir).items():
        pose = body.pose_hand(body.pose_hand(body.neutral_pose, "left", name), "right", name)
        posture = body.canonical(pose)
        rows = [posture.index(role) for role in body.fingers]
        assert body.limits.excess([*body.fingers], posture.rotations[rows]).max() < 1e-9, which
        mirrored = posture.mirrored()
        for role in body.fingers:
            cosine = np.abs(np.sum(mirrored.rotation(role) * posture.rotation(role)))
            np.testing.assert_allclose(cosine, 1.0, atol=1e-9, err_msg=f"{which} {role}")


def test_a_fist_closes_a_point_points_and_a_pinch_meets(figure):
    for side in SIDES:
        flat, at, _ = fingertips(figure, figure.pose_hand(figure.neutral_pose, side, "flat"), side)
        out, along, _ = palm_of(figure, at, side)
        wrist = at[figure.roles[f"{side}_hand"]]
        fist = fingertips(figure, figure.pose_hand(figure.neutral_pose, side, "fist"), side)[0]
        reach = (fist - wrist) @ along / ((flat - wrist) @ along)
        assert (reach[1:] < 0.62).all() and ((fist - wrist) @ out > 0.01).all()
        points = fingertips(figure, figure.pose_hand(figure.neutral_pose, side, "point"), side)[0]
        reach = (points - wrist) @ along / ((flat - wrist) @ along)
        assert reach[1] > 0.98 and (reach[2:] < 0.62).all()
        pinch = fingertips(figure, figure.pose_hand(figure.neutral_pose, side, "pinch"), side)[0]
        assert np.linalg.norm(pinch[0] - pinch[1]) < 0.025
        assert np.linalg.norm(pinch[0] - pinch[2]) > 0.03


def test_only_the_fingers_of_that_hand_move_and_weights_go_all_the_way(figure):
    pose = stretched_out(figure)
    made = figure.pose_hand(pose, "left", "fist")
    changed = {j for j in range(len(figure.skeleton)) if not np.array_equal(made.rotations[j], pose.rotations[j])}
    assert changed == {j for role, j in figure.fingers.items() if role.startswith("left")}
    np.testing.assert_array_equal(made.translation, pose.translation)
    same = figure.pose_hand(made, "left", "open", 0.0)
    np.testing.assert_allclose(pm.angle(same.rotations, made.rotations), 0.0, atol=1e-7)
    whole = figure.pose_hand(made, "left", "open", 1.0)
    straight = figure.pose_hand(pose, "left", "open")
    np.testing.assert_allclose(pm.angle(whole.rotations, straight.rotations), 0.0, atol=1e-7)


def test_blends_go_evenly_from_one_shape_to_the_other_and_batches_are_their_rows(figure):
    shape, other = ps.HandShape.named("open"), ps.HandShape.named("fist")
    weights = np.linspace(0.0, 1.0, 7)
    blends = shape.blend(other, weights)
    assert blends.rotations.shape == (7, 15, 4)
    steps = pm.angle(blends.rotations[1:], blends.rotations[:-1])
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=1e-9)
    pose = figure.pose_hand(figure.neutral_pose, "right", blends)
    assert pose.shape == (7,)
    for k in range(7):
        one = figure.pose_hand(figure.neutral_pose, "right", shape.blend(other, weights[k]))
        np.testing.assert_allclose(pose.rotations[k], one.rotations, atol=1e-12)
    read = ps.HandShape.of(figure, pose, "right")
    np.testing.assert_allclose(np.abs(np.sum(read.rotations * blends.rotations, axis=-1)), 1.0, atol=1e-9)


def test_wrong_arguments_name_the_way_out(figure):
    pose = figure.neutral_pose
    two = ps.HandShape.named("open").blend("fist", [0.0, 1.0])
    for call in (
        lambda: figure.pose_hand(pose, "left", "fists"),
        lambda: figure.pose_hand(pose, "up", "fist"),
        lambda: figure.pose_hand(pose, "left", 3),
        lambda: figure.pose_hand(pose, "left", "fist", 2.0),
        lambda: figure.pose_hand(pose, "left", "fist", float("nan")),
        lambda: ps.HandShape(np.zeros((15, 4))),
        lambda: ps.HandShape.grip(figure, -1.0),
        lambda: ps.HandShape.grip(figure, 0.1, "cube"),
        lambda: ps.HandShape.grip(figure, float("inf")),
        lambda: figure.close_hand(pose, "left", ps.Scene(), end=two),
        lambda: figure.close_hand(figure.pose_hand(pose, "left", two), "left", ps.Scene()),
    ):
        with pytest.raises(PosableError):
            call()
    with pytest.raises(PosableError, match="fingers=True"):
        ps.figure().pose_hand(ps.figure().neutral_pose, "left", "fist")


# Closing


def balls_of_fingers(body, pose, side, count=400):
    """Balls (N, 3), (N,) that fill the volumes of each finger, placed by the plain kinematics of these tests."""
    _, at, turn = fingertips(body, pose, side)
    roles = [role for role in body.fingers if role.startswith(side)]
    t = np.linspace(0.0, 1.0, count)[:, None]
    found = {}
    for row in finger_volumes(body, roles).packed:
        assert row["kind"] == 0
        role = roles[int(row["joint"])]
        start, end = (at[body.fingers[role]] + pm.rotate(turn[body.fingers[role]], row[p]) for p in ("start", "end"))
        radii = row["radii"][0] + t[:, 0] * (row["radii"][1] - row["radii"][0])
        found.setdefault(role.rpartition("_")[0], []).append((start + t * (end - start), radii))
    return {name: tuple(np.concatenate(part) for part in zip(*balls, strict=True)) for name, balls in found.items()}


def from_sphere(points, centre, radius):
    return np.linalg.norm(points - centre, axis=-1) - radius


def from_capsule(points, a, b, radius):
    t = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.linalg.norm(points - a - t[:, None] * (b - a), axis=-1) - radius


def from_box(points, centre, turn, half):
    seen = np.abs(pm.rotate(pm.conjugate(turn), points - centre)) - half
    return np.linalg.norm(np.maximum(seen, 0.0), axis=-1) + np.minimum(seen.max(axis=-1), 0.0)


def judge(body, answer, side, distance):
    """Check an answer's gaps and statuses against distances computed here, and limits."""
    found = balls_of_fingers(body, answer.pose, side)
    assert tuple(found) == answer.fingers
    for k, (name, (points, radii)) in enumerate(found.items()):
        gap = float((distance(points) - radii).min())
        if gap > -1e-4:  # how deep something is inside counts otherwise for boxes
            assert abs(gap - answer.gaps[k]) < 2e-5, (name, gap, answer.gaps[k])
        expected = Status.COLLISION if gap < 0.0 else Status.REACHED if gap < TOUCHING else Status.UNREACHABLE
        if abs(gap) > 1.2e-5 and abs(gap - TOUCHING) > 1.2e-5:
            assert answer.finger_status[k] == expected, (name, gap)
    posture = body.canonical(answer.pose)
    rows = [posture.index(role) for role in body.fingers]
    assert body.limits.excess([*body.fingers], posture.rotations[rows]).max() < 1e-6
    assert answer.pose.is_finite()


@pytest.mark.parametrize("side", SIDES)
def test_fingers_close_on_balls_cylinders_and_boxes_and_never_go_through(side, data_dir):
    rng = np.random.default_rng(11)
    touched, total = 0, 0
    for body in bodies(data_dir).values():
        pose, size = stretched_out(body), body.measures["hand"] / 0.189
        place, turn = hand_frame(body, pose, side)
        for _ in range(6):
            radius = size * rng.uniform(0.012, 0.07)
            centre = place(*(size * np.array([-0.021 - rng.uniform(0, 0.01), -0.085, 0.0]) - [radius, 0.0, 0.0]))
            scene = ps.Scene()
            scene.sphere("ball", radius, centre)
            ball = body.close_hand(pose, side, scene)
            judge(body, ball, side, lambda p, c=centre, r=radius: from_sphere(p, c, r))
            across = pm.rotate(turn, [rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), 1.0])
            across *= 0.1 / np.linalg.norm(across)
            scene = ps.Scene()
            scene.capsule("rod", radius, 0.2, centre, pm.between([0.0, 1.0, 0.0], across))
            rod = body.close_hand(pose, side, scene)
            judge(body, rod, side, lambda p, c=centre, u=across, r=radius: from_capsule(p, c - u, c + u, r))
            half, spin = np.array([radius, 0.9 * radius, 0.05]), pm.multiply(turn, pm.exp(0.2 * rng.normal(size=3)))
            scene = ps.Scene()
            scene.box("box", 2 * half, centre, spin)
            box = body.close_hand(pose, side, scene)
            judge(body, box, side, lambda p, c=centre, q=spin, h=half: from_box(p, c, q, h))
            touched += sum(int((answer.finger_status == Status.REACHED).sum()) for answer in (ball, rod, box))
            total += sum(len(answer.fingers) for answer in (ball, rod, box))
    assert touched > 0.6 * total


def test_a_thin_wire_and_a_thin_plate_stop_fingers_as_well(figure):
    """What is thinner than any step of the way would be passed by a search that only looks at its ends."""
    pose = stretched_out(figure)
    place, turn = hand_frame(figure, pose, "left")
    for radius in (1e-5, 1e-3):
        a, b = place(-0.05, -0.15, -0.1), place(-0.05, -0.15, 0.1)
        scene = ps.Scene()
        scene.capsule("wire", radius, float(np.linalg.norm(b - a)), 0.5 * (a + b), pm.between([0.0, 1.0, 0.0], b - a))
        answer = figure.close_hand(pose, "left", scene)
        judge(figure, answer, "left", lambda p, a=a, b=b, r=radius: from_capsule(p, a, b, r))
        assert (answer.finger_status[1:4] == Status.REACHED).all()  # the little finger is too short
        assert (answer.closed[1:4] < 1.0).all()
    scene = ps.Scene()
    centre, half = place(-0.06, -0.16, 0.0), np.array([0.0005, 0.05, 0.1])
    scene.box("plate", 2 * half, centre, turn)
    judge(figure, figure.close_hand(pose, "left", scene), "left", lambda p: from_box(p, centre, turn, half))


def test_bones_after_one_that_touches_go_on(figure):
    """A bead before the first bone of the middle finger stops that, and neither its other bones nor other fingers."""
    pose = stretched_out(figure)
    place, _ = hand_frame(figure, pose, "left")
    scene = ps.Scene()
    centre = place(-0.035, -0.110, 0.0)
    scene.sphere("bead", 0.008, centre)
    answer = figure.close_hand(pose, "left", scene)
    judge(figure, answer, "left", lambda p: from_sphere(p, centre, 0.008))
    bend = pm.angle(ps.HandShape.of(figure, answer.pose, "left").rotations, [1.0, 0.0, 0.0, 0.0])
    closed = pm.angle(ps.HandShape.named("closed").rotations, [1.0, 0.0, 0.0, 0.0])
    done = bend / closed
    assert answer.finger_status[answer.fingers.index("left_middle")] == Status.REACHED
    first, second, third = (done[JOINTS.index(f"middle_{part}")] for part in ("proximal", "intermediate", "distal"))
    assert first + 0.1 < second < third, done
    assert done[JOINTS.index("little_proximal")] > 0.99


def test_nothing_to_hold_closes_the_hand_and_says_so(figure):
    answer = figure.close_hand(figure.neutral_pose, "left", ps.Scene(), end="fist")
    assert answer.status == Status.UNREACHABLE and (answer.closed == 1.0).all() and set(answer.touched) == {""}
    fist = figure.pose_hand(figure.neutral_pose, "left", "fist")
    np.testing.assert_allclose(pm.angle(answer.pose.rotations, fist.rotations), 0.0, atol=1e-7)
    assert np.isinf(answer.gaps).all()


def test_an_object_inside_the_hand_is_a_collision_and_one_too_large_opens_it(figure):
    pose = stretched_out(figure)
    place, _ = hand_frame(figure, pose, "left")
    scene = ps.Scene()
    centre = place(0.0, -0.12, 0.0)
    scene.sphere("stone", 0.03, centre)
    answer = figure.close_hand(pose, "left", scene)
    judge(figure, answer, "left", lambda p: from_sphere(p, centre, 0.03))
    assert answer.status == Status.COLLISION and Status.COLLISION in answer.finger_status
    scene = ps.Scene()
    wall = place(-0.25, -0.1, 0.0)
    scene.sphere("globe", 0.225, wall)
    answer = figure.close_hand(pose, "left", scene)
    judge(figure, answer, "left", lambda p: from_sphere(p, wall, 0.225))
    assert Status.COLLISION not in answer.finger_status


def test_of_several_obstacles_the_nearest_one_stops_a_finger(figure):
    """Wherever they are in the list, and whatever kinds they are."""
    pose = stretched_out(figure)
    place, turn = hand_frame(figure, pose, "left")
    near, far, box = place(-0.045, -0.09, 0.0), place(-0.4, -0.3, 0.2), place(-0.3, 0.3, 0.0)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        scene = ps.Scene()
        for k in order:
            if k == 0:
                scene.sphere("held", 0.025, near)
            elif k == 1:
                scene.sphere("far", 0.05, far)
            else:
                scene.box("box", (0.02, 0.02, 0.02), box, turn)
        answer = figure.close_hand(pose, "left", scene)
        gaps = []
        for points, radii in balls_of_fingers(figure, answer.pose, "left").values():
            each = from_sphere(points, near, 0.025), from_sphere(points, far, 0.05), from_box(points, box, turn, 0.01)
            gaps.append(min(float((away - radii).min()) for away in each))
        np.testing.assert_allclose(answer.gaps, gaps, atol=2e-5)
        assert (answer.finger_status[1:4] == Status.REACHED).all()
        assert {*answer.touched} == {"held"}
        assert min(gaps) > -1e-5


def test_a_finger_of_which_one_bone_begins_inside_is_opened_and_the_others_are_not(figure):
    """The bones before it are clear: a look at the clearest bone alone would leave the tip in the obstacle."""
    pose = stretched_out(figure)
    _, turn = hand_frame(figure, pose, "left")
    start = figure.pose_hand(pose, "left", "ready")
    tips = fingertips(figure, start, "left")[0]
    scene, radius = ps.Scene(), 0.006
    centre = tips[1] + pm.rotate(turn, [-0.008, 0.002, 0.0])  # on the palm's side of the index finger, a little in it
    scene.sphere("bead", radius, centre)
    begun = balls_of_fingers(figure, start, "left")
    inside = {name: float((from_sphere(p, centre, radius) - r).min()) for name, (p, r) in begun.items()}
    assert [name for name, gap in inside.items() if gap < 0.0] == ["left_index"]
    points, radii = begun["left_index"]
    assert (from_sphere(points[:800], centre, radius) - radii[:800]).min() > 0.002  # its first two bones
    answer = figure.close_hand(pose, "left", scene)
    judge(figure, answer, "left", lambda p: from_sphere(p, centre, radius))
    assert Status.COLLISION not in answer.finger_status


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_any_scene_gives_a_finite_pose_with_true_statuses(seed):
    body = ps.figure(fingers=True)
    rng = np.random.default_rng(seed)
    side = SIDES[seed % 2]
    pose = Pose(rng.normal(size=3), pm.normalize(rng.normal(size=(len(body.skeleton), 4))))
    place, _ = hand_frame(body, pose, side)
    scene = ps.Scene()
    centre, radius = place(*rng.uniform(-0.2, 0.1, size=3)), float(10 ** rng.uniform(-5, 1))
    scene.sphere("ball", radius, centre)
    start = [None, "ready", "fist", "open"][seed % 4]
    answer = body.close_hand(pose, side, scene, start=start)
    for k, (points, radii) in enumerate(balls_of_fingers(body, answer.pose, side).values()):
        gap = float((from_sphere(points, centre, radius) - radii).min())
        assert abs(gap - answer.gaps[k]) < 1e-4
        if answer.finger_status[k] == Status.REACHED:
            assert -1e-4 < gap < 2e-4
    others = [j for j in range(len(body.skeleton)) if j not in body.fingers.values()]
    np.testing.assert_array_equal(answer.pose.rotations[others], pose.rotations[others])


def test_a_mesh_is_held_by_its_surface(figure):
    pytest.importorskip("coal")
    pose = stretched_out(figure)
    place, turn = hand_frame(figure, pose, "left")
    half, centre = np.array([0.02, 0.02, 0.1]), place(-0.045, -0.09, 0.0)
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * half
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    scene = ps.Scene()
    scene.mesh("bar", corners, [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))], centre, turn)
    answer = figure.close_hand(pose, "left", scene)
    for k, (points, radii) in enumerate(balls_of_fingers(figure, answer.pose, "left").values()):
        gap = float((from_box(points, centre, turn, half) - radii).min())
        # Against meshes fingers are polyhedra that contain them: they stop up to a millimetre early, never late.
        assert gap > -1e-5 and -1e-5 < gap - answer.gaps[k] < 1e-3, (answer.fingers[k], gap, answer.gaps[k])
    assert (answer.finger_status[1:] == Status.REACHED).sum() >= 3


@pytest.mark.parametrize("kind", ["cylinder", "ball"])
def test_a_grip_opens_as_what_it_holds_grows(figure, kind):
    bends = []
    for radius in (0.005, 0.015, 0.03, 0.06, 0.2, 5.0):
        shape = ps.HandShape.grip(figure, radius, kind)
        rows = [JOINTS.index(f"middle_{part}") for part in ("proximal", "intermediate", "distal")]
        bends.append(pm.angle(shape.rotations[rows], [1.0, 0.0, 0.0, 0.0]).sum())
    assert (np.diff(bends) < 0.05).all() and bends[0] > 3.0 and bends[-1] < 0.6, bends
    left, right = (ps.HandShape.grip(figure, 0.03, kind, side).rotations for side in SIDES)
    np.testing.assert_allclose(np.abs(np.sum(left * right, axis=-1)), 1.0, atol=1e-6)


def test_every_rig_grips(data_dir):
    for name, body in bodies(data_dir).items():
        size = body.measures["hand"] / 0.189
        shape = ps.HandShape.grip(body, 0.02 * size, "cylinder", "right")
        posed = body.pose_hand(body.neutral_pose, "right", shape)
        flat = body.pose_hand(body.neutral_pose, "right", "flat")
        one, two = (fingertips(body, pose, "right")[0] for pose in (flat, posed))
        assert (np.linalg.norm(two[1:] - one[1:], axis=-1) > 0.03 * size).all(), name
