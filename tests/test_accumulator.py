"""Accumulator: a stream of batches gives the bits of one evaluation, in constant memory."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import numpy as np
import pytest
from samples import random_batch, take

import mycelium
from mycelium import Accumulator, InvalidCounts, as_spans, evaluate
from mycelium.metrics import cleval_1d, span_coverage

METRICS = [
    "exact_span",
    "iou",
    "character",
    "deteval_1d",
    "cleval_1d",
    "span_coverage",
    "response",
    cleval_1d.at(granularity_penalty_weight=0.1),
]


def bits(report: mycelium.Report) -> str:
    return json.dumps(report) + report.signature + repr(report.invalid)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_one_update_is_evaluate(average: str) -> None:
    rows = random_batch(50)
    stream = Accumulator(metrics=METRICS, average=average)
    assert stream.update(**rows) is None
    assert bits(stream.compute()) == bits(evaluate(**rows, metrics=METRICS, average=average))
    # By position too, as a metric of a training loop is called.
    other = Accumulator(metrics=METRICS, average=average)
    other.update(rows["references"], rows["predictions"])
    assert bits(other.compute()) == bits(stream.compute())


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_neither_cuts_nor_order_change_a_bit(average: str) -> None:
    n = 120
    rows = random_batch(n)
    expected = bits(evaluate(**rows, metrics=METRICS, average=average))
    rng = random.Random(1)
    for pieces in (1, 2, 7, n):
        order = rng.sample(range(n), n)
        stream = Accumulator(metrics=METRICS, average=average)
        for k in range(pieces):
            stream.update(**take(rows, order[k::pieces]))
        assert bits(stream.compute()) == expected


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_neither_merges_nor_their_order_change_a_bit(average: str) -> None:
    n = 60
    rows = random_batch(n)
    expected = bits(evaluate(**rows, metrics=METRICS, average=average))

    def shards() -> list[Accumulator]:
        out = []
        for k in range(5):
            shard = Accumulator(metrics=METRICS, average=average)
            shard.update(**take(rows, range(k, n, 5)))
            out.append(shard)
        return out

    left = shards()
    for other in left[1:]:
        assert left[0].merge(other) is None
    assert bits(left[0].compute()) == expected
    right = shards()[::-1]
    for other in right[1:]:
        right[0].merge(other)
    assert bits(right[0].compute()) == expected
    a, b, c, d, e = shards()
    b.merge(e)
    d.merge(a)
    d.merge(b)
    c.merge(d)
    assert bits(c.compute()) == expected
    # An accumulator that was merged into another is still what it was.
    assert bits(e.compute()) == bits(evaluate(**take(rows, range(4, n, 5)), metrics=METRICS, average=average))


def test_by_hand() -> None:
    # Exact: batch 1 has one hit; batch 2 three false alarms and one miss: 2 / (2 + 3 + 1), not the mean 0.5.
    stream = Accumulator(metrics=["exact_span"], average="micro")
    stream.update([[[0, 4]]], [[[0, 4]]])
    assert stream.compute()["exact_span"]["f1"] == 1.0
    stream.update([[[6, 9]], []], [[[0, 1], [2, 3]], [[4, 5]]])
    report = stream.compute()
    assert report["exact_span"] == {"precision": 1 / 4, "recall": 1 / 2, "f1": pytest.approx(1 / 3, abs=1e-12)}
    assert report["meta"]["examples"] == 3
    # Asking changes nothing.
    assert bits(stream.compute()) == bits(report)


def test_the_mean_of_thirds_has_no_drift() -> None:
    """0.1 added ten thousand times is not 1000 in doubles; the mean is 0.1 all the same."""
    stream = Accumulator(metrics=["iou"])
    for _ in range(10):
        stream.update([[[0, 10]]] * 1000, [[[0, 1]]] * 1000)
    assert stream.compute()["iou"]["score"] == 0.1


def test_reset() -> None:
    stream = Accumulator(metrics=METRICS)
    stream.update(**random_batch(20, seed=1), sample_weight=[2] * 20)
    stream.reset()
    with pytest.raises(ValueError, match="examples"):
        stream.compute()
    rows = random_batch(20, seed=2)
    stream.update(**rows)
    assert bits(stream.compute()) == bits(evaluate(**rows, metrics=METRICS))


def test_a_report_does_not_change_afterwards() -> None:
    stream = Accumulator()
    stream.update(**random_batch(10, seed=1))
    before = stream.compute()
    kept = bits(before)
    stream.update(**random_batch(10, seed=2))
    stream.reset()
    assert bits(before) == kept


def test_no_examples() -> None:
    with pytest.raises(ValueError, match="examples"):
        Accumulator().compute()
    one, other = Accumulator(), Accumulator()
    one.merge(other)
    with pytest.raises(ValueError, match="examples"):
        one.compute()


def test_an_empty_shard_or_batch_adds_nothing() -> None:
    rows = random_batch(10)
    expected = bits(evaluate(**rows))
    stream = Accumulator()
    stream.update([], [])
    stream.update(**rows)
    stream.update(as_spans([]), np.zeros((0, 3, 2), dtype=np.int64), text=[])
    stream.merge(Accumulator())
    assert bits(stream.compute()) == expected
    late = Accumulator()
    late.merge(stream)
    assert bits(late.compute()) == expected


def test_an_update_takes_batches_only() -> None:
    stream = Accumulator()
    for one_set in ([[0, 4]], np.array([[0, 4]]), {"start": [0], "end": [4]}, [{"start": 0, "end": 4}]):
        with pytest.raises((ValueError, TypeError)):
            stream.update(one_set, one_set)
        with pytest.raises((ValueError, TypeError)):
            stream.update([[[0, 4]]], one_set)


def test_what_fails_is_not_counted() -> None:
    rows = random_batch(10)
    stream = Accumulator(invalid="drop")
    stream.update(**rows)
    before = bits(stream.compute())
    for wrong in (
        {"references": [[[0, 4]]], "predictions": [[[5, 2]]]},
        {"references": [[[0, 4], [5, 5]]], "predictions": [[], []]},
        {"references": [[[0, 4]], [[5, 5]]], "predictions": [[], [["a", "b"]]]},
        {"references": [[[0, 4]]], "predictions": [[]], "sample_weight": [-1.0]},
        {"references": [[[0, 4]]], "predictions": [[]], "text": ["abcdef", "x"]},
    ):
        with pytest.raises((ValueError, TypeError)):
            stream.update(**wrong)
        assert bits(stream.compute()) == before


def test_text_is_checked_batch_by_batch() -> None:
    stream = Accumulator(metrics=["iou"])
    stream.update([[[0, 4]]], [[[0, 4]]], ["abcd"])
    with pytest.raises(ValueError, match="predictions"):
        stream.update([[[0, 4]]], [[[0, 5]]], ["abcd"])
    stream.update([[[0, 4]]], [[[0, 5]]], text=["abcde"])
    assert stream.compute()["iou"]["score"] == pytest.approx((1 + 0.8) / 2, abs=1e-12)


def test_leniency_is_counted_over_all() -> None:
    first = Accumulator(invalid="clip", missing_rows="empty")
    first.update([[[0, 4], [3, 3]], None], [[[-2, 4]], []])
    second = Accumulator(invalid="clip", missing_rows="empty")
    second.update([[[0, 9]]], [[[0, 4]]], ["abcd"])
    assert first.compute().invalid == InvalidCounts(rows=2, dropped=1, clipped=1, missing=1)
    first.merge(second)
    assert first.compute().invalid == InvalidCounts(rows=3, dropped=1, clipped=2, missing=1)
    first.reset()
    first.update([[]], [[]])
    assert first.compute().invalid == InvalidCounts()


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_weights(average: str) -> None:
    rows = random_batch(40)
    weights = [random.Random(i).choice([0, 1, 2, 5]) for i in range(40)]
    expected = bits(evaluate(**rows, sample_weight=weights, metrics=METRICS, average=average))
    stream = Accumulator(metrics=METRICS, average=average)
    for k in range(3):
        chosen = range(k, 40, 3)
        stream.update(**take(rows, chosen), sample_weight=[weights[i] for i in chosen])
    assert bits(stream.compute()) == expected
    # Rows without weights beside rows with them have weight 1.
    mixed = Accumulator(metrics=METRICS, average=average)
    mixed.update(**take(rows, range(20)))
    mixed.update(**take(rows, range(20, 40)), sample_weight=weights[20:])
    assert bits(mixed.compute()) == bits(
        evaluate(**rows, sample_weight=[1] * 20 + weights[20:], metrics=METRICS, average=average)
    )


def test_the_signature_of_merged_weights() -> None:
    rows = random_batch(10)
    expected = evaluate(**rows, sample_weight=[1] * 5 + [2] * 5)
    for first in (range(5), range(5, 10)):
        one, other = Accumulator(), Accumulator()
        one.update(**take(rows, first), sample_weight=None if first[0] == 0 else [2] * 5)
        rest = [i for i in range(10) if i not in first]
        other.update(**take(rows, rest), sample_weight=None if rest[0] == 0 else [2] * 5)
        one.merge(other)
        assert bits(one.compute()) == bits(expected)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_real_weights_to_the_last_digits(average: str) -> None:
    rows = random_batch(60)
    rng = random.Random(9)
    weights = [rng.random() for _ in range(60)]
    expected = evaluate(**rows, sample_weight=weights, metrics=METRICS, average=average)
    order = rng.sample(range(60), 60)
    stream = Accumulator(metrics=METRICS, average=average)
    for part in (order[:13], order[13:14], order[14:]):
        stream.update(**take(rows, part), sample_weight=np.array([weights[i] for i in part]))
    got = stream.compute()
    for key in expected:
        if key != "meta":
            assert got[key] == pytest.approx(expected[key], rel=0, abs=1e-12)


def test_a_batch_of_weight_zero_is_fine_as_long_as_another_has_some() -> None:
    rows = random_batch(5)
    stream = Accumulator()
    stream.update(**rows, sample_weight=[0] * 5)
    with pytest.raises(ValueError, match="weight"):
        stream.compute()
    stream.update(**rows, sample_weight=[1] * 5)
    got, expected = stream.compute(), evaluate(**rows)
    for key in expected:
        if key != "meta":
            assert got[key] == expected[key]


@pytest.mark.parametrize(
    "other",
    [
        {"average": "micro"},
        {"metrics": ["iou"]},
        {"metrics": [span_coverage.at(delta=1)]},
        {"span_coverage_delta": 1},
        {"undefined": 1.0},
        {"tolerance": 1e-9},
        {"invalid": "drop"},
        {"offsets": "utf16"},
        {"end": "inclusive"},
        {"missing_rows": "empty"},
    ],
)
def test_different_settings_are_not_merged(other: dict[str, Any]) -> None:
    one, two = Accumulator(), Accumulator(**other)
    one.update(**random_batch(3))
    before = bits(one.compute())
    with pytest.raises(ValueError, match="settings"):
        one.merge(two)
    assert bits(one.compute()) == before


def test_merging_something_else() -> None:
    for wrong in (None, 3, evaluate(**random_batch(3))):
        with pytest.raises((TypeError, ValueError)):
            Accumulator().merge(wrong)  # type: ignore[arg-type]


def test_merging_with_itself_counts_twice() -> None:
    rows = random_batch(6)
    stream = Accumulator(average="micro")
    stream.update(**rows)
    stream.merge(stream)
    twice = {side: values * 2 for side, values in rows.items()}
    assert bits(stream.compute()) == bits(evaluate(**twice, average="micro"))


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_pickle(average: str) -> None:
    rows = random_batch(30)
    options: dict[str, Any] = {
        "metrics": METRICS,
        "average": average,
        "undefined": 1.0,
        "deteval_recall_threshold": 0.5,
    }
    stream = Accumulator(**options)
    stream.update(**take(rows, range(10)))
    copy = pickle.loads(pickle.dumps(stream))
    assert bits(copy.compute()) == bits(stream.compute())
    copy.update(**take(rows, range(10, 20)))
    other = pickle.loads(pickle.dumps(Accumulator(**options)))
    other.update(**take(rows, range(20, 30)))
    copy.merge(other)
    assert bits(copy.compute()) == bits(evaluate(**rows, **options))
    # The original did not move.
    assert bits(stream.compute()) == bits(evaluate(**take(rows, range(10)), **options))


def test_memory_is_constant() -> None:
    sizes = []
    for average in ("macro", "micro"):
        stream = Accumulator(metrics=METRICS, average=average)
        rows = random_batch(200)
        for _ in range(3):
            for _ in range(20):
                stream.update(**rows, sample_weight=[2] * 200)
            sizes.append(len(pickle.dumps(stream)))
        # Sums grow by a digit or two, not with the rows.
        assert sizes[-1] < sizes[-3] + 100
        assert max(sizes) < 10_000


def test_soft_labels_stream_too() -> None:
    soft = [[{"start": 0, "end": 2, "prob": 0.9}], [{"start": 1, "end": 4, "prob": 0.2}], []]
    rows: dict[str, Any] = {
        "references": [[], [[0, 1]], []],
        "predictions": [[], [[0, 1]], []],
        "text": ["abcd", "abcde", "ab"],
        "soft_references": soft,
        "soft_predictions": [soft[1], soft[0], soft[2]],
    }
    metrics = ["iou", "soft_correlation"]
    expected = bits(evaluate(**rows, metrics=metrics))
    stream = Accumulator(metrics=metrics)
    for i in (2, 0, 1):
        stream.update(**take(rows, [i]))
    assert bits(stream.compute()) == expected
    with pytest.raises(ValueError, match="text"):
        stream.update(**{name: value for name, value in rows.items() if name != "text"})


def test_the_report_of_a_stream_keeps_no_rows() -> None:
    stream = Accumulator()
    stream.update(**random_batch(5))
    with pytest.raises(ValueError):
        stream.compute().by(["a"] * 5)


def test_profiles() -> None:
    rows = random_batch(10)
    stream = Accumulator(profile="ragtruth")
    stream.update(**rows)
    assert stream.compute() == evaluate(**rows, profile="ragtruth")
    assert stream.compute()["meta"]["average"] == "micro"


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_states_add_up_on_any_machine(average: str, weights: str) -> None:
    rng = np.random.default_rng(3)
    rows = [[sorted(rng.choice(50, 2, replace=False).tolist()) for _ in range(rng.integers(0, 4))] for _ in range(400)]
    sides = rows[:200], rows[200:]
    weight = {"none": None, "whole": rng.integers(0, 5, 200), "real": rng.random(200)}[weights]
    options: Any = {"average": average, "cleval_granularity_penalty": 0.3}

    def scored(part: slice) -> mycelium.Accumulator:
        out = mycelium.Accumulator(**options)
        out.update(sides[0][part], sides[1][part], sample_weight=None if weight is None else weight[part])
        return out

    whole = scored(slice(None)).compute()
    states = [scored(slice(i, i + 7)).state() for i in range(0, 200, 7)]
    gathered = mycelium.Accumulator(**options)
    gathered.add_state(np.sum(rng.permutation(states), axis=0))
    assert gathered.compute() == whole
    assert gathered.compute().signature == whole.signature
    assert len(gathered.state_names) == len(states[0]) == len(set(gathered.state_names))


def test_a_state_of_other_settings_is_refused() -> None:
    one = mycelium.Accumulator(metrics=["iou"])
    with pytest.raises(ValueError, match=r"shape \(\d+,\) for these settings"):
        one.add_state(mycelium.Accumulator(metrics=["iou", "response"]).state())
    with pytest.raises(TypeError, match="int64 array, got float64"):
        one.add_state(one.state().astype(float))
