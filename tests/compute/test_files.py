from pathlib import Path

import pytest

from posable.compute import PosableError, atomic_write, cache_dir


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    target = tmp_path / "walk.bvh"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(target) as temporary:
        temporary.write_text("half of the new")
        raise RuntimeError("power cut")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_write_that_succeeds_replaces_the_file_and_keeps_its_permissions(tmp_path: Path):
    target = tmp_path / "walk.bvh"
    target.write_text("old")
    target.chmod(0o640)
    with atomic_write(target) as temporary:
        assert temporary.parent == tmp_path and temporary.suffix == ".bvh"
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_writing_to_a_folder_or_into_a_missing_one_says_so(tmp_path: Path):
    with pytest.raises(PosableError, match="is a folder"), atomic_write(tmp_path):
        pass
    with pytest.raises(PosableError, match="does not exist"), atomic_write(tmp_path / "no" / "walk.bvh"):
        pass


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("POSABLE_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path


def test_a_cache_folder_given_from_here_is_the_same_after_a_change_of_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("POSABLE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "kept")
    found = cache_dir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert found.is_absolute() and found.is_relative_to(tmp_path / "kept")


def test_an_empty_choice_of_cache_folder_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.chdir("/")
    for name in ("POSABLE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "")
    assert cache_dir().is_relative_to(tmp_path)
