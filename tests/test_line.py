"""The kernels in small blocks: what is enumerated again, in parts or in turn must not change a count."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest

from mycelium import as_spans, intervals, metrics
from mycelium import line as line_module
from mycelium.line import Line, lines
from mycelium.metrics import deteval
from mycelium.spans import SpanBatch


def crowded(rows: int, most: int, seed: int) -> SpanBatch:
    """Return rows with many overlapping, nested and repeated spans."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most + 1, rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    start = rng.integers(0, 40, offsets[-1])
    return SpanBatch(offsets, start, start + rng.integers(1, 30, offsets[-1]))


SIDES = crowded(60, 12, 0), crowded(60, 12, 1)


@pytest.fixture(params=["blocks of pairs", "blocks of rows", "in turn", "all at once"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param in ("blocks of pairs", "all at once"):
        monkeypatch.setattr(intervals, "PAIRS_AT_ONCE", 7)
    if request.param in ("blocks of rows", "all at once"):
        monkeypatch.setattr(line_module, "ROWS_AT_ONCE", 4)
    if request.param in ("in turn", "all at once"):
        monkeypatch.setattr(deteval, "_PAIRS_A_DECISION", 0)
        monkeypatch.setattr(deteval, "_PAIRS_A_ROUND", 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("key", [*metrics.DEFAULT, "span_coverage(delta=2,min_pred_len=3)", "response"])
def test_blocks_change_nothing(key: str) -> None:
    metric = metrics.get(key)
    found = metric.value(metric.statistics(*SIDES))
    pairs = list(zip(*(side.tolist() for side in SIDES), strict=True))
    expected = [oracle.example(metric.name, r, p, **metric.values) for r, p in pairs]
    np.testing.assert_allclose(found, [[row[o] for o in metric.outputs] for row in expected], rtol=0, atol=1e-12)


def test_rows_are_split_before_the_line_overflows() -> None:
    far = 2**52
    rows: Any = [[[far, far + 10]], [], [[0, 5], [far, far + 4]]] * 500
    batch = [SpanBatch(np.array([0, 1, 1, 3]), np.array([far, 0, far]), np.array([far + 10, 5, far + 4]))] * 2
    assert len(list(lines(*batch))) == 1
    metric = metrics.get("exact_span")
    assert metric.statistics(rows, rows).sum(axis=0).tolist() == [1500, 1500, 1500]


def test_spans_too_long_to_be_packed_are_sorted_all_the_same() -> None:
    spans = [[5, 2**50], [5, 2**40], [1, 2**51], [5, 2**40]]
    side = SpanBatch(np.array([0, 4]), *np.array(spans).T.copy())
    laid = Line(side, side).references
    assert np.stack([laid.start, laid.end], axis=1).tolist() == sorted(spans)


def test_overlapping_keeps_all_pairs_of_a_leading_interval_in_one_block() -> None:
    start, end = np.array([0, 0]), np.array([10, 10])
    other = np.arange(0, 10), np.arange(1, 11)
    blocks = list(intervals.overlapping(start, end, *other, at_once=3))
    assert [block.major.tolist() for block in blocks] == [[0] * 10, [1] * 10]


def test_overlapping_sees_through_a_long_partner() -> None:
    # [0, 100) reaches over everything after it; [10, 11) ends before [50, 60) starts.
    other_start, other_end = np.array([0, 10, 55]), np.array([100, 11, 58])
    (block,) = intervals.overlapping(np.array([50]), np.array([60]), other_start, other_end, at_once=100)
    assert block.minor.tolist() == [0, 2]
    assert block.shared.tolist() == [10, 3]


def test_union_merges_what_touches_and_keeps_rows_apart() -> None:
    start, end, offsets = intervals.union(np.array([0, 3, 20, 40]), np.array([3, 9, 25, 41]), np.array([0, 2, 2, 4]))
    assert (start.tolist(), end.tolist(), offsets.tolist()) == ([0, 20, 40], [9, 25, 41], [0, 1, 1, 3])


def test_no_spans_at_all() -> None:
    nothing = SpanBatch(np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for metric in metrics.available():
        if "soft" not in metric.needs and metric.name != "valid_cases":
            assert not metric.statistics(nothing, nothing).any()


def test_typed_spans_are_in_canonical_order_and_their_names_sorted() -> None:
    rows: Any = [[], [[4, 9, "b"], [4, 9, "a"], [0, 2, "c"]]]
    others: Any = [[[1, 3, "b"]], []]
    (line,) = lines(as_spans(rows), as_spans(others))
    references, predictions, names = line.typed
    assert names == ("a", "b", "c")
    assert references.type is not None
    found = zip(references.start - line.stride, references.end - line.stride, references.type, strict=True)
    assert [(int(s), int(e), names[t]) for s, e, t in found] == [(0, 2, "c"), (4, 9, "a"), (4, 9, "b")]
    assert (predictions.start.tolist(), predictions.type.tolist() if predictions.type is not None else None) == (
        [1],
        [1],
    )


def test_a_span_without_a_type_is_named_by_its_row_in_the_whole_batch() -> None:
    batch = as_spans([[[0, 4, "a"]], [[0, 4, "a"]], [[0, 4, "a"], [5, 6]]])
    *_, last = lines(batch, batch, rows_at_once=1)
    with pytest.raises(ValueError, match=r"references: 1 span without a type; the first is row 2, span 1 \[5, 6\]"):
        _ = last.typed
