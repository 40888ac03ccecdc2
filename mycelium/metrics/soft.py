"""Soft correlation: do the probabilities of the characters rank alike?"""

from __future__ import annotations

from typing import cast

import numpy as np

from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, divide, register
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["soft_correlation"]

_PAINT_AT_ONCE = 1 << 20
_DIGITS = 8


def _stats(line: Line) -> Statistics:
    length = cast(IntArray, line.text_length)
    sides = [cast(SpanBatch, side) for side in (line.soft_references, line.soft_predictions)]
    base = _offsets(length)
    placed = [(side.start + base[side.row], side.end + base[side.row]) for side in sides]
    # Between two neighbouring boundaries both sides are constant: segments stand for their characters.
    cuts = np.unique(np.concatenate([base, *(edge for side in placed for edge in side)]))
    begin, weight = cuts[:-1], np.diff(cuts)
    row = np.searchsorted(base, begin, side="right") - 1
    values = [_paint(cuts, start, end, side.score) for (start, end), side in zip(placed, sides, strict=True)]
    constant = [_constant(value, row, line.rows) for value in values]
    x, y = (_centred_ranks(value, row, weight, base) for value in values)
    xy, xx, yy = (np.bincount(row, weights=weight * a * b, minlength=line.rows) for a, b in ((x, y), (x, x), (y, y)))
    flat = constant[0] | constant[1]
    # One root of the product, so that equal sides give exactly 1.
    spread = np.sqrt(xx * yy)
    rho = np.clip(np.where(flat, 0.0, xy) / np.where(flat, 1.0, spread), -1.0, 1.0)
    rho[constant[0] & constant[1]] = 1.0
    return columns(rho, np.ones(line.rows))


def _paint(cuts: IntArray, start: IntArray, end: IntArray, score: FloatArray | None) -> FloatArray:
    """Return the value of each segment: the score of the last span in the list that covers it, else 0."""
    last = np.full(max(len(cuts) - 1, 0), -1, dtype=np.int64)
    if not len(start):
        return np.zeros(len(last))
    low = np.searchsorted(cuts, start)
    count = np.searchsorted(cuts, end) - low
    first = _offsets(count)
    a = 0
    while a < len(start):
        b = max(a + 1, int(np.searchsorted(first, first[a] + _PAINT_AT_ONCE, side="right")) - 1)
        n = count[a:b]
        segment = np.repeat(low[a:b] - (first[a:b] - first[a]), n) + np.arange(first[b] - first[a])
        np.maximum.at(last, segment, np.repeat(np.arange(a, b, dtype=np.int64), n))
        a = b
    return np.where(last >= 0, cast(FloatArray, score)[last], 0.0)


def _constant(value: FloatArray, row: IntArray, rows: int) -> BoolArray:
    """Tell which rows have a single value after rounding to 8 decimals; rows without characters count as such."""
    low, high = np.full(rows, np.inf), np.full(rows, -np.inf)
    np.minimum.at(low, row, value)
    np.maximum.at(high, row, value)
    constant = high <= low
    # Values this near may or may not round to the same: ask the decimal rounding that the definition names.
    near = ~constant & (high - low < 2 * 10.0**-_DIGITS)
    for i in np.flatnonzero(near).tolist():
        constant[i] = len({round(v, _DIGITS) for v in value[row == i].tolist()}) == 1
    return constant


def _centred_ranks(value: FloatArray, row: IntArray, weight: IntArray, base: IntArray) -> FloatArray:
    """Return twice the average rank of each segment's characters in their row, less its mean: integers as floats."""
    order = np.lexsort((value, row))
    sorted_value, sorted_row, sorted_weight = value[order], row[order], weight[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (sorted_value[1:] != sorted_value[:-1]) | (sorted_row[1:] != sorted_row[:-1])
    group = np.cumsum(new) - 1
    size = np.bincount(group, weights=sorted_weight)
    before = (np.cumsum(sorted_weight) - sorted_weight)[new] - base[sorted_row[new]]
    length = (base[1:] - base[:-1])[sorted_row[new]]
    ranks = np.empty(len(order))
    ranks[order] = (2.0 * before + size - length)[group]
    return ranks


def _value(totals: Statistics, undefined: float) -> FloatArray:
    total, rows = np.moveaxis(totals, -1, 0)
    return divide(total, rows, undefined)[..., np.newaxis]


soft_correlation = register(
    Metric(
        name="soft_correlation",
        summary="Spearman correlation of the characters' probabilities in each example, averaged",
        stats=_stats,
        evaluate=_value,
        columns=("correlation", "rows"),
        outputs=("score",),
        reference="Mu-SHROOM (SemEval-2025 task 3), the official scorer's Cor",
        bounds=(-1.0, 1.0),
        needs=frozenset({"soft"}),
        integer=lambda **_: False,
    )
)
