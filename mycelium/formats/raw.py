"""What every reader hands back: flat arrays that are not yet checked against a text, and the problems it met."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mycelium.spans import BoolArray, FloatArray, IntArray, ObjectArray

__all__ = [
    "LABEL_KEYS",
    "SCORE_KEYS",
    "Problems",
    "Raw",
    "as_labels",
    "as_scores",
    "concatenate",
    "distinct",
    "show",
    "types_of",
]

#: Names under which a span's type and its probability go; the first one present is taken.
LABEL_KEYS = ("label", "type", "label_type")
SCORE_KEYS = ("prob", "score", "confidence")

_NAMED = 5
_SHOWN = 60


class Raw(NamedTuple):
    """Spans as read: integers for certain, but possibly negative, empty, reversed or past the text."""

    offsets: IntArray
    start: IntArray
    end: IntArray
    label: ObjectArray | None = None
    score: FloatArray | None = None
    missing: BoolArray | None = None


class Problems:
    """Collects what could not be read, so that one error can count everything and name the first five.

    Parameters
    ----------
    name : str
        The argument that the message names.
    element : str, default="span"
        What the elements of a row are.
    """

    def __init__(self, name: str, element: str = "span") -> None:
        self.name = name
        self.element = element
        self.count = 0
        self.rows: set[int] = set()
        self._named: list[str] = []
        self._error: type[Exception] | None = None

    def add(
        self, row: int, span: int | None, shown: Any, reason: str, error: type[TypeError] | type[ValueError] = TypeError
    ) -> None:
        """Note one problem; ``span`` is None where the row as a whole cannot be read."""
        self.count += 1
        self.rows.add(row)
        if len(self._named) < _NAMED:
            where = f"row {row}" if span is None else f"row {row}, {self.element} {span} {show(shown)}"
            self._named.append(f"{where}: {reason}")
        self._error = self._error or error

    def check(self) -> None:
        """Raise what was collected, as the kind of error of the first problem."""
        if self._error is None:
            return
        named = "; ".join(self._named)
        if self.count == 1:
            raise self._error(f"{self.name}: {named}")
        more = f"; and {self.count - _NAMED} more" if self.count > _NAMED else ""
        rows = f"{len(self.rows)} row{'s' * (len(self.rows) != 1)}"
        raise self._error(f"{self.name}: {self.count} problems in {rows}: {named}{more}")


def show(value: object) -> str:
    """Return the value as messages show it: its repr, shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def types_of(values: Iterable[Any]) -> set[type]:
    """Return the types that occur among the values."""
    return distinct(list(map(type, values)))


def distinct(values: list[Any]) -> set[Any]:
    """Return the set of the values; quick where all are equal, which ``list.count`` finds out faster than a set."""
    return set(values) if values and values.count(values[0]) != len(values) else set(values[:1])


def flatten(lists: Sequence[Any]) -> list[Any]:
    """Join lists and tuples; ``extend`` copies each in one piece and so takes half the time of ``chain``."""
    out: list[Any] = []
    deque(map(out.extend, lists), maxlen=0)
    return out


def as_labels(labels: Sequence[str | None]) -> ObjectArray | None:
    """Return an object array, or None when no span has a label."""
    if not len(labels) or (labels[0] is None and types_of(labels) == {type(None)}):
        return None
    if isinstance(labels, np.ndarray):
        return labels
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def as_scores(scores: FloatArray) -> FloatArray | None:
    """Return the scores, or None when no span has one (all are NaN)."""
    return None if not len(scores) or (np.isnan(scores[0]) and bool(np.isnan(scores).all())) else scores


def concatenate(parts: Sequence[Raw]) -> Raw:
    """Join the rows of several parts, in order."""
    if len(parts) == 1:
        return parts[0]
    sizes = [len(part.start) for part in parts]
    begins = np.cumsum([0, *sizes])
    offsets = [np.zeros(1, dtype=np.int64)]
    offsets += [part.offsets[1:] + begin for part, begin in zip(parts, begins[:-1], strict=True)]
    label: ObjectArray | None = None
    if any(part.label is not None for part in parts):
        label = np.full(int(begins[-1]), None, dtype=object)
    score: FloatArray | None = None
    if any(part.score is not None for part in parts):
        score = np.full(int(begins[-1]), np.nan)
    missing: BoolArray | None = None
    if any(part.missing is not None for part in parts):
        missing = np.concatenate(
            [np.zeros(len(p.offsets) - 1, dtype=np.bool_) if p.missing is None else p.missing for p in parts]
        )
    for part, begin, size in zip(parts, begins[:-1], sizes, strict=True):
        if label is not None and part.label is not None:
            label[begin : begin + size] = part.label
        if score is not None and part.score is not None:
            score[begin : begin + size] = part.score
    empty = [np.empty(0, dtype=np.int64)]
    return Raw(
        np.concatenate(offsets),
        np.concatenate(empty + [part.start for part in parts]),
        np.concatenate(empty + [part.end for part in parts]),
        label,
        score,
        missing,
    )
