"""``mycelium annotators``: the numbers are those of the study on the same rows, and the command adds nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA

from mycelium.annotators import human_level, human_levels_table, studies_table, study, study_intervals
from mycelium.cli import main
from mycelium.corpora import load_mushroom

TEXT = "0123456789" * 3
#: Three annotators; the third of every fourth row did not look, and one pair has no length.
MARKS: list[dict[str, Any]] = [
    {"ann": [[i % 5, 10]], "bo": [[0, 8 + i % 3], [12, 12]], "cy": [] if i % 4 else None} for i in range(36)
]
ROWS = [{"id": f"r{i}", "text": TEXT, "lang": "xx", "annotations": marks} for i, marks in enumerate(MARKS)]
PREDICTIONS = [{"id": f"r{i}", "spans": [[1, 9]] if i % 3 else []} for i in range(36)]
KEYS = [
    "comparisons",
    "one_char_mean_share_of_reference_characters",
    "pairwise_relations",
    "boundary_nested",
    "macro_f1",
    "micro_f1",
]


def write(path: Path, rows: list[Any]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(tmp_path / "notes.jsonl", ROWS)


@pytest.fixture
def predictions(tmp_path: Path) -> str:
    return write(tmp_path / "pred.jsonl", PREDICTIONS[::-1])


class Ran:
    """What a command line gave."""

    def __init__(self, status: Any, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def _run(*argv: str) -> Ran:
        try:
            status: Any = main(["annotators", *argv])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(status, captured.out, captured.err)

    return _run


def paths(value: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return [at]
    return [path for key, part in value.items() for path in paths(part, (*at, key))]


def test_json_is_the_study(run: Any, file: str) -> None:
    ran = run(file, "--format", "json")
    assert list(ran.json) == KEYS
    assert ran.json == study(MARKS).to_dict()
    # What the JSON has no place for is said beside it.
    assert "36 items, 2 to 3 annotators each, 3 distinct." in ran.err
    assert "Left out: 0 items with fewer than 2 annotators (undefined), 36 annotations of no length." in ran.err


def test_intervals_mirror_the_paths(run: Any, file: str) -> None:
    found = run(file, "--format", "json", "--bootstrap", "50", "--seed", "3", "--level", "0.9").json
    intervals = found.pop("intervals")
    meta = intervals.pop("meta")
    assert list(found) == KEYS
    assert set(paths(intervals)) <= set(paths(found))
    assert set(paths(intervals)) == {
        path
        for path in paths(found)
        if path[0] not in ("comparisons", "pairwise_relations") and path[-1] not in ("nested", "eligible")
    }
    expected = study_intervals(study(MARKS), n_resamples=50, seed=3, level=0.9)
    assert intervals == expected.intervals
    assert meta == {**expected.meta, "differences": expected.differences}
    assert "marked by these same annotators" in meta["condition"]


def test_the_human_level_comes_along(run: Any, file: str, predictions: str) -> None:
    found = run(file, "--predictions", predictions, "--format", "json", "--consensus", "union", "--metrics", "iou").json
    assert list(found) == [*KEYS, "human_level"]
    spans = [row["spans"] for row in PREDICTIONS]
    expected = human_level(MARKS, spans, "union", metrics=["iou"], n_resamples=None)
    assert found["human_level"]["scores"] == expected.scores
    assert found["human_level"]["meta"] == expected.meta
    assert found["human_level"]["intervals"] == {}
    again = run(file, "--predictions", predictions, "--format", "json", "--bootstrap", "40", "--metrics", "iou").json
    expected = human_level(MARKS, spans, metrics=["iou"], n_resamples=40)
    assert again["human_level"]["intervals"] == expected.intervals


def test_equal_numbers_of_the_human_level(run: Any, file: str, predictions: str) -> None:
    argv = ["--annotators", "2", "--subsets", "2", "--seed", "4", "--metrics", "iou", "--format", "json"]
    found = run(file, "--predictions", predictions, "--bootstrap", "30", *argv).json["human_level"]
    spans = [row["spans"] for row in PREDICTIONS]
    expected = human_level(MARKS, spans, metrics=["iou"], n_annotators=2, subsets=2, seed=4, n_resamples=30)
    assert (found["scores"], found["intervals"]) == (expected.scores, expected.intervals)
    assert expected.scores != human_level(MARKS, spans, metrics=["iou"], n_resamples=None).scores


def test_equal_numbers(run: Any, file: str) -> None:
    found = run(file, "--annotators", "2", "--format", "json").json
    assert found == study(MARKS, n_annotators=2).to_dict()
    found = run(file, "--annotators", "2", "--subsets", "2", "--seed", "5", "--format", "json").json
    assert found == study(MARKS, n_annotators=2, subsets=2, seed=5).to_dict()
    ran = run(file, "--annotators", "3")
    assert "Every item is cut to 3 annotators" in ran.out
    # Every fourth of 36 has two only.
    assert "Left out: 9 items with fewer than 3 annotators (undefined)" in ran.out


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
def test_all_layouts(run: Any, file: str, predictions: str, format: str) -> None:
    ran = run(file, "--format", format, "--predictions", predictions, "--bootstrap", "40")
    style = "text" if format == "table" else format
    done = study(MARKS)
    first = done.to_table(style, study_intervals(done, n_resamples=40))
    second = human_level(MARKS, [row["spans"] for row in PREDICTIONS], n_resamples=40).to_table(style)
    assert ran.out == f"{first}\n\n{second}\n"
    marks = {"table": "macro F1 ", "markdown": "| macro F1", "latex": r"\toprule"}
    assert marks[format] in ran.out
    assert "the intervals hold for other items like these, marked by these same annotators" in ran.out


def test_several_files_have_a_row_each(run: Any, tmp_path: Path, predictions: str) -> None:
    folder = tmp_path / "all"
    for lang, rows in (("aa", ROWS), ("bb", ROWS[1:])):
        write(folder / f"{lang}-test.jsonl", [{**row, "lang": lang.upper()} for row in rows])
    (folder / "README.md").write_text("not data", encoding="utf-8")
    lines = run(str(folder), "--metrics", "iou").out.split("\n")
    assert lines[0].split() == ["corpus", "items", "annotators", "per", "item", "distinct", "iou", "boundary-nested",
                                "one", "character"]  # fmt: skip
    assert [line.split()[:5] for line in lines[1:3]] == [
        ["AA", "36", "2", "to", "3"],
        ["BB", "35", "2", "to", "3"],
    ]
    assert "Left out: 71 annotations of no length (AA 36, BB 35)." in lines
    found = run(str(folder), "--format", "json").json
    assert list(found) == ["AA", "BB"]
    assert found["BB"].pop("annotators_per_item") == [2, 3]
    assert found["BB"] == study(MARKS[1:]).to_dict()
    # Files of one language are called after the files.
    same = [write(tmp_path / f"{name}.jsonl", ROWS) for name in ("one", "two")]
    assert list(run(*same, "--format", "json").json) == ["one", "two"]
    out = run(*same, "--metrics", "iou", *["--predictions", predictions] * 2, "--bootstrap", "40").out
    levels = {
        name: human_level(MARKS, [row["spans"] for row in PREDICTIONS], metrics=["iou"], n_resamples=40)
        for name in ("one", "two")
    }
    done = {name: study(MARKS, metrics=["iou"]) for name in ("one", "two")}
    intervals = {name: study_intervals(one, n_resamples=40) for name, one in done.items()}
    assert out == f"{studies_table(done, 'text', intervals)}\n\n{human_levels_table(levels)}\n"


def test_three_annotators_are_spoken_of(run: Any, tmp_path: Path) -> None:
    three = write(tmp_path / "three.jsonl", [{"annotations": {"a": [[0, 2]], "b": [], "c": [[1, 2]]}}] * 4)
    two = write(tmp_path / "two.jsonl", [{"annotations": [[[0, 2]], [[0, 1]]]}] * 4)
    sentence = "a majority of the other two is their intersection."
    assert sentence in run(three).out
    assert f"(1 of 2: three): {sentence}" in run(two, three).out
    assert sentence not in run(two).out


def test_output_goes_to_a_file(run: Any, file: str, tmp_path: Path) -> None:
    ran = run(file, "--output", str(tmp_path / "out.md"), "--format", "markdown")
    assert ran.out == ""
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == study(MARKS).to_table("markdown") + "\n"


def test_warnings_name_the_file(run: Any, tmp_path: Path) -> None:
    few = write(tmp_path / "few.jsonl", ROWS[:5])
    ran = run(few, "--bootstrap", "20")
    assert ran.status == 0
    assert f"mycelium: {few}: intervals from 5 items are likely too narrow" in ran.err


BROKEN: list[tuple[list[Any], str]] = [
    ([{"id": "a", "text": TEXT}], r"{file}: no annotation column \(annotations, annotators\); it has id, text"),
    ([ROWS[0], ROWS[1], ROWS[0]], r"{file}:3: id 'r0': duplicate of {file}:1"),
    ([ROWS[0], {**ROWS[1], "id": None}], r"{file}:2: no id"),
    (
        [ROWS[0], {**ROWS[1], "annotations": {"ann": [[0, 3]], "bo": [[0, 1], [5, 99]]}}],
        r"{file}:2: annotator 'bo', span 1 \[5, 99\]: expected 0 <= start < end <= 30 \(characters of the text\)",
    ),
    ([ROWS[0], {**ROWS[1], "annotations": {"ann": [[0, "x"]]}}], r"{file}:2: annotator 'ann'.*'x'"),
    ([ROWS[0], {**ROWS[1], "annotations": 3}], r"{file}:2: expected a dict of annotator to spans"),
    ([{**ROWS[0], "text": 3}], r"{file}:1: text is no string"),
    ([{**ROWS[0], "annotations": {"a": []}}], r"{file}: none of the 1 rows has two annotators to compare"),
    ([{**ROWS[0], "annotations": None}], r"{file}: none of the 1 rows has two annotators to compare"),
    ([], r"{file}: holds no rows"),
]


@pytest.mark.parametrize(("rows", "message"), BROKEN)
def test_what_cannot_be_used_is_refused(run: Any, tmp_path: Path, rows: list[Any], message: str) -> None:
    file = write(tmp_path / "bad.jsonl", rows)
    ran = run(file)
    assert (ran.status, ran.out) == (1, "")
    assert re.search(message.replace("{file}", re.escape(file)), ran.err), ran.err


def test_new_annotators_need_ten(run: Any, file: str) -> None:
    ran = run(file, "--bootstrap", "20", "--resample", "items_annotators")
    assert ran.status == 1
    assert f'{file}: resample="items_annotators" needs at least 10 distinct annotators, there are 3' in ran.err


def test_predictions_are_read_with_care(run: Any, file: str, tmp_path: Path) -> None:
    lacking = write(tmp_path / "lacking.jsonl", PREDICTIONS[1:])
    assert f"{lacking}: id 'r0': no prediction for {file}:1" in run(file, "--predictions", lacking).err
    assert (
        "counted 1 row without a prediction as empty" in run(file, "--predictions", lacking, "--missing", "empty").err
    )
    beyond = write(tmp_path / "beyond.jsonl", [{**PREDICTIONS[0], "spans": [[-1, -1], [2, 4]]}, *PREDICTIONS[1:]])
    ran = run(file, "--predictions", beyond)
    assert ran.status == 1
    assert beyond in ran.err
    ran = run(file, "--predictions", beyond, "--invalid", "drop", "--format", "json", "--metrics", "iou")
    spans = [[[2, 4]], *(row["spans"] for row in PREDICTIONS[1:])]
    expected = human_level(MARKS, spans, metrics=["iou"], n_resamples=None)
    assert ran.json["human_level"]["scores"] == expected.scores
    assert "leniency: 1 rows, 1 dropped" in ran.err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--level", "0.9"], "--level speaks of intervals: it needs --bootstrap"),
        (["--resample", "items"], "--resample speaks of intervals: it needs --bootstrap"),
        (["--ci-method", "bca"], "--ci-method speaks of intervals: it needs --bootstrap"),
        (["--subsets", "3"], "it needs --annotators"),
        (["--consensus", "union"], "it needs --predictions"),
        (["--annotators", "1"], "must be a whole number from 2 on"),
        (["--bootstrap", "0"], "must be a whole number from 1 on"),
        (["--predictions", "a", "--predictions", "b"], "given 2 times, and there are 1 files"),
        (["--predictions", "a", "--consensus", "most"], "must be majority, union, intersection or a share"),
        (["--metrics", "iou iou"], "'iou' is named twice"),
    ],
)
def test_wrong_usage(run: Any, file: str, argv: list[str], message: str) -> None:
    ran = run(file, *argv)
    assert ran.status == 2
    assert message in " ".join(ran.err.split())


def test_files_given_twice_and_empty_folders(run: Any, file: str, tmp_path: Path) -> None:
    assert "is given twice" in run(file, file).err
    (tmp_path / "empty").mkdir()
    ran = run(str(tmp_path / "empty"))
    assert ran.status == 1
    assert "no file with a suffix of .jsonl" in ran.err


@pytest.mark.corpora
def test_the_published_table_comes_out(run: Any, corpora: Path) -> None:
    published = json.loads((DATA / "mu_shroom_table1.json").read_text(encoding="utf-8"))
    del published["source"], published["published_3_digits"]
    file = corpora / "mu_shroom" / "test" / "mushroom.en-tst.v1.extra.jsonl"
    found = run(str(file), "--bootstrap", "100", "--format", "json").json
    assert set(found) == {*published, "intervals"}
    assert published.pop("boundary_nested").startswith("1403 of 6280")
    share = found.pop("boundary_nested")
    assert share == {"nested": 1403, "eligible": 6280, "share": pytest.approx(1403 / 6280)}
    for path in paths(published):
        here, there = found, published
        for key in path:
            here, there = here[key], there[key]
        assert here == pytest.approx(there, abs=5.0e-7), path
        if path[0] not in ("comparisons", "pairwise_relations"):
            bounds = found["intervals"]
            for key in path:
                bounds = bounds[key]
            assert bounds[0] <= here <= bounds[1], path


@pytest.mark.corpora
def test_a_folder_of_languages(run: Any, corpora: Path) -> None:
    folder = corpora / "mu_shroom" / "test"
    ran = run(str(folder), "--metrics", "iou exact_span span_coverage")
    assert ran.status == 0
    cells = {line.split()[0]: line for line in ran.out.split("\n")[1:15]}
    assert list(cells) == ["AR", "CA", "CS", "DE", "EN", "ES", "EU", "FA", "FI", "FR", "HI", "IT", "SV", "ZH"]
    assert "9 to 12" in cells["EN"]
    assert "(11 of 14: AR, CA, CS, DE, EU, FA, FI, FR, HI, IT, SV)" in ran.out
    assert "Left out: 412 annotations of no length (" in ran.out
    for line in cells.values():
        pairs = [(float(a), float(b)) for a, b in re.findall(r"([\d.]+) / ([\d.]+)", line)]
        assert pairs[1][0] > pairs[1][1]  # exact span falls
        assert pairs[2][0] < pairs[2][1]  # Span Coverage rises
    # The command reads the files itself, the corpus through datasets: both say the same.
    found = run(str(folder / "mushroom.fi-tst.v1.extra.jsonl"), "--format", "json").json
    assert found == study(load_mushroom(corpora / "mu_shroom", "fi")).to_dict()
