"""Report: the signature, tables, JSON, slices, pickling."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from samples import BATCH, KEYS, PREDICTIONS, REFERENCES, approx, random_batch, scores

import mycelium
from mycelium import InvalidCounts, Report, evaluate
from mycelium.metrics import cleval_1d, deteval_1d, span_coverage

# -- the signature

VERSION = mycelium.__version__
HEAD = f"mycelium|v:{VERSION}|avg:macro|undef:default|unit:char|invalid:raise|tol:0|"


def test_the_default_signature() -> None:
    assert evaluate(**BATCH).signature == HEAD + "|".join(KEYS)
    assert evaluate(**BATCH, profile="mu_shroom").signature == HEAD + "|".join(KEYS)
    assert (
        evaluate(**BATCH, metrics=["iou", span_coverage.at(delta=2)]).signature == HEAD + "iou|span_coverage(delta=2)"
    )
    assert (
        evaluate(**BATCH, metrics=["span_coverage"], span_coverage_delta=2).signature == HEAD + "span_coverage(delta=2)"
    )


def test_the_signature_is_one_line_without_spaces() -> None:
    report = evaluate(
        **BATCH, metrics=[cleval_1d.at(granularity_penalty_weight=1 / 3), deteval_1d], sample_weight=[1, 2, 3, 4, 5]
    )
    assert re.fullmatch(r"\S+", report.signature)
    assert repr(1 / 3) in report.signature


CHANGES: list[dict[str, Any]] = [
    {},
    {"average": "micro"},
    {"undefined": 0.0},
    {"undefined": 1.0},
    {"invalid": "drop"},
    {"invalid": "clip"},
    {"missing_rows": "empty"},
    {"tolerance": 1e-9},
    {"tolerance": 1e-10},
    {"tolerance": 0.1},
    {"tolerance": 0.1 + 2**-40},
    {"tolerance": np.nextafter(0.1, 1.0)},
    {"offsets": "utf16"},
    {"offsets": "utf8"},
    {"end": "inclusive"},
    {"sample_weight": [1, 2, 3, 4, 5]},
    {"span_coverage_delta": 1},
    {"span_coverage_delta": 2},
    {"span_coverage_min_pred_len": 2},
    {"deteval_recall_threshold": 0.7},
    {"deteval_recall_threshold": 0.7 + 1e-15},
    {"deteval_precision_threshold": 0.7},
    {"deteval_granularity_penalty": 0.7},
    {"cleval_area_precision_threshold": 0.7},
    {"cleval_granularity_penalty": 2.0},
    {"cleval_granularity_penalty": 2.0000001},
    {"metrics": ["iou"]},
    {"metrics": ["exact_span"]},
    {"metrics": ["response"]},
    {"metrics": [span_coverage.at(delta=2)]},
    {"metrics": [span_coverage.at(delta=3)]},
    {"metrics": [deteval_1d.at(tolerance=1e-9)]},
    {"metrics": [deteval_1d.at(tolerance=1e-9)], "tolerance": 1e-3},
    {"metrics": ["deteval_1d"], "tolerance": 1e-3},
    {"metrics": ["deteval_1d"]},
]


def test_the_signature_changes_whenever_a_value_could() -> None:
    text = ["x" * 30] * 5
    signatures = [evaluate(**BATCH, text=text, **change).signature for change in CHANGES]
    for (a, one), (b, two) in itertools.combinations(zip(CHANGES, signatures, strict=True), 2):
        assert one != two, (a, b)
    # Whatever evaluate takes is in the list, or cannot change a value.
    options = set(inspect.signature(evaluate).parameters)
    data = {"references", "predictions", "text", "soft_references", "soft_predictions", "include_per_example"}
    data |= {"groups", "keep_statistics"}
    assert options - data - {"profile"} == {name for change in CHANGES for name in change}


def test_the_signature_is_the_same_where_nothing_changes() -> None:
    default = evaluate(**BATCH).signature
    for same in (
        {"average": "macro"},
        {"profile": "mu-shroom"},
        {"metrics": KEYS},
        {"include_per_example": True},
        {"span_coverage_delta": 0},
        {"tolerance": 0},
        {"text": ["x" * 30] * 5},
    ):
        assert evaluate(**BATCH, **same).signature == default
    other = evaluate(references=[[0, 1]], predictions=[])
    assert other.signature == default


# -- what a report can do


def test_tables_hold_the_numbers_and_the_signature() -> None:
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]])
    for format in ("text", "markdown"):
        table = report.to_table(format=format)
        lines = {key: next(line for line in table.split("\n") if line.strip("| ").startswith(key)) for key in KEYS}
        assert re.findall(r"\d\.\d+", lines["character"]) == ["1.0000", "0.6000", "0.7500"]
        assert re.findall(r"\d\.\d+", lines["iou"]) == ["0.6000"]
        assert re.findall(r"\d\.\d+", lines["exact_span"]) == ["0.0000"] * 3
        assert report.signature in table
        assert "macro" in table
    assert report.to_table() == report.to_table(format="text")
    markdown = report.to_table(format="markdown").split("\n")
    assert markdown[0].startswith("| metric")
    assert re.fullmatch(r"[|\-: ]+", markdown[1])
    assert len({line.count("|") for line in markdown[:8]}) == 1
    with pytest.raises(ValueError, match=r"text.*markdown"):
        report.to_table(format="docx")


def test_tables_say_what_leniency_did() -> None:
    report = evaluate(references=[[[0, 3], [5, 5]]], predictions=[[[0, 3]]], invalid="drop")
    assert re.search(r"dropped\D*1", report.to_table())
    assert "dropped" not in evaluate(**BATCH, invalid="drop").to_table()


def test_per_example_values_do_not_spoil_a_table() -> None:
    assert evaluate(**BATCH, include_per_example=True).to_table() == evaluate(**BATCH).to_table()


def test_json(tmp_path: Path) -> None:
    report = evaluate(**BATCH, include_per_example=True, invalid="drop")
    path = tmp_path / "out.json"
    text = report.to_json(path)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written == json.loads(text)
    assert written["report"] == report
    assert written["signature"] == report.signature
    assert list(written["report"]) == list(report)
    assert json.loads(report.to_json())["report"] == report
    assert json.loads(report.to_json(str(path)))["report"] == report


def test_html_escapes() -> None:
    report = evaluate(**BATCH)
    html = report._repr_html_()
    assert "<table" in html
    assert report.signature in html
    assert "0.5200" in html  # (0.6 + 1 + 1) / 5, the IoU
    evil = Report({"<script>alert(1)</script>": {"score": 0.5}, "meta": report["meta"]})
    evil.signature = "<b>&"
    html = evil._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;&amp;" in html


def slices_of(n: int) -> list[str]:
    return [["QA", "Summary", "Data2txt"][i % 3] for i in range(n)]


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("weighted", [False, True])
def test_slices_equal_separate_evaluations(average: str, weighted: bool) -> None:
    batch = random_batch(47)
    values = slices_of(47)
    options: dict[str, Any] = {
        "average": average,
        "metrics": [*KEYS, "response", cleval_1d.at(granularity_penalty_weight=0.1)],
        "undefined": 1.0,
        "deteval_recall_threshold": 0.5,
    }
    weights = [0.1 * (i % 5) + 0.25 for i in range(47)] if weighted else None
    report = evaluate(**batch, **options, sample_weight=weights)
    for container in (list, tuple, np.array):
        slices = report.by(container(values), name="task_type")
        assert list(slices) == ["Data2txt", "QA", "Summary"]
        assert sum(part["meta"]["examples"] for part in slices.values()) == 47
        for value, part in slices.items():
            chosen = [i for i in range(47) if values[i] == value]
            alone = evaluate(
                **{side: [rows[i] for i in chosen] for side, rows in batch.items()},
                **options,
                sample_weight=None if weights is None else [weights[i] for i in chosen],
            )
            assert isinstance(part, Report)
            assert json.dumps(part) == json.dumps(alone)
            assert part.signature == alone.signature


def test_one_slice_is_the_whole() -> None:
    report = evaluate(**random_batch(20))
    assert report.by(["all"] * 20)["all"] == report
    # A slice can be cut again.
    parts = report.by(["a", "b"] * 10)
    assert parts["a"].by(["x"] * 10)["x"] == parts["a"]


def test_wrong_slices() -> None:
    report = evaluate(**random_batch(20))
    for n in (19, 21, 0):
        with pytest.raises(ValueError, match=rf"task_type.*{n}.*20"):
            report.by(["a"] * n, name="task_type")


def test_a_report_is_pickled_with_all_it_knows() -> None:
    report = evaluate(
        references=[[[0, 3], [5, 5]], []],
        predictions=[[[0, 3]], []],
        invalid="drop",
        metrics=[*KEYS, span_coverage.at(delta=2)],
    )
    for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report), copy.copy(report)):
        assert isinstance(other, Report)
        assert other == report
        assert list(other) == list(report)
        assert other.signature == report.signature
        assert other.invalid == report.invalid == InvalidCounts(rows=1, dropped=1)
        assert other.to_table() == report.to_table()
        assert other.by(["a", "b"]) == report.by(["a", "b"])


def test_reports_do_not_share_what_they_hold() -> None:
    first = evaluate(**BATCH)
    first["iou"]["score"] = 17.0
    first["meta"]["average"] = "none"
    assert evaluate(**BATCH)["iou"]["score"] == approx(0.52)
    assert evaluate(**BATCH)["meta"]["average"] == "macro"


def test_the_input_is_left_alone() -> None:
    references, predictions = copy.deepcopy(REFERENCES), copy.deepcopy(PREDICTIONS)
    array = np.array([[5, 9], [0, 4]])
    array.flags.writeable = True
    evaluate(references=references, predictions=predictions, include_per_example=True)
    evaluate(references=array, predictions=array, invalid="clip", text="x" * 7)
    assert references == REFERENCES
    assert predictions == PREDICTIONS
    assert array.tolist() == [[5, 9], [0, 4]]
    assert array.flags.writeable


def test_numbers_are_plain() -> None:
    report = evaluate(
        references=np.array([[0, 10]]),
        predictions=np.array([[2, 8]]),
        sample_weight=np.array([2.0], dtype=np.float32),
        include_per_example=True,
    )
    for entry in scores(report):
        assert all(type(value) is float for key, value in entry.items() if key != "per_example")
    assert type(report["meta"]["examples"]) is int
