"""The built-in figure: as tall as asked, neutral at rest, with a person's shape; and volumes for other bodies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable.math as pm
from posable.body import MEASURES, ROLES, Humanoid, figure
from posable.body.measures import sole_of
from posable.compute import PosableError
from posable.formats import load

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
heights = st.floats(0.4, 2.6)
stretch = st.floats(0.95, 1.05)
some_measures = st.dictionaries(st.sampled_from(sorted(MEASURES)), stretch, max_size=len(MEASURES))

H_ANIM = {  # joints of ISO/IEC 19774, first edition, that the figure has, without their sides
    *("HumanoidRoot", "sacroiliac", "vl5", "vt10", "vt5", "vc7", "skullbase"),
    *("hip", "knee", "ankle", "metatarsal", "sternoclavicular", "shoulder", "elbow", "wrist"),
    *("index1", "index2", "thumb1"),
}


@pytest.fixture(scope="module")
def body():
    return figure()


def placed(body, pose=None):
    """All vertices of a body's volumes in the world, and the volume of each."""
    frames = body.skeleton.forward(body.neutral_pose if pose is None else pose)
    mesh = body.volumes.tessellated(24)
    turned = pm.rotate(frames.orientations[mesh.joints], mesh.vertices)
    return frames.positions[mesh.joints] + turned, mesh.volumes


@given(heights, some_measures)
@settings(max_examples=60)
def test_the_figure_is_as_tall_as_was_asked_with_the_measures_that_were_given(height, factors):
    given_measures = {name: factor * MEASURES[name] * height for name, factor in factors.items()}
    body = figure(height, **given_measures)
    frames = body.skeleton.forward(body.skeleton.rest)
    ends = dict(zip(body.skeleton.end_names, frames.ends))
    assert ends["skull_tip"][1] == pytest.approx(height) == body.height
    for name in ("l_heel", "r_heel", "l_toe_tip", "r_toe_tip"):
        assert ends[name][1] == pytest.approx(0.0, abs=1e-12)
    for name, length in given_measures.items():
        assert body.measures[name] == pytest.approx(length, rel=1e-9), name


def test_without_measures_it_has_the_published_proportions(body):
    for name, share in MEASURES.items():
        assert body.measures[name] == pytest.approx(1.75 * share), name
    assert body.height == 1.75
    shoulder = body.skeleton.forward(body.skeleton.rest).positions[body.index("left_upper_arm")]
    assert shoulder[1] / 1.75 == pytest.approx(0.818, abs=1e-3)  # Winter 2009, Fig. 4.1


def test_its_structure_and_names_are_h_anims(body):
    names = body.skeleton.names
    assert {name.removeprefix("l_").removeprefix("r_") for name in names} == H_ANIM
    above = {name: names[p] if p >= 0 else None for name, p in zip(names, body.skeleton.parents)}
    assert above["HumanoidRoot"] is None
    assert above["sacroiliac"] == above["vl5"] == "HumanoidRoot"
    assert above["l_hip"] == above["r_hip"] == "sacroiliac"


def test_every_role_is_found_and_by_names_alone_as_well(body):
    assert set(body.roles) == set(ROLES)
    assert Humanoid(body.skeleton).roles == body.roles


def test_its_rest_pose_is_the_neutral_pose(body):
    canonical = body.canonical(body.skeleton.rest)
    np.testing.assert_allclose(np.abs(canonical.rotations @ IDENTITY), 1.0, atol=1e-12)
    np.testing.assert_allclose(body.neutral_pose.rotations, body.skeleton.rest.rotations, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_canonical_rotations_are_its_local_rotations(seed):
    body = figure()
    rotations = pm.normalize(np.random.default_rng(seed).normal(size=(len(body.skeleton), 4)))
    rotations[body.skeleton.index("sacroiliac")] = IDENTITY  # between hips and thighs, and fixed
    canonical = body.canonical(body.skeleton.rest.replace(rotations=rotations))
    for role in body.roles:
        assert pm.angle(canonical.rotation(role), rotations[body.index(role)]) < 1e-7


def test_knees_are_hinges_and_elbows_turn_the_forearm_too(body):
    skeleton = body.skeleton
    for letter in "lr":
        knee, elbow = skeleton.index(f"{letter}_knee"), skeleton.index(f"{letter}_elbow")
        assert skeleton.kinds[knee] == "hinge" and skeleton.kinds[elbow] == "hinge_twist"
        np.testing.assert_array_equal(skeleton.axes[knee, 0], [1, 0, 0])
        np.testing.assert_array_equal(skeleton.axes[elbow], [[-1, 0, 0], [0, -1, 0]])


@given(heights, some_measures)
@settings(max_examples=30)
def test_left_and_right_are_mirror_images(height, factors):
    body = figure(height, **{name: factor * MEASURES[name] * height for name, factor in factors.items()})
    positions = body.skeleton.forward(body.skeleton.rest).positions
    for name in body.skeleton.names:
        if name.startswith("l_"):
            left, right = (positions[body.skeleton.index(f"{side}{name[1:]}")] for side in "lr")
            np.testing.assert_allclose(left * [-1, 1, 1], right, atol=1e-12)
    volumes = body.volumes
    for k, name in enumerate(volumes.names):
        if name.startswith("left_"):
            other = volumes.names.index(name.replace("left_", "right_", 1))
            np.testing.assert_allclose(volumes.start[k] * [-1, 1, 1], volumes.start[other], atol=1e-12)
            np.testing.assert_allclose(volumes.end[k] * [-1, 1, 1], volumes.end[other], atol=1e-12)
            np.testing.assert_allclose(volumes.radii[k], volumes.radii[other], atol=1e-12)


@given(heights, some_measures)
@settings(max_examples=30)
def test_its_soles_lie_on_the_floor_and_its_skull_reaches_its_height(height, factors):
    body = figure(height, **{name: factor * MEASURES[name] * height for name, factor in factors.items()})
    vertices, _ = placed(body)
    assert vertices[:, 1].min() == pytest.approx(0.0, abs=2e-3 * height)
    assert vertices[:, 1].max() == pytest.approx(height, rel=1e-3)


def test_it_is_shaped_like_a_person(body):
    vertices, which = placed(body)
    names = np.array(body.volumes.names)[which]

    def size(*parts):
        mine = vertices[np.isin(names, parts)]
        return np.ptp(mine, axis=0)

    # Medians of men in the ANSUR survey, a few centimetres to either side: head, chest, hips, hand, foot.
    assert size("skull")[0] == pytest.approx(0.152, abs=0.01) and size("skull")[2] == pytest.approx(0.198, abs=0.012)
    assert 0.42 < np.ptp(vertices[np.isin(names, ["left_deltoid", "right_deltoid"]), 0]) < 0.52
    assert 0.30 < size("pelvis")[0] < 0.38
    assert np.ptp(vertices[:, 2][np.char.startswith(names, "left_") & (vertices[:, 1] < 0.03)]) == pytest.approx(
        0.266, abs=0.01
    )
    sole = sole_of(body, "left")
    assert sole.heel + sole.tip == pytest.approx(0.266) and sole.depth == pytest.approx(0.06825)


def test_bad_measures_are_refused_with_a_way_out():
    with pytest.raises(PosableError, match=r"unknown body measure 'thight'.*'thigh'"):
        figure(thight=0.4)
    with pytest.raises(PosableError, match="height is -1"):
        figure(-1.0)
    with pytest.raises(PosableError, match="calf is 0"):
        figure(calf=0.0)
    with pytest.raises(PosableError, match="a height of about 3"):
        figure(1.75, thigh=0.9, calf=0.8)


@pytest.mark.parametrize("clip", ["17_10.bvh", "02_01.bvh", "90_05.bvh"])
def test_a_captured_body_gets_a_persons_volumes_on_its_own_joints(cmu, clip):
    motion = load(cmu / clip, repair="cmu")
    body = Humanoid(motion.skeleton)
    vertices, which = placed(body)
    names = np.array(body.volumes.names)[which]
    assert np.all(body.volumes.joints < len(body.skeleton))
    tall = body.height
    assert np.ptp(vertices[:, 1]) == pytest.approx(tall, rel=0.06)
    # Each limb's volumes lie around the bones that carry them.
    positions = body.skeleton.forward(body.neutral_pose).positions
    for side in ("left", "right"):
        for start, end, part in (("upper_leg", "lower_leg", "upper_leg"), ("lower_arm", "hand", "lower_arm")):
            a, b = (positions[body.index(f"{side}_{role}")] for role in (start, end))
            middle = vertices[names == f"{side}_{part}"].mean(axis=0)
            assert np.linalg.norm(middle - (a + b) / 2) < 0.35 * np.linalg.norm(b - a)


def test_bodies_without_optional_parts_get_volumes_too():
    full = figure()
    optional = ("spine", "chest", "upper_chest", "neck", "left_toes", "right_toes", "left_shoulder", "right_shoulder")
    body = Humanoid(full.skeleton, roles=dict.fromkeys(optional))
    assert not set(optional) & set(body.roles)
    assert len(body.volumes) == len(full.volumes)
    vertices, _ = placed(body)
    expected, _ = placed(full)
    assert np.abs(vertices.max(axis=0) - expected.max(axis=0)).max() < 0.05
