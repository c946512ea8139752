"""The codes of a batch for GPUs: their names, and how many rows a block of threads stages."""

import pytest

from posable.compute import calls, variants
from posable.compute.build import batch_of
from posable.compute.variants import Variant, named, row_bytes, staged_rows


@pytest.mark.parametrize("name", sorted(calls.calls()))
def test_a_codes_name_says_what_its_arrays_are_like(name):
    found = [*variants.variants(batch_of(name))]
    assert len({one.suffix for one in found}) == len(found)
    for one in found:
        assert named(name + one.suffix) == (name, one)
    assert named(name) == (name, Variant())


@pytest.mark.parametrize("name", sorted(calls.calls()))
def test_arrays_that_are_named_are_arguments_of_the_batch(name):
    batch = batch_of(name)
    own = set(variants.parameters_of(batch))
    for kind in calls.parsed(calls.calls()[name]):
        own |= set(getattr(kind.named, "_fields", ()))
    assert own.issuperset((*batch.scratch, *batch.interleaved, *batch.staged, *batch.single))


@pytest.mark.parametrize("size", [4, 8, 12, 24, 32, 48, 992, 996])
def test_32_staged_rows_lie_in_as_many_banks_of_shared_memory(size):
    step = row_bytes(size) // 4  # words of 4 bytes, of which neighbours lie in neighbouring banks
    assert row_bytes(size) >= size
    first_half = {(step * row + word) % 32 for row in range(16) for word in range(2)}
    assert len(first_half) == 32, "16 threads read 8 bytes each at once"


def test_a_block_stages_as_many_rows_as_its_memory_has_room_for():
    assert staged_rows([24, 8, 8]) == variants.HIGHEST
    assert staged_rows([variants.MOST_SHARED // 8 - 64]) == 8
    assert staged_rows([variants.MOST_SHARED]) == 0
    for sizes in ([100], [1000, 2000], [8000]):
        assert staged_rows(sizes) * sum(map(row_bytes, sizes)) <= variants.MOST_SHARED
