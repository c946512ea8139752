"""Plots and pictures of the comparison."""

import numpy as np
import pytest

import posable as ps
from posable.evaluate import evaluate_clip, method_names
from posable.evaluate.plots import PICTURES, PLOTS, TABLE_1, picture_frame, plot_errors
from posable.evaluate.reconstruct import CLIPS, PAPER

image = pytest.importorskip("matplotlib.image")


@pytest.fixture(scope="module")
def walk():
    return ps.samples.walk(ps.figure())[:30]


def test_errors_over_time_are_drawn(walk, tmp_path):
    found = evaluate_clip(walk, ["sik", "kma"], per_frame=True)
    plot_errors(found, tmp_path / "errors.png")
    plot_errors(found, tmp_path / "part.svg", methods=["sik"], frames=(5, 20))
    drawn = image.imread(tmp_path / "errors.png")
    assert drawn.shape[0] > 400 and np.ptp(drawn) > 0.5
    assert b"<svg" in (tmp_path / "part.svg").read_bytes()
    with pytest.raises(ps.PosableError, match="per_frame"):
        plot_errors(evaluate_clip(walk, ["sik"]), tmp_path / "none.png")
    with pytest.raises(ps.PosableError, match="ccd"):
        plot_errors(found, tmp_path / "none.png", methods=["ccd"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["errors.png", "part.svg"]


def test_bodies_at_one_frame_are_drawn_side_by_side(walk, tmp_path):
    picture_frame(walk, 12, tmp_path / "bodies.png", methods=["sik", "kma"])
    drawn = image.imread(tmp_path / "bodies.png")
    third = drawn.shape[1] // 3
    for k in range(3):  # a body in each part
        part = drawn[60:, k * third : (k + 1) * third, :3]
        assert (part.min(axis=-1) < 0.7).mean() > 0.03
    with pytest.raises(ps.PosableError, match="frame"):
        picture_frame(walk, 30, tmp_path / "bodies.png")


def test_the_papers_figures_name_what_there_is():
    assert set(TABLE_1) == set(PAPER["position"]) and set(TABLE_1) <= set(method_names())
    for clip, methods, _ in PLOTS.values():
        assert clip in CLIPS and set(methods) <= set(method_names())
    assert {clip for clip, _ in PICTURES.values()} == set(CLIPS)
