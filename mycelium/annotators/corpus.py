"""Annotations: what each annotator of each item marked, in one ragged batch.

An *item* is one annotated text, a *mark* is what one annotator made of one item: a set of spans, possibly empty. All
marks of all items stand in one :class:`~mycelium.SpanBatch`, item by item, in the order in which they were given::

    item 0: {"ann": [[0, 4]], "bo": []}    offsets  0     2        3     annotator  0 1  0
    item 1: {"ann": [[2, 5], [7, 9]]}      spans    [0,4)  (none)  [2,5)[7,9)

"bo" looked at item 0 and marked nothing; nobody called "bo" looked at item 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.corpora import Corpus
from mycelium.formats.ingest import read_raw
from mycelium.formats.raw import show
from mycelium.formats.texts import text_lengths, text_list
from mycelium.line import lines
from mycelium.spans import MAX_OFFSET, IntArray, SpanBatch, _offsets

__all__ = ["Annotations", "as_annotations", "merge"]


@dataclass(frozen=True, eq=False, slots=True)
class Annotations:
    """The span sets of several annotators for each of ``n`` items, read-only. Build it with :func:`as_annotations`.

    Index it with a slice, a mask or an index array to get those items, in that order.

    Attributes
    ----------
    marks : SpanBatch of m rows
        What one annotator marked in one item, item by item; ``marks.length`` is there where texts are.
    offsets : int64 array of shape (n + 1,)
        Item ``i`` owns the marks ``offsets[i]`` to ``offsets[i + 1]``.
    annotator : int64 array of shape (m,)
        Whose mark it is: a position in ``names``.
    names : tuple
        The annotators, in the order in which they first appear: keys of dicts, positions in lists.
    texts : tuple of n str, or None
        The annotated texts.
    dropped : int
        Annotations of no length that were left out when the items were read.
    """

    marks: SpanBatch
    offsets: IntArray
    annotator: IntArray
    names: tuple[Hashable, ...]
    texts: tuple[str, ...] | None = None
    dropped: int = 0

    def __post_init__(self) -> None:
        for array in (self.offsets, self.annotator):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"Annotations(items={len(self)}, annotators={len(self.names)}, marks={len(self.marks)},"
            f" spans={len(self.marks.start)}{', texts' if self.texts is not None else ''})"
        )

    def __getitem__(self, items: Any) -> Annotations:
        """Return the items that a slice, mask or index array names; annotators keep their numbers and names."""
        if isinstance(items, (int, np.integer)):
            raise IndexError(f"items are chosen by a slice, a mask or an index array; for one item: [{items}]")
        index = items if isinstance(items, slice) or len(items) else np.zeros(0, dtype=np.int64)
        chosen = np.arange(len(self), dtype=np.int64)[index if isinstance(index, slice) else np.asarray(index)]
        if chosen.ndim != 1:
            raise IndexError(f"annotations have one dimension, the index has {chosen.ndim}")
        offsets = _offsets(self.counts[chosen])
        rows = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], np.diff(offsets)) + np.arange(offsets[-1])
        texts = None if self.texts is None else tuple(self.texts[i] for i in chosen.tolist())
        return Annotations(self.marks[rows], offsets, self.annotator[rows], self.names, texts, self.dropped)

    @property
    def counts(self) -> IntArray:
        """Number of annotators of each item, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def item(self) -> IntArray:
        """Item of each mark, shape (m,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    @property
    def text_length(self) -> IntArray | None:
        """Number of characters of each text, shape (n,), or None without texts."""
        return None if self.texts is None else text_lengths(self.texts)

    def with_marks(self, marks: SpanBatch) -> Annotations:
        """Return the same annotators of the same items with other marks, m rows."""
        return Annotations(marks, self.offsets, self.annotator, self.names, self.texts, self.dropped)

    def merged(self) -> Annotations:
        """Return the annotations with the spans of each mark merged where they touch or overlap."""
        return self.with_marks(merge(self.marks))


def as_annotations(x: Any, *, text: Any = None, name: str = "annotations") -> Annotations:
    """Read several span sets for each item.

    Parameters
    ----------
    x : Corpus, Annotations, or sequence of n items
        A corpus with annotators, or for each item a dict of annotator to span set, or a list of span sets, whose
        annotators are the positions 0, 1, ... An annotator who is None, or no key of the dict, did not see the item;
        one with ``[]`` saw it and marked nothing. An item that is None has no annotators. Span sets are whatever
        :func:`mycelium.as_spans` reads as a row, with half-open offsets.
    text : sequence of n str, optional
        The annotated texts, with which spans past their end are refused. A corpus brings its own.
    name : str, default="annotations"
        What messages call `x`.

    Returns
    -------
    Annotations
        The marks in the order given. Annotations of no length are left out, and counted in ``dropped``.

    Raises
    ------
    TypeError, ValueError
        When the input has another form or holds an invalid span; the message names row, annotator and span.

    Examples
    --------
    >>> from mycelium.annotators import as_annotations
    >>> notes = as_annotations([{"ann": [[0, 4], [6, 6]], "bo": []}, {"bo": None, "ann": [[2, 5]]}])
    >>> notes, notes.dropped
    (Annotations(items=2, annotators=2, marks=3, spans=2), 1)
    >>> notes.counts.tolist(), notes.marks.tolist()
    ([2, 1], [[[0, 4]], [], [[2, 5]]])
    """
    if isinstance(x, Annotations):
        if text is not None:
            raise ValueError(f"{name} were read already: give text when they are read")
        return x
    if isinstance(x, Corpus):
        if x.annotators is None:
            raise ValueError(f"{name}: the corpus has no annotators, only references")
        text = x.texts if text is None else text
        x = x.annotators
    if isinstance(x, (str, bytes, Mapping)) or not isinstance(x, Iterable):
        raise TypeError(f"{name} must be a corpus or a sequence with the annotators of each item, got {_kind(x)}")
    rows = [_pairs(row, i, name) for i, row in enumerate(x)]
    texts = None if text is None else tuple(text_list(text))
    if texts is not None and len(texts) != len(rows):
        raise ValueError(f"{name} has {len(rows)} rows, text has {len(texts)}")
    numbers: dict[Hashable, int] = {}
    annotator = np.array([numbers.setdefault(who, len(numbers)) for row in rows for who, _ in row], dtype=np.int64)
    offsets = _offsets(np.array([len(row) for row in rows], dtype=np.int64))
    length = None if texts is None else np.repeat(text_lengths(texts), np.diff(offsets))
    marks, dropped = _read([(i, who, spans) for i, row in enumerate(rows) for who, spans in row], length, name)
    return Annotations(marks, offsets, annotator, tuple(numbers), texts, dropped)


def _pairs(row: Any, i: int, name: str) -> list[tuple[Hashable, Any]]:
    """Return (annotator, span set) of those who saw the item."""
    if row is None:
        return []
    if isinstance(row, Mapping):
        return [(who, spans) for who, spans in row.items() if spans is not None]
    if isinstance(row, (list, tuple)):
        return [(who, spans) for who, spans in enumerate(row) if spans is not None]
    raise TypeError(
        f"{name}: row {i}: expected a dict of annotator to spans or a list of span sets, got {show(row)} ({_kind(row)})"
    )


def _read(marks: list[tuple[int, Hashable, Any]], length: IntArray | None, name: str) -> tuple[SpanBatch, int]:
    sets = [spans for _, _, spans in marks]
    try:
        raw = read_raw(sets, name)
    except (TypeError, ValueError):
        # Said again with the place in the caller's terms: one of the sets cannot be read alone either.
        for i, who, spans in marks:
            _read_alone(spans, f"{name}: row {i}, annotator {who!r}")
        raise
    if raw.missing is not None and raw.missing.any():
        i, who, spans = marks[int(np.flatnonzero(raw.missing)[0])]
        raise ValueError(
            f"{name}: row {i}, annotator {who!r}: expected spans, or None for who did not look, got {spans}"
        )
    kept = raw.end != raw.start
    number = np.repeat(np.arange(len(marks)), np.diff(raw.offsets))
    limit = np.full(len(raw.end), MAX_OFFSET - 1) if length is None else length[number]
    bad = np.flatnonzero(kept & ((raw.start < 0) | (raw.end < raw.start) | (raw.end > limit)))
    if len(bad):
        j = int(bad[0])
        i, who, _ = marks[int(number[j])]
        more = f"; and {len(bad) - 1} more such span{'s' * (len(bad) > 2)}" if len(bad) > 1 else ""
        upper = "end < 2**53" if length is None else f"end <= {limit[j]} (characters of the text)"
        raise ValueError(
            f"{name}: row {i}, annotator {who!r}, span {j - int(raw.offsets[number[j]])}"
            f" [{raw.start[j]}, {raw.end[j]}]: expected 0 <= start < {upper}{more}"
        )
    batch = SpanBatch._trusted(raw.offsets, raw.start, raw.end, None, None, length)
    return batch._keep(kept), int(len(kept) - kept.sum())


def _read_alone(spans: Any, place: str) -> None:
    try:
        read_raw([spans], "")
    except (TypeError, ValueError) as error:
        reason = str(error).removeprefix(": ").replace("row 0, ", "").replace("row 0: ", "")
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{place}: {reason}") from None


def merge(batch: SpanBatch) -> SpanBatch:
    """Return the characters of each row as disjoint spans, in order; spans that touch or overlap become one.

    Labels and scores are left behind.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> from mycelium.annotators import merge
    >>> merge(as_spans([[[5, 8], [0, 3], [3, 5], [10, 12], [11, 14]], []])).tolist()
    [[[0, 8], [10, 14]], []]
    """
    nothing = SpanBatch._trusted(np.zeros(len(batch) + 1, dtype=np.int64), _NOTHING, _NOTHING)
    start, end, counts = [_NOTHING], [_NOTHING], [_NOTHING]
    for line in lines(batch, nothing):
        side = line.references.union()
        base = line.base(side)
        start.append(side.start - base)
        end.append(side.end - base)
        counts.append(side.count)
    return SpanBatch._trusted(
        _offsets(np.concatenate(counts)), np.concatenate(start), np.concatenate(end), None, None, batch.length
    )


_NOTHING = np.zeros(0, dtype=np.int64)


def _kind(x: object) -> str:
    return type(x).__name__
