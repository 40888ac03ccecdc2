"""Measure evaluate_typed: ratios within one run.

    python benchmarks/bench_typed.py                  # with nervaluate, if it is installed
    python benchmarks/bench_typed.py --rows 10000

Rows have up to three typed spans a side, a third of them crowded, as in bench_matching.py. Both start from lists in
memory: nervaluate from dicts it has loaded, whose time is told apart; evaluate_typed from lists of [start, end, type],
whose reading and checking is part of its time. It makes all five measures, scores by type, the confusion matrix and
the valid cases.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from bench_matching import Flat, corpus, seconds

from mycelium.typed import evaluate_typed

TYPES = [f"t{i}" for i in range(5)]


def lists(side: Flat, rows: int) -> list[list[list[Any]]]:
    """Return a side as plain lists of [start, end, type]."""
    out: list[list[list[Any]]] = [[] for _ in range(rows)]
    for row, start, end, type_ in zip(*(column.tolist() for column in side), strict=True):
        out[row].append([start, end, TYPES[type_]])
    return out


def main(rows: int, runs: int) -> None:
    """Print the times and their ratios."""
    references, predictions = (lists(side, rows) for side in corpus(rows))
    evaluate_typed(references=references[:10], predictions=predictions[:10], types=TYPES)  # loads scipy
    ours = seconds(lambda: evaluate_typed(references=references, predictions=predictions, types=TYPES), max(runs, 5))
    print(f"{rows:,} rows, {sum(map(len, references)):,} references, {sum(map(len, predictions)):,} predictions:")
    print(f"  evaluate_typed {ours * 1e3:.0f} ms, {rows / ours:,.0f} rows a second")
    try:
        from nervaluate import Evaluator
    except ImportError:
        print("  nervaluate is not installed (pip install nervaluate), no comparison")
        return
    dicts = [
        [[{"label": name, "start": start, "end": end - 1} for start, end, name in row] for row in side]
        for side in (references, predictions)
    ]
    begin = time.perf_counter()
    evaluator = Evaluator(*dicts, tags=TYPES, loader="dict")
    loading = time.perf_counter() - begin
    theirs = seconds(evaluator.evaluate, runs)
    print(f"  nervaluate {theirs:.2f} s (and {loading:.2f} s to load): {theirs / ours:.0f} x evaluate_typed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1, help="runs of nervaluate")
    arguments = parser.parse_args()
    main(arguments.rows, arguments.runs)
