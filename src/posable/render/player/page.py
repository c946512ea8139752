"""`Player`: one or several motions as a page that plays them."""

from __future__ import annotations

import base64
import html
import os
import sys
import tempfile
import webbrowser
import zlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ...collision import Scene
from ...compute import PosableError, ShapeError, atomic_write, expect
from ...compute.types import ArrayLike, floats
from ...skeleton import Motion, Pose
from ..colours import PALETTE
from ..picture import look_of, view_angles
from .looks import packed_look, packed_obstacles
from .packing import Packer, packed_motion

ASSET = "player.min.js"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""What a page may do: run and style itself. It cannot reach a network."""
BACKGROUND = (
    "html,body{margin:0;height:100%;background:#eef0f1}@media(prefers-color-scheme:dark){html,body{background:#2b3238}}"
)
LOADER = (
    "(async()=>{const c=Uint8Array.from(atob(document.getElementById('player').textContent),c=>c.charCodeAt(0));"
    "const s=document.createElement('script');s.textContent=await new Response(new Blob([c]).stream()"
    ".pipeThrough(new DecompressionStream('deflate'))).text();document.head.append(s)})()"
)
"""Unpacks the program of the page, which is a quarter of its size when compressed."""


class Player:
    """Motions that play: in a notebook by itself, in a browser by `show`, and as a page by `save`.

    Two motions are drawn over each other in different colours, with a slider that fades from one to the other; more
    stand side by side. The page has buttons, and keys: space plays and pauses, arrows step (ten frames with Shift), F
    shows the whole body again. It is drawn in the reader's browser, without a network and without Python.

    ```python
    walk = ps.samples.walk()
    editor = ps.MotionEditor(walk)
    editor.edit(frame=60, part="left_hand", displacement=(0, 0.2, 0.1))
    ps.render.Player(walk, editor.motion, names=["before", "after"]).save("edit.html")
    ```

    Args:
        motions: what is played, one or more; each with its own skeleton, frame rate and length.
        names: of the motions, for the page; by default their own.
        title: of the page; by default the first name.
        points: (F, N, 3) or (N, 3) [m] drawn as balls, at the frame rate of the first motion: targets, markers. A point
            that is not finite is not drawn.
        scene: obstacles that are drawn.
        spacing: between bodies, along x [m]. By default two are at one position and more as far apart as they need.
        view: a name in `render.picture.VIEWS`, or azimuth and elevation [rad]; by default from the front right.
        frame: at which it begins.
    """

    def __init__(
        self,
        *motions: Motion,
        names: Sequence[str] | None = None,
        title: str | None = None,
        points: ArrayLike | None = None,
        scene: Scene | None = None,
        spacing: float | None = None,
        view: str | tuple[float, float] | None = None,
        frame: int = 0,
    ) -> None:
        if not motions:
            raise PosableError("a player needs a motion")
        for k, motion in enumerate(motions):
            expect(Motion, motion, f"motion {k}", ": Motion(skeleton, pose, fps)")
        if names is not None and len(names) != len(motions):
            raise PosableError(f"{len(names)} names for {len(motions)} motions")
        self.motions = motions
        self.names = tuple(names or (motion.name or f"motion {k + 1}" for k, motion in enumerate(motions)))
        self.title = (motions[0].name if len(motions) == 1 else "") if title is None else title
        self.frame = frame
        self._view = view_angles(view or ("three_quarter" if len(motions) < 3 else (-0.35, 0.14)))
        self._scene = scene
        self._points = None if points is None else floats(points, "points")
        if self._points is not None and not (self._points.ndim in (2, 3) and self._points.shape[-1] == 3):
            raise ShapeError(f"points have shape {self._points.shape}; expected (F, N, 3) or (N, 3)")
        self._spacing = spacing

    def __repr__(self) -> str:
        return f"Player({', '.join(repr(name[:40]) for name in self.names)})"

    @cached_property
    def data(self) -> str:
        """The motions and meshes, compressed, as base64."""
        packer = Packer()
        looks: list[list[dict[str, Any]]] = []
        known: dict[tuple[int, int], int] = {}
        bodies = []
        spacing = self._resolved_spacing()
        middle = 0.5 * (len(self.motions) - 1)
        for k, (motion, name) in enumerate(zip(self.motions, self.names)):
            key = (id(motion.skeleton), k)
            if key not in known:
                tinted = any(motion.skeleton is other.skeleton for other in self.motions[:k])
                known[key] = len(looks)
                looks.append(packed_look(packer, motion.skeleton, k, tinted=tinted))
            body = packed_motion(packer, motion)
            swatch = "rgb({},{},{})".format(*PALETTE[k % len(PALETTE)][0])
            body |= {"margin": _margins(motion), "thin": 0.0025 * _height(motion)}
            bodies.append(
                {**body, "name": name, "look": known[key], "swatch": swatch, "at": [(k - middle) * spacing, 0, 0]}
            )
        header = {
            "title": self.title,
            "bodies": bodies,
            "looks": looks,
            "compare": len(bodies) == 2 and not spacing,
            "empty": not any(len(motion) for motion in self.motions),
            "floor": self._floor(),
            "view": list(self._view),
            "start": int(self.frame),
            "obstacles": packed_obstacles(packer, self._scene),
            "points": self._packed_points(packer),
        }
        return packer.text(header)

    def element(self, *, autoplay: bool = True) -> str:
        """Return HTML for a page that loads `script()` itself, once for all its players."""
        playing = " autoplay" if autoplay else ""
        return f'<posable-player{playing}><script type="text/plain">{self.data}</script></posable-player>'

    def page(self) -> str:
        """Return a whole page that needs nothing else."""
        program = base64.b64encode(zlib.compress(script().encode(), 9)).decode("ascii")
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title or ', '.join(self.names))}</title><style>{BACKGROUND}</style></head><body>"
            f'<posable-player page autoplay><script type="text/plain">{self.data}</script></posable-player>'
            f'<script type="text/plain" id="player">{program}</script><script>{LOADER}</script></body></html>\n'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; either all of it is written, or nothing."""
        if not os.fspath(path).lower().endswith(".html"):
            raise PosableError(f"a page is written as .html, got {os.fspath(path)!r}")
        text = self.page()
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def show(self) -> None:
        """Show it now: in a notebook below the cell, otherwise as a page in the browser."""
        if _in_notebook():
            from IPython.display import display

            display(self)
            return
        path = Path(tempfile.mkdtemp(prefix="posable-")) / "motion.html"
        self.save(path)
        if not webbrowser.open(path.as_uri()):
            raise PosableError(f"no browser can be opened here; the page is {str(path)!r}")

    def _repr_html_(self) -> str:
        # In a frame of its own: its styles do not meet the notebook's, and its program cannot reach the notebook.
        return (
            f'<iframe title="{html.escape(self.title or ", ".join(self.names))}" sandbox="allow-scripts" '
            'style="width:100%;max-width:800px;height:460px;border:0;border-radius:12px" '
            f'srcdoc="{html.escape(self.page())}"></iframe>'
        )

    def _resolved_spacing(self) -> float:
        if self._spacing is not None:
            return float(self._spacing)
        if len(self.motions) < 3:
            return 0.0
        return max(1.15 * _width(motion) + 0.2 for motion in self.motions)

    def _floor(self) -> float:
        """The floor is y = 0, unless everything is far from it: then it lies under the lowest joint."""
        lows, heights = [], []
        for motion in self.motions:
            positions = _sampled(motion)
            if positions.size:
                lows.append(float(positions[..., 1].min()))
                heights.append(_height(motion))
        if not lows or abs(min(lows)) < 0.25 * max(heights):
            return 0.0
        return min(lows)

    def _packed_points(self, packer: Packer) -> dict[str, Any] | None:
        if self._points is None or not self._points.size:
            return None
        points = self._points[None] if self._points.ndim == 2 else self._points
        heights = [_height(motion) for motion in self.motions]
        return {
            "positions": packer.array(points.astype(np.float32)),
            "frames": len(points),
            "count": points.shape[1],
            "fps": float(self.motions[0].fps),
            "size": 0.02 * max(heights),
        }


@lru_cache(maxsize=1)
def script() -> str:
    """Return the program that plays: our own and three.js, 0.44 MB. A page with several players loads it once."""
    return resources.files("posable").joinpath(f"assets/{ASSET}").read_text(encoding="utf-8")


def _sampled(motion: Motion, count: int = 24) -> Any:
    """Return positions (K, J, 3) [m] of the joints at some finite frames of a motion, at rest where it has none."""
    chosen = np.unique(np.linspace(0, max(len(motion) - 1, 0), min(count, max(len(motion), 1))).astype(np.int64))
    pose = motion.pose[chosen] if len(motion) else None
    if pose is None:
        return motion.skeleton.forward(motion.skeleton.rest).positions[None]
    positions = motion.skeleton.forward(pose).positions
    return positions[np.isfinite(positions).all(axis=(1, 2))]


def _height(motion: Motion) -> float:
    return float(np.ptp(_sampled(motion)[..., 1], axis=1).max(initial=0.1))


def _margins(motion: Motion) -> list[float]:
    """Return how far a body's surface is below, above and beside its joints at most [m], at some frames."""
    look = look_of(motion.skeleton)
    margins = np.zeros(3)
    poses = motion.pose if len(motion) else Pose.stack([motion.skeleton.rest])
    for k in np.unique(np.linspace(0, len(poses) - 1, 6).astype(np.int64)):
        frames = motion.skeleton.forward(poses[int(k)])
        if np.isfinite(frames.positions).all():
            surface, joints = look.mesh(frames.positions, frames.orientations).vertices, frames.positions
            low, high = joints.min(axis=0) - surface.min(axis=0), surface.max(axis=0) - joints.max(axis=0)
            margins = np.maximum(margins, [low[1], high[1], max(low[0], low[2], high[0], high[2])])
    return [float(margin) for margin in margins]


def _width(motion: Motion) -> float:
    positions = _sampled(motion)
    return float(np.ptp(positions[..., 0], axis=1).max(initial=0.3))


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this; nothing is imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
