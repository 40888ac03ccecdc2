"""Measure the one-to-one matching: ratios within one run.

    python benchmarks/bench_matching.py                    # everything; nervaluate if it is installed
    python benchmarks/bench_matching.py nervaluate --rows 10000
    python benchmarks/bench_matching.py crowded

"nervaluate" scores rows of up to three typed spans a side with that package, and makes the matchings of all five
measures (strict, strict_typed, partial, typed_partial, confusion). Both start from their own objects in memory: the
package from loaded entities, the matching from unsorted flat arrays. "crowded" gives the time and the peak memory for
single rows with 2,000 spans a side, each in a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from generate import batch

from mycelium.matching import MEASURES, Matching, Spans, Stage, canonical_order, match, stages_of

TYPES = 5


class Flat(NamedTuple):
    """One side of a batch: the row, the boundaries and the type code of each span."""

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray
    type: np.ndarray


def seconds(call: Callable[[], Any], runs: int) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def corpus(rows: int, seed: int = 0) -> tuple[Flat, Flat]:
    """Return references and a detector's answer to them.

    In a third of the rows the spans crowd in 60 characters. Of the references a fifth is lost, a third found exactly,
    the others moved by a few characters; a fifth of the answers has a random type, and a tenth comes twice.
    """
    rng = np.random.default_rng(seed)
    spans = batch(rows, most=3, seed=seed)
    n = len(spans.start)
    row = np.repeat(np.arange(rows), spans.counts)
    crowded = (rng.random(rows) < 1 / 3)[row]
    start = np.where(crowded, rng.integers(0, 60, n), spans.start)
    references = Flat(row, start, start + spans.end - spans.start, rng.integers(0, TYPES, n))
    found = np.sort(np.concatenate([np.flatnonzero(rng.random(n) < 0.8), np.flatnonzero(rng.random(n) < 0.1)]))
    moved = rng.random(len(found)) < 2 / 3
    start = np.maximum(references.start[found] + moved * rng.integers(-5, 6, len(found)), 0)
    end = np.maximum(references.end[found] + moved * rng.integers(-5, 6, len(found)), start + 1)
    other = rng.random(len(found)) < 0.2
    type_ = np.where(other, rng.integers(0, TYPES, len(found)), references.type[found])
    return references, Flat(row[found], start, end, type_)


def five_measures(references: Flat, predictions: Flat) -> list[Matching]:
    """Lay both sides on one line, sort them and match them for all measures."""
    stride = 1 + max(int(side.end.max()) for side in (references, predictions))
    sides = []
    for side in (references, predictions):
        start, end = side.start + side.row * stride, side.end + side.row * stride
        order = canonical_order(start, end, side.type)
        sides.append(Spans(start[order], end[order], side.type[order]))
    return [match(sides[0], sides[1], stages_of(measure)) for measure in MEASURES]


def bench_nervaluate(rows: int, runs: int) -> None:
    """Compare with nervaluate."""
    sides = corpus(rows)
    five_measures(*sides)  # loads scipy
    ours = seconds(lambda: five_measures(*sides), max(runs, 5))
    print(f"{rows:,} rows, {len(sides[0].row):,} references, {len(sides[1].row):,} predictions:")
    print(f"  five matchings {ours * 1e3:.0f} ms")
    try:
        from nervaluate import Evaluator
    except ImportError:
        print("  nervaluate is not installed (pip install nervaluate), no comparison")
        return
    lists: list[list[list[dict[str, Any]]]] = []
    for side in sides:
        documents: list[list[dict[str, Any]]] = [[] for _ in range(rows)]
        for row, start, end, type_ in zip(*(x.tolist() for x in side), strict=True):
            documents[row].append({"label": f"t{type_}", "start": start, "end": end - 1})
        lists.append(documents)
    tags = [f"t{i}" for i in range(TYPES)]
    begin = time.perf_counter()
    evaluator = Evaluator(*lists, tags=tags, loader="dict")
    loading = time.perf_counter() - begin
    theirs = seconds(evaluator.evaluate, runs)
    print(f"  nervaluate {theirs:.2f} s (and {loading:.2f} s to load): {theirs / ours:.0f} x the five matchings")


def crowds() -> dict[str, tuple[Spans, Spans]]:
    """Return single rows with thousands of spans a side."""
    n = 2_000
    rng = np.random.default_rng(0)
    at = np.arange(n)

    def sorted_(start: np.ndarray, end: np.ndarray) -> Spans:
        order = canonical_order(start, end)
        return Spans(start[order], end[order])

    def random_(text: int, least: int, most: int) -> Spans:
        start = rng.integers(0, text, n)
        return sorted_(start, start + rng.integers(least, most, n))

    long_chain = np.arange(20_000) * 10
    return {
        "all overlap, lengths differ": (random_(1_000, 2_000, 10_000), random_(1_000, 2_000, 10_000)),
        "many overlap": (random_(10_000, 1, 2_000), random_(10_000, 1, 2_000)),
        "many overlap, many ties": (random_(30, 1, 30), random_(30, 1, 30)),
        "few overlap, many ties": (random_(200, 1, 10), random_(200, 1, 10)),
        "all equal": (Spans(at * 0, at * 0 + 10), Spans(at * 0, at * 0 + 10)),
        "nested, moved": (sorted_(at, 2 * n + 5 - at), sorted_(at + n // 2, 2 * n + 5 - at // 3)),
        "a chain of 2,000": (Spans(at * 10, at * 10 + 9), Spans(at * 10 + 5, at * 10 + 14)),
        "a chain of 20,000": (
            Spans(long_chain, long_chain + 9),
            Spans(long_chain[:-1] + 5, long_chain[:-1] + 14),
        ),
    }


def _crowd(name: str) -> str:
    references, predictions = crowds()[name]
    begin = time.process_time()
    pairs = match(references, predictions, [Stage("overlap", "any")])
    taken = time.process_time() - begin
    return f"{taken:5.1f} s of processor time, peak memory {_peak()}, {len(pairs):,} pairs"


def _peak() -> str:
    """Return the peak memory of this process alone (Linux; what rusage tells includes the parent's)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return "unknown"
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return f"{int(peak.split()[1]) / 1024:4.0f} MiB"


def bench_crowded() -> None:
    """Match single rows with thousands of overlapping spans."""
    context = multiprocessing.get_context("spawn")
    for name in crowds():
        with context.Pool(1) as pool:
            print(f"  {name:<28} {pool.apply(_crowd, (name,))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], "nervaluate", "crowded"], help="all by default")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1, help="runs of nervaluate")
    arguments = parser.parse_args()
    chosen = arguments.what or ["nervaluate", "crowded"]
    if "nervaluate" in chosen:
        bench_nervaluate(arguments.rows, arguments.runs)
    if "crowded" in chosen:
        bench_crowded()
