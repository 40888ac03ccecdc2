"""A real, weak detector as a decision maker: from development over calibration to a locked test, and a report.

The detector is Mu-SHROOM's token-logit baseline: the risk of a token is the share of its model's tokens (of development
rows) with a higher logit. One score is made of the risks of an answer; the rule for that is chosen on development rows,
thresholds on calibration rows, and the report says where not to trust the result. Then the same bridge, from spans to
scores, over the published Mu-SHROOM predictions, and RAGTruth's rows.

python examples/evaluate_detector.py           # MYCELIUM_DATA if it is set, else the shipped samples
python examples/evaluate_detector.py folder    # where to put the report and its card; a temporary folder by default
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from mycelium import samples
from mycelium.corpora import load_mushroom, load_ragtruth
from mycelium.detector import (
    EvaluationContract,
    evaluate_detector,
    gate,
    response_labels,
    response_scores,
    roc_auc_interval,
    rows_digest,
)
from mycelium.detector.card import summary
from mycelium.formats.files import read_jsonl
from mycelium.tables import render

#: An answer counts as unsupported when annotators marked this share of it: nearly every answer has some span.
SHARE = 0.25
RULES = ("max_probability", "mean_probability", "log_noisy_or")
BUDGETS = (0.01, 0.05, 0.1)


def contract() -> EvaluationContract:
    """Declare what is evaluated, before a number is computed. What is not known stays None."""
    return EvaluationContract(
        target_property=f"at least {SHARE:.0%} of the answer's characters are marked as hallucinated",
        unit="answer",
        reference_classes={"positive": "unsupported", "negative": "supported"},
        score_direction="higher_is_riskier",
        score_is_probability=False,
        reference_regime="Wikipedia, by several annotators",
        label_definition="characters that most annotators marked, as a share of the answer",
        data_separation="by a hash of the source page: 20% development, 40% calibration, 40% test",
        split_strategy={"primary": "source_document_grouped"},
        negative_difficulty="natural answers of language models",
        operating_points=[{"max_false_accept_rate": budget} for budget in BUDGETS],
        uncertainty="clustered 95% intervals, by source page",
    )


def load(folder: Path | None) -> list[dict[str, Any]]:
    """Return the annotated answers of all languages, or the shipped samples with the risks of another baseline."""
    if folder is None:
        marked = {row["id"]: row["soft_labels"] for row in samples.read("mu_shroom_baseline.jsonl")}
        return [{**row, "marked": marked[row["id"]]} for row in samples.read("mu_shroom.jsonl")]
    files = sorted((folder / "mu_shroom" / "test").glob("*.jsonl"))
    return [record for file in files for _, record in read_jsonl(file)]


def part_of(source: str) -> str:
    """Return the part of a source page: always the same, whatever else is in the data."""
    tenth = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10
    return "development" if tenth < 2 else "calibration" if tenth < 6 else "test"


def numbers(record: dict[str, Any]) -> list[float]:
    """Return the logits of an answer's tokens; none where they are stored as text."""
    logits = record.get("model_output_logits", [])
    return [] if any(isinstance(logit, str) for logit in logits) else logits


def risks(record: dict[str, Any], known: dict[str, np.ndarray]) -> np.ndarray:
    """Return the risk of each token of the answer (of each character, for the samples); none where nothing is known."""
    if "marked" in record:
        out = np.zeros(len(record["model_output_text"]))
        for span in record["marked"]:
            out[span["start"] : span["end"]] = span["prob"]
        return out
    order = known.get(record["model_id"], np.zeros(0))
    return 1 - np.searchsorted(order, numbers(record)) / len(order) if len(order) else np.zeros(0)


def scored(records: list[dict[str, Any]], known: dict[str, np.ndarray], how: str) -> Any:
    """Return a score for each answer, NaN where it has none."""
    found = [risks(record, known) for record in records]
    scores = response_scores(probabilities=found, how=how, element="character" if "marked" in records[0] else "token")
    scores.values[[i for i, risk in enumerate(found) if not len(risk)]] = np.nan
    return scores


def evaluate(records: list[dict[str, Any]], real: bool) -> Any:
    """Take the detector from development to its report."""
    texts = [record["model_output_text"] for record in records]
    unsupported = response_labels([record["hard_labels"] for record in records], min_share=SHARE, text=texts)
    sources = [record.get("wikipedia_url") or record["id"] for record in records]
    split = np.array([part_of(source) if real else ("calibration", "test")[i % 2] for i, source in enumerate(sources)])
    ids = [f"{record['lang']}/{record['id']}" for record in records]

    # Before any score is computed for it, the test is locked.
    test = np.flatnonzero(split == "test")
    lock = rows_digest(unsupported[test], [ids[i] for i in test])

    known: dict[str, list[float]] = {}
    for record, part in zip(records, split):
        if part == "development":
            known.setdefault(record["model_id"], []).extend(numbers(record))
    order = {model: np.sort(logits) for model, logits in known.items() if logits}

    # The rule that makes one score of many risks is a choice, and development rows pay for it.
    found = {how: scored(records, order, how) for how in RULES}
    rows = np.flatnonzero(split == "development") if real else np.flatnonzero(split == "calibration")
    trials = {
        how: roc_auc_interval(unsupported[rows], scores.values[rows], nan_policy="omit")
        for how, scores in found.items()
    }
    best = max(RULES, key=lambda how: trials[how].estimate)
    body = [
        [how, *("-" if x is None else f"{x:.3f}" for x in (t.estimate, t.low, t.high))] for how, t in trials.items()
    ]
    print(f"AUC of each rule on {'development' if real else 'calibration'} rows:\n")
    print(render(["rule", "AUC", "low", "high"], body), f"\n\nchosen: {best}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # all of them are in the report
        return evaluate_detector(
            unsupported,
            found[best],
            contract=contract(),
            split=split,
            groups=sources if real else None,
            ids=ids,
            max_far=BUDGETS,
            rules=("empirical", "upper_bound"),
            slices={"language": [record["lang"].lower() for record in records]} if real else None,
            baselines={"length of the answer": [len(text) for text in texts]},
            about={
                "detector": {"name": "token logits" if real else "lexical support", "version": "1"},
                "dataset": {"name": "Mu-SHROOM", "version": "test v1" if real else "12 invented samples"},
                "selection": {"n_selection_decisions": len(RULES), "n_test_evaluations": 1},
                "split": {"group_key": "wikipedia_url"},
            },
            test_lock=lock,
            nan_policy="reject",
        )


def bridge(folder: Path | None) -> None:
    """Print how well simple rules over published spans tell which answers are unsupported."""
    print("\nFrom spans to one score: AUC of each rule, on the same definition of unsupported\n")
    rules = ("longest_span", "marked_share", "span_count", "max_probability", "noisy_or")
    body = []
    for name, corpus, rows in spans_of(folder):
        here = [i for i, key in enumerate(corpus.ids) if key in rows]
        part = corpus[np.array(here)]
        labels = response_labels(part.references, min_share=SHARE, text=part.texts)
        marked = [rows[key] for key in part.ids]
        cells = [auc_of(labels, marked, part.texts, how) for how in rules]
        body.append([name, f"{len(part)}", f"{int(labels.sum())}", *cells])
    print(render(["predictions", "answers", "unsupported", *rules], body))


def auc_of(labels: Any, marked: list[Any], texts: Any, how: str) -> str:
    """Return the AUC of a rule as text; some published spans come without a probability."""
    try:
        auc = roc_auc_interval(labels, response_scores(marked, how=how, text=texts, invalid="drop")).estimate
    except ValueError as error:
        if "no probability" not in str(error):
            raise
        return "no prob"
    return "-" if auc is None else f"{auc:.3f}"


def spans_of(folder: Path | None) -> Any:
    """Yield a name, a corpus and the predicted spans with their probabilities, by id."""
    if folder is None:
        corpus = load_mushroom(samples.FOLDER / "mu_shroom.jsonl")
        yield "samples", corpus, {r["id"]: r["soft_labels"] for r in samples.read("mu_shroom_baseline.jsonl")}
        found = load_ragtruth(samples.FOLDER / "ragtruth")
        rows = {r["id"]: r["spans"] for r in samples.read("ragtruth_baseline.jsonl")}
        yield "ragtruth samples", found, rows
        return
    for path in sorted((folder / "mu_shroom" / "predictions").glob("*.jsonl")):
        run = path.name.removeprefix("mushroom-").removesuffix("-tst-predicted.jsonl")
        corpus = load_mushroom(next((folder / "mu_shroom" / "test").glob(f"mushroom.{run[:2]}-tst*.jsonl")))
        yield run, corpus, {row["id"]: row.get("soft_labels") or [] for _, row in read_jsonl(path)}


def main() -> None:
    """Print the summary and the gate; save the report and its card with pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="for report.json and card.md")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp(prefix="mycelium-"))
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ["MYCELIUM_DATA"]) if os.environ.get("MYCELIUM_DATA") else None
    if data is None:
        print(
            "Twelve invented answers: they show the wiring; nothing can be learnt from them but how little they show.\n"
        )
    report = evaluate(load(data), real=data is not None)
    print(summary(report))
    found = gate(report, max_far=0.1, rule="empirical")
    print(f"\nmay it pass with a FAR of 10%? {'yes' if found.passed else 'no'}: {' '.join(found.reasons)}")
    report.to_json(folder / "report.json")
    report.to_markdown(folder / "card.md")
    print(f"\nthe report and its card are in {folder}")
    bridge(data)


if __name__ == "__main__":
    main()
