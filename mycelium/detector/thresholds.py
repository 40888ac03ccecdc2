"""Choosing a threshold from a budget of false acceptances, on calibration rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mycelium.detector.curve import curve_of, upper_bounds
from mycelium.detector.decisions import (
    LARGEST,
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
from mycelium.detector.points import NO_UNSUPPORTED, budget_message
from mycelium.detector.selection import ThresholdSelection
from mycelium.draws import check_level
from mycelium.spans import FloatArray

__all__ = ["RULES", "select_threshold"]

RULES = ("empirical", "upper_bound", "crc", "crc_joint")
#: Sums of shares and of weights may miss the budget by rounding only.
SLACK = 1e-12


class Chosen(NamedTuple):
    """A threshold and a cutoff (inside, -inf and None where nothing is accepted), the bound, and why there is none."""

    threshold: float
    bound: float | None
    cutoff: float | None = None
    reason: str | None = None


def select_threshold(
    y_true: Any,
    y_score: Any,
    *,
    max_far: float,
    rule: str = "empirical",
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
    confidence_level: float = 0.95,
    labelled: str = "all",
    row_ids: Any = None,
) -> ThresholdSelection:
    """Choose the most permissive threshold whose false acceptances stay within a budget.

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores of calibration rows.
    max_far : float
        The budget, from 0 to 1.
    rule : {"empirical", "upper_bound", "crc", "crc_joint"}
        "empirical": the largest calibration score at which FAR on these rows is at most the budget. It guarantees
        nothing: the next rows exceed the budget about as often as not.

        "upper_bound": the largest at which the one-sided upper bound of FAR is. With probability ``confidence_level``
        over calibration sets the FAR of the threshold is within the budget. No correction for the many thresholds is
        due: FAR cannot fall as thresholds rise, and the scan stops at the first that fails.

        "crc" (conformal risk control): accept below the j-th smallest unsupported score, for the largest j with
        j / (n + 1) <= budget. FAR is within the budget *on average* over calibration sets, not for each of them.

        "crc_joint": the same for the share of *all* answers that are unsupported and accepted, over all rows.
    groups : sequence of length n, optional
        What depends on each other. The bound of "upper_bound" is then Korn and Graubard's, its running maximum over
        smaller thresholds: approximate. For the conformal rules groups are what is exchangeable, and the average over
        groups of the share accepted in each is what is controlled.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for. The conformal rules suppose that a new answer stands
        for no more than the heaviest row.
    pos_label, nan_policy, score_direction, labelled
        As in :func:`mycelium.detector.points.evaluate_operating_point`.
    confidence_level : float
        For "upper_bound".
    row_ids : sequence of length n, optional
        What identifies each row. Without ids rows are recognised, when the threshold is evaluated, by their labels and
        scores.

    Returns
    -------
    ThresholdSelection
        ``feasible`` is False where even the safest calibration score is too much; nothing is to be accepted then.

    Warns
    -----
    UserWarning
        When there are fewer unsupported rows than it takes to certify the budget, or only flagged rows are labelled.

    Raises
    ------
    TypeError, ValueError
        For input that cannot be used; the message names the argument and the row.

    References
    ----------
    Bates et al., "Distribution-free, risk-controlling prediction sets", 2021. Angelopoulos et al., "Conformal risk
    control", 2024, whose theorem needs a loss that is continuous from the right; accepting strictly below the cutoff
    makes it so, accepting the cutoff itself would not.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # 19 rows are few
    ...     chosen = select_threshold([1] * 19, range(1, 20), max_far=0.1, rule="crc")
    >>> chosen.cutoff, chosen.threshold, chosen.n_accepted_unsupported
    (2.0, 1.0, 1)
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    level = check_level(confidence_level, "confidence_level")
    budget = check_budget(max_far)
    scored = read_decisions(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
        score_direction=score_direction,
    )
    messages = labels_warning(labelled) + budget_message(int(scored.unsupported.sum()), budget, level)
    ids = digest_of_ids(row_ids, len(as_scores(y_score)))
    return selection_of(scored, budget, rule, level, score_direction, say(messages), ids)


def check_budget(max_far: Any) -> float:
    """Return a budget from 0 to 1, or raise a TypeError or ValueError."""
    if isinstance(max_far, bool) or not isinstance(max_far, (int, float, np.integer, np.floating)):
        raise TypeError(f"max_far must be a number from 0 to 1, got {max_far!r} ({type(max_far).__name__})")
    if not 0 <= max_far <= 1:
        raise ValueError(f"max_far must lie between 0 and 1, got {max_far!r}")
    return float(max_far)


def selection_of(
    scored: Scored,
    budget: float,
    rule: str,
    level: float,
    score_direction: str,
    warned: tuple[str, ...] = (),
    id_digest: str | None = None,
) -> ThresholdSelection:
    """Return the selection of rows that were read."""
    if rule in ("empirical", "upper_bound"):
        chosen = _scan(scored, budget, rule, level)
    else:
        chosen = _conformal(scored, budget, joint=rule == "crc_joint")
    tau = chosen.threshold
    accepted = scored.score <= tau
    k, s = accepted[scored.unsupported], accepted[~scored.unsupported]
    weights = (None, None) if scored.weight is None else (scored.weight[scored.unsupported],)
    ahead = scored.score[scored.unsupported & (scored.score > tau) & np.isfinite(scored.score)]
    following = float(ahead.min()) if len(ahead) else None
    grouped = scored.units.keys is not None
    cutoff = chosen.cutoff if chosen.cutoff is not None else following
    feasible = tau > -np.inf
    return ThresholdSelection(
        threshold=outside(tau, score_direction),
        cutoff=outside(cutoff, score_direction) if feasible else None,
        accept_all=tau == LARGEST,
        feasible=feasible,
        rule=rule,
        max_far=budget,
        confidence_level=level if rule == "upper_bound" else None,
        cal_far=share(k, weights[0]),
        cal_sar=share(s, None if scored.weight is None else scored.weight[~scored.unsupported]),
        bound=chosen.bound,
        controls=_controls(rule, grouped, level),
        approximate=rule == "upper_bound" and (grouped or scored.weight is not None),
        n=len(scored),
        n_unsupported=len(k),
        n_supported=len(s),
        n_accepted_unsupported=int(k.sum()),
        n_groups_unsupported=len(np.unique(scored.units.index[scored.unsupported])) if grouped else None,
        n_unscored=scored.n_unscored,
        next_score=outside(following, score_direction),
        score_direction=score_direction,
        accept_rule=accept_rule(score_direction),
        weighted=scored.weight is not None,
        digest=digest_of(scored),
        id_digest=id_digest,
        reason=chosen.reason,
        warnings=warned,
    )


# -- the rules


def _scan(scored: Scored, budget: float, rule: str, level: float) -> Chosen:
    """Return the largest calibration score whose rate, or bound, is within the budget; neither ever falls."""
    curve = curve_of(scored, level)
    what, slack = "upper bound", 0.0
    if rule == "empirical":
        if curve.far is None:
            return Chosen(-np.inf, None, reason=NO_UNSUPPORTED)
        value, nothing = curve.far, 0.0
        what, slack = "false acceptance rate", 0.0 if scored.weight is None else SLACK
    else:
        value = curve.far_upper
        nothing = float(upper_bounds(narrowed(scored, scored.unsupported), np.array([-np.inf]), level)[0])
    within = int(np.searchsorted(value, budget + slack, side="right"))
    if within == len(value) and within:
        return Chosen(LARGEST, float(value[-1]))
    if within:
        return Chosen(float(curve.threshold[within - 1]), float(value[within - 1]))
    if nothing > budget:
        return Chosen(-np.inf, nothing, reason=f"the {what} is {nothing:.4g} even where nothing is accepted")
    first = f"at the safest calibration score the {what} is {value[0]:.4g}" if len(value) else "no row has a score"
    return Chosen(-np.inf, nothing, reason=first)


def _conformal(scored: Scored, budget: float, *, joint: bool) -> Chosen:
    """Return the cutoff of conformal risk control: the largest whose (lost below + 1) / (n + 1) is in budget."""
    lost, total, new = _losses(scored, joint=joint)
    score = scored.score[scored.unsupported]
    order = np.argsort(score, kind="stable")
    cutoffs, first = np.unique(score[order], return_index=True)
    # What is lost by accepting strictly below each cutoff, and by accepting everything.
    below = np.append(0.0, np.cumsum(lost[order]))[np.append(first, len(score))]
    value = (below + new) / (total + new) if total + new else np.ones(len(below))
    whole = scored.weight is None and scored.units.keys is None
    within = int(np.searchsorted(value, budget if whole else budget + SLACK, side="right"))
    if not within:
        what = "groups" if scored.units.keys is not None else "rows" if scored.weight is None else "weight"
        kind = "calibration" if joint else "unsupported calibration"
        reason = f"{total:g} {kind} {what} allow no budget below {value[0]:.4g}"
        return Chosen(-np.inf, float(value[0]), reason=reason)
    if within == len(value) or cutoffs[within - 1] == np.inf:
        return Chosen(LARGEST, float(value[within - 1]))
    cutoff = float(cutoffs[within - 1])
    observed = scored.score[scored.score < cutoff]
    # Without a calibration score below it, whatever is smaller than the cutoff may be accepted all the same.
    tau = float(observed.max()) if len(observed) else float(np.nextafter(cutoff, -np.inf))
    if tau == -np.inf:
        return Chosen(tau, float(value[within - 1]), reason="the cutoff is -inf")
    return Chosen(tau, float(value[within - 1]), cutoff)


def _losses(scored: Scored, *, joint: bool) -> tuple[FloatArray, float, float]:
    """Return what accepting each unsupported row loses, the loss there is in all, and the most a new unit may add."""
    weight = np.ones(len(scored)) if scored.weight is None else scored.weight
    counted = np.ones(len(scored), dtype=np.bool_) if joint else scored.unsupported
    if scored.units.keys is None:
        mass = weight[counted]
        return weight[scored.unsupported], float(mass.sum()), float(mass.max(initial=0.0 if len(mass) else 1.0))
    size = np.bincount(scored.units.index[counted], weight[counted], len(scored.units))
    shares = weight[scored.unsupported] / size[scored.units.index[scored.unsupported]]
    return shares, float(np.count_nonzero(size)), 1.0


def _controls(rule: str, grouped: bool, level: float) -> str:
    """Return what a rule holds within the budget."""
    unit = "the average over groups of " if grouped else ""
    return {
        "empirical": "the false acceptance rate on the calibration rows themselves; nothing on new ones",
        "upper_bound": f"the false acceptance rate, for {level:.4g} of calibration sets",
        "crc": f"{unit}the false acceptance rate, on average over calibration sets",
        "crc_joint": f"{unit}the share of all answers that are unsupported and accepted, on average over calibration"
        " sets",
    }[rule]
