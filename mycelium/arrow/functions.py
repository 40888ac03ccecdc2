"""statistics, merge and report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import pyarrow as pa

from mycelium.accumulators import accumulator
from mycelium.arrow.batches import Source, as_table, groups, is_table
from mycelium.arrow.tables import SETTINGS, Sums, add_up, reports, settings_of, sum_names, table_of
from mycelium.report import Report
from mycelium.states import count, count_groups

__all__ = ["merge", "report", "statistics"]


def statistics(
    batch: Any,
    *,
    references: str = "references",
    predictions: str = "predictions",
    text: str | None = None,
    weight: str | None = None,
    soft_references: str | None = None,
    soft_predictions: str | None = None,
    by: str | Sequence[str] = (),
    metrics: Any = None,
    profile: str | None = None,
    average: str | None = None,
    types: str | Sequence[str] | None = None,
    **options: Any,
) -> pa.Table:
    """Count a batch of examples.

    Parameters
    ----------
    batch : pyarrow.RecordBatch, pyarrow.Table, datasets.Dataset, or DataFrame of Polars or pandas
        The n examples. A shuffled or filtered Dataset is read through its indices.
    references, predictions : str
        Columns of span sets, in any form that :func:`mycelium.as_spans` reads from Arrow: lists of ``[start, end]``,
        lists of structs with ``start`` and ``end`` (and ``label``), structs of lists.
    text : str, optional
        Column of the texts; bounds are checked against them.
    weight : str, optional
        Column of the weights of the examples.
    soft_references, soft_predictions : str, optional
        Columns of spans with probabilities, for metrics that read them.
    by : str or sequence of str
        Columns whose values name the group of an example. Null is a value too.
    metrics, profile, average, **options
        As in :class:`mycelium.Accumulator`.
    types : {"causal", "ragtruth"} or sequence of str, optional
        The types of typed spans, which need labels. The options are those of :class:`mycelium.TypedAccumulator` then
        (``overlap_credit``, ``unknown_types``, ...), and there are no metrics to choose.

    Returns
    -------
    pyarrow.Table
        One row, or one for each group that occurs: the columns of `by`, ``mycelium`` with the settings, and a column of
        64-bit integers for each name in :attr:`mycelium.Accumulator.state_names`. Rows add up: see :func:`merge`.

    Raises
    ------
    TypeError, ValueError
        When a column is absent or the batch cannot be scored as it is; the message names column, row of the batch and
        span.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mycelium import arrow
    >>> gold, found = [[[0, 10]], [[4, 7]], []], [[[2, 8]], [[4, 7]], []]
    >>> batch = pa.table({"gold": gold, "found": found, "task": ["a", "b", "b"]})
    >>> table = arrow.statistics(batch, references="gold", predictions="found", by="task", metrics=["iou"])
    >>> table.select(["task", "mycelium", "examples"]).to_pylist()[0]
    {'task': 'a', 'mycelium': '{"metrics":["iou"],"version":"0.1.0"}', 'examples': 1}
    >>> arrow.report(table)["iou"]
    {'score': 0.8666666666666667}

    Typed spans:

    >>> rows = [[{"start": 0, "end": 9, "label": "conflict"}]]
    >>> table = arrow.statistics(pa.table({"references": rows, "predictions": rows}), types=["conflict", "baseless"])
    >>> arrow.report(table)["by_type"]["conflict"]["f1"]
    1.0
    """
    scores = accumulator(metrics=metrics, profile=profile, average=average, types=types, **options)
    settings = settings_of(scores)
    keys = _check_by(_names(by), sum_names(settings))
    columns = {
        "references": references,
        "predictions": predictions,
        "text": text,
        "sample_weight": weight,
        "soft_references": soft_references,
        "soft_predictions": soft_predictions,
    }
    named = {argument: name for argument, name in columns.items() if name is not None}
    source = Source(batch)
    given = {argument: source.column(name, argument) for argument, name in named.items()}
    messages = {argument: f"column {name!r}" for argument, name in named.items()}
    if not keys:
        return table_of({}, settings, count(scores, given, messages).reshape(1, -1))
    groups_of, order, sizes = groups({name: source.column(name, "by") for name in keys})
    return table_of(groups_of, settings, count_groups(scores, given, order, sizes, messages))


def merge(tables: Any, **options: Any) -> pa.Table:
    """Add up statistics.

    Parameters
    ----------
    tables : table of statistics, or iterable of such
        What :func:`statistics` returned, as an engine gives it back: pyarrow Tables and RecordBatches, Datasets,
        DataFrames. All columns but the settings and the sums are keys. An iterable is read as it comes.
    **options
        The options of :func:`statistics` that decide what is counted (``metrics``, ``average``, ``types``, ...). Only
        needed where the column ``mycelium`` was lost.

    Returns
    -------
    pyarrow.Table
        One row for each key, sorted, or one row where there are none. The same examples give the same table, however
        they were cut.

    Raises
    ------
    TypeError, ValueError
        When the tables hold no statistics, or those of different settings, keys, or versions of this package.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mycelium import arrow
    >>> whole = pa.table({"references": [[[0, 10]], [[4, 7]], []], "predictions": [[[2, 8]], [[4, 7]], []]})
    >>> parts = [arrow.statistics(whole.slice(i, 1)) for i in range(3)]
    >>> arrow.merge(parts) == arrow.statistics(whole)
    True
    """
    sums = Sums(settings_of(accumulator(**options)) if options else None)
    for table in _each(tables):
        sums.add(table)
    return sums.total()


@overload
def report(tables: Any, *, by: None = None, **options: Any) -> Report: ...
@overload
def report(tables: Any, *, by: str | Sequence[str], **options: Any) -> dict[Any, Report]: ...
def report(tables: Any, *, by: str | Sequence[str] | None = None, **options: Any) -> Report | dict[Any, Report]:
    """Return the report behind statistics, whether they are merged or not.

    Parameters
    ----------
    tables : table of statistics, or iterable of such
        As in :func:`merge`.
    by : str or sequence of str, optional
        Give a report for each value of one of the keys, or for each tuple of values of several.
    **options
        As in :func:`merge`.

    Returns
    -------
    Report, or dict of Report
        The report of all examples, with the bits of :func:`mycelium.evaluate`, or of typed spans a
        :class:`mycelium.TypedReport`; with `by` one for each value, sorted by its text. Reports of sums keep no
        statistics of single examples.

    Raises
    ------
    TypeError, ValueError
        When there are no examples, `by` is no key, or :func:`merge` refuses the tables.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mycelium import arrow
    >>> batch = pa.table({"references": [[[0, 10]], [[4, 7]]], "predictions": [[[2, 8]], []], "lang": ["en", "fi"]})
    >>> table = arrow.statistics(batch, by="lang", metrics=["iou"])
    >>> arrow.report(table)["iou"], {lang: part["iou"] for lang, part in arrow.report(table, by="lang").items()}
    ({'score': 0.3}, {'en': {'score': 0.6}, 'fi': {'score': 0.0}})
    """
    merged = merge(tables, **options)
    if not len(merged):
        raise ValueError("there are no examples to score")
    settings = merged.column(SETTINGS)[0].as_py()
    sums = sum_names(settings)
    keys = [] if by is None else _names(by)
    known = [name for name in merged.column_names if name != SETTINGS and name not in sums]
    for name in keys:
        if name not in known:
            raise ValueError(f"by: {name!r} is no key of the statistics; their keys are {', '.join(known) or 'none'}")
    summed = add_up(merged, keys, sums)
    found = reports(summed, settings)
    if by is None:
        return found[0]
    columns = [summed.column(name).to_pylist() for name in keys]
    values = columns[0] if isinstance(by, str) else list(zip(*columns, strict=True))
    return dict(sorted(zip(values, found, strict=True), key=lambda item: str(item[0])))


def _names(by: str | Sequence[str]) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


def _check_by(keys: list[str], sums: Sequence[str]) -> list[str]:
    for i, name in enumerate(keys):
        if name in keys[:i]:
            raise ValueError(f"by: the column {name!r} is named twice")
        if name == SETTINGS or name in sums:
            raise ValueError(f"by: statistics have a column {name!r} of their own; rename yours")
    return keys


def _each(tables: Any) -> Iterator[pa.Table]:
    """Yield the tables one by one."""
    many = isinstance(tables, Iterable) and not isinstance(tables, (str, Mapping)) and not is_table(tables)
    for table in tables if many else [tables]:
        yield as_table(table, "tables")
