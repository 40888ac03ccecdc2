"""Character overlap: spans as sets of characters."""

from __future__ import annotations

import numpy as np

from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, divide, precision_recall_f1, register
from mycelium.spans import FloatArray

__all__ = ["character", "iou"]


def _iou_stats(line: Line) -> Statistics:
    both = line.intersection
    return columns(both, line.references.characters + line.predictions.characters - both)


def _iou_value(totals: Statistics, undefined: float) -> FloatArray:
    intersection, union = np.moveaxis(totals, -1, 0)
    return divide(intersection, union, undefined)[..., np.newaxis]


def _character_stats(line: Line) -> Statistics:
    return columns(line.intersection, line.predictions.characters, line.references.characters)


def _character_value(totals: Statistics, undefined: float) -> FloatArray:
    intersection, predicted, referenced = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(intersection, predicted, intersection, referenced, undefined)


iou = register(
    Metric(
        name="iou",
        summary="characters marked by both sides / characters marked by either",
        stats=_iou_stats,
        evaluate=_iou_value,
        columns=("intersection", "union"),
        outputs=("score",),
        reference="Mu-SHROOM (SemEval-2025 task 3), the official scorer's IoU",
    )
)

character = register(
    Metric(
        name="character",
        summary="precision, recall and F1 over characters; an undefined side is 0",
        stats=_character_stats,
        evaluate=_character_value,
        columns=("intersection", "predicted", "referenced"),
        outputs=("precision", "recall", "f1"),
        reference="RAGTruth (Niu et al., ACL 2024), rebuilt from the paper's description",
        undefined=0.0,
    )
)
