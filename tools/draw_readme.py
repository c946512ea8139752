"""The README's moving picture: a hand is dragged, and the whole body follows.

python tools/draw_readme.py docs/_static/drag.gif
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import posable as ps
from posable.collision import Volumes
from posable.render.picture import look_of
from posable.render.raster import Camera, Mesh, draw

WIDTH, HEIGHT, FPS, SECONDS = 560, 400, 14, 4.8
COLOURS = 64
BALL = (224, 102, 60)
# Where the hand is dragged, one after the other and back to the first [m]: x to the figure's left, y up, z ahead.
STOPS = np.array(
    [(-0.34, 1.20, 0.36), (-0.30, 0.42, 0.62), (0.18, 1.10, 0.62), (-0.42, 1.80, 0.33), (-0.75, 1.25, 0.30)]
)


def dragged() -> tuple[ps.Humanoid, ps.Pose, np.ndarray]:
    """The figure, its poses and the target (F, 3) [m]: a smooth closed path through the stops, at even times."""
    from scipy.interpolate import CubicSpline

    body = ps.figure()
    count = round(FPS * SECONDS)
    closed = np.concatenate([STOPS, STOPS[:1]])
    path = CubicSpline(np.linspace(0, 1, len(closed)), closed, bc_type="periodic")
    # Slower at the stops: the eye sees that the body settles.
    at = np.arange(count) / count * len(STOPS)
    part = at - np.floor(at)
    eased = (np.floor(at) + 0.45 * part + 0.55 * part**2 * (3 - 2 * part)) / len(STOPS)
    targets = path(eased)
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"), gaze=0.6)
    answer = reacher.solve(right=ps.Target(targets))
    print(f"{int(answer.ok.sum())} of {count} targets reached")
    return body, answer.pose, targets


def frames() -> list[Image.Image]:
    body, poses, targets = dragged()
    look = look_of(body.skeleton, body)
    ball = Volumes([0], ["ellipsoid"], np.zeros((1, 3)), np.zeros((1, 3)), np.full((1, 3), 0.055)).tessellated(24)
    camera = Camera(np.array([-0.12, 0.98, 0.2]), -0.62, 0.16, 2.3, distance=7.0)
    world = body.skeleton.forward(poses)
    pictures = []
    for k, target in enumerate(targets):
        colours = np.tile(np.array(BALL) / 255.0, (len(ball.vertices), 1))
        mark = Mesh(ball.vertices + target, ball.faces, ball.normals, colours)
        mesh = Mesh.join([look.mesh(world.positions[k], world.orientations[k]), mark])
        pictures.append(Image.fromarray(draw(mesh, camera, WIDTH, HEIGHT, samples=3)))
    return pictures


def save(pictures: list[Image.Image], path: Path) -> None:
    """One palette for all frames, without dithering: what does not move costs nothing."""
    pixels = np.concatenate([np.asarray(picture) for picture in pictures[::6]]).reshape(-1, 3)
    colourful = np.ptp(pixels.astype(int), axis=1) > 30  # the body and the ball, not floor and sky
    orange = pixels[:, 0] > pixels[:, 2].astype(int) + 50
    chosen = np.concatenate([pixels[~colourful][::8], pixels[colourful], np.repeat(pixels[orange], 8, axis=0)])
    palette = Image.fromarray(chosen[: len(chosen) // 64 * 64].reshape(-1, 64, 3)).quantize(COLOURS)
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    few[0].save(
        path, save_all=True, append_images=few[1:], duration=round(1000 / FPS), loop=0, optimize=True, disposal=1
    )
    print(f"{path}: {len(few)} frames, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    save(frames(), Path(sys.argv[1]))
