"""Where a limb can be, drawn in the scene: the orbit of its elbow or knee, and the range that people use.

The orbit is the circle on which the elbow or the knee can be while the hand or foot stays at its goal. The learned
range is drawn on a sphere around the shoulder or hip, and applied to placements if chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute import Status
from ....compute.types import Bools, Floats, Ints
from ....limb import LimbRange, Target
from ....limb.model import ROLES, SIDES
from ....limb.range.sphere import sphere_mesh
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...core.session import Session
from ...view.points import add_segments
from ...view.theme import Rgb, linear
from ...widgets.controls import assign, redraw_on_update, show
from ...widgets.status_text import COLOURS, UNUSUAL

if TYPE_CHECKING:
    from ....body import Humanoid

SWIVELS = 72
"""Positions of the elbow that are tried for the orbit circle."""
ON_CIRCLE = 1e-3
"""How far from the circle a tried elbow may be [m]; one without a posture is nowhere near it and is not drawn."""
INK: Rgb = (34, 40, 48)
"""Colour of the joint on its orbit: unlike that of any body."""
NET: Rgb = (150, 184, 200)
RIM: Rgb = (226, 104, 44)
NODE = "/world/pose/range"


LIMB_OF = {roles[-1]: limb for limb, roles in ROLES.items()}
"""Limbs by the part at their end: "right_arm" of "right_hand"."""


@dataclass(frozen=True, eq=False)
class Goal:
    """The target of a hand or foot."""

    position: Floats
    """(3,) in the actor's world [m]."""
    orientation: Floats | None
    """(4,) in the world, canonical; None leaves it to the limb."""


class Orbit:
    """The circle on which an elbow or a knee can be, coloured by what forbids it there, and the joint on it."""

    def __init__(self, session: Session) -> None:
        self._server = session.server
        self._circle = add_segments(session.scene, "/world/pose/orbit", SWIVELS, 6.0)
        self._joint = session.scene.add_icosphere(
            "/world/pose/joint", radius=1.0, color=INK, cast_shadow=False, visible=False
        )
        self.status: Ints | None = None
        self.usual: Bools | None = None

    def draw(
        self,
        actor: Actor,
        body: Humanoid,
        limb: str,
        pose: Pose,
        goal: Goal,
        options: dict[str, Any],
        usual: Callable[[Floats], Bools] | None = None,
    ) -> None:
        """Try swivels all around for a goal of the hand or foot, in one call, and draw where they put the joint.

        `options` are those of `Limb.place`; `usual` returns (N,) whether people have swivels (N,) [rad] there.
        """
        swivels = np.linspace(-math.pi, math.pi, SWIVELS, endpoint=False)
        target = Target(np.tile(goal.position, (SWIVELS, 1)), goal.orientation)
        tried = body.limb(limb).place(pose, target, swivel=swivels, probe=True, **options)
        base, mid, _ = body.limb_joints(limb)
        joint = body.skeleton.forward(tried.pose).positions[:, mid]
        now = body.skeleton.forward(pose).positions
        on = _on_circle(joint, now[base], goal.position)
        ends = np.stack([0.5 * (joint + np.roll(joint, 1, axis=0)), 0.5 * (joint + np.roll(joint, -1, axis=0))], 1)
        ends[~(on & np.roll(on, 1) & np.roll(on, -1))] = now[mid]
        self.status = np.asarray(tried.status)
        self.usual = None if usual is None else usual(swivels)
        colours = np.array([COLOURS[int(status)] for status in self.status], dtype=np.float64)
        if self.usual is not None:
            colours[(self.status == Status.REACHED) & ~self.usual] = UNUSUAL
        with self._server.atomic():
            self._circle.points = (ends + actor.position).astype(np.float32)
            self._circle.colors = np.repeat(linear(colours)[:, None], 2, axis=1)
            self._joint.position, self._joint.scale = now[mid] + actor.position, 0.014 * body.joint_height
            self._circle.visible = self._joint.visible = True

    def hide(self) -> None:
        """Hide the circle and the joint."""
        if self._circle.visible:
            self._circle.visible = self._joint.visible = False
        self.status = self.usual = None

    def remove(self) -> None:
        """Take it off the scene."""
        self._circle.remove()
        self._joint.remove()


def _on_circle(positions: Floats, base: Floats, goal: Floats) -> Bools:
    """Return (N,) whether positions lie on the circle about the line from base to goal on which most of them lie."""
    axis = goal - base
    unit = axis / max(float(np.linalg.norm(axis)), 1e-9)
    along = (positions - base) @ unit
    radius = np.linalg.norm(positions - base - along[:, None] * unit, axis=-1)
    on: Bools = (np.abs(along - np.median(along)) < ON_CIRCLE) & (np.abs(radius - np.median(radius)) < ON_CIRCLE)
    return on


class LearnedRange:
    """The built-in range of the limb that is dragged: two checkboxes, and a drawing in the scene."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ranges: dict[tuple[str, float, float], LimbRange] = {}
        self._drawn: LimbRange | None = None
        self._dot: Any = None
        self._ray: Any = None
        hint = "The directions in which people have their hand or foot, on a sphere around the shoulder or hip"
        self._visible = session.gui.add_checkbox("What people do", False, hint=hint)
        hint = "Positions and swivels that people do not take are corrected before the limb is solved"
        self._applied = session.gui.add_checkbox("Keep to it", False, hint=hint)
        redraw_on_update(session, self._visible, self._applied)
        self._node = session.scene.add_frame(NODE, show_axes=False, visible=False)

    def show(self, visible: bool) -> None:
        """Draw it in the scene, or not."""
        assign(self._visible, visible)
        self._session.changed("pose")

    def apply(self, applied: bool) -> None:
        """Keep placements inside the range, or not."""
        assign(self._applied, applied)
        self._session.changed("pose")

    @property
    def applied(self) -> bool:
        """Whether placements are kept inside the range."""
        return bool(self._applied.value)

    @property
    def drawn(self) -> bool:
        """Whether the range is drawn."""
        return bool(self._visible.value)

    @property
    def used(self) -> bool:
        """Whether the range is drawn or applied."""
        return bool(self._visible.value) or self.applied

    def of(self, body: Humanoid, limb: str) -> LimbRange:
        """Return the range for a body's limb."""
        own = body.limb(limb)
        key = (limb, own.upper, own.lower)
        if key not in self._ranges:
            self._ranges[key] = LimbRange.builtin(limb, own)
        return self._ranges[key]

    def usual(self, body: Humanoid, limb: str, pose: Pose, swivels: Floats) -> Bools:
        """Return (N,) whether people have the hand or foot at its position in a pose with these swivels (N,) [rad]."""
        return np.asarray(self.of(body, limb).contains(body.limb(limb).read(pose).position, swivels))

    def corrections(self, body: Humanoid, limb: str, pose: Pose, goal: Floats, swivel: float) -> list[str]:
        """Return which of "direction", "distance", ... the range changes of a goal (3,) [m] and a swivel [rad]."""
        orientation, origin = limb_frame(body, limb, pose)
        found = self.of(body, limb).correct(pm.rotate(pm.conjugate(orientation), goal - origin), swivel)
        return [name for name, changed in found.causes.items() if changed]

    def draw(self, actor: Actor, body: Humanoid, limb: str, pose: Pose) -> None:
        """Show the range around the joint of a pose, and where on it the hand or foot is."""
        if not self._visible.value:
            self.hide()
            return
        found = self.of(body, limb)
        if found is not self._drawn:
            self._build(found)
        orientation, origin = limb_frame(body, limb, pose)
        here = body.limb(limb).read(pose).position
        on_sphere = here * ((found.upper + found.lower) / max(float(np.linalg.norm(here)), 1e-9))
        with self._session.server.atomic():
            self._node.position, self._node.wxyz = origin + actor.position, orientation
            self._dot.position, self._dot.color = on_sphere, COLOURS[0] if found.contains(here) else UNUSUAL
            self._ray.points = np.array([[here, on_sphere]], dtype=np.float32)
            self._node.visible = True

    def hide(self) -> None:
        """Hide the drawing."""
        show(self._node, "visible", False)

    def remove(self) -> None:
        """Take it off the scene."""
        self._node.remove()

    def _build(self, found: LimbRange) -> None:
        """Add the net of directions and its rim, in the limb's frame."""
        scene, radius = self._session.scene, found.upper + found.lower
        points, triangles = radius * found.directions, sphere_mesh(len(found.table)).triangles[found.valid]
        pairs = np.unique(np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1), axis=0)
        loops = [np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in found.boundary()]
        rim = 1.003 * radius * np.concatenate(loops) if loops else np.zeros((1, 2, 3))

        def lines(name: str, ends: Floats, colour: Rgb, width: float) -> Any:
            points = ends.astype(np.float32)
            return scene.add_line_segments(f"{NODE}/{name}", points, colour, thickness=width, thickness_units="screen")

        # Lines only: a transparent surface would hide the body behind it, which is transparent as well.
        lines("net", points[pairs], NET, 0.6)
        lines("rim", rim, RIM, 4.0)
        self._ray = lines("ray", np.zeros((1, 2, 3)), RIM, 2.0)
        self._dot = scene.add_icosphere(f"{NODE}/hand", radius=0.02 * radius / 0.6, color=COLOURS[0], cast_shadow=False)
        self._drawn = found


def limb_frame(body: Humanoid, limb: str, pose: Pose) -> tuple[Floats, Floats]:
    """Return (orientation (4,), origin (3,) [m]) of a limb's own frame in the world of a pose."""
    base = ROLES[limb][0]
    carrier = parent_role(base, body.roles) or "hips"
    axes = pm.from_matrix(np.array(SIDES[limb].axes, dtype=np.float64).T)
    origin = body.skeleton.forward(pose).positions[body.limb_joints(limb)[0]]
    return pm.multiply(canonical_orientation(body, carrier, pose), axes), origin
