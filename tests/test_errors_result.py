"""Counts, repaired scores, the worst examples, tables, and the errors of a report."""

from __future__ import annotations

import csv
import io
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import errors_oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycelium
from mycelium import SpanBatch, as_spans, evaluate
from mycelium.errors import ERRORS, KINDS, Errors, find_errors
from mycelium.errors.excerpts import excerpt
from mycelium.formats.files import read_table

TEXT = ["The Eiffel Tower was built in 1899 in Lyon.", "It is 330 metres high.", "Nobody lives there.", "So it is."]
#: Tower: a date that is too wide, a missed place. Height: a split in two, and a spurious span. There: clean.
REFERENCES = [[[30, 34, "date"], [38, 42, "place"]], [[0, 16, "size"]], [], [[0, 2, "x"]]]
PREDICTIONS = [[[27, 34, "date"]], [[0, 5, "size"], [6, 16, "size"], [17, 21, "size"]], [], [[0, 2, "y"], [0, 2, "x"]]]
NAMES = ["tower", "height", "there", "so"]
MODELS = ["a", "b", "a", "b"]
BATCH: dict[str, Any] = {"references": REFERENCES, "predictions": PREDICTIONS}
MORE: dict[str, Any] = {"text": TEXT, "ids": NAMES, "slices": {"model": MODELS}}


def tried(**options: Any) -> Errors:
    return find_errors(**BATCH, **MORE, **{"metrics": ["iou", "character"], **options})


def nonzero(counts: dict[str, dict[str, int]]) -> dict[str, tuple[int, ...]]:
    return {kind: tuple(count.values()) for kind, count in counts.items() if any(count.values())}


# Counts ----------------------------------------------------------------------------------------------------------


def test_counts_by_hand() -> None:
    errors = tried()
    assert errors.verdicts == (
        [["too wide", "missed"], ["split"], [], ["exact"]],
        [["too wide"], ["split", "split", "spurious"], [], ["duplicate", "exact"]],
    )
    # cases, references, predictions
    assert nonzero(errors.counts) == {
        "exact": (1, 1, 1),
        "too wide": (1, 1, 1),
        "split": (1, 1, 2),
        "duplicate": (1, 0, 1),
        "missed": (1, 1, 0),
        "spurious": (1, 0, 1),
    }
    assert list(errors.counts) == list(KINDS)
    assert errors["slices"]["model"]["a"]["examples"] == 2
    assert nonzero(errors["slices"]["model"]["a"]["counts"]) == {"too wide": (1, 1, 1), "missed": (1, 1, 0)}
    assert nonzero(errors["slices"]["model"]["b"]["counts"]) == {
        "exact": (1, 1, 1),
        "split": (1, 1, 2),
        "duplicate": (1, 0, 1),
        "spurious": (1, 0, 1),
    }
    assert errors["meta"] == {"examples": 4, "references": 4, "predictions": 6, "typed": True, "average": "macro"}
    # Columns as KINDS: exact, narrow, wide, shifted, split, merged, wrong type, duplicate, missed, spurious.
    assert errors.cases.tolist() == [
        [0, 0, 1, 0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 1, 0, 0],
    ]


def test_a_merger_is_one_case() -> None:
    errors = find_errors(references=[[[0, 3], [5, 8], [9, 12]]], predictions=[[[1, 12]]], metrics=["iou"])
    assert nonzero(errors.counts) == {"merged": (1, 3, 1)}
    # 9 shared of 12 characters; the three references once it is repaired.
    assert errors["scores"]["iou"]["score"] == 8 / 12
    assert errors["repaired"]["merged"]["iou"]["score"] == 1.0


spans = st.tuples(st.integers(0, 7), st.integers(1, 6), st.sampled_from("AB")).map(lambda x: (x[0], x[0] + x[1], x[2]))
rows = st.lists(
    st.tuples(*[st.lists(spans, max_size=4).map(sorted)] * 2, st.sampled_from("xyz")), min_size=1, max_size=5
)


@given(rows)
def test_counts_add_up(examples: list[tuple[Any, Any, str]]) -> None:
    references, predictions, models = ([example[i] for example in examples] for i in range(3))
    errors = find_errors(
        references=references, predictions=predictions, typed=True, slices={"m": models}, metrics=["iou"], repair=False
    )
    said = [errors_oracle.verdicts(ours, theirs, True) for ours, theirs, _ in examples]
    for side, i in (("references", 0), ("predictions", 1)):
        expected = Counter(word for row in said for word in row[i])
        assert {kind: errors.counts[kind][side] for kind in KINDS} == {kind: expected[kind] for kind in KINDS}
        assert sum(errors.counts[kind][side] for kind in KINDS) == errors["meta"][side]
    for kind in KINDS:
        assert errors.cases[:, KINDS.index(kind)].sum() == errors.counts[kind]["cases"]
        for count in ("cases", "references", "predictions"):
            parts = [part["counts"][kind][count] for part in errors["slices"]["m"].values()]
            assert sum(parts) == errors.counts[kind][count]
    for name, part in errors["slices"]["m"].items():
        at = [i for i, model in enumerate(models) if model == name]
        alone = find_errors(
            references=[references[i] for i in at], predictions=[predictions[i] for i in at], typed=True,
            metrics=["iou"], repair=False,
        )  # fmt: skip
        assert part == {"examples": len(at), "counts": alone.counts}


# Scores ----------------------------------------------------------------------------------------------------------


def test_repaired_scores_by_hand() -> None:
    errors = tried(metrics=["iou"], average="micro")
    # Shared characters / characters of either side: 4/11, 15/20, 0/0, 2/2.
    assert errors["scores"] == {"iou": {"score": 21 / 33}}
    assert {kind: after["iou"]["score"] for kind, after in errors["repaired"].items()} == {
        "too wide": (4 + 15 + 2) / (8 + 20 + 2),
        "split": (4 + 16 + 2) / (11 + 20 + 2),
        "duplicate": 21 / 33,
        "missed": (8 + 15 + 2) / (11 + 20 + 2),
        "spurious": (4 + 15 + 2) / (11 + 16 + 2),
    }
    assert errors.signature == evaluate(**BATCH, metrics=["iou"], average="micro").signature + "|errors:typed"


@given(rows)
def test_scores_are_those_of_evaluate(examples: list[tuple[Any, Any, str]]) -> None:
    references, predictions = ([example[i] for example in examples] for i in (0, 1))
    options: dict[str, Any] = {"metrics": ["iou", "span_coverage(delta=1)"], "average": "micro", "undefined": 0.0}
    errors = find_errors(references=references, predictions=predictions, typed=True, **options)
    report = evaluate(references=references, predictions=predictions, **options)
    assert errors["scores"] == {key: report[key] for key in ("iou", "span_coverage(delta=1)")}
    assert list(errors["repaired"]) == [kind for kind in ERRORS if errors.counts[kind]["cases"]]
    for kind, after in errors["repaired"].items():
        again = evaluate(references=references, predictions=errors.repair(kind), **options)
        assert after == {key: again[key] for key in after}


def test_weights_and_long_names() -> None:
    options: dict[str, Any] = {"metrics": ["iou", "span_coverage"], "sample_weight": [1, 2, 0, 1]}
    errors = find_errors(**BATCH, **options, span_coverage_delta=2)
    report = evaluate(**BATCH, **options, span_coverage_delta=2)
    assert errors["scores"]["span_coverage"] == report["span_coverage"]
    again = evaluate(references=REFERENCES, predictions=errors.repair("spurious"), **options, span_coverage_delta=2)
    assert errors["repaired"]["spurious"] == {key: again[key] for key in ("iou", "span_coverage")}
    assert "weights:yes" in errors.signature


def test_types_reach_typed_metrics() -> None:
    errors = find_errors(references=[[[0, 4, "A"]]], predictions=[[[0, 4, "B"]]], metrics=["strict", "strict_typed"])
    assert errors["scores"]["strict"]["f1"] == errors["repaired"]["wrong type"]["strict"]["f1"] == 1.0
    assert errors["scores"]["strict_typed"]["f1"] == 0.0
    assert errors["repaired"]["wrong type"]["strict_typed"]["f1"] == 1.0


def test_without_repairs() -> None:
    errors = tried(repair=False)
    assert errors["repaired"] == {}
    assert errors["scores"] == tried()["scores"]
    assert "sign" not in errors.to_table()


# The worst -------------------------------------------------------------------------------------------------------


def span(start: int, end: int, type_: str, verdict: str, shown: str) -> dict[str, Any]:
    return {"start": start, "end": end, "type": type_, "verdict": verdict, "excerpt": shown}


def test_the_worst_by_hand() -> None:
    errors = tried()
    # IoU: tower 4/11, height 15/20, so 1 (with a duplicate); there has no error and is left out.
    worst = errors.worst()
    assert [(example["id"], example["errors"]) for example in worst] == [("tower", 2), ("height", 2), ("so", 1)]
    assert worst[0] == {
        "row": 0,
        "id": "tower",
        "slices": {"model": "a"},
        "score": 4 / 11,
        "errors": 2,
        "references": [
            span(30, 34, "date", "too wide", "… Tower was built in »1899« in Lyon."),
            span(38, 42, "place", "missed", "…as built in 1899 in »Lyon«."),
        ],
        "predictions": [span(27, 34, "date", "too wide", "…fel Tower was built »in 1899« in Lyon.")],
    }
    assert errors.worst(1) == worst[:1]
    assert errors.worst(0) == []


def test_ties_go_by_errors_then_by_row() -> None:
    references = [[[0, 4]], [], [[0, 4]], [[9, 12]]]
    predictions = [[], [[0, 2], [3, 4]], [[5, 6]], []]
    errors = find_errors(references=references, predictions=predictions, metrics=["character"], repair=False)
    # All score 0; two errors in rows 1 and 2, one in rows 0 and 3.
    assert [(e["row"], e["errors"]) for e in errors.worst()] == [(1, 2), (2, 2), (0, 1), (3, 1)]
    recalled = errors.worst(metric="character", output="recall")
    assert [e["score"] for e in recalled] == [0.0] * 4


def test_the_metric_of_the_worst() -> None:
    errors = find_errors(
        references=[[[0, 10]], [[0, 10], [20, 21]]], predictions=[[[0, 5]], [[0, 10]]],
        metrics=["character", "exact_span", "iou"],
    )  # fmt: skip
    assert [e["score"] for e in errors.worst()] == [5 / 10, 10 / 11]
    assert [e["score"] for e in errors.worst(metric="exact_span")] == [0.0, 2 / 3]
    assert [(e["row"], e["score"]) for e in errors.worst(metric="exact_span", output="precision")] == [(0, 0), (1, 1)]
    with pytest.raises(KeyError, match="no metric 'f2' of single examples; there are character, exact_span, iou"):
        errors.worst(metric="f2")
    with pytest.raises(ValueError, match="output must be one of 'score', got 'f1'"):
        errors.worst(metric="iou", output="f1")
    with pytest.raises(ValueError, match="n must be a whole number"):
        errors.worst(-1)


@pytest.mark.parametrize(
    ("text", "start", "end", "shown"),
    [
        ("abc", 0, 3, "»abc«"),
        ("a\nb\tc", 2, 3, "a »b« c"),
        ("x" * 20 + "y", 20, 21, "x" * 20 + "»y«"),
        ("x" * 21 + "y" + "z" * 21, 21, 22, "…" + "x" * 20 + "»y«" + "z" * 20 + "…"),
        ("a" * 50 + "b" * 50, 0, 100, "»" + "a" * 30 + "…" + "b" * 30 + "«"),
        ("\x1b[1m", 0, 1, "» «[1m"),
    ],
)
def test_excerpts(text: str, start: int, end: int, shown: str) -> None:
    assert excerpt(text, start, end) == shown


# Tables ----------------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    assert tried(metrics=["iou"], average="micro").to_table().split("\n") == [
        "verdict    cases  references  predictions      iou",
        "exact          1           1            1",
        "too wide       1           1            1  +0.0636",
        "split          1           1            2  +0.0303",
        "duplicate      1           0            1  +0.0000",
        "missed         1           1            0  +0.1212",
        "spurious       1           0            1  +0.0878",
        # All but the exact pair.
        "as it is       5           3            5   0.6364",
        "4 examples, 4 references, 6 predictions, types count; micro average",
        "with a sign: what repairing this kind alone adds to the score below; these need not add up",
        "mycelium|v:0.1.0|avg:micro|undef:default|unit:char|invalid:raise|tol:0|iou|errors:typed",
    ]


def test_the_table_of_slices() -> None:
    errors = tried()
    assert errors.table("model").split("\n") == [
        "model  examples  exact  too wide  split  duplicate  missed  spurious",
        "a             2      0         1      0          0       1         0",
        "b             2      1         0      1          1       0         1",
    ]
    assert errors.table("model", count="predictions").split("\n")[2].split() == ["b", "2", "1", "0", "2", "1", "1"]
    # Values instead of a column; numbers are sorted and written as JSON writes them.
    assert errors.table([2, 1, 2, 1], "csv").split("\n")[1:] == ["1,2,1,0,1,1,0,1", "2,2,0,1,0,0,1,0"]
    with pytest.raises(KeyError, match="no slices 'lang'; there are 'model'"):
        errors.table("lang")
    with pytest.raises(ValueError, match="by has 1 values, references have 4 rows"):
        errors.table(["a"])
    with pytest.raises(ValueError, match="count must be one of"):
        errors.table("model", count="spans")


def test_the_table_of_the_worst() -> None:
    assert tried().worst_table(1).split("\n") == [
        "id     model     iou  errors  side        verdict   span      type   excerpt",
        "tower  a      0.3636       2  reference   too wide  [30, 34)  date   … Tower was built in »1899« in Lyon.",
        "                              reference   missed    [38, 42)  place  …as built in 1899 in »Lyon«.",
        "                              prediction  too wide  [27, 34)  date   …fel Tower was built »in 1899« in Lyon.",
    ]
    bare = find_errors(references=[[[0, 4]]], predictions=[[[4, 5]]], metrics=["character"])
    assert bare.worst_table(format="csv").split("\n") == [
        "id,character_f1,errors,side,verdict,span",
        '0,0.0000,2,reference,missed,"[0, 4)"',
        '0,0.0000,2,prediction,spurious,"[4, 5)"',
    ]


def test_csv() -> None:
    errors = tried(metrics=["iou", "exact_span"])
    table = list(csv.DictReader(io.StringIO(errors.to_table("csv"))))
    whole = [row for row in table if not row["by"]]
    assert [row["verdict"] for row in whole] == [
        "exact", "too wide", "split", "duplicate", "missed", "spurious", "as it is",
    ]  # fmt: skip
    assert float(whole[2]["exact_span.precision"]) == errors["repaired"]["split"]["exact_span"]["precision"]
    assert float(whole[-1]["iou.score"]) == errors["scores"]["iou"]["score"]
    assert [row["predictions"] for row in whole] == ["1", "1", "2", "1", "0", "1", "5"]
    parts = {(row["value"], row["verdict"]): row["cases"] for row in table if row["by"] == "model"}
    assert parts["a", "missed"], parts["b", "missed"] == ("1", "0")


@pytest.mark.parametrize("format", ["text", "markdown", "csv", "html", "latex"])
def test_formats(format: str) -> None:
    errors = find_errors(
        references=[[[0, 3, "<b>"]]], predictions=[[[4, 7, "<b>"]]], text=["<b> </b>"], slices={"<i>": ["<u>"]}
    )
    for table in (errors.to_table(format), errors.table("<i>", format), errors.worst_table(5, format)):
        assert table
        if format == "html":
            assert not {"<b>", "<i>", "<u>"} & {table[i : i + 3] for i in range(len(table))}
    assert errors._repr_html_() == errors.to_table("html")


def test_json(tmp_path: Path) -> None:
    errors = tried()
    content = json.loads(errors.to_json(tmp_path / "errors.json", worst=2))
    assert json.loads((tmp_path / "errors.json").read_text("utf-8")) == content
    assert content["errors"] == errors
    assert content["signature"] == errors.signature
    assert content["worst"] == errors.worst(2)
    assert set(content["invalid"].values()) == {0}
    assert json.loads(errors.to_json())["worst"] == []


def test_pickle() -> None:
    errors = tried()
    back = pickle.loads(pickle.dumps(errors))
    assert back == errors
    assert back.worst() == errors.worst()
    assert back.to_table() == errors.to_table()


# Types -----------------------------------------------------------------------------------------------------------

A, BARE = [[[0, 4, "A"]]], [[[0, 4]]]


@pytest.mark.parametrize(
    ("references", "predictions", "typed"),
    [
        (A, A, True), (A, BARE, False), (BARE, A, False), (BARE, BARE, False),
        (A, [[]], True), ([[]], A, True), ([[]], BARE, False), ([[]], [[]], False),
        ([[[0, 4, "A"], [5, 6]]], BARE, False),
    ],
)  # fmt: skip
def test_whether_types_count(references: Any, predictions: Any, typed: bool) -> None:
    errors = find_errors(references=references, predictions=predictions, metrics=["iou"])
    assert errors["meta"]["typed"] is typed
    assert errors.signature.endswith("|errors:typed" if typed else "|errors:untyped")


def test_types_that_are_lacking() -> None:
    some = [[[0, 4, "A"]], [[0, 4, "A"], [6, 9]]]
    message = r"predictions: row 1, span 1 \[6, 9\] has no type; give every span one, or typed=False"
    with pytest.raises(ValueError, match=message):
        find_errors(references=[A[0], A[0]], predictions=some)
    with pytest.raises(ValueError, match=r"references: row 0, span 0 \[0, 4\] has no type"):
        find_errors(references=BARE, predictions=A, typed=True)
    assert find_errors(references=[A[0], A[0]], predictions=some, typed=False)["meta"]["typed"] is False


# Input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"typed": "yes"}, TypeError, "typed must be None, True or False, got 'yes'"),
        ({"repair": 1}, TypeError, "repair must be True or False, got 1"),
        ({"ids": ["a"]}, ValueError, "ids has 1 values, references have 4 rows"),
        ({"slices": {"m": "abcd"}}, TypeError, r"slices\['m'\] must be a sequence of 4 values"),
        ({"slices": {"m": [1, "1", 2, 3]}}, ValueError, r"slices\['m'\]: row 1 is '1', which looks the same"),
        ({"text": TEXT[:3]}, ValueError, "references has 4 rows, text has 3"),
        ({"predictions": PREDICTIONS[:3]}, ValueError, "numbers of rows differ"),
        ({"metrics": ["soft_correlation"]}, ValueError, "'soft_correlation' reads probabilities"),
        ({"keep_statistics": True}, TypeError, "find_errors.. has no option 'keep_statistics'"),
        ({"groups": [1, 2, 3, 4]}, TypeError, "has no option 'groups'"),
        ({"metrics": ["f2"]}, ValueError, "f2"),
        ({"references": [], "predictions": []}, ValueError, "no examples"),
    ],
)
def test_refusals(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        find_errors(**{**BATCH, **change})


def test_repairs_have_names() -> None:
    with pytest.raises(ValueError, match=r"kinds must be among 'too narrow', .*, got 'exact'"):
        tried().repair("exact")


def test_leniency_is_counted() -> None:
    errors = find_errors(
        references=[[[0, 4]], None], predictions=[[[2, 9]], [[1, 1]]], text=["abcde", "abc"], metrics=["iou"],
        invalid="clip", missing_rows="empty",
    )  # fmt: skip
    assert errors.invalid._asdict() == {"rows": 2, "dropped": 1, "clipped": 1, "missing": 1}
    assert errors.verdicts == ([["shifted"], []], [["shifted"], []])
    assert "leniency: rows 2, dropped 1, clipped 1, missing 1" in errors.to_table()
    assert "invalid:clip" in errors.signature


def test_units_are_converted() -> None:
    errors = find_errors(
        references=[[[3, 6]]], predictions=[[[0, 6]]], text=["\U0001f642 bad fact"], offsets="utf16", metrics=["iou"]
    )
    assert errors.worst()[0]["references"][0]["start"] == 2
    assert errors["scores"]["iou"]["score"] == 3 / 5
    assert "offsets:utf16" in errors.signature


# Reports ---------------------------------------------------------------------------------------------------------


def test_the_errors_of_a_report() -> None:
    report = evaluate(
        **BATCH, text=TEXT, metrics=["iou", "span_coverage"], span_coverage_delta=1, sample_weight=[1, 2, 3, 4]
    )
    errors = report.errors(**MORE)
    expected = find_errors(
        **BATCH, **MORE, metrics=["iou", "span_coverage"], span_coverage_delta=1, sample_weight=[1, 2, 3, 4]
    )
    assert errors == expected
    assert list(errors["scores"]) == ["iou", "span_coverage"]
    assert errors.worst() == expected.worst()
    # By the metric's own name, not by that of the report.
    assert errors.signature == f"{report.signature}|errors:typed"
    assert pickle.loads(pickle.dumps(report)).errors(**MORE) == expected


def test_the_errors_of_one_set() -> None:
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]], text="0123456789", metrics=["iou"])
    assert report.errors(text="0123456789").worst()[0]["references"][0]["excerpt"] == "»0123456789«"


def test_the_errors_of_a_report_with_probabilities() -> None:
    soft = [[{"start": 0, "end": 4, "prob": 0.5}]]
    report = evaluate(
        references=[[[0, 4]]], predictions=[[[0, 2]]], text=["abcde"], metrics=["iou", "soft_correlation"],
        soft_references=soft, soft_predictions=soft,
    )  # fmt: skip
    errors = report.errors()
    assert list(errors["scores"]) == ["iou"]
    assert "soft_correlation" not in errors.signature
    only = evaluate(
        references=[[[0, 4]]], predictions=[[[0, 2]]], text=["abcde"], metrics=["soft_correlation"],
        soft_references=soft, soft_predictions=soft,
    )  # fmt: skip
    with pytest.raises(ValueError, match="all metrics of the report read probabilities"):
        only.errors()


def test_the_errors_of_a_typed_report() -> None:
    from mycelium.typed import evaluate_typed

    options: dict[str, Any] = {"types": ["date", "place", "size", "x", "y"], "overlap_credit": 0.25}
    report = evaluate_typed(**BATCH, **options)
    report._keep(as_spans(REFERENCES), as_spans(PREDICTIONS), True)
    errors = report.errors(**MORE)
    keys = [key for key in report if key not in ("by_type", "confusion", "meta")]
    assert list(errors["scores"]) == keys
    assert errors["scores"]["partial"] == {name: report["partial"][name] for name in ("precision", "recall", "f1")}
    assert errors.signature == f"{report.signature}|errors:typed"
    for kind, after in errors["repaired"].items():
        again = evaluate_typed(references=REFERENCES, predictions=errors.repair(kind), **options)
        assert after == {key: {name: again[key][name] for name in after[key]} for key in keys}
    # An overlap counts .25: of two references and one prediction, of one and three; an exact one of one and two.
    found = {example["id"]: example["score"] for example in errors.worst()}
    assert found == pytest.approx({"height": 2 * 0.25 / 4, "tower": 2 * 0.25 / 3, "so": 2 / 3})
    assert list(found) == ["height", "tower", "so"]
    with pytest.raises(KeyError, match="no metric 'valid_cases' of single examples"):
        errors.worst(metric="valid_cases")


def test_without_a_score_of_examples() -> None:
    errors = find_errors(**BATCH, metrics=["valid_cases"])
    assert [(example["row"], example["score"]) for example in errors.worst()] == [(0, None), (1, None), (3, None)]
    assert errors.worst_table(1).split("\n")[1].split() == ["0", "2", "reference", "too", "wide", "[30,", "34)", "date"]


def test_reports_without_spans() -> None:
    accumulator = mycelium.Accumulator(metrics=["iou"], keep_statistics=True)
    accumulator.update(REFERENCES, PREDICTIONS)
    whole = evaluate(**BATCH, metrics=["iou"])
    dropped = [evaluate(**BATCH, keep_statistics=False, include_per_example=given) for given in (False, True)]
    for report in (accumulator.compute(), whole.by(MODELS)["a"], *dropped):
        with pytest.raises(ValueError, match="this report keeps no spans"):
            report.errors()


# Real data -------------------------------------------------------------------------------------------------------


@pytest.mark.corpora
def test_published_predictions(corpora: Path) -> None:
    """A team's own files: the counts add up, the scores are those of evaluate, and repairing everything is perfect."""
    languages = ("en", "es", "de")
    gold: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for language in languages:
        rows = read_table(str(corpora / "mu_shroom" / "predictions" / f"mushroom-{language}-tst-predicted.jsonl"))
        found |= dict(zip(rows.columns["id"], rows.columns["hard_labels"], strict=True))
        path = next((corpora / "mu_shroom" / "test").glob(f"mushroom.{language}-tst.*.jsonl"))
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
        gold += [{**json.loads(line), "lang": language} for line in lines]
    gold = [row for row in gold if row["id"] in found]
    assert len(gold) > 300
    batch: dict[str, Any] = {
        "references": [row["hard_labels"] for row in gold],
        "predictions": [found[row["id"]] for row in gold],
        "text": [row["model_output_text"] for row in gold],
    }
    errors = find_errors(**batch, slices={"lang": [row["lang"] for row in gold]}, profile="mu_shroom", invalid="drop")
    report = evaluate(**batch, profile="mu_shroom", invalid="drop")
    assert errors["scores"] == {key: report[key] for key in errors["scores"]}
    assert errors.invalid == report.invalid
    for side in ("references", "predictions"):
        assert sum(errors.counts[kind][side] for kind in KINDS) == errors["meta"][side]
    # Where there are few spans, every possible matching is tried.
    tried = 0
    options: dict[str, Any] = {"invalid": "drop", "text": batch["text"]}
    ours, theirs = (as_spans(batch[name], **options).tolist() for name in ("references", "predictions"))
    for gold_spans, pred_spans, *said in zip(ours, theirs, *errors.verdicts, strict=True):
        if len(gold_spans) * len(pred_spans) <= 16:
            tried += 1
            spans = [sorted((start, end, "") for start, end in side) for side in (gold_spans, pred_spans)]
            expected = errors_oracle.verdicts(spans[0], spans[1], False)
            for side, words, right in zip((gold_spans, pred_spans), said, expected, strict=True):
                mine = Counter((*span, word) for span, word in zip(side, words, strict=True))
                assert mine == Counter(
                    (*span[:2], word) for span, word in zip(sorted(map(tuple, side)), right, strict=True)
                )
    assert tried > 300
    perfect = find_errors(**{**batch, "predictions": errors.repair()}, metrics=["iou"], invalid="drop")
    assert perfect["scores"]["iou"]["score"] == 1.0
    assert sum(perfect.counts[kind]["cases"] for kind in ERRORS) == 0


def test_a_hundred_thousand_examples() -> None:
    """One verdict a span, whatever the size; many blocks of rows at once."""
    n = 100_000
    rng = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))])
        start = rng.integers(0, 60, offsets[-1])
        sides.append(SpanBatch(offsets, start, start + rng.integers(1, 20, offsets[-1])))
    errors = find_errors(references=sides[0], predictions=sides[1], metrics=["iou"], repair=False)
    for side, batch in zip(("references", "predictions"), sides, strict=True):
        assert sum(errors.counts[kind][side] for kind in KINDS) == len(batch.start)
    part = find_errors(references=sides[0][5000:5200], predictions=sides[1][5000:5200], metrics=["iou"], repair=False)
    assert part.verdicts == tuple(side[5000:5200] for side in errors.verdicts)
