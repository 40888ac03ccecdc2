"""The number line: references and predictions of a whole batch as two sorted lists.

Each row gets a stretch of its own, a stride past the largest end::

    row 0                 row 1                 row 2
    |--[====]---[==]------|---------------------|-----[======]--------|
    0                     stride                2 * stride

so that all rows' spans become one sorted list and no interval meets one of another row. A :class:`Line` also keeps
the work that several metrics need (pairs, unions), so that it is done once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mycelium import intervals
from mycelium.intervals import Pairs
from mycelium.matching.stages import Spans, canonical_order
from mycelium.spans import BoolArray, IntArray, SpanBatch, _offsets

__all__ = ["Facts", "Line", "Side", "check_labels", "lines"]

#: Rows laid out together: small enough for the arrays of a typical corpus to stay in the processor's cache.
ROWS_AT_ONCE = 1 << 14
_LIMIT = 2**62
_LONGEST = 2**62


class Side:
    """One side of a batch on the line, its spans sorted by (start, end) within each row.

    Attributes
    ----------
    offsets : int64 array of shape (n + 1,)
        Row offsets into the arrays of spans.
    start, end, length : int64 arrays of shape (m,)
        The sorted spans, in positions on the line, and the number of characters of each.
    """

    def __init__(self, offsets: IntArray, start: IntArray, end: IntArray, length: IntArray) -> None:
        self.offsets = offsets
        self.start = start
        self.end = end
        self.length = length

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def reach(self) -> IntArray:
        """The furthest end so far, for each sorted span, shape (m,)."""
        return np.maximum.accumulate(self.end) if len(self) else self.end

    @cached_property
    def tangled(self) -> IntArray:
        """The rows in which two spans share a character, rising."""
        later = np.flatnonzero(self.start[1:] < self.reach[:-1]) + 1
        return np.unique(np.searchsorted(self.offsets, later, side="right") - 1)

    def union(self) -> Side:
        """Return the characters of each row's spans as disjoint spans."""
        start, end, offsets = intervals.union(self.start, self.end, self.offsets)
        return Side(offsets, start, end, end - start)

    @cached_property
    def total(self) -> IntArray:
        """Sum of the lengths of each row's spans, shape (n,)."""
        return intervals.row_sums(self.length, self.offsets)

    @cached_property
    def characters(self) -> IntArray:
        """Number of distinct characters in each row's spans, shape (n,)."""
        if not len(self.tangled):
            return self.total
        out: IntArray = self.total.copy()
        out[self.tangled] = self.of_rows(self.tangled)[0].union().total
        return out

    @cached_property
    def count(self) -> IntArray:
        """Number of spans in each row, shape (n,)."""
        return np.diff(self.offsets)

    def chosen(self, keep: BoolArray) -> Side:
        """Return the side with only the spans that the mask (m,) names."""
        return self._take(np.flatnonzero(keep), _offsets(keep).take(self.offsets))

    def of_rows(self, rows: IntArray) -> tuple[Side, IntArray]:
        """Return a side of these rows only, and the positions of its spans here."""
        count = self.count.take(rows)
        offsets = _offsets(count)
        spans = np.repeat(self.offsets.take(rows) - offsets[:-1], count) + np.arange(offsets[-1])
        return self._take(spans, offsets), spans

    def _take(self, spans: IntArray, offsets: IntArray) -> Side:
        return Side(offsets, self.start.take(spans), self.end.take(spans), self.length.take(spans))


class Facts(NamedTuple):
    """What the overlapping pairs tell of each sorted span.

    Attributes
    ----------
    degree_r, degree_p : int64 arrays
        Number of overlapping spans of the other side, for each reference and for each prediction.
    holds_r, inside_p : bool arrays
        Whether a reference contains a prediction whole; whether a prediction lies whole inside a reference.
    equal_p : bool array
        Whether a prediction equals a reference.
    shared_p : int64 array
        Characters that each prediction shares with references, added over the references.
    """

    degree_r: IntArray
    degree_p: IntArray
    holds_r: BoolArray
    inside_p: BoolArray
    equal_p: BoolArray
    shared_p: IntArray


class Line:
    """References and predictions of ``n`` examples on one number line.

    Parameters
    ----------
    references, predictions : SpanBatch
        The two sides, ``n`` rows each, few enough for the line to fit into 62 bits (:func:`lines` sees to it).
    soft_references, soft_predictions : SpanBatch, optional
        Spans with probabilities, in the order in which later ones overwrite earlier ones.
    text_length : int64 array of shape (n,), optional
        Number of characters of each text.
    first_row : int, default 0
        Row of the whole batch that is row 0 here; for messages.

    Attributes
    ----------
    memo : dict
        Work that several metrics share, by keys of their own.
    """

    def __init__(
        self,
        references: SpanBatch,
        predictions: SpanBatch,
        *,
        soft_references: SpanBatch | None = None,
        soft_predictions: SpanBatch | None = None,
        text_length: IntArray | None = None,
        first_row: int = 0,
    ) -> None:
        self.rows = len(references)
        self.first_row = first_row
        self.given = {"references": references, "predictions": predictions}
        self.memo: dict[Hashable, Any] = {}
        self.stride = _stride(references, predictions)
        self.soft_references = soft_references
        self.soft_predictions = soft_predictions
        self.text_length = text_length
        base = np.arange(self.rows, dtype=np.int64) * self.stride
        spans = [(batch, batch.start + np.repeat(base, batch.counts)) for batch in (references, predictions)]
        lengths = [batch.end - batch.start for batch in (references, predictions)]
        width = 1 + max((int(x.max()) for x in lengths if len(x)), default=0)
        sides = []
        packed = self.rows * self.stride * width < _LIMIT
        for (batch, start), length in zip(spans, lengths, strict=True):
            # One integer stands for (row, start, end): sorting it is sorting them.
            if packed:
                key = start * width + length
                if (key[1:] < key[:-1]).any():
                    key = np.sort(key)
                    start = key // width
                    length = key - start * width
            else:
                order = np.lexsort((length, start))
                start, length = start[order], length[order]
            sides.append(Side(batch.offsets, start, start + length, length))
        self.references, self.predictions = sides

    def base(self, side: Side) -> IntArray:
        """Return where the row of each span begins on the line, shape (m,)."""
        return np.repeat(np.arange(self.rows, dtype=np.int64) * self.stride, side.count)

    @cached_property
    def typed(self) -> tuple[Spans, Spans, tuple[str, ...]]:
        """References and predictions with their types in canonical order, and the names of the types.

        Span j of a side belongs to the row that ``offsets`` of that side says. Code c stands for name c; names are
        sorted, so that the order of two types does not depend on the others.

        Raises
        ------
        ValueError
            When a span has no label.
        """
        labels = []
        for side, batch in self.given.items():
            check_labels(batch, side, self.first_row)
            labels.append([] if batch.label is None else batch.label.tolist())
        names = tuple(sorted({*labels[0], *labels[1]}))
        code = {name: number for number, name in enumerate(names)}
        base = np.arange(self.rows, dtype=np.int64) * self.stride
        sides = []
        for batch, named in zip(self.given.values(), labels, strict=True):
            spans = np.fromiter(map(code.__getitem__, named), dtype=np.int64, count=len(named))
            shift = np.repeat(base, batch.counts)
            sides.append(_in_order(Spans(batch.start + shift, batch.end + shift, spans), spans))
        return sides[0], sides[1], names

    def pairs(self) -> Iterable[Pairs]:
        """Return the overlapping pairs in blocks, references leading: major is a reference, minor a prediction.

        Most batches have one block, which is kept; where there are more, each call enumerates them again, since
        ten thousand spans over ten thousand others would not fit into memory.
        """
        kept: tuple[Pairs, ...] | None = self.__dict__.get("_pairs")
        if kept is not None:
            return kept
        blocks = self.pairs_led_by(self.references, self.predictions)
        first = next(blocks)
        for second in blocks:
            return _chain(first, second, blocks)
        self._pairs = (first,)
        return self._pairs

    @staticmethod
    def pairs_led_by(leading: Side, other: Side, chosen: IntArray | None = None) -> Iterator[Pairs]:
        """Enumerate the pairs of the chosen spans of the leading side, in blocks."""
        return intervals.overlapping(
            leading.start,
            leading.end,
            other.start,
            other.end,
            reach=other.reach,
            chosen=chosen,
            at_once=intervals.PAIRS_AT_ONCE,
        )

    @cached_property
    def facts(self) -> Facts:
        """What one pass over all pairs tells of each span."""
        references, predictions = self.references, self.predictions
        facts = Facts(
            degree_r=np.zeros(len(references), dtype=np.int64),
            degree_p=np.zeros(len(predictions), dtype=np.int64),
            holds_r=np.zeros(len(references), dtype=bool),
            inside_p=np.zeros(len(predictions), dtype=bool),
            equal_p=np.zeros(len(predictions), dtype=bool),
            shared_p=np.zeros(len(predictions), dtype=np.int64),
        )
        for major, minor, shared in self.pairs():
            facts.degree_r[:] += np.bincount(major, minlength=len(references))
            facts.degree_p[:] += np.bincount(minor, minlength=len(predictions))
            np.add.at(facts.shared_p, minor, shared)
            inside = np.flatnonzero(shared == predictions.length.take(minor))
            major, minor, shared = major.take(inside), minor.take(inside), shared.take(inside)
            facts.holds_r[major] = True
            facts.inside_p[minor] = True
            facts.equal_p[minor.take(np.flatnonzero(shared == references.length.take(major)))] = True
        return facts

    @cached_property
    def intersection(self) -> IntArray:
        """Number of characters of each row that both sides mark, shape (n,)."""
        return self.intersection_with(None)

    def intersection_with(self, kept: BoolArray | None) -> IntArray:
        """Count the characters of each row that the references and the kept predictions mark, shape (n,)."""
        shared = self.facts.shared_p if kept is None else np.where(kept, self.facts.shared_p, 0)
        both = intervals.row_sums(shared, self.predictions.offsets)
        # Where spans of one side share characters, pairs would count these more than once.
        rows = np.union1d(self.references.tangled, self.predictions.tangled)
        if len(rows):
            references = self.references.of_rows(rows)[0].union()
            predictions, spans = self.predictions.of_rows(rows)
            marked = (predictions if kept is None else predictions.chosen(kept.take(spans))).union()
            inner = intervals.covered(marked.end, references.start, references.end)
            inner -= intervals.covered(marked.start, references.start, references.end)
            both[rows] = intervals.row_sums(inner, marked.offsets)
        return both


def _in_order(side: Spans, code: IntArray) -> Spans:
    """Return the spans in canonical order."""
    falls = np.zeros(max(len(side) - 1, 0), dtype=bool)
    for field in (code, side.end, side.start):
        falls = (field[1:] < field[:-1]) | ((field[1:] == field[:-1]) & falls)
    return side.take(canonical_order(side.start, side.end, code)) if falls.any() else side


def _chain(first: Pairs, second: Pairs, rest: Iterator[Pairs]) -> Iterator[Pairs]:
    yield first
    yield second
    yield from rest


def _stride(references: SpanBatch, predictions: SpanBatch) -> int:
    return 1 + max((int(batch.end.max()) for batch in (references, predictions) if len(batch.end)), default=0)


def check_labels(batch: SpanBatch, name: str, first_row: int = 0) -> None:
    """Raise a ValueError that names the first span without a label, if there is one.

    Parameters
    ----------
    batch : SpanBatch
        The spans.
    name : str
        What the message calls them.
    first_row : int
        What the message calls row 0.
    """
    if not len(batch.start) or (batch.label is not None and None not in set(batch.label.tolist())):
        return
    without = np.ones(len(batch.start), dtype=bool) if batch.label is None else batch.label == None  # noqa: E711
    j = int(without.argmax())
    row = int(batch.row[j])
    raise ValueError(
        f"{name}: {(n := int(without.sum()))} span{'s' * (n != 1)} without a type; the first is row {first_row + row},"
        f" span {j - int(batch.offsets[row])} [{batch.start[j]}, {batch.end[j]}]: give spans as [start, end, type],"
        " or with a 'label'"
    )


def _check_sums(batch: SpanBatch, name: str) -> None:
    """Refuse rows whose lengths do not add up within 62 bits."""
    length = batch.end - batch.start
    if len(length) and len(length) * int(length.max()) >= _LONGEST:
        total = np.bincount(batch.row, weights=length)
        if total.max() >= _LONGEST:
            row = int(total.argmax())
            raise ValueError(
                f"{name}: row {row}: its spans add up to {total[row]:.3g} characters, expected under 2**62"
            )


def lines(
    references: SpanBatch,
    predictions: SpanBatch,
    *,
    soft_references: SpanBatch | None = None,
    soft_predictions: SpanBatch | None = None,
    text_length: IntArray | None = None,
    rows_at_once: int | None = None,
) -> Iterator[Line]:
    """Lay a batch out in blocks of rows, each on a line that fits into 62 bits.

    Raises
    ------
    ValueError
        When the lengths of one row's spans add up to 2**62 characters or more.
    """
    for name, batch in (("references", references), ("predictions", predictions)):
        _check_sums(batch, name)
    n = len(references)
    step = max(1, min(rows_at_once or ROWS_AT_ONCE, _LIMIT // _stride(references, predictions)))
    for begin in range(0, n, step):
        part = slice(begin, min(begin + step, n))
        yield Line(
            references[part],
            predictions[part],
            soft_references=None if soft_references is None else soft_references[part],
            soft_predictions=None if soft_predictions is None else soft_predictions[part],
            text_length=None if text_length is None else text_length[part],
            first_row=begin,
        )
