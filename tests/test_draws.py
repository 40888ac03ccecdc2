"""Units, their sums, and draws of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mycelium import draws
from mycelium.draws import (
    as_generator,
    check_level,
    check_resamples,
    draw,
    leave_one_out,
    replicate,
    seed_name,
    sum_by_unit,
    swaps,
    units_of,
)

# -- units


def test_units_stand_in_the_order_of_their_sorted_keys() -> None:
    units = units_of(["c", "a", "b", "a"], 4)
    assert units.keys == ("a", "b", "c")
    assert units.index.tolist() == [2, 0, 1, 0]
    assert len(units) == units.size == 3
    assert units.kind == "group"
    assert units.describe() == "3 groups"
    assert units_of([10, 9, 10], 3).index.tolist() == [1, 0, 1]  # numbers, not their texts
    assert units_of([("x", 2), ("x", 1)], 2).keys == (("x", 1), ("x", 2))


def test_without_groups_each_row_is_a_unit() -> None:
    units = units_of(None, 3)
    assert (units.size, units.index.tolist(), units.keys, units.kind) == (3, [0, 1, 2], None, "example")
    assert units_of(None, 1).describe() == "1 example"
    assert units_of(None, 1234).describe() == "1,234 examples"


def test_groups_come_in_any_container() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    values = [3, 1, 3]
    containers: list[Any] = [
        tuple(values),
        np.array(values),
        pandas.Series(values, index=[7, 8, 9]),
        pyarrow.array(values),
        iter(values),
    ]
    for container in containers:
        units = units_of(container, 3)
        assert units.keys == (1, 3)
        assert {type(key) for key in units.keys} == {int}
        assert units.index.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["a", "b"], ValueError, "document has 2 values.*3 rows"),
        (["a", None, "b"], ValueError, "document: row 1 has no value"),
        ([1.0, 2.0, float("nan")], ValueError, "document: row 2 has no value"),
        (["a", ["b"], "c"], TypeError, "document: row 1 is a list"),
        (["a", 1, "b"], TypeError, "document holds values that cannot be sorted together.*int, str"),
        ("abc", TypeError, "document must be a sequence.*str"),
        ({"a": 1, "b": 2, "c": 3}, TypeError, "document must be a sequence.*dict"),
    ],
)
def test_groups_that_cannot_be_used(groups: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        units_of(groups, 3, name="document")


def test_sums_of_units() -> None:
    values = np.array([[1, 10], [2, 20], [3, 30], [4, 40]])
    units = units_of(["b", "a", "b", "a"], 4)
    assert sum_by_unit(values, units).tolist() == [[6, 60], [4, 40]]
    assert sum_by_unit(values, units, np.array([1, 0, 2, 5])).tolist() == [[20, 200], [7, 70]]
    assert sum_by_unit(values, units_of(None, 4)).tolist() == values.tolist()
    assert sum_by_unit(values, units_of(None, 4), np.array([0.5, 0, 1, 2])).tolist() == [
        [0.5, 5],
        [0, 0],
        [3, 30],
        [8, 80],
    ]
    assert sum_by_unit(values[:, :0], units).shape == (2, 0)


def test_sums_without_each_unit() -> None:
    assert leave_one_out(np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])).tolist() == [
        [110, 220],
        [101, 202],
        [11, 22],
    ]


# -- draws


def counted(chosen: Any, size: int) -> list[list[int]]:
    return [[row.count(i) for i in range(size)] for row in chosen.tolist()]


@pytest.mark.parametrize("counted_at_once", [1, 12, 1 << 17])
@pytest.mark.parametrize("cells", [1, 7, 50, 1 << 17])
def test_draws_are_those_of_the_generator(cells: int, counted_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "CELLS", cells)
    monkeypatch.setattr(draws, "COUNTED", counted_at_once)
    expected = counted(np.random.default_rng(3).integers(0, 5, size=(11, 5)), 5)
    blocks = list(draw(np.random.default_rng(3), 5, 11))
    assert np.concatenate(blocks).tolist() == expected
    assert all(block.shape[1] == 5 for block in blocks)
    assert [row for block in draw(np.random.default_rng(3), 5, 11, reuse=True) for row in block.tolist()] == expected
    expected = counted(np.random.default_rng(3).integers(0, 5, size=(11, 9)), 5)
    assert np.concatenate(list(draw(np.random.default_rng(3), 5, 11, drawn=9))).tolist() == expected


def test_replicates_are_sums_of_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "CELLS", 20)
    sums = np.arange(12.0).reshape(6, 2) ** 2
    chosen = np.random.default_rng(8).integers(0, 6, size=(40, 6))
    out = replicate(draw(np.random.default_rng(8), 6, 40), sums, 40)
    assert out.tolist() == sums[chosen].sum(axis=1).tolist()
    assert replicate(draw(np.random.default_rng(8), 6, 40, reuse=True), sums, 40).tolist() == out.tolist()


def test_draws_need_units() -> None:
    with pytest.raises(ValueError, match="no units"):
        list(draw(np.random.default_rng(0), 0, 5))
    with pytest.raises(ValueError, match="no units"):
        swaps(np.random.default_rng(0), 0, 5)


@pytest.mark.parametrize("cells", [1, 7, 1 << 17])
def test_random_swaps_do_not_depend_on_blocks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "CELLS", cells)
    exact, blocks = swaps(np.random.default_rng(2), 6, 63)
    assert not exact  # one pattern fewer than there are
    bits = np.random.default_rng(2).integers(0, 2**32, size=(63, 6), dtype=np.uint32)
    assert np.concatenate(list(blocks)).tolist() == (bits % 2 == 0).astype(float).tolist()


@pytest.mark.parametrize("cells", [1, 7, 1 << 17])
def test_all_swaps_where_there_are_no_more(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "CELLS", cells)
    rng = np.random.default_rng(2)
    before = rng.bit_generator.state
    exact, blocks = swaps(rng, 6, 64)
    patterns = np.concatenate(list(blocks)).tolist()
    assert exact
    assert patterns[0] == [0.0] * 6
    assert sorted(patterns) == sorted(map(list, itertools.product([0.0, 1.0], repeat=6)))
    assert rng.bit_generator.state == before


# -- seeds and options


def test_seeds() -> None:
    rng = np.random.default_rng(4)
    assert as_generator(rng) is rng
    assert as_generator(4).random() == as_generator(np.int64(4)).random() == np.random.default_rng(4).random()
    assert (seed_name(4), seed_name(np.int64(4)), seed_name(rng)) == ("4", "4", "generator")
    for wrong in (None, 1.0, "1", True, np.random.RandomState(0)):
        with pytest.raises(TypeError, match="seed must be an integer or a numpy"):
            as_generator(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 0"):
        as_generator(-1)


def test_options() -> None:
    assert check_resamples(np.int32(7)) == 7
    assert check_level(np.float64(0.9)) == 0.9
    for wrong in (0, -3):
        with pytest.raises(ValueError, match="n_resamples must be at least 1"):
            check_resamples(wrong)
    for wrong in (1.0, "1", True, None):
        with pytest.raises(TypeError, match="n_resamples must be an integer"):
            check_resamples(wrong)
    for wrong in (0, 1, 95, -0.1, float("nan")):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            check_level(wrong)
    for wrong in ("0.95", True, None):
        with pytest.raises(TypeError, match="level must be a number"):
            check_level(wrong)
