"""The fields of each kind of result, spelled once: when one is renamed it is renamed here, and its key stays."""

from typing import Any

import numpy as np


def limb(answer: Any) -> dict[str, Any]:
    """Of `Limb.solve`."""
    return {
        "values": answer.values,
        "status": answer.status,
        "ok": answer.ok,
        "swivel": answer.swivel,
        "residual": answer.position_error,
        "orientation_residual": answer.orientation_error,
        "tests": answer.tests,
        "failures": answer.failures,
        "too_far": answer.too_far,
        "too_near": answer.too_near,
    }


def limb_track(answer: Any) -> dict[str, Any]:
    """Of `Limb.track`, and of a step of its stream."""
    return {
        "values": answer.values,
        "swivel": answer.swivel,
        "status": answer.status,
        "residual": answer.position_error,
        "jumped": answer.jumped,
    }


def limb_reading(reading: Any) -> dict[str, Any]:
    """Of `body.limb(name).read`."""
    return {
        "position": reading.position,
        "orientation": reading.orientation,
        "swivel": reading.swivel,
        "values": reading.values,
        "remainders": reading.remainders,
    }


def placement(answer: Any) -> dict[str, Any]:
    """Of `body.place`."""
    return {
        "pose": answer.pose,
        "status": answer.status,
        "ok": answer.ok,
        "residual": answer.position_error,
        "orientation_residual": answer.orientation_error,
        "swivel": answer.swivel,
        "tests": answer.tests,
        "jumped": answer.jumped,
    }


def correction(answer: Any) -> dict[str, Any]:
    """Of `LimbRange.correct`."""
    return {
        "position": answer.position,
        "swivel": answer.swivel,
        "changed": answer.changed,
        "causes": answer.causes,
    }


def margins(answer: Any) -> dict[str, Any]:
    """Of `LimbRange.margins`."""
    return {"direction": answer.direction, "distance": answer.distance, "swivel": answer.swivel}


def spans(answer: Any) -> dict[str, Any]:
    """Of `LimbRange.spans`."""
    return {
        "margin": answer.margin,
        "low": answer.low,
        "high": answer.high,
        "mid": answer.mid,
        "half": answer.half,
    }


def range_report(report: Any) -> dict[str, Any]:
    """Of `LimbRange.report`."""
    return {
        "examples": report.examples,
        "bent": report.bent,
        "dropped": report.dropped,
        "samples": report.samples,
        "kept": report.reached,
        "filled": report.filled,
        "area": report.area,
    }


def canonical(posture: Any) -> dict[str, Any]:
    """Of `body.canonical`."""
    spine = posture.spine
    shape = {} if spine is None else {"spine": {"at": spine.at, "chest": spine.chest, "bends": spine.bends}}
    return {"roles": posture.roles, "rotations": posture.rotations, "hips": posture.hips, **shape}


def elbow(answer: Any) -> dict[str, Any]:
    """Of `elbow_out`."""
    return {
        "pose": answer.pose,
        "swivel_change": answer.swivel_change,
        "residual": answer.position_error,
        "depth": answer.depth,
        "changed": answer.changed,
    }


def posture(answer: Any) -> dict[str, Any]:
    """A `Posture` of a behaviour."""
    return {"parts": answer.parts, "rotations": answer.rotations, "hips": answer.hips}


def search(answer: Any) -> dict[str, Any]:
    """How a swivel is searched."""
    return {
        "preferred": answer.preferred,
        "low": answer.low,
        "high": answer.high,
        "step": answer.step,
        "growth": answer.growth,
        "refine": answer.refine,
    }


def reach(answer: Any) -> dict[str, Any]:
    """Of `Reacher.solve`, and of a step of its stream."""
    hands = {"right": answer.right, "left": answer.left}
    return {
        "pose": answer.pose,
        "status": answer.status,
        "ok": answer.ok,
        "weight": answer.weight,
        "residual": answer.position_error,
        "jumped": answer.jumped,
        "lowered": answer.lowered,
        "reason": answer.reason,
        "tried": answer.tried,
        **{side: _hand(hand) for side, hand in hands.items() if hand is not None},
    }


def _hand(hand: Any) -> dict[str, Any]:
    return {
        "status": hand.status,
        "residual": hand.position_error,
        "orientation_residual": hand.orientation_error,
        "swivel": hand.swivel,
        "wanted": hand.requested_weight,
        "weight": hand.weight,
    }


def reach_motion(answer: Any) -> dict[str, Any]:
    """Of `Reacher.animate`."""
    return {
        "motion": answer.motion,
        "status": answer.status,
        "residual": answer.position_error,
        "weight": answer.weight,
        "jumped": answer.jumped,
        "arrivals": answer.arrivals,
        "first_failure": answer.first_failure,
    }


def rebuilt(answer: Any) -> dict[str, Any]:
    """Of `SequentialIK.solve` and of a step of its stream, and of every method of `ps.classic.METHODS`."""
    return {"pose": answer.pose, **_rebuilt(answer)}


def rebuilt_motion(answer: Any) -> dict[str, Any]:
    """Of `SequentialIK.track`, and of every method of `ps.classic.METHODS`."""
    return {"motion": answer.motion, **_rebuilt(answer)}


def _rebuilt(answer: Any) -> dict[str, Any]:
    return {
        "status": answer.status,
        "ok": answer.ok,
        "residual": answer.marker_errors,
        "orientation_residual": answer.marker_orientation_errors,
        "lost": answer.lost,
        "points": answer.points,
    }


def calibration(answer: Any) -> dict[str, Any]:
    """A `Calibration`."""
    return {
        "markers": answer.markers,
        "offsets": answer.offsets,
        "turns": answer.rotations,
        "scales": answer.scales,
    }


def iterative(answer: Any) -> dict[str, Any]:
    """Of `IterativeIK.solve`."""
    return {"pose": answer.pose, **_iterative(answer)}


def iterative_motion(answer: Any) -> dict[str, Any]:
    """Of `IterativeIK.track`."""
    return {"motion": answer.motion, **_iterative(answer)}


def _iterative(answer: Any) -> dict[str, Any]:
    return {
        "status": answer.status,
        "ok": answer.ok,
        "residual": answer.effector_errors,
        "orientation_residual": answer.effector_orientation_errors,
        "iterations": answer.iterations,
        "stalled": answer.stalled,
    }


def erik(answer: Any) -> dict[str, Any]:
    """Of `ERIK.solve`, and of a step of its stream."""
    return {
        "angles": answer.angles,
        "error": answer.error,
        "orientation_error": answer.orientation_score,
        "posture_error": answer.posture_error,
        "angle_left": answer.orientation_error,
        "iterations": answer.iterations,
        "status": answer.status,
        "ok": answer.ok,
    }


def erik_track(answer: Any) -> dict[str, Any]:
    """Of `ERIK.track`."""
    return {**erik(answer), "jumped": answer.jumped}


def chain(answer: Any) -> dict[str, Any]:
    """A `Chain`, and where it is at some values."""
    low, high = np.maximum(answer.lower, -2.0), np.minimum(answer.upper, 2.0)
    values = low + np.linspace(0.2, 0.8, len(answer)) * (high - low)
    frames = answer.forward(values)
    pose = answer.pose(values)
    return {
        "names": answer.names,
        "limits": answer.limits,
        "zero": answer.zero,
        "pointing": answer.pointing,
        "frames.positions": frames.positions,
        "frames.orientations": frames.orientations,
        "frames.pointing": frames.pointing,
        "pose": pose,
        "read": answer.read(pose),
    }


def drag(answer: Any) -> dict[str, Any]:
    """Of `MotionEditor.drag`."""
    return {
        "pose": answer.pose,
        "status": answer.status,
        "ok": answer.ok,
        "cause": np.asarray(answer.cause).tolist(),
        "residual": answer.position_error,
        "turn_residual": answer.orientation_error,
        "slid": answer.slid,
        "done": answer.done,
        "frame": answer.frame,
        "steps": answer.steps,
        "iterations": answer.iterations,
        "limited": answer.limited,
    }


def edit(answer: Any) -> dict[str, Any]:
    """An edit that an editor keeps."""
    return {
        "status": answer.status,
        "ok": answer.ok,
        "residual": answer.position_error,
        "slid": answer.slid,
        "rows": answer.rows,
        "limited": answer.limited,
    }


def contacts(found: Any) -> list[Any]:
    """Contacts of an editor, or of a motion on another body."""
    return [[one.part, one.on, one.first, one.last] for one in found]


def retargeted(answer: Any) -> dict[str, Any]:
    """Of `retarget`."""
    return {
        "motion": answer.motion,
        "status": answer.status,
        "parts": answer.parts,
        "residual": answer.part_errors,
        "contacts": contacts(answer.contacts),
        "slid": answer.slid,
        "limited": answer.limited,
        "dropped": answer.dropped,
        "added": answer.added,
        "ratio": answer.ratio,
    }
