"""How rows lie in the Arrow files of ``evaluate``: as they were read, with what leniency did to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import datasets
import pyarrow as pa

from mycelium.formats.raw import Raw, concatenate
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = ["INVALID", "TEXT", "Block", "declared_features", "stored_counts", "stored_features"]

TEXT = "text"
#: The column beside those of the user: counts of what was dropped and so on, for a whole block on its first row.
INVALID = "invalid"


def declared_features(columns: Iterable[str]) -> datasets.Features:
    """Return the features of the columns as users see them."""
    return datasets.Features({name: datasets.Value("string") if name == TEXT else _spans() for name in columns})


def stored_features(columns: Iterable[str]) -> datasets.Features:
    """Return the features of the file. Of a text only its length is kept: it was needed to check the spans."""
    kept: dict[str, Any] = {name: datasets.Value("int64") if name == TEXT else _spans() for name in columns}
    return datasets.Features({**kept, INVALID: [datasets.Value("int64")]})


def _spans() -> Any:
    # A list of one dict is the only form that datasets 3, 4 and 5 all take for a list of records.
    fields = {"start": "int64", "end": "int64", "label": "string", "score": "float64"}
    return [{name: datasets.Value(kind) for name, kind in fields.items()}]


class Block:
    """Rows in memory, in the parts in which they were added."""

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = tuple(columns)
        self._parts: list[Any] = []
        self._rows = 0
        self.counts = InvalidCounts()

    def __len__(self) -> int:
        return self._rows

    @property
    def begun(self) -> bool:
        """Whether anything was added, be it no rows."""
        return bool(self._parts)

    def add(self, part: Any) -> None:
        """Append rows as the core has read them."""
        self._parts.append(part)
        self._rows += len(part.references)
        self.counts = self.counts.plus(part.invalid)

    def sides(self) -> dict[str, SpanBatch]:
        """Return the rows, one batch for each column of spans; those of the references know their texts' lengths."""
        sides = {name: _joined([getattr(part, name) for part in self._parts]) for name in self._columns if name != TEXT}
        if TEXT in self._columns:
            sides["references"] = sides["references"].with_length(self._lengths().to_numpy())
        return sides

    def table(self, schema: Any) -> Any:
        """Return the rows, of which there is at least one, as a table with the schema of the stored features."""
        sides = self.sides()
        arrays = []
        for field in schema:
            if field.name == TEXT:
                arrays.append(self._lengths())
            elif field.name == INVALID:
                first = pa.array([list(self.counts)] if any(self.counts) else [], field.type)
                arrays.append(pa.concat_arrays([first, pa.nulls(self._rows - len(first), field.type)]))
            else:
                arrays.append(_column(sides[field.name], field.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    def _lengths(self) -> Any:
        return pa.chunked_array([pa.array(part.length) for part in self._parts])


def _joined(parts: list[SpanBatch]) -> SpanBatch:
    if len(parts) == 1:
        return parts[0]
    rows = concatenate([Raw(part.offsets, part.start, part.end, part.label, part.score) for part in parts])
    return SpanBatch._trusted(rows.offsets, rows.start, rows.end, rows.label, rows.score)


def _column(batch: SpanBatch, kind: Any) -> Any:
    spans = len(batch.start)
    values = [
        pa.array(batch.start),
        pa.array(batch.end),
        pa.nulls(spans, pa.string()) if batch.label is None else pa.array(batch.label, pa.string()),
        # NaN stands for "no score" in a batch, null in a file
        pa.nulls(spans, pa.float64()) if batch.score is None else pa.array(batch.score, from_pandas=True),
    ]
    structs = pa.StructArray.from_arrays(values, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(batch.offsets, pa.int32()), structs, type=kind)


def stored_counts(column: Any) -> InvalidCounts:
    """Return the counts of all blocks together."""
    counts = InvalidCounts()
    for found in column.drop_null().to_pylist():
        counts = counts.plus(InvalidCounts(*found))
    return counts
