"""The corpus: texts, their annotation and what to slice by, in one value; and what its loaders share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.formats import read_spans
from mycelium.formats.files import FORMATS, Table
from mycelium.formats.strict_json import decode_cells
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = ["Corpus"]

#: Per annotator, the spans as published; an annotator who is absent did not see the example.
Annotators = dict[str, list[list[int]]]
#: Tells where a row was read, for messages.
Where = Callable[[int], str]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """An annotated corpus of ``n`` examples.

    Index it with a slice, a mask or an index array to get the corpus of those rows, in that order.

    Attributes
    ----------
    ids : tuple of n str
        Identifiers, as published.
    texts : tuple of n str
        The annotated texts, as published, to the last white space.
    references : SpanBatch of n rows
        The annotated spans; ``references.length`` holds the number of characters of each text. Labels are the types
        of the spans, where the corpus has types.
    soft_labels : SpanBatch of n rows or None
        Spans with, as their score, the share of annotators who marked them.
    annotators : tuple of n dicts or None
        For each example, who marked what: annotator to list of ``[start, end]``, as published (empty and repeated
        spans included). An annotator with ``[]`` looked and marked nothing; one who is not a key did not look. None
        where an example has no such record.
    columns : dict of str to array of shape (n,)
        What to slice or group by: object arrays of str (None where unknown), float64 for numbers (NaN where unknown).
    mismatched : tuple of (str, int, int)
        Id, start and end of each span whose published text is not what the example's text holds there.
    invalid : InvalidCounts
        What ``invalid=`` and ``missing_rows=`` let pass when the corpus was loaded.

    Raises
    ------
    ValueError, TypeError
        When the parts do not have one length, or ids or texts are not strings.

    Examples
    --------
    >>> import numpy as np
    >>> from mycelium import as_spans
    >>> from mycelium.corpora import Corpus
    >>> texts = ("The Moon is cheese.", "It is rock.")
    >>> corpus = Corpus(("a", "b"), texts, as_spans([[[12, 18]], []], text=texts),
    ...                 columns={"model": np.array(["small", "large"], dtype=object)})
    >>> corpus
    Corpus(rows=2, spans=1, columns=['model'])
    >>> corpus[corpus.columns["model"] == "small"].ids
    ('a',)
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    references: SpanBatch
    soft_labels: SpanBatch | None = None
    annotators: tuple[Annotators | None, ...] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    mismatched: tuple[tuple[str, int, int], ...] = ()
    invalid: InvalidCounts = field(default_factory=InvalidCounts)

    def __post_init__(self) -> None:
        n = len(self.ids)
        parts: dict[str, Any] = {"texts": self.texts, "references": self.references}
        parts |= {"soft_labels": self.soft_labels, "annotators": self.annotators}
        parts |= {f"columns[{name!r}]": column for name, column in self.columns.items()}
        for name, part in parts.items():
            if part is not None and len(part) != n:
                raise ValueError(f"{name} has {len(part)} rows, ids has {n}")
        for name, strings in (("ids", self.ids), ("texts", self.texts)):
            if type(strings) is not tuple or set(map(type, strings)) - {str}:
                raise TypeError(f"{name} must be a tuple of str")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        extra = "".join(f", {name}" for name in ("soft_labels", "annotators") if getattr(self, name) is not None)
        return f"Corpus(rows={len(self)}, spans={len(self.references.start)}{extra}, columns={list(self.columns)})"

    def __getitem__(self, rows: Any) -> Corpus:
        """Return the corpus of the rows that a slice, mask or index array names."""
        if isinstance(rows, (int, np.integer)):
            raise IndexError(f"a corpus is indexed by a slice, a mask or an index array; for one row: [{rows}]")
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows, dtype=_index_dtype(rows))]
        if chosen.ndim != 1:
            raise IndexError(f"a corpus has one dimension, the index has {chosen.ndim}")
        picks = chosen.tolist()
        ids = tuple(self.ids[i] for i in picks)
        kept = set(ids)
        return Corpus(
            ids,
            tuple(self.texts[i] for i in picks),
            self.references[chosen],
            None if self.soft_labels is None else self.soft_labels[chosen],
            None if self.annotators is None else tuple(self.annotators[i] for i in picks),
            {name: _frozen(column[chosen]) for name, column in self.columns.items()},
            tuple(one for one in self.mismatched if one[0] in kept),
            self.invalid,
        )


def _index_dtype(rows: Any) -> Any:
    # An empty list would become an array of floats.
    return np.int64 if isinstance(rows, (list, tuple)) and not rows else None


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    column.flags.writeable = False
    return column


def join(parts: Sequence[tuple[Corpus, Where]], source: str, missing_rows: str) -> Corpus:
    """Put corpora one after the other, after making sure that no id stands in them twice."""
    parts = [(corpus, where) for corpus, where in parts if len(corpus)]
    ids = tuple(chain.from_iterable(corpus.ids for corpus, _ in parts))
    if len(set(ids)) != len(ids):
        seen: dict[str, str] = {}
        for corpus, where in parts:
            for row, one in enumerate(corpus.ids):
                if one in seen:
                    raise ValueError(f"{where(row)}: the id {one!r} stands twice, first at {seen[one]}")
                seen[one] = where(row)
    corpora = [corpus for corpus, _ in parts]
    if not corpora:
        raise ValueError(f"{source}: no rows")
    if len(corpora) == 1:
        return corpora[0]
    if any(corpus.soft_labels is not None for corpus in corpora):
        for i, (corpus, where) in enumerate(parts):
            if corpus.soft_labels is None:
                if missing_rows != "empty":
                    raise ValueError(
                        f'{where(0)}: no soft_labels, which other files have: load them apart, or missing_rows="empty"'
                    )
                corpora[i] = _without_soft_labels(corpus)
    soft = [corpus.soft_labels for corpus in corpora if corpus.soft_labels is not None]
    annotators = [corpus.annotators for corpus in corpora]
    names = list(dict.fromkeys(chain.from_iterable(corpus.columns for corpus in corpora)))
    invalid = InvalidCounts()
    for corpus in corpora:
        invalid = invalid.plus(corpus.invalid)
    return Corpus(
        ids,
        tuple(chain.from_iterable(corpus.texts for corpus in corpora)),
        _join_spans([corpus.references for corpus in corpora]),
        _join_spans(soft) if soft else None,
        None
        if all(one is None for one in annotators)
        else tuple(chain.from_iterable(one or (None,) * len(c) for one, c in zip(annotators, corpora, strict=True))),
        {
            name: _frozen(np.concatenate([c.columns.get(name, np.full(len(c), None)) for c in corpora]))
            for name in names
        },
        tuple(chain.from_iterable(corpus.mismatched for corpus in corpora)),
        invalid,
    )


def _without_soft_labels(corpus: Corpus) -> Corpus:
    """Return the corpus with rows of soft labels that are empty, and counted as missing."""
    soft, counts = read_spans([None] * len(corpus), text=corpus.texts, missing_rows="empty")
    return replace(corpus, soft_labels=soft, invalid=corpus.invalid.plus(counts))


def _join_spans(batches: Sequence[SpanBatch]) -> SpanBatch:
    firsts = np.cumsum([0] + [len(batch.start) for batch in batches[:-1]])
    offsets = [batch.offsets[:-1] + first for batch, first in zip(batches, firsts, strict=True)]
    total = sum(len(batch.start) for batch in batches)
    arrays: dict[str, Any] = {}
    for name, fill in (("label", None), ("score", np.nan)):
        columns = [getattr(batch, name) for batch in batches]
        if any(column is not None for column in columns):
            blank = [np.full(len(batch.start), fill) for batch in batches]
            arrays[name] = np.concatenate([b if c is None else c for b, c in zip(blank, columns, strict=True)])
    return SpanBatch._trusted(
        np.concatenate([*offsets, [total]]).astype(np.int64),
        np.concatenate([batch.start for batch in batches]),
        np.concatenate([batch.end for batch in batches]),
        arrays.get("label"),
        arrays.get("score"),
        np.concatenate([batch.length for batch in batches if batch.length is not None]),
    )


# -- where a corpus comes from


def datasets_library() -> Any:
    """Import ``datasets``, or say how to get it."""
    try:
        import datasets
    except ImportError as error:
        raise ImportError('loading a corpus needs datasets: pip install "mycelium-eval[hf]"') from error
    return datasets


def local_path(path_or_hub: str | os.PathLike[str]) -> Path | None:
    """Return the local path that is meant, or None for the id of a dataset on the Hub.

    Raises
    ------
    FileNotFoundError
        When there is nothing at what can only be a path: a path object, a name with the suffix of a data file, one
        that begins with ``.``, ``~`` or ``/``, one with more than one separator.
    """
    if not isinstance(path_or_hub, (str, os.PathLike)):
        raise TypeError(f"path_or_hub must be a path or the id of a dataset, got {type(path_or_hub).__name__}")
    text = os.fspath(path_or_hub)
    if not text:
        raise ValueError("path_or_hub is empty")
    if os.path.exists(text):
        return Path(text)
    home = os.path.expanduser(text)
    if os.path.exists(home):
        return Path(home)
    looks_local = (
        not isinstance(path_or_hub, str)
        or text.startswith((".", "~", "/"))
        or text.endswith("/")
        or text.count("/") > 1
        or "\\" in text
        or Path(text).suffix.lower() in {*FORMATS, ".gz", ".zip", ".txt", ".arrow"}
    )
    if looks_local:
        raise FileNotFoundError(f"{text}: no such file or folder")
    return None


# -- columns


def arrow_columns(dataset: Any) -> dict[str, Any]:
    """Return the rows of a dataset as Arrow columns, those of a selected or shuffled dataset in its own order."""
    table = dataset.with_format("arrow")[:]
    return dict(zip(table.column_names, table.columns, strict=True))


def declared_dataset(table: Table, records: Sequence[dict[str, Any]], features: Any) -> Any:
    """Build a dataset with declared features: inferred ones depend on which rows happen to come first.

    Values of the wrong type must be refused before: ``datasets`` casts 3.7 and ``"3"`` to 3 without a word.
    """
    datasets = datasets_library()
    if not records:
        return datasets.Dataset.from_dict({name: [] for name in features}, features=features)
    try:
        return datasets.Dataset.from_list(records, features=features)
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        rows = (row for row, record in enumerate(records) if half in "".join(_strings_in(record)))
        place = next(map(table.where, rows), table.path)
        raise ValueError(f"{place}: {half!r} is half of a surrogate pair and no character") from None


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(part)


def first_of(columns: Mapping[str, Any], names: Sequence[str], source: str) -> str:
    """Return the first of the names that is a column."""
    for name in names:
        if name in columns:
            return name
    raise ValueError(f"{source}: expected a column {' or '.join(map(repr, names))}, found {', '.join(columns)}")


def strings_of(values: Sequence[Any], name: str, where: Where, *, optional: bool = False) -> tuple[Any, ...]:
    """Return strings, none of which may be missing unless that is allowed; a column of integers becomes its digits."""
    kinds = set(map(type, values)) - ({type(None)} if optional else set())
    if kinds == {int}:
        return tuple(value if value is None else str(value) for value in values)
    if kinds - {str}:
        row = next(row for row, value in enumerate(values) if type(value) in kinds - {str})
        raise ValueError(f"{where(row)}: {name} must be a string, got {values[row]!r}")
    return tuple(values)


def array_of(column: Any) -> NDArray[Any] | None:
    """Return a column as a read-only array: float64 for numbers, objects for strings; None when it knows nothing."""
    import pyarrow as pa

    if column.null_count == len(column) and len(column):
        return None
    values = column.to_pylist()
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return _frozen(np.array([np.nan if value is None else value for value in values], dtype=np.float64))
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return _frozen(out)


def nested_rows(column: Any, name: str, where: Where) -> Any:
    """Return a column of nested values: a list of Python rows if it holds JSON or structs, else Arrow as it is."""
    import pyarrow as pa

    return column.to_pylist() if pa.types.is_struct(column.type) else decode_cells(column, name, where)


def span_dicts(row: Any, name: str, place: str) -> list[dict[str, Any]] | None:
    """Return the spans of a row as dicts; a dict of lists, which some tables make of them, is turned round."""
    if row is None:
        return None
    spans = [row] if type(row) is dict else row
    if type(spans) is not list or not all(type(span) is dict for span in spans):
        raise ValueError(f"{place}: {name} must be objects with start and end, got {row!r}")
    if type(row) is not dict:
        return spans
    sizes = {key: len(values) if type(values) is list else -1 for key, values in row.items()}
    if len(set(sizes.values())) != 1 or -1 in sizes.values():
        raise ValueError(f"{place}: the fields of {name} must be lists of one length, got {row!r}")
    return [dict(zip(row, values, strict=True)) for values in zip(*row.values(), strict=True)]


def read_column(
    rows: Any, name: str, texts: Sequence[str], ids: Sequence[str], where: Where, **options: str
) -> tuple[SpanBatch, InvalidCounts]:
    """Read spans; the error for what cannot be read names the place and the id of the first row at fault."""
    try:
        return read_spans(rows, name=name, text=texts, **options)
    except (TypeError, ValueError) as error:
        row = next((row for row in range(len(ids)) if _fails(rows, texts, row, options)), None)
        if row is None:
            raise
        raise type(error)(f"{where(row)}: (id {ids[row]!r}, the first at fault) {error}") from None


def _fails(rows: Any, texts: Sequence[str], row: int, options: dict[str, str]) -> bool:
    part = slice(row, row + 1)
    try:
        read_spans(rows[part], text=texts[part], **options)
    except (TypeError, ValueError):
        return True
    return False
