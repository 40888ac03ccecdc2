"""``mycelium view``: files in, a page or text out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mycelium
from mycelium.cli import main

ROWS: list[dict[str, Any]] = [
    {"id": "a", "model": "x", "text": "Paris is big.", "spans": [[0, 5, "place"]]},
    {"id": "b", "model": "y", "text": "So it is.", "spans": []},
    {"id": "c", "model": "x", "text": "The <b>end</b>.", "spans": [[4, 7, "tag"], [10, 14, "tag"]]},
]
# In another order than the references.
FOUND: list[dict[str, Any]] = [
    {"id": "c", "spans": [[4, 7, "tag"]]},
    {"id": "a", "spans": [[0, 8, "place"]]},
    {"id": "b", "spans": [[0, 2, "tag"]]},
]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [write(tmp_path / "gold.jsonl", ROWS), write(tmp_path / "pred.jsonl", FOUND)]


def data_in(path: Path) -> dict[str, Any]:
    match = re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))


def test_a_page(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "review.html"
    assert main(["view", *files, "-o", str(out), "--by", "model", "--metrics", "iou", "character"]) == 0
    data = data_in(out)
    assert [row[0] for row in data["rows"]] == ["a", "b", "c"]
    assert data["types"] == ["place", "tag"]
    assert data["verdicts"] == ["exact", "too wide", "missed", "spurious"]
    assert data["slices"] == [{"name": "model", "values": ["x", "y"]}]
    assert data["rows"][0][2:4] == [[0, 5, 0, 1], [0, 8, 0, 1]]
    # iou: 5/8; 0; 3/7. character F1: 2*5/13; 0; 2*3/10.
    assert data["scores"] == ["iou", "character_f1"]
    assert [row[4] for row in data["rows"]] == [
        pytest.approx([5 / 8, 10 / 13]),
        [0.0, 0.0],
        pytest.approx([3 / 7, 6 / 10]),
    ]
    report = mycelium.evaluate(
        references=[row["spans"] for row in ROWS],
        predictions=[FOUND[i]["spans"] for i in (1, 2, 0)],
        metrics=["iou", "character"],
    )
    page = out.read_text("utf-8")
    assert report.signature in page
    assert "<title>pred.jsonl against gold.jsonl</title>" in page
    assert capsys.readouterr() == ("", "")


def test_text(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", *files, "--metrics", "iou", "--sort", "iou", "--limit", "2", "--width", "60"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.split("\n") if line and not line.startswith((" ", "mycelium|"))] == [
        "b  iou 0.000",
        "c  iou 0.429",
    ]
    assert "      1^^   2^^^" in out
    assert "\x1b" not in out
    assert out.rstrip().split("\n")[-1].startswith("mycelium|v:")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [(["-o", "x.txt"], "text"), (["-o", "x.HTML"], "html"), (["-o", "x", "--format", "html"], "html"), ([], "text")],
)
def test_formats(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], kind: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["view", *files, *arguments]) == 0
    written = (tmp_path / arguments[1]).read_text("utf-8") if arguments else capsys.readouterr().out
    assert written.startswith("<!doctype html>") is (kind == "html")


def test_the_limit_keeps_the_page_small(files: list[str], tmp_path: Path) -> None:
    assert (
        main(["view", *files, "-o", str(tmp_path / "r.html"), "--limit", "1", "--where", "model=x", "--title", "T"])
        == 0
    )
    assert [row[0] for row in data_in(tmp_path / "r.html")["rows"]] == ["a"]
    assert "<title>T</title>" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sort", "f2", "--metrics", "iou"], "--sort: no score 'f2'; there are iou"),
        (["--text", "answer"], "no text column 'answer'"),
        (["--by", "lang"], "no column 'lang' for --by"),
    ],
)
def test_refusals(files: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["view", *files, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_texts_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "gold.jsonl", [{"id": 1, "spans": []}])
    assert main(["view", path, path]) == 1
    assert "no text column (text, model_output_text, response, output); it has id, spans" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--width", "19"], ["--format", "pdf"]])
def test_wrong_usage(files: list[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["view", *files, *arguments])
    assert stop.value.code == 2


@pytest.mark.corpora
def test_the_published_files(corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = corpora / "mu_shroom/test/mushroom.en-tst.v1.extra.jsonl"
    found = corpora / "mu_shroom/predictions/mushroom-en-tst-predicted.jsonl"
    out = tmp_path / "r.html"
    assert main(["view", str(gold), str(found), "-o", str(out), "--by", "model_id", "--metrics", "iou"]) == 1
    assert "[-1, -1]" in capsys.readouterr().err
    assert main(["view", str(gold), str(found), "-o", str(out), "--by", "model_id", "--invalid", "drop"]) == 0
    assert len(data_in(out)["rows"]) == 154
    assert "leniency: " in capsys.readouterr().err
    folder = str(corpora / "ragtruth")
    assert main(["view", folder, folder, "-o", str(out), "--by", "model", "--where", "split=test"]) == 0
    assert data_in(out)["verdicts"] == ["exact"]
    assert "Evident Baseless Info" in data_in(out)["types"]


def test_metrics_with_outputs_of_their_own(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "review.html"
    assert main(["view", *files, "-o", str(out), "--metrics", "valid_cases"]) == 0
    data = data_in(out)
    # The valid case "b" has a prediction; where a case is invalid, nothing can be unclean.
    assert data["scores"] == ["valid_cases_clean"]
    assert [row[4] for row in data["rows"]] == [[1.0], [0.0], [1.0]]
