"""Reading rows that are Python objects: lists, tuples, dicts, small arrays.

Regular input (all rows of one kind, all spans of one form) is read by C-level loops only: ``map``, ``chain``,
``itemgetter``. Whatever these refuse, or might misread, goes through :mod:`mycelium.formats.careful`, which
looks at every span and says what is wrong with it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from mycelium.formats.careful import read_carefully
from mycelium.formats.raw import LABEL_KEYS, SCORE_KEYS, Raw, as_labels, as_scores, distinct, flatten, types_of
from mycelium.spans import FloatArray, IntArray, ObjectArray, _offsets

__all__ = ["read_rows"]

_LISTS = {list, tuple}
_NONE = type(None)


def read_rows(rows: Sequence[Any], name: str, element: str = "span") -> Raw:
    """Read a list or tuple of rows; a row that is None, NaN or NA is marked missing and read as empty."""
    types = types_of(rows)
    if any(t.__module__.startswith("pyarrow") and hasattr(t, "as_py") for t in types):
        # what iterating over an Arrow column gives
        rows = [row.as_py() if hasattr(row, "as_py") else row for row in rows]
        types = types_of(rows)
    rows, missing = _find_missing(rows, types)
    try:
        raw = _regular(rows, types if missing is None else types_of(rows))
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError, DeprecationWarning):
        raw = None  # the warning is NumPy 1's when a NumPy bool is taken as an integer, where warnings are errors
    if raw is None:
        raw = read_carefully(rows, name, element)
    return raw._replace(missing=missing)


def _find_missing(rows: Sequence[Any], types: set[type]) -> tuple[Sequence[Any], Any]:
    """Return the rows with () for every missing one, and the mask of those (None when there is none)."""
    if not any(t is _NONE or issubclass(t, float) or t.__name__ in ("NAType", "NaTType") for t in types):
        return rows, None
    # NaN is the only float that differs from itself.
    mask = [
        row is None or type(row).__name__ in ("NAType", "NaTType") or (isinstance(row, float) and row != row)
        for row in rows
    ]
    if not any(mask):
        return rows, None
    return [() if gone else row for row, gone in zip(rows, mask, strict=True)], np.array(mask)


def _regular(rows: Sequence[Any], types: set[type]) -> Raw | None:
    if types <= _LISTS:
        return _regular_lists(rows)
    if types == {dict}:
        return _dicts_of_lists(rows)
    if types == {np.ndarray}:
        return _arrays(rows)
    if types <= {list, tuple, np.ndarray}:
        return _regular_lists([_listed(row) if type(row) is np.ndarray else row for row in rows])
    return None


def _regular_lists(rows: Sequence[Any]) -> Raw | None:
    return _regular_spans(flatten(rows), _offsets(np.fromiter(map(len, rows), np.int64, len(rows))))


def _listed(row: np.ndarray[Any, Any]) -> Sequence[Any]:
    spans: list[Any] = row.tolist() if row.size else []
    return spans


def _regular_spans(spans: list[Any], offsets: IntArray) -> Raw | None:
    types = types_of(spans)
    if types <= _LISTS:
        widths = distinct(list(map(len, spans)))
        if widths <= {2}:
            flat = _integers(flatten(spans))
            return Raw(offsets, flat[0::2].copy(), flat[1::2].copy())
        if widths <= {2, 3}:
            start = _integers(list(map(itemgetter(0), spans)))
            end = _integers(list(map(itemgetter(1), spans)))
            labels = (
                list(map(itemgetter(2), spans)) if widths == {3} else [s[2] if len(s) == 3 else None for s in spans]
            )
            return Raw(offsets, start, end, _labels(labels))
    elif types == {dict}:
        start = _integers(list(map(itemgetter("start"), spans)))
        end = _integers(list(map(itemgetter("end"), spans)))
        keys = set(map(tuple, spans))
        label = _column(spans, keys, LABEL_KEYS, _labels)
        score = _column(spans, keys, SCORE_KEYS, _scores)
        return Raw(offsets, start, end, label, score)
    elif types == {np.ndarray} and distinct(list(map(attrgetter("shape"), spans))) == {(2,)}:
        joined = _joined(spans)
        return None if joined is None else Raw(offsets, joined[0::2].copy(), joined[1::2].copy())
    return None


def _column(spans: Sequence[Any], keys: set[tuple[Any, ...]], names: Iterable[str], read: Callable[..., Any]) -> Any:
    """Read an optional field of dicts, each of which may name it differently or lack it."""
    chosen = {next((name for name in names if name in known), None) for known in keys}
    if chosen <= {None}:
        return None
    if len(chosen) == 1:
        return read(list(map(itemgetter(chosen.pop()), spans)))
    if None in chosen and len(chosen) == 2:
        name = next(name for name in chosen if name is not None)
        return read([span.get(name) for span in spans])
    raise ValueError("the fields go by several names")


def _dicts_of_lists(rows: Sequence[Any]) -> Raw | None:
    starts, ends = list(map(itemgetter("start"), rows)), list(map(itemgetter("end"), rows))
    types = types_of(starts) | types_of(ends)
    counts = np.fromiter(map(len, starts), np.int64, len(starts))

    def same(lists: Sequence[Any]) -> bool:
        return bool((np.fromiter(map(len, lists), np.int64, len(lists)) == counts).all())

    if not same(ends):
        return None
    start: IntArray | None
    end: IntArray | None
    if types <= _LISTS:
        start, end = (_integers(flatten(lists)) for lists in (starts, ends))
    elif types == {np.ndarray} and set(map(attrgetter("ndim"), chain(starts, ends))) == {1}:
        start, end = _joined(starts), _joined(ends)
        if start is None or end is None:
            return None
    else:
        return None

    def flat(read: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
        def read_lists(lists: list[Any]) -> Any:
            if not (types_of(lists) <= _LISTS and same(lists)):
                raise ValueError("not a list for each row, of the same length as the others")
            return read(flatten(lists))

        return read_lists

    keys = set(map(tuple, rows))
    return Raw(
        _offsets(counts),
        start,
        end,
        _column(rows, keys, LABEL_KEYS, flat(_labels)),
        _column(rows, keys, SCORE_KEYS, flat(_scores)),
    )


def _arrays(rows: Sequence[Any]) -> Raw | None:
    kinds = {dtype.kind for dtype in distinct(list(map(attrgetter("dtype"), rows)))}
    if "O" in kinds:
        # pandas reads lists as arrays of objects
        return _regular_lists(list(map(_listed, rows)))
    shapes = set(map(attrgetter("shape"), rows))
    if all(len(shape) == 2 and shape[1] == 2 for shape in shapes) and kinds <= {"i", "u"}:
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
    else:
        # Empty rows may have any shape and type.
        counts = np.fromiter(map(attrgetter("size"), rows), np.int64, len(rows)) // 2
        rows = list(compress(rows, map(attrgetter("size"), rows)))
        if any(len(shape) != 2 or shape[1] != 2 for shape in shapes if 0 not in shape):
            return None
    pairs = _joined(rows)
    return None if pairs is None else Raw(_offsets(counts), *pairs.reshape(-1, 2).T.copy())


def _joined(arrays: Sequence[Any]) -> IntArray | None:
    if any(dtype.kind not in "iu" for dtype in distinct(list(map(attrgetter("dtype"), arrays)))):
        return None
    # "safe" refuses uint64, whose values may not fit; they go the careful way.
    return np.concatenate(arrays, dtype=np.int64, casting="safe") if arrays else np.empty(0, dtype=np.int64)


def _integers(values: list[Any]) -> IntArray:
    # array("q") takes what has an __index__, so no float, string or None; of the integers in it only bool is unwanted,
    # and a bool can hide among the values 0 and 1 alone.
    out = np.frombuffer(array("q", values), dtype=np.int64) if values else np.empty(0, dtype=np.int64)
    suspects = np.flatnonzero(out.view(np.uint64) <= 1).tolist()
    if not {bool, np.bool_}.isdisjoint(map(type, map(values.__getitem__, suspects))):
        raise TypeError("a bool")
    return out


def _labels(values: list[Any]) -> ObjectArray | None:
    if not types_of(values) <= {str, _NONE}:
        raise TypeError("a label that is neither a string nor None")
    return as_labels(values)


def _scores(values: list[Any]) -> FloatArray | None:
    types = types_of(values)
    if not types <= {float, int, np.float64, _NONE}:
        raise TypeError("a probability that is no plain number")
    scores = np.array(values, dtype=np.float64)
    # Only None becomes NaN; a NaN or infinity that was given is refused.
    if not np.isfinite(scores).all() and int(np.isfinite(scores).sum()) != len(values) - values.count(None):
        raise ValueError("a probability that is not finite")
    return as_scores(scores)
