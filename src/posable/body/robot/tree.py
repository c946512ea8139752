"""A robot's tree of motors: which chain is a leg, which an arm, what carries them, where its front is.

Names of robots' joints follow no custom ("left_hip_pitch_joint", "LLeg_2", "AAHead_yaw", "j13"), and T1's "Elbow_Pitch"
is what turns the upper arm. The tree is sure: two mirrored chains whose ends are the lowest of all are legs, the two
longest mirrored chains beside them arms, whatever link carries the ones the pelvis and the other the chest. The root
may be either of them or between. Names decide only what geometry leaves open: fingers, grippers, wheels and rods
are passed over by name too, and the left side is where the names say, where the knees bend away from and the feet
point to; y of the robot's own frame where all else is silent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...compute import PosableError
from ...compute.types import Floats
from ...math import rotate
from ...skeleton import Frames
from ..roles.names import LEFT, RIGHT, name_words, read_name

# fmt: off
PASSED_OVER = frozenset({
    "finger", "fingers", "thumb", "gripper", "jaw", "claw", "knuckle", "pinky", "wheel", "rotor", "propeller", "rod",
    "eye", "eyes", "eyelid", "eyelids", "ear", "antenna", "lidar", "hokuyo", "laser", "radar", "camera", "sonar",
})
# fmt: on
"""Words of joints that are no part of a limb, the trunk or the neck."""
LEAST = 3  # joints of a limb
FINGERS = frozenset({"finger", "fingers", "thumb", "jaw", "claw", "knuckle", "pinky"})
NEXT_BONE = 0.7  # of the way so far: what goes on further than this from a fork is no hand with fingers
MIRRORED = 0.03  # of the robot's size: how far mirrored joints may miss each other


@dataclass(frozen=True)
class Pair:
    """Two chains of joints on one link, each other's mirror images or called so."""

    node: int
    """The moving joint (or the root) of the link that carries both."""
    chains: tuple[tuple[int, ...], tuple[int, ...]]
    across: Floats
    """(3,) unit direction from the second to the first, in the world."""
    low: float
    """How high the lower of the two ends is [m]."""
    reach: float
    """How far a chain reaches from its first joint [m]."""


class RobotTree:
    """The moving joints of a robot in a pose in which it stands, fixed ones folded away.

    Args:
        frames: the pose.
        up: (3,) which way is up in the world.
    """

    def __init__(self, frames: Frames, up: Floats) -> None:
        skeleton = frames.skeleton
        self.skeleton, self.frames, self.up = skeleton, frames, up
        self.positions: Floats = frames.positions
        self.axes: Floats = np.asarray(rotate(frames.orientations, skeleton.axes[:, 0]))
        """(J, 3) the axis of each joint in the world."""
        self.words = [frozenset(name_words(name)) for name in skeleton.names]
        self.moving = [j for j, kind in enumerate(skeleton.kinds) if j == 0 or kind != "fixed"]
        self.above: dict[int, int] = {0: -1}
        for j in range(1, len(skeleton)):
            parent = int(skeleton.parents[j])
            self.above[j] = parent if parent in (0, *self.moving) else self.above[parent]
        self.below: dict[int, list[int]] = {j: [] for j in self.moving}
        for j in self.moving[1:]:
            self.below[self.above[j]].append(j)
        self.heights: Floats = self.positions @ up
        self.size = float(np.ptp(self.positions[self.moving], axis=0).max()) or 1.0

    # Chains

    def passed_over(self, joint: int) -> bool:
        """Whether a joint is a finger, a wheel... by its name, slides or is a ball."""
        return self.skeleton.kinds[joint] != "hinge" or bool(self.words[joint] & PASSED_OVER)

    @cached_property
    def driven(self) -> frozenset[int]:
        """The joints with a motor, or above one: not springs and rods that only go along."""
        robot = self.skeleton.robot
        if robot is None or not robot.motors:
            return frozenset(self.moving)
        mimics = {m.dof for m in robot.mimics}
        moved = {int(self.skeleton.dofs.joint[d]) for d in (*robot.motors, *mimics)}
        return frozenset(above for j in moved for above in self.line(j))

    def next_joints(self, joint: int) -> list[int]:
        """The joints on a link that may belong to the body."""
        return [j for j in self.below[joint] if not self.passed_over(j)]

    def furthest(self, joint: int) -> float:
        """How far the joints below one are from where it is attached, at most [m]."""
        start = self.positions[self.above[joint]]
        found, waiting = 0.0, [joint]
        while waiting:
            j = waiting.pop()
            found = max(found, float(np.linalg.norm(self.positions[j] - start)))
            waiting += self.below[j]
        return found

    def chain(self, first: int, through: Sequence[int] = ()) -> tuple[int, ...]:
        """The chain of joints that begins with one and ends before fingers.

        Args:
            first: its first joint.
            through: joints that it must contain.
        """
        path = [first]
        while True:
            forced = [j for j in self.below[path[-1]] if any(j in self.line(t) for t in through)]
            following = forced or self.next_joints(path[-1])
            following = [j for j in following if j in self.driven] or following
            if not following:
                return tuple(path)
            best = max(following, key=lambda j: (self.furthest(j), -j))
            paired = [j for j in self.below[path[-1]] if j in following or self.words[j] & FINGERS]
            if not forced and len(path) >= LEAST and self.is_hand(path, paired, best):
                return tuple(path)
            path.append(best)

    def is_hand(self, path: Sequence[int], following: Sequence[int], best: int) -> bool:
        """Whether what follows a path is a hand with fingers, or a gripper, rather than more of the limb."""
        if not self.below[best] and best in self.grippers:
            return True
        if len(following) < 2:
            return False
        steps = np.diff(self.positions[list(path)], axis=0)
        gone = float(np.linalg.norm(steps, axis=-1).sum())
        return len(following) > 2 or self.furthest(best) < NEXT_BONE * gone

    def line(self, joint: int) -> list[int]:
        """The moving joints from one up to the root, both included."""
        line = [joint]
        while (joint := self.above[joint]) >= 0:
            line.append(joint)
        return line

    def between(self, a: int, b: int) -> tuple[list[int], list[int]]:
        """(the joints that move a against the link that carries both, upwards; those that move b against it, down)."""
        ups, downs = self.line(a), self.line(b)
        common = next(j for j in ups if j in downs)
        return ups[: ups.index(common)], downs[: downs.index(common)][::-1]

    @cached_property
    def grippers(self) -> frozenset[int]:
        """Joints whose motor moves others as well, as a hand's does."""
        robot = self.skeleton.robot
        return frozenset(int(self.skeleton.dofs.joint[m.leader]) for m in (() if robot is None else robot.mimics))

    # Pairs

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two chains on one link that are mirrored, or called left and right of each other."""
        found = []
        for node in self.moving:
            firsts = self.next_joints(node)
            chains = {j: self.chain(j) for j in firsts}
            for k, a in enumerate(firsts):
                for b in firsts[k + 1 :]:
                    pair = self.pair(node, chains[a], chains[b])
                    if pair is not None:
                        found.append(pair)
        return found

    def pair(self, node: int, a: tuple[int, ...], b: tuple[int, ...]) -> Pair | None:
        """Two chains as a pair, or None where they are not each other's mirror images."""
        count = min(len(a), len(b))
        if count < LEAST:
            return None
        a, b = a[:count], b[:count]
        first, second = self.positions[list(a)], self.positions[list(b)]
        apart = first - second
        across = apart.sum(axis=0)
        across = across - (across @ self.up) * self.up
        length = float(np.linalg.norm(across))
        if length < 1e-6 * self.size:
            return None
        across = across / length
        off_axis = np.linalg.norm(apart - (apart @ across)[:, None] * across, axis=-1).max()
        middle = (0.5 * (first + second) @ across).max() - (0.5 * (first + second) @ across).min()
        mirrored = max(float(off_axis), float(middle)) < MIRRORED * self.size
        if not mirrored and not self.named_alike(a, b):
            return None
        ends = min(float(self.heights[a[-1]]), float(self.heights[b[-1]]))
        reach = float(np.linalg.norm(first - first[0], axis=-1).max())
        return Pair(node, (a, b), across, ends, reach)

    def named_alike(self, a: Sequence[int], b: Sequence[int]) -> bool:
        """Whether all joints of two chains are called alike but for their sides."""
        names = self.skeleton.names
        for i, j in zip(a, b):
            one, other = read_name(names[i]), read_name(names[j])
            if {one.side, other.side} != {LEFT, RIGHT} or (one.word, one.numbers) != (other.word, other.numbers):
                return False
        return True

    def legs_and_arms(self) -> tuple[Pair, Pair]:
        """The pairs that are legs and arms; raises with what is lacking."""
        lowest = min((float(self.heights[j]) for j in self.moving[1:]), default=0.0)
        highest = max((float(self.heights[j]) for j in self.moving[1:]), default=0.0)
        tall = highest - lowest
        legs = min(self.pairs, key=lambda pair: (pair.low, -pair.reach), default=None)
        if legs is None or legs.low > lowest + 0.15 * tall or legs.reach < 0.15 * self.size:
            raise PosableError(self.without_legs(lowest))
        inside = {j for chain in legs.chains for j in chain}
        others = [p for p in self.pairs if p is not legs and not inside & set(self.line(p.chains[0][0]))]
        others = [p for p in others if p.reach > 0.15 * legs.reach]
        on_feet = [p for p in others if p.low < legs.low + 0.15 * tall]
        hanging = [p for p in others if p not in on_feet]
        if not hanging and on_feet:
            raise PosableError(
                f"this robot stands on more than two legs ({self.named(legs.chains)}; "
                f"{self.named(on_feet[0].chains)}); Humanoid needs two legs and two arms"
            )
        if not hanging:
            raise PosableError(
                f"this robot has one pair of mirrored chains of {LEAST} joints or more ({self.named(legs.chains)}); "
                "Humanoid needs two legs and two arms, or roles={...} that say who is who"
            )
        return legs, max(hanging, key=lambda p: p.reach)

    def without_legs(self, lowest: float) -> str:
        """Say that there are no two legs, and what there is instead."""
        low = [j for j in self.moving[1:] if self.heights[j] < lowest + 0.1 * self.size]
        wheels = [j for j in self.moving if "wheel" in self.words[j]]
        chain = [j for j in reversed(self.line(low[0])) if j][:4] if low else []
        arms = max(self.pairs, key=lambda p: p.reach, default=None)
        has = []
        if arms is not None:
            has.append(f"two mirrored chains that do not reach down ({self.named(arms.chains)})")
        if wheels:
            has.append(f"wheels ({self.listed(wheels)})")
        elif chain:
            has.append(f"one chain down ({self.listed(chain)})")
        found = f"; it has {' and '.join(has)}" if has else ""
        return (
            f"this robot has no two legs of {LEAST} joints or more{found}. Humanoid needs two legs and two arms; "
            "ps.Chain makes a chain of any of its joints"
        )

    # Words

    def named(self, chains: Sequence[Sequence[int]]) -> str:
        """The first joints of some chains, for people."""
        return " and ".join(repr(self.skeleton.names[chain[0]]) for chain in chains)

    def listed(self, joints: Sequence[int], most: int = 4) -> str:
        """Some joints' names, for people."""
        names = ", ".join(self.skeleton.names[j] for j in joints[:most])
        return names + (f" and {len(joints) - most} more" if len(joints) > most else "")

    def sides_by_name(self, pair: Pair) -> float:
        """How far the names agree that the first chain is the left one: 1 all, -1 all the other way round."""
        votes = []
        for chain, sign in zip(pair.chains, (1.0, -1.0), strict=True):
            for j in chain:
                side = read_name(self.skeleton.names[j]).side
                votes.append(sign * {LEFT: 1.0, RIGHT: -1.0}.get(side, 0.0))
        return float(np.mean(votes))

    # The head

    def head(self, chest: int, shoulders: float, across: Floats, taken: Mapping[int, object]) -> tuple[int, ...]:
        """The chain of one to three joints that rises between the arms, empty where there is none.

        Args:
            chest: the joint of the link that carries the arms.
            shoulders: how high the arms begin [m].
            across: (3,) from right to left.
            taken: joints that are limbs.
        """
        best: tuple[tuple[bool, float], tuple[int, ...]] | None = None
        middle = float(np.mean([self.positions[j] @ across for j in taken]))
        for first in self.next_joints(chest):
            if first in taken or self.skeleton.kinds[first] == "ball":
                continue
            chain = [first]
            while len(chain) < LEAST and len(following := self.next_joints(chain[-1])) == 1:
                chain.append(following[0])
            named = any(word.startswith(("head", "neck")) for j in chain for word in self.words[j])
            off = max(abs(float(self.positions[j] @ across) - middle) for j in chain)
            high = float(self.heights[first])
            if not named and (off > 0.1 * self.size or high < shoulders - 0.05 * self.size):
                continue
            if best is None or (named, high) > best[0]:
                best = (named, high), tuple(chain)
        return () if best is None else best[1]
