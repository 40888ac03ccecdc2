"""Reading Arrow columns: lists of pairs, lists of structs, structs of lists, in whatever layout they are stored.

Everything works on the buffers; no row becomes a Python object. What Arrow would get wrong is done by hand: casts
of list views (pyarrow drops rows), and conversions from Python (``pa.array(rows, type=...)`` makes 3 of 3.7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mycelium.formats.raw import LABEL_KEYS, SCORE_KEYS, Problems, Raw, as_labels, as_scores, concatenate
from mycelium.spans import FloatArray, IntArray, ObjectArray, _offsets

__all__ = ["is_list", "list_parts", "plain", "read_arrow"]

_FORMS = "a list of [start, end] or of structs with start and end"


def read_arrow(column: Any, name: str) -> Raw:
    """Read an Arrow Array or ChunkedArray, one row for each element.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray, of length n
        Rows are ``list``, ``large_list``, ``fixed_size_list`` or ``list_view`` of spans. Spans are lists of two
        integers (of any of these kinds), or structs with ``start``, ``end`` and optionally a type and a probability.
        Rows may also be structs of lists, as ``datasets`` stores a sequence of records. Null rows are missing.
    name : str
        The argument that messages name.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts, first = [], 0
    for chunk in chunks or [pa.array([], type=column.type)]:
        parts.append(_read_chunk(chunk, _Place(name, first)))
        first += len(chunk)
    return concatenate(parts)


class _Place(NamedTuple):
    """Where a chunk stands in the column, for messages."""

    name: str
    first: int
    rows: IntArray | None = None
    offsets: IntArray | None = None

    def of(self, span: int) -> tuple[int, int]:
        """Return the row of the column, and the place in its row, of a span of the chunk."""
        assert self.offsets is not None
        row = int(np.searchsorted(self.offsets, span, side="right")) - 1
        return self.row(row), span - int(self.offsets[row])

    def row(self, row: int) -> int:
        return self.first + (row if self.rows is None else int(self.rows[row]))


def _read_chunk(array: Any, place: _Place) -> Raw:
    array = plain(array)
    if not array.null_count:
        return _read_rows(array, place)
    null = np.asarray(array.is_null())
    present = np.flatnonzero(~null)
    if not len(present):
        nothing = np.empty(0, dtype=np.int64)
        return Raw(np.zeros(len(array) + 1, dtype=np.int64), nothing, nothing, missing=null)
    # Filtering leaves out whatever values the null slots hide.
    raw = _read_rows(array.filter(pa.array(~null)), place._replace(rows=present))
    counts = np.zeros(len(array), dtype=np.int64)
    counts[present] = np.diff(raw.offsets)
    return raw._replace(offsets=_offsets(counts), missing=null)


def _read_rows(array: Any, place: _Place) -> Raw:
    """Read rows of which none is null."""
    if pa.types.is_null(array.type):  # without elements, since nulls are missing rows
        nothing = np.empty(0, dtype=np.int64)
        return Raw(np.zeros(1, dtype=np.int64), nothing, nothing)
    if pa.types.is_struct(array.type):
        return _structs_of_lists(array, place)
    if not is_list(array.type):
        raise TypeError(
            f"{place.name}: expected an Arrow column whose rows are {_FORMS}, got {array.type}{_json(array.type)}"
        )
    offsets, spans = list_parts(array)
    spans = plain(spans)
    place = place._replace(offsets=offsets)
    _no_nulls(spans, place, spans, "the span is null")
    if pa.types.is_struct(spans.type):
        return Raw(offsets, *_structs(spans, place))
    if not is_list(spans.type):
        if not len(spans):
            nothing = np.empty(0, dtype=np.int64)
            return Raw(offsets, nothing, nothing)
        kind = spans.type
        raise TypeError(
            f"{place.name}: expected an Arrow column whose rows are {_FORMS}, got a list of {kind}{_json(kind)}"
        )
    ends, values = list_parts(spans)
    widths = np.diff(ends)
    if (widths != 2).any():
        _refuse(
            place, np.flatnonzero(widths != 2), spans, "expected [start, end], got a list of another length", ValueError
        )
    flat = _integers(plain(values), place, spans)
    return Raw(offsets, flat[0::2].copy(), flat[1::2].copy())


def _structs(spans: Any, place: _Place) -> tuple[IntArray, IntArray, ObjectArray | None, FloatArray | None]:
    fields = {field.name: plain(spans.field(i)) for i, field in enumerate(spans.type)}
    for key in ("start", "end"):
        if key not in fields:
            raise ValueError(f"{place.name}: the spans have no field {key!r}, their type is {spans.type}")
    start, end = (_integers(fields[key], place, spans, key) for key in ("start", "end"))
    label_key, score_key = (_first(fields, keys) for keys in (LABEL_KEYS, SCORE_KEYS))
    return (
        start,
        end,
        None if label_key is None else _labels(fields[label_key], place, label_key),
        None if score_key is None else _scores(fields[score_key], place, spans, score_key),
    )


def _structs_of_lists(rows: Any, place: _Place) -> Raw:
    columns = {field.name: plain(rows.field(i)) for i, field in enumerate(rows.type)}
    for key in ("start", "end"):
        if key not in columns:
            raise ValueError(f"{place.name}: the rows have no field {key!r}, their type is {rows.type}")
    keys = ["start", "end", *filter(None, (_first(columns, LABEL_KEYS), _first(columns, SCORE_KEYS)))]
    offsets: IntArray | None = None
    values = []
    for key in keys:
        column = columns[key]
        if pa.types.is_null(column.type) and key not in ("start", "end"):
            continue
        if not is_list(column.type):
            raise TypeError(f"{place.name}: a row given as a struct holds lists, its field {key} is {column.type}")
        if column.null_count:
            row = place.row(int(np.flatnonzero(np.asarray(column.is_null()))[0]))
            raise ValueError(f"{place.name}: row {row}: the list {key} is null")
        cuts, flat = list_parts(column)
        if offsets is None:
            offsets = cuts
        elif (uneven := np.flatnonzero(np.diff(cuts) != np.diff(offsets))).size:
            i = int(uneven[0])
            sizes = f"{int(np.diff(offsets)[i])} for start, {int(np.diff(cuts)[i])} for {key}"
            raise ValueError(f"{place.name}: row {place.row(i)}: the lists of a row must be equally long, got {sizes}")
        values.append((key, flat))
    assert offsets is not None
    spans = pa.StructArray.from_arrays([flat for _, flat in values], names=[key for key, _ in values])
    return Raw(offsets, *_structs(spans, place._replace(offsets=offsets)))


# -- pieces


def plain(array: Any) -> Any:
    """Return the storage of an extension array, and the values of a dictionary-encoded one."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        else:
            return array


def is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or _is_view(kind)
    )


def _is_view(kind: Any) -> bool:
    # older versions of pyarrow have no list views
    return str(kind).startswith(("list_view<", "large_list_view<"))


def _json(kind: Any) -> str:
    return "; decode JSON first" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else ""


def list_parts(array: Any) -> tuple[IntArray, Any]:
    """Return the offsets (n + 1,) of the lists, of which none is null, and their elements in order."""
    n = len(array)
    if pa.types.is_fixed_size_list(array.type):
        width = array.type.list_size
        # .values begins at the start of the buffer, whatever slice the array is
        return np.arange(n + 1, dtype=np.int64) * width, array.values.slice(array.offset * width, n * width)
    if not n:
        return np.zeros(1, dtype=np.int64), array.values.slice(0, 0)
    if _is_view(array.type):
        begins, sizes = np.asarray(array.offsets)[:n], np.asarray(array.sizes)
        offsets = _offsets(sizes)
        index = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
        return offsets, array.values.take(pa.array(index))
    cuts = np.asarray(array.offsets)
    first, last = int(cuts[0]), int(cuts[-1])
    if first:
        cuts = cuts - cuts[0]
    # A view of Arrow's buffer where that has 64 bits.
    return cuts.astype(np.int64, copy=False), array.values.slice(first, last - first)


def _integers(values: Any, place: _Place, spans: Any, key: str | None = None) -> IntArray:
    """Return the offsets; ``spans`` and ``key`` are for messages. Two values go to a span when ``key`` is None."""
    if pa.types.is_integer(values.type):
        if values.null_count:
            null = np.flatnonzero(np.asarray(values.is_null()))
            faulty, which = (null // 2, ("start", "end")[int(null[0]) % 2]) if key is None else (null, key)
            _refuse(place, np.unique(faulty), spans, f"{which} is null", TypeError)
        numbers = values.to_numpy(zero_copy_only=True)
        if numbers.dtype == np.uint64 and (large := np.flatnonzero(numbers > np.uint64(2**63 - 1))).size:
            faulty = np.unique(large // 2 if key is None else large)
            _refuse(place, faulty, spans, f"{key or 'an offset'} does not fit 64 bits", ValueError)
        out: IntArray = numbers.astype(np.int64, copy=False)
        return out
    if len(values):
        everything = np.arange(len(spans))
        _refuse(place, everything, spans, f"{key or 'the offsets'} of type {values.type}, expected integers", TypeError)
    return np.empty(0, dtype=np.int64)


def _labels(values: Any, place: _Place, key: str) -> ObjectArray | None:
    kind = values.type
    if pa.types.is_null(kind) or values.null_count == len(values):
        return None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"):
        raise TypeError(f"{place.name}: expected strings in the field {key}, got {kind}")
    return as_labels(values.to_numpy(zero_copy_only=False))


def _scores(values: Any, place: _Place, spans: Any, key: str) -> FloatArray | None:
    kind = values.type
    if pa.types.is_null(kind) or values.null_count == len(values):
        return None
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise TypeError(f"{place.name}: expected numbers in the field {key}, got {kind}")
    scores: FloatArray = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    finite = np.isfinite(scores)
    if not finite.all() and (~finite).sum() != values.null_count:
        faulty = np.flatnonzero(~finite & np.asarray(pc.is_valid(values)))
        _refuse(place, faulty, spans, f"{key} is not finite", ValueError)
    return as_scores(scores)


def _first(names: Iterable[str], keys: tuple[str, ...]) -> str | None:
    known = set(names)
    return next((key for key in keys if key in known), None)


def _no_nulls(values: Any, place: _Place, spans: Any, reason: str) -> None:
    if values.null_count:
        _refuse(place, np.flatnonzero(np.asarray(values.is_null())), spans, reason, TypeError)


def _refuse(place: _Place, faulty: Any, spans: Any, reason: str, error: type[TypeError] | type[ValueError]) -> None:
    problems = Problems(place.name)
    for j in faulty.tolist():
        shown = spans[j].as_py() if problems.count < 5 else None
        problems.add(*place.of(j), shown, reason, error)
    problems.check()
