"""Score a corpus with Spark, partition by partition, and in one process, and see that the reports are the same.

pip install "mycelium-eval[arrow]" pyspark    # and Java 17
python examples/spark_score.py                # five million rows, made up and written as Parquet
python examples/spark_score.py --rows 20000
"""

import argparse
import functools
import os
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from mycelium import arrow

count = functools.partial(arrow.statistics, by="language")


def score(batches):
    """Map the batches of a partition to their statistics: what Spark's mapInArrow calls."""
    for batch in batches:
        yield from count(batch).to_batches()


def spans(rng, rows):
    """Return a column of up to two spans a row."""
    counts = rng.integers(0, 3, rows)
    start = rng.integers(0, 500, counts.sum())
    pairs = np.stack([start, start + rng.integers(1, 60, len(start))], axis=1)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    inner = pa.ListArray.from_arrays(np.arange(0, pairs.size + 1, 2, dtype=np.int32), pairs.ravel())
    return pa.ListArray.from_arrays(offsets.astype(np.int32), inner)


def write(folder, rows, size=250_000):
    """Write the corpus, one file for each `size` rows."""
    rng = np.random.default_rng(0)
    for begin in range(0, rows, size):
        n = min(size, rows - begin)
        language = pa.array(rng.choice(["de", "en", "fi"], n))
        table = pa.table({"references": spans(rng, n), "predictions": spans(rng, n), "language": language})
        pa.parquet.write_table(table, os.path.join(folder, f"{begin:09}.parquet"))


def timed(name, rows, call):
    """Call, print how long it took, and return what it gave."""
    begin = time.perf_counter()
    result = call()
    taken = time.perf_counter() - begin
    print(f"{name:<12} {taken:6.1f} s  {rows / taken:12,.0f} rows per second")
    return result


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rows", type=int, default=5_000_000)
rows = parser.parse_args().rows
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take the first python3 of the PATH
with tempfile.TemporaryDirectory() as folder:
    write(folder, rows)
    alone = timed("one process", rows, lambda: arrow.merge(map(count, pa.dataset.dataset(folder).to_batches())))
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.parquet(folder)
    schema = from_arrow_schema(count(frame.limit(0).toArrow()).schema)
    together = timed("Spark", rows, lambda: arrow.merge(frame.mapInArrow(score, schema).toArrow()))
    spark.stop()
assert together == alone
print(arrow.report(together, by="language")["en"].to_table())
