"""Average precision: at the share of unsupported answers that the data have, or at another."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from mycelium.detector.kernels import Sorted
from mycelium.detector.ranked import read_ranked
from mycelium.draws import check_level

__all__ = ["AveragePrecision", "average_precision", "average_precision_at_prevalence_score"]


@dataclass(frozen=True)
class AveragePrecision:
    """Average precision, beside what a score that knows nothing has.

    Attributes
    ----------
    estimate : float or None
        Mean precision over the unsupported answers, each at its own score and without interpolation; answers with one
        score are flagged together.
    baseline : float or None
        The share of unsupported answers, which is what a constant score has; ``prevalence`` where that was given.
    prevalence : float or None
        The share that the estimate is shifted to; None where it is that of the data.
    n_unsupported, n_supported : int
        Answers of each class that count.
    n_unscored : int
        Answers without a score, left out or ranked riskiest.
    weighted : bool
        Whether answers have weights.
    undefined : dict
        Why a field is None where it was asked for.
    """

    estimate: float | None
    baseline: float | None
    prevalence: float | None
    n_unsupported: int
    n_supported: int
    n_unscored: int
    weighted: bool
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{item.name: getattr(self, item.name) for item in fields(self)}, "undefined": dict(self.undefined)}


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    prevalence: float | None = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> AveragePrecision:
    """Return the average precision of a score.

    Its interval comes from :func:`bootstrap_interval`, which takes groups.

    Parameters
    ----------
    y_true : sequence of length n
        Whether answer i is unsupported: booleans, 0 and 1, or "unsupported" and "supported".
    y_score : sequence of float of length n
        Its score; higher is riskier. Infinite ones are ranked.
    prevalence : float, optional
        The share of unsupported answers to expect in use: both classes are weighed so that it is the share here.
    sample_weight : sequence of float of length n, optional
        How many answers of the population each stands for.
    pos_label : hashable, optional
        The label of unsupported answers where it is not plain.
    nan_policy : {"raise", "omit", "reject"}
        Answers without a score are an error, left out, or ranked riskiest of all.

    Returns
    -------
    AveragePrecision
        The estimate is undefined, not 0, where no answer is unsupported; with ``prevalence`` also where none is
        supported.

    Raises
    ------
    TypeError, ValueError
        When a value cannot be used.

    Examples
    --------
    >>> found = average_precision([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.1])
    >>> round(found.estimate, 4), found.baseline
    (0.8333, 0.5)
    >>> average_precision([0, 0], [0.9, 0.7]).undefined["estimate"]
    'there are no unsupported answers'
    """
    if prevalence is not None:
        prevalence = check_level(prevalence, "prevalence")
    ranked = read_ranked(
        y_true, (y_score,), ("y_score",), sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    ).with_weight()
    reason = ranked.lacks()
    estimate: float | None = None
    if not ranked.n_supported and prevalence is None:
        # Whatever is flagged is unsupported.
        estimate, reason = 1.0, ""
    elif not reason:
        answers = Sorted(ranked.unsupported, ranked.scores[0], ranked.units, ranked.weight)
        estimate = answers.average_precision(np.ones(len(ranked.units)), prevalence)
    weight = np.ones(len(ranked.unsupported)) if ranked.weight is None else ranked.weight
    share = float(weight[ranked.unsupported].sum() / weight.sum())
    return AveragePrecision(
        estimate=estimate,
        baseline=share if prevalence is None else prevalence,
        prevalence=prevalence,
        n_unsupported=ranked.n_unsupported,
        n_supported=ranked.n_supported,
        n_unscored=ranked.n_unscored[0],
        weighted=ranked.weight is not None,
        undefined={"estimate": reason} if reason else {},
    )


def average_precision_at_prevalence_score(
    y_true: Any,
    y_score: Any,
    *,
    prevalence: float,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> float | None:
    """Return the average precision that a score would have if this share of answers were unsupported.

    Parameters and errors are those of :func:`average_precision`, of which this is the estimate alone: None where a
    class has no answers.

    Examples
    --------
    >>> y_true, y_score = [1, 0, 1, 0], [0.9, 0.7, 0.6, 0.1]
    >>> [round(average_precision_at_prevalence_score(y_true, y_score, prevalence=p), 4) for p in (0.5, 0.05, 0.01)]
    [0.8333, 0.5476, 0.5099]
    """
    found = average_precision(
        y_true,
        y_score,
        prevalence=check_level(prevalence, "prevalence"),
        sample_weight=sample_weight,
        pos_label=pos_label,
        nan_policy=nan_policy,
    )
    return found.estimate
