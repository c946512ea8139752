"""The session: what the studio is working on, shared by the shell and every tab.

It owns the actors on the stage, the edits of their motions, the clock, the selection, the gizmos, the undo history and
the files. A tab changes them through the methods here, so that every change can be undone and is seen in every window,
and a mistake becomes one sentence in the page. One tab is in front, in all windows; only it shows poses, handles and
drawings of its own, and they go with it.
"""

from __future__ import annotations

import logging
import threading
import time as _time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ...compute import PosableError, StoppedError, stoppable
from ...compute.types import Floats
from ...formats import character_motion, save, suffixes
from ...skeleton import Frames, Motion, Pose
from ..view.names import NameTags
from ..view.stage import ARRANGEMENTS, LOOKS, Stage
from . import files
from .actor import Actor, actor_of
from .clock import Clock
from .history import History
from .keys import Keys
from .marks import Marks
from .progress import Progress

if TYPE_CHECKING:
    from ...body import Humanoid
    from ..server import Page
    from .behaviours import Behaviours
    from .edits import Edits

log = logging.getLogger("posable.studio")

SAMPLES = ("walk", "run", "boxing", "reach", "dance", "throw")
"""Built-in motions, in the order of the menu."""
LOOKING, POSING = "Play", "Pose"
"""Titles of the tab that only looks at motions, and of the one that a click on a body there leads to."""
GAP = 0.25
"""Metres between a motion and a body that a tab shows next to it."""
MESSAGES = 60
"""Messages that can be read again."""


@dataclass(frozen=True)
class Selection:
    """A joint of an actor."""

    actor: Actor
    joint: int

    @property
    def name(self) -> str:
        """The joint's name in its file."""
        return self.actor.skeleton.names[self.joint]

    @property
    def part(self) -> str:
        """The part of the body that the joint is: its role in words ("left hand"), else its name."""
        return self.actor.part_name(self.joint)


class Session:
    """The state of a studio.

    Args:
        server: the viser server that shows it; `session.gui` and `session.scene` are its parts.
        page: what the page has besides viser's controls.
        paths: whether files of this machine may be opened and saved by path.
        roles: part to joint name, where the names of joints do not tell who is who.
    """

    def __init__(
        self, server: viser.ViserServer, page: Page, *, paths: bool = True, roles: Mapping[str, str] | None = None
    ) -> None:
        self.server = server
        self.page = page
        self.lock = threading.RLock()
        self.gui = server.gui
        self.scene = server.scene
        self.paths = paths
        self.roles: dict[str, str] = dict(roles or {})
        self.clock = Clock()
        self.history = History()
        self.stage = Stage(server)
        self._names = NameTags(self, "bodies")
        self.actors: tuple[Actor, ...] = ()
        self.extras: tuple[Actor, ...] = ()  # bodies that a tab shows next to or over the motions
        self.selection: Selection | None = None
        self.gizmos: dict[str, viser.TransformControlsHandle] = {}
        self.shared: dict[str, Any] = {}  # what several tabs work on, by name
        self.click_handlers: list[Callable[[Floats, Floats], bool]] = []  # called first with a click: see `_clicked`
        self.animating: set[str] = set()  # names of what moves by itself: while there is any, every moment is drawn
        self._active: Actor | None = None
        self.pose_owner: object = None  # the tab whose pose the active body shows in place of its motion's
        self.tabs: tuple[str, ...] = ()  # titles, from left to right
        self.tab = ""  # the title of the one in front
        self.marks_selection = True  # whether the tab in front is about the selected joint
        self.stopping = threading.Event()  # set when the studio is closed: work under way is to stop
        self._stop_by: float | None = None
        self._drawn: tuple[float, int] | None = None
        self._notices: list[Any] = []  # of the error that is shown
        self.message: tuple[str, str] | None = None  # kind ("note" or "error") and text of the last one
        self._messages: deque[dict[str, str]] = deque(maxlen=MESSAGES)  # those that can be read again
        self._subscribers: list[tuple[Callable[[str], None], tuple[str, ...]]] = []
        self._changes = 0
        self.keys = Keys(self)
        self.marks = Marks(self)
        self.progress = Progress(page)
        from .behaviours import Behaviours
        from .edits import Edits

        self.edits: Edits = Edits(self)
        self.behaviours: Behaviours = Behaviours(self)
        server.scene.on_click()(self.guarded(self._clicked))

    # Changes and messages.

    def notify(self, text: str) -> None:
        """Show a note in the page, for example where a file was saved."""
        self._show_message("note", text)

    def show_error(self, text: str) -> None:
        """Show an error in the page: one clear sentence."""
        self._show_message("error", text)

    def subscribe(self, subscriber: Callable[[str], None], *topics: str) -> Callable[[], None]:
        """Call a function with a topic whenever something changes; returns a function that ends the subscription.

        Topics: "actors" (which motions are on the stage, or which is active), "active", "pose", "selection", "look",
        "history", "message", "tab" (another one is in front), "behaviours". Where some are given, the others are left
        out. The lock is held during a call.
        """
        entry = (subscriber, topics)
        self._subscribers.append(entry)

        def unsubscribe() -> None:
            if entry in self._subscribers:
                self._subscribers.remove(entry)

        return unsubscribe

    def changed(self, topic: str) -> None:
        """Call the subscribers, and have the next moment drawn anew."""
        with self.lock:  # never between the tabs' work on a moment and its drawing: the change would count as drawn
            self._changes += 1
            for subscriber, topics in list(self._subscribers):
                if not topics or topic in topics:
                    subscriber(topic)

    def guarded(self, action: Callable[[Any], None]) -> Callable[[Any], None]:
        """Wrap the callback of a control: an exception becomes a message in the page and the studio goes on.

        A value that the program itself assigned calls nothing. An action that works takes an error away that was there
        before it.
        """

        def run(event: Any) -> None:
            if getattr(event, "client", self) is None:
                return
            before = self.message
            try:
                with stoppable(self.stopping):
                    action(event)
                if self.message is before:
                    self.clear_error()
            except StoppedError:
                return
            except PosableError as error:
                self.show_error(str(error))
            except Exception as error:
                log.exception("in the studio")
                self.show_error(f"Something in the studio went wrong ({type(error).__name__}: {error}). It goes on.")

        return run

    def stop_work(self, seconds: float) -> None:
        """Ask work under way to stop between two blocks of it; it is waited for so many seconds in all."""
        if self._stop_by is None:
            self._stop_by = _time.monotonic() + seconds
        self.stopping.set()

    @property
    def time_to_stop(self) -> float | None:
        """Seconds that work under way may still take until it has stopped; None while it is not asked to."""
        return None if self._stop_by is None else max(0.0, self._stop_by - _time.monotonic())

    def on_page(self, action: str, do: Callable[[viser.ClientHandle, Any], None]) -> None:
        """Call a function with the window and the value of what a user does in the page's own controls.

        What it raises becomes a message in the page. The actions are those of `page/stage.js`.
        """
        self.page.on(action, lambda client, value: self.guarded(lambda _: do(client, value))(self))

    def _show_message(self, kind: str, text: str) -> None:
        error = kind == "error"
        (log.warning if error else log.info)(text)
        self.clear_error()
        self.message = (kind, text)
        self._messages.append({"kind": kind, "text": text, "at": _time.strftime("%H:%M:%S")})
        self.page.show("messages", list(self._messages))
        self.page.show("message", self._messages[-1])
        for client in self.server.get_clients().values():
            notice = client.add_notification(
                "Error" if error else "Done",
                text,
                color="red" if error else "teal",
                auto_close_seconds=12.0 if error else 4.0,  # the list of messages has it still
            )
            if error:
                self._notices.append(notice)
        self.changed("message")

    def clear_error(self) -> None:
        """Take away the error that is shown: its cause is gone."""
        with self.lock:
            notices, self._notices = self._notices, []
            for notice in notices:
                notice.remove()
            if self.message is not None and self.message[0] == "error":
                self.message = None
                self.page.show("message", None)  # the list has it still
                self.changed("message")

    # The tab in front.

    def show_tab(self, title: str) -> None:
        """Bring a tab to the front, in all windows; what the one before showed on the stage goes with it."""
        with self.lock:
            if title != self.tab:
                self.tab = _one_of("tab", title, self.tabs)
                self.clear_error()
                self.changed("tab")

    def clear_overlays(self) -> None:
        """Take off the stage whatever a tab put there: poses, bodies of its own, handles. The motions stay."""
        with self.lock:
            for actor in self.actors:
                actor.pose_override = None
            self.pose_owner, self.stage.transparent, self.extras = None, None, ()
            for name in list(self.gizmos):
                self.remove_gizmo(name)
            self.stage.show(self.shown)
            self.changed("look")

    # What is on the stage.

    @property
    def active(self) -> Actor | None:
        """The actor that tabs work on."""
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
    def shown(self) -> tuple[Actor, ...]:
        """All bodies on the stage: the actors, then the tabs' extras."""
        return (*self.actors, *self.extras)

    def add_extra(self, extra: Actor) -> None:
        """Put a tab's own body on the stage, at its `position`: drawn, but not a motion that others work on."""
        with self.lock:
            if extra not in self.extras:
                extra.extra, self.extras = True, (*self.extras, extra)
                self.stage.show(self.shown)
                self.changed("look")

    def remove_extra(self, extra: Actor) -> None:
        """Take a tab's own body off the stage."""
        with self.lock:
            if extra in self.extras:
                self.extras = tuple(other for other in self.extras if other is not extra)
                self.stage.show(self.shown)
                self.changed("look")

    def free_offset(self, actor: Actor) -> Floats:
        """Return (3,) the displacement [m] from an actor to the free place right of all motions on the stage."""
        left = actor.position[0] + actor.motion.pose.translation[0, 0] + actor.box[0, 0]
        edges = [one.position[0] + one.motion.pose.translation[0, 0] + one.box[1, 0] for one in self.actors]
        return np.array([max(edges) + GAP - left, 0.0, 0.0])

    def add(self, motion: Motion, *, body: Humanoid | None = None, name: str | None = None, keep: bool = True) -> Actor:
        """Put a motion on the stage and make it the active one; `keep=False` takes the others off. Can be undone."""
        actor = actor_of(motion, body, name, self.roles)
        with self.lock:
            actor.name = _unique(actor.name, [other.name for other in self.actors] if keep else [])
            self._swap(f"Open {actor.name}", (*self.actors, actor) if keep else (actor,), actor)
        return actor

    def close_actor(self, actor: Actor) -> None:
        """Take an actor off the stage. Can be undone."""
        with self.lock:
            if actor in self.actors:
                left = tuple(other for other in self.actors if other is not actor)
                self._swap(f"Close {actor.name}", left, left[-1] if left else None)

    def replace(self, motion: Motion, label: str, actor: Actor | None = None) -> Actor:
        """Exchange the motion of an actor, by default the active one; the label is for the undo menu. Can be undone.

        The same body stays as it is seen, and windows keep their cameras.
        """
        with self.lock:
            old = self._active if actor is None else actor
            if old is None or old not in self.actors:
                raise PosableError("there is no motion on the stage to replace")
            performer = old.performer
            body = performer if performer is not None and motion.skeleton is performer.skeleton else None
            new = actor_of(motion, body, old.name, self.roles)
            self._swap(label, tuple(new if actor is old else actor for actor in self.actors), new, old)
            return new

    def name_parts(self, roles: Mapping[str, str]) -> None:
        """Say which joint of the active skeleton is which part: role to joint name. Can be undone.

        They count for files that are opened later, too, where these have the joints.
        """
        from ...body import Humanoid

        with self.lock:
            actor = self._active
            if actor is None:
                raise PosableError("there is no motion on the stage whose parts could be named; open one first")
            freed = {role: joint for role, joint in actor.role_names.items() if joint not in roles.values()}
            new = Actor(actor.motion, Humanoid(actor.skeleton, {**freed, **roles}), actor.name)
            self.roles.update(roles)
            self._swap(
                f"Name the parts of {actor.name}", tuple(new if one is actor else one for one in self.actors), new
            )

    def match_sizes(self) -> None:
        """Make all bodies as tall as the active one, with their motions. Can be undone."""
        with self.lock:
            leader = self._active
            if leader is None or len(self.actors) < 2:
                raise PosableError("there is one body on the stage; open another to match its size")
            height = float(np.ptp(leader.box[:, 1]))
            changed = {
                one: one.scaled(height / max(float(np.ptp(one.box[:, 1])), 1e-6))
                for one in self.actors
                if one is not leader
            }
            self._swap("Match the sizes", tuple(changed.get(one, one) for one in self.actors), leader)

    def show_animation(self, name: str) -> None:
        """Show the active character in another animation of its file. Can be undone."""
        with self.lock:
            actor = self._active
            if actor is None or actor.skeleton.character is None:
                raise PosableError("there is no character with animations on the stage")
            self.replace(character_motion(actor.skeleton.character, name), f"Show {name}")

    def activate(self, actor: Actor) -> None:
        """Make an actor the one that tabs work on."""
        with self.lock:
            if actor in self.actors and actor is not self._active:
                self._make_active(actor)
                self.changed("active")

    def override_pose(self, pose: Pose | None, owner: object = None) -> None:
        """Show this pose of the active body in place of its motion's, until another body is the active one.

        Args:
            pose: to show; None goes back to the motion, unless another owner's pose is shown.
            owner: the tab that shows it.
        """
        with self.lock:
            actor = self._active
            if actor is None or actor.pose_override is pose or (pose is None and owner is not self.pose_owner):
                return
            actor.pose_override, self.pose_owner = pose, None if pose is None else owner
            self.changed("pose")

    def _make_active(self, actor: Actor | None) -> None:
        """Exchange the active actor; the one before goes back to its motion, and what was selected of it with it."""
        if actor is not self._active:
            if self._active is not None:
                self._active.pose_override = None
            self._active, self.pose_owner = actor, None
            if self.selection is not None and self.selection.actor is not actor:
                self.selection = None

    def select(self, actor: Actor | None, joint: int | str = 0) -> None:
        """Select a joint of an actor; None selects nothing."""
        with self.lock:
            self.selection = None if actor is None else Selection(actor, actor.skeleton.index(joint))
            if actor is not None:
                self.activate(actor)
            self.changed("selection")

    def set_look(self, look: str) -> None:
        """Draw bodies, bones or both."""
        with self.lock:
            self.stage.look = _one_of("look", look, LOOKS)
            self.stage.apply_look(self.shown)
            self.changed("look")

    def arrange(self, arrangement: str) -> None:
        """Arrange several motions beside or over each other."""
        self._restage("arrangement", _one_of("arrangement", arrangement, ARRANGEMENTS))

    def follow(self, following: bool) -> None:
        """Keep the active body in the middle while it travels, or let it go."""
        self._restage("following", following)

    def show_only(self, box: Floats | None) -> None:
        """Hide the bodies while a tab shows something else in a box (2, 3) [m]; None shows them again."""
        self._restage("only", box)
        self.marks.show()

    def _restage(self, setting: str, value: object) -> None:
        """Change a setting of the stage, and point the cameras at what is shown then."""
        with self.lock:
            setattr(self.stage, setting, value)
            self.stage.show(self.shown)
            self.stage.frame(self.shown)
            self.changed("look")

    def undo(self) -> str | None:
        """Undo the last step; returns its label, or None."""
        return self._step(self.history.undo)

    def redo(self) -> str | None:
        """Redo the last step that was undone; returns its label, or None."""
        return self._step(self.history.redo)

    def _step(self, step: Callable[[], str | None]) -> str | None:
        with self.lock:
            label = step()
            self.changed("history")
            return label

    def run(self, label: str, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Do a step of a tab that can be undone."""
        with self.lock:
            self.history.run(label, do, undo)
            self.changed("history")

    # Files.

    def open(self, path: str | Path, *, keep: bool = True) -> Actor:
        """Open a file of this machine."""
        self.require_paths()
        return self.add(files.open_path(path), keep=keep)

    def open_upload(self, name: str, content: bytes, *, keep: bool = True) -> Actor:
        """Open a file that a browser sent."""
        motion = files.read_upload(name, content, files.read_motion, suffixes(), files.LARGEST_UPLOAD)
        return self.add(motion, keep=keep)

    def open_sample(self, name: str, *, keep: bool = True, fingers: bool = False) -> Actor:
        """Open a built-in motion on the built-in figure, with five fingers a hand or with mittens."""
        from ... import samples
        from ...body import figure

        body = figure(fingers=fingers)
        motion: Motion = getattr(samples, _one_of("sample", name, SAMPLES))(body)
        return self.add(motion, body=body, name=name, keep=keep)

    def save(self, path: str | Path) -> Path:
        """Save the active motion to a file of this machine; returns the absolute path."""
        self.require_paths()
        motion = self.require_motion()
        target = files.local_path(path, f"walk.bvh (known suffixes: {', '.join(suffixes(written=True))})")
        files.use_path(target, lambda path: save(motion, path))
        return target

    def require_paths(self) -> None:
        """Raise where files of this machine may not be opened and saved by path."""
        if not self.paths:
            raise PosableError(
                "this studio is open to other machines, so it opens and saves no files by path; "
                "upload or download the file"
            )

    def require_motion(self) -> Motion:
        """Return the active motion; raises where there is none."""
        if self._active is None:
            raise PosableError("there is no motion on the stage to save; open one first")
        return self._active.motion

    # Gizmos.

    def add_gizmo(self, name: str, position: Floats, **options: Any) -> viser.TransformControlsHandle:
        """Add a handle to drag, at a position on the stage [m]; options as of viser's `add_transform_controls`."""
        with self.lock:
            self.remove_gizmo(name)
            gizmo = self.scene.add_transform_controls(f"/world/gizmo/{name}", position=position, **options)
            self.gizmos[name] = gizmo
            return gizmo

    def remove_gizmo(self, name: str) -> None:
        """Remove a gizmo; nothing happens when there is none of that name."""
        with self.lock:
            if gizmo := self.gizmos.pop(name, None):
                gizmo.remove()

    # Drawing, called by the studio's loop.

    def stale(self, time: float) -> bool:
        """Return whether the moment on the screen is another one, or anything changed since it was drawn."""
        return bool(self.animating) or self._drawn != (time, self._changes)

    def shows(self, time: float) -> bool:
        """Return whether the moment at a time [s] is drawn, all of it."""
        with self.lock:
            return self._drawn is not None and self._drawn[0] == time

    def draw(self, time: float) -> None:
        """Draw the stage as it is at a time [s]."""
        with self.lock:
            self._drawn = (time, self._changes)
            poses: dict[Actor, Frames] = {actor: actor.frames(time) for actor in self.shown}
            ground = self.actors[0].path_at(time) if self.actors else -self.stage.offset[[0, 2]]
            self.stage.update(poses, ground, self._mark(poses))
            self._draw_names(poses)

    def _draw_names(self, poses: dict[Actor, Frames]) -> None:
        """Show who is who where several bodies stand next to each other."""
        named = [actor for actor in poses if not actor.ghost]
        if len(named) < 2 or self.stage.only is not None or self.stage.arrangement == "over":
            self._names.hide()
            return
        over = {}
        for actor in named:
            x, z = actor.path_at(self.time)  # smoothed, so that a name does not tremble
            height = float(np.ptp(actor.box[:, 1]))
            above = np.array([x, poses[actor].positions[:, 1].max() + actor.crown + 0.05 * height, z])
            over[actor.name] = above + self.stage.offset
        self._names.draw(over)

    def _mark(self, poses: dict[Actor, Frames]) -> tuple[Floats, str, float] | None:
        """Return where the selected joint is, its name, and the size of the handle at it, which the name keeps off."""
        if self.selection is None or self.selection.actor not in poses or not self.marks_selection:
            return None
        at = poses[self.selection.actor].positions[self.selection.joint]
        near = [
            handle for handle in self.gizmos.values() if handle.visible and np.allclose(handle.position, at, atol=0.3)
        ]
        return at, self.selection.part, max((float(handle.scale) for handle in near), default=0.0)

    def close(self) -> None:
        """Take everything off the stage."""
        with self.lock:
            self._subscribers.clear()
            for name in list(self.gizmos):
                self.remove_gizmo(name)
            self.stage.clear()
            self.actors, self.extras, self._active, self.selection = (), (), None, None

    def _swap(self, label: str, actors: tuple[Actor, ...], active: Actor | None, replaced: Actor | None = None) -> None:
        before, before_active = self.actors, self._active
        same = replaced is not None and active is not None and replaced.skeleton is active.skeleton

        def put(which: tuple[Actor, ...], on: Actor | None) -> None:
            if same and replaced is not None and active is not None:
                self.stage.hand_over(*((replaced, active) if on is active else (active, replaced)))
            chosen = self.selection
            self._make_active(on)
            self.actors = which
            if same and chosen is not None and on is not None and {chosen.actor, on} <= {replaced, active}:
                self.selection = Selection(on, chosen.joint)  # another state of the same body
            self.stage.show(self.shown)
            if which and not same:
                self.stage.frame(self.shown)
            self.clock.duration = max((actor.motion.duration for actor in which), default=0.0)
            self.changed("actors")

        self.history.run(label, lambda: put(actors, active), lambda: put(before, before_active))
        self.changed("history")

    def body_at(self, origin: Floats, direction: Floats) -> tuple[Actor, int] | None:
        """Return the actor and its joint that a ray of a window meets; None where it meets none.

        Args:
            origin: (3,) of the ray, in the window's scene [m].
            direction: (3,) of the ray, a unit vector.
        """
        with self.lock:
            if self.stage.only is not None:
                return None
            on_stage = origin - self.stage.offset
            # What is seen counts, and where a click just misses it, what is close; hence not a hand behind a back.
            found = [
                (hit[1], actor, hit[0])
                for actor in self.actors
                if (hit := self.stage.hit(actor, self.time, on_stage, direction)) is not None
            ] or [
                (near[1], actor, near[0])
                for actor in self.actors
                if (near := actor.clicked_joint(self.time, on_stage, direction)) is not None
            ]
            return min(found, key=lambda each: each[0])[1:] if found else None

    def _clicked(self, event: Any) -> None:
        """Offer a click to `click_handlers` until one returns True; otherwise it selects a joint.

        A handler gets the ray through the pointer: its origin (3,) on the stage [m] and its unit direction (3,).
        """
        with self.lock:
            seen_from = np.asarray(event.ray_origin, dtype=np.float64)
            direction = np.asarray(event.ray_direction, dtype=np.float64)
            direction = direction / max(float(np.linalg.norm(direction)), 1e-9)
            if any(handle(seen_from - self.stage.offset, direction) for handle in list(self.click_handlers)):
                return
            found = self.body_at(seen_from, direction)
            if found is None:
                self.select(None)
                return
            actor, joint = found
            self.select(actor, actor.part_joint(joint))
            if self.tab == LOOKING and POSING in self.tabs:
                self.show_tab(POSING)


def _one_of(kind: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise PosableError(f"unknown {kind} {value!r}; it is one of {', '.join(known)}")
    return value


def _unique(name: str, others: list[str]) -> str:
    """Return the name, with a number when others have it already."""
    if name not in others:
        return name
    return next(f"{name} {k}" for k in range(2, len(others) + 3) if f"{name} {k}" not in others)
