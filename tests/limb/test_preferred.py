"""Where the elbow would like to be: the sensorimotor model, and tables of swivels (Kallmann 2008, Automatic swivel)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable as ps
from posable.limb.range.model import to_right

from .range_cases import directions
from .test_range_data import UNSEEN

UPPER, LOWER = 0.3, 0.26
LENGTH = UPPER + LOWER
HOSTILE = [
    [0.0, 0.0, 0.0],
    [0.0, -LENGTH, 0.0],
    [0.0, LENGTH, 0.0],
    [1e-300, 0.0, 0.0],
    [9e5, 0.0, 0.0],
    [-LENGTH, 0, 0],
]


def arm(name: str = "right_arm", **options) -> ps.Limb:
    return ps.Limb(name, UPPER, LOWER, **options)


def places(seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return directions(rng, count, 0.0, math.pi) * rng.uniform(0.1, 1.0, (count, 1)) * LENGTH


def off(a, b) -> np.ndarray:
    """How far angles are apart [rad]."""
    return np.abs(np.angle(np.exp(1j * (np.asarray(a) - np.asarray(b)))))


@pytest.fixture(scope="module")
def table() -> ps.SwivelTable:
    """Swivels that grow with the height of the hand and shrink with its distance, with one bad frame in ten."""
    position = places(0, 20_000)
    swivel = wanted(position)
    swivel[::10] += math.pi
    return ps.SwivelTable.from_examples("right_arm", position, swivel, UPPER, LOWER)


def wanted(position: np.ndarray) -> np.ndarray:
    distance = np.linalg.norm(position, axis=-1)
    return 0.6 + 0.8 * position[..., 1] / distance - 0.5 * distance / LENGTH


# The sensorimotor model


def published_elbow(target: np.ndarray) -> np.ndarray:
    """Where the model puts the elbow of a right arm whose reach is 70 cm: x ahead, y up, z to the right."""
    distance = 100.0 * np.linalg.norm(target)
    azimuth = math.degrees(math.atan2(target[2], target[0]))
    elevation = math.degrees(math.asin(target[1] / np.linalg.norm(target)))
    raised = math.radians(-4.0 + 1.10 * distance + 0.90 * elevation)
    yaw = math.radians(13.2 + 0.86 * azimuth + 0.11 * elevation)
    return 0.3 * np.array([math.sin(raised) * math.cos(yaw), -math.cos(raised), math.sin(raised) * math.sin(yaw)])


def test_the_elbow_turns_to_where_the_published_model_puts_it():
    """In front of the body, where its upper arm is well off the way to the target: within what `SURE` may pull."""
    limb = ps.Limb("right_arm", 0.3, 0.4)
    checked = 0
    for target in places(1, 3000) * 0.7 / LENGTH:
        n = target / np.linalg.norm(target)
        elbow = published_elbow(target)
        aside = elbow - (elbow @ n) * n
        if n[0] < 0.35 or np.linalg.norm(aside) < 0.15:
            continue
        swivel = ps.Sensorimotor().swivels(limb, target)
        mid = limb.forward(limb.solve(target, swivel=swivel).values).mid
        own = mid - (mid @ n) * n
        cosine = own @ aside / np.linalg.norm(own) / np.linalg.norm(aside) if np.linalg.norm(own) > 1e-6 else 1.0
        assert math.acos(min(cosine, 1.0)) <= math.asin(0.1 / 0.5) + 1e-9
        checked += 1
    assert checked > 300


def test_a_hand_held_high_lifts_the_elbow():
    model, limb = ps.Sensorimotor(), arm()
    high = limb.forward(limb.solve([0.35, 0.2, 0.1], swivel=model.swivels(limb, [0.35, 0.2, 0.1])).values).mid
    low = limb.forward(limb.solve([0.3, -0.2, 0.0], swivel=model.swivels(limb, [0.3, -0.2, 0.0])).values).mid
    assert high[1] > low[1] + 0.1


def test_the_model_is_the_same_for_any_size_and_mirrored_for_the_left_arm():
    position = places(2, 2000)
    model = ps.Sensorimotor()
    own = model.swivels(arm(), position)
    np.testing.assert_allclose(model.swivels(ps.Limb("right_arm", 3 * UPPER, 3 * LOWER), 3 * position), own, atol=1e-9)
    np.testing.assert_allclose(model.swivels(arm("left_arm"), position * to_right("left_arm")), own, atol=1e-12)


def test_the_model_fades_into_the_limbs_own_swivel_behind_the_body():
    limb = arm(search=ps.limb.Search(0.7, -0.5, 2.0))
    position = places(3, 4000)
    behind = position[:, 0] < 0.0
    np.testing.assert_allclose(ps.Sensorimotor().swivels(limb, position[behind]), 0.7, atol=1e-12)
    assert off(ps.Sensorimotor().swivels(limb, position[~behind]), 0.7).max() > 0.3


@pytest.mark.parametrize("reference", ["transport", "paper"])
def test_the_model_holds_for_either_reference(reference):
    """The elbow is in the same place, whatever its swivel is counted from."""
    target = np.array([0.3, -0.1, 0.1])
    middles = []
    for limb in (arm(), arm(reference=reference)):
        answer = limb.solve(target, swivel=ps.Sensorimotor().swivels(limb, target))
        middles.append(limb.forward(answer.values).mid)
    # The limb's own preferred swivel, which has a small say, is another elbow by the paper's reference.
    np.testing.assert_allclose(*middles, atol=0.02)


# Tables


def test_a_table_gives_what_most_examples_have(table):
    position = places(4, 5000)
    bent = np.linalg.norm(position, axis=-1) < 0.95 * LENGTH
    away = off(table.swivels(arm(), position), wanted(position))[bent]
    assert np.median(away) < math.radians(2.0) and np.quantile(away, 0.99) < math.radians(10.0)


def test_few_examples_are_met_and_smoothly_joined():
    position = np.array([[0.4, -0.2, 0.0], [0.2, 0.3, 0.1], [0.0, -0.3, 0.3]])
    made = ps.SwivelTable.from_examples(
        "left_arm", position * to_right("left_arm"), [0.2, 1.0, 0.5], UPPER, LOWER, smooth=1e-4
    )
    np.testing.assert_allclose(made.swivels(arm(), position), [0.2, 1.0, 0.5], atol=0.02)
    between = made.swivels(arm(), np.linspace(position[0], position[1], 200))
    assert np.abs(np.diff(between)).max() < math.radians(3.0)
    assert between.min() > 0.1 and between.max() < 1.1


def test_a_table_serves_any_size_and_either_side(table):
    position = places(5, 2000)
    own = table.swivels(arm(), position)
    np.testing.assert_allclose(table.swivels(ps.Limb("right_arm", 2 * UPPER, 2 * LOWER), 2 * position), own, atol=1e-9)
    np.testing.assert_array_equal(table.swivels(arm("left_arm"), position * to_right("left_arm")), own)


def test_a_table_has_its_angles_at_its_directions():
    angles = np.random.default_rng(6).uniform(-1.0, 1.0, (60, 3))
    made = ps.SwivelTable("right_arm", angles, [0.3, 0.5, 1.0])
    for k, distance in enumerate(made.distances):
        np.testing.assert_allclose(made.swivels(arm(), made.directions * distance * LENGTH), angles[:, k], atol=1e-9)
    one = ps.SwivelTable("right_arm", angles[:, :1], [0.5])
    np.testing.assert_allclose(one.swivels(arm(), one.directions * 0.4), angles[:, 0], atol=1e-9)


def test_a_table_is_learned_from_motions_of_any_bodies():
    motions = [ps.samples.dance(), ps.samples.reach(ps.figure(height=1.5))]
    told: list[float] = []
    made = ps.SwivelTable.fit(ps.figure(), "right_arm", motions, progress=told.append)
    assert told == sorted(told) and told[-1] == pytest.approx(1.0)
    limb = ps.Humanoid(motions[0].skeleton).limb("right_arm", limits=None)
    reading = limb.read(motions[0].pose)
    away = off(made.swivels(limb, reading.position), reading.swivel)
    constant = off(limb.search.preferred, reading.swivel)
    assert np.median(away) < 0.5 * np.median(constant)


def test_a_table_is_kept_in_a_file(table, tmp_path):
    made = ps.SwivelTable("left_leg", table.angles, table.distances, origin={"from": "a test"})
    made.save(tmp_path / "table.npz")
    back = ps.SwivelTable.load(tmp_path / "table.npz")
    assert back.name == "left_leg" and back.origin == {"from": "a test"}
    np.testing.assert_array_equal(back.distances, made.distances)
    np.testing.assert_allclose(back.angles, made.angles, atol=1e-6)
    back.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "table.npz").read_bytes()


WRONG = {
    "angles": lambda m: m.pop("angles"),
    "header": lambda m: m.update(header=np.frombuffer(b"[" * 100_000, np.uint8)),
    "format": lambda m: m.update(header=np.frombuffer(b'{"format": "posable-range"}', np.uint8)),
    "finite": lambda m: m.update(angles=np.full((60, 5), np.nan, "<f4")),
    "expected": lambda m: m.update(angles=np.zeros((60, 4), "<f4")),
    "growing": lambda m: m.update(distances=np.zeros(5)),
    "samples": lambda m: m.update(angles=np.zeros((3, 5), "<f4")),
    "ours": lambda m: m.update(more=np.zeros(3)),
}


@pytest.mark.parametrize("says", WRONG)
def test_a_file_that_is_no_table_is_refused_by_name(table, tmp_path, says):
    table.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as archive:
        members = {name: archive[name] for name in archive.files}
    WRONG[says](members)
    np.savez(tmp_path / "bad.npz", **members)
    with pytest.raises(ps.FormatError, match=says) as told:
        ps.SwivelTable.load(tmp_path / "bad.npz")
    assert "bad.npz" in str(told.value)


@pytest.mark.parametrize("name", ["right_arm", "left_arm", "right_leg", "left_leg"])
def test_a_built_in_table_comes_with_posable_and_says_from_where(name):
    made = ps.SwivelTable.builtin(name)
    assert made.name == name and made.origin["script"] == "tools/fit_swivels.py" and len(made.origin["sha256"]) == 64
    limb = ps.Limb(name, UPPER, LOWER)
    down = [0.0, 0.0, 0.45] if name.endswith("leg") else [0.0, -0.45, 0.1]
    assert abs(made.swivels(limb, down)) < math.radians(60.0)


@pytest.fixture(scope="module")
def unseen(cmu) -> list[ps.Motion]:
    clips = sorted(path for path in cmu.glob("*.bvh") if path.name.split("_")[0] in UNSEEN)
    return [ps.load(path, repair="cmu", first_frame=1) for path in clips]


@pytest.mark.parametrize("kind", ["arm", "leg"])
def test_the_built_in_table_is_nearer_to_unseen_people_than_a_constant(unseen, kind):
    table, away, constant = ps.SwivelTable.builtin(f"right_{kind}"), [], []
    for motion in unseen:
        for side in ("right", "left"):
            limb = ps.Humanoid(motion.skeleton).limb(f"{side}_{kind}", limits=None)
            reading = limb.read(motion.pose)
            bent = ps.LimbRange.builtin(limb.name, limb).is_bent(reading.position)
            away.append(off(table.swivels(limb, reading.position), reading.swivel)[bent])
            constant.append(off(limb.search.preferred, reading.swivel)[bent])
    near, far = np.median(np.concatenate(away)), np.median(np.concatenate(constant))
    print(f"{kind}: median {math.degrees(near):.1f} degrees, the constant {math.degrees(far):.1f}")
    assert near < 0.9 * far


# Either of them, given to the solver


@pytest.mark.parametrize("kind", ["model", "table"])
def test_a_small_step_of_the_hand_is_a_small_turn_of_the_elbow(table, kind):
    """Along random lines through the front of the body, away from full stretch."""
    chosen = ps.Sensorimotor() if kind == "model" else table
    rng = np.random.default_rng(7)
    for _ in range(200):
        ends = directions(rng, 2, 0.0, math.radians(60.0)) * rng.uniform(0.4, 0.9, (2, 1)) * LENGTH
        path = np.linspace(*ends, 1 + int(np.linalg.norm(ends[1] - ends[0]) / 1e-4))
        turned = off(*np.stack([(s := chosen.swivels(arm(), path))[1:], s[:-1]]))
        assert turned.max(initial=0.0) < math.radians(1.0)


@pytest.mark.parametrize("name", ["right_arm", "left_arm"])
@pytest.mark.parametrize("kind", ["model", "table"])
def test_the_search_begins_where_it_says(table, kind, name):
    limb, chosen = arm(name), ps.Sensorimotor() if kind == "model" else table
    position = places(8, 500)
    answer = limb.solve(position, preferred=chosen)
    reached = answer.ok
    assert reached.mean() > 0.9
    np.testing.assert_allclose(answer.swivel[reached], chosen.swivels(limb, position)[reached], atol=1e-12)
    one = limb.solve(position[0], preferred=chosen)
    assert one.swivel == answer.swivel[0]


def test_a_body_places_its_hand_by_it(table):
    body = ps.figure()
    target = ps.Target([-0.3, 1.3, 0.35])
    for chosen in (ps.Sensorimotor(), table):
        told = body.place(body.neutral_pose, "right_hand", target, preferred=chosen)
        assert told.ok and told.position_error < 1e-9


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3) | st.sampled_from(HOSTILE))
def test_hostile_positions_have_a_swivel(position):
    made = ps.SwivelTable("right_arm", np.linspace(-3.0, 3.0, 300).reshape(60, 5))
    for chosen in (ps.Sensorimotor(), made):
        for name in ("right_arm", "left_arm"):
            assert -math.pi <= chosen.swivels(arm(name), position) <= math.pi


def test_what_is_no_number_has_a_swivel_too_and_leaves_its_neighbours_alone(table):
    position = places(9, 5)
    for chosen in (ps.Sensorimotor(), table):
        alone = chosen.swivels(arm(), position)
        for bad in (math.nan, math.inf):
            spoiled = position.copy()
            spoiled[2, 1] = bad
            got = chosen.swivels(arm(), spoiled)
            assert np.isfinite(got).all()
            np.testing.assert_array_equal(np.delete(got, 2), np.delete(alone, 2))
            assert arm().solve(spoiled, preferred=chosen).status[2] == ps.Status.INVALID


def test_mistakes_are_named(table):
    leg = ps.Limb("right_leg", 0.4, 0.4)
    good = places(10, 20)
    for wrong, says in (
        (lambda: ps.Sensorimotor().swivels(leg, good), "right_leg"),
        (lambda: table.swivels(leg, good), "right_leg"),
        (lambda: table.swivels(arm(reference="paper"), good), "paper"),
        (lambda: ps.SwivelTable("tail", np.zeros((60, 5))), "tail"),
        (lambda: ps.SwivelTable("right_arm", np.zeros((60, 4))), r"\(60, 4\)"),
        (lambda: ps.SwivelTable("right_arm", np.full((60, 5), math.nan)), "finite"),
        (lambda: ps.SwivelTable("right_arm", np.zeros((60, 2)), [0.5, 0.5]), "growing"),
        (lambda: ps.SwivelTable("right_arm", np.zeros((9, 5))), "9 samples"),
        (lambda: ps.SwivelTable.from_examples("right_arm", good, 0.0, UPPER, LOWER, smooth=0.0), "smooth"),
        (lambda: ps.SwivelTable.from_examples("right_arm", good * 0.0, 0.0, UPPER, LOWER), "none of them bent"),
        (lambda: ps.SwivelTable.from_examples("right_arm", good, 0.0, -1.0, LOWER), "bones"),
        (lambda: ps.SwivelTable.fit(ps.figure(), "right_arm", []), "none of them bent"),
        (lambda: ps.SwivelTable.fit(ps.figure(), "tail", []), "tail"),
        (lambda: ps.Sensorimotor().swivels(arm(), [1.0, 2.0]), r"\(2,\)"),
    ):
        with pytest.raises(ps.PosableError, match=says):
            wrong()
