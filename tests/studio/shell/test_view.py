"""What is seen: views of the camera, the floor and its patches, themes, pictures, the skin of a body."""

import importlib.util
import io
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import posable.math as pm
from posable import samples
from posable.body import figure
from posable.compute import PosableError, compiling, library
from posable.formats import load
from posable.skeleton import Pose
from posable.studio import Session, Studio
from posable.studio.core.actor import actor_of
from posable.studio.core.files import read_motion
from posable.studio.core.progress import CompileWatch, Progress
from posable.studio.view import pictures
from posable.studio.view.camera import FIELD, VIEWS, direction_of, facing, seen_from
from posable.studio.view.floor import PATCHES, patches_below
from posable.studio.view.skin import _spread, skin_of

RNG = np.random.default_rng(3)


class TestCamera:
    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("size", [(0.5, 1.8, 0.4), (3.0, 0.3, 0.3), (0.2, 0.2, 4.0)])
    def test_the_whole_box_is_in_the_picture(self, view: str, size: tuple[float, float, float]):
        """A pinhole camera, computed here: every corner within the field of view, and the box large in it."""
        box = np.array([np.zeros(3), size]) + np.array([1.0, 0.0, -2.0])
        look_at, position = seen_from(box, direction_of(view))
        back = (position - look_at) / np.linalg.norm(position - look_at)
        right = np.cross([0.0, 1.0, 0.0], back)
        right /= np.linalg.norm(right)
        up = np.cross(back, right)
        corners = np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        seen = corners - position
        depth = -seen @ back
        assert (depth > 0.0).all()
        high = np.abs(seen @ up / depth) / np.tan(FIELD / 2)
        wide = np.abs(seen @ right / depth) / np.tan(FIELD / 2)
        assert high.max() <= 1.0 and wide.max() <= 1.3 + 1e-9
        assert max(high.max(), wide.max() / 1.3) > 0.5

    @pytest.mark.parametrize("angle", [0.0, 1.0, -2.5, np.pi])
    def test_the_front_of_a_body_is_where_it_faces_however_it_turned(self, angle: float):
        body = figure()
        turn = pm.axis_angle(np.array([0.0, 1.0, 0.0]), np.array(angle))
        standing = body.neutral_pose
        rotations = standing.rotations.copy()
        rotations[0] = pm.multiply(turn, rotations[0])
        pose = Pose(standing.translation, rotations)
        motion = samples.walk(body)
        actor = actor_of(motion, body)
        actor.pose_override = pose
        world = body.skeleton.forward(pose).positions
        # The toes are ahead of the ankles, the left hip is to the left of the right one.
        ahead = world[body.index("left_toes")] - world[body.index("left_foot")]
        left = world[body.index("left_upper_leg")] - world[body.index("right_upper_leg")]
        turned = facing(actor, 0.0)
        assert direction_of("Front", turned) @ ahead > 0.9 * np.linalg.norm(ahead[[0, 2]])
        assert direction_of("Side", turned) @ left > 0.9 * np.linalg.norm(left)
        assert direction_of("Top", turned)[1] > 0.99

    def test_an_unknown_view_is_refused_by_name(self, studio: Studio):
        with pytest.raises(PosableError, match="below"):
            studio._stage_bar.look_from("from below", None)


class TestFloor:
    def test_a_patch_lies_below_each_part_that_is_near_the_ground(self):
        foot = RNG.uniform([0.1, 0.0, -0.2], [0.2, 0.05, 0.1], size=(400, 3))
        hand = RNG.uniform([1.0, 0.5, 1.0], [1.1, 0.6, 1.1], size=(200, 3))
        knee = RNG.uniform([-0.5, 0.02, 0.0], [-0.4, 0.1, 0.1], size=(200, 3))
        vertices = np.concatenate([foot, hand, knee]).astype(np.float32)
        owners = np.repeat([7, 8, 3], [400, 200, 200])
        patches = patches_below(vertices, owners)
        assert len(patches) == 2, "the hand is half a metre above"
        below_foot = patches[np.argmax(patches[:, 0])]
        low = foot[foot[:, 1] < 0.035]
        middle, half = (low.min(axis=0) + low.max(axis=0)) / 2, np.ptp(low, axis=0) / 2
        np.testing.assert_allclose(below_foot[:4], [middle[0], middle[2], half[0], half[2]], atol=1e-6)
        assert below_foot[4] > 0.95 > patches[np.argmin(patches[:, 0])][4] > 0.0
        assert patches_below(hand.astype(np.float32), owners[400:600]).shape == (0, 5)

    def test_a_foot_that_stands_leaves_a_patch_and_one_that_is_lifted_does_not(self, session: Session):
        session.stage.shadows = True
        actor = session.open_sample("walk", keep=False)
        floor, shown = session.stage._floor, []
        before = floor.show_patches
        floor.show_patches = lambda patches: (shown.append(patches), before(patches))
        motion, body = actor.motion, actor.body
        world = motion.skeleton.forward(motion.pose).positions
        lift = world[:, body.index("right_toes"), 1]
        moment = int(np.argmax(lift))
        session.draw(moment / motion.fps)
        del floor.show_patches
        feet = [world[moment, body.index(f"{side}_toes")] + session.stage.offset for side in ("left", "right")]
        near = [np.linalg.norm(shown[-1][:, :2] - foot[[0, 2]], axis=1).min() for foot in feet]
        assert near[0] < 0.12 < near[1]

    def test_more_patches_than_there_is_room_for_are_left_out(self, session: Session):
        many = np.column_stack([RNG.uniform(size=(PATCHES + 9, 4)), np.linspace(0.0, 1.0, PATCHES + 9)])
        session.stage._floor.show_patches(many)
        shown = session.stage._floor._patches.batched_opacities
        assert (shown > 0).sum() % PATCHES == 0 and shown.min() >= 0.0
        session.stage._floor.show_patches(many[:0])
        assert session.stage._floor._patches.batched_opacities.max() == 0.0


def test_the_dark_theme_changes_panel_sky_and_floor_and_comes_back(session: Session):
    stage = session.stage
    light = (stage._floor.grid.plane_color, stage._air.intensity)
    session.page.receive(None, "dark", True)
    assert stage.dark and sum(stage._floor.grid.plane_color) < sum(light[0]) / 2
    session.page.receive(None, "dark", False)
    assert not stage.dark and (stage._floor.grid.plane_color, stage._air.intensity) == light


class _Client:
    """A window that draws the time of the clock as a grey."""

    def __init__(self, session: Session) -> None:
        self.session, self.sent, self.drawn = session, [], []

    def get_render(self, height: int, width: int, transport_format: str, timeout: float) -> np.ndarray:
        assert self.session.shows(self.session.time), "drawn before it is filmed"
        self.drawn.append(self.session.time)
        grey = int(255 * self.session.time / max(self.session.clock.duration, 1e-9))
        return np.full((height, width, 4 if transport_format == "png" else 3), grey, np.uint8)

    def send_file_download(self, name: str, content: bytes, save_immediately: bool) -> None:
        self.sent.append((name, content))


class TestPictures:
    def test_a_picture_is_a_png_of_what_the_window_shows(self, studio: Studio, session: Session):
        window = _Client(session)
        session.clock.seek(session.clock.duration)
        session.draw(session.time)
        session.page.receive(window, "picture", [64, 48])
        ((name, content),) = window.sent
        picture = Image.open(io.BytesIO(content))
        assert name == "chain.png" and picture.size == (64, 48) and picture.getpixel((5, 5)) == (255, 255, 255)

    @pytest.mark.parametrize("suffix", [".gif", ".png", ".mp4"])
    def test_a_video_has_every_moment_once_and_in_order(self, studio: Studio, session: Session, suffix: str):
        if suffix == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
            pytest.skip("imageio-ffmpeg is not installed")
        window = _Client(session)
        session.server.get_clients = lambda: {0: None}  # somebody looks, so the loop draws
        studio._newcomers.set()
        session._show_message = lambda *_: None
        try:
            session.page.receive(window, "video", [suffix, 65, 33, 0.2, 5.0])
            studio._stage_bar._filming.join(120)
        finally:
            del session.server.get_clients, session._show_message
        fps = {".gif": 25, ".png": 25, ".mp4": 30}[suffix]
        np.testing.assert_allclose(window.drawn, np.arange(0.2, 1.0 - 1e-9, 1 / fps), atol=1e-9)
        ((name, content),) = window.sent
        assert name == f"chain{suffix}"
        if suffix == ".mp4":
            assert content[4:8] == b"ftyp" and len(content) > 500
            return
        film = Image.open(io.BytesIO(content))
        assert film.size == (64, 32)
        assert film.n_frames == len(window.drawn) or suffix == ".gif", "a GIF holds frames that look alike longer"
        greys, lasting = [], 0.0
        for k in range(film.n_frames):
            film.seek(k)
            greys.append(film.convert("RGB").getpixel((3, 3))[0])
            lasting += film.info["duration"] / 1000
        assert greys == sorted(greys) and abs(lasting - len(window.drawn) / fps) < 1e-6

    def test_the_clock_goes_on_after_a_video_as_before(self, studio: Studio, session: Session):
        window = _Client(session)
        session.server.get_clients = lambda: {0: None}
        studio._newcomers.set()
        session._show_message = lambda *_: None
        session.clock.pause()
        session.clock.seek(0.7)
        try:
            session.page.receive(window, "video", [".gif", 20, 20, 0.0, 0.3])
            studio._stage_bar._filming.join(60)
        finally:
            del session.server.get_clients, session._show_message
        assert session.time == 0.7 and not session.clock.playing and session.progress.shown == {}

    def test_mp4_without_ffmpeg_says_what_to_install(self, session: Session, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
        session.page.receive(_Client(session), "video", [".mp4", 64, 48, 0.0, 1.0])
        assert session.message[0] == "error" and "posable[video]" in session.message[1]

    def test_a_film_that_would_fill_the_memory_is_refused_with_a_way_out(self):
        with pytest.raises(PosableError, match="MP4"):
            pictures.video_times(".gif", 0.0, 600.0)
        assert len(pictures.video_times(".mp4", 0.0, 600.0)) == 18_000

    def test_a_window_that_is_gone_is_one_sentence(self, session: Session):
        class Gone:
            def get_render(self, *_: object, **__: object) -> np.ndarray:
                raise RuntimeError("client disconnected")

        session.page.receive(Gone(), "picture", [64, 48])
        assert session.message[0] == "error" and "window" in session.message[1]
        session.page.receive(Gone(), "picture", [0, 48])
        assert "0 by 48" in session.message[1]


class TestProgress:
    def test_kernels_that_compile_are_shown_and_gone_when_they_are_there(self, monkeypatch: pytest.MonkeyPatch):
        told: list[list[dict[str, object]]] = []

        class Page:
            def show(self, topic: str, value: list[dict[str, object]]) -> None:
                assert topic == "progress"
                told.append(value)

        watch = CompileWatch(Progress(Page()))
        watch.close()
        monkeypatch.setattr(compiling, "build_progress", lambda: 0.4)
        monkeypatch.setattr(library, "why_not", lambda: "")
        watch.look()
        assert told == [], "a studio that has its library does not wait for a build that runs elsewhere"
        monkeypatch.setattr(library, "why_not", lambda: "there is none")
        watch.look()
        assert told[-1][0]["fraction"] == 0.4 and "compiled" in str(told[-1][0]["text"])
        monkeypatch.setattr(compiling, "jit_seconds", lambda: 2.0)
        watch.look()
        assert len(told[-1]) == 2 and told[-1][1]["fraction"] is None
        sent = len(told)
        watch.look()
        assert len(told) == sent, "only what differs is sent"
        monkeypatch.setattr(compiling, "build_progress", lambda: None)
        monkeypatch.setattr(compiling, "jit_seconds", lambda: 0.0)
        watch.look()
        assert told[-1] == []

    def test_it_is_shown_while_somebody_holds_the_session(self, studio: Studio, session: Session, monkeypatch):
        """Whoever waits for a kernel may hold the lock."""
        monkeypatch.setattr(compiling, "jit_seconds", lambda: 5.0)
        with session.lock:
            looking = threading.Thread(target=studio._watch.look)
            looking.start()
            looking.join(20)
            assert not looking.is_alive() and "jit" in session.progress.shown
        monkeypatch.undo()
        studio._watch.look()


class TestSkin:
    def test_the_skin_lies_on_the_volumes_everywhere(self):
        """In the pose in which it is made, every vertex is close to a finely sampled surface of some volume."""
        from scipy.spatial import cKDTree

        body = figure()
        volumes, frames = body.volumes, body.skeleton.forward(_spread(body))
        posed = _posed(skin_of(volumes, body.skeleton, body), frames)
        surface = []
        for k in range(len(volumes)):
            own = volumes.joints[k]
            vertices, faces = volumes.mesh(k, 48)
            mix = RNG.dirichlet(np.ones(3), size=(len(faces), 12))
            points = np.concatenate([vertices, (mix @ vertices[faces]).reshape(-1, 3)])
            surface.append(frames.positions[own] + pm.rotate(frames.orientations[own], points))
        distance, _ = cKDTree(np.concatenate(surface)).query(posed)
        assert distance.max() < 0.02 and np.median(distance) < 0.004

    def test_the_middle_of_a_forearm_is_rigid_and_the_elbow_bends_without_a_gap(self):
        body = figure()
        skin = skin_of(body.volumes, body.skeleton, body)
        elbow = body.index("left_lower_arm")
        straight, bent = body.neutral_pose, body.neutral_pose
        rotations = bent.rotations.copy()
        rotations[elbow] = pm.multiply(rotations[elbow], pm.axis_angle(np.array([1.0, 0.0, 0.0]), np.array(-1.6)))
        bent = bent.replace(rotations=rotations)
        posed = [_posed(skin, body.skeleton.forward(pose)) for pose in (straight, bent)]
        edges = np.concatenate([skin.faces[:, [k, (k + 1) % 3]] for k in range(3)])
        lengths = [np.linalg.norm(each[edges[:, 0]] - each[edges[:, 1]], axis=1) for each in posed]
        assert lengths[1].max() < 0.06, "no triangle is torn long"
        rigid = (skin.joints[np.arange(len(skin.joints)), skin.weights.argmax(axis=1)] == elbow) & (
            skin.weights.max(axis=1) > 0.999
        )
        assert rigid.sum() > 50
        both = rigid[edges].all(axis=1)
        np.testing.assert_allclose(lengths[0][both], lengths[1][both], atol=1e-9)

    def test_neighbouring_triangles_meet_without_a_crease(self):
        """What a seam is: two volumes that cut into each other meet at an angle. Few edges of the skin do."""
        body = figure()
        skin = skin_of(body.volumes, body.skeleton, body)
        posed = _posed(skin, body.skeleton.forward(body.neutral_pose))
        a, b, c = (posed[skin.faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        area = np.linalg.norm(normal, axis=1)
        normal /= np.maximum(area, 1e-15)[:, None]
        edges = np.sort(np.concatenate([skin.faces[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
        face = np.tile(np.arange(len(skin.faces)), 3)
        order = np.lexsort(edges.T)
        edges, face = edges[order], face[order]
        same = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
        one, other = face[same], face[same + 1]
        large = (area[one] > 2e-5) & (area[other] > 2e-5)
        angle = np.degrees(np.arccos(np.clip((normal[one] * normal[other]).sum(axis=1), -1.0, 1.0)))[large]
        assert large.sum() > 10_000
        assert np.percentile(angle, 90) < 25.0 and (angle > 60.0).mean() < 0.01

    def test_it_faces_outwards(self):
        body = figure()
        skin = skin_of(body.volumes, body.skeleton, body)
        posed = _posed(skin, body.skeleton.forward(body.neutral_pose))
        a, b, c = (posed[skin.faces[:, k]] for k in range(3))
        # The divergence theorem: the volume inside a surface that faces outwards is positive, here some 70 litres.
        inside = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
        assert 0.05 < inside < 0.11

    def test_what_is_sent_is_the_skin_blended_between_its_joints(self, session: Session):
        actor = session.open_sample("boxing", keep=False)
        with session.lock:  # the studio's loop draws the present moment when it likes
            session.draw(0.8)
            frames = actor.frames(0.8)
            expected = _posed(skin_of(actor.body.volumes, actor.skeleton, actor.body), frames) + session.stage.offset
            look = session.stage._looks[actor][0]
            np.testing.assert_allclose(look.posed, expected, atol=1e-5)
            for handle, used in look.plain.parts:
                np.testing.assert_allclose(handle.vertices, expected[used], atol=1e-5)

    def test_bodies_that_are_alike_share_a_skin(self):
        first, second = figure(), figure()
        assert skin_of(first.volumes, first.skeleton, first) is skin_of(second.volumes, second.skeleton, second)


def _posed(skin, frames) -> np.ndarray:
    """Linear blend skinning, written out."""
    posed = np.zeros((len(skin.joints), 3))
    for k in range(skin.joints.shape[1]):
        joint = skin.joints[:, k]
        carried = frames.positions[joint] + pm.rotate(frames.orientations[joint], skin.vertices[:, k])
        posed += skin.weights[:, k, None] * carried
    return posed


def test_the_t_pose_at_the_beginning_of_a_capture_is_left_out(data_dir: Path):
    clips = sorted((data_dir / "cmu").rglob("*.bvh")) if (data_dir / "cmu").exists() else []
    if not clips:
        pytest.skip("no CMU clips in the data")
    raw = load(clips[0])
    shown = read_motion(clips[0], clips[0].name)
    assert len(shown) == len(raw) - 1 and any("T-pose" in note for note in shown.notes)
    np.testing.assert_allclose(shown.pose.rotations[0], raw.pose.rotations[1], atol=1e-12)
