"""Measure best_threshold against scoring one threshold after the other: ratios within one run, medians of several.

    python benchmarks/bench_thresholds.py
    python benchmarks/bench_thresholds.py --rows 5000 --runs 3

2,000 answers of 500 characters on average; their 100 tokens each have a probability that all of their characters share.
Two ways to score a threshold stand for brute force:

* public: ``spans_from_probabilities`` on the rows, then ``evaluate`` with one metric;
* lean: characters in one array, read and checked beforehand, runs by comparing neighbours, then the metric's counts.

Each is timed on thresholds spread evenly over all of them, and the median is taken times their number. Where scores are
rounded, to some 950 or 97 thresholds, a loop over all of them is timed as well.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mycelium
from mycelium import SpanBatch, as_spans, metrics
from mycelium.formats import spans_from_probabilities
from mycelium.thresholds import best_threshold


def seconds(call: Callable[[], Any], runs: int) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def corpus(rows: int, seed: int = 0) -> tuple[SpanBatch, list[np.ndarray]]:
    """Return reference spans, and noisy probabilities of tokens spread over characters that rise where spans are."""
    rng = np.random.default_rng(seed)
    references, scores = [], []
    for _ in range(rows):
        length = int(rng.integers(100, 900))
        cuts = np.unique(np.append(rng.integers(1, length, length // 5), [0, length]))
        marked = np.zeros(length, dtype=bool)
        spans = []
        for _ in range(int(rng.integers(0, 4))):
            start = int(rng.integers(0, length - 5))
            spans.append([start, min(length, start + int(rng.integers(5, 60)))])
            marked[slice(*spans[-1])] = True
        share = np.add.reduceat(marked, cuts[:-1]) / np.diff(cuts)
        logit = np.convolve(rng.normal(2.2 * share - 2.0, 1.3), [0.2, 0.6, 0.2], "same")
        scores.append(np.repeat(1 / (1 + np.exp(-logit)), np.diff(cuts)))
        references.append(spans)
    return as_spans(references), scores


def public(references: SpanBatch, scores: Any, threshold: float, key: str, average: str) -> float:
    """Score one threshold by the public functions."""
    predictions = spans_from_probabilities(scores, threshold)
    report = mycelium.evaluate(references=references, predictions=predictions, metrics=[key], average=average)
    return report[key][metrics.get(key).primary]


class Lean:
    """Scores one threshold with as little as possible."""

    def __init__(self, references: SpanBatch, scores: list[np.ndarray]) -> None:
        self.references = references
        # A character below every threshold behind each row keeps runs apart.
        self.values = np.concatenate([np.append(row, -1.0) for row in scores])
        self.begin = np.cumsum([0, *(len(row) + 1 for row in scores)])

    def __call__(self, threshold: float, key: str, average: str) -> float:
        """Count and divide."""
        flags = np.zeros(len(self.values) + 1, dtype=np.int8)
        np.greater_equal(self.values, threshold, out=flags[1:].view(np.bool_))
        change = np.diff(flags)
        start, end = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
        offsets = np.searchsorted(start, self.begin)
        shift = np.repeat(self.begin[:-1], np.diff(offsets))
        metric = metrics.get(key)
        counted = metric.statistics(self.references, SpanBatch(offsets, start - shift, end - shift))
        if average == "micro":
            return float(metric.value(counted.sum(axis=0))[-1])
        return float(metric.value(counted)[:, -1].mean())


def main() -> None:
    """Print one line for each metric and average."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--metrics", default=",".join(metrics.DEFAULT))
    options = parser.parse_args()
    references, exact = corpus(options.rows)
    for name, scores, whole in (
        ("probabilities as they are", exact, False),
        ("three decimals", [row.round(3) for row in exact], True),
        ("two decimals", [row.round(2) for row in exact], True),
    ):
        lean = Lean(references, scores)
        for key in options.metrics.split(","):
            for average in ("macro", "micro"):
                found = best_threshold(references, scores, metric=key, average=average)
                finite = found.thresholds[:-1]
                some = finite[np.linspace(0, len(finite) - 1, 15).astype(int)].tolist()
                for threshold in some:
                    expected = found.scores[np.searchsorted(found.thresholds, threshold)]
                    assert public(references, scores, threshold, key, average) == expected
                    assert abs(lean(threshold, key, average) - expected) < 1e-12
                ours = seconds(lambda: best_threshold(references, scores, metric=key, average=average), options.runs)  # noqa: B023
                line = [f"{name}, {len(finite):,} thresholds, {key} {average}: {ours * 1e3:.0f} ms"]
                for way, one in (
                    ("public", lambda t: public(references, scores, t, key, average)),  # noqa: B023
                    ("lean", lambda t: lean(t, key, average)),  # noqa: B023
                ):
                    each = statistics.median(seconds(lambda t=t, one=one: one(t), 1) for t in some)
                    line.append(f"{way} {each * 1e3:.1f} ms each, ratio {each * len(finite) / ours:,.0f}")
                print("; ".join(line))
        if whole:
            loop = seconds(lambda: [public(references, scores, t, "iou", "macro") for t in finite.tolist()], 1)  # noqa: B023
            ours = seconds(lambda: best_threshold(references, scores, metric="iou"), options.runs)  # noqa: B023
            print(f"{name}: the public loop over all {len(finite):,}, iou macro: {loop:.1f} s, ratio {loop / ours:.0f}")


if __name__ == "__main__":
    main()
