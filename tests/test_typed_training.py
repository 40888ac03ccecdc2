"""Typed spans in training: as a torchmetrics metric, and behind a token classifier's logits."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from typed_rows import TYPES, records, typed_rows

import mycelium
from mycelium.trainer import SpanMetrics
from mycelium.typed import evaluate_typed

REFERENCES, PREDICTIONS = typed_rows(90)
RULES: dict[str, Any] = {"overlap_credit": 0.25, "overlap_base": "prediction", "min_overlap": 0.4, "average": "macro"}


def floats(scores: dict[str, Any]) -> dict[str, float]:
    return {key: value.item() for key, value in scores.items()}


@pytest.fixture
def span_metric() -> Any:
    pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from mycelium.torch import SpanMetric

    return SpanMetric


# -- torchmetrics


@pytest.mark.parametrize("options", [{}, RULES])
def test_batches_of_a_metric(span_metric: Any, options: dict[str, Any]) -> None:
    parts = [span_metric(types=TYPES, **options) for _ in range(2)]
    for number, begin in enumerate(range(0, 90, 11)):
        rows = slice(begin, begin + 11)
        parts[number % 2].update(preds=PREDICTIONS[rows], target=records(REFERENCES[rows]))
    parts[0].merge_state(pickle.loads(pickle.dumps(parts[1])))
    expected = evaluate_typed(references=REFERENCES, predictions=PREDICTIONS, types=TYPES, **options).flat()
    assert floats(parts[0].compute()) == expected


def test_one_output_and_nothing_seen(span_metric: Any) -> None:
    metric = span_metric(types=["A", "B"], output="by_type.B_f1")
    metric.update(preds=[[[2, 8, "B"]]], target=[[[0, 10, "B"]]])
    assert metric.compute().item() == 0.5
    with pytest.raises(ValueError, match=r"no output 'by_type.C_f1'; there are strict_precision, .*by_type.B_f1"):
        span_metric(types=["A", "B"], output="by_type.C_f1")
    fresh = span_metric(types=["A"])
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        found = fresh.compute()
    assert list(found) == list(evaluate_typed(references=[[]], predictions=[[]], types=["A"]).flat())
    assert all(value.isnan() for value in found.values())


def test_metrics_by_key(span_metric: Any) -> None:
    keys = ["typed_partial", "partial(overlap_credit=1.0)", "valid_cases", "muc_strict"]
    metric = span_metric(metrics=keys)
    metric.update(preds=PREDICTIONS, target=REFERENCES)
    expected = mycelium.evaluate(references=REFERENCES, predictions=PREDICTIONS, metrics=keys).flat()
    assert floats(metric.compute()) == expected


def test_tensors_hold_no_types(span_metric: Any) -> None:
    import torch

    spans = [torch.tensor([[0, 4]])]
    for metric in (span_metric(types=["A"]), span_metric(metrics=["typed_partial"])):
        with pytest.raises(ValueError, match=r"target: 1 span without a type; the first is row 0, span 0 \[0, 4\]"):
            metric.update(preds=spans, target=spans)
    with pytest.raises(ValueError, match=r"target: 1 span with unknown types \('B'\)"):
        span_metric(types=["A"]).update(preds=[[]], target=[[[0, 4, "B"]]])


def test_collections_share_no_state_of_other_rules(span_metric: Any) -> None:
    import torchmetrics

    both = torchmetrics.MetricCollection(
        {"halves": span_metric(types=["A"]), "whole": span_metric(types=["A"], overlap_credit=1.0)}
    )
    for _ in range(2):
        both.update(preds=[[[2, 8, "A"]]], target=[[[0, 10, "A"]]])
    found = both.compute()
    assert (found["halves_partial_f1"].item(), found["whole_partial_f1"].item()) == (0.5, 1.0)


# -- a token classifier

TAGS = {1: "B-conflict", 2: "I-conflict", 3: "B-baseless", 4: "I-baseless"}
FEATURES: dict[str, Any] = {"offset_mapping": [[(i, i + 1) for i in range(12)]] * 3}
GOLD = [[[0, 4, "conflict"], [6, 9, "baseless"]], [], [[2, 5, "baseless"]]]
#: The tags of the characters: the first span is one too long, the second has the wrong type, and one is made up.
CHARACTERS = ["122220122000", "000000000034", "000000000000"]


def logits() -> Any:
    classes = np.array([[int(c) for c in row] for row in CHARACTERS])
    return np.eye(5, dtype=np.float32)[classes] * 6


def span_metrics(**options: Any) -> SpanMetrics:
    return SpanMetrics(features=FEATURES, examples=None, spans=GOLD, in_order=True, **options)


def test_logits_become_typed_scores() -> None:
    metrics = span_metrics(positive=TAGS, types=["conflict", "baseless"])
    scores = metrics((logits(), np.zeros((3, 12), dtype=np.int64)))
    found = [[[0, 5, "conflict"], [6, 9, "conflict"]], [[10, 12, "baseless"]], []]
    report = evaluate_typed(references=GOLD, predictions=found, types=["conflict", "baseless"])
    assert scores == report.flat()
    # By hand: one overlap of three predictions and three references; with types the same one, at half credit.
    assert scores["typed_partial_f1"] == pytest.approx(2 * 0.5 / 6)
    assert scores["partial_f1"] == pytest.approx(2 * 1.5 / 6)
    assert metrics.report == report


def test_registered_metrics_behind_logits() -> None:
    scores = span_metrics(positive=TAGS, metrics=["typed_partial"], average="micro")(
        (logits(), np.zeros((3, 12), dtype=np.int64))
    )
    assert scores["typed_partial_f1"] == pytest.approx(1 / 6)


@pytest.mark.parametrize("positive", [(1, 2), {1: "B", 2: "I"}, {1: "B-conflict", 2: "I"}])
@pytest.mark.parametrize("options", [{"types": ["conflict", "baseless"]}, {"metrics": ["iou", "typed_partial"]}])
def test_classes_without_types_are_refused_before_training(positive: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="reads types, which predictions have where positive gives each class a tag"):
        span_metrics(positive=positive, **options)


def test_types_of_tags_and_of_annotations_are_checked_before_training() -> None:
    with pytest.raises(ValueError, match="the type of 'B-baseless' is not among types, which are conflict"):
        span_metrics(positive=TAGS, types=["conflict"])
    with pytest.raises(ValueError, match=r"3 spans with unknown types|2 spans with unknown types \('baseless'\)"):
        span_metrics(positive={1: "B-conflict", 2: "I-conflict"}, types=["conflict"])
    lenient = span_metrics(positive=TAGS, types=["conflict"], unknown_types="ignore")
    assert lenient((logits(), np.zeros((3, 12), dtype=np.int64)))["by_type.conflict_recall"] == 0.5
