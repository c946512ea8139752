"""Heels and balls of feet on surfaces: against marks by hand, at other rates, sizes and heights, and in the air."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.edit import find_contacts
from posable.edit.clip import read_clip
from tests.edit.marked import MARKED, PARTS, agreement, frames_of, precision_and_recall

SEEN = [name for name, marks in MARKED.items() if marks["chosen_on"]]
UNSEEN = [name for name, marks in MARKED.items() if not marks["chosen_on"]]


@pytest.fixture(scope="module")
def counts(cmu):
    return {name: agreement(name, cmu) for name in MARKED}


def cut(cmu, name, first=0, last=None, every=1):
    return ps.load(cmu / f"{name}.bvh", repair="cmu", first_frame=1)[first:last][::every]


@pytest.mark.parametrize("names", [SEEN, UNSEEN], ids=["seen", "unseen"])
def test_contacts_are_those_that_were_marked_by_hand(counts, names):
    precision, recall = precision_and_recall(np.stack([counts[name] for name in names]))
    assert precision >= 0.96 and recall >= 0.97
    for name in names:
        precision, recall = precision_and_recall(counts[name])
        assert precision >= 0.86 and recall >= 0.93, name


def test_heels_and_balls_are_found_each(counts):
    for row, part in enumerate(PARTS):
        precision, recall = precision_and_recall(np.stack([counts[name][row] for name in MARKED]))
        assert precision >= 0.9 and recall >= 0.96, part


@pytest.mark.parametrize("every", [2, 4])
@pytest.mark.parametrize("name", ["09_01", "03_01", "16_35", "127_25"])
def test_contacts_are_found_at_other_frame_rates(cmu, name, every):
    precision, recall = precision_and_recall(agreement(name, cmu, every))
    assert precision >= 0.95 and recall >= 0.92


def test_the_foot_that_kicks_is_in_the_air(cmu):
    found = frames_of(cut(cmu, "135_04"))
    for side, first, last in (("right", 337, 403), ("left", 543, 620)):  # above 8 cm in these frames
        assert not found[f"{side}_foot"][first:last].any() and not found[f"{side}_toes"][first:last].any()


def test_feet_on_the_rungs_of_a_ladder_stand(cmu):
    motion = cut(cmu, "13_33", every=2)
    body = ps.Humanoid(motion.skeleton)
    toes = body.skeleton.forward(motion.pose).positions[:, [body.roles["left_toes"], body.roles["right_toes"]]]
    found = frames_of(motion, body)
    down = np.stack([found["left_toes"], found["right_toes"]], axis=1)
    still = np.linalg.norm(np.gradient(toes, axis=0), axis=-1) * motion.fps < 0.05
    high = toes[..., 1] > toes[..., 1].min() + 0.2
    assert (still & high).sum() > 400 and down[still & high].mean() > 0.95


def test_nobody_stands_while_swimming_on_the_back_or_at_the_top_of_a_jump(cmu):
    swims = frames_of(cut(cmu, "126_01", every=2))
    assert max(rows[:1250].mean() for rows in swims.values()) < 0.005  # at the very end the feet come down
    jump = cut(cmu, "13_39")
    heights = jump.skeleton.forward(jump.pose).positions[:, jump.skeleton.index("Hips"), 1]
    apex = int(heights.argmax())
    assert not any(rows[apex - 12 : apex + 13].any() for rows in frames_of(jump).values())


@pytest.mark.parametrize("factor", [0.3, 2.5])
def test_contacts_are_the_same_on_a_body_of_another_size_elsewhere_in_the_world(cmu, factor):
    motion = cut(cmu, "03_01", every=2)
    found = frames_of(motion)
    turn = pm.axis_angle((0.0, 1.0, 0.0), 2.0)
    rotations = motion.pose.rotations.copy()
    rotations[:, 0] = pm.multiply(turn, rotations[:, 0])
    translation = factor * pm.rotate(turn, motion.pose.translation) + np.array([1.0, -7.0, 3.0])
    moved = motion.replace(skeleton=motion.skeleton.scaled(factor), pose=ps.Pose(translation, rotations))
    for part, rows in frames_of(moved).items():
        np.testing.assert_array_equal(rows, found[part])


def test_a_body_without_toes_has_whole_feet(cmu):
    motion = cut(cmu, "02_01", every=2)
    bare = ps.Humanoid(motion.skeleton, roles={"left_toes": None, "right_toes": None})
    found, whole = frames_of(motion), frames_of(motion, bare)
    assert set(whole) == {"left_foot", "right_foot"}
    for side in ("left", "right"):
        either = found[f"{side}_foot"] | found[f"{side}_toes"]
        assert (whole[f"{side}_foot"] == either).mean() > 0.93


def test_the_sample_walk_stands_where_its_soles_touch_the_floor():
    body = ps.figure()
    motion = ps.samples.walk(body)
    found = frames_of(motion, body)
    frames = body.skeleton.forward(motion.pose)
    for side in ("left", "right"):
        heel = frames.ends[:, body.skeleton.end_names.index(f"{side[0]}_heel")]
        speed = np.linalg.norm(np.gradient(heel, axis=0), axis=-1) * motion.fps
        fixed = (heel[:, 1] < 0.002) & (speed < 0.02)
        assert found[f"{side}_foot"][fixed].all() and found[f"{side}_toes"].mean() > 0.5
        assert heel[found[f"{side}_foot"], 1].max() < 0.03


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_clip_of_a_few_frames_stands(frames):
    body = ps.figure()
    pose = body.neutral_pose
    still = ps.Pose(np.tile(pose.translation, (frames, 1)), np.tile(pose.rotations, (frames, 1, 1)))
    contacts = find_contacts(read_clip(ps.Motion(body.skeleton, still, 60.0), body), hands=False)
    assert {(c.part, c.first, c.last) for c in contacts} == {(part, 0, frames - 1) for part in PARTS}
