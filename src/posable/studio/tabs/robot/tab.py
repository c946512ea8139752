"""Robot: a chain or a robot that holds a posture while it aims, by ERIK and by a stronger method next to it.

The chain has the stage to itself: the bodies are hidden until it is put away. All chains on the stage solve the same
problem, each in a world of its own: the posture of the sliders, and a ball that is dragged or orbits.
"""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ....compute import PosableError
from ....compute.types import ArrayLike, Floats
from ....express import SKELETONS, Chain
from ....express.filter import KINDS
from ....formats import read_robot
from ....skeleton import Skeleton
from ...core.session import Session
from ...view import theme
from ...view.names import NameTags
from ...widgets.controls import assign, redraw_on_update, show
from ...widgets.file_panel import FilePanel
from ...widgets.status_text import COLOURS
from ...widgets.time_plot import LivePlot
from .chain import ChainLook, chain_lift, chain_size, chain_spacing
from .posture import PostureLibrary, PostureSliders, example_posture
from .runner import QUANTITIES, Motors, Runner
from .target import AIMS, AimTarget

NONE = "(none)"
WELCOME = "A chain of motors holds a posture while it looks at the ball. Choose a chain, or load a robot below."
BOTH = "best and erik"
METHODS = (BOTH, "best", "erik", "simple", "ccd")
NAMES = {
    BOTH: "Least error and ERIK",
    "best": "Least error",
    "erik": "ERIK",
    "simple": "ERIK without its search",
    "ccd": "Cyclic coordinate descent",
    "posture": "Posture",
}
"""Names that people read, of methods and of the chain that shows the posture."""
FIRST = "sad"
"""The posture that a chain begins with."""
SHORTEST, LONGEST = 1.0 / 240.0, 0.1
"""Seconds of a step: a studio that was busy goes on where it was."""
COMPILING = "Getting ready; on a new machine the kernels are compiled, once."
SUFFIXES = (".urdf", ".xml")
GUESSED = "(guessed)"


class RobotTab:
    """Hold a posture while aiming."""

    title = "Robot"
    marks_selection = False

    def __init__(self) -> None:
        self.chain: Chain | None = None
        self.runners: tuple[Runner, ...] = ()
        self.time = 0.0  # [s] that the runners have gone on since the chain came
        self._robots: dict[str, Chain] = {}
        self._looks: dict[str, ChainLook] = {}  # by method, and "posture"
        self._names = 0
        self._last = 0.0
        self._ready = threading.Event()
        self._warming: threading.Thread | None = None

    # The panel.

    def build(self, session: Session) -> None:
        """Add the chain and how it is solved, the solutions, the target, the posture, the motors, robots."""
        self._session = session
        gui = session.gui
        hint = "One of the seven skeletons of the paper, or a robot of yours; it has the stage to itself"
        self._choice = gui.add_dropdown("Chain", (NONE, *SKELETONS), hint=hint)
        self._choice.on_update(session.guarded(lambda _: self.choose(str(self._choice.value))))
        hint = "Least error: the strongest; ERIK: the published algorithm; the others: parts of it"
        self._method = gui.add_dropdown("Solved by", tuple(NAMES[one] for one in METHODS), hint=hint)
        self._method.on_update(session.guarded(lambda _: self.solve_by(self.method)))
        self._text = gui.add_markdown(WELCOME)
        with gui.add_folder("Numbers", expand_by_default=False):
            self._numbers = gui.add_markdown("")
        hint = "Look at the ball; point towards it from the base; or orient the tip as the handle"
        self._aim = gui.add_dropdown("Aim at", AIMS, hint=hint)
        self._orbits = gui.add_checkbox("Target orbits", False, hint="The ball goes around by itself")
        redraw_on_update(session, self._aim, self._orbits)
        self._errors = LivePlot(session, "error")
        self.postures = PostureLibrary(session, self._named, lambda: self.sliders.values, self.set_posture)
        self.sliders = PostureSliders(session, lambda: session.changed("pose"))
        self.postures.add_folder()
        self._add_motors()
        self.robots = RobotFolder(session, self.add_robot)
        self._names_of = NameTags(session, "robot")
        self.target = AimTarget(session, lambda: session.changed("pose"), self._dropped)
        session.click_handlers.append(self._clicked)
        self._unsubscribe = session.subscribe(self._on_event)

    def _add_motors(self) -> None:
        session, gui = self._session, self._session.gui
        with gui.add_folder("Motors", expand_by_default=False):
            hint = "Draw what motors with these limits make of the solutions"
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
            self._joint = gui.add_dropdown("Joint", (NONE,), hint="The joint whose motor is plotted")
            self._quantity = gui.add_dropdown("Plotted", QUANTITIES)
            self._motor_plot = LivePlot(session)
        redraw_on_update(session, self._filtered, self._kind, *self._bounds, self._joint, self._quantity)

    def update(self, time: float) -> None:
        """Advance to this moment and draw it."""
        with self._session.lock:
            if self.chain is None:
                return
            if not self._looks:  # it was hidden while another tab was in front
                self._build_looks(self.chain)
            now = clock.monotonic()
            dt, self._last = float(np.clip(now - self._last, SHORTEST, LONGEST)), now
            if self._ready.is_set():
                self.step(dt)
            self._draw(self.chain)

    def leave(self) -> None:
        """Hide the chain; it comes back with the tab, as it was."""
        with self._session.lock:
            self._session.animating.discard("express")
            if self.chain is not None:
                self._remove_looks()
                self.target.hide()
                self._names_of.hide()
                self._session.show_only(None)

    def close(self) -> None:
        """Remove everything, and wait for kernels that compile."""
        self._unsubscribe()
        if self._warming is not None:
            self._warming.join(self._session.time_to_stop)
        with self._session.lock:
            self._put_away()
            self._names_of.remove()
            self.target.remove()
            self._session.click_handlers.remove(self._clicked)

    # What a user can do.

    def choose(self, name: str) -> None:
        """Put a chain on the stage: one of `SKELETONS`, a robot that was loaded, or `NONE`."""
        with self._session.lock:
            known = (*SKELETONS, *self._robots)
            if name not in (NONE, *known):
                raise PosableError(f"unknown chain {name!r}; there are {', '.join(known)}")
            assign(self._choice, name)
            self._put_away()
            if name == NONE:
                show(self._text, "content", WELCOME)
                self._session.show_only(None)
                return
            chain = self._robots.get(name) or SKELETONS[name]
            self._session.clock.pause()
            self.chain, self.time, self._last = chain, 0.0, clock.monotonic()
            self._joint.options = chain.names
            self.sliders.set_chain(chain)
            self.sliders.set_values(example_posture(chain, FIRST))
            self.postures.show()
            self.target.start(chain, chain_size(chain))
            if self._session.tab == self.title:
                self._build_looks(chain)
            self._warm_up()
            self._session.changed("pose")

    def solve_by(self, method: str) -> None:
        """Use another method of `METHODS`, or two next to each other."""
        with self._session.lock:
            if method not in METHODS:
                raise PosableError(f"unknown method {method!r}; it is one of {', '.join(METHODS)}")
            assign(self._method, NAMES[method])
            if self.chain is not None and self._looks:
                self._remove_looks()
                self._build_looks(self.chain)
                self._session.changed("pose")

    def set_posture(self, posture: ArrayLike, name: str = "posture") -> None:
        """Set the sliders to a posture (N,) [rad]. Can be undone."""
        with self._session.lock:
            chain, before = self.chain, self.sliders.values
            after = np.array(posture, dtype=np.float64)
            if chain is None or after.shape != before.shape:
                raise PosableError(f"the posture has shape {after.shape}; expected {before.shape}, one a joint")

            def put(values: Floats) -> None:
                if self.chain is chain:
                    self.sliders.set_values(values)
                    self._session.changed("pose")

            self._session.run(f"Recall {name}", lambda: put(after), lambda: put(before))

    def add_robot(self, name: str, chain: Chain) -> None:
        """Offer a robot's chain, and put it on the stage."""
        with self._session.lock:
            called = f"{name} (robot)" if name in SKELETONS or name == NONE else name
            if str(self._choice.value) == called:
                self._put_away()
            self._robots[called] = chain
            show(self._choice, "options", (NONE, *SKELETONS, *self._robots))
            self.choose(called)

    def step(self, dt: float) -> None:
        """Advance by `dt` seconds: the target where it orbits, every method, and the motors."""
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
            animating = self._session.animating
            (animating.add if moves else animating.discard)("express")
            self._show_solutions(self.chain)

    # What follows from it.

    @property
    def method(self) -> str:
        """The method, or two of them: one of `METHODS`."""
        return next(one for one in METHODS if NAMES[one] == str(self._method.value))

    @property
    def _motors(self) -> Motors | None:
        speed, acceleration, jerk = (float(slider.value) for slider in self._bounds)
        return Motors(speed, acceleration, jerk, str(self._kind.value)) if self._filtered.value else None

    def _named(self) -> tuple[str, Chain] | None:
        return None if self.chain is None else (str(self._choice.value), self.chain)

    def _build_looks(self, chain: Chain) -> None:
        """Show the posture, transparent, and next to it a chain for each method."""
        choice = self.method
        methods = ("best", "erik") if choice == BOTH else (choice,)
        self.runners = tuple(Runner(chain, method) for method in methods)
        self._names += 1
        for k, name in enumerate(("posture", *methods)):
            node = f"/world/express/chain{self._names}/{name}"
            self._looks[name] = ChainLook(self._session, node, chain, theme.tones(max(k - 1, 0)))
        self._looks["posture"].show(True, 0.4)
        size, wide = chain_size(chain), chain_spacing(chain) * (len(methods) / 2 + 0.35)
        self._session.show_only(np.array([[-wide, 0.0, -0.3 * size], [wide, size + chain_lift(chain), size]]))

    def _origins(self, chain: Chain) -> Floats:
        """Return (1 + methods, 3): where the posture's chain stands, then those of the methods [m]."""
        count = len(self.runners)
        return np.array([[chain_spacing(chain) * (k - 0.5 * count), chain_lift(chain), 0.0] for k in range(count + 1)])

    def _draw(self, chain: Chain) -> None:
        first, *others = self._origins(chain)
        self._looks["posture"].draw(self.sliders.values, first)
        tips = []
        for runner, origin in zip(self.runners, others):
            angles = runner.angles
            self._looks[runner.method].draw(angles, origin)
            frames = chain.forward(angles)
            tips.append((frames.positions[-1] + origin, frames.pointing, COLOURS[int(runner.status)]))
        self.target.draw(str(self._aim.value), others, tips)
        # Names lie before the feet, where they cover neither the ball nor its handle.
        below = np.array([0.0, -chain_lift(chain), 0.3 * chain_size(chain)])
        names = ("posture", *(runner.method for runner in self.runners))
        self._names_of.draw({NAMES[name]: at + below for name, at in zip(names, (first, *others), strict=True)})

    def _show_solutions(self, chain: Chain) -> None:
        show(self._text, "content", "  \n".join(f"{NAMES[one.method]}: {one.text}" for one in self.runners))
        show(self._numbers, "content", "  \n".join(f"{NAMES[one.method]}: {one.numbers}" for one in self.runners))
        errors = {NAMES[one.method]: float(one.solution.error) for one in self.runners if one.solution is not None}
        colours = [theme.line_colour(k) for k in range(len(errors))]
        self._errors.add(self.time, [*errors.values()], [*errors], colours=colours)
        joint, first = str(self._joint.value), self.runners[0]
        if first.motors is None or joint not in chain.names:
            self._motor_plot.hide()
            return
        title, lines = first.motor_lines(chain.names.index(joint), str(self._quantity.value))
        self._motor_plot.add(self.time, [*lines.values()], [*lines], f"{joint[:28]}: {title}")

    def _dropped(self, before: tuple[Floats, Floats]) -> None:
        """End a drag of the target: from here it can be undone."""
        after = (self.target.position, self.target.orientation)

        def put(target: tuple[Floats, Floats]) -> None:
            self.target.set(*target)
            self._session.changed("pose")

        self._session.run("Move the target", lambda: put(after), lambda: put(before))

    def _remove_looks(self) -> None:
        for look in self._looks.values():
            look.remove()
        self._looks, self.runners = {}, ()

    def _put_away(self) -> None:
        self._remove_looks()
        self._names_of.hide()
        self.chain = None
        self.sliders.set_chain(None)
        self.postures.show()
        self.target.hide()
        self._errors.hide()
        self._motor_plot.hide()
        self._session.animating.discard("express")

    def _warm_up(self) -> None:
        """Compile the kernels, where they are not yet, without keeping the page waiting."""

        def compile_kernels() -> None:
            chain = SKELETONS["C"]
            runner = Runner(chain, "best")
            for kind in KINDS:
                runner.drive(Motors(1.0, 1.0, 1.0, kind))
                runner.step(chain.zero, {"look_at": np.array([0.0, 1.0, 1.0])}, 0.1)
            self._ready.set()
            self._session.changed("pose")

        if self._warming is None:
            show(self._text, "content", COMPILING)
            self._warming = threading.Thread(target=compile_kernels, name="posable-express", daemon=True)
            self._warming.start()

    def _clicked(self, origin: Floats, direction: Floats) -> bool:
        """Take every click while a chain is shown, so that hidden bodies are not selected."""
        return self.chain is not None and self._session.tab == self.title

    def _on_event(self, topic: str) -> None:
        if topic == "actors" and self.chain is not None:  # a motion was opened, to be seen
            self.choose(NONE)


class RobotFolder(FilePanel):
    """Load a robot from a path or an upload, and choose the links that its chain goes from and to.

    `loaded` is called with the robot's name and its chain. Meshes are those beside a path: an upload has none.
    """

    def __init__(self, session: Session, loaded: Callable[[str, Chain], None]) -> None:
        super().__init__(session, "robot", "robot.urdf", read=self._load, known=SUFFIXES)
        self._loaded = loaded
        self._robot: tuple[str, Skeleton] | None = None
        gui = session.gui
        with gui.add_folder("Robot from a file", expand_by_default=False):
            self.add_controls(hint="The path of a URDF (.urdf) or MJCF (.xml) file", value="")
            self._base = gui.add_dropdown("From link", (GUESSED,), hint="The link that stands still")
            self._tip = gui.add_dropdown("To link", (GUESSED,), hint="The link that points at the target")
            for control in (self._base, self._tip):
                control.on_update(session.guarded(lambda _: self.choose(str(self._base.value), str(self._tip.value))))

    def choose(self, base: str = GUESSED, tip: str = GUESSED) -> None:
        """Use the chain from one link of the robot to another."""
        if self._robot is None:
            raise PosableError("load a robot first; its links can then be chosen")
        name, skeleton = self._robot
        chain = _chain(skeleton, base, tip)
        links = () if skeleton.robot is None else tuple(link for link in skeleton.robot.links if link)
        with self._session.lock:
            for control, value in ((self._base, base), (self._tip, tip)):
                show(control, "options", (GUESSED, *links))
                assign(control, value)
            self._loaded(name, chain)

    def _load(self, path: Path, name: str) -> None:
        skeleton = read_robot(path)
        _chain(skeleton, GUESSED, GUESSED)  # what has no chain leaves the robot before it as it is
        self._robot = (Path(name).stem, skeleton)
        self.choose()


def _chain(skeleton: Skeleton, base: str, tip: str) -> Chain:
    return Chain.from_robot(skeleton, *(None if end == GUESSED else end for end in (base, tip)))
