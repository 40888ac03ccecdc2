"""Measure the scorer: ratios within one run, medians of several.

    python benchmarks/bench.py            # everything but the longest
    python benchmarks/bench.py --all      # also ten million rows
    python benchmarks/bench.py reading scaling

"Reading" is what any program must do with Python lists: take the row lengths and copy the numbers into an array,
``np.fromiter`` over both sides, without any check.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from generate import batch, shifted

import mycelium
from mycelium import metrics
from mycelium.spans import SpanBatch

HERE = Path(__file__).parent


def seconds(call: Callable[[], Any], runs: int = 9) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def reading(sides: list[list[Any]]) -> None:
    """Read the baseline."""
    flat = chain.from_iterable
    for rows in sides:
        np.fromiter(map(len, rows), np.int64, len(rows))
        np.fromiter(flat(flat(rows)), np.int64)


def all_six(references: Any, predictions: Any, average: str = "macro") -> Any:
    """Score with the six metrics of the default report."""
    return mycelium.evaluate(references=references, predictions=predictions, average=average)


def bench_reading(rows: int = 100_000) -> None:
    """All six metrics against reading."""
    for overlap in (False, True):
        a = batch(rows, overlap=overlap)
        b = shifted(a)
        lists = [a.tolist(), b.tolist()]
        base = seconds(lambda lists=lists: reading(lists))
        print(
            f"{rows:,} rows, 0-2 spans a side, {'overlapping' if overlap else 'disjoint'}: reading {base * 1e3:.1f} ms"
        )
        for average in ("macro", "micro"):
            forms: dict[str, tuple[Any, Any]] = {"lists": (lists[0], lists[1]), "arrays": (a, b)}
            arrow = [as_arrow(x) for x in (a, b)]
            if arrow[0] is not None:
                forms["Arrow"] = (arrow[0], arrow[1])
            for form, sides in forms.items():
                taken = seconds(lambda sides=sides, average=average: all_six(*sides, average))
                print(f"  {average} from {form:<7} {taken * 1e3:6.1f} ms  {taken / base:5.2f} x reading")


def as_arrow(x: SpanBatch) -> Any:
    """Return the batch as a list<fixed_size_list<int64>[2]> column, or None without pyarrow."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    pairs = pa.FixedSizeListArray.from_arrays(pa.array(np.stack([x.start, x.end], axis=1).ravel()), 2)
    return pa.LargeListArray.from_arrays(pa.array(x.offsets), pairs)


def bench_scaling() -> None:
    """Time per span as the corpus grows."""
    base = None
    for rows in (10_000, 100_000, 1_000_000):
        a = batch(rows)
        b = shifted(a)
        spans = len(a.start) + len(b.start)
        taken = seconds(lambda a=a, b=b: all_six(a, b), 5) / spans
        base = base or taken
        print(f"{rows:>9,} rows: {taken * 1e9:6.1f} ns a span, {taken / base:4.2f} x the smallest")


def bench_crowded(spans: int = 10_000) -> None:
    """One row with spans that all overlap each other."""
    rng = np.random.default_rng(0)
    sides = [
        SpanBatch(
            np.array([0, spans]),
            np.sort(rng.integers(0, 1_000, spans)),
            rng.integers(2_000, 100_000, spans),
        )
        for _ in range(2)
    ]
    begin, before = time.perf_counter(), peak()
    all_six(*sides)
    print(
        f"one row of {spans:,} x {spans:,} overlapping spans: {time.perf_counter() - begin:.1f} s,"
        f" peak memory of the process {peak():.0f} MiB ({before:.0f} before)"
    )


def bench_python(rows: int = 2_000) -> None:
    """Compare with the definitions in plain Python, one example at a time (the oracle of the tests)."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    import oracle

    a = batch(rows)
    b = shifted(a)
    lists = a.tolist(), b.tolist()
    core = seconds(lambda: all_six(a, b))
    slow = seconds(lambda: [oracle.macro(key, *lists) for key in metrics.DEFAULT], 3)
    print(f"{rows:,} rows: the definitions in plain Python take {slow / core:.0f} x the core")


def bench_c(rows: int = 100_000) -> None:
    """Compare with a C loop over the same arrays."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("no C compiler, no comparison with C")
        return
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "loop.so")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, str(HERE / "loop.c")], check=True)
        score = ctypes.CDLL(library).score
        for overlap in (False, True):
            a = batch(rows, overlap=overlap)
            b = shifted(a)
            sides = [(x.offsets, ordered(x)) for x in (a, b)]
            widest = int(max(a.counts.max(), b.counts.max()))
            sums = np.zeros(22, dtype=np.int64)

            def loop(sides: Any = sides, widest: int = widest, sums: Any = sums) -> None:
                sums[:] = 0
                arrays = [array.ctypes.data_as(ctypes.c_void_p) for side in sides for array in side]
                score(ctypes.c_int64(rows), *arrays, ctypes.c_int64(widest), sums.ctypes.data_as(ctypes.c_void_p))

            in_c = seconds(loop)
            keys = list(metrics.DEFAULT)
            expected = np.concatenate([metrics.get(key).statistics(a, b).sum(axis=0) for key in keys])
            if sums.tolist() != expected.tolist():
                raise AssertionError(f"the C loop and the core disagree: {sums.tolist()} and {expected.tolist()}")
            core = seconds(lambda a=a, b=b: all_six(a, b, "micro"))
            kind = "overlapping" if overlap else "disjoint"
            print(
                f"{rows:,} {kind} rows, micro: the core takes {core / in_c:.1f} x a C loop ({in_c * 1e3:.1f} ms);"
                " the sums are equal"
            )


def ordered(x: SpanBatch) -> np.ndarray[Any, Any]:
    """Return the spans sorted within each row, as (m, 2)."""
    order = np.lexsort((x.end, x.start, x.row))
    return np.ascontiguousarray(np.stack([x.start[order], x.end[order]], axis=1))


def bench_stream(rows: int = 10_000_000, at_once: int = 250_000) -> None:
    """Score ten million rows in chunks of Python lists."""
    scores = mycelium.Accumulator()
    begin = time.perf_counter()
    for i in range(rows // at_once):
        a = batch(at_once, seed=i)
        scores.update(a.tolist(), shifted(a, seed=i).tolist())
    report = scores.compute()
    taken = time.perf_counter() - begin
    print(
        f"{report['meta']['examples']:,} rows through Accumulator in chunks of {at_once:,}: {taken:.0f} s"
        f" (making the rows included), peak memory {peak():.0f} MiB"
    )


def bench_import(runs: int = 7) -> None:
    """Time of ``import mycelium`` over ``import numpy``, in fresh processes."""

    def fresh(module: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True), runs)

    numpy, ours = fresh("numpy"), fresh("mycelium")
    print(f"import numpy {numpy * 1e3:.0f} ms, import mycelium {ours * 1e3:.0f} ms: {(ours - numpy) * 1e3:+.0f} ms")


def peak() -> float:
    """Return the largest memory of the process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


BENCHES = {
    "import": bench_import,
    "reading": bench_reading,
    "scaling": bench_scaling,
    "c": bench_c,
    "python": bench_python,
    "crowded": bench_crowded,
    "stream": bench_stream,
}


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--all", action="store_true", help="also ten million rows")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in options.names or [n for n in BENCHES if options.all or n != "stream"]:
        print(f"-- {name}")
        BENCHES[name]()


if __name__ == "__main__":
    main()
