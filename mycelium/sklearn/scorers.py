"""Scorers: what ``scoring=`` of scikit-learn's model selection takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.metrics import make_scorer
from sklearn.utils.metadata_routing import UNUSED

from mycelium.metrics import DEFAULT, Metric
from mycelium.metrics.names import flat_name
from mycelium.metrics.parameters import Setting
from mycelium.pooling import check_average, choose, counts, flat_report, flat_typed_report, pooled
from mycelium.sklearn.scores import batch_of, span_score, undefined_of

__all__ = ["PooledScorer", "ReportScorer", "TypedReportScorer", "scorers", "span_scorer"]


def span_scorer(
    metric: str | Metric,
    *,
    output: str | None = None,
    average: str = "macro",
    zero_division: float | None = None,
    **parameters: Setting,
) -> Callable[..., float]:
    """Make a scorer of :func:`span_score`.

    Parameters
    ----------
    metric, output, average, zero_division, **parameters
        As in :func:`span_score`.

    Returns
    -------
    scorer : callable
        The result of :func:`sklearn.metrics.make_scorer`: ``scorer(estimator, X, y_true)`` gives a float. It requests
        no metadata; ``scorer.set_score_request(sample_weight=True, texts=True)`` makes it do so.

    Raises
    ------
    TypeError, ValueError
        When there is no such metric, output, average or parameter.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from mycelium.sklearn import SpanThresholdDetector, span_scorer
    >>> X = [[0.1, 0.9, 0.8, 0.2], [0.7, 0.3], [0.2, 0.1], [0.4, 0.6]]
    >>> y = [[[1, 3]], [[0, 2]], [], [[0, 2]]]
    >>> cross_val_score(SpanThresholdDetector(), X, y, cv=2, scoring=span_scorer("iou")).tolist()
    [0.75, 0.75]
    """
    chosen, output = choose(metric, output, parameters)
    check_average(average)
    options: dict[str, Any] = {
        "metric": chosen.key if isinstance(metric, str) else chosen,
        "output": output,
        "average": average,
    }
    if undefined_of(zero_division) is not None:
        options["zero_division"] = zero_division
    scorer: Callable[..., float] = make_scorer(span_score, greater_is_better=chosen.greater_is_better, **options)
    return scorer


def scorers(
    metrics: Sequence[str | Metric] | None = None, *, average: str = "macro", zero_division: float | None = None
) -> dict[str, Callable[..., float]]:
    """Return a scorer for each metric, under the names of :meth:`mycelium.Report.flat`.

    Parameters
    ----------
    metrics : sequence of str or Metric, default=None
        The metrics; the six of the default report by default.

    average, zero_division
        As in :func:`span_score`.

    Returns
    -------
    scorers : dict of str to callable
        For ``scoring=`` of a multimetric cross-validation, or to choose one from: the F1 of each metric as
        ``"character_f1"``, or its score as ``"iou"``.

    See Also
    --------
    ReportScorer : All outputs of all metrics in one go, where many are wanted.

    Examples
    --------
    >>> from mycelium.sklearn import scorers
    >>> list(scorers())
    ['exact_span_f1', 'iou', 'character_f1', 'deteval_1d_f1', 'cleval_1d_f1', 'span_coverage_f1']
    >>> list(scorers(["strict", "partial(overlap_credit=1.0)", "typed_partial"]))
    ['strict_f1', 'partial(overlap_credit=1.0)_f1', 'typed_partial_f1']
    """
    named = {}
    for metric in DEFAULT if metrics is None else metrics:
        chosen, output = choose(metric)
        name = flat_name(chosen.key, output)
        named[name] = span_scorer(metric, average=average, zero_division=zero_division)
    return named


class _Scorer(BaseEstimator):  # type: ignore[misc]
    """A callable that scores an estimator, with metadata requests: being an estimator is scikit-learn's way to them."""

    __metadata_request__score: ClassVar = {"estimator": UNUSED}

    def score(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, texts: Any = None) -> dict[str, float]:
        """Score a fitted estimator.

        Parameters
        ----------
        estimator : object
            Its ``predict(X)`` returns span sets.

        X : array-like of shape (n_samples,)
            What it predicts from.

        y : array-like of shape (n_samples,)
            The reference spans; see :func:`span_score`.

        sample_weight, texts : array-like of shape (n_samples,), default=None
            As in :func:`span_score`. In cross-validation they come through ``set_score_request``.

        Returns
        -------
        scores : dict of str to float
            By name.
        """
        return self._scores(y, estimator.predict(X), sample_weight, texts)

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, texts: Any = None
    ) -> dict[str, float]:
        """Call :meth:`score`."""
        return self.score(estimator, X, y, sample_weight=sample_weight, texts=texts)

    def _scores(self, y_true: Any, y_pred: Any, sample_weight: Any, texts: Any) -> dict[str, float]:
        raise NotImplementedError


class ReportScorer(_Scorer):
    """A scorer that gives all outputs of all metrics, and matches each set of predictions once.

    Parameters
    ----------
    metrics : sequence of str or Metric, default=None
        The metrics; the six of the default report by default.

    average : {"macro", "micro"}, default="macro"
        As in :func:`span_score`.

    zero_division : {0.0, 1.0}, default=None
        As in :func:`span_score`, without NaN.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from mycelium.sklearn import ReportScorer, SpanThresholdDetector
    >>> X = [[0.1, 0.9, 0.8, 0.2], [0.7, 0.3], [0.2, 0.1], [0.4, 0.6]]
    >>> y = [[[1, 3]], [[0, 2]], [], [[0, 2]]]
    >>> results = cross_validate(SpanThresholdDetector(), X, y, cv=2, scoring=ReportScorer(["iou", "character"]))
    >>> [name for name in results if name.startswith("test")]
    ['test_iou', 'test_character_precision', 'test_character_recall', 'test_character_f1']
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric] | None = None,
        average: str = "macro",
        zero_division: float | None = None,
    ) -> None:
        self.metrics = metrics
        self.average = average
        self.zero_division = zero_division

    def _scores(self, y_true: Any, y_pred: Any, sample_weight: Any, texts: Any) -> dict[str, float]:
        batch = batch_of(y_true, y_pred, texts, sample_weight)
        return flat_report(self.metrics, batch, average=self.average, undefined=undefined_of(self.zero_division))


class TypedReportScorer(_Scorer):
    """A scorer that gives all scores of typed spans: place, type, both, each type and the means over types.

    Parameters
    ----------
    types : {"causal", "ragtruth"} or sequence of str
        The types, the same in every fold.

    average, overlap_credit, min_overlap, overlap_base, unknown_types, absent_types
        As in :func:`mycelium.evaluate_typed`.

    zero_division : {0.0, 1.0}, default=1.0
        Value of a side with nothing to divide by. None leaves each measure its own: 1, and 0 for ``character``.

    Notes
    -----
    With ``absent_types="exclude"`` the mean over types is taken over those of the fold. For the micro average over all
    folds together, take ``PooledScorer("typed_partial")``.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from mycelium.sklearn import TypedReportScorer
    >>> class Detector(BaseEstimator):
    ...     def predict(self, X):
    ...         return [[[0, len(x), "conflict"]] for x in X]
    >>> scores = TypedReportScorer(["conflict", "baseless"])(Detector(), ["yes", "no"], [[[0, 3, "conflict"]], []])
    >>> scores["typed_partial_f1"], scores["by_type.conflict_precision"], scores["valid_cases_clean"]
    (0.6666666666666666, 0.5, 0.0)
    """

    def __init__(
        self,
        types: str | Sequence[str],
        average: str = "micro",
        overlap_credit: float = 0.5,
        min_overlap: float = 0.0,
        overlap_base: str = "reference",
        unknown_types: str = "raise",
        absent_types: str = "exclude",
        zero_division: float | None = 1.0,
    ) -> None:
        self.types = types
        self.average = average
        self.overlap_credit = overlap_credit
        self.min_overlap = min_overlap
        self.overlap_base = overlap_base
        self.unknown_types = unknown_types
        self.absent_types = absent_types
        self.zero_division = zero_division

    def _scores(self, y_true: Any, y_pred: Any, sample_weight: Any, texts: Any) -> dict[str, float]:
        options = self.get_params(deep=False)
        types, undefined = options.pop("types"), undefined_of(options.pop("zero_division"))
        batch = batch_of(y_true, y_pred, texts, sample_weight)
        return flat_typed_report(types, batch, {**options, "undefined": undefined})


class PooledScorer(_Scorer):
    """A scorer that gives counts, so that the micro average over folds can be that of all samples together.

    F1 is no mean of the F1 of folds. This one reports the sums of the metric's statistics over each fold;
    :meth:`pool` adds them and divides once.

    Parameters
    ----------
    metric : str or Metric
        The metric. A key may hold parameters: ``"span_coverage(delta=2)"``.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, cross_validate
    >>> from mycelium.sklearn import PooledScorer, SpanThresholdDetector
    >>> X = [[0.1, 0.9, 0.8, 0.2], [0.7, 0.3], [0.2, 0.1], [0.4, 0.6]]
    >>> y = [[[1, 3]], [[0, 2]], [], [[0, 2]]]
    >>> scorer = PooledScorer("character")
    >>> results = cross_validate(SpanThresholdDetector(), X, y, cv=2, scoring=scorer)
    >>> results["test_character_intersection"].tolist(), results["test_character_referenced"].tolist()
    ([3.0, 1.0], [4.0, 2.0])
    >>> scorer.pool(results)
    {'precision': 1.0, 'recall': 0.6666666666666666, 'f1': 0.8}

    In a grid search, ``refit=scorer.best_index`` chooses by the pooled average:

    >>> grid = {"threshold": [0.2, 0.5, 0.9]}
    >>> search = GridSearchCV(SpanThresholdDetector(), grid, cv=2, scoring=scorer, refit=scorer.best_index).fit(X, y)
    >>> search.best_params_, scorer.pool(search.cv_results_)["f1"]
    ({'threshold': 0.2}, [0.8571428571428571, 0.8, 0.2857142857142857])
    """

    def __init__(self, metric: str | Metric) -> None:
        self.metric = metric

    def _scores(self, y_true: Any, y_pred: Any, sample_weight: Any, texts: Any) -> dict[str, float]:
        chosen, _ = choose(self.metric)
        counted = counts(chosen, batch_of(y_true, y_pred, texts, sample_weight))
        return {f"{chosen.key}_{column}": value for column, value in counted.items()}

    def pool(
        self, results: Mapping[str, Any], *, which: str = "test", zero_division: float | None = None
    ) -> dict[str, Any]:
        """Add the counts of all folds and divide once.

        Parameters
        ----------
        results : dict
            What :func:`~sklearn.model_selection.cross_validate` returned, or ``cv_results_`` of a search.

        which : {"test", "train"}, default="test"
            The scores on the test or on the training samples of the folds.

        zero_division : {0.0, 1.0, np.nan}, default=None
            As in :func:`span_score`.

        Returns
        -------
        outputs : dict of str to float
            The outputs of the metric; for a search, lists with one float for each candidate. NaN where a fold failed.

        Raises
        ------
        ValueError
            When the results do not hold the counts of this scorer.
        """
        chosen, _ = choose(self.metric)
        folds = {column: self._folds(results, f"{which}_{chosen.key}_{column}") for column in chosen.columns}
        return {output: value.tolist() for output, value in pooled(chosen, folds, undefined_of(zero_division)).items()}

    def best_index(self, cv_results: Mapping[str, Any]) -> int:
        """Return the candidate of a search whose pooled average is best, the first one of equals: for ``refit=``."""
        chosen, output = choose(self.metric)
        values = self.pool(cv_results)[output]
        defined = [i for i, value in enumerate(values) if value == value]
        if not defined:
            raise ValueError(f"no candidate has a pooled {chosen.key}: all of them failed in some fold")
        return (max if chosen.greater_is_better else min)(defined, key=values.__getitem__)

    @staticmethod
    def _folds(results: Mapping[str, Any], name: str) -> Any:
        if name in results:
            return results[name]
        splits: list[Any] = []
        while f"split{len(splits)}_{name}" in results:
            splits.append(results[f"split{len(splits)}_{name}"])
        if not splits:
            raise ValueError(f"the results hold no {name!r}: score with this scorer first")
        return splits
