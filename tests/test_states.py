"""States counted group by group: each is the state of an accumulator that saw the rows of the group alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from samples import random_batch, take

import mycelium
from mycelium import metrics
from mycelium.accumulators import options_of
from mycelium.states import count, count_groups, settled

METRICS = [*metrics.DEFAULT, "response", "span_coverage(delta=2)", "cleval_1d(granularity_penalty_weight=0.3)"]


def grouped(labels: list[int]) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(labels, kind="stable")
    return order, np.bincount(labels)


def one_by_one(columns: dict[str, Any], labels: list[int], **options: Any) -> np.ndarray:
    states = []
    for group in range(max(labels) + 1):
        scores = mycelium.Accumulator(**options)
        scores.update(**take(columns, [i for i, label in enumerate(labels) if label == group]))
        states.append(scores.state())
    return np.array(states)


WEIGHTS = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 5, n).tolist(),
    "large": lambda rng, n: rng.integers(0, 2**30, n).tolist(),
    "real": lambda rng, n: rng.random(n).tolist(),
    "extreme": lambda rng, n: (10.0 ** rng.integers(-90, 90, n)).tolist(),
    "tiny": lambda rng, n: (10.0 ** rng.integers(-90, -60, n)).tolist(),
}


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("groups", [1, 3, 120])
def test_groups_have_the_states_of_their_rows(average: str, weights: str, groups: int) -> None:
    rng = np.random.default_rng(5)
    n = 150
    columns: dict[str, Any] = random_batch(n, seed=7)
    weight = WEIGHTS[weights](rng, n)
    if weight is not None:
        columns["sample_weight"] = weight
    labels = rng.permutation([*range(groups), *rng.integers(0, groups, n - groups)]).tolist()
    options: dict[str, Any] = {"metrics": METRICS, "average": average, "undefined": 1.0}
    try:
        expected = one_by_one(columns, labels, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:10]):
            count_groups(mycelium.Accumulator(**options), columns, *grouped(labels))
        return
    assert np.array_equal(count_groups(mycelium.Accumulator(**options), columns, *grouped(labels)), expected)


def test_numbers_that_doubles_cannot_add_are_added_exactly() -> None:
    """Lengths near 2**52: their sum has a last digit that a double would lose."""
    columns = {"references": [[[0, 2**52 + 1]]] * 5, "predictions": [[[0, 2**52]]] * 5}
    options: dict[str, Any] = {"metrics": ["iou"], "average": "micro"}
    states = count_groups(mycelium.Accumulator(**options), columns, *grouped([0, 0, 0, 1, 1]))
    assert np.array_equal(states, one_by_one(columns, [0, 0, 0, 1, 1], **options))
    names = mycelium.Accumulator(**options).state_names
    assert states[:, names.index("iou.union.0")].tolist() == [3 * (2**52 + 1), 2 * (2**52 + 1)]


def test_probabilities_texts_and_large_batches() -> None:
    """More rows than are laid out together, and groups that lie across the border of two such blocks."""
    n = 40_000
    rng = np.random.default_rng(0)
    span = [[{"start": int(a), "end": int(b), "prob": 0.25}] for a, b in rng.integers([0, 30], [20, 40], (50, 2))]
    columns: dict[str, Any] = {
        "references": [[[0, 4]], []] * (n // 2),
        "predictions": [[[2, 8]], [], [[1, 3]], [[0, 2]]] * (n // 4),
        "text": ["x" * 40] * n,
        "soft_references": span * (n // 50),
        "soft_predictions": span[::-1] * (n // 50),
    }
    labels = (np.arange(n) * 7 % 9).tolist()
    options: dict[str, Any] = {"metrics": ["soft_correlation", "character"]}
    states = count_groups(mycelium.Accumulator(**options), columns, *grouped(labels))
    assert np.array_equal(states, one_by_one(columns, labels, **options))


@pytest.mark.parametrize("arrow", [False, True])
def test_leniency_is_counted_where_it_happened(arrow: bool) -> None:
    columns: dict[str, Any] = {
        "references": [[[0, 4]], [[0, 99], [-3, 2]], None, [[1, 2]], [[3, 3]]] * 8,
        "predictions": [[[2, 8]], [], [[1, 3]], None, [[50, 60]]] * 8,
        "text": ["0123456789"] * 40,
    }
    labels = np.random.default_rng(1).integers(0, 11, 40).tolist()
    options: dict[str, Any] = {"invalid": "clip", "missing_rows": "empty"}
    expected = one_by_one(columns, labels, **options)
    assert expected[:, :4].sum(axis=0).tolist() == [24, 16, 16, 16]
    if arrow:
        pa = pytest.importorskip("pyarrow")
        columns = {name: pa.chunked_array([values[:13], values[13:]]) for name, values in columns.items()}
    assert np.array_equal(count_groups(mycelium.Accumulator(**options), columns, *grouped(labels)), expected)


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize("none", [None, float("nan")])
def test_missing_rows_are_counted_where_they_were(arrow: bool, none: Any) -> None:
    columns: dict[str, Any] = {
        "references": [[[0, 4]], [[0, 9]], none, [[1, 2]], none] * 8,
        "predictions": [[[2, 8]], [], [[1, 3]], None, None] * 8,
    }
    labels = np.random.default_rng(1).integers(0, 11, 40).tolist()
    expected = one_by_one(columns, labels, missing_rows="empty")
    assert expected[:, :4].sum(axis=0).tolist() == [0, 0, 0, 32]
    if arrow:
        pa = pytest.importorskip("pyarrow")
        columns = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}
    states = count_groups(mycelium.Accumulator(missing_rows="empty"), columns, *grouped(labels))
    assert np.array_equal(states, expected)


def test_no_rows() -> None:
    scores = mycelium.Accumulator()
    nothing = np.zeros(0, dtype=np.int64)
    states = count_groups(scores, {"references": [], "predictions": []}, nothing, nothing)
    assert states.shape == (0, len(scores.state_names))
    assert not count(scores, {"references": [], "predictions": []}).any()


def test_errors_name_the_columns() -> None:
    names = {"references": "column 'gold'", "text": "column 'answer'"}
    scores = mycelium.Accumulator()
    columns = {"references": [[[0, 4]], [[4, 2]]], "predictions": [[], []]}
    for call in (
        lambda: count(scores, columns, names),
        lambda: count_groups(scores, columns, *grouped([0, 1]), names),
    ):
        with pytest.raises(ValueError, match=r"^column 'gold': 1 invalid span in 1 row: row 1, span 0 \[4, 2\]"):
            call()
    columns |= {"references": [[], []], "text": ["a", None]}
    with pytest.raises(TypeError, match=r"^column 'answer'.* row 1"):
        count(scores, columns, names)


@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_sums_settle_into_the_form_of_a_state(weights: str) -> None:
    rng = np.random.default_rng(2)
    columns: dict[str, Any] = random_batch(90)
    weight = WEIGHTS[weights](rng, 90)
    if weight is not None:
        columns["sample_weight"] = weight
    scores = mycelium.Accumulator()
    states = count_groups(scores, columns, *grouped(rng.integers(0, 40, 90).tolist()))
    before = states.copy()
    whole = count(scores, columns)
    raw = states.sum(axis=0, keepdims=True)
    assert not np.array_equal(raw[0], whole)  # limbs overflow into each other
    assert np.array_equal(settled(scores, raw)[0], whole)
    assert np.array_equal(settled(scores, states), before)
    assert settled(scores, states[:0]).shape == (0, len(whole))
    with pytest.raises(ValueError, match="does not fit"):
        settled(scores, np.full((1, len(whole)), 2**62, dtype=np.int64))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": METRICS, "average": "micro", "undefined": 0.0},
        {"profile": "ragtruth"},
        {"profile": "ragtruth", "average": "macro", "tolerance": 1e-9, "invalid": "drop"},
        {"metrics": ["deteval_1d", "deteval_1d(recall_threshold=0.1)"], "deteval_recall_threshold": 0.7},
        {"metrics": "iou", "missing_rows": "empty", "offsets": "utf16", "end": "inclusive"},
        {"metrics": [metrics.get("cleval_1d").at(tolerance=0.1)], "tolerance": 0.2},
        {
            "span_coverage_delta": 1,
            "span_coverage_min_pred_len": 3,
            "deteval_recall_threshold": 0.1,
            "deteval_precision_threshold": 0.2,
            "deteval_granularity_penalty": 0.3,
            "cleval_area_precision_threshold": 0.4,
            "cleval_granularity_penalty": 0.5,
        },
    ],
)
def test_options_survive_as_json(options: dict[str, Any]) -> None:
    scores = mycelium.Accumulator(**options)
    written = json.loads(json.dumps(options_of(scores)))
    assert mycelium.Accumulator(**written).settings == scores.settings
    assert options_of(mycelium.Accumulator(**written)) == written


def test_equal_settings_have_equal_options() -> None:
    assert options_of(mycelium.Accumulator()) == {}
    spelt_out = {"metrics": list(metrics.DEFAULT), "average": "macro", "tolerance": 0.0, "span_coverage_delta": 0}
    assert options_of(mycelium.Accumulator(**spelt_out)) == {}


def test_a_metric_of_ones_own_must_be_registered() -> None:
    own = replace(metrics.get("iou"), name="mine")
    with pytest.raises(ValueError, match=r"mine: not a registered metric.*register"):
        options_of(mycelium.Accumulator(metrics=["iou", own]))
