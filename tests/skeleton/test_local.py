"""Transforms of joints in the frames of others, beside matrices in plain NumPy."""

import numpy as np
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute.types import zero_records
from posable.skeleton.forward import LOCAL, local_rows


def matrix(position, wxyz) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = Rotation.from_quat(wxyz, scalar_first=True).as_matrix(), position
    return made


def test_local_transforms_lead_from_one_joint_to_the_other():
    body, draw = ps.figure(), np.random.default_rng(0)
    frames = body.skeleton.forward(ps.samples.dance(body)[17])
    count = len(body.skeleton)
    records = zero_records((count,), LOCAL)
    for record in records:
        record["joint"], record["above"] = draw.integers(count), draw.integers(-1, count)
        record["lever"], record["scale"] = draw.normal(size=3), draw.uniform(0.01, 100.0)
        record["between"], record["own"] = ps.math.normalize(draw.normal(size=(2, 4)))
    records["above"][:3] = -1
    out = np.empty((count, 7))
    local_rows(count, records, frames.positions[None], frames.orientations[None], out)
    for record, (x, y, z, *wxyz) in zip(records, out, strict=True):
        joint, above = record["joint"], record["above"]
        base = np.eye(4) if above < 0 else matrix(frames.positions[above], frames.orientations[above])
        base = base @ matrix(record["lever"], record["between"])
        whole = base @ matrix(np.array([x, y, z]) * record["scale"], wxyz)
        wanted = matrix(frames.positions[joint], frames.orientations[joint]) @ matrix(np.zeros(3), record["own"])
        np.testing.assert_allclose(whole, wanted, atol=1e-9)
