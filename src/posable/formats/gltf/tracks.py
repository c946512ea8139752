"""A motion as a glTF animation: key frames of the nodes that are its joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import Motion
from .accessors import Packer

STILL_PLACE = 1e-7  # [m]: a joint that leaves its node's translation by no more needs no keys
STILL_TURN = 1e-9  # of a quaternion's components


class Tracks:
    """Builds one animation; a transform that does not change over time gets one key, one that is the node's none."""

    def __init__(self, motion: Motion, packer: Packer) -> None:
        self.motion, self.packer = motion, packer
        with np.errstate(over="ignore"):  # refused below
            self.times = motion.times.astype(np.float32)
        if len(motion) > 1 and not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise PosableError(
                f"{motion.duration:g} s at {motion.fps:g} frames a second: glTF keeps times as float32, which cannot "
                "tell such frames apart; save a part of the motion, or resample it"
            )
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.inputs: dict[int, int] = {}  # keys to the accessor of their times

    def add_place(self, node: int, places: Floats, still: Floats, *, always: bool = False) -> None:
        """Keys for a node's translation (F, 3) in the file's unit, which is `still` (3,) at rest.

        `always` keeps every frame: a motion in which nothing moves still has its length.
        """
        size = max(1.0, float(np.abs(still).max()))
        if not always:
            if (np.abs(places - still) <= STILL_PLACE * size).all():
                return
            if (np.abs(places - places[0]) <= STILL_PLACE * size).all():
                places = places[:1]
        self._add(node, "translation", places, "VEC3")

    def add_turn(self, node: int, turns: Floats, still: Floats) -> None:
        """Keys for a node's rotation (F, 4) wxyz, which is `still` (4,) at rest."""
        against = np.einsum("fi,fi->f", turns[1:], turns[:-1]) < 0
        sign = np.concatenate([[1.0], np.cumprod(np.where(against, -1.0, 1.0))])
        turns = turns * sign[:, None]  # q and -q are one rotation: neighbours on the same side, for plain lerps
        if min(np.abs(turns - still).max(), np.abs(turns + still).max()) <= STILL_TURN:
            return
        if np.abs(turns - turns[0]).max() <= STILL_TURN:
            turns = turns[:1]
        self._add(node, "rotation", turns[:, [1, 2, 3, 0]], "VEC4")

    def animation(self) -> dict[str, Any]:
        """The finished animation, with our mark: the frame rate, which float32 times cannot tell exactly."""
        return {
            "name": self.motion.name or "motion",
            "samplers": self.samplers,
            "channels": self.channels,
            "extras": {"posable": {"fps": float(self.motion.fps)}},
        }

    def _add(self, node: int, path: str, values: Floats, kind: str) -> None:
        keys = len(values)
        if keys not in self.inputs:
            self.inputs[keys] = self.packer.add(self.times[:keys], "SCALAR", bounds=True)
        if not np.abs(values).max() < np.finfo(np.float32).max:
            raise PosableError(f"{self.motion.name!r} has a {path} of {np.abs(values).max():g}, which glTF cannot hold")
        output = self.packer.add(values.astype(np.float32), kind)
        self.channels.append({"sampler": len(self.samplers), "target": {"node": node, "path": path}})
        self.samplers.append({"input": self.inputs[keys], "interpolation": "LINEAR", "output": output})
