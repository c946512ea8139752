"""Editing by dragging: the fit of a clip's weights a frame, a step of a drag, a retargeted frame; beside SciPy's SLSQP.

All on one core. pink and mink take the same step in `bench_edit_peers` (`make bench-peers`).

SLSQP is what the paper used (sequential quadratic programming). For the fit it gets the same cost and our analytic
gradient; for the step, the same weighted least change of the joints, with the positions of hand and pins as equalities.
"""

from __future__ import annotations

import numpy as np

import posable as ps
from posable.edit.clip import Clip, read_clip
from posable.edit.dragging import Settings
from posable.edit.weights import explained_rates, fit_weights
from posable.jobs.executors import one_thread

from .harness import Contender, Table, compare, data_dir, table

CLIPS = {"124_01": "pitch", "05_02": "dance", "09_01": "run"}
STEPS = 30  # of 10 mm


def run() -> list[Table]:
    folder = data_dir()
    if folder is None:
        body = ps.figure()
        motions = {"built-in throw": ps.samples.throw(body)[:120]}
    else:
        motions = {
            kind: ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)[::2][:120]
            for clip, kind in CLIPS.items()
        }
    clips = {kind: read_clip(motion, ps.Humanoid(motion.skeleton)) for kind, motion in motions.items()}
    first = next(iter(clips.values()))
    with one_thread():
        return [_explained(clips), _fit(clips), _slsqp_fit(first), _step(first), _retarget(first)]


def _explained(clips: dict[str, Clip]) -> Table:
    """What is left unexplained: the fit's quality beside its time."""
    from posable.edit.weights import fit_report

    samples = {}
    for kind, clip in clips.items():
        for weights in ("window", "frame", "clip", "identity"):
            left = fit_report(clip, fit_weights(clip, weights)).residual
            samples[f"{kind}, {weights}"] = (left[6:-6].tolist(), f"at worst {left[6:-6].max():.2f}")
    return table("Joint rates left unexplained at the fitted frame", "of the rates", samples)


def _fit(clips: dict[str, Clip]) -> Table:
    contenders = [
        Contender(f"{kind}, weights of windows", lambda clip=clip: fit_weights(clip), len(clip))
        for kind, clip in clips.items()
    ]
    first = next(iter(clips.values()))
    contenders.append(Contender("one a frame, as the paper", lambda: fit_weights(first, "frame"), len(first)))
    return compare("Fitting weights on one core, a frame of the clip at 60 a second", contenders, unit="ms", rounds=5)


def _slsqp_fit(clip: Clip) -> Table:
    """One frame by itself, as the paper fits it."""
    from scipy.optimize import minimize

    from posable.edit.weights import _run

    jacobian, rates = clip.jacobians(np.array([60])), clip.rates[[60]][:, clip.parts.fitted]
    n, reg, most = rates.shape[1], 1e-2, np.log(1e3)

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        v, j, td = np.exp(x), jacobian[0], rates[0]
        inverse = np.linalg.inv((j * v) @ j.T)
        f = v * (j.T @ (inverse @ (j @ td)))
        slope = np.diag(f) - (v[:, None] * (j.T @ inverse @ j)) * f
        whole, g = td @ td, td - f
        return float(g @ g / whole + reg**2 * (x @ x)), -2.0 * (slope.T @ g) / whole + 2.0 * reg**2 * x

    def slsqp() -> np.ndarray:
        found = minimize(
            cost, np.zeros(n), jac=True, method="SLSQP", bounds=[(-most, most)] * n, options={"maxiter": 300}
        )
        return np.asarray(found.x)

    def ours() -> np.ndarray:
        return _run((jacobian, rates), np.zeros((1, 1), np.int64), np.zeros(n), reg, 0.0)[0]

    left = {name: explained_rates(jacobian, rates, np.exp(fit()))[1][0] for name, fit in (("o", ours), ("s", slsqp))}
    return compare(
        "Fitting one frame from equal weights",
        [
            Contender("posable", ours, note=f"leaves {left['o']:.3f}"),
            Contender("scipy SLSQP, analytic gradient", slsqp, note=f"leaves {left['s']:.3f}"),
        ],
        unit="ms",
        rounds=5,
    )


PAPER = Settings("frozen", scope="whole")


def _step(clip: Clip) -> Table:
    """30 steps of 10 mm with both feet pinned; SLSQP does one such step."""
    editor = ps.MotionEditor(clip.motion, clip.body, limits="clip")
    dragger, frame = editor.dragger, np.array([60])
    pose, displacement, pins = clip.motion.pose[frame], np.array([[0.0, 0.2, 0.2236]]), ("left_foot", "right_foot")
    steps = int(dragger.drag(pose, frame, "left_hand", displacement, None, pins, None, PAPER).steps[0])
    return compare(
        "A step of 10 mm of a hand, both feet pinned",
        [
            Contender(
                "posable",
                lambda: dragger.drag(pose, frame, "left_hand", displacement, None, pins, None, PAPER),
                steps,
                f"{steps} steps in a drag of 0.3 m",
            ),
            Contender("scipy SLSQP, analytic Jacobians", _slsqp_step(editor)),
        ],
        rounds=9,
    )


def _slsqp_step(editor: ps.MotionEditor):
    """The least weighted change of the joints that puts the hand 10 mm further and leaves the feet, by SLSQP."""
    from scipy.optimize import minimize

    skeleton, body, dofs = editor.body.skeleton, editor.body, editor.clip.parts.dofs[editor.clip.parts.free]
    start, weights = editor.original[60], editor.weights[60][editor.clip.parts.free]
    joints = [body.roles[part] for part in ("left_hand", "left_foot", "right_foot")]
    goals = skeleton.forward(start).positions[joints] + np.array([[0.0, 0.0067, 0.0075], [0.0] * 3, [0.0] * 3])

    def moved(x: np.ndarray) -> ps.Pose:
        steps = np.zeros(len(skeleton.dofs))
        steps[dofs] = x
        return skeleton.integrate(start, steps)

    def lacking(x: np.ndarray) -> np.ndarray:
        return np.asarray((skeleton.forward(moved(x)).positions[joints] - goals).ravel())

    def slopes(
        x: np.ndarray,
    ) -> np.ndarray:  # of the pose itself: for a step this small, those of its joints' rotations
        return np.concatenate([skeleton.jacobian(moved(x), j)[:3, dofs] for j in joints])

    def solve() -> object:
        return minimize(
            lambda x: (0.5 * float(x @ (weights * x)), weights * x),
            np.zeros(len(dofs)),
            jac=True,
            method="SLSQP",
            constraints={"type": "eq", "fun": lacking, "jac": slopes},
            options={"maxiter": 20, "ftol": 1e-8},
        )

    return solve


def _retarget(clip: Clip) -> Table:
    figure = ps.figure(1.6)
    return compare(
        "A frame put on the built-in figure of 1.6 m",
        [
            Contender(
                "forward kinematics of both", lambda: (_forward(clip.body, clip), _forward(figure, None)), len(clip)
            ),
            Contender(
                "retarget, contacts found and kept", lambda: ps.retarget(clip.motion, clip.body, figure), len(clip)
            ),
        ],
        rounds=9,
    )


def _forward(body: ps.Humanoid, clip: Clip | None) -> object:
    return body.skeleton.forward(body.neutral_pose if clip is None else clip.motion.pose)


if __name__ == "__main__":
    for one in run():
        print(one.markdown(), "\n")
