"""Scorers in scikit-learn's model selection."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from test_sklearn_scores import CONTAINERS, filled
from test_thresholds import corpus

import mycelium
import mycelium.pooling
from mycelium import as_spans, metrics
from mycelium.formats import spans_from_probabilities
from mycelium.sklearn import (
    PooledScorer,
    ReportScorer,
    SpanThresholdDetector,
    character_f1_score,
    scorers,
    span_score,
    span_scorer,
)

N = 60
Y, ROWS = corpus(21, N)
X = [np.array(row) for row in ROWS]
FOLDS = KFold(3)
DETECTOR = SpanThresholdDetector(threshold=0.6)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(key: str, rows: Any, threshold: float = 0.6, **options: Any) -> dict[str, float]:
    """Score some rows without scikit-learn."""
    weights = options.pop("sample_weight", None)
    return mycelium.evaluate(
        references=as_spans([Y[i] for i in rows]),
        predictions=spans_from_probabilities([X[i] for i in rows], threshold),
        metrics=[key],
        sample_weight=None if weights is None else [weights[i] for i in rows],
        **options,
    )[metrics.get(key).key]


def folds_by_hand(key: str, output: str, **options: Any) -> list[float]:
    return [by_hand(key, test, **options)[output] for _, test in FOLDS.split(X)]


# -- single scorers


def test_names_are_those_of_reports() -> None:
    flat = mycelium.evaluate(references=Y, predictions=Y).flat()
    assert [name for name in flat if not name.endswith(("precision", "recall"))] == list(scorers())
    assert list(scorers(["span_coverage(delta=2)", metrics.response])) == ["span_coverage(delta=2)_f1", "response_f1"]


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("key", metrics.DEFAULT)
def test_cross_validation(key: str, average: str) -> None:
    name = "iou" if key == "iou" else f"{key}_f1"
    expected = folds_by_hand(key, metrics.get(key).primary, average=average)
    assert len(set(expected)) > 1
    for scorer in (scorers(average=average)[name], span_scorer(key, average=average)):
        assert type(scorer(DETECTOR.fit(X), X, Y)) is float
        assert cross_val_score(DETECTOR, X, Y, scoring=scorer, cv=3).tolist() == expected
        again = pickle.loads(pickle.dumps(scorer))
        assert cross_val_score(DETECTOR, X, Y, scoring=again, cv=3).tolist() == expected
        assert cross_val_score(DETECTOR, X, Y, scoring=clone(scorer, safe=False), cv=3).tolist() == expected


def test_scorers_are_results_of_make_scorer() -> None:
    kind = type(make_scorer(character_f1_score))
    assert {type(scorer) for scorer in [*scorers().values(), span_scorer("response")]} == {kind}


def test_functions_make_scorers_too() -> None:
    expected = folds_by_hand("span_coverage(delta=2)", "f1", average="micro")
    scorer = make_scorer(span_score, metric="span_coverage", delta=2, average="micro")
    assert cross_val_score(DETECTOR, X, Y, scoring=scorer, cv=3).tolist() == expected
    assert cross_val_score(
        DETECTOR, X, Y, scoring=span_scorer("span_coverage", delta=2, average="micro"), cv=3
    ).tolist() == (expected)
    # An option that belongs elsewhere is not swallowed.
    with pytest.raises(ValueError, match="no parameter 'greater_is_worse'"):
        make_scorer(span_score, metric="iou", greater_is_worse=True)(DETECTOR.fit(X), X, Y)


def test_other_outputs_and_settings() -> None:
    scorer = span_scorer("exact_span", output="precision", zero_division=0.0)
    assert cross_val_score(DETECTOR, X, Y, scoring=scorer, cv=3).tolist() == folds_by_hand(
        "exact_span", "precision", undefined=0.0
    )
    with_nan = span_scorer("iou", zero_division=float("nan"))
    assert with_nan(DETECTOR.fit(X), X, Y) == span_score(
        Y, DETECTOR.predict(X), metric="iou", zero_division=float("nan")
    )


def test_a_metric_where_less_is_better() -> None:
    less = metrics.Metric(
        name="characters_marked",
        summary="how much is marked",
        stats=lambda line: np.stack([line.predictions.characters, line.predictions.characters * 0 + 1]).T,
        evaluate=lambda totals, undefined: totals[..., :1] / totals[..., 1:],
        columns=("marked", "rows"),
        outputs=("score",),
        reference="this test",
        bounds=(0.0, float("inf")),
        greater_is_better=False,
    )
    marked = sum(int((row >= 0.6).sum()) for row in X) / N
    assert span_scorer(less)(DETECTOR.fit(X), X, Y) == pytest.approx(-marked)
    scorer = PooledScorer(less)
    search = GridSearchCV(DETECTOR, {"threshold": [0.2, 0.9, 0.5]}, scoring=scorer, refit=scorer.best_index, cv=3)
    assert search.fit(X, Y).best_params_ == {"threshold": 0.9}


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "iuo"},
        {"metric": "iou", "output": "f1"},
        {"metric": "iou", "average": "samples"},
        {"metric": "iou", "delta": 2},
        {"metric": "iou", "zero_division": 2.0},
    ],
)
def test_a_slip_is_an_error_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        span_scorer(**options)


# -- containers of y


@pytest.mark.parametrize("container", CONTAINERS)
def test_same_score_and_same_folds_for_every_container(container: str) -> None:
    # Spans of one shape, too: NumPy makes one rectangular array of them.
    for rows in (Y, [[[i % 3, i % 3 + 2]] for i in range(N)]):
        y = CONTAINERS[container](rows)
        scorer = span_scorer("character", average="micro")
        expected = cross_val_score(DETECTOR, X, rows, scoring=scorer, cv=FOLDS).tolist()
        assert len(set(expected)) > 1
        assert cross_val_score(DETECTOR, X, y, scoring=scorer, cv=FOLDS).tolist() == expected
        assert cross_val_score(DETECTOR, filled(X), y, scoring=scorer, cv=3).tolist() == expected
        shuffled = KFold(4, shuffle=True, random_state=0)
        assert (
            cross_val_score(DETECTOR, X, y, scoring=scorer, cv=shuffled).tolist()
            == cross_val_score(DETECTOR, X, rows, scoring=scorer, cv=shuffled).tolist()
        )
        search = GridSearchCV(DETECTOR, {"threshold": [0.2, 0.6, 0.9]}, scoring=scorer, cv=3).fit(X, y)
        assert search.cv_results_["split0_test_score"][1] == expected[0]


def test_predictions_survive_cross_val_predict() -> None:
    for rows in (X, [np.array([0.1, 0.9, 0.2])] * N):
        found = cross_val_predict(DETECTOR, rows, Y, cv=3)
        assert found.shape == (N,)
        assert as_spans(found).tolist() == spans_from_probabilities(rows, 0.6).tolist()


# -- searches and curves


def test_grid_search_in_two_processes() -> None:
    grid = {"threshold": [0.3, 0.6, 0.8], "merge_gap": [0, 1]}
    search = GridSearchCV(DETECTOR, grid, scoring=scorers(), refit="character_f1", cv=FOLDS, n_jobs=2).fit(X, Y)
    for name, key in (("character_f1", "character"), ("iou", "iou")):
        for i, parameters in enumerate(search.cv_results_["params"]):
            for j, (_, test) in enumerate(FOLDS.split(X)):
                predictions = spans_from_probabilities([X[k] for k in test], **parameters)
                expected = mycelium.evaluate(references=[Y[k] for k in test], predictions=predictions, metrics=[key])
                assert search.cv_results_[f"split{j}_test_{name}"][i] == expected[key][metrics.get(key).primary]
    means = search.cv_results_["mean_test_character_f1"]
    assert search.best_params_ == search.cv_results_["params"][int(np.argmax(means))]
    assert search.score(X, Y) == character_f1_score(Y, search.predict(X))
    for scorer in (ReportScorer(["iou"]), PooledScorer("iou")):
        alone = cross_validate(DETECTOR, X, Y, scoring=scorer, cv=3)
        both = cross_validate(DETECTOR, X, Y, scoring=scorer, cv=3, n_jobs=2)
        assert {k: v.tolist() for k, v in both.items() if "time" not in k} == {
            k: v.tolist() for k, v in alone.items() if "time" not in k
        }


def test_pipelines_and_groups() -> None:
    pipeline = make_pipeline(FunctionTransformer(list, check_inverse=False), SpanThresholdDetector())
    groups = [i % 4 for i in range(N)]
    search = GridSearchCV(
        pipeline,
        {"spanthresholddetector__threshold": [0.6]},
        scoring=span_scorer("iou"),
        cv=GroupKFold(4),
    ).fit(X, Y, groups=groups)
    for split, (_, test) in enumerate(GroupKFold(4).split(X, Y, groups)):
        assert len({groups[i] for i in test}) == 1
        assert search.cv_results_[f"split{split}_test_score"][0] == by_hand("iou", test)["score"]


def test_learning_curve_and_permutations() -> None:
    scorer = span_scorer("iou")
    sizes, train, test = learning_curve(DETECTOR, X, Y, scoring=scorer, cv=3, train_sizes=[5, 20])
    assert sizes.tolist() == [5, 20]
    # Nothing is learnt: the curve is flat on the test side.
    assert test.tolist() == [folds_by_hand("iou", "score")] * 2
    rows = [train_rows for train_rows, _ in FOLDS.split(X)]
    assert train.tolist() == [[by_hand("iou", fold[:size])["score"] for fold in rows] for size in (5, 20)]

    # Shuffled references run past the texts of the samples that they come to, whose lengths both sides know here.
    perfect = spans_from_probabilities(X, 0.6)
    for y, chosen in ((perfect, scorer), (perfect.tolist(), scorers()["character_f1"])):
        score, others, p = permutation_test_score(
            DETECTOR, X, y, scoring=chosen, cv=3, n_permutations=30, random_state=0
        )
        assert score == max(score, *others) > others.max()
        assert p == pytest.approx(1 / 31)
    assert len(set(others)) > 10


def test_randomized_search() -> None:
    search = RandomizedSearchCV(
        DETECTOR,
        {"threshold": [0.1, 0.6]},
        n_iter=2,
        random_state=0,
        scoring=span_scorer("iou"),
        cv=3,
    ).fit(X, spans_from_probabilities(X, 0.6))
    assert (search.best_params_, search.best_score_) == ({"threshold": 0.6}, 1.0)


# -- several scores from one callable


def test_56_a_report_of_flat_floats() -> None:
    """After scikit-learn #15910, #12678: arrays and nested dicts from a scorer were refused, or computed repeatedly."""
    scorer = ReportScorer()
    found = scorer(DETECTOR.fit(X), X, Y)
    assert found == mycelium.evaluate(references=Y, predictions=spans_from_probabilities(X, 0.6)).flat()
    assert {type(value) for value in found.values()} == {float}
    results = cross_validate(DETECTOR, X, Y, scoring=scorer, cv=3)
    for key in metrics.DEFAULT:
        for output in metrics.get(key).outputs:
            name = f"test_{key}" if output == "score" else f"test_{key}_{output}"
            assert results[name].tolist() == folds_by_hand(key, output)
    micro = cross_validate(
        DETECTOR, X, Y, scoring=ReportScorer(["exact_span"], average="micro", zero_division=0.0), cv=3
    )
    assert micro["test_exact_span_f1"].tolist() == folds_by_hand("exact_span", "f1", average="micro", undefined=0.0)
    search = GridSearchCV(DETECTOR, {"threshold": [0.2, 0.6]}, scoring=scorer, refit="iou", cv=3).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_iou"])


@pytest.mark.parametrize("scorer", [ReportScorer(), PooledScorer("deteval_1d")])
def test_56_each_set_is_matched_once(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[int] = []
    for module in (mycelium.scoring, mycelium.metrics.base, mycelium.pooling):
        original = module.lines

        def spy(*args: Any, original: Any = original, **options: Any) -> Any:
            laid_out.append(len(args[0]))
            return original(*args, **options)

        monkeypatch.setattr(module, "lines", spy)
    predicted: list[int] = []

    class Counting(SpanThresholdDetector):
        def predict(self, X: Any) -> Any:
            predicted.append(len(X))
            return super().predict(X)

    cross_validate(Counting(), X, Y, scoring=scorer, cv=3)
    assert predicted == [20, 20, 20]
    assert laid_out == [20, 20, 20]


def test_a_report_with_probabilities_and_texts() -> None:
    y = [[{"start": s, "end": e, "prob": 0.5} for s, e in row] for row in Y]
    texts = ["." * len(row) for row in X]
    predictions = spans_from_probabilities(X, 0.6)
    expected = mycelium.evaluate(
        references=y,
        predictions=predictions,
        soft_references=y,
        soft_predictions=predictions,
        text=texts,
        metrics=["soft_correlation", "iou"],
    ).flat()
    assert ReportScorer(["soft_correlation", "iou"])(DETECTOR.fit(X), X, y, texts=texts) == expected
    with pytest.raises(ValueError, match="average must be"):
        ReportScorer(average="weighted")(DETECTOR, X, y)
    with pytest.raises(ValueError, match=r"undefined must be None, 0\.0 or 1\.0"):
        ReportScorer(zero_division=float("nan"))(DETECTOR, X, y)


# -- pooling


@pytest.mark.parametrize("key", [*metrics.DEFAULT, "response", "span_coverage(delta=2)"])
def test_pooled_is_the_micro_average_of_all_samples(key: str) -> None:
    scorer = PooledScorer(key)
    # Folds of unequal size and content.
    splits = [(np.arange(N), np.arange(a, b)) for a, b in ((0, 7), (7, 40), (40, N))]
    results = cross_validate(DETECTOR, X, Y, scoring=scorer, cv=splits, return_train_score=True)
    assert scorer.pool(results) == by_hand(key, range(N), average="micro")
    # All samples in each of three folds: counts times three, which may round elsewhere.
    assert scorer.pool(results, which="train") == pytest.approx(scorer.pool(results), rel=1e-14)
    output = metrics.get(key).primary
    scores = cross_val_score(DETECTOR, X, Y, scoring=span_scorer(key, average="micro"), cv=splits)
    assert scorer.pool(results)[output] != pytest.approx(scores.mean(), abs=1e-4)


def test_pooled_f1_by_hand() -> None:
    """One true positive in the first fold; three false positives and a miss in the second."""
    X = [[0.9, 0.0], [0.9, 0.0, 0.9, 0.0, 0.9, 0.0]]
    y = [[[0, 1]], [[1, 2]]]
    scorer = PooledScorer("exact_span")
    results = cross_validate(SpanThresholdDetector(), X, y, scoring=scorer, cv=2)
    counted = {name: values.tolist() for name, values in results.items() if name.startswith("test")}
    assert counted == {
        "test_exact_span_matched": [1.0, 0.0],
        "test_exact_span_predictions": [1.0, 3.0],
        "test_exact_span_references": [1.0, 1.0],
    }
    assert scorer.pool(results) == {"precision": 1 / 4, "recall": 1 / 2, "f1": 1 / 3}
    mean = cross_val_score(SpanThresholdDetector(), X, y, scoring=span_scorer("exact_span", average="micro"), cv=2)
    assert mean.mean() == 0.5


def test_pooled_search() -> None:
    scorer = PooledScorer("character")
    grid = {"threshold": [0.2, 0.4, 0.6, 0.6, 0.9]}
    search = GridSearchCV(DETECTOR, grid, scoring=scorer, refit=scorer.best_index, cv=3).fit(X, Y)
    expected = [by_hand("character", range(N), t, average="micro")["f1"] for t in grid["threshold"]]
    assert scorer.pool(search.cv_results_)["f1"] == expected
    assert search.best_index_ == expected.index(max(expected))
    assert search.best_estimator_.threshold == grid["threshold"][search.best_index_]


def test_pooling_where_there_is_nothing_to_divide_by() -> None:
    scorer = PooledScorer("exact_span")
    results = cross_validate(SpanThresholdDetector(), [[0.1], [0.2]], [[], []], scoring=scorer, cv=2)
    assert scorer.pool(results) == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert scorer.pool(results, zero_division=0.0) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert np.isnan(list(scorer.pool(results, zero_division=float("nan")).values())).all()
    with pytest.raises(ValueError, match="the results hold no 'train_exact_span_matched'"):
        scorer.pool(results, which="train")
    with pytest.raises(ValueError, match="the results hold no 'test_iou_intersection'"):
        PooledScorer("iou").pool(results)


class FailsAbove(SpanThresholdDetector):
    """Fails on fit with a high threshold."""

    def fit(self, X: Any, y: Any = None) -> Any:
        if self.threshold > 0.5:
            raise RuntimeError("no")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the test scores")
def test_candidates_that_fail_are_not_chosen() -> None:
    scorer = PooledScorer("character")
    grid = {"threshold": [0.9, 0.4, 0.2]}
    search = GridSearchCV(FailsAbove(), grid, scoring=scorer, refit=scorer.best_index, cv=3).fit(X, Y)
    values = scorer.pool(search.cv_results_)["f1"]
    assert np.isnan(values).tolist() == [True, False, False]
    assert search.best_index_ == 1 + int(np.argmax(values[1:]))
    with pytest.raises(ValueError, match="no candidate has a pooled character"):
        scorer.best_index({f"split0_test_character_{name}": [np.nan] for name in metrics.character.columns})


# -- weights and texts


WEIGHTS = [1 + i % 3 for i in range(N)]


@pytest.mark.parametrize("weights", [WEIGHTS, [w / 8 for w in WEIGHTS]])
def test_54_weights_reach_the_scorer(weights: list[float], routing: None) -> None:
    """After scikit-learn #30817, #31288: weights were dropped by a router."""
    scorer = span_scorer("iou").set_score_request(sample_weight=True)
    expected = folds_by_hand("iou", "score", sample_weight=weights)
    assert expected != folds_by_hand("iou", "score")
    params = {"sample_weight": weights}
    assert cross_val_score(DETECTOR, X, Y, scoring=scorer, cv=3, params=params).tolist() == expected
    search = GridSearchCV(DETECTOR, {"threshold": [0.6]}, scoring=scorer, cv=3).fit(X, Y, sample_weight=weights)
    assert [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)] == expected
    named = {"a": scorer, "b": span_scorer("exact_span").set_score_request(sample_weight="sample_weight")}
    results = cross_validate(DETECTOR, X, Y, scoring=named, cv=3, params=params)
    assert results["test_a"].tolist() == expected
    assert results["test_b"].tolist() == folds_by_hand("exact_span", "f1", sample_weight=weights)


@pytest.mark.parametrize(("weights", "expected"), [([1, 0], 1.0), ([0, 1], 0.0), (None, 0.5)])
def test_54_called_directly(weights: list[float] | None, expected: float) -> None:
    X, y = [[0.9, 0.0], [0.9, 0.0]], [[[0, 1]], [[1, 2]]]
    detector = SpanThresholdDetector().fit(X)
    options = {} if weights is None else {"sample_weight": weights}
    for scorer in scorers().values():
        assert scorer(detector, X, y, **options) == expected
    assert ReportScorer(["iou"])(detector, X, y, **options) == {"iou": expected}
    counted = PooledScorer("iou")(detector, X, y, **options)
    assert counted["iou_intersection"] == (1.0 if weights is None else weights[0])


def test_54_without_routing_weights_are_refused() -> None:
    with pytest.raises((ValueError, TypeError)):
        cross_val_score(DETECTOR, X, Y, scoring=span_scorer("iou"), cv=3, params={"sample_weight": WEIGHTS})


@pytest.mark.parametrize("scorer", [span_scorer("iou"), ReportScorer(["iou"]), PooledScorer("iou")])
def test_54_weights_that_nobody_asked_for_are_refused(scorer: Any, routing: None) -> None:
    params = {"sample_weight": WEIGHTS}
    with pytest.raises((UnsetMetadataPassedError, TypeError), match="sample_weight"):
        cross_validate(DETECTOR, X, Y, scoring=scorer, cv=3, params=params)


def test_texts_are_cut_into_folds(routing: None) -> None:
    texts = ["." * len(row) for row in X]
    for scorer in (span_scorer("iou"), ReportScorer(["iou"]), PooledScorer("iou")):
        asking = scorer.set_score_request(texts=True)
        cross_validate(DETECTOR, X, Y, scoring=asking, cv=3, params={"texts": texts}, error_score="raise")
        # A text that is one character short of the reference in its row.
        row = next(i for i, spans in enumerate(Y) if i > N // 2 and spans)
        end = max(end for _, end in Y[row])
        short = [*texts[:row], "." * (end - 1), *texts[row + 1 :]]
        with pytest.raises(ValueError, match=rf"y_true: .*row {row % 20}, .*past the end of the text"):
            cross_validate(DETECTOR, X, Y, scoring=asking, cv=3, params={"texts": short}, error_score="raise")


def test_reports_and_pooled_counts_with_routing(routing: None) -> None:
    weights = np.array(WEIGHTS)
    report = ReportScorer(["iou"]).set_score_request(sample_weight=True)
    results = cross_validate(DETECTOR, X, Y, scoring=report, cv=3, params={"sample_weight": weights})
    assert results["test_iou"].tolist() == folds_by_hand("iou", "score", sample_weight=WEIGHTS)
    pooled = PooledScorer("character").set_score_request(sample_weight=True)
    search = GridSearchCV(DETECTOR, {"threshold": [0.2, 0.6]}, scoring=pooled, refit=pooled.best_index, cv=3)
    search.fit(X, Y, sample_weight=weights)
    assert pooled.pool(search.cv_results_)["f1"] == [
        by_hand("character", range(N), t, average="micro", sample_weight=WEIGHTS)["f1"] for t in (0.2, 0.6)
    ]
    assert clone(pooled).get_params() == {"metric": "character"}
    assert pickle.loads(pickle.dumps(pooled)).get_params() == {"metric": "character"}


def test_pooled_real_weights() -> None:
    weights = [w / 10 for w in WEIGHTS]
    parts = []
    for _, test in FOLDS.split(X):
        rows = test.tolist()
        detector = DETECTOR.fit(X)
        part = PooledScorer("iou")(
            detector, [X[i] for i in rows], [Y[i] for i in rows], sample_weight=[weights[i] for i in rows]
        )
        parts.append(part)
    results = {f"test_{name}": [part[name] for part in parts] for name in parts[0]}
    exact = [Fraction(0), Fraction(0)]
    statistics = metrics.iou.statistics(Y, spans_from_probabilities(X, 0.6)).tolist()
    for row, weight in zip(statistics, weights, strict=True):
        exact = [total + Fraction(weight) * count for total, count in zip(exact, row, strict=True)]
    assert PooledScorer("iou").pool(results)["score"] == pytest.approx(float(exact[0] / exact[1]), rel=1e-12)


def test_an_estimator_of_any_kind() -> None:
    """Whatever predicts span sets: lists here."""

    class Lists(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            self.seen_ = len(X)
            return self

        def predict(self, X: Any) -> Any:
            return [[[0, 1]] if len(row) else [] for row in X]

    found = cross_val_score(Lists(), X, Y, scoring=span_scorer("iou"), cv=3)
    for score, (_, test) in zip(found, FOLDS.split(X), strict=True):
        rows = test.tolist()
        expected = mycelium.evaluate(
            references=[Y[i] for i in rows], predictions=[[[0, 1]] if len(X[i]) else [] for i in rows], metrics="iou"
        )
        assert score == expected["iou"]["score"]
