"""The threshold detector, and the best threshold against a grid search."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.utils import estimator_checks
from sklearn.utils.multiclass import type_of_target
from test_sklearn_scores import filled
from test_thresholds import corpus, slow_spans

from mycelium import SpanBatch, as_spans, metrics
from mycelium.sklearn import PooledScorer, SpanThresholdDetector, best_threshold, span_score, span_scorer

INF = float("inf")
Y, ROWS = corpus(31, 40)
X = [np.array(row) for row in ROWS]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0, INF])
@pytest.mark.parametrize(("min_length", "merge_gap"), [(1, 0), (3, 0), (2, 2)])
def test_predictions(threshold: float, min_length: int, merge_gap: int) -> None:
    detector = SpanThresholdDetector(threshold, min_length, merge_gap)
    found = detector.fit(X, Y).predict(X)
    assert isinstance(found, SpanBatch)
    assert found.shape == (40,)
    assert found.tolist() == [slow_spans(row, threshold, min_length, merge_gap) for row in ROWS]
    assert (detector.threshold_, detector.min_length_, detector.merge_gap_) == (threshold, min_length, merge_gap)


@pytest.mark.parametrize(
    "container",
    [
        list,
        lambda rows: [row.tolist() for row in rows],
        filled,
        lambda rows: pytest.importorskip("pyarrow").array([row.tolist() for row in rows]),
        lambda rows: pytest.importorskip("pandas").Series(rows, dtype=object),
    ],
    ids=["arrays", "lists", "object array", "Arrow", "Series"],
)
def test_containers_of_scores(container: Callable[[Any], Any]) -> None:
    expected = [slow_spans(row, 0.5, 1, 0) for row in ROWS]
    detector = SpanThresholdDetector()
    assert detector.fit(container(X)).predict(container(X)).tolist() == expected
    if type(container(X)).__module__.startswith("pyarrow"):
        return  # before 1.6, scikit-learn makes a list of Arrow's scalars of it in folds
    results = cross_validate(detector, container(X), Y, scoring=PooledScorer("iou"), cv=4)
    assert PooledScorer("iou").pool(results) == {"score": span_score(Y, expected, metric="iou", average="micro")}


def test_a_matrix() -> None:
    matrix = np.array([[0.1, 0.9, 0.5], [0.4, 0.2, 0.8]])
    assert SpanThresholdDetector().fit(matrix).predict(matrix).tolist() == [[[1, 3]], [[2, 3]]]


def test_parameters_are_those_of_fit() -> None:
    detector = SpanThresholdDetector(0.7).fit(X)
    before = detector.predict(X).tolist()
    detector.set_params(threshold=0.2, min_length=3)
    assert detector.predict(X).tolist() == before
    assert detector.fit(X).predict(X).tolist() == [slow_spans(row, 0.2, 3, 0) for row in ROWS]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"threshold": 50}, ValueError),
        ({"threshold": -0.1}, ValueError),
        ({"threshold": float("nan")}, ValueError),
        ({"threshold": "0.5"}, TypeError),
        ({"threshold": None}, TypeError),
        ({"min_length": 0}, ValueError),
        ({"merge_gap": -1}, ValueError),
        ({"merge_gap": 0.5}, TypeError),
        ({"threshold": INF, "min_length": 0}, ValueError),
    ],
)
def test_parameters_that_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    detector = SpanThresholdDetector(**options)  # scikit-learn wants checks in fit
    with pytest.raises(error, match=next(iter(options)) if len(options) == 1 else "min_length"):
        detector.fit(X)


@pytest.mark.parametrize("threshold", [0.5, INF])
def test_scores_that_are_refused(threshold: float) -> None:
    detector = SpanThresholdDetector(threshold).fit(X)
    with pytest.raises(ValueError, match=r"row 1, character 0 1\.5"):
        detector.predict([[0.1], [1.5]])
    with pytest.raises(TypeError, match="row 0"):
        detector.predict([0.1, 0.5])


def test_an_estimator_like_others() -> None:
    detector = SpanThresholdDetector(0.7, merge_gap=2)
    assert clone(detector).get_params() == {"threshold": 0.7, "min_length": 1, "merge_gap": 2}
    assert repr(detector) == "SpanThresholdDetector(merge_gap=2, threshold=0.7)"
    with pytest.raises(NotFittedError):
        detector.predict(X)
    again = pickle.loads(pickle.dumps(detector.fit(X)))
    assert again.predict(X).tolist() == detector.predict(X).tolist()
    # A classifier's folds would be stratified, which fails on span sets.
    assert not is_classifier(detector)
    assert not is_regressor(detector)


@pytest.mark.parametrize(
    "check",
    [
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_dont_overwrite_parameters",
        "check_estimators_overwrite_params",
        "check_fit_score_takes_y",
        "check_estimators_fit_returns_self",
        "check_estimators_unfitted",
        "check_fit_check_is_fitted",
        "check_pipeline_consistency",
    ],
)
def test_the_checks_of_scikit_learn_that_apply(check: str) -> None:
    """Others feed numbers outside [0, 1], or want refusals of rows of different lengths."""
    getattr(estimator_checks, check)("SpanThresholdDetector", SpanThresholdDetector())


def test_span_batches_are_no_class_labels() -> None:
    assert type_of_target(as_spans(Y)) == "unknown"


# -- the best threshold


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("key", [*metrics.DEFAULT, "response"])
def test_equal_to_a_grid_search(key: str, average: str) -> None:
    """On all distinct thresholds, ties included: one decimal makes many."""
    rows = [row.round(1) for row in X]
    everything = [(np.arange(40), np.arange(40))]
    for shape in ({}, {"min_length": 2, "merge_gap": 1}):
        best = best_threshold(Y, rows, metric=key, average=average, **shape)
        assert best.thresholds.tolist() == [*np.unique(np.concatenate(rows)).tolist(), INF]
        search = GridSearchCV(
            SpanThresholdDetector(**shape),
            {"threshold": best.thresholds},
            scoring=span_scorer(key, average=average),
            cv=everything,
        ).fit(rows, Y)
        assert best.scores.tolist() == search.cv_results_["mean_test_score"].tolist()
        assert best.threshold == search.best_params_["threshold"]
        assert best.score == search.best_score_
        assert best.score == span_score(Y, search.predict(rows), metric=key, average=average)


def test_equal_to_a_pooled_grid_search_over_folds() -> None:
    scorer = PooledScorer("character")
    best = best_threshold(Y, X, metric="character", average="micro")
    search = GridSearchCV(
        SpanThresholdDetector(),
        {"threshold": best.thresholds},
        scoring=scorer,
        refit=scorer.best_index,
        cv=KFold(4, shuffle=True, random_state=0),
    ).fit(X, Y)
    assert scorer.pool(search.cv_results_)["f1"] == best.scores.tolist()
    assert search.best_params_["threshold"] == best.threshold


def test_a_grid_of_the_users_own() -> None:
    grid = [0.25, 0.5, 0.75]
    best = best_threshold(Y, X, metric="span_coverage", delta=2, thresholds=grid, zero_division=0.0)
    assert best.metric == "span_coverage(delta=2)"
    for threshold, score in zip(best.thresholds, best.scores, strict=True):
        predictions = SpanThresholdDetector(threshold).fit(X).predict(X)
        assert score == span_score(Y, predictions, metric="span_coverage", delta=2, zero_division=0.0)


def test_weights_and_outputs() -> None:
    weights = np.linspace(0.5, 2.0, 40)
    best = best_threshold(Y, X, metric="exact_span", output="recall", sample_weight=weights)
    assert best.output == "recall"
    predictions = SpanThresholdDetector(best.threshold).fit(X).predict(X)
    assert best.score == span_score(Y, predictions, metric="exact_span", output="recall", sample_weight=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zero_division": float("nan")}, "zero_division must be None, 0.0 or 1.0 here"),
        ({"zero_division": 0.3}, "zero_division must be"),
        ({"delta": 2}, "iou has no parameter 'delta'"),
        ({"y_true": Y[:-1]}, "y_true has 39, scores has 40"),
        ({"y_true": [*Y[:-1], [[0, 10_000]]]}, r"y_true: .*row 39, span 0 \[0, 10000\]: past the end"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        best_threshold(**{"y_true": Y, "scores": X, "metric": "iou", **options})
