import functools
import hashlib
import http.server
import json
import shutil
import threading

import pytest

import posable as ps
from posable.compute import MissingExtraError, PosableError, UnknownNameError
from posable.formats import datasets


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POSABLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POSABLE_DATA", raising=False)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A web server on loopback that stands for the public repository, and the folder it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.RequestHandlerClass.keywords["directory"] = str(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    manifest = json.loads(json.dumps(datasets._manifest())) | {"url": f"http://127.0.0.1:{server.server_port}/"}
    monkeypatch.setattr(datasets, "_manifest", lambda: manifest)
    yield folder, manifest
    server.shutdown()
    server.server_close()


def _serve(repository, name, text):
    """Put a file where the repository has this clip, and its hash where the list has it."""
    folder, manifest = repository
    place = folder / f"{int(name.split('_')[0]):03d}"
    place.mkdir()
    (place / f"{name}.bvh").write_bytes(text)
    for clip in manifest["clips"]:
        if clip["clip"] == name:
            clip["sha256"] = hashlib.sha256(text).hexdigest()
    return place / f"{name}.bvh"


def test_the_list_has_forty_clips_with_names_lengths_and_rates():
    rows = datasets.list_clips()
    assert len(rows) == 40
    assert {"clip", "description", "frames", "fps", "seconds", "MB"} == set(rows[0])
    assert next(row for row in rows if row["clip"] == "61_07")["fps"] == 60
    assert all(row["frames"] > 100 and row["fps"] in (60, 120) for row in rows)


def test_the_list_is_true_of_the_clips(cmu):
    for clip in datasets._manifest()["clips"]:
        path = cmu / f"{clip['clip']}.bvh"
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == clip["sha256"]
        assert len(data) == clip["bytes"]


def test_clips_come_from_the_mirror_by_name(cmu, tmp_path, monkeypatch):
    monkeypatch.setenv("POSABLE_DATA", str(cmu.parent))
    paths = datasets.fetch(["09_01", "16_35"], tmp_path / "clips" / "new")
    assert [path.name for path in paths] == ["09_01.bvh", "16_35.bvh"]
    assert all(path.parent == tmp_path / "clips" / "new" for path in paths)
    assert len(ps.load(paths[0], repair="cmu")) == 149
    monkeypatch.setenv("POSABLE_DATA", str(cmu))
    (cached,) = datasets.fetch("09_01")
    assert cached == tmp_path / "cache" / "cmu" / "09_01.bvh"


def test_what_was_fetched_is_not_fetched_again(cmu, tmp_path, monkeypatch):
    monkeypatch.setenv("POSABLE_DATA", str(cmu.parent))
    first = datasets.fetch("09_01")
    monkeypatch.setenv("POSABLE_DATA", str(tmp_path / "gone"))
    assert datasets.fetch(["09_01"]) == first


def test_a_mirror_with_another_file_is_not_believed(tmp_path, monkeypatch):
    (tmp_path / "cmu").mkdir()
    (tmp_path / "cmu" / "09_01.bvh").write_text("HIERARCHY")
    monkeypatch.setenv("POSABLE_DATA", str(tmp_path))
    with pytest.raises(PosableError, match=r"09_01\.bvh: its sha256 is .* not "):
        datasets.fetch("09_01")
    assert not (tmp_path / "cache" / "cmu" / "09_01.bvh").exists()


def test_an_unknown_name_stops_before_anything_is_fetched(cmu, tmp_path, monkeypatch):
    monkeypatch.setenv("POSABLE_DATA", str(cmu.parent))
    with pytest.raises(UnknownNameError, match="17_10"):
        datasets.fetch(["09_01", "17_11"])
    assert not (tmp_path / "cache").exists()


def test_clips_are_downloaded_checked_and_kept(repository, cmu):
    source = _serve(repository, "09_01", (cmu / "09_01.bvh").read_bytes())
    (path,) = datasets.fetch("09_01")
    assert path.read_bytes() == source.read_bytes()
    source.unlink()
    assert datasets.fetch("09_01") == [path]


def test_a_damaged_copy_in_the_cache_is_replaced(repository, cmu):
    _serve(repository, "09_01", (cmu / "09_01.bvh").read_bytes())
    (path,) = datasets.fetch("09_01")
    path.write_text("damaged")
    assert datasets.fetch("09_01") == [path]
    assert path.read_bytes() == (cmu / "09_01.bvh").read_bytes()


def test_a_download_with_another_hash_is_thrown_away(repository, tmp_path):
    served = _serve(repository, "09_01", b"HIERARCHY")
    served.write_text("something else")
    with pytest.raises(PosableError, match=r"cannot fetch clip '09_01'.*hash"):
        datasets.fetch("09_01")
    assert not list((tmp_path / "cache").rglob("*.bvh"))


def test_a_missing_page_and_a_missing_network_say_where_they_looked(repository):
    _, manifest = repository
    with pytest.raises(PosableError, match=r"cannot fetch clip '09_01' from http.*404.*POSABLE_DATA"):
        datasets.fetch("09_01")
    manifest["url"] = "http://127.0.0.1:9/"
    with pytest.raises(PosableError, match="POSABLE_DATA"):
        datasets.fetch("09_01")


def test_without_pooch_the_way_to_install_it_is_told(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"posable\[data\]"):
        datasets.fetch("09_01")


def test_a_folder_that_cannot_be_made_is_named(tmp_path, cmu, monkeypatch):
    monkeypatch.setenv("POSABLE_DATA", str(cmu.parent))
    shutil.copy(cmu / "clips.csv", tmp_path / "file")
    with pytest.raises(PosableError, match="cannot make the folder"):
        datasets.fetch("09_01", tmp_path / "file" / "in")


def test_robots_are_fetched_whole_by_name(tmp_path, monkeypatch):
    """From a folder that stands for the public repository, and again from the cache."""
    from .mjcf_files import TRICKY

    rows = datasets.list_robots()
    assert [row["robot"] for row in rows] == ["g1", "h1", "t1", "talos"]
    assert all(row["files"] > 20 and 1 < row["MB"] < 30 and row["licence"] for row in rows)
    data = {"little/scene.xml": TRICKY.encode(), "little/assets/m.stl": b"a mesh", "little/LICENSE": b"free"}
    files = [{"file": file, "bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for file, d in data.items()]
    robot = {"robot": "little", "description": "", "read": "little/scene.xml", "licence": "", "files": files}
    monkeypatch.setattr(datasets, "_robots", lambda: {"url": "http://127.0.0.1:9/", "robots": [robot]})
    for file, content in data.items():
        path = tmp_path / "mirror" / "robots" / "menagerie" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    monkeypatch.setenv("POSABLE_DATA", str(tmp_path / "mirror"))
    (path,) = datasets.fetch("little")
    assert path == tmp_path / "cache" / "robots" / "little" / "scene.xml"
    assert ps.load(path).skeleton.robot.name == "tricky"
    assert {str(p.relative_to(path.parents[1])) for p in path.parent.rglob("*") if p.is_file()} == {*data}
    monkeypatch.setenv("POSABLE_DATA", str(tmp_path / "gone"))
    assert datasets.fetch(["little"]) == [path]
    (path.parent / "LICENSE").write_text("another")
    with pytest.raises(PosableError, match=r"cannot fetch robot 'little' from http://127.0.0.1:9/little/LICENSE"):
        datasets.fetch("little")
