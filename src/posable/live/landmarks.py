"""MediaPipe's 33 world landmarks as points of a body.

World landmarks are metres from the middle between the hips; x to the right of the picture, y down, z away from the
camera. Somebody who looks into the camera faces +Z here. The joint of the head lies between ears and neck, a quarter of
the way from the ears to the shoulders. A landmark that is hardly visible is lost.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..compute import FormatError, MissingExtraError, PosableError, ShapeError
from ..compute.extent import rows_in_extent
from ..compute.files import read_text
from ..compute.types import ArrayLike, Floats, floats

_SIDES = ("left", "right")
NAMES = (
    *("nose", "left_eye_inner", "left_eye", "left_eye_outer", "right_eye_inner", "right_eye", "right_eye_outer"),
    *("left_ear", "right_ear", "mouth_left", "mouth_right"),
    *(f"{side}_{part}" for part in ("shoulder", "elbow", "wrist", "pinky", "index", "thumb") for side in _SIDES),
    *(f"{side}_{part}" for part in ("hip", "knee", "ankle", "heel", "foot_index") for side in _SIDES),
)
"""Of the 33 landmarks, in their order."""
PARTS = {
    "hips": ("left_hip", "right_hip"),
    "left_hand": ("left_wrist",),
    "right_hand": ("right_wrist",),
    "left_foot": ("left_ankle",),
    "right_foot": ("right_ankle",),
    "left_lower_arm": ("left_elbow",),
    "right_lower_arm": ("right_elbow",),
    "left_lower_leg": ("left_knee",),
    "right_lower_leg": ("right_knee",),
}
"""Parts of a body to the landmarks that they are the middle of."""
TO_OURS = np.array([1.0, -1.0, -1.0])
NECKWARDS = 0.25
VISIBLE = 0.3
"""Landmarks that are less visible than this are lost."""
FPS = 30.0
"""Of a CSV without times."""
MAX_BYTES = 1 << 28
LONGEST_GAP = 60.0  # [s] between two lines
_ROWS = {name: k for k, name in enumerate(NAMES)}


def landmark_points(landmarks: ArrayLike, visibility: ArrayLike | None = None) -> dict[str, list[float] | None]:
    """Return the points of a moment by part, [m] in our frame; None for one that is lost.

    Args:
        landmarks: (33, 3) [m], or (33, 4) with the visibility as the fourth number.
        visibility: (33,) 0 to 1; default all visible.
    """
    given = floats(landmarks, "landmarks")
    if given.ndim != 2 or given.shape[0] != len(NAMES) or given.shape[1] not in (3, 4):
        raise ShapeError(f"landmarks have shape {given.shape}; expected (33, 3), or (33, 4) with the visibility")
    seen = floats(visibility, "visibility") if visibility is not None else None
    if seen is None:
        seen = given[:, 3] if given.shape[1] == 4 else np.ones(len(NAMES))
    if seen.shape != (len(NAMES),):
        raise ShapeError(f"visibility has shape {seen.shape}; expected (33,)")
    positions = given[:, :3] * TO_OURS
    positions = np.where((rows_in_extent(positions) & (seen >= VISIBLE))[:, None], positions, np.nan)
    found = {part: _middle(positions, names) for part, names in PARTS.items()}
    ears = positions[[_ROWS["left_ear"], _ROWS["right_ear"]]].mean(axis=0)
    shoulders = positions[[_ROWS["left_shoulder"], _ROWS["right_shoulder"]]].mean(axis=0)
    found["head"] = ears + NECKWARDS * (shoulders - ears)
    return {part: point.tolist() if np.isfinite(point).all() else None for part, point in found.items()}


def _middle(positions: Floats, names: Sequence[str]) -> Floats:
    return np.asarray(positions[[_ROWS[name] for name in names]].mean(axis=0))


def is_landmarks(path: Path) -> bool:
    """Return whether a CSV file has landmarks, by its first line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.readline(1 << 16).lower()
    return "nose" in head or _is_plain(next(csv.reader([head.strip()]), []))


def _is_plain(cells: Sequence[str]) -> bool:
    """Whether a line has nothing but the numbers of 33 landmarks, with a time before them or not."""
    try:
        list(map(float, cells))
    except ValueError:
        return False
    return len(cells) in (99, 100, 132, 133)


def read_landmarks(path: Path, fps: float | None = None) -> Iterator[tuple[float, dict[str, list[float] | None]]]:
    """Yield (time [s], points by part) of a CSV file of landmarks.

    A line of names (`nose_x, nose_y, nose_z, nose_visibility, left_eye_inner_x, ...`, and `time` [s]) and a line a
    frame; or lines of 99 or 132 numbers alone, with the time before them or not. An empty cell is a lost landmark.
    """
    reader = csv.reader(io.StringIO(read_text(path, MAX_BYTES), newline=""))
    step = 1.0 / (FPS if fps is None else fps)
    columns: list[tuple[int, int] | None] | None = None
    begun, last, frame = None, 0.0, 0
    try:
        for cells in reader:
            if not any(map(str.strip, cells)):
                continue
            if columns is None:
                plain = _is_plain(cells)
                columns = _plain_columns(len(cells)) if plain else _columns(path, cells)
                if not plain:
                    continue
            line = f"line {reader.line_num}"
            if len(cells) != len(columns):
                raise FormatError(path, f"has {len(cells)} values; expected {len(columns)}", line)
            rows, time = np.full((len(NAMES), 4), np.nan), frame * step
            rows[:, 3] = 1.0
            for cell, column in zip(cells, columns, strict=True):
                if column is None:
                    continue
                number = _number(path, cell, line)
                if column == (-1, -1) and fps is None:
                    begun = number if begun is None else begun
                    time = number - begun
                elif column[0] >= 0:
                    rows[column] = number
            if not last <= time <= last + LONGEST_GAP:
                raise FormatError(path, f"time goes from {last:g} to {time:g} s", line)
            last, frame = time, frame + 1
            yield time, landmark_points(rows)
    except csv.Error as error:
        raise FormatError(path, str(error)) from None
    if not frame:
        raise FormatError(path, "has no frames")


def _plain_columns(count: int) -> list[tuple[int, int] | None]:
    timed = count in (100, 133)
    width = 3 if count in (99, 100) else 4
    rows: list[tuple[int, int] | None] = [(k, axis) for k in range(len(NAMES)) for axis in range(width)]
    return [(-1, -1), *rows] if timed else rows


def _columns(path: Path, cells: Sequence[str]) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for cell in cells:
        name, _, axis = cell.strip().lower().replace(" ", "_").rpartition("_")
        if cell.strip().lower() in ("time", "timestamp"):
            found.append((-1, -1))
        elif name in _ROWS and axis in ("x", "y", "z", "visibility"):
            found.append((_ROWS[name], ("x", "y", "z", "visibility").index(axis)))
        else:
            found.append(None)
    known = [column for column in found if column is not None]
    lacking = [f"{name}_{axis}" for name, k in _ROWS.items() for i, axis in enumerate("xyz") if (k, i) not in known]
    if lacking or len(set(known)) < len(known):
        what = (
            f"lacks {', '.join(lacking[:4])}{', ...' if len(lacking) > 4 else ''}" if lacking else "has columns twice"
        )
        raise FormatError(path, what, "line 1")
    return found


def _number(path: Path, cell: str, line: str) -> float:
    if not cell.strip():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise FormatError(path, f"has {cell.strip()[:40]!r}; expected a number", line) from None


def landmark_frames(frames: Iterable[Any]) -> Iterator[dict[str, list[float] | None] | None]:
    """Yield points by part from landmarks as they come: arrays, MediaPipe's results, points by part, or None.

    MediaPipe's results are read by their attributes (`pose_world_landmarks`), so that no version of it is needed.
    """
    for frame in frames:
        yield points_of(frame)


def points_of(frame: Any) -> dict[str, list[float] | None] | None:
    """Return points by part of something that comes from an iterable; None where nobody was seen."""
    if frame is None:
        return None
    if isinstance(frame, Mapping):
        return {str(name): None if value is None else list(map(float, value)) for name, value in frame.items()}
    found = getattr(frame, "pose_world_landmarks", frame)
    found = getattr(found, "landmark", found)
    if found is None or not len(found):
        return None
    if hasattr(found[0], "__len__") and len(found) == 1:  # the newer interface: one list for each person
        found = found[0]
    if hasattr(found[0], "x"):
        rows = [(mark.x, mark.y, mark.z, getattr(mark, "visibility", None)) for mark in found]
        found = [(x, y, z, 1.0 if seen is None else seen) for x, y, z, seen in rows]
    return landmark_points(found)


def camera(number: int = 0) -> Iterator[dict[str, list[float] | None] | None]:
    """Yield points by part from a camera; needs `mediapipe`, which brings OpenCV. Not run in the tests.

    Args:
        number: of the camera.
    """
    try:
        import cv2  # type: ignore[import-not-found]
        import mediapipe  # type: ignore[import-not-found]
    except ImportError as error:
        raise MissingExtraError(f"a camera needs mediapipe ({error}); pip install mediapipe") from None
    capture = cv2.VideoCapture(number)
    if not capture.isOpened():
        raise PosableError(f"camera {number} cannot be opened")
    try:
        with mediapipe.solutions.pose.Pose(model_complexity=1) as pose:
            while True:
                read, picture = capture.read()
                if not read:
                    return
                yield points_of(pose.process(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)))
    finally:
        capture.release()
