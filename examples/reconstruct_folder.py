"""Reconstruct a folder of clips from six points each, on all cores; then again, to see that nothing is done twice."""

import tempfile
from pathlib import Path

import posable as ps


def reconstructed(path: Path, folder: str) -> dict[str, object]:
    """What is done with one clip: its six points, a whole body from them, and how far that is from the clip."""
    clip = ps.load(path)
    body = ps.Humanoid(clip.skeleton)
    answer = ps.SequentialIK(body).track(body.markers(clip.pose), fps=clip.fps)
    ps.save(answer.motion, Path(folder) / path.name)
    here, there = (clip.skeleton.forward(motion.pose).positions for motion in (clip, answer.motion))
    away = ((here - there) ** 2).sum(axis=-1) ** 0.5
    return {"clip": path.stem, "frames": len(clip), "reached": float(answer.ok.mean()), "away": away}


if __name__ == "__main__":  # workers start afresh and read this file too
    with tempfile.TemporaryDirectory() as scratch:
        clips, out, kept = (Path(scratch) / name for name in ("clips", "reconstructed", "kept"))
        for folder in (clips, out):
            folder.mkdir()
        for name in ps.samples.NAMES:
            ps.save(getattr(ps.samples, name)(), clips / f"{name}.bvh")
        (clips / "broken.bvh").write_text("HIERARCHY")

        for attempt in ("first", "second"):
            report = ps.jobs.run(reconstructed, sorted(clips.glob("*.bvh")), settings={"folder": str(out)}, store=kept)
            print(f"{attempt} call: {report.computed} computed, {report.skipped} already there, by {report.workers}")
        for failure in report.failures:
            print(f"failed: {failure.item.name}: {failure.error}")
        for told in report.results:
            if told is not None:
                away = 1000.0 * told["away"].mean()
                print(f"{told['clip']}: {told['frames']} frames, joints {away:.0f} mm from the clip's in the mean")

        # Blocks instead of files: sample i is drawn from [seed, i], so that nobody's share changes the samples.
        print(f"samples come in blocks: {ps.jobs.blocks(10, 4)}")
