"""Reaching with the whole body: behaviours, solving, animating, streams."""

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.limb import Search
from posable.reach import Fitts, Pace, Posture, Weight

from .. import readers
from ..calls import call
from ..flat import stacked
from ..inputs import body, child, few, room, rotations, sample

RIGHT = np.array(
    [
        [-0.3, 0.5, 0.6],
        [-0.3, 1.3, 0.5],
        [0.2, 1.1, 0.6],
        [-0.7, 1.9, 0.2],
        [-0.5, 1.0, -0.5],
        [-0.2, 0.1, 0.5],
        [-1.5, 1.0, 1.5],
    ]
)
LEFT = RIGHT * [-1.0, 1.0, 1.0] + [0.02, 0.1, -0.05]
SWINGS = np.array([[0.0, 0.0], [1.2, 0.9], [-0.8, 0.4], [1.4, -0.6], [0.3, 1.8], [3.0, 3.0]])


@cache
def _reacher(**options: object) -> ps.Reacher:
    return ps.Reacher(body(), right=ps.Behaviour.default(body(), "right_arm"), **options)


@cache
def _both(**options: object) -> ps.Reacher:
    behaviours = {"right": ps.Behaviour.example("normal"), "left": ps.Behaviour.example("tired", "left_arm")}
    return ps.Reacher(body(), **behaviours, **options)


def _mine(kind: str = "linear") -> ps.Behaviour:
    parts = ["hips", "spine", "chest", "upper_chest", "head"]
    made = ps.Behaviour("right_arm", parts, interpolation=kind, weight=Weight("smooth", 0.6), name="mine")
    at = [(1.2, 0.9), (-0.5, 0.8), (0.4, -0.3)]
    if kind == "around":
        at = [(0.2, 0.5, 1.0), (0.5, -0.8, 0.6), (-0.4, 0.3, 0.9)]
    for k, where in enumerate(at):
        key = made.add(where, name=f"key {k}")
        turned = Posture.neutral(parts).rotated(
            spine=pm.axis_angle([1, 0, 0], 0.2 + 0.1 * k), head=pm.axis_angle([0, 1, 0], 0.3)
        )
        made.set(key, turned.shifted((0.02 * k, -0.1, -0.05)))
    return made


def _as_recorded(document: dict[str, object]) -> dict[str, object]:
    """A file of a behaviour with the field names it had when it was recorded."""
    document["blend"] = document.pop("interpolation")
    return document


@call()
def behaviours():
    found = {}
    for kind in ("linear", "smooth", "around"):
        made = _mine(kind)
        at = SWINGS if kind != "around" else np.concatenate([SWINGS, SWINGS[:, :1]], axis=-1)
        found[kind] = {
            "blend": readers.posture(made.posture_at(at)),
            "shares": made.key_weights(at),
            "search": readers.search(made.search(at[0])),
        }
    made = _mine()
    made.move(made.keys[-1].id, (0.5, -0.4))
    made.duplicate(made.keys[-1].id, (0.1, 1.2))
    made.set_search(made.keys[-1].id, Search(0.9, 0.0, 1.5))
    made.restyle(interpolation="smooth", weight=Weight("constant", 0.5), name="other")
    at, weights = made.locate(RIGHT, 0.57)
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "mine.json")
        text = (Path(folder) / "mine.json").read_text(encoding="utf-8")
        again = ps.Behaviour.load(Path(folder) / "mine.json")
    return {
        **found,
        "edited": readers.posture(made.posture_at(SWINGS)),
        "searches": readers.search(made.search((0.1, 1.2))),
        "triangles": made.triangles,
        "at": at,
        "weights": weights,
        "text": json.dumps(_as_recorded(json.loads(text)), sort_keys=True),
        "again": readers.posture(again.posture_at(SWINGS)),
        "mirrored": readers.posture(made.mirrored().posture_at(SWINGS * [1.0, -1.0])),
    }


@call()
def example_behaviours():
    found = {"default": readers.posture(ps.Behaviour.default(body(), "left_arm").posture_at(SWINGS * [1.0, -1.0]))}
    for name in ("normal", "tired", "energetic"):
        found[name] = readers.posture(ps.Behaviour.example(name).posture_at(SWINGS))
    found["on_a_child"] = readers.posture(ps.Behaviour.example("tired", "left_arm", child()).posture_at(SWINGS))
    return found


@call()
def learned_behaviours():
    motions = [ps.samples.reach(body(), fps=15.0), ps.samples.boxing(body(), fps=15.0)]
    found = {}
    for kind, keys in (("linear", 5), ("around", 6)):
        made = ps.Behaviour.fit(body(), "right_arm", motions, keys=keys, interpolation=kind, seed=2, name="mine")
        at = SWINGS if kind != "around" else np.concatenate([SWINGS, SWINGS[:, :1]], axis=-1)
        report = made.learned
        found[kind] = {
            "posture": readers.posture(made.posture_at(at)),
            "keys": np.array([key.at for key in made.keys]),
            "residual": report.orientation_error,
            "still": report.standing_error,
            "shift": report.hips_error,
            "used": report.used,
            "frames": report.frames,
            "told": str(report),
        }
    return found


@call()
def one_hand():
    turned = rotations(7, 1)
    wrong = np.array([[np.nan, 1.0, 0.5], [-0.3, 1.2, 0.4]])
    return {
        "right": readers.reach(_reacher().solve(right=ps.Target(RIGHT))),
        "turned": readers.reach(_reacher().solve(right=ps.Target(RIGHT, turned))),
        "pole": readers.reach(_reacher().solve(right=ps.Target(RIGHT[:3], pole=(-1.0, 0.5, -0.5)))),
        "from_poses": readers.reach(_reacher().solve(right=ps.Target(RIGHT[0]), start=few(sample("walk"), 3))),
        "weighted": readers.reach(_reacher().solve(right=ps.Target(RIGHT), weight=0.5)),
        "nan": readers.reach(_reacher().solve(right=ps.Target(wrong))),
        "one": readers.reach(_reacher().solve(right=ps.Target(RIGHT[2]))),
    }


@call()
def two_hands():
    targets = {"right": ps.Target(RIGHT), "left": ps.Target(LEFT, rotations(7, 2))}
    return {
        "both": readers.reach(_both().solve(**targets)),
        "left": readers.reach(_both().solve(left=ps.Target(LEFT))),
        "handed": readers.reach(_both(handedness=0.9).solve(**targets)),
    }


@call()
def reacher_options():
    target = ps.Target(RIGHT)
    scene = room()
    around = ps.Reacher(body(), right=_mine("around"))
    smooth = ps.Reacher(body(), right=_mine("smooth"))
    among = ps.Reacher(
        body(), right=ps.Behaviour.example("normal"), scene=scene, margin=0.02, allowed_contacts=("table", "floor")
    )
    return {
        "raising": readers.reach(_reacher(extend=True).solve(right=target)),
        "not_itself": readers.reach(_reacher(self_collision=False).solve(right=target)),
        "feet_free": readers.reach(_reacher(feet=False).solve(right=target)),
        "sitting": readers.reach(_reacher(hips=False).solve(right=target)),
        "gaze": readers.reach(_reacher(gaze=0.8).solve(right=target)),
        "scene": readers.reach(among.solve(right=target)),
        "around": readers.reach(around.solve(right=target)),
        "smooth": readers.reach(smooth.solve(right=target)),
    }


@call(extra="coal")
def reach_among_meshes():
    vertices = [(0, 0, 0), (0.3, 0, 0), (0, 0.5, 0), (0, 0, 0.3)]
    scene = ps.Scene().mesh("statue", vertices, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], (-0.3, 0.9, 0.35))
    reacher = ps.Reacher(body(), right=ps.Behaviour.default(body(), "right_arm"), scene=scene)
    return readers.reach(reacher.solve(right=ps.Target(RIGHT[:4])))


@call()
def animated():
    start = sample("walk")[0]
    cup, mouth = ps.Target([-0.2, 1.0, 0.45]), ps.Target([-0.1, 1.45, 0.25], [0.9, 0.3, 0.1, 0.2])
    steps = [
        ps.ReachStep(right=cup, hold=0.1),
        ps.ReachStep(right=mouth, duration=Fitts(0.04)),
        ps.ReachStep(left=ps.Target(LEFT[0])),
    ]
    return {
        "one": readers.reach_motion(_reacher().animate(right=ps.Target(RIGHT[0]), start=start, fps=20.0)),
        "steps": readers.reach_motion(_both().animate(steps=steps, fps=20.0)),
        "pace": readers.reach_motion(
            _reacher().animate(right=cup, fps=20.0, duration=Pace(0.8, 0.2), hold=0.1, speed=6.0)
        ),
        "seconds": readers.reach_motion(_reacher().animate(right=ps.Target(RIGHT[6]), fps=20.0, duration=0.5)),
    }


@call()
def streams():
    stream = _both().stream(30.0, start=sample("walk")[0], settle=0.2, speed=5.0)
    right, left = [], []
    for k, t in enumerate(np.linspace(0.0, 1.0, 12)):
        target = ps.Target(RIGHT[1] + t * (RIGHT[2] - RIGHT[1]))
        if k < 8:
            right.append(readers.reach(stream.step(target, dt=0.05 if k == 3 else None)))
        else:
            left.append(readers.reach(stream.step(target, ps.Target(LEFT[1], [1, 0, 0, 0]))))
    stream.reset()
    again = stream.step(left=ps.Target(LEFT[3]))
    return {"right": stacked(right), "both": stacked(left), "again": readers.reach(again)}


@call("characters/KayKit_Knight.glb")
def knight(path):
    person = ps.Humanoid(ps.load(path).skeleton)
    reacher = ps.Reacher(person, right=ps.Behaviour.example("energetic", body=person), extend=True)
    return readers.reach(reacher.solve(right=ps.Target(RIGHT * (person.joint_height / body().joint_height))))


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    targets = np.concatenate([RIGHT + 0.02 * k for k in range(5)])
    behaviour = ps.Behaviour.example("tired")
    swings = np.random.default_rng(3).uniform(-1.5, 1.5, (1200, 2))
    return {
        "solved": readers.reach(_reacher().solve(right=ps.Target(targets))),
        "blended": readers.posture(behaviour.posture_at(swings)),
        "constant": readers.reach(_weighted("constant").solve(right=ps.Target(targets))),
        "smooth": readers.reach(_weighted("smooth").solve(right=ps.Target(targets))),
    }


def _weighted(kind: str) -> ps.Reacher:
    made = ps.Behaviour.example("energetic")
    made.restyle(weight=Weight(kind, 0.4))
    return ps.Reacher(body(), right=made)


@call("cmu/17_10.bvh")
def captured(path):
    motion = ps.load(path, repair="cmu", first_frame=1)
    person = ps.Humanoid(motion.skeleton)
    reacher = ps.Reacher(
        person, right=ps.Behaviour.example("normal", body=person), left=ps.Behaviour.default(person, "left_arm")
    )
    offset = person.skeleton.forward(person.neutral_pose).positions[person.index("hips")] * [1.0, 0.0, 1.0]
    return readers.reach(reacher.solve(ps.Target(RIGHT + offset), ps.Target(LEFT + offset)))
