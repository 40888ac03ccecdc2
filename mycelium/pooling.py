"""One metric on one batch, as model selection asks for it: its outputs, and counts that add up over folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.formats import read_spans
from mycelium.inputs import check_scores, common_length, weights
from mycelium.line import check_labels, lines
from mycelium.metrics import Metric, get
from mycelium.metrics.base import check_needs, check_rows
from mycelium.metrics.by_type import check_types
from mycelium.metrics.parameters import Setting
from mycelium.profiles import AVERAGES
from mycelium.reduce import ExactSum, Totals
from mycelium.scoring import Accumulator
from mycelium.spans import FloatArray, IntArray, SpanBatch
from mycelium.typed import TypedAccumulator

__all__ = [
    "Batch",
    "check_average",
    "choose",
    "counts",
    "flat_report",
    "flat_typed_report",
    "outputs",
    "pooled",
]


class Batch(NamedTuple):
    """Both sides of n examples, their texts and weights where there are any, and what messages call the two sides."""

    references: Any
    predictions: Any
    text: Any = None
    sample_weight: Any = None
    names: tuple[str, str] = ("references", "predictions")


def choose(
    metric: str | Metric, output: str | None = None, parameters: Mapping[str, Setting] | None = None
) -> tuple[Metric, str]:
    """Return the metric with these parameters, and the name of the output that is asked for, or its primary one.

    Raises
    ------
    TypeError, ValueError
        When there is no such metric, parameter or output.

    Examples
    --------
    >>> chosen, output = choose("span_coverage", None, {"delta": 2})
    >>> chosen.key, output
    ('span_coverage(delta=2)', 'f1')
    """
    chosen = (metric if isinstance(metric, Metric) else get(metric)).at(**(parameters or {}))
    if output is not None and output not in chosen.outputs:
        raise ValueError(f"{chosen.key} has no output {output!r}; it has {', '.join(chosen.outputs)}")
    return chosen, chosen.primary if output is None else output


def check_average(average: str) -> None:
    """Raise a ValueError unless there is such an average."""
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {', '.join(map(repr, AVERAGES))}, got {average!r}")


def outputs(metric: Metric, batch: Batch, *, average: str, undefined: float | None = None) -> dict[str, float]:
    """Return the averaged outputs of a metric, with the bits of :func:`mycelium.evaluate`.

    Parameters
    ----------
    metric : Metric
        The metric. One that reads probabilities finds them at the spans themselves, and the lengths of the texts where
        texts are given or a side knows them.
    batch : Batch
        The examples.
    average : {"macro", "micro"}
        As in :func:`mycelium.evaluate`.
    undefined : float, optional
        As there, or NaN. NaN leaves undefined values out of macro means, for each output on its own; an output that
        no example defines is NaN.

    Raises
    ------
    TypeError, ValueError
        When the input cannot be scored as it is; also when there are no examples, or none with a weight.

    Examples
    --------
    >>> from mycelium.metrics import exact_span
    >>> outputs(exact_span, Batch([[[0, 4]], []], [[], []]), average="macro", undefined=float("nan"))
    {'precision': nan, 'recall': 0.0, 'f1': 0.0}
    """
    check_average(average)
    statistics, weight = _count(metric, batch)
    leave_out = average == "macro" and not metric.pooled and undefined is not None and undefined != undefined
    totals = Totals([metric], average, 0.0 if leave_out else undefined)
    totals.add([statistics], weight)
    averaged = totals.values()[0].tolist()
    if leave_out:
        averaged = [_defined_mean(column, weight) for column in metric.value(statistics, undefined).T]
    return dict(zip(metric.outputs, averaged, strict=True))


def flat_report(
    metrics: Sequence[str | Metric] | None, batch: Batch, *, average: str, undefined: float | None = None
) -> dict[str, float]:
    """Return all outputs of several metrics, as :meth:`mycelium.Report.flat` names them.

    Examples
    --------
    >>> flat_report(["iou"], Batch([[[0, 10]], []], [[[2, 8]], []]), average="macro")
    {'iou': 0.8}
    """
    check_average(average)
    scores = Accumulator(metrics=metrics, average=average, undefined=undefined)
    soft = any("soft" in metric.needs for _, metric in scores.settings.metrics)
    sides = _read(batch, soft)
    _check_needed_labels([metric for _, metric in scores.settings.metrics], sides)
    references, predictions = sides.values()
    scores.update(
        references,
        predictions,
        sample_weight=batch.sample_weight,
        soft_references=references if soft else None,
        soft_predictions=predictions if soft else None,
    )
    return scores.compute().flat()


def flat_typed_report(types: str | Sequence[str], batch: Batch, options: Mapping[str, Any]) -> dict[str, float]:
    """Return all scores of typed spans, as :meth:`mycelium.TypedReport.flat` names them.

    Parameters
    ----------
    types : str or sequence of str
        The types.
    batch : Batch
        The examples.
    options : mapping
        Other options of :class:`mycelium.TypedAccumulator`.

    Raises
    ------
    TypeError, ValueError
        When the input cannot be scored as it is.

    Examples
    --------
    >>> scores = flat_typed_report(["A"], Batch([[[0, 10, "A"]], []], [[[2, 8, "A"]], []]), {"overlap_credit": 0.25})
    >>> scores["partial_f1"], scores["by_type.A_f1"]
    (0.25, 0.25)
    """
    scores = TypedAccumulator(types=types, **options)
    sides = _read(batch, False)
    _check_needed_labels([metric for _, metric in scores.settings.metrics], sides)
    if scores.settings.unknown_types == "raise":
        for name, side in sides.items():
            check_types(side, name, scores.settings.rules.types)
    references, predictions = sides.values()
    scores.update(references, predictions, sample_weight=batch.sample_weight)
    return scores.compute().flat()


def counts(metric: Metric, batch: Batch) -> dict[str, float]:
    """Return the sums of the metric's statistics over the examples, by column.

    Examples
    --------
    >>> from mycelium.metrics import iou
    >>> counts(iou, Batch([[[0, 10]]], [[[2, 8]]]))
    {'intersection': 6.0, 'union': 10.0}
    """
    total = ExactSum(len(metric.columns))
    total.add(*_count(metric, batch))
    return dict(zip(metric.columns, total.totals().tolist(), strict=True))


def pooled(metric: Metric, folds: Mapping[str, Any], undefined: float | None = None) -> dict[str, FloatArray]:
    """Add the counts of folds and divide once: the micro average over all their examples.

    Parameters
    ----------
    metric : Metric
        The metric that was counted.
    folds : mapping of str to array of shape (f, ...)
        For each of its columns the sums of f folds.
    undefined : float, optional
        As in :func:`outputs`.

    Returns
    -------
    dict of str to float64 array of shape (...)
        The outputs; NaN where a count is not finite.

    Examples
    --------
    >>> from mycelium.metrics import iou
    >>> pooled(iou, {"intersection": [6.0, 0.0], "union": [10.0, 2.0]})
    {'score': array(0.5)}
    """
    stacked = np.stack([np.asarray(folds[column], dtype=np.float64) for column in metric.columns], axis=-1)
    finite = np.isfinite(stacked)
    flat = np.where(finite, stacked, 0.0).reshape(len(stacked), -1)
    total = ExactSum(flat.shape[1])
    total.add(flat)
    values = metric.value(total.totals().reshape(stacked.shape[1:]), undefined)
    values[~finite.all(axis=(0, -1))] = np.nan
    return {output: values[..., j] for j, output in enumerate(metric.outputs)}


def _count(metric: Metric, batch: Batch) -> tuple[NDArray[Any], IntArray | FloatArray | None]:
    """Return the statistics (n, k) of the examples, and their weights."""
    soft = "soft" in metric.needs
    sides = _read(batch, soft)
    length = common_length(sides)
    references, predictions = sides.values()
    check_needs([metric], references, predictions, length is not None)
    _check_needed_labels([metric], sides)
    if soft:
        for name, side in sides.items():
            check_scores(side, name)
    weight = None if batch.sample_weight is None else weights(batch.sample_weight, len(references))
    blocks = lines(
        references,
        predictions,
        soft_references=references if soft else None,
        soft_predictions=predictions if soft else None,
        text_length=length,
    )
    parts = [metric.count(line) for line in blocks]
    return np.concatenate(parts) if parts else np.zeros((0, len(metric.columns))), weight


def _check_needed_labels(metrics: Sequence[Metric], sides: Mapping[str, SpanBatch]) -> None:
    """Raise a ValueError when a metric reads types and a span has none; it names the side as the caller does."""
    reader = next((metric.key for metric in metrics if "labels" in metric.needs), None)
    if reader is None:
        return
    try:
        for name, side in sides.items():
            check_labels(side, name)
    except ValueError as error:
        raise ValueError(f"{reader} reads types; {error}") from None


def _read(batch: Batch, soft: bool) -> dict[str, SpanBatch]:
    """Read both sides; spans lie within the texts, if these are given.

    What a side alone knows of the lengths of its texts is used where a metric needs it, and else forgotten: a
    permutation test hands each sample the references of another one.
    """
    sides = {}
    for name, x in zip(batch.names, (batch.references, batch.predictions), strict=True):
        side, _ = read_spans(x, name=name, text=batch.text)
        if batch.text is None and not soft:
            side = SpanBatch._trusted(side.offsets, side.start, side.end, side.label, side.score)
        sides[name] = side
    check_rows(**sides)
    return sides


def _defined_mean(values: FloatArray, weight: IntArray | FloatArray | None) -> float:
    """Return the mean of the values that are not NaN; NaN where none of them has a weight."""
    defined = ~np.isnan(values)
    kept = None if weight is None else weight[defined]
    total, divisor = ExactSum(1), ExactSum(1)
    total.add(values[defined, np.newaxis], kept)
    divisor.add((np.ones(int(defined.sum()), dtype=np.int64) if kept is None else kept)[:, np.newaxis])
    return float(total.means(divisor)[0]) if divisor.exact()[0] else float("nan")
