"""What a limb range promises (specification limb-range, section 8: M1 to M5, M9 to M11), and its fit."""

import math
from dataclasses import replace

import numpy as np
import pytest

import posable as ps
from posable.limb.kernels import reference
from posable.limb.range.fit import shortest_arc
from posable.limb.range.locate import cell_of
from posable.limb.range.model import to_right
from posable.limb.range.sphere import fibonacci, sphere_mesh

from .range_cases import LOWER, POLE, UPPER, anywhere, cone, directions, judge

LENGTH = UPPER + LOWER


def learned(name="right_arm", examples=None, **options) -> ps.LimbRange:
    position, swivel = cone(0, 20_000) if examples is None else examples
    return ps.LimbRange.from_examples(name, position * to_right(name), swivel, UPPER, LOWER, **options)


@pytest.fixture(scope="module")
def cone_range() -> ps.LimbRange:
    return learned(trim=0.001)  # evenly spread examples without a bad one: the default would cut into them


@pytest.fixture(scope="module")
def builtin() -> dict[str, ps.LimbRange]:
    return {name: ps.LimbRange.builtin(name) for name in ("right_arm", "left_arm", "right_leg", "left_leg")}


# Validation


def test_a_cone_is_learned_as_a_cone(cone_range):
    """M1: the wrap of the swivel lies inside the examples."""
    position, swivel = cone(1, 20_000, 38.0)
    assert cone_range.contains(position, swivel).mean() > 0.99
    outside = directions(np.random.default_rng(2), 5000, math.radians(52.0), math.pi) * 0.7 * LENGTH
    assert not cone_range.contains(outside, math.pi).any()
    assert not cone_range.contains(POLE * 0.7 * LENGTH, 0.0)
    told = cone_range.spans(POLE)
    assert abs(abs(float(told.mid)) - math.pi) < math.radians(2.0)
    assert math.radians(8.0) < told.half < math.radians(12.0)
    assert 0.49 * LENGTH < told.low < 0.52 * LENGTH and 0.88 * LENGTH < told.high < 0.91 * LENGTH


def test_examples_pass_when_nothing_is_trimmed():
    """M2."""
    position, swivel = cone(3, 20_000)
    assert learned(examples=(position, swivel), trim=0.0).contains(position, swivel).mean() > 0.995


@pytest.mark.parametrize("fill", [True, False])
def test_a_hole_is_filled_only_when_asked(fill):
    """M3."""
    ring = cone(4, 40_000, 60.0, low=30.0)
    found = learned(examples=ring, fill_holes=fill)
    assert found.contains(POLE * 0.7 * LENGTH, math.pi) is fill
    assert len(found.boundary()) == (1 if fill else 2)
    assert (found.report.filled > 0) is fill
    middle = directions(np.random.default_rng(5), 200, 0.0, math.radians(10.0)) * 0.7 * LENGTH
    assert found.contains(middle, math.pi).all() == fill
    if not fill:
        with pytest.raises(ps.PosableError, match="holes"):
            found.correct(middle, math.pi, smooth=True)
        assert found.contains(found.correct(middle, 1.0).position, found.correct(middle, 1.0).swivel).all()


@pytest.mark.parametrize("name", ["right_arm", "left_leg"])
def test_compiled_answers_are_those_of_brute_force(builtin, name):
    found = builtin[name]
    position, swivel = anywhere(6, 150, found.upper + found.lower)
    margins = found.margins(position, swivel)
    inside = found.contains(position, swivel)
    for i in range(len(position)):
        edge, ok = judge(found, position[i], swivel[i])
        assert margins.direction[i] == pytest.approx(edge, abs=1e-9)
        assert inside[i] == ok


def test_every_direction_lies_in_a_cell_of_the_map_also_on_its_rim(builtin):
    """The axes, and directions that fold onto the rim of the octahedral map; judged by brute force too."""
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    between = np.array(
        [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if abs(x) + abs(y) + abs(z)]
    )
    n = np.concatenate([axes, between / np.linalg.norm(between, axis=1, keepdims=True)])
    for size in (1, 7, 32):
        cells = [(cell_of(size, tuple(one)), one) for one in n.tolist()]
        for cell, (x, y, z) in cells:
            total = abs(x) + abs(y) + abs(z)
            u, v = x / total, y / total
            if z < 0.0:
                u, v = math.copysign(1.0 - abs(v), u), math.copysign(1.0 - abs(u), v)
            row, column = divmod(cell, size)
            assert 0 <= cell < size * size
            for at, k in ((u, column), (v, row)):
                assert 2.0 * k / size - 1.0 - 1e-9 <= at <= 2.0 * (k + 1) / size - 1.0 + 1e-9
    for found in builtin.values():
        for far in (0.5, 0.8):
            position = n * far * (found.upper + found.lower)
            for swivel in (-1.5, 0.0, 1.5):
                inside = found.contains(position, swivel)
                margins = [judge(found, one, swivel) for one in position]
                clear = np.array([abs(margin) > 1e-5 for margin, _ in margins])
                np.testing.assert_array_equal(inside[clear], np.array([answer for _, answer in margins])[clear])


def test_margins_say_what_contains_says(builtin):
    for found in builtin.values():
        position, swivel = anywhere(7, 20_000, found.upper + found.lower)
        margins = found.margins(position, swivel)
        inside = (margins.direction >= -1e-6) & (margins.distance >= -1e-9) & (margins.swivel >= -1e-9)
        np.testing.assert_array_equal(found.contains(position, swivel), inside)


def test_a_position_alone_can_be_judged(cone_range):
    position, swivel = anywhere(8, 5000)
    free = cone_range.contains(position)
    assert (free >= cone_range.contains(position, swivel)).all()
    assert free.sum() > cone_range.contains(position, swivel).sum()


def test_a_straight_limb_may_have_any_swivel():
    rng = np.random.default_rng(9)
    n = directions(rng, 20_000, 0.0, math.radians(40.0))
    far = rng.uniform(0.7, 1.0, (20_000, 1))
    found = learned(examples=(n * far * LENGTH, np.radians(rng.uniform(-10.0, 10.0, 20_000))))
    assert not found.is_bent(POLE * 0.9995 * LENGTH)
    assert found.contains(POLE * 0.99 * LENGTH, math.pi)
    assert not found.contains(POLE * 0.8 * LENGTH, math.pi)


# Correction


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("name", ["right_arm", "left_arm", "right_leg", "left_leg"])
def test_what_is_corrected_is_inside_and_stays(builtin, name, smooth):
    """M4."""
    found = builtin[name]
    position, swivel = anywhere(10, 30_000, found.upper + found.lower)
    once = found.correct(position, swivel, smooth=smooth)
    assert found.contains(once.position, once.swivel).all()
    again = found.correct(once.position, once.swivel, smooth=smooth)
    assert not again.changed.any()
    np.testing.assert_array_equal(again.position, once.position)
    assert np.isfinite(once.position).all() and np.isfinite(once.swivel).all()


def test_what_is_inside_stays_bit_for_bit(builtin):
    """M5."""
    for found in builtin.values():
        position, swivel = anywhere(11, 50_000, found.upper + found.lower)
        inside = found.contains(position, swivel)
        assert inside.any()
        answer = found.correct(position, swivel)
        np.testing.assert_array_equal(answer.changed, ~inside)
        np.testing.assert_array_equal(answer.position[inside], position[inside])
        np.testing.assert_array_equal(answer.swivel[inside], swivel[inside])


def test_a_correction_goes_to_the_nearest_direction_and_says_what_changed(builtin):
    found = builtin["right_arm"]
    position, swivel = anywhere(12, 20_000, found.upper + found.lower)
    answer = found.correct(position, swivel)
    before = found.margins(position, swivel)
    n = position / np.linalg.norm(position, axis=-1, keepdims=True)
    q = answer.position / np.linalg.norm(answer.position, axis=-1, keepdims=True)
    moved = 2.0 * np.arcsin(np.minimum(np.linalg.norm(n - q, axis=-1) / 2.0, 1.0))
    np.testing.assert_allclose(moved, np.maximum(-before.direction, 0.0), atol=2e-6)
    np.testing.assert_array_equal(answer.causes["direction"], before.direction < -1e-6)
    still = ~answer.causes["direction"]
    np.testing.assert_array_equal(answer.causes["distance"][still], before.distance[still] < -1e-9 * 0.6)


def test_a_margin_keeps_away_from_every_edge(builtin):
    found = builtin["right_arm"]
    position, swivel = anywhere(13, 20_000, found.upper + found.lower)
    answer = found.correct(position, swivel, margin=0.05)
    margins = found.margins(answer.position, answer.swivel)
    told = found.spans(answer.position)
    assert margins.direction.min() > 0.05 - 1e-6
    wide = told.high - told.low > 0.1 * (found.upper + found.lower)
    assert margins.distance[wide].min() > 0.05 * (found.upper + found.lower) - 1e-6
    assert margins.swivel.min() > np.minimum(0.05, told.half).min() - 1e-6
    assert not found.correct(answer.position, answer.swivel, margin=0.05).changed.any()


def circles(count: int, points: int):
    """Great circles around the base joint."""
    rng = np.random.default_rng(14)
    turn = 2.0 * math.pi * np.arange(points + 1) / points
    for _ in range(count):
        a, b = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
        yield np.cos(turn)[:, None] * a + np.sin(turn)[:, None] * b


def turned(found: ps.LimbRange, path: np.ndarray, smooth: bool) -> np.ndarray:
    """Steps [degrees] of the corrected direction along a path of directions."""
    moved = found.correct(path * 0.7 * (found.upper + found.lower), 0.5, smooth=smooth).position
    moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
    return np.degrees(2.0 * np.arcsin(np.minimum(np.linalg.norm(np.diff(moved, axis=0), axis=-1) / 2.0, 1.0)))


@pytest.mark.parametrize("name", ["right_arm", "right_leg"])
def test_the_smooth_correction_never_jumps(builtin, name):
    """A step of the target cut into a hundred: the answer's steps become small too; those of the nearest one do not."""
    found = builtin[name]
    nearest, largest = [], 0.0
    for circle in circles(20, 720):
        for smooth in (False, True):
            steps = turned(found, circle, smooth)
            at = int(np.argmax(steps))
            share = np.linspace(0.0, 1.0, 101)[:, None]
            finer = turned(found, circle[at] * (1.0 - share) + circle[at + 1] * share, smooth).max()
            if smooth:
                largest = max(largest, float(steps.max()))
                assert finer < 0.35  # [degrees], for steps of 0.005
            else:
                nearest.append(finer)
    assert max(nearest) > 60.0
    assert largest < 10.0


def test_the_smooth_swivel_never_jumps(builtin):
    found = builtin["right_arm"]
    turn = np.linspace(-math.pi, math.pi, 7201)
    answer = found.correct(np.broadcast_to([0.3, -0.2, 0.2], (7201, 3)), turn, smooth=True)
    steps = np.angle(np.exp(1j * np.diff(answer.swivel)))
    assert np.abs(steps).max() < 10.0 * 2.0 * math.pi / 7200


HOSTILE = [
    (0.0, 0.0, 0.0),
    (1e-320, 0.0, 0.0),
    (9e5, -9e5, 9e5),
    (0.0, 0.0, -1e-8),
    (-1.0, 0.0, 0.0),
    (0.0, -0.0, 5.0),
]


@pytest.mark.parametrize("smooth", [False, True])
def test_hostile_positions_are_brought_in_and_bad_rows_left_alone(builtin, smooth):
    for found in builtin.values():
        position = np.array([*HOSTILE, (np.nan, 0.0, 0.0), (1e300, 0.0, 0.0), (0.1, -0.2, 0.2)])
        swivel = np.array([0.0, 1e300, -1e9, 3.0, -3.0, 0.1, 0.0, 0.0, np.nan])
        answer = found.correct(position, swivel, smooth=smooth)
        count = len(HOSTILE)
        assert found.contains(answer.position[:count], answer.swivel[:count]).all()
        assert not answer.changed[count:].any()
        np.testing.assert_array_equal(answer.position[count:], position[count:])
        assert not found.contains(position[count:], swivel[count:]).any()
        assert (found.margins(position[count:], swivel[count:]).direction == -np.inf).all()


def test_a_range_over_the_whole_sphere_has_no_boundary():
    rng = np.random.default_rng(16)
    n = rng.normal(size=(60_000, 3))
    n *= (0.7 * LENGTH / np.linalg.norm(n, axis=1))[:, None]
    found = learned(examples=(n, rng.uniform(-math.pi, math.pi, 60_000)))
    assert found.boundary() == [] and found.report.area == pytest.approx(1.0)
    position, swivel = anywhere(17, 1000)
    answer = found.correct(position, swivel, smooth=True, margin=0.01)
    assert found.contains(answer.position, answer.swivel).all() and not answer.causes["direction"].any()
    assert (found.margins(position, swivel).direction == math.pi).all()
    assert (found.spans(position).half == math.pi).all()


# Other limbs


def test_a_range_holds_for_other_proportions(cone_range):
    """M9: a limb 1.3 times as long gives the same answers in its own lengths."""
    position, swivel = anywhere(18, 10_000)
    larger = cone_range.scaled(1.3 * UPPER, 1.3 * LOWER)
    np.testing.assert_array_equal(larger.contains(1.3 * position, swivel), cone_range.contains(position, swivel))
    a, b = larger.correct(1.3 * position, swivel), cone_range.correct(position, swivel)
    np.testing.assert_allclose(a.position, 1.3 * b.position, atol=1e-12)
    np.testing.assert_allclose(a.swivel, b.swivel, atol=1e-12)
    limb = ps.Limb("right_arm", 1.3 * UPPER, 1.3 * LOWER)
    np.testing.assert_array_equal(cone_range.for_limb(limb).contains(1.3 * position), larger.contains(1.3 * position))


@pytest.mark.parametrize(("name", "other"), [("right_arm", "left_arm"), ("left_leg", "right_leg")])
def test_a_mirrored_range_gives_mirrored_answers(name, other):
    """M10, bit for bit."""
    found = learned(name)
    twin = found.mirrored()
    assert twin.name == other and twin.mirrored().name == name
    mirror = to_right(name) * to_right(other)
    assert sorted(mirror) == [-1.0, 1.0, 1.0]
    position, swivel = anywhere(19, 10_000)
    np.testing.assert_array_equal(twin.contains(position * mirror, swivel), found.contains(position, swivel))
    for smooth in (False, True):
        a = twin.correct(position * mirror, swivel, smooth=smooth)
        b = found.correct(position, swivel, smooth=smooth)
        np.testing.assert_array_equal(a.position, b.position * mirror)
        np.testing.assert_array_equal(a.swivel, b.swivel)


@pytest.mark.parametrize("kind", ["arm", "leg"])
def test_a_mirrored_pose_reads_as_the_mirror_image(kind):
    """What `mirrored` relies on: the same swivel on the other side."""
    body = ps.figure()
    motion = ps.samples.dance(body, duration=1.0)
    right = body.limb(f"right_{kind}").read(motion.pose)
    left = body.limb(f"left_{kind}").read(body.mirrored(motion.pose))
    np.testing.assert_allclose(left.position * to_right(f"left_{kind}"), right.position, atol=1e-9)
    np.testing.assert_allclose(np.exp(1j * left.swivel), np.exp(1j * right.swivel), atol=1e-9)


# Learning


def test_a_few_outliers_are_trimmed():
    """M11."""
    position, swivel = cone(20, 50_000)
    axial = position @ POLE / np.linalg.norm(position, axis=-1)
    bad = np.flatnonzero(axial > math.cos(math.radians(30.0)))[:10]  # 0.02 %
    position[bad] *= 0.2
    swivel[bad] = 0.0
    trimmed, whole = (learned(examples=(position, swivel), trim=trim) for trim in (0.001, 0.0))
    near = position[bad] / np.linalg.norm(position[bad], axis=-1, keepdims=True)
    assert trimmed.spans(near).low.min() > 0.45 * LENGTH
    assert trimmed.spans(near).half.max() < math.radians(15.0)
    assert whole.spans(near).half.min() > math.radians(50.0)
    assert not trimmed.contains(position[bad], swivel[bad]).any()


def test_the_arc_of_swivels_is_the_shortest_one():
    rng = np.random.default_rng(21)
    for _ in range(300):
        middle, width = rng.uniform(-math.pi, math.pi), rng.uniform(0.0, 2.8)
        angles = middle + rng.uniform(-width, width, rng.integers(1, 40))
        mid, half = shortest_arc(angles, 1.0)
        off = np.abs(np.angle(np.exp(1j * (angles - mid))))
        assert off.max() <= half + 1e-12
        if half < math.pi:
            gaps = np.diff(np.sort(np.mod(angles, 2.0 * math.pi)), append=np.sort(np.mod(angles, 2.0 * math.pi))[0])
            gaps[-1] += 2.0 * math.pi
            assert half == pytest.approx(0.5 * (2.0 * math.pi - gaps.max()), abs=1e-12)
    assert shortest_arc(np.array([math.pi - 0.1, -math.pi + 0.1]), 1.0)[1] == pytest.approx(0.1)
    assert np.isnan(shortest_arc(np.zeros(0), 1.0)[1])


def test_a_range_is_learned_from_motions_of_any_bodies():
    body, other = ps.figure(1.75), ps.figure(1.3)
    motions = [replace(ps.samples.dance(body), name="dance"), replace(ps.samples.reach(other), name="reach")]
    told = []
    found = ps.LimbRange.fit(body, "right_arm", motions, progress=told.append)
    assert [name for name, _ in found.report.sources] == ["dance", "reach"]
    assert found.report.examples == sum(map(len, motions)) == sum(count for _, count in found.report.sources)
    assert told == sorted(told) and told[-1] == pytest.approx(1.0)
    assert found.upper == pytest.approx(body.limb("right_arm").upper)
    for motion, whose in zip(motions, (body, other), strict=True):
        reading = whose.limb("right_arm").read(motion.pose)
        own = found.for_limb(whose.limb("right_arm"))
        assert own.contains(reading.position, reading.swivel).mean() > 0.9
    whole = ps.LimbRange.fit(body, "right_arm", motions, min_count=1, trim=0.0)
    for motion, whose in zip(motions, (body, other), strict=True):
        reading = whose.limb("right_arm").read(motion.pose)
        own = whole.for_limb(whose.limb("right_arm"))
        # Two short motions are thin: between samples a range follows their outermost poses only so closely. M2, on
        # many examples, is held to 99.5 %.
        assert own.contains(reading.position, reading.swivel).mean() > 0.99
    one = ps.LimbRange.fit(body, "right_arm", motions[0], max_poses=50, seed=3)
    assert one.report.examples == 50
    same = ps.LimbRange.fit(body, "right_arm", iter(motions[:1]), max_poses=50, seed=3)
    np.testing.assert_array_equal(one.table.low, same.table.low)


def test_harmonics_keep_what_people_do_and_are_small(builtin):
    found = builtin["right_arm"]
    compact = found.compact(4)
    assert compact.coefficients.shape == (6, 25)
    position, swivel = anywhere(22, 30_000, found.upper + found.lower)
    inside, loose = found.contains(position, swivel), compact.contains(position, swivel)
    assert loose[inside].mean() > 0.9
    assert loose.mean() < 2.5 * inside.mean()
    answer = compact.correct(position, swivel, smooth=True)
    assert compact.contains(answer.position, answer.swivel).all()


def test_swivels_are_the_solvers_own():
    """A limb posed by `solve` at a swivel is judged by that swivel."""
    body = ps.figure()
    arm = body.limb("right_arm", limits=None)
    found = ps.LimbRange.builtin("right_arm", arm)
    position = np.array([0.35, -0.25, 0.15])
    told = found.spans(position)
    turns = np.linspace(-3.1, 3.1, 40)
    answer = arm.solve(np.broadcast_to(position, (40, 3)), [1.0, 0.0, 0.0, 0.0], swivel=turns)
    reading = arm.read(arm.pose(body.neutral_pose, answer.values))
    expected = np.abs(np.angle(np.exp(1j * (turns - told.mid)))) <= told.half
    np.testing.assert_array_equal(found.contains(reading.position, reading.swivel), expected)
    u, defined = reference(arm.packed[0], (1.0, 0.0, 0.0))
    assert defined and abs(u[0]) < 1e-12


# The sphere


@pytest.mark.parametrize("samples", [50, 250, 1000, 4000])
def test_the_sphere_is_covered_once(samples):
    mesh = sphere_mesh(samples)
    assert mesh.areas.sum() == pytest.approx(4.0 * math.pi)
    assert (mesh.areas > 0.0).all()
    assert len(mesh.triangles) == 2 * samples - 4
    for k in range(3):
        other = mesh.triangles[mesh.neighbours[:, k]]
        for corner in ((k + 1) % 3, (k + 2) % 3):
            assert (other == mesh.triangles[:, [corner]]).any(axis=1).all()
    assert np.linalg.norm(fibonacci(samples), axis=1) == pytest.approx(1.0)


# Mistakes


def test_mistakes_are_told():
    position, swivel = cone(23, 1000)
    with pytest.raises(ps.PosableError, match=r"radius of 5 degrees; with 1000 samples expected between 9\.6"):
        learned(radius=math.radians(5.0))
    with pytest.raises(ps.PosableError, match="min_count is 0"):
        learned(min_count=0)
    with pytest.raises(ps.PosableError, match=r"trim is 0\.5"):
        learned(trim=0.5)
    with pytest.raises(ps.PosableError, match="50 to"):
        learned(samples=10, radius=1.5)
    with pytest.raises(ps.UnknownNameError, match="right_arm"):
        ps.LimbRange.from_examples("right_hand", position, swivel, 0.3, 0.3)
    with pytest.raises(ps.UnknownNameError, match="table"):
        learned(kind="tabel")
    with pytest.raises(ps.UnknownNameError, match="right_arm"):
        ps.LimbRange.builtin("arm")
    with pytest.raises(ps.PosableError, match="none of them usable"):
        learned(examples=(np.full((5, 3), np.nan), np.zeros(5)))
    with pytest.raises(ps.PosableError, match="more poses"):
        learned(examples=(position[:3], swivel[:3]))
    with pytest.raises(ps.PosableError, match="degree 40"):
        learned(examples=(position, swivel), kind="harmonics", degree=40)
    with pytest.raises(ps.ShapeError, match="bones"):
        ps.LimbRange.from_examples("right_arm", position, swivel, np.ones(3), 0.3)


def test_wrong_questions_are_told(cone_range):
    with pytest.raises(ps.ShapeError, match="expected"):
        cone_range.contains([1.0, 2.0], 0.0)
    with pytest.raises(ps.ShapeError, match="do not fit"):
        cone_range.contains(np.zeros((4, 3)), np.zeros(5))
    with pytest.raises(ps.PosableError, match="margin is -1"):
        cone_range.correct([0.1, 0.1, 0.1], 0.0, margin=-1.0)
    with pytest.raises(ps.PosableError, match="left_arm"):
        cone_range.for_limb(ps.Limb("left_arm", 0.3, 0.3))
    with pytest.raises(ps.PosableError, match="paper"):
        cone_range.for_limb(ps.Limb("right_arm", 0.3, 0.3, reference="paper"))
    with pytest.raises(ps.PosableError, match="direction"):
        cone_range.spans([0.0, 0.0, 0.0])


def test_questions_broadcast(cone_range):
    position, swivel = anywhere(24, 12)
    many = cone_range.correct(position.reshape(3, 4, 3), swivel.reshape(3, 4))
    assert many.position.shape == (3, 4, 3) and many.swivel.shape == many.changed.shape == (3, 4)
    one = cone_range.correct(position[5], swivel[5])
    np.testing.assert_array_equal(one.position, many.position[1, 1])
    assert isinstance(cone_range.contains(position[5], swivel[5]), bool)
    assert cone_range.contains(position[:, None], swivel[:7]).shape == (12, 7)
    assert cone_range.contains(np.zeros((0, 3)), 0.0).shape == (0,)
