"""A real, weak detector from Mu-SHROOM's token logits: the best threshold depends on the metric.

The risk of a token, and of its characters, is the share of the same model's tokens (in the validation split) that have
a higher logit. For each metric the threshold is tuned on validation, and the detector scored on test by all metrics.

    python examples/tune_logit_detector.py [--hub]    # else MYCELIUM_DATA if it is set, or the shipped samples
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from mycelium import evaluate, samples, spans_from_probabilities
from mycelium.formats.files import read_jsonl
from mycelium.sklearn import best_threshold
from mycelium.tables import render

METRICS = ("iou", "character", "span_coverage", "exact_span")


def load(hub: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return validation and test; halves of the samples, which have the baseline's probabilities."""
    if hub:
        from datasets import load_dataset

        return tuple(load_dataset("Helsinki-NLP/mu-shroom", "en", split=s).to_list() for s in ("validation", "test"))
    if "MYCELIUM_DATA" in os.environ:
        folder = Path(os.environ["MYCELIUM_DATA"], "mu_shroom")
        files = [next(folder.glob(f"{split}/mushroom.en*")) for split in ("val", "test")]
        return tuple([record for _, record in read_jsonl(file)] for file in files)
    marked = {row["id"]: row["soft_labels"] for row in samples.read("mu_shroom_baseline.jsonl")}
    records = [{**row, "marked": marked[row["id"]]} for row in samples.read("mu_shroom.jsonl")]
    return records[::2], records[1::2]


def risks(record: dict[str, Any], known: dict[str, np.ndarray]) -> np.ndarray:
    """Return the risk of each character of the answer."""
    text, out = record["model_output_text"], np.zeros(len(record["model_output_text"]))
    if "marked" in record:
        for span in record["marked"]:
            out[span["start"] : span["end"]] = span["prob"]
        return out
    place, logits = 0, known[record["model_id"]]
    for token, logit in zip(record["model_output_tokens"], record["model_output_logits"]):
        piece = token.replace("\u0120", " ").replace("\u2581", " ").replace("\u010a", "\n").strip()
        start = text.find(piece, place) if piece else -1
        if 0 <= start <= place + 3:  # a token that cannot be found nearby (half a character, say) has no risk
            place = start + len(piece)
            out[start:place] = 1 - np.searchsorted(logits, logit) / len(logits)
    return out


def main() -> None:
    """Tune on validation, score on test, print the table of thresholds and scores."""
    validation, test = load(hub="--hub" in sys.argv)
    known: dict[str, list[float]] = {}
    for record in validation:
        known.setdefault(record["model_id"], []).extend(record.get("model_output_logits", []))
    order = {model: np.sort(logits) for model, logits in known.items()}
    gold, gold_test = ([record["hard_labels"] for record in records] for records in (validation, test))
    risk, risk_test = ([risks(record, order) for record in records] for records in (validation, test))
    rows = []
    for metric in METRICS:
        best = best_threshold(gold, risk, metric=metric, min_length=2, merge_gap=1)
        spans = spans_from_probabilities(risk_test, best.threshold, min_length=2, merge_gap=1)
        scores = evaluate(references=gold_test, predictions=spans, metrics=METRICS).flat()
        cells = (scores.get(key, scores.get(f"{key}_f1")) for key in METRICS)
        rows.append([metric, *(f"{value:.3f}" for value in (best.threshold, best.score, *cells))])
    print(f"{len(validation)} validation and {len(test)} test answers; on test, each metric at each threshold:\n")
    print(render(["tuned for", "threshold", "validation", *METRICS], rows), "\n\nA threshold of 0 marks whole answers.")


if __name__ == "__main__":
    main()
