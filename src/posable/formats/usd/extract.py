"""The content of a USD file with a skinned character, taken out of it by Pixar's library in a process of its own.

    python -m posable.formats.usd.extract FILE FOLDER ANIMATION

The library is C++ that strangers' files have brought down before; so it runs beside us, and what it finds comes back as
plain arrays in a folder (`facts.json`, `*.npy`). Nothing but the file itself is opened: layers, references, payloads
and clips in other files are refused before the stage is put together.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

MAX_JOINTS = 10_000
MAX_MESHES = 1000
FREE_ROWS, BYTES_A_ROW = 1 << 20, 2  # of frames times joints that any file may have, and of the file for more of them
FREE_NUMBERS, BYTES_A_NUMBER = 8_000_000, 1 / 8  # of meshes
BLOCK = 512


class RefusedError(Exception):
    """The file is refused: a message, and the place in it."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message, self.where = message[:600], where[:120]


def main() -> int:
    """Write what a file holds into a folder, as the command line names both; what is wrong with it goes there too."""
    path, folder, animation = sys.argv[1:4]
    out = Path(folder)
    _limit_memory(int(os.environ.get("POSABLE_USD_MEMORY", "0")))
    try:
        facts = _extract(path, out, animation or None)
    except RefusedError as refusal:
        facts = {"refused": refusal.message, "where": refusal.where}
    except Exception as error:  # the library raises errors of its own kinds
        facts = {"refused": f"cannot be read by usd-core: {' '.join(str(error).split())[:300]}", "where": ""}
    (out / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    return 0


def _limit_memory(count: int) -> None:
    """Let this process have so many bytes of address space, where the system can say so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    if count > 0:
        resource.setrlimit(resource.RLIMIT_AS, (count, count))


def _extract(path: str, out: Path, animation: str | None) -> dict[str, Any]:
    from pxr import Sdf, Usd, UsdGeom, UsdSkel

    layer = Sdf.Layer.FindOrOpen(path)
    if layer is None:
        raise RefusedError("is no USD file")
    others = layer.GetCompositionAssetDependencies()
    if others:
        raise RefusedError(f"needs {len(others)} other files ({others[0][:80]!r}); make one of them: usdcat --flatten")
    _refuse_clips(layer)
    stage = Usd.Stage.Open(layer, load=Usd.Stage.LoadNone)
    skeletons = [UsdSkel.Skeleton(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Skeleton)]
    if not skeletons:
        raise RefusedError("holds no skeleton (UsdSkel)")
    cache = UsdSkel.Cache()
    roots = [UsdSkel.Root(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Root)]
    bindings = []
    for root in roots:
        cache.Populate(root, Usd.PrimDefaultPredicate)
        bindings += cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
    queries = [cache.GetSkelQuery(one) for one in skeletons]
    queries = [query for query in queries if query and len(query.GetJointOrder())]
    if not queries:
        raise RefusedError("holds no skeleton with joints")
    query = max(queries, key=lambda one: (bool(one.GetAnimQuery()), len(one.GetJointOrder())))
    joints = [str(token) for token in query.GetJointOrder()]
    where = str(query.GetPrim().GetPath())
    if len(joints) > MAX_JOINTS:
        raise RefusedError(f"has {len(joints)} joints; at most {MAX_JOINTS} are read", where)
    parents = [int(query.GetTopology().GetParent(j)) for j in range(len(joints))]
    bind, rest = (
        _matrices(some, len(joints))
        for some in (query.GetJointWorldBindTransforms(), query.GetSkeleton().GetRestTransformsAttr().Get())
    )
    if bind is None and rest is None:
        raise RefusedError("has neither rest nor bind transforms", where)
    ours = str(layer.customLayerData.get("creator", "")).startswith("Posable")
    # Other programs write the pose of the moment as the one at rest; the one in which the skin was bound is better.
    np.save(out / "still.npy", rest if rest is not None and (ours or bind is None) else _local(bind, parents))
    np.save(out / "rest.npy", rest if rest is not None else _local(bind, parents))
    takes = {prim.GetName(): prim for prim in stage.Traverse() if prim.IsA(UsdSkel.Animation)}
    taken = query.GetAnimQuery()
    if animation is not None:
        names = list(takes)
        if animation.lstrip("-").isdigit() and animation not in names and -len(names) <= int(animation) < len(names):
            animation = names[int(animation)]
        if animation not in takes:
            raise RefusedError(f"unknown animation {animation[:60]!r}; it has {', '.join(names[:20]) or 'none'}")
        taken = cache.GetAnimQuery(UsdSkel.Animation(takes[animation]))
    facts: dict[str, Any] = {
        "joints": joints,
        "parents": parents,
        "animations": list(takes)[:1000],
        "animation": taken.GetPrim().GetName() if taken else "",
        "unit": float(UsdGeom.GetStageMetersPerUnit(stage)),
        "up": str(UsdGeom.GetStageUpAxis(stage)),
        "rate": float(stage.GetTimeCodesPerSecond()),
    }
    codes = _codes(taken, query.GetPrim(), facts["rate"]) if taken else ([0.0], facts["rate"])
    facts["fps"] = codes[1]
    size = Path(path).stat().st_size
    if len(codes[0]) * len(joints) > FREE_ROWS + size / BYTES_A_ROW:
        raise RefusedError(f"has {len(codes[0])} frames of {len(joints)} joints, more than its size warrants", where)
    np.save(out / "above.npy", _above(query.GetPrim(), codes[0] if taken else [Usd.TimeCode.Default()]))
    if taken:
        _write_frames(taken, joints, codes[0], np.load(out / "rest.npy"), out)
    facts["meshes"] = _write_meshes(bindings, query, joints, out, FREE_NUMBERS + size / BYTES_A_NUMBER)
    return facts


def _refuse_clips(layer: Any) -> None:
    waiting = [layer.pseudoRoot]
    while waiting:
        prim = waiting.pop()
        if prim.HasInfo("clips"):
            raise RefusedError("has clips in other files; make one of them: usdcat --flatten", str(prim.path))
        waiting.extend(prim.nameChildren)
        for variants in prim.variantSets:
            waiting.extend(variant.primSpec for variant in variants.variants)


def _codes(taken: Any, prim: Any, rate: float) -> tuple[list[float], float]:
    """The time codes of frames, and frames a second: the stage's where all samples lie on it, else a usual rate."""
    from ..gltf.animation import rate_of

    samples = sorted(set(taken.GetJointTransformTimeSamples()))
    if not samples or not math.isfinite(rate) or not 1e-3 < rate < 1e6:
        return [0.0] if not samples else [samples[0]], rate if math.isfinite(rate) and 1e-3 < rate < 1e6 else 24.0
    keys = np.array(samples) - samples[0]
    fps = rate if (np.abs(keys - np.round(keys)) < 2e-3).all() else rate_of(keys / rate)
    count = round(min(keys[-1] / rate * fps, 1e9)) + 1
    if count > 50_000_000:
        raise RefusedError(f"lasts {keys[-1] / rate:g} s; {count} frames are too many")
    return [samples[0] + k * rate / fps for k in range(count)], fps


def _write_frames(taken: Any, joints: list[str], codes: list[float], rest: Any, out: Path) -> None:
    """Write translations, rotations (wxyz) and scales of all joints in all frames; what is not animated rests."""
    from ..trees import split_matrices

    own = {str(token): k for k, token in enumerate(taken.GetJointOrder())}
    columns = np.array([own.get(name, -1) for name in joints])
    still = [rest[:, 3, :3], *split_matrices(np.swapaxes(rest[:, :3, :3], 1, 2))[1::-1]]
    files = [
        np.lib.format.open_memmap(out / f"{name}.npy", "w+", np.float32, (len(codes), len(joints), width))
        for name, width in (("translation", 3), ("rotation", 4), ("scale", 3))
    ]
    for frame, code in enumerate(codes):
        parts = taken.ComputeJointLocalTransformComponents(code)
        values = [np.array(part, dtype=np.float64).reshape(len(own), -1) for part in parts]
        values[1] = values[1][:, [3, 0, 1, 2]]  # NumPy has them as xyzw
        for file, resting, value in zip(files, still, values):
            file[frame] = np.where((columns >= 0)[:, None], value[columns], resting) if len(value) else resting


def _above(prim: Any, codes: list[Any]) -> Any:
    """(F or 1, 4, 4) where the skeleton stands in the world."""
    from pxr import Usd, UsdGeom

    first = UsdGeom.XformCache(codes[0]).GetLocalToWorldTransform(prim)
    moving, at = False, prim
    while at and not at.IsPseudoRoot():
        moving = moving or (at.IsA(UsdGeom.Xformable) and UsdGeom.Xformable(at).TransformMightBeTimeVarying())
        at = at.GetParent()
    if not moving or len(codes) < 2:
        return np.array([first], dtype=np.float64)
    return np.array([UsdGeom.XformCache(Usd.TimeCode(code)).GetLocalToWorldTransform(prim) for code in codes])


def _write_meshes(bindings: Any, query: Any, joints: list[str], out: Path, most: float) -> list[dict[str, Any]]:
    """Write the meshes that are bound to the skeleton, and those of the others that share its joints."""
    from pxr import UsdGeom

    found: list[dict[str, Any]] = []
    spent = 0
    index = {name: j for j, name in enumerate(joints)}
    for binding in bindings:
        other = binding.GetSkeleton()
        order = [str(token) for token in other.GetJointsAttr().Get() or []]
        bind = _matrices(other.GetBindTransformsAttr().Get(), len(order))
        if bind is None or not set(order) <= set(index):
            continue
        for target in binding.GetSkinningTargets():
            prim = target.GetPrim()
            if not prim.IsA(UsdGeom.Mesh) or len(found) >= MAX_MESHES:
                continue
            mesh = UsdGeom.Mesh(prim)
            points, counts, corners = (
                np.array(attribute.Get() or [])
                for attribute in (mesh.GetPointsAttr(), mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr())
            )
            influences = target.ComputeJointInfluences()
            if not len(points) or not influences or not target.HasJointInfluences():
                continue
            numbers, weights = (np.array(one) for one in influences)
            width = max(int(target.GetNumInfluencesPerComponent()), 1)
            names = [str(token) for token in target.GetJointOrder() or order]
            spent += points.size + counts.size + corners.size + 2 * width * len(points)
            if spent > most:
                raise RefusedError("has meshes that are more than its size warrants", str(prim.GetPath()))
            number = len(found)
            shape = (len(points), width) if numbers.size == len(points) * width else None
            numbers, weights = (
                one.reshape(shape) if shape else np.tile(one.reshape(-1)[:width], (len(points), 1))
                for one in (numbers, weights)
            )
            table = np.array([index.get(name, -1) for name in names])
            if len(table) == 0 or numbers.min() < 0 or numbers.max() >= len(table):
                raise RefusedError("names a joint that is not there", str(prim.GetPath()))
            full = np.zeros((len(joints), 4, 4))
            full[:] = np.eye(4)
            full[[index[name] for name in order]] = bind
            arrays = {
                "points": points.astype(np.float64),
                "counts": counts,
                "corners": corners,
                "joints": table[numbers],
                "weights": weights.astype(np.float64),
                "bind": full,
                "geometry": np.array(target.GetGeomBindTransform(), dtype=np.float64),
            }
            colours = UsdGeom.PrimvarsAPI(prim).GetPrimvar("displayColor")
            if colours and colours.HasValue():
                values = np.array(colours.ComputeFlattened() or [], dtype=np.float64).reshape(-1, 3)
                if len(values) in (1, len(points)):
                    arrays["colours"] = np.broadcast_to(values, (len(points), 3)).copy()
            for name, value in arrays.items():
                np.save(out / f"mesh{number}_{name}.npy", value)
            mirrored = str(mesh.GetOrientationAttr().Get() or "") == "leftHanded"
            found.append({"name": prim.GetName(), "colours": "colours" in arrays, "mirrored": mirrored})
    return found


def _matrices(values: Any, count: int) -> Any:
    """(J, 4, 4), points as rows; None where there are not as many as joints."""
    made = np.array(values if values is not None else [], dtype=np.float64)
    return made.reshape(count, 4, 4) if made.size == 16 * count and np.isfinite(made).all() else None


def _world(local: Any, parents: list[int]) -> Any:
    made = local.copy()
    for j, parent in enumerate(parents):
        if parent >= 0:
            made[j] = local[j] @ made[parent]
    return made


def _local(world: Any, parents: list[int]) -> Any:
    made = world.copy()
    for j, parent in enumerate(parents):
        if parent >= 0:
            if abs(np.linalg.det(world[parent])) < 1e-18:
                raise RefusedError("has bind transforms that cannot be inverted")
            made[j] = world[j] @ np.linalg.inv(world[parent])
    return made


if __name__ == "__main__":
    sys.exit(main())
