"""find_errors(): from spans to verdicts, counts and repaired scores."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mycelium.batch import Batch, read_batch
from mycelium.errors.columns import column, slice_names, texts
from mycelium.errors.kinds import ERRORS
from mycelium.errors.repair import repaired
from mycelium.errors.result import Errors, Judged
from mycelium.errors.verdicts import judge
from mycelium.metrics import Metric
from mycelium.report import Report
from mycelium.scoring import Accumulator, evaluate
from mycelium.settings import Settings
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = ["compares_types", "errors_of", "find_errors"]

_MEANS = ("precision", "recall", "f1")
#: Options of :func:`mycelium.evaluate` that are set here.
OWN = {
    *("references", "predictions", "text", "metrics", "sample_weight", "include_per_example", "keep_statistics"),
    *("groups", "soft_references", "soft_predictions"),
}


def find_errors(
    *,
    references: Any,
    predictions: Any,
    text: Any = None,
    ids: Any = None,
    slices: Mapping[str, Any] | None = None,
    typed: bool | None = None,
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    repair: bool = True,
    sample_weight: Any = None,
    **options: Any,
) -> Errors:
    """Say of each span what is right or wrong with it, and what the score would be without each kind of error.

    Each span gets one of ten verdicts: exact, too narrow, too wide, shifted, split, merged, wrong type, duplicate,
    missed, spurious. The table of precedence is at :func:`mycelium.errors.judge`. Neither the order of rows nor that
    of spans within a row matters.

    Parameters
    ----------
    references, predictions : batches of n span sets
        Whatever :func:`mycelium.as_spans` reads; row i of both belongs to example i.
    text : sequence of n str, optional
        The answers: bounds are checked against them, and the worst examples quote them.
    ids : sequence of length n, optional
        What the examples are called; default: their row, counted from 0.
    slices : mapping of str to sequence of length n, optional
        For each column value i names the slice of example i.
    typed : bool, optional
        Whether types count. By default they do where every span of both sides has one, and do not where a side has
        none at all.
    metrics : sequence of str or Metric, optional
        What is scored, before and after repairs. The default is that of :func:`mycelium.evaluate`.
    repair : bool, default=True
        Whether to score repaired predictions: one evaluation for each kind that occurs.
    sample_weight : sequence of n floats, optional
        Weights of the scores; counts are not weighted.
    **options
        Other options of :func:`mycelium.evaluate`: ``average``, ``profile``, ``undefined``, ``tolerance``,
        ``invalid``, ``missing_rows``, ``offsets``, ``end``, ...

    Returns
    -------
    Errors
        A dict with ``counts``, ``scores``, ``repaired``, ``slices`` and ``meta``.

    Raises
    ------
    TypeError, ValueError
        When an argument cannot be used as it is; when types count or may count and a span lacks one; for metrics
        that read probabilities, which repaired spans do not have.

    Examples
    --------
    >>> from mycelium.errors import find_errors
    >>> errors = find_errors(references=[[[0, 9], [20, 25]], []], predictions=[[[0, 4], [5, 9]], [[3, 8]]],
    ...                      metrics=["iou"])
    >>> errors.verdicts
    ([['split', 'missed'], []], [['split', 'split'], ['spurious']])
    >>> print(errors.to_table())
    verdict   cases  references  predictions      iou
    split         1           1            2  +0.0357
    missed        1           1            0  +0.1786
    spurious      1           0            1  +0.5000
    as it is      3           2            3   0.2857
    2 examples, 2 references, 3 predictions, boundaries only; macro average
    with a sign: what repairing this kind alone adds to the score below; these need not add up
    mycelium|v:0.1.0|avg:macro|undef:default|unit:char|invalid:raise|tol:0|iou|errors:untyped
    """
    for name, value in (("repair", repair), ("typed", typed)):
        if not isinstance(value, bool) and not (name == "typed" and value is None):
            raise TypeError(f"{name} must be {'None, ' * (name == 'typed')}True or False, got {value!r}")
    known = set(inspect.signature(evaluate).parameters) - OWN
    for name in options:
        if name not in known:
            raise TypeError(f"find_errors() has no option {name!r}, and passes none of that name on to evaluate()")
    settings = Accumulator(metrics=metrics, **options).settings
    for key, metric in settings.metrics:
        if "soft" in metric.needs:
            raise ValueError(f"metrics: {key!r} reads probabilities, which repaired spans do not have")
    batch = read_batch(settings, references, predictions, text, sample_weight, None, None)
    if not len(batch.references):
        raise ValueError("references and predictions hold no examples")
    report = evaluate(
        references=batch.references,
        predictions=batch.predictions,
        sample_weight=batch.weight,
        metrics=metrics,
        keep_statistics=True,
        **options,
    )
    report.invalid = batch.invalid
    return errors_of(report, text=text, ids=ids, slices=slices, typed=typed, repair=repair)


def errors_of(
    report: Report, *, text: Any, ids: Any, slices: Mapping[str, Any] | None, typed: bool | None, repair: bool
) -> Errors:
    """Find the errors behind a report; see :meth:`mycelium.Report.errors`.

    Metrics that read probabilities are left out: repaired spans have none.
    """
    if report._spans is None or report._settings is None or report._holds.rows is None:
        raise ValueError(
            "this report keeps no spans, as slices and those of an accumulator do: call mycelium.errors.find_errors(),"
            " or evaluate() with keep_statistics=True"
        )
    settings, (references, predictions), weight = report._settings, report._spans, report._holds.rows.weights
    if isinstance(text, str):
        text = [text]
    n = len(references)
    signature, keys = report.signature, report._keys()
    soft = {key for key, metric in settings.metrics if "soft" in metric.needs}
    if soft:
        keys = [key for key in keys if key not in soft]
        if not keys:
            raise ValueError("all metrics of the report read probabilities, which repaired spans do not have")
        readable = tuple((key, metric) for key, metric in settings.metrics if key not in soft)
        settings = replace(settings, metrics=readable)
        signature = settings.signature(weighted=weight is not None)
    typed = compares_types(references, predictions, typed)
    found = judge(references, predictions, typed=typed)
    errors = Errors._of(
        report,
        settings,
        _scores(report, settings, keys),
        signature,
        Judged(
            references,
            predictions,
            found,
            typed,
            None if text is None else texts(text, n),
            list(range(n)) if ids is None else column("ids", ids, n),
            {str(name): slice_names(f"slices[{name!r}]", values, n) for name, values in (slices or {}).items()},
        ),
    )
    if repair:
        for kind in ERRORS:
            if errors["counts"][kind]["cases"]:
                better = repaired(references, predictions, found, [kind])
                after = Batch(references, better, None, None, references.length, weight, InvalidCounts())
                errors["repaired"][kind] = _scores(_report(type(report), settings, after), settings, keys)
    return errors


def _report(kind: type[Report], settings: Settings, batch: Batch) -> Report:
    """Score a batch as :func:`mycelium.evaluate` does, under the settings of a report and for its kind of report."""
    scores = Accumulator()
    scores._begin(settings, False)
    scores._add(batch)
    return kind._of(settings, scores._totals, InvalidCounts(), scores._keeper.kept())


def _scores(report: Report, settings: Settings, keys: list[str]) -> dict[str, dict[str, float]]:
    """Return the scores of a report, without what else may stand beside them."""
    outputs = {key: metric.outputs for key, metric in settings.metrics}
    # What reports have beside their metrics are means of F1 and its parts.
    return {key: {name: report[key][name] for name in outputs.get(key, _MEANS)} for key in keys}


def compares_types(references: SpanBatch, predictions: SpanBatch, typed: bool | None) -> bool:
    """Tell whether types count; see :func:`find_errors`.

    Raises
    ------
    ValueError
        When they should, or some spans have types, and one has none.
    """
    if typed is False:
        return False
    lacking = []
    for name, batch in (("references", references), ("predictions", predictions)):
        labels = [None] * len(batch.start) if batch.label is None else batch.label.tolist()
        if typed is None and labels and labels.count(None) == len(labels):
            return False
        if None in labels:
            lacking.append((name, batch, labels.index(None)))
    for name, batch, j in lacking:
        row = int(batch.row[j])
        raise ValueError(
            f"{name}: row {row}, span {j - int(batch.offsets[row])} [{batch.start[j]}, {batch.end[j]}] has no type;"
            " give every span one, or typed=False to look at boundaries only"
        )
    return typed is True or bool(len(references.start) + len(predictions.start))
