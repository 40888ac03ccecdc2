"""RAGTruth: hallucination spans with types in the answers of retrieval-augmented generation."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from mycelium.corpora.base import (
    Corpus,
    Where,
    array_of,
    arrow_columns,
    datasets_library,
    declared_dataset,
    first_of,
    join,
    local_path,
    nested_rows,
    read_column,
    span_dicts,
    strings_of,
)
from mycelium.formats.files import Table, decode_column, read_table
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = ["load_ragtruth"]

_SLICES = ("task_type", "source", "source_id", "model", "temperature", "quality", "split", "query", "context")
_TEXTS = ("response", "output")
_LABELS = ("labels", "hallucination_labels")
_NAMED = 5


def load_ragtruth(
    path_or_hub: str | os.PathLike[str],
    split: str = "test",
    *,
    implicit_true: str = "include",
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
) -> Corpus:
    """Load RAGTruth from its published folder or from the Hub.

    Parameters
    ----------
    path_or_hub : str or path
        The folder that holds ``response.jsonl`` and ``source_info.jsonl`` (or one of these two files), a file of
        joined records in either schema, or the id of a dataset on the Hub (``"wandb/RAGTruth-processed"``). What exists
        is local.
    split : str, default="test"
        ``"train"``, ``"test"``, or both as ``"train+test"``.
    implicit_true : {"include", "exclude"}, default="include"
        Whether labels flagged as true although the context does not say so count. Excluded, they are gone before
        anything else is derived: a response that had no other label is clean, by span and as a whole.
    invalid, missing_rows, offsets : str
        As for :func:`mycelium.as_spans`. The published offsets count Python characters; files that went through a
        browser tool may count UTF-16 units.

    Returns
    -------
    Corpus
        ``references`` with the label types; ``columns`` are those of task_type, source, source_id, model, temperature,
        quality and split that the source has: the Hub form knows neither source_id nor split. Responses of every
        ``quality`` are in. ``mismatched`` names the labels whose stored text is not what the response holds there.

    Warns
    -----
    UserWarning
        When labels are mismatched: count, and the first ids.

    Raises
    ------
    FileNotFoundError
        When the path or one of the two files is not there; the message names the expected path.
    ValueError
        When a record cannot be read, has no id or no text, an id stands twice, or the split has no rows. The message
        names file and line.
    ImportError
        Without the ``datasets`` library.

    References
    ----------
    Niu et al. (2024). RAGTruth: A Hallucination Corpus for Developing Trustworthy Retrieval-Augmented Language Models.

    Examples
    --------
    >>> from mycelium.corpora import load_ragtruth
    >>> corpus = load_ragtruth("wandb/RAGTruth-processed")  # doctest: +SKIP
    """
    if implicit_true not in ("include", "exclude"):
        raise ValueError(f"implicit_true must be 'include' or 'exclude', got {implicit_true!r}")
    options = {"invalid": invalid, "missing_rows": missing_rows, "offsets": offsets}
    path = local_path(path_or_hub)
    source = os.fspath(path_or_hub)
    where: Where
    if path is None:
        columns = arrow_columns(datasets_library().load_dataset(source, split=split))

        def where(row: int) -> str:
            return f"{source} ({split}), row {row}"

    else:
        columns, where = _from_file(path, split, options)
    corpus = _corpus(columns, where, source, implicit_true == "include", options)
    corpus = join([(corpus, where)], f"{source} ({split})", missing_rows)
    if corpus.mismatched:
        count = len(corpus.mismatched)
        ids = list(dict.fromkeys(one for one, _, _ in corpus.mismatched))
        shown = ", ".join(map(repr, ids[:_NAMED])) + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")
        warnings.warn(
            f"{source}: the stored text of {count} label{'s' * (count != 1)} is not what the response holds at the"
            f" label's offsets (ids {shown}); see Corpus.mismatched. Offsets may count another unit, see offsets=",
            UserWarning,
            stacklevel=2,
        )
    return corpus


# -- local


def _from_file(path: Path, split: str, options: dict[str, str]) -> tuple[dict[str, Any], Where]:
    published = path.name in ("response.jsonl", "source_info.jsonl")
    table = read_table(path.parent if published else path)
    rows = _rows(table, split)
    if table.format == "parquet":
        chosen = np.array(rows, dtype=np.int64)
        columns = {name: column.take(chosen) for name, column in cast(dict[str, Any], table.columns).items()}
    else:
        kept = Table(
            table.path,
            {name: [column[row] for row in rows] for name, column in table.columns.items()},
            [table.lines[row] for row in rows],
            table.format,
            table.unit,
        )
        columns = arrow_columns(declared_dataset(kept, _records(kept, options), _features()))
    return columns, lambda row: table.where(rows[row])


def _rows(table: Table, split: str) -> list[int]:
    """Return the rows of the wanted splits; all of them for a file that knows no splits."""
    if "split" not in table.columns:
        return list(range(len(table)))
    column: Any = table.columns["split"]
    known = column.to_pylist() if table.format == "parquet" else column
    wanted = set(split.split("+"))
    rows = [row for row, one in enumerate(known) if one in wanted]
    if not rows:
        raise ValueError(f"{table.path}: no rows of the split {split!r}, splits there: {sorted(set(map(str, known)))}")
    return rows


def _features() -> Any:
    datasets = datasets_library()
    integer, string, boolean = datasets.Value("int64"), datasets.Value("string"), datasets.Value("bool")
    label = {"start": integer, "end": integer, "text": string, "label_type": string, "implicit_true": boolean}
    slices = {name: string for name in _SLICES if name != "temperature"}
    return datasets.Features(
        {"id": string, "response": string, "labels": [label], **slices, "temperature": datasets.Value("float64")}
    )


def _records(table: Table, options: dict[str, str]) -> list[dict[str, Any]]:
    """Return the records in the published schema, with their types checked."""
    n, where = len(table), table.where
    first_of(table.columns, ["id"], table.path)
    text, labels = (first_of(table.columns, names, table.path) for names in (_TEXTS, _LABELS))
    columns: dict[str, Sequence[Any]] = {
        "id": strings_of(table.columns["id"], "id", where),
        "response": strings_of(table.columns[text], text, where),
    }
    columns["labels"] = _checked(decode_column(table, labels), columns["response"], columns["id"], where, options)
    for name in _SLICES:
        values = table.columns.get(name, [None] * n)
        columns[name] = values if name == "temperature" else strings_of(values, name, where, optional=True)
    for row, value in enumerate(columns["temperature"]):
        if value is not None and type(value) not in (int, float):
            raise ValueError(f"{where(row)}: temperature must be a number, got {value!r}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _checked(
    rows: Sequence[Any], texts: Sequence[str], ids: Sequence[str], where: Where, options: dict[str, str]
) -> list[Any]:
    """Return the labels, each with exactly the fields that are read, after refusing values of a wrong type."""
    read_column(rows, "labels", texts, ids, where, **options)
    kinds = {"text": str, "label_type": str, "implicit_true": bool}
    fields = ("start", "end", *kinds)
    out: list[Any] = []
    for row, cell in enumerate(rows):
        labels = span_dicts(cell, "labels", where(row))
        for label in labels or ():
            for name, kind in kinds.items():
                if type(label.get(name)) not in (kind, type(None)):
                    raise ValueError(f"{where(row)}: {name} of a label must be a {kind.__name__}, got {label[name]!r}")
        out.append(None if labels is None else [{name: label.get(name) for name in fields} for label in labels])
    return out


# -- either


def _corpus(columns: Mapping[str, Any], where: Where, source: str, implicit: bool, options: dict[str, str]) -> Corpus:
    """Turn Arrow columns of the published or the Hub form into a corpus."""
    import pyarrow as pa

    first_of(columns, ["id"], source)
    text, name = (first_of(columns, names, source) for names in (_TEXTS, _LABELS))
    ids = strings_of(columns["id"].to_pylist(), "id", where)
    texts = strings_of(columns[text].to_pylist(), text, where)
    labels = nested_rows(columns[name], name, where)
    if isinstance(labels, list):
        labels = pa.array(_checked(labels, texts, ids, where, options), type=_label_type())
    else:
        kind = getattr(labels.type, "value_type", labels.type)
        if pa.types.is_null(kind):
            # What inference makes of a column without a single label.
            labels = labels.cast(_label_type())
        elif not pa.types.is_struct(kind):
            raise ValueError(f"{source}: {name} must be lists of objects, got {labels.type}")
    references, counts, mismatched = _read_labels(labels, implicit, texts, ids, where, options)
    arrays = {one: array_of(columns[one]) for one in _SLICES if one in columns}
    slices = {one: array for one, array in arrays.items() if array is not None}
    return Corpus(ids, texts, references, None, None, slices, mismatched, counts)


def _label_type() -> Any:
    import pyarrow as pa

    fields = {"start": pa.int64(), "end": pa.int64(), "text": pa.string(), "label_type": pa.string()}
    return pa.list_(pa.struct({**fields, "implicit_true": pa.bool_()}))


def _read_labels(
    labels: Any, implicit: bool, texts: Sequence[str], ids: Sequence[str], where: Where, options: dict[str, str]
) -> tuple[SpanBatch, InvalidCounts, tuple[tuple[str, int, int], ...]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(labels, pa.ChunkedArray):
        labels = labels.combine_chunks()
    missing = np.asarray(labels.is_null())
    counts = np.asarray(pc.fill_null(pc.list_value_length(labels), 0)).astype(np.int64)
    flat = labels.flatten()
    nothing = pa.nulls(len(flat))
    fields = dict.fromkeys(("start", "end", "text", "label_type", "implicit_true"), nothing)
    fields |= {field.name: column for field, column in zip(flat.type, flat.flatten(), strict=True)}
    stored = fields["text"].to_pylist()
    rows = np.repeat(np.arange(len(labels)), counts)
    numbers = np.arange(len(flat))
    if not implicit:
        numbers = numbers[~np.asarray(pc.fill_null(fields["implicit_true"].cast(pa.bool_()), False))]
    # The number of each label goes along as its score: leniency may leave labels out, and texts must stay with theirs.
    chosen = pa.array(numbers)
    start, end, label = (fields[name].take(chosen) for name in ("start", "end", "label_type"))
    spans = pa.StructArray.from_arrays(
        [start, end, label.cast(pa.string()), pa.array(numbers.astype(np.float64))],
        names=["start", "end", "label", "score"],
    )
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rows[numbers], minlength=len(labels)))]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(bounds), spans, mask=pa.array(missing))
    batch, invalid = read_column(lists, "labels", texts, ids, where, **options)
    number = batch.score
    batch = SpanBatch._trusted(batch.offsets, batch.start, batch.end, batch.label, None, batch.length)
    if number is None:
        return batch, invalid, ()
    starts, ends, places = batch.start.tolist(), batch.end.tolist(), batch.row.tolist()
    mismatched = [
        (ids[row], start, end)
        for start, end, row, one in zip(starts, ends, places, number.astype(np.int64).tolist(), strict=True)
        if stored[one] is not None and texts[row][start:end] != stored[one]
    ]
    return batch, invalid, tuple(mismatched)
