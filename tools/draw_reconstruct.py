"""Figures 14 to 21 of Unzueta et al. 2008 with our methods: errors over time, and bodies at one frame.

python tools/draw_reconstruct.py ../shared/data/cmu docs/_static 17 20      # those of the documentation
python tools/draw_reconstruct.py ../shared/data/cmu build/figures          # all eight
"""

import sys
from pathlib import Path

from posable.evaluate import evaluate_clip
from posable.evaluate.plots import PICTURES, PLOTS, picture_frame, plot_errors


def draw(clips: Path, folder: Path, numbers: list[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        path = folder / f"reconstruct-figure-{number}.png"
        if number in PLOTS:
            clip, methods, frames = PLOTS[number]
            found = evaluate_clip(clips / f"{clip}.bvh", methods, per_frame=True)
            plot_errors(found, path, methods=methods, frames=frames)
        else:
            clip, frame = PICTURES[number]
            picture_frame(clips / f"{clip}.bvh", frame - 1, path)
        print(path)


if __name__ == "__main__":
    chosen = [int(number) for number in sys.argv[3:]] or [*PLOTS, *PICTURES]
    draw(Path(sys.argv[1]), Path(sys.argv[2]), chosen)
