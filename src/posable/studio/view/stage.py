"""The stage: ground, light, cameras, and the bodies on it.

To follow a body, the stage is drawn relative to the body's smoothed path over the floor: the body stays in the middle
of every window, the ground glides, and each window keeps its own camera, which is never taken out of the user's hand.
The bodies' joints are sent where they are seen and not below a node that moves: a browser applies the two kinds of
message a frame apart, which would show as a tremble. What is seldom moved, the gizmos, hangs on the node `/world`.
"""

from __future__ import annotations

import numpy as np
import viser

from ...compute.types import Floats
from ...skeleton import Frames
from ..core.actor import Actor
from . import theme
from .body_meshes import BoneLook, MeshLook, character_look, stretches_bones, volume_look, volumes_of
from .paint import Paint

LOOKS = ("body", "bones", "both")
ARRANGEMENTS = ("beside", "over")
FIELD = np.deg2rad(32.0)
"""Vertical field of view of a window: long enough that a body is not distorted."""
DIRECTION = np.array([0.62, 0.26, 1.0]) / np.linalg.norm([0.62, 0.26, 1.0])
"""From a body to the camera: in front of it, to its left, a little above."""
BODY_FRACTION, LOWER = 0.66, 0.085
"""Fractions of a window's height: what bodies take of it, and how far above its middle they stand."""
TILE = 2.0
"""After so many metres the ground repeats."""
GHOST = 0.45
"""Opacity of a transparent body: with its bones, or over another body."""
THINNER = 0.0025
"""So much of its height a ghost is thinner all around: where a body stands in its place, it is inside and not seen."""


class Stage:
    """The scene of a viser server. Not safe for several threads: the session's lock is held."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._scene = server.scene
        self._looks: dict[Actor, tuple[MeshLook | None, BoneLook]] = {}
        self._paints: dict[Actor, Paint] = {}
        self._names = 0
        self.look = "body"
        self.arrangement = "beside"
        self.following = True
        self.transparent: Actor | None = None  # a body behind and inside which a tab draws something
        self.only: Floats | None = None  # (2, 3) the box of what a tab shows in place of the bodies [m]
        self.offset = np.zeros(3)  # from a position on the stage to where it is drawn [m]
        self._sun = _dress(server)
        self.world = self._scene.add_frame("/world", show_axes=False)
        self._floor, self._tile = _floor(self._scene), TILE
        self._mark = self._scene.add_icosphere("/mark", radius=0.022, color=theme.MARK, visible=False)
        self._label = self._scene.add_label("/name", "", visible=False, anchor="bottom-left", font_screen_scale=1.3)

    def show(self, actors: tuple[Actor, ...]) -> None:
        """Put these actors on the stage, in this order, and take the others off."""
        for gone in [actor for actor in self._looks if actor not in actors]:
            self._paints.pop(gone, None)
            body, bones = self._looks.pop(gone)
            bones.remove()
            if body is not None:
                body.remove()
        solid = [actor for actor in actors if not actor.ghost]
        for actor in actors:  # ghosts are alike
            actor.hue = len(solid) if actor.ghost else solid.index(actor)
        self._arrange(actors)
        for actor in actors:
            if actor not in self._looks:
                self._looks[actor] = self._make(actor)
        self.apply_look(actors)

    def paint(self, actor: Actor, paint: Paint | None) -> None:
        """Draw an actor on the stage in the colours of a paint, or in its own again."""
        if actor in self._looks and (paint is not None or actor in self._paints):
            body, bones = self._looks[actor]
            bones.paint(paint)
            if body is not None:
                body.paint(paint)
            if paint is None:
                self._paints.pop(actor, None)
            else:
                self._paints[actor] = paint

    def hand_over(self, old: Actor, new: Actor) -> None:
        """Give the meshes of an actor to another: the same body with another motion."""
        alike = old.skeleton is new.skeleton and old.body is new.body
        if old in self._looks and alike and stretches_bones(old.motion.pose) == stretches_bones(new.motion.pose):
            self._looks[new] = self._looks.pop(old)
            if old in self._paints:
                self._paints[new] = self._paints.pop(old)

    def apply_look(self, actors: tuple[Actor, ...]) -> None:
        """Show the bodies, the bones or both; one body over another is transparent."""
        for index, actor in enumerate(actors):
            body, bones = self._looks[actor]
            covered = actor.ghost or (index > 0 and self.arrangement == "over" and not actor.extra)
            opacity = GHOST * actor.opacity if covered or self.look == "both" or actor is self.transparent else 1.0
            if body is not None:
                body.show(self.look != "bones" and self.only is None, opacity)
            bones.show((self.look != "body" or body is None) and self.only is None)

    def update(self, poses: dict[Actor, Frames], ground: Floats, mark: tuple[Floats, str] | None) -> None:
        """Draw one moment.

        Args:
            poses: where the joints of each actor are on the stage.
            ground: (2,) x and z of what is followed [m].
            mark: position (3,) and name of the joint that is selected, or None.
        """
        here = self.following and self.only is None
        offset = np.array([-ground[0], 0.0, -ground[1]]) if here else np.zeros(3)
        poses, mark = (poses, mark) if self.only is None else ({}, None)
        with self._server.atomic():
            if not np.array_equal(offset, self.offset):
                self.offset = offset
                self.world.position = offset
                self._floor.position = np.fmod(offset, self._tile)  # the ground repeats, so it never ends
            for actor, on_stage in poses.items():
                frames = Frames(on_stage.skeleton, on_stage.positions + offset, on_stage.orientations)
                body, bones = self._looks[actor]
                if self.look != "bones" and body is not None:
                    body.update(frames)
                if self.look != "body" or body is None:
                    bones.update(frames)
            self._mark.visible = self._label.visible = mark is not None
            if mark is not None:
                self._mark.position = mark[0] + offset
                self._label.position = mark[0] + offset + np.array([0.0, 0.03, 0.0])
                self._label.text = mark[1]

    @property
    def shadows(self) -> bool:
        """Whether bodies cast shadows: half of the drawing, where a browser draws without a graphics card."""
        return bool(self._sun.cast_shadow)

    @shadows.setter
    def shadows(self, cast: bool) -> None:
        self._sun.cast_shadow = cast

    def frame(self, actors: tuple[Actor, ...], client: viser.ClientHandle | None = None) -> None:
        """Point the camera at the bodies: in one window, or in all of them and in those still to come."""
        look_at, position = self._viewpoint(actors)
        self._size_floor(float(np.linalg.norm(position - look_at)))
        windows = self._server.get_clients().values() if client is None else (client,)
        for window in windows:
            with window.atomic():
                window.camera.fov = FIELD
                window.camera.position = position
                window.camera.look_at = look_at
        if client is None:
            initial = self._server.initial_camera
            initial.fov = FIELD
            initial.position = position
            initial.look_at = look_at

    def _size_floor(self, far: float) -> None:
        """Fit the squares of the ground to a view from `far` metres: half a metre for people, more for giants."""
        factor = float(10.0 ** np.round(np.log10(max(far, 1e-3) / 5.5)))
        if factor != self._tile / TILE:
            self._tile = TILE * factor
            self._floor.cell_size, self._floor.section_size = TILE / 4 * factor, self._tile
            self._floor.width = self._floor.height = 30 * self._tile
            self._floor.fade_distance = max(8 * self._tile, 3 * far)

    def clear(self) -> None:
        """Take every body off the stage."""
        self.show(())

    def _make(self, actor: Actor) -> tuple[MeshLook | None, BoneLook]:
        self._names += 1
        name = f"/body{self._names}"
        start, tones = actor.frames(0.0), theme.tones(actor.hue)
        depth = THINNER * float(np.ptp(actor.box[:, 1])) if actor.ghost else 0.0
        body: MeshLook | None = None
        character, volumes = actor.skeleton.character, volumes_of(actor.body)
        if character is not None and character.meshes and not (actor.volumes_only and volumes is not None):
            body = character_look(self._scene, name, character, start, tones[0], depth)
        elif volumes is not None:
            body = volume_look(self._scene, name, volumes, start, tones, depth)
        return body, BoneLook(self._scene, name, start, stretches_bones(actor.motion.pose), tones)

    def _arrange(self, actors: tuple[Actor, ...]) -> None:
        """Position the actors: beside each other on a line along x, or over each other where their files have them.

        What stands far below the ground, as robots do whose origin is their hips, is lifted onto it. Extras stay where
        their tabs have them.
        """
        actors = tuple(actor for actor in actors if not actor.extra)
        edge = 0.0
        for index, actor in enumerate(actors):
            low, high = actor.box
            lift = -low[1] if low[1] < -0.1 * (high[1] - low[1]) else 0.0
            actor.position = np.array([0.0, lift, 0.0])
            if self.arrangement == "over" or len(actors) == 1:
                continue
            edge = edge - low[0] if index else 0.0
            start = actor.motion.pose.translation[0]
            actor.position = np.array([edge - start[0], lift, -start[2]])
            edge += high[0] + 0.25

    def _viewpoint(self, actors: tuple[Actor, ...]) -> tuple[Floats, Floats]:
        """Return a point to look at and one to look from, (3,) each [m]."""
        if self.only is not None:
            low, high = self.only
        elif not actors:
            low, high = np.array([-0.5, 0.0, -0.5]), np.array([0.5, 1.8, 0.5])
        else:
            leader = actors[0].path_at(0.0) if self.following else np.zeros(2)
            shift = [np.insert(actor.path_at(0.0) - leader, 1, 0.0) for actor in actors]
            lift = [np.array([0.0, actor.position[1], 0.0]) for actor in actors]
            low = np.min([actor.box[0] + s + up for actor, s, up in zip(actors, shift, lift)], axis=0)
            high = np.max([actor.box[1] + s + up for actor, s, up in zip(actors, shift, lift)], axis=0)
            low[1] = min(low[1], 0.0)
        centre, size = (low + high) / 2, np.maximum(high - low, 0.2)
        half = np.tan(FIELD / 2)
        wide = float(np.hypot(size[0], size[2]))
        far = max(size[1] / (2 * half * BODY_FRACTION), wide / (2 * half * 1.35)) + 0.3 * wide
        centre[1] -= LOWER * 2 * half * far  # the timeline covers the lower end of a window
        return centre, centre + DIRECTION * far


def _dress(server: viser.ViserServer) -> viser.DirectionalLightHandle:
    """Set up lights, background and the panel's colours; returns the sun."""
    server.gui.configure_theme(
        titlebar_content=None,
        control_width="medium",
        show_logo=False,
        show_share_button=False,
        brand_color=theme.BRAND,
    )
    server.gui.main_panel.dock_right()
    scene = server.scene
    scene.set_up_direction("+y")
    # A soft sun from the front left, a cool sky, and a room around for what shines.
    scene.configure_default_lights(enabled=False)
    scene.configure_environment_map("studio", environment_intensity=0.3)
    sun = scene.add_light_directional(
        "/sun", color=(255, 246, 236), intensity=1.45, cast_shadow=True, position=(2.6, 5.0, 3.2)
    )
    scene.add_light_directional("/rim", color=(206, 224, 255), intensity=0.6, position=(-3.0, 2.5, -4.0))
    scene.add_light_hemisphere("/air", sky_color=(235, 242, 250), ground_color=(190, 180, 170), intensity=0.5)
    steps = np.linspace(0.0, 1.0, 256)[:, None, None] ** 0.8
    sky = np.array(theme.SKY_TOP) * (1 - steps) + np.array(theme.SKY_BOTTOM) * steps
    scene.set_background_image(np.broadcast_to(sky, (256, 16, 3)).astype(np.uint8), format="png")
    return sun


def _floor(scene: viser.SceneApi) -> viser.GridHandle:
    return scene.add_grid(
        "/floor",
        width=30 * TILE,
        height=30 * TILE,
        plane="xz",
        cell_size=TILE / 4,
        cell_color=theme.GRID,
        cell_thickness=1.0,
        section_size=TILE,
        section_color=theme.GRID_STRONG,
        section_thickness=1.0,
        fade_distance=8 * TILE,
        fade_strength=1.5,
        shadow_opacity=0.28,
        plane_color=theme.FLOOR,
        plane_opacity=0.9,
    )
