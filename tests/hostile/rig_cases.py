"""URDF robots and MakeHuman rigs with chains, mimics, shared joints and odd neighbours."""

from __future__ import annotations

import os

from .cases import case, written

LINK, JOINT = '<link name="l{}"/>', '<joint name="j{}" type="{}"><parent link="l{}"/><child link="l{}"/>{}</joint>'


def robot(folder, count, parent=lambda k: k, kind="revolute", inside=lambda k: "", more=""):
    """A robot of `count` joints; joint k hangs on link `parent(k)` and carries link k + 1."""
    links = "".join(LINK.format(k) for k in range(count + 1))
    joints = "".join(JOINT.format(k, kind, parent(k), k + 1, inside(k)) for k in range(count))
    return written(folder / "a.urdf", f'<robot name="r">{links}{joints}{more}</robot>')


@case("load")
def urdf_nothing_moves(folder):
    return robot(folder, 3, kind="fixed")


@case("load")
def urdf_one_link(folder):
    return robot(folder, 0)


@case("load")
def urdf_only_floating_joints(folder):
    return robot(folder, 20_000, kind="floating")


@case("load", large=True)
def urdf_mimics_listed_backwards(folder):
    return robot(folder, 30_000, lambda k: 0, inside=lambda k: f'<mimic joint="j{k + 1}"/>' if k < 29_999 else "")


@case("load")
def urdf_mimics_in_a_circle(folder):
    return robot(folder, 10_000, inside=lambda k: f'<mimic joint="j{(k + 1) % 10_000}"/>')


@case("load")
def urdf_mimics_of_one_leader(folder):
    return robot(folder, 10_000, inside=lambda k: '<mimic joint="j0"/>' if k else "")


@case("load")
def urdf_mimics_that_multiply_beyond_all_numbers(folder):
    inside = lambda k: f'<mimic joint="j{k - 1}" multiplier="1e10" offset="1"/>' if k else ""  # noqa: E731
    return robot(folder, 60, inside=inside)


@case("robot", large=True)
def urdf_a_chain_listed_backwards(folder):
    return robot(folder, 40_000, lambda k: k + 2 if k < 39_999 else 0, kind="prismatic")


@case("load", large=True)
def urdf_origins_everywhere(folder):
    return robot(folder, 30_000, inside=lambda k: '<origin xyz="0 0 1" rpy="1 2 3"/><axis xyz="0 1 1"/>')


@case("robot", large=True)
def urdf_a_link_of_many_visuals(folder):
    visual = '<visual><origin rpy="1 2 3"/><geometry><box size="1 1 1"/></geometry></visual>'
    return written(folder / "a.urdf", f'<robot name="r"><link name="l">{visual * 45_000}</link></robot>')


@case("load", large=True)
def urdf_a_joint_of_many_children(folder):
    return robot(folder, 1, inside=lambda k: "<a/>" * 190_000)


@case("load")
def urdf_names_of_a_megabyte(folder):
    text = f'<robot name="r"><link name="{"a" * 10**6}"/><link name="{"a" * 10**6}"/></robot>'
    return written(folder / "a.urdf", text)


@case("load")
def urdf_links_called_like_joints(folder):
    links = '<link name="a"/><link name="b"/>'
    names = ["a" + "_link" * k for k in range(1500)]
    links += "".join(f'<link name="c{k}"/>' for k in range(1500))
    joints = "".join(
        f'<joint name="{name}" type="fixed"><parent link="a"/><child link="c{k}"/></joint>'
        for k, name in enumerate(names)
    )
    joints += '<joint name="z" type="fixed"><parent link="a"/><child link="b"/></joint>'
    return written(folder / "a.urdf", f'<robot name="r">{links}{joints}</robot>')


@case("load")
def urdf_elements_within_elements(folder):
    return written(folder / "a.urdf", "<robot>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>")


@case("load", large=True)
def urdf_attributes_without_end(folder):
    return written(folder / "a.urdf", "<robot " + " ".join(f'a{k}="{k}"' for k in range(300_000)) + "/>")


@case("load")
def urdf_a_number_of_a_million_digits(folder):
    return robot(
        folder, 1, inside=lambda k: f'<origin xyz="0 0 {"1" * 10**6}"/><limit lower="0.{"1" * 10**6}" upper="1"/>'
    )


@case("load")
def urdf_axes_beyond_all_numbers(folder):
    return robot(folder, 2, inside=lambda k: '<axis xyz="1e308 1e308 1e308"/><origin xyz="1e308 0 0" rpy="1e308 0 0"/>')


@case("robot")
def urdf_meshes_from_devices(folder):
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    links = "".join(
        mesh.format(name) for name in ("package://a/../../dev/zero", "file:///dev/zero", "/dev/zero", "a.stl")
    )
    os.mkfifo(folder / "a.stl")
    return written(folder / "a.urdf", f'<robot name="r"><link name="l">{links}</link></robot>')


@case("load")
def urdf_a_million_words_in_an_attribute(folder):
    return robot(folder, 1, inside=lambda k: f'<origin xyz="{"0 " * 10**6}"/>')


@case("load", large=True)
def urdf_text_between_elements(folder):
    return written(folder / "a.urdf", "<robot name='r'><link name='l'/>" + "a&#65;" * 1_500_000 + "</robot>")


BASE = "\n".join(
    ["v 0 0 0", "v 0 1 0", "v 1 0 0", "v 0 0 1", "g body", "f 1 2 3", "f 1 2 4", "g joint-ground", "f 1 3 4"]
)


def rig(folder, bones=None, joints=None, weights=None, base=BASE, **members):
    """A MakeHuman rig with its mesh and its weights."""
    bones = bones or {"a": {"head": "h", "tail": "t", "parent": None}}
    joints = joints or {"h": [0, 1], "t": [2, 3]}
    weights = {"a": [[0, 1.0], [1, 0.5]]} if weights is None else weights
    if base is not None:
        written(folder / "base.obj", base)
    if weights is not False:
        written(folder / "default_weights.mhw", weights if isinstance(weights, str) else {"weights": weights})
    return written(folder / "a.mhskel", {"name": "r", "bones": bones, "joints": joints} | members)


def bone(parent=None, head="h", tail="t", **members):
    """A bone of a rig."""
    return {"head": head, "tail": tail, "parent": parent} | members


@case("load")
def mhskel_the_little_rig_itself(folder):
    return rig(folder)


@case("load")
def mhskel_bones_that_share_a_large_joint(folder):
    bones = {f"b{k}": bone(f"b{k - 1}" if k else None) for k in range(1000)}
    return rig(folder, bones, {"h": [0] * 100_000, "t": [2]})


@case("load")
def mhskel_a_chain_of_ten_thousand_bones(folder):
    return rig(folder, {f"b{k}": bone(f"b{k - 1}" if k else None) for k in range(10_000)})


@case("load", large=True)
def mhskel_too_many_bones(folder):
    return rig(folder, {f"b{k}": bone(f"b{k - 1}" if k else None) for k in range(100_000)})


@case("load", large=True)
def mhskel_many_bones_of_many_vertices(folder):
    vertices = "v 0 0 0\n" * 200_000
    return rig(folder, {f"b{k}": bone("b0" if k else None) for k in range(5000)}, base=f"{vertices}g body\nf 1 2 3\n")


@case("load", large=True)
def mhskel_weights_of_one_vertex(folder):
    return rig(folder, weights={"a": [[0, 0.001]] * 600_000})


@case("load", large=True)
def mhskel_a_bone_that_refers_to_all(folder):
    return rig(folder, {"a": bone(reference=[f"x{k}" for k in range(500_000)])})


@case("load")
def mhskel_a_default_rig_that_is_one_chain(folder):
    chain = {f"d{k}": bone(f"d{k + 1}" if k < 9_998 else None) for k in range(9_999)}
    written(folder / "default.mhskel", {"bones": chain, "joints": {}})
    return rig(folder)


@case("load")
def mhskel_a_default_rig_that_runs_in_a_circle(folder):
    chain = {f"d{k}": bone(f"d{(k + 1) % 9999}") for k in range(9_999)}
    written(folder / "default.mhskel", {"bones": chain, "joints": {}})
    return rig(folder)


@case("load")
def mhskel_weights_that_are_a_device(folder):
    (folder / "w.mhw").symlink_to("/dev/zero")
    return rig(folder, weights_file="w.mhw")


@case("load")
def mhskel_weights_that_are_a_pipe(folder):
    os.mkfifo(folder / "w.mhw")
    return rig(folder, weights_file="w.mhw")


@case("load")
def mhskel_a_mesh_that_is_a_pipe(folder):
    os.mkfifo(folder / "base.obj")
    return rig(folder, base=None)


@case("load")
def mhskel_a_mesh_that_is_a_folder(folder):
    (folder / "base.obj").mkdir()
    return rig(folder, base=None)


@case("load")
def mhskel_a_default_rig_that_is_a_pipe(folder):
    os.mkfifo(folder / "default.mhskel")
    return rig(folder)


@case("load")
def mhskel_a_mesh_out_of_the_folder(folder):
    (folder / "base.obj").symlink_to("/etc/passwd")
    return rig(folder, base=None)


@case("load")
def mhskel_weights_nested_deeply(folder):
    return rig(folder, weights='{"weights": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}")


@case("load")
def mhskel_weights_of_odd_shapes(folder):
    return rig(folder, weights={"a": [[0, 1], [1]], "b": 3})


@case("load", large=True)
def obj_one_face_of_millions_of_corners(folder):
    return rig(folder, base=BASE + "\nf" + " 1" * 4_000_000)


@case("load", large=True)
def obj_groups_without_end(folder):
    return rig(folder, base=BASE + "\ng x" * 2_000_000)


@case("load", large=True)
def obj_vertices_without_end(folder):
    return rig(folder, base=BASE + "\nv 0 0 0" * 1_200_000)


@case("load", large=True)
def obj_faces_without_end(folder):
    return rig(folder, base=BASE + "\nf 1 2 3" * 1_200_000)


@case("load")
def obj_a_corner_of_a_million_digits(folder):
    return rig(folder, base=BASE + "\nf 1 2 " + "1" * 10**6)


@case("load", large=True)
def obj_one_line(folder):
    return rig(folder, base="v " + "0 " * 5_000_000)
