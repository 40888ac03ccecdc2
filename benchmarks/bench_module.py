"""Measure the evaluate module against the core's own time: ratios within one run, medians of several.

    python benchmarks/bench_module.py
    python benchmarks/bench_module.py --rows 10000 --runs 3

``compute`` of a loaded module and ``mycelium.evaluate`` take the same columns: lists, an Arrow array and a column of
`datasets`. The two are timed in turn, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import datasets
import evaluate
import numpy as np
import pyarrow as pa

import mycelium
from mycelium import hf


def seconds(call: Callable[..., Any], sides: dict[str, Any]) -> float:
    """Return the time of a call."""
    begin = time.perf_counter()
    call(**sides)
    return time.perf_counter() - begin


def main() -> None:
    """Print one line for each form of the columns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    starts = np.random.default_rng(0).integers(0, 500, (2, options.rows)).tolist()
    lists = [[[[a, a + 9], [a + 30, a + 33]][: a % 3] for a in side] for side in starts]
    module = evaluate.load(hf.path())
    for name, column in (
        ("lists", list),
        ("Arrow", pa.array),
        ("datasets", lambda rows: datasets.Dataset.from_dict({"spans": rows})["spans"]),
    ):
        sides = dict(zip(("references", "predictions"), map(column, lists), strict=True))
        for call in (module.compute, mycelium.evaluate):
            seconds(call, sides)
        pairs = [(seconds(module.compute, sides), seconds(mycelium.evaluate, sides)) for _ in range(options.runs)]
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{name}: {statistics.median(a for a, _ in pairs) * 1e3:.0f} ms, {ratio:.2f} of the core's time")


if __name__ == "__main__":
    main()
