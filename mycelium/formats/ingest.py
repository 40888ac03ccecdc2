"""The one entrance of spans: recognise the container, read it, convert the units, check the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelium.formats.containers import column_of, library
from mycelium.formats.raw import Raw
from mycelium.formats.rows import read_rows
from mycelium.formats.texts import text_lengths, text_list
from mycelium.formats.units import convert, exclusive_ends
from mycelium.spans import POLICIES, BoolArray, InvalidCounts, SpanBatch, check_spans

__all__ = ["ENDS", "MISSING_ROWS", "UNITS", "as_spans", "read_raw", "read_spans"]

UNITS = ("codepoint", "utf16", "utf8")
ENDS = ("exclusive", "inclusive")
MISSING_ROWS = ("raise", "empty")


def as_spans(
    x: Any,
    *,
    text: Any = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
    name: str = "spans",
) -> SpanBatch:
    """Read a batch of span sets, one for each row.

    Parameters
    ----------
    x : sequence of n rows
        A list, tuple, NumPy array, pandas or polars Series, Arrow list column, column of a ``datasets`` table, or a
        SpanBatch. Always a batch: one set of spans goes in as ``[spans]``.

        A *row* is a list or tuple of spans, a ``(k, 2)`` integer array, an empty array, or a dict of equally long
        lists (``{"start": [...], "end": [...]}``). None, and NaN or NA where pandas puts it, mean "not annotated"
        (see `missing_rows`); an empty list means "annotated, nothing found".

        A *span* is ``[start, end]``, ``[start, end, label]``, or a dict with ``start``, ``end`` and optionally its
        type (``label``, ``type`` or ``label_type``) and its probability (``prob``, ``score`` or ``confidence``); of
        several such keys the first in this order is read, others are ignored. Forms may be mixed. Offsets are
        integers; 3.0, "3" and True are not.
    text : sequence of n str, optional
        The text of each row. With it, spans past the end of their text are invalid, and the batch knows its lengths.
    invalid : {"raise", "drop", "clip"}, default="raise"
        What to do with spans that are negative, empty, past the end of the text or, where units are converted,
        begin or end inside a character. ``"raise"`` counts all of them and names the first five; ``"drop"`` leaves
        them out; ``"clip"`` cuts at 0 and at the end of the text and drops what became empty and what lies inside
        a character. Reversed spans and wrong types always raise.
    missing_rows : {"raise", "empty"}, default="raise"
        Whether rows that are None are refused or read as rows without spans.
    offsets : {"codepoint", "utf16", "utf8"}, default="codepoint"
        The unit that offsets count: Python characters, UTF-16 code units (JavaScript, Java), or UTF-8 bytes. The last
        two need `text`. The result counts characters in every case. A SpanBatch is taken as it is, whatever the unit.
    end : {"exclusive", "inclusive"}, default="exclusive"
        Whether the end is the unit after the last of the span, or the last itself. No bearing on a SpanBatch either.
    name : str, default="spans"
        The argument that messages name.

    Returns
    -------
    SpanBatch
        Half-open offsets in characters; spans, labels and scores in the order in which they were given. Labels are
        there when a span has one, and so are scores (NaN for spans without).

    Raises
    ------
    TypeError
        When `x`, a row, a span or an offset has a type that is not listed above.
    ValueError
        When a row is missing, a span is invalid (see above), the number of texts differs from the number of rows, an
        option has an unknown value, or units are to be converted without `text`.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> batch = as_spans([[[0, 4], [6, 9]], [], [{"start": 2, "end": 8, "label": "conflict", "prob": 0.7}]])
    >>> batch
    SpanBatch(rows=3, spans=3, label, score)
    >>> batch.label.tolist(), batch.score.tolist()
    ([None, None, 'conflict'], [nan, nan, 0.7])

    A label exported by a browser tool, which counts the emoji as two units:

    >>> as_spans([[[3, 6]]], text=["🙂 bad fact"], offsets="utf16").tolist()
    [[[2, 5]]]
    """
    batch, _ = read_spans(x, name=name, text=text, invalid=invalid, missing_rows=missing_rows, offsets=offsets, end=end)
    return batch


def read_spans(
    x: Any,
    *,
    name: str = "spans",
    text: Any = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
) -> tuple[SpanBatch, InvalidCounts]:
    """Read a batch as :func:`as_spans` does, and tell what leniency did to it.

    Returns
    -------
    batch : SpanBatch
        The spans.
    counts : InvalidCounts
        How many rows held invalid spans, how many spans were dropped and clipped, how many rows were missing.

    Examples
    --------
    >>> from mycelium.formats import read_spans
    >>> batch, counts = read_spans([[[0, 4], [3, 12]], None], text=["0123456789", "abc"], invalid="clip",
    ...                            missing_rows="empty")
    >>> batch.tolist(), counts
    ([[[0, 4], [3, 10]], []], InvalidCounts(rows=1, dropped=0, clipped=1, missing=1))
    """
    for option, value, known in (
        ("invalid", invalid, POLICIES),
        ("offsets", offsets, UNITS),
        ("end", end, ENDS),
        ("missing_rows", missing_rows, MISSING_ROWS),
    ):
        if value not in known:
            raise ValueError(f"{option} must be one of {', '.join(map(repr, known))}, got {value!r}")
    if isinstance(x, SpanBatch):
        return _again(x, name, text, invalid)
    if offsets != "codepoint" and text is None:
        raise ValueError(f"{name}: offsets={offsets!r} can only be converted with the texts; give text")
    raw = read_raw(x, name)
    missing = _missing(raw.missing, name, missing_rows)
    n = len(raw.offsets) - 1
    inclusive = end == "inclusive"
    if offsets != "codepoint":
        texts = text_list(text)
        _same_length(name, n, len(texts))
        batch, counts = convert(raw, texts, unit=offsets, name=name, invalid=invalid, inclusive=inclusive)
    else:
        length = None
        if text is not None:
            length = text_lengths(text)
            _same_length(name, n, len(length))
        ends = exclusive_ends(raw, name) if inclusive else raw.end
        batch = SpanBatch._trusted(raw.offsets, raw.start, ends, raw.label, raw.score, length)
        batch, counts = check_spans(batch, name=name, invalid=invalid, inclusive=inclusive)
    return batch, counts._replace(missing=missing)


def _again(batch: SpanBatch, name: str, text: Any, invalid: str) -> tuple[SpanBatch, InvalidCounts]:
    """Attach the lengths of the texts to a batch that was checked without them."""
    if text is None:
        return batch, InvalidCounts()
    length = text_lengths(text)
    _same_length(name, len(batch), len(length))
    if batch.length is not None and (differ := np.flatnonzero(batch.length != length)).size:
        row = int(differ[0])
        raise ValueError(
            f"{name}: row {row} was read with a text of {batch.length[row]} characters, text has {length[row]}"
        )
    longer = SpanBatch._trusted(batch.offsets, batch.start, batch.end, batch.label, batch.score, length)
    return check_spans(longer, name=name, invalid=invalid)


def read_raw(x: Any, name: str, element: str = "span") -> Raw:
    """Read a batch without checking ranges; messages name the argument and what the elements of a row are."""
    column = column_of(x, name, arrow_lists=True)
    if library(column) == "pyarrow":
        from mycelium.formats.arrow import read_arrow

        return read_arrow(column, name)
    if isinstance(column, np.ndarray):
        return _read_array(column, name, element)
    return read_rows(column, name, element)


def _read_array(x: np.ndarray[Any, Any], name: str, element: str) -> Raw:
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name}: a masked array with masked elements; give None for rows that are missing")
    if x.ndim == 0:
        raise TypeError(f"{name}: expected a batch, got an array without dimensions")
    n = len(x)
    if x.size == 0:
        nothing = np.empty(0, dtype=np.int64)
        return Raw(np.zeros(n + 1, dtype=np.int64), nothing, nothing)
    if x.dtype.kind in "iu" and x.dtype != np.uint64:
        if x.ndim == 3 and x.shape[2] == 2:
            offsets = np.arange(n + 1, dtype=np.int64) * x.shape[1]
            pairs = x.reshape(-1, 2).astype(np.int64)
            return Raw(offsets, pairs[:, 0].copy(), pairs[:, 1].copy())
        hint = "; one set of spans goes in as [spans]" if x.ndim == 2 else ""
        raise TypeError(f"{name}: expected an integer array of shape (n, k, 2), got shape {x.shape}{hint}")
    # Objects: rows, or what were rows before NumPy made one rectangular array of them. Other dtypes are diagnosed.
    return read_rows(x.tolist(), name, element)


def _missing(mask: BoolArray | None, name: str, missing_rows: str) -> int:
    if mask is None or not mask.any():
        return 0
    if missing_rows == "empty":
        return int(mask.sum())
    rows = np.flatnonzero(mask)
    noun = "row" if len(rows) == 1 else "rows"
    named = ", ".join(map(str, rows[:5])) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
    raise ValueError(
        f"{name}: {len(rows)} {noun} without annotation (None): {noun} {named};"
        ' not annotated is not "annotated, nothing found": give [] for the latter, or missing_rows="empty"'
    )


def _same_length(name: str, rows: int, texts: int) -> None:
    if rows != texts:
        raise ValueError(f"{name} has {rows} row{'s' * (rows != 1)}, text has {texts}")
