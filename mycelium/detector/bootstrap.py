"""Intervals of any metric of scored answers, by drawing answers or whole groups of them anew."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from mycelium.detector.kernels import Sorted
from mycelium.detector.ranked import Ranked, read_ranked
from mycelium.draws import Units, as_generator, check_level, check_resamples, draw
from mycelium.progress import progress
from mycelium.resample import FEW, METHODS, interval
from mycelium.spans import FloatArray

__all__ = ["BootstrapInterval", "Resampled", "bootstrap_interval"]

#: Metrics that have a kernel; every other one is called on each resample.
FAST = ("roc_auc", "average_precision")
#: A larger share of discarded resamples brings a warning.
DISCARDED = 0.05


@dataclass(frozen=True)
class Resampled:
    """A metric, or a difference of two, with its interval.

    Attributes
    ----------
    estimate : float or None
        Of the data themselves.
    low, high : float or None
        The interval.
    standard_error : float or None
        Standard deviation of the replicates.
    method : str
        "percentile", "bca" or "basic".
    note : str
        Why the method is not the one asked for, or why the interval says nothing; "" if all is well.
    """

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    method: str
    note: str = ""


@dataclass(frozen=True)
class BootstrapInterval:
    """A metric of one score or several, and all their differences, from the same resamples.

    Attributes
    ----------
    metric : str
        Its name.
    scores : tuple of Resampled
        Item i is of score i.
    differences : dict of (int, int) to Resampled
        Score i less score j, for all i < j.
    confidence_level, method, n_resamples
        What was asked for.
    seed : int or None
        None where a generator was given.
    n_discarded : int
        Resamples that were left out: they held a single class, or the metric was not a finite number.
    unit : str
        What was drawn: "example" (an answer) or "group".
    n_units, n_unsupported, n_supported : int
        Units, and answers of each class.
    n_unscored : tuple of int
        Answers without that score, left out or ranked riskiest.
    n_omitted : int
        Answers left out because they lack a score.
    weighted : bool
        Whether answers have weights.
    undefined : dict
        Why a field is None where it was asked for: "estimate", or "interval" (both ends and the standard error).
    replicates : float64 array of shape (n_resamples - n_discarded, number of scores)
        The metric of each resample.
    """

    metric: str
    scores: tuple[Resampled, ...]
    differences: Mapping[tuple[int, int], Resampled]
    confidence_level: float
    method: str
    n_resamples: int
    seed: int | None
    n_discarded: int
    unit: str
    n_units: int
    n_unsupported: int
    n_supported: int
    n_unscored: tuple[int, ...]
    n_omitted: int
    weighted: bool
    undefined: Mapping[str, str]
    replicates: FloatArray = field(repr=False, compare=False)

    @property
    def only(self) -> Resampled:
        """The one score there is; a ValueError where there are several."""
        if len(self.scores) > 1:
            raise ValueError(f"there are {len(self.scores)} scores: take scores[i], or differences[i, j]")
        return self.scores[0]

    @property
    def estimate(self) -> float | None:
        """The metric, where there is one score."""
        return self.only.estimate

    @property
    def low(self) -> float | None:
        """The lower end, where there is one score."""
        return self.only.low

    @property
    def high(self) -> float | None:
        """The upper end, where there is one score."""
        return self.only.high

    @property
    def standard_error(self) -> float | None:
        """The standard deviation of the replicates, where there is one score."""
        return self.only.standard_error

    def to_dict(self) -> dict[str, Any]:
        """Return all but the replicates as a JSON-safe dict."""
        plain = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "replicates"}
        plain["scores"] = [_plain(score) for score in self.scores]
        plain["differences"] = [{"a": i, "b": j, **_plain(item)} for (i, j), item in self.differences.items()]
        return {**plain, "n_unscored": list(self.n_unscored), "undefined": dict(self.undefined)}


def bootstrap_interval(
    metric: str | Callable[..., Any],
    y_true: Any,
    *y_scores: Any,
    groups: Any = None,
    sample_weight: Any = None,
    prevalence: float | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    method: str = "percentile",
    seed: int | np.random.Generator = 0,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> BootstrapInterval:
    """Return a metric with an interval from resampled answers, or resampled groups of them.

    Parameters
    ----------
    metric : {"roc_auc", "average_precision"} or callable
        A name is much faster. A callable is given labels (0 and 1, 1 for unsupported) and scores of a resample as
        arrays, and ``sample_weight=`` where there are weights, and returns a number.
    y_true : sequence of length n
        Whether answer i is unsupported: booleans, 0 and 1, or "unsupported" and "supported".
    *y_scores : sequences of float of length n
        Its scores by one detector or several; higher is riskier. All are taken on the same resamples.
    groups : sequence of length n, optional
        What answer i depends on; groups are then drawn as a whole, in the order of their sorted keys.
    sample_weight : sequence of float of length n, optional
        How many answers of the population each stands for.
    prevalence : float, optional
        For "average_precision": the share of unsupported answers to shift it to, in each resample.
    confidence_level : float
        The share of samples whose interval should hold the true value.
    n_resamples : int
        How many times answers are drawn.
    method : {"percentile", "bca", "basic"}
        How replicates make an interval. "bca" also takes the metric without each unit.
    seed : int or numpy.random.Generator
        The same number gives the same interval.
    pos_label : hashable, optional
        The label of unsupported answers where it is not plain.
    nan_policy : {"raise", "omit", "reject"}
        Answers that lack a score are an error, left out, or get the score inf.

    Returns
    -------
    BootstrapInterval
        ``.estimate``, ``.low`` and ``.high`` for one score; ``.scores[i]`` and ``.differences[i, j]`` for several.
        Resamples that draw a single class are discarded and counted, unless the data have a single class. The interval
        is undefined where the metric is, and with fewer than two units.

    Warns
    -----
    UserWarning
        When there are fewer than 30 units, or more than 5 % of the resamples were discarded.

    Raises
    ------
    TypeError, ValueError
        When a value cannot be used.

    See Also
    --------
    roc_auc_interval : AUC without resampling, which covers better with few groups.
    binomial_interval : for rates. Resampling gives a rate of 0 the interval [0, 0].

    Examples
    --------
    >>> y_true, y_score = [1, 0] * 40, [0.1 * (i * i % 11) + 0.3 * (i % 2 == 0) for i in range(80)]
    >>> found = bootstrap_interval("roc_auc", y_true, y_score)
    >>> found.low < found.estimate < found.high, found.n_units, found.n_discarded
    (True, 80, 0)
    """
    if not callable(metric) and metric not in FAST:
        raise ValueError(f"metric must be callable or one of {', '.join(map(repr, FAST))}, got {metric!r}")
    if not y_scores:
        raise TypeError("bootstrap_interval needs at least one sequence of scores")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if prevalence is not None:
        if metric != "average_precision":
            raise ValueError("prevalence is for the metric 'average_precision' only")
        prevalence = check_level(prevalence, "prevalence")
    level = check_level(confidence_level, "confidence_level")
    n_resamples = check_resamples(n_resamples)
    rng = as_generator(seed)
    names = ["y_score"] if len(y_scores) == 1 else [f"y_scores[{i}]" for i in range(len(y_scores))]
    ranked = read_ranked(
        y_true,
        y_scores,
        names,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
    )
    size, columns = len(ranked.units), range(len(y_scores))
    evaluate = _looped(metric, ranked) if callable(metric) else _fast(metric, ranked, prevalence)
    point = evaluate(np.ones(size))
    replicates = np.zeros((0, len(y_scores)))
    undefined: dict[str, str] = {}
    discarded = 0
    if point is None:
        reason = (not callable(metric) and ranked.lacks()) or "the metric of all answers is not a finite number"
        undefined = {"estimate": reason, "interval": reason}
    elif size < 2:
        undefined["interval"] = f"there is 1 {ranked.units.kind}: how much it varies is not known from fewer than 2"
    else:
        replicates = _replicates(evaluate, draw(rng, size, n_resamples), n_resamples, len(y_scores))
        discarded = n_resamples - len(replicates)
        if not len(replicates):
            undefined["interval"] = "all resamples were discarded"
        _warn(ranked.units, n_resamples, discarded)
    jackknife = _jackknife(evaluate, size) if method == "bca" and not undefined else None

    def summed(a: int, b: int | None = None) -> Resampled:
        """Return the interval of one score, or of one less another."""
        if point is None or undefined:
            estimate = None if point is None else point[a] if b is None else point[a] - point[b]
            return Resampled(estimate, None, None, None, method)
        whole, parts, without = np.array(point), replicates, jackknife
        if b is not None:
            whole, parts = whole - whole[b], parts - parts[:, [b]]
            without = None if without is None else without - without[:, [b]]
        column = None if without is None else without[:, a]
        return _summary(float(whole[a]), parts[:, a], level, method, column)

    return BootstrapInterval(
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric)),
        scores=tuple(summed(i) for i in columns),
        differences={(i, j): summed(i, j) for i in columns for j in columns if i < j},
        confidence_level=level,
        method=method,
        n_resamples=n_resamples,
        seed=None if isinstance(seed, np.random.Generator) else int(seed),
        n_discarded=discarded,
        unit=ranked.units.kind,
        n_units=size,
        n_unsupported=ranked.n_unsupported,
        n_supported=ranked.n_supported,
        n_unscored=ranked.n_unscored,
        n_omitted=ranked.n_omitted,
        weighted=ranked.weight is not None,
        undefined=undefined,
        replicates=replicates,
    )


# -- what a resample is worth

#: Gives the metric of each score where unit g was drawn counts[g] times, or None where that is no number.
Evaluate = Callable[[FloatArray], "list[float] | None"]


def _fast(metric: str, ranked: Ranked, prevalence: float | None) -> Evaluate:
    answers = [Sorted(ranked.unsupported, score, ranked.units, ranked.weight) for score in ranked.scores]

    def evaluate(counts: FloatArray) -> list[float] | None:
        if metric == "roc_auc":
            found = [each.roc_auc(counts) for each in answers]
        else:
            found = [each.average_precision(counts, prevalence) for each in answers]
        return _numbers(found)

    return evaluate


def _looped(metric: Callable[..., Any], ranked: Ranked) -> Evaluate:
    labels, rows = ranked.unsupported.astype(np.int64), np.arange(len(ranked.unsupported))
    both = bool(labels.any() and not labels.all())

    def evaluate(counts: FloatArray) -> list[float] | None:
        drawn = np.repeat(rows, counts[ranked.units.index].astype(np.int64))
        y = labels[drawn]
        if both and (not y.any() or y.all()):
            return None
        if ranked.weight is None:
            return _numbers([metric(y, score[drawn]) for score in ranked.scores])
        weight = ranked.weight[drawn]
        if not weight.any():
            return None
        return _numbers([metric(y, score[drawn], sample_weight=weight) for score in ranked.scores])

    return evaluate


def _numbers(found: list[Any]) -> list[float] | None:
    numbers = [math.nan if value is None else float(value) for value in found]
    return numbers if all(map(math.isfinite, numbers)) else None


def _replicates(evaluate: Evaluate, blocks: Iterator[FloatArray], n_resamples: int, columns: int) -> FloatArray:
    """Return the metric (b, s) of the resamples that have one."""
    out = np.empty((n_resamples, columns))
    kept = 0
    with progress(n_resamples, "resamples", "") as advance:
        for block in blocks:
            for counts in block:
                found = evaluate(counts)
                if found is not None:
                    out[kept] = found
                    kept += 1
                advance(1)
    return out[:kept]


def _jackknife(evaluate: Evaluate, size: int) -> FloatArray | None:
    """Return the metric (u, s) without each unit, or None where that is no number for one of them."""
    out: list[list[float]] = []
    counts = np.ones(size)
    with progress(size, "units left out", "") as advance:
        for unit in range(size):
            counts[unit] = 0.0
            found = evaluate(counts)
            counts[unit] = 1.0
            if found is None:
                return None
            out.append(found)
            advance(1)
    return np.array(out)


def _summary(
    estimate: float, replicates: FloatArray, level: float, method: str, jackknife: FloatArray | None
) -> Resampled:
    """Return the interval that replicates of one number make."""
    error = float(replicates.std(ddof=1)) if len(replicates) > 1 else None
    if method == "bca" and jackknife is None:
        found = interval(estimate, replicates, level, "percentile")
        note = found.note or "the metric without one of the units is not a number"
        return Resampled(estimate, found.low, found.high, error, "percentile", note)
    found = interval(estimate, replicates, level, method, jackknife)
    return Resampled(estimate, found.low, found.high, error, found.method, found.note)


def _warn(units: Units, n_resamples: int, discarded: int) -> None:
    if len(units) < FEW:
        warnings.warn(
            f"intervals from {units.describe()} are likely too narrow: resampling needs at least {FEW}, so read them as"
            " a lower bound of the uncertainty",
            UserWarning,
            stacklevel=3,
        )
    if discarded > DISCARDED * n_resamples:
        warnings.warn(
            f"{discarded:,} of {n_resamples:,} resamples drew a single class, or gave no finite number, and were"
            f" discarded: the interval is that of the others; score more {units.kind}s of the rarer class",
            UserWarning,
            stacklevel=3,
        )


def _plain(item: Resampled) -> dict[str, Any]:
    return {each.name: getattr(item, each.name) for each in fields(item)}
