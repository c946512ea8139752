"""MJCF robots with includes, classes, frames and meshes, and STL files that lie about themselves."""

from __future__ import annotations

import os
import struct

import numpy as np

from .cases import case, written

BODY = "<body name='a'><freejoint/><geom size='1'/></body>"


def mjcf(folder, inside="", bodies=BODY, name="a.xml"):
    """An MJCF file with something before its bodies."""
    return written(folder / name, f"<mujoco>{inside}<worldbody>{bodies}</worldbody></mujoco>")


def joints(count, extra=""):
    """Bodies that hang on the first one, with a hinge each."""
    return "".join(f"<body name='b{k}'><joint name='j{k}' {extra}/></body>" for k in range(count))


def triangles(count, seed=0):
    """A binary STL file of random triangles."""
    rows = np.zeros(count, dtype=np.dtype([("numbers", "<f4", 12), ("attribute", "<u2")]))
    rows["numbers"] = np.random.default_rng(seed).normal(size=(count, 12))
    return b"\0" * 80 + struct.pack("<I", count) + rows.tobytes()


@case("load")
def mjcf_that_includes_itself(folder):
    return mjcf(folder, "<include file='a.xml'/>")


@case("load")
def mjcf_two_files_that_include_each_other(folder):
    written(folder / "b.xml", "<mujoco><include file='a.xml'/></mujoco>")
    return mjcf(folder, "<include file='b.xml'/>")


@case("load")
def mjcf_a_thousand_includes(folder):
    for k in range(1000):
        written(folder / f"b{k}.xml", f"<mujoco><include file='b{k + 1}.xml'/></mujoco>")
    return mjcf(folder, "<include file='b0.xml'/>")


@case("load")
def mjcf_includes_that_are_no_files(folder):
    os.mkfifo(folder / "pipe.xml")
    return mjcf(folder, "<include file='pipe.xml'/>")


@case("load")
def mjcf_includes_a_device(folder):
    (folder / "zero.xml").symlink_to("/dev/zero")
    return mjcf(folder, "<include file='zero.xml'/>")


@case("load")
def mjcf_includes_a_folder(folder):
    return mjcf(folder, "<include file='.'/>")


@case("load")
def mjcf_includes_a_link_in_a_circle(folder):
    (folder / "b.xml").symlink_to(folder / "c.xml")
    (folder / "c.xml").symlink_to(folder / "b.xml")
    return mjcf(folder, "<include file='b.xml'/>")


@case("load")
def mjcf_a_long_name_of_an_include(folder):
    return mjcf(folder, f"<include file='{'x' * 10**6}'/>")


@case("load")
def mjcf_classes_in_classes(folder):
    deep = "".join(f"<default class='c{k}'><geom size='1 2 3' pos='0 0 {k}' material='m'/>" for k in range(480))
    return mjcf(folder, f"<default>{deep}{'</default>' * 480}</default>")


@case("load")
def mjcf_classes_without_end(folder):
    return mjcf(
        folder, f"<default>{''.join(f'<default class={chr(34)}c{k}{chr(34)}/>' for k in range(30_000))}</default>"
    )


@case("load")
def mjcf_a_class_with_long_attributes(folder):
    values = "0 " * 200_000
    deep = "".join(f"<default class='c{k}'>" for k in range(400))
    geom = f"<geom size='{values}' pos='{values}' quat='{values}'/>"
    return mjcf(folder, f"<default>{geom}{deep}{'</default>' * 400}</default>")


@case("load")
def mjcf_shapes_that_share_a_long_size(folder):
    shapes = "<geom size='1'/>" * 20_000
    return mjcf(folder, f"<default><geom size='{'1 ' * 30_000}'/></default>", f"<body><freejoint/>{shapes}</body>")


@case("load")
def mjcf_motors_that_share_a_long_gear(folder):
    motors = "<motor joint='j0' gear='1'/>" * 20_000
    gear = f"<default><motor gear='1 {'0' * 60_000} 1'/></default>"
    return mjcf(folder, f"{gear}<actuator>{motors}</actuator>", f"<body name='a'>{joints(2)}</body>")


@case("load")
def mjcf_a_mesh_through_many_folders(folder):
    return with_mesh(folder, file="x/../" * 200_000 + "m.stl")


@case("load")
def mjcf_a_class_that_is_not_there(folder):
    return mjcf(folder, bodies=f"<body childclass='{'x' * 10**6}'/>")


@case("load")
def mjcf_frames_in_frames(folder):
    return mjcf(folder, bodies="<frame euler='1 2 3'>" * 480 + BODY + "</frame>" * 480)


@case("load")
def mjcf_frames_too_deep(folder):
    return mjcf(folder, bodies="<frame>" * 5000 + BODY + "</frame>" * 5000)


@case("load")
def mjcf_a_chain_of_bodies(folder):
    row = "".join(f"<body name='b{k}'><joint name='j{k}'/><geom size='1'/>" for k in range(490))
    return mjcf(folder, bodies=row + "</body>" * 490)


@case("load")
def mjcf_many_bodies(folder):
    return mjcf(folder, bodies=f"<body name='a'><freejoint/>{joints(9000)}</body>")


@case("load")
def mjcf_too_many_bodies(folder):
    return mjcf(folder, bodies=f"<body name='a'><freejoint/>{joints(20_000)}</body>")


@case("load")
def mjcf_a_body_of_many_joints_without_names(folder):
    return mjcf(folder, bodies="<body name='a'>" + "<joint/>" * 9000 + "</body>")


@case("load")
def mjcf_bodies_called_like_joints(folder):
    names = ["a"] + ["a" + "_link" * k for k in range(300)] + [f"a_link{k}" for k in range(3000)]
    row = "".join(f"<body name='x{k}'><joint name='{name}'/></body>" for k, name in enumerate(dict.fromkeys(names)))
    return mjcf(folder, bodies=f"<body name='a'>{row}</body>")


@case("load")
def mjcf_many_shapes(folder):
    return mjcf(folder, bodies="<body><freejoint/>" + "<geom size='1'/>" * 190_000 + "</body>")


@case("load")
def mjcf_many_links_that_touch(folder):
    row = "".join(f"<body name='b{k}'><geom size='1'/></body>" for k in range(9000))
    return mjcf(folder, bodies=f"<body name='a'><freejoint/>{row}</body>")


@case("load")
def mjcf_constraints_in_a_circle(folder):
    row = "".join(f"<joint joint1='j{k}' joint2='j{(k + 1) % 9000}'/>" for k in range(9000))
    return mjcf(folder, f"<equality>{row}</equality>", f"<body name='a'>{joints(9000)}</body>")


@case("load")
def mjcf_constraints_in_a_row(folder):
    row = "".join(f"<joint joint1='j{k}' joint2='j{k + 1}' polycoef='0 -1'/>" for k in range(8999))
    return mjcf(folder, f"<equality>{row}</equality>", f"<body name='a'>{joints(9000)}</body>")


@case("load")
def mjcf_a_keyframe_without_end(folder):
    return mjcf(folder, f"<keyframe><key name='home' qpos='{'0 ' * 10**6}'/></keyframe>")


@case("load")
def mjcf_a_keyframe_of_nothing(folder):
    return mjcf(folder, "<keyframe><key name='home' qpos='0 0 0 0 0 0 0'/></keyframe>")


@case("load")
def mjcf_numbers_beyond_all_numbers(folder):
    body = (
        "<body name='a' pos='1e308 1e308 1e308' quat='1e308 1e308 0 0'><freejoint/>"
        "<geom size='1e308' fromto='-1e308 0 0 1e308 0 0' type='capsule'/></body>"
    )
    return mjcf(folder, bodies=body)


@case("load")
def mjcf_constraints_of_large_numbers(folder):
    row = "<joint joint1='j0' joint2='j1' polycoef='1e308 1e308'/>"
    return mjcf(folder, f"<equality>{row}</equality>", f"<body name='a'>{joints(2)}</body>")


@case("load")
def mjcf_motors_of_large_numbers(folder):
    row = "<motor joint='j0' gear='1e308' forcerange='-1e308 1e308' ctrlrange='-1e308 1e308'/>" * 1000
    return mjcf(folder, f"<actuator>{row}</actuator>", f"<body name='a'>{joints(2)}</body>")


def with_mesh(folder, geoms=1, file="m.stl", more=""):
    """A robot with a mesh of a file in its folder."""
    geom = "<geom type='mesh' mesh='m'/>" * geoms
    return mjcf(folder, f"<asset><mesh name='m' file='{file}' {more}/></asset>", f"<body><freejoint/>{geom}</body>")


@case("save")
def mjcf_the_little_robot_itself(folder):
    written(folder / "m.stl", triangles(100))
    return with_mesh(folder)


@case("save")
def mjcf_a_mesh_drawn_ten_thousand_times(folder):
    written(folder / "m.stl", triangles(10_000))
    return with_mesh(folder, 10_000)


@case("save")
def mjcf_a_small_mesh_drawn_ten_thousand_times(folder):
    written(folder / "m.stl", triangles(12))
    return with_mesh(folder, 10_000)


@case("save")
def mjcf_a_mesh_that_is_a_pipe(folder):
    os.mkfifo(folder / "m.stl")
    return with_mesh(folder)


@case("save")
def mjcf_a_mesh_that_is_a_device(folder):
    (folder / "m.stl").symlink_to("/dev/zero")
    return with_mesh(folder)


@case("save")
def mjcf_a_mesh_that_is_no_mesh(folder):
    written(folder / "m.stl", b"\0" * 1000)
    return with_mesh(folder)


@case("save")
def mjcf_a_mesh_far_away(folder):
    return with_mesh(folder, file="../../../../../../../../etc/passwd.stl")


@case("save")
def mjcf_a_mesh_of_huge_scale(folder):
    written(folder / "m.stl", triangles(100))
    return with_mesh(folder, more="scale='1e308 1e308 1e308' refpos='1e308 0 0'")


@case("mesh")
def stl_triangles(folder):
    return written(folder / "a.stl", triangles(2000))


@case("mesh", large=True)
def stl_many_triangles(folder):
    return written(folder / "a.stl", triangles(200_000))


@case("mesh")
def stl_more_triangles_than_bytes(folder):
    return written(folder / "a.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 1000)


@case("mesh")
def stl_no_triangles(folder):
    return written(folder / "a.stl", b"\0" * 84)


@case("mesh")
def stl_numbers_that_are_none(folder):
    return written(folder / "a.stl", b"\0" * 80 + struct.pack("<I", 20) + b"\xff" * 1000)


@case("mesh")
def stl_one_triangle_over_and_over(folder):
    return written(folder / "a.stl", b"\0" * 80 + struct.pack("<I", 100_000) + b"\0" * 5_000_000)


@case("mesh", large=True)
def stl_words(folder):
    return written(folder / "a.stl", "solid a\n" + "vertex 1 2 3\n" * 750_000)


@case("mesh", large=True)
def stl_words_without_numbers(folder):
    return written(folder / "a.stl", "solid a\n" + "vertex " * 1_400_000)


@case("mesh")
def stl_a_number_of_a_million_digits(folder):
    return written(folder / "a.stl", f"solid a vertex {'1' * 10**6} 2 3 vertex 1 2 3 vertex 1 2 3")
