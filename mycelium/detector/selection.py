"""A threshold that was chosen from a budget, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.decisions import as_threshold
from mycelium.detector.inputs import as_scores
from mycelium.spans import BoolArray

__all__ = ["ThresholdSelection", "inside_threshold"]


@dataclass(frozen=True)
class ThresholdSelection:
    """A threshold chosen on calibration rows.

    Attributes
    ----------
    threshold : float or None
        In the scale of the scores as given. Accept an answer iff it is on the safe side of this or equal to it. None
        where nothing may be accepted. The largest finite number where everything may be.
    cutoff : float or None
        Accept an answer iff it is strictly on the safe side of this: the same calibration rows, and new ones between
        ``threshold`` and ``cutoff`` too. None where nothing, or everything, may be accepted.
    accept_all : bool
        Whether every answer that has a score may be accepted.
    feasible : bool
        Whether there is such a threshold; if not, ``reason`` says why and nothing is to be accepted.
    rule : str
        "empirical", "upper_bound", "crc" or "crc_joint".
    max_far : float
        The budget.
    confidence_level : float or None
        Level of the bound of "upper_bound"; None for the other rules.
    cal_far, cal_sar : float or None
        Shares of unsupported and of supported calibration rows accepted at ``threshold``; None without such rows.
    bound : float or None
        What the rule compares with the budget, at ``threshold`` (at ``cutoff`` for the conformal rules), or at a
        threshold that accepts nothing where that is too much already. None where it is not defined.
    controls : str
        What is held within the budget, and in which sense.
    approximate : bool
        Whether the guarantee holds approximately only: bounds of grouped or weighted rows.
    n, n_unsupported, n_supported, n_accepted_unsupported : int
        Calibration rows.
    n_groups_unsupported : int or None
        Groups with an unsupported calibration row; None without groups.
    n_unscored : int
        Calibration rows without a score.
    next_score : float or None
        The least risky unsupported calibration score beyond the threshold; None if there is none.
    score_direction, accept_rule : str
        Which scores are riskier, and the rule in words.
    weighted : bool
        Whether rows had weights.
    digest : str
        Of the labels and scores of the calibration rows, in any order.
    id_digest : str or None
        Of their ids, if they were given.
    reason : str or None
        Why there is no feasible threshold.
    warnings : tuple of str
        What was warned of.
    """

    threshold: float | None
    cutoff: float | None
    accept_all: bool
    feasible: bool
    rule: str
    max_far: float
    confidence_level: float | None
    cal_far: float | None
    cal_sar: float | None
    bound: float | None
    controls: str
    approximate: bool
    n: int
    n_unsupported: int
    n_supported: int
    n_accepted_unsupported: int
    n_groups_unsupported: int | None
    n_unscored: int
    next_score: float | None
    score_direction: str
    accept_rule: str
    weighted: bool
    digest: str
    id_digest: str | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def strict_threshold(self) -> float | None:
        """The last number on the safe side of ``cutoff``: ``score <= strict_threshold`` iff ``score < cutoff``."""
        if self.cutoff is None:
            return self.threshold
        toward = -np.inf if self.score_direction == "higher_is_riskier" else np.inf
        return float(np.nextafter(self.cutoff, toward))

    def accepts(self, y_score: Any) -> BoolArray:
        """Return which answers are accepted, given their scores (n,); one without a score (NaN, None) is not."""
        score = as_scores(y_score)
        if self.score_direction == "lower_is_riskier":
            score = -score
        within = score <= as_threshold(self.threshold, self.score_direction)
        return np.asarray(within & (self.threshold is not None))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"warnings": list(self.warnings)}

    def is_of(self, digest: str, id_digest: str | None) -> bool:
        """Return whether it was chosen on the rows with these digests; ids decide where both have them."""
        return digest == self.digest if None in (self.id_digest, id_digest) else id_digest == self.id_digest

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> ThresholdSelection:
        """Return the selection that :meth:`to_dict` made these fields of, also when they went through JSON."""
        return cls(**{**fields, "warnings": tuple(fields.get("warnings", ()))})


def inside_threshold(threshold: Any, score_direction: str, *, name: str = "threshold") -> float:
    """Return a threshold, or that of a selection, in the scale used inside; -inf where nothing is accepted.

    Raises
    ------
    TypeError, ValueError
        When it is not a number, or was chosen for scores of the other direction.
    """
    if isinstance(threshold, ThresholdSelection):
        if threshold.score_direction != score_direction:
            raise ValueError(
                f"{name} was chosen for scores with score_direction={threshold.score_direction!r}, and these are said"
                f" to be {score_direction!r}"
            )
        threshold = threshold.threshold
    return as_threshold(threshold, score_direction, name=name)
