"""``mycelium compare``: the numbers are those of ``compare`` on the same spans, and the command adds nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium.cli import main
from mycelium.cli.compare import _short_names
from mycelium.versus.comparison import Comparison, compare

N = 36
TEXT = "0123456789" * 4


def records(seed: int, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    starts, ends = rng.integers(0, 15, N).tolist(), rng.integers(20, 40, N).tolist()
    return [
        {"id": f"r{i}", "spans": [[starts[i], ends[i]]] if i % 5 else [], **{k: v[i] for k, v in more.items()}}
        for i in range(N)
    ]


GOLD = records(0, text=[TEXT] * N, doc=[f"d{i % 12:02}" for i in range(N)], split=["test"] * 32 + ["dev"] * 4)
SYSTEMS = {name: records(seed) for name, seed in (("one", 1), ("two", 2), ("three", 3))}


def write(path: Path, rows: list[Any]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    found = {name: write(tmp_path / f"{name}.jsonl", rows) for name, rows in SYSTEMS.items()}
    # The order of rows in a file is of no consequence where there are ids.
    found["shuffled"] = write(tmp_path / "shuffled.jsonl", SYSTEMS["two"][::-1])
    return {"gold": write(tmp_path / "gold.jsonl", GOLD), **found}


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
            status: Any = main(["compare", *argv])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(status, captured.out, captured.err)

    return _run


def spans(rows: list[dict[str, Any]], keep: range = range(N)) -> list[Any]:
    return [rows[i]["spans"] for i in keep]


def expected(*names: str, keep: range = range(N), **options: Any) -> Comparison:
    return compare(
        spans(GOLD, keep),
        {name: spans(SYSTEMS[name], keep) for name in names},
        text=[TEXT] * len(keep),
        **options,
    )


def same(ran: Ran, found: Comparison) -> None:
    ours = ran.json
    theirs = json.loads(found.to_json())
    for side in (ours, theirs):
        side["comparison"]["meta"].pop("leniency")
    assert ours == theirs


def test_the_table_is_that_of_the_library(run: Any, files: dict[str, str]) -> None:
    ran = run(files["gold"], files["one"], files["two"])
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == expected("one", "two").to_table() + "\n"


def test_every_option_arrives(run: Any, files: dict[str, str]) -> None:
    arguments = [files[name] for name in ("gold", "one", "two", "three")]
    same(run(*arguments, "--format", "json", "--metrics", "iou"), expected("one", "two", "three", metrics=["iou"]))
    same(
        run(
            *arguments,
            *("--format", "json", "--metrics", "character, iou", "--average", "micro", "--undefined", "0"),
            *("--outputs", "all", "--baseline", "two", "--alternative", "greater", "--correction", "bh"),
            *("--family", "all", "--level", "0.9", "--resamples", "500", "--seed", "7", "--ci-method", "bca"),
        ),
        expected(
            *("one", "two", "three"),
            metrics=["character", "iou"],
            average="micro",
            undefined=0.0,
            outputs="all",
            baseline="two",
            alternative="greater",
            correction="bh",
            family="all",
            level=0.9,
            n_resamples=500,
            seed=7,
            method="bca",
        ),
    )


def test_groups_are_a_column_of_the_references(run: Any, files: dict[str, str]) -> None:
    ran = run(files["gold"], files["one"], files["two"], "--groups", "doc", "--metrics", "iou", "--format", "json")
    with pytest.warns(UserWarning, match="12 groups"):
        same(ran, expected("one", "two", groups=[row["doc"] for row in GOLD], metrics=["iou"]))
    assert ran.json["comparison"]["meta"]["exact"]  # 4096 patterns
    assert ran.err.startswith("mycelium: intervals from 12 groups are likely too narrow")
    missing = run(files["gold"], files["one"], files["two"], "--groups", "source")
    assert (missing.status, missing.out) == (1, "")
    assert "no column 'source'" in missing.err


def test_rows_are_paired_by_id_and_chosen_by_where(run: Any, files: dict[str, str]) -> None:
    keep = range(32)
    two = f"two={files['shuffled']}"
    ran = run(files["gold"], files["one"], two, "--where", "split=test", "--metrics", "iou", "--format", "json")
    same(ran, expected("one", "two", keep=keep, metrics=["iou"]))
    assert "4 rows are not scored" in ran.err


def test_files_of_one_name_are_runs(run: Any, files: dict[str, str]) -> None:
    ran = run(
        files["gold"], f"A={files['one']}", files["three"], f"A={files['two']}", "--metrics", "iou", "--format", "json"
    )
    systems = {"A": [spans(SYSTEMS["one"]), spans(SYSTEMS["two"])], "three": spans(SYSTEMS["three"])}
    same(ran, compare(spans(GOLD), systems, text=[TEXT] * N, metrics=["iou"]))
    assert ran.json["comparison"]["systems"]["A"]["runs"] == 2
    table = run(files["gold"], f"A={files['one']}", files["three"], f"A={files['two']}", "--metrics", "iou").out
    assert table.split("\n")[0].endswith("sd of runs  runs")


def test_short_names() -> None:
    assert _short_names(["x/a.jsonl", "y/b.jsonl"]) == {"x/a.jsonl": "a", "y/b.jsonl": "b"}
    assert _short_names(["x/p.jsonl", "y/p.jsonl", "y/q.jsonl"]) == {
        "x/p.jsonl": "x/p",
        "y/p.jsonl": "y/p",
        "y/q.jsonl": "q",
    }
    assert _short_names(["x/1/p.jsonl", "y/1/p.jsonl"]) == {"x/1/p.jsonl": "x/1/p", "y/1/p.jsonl": "y/1/p"}
    assert _short_names(["p.jsonl", "y/p.jsonl"]) == {"p.jsonl": "p.jsonl", "y/p.jsonl": "y/p"}
    assert _short_names(["p.jsonl", "p.csv"]) == {"p.jsonl": "p.jsonl", "p.csv": "p.csv"}


def test_files_with_equal_names(run: Any, files: dict[str, str], tmp_path: Path) -> None:
    a, b = (write(tmp_path / folder / "pred.jsonl", SYSTEMS[name]) for folder, name in (("a", "one"), ("b", "two")))
    ran = run(files["gold"], a, b, "--metrics", "iou", "--format", "json")
    assert list(ran.json["comparison"]["systems"]) == ["a/pred", "b/pred"]


def test_an_equals_sign_in_the_name_of_a_file(run: Any, files: dict[str, str], tmp_path: Path) -> None:
    odd = write(tmp_path / "lr=0.1.jsonl", SYSTEMS["one"])
    ran = run(files["gold"], odd, files["two"], "--metrics", "iou", "--format", "json")
    assert list(ran.json["comparison"]["systems"]) == ["lr=0.1", "two"]


def test_formats(run: Any, files: dict[str, str], tmp_path: Path) -> None:
    arguments = (files["gold"], files["one"], files["two"], "--metrics", "iou")
    found = expected("one", "two", metrics=["iou"])
    for format in ("markdown", "csv", "latex", "html"):
        assert run(*arguments, "--format", format).out == found.to_table(format) + "\n"
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").out)))
    assert [row["a"] for row in rows] == ["one", "two", "one"]
    out = tmp_path / "table.txt"
    ran = run(*arguments, "--output", str(out))
    assert ran.out == ""
    assert out.read_text(encoding="utf-8") == found.to_table() + "\n"


def test_leniency_is_counted_file_by_file(run: Any, files: dict[str, str], tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.jsonl", [{**SYSTEMS["one"][0], "spans": [[-1, -1], [3, 90]]}, *SYSTEMS["one"][1:]])
    refused = run(files["gold"], files["two"], bad)
    assert (refused.status, refused.out) == (1, "")
    assert "bad.jsonl" in refused.err
    assert "line 1" in refused.err
    ran = run(files["gold"], files["two"], bad, "--invalid", "drop", "--metrics", "iou", "--format", "json")
    leniency = ran.json["comparison"]["meta"]["leniency"]
    assert leniency["systems"]["bad"] == {"rows": 1, "dropped": 2, "clipped": 0, "missing": 0}
    assert leniency["systems"]["two"]["dropped"] == 0
    assert ran.err == f"mycelium: {bad}: leniency: 1 rows, 2 dropped (references and predictions together)\n"
    table = run(files["gold"], files["two"], bad, "--invalid", "drop", "--metrics", "iou").out
    assert "\nleniency, references and bad: rows 1, dropped 2\n" in table


def test_missing_rows(run: Any, files: dict[str, str], tmp_path: Path) -> None:
    short = write(tmp_path / "short.jsonl", SYSTEMS["one"][:-2])
    refused = run(files["gold"], files["two"], short)
    assert refused.status == 1
    assert "no prediction for" in refused.err
    ran = run(files["gold"], files["two"], short, "--missing", "empty", "--metrics", "iou", "--format", "json")
    assert f"mycelium: {short}: counted 2 rows without a prediction as empty\n" in ran.err
    systems = {"two": spans(SYSTEMS["two"]), "short": [*spans(SYSTEMS["one"])[:-2], [], []]}
    same(ran, compare(spans(GOLD), systems, text=[TEXT] * N, metrics=["iou"], missing_rows="empty"))


def test_soft_predictions(run: Any, tmp_path: Path) -> None:
    def soft(rows: list[dict[str, Any]], prob: float) -> list[dict[str, Any]]:
        return [{**row, "soft_labels": [{"start": s, "end": e, "prob": prob} for s, e in row["spans"]]} for row in rows]

    gold, one, two = (
        write(tmp_path / f"{name}.jsonl", soft(rows, prob))
        for name, rows, prob in (("gold", GOLD, 0.7), ("one", SYSTEMS["one"], 0.5), ("two", SYSTEMS["two"], 0.9))
    )
    ran = run(gold, one, two, "--metrics", "soft_correlation", "--format", "json")
    labels = {
        name: [row["soft_labels"] for row in soft(rows, prob)]
        for name, rows, prob in (("gold", GOLD, 0.7), ("one", SYSTEMS["one"], 0.5), ("two", SYSTEMS["two"], 0.9))
    }
    same(
        ran,
        expected(
            *("one", "two"),
            metrics=["soft_correlation"],
            soft_references=labels["gold"],
            soft_systems={name: labels[name] for name in ("one", "two")},
        ),
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["{one}"], "at least two systems must be given"),
        (["{one}", "{one}"], "is given twice"),
        (["A={one}", "B={one}"], "is given twice"),
        (["{one}", "-"], "not from standard input"),
        (["{one}", "one={two}"], "'one', as another system is called"),
        (["{one}", "{two}", "--baseline", "three"], "--baseline: must be one of one, two, got 'three'"),
        (["{one}", "{two}", "--level", "95"], "must be a number between 0 and 1, got '95'"),
        (["{one}", "{two}", "--resamples", "0"], "must be a whole number from 1 on, got '0'"),
        (["{one}", "{two}", "--seed", "x"], "must be a whole number from 0 on, got 'x'"),
        (["{one}", "{two}", "--tolerance", "2"], "must be a number from 0 to 1, got '2'"),
        (["{one}", "{two}", "--where", "split"], "must read COLUMN=VALUE"),
        (["{one}", "{two}", "--metrics", "iou, iou"], "'iou' is named twice"),
        (["{one}", "{two}", "--profile", "squad"], "profile must be one of"),
    ],
)
def test_wrong_usage(run: Any, files: dict[str, str], extra: list[str], message: str) -> None:
    ran = run(files["gold"], *(argument.format(**files) for argument in extra))
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_too_few_resamples_are_data_that_cannot_be_used(run: Any, files: dict[str, str]) -> None:
    ran = run(files["gold"], files["one"], files["two"], files["three"], "--resamples", "58")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("mycelium: n_resamples=58 is too small")
