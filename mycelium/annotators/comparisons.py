"""Many comparisons of span sets in each item, and their averages as sums over items.

Comparison ``j`` belongs to item ``item[j]``; an average takes the mean within each item first, so that an item with
eleven annotators weighs what one with three does. The mean of an item, and whether it has one, are what the item adds:
any draw of items is a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.additive import Additive, mean
from mycelium.annotators.consensus import consensus, leave_one_out
from mycelium.annotators.corpus import Annotations
from mycelium.draws import Units, sum_by_unit
from mycelium.line import lines
from mycelium.metrics import Metric
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["UNDEFINED", "Comparisons", "compared", "held_out", "macro", "micro", "middles", "one_character"]

#: What a side with nothing to divide by counts, for every metric.
UNDEFINED = 1.0


class Comparisons(NamedTuple):
    """Scored comparisons of ``c`` predictions with their references.

    Attributes
    ----------
    metrics : tuple of Metric
        What was counted.
    item : int64 array of shape (c,)
        The item of each comparison, rising.
    statistics : list of arrays of shape (c, k)
        The statistics of each metric.
    values : float64 array of shape (c, metrics)
        The primary output of each metric.
    references, predictions : SpanBatch of c rows
        What was compared.
    """

    metrics: tuple[Metric, ...]
    item: IntArray
    statistics: list[NDArray[Any]]
    values: FloatArray
    references: SpanBatch
    predictions: SpanBatch


def compared(
    references: SpanBatch,
    predictions: SpanBatch,
    item: IntArray,
    metrics: Sequence[Metric],
    undefined: float | None = UNDEFINED,
) -> Comparisons:
    """Score each prediction against the reference of the same row.

    Parameters
    ----------
    references, predictions : SpanBatch of c rows
        The two sides.
    item : int64 array of shape (c,)
        The item that each comparison belongs to.
    metrics : sequence of Metric
        What to count.
    undefined : float or None
        The value of a side with nothing to divide by; None takes each metric's own.
    """
    parts = [[metric.count(line) for metric in metrics] for line in lines(references, predictions)]
    if parts:
        statistics: list[NDArray[Any]] = [np.concatenate(blocks) for blocks in zip(*parts, strict=True)]
    else:
        statistics = [np.zeros((0, len(metric.columns))) for metric in metrics]
    values = np.empty((len(item), len(metrics)))
    for column, (metric, counted) in enumerate(zip(metrics, statistics, strict=True)):
        values[:, column] = metric.value(counted, undefined)[:, metric.outputs.index(metric.primary)]
    return Comparisons(tuple(metrics), item, statistics, values, references, predictions)


def held_out(
    notes: Annotations, share: str | float, metrics: Sequence[Metric], undefined: float | None = UNDEFINED
) -> Comparisons:
    """Compare each mark, as the prediction, with the consensus of the other annotators of its item.

    Comparison j is mark j, so that ``notes.annotator[j]`` is who was held out. Marks are taken as they are: merge them
    first.
    """
    return compared(leave_one_out(notes, share), notes.marks, notes.item, metrics, undefined)


def one_character(notes: Annotations, metrics: Sequence[Metric]) -> Comparisons:
    """Compare one character of each reference span with the reference, the union of all annotators of the item."""
    reference = consensus(notes, "union")
    return compared(reference, middles(reference), np.arange(len(notes), dtype=np.int64), metrics)


def middles(batch: SpanBatch) -> SpanBatch:
    """Return the character ``(start + end - 1) // 2`` of each span, as a span.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> middles(as_spans([[[0, 3], [4, 8]]])).tolist()
    [[[1, 2], [5, 6]]]
    """
    middle = (batch.start + batch.end - 1) // 2
    return SpanBatch._trusted(batch.offsets, middle, middle + 1, None, None, batch.length)


def macro(comparisons: Comparisons, items: int, where: BoolArray | None = None) -> Additive:
    """Return the mean over items of each item's mean, for all metrics, as a function of sums over items.

    Parameters
    ----------
    comparisons : Comparisons
        c comparisons.
    items : int
        The number n of items.
    where : bool array of shape (c,), optional
        The comparisons that count. Items without any are left out of the mean.

    Returns
    -------
    Additive
        ``sums`` has shape (n, metrics + 1): the item's mean values, 0 where it has none, and whether it has any.
    """
    item, values = comparisons.item, comparisons.values
    if where is not None:
        item, values = item[where], values[where]
    counts = np.bincount(item, minlength=items)
    sums = sum_by_unit(values, _by_item(item, items)) / np.maximum(counts, 1)[:, np.newaxis]
    return Additive(np.column_stack([sums, counts > 0]), mean)


def micro(
    comparisons: Comparisons,
    items: int,
    undefined: float | None = UNDEFINED,
    weights: FloatArray | None = None,
) -> Additive:
    """Return each metric's value of the statistics of all comparisons, as a function of sums over items.

    Weights, of shape (n,), multiply what each item adds.
    """
    units = _by_item(comparisons.item, items)
    sums = [sum_by_unit(counted, units) for counted in comparisons.statistics]
    if weights is not None:
        sums = [one * weights[:, np.newaxis] for one in sums]
    cuts = _offsets(np.array([one.shape[1] for one in sums])).tolist()

    def value(totals: FloatArray) -> FloatArray:
        parts = [
            metric.value(totals[..., begin:end], undefined)[..., metric.outputs.index(metric.primary)]
            for metric, begin, end in zip(comparisons.metrics, cuts[:-1], cuts[1:], strict=True)
        ]
        return np.stack(parts, axis=-1)

    return Additive(np.concatenate(sums, axis=1), value)


def _by_item(item: IntArray, items: int) -> Units:
    return Units(item, items, tuple(range(items)))
