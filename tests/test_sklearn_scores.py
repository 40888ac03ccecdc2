"""The score functions for scikit-learn."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from test_thresholds import corpus

import mycelium
import mycelium.sklearn as ms
from mycelium import as_spans, metrics
from mycelium.sklearn import span_precision_recall_fscore, span_score

NAN = float("nan")
FUNCTIONS: dict[str, Callable[..., float]] = {
    "exact_span": ms.exact_span_f1_score,
    "iou": ms.iou_score,
    "character": ms.character_f1_score,
    "deteval_1d": ms.deteval_f1_score,
    "cleval_1d": ms.cleval_f1_score,
    "span_coverage": ms.span_coverage_f1_score,
}
OUTPUTS = [(key, output) for key in FUNCTIONS for output in metrics.get(key).outputs]

Y_TRUE, _ = corpus(11, 60)
Y_PRED = [
    [span for span in row if sum(span) % 3] + other[:1] for row, other in zip(Y_TRUE, corpus(12, 60)[0], strict=True)
]
# A share of 0.6, one of 10/24, a split, and one of 0.4: between the default of some threshold and 0.45.
Y_TRUE += [[[0, 10]], [[0, 10]], [[0, 10]], [[0, 4]]]
Y_PRED += [[[0, 6]], [[0, 24]], [[0, 5], [5, 10]], [[0, 10]]]


# -- values


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize(("key", "output"), OUTPUTS)
def test_against_the_oracle(key: str, output: str, average: str) -> None:
    value = getattr(oracle, average)
    weights = [i % 4 for i in range(len(Y_TRUE))]
    for zero_division in (None, 0.0, 1.0):
        for sample_weight in (None, weights):
            found = span_score(
                Y_TRUE,
                Y_PRED,
                metric=key,
                output=output,
                average=average,
                zero_division=zero_division,
                sample_weight=sample_weight,
            )
            expected = value(key, Y_TRUE, Y_PRED, zero_division, sample_weight)[output]
            assert type(found) is float
            assert math.isclose(found, expected, rel_tol=1e-13)


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize(("key", "output"), OUTPUTS)
def test_the_bits_of_evaluate(key: str, output: str, average: str) -> None:
    report = mycelium.evaluate(references=Y_TRUE, predictions=Y_PRED, average=average)
    assert span_score(Y_TRUE, Y_PRED, metric=key, output=output, average=average) == report[key][output]
    if output in ("f1", "score"):
        assert FUNCTIONS[key](Y_TRUE, Y_PRED, average=average) == report[key][output]
        assert span_score(Y_TRUE, Y_PRED, metric=key, average=average) == report[key][output]
        assert span_score(Y_TRUE, Y_PRED, metric=metrics.get(key), average=average) == report[key][output]
    else:
        three = span_precision_recall_fscore(Y_TRUE, Y_PRED, metric=key, average=average)
        assert three == tuple(report[key].values())
        assert getattr(three, output) == report[key][output]


def test_by_hand() -> None:
    y_true = [[[0, 10]], [[4, 7]], []]
    y_pred = [[[2, 8]], [[4, 7], [9, 10]], []]
    assert ms.iou_score(y_true, y_pred) == pytest.approx((6 / 10 + 3 / 4 + 1) / 3, abs=1e-15)
    assert ms.iou_score(y_true, y_pred, average="micro") == 9 / 14
    assert ms.exact_span_f1_score(y_true, y_pred, average="micro") == 2 * 1 / (3 + 2)
    assert ms.character_f1_score(y_true, y_pred, average="micro") == 2 * 9 / (10 + 13)
    assert ms.span_coverage_f1_score(y_true, y_pred, average="micro") == 2 * 2 * 2 / (2 * 2 + 3 * 2)
    assert ms.deteval_f1_score(y_true, y_pred, average="micro") == 2 * 1 / (3 + 2)
    assert ms.cleval_f1_score(y_true, y_pred, average="micro") == 2 * 9 / (10 + 13)


@pytest.mark.parametrize("key", FUNCTIONS)
def test_each_function_has_the_parameters_of_its_metric(key: str) -> None:
    metric = metrics.get(key)
    signature = inspect.signature(FUNCTIONS[key]).parameters
    common = ["average", "sample_weight", "zero_division", "texts"]
    assert list(signature) == ["y_true", "y_pred", *metric.values, *common]
    assert {name: signature[name].default for name in metric.values} == metric.values
    assert all(p.kind is p.KEYWORD_ONLY for p in list(signature.values())[2:])
    for parameter in metric.parameters:
        value = 3 if parameter.integer else 0.45
        expected = mycelium.evaluate(
            references=Y_TRUE, predictions=Y_PRED, metrics=[metric.at(**{parameter.name: value})]
        )
        found = FUNCTIONS[key](Y_TRUE, Y_PRED, **{parameter.name: value})
        assert found == span_score(Y_TRUE, Y_PRED, metric=key, **{parameter.name: value})
        assert [found] == list(expected.flat().values())[-1:]
        assert found != FUNCTIONS[key](Y_TRUE, Y_PRED) or parameter.name == "tolerance"


def test_a_metric_that_reads_probabilities() -> None:
    """Row 0 ranks alike, row 1 is constant on one side only, row 2 on both."""
    y_true = [[{"start": 0, "end": 2, "prob": 0.5}], [{"start": 0, "end": 1, "prob": 0.5}], []]
    y_pred = [[{"start": 0, "end": 2, "prob": 0.9}], [], []]
    texts = ["....", "..", "..."]
    found = span_score(y_true, y_pred, metric="soft_correlation", texts=texts)
    assert found == pytest.approx((1 + 0 + 1) / 3, abs=1e-15)
    with pytest.raises(ValueError, match="needs text"):
        span_score(y_true, y_pred, metric="soft_correlation")
    with pytest.raises(ValueError, match=r"y_pred: .*probability"):
        span_score(y_true, [[[0, 2]], [], []], metric="soft_correlation", texts=texts)


# -- nothing to divide by


@pytest.mark.parametrize("zero_division", [0.0, 1.0, NAN])
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("key", [key for key in FUNCTIONS if key != "iou"])
def test_43_references_and_no_predictions(key: str, average: str, zero_division: float) -> None:
    """After scikit-learn #27189, #31052, #10812: an undefined precision made F1 undefined."""
    options: dict[str, Any] = {"metric": key, "average": average, "zero_division": zero_division}
    found = span_precision_recall_fscore([[[0, 4], [6, 9]]], [[]], **options)
    assert found == pytest.approx((zero_division, 0.0, 0.0), nan_ok=True, abs=0)
    found = span_precision_recall_fscore([[]], [[]], **options)
    assert found == pytest.approx((zero_division,) * 3, nan_ok=True, abs=0)
    found = span_precision_recall_fscore([[]], [[[0, 4]]], **options)
    assert found == pytest.approx((0.0, zero_division, 0.0), nan_ok=True, abs=0)


@pytest.mark.parametrize("zero_division", [0.0, 1.0, NAN, np.float32("nan"), 1, np.int64(0)])
def test_43_of_iou(zero_division: float) -> None:
    assert ms.iou_score([[]], [[]], zero_division=zero_division) == pytest.approx(float(zero_division), nan_ok=True)
    assert ms.iou_score([[[0, 4]]], [[]], zero_division=zero_division) == 0.0


@pytest.mark.parametrize("weights", [None, [2, 3, 1, 5, 1], [0.5, 0.25, 1.5, 0.1, 2.0], [1, 0, 0, 1, 0]])
@pytest.mark.parametrize("key", FUNCTIONS)
def test_nan_leaves_undefined_samples_out_of_the_mean(key: str, weights: list[float] | None) -> None:
    """As scikit-learn does it, and for each output on its own."""
    y_true = [[[0, 4]], [[2, 8]], [], [], [[1, 3]]]
    y_pred = [[[0, 4]], [], [[1, 2]], [], [[1, 2]]]
    for output in metrics.get(key).outputs:
        samples = [
            span_score([t], [p], metric=key, output=output, zero_division=NAN)
            for t, p in zip(y_true, y_pred, strict=True)
        ]
        assert any(math.isnan(x) for x in samples)
        found = span_score(y_true, y_pred, metric=key, output=output, zero_division=NAN, sample_weight=weights)
        assert found == pytest.approx(np.ma.average(np.ma.masked_invalid(samples), weights=weights), abs=1e-15)
        kept = [i for i, x in enumerate(samples) if not math.isnan(x)]
        assert found == span_score(
            [y_true[i] for i in kept],
            [y_pred[i] for i in kept],
            metric=key,
            output=output,
            sample_weight=None if weights is None else [weights[i] for i in kept],
        )


def test_nan_where_no_defined_sample_has_a_weight() -> None:
    # Precision of row 0 is undefined, and row 1 does not count.
    options: dict[str, Any] = {"metric": "exact_span", "output": "precision", "zero_division": NAN}
    assert math.isnan(span_score([[[0, 4]], [[0, 4]]], [[], [[0, 4]]], sample_weight=[1, 0], **options))
    assert span_score([[[0, 4]], [[0, 4]]], [[], [[0, 4]]], sample_weight=[0, 1], **options) == 1.0
    with pytest.raises(ValueError, match="the weights of all examples are 0"):
        span_score([[[0, 4]]], [[[0, 4]]], sample_weight=[0], **options)


# -- containers


def filled(rows: list[Any]) -> Any:
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "rectangular or object array": lambda rows: np.array(rows, dtype=object),
    "object array": filled,
    "object array of arrays": lambda rows: filled([np.array(row, dtype=np.int64).reshape(-1, 2) for row in rows]),
    "Series": lambda rows: pytest.importorskip("pandas").Series(rows, index=range(7, 7 + len(rows)), dtype=object),
    "Arrow": lambda rows: pytest.importorskip("pyarrow").array(rows),
    "SpanBatch": as_spans,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("rows", "n"), [([[[0, 2]], [[3, 5]]], 2), ([[], []], 2), ([[[0, 2]]], 1), ([[[0, 2], [3, 4]], []], 2)]
)
def test_2_rectangular_arrays(rows: list[Any], n: int, container: str) -> None:
    """After sklearn-crfsuite #46 and #19: arrays of sequences worked only while their lengths differed."""
    y = CONTAINERS[container](rows)
    for function in FUNCTIONS.values():
        expected = 1.0 if function is not ms.character_f1_score else sum(map(bool, rows)) / n
        assert function(y, y) == expected
        assert function(y, rows) == expected
        assert function(rows, y) == expected


# -- refusals


@pytest.mark.parametrize(
    ("y_true", "y_pred", "texts", "numbers"),
    [
        (2, 3, None, "y_true has 2, y_pred has 3"),
        (3, 2, None, "y_true has 3, y_pred has 2"),
        (2, 2, 4, "y_true has 2 rows, text has 4"),
    ],
)
def test_48_unequal_lengths(y_true: int, y_pred: int, texts: int | None, numbers: str) -> None:
    """After EuroEval PR #1620: zip cut the surplus rows off."""
    rows: list[Any] = [[[[0, 4]]] * y_true, [[[0, 4]]] * y_pred]
    options: dict[str, Any] = {"texts": None if texts is None else ["...."] * texts}
    for function in FUNCTIONS.values():
        with pytest.raises(ValueError, match=numbers):
            function(*rows, **options)
    with pytest.raises(ValueError, match=numbers):
        span_precision_recall_fscore(*rows, metric="character", **options)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(2,\)"):
        ms.iou_score([[], []], [[], []], sample_weight=[1.0, 1.0, 1.0])


@pytest.mark.parametrize(("weights", "expected"), [([1, 0], 1.0), ([0, 1], 0.0), (None, 0.5), ([3, 1], 0.75)])
def test_54_weights_are_used(weights: list[float] | None, expected: float) -> None:
    """After scikit-learn #30817, #31288: weights were dropped on the way."""
    for function in FUNCTIONS.values():
        assert function([[[0, 4]], [[0, 4]]], [[[0, 4]], [[6, 9]]], sample_weight=weights) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "iuo"}, "there is no metric 'iuo'"),
        ({"metric": "iou", "output": "f1"}, "iou has no output 'f1'; it has score"),
        ({"metric": "iou", "average": "weighted"}, "average must be one of 'macro', 'micro', got 'weighted'"),
        ({"metric": "iou", "average": None}, "average must be one of 'macro', 'micro', got None"),
        ({"metric": "iou", "averge": "micro"}, "iou has no parameter 'averge'"),
        ({"metric": "span_coverage", "delta": -1}, "delta must be at least 0"),
        ({"metric": "iou", "zero_division": "warn"}, "zero_division must be None, 0.0, 1.0 or NaN, got 'warn'"),
        ({"metric": "iou", "zero_division": 0.5}, "zero_division must be None, 0.0, 1.0 or NaN, got 0.5"),
        ({"metric": "iou", "zero_division": True}, "zero_division must be None, 0.0, 1.0 or NaN, got True"),
        ({"metric": "iou", "texts": ["..."]}, r"y_true: .*row 0, span 0 \[0, 4\]: past the end of the text"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        span_score([[[0, 4]]], [[[0, 2]]], **options)


@pytest.mark.parametrize(
    ("y", "error"),
    [
        ([[0, 4]], TypeError),  # one span set, not a batch
        ([None], ValueError),
        ([[[4, 0]]], ValueError),
        ([[[0, 4.0]]], TypeError),
        ({"start": [0], "end": [4]}, TypeError),
        ([], ValueError),
    ],
)
def test_spans_that_are_refused(y: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"y_true|no examples"):
        ms.iou_score(y, [[[0, 4]]] if len(y) else [])
    if len(y):
        with pytest.raises(error, match="y_pred"):
            ms.iou_score([[[0, 4]]], y)


def test_a_score_has_no_precision() -> None:
    with pytest.raises(ValueError, match="iou has no precision and recall, only score; use span_score"):
        span_precision_recall_fscore([[]], [[]], metric="iou")


# -- the import


def test_importing_mycelium_leaves_scikit_learn_alone() -> None:
    code = "import sys, mycelium, mycelium.thresholds, mycelium.pooling; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_without_scikit_learn_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['sklearn'] = None\nimport mycelium.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'ImportError: mycelium.sklearn needs scikit-learn: pip install "mycelium-eval[sklearn]"' in done.stderr
