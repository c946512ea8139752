"""Files in and out, lines over time, and text of strangers."""

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError
from posable.formats import save
from posable.studio import Session
from posable.studio.core.files import LARGEST_UPLOAD, download, upload_name
from posable.studio.tabs.motion.plot import QUANTITIES, sampled
from posable.studio.view.theme import plain
from posable.studio.widgets.time_plot import POINTS

from ...formats.test_c3d import labelled, written
from ...formats.test_fbx import DATA as FBX_FILES
from .conftest import chain_motion

DATA = FBX_FILES.parent


class TestFiles:
    @pytest.mark.parametrize("suffix", [".bvh", ".npz", ".glb"])
    def test_what_is_saved_opens_again(self, session: Session, tmp_path, suffix):
        target = session.save(str(tmp_path / f"out{suffix}"))
        actor = session.open(target, keep=False)
        assert len(actor.motion) == 31 and actor.motion.fps == pytest.approx(30.0, rel=1e-4)
        names = [name for name in actor.motion.skeleton.names if name in ("root", "middle", "tip")]
        assert names == ["root", "middle", "tip"]

    @pytest.mark.parametrize("name", ["walk.vrma", "walk_stageii.npz", "walk.c3d"])
    def test_files_of_other_programs_open_as_a_person(self, session: Session, tmp_path, name):
        walk = ps.samples.walk(duration=0.5)
        if name.endswith(".c3d"):
            written(tmp_path / name, labelled(walk))
        else:
            save(walk, tmp_path / name, **({"layout": "amass"} if name.endswith(".npz") else {}))
        actor = session.open(tmp_path / name, keep=False)
        assert len(actor.motion) == 31 and actor.body is not None
        uploaded = session.open_upload(name, (tmp_path / name).read_bytes(), keep=False)
        assert (uploaded.motion.pose.rotations == actor.motion.pose.rotations).all()

    @pytest.mark.parametrize("name", ["blender_default.fbx", "blender_plain.usdc", "blender_turned.usda"])
    def test_files_of_blender_open_with_their_meshes_and_takes(self, session: Session, name):
        path = DATA / name.rpartition(".")[2][:3] / name
        if path.suffix != ".fbx":
            pytest.importorskip("pxr")
        actor = session.open(path, keep=False)
        assert actor.body is not None and [mesh.name for mesh in actor.skeleton.character.meshes] == ["Body"]
        uploaded = session.open_upload(name, path.read_bytes(), keep=False)
        assert (uploaded.motion.pose.rotations == actor.motion.pose.rotations).all()
        if path.suffix == ".fbx":
            session.show_animation("Person|Wave")
            assert len(session.motion) == 12

    def test_what_is_downloaded_can_be_uploaded(self, session: Session):
        name, content = download("C:\\somewhere\\my walk.bvh", lambda path: save(session.motion, path))
        assert name == "my walk.bvh"
        actor = session.open_upload(name, content, keep=False)
        assert actor.name == "my walk" and len(actor.motion) == 31

    @pytest.mark.parametrize(
        "given_name",
        ["../../etc/passwd.bvh", "..\\..\\boot.bvh", "/abs/olute.bvh", "a\0b.bvh", "....bvh", "<b>.bvh", "\n.bvh"],
    )
    def test_a_name_from_a_browser_leads_nowhere(self, given_name):
        kept = upload_name(given_name)
        assert (
            "/" not in kept and "\\" not in kept and not kept.startswith(".") and kept.isprintable() and "<" not in kept
        )

    def test_an_upload_of_rubbish_is_one_clear_error_without_our_folders(self, session: Session):
        with pytest.raises(PosableError) as caught:
            session.open_upload("nonsense.bvh", bytes(range(256)) * 10)
        assert "nonsense.bvh" in str(caught.value) and "posable-upload" not in str(caught.value)

    @pytest.mark.parametrize("name", ["program.exe", "noname", "archive.bvh.zip", ""])
    def test_an_upload_of_an_unknown_kind_is_not_written_anywhere(self, session: Session, name):
        with pytest.raises(PosableError, match=r"\.bvh"):
            session.open_upload(name, b"MZ")

    def test_an_upload_too_large_is_refused(self, session: Session, monkeypatch):
        monkeypatch.setattr("posable.studio.core.files.LARGEST_UPLOAD", 10)
        with pytest.raises(PosableError, match="at most 10"):
            session.open_upload("big.bvh", b"0" * 11)
        assert LARGEST_UPLOAD > 10

    @pytest.mark.parametrize("path", ["", "  ", "missing.bvh", "/", "walk.doc"])
    def test_a_path_that_cannot_be_opened_is_one_clear_error(self, session: Session, path):
        with pytest.raises(PosableError):
            session.open(path)
        assert len(session.actors) == 1

    def test_saving_to_an_unknown_kind_or_folder_is_one_clear_error(self, session: Session, tmp_path):
        for target in ("", "walk.doc", str(tmp_path / "no" / "walk.bvh"), str(tmp_path)):
            with pytest.raises(PosableError):
                session.save(target)
        with pytest.raises(PosableError, match="doc"):
            download("walk.doc", lambda path: save(session.motion, path))

    def test_nothing_to_save_is_said(self, session: Session):
        session.close_actor(session.actors[0])
        with pytest.raises(PosableError, match="open one first"):
            session.save("walk.bvh")

    def test_a_cmu_clip_is_mended_when_it_is_opened(self, session: Session, cmu):
        actor = session.open(cmu / "01_03.bvh", keep=False)
        assert actor.name == "01_03" and actor.body is not None
        assert 1.0 < actor.box[1, 1] < 3.0, "in metres"

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
        _, (rotation,) = sampled(chain_motion(31), ["middle"], "rotation from rest [°]")
        assert rotation.max() == pytest.approx(np.rad2deg(np.sin(1.0)), abs=1e-6)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "[x](javascript:1)", "a\nb", "**bold** & 'co'", "x" * 9999]
)
def test_text_of_strangers_stays_text(text):
    safe = plain(text)
    assert "<" not in safe and ">" not in safe and "[" not in safe and "*" not in safe and "\n" not in safe
    assert len(safe) < 4000


def test_the_cursor_of_a_plot_is_seen_on_a_light_panel_and_on_a_dark_one():
    from posable.studio.widgets.time_plot import CURSOR

    grey = np.array([int(CURSOR[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    assert len(CURSOR) == 7 and all(np.abs(grey - panel).min() > 0.25 for panel in (1.0, 0x24 / 255))
