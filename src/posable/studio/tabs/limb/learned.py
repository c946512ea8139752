"""What people do with a limb, on a sphere around its shoulder or hip; and whether a placement keeps to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import math as pm
from ....body.roles import parent_role
from ....compute.types import Bools, Floats
from ....limb import LimbRange
from ....limb.model import ROLES, SIDES
from ....limb.sphere import sphere_mesh
from ....skeleton import Pose
from ...core.actor import Actor, canonical_orientation
from ...core.session import Session
from ...view.theme import Rgb
from ...widgets.controls import assign
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
        self._show = session.gui.add_checkbox("What people do", False, hint=hint)
        self._show.on_update(session.guarded(lambda _: self.show(self._show.value)))
        hint = "Places and swivels that people do not take are corrected before the limb is solved"
        self._keep = session.gui.add_checkbox("Keep to it", False, hint=hint)
        self._keep.on_update(session.guarded(lambda _: self.keep(self._keep.value)))
        self._node = session.scene.add_frame(NODE, show_axes=False, visible=False)

    def show(self, shown: bool) -> None:
        """Draw it in the scene, or not."""
        assign(self._show, shown)
        self._session.changed("pose")

    def keep(self, kept: bool) -> None:
        """Keep placements inside it, or not."""
        assign(self._keep, kept)
        self._session.changed("pose")

    @property
    def keeping(self) -> bool:
        """Whether placements are kept inside the range."""
        return bool(self._keep.value)

    @property
    def asked(self) -> bool:
        """Whether anything about the range shall be seen."""
        return bool(self._show.value) or self.keeping

    def of(self, body: Humanoid, limb: str) -> LimbRange:
        """The range for a body's limb."""
        own = body.limb(limb)
        key = (limb, own.upper, own.lower)
        if key not in self._ranges:
            self._ranges[key] = LimbRange.builtin(limb, own)
        return self._ranges[key]

    def usual(self, body: Humanoid, limb: str, pose: Pose, swivels: Floats) -> Bools:
        """(N,) whether people have the hand or foot where it is in a pose with these swivels (N,) [rad]."""
        place = body.limb(limb).read(pose).position
        return np.asarray(self.of(body, limb).contains(place, swivels))

    def corrections(self, body: Humanoid, limb: str, pose: Pose, goal: Floats, swivel: float) -> list[str]:
        """What of a goal (3,) in the world [m] and a swivel [rad] the range changes: "direction", "distance", ..."""
        turned, origin = limb_frame(body, limb, pose)
        told = self.of(body, limb).correct(pm.rotate(pm.conjugate(turned), goal - origin), swivel)
        return [name for name, changed in told.causes.items() if changed]

    def draw(self, actor: Actor, body: Humanoid, limb: str, pose: Pose) -> None:
        """Show the range around the joint of a pose, and where on it the hand or foot is."""
        if not self._show.value:
            self.hide()
            return
        found = self.of(body, limb)
        if found is not self._drawn:
            self._build(found)
        turned, origin = limb_frame(body, limb, pose)
        here = body.limb(limb).read(pose).position
        radius = found.upper + found.lower
        on_sphere = here * (radius / max(float(np.linalg.norm(here)), 1e-9))
        colour = COLOURS[0] if found.contains(here) else UNUSUAL
        with self._session.server.atomic():
            self._node.position, self._node.wxyz = origin + actor.position, turned
            self._dot.position, self._dot.color = on_sphere, colour
            self._ray.points = np.array([[here, on_sphere]], dtype=np.float32)
            self._node.visible = True

    def hide(self) -> None:
        """Show nothing."""
        if self._node.visible:
            self._node.visible = False

    def remove(self) -> None:
        """Take it off the scene."""
        self._node.remove()

    def _build(self, found: LimbRange) -> None:
        """The net of directions and its rim, in the limb's frame."""
        scene, radius = self._session.scene, found.upper + found.lower
        points, triangles = radius * found.directions, sphere_mesh(len(found.table)).triangles[found.valid]
        pairs = np.unique(np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1), axis=0)
        rims = [np.stack([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in found.boundary()]
        rim = 1.003 * radius * np.concatenate(rims) if rims else np.zeros((1, 2, 3))
        # Lines only: a surface that is seen through would hide the body, which is seen through as well, behind it.
        for name, ends, colour, width in (("net", points[pairs], NET, 0.6), ("rim", rim, RIM, 4.0)):
            scene.add_line_segments(
                f"{NODE}/{name}",
                ends.astype(np.float32),
                colour,
                thickness=width,
                thickness_units="screen",
            )
        self._dot = scene.add_icosphere(f"{NODE}/hand", radius=0.02 * radius / 0.6, color=COLOURS[0], cast_shadow=False)
        self._ray = scene.add_line_segments(
            f"{NODE}/ray",
            np.zeros((1, 2, 3), dtype=np.float32),
            RIM,
            thickness=2.0,
            thickness_units="screen",
        )
        self._drawn = found


def limb_frame(body: Humanoid, limb: str, pose: Pose) -> tuple[Floats, Floats]:
    """(orientation (4,), origin (3,) [m]) of a limb's own frame in the world of a pose."""
    base = ROLES[limb][0]
    carrier = parent_role(base, body.roles) or "hips"
    axes = pm.from_matrix(np.array(SIDES[limb].axes, dtype=np.float64).T)
    origin = body.skeleton.forward(pose).positions[body.limb_joints(limb)[0]]
    return pm.multiply(canonical_orientation(body, carrier, pose), axes), origin
