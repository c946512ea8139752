"""Measurements: a judge that finds what is wrong, and a comparison that names what became slower and nothing else."""

import json

import numpy as np
import pytest

import posable as ps
from posable.evaluate import speed
from posable.evaluate.speed import cases, measure
from posable.evaluate.speed import record as records
from posable.evaluate.speed.judge import Judged, arm_frames, joints_of
from posable.evaluate.speed.record import Row, Run

MACHINE = {"cpu": "a processor", "cores": 2, "system": "a system", "python": "3.11.7"}


def a_run(rng: np.random.Generator, factors: dict[str, float] | None = None, machine: float = 1.0, **more) -> Run:
    """A run as a noisy machine gives it.

    In every pass the machine is another tenth as fast, now and then half as fast, for a case and the yardstick alike;
    and each time has a few per cent of its own, of where its memory lies.
    """
    factors, rows = factors or {}, []
    for k in range(20):
        state = machine * rng.lognormal(0.0, 0.1, 3) * np.where(rng.random(3) < 0.1, 2.0, 1.0)
        middles = {"one": 10.0 * factors.get(f"case{k}", 1.0), "core": 3.0, "yardstick": 600.0}
        times = {
            name: [float(one) for one in middle * state * rng.lognormal(0.0, 0.03, 3)]
            for name, middle in middles.items()
        }
        rows.append(Row(case=f"case{k}", title=f"case{k}", solver="posable", unit="row", inputs=100, **times))
    return Run(**{"machine": MACHINE, "busy": 0.0, "threads": 2, "rows": rows, **more})


@pytest.mark.parametrize("name", ["forward", "swivel", "hand", "reach", "six", "erik", "filter"])
def test_answers_of_the_solvers_are_what_they_say(name):
    """Most inputs can be solved, and no solver claims what the judge does not find."""
    case = cases.opened(name)
    for one in case.contenders:
        found = measure.judged(case, one)
        assert found["done"] > 0.7, one.name
        assert found.get("wrongly", 0.0) == 0.0, one.name


def test_every_case_opens_and_solves_its_first_input():
    names = list(cases.CASES)
    assert len(set(names)) == len(names) and len({title for title, _ in cases.CASES.values()}) == len(names)
    for name in names:
        case = cases.CASES[name][1]()
        assert case.rows >= 64 and case.contenders
        for one in case.contenders:
            one.one(0)
            assert one.judged is not None, f"{name}: nobody judges {one.name}"


@pytest.mark.parametrize("moved", [1e-4, 0.02, np.nan])
def test_the_judge_sees_an_answer_that_is_off(moved):
    body = cases.person()
    positions = cases.hand_targets(50)
    answer = body.place(body.neutral_pose, "right_hand", ps.Target(positions))
    honest = cases.hand_off(positions, answer)
    assert honest.done.sum() > 30
    assert not cases.hand_off(positions + moved, answer).done.any()
    assert not Judged(np.full(3, np.nan), 1.0).done.any()
    assert (Judged(np.zeros(3), 1.0, also=np.array([True, False, True])).done == [True, False, True]).all()


def test_the_judges_kinematics_are_those_of_the_package():
    body = cases.person()
    poses = cases.random_poses(20)
    np.testing.assert_allclose(joints_of(body.skeleton, poses), body.skeleton.forward(poses).positions, atol=1e-12)
    arm, values = body.limb("left_arm"), np.random.default_rng(0).uniform(-1.0, 1.0, (50, 7))
    frames, (end, orientation) = arm.forward(values), arm_frames(values, arm.upper, arm.lower)
    np.testing.assert_allclose(end, frames.end, atol=1e-12)
    np.testing.assert_allclose(np.abs((orientation * frames.orientation).sum(axis=-1)), 1.0, atol=1e-12)


def test_noise_is_not_called_slower(monkeypatch):
    """Of a hundred pairs of runs of the same code, 4,000 times, nothing is named, and little is suspected."""
    rng = np.random.default_rng(0)

    def again(names, **_):
        fresh = a_run(rng)
        return records.Run(**{**fields(fresh), "rows": [row for row in fresh.rows if row.case in names]})

    monkeypatch.setattr("posable.evaluate.speed.run.bench", again)
    suspected, named = 0, 0
    for _ in range(100):
        before, now = a_run(rng), a_run(rng)
        suspected += len(speed.changes(now, before))
        named += sum(one.ratio > 1.0 for one in speed.confirmed(now, before)[1])
    assert suspected < 0.05 * 4000
    assert named == 0


@pytest.mark.parametrize("machine", [0.6, 1.0, 1.7])
def test_what_takes_longer_is_named_on_a_faster_and_on_a_slower_machine(machine):
    """What takes 1.6 times as long always is, what takes a third longer nearly always."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(50):
        before, now = a_run(rng), a_run(rng, {"case3": 1.6, "case4": 0.5, "case5": 4 / 3}, machine)
        found = {one.case: one for one in speed.changes(now, before)}
        assert 1.3 < found["case3"].ratio < 2.0 and 0.4 < found["case4"].ratio < 0.65
        assert found["case3"].time == "one call"
        assert found["case3"].now / found["case3"].before == pytest.approx(found["case3"].ratio)
        named += "case5" in found
    assert named >= 45


def test_other_machines_and_times_of_a_busy_one_are_not_compared():
    rng = np.random.default_rng(2)
    before = a_run(rng)
    other = a_run(rng, {f"case{k}": 3.0 for k in range(20)}, machine=1.0)
    assert sum(one.ratio > 1.0 for one in speed.changes(other, before)) == 20
    assert not speed.changes(records.Run(**{**fields(other), "machine": {**MACHINE, "cpu": "another"}}), before)
    some = {"core": [], "one": [5.0], "yardstick": [600.0]}
    slow = [records.Row(**{**fields(row), **some, "cores": [9.0]}) for row in before.rows]
    fast = [records.Row(**{**fields(row), **some, "cores": [1.0]}) for row in before.rows]
    first, second = (records.Run(**{**fields(before), "rows": rows}) for rows in (fast, slow))
    assert len(speed.changes(second, first)) == 20
    assert not speed.changes(records.Run(**{**fields(second), "busy": 0.4}), first)


def fields(struct) -> dict:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def test_suspects_are_measured_again_and_cleared(monkeypatch):
    """What was slow in one run only is not named; what is slow in every one is."""
    rng = np.random.default_rng(3)
    before = a_run(rng)
    slow = a_run(rng, {"case1": 2.0, "case2": 2.0})
    runs = []

    def again(names, **_):
        runs.append(sorted(names))
        fresh = a_run(rng, {"case2": 2.0})
        return records.Run(**{**fields(fresh), "rows": [row for row in fresh.rows if row.case in names]})

    monkeypatch.setattr("posable.evaluate.speed.run.bench", again)
    run, found = speed.confirmed(slow, before)
    assert [one.case for one in found] == ["case2"]
    assert {"case1", "case2"} <= set(runs[0]) and set(runs[1]) >= {"case2"}
    assert len(next(row for row in run.rows if row.case == "case2").one) == 9


def test_a_run_is_written_and_read_and_a_broken_file_is_one_sentence(tmp_path):
    run, file = a_run(np.random.default_rng(4)), tmp_path / "run.json"
    speed.write_run(run, file)
    assert speed.read_run(file) == run
    for text in ("", "[]", "{", '{"format": 2}', "[" * 100_000, json.dumps({"machine": {}, "busy": "much"})):
        file.write_text(text)
        with pytest.raises(ps.FormatError, match=r"run\.json"):
            speed.read_run(file)
    speed.write_run(records.Run(**{**fields(run), "format": 7}), file)
    with pytest.raises(ps.FormatError, match="format 7; expected 1"):
        speed.read_run(file)
    facts = json.loads(file.read_text()) | {"format": 1}
    facts["rows"][0]["one"] = [-1.0]
    file.write_text(json.dumps(facts))
    with pytest.raises(ps.FormatError, match="one"):
        speed.read_run(file)


def test_times_are_medians_of_an_input_and_a_timer_ends():
    timer = measure.Timer(lambda: sum(range(2000)), units=10.0, clock=measure.time.process_time)
    while not timer.is_done(0.05):
        timer.sample()
    assert len(timer.samples) >= measure.FEWEST
    assert timer.microseconds == pytest.approx(1e6 * float(np.median(timer.samples)))
    assert timer.repeats * timer.microseconds * 10.0 > 100.0, "a sample is long enough for the clock"


def test_a_case_that_does_not_exist_is_answered_with_the_nearest_one():
    with pytest.raises(ps.UnknownNameError, match="reach"):
        speed.bench(["reech"])


def on_gpu(run: Run, factor: float, name: str = "a GPU, a library") -> Run:
    rows = [Row(**{**{f: getattr(row, f) for f in row.__struct_fields__}, "gpu": [factor] * 3}) for row in run.rows]
    return Run(**{**{f: getattr(run, f) for f in run.__struct_fields__}, "rows": rows, "gpu": name})


def test_times_of_a_gpu_are_compared_with_those_of_the_same_gpu_alone(tmp_path):
    """A record without a GPU is read, and compared where both have a time; the machine around does not count."""
    run = a_run(np.random.default_rng(0))
    slow_machine = a_run(np.random.default_rng(0), machine=3.0)
    assert not speed.changes(on_gpu(run, 0.1), run) and not speed.changes(run, on_gpu(run, 0.1))
    assert not speed.changes(on_gpu(run, 0.1), on_gpu(run, 0.3, "another GPU, a library"))
    assert not speed.changes(on_gpu(slow_machine, 0.1), on_gpu(run, 0.1))
    named = speed.changes(on_gpu(run, 0.13), on_gpu(run, 0.1))
    assert len(named) == len(run.rows) and {one.time for one in named} == {"a batch, GPU"}
    records.write_run(on_gpu(run, 0.1), tmp_path / "run.json")
    again = records.read_run(tmp_path / "run.json")
    assert again.gpu == "a GPU, a library" and again.rows[0].gpu == [0.1] * 3
    old = json.loads((tmp_path / "run.json").read_text())
    del old["gpu"]
    for row in old["rows"]:
        del row["gpu"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert records.read_run(tmp_path / "old.json").gpu == ""


def test_tables_have_a_column_for_a_gpu_where_there_was_one():
    run = a_run(np.random.default_rng(0))
    from posable.evaluate.speed.tables import solver_rows

    assert "GPU (µs)" not in solver_rows(run)[0]
    assert solver_rows(on_gpu(run, 0.1))[0]["GPU (µs)"] == "0.1"


@pytest.mark.parametrize("name", ["", "a GPU, a library"])
def test_a_run_is_drawn_with_a_gpu_and_without(name, tmp_path):
    from posable.evaluate.speed.plots import plot_times

    run = a_run(np.random.default_rng(0))
    plot_times(on_gpu(run, 0.1, name) if name else run, tmp_path / "times.png")
    assert (tmp_path / "times.png").read_bytes()[:4] == b"\x89PNG"
