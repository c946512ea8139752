"""Play: what is on the stage and how it looks; opening and saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import viser

from ...formats import suffixes
from ..core.actor import Track
from ..core.session import SAMPLES, Session
from ..view.stage import ARRANGEMENTS, LOOKS
from ..view.theme import plain
from ..widgets.controls import assign

NOTHING = "(nothing)"
PICK = "choose…"


class PlayTab:
    """Open motions, look at them beside or over each other, save them."""

    title = "Play"

    def build(self, session: Session) -> None:
        """Three folders: opening, the stage, saving."""
        self._session = session
        gui = session.gui
        self._facts = gui.add_markdown("")
        with gui.add_folder("Open"):
            self._build_opening()
        with gui.add_folder("On the stage"):
            self._build_stage()
        with gui.add_folder("Save", expand_by_default=False):
            self._build_saving()
        self._leave = self._session.listen(self._told)
        self._show_tracks()

    def update(self, time: float) -> None:
        """Nothing here follows the time."""

    def close(self) -> None:
        """Stop listening."""
        self._leave()

    def _build_opening(self) -> None:
        session, gui = self._session, self._session.gui
        self._sample = gui.add_dropdown("Built-in", (PICK, *SAMPLES), initial_value=PICK)
        self._sample.on_update(session.guarded(self._open_sample))
        if session.paths:
            self._path = gui.add_text("File", "", hint=f"A path on this machine: {', '.join(suffixes())}")
            gui.add_button("Open the file", icon=viser.Icon.FOLDER_OPEN).on_click(session.guarded(self._open_path))
        upload = gui.add_upload_button("Upload a file", icon=viser.Icon.UPLOAD, mime_type=",".join(suffixes()))
        upload.on_upload(session.guarded(self._open_upload))
        self._keep = gui.add_checkbox("Keep others", False, hint="Show the next motion together with these")

    def _build_stage(self) -> None:
        session, gui = self._session, self._session.gui
        self._which = gui.add_dropdown("Motion", (NOTHING,), hint="The one that is saved, plotted and worked on")
        self._which.on_update(session.guarded(lambda _: self._activate()))
        self._arrangement = gui.add_dropdown("Several", ARRANGEMENTS, initial_value=session.stage.arrangement)
        self._arrangement.on_update(session.guarded(lambda _: session.arrange(self._arrangement.value)))
        self._look = gui.add_dropdown("Look", LOOKS, initial_value=session.stage.look)
        self._look.on_update(session.guarded(lambda _: session.set_look(self._look.value)))
        self._follow = gui.add_checkbox("Follow", session.stage.following, hint="Keep the body in the middle")
        self._follow.on_update(session.guarded(lambda _: session.follow(self._follow.value)))
        self._shadows = gui.add_checkbox("Shadows", session.stage.shadows, hint="Off draws faster on a slow machine")
        self._shadows.on_update(session.guarded(lambda _: self._set_shadows()))
        self._joint = gui.add_text("Joint", "click a body", disabled=True)
        actions = gui.add_button_group("Do", ("Frame it", "Close it"))
        actions.on_click(session.guarded(self._act))

    def _build_saving(self) -> None:
        session, gui = self._session, self._session.gui
        self._target = gui.add_text("File", "", hint=f"The suffix says the format: {', '.join(suffixes(written=True))}")
        if session.paths:
            gui.add_button("Save", icon=viser.Icon.DEVICE_FLOPPY).on_click(session.guarded(self._save))
        gui.add_button("Download", icon=viser.Icon.DOWNLOAD).on_click(session.guarded(self._download))

    def _open_sample(self, _: Any) -> None:
        if self._sample.value != PICK:
            name = self._sample.value
            assign(self._sample, PICK)
            self._session.open_sample(name, keep=self._keep.value)
            self._session.clock.play()

    def _open_path(self, _: Any) -> None:
        self._greet(self._session.open(self._path.value, keep=self._keep.value))

    def _open_upload(self, event: Any) -> None:
        sent = event.target.value
        self._greet(self._session.open_upload(sent.name, sent.content, keep=self._keep.value))

    def _greet(self, track: Track) -> None:
        self._session.clock.seek(0.0)
        self._session.clock.play()
        notes = "".join(f" {note}." for note in track.motion.notes)
        self._session.tell(f"Opened {track.name}: {len(track.motion)} frames.{notes}")

    def _activate(self) -> None:
        for track in self._session.tracks:
            if track.name == self._which.value:
                self._session.activate(track)

    def _set_shadows(self) -> None:
        with self._session.lock:
            self._session.stage.shadows = self._shadows.value

    def _act(self, event: Any) -> None:
        session = self._session
        if event.target.value == "Frame it":
            with session.lock:
                session.stage.frame(session.tracks, event.client)
        elif session.active is not None:
            session.close_track(session.active)

    def _save(self, _: Any) -> None:
        self._session.tell(f"Saved {self._session.save(self._target.value)}")

    def _download(self, event: Any) -> None:
        name, content = self._session.encoded(Path(self._target.value).name)
        event.client.send_file_download(name, content, save_immediately=True)

    def _told(self, topic: str) -> None:
        if topic in ("tracks", "active"):
            self._show_tracks()
        if topic in ("tracks", "selection"):
            chosen = self._session.selection
            assign(self._joint, chosen.name if chosen else "click a body")

    def _show_tracks(self) -> None:
        active = self._session.active
        names = tuple(track.name for track in self._session.tracks)
        self._which.options = names or (NOTHING,)
        assign(self._which, active.name if active else NOTHING)
        self._facts.content = _facts(active) if active else "Open a motion to begin."
        if active is not None:
            assign(self._target, f"{active.name}.bvh")


def _facts(track: Track) -> str:
    motion = track.motion
    roles = "a person" if track.body is not None else "no human roles"
    return (
        f"**{plain(track.name)}** · {len(motion)} frames at {motion.fps:g} fps · {motion.duration:.2f} s  \n"
        f"{len(motion.skeleton)} joints, {roles}"
    )
