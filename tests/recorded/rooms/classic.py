"""Classic inverse kinematics, on any skeleton and from six points."""

from functools import cache

import numpy as np

import posable as ps
from posable.classic import CCD, DLS, DLSSVD, FABRIK, PIK, SDLS, Effector, JacobianTranspose, Pseudoinverse, Stop

from .. import readers
from ..calls import call
from ..inputs import body, few, rotations, sample

KINDS = {
    "ccd": CCD,
    "fabrik": FABRIK,
    "transpose": JacobianTranspose,
    "pseudoinverse": Pseudoinverse,
    "dls": DLS,
    "dls_svd": DLSSVD,
    "sdls": SDLS,
    "pik": PIK,
}
# Their loops end at thresholds and each frame starts from the one before: see `compare`.
NEAR = 1e-5


@cache
def _six_points(method: str, **options: object) -> object:
    return ps.classic.METHODS[method](body(), **options)


def _from_six_points(method: str) -> dict[str, object]:
    points = body().markers(few(sample("boxing"), 4))
    path = body().markers(sample("throw").pose[30:42])
    wrong = points.copy()
    wrong[0, 2] += (1.0, 0.5, 0.5)
    wrong[1, 1] = np.nan
    return {
        "solve": readers.rebuilt(_six_points(method).solve(points)),
        "wrong": readers.rebuilt(_six_points(method).solve(wrong)),
        "track": readers.rebuilt_motion(_six_points(method).track(path, fps=30.0)),
        "options": readers.rebuilt_motion(
            _six_points(method, weights=(1.0, 0.5, 0.5), limits=None).track(path[:6], fps=30.0)
        ),
    }


@call(within=NEAR)
def six_points_kma():
    return _from_six_points("kma")


@call(within=NEAR)
def six_points_ccd():
    return _from_six_points("ccd")


@call(within=NEAR)
def six_points_jacobian_transpose():
    return _from_six_points("jacobian_transpose")


@call(within=NEAR)
def six_points_pseudoinverse():
    return _from_six_points("pseudoinverse")


@call(within=NEAR)
def six_points_dls():
    return _from_six_points("dls")


@call(within=NEAR)
def six_points_dls_svd():
    return _from_six_points("dls_svd")


@call(within=NEAR)
def six_points_sdls():
    return _from_six_points("sdls")


@call(within=NEAR)
def six_points_pik():
    return _from_six_points("pik")


@call(within=NEAR)
def six_points_tgbsik():
    found = _from_six_points("tgbsik")
    points = body().markers(few(sample("boxing"), 4))
    return {**found, "twist": readers.rebuilt(_six_points("tgbsik", twist_weight=3.0).solve(points))}


@call(within=NEAR)
def six_points_fabrik():
    return _from_six_points("fabrik")


@call(within=NEAR)
def six_points_pik_from_sik():
    return _from_six_points("pik_from_sik")


@call()
def names_of_methods():
    return {"names": list(ps.classic.METHODS)}


def _effectors() -> list[Effector]:
    return [
        Effector("l_wrist", (0.0, -0.05, 0.0), weight=2.0),
        Effector("r_ankle", base="r_hip"),
        Effector("skullbase", oriented=True, level=2),
    ]


def _targets(poses: ps.Pose) -> tuple[np.ndarray, np.ndarray]:
    skeleton = body().skeleton
    frames = skeleton.forward(poses)
    joints = [skeleton.index(name) for name in ("l_wrist", "r_ankle", "skullbase")]
    return frames.positions[..., joints, :], frames.orientations[..., joints, :]


def _on_the_figure(kind: type, **options: object) -> dict[str, object]:
    targets, turned = _targets(few(sample("reach"), 4))
    path, path_turned = _targets(sample("boxing").pose[15:23])
    start = sample("walk")[5]
    wrong = targets.copy()
    wrong[0, 0] += (2.0, 0.0, 0.0)
    wrong[1, 1] = np.nan
    skeleton, limits = body().skeleton, ps.Limits.human()
    plain = kind(skeleton, _effectors(), **options)
    moving = ("l_shoulder", "l_elbow", "r_hip", "r_knee", "skullbase", "vt5", "HumanoidRoot")
    bound = kind(
        skeleton,
        _effectors(),
        limits=ps.Limits(
            {skeleton.names[body().index(role)]: limit for role, limit in limits.items() if role in body().roles}
        ),
        moving=moving,
        stop=Stop(tolerance=0.002, improvement=1e-5, iterations=12, angle=0.02, settled=0.005),
        rotation_length=0.5,
        **options,
    )
    return {
        "solve": readers.iterative(plain.solve(targets, turned, start)),
        "wrong": readers.iterative(plain.solve(wrong, turned, start=start)),
        "from_rest": readers.iterative(plain.solve(targets[2], turned[2])),
        "track": readers.iterative_motion(plain.track(path, path_turned, start=start, fps=30.0)),
        "bound": readers.iterative(bound.solve(targets, turned, start=start)),
        "bound_track": readers.iterative_motion(bound.track(path, path_turned, start=start)),
    }


@call(within=NEAR)
def figure_ccd():
    return _on_the_figure(CCD)


@call(within=NEAR)
def figure_fabrik():
    return _on_the_figure(FABRIK)


@call(within=NEAR)
def figure_transpose():
    return {**_on_the_figure(JacobianTranspose), "short": _on_the_figure(JacobianTranspose, max_step=0.1)["solve"]}


@call(within=NEAR)
def figure_pseudoinverse():
    return {
        **_on_the_figure(Pseudoinverse),
        "short": _on_the_figure(Pseudoinverse, threshold=0.1, max_step=0.05)["solve"],
    }


@call(within=NEAR)
def figure_dls():
    return {
        **_on_the_figure(DLS),
        "damped": _on_the_figure(DLS, damping=0.2, max_step=0.3)["solve"],
        "longer": _on_the_figure(DLS, longest=1.0)["solve"],
    }


@call(within=NEAR)
def figure_dls_svd():
    return {**_on_the_figure(DLSSVD), "damped": _on_the_figure(DLSSVD, damping=0.2)["solve"]}


@call(within=NEAR)
def figure_sdls():
    return {**_on_the_figure(SDLS), "short": _on_the_figure(SDLS, max_step=0.2)["solve"]}


@call(within=NEAR)
def figure_pik():
    relaxed = _on_the_figure(PIK, relaxed=sample("walk")[5], attraction=0.3, longest=0.8, max_step=0.5)
    return {**_on_the_figure(PIK), "relaxed": relaxed["solve"]}


@call(within=NEAR)
def machine():
    """A tree with joints of every kind."""
    rng = np.random.default_rng(0)
    skeleton = ps.Skeleton(
        [f"joint{k}" for k in range(6)],
        [-1, 0, 1, 2, 1, 4],
        rng.normal(size=(6, 3)) * 0.3,
        rest_rotations=rotations(6, 1),
        kinds=["free", "ball", "hinge", "slide", "hinge_twist", "hinge"],
        axes=np.eye(3)[[0, 1, 2, 0, 0, 2]],
    )
    poses = skeleton.from_values(rng.uniform(-0.6, 0.6, (4, len(skeleton.dofs))))
    frames = skeleton.forward(poses)
    targets, turned = frames.positions[:, [3, 5]], frames.orientations[:, [3, 5]]
    found = {}
    for name, kind in KINDS.items():
        solver = kind(skeleton, [Effector("joint3"), Effector(5, (0.1, 0.0, 0.0), oriented=True)])
        found[name] = readers.iterative(solver.solve(targets, turned))
    return found


@call(within=NEAR)
def many_rows():
    """Enough rows to be shared between threads."""
    points = body().markers(sample("boxing").pose[:70])
    targets, turned = _targets(sample("reach").pose[:70])
    solver = DLS(body().skeleton, _effectors())
    return {
        "six_points": readers.rebuilt(_six_points("dls").solve(points)),
        "tgbsik": readers.rebuilt(_six_points("tgbsik").solve(points)),
        "figure": readers.iterative(solver.solve(targets, turned, start=sample("walk")[5])),
    }


@call("cmu/17_10.bvh", within=NEAR)
def captured(path):
    motion = ps.load(path, repair="cmu", first_frame=1)[200:260:5]
    person = ps.Humanoid(motion.skeleton)
    points = person.markers(motion.pose)
    return {
        name: readers.rebuilt_motion(method(person).track(points, fps=motion.fps))
        for name, method in ps.classic.METHODS.items()
    }
