"""``mycelium errors``: files in; the numbers are those of ``find_errors`` on the same spans."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mycelium.cli import main
from mycelium.errors import find_errors

ROWS: list[dict[str, Any]] = [
    {"id": "a", "model": "x", "text": "Paris is big & old.", "spans": [[0, 5, "place"]]},
    {"id": "b", "model": "y", "text": "So it is.", "spans": []},
    {"id": "c", "model": "x", "text": "The <b>end</b>.", "spans": [[4, 7, "tag"], [10, 14, "tag"]]},
]
# In another order than the references.
FOUND: list[dict[str, Any]] = [
    {"id": "c", "spans": [[4, 14, "tag"]]},
    {"id": "a", "spans": [[0, 8, "place"]]},
    {"id": "b", "spans": [[0, 2, "tag"]]},
]
OPTIONS: dict[str, Any] = {
    "references": [row["spans"] for row in ROWS],
    "predictions": [FOUND[i]["spans"] for i in (1, 2, 0)],
    "text": [row["text"] for row in ROWS],
    "ids": [row["id"] for row in ROWS],
}


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "gold.jsonl", ROWS), write(tmp_path / "pred.jsonl", FOUND)]


def test_the_whole_output(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", *files, "--by", "model", "--top", "2", "--metrics", "iou"]) == 0
    # iou: 5/8, 0, 7/10; with the repairs 1, 1, 1.
    assert capsys.readouterr().out.split("\n") == [
        "verdict   cases  references  predictions      iou",
        "too wide      1           1            1  +0.1250",
        "merged        1           2            1  +0.1000",
        "spurious      1           0            1  +0.3333",
        "as it is      3           3            3   0.4417",
        "3 examples, 3 references, 3 predictions, types count; macro average",
        "with a sign: what repairing this kind alone adds to the score below; these need not add up",
        "mycelium|v:0.1.0|avg:macro|undef:default|unit:char|invalid:raise|tol:0|iou|errors:typed",
        "",
        "cases by model",
        "",
        "model  examples  too wide  merged  spurious",
        "x             2         1       1         0",
        "y             1         0       0         1",
        "",
        "the worst answers",
        "",
        "id  model     iou  errors  side        verdict   span    type   excerpt",
        "b   y      0.0000       1  prediction  spurious  [0, 2)  tag    »So« it is.",
        "a   x      0.6250       1  reference   too wide  [0, 5)  place  »Paris« is big & old.",
        "                           prediction  too wide  [0, 8)  place  »Paris is« big & old.",
        "",
    ]


def test_the_numbers_are_those_of_the_library(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", *files, "--by", "model", "--top", "3", "--format", "json", "--average", "micro"]) == 0
    content = json.loads(capsys.readouterr().out)
    errors = find_errors(**OPTIONS, slices={"model": ["x", "y", "x"]}, average="micro")
    assert content["errors"] == errors
    assert content["signature"] == errors.signature
    assert content["worst"] == errors.worst(3)


def test_csv(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errors", *files, "--by", "model", "--format", "csv", "--metrics", "iou"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["by"], row["value"], row["verdict"], row["cases"]) for row in table[3:6]] == [
        ("", "", "as it is", "3"), ("model", "x", "too wide", "1"), ("model", "x", "merged", "1"),
    ]  # fmt: skip
    assert float(table[2]["iou.score"]) == pytest.approx((5 / 8 + 1 + 7 / 10) / 3)


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_other_formats(files: list[str], tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    assert main(["errors", *files, "--format", format, "-o", str(out), "--metrics", "iou", "--by", "model"]) == 0
    written = out.read_text("utf-8")
    if format == "markdown":
        assert "| too wide |     1 |" in written
        assert "The \\<b>»end\\</b«>." not in written
        assert "\ncases by model\n" in written
    else:
        assert written.count("<table>") == 3
        assert "<h2>cases by model</h2>" in written
        assert "&lt;»b&gt;end&lt;/b«&gt;" in written or "<b>" not in written


def test_types_can_be_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(tmp_path / "gold.jsonl", [{"id": 1, "spans": [[0, 4, "A"], [6, 8, "A"]]}])
    pred = write(tmp_path / "pred.jsonl", [{"id": 1, "spans": [[0, 4, "B"], [6, 8]]}])
    run = ["errors", gold, pred, "--metrics", "iou", "--top", "0"]
    assert main([*run, "--types", "ignore"]) == 0
    assert "boundaries only" in capsys.readouterr().out
    for choice in ([], ["--types", "compare"]):
        assert main([*run, *choice]) == 1
        assert "predictions: row 0, span 1 [6, 8] has no type" in capsys.readouterr().err


def test_the_worst_by_another_metric(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = ["errors", *files, "--metrics", "iou", "character", "--no-repair"]
    assert main([*run, "--worst-by", "character"]) == 0
    out = capsys.readouterr().out
    assert "character_f1" in out
    assert "with a sign" not in out
    assert main([*run, "--worst-by", "f2"]) == 1
    assert "--worst-by: there is no metric 'f2' of single examples; there are iou, character" in capsys.readouterr().err


def test_leniency_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(
        tmp_path / "gold.jsonl", [{"id": 1, "text": "abcdef", "spans": [[0, 4]]}, {"id": 2, "text": "", "spans": []}]
    )
    pred = write(tmp_path / "pred.jsonl", [{"id": 1, "spans": [[0, 9]]}])
    assert main(["errors", gold, pred, "--invalid", "clip", "--missing", "empty", "--metrics", "iou"]) == 0
    caught = capsys.readouterr()
    assert "leniency: 1 rows, 1 clipped, 1 missing" in caught.err
    assert "leniency: rows 1, clipped 1, missing 1" in caught.out
    assert "invalid:clip|tol:0|missing:empty" in caught.out


def test_texts_are_not_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(tmp_path / "gold.jsonl", [{"spans": [[0, 4]]}])
    pred = write(tmp_path / "pred.jsonl", [{"spans": [[0, 9]]}])
    assert main(["errors", gold, pred, "--metrics", "iou"]) == 0
    out = capsys.readouterr().out
    assert "0   0.4444       1  reference   too wide  [0, 4)\n" in out
    assert "excerpt" not in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["-", "-"],
        ["gold.jsonl", "pred.jsonl", "--input-format", "csv"],
        ["gold.jsonl", "pred.jsonl", "--metrics", "soft_correlation"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["errors", *arguments])
    assert "mycelium errors" in capsys.readouterr().err


def test_standard_input_in_a_process_of_its_own(files: list[str]) -> None:
    code = [sys.executable, "-m", "mycelium", "errors", files[0], "-", "--metrics", "iou", "--top", "1"]
    done = subprocess.run(code, input=Path(files[1]).read_bytes(), capture_output=True, check=True)
    assert done.stderr == b""
    assert "»So« it is." in done.stdout.decode("utf-8")


@pytest.mark.corpora
def test_ragtruth(corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Predictions made of the annotation: each model has one kind of error, and each kind is found where it is."""
    lines = [line for line in (corpora / "ragtruth" / "response.jsonl").read_text(encoding="utf-8").split("\n") if line]
    answers = [json.loads(line) for line in lines]
    models = sorted({row["model"] for row in answers})
    expected = dict(zip(models, ["missed", "wrong type", *("exact" for _ in models[2:])], strict=True))
    rows = []
    for row in answers:
        spans = [[label["start"], label["end"], label["label_type"]] for label in row["labels"]]
        if expected[row["model"]] == "missed":
            spans = []
        elif expected[row["model"]] == "wrong type":
            spans = [[start, end, "other"] for start, end, _ in spans]
        rows.append({"id": row["id"], "spans": spans})
    run = ["errors", str(corpora / "ragtruth"), write(tmp_path / "pred.jsonl", rows)]
    assert main([*run, "--by", "model", "--top", "0", "--metrics", "iou", "--format", "json"]) == 0
    errors = json.loads(capsys.readouterr().out)["errors"]
    found = {
        model: {kind: count["references"] for kind, count in part["counts"].items() if count["cases"]}
        for model, part in errors["slices"]["model"].items()
    }
    spans_of = {model: sum(len(row["labels"]) for row in answers if row["model"] == model) for model in models}
    assert found == {model: {expected[model]: n} if n else {} for model, n in spans_of.items()}
    assert any(found.values())
