"""MediaPipe's landmarks: the frame, what is hardly visible, CSV files."""

import numpy as np
import pytest

import posable as ps
from posable.live import Live, file_source, landmark_points, read_landmarks
from posable.live.landmarks import NAMES, points_of

HEAD = ",".join(f"{name}_{axis}" for name in NAMES for axis in "xyz")


def landmarks_of(body: ps.Humanoid, pose: ps.Pose) -> np.ndarray:
    """(33, 4) as MediaPipe would see a body that faces the camera, of its joints; the rest at the head."""
    frames = body.skeleton.forward(pose)

    def at(role: str) -> np.ndarray:
        return frames.positions[body.index(role)]

    found = {name: at("head") for name in NAMES[:11]}
    for side in ("left", "right"):
        for mark, role in (("shoulder", "upper_arm"), ("elbow", "lower_arm"), ("wrist", "hand")):
            found[f"{side}_{mark}"] = at(f"{side}_{role}")
        for mark in ("pinky", "index", "thumb"):
            found[f"{side}_{mark}"] = at(f"{side}_hand")
        for mark, role in (("hip", "upper_leg"), ("knee", "lower_leg"), ("ankle", "foot")):
            found[f"{side}_{mark}"] = at(f"{side}_{role}")
        for mark in ("heel", "foot_index"):
            found[f"{side}_{mark}"] = at(f"{side}_foot")
    rows = np.array([found[name] for name in NAMES])
    rows = (rows - 0.5 * (found["left_hip"] + found["right_hip"])) * [1.0, -1.0, -1.0]
    return np.concatenate([rows, np.ones((33, 1))], axis=1)


def test_there_are_33_and_their_order_is_mediapipes():
    assert len(NAMES) == 33
    assert [NAMES[k] for k in (0, 7, 8, 11, 12, 15, 16, 23, 24, 27, 28, 31, 32)] == [
        *("nose", "left_ear", "right_ear", "left_shoulder", "right_shoulder", "left_wrist", "right_wrist"),
        *("left_hip", "right_hip", "left_ankle", "right_ankle", "left_foot_index", "right_foot_index"),
    ]


def test_somebody_who_faces_the_camera_faces_z(figure):
    points = landmark_points(landmarks_of(figure, figure.neutral_pose))
    assert points["left_hand"][0] > 0 > points["right_hand"][0]  # left is at +x
    assert points["head"][1] > 0.3 and points["left_foot"][1] < -0.6
    np.testing.assert_allclose(points["hips"], 0.0, atol=1e-12)
    reaching = landmarks_of(figure, ps.samples.boxing(figure)[0])
    assert landmark_points(reaching)["left_hand"][2] > 0  # ahead


def test_what_is_hardly_visible_is_lost(figure):
    rows = landmarks_of(figure, figure.neutral_pose)
    rows[15, 3] = 0.1
    rows[28] = np.nan
    points = landmark_points(rows)
    assert points["left_hand"] is None and points["right_foot"] is None and points["right_hand"] is not None


class Mark:
    def __init__(self, row) -> None:
        self.x, self.y, self.z, self.visibility = row


class Result:
    def __init__(self, marks) -> None:
        self.pose_world_landmarks = marks


class Landmarks:
    def __init__(self, marks) -> None:
        self.landmark = marks


def test_results_of_either_interface_of_mediapipe_are_read(figure):
    rows = landmarks_of(figure, figure.neutral_pose)
    marks = [Mark(row) for row in rows]
    expected = landmark_points(rows)
    assert points_of(Result(Landmarks(marks))) == points_of(Result([marks])) == expected == points_of(rows)
    assert points_of(Result(None)) is None and points_of(Result([])) is None and points_of(None) is None


def write_csv(path, rows: np.ndarray, named: bool = True, times: np.ndarray | None = None) -> None:
    head = [f"{name}_{axis}" for name in NAMES for axis in ("x", "y", "z", "visibility")]
    lines = [",".join((["time"] if times is not None else []) + head)] if named else []
    for k, frame in enumerate(rows):
        cells = [f"{number:.6f}" for number in frame.reshape(-1)]
        lines.append(",".join(([f"{times[k]:.4f}"] if times is not None else []) + cells))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("timed", [True, False])
def test_a_csv_of_landmarks_drives_a_body(figure, walk, tmp_path, named, timed):
    rows = np.array([landmarks_of(figure, pose) for pose in walk[:30]])
    times = 5.0 + np.arange(30) / 25 if timed else None
    write_csv(tmp_path / "marks.csv", rows, named, times)
    read = list(read_landmarks(tmp_path / "marks.csv"))
    assert len(read) == 30 and read[-1][0] == pytest.approx(29 / (25 if timed else 30))
    np.testing.assert_allclose(read[7][1]["left_foot"], landmark_points(rows[7])["left_foot"], atol=1e-6)
    with Live(file_source(tmp_path / "marks.csv"), (), body=figure) as live:
        live.run(realtime=False)
        assert live.sent >= 29 and np.isfinite(live.frame.errors).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nose_x,nose_y\n1,2\n", "lacks nose_z"),
        (HEAD + "\n1,2\n", "has 2 values; expected 99"),
        (HEAD + "\n" + ",".join(["x"] * 99) + "\n", "'x'; expected a number"),
        (HEAD + "\n", "no frames"),
    ],
)
def test_a_csv_that_is_none_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ps.FormatError, match=message):
        list(read_landmarks(tmp_path / "a.csv"))


def test_times_that_run_backwards_are_an_error(figure, tmp_path):
    rows = np.array([landmarks_of(figure, figure.neutral_pose)] * 3)
    write_csv(tmp_path / "a.csv", rows, times=np.array([0.0, 0.2, 0.1]))
    with pytest.raises(ps.FormatError, match=r"time goes from 0.2 to 0.1 s"):
        list(read_landmarks(tmp_path / "a.csv"))
