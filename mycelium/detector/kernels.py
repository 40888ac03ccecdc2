"""AUC and average precision of drawn answers, from scores that are sorted once.

A replicate differs from the data in how often each unit was drawn. Its AUC is a sum over answers in their sorted order,
weighted by the draws: neither scores are sorted nor rows copied again.
"""

from __future__ import annotations

import numpy as np

from mycelium.draws import Units
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = ["Sorted"]


class Sorted:
    """Answers of one score, each class sorted from the riskiest down.

    Parameters
    ----------
    unsupported : bool array of shape (n,)
        Whether answer i is unsupported.
    score : float64 array of shape (n,)
        Its score; higher is riskier.
    units : Units
        Which answers are drawn together.
    weight : float64 array of shape (n,), optional
        How many answers of the population each stands for.

    Examples
    --------
    >>> from mycelium.draws import units_of
    >>> answers = Sorted(np.array([True, False, True]), np.array([0.9, 0.6, 0.6]), units_of(None, 3))
    >>> answers.roc_auc(np.ones(3)), answers.roc_auc(np.array([1.0, 1.0, 3.0]))
    (0.75, 0.625)
    >>> round(answers.average_precision(np.ones(3)), 4), answers.roc_auc(np.array([3.0, 0.0, 1.0]))
    (0.8333, None)
    """

    def __init__(
        self, unsupported: BoolArray, score: FloatArray, units: Units, weight: FloatArray | None = None
    ) -> None:
        positive, negative = np.flatnonzero(unsupported), np.flatnonzero(~unsupported)
        # Negated, for searchsorted wants ascending order.
        high = positive[np.argsort(-score[positive], kind="stable")]
        low = negative[np.argsort(-score[negative], kind="stable")]
        s, t = -score[high], -score[low]
        self._units = (units.index[high], units.index[low])
        self._weights = None if weight is None else (weight[high], weight[low])
        self._sums = (np.zeros(len(high) + 1), np.zeros(len(low) + 1))
        # For each supported answer, the number of unsupported ones above it; where some have its score, of those too.
        self._above = np.searchsorted(s, t, "left")
        level = np.searchsorted(s, t, "right")
        self._tied = np.flatnonzero(level != self._above)
        self._tied_above, self._tied_level = self._above[self._tied], level[self._tied]
        # For each score of unsupported answers, how many of either class have it or a higher one.
        last = np.flatnonzero(np.append(s[1:] != s[:-1], True)) if len(s) else np.zeros(0, dtype=np.int64)
        self._hits: slice | IntArray = slice(1, None) if len(last) == len(s) else last + 1
        self._alarms = np.searchsorted(t, s[last], "right")

    def roc_auc(self, counts: FloatArray) -> float | None:
        """Return AUC where unit g was drawn counts[g] times; None where a class was not drawn."""
        above, negative = self._running(self._drawn(counts, 0), 0), self._drawn(counts, 1)
        pairs = float(above[-1]) * float(negative.sum())
        if not pairs > 0:
            return None
        wins = float(negative @ above.take(self._above))
        if len(self._tied):
            tied = above.take(self._tied_level) - above.take(self._tied_above)
            wins += float(negative.take(self._tied) @ tied) / 2
        return wins / pairs

    def average_precision(self, counts: FloatArray, prevalence: float | None = None) -> float | None:
        """Return the average precision where unit g was drawn counts[g] times; None where a class was not drawn.

        With a prevalence, the classes are weighed so that the unsupported one has this share.
        """
        hits = self._running(self._drawn(counts, 0), 0)
        alarms = self._running(self._drawn(counts, 1), 1)
        if not float(hits[-1]) * float(alarms[-1]) > 0:
            return None
        h, a = hits[self._hits], alarms.take(self._alarms)
        if prevalence is None:
            return precision_sum(h, a)
        return precision_sum(h * (prevalence / hits[-1]), a * ((1 - prevalence) / alarms[-1]))

    def _drawn(self, counts: FloatArray, which: int) -> FloatArray:
        drawn = counts.take(self._units[which])
        return drawn if self._weights is None else drawn * self._weights[which]

    def _running(self, drawn: FloatArray, which: int) -> FloatArray:
        sums = self._sums[which]
        np.cumsum(drawn, out=sums[1:])
        return sums


def precision_sum(hits: FloatArray, alarms: FloatArray) -> float:
    """Return the mean precision over hits, without interpolation.

    Parameters
    ----------
    hits, alarms : float64 arrays of shape (t,)
        How many unsupported and supported answers have this score or a higher one, at descending scores; the last hits
        are all of them.
    """
    # Where nothing is flagged yet there are no hits either, and 0 over anything is 0.
    precision = hits / np.maximum(hits + alarms, np.finfo(np.float64).tiny)
    gained = hits.copy()
    gained[1:] -= hits[:-1]
    return float(gained @ precision) / float(hits[-1])
