"""Pictures of reaching for the documentation.

python -m tools.draw_reaches docs/_static/reach-styles.png                 # the same ten targets, a row a mood
python -m tools.draw_reaches docs/_static/reach-everyday.png everyday      # everyday targets, a row a character
python -m tools.draw_reaches docs/_static/reach-steps.png steps            # targets that take a step, and a motion
python -m tools.draw_reaches docs/_static/reach-passage.png passage        # from behind the body to its front

The characters are read from $POSABLE_DATA.
"""

import os
import sys
from pathlib import Path

import numpy as np

import posable as ps
from posable.body.collision.clearance import clearance
from posable.reach.examples import EXAMPLES
from posable.render import save_picture, strip
from posable.skeleton import Pose

TARGETS = [  # [m] where the right wrist goes; the figure stands at the origin, faces +Z, its right is -X
    (-0.80, 1.35, 0.10),  # aside
    (-0.55, 1.30, -0.40),  # behind
    (-0.25, 1.95, 0.30),  # a high shelf
    (-0.15, 1.20, 0.30),  # near: the arm does it alone
    (-0.30, 0.68, 0.00),  # beside the knee
    (-0.15, 1.45, 0.75),  # ahead
    (0.35, 1.35, 0.60),  # across
    (-0.20, 0.90, 0.75),  # a low table
    (0.25, 0.60, 0.50),  # low, across
    (-0.15, 0.45, 0.50),  # in front of the knees
]
EVERYDAY = {  # for somebody of 1.75 m: of the right wrist, and of the left one where both hands reach [m]
    "a cup on a table": ((-0.15, 0.85, 0.40), None),
    "a cup further away": ((-0.10, 0.85, 0.62), None),
    "a shelf": ((-0.20, 1.80, 0.40), None),
    "a door handle": ((-0.35, 1.05, 0.50), None),
    "the floor": ((-0.15, 0.15, 0.40), None),
    "a back pocket": ((-0.18, 0.95, -0.18), None),
    "a seat belt": ((-0.35, 1.30, -0.30), None),
    "across": ((0.40, 1.10, 0.35), None),
    "a tray": ((-0.18, 1.00, 0.50), (0.18, 1.00, 0.50)),
    "a box on the floor": ((-0.18, 0.40, 0.45), (0.18, 0.40, 0.45)),
}
OUT_OF_REACH = [(-0.2, 1.3, 1.1), (-0.2, 2.06, 0.2), (-1.2, 1.2, 0.2), (0.6, 1.1, 0.6), (-0.4, 1.2, -0.9)]
BACK, FRONT = (-0.25, 1.00, -0.30), (-0.10, 1.10, 0.42)  # beside the hip: the straight path grazes the waist
CHARACTERS = {
    "MakeHuman": "characters/makehuman/default.mhskel",
    "CesiumMan": "characters/CesiumMan.glb",
    "RiggedFigure": "characters/RiggedFigure.glb",
}


def styles(height: int = 300) -> np.ndarray:
    """The sheet of moods, (3 * height, W, 3) uint8."""
    body, rows = ps.figure(), []
    for name in EXAMPLES:
        answer = ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=ps.Target(TARGETS))
        print(
            f"{name}: {int(np.sum(answer.ok))} of {len(TARGETS)} reached, weights {np.round(answer.weight, 2).tolist()}"
        )
        rows.append(strip(body, answer.pose, list(range(len(TARGETS))), view=(-0.8, 0.12), spacing=1.1, height=height))
    return stacked(rows)


def everyday(height: int = 300) -> np.ndarray:
    """The sheet of everyday targets, a row a character."""
    folder, rows = Path(os.environ["POSABLE_DATA"]), []
    people = {"figure": (ps.figure(), None)}
    for name, file in CHARACTERS.items():
        motion = ps.load(folder / file)
        people[name] = (ps.Humanoid(motion.skeleton), motion)
    for name, (body, subject) in people.items():
        poses, weights = zip(*(reached(body, *targets) for targets in EVERYDAY.values()), strict=True)
        print(f"{name}: {', '.join(f'{what} {weight}' for what, weight in zip(EVERYDAY, weights, strict=True))}")
        drawn = body if subject is None else subject.skeleton
        rows.append(strip(drawn, Pose.stack(poses), list(range(len(poses))), view=(-0.8, 0.12), height=height))
    return stacked(rows)


def steps(height: int = 300) -> np.ndarray:
    """Bodies that step or rise on their toes, and below a motion with a step."""
    body = ps.figure()
    reacher = ps.Reacher(body, right=ps.Behaviour.example("normal"), feet="step")
    answer = reacher.solve(right=ps.Target(OUT_OF_REACH))
    for goal, status, step, heels, margin in zip(
        OUT_OF_REACH, answer.status, answer.step, answer.heels, answer.balance.margin, strict=True
    ):
        print(
            f"{goal}: {ps.Status(int(status)).name}, step {np.linalg.norm(step):.2f} m, heels "
            f"{np.degrees(heels.max()):.0f} degrees, {100 * margin:.0f} cm inside the feet"
        )
    motion = reacher.animate(right=OUT_OF_REACH[0]).motion
    rows = [
        strip(body, answer.pose, list(range(len(OUT_OF_REACH))), view=(-0.8, 0.12), spacing=1.3, height=height),
        strip(body, motion, 9, view=(-1.2, 0.1), height=height, travel=True, spacing=0.8),
    ]
    return stacked(rows)


def passage(height: int = 300) -> np.ndarray:
    """A hand passes from behind the body to its front, close by the trunk; nothing touches (Kallmann, Figure 11)."""
    body = ps.figure()
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"), self_collision=True)
    answer = reacher.animate(steps=[ps.ReachStep(right=ps.Target(at), duration=2.0) for at in (BACK, FRONT)], fps=60)
    frames = body.skeleton.forward(answer.motion)
    touching = clearance(body).touches(frames).sum()
    print(f"{touching} of {len(answer.motion)} frames touch, {answer.jumped.sum()} elbow jumps")
    hand = frames.positions[answer.arrivals[0] :, body.index("right_hand")]
    path = np.linalg.norm(hand - hand[0], axis=-1)  # figures at even steps of the hand
    moments = answer.arrivals[0] + np.searchsorted(path, np.linspace(0.0, path[-1], 8))
    return strip(body, answer.motion, moments, view=(-1.9, 0.22), spacing=0.72, height=height)


def reached(body: ps.Humanoid, right: tuple, left: tuple | None) -> tuple[Pose, str]:
    """The pose in which a body of any height reaches, and its weight of the behaviour with a mark where it does not."""
    feet = body.skeleton.forward(body.neutral_pose).positions[[body.index("left_foot"), body.index("right_foot")]]
    ground = feet.mean(axis=0) * [1.0, 0.0, 1.0]
    behaviours = {
        side: ps.Behaviour.example("normal", f"{side}_arm", body)
        for side, target in (("right", right), ("left", left))
        if target is not None
    }
    goals = {side: ground + np.array(t) * body.height / 1.75 for side, t in (("right", right), ("left", left)) if t}
    answer = ps.Reacher(body, **behaviours).solve(**goals)
    return answer.pose, f"{float(answer.weight):.2f}{'' if answer.ok else ' ' + answer.status.name}"


def stacked(rows: list[np.ndarray]) -> np.ndarray:
    width = max(row.shape[1] for row in rows)
    return np.concatenate(
        [np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    )


if __name__ == "__main__":
    sheets = {"styles": styles, "everyday": everyday, "steps": steps, "passage": passage}
    image = sheets[(sys.argv[2:] or ["styles"])[0]]()
    save_picture(image, sys.argv[1])
    print(f"{sys.argv[1]}: {image.shape[1]} x {image.shape[0]}")
