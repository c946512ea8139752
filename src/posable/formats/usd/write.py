"""USD text (`.usda`): a skinned character and its animation as UsdSkel, for usdview, Omniverse, Blender and engines.

A `SkelRoot` holds a `Skeleton` with its `SkelAnimation` and the meshes bound to it; a skeleton without meshes gets the
bones of glTF files, since viewers show no skeletons. Meshes that were bound in another pose than the first have a
`Skeleton` of their own, with the same animation: USD knows one bind pose for each. The stage is in metres, Y up; a
frame is a time code, counted from 0. Written is text, frame by frame, so that memory does not follow the length of a
motion; numbers have the nine digits of float32.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import __version__
from ...compute import PosableError, atomic_write
from ...compute.types import Floats
from ...math import to_matrix
from ...skeleton import Motion, Skeleton, SkinnedMesh
from ...skeleton.character import bone_mesh
from ..gltf.write import check_lengths

ROOT = "Character"
BLOCK = 2048  # frames at once
LINE = 8  # elements of an array a line
LONGEST = 50_000_000  # letters of the paths of all joints: each has those of all above it


def write(motion: Motion, path: Path) -> None:
    """Write a motion with the meshes of its skeleton."""
    skeleton = motion.skeleton
    if not motion.pose.is_finite():
        raise PosableError(f"cannot write {str(path)!r}: the motion has numbers that are not finite")
    check_lengths(skeleton, motion.pose)
    own = tuple(skeleton.character.meshes) if skeleton.character else ()
    meshes = own or (bone_mesh(skeleton, skeleton.forward(skeleton.rest)),)
    binds: dict[bytes, list[SkinnedMesh]] = {}
    for mesh in meshes:
        binds.setdefault(mesh.bind_positions.tobytes() + mesh.bind_orientations.tobytes(), []).append(mesh)
    paths = joint_paths(skeleton)
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        last = max(len(motion) - 1, 0)
        note = f"Posable {__version__}"
        file.write(
            f'#usda 1.0\n(\n    customLayerData = {{\n        string creator = "{note}"\n    }}\n'
            f'    defaultPrim = "{ROOT}"\n    startTimeCode = 0\n    endTimeCode = {last}\n'
            f"    framesPerSecond = {motion.fps:.17g}\n    timeCodesPerSecond = {motion.fps:.17g}\n"
            f'    metersPerUnit = 1\n    upAxis = "Y"\n)\n\n'
            f'def SkelRoot "{ROOT}" (\n    prepend apiSchemas = ["SkelBindingAPI"]\n)\n{{\n'
        )
        names = _names(["Animation", *(mesh.name for mesh in meshes)])
        _write_animation(file, motion, paths)
        for k, group in enumerate(binds.values()):
            title = "Skeleton" if k == 0 else f"Skeleton_{k + 1}"
            _write_skeleton(file, title, skeleton, paths, group[0])
            for mesh in group:
                _write_mesh(file, names[1 + next(k for k, one in enumerate(meshes) if one is mesh)], mesh, title)
        file.write("}\n")


def joint_paths(skeleton: Skeleton) -> list[str]:
    """Return the path of each joint from the root, "Hips/Spine/Chest": names as USD allows them, no two alike."""
    names = _names(skeleton.names)
    paths: list[str] = []
    long = np.array([len(name) + 1 for name in names])
    for j, parent in enumerate(skeleton.parents.tolist()):
        long[j] += long[parent] if parent >= 0 else 0
    if long.sum() > LONGEST:
        raise PosableError(
            f"paths of joints of {long.sum()} letters; USD is written up to {LONGEST}: the tree is too deep"
        )
    for name, parent in zip(names, skeleton.parents.tolist(), strict=True):
        paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
    return paths


def _names(given: Iterable[str]) -> list[str]:
    """Return names of letters, digits and underscores that begin with no digit, each once."""
    taken = {"Skeleton"}
    made = []
    counts: dict[str, int] = {}  # how often each came: thousands may become alike
    for name in given:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        count, one = counts.get(plain, 1), plain
        while one in taken or re.fullmatch(r"Skeleton_\d+", one):
            count += 1
            one = f"{plain}_{count}"
        taken.add(one)
        counts[plain] = count
        made.append(one)
    return made


def _write_animation(file: IO[str], motion: Motion, paths: list[str]) -> None:
    """Write the poses of all frames: for each, the translations and rotations of all joints."""
    skeleton, pose = motion.skeleton, motion.pose
    count = len(skeleton)
    ones = ", ".join(["(1, 1, 1)"] * count)
    file.write(f'    def SkelAnimation "Animation"\n    {{\n        uniform token[] joints = {_tokens(paths)}\n')
    file.write(f"        half3[] scales = [{ones}]\n")

    def offsets_of(first: int, last: int) -> Floats:
        moved = (
            np.repeat(skeleton.offsets[None], last - first, axis=0)
            if pose.offsets is None
            else pose.offsets[first:last]
        )
        moved = moved.copy()
        moved[:, 0] = pose.translation[first:last]
        return moved

    if not len(motion):
        still = skeleton.rest_rotations[None]
        _write_samples(file, "quatf[] rotations", 1, lambda first, last: still)
        _write_samples(file, "float3[] translations", 1, lambda first, last: skeleton.offsets[None])
    else:
        _write_samples(file, "quatf[] rotations", len(motion), lambda first, last: pose.rotations[first:last])
        _write_samples(file, "float3[] translations", len(motion), offsets_of)
    file.write("    }\n\n")


def _write_samples(file: IO[str], what: str, count: int, rows_of: Callable[[int, int], Floats]) -> None:
    file.write(f"        {what}.timeSamples = {{\n")
    for first in range(0, count, BLOCK):
        rows = rows_of(first, min(first + BLOCK, count))
        joints, width = rows.shape[1:]
        form = "[" + ", ".join(["(" + ", ".join(["%.9g"] * width) + ")"] * joints) + "]"
        for k, row in enumerate(rows.reshape(len(rows), -1).tolist()):
            file.write(f"            {first + k}: {form % tuple(row)},\n")
    file.write("        }\n")


def _write_skeleton(file: IO[str], title: str, skeleton: Skeleton, paths: list[str], bound: SkinnedMesh) -> None:
    """Write a skeleton with the bind pose of a mesh."""
    local = _matrices(skeleton.offsets, skeleton.rest_rotations)
    world = _matrices(bound.bind_positions, bound.bind_orientations)
    file.write(
        f'    def Skeleton "{title}" (\n        prepend apiSchemas = ["SkelBindingAPI"]\n    )\n    {{\n'
        f"        uniform token[] joints = {_tokens(paths)}\n"
        f"        uniform matrix4d[] bindTransforms = [{', '.join(map(_matrix, world))}]\n"
        f"        uniform matrix4d[] restTransforms = [{', '.join(map(_matrix, local))}]\n"
        f"        rel skel:animationSource = </{ROOT}/Animation>\n    }}\n\n"
    )


def _write_mesh(file: IO[str], name: str, mesh: SkinnedMesh, skeleton: str) -> None:
    width = max(1, int((mesh.weights > 0.0).sum(axis=1).max(initial=1)))
    order = np.argsort(-mesh.weights, axis=1, kind="stable")[:, :width]
    weights = np.take_along_axis(mesh.weights, order, axis=1)
    joints = np.where(weights > 0.0, np.take_along_axis(mesh.joints, order, axis=1), 0)
    low, high = (mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)) if len(mesh.vertices) else (np.zeros(3),) * 2
    file.write(
        f'    def Mesh "{name}" (\n        prepend apiSchemas = ["SkelBindingAPI"]\n    )\n    {{\n'
        f"        rel skel:skeleton = </{ROOT}/{skeleton}>\n"
        '        uniform token subdivisionScheme = "none"\n'
        "        matrix4d primvars:skel:geomBindTransform = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))\n"
        f"        float3[] extent = [({_numbers(low)}), ({_numbers(high)})]\n"
    )
    _write_array(file, "int[] faceVertexCounts", ["3"] * len(mesh.faces))
    _write_array(file, "int[] faceVertexIndices", map(str, mesh.faces.reshape(-1).tolist()))
    _write_array(file, "point3f[] points", (f"({_numbers(point)})" for point in mesh.vertices))
    _write_array(file, "int[] primvars:skel:jointIndices", map(str, joints.reshape(-1).tolist()), _vertex(width))
    _write_array(
        file, "float[] primvars:skel:jointWeights", (f"{w:.9g}" for w in weights.reshape(-1).tolist()), _vertex(width)
    )
    if len(mesh.colours):
        srgb = mesh.colours[:, :3] / 255.0
        linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        colours = (f"({_numbers(colour)})" for colour in linear)
        _write_array(
            file, "color3f[] primvars:displayColor", colours, '(\n            interpolation = "vertex"\n        )'
        )
    file.write("    }\n\n")


def _vertex(size: int) -> str:
    return f'(\n            elementSize = {size}\n            interpolation = "vertex"\n        )'


def _write_array(file: IO[str], what: str, elements: Iterable[str], about: str = "") -> None:
    """Write an array, some elements a line."""
    file.write(f"        {what} = [")
    for k, element in enumerate(elements):
        file.write((", " if k else "") + ("\n            " if k and k % LINE == 0 else "") + element)
    file.write(f"] {about}\n" if about else "]\n")


def _matrices(positions: Floats, orientations: Floats) -> Floats:
    """Return transforms (J, 4, 4) as USD has them: points are rows, so rotations are transposed."""
    made = np.zeros((len(positions), 4, 4))
    made[:, :3, :3] = np.swapaxes(to_matrix(orientations), -1, -2)
    made[:, 3, :3] = positions
    made[:, 3, 3] = 1.0
    return made


def _matrix(rows: Floats) -> str:
    return "(" + ", ".join("(" + ", ".join(f"{value:.17g}" for value in row) + ")" for row in rows.tolist()) + ")"


def _numbers(values: Any) -> str:
    return ", ".join(f"{value:.9g}" for value in np.asarray(values).tolist())


def _tokens(paths: list[str]) -> str:
    return "[" + ", ".join(f'"{path}"' for path in paths) + "]"
