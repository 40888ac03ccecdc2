"""Span Coverage: a prediction counts where it lies wholly inside a reference."""

from __future__ import annotations

import numpy as np

from mycelium.intervals import holds, inside, row_sums
from mycelium.line import Line
from mycelium.metrics.base import Metric, Parameter, Statistics, columns, precision_recall_f1, register
from mycelium.spans import FloatArray

__all__ = ["span_coverage"]


def _stats(line: Line, delta: int, min_pred_len: int) -> Statistics:
    references, predictions = line.references, line.predictions
    if delta == 0 and min_pred_len == 1:
        contained, hit = line.facts.inside_p, line.facts.holds_r
    else:
        # A widened reference can contain a prediction that it shares no character with.
        predictions = predictions.chosen(predictions.length >= min_pred_len)
        base = line.base(references)
        widen = min(delta, line.stride)
        start = np.maximum(references.start - widen, base)
        end = np.minimum(references.end + widen, base + (line.stride - 1))
        contained = inside(predictions.start, predictions.end, start, end)
        hit = holds(start, end, predictions.start, predictions.end)
    return columns(
        row_sums(contained, predictions.offsets), predictions.count, row_sums(hit, references.offsets), references.count
    )


def _value(totals: Statistics, undefined: float, delta: int, min_pred_len: int) -> FloatArray:
    contained, predictions, hit, references = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(contained, predictions, hit, references, undefined)


span_coverage = register(
    Metric(
        name="span_coverage",
        summary="predictions wholly inside a reference; references that hold a prediction",
        stats=_stats,
        evaluate=_value,
        columns=("contained", "predictions", "hit", "references"),
        outputs=("precision", "recall", "f1"),
        reference="Mycelium (Belikova and Rykov, 2026), Span Coverage F1",
        parameters=(
            Parameter("delta", 0, integer=True, summary="characters by which a reference is widened on both sides"),
            Parameter("min_pred_len", 1, minimum=1, integer=True, summary="shorter predictions are left out"),
        ),
    )
)
