"""Express: a chain or a robot that holds a posture while it aims, by ERIK and by the stronger method beside it.

The chain has the stage to itself: the bodies step aside until it is put away. All chains on the stage answer the same
question, each in a world of its own: the posture of the sliders, and a ball that is dragged or goes around.
"""

from __future__ import annotations

import threading
import time as clock
from typing import Any

import numpy as np

from ....compute import PosableError, Status
from ....compute.types import ArrayLike, Floats
from ....express import SKELETONS, Chain
from ....express.filter import KINDS
from ....formats.urdf import Shape
from ...core.session import Session
from ...view import theme
from ...widgets.controls import assign, show
from ...widgets.status_text import COLOURS
from .chain import ChainLook, chain_lift, chain_room, chain_size
from .messages import QUANTITIES, answer_facts, motor_lines
from .plot import LivePlot
from .posture_folder import PostureFolder, example_posture
from .posture_sliders import PostureSliders
from .robot import RobotFolder
from .runner import Motors, Runner
from .target import AIMS, AimTarget

NONE = "(none)"
WELCOME = "A chain of motors holds a posture while it looks at the ball. Choose a chain, or load a robot below."
BOTH = "best and erik"
METHODS = (BOTH, "best", "erik", "simple", "ccd")
FIRST = "sad"
"""The posture that a chain begins with."""
SHORTEST, LONGEST = 1.0 / 240.0, 0.1
"""Seconds of a moment: a studio that was busy goes on where it was."""
COMPILING = "Getting ready; on a new machine the kernels are compiled, once."


class ExpressTab:
    """Hold a posture while aiming."""

    title = "Express"

    def __init__(self) -> None:
        self.chain: Chain | None = None
        self.runners: tuple[Runner, ...] = ()
        self.time = 0.0  # [s] that the runners have gone on since the chain came
        self._robots: dict[str, tuple[Chain, tuple[Shape, ...]]] = {}
        self._looks: dict[str, ChainLook] = {}  # by method, and "posture"
        self._names = 0
        self._last = 0.0
        self._ready = threading.Event()
        self._getting_ready: threading.Thread | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """The chain and how it is solved, the answers, the target, the posture, the motors, robots."""
        self._session = session
        gui = session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        hint = "One of the seven skeletons of the paper, or a robot of yours; it has the stage to itself"
        self._choice = gui.add_dropdown("Chain", (NONE, *SKELETONS), hint=hint)
        self._choice.on_update(session.guarded(lambda _: self.choose(str(self._choice.value))))
        hint = "best: the least error; erik: the paper's algorithm; simple and ccd: parts of it"
        self._method = gui.add_dropdown("Solved by", METHODS, hint=hint)
        self._method.on_update(session.guarded(lambda _: self.solve_by(str(self._method.value))))
        self._told_now = gui.add_markdown(WELCOME)
        hint = "Look at the ball; point towards it from the base; or turn the tip as the handle is turned"
        self._aim = gui.add_dropdown("Aim at", AIMS, hint=hint)
        self._aim.on_update(again)
        self._orbits = gui.add_checkbox("Target orbits", False, hint="The ball goes around by itself")
        self._orbits.on_update(again)
        self._errors = LivePlot(session, "error")
        self.postures = PostureFolder(session, self._named, lambda: self.sliders.values, self.take)
        self.sliders = PostureSliders(session, lambda: session.changed("pose"))
        self.postures.add_folder()
        self._add_motors()
        self.robots = RobotFolder(session, self.add_robot)
        self.target = AimTarget(session, lambda: session.changed("pose"), self._dropped)
        session.click_handlers.append(self._clicked)
        self._leave = session.subscribe(self._told)

    def _add_motors(self) -> None:
        session, gui = self._session, self._session.gui
        again = session.guarded(lambda _: session.changed("pose"))
        with gui.add_folder("Motors", expand_by_default=False):
            hint = "What is drawn is what motors with these limits make of the answers"
            self._filtered = gui.add_checkbox("Through a filter", False, hint=hint)
            hint = "limits: they hold, always; nutty: the paper's filter, whose limits are soft"
            self._kind = gui.add_dropdown("Filter", tuple(KINDS), hint=hint)
            self._bounds = [
                gui.add_slider(name, min=low, max=high, step=low, initial_value=value)
                for name, low, high, value in (
                    ("Speed [rad/s]", 0.1, 10.0, 3.0),
                    ("Acceleration", 1.0, 100.0, 20.0),
                    ("Jerk", 10.0, 1000.0, 200.0),
                )
            ]
            self._joint = gui.add_dropdown("Joint", (NONE,), hint="Whose motor is plotted")
            self._quantity = gui.add_dropdown("Plotted", QUANTITIES)
            self._motor_plot = LivePlot(session, "")
        controls: list[Any] = [self._filtered, self._kind, *self._bounds, self._joint, self._quantity]
        for control in controls:
            control.on_update(again)

    def update(self, time: float) -> None:
        """Go on to this moment and draw it."""
        with self._session.lock:
            if self.chain is None:
                return
            now = clock.monotonic()
            dt, self._last = float(np.clip(now - self._last, SHORTEST, LONGEST)), now
            if self._ready.is_set():
                self.step(dt)
            self._draw()

    def close(self) -> None:
        """Take everything away, and wait for what is under way."""
        self._leave()
        if self._getting_ready is not None:
            self._getting_ready.join()
        with self._session.lock:
            self._put_away()
            self.target.remove()
            self._session.click_handlers.remove(self._clicked)

    # What a user can do.

    def choose(self, name: str) -> None:
        """Have a chain on the stage: one of `SKELETONS`, a robot that was loaded, or `NONE`."""
        with self._session.lock:
            if name not in (NONE, *SKELETONS, *self._robots):
                known = ", ".join((*SKELETONS, *self._robots))
                raise PosableError(f"unknown chain {name!r}; there are {known}")
            assign(self._choice, name)
            self._put_away()
            if name == NONE:
                show(self._told_now, "content", WELCOME)
                self._session.show_only(None)
                return
            chain, shapes = self._robots.get(name) or (SKELETONS[name], ())
            self._session.clock.pause()
            self.chain, self.time, self._last = chain, 0.0, clock.monotonic()
            self._joint.options = chain.names
            self.sliders.suit(chain)
            self.sliders.put(example_posture(chain, FIRST))
            self.postures.show()
            self.target.stand(chain, chain_size(chain))
            self._build_looks(chain, shapes)
            self._get_ready()
            self._session.changed("pose")

    def solve_by(self, method: str) -> None:
        """Have another method of `METHODS`, or two beside each other."""
        with self._session.lock:
            if method not in METHODS:
                raise PosableError(f"unknown method {method!r}; it is one of {', '.join(METHODS)}")
            assign(self._method, method)
            if self.chain is not None:
                self._drop_looks()
                name = str(self._choice.value)
                self._build_looks(self.chain, self._robots.get(name, (None, ()))[1])
                self._session.changed("pose")

    def take(self, posture: ArrayLike, name: str = "posture") -> None:
        """Have the sliders at a posture (N,) [rad]. Can be undone."""
        with self._session.lock:
            chain, before = self.chain, self.sliders.values
            after = np.array(posture, dtype=np.float64)
            if chain is None or after.shape != before.shape:
                raise PosableError(f"the posture has shape {after.shape}; expected {before.shape}, one a joint")

            def put(values: Floats) -> None:
                if self.chain is chain:
                    self.sliders.put(values)
                    self._session.changed("pose")

            self._session.run(f"Recall {name}", lambda: put(after), lambda: put(before))

    def add_robot(self, name: str, chain: Chain, shapes: tuple[Shape, ...]) -> None:
        """Offer a robot's chain, and have it on the stage."""
        with self._session.lock:
            called = f"{name} (robot)" if name in SKELETONS or name == NONE else name
            if str(self._choice.value) == called:
                self._put_away()
            self._robots[called] = (chain, shapes)
            show(self._choice, "options", (NONE, *SKELETONS, *self._robots))
            self.choose(called)

    def step(self, dt: float) -> None:
        """Go on by `dt` seconds: the target where it goes around, every method, and the motors."""
        with self._session.lock:
            if self.chain is None:
                return
            self.time += dt
            if self._orbits.value:
                self.target.orbit(self.chain, dt)
            aim = self.target.aim(self.chain, str(self._aim.value))
            motors = self._motors
            for runner in self.runners:
                runner.drive(motors)
                runner.step(self.sliders.values, aim, dt)
            moves = bool(self._orbits.value) or not all(runner.still for runner in self.runners)
            (self._session.animating.add if moves else self._session.animating.discard)("express")
            self._tell()

    # What follows from it.

    @property
    def _motors(self) -> Motors | None:
        speed, acceleration, jerk = (float(slider.value) for slider in self._bounds)
        return Motors(speed, acceleration, jerk, str(self._kind.value)) if self._filtered.value else None

    def _named(self) -> tuple[str, Chain] | None:
        return None if self.chain is None else (str(self._choice.value), self.chain)

    def _build_looks(self, chain: Chain, shapes: tuple[Shape, ...]) -> None:
        """The posture, seen through, and beside it a chain for each method."""
        asked = str(self._method.value)
        methods = ("best", "erik") if asked == BOTH else (asked,)
        self.runners = tuple(Runner(chain, method) for method in methods)
        self._names += 1
        for k, name in enumerate(("posture", *methods)):
            node = f"/world/express/chain{self._names}/{name}"
            self._looks[name] = ChainLook(self._session, node, chain, shapes, theme.tones(k - 1 if k else 0))
        self._looks["posture"].show(True, 0.4)
        size, lift = chain_size(chain), chain_lift(chain)
        wide = chain_room(chain) * (len(methods) / 2 + 0.35)
        box = np.array([[-wide, 0.0, -0.3 * size], [wide, 1.0 * size + lift, 1.0 * size]])
        self._session.show_only(box)

    def _place(self, k: int) -> Floats:
        """(3,) where chain k stands [m]: 0 is the posture."""
        chain, count = self.chain, len(self.runners)
        if chain is None:
            return np.zeros(3)
        return np.array([chain_room(chain) * (k - 0.5 * count), chain_lift(chain), 0.0])

    def _draw(self) -> None:
        chain = self.chain
        if chain is None:
            return
        self._looks["posture"].draw(self.sliders.values, self._place(0))
        tips = []
        for k, runner in enumerate(self.runners, 1):
            angles, place = runner.angles, self._place(k)
            self._looks[runner.method].draw(angles, place)
            frames = chain.forward(angles)
            status = Status.INVALID if runner.answer is None else runner.answer.status
            tips.append((frames.positions[-1] + place, frames.pointing, COLOURS[int(status)]))
        self.target.draw(str(self._aim.value), [self._place(k + 1) for k in range(len(self.runners))], tips)

    def _tell(self) -> None:
        facts = [answer_facts(runner) for runner in self.runners]
        show(self._told_now, "content", "  \n".join(facts))
        errors = [float(runner.answer.error) for runner in self.runners if runner.answer is not None]
        self._errors.add(self.time, errors, [runner.method for runner in self.runners])
        chain, first = self.chain, self.runners[0]
        if chain is None or first.motors is None or str(self._joint.value) not in chain.names:
            self._motor_plot.hide()
            return
        joint = chain.names.index(str(self._joint.value))
        title, labels, values = motor_lines(first, joint, str(self._quantity.value))
        self._motor_plot.add(self.time, values, labels, f"{chain.names[joint][:28]}: {title}")

    def _dropped(self, before: tuple[Floats, Floats]) -> None:
        """A drag of the target has ended: from here it can be undone."""
        after = (self.target.position, self.target.orientation)

        def put(where: tuple[Floats, Floats]) -> None:
            self.target.put(*where)
            self._session.changed("pose")

        self._session.run("Move the target", lambda: put(after), lambda: put(before))

    def _drop_looks(self) -> None:
        for look in self._looks.values():
            look.remove()
        self._looks, self.runners = {}, ()

    def _put_away(self) -> None:
        self._drop_looks()
        self.chain = None
        self.sliders.suit(None)
        self.postures.show()
        self.target.hide()
        self._errors.hide()
        self._motor_plot.hide()
        self._session.animating.discard("express")

    def _get_ready(self) -> None:
        """Have the kernels compiled, where they are not, without keeping the page waiting."""
        if self._getting_ready is None:
            show(self._told_now, "content", COMPILING)
            self._getting_ready = threading.Thread(target=self._warm_up, name="posable-express", daemon=True)
            self._getting_ready.start()

    def _warm_up(self) -> None:
        chain = SKELETONS["C"]
        runner = Runner(chain, "best")
        for kind in KINDS:
            runner.drive(Motors(1.0, 1.0, 1.0, kind))
            runner.step(chain.zero, {"look_at": np.array([0.0, 1.0, 1.0])}, 0.1)
        self._ready.set()
        self._session.changed("pose")

    def _clicked(self, origin: Floats, direction: Floats) -> bool:
        """Bodies that have stepped aside are not marked by a click."""
        return self.chain is not None

    def _told(self, topic: str) -> None:
        if topic == "actors" and self.chain is not None:  # a motion was opened: it wants to be seen
            self.choose(NONE)
