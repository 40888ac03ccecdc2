"""Span Coverage on inclusive ``[start, end]`` offsets, as existing experiments use it.

New code should call :func:`mycelium.evaluate`, whose offsets are half-open. Here the last character of a span is part
of it, so that ``[20, 20]`` is one character. The counting is mycelium's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mycelium import as_spans
from mycelium.metrics import span_coverage
from mycelium.metrics.base import check_rows, precision_recall_f1
from mycelium.reduce import ExactSum

__all__ = ["SpanCoveragePRF", "span_coverage_counts_one", "span_coverage_macro", "span_coverage_micro"]

Spans = Sequence[Sequence[int]]


@dataclass(frozen=True)
class SpanCoveragePRF:
    """Counts and scores of Span Coverage.

    Attributes
    ----------
    contained_preds, total_preds, hit_golds, total_golds : int
        Sums over examples (micro), or 0 (macro).
    precision, recall, fbeta : float
        The scores.
    """

    contained_preds: int
    total_preds: int
    hit_golds: int
    total_golds: int
    precision: float
    recall: float
    fbeta: float


def span_coverage_counts_one(
    gold: Spans, pred: Spans, *, delta: int = 0, min_pred_len: int = 1
) -> tuple[int, int, int, int]:
    """Count for one example.

    Parameters
    ----------
    gold, pred : sequences of [start, end]
        Inclusive offsets in characters.
    delta : int
        Characters by which each gold span is widened on both sides.
    min_pred_len : int
        Predictions of fewer characters are left out.

    Returns
    -------
    tuple of int
        Contained predictions, predictions, hit gold spans, gold spans.

    Examples
    --------
    >>> span_coverage_counts_one([[0, 9]], [[0, 9], [20, 20]])
    (1, 2, 1, 1)
    """
    contained, predictions, hit, golds = _counts([gold], [pred], delta, min_pred_len)[0].tolist()
    return contained, predictions, hit, golds


def span_coverage_micro(
    golds: Sequence[Spans],
    preds: Sequence[Spans],
    *,
    delta: int = 0,
    min_pred_len: int = 1,
    beta: float = 1.0,
    empty_is_perfect: bool = True,
) -> SpanCoveragePRF:
    """Sum the counts over examples, then divide.

    Parameters
    ----------
    golds, preds : sequences of n sequences of [start, end]
        Inclusive offsets in characters; element i of both belongs to example i.
    delta, min_pred_len : int
        As in :func:`span_coverage_counts_one`.
    beta : float
        How many times recall counts as much as precision.
    empty_is_perfect : bool
        Whether the scores are 1 or 0 where both sides are empty. A single empty side counts 1.

    Examples
    --------
    >>> scores = span_coverage_micro([[[0, 9]]], [[[0, 9], [20, 20]]])
    >>> scores.precision, scores.recall, scores.fbeta
    (0.5, 1.0, 0.6666666666666666)
    """
    totals = _counts(golds, preds, delta, min_pred_len).sum(axis=0)
    contained, predictions, hit, golds_total = totals.tolist()
    precision, recall, fbeta = _scores(totals[np.newaxis], beta, empty_is_perfect)[0].tolist()
    return SpanCoveragePRF(contained, predictions, hit, golds_total, precision, recall, fbeta)


def span_coverage_macro(
    golds: Sequence[Spans],
    preds: Sequence[Spans],
    *,
    delta: int = 0,
    min_pred_len: int = 1,
    beta: float = 1.0,
    empty_is_perfect: bool = True,
) -> SpanCoveragePRF:
    """Average the scores of the examples; the parameters are those of :func:`span_coverage_micro`.

    Examples
    --------
    >>> span_coverage_macro([[[0, 9]], []], [[[0, 9], [20, 20]], []]).precision
    0.75
    """
    counts = _counts(golds, preds, delta, min_pred_len)
    scores, rows = ExactSum(3), ExactSum(1)
    scores.add(_scores(counts, beta, empty_is_perfect))
    rows.add(np.ones((len(counts), 1), dtype=np.int64))
    return SpanCoveragePRF(0, 0, 0, 0, *scores.means(rows).tolist())


def _counts(
    golds: Sequence[Spans], preds: Sequence[Spans], delta: int, min_pred_len: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    sides = {
        "golds": as_spans(golds, end="inclusive", name="golds"),
        "preds": as_spans(preds, end="inclusive", name="preds"),
    }
    if not check_rows(**sides):
        raise ValueError("golds and preds hold no examples")
    return span_coverage.at(delta=delta, min_pred_len=min_pred_len).statistics(*sides.values())


def _scores(
    counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], beta: float, empty_is_perfect: bool
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    if not beta > 0:
        raise ValueError(f"beta must be above 0, got {beta!r}")
    contained, predictions, hit, golds = counts.T
    scores = precision_recall_f1(contained, predictions, hit, golds, 1.0, beta=beta)
    if not empty_is_perfect:
        scores[(predictions == 0) & (golds == 0)] = 0.0
    return scores
