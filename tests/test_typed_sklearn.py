"""Typed spans in the manner of scikit-learn: functions, scorers, model selection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed_rows import TYPES, records, typed_rows

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_validate

import mycelium
import mycelium.sklearn as ms
from mycelium import metrics
from mycelium.sklearn import PooledScorer, ReportScorer, TypedReportScorer, scorers, span_score
from mycelium.typed import evaluate_typed

Y_TRUE, Y_PRED = typed_rows(80)
FUNCTIONS: dict[str, Callable[..., float]] = {
    "strict": ms.strict_f1_score,
    "strict_typed": ms.strict_typed_f1_score,
    "partial": ms.partial_f1_score,
    "typed_partial": ms.typed_partial_f1_score,
}
RULES: dict[str, Any] = {"overlap_credit": 0.25, "min_overlap": 0.4, "overlap_base": "union"}


class Told(BaseEstimator):
    """A detector that was told the predictions; below the threshold it keeps to the first span of each."""

    def __init__(self, threshold: float = 1.0) -> None:
        self.threshold = threshold

    def fit(self, X: Any, y: Any = None) -> Told:
        return self

    def predict(self, X: Any) -> Any:
        return [Y_PRED[i] if self.threshold >= 1 else Y_PRED[i][:1] for i in X]


X = list(range(len(Y_TRUE)))


# -- functions


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("key", FUNCTIONS)
def test_functions_give_the_bits_of_the_report(key: str, average: str) -> None:
    weights = [i % 3 for i in X]
    for zero_division in (0.0, 1.0):
        report = evaluate_typed(
            references=Y_TRUE,
            predictions=Y_PRED,
            types=TYPES,
            average=average,
            sample_weight=weights,
            undefined=zero_division,
        )
        options = {"average": average, "sample_weight": weights, "zero_division": zero_division}
        assert FUNCTIONS[key](Y_TRUE, Y_PRED, **options) == report[key]["f1"]
        assert FUNCTIONS[key](records(Y_TRUE, "type"), Y_PRED, **options) == report[key]["f1"]
        assert span_score(Y_TRUE, Y_PRED, metric=key, output="recall", **options) == report[key]["recall"]


@pytest.mark.parametrize("key", ["partial", "typed_partial"])
def test_rules_of_half_credit_reach_the_metric(key: str) -> None:
    report = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, **RULES)
    assert FUNCTIONS[key](Y_TRUE, Y_PRED, average="micro", **RULES) == report[key]["f1"]
    # Each rule by itself changes the number, so that none is mixed up with another.
    values = {FUNCTIONS[key](Y_TRUE, Y_PRED, average="micro", **rules) for rules in ({}, RULES)}
    values |= {
        FUNCTIONS[key](Y_TRUE, Y_PRED, average="micro", **(RULES | {name: value}))
        for name, value in {"overlap_credit": 0.5, "min_overlap": 0.0, "overlap_base": "reference"}.items()
    }
    assert len(values) == 5


def test_by_hand() -> None:
    y_true = [[[0, 10, "A"], [20, 30, "B"]]]
    y_pred = [[[0, 10, "B"], [22, 30, "B"], [40, 42, "A"]]]
    assert ms.strict_f1_score(y_true, y_pred) == pytest.approx(2 * 1 / 5)
    assert ms.strict_typed_f1_score(y_true, y_pred) == 0.0
    assert ms.partial_f1_score(y_true, y_pred) == pytest.approx(2 * 1.5 / 5)
    assert ms.typed_partial_f1_score(y_true, y_pred) == pytest.approx(2 * 0.5 / 5)
    assert ms.typed_partial_f1_score(y_true, y_pred, min_overlap=0.9) == 0.0
    assert ms.typed_partial_f1_score(y_true, y_pred, overlap_credit=1.0) == pytest.approx(2 * 1 / 5)


def test_signatures_follow_the_metrics() -> None:
    for key, function in FUNCTIONS.items():
        names = list(inspect.signature(function).parameters)
        own = [parameter.name for parameter in metrics.get(key).parameters]
        assert names == ["y_true", "y_pred", *own, "average", "sample_weight", "zero_division", "texts"]
        for parameter in metrics.get(key).parameters:
            assert inspect.signature(function).parameters[parameter.name].default == parameter.default
        assert function.__name__ in ms.__all__


def test_spans_without_types_are_named_as_the_caller_names_them() -> None:
    bare = [[[0, 4]], [[2, 3]]]
    typed = [[[0, 4, "A"]], [[2, 3, "A"]]]
    message = r"typed_partial reads types; y_pred: 2 spans without a type; the first is row 0, span 0 \[0, 4\]"
    with pytest.raises(ValueError, match=message):
        ms.typed_partial_f1_score(typed, bare)
    with pytest.raises(ValueError, match="strict_typed reads types; y_true: 2 spans"):
        ms.strict_typed_f1_score(bare, typed)
    with pytest.raises(ValueError, match="typed_partial reads types; y_true"):
        ReportScorer(["iou", "typed_partial"])(Told(), [0, 1], bare)
    assert ms.partial_f1_score(typed, bare) == 1.0


# -- scorers


def test_scorers_have_them_on_request_only() -> None:
    assert len(scorers()) == len(metrics.DEFAULT)
    given = scorers(list(FUNCTIONS), average="micro")
    assert list(given) == [f"{key}_f1" for key in FUNCTIONS]
    report = evaluate_typed(references=Y_TRUE, predictions=Y_PRED)
    assert {name: scorer(Told(), X, Y_TRUE) for name, scorer in given.items()} == {
        f"{key}_f1": report[key]["f1"] for key in FUNCTIONS
    }


@pytest.mark.parametrize("options", [{}, {**RULES, "average": "macro", "absent_types": "zero"}])
def test_the_report_of_typed_spans_as_a_scorer(options: dict[str, Any]) -> None:
    scorer = TypedReportScorer(TYPES, **options)
    expected = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, types=TYPES, **options).flat()
    assert clone(scorer)(Told(), X, Y_TRUE) == expected
    weights = [i % 3 for i in X]
    weighted = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, types=TYPES, sample_weight=weights, **options)
    assert scorer(Told(), X, Y_TRUE, sample_weight=weights) == weighted.flat()


def test_undefined_values_of_the_scorer() -> None:
    for zero_division, undefined in ((0.0, 0.0), (None, None), (1.0, 1.0)):
        report = evaluate_typed(references=[[]], predictions=[[]], types=["A"], undefined=undefined)
        valid = type("Valid", (Told,), {"predict": lambda self, X: [[]]})()
        assert TypedReportScorer(["A"], zero_division=zero_division)(valid, [0], [[]]) == report.flat()


def test_unknown_types_in_a_fold() -> None:
    with pytest.raises(ValueError, match=r"y_true: \d+ spans? with unknown types \('none of it'\)"):
        TypedReportScorer(TYPES[:2])(Told(), X, Y_TRUE)
    lenient = TypedReportScorer(TYPES[:2], unknown_types="ignore")(Told(), X, Y_TRUE)
    kept = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, types=TYPES[:2], unknown_types="ignore")
    assert lenient == kept.flat()


def test_cross_validation_and_search() -> None:
    results = cross_validate(Told(), X, Y_TRUE, cv=4, scoring=TypedReportScorer(TYPES))
    for fold in range(4):
        rows = slice(fold * 20, fold * 20 + 20)
        report = evaluate_typed(references=Y_TRUE[rows], predictions=Y_PRED[rows], types=TYPES).flat()
        assert {name: results[f"test_{name}"][fold] for name in report} == report
    pooled = PooledScorer("typed_partial(overlap_credit=0.25)")
    found = pooled.pool(cross_validate(Told(), X, Y_TRUE, cv=4, scoring=pooled))
    whole = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, overlap_credit=0.25)["typed_partial"]
    assert found == {output: whole[output] for output in ("precision", "recall", "f1")}
    search = GridSearchCV(
        Told(), {"threshold": [0.0, 1.0]}, cv=4, scoring=TypedReportScorer(TYPES), refit="typed_partial_f1"
    ).fit(X, Y_TRUE)
    best = {
        threshold: np.mean([
            evaluate_typed(
                references=Y_TRUE[i : i + 20], predictions=Told(threshold).predict(X[i : i + 20]), types=TYPES
            )["typed_partial"]["f1"]
            for i in range(0, 80, 20)
        ])
        for threshold in (0.0, 1.0)
    }  # fmt: skip
    assert search.best_params_ == {"threshold": max(best, key=best.__getitem__)}
    assert search.best_score_ == pytest.approx(max(best.values()), abs=1e-15)


def test_metrics_made_for_types_are_metrics_too() -> None:
    from mycelium.metrics.by_type import TypeRules, macro_types

    macro = macro_types(TypeRules(tuple(TYPES)))
    expected = evaluate_typed(references=Y_TRUE, predictions=Y_PRED, types=TYPES)["macro"]["f1"]
    assert span_score(Y_TRUE, Y_PRED, metric=macro, output="f1", average="micro") == expected
    assert mycelium.evaluate(references=Y_TRUE, predictions=Y_PRED, metrics=[macro])[macro.key]["f1"] == expected
