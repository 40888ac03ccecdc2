"""Faults that people reported in public against tools that do this job, each with the right value.

The tests are named after the numbers under which the project collects the reports, with the thread in the docstring.
The inputs are small; the values are worked out in comments.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from samples import ONE, ZERO, approx

import mycelium
from mycelium import as_spans, evaluate
from mycelium.metrics import REGISTRY, character, cleval_1d, deteval_1d, exact_span, iou, response, span_coverage


def prf(precision: float, recall: float, f1: float) -> Any:
    return approx({"precision": precision, "recall": recall, "f1": f1})


# -- 2: arrays of span sets that happen to be rectangular


def filled(rows: list[Any]) -> np.ndarray:
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


def series(rows: list[Any]) -> Any:
    return pytest.importorskip("pandas").Series(rows, index=range(10, 10 + len(rows)), dtype=object)


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        lambda rows: np.array(rows, dtype=object),
        np.array,
        filled,
        lambda rows: filled([np.array(row, dtype=np.int64).reshape(-1, 2) for row in rows]),
        series,
        as_spans,
    ],
    ids=["list", "tuple", "object array", "array", "filled", "filled with arrays", "series", "packed"],
)
@pytest.mark.parametrize(
    ("rows", "n"),
    [([[[0, 2]], [[3, 5]]], 2), ([[], []], 2), ([[[0, 2]]], 1), ([[[0, 2], [3, 5]], [[3, 5], [0, 2]]], 2)],
)
def test_2_rectangular_arrays(container: Any, rows: list[Any], n: int) -> None:
    """TeamHG-Memex/sklearn-crfsuite #46, #19: equal lengths turn nested lists into an N-D array of numbers."""
    for average in ("micro", "macro"):
        report = evaluate(references=container(rows), predictions=container(rows), average=average)
        assert report["meta"]["examples"] == n
        assert report["exact_span"] == ONE
        assert report["iou"] == {"score": 1.0}
    # The other side may come in another container.
    assert evaluate(references=container(rows), predictions=rows)["exact_span"] == ONE
    assert as_spans(container(rows)).tolist() == rows


def test_2_shapes_that_numpy_makes() -> None:
    for rows, shape in [([[[0, 2]], [[3, 5]]], (2, 1, 2)), ([[], []], (2, 0)), ([[[0, 2]]], (1, 1, 2))]:
        array = np.array(rows, dtype=object)
        assert array.shape == shape
        assert len(as_spans(array)) == len(rows)


# -- 5: a list of dicts comes back as a dict of lists


def test_5_dict_of_lists() -> None:
    """huggingface/datasets #888, #7569: iterating the dict of a row gives its keys, two of them in every row."""
    rows = [
        {"start": [0, 6], "end": [4, 9], "type": ["conflict", "baseless"]},
        {"start": [], "end": []},
        [{"start": 0, "end": 4}],
    ]
    batch = as_spans(rows)
    assert batch.tolist() == [[[0, 4], [6, 9]], [], [[0, 4]]]
    assert batch.label is not None
    assert batch.label.tolist() == ["conflict", "baseless", None]
    report = evaluate(references=rows, predictions=[[[0, 4], [6, 9]], [], [[0, 4]]])
    assert report["exact_span"] == ONE
    assert report["meta"]["examples"] == 3


def test_5_types_stay_in_step() -> None:
    batch = as_spans([{"start": [6, 0], "end": [9, 4], "type": ["baseless", "conflict"]}])
    assert batch.label is not None
    spans = zip(batch.start.tolist(), batch.end.tolist(), batch.label.tolist(), strict=True)
    assert sorted(spans) == [(0, 4, "conflict"), (6, 9, "baseless")]


@pytest.mark.parametrize(
    "row",
    [
        {"start": [0, 6], "end": [4]},
        {"start": [0], "end": [4, 9]},
        {"start": [], "end": [4]},
        {"start": [0], "end": [4], "type": []},
        {"start": [0], "end": [4], "type": ["a", "b"]},
    ],
)
def test_5_unequal_lengths_raise(row: dict[str, list[Any]]) -> None:
    with pytest.raises(ValueError):
        as_spans([row])
    with pytest.raises(ValueError):
        evaluate(references=[row], predictions=[[]])


# -- 8: clean responses kept clean must be worth something

CLEAN = [[], [], [[2, 4]]]
NOISY = [[[1, 4]], [[0, 1], [2, 4]], [[2, 4]]]


def test_8_clean_responses() -> None:
    """Lightning-AI/torchmetrics PR #2198, seqeval #98, scikit-learn #14876: both sides empty scored 0."""
    macro = evaluate(references=CLEAN, predictions=NOISY)
    # Two rows with false alarms only: precision 0, recall 1 (nothing was missed), F1 0; the third is perfect.
    assert macro["exact_span"] == prf(1 / 3, 1.0, 1 / 3)
    assert macro["iou"] == {"score": approx(1 / 3)}
    assert evaluate(references=CLEAN, predictions=CLEAN)["exact_span"] == ONE
    assert evaluate(references=CLEAN, predictions=CLEAN)["iou"] == {"score": 1.0}
    # Pooled: 1 of 4 predictions is right, 1 of 1 references found; 2 * 1 / (4 + 1) = 0.4.
    micro = evaluate(references=CLEAN, predictions=NOISY, average="micro")
    assert micro["exact_span"] == prf(1 / 4, 1.0, 0.4)
    assert evaluate(references=CLEAN, predictions=CLEAN, average="micro")["exact_span"] == ONE


def test_8_the_rule_of_each_metric() -> None:
    report = evaluate(references=[], predictions=[])
    for key in ("exact_span", "deteval_1d", "cleval_1d", "span_coverage"):
        assert report[key] == ONE
    assert report["iou"] == {"score": 1.0}
    assert report["character"] == ZERO
    # Visible: the signature says which rule, and changes with it.
    assert "undef:default" in report.signature
    other = evaluate(references=[], predictions=[], undefined=1.0)
    assert other["character"] == ONE
    assert "undef:default" not in other.signature


# -- 9, 28: one prediction over two references


def test_9_one_prediction_over_two_references() -> None:
    """presidio-research PR #185, #191, nervaluate PR #85: the prediction was counted once for each reference."""
    gold, pred = [[0, 4], [5, 9]], [[0, 9]]
    assert exact_span.statistics([gold], [pred]).tolist() == [[0, 1, 2]]
    report = evaluate(references=gold, predictions=pred)
    assert report["exact_span"] == ZERO
    # 8 of 9 predicted characters are right, 8 of 8 found: 2 * 8 / (9 + 8).
    assert character.statistics([gold], [pred]).tolist() == [[8, 9, 8]]
    assert report["character"] == prf(8 / 9, 1.0, 16 / 17)
    assert report["iou"] == {"score": approx(8 / 9)}
    # DetEval: a merge, sigma 1 and 1, tau 4/9 + 4/9 = 0.889 >= 0.4: everybody gets the credit of 0.8.
    assert deteval_1d.statistics([gold], [pred]).tolist() == [[0, 1, 1, 0, 2, 2]]
    assert report["deteval_1d"] == prf(0.8, 0.8, 0.8)
    # CLEval: 8 characters, one surplus edge at the prediction: 7 / 9 and 8 / 8; F1 = 2 * 7 * 8 / (7 * 8 + 9 * 8).
    assert report["cleval_1d"] == prf(7 / 9, 1.0, 7 / 8)
    # The prediction lies in no reference.
    assert span_coverage.statistics([gold], [pred]).tolist() == [[0, 1, 0, 2]]


def test_28_a_prediction_that_touches_two_references() -> None:
    """davidsbatista/NER-Evaluation #17: the second reference was neither matched nor missed."""
    gold, pred = [[2, 5], [5, 8]], [[3, 7]]
    report = evaluate(references=gold, predictions=pred)
    assert report["character"] == prf(1.0, 4 / 6, 0.8)
    assert report["iou"] == {"score": approx(4 / 6)}
    assert exact_span.statistics([gold], [pred]).tolist() == [[0, 1, 2]]
    # sigma 2/3 and 2/3, both below 0.8: no merge.
    assert deteval_1d.statistics([gold], [pred]).tolist() == [[0, 0, 1, 0, 0, 2]]
    # 4 characters, two edges at the prediction: 3 / 4 and 4 / 6.
    assert report["cleval_1d"] == prf(3 / 4, 4 / 6, 2 * 3 * 4 / (3 * 6 + 4 * 4))


# -- 13: one to one needs both sides


def test_13_merge_and_split() -> None:
    """Total-Text-Dataset PR #21, #14: a merge passed as one to one, since only the reference's side was looked at."""
    two, one = [[0, 10], [10, 20]], [[0, 20]]
    # Merge: sigma 1 and 1, tau 0.5 and 0.5. Both references get the credit, the prediction once.
    assert deteval_1d.statistics([two], [one]).tolist() == [[0, 1, 1, 0, 2, 2]]
    assert deteval_1d(two, one)._asdict() == prf(0.8, 0.8, 0.8)
    # Split: sigma 0.5 + 0.5 >= 0.8, tau 1 and 1. Both predictions get the credit, the reference once.
    assert deteval_1d.statistics([one], [two]).tolist() == [[0, 2, 2, 0, 1, 1]]
    assert deteval_1d(one, two)._asdict() == prf(0.8, 0.8, 0.8)
    # With another credit one sees that it is the credit: F1 = 0.5 as well.
    assert deteval_1d.at(granularity_penalty=0.5)(two, one)._asdict() == prf(0.5, 0.5, 0.5)
    # Here exchanging the two sides exchanges precision and recall; CLEval's penalty shows it, 19/20 and 20/20.
    assert cleval_1d(two, one)._asdict() == prf(19 / 20, 1.0, 2 * 19 / 39)
    assert cleval_1d(one, two)._asdict() == prf(1.0, 19 / 20, 2 * 19 / 39)


# -- 25: overlapping spans inside one set


def test_25_overlapping_references() -> None:
    """MedDec PR #3, RasaHQ/rasa #1562: evaluators crashed, kept the first, or added lengths."""
    gold, pred = [[0, 10], [5, 15]], [[0, 15]]
    report = evaluate(references=gold, predictions=pred)
    assert report["character"] == ONE
    assert report["iou"] == {"score": 1.0}
    assert exact_span.statistics([gold], [pred]).tolist() == [[0, 1, 2]]
    assert report["exact_span"] == ZERO
    # DetEval: a merge, sigma 1 and 1, tau 10/15 + 10/15.
    assert report["deteval_1d"] == prf(0.8, 0.8, 0.8)
    # CLEval adds lengths in the totals: (15 - 1) / 15 and 15 / 20; F1 = 2 * 14 * 15 / (14 * 20 + 15 * 15).
    assert report["cleval_1d"] == prf(14 / 15, 15 / 20, 420 / 505)


# -- 26: a reference cut in two


def test_26_a_reference_cut_in_two() -> None:
    """After nervaluate #29, eval4ner #2: two predictions over one reference raised the number of references."""
    gold, pred = [[1, 2], [3, 10]], [[1, 2], [3, 5], [6, 10]]
    assert exact_span.statistics([gold], [pred]).tolist() == [[1, 3, 2]]
    assert evaluate(references=gold, predictions=pred)["exact_span"] == prf(1 / 3, 1 / 2, 0.4)
    # The total of recall is the number of references in every metric that counts spans.
    assert span_coverage.statistics([gold], [pred])[0, -1] == 2
    assert deteval_1d.statistics([gold], [pred])[0, -1] == 2


# -- 29: disjoint spans, hulls, zero length


def test_29_disjoint_spans() -> None:
    """labelbox-python PR #486: a negative overlap, the union as a hull, and 1 for a zero-length span."""
    assert iou([[0, 2]], [[6, 9]]).score == 0.0
    # 4 of 10 characters; the hull of the references would give 1.
    assert iou([[0, 2], [8, 10]], [[0, 10]]).score == approx(0.4)


@pytest.mark.parametrize("pred", [[[5, 5]], []])
def test_29_zero_length(pred: list[list[int]]) -> None:
    with pytest.raises(ValueError, match=r"references.*row 0, span 0 \[5, 5\]: empty"):
        evaluate(references=[[5, 5]], predictions=pred)
    for invalid in ("drop", "clip"):
        report = evaluate(references=[[5, 5]], predictions=pred, invalid=invalid)
        # Nothing is left on either side: not a true positive, but an empty example.
        assert report["iou"] == {"score": 1.0}
        assert report["character"] == ZERO
        assert report.invalid.dropped == 1 + len(pred)
        counted = exact_span.statistics([as_spans([[[5, 5]]], invalid=invalid)[0]], [[]])
        assert counted.tolist() == [[0, 0, 0]]


# -- 31: start = 0 is falsy


@pytest.mark.parametrize(
    "row",
    [
        [[0, 10]],
        [(0, 10)],
        [{"start": 0, "end": 10}],
        [{"start": np.int64(0), "end": np.int32(10)}],
        [[np.int64(0), np.int64(10)]],
        {"start": [0], "end": [10]},
        np.array([[0, 10]]),
        np.array([[0, 10]], dtype=np.uint8),
        [[0, 10, "conflict"]],
        [{"start": 0, "end": 10, "label": "conflict", "prob": 0.0}],
    ],
)
def test_31_spans_that_begin_at_zero(row: Any) -> None:
    """After nervaluate PR #32: ``if start`` skipped a span at 0, in particular one over the whole text."""
    report = evaluate(references=[row], predictions=[row], text=["0123456789"])
    for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
        assert report[key] == ONE
    assert report["iou"] == {"score": 1.0}
    assert exact_span.statistics([row], [row]).tolist() == [[1, 1, 1]]
    # The same as one set rather than a batch.
    assert evaluate(references=row, predictions=[[0, 10]], text="0123456789")["exact_span"] == ONE
    assert exact_span.statistics([row], [[]]).tolist() == [[0, 0, 1]]


def test_31_a_score_of_zero_is_a_score() -> None:
    batch = as_spans([[{"start": 0, "end": 3, "prob": 0.0}, {"start": 0, "end": 0 + 1, "prob": 0.25}]])
    assert batch.score is not None
    assert batch.score.tolist() == [0.0, 0.25]


# -- 34: labels in another order than in the text


def test_34_every_span_keeps_its_type() -> None:
    """EuroEval PR #1973: spans in the order of the text met a list of labels in another order."""
    batch = as_spans([[[20, 25, "baseless"], [0, 5, "conflict"]]])
    assert batch.label is not None
    assert sorted(zip(batch.start.tolist(), batch.end.tolist(), batch.label.tolist(), strict=True)) == [
        (0, 5, "conflict"),
        (20, 25, "baseless"),
    ]
    mixed = as_spans(
        [
            [{"start": 20, "end": 25, "label_type": "baseless"}, {"start": 0, "end": 5, "label": "conflict"}],
            [],
            [{"start": 1, "end": 2}, {"end": 9, "type": "subtle", "start": 3}],
        ]
    )
    assert mixed.label is not None
    assert mixed.label.tolist() == ["baseless", "conflict", None, "subtle"]
    swapped = mixed[[2, 0]]
    assert swapped.label is not None
    assert swapped.label.tolist() == [None, "subtle", "baseless", "conflict"]
    # Order does not matter to a score.
    report = evaluate(
        references=[[[20, 25, "baseless"], [0, 5, "conflict"]]],
        predictions=[[[0, 5, "conflict"], [20, 25, "baseless"]]],
    )
    assert report["exact_span"] == ONE


# -- 38: correlation of constant vectors


def soft(*spans: tuple[int, int, float]) -> list[dict[str, Any]]:
    return [{"start": s, "end": e, "prob": p} for s, e, p in spans]


MIXED = soft((0, 2, 0.9), (4, 6, 0.2))


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ([], [], 1.0),
        (MIXED, [], 0.0),
        ([], MIXED, 0.0),
        # A constant vector is constant whatever its value.
        ([], soft((0, 10, 0.7)), 1.0),
        (soft((0, 10, 0.7)), soft((0, 10, 0.2)), 1.0),
        (MIXED, soft((0, 10, 0.7)), 0.0),
        # Equal after rounding to eight decimals.
        ([], soft((0, 5, 0.7), (5, 10, 0.7 + 1e-10)), 1.0),
        (MIXED, soft((0, 5, 0.7), (5, 10, 0.7 + 1e-10)), 0.0),
        ([], soft((0, 3, 1e-9)), 1.0),
        ([], soft((0, 3, 0.123456781), (3, 10, 0.123456784)), 1.0),
        # Different in the eighth decimal.
        ([], soft((0, 5, 0.7), (5, 10, 0.7 + 2e-8)), 0.0),
        ([], soft((0, 3, 0.123456784), (3, 10, 0.123456786)), 0.0),
        (MIXED, MIXED, 1.0),
    ],
)
def test_38_constant_vectors(gold: list[Any], pred: list[Any], expected: float) -> None:
    """After scipy #11111, #22816, #6530: the rank correlation of a constant vector is NaN, and spoils the mean."""
    report = evaluate(
        references=[[]],
        predictions=[[]],
        text=["0123456789"],
        soft_references=[gold],
        soft_predictions=[pred],
        metrics=["soft_correlation"],
    )
    assert report["soft_correlation"] == {"score": approx(expected)}


def test_38_the_span_listed_last_wins() -> None:
    def score(pred: list[Any]) -> float:
        return evaluate(
            references=[[]],
            predictions=[[]],
            text=["0123"],
            soft_references=[soft((0, 2, 1.0))],
            soft_predictions=[pred],
            metrics=["soft_correlation"],
        )["soft_correlation"]["score"]

    # Vector .3 .3 .9 .9 against 1 1 0 0: exactly opposed. In the other order .3 everywhere: constant.
    assert score(soft((0, 4, 0.3), (2, 4, 0.9))) == approx(-1.0)
    assert score(soft((2, 4, 0.9), (0, 4, 0.3))) == 0.0


def test_38_one_row_does_not_spoil_the_mean() -> None:
    report = evaluate(
        references=[[], [], []],
        predictions=[[], [], []],
        text=["0123456789"] * 3,
        soft_references=[[], MIXED, MIXED],
        soft_predictions=[[], [], MIXED],
        metrics=["soft_correlation"],
        include_per_example=True,
    )
    assert report["soft_correlation"]["per_example"] == [1.0, 0.0, approx(1.0)]
    assert report["soft_correlation"]["score"] == approx(2 / 3)


# -- 43: F1 from counts


def test_43_references_and_no_predictions() -> None:
    """scikit-learn #27189, #31052, #10812: an undefined precision made F1 undefined."""
    for undefined in (0.0, 1.0):
        for average in ("micro", "macro"):
            report = evaluate(references=[[[0, 4], [6, 9]]], predictions=[[]], undefined=undefined, average=average)
            for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
                assert report[key] == {"precision": undefined, "recall": 0.0, "f1": 0.0}
            report = evaluate(references=[[]], predictions=[[]], undefined=undefined, average=average)
            for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
                assert report[key] == {"precision": undefined, "recall": undefined, "f1": undefined}
            assert report["iou"] == {"score": undefined}


def test_43_nan_as_the_value_of_nothing() -> None:
    """Only the division is asked here: reports have no NaN, other entrances may want it."""
    nan = float("nan")
    for metric in (exact_span, character, cleval_1d, span_coverage, deteval_1d, response):
        totals = metric.statistics([[[0, 4], [6, 9]], []], [[], []])
        precision, recall, f1 = metric.value(totals, nan)[0]
        assert np.isnan(precision)
        assert (recall, f1) == (0.0, 0.0)
        assert np.isnan(metric.value(totals, nan)[1]).all()


def test_43_f1_is_not_rounded_twice() -> None:
    # 2 * 6 / (6 + 10) is 0.75; from the ratios 1 and 0.6 it would be 0.7499999999999999.
    assert 2 * 1.0 * 0.6 / (1.0 + 0.6) != 0.75
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]])
    assert report["character"]["f1"] == 0.75
    assert report["cleval_1d"]["f1"] == 0.75


# -- 45: rows without references


def test_45_rows_without_references_count() -> None:
    """After spaCy PR #6137, verbatim-rag #29: false alarms in clean documents were free."""
    refs, preds = [[], [[0, 4]]], [[[0, 3]], [[0, 4]]]
    report = evaluate(references=refs, predictions=preds, average="micro")
    assert report["exact_span"] == prf(0.5, 1.0, 2 / 3)
    # 4 of 7 predicted characters, 4 of 4: 2 * 4 / (7 + 4).
    assert report["character"] == prf(4 / 7, 1.0, 8 / 11)
    assert report["meta"]["examples"] == 2


def test_45_not_annotated_is_not_clean() -> None:
    for side in ("references", "predictions"):
        other = {"references", "predictions"} - {side}
        rows: dict[str, Any] = {side: [None, [[0, 4]]], other.pop(): [[], [[0, 4]]]}
        with pytest.raises((TypeError, ValueError), match=rf"{side}.*row 0"):
            evaluate(**rows)
        report = evaluate(**rows, missing_rows="empty")
        assert report["exact_span"] == ONE
        assert report.invalid.missing == 1


# -- 48: unequal lengths


@pytest.mark.parametrize(
    ("references", "predictions", "text", "numbers"),
    [
        (2, 3, None, ("2", "3")),
        (3, 2, None, ("2", "3")),
        (2, 2, 5, ("2", "5")),
        (2, 2, 1, ("2", "1")),
    ],
)
def test_48_unequal_lengths(references: int, predictions: int, text: int | None, numbers: tuple[str, str]) -> None:
    """EuroEval PR #1620: zip cut the surplus rows off."""
    rows: dict[str, Any] = {"references": [[[0, 4]]] * references, "predictions": [[[0, 4]]] * predictions}
    if text is not None:
        rows["text"] = ["0123456789"] * text
    accumulator = mycelium.Accumulator()
    for entrance in (evaluate, accumulator.update, exact_span.statistics):
        with pytest.raises(ValueError) as caught:
            entrance(**rows)
        for number in numbers:
            assert number in str(caught.value)


# -- 54: weights


@pytest.mark.parametrize(("weights", "expected"), [([1, 0], 1.0), ([0, 1], 0.0), (None, 0.5), ([3, 1], 0.75)])
def test_54_weights_are_used(weights: list[float] | None, expected: float) -> None:
    """scikit-learn #30817, #31288: the weights were dropped on the way."""
    report = evaluate(references=[[[0, 4]], [[0, 4]]], predictions=[[[0, 4]], [[6, 9]]], sample_weight=weights)
    for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
        assert report[key] == {"precision": expected, "recall": expected, "f1": expected}
    assert report["iou"] == {"score": expected}


# -- 58: JSON


def test_58_reports_can_be_saved() -> None:
    """After transformers PR #10632, #39616, sentence-transformers #3250: numpy numbers and NaN in metrics."""
    inputs: list[dict[str, Any]] = [
        {"references": [[[0, 4]], []], "predictions": [[[0, 3]], [[5, 6]]]},
        {"references": [[], []], "predictions": [[], []]},
        {"references": [], "predictions": []},
        {"references": [[[0, 4]]], "predictions": [[[0, 4]]]},
        {"references": np.array([[0, 4]]), "predictions": np.array([[0, 4]]), "sample_weight": np.array([2.0])},
    ]
    for rows in inputs:
        for average in ("micro", "macro"):
            report = evaluate(**rows, average=average, include_per_example=True, metrics=None)
            assert json.loads(json.dumps(report, allow_nan=False)) == report


# -- 74: one metric twice


def test_74_two_settings_have_two_keys() -> None:
    """After unitxt #737, lighteval PR #1017: two settings overwrote one another."""
    report = evaluate(
        references=[[5, 10]],
        predictions=[[4, 10]],
        metrics=[span_coverage, span_coverage.at(delta=1), span_coverage.at(delta=2), "iou"],
    )
    assert list(report) == ["span_coverage", "span_coverage(delta=1)", "span_coverage(delta=2)", "iou", "meta"]
    assert report["span_coverage"] == ZERO
    assert report["span_coverage(delta=1)"] == ONE
    assert "|span_coverage|span_coverage(delta=1)|span_coverage(delta=2)|iou" in report.signature
    with pytest.raises(ValueError, match=r"span_coverage\(delta=1\)"):
        evaluate(
            references=[[5, 10]],
            predictions=[[4, 10]],
            metrics=[span_coverage.at(delta=1), "span_coverage(delta=1)"],
        )


# -- 77: places, not words


def test_77_the_same_word_elsewhere() -> None:
    """presidio-research PR #182: the same word at another place was a hit."""
    report = evaluate(references=[[0, 3]], predictions=[[8, 11]], text="Ana saw Ana")
    for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
        assert report[key] == ZERO
    assert report["iou"] == {"score": 0.0}
    assert exact_span.statistics([[[0, 3]]], [[[8, 11]]]).tolist() == [[0, 1, 1]]


def test_every_metric_is_there() -> None:
    assert {"exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage"} <= set(REGISTRY)
