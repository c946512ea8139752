"""OSC 1.0 packets (Wright and Freed 2002): messages and bundles, read and written.

Types are `i f s b T F N I d h t`. Time tags are read over (what arrives counts when it arrives) and written as 1,
"immediately", as receivers differ in what they make of others. A packet is hostile until it was read: whatever it
says, `decode` returns messages or raises an `OscError`, in time and memory that its own size bounds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..compute import PosableError

LARGEST = 65507
"""Bytes of a UDP packet, at most."""
LIMIT = 1200
"""Bytes of a packet that we send: one that is larger is split, so that no network cuts it into fragments."""
MESSAGES = 1024
"""Messages of a packet, and arguments of a message, at most: nobody needs more, and reading them takes time."""
DEEPEST = 8
"""Bundles inside one another."""
BUNDLE = b"#bundle\0"
NOW = BUNDLE + struct.pack(">Q", 1)
"""The head of a bundle that counts as soon as it arrives."""
PLANS = 256
"""Lists of types that are remembered, at most."""

_SIZES = {"i": "i", "f": "f", "d": "d", "h": "q", "t": "Q"}
_CONSTANTS: dict[str, Any] = {"T": True, "F": False, "N": None, "I": math.inf}
_INT32 = 1 << 31
_SIZE = struct.Struct(">i")


class OscError(PosableError):
    """A packet that is no OSC, or broken."""


class UnknownTypeError(OscError):
    """A message with a type that is none of ours: by OSC's text it alone is left out."""


class Message(NamedTuple):
    """An address and its arguments."""

    address: str
    arguments: tuple[Any, ...] = ()


def encode(address: str, *arguments: Any, types: str | None = None) -> bytes:
    """Return a message as a packet.

    Args:
        address: begins with "/".
        arguments: numbers, text, bytes, True, False, None; whole numbers become `i` where they fit, else `h`.
        types: a letter for each argument where another type is meant, as in "sfd".
    """
    if not address.startswith("/") or "\0" in address:
        raise OscError(f"the address is {address[:60]!r}; expected one that begins with '/'")
    letters = "".join(map(_letter, arguments)) if types is None else types
    if len(letters) != len(arguments):
        raise OscError(f"{len(arguments)} arguments for the types {letters!r}; expected one letter for each")
    parts = [_padded(address.encode()), _padded(b"," + letters.encode())]
    for letter, value in zip(letters, arguments, strict=True):
        parts.append(_argument(letter, value))
    return b"".join(parts)


def bundle(elements: Iterable[bytes]) -> bytes:
    """Return a bundle of messages or bundles, to count immediately."""
    return NOW + b"".join(_SIZE.pack(len(element)) + element for element in elements)


def packets(messages: Iterable[bytes], limit: int = LIMIT) -> list[bytes]:
    """Return bundles of messages, in their order, none larger than `limit` bytes unless one message alone is."""
    found: list[bytes] = []
    group: list[bytes] = []
    size = len(NOW)
    for message in messages:
        if group and size + 4 + len(message) > limit:
            found.append(bundle(group))
            group, size = [], len(NOW)
        group.append(message)
        size += 4 + len(message)
    if group:
        found.append(bundle(group))
    return found


def decode(packet: bytes) -> list[Message]:
    """Return the messages of a packet in their order, those of nested bundles among them.

    Raises:
        OscError: when the packet is broken anywhere; then none of it counts. A message of a bundle that has an argument
            of another type is left out alone.
    """
    if len(packet) > LARGEST:
        raise OscError(f"the packet has {len(packet)} bytes; expected {LARGEST} at most")
    if len(packet) % 4 or not packet:
        raise OscError(f"the packet has {len(packet)} bytes; expected a multiple of 4")
    found: list[Message] = []
    try:
        _read(packet, 0, len(packet), found, 0)
    except (struct.error, UnicodeDecodeError) as error:
        raise OscError(f"the packet is broken: {error}") from None
    return found


def _read(packet: bytes, start: int, end: int, found: list[Message], depth: int) -> None:
    """Append the messages between two positions of a packet."""
    if packet[start : start + 8] != BUNDLE:
        found.append(_message(packet, start, end))
        return
    if depth >= DEEPEST:
        raise OscError(f"bundles lie more than {DEEPEST} deep in each other")
    at = start + 16
    if at > end:
        raise OscError("a bundle ends before its time tag")
    while at < end:
        (size,) = _SIZE.unpack_from(packet, at)
        at += 4
        if size <= 0 or size % 4 or size > end - at:
            raise OscError(f"an element of a bundle has {size} bytes; expected a multiple of 4 up to {end - at}")
        if len(found) >= MESSAGES:
            raise OscError(f"a packet has more than {MESSAGES} messages")
        first, at = at, at + size
        try:
            _read(packet, first, at, found, depth + 1)
        except UnknownTypeError:
            continue


_plans: dict[bytes, list[Any]] = {}


def _message(packet: bytes, start: int, end: int) -> Message:
    stop = packet.find(b"\0", start, end)
    if packet[start] != 47 or stop < 0:
        raise OscError(f"begins with {packet[start : start + 8]!r}; expected an address, '/...', or a bundle")
    address = packet[start:stop].decode("ascii")
    at = (stop | 3) + 1
    if at >= end:  # programs from before OSC 1.0 write no types where there are no arguments
        return Message(address)
    stop = packet.find(b"\0", at, end)
    if packet[at] != 44 or stop < 0:
        raise OscError("a message has no types: expected ',' and letters after the address")
    tags = packet[at:stop]
    plan = _plans.get(tags)
    if plan is None:
        plan = _plan(tags)
    at = (stop | 3) + 1
    values: list[Any] = []
    for step in plan:
        if step.__class__ is struct.Struct:
            values += step.unpack_from(packet, at)
            at += step.size
            if at > end:
                raise OscError("a message ends before its arguments")
        elif step == "s":
            stop = packet.find(b"\0", at, end)
            if stop < 0:
                raise OscError("a text has no end")
            values.append(packet[at:stop].decode("utf-8", "replace"))
            at = (stop | 3) + 1
        elif step == "b":
            (size,) = _SIZE.unpack_from(packet, at)
            at += 4
            if size < 0 or size > end - at:
                raise OscError(f"a blob has {size} bytes; expected up to {end - at}")
            values.append(packet[at : at + size])
            at += -(-size // 4) * 4
        else:
            values.append(step[0])
    if at != end:
        raise OscError("the arguments of a message do not end where it does")
    return Message(address, tuple(values))


def _plan(tags: bytes) -> list[Any]:
    """Return how to read arguments of these types: structs for runs of numbers, "s", "b", and (constant,)."""
    if len(tags) > MESSAGES + 1:
        raise OscError(f"a message has {len(tags) - 1} arguments; expected {MESSAGES} at most")
    plan: list[Any] = []
    run = ""
    for letter in tags[1:].decode("ascii", "replace"):
        if letter in _SIZES:
            run += _SIZES[letter]
            continue
        if run:
            plan.append(struct.Struct(">" + run))
            run = ""
        if letter in "sb":
            plan.append(letter)
        elif letter in _CONSTANTS:
            plan.append((_CONSTANTS[letter],))
        else:
            raise UnknownTypeError(f"an argument has the type {letter!r}; expected one of i f s b T F N I d h t")
    if run:
        plan.append(struct.Struct(">" + run))
    if len(_plans) < PLANS and len(tags) <= 64:
        _plans[tags] = plan
    return plan


def _letter(value: Any) -> str:
    if value is None or value is True or value is False:
        return {None: "N", True: "T", False: "F"}[value]
    if isinstance(value, int):
        return "i" if -_INT32 <= value < _INT32 else "h"
    for kind, letter in ((float, "f"), (str, "s"), (bytes, "b")):
        if isinstance(value, kind):
            return letter
    raise OscError(f"{value!r} cannot be sent; expected numbers, text, bytes, True, False or None")


def _argument(letter: str, value: Any) -> bytes:
    if letter in _SIZES:
        try:
            return struct.pack(">" + _SIZES[letter], value)
        except (struct.error, OverflowError) as error:
            raise OscError(f"{value!r} is no argument of the type {letter!r}: {error}") from None
    if letter == "s" and isinstance(value, str) and "\0" not in value:
        return _padded(value.encode())
    if letter == "b" and isinstance(value, bytes):
        return _SIZE.pack(len(value)) + value + bytes(-len(value) % 4)
    if letter in _CONSTANTS:
        return b""
    raise OscError(f"{value!r} is no argument of the type {letter!r}")


def _padded(text: bytes) -> bytes:
    """Return text with the zero that ends it, and more up to a multiple of four bytes."""
    return text + bytes(4 - len(text) % 4)
