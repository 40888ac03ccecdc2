"""What evaluate() takes: one set or a batch, texts, invalid spans, missing rows, units, weights."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import oracle
import pytest
from samples import BATCH, KEYS, ONE, PREDICTIONS, REFERENCES, approx, scores

from mycelium import InvalidCounts, SpanBatch, as_spans, evaluate
from mycelium.metrics import exact_span, iou

# -- one set or a batch

SET = [[0, 10]]
AS_SET: dict[str, Any] = {
    "pairs": [[0, 10]],
    "tuples in a list": [(0, 10)],
    "a tuple of tuples": ((0, 10),),
    "numpy integers": [[np.int64(0), np.int32(10)]],
    "dicts": [{"start": 0, "end": 10}],
    "dicts with types": [{"start": 0, "end": 10, "label": "conflict", "prob": 0.5}],
    "with a type": [[0, 10, "conflict"]],
    "dict of lists": {"start": [0], "end": [10]},
    "array": np.array([[0, 10]]),
    "array of int32": np.array([[0, 10]], dtype=np.int32),
    "a list of small arrays": [np.array([0, 10])],
}
AS_BATCH: dict[str, Any] = {
    "lists": [[[0, 10]]],
    "tuples": (((0, 10),),),
    "list of dicts": [[{"start": 0, "end": 10}]],
    "dicts of lists": [{"start": [0], "end": [10]}],
    "array (1, 1, 2)": np.array([[[0, 10]]]),
    "object array (1, 1, 2)": np.array([[[0, 10]]], dtype=object),
    "list of arrays": [np.array([[0, 10]])],
    "packed": as_spans([[[0, 10]]]),
}


@pytest.mark.parametrize("name", AS_SET)
def test_one_set(name: str) -> None:
    for other in ([[0, 10]], AS_SET[name]):
        report = evaluate(references=AS_SET[name], predictions=other, text="0123456789")
        assert report["meta"]["examples"] == 1
        assert report["exact_span"] == ONE
    assert evaluate(references=AS_SET[name], predictions=[])["exact_span"] == {
        "precision": 1.0,
        "recall": 0.0,
        "f1": 0.0,
    }
    # A batch's texts, or the other side as a batch, do not go with it.
    with pytest.raises(ValueError):
        evaluate(references=AS_SET[name], predictions=[[0, 10]], text=["0123456789"])
    for batch in AS_BATCH.values():
        with pytest.raises(ValueError):
            evaluate(references=AS_SET[name], predictions=batch)
        with pytest.raises(ValueError):
            evaluate(references=batch, predictions=AS_SET[name])


@pytest.mark.parametrize("name", AS_BATCH)
def test_a_batch(name: str) -> None:
    for other in ([[[0, 10]]], AS_BATCH[name]):
        report = evaluate(references=AS_BATCH[name], predictions=other, text=["0123456789"])
        assert report["meta"]["examples"] == 1
        assert report["exact_span"] == ONE
    with pytest.raises(ValueError):
        evaluate(references=AS_BATCH[name], predictions=[[[0, 10]]], text="0123456789")


def test_a_bare_empty_list_takes_the_kind_of_the_other_side() -> None:
    for empty in ([], ()):
        report = evaluate(references=empty, predictions=[[2, 4], [5, 6]])
        assert report["meta"]["examples"] == 1
        assert report["exact_span"] == {"precision": 0.0, "recall": 1.0, "f1": 0.0}
        assert evaluate(references=[[2, 4]], predictions=empty)["exact_span"]["recall"] == 0.0
        # As a batch it has no rows, the other side has one.
        with pytest.raises(ValueError, match=r"0.*1|1.*0"):
            evaluate(references=empty, predictions=[[[2, 4]]])
        with pytest.raises(ValueError, match=r"0.*1|1.*0"):
            evaluate(references=[[]], predictions=empty)


def test_two_bare_empty_lists_are_one_set_each() -> None:
    for text in (None, "", "abc"):
        report = evaluate(references=[], predictions=[], text=text)
        assert report["meta"]["examples"] == 1
        assert report["exact_span"] == ONE
        assert report["iou"] == {"score": 1.0}


@pytest.mark.parametrize(
    ("references", "predictions", "text"),
    [
        ([], [], []),
        (np.zeros((0, 0), dtype=int), np.zeros((0, 0), dtype=int), None),
        (np.zeros((0, 3, 2), dtype=int), np.zeros((0, 3, 2), dtype=int), None),
        (np.zeros((0, 3, 2), dtype=int), [], None),
        (as_spans([]), [], None),
        (as_spans([]), as_spans([]), None),
        (as_spans([]), as_spans([]), []),
    ],
)
def test_no_examples(references: Any, predictions: Any, text: Any) -> None:
    with pytest.raises(ValueError, match="examples"):
        evaluate(references=references, predictions=predictions, text=text)


def test_arrays_of_empty_rows() -> None:
    for n in (1, 2, 5):
        for dtype in (object, np.int64, np.float64):
            empty = np.zeros((n, 0), dtype=dtype)
            report = evaluate(references=empty, predictions=[[]] * n)
            assert report["meta"]["examples"] == n
            assert report["exact_span"] == ONE
        report = evaluate(references=np.zeros((n, 0, 2), dtype=np.int64), predictions=[[]] * n)
        assert report["meta"]["examples"] == n


def test_integer_arrays_of_pairs() -> None:
    # (k, 2) is one set of k spans, also for k = 2 and k = 0; (n, k, 2) is n rows of k spans.
    pairs = np.array([[0, 4], [6, 9]])
    for dtype in (np.int64, np.int32, np.uint8, np.uint64):
        report = evaluate(references=pairs.astype(dtype), predictions=[[0, 4], [6, 9]])
        assert report["meta"]["examples"] == 1
        assert report["exact_span"] == ONE
    report = evaluate(references=np.zeros((0, 2), dtype=np.int64), predictions=[])
    assert report["meta"]["examples"] == 1
    cube = np.stack([pairs, pairs + 1])
    report = evaluate(references=cube, predictions=[[[0, 4], [6, 9]], [[7, 10], [1, 5]]])
    assert report["meta"]["examples"] == 2
    assert report["exact_span"] == ONE


def test_object_arrays_of_two_columns_are_batches() -> None:
    """Only an integer array of shape (k, 2) is a set: two rows of two span dicts each have that shape too."""
    rows = [[{"start": 0, "end": 4}, {"start": 6, "end": 9}], [{"start": 1, "end": 2}, {"start": 3, "end": 4}]]
    array = np.array(rows, dtype=object)
    assert array.shape == (2, 2)
    report = evaluate(references=array, predictions=rows)
    assert report["meta"]["examples"] == 2
    assert report["exact_span"] == ONE


def test_batches_whose_first_row_looks_special() -> None:
    for rows in (
        [[], [[0, 4]]],
        [[[0, 4], [6, 9]], []],
        [[(0, 4), (6, 9)], []],
        [[{"start": 0, "end": 4}, {"start": 6, "end": 9}], []],
        [{"start": [], "end": []}, {"start": [0], "end": [4]}],
        [{"start": np.array([0]), "end": np.array([4])}, []],
        [np.zeros((0, 2), dtype=int), np.array([[0, 4]])],
        [np.array([[0, 4], [6, 9]]), np.array([[0, 4]])],
        [[[0, 4], [6, 9], [10, 12]], [[0, 1]]],
    ):
        report = evaluate(references=rows, predictions=rows)
        assert report["meta"]["examples"] == 2
        assert report["exact_span"] == ONE


def test_series_and_other_columns_are_batches() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series([[[0, 4]], []], index=[7, 3])
    report = evaluate(references=series, predictions=[[[0, 4]], []], text=pd.Series(["0123", ""]))
    assert report["meta"]["examples"] == 2
    assert report["exact_span"] == ONE
    with pytest.raises(ValueError):
        evaluate(references=series, predictions=[[0, 4]])


def test_mixed_sets_and_rows_are_refused() -> None:
    with pytest.raises((ValueError, TypeError)):
        evaluate(references=[[0, 4], [[0, 4]]], predictions=[[0, 4]])
    with pytest.raises((ValueError, TypeError)):
        evaluate(references=[[[0, 4]], [0, 4]], predictions=[[[0, 4]], [[0, 4]]])


@pytest.mark.parametrize("wrong", [None, 3, "spans", {1: 2}, {"start": [0]}, [[0]], [[[0]]], [[0, 1, 2, 3]], object()])
def test_nonsense_is_refused(wrong: Any) -> None:
    for arguments in ({"references": wrong, "predictions": SET}, {"references": SET, "predictions": wrong}):
        with pytest.raises((ValueError, TypeError)):
            evaluate(**arguments)


def test_text_of_one_set_is_a_string() -> None:
    assert evaluate(references=[[0, 3]], predictions=[[0, 3]], text="abc")["iou"] == {"score": 1.0}
    with pytest.raises(ValueError, match=r"predictions.*\[0, 4\].*3"):
        evaluate(references=[[0, 3]], predictions=[[0, 4]], text="abc")
    # One astral character is one character.
    with pytest.raises(ValueError):
        evaluate(references=[[0, 2]], predictions=[[0, 1]], text="🙂")
    for wrong in (5, b"abc", ["abc", "abc"], None, [None], [3]):
        if wrong is not None:
            with pytest.raises((ValueError, TypeError)):
                evaluate(references=[[0, 3]], predictions=[[0, 3]], text=wrong)
    for wrong in ([None, "abc"], [3, "abc"], "abc", [b"abc", b"abc"]):
        with pytest.raises((ValueError, TypeError)):
            evaluate(references=[[[0, 3]], []], predictions=[[[0, 3]], []], text=wrong)


@pytest.mark.parametrize("packed_sides", [("references",), ("predictions",), ("references", "predictions")])
def test_packed_batches_are_not_converted_again(packed_sides: tuple[str, ...]) -> None:
    """A SpanBatch is half-open and counts code points: other units are of raw input beside it, or are refused."""
    raw: dict[str, Any] = {"references": [[[3, 5]], [[0, 1]]], "predictions": [[[3, 5]], [[0, 1]]]}
    options: dict[str, Any] = {"text": ["🙂 bad", "ok"], "offsets": "utf16", "end": "inclusive"}
    packed = as_spans(raw["references"], **options)
    assert packed.tolist() == [[[2, 5]], [[0, 2]]]
    refusal = ""
    try:
        report = evaluate(**{**raw, **dict.fromkeys(packed_sides, packed)}, **options, metrics=["exact_span", "iou"])
    except (TypeError, ValueError) as error:
        refusal = str(error)
    if refusal:
        assert "SpanBatch" in refusal
        assert packed_sides[0] in refusal
    else:
        assert scores(report) == [ONE, {"score": 1.0}]


def test_packed_batches_are_scored_as_they_are() -> None:
    batch = as_spans(REFERENCES)
    assert isinstance(batch, SpanBatch)
    assert evaluate(references=batch, predictions=PREDICTIONS) == evaluate(**BATCH)
    assert evaluate(references=batch[1:3], predictions=PREDICTIONS[1:3]) == evaluate(
        references=REFERENCES[1:3], predictions=PREDICTIONS[1:3]
    )


# -- lengths


@pytest.mark.parametrize(
    ("n", "message"),
    [
        ((2, 3, None), r"references.*2.*predictions.*3"),
        ((3, 2, None), r"references.*3.*predictions.*2"),
        ((2, 2, 3), r"2.*3|3.*2"),
        ((2, 2, 0), r"2.*0|0.*2"),
    ],
)
def test_lengths_that_differ(n: tuple[int, int, int | None], message: str) -> None:
    text = None if n[2] is None else ["abcdef"] * n[2]
    with pytest.raises(ValueError, match=message):
        evaluate(references=[[[0, 4]]] * n[0], predictions=[[[0, 4]]] * n[1], text=text)


# -- invalid spans and missing rows


def test_invalid_spans_raise_by_default() -> None:
    with pytest.raises(ValueError, match=r"references: 2 invalid spans in 2 rows: row 0, span 1 \[-1, 2\]"):
        evaluate(references=[[[0, 3], [-1, 2]], [[4, 4]]], predictions=[[], []])
    with pytest.raises(ValueError, match=r"predictions: 1 invalid span in 1 row: row 1, span 0 \[0, 4\].*3 characters"):
        evaluate(references=[[], []], predictions=[[], [[0, 4]]], text=["abcdef", "abc"])


def test_dropped_and_clipped_spans_are_counted() -> None:
    rows: dict[str, Any] = {
        "references": [[[0, 3], [-1, 2]], [[4, 4]], [[0, 2]]],
        "predictions": [[[0, 3]], [[2, 9]], [[7, 9], [-3, -1]]],
        "text": ["abcdef"] * 3,
    }
    # Rows with a fault: two of the references, two of the predictions.
    dropped = evaluate(**rows, invalid="drop", average="micro")
    assert dropped.invalid == InvalidCounts(rows=4, dropped=5, clipped=0, missing=0)
    assert scores(dropped) == scores(
        evaluate(references=[[[0, 3]], [], [[0, 2]]], predictions=[[[0, 3]], [], []], average="micro")
    )
    # [-1, 2] becomes [0, 2] and [2, 9] becomes [2, 6]; [4, 4], [7, 9] and [-3, -1] have nothing left.
    clipped = evaluate(**rows, invalid="clip", average="micro")
    assert clipped.invalid == InvalidCounts(rows=4, dropped=3, clipped=2, missing=0)
    assert scores(clipped) == scores(
        evaluate(references=[[[0, 3], [0, 2]], [], [[0, 2]]], predictions=[[[0, 3]], [[2, 6]], []], average="micro")
    )
    assert evaluate(**BATCH, invalid="drop").invalid == InvalidCounts()
    assert scores(evaluate(**BATCH, invalid="drop")) == scores(evaluate(**BATCH))


@pytest.mark.parametrize("invalid", ["raise", "drop", "clip"])
@pytest.mark.parametrize(
    "span", [[5, 2], [0, 3.7], [0, "3"], [True, 3], [0, None], [0, float("nan")], ["0", "3"], [0, 2**70]]
)
def test_reversed_spans_and_wrong_types_always_raise(span: list[Any], invalid: str) -> None:
    for side in ("references", "predictions"):
        rows: dict[str, Any] = {"references": [[], []], "predictions": [[], []]}
        rows[side] = [[], [[0, 1], span]]
        with pytest.raises((ValueError, TypeError), match=f"{side}.*row 1"):
            evaluate(**rows, invalid=invalid)


@pytest.mark.parametrize("span", [[0, 3.0], [np.float64(0), 3]])
def test_whole_floats_are_not_integers(span: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=r"references.*row 0"):
        evaluate(references=[[span]], predictions=[[]])


def test_missing_rows() -> None:
    rows: dict[str, Any] = {"references": [None, [[0, 4]], None], "predictions": [[], [[0, 4]], [[1, 2]]]}
    with pytest.raises((ValueError, TypeError), match=r"references.*rows? 0"):
        evaluate(**rows)
    report = evaluate(**rows, missing_rows="empty")
    assert report.invalid == InvalidCounts(missing=2)
    assert scores(report) == scores(evaluate(references=[[], [[0, 4]], []], predictions=rows["predictions"]))
    assert evaluate(**BATCH, missing_rows="empty").invalid.missing == 0


def test_other_units_and_inclusive_ends() -> None:
    # "🙂 bad": "bad" is [2, 5) in code points, [3, 6) in UTF-16 units, [5, 8) in UTF-8 bytes.
    for offsets, start in (("codepoint", 2), ("utf16", 3), ("utf8", 5)):
        for end, last in (("exclusive", start + 3), ("inclusive", start + 2)):
            report = evaluate(
                references=[[start, last]],
                predictions=[[start, last]],
                text="🙂 bad",
                offsets=offsets,
                end=end,
                metrics=[exact_span, iou],
            )
            assert report["exact_span"] == ONE
            # All 5 characters against the 3 of the span: the emoji counts once.
            first = evaluate(
                references=[[start, last]],
                predictions=[[0, last]],
                text="🙂 bad",
                offsets=offsets,
                end=end,
                metrics=["character"],
            )
            assert first["character"]["precision"] == 3 / 5
    for offsets in ("utf16", "utf8"):
        with pytest.raises(ValueError, match="text"):
            evaluate(references=[[0, 4]], predictions=[[0, 4]], offsets=offsets)


# -- weights


@pytest.mark.parametrize(
    "weights",
    [
        [1, 1, 1, 1, -1],
        [1, 1, 1, 1, float("nan")],
        [1, 1, 1, 1, float("inf")],
        [1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
        [],
        1.0,
        [[1, 1, 1, 1, 1]],
        [0, 0, 0, 0, 0],
        ["1"] * 5,
        [None] * 5,
        [True] * 5,
    ],
)
def test_wrong_weights(weights: Any) -> None:
    for average in ("macro", "micro"):
        with pytest.raises((ValueError, TypeError), match="weight"):
            evaluate(**BATCH, sample_weight=weights, average=average)


def test_weights_against_the_oracle() -> None:
    weights = [0.1, 2.5, 0.0, 1e-3, 7.0]
    for average in ("macro", "micro"):
        for container in (list, tuple, np.array, lambda w: np.array(w, dtype=np.float64)):
            report = evaluate(**BATCH, sample_weight=container(weights), average=average)
            for key in KEYS:
                assert report[key] == approx(getattr(oracle, average)(key, REFERENCES, PREDICTIONS, None, weights))


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6, 2.0**40, 1e25])
def test_only_the_ratios_of_weights_matter(scale: float) -> None:
    weights = [0.1, 2.5, 0.0, 1e-3, 7.0]
    for average in ("macro", "micro"):
        plain = evaluate(**BATCH, sample_weight=weights, average=average)
        scaled = evaluate(**BATCH, sample_weight=[w * scale for w in weights], average=average)
        for key in KEYS:
            assert scaled[key] == approx(plain[key])


@pytest.mark.parametrize("scale", [1e-40, 1e-25, 1e-18, 1e300])
def test_extreme_weights_are_right_or_refused(scale: float) -> None:
    weights = [0.1, 2.5, 0.0, 1e-3, 7.0]
    for average in ("macro", "micro"):
        plain = evaluate(**BATCH, sample_weight=weights, average=average)
        try:
            scaled = evaluate(**BATCH, sample_weight=[w * scale for w in weights], average=average)
        except ValueError as error:
            refusal = str(error)
        else:
            refusal = ""
            for key in KEYS:
                assert scaled[key] == approx(plain[key])
        # Positive weights are not "all 0", and a refusal names the argument.
        assert "all" not in refusal
        assert not refusal or "sample_weight" in refusal


def test_integer_weights_are_repetition() -> None:
    weights = [2, 0, 1, 3, 1]
    for average in ("macro", "micro"):
        repeated = evaluate(
            references=[r for r, w in zip(REFERENCES, weights, strict=True) for _ in range(w)],
            predictions=[p for p, w in zip(PREDICTIONS, weights, strict=True) for _ in range(w)],
            average=average,
        )
        for dtype in (np.int64, np.uint8, np.float32, np.float64):
            report = evaluate(**BATCH, sample_weight=np.array(weights, dtype=dtype), average=average)
            assert json.dumps(scores(report)) == json.dumps(scores(repeated))
