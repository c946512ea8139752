"""A whole body against itself and a scene: what kernels answer is what coal and brute force over all pairs answer."""

import numpy as np
import pytest

import posable as ps
from posable.body.collision.clearance import SelfCollision, _poses_inside_limits, clearance, limb_links
from posable.collision.bodies import body_depth_rows, body_touching_rows
from posable.collision.kernels import volume_obstacles
from posable.collision.scene import all_gaps
from posable.compute import UnknownNameError

from ..collision import pairs_of_shapes


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def frames(body):
    """Of 40 random poses, which touch in many places."""
    return body.skeleton.forward(_poses_inside_limits(body, 7)[:40])


@pytest.fixture(scope="module")
def scene():
    made = ps.Scene().box("table", (1.2, 0.05, 0.8), (0.0, 0.3, 0.5)).sphere("lamp", 0.2, (0.3, 0.5, 0.3))
    return made.plane("floor", (0.0, -0.8, 0.0)).capsule("rail", 0.05, 2.0, (0.0, 0.2, -0.3), (0.707, 0.0, 0.0, 0.707))


def own_gaps(volumes, frames, i, pairs):
    """(P,) gaps of pairs of volumes in pose i, by the kernel for single pairs."""
    p, q = frames.positions[i], frames.orientations[i]
    placed = volume_obstacles(volumes, p, q, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    one, other = pairs[:, 0], pairs[:, 1]
    joint = volumes["joint"][one]
    return pairs_of_shapes.gaps(volumes[one], p[joint], q[joint], placed[other])[:, 0]


def test_every_answer_agrees_with_brute_force_over_all_contacts(body, frames, scene):
    whole = clearance(body)
    volumes, softness = body.volumes.packed, whole.softness
    touches, deep = whole.touches(frames, scene), whole.depth(frames, scene, reach=0.05)
    contacts = whole.contacts(frames, scene)
    for i in range(len(touches)):
        own = own_gaps(volumes, frames, i, whole.pairs) + softness
        around = all_gaps(volumes[whole.outside], frames.positions[i], frames.orientations[i], scene.packed)
        gaps = np.concatenate([own, around.ravel()])
        np.testing.assert_array_equal(contacts[i], gaps < 0.0)
        assert touches[i] == (gaps < 0.0).any()
        assert deep[i] == pytest.approx(-min(gaps.min(), 0.05), abs=1e-9)
    assert touches.any()
    assert 5 < contacts.sum(axis=-1).mean() < 500


def test_coal_sees_the_same_pairs_touch(body, frames):
    """With capsules that do not taper, which coal has."""
    coal = pytest.importorskip("coal")
    volumes = body.volumes.packed.copy()
    round_ones = volumes["kind"] == 0
    volumes["radii"][round_ones, 1] = volumes["radii"][round_ones, 0]
    volumes["bound"] = 0.5 * np.linalg.norm(volumes["end"] - volumes["start"], axis=-1) + volumes["radii"].max(axis=-1)
    pairs = SelfCollision.of(body).pairs
    request, hits = coal.CollisionRequest(), 0
    for i in range(8):
        p, q = frames.positions[i : i + 1], frames.orientations[i : i + 1]
        out = np.zeros((1, len(pairs)), np.bool_)
        none, nothing = np.zeros(0, np.int64), np.zeros(0, ps.Scene().packed.dtype)
        first, balls = np.empty(1, np.int64), np.empty((1, len(volumes), 4))
        body_touching_rows(1, volumes, pairs, none, p, q, nothing, 0.0, 0.0, out, balls, True, first)
        placed = volume_obstacles(volumes, p[0], q[0], np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        shapes = [pairs_of_shapes.shape(coal, row) for row in placed]
        gaps = own_gaps(volumes, frames, i, pairs)
        for (a, b), told, gap in zip(pairs, out[0], gaps, strict=True):
            if abs(gap) > 1e-5:  # coal's own tolerance on ellipsoids
                result = coal.CollisionResult()
                hit = coal.collide(*shapes[a], *shapes[b], request, result) > 0
                assert hit == told, (body.volumes.names[a], body.volumes.names[b], gap)
                hits += hit
    assert hits > 50


def test_limbs_that_are_left_out_do_not_count(body, frames, scene):
    whole, rest = clearance(body), clearance(body, leave_out=("right_arm", "left_leg"))
    gone = np.concatenate([limb_links(body, limb).volumes for limb in ("right_arm", "left_leg")])
    assert not np.isin(rest.pairs, gone).any()
    assert not np.isin(rest.outside, gone).any()
    assert len(rest.outside) == len(body.volumes) - len(gone)
    names = [body.volumes.names[v] for v in gone]
    expected = {pair for pair in whole.touching(frames, scene) if not set(pair) & set(names)}
    assert set(rest.touching(frames, scene)) == expected
    assert len(clearance(body, self_collision=False).pairs) == 0
    with pytest.raises(UnknownNameError, match="right_arm"):
        clearance(body, leave_out=("right_wing",))


def test_spared_contacts_are_passed_over(body, frames, scene):
    whole, volumes = clearance(body), body.volumes.packed
    p, q, n = frames.positions, frames.orientations, len(frames.positions)
    balls, first = np.empty((n, len(volumes), 4)), np.empty(n, np.int64)
    spared = whole.contacts(frames, scene)
    given = (n, volumes, whole.pairs, whole.outside, p, q, scene.packed)
    body_touching_rows(*given, 0.0, whole.softness, spared, balls, False, first)
    assert (first == -1).all()
    body_touching_rows(*given, 0.0, whole.softness, np.zeros_like(spared), balls, False, first)
    np.testing.assert_array_equal(first, np.where(spared.any(axis=-1), spared.argmax(axis=-1), -1))
    deep, which = np.empty(n), np.empty(n, np.int64)
    body_depth_rows(*given, 0.05, whole.softness, spared, balls, deep, which)
    assert (deep <= 0.0).all()


def test_depth_grows_evenly_as_a_body_sinks_into_the_floor(body):
    frames = body.skeleton.forward(body.neutral_pose)
    whole = clearance(body)
    lowest = all_gaps(
        body.volumes.packed, frames.positions, frames.orientations, ps.Scene().plane("floor").packed
    ).min()
    told = [
        whole.depth(frames, ps.Scene().plane("floor", (0.0, lowest - away, 0.0)), reach=0.08)
        for away in np.linspace(0.1, -0.1, 21)
    ]
    own = whole.depth(frames, reach=0.08)
    np.testing.assert_allclose(told, np.maximum(np.maximum(np.linspace(-0.1, 0.1, 21), -0.08), own), atol=1e-12)


def test_meshes_are_asked_too(body):
    pytest.importorskip("coal")
    frames = body.skeleton.forward(ps.samples.walk(body).pose[:6])
    hand = frames.positions[3, body.index("left_hand")]
    ball = ps.collision.Volumes([0], ["ellipsoid"], [[0, 0, 0]], [[0, 0, 0]], [[0.02] * 3]).mesh(0)
    scene = ps.Scene().mesh("ball", *ball, position=hand)
    assert not clearance(body).touches(frames).any()
    told = clearance(body).touches(frames, scene)
    assert told[3] and clearance(body).depth(frames, scene)[3] == 0.0
    assert not clearance(body, leave_out=("left_arm",)).touches(frames, scene).any()


def test_a_batch_of_any_shape_is_each_of_its_poses(body, frames, scene):
    whole = clearance(body)
    shaped = type(frames)(
        body.skeleton, frames.positions.reshape(5, 8, -1, 3), frames.orientations.reshape(5, 8, -1, 4)
    )
    np.testing.assert_array_equal(whole.touches(shaped, scene).ravel(), whole.touches(frames, scene))
    np.testing.assert_array_equal(whole.depth(shaped, scene).ravel(), whole.depth(frames, scene))
    one = type(frames)(body.skeleton, frames.positions[3], frames.orientations[3])
    assert whole.touches(one, scene).shape == ()


def test_what_a_character_holds_or_wears_is_not_its_body(data_dir):
    """Swords and shields hang on the knight's hands, a cape on its chest; its helmet is all that covers its head."""
    knight = ps.Humanoid(ps.load(data_dir / "characters" / "KayKit_Knight.glb").skeleton)
    parts = {
        part: knight.volumes.packed["joint"] == knight.roles[part] for part in ("left_hand", "right_hand", "chest")
    }
    arm = knight.limb("left_arm").length
    for part, rows in parts.items():
        assert rows.sum() == 1
        most = 0.6 * arm if part.endswith("hand") else 1.2 * arm
        assert knight.volumes.packed["bound"][rows][0] < most, part
    own = {mesh.name: mesh for mesh in knight.skeleton.character.meshes}
    assert "2H_Sword" in own and "Knight_Cape" in own
    assert (knight.volumes.packed["joint"] == knight.roles["head"]).sum() == 1
    frames = knight.skeleton.forward(knight.neutral_pose)
    assert not clearance(knight).touches(frames), "standing there, it touches nothing"
