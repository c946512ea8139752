"""Collision questions beside coal's: capsules in pairs, a body in itself, an arm at a mesh of 12,000 triangles.

Before anything is timed, both must agree which of the pairs touch. coal is asked the way its authors advise, through
functors that are built once; its times have the call from Python in them, which ours do not when many are asked at
once, so ours are given both ways.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter

import coal
import numpy as np

import posable as ps
from posable.body.collision.clearance import clearance, limb_links, limb_obstacles
from posable.collision.bodies import body_depth_rows, body_touching_rows
from posable.collision.kernels import OBSTACLE, limb_touching, overlaps
from posable.collision.volumes import PACKED
from posable.compute import batch, prange
from posable.formats.makehuman import read_base_mesh
from posable.math import exp
from posable.skeleton.forward import quat_at, vec_at

from .harness import Contender, Table, compare, data_dir, table

PAIRS = 2000


def run() -> list[Table]:
    return [_capsules(), _itself(), _limb(), _mesh(), _search()]


@batch
def overlap_rows(n, volumes, p, q, obstacles, margin, out):
    for i in prange(n):
        position, orientation = (p[i, 0], p[i, 1], p[i, 2]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        out[i] = overlaps(volumes[i], position, orientation, obstacles[i], margin)


@batch
def limb_touching_rows(n, links, groups, orientations, positions, obstacles, margin, out):
    for i in prange(n):
        base, mid, end = quat_at(orientations, i, 0), quat_at(orientations, i, 1), quat_at(orientations, i, 2)
        mid_position, end_position = vec_at(positions, i, 0), vec_at(positions, i, 1)
        out[i] = limb_touching(links, groups, base, mid_position, mid, end_position, end, obstacles, margin)


def _capsules() -> Table:
    """Random pairs of capsules, about a third of which touch."""
    rng = np.random.default_rng(0)
    ends = rng.normal(scale=0.3, size=(PAIRS, 4, 3))
    radii = rng.uniform(0.03, 0.1, (PAIRS, 2))
    rows, walls = np.zeros(PAIRS, PACKED), np.zeros(PAIRS, OBSTACLE)
    rows["start"], rows["end"], rows["rotation"][:, 0] = ends[:, 0], ends[:, 1], 1.0
    rows["radii"][:, :2] = radii[:, :1]
    rows["bound"] = 0.5 * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) + radii[:, 0]
    walls["bound"] = 0.5 * np.linalg.norm(ends[:, 3] - ends[:, 2], axis=-1) + radii[:, 1]
    walls["rx"] = walls["ry"] = radii[:, 1]
    for k, axis in enumerate("xyz"):
        walls["p" + axis], walls["e" + axis] = ends[:, 2, k], ends[:, 3, k]
    p, q, out = np.zeros((PAIRS, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (PAIRS, 1)), np.empty(PAIRS, np.bool_)
    pairs = [(_capsule(*ends[i, :2], radii[i, 0]), _capsule(*ends[i, 2:], radii[i, 1])) for i in range(PAIRS)]
    functors = [(coal.ComputeCollision(a, b), s, t) for (a, s), (b, t) in pairs]
    request, result = coal.CollisionRequest(), coal.CollisionResult()

    def theirs() -> list[bool]:
        found = []
        for functor, s, t in functors:
            result.clear()
            found.append(functor(s, t, request, result) > 0)
        return found

    def ours() -> None:
        overlap_rows.serial(PAIRS, rows, p, q, walls, 0.0, out)

    def one_by_one() -> None:
        for _ in range(PAIRS):
            overlap_rows.serial(1, rows, p, q, walls, 0.0, out)

    ours()
    assert (out == np.array(theirs())).all()
    contenders = [
        Contender("posable, a batch", ours, PAIRS),
        Contender("posable, one a call", one_by_one, PAIRS),
        Contender("coal functors", theirs, PAIRS),
    ]
    return compare("Two capsules: do they touch?", contenders, unit="ns", note=f"{out.mean():.0%} of the pairs touch.")


def _itself() -> Table:
    """A whole body against itself, walking; and without its arms, which a search for them sees to."""
    body = ps.figure()
    frames = body.skeleton.forward(ps.samples.walk(body).pose)
    count, volumes = len(frames.positions), body.volumes.packed
    contenders = []
    for name, left_out in (("all of it", ()), ("without the arms", ("right_arm", "left_arm"))):
        parts = clearance(body, left_out)
        for what, rows, outputs in (
            ("does it touch?", body_touching_rows, [False, np.empty(count, np.int64)]),
            ("how deep?", body_depth_rows, [np.empty(count), np.empty(count, np.int64)]),
        ):
            given = [count, volumes, parts.pairs, parts.outside, frames.positions, frames.orientations]
            given += [np.zeros(0, OBSTACLE), 0.0, parts.softness, np.zeros((count, 0), np.bool_)]
            given += [np.empty((count, len(volumes), 4)), *outputs]
            note = f"{len(parts.pairs)} pairs worth testing"
            contenders.append(Contender(f"{name}: {what}", partial(rows.serial, *given), count, note))
    return compare("A body against itself, a pose", contenders, note=f"{len(volumes)} volumes, on one core.")


def _limb() -> Table:
    """One candidate of a swivel search: a whole arm against its body and a table, and preparing for it."""
    body = ps.figure()
    arm, made = body.limb("right_arm"), limb_links(body, "right_arm")
    frames = body.skeleton.forward(body.neutral_pose)
    scene = ps.Scene().box("table", (1.2, 0.04, 0.8), (0.0, 0.9, 0.6))
    obstacles = limb_obstacles(body, "right_arm", frames, scene)
    turns, places, out = _postures(arm, 512), None, np.empty(512, np.int64)
    turns, places = turns

    def ask() -> None:
        limb_touching_rows.serial(512, made.links, made.groups, turns, places, obstacles, 0.0, out)

    ask()
    note = f"{len(made.links)} links, {len(obstacles)} obstacles; {(out >= 0).mean():.0%} touch"
    contenders = [
        Contender("does the arm touch?", ask, 512, note),
        Contender("obstacles into the arm's frame", lambda: limb_obstacles(body, "right_arm", frames, scene)),
    ]
    return compare("An arm among its body and a table", contenders)


def _mesh() -> Table:
    """An arm beside a mesh: MakeHuman's body where its file is at hand, a ball of as many triangles elsewhere."""
    vertices, faces, name = twelve_thousand_triangles()
    body = ps.figure()
    made = limb_links(body, "right_arm")
    links = np.ascontiguousarray(made.links[made.links["joint"] < 2])
    turns, places = _postures(body.limb("right_arm"), 64)
    at = [np.concatenate([np.zeros((1, 3)), place]) for place in places]
    reach = float(np.ptp(vertices, axis=0).max())
    cases = []
    for label, where in (("far away", (0.0, 0.0, 5.0 * reach)), ("near", (0.35, -0.9, 0.3))):
        scene = ps.Scene().mesh("mesh", vertices, faces, where)
        hits = np.mean([scene.meshes_touch(links, p, q) for p, q in zip(at, turns, strict=True)])

        def ask(scene: ps.Scene = scene) -> None:
            for p, q in zip(at, turns, strict=True):
                scene.meshes_touch(links, p, q)

        cases.append(Contender(f"arm, mesh {label}", ask, len(at), f"{hits:.0%} touch"))
    note = f"{name}, {len(faces)} triangles; {len(links)} links of an upper arm and forearm, one candidate a time."
    return compare("An arm at a mesh, through coal", cases, note=note)


TARGETS, REPEATS = 1000, 5


def _search() -> Table:
    """A hand sent to places around a person of 13,000 triangles and a table: the whole call, search and all."""
    vertices, faces, name = twelve_thousand_triangles()
    body = ps.figure()
    feet = float(vertices[:, 1].min())
    scene = ps.Scene().mesh("person", vertices, faces, (-0.1, -feet, 0.75), (0.0, 0.0, 1.0, 0.0))
    scene.box("table", (1.0, 0.04, 0.5), (0.0, 0.95, 0.45))
    rng = np.random.default_rng(2)
    places = rng.uniform([-0.6, 0.85, 0.05], [0.1, 1.5, 0.5], (TARGETS, 3))
    turns = exp([-1.2, 0.0, 0.0] + rng.normal(size=(TARGETS, 3)) * 0.3)
    found: dict[str, list[tuple[float, int]]] = {}
    for kind, oriented in (("place", False), ("place and orientation", True)):
        for place, turn in zip(places, turns, strict=True):
            target = ps.Target(place, turn if oriented else None)
            blind = body.place(body.neutral_pose, "right_hand", target)
            if not blind.ok:
                continue
            ask = partial(body.place, body.neutral_pose, "right_hand", target, scene=scene)
            told, taken = ask(), []
            for _ in range(REPEATS):
                start = perf_counter()
                ask()
                taken.append(perf_counter() - start)
            case = "nothing in the way" if told.swivel == blind.swivel else "another swivel is found"
            case = case if told.ok else "no swivel is free"
            found.setdefault(f"{kind}, {case}", []).append((1e6 * min(taken), int(told.tests)))
    samples = {}
    for case, rows in sorted(found.items()):
        times, tests = np.array(rows).T
        tail = f"{np.quantile(times, 0.95):.0f} for 1 in 20, {times.max():.0f} at worst"
        samples[case] = (times.tolist(), f"{len(rows)} targets; {tail}; {tests.mean():.0f} swivels tested")
    every = [row for rows in found.values() for row in rows]
    times = np.array(every)[:, 0]
    tail = f"{np.quantile(times, 0.95):.0f} for 1 in 20, {times.max():.0f} at worst"
    samples = {"all": (times.tolist(), f"{len(every)} targets; {tail}"), **samples}
    note = (
        f"{name}, {len(faces)} triangles, and a box. Targets that can be reached with nothing around; "
        f"of each, the best of {REPEATS} calls. Swivels tested include those that fail by the limits."
    )
    return table("A hand sent to a place among meshes, the whole search", "µs", samples, note=note)


def _postures(arm: ps.Limb, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(turns (N, 3, 4), places (N, 2, 3)) of an arm that reaches in front of the body."""
    from posable.limb.kernels import rotations_of
    from posable.math import multiply

    targets = np.random.default_rng(1).uniform([0.15, -0.3, -0.2], [0.45, 0.2, 0.3], (count, 3))
    values = arm.solve(targets).values
    frames = arm.forward(values)
    parts = [np.array([rotations_of(tuple(map(float, v)))[k] for v in values]) for k in range(3)]
    middle = multiply(parts[0], parts[1])
    return np.stack([parts[0], middle, multiply(middle, parts[2])], axis=1), np.stack([frames.mid, frames.end], axis=1)


def twelve_thousand_triangles() -> tuple[np.ndarray, np.ndarray, str]:
    folder = data_dir()
    path = None if folder is None else folder / "characters" / "makehuman" / "base.obj"
    if path is not None and path.exists():
        vertices, faces, _ = read_base_mesh(path)
        height = np.ptp(vertices[:, 1])
        return (
            vertices * (1.75 / height),
            faces[:: max(1, len(faces) // 12_000)],
            "every other triangle of MakeHuman's body",
        )
    around, up = 110, 55
    turn, tilt = np.meshgrid(np.linspace(0, 2 * np.pi, around), np.linspace(0.01, np.pi - 0.01, up))
    vertices = 0.3 * np.stack([np.sin(tilt) * np.cos(turn), np.cos(tilt), np.sin(tilt) * np.sin(turn)], axis=-1)
    k = (np.arange(up - 1)[:, None] * around + np.arange(around - 1)).ravel()
    faces = np.concatenate([np.stack([k, k + around, k + 1], -1), np.stack([k + 1, k + around, k + around + 1], -1)])
    return vertices.reshape(-1, 3), faces, "a ball"


def _capsule(start: np.ndarray, end: np.ndarray, radius: float) -> tuple[coal.Capsule, coal.Transform3s]:
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    return coal.Capsule(radius, length), coal.Transform3s(np.stack([x, np.cross(z, x), z], axis=-1), (start + end) / 2)
