"""Typed scores against counting by hand, against an oracle that tries every matching, and against laws."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed_oracle import Row, expected

import mycelium
from mycelium import metrics
from mycelium.typed import TYPES, TypedReport, evaluate_typed

KEYS = [
    *("strict", "strict_typed", "partial", "typed_partial", "character"),
    *("by_type", "macro", "weighted", "confusion", "valid_cases", "meta"),
]


def one(references: list[Any], predictions: list[Any], **options: Any) -> TypedReport:
    """Score one example."""
    return evaluate_typed(references=[references], predictions=[predictions], **options)


def prf(leaf: dict[str, Any]) -> list[float]:
    return [leaf["precision"], leaf["recall"], leaf["f1"]]


def alike(got: Any, wanted: Any) -> None:
    """Compare nested dicts and lists; floats to the last digits but one."""
    if isinstance(wanted, dict):
        assert got.keys() == wanted.keys()
        for key, value in wanted.items():
            alike(got[key], value)
    elif isinstance(wanted, float):
        assert got == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    else:
        assert got == wanted


# -- faults that people reported


def test_one_prediction_over_two_references_counts_once() -> None:
    report = one([[0, 4, "A"], [5, 9, "A"]], [[0, 9, "A"]])
    assert report["strict"] == {
        **{"precision": 0.0, "recall": 0.0, "f1": 0.0},
        **{"correct": 0, "spurious": 1, "missed": 2, "predictions": 1, "references": 2},
    }
    alike(
        report["partial"],
        {
            **{"precision": 0.5, "recall": 0.25, "f1": 1 / 3},
            **{"correct": 0, "partial": 1, "spurious": 0, "missed": 1, "predictions": 1, "references": 2},
        },
    )
    alike(prf(report["character"])[0], 8 / 9)
    alike(prf(report["character"])[2], 16 / 17)
    assert report["character"]["recall"] == 1.0


def test_right_place_wrong_type() -> None:
    report = one([[0, 5, "conflict"]], [[0, 5, "baseless"]], types=["conflict", "baseless"])
    counts = ("correct", "missed", "spurious")
    assert [report["by_type"]["conflict"][key] for key in counts] == [0, 1, 0]
    assert [report["by_type"]["baseless"][key] for key in counts] == [0, 0, 1]
    assert prf(report["strict_typed"]) == [0.0, 0.0, 0.0]
    assert (report["strict_typed"]["references"], report["strict_typed"]["predictions"]) == (1, 1)
    assert prf(report["strict"]) == [1.0, 1.0, 1.0]
    assert report["confusion"] == {
        "labels": ["conflict", "baseless", "none"],
        "matrix": [[0, 1, 0], [0, 0, 0], [0, 0, 0]],
    }


def test_two_spans_of_one_type() -> None:
    row = [[0, 4, "conflict"], [10, 14, "conflict"]]
    leaf = one(row, row)["by_type"]["conflict"]
    assert [leaf[key] for key in ("correct", "spurious", "missed", "f1", "support")] == [2, 0, 0, 1.0, 2]


def test_overlapping_spans_inside_one_set() -> None:
    report = one([[0, 10, "A"], [5, 15, "A"]], [[0, 15, "A"]])
    assert prf(report["character"]) == [1.0, 1.0, 1.0]
    assert [report["strict"][key] for key in ("correct", "spurious", "missed")] == [0, 1, 2]


def test_a_reference_cut_in_two_stays_one_reference() -> None:
    report = one([[1, 2, "A"], [3, 10, "A"]], [[1, 2, "A"], [3, 5, "A"], [6, 10, "A"]])
    alike(prf(report["strict"])[0], 1 / 3)
    assert prf(report["strict"])[1:] == [0.5, 0.4]
    assert [report["partial"][key] for key in ("correct", "partial", "spurious", "missed")] == [1, 1, 1, 0]
    assert prf(report["partial"]) == [0.5, 0.75, 0.6]


def test_no_reference_is_left_in_limbo() -> None:
    report = one([[2, 5, "A"], [5, 8, "A"]], [[3, 7, "A"]])
    assert [report["partial"][key] for key in ("correct", "partial", "spurious", "missed")] == [0, 1, 0, 1]
    alike(prf(report["partial"]), [0.5, 0.25, pytest.approx(1 / 3)])
    assert report["character"]["precision"] == 1.0
    alike(report["character"]["recall"], 4 / 6)


def test_every_span_keeps_its_own_type() -> None:
    references = [[20, 25, "baseless"], [0, 5, "conflict"]]
    assert prf(one(references, references[::-1])["strict_typed"]) == [1.0, 1.0, 1.0]
    columns = {"start": [20, 0], "end": [25, 5], "label": ["baseless", "conflict"]}
    assert evaluate_typed(references=[columns], predictions=[references])["strict_typed"]["f1"] == 1.0
    with pytest.raises(ValueError, match="label"):
        evaluate_typed(references=[{**columns, "label": ["baseless"]}], predictions=[references])


@pytest.mark.parametrize(
    ("prediction", "options", "partial"),
    [
        ([0, 4], {"min_overlap": 0.5}, 0),
        ([0, 40], {"min_overlap": 0.5}, 1),
        ([0, 40], {"min_overlap": 0.5, "overlap_base": "union"}, 0),
        ([0, 40], {"min_overlap": 0.25, "overlap_base": "union"}, 1),
        ([0, 40], {"min_overlap": 0.26, "overlap_base": "union"}, 0),
        ([0, 40], {"min_overlap": 0.25, "overlap_base": "prediction"}, 1),
        ([0, 4], {"min_overlap": 1.0, "overlap_base": "prediction"}, 1),
        ([0, 5], {"min_overlap": 0.5}, 1),
        ([9, 40], {}, 1),
    ],
)
def test_the_threshold_is_a_share_of_the_base(prediction: list[int], options: dict[str, Any], partial: int) -> None:
    report = one([[0, 10, "A"]], [[*prediction, "A"]], **options)
    assert report["partial"]["partial"] == report["typed_partial"]["partial"] == partial
    assert report["confusion"]["matrix"][0][0] == partial


def test_a_percentage_is_refused() -> None:
    with pytest.raises(ValueError, match=r"min_overlap must be between 0 and 1, got 50"):
        one([[0, 10, "A"]], [[0, 4, "A"]], min_overlap=50)


def test_same_type_partners_come_before_others() -> None:
    references, predictions = [[0, 1, "x"]], [[0, 2, "y"], [0, 2, "x"]]
    alone = one(references, predictions, types=["x"], unknown_types="ignore")
    both = one(references, predictions, types=["x", "y"])
    for report in (alone, both):
        leaf = report["by_type"]["x"]
        assert (leaf["partial"], prf(leaf)) == (1, [0.5, 0.5, 0.5])
    assert both["by_type"]["y"]["precision"] == 0.0
    assert both["confusion"]["matrix"] == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]


# -- the rest of the definitions, by hand


def test_a_worked_example() -> None:
    references = [[[0, 10, "ADD-PATH"], [20, 30, "CONTRA"], [40, 50, "NEG-FLIP"]], [], [[5, 8, "CONTRA"]]]
    predictions = [
        [[0, 10, "ADD-PATH"], [22, 34, "CONTRA"], [23, 29, "CONTRA"], [45, 55, "LAT-FLIP"]],
        [[1, 2, "ADD-DEVICE"]],
        [],
    ]
    report = evaluate_typed(references=references, predictions=predictions, types="causal")
    assert list(report) == KEYS
    # Four references, five predictions: one exact, two overlaps; the two on CONTRA compete, [22, 30) shares more.
    alike(prf(report["partial"]), [2 / 5, 2 / 4, 4 / 9])
    assert [report["partial"][key] for key in ("correct", "partial", "spurious", "missed")] == [1, 2, 2, 1]
    # NEG-FLIP and LAT-FLIP differ in type.
    alike(prf(report["typed_partial"]), [1.5 / 5, 1.5 / 4, 3 / 9])
    # F1 = 2T / (n_pred + n_ref): ADD-PATH 1, ADD-DEVICE 0/1, NEG-FLIP 0/1, LAT-FLIP 0/1, CONTRA 2 * 0.5 / (2 + 2).
    f1 = {"ADD-PATH": 1.0, "ADD-DEVICE": 0.0, "NEG-FLIP": 0.0, "LAT-FLIP": 0.0, "CONTRA": 0.25}
    assert {name: leaf["f1"] for name, leaf in report["by_type"].items()} == f1
    assert {name: leaf["support"] for name, leaf in report["by_type"].items()} == dict(
        zip(TYPES["causal"], [1, 0, 1, 0, 2], strict=True)
    )
    assert report["macro"]["f1"] == 0.25
    assert report["macro"]["types"] == 5
    assert report["weighted"] == {"precision": 0.625, "recall": 0.375, "f1": 0.375, "support": 4}
    assert report["confusion"]["matrix"] == [
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1],
        [0, 1, 0, 0, 1, 0],
    ]
    assert report["valid_cases"] == {
        **{"clean": 0.0, "caught": 0.5, "localised": 0.5},
        "counts": {"valid": 1, "clean": 0, "invalid": 2, "caught": 1, "localised": 1},
    }


def test_duplicates_earn_nothing() -> None:
    report = one([[0, 4, "A"]], [[0, 4, "A"]] * 3)
    for key in ("strict", "strict_typed", "partial", "typed_partial"):
        assert (report[key]["correct"], report[key]["spurious"], report[key]["missed"]) == (1, 2, 0)
        alike(report[key]["precision"], 1 / 3)
    # Repeats on both sides find their like, unlike exact_span, which counts distinct spans.
    assert one([[0, 4, "A"]] * 2, [[0, 4, "A"]] * 2)["strict"]["f1"] == 1.0
    assert metrics.exact_span([[0, 4]] * 2, [[0, 4]] * 2).f1 == 0.5


def test_any_span_on_a_valid_case_is_a_false_positive_everywhere() -> None:
    references, predictions = [[], [[0, 4, "A"]]], [[[0, 4, "A"]], [[0, 4, "A"]]]
    report = evaluate_typed(references=references, predictions=predictions)
    for key in ("strict", "strict_typed", "partial", "typed_partial"):
        assert (report[key]["spurious"], report[key]["precision"]) == (1, 0.5)
    assert report["by_type"]["A"]["spurious"] == 1
    assert report["confusion"]["matrix"] == [[1, 0], [1, 0]]
    assert report["character"]["precision"] == 0.5
    assert report["valid_cases"]["clean"] == 0.0
    # In the mean over examples the case is 0, not left out.
    macro = evaluate_typed(references=references, predictions=predictions, average="macro")
    assert [macro[key]["f1"] for key in ("strict", "strict_typed", "partial", "typed_partial", "character")] == [
        0.5
    ] * 5


def test_full_credit_counts_pairs_only() -> None:
    """An exact pair may give way where that makes two pairs of one."""
    references, predictions = [[0, 5, "A"], [6, 9, "A"]], [[0, 5, "A"], [3, 7, "A"], [0, 2, "A"]]
    half, full = one(references, predictions), one(references, predictions, overlap_credit=1.0)
    assert [half["partial"][key] for key in ("correct", "partial")] == [1, 1]
    assert full["partial"]["correct"] + full["partial"]["partial"] == 2
    chain_r, chain_p = [[0, 5, "A"], [4, 9, "A"]], [[0, 5, "A"], [0, 4, "A"]]
    assert prf(one(chain_r, chain_p)["typed_partial"]) == [0.5, 0.5, 0.5]
    assert prf(one(chain_r, chain_p, overlap_credit=1.0)["typed_partial"]) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("credit", [0.0, 0.3, 1.0])
def test_credit(credit: float) -> None:
    report = one([[0, 4, "A"], [6, 9, "A"]], [[0, 4, "A"], [6, 8, "A"]], overlap_credit=credit)
    alike(prf(report["partial"]), [(1 + credit) / 2] * 3)
    assert report["meta"]["overlap_credit"] == credit


def test_absent_types() -> None:
    references, predictions = [[0, 4, "ADD-PATH"]], [[0, 4, "ADD-PATH"]]
    left_out = one(references, predictions, types="causal")
    assert (left_out["macro"]["f1"], left_out["macro"]["types"]) == (1.0, 1)
    assert left_out["meta"]["macro_types"] == ["ADD-PATH"]
    zero = one(references, predictions, types="causal", absent_types="zero")
    assert (zero["macro"]["f1"], zero["macro"]["types"]) == (0.2, 5)
    assert zero["meta"]["macro_types"] == list(TYPES["causal"])
    # Absent on one side only is present.
    assert one(references, [], types="causal")["macro"]["types"] == 1
    assert one([], predictions, types="causal")["macro"]["f1"] == 0.0


@pytest.mark.parametrize(("undefined", "value", "character"), [(1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (None, 1.0, 0.0)])
def test_nothing_to_divide_by(undefined: float | None, value: float, character: float) -> None:
    report = one([], [], types=["A"], undefined=undefined)
    for key in ("strict", "strict_typed", "partial", "typed_partial", "macro", "weighted"):
        assert prf(report[key]) == [value] * 3
    assert prf(report["by_type"]["A"]) == [value] * 3
    assert prf(report["character"]) == [character] * 3
    shares = report["valid_cases"]
    assert [shares[key] for key in ("clean", "caught", "localised")] == [1.0, value, value]
    silent = one([[0, 4, "A"]], [], undefined=undefined)
    assert prf(silent["partial"]) == [value, 0.0, 0.0]


def test_no_spans_and_no_types_at_all() -> None:
    report = evaluate_typed(references=[[], []], predictions=[[], []])
    assert (report["by_type"], report["confusion"]) == ({}, {"labels": ["none"], "matrix": [[0]]})
    assert report["valid_cases"]["clean"] == report["macro"]["f1"] == 1.0
    assert json.loads(report.to_json())["report"] == report


# -- against the oracle

spans = st.tuples(st.integers(0, 6), st.integers(1, 5), st.sampled_from("ABC")).map(lambda x: (x[0], x[0] + x[1], x[2]))
rows = st.lists(spans, max_size=4)
batches = st.lists(st.tuples(rows, rows), min_size=1, max_size=3)


def sides(batch: list[tuple[Row, Row]]) -> tuple[list[Row], list[Row]]:
    return [r for r, _ in batch], [p for _, p in batch]


@settings(max_examples=300)
@given(
    batch=batches,
    credit=st.sampled_from([0.5, 0.25, 1.0]),
    least=st.sampled_from([0.0, 0.3, 0.5]),
    base=st.sampled_from(["reference", "union", "prediction"]),
)
def test_against_every_matching(batch: list[tuple[Row, Row]], credit: float, least: float, base: str) -> None:
    references, predictions = sides(batch)
    report = evaluate_typed(
        references=references,
        predictions=predictions,
        types=["C", "A", "B"],
        overlap_credit=credit,
        min_overlap=least,
        overlap_base=base,
    )
    wanted = expected(references, predictions, ["C", "A", "B"], credit=credit, least=least, base=base)
    for key, value in wanted.items():
        alike(report[key], value)


@settings(max_examples=200)
@given(batch=batches)
def test_counts_add_up(batch: list[tuple[Row, Row]]) -> None:
    references, predictions = sides(batch)
    report = evaluate_typed(references=references, predictions=predictions, types=[*"ABC"])
    n_r, n_p = (sum(map(len, side)) for side in (references, predictions))
    leaves = [report[key] for key in ("strict", "strict_typed", "partial", "typed_partial")]
    for leaf in [*leaves, *report["by_type"].values()]:
        paired = leaf["correct"] + leaf.get("partial", 0)
        assert paired + leaf["spurious"] == leaf["predictions"]
        assert paired + leaf["missed"] == leaf["references"]
        assert min(leaf[key] for key in ("correct", "spurious", "missed")) >= 0
    assert all((leaf["predictions"], leaf["references"]) == (n_p, n_r) for leaf in leaves)
    # The types together are the whole.
    for key in ("correct", "partial", "spurious", "missed", "predictions", "references"):
        assert sum(leaf[key] for leaf in report["by_type"].values()) == report["typed_partial"][key]
    matrix = report.confusion_matrix()
    assert matrix[-1, -1] == 0
    assert matrix[:-1].sum() == n_r
    assert matrix[:, :-1].sum() == n_p
    assert matrix[:-1].sum(axis=1).tolist() == [leaf["references"] for leaf in report["by_type"].values()]
    assert matrix[:, :-1].sum(axis=0).tolist() == [leaf["predictions"] for leaf in report["by_type"].values()]
    # Each part has more pairs than a stricter one.
    strict, typed, partial, joint = leaves
    assert typed["correct"] <= strict["correct"]
    assert partial["correct"] == strict["correct"]
    assert joint["correct"] == typed["correct"]
    muc = mycelium.evaluate(
        references=references, predictions=predictions, average="micro", metrics=[f"muc_{s}" for s in SCHEMES]
    )
    for scheme in SCHEMES:
        correct, incorrect, halves, missed, spurious = muc.statistics(f"muc_{scheme}").sum(axis=0).tolist()
        assert correct + incorrect + halves + missed == n_r
        assert correct + incorrect + halves + spurious == n_p
    assert prf(muc["muc_partial"]) == prf(partial)
    assert prf(muc["muc_exact"]) == prf(strict)
    assert prf(muc["muc_strict"]) == prf(typed)
    full = mycelium.evaluate(
        references=references, predictions=predictions, average="micro", metrics=["typed_partial(overlap_credit=1.0)"]
    )
    assert prf(muc["muc_type"]) == prf(full["typed_partial(overlap_credit=1.0)"])


SCHEMES = ("strict", "exact", "partial", "type")


@settings(max_examples=100)
@given(batch=batches, seed=st.integers(0, 10**6), average=st.sampled_from(["micro", "macro"]))
def test_no_order_matters(batch: list[tuple[Row, Row]], seed: int, average: str) -> None:
    rng = random.Random(seed)
    shuffled = [(rng.sample(r, len(r)), rng.sample(p, len(p))) for r, p in batch]
    rng.shuffle(shuffled)
    one, other = (
        evaluate_typed(references=sides(each)[0], predictions=sides(each)[1], average=average)
        for each in (batch, shuffled)
    )
    assert json.dumps(one) == json.dumps(other)


@settings(max_examples=100)
@given(batch=batches, zero=st.booleans())
def test_means_over_types_by_hand(batch: list[tuple[Row, Row]], zero: bool) -> None:
    references, predictions = sides(batch)
    report = evaluate_typed(
        references=references, predictions=predictions, types=[*"ABC"], absent_types="zero" if zero else "exclude"
    )
    f1, support = [], []
    for leaf in report["by_type"].values():
        total = leaf["predictions"] + leaf["references"]
        support.append(leaf["references"])
        if total:
            f1.append(Fraction(2 * leaf["correct"] + leaf["partial"], total))
        elif zero:
            f1.append(Fraction(0))
    assert report["macro"]["f1"] == pytest.approx(float(sum(f1) / len(f1)) if f1 else 1.0, rel=1e-15)
    if sum(support):
        pairs = zip(report["by_type"].values(), support, strict=True)
        mean = sum(leaf["f1"] * n for leaf, n in pairs if n) / sum(support)
        assert report["weighted"]["f1"] == pytest.approx(mean, rel=1e-14)
        assert report["weighted"]["recall"] == pytest.approx(report["typed_partial"]["recall"], rel=1e-14)


@settings(max_examples=100)
@given(batch=batches)
def test_macro_over_examples_is_the_mean_of_examples(batch: list[tuple[Row, Row]]) -> None:
    references, predictions = sides(batch)
    whole = evaluate_typed(references=references, predictions=predictions, types=[*"ABC"], average="macro")
    pooled = evaluate_typed(references=references, predictions=predictions, types=[*"ABC"], include_per_example=True)
    alone = [evaluate_typed(references=[r], predictions=[p], types=[*"ABC"]) for r, p in batch]
    for key in ("strict", "strict_typed", "partial", "typed_partial", "character"):
        for output in ("precision", "recall", "f1"):
            mean = sum(Fraction(each[key][output]) for each in alone) / len(alone)
            assert whole[key][output] == float(mean)
        assert pooled[key]["per_example"] == [
            {output: each[key][output] for output in ("precision", "recall", "f1")} for each in alone
        ]
        counts = set(whole[key]) - {"precision", "recall", "f1"}
        assert {name: whole[key][name] for name in counts} == {name: pooled[key][name] for name in counts}
    for key in ("by_type", "macro", "weighted", "confusion", "valid_cases"):
        assert whole[key] == pooled[key]


@settings(max_examples=100)
@given(batch=batches)
def test_keys_of_evaluate_have_the_same_bits(batch: list[tuple[Row, Row]]) -> None:
    references, predictions = sides(batch)
    keys = ["strict", "strict_typed", "partial", "typed_partial", "valid_cases"]
    for average in ("micro", "macro"):
        typed = evaluate_typed(references=references, predictions=predictions, average=average)
        plain = mycelium.evaluate(references=references, predictions=predictions, average=average, metrics=keys)
        for key in keys:
            assert plain[key] == {output: typed[key][output] for output in plain[key]}


def test_rows_with_hundreds_of_spans() -> None:
    """More than tables of matchings can hold, and more rows than one block."""
    rng = random.Random(0)

    def row() -> Row:
        starts = [rng.randrange(200) for _ in range(150)]
        return [(start, start + rng.randint(1, 20), rng.choice("AB")) for start in starts]

    references, predictions = [row() for _ in range(3)], [row() for _ in range(3)]
    report = evaluate_typed(references=references, predictions=predictions)
    assert report["partial"]["correct"] + report["partial"]["partial"] + report["partial"]["missed"] == 450
    assert report.confusion_matrix()[:-1].sum() == 450
    alone = [evaluate_typed(references=[r], predictions=[p]) for r, p in zip(references, predictions, strict=True)]
    many = evaluate_typed(references=[[]] * 20_000 + references, predictions=[[]] * 20_000 + predictions)
    for key in ("correct", "partial", "spurious", "missed"):
        assert many["typed_partial"][key] == sum(each["typed_partial"][key] for each in alone)
    assert many["valid_cases"]["counts"]["clean"] == 20_000


SHARED = [
    *("muc_type", "typed_partial(overlap_credit=1.0)", "muc_strict", "strict_typed", "typed_partial", "muc_exact"),
    *("partial(overlap_credit=1.0)", "strict", "partial", "muc_partial", "partial(min_overlap=0.5)"),
    *("partial(min_overlap=0.5,overlap_base=union)", "typed_partial(min_overlap=0.5)", "muc_type(min_overlap=0.5)"),
]


@settings(max_examples=100)
@given(batch=batches, seed=st.integers(0, 10**6))
def test_metrics_that_share_matchings_do_not_disturb_each_other(batch: list[tuple[Row, Row]], seed: int) -> None:
    references, predictions = sides(batch)
    keys = random.Random(seed).sample(SHARED, len(SHARED))
    together = mycelium.evaluate(references=references, predictions=predictions, metrics=keys)
    for key in keys:
        alone = metrics.get(key).statistics(references, predictions)
        assert together.statistics(key).tolist() == alone.tolist()
