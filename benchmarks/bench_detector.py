"""Measure resampled AUC and average precision against a loop over scikit-learn.

    python benchmarks/bench_detector.py
    python benchmarks/bench_detector.py --runs 5 --rows 20000

Both draw the same groups of the same 100,000 answers, or the same answers, and score each draw. The loop picks the rows
of a draw from labels and scores and calls ``roc_auc_score`` or ``average_precision_score``; rows are picked by one
concatenation of slices of groups, sorted beforehand, which is the fastest that plain numpy has. A few draws of the loop
are timed and their median counts a thousand times; the library makes a thousand in full, reading and sorting included.

Times are those of the processor on one thread, so that other work on the machine matters little. The last lines are the
intervals that need no resampling: 100,000 unsupported answers against 100,000 supported ones.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from mycelium.detector.bootstrap import bootstrap_interval
from mycelium.detector.ranking import compare_roc_auc, roc_auc_interval

METRICS: dict[str, Callable[..., Any]] = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
RESAMPLES = 1000


def seconds(call: Callable[[], Any], runs: int) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def loop(metric: str, y: np.ndarray, s: np.ndarray, groups: np.ndarray | None, draws: int) -> list[float]:
    """Return draws scored by scikit-learn."""
    rng = np.random.default_rng(0)
    score, out = METRICS[metric], []
    if groups is None:
        for _ in range(draws):
            rows = rng.integers(0, len(y), size=len(y))
            out.append(score(y[rows], s[rows]))
        return out
    order = np.argsort(groups, kind="stable")
    y, s = y[order], s[order]
    sizes = np.bincount(groups)
    ends = np.cumsum(sizes)
    for _ in range(draws):
        chosen = rng.integers(0, len(sizes), size=len(sizes))
        size = sizes[chosen]
        rows = np.arange(size.sum()) + np.repeat(ends[chosen] - np.cumsum(size), size)
        out.append(score(y[rows], s[rows]))
    return out


def main() -> None:
    """Print one line for each metric, kind of unit and kind of score."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("error")
    rng = np.random.default_rng(0)
    n = options.rows
    y = rng.random(n) < 0.3
    raw = rng.normal(size=n) + y
    groups = np.unique(rng.integers(0, n // 5, n), return_inverse=True)[1]
    print(
        f"{RESAMPLES:,} resamples of {n:,} answers: seconds of a loop over scikit-learn, of the library, and the ratio"
    )
    for scores, s in (("scores without ties", raw), ("scores of two decimals", raw.round(2))):
        for metric in METRICS:
            for kind, of in ((f"{groups.max() + 1:,} groups", groups), ("answers", None)):
                # One replicate each, by both, to be sure that they do the same thing.
                assert abs(loop(metric, y, s, of, 1)[0] - first(metric, y, s, of)) < 1e-12
                theirs = seconds(lambda: loop(metric, y, s, of, 5), options.runs) / 5 * RESAMPLES  # noqa: B023
                ours = seconds(lambda: run(metric, y, s, of, RESAMPLES), options.runs)  # noqa: B023
                print(f"{metric:18} {kind:14} {scores:23} {theirs:7.2f} {ours:7.2f} {theirs / ours:6.1f}")
    y, s = np.arange(2 * n) % 2 == 0, rng.normal(size=2 * n)
    clusters = np.arange(2 * n) // 5
    for name, call in (
        ("roc_auc_interval", lambda: roc_auc_interval(y, s)),
        ("roc_auc_interval, groups", lambda: roc_auc_interval(y, s, groups=clusters)),
        ("compare_roc_auc, groups", lambda: compare_roc_auc(y, s, s + y, groups=clusters)),
    ):
        print(f"{name}: {seconds(call, options.runs):.2f} s for {n:,} x {n:,} answers")


def run(metric: str, y: np.ndarray, s: np.ndarray, groups: np.ndarray | None, n_resamples: int) -> np.ndarray:
    """Return replicates of the library."""
    return bootstrap_interval(metric, y, s, groups=groups, n_resamples=n_resamples).replicates


def first(metric: str, y: np.ndarray, s: np.ndarray, groups: np.ndarray | None) -> float:
    """Return the first replicate of the library."""
    return float(run(metric, y, s, groups, 1)[0, 0])


if __name__ == "__main__":
    main()
