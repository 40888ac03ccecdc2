"""The shipped samples, the baseline and ``mycelium demo``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from mycelium import evaluate, samples
from mycelium.baseline import lexical_support
from mycelium.cli import main
from mycelium.cli.demo import markers, predict
from mycelium.formats.files import read_table

#: What people marked, as text: the annotation is meant so, whatever the offsets in the files say.
MU_SHROOM = {
    "smp-en-1": ["1938"],
    "smp-en-2": [],
    "smp-en-3": ["berries", "15 years"],
    "smp-en-4": ["autumn", "Bologna"],
    "smp-en-5": ["Yes", "two medals in rowing at the Olympic Games"],
    "smp-en-6": ["under Karel Novak"],
    "smp-en-7": [],
    "smp-en-8": ["2,130"],
    "smp-es-1": ["mar", "120"],
    "smp-ru-1": ["основал Пётр Лунин"],
    "smp-zh-1": ["960", "木"],
    "smp-en-9": [],
}
RAGTRUTH = {
    "1": [],
    "2": [
        ("1951", "Evident Conflict"),
        ("after a flood destroyed the old pier", "Evident Baseless Info"),
        ("About 200 workers will lose their jobs.", "Evident Conflict"),
        ("About 200 workers", "Evident Baseless Info"),
    ],
    "3": [("cost about 12 euros each", "Evident Baseless Info")],
    "4": [],
    "5": [],
    "6": [
        ("seven days", "Evident Conflict"),
        ("It can also be frozen for three months without losing its flavour.", "Evident Baseless Info"),
    ],
    "7": [],
    "8": [
        ("a passport photo", "Evident Baseless Info"),
        ("costs five euros for everyone", "Subtle Conflict"),
        ("takes ten minutes", "Evident Baseless Info"),
    ],
    "9": [],
    "10": [
        ("every day from 8:00 to 18:00", "Evident Conflict"),
        ("has a large car park behind the house", "Evident Baseless Info"),
        ("quick service", "Subtle Baseless Info"),
    ],
    "11": [],
    "12": [("Κάθε Παρασκευή έχει ζωντανή μουσική.", "Evident Baseless Info")],
}


# -- the samples


def test_gold_spans_stand_at_the_words_that_are_meant() -> None:
    rows = samples.read("mu_shroom.jsonl")
    assert {
        row["id"]: [row["model_output_text"][start:end] for start, end in row["hard_labels"]] for row in rows
    } == MU_SHROOM
    rows = samples.read("ragtruth/response.jsonl")
    assert {
        row["id"]: [(row["response"][s["start"] : s["end"]], s["label_type"]) for s in row["labels"]] for row in rows
    } == RAGTRUTH
    assert all(s["text"] == row["response"][s["start"] : s["end"]] for row in rows for s in row["labels"])


def test_soft_labels_are_the_shares_of_the_annotators() -> None:
    for row in samples.read("mu_shroom.jsonl"):
        n = len(row["model_output_text"])
        votes = [0] * n
        for spans in row["annotations"].values():
            for i in {i for start, end in spans for i in range(start, end)}:
                votes[i] += 1
        shares = [0.0] * n
        for span in row["soft_labels"]:
            shares[span["start"] : span["end"]] = [span["prob"]] * (span["end"] - span["start"])
        assert shares == pytest.approx([vote / 3 for vote in votes])
        hard = {i for start, end in row["hard_labels"] for i in range(start, end)}
        assert hard == {i for i, vote in enumerate(votes) if vote >= 2}


def test_samples_hold_the_difficult_cases() -> None:
    mu, rag = samples.read("mu_shroom.jsonl"), samples.read("ragtruth/response.jsonl")

    def astral_before_a_span(text: str, starts: list[int]) -> bool:
        return any(ord(character) > 0xFFFF for start in starts for character in text[:start])

    assert any(astral_before_a_span(r["model_output_text"], [s for s, _ in r["hard_labels"]]) for r in mu)
    assert any(astral_before_a_span(r["response"], [s["start"] for s in r["labels"]]) for r in rag)
    assert any(a["start"] < b["end"] and b["start"] < a["end"] for r in rag for a in r["labels"] for b in r["labels"] if
               a is not b)  # fmt: skip
    assert {r["lang"] for r in mu} >= {"EN", "ES", "RU", "ZH"}
    for texts in ([r["model_output_text"] for r in mu], [r["response"] for r in rag]):
        assert any(sum(ord(character) > 0x2FF for character in text) > len(text) / 2 for text in texts)
    sources = samples.read("ragtruth/source_info.jsonl")
    assert {source["task_type"] for source in sources} == {"Summary", "QA", "Data2txt"}
    assert len({r["model"] for r in rag}) == 2
    assert len({source["source_id"] for source in sources}) == len({r["source_id"] for r in rag}) == 6


def test_the_folder_is_a_ragtruth_folder() -> None:
    table = read_table(samples.FOLDER / "ragtruth")
    assert len(table) == 12
    assert set(table.columns["task_type"]) == {"Summary", "QA", "Data2txt"}


@pytest.mark.parametrize("schema", ["mu_shroom", "ragtruth"])
def test_prediction_files_are_the_output_of_the_baseline(schema: str) -> None:
    assert samples.read(f"{schema}_baseline.jsonl") == predict(schema)


def test_unknown_schema() -> None:
    with pytest.raises(ValueError, match="schema must be 'mu_shroom' or 'ragtruth', got 'x'"):
        predict("x")


# -- the baseline


@pytest.mark.parametrize(
    ("source", "answer", "words"),
    [
        ("The bridge opened in 1932.", "The bridge opened in 1932.", []),
        ("The bridge opened in 1932.", "It was opened in 1938.", [("1938", 0.9)]),
        # Numbers are whole: 1,932 is not 1932, and 32 is not in 1932.
        ("It weighs 1932 kg.", "It weighs 1,932 kg or 32 kg.", [("1,932", 0.9), ("32", 0.9)]),
        # Names inside a sentence weigh more than other words; the first word of a sentence has a capital anyway.
        ("A town.", "Bologna is a town. Trieste too. In Lisbon rain", [
            ("Bologna", 0.6), ("Trieste", 0.6), ("Lisbon", 0.8), ("rain", 0.6)]),
        # A word that begins alike is supported, a short one and a function word never marked.
        ("The moss filters water.", "Moss filtering which ox ate", []),
        ("STRASSE", "die Straße", []),
        ("", "", []),
        # Characters of scripts without spaces, one by one; the offsets count them after an emoji as well.
        ("全长860米", "🙂全长960公米", [("960", 0.9), ("公", 0.6)]),
    ],
)  # fmt: skip
def test_what_the_baseline_marks(source: str, answer: str, words: list[tuple[str, float]]) -> None:
    found = lexical_support(source, answer).soft_labels
    assert [(answer[int(s["start"]) : int(s["end"])], s["prob"]) for s in found] == words


def test_hard_labels_join_over_white_space_only() -> None:
    answer = "by Karel  Novak, Mara"
    assert [answer[a:b] for a, b in lexical_support("", answer).hard_labels] == ["Karel  Novak", "Mara"]


# -- the demo


@pytest.fixture
def demo(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_commands_of_the_demo_print_its_numbers(
    demo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    begin = demo.index("mycelium demo --write")
    commands = [line for line in demo[begin:].replace("\\\n", " ").splitlines() if line.startswith("mycelium ")]
    assert len(commands) == 5
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        if "--write" in command:
            continue
        # The last paragraph: the only one, or the slices.
        assert captured.out.strip().split("\n\n")[-1] in demo


def test_the_demo_fits_80_columns_but_for_the_signatures(demo: str) -> None:
    wide = {line for line in demo.splitlines() if len(line) > 80}
    assert all(line.startswith("mycelium|v:") for line in wide)


def test_the_demo_scores_the_shipped_files(demo: str) -> None:
    rows = samples.read("ragtruth/response.jsonl")
    found = samples.read("ragtruth_baseline.jsonl")
    report = evaluate(
        references=[row["labels"] for row in rows], predictions=[row["spans"] for row in found], profile="ragtruth"
    )
    assert report.signature in demo
    for key in ("exact_span", "character", "deteval_1d", "cleval_1d", "span_coverage"):
        assert f"{report[key]['precision']:.4f}  {report[key]['recall']:.4f}  {report[key]['f1']:.4f}" in demo


def test_written_samples_are_the_shipped_ones_and_nothing_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "samples"
    assert main(["demo", "--write", str(folder)]) == 0
    assert capsys.readouterr().out == f"wrote samples to {folder}\n"
    for name in samples.FILES:
        assert (folder / name).read_bytes() == (samples.FOLDER / name).read_bytes()
    changed = folder / "mu_shroom.jsonl"
    changed.write_text("mine", encoding="utf-8")
    (folder / "ragtruth_baseline.jsonl").unlink()
    assert main(["demo", "--write", str(folder)]) == 1
    assert "mu_shroom.jsonl: exists already, nothing was written" in capsys.readouterr().err
    assert changed.read_text(encoding="utf-8") == "mine"
    assert not (folder / "ragtruth_baseline.jsonl").exists()


def test_all_sample_files_are_listed() -> None:
    found = {str(p.relative_to(samples.FOLDER)).replace("\\", "/") for p in samples.FOLDER.rglob("*.jsonl")}
    assert found == set(samples.FILES)


def test_samples_end_records_at_line_feeds_and_read_as_utf8() -> None:
    for name in samples.FILES:
        data = (samples.FOLDER / name).read_bytes()
        assert data.endswith(b"\n")
        assert b"\r" not in data
        assert all(isinstance(json.loads(line), dict) for line in data.decode("utf-8").split("\n")[:-1])


# -- markers


def drawn(text: str, width: int = 78, **sides: Any) -> list[str]:
    return list(markers(text, {name: ("^" if name == "gold" else "~", spans) for name, spans in sides.items()}, width))


def test_markers_stand_under_their_characters() -> None:
    assert drawn("a bad fact", gold=[[2, 5]], pred=[[6, 10]]) == [
        "      a bad fact",
        "gold    ^^^",
        "pred        ~~~~",
    ]
    # Overlaps are marked once, a side without spans has no line.
    assert drawn("abcdef", gold=[[0, 3], [2, 4]], pred=[]) == ["      abcdef", "gold  ^^^^"]


def test_markers_know_wide_and_combining_characters() -> None:
    assert drawn("🙂 bad", gold=[[2, 5]]) == ["      🙂 bad", "gold     ^^^"]
    assert drawn("東京 bad", gold=[[1, 2], [3, 6]]) == ["      東京 bad", "gold    ^^ ^^^"]
    assert drawn("e\u0301 bad", gold=[[3, 6]]) == ["      e\u0301 bad", "gold    ^^^"]


def test_markers_break_lines_at_spaces_and_lose_no_character() -> None:
    text = "one two three four five six seven"
    lines = drawn(text, 18, gold=[[8, 18]])
    assert lines == ["      one two", "      three four", "gold  ^^^^^^^^^^", "      five six", "      seven"]
    # A word that fits no line is cut.
    assert drawn("abcdefghij", 10, gold=[]) == ["      abcd", "      efgh", "      ij"]
    for width in range(8, 40):
        rows = drawn(text, width, gold=[])
        assert "".join(row[6:] for row in rows).replace(" ", "") == text.replace(" ", "")
        assert max(map(len, rows)) <= width
