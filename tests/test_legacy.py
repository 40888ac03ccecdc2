"""The root module ``span_coverage``: standalone Span Coverage on inclusive ``[start, end]`` offsets."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import span_coverage
from span_coverage import SpanCoveragePRF, span_coverage_counts_one, span_coverage_macro, span_coverage_micro


def approx(x: float) -> Any:
    return pytest.approx(x, rel=0, abs=1e-12)


def prf(result: SpanCoveragePRF) -> tuple[float, float, float]:
    return result.precision, result.recall, result.fbeta


def counts(result: SpanCoveragePRF) -> tuple[int, int, int, int]:
    return result.contained_preds, result.total_preds, result.hit_golds, result.total_golds


GOLDS = [[[0, 9]]]
PREDS = [[[0, 9], [20, 20]]]


def test_the_documented_example() -> None:
    assert span_coverage_counts_one(GOLDS[0], PREDS[0]) == (1, 2, 1, 1)
    result = span_coverage_micro(GOLDS, PREDS)
    assert counts(result) == (1, 2, 1, 1)
    assert prf(result) == (0.5, 1.0, approx(2 / 3))


def test_the_result_is_a_dataclass() -> None:
    assert dataclasses.is_dataclass(SpanCoveragePRF)
    assert [field.name for field in dataclasses.fields(SpanCoveragePRF)] == [
        "contained_preds",
        "total_preds",
        "hit_golds",
        "total_golds",
        "precision",
        "recall",
        "fbeta",
    ]
    result = span_coverage_micro(GOLDS, PREDS)
    assert isinstance(result, SpanCoveragePRF)
    assert all(type(x) is int for x in counts(result))
    assert all(type(x) is float for x in prf(result))
    assert all(type(x) is int for x in span_coverage_counts_one(GOLDS[0], PREDS[0]))
    assert result == SpanCoveragePRF(1, 2, 1, 1, 0.5, 1.0, result.fbeta)
    assert "beta" in span_coverage.span_coverage_micro.__kwdefaults__


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ([], [], (0, 0, 0, 0)),
        ([[3, 9]], [], (0, 0, 0, 1)),
        ([], [[3, 9]], (0, 1, 0, 0)),
        # One character, the same on both sides.
        ([[5, 5]], [[5, 5]], (1, 1, 1, 1)),
        ([[0, 0]], [[0, 0]], (1, 1, 1, 1)),
        # The last character belongs to the span.
        ([[0, 9]], [[9, 9]], (1, 1, 1, 1)),
        ([[0, 9]], [[10, 10]], (0, 1, 0, 1)),
        ([[0, 9]], [[9, 10]], (0, 1, 0, 1)),
        # Two predictions in one reference, one of them in the nested one too.
        ([[0, 9], [2, 4]], [[2, 3], [6, 9]], (2, 2, 2, 2)),
        # Touching references do not hold a prediction together.
        ([[0, 4], [5, 9]], [[0, 9]], (0, 1, 0, 2)),
        ([[0, 4], [5, 9]], [[5, 5], [5, 5]], (2, 2, 1, 2)),
    ],
)
def test_counts(gold: list[list[int]], pred: list[list[int]], expected: tuple[int, ...]) -> None:
    assert span_coverage_counts_one(gold, pred) == expected
    as_tuples = [tuple(x) for x in gold], [tuple(x) for x in pred]
    assert span_coverage_counts_one(*as_tuples) == expected
    assert counts(span_coverage_micro([gold], [pred])) == expected


def test_delta_widens_the_references_on_both_sides() -> None:
    gold = [[5, 9]]
    for pred, distance in [([4, 9], 1), ([5, 10], 1), ([3, 11], 2), ([0, 9], 5), ([4, 12], 3)]:
        assert span_coverage_counts_one(gold, [pred], delta=distance - 1) == (0, 1, 0, 1)
        assert span_coverage_counts_one(gold, [pred], delta=distance) == (1, 1, 1, 1)
        assert span_coverage_micro([gold], [[pred]], delta=distance).fbeta == 1.0
        assert span_coverage_macro([gold], [[pred]], delta=distance - 1).fbeta == 0.0


def test_min_pred_len_counts_characters() -> None:
    gold, pred = [[0, 9]], [[0, 0], [2, 3], [4, 8]]
    # The predictions have 1, 2 and 5 characters; short ones are left out of both counts.
    for least, n in [(1, 3), (2, 2), (3, 1), (5, 1), (6, 0)]:
        assert span_coverage_counts_one(gold, pred, min_pred_len=least) == (n, n, int(n > 0), 1)
    # Nothing is left to be wrong, but the reference is missed.
    assert prf(span_coverage_micro([gold], [pred], min_pred_len=6)) == (1.0, 0.0, 0.0)
    assert prf(span_coverage_macro([gold], [pred], min_pred_len=6)) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("beta", "expected"),
    # (1 + b^2) P R / (b^2 P + R) with P 1/2, R 1
    [(1.0, 2 / 3), (2.0, 2.5 / 3), (0.5, 0.625 / 1.125), (3, 5 / 5.5)],
)
def test_beta(beta: float, expected: float) -> None:
    for function in (span_coverage_micro, span_coverage_macro):
        result = function(GOLDS, PREDS, beta=beta)
        assert prf(result) == (0.5, 1.0, approx(expected))


def test_both_sides_empty() -> None:
    for function in (span_coverage_micro, span_coverage_macro):
        assert prf(function([[]], [[]])) == (1.0, 1.0, 1.0)
        assert prf(function([[]], [[]], empty_is_perfect=True)) == (1.0, 1.0, 1.0)
        assert prf(function([[]], [[]], empty_is_perfect=False)) == (0.0, 0.0, 0.0)
        assert prf(function([[]], [[]], beta=2.0)) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("perfect", [True, False])
def test_one_side_empty_counts_one(perfect: bool) -> None:
    for function in (span_coverage_micro, span_coverage_macro):
        assert prf(function([[[0, 4]]], [[]], empty_is_perfect=perfect)) == (1.0, 0.0, 0.0)
        assert prf(function([[]], [[[0, 4]]], empty_is_perfect=perfect)) == (0.0, 1.0, 0.0)


def test_predictions_that_are_too_short_leave_an_empty_side() -> None:
    for function in (span_coverage_micro, span_coverage_macro):
        assert prf(function([[]], [[[3, 3]]], min_pred_len=2)) == (1.0, 1.0, 1.0)
        assert prf(function([[]], [[[3, 3]]], min_pred_len=2, empty_is_perfect=False)) == (0.0, 0.0, 0.0)


ROWS_GOLD = [[[0, 9]], [], [[0, 4], [10, 14]], [[3, 9]]]
ROWS_PRED = [[[0, 9], [20, 20]], [], [[1, 2]], []]


def test_micro_sums_the_counts() -> None:
    # (1, 2, 1, 1) + (0, 0, 0, 0) + (1, 1, 1, 2) + (0, 0, 0, 1)
    result = span_coverage_micro(ROWS_GOLD, ROWS_PRED)
    assert counts(result) == (2, 3, 2, 4)
    assert prf(result) == (approx(2 / 3), 0.5, approx(4 / 7))


def test_macro_is_the_mean_of_the_rows() -> None:
    # Rows: (1/2, 1, 2/3), (1, 1, 1), (1, 1/2, 2/3), (1, 0, 0).
    result = span_coverage_macro(ROWS_GOLD, ROWS_PRED)
    assert counts(result) == (0, 0, 0, 0)
    assert prf(result) == (approx(3.5 / 4), approx(2.5 / 4), approx((2 / 3 + 1 + 2 / 3) / 4))
    result = span_coverage_macro(ROWS_GOLD, ROWS_PRED, empty_is_perfect=False)
    assert prf(result) == (approx(2.5 / 4), approx(1.5 / 4), approx(4 / 3 / 4))
    # The empty row is invisible to the pooled counts.
    assert prf(span_coverage_micro(ROWS_GOLD, ROWS_PRED, empty_is_perfect=False)) == (approx(2 / 3), 0.5, approx(4 / 7))


def test_agrees_with_the_half_open_metric() -> None:
    import mycelium

    def half_open(rows: list[list[list[int]]]) -> list[list[list[int]]]:
        return [[[a, b + 1] for a, b in row] for row in rows]

    for delta, least in [(0, 1), (2, 1), (0, 2)]:
        report = mycelium.evaluate(
            references=half_open(ROWS_GOLD),
            predictions=half_open(ROWS_PRED),
            metrics=["span_coverage"],
            span_coverage_delta=delta,
            span_coverage_min_pred_len=least,
            average="micro",
        )
        result = span_coverage_micro(ROWS_GOLD, ROWS_PRED, delta=delta, min_pred_len=least)
        assert list(next(iter(report.values())).values()) == [approx(x) for x in prf(result)]


@pytest.mark.parametrize("function", [span_coverage_micro, span_coverage_macro])
def test_wrong_input(function: Any) -> None:
    with pytest.raises(ValueError, match=r"2.*1|1.*2"):
        function([[[0, 4]], []], [[[0, 4]]])
    with pytest.raises(ValueError, match=r"\[5, 3\]"):
        function([[[5, 3]]], [[]])
    with pytest.raises(ValueError, match=r"\[-1, 3\]"):
        function([[]], [[[-1, 3]]])
    with pytest.raises((TypeError, ValueError)):
        function([[[0, 3.5]]], [[]])
    with pytest.raises((TypeError, ValueError)):
        function([None], [[]])
    with pytest.raises(ValueError, match="delta"):
        function(GOLDS, PREDS, delta=-1)


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError):
        span_coverage_micro(GOLDS, PREDS, 1)
    with pytest.raises(TypeError):
        span_coverage_counts_one(GOLDS[0], PREDS[0], 1)
