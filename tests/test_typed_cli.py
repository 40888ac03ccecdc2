"""``mycelium score --typed``: every file format, slices, intervals, large files, and messages that name lines."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typed_rows import TYPES, records, typed_rows, write_jsonl

import mycelium
from mycelium.cli import main, streaming
from mycelium.typed import evaluate_typed

N = 90
REFERENCES, PREDICTIONS = typed_rows(N)
MODELS = [["small", "large", None][i % 3] for i in range(N)]
#: How the command spells the rules, and how the library does.
ARGUMENTS = ["--average", "macro", "--undefined", "0", "--overlap-credit", "0.25", "--min-overlap", "0.3"]
ARGUMENTS += ["--overlap-base", "union", "--absent-types", "zero"]
RULES: dict[str, Any] = {
    "average": "macro",
    "undefined": 0.0,
    "overlap_credit": 0.25,
    "min_overlap": 0.3,
    "overlap_base": "union",
    "absent_types": "zero",
}
LIST = ",".join(TYPES)


def whole(**options: Any) -> Any:
    return evaluate_typed(references=REFERENCES, predictions=PREDICTIONS, **options)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    gold = [{"id": i, "spans": row, "model": MODELS[i]} for i, row in enumerate(REFERENCES)]
    pred = [{"id": i, "spans": row} for i, row in enumerate(records(PREDICTIONS, "type"))]
    return [write_jsonl(tmp_path / "gold.jsonl", gold), write_jsonl(tmp_path / "pred.jsonl", pred[::-1])]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, status: int = 0) -> str:
        try:
            code = main(["score", *arguments])
        except SystemExit as stop:
            code = int(str(stop.code))
        captured = capsys.readouterr()
        assert code == status, captured.err
        run.err = captured.err  # type: ignore[attr-defined]
        return captured.out

    return run


def content(report: Any) -> Any:
    return json.loads(json.dumps(report))


# -- the numbers


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--types", LIST], {"types": TYPES}),
        (["--types", LIST, *ARGUMENTS], {"types": TYPES, **RULES}),
        (["--types", "conflict, baseless", "--unknown-types", "ignore"],
         {"types": TYPES[:2], "unknown_types": "ignore"}),
    ],
)  # fmt: skip
def test_the_report_of_evaluate_typed(files: list[str], run: Any, arguments: list[str], options: Any) -> None:
    found = json.loads(run(*files, "--typed", *arguments, "--format", "json", "--by", "model"))
    report = whole(**options)
    assert found["report"] == content(report)
    assert found["signature"] == report.signature
    # A slice has the types of the whole, and its spans that were left out are counted too.
    slices = {"null" if value is None else value: part for value, part in report.by(MODELS).items()}
    for value, part in found["slices"]["model"].items():
        part["meta"]["ignored"] = slices[value]["meta"]["ignored"]
    assert found["slices"]["model"] == content(slices)


def test_slices_count_the_spans_that_they_leave_out(files: list[str], run: Any) -> None:
    out = run(
        *files, "--typed", "--types", "conflict", "--unknown-types", "ignore", "--format", "json", "--by", "model"
    )
    found = json.loads(out)
    total = found["report"]["meta"]["ignored"]
    lost = [part["meta"]["ignored"] for part in found["slices"]["model"].values()]
    for name, side in (("references", REFERENCES), ("predictions", PREDICTIONS)):
        assert total[name] == sum(part[name] for part in lost) == sum(s[2] != "conflict" for row in side for s in row)
    assert f"unknown types: {total['references']} references and {total['predictions']} predictions left out" in run.err


def test_tables_show_measures_types_and_confusion(files: list[str], run: Any) -> None:
    report = whole(types=TYPES)
    text = run(*files, "--typed", "--types", LIST, "--by", "model")
    assert report.to_table() in text
    assert report.confusion_table() in text
    assert re.search(r"^model +examples +strict +strict_typed +partial +typed_partial", text, re.MULTILINE)
    markdown = run(*files, "--typed", "--types", LIST, "--format", "markdown")
    assert report.to_table("markdown") in markdown
    assert report.confusion_table("markdown") in markdown


def test_csv_has_a_row_for_each_measure_and_type(files: list[str], run: Any) -> None:
    report = whole(types=TYPES)
    rows = list(
        csv.DictReader(io.StringIO(run(*files, "--typed", "--types", LIST, "--format", "csv", "--by", "model")))
    )
    flat: dict[str, float] = {}
    for row in rows:
        if not row["by"]:
            for output in ("precision", "recall", "f1", "clean", "caught", "localised"):
                if row[output]:
                    flat[f"{row['metric']}_{output}"] = float(row[output])
    assert flat == report.flat()
    parts = report.by(MODELS)
    large = next(row for row in rows if row["value"] == "large" and row["metric"] == "by_type.conflict")
    assert float(large["f1"]) == parts["large"]["by_type"]["conflict"]["f1"]


def test_intervals(files: list[str], run: Any) -> None:
    found = json.loads(
        run(*files, "--typed", "--types", LIST, "--ci", "--resamples", "200", "--by", "model", "--format", "json")
    )
    report = whole(types=TYPES, keep_statistics=True)
    assert found["intervals"] == content(report.confidence_intervals(n_resamples=200))
    parts = report.confidence_intervals(n_resamples=200, by=MODELS)
    assert found["slice_intervals"]["model"]["large"] == content(parts["large"])
    text = run(*files, "--typed", "--types", LIST, "--ci", "--groups", "id", "--resamples", "50", "--format", "csv")
    row = next(r for r in csv.DictReader(io.StringIO(text)) if r["metric"] == "valid_cases")
    assert float(row["clean_low"]) <= float(row["clean"]) <= float(row["clean_high"])


def test_scores_of_single_rows(files: list[str], run: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    run(*files, "--typed", "--per-example", str(rows), "--by", "model")
    report = whole(include_per_example=True)
    keys = ("strict", "strict_typed", "partial", "typed_partial", "character")
    for i, line in enumerate(rows.read_text().splitlines()):
        found = json.loads(line)
        assert found["id"] == i
        assert found["scores"] == {key: report[key]["per_example"][i] for key in keys}


def test_a_type_called_per_example(tmp_path: Path, run: Any) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", [{"spans": [[0, 4, "per_example"]]}])
    found = json.loads(run(path, path, "--typed", "--format", "json"))
    assert found["report"]["by_type"]["per_example"]["f1"] == 1.0


# -- formats


@pytest.mark.parametrize("suffix", ["json", "csv", "tsv", "parquet"])
def test_other_formats(suffix: str, tmp_path: Path, run: Any) -> None:
    paths = []
    for name, side in (("gold", records(REFERENCES, "label_type")), ("pred", records(PREDICTIONS))):
        path = tmp_path / f"{name}.{suffix}"
        rows = [{"id": f"r{i}", "spans": row} for i, row in enumerate(side)]
        if suffix == "json":
            path.write_text(json.dumps(rows))
        elif suffix == "parquet":
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet

            pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
        else:
            with path.open("w", newline="") as file:
                writer = csv.writer(file, delimiter="," if suffix == "csv" else "\t")
                writer.writerow(["id", "spans"])
                writer.writerows([row["id"], json.dumps(row["spans"])] for row in rows)
        paths.append(str(path))
    found = json.loads(run(*paths, "--typed", "--types", LIST, "--format", "json"))
    assert found["report"] == content(whole(types=TYPES))


def test_a_ragtruth_folder(tmp_path: Path, run: Any) -> None:
    """By hand: one exact pair, one right place with the wrong type, and one missed."""
    folder = tmp_path / "dataset"
    folder.mkdir()
    kinds = mycelium.typed.TYPES["ragtruth"]
    labels = [
        [{"start": 0, "end": 4, "text": "Rome", "label_type": kinds[0]},
         {"start": 5, "end": 8, "text": "has", "label_type": kinds[2]}],
        [{"start": 0, "end": 2, "text": "It", "label_type": kinds[3]}],
    ]  # fmt: skip
    texts = ["Rome has hills", "It is so"]
    write_jsonl(
        folder / "response.jsonl",
        [
            {"id": str(i), "source_id": "s", "model": "m", "temperature": 1, "labels": row, "split": "test",
             "quality": "good", "response": text}
            for i, (row, text) in enumerate(zip(labels, texts, strict=True))
        ],
    )  # fmt: skip
    write_jsonl(
        folder / "source_info.jsonl",
        [{"source_id": "s", "task_type": "QA", "source": "x", "source_info": "y", "prompt": "z"}],
    )
    pred = write_jsonl(
        tmp_path / "pred.jsonl",
        [{"id": "0", "spans": [[0, 4, kinds[0]], [5, 8, kinds[1]]]}, {"id": "1", "spans": []}],
    )
    arguments = ["--typed", "--types", "ragtruth", "--format", "json", "--by", "task_type"]
    report = json.loads(run(str(folder), pred, *arguments))["report"]
    assert report["strict"]["f1"] == pytest.approx(2 * 2 / 5)
    assert report["typed_partial"]["f1"] == pytest.approx(2 * 1 / 5)
    assert report["meta"]["types"] == list(kinds)
    assert report["confusion"]["matrix"][2][1] == 1


# -- large files


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "arguments",
    [["--types", LIST], ["--types", LIST, *ARGUMENTS], ["--types", "conflict", "--unknown-types", "ignore"]],
)
def test_large_files_are_read_side_by_side(
    suffix: str, arguments: list[str], tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name, side in (("gold", records(REFERENCES)), ("pred", records(PREDICTIONS))):
        rows = [{"id": f"r{i}", "spans": row, "model": MODELS[i]} for i, row in enumerate(side)]
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            pa = pytest.importorskip("pyarrow")
            import pyarrow.parquet

            pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=20)
            paths.append(str(path))
        else:
            paths.append(write_jsonl(path, rows))
    command = [*paths, "--typed", *arguments, "--by", "model", "--format", "json"]
    expected = run(*command), run.err
    monkeypatch.setattr(streaming, "SMALL", 0)
    monkeypatch.setattr(streaming, "ROWS", 17)
    read = []
    add = streaming.Sums.add
    monkeypatch.setattr(streaming.Sums, "add", lambda self, piece: (read.append(1), add(self, piece))[1])
    assert (run(*command), run.err) == expected
    assert len(read) == 6


def test_without_types_large_files_are_read_as_a_whole(
    files: list[str], run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(*files, "--typed")
    monkeypatch.setattr(streaming, "SMALL", 0)
    assert run(*files, "--typed") == expected
    assert "--types is not given, so all types must be known first: the files are read as a whole" in run.err


# -- refusals


@pytest.mark.parametrize("small", [True, False])
def test_faults_name_file_and_line(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch, small: bool) -> None:
    if not small:
        monkeypatch.setattr(streaming, "SMALL", 0)
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"spans": [[0, 4, "A"]]}, {"spans": []}, {"spans": [[2, 3, "A"]]}])
    bare = write_jsonl(tmp_path / "bare.jsonl", [{"spans": []}, {"spans": [[0, 1, "A"], [2, 3]]}, {"spans": []}])
    run(gold, bare, "--typed", "--types", "A", status=1)
    assert f"{bare}: 1 span without a type; the first is line 2, span 1 [2, 3]" in run.err
    run(gold, bare, "--metrics", "iou,typed_partial", status=1)
    assert f"{bare}: 1 span without a type; the first is line 2" in run.err
    strange = write_jsonl(tmp_path / "strange.jsonl", [{"spans": []}, {"spans": []}, {"spans": [[2, 3, "X"]]}])
    run(gold, strange, "--typed", "--types", "A,B", status=1)
    assert f"{strange}: 1 span with unknown types ('X'); the first is line 3, span 0 [2, 3] of type 'X'" in run.err
    run(gold, bare, "--metrics", "iou,partial")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--types", "causal"], "--types speaks of typed spans: it needs --typed"),
        (["--overlap-credit", "1"], "--overlap-credit speaks of typed spans: it needs --typed"),
        (["--absent-types", "zero"], "--absent-types speaks of typed spans: it needs --typed"),
        (["--typed", "--metrics", "iou"], "--metrics has no meaning with --typed"),
        (["--typed", "--profile", "ragtruth"], "--profile has no meaning with --typed"),
        (["--typed", "--tolerance", "0.1"], "--tolerance has no meaning with --typed"),
        (["--typed", "--types", "A,A"], "argument --types: types holds 'A' twice"),
        (["--typed", "--types", "A,,B"], "argument --types: types: number 1 is ''"),
        (["--typed", "--types", "A,none"], "which cannot name a type"),
        (["--typed", "--min-overlap", "1.5"], "must be a number from 0 to 1, got '1.5'"),
        (["--typed", "--overlap-base", "longest"], "invalid choice: 'longest'"),
    ],
)
def test_wrong_usage(files: list[str], run: Any, arguments: list[str], message: str) -> None:
    run(*files, *arguments, status=2)
    assert message in run.err


def test_registered_metrics_on_the_command_line(files: list[str], run: Any) -> None:
    keys = ["strict", "typed_partial(overlap_base=union,min_overlap=0.5)", "valid_cases", "muc_type"]
    command = ["--metrics", *keys, "--average", "micro", "--format"]
    report = mycelium.evaluate(references=REFERENCES, predictions=PREDICTIONS, metrics=keys, average="micro")
    assert json.loads(run(*files, *command, "json"))["report"] == content(report)
    rows = list(csv.DictReader(io.StringIO(run(*files, *command, "csv"))))
    cases = next(row for row in rows if row["metric"] == "valid_cases")
    assert [float(cases[o]) for o in ("clean", "caught", "localised")] == list(report["valid_cases"].values())
