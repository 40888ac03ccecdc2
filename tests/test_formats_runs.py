"""Spans from masks and probabilities."""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium.formats import spans_from_mask, spans_from_probabilities


def runs(flags: list[bool]) -> list[list[int]]:
    """Return the maximal runs, one character after the other."""
    out, place = [], 0
    for flag, group in groupby(flags):
        size = len(list(group))
        if flag:
            out.append([place, place + size])
        place += size
    return out


@given(st.lists(st.lists(st.booleans(), max_size=9), max_size=6))
def test_masks(rows: list[list[bool]]) -> None:
    expected = [runs(row) for row in rows]
    numbers = [list(map(int, row)) for row in rows]
    for masks in (
        rows,
        numbers,
        [np.array(row, dtype=bool) for row in rows],
        [np.array(row, dtype=np.int8) for row in numbers],
    ):
        batch = spans_from_mask(masks)
        assert batch.tolist() == expected
        assert batch.length is not None
        assert batch.length.tolist() == [len(row) for row in rows]


def test_containers_of_masks() -> None:
    expected = [[[1, 3]], [[0, 1], [2, 3]]]
    rows = [[0, 1, 1], [1, 0, 1]]
    for masks in (
        rows,
        np.array(rows),
        np.array(rows, dtype=bool),
        np.array(rows, dtype=object),
        [rows[0], np.array(rows[1])],
        [[np.True_ if x else np.False_ for x in row] for row in rows],
    ):
        assert spans_from_mask(masks).tolist() == expected
    assert spans_from_mask([[], [1], [], []]).tolist() == [[], [[0, 1]], [], []]
    assert spans_from_mask([]).tolist() == []
    assert spans_from_mask([[], []]).tolist() == [[], []]
    assert spans_from_mask(np.zeros((2, 0))).tolist() == [[], []]


def test_arrow_masks() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = [[True, True], [], [False, True]]
    for masks in (pa.array(rows), pa.chunked_array([pa.array([[True]]), pa.array([[False], *rows])[1:]])):
        assert spans_from_mask(masks).tolist()[-3:] == [[[0, 2]], [], [[1, 2]]]
    assert spans_from_mask(pa.array([[0, 1]], pa.list_(pa.uint8()))).tolist() == [[[1, 2]]]
    with pytest.raises(TypeError, match="row 1 is null"):
        spans_from_mask(pa.array([[True], None]))
    with pytest.raises(TypeError, match="row 0, character 1 None: expected 0 or 1"):
        spans_from_mask(pa.array([[True, None]]))


@pytest.mark.parametrize(
    ("masks", "error", "message"),
    [
        ([[0, 1], [1, 2]], ValueError, "masks: row 1, character 1 2: expected 0 or 1"),
        ([[-100]], ValueError, "expected 0 or 1"),
        ([[0.0]], TypeError, "row 0, character 0 0.0: expected 0 or 1, got float"),
        ([["1"]], TypeError, "got str"),
        ([[None]], TypeError, "got NoneType"),
        (["01"], TypeError, "row 0: expected a list with one value for each character, got str"),
        ([[0], None], TypeError, "row 1: expected a list"),
        ([1, 0], TypeError, "masks: 2 problems in 2 rows: row 0: expected a list"),
        (np.array([1, 0]), TypeError, "row 0: expected a list"),
        (np.array([[1.0]]), TypeError, "got float"),
        ([np.array([1.0])], TypeError, "got float"),
        ([np.array([[1]])], TypeError, "row 0: expected a list"),
        ([[[0, 1]]], TypeError, "got list"),
        ("01", TypeError, "expected a batch"),
    ],
)
def test_what_is_no_mask(masks: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spans_from_mask(masks)


def test_lengths_of_masks_and_texts() -> None:
    assert spans_from_mask([[0, 1], []], text=["🙂b", ""]).tolist() == [[[1, 2]], []]
    with pytest.raises(ValueError, match="masks: row 1 has 3 values, its text 2 characters"):
        spans_from_mask([[0, 1], [1, 1, 0]], text=["ab", "ab"])
    with pytest.raises(ValueError, match="masks has 1 row, text has 2"):
        spans_from_mask([[0, 1]], text=["ab", "ab"])


def slow(row: list[float], threshold: float, min_length: int, merge_gap: int) -> tuple[list[list[int]], list[float]]:
    spans: list[list[int]] = []
    for start, end in runs([p >= threshold for p in row]):
        if spans and start - spans[-1][1] <= merge_gap:
            spans[-1][1] = end
        else:
            spans.append([start, end])
    spans = [span for span in spans if span[1] - span[0] >= min_length]
    # From the left, one after the other: sum() compensates from Python 3.12 on.
    return spans, [reduce(add, row[s:e]) / (e - s) for s, e in spans]


PROBABILITY = st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.5000000001, 0.7, 1.0])


@given(st.lists(st.lists(PROBABILITY, max_size=12), max_size=5), PROBABILITY, st.integers(1, 4), st.integers(0, 3))
def test_probabilities(rows: list[list[float]], threshold: float, min_length: int, merge_gap: int) -> None:
    expected = [slow(row, threshold, min_length, merge_gap) for row in rows]
    for probs in (rows, [np.array(row) for row in rows]):
        batch = spans_from_probabilities(probs, threshold, min_length, merge_gap)
        assert batch.tolist() == [spans for spans, _ in expected]
        assert batch.score is not None
        assert batch.score.tolist() == [score for _, scores in expected for score in scores]


def test_joining_comes_before_leaving_out() -> None:
    row = [0.9, 0.1, 0.8, 0.1, 0.1, 0.7]
    for min_length, merge_gap, expected in (
        (1, 0, [[0, 1], [2, 3], [5, 6]]),
        (1, 1, [[0, 3], [5, 6]]),
        (1, 2, [[0, 6]]),
        (2, 0, []),
        (2, 1, [[0, 3]]),
        (4, 1, []),
        (6, 2, [[0, 6]]),
        (7, 2, []),
    ):
        assert spans_from_probabilities([row], 0.5, min_length, merge_gap).tolist() == [expected]


def test_the_threshold_is_reached_by_equality() -> None:
    assert spans_from_probabilities([[0.5, 0.49999]], 0.5).tolist() == [[[0, 1]]]
    # In doubles, a float32 0.7 is 0.699999988.
    assert spans_from_probabilities(np.array([[0.7]], dtype=np.float32), 0.7).tolist() == [[]]
    assert spans_from_probabilities([[0, 1]], 1).tolist() == [[[1, 2]]]


def test_gaps_never_reach_into_the_next_row() -> None:
    assert spans_from_probabilities([[1.0], [1.0], [], [0.0, 1.0]], 0.5, merge_gap=9).tolist() == [
        [[0, 1]],
        [[0, 1]],
        [],
        [[1, 2]],
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.5]], 0.5), ValueError, "probs: row 0, character 0 1.5: expected a probability between 0 and 1"),
        (([[0.5], [0.5, float("nan")]], 0.5), ValueError, "row 1, character 1 nan"),
        ((np.array([[np.nan]]), 0.5), ValueError, "row 0, character 0 nan"),
        (([[True]], 0.5), TypeError, "expected a probability, got bool"),
        ((np.array([[True]]), 0.5), TypeError, "got bool"),
        (([np.array([0.5]), np.array([True])], 0.5), TypeError, "row 1, character 0 True: .*got bool"),
        (([["0.5"]], 0.5), TypeError, "got str"),
        (([[None]], 0.5), TypeError, "got NoneType"),
        (([[0.5]], 1.5), ValueError, "threshold must be between 0 and 1, or infinity, got 1.5"),
        (([[0.5]], float("nan")), ValueError, "threshold must be between"),
        (([[0.5]], "0.5"), TypeError, "threshold must be a number"),
        (([[0.5]], 0.5, 0), ValueError, "min_length must be at least 1, got 0"),
        (([[0.5]], 0.5, 1.0), TypeError, "min_length must be an integer"),
        (([[0.5]], 0.5, 1, -1), ValueError, "merge_gap must be at least 0, got -1"),
        (([[0.5]], 0.5, 1, True), TypeError, "merge_gap must be an integer"),
    ],
)
def test_what_is_no_probability(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spans_from_probabilities(*arguments)


def test_a_row_alone_scores_as_in_a_batch() -> None:
    rng = np.random.default_rng(7)
    rows = [rng.random(size) for size in rng.integers(0, 40, 50)]
    batch = spans_from_probabilities(rows, 0.3, merge_gap=1)
    alone = [spans_from_probabilities([row], 0.3, merge_gap=1) for row in rows]
    assert batch.score is not None
    assert batch.score.tolist() == [score for one in alone if one.score is not None for score in one.score.tolist()]
