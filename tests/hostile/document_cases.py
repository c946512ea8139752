"""Documents of Posable's own: scenes, behaviours, calibrations and lists of edits."""

from __future__ import annotations

import os

from .cases import case, written

POSITION = [0.0, 0.0, 0.0]


def scene(folder, obstacles):
    """A scene."""
    return written(folder / "a.json", {"format": "posable-scene/1", "obstacles": obstacles})


def mesh(folder, triangles):
    """A mesh next to the scene."""
    text = "".join(f"v {k} 0 0\nv {k} 1 0\nv {k} 0 1\nf -1 -2 -3\n" for k in range(triangles))
    return written(folder / "m.obj", text)


@case("scene")
def scene_one_mesh_many_times(folder):
    mesh(folder, 10_000)
    return scene(folder, [{"kind": "mesh", "name": f"m{k}", "file": "m.obj"} for k in range(64)])


@case("scene", large=True)
def scene_a_large_mesh(folder):
    mesh(folder, 250_000)
    return scene(folder, [{"kind": "mesh", "name": "m", "file": "m.obj"}])


@case("scene")
def scene_two_thousand_obstacles(folder):
    return scene(folder, [{"kind": "sphere", "name": f"s{k}", "radius": 1.0} for k in range(2000)])


@case("scene")
def scene_too_many_obstacles(folder):
    return scene(folder, [{"kind": "sphere", "name": "s", "radius": 1.0}] * 60_000)


@case("scene")
def scene_names_alike(folder):
    return scene(folder, [{"kind": "sphere", "name": "s", "radius": 1.0}] * 2000)


@case("scene")
def scene_a_name_of_a_megabyte(folder):
    return scene(folder, [{"kind": "sphere", "name": "s" * 10**6, "radius": 1.0}, {"kind": "x" * 10**6}])


@case("scene")
def scene_a_mesh_that_is_a_pipe(folder):
    os.mkfifo(folder / "m.obj")
    return scene(folder, [{"kind": "mesh", "name": "m", "file": "m.obj"}])


@case("scene")
def scene_a_mesh_that_is_a_device(folder):
    (folder / "m.obj").symlink_to("/dev/zero")
    return scene(folder, [{"kind": "mesh", "name": "m", "file": "m.obj"}])


@case("scene")
def scene_a_mesh_of_huge_numbers(folder):
    written(folder / "m.obj", "v 1e308 0 0\nv 0 1e308 0\nv 0 0 -1e308\nf 1 2 3\n")
    return scene(folder, [{"kind": "mesh", "name": "m", "file": "m.obj", "scale": 1000.0}])


@case("scene")
def scene_a_pipe(folder):
    os.mkfifo(folder / "a.json")
    return folder / "a.json"


@case("scene")
def scene_nested_deeply(folder):
    return written(folder / "a.json", '{"format":"posable-scene/1","obstacles":' + "[" * 1_000_000)


@case("scene")
def scene_orientations_of_nothing(folder):
    return scene(folder, [{"kind": "box", "name": "b", "size": [1, 1, 1], "orientation": [0, 0, 0, 0]}])


@case("scene")
def scene_members_without_end(folder):
    text = ",".join(f'"a{k}":0' for k in range(300_000))
    return written(folder / "a.json", '{"format":"posable-scene/1","obstacles":[{"kind":"sphere",' + text + "}]}")


def behaviour(folder, keys, **members):
    """A behaviour."""
    content = {
        "format": "posable-behaviour/1",
        "limb": "right_arm",
        "parts": ["spine"],
        "interpolation": "linear",
        "weight": {"kind": "linear", "k": 1.0},
        "ellipse": {"radii": [1.0, 1.0], "centre": [0.0, 0.0]},
        "keys": keys,
    }
    return written(folder / "a.json", content | members)


def keys_of_default(folder, more):
    """The default behaviour with more keys, made by a function of their number."""
    import json

    import posable as ps

    ps.Behaviour.default(ps.figure(), "right_arm").save(folder / "a.json")
    content = json.loads((folder / "a.json").read_text())
    content["keys"] += more(content["keys"][-1])
    return written(folder / "a.json", content)


@case("behaviour")
def behaviour_as_many_keys_as_may_be(folder):
    def more(key):
        return [key | {"id": 1000 + k, "outer": False, "at": [0.001 * (k % 20), 0.001 * (k // 20)]} for k in range(440)]

    return keys_of_default(folder, more)


@case("behaviour")
def behaviour_keys_at_one_point(folder):
    return keys_of_default(
        folder, lambda key: [key | {"id": 1000 + k, "outer": False, "at": [0.1, 0.1]} for k in range(400)]
    )


@case("behaviour")
def behaviour_keys_on_a_line(folder):
    return keys_of_default(
        folder, lambda key: [key | {"id": 1000 + k, "outer": False, "at": [0.0, 1e-9 * k]} for k in range(400)]
    )


@case("behaviour")
def behaviour_too_many_keys(folder):
    return behaviour(folder, [{"id": 0, "at": [0, 0], "rotations": {}}] * 100_000)


@case("behaviour")
def behaviour_parts_without_end(folder):
    return behaviour(folder, [], parts=["spine"] * 500_000)


@case("behaviour")
def behaviour_rotations_of_many_parts(folder):
    rotations = {f"p{k}": [1, 0, 0, 0] for k in range(100_000)}
    return behaviour(folder, [{"id": 0, "at": [0, 0], "rotations": rotations}])


@case("behaviour")
def behaviour_a_limb_of_a_megabyte(folder):
    return behaviour(folder, [], limb="right_" + "arm" * 300_000)


@case("behaviour")
def behaviour_a_part_of_a_megabyte(folder):
    return behaviour(folder, [], parts=["spine" * 200_000])


@case("behaviour")
def behaviour_numbers_beyond_all(folder):
    return behaviour(
        folder, [], ellipse={"radii": [1e308, 1e-308], "centre": [1e308, -1e308]}, weight={"kind": "linear", "k": 1e308}
    )


@case("behaviour")
def behaviour_a_device(folder):
    (folder / "a.json").symlink_to("/dev/zero")
    return folder / "a.json"


def calibration(folder, trackers=None, scales=None):
    """A calibration."""
    trackers = trackers or [{"part": "hips", "offset": POSITION, "rotation": [1, 0, 0, 0]}]
    return written(folder / "a.json", {"format": "posable-calibration/1", "trackers": trackers, "scales": scales or {}})


@case("calibration")
def calibration_scales_without_end(folder):
    return calibration(folder, scales={f"s{k}": 1.0 for k in range(60_000)})


@case("calibration")
def calibration_a_part_of_a_megabyte(folder):
    return calibration(folder, [{"part": "hips" * 200_000, "offset": POSITION, "rotation": [1, 0, 0, 0]}])


@case("calibration")
def calibration_huge_numbers(folder):
    return calibration(folder, [{"part": "hips", "offset": [1e308] * 3, "rotation": [1e308] * 4}], {"trunk": 1e308})


@case("calibration")
def calibration_trackers_alike(folder):
    return calibration(folder, [{"part": "hips", "offset": POSITION, "rotation": [1, 0, 0, 0]}] * 64)


@case("calibration")
def calibration_a_pipe(folder):
    os.mkfifo(folder / "a.json")
    return folder / "a.json"


def edits(folder, rows):
    """A list of edits."""
    return written(folder / "a.json", {"posable": "edits", "version": 1, "edits": rows})


EDIT = {"frame": 1, "part": "head", "target": POSITION}


@case("edits")
def edits_as_many_as_may_be(folder):
    return edits(folder, [EDIT] * 10_000)


@case("edits")
def edits_too_many(folder):
    return edits(folder, [EDIT] * 100_000)


@case("edits", large=True)
def edits_objects_without_members(folder):
    text = b'{"posable":"edits","version":1,"edits":[' + b"{}," * 3_000_000 + b"{}]}"
    return written(folder / "a.json", text)


@case("edits")
def edits_a_name_of_a_megabyte(folder):
    return edits(folder, [{"frame" * 200_000: 1}])


@case("edits")
def edits_a_row_of_a_megabyte(folder):
    return edits(folder, [[0] * 500_000])


@case("edits")
def edits_pins_without_end(folder):
    return edits(folder, [EDIT | {"pins": ["head"] * 200_000}])


@case("edits")
def edits_pins_of_pins(folder):
    pins = "[" * 800 + "]" * 800
    return written(
        folder / "a.json", '{"posable":"edits","version":1,"edits":[{"frame":1,"part":"head","pins":' + pins + "}]}"
    )


@case("edits")
def edits_a_warp_without_end(folder):
    return edits(folder, [{"warp": [EDIT] * 50_000}])


@case("edits")
def edits_stretches_without_end(folder):
    return edits(folder, [{"stretch": {f"p{k}": 1.0 for k in range(200_000)}, "frame": 1}])


@case("edits")
def edits_numbers_beyond_all(folder):
    return edits(folder, [{"frame": 10**300, "part": "head", "target": [1e308] * 3, "spread": 1e308}])


@case("edits")
def edits_a_device(folder):
    (folder / "a.json").symlink_to("/dev/zero")
    return folder / "a.json"
