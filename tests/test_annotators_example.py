"""examples/mushroom_annotators.py: it runs on the shipped samples, and says of the corpora what the documents say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLES = ["equal_numbers", "human_level", "languages", "study"]
PICTURES = ["boundaries", "equal_numbers", "human_level", "languages", "majority_union"]
WRITTEN = sorted([f"{name}.{end}" for name in TABLES for end in ("md", "tex")] + [f"{name}.png" for name in PICTURES])


def run(folder: Path, data: Path | None) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    environment.pop("MYCELIUM_DATA", None)
    if data is not None:
        environment["MYCELIUM_DATA"] = str(data)
    command = [sys.executable, str(ROOT / "examples" / "mushroom_annotators.py"), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_on_the_samples(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("datasets")
    printed = run(tmp_path, None)
    assert "nothing can be learnt from them" in printed
    # No language has enough items to say anything beyond noise.
    assert printed.count("without 0 in the interval 0 falls and 0 rises") == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == WRITTEN


@pytest.mark.corpora
def test_on_the_corpora(tmp_path: Path, corpora: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("datasets")
    printed = run(tmp_path, corpora)
    assert "de-new is left out: it lacks 18 of 150 answers" in printed
    own, equal = printed.split("2. From majority to union")[1].split("and with 3 for every item")
    for part in (own, equal):
        assert "exact_span: falls in 14 of 14; without 0 in the interval 12 falls and 0 rises" in part
        assert "span_coverage: falls in 0 of 14; without 0 in the interval 0 falls and 14 rises" in part
    assert "iou: falls in 6 of 14 (ar, cs, en, es, fa, hi); without 0 in the interval 3 falls and" in own
    assert "iou: falls in 4 of 14 (ar, cs, fa, hi); without 0 in the interval 1 falls and" in equal
    finnish = next(line for line in printed.split("\n") if line.startswith("fi "))
    assert " 0.843 [" in finnish
    assert sorted(path.name for path in tmp_path.iterdir()) == WRITTEN
    assert "three annotators for every item" in (tmp_path / "languages.md").read_text(encoding="utf-8")
    assert r"\toprule" in (tmp_path / "study.tex").read_text(encoding="utf-8")
