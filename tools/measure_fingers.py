"""Measure what five fingers a hand cost: the built-in figure with 53 joints beside the one with mittens, medians [µs].

python tools/measure_fingers.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import posable as ps


def main() -> None:
    for fingers in (False, True):
        body = ps.figure(fingers=fingers)
        motion = ps.samples.walk(body, duration=2.0)
        pose, editor = motion[30], ps.MotionEditor(motion, body)
        reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
        found = {
            "forward": median(lambda k, b=body, p=pose: b.skeleton.forward(p), 1000),
            "reach": median(lambda k, r=reacher, p=pose: r.solve(right=(-0.3 + 1e-3 * k, 1.2, 0.4), start=p), 200),
            "place": median(lambda k, b=body, p=pose: place(b, p, k), 200),
            "drag": median(lambda k, e=editor: drag(e, k), 60),
        }
        name = f"{len(body.skeleton)} joints, {len(body.volumes)} volumes"
        print(name, *(f"{what} {micro:.1f} µs" for what, micro in found.items()), sep="; ")


def drag(editor: ps.MotionEditor, k: int) -> None:
    """Drag the left hand up and ahead, in the style of the motion."""
    editor.drag(frame=30, part="left_hand", displacement=(0.0, 2e-3 * (k % 40), 1e-3 * (k % 30)))


def place(body: ps.Humanoid, pose: ps.Pose, k: int) -> None:
    """Place the left hand, the arm out of the body."""
    body.place(pose, "left_hand", np.array([0.3, 1.1 + 1e-3 * k, 0.3]), self_collision=True)


def median(call: Callable[[int], object], count: int) -> float:
    """The middle one of the times [µs] of some calls, after one that does not count."""
    call(0)
    times = []
    for k in range(count):
        begun = time.perf_counter()
        call(k)
        times.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times))


if __name__ == "__main__":
    main()
