"""How often something happened, and how often it may happen: exact binomial intervals, also for rows in groups.

Rows in groups carry less information than as many independent ones. Their interval is that of Korn and Graubard:
Clopper and Pearson's with the number of rows replaced by the number of independent rows that would vary as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mycelium.detector.quantiles import quantile
from mycelium.draws import Units, check_level
from mycelium.resample import ALTERNATIVES
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = [
    "AcceptedBounds",
    "BinomialInterval",
    "accepted_bounds",
    "binomial_interval",
    "rate_interval",
    "required_unsupported",
]

ONE_GROUP = "all rows are in one group: how much groups vary is not known from fewer than two"
NO_ROWS = "there are no rows"


@dataclass(frozen=True)
class BinomialInterval:
    """A rate and its interval.

    Attributes
    ----------
    estimate : float or None
        k / n; None without rows.
    low, high : float or None
        The interval; one-sided ones end at 0 ("less") or 1 ("greater"). It is [0, 1] without rows, and None where the
        rows are all in one group.
    k, n : float
        Events and rows; sums of weights where rows have weights.
    method : str
        "clopper-pearson" or "korn-graubard". The second is approximate.
    alternative : str
        "two-sided"; "less": an upper bound; "greater": a lower bound.
    confidence_level : float
        The share of samples whose interval should hold the true rate.
    n_effective : float or None
        How many independent rows the interval is made for; n for "clopper-pearson".
    design_effect : float or None
        The variance between groups over the variance that independent rows have; None where either is not known or 0.
    n_groups : int or None
        Groups with a row; None for "clopper-pearson".
    undefined : dict
        Why a field is None where it was asked for.
    """

    estimate: float | None
    low: float | None
    high: float | None
    k: float
    n: float
    method: str
    alternative: str
    confidence_level: float
    n_effective: float | None
    design_effect: float | None = None
    n_groups: int | None = None
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "undefined": dict(self.undefined)}


def binomial_interval(
    k: Any, n: Any, *, alternative: str = "two-sided", confidence_level: float = 0.95
) -> BinomialInterval:
    """Return how often something happened, k of n times, with an interval.

    Parameters
    ----------
    k, n : int, or sequence of int of shape (g,)
        Events and rows. Two numbers are of independent rows: the interval is Clopper and Pearson's, exact. Two
        sequences hold the events and rows of each group, of which those without rows do not count: the interval is
        Korn and Graubard's, approximate, and never shorter than the exact one of independent rows.
    alternative : {"two-sided", "less", "greater"}
        Both ends; "less" gives the upper bound alone, that is, "the rate is less than this", and "greater" the lower.
    confidence_level : float
        The share of samples whose interval should hold the true rate.

    Returns
    -------
    BinomialInterval
        Undefined are the estimate where there are no rows, and the interval where all are in one group. Without an
        event in any group the interval is that of as many rows as there are groups.

    Raises
    ------
    TypeError, ValueError
        When k and n are not whole numbers with 0 <= k <= n, or not of one shape.

    References
    ----------
    Clopper and Pearson, Biometrika 1934. Korn and Graubard, Survey Methodology 1998.

    Examples
    --------
    >>> round(binomial_interval(0, 12, alternative="less").high, 6)
    0.220922
    >>> clustered = binomial_interval([3, 0, 0, 1], [4, 4, 3, 4], alternative="less")
    >>> round(clustered.high, 6), round(clustered.n_effective, 6), clustered.n_groups
    (0.803601, 3.348641, 4)
    """
    check_alternative(alternative)
    level = check_level(confidence_level, "confidence_level")
    events, rows = _counts(k, "k"), _counts(n, "n")
    if events.shape != rows.shape:
        raise ValueError(f"k and n must be two numbers or two sequences of one length, got {k!r} and {n!r}")
    bad = np.flatnonzero(np.atleast_1d(events > rows))
    if len(bad):
        place = f"group {bad[0]}: " if events.ndim else ""
        raise ValueError(f"{place}k is {np.atleast_1d(events)[bad[0]]}, more than n, {np.atleast_1d(rows)[bad[0]]}")
    if not events.ndim:
        return _independent(int(events), int(rows), alternative, level)
    return _clustered(events.astype(np.float64), rows.astype(np.float64), int(rows.sum()), None, alternative, level)


def rate_interval(
    event: BoolArray,
    units: Units,
    weight: FloatArray | None = None,
    *,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
) -> BinomialInterval:
    """Return the share of rows where something happened, with the interval that suits how they were sampled.

    Parameters
    ----------
    event : bool array of shape (n,)
        Whether it happened in row i.
    units : Units
        Which rows depend on each other. Independent ones without weights have Clopper and Pearson's interval, all
        others Korn and Graubard's; with weights and without groups each row is a group.
    weight : float64 array of shape (n,), optional
        How many rows of the population each stands for. Rows of weight 0 do not count. The interval is made for no
        more independent rows than ``sum(weight)**2 / sum(weight**2)``.
    alternative, confidence_level
        As in :func:`binomial_interval`.
    """
    check_alternative(alternative)
    level = check_level(confidence_level, "confidence_level")
    if weight is None and units.keys is None:
        return _independent(int(event.sum()), len(event), alternative, level)
    scale = np.ones(len(event)) if weight is None else weight
    k = np.asarray(np.bincount(units.index, scale * event, len(units)), dtype=np.float64)
    n = np.asarray(np.bincount(units.index, scale, len(units)), dtype=np.float64)
    rows = int(np.count_nonzero(scale))
    kish = None if weight is None or not rows else float(weight.sum() ** 2 / (weight**2).sum())
    return _clustered(k, n, rows, kish, alternative, level)


class AcceptedBounds(NamedTuple):
    """What accepting all rows up to each threshold would do.

    Attributes
    ----------
    threshold : float64 array of shape (t,)
        Distinct scores, ascending.
    accepted : float64 array of shape (t,)
        Rows with a score up to the threshold; a sum of weights where rows have weights.
    upper : float64 array of shape (t,)
        Upper bound of the share accepted, never falling; 1 where it is not defined.
    """

    threshold: FloatArray
    accepted: FloatArray
    upper: FloatArray


def accepted_bounds(
    score: FloatArray, units: Units, weight: FloatArray | None = None, *, confidence_level: float = 0.95
) -> AcceptedBounds:
    """Return the one-sided bound of :func:`rate_interval` at every distinct score.

    The event is ``score <= threshold``.

    The bound of rows in groups may fall where the share of rows accepted rises. What is returned is the largest at
    any smaller or equal score.

    Parameters
    ----------
    score : float64 array of shape (n,)
        Scores of the rows, e.g. of unsupported ones.
    units : Units
        Which rows depend on each other.
    weight : float64 array of shape (n,), optional
        How many rows of the population each stands for.
    confidence_level : float
        Level of each bound by itself.

    Examples
    --------
    >>> from mycelium.draws import units_of
    >>> accepted_bounds(np.array([0.3, 0.1, 0.3]), units_of(None, 3)).upper.round(4).tolist()
    [0.8646, 1.0]
    """
    level = check_level(confidence_level, "confidence_level")
    order = np.argsort(score, kind="stable")
    ranked, of = score[order], units.index[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else np.zeros(0, dtype=np.int64)
    if weight is None and units.keys is None:
        k = (last + 1).astype(np.float64)
        return AcceptedBounds(ranked[last], k, _beta(level, k + 1, len(ranked) - k))
    w = np.ones(len(ranked)) if weight is None else weight[order]
    size = np.bincount(of, w, len(units))
    groups, rows = int(np.count_nonzero(size)), int(np.count_nonzero(w))
    k = np.cumsum(w)[last]
    if groups < 2:
        return AcceptedBounds(ranked[last], k, np.ones(len(last)))
    # A row of weight w lifts its group from c to c + w accepted, and the sum of squares by 2cw + w^2.
    before = _running_sums(of, w) - w
    squares = np.cumsum(2 * before * w + w**2)[last]
    products = np.cumsum(size[of] * w)[last]
    total = float(size.sum())
    p = k / total
    spread = np.maximum(squares - 2 * p * products + p**2 * float((size**2).sum()), 0)
    variance = spread / total**2 * groups / (groups - 1)
    cap = float(rows) if weight is None else float(total**2 / (w**2).sum())
    n_effective = _n_effective(p, variance, groups, rows, cap, level)
    # Sums of weights may miss the total by rounding; the last score accepts everything.
    p[-1] = 1.0
    upper = _beta(level, p * n_effective + 1, (1 - p) * n_effective)
    return AcceptedBounds(ranked[last], k, np.maximum.accumulate(upper))


def required_unsupported(max_far: float, *, n_false_accepts: int = 0, confidence_level: float = 0.95) -> int:
    """Return how many unsupported rows it takes to certify a false acceptance rate.

    Parameters
    ----------
    max_far : float
        The rate that the upper bound must not exceed.
    n_false_accepts : int
        How many of the rows may be accepted.
    confidence_level : float
        Level of the one-sided bound.

    Returns
    -------
    int
        The smallest n for which the Clopper-Pearson bound of ``n_false_accepts`` of n rows is at most ``max_far``. The
        rows are independent ones: multiply by the design effect for rows in groups.

    Examples
    --------
    >>> [required_unsupported(rate) for rate in (0.05, 0.01, 0.001)]
    [59, 299, 2995]
    """
    alpha = check_level(max_far, "max_far")
    delta = 1 - check_level(confidence_level, "confidence_level")
    k = int(_counts(n_false_accepts, "n_false_accepts", scalar=True))

    def enough(n: int) -> bool:
        # The bound is at most alpha iff k or fewer of n are this improbable at rate alpha; equality up to rounding,
        # that of 1 - confidence_level included.
        return _binomial_cdf(k, n, alpha) <= delta * (1 + 1e-12) + 2**-53

    low, high = k, k + 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def check_alternative(alternative: str) -> None:
    """Raise a ValueError for an unknown alternative."""
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(map(repr, ALTERNATIVES))}, got {alternative!r}")


# -- the two methods


def _independent(k: int, n: int, alternative: str, level: float) -> BinomialInterval:
    low, high = _ends(float(k), float(n), k == n, alternative, level)
    undefined = {} if n else {"estimate": NO_ROWS}
    estimate = k / n if n else None
    return BinomialInterval(
        estimate, low, high, k, n, "clopper-pearson", alternative, level, float(n), undefined=undefined
    )


def _clustered(
    k: FloatArray, n: FloatArray, rows: int, kish: float | None, alternative: str, level: float
) -> BinomialInterval:
    """Return Korn and Graubard's interval of the events and rows of groups, which may be sums of weights."""
    held = n > 0
    k, n = k[held], n[held]
    groups = len(n)
    events, total = (float(k.sum()), float(n.sum()))
    all_of_them = bool((k == n).all())

    def result(
        low: float | None,
        high: float | None,
        n_effective: float | None,
        effect: float | None = None,
        undefined: Mapping[str, str] | None = None,
    ) -> BinomialInterval:
        return BinomialInterval(
            None if not groups else 1.0 if all_of_them else events / total,
            low,
            high,
            events if kish is not None else int(events),
            total if kish is not None else int(total),
            "korn-graubard",
            alternative,
            level,
            n_effective,
            effect,
            groups,
            undefined or {},
        )

    if not groups:
        return result(0.0, 1.0, 0.0, undefined={"estimate": NO_ROWS})
    if groups < 2:
        return result(None, None, None, undefined=dict.fromkeys(("low", "high", "n_effective"), ONE_GROUP))
    p = 1.0 if all_of_them else events / total
    cap = float(rows) if kish is None else kish
    if p in (0.0, 1.0):
        n_effective, effect = min(float(groups), cap), None
    else:
        variance = float(((k - p * n) ** 2).sum()) / total**2 * groups / (groups - 1)
        q = level if alternative != "two-sided" else (1 + level) / 2
        n_effective = float(_n_effective(np.array([p]), np.array([variance]), groups, rows, cap, q)[0])
        effect = variance / (p * (1 - p) / rows)
    low, high = _ends(p * n_effective, n_effective, p == 1, alternative, level)
    return result(low, high, n_effective, effect)


def _n_effective(p: FloatArray, variance: FloatArray, groups: int, rows: int, cap: float, q: float) -> FloatArray:
    """Return how many independent rows have rates p with this variance."""
    # With few groups their variance itself is known badly: its quantile is Student's.
    shrink = (quantile(q, rows - 1) / quantile(q, groups - 1)) ** 2 if q != 0.5 else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        n_effective = np.minimum(p * (1 - p) / variance * shrink, cap)
    return np.asarray(np.where((p <= 0) | (p >= 1), min(groups, cap), np.where(variance > 0, n_effective, cap)))


def _ends(k: float, n: float, everything: bool, alternative: str, level: float) -> tuple[float, float]:
    """Return both ends for k of n, which need not be whole numbers."""
    q = level if alternative != "two-sided" else (1 + level) / 2
    low = 0.0 if alternative == "less" or k <= 0 else float(_beta(1 - q, np.array([k]), np.array([n - k + 1]))[0])
    if alternative == "greater" or everything:
        return low, 1.0
    return low, float(_beta(q, np.array([k + 1]), np.array([n - k]))[0])


def _beta(q: float, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return quantiles of beta distributions, 1 where b is 0."""
    from scipy.special import betaincinv

    out = np.ones(len(a))
    inside = b > 0
    out[inside] = betaincinv(a[inside], b[inside], q)
    return out


def _binomial_cdf(k: int, n: int, p: float) -> float:
    """Return the probability of k or fewer events in n rows."""
    from scipy.special import bdtr

    return 1.0 if k >= n else float((1 - p) ** n if k == 0 else bdtr(k, n, p))


def _running_sums(of: IntArray, w: FloatArray) -> FloatArray:
    """Return at each row the sum of w over the rows of its group so far, itself included."""
    order = np.argsort(of, kind="stable")
    sums = np.cumsum(w[order])
    starts = np.flatnonzero(np.append(True, of[order][1:] != of[order][:-1]))
    before = np.repeat(sums[starts] - w[order][starts], np.diff(np.append(starts, len(of))))
    out = np.empty(len(of))
    out[order] = sums - before
    return out


def _counts(value: Any, name: str, *, scalar: bool = False) -> IntArray:
    """Return whole numbers from 0 on as int64, of shape () or (g,)."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    array = np.asarray(value)
    if array.dtype == np.bool_ or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
        raise TypeError(f"{name} must be a whole number{'' if scalar else ' or a sequence of them'}, got {value!r}")
    if array.ndim > (0 if scalar else 1):
        raise ValueError(f"{name} must be a number{'' if scalar else ' or a sequence'}, got shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0) & (array == np.floor(array))))
    if len(bad):
        place = f"group {bad[0]} is " if array.ndim else "it is "
        raise ValueError(f"{name} must hold whole numbers from 0 on; {place}{np.atleast_1d(array)[bad[0]]}")
    if array.size and not math.isfinite(float(array.max())):
        raise ValueError(f"{name} must be finite")
    return array.astype(np.int64)
