"""`posable evaluate` as a person meets it."""

import json
from pathlib import Path

import pytest

import posable as ps
from posable.evaluate import evaluate_clip


class Standing:
    """A method of a user's own: stands still whatever the points say."""

    def __init__(self, body: ps.Humanoid) -> None:
        self._solver = ps.SequentialIK(body)

    def track(self, points, fps):
        return self._solver.track(points * 0.0 + points[:1], fps=fps)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    for name, make in (("walk", ps.samples.walk), ("box", ps.samples.boxing)):
        ps.save(make(duration=0.5), folder / f"{name}.npz")
    return sorted(folder.iterdir())


def test_it_has_help_with_an_example(posable):
    code, out, _ = posable("evaluate", "reconstruct", "--help")
    assert code == 0 and "Usage" in out and "Example: posable evaluate reconstruct" in out


def test_clips_are_measured_and_the_same_written_as_json(posable, clips: list[Path], tmp_path: Path):
    facts = tmp_path / "facts.json"
    code, out, err = posable("evaluate", "reconstruct", *clips, "--workers", 2, "--joints", "--json", facts)
    assert code == 0, err
    told = json.loads(facts.read_text())
    assert [clip["clip"] for clip in told["clips"]] == ["box", "walk"]
    for path, clip in zip(clips, told["clips"], strict=True):
        alone = evaluate_clip(path)
        for measure in ("position", "orientation", "jitter", "position_joints"):
            assert clip["methods"]["sik"][measure] == alone["methods"]["sik"][measure], "the same bits from a worker"
        assert f"{clip['methods']['sik']['position']:.4f}" in out
    assert f"{told['average'][0]['position']:.4f}" in out
    for words in (
        "position error, of the height",
        "orientation error [rad]",
        "jitter",
        "median time a frame",
        "left_hand",
    ):
        assert words in out
    assert "the paper's average" not in out


def test_clips_are_measured_from_any_trackers(posable, clips: list[Path], tmp_path: Path):
    facts, three = tmp_path / "facts.json", ("head", "left_hand", "right_hand")
    options = ("--trackers", ",".join(three), "--orientations", "all", "--workers", 1, "--json", facts)
    code, out, err = posable("evaluate", "reconstruct", *clips, *options)
    assert code == 0, err
    told = json.loads(facts.read_text())
    for path, clip in zip(clips, told["clips"], strict=True):
        assert clip["markers"] == clip["orientations"] == list(three)
        alone = evaluate_clip(path, ["sik", "sik_prior"], markers=three, orientations=three)
        for method in ("sik", "sik_prior"):
            for measure in ("position", "mpjpe", "mpjre", "jerk", "end_points"):
                assert clip["methods"][method][measure] == alone["methods"][method][measure]
        centimetres = 100.0 * clip["methods"]["sik_prior"]["mpjpe"]
        assert f"{centimetres:.4f}" in out or f"{centimetres:.1f}" in out
        assert clip["methods"]["sik"]["mpjpe"] != evaluate_clip(path, ["sik"])["methods"]["sik"]["mpjpe"]
    for words in ("MPJPE", "MPJRE", "jerk", "end points", "the clip's own", "sik_prior"):
        assert words in out
    assert "the paper's average" not in out


def test_a_method_of_the_users_own_stands_beside_ours(posable, clips: list[Path]):
    own = "tests.cli.test_evaluate:Standing"
    options = ("--method", "sik", "--method", own, "--workers", 2, "--json", "-")
    code, out, err = posable("evaluate", "reconstruct", *clips, *options)
    assert code == 0, err
    first, second = json.loads(out)["average"]
    assert (first["method"], second["method"]) == ("sik", own)
    assert second["position"] > 2.0 * first["position"]


def test_a_folder_with_a_broken_clip_tells_it_and_measures_the_rest(posable, clips: list[Path], tmp_path: Path):
    folder = tmp_path / "clips"
    folder.mkdir()
    (folder / "walk.npz").write_bytes(clips[1].read_bytes())
    (folder / "broken.bvh").write_text("HIERARCHY [0]")
    (folder / "empty.bvh").touch()
    (folder / "folder.bvh").mkdir()
    store = tmp_path / "store"
    for _ in range(2):
        code, out, _ = posable("evaluate", "reconstruct", folder, "--workers", 1, "--store", store)
        assert code == 1 and "broken.bvh" in out and "empty.bvh" in out and "walk" in out
    assert len(list(store.rglob("*.npz"))) == 1


def test_plots_show_errors_over_time_and_frames(posable, clips: list[Path], tmp_path: Path):
    plots = tmp_path / "plots"
    code, out, err = posable("evaluate", "reconstruct", clips[0], "--workers", 1, "--plots", plots)
    assert code == 0 and str(plots) in out, err
    from matplotlib.image import imread

    for name in ("box_errors.png", "box_frames.png"):
        image = imread(plots / name)
        assert image.shape[0] > 300 and image.shape[1] > 600 and image[..., :3].std() > 0.05


def test_the_papers_clips_stand_beside_its_table(posable, cmu: Path):
    clips = [cmu / f"{name}.bvh" for name in ("17_10", "90_05", "01_03")]
    code, out, _ = posable("evaluate", "reconstruct", *clips, "--workers", 1)
    assert code == 0 and "the paper's average" in out and "0.0246" in out and "0.2942" in out


def test_mistakes_are_told_in_one_line(posable, clips: list[Path], tmp_path: Path):
    for args, says in (
        ((tmp_path,), "no motions"),
        ((clips[0], "--method", "magic"), "magic"),
        ((clips[0], "--method", "no.such:Thing"), "no.such:Thing"),
        ((clips[0], "--weights", "1"), "expected three numbers"),
        ((clips[0], "--workers", 0), "workers is 0"),
        ((clips[0], "--trackers", "head,nose"), "nose"),
        ((clips[0], "--trackers", "left_hand"), "expected the hips or the head"),
        ((clips[0], "--orientations", "chin"), "chin"),
        ((clips[0], "--trackers", "head,left_hand,right_hand", "--method", "ccd"), "ccd"),
    ):
        code, _, err = posable("evaluate", "reconstruct", *args)
        assert code == (1 if says == "no motions" else 2) and says in err and err.count("\n") == 1, (args, err)
