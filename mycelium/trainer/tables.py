"""Columns of tables of any kind: datasets, lists of dicts, dicts of columns, data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mycelium.formats.containers import column_of

__all__ = ["column", "is_rows", "length", "listed", "names_of", "rows_of_columns"]


def names_of(table: Any, what: str) -> list[str]:
    """Return the names of the columns; of a list of dicts, those of its first row."""
    for attribute in ("column_names", "columns"):
        if hasattr(table, attribute):
            return list(getattr(table, attribute))
    if isinstance(table, Mapping):
        return list(table)
    if is_rows(table) and not isinstance(table, (str, bytes)):
        row = table[0] if len(table) else {}
        if isinstance(row, Mapping):
            return list(row)
    raise TypeError(f"{what}: expected a dataset, a list of dicts or a dict of columns, got {type(table).__name__}")


def is_rows(table: Any) -> bool:
    """Tell a sequence of rows from a table that is asked for its columns."""
    columns = isinstance(table, Mapping) or hasattr(table, "column_names") or hasattr(table, "columns")
    return not columns and hasattr(table, "__getitem__") and hasattr(table, "__len__")


def column(table: Any, name: str, what: str) -> Any:
    """Return one column.

    Raises
    ------
    ValueError
        When there is none, or a row has none.
    """
    if table is None or name not in names_of(table, what):
        raise ValueError(f"{what} have no column {name!r}")
    if not is_rows(table):
        return table[name]
    values = []
    for i in range(len(table)):
        row = table[i]
        if name not in row:
            raise ValueError(f"{what}: row {i} has no {name!r}")
        values.append(row[name])
    return values


def length(table: Any, name: str) -> int:
    """Return the number of rows of a table that has the column."""
    return len(table[name]) if isinstance(table, Mapping) else len(table)


def listed(values: Any, name: str) -> list[Any]:
    """Return a column as a list of Python values."""
    values = column_of(values, name, arrow_lists=False)
    for method in ("tolist", "to_pylist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def rows_of_columns(table: Any) -> list[dict[str, Any]]:
    """Return a dict of columns as a list of dicts."""
    columns = {name: listed(table[name], name) for name in names_of(table, "features")}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
