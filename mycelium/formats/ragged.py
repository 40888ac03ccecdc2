"""Reading rows of plain values: one value for each character or token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mycelium.formats.containers import column_of, library
from mycelium.formats.raw import Problems, distinct, flatten, types_of
from mycelium.spans import IntArray, _offsets

__all__ = ["flat_values", "read_flags", "read_probabilities"]

_ROW_TYPES = {list, tuple, np.ndarray}


def flat_values(x: Any, *, name: str, element: str) -> tuple[IntArray, Any]:
    """Return the row offsets (n + 1,) and the values (m,): an array where a library gave one, or else a list.

    Parameters
    ----------
    x : sequence of n rows
        Rows are lists, tuples or one-dimensional arrays; or one array of shape (n, k); or an Arrow list column.
    name : str
        The argument that messages name.
    element : str
        What the values of a row belong to, for messages.
    """
    column = column_of(x, name, arrow_lists=False)
    if library(column) == "pyarrow":
        return _from_arrow(column, name)
    if isinstance(column, np.ndarray):
        if column.ndim == 2 and column.dtype != object and not isinstance(column, np.ma.MaskedArray):
            n, k = column.shape
            return np.arange(n + 1, dtype=np.int64) * k, column.reshape(-1)
        column = column.tolist()
    if not isinstance(column, (list, tuple)):
        raise TypeError(f"{name}: expected a list with one row for each text, got {type(column).__name__}")
    problems = Problems(name, element)
    if not types_of(column) <= _ROW_TYPES or any(isinstance(row, np.ndarray) and row.ndim != 1 for row in column):
        column = [_row(row, i, element, problems) for i, row in enumerate(column)]
        problems.check()
    offsets = _offsets(np.fromiter(map(len, column), np.int64, len(column)))
    if types_of(column) == {np.ndarray}:
        kinds = {dtype.kind for dtype in distinct([row.dtype for row in column])}
        # Arrays of one kind only: of several, NumPy would make numbers of bools and floats of integers.
        if len(kinds) == 1 and kinds <= set("biuf"):
            return offsets, np.concatenate(column)
    return offsets, flatten([row.tolist() if isinstance(row, np.ndarray) else row for row in column])


def _row(row: Any, i: int, element: str, problems: Problems) -> Sequence[Any]:
    if hasattr(row, "as_py"):  # an element of an Arrow column
        row = row.as_py()
    if not isinstance(row, (list, tuple, str, bytes, dict, np.generic)) and hasattr(row, "__array__"):
        row = np.asarray(row)
    if isinstance(row, np.ndarray) and row.ndim == 1:
        values: list[Any] = row.tolist()
        return values
    if isinstance(row, (list, tuple)):
        return row
    problems.add(i, None, None, f"expected a list with one value for each {element}, got {type(row).__name__}")
    return ()


def _from_arrow(column: Any, name: str) -> tuple[IntArray, Any]:
    import pyarrow as pa

    from mycelium.formats.arrow import is_list, list_parts, plain

    chunks = [plain(chunk) for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])]
    counts, values, first = [np.empty(0, dtype=np.int64)], [], 0
    for chunk in chunks:
        if not is_list(chunk.type):
            raise TypeError(f"{name}: expected an Arrow list column, got {chunk.type}")
        if chunk.null_count:
            row = first + int(np.flatnonzero(np.asarray(chunk.is_null()))[0])
            raise TypeError(f"{name}: row {row} is null")
        cuts, part = list_parts(chunk)
        counts.append(np.diff(cuts))
        values.append(plain(part))
        first += len(chunk)
    offsets = _offsets(np.concatenate(counts))
    kinds = {str(part.type) for part in values if len(part)}
    if len(kinds) == 1 and not any(part.null_count for part in values) and kinds.isdisjoint({"string", "large_string"}):
        return offsets, np.concatenate([part.to_numpy(zero_copy_only=False) for part in values if len(part)])
    return offsets, flatten([part.to_pylist() for part in values])


def read_flags(
    x: Any, *, name: str, element: Literal["character", "token"], ignored: bool = False
) -> tuple[IntArray, NDArray[np.int8]]:
    """Read rows of bools or of the integers 0 and 1 (and -100, where tokens may be ignored)."""
    offsets, values = flat_values(x, name=name, element=element)
    allowed = (-100, 0, 1) if ignored else (0, 1)
    expected = "expected 0 or 1" + (", or -100 for a token that is ignored" if ignored else "")
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "biu" or not len(values):
            wrong = ~np.isin(values, allowed)
            if not wrong.any():
                return offsets, values.astype(np.int8)
        values = values.tolist()
    # 1.0 == 1, hence the types.
    if types_of(values) <= {bool, int} and set(values) <= set(allowed):
        return offsets, np.array(values, dtype=np.int8)
    problems = Problems(name, element)
    flags = np.zeros(len(values), dtype=np.int8)
    for i, value in enumerate(values):
        if not isinstance(value, (bool, int, np.integer, np.bool_)):
            _note(problems, offsets, i, value, f"{expected}, got {type(value).__name__}", TypeError)
        elif value not in allowed:
            _note(problems, offsets, i, value, expected, ValueError)
        else:
            flags[i] = int(value)
    problems.check()
    return offsets, flags


def read_probabilities(x: Any, *, name: str, element: str) -> tuple[IntArray, NDArray[np.float64]]:
    """Read rows of numbers between 0 and 1."""
    offsets, values = flat_values(x, name=name, element=element)
    numbers: NDArray[np.float64] | None = None
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "iuf" or not len(values):
            numbers = values.astype(np.float64)
    elif types_of(values) <= {float, int, np.float64, np.float32}:
        numbers = np.array(values, dtype=np.float64)
    if numbers is not None and bool(((numbers >= 0) & (numbers <= 1)).all()):
        return offsets, numbers
    problems = Problems(name, element)
    out = np.zeros(len(values))
    for i, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (float, int, np.floating, np.integer)):
            _note(problems, offsets, i, value, f"expected a probability, got {type(value).__name__}", TypeError)
        elif not 0 <= value <= 1:
            _note(problems, offsets, i, value, "expected a probability between 0 and 1", ValueError)
        else:
            out[i] = value
    problems.check()
    return offsets, out


def _note(
    problems: Problems, offsets: IntArray, i: int, value: Any, reason: str, error: type[TypeError] | type[ValueError]
) -> None:
    row = int(np.searchsorted(offsets, i, side="right")) - 1
    problems.add(row, i - int(offsets[row]), value, reason, error)
