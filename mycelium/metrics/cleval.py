"""CLEval-1D: covered characters, with a penalty for splits and merges."""

from __future__ import annotations

import numpy as np

from mycelium.intervals import row_sums
from mycelium.line import Line
from mycelium.metrics.base import Metric, Parameter, Statistics, columns, precision_recall_f1, register
from mycelium.spans import FloatArray, IntArray

__all__ = ["cleval_1d"]


def _stats(
    line: Line, area_precision_threshold: float, granularity_penalty_weight: float, tolerance: float
) -> Statistics:
    references, predictions = line.references, line.predictions
    share = np.zeros(len(predictions))
    for block in line.pairs():
        # Shares add up in the order of the references: the published numbers come from that rounding.
        np.add.at(share, block.minor, block.shared / predictions.length.take(block.minor))
    kept = share >= area_precision_threshold - tolerance
    neighbours, partners = line.facts.degree_r, line.facts.degree_p
    if (kept | (partners == 0)).all():
        both = line.intersection
    else:
        both = line.intersection_with(kept)
        partners = np.where(kept, partners, 0)
        neighbours = np.zeros(len(references), dtype=np.int64)
        for block in line.pairs():
            edges = np.flatnonzero(kept.take(block.minor))
            neighbours += np.bincount(block.major.take(edges), minlength=len(references))
    surplus_predictions = row_sums(np.maximum(partners - 1, 0), predictions.offsets)
    surplus_references = row_sums(np.maximum(neighbours - 1, 0), references.offsets)
    weight = granularity_penalty_weight
    precise, recalled = (_penalised(both, surplus, weight) for surplus in (surplus_predictions, surplus_references))
    return columns(precise, predictions.total, recalled, references.total)


def _penalised(both: IntArray, surplus: IntArray, weight: float) -> Statistics:
    """Return ``max(0, both - weight * surplus)``; a whole weight keeps the counts whole."""
    if not _integer(weight):
        return np.maximum(both - surplus * weight, 0.0)
    if weight == 0:
        return both
    # Comparing first keeps a product out that would not fit into 64 bits.
    return np.where(surplus <= both // int(weight), both - surplus * int(weight), 0)


def _value(totals: Statistics, undefined: float, **_: float) -> FloatArray:
    precise, predicted, recalled, referenced = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(precise, predicted, recalled, referenced, undefined)


def _integer(weight: float) -> bool:
    return float(weight).is_integer()


cleval_1d = register(
    Metric(
        name="cleval_1d",
        summary="covered characters less a penalty for each split and merge, over the lengths of the spans",
        stats=_stats,
        evaluate=_value,
        columns=("precision_part", "predicted", "recall_part", "referenced"),
        outputs=("precision", "recall", "f1"),
        reference="CLEval (Baek et al., CVPR-W 2020), brought to one dimension in Mycelium (2026)",
        parameters=(
            Parameter(
                "area_precision_threshold", 0.3, maximum=1.0, summary="share of a prediction on references to keep it"
            ),
            Parameter(
                "granularity_penalty_weight", 1.0, maximum=2.0**52, summary="characters lost by each surplus edge"
            ),
            Parameter("tolerance", 0.0, maximum=0.5, summary="subtracted from the threshold"),
        ),
        integer=lambda granularity_penalty_weight, **_: _integer(granularity_penalty_weight),
    )
)
