"""One posture on every rig: bones point the same way in the world, spines hand over their shape, pictures show it."""

import importlib.util

import numpy as np
import pytest

import posable.math as pm
from posable.body import CanonicalPose, figure
from posable.body.canonical import other_side, spine_orientations
from posable.body.roles import parent_role
from posable.formats import load
from posable.render.picture import save_picture

from .bodies import all_bodies, angle_between, directions, file_body, motion_of, plan_body, random_pose
from .rigs import PLANS

# Limbs of two-joint bones agree to rounding; CMU files have six digits, and their forearm a joint inside it.
EXACT, CAPTURED = 1e-7, 1e-5


@pytest.fixture(scope="module")
def tool(request):
    """tools/draw_postures.py, which draws the documentation's picture."""
    path = request.config.rootpath / "tools" / "draw_postures.py"
    spec = importlib.util.spec_from_file_location("draw_postures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_posture_by_hand_looks_the_same_on_every_rig(data_dir, tool):
    for posture_name, posture in tool.postures_by_hand().items():
        expected = directions(figure(), figure().pose(posture))
        for name, body in all_bodies(data_dir).items():
            for bone, direction in directions(body, body.pose(posture)).items():
                assert angle_between(direction, expected[bone]) < EXACT, (posture_name, name, bone)


def test_a_captured_motion_looks_the_same_on_every_rig(data_dir):
    source = file_body(data_dir, "CMU")
    pose = motion_of(data_dir, "CMU").pose[1::60]
    posture, expected = source.canonical(pose), directions(source, pose)
    gaze = pm.rotate(posture.world()[:, posture.index("head")], [0.0, 0.0, 1.0])
    for name, body in all_bodies(data_dir).items():
        moved = body.pose(posture)
        for bone, direction in directions(body, moved).items():
            assert angle_between(direction, expected[bone]).max() < CAPTURED, (name, bone)
        again = body.canonical(moved)
        looking = pm.rotate(again.world()[:, again.index("head")], [0.0, 0.0, 1.0])
        assert angle_between(looking, gaze).max() < EXACT, name
        assert np.abs(again.hips - posture.hips).max() < 1e-12, name


def test_hands_and_feet_are_oriented_alike_on_every_rig(data_dir):
    posture = figure().canonical(random_pose(figure().skeleton, np.random.default_rng(0), (30,)))
    theirs = dict(zip(posture.roles, np.moveaxis(posture.world(), -2, 0)))
    for name, body in all_bodies(data_dir).items():
        found = body.canonical(body.pose(posture))
        ours = dict(zip(found.roles, np.moveaxis(found.world(), -2, 0)))
        for role in ("left_hand", "right_hand", "left_foot", "right_foot", "head", "hips"):
            assert pm.angle(ours[role], theirs[role]).max() < 1e-12, (name, role)


def test_knuckles_point_where_the_posture_turns_the_hand():
    turn = pm.normalize(np.random.default_rng(1).normal(size=(20, 4)))
    posture = CanonicalPose.neutral().rotated(left_upper_arm=turn)
    for arms in ("T", "A", "down"):
        body = plan_body("vroid", arms, "oblique", seed=2)
        frames = body.skeleton.forward(body.pose(posture))
        across = frames.point("J_Bip_L_Index1") - frames.point("J_Bip_L_Little1")
        along = frames.point("J_Bip_L_Middle1") - frames.point("J_Bip_L_Hand")
        across, along = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (across, along))
        assert angle_between(along, pm.rotate(turn, [0.0, -1.0, 0.0])).max() < EXACT
        thumb_side = across - np.sum(across * along, axis=-1, keepdims=True) * along
        thumb_side /= np.linalg.norm(thumb_side, axis=-1, keepdims=True)
        assert angle_between(thumb_side, pm.rotate(turn, [0.0, 0.0, 1.0])).max() < EXACT


def test_parts_that_one_body_lacks_leave_the_rest_in_place():
    """A shrugging clavicle on a rig without one: the arm keeps its direction in the world."""
    shrug = CanonicalPose.neutral().rotated(
        left_shoulder=pm.axis_angle([0.0, 0.0, 1.0], 0.4), left_upper_arm=pm.axis_angle([1.0, 0.0, 0.0], -1.0)
    )
    bare = plan_body("no clavicles", "A", seed=3)
    expected = directions(figure(), figure().pose(shrug))
    for bone, direction in directions(bare, bare.pose(shrug)).items():
        assert angle_between(direction, expected[bone]) < EXACT, bone
    back = figure().pose(bare.canonical(bare.pose(shrug)))
    for bone, direction in directions(figure(), back).items():
        assert angle_between(direction, expected[bone]) < EXACT, bone


# Spines


def bent(plan: str, degrees: float):
    """A body and a pose whose spine is bent forward by so much in all, every joint above the hips sharing alike."""
    body = plan_body(plan, "A", seed=4)
    posture = body.canonical(body.neutral_pose)
    bends = np.tile(pm.axis_angle([1.0, 0.0, 0.0], np.radians(degrees) / (len(body.spine) - 1)), (len(body.spine), 1))
    bends[0] = [1.0, 0.0, 0.0, 0.0]
    world = [bends[0]]
    for bend in bends[1:]:
        world.append(pm.multiply(world[-1], bend))
    roles = {role: body.spine.index(j) for role, j in body.roles.items() if j in body.spine}
    local = {}
    for role, row in roles.items():
        parent = parent_role(role, roles)
        local[role] = world[row] if parent is None else pm.multiply(pm.conjugate(world[roles[parent]]), world[row])
    spine = posture.spine.__class__(posture.spine.roles, posture.spine.at, posture.spine.chest, bends)
    return body, posture.rotated(**local).replace(spine=spine)


def test_spines_of_any_number_of_joints_keep_hips_chest_and_head(data_dir):
    rng = np.random.default_rng(5)
    bodies = all_bodies(data_dir)
    names = list(bodies)
    for name in names:
        source = bodies[name]
        posture = source.canonical(random_pose(source.skeleton, rng, (6,)))
        chest = source.spine[posture.spine.chest]
        expected = source.canonical_orientation(source.skeleton.forward(source.pose(posture)), chest)
        for other in rng.choice(names, 4, replace=False):
            target = bodies[other]
            moved = target.pose(posture)
            found = target.canonical_orientation(
                target.skeleton.forward(moved), target.spine[target.canonical(moved).spine.chest]
            )
            assert pm.angle(found, expected).max() < 1e-12, (name, other)


def leaning(body, pose) -> float:
    """How far the way from hips to head is turned from the neutral pose [deg]."""
    ways = []
    for each in (pose, body.neutral_pose):
        places = body.skeleton.forward(each).positions
        way = places[body.index("head")] - places[body.index("hips")]
        ways.append(way / np.linalg.norm(way))
    return float(np.degrees(angle_between(*ways)))


@pytest.mark.parametrize("source", ["mixamo", "rigify", "unreal", "biped", "smpl"])
@pytest.mark.parametrize("target", ["mixamo", "rigify", "unreal", "biped", "smpl"])
def test_a_bent_spine_keeps_its_lean_on_another_spine(source, target):
    """Bent by 60 degrees in all, spines whose arms hang about as high lean within 3.5 degrees of each other."""
    giver, posture = bent(source, 60.0)
    taker = plan_body(target, "T", seed=5)
    assert abs(leaning(giver, giver.pose(posture)) - leaning(taker, taker.pose(posture))) < 3.5


@pytest.mark.parametrize("source", ["h-anim", "daz", "life forms", "no clavicles", "mixamo"])
@pytest.mark.parametrize("target", ["h-anim", "daz", "life forms", "no clavicles", "mixamo"])
def test_arms_that_hang_at_another_height_cost_a_spine_some_of_its_lean(source, target):
    """The joint that carries the arms keeps its orientation: where it sits at .3 of the torso on one rig and at 1 on
    the other, as here, the lean may differ by a sixth of the bend."""
    giver, posture = bent(source, 60.0)
    taker = plan_body(target, "T", seed=5)
    assert abs(leaning(giver, giver.pose(posture)) - leaning(taker, taker.pose(posture))) < 10.0


def test_a_many_jointed_spine_bends_smoothly_after_a_spine_of_few_joints():
    _, posture = bent("daz", 60.0)
    body = plan_body("h-anim", "T", seed=6)
    found = body.canonical(body.pose(posture)).spine
    angles = np.degrees(pm.angle(found.bends[1:], [1.0, 0.0, 0.0, 0.0]))
    assert angles.max() < 15.0, "no joint takes a quarter of the bend"
    assert np.isclose(angles.sum(), 60.0, atol=1e-6), "all of them turn the same way"


def test_spines_alike_are_paired_joint_by_joint(data_dir):
    giver, taker = file_body(data_dir, "CMU"), file_body(data_dir, "MakeHuman CMU")
    posture = giver.canonical(random_pose(giver.skeleton, np.random.default_rng(7), (4,)))
    paired = spine_orientations(posture, posture.spine.roles, posture.spine.at + 0.05, posture.spine.chest)
    own = spine_orientations(posture, posture.spine.roles, posture.spine.at, posture.spine.chest)
    assert np.array_equal(paired, own)
    assert len(giver.spine) == len(taker.spine)


def test_changing_a_role_changes_that_part_and_what_hangs_on_it(data_dir):
    body = file_body(data_dir, "MakeHuman")
    posture = body.canonical(random_pose(body.skeleton, np.random.default_rng(8)))
    chest = pm.axis_angle([0.0, 1.0, 0.0], 0.7)
    again = body.canonical(body.pose(posture.rotated(chest=chest)))
    assert pm.angle(again.rotation("chest"), chest) < 1e-12
    others = [row for row, role in enumerate(posture.roles) if role != "chest"]
    assert pm.angle(again.rotations[others], posture.rotations[others]).max() < 1e-12


def test_a_posture_without_head_or_spine_can_be_posed():
    waist = CanonicalPose(("hips", "left_upper_arm"), np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), (0.0, 1.0, 0.0))
    for plan in PLANS:
        body = plan_body(plan, "A", seed=9)
        found = body.canonical(body.pose(waist))
        rows = [found.index(role) for role in body.roles]  # of fingers the posture says nothing: they are as at rest
        assert pm.angle(found.rotations[rows], [1.0, 0.0, 0.0, 0.0]).max() < 1e-12, plan


def test_roles_have_another_side():
    assert other_side("left_hand") == "right_hand" and other_side("right_toes") == "left_toes"
    assert other_side("hips") == "hips" and other_side("upper_chest") == "upper_chest"


# Pictures


def test_postures_are_drawn_on_every_rig(data_dir, tool, tmp_path):
    """The contact sheet of the documentation: look at it in the test's folder, or docs/_static."""
    height = 80
    sheet = tool.draw(data_dir, height)
    save_picture(sheet, tmp_path / "postures.png")
    rows = len(tool.postures_by_hand()) + 1
    assert sheet.shape[0] == rows * height
    dark = sheet.min(axis=2) < 200
    for row in range(rows):
        inked = dark[row * height : (row + 1) * height].any(axis=0)
        assert inked.mean() > 0.3, "figures stand side by side in every row"


def test_what_is_retargeted_can_be_loaded_again(data_dir, tmp_path):
    """A CMU clip on the KayKit knight, as a motion of the knight's own skeleton."""
    source, knight = file_body(data_dir, "CMU"), file_body(data_dir, "KayKit knight")
    motion = motion_of(data_dir, "CMU")[100:130]
    moved = motion.replace(skeleton=knight.skeleton, pose=knight.pose(source.canonical(motion.pose)))
    from posable.formats import save

    save(moved, tmp_path / "knight.npz")
    again = load(tmp_path / "knight.npz")
    assert np.abs(again.pose.rotations - moved.pose.rotations).max() < 1e-12
