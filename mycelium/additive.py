"""What a report keeps of its examples, and the sums from which any average of them can be replicated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.draws import Units, leave_one_out, sum_by_unit
from mycelium.metrics import Metric
from mycelium.spans import FloatArray, IntArray

__all__ = ["Additive", "Rows", "additive", "split"]


class Rows:
    """The statistics of every example behind a report, in blocks of rows as they were counted."""

    def __init__(self) -> None:
        self.blocks: list[list[NDArray[Any]]] = []
        self.weights: IntArray | FloatArray | None = None

    def __len__(self) -> int:
        return sum(len(block[0]) for block in self.blocks)

    def statistics(self, number: int) -> NDArray[Any]:
        """Return the (n, k) statistics of one metric."""
        return np.concatenate([block[number] for block in self.blocks])


class Additive(NamedTuple):
    """An average as a function of sums over units.

    Attributes
    ----------
    sums : float64 array of shape (u, k)
        What each unit adds.
    value : callable
        Turns sums of any units, of shape (..., k), into the metric's outputs, of shape (..., outputs). NaN where the
        units weigh nothing.
    """

    sums: FloatArray
    value: Callable[[FloatArray], FloatArray]

    def jackknife(self) -> FloatArray:
        """Return the outputs without each unit, shape (u, outputs)."""
        return self.value(leave_one_out(self.sums))


def additive(
    metric: Metric,
    average: str,
    undefined: float | None,
    statistics: NDArray[Any],
    units: Units,
    weights: IntArray | FloatArray | None = None,
) -> Additive:
    """Return a metric's average over examples as a function of sums over units.

    Parameters
    ----------
    metric : Metric
        What counts and divides.
    average : {"macro", "micro"}
        Macro sums each example's values and their weights; micro sums the statistics, as pooled metrics do always.
    undefined : float or None
        Passed on to ``metric.value``.
    statistics : array of shape (n, k)
        The statistics of the n examples.
    units : Units
        Which examples are drawn together.
    weights : array of shape (n,), optional
        The weights of the examples.

    Examples
    --------
    >>> import numpy as np
    >>> from mycelium import metrics
    >>> from mycelium.draws import units_of
    >>> statistics = metrics.iou.statistics([[[0, 10]], [[0, 4]]], [[[0, 10]], [[2, 4]]])
    >>> macro = additive(metrics.iou, "macro", None, statistics, units_of(None, 2))
    >>> macro.value(macro.sums.sum(axis=0)).tolist()
    [0.75]
    """
    if average == "micro" or metric.pooled:
        return Additive(sum_by_unit(statistics, units, weights), lambda totals: metric.value(totals, undefined))
    values = metric.value(statistics, undefined)
    counted = np.column_stack([values, np.ones(len(values))])
    return Additive(sum_by_unit(counted, units, weights), mean)


def mean(totals: FloatArray) -> FloatArray:
    """Divide sums (..., k) by the weights that stand in their last column; NaN where these are 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(totals[..., :-1] / totals[..., -1:])


def split(totals: FloatArray, parts: Sequence[Additive]) -> list[FloatArray]:
    """Return the outputs of several averages, given their sums (..., k1 + k2 + ...) side by side."""
    out, begin = [], 0
    for part in parts:
        end = begin + part.sums.shape[1]
        out.append(part.value(totals[..., begin:end]))
        begin = end
    return out
