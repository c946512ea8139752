"""USD files, judged by Pixar's own library (usd-core)."""

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError
from posable.skeleton import Motion, Pose

from .example_motions import random_motion

pxr = pytest.importorskip("pxr")
from pxr import Usd, UsdGeom, UsdSkel, Vt  # noqa: E402


def judged(path):
    """(stage, cache, queries of skeletons by name, of meshes by name): all of them end with the stage."""
    stage = Usd.Stage.Open(str(path))
    root = UsdSkel.Root(stage.GetDefaultPrim())
    assert root
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    bindings = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    skeletons = {b.GetSkeleton().GetPrim().GetName(): cache.GetSkelQuery(b.GetSkeleton()) for b in bindings}
    meshes = {t.GetPrim().GetName(): (t, b) for b in bindings for t in b.GetSkinningTargets()}
    return stage, cache, skeletons, meshes


def joint_places(query, frame):
    made = query.ComputeJointSkelTransforms(Usd.TimeCode(frame))
    return np.array([matrix.ExtractTranslation() for matrix in made])


@pytest.mark.parametrize("kind", ["clip", "moved", "figure"])
def test_joints_are_where_they_are_in_every_frame(kind, tmp_path, cmu):
    motion = {
        "clip": lambda: ps.load(cmu / "16_35.bvh")[:40],
        "moved": lambda: random_motion(2, moved=True, rest=True),
        "figure": lambda: ps.samples.walk(duration=0.5),
    }[kind]()
    ps.save(motion, tmp_path / "a.usda")
    stage, _cache, skeletons, _meshes = judged(tmp_path / "a.usda")
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == motion.fps
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, len(motion) - 1)
    (query,) = skeletons.values()
    assert UsdSkel.Topology(query.GetJointOrder()).Validate()[0]
    truth = motion.skeleton.forward(motion.pose).positions
    size = max(1.0, float(np.abs(truth).max()))
    for frame in range(0, len(motion), 7):
        assert np.abs(joint_places(query, frame) - truth[frame]).max() < 2e-6 * size * len(motion.skeleton) ** 0.5
    rest = np.array([m.ExtractTranslation() for m in query.ComputeJointSkelTransforms(Usd.TimeCode(0), True)])
    assert np.abs(rest - motion.skeleton.forward(motion.skeleton.rest).positions).max() < 1e-9 * size
    above = [UsdSkel.Topology(query.GetJointOrder()).GetParent(j) for j in range(len(motion.skeleton))]
    assert above == motion.skeleton.parents.tolist()


@pytest.mark.parametrize("name", ["KayKit_Knight.glb", "CesiumMan.glb", "figure"])
def test_skins_are_deformed_as_ours_are(name, tmp_path, data_dir):
    motion = ps.samples.walk(duration=0.3) if name == "figure" else ps.load(data_dir / "characters" / name)[:12]
    ps.save(motion, tmp_path / "a.usda")
    _stage, cache, _skeletons, meshes = judged(tmp_path / "a.usda")
    frames = motion.skeleton.forward(motion.pose)
    character = motion.skeleton.character
    if character is None:
        from posable.skeleton.character import bone_mesh

        own = [bone_mesh(motion.skeleton, motion.skeleton.forward(motion.skeleton.rest))]
    else:
        own = list(character.meshes)
    assert len(meshes) == len(own)
    left = list(own)
    for target, binding in meshes.values():
        skeleton = cache.GetSkelQuery(binding.GetSkeleton())
        for frame in (0, len(motion) - 1):
            points = Vt.Vec3fArray(UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get())
            xforms = skeleton.ComputeSkinningTransforms(Usd.TimeCode(frame))
            assert target.ComputeSkinnedPoints(xforms, points, Usd.TimeCode(frame))
            alike = [mesh for mesh in left if len(mesh.vertices) == len(points)]
            off = [float(np.abs(np.array(points) - mesh.posed(frames)[frame]).max()) for mesh in alike]
            assert min(off) < 2e-5
        mesh = alike[int(np.argmin(off))]
        left = [one for one in left if one is not mesh]
        counts = UsdGeom.Mesh(target.GetPrim()).GetFaceVertexCountsAttr().Get()
        assert list(counts) == [3] * len(mesh.faces)
        colours = UsdGeom.Mesh(target.GetPrim()).GetDisplayColorAttr().Get()
        assert colours is None or len(colours) in (0, len(mesh.vertices))
    assert not left


def test_meshes_bound_in_other_poses_have_skeletons_of_their_own(tmp_path, data_dir):
    from dataclasses import replace

    motion = ps.load(data_dir / "characters" / "CesiumMan.glb")[:5]
    (mesh,) = motion.skeleton.character.meshes
    shift = np.array([0.0, 1.0, 0.0])
    other = replace(mesh, name="other", vertices=mesh.vertices + shift, bind_positions=mesh.bind_positions + shift)
    character = replace(motion.skeleton.character, meshes=(mesh, other), source=None)
    motion = motion.replace(skeleton=motion.skeleton.replace(character=character))
    ps.save(motion, tmp_path / "a.usda")
    _stage, cache, skeletons, meshes = judged(tmp_path / "a.usda")
    assert set(skeletons) == {"Skeleton", "Skeleton_2"} and len(meshes) == 2
    found = []
    for target, binding in meshes.values():
        points = Vt.Vec3fArray(UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get())
        xforms = cache.GetSkelQuery(binding.GetSkeleton()).ComputeSkinningTransforms(Usd.TimeCode(3))
        target.ComputeSkinnedPoints(xforms, points, Usd.TimeCode(3))
        found.append(np.array(points))
    assert np.abs(found[0] - found[1]).max() < 2e-5  # the same body, wherever it was bound


def test_names_that_usd_does_not_know_are_changed_and_stay_apart(tmp_path):
    motion = random_motion(3, joints=4, frames=2)
    names = ["Bip01 L Hand", "Bip01_L_Hand", "7", 'Kopf/Hals"é']
    motion = motion.replace(skeleton=motion.skeleton.replace(names=names))
    ps.save(motion, tmp_path / "a.usda")
    _stage, _cache, skeletons, _meshes = judged(tmp_path / "a.usda")
    joints = [path.split("/")[-1] for path in skeletons["Skeleton"].GetJointOrder()]
    assert len(set(joints)) == 4 and joints[0] == "Bip01_L_Hand" and all(name.isidentifier() for name in joints)


@pytest.mark.parametrize("frames", [0, 1])
def test_a_motion_of_no_frames_and_of_one_are_stages_too(tmp_path, frames):
    motion = random_motion(4)[:frames]
    ps.save(motion, tmp_path / "a.usda")
    _stage, _cache, skeletons, _meshes = judged(tmp_path / "a.usda")
    truth = motion.skeleton.forward(motion.pose[0] if frames else motion.skeleton.rest).positions
    assert np.abs(joint_places(skeletons["Skeleton"], 0) - truth).max() < 1e-5


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    motion = random_motion(5)
    broken = Motion(motion.skeleton, Pose(np.full((20, 3), np.nan), motion.pose.rotations), 30.0)
    with pytest.raises(PosableError, match="not finite"):
        ps.save(broken, tmp_path / "a.usda")
    assert not list(tmp_path.iterdir())


def test_the_validators_of_usd_have_no_word_against_it(tmp_path, data_dir):
    UsdValidation = pytest.importorskip("pxr.UsdValidation")
    ps.save(ps.load(data_dir / "characters" / "CesiumMan.glb")[:3], tmp_path / "a.usda")
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert any("Skel" in validator.GetMetadata().name for validator in validators)
    errors = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(tmp_path / "a.usda")))
    assert not [error.GetMessage() for error in errors]


def test_the_command_line_writes_it(tmp_path, capsys):
    from posable.cli.app import app

    ps.save(ps.samples.walk(duration=0.2), tmp_path / "walk.bvh")
    with pytest.raises(SystemExit) as ended:
        app(["convert", f"{tmp_path}/walk.bvh", f"{tmp_path}/walk.usda"])
    assert ended.value.code == 0 and Usd.Stage.Open(f"{tmp_path}/walk.usda").GetEndTimeCode() == 12
    capsys.readouterr()


def test_thousands_of_names_that_become_alike_take_no_time_each():
    """As many as a file may have; a number is not looked for from the first one each time."""
    from posable.formats.usd.write import joint_paths

    count = 3000
    names = [chr(0x4E00 + k) for k in range(count)]
    paths = joint_paths(ps.Skeleton(names, [-1, *[0] * (count - 1)], np.zeros((count, 3))))
    assert len(set(paths)) == count and paths[1] == "_/__2" and paths[-1] == f"_/__{count}"


def test_a_tree_whose_paths_fill_the_memory_is_refused():
    from posable.formats.usd.write import joint_paths

    count = 3000
    chain = ps.Skeleton([f"{k:0100d}" for k in range(count)], [*range(-1, count - 1)], np.zeros((count, 3)))
    with pytest.raises(PosableError, match="too deep"):
        joint_paths(chain)
