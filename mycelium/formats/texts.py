"""The texts that spans point into: their number of characters, and the texts themselves where units differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelium.formats.containers import column_of, library
from mycelium.formats.raw import show, types_of
from mycelium.spans import IntArray

__all__ = ["same_lengths", "text_lengths", "text_list"]


def text_lengths(texts: Any, *, name: str = "text") -> IntArray:
    """Return the number of characters (Python code points) of each text.

    Parameters
    ----------
    texts : sequence of str, of length n
        A list, tuple, array, pandas or polars Series, Arrow column of strings, or column of a ``datasets`` table.
    name : str, default="text"
        The argument that messages name.

    Returns
    -------
    int64 array of shape (n,)

    Raises
    ------
    TypeError
        When an element is not a string (None included), naming its row, or ``texts`` is a single string.

    Examples
    --------
    >>> from mycelium.formats import text_lengths
    >>> text_lengths(["fact", "", "🙂!"]).tolist()
    [4, 0, 2]
    """
    column = column_of(texts, name, arrow_lists=False)
    if library(column) == "pyarrow":
        lengths = _arrow_lengths(column, name)
        if lengths is not None:
            return lengths
    strings = _strings(column, name)
    return np.fromiter(map(len, strings), np.int64, len(strings))


def text_list(texts: Any, *, name: str = "text") -> Sequence[str]:
    """Return the texts as a list or tuple of Python strings, checked as :func:`text_lengths` does."""
    return _strings(column_of(texts, name, arrow_lists=False), name)


def same_lengths(offsets: IntArray, texts: Any, *, name: str, element: str) -> IntArray:
    """Return the lengths (n,) of rows of values, after checking them against the texts when these are given."""
    length = np.diff(offsets)
    if texts is not None:
        characters = text_lengths(texts)
        if len(characters) != len(length):
            raise ValueError(f"{name} has {len(length)} row{'s' * (len(length) != 1)}, text has {len(characters)}")
        uneven = np.flatnonzero(characters != length)
        if len(uneven):
            row = int(uneven[0])
            more = f" ({len(uneven)} such rows)" if len(uneven) > 1 else ""
            raise ValueError(
                f"{name}: row {row} has {int(length[row])} values, its text {int(characters[row])} {element}s{more}"
            )
    return length


def _strings(column: Any, name: str) -> Sequence[str]:
    if library(column) == "pyarrow":
        column = column.to_pylist()
    elif isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise TypeError(f"{name}: expected one text for each row, got an array of shape {column.shape}")
        column = column.tolist()
    if not types_of(column) <= {str}:
        wrong = [i for i, value in enumerate(column) if not isinstance(value, str)]
        if wrong:
            named = "; ".join(f"row {i} is {show(column[i])} ({type(column[i]).__name__})" for i in wrong[:5])
            more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise TypeError(f"{name}: expected strings, {named}{more}")
    strings: Sequence[str] = column
    return strings


def _arrow_lengths(column: Any, name: str) -> IntArray | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None  # dictionaries, views, extension types: through Python strings
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise TypeError(f"{name}: expected strings, row {row} is null ({column.null_count} in all)")
    return np.asarray(pc.utf8_length(column)).astype(np.int64)
