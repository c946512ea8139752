"""FBX files that repeat, nest, share and unpack without end."""

from __future__ import annotations

import numpy as np

from ..formats.fbx_files import Scene, binary, mesh, skin, text
from .cases import case, written


def saved(folder, scene, packed=False):
    return written(folder / "a.fbx", binary(scene.records(), scene.version, packed))


def clip(scene, joints=1, keys=3):
    """Some joints that one curve moves; the stack, the layer, the curve's node and the joints."""
    stack, layer = scene.take("Walk", 0.0, (keys - 1) / 30)
    models = [scene.model(f"j{j}") for j in range(joints)]
    node = scene.animate(layer, models[0], "Translation", np.arange(keys) / 30, np.zeros((keys, 3)))
    return stack, layer, node, models


@case("load")
def fbx_of_many_empty_records(folder):
    records = Scene().records()
    records[2] = ("Objects", [], [("A", [], [])] * 300_000)
    return written(folder / "a.fbx", binary(records))


@case("load")
def fbx_of_many_bones(folder):
    scene = Scene()
    for j in range(9_000):
        scene.model(f"j{j}", scene.last if j else 0, LclTranslation=(0, 1, 0))
    return saved(folder, scene)


@case("load")
def fbx_of_more_bones_than_are_read(folder):
    scene = Scene()
    for _ in range(20_000):
        scene.model("j")
    return saved(folder, scene)


@case("load")
def fbx_whose_arrays_unpack_to_much(folder):
    scene = Scene()
    scene.model("Hips")
    for k in range(40):
        _, geometry = mesh(scene, f"m{k}", np.full((200_000, 3), float(k)), [(0, 1, 2)])
        skin(scene, geometry, [(1001, np.arange(1000), np.ones(1000), np.eye(4), np.eye(4))])
    return saved(folder, scene, packed=True)


@case("load")
def fbx_with_one_layer_in_a_stack_many_times(folder):
    scene = Scene()
    stack, layer, *_ = clip(scene, 500)
    for _ in range(30_000):
        scene.connect(layer, stack)
    return saved(folder, scene)


@case("load")
def fbx_with_many_stacks_of_one_layer(folder):
    scene = Scene()
    _, layer, node, models = clip(scene, 2)
    for _ in range(3_000):
        scene.connect(node, layer)
        scene.connect(node, models[1], "Lcl Translation")
    for k in range(3_000):
        scene.connect(layer, scene.add("AnimationStack", f"t{k}"))
    return saved(folder, scene)


@case("load")
def fbx_with_one_curve_for_many_bones(folder):
    scene = Scene()
    _, _, node, models = clip(scene, 1_000, 1_000)
    for model in models:
        scene.connect(node, model, "Lcl Translation")
    return saved(folder, scene)


@case("load")
def fbx_with_one_curve_in_many_nodes(folder):
    scene = Scene()
    _, layer, _, models = clip(scene, 1_500, 20_000)
    curve = next(number for kind, (number, *_), _ in scene.objects if kind == "AnimationCurve")
    for model in models:
        node = scene.add("AnimationCurveNode", "T")
        scene.connect(node, layer)
        scene.connect(node, model, "Lcl Translation")
        for axis in "XYZ":
            scene.connect(curve, node, f"d|{axis}")
    return saved(folder, scene)


@case("load")
def fbx_with_many_layers(folder):
    scene = Scene()
    stack, _, node, _ = clip(scene, 2, 10_000)
    for k in range(2_000):
        layer = scene.layer(stack, f"l{k}")
        scene.connect(node, layer)
    return saved(folder, scene)


@case("load")
def fbx_with_one_skin_for_many_meshes(folder):
    scene = Scene()
    hips = scene.model("Hips")
    _, geometry = mesh(scene, "m", np.zeros((30_000, 3)), [(0, 1, 2)])
    skin(scene, geometry, [(hips, np.arange(30_000), np.ones(30_000), np.eye(4), np.eye(4))])
    deformer = next(number for kind, (number, _, sort), _ in scene.objects if sort == "Skin")
    for k in range(900):
        _, other = mesh(scene, f"m{k}", np.zeros((3, 3)), [(0, 1, 2)])
        scene.connect(deformer, other)
    return saved(folder, scene)


@case("load")
def fbx_with_many_clusters_at_one_vertex(folder):
    scene = Scene()
    bones = [scene.model(f"j{j}") for j in range(2_000)]
    bones = [bones[0], *(scene.model(f"k{j}", bones[0]) for j in range(2_000))]
    _, geometry = mesh(scene, "m", np.zeros((50_000, 3)), [(0, 1, 2)])
    skin(scene, geometry, [(bone, [0], [1.0], np.eye(4), np.eye(4)) for bone in bones])
    return saved(folder, scene)


@case("load")
def fbx_text_of_arrays_without_end(folder):
    return written(folder / "a.fbx", b"FBXHeaderExtension: {\n" + b"A: *1 {a:" * 200_000)


@case("load")
def fbx_text_of_long_names_within_each_other(folder):
    name = b"A" * 20_000
    return written(folder / "a.fbx", b"FBXHeaderExtension: {\n" + (name + b": {\n") * 50 + b"B:\n" * 100_000)


@case("load")
def fbx_text_of_words(folder):
    return written(folder / "a.fbx", b"FBXHeaderExtension: " + b"1," * 3_000_000)


@case("load")
def fbx_text_of_quotation_marks(folder):
    return written(folder / "a.fbx", b"FBXHeaderExtension: " + b'""' * 500_000 + b'"')


@case("load")
def fbx_text_of_blanks(folder):
    return written(folder / "a.fbx", b"FBXHeaderExtension: *1" + b" " * 5_000_000 + b"*" + b"1" * 3_000_000)


@case("load")
def fbx_text_of_a_long_array(folder):
    scene = Scene()
    scene.model("Hips")
    mesh(scene, "m", np.arange(900_000.0), [(0, 1, 2)])
    return written(folder / "a.fbx", text(scene.records()))


@case("load", large=True)
def fbx_of_ten_megabytes_of_records(folder):
    records = Scene().records()
    records[2] = ("Objects", [], [("Model", [k, "Model::a", "LimbNode"], []) for k in range(200_000)])
    return written(folder / "a.fbx", binary(records))
