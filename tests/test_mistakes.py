"""What callers hand over by mistake is told in one sentence that names it; what is no number leaves poses finite."""

import math

import numpy as np
import pytest

import posable as ps
from posable.classic import DLS, Effector, Stop
from posable.compute import number


@pytest.fixture(scope="module")
def body() -> ps.Humanoid:
    return ps.figure()


@pytest.fixture(scope="module")
def walk(body: ps.Humanoid) -> ps.Motion:
    return ps.samples.walk(body, duration=0.2)


KINDS = {
    "a motion where a skeleton is wanted": (lambda b, w: ps.Humanoid(w), "motion.skeleton"),
    "a name where a target is requested": (lambda b, w: b.place(w[0], "left_hand", "the cup"), "Target"),
    "a motion where a body starts": (lambda b, w: b.place(w, "left_hand", ps.Target([0.3, 1.0, 0.3])), "Pose"),
    "a pose where a posture is wanted": (lambda b, w: b.pose(w[0]), "canonical"),
    "a pose that is saved": (lambda b, w: ps.save(w[0], "x.bvh"), "Motion"),
    "a skeleton where a body is wanted": (lambda b, w: ps.SequentialIK(b.skeleton), "Humanoid"),
    "a body where a skeleton is wanted": (lambda b, w: DLS(b, [Effector("l_wrist")]), "body.skeleton"),
    "a skeleton where a chain is wanted": (lambda b, w: ps.ERIK(b.skeleton), "Chain"),
    "a name where a behaviour is wanted": (lambda b, w: ps.Reacher(b, right="normal"), "Behaviour"),
    "centimetres where metres are wanted": (lambda b, w: ps.figure(height=175), "175 cm are 1.75"),
    "a file where a learned range is wanted": (
        lambda b, w: b.place(w[0], "left_hand", [0.3, 1.0, 0.3], limb_range="arm.npz"),
        "LimbRange.load",
    ),
    "skeletons where bodies are retargeted": (lambda b, w: ps.retarget(w, b.skeleton, b.skeleton), "Humanoid"),
    "a pose where a motion is retargeted": (lambda b, w: ps.retarget(w[0], b, b), "Motion"),
    "a body that does not perform the motion": (
        lambda b, w: ps.retarget(w, ps.figure(1.5), b),
        r"Humanoid\(motion.skeleton\)",
    ),
    "a pose without a body": (lambda b, w: ps.render.portrait(w[0]), r"portrait\(body, pose\)"),
    "nothing where a body is drawn": (lambda b, w: ps.render.portrait(None), "Humanoid, Skeleton or Motion"),
    "a file where a scene is wanted": (
        lambda b, w: b.place(w[0], "left_hand", [0.3, 1.0, 0.3], scene="room.json"),
        "Scene.load",
    ),
    "a file where a limb has a scene": (
        lambda b, w: ps.Limb("left_arm", 0.3, 0.3).solve([0.3, 0.1, 0.1], scene="room.json"),
        "Scene.load",
    ),
    "a list where chains have names": (lambda b, w: ps.express.Tree([ps.Chain.from_axes("YX")]), "name: chain"),
    "an array where targets have names": (
        lambda b, w: ps.express.Tree({"tip": ps.Chain.from_axes("YX")}).solve({}, look_at=(0.0, 1.0, 2.0)),
        "end point: values",
    ),
    "a pose of another skeleton": (
        lambda b, w: ps.ERIK(ps.Chain.from_axes("YXZ")).solve(w[0], look_at=(0, 1, 2)),
        "3 joints",
    ),
    "a start that is no posture": (
        lambda b, w: ps.ERIK(ps.Chain.from_axes("YX")).track([0, 0], look_at=[[0, 1, 2.0]], start=[0.0, math.nan]),
        "not finite",
    ),
    "a name where a body walks": (lambda b, w: ps.samples.walk("me"), "Humanoid"),
}


@pytest.mark.parametrize(("mistake", "hint"), KINDS.values(), ids=KINDS)
def test_another_kind_of_thing_is_told_with_what_was_expected(body, walk, mistake, hint):
    with pytest.raises(ps.PosableError, match=hint):
        mistake(body, walk)


SETTINGS = {
    "fps of a motion": lambda b, w, v: w.replace(fps=v),
    "fps to resample to": lambda b, w, v: w.resampled(v),
    "height": lambda b, w, v: ps.figure(v),
    "a measure": lambda b, w, v: ps.figure(1.75, thigh=v),
    "duration": lambda b, w, v: ps.samples.walk(b, duration=v),
    "bone": lambda b, w, v: ps.Limb("right_arm", v, 0.3),
    "softness": lambda b, w, v: b.limb("right_arm").solve([0.3, 0.1, 0.1], softness=v),
    "margin": lambda b, w, v: b.place(w[0], "left_hand", [0.3, 1.0, 0.3], self_collision=True, margin=v),
    "fps of a stream": lambda b, w, v: b.limb("right_arm").stream(fps=v),
    "fps of points": lambda b, w, v: ps.SequentialIK(b).track(b.markers(w.pose), fps=v),
    "threshold": lambda b, w, v: ps.ERIK(ps.Chain.from_axes("YX"), threshold=v),
    "iterations": lambda b, w, v: DLS(b.skeleton, [Effector("l_wrist")], stop=Stop(iterations=v)),
}


@pytest.mark.parametrize("value", ["sixty", [1.0, 2.0], math.nan, math.inf, -1.0, {}], ids=repr)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_setting_that_is_no_sensible_number_is_refused_by_its_value(body, walk, setting, value):
    with pytest.raises(ps.PosableError, match="expected"):
        setting(body, walk, value)


def test_what_is_no_number_counts_as_none():
    assert all(math.isnan(number(value)) for value in (None, "1", b"1", [1.0, 2.0], {}, np.zeros(3)))
    assert number(np.float32(2)) == 2.0 and number(True) == 1.0


def test_rotations_and_values_of_another_shape_are_refused(body, walk):
    for call in (
        lambda: body.pose_limb(walk[0], "right_arm", np.zeros(3)),
        lambda: ps.CanonicalPose.neutral().rotated(head=np.zeros(3)),
        lambda: ps.Posture(["hips"], [[1, 0, 0, 0]]).rotated(hips=np.zeros(3)),
        lambda: body.limb("right_arm").track(0.3, fps=60),
        lambda: ps.ERIK(ps.Chain.from_axes("YX")).stream(fps=60).step(np.zeros(2), np.zeros((0, 4))),
    ):
        with pytest.raises(ps.ShapeError, match="shape"):
            call()


ARRAYS = {
    "position": lambda b, w, v: b.limb("right_arm").solve(v),
    "orientation": lambda b, w, v: b.limb("right_arm").solve([0.3, 0.1, 0.1], v),
    "swivel": lambda b, w, v: b.limb("right_arm").solve([0.3, 0.1, 0.1], swivel=v),
    "target's position": lambda b, w, v: b.place(w[0], "left_hand", ps.Target(v)),
    "target's orientation": lambda b, w, v: ps.Reacher(b, right=ps.Behaviour.default(b, "right_arm")).solve(
        right=ps.Target([-0.3, 1.0, 0.3], v)
    ),
    "at": lambda b, w, v: ps.Behaviour.default(b, "right_arm").posture_at(v),
    "points": lambda b, w, v: ps.SequentialIK(b).solve(v),
    "orientations of 'head'": lambda b, w, v: ps.SequentialIK(b).solve(b.markers(w.pose), {"head": v}),
    "targets": lambda b, w, v: DLS(b.skeleton, [Effector("l_wrist")]).solve(v),
    "effector's point": lambda b, w, v: DLS(b.skeleton, [Effector("l_wrist", point=v)]),
    "postures": lambda b, w, v: ps.ERIK(ps.Chain.from_axes("YX")).solve(v, look_at=(0.5, 1.0, 2.0)),
    "look_at": lambda b, w, v: ps.ERIK(ps.Chain.from_axes("YX")).solve([0.0, 0.0], look_at=v),
    "displacement": lambda b, w, v: ps.MotionEditor(w, b).drag(frame=3, part="left_hand", displacement=v),
    "rotations": lambda b, w, v: ps.Pose([0.0, 0.0, 0.0], v),
    "translation": lambda b, w, v: ps.Pose(v, w.pose.rotations),
    "time": lambda b, w, v: w.at(v),
    "values": lambda b, w, v: b.skeleton.from_values(v),
    "position of 'box'": lambda b, w, v: ps.Scene().box("box", (1, 1, 1), v),
    "q": lambda b, w, v: ps.math.conjugate(v),
}


NO_NUMBERS = {
    "a word": "here",
    "words": ["a", "b", "c"],
    "a ragged list": [[1.0, 2.0], [3.0]],
    "a mapping": {"x": 1.0},
    "objects": [None, object()],
}


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize(("name", "call"), ARRAYS.items(), ids=ARRAYS)
def test_what_is_not_made_of_numbers_is_refused_by_its_name(body, walk, name, call, value):
    with pytest.raises(ps.PosableError, match=f"{name} (is|are) .*expected numbers"):
        call(body, walk, value)


def test_limb_values_that_are_no_numbers_leave_their_pose_as_it_was_and_its_neighbours_alone(body, walk):
    values = body.limb("right_arm").read(walk.pose).values.copy()
    values[3] = np.nan
    posed = body.pose_limb(walk.pose, "right_arm", values)
    np.testing.assert_array_equal(posed.rotations[3], walk.pose.rotations[3])
    np.testing.assert_allclose(posed.rotations, walk.pose.rotations, atol=1e-9)


def test_no_poses_at_all_are_an_answer_of_no_poses(body, walk):
    none = walk[:0].pose
    assert body.pose_limb(none, "right_arm", np.zeros((0, 7))).shape == (0,)
    assert body.place(none, "left_hand", ps.Target(np.zeros((0, 3)))).pose.shape == (0,)


def test_times_outside_a_motion_are_its_ends_and_no_time_is_an_error(walk):
    ends = walk.at([-math.inf, -1e300, 1e300, math.inf])
    np.testing.assert_allclose(ends.rotations, walk.pose[np.array([0, 0, -1, -1])].rotations, atol=1e-12)
    with pytest.raises(ps.PosableError, match="nan"):
        walk.at(math.nan)


def test_a_value_of_a_million_numbers_is_named_by_its_beginning(body):
    with pytest.raises(ps.PosableError) as told:
        ps.Chain.from_axes("YX", lengths=np.zeros((300, 300)).tolist())
    assert len(str(told.value)) <= 4000


@pytest.mark.parametrize("fps", [1e-300, 1e300])
def test_a_rate_whose_times_no_file_can_hold_is_refused_and_nothing_is_written(walk, tmp_path, fps):
    with pytest.raises(ps.PosableError, match="frames a second"):
        ps.save(walk.replace(fps=fps), tmp_path / "walk.glb")
    assert not list(tmp_path.iterdir())
