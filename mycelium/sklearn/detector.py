"""A detector that marks the characters whose risk reaches a threshold, and the best such threshold."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mycelium.formats import spans_from_probabilities
from mycelium.metrics import Metric
from mycelium.pooling import choose
from mycelium.sklearn.scores import undefined_of
from mycelium.spans import SpanBatch
from mycelium.thresholds import BestThreshold
from mycelium.thresholds import best_threshold as _best_threshold

__all__ = ["SpanThresholdDetector", "best_threshold"]


class SpanThresholdDetector(BaseEstimator):  # type: ignore[misc]
    """Mark the characters whose risk score reaches a threshold.

    Neither a classifier nor a regressor, so that scikit-learn cuts samples into plain folds. There is nothing to learn
    but hyperparameters: search them with :class:`~sklearn.model_selection.GridSearchCV`, or the threshold alone, much
    faster, with :func:`best_threshold`.

    Parameters
    ----------
    threshold : float, default=0.5
        The smallest score, between 0 and 1, that marks a character; a score equal to it does. Infinity marks nothing.

    min_length : int, default=1
        Spans with fewer characters are left out.

    merge_gap : int, default=0
        Spans with at most so many characters between them are joined first.

    Attributes
    ----------
    threshold_, min_length_, merge_gap_ : float, int, int
        The parameters at the time of `fit`, by which `predict` goes.

    See Also
    --------
    best_threshold : All thresholds at once.
    mycelium.formats.spans_from_probabilities : What `predict` calls.

    Notes
    -----
    Samples are rows of different lengths, so that those of scikit-learn's estimator checks that feed a matrix of any
    numbers do not apply: rows hold numbers between 0 and 1.

    Examples
    --------
    >>> from mycelium.sklearn import SpanThresholdDetector
    >>> X = [[0.1, 0.9, 0.8, 0.2], [0.7, 0.3]]
    >>> SpanThresholdDetector(threshold=0.7).fit(X).predict(X).tolist()
    [[[1, 3]], [[0, 1]]]
    """

    def __init__(self, threshold: float = 0.5, min_length: int = 1, merge_gap: int = 0) -> None:
        self.threshold = threshold
        self.min_length = min_length
        self.merge_gap = merge_gap

    def fit(self, X: Any, y: Any = None) -> SpanThresholdDetector:
        """Check the parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_characters)
            Not read: there is nothing to learn from it.

        y : ignored
            Present for the sake of scikit-learn.

        Returns
        -------
        self : SpanThresholdDetector
            The detector.

        Raises
        ------
        TypeError, ValueError
            When a parameter is out of its range.
        """
        spans_from_probabilities([], self.threshold, self.min_length, self.merge_gap)
        self.threshold_ = float(self.threshold)
        self.min_length_ = int(self.min_length)
        self.merge_gap_ = int(self.merge_gap)
        return self

    def predict(self, X: Any) -> SpanBatch:
        """Mark spans.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_characters)
            The scores of the characters of each sample, between 0 and 1: lists, arrays of different lengths, an object
            array of those, a matrix, or an Arrow list column.

        Returns
        -------
        y_pred : SpanBatch of shape (n_samples,)
            The spans of each sample, with the mean of their scores. ``y_pred[i]`` is a ``(k, 2)`` integer array.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        TypeError, ValueError
            When a score is not a number between 0 and 1; the message names row and character.
        """
        check_is_fitted(self)
        return spans_from_probabilities(X, self.threshold_, self.min_length_, self.merge_gap_)


def best_threshold(
    y_true: Any,
    scores: Any,
    *,
    metric: str | Metric,
    output: str | None = None,
    average: str = "macro",
    min_length: int = 1,
    merge_gap: int = 0,
    thresholds: Any = None,
    sample_weight: Any = None,
    zero_division: float | None = None,
    **parameters: float,
) -> BestThreshold:
    """Find the threshold of :class:`SpanThresholdDetector` that scores best on all samples together.

    Equal to a grid search over all distinct scores without folds, in a small part of the time.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The reference spans of each sample; see :func:`span_score`. They lie within the scores of their sample.

    scores : array-like of shape (n_samples,) or (n_samples, n_characters)
        The scores of the characters of each sample, between 0 and 1, as `predict` of the detector takes them.

    metric, output, average, sample_weight, **parameters
        As in :func:`span_score`.

    min_length, merge_gap : int
        As in :class:`SpanThresholdDetector`.

    thresholds : array-like of float, default=None
        Look at these only, instead of all distinct scores and infinity.

    zero_division : {0.0, 1.0}, default=None
        As in :func:`span_score`; NaN is refused here, for other samples would count at other thresholds.

    Returns
    -------
    best : BestThreshold
        A named tuple: ``threshold``, its ``score``, and the curve, ``thresholds`` (rising) and ``scores``; then
        ``metric``, ``output`` and ``average``. Of equal scores the lowest threshold wins, as in
        :class:`~sklearn.model_selection.GridSearchCV` with a rising grid.

    Raises
    ------
    TypeError, ValueError
        When spans, scores, weights or options cannot be used as they are; the message names argument and row.

    Examples
    --------
    >>> from mycelium.sklearn import SpanThresholdDetector, best_threshold
    >>> X = [[0.9, 0.6, 0.6, 0.1], [0.2, 0.5, 0.2]]
    >>> y = [[[0, 3]], [[1, 2]]]
    >>> best = best_threshold(y, X, metric="iou")
    >>> best.threshold, best.score
    (0.5, 1.0)
    >>> SpanThresholdDetector(best.threshold).fit(X).predict(X).tolist()
    [[[0, 3]], [[1, 2]]]
    """
    chosen, output = choose(metric, output, parameters)
    undefined = undefined_of(zero_division)
    if undefined is not None and undefined != undefined:
        raise ValueError(
            "zero_division must be None, 0.0 or 1.0 here: with NaN, other samples count at other thresholds"
        )
    return _best_threshold(
        y_true,
        scores,
        metric=chosen,
        output=output,
        average=average,
        min_length=min_length,
        merge_gap=merge_gap,
        thresholds=thresholds,
        sample_weight=sample_weight,
        undefined=undefined,
        name="y_true",
    )
