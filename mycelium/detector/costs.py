"""What decisions cost, by the share of all answers that each kind of mistake has."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.detector.decisions import share
from mycelium.detector.inputs import as_labels, as_weights
from mycelium.detector.points import NO_SUPPORTED, NO_UNSUPPORTED
from mycelium.detector.prevalence import check_prevalence
from mycelium.spans import BoolArray, FloatArray

__all__ = ["DECISIONS", "CostVector", "ExpectedCost", "expected_cost", "joint_shares"]

DECISIONS = ("accept", "review", "reject")


@dataclass(frozen=True)
class CostVector:
    """What decisions cost, in one unit of money or of anything else.

    Attributes
    ----------
    false_accept, false_reject : float
        Of accepting what is not admissible, and of rejecting what is.
    review : float
        Of each answer that a person looks at.
    compute : float
        Of each answer, whatever becomes of it.
    """

    false_accept: float
    false_reject: float
    review: float = 0.0
    compute: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise TypeError(f"{name} must be a number, got {value!r} ({type(value).__name__})")
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number from 0 on, got {value!r}")

    def to_dict(self) -> dict[str, float]:
        """Return the fields as a dict."""
        return {name: float(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class ExpectedCost:
    """What an answer costs on average.

    Attributes
    ----------
    cost : float or None
        false_accept * P(false accept) + false_reject * P(false reject) + review * P(review) + compute.
    p_false_accept, p_false_reject, p_review : float or None
        Shares of *all* answers, not of a class.
    costs : CostVector
        As given.
    prevalence : float or None
        The share of unsupported answers that classes were weighted to; None where it is that of the rows.
    n : int
        Rows.
    undefined : dict
        Why a field is None.
    """

    cost: float | None
    p_false_accept: float | None
    p_false_reject: float | None
    p_review: float | None
    costs: CostVector
    prevalence: float | None
    n: int
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return out | {"costs": self.costs.to_dict(), "undefined": dict(self.undefined)}


def expected_cost(
    y_true: Any,
    decisions: Any,
    *,
    costs: CostVector,
    prevalence: float | None = None,
    admissible: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
) -> ExpectedCost:
    """Return what an answer costs on average.

    Parameters
    ----------
    y_true : sequence of length n
        Labels, 1 for unsupported.
    decisions : sequence of str of length n
        "accept", "review" or "reject", as :func:`route` gives them.
    costs : CostVector
        What they cost.
    prevalence : float, optional
        Share of unsupported answers in use; rows of each class are then weighted to it.
    admissible : sequence of bool of length n, optional
        Whether the answer may go out, where that is not the same as being supported.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for.
    pos_label : hashable, optional
        The label of unsupported rows.

    Notes
    -----
    Costs meet *joint* events, P(unsupported and accepted), which fall with prevalence, and not FAR, which does not.
    Which of two policies is cheaper may therefore change with prevalence.

    Examples
    --------
    >>> costs = CostVector(false_accept=10, false_reject=1, review=0.5, compute=0.01)
    >>> expected_cost([1, 1, 0, 0], ["accept", "reject", "review", "accept"], costs=costs).cost
    2.635
    """
    if not isinstance(costs, CostVector):
        raise TypeError(f"costs must be a CostVector, got {type(costs).__name__}")
    unsupported = as_labels(y_true, pos_label=pos_label)
    if not len(unsupported):
        raise ValueError("y_true has no rows")
    values = np.asarray(decisions.to_pylist() if hasattr(decisions, "to_pylist") else list(decisions))
    if values.shape != unsupported.shape:
        raise ValueError(f"decisions has shape {values.shape}, expected one for each of the {len(unsupported)} rows")
    bad = np.flatnonzero(~np.isin(values, DECISIONS))
    if len(bad):
        raise ValueError(
            f"decisions: row {bad[0]} is {values.tolist()[bad[0]]!r}, expected 'accept', 'review' or 'reject'"
        )
    wrong = unsupported if admissible is None else ~as_labels(admissible, name="admissible")
    if len(wrong) != len(unsupported):
        raise ValueError(f"admissible has {len(wrong)} values, expected one for each of the {len(unsupported)} rows")
    weight = as_weights(sample_weight, len(unsupported))
    shares, undefined = joint_shares(values, unsupported, wrong, weight, prevalence)
    a, r, v = shares["p_false_accept"], shares["p_false_reject"], shares["review_rate"]
    cost = None
    if a is not None and r is not None and v is not None:
        cost = float(costs.false_accept * a + costs.false_reject * r + costs.review * v + costs.compute)
    names = {"p_false_accept": "p_false_accept", "p_false_reject": "p_false_reject", "review_rate": "p_review"}
    reasons = {names[name]: reason for name, reason in undefined.items() if name in names}
    if reasons:
        reasons["cost"] = next(iter(reasons.values()))
    return ExpectedCost(cost, a, r, v, costs, prevalence, len(unsupported), reasons)


def joint_shares(
    decided: NDArray[np.str_],
    unsupported: BoolArray,
    wrong: BoolArray,
    weight: FloatArray | None,
    prevalence: float | None,
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return shares of all answers, weighted to a prevalence, and why they are None where a class has no rows."""
    events = {
        "accept_rate": decided == "accept",
        "review_rate": decided == "review",
        "reject_rate": decided == "reject",
        "p_false_accept": (decided == "accept") & wrong,
        "p_false_reject": (decided == "reject") & ~wrong,
    }
    if prevalence is None:
        return {name: share(event, weight) for name, event in events.items()}, {}
    p = check_prevalence(prevalence)
    by_class = []
    for rows, reason in ((unsupported, NO_UNSUPPORTED), (~unsupported, NO_SUPPORTED)):
        w = None if weight is None else weight[rows]
        if not rows.any() or (w is not None and not w.any()):
            return dict.fromkeys(events), dict.fromkeys(events, reason)
        by_class.append({name: share(event[rows], w) or 0.0 for name, event in events.items()})
    return {name: p * by_class[0][name] + (1 - p) * by_class[1][name] for name in events}, {}
