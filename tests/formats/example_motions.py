"""Motions and BVH texts made by hand or at random, for tests of the file formats."""

import numpy as np

from posable.skeleton import Motion, Pose, Skeleton

LITTLE_BVH = """HIERARCHY
ROOT Hips
{
	OFFSET 0 1 0
	CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
	JOINT Chest
	{
		OFFSET 0 0.5 0
		CHANNELS 3 Xrotation Yrotation Zrotation
		End Site
		{
			OFFSET 0 0.25 0
		}
	}
	JOINT Leg
	{
		OFFSET 0.1 -0.4 0
		CHANNELS 3 Yrotation Zrotation Xrotation
		End Site
		{
			OFFSET 0 -0.3 0
		}
		End Site
		{
			OFFSET 0 -0.3 0.1
		}
	}
}
MOTION
Frames: 2
Frame Time: 0.033333
0 1 0 0 0 0 0 0 0 0 0 0
1 2 3 90 0 0 0 90 0 10 20 30
"""


def random_motion(
    seed: int, frames: int = 20, joints: int = 9, *, rest: bool = False, moved: bool = False, wild: bool = True
) -> Motion:
    """A tree of joints, deliberately not in depth-first order, with any rotations (`wild`) or gentle ones."""
    rng = np.random.default_rng([seed, frames, joints])
    parents = [-1, *(int(rng.integers(0, j)) for j in range(1, joints))]
    offsets = rng.normal(size=(joints, 3)) * 0.3
    ends = rng.integers(0, joints, size=4)
    skeleton = Skeleton(
        [f"joint{j}" for j in range(joints)],
        parents,
        offsets,
        rest_rotations=rng.normal(size=(joints, 4)) if rest else None,
        end_parents=ends,
        end_offsets=rng.normal(size=(4, 3)) * 0.2,
    )
    rotations = rng.normal(size=(frames, joints, 4))
    if not wild:
        rotations = np.concatenate([np.full((frames, joints, 1), 3.0), rotations[..., 1:]], axis=-1)
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    places = None
    if moved:
        places = np.tile(skeleton.offsets, (frames, 1, 1))
        places[:, joints // 2] += rng.normal(size=(frames, 3)) * 0.1
    return Motion(skeleton, Pose(rng.normal(size=(frames, 3)), rotations, places), 30.0, f"random{seed}")


def world(motion: Motion, names=None):
    """Positions (F, J, 3) and orientations (F, J, 4) of the joints named, in the order of `names`."""
    frames = motion.skeleton.forward(motion.pose)
    order = [motion.skeleton.index(name) for name in names or motion.skeleton.names]
    return frames.positions[:, order], frames.orientations[:, order]


def angles_between(a, b):
    """Angles [rad] between rotations (..., 4), accurate for small ones."""
    vector = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(a[..., 1:], b[..., 1:])
    return 2 * np.arcsin(np.clip(np.linalg.norm(vector, axis=-1), 0, 1))
