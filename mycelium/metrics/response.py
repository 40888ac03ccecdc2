"""Response level: does the example hold a span at all?"""

from __future__ import annotations

import numpy as np

from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, precision_recall_f1, register
from mycelium.spans import FloatArray

__all__ = ["response"]


def _stats(line: Line) -> Statistics:
    predicted, referenced = line.predictions.count > 0, line.references.count > 0
    return columns(predicted & referenced, predicted, referenced).astype(np.int64)


def _value(totals: Statistics, undefined: float) -> FloatArray:
    matched, predicted, referenced = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(matched, predicted, matched, referenced, undefined)


response = register(
    Metric(
        name="response",
        summary="precision, recall and F1 of 'the answer holds at least one span'",
        stats=_stats,
        evaluate=_value,
        columns=("matched", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference="RAGTruth (Niu et al., ACL 2024), response-level detection",
    )
)
