"""What Pose and Motion show: weights as colours of the body, ghosts of the original, rings around what touches."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from posable.body import Humanoid, figure
from posable.formats import load
from posable.skeleton import Pose
from posable.skeleton.character import Skinning
from posable.studio import Session
from posable.studio.tabs.motion.view import ADJACENT, EDITED, ORIGINAL
from posable.studio.view.body_meshes import BoneLook, _inset
from posable.studio.view.paint import SCALE, STEPS, Paint, carried_groups, carriers
from posable.studio.view.rings import CORNERS
from posable.studio.view.theme import linear

from ..desk import Desk
from ..window import by


def pull(tab: Desk, session: Session) -> None:
    """Drag the hand in the tab Pose, and look at the motion in the tab Motion."""
    tab.show("Pose")
    tab.drag(np.array(session.gizmos["pose"].position) + by(0.02, 0.1, 0.05))
    tab.drop()
    tab.show("Motion")


def test_the_body_wears_the_colours_of_its_weights_and_takes_them_off(tab: Desk, session: Session):
    tab.show("Motion")
    look = session.stage._looks[session.active][0]
    tab.view.weights.value = True
    tab.update(session.time)
    ease = tab.editor.mobility[30]
    assert np.nanmin(ease) == 0.0 and np.nanmax(ease) == 1.0
    colours = {handle.color for handle, _ in look.painted.parts}
    assert SCALE[0] in colours and SCALE[-1] in colours, "the stiffest and the readiest joint have the scale's ends"
    assert not any(handle.visible for handle, _ in look.plain.parts) and tab.view._legend.visible
    session.clock.seek(10 / session.motion.fps)
    tab.update(session.time)
    assert {handle.color for handle, _ in look.painted.parts} != colours, "they follow the moment"
    pull(tab, session)
    assert session.stage._looks[session.active][0] is look and look.painted is not None, "an edit keeps them"
    tab.view.weights.value = False
    tab.update(session.time)
    assert look.painted is None and all(handle.visible for handle, _ in look.plain.parts)
    assert not tab.view._legend.visible and session.stage._paints == {}


def test_bones_are_painted_as_the_joints_that_turn_them(tab: Desk, session: Session):
    tab.show("Motion")
    session.set_look("bones")
    bones: BoneLook = session.stage._looks[session.active][1]
    own = np.array(bones._bones.batched_colors)
    tab.view.weights.value = True
    tab.update(session.time)
    paint = session.stage._paints[session.active]
    assert np.array_equal(bones._bones.batched_colors, linear(paint.of_joints[bones._starts]))
    assert np.array_equal(bones._balls.batched_colors, linear(paint.of_joints))
    tab.view.weights.value = False
    tab.update(session.time)
    assert np.array_equal(bones._bones.batched_colors, own)
    session.set_look("body")


def test_what_an_edit_leaves_alone_has_the_colour_of_what_carries_it():
    assert carriers(np.array([-1, 0, 1, 2, 0]), np.array([True, True, False, False, False])).tolist() == [0, 1, 1, 1, 0]
    assert carriers(np.array([-1, 0, 1]), np.array([False, True, True])).tolist() == [1, 1, 2]


def test_skin_between_two_joints_has_a_colour_between_theirs():
    shares = csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]))
    faces = np.array([[0, 1, 2], [2, 3, 2], [3, 4, 5], [4, 5, 4]])
    groups = carried_groups(shares, faces, np.array([0, 1]))
    assert sum(len(own) for _, own in groups) == len(faces)
    by_face = {tuple(face): tuple(blend) for blend, own in groups for face in own.tolist()}
    assert by_face[4, 5, 4] == (1, 1, 0) and by_face[2, 3, 2] == (0, 1, STEPS // 2)
    assert 0 < by_face[0, 1, 2][2] < STEPS // 2 < by_face[3, 4, 5][2] < STEPS
    together = carried_groups(shares, faces, np.array([0, 0]))
    assert len(together) == 1 and together[0][0].tolist() == [0, 0, 0]
    paint = Paint(np.array([0, 0]), np.array([[10.0, 20.0, 30.0], [np.nan] * 3]))
    assert paint.of_joints.tolist() == [[10, 20, 30]] * 2


def test_a_ghost_is_thinner_whichever_way_its_faces_are_wound():
    volumes = figure().volumes
    vertices, faces = volumes.mesh(0, 12)
    centre = vertices.mean(axis=0)
    for wound in (faces, faces[:, ::-1]):
        thin = _inset(vertices, wound, 0.004)
        closer = np.linalg.norm(vertices - centre, axis=-1) - np.linalg.norm(thin - centre, axis=-1)
        assert (closer > 0.0).all() and np.allclose(np.linalg.norm(thin - vertices, axis=-1), 0.004)


def test_volumes_along_a_bone_become_as_long_as_the_bone():
    body = figure()
    skeleton, volumes = body.skeleton, body.volumes
    elbow, wrist = body.index("left_lower_arm"), body.index("left_hand")
    meshes = [volumes.mesh(k, 8)[0] for k in range(len(volumes))]
    joints = np.repeat(volumes.joints, [len(vertices) for vertices in meshes])
    skin = Skinning.rigid(np.concatenate(meshes), joints, skeleton)
    rest = skeleton.forward(skeleton.rest)
    rigid = Skinning(np.concatenate(meshes), joints[:, None], np.ones((len(joints), 1)), len(skeleton))
    assert np.abs(skin.posed(rest) - rigid.posed(rest)).max() < 1e-6, "at rest nothing is other than it was"
    offsets = skeleton.offsets.copy()
    offsets[wrist] *= 1.5
    longer = skeleton.forward(Pose(skeleton.rest.translation, skeleton.rest.rotations, offsets))
    bone = longer.positions[wrist] - longer.positions[elbow]
    reach = [
        (posed - longer.positions[elbow])[joints == elbow] @ bone for posed in (skin.posed(longer), rigid.posed(longer))
    ]
    assert reach[0].max() > 0.95 * bone @ bone > 1.2 * reach[1].max()
    others = (joints != elbow) & ~np.isin(joints, [j for j in range(len(skeleton)) if wrist in skeleton.path(j)])
    assert np.abs(skin.posed(longer) - skin.posed(rest))[others].max() < 1e-6


def test_ghosts_of_the_original_stand_before_and_after_this_moment(tab: Desk, session: Session):
    original, fps = session.motion, session.motion.fps
    pull(tab, session)
    tab.view.onion.value, tab.view.around.value, tab.view.apart.value = True, 2, 5
    tab.update(session.time)
    skins = tab.view.ghosts
    assert sorted(skins) == [-10, -5, 0, 5, 10] and set(skins.values()) == set(session.extras)
    for later, skin in skins.items():
        assert skin.ghost and skin.motion is original
        assert np.allclose(skin.pose(session.time).rotations, original.at(session.time + later / fps).rotations)
    assert skins[10].opacity < skins[5].opacity < skins[0].opacity == 1.0
    assert len({skin.hue for skin in skins.values()}) == 1
    session.clock.seek(0.0)
    tab.update(0.0)
    assert np.allclose(skins[-10].pose(0.0).rotations, original[0].rotations), "none is before the beginning"
    tab.view.onion.value, tab.view.around.value = False, 0
    tab.update(session.time)
    assert session.extras == ()


def test_the_original_is_compared_in_its_place_or_beside_it(tab: Desk, session: Session):
    original = session.motion
    pull(tab, session)
    tab.view.toggle()
    tab.update(session.time)
    assert tab.view.shown.value == ORIGINAL
    assert np.array_equal(session.pose.rotations, original.at(session.time).rotations)
    tab.view.toggle()
    tab.update(session.time)
    assert tab.view.shown.value == EDITED and session.active.pose_override is None
    tab.view.shown.value = ADJACENT
    tab.update(session.time)
    twin = tab.view.twin
    assert session.extras == (twin,) and twin.motion is original and not twin.ghost
    apart = twin.frames(session.time).positions[:, 0].min() - session.active.frames(session.time).positions[:, 0].max()
    assert apart > 0.0, "they do not stand in each other"
    tab.view.shown.value = EDITED
    tab.update(session.time)
    assert session.extras == ()


def test_a_foot_on_the_ground_is_ringed_there_and_a_pin_around_its_part(tab: Desk, session: Session):
    contact, body = tab.editor.contacts[0], session.body
    session.clock.seek(contact.first / session.motion.fps)
    tab.pins.toggle("head")
    tab.update(session.time)
    frames = session.active.frames(session.time)
    head = tab.pose._rings._rings.points[:, 0].reshape(-1, CORNERS, 3)[0]
    assert tab.pose._rings._rings.visible
    assert np.linalg.norm(head.mean(axis=0) - frames.positions[body.index("head")]) < 1e-3
    pull(tab, session)
    assert not tab.pose._rings._rings.visible
    frames, rings = session.active.frames(session.time), tab.motion._rings._rings
    foot = rings.points[:, 0].reshape(-1, CORNERS, 3)[0]
    toes = [j for j in range(len(body.skeleton)) if body.roles[contact.part] in body.skeleton.path(j)]
    inside = frames.positions[toes][:, [0, 2]]
    assert (inside > foot[:, [0, 2]].min(axis=0)).all() and (inside < foot[:, [0, 2]].max(axis=0)).all()
    assert np.ptp(foot[:, 1]) < 1e-6 and 0.0 < foot[0, 1] < 0.02, "it lies on the ground"
    tab.view.contacts.value = False
    tab.update(session.time)
    assert not rings.visible
    tab.view.contacts.value = True


def test_rings_go_around_whatever_a_body_wears(tab: Desk, data_dir: Path):
    motion = load(data_dir / "characters" / "KayKit_Knight.glb")
    body, skeleton = Humanoid(motion.skeleton), motion.skeleton
    frames, joint = skeleton.forward(motion[10]), body.index("left_foot")
    below = [j for j in range(len(skeleton)) if joint in skeleton.path(j)]
    shoe = []
    for mesh in skeleton.character.meshes:
        most = mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)]
        shoe.append(mesh.posed(frames)[np.isin(most, below)][:, [0, 2]])
    ring = tab.pose._rings.footprint(body, frames, joint)[:, [0, 2]]
    assert min(len(part) for part in shoe) == 0 < len(np.concatenate(shoe)), "some of its meshes are no shoes"
    middle = ring.mean(axis=0)
    edges = np.roll(ring, -1, axis=0) - ring
    inwards = np.stack([-edges[:, 1], edges[:, 0]], axis=-1)
    inwards *= np.sign(np.einsum("ai,ai->a", middle - ring, inwards))[:, None]
    inside = np.einsum("pai,ai->pa", np.concatenate(shoe)[:, None] - ring, inwards) > 0.0
    assert inside.all(axis=1).mean() > 0.99


@pytest.mark.parametrize("kind", ["throw", "dance"])
def test_every_moment_of_other_motions_can_be_drawn(tab: Desk, session: Session, kind: str):
    from posable.edit import MotionEditor

    session.open_sample(kind, keep=False)
    session.replace(session.motion[:40], "Cut")
    editor = MotionEditor(session.motion, session.body)
    for frame in range(0, 40, 5):
        now = [one for one in editor.contacts if one.first <= frame <= one.last]
        tab.pose._rings.draw(session.body, session.active.frames(frame / 60), ("hips", "left_foot"), now)
        assert np.isfinite(tab.pose._rings._rings.points).all()
    tab.pose._rings.hide()
