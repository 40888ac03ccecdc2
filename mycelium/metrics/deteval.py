"""DetEval-1D: one-to-one, split and merged detections by shares of length."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mycelium.intervals import row_sums
from mycelium.line import Line, Side
from mycelium.metrics.base import Metric, Parameter, Statistics, columns, precision_recall_f1, register
from mycelium.spans import FloatArray, IntArray

__all__ = ["deteval_1d"]

_NONE, _FULL, _SHARED = 0, 1, 2
#: Where a round looks at more pairs than this for each span that it decides, taking the spans in turn is faster.
_PAIRS_A_DECISION = 2000
_PAIRS_A_ROUND = 5000
_NOBODY = np.iinfo(np.int64).max
Credits = np.ndarray[tuple[int], np.dtype[np.int8]]


def _stats(
    line: Line, recall_threshold: float, precision_threshold: float, granularity_penalty: float, tolerance: float
) -> Statistics:
    references, predictions = line.references, line.predictions
    recall, precision = recall_threshold - tolerance, precision_threshold - tolerance
    credit_r = np.zeros(len(references), dtype=np.int8)
    credit_p = np.zeros(len(predictions), dtype=np.int8)
    degree_r, degree_p = line.facts.degree_r, line.facts.degree_p
    for major, minor, shared in line.pairs():
        alone = (degree_r.take(major) == 1) & (degree_p.take(minor) == 1)
        alone &= shared / references.length.take(major) >= recall
        alone &= shared / predictions.length.take(minor) >= precision
        matched = np.flatnonzero(alone)
        credit_r[major.take(matched)] = _FULL
        credit_p[minor.take(matched)] = _FULL
    # Splits, then merges: the same pass with the two sides and their thresholds exchanged.
    _share(references, predictions, credit_r, credit_p, degree_r, recall, precision)
    _share(predictions, references, credit_p, credit_r, degree_p, precision, recall)
    return columns(
        row_sums(credit_p == _FULL, predictions.offsets),
        row_sums(credit_p == _SHARED, predictions.offsets),
        predictions.count,
        row_sums(credit_r == _FULL, references.offsets),
        row_sums(credit_r == _SHARED, references.offsets),
        references.count,
    )


def _share(
    leading: Side,
    other: Side,
    credit: Credits,
    credit_other: Credits,
    degree: IntArray,
    threshold: float,
    threshold_other: float,
) -> None:
    """Give credit to free spans with several neighbours and to the free neighbours that lie in them well enough."""
    chosen = np.flatnonzero((credit == _NONE) & (degree >= 2))
    if not len(chosen):
        return
    claimant = np.full(len(other), _NOBODY, dtype=np.int64)
    for major, minor, shared in Line.pairs_led_by(leading, other, chosen):
        able = (credit_other[minor] == _NONE) & (shared / other.length[minor] >= threshold_other)
        major, minor = major[able], minor[able]
        _decide(major, minor, shared[able] / leading.length[major], credit, credit_other, threshold, claimant)


def _decide(
    major: IntArray,
    minor: IntArray,
    share: FloatArray,
    credit: Credits,
    credit_other: Credits,
    threshold: float,
    claimant: IntArray,
) -> None:
    """Take the leading spans in their order, each with the neighbours that are still free.

    A span can be decided as soon as it is the first undecided one of all its neighbours. All such spans are decided
    together, which is the sequential order, since they share no neighbour; then the next ones can be.
    """
    while len(major):
        number = np.zeros(len(major), dtype=np.int64)
        np.cumsum(major[1:] != major[:-1], out=number[1:])
        spans = int(number[-1]) + 1
        np.minimum.at(claimant, minor, major)
        waits = np.zeros(spans, dtype=bool)
        waits[number[claimant[minor] != major]] = True
        claimant[minor] = _NOBODY
        now = ~waits[number]
        if len(major) > _PAIRS_A_DECISION * (spans - np.count_nonzero(waits)) + _PAIRS_A_ROUND:
            # Many spans over the same neighbours: rounds would look at all pairs to decide a few.
            _decide_in_turn(major, minor, share, credit, credit_other, threshold)
            return
        free = np.bincount(number[now], minlength=spans)
        # bincount adds in the order of the neighbours, one after the other.
        total = np.bincount(number[now], weights=share[now], minlength=spans)
        given = np.where(free == 1, _FULL, _SHARED).astype(np.int8)
        given[(free == 0) | (total < threshold)] = _NONE
        gained = given[number[now]]
        credit[major[now]] = gained
        credit_other[minor[now]] = gained
        later = ~now
        later &= credit_other[minor] == _NONE
        major, minor, share = major[later], minor[later], share[later]


def _decide_in_turn(
    major: IntArray, minor: IntArray, share: FloatArray, credit: Credits, credit_other: Credits, threshold: float
) -> None:
    cuts = [0, *(np.flatnonzero(major[1:] != major[:-1]) + 1).tolist(), len(major)]
    for begin, stop in pairwise(cuts):
        neighbours = minor[begin:stop]
        free = credit_other[neighbours] == _NONE
        shares = share[begin:stop][free]
        # The last running sum is the sequential one; sum() would add pairwise.
        if len(shares) and np.cumsum(shares)[-1] >= threshold:
            gained = _FULL if len(shares) == 1 else _SHARED
            credit[major[begin]] = gained
            credit_other[neighbours[free]] = gained


def _value(totals: Statistics, undefined: float, granularity_penalty: float, **_: float) -> FloatArray:
    full_p, shared_p, predictions, full_r, shared_r, references = np.moveaxis(totals, -1, 0)
    precise = full_p + granularity_penalty * shared_p
    recalled = full_r + granularity_penalty * shared_r
    return precision_recall_f1(precise, predictions, recalled, references, undefined)


deteval_1d = register(
    Metric(
        name="deteval_1d",
        summary="spans matched one to one, split or merged, judged by shares of their lengths",
        stats=_stats,
        evaluate=_value,
        columns=(
            "full_predictions",
            "shared_predictions",
            "predictions",
            "full_references",
            "shared_references",
            "references",
        ),
        outputs=("precision", "recall", "f1"),
        reference="DetEval (Wolf and Jolion, IJDAR 2006), brought to one dimension in Mycelium (2026)",
        parameters=(
            Parameter("recall_threshold", 0.8, maximum=1.0, summary="share of a reference that must be covered"),
            Parameter("precision_threshold", 0.4, maximum=1.0, summary="share of a prediction that must be covered"),
            Parameter("granularity_penalty", 0.8, maximum=1.0, summary="credit of a span in a split or merge"),
            Parameter("tolerance", 0.0, maximum=0.5, summary="subtracted from both thresholds"),
        ),
    )
)
