"""What compiled code reads of a body is what the body says of itself, on every rig."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.measures import sole_of
from posable.body.packed import LIMBS, SIDES, PackedBody
from posable.body.roles import parent_role
from posable.limb.model import ROLES
from posable.limits import Limits

from .bodies import all_bodies


@pytest.fixture(scope="module")
def bodies(data_dir: Path) -> dict[str, ps.Humanoid]:
    return {"figure": ps.figure(), **all_bodies(data_dir)}


def test_every_part_is_driven_by_its_neutral_orientation_and_limited_against_the_part_that_carries_it(bodies):
    for name, body in bodies.items():
        drive, limits = body.packed.drive, body.packed.limits
        assert np.array_equal(drive["parent"], body.skeleton.parents), name
        fingers = list(body.fingers.values())  # solvers leave them as they rest
        local = body.neutral_pose.rotations.copy()
        local[fingers] = body.skeleton.rest.rotations[fingers]
        assert np.array_equal(drive["local"], local), name
        for role, joint in body.roles.items():
            row, above = drive[joint], parent_role(role, body.roles)
            assert np.array_equal(row["neutral"], body.neutral_orientation(role)), (name, role)
            if above is None:
                assert row["above"] == -1 and row["limit"] == -1, name
                continue
            assert row["above"] == body.roles[above], (name, role)
            assert np.array_equal(row["above_neutral"], body.neutral_orientation(above)), (name, role)
            assert limits[row["limit"]] == body.limits.packed[body.limits.index(role)], (name, role)
        nobody = [j for j in range(len(drive)) if j not in {*body.roles.values(), *body.spine}]
        assert (drive["row"][nobody] == -1).all() and (drive["limit"][nobody] == -1).all(), name
        needed = {above for j in np.flatnonzero(drive["row"] >= 0) for above in body.skeleton.path(int(j))}
        assert sorted(needed) == np.flatnonzero(drive["needed"]).tolist(), name


def test_rows_of_canonical_orientations_count_the_parts_and_then_the_spine(bodies):
    for name, body in bodies.items():
        parts = len(body.roles)
        rows = [parts + body.spine.index(j) if j in body.spine else k for k, j in enumerate(body.roles.values())]
        assert body.packed.drive["row"][list(body.roles.values())].tolist() == rows, name
        assert body.packed.drive["row"][list(body.spine)].tolist() == [parts + k for k in range(len(body.spine))], name


def test_limbs_know_their_joints_and_which_rows_are_theirs(bodies):
    for name, body in bodies.items():
        packed = body.packed
        last = 0
        for k, limb in enumerate(LIMBS):
            row, solver = packed.limbs[k], body.limb(limb)
            assert (row["base"], row["mid"], row["end"]) == body.limb_joints(limb), (name, limb)
            carrier = parent_role(ROLES[limb][0], body.roles)
            assert row["carrier"] == body.roles[carrier], (name, limb)
            assert np.array_equal(row["carrier_neutral"], body.neutral_orientation(carrier)), (name, limb)
            assert np.array_equal(row["end_neutral"], body.neutral_orientation(ROLES[limb][2])), (name, limb)
            assert np.array_equal(packed.limits[row["first_limit"] :][:3], solver.limit_rows), (name, limb)
            assert np.array_equal(packed.bones[row["first_bone"] : row["last_bone"]], solver.bones), (name, limb)
            driven = packed.driven[row["first_driven"] : row["last_driven"]]
            assert row["first_driven"] == last and driven["joint"][0] == row["base"], (name, limb)
            last = row["last_driven"]
            path = [j for j in body.skeleton.path(int(row["end"])) if row["base"] <= j < row["end"]]
            assert {int(row["base"]), int(row["mid"])} <= set(driven["joint"].tolist()) and row["end"] not in driven[
                "joint"
            ]
            assert set(path) - set(body.skeleton.path(int(row["base"]))) <= set(driven["joint"].tolist()), (name, limb)
            assert np.array_equal(driven["neutral"], body.neutral_frames.orientations[driven["joint"]]), (name, limb)
            for lower in (0, 1):  # some joint carries all of a bone's twist, or they share it
                assert 0.0 <= driven["fraction"][driven["lower"] == lower].max() <= 1.0, (name, limb)
            rest = packed.remainders[0, row["first_driven"] : row["last_driven"]]
            assert np.array_equal(rest, solver.read(body.neutral_pose).remainders), (name, limb)
        assert last == len(packed.driven) and np.array_equal(packed.curves, body.limits.curves), name


def test_spine_soles_and_stance_are_those_of_the_neutral_pose(bodies):
    for name, body in bodies.items():
        packed, at = body.packed, body.neutral_frames.positions
        spine, stance = packed.spine, packed.stance[0]
        assert spine["joint"].tolist() == list(body.spine) and np.array_equal(spine["arc_length"], body.arc_length)
        assert np.abs(np.cumsum(spine["offset"], axis=0) + at[body.spine[0]] - at[list(body.spine)]).max() < 1e-12, name
        far = np.linalg.norm(at[list(body.spine)] - at[body.spine[0]], axis=-1) > 1e-6 * body.joint_height
        assert spine["bends"][1:-1].tolist() == far[1:-1].tolist() and not spine["bends"][[0, -1]].any(), name
        before = 0
        for row, role in zip(spine[1:], body.spine_roles[1:], strict=True):
            if role:
                assert row["below"] == before and row["limit"] == list(body.roles).index(role), (name, role)
                before = body.spine_roles.index(role)
            else:
                assert row["below"] == row["limit"] == -1, name
        hips = at[body.roles["hips"]]
        assert np.array_equal(stance["hips_to_head"], at[body.roles["head"]] - hips), name
        assert np.array_equal(stance["root"], body.neutral_pose.translation) and stance["chest"] == body.chest
        for k, side in enumerate(SIDES):
            sole = sole_of(body, side)
            assert [packed.soles[k][field] for field in packed.soles.dtype.names] == list(vars(sole).values()), name
            arm = at[body.roles[f"{side}_upper_arm"]] - at[body.spine[body.chest]]
            assert np.abs(stance["chest_to_clavicles"][k] + stance["clavicles_to_arms"][k] - arm).max() < 1e-12, name
            assert np.array_equal(stance["hips_to_legs"][k], at[body.roles[f"{side}_upper_leg"]] - hips), name
            assert np.array_equal(stance["hips_to_ankles"][k], at[body.roles[f"{side}_foot"]] - hips), name
            assert stance["leg_lengths"][k] == body.limb(f"{side}_leg").length, name
        assert stance["hip_height"] == pytest.approx(
            -stance["hips_to_ankles"][:, 1].mean() + packed.soles["depth"].mean()
        )


def test_without_limits_nothing_is_limited_and_the_rest_is_the_same():
    body = ps.figure()
    packed, free = body.packed, PackedBody(body, None)
    assert (free.drive["limit"] == -1).all() and (free.spine["limit"] == -1).all() and not free.limbs["limited"].any()
    assert len(free.bones) == 0 and np.array_equal(free.driven, packed.driven)
    assert np.array_equal(free.drive["neutral"], packed.drive["neutral"])
    narrow = Limits({role: body.limits[role] for role in body.limits if role != "head"})
    assert PackedBody(body, narrow).drive["limit"][body.roles["head"]] == -1


def test_records_drive_a_pose_as_plain_numpy_does():
    body, rng = ps.figure(), np.random.default_rng(5)
    posture = body.canonical(body.neutral_pose)
    posture = posture.replace(rotations=pm.normalize(rng.normal(size=posture.rotations.shape)))
    pose = body.pose(posture)
    world = body.skeleton.forward(pose).orientations
    for role, orientation in zip(posture.roles, posture.world(), strict=True):
        joint = body.roles[role]
        if joint not in body.spine:
            expected = pm.multiply(orientation, body.packed.drive["neutral"][joint])
            assert pm.angle(world[joint], expected) < 1e-9, role
