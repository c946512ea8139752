"""Fingers that senders report: taken from a board, put on the hands of a body, inside its limits.

VMC has the rotation of each bone of a finger from the bone above it. Most models stand in a T-pose at identity, palms
down and fingers straight, so a rotation counts from there. A bone that sits where that of the body's own file does, to
a millimetre, is of the same model: its rotation counts as the file has it, which for VRM 1 is not a T-pose.

Another VRM 1 whose bones do not lie along the arm in their frames stands otherwise at rest, in a pose that nobody
knows here: its fingers are not taken.

A finger that was reported goes on as it was for a quarter of a second; then it is lost and relaxes over half a second,
as a hand does that nobody holds up, and goes back as smoothly when it is seen again. Joints that a sender does not have
are straight in a finger of which it reports others; fingers that nobody ever reported stay as they are at rest. Where
the body lacks a joint, the one after it takes over its rotation. When no point of the body is seen any more, fingers
stay as they were, as all of it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import MIRROR as MIRRORED
from ..body.hand import HandShape
from ..body.roles import FINGER_CHAINS, FINGERS, parent_role
from ..compute.types import Bools, Floats, Quat
from ..math import axis_angle, conjugate, multiply, slerp
from ..reconstruct.filtering import OneEuro
from ..skeleton import Pose
from .board import LOST, Board
from .board import UNKNOWN as NOWHERE
from .bones import Bones
from .unity import MIRROR

if TYPE_CHECKING:
    from ..body import Humanoid

RELAXING = 0.5
"""[s] in which a lost finger relaxes, and one that is seen again goes back."""
SAME_MODEL = 1e-3
"""[m] within which a bone sits where that of the body's file does."""
LEAST_BONE, ALONG = 2e-3, 0.5
"""[m]: shorter bones have no direction; and the cosine of the most by which one is off the arm in a T-pose."""
_ROWS = {role: row for row, role in enumerate(FINGERS)}
_FINGER_OF = np.repeat(np.arange(len(FINGER_CHAINS)), [len(chain) for chain in FINGER_CHAINS.values()])
"""(30,) which finger each joint is of."""
_OUTWARDS = np.array(
    [(1.0 if role.startswith("left") else -1.0) * role.endswith(("intermediate", "distal")) for role in FINGERS]
) * np.array(["thumb" not in role for role in FINGERS])
"""(30,) the sign of x at which these bones of the four fingers sit in a T-pose; 0 for all others."""


def canonical_of_t_pose(role: str, rotation: Quat) -> Quat:
    """Return the canonical rotation of a finger's joint that was rotated so in the T-pose, where its arm is out."""
    w, x, y, z = rotation
    return (w, y, -x, z) if role.startswith("left") else (w, -y, x, z)


class FingerFollower:
    """Puts the fingers of a board on a body.

    Args:
        body: one with fingers.
        smoothing: time constant [s] of a One-Euro filter; None: none.
    """

    def __init__(self, body: Humanoid, smoothing: float | None = None) -> None:
        self._joints = np.array([*body.fingers.values()])
        self._rows = np.array([_ROWS[role] for role in body.fingers])
        self._lacking = _joined(body)
        limited = [k for k, role in enumerate(body.fingers) if role in body.limits]
        self._limits, self._limited = body.limits, np.array(limited, np.int64)
        self._limited_roles = [role for role in body.fingers if role in body.limits]
        neutral = np.array([body.neutral_orientation(role) for role in body.fingers])
        local = body.neutral_pose.rotations[self._joints]
        # A local rotation in the rig is before * canonical * after: linear in the canonical one.
        self._to_rig = _product_matrix(multiply(local, conjugate(neutral)), neutral)
        self._sits, self._from_file = _own_bones(body)
        relaxed = HandShape.named("relaxed").rotations
        self._relaxed = np.concatenate([relaxed, relaxed * MIRRORED])
        self._smoothing = smoothing
        self.puzzle = ""
        """Whose bones do not lie as in a T-pose, nor as in the body's file."""
        self.restart()

    def restart(self) -> None:
        """Forget the past."""
        self._seen = np.full(len(FINGER_CHAINS), -1.0)  # of each finger: 1 as reported, 0 relaxed, below: never seen
        self._filter = None if self._smoothing is None else OneEuro(self._smoothing, 1.0, quaternions=True)

    def warm_up(self, pose: Pose) -> None:
        """Make ready what the first fingers need."""
        board = Board()
        board.report_finger(FINGERS[0], (1.0, 0.0, 0.0, 0.0), "", 0.0)
        for now in (0.0, 1.0):
            self.pose(pose, board, now, 0.1)
        self.restart()

    def pose(self, pose: Pose, board: Board, now: float, step: float) -> Pose:
        """Return the pose with the fingers of the board at a moment.

        Args:
            pose: of the body.
            board: what was reported.
            now: [s]
            step: [s] since the pose before.
        """
        if not board.fingers:
            return pose
        reported, known = self._reported(board)
        self._look(board, now, step)
        if self._filter is not None and step > 0.0:
            reported = self._filter.step(reported, step)
        seen = self._seen[_FINGER_OF]
        if (away := (seen >= 0.0) & (seen < 1.0)).any():
            eased = seen[away] * seen[away] * (3.0 - 2.0 * seen[away])
            reported[away] = slerp(self._relaxed[away], reported[away], eased)
        return self._posed(pose, reported, known)

    def _look(self, board: Board, now: float, step: float) -> None:
        """Let each finger come nearer to what is reported of it, or to the relaxed hand where it is lost."""
        fresh = np.zeros(len(FINGER_CHAINS), np.bool_)
        rows = [_ROWS[role] for role, finger in board.fingers.items() if now - finger.time <= LOST]
        fresh[_FINGER_OF[np.array(rows, np.int64)]] = True
        step = min(max(step, 0.0), LOST) / RELAXING
        moved = np.clip(self._seen + np.where(fresh, step, -step), 0.0, 1.0)
        self._seen = np.where(self._seen >= 0.0, moved, np.where(fresh, 1.0, self._seen))

    def _reported(self, board: Board) -> tuple[Floats, Bools]:
        """Return (30, 4) canonical rotations, straight where none was reported, and (30,) which fingers are known."""
        rows = [_ROWS[role] for role in board.fingers]
        rotations, positions = np.zeros((len(FINGERS), 4)), np.full((len(FINGERS), 3), np.nan)
        rotations[:, 0] = 1.0
        rotations[rows] = [finger.rotation for finger in board.fingers.values()]
        positions[rows] = [finger.position or NOWHERE for finger in board.fingers.values()]
        known = np.zeros(len(FINGER_CHAINS), np.bool_)
        known[_FINGER_OF[rows]] = True
        away = positions - self._sits
        own = np.sqrt((away * away).sum(axis=-1)) < SAME_MODEL
        if own.any():
            rotations[own] = np.matmul(self._from_file[own], rotations[own][:, :, None])[:, :, 0]
        self.puzzle = ""
        lengths = np.sqrt((positions * positions).sum(axis=-1))
        shown = (lengths > LEAST_BONE) & (_OUTWARDS != 0.0) & ~own
        if shown.any():
            strange = shown & (positions[:, 0] * _OUTWARDS < ALONG * lengths)
            if 4 * strange.sum() > shown.sum():
                self.puzzle = board.fingers[FINGERS[int(np.flatnonzero(strange)[0])]].sender
                known[:] = False
                known[_FINGER_OF[own]] = True
        return rotations, known[_FINGER_OF]

    def _posed(self, pose: Pose, canonical: Floats, known: Bools) -> Pose:
        """Return the pose with canonical rotations (30, 4) of the joints that are known (30,)."""
        inside = canonical[self._rows]
        for row, above in self._lacking:
            for lacking in above:
                inside[row] = multiply(canonical[lacking], inside[row])
        inside[self._limited] = self._limits.clamp(self._limited_roles, inside[self._limited])
        local = np.matmul(self._to_rig, inside[:, :, None])[:, :, 0]
        known, rotations = known[self._rows], pose.rotations.copy()
        rotations[self._joints[known]] = local[known]
        return Pose(pose.translation, rotations, pose.offsets)


def _joined(body: Humanoid) -> list[tuple[int, list[int]]]:
    """Return (row among the body's fingers, joints above it that the body lacks, the nearest first)."""
    found = []
    for row, role in enumerate(body.fingers):
        above, over = [], parent_role(role, FINGERS)
        while over is not None and over not in body.fingers:
            above.append(_ROWS[over])
            over = parent_role(over, FINGERS)
        if above:
            found.append((row, above))
    return found


def _own_bones(body: Humanoid) -> tuple[Floats, Floats]:
    """Return where the bones of the body's own file sit, (30, 3) [m] in the frame of the bone above, mirrored to ours;
    and (30, 4, 4), from the canonical rotation that a T-pose would mean to the one that such a bone's rotation means.
    """
    bones, sits = Bones(body), np.full((len(FINGERS), 3), np.nan)
    matrices = np.tile(np.eye(4), (len(FINGERS), 1, 1))
    placed = bones.transforms(body.neutral_frames)[:, :3] * MIRROR
    for role, record, position in zip(bones.roles, bones.locals, placed, strict=True):
        if role in body.fingers and record["above"] >= 0:
            arm = axis_angle((0.0, 0.0, 1.0), np.pi / 2.0 if role.startswith("left") else -np.pi / 2.0)
            before = multiply(multiply(body.neutral_orientation(int(record["above"])), record["between"]), arm)
            after = conjugate(multiply(multiply(body.neutral_orientation(role), record["own"]), arm))
            sits[_ROWS[role]], matrices[_ROWS[role]] = position, _product_matrix(before, after)
    return sits, matrices


def _product_matrix(before: Floats, after: Floats) -> Floats:
    """Return (..., 4, 4): the matrix of q -> before q after."""
    units = np.eye(4)
    columns = [multiply(multiply(before, unit), after) for unit in units]
    return np.stack(columns, axis=-1)
