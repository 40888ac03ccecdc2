"""Operating points: what one threshold does to answers that were not used to choose it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelium.detector.binomial import BinomialInterval, binomial_interval, rate_interval, required_unsupported
from mycelium.detector.curve import upper_bounds
from mycelium.detector.decisions import (
    accept_rule,
    digest_of,
    digest_of_ids,
    labels_warning,
    narrowed,
    outside,
    read_decisions,
    say,
    share,
)
from mycelium.detector.inputs import Scored, as_scores
from mycelium.detector.selection import ThresholdSelection, inside_threshold
from mycelium.spans import BoolArray

__all__ = ["OperatingPoint", "evaluate_operating_point"]

NO_UNSUPPORTED = "there are no unsupported rows"
NO_SUPPORTED = "there are no supported rows"


@dataclass(frozen=True)
class OperatingPoint:
    """What accepting up to a threshold does. Counts are of rows, rates take weights into account.

    Attributes
    ----------
    target_far : float or None
        The budget the threshold was chosen for; None if none was given.
    threshold : float or None
        In the scale of the scores as given; None accepts nothing.
    rule : str or None
        How it was chosen; None where a number was given.
    feasible : bool
        False where nothing could be accepted within the budget. FAR and SAR are then 0 by construction.
    accept_all : bool
        Whether the rule allowed everything.
    cal_far, n_calibration_unsupported : float and int, or None
        What the choice saw; None where a number was given.
    eval_far : float or None
        FAR: share of unsupported rows that are accepted.
    far_ci95 : (float, float) or None
        Two-sided 95% interval of FAR.
    far_upper95, far_upper975 : float or None
        One-sided upper bounds of FAR at 95% and 97.5%; 1 without unsupported rows. With groups or weights each is the
        largest at this or a smaller threshold, as is the upper end of ``far_ci95``.
    far_method : str
        "clopper-pearson"; "korn-graubard" (approximate) with groups or weights; "accepts nothing".
    far_upper95_rows, far_upper95_group_events : float or None
        With groups: the exact bound if rows were independent (too low where they are not), and the exact bound of the
        share of groups in which an unsupported row was accepted.
    n_effective_unsupported : float or None
        How many independent rows the bounds of FAR are made for.
    supported_acceptance, false_rejection : float or None
        SAR, share of supported rows that are accepted, and FRR = 1 - SAR.
    sar_ci95, sar_lower975 : (float, float) and float, or None
        Two-sided 95% interval of SAR and its one-sided lower bound at 97.5%.
    acceptance_rate, review_rate : float
        Shares of all rows; a single threshold sends none to review.
    n, n_accepted, n_unsupported, n_false_accepts, n_supported, n_supported_accepted, n_unscored : int
        Rows.
    n_groups, n_groups_unsupported, n_groups_with_false_accept : int or None
        Groups of all rows, with an unsupported row, and with an accepted one; None without groups.
    score_direction, accept_rule, labelled : str
        As given, and the rule in words.
    weighted : bool
        Whether rows had weights.
    resubstitution : bool
        Whether the threshold was chosen on these very rows: the rates are then too good, and no bound holds.
    digest, calibration_digest : str, and str or None
        Of the rows evaluated on, and of those chosen on.
    undefined : dict
        Why a field is None although it was measured.
    warnings : tuple of str
        What was warned of.
    """

    target_far: float | None
    threshold: float | None
    rule: str | None
    feasible: bool
    accept_all: bool
    cal_far: float | None
    n_calibration_unsupported: int | None
    eval_far: float | None
    far_ci95: tuple[float, float] | None
    far_upper95: float | None
    far_upper975: float | None
    far_method: str
    far_upper95_rows: float | None
    far_upper95_group_events: float | None
    n_effective_unsupported: float | None
    supported_acceptance: float | None
    false_rejection: float | None
    sar_ci95: tuple[float, float] | None
    sar_lower975: float | None
    acceptance_rate: float
    review_rate: float
    n: int
    n_accepted: int
    n_unsupported: int
    n_false_accepts: int
    n_supported: int
    n_supported_accepted: int
    n_unscored: int
    n_groups: int | None
    n_groups_unsupported: int | None
    n_groups_with_false_accept: int | None
    score_direction: str
    accept_rule: str
    labelled: str
    weighted: bool
    resubstitution: bool
    digest: str
    calibration_digest: str | None
    undefined: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("far_ci95", "sar_ci95"):
            out[name] = None if out[name] is None else list(out[name])
        return out | {"undefined": dict(self.undefined), "warnings": list(self.warnings)}


def evaluate_operating_point(
    y_true: Any,
    y_score: Any,
    *,
    threshold: Any,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
    target_far: float | None = None,
    labelled: str = "all",
    row_ids: Any = None,
    allow_resubstitution: bool = False,
) -> OperatingPoint:
    """Return what a threshold does to rows that were not used to choose it.

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores.
    threshold : float, ThresholdSelection or None
        Accept iff ``score <= threshold`` (>= where lower is riskier); None accepts nothing.
    groups : sequence of length n, optional
        What depends on each other, such as the source document. Bounds are then Korn and Graubard's: approximate.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for.
    pos_label : hashable, optional
        The label of unsupported rows.
    nan_policy : {"raise", "omit", "reject"}
        What becomes of rows without a score; "reject" counts them and never accepts them.
    score_direction : {"higher_is_riskier", "lower_is_riskier"}
        That of the scores; a :class:`ThresholdSelection` must have been made with the same.
    target_far : float, optional
        The budget, where ``threshold`` is a number; a selection knows its own.
    labelled : {"all", "flagged"}
        "flagged" where only answers that a detector in use had flagged were labelled: FAR cannot be measured then.
    row_ids : sequence of length n, optional
        What identifies each row. Where the selection has ids too, they decide whether these are the rows it was chosen
        on; otherwise labels and scores do, in any order, which for few rows and coarse scores may agree by chance.
    allow_resubstitution : bool
        Evaluate also on the very rows that the threshold was chosen on, and say so in the result.

    Warns
    -----
    UserWarning
        When there are fewer unsupported rows than it takes to certify the budget without a single false acceptance;
        when only flagged rows are labelled, or no labelled row at all is accepted.

    Raises
    ------
    TypeError, ValueError
        For input that cannot be used, a selection of the other direction, and the rows of the choice itself.

    Examples
    --------
    >>> point = evaluate_operating_point([1] * 12 + [0] * 3, [0.9] * 12 + [0.1, 0.2, 0.9], threshold=0.5)
    >>> point.eval_far, round(point.far_upper95, 4), round(point.supported_acceptance, 4)
    (0.0, 0.2209, 0.6667)
    """
    scored = read_decisions(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
        score_direction=score_direction,
    )
    chosen = threshold if isinstance(threshold, ThresholdSelection) else None
    tau = inside_threshold(threshold, score_direction)
    digest = digest_of(scored)
    ids = digest_of_ids(row_ids, len(as_scores(y_score)))
    again = chosen is not None and chosen.is_of(digest, ids)
    check_other_rows(again, allow_resubstitution)
    budget = chosen.max_far if chosen is not None else target_far
    messages = labels_warning(labelled)
    if again:
        messages.append("the threshold was chosen on these very rows: its rates are too good, and no bound holds")
    accepted = scored.score <= tau
    messages += _sample_messages(scored, accepted, tau, budget)
    return point_of(
        scored,
        accepted,
        tau=tau,
        threshold=outside(tau, score_direction),
        target_far=budget,
        rule=None if chosen is None else chosen.rule,
        feasible=bool(tau > -np.inf),
        accept_all=chosen is not None and chosen.accept_all,
        cal_far=None if chosen is None else chosen.cal_far,
        n_calibration_unsupported=None if chosen is None else chosen.n_unsupported,
        score_direction=score_direction,
        labelled=labelled,
        resubstitution=again,
        digest=digest,
        calibration_digest=None if chosen is None else chosen.digest,
        warnings=say(messages),
    )


def check_other_rows(again: bool, allow_resubstitution: bool) -> None:
    """Refuse the rows of the choice, unless allowed."""
    if again and not allow_resubstitution:
        raise ValueError(
            "the threshold was chosen on these very rows, on which its rates are too good: evaluate it on others, or"
            " say allow_resubstitution=True, which the result will tell (row_ids tell rows apart that look alike)"
        )


def point_of(
    scored: Scored, accepted: BoolArray, *, feasible: bool, tau: float | None = None, **said: Any
) -> OperatingPoint:
    """Return the operating point of rows of which some are accepted.

    ``tau`` is the threshold inside, if it is one for all rows; ``said`` fills the fields that are not counted.
    """
    risky, safe = narrowed(scored, scored.unsupported), narrowed(scored, ~scored.unsupported)
    k, s = accepted[scored.unsupported], accepted[~scored.unsupported]
    undefined: dict[str, str] = {}

    def bounds(name: str, rows: Scored, event: BoolArray, alternative: str, level: float) -> BinomialInterval:
        found = rate_interval(event, rows.units, rows.weight, alternative=alternative, confidence_level=level)
        reason = found.undefined.get("low")
        if reason is not None:
            undefined[name] = reason
        return found

    def both(found: BinomialInterval) -> tuple[float, float] | None:
        return None if found.low is None or found.high is None else (found.low, found.high)

    upper95 = bounds("far_upper95", risky, k, "less", 0.95)
    upper975 = bounds("far_upper975", risky, k, "less", 0.975)
    far_ci = both(bounds("far_ci95", risky, k, "two-sided", 0.95))
    sar_ci = both(bounds("sar_ci95", safe, s, "two-sided", 0.95))
    lower975 = bounds("sar_lower975", safe, s, "greater", 0.975)
    if "n_effective" in upper95.undefined:
        undefined["n_effective_unsupported"] = upper95.undefined["n_effective"]
    far, sar = share(k, risky.weight), share(s, safe.weight)
    highs, low, method = (upper95.high, upper975.high), lower975.low, upper95.method
    if tau is not None and upper95.high is not None and upper975.high is not None:
        # A bound that falls where more is accepted would contradict itself: the largest up to the threshold holds.
        at = np.array([tau])
        highs = (float(upper_bounds(risky, at, 0.95)[0]), float(upper_bounds(risky, at, 0.975)[0]))
        far_ci = None if far_ci is None else (far_ci[0], highs[1])
    if not feasible and len(risky):
        # Nothing is accepted, whatever the rows: no sample could say otherwise.
        far_ci, highs, method = (0.0, 0.0), (0.0, 0.0), "accepts nothing"
    if not feasible and len(safe):
        sar_ci, low = (0.0, 0.0), 0.0
    for value, reason, fields in (
        (far, NO_UNSUPPORTED, ("eval_far",)),
        (sar, NO_SUPPORTED, ("supported_acceptance", "false_rejection")),
    ):
        undefined.update(dict.fromkeys(fields, reason) if value is None else {})
    if not len(risky):
        undefined["far_ci95"], far_ci = NO_UNSUPPORTED, None
    if not len(safe):
        undefined["sar_ci95"], sar_ci = NO_SUPPORTED, None
    grouped = scored.units.keys is not None
    events = len(np.unique(risky.units.index[k])) if grouped else None
    groups = len(np.unique(risky.units.index)) if grouped else None
    by_group = _exact(events, groups) if events is not None and groups is not None and feasible else None
    whole = share(accepted, scored.weight)
    filled: dict[str, Any] = {
        "eval_far": far,
        "far_ci95": far_ci,
        "far_upper95": highs[0],
        "far_upper975": highs[1],
        "far_method": method,
        "far_upper95_rows": _exact(int(k.sum()), len(k)) if grouped and feasible and scored.weight is None else None,
        "far_upper95_group_events": by_group,
        "n_effective_unsupported": upper95.n_effective,
        "supported_acceptance": sar,
        "false_rejection": share(~s, safe.weight),
        "sar_ci95": sar_ci,
        "sar_lower975": low,
    }
    return OperatingPoint(
        **filled,
        feasible=feasible,
        acceptance_rate=0.0 if whole is None else whole,
        review_rate=0.0,
        n=len(scored),
        n_accepted=int(accepted.sum()),
        n_unsupported=len(risky),
        n_false_accepts=int(k.sum()),
        n_supported=len(safe),
        n_supported_accepted=int(s.sum()),
        n_unscored=scored.n_unscored,
        n_groups=len(np.unique(scored.units.index)) if grouped else None,
        n_groups_unsupported=groups,
        n_groups_with_false_accept=events,
        accept_rule=accept_rule(said["score_direction"]),
        weighted=scored.weight is not None,
        undefined={name: reason for name, reason in undefined.items() if filled[name] is None},
        **said,
    )


def budget_message(n_unsupported: int, budget: float | None, confidence_level: float = 0.95) -> list[str]:
    """Return what to say where there are too few unsupported rows to certify a budget at all."""
    if budget is None or not 0 < budget < 1:
        return []
    needed = required_unsupported(budget, confidence_level=confidence_level)
    if n_unsupported >= needed:
        return []
    return [
        f"{n_unsupported:,} unsupported rows cannot certify a false acceptance rate of {budget:g}: even without a"
        f" single false acceptance it takes {needed:,}; label more, or read the upper bound and not the rate"
    ]


def _sample_messages(scored: Scored, accepted: BoolArray, tau: float, budget: float | None) -> list[str]:
    if tau == -np.inf:
        return []
    out = budget_message(int(scored.unsupported.sum()), budget)
    if not accepted.any():
        out.append(
            "no labelled row is accepted at this threshold: if only flagged answers were labelled, the false acceptance"
            " rate of 0 says nothing (labelled='flagged')"
        )
    return out


def _exact(k: int, n: int) -> float | None:
    return binomial_interval(k, n, alternative="less").high
