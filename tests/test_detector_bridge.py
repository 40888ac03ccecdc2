"""From spans to one score: every rule against sets of characters and plain products."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium import as_spans, evaluate, samples
from mycelium.corpora import load_mushroom, load_ragtruth
from mycelium.detector.both import evaluate_both
from mycelium.detector.bridge import ResponseScores, response_labels, response_scores
from mycelium.detector.evaluate import evaluate_detector
from mycelium.formats.files import read_jsonl

Spans = list[list[dict[str, Any]]]


def some_spans(seed: int, n: int = 200) -> tuple[Spans, list[str]]:
    """Rows of 0 to 5 spans that may touch, overlap, nest and repeat, in any order; and their texts."""
    rng = np.random.default_rng(seed)
    rows, texts = [], []
    for _ in range(n):
        length = int(rng.integers(0, 30))
        row = []
        for _ in range(int(rng.integers(0, 6)) if length else 0):
            start = int(rng.integers(0, length))
            end = int(rng.integers(start + 1, length + 1))
            row.append({"start": start, "end": end, "prob": float(rng.choice([0, 0.25, 0.5, 1, rng.random()]))})
        rows.append(row)
        texts.append("x" * length)
    return rows, texts


def expected(row: list[dict[str, Any]], text: str, how: str) -> float:
    characters = {i for span in row for i in range(span["start"], span["end"])}
    return {
        "longest_span": max((span["end"] - span["start"] for span in row), default=0),
        "marked_characters": len(characters),
        "marked_share": len(characters) / len(text) if text else 0.0,
        "span_count": len(row),
        "max_probability": max((span["prob"] for span in row), default=0.0),
        "noisy_or": 1 - math.prod(1 - span["prob"] for span in row),
        "log_noisy_or": sum(-math.log(max(1 - span["prob"], 2.0**-53)) for span in row),
    }[how]


@pytest.mark.parametrize(
    "how",
    ["longest_span", "marked_characters", "marked_share", "span_count", "max_probability", "noisy_or", "log_noisy_or"],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_rules_on_spans(how: str, seed: int) -> None:
    rows, texts = some_spans(seed)
    found = response_scores(rows, how=how, text=texts)
    wanted = [expected(row, text, how) for row, text in zip(rows, texts, strict=True)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    assert found.rule["how"] == how
    assert found.rule["answers"] == len(rows)
    assert found.rule["without_spans"] == sum(not row for row in rows)


@pytest.mark.parametrize("how", ["max_probability", "mean_probability", "noisy_or", "log_noisy_or"])
def test_rules_on_probabilities(how: str) -> None:
    rng = np.random.default_rng(2)
    rows = [rng.random(int(k)).round(1) for k in rng.integers(0, 5, 100)]
    wanted = []
    for row in rows:
        values = row.tolist()
        wanted.append(
            {
                "max_probability": max(values, default=0.0),
                "mean_probability": sum(values) / len(values) if values else 0.0,
                "noisy_or": 1 - math.prod(1 - p for p in values),
                "log_noisy_or": sum(-math.log(max(1 - p, 2.0**-53)) for p in values),
            }[how]
        )
    found = response_scores(probabilities=rows, how=how, element="token")
    assert found.tolist() == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    assert found.rule["of"] == "token probabilities"
    assert found.rule["empty"] == sum(not len(row) for row in rows)


def test_noisy_or_keeps_many_small_probabilities() -> None:
    found = response_scores(probabilities=[[1e-17] * 1000, [1.0, 0.5], [0.0]], how="noisy_or")
    # 1 - (1 - p)^n is about n p.
    assert found.tolist() == [pytest.approx(1e-14, rel=1e-9, abs=0), 1.0, 0.0]


def test_its_logarithm_keeps_what_is_close_to_one_apart() -> None:
    rows = [[0.999] * 6, [0.999] * 7, [1.0]]
    assert response_scores(probabilities=rows, how="noisy_or").tolist() == [1.0, 1.0, 1.0]
    first, second, sure = response_scores(probabilities=rows, how="log_noisy_or").tolist()
    assert first < second
    assert sure == pytest.approx(53 * math.log(2))


def test_offsets_as_large_as_they_may_be() -> None:
    big = 2**52
    found = response_scores([[[0, big], [big - 5, big + 5]], [[1, 3]], [[0, 2]]], how="marked_characters")
    assert found.tolist() == [big + 5, 2, 2]


def test_a_batch_with_lengths_needs_no_texts() -> None:
    batch = as_spans([[[0, 2]], []], text=["abcd", ""])
    assert response_scores(batch, how="marked_share").tolist() == [0.5, 0.0]


def test_what_is_done_to_unusable_spans_is_recorded() -> None:
    found = response_scores([[[-1, 4], [1, 3]], None], how="span_count", invalid="drop", missing_rows="empty")
    assert found.tolist() == [1.0, 0.0]
    assert (found.rule["dropped"], found.rule["missing"], found.rule["invalid"]) == (1, 1, "drop")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"predictions": [[[0, 2]]], "how": "max_probability"}, ValueError, "row 0, span 0 has no probability"),
        (
            {"predictions": [[], [{"start": 0, "end": 1, "prob": 1.5}]], "how": "noisy_or"},
            ValueError,
            "row 1, span 0 has 1.5, expected 0 to 1, as have 1 spans",
        ),
        ({"predictions": [[[0, 2]]], "how": "marked_share"}, ValueError, "needs the texts: give text"),
        ({"predictions": [[[0, 2]]], "how": "longest"}, ValueError, "how must be one of 'longest_span'"),
        ({"probabilities": [[0.1]], "how": "longest_span"}, ValueError, "how must be one of 'max_probability'"),
        ({"how": "noisy_or"}, TypeError, "give either predictions"),
        ({"predictions": [[]], "probabilities": [[]], "how": "noisy_or"}, TypeError, "give either predictions"),
        ({"probabilities": [[1.1]], "how": "noisy_or"}, ValueError, "probabilities: row 0, character 0"),
        ({"probabilities": [[1.0]], "how": "noisy_or", "element": "word"}, ValueError, "element must be"),
    ],
)
def test_refusals(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        response_scores(**arguments)


def test_labels() -> None:
    rows, texts = some_spans(3)
    marked = [len({i for span in row for i in range(span["start"], span["end"])}) for row in rows]
    for least in (1, 4):
        assert response_labels(rows, min_marked=least).tolist() == [k >= least for k in marked]
    wanted = [k >= 1 and k >= 0.5 * len(text) for k, text in zip(marked, texts, strict=True)]
    assert response_labels(rows, min_share=0.5, text=texts).tolist() == wanted
    with pytest.raises(ValueError, match="min_share needs the texts"):
        response_labels(rows, min_share=0.5)
    for bad in (0, 1.5, True):
        with pytest.raises(ValueError, match="min_marked must be a whole number from 1 on"):
            response_labels(rows, min_marked=bad)  # type: ignore[arg-type]


def test_the_rule_is_in_the_report() -> None:
    rows, texts = some_spans(4)
    scores = response_scores(rows, how="longest_span", text=texts)
    assert isinstance(scores, ResponseScores)
    assert np.asarray(scores).tolist() == scores.tolist() == scores.to_dict()["values"]
    labels = [len(text) % 2 for text in texts]
    report = evaluate_detector(labels, scores, max_far=(), n_resamples=50)
    assert report["detector"]["response_score"] == scores.rule
    assert report["ranking"] == evaluate_detector(labels, scores.values, max_far=(), n_resamples=50)["ranking"]


def test_both_halves_from_one_call() -> None:
    gold, texts = some_spans(5)
    marked = [[[max(0, s["start"] - 1), s["end"]] for s in row] for row in gold]
    split = ["calibration"] * 80 + ["test"] * 120
    options: dict[str, Any] = {"max_far": 0.5, "n_resamples": 50, "groups": [i // 2 for i in range(200)]}
    with pytest.warns(UserWarning, match="cannot certify"):
        found = evaluate_both(
            gold, marked, how="marked_share", text=texts, split=split, spans={"metrics": ["iou"]}, max_far=[0.01]
        )
    found = evaluate_both(
        gold, marked, how="marked_share", text=texts, split=split, spans={"metrics": ["iou"]}, **options
    )
    assert found.spans == evaluate(references=gold[80:], predictions=marked[80:], metrics=["iou"])
    labels, scores = response_labels(gold), response_scores(marked, how="marked_share", text=texts)
    assert found.detector == evaluate_detector(labels, scores, split=split, **options)


def test_samples_of_ragtruth() -> None:
    corpus = load_ragtruth(samples.FOLDER / "ragtruth")
    rows = {row["id"]: row["spans"] for row in samples.read("ragtruth_baseline.jsonl")}
    scores = response_scores([rows[key] for key in corpus.ids], how="longest_span", text=corpus.texts)
    wanted = [max((end - start for start, end in rows[key]), default=0) for key in corpus.ids]
    assert scores.tolist() == wanted
    assert response_labels(corpus.references).tolist() == (corpus.references.counts > 0).tolist()


@pytest.mark.corpora
def test_published_predictions(corpora: Path) -> None:
    """Every published file of Mu-SHROOM predictions, with its faults, and the rows of RAGTruth."""
    files = sorted((corpora / "mu_shroom" / "predictions").glob("*.jsonl"))
    assert len(files) == 13
    for path in files:
        language = path.name.removeprefix("mushroom-")[:2]
        corpus = load_mushroom(next((corpora / "mu_shroom" / "test").glob(f"mushroom.{language}-tst*.jsonl")))
        rows = {row["id"]: row["hard_labels"] for _, row in read_jsonl(path)}
        keys = [key for key in corpus.ids if key in rows]
        texts = dict(zip(corpus.ids, corpus.texts, strict=True))
        scores = response_scores(
            [rows[key] for key in keys], how="marked_characters", text=[texts[key] for key in keys], invalid="drop"
        )
        wanted = []
        for key in keys:
            valid = [(a, b) for a, b in rows[key] if 0 <= a < b <= len(texts[key])]
            wanted.append(len({i for a, b in valid for i in range(a, b)}))
        assert scores.tolist() == wanted, path.name
    corpus = load_ragtruth(corpora / "ragtruth", split="train+test")
    scores = response_scores(corpus.references, how="span_count")
    assert scores.tolist() == corpus.references.counts.tolist()
