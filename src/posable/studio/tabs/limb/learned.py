"""The learned range of a limb: drawn on a sphere around the shoulder or hip, and applied to placements if chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute.types import Bools, Floats
from ....limb import LimbRange
from ....limb.model import ROLES, SIDES
from ....limb.range.sphere import sphere_mesh
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...core.session import Session
from ...view.theme import Rgb
from ...widgets.controls import assign, show
from ...widgets.status_text import COLOURS, UNUSUAL

if TYPE_CHECKING:
    from ....body import Humanoid

NET: Rgb = (150, 184, 200)
RIM: Rgb = (226, 104, 44)
NODE = "/world/limb/range"


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
        for control in (self._visible, self._applied):
            control.on_update(session.guarded(lambda _: session.changed("pose")))
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
