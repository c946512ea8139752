"""Skeletons that the tests of the classic methods share, and plain-NumPy judges of their steps."""

import numpy as np

from posable.skeleton import Skeleton


def two_links(kind="hinge"):
    """Two bones of 1 m in the plane z = 0, hinges about z."""
    axes = np.tile([[0.0, 0.0, 1.0]], (3, 1))
    return Skeleton(
        ["a", "b", "tip"], [-1, 0, 1], [[0, 0, 0], [1, 0, 0], [1, 0, 0]], kinds=[kind, kind, "fixed"], axes=axes
    )


def chain(count=5, length=0.3, kind="ball"):
    """A straight chain of balls."""
    names = [f"j{k}" for k in range(count + 1)]
    offsets = [[0.0, 0.0, 0.0], *[[0.0, length, 0.0]] * count]
    return Skeleton(names, [-1, *range(count)], offsets, kinds=[*[kind] * count, "fixed"])


def tree(seed=0, joints=14, kinds=("ball", "hinge", "hinge_twist", "slide", "fixed")):
    """A random tree with joints of every kind."""
    rng = np.random.default_rng([seed, 7])
    parents = [-1, 0, *(int(rng.integers(max(0, k - 4), k)) for k in range(2, joints))]
    chosen = ["ball", *(str(rng.choice(kinds)) for _ in range(1, joints))]
    axes = np.zeros((joints, 2, 3))
    for k in range(joints):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        axes[k] = q[:2]
    offsets = rng.normal(size=(joints, 3)) * 0.3
    return Skeleton([f"j{k}" for k in range(joints)], parents, offsets, kinds=chosen, axes=axes)


def leaves(skeleton):
    """Joints without children."""
    return [j for j in range(len(skeleton)) if not skeleton.children(j)]


def stacked(solver, pose, targets, turns=None):
    """(J, e) as the definition has them: rows of all effectors and their errors."""
    import posable.math as pm

    skeleton = solver.skeleton
    frames = skeleton.forward(pose)
    rows, errors = [], []
    for k, effector in enumerate(solver.effectors):
        j = skeleton.index(effector.joint)
        whole = skeleton.jacobian(pose, j, effector.point)
        rows.append(effector.weight * whole[:3])
        errors.append(effector.weight * (targets[k] - frames.point(j, effector.point)))
        if effector.oriented:
            length = effector.weight * float(solver._problem.settings["rotation_length"][0])
            rows.append(length * whole[3:])
            turn = pm.log(pm.multiply(turns[k], pm.conjugate(frames.orientations[j])))
            errors.append(length * turn)
    return np.concatenate(rows), np.concatenate(errors)
