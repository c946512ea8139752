"""Play: what is on the stage and how it looks; opening and saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import viser

from ...body.roles.matching import parse_roles
from ...formats import character_animations, character_facts, save, suffixes
from ...skeleton import Motion
from ..core.actor import Actor
from ..core.files import read_motion
from ..core.session import SAMPLES, Session
from ..view.stage import ARRANGEMENTS, LOOKS
from ..view.theme import plain
from ..widgets.controls import add_button, assign, show
from ..widgets.file_drop import FileDrop
from ..widgets.file_panel import FilePanel, suffix_hint, suggested_file

NOTHING = "(nothing)"
PICK = "choose…"


class PlayTab:
    """Open motions, look at them beside or over each other, save them."""

    title = "Play"

    def build(self, session: Session) -> None:
        """Add the folders: opening, the stage, saving."""
        self._session = session
        gui = session.gui
        self._facts = gui.add_markdown("")
        with gui.add_folder("Open"):
            self._build_opening()
        with gui.add_folder("On the stage"):
            self._build_stage()
        with gui.add_folder("Save", expand_by_default=False):
            self._saving = FilePanel(
                session, "motion", "walk.bvh", write=lambda path: save(session.require_motion(), path)
            )
            self._saving.add_controls("File", hint=suffix_hint())
        self._unsubscribe = session.subscribe(self._on_event)
        self._show_actors()

    def update(self, time: float) -> None:
        """Nothing here follows the time."""

    def leave(self) -> None:
        """Nothing of it is on the stage."""

    def close(self) -> None:
        """Stop listening."""
        self._unsubscribe()

    def _build_opening(self) -> None:
        session, gui = self._session, self._session.gui
        opening = FilePanel(session, "motion", "walk.bvh", read=self._read, known=suffixes())
        self._drop = FileDrop(session, self._open)
        hint = f"A motion, a character or a robot, which can be dropped on the stage as well: {', '.join(suffixes())}"
        opening.add_upload("Open a file…", icon=viser.Icon.FOLDER_OPEN, color=None, hint=hint)
        self._sample = gui.add_dropdown("Built-in", (PICK, *SAMPLES), initial_value=PICK)
        self._sample.on_update(session.guarded(self._open_sample))
        hint = "Five fingers a hand for built-in motions: see Hands in the tab Pose. Answers take half as long again"
        self._fingers = gui.add_checkbox("With fingers", False, hint=hint)
        self._keep = gui.add_checkbox("Keep the others", True, hint="Show the next motion together with these")
        if session.paths:
            with gui.add_folder("Open by path", expand_by_default=False):
                opening.add_controls("File", hint=f"A path on this machine: {hint}", value="", upload=False)

    def _build_stage(self) -> None:
        session, gui = self._session, self._session.gui
        self._which = gui.add_dropdown("Motion", (NOTHING,), hint="The one that is saved, plotted and worked on")
        self._which.on_update(session.guarded(lambda _: self._activate()))
        hint = "The animations of the character's file"
        self._animation = gui.add_dropdown("Animation", (NOTHING,), visible=False, hint=hint)
        self._animation.on_update(session.guarded(lambda _: session.show_animation(str(self._animation.value))))
        self._arrangement = gui.add_dropdown("Several", ARRANGEMENTS, initial_value=session.stage.arrangement)
        self._arrangement.on_update(session.guarded(lambda _: session.arrange(self._arrangement.value)))
        self._look = gui.add_dropdown("Look", LOOKS, initial_value=session.stage.look)
        self._look.on_update(session.guarded(lambda _: session.set_look(self._look.value)))
        self._shadows = gui.add_checkbox("Shadows", session.stage.shadows, hint="Off draws faster on a slow machine")
        self._shadows.on_update(session.guarded(lambda _: self._set_shadows()))
        self._joint = gui.add_text("Selected", "click a body", disabled=True)
        with gui.add_folder("Who is who", expand_by_default=False):
            hint = "For a rig whose names do not tell: part=joint with commas between: left_hand=Hand.L, head=Skull"
            self._roles = gui.add_text("Parts", "", hint=hint)
            add_button(session, "Name the parts", lambda _: session.name_parts(parse_roles(str(self._roles.value))))
        hint = "Match sizes: all bodies become as tall as the active one, with their motions"
        actions = gui.add_button_group("Stage", ("Match sizes", "Close it"), hint=hint)
        actions.on_click(session.guarded(self._act))

    def _open_sample(self, _: Any) -> None:
        if self._sample.value != PICK:
            name = self._sample.value
            assign(self._sample, PICK)
            self._session.open_sample(name, keep=self._keep.value, fingers=self._fingers.value)
            self._session.clock.play()

    def _read(self, path: Path, name: str) -> None:
        self._open(read_motion(path, name))

    def _open(self, motion: Motion) -> None:
        actor = self._session.add(motion, keep=self._keep.value)
        self._session.clock.seek(0.0)
        self._session.clock.play()
        notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in actor.motion.notes)
        self._session.notify(f"Opened {actor.name}: {len(actor.motion)} frames.{notes}")

    def _activate(self) -> None:
        for actor in self._session.actors:
            if actor.name == self._which.value:
                self._session.activate(actor)

    def _set_shadows(self) -> None:
        with self._session.lock:
            self._session.stage.shadows = self._shadows.value

    def _act(self, event: Any) -> None:
        session = self._session
        if event.target.value == "Match sizes":
            session.match_sizes()
        elif session.active is not None:
            session.close_actor(session.active)

    def _on_event(self, topic: str) -> None:
        if topic in ("actors", "active"):
            self._show_actors()
        if topic in ("actors", "active", "selection"):
            chosen = self._session.selection
            assign(self._joint, chosen.part if chosen else "click a body")

    def _show_actors(self) -> None:
        active = self._session.active
        names = tuple(actor.name for actor in self._session.actors)
        self._which.options = names or (NOTHING,)
        assign(self._which, active.name if active else NOTHING)
        self._facts.content = _facts(active) if active else "Open a motion to begin."
        if active is not None:
            self._saving.suggest(suggested_file(active.name, active.motion))
        animations = tuple(character_animations(active.skeleton.character)) if active else ()
        show(self._animation, "visible", len(animations) > 1)
        if len(animations) > 1 and active is not None:
            show(self._animation, "options", animations)
            shown = active.motion.name  # of what was just opened it is the name of the file
            if shown not in animations:
                shown = str(character_facts(active.skeleton.character).get("animation", animations[0]))
            if shown in animations and str(self._animation.value) != shown:
                assign(self._animation, shown)


def _facts(actor: Actor) -> str:
    motion = actor.motion
    roles = "a person" if actor.body is not None else "a robot" if actor.robot is not None else "no human roles"
    return (
        f"**{plain(actor.name)}** · {roles}  \n"
        f"{len(motion)} frames at {motion.fps:g} fps · {motion.duration:.2f} s · {len(motion.skeleton)} joints"
    )
