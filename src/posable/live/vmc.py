"""The VMC protocol, version 3.1: what avatar programs send each other over OSC, on ports 39539 and 39540.

A performer (this program) sends a model's bones to a marionette (a renderer), which listens on 39539; trackers, bones
and commands come to us on 39540. Positions are metres in Unity's frame (`unity`), rotations `xyzw`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.roles import MARKERS
from ..compute.types import Floats
from ..math import conjugate, multiply
from ..skeleton import Frames
from .bones import Bones
from .osc import LIMIT, bundle, encode, packets
from .unity import MIRROR, UNITY_SIGNS

if TYPE_CHECKING:
    from ..body import Humanoid

RENDERERS, PERFORMERS = 39539, 39540
"""Ports on which marionettes and performers listen."""
FAMILIES = ("status", "root", "bone", "blend", "camera", "devices")
"""What `/VMC/Ext/Set/Period` sets the periods of, in its order."""
DEVICES = {"head": "Hmd", "left_hand": "Con", "right_hand": "Con"}
"""Parts that are sent as a headset and controllers; all others are trackers."""
_OK, _T = encode("/VMC/Ext/OK", 0, 0, 0, 0)[:-16], encode("/VMC/Ext/T", 0.0)[:-4]
SERIALS = {role: f"posable_{role}" for role in MARKERS}


@dataclass(frozen=True)
class Status:
    """The state of the sender, as `/VMC/Ext/OK` has it."""

    loaded: bool = True
    """Whether there is a body."""
    calibration: int = 0
    """0: not calibrated, 1: waiting for it, 2: calibrating, 3: calibrated."""
    mode: int = 0
    """0: normal, 1: mixed reality by hand, 2: mixed reality of the floor."""
    tracking: bool = True
    """Whether points come."""


class Template:
    """Messages with fixed names and numbers that change, as packets: only the numbers are written anew.

    Args:
        messages: (address, text) of each; seven numbers follow the text.
    """

    def __init__(self, messages: Sequence[tuple[str, str]]) -> None:
        encoded = [encode(address, name, *[0.0] * 7) for address, name in messages]
        made = packets(encoded, LIMIT)
        self._bytes = np.frombuffer(bytearray(b"".join(made)), np.uint8)
        ends = np.cumsum([len(packet) for packet in made]) if made else np.zeros(0, int)
        self._splits = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=False))
        starts, at = [], 0
        for packet in made:
            inside = 16
            while inside < len(packet):
                (size,) = struct.unpack_from(">i", packet, inside)
                inside += 4 + size
                starts.append(at + inside - 28)
            at += len(packet)
        self._slots = (np.array(starts, int)[:, None] + np.arange(28)).reshape(-1)

    def packets(self, values: Floats) -> list[bytes]:
        """Return the packets with these numbers (N, 7), a row for each message."""
        self._bytes[self._slots] = values.astype(">f4").reshape(-1).view(np.uint8)
        return [self._bytes[a:b].tobytes() for a, b in self._splits]


class VmcWriter:
    """Writes poses of a model as VMC packets.

    Args:
        body: the model.
        trackers: whether the joints of the six `MARKERS` are sent as devices too.
        bones: whether the bones are sent.
    """

    def __init__(self, body: Humanoid, *, trackers: bool = False, bones: bool = True) -> None:
        self.bones = Bones(body)
        self._bones = Template([("/VMC/Ext/Bone/Pos", name) for name in self.bones.names]) if bones else None
        self._devices = None
        if trackers:
            roles = [role for role in MARKERS if role in body.roles]
            self._devices = Template([(f"/VMC/Ext/{DEVICES.get(role, 'Tra')}/Pos", SERIALS[role]) for role in roles])
            self._device_joints = np.array([body.index(role) for role in roles])
            self._device_neutral = conjugate(np.array([body.neutral_orientation(role) for role in roles]))
        self._root = encode("/VMC/Ext/Root/Pos", "root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        self.periods = dict.fromkeys(FAMILIES, 1)
        """Of how many frames one is sent, by family; 0: none."""
        self._frame = 0

    def set_periods(self, periods: Sequence[int]) -> None:
        """Set how often each of `FAMILIES` is sent: every frame (1), every second one (2), ..., never (0)."""
        self.periods = dict(zip(FAMILIES, (min(max(int(period), 0), 1000) for period in periods), strict=False))
        self.periods = dict.fromkeys(FAMILIES, 1) | self.periods

    def packets(
        self,
        frames: Frames,
        seconds: float,
        status: Status,
        expressions: Mapping[str, float] | None = None,
    ) -> list[bytes]:
        """Return the packets of a frame, each at most 1,200 bytes.

        Args:
            frames: the joints of the model in the world.
            seconds: [s] since the beginning.
            status: of the sender.
            expressions: values of blend shapes by name that changed; default none.
        """
        head, made = [], []
        if self._due("status"):
            state = (status.loaded, status.calibration, status.mode, status.tracking)
            head += [_OK + struct.pack(">4i", *state), _T + struct.pack(">f", seconds)]
        if self._due("root"):
            head.append(self._root)
        if self._bones is not None and self._due("bone"):
            made += self._bones.packets(self.bones.transforms(frames))
        if self._devices is not None and self._due("devices"):
            values = np.empty((len(self._device_joints), 7))
            values[:, :3] = frames.positions[self._device_joints] * MIRROR
            rotations = multiply(frames.orientations[self._device_joints], self._device_neutral)
            values[:, 3:] = rotations[:, [1, 2, 3, 0]] * UNITY_SIGNS
            made += self._devices.packets(values)
        if expressions and self._due("blend"):
            shapes = [encode("/VMC/Ext/Blend/Val", name, float(value)) for name, value in expressions.items()]
            made += packets([*shapes, encode("/VMC/Ext/Blend/Apply")])
        self._frame += 1
        return [bundle(head), *made] if head else made

    def _due(self, family: str) -> bool:
        period = self.periods[family]
        return period > 0 and self._frame % period == 0
