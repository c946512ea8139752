"""No status is better than the pose it comes with: every public solver, judged by plain NumPy from the outside.

A solver joins by one function in `SOLVERS`: it draws random and hostile tasks, calls the solver, and returns `Claim`s
that say what the returned pose does, measured here with kinematics that share nothing with the package. A claim
with the status REACHED whose errors are beyond the solver's documented tolerance, or whose pose is not finite, fails;
so does a solution that reports other errors than the pose has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.express import SKELETONS, Tree

ROUNDING = 1e-7  # [m or rad]: sums of a few dozen products of numbers of size 1, and an arccosine near 0


@dataclass
class Claim:
    """One row of a solution: what it says, and what the returned pose does."""

    status: int
    finite: bool
    position: float = 0.0
    """[m] between the end effector in the returned pose and its target, the largest."""
    position_tolerance: float = 0.0
    orientation: float = 0.0
    """[rad], likewise."""
    orientation_tolerance: float = 0.0
    told_position: float | None = None
    """The solution's own position error [m], where it is measured on the same thing."""
    told_orientation: float | None = None
    invalid: bool = False
    """Whether the task was no task: NaN, infinite, zero quaternion."""


# --- kinematics of this file alone -------------------------------------------------------------------------------


def mul(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    return np.concatenate([pw * qw - (pv * qv).sum(-1, keepdims=True), pw * qv + qw * pv + np.cross(pv, qv)], axis=-1)


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    w, u = q[..., :1], q[..., 1:]
    return v + 2.0 * np.cross(u, np.cross(u, v) + w * v)


def world(skeleton: ps.Skeleton, pose: ps.Pose) -> tuple[np.ndarray, np.ndarray]:
    """(positions (..., J, 3), orientations (..., J, 4)) by products down the tree."""
    rotations = np.asarray(pose.rotations)
    offsets = np.broadcast_to(skeleton.offsets if pose.offsets is None else pose.offsets, (*rotations.shape[:-1], 3))
    positions, orientations = np.empty((*rotations.shape[:-1], 3)), np.empty(rotations.shape)
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            positions[..., j, :], orientations[..., j, :] = pose.translation, rotations[..., j, :]
        else:
            above = orientations[..., parent, :]
            positions[..., j, :] = positions[..., parent, :] + rotate(above, offsets[..., j, :])
            orientations[..., j, :] = mul(above, rotations[..., j, :])
    return positions, orientations


def angle(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(...) [rad] between unit quaternions."""
    chord = np.minimum(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))
    return 4.0 * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))


def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(...) [rad] between directions."""
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(-1))


def draw_rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    q = Rotation.random(n, rng=rng).as_quat()
    return np.concatenate([q[:, 3:], q[:, :3]], axis=-1)


def hostile(targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The targets with a NaN, an infinite, a zero, a denormal and near, far and huge ones among them; which are no
    targets: `bad`.
    """
    out = targets.copy()
    rows = rng.permutation(len(out))[:9]
    out[rows[0], ..., 0], out[rows[1], ..., 1] = np.nan, np.inf
    out[rows[2]] = 0.0
    out[rows[3]] *= 1e3
    out[rows[4]] *= 1e8
    out[rows[5], ..., 2], out[rows[6], ..., 0] = 5e-324, -9e5
    spot = (rows[7], *(0,) * (out.ndim - 2))
    out[(*spot, int(rng.integers(3)))] = rng.choice([1e308, -1e308, 1e150, 1.1e6])  # one point alone
    out[rows[8]] = 1e308
    return out


def bad(*arrays: np.ndarray) -> np.ndarray:
    """(N,) rows with something that is not finite, or beyond a thousand kilometres (docs/conventions.md)."""
    return ~np.logical_and.reduce([(np.abs(a) <= 1e6).reshape(len(a), -1).all(axis=1) for a in arrays])


def rows(**columns: np.ndarray | float) -> Iterator[Claim]:
    count = len(columns["status"])
    for i in range(count):
        yield Claim(**{name: value[i] if np.ndim(value) else value for name, value in columns.items()})


def finite(pose: ps.Pose) -> np.ndarray:
    flat = np.asarray(pose.rotations).reshape(*pose.shape, -1)
    return np.isfinite(flat).all(axis=-1) & np.isfinite(pose.translation).all(axis=-1)


# --- the solvers -------------------------------------------------------------------------------------------------


def bodies() -> list[ps.Humanoid]:
    return [ps.figure(), ps.figure(height=1.3)]


def swing(s: np.ndarray) -> Rotation:
    """Swings (N, 2) about x and y."""
    return Rotation.from_rotvec(np.concatenate([s, np.zeros((len(s), 1))], axis=-1))


def about(axis: int, a: np.ndarray) -> Rotation:
    """Rotations by (N, 1) [rad] about a coordinate axis."""
    vector = np.zeros((len(a), 3))
    vector[:, axis] = a[:, 0]
    return Rotation.from_rotvec(vector)


def limbs(rng: np.random.Generator) -> Iterator[Claim]:
    """`Limb.solve`: the seven values through rotations of scipy (specification limb-and-reach, section 1)."""
    body = bodies()[0]
    for name in ("right_arm", "left_leg"):
        limb = body.limb(name)
        n = 60
        targets = hostile(rng.normal(size=(n, 3)) * 0.5 * limb.length, rng)
        orientations = draw_rotations(rng, n)
        for options in ({}, {"swivel": 0.3}):
            solution = limb.solve(targets, orientations, **options)
            swing1, twist1, flexion, twist2, swing2 = np.split(solution.values, [2, 3, 4, 5], axis=-1)
            upper = swing(swing1) * about(2, twist1)
            elbow = upper.apply([0.0, 0.0, limb.upper])
            lower = upper * about(1, flexion) * about(2, twist2)
            end = elbow + lower.apply([0.0, 0.0, limb.lower])
            hand = (lower * swing(swing2)).as_quat()
            yield from rows(
                status=solution.status,
                finite=np.isfinite(solution.values).all(axis=-1),
                position=np.linalg.norm(end - targets, axis=-1),
                position_tolerance=1e-6,
                orientation=angle(np.concatenate([hand[:, 3:], hand[:, :3]], axis=-1), orientations),
                orientation_tolerance=1e-6,
                told_position=solution.position_error,
                invalid=bad(targets),
            )


def placed(rng: np.random.Generator) -> Iterator[Claim]:
    """`body.place`, hands and feet, with and without an orientation, from poses of a motion."""
    for body in bodies():
        motion = ps.samples.dance(body)
        for part in ("right_hand", "left_foot"):
            n = 40
            start = motion.pose[rng.integers(0, len(motion), n)]
            here = world(body.skeleton, start)[0][:, body.index(part)]
            targets = hostile(here + rng.normal(size=(n, 3)) * 0.3 * body.height, rng)
            orientations = draw_rotations(rng, n)
            for oriented in (False, True):
                solution = body.place(start, part, ps.Target(targets, orientations if oriented else None))
                positions, turned = world(body.skeleton, solution.pose)
                joint = body.index(part)
                canonical = mul(turned[:, joint], conjugate(body.neutral_orientation(part)))
                yield from rows(
                    status=solution.status,
                    finite=finite(solution.pose),
                    position=np.linalg.norm(positions[:, joint] - targets, axis=-1),
                    position_tolerance=1e-6,
                    orientation=angle(canonical, orientations) if oriented else 0.0,
                    orientation_tolerance=1e-6,
                    told_position=solution.position_error,
                    invalid=bad(targets),
                )


def conjugate(q: np.ndarray) -> np.ndarray:
    return np.asarray(q) * [1.0, -1.0, -1.0, -1.0]


def reaching(rng: np.random.Generator) -> Iterator[Claim]:
    """`Reacher.solve` with both hands: each is where it says."""
    body = bodies()[0]
    reacher = ps.Reacher(
        body, right=ps.Behaviour.default(body, "right_arm"), left=ps.Behaviour.default(body, "left_arm")
    )
    n = 24
    start = ps.samples.reach(body)[0]
    here = world(body.skeleton, start)[0]
    targets = {
        side: hostile(
            here[body.index(f"{side}_hand")] + [0.0, 0.3, 0.3] + 0.12 * rng.normal(size=(n, 3)) * rng.integers(1, 5),
            rng,
        )
        for side in ("right", "left")
    }
    solution = reacher.solve(right=ps.Target(targets["right"]), left=ps.Target(targets["left"]), start=start)
    positions = world(body.skeleton, solution.pose)[0]
    off = [np.linalg.norm(positions[:, body.index(f"{side}_hand")] - targets[side], axis=-1) for side in targets]
    yield from rows(
        status=solution.status,
        finite=finite(solution.pose),
        position=np.max(off, axis=0),
        position_tolerance=1e-6,
        told_position=solution.position_error,
        invalid=bad(*targets.values()),
    )


def six_points(rng: np.random.Generator) -> Iterator[Claim]:
    """`SequentialIK.solve` and `track`, with and without what was learned; points of a motion, moved and lost."""
    for body in bodies():
        motion = ps.samples.walk(body)
        joints = [body.index(role) for role in ps.MARKERS]
        true = world(body.skeleton, motion.pose)[0][:, joints]
        n = 40
        points = hostile(true[rng.integers(0, len(true), n)] + rng.normal(size=(n, 6, 3)) * 0.05, rng)
        for prior in ("default", None):
            solver = ps.SequentialIK(body, prior=prior)
            for solution, pose in (
                (one := solver.solve(points), one.pose),
                (one := solver.track(points, fps=30.0), one.motion.pose),
            ):
                found = world(body.skeleton, pose)[0][:, joints]
                yield from rows(
                    status=solution.status,
                    finite=finite(pose),
                    position=np.linalg.norm(found - points, axis=-1).max(axis=-1),
                    position_tolerance=1e-6,
                    told_position=solution.position_error,
                    invalid=bad(points),
                )


def classic(rng: np.random.Generator) -> Iterator[Claim]:
    """Damped least squares and cyclic coordinate descent on a body, as examples of all iterative methods."""
    body = bodies()[0]
    joints = [body.index("right_hand"), body.index("head")]
    n = 12
    base = world(body.skeleton, body.neutral_pose)[0][joints]
    targets = hostile(base + rng.normal(size=(n, 2, 3)) * 0.2, rng)
    effectors = [ps.classic.Effector(body.skeleton.names[j]) for j in joints]
    for method in (ps.classic.DLS, ps.classic.CCD):
        solver = method(body.skeleton, effectors)
        solution = solver.solve(targets, start=body.neutral_pose)
        found = world(body.skeleton, solution.pose)[0][:, joints]
        yield from rows(
            status=solution.status,
            finite=finite(solution.pose),
            position=np.linalg.norm(found - targets, axis=-1).max(axis=-1),
            position_tolerance=solver.stop.tolerance,
            told_position=solution.position_error,
            invalid=bad(targets),
        )


def chain_tip(chain: ps.Chain, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(position, orientation) of the tip in the world, from the pose of the chain's skeleton."""
    positions, orientations = world(chain.skeleton, chain.pose(angles))
    turned = orientations[..., chain.tip, :]
    return positions[..., chain.tip, :] + rotate(turned, chain.tip_offset), turned


def expression(rng: np.random.Generator) -> Iterator[Claim]:
    """`ERIK` towards orientations, directions and points looked at, near and far."""
    for name in ("C", "F"):
        chain = SKELETONS[name]
        n = 40
        postures = rng.uniform(chain.lower, chain.upper, (n, len(chain)))
        reach = float(np.linalg.norm(chain_tip(chain, chain.zero)[0]))
        directions = rng.normal(size=(n, 3))
        points = hostile(rng.normal(size=(n, 3)) * reach * rng.uniform(0.2, 2.0, (n, 1)), rng)
        orientations = draw_rotations(rng, n)
        for method in ("best", "erik"):
            erik = ps.ERIK(chain, method)
            for options in ({"orientation": orientations}, {"direction": directions}, {"look_at": points}):
                solution = erik.solve(postures, **options)
                position, turned = chain_tip(chain, solution.angles)
                pointing = rotate(turned, chain.pointing)
                if "orientation" in options:
                    rolled = mul(turned, np.concatenate([[0.0], chain.pointing]))
                    off = np.minimum(angle(turned, orientations), angle(rolled, orientations))
                else:
                    ahead = directions if "direction" in options else points - position
                    off = between(pointing, ahead)
                yield from rows(
                    status=solution.status,
                    finite=np.isfinite(solution.angles).all(axis=-1),
                    orientation=off,
                    orientation_tolerance=erik.tolerance,
                    told_orientation=solution.orientation_error,
                    invalid=bad(points) if "look_at" in options else False,
                )


def trees(rng: np.random.Generator) -> Iterator[Claim]:
    """`Tree` on a body: an arm whose base the spine moves."""
    body = bodies()[0]
    chains = {name: ps.Chain.from_body(body, name) for name in ("spine", "right_arm")}
    tree = Tree(chains, stop_at_threshold=True)
    n = 10
    at_rest = world(body.skeleton, body.skeleton.rest)[1]
    targets = {name: draw_rotations(rng, n) for name in chains}
    for name, chain in chains.items():
        targets[name][:3] = at_rest[chain.tip]  # as it stands: within reach of both together
    solution = tree.solve({}, targets)
    orientations = world(body.skeleton, solution.pose)[1]
    off = []
    for name, chain in chains.items():
        turned = orientations[:, chain.tip]
        rolled = mul(turned, np.concatenate([[0.0], chain.pointing]))
        off.append(np.minimum(angle(turned, targets[name]), angle(rolled, targets[name])))
    yield from rows(
        status=solution.status,
        finite=finite(solution.pose),
        orientation=np.max(off, axis=0),
        orientation_tolerance=np.radians(1.0),
        told_orientation=solution.orientation_error,
    )


def dragged(rng: np.random.Generator) -> Iterator[Claim]:
    """`MotionEditor.drag` of several parts at several frames, near and far."""
    body = bodies()[0]
    motion = ps.samples.walk(body)[:40]
    editor = ps.MotionEditor(motion, body)
    for part in ("left_hand", "right_foot", "head"):
        joint = body.index(part)
        for frame in (0, 17, 39):
            here = world(body.skeleton, motion[frame])[0][joint]
            for size in (0.02, 0.2, 1.5):
                displacement = rng.normal(size=3) * size / np.sqrt(3.0)
                solution = editor.drag(frame=frame, part=part, displacement=displacement)
                found = world(body.skeleton, solution.pose)[0][joint]
                yield Claim(
                    int(solution.status),
                    bool(finite(solution.pose)),
                    float(np.linalg.norm(found - here - displacement)),
                    1e-3,
                    told_position=float(solution.position_error),
                )


def away_from(points: np.ndarray, kind: str, centre: np.ndarray, turn: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(N,) [m] from points to the surface of a ball, a capsule along its y or a box; below 0 inside."""
    seen = rotate(turn * [1.0, -1.0, -1.0, -1.0], points - centre)
    if kind == "capsule":
        seen = seen - [0.0, 1.0, 0.0] * np.clip(seen[:, 1:2], -0.5 * size[1], 0.5 * size[1])
    if kind in ("ball", "capsule"):
        return np.linalg.norm(seen, axis=-1) - size[0]
    beyond = np.abs(seen) - 0.5 * size
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)


def bone_gaps(body: ps.Humanoid, pose: ps.Pose, finger: str, thing: tuple) -> float:
    """[m] between the bones of a finger and a thing: each bone is balls along a line, whose distance less their radius
    is convex on it, so a search by thirds ends at the least.
    """
    positions, orientations = world(body.skeleton, pose)
    joints, gaps = [j for role, j in body.fingers.items() if role.startswith(finger)], []
    for row in body.volumes.packed:
        j = int(row["joint"])
        if j in joints:
            start, end = (positions[j] + rotate(orientations[j], row[name]) for name in ("start", "end"))

            def gap(t: np.ndarray, start=start, end=end, row=row) -> np.ndarray:
                radii = row["radii"][0] + t * (row["radii"][1] - row["radii"][0])
                return away_from(start + t[:, None] * (end - start), *thing) - radii

            low, high = 0.0, 1.0
            for _ in range(90):
                third = (high - low) / 3.0
                left, right = gap(np.array([low + third, high - third]))
                low, high = (low, high - third) if left < right else (low + third, high)
            gaps.append(gap(np.array([0.0, 0.5 * (low + high), 1.0])).min())
    return float(min(gaps))


def closing(rng: np.random.Generator) -> Iterator[Claim]:
    """`Humanoid.close_hand` on balls, capsules and boxes, from hairs to walls: what touches is at the surface."""
    for body in (ps.figure(fingers=True), ps.figure(1.1, fingers=True)):
        motion, size = ps.samples.dance(body), body.height / 1.75
        for _ in range(6):
            pose, side = motion[int(rng.integers(len(motion)))], str(rng.choice(["left", "right"]))
            positions, orientations = world(body.skeleton, pose)
            hand = body.index(f"{side}_hand")
            out = np.array([-1.0 if side == "left" else 1.0, -1.0, 1.0])  # palms face each other in the rest pose
            kind = str(rng.choice(["ball", "capsule", "box"]))
            radius = size * float(10.0 ** rng.uniform(-4.0, 0.3) if rng.random() < 0.3 else rng.uniform(0.005, 0.06))
            middle = size * np.array([0.02 + rng.uniform(0.0, 0.02), rng.uniform(0.07, 0.1), 0.02 * rng.normal()])
            middle[0] += radius
            centre, turn = positions[hand] + rotate(orientations[hand], out * middle), draw_rotations(rng, 1)[0]
            scene, measures = ps.Scene(), np.array([radius, 0.3, 0.0])
            if kind == "ball":
                scene.sphere("thing", radius, centre)
            elif kind == "capsule":
                scene.capsule("thing", radius, 0.3, centre, turn)
            else:
                measures, turn = 2.0 * radius * rng.uniform(0.3, 1.0, size=3), orientations[hand]
                scene.box("thing", measures, centre, turn)
            answer, thing = body.close_hand(pose, side, scene), (kind, centre, turn, measures)
            gaps = np.array([bone_gaps(body, answer.pose, finger, thing) for finger in answer.fingers])
            exact = kind != "box" or gaps.min() > -1e-6  # how deep something is in a box is counted in several ways
            inside = (gaps < -2e-6) & (answer.finger_status != ps.Status.COLLISION)
            for k, status in enumerate([*answer.finger_status, answer.status]):
                off = np.abs(gaps).max() if k == len(gaps) else abs(gaps[k])
                told = answer.position_error if k == len(gaps) else abs(answer.gaps[k])
                claimed = ps.Status.REACHED if inside[k : k + 1].any() else status  # sunk in, and not said
                yield Claim(
                    int(claimed), bool(finite(answer.pose)), off, 1e-4, told_position=float(told) if exact else None
                )


SOLVERS: dict[str, Callable[[np.random.Generator], Iterator[Claim]]] = {
    one.__name__: one for one in (limbs, placed, reaching, six_points, classic, expression, trees, dragged, closing)
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_status_is_never_better_than_the_pose(name: str, seed: int):
    assert judge(name, seed) > 0


def judge(name: str, seed: int) -> int:
    """Judge all claims that a solver makes of the tasks of a seed; return how many there were."""
    count = 0
    reached = invalid = 0
    for claim in SOLVERS[name](np.random.default_rng([seed, len(name)])):
        count += 1
        assert claim.finite, claim
        assert (claim.status == ps.Status.INVALID) == bool(claim.invalid), claim
        invalid += bool(claim.invalid)
        if claim.invalid:
            continue
        for told, true in ((claim.told_position, claim.position), (claim.told_orientation, claim.orientation)):
            if told is not None:
                assert abs(told - true) <= ROUNDING * max(1.0, true), claim
        if claim.status == ps.Status.REACHED:
            reached += 1
            assert claim.position <= claim.position_tolerance + ROUNDING, claim
            assert claim.orientation <= claim.orientation_tolerance + ROUNDING, claim
    assert reached > 0  # otherwise nothing was judged
    return count


@pytest.mark.soak
@pytest.mark.parametrize("name", SOLVERS)
def test_a_status_is_never_better_than_the_pose_in_a_hundred_thousand_tasks(name: str, drawn):
    """Those of all solvers together: about a million."""
    judged, seed, wanted = 0, 2, drawn(125_000)
    while judged < wanted:
        judged += judge(name, seed)
        seed += 1


def test_the_judge_sees_a_wrong_status():
    """A pose that is a centimetre off and says REACHED is caught by the very comparison above."""
    body = bodies()[0]
    solution = body.place(body.neutral_pose, "right_hand", ps.Target((-0.3, 1.2, 0.3)))
    found = world(body.skeleton, solution.pose)[0][body.index("right_hand")]
    assert solution.ok
    assert np.linalg.norm(found - (-0.3, 1.2, 0.3)) <= 1e-6
    assert np.linalg.norm(found - (-0.3, 1.2, 0.31)) > 1e-3
