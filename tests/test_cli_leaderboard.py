"""``mycelium leaderboard`` on files: who is ranked where, what is refused and with which place, every layout."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mycelium.cli import main
from mycelium.versus.leaderboard import leaderboard

LANGS = ("de", "en", "zh")
TEXT = "0123456789"
#: Forty answers of ten characters, from 28 documents, in each of three languages.
GOLD = [
    {"id": f"{lang}-{i}", "lang": lang, "doc": f"{lang}{min(i, 8 + i // 2)}", "text": TEXT, "spans": [[0, 10]]}
    for lang in LANGS
    for i in range(40)
]


def answers(length: int, langs: tuple[str, ...] = LANGS) -> list[Any]:
    """Return a system that finds the first characters of every answer."""
    return [{"id": row["id"], "spans": [[0, length]]} for row in GOLD if row["lang"] in langs]


def write(path: Path, records: list[Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


class Task:
    """A shared task in a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.systems = folder / "systems"
        self.systems.mkdir()
        self.gold = write(folder / "gold.jsonl", GOLD)
        self.out = self.err = ""

    def submit(self, name: str, records: list[Any]) -> str:
        return write(self.systems / name, records)

    def run(self, *options: str, gold: str | None = None) -> int:
        try:
            status = main(["leaderboard", gold or self.gold, str(self.systems), *options])
        except SystemExit as stop:
            status = int(stop.code or 0)
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return status

    def board(self, *options: str, gold: str | None = None) -> dict[str, Any]:
        status = self.run("--format", "json", "--resamples", "999", *options, gold=gold)
        assert status == 0, self.err
        content: dict[str, Any] = json.loads(self.out)["leaderboard"]
        return content


@pytest.fixture
def task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Task:
    return Task(tmp_path, capsys)


def places(board: dict[str, Any]) -> dict[str, str]:
    """Return for each system what became of it in each language: scored, refused or missing."""
    names = {row["system"] for rows in board["slices"].values() for row in rows}
    names |= {one["system"] for key in ("refused", "missing") for one in board[key]}
    out = {}
    for name in sorted(names):
        signs = ""
        for lang in LANGS:
            scored = any(row["system"] == name for row in board["slices"][lang])
            refused = any((one["system"], one["slice"]) == (name, lang) for one in board["refused"])
            missing = any((one["system"], one["slice"]) == (name, lang) for one in board["missing"])
            assert scored + refused + missing == 1
            signs += "s" if scored else "r" if refused else "m"
        out[name] = signs
    return out


def reasons(board: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one["system"], one["slice"]): one["reason"] for one in board["refused"]}


# -- what is ranked


def test_the_board_is_the_librarys(task: Task) -> None:
    systems = {
        "long": [{"id": row["id"], "spans": [[0, 10 - i % 5]]} for i, row in enumerate(GOLD)],
        "short": [{"id": row["id"], "spans": [[0, 9 - i % 4]]} for i, row in enumerate(GOLD)],
    }
    for name, records in systems.items():
        task.submit(f"{name}.jsonl", records[::-1])
    options = ("--groups", "doc", "--level", "0.9", "--seed", "3", "--correction", "bh", "--average", "micro")
    found = task.board("--by", "lang", "--metric", "character", "--value", "recall", *options)
    with pytest.warns(UserWarning, match="fewer than 30 groups"):
        expected = leaderboard(
            [row["spans"] for row in GOLD],
            {name: [row["spans"] for row in records] for name, records in systems.items()},
            by=[row["lang"] for row in GOLD],
            groups=[row["doc"] for row in GOLD],
            text=[TEXT] * len(GOLD),
            metric="character",
            output="recall",
            average="micro",
            level=0.9,
            seed=3,
            correction="bh",
            n_resamples=999,
        )
    assert found == expected
    # Warnings are lines for people, not Python's.
    assert "mycelium: fewer than 30 groups: " in task.err
    assert "UserWarning" not in task.err
    assert found["meta"]["units"] == 84


def test_without_slices_there_is_one_board(task: Task) -> None:
    task.submit("long.jsonl", answers(8))
    task.submit("short.jsonl", answers(4))
    found = task.board()
    shown = [(row["rank"], row["system"], row["score"], row["ranks"], row["group"]) for row in found["overall"]]
    assert shown == [(1, "long", 0.8, [1, 1], "a"), (2, "short", 0.4, [2, 2], "b")]
    assert found["slices"] == {}
    assert task.err == ""


def test_references_in_a_folder_are_joined(task: Task, tmp_path: Path) -> None:
    for lang in LANGS:
        write(tmp_path / f"test/task.{lang}-tst.v1.jsonl", [row for row in GOLD if row["lang"] == lang])
    (tmp_path / "test/.DS_Store").write_text("x")
    task.submit("long.jsonl", answers(8))
    folder = str(tmp_path / "test")
    assert task.board("--by", "lang", gold=folder) == task.board("--by", "lang")
    by_file = task.board("--by", "file", gold=folder)
    assert list(by_file["slices"]) == [f"task.{lang}-tst.v1" for lang in LANGS]
    assert task.run("--by", "language", gold=folder) == 1
    assert "no column 'language'; it has id, lang, doc, text, spans, file" in task.err
    # A file has no such column unless it brings one.
    assert task.run("--by", "file") == 1
    assert "no column 'file'" in task.err


def test_a_system_may_be_a_folder_of_files(task: Task) -> None:
    task.submit("one.jsonl", answers(8))
    for lang in LANGS:
        task.submit(f"many/{lang}.jsonl", answers(8, (lang,)))
    found = task.board("--by", "lang")
    assert [(row["rank"], row["system"], row["ranks"]) for row in found["overall"]] == [
        (1, "many", [1, 2]),
        (1, "one", [1, 2]),
    ]
    assert {row["group"] for row in found["overall"]} == {"a"}


def test_rows_can_be_chosen(task: Task) -> None:
    task.submit("long.jsonl", answers(8))
    task.submit("english.jsonl", answers(4, ("en",)))
    found = task.board("--where", "lang=en")
    assert [row["system"] for row in found["overall"]] == ["long", "english"]
    assert found["meta"]["examples"] == 40
    assert found["refused"] == found["missing"] == []
    assert task.run("--where", "lang=fr") == 1
    assert "no row is left where lang is 'fr'" in task.err


def test_columns_can_be_named(task: Task, tmp_path: Path) -> None:
    gold = write(tmp_path / "other.jsonl", [{"key": row["id"], "marked": row["spans"], "answer": TEXT} for row in GOLD])
    task.submit("long.jsonl", [{"key": row["id"], "marked": row["spans"]} for row in answers(8)])
    task.submit("past.jsonl", [{"key": row["id"], "marked": [[0, 11]]} for row in GOLD])
    found = task.board("--id", "key", "--spans", "marked", "--text", "answer", gold=gold)
    assert [row["score"] for row in found["overall"]] == [0.8]
    assert "past the end of the text (10" in reasons(found)["past", None]  # type: ignore[index]


def test_other_formats_than_jsonl(task: Task) -> None:
    rows = io.StringIO()
    csv.writer(rows).writerows([["id", "spans"], *([row["id"], json.dumps(row["spans"])] for row in answers(8))])
    (task.systems / "cells.csv").write_text(rows.getvalue(), encoding="utf-8")
    (task.systems / "list.json").write_text(json.dumps(answers(4)), encoding="utf-8")
    assert [(row["system"], row["score"]) for row in task.board()["overall"]] == [("cells", 0.8), ("list", 0.4)]


# -- what is refused


def test_a_fault_in_one_file_leaves_the_other_languages_alone(task: Task) -> None:
    task.submit("fine.jsonl", answers(8))
    for lang in LANGS:
        task.submit(f"bad line/{lang}.jsonl", answers(8, (lang,)))
        task.submit(f"bad span/{lang}.jsonl", answers(8, (lang,)))
        task.submit(f"bad file/{lang}.jsonl", answers(8, (lang,)))
        task.submit(f"no ids/{lang}.jsonl", answers(8, (lang,)))
    task.submit(
        "bad line/en.jsonl", [*answers(8, ("en",))[:7], '{"id": "en-7", "spans": [[0, 8]]', *answers(8, ("en",))[8:]]
    )
    task.submit("bad span/en.jsonl", [*answers(8, ("en",))[:-1], {"id": "en-39", "spans": [[0, 11]]}])
    (task.systems / "bad file/en.jsonl").write_bytes(b"\xff\xfe")
    task.submit("no ids/en.jsonl", [{"spans": [[0, 8]]}] * 40)
    found = task.board("--by", "lang")
    assert places(found) == {"fine": "sss", "bad line": "srs", "bad span": "srs", "bad file": "srs", "no ids": "srs"}
    why = reasons(found)
    assert why["bad line", "en"].startswith(f"{task.systems}/bad line/en.jsonl:8: not JSON: ")
    assert why["bad line", "en"].endswith(f"1 of 40 rows has no prediction, the first is id 'en-7' ({task.gold}:48)")
    assert why["bad span", "en"] == (
        f"1 invalid span in 1 row: {task.systems}/bad span/en.jsonl:40, span 0 [0, 11]:"
        " past the end of the text (10 characters) (expected 0 <= start < end <= length of the text)"
    )
    assert why["bad file", "en"].startswith(f"{task.systems}/bad file/en.jsonl:1: not UTF-8")
    assert why["no ids", "en"].startswith(f"{task.systems}/no ids/en.jsonl: no column 'id'; it has spans")
    for (system, lang), reason in why.items():
        assert f"mycelium: refused: {system}, {lang}: {reason}\n" in task.err
    # The rest has the numbers it would have alone.
    (row,) = [row for row in found["slices"]["de"] if row["system"] == "bad line"]
    assert row["score"] == 0.8
    assert [row["system"] for row in found["overall"]] == ["fine"]


def test_in_one_file_too_a_fault_concerns_its_language(task: Task) -> None:
    task.submit("fine.jsonl", answers(8))
    task.submit("bad line.jsonl", [*answers(8)[:5], "{", *answers(8)[6:]])
    task.submit("bad span.jsonl", [*answers(8)[:50], {"id": "en-10", "spans": [[4, 4]]}, *answers(8)[51:]])
    task.submit("typo.jsonl", [*answers(8)[:-1], {"id": "zh-93", "spans": []}])
    task.submit("twice.jsonl", [*answers(8), {"id": "en-3", "spans": []}])
    task.submit("null.jsonl", [{"id": "de-0", "spans": None}, *answers(8)[1:]])
    task.submit("hole.jsonl", answers(8)[2:])
    task.submit("part.jsonl", answers(8, ("en",)))
    found = task.board("--by", "lang")
    assert places(found) == {
        "fine": "sss",
        "bad line": "rss",
        "bad span": "srs",
        "typo": "ssr",
        "twice": "srs",
        "null": "rss",
        "hole": "rss",
        "part": "msm",
    }
    why = reasons(found)
    assert why["bad span", "en"].startswith(f"1 invalid span in 1 row: {task.systems}/bad span.jsonl:51, span 0 [4, 4]")
    assert why["typo", "zh"].startswith(
        f"{task.systems}/typo.jsonl:120: id 'zh-93': unknown, {task.gold} has no such row; 1 of 40 rows has no"
    )
    assert why["twice", "en"] == (
        f"{task.systems}/twice.jsonl:121: id 'en-3': duplicate of {task.systems}/twice.jsonl:44"
    )
    assert why["hole", "de"] == f"2 of 40 rows have no prediction, the first is id 'de-0' ({task.gold}:1)"


def test_what_cannot_be_attributed_refuses_all_that_the_file_speaks_of(task: Task) -> None:
    task.submit("fine.jsonl", answers(8))
    task.submit("more.jsonl", [*answers(8, ("de", "en")), {"id": "xx", "spans": []}])
    task.submit("numbers.jsonl", [{"id": i, "spans": []} for i in range(3)])
    found = task.board("--by", "lang")
    assert places(found) == {"fine": "sss", "more": "rrm", "numbers": "rrr"}
    assert "and 0 more" not in task.err
    assert (
        reasons(found)["more", "de"] == f"{task.systems}/more.jsonl:81: id 'xx': unknown, {task.gold} has no such row"
    )


def test_ids_of_another_type_are_named_as_such(task: Task, tmp_path: Path) -> None:
    gold = write(tmp_path / "numbered.jsonl", [{"id": i, "spans": [[0, 4]]} for i in range(40)])
    task.submit("strings.jsonl", [{"id": str(i), "spans": [[0, 4]]} for i in range(40)])
    assert task.run(gold=gold) == 1
    assert "id '0': unknown" in task.err
    assert "differs from one in type only" in task.err
    assert "; and 37 more" in task.err


def test_missing_rows_and_invalid_spans_on_request(task: Task) -> None:
    task.submit("fine.jsonl", answers(8))
    task.submit("hole.jsonl", answers(8)[4:])
    task.submit("stray.jsonl", [{"id": "de-0", "spans": [[0, 8], [-1, -1]]}, *answers(8)[1:]])
    assert places(task.board("--by", "lang")) == {"fine": "sss", "hole": "rss", "stray": "rss"}
    found = task.board("--by", "lang", "--missing", "empty", "--invalid", "drop")
    assert places(found) == {"fine": "sss", "hole": "sss", "stray": "sss"}
    scores = {row["system"]: row["score"] for row in found["slices"]["de"]}
    # 36 of 40 rows at 0.8.
    assert scores == {"fine": 0.8, "stray": 0.8, "hole": pytest.approx(0.72)}
    assert found["meta"]["leniency"]["hole"]["missing"] == 4
    assert found["meta"]["leniency"]["stray"] == {"rows": 1, "dropped": 1, "clipped": 0, "missing": 0}
    # A line that cannot be read is no row in which nothing was found.
    task.submit("broken.jsonl", ["{", *answers(8)[1:]])
    assert places(task.board("--by", "lang", "--missing", "empty", "--invalid", "drop"))["broken"] == "rss"


def test_other_texts_are_remarked(task: Task) -> None:
    task.submit("long.jsonl", [{**row, "text": "another"} for row in answers(8)])
    task.board()
    assert f"{task.systems}/long.jsonl:1: text is not the text of the reference (and in 119 more rows)" in task.err


def test_nothing_in_the_folder_is_passed_over_in_silence(task: Task) -> None:
    task.submit("long.jsonl", answers(8))
    task.submit("nested/deep/de.jsonl", answers(8))
    (task.systems / "README.md").write_text("x")
    task.submit("empty.jsonl", [])
    found = task.board()
    assert f"{task.systems}/README.md: not read" in task.err
    assert f"{task.systems}/nested/deep: not read, a folder" in task.err
    assert f"{task.systems}/nested: holds no file of predictions" in task.err
    assert reasons(found)["empty", None] == f"{task.systems}/empty.jsonl: holds no rows"  # type: ignore[index]
    assert found["missing"] == [{"system": "nested", "slice": None}]


# -- exit status


def test_nothing_that_can_be_scored_is_status_one(task: Task) -> None:
    task.submit("bad.jsonl", ["{"])
    assert task.run() == 1
    assert task.out == ""
    assert f"mycelium: refused: bad: {task.systems}/bad.jsonl:1: not JSON" in task.err
    assert task.err.endswith(f"mycelium: {task.systems}: no system can be scored\n")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([*GOLD, GOLD[0]], "gold.jsonl:121: id 'de-0': duplicate of"),
        ([{**GOLD[0], "spans": None}, *GOLD[1:]], "gold.jsonl:1"),
        ([{**GOLD[0], "spans": [[0, 11]]}, *GOLD[1:]], "1 invalid span in 1 row: {gold}:1, span 0 [0, 11]"),
        ([{**GOLD[0], "text": 3}, *GOLD[1:]], "gold.jsonl:1: text is no string"),
        ([{**GOLD[0], "lang": None}, *GOLD[1:]], "gold.jsonl:1: no lang"),
        ([{"spans": []}], "no column 'id'"),
        ([], "gold.jsonl: holds no rows"),
        (["{"], "gold.jsonl:1: not JSON"),
    ],
)
def test_faults_in_the_references_are_status_one(task: Task, records: list[Any], message: str) -> None:
    write(Path(task.gold), records)
    task.submit("long.jsonl", answers(8))
    assert task.run("--by", "lang") == 1
    assert task.out == ""
    assert message.format(gold=task.gold) in task.err


def test_wrong_folders(task: Task, tmp_path: Path) -> None:
    assert task.run() == 1
    assert "holds no systems" in task.err
    task.submit("a.jsonl", answers(8))
    task.submit("a/de.jsonl", answers(8))
    assert task.run() == 1
    assert "another entry for the system 'a'" in task.err
    (tmp_path / "nothing").mkdir()
    assert task.run(gold=str(tmp_path / "nothing")) == 1
    assert "holds no file of references" in task.err
    assert main(["leaderboard", task.gold, str(tmp_path / "absent")]) == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--level", "1"),
        ("--level", "x"),
        ("--resamples", "0"),
        ("--seed", "-1"),
        ("--metric", "jaccard"),
        ("--metric", "iou,character"),
        ("--correction", "bonferroni"),
        ("--format", "pdf"),
        ("--where", "lang"),
    ],
)
def test_wrong_usage_is_status_two(task: Task, options: tuple[str, ...]) -> None:
    task.submit("long.jsonl", answers(8))
    assert task.run(*options) == 2


def test_too_few_resamples_are_named_by_the_option(task: Task) -> None:
    task.submit("long.jsonl", answers(8))
    task.submit("short.jsonl", answers(4))
    assert task.run("--resamples", "18") == 1
    assert "--resamples 18 is too small" in task.err
    assert "at least 19" in task.err
    assert task.run("--value", "recall") == 1
    assert "output must be one of 'score'" in task.err


# -- layouts

AWKWARD = "a_b & 50%|x<y>"


@pytest.mark.parametrize("format", ["table", "markdown", "csv", "latex", "html", "json"])
def test_layouts(task: Task, tmp_path: Path, format: str) -> None:
    task.submit(f"{AWKWARD}.jsonl", answers(8))
    task.submit("short.jsonl", answers(4))
    task.submit("hole.jsonl", answers(4)[1:])
    task.submit("part.jsonl", answers(4, ("zh",)))
    target = tmp_path / "out.txt"
    options = ("--by", "lang", "--format", format, "--resamples", "999")
    assert task.run(*options) == 0
    printed = task.out
    assert task.run(*options, "--output", str(target)) == 0
    assert task.out == ""
    assert target.read_text(encoding="utf-8") == printed
    assert printed.endswith("\n")
    assert not printed.endswith("\n\n")
    names = {
        "table": AWKWARD,
        "markdown": "| a_b & 50%\\|x\\<y> |",
        "csv": f",{AWKWARD},0.8,",
        "latex": "a\\_b \\& 50\\%\\textbar{}x\\textless{}y\\textgreater{} & 0.8000",
        "html": ">a_b &amp; 50%|x&lt;y&gt;</td>",
        "json": f'"system": "{AWKWARD}"',
    }
    assert names[format] in printed
    for text in ("hole", "short", "part", "1 of 40 rows has no prediction", "|rank:permutation|adjust:holm|"):
        assert text in printed
    if format == "json":
        assert set(json.loads(printed)) == {"leaderboard", "signature"}
    elif format == "csv":
        rows = list(csv.DictReader(io.StringIO(printed)))
        assert len(rows) == 2 + 2 + 3 + 4 + 1 + 2
        assert [row["status"] for row in rows].count("not submitted") == 2
    elif format == "html":
        assert printed.startswith("<!DOCTYPE html>\n")
        assert '<meta charset="utf-8">' in printed
        assert "x<y" not in printed
    else:
        assert re.search(r"0\.8000.*\[0\.8000, 0\.8000\]", printed)
        assert "part: de, en (2 of 3)" in printed


@pytest.mark.corpora
def test_a_published_task(task: Task, corpora: Path) -> None:
    folder = corpora / "mu_shroom"
    files = {
        "base": ["ar2", "ca", "de", "en", "es2", "fi", "it"],
        "new": ["ar-new", "ca-new", "de-new", "en-new", "it-new"],
    }
    for name, langs in files.items():
        (task.systems / name).mkdir()
        for lang in langs:
            source = folder / f"predictions/mushroom-{lang}-tst-predicted.jsonl"
            (task.systems / name / f"{lang}.jsonl").write_bytes(source.read_bytes())
    found = task.board("--by", "lang", "--profile", "mu_shroom", "--invalid", "drop", gold=str(folder / "test"))
    assert len(found["slices"]) == 14
    assert found["overall"] == []
    scored = {key: {row["system"] for row in rows} for key, rows in found["slices"].items() if rows}
    both = {"base", "new"}
    assert scored == {"AR": both, "CA": both, "DE": {"base"}, "EN": both, "ES": {"base"}, "FI": {"base"}, "IT": both}
    # The organisers' own scorer prints the same IoU, to its eight digits.
    lines = (folder / "official_scores.tsv").read_text(encoding="utf-8").split("\n")
    official = {line.split("\t")[0]: line.split("\t")[5] for line in lines[1:] if line}
    for name, langs in files.items():
        for lang in langs:
            rows = {row["system"]: row["score"] for row in found["slices"][lang[:2].upper()]}
            wanted = official[f"mushroom-{lang}-tst-predicted.jsonl"]
            assert wanted == (f"{rows[name]:.8f}" if name in rows else "refused: rows missing")
    (refusal,) = found["refused"]
    assert (refusal["system"], refusal["slice"]) == ("new", "DE")
    assert refusal["reason"].startswith("18 of 150 rows have no prediction, the first is id ")
    # Without leniency the invalid spans refuse a system in their language only.
    strict = task.board("--by", "lang", gold=str(folder / "test"))
    assert {one["slice"] for one in strict["refused"] if one["system"] == "base"} == {"CA", "DE", "EN", "IT"}
    assert [row["system"] for row in strict["slices"]["AR"]] == ["base"]
