"""`Intake`: what packets say, taken into a board of points, expressions and commands.

Both families of addresses are understood on every OSC socket, VMC's and VRChat's, so that a program which sends to the
other port is heard all the same; JSON lines have a socket of their own. What is not understood is counted and skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..body.roles import FINGERS, SPINE_ROLES, parent_role
from ..compute import PosableError
from ..compute.extent import EXTENT
from ..compute.types import Quat, Vec3
from ..reconstruct.sik import TRACKABLE
from .board import Board, product, rotated
from .bones import ROLES_OF, UNITY_NAMES
from .fingers import canonical_of_t_pose
from .osc import Message, decode
from .unity import SHORTEST, position_from_unity, rotation_from_degrees, rotation_from_unity
from .vrchat import PREFIX, ROLES

EXPRESSIONS = 256
"""Blend shapes that are passed through, at most."""
LONGEST_NAME = 128
"""Characters of the name of a blend shape."""
LINES = 64
"""JSON lines of a packet, at most."""
IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)


@dataclass
class Command:
    """Something that a packet asks of the loop."""

    name: str
    """"ready", "calibrate" or "periods"."""
    values: tuple[int, ...] = ()


@dataclass
class Counts:
    """Numbers of messages by what came of them."""

    messages: int = 0
    """That were understood."""
    unknown: int = 0
    """With addresses or names that mean nothing here."""
    broken: int = 0
    """Messages with other arguments than they should have."""


@dataclass
class _Bone:
    """A bone's local transform, in Unity's frame."""

    position: Vec3
    rotation: Quat
    time: float


@dataclass
class Intake:
    """Takes packets of any source into `board`."""

    board: Board = field(default_factory=Board)
    expressions: dict[str, float] = field(default_factory=dict)
    """Blend shapes that came since they were last sent."""
    apply: bool = False
    """Whether `/VMC/Ext/Blend/Apply` came."""
    commands: list[Command] = field(default_factory=list)
    """Not yet carried out; a few of them."""
    counts: Counts = field(default_factory=Counts)
    times: dict[str, float] = field(default_factory=dict)
    """The last `/VMC/Ext/T` [s] of each sender; a few of them."""
    backwards: str = ""
    """A sender whose time ran backwards."""
    _bones: dict[str, _Bone] = field(default_factory=dict)
    _root: tuple[Vec3, Quat] = ((0.0, 0.0, 0.0), IDENTITY)
    _world: dict[str, float] = field(default_factory=dict)  # serials seen without "/Local", and when

    def osc(self, packet: bytes, sender: str, now: float) -> bool:
        """Take an OSC packet; return whether it reported a point.

        Raises:
            OscError: when it is none.
        """
        reported = bones = False
        for message in decode(packet):
            handler = _HANDLERS.get(message.address)
            try:
                if handler is not None:
                    found = handler(self, message, sender, now)
                    bones = bones or found is None
                    reported = reported or bool(found)
                elif message.address.startswith(PREFIX):
                    reported = self._vrchat(message, sender, now) or reported
                else:
                    self.counts.unknown += 1
                    continue
                self.counts.messages += 1
            except (TypeError, ValueError, IndexError, OverflowError):  # arguments of other kinds than these should be
                self.counts.broken += 1
        if bones:
            self._report_bones(sender, now)
        return reported or bones

    def lines(self, packet: bytes, sender: str, now: float) -> bool:
        """Take a packet of JSON lines; return whether it reported a point.

        A line is an object: the part of the body, or the serial of a tracker, to [x, y, z] in metres in our frame, or
        to seven numbers with the orientation `wxyz` after them, or to null for a point that is lost. A joint of a
        finger ("left_index_proximal") has four numbers: its canonical rotation `wxyz` from the part above it.

        Raises:
            PosableError: when it is none.
        """
        reported = False
        for line in packet.split(b"\n", LINES)[:LINES]:
            if not line.strip():
                continue
            try:
                points = _LINES.decode(line)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                raise PosableError(
                    'expected JSON lines such as {"hips": [0, 0.95, 0], "head": [0, 1.6, 0, 1, 0, 0, 0]}'
                ) from None
            reported = self.frame(points, sender, now) or reported
        return reported

    def frame(self, points: Mapping[str, Any], sender: str, now: float) -> bool:
        """Take the points of a moment, as in a JSON line."""
        reported = False
        for name, numbers in points.items():
            if (finger := _FINGERS.get(name)) is not None and (numbers is None or len(numbers) == 4):
                rotation = None if numbers is None else _unit(*numbers)
                self.board.report_finger(finger, rotation, sender, now)
                self.counts.messages += 1
                reported = True
                continue
            if numbers is not None and len(numbers) not in (3, 7):
                self.counts.broken += 1
                continue
            position: Vec3 | None = None
            rotation = None
            if numbers is not None:
                if all(abs(number) <= EXTENT for number in numbers[:3]):
                    position = (numbers[0], numbers[1], numbers[2])
                if len(numbers) == 7:
                    rotation = _unit(numbers[3], numbers[4], numbers[5], numbers[6])
            kind = "part" if part_of(name) else "tracker"
            self.board.report(name, kind, position, rotation, sender, now)
            self.counts.messages += 1
            reported = True
        return reported

    # The protocol's messages

    def _device(self, kind: str, message: Message, sender: str, now: float) -> bool:
        name, x, y, z, a, b, c, d = message.arguments[:8]
        if not isinstance(name, str):
            raise TypeError("a serial is text")
        if message.address.endswith("/Local"):
            if now - self._world.get(name, -math.inf) < 1.0:
                return False  # the same device came in the world
        elif name in self._world or len(self._world) < 64:
            self._world[name] = now
        position, rotation = position_from_unity(x, y, z), rotation_from_unity(a, b, c, d)
        kind = "part" if name.startswith("posable_") and part_of(name) else kind
        self.board.report(name, kind, position, rotation, sender, now)
        return True

    def _headset(self, message: Message, sender: str, now: float) -> bool:
        return self._device("headset", message, sender, now)

    def _controller(self, message: Message, sender: str, now: float) -> bool:
        return self._device("controller", message, sender, now)

    def _tracker(self, message: Message, sender: str, now: float) -> bool:
        return self._device("tracker", message, sender, now)

    def _bone(self, message: Message, sender: str, now: float) -> bool | None:
        name, x, y, z, a, b, c, d = message.arguments[:8]
        role = ROLES_OF[name] if isinstance(name, str) and name in ROLES_OF else None
        if role is None:
            self.counts.unknown += 1
            return False
        position, rotation = position_from_unity(x, y, z), rotation_from_unity(a, b, c, d)
        if role in _FINGERS:
            canonical = None if position is None or rotation is None else canonical_of_t_pose(role, rotation)
            self.board.report_finger(role, canonical, sender, now, position)
            return True
        if position is None or rotation is None:
            self._bones.pop(role, None)
            return None
        self._bones[role] = _Bone(position, rotation, now)
        return None

    def _root_of_bones(self, message: Message, sender: str, now: float) -> bool:
        _, x, y, z, a, b, c, d = message.arguments[:8]
        position, rotation = position_from_unity(x, y, z), rotation_from_unity(a, b, c, d)
        if position is not None and rotation is not None:
            self._root = position, rotation
        return False

    def _report_bones(self, sender: str, now: float) -> None:
        """Report the parts that bones show, where every bone above them is known."""
        known: dict[str, tuple[Vec3, Quat]] = {}
        present = {role for role, bone in self._bones.items() if now - bone.time <= 1.0}
        for role in _BONE_ORDER:
            if role not in present:
                continue
            bone = self._bones[role]
            base = self._root if role == "hips" else known.get(parent_role(role, present) or "hips")
            if base is None:
                continue
            (px, py, pz), rotation = base
            rx, ry, rz = rotated(rotation, bone.position)
            world = (px + rx, py + ry, pz + rz), product(rotation, bone.rotation)
            known[role] = world
            if role in TRACKABLE:
                self.board.report(f"bone:{role}", "bone", world[0], _from_t_pose(role, world[1]), sender, now)

    def _value(self, message: Message, sender: str, now: float) -> bool:
        name, value = message.arguments[:2]
        if not isinstance(name, str) or len(name) > LONGEST_NAME:
            raise TypeError("the name of a blend shape is text")
        number = float(value)
        if abs(number) <= EXTENT and (name in self.expressions or len(self.expressions) < EXPRESSIONS):
            self.expressions[name] = number
        return False

    def _apply(self, message: Message, sender: str, now: float) -> bool:
        self.apply = True
        return False

    def _time(self, message: Message, sender: str, now: float) -> bool:
        seconds = float(message.arguments[0])
        before = self.times.get(sender)
        if before is not None and seconds < before - 1e-3:
            self.backwards = sender
        if before is not None or len(self.times) < 64:
            self.times[sender] = seconds
        return False

    def _command(self, name: str, *values: int) -> bool:
        if len(self.commands) < 16:
            self.commands.append(Command(name, values))
        return False

    def _ready(self, message: Message, sender: str, now: float) -> bool:
        return self._command("ready")

    def _calibrate(self, message: Message, sender: str, now: float) -> bool:
        return self._command("calibrate", *(int(value) for value in message.arguments[:1]))

    def _periods(self, message: Message, sender: str, now: float) -> bool:
        return self._command("periods", *(int(value) for value in message.arguments[:6]))

    def _ignored(self, message: Message, sender: str, now: float) -> bool:
        return False

    def _vrchat(self, message: Message, sender: str, now: float) -> bool:
        number, _, what = message.address[len(PREFIX) :].partition("/")
        if number not in ROLES or what not in ("position", "rotation"):
            self.counts.unknown += 1
            return False
        name = f"vrchat/{number}"
        x, y, z = message.arguments[:3]
        point = self.board.points.get(name)
        if what == "position":
            rotation = None if point is None else point.rotation
            self.board.report(name, "tracker", position_from_unity(x, y, z), rotation, sender, now)
        elif point is not None:
            point.rotation = rotation_from_degrees(x, y, z)
        return True


_FINGERS = {role: role for role in FINGERS} | {UNITY_NAMES[role]: role for role in FINGERS}
_LINES = msgspec.json.Decoder(dict[str, list[float] | None])
_LIMBS = ("shoulder", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot")
_BONE_ORDER = (*SPINE_ROLES, *(f"{side}_{part}" for side in ("left", "right") for part in _LIMBS))
_Handler = Callable[[Intake, Message, str, float], "bool | None"]
_HANDLERS: dict[str, _Handler] = {
    "/VMC/Ext/Hmd/Pos": Intake._headset,
    "/VMC/Ext/Con/Pos": Intake._controller,
    "/VMC/Ext/Tra/Pos": Intake._tracker,
    "/VMC/Ext/Hmd/Pos/Local": Intake._headset,
    "/VMC/Ext/Con/Pos/Local": Intake._controller,
    "/VMC/Ext/Tra/Pos/Local": Intake._tracker,
    "/VMC/Ext/Bone/Pos": Intake._bone,
    "/VMC/Ext/Root/Pos": Intake._root_of_bones,
    "/VMC/Ext/Blend/Val": Intake._value,
    "/VMC/Ext/Blend/Apply": Intake._apply,
    "/VMC/Ext/T": Intake._time,
    "/VMC/Ext/OK": Intake._ignored,
    "/VMC/Ext/Set/Calib/Ready": Intake._ready,
    "/VMC/Ext/Set/Calib/Exec": Intake._calibrate,
    "/VMC/Ext/Set/Period": Intake._periods,
}


def plain_points(frame: Mapping[str, Any]) -> dict[str, list[float] | None]:
    """Return points by part as JSON can have them: a position that is not finite is lost, a rotation not known."""
    made: dict[str, list[float] | None] = {}
    for name, given in frame.items():
        numbers = None if given is None else [float(number) for number in given]
        if numbers is not None and not all(map(math.isfinite, numbers)):
            numbers = numbers[:3] if len(numbers) == 7 and all(map(math.isfinite, numbers[:3])) else None
        made[str(name)] = numbers
    return made


def part_of(name: str) -> str | None:
    """Return the part of the body that the name of a point says it is on; None where it says none."""
    found = _PARTS.get(name)
    if found is None and len(name) <= LONGEST_NAME:
        found = _PARTS.get(name.lower().replace(" ", "_").replace("-", "_"))
    return found


def _from_t_pose(role: str, rotation: Quat) -> Quat:
    """Return the canonical orientation of a part that was rotated so from the T-pose."""
    if role.endswith(("hand", "lower_arm")):
        half = math.sqrt(0.5) if role.startswith("left") else -math.sqrt(0.5)
        return product(rotation, (math.sqrt(0.5), 0.0, 0.0, half))
    return rotation


def _unit(w: float, x: float, y: float, z: float) -> Quat | None:
    size = math.hypot(w, x, y, z)
    return (w / size, x / size, y / size, z / size) if SHORTEST < size < 1.0 / SHORTEST else None


_PARTS = {role: role for role in TRACKABLE}
_PARTS |= {UNITY_NAMES[role]: role for role in TRACKABLE} | {UNITY_NAMES[role].lower(): role for role in TRACKABLE}
_PARTS |= {f"posable_{role}": role for role in TRACKABLE} | {f"bone:{role}": role for role in TRACKABLE}
_PARTS |= {"pelvis": "hips", "waist": "hips", "hip": "hips"} | {
    f"vrchat/{number}": role for number, role in ROLES.items()
}
for _side in ("left", "right"):
    for _name, _part in (("wrist", "hand"), ("ankle", "foot"), ("elbow", "lower_arm"), ("knee", "lower_leg")):
        _PARTS |= {f"{_side}_{_name}": f"{_side}_{_part}", f"{_side}{_name}": f"{_side}_{_part}"}
