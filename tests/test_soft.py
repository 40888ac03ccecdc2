"""The correlation of soft labels through evaluate()."""

from __future__ import annotations

from typing import Any

import oracle
import pytest
from samples import BATCH, PREDICTIONS, REFERENCES, approx

from mycelium import SpanBatch, as_spans, evaluate
from mycelium.metrics import soft_correlation

SOFT: dict[str, Any] = {
    "references": [[], []],
    "predictions": [[], []],
    "soft_references": [[{"start": 0, "end": 2, "prob": 0.9}], []],
    "soft_predictions": [[{"start": 0, "end": 1, "prob": 0.3}], []],
}
TEXT = ["abcd", "ab"]


def test_soft_correlation() -> None:
    # .9 .9 0 0 against .3 0 0 0: 1/sqrt(3) (see the oracle's tests); the second row is constant on both sides.
    for average in ("macro", "micro"):
        report = evaluate(**SOFT, text=TEXT, metrics=["soft_correlation"], average=average, include_per_example=True)
        assert report["soft_correlation"]["score"] == approx((3**-0.5 + 1) / 2)
        assert report["soft_correlation"]["per_example"] == approx([3**-0.5, 1.0])
    report = evaluate(**SOFT, text=TEXT, metrics=["iou", soft_correlation])
    assert list(report) == ["iou", "soft_correlation", "meta"]


def test_soft_correlation_of_one_set() -> None:
    report = evaluate(
        references=[],
        predictions=[[0, 1]],
        soft_references=SOFT["soft_references"][0],
        soft_predictions=SOFT["soft_predictions"][0],
        text="abcd",
        metrics=["iou", "soft_correlation"],
    )
    assert report["soft_correlation"] == {"score": approx(3**-0.5)}
    assert report["iou"] == {"score": 0.0}
    assert report["meta"]["examples"] == 1


def test_soft_correlation_needs_text_and_both_sides() -> None:
    with pytest.raises(ValueError, match="text"):
        evaluate(**SOFT, metrics=["soft_correlation"])
    for side in ("soft_references", "soft_predictions"):
        lacking = {name: value for name, value in SOFT.items() if name != side}
        with pytest.raises(ValueError, match=side):
            evaluate(**lacking, text=TEXT, metrics=["soft_correlation"])
    with pytest.raises(ValueError, match="text"):
        evaluate(references=[], predictions=[], text=None, metrics=["soft_correlation"])
    # Soft labels that no metric reads are a mistake.
    with pytest.raises(ValueError, match="soft_"):
        evaluate(**SOFT, text=TEXT)


def test_wrong_soft_labels() -> None:
    wrong: list[tuple[str, Any, str]] = [
        ("soft_predictions", [[{"start": 0, "end": 1}], []], r"soft_predictions.*row 0"),
        ("soft_references", [[], [[0, 1]]], r"soft_references.*row 1"),
        ("soft_predictions", [[{"start": 0, "end": 9, "prob": 0.5}], []], r"soft_predictions.*row 0"),
        ("soft_predictions", [[{"start": 0, "end": 1, "prob": float("nan")}], []], r"soft_predictions.*row 0"),
        ("soft_predictions", [[{"start": 0, "end": 1, "prob": "high"}], []], r"soft_predictions.*row 0"),
        ("soft_predictions", [[]], r"soft_predictions.*1"),
    ]
    for side, value, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            evaluate(**{**SOFT, side: value}, text=TEXT, metrics=["soft_correlation"])


def test_the_order_of_soft_spans_matters_and_that_of_rows_does_not() -> None:
    spans = [{"start": 0, "end": 3, "prob": 0.2}, {"start": 2, "end": 4, "prob": 0.9}]
    expected = [
        oracle.soft_correlation([(0, 2, 0.9)], [(0, 3, 0.2), (2, 4, 0.9)], 4),
        oracle.soft_correlation([(0, 2, 0.9)], [(2, 4, 0.9), (0, 3, 0.2)], 4),
    ]
    assert expected[0] != approx(expected[1])
    report = evaluate(
        references=[[], []],
        predictions=[[], []],
        soft_references=[SOFT["soft_references"][0]] * 2,
        soft_predictions=[spans, spans[::-1]],
        text=["abcd"] * 2,
        metrics=["soft_correlation"],
        include_per_example=True,
    )
    assert report["soft_correlation"]["per_example"] == approx(expected)


def test_packed_batches_are_scored_as_they_are() -> None:
    batch = as_spans(REFERENCES)
    assert isinstance(batch, SpanBatch)
    assert evaluate(references=batch, predictions=PREDICTIONS) == evaluate(**BATCH)
    assert evaluate(references=batch[1:3], predictions=PREDICTIONS[1:3]) == evaluate(
        references=REFERENCES[1:3], predictions=PREDICTIONS[1:3]
    )
