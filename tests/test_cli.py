"""The command line: what it prints, where, and how it ends.

Numbers are worked out by hand in the tests, or are those of ``mycelium.evaluate`` on the same spans, whose own values
are tested elsewhere: the command line must add nothing and lose nothing.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mycelium
from mycelium.cli import main
from mycelium.cli.common import join_metrics
from mycelium.cli.entry import build_parser
from mycelium.metrics import available

REPOSITORY = Path(mycelium.__file__).parent.parent

#: Four answers of ten characters, two tasks.
GOLD = [
    {"id": "a", "text": "0123456789", "spans": [[0, 10]], "task": "qa"},
    {"id": "b", "text": "0123456789", "spans": [], "task": "qa"},
    {"id": "c", "text": "0123456789", "spans": [[0, 4], [6, 8]], "task": "sum"},
    {"id": "d", "text": "0123456789", "spans": [[2, 6]], "task": "sum"},
]
PRED = [
    {"id": "a", "spans": [[2, 8]]},
    {"id": "b", "spans": [[0, 3]]},
    {"id": "c", "spans": [[0, 4]]},
    {"id": "d", "spans": [[2, 6]]},
]
#: Characters in both masks over characters in either, row by row: 6/10, 0/3, 4/6, 4/4.
IOU = [0.6, 0.0, 4 / 6, 1.0]


def write(path: Path, records: list[Any]) -> str:
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def gold(tmp_path: Path) -> str:
    return write(tmp_path / "gold.jsonl", GOLD)


@pytest.fixture
def pred(tmp_path: Path) -> str:
    return write(tmp_path / "pred.jsonl", PRED)


def expected(**options: Any) -> mycelium.Report:
    return mycelium.evaluate(
        references=[row["spans"] for row in GOLD],
        predictions=[row["spans"] for row in PRED],
        text=[row["text"] for row in GOLD],
        **options,
    )


class Ran:
    """What a command line gave."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def _run(*argv: str) -> Ran:
        try:
            status = main(list(argv))
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(status, captured.out, captured.err)

    return _run


def process(
    *argv: str, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})}
    return subprocess.run(
        [sys.executable, "-m", "mycelium", *argv], input=stdin, capture_output=True, env=environment, check=False
    )


# -- score: the numbers


def test_score_prints_a_table_with_the_signature_under_it(run: Any, gold: str, pred: str) -> None:
    ran = run("score", gold, pred)
    lines = ran.out.split("\n")
    assert (ran.status, ran.err) == (0, "")
    assert [line.split()[0] for line in lines[:7]] == ["metric", *mycelium.metrics.DEFAULT]
    assert lines[2].split() == ["iou", f"{sum(IOU) / 4:.4f}"]
    assert lines[7] == "4 examples, macro average"
    assert lines[8] == expected().signature
    assert lines[9:] == [""]


def test_score_json_is_the_report(run: Any, gold: str, pred: str) -> None:
    content = run("score", gold, pred, "--format", "json").json
    assert list(content) == ["report", "signature", "slices"]
    assert content["report"] == dict(expected())
    assert content["signature"] == expected().signature
    assert content["slices"] == {}
    assert content["report"]["iou"]["score"] == pytest.approx(sum(IOU) / 4, abs=1e-15)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (["--profile", "ragtruth"], {"profile": "ragtruth"}),
        (["--profile", "mu-shroom"], {"profile": "mu_shroom"}),
        (["--average", "micro"], {"average": "micro"}),
        (["--profile", "ragtruth", "--average", "macro"], {"profile": "ragtruth", "average": "macro"}),
        (["--metrics", "iou"], {"metrics": ["iou"]}),
        (["--metrics", "iou,character"], {"metrics": ["iou", "character"]}),
        (["--metrics", "iou character"], {"metrics": ["iou", "character"]}),
        (["--metrics", "iou", "character"], {"metrics": ["iou", "character"]}),
        (["--metrics=iou", "character"], {"metrics": ["iou", "character"]}),
        (["--metrics", "iou", "--metrics", "response"], {"metrics": ["iou", "response"]}),
        (
            ["--metrics", "span_coverage(delta=2, min_pred_len=4), iou"],
            {"metrics": ["span_coverage(delta=2,min_pred_len=4)", "iou"]},
        ),
        (
            ["--metrics", "span_coverage", "span_coverage(delta=2)"],
            {"metrics": ["span_coverage", "span_coverage(delta=2)"]},
        ),
        (["--undefined", "0"], {"undefined": 0.0}),
        (["--undefined", "1", "--tolerance", "1e-9"], {"undefined": 1.0, "tolerance": 1e-9}),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_options_reach_evaluate(
    run: Any, gold: str, pred: str, arguments: list[str], options: dict[str, Any], before: bool
) -> None:
    files = [gold, pred, "--format", "json"]
    content = run("score", *arguments, *files).json if before else run("score", *files, *arguments).json
    assert content["report"] == dict(expected(**options))
    assert content["signature"] == expected(**options).signature


def test_metric_names_do_not_swallow_file_names() -> None:
    assert join_metrics(["score", "--metrics", "iou", "character,", "gold.jsonl", "pred.jsonl"]) == [
        "score", "--metrics", "iou character,", "gold.jsonl", "pred.jsonl",
    ]  # fmt: skip
    assert join_metrics(["--metrics", "iou", "--by", "character"]) == ["--metrics", "iou", "--by", "character"]
    assert join_metrics(["score", "iou", "character"]) == ["score", "iou", "character"]


def test_slices_are_the_scores_of_their_rows(run: Any, gold: str, pred: str) -> None:
    content = run("score", gold, pred, "--by", "task", "--by", "id", "--metrics", "iou", "--format", "json").json
    tasks = {name: part["iou"]["score"] for name, part in content["slices"]["task"].items()}
    assert tasks == {"qa": pytest.approx(0.3), "sum": pytest.approx(5 / 6)}
    assert content["slices"]["task"]["qa"]["meta"]["examples"] == 2
    assert {name: part["iou"]["score"] for name, part in content["slices"]["id"].items()} == dict(
        zip("abcd", IOU, strict=True)
    )
    table = run("score", gold, pred, "--by", "task", "--metrics", "iou").out
    assert table.split("\n")[-4:] == ["task  examples     iou", "qa           2  0.3000", "sum          2  0.8333", ""]


def test_slices_may_come_from_the_predictions(run: Any, gold: str, tmp_path: Path) -> None:
    records = [{**row, "system": "x" if row["id"] in "ac" else "y"} for row in reversed(PRED)]
    content = run("score", gold, write(tmp_path / "p.jsonl", records), "--by", "system", "--format", "json").json
    scores = {name: part["iou"]["score"] for name, part in content["slices"]["system"].items()}
    assert scores == {"x": pytest.approx((IOU[0] + IOU[2]) / 2), "y": pytest.approx((IOU[1] + IOU[3]) / 2)}


def test_slices_are_named_as_json_writes_their_values(run: Any, tmp_path: Path) -> None:
    values = [0.7, None, True, "1"]
    gold = write(tmp_path / "g.jsonl", [{**row, "v": value} for row, value in zip(GOLD, values, strict=True)])
    pred = write(tmp_path / "p.jsonl", PRED)
    assert set(run("score", gold, pred, "--by", "v", "--format", "json").json["slices"]["v"]) == {
        "0.7", "null", "true", "1",
    }  # fmt: skip
    gold = write(tmp_path / "g.jsonl", [{**row, "v": value} for row, value in zip(GOLD, [1, "1", 2, 2], strict=True)])
    assert "numbers and strings that look the same" in run("score", gold, pred, "--by", "v").err
    ran = run("score", gold, pred, "--by", "spans")
    assert ran.status == 1
    assert "spans cannot name slices, it holds lists" in ran.err
    ran = run("score", gold, pred, "--by", "lang")
    assert (ran.status, "no column 'lang' for --by; it has id, text, spans, task, v" in ran.err) == (1, True)


def test_csv_holds_every_number_in_full(run: Any, gold: str, pred: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("score", gold, pred, "--by", "task", "--format", "csv").out)))
    report = expected()
    assert len(rows) == 6 * 3
    for row in rows[:6]:
        scores = report[row["metric"]]
        assert {k: float(row[k]) for k in ("precision", "recall", "f1", "score") if row[k]} == scores
        assert (row["by"], row["value"], row["examples"], row["average"]) == ("", "", "4", "macro")
        assert row["signature"] == report.signature
    assert {(row["by"], row["value"]) for row in rows[6:]} == {("task", "qa"), ("task", "sum")}


def test_markdown(run: Any, gold: str, pred: str) -> None:
    out = run("score", gold, pred, "--by", "task", "--format", "markdown").out
    assert out.startswith("| metric ")
    assert f"`{expected().signature}`" in out
    assert "| qa " in out


def test_per_example_lines(run: Any, gold: str, pred: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    content = run("score", gold, pred, "--by", "task", "--format", "json", "--per-example", str(path)).json
    assert content["report"] == dict(expected())
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == list("abcd")
    assert [row["scores"]["iou"] for row in rows] == pytest.approx(IOU)
    assert rows[0]["by"] == {"task": "qa"}
    # [2, 8] in [0, 10]: every predicted character is right, 6 of 10 are found.
    assert rows[0]["scores"]["character"] == {"precision": 1.0, "recall": 0.6, "f1": 0.75}


# -- score: intervals


@pytest.fixture
def many(tmp_path: Path) -> tuple[str, str, list[Any], list[Any]]:
    """Return 160 answers on 40 documents, whose rows stand in different orders in the two files, and their rows."""
    rows = [
        {**GOLD[i % 4], "id": f"{i:03}", "doc": (7 * (i // 4)) % 40, "task": "sum" if i % 4 == 3 else "qa"}
        for i in range(160)
    ]
    found = [{"id": row["id"], "spans": PRED[(i + i // 40) % 4]["spans"]} for i, row in enumerate(rows)]
    gold, pred = write(tmp_path / "many.jsonl", rows), write(tmp_path / "found.jsonl", found[::-1])
    return gold, pred, rows, found


def of_many(many: tuple[str, str, list[Any], list[Any]], **options: Any) -> mycelium.Report:
    _, _, rows, found = many
    sides = {"references": [row["spans"] for row in rows], "predictions": [row["spans"] for row in found]}
    return mycelium.evaluate(**sides, text=[row["text"] for row in rows], **options)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--level", "0.8", "--resamples", "70", "--seed", "5"], {"level": 0.8, "n_resamples": 70, "seed": 5}),
        (["--ci-method", "bca"], {"method": "bca"}),
        (["--ci-method", "basic", "--groups", "doc"], {"method": "basic", "groups": "doc"}),
    ],
)
def test_intervals_are_those_of_the_report(run: Any, many: Any, arguments: list[str], options: dict[str, Any]) -> None:
    gold, pred, rows, _ = many
    if "groups" in options:
        options = {**options, "groups": [row["doc"] for row in rows]}
    ran = run("score", gold, pred, "--ci", *arguments, "--by", "task", "--format", "json", "--average", "micro")
    report, by = of_many(many, average="micro"), [row["task"] for row in rows]
    intervals, slices = report.confidence_intervals(**options), report.confidence_intervals(**options, by=by)
    content = ran.json
    assert list(content) == ["report", "signature", "intervals", "slices", "slice_intervals"]
    assert content["report"] == dict(report)
    assert content["intervals"] == dict(intervals)
    assert content["signature"] == intervals.signature
    assert content["slices"] == {"task": report.by(by)}
    assert content["slice_intervals"] == {"task": slices}
    assert ran.err == ""
    assert set(slices) == {"qa", "sum"}


def test_intervals_as_tables(run: Any, many: Any) -> None:
    gold, pred, rows, _ = many
    report = of_many(many, groups=[row["doc"] for row in rows], metrics=["iou", "character"])
    intervals, slices = (report.confidence_intervals(by=by) for by in (None, [row["task"] for row in rows]))
    arguments = ["score", gold, pred, "--ci", "--groups", "doc", "--by", "task", "--metrics", "iou,character"]
    for format, edge in (("table", ""), ("markdown", "| ")):
        out = run(*arguments, "--format", format).out
        assert out.startswith(
            intervals.to_table("text" if format == "table" else "markdown") + "\n\nF1 or score by task"
        )
        lines = out.splitlines()[-2:]
        for (name, part), (examples, line) in zip(slices.items(), ((120, lines[0]), (40, lines[1])), strict=True):
            assert line.startswith(f"{edge}{name}")
            assert re.findall(r"[\d.]+", line)[:2] == [str(examples), str(part["meta"]["units"])]
            for key, output in (("iou", "score"), ("character", "f1")):
                low, high = part[key][output]
                assert f"{part.scores[key][output]:.4f} [{low:.4f}, {high:.4f}]" in line


def test_intervals_as_csv(run: Any, many: Any) -> None:
    gold, pred, rows, _ = many
    report = of_many(many, groups=[row["doc"] for row in rows])
    parts = {"": report.confidence_intervals(), **report.confidence_intervals(by=[row["task"] for row in rows])}
    out = run("score", gold, pred, "--ci", "--groups", "doc", "--by", "task", "--format", "csv").out
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [(line["value"], line["metric"]) for line in lines] == [(v, k) for v in parts for k in parts[v].scores]
    for line in lines:
        part = parts[line["value"]]
        assert line["signature"] == part.signature
        assert line["units"] == str(part["meta"]["units"])
        for output in ("precision", "recall", "f1", "score"):
            cells = [line[output], line[f"{output}_low"], line[f"{output}_high"]]
            if output in part.scores[line["metric"]]:
                numbers = [part.scores[line["metric"]][output], *part[line["metric"]][output]]
                assert [float(cell) for cell in cells] == numbers
            else:
                assert cells == ["", "", ""]


def test_intervals_and_rows_together(run: Any, many: Any, tmp_path: Path) -> None:
    gold, pred, _, _ = many
    path = tmp_path / "rows.jsonl"
    with_rows = run("score", gold, pred, "--ci", "--per-example", str(path), "--format", "json")
    assert with_rows.out == run("score", gold, pred, "--ci", "--format", "json").out
    assert len(path.read_text(encoding="utf-8").splitlines()) == 160


def test_few_rows_are_mentioned(run: Any, gold: str, pred: str) -> None:
    ran = run("score", gold, pred, "--ci", "--by", "task")
    assert ran.status == 0
    assert ran.err.splitlines() == [
        "mycelium: intervals from 4 examples are likely too narrow: resampling needs at least 30 examples, so read them"
        " as a lower bound of the uncertainty or score more examples",
        "mycelium: intervals of slices with few examples, qa (2), sum (2), are likely too narrow: resampling needs at"
        " least 30 examples, so read them as a lower bound of the uncertainty or score more examples",
    ]


def test_groups_that_cannot_be_used(run: Any, gold: str, pred: str, tmp_path: Path) -> None:
    for values, message in (
        (["x", None, "y", "y"], "g.jsonl:2: no doc, and every row needs a group"),
        (["x", "y", ["z"], "y"], "g.jsonl:3: doc must be a string or an integer, got ['z']"),
        (["x", 1, "y", "y"], "g.jsonl: doc holds strings and numbers: give all groups one type"),
    ):
        path = write(tmp_path / "g.jsonl", [{**row, "doc": v} for row, v in zip(GOLD, values, strict=True)])
        ran = run("score", path, pred, "--ci", "--groups", "doc")
        assert (ran.status, ran.out) == (1, "")
        assert message in ran.err
    ran = run("score", gold, pred, "--ci", "--groups", "doc")
    assert (ran.status, "no column 'doc' for --groups; it has id, text, spans, task" in ran.err) == (1, True)


def test_groups_may_come_from_the_predictions(run: Any, gold: str, tmp_path: Path) -> None:
    records = [{**row, "doc": "x" if row["id"] in "ac" else "y"} for row in reversed(PRED)]
    content = run(
        "score", gold, write(tmp_path / "p.jsonl", records), "--ci", "--groups", "doc", "--format", "json"
    ).json
    report = expected(groups=["x", "y", "x", "y"])
    with pytest.warns(UserWarning, match="from 2 groups"):
        assert content["intervals"] == report.confidence_intervals()


def test_output_goes_to_the_file(run: Any, gold: str, pred: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    ran = run("score", gold, pred, "--format", "json", "--output", str(path))
    assert (ran.status, ran.out) == (0, "")
    assert json.loads(path.read_text(encoding="utf-8"))["report"] == dict(expected())
    assert sorted(os.listdir(tmp_path)) == ["gold.jsonl", "pred.jsonl", "scores.json"]


def test_soft_correlation_reads_the_soft_labels(run: Any, tmp_path: Path) -> None:
    text = "0123456789"
    soft = [{"start": 0, "end": 5, "prob": 0.9}]
    gold = write(tmp_path / "g.jsonl", [{"id": 1, "text": text, "hard_labels": [], "soft_labels": soft}])
    swapped = [{"start": 5, "end": 10, "prob": 0.4}]
    pred = write(tmp_path / "p.jsonl", [{"id": 1, "hard_labels": [], "soft_labels": swapped}])
    report = run("score", gold, pred, "--metrics", "soft_correlation", "--format", "json").json["report"]
    # 1111100000 against 0000011111.
    assert report["soft_correlation"]["score"] == pytest.approx(-1.0)
    bare = write(tmp_path / "q.jsonl", [{"id": 1, "hard_labels": [], "soft_labels": [{"start": 5, "end": 10}]}])
    ran = run("score", gold, bare, "--metrics", "soft_correlation")
    assert (ran.status, "q.jsonl:1: soft label without prob" in ran.err) == (1, True)
    ran = run("score", gold, write(tmp_path / "r.jsonl", [{"id": 1, "spans": []}]), "--metrics", "soft_correlation")
    assert (ran.status, "no soft label column (soft_labels); it has id, spans: name one with --soft" in ran.err) == (
        1,
        True,
    )


# -- score: input


def _as_csv(records: list[dict[str, Any]], delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        writer.writerow([json.dumps(v) if isinstance(v, list) else v for v in record.values()])
    return out.getvalue()


def test_every_format_gives_the_same_report(run: Any, gold: str, tmp_path: Path) -> None:
    columns = {name: [row[name] for row in PRED] for name in PRED[0]}
    contents = {
        "p.jsonl": "".join(json.dumps(row) + "\n" for row in PRED),
        "p.ndjson": "".join(json.dumps(row) + "\r\n" for row in PRED),
        "p.json": json.dumps(PRED, indent=1),
        "q.json": json.dumps(columns),
        "p.csv": _as_csv(PRED, ","),
        "p.tsv": _as_csv(PRED, "\t"),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {"id": columns["id"], "spans": pa.array(columns["spans"], pa.list_(pa.list_(pa.int64())))}
    pq.write_table(pa.table(table), tmp_path / "p.parquet")
    pq.write_table(pa.table({name: column[::-1] for name, column in table.items()}), tmp_path / "q.parquet")
    for name in [*contents, "p.parquet", "q.parquet"]:
        assert run("score", gold, str(tmp_path / name), "--format", "json").json["report"] == dict(expected()), name
    # And on the other side, with the texts.
    gold_table = {name: [row[name] for row in GOLD] for name in GOLD[0]}
    pq.write_table(pa.table(gold_table), tmp_path / "g.parquet")
    (tmp_path / "g.csv").write_text(_as_csv(GOLD, ","), encoding="utf-8")
    for name in ("g.parquet", "g.csv"):
        content = run("score", str(tmp_path / name), str(tmp_path / "p.tsv"), "--by", "task", "--format", "json").json
        assert content["report"] == dict(expected()), name
        assert list(content["slices"]["task"]) == ["qa", "sum"]


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_standard_input(gold: str, format: str) -> None:
    data = "".join(json.dumps(row) + "\n" for row in PRED) if format == "jsonl" else _as_csv(PRED, ",")
    option = [] if format == "jsonl" else ["--input-format", "csv"]
    ran = process("score", gold, "-", "--format", "json", *option, stdin=data.encode())
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["report"] == dict(expected())


def test_columns_are_found_and_named(run: Any, tmp_path: Path) -> None:
    for names in [("labels", "response"), ("hard_labels", "model_output_text"), ("hallucination_labels", "output")]:
        gold = write(
            tmp_path / "g.jsonl",
            [{"id": row["id"], names[0]: row["spans"], names[1]: row["text"]} for row in GOLD],
        )
        pred = write(tmp_path / "p.jsonl", [{"id": row["id"], names[0]: row["spans"]} for row in PRED])
        assert run("score", gold, pred, "--format", "json").json["report"] == dict(expected()), names
    # Spans as JSON texts, as one published corpus has them.
    pred = write(tmp_path / "p.jsonl", [{"id": r["id"], "hallucination_labels": json.dumps(r["spans"])} for r in PRED])
    assert run("score", gold, pred, "--format", "json").json["report"] == dict(expected())
    # Names of their own in each file.
    gold = write(tmp_path / "g.jsonl", [{"key": r["id"], "people": r["spans"], "said": r["text"]} for r in GOLD])
    pred = write(tmp_path / "p.jsonl", [{"row": r["id"], "system": r["spans"], "spans": "none"} for r in PRED[::-1]])
    named = ["--id", "key", "--spans", "people", "--text", "said", "--pred-id", "row", "--pred-spans", "system"]
    assert run("score", gold, pred, *named, "--format", "json").json["report"] == dict(expected())
    # The first present in the documented order wins.
    both = write(tmp_path / "p.jsonl", [{"id": r["id"], "labels": [[0, 1]], "spans": r["spans"]} for r in PRED])
    gold = write(tmp_path / "g.jsonl", GOLD)
    assert run("score", gold, both, "--format", "json").json["report"] == dict(expected())
    for option in ("--spans", "--id", "--text"):
        ran = run("score", gold, both, option, "nothing")
        assert (ran.status, "column 'nothing'; it has id, " in ran.err) == (1, True), option
    ran = run("score", gold, write(tmp_path / "p.jsonl", [{"id": "a", "found": []}]), "--missing", "empty")
    assert "no span column (spans, hard_labels, labels, hallucination_labels); it has id, found" in ran.err


def test_one_file_may_hold_both_sides(run: Any, tmp_path: Path) -> None:
    records = [{**g, "found": p["spans"]} for g, p in zip(GOLD, PRED, strict=True)]
    path = write(tmp_path / "both.jsonl", records)
    assert run("score", path, path, "--pred-spans", "found", "--format", "json").json["report"] == dict(expected())


def test_rows_are_paired_by_id(run: Any, gold: str, tmp_path: Path) -> None:
    shuffled = write(tmp_path / "p.jsonl", [PRED[i] for i in (2, 0, 3, 1)])
    ran = run("score", gold, shuffled, "--format", "json", "--by", "task")
    assert ran.json["report"] == dict(expected())
    assert ran.err == ""


def test_predictions_are_checked_against_the_text_of_their_own_row(run: Any, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", [{"id": n, "text": "x" * n, "spans": [[0, n]]} for n in (3, 9, 6)])
    pred = write(tmp_path / "p.jsonl", [{"id": n, "spans": [[0, n]]} for n in (9, 6, 3)])
    assert run("score", gold, pred, "--metrics", "iou", "--format", "json").json["report"]["iou"]["score"] == 1.0
    long = write(tmp_path / "q.jsonl", [{"id": n, "spans": [[0, n + (n == 6)]]} for n in (9, 6, 3)])
    ran = run("score", gold, long)
    assert "line 2, span 0 [0, 7]: past the end of the text (6 characters)" in ran.err
    assert "line 1," not in ran.err


def test_rows_without_ids_are_paired_by_order_and_it_is_said(run: Any, gold: str, tmp_path: Path) -> None:
    bare = write(tmp_path / "p.jsonl", [{"spans": row["spans"]} for row in PRED])
    ran = run("score", gold, bare, "--format", "json")
    assert ran.json["report"] == dict(expected())
    assert ran.err == f"mycelium: {bare} has no column 'id': rows are paired by order\n"
    short = write(tmp_path / "p.jsonl", [{"spans": row["spans"]} for row in PRED[:3]])
    ran = run("score", gold, short)
    assert (ran.status, ran.out) == (1, "")
    assert f"cannot be paired by order: {gold} has 4, {short} has 3" in ran.err
    ran = run("score", short, gold)
    assert f"{short} has 3, {gold} has 4" in ran.err


def test_ids_are_not_changed(run: Any, tmp_path: Path) -> None:
    keys = ["001", "1", "18_19", "1344800117571260417"]
    gold = write(tmp_path / "g.jsonl", [{**row, "id": key} for row, key in zip(GOLD, keys, strict=True)])
    records = [{**row, "id": key} for row, key in zip(PRED, keys, strict=True)]
    for name, content in (
        ("p.jsonl", "".join(json.dumps(r) + "\n" for r in records[::-1])),
        ("p.csv", _as_csv(records[::-1], ",")),
        ("p.json", json.dumps(records[::-1])),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert run("score", gold, str(tmp_path / name), "--format", "json").json["report"] == dict(expected()), name
    one_less = write(tmp_path / "q.jsonl", records[:1] + records[2:])
    ran = run("score", gold, one_less)
    assert ran.status == 1
    assert f"{one_less}: id '1': no prediction for {gold}:2" in ran.err
    # Row "1" has no reference span: without a prediction it is right, and it was 0.
    ran = run("score", gold, one_less, "--missing", "empty", "--format", "json")
    assert ran.json["report"]["iou"]["score"] == pytest.approx((sum(IOU) + 1.0) / 4)
    assert ran.err.splitlines() == [
        "mycelium: counted 1 row without a prediction as empty",
        "mycelium: leniency: 1 missing (references and predictions together)",
    ]
    assert "missing:empty" in ran.json["signature"]


@pytest.mark.parametrize("missing", ["raise", "empty"])
def test_unknown_repeated_and_absent_ids_are_refused(run: Any, gold: str, tmp_path: Path, missing: str) -> None:
    pred = write(tmp_path / "p.jsonl", [*PRED, {"id": "z", "spans": []}])
    ran = run("score", gold, pred, "--missing", missing)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == f"mycelium: {pred}:5: id 'z': unknown, {gold} has no such row\n"
    pred = write(tmp_path / "p.jsonl", [*PRED, PRED[0], {"id": None, "spans": []}, {"id": 1.5, "spans": []}])
    ran = run("score", gold, pred, "--missing", missing)
    assert ran.err.splitlines() == [
        f"mycelium: {pred}:5: id 'a': duplicate of {pred}:1",
        f"mycelium: {pred}:6: no id",
        f"mycelium: {pred}:7: id must be a string or an integer, got 1.5",
    ]


def test_many_problems_of_a_kind_are_counted(run: Any, gold: str, tmp_path: Path) -> None:
    pred = write(tmp_path / "p.jsonl", PRED + [{"id": f"z{i}", "spans": []} for i in range(30)])
    lines = run("score", gold, pred).err.splitlines()
    assert len(lines) == 11
    assert lines[-1] == "mycelium: ... and 20 more of this kind, 30 in all"


def test_ids_of_two_types_are_recognised(run: Any, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", [{**row, "id": i} for i, row in enumerate(GOLD)])
    pred = write(tmp_path / "p.jsonl", [{**row, "id": str(i)} for i, row in enumerate(PRED)])
    ran = run("score", gold, pred)
    assert ran.status == 1
    assert "the ids of the two files differ in type only" in ran.err


def test_false_alarms_on_clean_rows_cost(run: Any, tmp_path: Path) -> None:
    """Exact P 1/2, R 1; characters P 4/7, R 1. A row that is not annotated is refused, not scored as clean."""
    gold = write(tmp_path / "g.jsonl", [{"id": "a", "spans": []}, {"id": "b", "spans": [[0, 4]]}])
    pred = write(tmp_path / "p.jsonl", [{"id": "a", "spans": [[0, 3]]}, {"id": "b", "spans": [[0, 4]]}])
    report = run("score", gold, pred, "--average", "micro", "--format", "json").json["report"]
    assert report["exact_span"] == {"precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3)}
    assert report["character"] == {"precision": pytest.approx(4 / 7), "recall": 1.0, "f1": pytest.approx(8 / 11)}
    null = write(tmp_path / "n.jsonl", ["", {"id": "b", "spans": [[0, 4]]}, {"id": "a", "spans": None}])
    ran = run("score", null, pred)
    assert (ran.status, ran.out) == (1, "")
    # Line 1 is blank; the row is named by its line in the file.
    assert f"{null}: 1 row without annotation (None): line 3;" in ran.err
    assert "--missing-rows empty" in ran.err
    ran = run("score", null, pred, "--missing-rows", "empty", "--average", "micro", "--format", "json")
    assert ran.json["report"]["exact_span"]["precision"] == 0.5
    assert "1 missing" in ran.err


def test_invalid_spans(run: Any, gold: str, tmp_path: Path) -> None:
    records: list[Any] = [{**row} for row in PRED]
    records[2] = {"id": "c", "spans": [[0, 4], [-1, -1], [8, 12]]}
    pred = write(tmp_path / "p.jsonl", ["", records[3], records[2], records[1], records[0]])
    output = tmp_path / "out.txt"
    ran = run("score", gold, pred, "--output", str(output))
    assert (ran.status, ran.out, output.exists()) == (1, "", False)
    assert len(ran.err.splitlines()) == 1
    assert f"{pred}: 2 invalid spans in 1 row: line 3, span 1 [-1, -1]: negative; line 3, span 2 [8, 12]" in ran.err
    ran = run("score", gold, pred, "--invalid", "drop", "--format", "json")
    assert ran.json["report"] == dict(expected())
    assert "invalid:drop" in ran.json["signature"]
    assert ran.err == "mycelium: leniency: 1 rows, 2 dropped (references and predictions together)\n"
    ran = run("score", gold, pred, "--invalid", "clip", "--format", "json", "--metrics", "iou")
    # Row c becomes [0, 4] and [8, 10] against [0, 4] and [6, 8]: 4 of 8.
    assert ran.json["report"]["iou"]["score"] == pytest.approx((0.6 + 0 + 0.5 + 1) / 4)
    assert "1 rows, 1 dropped, 1 clipped" in ran.err


@pytest.mark.parametrize("spans", [[3, 7], "3-7", [[3.0, 7]], [["3", 7]], [[7, 3]], 5, [[True, 2]], {"x": 1}])
def test_spans_of_the_wrong_form_are_refused(run: Any, gold: str, tmp_path: Path, spans: Any) -> None:
    # Every row, so that a whole column in the wrong form is not taken for something else.
    pred = write(tmp_path / "p.jsonl", [{"id": row["id"], "spans": spans} for row in GOLD])
    ran = run("score", gold, pred, "--invalid", "drop")
    assert (ran.status, ran.out) == (1, "")
    assert str(pred) in ran.err


def test_one_set_per_file_is_not_guessed(run: Any, tmp_path: Path) -> None:
    """Two rows [0, 4] and [6, 9] would make a fine span set; rows they are, and no lists of spans."""
    path = write(tmp_path / "g.jsonl", [{"spans": [0, 4]}, {"spans": [6, 9]}])
    ran = run("score", path, path)
    assert (ran.status, ran.out) == (1, "")


def test_units_of_offsets(run: Any, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", [{"id": 1, "text": "🙂 bad fact", "spans": [[3, 6]]}])
    pred = write(tmp_path / "p.jsonl", [{"id": 1, "spans": [[3, 5]]}])
    content = run("score", gold, pred, "--offsets", "utf16", "--format", "json", "--metrics", "iou").json
    assert content["report"]["iou"]["score"] == pytest.approx(2 / 3)
    assert "offsets:utf16" in content["signature"]
    content = run("score", gold, pred, "--end", "inclusive", "--format", "json", "--metrics", "iou").json
    assert content["report"]["iou"]["score"] == pytest.approx(3 / 4)
    assert "end:inclusive" in content["signature"]


def test_a_differing_text_in_the_predictions_is_mentioned(run: Any, gold: str, tmp_path: Path) -> None:
    records = [{**row, "text": "0123456789"} for row in PRED]
    records[1]["text"] = " 0123456789"
    pred = write(tmp_path / "p.jsonl", records)
    ran = run("score", gold, pred, "--format", "json")
    assert ran.json["report"] == dict(expected())
    assert f"{pred}:2: text is not the text of the reference" in ran.err


def test_texts_must_be_strings(run: Any, pred: str, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", [{**row, "text": None if row["id"] == "c" else row["text"]} for row in GOLD])
    ran = run("score", gold, pred)
    assert (ran.status, f"{gold}:3: text is no string" in ran.err) == (1, True)


def test_where_chooses_rows(run: Any, gold: str, pred: str, tmp_path: Path) -> None:
    ran = run("score", gold, pred, "--where", "task=sum", "--metrics", "iou", "--format", "json")
    assert ran.json["report"]["iou"]["score"] == pytest.approx(5 / 6)
    assert ran.json["report"]["meta"]["examples"] == 2
    assert f"{pred}: 2 rows are not scored, --where leaves theirs out" in ran.err
    only = write(tmp_path / "q.jsonl", PRED[:1])
    ran = run("score", gold, only, "--where", "task=qa", "--where", "id=a", "--metrics", "iou", "--format", "json")
    assert (ran.json["report"]["iou"]["score"], ran.err) == (0.6, "")
    bare = write(tmp_path / "r.jsonl", [{"spans": row["spans"]} for row in PRED])
    ran = run("score", gold, bare, "--where", "task=sum", "--metrics", "iou", "--format", "json")
    assert ran.json["report"]["iou"]["score"] == pytest.approx(5 / 6)
    assert "no row is left where task is 'QA'" in run("score", gold, pred, "--where", "task=QA").err
    assert "no column 'kind'" in run("score", gold, pred, "--where", "kind=qa").err
    assert run("score", gold, pred, "--where", "task").status == 2


def test_a_ragtruth_folder_stands_for_the_references(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ragtruth"
    folder.mkdir()
    write(
        folder / "response.jsonl",
        [
            {
                "id": row["id"],
                "source_id": row["task"],
                "response": row["text"],
                "labels": [{"start": a, "end": b, "label_type": "Evident Conflict"} for a, b in row["spans"]],
            }
            for row in GOLD
        ],
    )
    kinds = {"qa": "QA", "sum": "Summary"}
    write(folder / "source_info.jsonl", [{"source_id": key, "task_type": kind} for key, kind in kinds.items()])
    pred = write(tmp_path / "p.jsonl", PRED)
    content = run("score", str(folder), pred, "--profile", "ragtruth", "--by", "task_type", "--format", "json").json
    assert content["report"] == dict(expected(profile="ragtruth"))
    assert list(content["slices"]["task_type"]) == ["QA", "Summary"]
    (folder / "source_info.jsonl").unlink()
    ran = run("score", str(folder), pred)
    assert (ran.status, "source_info.jsonl" in ran.err) == (1, True)


@pytest.mark.corpora
def test_a_real_ragtruth_folder(run: Any, corpora: Path, tmp_path: Path) -> None:
    folder = corpora / "ragtruth"
    rows = [json.loads(line) for line in (folder / "response.jsonl").read_text(encoding="utf-8").split("\n") if line]
    pred = write(tmp_path / "p.jsonl", [{"id": row["id"], "spans": row["labels"]} for row in rows])
    report = run("score", str(folder), pred, "--profile", "ragtruth", "--by", "task_type", "--format", "json").json
    assert all(report["report"][key].get("f1", report["report"][key].get("score")) == 1.0 for key in
               mycelium.metrics.DEFAULT)  # fmt: skip
    assert report["slices"]["task_type"]["Summary"]["meta"]["examples"] == len(rows)


# -- how it ends


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nothing"],
        ["score"],
        ["score", "g.jsonl"],
        ["score", "g.jsonl", "p.jsonl", "--metrics", "nothing"],
        ["score", "g.jsonl", "p.jsonl", "--metrics", "span_coverage(delta=-1)"],
        ["score", "g.jsonl", "p.jsonl", "--metrics", "span_coverage(width=1)"],
        ["score", "g.jsonl", "p.jsonl", "--metrics", ","],
        ["score", "g.jsonl", "p.jsonl", "--metrics", "iou,iou"],
        ["score", "g.jsonl", "p.jsonl", "--profile", "nothing"],
        ["score", "g.jsonl", "p.jsonl", "--average", "mean"],
        ["score", "g.jsonl", "p.jsonl", "--undefined", "0.5"],
        ["score", "g.jsonl", "p.jsonl", "--tolerance", "nan"],
        ["score", "g.jsonl", "p.jsonl", "--format", "html"],
        ["score", "g.jsonl", "p.jsonl", "--input-format", "csv"],
        ["score", "-", "-"],
        ["score", "g.jsonl", "p.jsonl", "--groups", "doc"],
        ["score", "g.jsonl", "p.jsonl", "--seed", "0"],
        ["score", "g.jsonl", "p.jsonl", "--ci", "--seed", "-1"],
        ["score", "g.jsonl", "p.jsonl", "--ci", "--level", "95"],
        ["score", "g.jsonl", "p.jsonl", "--ci", "--level", "nan"],
        ["score", "g.jsonl", "p.jsonl", "--ci", "--resamples", "0"],
        ["score", "g.jsonl", "p.jsonl", "--ci", "--ci-method", "normal"],
        ["mu-shroom", "-", "-"],
        ["mu-shroom", "g.jsonl", "p.jsonl", "--invalid", "clip"],
        ["check", "p.jsonl"],
        ["check", "-", "--texts", "-"],
        ["metrics", "--format", "csv"],
    ],
)
def test_wrong_usage_ends_with_2(run: Any, argv: list[str]) -> None:
    ran = run(*argv)
    assert (ran.status, ran.out) == (2, "")
    assert "usage: mycelium" in ran.err


def test_unusable_files_end_with_1(run: Any, gold: str, pred: str, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.jsonl", [PRED[0], "{", PRED[1]])
    unknown = write(tmp_path / "p.xml", [])
    empty = write(tmp_path / "empty.jsonl", [])
    for argv, reason in (
        (("score", gold, str(tmp_path / "none.jsonl")), "none.jsonl: no such file"),
        (("score", gold, broken), "broken.jsonl:2: not JSON"),
        (("score", gold, unknown), "no format is known for the suffix '.xml'"),
        (("score", empty, empty), "empty.jsonl: holds no rows"),
        (("score", gold, pred, "--output", str(tmp_path / "no" / "where.txt")), "No such file or directory"),
        (("mu-shroom", gold, broken), "broken.jsonl:2: not JSON"),
        (("check", gold, "--texts", broken), "broken.jsonl:2: not JSON"),
        (("demo", "--write", gold), "gold.jsonl"),
    ):
        ran = run(*argv)
        assert (ran.status, ran.out) == (1, ""), argv
        assert reason in ran.err, argv
        assert all(line.startswith("mycelium: ") for line in ran.err.splitlines())


@pytest.mark.parametrize("read", [0, 1])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, read: int) -> None:
    """As in ``mycelium check ... | head``: whether nothing was read, or some of more than a pipe holds."""
    texts = write(tmp_path / "t.jsonl", [{"id": "a", "model_output_text": "0123456789"}])
    pred = write(tmp_path / "p.jsonl", [{"id": f"unknown {i}", "hard_labels": []} for i in range(3000)])
    with subprocess.Popen(
        [sys.executable, "-m", "mycelium", "check", pred, "--texts", texts],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert len(child.stdout.read(read)) == read
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


def test_output_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", [{"id": "ключ🙂", "spans": [], "task": "概要"}])
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    ran = process("score", gold, gold, "--by", "task", environment=environment)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "概要" in ran.stdout.decode("utf-8")
    other = write(tmp_path / "p.jsonl", [{"id": "другой", "spans": []}])
    ran = process("score", gold, other, environment=environment)
    assert "id 'другой': unknown" in ran.stderr.decode("utf-8")


def test_version_and_help(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--version").out == f"mycelium {mycelium.__version__}\n"
    top = run("--help")
    assert top.status == 0
    for command in ("score", "mu-shroom", "check", "demo", "metrics"):
        assert f"    {command} " in top.out or f"    {command}\n" in top.out
        text = run(command, "--help").out
        assert text.startswith(f"usage: mycelium {command} ")
        assert max(map(len, text.splitlines())) <= 80


def test_the_examples_in_the_help_parse(run: Any) -> None:
    seen = 0
    for command in ("score", "mu-shroom", "check", "demo", "metrics"):
        text = run(command, "--help").out.replace("\\\n", " ")
        for line in text.splitlines():
            if line.startswith("  mycelium "):
                words = shlex.split(line, comments=False)[1:]
                if command == "demo":
                    words = words[:3] if "--write" in words else words[:1]
                args = build_parser().parse_args(join_metrics(words))
                assert callable(args.run)
                seen += 1
    assert seen >= 8


def test_the_module_runs_and_loads_nothing_heavy() -> None:
    assert process("--version").stdout.decode().strip() == f"mycelium {mycelium.__version__}"
    code = (
        "import sys, mycelium.cli; "
        "print(*sorted({name.split('.')[0] for name in sys.modules} & {'pyarrow', 'pandas', 'datasets', 'scipy', "
        "'sklearn', 'torch', 'polars', 'evaluate', 'matplotlib'}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert ran.stdout.strip() == b""


# -- the benchmark's own commands


MU_GOLD = [
    {"id": "a", "model_output_text": "0123456789", "hard_labels": [[0, 4]], "soft_labels": [
        {"start": 0, "end": 4, "prob": 1.0}]},
    {"id": "b", "model_output_text": "0123456789", "hard_labels": [], "soft_labels": []},
]  # fmt: skip


def test_mu_shroom_prints_and_writes_two_lines(run: Any, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", MU_GOLD)
    pred = write(tmp_path / "p.jsonl", [{"id": "b", "hard_labels": []}, {"id": "a", "hard_labels": [[2, 4]]}])
    output = tmp_path / "scores.txt"
    ran = run("mu-shroom", gold, pred, str(output))
    # IoU: (1 + 2/4) / 2. Cor of row a: ranks 3.5 (6), 8.5 (4) against 4.5 (8), 9.5 (2), centred -2, 3 and -1, 4:
    # (6 * 2 - 2 * 3 + 2 * 12) / sqrt(60 * 40) = 30 / sqrt(2400) = 0.6123724; the mean with 1 is 0.8061862.
    assert ran.out == "IoU: 0.75000000\nCor: 0.80618622\n"
    assert output.read_text(encoding="utf-8") == ran.out
    assert ran.err == "mycelium: predictions: derived soft_labels from hard_labels (prob 1) in 2 rows\n"
    assert ran.status == 0


def test_mu_shroom_refuses_and_says_how_to_go_on(run: Any, tmp_path: Path) -> None:
    gold = write(tmp_path / "g.jsonl", MU_GOLD)
    pred = write(tmp_path / "p.jsonl", [{"id": "a", "hard_labels": [[-1, -1], [2, 4]]}])
    output = tmp_path / "scores.txt"
    ran = run("mu-shroom", gold, pred, str(output))
    assert (ran.status, ran.out, output.exists()) == (1, "", False)
    assert ran.err.splitlines()[:2] == [
        f"mycelium: {pred}:1: id 'a': hard_labels, span 0 [-1, -1]: negative",
        f"mycelium: {pred}: id 'b': no prediction for this row (g.jsonl:2)",
    ]
    assert "--invalid drop" in ran.err
    assert "--missing empty" in ran.err
    ran = run("mu-shroom", gold, pred, "--invalid", "drop", "--missing", "empty")
    assert ran.out == "IoU: 0.75000000\nCor: 0.80618622\n"
    assert ran.err.splitlines()[:2] == [
        "mycelium: predictions: left out 1 invalid span in 1 row",
        "mycelium: predictions: counted 1 missing row as empty: 'b'",
    ]
    many = write(tmp_path / "q.jsonl", [{"id": f"z{i}", "hard_labels": []} for i in range(40)])
    lines = run("mu-shroom", gold, many).err.splitlines()
    assert (len(lines), lines[-1]) == (21, "mycelium: ... and 22 more problems, 42 in all")


@pytest.mark.corpora
def test_mu_shroom_on_published_files(run: Any, corpora: Path) -> None:
    folder = corpora / "mu_shroom"
    gold = str(folder / "test" / "mushroom.en-tst.v1.extra.jsonl")
    pred = str(folder / "predictions" / "mushroom-en-tst-predicted.jsonl")
    assert run("mu-shroom", gold, pred).status == 1
    ran = run("mu-shroom", gold, pred, "--invalid", "drop")
    assert ran.out == "IoU: 0.51671747\nCor: 0.49732619\n"
    assert ran.err == "mycelium: predictions: left out 9 invalid spans in 5 rows\n"
    # The general command comes to the same where the labels are given.
    pred = str(folder / "predictions" / "mushroom-en-new-tst-predicted.jsonl")
    metrics = ["--metrics", "iou,soft_correlation", "--profile", "mu_shroom", "--format", "json"]
    report = run("score", gold, pred, *metrics).json["report"]
    assert f"{report['iou']['score']:.8f} {report['soft_correlation']['score']:.8f}" == "0.52583946 0.50202971"


def test_check_prints_all_and_counts(run: Any, tmp_path: Path) -> None:
    texts = write(tmp_path / "t.jsonl", [{"id": key, "model_output_text": "0123456789"} for key in "ab"])
    sound = [{"id": "a", "hard_labels": [[0, 4]], "soft_labels": [{"start": 0, "end": 4, "prob": 1.0}]},
             {"id": "b", "hard_labels": [], "soft_labels": []}]  # fmt: skip
    path = write(tmp_path / "p.jsonl", sound)
    ran = run("check", path, "--texts", texts)
    assert (ran.status, ran.out, ran.err) == (0, f"{path}: no problems, no notes\n", "")
    path = write(tmp_path / "p.jsonl", [{"id": "a", "hard_labels": [[0, 4], [2, 5]], "soft_labels": None}, sound[1]])
    ran = run("check", path, "--texts", texts)
    assert ran.status == 0
    assert ran.out.splitlines()[-1] == f"{path}: no problems, 2 notes"
    path = write(tmp_path / "p.jsonl", ["nonsense", {"id": "a", "hard_labels": [[0, 40], [-1, 4]]}])
    ran = run("check", path, "--texts", texts)
    assert ran.status == 1
    assert [line.replace(path, "P").split(": ")[0] for line in ran.out.splitlines()] == [
        "P:1", "P:2", "P:2", "P", "P", "P",
    ]  # fmt: skip
    assert ran.out.splitlines()[-1] == f"{path}: 4 problems, 1 note"


# -- the registry


def test_metrics_lists_the_registry(run: Any) -> None:
    listed = run("metrics", "--format", "json").json
    assert [entry["name"] for entry in listed] == [metric.name for metric in available()]
    assert [entry["name"] for entry in listed if entry["default"]] == list(mycelium.metrics.DEFAULT)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["span_coverage"]["parameters"][1] == {
        "name": "min_pred_len", "default": 1, "minimum": 1, "maximum": None, "integer": True,
        "summary": "shorter predictions are left out",
    }  # fmt: skip
    assert {p["name"]: p["default"] for p in by_name["deteval_1d"]["parameters"]} == {
        "recall_threshold": 0.8, "precision_threshold": 0.4, "granularity_penalty": 0.8, "tolerance": 0.0,
    }  # fmt: skip
    for format in ("table", "markdown"):
        text = run("metrics", "--format", format).out
        for metric in available():
            assert metric.name in text
            assert all(p.name in text for p in metric.parameters)
    assert max(map(len, run("metrics").out.splitlines())) <= 80
