"""The stage: ground, light, cameras, and the bodies on it.

To follow a body, the stage is drawn relative to the body's smoothed path over the floor: the body stays in the middle
of every window, the ground glides, and each window keeps its own camera, which is never taken out of the user's hand.
The bodies' joints are sent where they are seen and not below a node that moves: a browser applies the two kinds of
message a frame apart, which would show as a tremble. What is seldom moved, the gizmos, hangs on the node `/world`.
"""

from __future__ import annotations

import contextlib

import numpy as np
import viser

from ...compute.types import Floats
from ...skeleton import Frames
from ..core.actor import Actor
from . import theme
from .body_meshes import BoneLook, MeshLook, character_look, skin_look, stretches_bones, volume_look, volumes_of
from .camera import CLOSE, DEFAULT, FIELD, direction_of, facing, seen_from
from .floor import NEAR, Floor, patches_below
from .paint import Paint

LOOKS = ("body", "bones", "both")
ARRANGEMENTS = ("beside", "over")
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
        self._sun, self._air = _add_lights(self._scene)
        self._dark = False
        self._floor = Floor(self._scene, theme.LIGHT)
        self._dress()
        server.gui.main_panel.dock_right()
        self.world = self._scene.add_frame("/world", show_axes=False)
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
            self._scene.remove_by_name(bones.node)  # viser makes the node above them, and keeps it
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

    def update(self, poses: dict[Actor, Frames], ground: Floats, mark: tuple[Floats, str, float] | None) -> None:
        """Draw one moment.

        Args:
            poses: where the joints of each actor are on the stage.
            ground: (2,) x and z of what is followed [m].
            mark: position (3,) and name of the joint that is selected, and the size [m] of the handle at it, above
                which the name stands; or None.
        """
        here = self.following and self.only is None
        offset = np.array([-ground[0], 0.0, -ground[1]]) if here else np.zeros(3)
        poses, mark = (poses, mark) if self.only is None else ({}, None)
        with self._server.atomic():
            if not np.array_equal(offset, self.offset):
                self.offset = offset
                self.world.position = offset
                self._floor.move(offset)
            patches = [np.zeros((0, 5))]
            for actor, on_stage in poses.items():
                frames = Frames(on_stage.skeleton, on_stage.positions + offset, on_stage.orientations)
                body, bones = self._looks[actor]
                if self.look != "bones" and body is not None:
                    body.update(frames)
                    if not actor.ghost and self._sun.cast_shadow:
                        patches.append(
                            patches_below(body.posed, body.owners, NEAR * float(np.ptp(actor.box[:, 1])) / 1.75)
                        )
                if self.look != "body" or body is None:
                    bones.update(frames)
            self._floor.show_patches(np.concatenate(patches))
            self._mark.visible, self._label.visible = mark is not None and mark[2] == 0.0, mark is not None
            if mark is not None:
                self._mark.position = mark[0] + offset
                self._label.position = mark[0] + offset + np.array([0.0, 0.03 + 1.1 * mark[2], 0.0])
                self._label.text = mark[1]

    def hit(self, actor: Actor, time: float, origin: Floats, direction: Floats) -> tuple[int, float] | None:
        """Return the joint of an actor whose surface a ray meets first at a time [s], and how far away that is [m].

        None where it meets none, and where the actor has no surface or only its bones are shown. The origin (3,) is on
        the stage [m], the direction (3,) a unit vector.
        """
        body = self._looks[actor][0] if actor in self._looks and self.look != "bones" else None
        return None if body is None else body.hit(actor.frames(time), origin, direction)

    @property
    def shadows(self) -> bool:
        """Whether bodies cast shadows and reflect a room around them.

        Where a browser draws without a graphics card, shadows are half of the drawing, and the light of the room, which
        each window prepares when it opens, takes seven seconds.
        """
        return bool(self._sun.cast_shadow)

    @shadows.setter
    def shadows(self, cast: bool) -> None:
        self._sun.cast_shadow = cast
        self._light()

    @property
    def dark(self) -> bool:
        """Whether stage and panels are dark."""
        return self._dark

    @dark.setter
    def dark(self, dark: bool) -> None:
        if dark != self._dark:
            self._dark = dark
            self._dress()

    def frame(
        self,
        actors: tuple[Actor, ...],
        client: viser.ClientHandle | None = None,
        *,
        view: str | None = None,
        time: float = 0.0,
    ) -> None:
        """Point the camera at the bodies: in one window, or in all of them and in those still to come.

        Args:
            actors: the bodies.
            client: the window; None is all of them.
            view: one of `camera.VIEWS`, seen from the first body; None looks from where the stage's front is.
            time: at which the bodies are looked at [s].
        """
        rotation = facing(actors[0], time) if view is not None and actors and self.only is None else None
        direction = direction_of(view or DEFAULT, rotation)
        self._look(*seen_from(self._box(actors, time), direction), client)

    def frame_joint(self, position: Floats, size: float, client: viser.ClientHandle) -> None:
        """Look at a position on the stage (3,) [m] of a body of a size [m] from near, from where the camera is now."""
        look_at = position + self.offset
        away = np.asarray(client.camera.position, dtype=np.float64) - look_at
        length = float(np.linalg.norm(away))
        direction = away / length if length > 1e-6 else direction_of(DEFAULT)
        self._look(look_at, look_at + direction * CLOSE * size / (2 * np.tan(FIELD / 2)), client)

    def _look(self, look_at: Floats, position: Floats, client: viser.ClientHandle | None) -> None:
        if client is None:
            self._floor.fit(float(np.linalg.norm(position - look_at)))
        windows = self._server.get_clients().values() if client is None else (client,)
        for window in windows:
            # A window that looks from or at that very place stays as it is: viser takes the two one after the other.
            with window.atomic(), contextlib.suppress(ValueError):
                window.camera.fov = FIELD
                window.camera.position = position
                window.camera.look_at = look_at
        if client is None:
            initial = self._server.initial_camera
            initial.fov = FIELD
            initial.position = position
            initial.look_at = look_at

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
        elif volumes is not None and actor.volumes_only:
            body = volume_look(self._scene, name, volumes, start, tones, depth)
        elif volumes is not None:
            body = skin_look(self._scene, name, volumes, start, tones, actor.body, depth)
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

    def _box(self, actors: tuple[Actor, ...], time: float) -> Floats:
        """Return (2, 3) the box of what is seen, where it is drawn at a time [s] [m]."""
        if self.only is not None:
            return self.only
        if not actors:
            return np.array([[-0.5, 0.0, -0.5], [0.5, 1.8, 0.5]])
        leader = actors[0].path_at(time) if self.following else np.zeros(2)
        shift = [np.insert(actor.path_at(time) - leader, 1, actor.position[1]) for actor in actors]
        low = np.min([actor.box[0] + s for actor, s in zip(actors, shift)], axis=0)
        high = np.max([actor.box[1] + s for actor, s in zip(actors, shift)], axis=0)
        low[1] = min(low[1], 0.0)
        return np.stack([low, high])

    def _dress(self) -> None:
        """Put the colours of the theme on panels, sky and floor."""
        palette = theme.DARK if self._dark else theme.LIGHT
        self._server.gui.configure_theme(
            titlebar_content=None,
            control_width="medium",
            dark_mode=self._dark,
            show_logo=False,
            show_share_button=False,
            brand_color=theme.BRAND,
        )
        steps = np.linspace(0.0, 1.0, 256)[:, None, None] ** 0.8
        sky = np.array(palette.sky_top) * (1 - steps) + np.array(palette.sky_bottom) * steps
        self._scene.set_background_image(np.broadcast_to(sky, (256, 16, 3)).astype(np.uint8), format="png")
        self._floor.paint(palette)
        self._light()

    def _light(self) -> None:
        """Set the light from all around: of a room that is reflected, or of the sky alone where that takes too long."""
        light = (theme.DARK if self._dark else theme.LIGHT).light
        self._scene.configure_environment_map("studio" if self.shadows else None, environment_intensity=0.3 * light)
        self._air.intensity = (0.5 if self.shadows else 0.8) * light


def _add_lights(scene: viser.SceneApi) -> tuple[viser.DirectionalLightHandle, viser.HemisphereLightHandle]:
    """Set up the lights, a soft sun from the front left and a cool sky; returns the sun and the sky's light."""
    scene.set_up_direction("+y")
    scene.configure_default_lights(enabled=False)
    sun = scene.add_light_directional(
        "/sun", color=(255, 246, 236), intensity=1.45, cast_shadow=True, position=(2.6, 5.0, 3.2)
    )
    scene.add_light_directional("/rim", color=(206, 224, 255), intensity=0.6, position=(-3.0, 2.5, -4.0))
    air = scene.add_light_hemisphere("/air", sky_color=(235, 242, 250), ground_color=(190, 180, 170), intensity=0.5)
    return sun, air
