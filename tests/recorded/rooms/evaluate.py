"""Measures of answers."""

from posable.evaluate import (
    evaluate_block,
    evaluate_clip,
    evaluate_express,
    evaluate_reconstruct,
    evaluate_tracks,
    find_method,
    method_names,
)
from posable.evaluate.measures import (
    accelerations,
    jitter,
    local_rotations,
    orientation_errors,
    position_errors,
    root_mean_square,
    scored_joints,
)

from ..calls import call
from ..inputs import body, sample

NEAR = 1e-5
TIMES = {"milliseconds", "seconds", "microseconds"}


def _without_times(facts: object) -> object:
    if isinstance(facts, dict):
        return {name: _without_times(value) for name, value in facts.items() if name not in TIMES}
    return facts


@call()
def measures():
    motion = sample("walk")[:20]
    other = motion.replace(pose=sample("run").pose[:20])
    scored = scored_joints(body())
    before, after = (body().skeleton.forward(one.pose) for one in (motion, other))
    there, here = before.positions[:, scored.joints], after.positions[:, scored.joints]
    turned, again = local_rotations(before, scored), local_rotations(after, scored)
    errors = position_errors(there, here, body().joint_height)
    return {
        "names": scored.names,
        "joints": scored.joints,
        "parents": scored.parents,
        "position": errors,
        "orientation": orientation_errors(turned, again),
        "root_mean_square": root_mean_square(errors),
        "accelerations": accelerations(there, 30.0),
        "jitter": jitter(there, here, 30.0),
    }


@call(within=NEAR)
def clips():
    motion = sample("throw")[20:44]
    methods = ("sik", "sik_literal", "kma", "ccd", "pik")
    found = evaluate_clip(motion, methods, name="throw", weights=(1.0, 1.0, 0.2), per_frame=True)
    both = evaluate_reconstruct([motion, sample("walk")[:16]], ["sik"], per_frame=False)
    return {
        "clip": _without_times(found),
        "average": both.average("sik"),
        "orientation": both.average("sik", "orientation"),
        "names": method_names(),
        "found": [find_method(name)(body(), (1.0, 1.0, 0.0)).__class__.__name__ for name in ("sik", "kma")],
    }


@call(within=NEAR)
def expression():
    rows = evaluate_express("C", ("best", "erik", "dls100"), samples=40, seed=1, block=20)
    facts = {
        row.method: {
            "samples": row.samples,
            "left_out": row.left_out,
            "mean": row.mean,
            "deviation": row.deviation,
            "worst": row.worst,
            "iterations": row.iterations,
            "reached": row.reached,
            "histogram": row.histogram,
        }
        for row in rows
    }
    block = evaluate_block({"skeleton": "B", "method": "best", "first": 3, "end": 20}, seed=4, order="YXZ")
    return {
        **facts,
        "block": _without_times(block),
        "tracks": {method: evaluate_tracks("C", method, 4, frames=20, seed=2) for method in ("best", "erik")},
    }
