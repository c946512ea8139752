"""A studio with a chain of three joints, for the tests of what every tab shares."""

import numpy as np
import pytest

import posable.math as pm
from posable.skeleton import Motion, Pose, Skeleton
from posable.studio import Session, Studio


def chain_motion(frames: int = 31, fps: float = 30.0, name: str = "chain") -> Motion:
    """A three-joint chain along +X that travels along +Z; nobody's body."""
    skeleton = Skeleton(["root", "middle", "tip"], [-1, 0, 1], [[0, 1, 0], [0.3, 0, 0], [0.3, 0, 0]])
    times = np.arange(frames) / fps
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 3, 1))
    rotations[:, 1] = pm.axis_angle(np.array([0.0, 0.0, 1.0]), np.sin(times))
    return Motion(skeleton, Pose(np.stack([0 * times, 1 + 0 * times, times], axis=-1), rotations), fps, name=name)


@pytest.fixture(scope="module")
def studio():
    with Studio(chain_motion(), port=0, open_browser=False) as running:
        yield running


@pytest.fixture
def session(studio: Studio) -> Session:
    """The studio's session with one chain on the stage and nothing to undo."""
    session = studio.session
    session.clock.pause()
    session.add(chain_motion(), keep=False)
    session.history.clear()
    session.select(None)
    session.message = None
    return session
