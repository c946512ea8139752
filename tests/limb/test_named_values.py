"""The seven values of a limb have names, and the bend of the elbow or knee is what a person calls it."""

import numpy as np
import pytest

import posable as ps
from posable.limb import LIMB_VALUES, LIMBS


@pytest.mark.parametrize("limb", LIMBS)
def test_the_flexion_is_the_angle_between_the_bones_and_never_negative(limb):
    body = ps.figure()
    motion = ps.samples.dance(body)
    reading = body.limb(limb, limits=None).read(motion.pose)
    base, mid, end = (body.skeleton.forward(motion.pose).positions[:, j] for j in body.limb_joints(limb))
    upper, lower = mid - base, end - mid
    cosine = (upper * lower).sum(-1) / np.linalg.norm(upper, axis=-1) / np.linalg.norm(lower, axis=-1)
    np.testing.assert_allclose(np.cos(reading.flexion), cosine, atol=1e-9)
    assert (reading.flexion >= 0.0).all() and (reading.values[:, 3] != 0.0).any()


def test_values_by_name_are_the_columns_of_the_array_but_for_the_sign_of_the_bend():
    arm = ps.figure().limb("left_arm")
    answer = arm.solve(np.array([[0.2, -0.1, 0.3], [0.1, 0.2, 0.25]]))
    named = answer.named()
    assert tuple(named) == LIMB_VALUES and len(LIMB_VALUES) == 7
    for k, (name, column) in enumerate(named.items()):
        np.testing.assert_array_equal(column, np.abs(answer.values[:, k]) if name == "flexion" else answer.values[:, k])
    np.testing.assert_array_equal(named["flexion"], answer.flexion)
    assert (answer.values[:, 3] < 0.0).all(), "a left elbow bends about an axis the other way round"
