"""Answers with one score or several, read at once, and what every interval of a ranking is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.inputs import NAN_POLICIES, as_labels, as_scores, as_weights
from mycelium.detector.placements import Clusters, clusters_of
from mycelium.detector.quantiles import quantile
from mycelium.draws import Units, units_of
from mycelium.spans import BoolArray, FloatArray

__all__ = ["Ranked", "newcombe", "read_ranked", "spread_interval"]


@dataclass(frozen=True, eq=False, slots=True)
class Ranked:
    """Answers with s scores each.

    Attributes
    ----------
    unsupported : bool array of shape (n,)
        Whether answer i is unsupported.
    scores : tuple of s float64 arrays of shape (n,)
        Its scores; +inf where it had none under the policy "reject".
    units : Units
        Which answers depend on each other.
    weight : float64 array of shape (n,), or None
        How many answers of the population each stands for.
    n_unscored : tuple of s int
        Answers without that score, left out or ranked at +inf.
    n_omitted : int
        Answers left out because they lack a score.
    """

    unsupported: BoolArray
    scores: tuple[FloatArray, ...]
    units: Units
    weight: FloatArray | None
    n_unscored: tuple[int, ...]
    n_omitted: int

    @property
    def grouped(self) -> bool:
        """Whether answers are in groups."""
        return self.units.keys is not None

    @property
    def n_unsupported(self) -> int:
        """Unsupported answers."""
        return int(self.unsupported.sum())

    @property
    def n_supported(self) -> int:
        """Supported answers."""
        return len(self.unsupported) - self.n_unsupported

    def picked(self, rows: Any) -> Ranked:
        """Return some of the answers."""
        index = np.arange(len(self.unsupported))[rows]
        keys = None if self.units.keys is None else [self.units.keys[i] for i in self.units.index[index].tolist()]
        return Ranked(
            self.unsupported[index],
            tuple(score[index] for score in self.scores),
            units_of(keys, len(index)),
            None if self.weight is None else self.weight[index],
            self.n_unscored,
            self.n_omitted,
        )

    def with_weight(self) -> Ranked:
        """Return the answers that weigh something."""
        return self if self.weight is None or self.weight.all() else self.picked(self.weight > 0)

    def clusters(self) -> Clusters:
        """Return the groups of each class."""
        return clusters_of(self.unsupported, self.units, self.weight)

    def lacks(self) -> str:
        """Return why AUC is not defined, or ""."""
        if not self.n_unsupported or not self.n_supported:
            return f"there are no {'supported' if self.n_unsupported else 'unsupported'} answers"
        return ""

    def too_few(self, clusters: Clusters) -> str:
        """Return why the variance of AUC is not defined, or ""."""
        for name, answers, groups in (
            ("unsupported", self.n_unsupported, clusters.n_unsupported),
            ("supported", self.n_supported, clusters.n_supported),
        ):
            if answers < 2:
                return (
                    f"{answers} {name} answer{'s' * (answers != 1)}: how much they vary is not known from fewer than 2"
                )
            if groups < 2:
                return f"all {name} answers are in one group: how much groups vary is not known from fewer than 2"
        return ""


def read_ranked(
    y_true: Any,
    scores: Sequence[Any],
    names: Sequence[str],
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> Ranked:
    """Read labels, scores, groups and weights of n answers; an answer that lacks any score is left out by "omit".

    Raises
    ------
    TypeError, ValueError
        When lengths differ, there are no rows, or a value cannot be used; the message names the argument and the row.
    """
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy must be one of {', '.join(map(repr, NAN_POLICIES))}, got {nan_policy!r}")
    unsupported = as_labels(y_true, pos_label=pos_label)
    n = len(unsupported)
    if not n:
        raise ValueError("y_true has no rows")
    read = tuple(as_scores(score, n, name=name) for score, name in zip(scores, names, strict=True))
    weight = as_weights(sample_weight, n)
    units = units_of(groups, n)
    lacking = [np.isnan(score) for score in read]
    counts = tuple(int(nothing.sum()) for nothing in lacking)
    if nan_policy == "raise" and any(counts):
        which = next(i for i, count in enumerate(counts) if count)
        raise ValueError(
            f"{names[which]}: row {int(lacking[which].argmax())} has no score (NaN), as have {counts[which]} of {n}"
            " rows: nan_policy='reject' counts them and never accepts them, 'omit' leaves them out"
        )
    for score, nothing in zip(read, lacking, strict=True):
        if nan_policy == "reject":
            score[nothing] = np.inf
    ranked = Ranked(unsupported, read, units, weight, counts, 0)
    if nan_policy != "omit" or not any(counts):
        return ranked
    kept = ~np.logical_or.reduce(lacking)
    if not kept.any():
        raise ValueError(f"{' and '.join(names)}: no row has {'all scores' if len(names) > 1 else 'a score'}")
    part = ranked.picked(kept)
    if part.weight is not None and not part.weight.any():
        raise ValueError("sample_weight: the weights of all rows with a score are 0")
    return Ranked(part.unsupported, part.scores, part.units, part.weight, counts, n - len(part.unsupported))


# -- intervals


def spread_interval(auc: float, error: float, q: float, scale: str) -> tuple[float, float]:
    """Return the interval q standard errors wide on both sides of an AUC, on the logit scale or the linear one."""
    if scale == "linear" or auc in (0.0, 1.0):
        return max(0.0, auc - q * error), min(1.0, auc + q * error)
    centre, wide = math.log(auc / (1 - auc)), q * error / (auc * (1 - auc))
    return _expit(centre - wide), _expit(centre + wide)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def newcombe(auc: float, m: float, n: float, level: float) -> tuple[float, float]:
    """Return the interval of an AUC from so many answers of each class, which has width at 0 and 1 too.

    References
    ----------
    Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part 2, Statistics
    in Medicine 2006, method 5.

    Examples
    --------
    >>> low, high = newcombe(1.0, 27, 33, 0.95)
    >>> round(low, 6), high
    (0.932348, 1.0)
    """
    z = quantile((1 + level) / 2, None)
    more = (m + n) / 2 - 1

    def apart(theta: float, point: float) -> float:
        variance = theta * (1 - theta) * (1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)) / (m * n)
        return point - theta - z * math.sqrt(variance)

    # The variance is symmetric about 0.5, so that the upper end is the lower one of the reversed score.
    return _root(lambda t: apart(t, auc), auc), 1 - _root(lambda t: apart(t, 1 - auc), 1 - auc)


def _root(falling: Callable[[float], float], high: float) -> float:
    """Return where a function crosses 0 between 0, where it is positive, and high, where it is not."""
    low = 0.0
    # As many halvings as a float has bits, and those of its exponent.
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2 if high > 0 else 0.0
