"""How well editing does what it promises, on the whole of three CMU clips at 60 frames a second: pitch, dance, run.

python -m tools.measure_edits           # the paper's method: weights, replays, drags out and back
python -m tools.measure_edits edits     # edits of random parts, frames and distances: what moves, and what pops
python -m tools.measure_edits contacts  # found contacts against those that were marked by hand
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from benchmarks.harness import data_dir
from posable.edit.clip import smoothed
from posable.edit.weights import explain

CLIPS = {"124_01": "pitch", "05_02": "dance", "09_01": "run"}
DISPLACEMENTS = 0.3 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
HAND = "left_hand"
PAPER = {"mode": "frozen", "scope": "whole"}
PARTS = ("left_hand", "right_hand", "head", "left_foot", "right_foot", "hips")
DISTANCES = (0.1, 0.2, 0.4)
OTHERS = ("02_01", "03_01", "13_39", "16_18", "10_02", "80_07", "115_06", "02_04")
"""More clips, with edits that had failed: walks, a jump, a turn, a kick, work with the hands, lifting, balance."""


def degrees_apart(a: ps.Pose, b: ps.Pose) -> np.ndarray:
    """(..., J): angles between the joints of two poses."""
    rotations = pm.log(pm.multiply(pm.conjugate(a.rotations), b.rotations))
    return np.degrees(np.linalg.norm(rotations, axis=-1))


def residuals(editor: ps.MotionEditor) -> dict[str, str]:
    """Return the fraction of the rates that weights leave unexplained, at their own frame and six frames away."""
    clip, inner = editor.clip, np.arange(12, len(editor.clip) - 12, 3)
    v = np.exp(editor.logs[:, clip.parts.fitted])
    away = [np.median(explain(clip, inner + d, v[inner])[1]) for d in (-6, 6)]
    return {
        "rates left unexplained, all weights the same": f"{np.median(editor.report.identity):.2f}",
        "rates left unexplained, at the frame": f"{np.median(editor.report.residual):.2f}",
        "rates left unexplained, six frames away": f"{max(away):.2f}",
    }


def replayed(editor: ps.MotionEditor) -> dict[str, str]:
    """Drag the hand along its recorded path in mode "phase", from every third frame; error over change of joints."""
    body, motion = editor.body, editor.original.replace(pose=smoothed(editor.original))
    free = ps.MotionEditor(motion, body, limits=None, contacts=())
    free.logs = editor.logs
    hand = body.skeleton.forward(motion.pose).positions[:, body.roles[HAND]]
    joints = np.unique(body.skeleton.dofs.joint[editor.clip.parts.dofs])
    rows = {}
    frozen = {**PAPER, "softness": (0.03, 0.1), "max_ratio": 4.0}  # with the settings of the other mode
    cases = [(1, "a frame", frozen, ", frozen")]
    cases += [
        (k, name, {"mode": "phase"}, "") for k, name in ((1, "a frame"), (6, "0.1 s"), (12, "0.2 s"), (24, "0.4 s"))
    ]
    for ahead, name, mode, which in cases:
        frames = np.arange(4, len(motion) - ahead - 1, 3)
        pose = None
        for k in range(1, ahead + 1):
            going_on = {} if pose is None else {"pose": pose}
            pose = free.drag(frame=frames, part=HAND, target=hand[frames + k], **mode, **going_on).pose
        end, start = motion.pose[frames + ahead], motion.pose[frames]
        missing = np.linalg.norm(degrees_apart(pose, end)[:, joints], axis=1)
        ratio = missing / np.linalg.norm(degrees_apart(start, end)[:, joints], axis=1)
        rows[f"{name} replayed{which}: median, 90 %"] = f"{np.median(ratio):.2f}, {np.percentile(ratio, 90):.2f}"
    return rows


def drift(editor: ps.MotionEditor, name: str, every: int = 7) -> dict[str, str]:
    """Drag the hand 0.3 m in six directions from every seventh frame, and back from the pose alone."""
    motion = editor.original
    frames = np.repeat(np.arange(3, len(motion) - 3, every), 6)
    displacements = np.tile(DISPLACEMENTS, (len(frames) // 6, 1))
    out = editor.drag(frame=frames, part=HAND, displacement=displacements, **PAPER)
    small, large = (
        editor.drag(frame=frames, part=HAND, displacement=displacements, step=s, **PAPER) for s in (0.005, 0.02)
    )
    back = editor.drag(
        frame=frames,
        part=HAND,
        displacement=-displacements,
        pose=ps.Pose(out.pose.translation, out.pose.rotations),
        **PAPER,
    )
    rows = {f"{name}: reached": f"{100 * out.ok.mean():.1f} % of {len(frames)}"}
    if editor.contacts:
        rows[f"{name}: they slide at most"] = f"{1000 * out.slid.max():.2f} mm"
    both = small.ok & large.ok
    for what, apart in (
        ("5 mm and 20 mm steps apart", degrees_apart(small.pose, large.pose)[both]),
        ("out and back", degrees_apart(back.pose, motion.pose[frames])[out.ok & back.ok]),
    ):
        worst = apart.max(axis=1)
        rows[f"{name}: {what}, worst joint: median, 95 %, most"] = (
            f"{np.median(worst):.2f}°, {np.percentile(worst, 95):.2f}°, {worst.max():.2f}°"
        )
    return rows


def contacts(folder: Path) -> None:
    """Print how well the contacts found in each clip agree with those that were marked by hand."""
    from tests.edit.marked import MARKED, agreement

    print("| clip | | frames | precision | recall | at 60 | at 30 fps |\n|---|---|---|---|---|---|---|")
    for seen, title in ((True, "all that the numbers were chosen on"), (False, "all that were never looked at before")):
        together = []
        for name, marks in MARKED.items():
            if marks["chosen_on"] != seen:
                continue
            rates = (1, 1, 2) if name == "61_07" else (1, 2, 4)  # the one of these that was captured at 60 a second
            together.append([agreement(name, folder, every) for every in rates])
            first, last = marks["frames"]
            print(f"| {name} | {marks['what']} | {last - first + 1} |" + _scores(together[-1]))
        print(f"| | {title} | |" + _scores(np.array(together).transpose(1, 0, 2, 3)))


def _scores(rates: Sequence[np.ndarray]) -> str:
    from tests.edit.marked import precision_and_recall

    (precision, recall), *others = [precision_and_recall(counts) for counts in rates]
    return f" {precision:.3f} | {recall:.3f} |" + "".join(f" {p:.3f}, {r:.3f} |" for p, r in others)


def peak_acceleration(positions: np.ndarray, fps: float) -> float:
    """Return the largest acceleration of a joint [m/s2]; positions are (F, J, 3)."""
    return float(np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max()) * fps**2


def random_edits(folder: Path, each: int = 36) -> str:
    """Return a table of edits with the default options: random parts, frames and directions on clips of all kinds."""
    rng, rows = np.random.default_rng(2026), []
    for name in (*CLIPS, *OTHERS):
        motion = ps.load(folder / "cmu" / f"{name}.bvh", repair="cmu", first_frame=1)
        motion = motion[::2] if motion.fps > 100 else motion
        first = int(rng.integers(0, max(len(motion) - 400, 1)))
        motion = motion[first : first + 400]
        editor = ps.MotionEditor(motion)
        body = editor.body
        before = body.skeleton.forward(motion.pose).positions
        for k in range(each):
            part, distance = PARTS[k % 6], DISTANCES[k // 6 % 3]
            frame, way = int(rng.integers(5, len(motion) - 5)), rng.normal(size=3)
            edit = editor.edit(frame=frame, part=part, displacement=way * distance / np.linalg.norm(way))
            after = body.skeleton.forward(editor.motion.pose).positions
            moved = np.linalg.norm(after - before, axis=-1)
            slid = [
                moved[c.first : c.last + 1, body.roles[c.part]].max()
                for c in editor.contacts
                if c.on == "ground" and c.part.split("_")[0] != part.split("_")[0]
            ]
            ratio = peak_acceleration(after, motion.fps) / peak_acceleration(before, motion.fps)
            others = [moved[frame, body.roles[role]] / distance for role in ("head", "hips")]
            rows.append((part, distance, bool(edit.ok), bool(edit.answer.ok), ratio, max(slid, default=0.0), *others))
            edit.remove()
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    part, distance, ok, posed, ratio, slid, head, hips = columns
    titles = ("", "edits", "reached", "reached by its one frame", "peak acceleration above 1.5 times the clip's")
    titles += ("and called reached", "largest slide of a contact, reached", "head, hips move, of the distance: medians")
    lines = ["| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|"]
    kinds = [(f"{100 * d:.0f} cm", distance == d) for d in DISTANCES]
    kinds += [(p.replace("_", " "), part == p) for p in PARTS]
    for name, which in kinds:
        popped = ratio[which] > 1.5
        lines.append(
            f"| {name} | {which.sum()} | {100 * ok[which].mean():.0f} % | "
            f"{100 * posed[which].mean():.0f} % | {100 * popped.mean():.1f} % | "
            f"{100 * (popped & ok[which]).mean():.1f} % | {1000 * slid[which & ok].max(initial=0.0):.1f} mm | "
            f"{np.median(head[which]):.2f}, {np.median(hips[which]):.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    folder = data_dir()
    if folder is None:
        raise SystemExit("no data at hand: set POSABLE_DATA")
    if sys.argv[1:] == ["contacts"]:
        contacts(folder / "cmu")
        return
    if sys.argv[1:] == ["edits"]:
        print(random_edits(folder))
        return
    columns = {}
    for clip, kind in CLIPS.items():
        motion = ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)[::2]
        editor = ps.MotionEditor(motion, limits="clip")
        free = ps.MotionEditor(motion, editor.body, limits=None, contacts=())
        free.logs = editor.logs
        columns[kind] = {
            "frames": str(len(motion)),
            **residuals(editor),
            **replayed(editor),
            **drift(free, "no limits"),
            **drift(editor, "limits of the clip, feet pinned"),
        }
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for row in next(iter(columns.values())):
        print(f"| {row} | " + " | ".join(column[row] for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
