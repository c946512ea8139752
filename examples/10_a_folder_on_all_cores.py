"""A folder on all cores: reconstruct every clip from six points, then again, to see that nothing is done twice.

One broken file costs one item. Killed half-way, the same call goes on where it was.
"""

import sys
import tempfile
from pathlib import Path

import posable as ps
from posable.render import Player, save_picture, strip


def reconstructed(path: Path, folder: str) -> dict[str, object]:
    """What is done with one clip: its six points, a whole body from them, and how far that is from the clip."""
    clip = ps.load(path)
    body = ps.Humanoid(clip.skeleton)
    answer = ps.SequentialIK(body).track(body.markers(clip.pose), fps=clip.fps)
    ps.save(answer.motion, Path(folder) / path.name)
    here, there = (clip.skeleton.forward(motion).positions for motion in (clip, answer.motion))
    away = ((here - there) ** 2).sum(axis=-1) ** 0.5
    return {"clip": path.stem, "frames": len(clip), "reached": float(answer.ok.mean()), "away": away}


if __name__ == "__main__":  # workers start afresh and read this file too
    OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    with tempfile.TemporaryDirectory() as scratch:
        clips, out, store = (Path(scratch) / name for name in ("clips", "reconstructed", "store"))
        for folder in (clips, out):
            folder.mkdir()
        for name in ps.samples.NAMES:
            ps.save(getattr(ps.samples, name)(), clips / f"{name}.bvh")
        (clips / "broken.bvh").write_text("HIERARCHY")

        for attempt in ("first", "second"):
            report = ps.jobs.run(reconstructed, sorted(clips.glob("*.bvh")), settings={"folder": str(out)}, store=store)
            print(f"{attempt} call: {report.computed} computed, {report.skipped} already there, by {report.workers}")
        for failure in report.failures:
            print(f"failed: {failure.item.name}: {failure.error}")
        for result in report.results:
            if result is not None:
                away = 1000.0 * result["away"].mean()
                print(f"{result['clip']}: {result['frames']} frames, joints {away:.0f} mm from the clip's in the mean")
        run, again = ps.load(clips / "run.bvh"), ps.load(out / "run.bvh")

    save_picture(strip(again, frames=8, view="side"), OUT / "10_a_folder_on_all_cores.png")
    ps.save(again, OUT / "10_a_folder_on_all_cores.glb")
    Player(run, again, names=["the clip", "from six points"]).save(OUT / "10_a_folder_on_all_cores.html")
