"""Exact spans: both boundaries must agree."""

from __future__ import annotations

import numpy as np

from mycelium.intervals import row_sums
from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, precision_recall_f1, register
from mycelium.spans import FloatArray

__all__ = ["exact_span"]


def _stats(line: Line) -> Statistics:
    predictions = line.predictions
    found = line.facts.equal_p.copy()
    # A repeat among the predictions is found once; sorted, it stands next to its like.
    repeat = (predictions.start[1:] == predictions.start[:-1]) & (predictions.length[1:] == predictions.length[:-1])
    found[1:] &= ~repeat
    matched = row_sums(found, predictions.offsets)
    return columns(matched, predictions.count, line.references.count)


def _value(totals: Statistics, undefined: float) -> FloatArray:
    matched, predictions, references = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(matched, predictions, matched, references, undefined)


exact_span = register(
    Metric(
        name="exact_span",
        summary="distinct spans found with both boundaries right; repeats count in the totals",
        stats=_stats,
        evaluate=_value,
        columns=("matched", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference="the usual strict baseline of span tasks (CoNLL-2003)",
    )
)
