"""Five minutes with Posable: a figure, a motion, its joints in the world, a file, and who is who in it."""

import tempfile
from pathlib import Path

import numpy as np

import posable as ps

# The built-in figure needs no file. It is a Humanoid: a skeleton, and who is who on it.
body = ps.figure(height=1.75)
skeleton = body.skeleton
print(f"{len(skeleton)} joints, {len(skeleton.dofs)} degrees of freedom, legs of {body.leg_length:.2f} m")

# A motion is poses over time: a root translation and local rotations (wxyz), one row a frame.
walk = ps.samples.walk(body, duration=2.0)
print(f"{len(walk)} frames at {walk.fps:g} a second; rotations {walk.pose.rotations.shape}")

# Where the joints are in the world: one call for one pose or for all of them.
frames = skeleton.forward(walk.pose)
foot = frames.positions[:, body.index("left_foot")]
print(f"the left ankle rises {1000 * np.ptp(foot[:, 1]):.0f} mm and gets {np.ptp(foot[:, 2]):.2f} m far")

# Motions index like lists; between the frames they interpolate.
first, middle, last_half = walk[0], walk.at(1.0 / 3.0), walk[len(walk) // 2 :]
print(f"half the motion lasts {last_half.duration:.2f} s")

# Save it for other programs, load it back: by suffix, always in metres.
with tempfile.TemporaryDirectory() as folder:
    for suffix in (".bvh", ".glb", ".npz"):
        path = Path(folder) / f"walk{suffix}"
        ps.save(walk, path)
        again = ps.load(path)
        there = again.skeleton.forward(again.pose).point(skeleton.names[body.index("left_hand")])
        error = np.abs(there - frames.positions[:, body.index("left_hand")]).max()
        print(f"{path.name}: {path.stat().st_size // 1024} kB, the left wrist comes back within {1000 * error:.4f} mm")

# Any other rig: roles are found from the names, whatever the rest pose.
other = ps.Humanoid(again.skeleton)
posture = body.canonical(walk[0])  # rotations that mean the same on every body
print(f"on the loaded rig the head is joint {other.index('head')}: {again.skeleton.names[other.index('head')]}")
moved = other.pose(posture)  # the same posture there

# What joints may do. Limits speak of canonical rotations by role.
limits = ps.Limits.human()
bent_back = np.array([np.cos(0.5), np.sin(0.5), 0.0, 0.0])  # an elbow turned the wrong way, by one radian
print("an elbow may bend back:", bool(limits.contains("left_lower_arm", bent_back)))
