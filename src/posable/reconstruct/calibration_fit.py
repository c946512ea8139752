"""A calibration from motion: see `Calibration.fit`.

- Trunk: hips and head are never further apart than the spine is long, and now and then as far.
- Legs: hip joint to ankle is never longer than the leg, and now and then nearly as long: everybody who stands or walks
  straightens a knee.
- Arms go with the trunk. Few motions stretch an arm, and where a shoulder is when one does, six points do not tell well
  enough: its reach, tried on captured motion, said between 0.7 and 1.4 of what the arm was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..compute import PosableError
from ..compute.types import ArrayLike, Floats
from ..math import rotate
from .calibration import PARTS, Calibration, checked_trackers
from .sik import SequentialIK

if TYPE_CHECKING:
    from ..body import Humanoid

LONGEST = 98.0  # percentile over the motion that counts as the longest: a few moments may be wrong
STRETCHED = 0.995  # of its length that a leg has when it is straight


def calibrate_from_motion(
    body: Humanoid,
    points: ArrayLike,
    orientations: Mapping[str, ArrayLike],
    start: Calibration | None,
    markers: tuple[str, ...],
) -> Calibration:
    """Scales from motion, offsets and turns from `start`."""
    given, rotated = checked_trackers(points, orientations, markers)
    count = len(markers)
    first = start or Calibration(markers, np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)))
    if first.markers != markers:
        raise PosableError(f"start is of {first.markers}; these trackers are on {markers}")
    if "hips" not in markers:
        raise PosableError(f"trackers are on {markers}; expected one on the hips: all lengths are counted from there")
    joint_positions, parts = first.apply(given, rotated)
    seen = np.isfinite(joint_positions).all(axis=(1, 2))
    if seen.sum() < 10:
        raise PosableError(f"{int(seen.sum())} moments have all trackers seen; expected some seconds of motion")
    joints = {role: joint_positions[seen, k] for k, role in enumerate(markers)}
    parts = {role: q[seen] for role, q in parts.items() if np.isfinite(q[seen]).all()}
    pelvis = parts["hips"] if "hips" in parts else _reconstructed_pelvis(body, joints)
    scales = _measured(body, joints, pelvis, dict(first.scales))
    return Calibration(markers, first.offsets, first.rotations, {part: scales[part] for part in PARTS})


def _measured(
    body: Humanoid, joints: Mapping[str, Floats], pelvis: Floats, scales: dict[str, float]
) -> dict[str, float]:
    """Scales from joints (F, 3) and the canonical orientation (F, 4) of the pelvis."""
    joint_positions = body.skeleton.forward(body.neutral_pose).positions
    hips = joint_positions[body.index("hips")]
    if "head" in joints:
        longest = float(np.linalg.norm(joint_positions[body.index("head")] - hips))
        far = np.linalg.norm(joints["head"] - joints["hips"], axis=-1)
        scales["trunk"] = float(np.percentile(far, LONGEST)) / longest
    legs = []
    for side in ("left", "right"):
        if f"{side}_foot" in joints:
            hip = joints["hips"] + rotate(
                pelvis, (joint_positions[body.index(f"{side}_upper_leg")] - hips) * scales["trunk"]
            )
            far = np.linalg.norm(joints[f"{side}_foot"] - hip, axis=-1)
            legs.append(float(np.percentile(far, LONGEST)) / (STRETCHED * body.limb(f"{side}_leg").length))
    scales["legs"] = float(np.mean(legs)) if legs else scales["trunk"]
    scales["arms"] = scales["trunk"]
    return scales


def _reconstructed_pelvis(body: Humanoid, joints: Mapping[str, Floats]) -> Floats:
    """(F, 4) canonical orientations of a pelvis that nobody knows: as `SequentialIK` finds it."""
    answer = SequentialIK(body, markers=tuple(joints)).solve(np.stack(list(joints.values()), axis=1))
    frames = body.skeleton.forward(answer.pose)
    return body.canonical_orientation(frames, body.index("hips"))
