"""Systems with one run or several: which of the two was given, and the scores of each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mycelium.additive import Additive, additive
from mycelium.draws import units_of
from mycelium.report import Report
from mycelium.scoring import evaluate
from mycelium.settings import Settings
from mycelium.spans import FloatArray, IntArray, SpanBatch

__all__ = ["Scored", "runs_of", "score_system", "weights_of"]

NUMBERS = (int, float, np.number, np.bool_)


class Scored(NamedTuple):
    """A system after scoring.

    Attributes
    ----------
    reports : tuple of Report
        One for each run.
    averages : list of Additive
        For each metric what each example adds, shape (n, k), averaged over the runs.
    scores : list of dict
        For each metric its outputs. One run's are those of its report.
    """

    reports: tuple[Report, ...]
    averages: list[Additive]
    scores: list[dict[str, float]]


def runs_of(predictions: Any, rows: int) -> list[Any]:
    """Return the runs of a system: one batch, or each of a list of batches.

    Only a list or tuple can hold several runs; everything else is one batch. In a list, the first ``x[i][j]`` that is
    there decides: a span (a dict, a pair of numbers) stands in a row, so that x is one batch; a row (empty, or with
    something else than numbers inside) stands in a batch, so that x is a list of runs. Elements ``x[i]`` that are
    batches by their type (SpanBatch, Series, Arrow columns) are runs. Where nothing is inside, x is one batch, unless
    its elements are n rows each that are all None.

    Parameters
    ----------
    predictions : batch, or list or tuple of batches
        What a system gave.
    rows : int
        The number n of examples.

    Examples
    --------
    >>> from mycelium.versus.runs import runs_of
    >>> len(runs_of([[[0, 4]], []], 2)), len(runs_of([[[[0, 4]], []], [[], [[0, 3]]]], 2))
    (1, 2)
    """
    if not isinstance(predictions, (list, tuple)):
        return [predictions]
    for element in predictions:
        kind = _kind(element)
        if kind is not None:
            return list(predictions) if kind == "run" else [predictions]
    sizes = {len(element) for element in predictions if isinstance(element, (list, tuple, np.ndarray))}
    return list(predictions) if sizes == {rows} else [predictions]


def _kind(element: Any) -> str | None:
    """Tell whether an element of a list is a run or a row; None where nothing inside decides."""
    if element is None or isinstance(element, NUMBERS):
        return None  # a row that is not annotated, or what the reader of spans will refuse
    if isinstance(element, (str, bytes, Mapping)):
        return "row"
    if not isinstance(element, (list, tuple, np.ndarray)):
        return "run" if isinstance(element, SpanBatch) or hasattr(element, "__len__") else "row"
    for inner in element:
        if inner is None:
            continue
        if isinstance(inner, Mapping):
            # A span has numbers at start and end; a row as a dict of lists has lists there.
            return "run" if any(np.ndim(inner.get(key, 0)) for key in ("start", "end")) else "row"
        if not isinstance(inner, (list, tuple, np.ndarray)):
            return "row"
        return "row" if len(inner) and isinstance(inner[0], NUMBERS) else "run"
    return None


def score_system(
    name: str, references: SpanBatch, predictions: Any, soft_predictions: Any, options: Mapping[str, Any]
) -> Scored:
    """Score every run of a system.

    Parameters
    ----------
    name : str
        What messages call the system.
    references : SpanBatch
        The n reference span sets.
    predictions, soft_predictions : batch, or list of batches
        What the system gave; the latter, with as many runs, for metrics that read it.
    options : dict
        Other options of :func:`mycelium.evaluate`.

    Raises
    ------
    TypeError, ValueError
        When a run cannot be scored; the message names the system and the run.
    """
    runs = runs_of(predictions, len(references))
    soft = [None] * len(runs) if soft_predictions is None else runs_of(soft_predictions, len(references))
    if len(soft) != len(runs):
        raise ValueError(
            f"system {name!r}: predictions and soft predictions must have as many runs, got {len(runs)} and {len(soft)}"
        )
    reports = []
    for i, (run, soft_run) in enumerate(zip(runs, soft, strict=True)):
        which = f"system {name!r}" + (f", run {i}" if len(runs) > 1 else "")
        reports.append(_evaluate(which, references=references, predictions=run, soft_predictions=soft_run, **options))
    parts = [_by_example(report) for report in reports]
    averages, scores = [], []
    for number, (key, metric) in enumerate(_settings(reports[0]).metrics):
        first, *others = (part[number] for part in parts)
        average, shift = first, np.zeros(len(metric.outputs))
        if others:
            # Added to the first run, so that the average of equal runs is that run to the last bit.
            added = sum((other.sums - first.sums for other in others), start=np.zeros(1)) / len(parts)
            average = first._replace(sums=first.sums + added)
            shift = _total(average, reports[0]) - _total(first, reports[0])
        averages.append(average)
        scores.append({o: reports[0][key][o] + more for o, more in zip(metric.outputs, shift.tolist(), strict=True)})
    return Scored(tuple(reports), averages, scores)


def _evaluate(which: str, **arguments: Any) -> Report:
    try:
        return evaluate(**arguments, keep_statistics=True)
    except (TypeError, ValueError) as error:
        if "predictions" not in str(error):
            raise  # weights, or another argument that all systems share
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{which}: {error}") from None


def _by_example(report: Report) -> list[Additive]:
    settings, rows = _settings(report), report._rows
    assert rows is not None
    units = units_of(None, len(rows))
    return [
        additive(metric, settings.average, settings.undefined, rows.statistics(number), units)
        for number, (_, metric) in enumerate(settings.metrics)
    ]


def _total(average: Additive, report: Report) -> FloatArray:
    weights = weights_of(report)
    return average.value(average.sums.sum(axis=0) if weights is None else weights @ average.sums)


def _settings(report: Report) -> Settings:
    assert report._settings is not None
    return report._settings


def weights_of(report: Report) -> IntArray | FloatArray | None:
    """Return the weights (n,) of a report's examples, if they have any."""
    assert report._rows is not None
    return report._rows.weights
