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
        assert "aims within 1 degree in all 30 frames" in out and "jumps" not in out
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


@pytest.mark.parametrize("smooth", [(), ("--smooth", "0.3,2,20")])
@pytest.mark.parametrize("kind", ["orientation", "direction", "look_at"])
def test_what_is_reported_is_true_of_the_angles_that_are_written(posable, targets, tmp_path, kind, smooth):
    turns = np.loadtxt(targets, delimiter=",", skiprows=1)
    aims = np.asarray(pm.rotate(turns, (0.0, 1.0, 0.0)))
    goals = {"orientation": turns, "direction": aims, "look_at": 3.0 * aims + (0.1, 0.2, 0.3)}[kind]
    names = {"orientation": "qw,qx,qy,qz", "direction": "dx,dy,dz", "look_at": "x,y,z"}[kind]
    lines = [",".join(map(repr, row)) for row in goals.tolist()]
    lines[7] = "," * names.count(",")  # a frame without a target
    (tmp_path / "goals.csv").write_text("\n".join([names, *lines]))
    out = tmp_path / "angles.json"
    code, text, err = posable("express", "C", tmp_path / "goals.csv", out, *smooth, "--json", "-")
    assert code == 0, err
    told, written = json.loads(text), json.loads(out.read_text())
    chain = ps.express.SKELETONS["C"]
    frames = chain.forward(np.array(written["angles"]))
    if kind == "orientation":  # a tip that is rolled by half a turn about where it points counts as the same
        ends = np.stack([frames.orientations[:, -1], pm.multiply(frames.orientations[:, -1], (0.0, 0.0, 1.0, 0.0))])
        away = 2.0 * np.arccos(np.minimum(1.0, np.abs((ends * goals).sum(axis=-1)).max(axis=0)))
    else:
        to = goals - frames.positions[:, -1] if kind == "look_at" else goals
        away = np.arccos(np.clip((to * frames.pointing).sum(axis=-1) / np.linalg.norm(to, axis=-1), -1.0, 1.0))
    away = np.delete(np.degrees(away), 7)
    assert written["aim_degrees"][7] is None and told["frames_without_target"] == 1
    np.testing.assert_allclose(np.delete(written["aim_degrees"], 7).astype(float), away, atol=1e-4)
    assert told["worst_aim_degrees"] == pytest.approx(away.max(), abs=1e-4)
    assert told["reached"] == pytest.approx((away <= 1.0).sum() / 30)
    assert (told["reached"] < 0.5) == bool(smooth), "so slow a chain comes late, and says so"


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
    assert code == (2 if chain == "Q" else 1) and words in err and len(err.strip().splitlines()) == 1


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
