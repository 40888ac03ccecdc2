"""Three ways for an answer to go: accept, review or reject."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.detector.binomial import rate_interval
from mycelium.detector.costs import joint_shares
from mycelium.detector.decisions import (
    LARGEST,
    as_threshold,
    check_direction,
    labels_warning,
    narrowed,
    outside,
    read_decisions,
    say,
    share,
)
from mycelium.detector.inputs import as_scores, as_weights
from mycelium.detector.points import NO_SUPPORTED, NO_UNSUPPORTED
from mycelium.detector.selection import inside_threshold
from mycelium.spans import FloatArray

__all__ = ["RoutingReport", "route", "routing_report"]


@dataclass(frozen=True)
class RoutingReport:
    """What becomes of answers under two thresholds. Counts are of rows, rates take weights and prevalence into account.

    Attributes
    ----------
    accept_threshold, review_threshold : float or None
        In the scale of the scores as given; None for an accept threshold that accepts nothing.
    prevalence : float or None
        The share of unsupported answers that classes were weighted to; None where it is that of the rows.
    accept_rate, review_rate, reject_rate, auto_decision_rate : float or None
        Shares of all answers; the last is accept or reject.
    far, far_upper95 : float or None
        Share of unsupported answers accepted, with its one-sided bound.
    false_reject_rate : float or None
        Share of supported answers rejected.
    p_false_accept, p_false_reject : float or None
        Shares of *all* answers that are unsupported and accepted, or supported and rejected.
    n, n_accept, n_review, n_reject, n_unsupported, n_false_accepts, n_supported, n_false_rejects, n_unscored : int
        Rows. Those without a score go to review.
    volume, review_capacity : float or None
        Answers, and reviews that can be made, in the same time; as given.
    capacity_utilisation : float or None
        Reviews that are due over reviews that can be made.
    over_capacity : bool or None
        Whether it is above 1.
    undefined : dict
        Why a field is None although it was measured.
    """

    accept_threshold: float | None
    review_threshold: float | None
    prevalence: float | None
    accept_rate: float | None
    review_rate: float | None
    reject_rate: float | None
    auto_decision_rate: float | None
    far: float | None
    far_upper95: float | None
    false_reject_rate: float | None
    p_false_accept: float | None
    p_false_reject: float | None
    n: int
    n_accept: int
    n_review: int
    n_reject: int
    n_unsupported: int
    n_false_accepts: int
    n_supported: int
    n_false_rejects: int
    n_unscored: int
    volume: float | None
    review_capacity: float | None
    capacity_utilisation: float | None
    over_capacity: bool | None
    score_direction: str = "higher_is_riskier"
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "undefined": dict(self.undefined)}


def route(
    y_score: Any,
    *,
    accept_threshold: Any,
    review_threshold: Any,
    score_direction: str = "higher_is_riskier",
) -> NDArray[np.str_]:
    """Send each answer one of three ways.

    Parameters
    ----------
    y_score : sequence of length n
        Scores; an answer without one (NaN, None) goes to review.
    accept_threshold : float, ThresholdSelection or None
        Accept iff ``score <= accept_threshold``; None accepts nothing.
    review_threshold : float
        Reject iff ``score >= review_threshold`` and it is not accepted; what lies between goes to review.
    score_direction : {"higher_is_riskier", "lower_is_riskier"}
        For the second, both signs are turned round.

    Returns
    -------
    array of str of shape (n,)
        "accept", "review" or "reject".

    Raises
    ------
    TypeError, ValueError
        When the thresholds are not numbers, or the first lies beyond the second.

    Examples
    --------
    >>> route([0.1, 0.4, 0.5, 0.6, float("nan")], accept_threshold=0.4, review_threshold=0.6).tolist()
    ['accept', 'accept', 'review', 'reject', 'review']
    """
    low, high = _thresholds(accept_threshold, review_threshold, score_direction)
    score = as_scores(y_score)
    return _routed(-score if score_direction == "lower_is_riskier" else score, low, high)


def routing_report(
    y_true: Any,
    y_score: Any,
    *,
    accept_threshold: Any,
    review_threshold: Any,
    prevalence: float | None = None,
    review_capacity: float | None = None,
    volume: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    score_direction: str = "higher_is_riskier",
    labelled: str = "all",
) -> RoutingReport:
    """Return what becomes of answers under two thresholds.

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores; answers without one go to review and are counted.
    accept_threshold, review_threshold, score_direction
        As in :func:`route`.
    prevalence : float, optional
        Share of unsupported answers in use; rates of each class are then weighted to it.
    review_capacity, volume : float, optional
        How many reviews can be made, and how many answers there are, in the same time. Give both or neither.
    groups, sample_weight, pos_label, labelled
        As in :func:`mycelium.detector.points.evaluate_operating_point`.

    Examples
    --------
    >>> report = routing_report([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], accept_threshold=0.2, review_threshold=0.8,
    ...                         review_capacity=400, volume=1000)
    >>> report.auto_decision_rate, report.capacity_utilisation, report.over_capacity
    (0.5, 1.25, True)
    """
    low, high = _thresholds(accept_threshold, review_threshold, score_direction)
    say(labels_warning(labelled))
    if (review_capacity is None) != (volume is None):
        raise ValueError("give both review_capacity and volume, or neither")
    for name, value in (("review_capacity", review_capacity), ("volume", volume)):
        if value is not None and not (0 < value < math.inf):
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
    score = as_scores(y_score)
    scored = read_decisions(
        y_true,
        score,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy="reject",
        score_direction=score_direction,
    )
    # Decided on as given: there a score of +inf, to be rejected, is not the same as none.
    weight = as_weights(sample_weight, len(score))
    if weight is not None:
        score = score[weight > 0]
    decided = _routed(-score if score_direction == "lower_is_riskier" else score, low, high)
    shares, undefined = joint_shares(decided, scored.unsupported, scored.unsupported, scored.weight, prevalence)
    risky = narrowed(scored, scored.unsupported)
    accepted = decided == "accept"
    bound = rate_interval(accepted[scored.unsupported], risky.units, risky.weight, alternative="less")
    far = share(accepted[scored.unsupported], risky.weight)
    safe = narrowed(scored, ~scored.unsupported)
    rejected = decided == "reject"
    false_reject = share(rejected[~scored.unsupported], safe.weight)
    for name, value, reason in (
        ("far", far, NO_UNSUPPORTED),
        ("far_upper95", bound.high, bound.undefined.get("high", "")),
        ("false_reject_rate", false_reject, NO_SUPPORTED),
    ):
        if value is None:
            undefined[name] = reason
    review = shares["review_rate"]
    if review is None:
        undefined["auto_decision_rate"] = undefined["review_rate"]
        if volume is not None:
            undefined.update(dict.fromkeys(("capacity_utilisation", "over_capacity"), undefined["review_rate"]))
    used = None
    if review_capacity is not None and volume is not None and review is not None:
        used = review * volume / review_capacity
    return RoutingReport(
        outside(low, score_direction),
        outside(high, score_direction),
        prevalence,
        **shares,
        auto_decision_rate=None if review is None else 1 - review,
        far=far,
        far_upper95=bound.high,
        false_reject_rate=false_reject,
        n=len(scored),
        n_accept=int(accepted.sum()),
        n_review=int((decided == "review").sum()),
        n_reject=int(rejected.sum()),
        n_unsupported=len(risky),
        n_false_accepts=int((accepted & scored.unsupported).sum()),
        n_supported=len(safe),
        n_false_rejects=int((rejected & ~scored.unsupported).sum()),
        n_unscored=scored.n_unscored,
        volume=volume,
        review_capacity=review_capacity,
        capacity_utilisation=used,
        over_capacity=None if used is None else used > 1,
        score_direction=score_direction,
        undefined=undefined,
    )


def _thresholds(accept_threshold: Any, review_threshold: Any, score_direction: str) -> tuple[float, float]:
    check_direction(score_direction)
    low = inside_threshold(accept_threshold, score_direction, name="accept_threshold")
    if review_threshold is None:
        raise TypeError("review_threshold must be a number, got None")
    high = as_threshold(review_threshold, score_direction, name="review_threshold")
    if low > high:
        raise ValueError(
            f"accept_threshold ({accept_threshold!r}) lies on the riskier side of review_threshold"
            f" ({review_threshold!r}): nothing could be reviewed"
        )
    return low, high


def _routed(score: FloatArray, low: float, high: float) -> NDArray[np.str_]:
    """Return the way of each answer: accepted at a common boundary, and reviewed where NaN compares with nothing."""
    accepted = np.maximum(score, -LARGEST) <= low
    return np.asarray(np.select([accepted, score >= high], ["accept", "reject"], "review"))
