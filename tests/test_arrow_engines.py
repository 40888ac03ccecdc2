"""The same integers from every engine: datasets, Polars, Spark."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import random_batch

import mycelium

pa = pytest.importorskip("pyarrow")

from mycelium import arrow  # noqa: E402

ROWS = 400
KEYS = ["lang", "k"]


@pytest.fixture(scope="module")
def corpus() -> Any:
    rng = random.Random(8)
    batch = random_batch(ROWS, seed=9)
    keys = {"lang": rng.choices(["en", "fi", None], k=ROWS), "k": rng.choices(range(5), k=ROWS)}
    return pa.table({**batch, **keys, "text": ["x" * 60] * ROWS})


@pytest.fixture(scope="module")
def expected(corpus: Any) -> Any:
    """The sums, which come to what evaluate gives."""
    merged = arrow.merge(arrow.statistics(corpus, text="text", by=KEYS))
    whole = mycelium.evaluate(
        references=corpus["references"], predictions=corpus["predictions"], text=corpus["text"].to_pylist()
    )
    assert arrow.report(merged) == whole
    assert arrow.report(merged, by="lang") == whole.by(corpus["lang"].to_pylist())
    return merged


def count(batch: Any) -> Any:
    return arrow.statistics(batch, text="text", by=KEYS)


# -- datasets


@pytest.fixture
def dataset(corpus: Any) -> Any:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    return datasets.Dataset(corpus)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("processes", [None, 2])
def test_datasets_map(dataset: Any, expected: Any, processes: int | None) -> None:
    options = {"text": "text", "by": KEYS}
    for data in (dataset, dataset.shuffle(seed=1)):
        mapped = data.with_format("arrow").map(
            arrow.statistics, batched=True, batch_size=77, num_proc=processes, fn_kwargs=options
        )
        assert len(mapped) > len(expected)
        assert arrow.merge(mapped) == expected


def test_datasets_stream(dataset: Any, expected: Any) -> None:
    stream = dataset.to_iterable_dataset(num_shards=4).with_format("arrow")
    assert arrow.merge(map(count, stream.iter(batch_size=33))) == expected
    if not sys.modules["datasets"].__version__.startswith("3."):  # which fails on rows of empty lists
        shuffled = stream.shuffle(seed=2, buffer_size=50)
        assert arrow.merge(map(count, shuffled.iter(batch_size=33))) == expected
    mapped = stream.map(count, batched=True, batch_size=33)
    assert arrow.merge(mapped.iter(batch_size=100)) == expected
    with pytest.raises(TypeError, match=r"got IterableDataset; with_format\(\"arrow\"\) gives such"):
        arrow.statistics(stream)


def test_datasets_are_read_through_their_indices(dataset: Any, expected: Any) -> None:
    shuffled = dataset.shuffle(seed=3)
    assert arrow.merge(count(shuffled)) == expected
    assert arrow.merge(count(shuffled.with_format("numpy"))) == expected
    reports = arrow.report(expected, by="lang")
    for lang in ("en", None):
        some = shuffled.filter(lambda value, lang=lang: value == lang, input_columns="lang")
        assert len(some) < ROWS
        assert arrow.report(count(some)) == reports[lang]
        part = some.select(range(0, len(some), 2))
        rows = part.with_format(None)[:]
        assert arrow.report(count(part)) == mycelium.evaluate(
            references=rows["references"], predictions=rows["predictions"], text=rows["text"]
        )
    # A transform computes other values than those stored: here rows without spans, which are all right.
    emptied = shuffled.with_transform(
        lambda rows: {name: [[]] * len(values) if "s" in name else values for name, values in rows.items()}
    )
    assert arrow.report(arrow.statistics(emptied))["iou"]["score"] == 1.0
    assert arrow.report(expected)["iou"]["score"] < 1.0


def test_a_filtered_dataset_of_statistics(dataset: Any, expected: Any) -> None:
    mapped = dataset.with_format("arrow").map(count, batched=True, batch_size=50)
    english = mapped.filter(lambda value: [v == "en" for v in value.to_pylist()], input_columns="lang", batched=True)
    assert arrow.report(english) == arrow.report(expected, by="lang")["en"]


# -- Polars


def test_polars(corpus: Any, expected: Any, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    import pyarrow.parquet

    def score(frame: Any) -> Any:
        return polars.from_arrow(count(frame))

    frame = polars.from_arrow(corpus)
    assert arrow.merge(count(frame)) == expected
    assert arrow.merge(count(frame.with_columns(polars.col("lang").cast(polars.Categorical)))) == expected
    pyarrow.parquet.write_table(corpus, tmp_path / "rows.parquet", row_group_size=60)
    lazy = polars.scan_parquet(tmp_path / "rows.parquet")
    schema = score(frame.clear()).schema
    for wrong, kind in ((lazy, "LazyFrame"), (frame["k"], "Series")):
        with pytest.raises(TypeError, match=f"^batch: expected a pyarrow Table.*, got {kind}"):
            count(wrong)
    for streamable in (False, True):
        counted = lazy.map_batches(score, schema=schema, streamable=streamable).collect(engine="streaming")
        assert arrow.merge(counted) == expected
    assert arrow.merge(counted.lazy().group_by(*KEYS, "mycelium").sum().collect()) == expected


# -- Spark

SPARK = """
import functools, os, sys
import pyarrow.parquet
from pyspark.sql import SparkSession, functions
from pyspark.sql.pandas.types import from_arrow_schema
from mycelium import arrow

folder, by = sys.argv[1], ["lang", "k"]
count = functools.partial(arrow.statistics, text="text", by=by)

def score(batches):
    for batch in batches:
        yield from count(batch).to_batches()

settings = {"spark.ui.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "50"}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
rows = spark.read.parquet(f"{folder}/rows").repartition(5)
schema = from_arrow_schema(count(rows.limit(0).toArrow()).schema)
counted = rows.mapInArrow(score, schema).cache()
sums = [name for name in schema.names if name not in [*by, "mycelium"]]
added = [functions.sum(f"`{name}`").alias(name) for name in sums]
results = {
    "rows": counted.toArrow(),
    "added": counted.groupBy(*by, "mycelium").agg(*added).toArrow(),
    "lost": counted.groupBy(*by).agg(*added).toArrow(),
}
for name, table in results.items():
    pyarrow.parquet.write_table(table, f"{folder}/{name}.parquet")
bad = spark.createDataFrame([([[0, 4]], [[5, 2]], "en", 1, "x" * 9)], rows.schema)
try:
    bad.mapInArrow(score, schema).toArrow()
except Exception as error:
    open(f"{folder}/error.txt", "w").write(str(error))
spark.stop()
"""


def in_a_process(*arguments: str, folder: Path) -> str:
    """Run Python where Spark finds itself and this package; return what it printed."""
    root = str(Path(mycelium.__file__).parent.parent)
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **python, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_spark(corpus: Any, expected: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    import pyarrow.parquet

    (tmp_path / "rows").mkdir()
    for i in range(0, ROWS, 90):
        pyarrow.parquet.write_table(corpus.slice(i, 90), tmp_path / "rows" / f"{i}.parquet")
    in_a_process("-c", SPARK, str(tmp_path), folder=tmp_path)
    found = {name: pyarrow.parquet.read_table(tmp_path / f"{name}.parquet") for name in ("rows", "added", "lost")}
    assert len(found["rows"]) > len(expected)
    assert arrow.merge(found["rows"]) == expected
    assert arrow.merge(found["added"]) == expected
    assert arrow.merge(found["lost"], metrics=None) == expected
    error = (tmp_path / "error.txt").read_text(encoding="utf-8")
    assert "column 'predictions': 1 invalid span in 1 row: row 0, span 0 [5, 2]: reversed" in error


@pytest.mark.slow
def test_the_example_for_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    example = Path(mycelium.__file__).parent.parent / "examples" / "spark_score.py"
    printed = in_a_process(str(example), "--rows", "3000", folder=tmp_path)
    assert [line.split()[0] for line in printed.splitlines()[:3]] == ["one", "Spark", "metric"]
    assert "rows per second" in printed


@pytest.mark.slow
def test_the_documented_lines_for_spark(tmp_path: Path) -> None:
    """The test of the documents leaves them out, since they take a while and need Java."""
    pytest.importorskip("pyspark")
    document = Path(mycelium.__file__).parent.parent / "docs" / "cluster.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    code = "".join(block for block in blocks if block.startswith(("# needs pyarrow", "# needs pyspark")))
    assert in_a_process("-c", code, folder=tmp_path).splitlines()[-1] == "True"
