"""Whether one score ranks answers better than another."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mycelium.detector.binomial import check_alternative
from mycelium.detector.placements import Placed, covariance, place, variance
from mycelium.detector.quantiles import cdf, quantile
from mycelium.detector.ranked import read_ranked
from mycelium.draws import check_level

__all__ = ["RocAucComparison", "compare_roc_auc"]

#: AUCs that differ by no more than this differ by rounding only.
ALIKE = 1e-14
#: What data may leave undefined.
MEASURED = (
    "estimate_a",
    "estimate_b",
    "difference",
    "low",
    "high",
    "statistic",
    "p_value",
    "p_value_normal",
    "standard_error",
    "variance_a",
    "variance_b",
    "covariance",
)


@dataclass(frozen=True)
class RocAucComparison:
    """Two scores of the same answers against each other.

    Attributes
    ----------
    estimate_a, estimate_b : float or None
        AUC of each.
    difference : float or None
        The first less the second.
    low, high : float or None
        Interval of the difference. It leaves 0 out just where ``p_value < 1 - confidence_level``; one-sided
        alternatives leave the other end at 1 or -1.
    statistic : float or None
        The difference over its standard error.
    p_value : float or None
        1 where both rank the answers alike.
    p_value_normal : float or None
        What the normal distribution gives; the same without groups. It is too small with few groups.
    standard_error : float or None
        Of the difference.
    variance_a, variance_b, covariance : float or None
        What the standard error is made of.
    df : int or None
        Degrees of freedom of Student's t, the number of groups less 1; None where the normal distribution is used.
    method : str
        "delong" or "obuchowski".
    alternative : str
        "two-sided", "greater" (the first is better) or "less".
    confidence_level : float
        Level of the interval.
    n_unsupported, n_supported, n_groups, n_groups_unsupported, n_groups_supported, weighted
        As in :class:`RocAucInterval`.
    n_unscored_a, n_unscored_b : int
        Answers without a score; "omit" leaves out an answer that lacks either.
    n_omitted : int
        Answers left out because they lack a score.
    undefined : dict
        Why a field is None where it was asked for.
    """

    estimate_a: float | None
    estimate_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    statistic: float | None
    p_value: float | None
    p_value_normal: float | None
    standard_error: float | None
    variance_a: float | None
    variance_b: float | None
    covariance: float | None
    df: int | None
    method: str
    alternative: str
    confidence_level: float
    n_unsupported: int
    n_supported: int
    n_groups: int | None
    n_groups_unsupported: int | None
    n_groups_supported: int | None
    n_unscored_a: int
    n_unscored_b: int
    n_omitted: int
    weighted: bool
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{item.name: getattr(self, item.name) for item in fields(self)}, "undefined": dict(self.undefined)}


def compare_roc_auc(
    y_true: Any,
    y_score_a: Any,
    y_score_b: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    alternative: str = "two-sided",
    confidence_level: float = 0.95,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> RocAucComparison:
    """Test whether two scores of the same answers rank them equally well.

    Parameters
    ----------
    y_true, groups, sample_weight, pos_label, nan_policy
        As in :func:`roc_auc_interval`; "omit" leaves out answers that lack either score.
    y_score_a, y_score_b : sequence of float of length n
        The two scores of answer i; higher is riskier in both.
    alternative : {"two-sided", "greater", "less"}
        What is tested for: that the AUCs differ, that the first is greater, or that it is less.
    confidence_level : float
        Level of the interval of the difference.

    Returns
    -------
    RocAucComparison
        The paired test of DeLong, or with groups of Obuchowski, whose p-value and interval both use Student's t with
        the number of groups less 1. Undefined with fewer than two answers of a class, fewer than two groups that hold
        one, and where the scores differ though their difference does not vary.

    Raises
    ------
    TypeError, ValueError
        When a value cannot be used.

    Examples
    --------
    >>> found = compare_roc_auc([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.4, 0.6, 0.3, 0.1], [0.5, 0.8, 0.4, 0.6, 0.3, 0.7])
    >>> round(found.difference, 4), round(found.p_value, 4)
    (0.3333, 0.2207)
    """
    check_alternative(alternative)
    level = check_level(confidence_level, "confidence_level")
    ranked = read_ranked(
        y_true,
        (y_score_a, y_score_b),
        ("y_score_a", "y_score_b"),
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
    ).with_weight()
    grouped, clusters = ranked.grouped, ranked.clusters()
    df = clusters.n_groups - 1 if grouped else None
    found: dict[str, float] = {}
    reason = ranked.lacks()
    if not reason:
        a, b = (place(ranked.unsupported, score, ranked.weight) for score in ranked.scores)
        difference = a.auc - b.auc
        found = {"estimate_a": a.auc, "estimate_b": b.auc, "difference": difference}
        reason = ranked.too_few(clusters)
        if not reason:
            found["variance_a"], found["variance_b"] = variance(a, clusters), variance(b, clusters)
            found["covariance"] = covariance(a, b, clusters)
            # Of the differences themselves: exactly 0 where both rank alike.
            error = math.sqrt(variance(Placed(difference, a.centred - b.centred, a.unit), clusters))
            found["standard_error"] = error
            if error or abs(difference) <= ALIKE:
                found |= _tested(difference, error, df, alternative, level)
            else:
                reason = "the difference does not vary: every answer is ranked better by the same share"
    return RocAucComparison(
        **{name: found.get(name) for name in MEASURED},
        df=df,
        method="obuchowski" if grouped else "delong",
        alternative=alternative,
        confidence_level=level,
        n_unsupported=ranked.n_unsupported,
        n_supported=ranked.n_supported,
        n_groups=clusters.n_groups if grouped else None,
        n_groups_unsupported=clusters.n_unsupported if grouped else None,
        n_groups_supported=clusters.n_supported if grouped else None,
        n_unscored_a=ranked.n_unscored[0],
        n_unscored_b=ranked.n_unscored[1],
        n_omitted=ranked.n_omitted,
        weighted=ranked.weight is not None,
        undefined={name: reason for name in MEASURED if name not in found},
    )


def _tested(difference: float, error: float, df: int | None, alternative: str, level: float) -> dict[str, float]:
    """Return the statistic, the p-values and the interval of a difference; without an error there is none at all."""
    statistic = difference / error if error else 0.0

    def p_value(df: int | None) -> float:
        if not error:
            return 1.0
        if alternative == "two-sided":
            return min(1.0, 2 * cdf(-abs(statistic), df))
        return cdf(-statistic if alternative == "greater" else statistic, df)

    wide = quantile((1 + level) / 2 if alternative == "two-sided" else level, df) * error
    return {
        "statistic": statistic,
        "p_value": p_value(df),
        "p_value_normal": p_value(None),
        "low": -1.0 if alternative == "less" else max(-1.0, difference - wide),
        "high": 1.0 if alternative == "greater" else min(1.0, difference + wide),
    }
