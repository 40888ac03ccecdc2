"""Recognising the container of a column: which library an object comes from, without importing any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["column_of", "library"]


def library(x: object) -> str:
    """Return the top-level package that defines the type of ``x``."""
    return type(x).__module__.partition(".")[0]


def column_of(x: Any, name: str, *, arrow_lists: bool) -> Any:
    """Return a column as a list or tuple, a NumPy array, or an Arrow array.

    Parameters
    ----------
    x : object
        list, tuple, other sequence, NumPy array, pandas or polars Series, Arrow array, column of a ``datasets`` table.
    name : str
        The argument that messages name.
    arrow_lists : bool
        Whether an Arrow column holds spans (a column of a dataset is then taken as Arrow only where it holds lists
        or structs; JSON columns, for one, are stored as strings and decoded by iterating).
    """
    if isinstance(x, (list, tuple, np.ndarray)):
        return x
    origin = library(x)
    kind = type(x).__name__
    if origin == "pyarrow":
        if kind.endswith("Scalar") or kind in ("Table", "RecordBatch", "StructScalar"):
            raise TypeError(f"{name}: expected a column, got a pyarrow {kind}")
        return x
    if origin == "pandas":
        return _from_pandas(x, name)
    if origin == "polars":
        return _from_polars(x, name)
    if origin == "datasets":
        return _from_datasets(x, name, arrow_lists)
    if isinstance(x, (str, bytes, dict, set, frozenset)):
        raise TypeError(f"{name}: expected a batch, a list with one entry for each row, got {kind}")
    if hasattr(x, "__array__"):
        return np.asarray(x)
    if isinstance(x, Sequence):
        return list(x)
    raise TypeError(f"{name}: expected a batch, a list with one entry for each row, got {kind}")


def _from_pandas(x: Any, name: str) -> Any:
    if type(x).__name__ == "DataFrame":
        raise TypeError(f"{name}: expected a column, got a pandas DataFrame; choose one of its columns")
    # Rows go by position; the index is of no consequence.
    if type(x.dtype).__name__ == "ArrowDtype":
        import pyarrow as pa

        return pa.array(x.array)
    values: list[Any] = x.tolist()
    return values


def _from_polars(x: Any, name: str) -> Any:
    if type(x).__name__ != "Series":
        raise TypeError(f"{name}: expected a column, got a polars {type(x).__name__}; choose one of its columns")
    if type(x.dtype).__name__ != "Object":
        try:
            return x.to_arrow()
        except ModuleNotFoundError:  # polars works without pyarrow
            pass
    values: list[Any] = x.to_list()
    return values


def _from_datasets(x: Any, name: str, arrow_lists: bool) -> Any:
    source, column = getattr(x, "source", None), getattr(x, "column_name", None)
    if source is None or column is None:
        raise TypeError(
            f"{name}: expected a column of a dataset, got a datasets {type(x).__name__}; choose one of its columns"
        )
    table = getattr(source, "data", None)
    # A transform set by the user computes other values than those stored.
    if table is not None and hasattr(source, "_indices") and getattr(source, "_format_type", None) != "custom":
        stored = table.column(column)
        if not arrow_lists or _holds_spans(stored.type):
            # shuffle, select and filter leave the table alone and keep the rows' numbers beside it.
            indices = source._indices
            return stored if indices is None else stored.take(indices.column(0))
    return list(x)


def _holds_spans(kind: Any) -> bool:
    """Tell whether the stored type is a form of span sets, rather than JSON to be decoded on reading."""
    import pyarrow as pa

    def is_list(kind: Any) -> bool:
        return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

    if "extension<" in str(kind):
        return False
    if is_list(kind):
        return is_list(kind.value_type) or pa.types.is_struct(kind.value_type) or pa.types.is_null(kind.value_type)
    return bool(pa.types.is_struct(kind))
