"""evaluate(): the documented example, profiles, averages, metrics and their parameters."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import oracle
import pytest
from samples import BATCH, KEYS, ONE, PREDICTIONS, REFERENCES, ZERO, approx, scores

import mycelium
from mycelium import evaluate
from mycelium.metrics import deteval_1d, exact_span, iou, span_coverage

# -- the documented example


def test_the_documented_example() -> None:
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]], text="0123456789", profile="mu_shroom")
    expected = {
        "exact_span": {"precision": 0.0, "recall": 0.0, "f1": 0.0},
        "iou": {"score": 0.6},
        "character": {"precision": 1.0, "recall": 0.6, "f1": 0.75},
        "deteval_1d": {"precision": 0.0, "recall": 0.0, "f1": 0.0},
        "cleval_1d": {"precision": 1.0, "recall": 0.6, "f1": 0.75},
        "span_coverage": {"precision": 1.0, "recall": 1.0, "f1": 1.0},
        "meta": {
            "examples": 1,
            "average": "macro",
            "offset_convention": "half-open [start, end)",
            "profile": "mu_shroom",
        },
    }
    assert report == expected
    assert isinstance(report, dict)
    # The order of the keys too, at both levels.
    assert json.dumps(report) == json.dumps(expected)


def test_everything_is_a_keyword() -> None:
    with pytest.raises(TypeError):
        evaluate([[0, 10]], [[2, 8]])  # type: ignore[misc]
    with pytest.raises(TypeError):
        evaluate(references=[[0, 10]])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        evaluate(**BATCH, no_such_option=1)


# -- profiles and averages


@pytest.mark.parametrize(
    ("profile", "name", "average"),
    [
        (None, None, "macro"),
        ("mu_shroom", "mu_shroom", "macro"),
        ("mu-shroom", "mu_shroom", "macro"),
        ("mushroom", "mu_shroom", "macro"),
        ("ragtruth", "ragtruth", "micro"),
    ],
)
def test_profiles(profile: str | None, name: str | None, average: str) -> None:
    report = evaluate(**BATCH, profile=profile)
    assert report["meta"] == {
        "examples": 5,
        "average": average,
        "offset_convention": "half-open [start, end)",
        "profile": name,
    }
    plain = evaluate(**BATCH, average=average)
    assert scores(report) == scores(plain)
    for override in ("macro", "micro"):
        other = evaluate(**BATCH, profile=profile, average=override)
        assert other["meta"] == {**report["meta"], "average": override}
        assert scores(other) == scores(evaluate(**BATCH, average=override))


def test_averages_by_hand() -> None:
    report = evaluate(**BATCH, average="macro", metrics=["iou", "exact_span"])
    # IoU of the rows: 6/10, both empty 1, 9/9, 0, 0.
    assert report["iou"] == {"score": approx((0.6 + 1 + 1) / 5)}
    # Exact precision 0, 1, 1/3, 1 (nothing predicted), 0; recall 0, 1, 1/2, 0, 1; F1 0, 1, 2/5, 0, 0.
    assert report["exact_span"] == approx({"precision": (1 + 1 / 3 + 1) / 5, "recall": 2.5 / 5, "f1": 1.4 / 5})
    report = evaluate(**BATCH, average="micro", metrics=["iou", "exact_span"])
    # Characters in both 6 + 9, in either 10 + 9 + 3 + 2; 1 of 5 predictions is one of 4 references.
    assert report["iou"] == {"score": 15 / 24}
    assert report["exact_span"] == approx({"precision": 1 / 5, "recall": 1 / 4, "f1": 2 / 9})


@pytest.mark.parametrize(
    ("option", "value", "choices"),
    [
        ("profile", "semeval", ["mu_shroom", "ragtruth"]),
        ("profile", "", ["mu_shroom", "ragtruth"]),
        ("average", "weighted", ["macro", "micro"]),
        ("average", "", ["macro", "micro"]),
        ("invalid", "skip", ["raise", "drop", "clip"]),
        ("invalid", None, ["raise", "drop", "clip"]),
        ("missing_rows", "drop", ["raise", "empty"]),
        ("offsets", "bytes", ["codepoint", "utf16", "utf8"]),
        ("end", "open", ["exclusive", "inclusive"]),
        ("metrics", ["f1"], ["exact_span", "iou", "span_coverage", "soft_correlation"]),
        ("metrics", "f1", ["exact_span", "iou", "span_coverage", "soft_correlation"]),
    ],
)
def test_unknown_choices_name_the_known_ones(option: str, value: Any, choices: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        evaluate(**BATCH, **{option: value})
    for choice in choices:
        assert choice in str(caught.value)
    if option != "metrics":
        assert option in str(caught.value)


# -- metrics


def test_metrics_come_in_the_order_asked_for() -> None:
    for metrics in (["iou"], ["span_coverage", "exact_span"], KEYS[::-1], ["response", "iou"]):
        report = evaluate(**BATCH, metrics=metrics)
        assert list(report) == [*metrics, "meta"]
        whole = evaluate(**BATCH, metrics=[*KEYS, "response"])
        for key in metrics:
            assert report[key] == whole[key]
    assert list(evaluate(**BATCH)) == [*KEYS, "meta"]
    assert evaluate(**BATCH, metrics="iou") == evaluate(**BATCH, metrics=["iou"])
    assert evaluate(**BATCH, metrics=iou) == evaluate(**BATCH, metrics=["iou"])
    assert list(evaluate(**BATCH, metrics=("iou", exact_span))) == ["iou", "exact_span", "meta"]


def test_the_response_level() -> None:
    # Rows with spans: references 1, 3, 4; predictions 1, 3, 5; both 1, 3.
    report = evaluate(**BATCH, metrics=["response"], average="micro")
    assert report["response"] == approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})


def test_wrong_metrics() -> None:
    for wrong in ([], ["iou", "iou"], [iou, "iou"], [3], [None], 3):
        with pytest.raises((ValueError, TypeError)):
            evaluate(**BATCH, metrics=wrong)


def test_variants_have_their_own_keys() -> None:
    report = evaluate(
        references=[[5, 10]],
        predictions=[[4, 12]],
        metrics=["span_coverage", span_coverage.at(delta=1), span_coverage.at(delta=2), "span_coverage(delta=3)"],
    )
    assert list(report) == [
        "span_coverage",
        "span_coverage(delta=1)",
        "span_coverage(delta=2)",
        "span_coverage(delta=3)",
        "meta",
    ]
    assert [report[key]["f1"] for key in list(report)[:4]] == [0.0, 0.0, 1.0, 1.0]


def test_long_names_set_the_metric_under_its_key() -> None:
    arguments: dict[str, Any] = {"references": [[5, 10]], "predictions": [[4, 12]]}
    report = evaluate(**arguments, span_coverage_delta=2)
    assert list(report) == [*KEYS, "meta"]
    assert report["span_coverage"] == ONE
    # A variant beside it stays what it is.
    report = evaluate(**arguments, metrics=["span_coverage", span_coverage.at(delta=1)], span_coverage_delta=2)
    assert [entry["f1"] for entry in scores(report)] == [1.0, 0.0]


def test_a_variant_keeps_its_tolerance() -> None:
    # Shares of 0.75 pass with a tolerance of 0.1 only.
    case: dict[str, Any] = {"references": [[0, 4]], "predictions": [[0, 3]]}
    metrics = ["deteval_1d", deteval_1d.at(tolerance=1e-9), deteval_1d.at(tolerance=0.1)]
    assert [entry["f1"] for entry in scores(evaluate(**case, metrics=metrics))] == [0.0, 0.0, 1.0]
    assert [entry["f1"] for entry in scores(evaluate(**case, metrics=metrics[:2], tolerance=0.1))] == [1.0, 0.0]


LONG_NAMES = {
    "span_coverage_delta": ("span_coverage", 2),
    "span_coverage_min_pred_len": ("span_coverage", 4),
    "deteval_recall_threshold": ("deteval_1d", 0.5),
    "deteval_precision_threshold": ("deteval_1d", 0.9),
    "deteval_granularity_penalty": ("deteval_1d", 0.5),
    "cleval_area_precision_threshold": ("cleval_1d", 0.9),
    "cleval_granularity_penalty": ("cleval_1d", 3.0),
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_a_parameter_without_effect_raises(name: str) -> None:
    key, value = LONG_NAMES[name]
    for metrics in (["iou"], [k for k in KEYS if k != key]):
        with pytest.raises(ValueError, match=name):
            evaluate(**BATCH, metrics=metrics, **{name: value})
    evaluate(**BATCH, metrics=[key], **{name: value})
    # Its default changes nothing and is accepted everywhere.
    default = {**oracle.DEFAULTS["deteval_1d"], **oracle.DEFAULTS["cleval_1d"], **oracle.DEFAULTS["span_coverage"]}
    short = {"cleval_granularity_penalty": "granularity_penalty_weight"}.get(name) or re.sub(
        "^(span_coverage|deteval|cleval)_", "", name
    )
    assert evaluate(**BATCH, metrics=["iou"], **{name: default[short]}) == evaluate(**BATCH, metrics=["iou"])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("span_coverage_delta", -1),
        ("span_coverage_delta", 1.5),
        ("span_coverage_delta", "2"),
        ("span_coverage_delta", True),
        ("span_coverage_min_pred_len", -1),
        ("span_coverage_min_pred_len", 2.0),
        ("deteval_recall_threshold", 1.5),
        ("deteval_recall_threshold", -0.1),
        ("deteval_recall_threshold", 80),
        ("deteval_precision_threshold", float("nan")),
        ("deteval_granularity_penalty", 1.01),
        ("deteval_granularity_penalty", None),
        ("cleval_area_precision_threshold", 30),
        ("cleval_granularity_penalty", -1.0),
        ("cleval_granularity_penalty", float("inf")),
        ("tolerance", -1e-9),
        ("tolerance", float("nan")),
        ("tolerance", "0"),
        ("tolerance", None),
        ("undefined", 0.5),
        ("undefined", float("nan")),
        ("undefined", -1),
        ("undefined", "0"),
        ("undefined", True),
    ],
)
def test_options_outside_their_range(name: str, wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        evaluate(**BATCH, **{name: wrong})
    with pytest.raises((ValueError, TypeError), match=name):
        mycelium.Accumulator(**{name: wrong})


def test_undefined() -> None:
    rows: dict[str, Any] = {"references": [[], [[0, 4]], []], "predictions": [[], [], [[0, 4]]]}
    for average in ("macro", "micro"):
        for undefined in (None, 0.0, 1.0, 0, 1):
            report = evaluate(**rows, undefined=undefined, average=average, include_per_example=True)
            for key in KEYS:
                empty = oracle.UNDEFINED.get(key, 1.0) if undefined is None else float(undefined)
                got = report[key]["per_example"]
                if key == "iou":
                    assert got == [empty, 0.0, 0.0]
                    continue
                assert got == [
                    {"precision": empty, "recall": empty, "f1": empty},
                    {"precision": empty, "recall": 0.0, "f1": 0.0},
                    {"precision": 0.0, "recall": empty, "f1": 0.0},
                ]
                own = {name: value for name, value in report[key].items() if name != "per_example"}
                assert own == approx(getattr(oracle, average)(key, **rows, undefined=undefined))


def test_tolerance_reads_thresholds_exactly() -> None:
    # 2/15 + 10/15 = 0.7999999999999999 in doubles; the area of the prediction over two references, 0.1 + 0.2, is
    # 0.30000000000000004 and passes either way, while 1/10 seven times is under 0.7.
    case: dict[str, Any] = {"references": [[0, 15]], "predictions": [[0, 2], [3, 13]]}
    assert evaluate(**case)["deteval_1d"] == ZERO
    assert evaluate(**case, tolerance=1e-9)["deteval_1d"] == approx({"precision": 0.8, "recall": 0.8, "f1": 0.8})
    sevens: dict[str, Any] = {"references": [[2 * i, 2 * i + 1] for i in range(7)], "predictions": [[0, 13]]}
    total = 0.0
    for _ in range(7):
        total += 1 / 13
    assert total != 7 / 13
    high = max(total, 7 / 13)
    strict = evaluate(**sevens, cleval_area_precision_threshold=np.nextafter(high, 1), metrics=["cleval_1d"])
    exact = evaluate(
        **sevens, cleval_area_precision_threshold=np.nextafter(high, 1), metrics=["cleval_1d"], tolerance=1e-9
    )
    assert strict["cleval_1d"] == ZERO
    # Kept: 7 characters less a penalty of 6, of 13; and 7 of 7.
    assert exact["cleval_1d"] == approx({"precision": 1 / 13, "recall": 1.0, "f1": 2 / 14})


# -- per example


def test_per_example() -> None:
    report = evaluate(**BATCH, include_per_example=True)
    assert list(report) == [*KEYS, "meta"]
    for key in KEYS:
        rows = report[key]["per_example"]
        assert type(rows) is list
        assert len(rows) == 5
        alone = [
            evaluate(references=r, predictions=p, metrics=[key])[key]
            for r, p in zip(REFERENCES, PREDICTIONS, strict=True)
        ]
        if key == "iou":
            assert rows == [entry["score"] for entry in alone]
            assert all(type(x) is float for x in rows)
        else:
            assert rows == alone
            assert all(list(row) == ["precision", "recall", "f1"] for row in rows)
        assert list(report[key])[-1] == "per_example"
    # It changes nothing else.
    plain = evaluate(**BATCH)
    for key in KEYS:
        assert {k: v for k, v in report[key].items() if k != "per_example"} == plain[key]
        assert "per_example" not in plain[key]
    assert report.signature == plain.signature
    # The rows do not depend on the average or on weights.
    micro = evaluate(**BATCH, include_per_example=True, average="micro", sample_weight=[1, 2, 3, 4, 5])
    assert [micro[key]["per_example"] for key in KEYS] == [report[key]["per_example"] for key in KEYS]
