"""The columns of a batch, whatever holds them, and the groups that some of them name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mycelium.formats.containers import column_of, library

__all__ = ["Source", "aggregate", "as_table", "groups", "is_table", "key_column"]


class Source:
    """A batch, read column by column.

    Parameters
    ----------
    batch : pyarrow.RecordBatch, pyarrow.Table, datasets.Dataset, or DataFrame of Polars or pandas
        The rows.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch if _is_dataset(batch) else as_table(batch, "batch")

    def column(self, name: str, argument: str) -> Any:
        """Return a column as an Arrow column, or as a list where a Dataset stores something else than it gives."""
        names = self._batch.column_names
        if names.count(name) != 1:
            fault = "two columns" if name in names else "no column"
            raise ValueError(f"{argument}: the batch has {fault} {name!r}; it has {', '.join(names)}")
        if isinstance(self._batch, pa.Table):
            column = self._batch.column(name)
            # pyarrow lacks functions for views.
            return column.cast(pa.large_string()) if str(column.type) == "string_view" else column
        # Not the stored table, which is what it was before shuffle, select and filter.
        return column_of(self._batch[name], name, arrow_lists=argument.endswith(("references", "predictions")))


def is_table(x: Any) -> bool:
    """Tell whether something is one of the tables that are read here."""
    if isinstance(x, (pa.Table, pa.RecordBatch)) or _is_dataset(x):
        return True
    convertible = hasattr(x, "__arrow_c_stream__") or (library(x) == "polars" and hasattr(x, "to_arrow"))
    return convertible and hasattr(x, "columns")  # a frame, not a series


def _is_dataset(x: Any) -> bool:
    # Streamed ones have no stored data.
    return library(x) == "datasets" and hasattr(x, "data")


def as_table(x: Any, name: str) -> pa.Table:
    """Return anything tabular as an Arrow table.

    Raises
    ------
    TypeError
        When it is nothing of the kind.
    """
    if isinstance(x, pa.Table):
        return x
    if isinstance(x, pa.RecordBatch):
        return pa.Table.from_batches([x])
    if _is_dataset(x):
        return x.with_format("arrow")[:]
    if is_table(x):
        # The stream of a Polars frame has string views, for which pyarrow lacks functions.
        return x.to_arrow() if library(x) == "polars" else pa.table(x)
    hint = '; with_format("arrow") gives such' if isinstance(x, Mapping) or library(x) == "datasets" else ""
    raise TypeError(
        f"{name}: expected a pyarrow Table or RecordBatch, a Dataset or a DataFrame, got {type(x).__name__}{hint}"
    )


def key_column(column: Any, name: str) -> Any:
    """Return a column of keys in a type on which batches and engines agree: one kind of strings, no dictionaries.

    Raises
    ------
    TypeError
        When its values are lists or structs.
    """
    kind = column.type
    while isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type
        column = column.cast(kind)
    if pa.types.is_nested(kind):
        raise TypeError(f"column {name!r} cannot be a key of statistics, its type is {kind}")
    if str(kind) in ("large_string", "string_view"):
        column = column.cast(pa.string())
    return column


def groups(columns: Mapping[str, Any]) -> tuple[dict[str, Any], Any, Any]:
    """Group the rows by the values of some columns.

    Returns
    -------
    keys : dict of str to Arrow columns of length g
        The distinct tuples of values, in the order in which they occur first.
    order : int64 array of shape (n,)
        The rows, group after group.
    sizes : int64 array of shape (g,)
        The number of rows in each group.
    """
    arrow = {name: column if library(column) == "pyarrow" else pa.array(column) for name, column in columns.items()}
    keys = pa.table({name: key_column(column, name) for name, column in arrow.items()})
    row = pc.cumulative_sum(pa.repeat(1, len(keys)), start=-1)
    found, (rows,) = aggregate(keys, {"row": row}, "list")
    rows = rows.combine_chunks()
    sizes = pc.list_value_length(rows).cast(pa.int64())
    return found, rows.flatten().to_numpy(), sizes.to_numpy()


def aggregate(keys: pa.Table, values: Mapping[str, Any], function: str) -> tuple[dict[str, Any], list[Any]]:
    """Apply a function of Arrow to the values that share a key.

    Returns
    -------
    keys : dict of str to Arrow columns of length g
        The distinct keys, in the order in which they occur first.
    values : list of Arrow columns of length g
        One for each column of values.
    """
    # Grouped by codes: pyarrow 15 splits groups whose key holds a null string.
    codes, known = [], []
    for column in keys.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes.append(encoded.indices)
        known.append(encoded.dictionary)
    names = [f"key {i}" for i in range(len(codes))]
    table = pa.table([*codes, *values.values()], names=[*names, *values])
    grouped = table.group_by(names, use_threads=False).aggregate([(name, function) for name in values])
    found = [k.take(grouped.column(name).combine_chunks()) for k, name in zip(known, names, strict=True)]
    results = [grouped.column(f"{name}_{function}") for name in values]
    return dict(zip(keys.column_names, found, strict=True)), results
