"""An arm among meshes: the search gives what asking about every link at every swivel would give, and less slowly."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import limb_links
from posable.compute import Status, UnknownNameError

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def ball(radius, around=24):
    """Vertices and faces of a ball."""
    volumes = ps.collision.Volumes([0], ["ellipsoid"], [[0, 0, 0]], [[0, 0, 0]], [[radius] * 3])
    return volumes.mesh(0, around)


def block(size):
    """Vertices and faces of a box about the origin."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners, np.array([face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))])


def cluttered():
    """A scene of meshes on the way of a right arm that reaches forward."""
    scene = ps.Scene()
    scene.mesh("ball", *ball(0.12), position=(-0.35, 1.05, 0.12))
    scene.mesh("shelf", *block((0.5, 0.03, 0.4)), position=(-0.3, 1.02, 0.3), orientation=pm.exp([0.1, 0.2, 0.0]))
    scene.mesh("far", *ball(0.3), position=(5.0, 1.0, 0.0))
    return scene


def targets(count, seed):
    rng = np.random.default_rng(seed)
    places = rng.uniform([-0.5, 1.0, 0.15], [0.05, 1.45, 0.45], (count, 3))
    turns = pm.exp([-1.2, 0.0, 0.0] + rng.normal(size=(count, 3)) * 0.3)
    return [ps.Target(p, q if k % 2 else None) for k, (p, q) in enumerate(zip(places, turns, strict=True))]


def arm_touches(body, scene, pose, margin=0.0):
    """Whether the right arm of a posed body touches the scene, from the whole body's own frames."""
    frames = body.skeleton.forward(pose)
    rows = body.volumes.packed[limb_links(body, "right_arm").volumes]
    return scene.meshes_touch(np.ascontiguousarray(rows), frames.positions, frames.orientations, margin)


def test_the_search_gives_what_asking_about_every_link_at_every_swivel_gives(body):
    scene, arm = cluttered(), body.limb("right_arm")
    seen = {"free": 0, "moved": 0, "collision": 0}
    for target in targets(200, 0):
        told = body.place(body.neutral_pose, "right_hand", target, scene=scene)

        def collides(values, swivel):
            return arm_touches(body, scene, arm.pose(body.neutral_pose, values))

        plain = body.place(body.neutral_pose, "right_hand", target, collides=collides)
        blind = body.place(body.neutral_pose, "right_hand", target)
        assert told.status == plain.status
        if told.status in (Status.REACHED, Status.COLLISION):
            np.testing.assert_allclose(told.pose.rotations, plain.pose.rotations, atol=1e-12)
        else:  # a closest posture keeps out, by whichever search
            assert not arm_touches(body, scene, told.pose) and not arm_touches(body, scene, plain.pose)
            assert not told.penetrates and not plain.penetrates
        if told.ok:
            assert not arm_touches(body, scene, told.pose)
            seen["moved" if told.swivel != blind.swivel else "free"] += 1
        seen["collision"] += told.status is Status.COLLISION
    assert all(count > 5 for count in seen.values()), seen


def test_a_hand_in_a_mesh_is_told_without_searching(body):
    target = ps.Target([-0.3, 1.2, 0.35], pm.exp([-1.2, 0.0, 0.0]))
    scene = ps.Scene().mesh("wall", *block((0.5, 0.5, 0.02)), position=(-0.3, 1.2, 0.36))
    told = body.place(body.neutral_pose, "right_hand", target, scene=scene)
    blind = body.place(body.neutral_pose, "right_hand", target)
    assert blind.ok
    assert told.status is Status.COLLISION
    assert told.tests == blind.tests
    np.testing.assert_array_equal(told.pose.rotations, blind.pose.rotations)


def test_a_hand_may_touch_what_it_takes_hold_of_and_the_arm_may_not(body):
    turn = pm.exp([-1.2, 0.0, 0.0])
    target = ps.Target([-0.3, 1.2, 0.35], turn)
    frames = body.skeleton.forward(body.place(body.neutral_pose, "right_hand", target).pose)
    elbow = frames.positions[body.index("right_lower_arm")]
    for make in (
        lambda s, name, at: s.mesh(name, *ball(0.03), position=at),
        lambda s, name, at: s.sphere(name, 0.03, at),
    ):
        cup = make(ps.Scene(), "cup", [-0.3, 1.16, 0.45])
        assert body.place(body.neutral_pose, "right_hand", target, scene=cup).status is Status.COLLISION
        assert body.place(body.neutral_pose, "right_hand", target, scene=cup, allowed_contacts="cup").ok
        both = make(cup, "knob", elbow)
        held = body.place(body.neutral_pose, "right_hand", target, scene=both, allowed_contacts=["cup", "knob"])
        frames = body.skeleton.forward(held.pose)
        if held.ok:
            hits = both.contacts(body.volumes, frames.positions, frames.orientations)
            assert not [pair for pair in hits if pair[0] == "knob"]
    with pytest.raises(UnknownNameError, match="cup"):
        body.place(body.neutral_pose, "right_hand", target, scene=cup, allowed_contacts=["cap"])


def test_a_margin_is_kept_from_meshes_too(body):
    scene = ps.Scene().mesh("ball", *ball(0.1), position=(-0.42, 1.08, 0.1))
    far = 0
    for target in targets(60, 3):
        told = body.place(body.neutral_pose, "right_hand", target, scene=scene, margin=0.03)
        if told.ok:
            assert not arm_touches(body, scene, told.pose, 0.0299)
        near = body.place(body.neutral_pose, "right_hand", target, scene=scene)
        far += told.status != near.status or float(told.swivel) != float(near.swivel)
    assert far > 2


def test_a_batch_among_meshes_is_each_of_its_poses(body):
    scene = cluttered()
    rng = np.random.default_rng(5)
    goals = rng.uniform([-0.5, 1.0, 0.15], [0.05, 1.45, 0.45], (3, 4, 3))
    told = body.place(body.neutral_pose, "right_hand", ps.Target(goals), scene=scene)
    assert told.status.shape == told.position_error.shape == (3, 4)
    assert told.status.dtype == np.int8
    for at in np.ndindex(3, 4):
        one = body.place(body.neutral_pose, "right_hand", ps.Target(goals[at]), scene=scene)
        assert told.status[at] == one.status
        np.testing.assert_array_equal(told.pose[at].rotations, one.pose.rotations)


def test_a_scene_that_moves_is_seen_where_it_is(body):
    target = ps.Target([-0.3, 1.2, 0.35], pm.exp([-1.2, 0.0, 0.0]))
    scene = ps.Scene().mesh("ball", *ball(0.05), position=(-0.3, 1.2, 0.38))
    assert body.place(body.neutral_pose, "right_hand", target, scene=scene).status is Status.COLLISION
    scene.move("ball", position=(2.0, 1.2, 0.38))
    assert body.place(body.neutral_pose, "right_hand", target, scene=scene).ok


def test_swivels_given_to_a_batch_among_meshes_are_each_target_s_own(body):
    scene, goals = cluttered(), np.array([[-0.3, 1.3, 0.3], [-0.2, 1.35, 0.3], [-0.4, 1.25, 0.3]])
    angles = np.array([0.3, 0.6, 0.9])
    for option in ("swivel", "preferred"):
        told = body.place(body.neutral_pose, "right_hand", ps.Target(goals), scene=scene, **{option: angles})
        for k in range(3):
            one = {option: angles[k]}
            alone = body.place(body.neutral_pose, "right_hand", ps.Target(goals[k]), scene=scene, **one)
            assert told.swivel[k] == alone.swivel
            assert told.status[k] == alone.status
