"""Texts with bars over the stage while something takes long: kernels that are compiled, a video.

They stand where one looks, and belong to no panel. Nothing here takes the session's lock, which whoever waits for
a kernel may hold.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ...compute import compiling, library

if TYPE_CHECKING:
    from ..server import Page

LOOK_EVERY = 0.4  # [s]
LIBRARY = "Kernels are being compiled for this machine, once. Everything works meanwhile; some first steps wait."
JIT = "Kernels are being compiled for what you just did, once. It goes on by itself."


class Progress:
    """Texts with bars over the stage, by name."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._shown: dict[str, tuple[str, float | None]] = {}

    def show(self, name: str, text: str, fraction: float | None = None) -> None:
        """Show a text and how much is done, 0 to 1; None where nobody knows."""
        rounded = None if fraction is None else round(min(max(fraction, 0.0), 1.0), 3)
        with self._lock:
            if self._shown.get(name) != (text, rounded):
                self._shown[name] = (text, rounded)
                self._send()

    def hide(self, name: str) -> None:
        """Take a text away."""
        with self._lock:
            if self._shown.pop(name, None) is not None:
                self._send()

    @property
    def shown(self) -> dict[str, tuple[str, float | None]]:
        """Text and fraction of what is shown, by name."""
        with self._lock:
            return dict(self._shown)

    def _send(self) -> None:
        self._page.show("progress", [{"text": text, "fraction": done} for text, done in self._shown.values()])


class CompileWatch:
    """A thread that shows when kernels are compiled: by `posable.compute.build` in its own process, or by Numba."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="posable-compile-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """Show what is compiled now that this studio waits for; one that has a library waits for no build."""
        built = compiling.build_progress() if library.why_not() else None
        if built is not None:
            self._progress.show("library", LIBRARY, built or None)  # the first batches are the largest
        else:
            self._progress.hide("library")
        if compiling.jit_seconds() >= 1.0:
            self._progress.show("jit", JIT)
        else:
            self._progress.hide("jit")

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_EVERY):
            self.look()
