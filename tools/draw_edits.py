"""The figures of Komura et al. 2004 from clips of the same kinds, for the documentation: a frame, the drag, and the
same drag by plain pseudo-inverse (all weights the same, no targets for the other parts).

python -m tools.draw_edits docs/_static
"""

import sys
from pathlib import Path

import numpy as np

import posable as ps
from benchmarks.harness import data_dir
from posable.render import save_picture, strip

PAPER = {"mode": "frozen", "scope": "whole"}
SIDE, FRONT = (-np.pi / 2 + 0.25, 0.12), (0.3, 0.12)
JUMP_FRAME = 61  # of 09_01 at 60 frames a second: the right foot is about to land


def editors(clip: str, part_of_it: slice = slice(None), limits: str = "clip") -> tuple[ps.MotionEditor, ...]:
    """Ours, and one with all weights the same and no limits, of a CMU clip."""
    folder = data_dir()
    if folder is None:
        raise SystemExit("no data at hand: set POSABLE_DATA")
    motion = ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)[::2][part_of_it]
    body = ps.Humanoid(motion.skeleton)
    return ps.MotionEditor(motion, body, limits=limits), ps.MotionEditor(motion, body, weights="identity", limits=None)


def drag_both(
    both: tuple[ps.MotionEditor, ...], frame: int, part: str, displacements: np.ndarray, softness_of_ours=None
) -> ps.Pose:
    """Poses of our drags and then of the plain ones, each after the frame itself."""
    poses = []
    for editor, softness in zip(both, (softness_of_ours, (1e4, 1e4))):
        asked = {"frame": frame, "part": part, "displacement": displacements, "softness": softness}
        answer = editor.drag(**asked, contacts=False, **PAPER)
        errors = np.round(1000 * answer.position_error, 2).tolist()
        print(f"frame {frame} {part}: {answer.cause.tolist()}, {errors} mm away")
        frames = editor.body.skeleton.forward(
            ps.Pose.stack([editor.original[frame], answer.pose[len(displacements) - 1]])
        )
        for role in ("hips", "head", "left_hand", "right_hand", "left_foot", "right_foot"):
            began, ended = frames.positions[:, editor.body.roles[role]]
            print(f"   {role} {np.round(ended - began, 2).tolist()} m")
        poses += [editor.original[frame], *(answer.pose[k] for k in range(len(displacements)))]
    return ps.Pose.stack(poses)


def rows_of(body: ps.Humanoid, poses: ps.Pose, which: list[int], view: tuple[float, float], gap: float) -> np.ndarray:
    """Two rows of figures, ours above the plain ones, in one scale; what the drag moves over the floor is left in."""
    half = len(poses) // 2
    chosen = [*which, *(half + k for k in which)]
    return strip(body, poses, chosen, len(which), view=view, spacing=gap, height=300, travel=True)


def hand(clip: str, part_of_it: slice, frame: int) -> np.ndarray:
    """Figures 6 and 7: the left hand dragged in several directions."""
    displacements = np.array([[0.0, 0.35, 0.0], [0.0, -0.3, 0.0], [0.3, 0.0, 0.0], [-0.3, 0.0, 0.0], [0.0, 0.0, 0.35]])
    both = editors(clip, part_of_it)
    return rows_of(both[0].body, drag_both(both, frame, "left_hand", displacements), list(range(6)), FRONT, 1.25)


def jump(frame: int) -> np.ndarray:
    """Figure 8: from a run, one foot dragged forward and up; from the side and from the front."""
    both = editors("09_01", limits="body")
    hips = both[0].body.skeleton.forward(both[0].original.pose).positions[:, both[0].body.roles["hips"]]
    ahead = (hips[frame + 5] - hips[frame - 5]) * [1.0, 0.0, 1.0]
    ahead /= np.linalg.norm(ahead)
    displacements = np.array([fraction * (0.45 * ahead + [0.0, 0.6, 0.0]) for fraction in (0.35, 0.7, 1.0)])
    poses = drag_both(both, frame, "right_foot", displacements, softness_of_ours=(0.1, 0.3))
    side = rows_of(both[0].body, poses, [0, 1, 2, 3], SIDE, 1.2)
    return np.concatenate([side, rows_of(both[0].body, poses, [0, 3], FRONT, 1.1)], axis=1)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    pictures = {
        "edit-pitch.png": lambda: hand("124_01", slice(95, 195), 55),
        "edit-dance.png": lambda: hand("05_02", slice(None), 184),
        "edit-jump.png": lambda: jump(int(sys.argv[2]) if len(sys.argv) > 2 else JUMP_FRAME),
    }
    for name, draw in pictures.items():
        image = draw()
        save_picture(image, folder / name)
        print(f"{name}: {image.shape[1]} x {image.shape[0]}")
