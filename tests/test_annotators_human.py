"""The level of humans, against loops over items, held-out annotators and characters."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import annotator_oracle
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mycelium import as_spans
from mycelium.annotators import human_level
from mycelium.corpora import load_mushroom
from mycelium.metrics import DEFAULT

span = st.tuples(st.integers(0, 10), st.integers(1, 6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
span_set = st.lists(span, max_size=3)
items = st.lists(st.tuples(st.lists(span_set, min_size=2, max_size=4), span_set), min_size=1, max_size=4)


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def score(metric: str, reference: Any, prediction: Any, undefined: float | None) -> float:
    scores = oracle.example(metric, reference, prediction, undefined)
    return scores["score"] if metric == "iou" else scores["f1"]


def by_hand(rows: list[Any], detected: list[Any], share: str, metric: str, undefined: float | None) -> dict[str, Any]:
    parts: dict[str, list[float]] = {key: [] for key in ("H", "D", "F", "detector", "other_humans", "consensus")}
    for marks, prediction in zip(rows, detected, strict=True):
        marks = [annotator_oracle.connected(annotator_oracle.characters(spans)) for spans in marks]
        own: dict[str, list[float]] = {key: [] for key in parts}
        for h, mark in enumerate(marks):
            others = marks[:h] + marks[h + 1 :]
            reference = annotator_oracle.consensus(others, share)
            own["H"].append(score(metric, reference, mark, undefined))
            own["D"].append(score(metric, reference, prediction, undefined))
            own["detector"].append(score(metric, mark, prediction, undefined))
            own["consensus"].append(score(metric, mark, reference, undefined))
            own["other_humans"] += [score(metric, mark, other, undefined) for other in others]
        own["F"].append(score(metric, annotator_oracle.consensus(marks, share), prediction, undefined))
        for key, values in own.items():
            parts[key].append(mean(values))
    means = {key: mean(values) for key, values in parts.items()}
    return {
        "human": means["H"],
        "detector": means["D"],
        "difference": means["D"] - means["H"],
        "relative_to_human": means["D"] / means["H"] if means["H"] else None,
        "detector_against_full_consensus": means["F"],
        "expected_score": {
            "detector": means["detector"],
            "other_humans": means["other_humans"],
            "consensus_of_others": means["consensus"],
        },
    }


def assert_close(got: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert set(got) == set(expected)
        for key, value in expected.items():
            assert_close(got[key], value)
    elif expected is None:
        assert got is None
    else:
        assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share", ["majority", "union"])
@pytest.mark.parametrize("undefined", [1.0, 0.0])
@given(rows=items)
@hypothesis_settings(max_examples=40)
def test_the_level_is_what_loops_find(share: str, undefined: float, rows: list[Any]) -> None:
    marks, detected = [one for one, _ in rows], [one for _, one in rows]
    got = human_level(marks, detected, share, undefined=undefined, n_resamples=None)
    assert list(got.scores) == list(DEFAULT)
    for metric in DEFAULT:
        assert_close(got.scores[metric], by_hand(marks, detected, share, metric, undefined))
    assert got.intervals == {}


def test_a_detector_may_exceed_humans_and_is_not_clipped() -> None:
    """Two agree on [0, 4), the third marks [0, 8); the detector agrees with the two.

    Majority of the other two is their intersection, [0, 4) for each h: H = (1 + 1/2 + 1) / 3, D = 1.
    """
    got = human_level([[[[0, 4]], [[0, 8]], [[0, 4]]]], [[[0, 4]]], metrics=["iou"], n_resamples=None).scores["iou"]
    assert got["human"] == pytest.approx(2.5 / 3)
    assert got["relative_to_human"] == pytest.approx(1.2)
    assert got["difference"] == pytest.approx(0.5 / 3)


def test_a_ratio_to_nothing_is_none() -> None:
    rows = [[[[0, 4]], [[6, 8]]]] * 30
    got = human_level(rows, [[[0, 4]]] * 30, metrics=["iou"], n_resamples=20)
    assert got.scores["iou"]["human"] == 0
    assert got.scores["iou"]["relative_to_human"] is None
    assert got.intervals["iou"]["relative_to_human"] is None
    assert got.intervals["iou"]["detector"] == [0.5, 0.5]


def test_without_predictions_only_humans_are_scored() -> None:
    got = human_level([[[[0, 4]], [[0, 8]]]], metrics=["iou"], n_resamples=None)
    assert got.scores == {"iou": {"human": 0.5, "expected_score": {"consensus_of_others": 0.5, "other_humans": 0.5}}}


def test_items_without_two_annotators_are_left_out_with_their_predictions() -> None:
    rows = [{"a": [[0, 4]]}, {"a": [[0, 4]], "b": [[0, 2]]}, {}, {"a": [[1, 3]], "b": [[1, 2]]}]
    detected = [[[0, 1]], [[0, 3]], [[5, 6]], [[1, 9]]]
    got = human_level(rows, detected, n_resamples=None)
    assert (got.meta["items"], got.meta["skipped"]) == (2, 2)
    assert got.scores == human_level([rows[1], rows[3]], [detected[1], detected[3]], n_resamples=None).scores
    with pytest.raises(ValueError, match="none of the 1 rows has two annotators"):
        human_level(rows[:1])


def combined(parts: list[Any]) -> Any:
    """Return the mean of nested numbers, place by place."""
    if isinstance(parts[0], dict):
        return {key: combined([part[key] for part in parts]) for key in parts[0]}
    return mean(parts)


@given(rows=st.lists(st.tuples(st.lists(span_set, min_size=3, max_size=5), span_set), min_size=1, max_size=3))
@hypothesis_settings(max_examples=25)
def test_equal_numbers_average_over_the_subsets_of_each_item(rows: list[Any]) -> None:
    marks, detected = [one for one, _ in rows], [one for _, one in rows]
    got = human_level(marks, detected, n_annotators=3, n_resamples=None)
    keys = ("human", "detector", "detector_against_full_consensus", "expected_score")
    for metric in ("iou", "span_coverage"):
        each = []
        for item, prediction in rows:
            subsets = [list(three) for three in combinations(item, 3)]
            found = [by_hand([three], [prediction], "majority", metric, 1.0) for three in subsets]
            each.append(combined([{key: one[key] for key in keys} for one in found]))
        expected = combined(each)
        for key in keys:
            assert_close(got.scores[metric][key], expected[key])


def test_equal_numbers_leave_out_items_with_fewer() -> None:
    rows = [[[[0, 4]], [[0, 2]]], [[[0, 4]], [[0, 2]], [], [[1, 2]]]]
    got = human_level(rows, [[[0, 1]], [[0, 3]]], n_annotators=3, n_resamples=None)
    assert (got.meta["items"], got.meta["skipped"], got.meta["annotators_per_item"]) == (1, 1, [4, 4])
    drawn = human_level(rows[1:], n_annotators=2, subsets=3, seed=1, n_resamples=None).scores
    assert drawn == human_level(rows[1:], n_annotators=2, subsets=3, seed=1, n_resamples=None).scores
    assert drawn != human_level(rows[1:], n_annotators=2, subsets=3, seed=2, n_resamples=None).scores
    with pytest.raises(ValueError, match="none of the 2 rows has 5 annotators"):
        human_level(rows, n_annotators=5)
    with pytest.raises(TypeError, match="n_annotators must be an integer"):
        human_level(rows, n_annotators=2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_intervals_come_from_the_same_draws(method: str) -> None:
    rng = np.random.default_rng(4)
    rows = [[[[int(s), int(s) + int(n)]] for s, n in rng.integers(1, 9, (3, 2))] for _ in range(40)]
    detected = [[[int(s), int(s) + 4]] for s in rng.integers(0, 9, 40)]
    got = human_level(rows, detected, metrics=["iou"], n_resamples=50, seed=9, method=method)
    drawn = np.random.default_rng(9).integers(0, 40, (50, 40)).tolist()
    each = [
        human_level([rows[i] for i in row], [detected[i] for i in row], metrics=["iou"], n_resamples=None).scores["iou"]
        for row in drawn
    ]
    for key in ("human", "detector", "difference", "relative_to_human", "detector_against_full_consensus"):
        low, high = np.percentile([one[key] for one in each], [2.5, 97.5]).tolist()
        if method == "basic":
            low, high = 2 * got.scores["iou"][key] - high, 2 * got.scores["iou"][key] - low
        assert got.intervals["iou"][key] == pytest.approx([low, high], abs=1e-12)
    assert set(got.intervals["iou"]["expected_score"]) == {"detector", "other_humans", "consensus_of_others"}


def test_bca_leaves_each_item_out_once() -> None:
    """The interval of H is that of a mean of items' own values, which scipy knows too."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(6)
    rows = [[[[int(s), int(s) + int(n)]] for s, n in rng.integers(1, 9, (3, 2))] for _ in range(40)]
    own = [human_level([row], metrics=["iou"], n_resamples=None).scores["iou"]["human"] for row in rows]
    expected = stats.bootstrap(
        (own,), np.mean, n_resamples=200, method="BCa", rng=np.random.default_rng(2), vectorized=True, axis=-1
    ).confidence_interval
    got = human_level(rows, metrics=["iou"], n_resamples=200, seed=2, method="bca").intervals["iou"]["human"]
    assert got == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_few_items_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="2 items are likely too narrow"):
        human_level([[[[0, 4]], [[0, 2]]]] * 2, n_resamples=10)


@pytest.mark.parametrize(
    ("predictions", "options", "message"),
    [
        ([[[0, 1]]] * 3, {}, "annotations has 2, predictions has 3"),
        ([[[0, 1]]] * 2, {"consensus": "most"}, "share must be one of"),
        ([[[0, 1]]] * 2, {"method": "normal"}, "method must be one of"),
        ([[[0, 1]]] * 2, {"level": 2.0}, "level"),
        ([[[3, 1]]] * 2, {}, "predictions: 2 invalid spans"),
    ],
)
def test_what_cannot_be_is_refused(predictions: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        human_level([[[[0, 4]], [[0, 2]]]] * 2, predictions, **options)


@pytest.mark.corpora
def test_dividing_by_the_wrong_reference_would_flatter(corpora: Path) -> None:
    """Finnish, the published predictions: 0.84 of the human level; against the full consensus it would look like 1."""
    corpus = load_mushroom(corpora / "mu_shroom", "fi")
    lines = (corpora / "mu_shroom" / "predictions" / "mushroom-fi-tst-predicted.jsonl").read_text(encoding="utf-8")
    found = {row["id"]: row["hard_labels"] for row in map(json.loads, filter(None, lines.split("\n")))}
    predictions = as_spans([found[one] for one in corpus.ids], text=corpus.texts, invalid="drop")
    got = human_level(corpus, predictions, metrics=["iou"]).scores["iou"]
    assert round(got["relative_to_human"], 2) == 0.84
    assert round(got["detector_against_full_consensus"] / got["human"], 2) == 1.00
