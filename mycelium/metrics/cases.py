"""Valid cases, whose answer is "none", and invalid ones, which hold at least one error."""

from __future__ import annotations

import numpy as np

from mycelium.intervals import row_sums
from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, divide, register
from mycelium.spans import FloatArray

__all__ = ["valid_cases"]


def _stats(line: Line) -> Statistics:
    valid, predicted = line.references.count == 0, line.predictions.count > 0
    overlapping = row_sums(line.facts.degree_p > 0, line.predictions.offsets) > 0
    return columns(valid & ~predicted, valid, ~valid & predicted, overlapping, ~valid).astype(np.int64)


def _value(totals: Statistics, undefined: float) -> FloatArray:
    clean, valid, caught, localised, invalid = np.moveaxis(totals, -1, 0)
    parts = ((clean, valid), (caught, invalid), (localised, invalid))
    return np.stack([divide(a, b, undefined) for a, b in parts], axis=-1)


valid_cases = register(
    Metric(
        name="valid_cases",
        summary="shares: valid cases left clean, invalid cases caught with any span, and with one that overlaps",
        stats=_stats,
        evaluate=_value,
        columns=("kept_clean", "valid", "caught", "localised", "invalid"),
        outputs=("clean", "caught", "localised"),
        reference="span and type evaluation of causal explanations: the answer for a valid case is 'none'",
        pooled=True,
    )
)
