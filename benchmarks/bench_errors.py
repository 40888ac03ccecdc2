"""Measure the verdicts and the repairs: ratios within one run.

    python benchmarks/bench_errors.py
    python benchmarks/bench_errors.py --rows 1000000

Rows of up to three typed spans a side, see ``bench_matching.corpus``. Verdicts are compared with the one matching that
they rest on, everything (verdicts, counts, and an evaluation of the six metrics for each kind repaired) with a single
evaluation.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from bench_matching import Flat, corpus, seconds

from mycelium import SpanBatch, evaluate
from mycelium.errors import find_errors, judge
from mycelium.matching import Spans, canonical_order, match, stages_of


def as_batch(side: Flat, rows: int) -> SpanBatch:
    """Return the spans as a batch."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(side.row, minlength=rows))])
    return SpanBatch(offsets, side.start, side.end, np.array([f"t{i}" for i in range(5)], dtype=object)[side.type])


def matched(references: Flat, predictions: Flat) -> Any:
    """Lay both sides on one line, sort and match them."""
    stride = 1 + max(int(side.end.max()) for side in (references, predictions))
    sides = []
    for side in (references, predictions):
        start, end = side.start + side.row * stride, side.end + side.row * stride
        order = canonical_order(start, end, side.type)
        sides.append(Spans(start[order], end[order], side.type[order]))
    return match(sides[0], sides[1], stages_of("confusion"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    flat = corpus(arguments.rows)
    spans = dict(zip(("references", "predictions"), (as_batch(side, arguments.rows) for side in flat), strict=True))
    matched(*flat)  # loads scipy
    alone = seconds(lambda: matched(*flat), arguments.runs)
    verdicts = seconds(lambda: judge(**spans, typed=True), arguments.runs)
    once = seconds(lambda: evaluate(**spans), arguments.runs)
    everything = seconds(lambda: find_errors(**spans), arguments.runs)
    kinds = len(find_errors(**spans)["repaired"])
    print(f"{arguments.rows:,} rows, {len(flat[0].row):,} references, {len(flat[1].row):,} predictions:")
    print(f"  verdicts {verdicts * 1e3:.0f} ms, {verdicts / alone:.1f} x their matching ({alone * 1e3:.0f} ms)")
    print(f"  everything {everything:.2f} s, {everything / once:.1f} x one evaluation ({once * 1e3:.0f} ms)")
    print(f"  for {kinds} kinds repaired")
