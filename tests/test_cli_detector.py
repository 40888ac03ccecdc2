"""``mycelium detector``, ``report`` and ``gate``: the numbers of the library, and what a pipeline hears of them."""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from detector_cases import FOLDER, ROWS, column

from mycelium.cli import main
from mycelium.detector.contract import EvaluationContract
from mycelium.detector.costs import CostVector
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.gates import gate
from mycelium.detector.report import EvaluationReport

SOME = ["--resamples", "50"]


@pytest.fixture
def scores(tmp_path: Path) -> str:
    return str(shutil.copy(FOLDER / "detector_fixture.csv", tmp_path / "scores.csv"))


def ran(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    return capsys.readouterr().err


def library(**options: Any) -> EvaluationReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return evaluate_detector(column("unsupported"), column("score_a"), n_resamples=50, **options)


def test_the_report_is_that_of_the_library(scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract = EvaluationContract(unit="answer", transfer_tests=["domain"])
    contract.to_json(tmp_path / "contract.json")
    (tmp_path / "about.json").write_text('{"dataset": {"name": "fixture"}, "detector": {"version": "2"}}')
    report = tmp_path / "report.json"
    columns = [
        "--label",
        "unsupported",
        "--score",
        "score_a",
        "--groups",
        "source_id",
        "--split",
        "split",
        "--id",
        "row_id",
    ]
    more = [
        "--against",
        "score_b",
        "--by",
        "mechanism",
        "--latency",
        "latency_ms",
        "--max-far",
        "0.05",
        "0.1",
        "--rule",
        "empirical",
        "crc",
    ]
    deciding = [
        "--routing",
        "0.36",
        "0.54",
        "--costs",
        "10",
        "1",
        "0.5",
        "0.01",
        "--capacity",
        "50",
        "--volume",
        "300",
        "--direction",
        "higher",
    ]
    telling = ["--contract", tmp_path / "contract.json", "--about", tmp_path / "about.json", "--name", "energy"]
    status, out, err = ran(capsys, "detector", scores, *columns, *more, *deciding, *telling, *SOME, "-o", report)
    assert status == 0
    wanted = library(
        contract=EvaluationContract(unit="answer", transfer_tests=["domain"], score_direction="higher_is_riskier"),
        split=column("split"),
        groups=column("source_id"),
        ids=column("row_id"),
        max_far=[0.05, 0.1],
        rules=["empirical", "crc"],
        slices={"mechanism": [row["mechanism"] or None for row in ROWS]},
        baselines={"score_b": column("score_b")},
        latency_ms=column("latency_ms"),
        routing=(0.36, 0.54),
        costs=CostVector(10, 1, 0.5, 0.01),
        review_capacity=50,
        volume=300,
        about={
            "dataset": {"name": "fixture"},
            "detector": {"name": "energy", "version": "2"},
            "split": {"group_key": "source_id"},
        },
    )
    assert EvaluationReport.from_json(report) == wanted
    assert out.startswith("energy 2: evaluation report\n")
    assert "Where not to trust it" in out
    assert [line.removeprefix("mycelium: ") for line in err.splitlines()] == wanted["warnings"]


def test_labels_directions_and_missing_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other names for everything: words for labels, other names of parts, lower scores riskier, holes."""
    path = tmp_path / "rows.jsonl"
    parts = {"calibration": "val", "test": "tst"}
    records = []
    for i, row in enumerate(ROWS):
        records.append(
            {
                "id": row["row_id"],
                "verdict": "bad" if row["unsupported"] == "1" else "good",
                "trust": None if i in (3, 40) else -float(row["score_a"]),
                "part": parts[row["split"]],
                "weight": 1 + i % 2,
            }
        )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    options = [
        "--label",
        "verdict",
        "--pos-label",
        "bad",
        "--score",
        "trust",
        "--split",
        "part",
        "--calibration",
        "val",
        "--test",
        "tst",
    ]
    more = [
        "--direction",
        "lower",
        "--nan-policy",
        "reject",
        "--weight",
        "weight",
        "--max-far",
        "0.1",
        "--format",
        "json",
    ]
    status, out, _ = ran(capsys, "detector", path, *options, *more, *SOME)
    assert status == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        wanted = evaluate_detector(
            column("unsupported"),
            [record["trust"] for record in records],
            contract=EvaluationContract(score_direction="lower_is_riskier"),
            split=column("split"),
            ids=column("row_id"),
            sample_weight=[record["weight"] for record in records],
            nan_policy="reject",
            max_far=[0.1],
            n_resamples=50,
        )
    assert json.loads(out) == wanted
    assert wanted["dataset"]["n_unscored"] == 1


def test_rows_of_other_parts(scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With names given, training rows stand aside; without, they are a fault."""
    path = tmp_path / "scores.csv"
    path.write_text(path.read_text() + "r61,s21,train,1,0.1,0.1,0.1,0.1,,1,1.0\n")
    options = ["detector", path, "--score", "score_a", "--split", "split", "--id", "row_id", *SOME, "--format", "json"]
    status, _, err = ran(capsys, *options)
    assert status == 1
    assert "scores.csv:62: split is 'train', expected one of development, calibration, test" in err
    status, _, err = ran(capsys, *options, "--test", "final")
    assert status == 1
    assert "no row is for the test: split never is 'final'" in err
    status, out, err = ran(capsys, *options, "--test", "test")
    assert status == 0
    assert "1 rows are in no part that is named, and not used" in err
    assert json.loads(out) == library(split=column("split"), ids=column("row_id"))


def test_formats(scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    outputs = [tmp_path / name for name in ("r.json", "card.md", "page.html")]
    options = ["--score", "score_a", "--split", "split", "--id", "row_id"]
    given = [part for path in outputs for part in ("-o", path)]
    assert ran(capsys, "detector", scores, *options, *SOME, *given)[0] == 0
    report = EvaluationReport.from_json(outputs[0])
    assert outputs[1].read_text().startswith("# Detector: evaluation report")
    assert (tmp_path / "card-operating.png").exists()
    assert outputs[2].read_text() == report._repr_html_() + "\n"
    assert ran(capsys, "report", "show", outputs[0], "--format", "json")[1] == report.to_json() + "\n"
    assert ran(capsys, "report", "show", outputs[0], "--format", "markdown")[1] == report.to_markdown()
    assert "Operating points" in ran(capsys, "report", "show", outputs[0])[1]
    assert ran(capsys, "report", "show", outputs[0], "-o", tmp_path / "again.md")[0] == 0
    assert (tmp_path / "again-scores.png").exists()
    assert "expected a file that ends in" in refused(capsys, "detector", scores, "-o", "report.txt")


def test_the_lock(scores: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--score", "score_a", "--split", "split", "--id", "row_id"]
    status, out, _ = ran(capsys, "detector", scores, *options, "--print-lock")
    digest = out.strip()
    assert status == 0
    assert digest == library(split=column("split"), ids=column("row_id"))["dataset"]["row_digest"]
    assert ran(capsys, "detector", scores, *options, *SOME, "--lock", digest)[0] == 0
    status, _, err = ran(capsys, "detector", scores, *options, *SOME, "--lock", digest[:-1])
    assert status == 1
    assert "not those that were locked" in err
    # Without ids both count the test rows.
    anonymous = ["--score", "score_a", "--split", "split"]
    digest = ran(capsys, "detector", scores, *anonymous, "--print-lock")[1].strip()
    assert ran(capsys, "detector", scores, *anonymous, *SOME, "--lock", digest)[0] == 0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("r01,s01,calibration,1,0.78", "r01,s01,calibration,1,high"), [], "scores.csv:2: score_a is 'high', expected"),
        (
            ("r02,s01,calibration,1", "r02,s01,calibration,maybe"),
            [],
            "scores.csv:3: unsupported is 'maybe', expected 0",
        ),
        (("r03,s01,calibration", "r03,s01,train"), [], "scores.csv:4: split is 'train', expected one of development"),
        (("r02,s01", "r01,s01"), ["--id", "row_id"], "ids: 'r01' stands in rows 0 and 1"),
        (("r01,s01,calibration,1,0.78", "r01,s01,calibration,1,"), [], "has no score (NaN)"),
        (None, ["--label", "gold"], "no label column 'gold'; it has row_id"),
        (None, ["--score", "x"], "no score column 'x'"),
        (None, ["--groups", "x"], "no column 'x'"),
        (None, ["--pos-label", "yes"], "no row has 'yes' in unsupported"),
        (None, ["--where", "split=dev"], "no row is left where split is 'dev'"),
        (None, ["--contract", "none.json"], "none.json"),
    ],
)
def test_data_that_cannot_be_used(
    change: Any, options: list[str], message: str, scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if change is not None:
        path = Path(scores)
        assert change[0] in path.read_text()
        path.write_text(path.read_text().replace(*change, 1))
    given = ["--score", "score_a", "--split", "split", *SOME]
    status, out, err = ran(capsys, "detector", scores, *given, *options)
    assert status == 1
    assert out == ""
    assert message in err


def test_declarations_that_contradict(scores: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    EvaluationContract(score_direction="lower_is_riskier").to_json(tmp_path / "c.json")
    given = ["detector", scores, "--score", "score_a", "--split", "split", "--contract", tmp_path / "c.json"]
    status, _, err = ran(capsys, *given, "--direction", "higher")
    assert status == 1
    assert "score_direction is 'lower_is_riskier', and the options say 'higher_is_riskier'" in err
    (tmp_path / "a.json").write_text("[1]")
    status, _, err = ran(capsys, *given, "--about", tmp_path / "a.json")
    assert status == 1
    assert "a.json: expected a JSON object" in err


def test_choosing_on_the_test_rows(scores: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capsys, "detector", scores, "--score", "score_a", *SOME)
    assert status == 1
    assert "there are no calibration rows" in err
    status, out, err = ran(capsys, "detector", scores, "--score", "score_a", *SOME, "--allow-resubstitution")
    assert status == 0
    assert "no bound holds" in out
    assert "no bound holds" in err
    assert ran(capsys, "detector", scores, "--score", "score_a", *SOME, "--max-far")[0] == 0


def test_wrong_usage(scores: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "which is not given" in refused(capsys, "detector", scores, "--test", "tst")
    assert "three different values" in refused(capsys, "detector", scores, "--split", "split", "--test", "calibration")
    assert "must be a number from 0 to 1" in refused(capsys, "detector", scores, "--max-far", "5")
    assert "needs --baseline" in refused(capsys, "gate", "r.json", "--max-far", "0.1", "--margin", "0.1")
    assert "--max-far" in refused(capsys, "gate", "r.json")
    assert "must be a letter from A to K" in refused(capsys, "report", "check", "r.json", "--require", "Z")
    assert "belong to 'show'" in refused(capsys, "report", "check", "r.json", "--format", "json")
    assert "belong to 'check'" in refused(capsys, "report", "show", "r.json", "--complete")


# -- check and gate


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    library(split=column("split"), groups=column("source_id")).to_json(path)
    status, out, err = ran(capsys, "report", "check", path)
    assert status == 0
    assert out.startswith("A  measurement sanity")
    status, _, err = ran(capsys, "report", "check", path, "--require", "B", "G", "C")
    assert status == 3
    assert f"{path}: G, mechanism slices, is missing: novel entity; " in err
    assert "ranking" not in err
    assert ran(capsys, "report", "check", path, "--require", "B", "C", "--complete")[0] == 0
    assert ran(capsys, "report", "check", path, "--require", "D")[0] == 0
    assert ran(capsys, "report", "check", path, "--require", "D", "--complete")[0] == 3
    path.write_text(path.read_text().replace('"ceiling": null', '"roof": null'))
    status, _, err = ran(capsys, "report", "check", path)
    assert status == 1
    assert "/pipeline/ceiling is absent" in err
    assert ran(capsys, "report", "check", tmp_path / "none.json")[0] == 1


def test_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command passes what the library passes; the statuses are 0, 1 and 3."""
    report = library(split=column("split"), max_far=[0.05, 0.1])
    path = tmp_path / "report.json"
    report.to_json(path)
    # 0 of 12, whose upper bound is 1 - 0.05 ** (1 / 12) = 0.2209.
    assert report["operating_points"][0]["eval_far"] == 0
    status, out, err = ran(capsys, "gate", path, "--max-far", 0.05)
    assert (status, err) == (3, "")
    assert out.startswith("fail: FAR may be as high as 0.2209 (0 of 12 unsupported answers accepted")
    assert ran(capsys, "gate", path, "--max-far", 0.2210, "--target", 0.05)[0] == 0
    status, out, _ = ran(capsys, "gate", path, "--max-far", 0.2209, "--target", 0.05)
    assert status == 3
    status, out, _ = ran(capsys, "gate", path, "--max-far", 0.3, "--target", 0.05)
    assert out == f"pass: {gate(report, max_far=0.3, target_far=0.05).reasons[0]}\n"
    status, out, _ = ran(capsys, "gate", path, "--max-far", 0.3, "--target", 0.05, "--min-sar", 0.5)
    assert status == 3
    assert "SAR may be as low as" in out
    status, _, err = ran(capsys, "gate", path, "--max-far", 0.3)
    assert status == 1
    assert "the report has no operating point for a budget of 0.3; it has 0.05 (empirical), 0.1 (empirical)" in err


def test_gate_against_an_older_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = library(split=column("split"), max_far=[0.05])
    content = copy.deepcopy(dict(old))
    content["operating_points"][0]["far_upper95"] += 0.02
    content["dataset"]["row_digest"] = "sha256:other"
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    old.to_json(paths[0])
    EvaluationReport(content).to_json(paths[1])
    given = ["gate", paths[1], "--max-far", 0.3, "--target", 0.05, "--baseline", paths[0]]
    status, out, err = ran(capsys, *given, "--margin", 0.01)
    assert status == 3
    assert "worse by more than the margin of 0.01" in out
    assert "different test rows" in err
    assert ran(capsys, *given, "--margin", 0.02)[0] == 0
    assert ran(capsys, *given)[0] == 3


def test_help_names_the_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("report", "gate"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "3 " in capsys.readouterr().out.partition("exit status:")[2]
