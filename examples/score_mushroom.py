"""Score published Mu-SHROOM predictions over the languages: IoU and Cor as official, and all metrics.

python examples/score_mushroom.py            # MYCELIUM_DATA if it is set, else the shipped samples
python examples/score_mushroom.py --hub      # the corpus from the Hub, marked by the baseline detector
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from mycelium import evaluate, samples
from mycelium.baseline import lexical_support
from mycelium.corpora import load_mushroom
from mycelium.formats.files import read_jsonl
from mycelium.protocols import SubmissionError, score_mu_shroom
from mycelium.report import Report, slices_table
from mycelium.tables import render


def published(folder: Path) -> dict[str, Report]:
    """Score each file of predictions; those that the organisers' scorer refuses are named and left out."""
    official, reports = [], {}
    for path in sorted((folder / "predictions").glob("*.jsonl")):
        run = path.name.removeprefix("mushroom-").removesuffix("-tst-predicted.jsonl")
        gold = next((folder / "test").glob(f"mushroom.{run[:2]}-tst*.jsonl"))
        try:
            score = score_mu_shroom(gold, path, invalid="drop")
        except SubmissionError as error:
            official.append([run, f"refused, {len(error.problems)} problems: {error.problems[0].message}, ...", "", ""])
            continue
        official.append([run, "; ".join(score.notes()), f"{score.iou:.8f}", f"{score.correlation:.8f}"])
        corpus = load_mushroom(gold)
        rows = {row["id"]: row.get("hard_labels") for _, row in read_jsonl(path)}
        reports[run] = evaluate(
            references=corpus.references,
            predictions=[rows[key] for key in corpus.ids],
            text=corpus.texts,
            profile="mu_shroom",
            invalid="drop",
        )
    print(render(["run", "notes", "IoU", "Cor"], official, names=2), end="\n\n")
    return reports


def baseline(folder: Path | None) -> dict[str, Report]:
    """Score the baseline detector, by language: on the shipped samples, or on the Hub's corpus."""
    corpus = load_mushroom("Helsinki-NLP/mu-shroom" if folder is None else folder / "mu_shroom.jsonl")
    if folder is None:
        marked = [lexical_support(question, text) for question, text in zip(corpus.columns["input"], corpus.texts)]
        predictions = [spans.hard_labels for spans in marked]
    else:
        score = score_mu_shroom(folder / "mu_shroom.jsonl", folder / "mu_shroom_baseline.jsonl")
        print(f"the shipped samples, marked by the baseline detector:\n{score}\n")
        rows = {row["id"]: row["hard_labels"] for row in samples.read("mu_shroom_baseline.jsonl")}
        predictions = [rows[key] for key in corpus.ids]
    report = evaluate(references=corpus.references, predictions=predictions, text=corpus.texts, profile="mu_shroom")
    return report.by(corpus.columns["language"])


def main() -> None:
    """Print the official scores, then a table with a row for each run or language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hub", action="store_true", help="load the corpus from the Hub")
    data = os.environ.get("MYCELIUM_DATA")
    if parser.parse_args().hub:
        reports = baseline(None)
    else:
        reports = published(Path(data, "mu_shroom")) if data else baseline(samples.FOLDER)
    print(slices_table(reports, name="run" if data else "language"))
    print(next(iter(reports.values())).signature)


if __name__ == "__main__":
    main()
