"""The example of a detector runs, with and without the published corpora."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mycelium.detector.report import EvaluationReport

EXAMPLE = Path(__file__).parent.parent / "examples" / "evaluate_detector.py"


def run(folder: Path, data: Path | None) -> tuple[str, EvaluationReport]:
    environment = {key: value for key, value in os.environ.items() if key != "MYCELIUM_DATA"}
    environment["PYTHONPATH"] = str(EXAMPLE.parent.parent)
    if data is not None:
        environment["MYCELIUM_DATA"] = str(data)
    command = [sys.executable, "-W", "error", str(EXAMPLE), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "card.md").read_text(encoding="utf-8").startswith("# ")
    return done.stdout, EvaluationReport.from_json(folder / "report.json")


def test_on_the_samples(tmp_path: Path) -> None:
    printed, report = run(tmp_path, None)
    assert "nothing can be learnt from them" in printed
    assert report["dataset"]["n"] == 6
    assert not any(point["bound_within_target"] for point in report["operating_points"] if point["feasible"])
    assert "ragtruth samples" in printed


@pytest.mark.corpora
def test_on_the_published_answers(corpora: Path, tmp_path: Path) -> None:
    printed, report = run(tmp_path, corpora)
    suite = report.minimum_suite()
    assert [suite[letter].state for letter in "ABCD"] == ["measured"] * 4
    assert report["selection"]["final_test_locked"] is True
    assert report["selection"]["disjoint_groups"] is True
    said = "\n".join(report["where_not_to_trust"])
    # A weak detector: the length of an answer ranks better, and no budget is shown to be kept.
    assert "the simpler score 'length of the answer' ranks better" in said
    assert said.count("not shown to be kept") == len(report["operating_points"]) == 6
    assert "may it pass with a FAR of 10%? no" in printed
    assert (
        len([line for line in printed.splitlines() if line.startswith(("ar", "ca", "de", "en", "es", "fi", "it"))])
        >= 13
    )
