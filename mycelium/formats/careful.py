"""Reading Python rows one span at a time: irregular input, and the diagnosis of faulty input."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mycelium.formats.raw import LABEL_KEYS, SCORE_KEYS, Problems, Raw, as_labels, as_scores, show
from mycelium.spans import SpanBatch, _offsets

__all__ = ["read_carefully"]

_ROW = "expected the spans of one example: a list of [start, end]"
_SPAN = "expected [start, end], [start, end, label] or a dict with start and end"
_LOW, _HIGH = -(2**63), 2**63 - 1

_T = TypeVar("_T")


class _Span(NamedTuple):
    start: int
    end: int
    label: str | None
    score: float | None


class _Fault(Exception):
    """A span or row that cannot be read; the message is the reason."""

    def __init__(self, reason: str, error: type[TypeError] | type[ValueError] = TypeError) -> None:
        super().__init__(reason)
        self.error = error


def read_carefully(rows: Sequence[Any], name: str, element: str = "span") -> Raw:
    """Read rows of any mixture of forms; raise with all that is wrong counted and the first five named."""
    problems = Problems(name, element)
    counts: list[int] = []
    spans: list[_Span] = []
    for i, row in enumerate(rows):
        before = len(spans)
        for j, span in enumerate(_attempt(_spans_of, row, problems, i, None) or ()):
            read = _attempt(_read, span, problems, i, j)
            if read is not None:
                spans.append(read)
        counts.append(len(spans) - before)
    problems.check()
    return Raw(
        _offsets(np.array(counts, dtype=np.int64)),
        np.array([span.start for span in spans], dtype=np.int64),
        np.array([span.end for span in spans], dtype=np.int64),
        as_labels([span.label for span in spans]),
        as_scores(np.array([span.score for span in spans], dtype=np.float64)),
    )


def _attempt(read: Callable[[Any], _T], value: Any, problems: Problems, row: int, span: int | None) -> _T | None:
    try:
        return read(value)
    except _Fault as fault:
        problems.add(row, span, value, str(fault), fault.error)
        return None


def _spans_of(row: Any) -> Sequence[Any]:
    """Return the spans of a row, each in the form in which it was given."""
    if isinstance(row, (list, tuple)):
        return row
    if isinstance(row, Mapping):
        return _zipped(row)
    if isinstance(row, np.ndarray):
        return _of_array(row)
    if isinstance(row, AbstractSet):
        raise _Fault(f"a set has no order, {_ROW}, got {show(row)}")
    if isinstance(row, (str, bytes, SpanBatch, np.generic)):
        raise _Fault(f"{_ROW}, got {show(row)} ({type(row).__name__})")
    if hasattr(row, "__array__"):  # a pandas or polars Series, a tensor
        return _of_array(np.asarray(row))
    raise _Fault(f"{_ROW}, got {show(row)} ({type(row).__name__})")


def _of_array(row: np.ndarray[Any, Any]) -> Sequence[Any]:
    if isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row):
        raise _Fault("a masked array with masked elements", ValueError)
    if row.ndim == 0:
        raise _Fault(f"{_ROW}, got {show(row)}")
    spans: list[Any] = row.tolist() if row.size else []
    return spans


def _zipped(row: Mapping[Any, Any]) -> Sequence[Any]:
    """Turn a dict of lists into a list of dicts."""
    names = [name for name in ("start", "end", *LABEL_KEYS, *SCORE_KEYS) if name in row]
    for name in ("start", "end"):
        if name not in row:
            raise _Fault(
                f"a row given as a dict needs the lists start and end, {name!r} is not in {show(row)}", ValueError
            )
    columns: dict[str, Sequence[Any]] = {}
    for name in names:
        column = row[name]
        if isinstance(column, np.ndarray) and column.ndim == 1:
            column = column.tolist()
        if not isinstance(column, (list, tuple)):
            if column is None and name not in ("start", "end"):
                continue
            raise _Fault(f"a row given as a dict holds lists, {name} is {show(column)} ({type(column).__name__})")
        columns[name] = column
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise _Fault(
            "the lists of a row must be equally long, got "
            + ", ".join(f"{size} for {name}" for name, size in lengths.items()),
            ValueError,
        )
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _read(span: Any) -> _Span:
    if hasattr(span, "as_py"):
        span = span.as_py()
    if isinstance(span, np.ndarray) and span.ndim == 1:
        span = span.tolist()
    if isinstance(span, (list, tuple)):
        if len(span) not in (2, 3):
            raise _Fault(f"{_SPAN}, got {len(span)} element{'s' * (len(span) != 1)}", ValueError)
        label = span[2] if len(span) == 3 else None
        return _Span(_integer(span[0], "start"), _integer(span[1], "end"), _label(label, "label"), None)
    if isinstance(span, Mapping):
        for name in ("start", "end"):
            if name not in span:
                raise _Fault(f"the span has no {name!r}", ValueError)
        label_key = next((key for key in LABEL_KEYS if key in span), None)
        score_key = next((key for key in SCORE_KEYS if key in span), None)
        return _Span(
            _integer(span["start"], "start"),
            _integer(span["end"], "end"),
            None if label_key is None else _label(span[label_key], label_key),
            None if score_key is None else _score(span[score_key], score_key),
        )
    hint = "; a batch is a list of rows, and a row a list of spans" if isinstance(span, (int, np.integer)) else ""
    raise _Fault(f"{_SPAN}, got {show(span)} ({type(span).__name__}){hint}")


def _integer(value: Any, name: str) -> int:
    if not isinstance(value, (bool, np.bool_)):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if not _LOW <= number <= _HIGH:
                raise _Fault(f"{name} is {number}, which does not fit 64 bits", ValueError)
            return number
    raise _Fault(f"{name} is {show(value)} ({type(value).__name__}), expected an integer")


def _label(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _Fault(f"{name} is {show(value)} ({type(value).__name__}), expected a string or None")


def _score(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise _Fault(f"{name} is {show(value)} ({type(value).__name__}), expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise _Fault(f"{name} is {show(value)}, expected a finite number", ValueError)
    return number
