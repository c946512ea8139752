"""Random trees with every kind of joint, for properties that must hold on any skeleton."""

import numpy as np

from posable.skeleton import Skeleton

KINDS = ("ball", "hinge", "hinge_twist", "slide", "fixed")


def random_skeleton(seed: int, joints: int = 12, kinds: tuple[str, ...] = KINDS, root: str = "free") -> Skeleton:
    rng = np.random.default_rng([seed, joints])
    parents = [-1, *(int(rng.integers(0, j)) for j in range(1, joints))]
    axes = rng.normal(size=(joints, 2, 3))
    axes[:, 1] = np.cross(axes[:, 0], axes[:, 1])
    ends = rng.integers(0, joints, size=3)
    return Skeleton(
        [f"joint{j}" for j in range(joints)],
        parents,
        rng.normal(size=(joints, 3)),
        rest_rotations=rng.normal(size=(joints, 4)),
        kinds=[root, *(str(kind) for kind in rng.choice(kinds, joints - 1))],
        axes=axes,
        end_parents=ends,
        end_offsets=rng.normal(size=(3, 3)),
    )
