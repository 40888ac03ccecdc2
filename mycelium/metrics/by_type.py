"""Scores by type, for a fixed list of types: each type, their means, and the confusion matrix.

These metrics are made for a list of types and are not registered. Two made for the same list are equal, and they
survive pickling. Counts by type come from the same-type matching of ``typed_partial``: a right place with the wrong
type is a miss of one type and a false alarm of the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.line import Line
from mycelium.metrics.base import Metric, Statistics, precision_recall_f1
from mycelium.metrics.pairing import measure_of, rows_of
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch

__all__ = [
    "ABSENT",
    "COUNTS",
    "NONE",
    "TypeRules",
    "check_types",
    "confusion",
    "macro_types",
    "of_type",
    "present",
    "type_key",
    "type_scores",
    "unknown",
    "weighted_types",
]

#: What stands for "no span" beside the types.
NONE = "none"
#: What a type does to the mean over types when neither side has a span of it.
ABSENT = ("exclude", "zero")
#: Counts of each type.
COUNTS = ("correct", "partial", "predictions", "references")
_PRF = ("precision", "recall", "f1")
_SOURCE = "type-level analysis of error spans in causal explanations"


@dataclass(frozen=True)
class TypeRules:
    """The types that are told apart, and how their spans are paired.

    Parameters
    ----------
    types : tuple of str
        The types, in the order of reports.
    overlap_credit, min_overlap, overlap_base
        As for ``typed_partial``.
    """

    types: tuple[str, ...]
    overlap_credit: float = 0.5
    min_overlap: float = 0.0
    overlap_base: str = "reference"

    def counts(self, line: Line) -> IntArray:
        """Count the spans of each type in each row, shape (n, types, 4): the columns are ``COUNTS``."""
        key = ("by type", self)
        if key not in line.memo:
            line.memo[key] = self._count(line)
        found: IntArray = line.memo[key]
        return found

    def _count(self, line: Line) -> IntArray:
        matching = measure_of(
            line,
            "typed_partial",
            overlap_credit=self.overlap_credit,
            min_overlap=self.min_overlap,
            overlap_base=self.overlap_base,
        )
        of_r, of_p = self.codes(line)
        n, width = line.rows, len(self.types)
        # Row by row within each type: sums run down the columns.
        cell_r, cell_p = of_r * n + rows_of(line.references), of_p * n + rows_of(line.predictions)
        paired = cell_r.take(matching.reference)
        out = np.empty((width, len(COUNTS), n), dtype=np.int64)
        for column, cells in enumerate((paired[matching.exact], paired[~matching.exact], cell_p, cell_r)):
            out[:, column] = np.bincount(cells, minlength=width * n).reshape(width, n)
        found: IntArray = out.transpose(2, 0, 1)
        return found

    def cells(self, line: Line) -> IntArray:
        """Count the cells of the confusion matrix of each row, shape (n, (types + 1)**2)."""
        matching = measure_of(line, "confusion", min_overlap=self.min_overlap, overlap_base=self.overlap_base)
        of_r, of_p = self.codes(line)
        n, none = line.rows, len(self.types)
        size = (none + 1) ** 2
        found = np.append(of_p, none).take(matching.partner_r)
        lost = np.flatnonzero(matching.partner_p < 0)
        cell_r = (of_r * (none + 1) + found) * n + rows_of(line.references)
        cell_p = ((none * (none + 1) + of_p) * n + rows_of(line.predictions)).take(lost)
        counted = np.bincount(np.concatenate([cell_r, cell_p]), minlength=size * n)
        cells: IntArray = counted.astype(np.int64, copy=False).reshape(size, n).T
        return cells

    def codes(self, line: Line) -> tuple[IntArray, IntArray]:
        """Return the place of each span's type in the list, for the sorted spans of both sides.

        Raises
        ------
        ValueError
            When a span has a type that is not in the list.
        """
        references, predictions, names = line.typed
        place = {name: number for number, name in enumerate(self.types)}
        if not place.keys() >= set(names):
            for side, batch in line.given.items():
                check_types(batch, side, self.types, line.first_row)
        code = np.array([place[name] for name in names], dtype=np.int64)
        assert references.type is not None
        assert predictions.type is not None
        return code.take(references.type), code.take(predictions.type)


def check_types(batch: SpanBatch, name: str, types: Iterable[str], first_row: int = 0) -> None:
    """Raise a ValueError when a span has a type that is not in the list; it names the span and the list."""
    strange = unknown(batch, types)
    if strange is None:
        return
    assert batch.label is not None
    j = int(strange.argmax())
    row = int(batch.row[j])
    among = sorted(set(batch.label[strange].tolist()))
    raise ValueError(
        f"{name}: {(n := int(strange.sum()))} span{'s' * (n != 1)} with unknown types ({_listed(among)}); the first is"
        f" row {first_row + row},"
        f" span {j - int(batch.offsets[row])} [{batch.start[j]}, {batch.end[j]}] of type {batch.label[j]!r}; the types"
        f" are {_listed(types)}"
    )


def unknown(batch: SpanBatch, types: Iterable[str]) -> BoolArray | None:
    """Return a mask (m,) of the spans whose type is not in the list; None where all are."""
    known = set(types)
    if batch.label is None or known.issuperset(batch.label.tolist()):
        return None
    return np.fromiter((label not in known for label in batch.label.tolist()), dtype=bool, count=len(batch.label))


def _listed(names: Iterable[str], most: int = 20) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


@dataclass(frozen=True)
class _Method:
    """A method that is equal to that of an equal object, and can be pickled, so that metrics are and can."""

    of: Any
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(self.of, self.name)(*arguments)


@dataclass(frozen=True)
class _One:
    """Count one type, and divide."""

    rules: TypeRules
    number: int

    def stats(self, line: Line) -> Statistics:
        return self.rules.counts(line)[:, self.number]

    def value(self, totals: Statistics, undefined: float) -> FloatArray:
        return _scores(totals, undefined, self.rules.overlap_credit)


@dataclass(frozen=True)
class _All:
    """Count all types."""

    rules: TypeRules

    def stats(self, line: Line) -> Statistics:
        counted = self.rules.counts(line)
        # Seen as it lies in memory, so that nothing is copied.
        statistics: Statistics = counted.transpose(1, 2, 0).reshape(len(self.rules.types) * len(COUNTS), line.rows).T
        return statistics

    def split(self, totals: Statistics) -> Statistics:
        """Return statistics (..., 4 types) as (..., types, 4)."""
        return totals.reshape(*totals.shape[:-1], len(self.rules.types), len(COUNTS))


@dataclass(frozen=True)
class _Macro(_All):
    """The mean over types: over those of ``included``, or else over those that the totals hold."""

    absent: str
    included: tuple[bool, ...] | None

    def value(self, totals: Statistics, undefined: float) -> FloatArray:
        counts = self.split(totals)
        scores = _scores(counts, undefined, self.rules.overlap_credit)
        there = present(counts)
        if self.absent == "zero":
            scores = np.where(there[..., np.newaxis], scores, 0.0)
            weight = np.ones(there.shape)
        else:
            weight = (there if self.included is None else np.broadcast_to(self.included, there.shape)).astype(float)
        return _mean(scores, weight, undefined)


@dataclass(frozen=True)
class _Weighted(_All):
    """The mean over types, each as often as the references have it."""

    def value(self, totals: Statistics, undefined: float) -> FloatArray:
        counts = self.split(totals)
        return _mean(_scores(counts, undefined, self.rules.overlap_credit), counts[..., 3].astype(float), undefined)


@dataclass(frozen=True)
class _Types(_All):
    """All scores of types at once: each type, the mean, the weighted mean."""

    absent: str
    included: tuple[bool, ...] | None

    def value(self, totals: Statistics, undefined: float) -> FloatArray:
        each = _scores(self.split(totals), undefined, self.rules.overlap_credit)
        means = (_Macro(self.rules, self.absent, self.included), _Weighted(self.rules))
        flat = each.reshape(*each.shape[:-2], len(self.rules.types) * len(_PRF))
        return np.concatenate([flat, *(mean.value(totals, undefined) for mean in means)], axis=-1)


@dataclass(frozen=True)
class _Cells:
    """Count the cells of the confusion matrix; there is nothing to divide."""

    rules: TypeRules

    def stats(self, line: Line) -> Statistics:
        return self.rules.cells(line)

    def value(self, totals: Statistics, undefined: float) -> FloatArray:
        return np.zeros((*totals.shape[:-1], 0))


def present(counts: Statistics) -> BoolArray:
    """Tell of counts (..., types, 4) which types either side has, shape (..., types)."""
    found: BoolArray = (counts[..., 2] > 0) | (counts[..., 3] > 0)
    return found


def _scores(counts: Statistics, undefined: float, credit: float) -> FloatArray:
    """Return precision, recall and F1 (..., 3) of counts (..., 4)."""
    correct, overlapping, predictions, references = np.moveaxis(counts, -1, 0)
    earned = correct + credit * overlapping
    return precision_recall_f1(earned, predictions, earned, references, undefined)


def _mean(scores: FloatArray, weight: FloatArray, undefined: float) -> FloatArray:
    """Return the weighted means over types (..., 3) of scores (..., types, 3); undefined where all weights are 0."""
    total = weight.sum(axis=-1)[..., np.newaxis]
    # A type without weight may be undefined, and undefined may be NaN.
    sums = np.where(weight[..., np.newaxis] > 0, scores, 0.0) * weight[..., np.newaxis]
    return np.asarray(np.where(total > 0, sums.sum(axis=-2) / np.where(total > 0, total, 1.0), undefined))


def of_type(rules: TypeRules, name: str) -> Metric:
    """Return precision, recall and F1 of one of the types.

    Examples
    --------
    >>> metric = of_type(TypeRules(("A", "B")), "B")
    >>> metric.value(metric.statistics([[[0, 4, "A"], [6, 9, "B"]]], [[[0, 4, "B"], [6, 8, "B"]]])).tolist()
    [[0.25, 0.5, 0.3333333333333333]]
    """
    one = _One(rules, rules.types.index(name))
    return _metric(type_key(name), f"spans of type {name}, paired with their like", one, COUNTS, _PRF)


def macro_types(rules: TypeRules, *, absent: str = "exclude", included: tuple[bool, ...] | None = None) -> Metric:
    """Return the mean over types of their precision, recall and F1.

    Parameters
    ----------
    rules : TypeRules
        The types.
    absent : {"exclude", "zero"}
        Whether a type that neither side has is left out, or counts 0.
    included : tuple of bool, optional
        Which types the mean is taken over when absent ones are left out: those of the whole data, so that resampling
        does not change the set. By default those that the totals hold.
    """
    if absent not in ABSENT:
        raise ValueError(f"absent_types must be one of {', '.join(map(repr, ABSENT))}, got {absent!r}")
    mean = _Macro(rules, absent, included)
    return _metric("macro", "mean over types of precision, recall and F1", mean, _columns(rules), _PRF)


def weighted_types(rules: TypeRules) -> Metric:
    """Return the mean over types of precision, recall and F1, weighted by the number of references of each."""
    mean = _Weighted(rules)
    return _metric("weighted", "mean over types, weighted by their references", mean, _columns(rules), _PRF)


def type_scores(rules: TypeRules, *, absent: str = "exclude", included: tuple[bool, ...] | None = None) -> Metric:
    """Return what :func:`of_type`, :func:`macro_types` and :func:`weighted_types` do, from one set of counts.

    Its outputs are named ``by_type.TYPE.f1``, ``macro.f1``, ``weighted.f1`` and so on.
    """
    if absent not in ABSENT:
        raise ValueError(f"absent_types must be one of {', '.join(map(repr, ABSENT))}, got {absent!r}")
    keys = [*(type_key(name) for name in rules.types), "macro", "weighted"]
    outputs = tuple(f"{key}.{output}" for key in keys for output in _PRF)
    return _metric(
        "types", "each type, and means over types", _Types(rules, absent, included), _columns(rules), outputs
    )


def type_key(name: str) -> str:
    """Return the key of one type's scores where results are flat, as in intervals."""
    return f"by_type.{name}"


def confusion(rules: TypeRules) -> Metric:
    """Return the counts of the confusion matrix: a cell for each pair of types, references before predictions."""
    named = [*rules.types, NONE]
    columns = tuple(f"{r}>{p}" for r in named for p in named)
    return _metric("confusion", "references by type and by the type of their prediction", _Cells(rules), columns, ())


def _columns(rules: TypeRules) -> tuple[str, ...]:
    return tuple(f"{name}.{count}" for name in rules.types for count in COUNTS)


def _metric(
    name: str,
    summary: str,
    of: _One | _Macro | _Weighted | _Types | _Cells,
    columns: tuple[str, ...],
    outputs: tuple[str, ...],
) -> Metric:
    return Metric(
        name=name,
        summary=summary,
        stats=_Method(of, "stats"),
        evaluate=_Method(of, "value"),
        columns=columns,
        outputs=outputs,
        reference=_SOURCE,
        needs=frozenset({"labels"}),
        pooled=True,
    )
