"""The studio without a browser: clock, history, session, files, tabs, network."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import PosableError
from posable.skeleton import Frames, Motion, Pose, Skeleton, SkinnedMesh
from posable.studio import Session, Studio
from posable.studio.clock import Clock
from posable.studio.files import LARGEST_UPLOAD, encoded, open_upload, upload_name
from posable.studio.history import Command, History
from posable.studio.looks import MOST_COLOURS, Skin, _colour_groups, _corners, volume_look
from posable.studio.network import allowed, free_port, is_loopback
from posable.studio.tabs.plot import POINTS, QUANTITIES, sampled
from posable.studio.theme import plain
from posable.studio.tracks import Track, nearest_joint, track_of


def chain_motion(frames: int = 31, fps: float = 30.0, name: str = "chain") -> Motion:
    """A three-joint chain along +X that travels along +Z; nobody's body."""
    skeleton = Skeleton(["root", "middle", "tip"], [-1, 0, 1], [[0, 1, 0], [0.3, 0, 0], [0.3, 0, 0]])
    times = np.arange(frames) / fps
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 3, 1))
    rotations[:, 1] = pm.axis_angle(np.array([0.0, 0.0, 1.0]), np.sin(times))
    return Motion(skeleton, Pose(np.stack([0 * times, 1 + 0 * times, times], axis=-1), rotations), fps, name=name)


@pytest.fixture(scope="module")
def studio():
    with Studio(chain_motion(), port=0, open_browser=False) as running:
        yield running


@pytest.fixture
def session(studio: Studio) -> Session:
    """The studio's session with one chain on the stage and nothing to undo."""
    session = studio.session
    session.clock.pause()
    session.add(chain_motion(), keep=False)
    session.history.clear()
    session.select(None)
    session.message = None
    return session


class FakeTime:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def clock_of(duration: float) -> tuple[Clock, FakeTime]:
    fake = FakeTime()
    clock = Clock(fake)
    clock.duration = duration
    return clock, fake


class TestClock:
    def test_time_passes_only_while_playing(self):
        clock, fake = clock_of(10.0)
        fake.now += 3
        assert clock.time == 0.0
        clock.play()
        fake.now += 3
        assert clock.time == pytest.approx(3.0)
        clock.pause()
        fake.now += 3
        assert clock.time == pytest.approx(3.0)

    def test_a_loop_goes_around_and_no_loop_stops_at_the_end(self):
        clock, fake = clock_of(2.0)
        clock.play()
        fake.now += 5
        assert clock.playing and clock.time == pytest.approx(1.0)
        clock.loop = False
        fake.now += 5
        assert clock.time == 2.0 and not clock.playing

    def test_play_at_the_end_starts_again(self):
        clock, fake = clock_of(2.0)
        clock.loop = False
        clock.seek(2.0)
        clock.play()
        fake.now += 0.5
        assert clock.time == pytest.approx(0.5)

    def test_a_change_of_speed_does_not_jump(self):
        clock, fake = clock_of(10.0)
        clock.play()
        fake.now += 2
        clock.speed = 0.5
        assert clock.time == pytest.approx(2.0)
        fake.now += 2
        assert clock.time == pytest.approx(3.0)

    def test_backwards_from_the_start_begins_at_the_end(self):
        clock, fake = clock_of(4.0)
        clock.speed = -1.0
        clock.play()
        fake.now += 1
        assert clock.time == pytest.approx(3.0)

    def test_a_timeline_of_no_length_never_plays(self):
        clock, fake = clock_of(0.0)
        clock.play()
        fake.now += 1
        assert not clock.playing and clock.time == 0.0

    def test_shortening_the_timeline_pulls_the_time_inside(self):
        clock, _ = clock_of(10.0)
        clock.seek(8.0)
        clock.duration = 3.0
        assert clock.time == 3.0

    @pytest.mark.parametrize("speed", [0.0, float("nan"), float("inf"), 1e6])
    def test_an_impossible_speed_is_refused(self, speed):
        with pytest.raises(PosableError, match="speed"):
            clock_of(1.0)[0].speed = speed

    def test_impossible_times_are_refused(self):
        clock, _ = clock_of(1.0)
        with pytest.raises(PosableError, match="NaN"):
            clock.seek(float("nan"))
        with pytest.raises(PosableError, match="timeline"):
            clock.duration = -1.0

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["play", "pause", "toggle", "seek", "step", "speed", "loop", "duration", "wait"]),
                st.floats(-20, 20),
            ),
            max_size=40,
        )
    )
    def test_the_time_is_always_on_the_timeline(self, actions):
        clock, fake = clock_of(3.0)
        for action, value in actions:
            if action == "wait":
                fake.now += abs(value)
            elif action in ("seek", "step"):
                getattr(clock, action)(value)
            elif action == "speed":
                clock.speed = value or 1.0
            elif action == "loop":
                clock.loop = value > 0
            elif action == "duration":
                clock.duration = abs(value)
            else:
                getattr(clock, action)()
            assert 0.0 <= clock.time <= clock.duration

    def test_stepping_visits_every_frame_and_comes_around(self):
        clock, _ = clock_of(30 / 30)
        visited = []
        for _ in range(31):
            visited.append(round(clock.time * 30))
            clock.step(1 / 30)
        assert visited == list(range(31))
        assert clock.time == 0.0
        clock.step(-1 / 30)
        assert clock.time == clock.duration


class TestHistory:
    @given(st.lists(st.sampled_from(["a", "b", "c", "undo", "redo"]), max_size=60))
    def test_it_behaves_like_a_list_with_a_cursor(self, actions):
        history, state = History(limit=1000), []
        done: list[str] = []
        undone: list[str] = []
        for action in actions:
            if action == "undo":
                assert history.undo() == (done[-1] if done else None)
                undone += [done.pop()] if done else []
            elif action == "redo":
                assert history.redo() == (undone[-1] if undone else None)
                done += [undone.pop()] if undone else []
            else:
                history.run(Command(action, lambda letter=action: state.append(letter), state.pop))
                done.append(action)
                undone.clear()
            assert state == done
            assert history.undoable == (done[-1] if done else None)
            assert history.redoable == (undone[-1] if undone else None)

    def test_a_command_that_fails_is_not_remembered(self):
        history = History()

        def fail() -> None:
            raise PosableError("no")

        with pytest.raises(PosableError):
            history.run(Command("fail", fail, lambda: None))
        assert history.undoable is None

    def test_the_oldest_are_forgotten(self):
        history = History(limit=3)
        for letter in "abcde":
            history.run(Command(letter, lambda: None, lambda: None))
        assert [history.undo() for _ in range(4)] == ["e", "d", "c", None]


class TestTracks:
    def test_a_skeleton_without_roles_has_no_body_and_is_shown_all_the_same(self):
        assert track_of(chain_motion()).body is None

    def test_an_empty_motion_and_one_with_nan_are_refused(self):
        motion = chain_motion()
        with pytest.raises(PosableError, match="no frames"):
            track_of(motion[0:0])
        broken = motion.pose.translation.copy()
        broken[3] = np.nan
        with pytest.raises(PosableError, match="not finite"):
            track_of(motion.replace(pose=motion.pose.replace(translation=broken)))

    @pytest.mark.parametrize("frames", [1, 2, 3, 10, 31])
    def test_the_calm_way_of_a_straight_walk_is_the_walk(self, frames):
        track = track_of(chain_motion(frames))
        for moment in np.linspace(0.0, track.motion.duration, 7):
            np.testing.assert_allclose(track.ground(float(moment)), [0.0, moment], atol=1e-9)

    def test_the_box_holds_the_body_at_every_frame(self):
        track = track_of(chain_motion())
        low, high = track.box
        for moment in track.motion.times:
            places = track.frames(moment).positions - np.insert(track.ground(moment), 1, 0.0)
            assert (places >= low - 1e-9).all() and (places <= high + 1e-9).all()

    def test_a_ray_through_a_bone_finds_the_joint_that_turns_it(self):
        frames = track_of(chain_motion(1)).frames(0.0)
        middle_of_bone = frames.positions[1] * 0.5 + frames.positions[2] * 0.5
        found = nearest_joint(frames, middle_of_bone + np.array([0.0, 0.0, 5.0]), np.array([0.0, 0.0, -2.0]), 0.05)
        assert found is not None and found[0] == 1 and found[1] < 1e-9

    def test_a_ray_that_points_away_finds_nothing(self):
        frames = track_of(chain_motion(1)).frames(0.0)
        assert nearest_joint(frames, frames.positions[1] + [0, 0, 5], np.array([0.0, 0.0, 1.0]), 1.0) is None

    @given(st.integers(0, 10_000))
    def test_the_nearest_joint_is_nearest_by_brute_force(self, seed):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 6))
        parents = [-1] + [int(rng.integers(0, k)) for k in range(1, count)]
        skeleton = Skeleton([f"j{k}" for k in range(count)], parents, rng.normal(size=(count, 3)))
        frames = skeleton.forward(skeleton.rest)
        origin, direction = rng.normal(size=3) * 3, rng.normal(size=3)
        found = nearest_joint(frames, origin, direction, np.inf)
        assert found is not None
        ray = origin + np.linspace(0, 30, 3001)[:, None] * direction / np.linalg.norm(direction)
        bones = [(j, j) for j in range(count)] + [(p, k) for k, p in enumerate(parents) if p >= 0]
        share = np.linspace(0, 1, 101)[:, None]
        brute = np.inf
        for tail, tip in bones:
            points = frames.positions[tail] * (1 - share) + frames.positions[tip] * share
            brute = min(brute, float(np.linalg.norm(points[:, None] - ray[None], axis=-1).min()))
        assert found[1] <= brute + 1e-9
        assert found[1] >= brute - 0.03  # the brute force samples ray and bones


class TestLooks:
    @given(st.integers(0, 10_000))
    def test_vertices_are_posed_as_linear_blend_skinning_says(self, seed):
        rng = np.random.default_rng(seed)
        joints = int(rng.integers(1, 6))
        skeleton = Skeleton([f"j{k}" for k in range(joints)], range(-1, joints - 1), rng.normal(size=(joints, 3)))
        meshes = []
        binds = [_turned(skeleton, rng), _turned(skeleton, rng)]
        for k in range(int(rng.integers(1, 4))):
            count, most = int(rng.integers(3, 9)), int(rng.integers(1, 5))
            weights = rng.random((count, most))
            bind = binds[k % 2]
            meshes.append(
                SkinnedMesh(
                    f"mesh{k}",
                    rng.normal(size=(count, 3)),
                    rng.integers(0, count, size=(4, 3)).astype(np.int32),
                    rng.integers(0, joints, size=(count, most)).astype(np.int32),
                    weights / weights.sum(axis=1, keepdims=True),
                    bind.positions,
                    bind.orientations,
                )
            )
        pose = _turned(skeleton, rng)
        expected = np.concatenate([mesh.posed(pose) for mesh in meshes])
        np.testing.assert_allclose(Skin.of_meshes(tuple(meshes)).posed(pose), expected, atol=1e-5)

    def test_a_person_is_few_messages_and_follows_its_joints_rigidly(self, session: Session):
        track = session.open_sample("walk", keep=False)
        start, later = track.frames(0.0), track.frames(0.4)
        look = volume_look(session.scene, "/test", track.body.volumes, start, ((1, 2, 3), (4, 5, 6), (7, 8, 9)))
        assert len(look._parts) <= 3
        look.update(later)
        volumes = track.body.volumes
        posed = look._skin.posed(later)
        joint = int(volumes.joints[0])
        first = posed[: len(volumes.mesh(0, _corners(volumes, 0))[0])]
        local = pm.rotate(pm.conjugate(later.orientations[joint]), first - later.positions[joint])
        np.testing.assert_allclose(local, volumes.mesh(0, _corners(volumes, 0))[0], atol=1e-5)
        look.remove()

    def test_many_colours_become_few_and_no_face_is_lost(self):
        rng = np.random.default_rng(1)
        faces = np.arange(3000).reshape(1000, 3)
        groups = _colour_groups(faces, rng.uniform(0, 255, size=(1000, 3)))
        assert 1 < len(groups) <= MOST_COLOURS
        assert sorted(np.concatenate([part for _, part in groups])[:, 0]) == list(range(0, 3000, 3))
        assert _colour_groups(faces[:0], np.zeros((0, 3))) == []

    def test_bones_reach_from_joint_to_child_also_where_a_file_moves_joints(self, session: Session):
        motion = chain_motion()
        offsets = np.tile(motion.skeleton.offsets, (len(motion), 1, 1))
        offsets[:, 2, 0] += np.linspace(0.0, 0.5, len(motion))
        track = session.add(motion.replace(pose=motion.pose.replace(offsets=offsets)), keep=False)
        session.draw(track.motion.duration)
        look = session.stage._looks[track][1][0]
        frames = track.frames(track.motion.duration)
        scales, turns = look._bones.batched_scales, look._bones.batched_wxyzs
        tips = pm.rotate(
            np.asarray(turns, dtype=float), np.stack([0 * scales[:, 0], scales[:, 1], 0 * scales[:, 0]], -1)
        )
        np.testing.assert_allclose(tips, frames.positions[1:] - frames.positions[:-1], atol=1e-5)


def _turned(skeleton: Skeleton, rng: np.random.Generator) -> Frames:
    quaternions = rng.normal(size=(len(skeleton), 4))
    return skeleton.forward(Pose(rng.normal(size=3), quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)))


class TestSession:
    def test_opening_can_be_undone_and_redone(self, session: Session):
        first = session.tracks
        track = session.add(chain_motion(name="other"))
        assert session.tracks == (*first, track) and session.active is track
        assert session.undo() == "Open other"
        assert session.tracks == first and session.active is first[0]
        assert session.redo() == "Open other"
        assert session.tracks == (*first, track) and session.active is track

    def test_closing_can_be_undone(self, session: Session):
        track = session.tracks[0]
        session.close_track(track)
        assert session.tracks == () and session.active is None and session.pose is None
        assert session.clock.duration == 0.0
        session.undo()
        assert session.tracks == (track,) and session.clock.duration == track.motion.duration

    def test_replacing_a_motion_keeps_its_name_and_can_be_undone(self, session: Session):
        before = session.motion
        session.replace(chain_motion(61), "Stretch")
        assert len(session.motion) == 61 and session.active.name == "chain"
        assert session.undo() == "Stretch" and session.motion is before

    def test_tabs_can_undo_what_the_session_does_not_know(self, session: Session):
        seen = []
        session.run("Mark", lambda: seen.append(1), seen.clear)
        assert seen == [1]
        session.undo()
        assert seen == []

    def test_the_timeline_lasts_as_long_as_the_longest_motion(self, session: Session):
        session.add(chain_motion(91))
        assert session.clock.duration == pytest.approx(3.0)

    def test_names_of_tracks_differ(self, session: Session):
        for _ in range(3):
            session.add(chain_motion())
        assert [track.name for track in session.tracks] == ["chain", "chain 2", "chain 3", "chain 4"]

    def test_motions_beside_each_other_do_not_touch_and_over_each_other_keep_their_places(self, session: Session):
        session.add(chain_motion())
        session.arrange("beside")
        spans = [track.frames(0.0).positions[:, 0] for track in session.tracks]
        assert spans[0].max() < spans[1].min()
        session.arrange("over")
        for track in session.tracks:
            np.testing.assert_array_equal(track.place, 0.0)
        session.arrange("beside")

    def test_what_hangs_below_the_ground_is_lifted_onto_it(self, session: Session):
        motion = chain_motion()
        sunk = motion.pose.replace(translation=motion.pose.translation - np.array([0.0, 3.0, 0.0]))
        track = session.add(motion.replace(pose=sunk), keep=False)
        lowest = min(track.frames(time).positions[:, 1].min() for time in track.motion.times)
        assert lowest == pytest.approx(0.0, abs=1e-9)

    def test_the_ground_suits_giants_and_dwarfs(self, session: Session):
        cells = {}
        for size in (0.05, 1.0, 40.0):
            motion = chain_motion()
            large = Motion(
                motion.skeleton.scaled(size), motion.pose.replace(translation=motion.pose.translation * size), 30
            )
            session.add(large, keep=False)
            cells[size] = session.stage._floor.cell_size
        assert cells[0.05] < cells[1.0] < cells[40.0]

    def test_unknown_words_are_refused_with_the_known_ones(self, session: Session):
        with pytest.raises(PosableError, match="beside, over"):
            session.arrange("under")
        with pytest.raises(PosableError, match="body, bones, both"):
            session.set_look("fog")
        with pytest.raises(PosableError, match="walk"):
            session.open_sample("swim")

    def test_a_held_pose_is_shown_until_it_is_let_go(self, session: Session):
        rest = session.motion.skeleton.rest
        session.hold(rest)
        np.testing.assert_array_equal(session.pose.rotations, rest.rotations)
        session.hold(None)
        np.testing.assert_array_equal(session.pose.rotations, session.motion[0].rotations)

    def test_a_moment_is_stale_when_time_or_anything_else_moved_on(self, session: Session):
        session.draw(0.25)
        assert not session.stale(0.25)
        assert session.stale(0.5)
        session.hold(session.motion[3])
        assert session.stale(0.25)

    def test_clicking_a_bone_selects_its_joint_and_clicking_the_air_none(self, session: Session):
        class Click:
            client = object()
            ray_origin = (0.45, 1.0, 5.0)
            ray_direction = (0.0, 0.0, -1.0)

        session.clock.seek(0.0)
        session.draw(session.time)
        session.guarded(session._clicked)(Click())
        assert session.selection is not None and session.selection.name == "middle"
        Click.ray_origin = (4.0, 4.0, 5.0)
        session.guarded(session._clicked)(Click())
        assert session.selection is None

    def test_a_selection_goes_with_its_track(self, session: Session):
        session.select(session.tracks[0], "tip")
        session.close_track(session.tracks[0])
        assert session.selection is None

    def test_an_error_in_an_action_becomes_a_message_and_not_an_exception(self, session: Session):
        class Event:
            client = object()

        def known(_):
            raise PosableError("the value is 3; expected 4")

        def unknown(_):
            raise KeyError("surprise")

        session.guarded(known)(Event())
        assert session.message == ("error", "the value is 3; expected 4")
        session.guarded(unknown)(Event())
        assert session.message[0] == "error" and "surprise" in session.message[1]

    def test_values_the_program_assigns_call_nothing(self, session: Session):
        class Event:
            client = None

        session.guarded(lambda _: pytest.fail("called"))(Event())

    def test_listeners_hear_until_they_leave(self, session: Session):
        heard = []
        leave = session.listen(heard.append)
        session.add(chain_motion())
        assert "tracks" in heard and "history" in heard
        leave()
        heard.clear()
        session.undo()
        assert heard == []

    def test_gizmos_of_one_name_replace_each_other(self, session: Session):
        first = session.add_gizmo("target", np.zeros(3), scale=0.2)
        second = session.add_gizmo("target", np.ones(3), scale=0.2)
        assert session.gizmos == {"target": second} and first is not second
        session.remove_gizmo("target")
        session.remove_gizmo("target")
        assert session.gizmos == {}


class TestFiles:
    @pytest.mark.parametrize("suffix", [".bvh", ".npz", ".glb"])
    def test_what_is_saved_opens_again(self, session: Session, tmp_path, suffix):
        target = session.save(str(tmp_path / f"out{suffix}"))
        track = session.open(target, keep=False)
        assert len(track.motion) == 31 and track.motion.fps == pytest.approx(30.0, rel=1e-4)
        names = [name for name in track.motion.skeleton.names if name in ("root", "middle", "tip")]
        assert names == ["root", "middle", "tip"]

    def test_what_is_downloaded_can_be_uploaded(self, session: Session):
        name, content = session.encoded("C:\\somewhere\\my walk.bvh")
        assert name == "my walk.bvh"
        track = session.open_upload(name, content, keep=False)
        assert track.name == "my walk" and len(track.motion) == 31

    @pytest.mark.parametrize(
        "given_name",
        ["../../etc/passwd.bvh", "..\\..\\boot.bvh", "/abs/olute.bvh", "a\0b.bvh", "....bvh", "<b>.bvh", "\n.bvh"],
    )
    def test_a_name_from_a_browser_leads_nowhere(self, given_name):
        kept = upload_name(given_name)
        assert (
            "/" not in kept and "\\" not in kept and not kept.startswith(".") and kept.isprintable() and "<" not in kept
        )

    def test_an_upload_of_rubbish_is_one_clear_error_without_our_folders(self):
        with pytest.raises(PosableError) as caught:
            open_upload("nonsense.bvh", bytes(range(256)) * 10)
        assert "nonsense.bvh" in str(caught.value) and "posable-upload" not in str(caught.value)

    @pytest.mark.parametrize("name", ["program.exe", "noname", "archive.bvh.zip", ""])
    def test_an_upload_of_an_unknown_kind_is_not_written_anywhere(self, name):
        with pytest.raises(PosableError, match=r"\.bvh"):
            open_upload(name, b"MZ")

    def test_an_upload_too_large_is_refused(self, monkeypatch):
        monkeypatch.setattr("posable.studio.files.LARGEST_UPLOAD", 10)
        with pytest.raises(PosableError, match="at most 10"):
            open_upload("big.bvh", b"0" * 11)
        assert LARGEST_UPLOAD > 10

    @pytest.mark.parametrize("path", ["", "  ", "missing.bvh", "/", "walk.doc"])
    def test_a_path_that_cannot_be_opened_is_one_clear_error(self, session: Session, path):
        with pytest.raises(PosableError):
            session.open(path)
        assert len(session.tracks) == 1

    def test_saving_to_an_unknown_kind_or_place_is_one_clear_error(self, session: Session, tmp_path):
        for target in ("", "walk.doc", str(tmp_path / "no" / "walk.bvh"), str(tmp_path)):
            with pytest.raises(PosableError):
                session.save(target)
        with pytest.raises(PosableError, match="doc"):
            encoded(session.motion, "walk.doc")

    def test_nothing_to_save_is_said(self, session: Session):
        session.close_track(session.tracks[0])
        with pytest.raises(PosableError, match="open one first"):
            session.save("walk.bvh")

    def test_a_cmu_clip_is_mended_when_it_is_opened(self, session: Session, cmu):
        track = session.open(cmu / "01_03.bvh", keep=False)
        assert track.name == "01_03" and track.body is not None
        assert 1.0 < track.box[1, 1] < 3.0, "in metres"

    def test_a_studio_open_to_others_neither_opens_nor_saves_by_path(self, session: Session, tmp_path):
        session.paths = False
        try:
            with pytest.raises(PosableError, match="upload"):
                session.open(tmp_path / "walk.bvh")
            with pytest.raises(PosableError, match="download"):
                session.save(tmp_path / "walk.bvh")
        finally:
            session.paths = True


class TestPlot:
    @pytest.mark.parametrize("quantity", QUANTITIES)
    @pytest.mark.parametrize("frames", [1, 2, 31, 5000])
    def test_lines_are_finite_and_few(self, quantity, frames):
        times, values = sampled(chain_motion(frames), ["root", "tip"], quantity)
        assert 2 <= len(times) <= POINTS and len(values) == 2
        assert all(line.shape == times.shape and np.isfinite(line).all() for line in values)

    def test_a_body_that_moves_a_metre_a_second_is_plotted_so(self):
        times, (speed,) = sampled(chain_motion(301), ["root"], "speed [m/s]")
        np.testing.assert_allclose(speed, 1.0, atol=1e-9)
        _, (depth,) = sampled(chain_motion(301), ["root"], "front-back [m]")
        np.testing.assert_allclose(depth, times, atol=1e-9)
        _, (turn,) = sampled(chain_motion(31), ["middle"], "turn from rest [°]")
        assert turn.max() == pytest.approx(np.rad2deg(np.sin(1.0)), abs=1e-6)


class TestNetwork:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8", "LOCALHOST."])
    def test_loopback_is_known(self, host):
        assert is_loopback(host)

    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "example.org", "::", "", "127.0.0.1.example.org"])
    def test_everything_else_is_not_loopback(self, host):
        assert not is_loopback(host)

    def test_only_our_own_page_is_answered(self):
        own = {"Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"}
        assert allowed("127.0.0.1", own)
        assert allowed("127.0.0.1", {"Host": "localhost:8080", "Origin": "http://localhost:8080"})
        assert allowed("127.0.0.1", {"Host": "127.0.0.1:8080"})
        assert not allowed("127.0.0.1", {**own, "Origin": "http://evil.example"})
        assert not allowed("127.0.0.1", {**own, "Origin": "http://127.0.0.1:9999"})
        assert not allowed("127.0.0.1", {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"})
        assert allowed("0.0.0.0", {"Host": "my.machine:8080", "Origin": "http://my.machine:8080"})

    def test_a_page_from_elsewhere_is_cut_off(self, studio: Studio):
        import viser
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        address = studio.url.replace("http", "ws")
        protocol = f"viser-v{viser.__version__}"
        with connect(address, subprotocols=[protocol], origin="http://evil.example") as stranger:
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    stranger.recv(timeout=20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
        with connect(address, subprotocols=[protocol], origin=studio.url, max_size=None) as friend:
            assert friend.recv(timeout=20)

    def test_an_upload_that_is_too_large_or_lies_about_its_size_never_fills_the_memory(
        self, studio: Studio, session: Session
    ):
        from viser import _messages

        server = studio._web.viser
        button = next(iter(server.gui._gui_input_handle_from_uuid))

        def receive(message: object) -> None:
            handled = server._websock_server._handle_incoming_message(0, message)
            asyncio.run_coroutine_threadsafe(handled, server.get_event_loop()).result(20)

        def start(name: str, size: int, parts: int) -> None:
            receive(_messages.FileTransferStartUpload(button, name, f"{name}.bvh", "text/plain", parts, size))

        start("huge", LARGEST_UPLOAD + 1, 300)
        assert "huge" not in server.gui._current_file_upload_states
        assert session.message[0] == "error" and "MB" in session.message[1]
        start("liar", 10, 5)
        assert "liar" in server.gui._current_file_upload_states
        receive(_messages.FileTransferPart(button, "liar", 0, b"x" * 11))
        assert "liar" not in server.gui._current_file_upload_states

    def test_a_taken_port_is_followed_by_the_next(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert free_port("127.0.0.1", port) > port

    @pytest.mark.parametrize(("host", "port"), [("256.1.1.1", 8080), ("203.0.113.7", 8080), ("127.0.0.1", 70000)])
    def test_an_impossible_place_is_one_clear_error(self, host, port):
        with pytest.raises(PosableError):
            Studio(host=host, port=port, open_browser=False).start()

    def test_the_server_listens_on_loopback_only(self, studio: Studio):
        sockets = studio._web.viser._websock_server
        assert sockets._host == "127.0.0.1"
        assert studio.url.startswith("http://127.0.0.1:")


class TestStudio:
    def test_it_starts_with_the_built_in_figure_walking(self):
        with Studio(port=0, open_browser=False) as studio:
            assert studio.session.active.name == "walk"
            assert studio.session.body is not None
            assert studio.session.clock.playing
            assert studio.session.history.undoable is None

    @pytest.mark.parametrize("name", ["walk", "run", "boxing", "reach", "dance", "throw"])
    def test_every_built_in_motion_opens(self, session: Session, name):
        track = session.open_sample(name, keep=False)
        assert track.body is not None and track.motion.duration > 0.5
        session.draw(session.time)

    def test_an_unreadable_file_is_told_and_the_walk_shown(self, tmp_path):
        broken = tmp_path / "broken.bvh"
        broken.write_text("HIERARCHY\nROOT")
        with Studio([broken, tmp_path / "missing.glb"], port=0, open_browser=False) as studio:
            kind, text = studio.session.message
            assert kind == "error" and "broken.bvh" in text and "missing.glb" in text
            assert studio.session.active.name == "walk"

    def test_motions_and_paths_are_shown_together(self, session: Session, tmp_path):
        path = session.save(tmp_path / "saved.npz")
        with Studio([chain_motion(), path], port=0, open_browser=False) as studio:
            assert len(studio.session.tracks) == 2

    def test_closing_ends_every_thread_and_frees_the_port(self):
        before = set(threading.enumerate())
        studio = Studio(chain_motion(), port=0, open_browser=False).start()
        port = int(studio.url.rsplit(":", 1)[1])
        assert set(threading.enumerate()) - before
        studio.close()
        studio.close()
        assert not [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
        assert free_port("127.0.0.1", port) == port
        with pytest.raises(PosableError, match="not running"):
            _ = studio.url

    @pytest.mark.parametrize("ready", ["_web", "_session", "_thread"])
    def test_run_blocks_until_another_thread_closes_however_early(self, ready):
        failures: list[BaseException] = []

        def run() -> None:
            try:
                studio.run()
            except BaseException as error:
                failures.append(error)

        for closers in (1, 3):
            studio = Studio(chain_motion(), port=0, open_browser=False)
            runner = threading.Thread(target=run)
            runner.start()
            while getattr(studio, ready) is None:
                time.sleep(0.0005)
            assert runner.is_alive()
            closing = [threading.Thread(target=studio.close) for _ in range(closers)]
            for each in closing:
                each.start()
            for each in (*closing, runner):
                each.join(60)
                assert not each.is_alive()
            assert failures == []
            assert studio._web is None and studio._thread is None

    def test_control_c_ends_it_without_a_traceback(self):
        code = "from posable.studio import launch; launch(port=0, open_browser=False)"
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert "http://127.0.0.1:" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in errors

    def test_it_can_be_started_again(self):
        studio = Studio(chain_motion(), port=0, open_browser=False)
        for _ in range(2):
            with studio:
                assert studio.session.tracks

    def test_a_tab_is_built_updated_and_closed(self):
        calls: list[str] = []

        class Counter:
            title = "Count"

            def build(self, session: Session) -> None:
                session.gui.add_button("Press")
                calls.append("build")

            def update(self, time: float) -> None:
                calls.append("update")

            def close(self) -> None:
                calls.append("close")

        with Studio(chain_motion(), port=0, open_browser=False, tabs=[Counter]) as studio:
            assert studio.tabs[0].title == "Count"
            studio._newcomers.set()  # as if a window had come
            while "update" not in calls:
                time.sleep(0.01)
        assert calls[0] == "build" and calls[-1] == "close" and calls.count("close") == 1


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "[x](javascript:1)", "a\nb", "**bold** & 'co'", "x" * 9999]
)
def test_text_of_strangers_stays_text(text):
    safe = plain(text)
    assert "<" not in safe and ">" not in safe and "[" not in safe and "*" not in safe and "\n" not in safe
    assert len(safe) < 4000


def test_a_track_is_not_equal_to_another_of_the_same_motion():
    motion = chain_motion()
    assert Track(motion, None, "a") != Track(motion, None, "a")
