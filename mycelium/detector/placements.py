"""Placements: for each answer the share of the other class that it is ranked rightly against. AUC is their mean.

Without weights everything is counted in whole numbers, doubled so that a tie counts 1, and AUC is one exact fraction,
rounded once. The contributions that its variance is made of are whole numbers too, which is why equal rankings differ
by exactly nothing. 64 bits hold them as long as the product of the two class sizes is below 4.6e18.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mycelium.draws import Units
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = ["Clusters", "Placed", "clusters_of", "covariance", "place", "variance"]

#: A variance that is this share of its parts or less is nothing but rounding, as is one below ``TINY``.
SLACK = 1e-13
TINY = 1e-30


class Placed(NamedTuple):
    """AUC and what each answer contributes to its error.

    Attributes
    ----------
    auc : float
        Share of pairs of an unsupported and a supported answer whose unsupported one has the higher score; ties count
        half.
    centred : int64 or float64 array of shape (n,)
        Weight times (placement - AUC) of answer i, in units of ``unit``. Whole numbers without weights.
    unit : float
        What one of ``centred`` stands for.
    """

    auc: float
    centred: IntArray | FloatArray
    unit: float


class Clusters(NamedTuple):
    """Which answers depend on each other, by class.

    Attributes
    ----------
    unsupported : bool array of shape (n,)
        Whether answer i is unsupported.
    group : int64 array of shape (n,)
        Its group.
    size : int
        The number of groups.
    n_unsupported, n_supported, n_groups : int
        Groups that hold an unsupported answer, a supported one, and either.
    mass_unsupported, mass_supported : float
        Answers of each class, or the sums of their weights.
    """

    unsupported: BoolArray
    group: IntArray
    size: int
    n_unsupported: int
    n_supported: int
    n_groups: int
    mass_unsupported: float
    mass_supported: float


def clusters_of(unsupported: BoolArray, units: Units, weight: FloatArray | None = None) -> Clusters:
    """Return the groups of each class; weights, if any, are above 0."""
    w = np.ones(len(unsupported)) if weight is None else weight
    here, there = (np.bincount(units.index[own], minlength=len(units)) > 0 for own in (unsupported, ~unsupported))
    groups = (int(here.sum()), int(there.sum()), int((here | there).sum()))
    return Clusters(
        unsupported, units.index, len(units), *groups, float(w[unsupported].sum()), float(w[~unsupported].sum())
    )


def place(unsupported: BoolArray, score: FloatArray, weight: FloatArray | None = None) -> Placed:
    """Return AUC and contributions of answers of which both classes have one, with weight if there are weights.

    Examples
    --------
    >>> placed = place(np.array([True, True, False, False]), np.array([0.9, 0.4, 0.4, 0.1]))
    >>> placed.auc, placed.centred.tolist()
    (0.875, [1, -1, -1, 1])
    """
    return _counted(unsupported, score) if weight is None else _weighed(unsupported, score, weight)


def _counted(unsupported: BoolArray, score: FloatArray) -> Placed:
    high, low = score[unsupported], score[~unsupported]
    # An answer with a lower score and one with an equal score: 1 in both counts, and 1 in one of them.
    wins = _below(np.sort(low), high)
    losses = 2 * len(high) - _below(np.sort(high), low)
    total = int(wins.sum())
    pairs = 2 * len(high) * len(low)
    # wins / (2n) - total / (2mn), times 2mn.
    centred = np.empty(len(score), dtype=np.int64)
    centred[unsupported] = wins * len(high) - total
    centred[~unsupported] = losses * len(low) - total
    return Placed(total / pairs, centred, 1 / pairs)


def _below(ranked: FloatArray, values: FloatArray) -> IntArray:
    """Return twice the number of ranked values below each, and 1 for each equal one."""
    return np.asarray(np.searchsorted(ranked, values, "left") + np.searchsorted(ranked, values, "right"))


def _weighed(unsupported: BoolArray, score: FloatArray, weight: FloatArray) -> Placed:
    placement = np.empty(len(score))
    for own in (unsupported, ~unsupported):
        order = np.argsort(score[~own], kind="stable")
        ranked = score[~own][order]
        sums = np.concatenate(([0.0], np.cumsum(weight[~own][order])))
        left, right = (sums[np.searchsorted(ranked, score[own], side)] for side in ("left", "right"))
        share = (left + right) / (2 * sums[-1])
        placement[own] = share if own is unsupported else 1 - share
    w = weight[unsupported]
    # The same sum twice where all placements are 1, so that a perfect ranking has exactly 1.
    auc = float((w * placement[unsupported]).sum() / w.sum())
    return Placed(auc, weight * (placement - auc), 1.0)


def covariance(a: Placed, b: Placed, clusters: Clusters) -> float:
    """Return the covariance of two AUCs over the same answers: of DeLong without groups, of Obuchowski with them.

    Parameters
    ----------
    a, b : Placed
        Of the two scores; the same twice for a variance.
    clusters : Clusters
        At least two groups with each class.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 1988. Obuchowski, Biometrics 1997.
    """
    return sum(_parts(a, b, clusters))


def variance(placed: Placed, clusters: Clusters) -> float:
    """Return the variance of an AUC, or of a difference of AUCs; 0 where it is nothing but rounding."""
    own, between = _parts(placed, placed, clusters)
    return own + between if own + between > max(SLACK * own, TINY) else 0.0


def _parts(a: Placed, b: Placed, clusters: Clusters) -> tuple[float, float]:
    """Return what answers of one class add to a covariance, and what groups that hold both classes add."""
    xa, ya = _sums(a, clusters)
    xb, yb = (xa, ya) if b is a else _sums(b, clusters)
    i10, i01, i = clusters.n_unsupported, clusters.n_supported, clusters.n_groups
    m, n = clusters.mass_unsupported, clusters.mass_supported
    s10 = i10 / (i10 - 1) / m * float(xa @ xb)
    s01 = i01 / (i01 - 1) / n * float(ya @ yb)
    s11 = i / (i - 1) * (float(xa @ yb) + float(xb @ ya)) / 2
    return s10 / m + s01 / n, 2 * s11 / (m * n)


def _sums(placed: Placed, clusters: Clusters) -> tuple[FloatArray, FloatArray]:
    """Return the sums of both classes' contributions in each group; those of whole numbers are exact."""
    own, other = (
        np.bincount(clusters.group[rows], placed.centred[rows], clusters.size).astype(np.float64) * placed.unit
        for rows in (clusters.unsupported, ~clusters.unsupported)
    )
    return own, other
