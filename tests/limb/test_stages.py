"""The solve in stages, as a GPU runs it, has the answers of the solve in one piece, to the last bit."""

import numpy as np
import pytest

import posable as ps
from posable.limb.limb import NO_ORIENTATION, _Job
from posable.limb.solve import FIXED, PROBE, SEARCH

MODES = {"search": SEARCH, "fixed": FIXED, "probe": PROBE}


def limbs() -> dict[str, ps.Limb]:
    body = ps.figure()
    return {
        "arm": body.limb("right_arm"),
        "leg": body.limb("left_leg"),
        "free": ps.Limb("left_arm", 0.3, 0.25),
        "paper": ps.Limb("right_arm", 0.3, 0.25, limits=ps.Limits.human(), reference="paper"),
    }


def targets(limb: ps.Limb, rng, oriented: bool, each: bool) -> _Job:
    values = rng.uniform(-1.5, 1.5, (60, 7))
    values[:, 3] = rng.uniform(0.0, 2.5, 60)
    frames = limb.forward(values)
    positions = np.array(frames.end)
    positions[0], positions[1], positions[2], positions[3] = np.nan, 0.0, 3.0 * positions[2], [0.0, limb.length, 0.0]
    positions[4] = [0.0, 0.0, -0.5 * limb.length]
    orientations = np.array(frames.orientation) if oriented else NO_ORIENTATION
    if oriented:
        orientations[5], orientations[6] = 0.0, [0.0, 1.0, 0.0, 0.0]
    swivels = rng.uniform(-4.0, 4.0, 60) if each else np.array([0.4])
    if each:
        swivels[7] = np.inf
    return _Job(positions, orientations, swivels, rng.uniform(-1.0, 1.0, (60 if each else 1, 3)), limb.packed)


@pytest.mark.parametrize("each", [False, True], ids=["one swivel", "a swivel each"])
@pytest.mark.parametrize("oriented", [False, True], ids=["positions", "orientations"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["arm", "leg", "free", "paper"])
def test_stages_answer_as_one_piece_does(name, mode, oriented, each):
    limb = limbs()[name]
    job = targets(limb, np.random.default_rng(len(name)), oriented, each)
    values, report = limb._run(job, MODES[mode], None)
    staged, reported = limb._run_in_stages(job, MODES[mode], None)
    np.testing.assert_array_equal(staged, values)
    for field in report.dtype.names:
        np.testing.assert_array_equal(reported[field], report[field], err_msg=field)
    assert len({*report["status"]}) > 1, "targets of several kinds"
