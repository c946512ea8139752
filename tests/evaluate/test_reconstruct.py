"""The comparison of methods that reconstruct bodies from six points."""

import json
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.evaluate import evaluate_clip, evaluate_reconstruct, find_method, method_names
from posable.evaluate.measures import local_rotations, orientation_errors, smpl_joints
from posable.evaluate.reconstruct import CLIPS, PAPER, _timed_track

SMPL = (
    "hips spine chest upper_chest neck head "
    + " ".join(
        f"{side}_{part}"
        for side in ("left", "right")
        for part in ("upper_leg", "lower_leg", "foot", "toes", "shoulder", "upper_arm", "lower_arm", "hand")
    )
).split()


class Copycat:
    """A method that somebody else wrote: Sequential IK under another name."""

    def __init__(self, body):
        self.inner = ps.SequentialIK(body, prior=None, elbows_out=False, limit_rates=False)

    def track(self, points, fps=60.0):
        return self.inner.track(points, fps=fps)


@pytest.fixture(scope="module")
def walk():
    return ps.samples.walk(ps.figure())[:40]


def test_a_clip_is_told_in_plain_values(walk):
    found = evaluate_clip(walk, ["sik"], name="walk", per_frame=True)
    again = json.loads(json.dumps(found))
    assert again == found
    told = found["methods"]["sik"]
    assert found["clip"] == "walk" and found["frames"] == 40 and found["weights"] == [1.0, 1.0, 0.0]
    assert len(told["position_joints"]) == len(found["joints"]) and len(told["position_frames"]) == 40
    assert told["finite"] and told["milliseconds"] > 0.0
    # The same from the answer alone, without the measures: all joints that count, in parts of the height.
    body = ps.Humanoid(walk.skeleton)
    answer = find_method("sik")(body, (1.0, 1.0, 0.0)).track(body.markers(walk.pose), fps=walk.fps)
    assert told["reached"] == np.mean(answer.status == 0)
    at = [body.index(name) if name in body.roles else 0 for name in found["joints"]]
    at = [walk.skeleton.index(name) if name in walk.skeleton.names else j for name, j in zip(found["joints"], at)]
    moved = answer.motion.skeleton.forward(answer.motion.pose).positions - walk.skeleton.forward(walk.pose).positions
    away = np.linalg.norm(moved[:, at], axis=-1) / body.joint_height
    np.testing.assert_allclose(told["position_frames"], away.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(told["position_joints"], away.mean(axis=0), rtol=1e-9)
    assert (
        told["position"] == pytest.approx(np.sqrt(np.mean(away.mean(axis=1) ** 2)), rel=1e-9) and told["position"] > 0.0
    )


def test_measures_of_headsets_are_recomputed_from_the_motion(walk):
    trackers, oriented = ("head", "left_hand", "right_hand"), ("head", "right_hand")
    found = evaluate_clip(walk, ["sik_prior"], markers=trackers, orientations=oriented)
    told, body = found["methods"]["sik_prior"], ps.Humanoid(walk.skeleton)
    assert (found["markers"], found["orientations"]) == ([*trackers], [*oriented])
    one = walk.skeleton.forward(walk.pose)
    turns = {role: body.canonical_orientation(one, body.index(role)) for role in oriented}
    tracked = [body.index(role) for role in trackers]
    solver = ps.SequentialIK(body, (1, 1, 0), markers=trackers)
    answer = solver.track(one.positions[:, tracked], fps=walk.fps, orientations=turns)
    other = walk.skeleton.forward(answer.motion.pose)
    joints = [body.index(role) for role in SMPL]
    away = [[math.dist(a, b) for a, b in zip(p[joints], q[joints])] for p, q in zip(one.positions, other.positions)]
    assert told["mpjpe"] == pytest.approx(np.mean(away), rel=1e-9) and told["mpjpe"] > 0.01
    ends = [[math.dist(a, b) for a, b in zip(p[tracked], q[tracked])] for p, q in zip(one.positions, other.positions)]
    assert told["end_points"] == pytest.approx(np.mean(ends), abs=1e-12)
    assert told["end_points_worst"] == pytest.approx(np.max(ends), abs=1e-12)
    for frames, jerk in ((one, found["jerk"]), (other, told["jerk"])):
        p = frames.positions[:, joints]
        third = (p[3:] - 3.0 * p[2:-1] + 3.0 * p[1:-2] - p[:-3]) * walk.fps**3
        assert jerk == pytest.approx(np.linalg.norm(third, axis=-1).mean(), rel=1e-6)
    # The knee's rotation against the thigh's, by scipy.
    knee, thigh = body.index("left_lower_leg"), body.index("left_upper_leg")
    bends = [
        Rotation.from_quat(f.orientations[:, thigh], scalar_first=True).inv()
        * Rotation.from_quat(f.orientations[:, knee], scalar_first=True)
        for f in (one, other)
    ]
    scored = smpl_joints(body)
    assert sorted(scored.names) == sorted(SMPL)
    errors = orientation_errors(local_rotations(one, scored), local_rotations(other, scored))
    expected = (bends[0].inv() * bends[1]).magnitude()
    np.testing.assert_allclose(errors[:, scored.names.index("left_lower_leg")], expected, atol=1e-7)
    assert told["mpjre"] == pytest.approx(errors.mean(), rel=1e-9)


def test_only_methods_that_take_other_trackers_get_them(walk):
    three = ("head", "left_hand", "right_hand")
    for refused in ("ccd", f"{__name__}:Copycat"):
        with pytest.raises(ps.PosableError, match=refused):
            find_method(refused, three)
        with pytest.raises(ps.PosableError, match=refused):
            find_method(refused, orientations=("head",))
    ours = [evaluate_clip(walk, ["sik"], name=name, orientations=("head",)) for name in CLIPS]
    assert ps.evaluate.Evaluation(tuple(ours)).paper("sik") is None, "the paper had positions alone"


def test_a_method_of_ones_own_is_named_by_its_import_path(walk):
    mine = f"{__name__}:Copycat"
    found = evaluate_clip(walk, ["sik", mine])["methods"]
    assert found[mine]["position"] == found["sik"]["position"]


@pytest.mark.parametrize("clip", CLIPS)
def test_sequential_ik_measures_as_the_specification_says(clip, cmu):
    found = evaluate_clip(cmu / f"{clip}.bvh", ["sik"])
    assert found["frames"] == {"17_10": 2783, "90_05": 513, "01_03": 4510}[clip]
    measured = {"17_10": (0.0265, 0.2469), "90_05": (0.0207, 0.2997), "01_03": (0.0237, 0.3254)}[clip]
    assert found["methods"]["sik"]["position"] == pytest.approx(measured[0], abs=0.0004)
    assert found["methods"]["sik"]["orientation"] == pytest.approx(measured[1], abs=0.004)


def test_the_papers_numbers_stand_beside_its_clips_alone(walk):
    names = list(CLIPS)
    ours = [evaluate_clip(walk, ["sik"], name=name) for name in names]
    whole = ps.evaluate.Evaluation(tuple(ours))
    assert whole.paper("sik") == pytest.approx(0.0246, abs=5e-5)
    assert whole.paper("pik") == pytest.approx(0.0257, abs=5e-5)  # erratum 17
    assert ps.evaluate.Evaluation(tuple(ours[:2])).paper("sik") is None
    assert "0.0246" in whole.table() and "sik" in whole.table()
    assert json.loads(whole.json())["clips"][0]["clip"] == names[0]


def test_the_papers_averages_are_those_it_prints():
    printed = {"kma": 0.0277, "ccd": 0.0294, "pseudoinverse": 0.0279, "dls": 0.0291, "dls_svd": 0.0292, "sdls": 0.0268}
    for method, value in printed.items():
        assert np.mean(PAPER["position"][method]) == pytest.approx(value, abs=6e-5)
    for method, value in {"kma": 1.09, "ccd": 0.89, "pik": 32.17, "sik": 0.44}.items():
        assert np.mean(PAPER["milliseconds"][method]) == pytest.approx(value, abs=6e-3)


def test_weights_are_the_papers_or_one_setting_for_all(walk):
    assert evaluate_clip(walk, ["sik"], name="01_03")["weights"] == [0.1, 0.1, 1.0]
    assert evaluate_clip(walk, ["sik"], name="01_03", weights=(1, 1, 0))["weights"] == [1.0, 1.0, 0.0]
    for wrong in ("best", (1, 1)):
        with pytest.raises(ps.PosableError, match="weights"):
            evaluate_clip(walk, ["sik"], weights=wrong)


def test_wrong_names_say_what_would_have_been_right(walk):
    with pytest.raises(ps.UnknownNameError, match="sik"):
        find_method("sick")
    for wrong in ("no.such.module:Thing", f"{__name__}:Nobody", f"{__name__}:CLIPS"):
        with pytest.raises(ps.PosableError, match="method"):
            find_method(wrong)
    with pytest.raises(ps.PosableError, match="no clips"):
        evaluate_reconstruct([])
    assert "sik" in method_names()


def test_an_empty_clip_is_no_error(walk):
    found = evaluate_clip(walk[:0], ["sik"])
    assert found["methods"]["sik"]["position"] == 0.0


def test_times_are_medians_without_what_is_compiled(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("posable.evaluate.reconstruct.time.perf_counter", lambda: clock[0])
    calls = []

    class Compiled:
        """Takes 100 s when it is first called, a minute now and then, and otherwise 2 ms a frame."""

        def track(self, points, fps):
            calls.append(len(points))
            clock[0] += 100.0 if len(calls) == 1 else 60.0 if len(calls) % 5 == 0 else 0.002 * len(points)
            return "the answer"

    answer, milliseconds = _timed_track(Compiled(), np.zeros((400, 6, 3)), 60.0)
    assert answer == "the answer" and calls[0] == 400 and len(calls) > 10
    assert milliseconds == pytest.approx(2.0)
    calls.clear()
    assert _timed_track(Compiled(), np.zeros((3, 6, 3)), 60.0)[1] == pytest.approx(2.0), "fewer frames than a block"
