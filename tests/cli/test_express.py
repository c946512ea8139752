"""`posable express` and `posable evaluate express` as a person meets them."""

import json

import numpy as np
import pytest

import posable as ps
import posable.math as pm


@pytest.fixture
def targets(tmp_path):
    path = tmp_path / "targets.csv"
    turns = pm.multiply(pm.axis_angle((0.0, 1.0, 0.0), np.radians(np.arange(30))), pm.axis_angle((1.0, 0.0, 0.0), 1.0))
    lines = ["qw,qx,qy,qz", *(",".join(map(repr, row)) for row in np.asarray(turns).tolist())]
    path.write_text("\n".join(lines))
    return path


def test_targets_become_angles_in_any_kind_of_file(posable, targets, tmp_path):
    options = ("--posture", "0,0.6,-0.9,0.3,0")
    for name in ("angles.csv", "angles.json", "motion.npz"):
        code, out, err = posable("express", "C", targets, tmp_path / name, *options)
        assert code == 0, err
        assert "jumps" in out
    table = np.loadtxt(tmp_path / "angles.csv", delimiter=",", skiprows=1)
    told = json.loads((tmp_path / "angles.json").read_text())
    np.testing.assert_array_equal(table[:, 1:], told["angles"])
    assert table.shape == (30, 6) and len(ps.load(tmp_path / "motion.npz")) == 30


def test_a_robot_looks_at_points_and_is_smoothed(posable, data_dir, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y,z\n" + "\n".join(f"{np.sin(k / 20)},1.2,{np.cos(k / 20)}" for k in range(40)))
    robot = data_dir / "robots" / "panda.urdf"
    code, _, err = posable("express", robot, path, tmp_path / "a.csv", "--smooth", "2,10,100", "--json", "-")
    assert code == 0, err
    table = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    assert np.abs(np.diff(table[:, 1:], axis=0)).max() * 60 <= 2.0 + 1e-9


@pytest.mark.parametrize(
    ("chain", "text", "words"),
    [
        ("C", "a,b\n1,2\n", "expected qw,qx,qy,qz"),
        ("C", "x,y,z\n1,2,three\n", "line 2"),
        ("C", "x,y,z\n1,2\n", "line 2"),
        ("C", "", "no lines of numbers"),
        ("Q", "x,y,z\n1,2,3\n", "expected a letter of A to G"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(posable, tmp_path, chain, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, _, err = posable("express", chain, path, tmp_path / "out.csv")
    assert code == 1 and words in err and len(err.strip().splitlines()) == 1


def test_the_paper_s_evaluation_runs_and_may_be_continued(posable, tmp_path):
    options = ("--skeleton", "A", "--skeleton", "C", "--method", "all", "--samples", 40, "--workers", 1)
    code, out, err = posable("evaluate", "express", *options, "--store", tmp_path / "kept", "--json", "-")
    assert code == 0, err
    rows = json.loads(out)["rows"]
    assert len(rows) == 14
    code, again, err = posable(
        "evaluate", "express", *options, "--store", tmp_path / "kept", "--plots", tmp_path / "plots"
    )
    assert code == 0, err
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["A.png", "C.png"]
    for row in rows:
        assert f"{row['mean'][0]:.4f}" in again
    code, out, err = posable("evaluate", "express", "--skeleton", "A", "--sweep", "3,4", "--workers", 1)
    assert code == 0 and "192" in out, err
