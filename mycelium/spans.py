"""SpanBatch: the span sets of many examples in one ragged container.

Every entrance turns its input into a :class:`SpanBatch` once, and everything after it works on flat arrays::

    row 0: [0, 4) [6, 9)      offsets  0     2  2     3
    row 1: (nothing)          start    0  6     2
    row 2: [2, 8)             end      4  9     8

Row ``i`` owns the spans ``offsets[i]`` to ``offsets[i + 1]``, in the order in which they were given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_OFFSET", "InvalidCounts", "SpanBatch", "check_spans"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[np.object_]

#: Offsets stay below this bound, so that every length is exact in a double.
MAX_OFFSET = 2**53

POLICIES = ("raise", "drop", "clip")
_NAMED = 5


class InvalidCounts(NamedTuple):
    """What leniency did to the input.

    Attributes
    ----------
    rows : int
        Rows (of references or predictions) that held at least one invalid span.
    dropped : int
        Spans left out, those included that clipping made empty.
    clipped : int
        Spans that were cut and kept.
    missing : int
        Rows without annotation (None) that were read as empty.
    """

    rows: int = 0
    dropped: int = 0
    clipped: int = 0
    missing: int = 0

    def plus(self, other: InvalidCounts) -> InvalidCounts:
        """Return the counts of both together."""
        return InvalidCounts(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False, slots=True)
class SpanBatch:
    """The span sets of ``n`` examples, validated and read-only.

    Build it with :func:`mycelium.as_spans`. Offsets are half-open ``[start, end)`` and count characters
    (Python code points). Spans of one row may touch, overlap, nest and repeat; they keep the order in which they
    were given, together with their labels and scores.

    Parameters
    ----------
    offsets : int64 array of shape (n + 1,)
        Row ``i`` owns the spans ``offsets[i]`` (included) to ``offsets[i + 1]`` (excluded).
    start, end : int64 arrays of shape (m,)
        First character of each span, and the one after its last.
    label : object array of shape (m,), optional
        The type of each span, a string or None.
    score : float64 array of shape (m,), optional
        The probability or confidence of each span; NaN where it has none.
    length : int64 array of shape (n,), optional
        Number of characters in the text of each row.

    Raises
    ------
    TypeError, ValueError
        When an array has the wrong dtype or shape, or a span is not ``0 <= start < end <= length``.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> batch = as_spans([[[0, 4], [6, 9]], [], [[2, 8]]])
    >>> len(batch), batch.start.tolist(), batch.offsets.tolist()
    (3, [0, 6, 2], [0, 2, 2, 3])
    >>> batch[0]
    array([[0, 4],
           [6, 9]])
    >>> batch[1:].tolist()
    [[], [[2, 8]]]
    """

    offsets: IntArray
    start: IntArray
    end: IntArray
    label: ObjectArray | None = None
    score: FloatArray | None = None
    length: IntArray | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "start", "end", "length"):
            array = getattr(self, name)
            if name == "length" and array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1:
                raise TypeError(f"{name} must be a one-dimensional int64 array, got {_describe(array)}")
        offsets, m = self.offsets, len(self.start)
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != m or (offsets[1:] < offsets[:-1]).any():
            raise ValueError(f"offsets must rise from 0 to the number of spans ({m})")
        for name, dtype in (("end", np.int64), ("label", object), ("score", np.float64)):
            array = getattr(self, name)
            if array is not None and (not isinstance(array, np.ndarray) or array.shape != (m,) or array.dtype != dtype):
                raise TypeError(f"{name} must be a {np.dtype(dtype)} array of shape ({m},), got {_describe(array)}")
        if self.length is not None and len(self.length) != len(offsets) - 1:
            raise ValueError(f"length has {len(self.length)} rows, offsets has {len(offsets) - 1}")
        check_spans(self, name="spans")
        _freeze(self)

    @classmethod
    def _trusted(
        cls,
        offsets: IntArray,
        start: IntArray,
        end: IntArray,
        label: ObjectArray | None = None,
        score: FloatArray | None = None,
        length: IntArray | None = None,
    ) -> SpanBatch:
        """Build without checking: for parts of a batch that was checked, and for input about to be."""
        batch = object.__new__(cls)
        for name, value in zip(_FIELDS, (offsets, start, end, label, score, length), strict=True):
            object.__setattr__(batch, name, value)
        _freeze(batch)
        return batch

    # -- the protocol of a one-dimensional array of span sets, as scikit-learn and pandas expect it

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``: a batch is one-dimensional, its elements are span sets."""
        return (len(self.offsets) - 1,)

    @property
    def ndim(self) -> int:
        """Always 1."""
        return 1

    @property
    def dtype(self) -> np.dtype[np.object_]:
        """Always ``object``: the dtype of ``np.asarray(batch)``."""
        return np.dtype(object)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[IntArray]:
        pairs = np.stack([self.start, self.end], axis=1)
        for i in range(len(self)):
            yield pairs[self.offsets[i] : self.offsets[i + 1]]

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> IntArray: ...
    @overload
    def __getitem__(self, index: Any) -> SpanBatch: ...
    def __getitem__(self, index: Any) -> SpanBatch | IntArray:
        """Return row ``index`` as a (k, 2) array, or the batch of the rows that a slice, mask or index array names."""
        if isinstance(index, tuple):
            # scikit-learn indexes y[idx, ...]
            if len(index) == 2 and index[1] is Ellipsis:
                return self[index[0]]
            raise IndexError(f"a SpanBatch has one dimension, the index {index!r} has {len(index)}")
        if isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_)):
            i = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= i < len(self):
                raise IndexError(f"row {index} of a SpanBatch of {len(self)} rows")
            part = slice(self.offsets[i], self.offsets[i + 1])
            return np.stack([self.start[part], self.end[part]], axis=1)
        if isinstance(index, slice):
            begin, stop, step = index.indices(len(self))
            if step == 1:
                return self._rows(begin, max(begin, stop))
            return self._take(np.arange(begin, stop, step, dtype=np.int64))
        rows = np.asarray(index)
        if rows.ndim != 1 or (rows.size and rows.dtype != bool and not np.issubdtype(rows.dtype, np.integer)):
            raise IndexError(f"rows are chosen by an int, a slice, a mask or an index array, not by {index!r}")
        if rows.dtype == bool:
            if len(rows) != len(self):
                raise IndexError(f"a mask of {len(rows)} rows on a SpanBatch of {len(self)}")
            return self._take(np.flatnonzero(rows).astype(np.int64))
        rows = rows.astype(np.int64)
        if rows.size and not (-len(self) <= rows.min() and rows.max() < len(self)):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of a SpanBatch of {len(self)} rows")
        return self._take(np.where(rows < 0, rows + len(self), rows))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ObjectArray:
        if dtype is not None and np.dtype(dtype) != object:
            raise TypeError(f"a SpanBatch converts to dtype object only, not to {np.dtype(dtype)}")
        if copy is False:
            raise ValueError("a SpanBatch cannot become an array without a copy")
        out = np.empty(len(self), dtype=object)
        for i, row in enumerate(self):
            out[i] = row
        return out

    def __repr__(self) -> str:
        extra = [name for name in ("label", "score", "length") if getattr(self, name) is not None]
        return f"SpanBatch(rows={len(self)}, spans={len(self.start)}{''.join(f', {name}' for name in extra)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable; _trusted freezes them again.
        return SpanBatch._trusted, tuple(getattr(self, name) for name in _FIELDS)

    # -- derived

    @property
    def counts(self) -> IntArray:
        """Number of spans in each row, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def row(self) -> IntArray:
        """Row of each span, shape (m,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    def tolist(self) -> list[list[list[int]]]:
        """Return plain lists: one list of ``[start, end]`` pairs for each row."""
        pairs = np.stack([self.start, self.end], axis=1).tolist()
        cuts = self.offsets.tolist()
        return [pairs[a:b] for a, b in pairwise(cuts)]

    def equals(self, other: SpanBatch) -> bool:
        """Tell whether the other batch holds the same spans, labels, scores and lengths in the same order."""
        for name in _FIELDS:
            a, b = getattr(self, name), getattr(other, name)
            if (a is None) != (b is None):
                return False
            if a is not None and not np.array_equal(a, b, equal_nan=name == "score"):
                return False
        return True

    def with_length(self, length: IntArray) -> SpanBatch:
        """Return the batch with the lengths of its texts, shape (n,), unchecked: see :func:`check_spans`."""
        return SpanBatch._trusted(self.offsets, self.start, self.end, self.label, self.score, length)

    def _rows(self, begin: int, stop: int) -> SpanBatch:
        first, last = self.offsets[begin], self.offsets[stop]
        return SpanBatch._trusted(
            self.offsets[begin : stop + 1] - first,
            self.start[first:last],
            self.end[first:last],
            None if self.label is None else self.label[first:last],
            None if self.score is None else self.score[first:last],
            None if self.length is None else self.length[begin:stop],
        )

    def _take(self, rows: IntArray) -> SpanBatch:
        counts = self.counts[rows]
        offsets = _offsets(counts)
        spans = np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        return SpanBatch._trusted(
            offsets,
            self.start[spans],
            self.end[spans],
            None if self.label is None else self.label[spans],
            None if self.score is None else self.score[spans],
            None if self.length is None else self.length[rows],
        )

    def _keep(self, spans: BoolArray) -> SpanBatch:
        """Return the batch with only the spans that the mask (m,) names, in all the rows."""
        offsets = _offsets(spans)[self.offsets]
        return SpanBatch._trusted(
            offsets,
            self.start[spans],
            self.end[spans],
            None if self.label is None else self.label[spans],
            None if self.score is None else self.score[spans],
            self.length,
        )


_FIELDS = ("offsets", "start", "end", "label", "score", "length")


def _offsets(counts: NDArray[Any]) -> IntArray:
    """Return the row offsets (n + 1,) of rows that hold the given numbers of spans."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _freeze(batch: SpanBatch) -> None:
    for name in _FIELDS:
        array = getattr(batch, name)
        if array is not None and array.flags.writeable:
            # A view is frozen, not the array that somebody else may hold and write to.
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(batch, name, view)


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    return f"{type(value).__name__}"


def check_spans(
    batch: SpanBatch, *, name: str, invalid: str = "raise", inclusive: bool = False, unit: str = "characters"
) -> tuple[SpanBatch, InvalidCounts]:
    """Apply the rule ``0 <= start < end <= length`` to every span.

    Parameters
    ----------
    batch : SpanBatch
        Spans as they were read; the last part of the rule applies when ``batch.length`` is there.
    name : str
        The argument that messages name.
    invalid : {"raise", "drop", "clip"}
        ``"raise"`` counts all offending rows and names the first five spans. ``"drop"`` leaves invalid spans out.
        ``"clip"`` cuts at 0 and at the end of the text and leaves out what became empty. Reversed spans (the end
        before the start) and offsets of 2**53 or more always raise: no reading of them is safe.
    inclusive : bool
        Whether the ends were given inclusively; used by messages only.
    unit : str
        What the offsets count; used by messages only.

    Returns
    -------
    batch : SpanBatch
        The valid spans.
    counts : InvalidCounts
        What was dropped and clipped.
    """
    if invalid not in POLICIES:
        raise ValueError(f"invalid must be one of {', '.join(map(repr, POLICIES))}, got {invalid!r}")
    start, end = batch.start, batch.end
    limit = None if batch.length is None else np.repeat(batch.length, batch.counts)
    bad = (start < 0) | (end <= start)
    if limit is not None:
        bad |= end > limit
    if len(end) and int(end.max()) >= MAX_OFFSET:
        bad |= end >= MAX_OFFSET
    if not bad.any():
        return batch, InvalidCounts()
    fatal = (end < start) | ((start >= MAX_OFFSET) | (end >= MAX_OFFSET) if limit is None else False)
    if invalid == "raise" or fatal.any():
        raise ValueError(_message(batch, bad if invalid == "raise" else fatal, name, inclusive, unit))
    rows = len(np.unique(batch.row[bad]))
    if invalid == "drop":
        return batch._keep(~bad), InvalidCounts(rows=rows, dropped=int(bad.sum()))
    cut_start, cut_end = np.maximum(start, 0), np.maximum(end, 0)
    if limit is not None:
        cut_start, cut_end = np.minimum(cut_start, limit), np.minimum(cut_end, limit)
    keep = cut_end > cut_start
    clipped = SpanBatch._trusted(batch.offsets, cut_start, cut_end, batch.label, batch.score, batch.length)._keep(keep)
    return clipped, InvalidCounts(rows=rows, dropped=int((~keep).sum()), clipped=int((bad & keep).sum()))


def _message(batch: SpanBatch, bad: BoolArray, name: str, inclusive: bool, unit: str) -> str:
    rows = batch.row
    where = np.flatnonzero(bad)
    named = "; ".join(_reason(batch, int(j), rows, inclusive, unit) for j in where[:_NAMED])
    more = f"; and {len(where) - _NAMED} more" if len(where) > _NAMED else ""
    n, n_rows = len(where), len(np.unique(rows[where]))
    return (
        f"{name}: {n} invalid span{'s' * (n != 1)} in {n_rows} row{'s' * (n_rows != 1)}: {named}{more}"
        " (expected 0 <= start < end" + (" <= length of the text" if batch.length is not None else "") + ")"
    )


def _reason(batch: SpanBatch, j: int, rows: IntArray, inclusive: bool, unit: str) -> str:
    start, end, row = int(batch.start[j]), int(batch.end[j]), int(rows[j])
    length = None if batch.length is None else int(batch.length[row])
    if end < start:
        reason = "reversed"
    elif start < 0:
        reason = "negative"
    elif length is not None and end > length:
        reason = f"past the end of the text ({length} {unit})"
    elif end >= MAX_OFFSET:
        reason = f"offset of {MAX_OFFSET} or more"
    else:
        reason = "empty"
    shown = f"[{start}, {end - 1}]" if inclusive else f"[{start}, {end}]"
    return f"row {row}, span {j - int(batch.offsets[row])} {shown}: {reason}"
