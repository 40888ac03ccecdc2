"""examples/compare_systems.py: it runs on the shipped samples, and says of the corpora what the official scores say."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PICTURES = ["between_languages.png", "languages.png", "new_against_old.png", "ranks.png"]


def run(folder: Path, data: Path | None) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    environment.pop("MYCELIUM_DATA", None)
    if data is not None:
        environment["MYCELIUM_DATA"] = str(data)
    command = [sys.executable, str(ROOT / "examples" / "compare_systems.py"), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_on_the_samples(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    printed = run(tmp_path, None)
    assert "nothing can be learnt from them" in printed
    assert "Beyond noise: 0 of 6." in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES


@pytest.mark.corpora
def test_on_the_corpora(tmp_path: Path, corpora: Path) -> None:
    pytest.importorskip("matplotlib")
    printed = run(tmp_path, corpora)
    with open(corpora / "mu_shroom" / "official_scores.tsv", encoding="utf-8") as file:
        official = {
            row["file"].removeprefix("mushroom-").removesuffix("-tst-predicted.jsonl"): float(row["official_IoU"])
            for row in csv.DictReader(file, delimiter="\t")
            if not row["official_IoU"].startswith("refused")
        }
    lines = [line.split() for line in printed.split("\n")]
    scores = {
        cells[0]: float(cells[2]) for cells in lines if len(cells) == 5 and cells[1] in ("100", "150", "152", "154")
    }
    # The tables of pairs have "a − b" first; that of versions has p-values, too.
    paired = {(cells[0], cells[2]): float(cells[3]) for cells in lines if len(cells) == 8 and cells[1] == "−"}
    assert list(scores) == ["ar-new", "ca-new", "de", "en-new", "es2", "fi", "it-new"]
    assert printed.count("de-new is left out: it lacks 18 of 150 answers") == 1
    for name, score in scores.items():
        assert score == pytest.approx(official[name], abs=5.1e-5)
    assert len(paired) == 5
    for (new, old), difference in paired.items():
        assert difference == pytest.approx(official[new] - official[old], abs=5.1e-5)
    assert "Different at 0.05, Holm over 5 languages: none.\nNo answer is scored differently: es2 − es." in printed
    assert "it-new cannot be told apart from" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES
