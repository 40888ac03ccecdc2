"""best_threshold: which threshold on the scores of characters gives the best spans?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.formats import read_spans, spans_from_probabilities
from mycelium.formats.ragged import read_probabilities
from mycelium.formats.runs import join_runs, mean_scores
from mycelium.inputs import check_scores, weights
from mycelium.line import lines
from mycelium.metrics import Metric
from mycelium.pooling import check_average, choose
from mycelium.reduce import ExactSum
from mycelium.spans import FloatArray, IntArray, SpanBatch, check_spans
from mycelium.thresholds.running import running_quotients
from mycelium.thresholds.states import States, segments

__all__ = ["BestThreshold", "best_threshold"]

#: Spans of both sides, or characters where a metric reads their probabilities, that are laid out at once.
AT_ONCE = 1 << 17


class BestThreshold(NamedTuple):
    """A threshold, what it scores, and what all others do.

    Attributes
    ----------
    threshold : float
        The best threshold: characters whose score is at least this are marked. Infinity marks nothing.
    score : float
        Its score.
    thresholds : float64 array of shape (t,)
        All thresholds that were looked at, rising.
    scores : float64 array of shape (t,)
        The score of each.
    metric, output, average : str
        What was scored: the key of the metric, the name of its output, and the average.
    """

    threshold: float
    score: float
    thresholds: FloatArray
    scores: FloatArray
    metric: str
    output: str
    average: str


def best_threshold(
    references: Any,
    scores: Any,
    *,
    metric: str | Metric,
    output: str | None = None,
    average: str = "macro",
    min_length: int = 1,
    merge_gap: int = 0,
    thresholds: Any = None,
    sample_weight: Any = None,
    undefined: float | None = None,
    name: str = "references",
) -> BestThreshold:
    """Find the threshold on scores of characters whose spans score best.

    All thresholds are looked at that can make a difference: each distinct value among the scores, and infinity, which
    marks nothing. The score of every one has the bits of scoring the spans of that threshold alone.

    Parameters
    ----------
    references : batch of n span sets
        Whatever :func:`mycelium.as_spans` reads.
    scores : sequence of n rows
        One number between 0 and 1 for each character of the text of the row, as
        :func:`mycelium.formats.spans_from_probabilities` takes them.
    metric : str or Metric
        A metric or its key, e.g. ``"span_coverage(delta=2)"``. One that reads probabilities finds them at the spans of
        the references, and as means of the scores in predicted spans.
    output : str, optional
        ``"precision"``, ``"recall"``, ``"f1"`` or ``"score"``; F1 or the score by default.
    average : {"macro", "micro"}, default="macro"
        As in :func:`mycelium.evaluate`.
    min_length, merge_gap : int
        As in :func:`mycelium.formats.spans_from_probabilities`.
    thresholds : sequence of t floats, optional
        Look at these instead: numbers between 0 and 1, or infinity.
    sample_weight : sequence of n floats, optional
        As in :func:`mycelium.evaluate`.
    undefined : {0.0, 1.0}, optional
        As in :func:`mycelium.evaluate`. NaN is refused: other examples would count at other thresholds.
    name : str
        What messages call the references.

    Returns
    -------
    BestThreshold
        Of equal scores, to the last bit, the lowest threshold is the best one.

    Raises
    ------
    TypeError, ValueError
        When the input cannot be used as it is; also when a reference ends past the scores of its row.

    Notes
    -----
    A row's spans change only at its own distinct values, so each row is counted once for each of them, all in one
    batch. In the order of the thresholds, the differences between a row's successive statistics (micro) or values
    (macro) add up to the whole curve. Memory grows with the number of runs of equal scores within rows (tokens, say),
    time with the number of spans that all these rows hold; neither with rows times thresholds.

    Examples
    --------
    >>> from mycelium.thresholds import best_threshold
    >>> best = best_threshold([[[0, 3]], [[1, 2]]], [[0.9, 0.6, 0.6, 0.1], [0.2, 0.5, 0.2]], metric="iou")
    >>> best.threshold, best.score
    (0.5, 1.0)
    >>> best.thresholds.tolist(), best.scores.round(3).tolist()
    ([0.1, 0.2, 0.5, 0.6, 0.9, inf], [0.542, 0.667, 1.0, 0.5, 0.167, 0.0])
    """
    chosen, output = choose(metric, output)
    if "labels" in chosen.needs:
        raise ValueError(f"{chosen.key} reads types, and characters above a threshold make spans without a type")
    check_average(average)
    if undefined is not None and (isinstance(undefined, bool) or undefined not in (0.0, 1.0)):
        raise ValueError(f"undefined must be None, 0.0 or 1.0, got {undefined!r}")
    spans_from_probabilities([], 0.0, min_length, merge_gap)  # refuses wrong values of the two
    offsets, values = read_probabilities(scores, name="scores", element="character")
    batch = _references(references, np.diff(offsets), name)
    if "soft" in chosen.needs:
        check_scores(batch, name)
    weight = np.ones(len(batch), dtype=np.int64) if sample_weight is None else weights(sample_weight, len(batch))
    divisor = _total(weight)
    if not divisor:
        raise ValueError("the weights of all examples are 0" if len(batch) else "there are no examples to score")

    cut = segments(offsets, values)
    grid, reached = _grid(cut.value, thresholds)
    states = States(cut, reached, len(grid))
    blocks = _count(states, batch, values, offsets, chosen, min_length, merge_gap)
    column = chosen.outputs.index(output)
    macro = average == "macro" and not chosen.pooled
    if macro:
        blocks = (chosen.value(part, undefined)[:, column, np.newaxis] for part in blocks)
    worth = np.concatenate(list(blocks))
    since = np.append(0, states.reached[:-1] + 1)
    since[states.first[:-1]] = 0
    repeated = None if sample_weight is None else weight[states.row]
    sums = [
        running_quotients(each, repeated, states.first[:-1], since, len(grid), divisor if macro else Fraction(1))
        for each in worth.T
    ]
    curve = sums[0] if macro else chosen.value(np.stack(sums, axis=-1), undefined)[:, column]
    best = int(np.argmax(curve if chosen.greater_is_better else -curve))
    return BestThreshold(float(grid[best]), float(curve[best]), grid, curve, chosen.key, output, average)


def _references(references: Any, length: IntArray, name: str) -> SpanBatch:
    batch, _ = read_spans(references, name=name)
    if len(batch) != len(length):
        raise ValueError(f"numbers of rows differ: {name} has {len(batch)}, scores has {len(length)}")
    if batch.length is not None and (batch.length != length).any():
        row = int(np.flatnonzero(batch.length != length)[0])
        raise ValueError(f"scores: row {row} has {length[row]} values, its text {batch.length[row]} characters")
    return check_spans(batch.with_length(length), name=name)[0]


def _grid(values: FloatArray, thresholds: Any) -> tuple[FloatArray, IntArray]:
    """Return the thresholds, rising, and the last one that each value reaches (-1 for none)."""
    if thresholds is None:
        distinct, reached = np.unique(values, return_inverse=True)
        return np.append(distinct, np.inf), reached
    grid = np.asarray(thresholds)
    if grid.ndim != 1 or not len(grid) or grid.dtype.kind not in "iuf":
        raise TypeError(f"thresholds must be a list of numbers, got {thresholds!r}")
    grid = np.unique(grid.astype(np.float64))
    if not ((grid >= 0) & ((grid <= 1) | (grid == np.inf))).all():
        raise ValueError(f"thresholds must be between 0 and 1, or infinity, got {thresholds!r}")
    return grid, np.searchsorted(grid, values, side="right") - 1


def _count(
    states: States,
    references: SpanBatch,
    values: FloatArray,
    offsets: IntArray,
    metric: Metric,
    min_length: int,
    merge_gap: int,
) -> Iterator[NDArray[Any]]:
    """Yield the statistics of all states in blocks of rows."""
    soft = "soft" in metric.needs
    length = np.diff(offsets)
    cost = states.spans + (references.counts + 1 + (length if soft else 0))[states.row]
    for begin, stop in states.blocks(cost, AT_ONCE):
        row = states.row[begin:stop]
        predictions = states.predictions(begin, stop)
        if min_length > 1 or merge_gap > 0:
            predictions = join_runs(predictions, min_length, merge_gap)
        if soft:
            predictions = mean_scores(predictions, values, offsets[row])
        repeated = references[row]
        for line in lines(
            repeated,
            predictions,
            soft_references=repeated if soft else None,
            soft_predictions=predictions if soft else None,
            text_length=length[row],
        ):
            yield metric.count(line)


def _total(weights: IntArray | FloatArray) -> Fraction:
    """Return the exact sum of the weights."""
    one, total = ExactSum(1), ExactSum(1)
    one.add(np.ones((1, 1), dtype=np.int64))
    total.add(weights[:, np.newaxis])
    return Fraction(total.exact()[0], one.exact()[0])
