"""All thresholds at once give what each gives alone."""

from __future__ import annotations

import math
import random
import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelium
from mycelium import as_spans, metrics
from mycelium.formats import spans_from_probabilities
from mycelium.metrics.base import Metric, columns
from mycelium.thresholds import best, best_threshold, running, states
from mycelium.thresholds.running import running_quotients

INF = float("inf")


# -- slow ways


def slow_spans(row: Sequence[float], threshold: float, min_length: int, merge_gap: int) -> list[list[int]]:
    """Walk over the characters."""
    runs: list[list[int]] = []
    for i, score in enumerate(row):
        if score >= threshold:
            if runs and i - runs[-1][1] <= merge_gap:
                runs[-1][1] = i + 1
            else:
                runs.append([i, i + 1])
    return [run for run in runs if run[1] - run[0] >= min_length]


def alone(references: Any, scores: Any, threshold: float, metric: Metric, **options: Any) -> float:
    """Score the spans of one threshold with the core."""
    output, min_length, merge_gap = (
        options.pop(name, default)
        for name, default in (("output", metric.primary), ("min_length", 1), ("merge_gap", 0))
    )
    if threshold == INF:
        nothing = [[{"start": 0, "end": 1, "prob": 1.0}] for _ in scores]
        predictions = as_spans(nothing)._keep(np.zeros(len(scores), dtype=bool))
    else:
        predictions = spans_from_probabilities(scores, threshold, min_length, merge_gap)
    if metric.needs:
        options |= {
            "text": ["." * len(row) for row in scores],
            "soft_references": references,
            "soft_predictions": predictions,
        }
    report = mycelium.evaluate(references=as_spans(references), predictions=predictions, metrics=[metric], **options)
    return report[metric.key][output]


def curve_alone(references: Any, scores: Any, metric: Metric, **options: Any) -> dict[float, float]:
    """Score every distinct value among the scores, and infinity."""
    distinct = sorted({float(x) for row in scores for x in row})
    return {t: alone(references, scores, t, metric, **options) for t in [*distinct, INF]}


def corpus(seed: int, rows: int, values: Sequence[float] | None = None) -> tuple[list[Any], list[Any]]:
    """Token scores spread over characters, with reference spans: overlapping, nested, repeated, none; empty texts."""
    rng = random.Random(seed)
    references, scores = [], []
    for _ in range(rows):
        row: list[float] = []
        for _ in range(rng.choice([0, 1, 5, 9])):
            row += [rng.choice(values) if values else rng.random()] * rng.randint(1, 4)
        spans = []
        for _ in range(rng.choice([0, 1, 1, 2, 3]) if row else 0):
            start = rng.randrange(len(row))
            spans.append([start, min(len(row), start + rng.randint(1, 7))])
        references.append(spans + spans[: rng.choice([0, 0, 0, 1])])
        scores.append(row)
    return references, scores


COARSE = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


# -- by hand


def test_two_rows_by_hand() -> None:
    """Spans of row 0 fall to [0, 3), [0, 1), nothing; of row 1 from [0, 3) to [1, 2) to nothing."""
    found = best_threshold([[[0, 3]], [[1, 2]]], [[0.9, 0.6, 0.6, 0.1], [0.2, 0.5, 0.2]], metric="iou")
    ious = {
        0.1: (3 / 4 + 1 / 3) / 2,
        0.2: (1 + 1 / 3) / 2,
        0.5: (1 + 1) / 2,
        0.6: (1 + 0) / 2,
        0.9: (1 / 3 + 0) / 2,
        INF: 0.0,
    }
    assert found.thresholds.tolist() == list(ious)
    assert found.scores.tolist() == pytest.approx(list(ious.values()), abs=1e-15)
    assert (found.threshold, found.score) == (0.5, 1.0)
    assert (found.metric, found.output, found.average) == ("iou", "score", "macro")


def test_micro_by_hand() -> None:
    found = best_threshold([[[0, 3]], [[1, 2]]], [[0.9, 0.6, 0.6, 0.1], [0.2, 0.5, 0.2]], metric="iou", average="micro")
    # Shared and either: 3 + 1 of 4 + 3, 3 + 1 of 3 + 3, all, 3 + 0 of 3 + 1, 1 + 0 of 3 + 1, nothing.
    assert found.scores.tolist() == [4 / 7, 4 / 6, 1.0, 3 / 4, 1 / 4, 0.0]


def test_a_score_equal_to_the_threshold_is_marked() -> None:
    found = best_threshold([[[0, 2]]], [[0.5, 0.5, 0.4]], metric="exact_span")
    assert (found.threshold, found.score) == (0.5, 1.0)
    assert spans_from_probabilities([[0.5, 0.5, 0.4]], found.threshold).tolist() == [[[0, 2]]]


def test_marking_nothing_is_a_choice() -> None:
    found = best_threshold([[], []], [[1.0, 0.2], [0.7]], metric="span_coverage")
    assert found.thresholds.tolist() == [0.2, 0.7, 1.0, INF]
    # Precision 0 wherever something is marked, and so F1.
    assert found.scores.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert (found.threshold, found.score) == (INF, 1.0)


def test_of_equal_scores_the_lowest_threshold_wins() -> None:
    # Any of the lower thresholds marks the right answer, and marks it as an answer.
    found = best_threshold([[[0, 3]]], [[0.2, 0.4, 0.9]], metric="response")
    assert found.scores.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert found.threshold == 0.2
    # Equal to infinity: nothing is right anywhere, marking all is as good.
    found = best_threshold([[[0, 1]]], [[0.2, 0.4, 0.4]], metric="exact_span")
    assert found.scores.tolist() == [0.0, 0.0, 0.0]
    assert found.threshold == 0.2


def test_where_less_is_better() -> None:
    marked = Metric(
        name="marked",
        summary="share of characters marked wrongly",
        stats=lambda line: columns(line.predictions.characters - line.intersection, line.predictions.characters),
        evaluate=lambda totals, undefined: totals[..., :1] / np.maximum(totals[..., 1:], 1),
        columns=("wrong", "marked"),
        outputs=("score",),
        reference="this test",
        greater_is_better=False,
    )
    found = best_threshold([[[0, 2]]], [[0.9, 0.8, 0.3, 0.1]], metric=marked)
    assert found.scores.tolist() == [0.5, 1 / 3, 0.0, 0.0, 0.0]
    assert (found.threshold, found.score) == (0.8, 0.0)


def test_rows_without_characters() -> None:
    found = best_threshold([[], [[0, 1]]], [[], [0.4]], metric="iou")
    assert found.thresholds.tolist() == [0.4, INF]
    assert found.scores.tolist() == [1.0, 0.5]
    found = best_threshold([[], []], [[], []], metric="iou")
    assert (found.threshold, found.score, found.thresholds.tolist()) == (INF, 1.0, [INF])


# -- against the slow ways


VARIANTS = [
    *(name for name, metric in metrics.REGISTRY.items() if "labels" not in metric.needs),
    "span_coverage(delta=2,min_pred_len=2)",
    "cleval_1d(granularity_penalty_weight=0.3)",
    "partial(min_overlap=0.5,overlap_base=union)",
]


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("key", VARIANTS)
def test_every_threshold_has_the_bits_of_its_own_score(key: str, average: str) -> None:
    metric = metrics.get(key)
    references, scores = corpus(5, 16)
    if metric.needs:
        references = [
            [{"start": a, "end": b, "prob": 0.3 + i / 7} for i, (a, b) in enumerate(row)] for row in references
        ]
    rng = np.random.default_rng(1)
    weights: list[Any] = [
        None,
        rng.integers(0, 4, 16),
        rng.random(16),
        np.exp(rng.normal(0, 50, 16)),
        rng.integers(2**30, 2**31, 16),
    ]
    for weight in weights:
        options = {"average": average, "sample_weight": weight}
        for shape in ({}, {"min_length": 3, "merge_gap": 1}):
            found = best_threshold(references, scores, metric=key, **options, **shape)
            expected = curve_alone(references, scores, metric, **options, **shape)
            assert dict(zip(found.thresholds.tolist(), found.scores.tolist(), strict=True)) == expected
            assert found.score == max(expected.values())
            assert found.threshold == min(t for t, score in expected.items() if score == found.score)


@pytest.mark.parametrize("key", oracle.STATISTICS)
def test_against_the_oracle(key: str) -> None:
    """Spans by walking over characters, scores by the oracle: nothing of the library."""
    references, scores = corpus(8, 25, COARSE)
    for average, value in (("macro", oracle.macro), ("micro", oracle.micro)):
        for min_length, merge_gap in ((1, 0), (2, 0), (1, 2), (4, 1)):
            found = best_threshold(
                references, scores, metric=key, average=average, min_length=min_length, merge_gap=merge_gap
            )
            assert found.thresholds.tolist() == [*COARSE, INF]
            for threshold, score in zip(found.thresholds, found.scores, strict=True):
                predictions = [slow_spans(row, threshold, min_length, merge_gap) for row in scores]
                expected = value(key, references, predictions)[metrics.get(key).primary]
                assert math.isclose(score, expected, rel_tol=1e-12, abs_tol=1e-12)


rows_of_scores = st.lists(
    st.lists(st.sampled_from(COARSE) | st.floats(0, 1, allow_subnormal=False), max_size=9), min_size=1, max_size=6
)


@settings(deadline=None, max_examples=80)
@given(
    rows=rows_of_scores,
    data=st.data(),
    key=st.sampled_from(["exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage"]),
    average=st.sampled_from(["macro", "micro"]),
    min_length=st.integers(1, 3),
    merge_gap=st.integers(0, 3),
    undefined=st.sampled_from([None, 0.0, 1.0]),
)
def test_any_rows(
    rows: list[list[float]],
    data: st.DataObject,
    key: str,
    average: str,
    min_length: int,
    merge_gap: int,
    undefined: float | None,
) -> None:
    references = [
        data.draw(
            st.lists(
                st.tuples(st.integers(0, len(row) - 1), st.integers(1, len(row))).filter(lambda s: s[0] < s[1]),
                max_size=3,
            )
            if row
            else st.just([])
        )
        for row in rows
    ]
    weights = data.draw(st.none() | st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    options = {
        "average": average,
        "min_length": min_length,
        "merge_gap": merge_gap,
        "undefined": undefined,
        "sample_weight": weights,
    }
    found = best_threshold(references, rows, metric=key, **options)
    expected = curve_alone(references, rows, metrics.get(key), **options)
    assert dict(zip(found.thresholds.tolist(), found.scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize("output", ["precision", "recall"])
def test_other_outputs(output: str) -> None:
    references, scores = corpus(2, 30)
    found = best_threshold(references, scores, metric="character", output=output)
    expected = curve_alone(references, scores, metrics.character, output=output)
    assert found.scores.tolist() == list(expected.values())
    assert found.output == output


# -- a grid of the user's own


def test_thresholds_of_the_users_own() -> None:
    for values in (None, COARSE):  # some of which are on the grid
        references, scores = corpus(3, 30, values)
        found = best_threshold(references, scores, metric="iou", thresholds=[0.9, 0.25, INF, 0.0, 0.5, 0.25])
        assert found.thresholds.tolist() == [0.0, 0.25, 0.5, 0.9, INF]
        assert found.scores.tolist() == [alone(references, scores, t, metrics.iou) for t in found.thresholds.tolist()]
    # Without infinity, nothing need be marked only where no score reaches the threshold.
    found = best_threshold([[]], [[0.4]], metric="iou", thresholds=[0.2, 0.5])
    assert (found.scores.tolist(), found.threshold) == ([0.0, 1.0], 0.5)


@pytest.mark.parametrize(
    ("thresholds", "error"),
    [
        ([], TypeError),
        (0.5, TypeError),
        ([[0.5]], TypeError),
        (["0.5"], TypeError),
        ([True], TypeError),
        ([50.0], ValueError),
        ([-0.1], ValueError),
        ([float("nan")], ValueError),
    ],
)
def test_thresholds_that_are_refused(thresholds: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="thresholds must be"):
        best_threshold([[]], [[0.4]], metric="iou", thresholds=thresholds)


# -- containers


@pytest.mark.parametrize(
    "container",
    [
        lambda rows: [np.array(row) for row in rows],
        lambda rows: [np.array(row, dtype=np.float32) for row in rows],
        lambda rows: np.array([np.array(row) for row in rows] + [None], dtype=object)[:-1],
        lambda rows: pytest.importorskip("pyarrow").array(rows),
    ],
    ids=["arrays", "single precision", "object array", "Arrow"],
)
def test_containers_of_scores(container: Callable[[Any], Any]) -> None:
    references, scores = corpus(4, 20, COARSE[2:])  # multiples of a quarter, exact in single precision
    expected = best_threshold(references, scores, metric="character")
    found = best_threshold(references, container(scores), metric="character")
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.thresholds.tolist() == expected.thresholds.tolist()


def test_a_matrix_of_scores() -> None:
    scores = np.array([[0.1, 0.9], [0.8, 0.2]])
    found = best_threshold(as_spans([[[1, 2]], [[0, 1]]]), scores, metric="exact_span")
    assert (found.threshold, found.score) == (0.8, 1.0)


# -- refusals


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"references": [[[0, 1]]]}, ValueError, "references has 1, scores has 2"),
        ({"references": [[], [[0, 3]]]}, ValueError, r"references: .*row 1, span 0 \[0, 3\]: past the end of the text"),
        (
            {"references": as_spans([[], []], text=["..", "..."])},
            ValueError,
            "scores: row 1 has 2 values, its text 3 characters",
        ),
        ({"scores": [[0.1, 1.5], [0.1, 0.2]]}, ValueError, "row 0, character 1 1.5"),
        ({"scores": [[0.1, float("nan")], [0.1, 0.2]]}, ValueError, "row 0, character 1 nan"),
        ({"references": [], "scores": []}, ValueError, "no examples"),
        ({"metric": "iuo"}, ValueError, "there is no metric 'iuo'"),
        ({"output": "f1"}, ValueError, "iou has no output 'f1'; it has score"),
        ({"average": None}, ValueError, "average must be one of 'macro', 'micro', got None"),
        ({"min_length": 0}, ValueError, "min_length must be at least 1"),
        ({"merge_gap": 1.0}, TypeError, "merge_gap must be an integer"),
        ({"undefined": float("nan")}, ValueError, "undefined must be None, 0.0 or 1.0"),
        ({"undefined": 0.5}, ValueError, "undefined must be None, 0.0 or 1.0"),
        ({"undefined": True}, ValueError, "undefined must be None, 0.0 or 1.0"),
        ({"sample_weight": [1.0]}, ValueError, r"sample_weight must have shape \(2,\)"),
        ({"sample_weight": [0, 0]}, ValueError, "the weights of all examples are 0"),
        ({"metric": "soft_correlation"}, ValueError, "references: 1 span.* probability"),
        ({"references": [[[0, 2]]], "name": "y_true"}, ValueError, "y_true has 1, scores has 2"),
    ],
)
def test_refusals(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"references": [[], [[0, 2]]], "scores": [[0.1, 0.3], [0.1, 0.2]], "metric": "iou"}
    assert best_threshold(**given).score > 0
    with pytest.raises(error, match=message):
        best_threshold(**{**given, **changes})


# -- the parts


def test_states_of_a_row() -> None:
    """The drawing in the docstring of the module."""
    scores = np.array([0.2, 0.2, 0.9, 0.9, 0.4])
    cut = states.segments(np.array([0, 5]), scores)
    assert (cut.start.tolist(), cut.stop.tolist(), cut.value.tolist()) == ([0, 2, 4], [2, 4, 5], [0.2, 0.9, 0.4])
    row = states.States(cut, np.array([0, 2, 1]), 3)
    assert row.reached.tolist() == [0, 1, 2, 3]
    assert row.predictions(0, 4).tolist() == [[[0, 5]], [[2, 5]], [[2, 4]], []]
    assert row.predictions(1, 3).tolist() == [[[2, 5]], [[2, 4]]]
    assert row.spans.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    references, scores = corpus(6, 30)
    expected = best_threshold(references, scores, metric="deteval_1d", merge_gap=1)
    monkeypatch.setattr(best, "AT_ONCE", at_once)
    monkeypatch.setattr(running, "_AT_ONCE", at_once)
    found = best_threshold(references, scores, metric="deteval_1d", merge_gap=1)
    assert found.scores.tolist() == expected.scores.tolist()


def test_memory_does_not_grow_with_the_spans_of_all_thresholds() -> None:
    """A row of 4,000 different scores has 2.7 million spans over its thresholds: 43 MB for starts and ends alone."""
    rng = np.random.default_rng(0)
    scores = rng.permutation(4000) / 4000
    batch = as_spans([[[10, 500], [600, 602]]])
    tracemalloc.start()
    found = best_threshold(batch, scores[np.newaxis], metric="deteval_1d")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.thresholds) == 4001
    spans = sum(int(np.count_nonzero(np.diff(scores >= t, prepend=False, append=False))) // 2 for t in scores)
    assert spans > 2_600_000
    assert peak < 20e6


finite = st.floats(-1e100, 1e100, allow_nan=False)


@settings(deadline=None, max_examples=200)
@given(
    rows=st.lists(
        st.lists(st.floats(0, 1) | finite, min_size=1, max_size=4)
        | st.lists(st.integers(0, 2**53).map(float), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    ),
    data=st.data(),
    whole=st.booleans(),
)
def test_running_sums_are_exact(rows: list[list[float]], data: st.DataObject, whole: bool) -> None:
    """Against fractions, point by point."""
    points = 5
    if whole:
        rows = [[float(abs(int(x)) % 2**53) for x in row] for row in rows]
    since = [
        [0, *sorted(data.draw(st.lists(st.integers(1, points), min_size=len(row) - 1, max_size=len(row) - 1)))]
        for row in rows
    ]
    weight = data.draw(st.lists(st.integers(0, 2**31 - 1), min_size=len(rows), max_size=len(rows)))
    divisor = data.draw(st.fractions(min_value=Fraction(1, 7), max_value=1000))
    column = np.array([x for row in rows for x in row])
    first = np.cumsum([0, *map(len, rows)])[:-1]
    for weights in (None, weight):
        found = running_quotients(
            column.astype(np.int64) if whole else column,
            None if weights is None else np.repeat(np.array(weights, dtype=np.int64), [len(row) for row in rows]),
            first,
            np.array([x for row in since for x in row]),
            points,
            divisor,
        )
        for point in range(points):
            total = Fraction(0)
            for row, begins, w in zip(rows, since, weights or [1] * len(rows), strict=True):
                current = max(i for i, begin in enumerate(begins) if begin <= point)
                total += Fraction(row[current]) * w
            assert found[point] == float(total / divisor)


@pytest.mark.parametrize("key", [name for name, metric in metrics.REGISTRY.items() if "labels" in metric.needs])
def test_metrics_of_types_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} reads types"):
        best_threshold([[[0, 2, "A"]]], [[0.5, 0.5]], metric=key)


def test_values_that_are_not_finite_are_refused() -> None:
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="only finite values"):
            running_quotients(np.array([value]), None, np.array([0]), np.array([0]), 1, Fraction(1))


# -- many rows


def test_scores_at_some_of_thousands_of_thresholds() -> None:
    """2,000 answers with 60 tokens each: 120,000 thresholds."""
    rng = np.random.default_rng(0)
    scores = [np.repeat(rng.random(60), rng.integers(1, 8, 60)) for _ in range(2000)]
    references = as_spans([[[3, 20], [60, 90]][: int(rng.integers(0, 3))] for _ in range(2000)])
    found = best_threshold(references, scores, metric="iou")
    assert len(found.thresholds) > 100_000
    some = found.thresholds[np.linspace(0, len(found.thresholds) - 2, 5).astype(int)].tolist()
    expected = [alone(references, scores, threshold, metrics.iou) for threshold in some]
    assert found.scores[np.searchsorted(found.thresholds, some)].tolist() == expected
