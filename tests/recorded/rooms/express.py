"""Chains that hold a posture while aiming, trees of them, and motion that motors can follow."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.express import SKELETONS, Link, Tree

from .. import readers
from ..calls import call
from ..flat import stacked
from ..inputs import body, directions, rotations, sample
from .formats import URDF

# Each answer is the least of many candidates found by searches of their own.
NEAR = 1e-6


@cache
def _chain() -> ps.Chain:
    return ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))


def _postures(chain: ps.Chain, count: int, seed: int = 0) -> np.ndarray:
    low, high = np.maximum(chain.lower, -1.5), np.minimum(chain.upper, 1.5)
    return np.random.default_rng(seed).uniform(low, high, (count, len(chain)))


@call()
def chains():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(URDF, encoding="utf-8")
        robots = {
            "robot": ps.Chain.from_robot(path),
            "finger": ps.Chain.from_robot(path, "one", "finger", pointing=(0.0, 0.0, 1.0), up="z"),
        }
    axes = [[0, 1.0, 0], [1.0, 1.0, 0], [0, 0, 2.0]]
    made = {
        **robots,
        "axes": ps.Chain.from_axes(axes, limits=[(-1.0, 1.0), (-0.5, 2.0), (0.1, 0.4)]),
        "letters": _chain(),
        "spine": ps.Chain.from_body(body(), "spine"),
        "arm": ps.Chain.from_body(body(), "left_arm", limits=(-1.0, 1.2), pointing=(0.0, 0.0, 1.0)),
        "leg": ps.Chain.from_body(body(), "right_leg"),
        "path": ps.Chain.from_skeleton(
            body().skeleton, "r_shoulder", "r_wrist", (-1.0, 1.0), pointing=(0.0, -1.0, 0.0)
        ),
        **{f"paper {name}": chain for name, chain in SKELETONS.items()},
    }
    return {name: readers.chain(chain) for name, chain in made.items()}


@call(within=NEAR)
def best():
    found = {}
    for name in "ACG":
        chain = SKELETONS[name]
        found[name] = readers.erik(ps.ERIK(chain).solve(_postures(chain, 10), rotations(10)))
    erik = ps.ERIK(_chain())
    posture = np.array([0, 0.6, -0.9, 0.3, 0])
    return {
        **found,
        "one": readers.erik(erik.solve(posture, pm.axis_angle((1.0, 0.0, 0.0), 1.2))),
        "direction": readers.erik(erik.solve(_postures(_chain(), 8), direction=directions(8))),
        "look_at": readers.erik(erik.solve(_postures(_chain(), 8), look_at=2.0 * directions(8, 1))),
        "look_near": readers.erik(erik.solve(posture, look_at=(0.1, 0.4, 0.2))),
        "pose": erik.solve(posture, rotations(1)[0]).pose,
        "nan": readers.erik(erik.solve(posture, [[np.nan, 0, 0, 1.0], [0.0, 0, 0, 0]])),
    }


@call(within=NEAR)
def best_with_options():
    postures, targets = _postures(_chain(), 8, 2), rotations(8, 3)
    found = {}
    for label, options in {
        "not_symmetric": {"symmetric": False},
        "signed": {"signed": True, "aggravation": 1.0},
        "early": {"stop_at_threshold": True, "threshold": 0.1},
        "posture_weight": {"posture_weight": 0.6, "aggravation": 2.0},
    }.items():
        found[label] = readers.erik(ps.ERIK(_chain(), **options).solve(postures, targets))
    return found


@call(within=NEAR)
def the_papers_method():
    found = {}
    for name in "ACG":
        chain = SKELETONS[name]
        found[name] = readers.erik(ps.ERIK(chain, "erik").solve(_postures(chain, 10), rotations(10)))
    postures, targets = _postures(_chain(), 8, 4), rotations(8, 5)
    for method in ("simple", "ccd"):
        found[method] = readers.erik(ps.ERIK(_chain(), method=method).solve(postures, targets))
    for label, options in {
        "loops": {"iterations": 4, "sweeps": 3, "precision": 1e-2},
        "tricks": {"offset_trick": False, "ccd_trick": False, "disturbance": 0.05},
        "threshold": {"threshold": 0.2, "symmetric": False, "signed": True},
    }.items():
        found[label] = readers.erik(ps.ERIK(_chain(), "erik", **options).solve(postures, targets))
    erik = ps.ERIK(_chain(), "erik")
    return {
        **found,
        "direction": readers.erik(erik.solve(postures, direction=directions(8))),
        "look_at": readers.erik(erik.solve(postures, look_at=2.0 * directions(8, 1))),
    }


def _turning(count: int = 40) -> np.ndarray:
    turns = pm.axis_angle((0.2, 0.9, 0.1), np.radians(3.0 * np.arange(count)))
    return pm.multiply(turns, pm.axis_angle((1.0, 0.0, 0.0), 1.2))


@call(within=NEAR)
def tracks_and_streams():
    posture = np.array([0, 0.6, -0.9, 0.3, 0])
    found = {}
    for method in ("best", "erik"):
        erik = ps.ERIK(_chain(), method, speed=8.0, gain=0.02)
        stream = erik.stream(fps=50.0)
        stream.reset(posture)
        steps = [readers.erik(stream.step(posture, target, dt=0.03)) for target in _turning(6)]
        steps.append(readers.erik(stream.step(posture, look_at=(1.0, 1.0, 1.0))))
        steps.append(readers.erik(stream.step(posture, direction=(0.0, 1.0, 1.0))))
        stream.reset()
        steps.append(readers.erik(stream.step(posture, _turning(1)[0])))
        directed = pm.rotate(_turning(20), (0.0, 1.0, 0.0))
        found[method] = {
            "track": readers.erik_track(erik.track(posture, _turning(), fps=50.0)),
            "motion": erik.track(posture, _turning(5)).motion,
            "directions": readers.erik_track(erik.track(posture, directions=directed)),
            "look_at": readers.erik_track(erik.track(posture, look_at=directed * 2.0, start=posture * 0.5)),
            "moving": readers.erik_track(erik.track(_postures(_chain(), 12, 6), _turning(12))),
            "steps": stacked(steps),
        }
    return found


@call(within=NEAR)
def bodies():
    spine = ps.Chain.from_body(body(), "spine")
    arm = ps.Chain.from_body(body(), "left_arm")
    looking = ps.ERIK(spine, stop_at_threshold=True).solve(spine.zero, look_at=(1.0, 1.5, 1.5))
    pose = sample("dance")[20]
    return {
        "spine": readers.erik(looking),
        "pose": looking.pose,
        "from_pose": readers.erik(ps.ERIK(arm).solve(pose, rotations(3, 7))),
        "motion": readers.erik_track(ps.ERIK(arm).track(sample("dance")[20:30], rotations(1, 8)[0])),
        "papers": readers.erik(ps.ERIK(arm, "erik").solve(arm.zero, rotations(3, 9))),
    }


@call(within=NEAR)
def tree():
    """A trunk of three joints with two arms of three."""
    names = ["t1", "t2", "t3", "a1", "a2", "a3", "b1", "b2", "b3"]
    axes = np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 1.0], *[[1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]] * 2])
    skeleton = ps.Skeleton(
        names,
        [-1, 0, 1, 2, 3, 4, 2, 6, 7],
        [[0, 0, 0], *[[0, 0.2, 0]] * 2, [0.1, 0.1, 0], *[[0.1, 0.1, 0]] * 2, [-0.1, 0.1, 0], *[[-0.1, 0.1, 0]] * 2],
        kinds=["hinge"] * 9,
        axes=axes,
    )

    def chain(joints: list[int]) -> ps.Chain:
        links = [Link(j, axes[j], False, k) for k, j in enumerate(joints)]
        options = {"tip": joints[-1], "pointing": (0, 1, 0), "names": [names[j] for j in joints]}
        return ps.Chain(skeleton, links, [(-1.5, 1.5)] * 6, **options)

    both = {"a": chain([0, 1, 2, 3, 4, 5]), "b": chain([0, 1, 2, 6, 7, 8])}
    postures = {"a": _postures(both["a"], 6, 10), "b": _postures(both["b"], 6, 11)}
    targets = {"a": rotations(6, 12), "b": rotations(6, 13)}
    answer = Tree(both, stop_at_threshold=True).solve(postures, targets)
    weighted = Tree(both, weights={"a": 3.0}, method="erik").solve({}, {"a": targets["a"][0], "b": targets["b"][0]})
    return {
        "answers": {name: readers.erik(one) for name, one in answer.chains.items()},
        "error": answer.error,
        "ok": answer.ok,
        "pose": answer.pose,
        "weighted": {name: readers.erik(one) for name, one in weighted.chains.items()},
        "weighted_error": weighted.error,
    }


@call()
def filters():
    rng = np.random.default_rng(14)
    signal = np.repeat(rng.uniform(-1.0, 1.0, (5, 3)), 14, axis=0)
    signal[20, 1] = np.nan
    made = {
        "limits": ps.MotionFilter(3.0, 20.0, 200.0, fps=50.0),
        "range": ps.MotionFilter([3.0, 2.0, 1.0], 20.0, [200.0, 100.0, 300.0], position_limits=(-0.6, 0.7)),
        "nutty": ps.MotionFilter(3.0, 20.0, 200.0, fps=50.0, kind="nutty", response=0.5, smoothness=0.4),
        "nutty_range": ps.MotionFilter(3.0, 20.0, 200.0, kind="nutty", position_limits=(-0.6, 0.7), hardness=2.0),
    }
    found = {}
    for name, one in made.items():
        stream = one.stream(signal[0])
        steps = [stream.step(signal[30], dt=0.021), stream.step(None, dt=0.1), stream.step([0.3, np.nan, -0.2])]
        found[name] = {
            "run": one.run(signal),
            "steps": np.array(steps),
            "values": stream.values,
            "velocity": stream.velocity,
            "acceleration": stream.acceleration,
        }
    found["one_channel"] = {"run": ps.MotionFilter(1.0, 5.0, 50.0).run(signal[:, 0])}
    return found


@call("robots/panda.urdf", "robots/nao_v50.urdf", within=NEAR)
def robots(panda, nao):
    arm = ps.Chain.from_robot(panda)
    head = ps.Chain.from_robot(nao)
    return {
        "panda": readers.chain(arm),
        "nao": readers.chain(head),
        "solved": readers.erik(ps.ERIK(arm).solve(arm.zero, rotations(5, 15))),
        "track": readers.erik_track(ps.ERIK(arm).track(arm.zero, _turning(20))),
    }


@call(within=NEAR)
def many_rows():
    """Enough rows to be shared between threads."""
    postures, targets = _postures(_chain(), 80, 16), rotations(80, 17)
    signal = np.repeat(np.random.default_rng(18).uniform(-1.0, 1.0, (3, 70)), 10, axis=0)
    return {
        "best": readers.erik(ps.ERIK(_chain()).solve(postures, targets)),
        "erik": readers.erik(ps.ERIK(_chain(), "erik").solve(postures, targets)),
        "tracks": readers.erik_track(ps.ERIK(_chain()).track(postures[:70, None], rotations(1, 19))),
        "filtered": ps.MotionFilter(3.0, 20.0, 200.0).run(signal),
    }
