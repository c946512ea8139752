"""Packets of somebody who means no good: broken, huge numbers, other protocols, floods of names."""

import math
import random
import struct
from collections.abc import Iterator

from posable.live import bundle, encode

ADDRESSES = [
    *(f"/VMC/Ext/{device}/Pos{local}" for device in ("Hmd", "Con", "Tra") for local in ("", "/Local")),
    *("/VMC/Ext/Bone/Pos", "/VMC/Ext/Root/Pos", "/VMC/Ext/Blend/Val", "/VMC/Ext/Blend/Apply", "/VMC/Ext/T"),
    *("/VMC/Ext/OK", "/VMC/Ext/Set/Period", "/VMC/Ext/Set/Calib/Ready", "/VMC/Ext/Set/Calib/Exec"),
    *(f"/tracking/trackers/{k}/{what}" for k in (1, 8, 9, "head") for what in ("position", "rotation", "x")),
    *("/", "/avatar/parameters/Voice", "/VMC", "/tracking/trackers/", "/tracking/trackers/1"),
]
NAMES = ["hips", "LeftHand", "Head", "LHR-1", "posable_head", "", "\u3042" * 40, "x" * 300, "vrchat/1", "bone:hips"]
NAMES += ["LeftIndexProximal", "RightThumbDistal", "left_index_proximal"]
NUMBERS = [0.0, 1.0, -1.0, 0.5, 1e30, -1e30, 1e6, 1.0001e6, math.nan, math.inf, -math.inf, 1e-40]
LINES = [
    *(b'{"hips": [0, 1, 0]}', b'{"hips": [1e999, 0, 0]}', b'{"hips": null, "head": [0,1,0,0,0,0,0]}', b"[]", b"{"),
    *(b'{"left_index_proximal": [1, 0, 0, 0]}', b'{"left_ring_distal": [0, 0, 0, 0], "LeftRingDistal": [1e999, 1]}'),
    *(b"null", b'{"a": {}}', b'{"hips": [0]}', b"[" * 3000, b'{"' + b"k" * 5000 + b'": [0,0,0]}', b"\xff\xfe\x00"),
    b"\n" * 4000,
]


def argument(draw: random.Random):
    return draw.choice(
        [
            lambda: draw.choice(NUMBERS),
            lambda: draw.choice(NAMES),
            lambda: draw.randrange(-(2**62), 2**62),
            lambda: draw.randrange(-3, 300),
            lambda: draw.randbytes(draw.randrange(1, 40)),
            lambda: draw.random() < 0.5,
            lambda: None,
            lambda: f"tracker {draw.randrange(10**6)}",
        ]
    )()


def message(draw: random.Random) -> bytes:
    address = draw.choice(ADDRESSES)
    kind = draw.random()
    if kind < 0.6:  # nearly right
        arguments = [draw.choice(NAMES) if draw.random() < 0.9 else f"t{draw.randrange(10**6)}"]
        arguments += [draw.choice(NUMBERS) if draw.random() < 0.4 else draw.uniform(-2, 2) for _ in range(7)]
        if "trackers" in address or draw.random() < 0.05:
            arguments = arguments[1:4]
    else:
        arguments = [argument(draw) for _ in range(draw.randrange(10))]
    return encode(address, *arguments)


def packet(draw: random.Random) -> bytes:
    """One packet: good, nearly good, or rubbish."""
    kind = draw.random()
    if kind < 0.05:
        return draw.randbytes(draw.randrange(200))
    if kind < 0.1:
        return draw.choice(LINES)
    if kind < 0.12:
        return bundle([]) + struct.pack(">i", draw.randrange(-(2**31), 2**31)) + draw.randbytes(8)
    if kind < 0.14:
        nested = message(draw)
        for _ in range(draw.randrange(12)):
            nested = bundle([nested])
        return nested
    made = message(draw) if kind < 0.5 else bundle([message(draw) for _ in range(draw.randrange(1, 6))])
    if draw.random() < 0.3:
        changed = bytearray(made)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        made = bytes(changed)
    if draw.random() < 0.1:
        made = made[: draw.randrange(len(made) + 1)]
    return made


def packets(seed: int, count: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    for _ in range(count):
        yield packet(draw)
