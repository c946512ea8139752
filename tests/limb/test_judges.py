"""The limb solver before independent judges: pinocchio's forward kinematics, and EAIK, an exact solver of 6R arms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
import posable.math as pm
from posable.compute import Status
from posable.limb import LIMBS, Limb
from posable.limb.model import ROLES
from posable.limits import Limits

UPPER, LOWER = 0.31, 0.26
COUNT = 2000


@pytest.fixture(scope="module")
def pin():
    return pytest.importorskip("pinocchio", reason="pinocchio is a judge of its own: pip install posable[bench]")


@pytest.fixture(scope="module")
def eaik():
    return pytest.importorskip("eaik.IK_HP", reason="EAIK is a judge of its own: pip install posable[bench]")


def goals(n: int, seed: int):
    """Random places that two bones can reach, orientations and swivels."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(n, 3))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    far = rng.uniform(UPPER - LOWER + 1e-3, UPPER + LOWER - 1e-6, (n, 1))
    return directions * far, pm.normalize(rng.normal(size=(n, 4))), rng.uniform(-3, 3, n)


def random_values(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, 7)) * [2.2, 2.2, 3, 2.8, 3, 1.6, 1.6]


class PinocchioArm:
    """A ball at the base, hinges about y and z at the middle, a ball at the end: the specification's section 1."""

    def __init__(self, pin):
        self.pin, self.model = pin, pin.Model()
        at = 0
        for name, joint, along in (
            ("base", pin.JointModelSpherical(), 0.0),
            ("flexion", pin.JointModelRY(), UPPER),
            ("twist", pin.JointModelRZ(), 0.0),
            ("end", pin.JointModelSpherical(), LOWER),
        ):
            at = self.model.addJoint(at, joint, pin.SE3(np.eye(3), np.array([0, 0, along])), name)
        self.data = self.model.createData()

    def forward(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(mid (3,), end (3,), orientation of the end (3, 3)) for seven values."""
        base = Rotation.from_rotvec([values[0], values[1], 0]) * Rotation.from_rotvec([0, 0, values[2]])
        end = Rotation.from_rotvec([values[5], values[6], 0])
        q = np.concatenate([base.as_quat(), values[3:5], end.as_quat()])  # both libraries write xyzw
        self.pin.forwardKinematics(self.model, self.data, q)
        return (
            self.data.oMi[2].translation.copy(),
            self.data.oMi[4].translation.copy(),
            self.data.oMi[4].rotation.copy(),
        )

    def forward_all(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return tuple(np.array(column) for column in zip(*map(self.forward, values), strict=True))


@pytest.mark.parametrize("name", LIMBS)
def test_pinocchio_has_the_joints_of_a_limb_where_forward_has_them(name: str, pin):
    values = random_values(COUNT, 1)
    mid, end, turned = PinocchioArm(pin).forward_all(values)
    frames = Limb(name, UPPER, LOWER).forward(values)
    np.testing.assert_allclose(frames.mid, mid, atol=1e-12)
    np.testing.assert_allclose(frames.end, end, atol=1e-12)
    np.testing.assert_allclose(pm.to_matrix(frames.orientation), turned, atol=1e-12)


@pytest.mark.parametrize("name", LIMBS)
@pytest.mark.parametrize("limited", [False, True])
def test_pinocchio_confirms_every_reached_target(name: str, limited: bool, pin):
    place, turn, swivel = goals(COUNT, 2)
    limb = Limb(name, UPPER, LOWER, limits=Limits.human() if limited else None)
    if limited:  # random orientations are mostly out of a wrist's range, so they are taken from postures
        values = random_values(COUNT, 3) * [0.5, 0.5, 0.3, 0.7, 0.4, 0.4, 0.4]
        values[:, 3] = np.abs(values[:, 3]) * limb.packed["flex"][0]
        frames = limb.forward(values)
        place, turn = frames.end, frames.orientation
    answer = limb.solve(place, turn) if limited else limb.solve(place, turn, swivel=swivel)
    reached = np.flatnonzero(answer.ok)
    assert len(reached) > (0.5 if limited else 0.999) * COUNT
    _, end, turned = PinocchioArm(pin).forward_all(answer.values[reached])
    assert np.linalg.norm(end - place[reached], axis=-1).max() < 1e-9
    off = Rotation.from_matrix(turned).inv() * Rotation.from_quat(turn[reached], scalar_first=True)
    assert off.magnitude().max() < 1e-9


@pytest.mark.parametrize("name", LIMBS)
def test_pinocchio_finds_the_placed_hand_of_a_body_where_it_was_asked_for(name: str, pin):
    """The whole skeleton as pinocchio knows it: a free root and a ball at every joint."""
    body = ps.figure()
    skeleton, model = body.skeleton, pin.Model()
    for j, (joint, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        kind = pin.JointModelFreeFlyer() if j == 0 else pin.JointModelSpherical()
        place = pin.SE3.Identity() if j == 0 else pin.SE3(np.eye(3), skeleton.offsets[j])
        model.addJoint(int(parent) + 1, kind, place, joint)
    data, part = model.createData(), ROLES[name][2]

    rng = np.random.default_rng(4)
    turns = rng.normal(size=(COUNT, len(skeleton), 3)) * 0.1
    turns[:, [body.roles[role] for role in ROLES[name]]] = 0.0  # a knee turned sideways is outside its limits
    pose = ps.Pose(rng.normal(size=(COUNT, 3)), pm.multiply(body.neutral_pose.rotations, pm.exp(turns)))
    root, reach = skeleton.forward(pose).positions[:, body.roles[ROLES[name][0]]], body.limb(name).length
    place = root + reach * ([0.0, -0.85, 0.1] + rng.normal(size=(COUNT, 3)) * 0.05)
    turn = pm.exp(rng.normal(size=(COUNT, 3)) * 0.1)  # as the part is turned in the world: the figure rests in neutral
    told = body.place(pose, part, ps.Target(place, orientation=turn))
    assert told.ok.mean() > 0.3
    for i in np.flatnonzero(told.ok):
        xyzw = np.roll(told.pose.rotations[i], -1, axis=-1)
        pin.forwardKinematics(model, data, np.concatenate([told.pose.translation[i], xyzw.ravel()]))
        found = data.oMi[body.roles[part] + 1]
        assert np.linalg.norm(found.translation - place[i]) < 1e-9
        off = Rotation.from_quat(turn[i], scalar_first=True).inv() * Rotation.from_matrix(found.rotation)
        assert off.magnitude() < 1e-9


X, Y, Z = np.eye(3)
AXES = np.array([Z, X, Z, Y, Z, X, Y])  # a robot's shoulder and wrist: three hinges each, through one point
STEPS = np.zeros((8, 3))
STEPS[3], STEPS[4] = UPPER * Z, LOWER * Z


def hinges(values: np.ndarray) -> np.ndarray:
    """(N, 7) angles of the hinges `AXES` that stand as a limb with these values does."""
    nought = np.zeros(len(values))
    base = Rotation.from_rotvec(np.stack([values[:, 0], values[:, 1], nought], -1))
    base = base * Rotation.from_rotvec(np.stack([nought, nought, values[:, 2]], -1))
    end = Rotation.from_rotvec(np.stack([nought, nought, values[:, 4]], -1))
    end = end * Rotation.from_rotvec(np.stack([values[:, 5], values[:, 6], nought], -1))
    return np.concatenate([base.as_euler("ZXZ"), values[:, 3:4], end.as_euler("ZXY")], axis=-1)


def postures(robot, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """(S, 7) the angles of EAIK's exact solutions."""
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = pm.to_matrix(turn), place
    found = robot.IK(target)
    exact = ~np.asarray(found.is_LS, dtype=bool)  # the others are its least-squares answers to what it cannot reach
    return np.asarray(found.Q).reshape(-1, 7)[exact]


@pytest.mark.parametrize("name", LIMBS)
@pytest.mark.parametrize("locked", [0, 2])
def test_eaik_finds_the_posture_that_we_find(name: str, locked: int, eaik):
    """With one hinge of the shoulder held where we have it, EAIK lists every posture: ours is among them."""
    place, turn, swivel = goals(COUNT, 5)
    answer = Limb(name, UPPER, LOWER).solve(place, turn, swivel=swivel)
    angles = hinges(answer.values)
    # Next to a straight or folded elbow, and where hinges line up, angles say little of a posture.
    clear = (np.abs(np.sin(angles[:, 3])) > 0.05) & (np.abs(np.sin(angles[:, 1])) > 0.05)
    clear &= (np.abs(np.cos(angles[:, 5])) > 0.05) & answer.ok
    assert clear.mean() > 0.8
    for i in np.flatnonzero(clear):
        robot = eaik.HPRobot(AXES, STEPS, [(locked, angles[i, locked])])
        found = postures(robot, place[i], turn[i])
        apart = np.abs((found - angles[i] + np.pi) % (2 * np.pi) - np.pi).max(axis=-1)
        assert apart.min() < 1e-7, (i, apart)


@pytest.mark.parametrize("name", LIMBS)
def test_every_posture_that_eaik_finds_is_ours_at_some_swivel(name: str, eaik):
    """Its elbows that bend our way lie on our circle: given their swivel, we give the same elbow and hand."""
    place, turn, _ = goals(COUNT, 6)
    limb, rng = Limb(name, UPPER, LOWER), np.random.default_rng(7)
    whose, elbows = [], []
    for i in range(COUNT):
        robot = eaik.HPRobot(AXES, STEPS, [(2, rng.uniform(-3, 3))])
        for q in postures(robot, place[i], turn[i]):
            if q[3] * limb.packed["flex"][0] > 0.02:
                whose.append(i)
                elbows.append(Rotation.from_euler("ZXZ", q[:3]).apply([0, 0, UPPER]))
    whose, elbows = np.array(whose), np.array(elbows)
    assert len(whose) > COUNT
    # The swivel of an elbow: where it stands on the circle that swivels 0 and 90 degrees span.
    n = place[whose] / np.linalg.norm(place[whose], axis=-1, keepdims=True)
    u, v = (_across(limb, place[whose], n, angle) for angle in (0.0, np.pi / 2))
    w = elbows - n * np.sum(elbows * n, axis=-1, keepdims=True)
    swivel = np.arctan2(np.sum(w * v, axis=-1), np.sum(w * u, axis=-1))
    answer = limb.solve(place[whose], turn[whose], swivel=swivel)
    frames = limb.forward(answer.values)
    assert set(np.unique(answer.status)) <= {Status.REACHED, Status.SINGULAR}  # straight back a swing has no axis
    assert answer.ok.mean() > 0.99
    assert np.linalg.norm(frames.mid - elbows, axis=-1).max() < 1e-9
    assert np.linalg.norm(frames.end - place[whose], axis=-1).max() < 1e-9
    assert pm.angle(frames.orientation, turn[whose]).max() < 1e-9


def _across(limb: Limb, place: np.ndarray, n: np.ndarray, swivel: float) -> np.ndarray:
    """(N, 3) from the line between base and target to the elbow at this swivel."""
    mid = limb.forward(limb.solve(place, swivel=swivel).values).mid
    return mid - n * np.sum(mid * n, axis=-1, keepdims=True)
