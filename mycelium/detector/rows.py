"""The rows of an evaluation as they were read, and a place in the report to be filled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.auc import RocAucInterval
from mycelium.detector.structure import pointer
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = ["Place", "Rows", "interval_of", "put_auc", "values_of", "without_groups"]


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows, as they were read; scores in the scale of the caller, NaN where there is none."""

    labels: BoolArray
    score: FloatArray
    groups: list[Any] | None
    weight: FloatArray | None
    slices: Mapping[str, list[Any]]
    baselines: Mapping[str, FloatArray]
    latency: FloatArray | None
    nan_policy: str
    direction: str
    labelled: str

    def of(self, rows: IntArray) -> dict[str, Any]:
        """Return what the functions of decisions take, for some rows."""
        return {
            "y_true": self.labels[rows],
            "y_score": self.score[rows],
            **self.dependence(rows),
            "nan_policy": self.nan_policy,
            "score_direction": self.direction,
        }

    def ranked(self, rows: IntArray) -> dict[str, Any]:
        """Return what the functions of ranking take: higher is riskier."""
        found = self.of(rows)
        del found["score_direction"]
        return found | {"y_score": self.risk(rows)}

    def risk(self, rows: IntArray) -> FloatArray:
        """Return scores of which the higher is riskier."""
        score = self.score[rows]
        return score if self.direction == "higher_is_riskier" else -score

    def dependence(self, rows: IntArray) -> dict[str, Any]:
        """Return groups and weights of some rows."""
        groups = None if self.groups is None else [self.groups[i] for i in rows.tolist()]
        return {"groups": groups, "sample_weight": None if self.weight is None else self.weight[rows]}


class Place:
    """A section of a report to be filled, and its place, so that reasons find their pointer."""

    def __init__(self, content: dict[str, Any], *path: str | int) -> None:
        self.content, self.path = content, path
        section: Any = content
        for part in path:
            section = section[part]
        self.section = section

    def put(self, name: str, value: Any, reason: str | None = None) -> None:
        """Set a field; without a value, say why."""
        self.section[name] = value
        if value is None and reason:
            self.content["undefined"][pointer(*self.path, name)] = reason


def without_groups(values: dict[str, Any]) -> dict[str, Any]:
    """Return arguments without the groups, for what takes none."""
    return {name: value for name, value in values.items() if name != "groups"}


def put_auc(place: Place, found: RocAucInterval) -> None:
    """Set AUC and its interval."""
    place.put("roc_auc", found.estimate, found.undefined.get("estimate"))
    place.put("roc_auc_ci95", interval_of(found), found.undefined.get("low"))


def interval_of(found: RocAucInterval) -> list[float] | None:
    """Return both ends, or None."""
    return None if found.low is None or found.high is None else [found.low, found.high]


def values_of(values: Sequence[Any], rows: IntArray, column: str) -> dict[str, IntArray]:
    """Return the rows of each value, by name: values are named as JSON writes them, strings by themselves."""
    found: dict[str, list[int]] = {}
    first: dict[str, Any] = {}
    for row in rows.tolist():
        value = values[row]
        if value != value:
            value = None
        try:
            name = value if isinstance(value, str) and value.strip() else json.dumps(value)
        except TypeError:
            raise TypeError(f"slices[{column!r}]: row {row} is {value!r}, expected a string or a number") from None
        if type(first.setdefault(name, value)) is not type(value):
            raise ValueError(f"slices[{column!r}] holds values of two types that are both written {name}")
        found.setdefault(name, []).append(row)
    return {name: np.array(found[name], dtype=np.int64) for name in sorted(found)}
