"""Forward kinematics, Jacobians, steps and motions."""

import numpy as np

import posable as ps

from ..calls import call
from ..inputs import body, few, rotations, sample


def _machine() -> tuple[ps.Skeleton, ps.Pose]:
    """A tree with a joint of every kind, moved by a file's offsets."""
    rng = np.random.default_rng(0)
    kinds = ["free", "ball", "hinge", "slide", "hinge_twist", "fixed", "hinge"]
    skeleton = ps.Skeleton(
        [f"joint{k}" for k in range(7)],
        [-1, 0, 1, 2, 0, 4, 5],
        rng.normal(size=(7, 3)) * 0.3,
        rest_rotations=rotations(7, 1),
        kinds=kinds,
        axes=np.eye(3)[[0, 1, 2, 0, 0, 2, 0]],
        end_parents=[3, 6],
        end_offsets=rng.normal(size=(2, 3)) * 0.1,
        end_names=["left", "right"],
    )
    pose = skeleton.from_values(rng.uniform(-1.0, 1.0, (3, len(skeleton.dofs))))
    return skeleton, pose


@call()
def forward_of_the_figure():
    frames = body().skeleton.forward(few(sample("dance"), 4))
    return {"frames": frames, "ends": frames.ends, "point": frames.point("l_wrist", (0.01, -0.1, 0.02))}


@call()
def jacobians():
    skeleton, pose = body().skeleton, few(sample("boxing"), 3)
    frames = skeleton.forward(pose)
    return {
        "wrist": skeleton.jacobian(pose, "l_wrist"),
        "head": skeleton.jacobian(pose, "skullbase", (0.0, 0.1, 0.05), frames=frames),
        "machine": _machine()[0].jacobian(_machine()[1], 6, (0.1, 0.0, 0.0)),
    }


@call()
def steps_and_values():
    skeleton, pose = _machine()
    steps = np.random.default_rng(1).normal(size=(3, len(skeleton.dofs))) * 0.2
    moved = skeleton.integrate(pose, steps)
    figure = body().skeleton
    bent = figure.integrate(few(sample("walk"), 2), np.linspace(-0.2, 0.2, len(figure.dofs)))
    return {
        "pose": pose,
        "moved": moved,
        "values": skeleton.values(moved),
        "forward": skeleton.forward(moved),
        "ends": skeleton.forward(moved).ends,
        "names": skeleton.dofs.names,
        "figure": bent,
        "figure_values": figure.values(bent),
        "scaled": skeleton.scaled(1.5).offsets,
        "same": skeleton.same_as(skeleton.scaled(1.0)),
    }


@call()
def motions():
    motion = sample("throw")
    return {
        "frames": len(motion),
        "duration": motion.duration,
        "times": motion.times,
        "at": motion.at([0.0, 0.51, 1.234, 99.0]),
        "resampled": motion.resampled(17.0),
        "sliced": motion[10:40:7],
        "stacked": ps.Pose.stack([motion[0], motion[5]]),
    }


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    skeleton, pose = body().skeleton, sample("reach").pose[np.arange(600) % 300]
    return {
        "frames": skeleton.forward(pose),
        "jacobian": skeleton.jacobian(pose, "r_wrist"),
        "moved": skeleton.integrate(pose, np.linspace(-0.2, 0.2, len(skeleton.dofs))),
        "values": skeleton.values(pose),
    }
