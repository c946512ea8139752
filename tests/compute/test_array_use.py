"""What a batch's arrays have to be is read from its source: rows, lengths of axes, and what is written to."""

import numpy as np

from posable.compute import batch, kernel, prange
from posable.compute.array_use import ALWAYS, NEVER, SOMETIMES, array_use
from posable.compute.calls import parsed

WIDE = 5


@kernel
def third(values, j):
    return values[j, 2]


@batch
def looked_at(n, points, table, out):
    for i in prange(n):
        out[i] = points[i, 2] + table[0, i, 1][3]


@batch
def in_loops(n, plain, named, sums, guarded, left, unknown):
    for i in prange(n):
        for j in range(4):
            plain[i, j] = 1.0
            sums[i, 2 * j + 1] = 1.0
            if j < 2:
                guarded[i, j] = 1.0
        for j in range(WIDE):
            named[i, j] = 1.0
        for j in range(6):
            left[i, j] = 1.0
            if left[i, 0] > 2.0:
                break
        for j in range(len(unknown)):
            unknown[j] = 1.0


@batch
def through_kernels(n, points, maybe, views):
    for i in prange(n):
        third(points, i)
        if n > 2:
            third(maybe, i)
        view = views[i, :, 1:]
        view[1, 3] = 2.0


@batch
def rows_in_the_middle(n, table, parts, views, whole):
    for i in prange(n):
        table[1, i] = 1.0
        if n > 2:
            third(parts[0], i)
        views[:, 2, i] = 1.0
        whole[0, 0] = 1.0


def lengths(loop, words):
    return [use.lengths for use in array_use(loop.function, parsed(words))]


def test_an_index_says_how_long_an_axis_is():
    points, table, out = array_use(looked_at.function, parsed("f8[2] f8[4] f8[1]"))
    assert points.lengths == [(1, 1), (3, 3)]
    assert table.lengths == [(1, 1), (1, 1), (2, 2), (4, 4)]
    assert (points.rows, table.rows, out.rows) == (ALWAYS, ALWAYS, ALWAYS)
    assert (points.axis, table.axis, out.axis) == (0, 1, 0)
    assert (points.written, table.written, out.written) == (False, False, True)


def test_a_loop_over_numbers_says_it_too_where_it_always_comes_to_the_last():
    plain, named, sums, guarded, left, unknown = lengths(in_loops, "f8[2] f8[2] f8[2] f8[2] f8[2] f8[1]")
    assert plain[1] == (4, 4) and named[1] == (WIDE, WIDE) and sums[1] == (8, 8)
    assert guarded[1] == (1, 0)  # of what is run sometimes, only what was written down is believed
    assert left[1] == (1, 0)
    assert unknown == [(1, 0)]


def test_kernels_and_views_are_followed():
    points, maybe, views = array_use(through_kernels.function, parsed("f8[2] f8[2] f8[3]"))
    assert points.lengths == [(1, 1), (3, 3)] and points.rows == ALWAYS
    assert maybe.lengths == [(1, 0), (3, 0)] and maybe.rows == SOMETIMES
    assert views.lengths == [(1, 1), (2, 2), (4, 4)]


def test_rows_may_lie_along_any_axis():
    used = array_use(rows_in_the_middle.function, parsed("f8[2] f8[3] f8[3] f8[2]"))
    assert [(use.rows, use.axis) for use in used] == [(ALWAYS, 1), (SOMETIMES, 1), (ALWAYS, 2), (NEVER, 0)]


def test_what_is_said_of_axes_holds_for_arrays_that_run():
    """An array that is as long as is said, and no longer, is enough."""
    shapes = [[most for _, most in one] for one in lengths(looked_at, "f8[2] f8[4] f8[1]")]
    points, table, out = map(np.ones, shapes)
    looked_at.function(1, points, table, out)
    assert out[0] == 2.0
