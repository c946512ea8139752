"""The session: what the studio is working on, shared by the shell and every tab.

It owns the motions on the stage and the body that performs the active one, the clock, the selection, the gizmos, the
undo history and the files. A tab changes them through the methods here, so that every change can be taken back, is
seen in every window, and a mistake becomes one sentence in the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ...compute import PosableError
from ...compute.types import Floats
from ...skeleton import Frames, Motion, Pose
from ..view.stage import ARRANGEMENTS, LOOKS, Stage
from . import files
from .actor import Track, nearest_joint, track_of
from .clock import Clock
from .events import Bulletin
from .history import Command, History

if TYPE_CHECKING:
    from ...body import Humanoid

SAMPLES = ("walk", "run", "boxing", "reach", "dance", "throw")
"""Built-in motions, in the order of the menu."""
CLICK_REACH = 0.09
"""How far from a bone a click still means it, as a share of the body's size."""


@dataclass(frozen=True)
class Selection:
    """A joint of a track."""

    track: Track
    joint: int

    @property
    def name(self) -> str:
        """The joint's name in its file."""
        return self.track.skeleton.names[self.joint]


class Session(Bulletin):
    """The state of a studio.

    Args:
        server: the viser server that shows it; `session.gui` and `session.scene` are its parts.
        paths: whether files of this machine may be opened and saved by path.
    """

    def __init__(self, server: viser.ViserServer, *, paths: bool = True) -> None:
        super().__init__(server)
        self.gui = server.gui
        self.scene = server.scene
        self.paths = paths
        self.clock = Clock()
        self.history = History()
        self.stage = Stage(server)
        self.tracks: tuple[Track, ...] = ()
        self.selection: Selection | None = None
        self.gizmos: dict[str, viser.TransformControlsHandle] = {}
        self.shared: dict[str, Any] = {}  # what several tabs work on, by name
        self.clicks: list[Callable[[Floats, Floats], bool]] = []  # asked first about a click: see `_clicked`
        self.movers: set[str] = set()  # tabs that show something that moves by itself: every moment is then drawn
        self.guests: tuple[Track, ...] = ()  # bodies that a tab shows beside or over the motions
        self._active: Track | None = None
        self._drawn: tuple[float, int] | None = None
        server.scene.on_click()(self.guarded(self._clicked))

    # What is on the stage.

    @property
    def active(self) -> Track | None:
        """The track that tabs work on."""
        return self._active

    @property
    def motion(self) -> Motion | None:
        """The active motion."""
        return self._active.motion if self._active else None

    @property
    def body(self) -> Humanoid | None:
        """Who performs the active motion; None where its joints have no human roles."""
        return self._active.body if self._active else None

    @property
    def time(self) -> float:
        """Seconds on the timeline."""
        return self.clock.time

    @property
    def pose(self) -> Pose | None:
        """The active body's pose now."""
        return self._active.pose(self.time) if self._active else None

    @property
    def shown(self) -> tuple[Track, ...]:
        """Everybody on the stage: the motions, then the tabs' guests."""
        return (*self.tracks, *self.guests)

    def invite(self, guest: Track) -> None:
        """Have a tab's own body on the stage, where its `place` says: drawn, but no motion that others work on."""
        with self.lock:
            if guest not in self.guests:
                guest.guest, self.guests = True, (*self.guests, guest)
                self.stage.show(self.shown)
                self.changed("look")

    def send_off(self, guest: Track) -> None:
        """Take a tab's own body off the stage."""
        with self.lock:
            if guest in self.guests:
                self.guests = tuple(other for other in self.guests if other is not guest)
                self.stage.show(self.shown)
                self.changed("look")

    def add(self, motion: Motion, *, body: Humanoid | None = None, name: str | None = None, keep: bool = True) -> Track:
        """Put a motion on the stage and make it the active one; `keep=False` takes the others off. Can be undone."""
        track = track_of(motion, body, name)
        with self.lock:
            track.name = _unlike(track.name, [other.name for other in self.tracks] if keep else [])
            self._swap(f"Open {track.name}", (*self.tracks, track) if keep else (track,), track)
        return track

    def close_track(self, track: Track) -> None:
        """Take a track off the stage. Can be undone."""
        with self.lock:
            if track in self.tracks:
                left = tuple(other for other in self.tracks if other is not track)
                self._swap(f"Close {track.name}", left, left[-1] if left else None)

    def replace(self, motion: Motion, label: str) -> None:
        """Exchange the active track's motion, as an edit does; the label is for the undo menu. Can be undone.

        The same body stays as it is seen, and windows keep their cameras.
        """
        with self.lock:
            old = self._active
            if old is None:
                raise PosableError("there is no motion on the stage to replace")
            body = old.body if motion.skeleton is old.skeleton else None
            new = track_of(motion, body, old.name)
            self._swap(label, tuple(new if track is old else track for track in self.tracks), new, old)

    def activate(self, track: Track) -> None:
        """Make a track the one that tabs work on."""
        with self.lock:
            if track in self.tracks and track is not self._active:
                self._active = track
                self.changed("active")

    def hold(self, pose: Pose | None) -> None:
        """Show this pose of the active body in place of its motion's; None goes back to the motion."""
        with self.lock:
            if self._active is not None and self._active.held is not pose:
                self._active.held = pose
                self.changed("pose")

    def select(self, track: Track | None, joint: int | str = 0) -> None:
        """Mark a joint, or with None, none."""
        with self.lock:
            self.selection = None if track is None else Selection(track, track.skeleton.index(joint))
            if track is not None:
                self.activate(track)
            self.changed("selection")

    def set_look(self, look: str) -> None:
        """Draw bodies, bones or both."""
        with self.lock:
            self.stage.look = _one_of("look", look, LOOKS)
            self.stage.apply_look(self.shown)
            self.changed("look")

    def arrange(self, arrangement: str) -> None:
        """Have several motions beside or over each other."""
        with self.lock:
            self.stage.arrangement = _one_of("arrangement", arrangement, ARRANGEMENTS)
            self.stage.show(self.shown)
            self.stage.frame(self.shown)
            self.changed("look")

    def follow(self, following: bool) -> None:
        """Keep the active body in the middle while it travels, or let it go."""
        with self.lock:
            self.stage.following = following
            self.stage.frame(self.shown)
            self.changed("look")

    def show_alone(self, box: Floats | None) -> None:
        """Have the bodies step aside for what a tab shows in a box (2, 3) [m]; None brings them back."""
        with self.lock:
            self.stage.alone = box
            self.stage.apply_look(self.shown)
            self.stage.frame(self.shown)
            self.changed("look")

    def undo(self) -> str | None:
        """Take the last step back; what it was, or None."""
        with self.lock:
            label = self.history.undo()
            self.changed("history")
            return label

    def redo(self) -> str | None:
        """Bring back the last step that was undone; what it was, or None."""
        with self.lock:
            label = self.history.redo()
            self.changed("history")
            return label

    def run(self, label: str, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Make a change of a tab's own that can be undone."""
        with self.lock:
            self.history.run(Command(label, do, undo))
            self.changed("history")

    # Files.

    def open(self, path: str | Path, *, keep: bool = True) -> Track:
        """Open a file of this machine."""
        return self.add(self.read(path), keep=keep)

    def read(self, path: str | Path) -> Motion:
        """What is in a file of this machine; nothing on the stage changes."""
        if not self.paths:
            raise PosableError("this studio is open to other machines, so it opens no files by path; upload the file")
        return files.open_path(path)

    def open_upload(self, name: str, content: bytes, *, keep: bool = True) -> Track:
        """Open a file that a browser sent."""
        return self.add(files.open_upload(name, content), keep=keep)

    def open_sample(self, name: str, *, keep: bool = True) -> Track:
        """Open a built-in motion on the built-in figure."""
        from ... import samples
        from ...body import figure

        body = figure()
        motion: Motion = getattr(samples, _one_of("sample", name, SAMPLES))(body)
        return self.add(motion, body=body, name=name, keep=keep)

    def save(self, path: str | Path, motion: Motion | None = None) -> Path:
        """Save a motion, the active one when none is given, to a file of this machine; the whole path of it."""
        if not self.paths:
            raise PosableError("this studio is open to other machines, so it saves no files by path; download the file")
        return files.save_path(self._some_motion() if motion is None else motion, path)

    def encoded(self, name: str, motion: Motion | None = None) -> tuple[str, bytes]:
        """A motion, the active one when none is given, as a file to download: a plain name and its bytes."""
        return files.encoded(self._some_motion() if motion is None else motion, name)

    # Gizmos.

    def add_gizmo(self, name: str, position: Floats, **options: Any) -> viser.TransformControlsHandle:
        """A handle to drag, at a place on the stage [m]; options are those of viser's `add_transform_controls`."""
        with self.lock:
            self.remove_gizmo(name)
            gizmo = self.scene.add_transform_controls(f"/world/gizmo/{name}", position=position, **options)
            self.gizmos[name] = gizmo
            return gizmo

    def remove_gizmo(self, name: str) -> None:
        """Take a gizmo away; nothing happens when there is none of that name."""
        with self.lock:
            if gizmo := self.gizmos.pop(name, None):
                gizmo.remove()

    # Drawing, called by the studio's loop.

    def stale(self, time: float) -> bool:
        """Whether the moment on the screen is another one, or anything changed since it was drawn."""
        return bool(self.movers) or self._drawn != (time, self._changes)

    def draw(self, time: float) -> None:
        """Draw the stage as it is at a time [s]."""
        with self.lock:
            self._drawn = (time, self._changes)
            poses: dict[Track, Frames] = {track: track.frames(time) for track in self.shown}
            ground = self.tracks[0].ground(time) if self.tracks else -self.stage.offset[[0, 2]]
            mark = None
            if self.selection is not None and self.selection.track in poses:
                mark = (poses[self.selection.track].positions[self.selection.joint], self.selection.name)
            self.stage.update(poses, ground, mark)

    def close(self) -> None:
        """Take everything off the stage."""
        with self.lock:
            self._listeners.clear()
            for name in list(self.gizmos):
                self.remove_gizmo(name)
            self.stage.clear()
            self.tracks, self.guests, self._active, self.selection = (), (), None, None

    def _swap(self, label: str, tracks: tuple[Track, ...], active: Track | None, replaced: Track | None = None) -> None:
        before, before_active = self.tracks, self._active
        same = replaced is not None and active is not None and replaced.skeleton is active.skeleton

        def put(which: tuple[Track, ...], on: Track | None) -> None:
            if same and replaced is not None and active is not None:
                self.stage.hand_over(*((replaced, active) if on is active else (active, replaced)))
            self.tracks, self._active = which, on
            if self.selection is not None and self.selection.track not in which:
                self.selection = None
            self.stage.show(self.shown)
            if which and not same:
                self.stage.frame(self.shown)
            self.clock.duration = max((track.motion.duration for track in which), default=0.0)
            self.changed("tracks")

        self.history.run(Command(label, lambda: put(tracks, active), lambda: put(before, before_active)))
        self.changed("history")

    def _clicked(self, event: Any) -> None:
        """A click on the stage: the first of `clicks` that says True takes it, else it marks a joint.

        They get the ray through the pointer, its origin (3,) on the stage [m] and its unit direction (3,).
        """
        with self.lock:
            origin = np.asarray(event.ray_origin, dtype=np.float64) - self.stage.offset
            direction = np.asarray(event.ray_direction, dtype=np.float64)
            direction = direction / max(float(np.linalg.norm(direction)), 1e-9)
            if any(take(origin, direction) for take in list(self.clicks)):
                return
            found: list[tuple[float, Track, int]] = []
            for track in self.tracks:
                reach = CLICK_REACH * float(np.ptp(track.box, axis=0).max())
                hit = nearest_joint(track.frames(self.time), origin, direction, reach)
                if hit is not None:
                    found.append((hit[1], track, hit[0]))
            if found:
                _, track, joint = min(found, key=lambda each: each[0])
                self.select(track, joint)
            else:
                self.select(None)

    def _some_motion(self) -> Motion:
        if self._active is None:
            raise PosableError("there is no motion on the stage to save; open one first")
        return self._active.motion


def _one_of(kind: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise PosableError(f"unknown {kind} {value!r}; it is one of {', '.join(known)}")
    return value


def _unlike(name: str, others: list[str]) -> str:
    """The name, with a number when others have it already."""
    if name not in others:
        return name
    return next(f"{name} {k}" for k in range(2, len(others) + 3) if f"{name} {k}" not in others)
