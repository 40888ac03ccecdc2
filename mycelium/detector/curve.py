"""What every threshold would do: one row for each distinct score."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.binomial import accepted_bounds, rate_interval
from mycelium.detector.decisions import accept_rule, labels_warning, narrowed, read_decisions, say
from mycelium.detector.inputs import Scored
from mycelium.draws import check_level
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = ["OperatingCurve", "operating_curve"]


@dataclass(frozen=True, eq=False)
class OperatingCurve:
    """Rates at every distinct score, from the safest threshold to the riskiest.

    Attributes
    ----------
    threshold : float64 array of shape (t,)
        The distinct finite scores, as given; row i is about accepting everything up to and including ``threshold[i]``.
    n_false_accepts, n_supported_accepted : int64 arrays of shape (t,)
        Accepted rows of each class.
    far, sar : float64 arrays of shape (t,), or None
        Shares of unsupported and of supported rows that are accepted; None without rows of the class.
    far_upper : float64 array of shape (t,)
        One-sided upper bound of the false acceptance rate, never falling. Each holds at its level by itself.
    acceptance_rate : float64 array of shape (t,)
        Share of all rows that are accepted.
    n_unsupported, n_supported : int
        Rows of each class.
    n_groups_unsupported : int or None
        Groups with an unsupported row; None without groups.
    confidence_level : float
        Level of ``far_upper``.
    method : str
        "clopper-pearson", or "korn-graubard" for rows in groups or with weights.
    score_direction, accept_rule : str
        Which scores are riskier, and the rule in words.
    """

    threshold: FloatArray
    n_false_accepts: IntArray
    n_supported_accepted: IntArray
    far: FloatArray | None
    far_upper: FloatArray
    sar: FloatArray | None
    acceptance_rate: FloatArray
    n_unsupported: int
    n_supported: int
    n_groups_unsupported: int | None
    confidence_level: float
    method: str
    score_direction: str = "higher_is_riskier"
    accept_rule: str = "score <= threshold"

    def __len__(self) -> int:
        return len(self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict, arrays as lists."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        out = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
        out["undefined"] = {
            name: f"there are no {kind} rows"
            for name, kind in (("far", "unsupported"), ("sar", "supported"))
            if out[name] is None
        }
        return out


def operating_curve(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
    confidence_level: float = 0.95,
    labelled: str = "all",
) -> OperatingCurve:
    """Return what accepting everything up to each distinct score would do.

    Parameters
    ----------
    y_true : sequence of length n
        Labels, 1 for unsupported; see :func:`mycelium.detector.inputs.as_labels`.
    y_score : sequence of length n
        Scores. Those of -inf count as the smallest number; those of +inf are never accepted.
    groups : sequence of length n, optional
        What depends on each other; the bound is then Korn and Graubard's, as running maximum, and approximate.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for. Counts stay counts of rows.
    pos_label : hashable, optional
        The label of unsupported rows.
    nan_policy : {"raise", "omit", "reject"}
        What becomes of rows without a score; "reject" counts them and never accepts them.
    score_direction : {"higher_is_riskier", "lower_is_riskier"}
        For the second, thresholds come in the scale given, to be accepted from there upwards.
    confidence_level : float
        Level of the one-sided bound.
    labelled : {"all", "flagged"}
        "flagged" where only answers that a detector in use had flagged were labelled, which is warned of.

    Raises
    ------
    TypeError, ValueError
        For input that cannot be used; the message names the argument and the row.

    Examples
    --------
    >>> curve = operating_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.threshold.tolist(), curve.far.tolist(), curve.sar.tolist()
    ([0.1, 0.4, 0.8], [0.0, 0.5, 1.0], [0.5, 1.0, 1.0])
    """
    say(labels_warning(labelled))
    scored = read_decisions(
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
        score_direction=score_direction,
    )
    return curve_of(scored, check_level(confidence_level, "confidence_level"), score_direction)


def curve_of(scored: Scored, level: float, score_direction: str = "higher_is_riskier") -> OperatingCurve:
    """Return the curve of rows that were read."""
    finite = np.isfinite(scored.score)
    tau = np.unique(scored.score[finite])
    risky, safe = (narrowed(scored, mask) for mask in (scored.unsupported, ~scored.unsupported))
    k, far = _accepted(risky, tau)
    s, sar = _accepted(safe, tau)
    _, everything = _accepted(scored, tau)
    plain = scored.weight is None and scored.units.keys is None
    return OperatingCurve(
        threshold=(-tau if score_direction == "lower_is_riskier" else tau) + 0.0,
        n_false_accepts=k,
        n_supported_accepted=s,
        far=far if len(risky) else None,
        far_upper=upper_bounds(risky, tau, level),
        sar=sar if len(safe) else None,
        acceptance_rate=everything,
        n_unsupported=len(risky),
        n_supported=len(safe),
        n_groups_unsupported=None if scored.units.keys is None else len(np.unique(risky.units.index)),
        confidence_level=level,
        method="clopper-pearson" if plain else "korn-graubard",
        score_direction=score_direction,
        accept_rule=accept_rule(score_direction),
    )


def upper_bounds(unsupported: Scored, tau: FloatArray, level: float) -> FloatArray:
    """Return the bound (t,) of the share of unsupported rows accepted at ascending thresholds; it never falls."""
    if not len(unsupported):
        return np.ones(len(tau))
    nothing: BoolArray = np.zeros(len(unsupported), dtype=np.bool_)
    at_zero = rate_interval(
        nothing, unsupported.units, unsupported.weight, alternative="less", confidence_level=level
    ).high
    bounds = accepted_bounds(unsupported.score, unsupported.units, unsupported.weight, confidence_level=level)
    floor = 1.0 if at_zero is None else at_zero
    place = np.searchsorted(bounds.threshold, tau, side="right")
    return np.asarray(np.append(floor, np.maximum(bounds.upper, floor))[place])


def _accepted(rows: Scored, tau: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many rows, and which share of them, have a score up to each threshold."""
    order = np.argsort(rows.score, kind="stable")
    count = np.searchsorted(rows.score[order], tau, side="right").astype(np.int64)
    if not len(rows):
        return count, np.zeros(len(tau))
    if rows.weight is None:
        return count, count / len(rows)
    sums = np.append(0.0, np.cumsum(rows.weight[order]))
    return count, sums[count] / sums[-1]
