"""A lexical-support baseline on RAGTruth: span and response level, by task type.

    python examples/score_ragtruth.py            # MYCELIUM_DATA if it is set, else the shipped samples
    python examples/score_ragtruth.py --hub      # wandb/RAGTruth-processed from the Hub

A word of the answer is marked when the source does not contain it. Where the corpus comes without its sources (the
rows that may be passed around do), words are marked that no other answer to the same source uses.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from pathlib import Path

from mycelium import evaluate, samples
from mycelium.baseline import lexical_support
from mycelium.corpora import Corpus, load_ragtruth
from mycelium.formats.files import read_jsonl
from mycelium.report import slices_table

METRICS = ["response", "character", "iou", "deteval_1d", "span_coverage"]


def sources(corpus: Corpus, folder: Path | None) -> list[str]:
    """Return what each answer should be based on: the source's text, or else the other answers to it."""
    if folder is None:
        return [str(context) for context in corpus.columns["context"]]
    known = {row["source_id"]: row.get("source_info") for _, row in read_jsonl(folder / "source_info.jsonl")}
    answers = defaultdict(list)
    for source, text in zip(corpus.columns["source_id"], corpus.texts):
        answers[source].append(text)
    return [
        str(known[source] or "\n".join(other for other in answers[source] if other != text))
        for source, text in zip(corpus.columns["source_id"], corpus.texts)
    ]


def main() -> None:
    """Mark the answers, score them, print the whole and the tasks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hub", action="store_true", help="load the corpus from the Hub")
    data = os.environ.get("MYCELIUM_DATA")
    if parser.parse_args().hub:
        folder, corpus = None, load_ragtruth("wandb/RAGTruth-processed")
    else:
        folder = Path(data, "ragtruth") if data else samples.FOLDER / "ragtruth"
        corpus = load_ragtruth(folder)
    marked = [lexical_support(source, text) for source, text in zip(sources(corpus, folder), corpus.texts)]
    report = evaluate(
        references=corpus.references,
        predictions=[spans.hard_labels for spans in marked],
        text=corpus.texts,
        profile="ragtruth",
        metrics=METRICS,
    )
    print(report.to_table(), end="\n\nF1, or the score of iou:\n")
    print(slices_table(report.by(corpus.columns["task_type"]), name="task_type"))
    print(slices_table(report.by(corpus.columns["model"]), name="model"))


if __name__ == "__main__":
    main()
