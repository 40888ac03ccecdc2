"""Measure intervals against scoring replicates anew, and against the bare draw, count and multiply.

    python benchmarks/bench_resample.py
    python benchmarks/bench_resample.py --runs 3

Intervals are 10,000 replicates of all six metrics, made from a report of 2,700 examples. Beside them stand:

* scoring anew: a loop that draws rows, picks their spans and texts, and calls ``evaluate``. A few replicates are timed
  and the median is taken 10,000 times. From lists, as a user has them, and from batches that are read and checked
  beforehand, which favours the loop;
* bare: ``rng.integers``, ``np.bincount`` and one product, on the same sums of all metrics side by side, in blocks of as
  many replicates as the library takes at once, and one replicate after the other. Nothing is divided, and no quantile
  is taken.

Times are those of the processor on one thread, so that other work on the machine matters little; ratios are of medians
within one run, taken by turns. The last part is 100,000 rows in 20,000 groups, with its peak memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from generate import batch, shifted

import mycelium
from mycelium import draws
from mycelium.kept import unit_sums


def seconds(call: Callable[[], Any], runs: int) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def bare(sums: np.ndarray, n_resamples: int, step: int) -> np.ndarray:
    """Draw, count and multiply, so many replicates at once."""
    rng = np.random.default_rng(0)
    units = len(sums)
    out = np.empty((n_resamples, sums.shape[1]))
    for begin in range(0, n_resamples, step):
        b = min(step, n_resamples - begin)
        chosen = rng.integers(0, units, (b, units))
        chosen += (np.arange(b) * units)[:, np.newaxis]
        counts = np.bincount(chosen.ravel(), minlength=b * units).reshape(b, units)
        out[begin : begin + b] = counts.astype(np.float64) @ sums
    return out


def bench_corpus(rows: int, n_resamples: int, runs: int) -> None:
    """All six metrics on a corpus of some thousand answers."""
    references = batch(rows)
    predictions = shifted(references)
    lists = references.tolist(), predictions.tolist()
    texts = ["x" * max([end for row in pair for _, end in row], default=0) for pair in zip(*lists, strict=True)]
    step = next(len(block) for block in draws.draw(np.random.default_rng(0), rows, n_resamples))
    for average in ("macro", "micro"):
        report = mycelium.evaluate(references=references, predictions=predictions, average=average)
        settings, kept = report._kept()
        counted = [kept.statistics(number) for number in range(len(settings.metrics))]
        sums = unit_sums(settings, counted, draws.units_of(None, rows), None)
        rng = np.random.default_rng(0)

        def from_lists(average: str = average, rng: np.random.Generator = rng) -> Any:
            chosen = rng.integers(0, rows, rows).tolist()
            sides = [[side[i] for i in chosen] for side in (*lists, texts)]
            return mycelium.evaluate(references=sides[0], predictions=sides[1], text=sides[2], average=average)

        def from_batches(average: str = average, rng: np.random.Generator = rng) -> Any:
            chosen = rng.integers(0, rows, rows)
            return mycelium.evaluate(references=references[chosen], predictions=predictions[chosen], average=average)

        for method in ("percentile", "bca"):

            def ours(report: mycelium.Report = report, method: str = method) -> Any:
                return report.confidence_intervals(method=method, n_resamples=n_resamples)

            ways: list[Callable[[], Any]] = [
                ours,
                from_lists,
                from_batches,
                lambda sums=sums: bare(sums, n_resamples, step),
                lambda sums=sums: bare(sums, n_resamples, 1),
            ]
            times: list[list[float]] = [[] for _ in ways]
            for _ in range(runs):
                for way, taken in zip(ways, times, strict=True):
                    taken.append(seconds(way, 5 if way in (from_lists, from_batches) else 1))
            mine, anew, favoured, blocks, ones = map(statistics.median, times)
            print(
                f"{rows:,} rows, {n_resamples:,} replicates of six metrics, {average}, {method}: {mine:.2f} s;"
                f" scoring anew from lists {anew * n_resamples:,.0f} s, {anew * n_resamples / mine:,.0f} times that,"
                f" from batches {favoured * n_resamples / mine:,.0f} times;"
                f" bare in blocks of {step} {blocks:.2f} s, ratio {mine / blocks:.2f};"
                f" bare one by one {ones:.2f} s, ratio {mine / ones:.2f}"
            )


def bench_groups(rows: int = 100_000, groups: int = 20_000, n_resamples: int = 2000) -> None:
    """Many rows in many groups."""
    references = batch(rows)
    predictions = shifted(references)
    names = np.random.default_rng(0).integers(0, groups, rows)
    for keep in (True, False):
        report = mycelium.evaluate(references=references, predictions=predictions, groups=names, keep_statistics=keep)
        taken = seconds(lambda r=report: r.confidence_intervals(n_resamples=n_resamples), 3)
        tracemalloc.start()
        report.confidence_intervals(n_resamples=n_resamples)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{rows:,} rows in {groups:,} groups, {n_resamples:,} replicates, from"
            f" {'rows' if keep else 'sums of groups'}: {taken:.1f} s, peak memory {peak / 2**20:.0f} MiB"
        )


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2700)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    bench_corpus(options.rows, options.resamples, options.runs)
    bench_groups()


if __name__ == "__main__":
    main()
