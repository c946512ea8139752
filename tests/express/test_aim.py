"""Points looked at and trees of end points: recomputed from the angles alone, and reached where they can be reached."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import posable as ps
import posable.math as pm
from posable.compute import PosableError, Status
from posable.express import ERIK, SKELETONS, Chain, Tree
from posable.express.aim import KINDS, AimProblem
from posable.express.aim_kernels import (
    GRADIENT,
    MATRIX,
    VALUES,
    bend_of,
    cost,
    normal_equations,
    place_links,
    residual,
)

ROBOTS = {"panda": (None, None), "ur5": (None, None), "so101": (None, None), "nao_v50": ("torso", "r_wrist")}
DEGREE = np.radians(1.0)


@pytest.fixture(params=["C", "F", *ROBOTS])
def chain(request, data_dir) -> Chain:
    if request.param in SKELETONS:
        return SKELETONS[request.param]
    return Chain.from_robot(data_dir / "robots" / f"{request.param}.urdf", *ROBOTS[request.param])


def off_point(chain: Chain, angles, points):
    """[rad] between the pointing axis and the direction from the tip to the point."""
    frames = chain.forward(angles)
    ahead = points - frames.positions[..., -1, :]
    sine = np.linalg.norm(np.cross(frames.pointing, ahead), axis=-1)
    return np.arctan2(sine, (frames.pointing * ahead).sum(-1))


def drawn(chain: Chain, count: int, seed: int):
    """Postures inside the limits, and points at 0.2 to 2 times the distance of the tip from the base."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    still = chain.forward(chain.zero).positions
    far = np.linalg.norm(still[-1] - still[0]) * rng.uniform(0.2, 2.0, (count, 1))
    points = still[0] + far * pm.rotate(pm.normalize(rng.normal(size=(count, 4))), (0.0, 0.0, 1.0))
    return rng.uniform(low, high, (count, len(chain))), points


def test_the_status_of_looking_at_a_point_is_what_the_tip_does(chain: Chain):
    postures, points = drawn(chain, 60, 0)
    for method in ("best", "erik"):
        solution = ERIK(chain, method).solve(postures, look_at=points)
        off = off_point(chain, solution.angles, points)
        np.testing.assert_allclose(solution.orientation_error, off, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(solution.ok, off <= DEGREE)
        assert (solution.angles >= chain.lower).all() and (solution.angles <= chain.upper).all()


def test_a_point_that_another_solver_finds_is_looked_at(chain: Chain):
    postures, points = drawn(chain, 25, 1)
    solution = ERIK(chain).solve(postures, look_at=points)
    low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    starts = np.random.default_rng(2).uniform(low, high, (12, len(chain)))
    missed = []
    for row in np.flatnonzero(~solution.ok):

        def residual(values, point=points[row]):
            frames = chain.forward(values)
            ahead = point - frames.positions[-1]
            return frames.pointing - ahead / np.linalg.norm(ahead)

        found = [least_squares(residual, start, bounds=(low, high)).x for start in starts]
        if min(off_point(chain, one, points[row]) for one in found) < 0.5 * DEGREE:
            missed.append(int(row))
    assert len(missed) <= 1, missed


def test_a_point_is_looked_at_with_as_little_change_of_posture_as_from_any_start_that_is_documented(chain: Chain):
    """Those of the directions to the point from the tip, the base and the middle of the chain, and so on from there."""
    postures, points = drawn(chain, 60, 21)
    solver, stations = ERIK(chain), chain.forward(postures).positions
    problem = AimProblem({"tip": chain}, {"tip": KINDS["look_at"]}, {"tip": solver.tip_settings()})
    goals = np.concatenate([points, np.zeros((len(points), 1))], axis=1)[:, None]
    best = np.full(len(points), np.inf)
    for k, rounds in ((len(chain), 4), (0, 2), (len(chain) // 2, 2)):
        eye = stations[:, k]
        for _ in range(rounds):
            angles = solver.solve(postures, direction=points - eye).angles
            eye = chain.forward(angles).positions[:, -1]
            values, report = problem.solve(goals, {"tip": postures}, angles[:, None])
            aims = off_point(chain, values, points) <= DEGREE
            best = np.where(aims, np.minimum(best, report["error"][:, 0]), best)
    solution = solver.solve(postures, look_at=points)
    assert solution.ok[np.isfinite(best)].all()
    assert (solution.error > best + 1e-6).mean() < 0.1


def test_a_point_behind_is_looked_at_and_not_away_from():
    chain = SKELETONS["C"]
    solution = ERIK(chain).solve([0.0, 0.6, -0.9, 0.3, 0.0], look_at=(0.3, 0.6, 0.5))
    assert solution.ok
    assert off_point(chain, solution.angles, np.array([0.3, 0.6, 0.5])) < 1e-6


def test_a_posture_that_looks_at_the_point_already_stays(chain: Chain):
    postures, _ = drawn(chain, 20, 3)
    frames = chain.forward(postures)
    points = frames.positions[:, -1] + 0.7 * frames.pointing
    solution = ERIK(chain).solve(postures, look_at=points)
    assert solution.ok.all() and solution.error.max() < 1e-6


def test_a_pose_that_aims_is_reached_however_far_its_posture_is():
    chain = SKELETONS["C"]
    solution = ERIK(chain).solve([0.0, 1.5, 1.5, 1.5, 0.0], direction=(0.0, 1.0, 0.0))
    assert solution.ok and solution.orientation_error < 1e-6 and solution.error > 0.04


@pytest.mark.parametrize("bad", [(np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0)])
def test_a_point_that_is_not_finite_is_invalid(bad):
    solution = ERIK(SKELETONS["C"]).solve(np.zeros(5), look_at=bad)
    assert solution.status == Status.INVALID and np.isfinite(solution.angles).all()


def test_the_tip_cannot_look_at_itself():
    chain = Chain.from_axes("Y")
    solution = ERIK(chain).solve([0.2], look_at=chain.forward([0.2]).positions[-1])
    assert not solution.ok and np.isfinite(solution.angles).all()


def test_a_track_and_a_stream_of_points_do_what_they_report(chain: Chain):
    rng = np.random.default_rng(4)
    still = chain.forward(chain.limits.mean(axis=1))
    far = np.linalg.norm(still.positions[-1] - still.positions[0])
    time = np.linspace(0.0, 1.0, 40)[:, None]
    points = still.positions[-1] + far * still.pointing + far * np.sin(time * rng.uniform(0.5, 2.0, 3)) * 0.5
    posture = chain.limits.mean(axis=1)
    track = ERIK(chain).track(posture, look_at=points, fps=30)
    off = off_point(chain, track.angles, points)
    np.testing.assert_array_equal(track.ok, off <= DEGREE)
    steps = np.abs(np.diff(track.angles, axis=0)).max(axis=1)
    np.testing.assert_array_equal(track.jumped[1:], steps > 10.0 / 30 + 1e-9)
    stream = ERIK(chain).stream(fps=30)
    one_by_one = np.stack([stream.step(posture, look_at=point).angles for point in points])
    np.testing.assert_allclose(one_by_one, track.angles, rtol=0, atol=1e-9)


# Trees


def trees(data_dir) -> dict[str, Tree]:
    body = ps.figure()
    arms = {name: Chain.from_body(body, name) for name in ("spine", "right_arm", "left_arm")}
    pepper = data_dir / "robots" / "pepper.urdf"
    tips = {"left": "l_wrist", "right": "r_wrist", "head": "Head"}
    return {
        "body": Tree(arms),
        "pepper": Tree({name: Chain.from_robot(pepper, None, tip) for name, tip in tips.items()}),
    }


@pytest.fixture(scope="module", params=["body", "pepper"])
def tree(request, data_dir) -> Tree:
    return trees(data_dir)[request.param]


def drawn_pose(tree: Tree, count: int, seed: int):
    """Values of all chains with one value for a shared joint, and the frames of the skeleton's pose with them."""
    rng, values, postures, pose = np.random.default_rng(seed), {}, {}, None
    for name, chain in tree.chains.items():
        low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
        own = low + (high - low) * rng.uniform(0.2, 0.8, (count, len(chain)))
        for d, link in enumerate(chain.names):
            own[:, d] = values.setdefault(link, own[:, d])
        postures[name] = own
        pose = chain.pose(own, pose)
    return postures, tree.skeleton.forward(pose)


def off_targets(tree: Tree, solution, orientations=None, directions=None, look_at=None):
    """End point to [rad] from its target, in the returned pose of the whole skeleton."""
    frames, found = tree.skeleton.forward(solution.pose), {}
    for name, target in (orientations or {}).items():
        chain = tree.chains[name]
        tip = frames.orientations[..., chain.tip, :]
        rolled = pm.multiply(tip, pm.axis_angle(chain.pointing, np.pi))
        dots = [np.abs((one * target).sum(-1)) for one in (tip, rolled)]
        found[name] = 2.0 * np.arccos(np.clip(np.max(dots, axis=0), 0.0, 1.0))
    for name, target in {**(directions or {}), **(look_at or {})}.items():
        chain = tree.chains[name]
        tip = frames.orientations[..., chain.tip, :]
        pointing, position = pm.rotate(tip, chain.pointing), frames.positions[..., chain.tip, :]
        ahead = target - (position + pm.rotate(tip, chain.tip_offset)) if name in (look_at or {}) else target
        sine = np.linalg.norm(np.cross(pointing, ahead), axis=-1)
        found[name] = np.arctan2(sine, (pointing * ahead).sum(-1))
    return found


def targets_of(tree: Tree, frames, kind: str):
    """Targets that the pose of `frames` meets."""
    found = {}
    for name, chain in tree.chains.items():
        tip, at = frames.orientations[:, chain.tip], frames.positions[:, chain.tip]
        pointing = pm.rotate(tip, chain.pointing)
        point = at + pm.rotate(tip, chain.tip_offset) + 0.5 * pointing
        found[name] = {"orientations": tip, "directions": pointing, "look_at": point}[kind]
    return found


@pytest.mark.parametrize("kind", ["orientations", "directions", "look_at"])
def test_end_points_are_where_the_whole_pose_has_them_and_meet_what_a_pose_can_meet(tree: Tree, kind: str):
    _, frames = drawn_pose(tree, 20, 5)
    targets = targets_of(tree, frames, kind)
    solution = tree.solve({}, **{kind: targets})
    off = off_targets(tree, solution, **{kind: targets})
    for name in tree.chains:
        np.testing.assert_allclose(solution.chains[name].orientation_error, off[name], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(solution.ok, np.max(list(off.values()), axis=0) <= DEGREE)
    assert solution.ok.all()
    for name, chain in tree.chains.items():
        values = solution.angles[name]
        assert (values >= chain.lower).all() and (values <= chain.upper).all()


def test_a_tree_that_meets_its_targets_already_stays(tree: Tree):
    postures, frames = drawn_pose(tree, 6, 6)
    solution = tree.solve(postures, targets_of(tree, frames, "orientations"))
    assert solution.ok.all() and solution.error.max() < 1e-5


def test_shared_joints_have_one_value(tree: Tree):
    rng = np.random.default_rng(7)
    targets = {name: pm.normalize(rng.normal(size=(10, 4))) for name in tree.chains}
    solution = tree.solve({}, targets)
    off = off_targets(tree, solution, targets)
    np.testing.assert_array_equal(solution.ok, np.max(list(off.values()), axis=0) <= DEGREE)
    values: dict[str, np.ndarray] = {}
    for name, chain in tree.chains.items():
        for d, joint in enumerate(chain.names):
            np.testing.assert_array_equal(
                solution.angles[name][:, d], values.setdefault(joint, solution.angles[name][:, d])
            )


def test_kinds_of_targets_mix_and_some_end_points_may_have_none(tree: Tree):
    postures, frames = drawn_pose(tree, 8, 8)
    first, second = list(tree.chains)[:2]
    direction, point = targets_of(tree, frames, "directions"), targets_of(tree, frames, "look_at")
    solution = tree.solve(postures, directions={first: direction[first]}, look_at={second: point[second]})
    off = off_targets(tree, solution, None, {first: direction[first]}, {second: point[second]})
    assert set(solution.chains) == {first, second} and solution.ok.all()
    assert max(one.max() for one in off.values()) < DEGREE
    with pytest.raises(PosableError, match=f"end point '{first}': expected one of"):
        tree.solve({}, directions={first: direction[first]}, look_at={first: point[first]})


def test_a_tree_follows_moving_points_without_jumps_and_a_stream_is_the_same(tree: Tree):
    postures, _ = drawn_pose(tree, 1, 9)
    still, pose = {name: values[0] for name, values in postures.items()}, None
    time = np.linspace(0.0, 1.0, 20)
    for name, chain in tree.chains.items():  # what a slowly moving pose looks at
        pose = chain.pose(still[name] + 0.1 * np.sin(3.0 * time)[:, None], pose)
    moving = targets_of(tree, tree.skeleton.forward(pose), "look_at")
    track = tree.track(still, look_at=moving, fps=30)
    off = off_targets(tree, track, None, None, moving)
    np.testing.assert_array_equal(track.ok, np.max(list(off.values()), axis=0) <= DEGREE)
    assert track.ok.all() and not track.jumped.any()
    assert len(track.motion) == 20
    stream = tree.stream(fps=30)
    for f in range(20):
        step = stream.step(still, look_at={name: one[f] for name, one in moving.items()})
    for name in tree.chains:
        np.testing.assert_allclose(step.angles[name], track.angles[name][-1], rtol=0, atol=1e-9)


def test_no_targets_at_all_are_no_answers(tree: Tree):
    first = next(iter(tree.chains))
    solution = tree.solve({}, look_at={first: np.zeros((0, 3))})
    assert solution.angles[first].shape == (0, len(tree.chains[first])) and solution.ok.shape == (0,)
    assert len(tree.track({}, look_at={first: np.zeros((0, 3))}).ok) == 0


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_values_at_their_limits_leave_them_where_that_leads_to_the_target(end: str):
    chain = SKELETONS["C"]
    at = getattr(chain, end)
    inside = at + (0.4 if end == "lower" else -0.4) * np.array([1.0, 0.5, 0.7, 0.3, 0.2])
    frames = chain.forward(inside)
    goal = np.append(frames.positions[-1] + frames.pointing, 0.0)[None, None]
    problem = AimProblem({"tip": chain}, {"tip": KINDS["look_at"]}, {"tip": ERIK(chain).tip_settings()})
    values, report = problem.solve(goal, {"tip": inside[None]}, at[None, None])
    assert report["iterations"][0, 0] == 1 and off_point(chain, values[0], goal[0, 0, :3]) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("robot", "tip"), [("panda", "panda_leftfinger"), ("nao_v50", "r_ankle"), ("pepper", "Head")])
def test_descents_know_their_derivatives_by_finite_differences(kind, signed, robot, tip, data_dir):
    """Of all residuals and bends: slides, followers and rotations; half the gradient of the cost, and the matrix."""
    chain = Chain.from_robot(data_dir / "robots" / f"{robot}.urdf", None, tip)
    settings = ERIK(chain, signed=signed, symmetric=False).tip_settings()
    problem = AimProblem({"tip": chain}, {"tip": KINDS[kind]}, {"tip": settings})
    links, tips, bends = problem._links, problem._tips, problem._bend_rows
    low, high = np.maximum(problem.lower, -2.0), np.minimum(problem.upper, 2.0)
    rng, count, soft, h = np.random.default_rng(17), len(low), 0.3, 1e-6
    frames, jacobian = np.empty((len(links), 7)), np.empty((3, count))
    work = np.empty((MATRIX + 2 * count, count))
    for _ in range(5):
        values, goals = rng.uniform(low, high), rng.normal(size=(1, 4))
        goals /= np.linalg.norm(goals)
        posture = rng.uniform(-1.0, 1.0, len(bends))

        def terms(at, goals=goals, posture=posture):
            """Everything whose square the cost sums up."""
            place_links(links, at, frames)
            off = np.sqrt(tips["weight"][0]) * np.array(residual(tips, 0, frames, goals[0]))
            bent = [np.sqrt(soft * bends["weight"][b]) * bend_of(bends, b, at, posture)[0] for b in range(len(bends))]
            return np.concatenate([off, bent])

        there = terms(values)
        total = cost(links, tips, bends, values, goals, posture, soft, frames)
        assert total == pytest.approx(there @ there, rel=1e-12)
        work[VALUES] = values
        place_links(links, values, frames)
        normal_equations(links, tips, bends, goals, posture, soft, frames, jacobian, work)
        slopes = np.array([(terms(values + h * one) - terms(values - h * one)) / (2.0 * h) for one in np.eye(count)])
        np.testing.assert_allclose(work[GRADIENT], slopes @ there, rtol=0, atol=1e-7)
        upper = np.triu_indices(count)
        np.testing.assert_allclose(work[MATRIX : MATRIX + count][upper], (slopes @ slopes.T)[upper], rtol=0, atol=1e-7)


def test_a_point_that_jumps_is_followed_at_the_joints_speed_unless_a_jump_gains_enough(chain: Chain):
    still = chain.forward(chain.limits.mean(axis=1))
    ahead, far = still.pointing, np.linalg.norm(still.positions[-1] - still.positions[0])
    across = np.cross(ahead, [0.3, 0.5, 0.8])
    points = still.positions[-1] + far * np.array([ahead, ahead + 2 * across, ahead - 2 * across, ahead])
    posture = chain.limits.mean(axis=1)
    slow = ERIK(chain, speed=0.5, gain=100.0).track(posture, look_at=points, fps=30)
    steps = np.diff(slow.angles, axis=0)
    assert not slow.jumped.any() and np.abs(steps).max() <= 0.5 / 30 + 1e-9
    assert steps.max() > 0.4 / 30 and steps.min() < -0.4 / 30  # as fast as allowed, both ways
    eager = ERIK(chain, speed=0.5).track(posture, look_at=points, fps=30)
    assert eager.jumped.any() and eager.error.sum() < slow.error.sum()


def test_chains_of_one_skeleton_share_the_values_of_a_joint_that_branches():
    body = ps.figure()
    tips = {name: body.index(name) for name in ("left_hand", "right_hand", "head")}
    tree = Tree({name: Chain.from_skeleton(body.skeleton, body.index("chest"), tip) for name, tip in tips.items()})
    rng = np.random.default_rng(10)
    targets = {name: pm.normalize(rng.normal(size=(10, 4))) for name in tree.chains}
    solution = tree.solve({}, targets)
    off = off_targets(tree, solution, targets)
    for name in tree.chains:
        np.testing.assert_allclose(solution.chains[name].orientation_error, off[name], rtol=0, atol=1e-6)
    assert solution.ok.all()
    spine = Chain.from_body(body, "spine")
    with pytest.raises(PosableError, match="about different axes"):
        Tree({"head": spine, "left_hand": tree.chains["left_hand"]})


def test_a_motor_that_drives_joints_of_two_chains_has_one_value(data_dir):
    nao = data_dir / "robots" / "nao_v50.urdf"
    tree = Tree({tip: Chain.from_robot(nao, None, tip) for tip in ("l_ankle", "r_ankle")})
    rng = np.random.default_rng(11)
    targets = {name: pm.normalize(rng.normal(size=(10, 4))) for name in tree.chains}
    solution = tree.solve({}, targets)
    values = [solution.angles[name][:, chain.names.index("LHipYawPitch")] for name, chain in tree.chains.items()]
    np.testing.assert_array_equal(values[0], values[1])
    off = off_targets(tree, solution, targets)
    np.testing.assert_array_equal(solution.ok, np.max(list(off.values()), axis=0) <= DEGREE)


def test_limits_of_two_chains_that_leave_a_joint_nothing_are_refused():
    one, other = (Chain.from_axes("YXZ", limits=limits) for limits in ((-1.0, -0.5), (0.5, 1.0)))
    with pytest.raises(PosableError, match="'joint1' leave it no value"):
        Tree({"one": one, "other": other}).solve({}, directions={"one": (0, 1, 0), "other": (0, 1, 0)})


@pytest.mark.parametrize("kind", ["orientation", "direction"])
def test_a_target_that_a_posture_inside_the_limits_meets_is_reached_by_legs_too(data_dir, kind: str):
    chain = Chain.from_robot(data_dir / "robots" / "nao_v50.urdf", "torso", "l_ankle")
    rng = np.random.default_rng(12)
    meeting, postures = rng.uniform(chain.lower, chain.upper, (2, 150, len(chain)))
    frames = chain.forward(meeting)
    target = frames.pointing if kind == "direction" else frames.orientations[:, -1]
    solution = ERIK(chain).solve(postures, **{kind: target})
    reached = chain.forward(solution.angles)
    assert solution.ok.all()
    if kind == "direction":
        off = np.arccos(np.clip((reached.pointing * target).sum(-1), -1.0, 1.0))
    else:
        off = off_targets(Tree({"leg": chain}), solution, {"leg": target})["leg"]
    assert off.max() <= DEGREE
    assert (solution.angles >= chain.lower).all() and (solution.angles <= chain.upper).all()
    # A track and a stream begin there.
    plural = {"orientation": "orientations", "direction": "directions"}[kind]
    track = ERIK(chain).track(postures[:, None], **{plural: target[:, None]})
    assert track.ok.all()


def test_five_end_points_meet_what_a_pose_meets():
    body = ps.figure()
    parts = ("spine", "left_arm", "right_arm", "left_leg", "right_leg")
    tree = Tree({part: Chain.from_body(body, part) for part in parts})
    postures, _ = drawn_pose(tree, 30, 13)
    rng = np.random.default_rng(13)  # poses at the ends of limits, where a tip of random directions ends
    frames = tree.skeleton.forward(
        tree.solve(postures, directions={name: rng.normal(size=(30, 3)) for name in parts}).pose
    )
    for kind in ("orientations", "directions", "look_at"):
        targets = targets_of(tree, frames, kind)
        solution = tree.solve({}, **{kind: targets})
        off = off_targets(tree, solution, **{kind: targets})
        assert max(one.max() for one in off.values()) <= DEGREE and solution.ok.all()


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e300])
def test_directions_of_any_length_point_the_same_way(size: float):
    chain = SKELETONS["C"]
    tree, way = Tree({"tip": chain}), np.array([0.3, 1.0, 0.4])
    for solve in (
        lambda d: ERIK(chain).solve(chain.zero, direction=d),
        lambda d: tree.solve({}, directions={"tip": d}),
    ):
        solution = solve(size * way)
        assert solution.ok and solution.orientation_error < 1e-6


@pytest.mark.parametrize(("robot", "tip"), [("panda", "panda_leftfinger"), ("nao_v50", "LFinger13_link")])
def test_slides_and_motors_of_several_joints_keep_the_posture_whatever_the_target(data_dir, robot: str, tip: str):
    chain = Chain.from_robot(data_dir / "robots" / f"{robot}.urdf", None, tip)
    dofs = [link.dof for link in chain.links]
    still = sorted({link.dof for link in chain.links if link.slides or dofs.count(link.dof) > 1})
    assert still
    postures, points = drawn(chain, 20, 14)
    tree = Tree({"tip": chain})
    for kind, target in (("look_at", points), ("direction", points), ("orientation", pm.normalize(np.ones((20, 4))))):
        answers = [ERIK(chain).solve(postures, **{kind: target}).angles]
        plural = {"orientation": "orientations", "direction": "directions"}.get(kind, kind)
        answers.append(tree.solve({"tip": postures}, **{plural: {"tip": target}}).angles["tip"])
        for angles in answers:
            np.testing.assert_allclose(angles[:, still], postures[:, still], rtol=0, atol=1e-12)


def test_frames_in_which_a_tree_jumps_are_those_with_a_step_above_the_speed(tree: Tree):
    name = next(iter(tree.chains))
    rng = np.random.default_rng(15)
    ahead = rng.normal(size=(12, 3))  # each frame somewhere else
    slow = Tree(tree.chains, speed=1.0)
    track = slow.track({}, directions={name: ahead}, fps=30)
    steps = np.abs(np.diff(track.angles[name], axis=0)).max(axis=1)
    np.testing.assert_array_equal(track.jumped[1:], steps > 1.0 / 30 + 1e-9)
    assert track.jumped.any()
