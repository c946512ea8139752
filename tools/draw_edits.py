"""The figures of Komura et al. 2004 from clips of the same kinds, for the documentation: a frame, the drag, and the
same drag by plain pseudo-inverse (all weights the same, nothing asked of the other parts).

python tools/draw_edits.py docs/_static
"""

import sys
from pathlib import Path

import numpy as np

import posable as ps
from benchmarks.harness import data_dir
from posable.evaluate import save_picture, strip

SIDE, FRONT = (-np.pi / 2 + 0.25, 0.12), (0.3, 0.12)


def editors(clip: str, part_of_it: slice = slice(None)) -> tuple[ps.MotionEditor, ps.MotionEditor]:
    """Ours, and one with all weights the same and no limits, of a CMU clip."""
    folder = data_dir()
    if folder is None:
        raise SystemExit("no data at hand: set POSABLE_DATA")
    motion = ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)[::2][part_of_it]
    body = ps.Humanoid(motion.skeleton)
    return ps.MotionEditor(motion, body), ps.MotionEditor(motion, body, weights="identity", limits=None)


def drag_both(
    both: tuple[ps.MotionEditor, ps.MotionEditor], frame: int, part: str, ways: np.ndarray, **options: object
):
    """Poses of our drags and of the plain ones, each after the frame itself."""
    for editor, soft in zip(both, (None, (1e4, 1e4))):
        answer = editor.drag(frame=frame, part=part, displacement=ways, softness=soft, **options)
        print(f"frame {frame} {part}: {answer.cause.tolist()}, {np.round(1000 * answer.residual, 2).tolist()} mm away")
        yield ps.Pose.stack([editor.original[frame], *(answer.pose[k] for k in range(len(ways)))])


def sheet(rows: list[np.ndarray]) -> np.ndarray:
    """Pictures under each other."""
    width = max(row.shape[1] for row in rows)
    return np.concatenate([np.pad(r, ((0, 0), (0, width - r.shape[1]), (0, 0)), constant_values=255) for r in rows])


def hand(clip: str, part_of_it: slice, frame: int, view: tuple[float, float]) -> np.ndarray:
    """Figures 6 and 7: the left hand dragged in several directions."""
    ways = np.array([[0.0, 0.35, 0.0], [0.0, -0.3, 0.0], [0.3, 0.0, 0.0], [-0.3, 0.0, 0.0], [0.0, 0.0, 0.35]])
    both = editors(clip, part_of_it)
    return sheet([strip(both[0].body, p, list(range(6)), view=view, spacing=1.25, height=300)
                  for p in drag_both(both, frame, "left_hand", ways, contacts=False)])  # fmt: skip


def jump(frame: int) -> np.ndarray:
    """Figure 8: from a run, one foot dragged forward and up; from the side and from the front."""
    both = editors("09_01")
    hips = both[0].body.skeleton.forward(both[0].original.pose).positions[:, both[0].body.roles["hips"]]
    ahead = (hips[frame + 5] - hips[frame - 5]) * [1.0, 0.0, 1.0]
    ahead /= np.linalg.norm(ahead)
    ways = np.array([share * (0.4 * ahead + [0.0, 0.45, 0.0]) for share in (0.35, 0.7, 1.0)])
    rows = []
    for poses in drag_both(both, frame, "left_foot", ways, contacts=False):
        views = [
            strip(both[0].body, poses, list(range(4)), view=v, spacing=s, height=300)
            for v, s in ((SIDE, 1.3), (FRONT, 1.0))
        ]
        rows.append(np.concatenate(views, axis=1))
    return sheet(rows)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    pictures = {
        "edit-pitch.png": lambda: hand("124_01", slice(95, 195), 55, FRONT),
        "edit-dance.png": lambda: hand("05_02", slice(280, 380), 40, FRONT),
        "edit-jump.png": lambda: jump(int(sys.argv[2]) if len(sys.argv) > 2 else 34),
    }
    for name, draw in pictures.items():
        image = draw()
        save_picture(image, folder / name)
        print(f"{name}: {image.shape[1]} x {image.shape[0]}")
