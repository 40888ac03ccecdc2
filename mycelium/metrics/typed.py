"""Spans with partners, one to one: boundaries equal, or half credit for an overlap; with or without the type.

What matches what is told in :mod:`mycelium.matching`. Every prediction ends as one of correct, partial and spurious,
every reference as one of correct, partial and missed::

    references   |=====|    |=======|         |====|
    predictions  |-----|      |-------|  |--|
                 correct    partial      spurious    and the last reference is missed
"""

from __future__ import annotations

import numpy as np

from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, columns, precision_recall_f1, register
from mycelium.metrics.pairing import CREDIT, OVERLAP, Outcomes, measure_of
from mycelium.spans import FloatArray

__all__ = ["partial", "strict", "strict_typed", "typed_partial"]

_SOURCE = "span and type evaluation of causal explanations, adapted from named entity recognition"


def _exact(line: Line, measure: str) -> Statistics:
    found = Outcomes(line, measure_of(line, measure))
    return columns(found.exact, line.predictions.count, line.references.count)


def _strict_stats(line: Line) -> Statistics:
    return _exact(line, "strict")


def _strict_typed_stats(line: Line) -> Statistics:
    return _exact(line, "strict_typed")


def _strict_value(totals: Statistics, undefined: float) -> FloatArray:
    correct, predictions, references = np.moveaxis(totals, -1, 0)
    return precision_recall_f1(correct, predictions, correct, references, undefined)


def _overlaps(line: Line, measure: str, overlap_credit: float, min_overlap: float, overlap_base: str) -> Statistics:
    matching = measure_of(
        line, measure, overlap_credit=overlap_credit, min_overlap=min_overlap, overlap_base=overlap_base
    )
    found = Outcomes(line, matching)
    return columns(found.exact, found.overlapping, line.predictions.count, line.references.count)


def _partial_stats(line: Line, *, overlap_credit: float, min_overlap: float, overlap_base: str) -> Statistics:
    return _overlaps(line, "partial", overlap_credit, min_overlap, overlap_base)


def _typed_partial_stats(line: Line, *, overlap_credit: float, min_overlap: float, overlap_base: str) -> Statistics:
    return _overlaps(line, "typed_partial", overlap_credit, min_overlap, overlap_base)


def _partial_value(
    totals: Statistics, undefined: float, *, overlap_credit: float, min_overlap: float, overlap_base: str
) -> FloatArray:
    correct, overlapping, predictions, references = np.moveaxis(totals, -1, 0)
    credit = correct + overlap_credit * overlapping
    return precision_recall_f1(credit, predictions, credit, references, undefined)


strict = register(
    Metric(
        name="strict",
        summary="spans paired one to one whose boundaries are equal; repeats need repeats",
        stats=_strict_stats,
        evaluate=_strict_value,
        columns=("correct", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference=_SOURCE,
    )
)

strict_typed = register(
    Metric(
        name="strict_typed",
        summary="spans paired one to one whose boundaries and types are equal",
        stats=_strict_typed_stats,
        evaluate=_strict_value,
        columns=("correct", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference=_SOURCE,
        needs=frozenset({"labels"}),
    )
)

partial = register(
    Metric(
        name="partial",
        summary="spans paired one to one: equal boundaries count 1, an overlap counts half",
        stats=_partial_stats,
        evaluate=_partial_value,
        columns=("correct", "partial", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference=_SOURCE,
        parameters=(CREDIT, *OVERLAP),
    )
)

typed_partial = register(
    Metric(
        name="typed_partial",
        summary="spans of the same type paired one to one: equal boundaries count 1, an overlap counts half",
        stats=_typed_partial_stats,
        evaluate=_partial_value,
        columns=("correct", "partial", "predictions", "references"),
        outputs=("precision", "recall", "f1"),
        reference=_SOURCE,
        parameters=(CREDIT, *OVERLAP),
        needs=frozenset({"labels"}),
    )
)
