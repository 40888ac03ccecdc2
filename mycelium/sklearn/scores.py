"""The score function of all metrics: ``span_score(y_true, y_pred, metric=...)`` gives one float."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

from mycelium.metrics import Metric
from mycelium.metrics.parameters import Setting
from mycelium.pooling import Batch, choose, outputs

__all__ = ["PrecisionRecallFscore", "batch_of", "span_precision_recall_fscore", "span_score", "undefined_of"]


class PrecisionRecallFscore(NamedTuple):
    """Precision, recall and F1."""

    precision: float
    recall: float
    f1: float


def undefined_of(zero_division: float | None) -> float | None:
    """Return the value of a side with nothing to divide by, or raise a ValueError."""
    if zero_division is None:
        return None
    number = isinstance(zero_division, Real) and not isinstance(zero_division, bool)
    if not number or (zero_division == zero_division and zero_division not in (0.0, 1.0)):
        raise ValueError(f"zero_division must be None, 0.0, 1.0 or NaN, got {zero_division!r}")
    return float(zero_division)


def batch_of(y_true: Any, y_pred: Any, texts: Any, sample_weight: Any) -> Batch:
    """Name the arguments as scikit-learn does."""
    return Batch(y_true, y_pred, texts, sample_weight, ("y_true", "y_pred"))


def span_score(
    y_true: Any,
    y_pred: Any,
    *,
    metric: str | Metric,
    output: str | None = None,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
    **parameters: Setting,
) -> float:
    """Score predicted spans by any metric.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The reference spans of each sample, half-open ``[start, end)`` in characters. Lists, object arrays, rectangular
        arrays, Series, Arrow arrays and SpanBatches: whatever :func:`mycelium.as_spans` reads.

    y_pred : array-like of shape (n_samples,)
        The predicted spans; row i belongs to the same sample as row i of `y_true`.

    metric : str or Metric
        A metric or its key; ``mycelium.metrics.available()`` lists them. One that reads probabilities
        (``"soft_correlation"``) finds them at the spans themselves; it needs `texts`, or a SpanBatch that knows their
        lengths.

    output : {"precision", "recall", "f1", "score"}, default=None
        Which output of the metric; by default F1, or the score where the metric gives one number.

    average : {"macro", "micro"}, default="macro"
        ``"macro"`` is the mean over samples of the score of each (``"samples"`` in scikit-learn); ``"micro"`` divides
        sums over all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Multiplies the samples (micro) or weighs the mean (macro).

    zero_division : {0.0, 1.0, np.nan}, default=None
        The value of precision without predictions and of recall without references; where both are missing, of F1 as
        well. References without predictions have F1 0 in every setting. NaN leaves such values out of macro means,
        for each output on its own, and is the result where no sample is left. By default the metric's own: 1, and 0
        for ``"character"``.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them. Without them no bounds are checked, even where a SpanBatch knows the
        lengths of its texts: a permutation test gives each sample the references of another.

    **parameters : float or str
        Parameters of the metric, e.g. ``delta=2`` for ``"span_coverage"``.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best (-1 is worst for ``"soft_correlation"``).

    Raises
    ------
    TypeError, ValueError
        When spans, weights or options cannot be used as they are; the message names argument, row and span.

    See Also
    --------
    span_precision_recall_fscore : All three at once.
    mycelium.evaluate : All metrics at once, with the conventions that produced the numbers.

    Examples
    --------
    >>> from mycelium.sklearn import span_score
    >>> y_true = [[[0, 10]], [[4, 7]]]
    >>> y_pred = [[[0, 12]], [[4, 7], [9, 10]]]
    >>> span_score(y_true, y_pred, metric="span_coverage")
    0.3333333333333333
    >>> span_score(y_true, y_pred, metric="span_coverage", delta=3)
    1.0
    >>> span_score(y_true, y_pred, metric="character", output="precision", average="micro")
    0.8125
    """
    chosen, output = choose(metric, output, parameters)
    batch = batch_of(y_true, y_pred, texts, sample_weight)
    return outputs(chosen, batch, average=average, undefined=undefined_of(zero_division))[output]


def span_precision_recall_fscore(
    y_true: Any,
    y_pred: Any,
    *,
    metric: str | Metric,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
    **parameters: Setting,
) -> PrecisionRecallFscore:
    """Compute precision, recall and F1 by any metric that has them.

    Parameters
    ----------
    y_true, y_pred, metric, average, sample_weight, zero_division, texts, **parameters
        As in :func:`span_score`.

    Returns
    -------
    precision, recall, f1 : float
        A named tuple. F1 is computed from the counts, not from the two ratios; a macro average takes the mean of each.

    Raises
    ------
    TypeError, ValueError
        As :func:`span_score`; also when the metric gives one number, as ``"iou"`` does.

    Examples
    --------
    >>> from mycelium.sklearn import span_precision_recall_fscore
    >>> span_precision_recall_fscore([[[0, 10]]], [[[2, 8]]], metric="character")
    PrecisionRecallFscore(precision=1.0, recall=0.6, f1=0.75)
    >>> precision, recall, f1 = span_precision_recall_fscore([[[0, 4]], []], [[], []], metric="exact_span",
    ...                                                      zero_division=0.0)
    >>> precision, recall, f1
    (0.0, 0.0, 0.0)
    """
    chosen, _ = choose(metric, None, parameters)
    if chosen.outputs != PrecisionRecallFscore._fields:
        raise ValueError(f"{chosen.key} has no precision and recall, only {', '.join(chosen.outputs)}; use span_score")
    batch = batch_of(y_true, y_pred, texts, sample_weight)
    return PrecisionRecallFscore(**outputs(chosen, batch, average=average, undefined=undefined_of(zero_division)))
