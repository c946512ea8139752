"""Retargeting: another body does the motion, its feet and hands where they belong."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.body.collision.clearance import clearance

from .conftest import excess, stiffer

HIPS = ("hips", "left_upper_leg")


def longer(motion, legs, arms):
    """The same rig with other proportions."""
    skeleton = motion.skeleton
    offsets = skeleton.offsets.copy()
    for side in ("Left", "Right"):
        for names, factor in ((("Leg", "Foot"), legs), (("ForeArm", "Hand", "FingerBase"), arms)):
            for name in names:
                offsets[skeleton.index(side + name)] *= factor
    return ps.Humanoid(skeleton.replace(offsets=offsets))


def test_the_same_body_keeps_its_motion(pitch):
    solution = ps.retarget(pitch.motion, pitch.body, pitch.body)
    before, after = (pitch.body.skeleton.forward(m.pose).positions for m in (pitch.motion, solution.motion))
    assert solution.ok.all() and solution.ratio == 1.0 and solution.dropped == solution.added == ()
    assert np.linalg.norm(after - before, axis=-1).max() < 1e-3


def test_shorter_legs_and_longer_arms_reach_their_scaled_positions(case):
    body = longer(case.motion, 0.85, 1.15)
    solution = ps.retarget(case.motion, case.body, body)
    assert np.percentile(solution.part_errors, 95) <= 1e-3
    then, now = (b.skeleton.forward(m.pose).positions for b, m in ((case.body, case.motion), (body, solution.motion)))
    for contact in solution.contacts:
        if contact.part.endswith("_toes") and contact.last > contact.first:
            joint = body.roles[contact.part]
            heel = [c for c in solution.contacts if c.part == contact.part.replace("toes", "foot")]
            alone = [k for k in range(contact.first, contact.last + 1) if not any(c.first <= k <= c.last for c in heel)]
            moved = (now[:, joint] - solution.ratio * then[:, joint])[:, [0, 2]]
            assert not alone or np.ptp(moved[alone], axis=0).max() <= 3e-3, contact
    ratio = body.limb("left_arm").length / case.body.limb("left_arm").length
    assert ratio == pytest.approx(1.15, rel=1e-2)


def test_another_rig_does_the_motion_by_roles_and_says_what_it_lacks(case):
    figure = ps.figure(1.6)
    solution = ps.retarget(case.motion, case.body, figure)
    assert len(solution.motion) == len(case.motion) and solution.motion.skeleton is figure.skeleton
    assert solution.motion.pose.is_finite() and np.median(solution.part_errors) <= 1e-3
    assert solution.slid.max() <= 5e-3
    assert set(solution.dropped) - {"LThumb", "RThumb"} == set(case.body.roles) - set(figure.roles)
    assert "frames" in str(solution)


CHARACTERS = ["CesiumMan.glb", "RiggedFigure.glb", "KayKit_Knight.glb", "makehuman/default.mhskel"]


def foot_skin(body, motion, side):
    """(F, V, 3) [m]: the vertices of a foot, by linear blend skinning with matrices; none where there is no skin."""
    frames, foot = body.skeleton.forward(motion.pose), body.roles[f"{side}_foot"]
    below = [j for j in range(len(body.skeleton)) if foot in body.skeleton.path(j)]
    world = Rotation.from_quat(np.roll(frames.orientations.reshape(-1, 4), -1, axis=1)).as_matrix()
    world = world.reshape(*frames.orientations.shape[:2], 3, 3)
    found = [np.zeros((len(motion), 0, 3))]
    for mesh in body.skeleton.character.meshes:
        main = mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)]
        own = np.flatnonzero(np.isin(main, below))
        if not len(own):
            continue
        bind = Rotation.from_quat(np.roll(mesh.bind_orientations, -1, axis=1)).as_matrix()
        turned = world @ bind.transpose(0, 2, 1)
        shift = frames.positions - np.einsum("fjab,jb->fja", turned, mesh.bind_positions)
        placed = np.zeros((len(motion), len(own), 3))
        for k in range(mesh.joints.shape[1]):
            joint, weight = mesh.joints[own, k], mesh.weights[own, k]
            placed += weight[:, None] * (
                np.einsum("fvab,vb->fva", turned[:, joint], mesh.vertices[own]) + shift[:, joint]
            )
        found.append(placed)
    return np.concatenate(found, axis=1)


def lowest_skin(body, motion, side):
    """(F,) [m]: height of the lowest vertex of a foot."""
    return foot_skin(body, motion, side)[..., 1].min(axis=1)


def slides(points, rows):
    """[m]: how far a foot slides at least in one go: the step of that of its points (F, V, 3) on the floor which moves
    the least, summed up over frames in a row in which it stands.
    """
    steps = np.linalg.norm(np.diff(points[..., [0, 2]], axis=0), axis=-1)
    high = points[..., 1] > points[..., 1].min(axis=1, keepdims=True) + 0.02
    least = np.where(high[1:] | high[:-1], np.inf, steps).min(axis=1)
    far = furthest = 0.0
    for step, stays in zip(least, rows[1:] & rows[:-1]):
        far = far + step if stays else 0.0
        furthest = max(furthest, far)
    return furthest


def standing(solution, side):
    rows = np.zeros(len(solution.motion), bool)
    for contact in solution.contacts:
        if contact.on == "ground" and contact.part.startswith(side):
            rows[contact.first : contact.last + 1] = True
    return rows


@pytest.mark.parametrize("name", ["KayKit_Knight.glb", "VRMC_materials_mtoon_UV_Animation_Test.vrm"])
@pytest.mark.parametrize("part", [slice(60), slice(60, 130)])
def test_feet_stay_on_the_floor_on_rigs_whose_hips_lie_below_the_legs(name, part, data_dir):
    """Judged by the skin of one; the other has none on its feet, whose joints are as high as those of the source."""
    body = ps.figure()
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    hips, leg = (character.skeleton.forward(character.neutral_pose).positions[character.roles[r], 1] for r in HIPS)
    assert hips < leg
    motion = ps.samples.walk(body)[part]
    solution = ps.retarget(motion, body, character)
    assert solution.ok.all()
    then, now = (b.skeleton.forward(m.pose).positions for b, m in ((body, motion), (character, solution.motion)))
    for side in ("left", "right"):
        skin, rows = foot_skin(character, solution.motion, side), standing(solution, side)
        assert rows.sum() > 30
        if skin.shape[1]:
            heights = skin[..., 1].min(axis=1)
            assert abs(heights[rows]).max() < 2e-3 and heights[~rows].min() > -1e-3
            assert slides(skin, rows) < 0.015
        else:
            joints = [character.roles[f"{side}_{name}"] for name in ("foot", "toes")]
            heel = np.zeros(len(motion), bool)
            for contact in solution.contacts:
                heel[contact.first : contact.last + 1] |= contact.part == f"{side}_foot"
            higher = now[heel, joints[0], 1] - solution.ratio * then[heel, body.roles[f"{side}_foot"], 1]
            assert heel.sum() > 20 and abs(higher).max() < 4e-3
            assert slides(now[:, joints] * [1.0, 0.0, 1.0], rows) < 0.006


@pytest.mark.parametrize("name", CHARACTERS)
@pytest.mark.parametrize("sample", ["walk", "dance"])
def test_the_skin_of_standing_feet_is_on_the_floor(name, sample, data_dir):
    body = ps.figure()
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    solution = ps.retarget(getattr(ps.samples, sample)(body)[:70], body, character, keep_out=False)
    for side in ("left", "right"):
        heights, rows = lowest_skin(character, solution.motion, side), standing(solution, side)
        assert rows.sum() > 20
        assert heights[rows].min() > -0.006 and heights[rows].max() < 0.012 and abs(np.median(heights[rows])) < 0.002
        assert heights[solution.ok].min(initial=0.0) > -0.0051
        assert heights[~rows].min(initial=0.0) > -0.003, "a foot that swings scrapes the floor at most"
        np.testing.assert_array_less(-heights - 1e-6, solution.sunk)


def usual(source, motion, character, ratio):
    """The largest acceleration of a joint [m/s2] of the source, and of the same posture on the character.

    A joint at the end of a longer foot or arm is faster.
    """
    posture = character.skeleton.forward(character.pose(source.canonical(motion.pose))).positions
    captured = source.skeleton.forward(motion.pose).positions
    middles = [
        positions[:, [body.roles[f"{side}_upper_leg"] for side in ("left", "right")]].mean(axis=1, keepdims=True)
        for body, positions in ((character, posture), (source, captured))
    ]
    placed = posture - middles[0] + ratio * middles[1]
    there = np.linalg.norm(np.diff(placed, 2, axis=0), axis=-1).max() * motion.fps**2
    return max(there, ratio * accelerations(source, motion).max())


CAPTURED = [
    ("CesiumMan.glb", "02_01", 2),
    ("KayKit_Knight.glb", "02_01", 2),
    ("KayKit_Knight.glb", "09_01", 2),
    ("RiggedFigure.glb", "49_06", 4),
    ("CesiumMan.glb", "16_35", 2),
]


@pytest.mark.parametrize(("name", "clip", "every"), CAPTURED)
def test_captured_feet_neither_sink_nor_hover_and_nothing_leaps(name, clip, every, cmu, data_dir):
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)[::every]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    solution = ps.retarget(motion, source, character)
    assert solution.ok.mean() > 0.95
    for side in ("left", "right"):
        heights, rows = lowest_skin(character, solution.motion, side), standing(solution, side)
        assert heights.min() > -0.003, "standing or swinging"
        assert heights[rows].max() < 0.006
    assert accelerations(character, solution.motion).max() < 1.5 * usual(source, motion, character, solution.ratio)
    trunk = [[body.roles[role] for role in ("hips", "spine", "chest", "head")] for body in (source, character)]
    slow = solution.ratio * accelerations(source, motion)[:, trunk[0]].max()
    size = character.joint_height / source.joint_height / solution.ratio
    assert accelerations(character, solution.motion)[:, trunk[1]].max() < 3.0 * size * slow


def test_where_goals_would_make_joints_jump_they_are_given_up_and_the_status_says_so(cmu, data_dir):
    motion = ps.load(cmu / "111_07.bvh", repair="cmu", first_frame=1)[::8]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / "RiggedFigure.glb").skeleton)
    solution = ps.retarget(motion, source, character, keep_out=False)
    calm = 1.5 * usual(source, motion, character, solution.ratio)
    assert accelerations(character, solution.motion).max() < calm
    missed = solution.part_errors.max(axis=1) > 1e-3
    assert missed.any() and not solution.ok[missed].any()
    frames, old = character.skeleton.forward(solution.motion.pose), source.skeleton.forward(motion.pose)
    hand, shoulder = "left_hand", "left_upper_arm"
    ratio = character.limb("left_arm").length / source.limb("left_arm").length
    was = old.positions[:, source.roles[hand]] - old.positions[:, source.roles[shoulder]]
    now = frames.positions[:, character.roles[hand]] - frames.positions[:, character.roles[shoulder]]
    assert np.median(np.linalg.norm(now - ratio * was, axis=-1)) < 0.05


@pytest.mark.parametrize("name", ["CesiumMan.glb", "makehuman/default.mhskel"])
def test_a_hand_that_rests_on_the_body_gets_there_without_a_jump(name, cmu, data_dir):
    """On hip and thigh at once, and on a body of other proportions."""
    motion = ps.load(cmu / "13_01.bvh", repair="cmu", first_frame=1)[1360:2080:8]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    solution = ps.retarget(motion, source, character, keep_out=False)
    assert {contact.on for contact in solution.contacts} >= {"ground", "hips", "right_upper_leg"}
    hand = solution.parts.index("right_hand")
    assert solution.part_errors[:, hand].max() < 0.015
    assert accelerations(character, solution.motion).max() < 1.5 * usual(source, motion, character, solution.ratio)


def test_toes_that_a_capture_shakes_do_not_shake_the_legs(cmu, data_dir):
    motion = ps.load(cmu / "03_01.bvh", repair="cmu", first_frame=1)[::4]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / "CesiumMan.glb").skeleton)
    solution = ps.retarget(motion, source, character, keep_out=False)
    feet = [[body.roles[f"{side}_foot"] for side in ("left", "right")] for body in (source, character)]
    for k, side in enumerate(("left", "right")):
        rows = standing(solution, side)[1:-1]
        was, now = accelerations(source, motion)[rows, feet[0][k]], accelerations(character, solution.motion)
        assert now[rows, feet[1][k]].max() < 2.0 * solution.ratio * was.max()
    toes = [character.roles[f"{side}_toes"] for side in ("left", "right")]
    begun = character.pose(source.canonical(motion.pose))
    before, after = (excess(character, character.limits, pose) for pose in (begun, solution.motion.pose))
    assert len(toes) == 2 and (after <= before + 1e-6).all()


def test_the_feet_of_a_stocky_character_are_as_far_apart_as_its_hips(cmu, data_dir):
    motion = ps.load(cmu / "02_01.bvh", repair="cmu", first_frame=1)[::2]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / "KayKit_Knight.glb").skeleton)
    solution = ps.retarget(motion, source, character)

    def apart(body, pose, part):
        frames = body.skeleton.forward(pose)
        left, right = (frames.positions[:, body.roles[f"{side}_{part}"]] for side in ("left", "right"))
        legs = np.subtract(*(frames.positions[:, body.roles[f"{side}_upper_leg"]] for side in ("left", "right")))
        legs[:, 1] = 0.0
        return ((left - right) * legs).sum(axis=-1) / np.linalg.norm(legs, axis=-1)

    wider = apart(character, solution.motion.pose, "upper_leg") - solution.ratio * apart(
        source, motion.pose, "upper_leg"
    )
    assert np.median(wider) > 0.1
    feet = apart(character, solution.motion.pose, "foot") - solution.ratio * apart(source, motion.pose, "foot")
    assert abs(np.median(feet - wider)) < 0.03 and solution.slid.max() < 5e-3


def test_feet_of_a_captured_walk_over_steps_stand_on_the_steps(cmu, data_dir):
    motion = ps.load(cmu / "03_01.bvh", repair="cmu", first_frame=1)[::2]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / "CesiumMan.glb").skeleton)
    solution = ps.retarget(motion, source, character, keep_out=False)
    toes = source.skeleton.forward(motion.pose).positions[:, [source.roles[f"{s}_toes"] for s in ("left", "right")], 1]
    levels = []
    for k, side in enumerate(("left", "right")):
        heights = lowest_skin(character, solution.motion, side)
        for contact in solution.contacts:
            if contact.part == f"{side}_foot":
                rows = slice(contact.first, contact.last + 1)
                levels.append(np.median(heights[rows]))
                assert np.ptp(heights[rows]) < 0.015
                assert abs(levels[-1] - solution.ratio * (toes[rows, k].min() - 0.04)) < 0.05
    assert np.ptp(levels) > 0.1 * solution.ratio


def test_a_foot_that_cannot_stand_where_it_should_is_not_kept(pitch):
    body = longer(pitch.motion, 0.7, 1.3)
    solution = ps.retarget(pitch.motion, pitch.body, body, limits=stiffer(body.limits))
    assert not solution.ok[(solution.slid > 5e-3) | (solution.sunk > 5e-3)].any()


def arms_inside(body, motion):
    """(F,): where a forearm or hand is deeper in another part than flesh yields."""
    checker, skeleton = clearance(body), body.skeleton
    elbows = [body.roles[f"{side}_lower_arm"] for side in ("left", "right")]
    arm = np.array([any(j in skeleton.path(int(k)) for j in elbows) for k in body.volumes.packed["joint"]])
    touching = checker.contacts(skeleton.forward(motion.pose))[:, : len(checker.pairs)]
    return touching[:, arm[checker.pairs].any(axis=1)].any(axis=1)


def accelerations(body, motion):
    positions = body.skeleton.forward(motion.pose).positions
    return np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1) * motion.fps**2


@pytest.mark.parametrize("name", ["CesiumMan.glb", "RiggedFigure.glb"])
def test_forearms_and_hands_keep_out_of_the_new_body_without_a_leap(name, cmu, data_dir):
    motion = ps.load(cmu / "09_01.bvh", repair="cmu", first_frame=1)[::2]
    source = ps.Humanoid(motion.skeleton)
    character = ps.Humanoid(ps.load(data_dir / "characters" / name).skeleton)
    through = ps.retarget(motion, source, character, keep_out=False)
    solution = ps.retarget(motion, source, character)
    assert arms_inside(source, motion).mean() < 0.03
    before, after = arms_inside(character, through.motion), arms_inside(character, solution.motion)
    assert before.mean() > 0.1 and after.mean() < 0.4 * before.mean()
    np.testing.assert_array_equal(solution.depth > 0.0, after)
    np.testing.assert_array_equal(through.depth > 0.0, before)
    assert (through.status == ps.Status.COLLISION).any()
    hands = [character.roles[f"{side}_hand"] for side in ("left", "right")]
    then, now = (character.skeleton.forward(s.motion.pose).positions[:, hands] for s in (through, solution))
    np.testing.assert_allclose(np.linalg.norm(now - then, axis=-1).max(axis=1), solution.hand_displacement, atol=3e-3)
    arms = [j for side in ("left", "right") for j in character.limb_joints(f"{side}_arm")]
    peak = solution.ratio * accelerations(source, motion).max()
    assert accelerations(character, solution.motion)[:, arms].max() < 1.5 * peak


def test_fingers_go_over_to_the_same_rig_and_are_named_where_they_cannot(data_dir):
    body, tall = ps.figure(), ps.figure(1.9)
    motion = ps.samples.dance(body)[:40]
    thumb = body.skeleton.index("l_thumb1")
    assert np.ptp(motion.pose.rotations[:, thumb], axis=0).max() > 1e-3
    solution = ps.retarget(motion, body, tall)
    assert solution.dropped == ()
    np.testing.assert_allclose(solution.motion.pose.rotations[:, thumb], motion.pose.rotations[:, thumb], atol=1e-12)
    character = ps.Humanoid(ps.load(data_dir / "characters" / "CesiumMan.glb").skeleton)
    lost = ps.retarget(motion, body, character, keep_out=False)
    assert "l_thumb1" in lost.dropped and "upper_chest" in lost.dropped and "l_thumb1" in str(lost)


@pytest.mark.parametrize("height", [1.6, 1.9])
def test_the_other_body_keeps_its_limits_where_the_motion_does(case, height):
    figure = ps.figure(height)
    solution = ps.retarget(case.motion, case.body, figure)
    begun = figure.pose(case.body.canonical(case.motion.pose))
    before, after = (excess(figure, figure.limits, pose) for pose in (begun, solution.motion.pose))
    assert (after <= before + 1e-6).all()
    assert (solution.ok | (solution.status == ps.Status.COLLISION)).all() and solution.ok.mean() > 0.97
    free = ps.retarget(case.motion, case.body, figure, limits=None)
    assert not free.limited.any()


def test_frames_that_limits_stop_have_that_status(pitch):
    body = longer(pitch.motion, 0.7, 1.3)
    stiff = stiffer(body.limits)
    solution = ps.retarget(pitch.motion, pitch.body, body, limits=stiff)
    before, after = (
        excess(body, stiff, pose) for pose in (body.pose(pitch.body.canonical(pitch.motion.pose)), solution.motion.pose)
    )
    assert (after <= before + 1e-6).all()
    missed = solution.part_errors.max(axis=1) > 1e-3
    assert missed.any() and (solution.status[missed & solution.limited] == ps.Status.LIMITS).all()
    assert "joint limits" in str(solution)


def test_an_offset_does_not_flicker_from_frame_to_frame(pitch):
    body = longer(pitch.motion, 0.9, 1.1)
    solution = ps.retarget(pitch.motion, pitch.body, body)

    def jerk(motion):
        turns = np.diff(motion.pose.rotations, 2, axis=0)
        return np.abs(turns).max()

    assert jerk(solution.motion) <= 1.5 * jerk(pitch.motion)


def test_retargeting_goes_on_from_an_editor_and_refuses_what_it_does_not_know(pitch):
    solution = pitch.editor.retarget(ps.figure(1.9), weights="clip")
    assert solution.motion.pose.is_finite()
    with pytest.raises(ps.UnknownNameError, match="identity"):
        pitch.editor.retarget(ps.figure(), weights="window")
