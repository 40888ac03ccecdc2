"""How well a score ranks unsupported answers above supported ones."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mycelium.detector.placements import Clusters, place, variance
from mycelium.detector.quantiles import quantile
from mycelium.detector.ranked import Ranked, newcombe, read_ranked, spread_interval
from mycelium.draws import check_level

__all__ = ["RocAucInterval", "roc_auc_interval"]

METHODS = ("auto", "delong", "obuchowski", "newcombe")
SCALES = ("logit", "linear")


@dataclass(frozen=True)
class RocAucInterval:
    """AUC with its interval.

    Attributes
    ----------
    estimate : float or None
        Share of pairs of an unsupported and a supported answer that are ranked rightly, ties half; None where a class
        is empty.
    low, high : float or None
        The interval; None where it is not defined.
    standard_error : float or None
        Of the estimate; None for "newcombe", which has none.
    method : str
        "delong", "obuchowski" (answers in groups) or "newcombe" (AUC of 0 or 1, where the others have no width).
    scale : str
        "logit" or "linear": on which scale the interval is symmetric; "score" for "newcombe".
    df : int or None
        Degrees of freedom of Student's t, the number of groups less 1; None where the normal distribution is used.
    confidence_level : float
        The share of samples whose interval should hold the true AUC.
    n_unsupported, n_supported : int
        Answers of each class that count.
    n_groups, n_groups_unsupported, n_groups_supported : int or None
        Groups, and those that hold an answer of each class; None without groups.
    n_unscored : int
        Answers without a score, left out or ranked at +inf as ``nan_policy`` says.
    weighted : bool
        Whether answers have weights.
    undefined : dict
        Why a field is None where it was asked for.
    """

    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    method: str
    scale: str
    df: int | None
    confidence_level: float
    n_unsupported: int
    n_supported: int
    n_groups: int | None
    n_groups_unsupported: int | None
    n_groups_supported: int | None
    n_unscored: int
    weighted: bool
    undefined: Mapping[str, str] = field(default_factory=dict)

    @property
    def direction(self) -> str:
        """Whether higher is riskier: "consistent", "reversed", or "inconclusive" where the interval holds 0.5."""
        if self.low is None or self.high is None:
            return "inconclusive"
        return "consistent" if self.low > 0.5 else "reversed" if self.high < 0.5 else "inconclusive"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and the direction, as a JSON-safe dict."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**plain, "undefined": dict(self.undefined), "direction": self.direction}


def roc_auc_interval(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    method: str = "auto",
    scale: str = "logit",
    confidence_level: float = 0.95,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> RocAucInterval:
    """Return AUC with an interval that needs no resampling and no seed.

    Parameters
    ----------
    y_true : sequence of length n
        Whether answer i is unsupported: booleans, 0 and 1, or "unsupported" and "supported".
    y_score : sequence of float of length n
        Its score; higher is riskier. Infinite ones are ranked.
    groups : sequence of length n, optional
        What answer i depends on, e.g. its source document.
    sample_weight : sequence of float of length n, optional
        How many answers of the population each stands for, e.g. 1 / the probability that it was labelled. The
        variance takes the weights as known and is linearised, as for a survey whose clusters are the groups, or the
        answers where there are none: weight 2 is what two copies in one group are.
    method : {"auto", "delong", "obuchowski", "newcombe"}
        "auto" takes "obuchowski" with groups and "delong" without. "newcombe", which is of independent answers without
        weights, takes the place of either where the variance is 0, e.g. at AUC 0 or 1.
    scale : {"logit", "linear"}
        "logit" keeps the interval within 0 and 1 and covers better; "linear" is the textbook interval, cut at 0 and 1.
    confidence_level : float
        The share of samples whose interval should hold the true AUC.
    pos_label : hashable, optional
        The label of unsupported answers where it is not plain.
    nan_policy : {"raise", "omit", "reject"}
        Answers without a score are an error, left out, or ranked riskiest of all.

    Returns
    -------
    RocAucInterval
        The estimate is undefined where a class is empty. The interval is undefined with fewer than two answers of a
        class, or fewer than two groups that hold one. With groups the normal distribution gives way to Student's with
        the number of groups less 1; where "newcombe" steps in, each class counts as many answers as it has groups.

    Raises
    ------
    TypeError, ValueError
        When a value cannot be used.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 1988. Obuchowski, Biometrics 1997. Newcombe, Statistics in Medicine
    2006 (method 5).

    Examples
    --------
    >>> found = roc_auc_interval([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.4, 0.6, 0.3, 0.1])
    >>> round(found.estimate, 4), round(found.low, 4), round(found.high, 4), found.method
    (0.8889, 0.2614, 0.9945, 'delong')
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(map(repr, SCALES))}, got {scale!r}")
    if method == "obuchowski" and groups is None:
        raise ValueError("method='obuchowski' needs groups")
    if method in ("delong", "newcombe") and groups is not None:
        raise ValueError(f"method={method!r} takes answers as independent: leave out groups, or ask for 'obuchowski'")
    if method == "newcombe" and sample_weight is not None:
        raise ValueError("method='newcombe' has no weights: leave out sample_weight, or ask for 'delong'")
    level = check_level(confidence_level, "confidence_level")
    ranked = read_ranked(
        y_true,
        (y_score,),
        ("y_score",),
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
    ).with_weight()
    grouped, clusters = ranked.grouped, ranked.clusters()
    named = method if method != "auto" else "obuchowski" if grouped else "delong"
    estimate: float | None = None
    error: float | None = None
    ends: tuple[float, float] | None = None
    df: int | None = None
    undefined: dict[str, str] = {}
    reason = ranked.lacks()
    if reason:
        undefined["estimate"] = reason
    else:
        placed = place(ranked.unsupported, ranked.scores[0], ranked.weight)
        estimate = placed.auc
        reason = ranked.too_few(clusters)
        square = variance(placed, clusters) if not reason and method != "newcombe" else 0.0
        if square:
            df = clusters.n_groups - 1 if grouped else None
            error = math.sqrt(square)
            ends = spread_interval(estimate, error, quantile((1 + level) / 2, df), scale)
        elif not reason:
            # Nothing varies, e.g. because the ranking is perfect: that says how few answers there are, not how sure.
            named, scale = "newcombe", "score"
            ends = newcombe(estimate, *_independent(ranked, clusters), level)
    if reason:
        undefined.update(dict.fromkeys(("low", "high", "standard_error"), reason))
    elif error is None:
        undefined["standard_error"] = "the method has none" if method == "newcombe" else "the variance is 0"
    return RocAucInterval(
        estimate=estimate,
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        standard_error=error,
        method=named,
        scale=scale,
        df=df,
        confidence_level=level,
        n_unsupported=ranked.n_unsupported,
        n_supported=ranked.n_supported,
        n_groups=clusters.n_groups if grouped else None,
        n_groups_unsupported=clusters.n_unsupported if grouped else None,
        n_groups_supported=clusters.n_supported if grouped else None,
        n_unscored=ranked.n_unscored[0],
        weighted=ranked.weight is not None,
        undefined=undefined,
    )


def _independent(ranked: Ranked, clusters: Clusters) -> tuple[float, float]:
    """Return how many independent answers of each class there are at least: its groups, and what weights leave."""
    out = []
    for own, groups in ((ranked.unsupported, clusters.n_unsupported), (~ranked.unsupported, clusters.n_supported)):
        weight = None if ranked.weight is None else ranked.weight[own]
        kish = math.inf if weight is None else float(weight.sum() ** 2 / (weight**2).sum())
        out.append(min(float(groups), kish))
    return out[0], out[1]
