"""Measure the study of annotators with its intervals against reading the file and computing the statistics once.

    python benchmarks/bench_annotators.py
    python benchmarks/bench_annotators.py --runs 20

The file is the English test split of Mu-SHROOM where MYCELIUM_DATA names the folder of the corpora, else an invented
one of that size: 154 answers, eleven annotators each. Four things are timed by turns on one thread, and ratios are of
medians within one run:

* once: the file is read and every number of the study is computed, no intervals;
* whole: the same with intervals from 2,000 resamples of items. It should take less than three times as long;
* the command: ``mycelium annotators FILE --bootstrap 2000 --format json``, in this process;
* both: intervals from 2,000 resamples of items and annotators, which has no limit to keep.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from mycelium.annotators import Study, as_annotations, study, study_intervals
from mycelium.cli import main as command
from mycelium.formats.files import read_table

#: What the whole may cost, in times of what it costs without intervals.
LIMIT = 3.0


def invented(path: Path) -> Path:
    """Write a file of the size of the English test split."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for i in range(154):
            marks = {
                f"annotator_{who}": [[int(s), int(s) + int(n)] for s, n in rng.integers(1, 90, (rng.integers(0, 4), 2))]
                for who in rng.permutation(95)[:11].tolist()
            }
            logits = np.round(rng.normal(size=120), 4).tolist()
            row = {"id": f"r{i}", "model_output_text": "x" * 200, "annotations": marks, "model_output_logits": logits}
            file.write(json.dumps(row) + "\n")
    return path


def once(path: Path) -> Study:
    """Read the file and compute every number."""
    table = read_table(path)
    return study(as_annotations(table.columns["annotations"], text=table.columns["model_output_text"]))


def by_command(path: Path) -> None:
    """Run the command and throw away what it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(["annotators", str(path), "--bootstrap", "2000", "--format", "json"])


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, help="how often each is timed (default 9)")
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    data = os.environ.get("MYCELIUM_DATA")
    with tempfile.TemporaryDirectory() as folder:
        path = invented(Path(folder, "invented.jsonl"))
        if data:
            path = Path(data, "mu_shroom", "test", "mushroom.en-tst.v1.extra.jsonl")
        calls: dict[str, Callable[[], Any]] = {
            "once": lambda: once(path),
            "whole": lambda: study_intervals(once(path), n_resamples=2000),
            "command": lambda: by_command(path),
            "both": lambda: study_intervals(once(path), n_resamples=2000, resample="items_annotators"),
        }
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for run in range(runs + 1):
            for name, call in calls.items():
                begin = time.process_time()
                call()
                if run:  # the first warms up
                    taken[name].append(time.process_time() - begin)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    print(f"{path.name}, median of {runs}")
    for name, seconds in medians.items():
        print(f"{name:8} {1000 * seconds:7.1f} ms  {seconds / medians['once']:5.2f} times once")
    ratio = medians["whole"] / medians["once"]
    print(f"whole: {ratio:.2f} times once, {'within' if ratio <= LIMIT else 'ABOVE'} the limit of {LIMIT:g}")


if __name__ == "__main__":
    main()
