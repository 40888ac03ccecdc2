"""The counts of MUC and of SemEval-2013 task 9, as people from named entity recognition know them.

Every reference has at most one prediction as its partner and every prediction at most one reference, so that
COR + INC + PAR + MIS is the number of references, and COR + INC + PAR + SPU that of predictions.
"""

from __future__ import annotations

import numpy as np

from mycelium.line import Line
from mycelium.matching import Stage
from mycelium.metrics.base import Metric, Statistics, columns, precision_recall_f1, register
from mycelium.metrics.pairing import OVERLAP, Outcomes, matching_of, measure_of
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = ["muc_exact", "muc_partial", "muc_strict", "muc_type"]


def _columns(found: Outcomes, correct: IntArray, incorrect: IntArray, partial: IntArray) -> Statistics:
    return columns(correct, incorrect, partial, found.missed, found.spurious)


def _strict_stats(line: Line, *, min_overlap: float, overlap_base: str) -> Statistics:
    matching = measure_of(line, "confusion", min_overlap=min_overlap, overlap_base=overlap_base)
    found = Outcomes(line, matching)
    right: BoolArray = matching.stage == 0
    return _columns(found, found.pairs(right), found.pairs(~right), np.zeros(line.rows, dtype=np.int64))


def _exact_stats(line: Line, *, min_overlap: float, overlap_base: str) -> Statistics:
    found = Outcomes(line, measure_of(line, "partial", min_overlap=min_overlap, overlap_base=overlap_base))
    return _columns(found, found.exact, found.overlapping, np.zeros(line.rows, dtype=np.int64))


def _partial_stats(line: Line, *, min_overlap: float, overlap_base: str) -> Statistics:
    found = Outcomes(line, measure_of(line, "partial", min_overlap=min_overlap, overlap_base=overlap_base))
    return _columns(found, found.exact, np.zeros(line.rows, dtype=np.int64), found.overlapping)


def _type_stats(line: Line, *, min_overlap: float, overlap_base: str) -> Statistics:
    # Equal boundaries overlap as well: what counts is the type, so as many pairs of one type as possible come first.
    stages = tuple(Stage("overlap", types, min_overlap, overlap_base) for types in ("same", "any"))
    matching = matching_of(line, stages)
    found = Outcomes(line, matching)
    right: BoolArray = matching.stage == 0
    return _columns(found, found.pairs(right), found.pairs(~right), np.zeros(line.rows, dtype=np.int64))


def _value(totals: Statistics, undefined: float, *, min_overlap: float, overlap_base: str) -> FloatArray:
    correct, incorrect, partial, missed, spurious = np.moveaxis(totals, -1, 0)
    paired = correct + incorrect + partial
    credit = correct + 0.5 * partial
    return precision_recall_f1(credit, paired + spurious, credit, paired + missed, undefined)


_SCHEMES = {
    "strict": (_strict_stats, "correct: boundaries and type equal; incorrect: paired otherwise", {"labels"}),
    "exact": (_exact_stats, "correct: boundaries equal; incorrect: overlapping; types ignored", set()),
    "partial": (_partial_stats, "correct: boundaries equal; partial: overlapping, worth half; types ignored", set()),
    "type": (_type_stats, "correct: overlapping and of the same type; incorrect: of another type", {"labels"}),
}

muc_strict, muc_exact, muc_partial, muc_type = (
    register(
        Metric(
            name=f"muc_{scheme}",
            summary=f"MUC counts, {scheme} scheme; {summary}",
            stats=stats,
            evaluate=_value,
            columns=("correct", "incorrect", "partial", "missed", "spurious"),
            outputs=("precision", "recall", "f1"),
            reference="Chinchor and Sundheim, MUC-5, 1993; Segura-Bedmar et al., SemEval-2013 task 9",
            parameters=OVERLAP,
            needs=frozenset(needs),
        )
    )
    for scheme, (stats, summary, needs) in _SCHEMES.items()
)
