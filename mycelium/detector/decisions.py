"""The door of everything that decides by a threshold: direction, infinite scores, and which rows a decision rests on.

Inside, a higher score is always riskier and an answer is accepted iff ``score <= threshold``. Thresholds go out, and
come in, in the scale of the caller.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from mycelium.detector.inputs import Scored, as_scores, read_scored
from mycelium.draws import Units, units_of
from mycelium.spans import BoolArray, FloatArray

__all__ = [
    "DIRECTIONS",
    "LABELLED",
    "LARGEST",
    "accept_rule",
    "as_threshold",
    "digest_of",
    "digest_of_ids",
    "labels_warning",
    "narrowed",
    "outside",
    "read_decisions",
    "say",
]

DIRECTIONS = ("higher_is_riskier", "lower_is_riskier")
#: Where labels come from: any answer could be labelled, or only those that a detector in use had flagged.
LABELLED = ("all", "flagged")
#: A threshold that accepts every finite score. Infinity itself has no place in JSON.
LARGEST = sys.float_info.max


def read_decisions(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
) -> Scored:
    """Read labels and scores to decide on: higher is riskier in what is returned, and -inf is a finite number.

    A score of +inf is never accepted, whatever the threshold; rows of weight 0 do not count and are left out.

    Raises
    ------
    TypeError, ValueError
        As :func:`mycelium.detector.inputs.read_scored`, and for an unknown direction.

    Examples
    --------
    >>> read_decisions([1, 0], [0.2, 0.9], score_direction="lower_is_riskier").score.tolist()
    [-0.2, -0.9]
    """
    check_direction(score_direction)
    score = as_scores(y_score)
    if score_direction == "lower_is_riskier":
        score = -score + 0.0
    read = read_scored(
        y_true, score, groups=groups, sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    )
    read = Scored(read.unsupported, np.maximum(read.score, -LARGEST), read.units, read.weight, read.n_unscored)
    return read if read.weight is None or read.weight.all() else narrowed(read, read.weight > 0)


def narrowed(scored: Scored, rows: BoolArray) -> Scored:
    """Return the rows of a mask; they keep their units."""
    units = Units(scored.units.index[rows], scored.units.size, scored.units.keys)
    weight = None if scored.weight is None else scored.weight[rows]
    return Scored(scored.unsupported[rows], scored.score[rows], units, weight, scored.n_unscored)


def check_direction(score_direction: str) -> None:
    """Raise a ValueError for an unknown direction."""
    if score_direction not in DIRECTIONS:
        raise ValueError(f"score_direction must be {' or '.join(map(repr, DIRECTIONS))}, got {score_direction!r}")


def as_threshold(threshold: Any, score_direction: str, *, name: str = "threshold") -> float:
    """Return a threshold in the scale used inside; None, which accepts nothing, becomes -inf.

    Raises
    ------
    TypeError, ValueError
        When it is not a number.
    """
    check_direction(score_direction)
    if threshold is None:
        return -np.inf
    if isinstance(threshold, (bool, np.bool_)) or not isinstance(threshold, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, got {threshold!r} ({type(threshold).__name__})")
    value = float(threshold)
    if value != value:
        raise ValueError(f"{name} is NaN, expected a number; None accepts nothing")
    return min(-value if score_direction == "lower_is_riskier" else value, LARGEST)


def outside(value: float | None, score_direction: str) -> float | None:
    """Return a score in the scale of the caller; None where it is not finite."""
    if value is None or not np.isfinite(value):
        return None
    return (-value if score_direction == "lower_is_riskier" else value) + 0.0


def accept_rule(score_direction: str) -> str:
    """Return the rule in words: "score <= threshold" or "score >= threshold"."""
    return f"score {'<=' if score_direction == 'higher_is_riskier' else '>='} threshold"


def digest_of(scored: Scored) -> str:
    """Return a digest of labels and scores that does not depend on the order of rows, nor on weights or groups."""
    order = np.lexsort((scored.unsupported, scored.score))
    table = np.stack([scored.score[order], scored.unsupported[order].astype(np.float64)])
    return "sha256:" + hashlib.sha256(table.astype("<f8").tobytes()).hexdigest()


def digest_of_ids(row_ids: Any, rows: int) -> str | None:
    """Return a digest of the ids of rows, in any order; None without ids.

    Raises
    ------
    TypeError, ValueError
        When there is not one id for each row, one is missing, or two rows have the same.
    """
    units = units_of(row_ids, rows, name="row_ids")
    if units.keys is None:
        return None
    if len(units.keys) < rows:
        count = np.bincount(units.index)
        row = int(np.flatnonzero(count[units.index] > 1)[1])
        raise ValueError(f"row_ids: row {row} is {units.keys[units.index[row]]!r}, as is an earlier one")
    return "sha256:" + hashlib.sha256("\n".join(sorted(map(repr, units.keys))).encode()).hexdigest()


def labels_warning(labelled: str) -> list[str]:
    """Return what to say about rates where only flagged rows have labels.

    Raises
    ------
    ValueError
        For an unknown value.
    """
    if labelled not in LABELLED:
        raise ValueError(f"labelled must be {' or '.join(map(repr, LABELLED))}, got {labelled!r}")
    if labelled == "all":
        return []
    return [
        "only flagged answers have labels: unsupported answers that were accepted are not among them, so the false"
        " acceptance rate is too low and no bound holds; label a random sample of accepted answers too, and give each"
        " row the number of answers it stands for as sample_weight"
    ]


def say(messages: list[str], stacklevel: int = 3) -> tuple[str, ...]:
    """Warn of each message and return them all."""
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=stacklevel)
    return tuple(messages)


def share(event: BoolArray, weight: FloatArray | None) -> float | None:
    """Return the share of rows where something happened; None without rows."""
    if not len(event):
        return None
    if weight is None:
        return int(event.sum()) / len(event)
    # Ones, so that all of the rows are exactly 1.
    return 1.0 if event.all() else float((weight * event).sum() / weight.sum())
