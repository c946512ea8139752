"""Dragging: the part arrives or says why not, the others follow the clip, pins and limits hold."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable import Status
from posable.compute.calls import described
from posable.edit.bounds import clip_boxes, make_bounds
from posable.edit.model import EXACT, GOAL

from .conftest import DIRECTIONS, PAPER, degrees_apart, excess

FRAMES = np.repeat([8, 24, 40, 56], 6)
DISPLACEMENTS = np.tile(0.3 * DIRECTIONS, (4, 1))


def test_a_drag_of_nothing_changes_no_bit(case):
    answer = case.editor.drag(frame=20, part="left_hand", displacement=(0.0, 0.0, 0.0))
    np.testing.assert_array_equal(answer.pose.rotations, case.motion[20].rotations)
    np.testing.assert_array_equal(answer.pose.translation, case.motion[20].translation)
    assert answer.status is Status.REACHED and answer.cause == "converged"


def test_a_dragged_hand_arrives_within_a_millimetre_or_says_so_and_feet_stay(case):
    answer = case.editor.drag(frame=FRAMES, part="left_hand", displacement=DISPLACEMENTS, **PAPER)
    target = case.positions_of("left_hand")[FRAMES] + DISPLACEMENTS
    position = case.body.skeleton.forward(answer.pose).positions[:, case.body.roles["left_hand"]]
    away = np.linalg.norm(position - target, axis=-1)
    assert (away[answer.ok] <= 1e-3).all() and answer.ok.mean() > 0.9
    assert (answer.status[away > 1e-3] != Status.REACHED).all()
    np.testing.assert_allclose(answer.position_error, away, atol=1e-9)
    assert answer.pose.is_finite()
    for contact in case.editor.contacts:
        down = np.isin(FRAMES, np.arange(contact.first, contact.last + 1))
        if not down.any():
            continue
        foot = case.body.roles[contact.part]
        before = case.body.skeleton.forward(case.motion.pose[FRAMES[down]]).positions[:, foot]
        after = case.body.skeleton.forward(answer.pose[np.flatnonzero(down)]).positions[:, foot]
        assert np.median(np.linalg.norm(after - before, axis=-1)) <= 5e-4


def test_small_and_large_steps_come_to_the_same_pose(case):
    small = case.editor.drag(frame=FRAMES, part="left_hand", displacement=DISPLACEMENTS, **PAPER, step=0.005)
    large = case.editor.drag(frame=FRAMES, part="left_hand", displacement=DISPLACEMENTS, **PAPER, step=0.02)
    apart = degrees_apart(small.pose, large.pose)[small.ok & large.ok]
    assert np.median(apart) <= 1.0 and np.median(apart.max(axis=1)) <= 1.0 and apart.max() <= 10.0


def test_out_and_back_returns_to_the_pose_it_began_in(case):
    out = case.editor.drag(frame=FRAMES, part="left_hand", displacement=DISPLACEMENTS, **PAPER)
    back = case.editor.drag(frame=FRAMES, part="left_hand", displacement=-DISPLACEMENTS, **PAPER, pose=out.pose)
    apart = degrees_apart(back.pose, case.motion.pose[FRAMES])
    assert np.median(apart.max(axis=1)) <= 2.0 and apart.max() <= 10.0


def test_without_limits_even_a_drag_with_no_memory_comes_back_wherever_it_is(whole):
    frames = np.repeat(np.arange(3, len(whole.motion) - 3, 14), 6)  # every 14th frame, from a rest to a leap
    displacements = np.tile(0.3 * DIRECTIONS, (len(frames) // 6, 1))
    out = whole.unlimited.drag(frame=frames, part="left_hand", displacement=displacements, **PAPER)
    unknown = ps.Pose(out.pose.translation, out.pose.rotations)
    back = whole.unlimited.drag(frame=frames, part="left_hand", displacement=-displacements, **PAPER, pose=unknown)
    apart = degrees_apart(back.pose, whole.motion.pose[frames])
    assert np.median(apart.max(axis=1)) <= 2.0 and apart.max() <= 10.0
    large = whole.unlimited.drag(frame=frames, part="left_hand", displacement=displacements, **PAPER, step=0.02)
    assert degrees_apart(large.pose, out.pose).max() <= 10.0


def test_with_limits_most_drags_with_no_memory_come_back_too(whole):
    frames = np.repeat(np.arange(3, len(whole.motion) - 3, 20), 6)
    displacements = np.tile(0.3 * DIRECTIONS, (len(frames) // 6, 1))
    out = whole.editor.drag(frame=frames, part="left_hand", displacement=displacements, **PAPER)
    unknown = ps.Pose(out.pose.translation, out.pose.rotations)
    back = whole.editor.drag(frame=frames, part="left_hand", displacement=-displacements, **PAPER, pose=unknown)
    apart = degrees_apart(back.pose, whole.motion.pose[frames])[out.ok & back.ok].max(axis=1)
    assert np.median(apart) <= 2.0 and np.percentile(apart, 90) <= 10.0


def test_the_length_of_steps_is_free_however_small(pitch):
    request = {"frame": 30, "part": "left_hand", "displacement": (0.0, 0.02, 0.01)}
    tiny, usual = (pitch.unlimited.drag(step=step, **request, **PAPER) for step in (1e-4, 0.01))
    assert tiny.ok and tiny.steps > 200 and degrees_apart(tiny.pose, usual.pose).max() < 0.05


def test_the_clips_range_is_never_left(case):
    answer = case.editor.drag(frame=FRAMES, part="left_hand", displacement=2.0 * DISPLACEMENTS, **PAPER)
    for box in clip_boxes(case.clip):
        vectors = pm.log(pm.multiply(pm.conjugate(box["reference"]), answer.pose.rotations[:, box["joint"]]))
        assert (vectors >= box["low"] - 1e-6).all() and (vectors <= box["high"] + 1e-6).all()


def test_the_bodys_limits_are_never_left_further_than_at_the_start(pitch):
    editor = ps.MotionEditor(pitch.motion, pitch.body, limits="body", weights="clip")
    answer = editor.drag(frame=FRAMES, part="left_hand", displacement=2.0 * DISPLACEMENTS)
    start, end = (excess(pitch.body, pitch.body.limits, p) for p in (pitch.motion.pose[FRAMES], answer.pose))
    assert (end <= start + 1e-6).all()


def test_what_cannot_be_reached_has_that_status_and_is_nearly_reached(pitch):
    far = pitch.editor.drag(frame=30, part="left_hand", displacement=(3.0, 0.0, 0.0), pins=["left_foot", "right_foot"])
    assert far.status in (Status.UNREACHABLE, Status.LIMITS) and far.cause in ("stalled", "limited")
    assert 0.2 < far.done < 1.0 and far.slid <= 5e-4 and far.position_error < 3.0


def test_pins_hold_any_part_and_the_dragged_part_cannot_be_one(pitch):
    pins = ("right_hand", "left_lower_leg", "head")
    answer = pitch.editor.drag(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.1), pins=pins)
    before, after = (pitch.body.skeleton.forward(p) for p in (pitch.motion[30], answer.pose))
    for pin in pins:
        joint = pitch.body.roles[pin]
        assert np.linalg.norm(after.positions[joint] - before.positions[joint]) <= 5e-4
    with pytest.raises(ps.PosableError, match="both dragged and pinned"):
        pitch.editor.drag(frame=30, part="head", displacement=(0.0, 0.1, 0.1), pins=["head"])


@pytest.mark.parametrize("part", ["hips", "chest", "left_lower_arm", "right_toes", "head", "right_upper_leg"])
def test_any_part_can_be_dragged(pitch, part):
    answer = pitch.editor.drag(frame=30, part=part, displacement=(0.03, 0.03, 0.02), contacts=False)
    joint = pitch.body.roles[part]
    moved = pitch.body.skeleton.forward(answer.pose).positions[joint]
    aim = pitch.body.skeleton.forward(pitch.motion[30]).positions[joint] + (0.03, 0.03, 0.02)
    assert answer.ok and np.linalg.norm(moved - aim) < 1e-3


def test_a_part_can_be_rotated_as_well(pitch):
    joint = pitch.body.roles["left_hand"]
    rotated = pm.multiply(
        pm.axis_angle([0.0, 1.0, 0.0], 0.5), pitch.body.skeleton.forward(pitch.motion[30]).orientations[joint]
    )
    editor = pitch.unlimited
    answer = editor.drag(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.0), orientation=rotated, contacts=False)
    found = pitch.body.skeleton.forward(answer.pose).orientations[joint]
    assert answer.ok and pm.angle(found, rotated) < 5e-3
    alone = editor.drag(frame=30, part="left_hand", orientation=rotated, contacts=False)
    assert alone.ok and alone.position_error < 1e-3


def test_all_parts_of_the_body_answer_a_drag(pitch):
    answer = pitch.unlimited.drag(frame=40, part="left_hand", displacement=(0.0, 0.2, 0.1), contacts=False, **PAPER)
    before, after = (pitch.body.skeleton.forward(p).positions for p in (pitch.motion[40], answer.pose))
    for part in ("right_hand", "head", "hips"):
        joint = pitch.body.roles[part]
        assert np.linalg.norm(after[joint] - before[joint]) > 2e-3


def test_a_foot_dragged_forward_and_up_from_a_run_makes_a_jump_of_it(wholes):
    case, frame = wholes["09_01"], 61  # Komura et al. 2004, Figure 8
    body, positions = case.body, case.positions_of("hips")
    ahead = (positions[frame + 5] - positions[frame - 5]) * [1.0, 0.0, 1.0]
    displacement = 0.45 * ahead / np.linalg.norm(ahead) + [0.0, 0.6, 0.0]
    plain = ps.MotionEditor(case.motion, body, limits=None, weights="identity")
    request = {"frame": frame, "part": "right_foot", "displacement": displacement, "contacts": False}
    ours = case.bodily.drag(softness=(0.1, 0.3), **request, **PAPER)
    theirs = plain.drag(softness=(1e4, 1e4), **request, **PAPER)
    before, jump, statue = (body.skeleton.forward(p).positions for p in (case.motion[frame], ours.pose, theirs.pose))
    parts = ("hips", "head", "left_hand", "right_hand", "left_foot", "right_foot")
    rise = {part: (jump - before)[body.roles[part], 1] for part in parts}
    assert ours.ok and all(up > 0.05 for up in rise.values()), "the whole body rises"
    assert min(rise["left_foot"], rise["left_hand"], rise["right_hand"]) > 0.25, "both feet leave, arms are thrown up"

    def bent(pose):
        return degrees_apart(pose, case.motion[frame])

    assert (bent(ours.pose) > 15.0).sum() >= 2 * (bent(theirs.pose) > 15.0).sum(), "a statue only floats"
    assert statue[body.roles["hips"], 1] > before[body.roles["hips"], 1] + 0.2


def edited_error(case, pose, truth, start):
    """How far joints are from where the clip has them, as a fraction of how far they went."""
    joints = np.unique(case.body.skeleton.dofs.joint[case.clip.parts.dofs])
    missing = np.radians(degrees_apart(pose, truth))[:, joints]
    return np.linalg.norm(missing, axis=1) / np.linalg.norm(np.radians(degrees_apart(start, truth))[:, joints], axis=1)


def test_a_hand_dragged_along_its_way_takes_the_body_along_its_own(whole):
    case, smooth = whole, whole.smooth
    hand, editor = case.positions_of("left_hand", smooth), ps.MotionEditor(smooth, case.body, limits=None, contacts=())
    editor.logs = case.editor.logs
    plain = ps.MotionEditor(smooth, case.body, limits=None, contacts=(), weights="identity")
    frames = np.arange(4, len(smooth) - 13, 3)  # all over the clip, also where the hand rests or turns round
    one = {"displacement": hand[frames + 1] - hand[frames]}  # the default mode, whose settings K8 asks for
    start, truth = smooth.pose[frames], smooth.pose[frames + 1]
    ours = np.median(edited_error(case, editor.drag(frame=frames, part="left_hand", **one).pose, truth, start))
    theirs = np.median(edited_error(case, plain.drag(frame=frames, part="left_hand", **one).pose, truth, start))
    assert ours <= 0.4 and ours <= 0.6 * theirs
    pose = None
    for ahead in range(1, 13):  # 0.2 s of the hand's recorded path
        going_on = {} if pose is None else {"pose": pose}
        answer = editor.drag(frame=frames, part="left_hand", target=hand[frames + ahead], **going_on)
        pose = answer.pose
    assert np.median(edited_error(case, pose, smooth.pose[frames + 12], start)) <= 0.35
    assert np.median(np.abs(answer.frame - frames - 12)) < 0.27  # what `specs/edit.md`, section 7, measures


def test_batches_are_single_drags_bit_for_bit(pitch):
    frames, displacements = np.array([10, 20, 30]), 0.1 * DIRECTIONS[:3]
    many = pitch.editor.drag(frame=frames, part="right_hand", displacement=displacements)
    for k in range(3):
        one = pitch.editor.drag(frame=int(frames[k]), part="right_hand", displacement=displacements[k])
        np.testing.assert_array_equal(one.pose.rotations, many.pose.rotations[k])
        assert isinstance(one.status, Status) and one.status == many.status[k]
    grid = pitch.editor.drag(frame=frames[:, None], part="right_hand", displacement=displacements[:2])
    assert grid.pose.shape == (3, 2) and grid.status.shape == (3, 2)


def test_a_bad_row_is_invalid_keeps_its_pose_and_leaves_the_others_alone(pitch):
    displacements = np.array([[0.1, 0.0, 0.0], [np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]])
    answer = pitch.editor.drag(frame=10, part="left_hand", displacement=displacements)
    assert answer.status.tolist() == [Status.REACHED, Status.INVALID, Status.INVALID]
    assert answer.cause.tolist() == ["converged", "invalid", "invalid"]
    np.testing.assert_array_equal(answer.pose.rotations[1], pitch.motion[10].rotations)
    rotated = pitch.editor.drag(frame=10, part="left_hand", orientation=np.zeros(4))
    assert rotated.status is Status.INVALID


def test_weights_times_a_number_give_the_same_pose(pitch):
    editor = ps.MotionEditor(pitch.motion, pitch.body, limits="clip")
    editor.logs = np.where(pitch.editor.logs < -100.0, pitch.editor.logs, pitch.editor.logs + 3.0)
    one = pitch.editor.drag(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.1))
    other = editor.drag(frame=30, part="left_hand", displacement=(0.0, 0.1, 0.1))
    np.testing.assert_allclose(one.pose.rotations, other.pose.rotations, atol=1e-9)


@pytest.mark.parametrize(("name", "part"), [("left_arm", "left_hand"), ("right_leg", "right_foot")])
def test_a_learned_range_of_a_limb_is_never_left(whole, name, part):
    limb = whole.body.limb(name, limits=None)
    known = ps.LimbRange.builtin(name)  # for other bones than these: ranges are counted in limb lengths
    editor = ps.MotionEditor(whole.motion, whole.body, limits=known, weights="identity")
    frames = np.repeat(np.arange(3, len(whole.motion) - 3, 20), 6)
    displacements = np.tile(0.6 * DIRECTIONS, (len(frames) // 6, 1))
    answer = editor.drag(frame=frames, part=part, displacement=displacements, contacts=False, **PAPER)
    began, ended, fitting = limb.read(whole.motion.pose[frames]), limb.read(answer.pose), known.for_limb(limb)
    inside = fitting.contains(began.position, began.swivel)
    assert inside.mean() > 0.9 and fitting.contains(ended.position, ended.swivel)[inside].all()
    position = whole.body.skeleton.forward(answer.pose).positions[:, whole.body.roles[part]]
    away = np.linalg.norm(position - (whole.positions_of(part)[frames] + displacements), axis=-1)
    assert (answer.status[away > 1e-3] != Status.REACHED).all() and answer.ok.mean() > 0.5


def test_one_pull_is_the_weighted_damped_step_of_the_formula(pitch):
    """The kernel against plain NumPy: dtheta = V J^T (J V J^T + Lambda)^-1 r."""
    dragger, body, frame = pitch.unlimited.dragger, pitch.body, 25
    pose = pitch.motion.pose[[frame]]
    frames = body.skeleton.forward(pose)
    joints = [body.roles["left_hand"], body.roles["head"]]
    goals = np.zeros((1, 2), GOAL)
    goals["joint"], goals["position_softness"], goals["orientation_softness"] = joints, [EXACT, 0.3], [-1.0, 0.5]
    target = frames.positions[:, joints] + 0.01
    goals["position"], goals["orientation"] = target, frames.orientations[:, joints]
    found = dragger.pulled(pose, goals, dragger.logs[[frame]], 1)[0]
    dofs = dragger.clip.parts.dofs
    v = np.where(dragger.logs[frame] < -100.0, 0.0, np.exp(np.maximum(dragger.logs[frame], -100.0)))
    v /= v[v > 0].mean()
    hand, head = (body.skeleton.jacobian(pose, j)[0][:, dofs] for j in joints)
    jacobian = np.vstack([hand[:3], head])
    errors = np.concatenate([np.full(3, 0.01), np.full(3, 0.01), np.zeros(3)])
    damping = np.diag(np.repeat([EXACT, 0.3, 0.5], 3) ** 2)
    steps = np.zeros((1, len(body.skeleton.dofs)))
    steps[0, dofs] = v * (jacobian.T @ np.linalg.solve((jacobian * v) @ jacobian.T + damping, errors))
    steps *= min(1.0, 0.15 / np.abs(steps).max())
    expected = body.skeleton.integrate(pose, steps)
    np.testing.assert_allclose(found.rotations, expected.rotations, atol=1e-10)
    np.testing.assert_allclose(found.translation, expected.translation, atol=1e-10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"frame": 1000}, "frames 0 to"),
        ({"frame": 1.5}, "whole numbers"),
        ({"part": "left_hnad"}, "left_hand"),
        ({"displacement": (1.0, 2.0)}, "expected"),
        ({"displacement": None}, "displacement or a target"),
        ({"target": (0.0, 0.0, 0.0)}, "not both"),
        ({"mode": "freeze"}, "frozen"),
        ({"scope": "arm"}, "limb"),
        ({"step": 0.0}, "step is 0.0"),
        ({"max_ratio": -1.0}, "max_ratio is"),
    ],
)
def test_wrong_questions_name_what_would_have_been_right(pitch, wrong, message):
    arguments = {"frame": 10, "part": "left_hand", "displacement": (0.1, 0.0, 0.0), **wrong}
    with pytest.raises(ps.PosableError, match=message):
        pitch.editor.drag(**arguments)


def test_wrong_limits_are_refused_at_once(pitch):
    with pytest.raises(ps.PosableError, match="clip"):
        ps.MotionEditor(pitch.motion, pitch.body, limits="clp")


def test_other_limits_do_not_have_kernels_compiled_again(pitch):
    free, bodily = (make_bounds(pitch.clip, limits) for limits in (None, "body"))
    for one, other in (
        (free.packed.limits, bodily.packed.limits),
        (free.packed.curves, bodily.packed.curves),
        (free.boxes, bodily.boxes),
    ):
        assert described([one]) == described([other])


@pytest.mark.soak
def test_drags_of_all_parts_in_all_directions_stay_finite_and_honest(case, drawn):
    rng = np.random.default_rng(0)
    parts = (*ps.edit.EFFECTORS, "hips", "left_lower_arm")
    count = drawn(4000, each=len(parts))
    for part in parts:
        frames = rng.integers(0, len(case.motion), count)
        displacements = rng.normal(size=(count, 3)) * rng.uniform(0.01, 0.5, (count, 1))
        answer = case.editor.drag(frame=frames, part=part, displacement=displacements)
        position = case.body.skeleton.forward(answer.pose).positions[:, case.body.roles[part]]
        away = np.linalg.norm(position - case.positions_of(part)[frames] - displacements, axis=-1)
        assert answer.pose.is_finite() and (answer.slid <= 5e-4).all()
        assert (away[answer.ok] <= 1e-3).all() and (answer.status[away > 1.001e-3] != Status.REACHED).all()
