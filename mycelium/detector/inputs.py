"""What every function of the detector half reads: labels, scores, groups, weights, checked once.

The orientation is fixed. Positive (True) means *unsupported*, a higher score means riskier, and an answer is accepted
iff ``score <= threshold``. Scores become float64 before anything is compared.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.draws import Units, units_of
from mycelium.spans import BoolArray, FloatArray

__all__ = ["NAN_POLICIES", "Scored", "as_labels", "as_scores", "as_weights", "read_scored"]

#: What happens to answers whose score is NaN: an error, left out, or counted and never accepted (ranked at +inf).
NAN_POLICIES = ("raise", "omit", "reject")


@dataclass(frozen=True, eq=False, slots=True)
class Scored:
    """Scored answers.

    Attributes
    ----------
    unsupported : bool array of shape (n,)
        Whether answer i is unsupported.
    score : float64 array of shape (n,)
        Its score; +inf where it had none under the policy "reject".
    units : Units
        Which answers depend on each other.
    weight : float64 array of shape (n,), or None
        How many answers of the population each stands for.
    n_unscored : int
        Answers without a score: left out ("omit") or ranked at +inf ("reject").
    """

    unsupported: BoolArray
    score: FloatArray
    units: Units
    weight: FloatArray | None = None
    n_unscored: int = 0

    def __len__(self) -> int:
        return len(self.score)


def as_labels(y_true: Any, *, pos_label: Hashable = None, name: str = "y_true") -> BoolArray:
    """Return labels as booleans, True for unsupported.

    Parameters
    ----------
    y_true : sequence of length n
        Booleans, or 0 and 1; strings "unsupported" and "supported"; anything else with two values needs ``pos_label``.
    pos_label : hashable, optional
        The value that stands for unsupported; every other one stands for supported.
    name : str
        What messages call the labels.

    Raises
    ------
    TypeError, ValueError
        When a label is missing, or it is not plain which one stands for unsupported.

    Examples
    --------
    >>> as_labels(["supported", "unsupported"]).tolist()
    [False, True]
    """
    values = _listed(y_true, name)
    missing = [i for i, value in enumerate(values) if value is None or value != value]
    if missing:
        raise ValueError(f"{name}: row {missing[0]} has no label ({values[missing[0]]!r}), as have {len(missing)} rows")
    kinds = set(values)
    if pos_label is not None:
        if pos_label not in kinds:
            shown = ", ".join(sorted(map(repr, kinds))[:5])
            raise ValueError(f"{name}: no row is labelled pos_label={pos_label!r}; there are {shown or 'no rows'}")
        return np.array([value == pos_label for value in values], dtype=np.bool_)
    if kinds <= {0, 1}:
        return np.array(values, dtype=np.bool_)
    if kinds <= {"unsupported", "supported"}:
        return np.array([value == "unsupported" for value in values], dtype=np.bool_)
    row = next(i for i, value in enumerate(values) if value not in (0, 1, "supported", "unsupported"))
    raise ValueError(
        f"{name}: row {row} is {values[row]!r}, expected 0 or 1, False or True, 'supported' or 'unsupported':"
        " name the label of unsupported answers with pos_label"
    )


def as_scores(y_score: Any, rows: int | None = None, *, name: str = "y_score") -> FloatArray:
    """Return scores as float64; None becomes NaN.

    Raises
    ------
    TypeError, ValueError
        When they are not numbers, or not one for each row.
    """
    if isinstance(y_score, np.ndarray) and y_score.dtype != object:
        score = y_score
        if score.dtype == np.bool_ or not np.issubdtype(score.dtype, np.number) or np.iscomplexobj(score):
            raise TypeError(f"{name} must hold numbers, got dtype {score.dtype}")
    else:
        values = _listed(y_score, name)
        bad = next(
            (
                i
                for i, value in enumerate(values)
                if value is not None
                and (isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)))
            ),
            None,
        )
        if bad is not None:
            raise TypeError(f"{name}: row {bad} is {values[bad]!r}, expected a number")
        score = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if score.ndim != 1:
        raise ValueError(f"{name} must have one number for each row, got shape {score.shape}")
    if rows is not None and len(score) != rows:
        raise ValueError(f"{name} has {len(score)} values, expected one for each of the {rows} rows")
    # A copy: -0.0 becomes 0.0, so that equal scores print alike.
    return np.asarray(score, dtype=np.float64) + 0.0


def as_weights(sample_weight: Any, rows: int, *, name: str = "sample_weight") -> FloatArray | None:
    """Return weights as float64, all finite and at least 0, not all 0; None stays None."""
    if sample_weight is None:
        return None
    weight = as_scores(sample_weight, rows, name=name)
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        raise ValueError(f"{name}: row {bad[0]} is {weight[bad[0]]}, expected a finite number from 0 on")
    if rows and not weight.any():
        raise ValueError(f"{name}: all weights are 0")
    return weight


def read_scored(
    y_true: Any,
    y_score: Any,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> Scored:
    """Read labels, scores, groups and weights of n answers.

    Raises
    ------
    TypeError, ValueError
        When lengths differ, there are no rows, or a value cannot be used; the message names the argument and the row.

    Examples
    --------
    >>> read_scored([1, 0], [0.7, float("nan")], nan_policy="reject").score.tolist()
    [0.7, inf]
    """
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy must be one of {', '.join(map(repr, NAN_POLICIES))}, got {nan_policy!r}")
    unsupported = as_labels(y_true, pos_label=pos_label)
    n = len(unsupported)
    if not n:
        raise ValueError("y_true has no rows")
    score = as_scores(y_score, n)
    weight = as_weights(sample_weight, n)
    units = units_of(groups, n)
    nothing = np.isnan(score)
    lacking = int(nothing.sum())
    if lacking and nan_policy == "raise":
        row = int(nothing.argmax())
        raise ValueError(
            f"y_score: row {row} has no score (NaN), as have {lacking} of {n} rows: nan_policy='reject' counts them and"
            " never accepts them, 'omit' leaves them out"
        )
    if lacking and nan_policy == "reject":
        score[nothing] = np.inf
    elif lacking:
        kept = np.flatnonzero(~nothing)
        if not len(kept):
            raise ValueError("y_score: no row has a score")
        unsupported, score = unsupported[kept], score[kept]
        weight = None if weight is None else weight[kept]
        keys = None if units.keys is None else [units.keys[i] for i in units.index[kept].tolist()]
        units = units_of(keys, len(kept))
    return Scored(unsupported, score, units, weight, lacking)


def _listed(values: Any, name: str) -> list[Any]:
    """Return a column of any kind as a list."""
    if isinstance(values, (str, bytes, dict)):
        raise TypeError(f"{name} must be a sequence with a value for each row, got {type(values).__name__}")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"{name} must have one value for each row, got shape {values.shape}")
    for convert in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values)
