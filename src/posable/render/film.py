"""Motions as films: MP4, GIF, a folder of pictures, or one picture with moments of the motion; on all cores.

A film is drawn without a screen, in rounds of a few pictures for each core, and each round is written before the next
is drawn: memory follows the size of a picture and not the length of the motion. Several motions stand side by side,
each in a panel of its own, all at one scale.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, atomic_write, checked_keywords, require, threads
from ..compute.files import check_writable
from ..compute.types import Floats
from ..skeleton import Motion
from .gif import GifWriter
from .picture import RigidLook, SkinnedLook, look_of, save_picture, view_angles
from .raster import Camera, Mesh, Pixels, draw
from .scene_mesh import scene_mesh

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene

CAMERAS = {
    "follow": "goes along with the body",
    "orbit": "goes along, and around it",
    "fixed": "stands where it sees the first frame",
    "framed": "stands where it sees the whole motion",
}
FILMS = {".mp4": 30.0, ".gif": 25.0, "": 30.0, ".png": 0.0}
"""What is written by its suffix, "" being a folder of pictures and .png one picture; frames a second by default."""
LARGEST = 4096  # pixels of a side
SMOOTHED = 0.3  # [s] by which a camera that follows is late and early: it does not shake with every step
BLOCK = 2048  # frames whose joints are placed at once
ROUND = 6  # pictures a core between two times of writing
FILLED = 0.90  # of a panel
SHEET = 12  # moments of a picture of moments


@checked_keywords
def film(
    motions: Motion | Sequence[Motion],
    path: str | os.PathLike[str],
    *,
    camera: str = "follow",
    view: str | tuple[float, float] = "three_quarter",
    revolutions: float = 1.0,
    size: tuple[int, int] = (1280, 720),
    fps: float | None = None,
    frames: int = SHEET,
    samples: int = 2,
    bodies: Sequence[Humanoid | None] | None = None,
    scene: Scene | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Draw motions to a file or folder; return how many pictures were drawn. Nothing is left of a film half drawn.

    Args:
        motions: one, or up to four that play side by side; one that ends earlier stays in its last frame.
        path: `.mp4` (the extra `video`), `.gif` (Pillow), `.png` for one picture with moments of the motion, or a new
            or empty folder for a picture each frame.
        camera: one of `CAMERAS`.
        view: where the eye stands at the beginning: a name in `VIEWS`, or azimuth and elevation [rad].
        revolutions: of camera "orbit" around the body, from the first frame to the last.
        size: width and height [pixels], of a picture of moments that of each; an MP4 has even ones.
        fps: frames a second of the film, whatever the motion has; 30, of a GIF 25.
        frames: of a `.png` file, how many moments it shows.
        samples: squared, the samples per pixel.
        bodies: whose volumes are drawn where motions have no meshes, a body or None each.
        scene: obstacles to draw.
        workers: how many processes draw; None for all cores.
        progress: called with how many pictures are done, and of how many.
    """
    shown = [motions] if isinstance(motions, Motion) else list(motions)
    target = Path(path)
    suffix = check_film(target, camera, size, samples)
    _check_motions(shown)
    width, height = (int(side) for side in size)
    if suffix == ".mp4":
        width, height = width // 2 * 2, height // 2 * 2
    duration = max(motion.duration for motion in shown)
    rate = _rate(fps, suffix)
    if suffix == ".png":
        if frames < 1 or frames > 400:
            raise PosableError(f"frames={frames}: a picture of moments shows 1 to 400")
        times = np.linspace(0.0, duration, frames if duration > 0.0 else 1)
    else:
        times = np.arange(math.floor(duration * rate + 1e-6) + 1) / rate
    around = None if scene is None else scene_mesh(scene)
    who = list(bodies) if bodies is not None else [None] * len(shown)
    if len(who) != len(shown):
        raise ShapeError(f"{len(who)} bodies for {len(shown)} motions; expected one, or None, each")
    panels = [_panel(*pair, around) for pair in zip(shown, who, strict=True)]
    widths = [(k + 1) * width // len(panels) - k * width // len(panels) for k in range(len(panels))]
    cameras = _cameras(panels, times, camera, view_angles(view), revolutions, min(widths) / height)
    pictures = _drawn(panels, times, cameras, widths, height, samples, workers)
    with _writer(target, suffix, (width, height), rate, len(times)) as write:
        for done, picture in enumerate(pictures, 1):
            write(picture)
            if progress is not None:
                progress(done, len(times))
    return len(times)


def check_film(path: str | os.PathLike[str], camera: str, size: tuple[int, int], samples: int = 2) -> str:
    """Return the suffix of what `film` would write; raise where it would refuse: drawing takes minutes."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FILMS:
        raise PosableError(
            f"cannot write {str(target)!r}: a film is .mp4, .gif, .png (moments in one picture) or a folder, "
            "which has no suffix"
        )
    if camera not in CAMERAS:
        raise UnknownNameError("camera", camera, CAMERAS)
    if len(size) != 2 or not all(16 <= side <= LARGEST for side in size):
        raise PosableError(f"size={tuple(size)}: expected a width and a height of 16 to {LARGEST} pixels")
    if not 1 <= samples <= 4:
        raise PosableError(f"samples={samples}: expected 1 to 4")
    if suffix == ".mp4":
        require("imageio_ffmpeg", "video")
    if suffix == ".gif":
        require("PIL", "cli")
    if suffix:
        check_writable(target)
    elif target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise PosableError(f"cannot write pictures to {str(target)!r}: expected a new or an empty folder")
    elif not target.absolute().parent.is_dir():
        raise PosableError(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist")
    return suffix


@dataclass(frozen=True)
class _Panel:
    """A motion with its look, and what the picture needs to know of both."""

    motion: Motion
    look: RigidLook | SkinnedLook
    reach: float
    """[m] by which vertices are beyond the joints."""
    level: float
    """[m] of the floor."""
    around: Mesh | None

    def placed(self, times: Floats) -> tuple[Floats, Floats]:
        """Return positions (N, J, 3) [m] and orientations (N, J, 4) of joints at times [s]."""
        frames = self.motion.skeleton.forward(self.motion.at(times))
        return frames.positions, frames.orientations


@dataclass(frozen=True)
class _Cameras:
    """The camera of a panel over time."""

    targets: Floats
    """(N, 3) [m] what it looks at."""
    azimuths: Floats
    """(N,) [rad]."""
    elevation: float
    extent: float

    def at(self, k: int) -> Camera:
        """Return the camera of picture k."""
        return Camera(self.targets[k], float(self.azimuths[k]), self.elevation, self.extent, 4.0 * self.extent)


def _panel(motion: Motion, body: Humanoid | None, around: Mesh | None) -> _Panel:
    skeleton = motion.skeleton
    if skeleton.character is not None:  # a worker needs no document of the file that it came from
        skeleton = skeleton.replace(
            character=replace(skeleton.character, source=None, meshes=[*skeleton.character.meshes])
        )
        motion = motion.replace(skeleton=skeleton)
    look = look_of(skeleton, body)
    frames = skeleton.forward(motion[0])
    mesh = look.mesh(frames.positions, frames.orientations)
    lowest, tall = float(mesh.vertices[:, 1].min()), float(np.ptp(mesh.vertices[:, 1]))
    level = 0.0 if abs(lowest) < 0.25 * tall else lowest
    return _Panel(motion, look, _beyond(mesh.vertices, frames.positions), level, around)


def _beyond(vertices: Floats, joints: Floats) -> float:
    """Return the largest distance of a vertex from the joint that is nearest to it [m]."""
    from scipy.spatial import cKDTree

    return float(cKDTree(joints).query(vertices)[0].max())


def _cameras(
    panels: list[_Panel], times: Floats, camera: str, angles: tuple[float, float], revolutions: float, aspect: float
) -> list[_Cameras]:
    """Return the cameras of each panel, all of one extent, so that bodies are as large as they are."""
    azimuth, elevation = angles
    azimuth_at = azimuth + (
        2.0 * np.pi * revolutions * np.arange(len(times)) / len(times) if camera == "orbit" else 0.0
    )
    azimuths = np.broadcast_to(azimuth_at, len(times))
    targets = [_targets(panel, times, camera, azimuth) for panel in panels]
    seen = slice(0, 1) if camera == "fixed" else slice(None)
    extent = 1e-3
    for panel, target in zip(panels, targets, strict=True):
        seen_at, which = times[seen], np.arange(len(times))[seen]
        for first in range(0, len(seen_at), BLOCK):
            rows = which[first : first + BLOCK]
            relative = panel.placed(times[rows])[0] - target[rows][:, None]
            ca, sa = np.cos(azimuths[rows])[:, None], np.sin(azimuths[rows])[:, None]
            ce, se = np.cos(elevation), np.sin(elevation)
            x, y, z = np.moveaxis(relative, -1, 0)
            along, across = sa * x + ca * z, ca * x - sa * z
            up, near = ce * y - se * along, ce * along + se * y + panel.reach
            # What is nearer to the eye, which is 4 extents away, is larger: |x| <= extent / 2 * (1 - near / 4 extents).
            for away, part in ((np.abs(across) + panel.reach, aspect), (np.abs(up) + panel.reach, 1.0)):
                half = 0.5 * FILLED * part
                extent = max(extent, float(((away + 0.25 * half * near) / half).max()))
    return [_Cameras(target, azimuths, elevation, extent) for target in targets]


def _targets(panel: _Panel, times: Floats, camera: str, azimuth: float) -> Floats:
    """Return what the camera looks at (N, 3) [m], at each time."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    path = np.empty((len(times), 3))
    for first in range(0, len(times), BLOCK):
        part = slice(first, first + BLOCK)
        placed = panel.placed(times[part])[0]
        path[part] = 0.5 * (placed.min(axis=1) + placed.max(axis=1))
        low, high = np.minimum(low, placed.min(axis=(0, 1))), np.maximum(high, placed.max(axis=(0, 1)))
    middle = 0.5 * (low + high)
    if camera == "framed":
        return np.tile(middle, (len(times), 1))
    if camera == "fixed":
        return np.tile(path[0], (len(times), 1))
    if len(times) > 1:
        from scipy.ndimage import gaussian_filter1d

        spread = SMOOTHED / max(float(times[1] - times[0]), 1e-9)
        more = min(len(path) - 1, math.ceil(4.0 * spread))  # goes on as it was, before the first and after the last
        padded = np.pad(path, ((more, more), (0, 0)), mode="reflect", reflect_type="odd")
        path = gaussian_filter1d(padded, spread, axis=0, mode="nearest")[more : more + len(path)]
    path[:, 1] = middle[1]  # a camera that goes up and down with every step makes people sick
    return np.asarray(path)


def _drawn(
    panels: list[_Panel],
    times: Floats,
    cameras: list[_Cameras],
    widths: list[int],
    height: int,
    samples: int,
    workers: int | None,
) -> Iterator[Pixels]:
    """Draw one picture after the other, a round of them at once on all cores."""
    if workers is not None and workers < 1:
        raise PosableError(f"workers={workers}: expected 1 or more processes, or None for all cores")
    looks, levels = [panel.look for panel in panels], [panel.level for panel in panels]
    settings = (looks, levels, panels[0].around, widths, height, samples)
    if workers == 1 or len(times) < 4:
        for k in range(len(times)):
            yield _pictures(settings, [_row(panels, times, cameras, k)])[0]
        return
    joblib = require("joblib", "jobs")
    count = int(joblib.effective_n_jobs(workers or -1))
    with joblib.Parallel(n_jobs=count, backend="loky", inner_max_num_threads=1) as parallel:
        for first in range(0, len(times), ROUND * count):
            last = min(first + ROUND * count, len(times))
            # A worker is sent a look once for some pictures: the meshes of a character are megabytes.
            step = max(1, -(-(last - first) // (2 * count)))
            tasks = [
                joblib.delayed(_pictures)(
                    settings, [_row(panels, times, cameras, k) for k in range(begin, min(begin + step, last))]
                )
                for begin in range(first, last, step)
            ]
            for drawn in parallel(tasks):
                yield from drawn


def _row(panels: list[_Panel], times: Floats, cameras: list[_Cameras], k: int) -> tuple[Any, Any]:
    """Return where the joints of all panels are in picture k, and from where they are seen."""
    placed = [tuple(array[0] for array in panel.placed(times[k : k + 1])) for panel in panels]
    return placed, [seen.at(k) for seen in cameras]


def _pictures(settings: tuple[Any, ...], rows: list[tuple[Any, Any]]) -> list[Pixels]:
    with threads(1):  # the other cores have pictures of their own
        return [_picture(settings, *row) for row in rows]


def _picture(settings: tuple[Any, ...], placed: list[tuple[Floats, Floats]], cameras: list[Camera]) -> Pixels:
    """Draw one picture, a panel for each motion: all panels with where their joints are and from where they are seen.

    `settings` are looks, levels of the floor [m], what is around, widths, height, and samples.
    """
    looks, levels, around, widths, height, samples = settings
    panels = []
    for look, level, width, where, camera in zip(looks, levels, widths, placed, cameras, strict=True):
        mesh = look.mesh(*where)
        mesh = mesh if around is None else Mesh.join([mesh, around])
        panels.append(draw(mesh, camera, width, height, level=level, samples=samples))
    return np.concatenate(panels, axis=1)


@contextmanager
def _writer(
    target: Path, suffix: str, size: tuple[int, int], rate: float, count: int
) -> Iterator[Callable[[Pixels], None]]:
    """Give a function that takes one picture after the other; the file or folder is there when all are written."""
    if suffix == "":
        with _folder(target) as folder:
            names = iter(range(count))
            yield lambda picture: save_picture(picture, folder / f"{next(names):0{max(5, len(str(count)))}d}.png")
        return
    if suffix == ".png":
        sheet: list[Pixels] = []
        yield sheet.append
        save_picture(_sheet(sheet), target)
        return
    with atomic_write(target) as temporary:
        if suffix == ".gif":
            with temporary.open("wb") as file:
                gif = GifWriter(file, size, rate)
                yield gif.write
                gif.close()
            return
        ffmpeg = require("imageio_ffmpeg", "video")
        writer = ffmpeg.write_frames(str(temporary), size, fps=rate, macro_block_size=2, quality=7)
        writer.send(None)
        try:
            yield lambda picture: writer.send(np.ascontiguousarray(picture).tobytes())
        finally:
            writer.close()


@contextmanager
def _folder(target: Path) -> Iterator[Path]:
    """Give a new folder beside the target, which gets its name at the end, or is removed."""
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.absolute().parent))
    try:
        yield made
        if target.exists():
            target.rmdir()
        made.chmod(0o755)
        made.rename(target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _sheet(pictures: list[Pixels]) -> Pixels:
    """Return pictures of one size in rows, about as wide as high, the last row filled up with white."""
    height, width, _ = pictures[0].shape
    columns = max(1, min(len(pictures), round(math.sqrt(len(pictures) * height / width * 1.6))))
    rows = -(-len(pictures) // columns)
    sheet = np.full((rows * height, columns * width, 3), 255, np.uint8)
    for k, picture in enumerate(pictures):
        y, x = k // columns * height, k % columns * width
        sheet[y : y + height, x : x + width] = picture
    return sheet


def _check_motions(shown: list[Motion]) -> None:
    if not 1 <= len(shown) <= 4:
        raise PosableError(f"{len(shown)} motions; a film shows 1 to 4 side by side")
    for motion in shown:
        if not isinstance(motion, Motion):
            raise PosableError(f"a film shows motions; got a {type(motion).__name__}")
        if not len(motion):
            raise PosableError("there is nothing to draw: the motion has no frames")
        if not motion.pose.is_finite():
            raise PosableError("the motion has numbers that are not finite and cannot be drawn")


def _rate(fps: float | None, suffix: str) -> float:
    rate = FILMS[suffix] if fps is None else float(fps)
    most = 50.0 if suffix == ".gif" else 240.0
    if fps is not None and suffix != ".png" and not 0.0 < rate <= most:
        raise PosableError(f"fps={fps}: expected frames a second above 0 and up to {most:g}")
    return rate
