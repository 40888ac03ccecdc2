"""What is made of replicated scores: intervals, and permutation tests. It knows no metric."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from mycelium.draws import swaps
from mycelium.progress import progress
from mycelium.spans import BoolArray, FloatArray

__all__ = ["ALTERNATIVES", "FEW", "METHODS", "Interval", "Permuted", "interval", "permutation_test"]

METHODS = ("percentile", "bca", "basic")
ALTERNATIVES = ("two-sided", "greater", "less")
#: With fewer units than this, intervals from resampling are known to be too narrow.
FEW = 30
#: What differs by no more than this differs by rounding only; a share of the observed, for permuted differences.
SLACK = 1e-12


class Interval(NamedTuple):
    """An interval, the method behind it, and why that is not the one asked for, or says nothing ("" if all is well)."""

    low: float
    high: float
    method: str
    note: str = ""


def interval(
    point: float, replicates: FloatArray, level: float, method: str, jackknife: FloatArray | None = None
) -> Interval:
    """Return the interval that replicates of a score give.

    Parameters
    ----------
    point : float
        The score of the data themselves.
    replicates : float64 array of shape (B,)
        The score of each replicate.
    level : float
        The share of samples whose interval should hold the true score, e.g. 0.95.
    method : {"percentile", "bca", "basic"}
        Quantiles of the replicates; the same with bias and acceleration corrected; quantiles reflected at the point.
    jackknife : float64 array of shape (u,), optional
        The score without each unit, for the acceleration of "bca".

    Returns
    -------
    Interval
        Where "bca" is not defined, "percentile" takes its place and the note says why: all replicates lie on one side
        of the point, or leaving out a unit changes nothing. Where all replicates are equal the interval is that point,
        and the note says so.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 14.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    low, high = (1 - level) / 2, 1 - (1 - level) / 2
    note = ""
    if replicates.min() == replicates.max():
        method, note = "percentile", "all replicates are equal"
    elif method == "bca":
        shares, note = _bca(point, replicates, (1 - level) / 2, jackknife)
        if note:
            method = "percentile"
        else:
            low, high = shares
    bounds = np.percentile(replicates, [100 * low, 100 * high]).tolist()
    if method == "basic":
        bounds = [2 * point - bounds[1], 2 * point - bounds[0]]
    return Interval(bounds[0], bounds[1], method, note)


def _bca(
    point: float, replicates: FloatArray, tail: float, jackknife: FloatArray | None
) -> tuple[tuple[float, float], str]:
    """Return the two quantiles of the corrected interval, or why there are none."""
    normal = NormalDist()
    nothing = (0.0, 0.0)
    # A replicate equal to the point lies half below it.
    share = float((replicates < point).sum() + (replicates <= point).sum()) / (2 * len(replicates))
    if not 0 < share < 1:
        return nothing, "all replicates lie on one side of the score"
    if jackknife is None:
        raise ValueError("the method 'bca' needs the scores without each unit")
    influence = (len(jackknife) - 1) * (jackknife.mean() - jackknife)
    spread = float((influence**2).sum())
    # The mean of equal numbers may round, so that their differences from it are not quite 0.
    if not spread > 0 or np.ptp(jackknife) <= SLACK:
        return nothing, "no unit changes the score"
    acceleration = float((influence**3).sum()) / (6 * spread**1.5)
    bias = normal.inv_cdf(share)
    out = []
    for z in (normal.inv_cdf(tail), -normal.inv_cdf(tail)):
        stretch = 1 - acceleration * (bias + z)
        if not stretch > 0:
            return nothing, "the acceleration is too large"
        out.append(normal.cdf(bias + (bias + z) / stretch))
    return (out[0], out[1]), ""


class Permuted(NamedTuple):
    """P-values of shape (m,), whether all patterns were taken, and how many were."""

    p_values: FloatArray
    exact: bool
    n_permutations: int


def permutation_test(
    observed: FloatArray,
    permuted: Callable[[FloatArray], FloatArray],
    size: int,
    n_resamples: int,
    rng: np.random.Generator,
    alternative: str = "two-sided",
    *,
    width: int = 1,
) -> Permuted:
    """Test whether two systems are exchangeable, by swapping what they did on whole units.

    Parameters
    ----------
    observed : float64 array of shape (m,)
        The m differences between systems, first minus second.
    permuted : callable
        Gives the differences (b, m) under patterns (b, u), which hold 1 where a unit is swapped.
    size : int
        The number u of units.
    n_resamples : int
        The number B of random patterns; all ``2**u`` are taken instead where there are no more.
    rng : numpy.random.Generator
        Source of the patterns.
    alternative : {"two-sided", "greater", "less"}
        Whether large differences of either sign count against the hypothesis, or of one.
    width : int
        How many numbers ``permuted`` makes of each pattern; it bounds the memory.

    Returns
    -------
    Permuted
        Exact p-values are the share of all patterns that reach the observed difference, the observed one included;
        others are (b + 1) / (B + 1) with b of B random patterns, never 0. A difference reaches the observed one
        also where it is smaller by rounding only, a share of 1e-12.

    References
    ----------
    Phipson and Smyth, "Permutation p-values should never be zero", SAGMB 2010.
    """
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(map(repr, ALTERNATIVES))}, got {alternative!r}")
    exact, blocks = swaps(rng, size, n_resamples, width=width)
    total = 2**size if exact else n_resamples
    reached = np.zeros(len(observed), dtype=np.int64)
    with progress(total, "permutations", "") as advance:
        for pattern in blocks:
            reached += _reaches(permuted(pattern), observed, alternative).sum(axis=0)
            advance(len(pattern))
    return Permuted(reached / total if exact else (reached + 1) / (total + 1), exact, total)


def _reaches(moved: FloatArray, observed: FloatArray, alternative: str) -> BoolArray:
    slack = np.abs(observed) * SLACK
    if alternative == "two-sided":
        return np.asarray(np.abs(moved) >= np.abs(observed) - slack)
    return np.asarray(moved >= observed - slack if alternative == "greater" else moved <= observed + slack)
