"""One corpus through every entrance: the same value, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typed_rows import TYPES, Rows, records, typed_rows

import mycelium
from mycelium import cli
from mycelium.metrics import DEFAULT
from mycelium.typed import TypedAccumulator, TypedReport, evaluate_typed

AVERAGES = ("macro", "micro")


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Any], list[Any]]:
    """Return the shipped samples and rows with everything that is hard, so that sums have many addends."""
    rng = np.random.default_rng(5)

    def side() -> list[Any]:
        counts = rng.integers(0, 5, 700)
        starts = rng.integers(0, 60, counts.sum()).tolist()
        spans = [[s, s + int(k)] for s, k in zip(starts, rng.integers(1, 30, counts.sum()), strict=True)]
        cuts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        return [spans[a:b] for a, b in pairwise(cuts)]

    return side(), side()


@pytest.fixture(scope="module")
def truth(corpus: tuple[list[Any], list[Any]]) -> dict[str, dict[str, float]]:
    references, predictions = corpus
    return {
        average: mycelium.evaluate(references=references, predictions=predictions, average=average).flat()
        for average in AVERAGES
    }


@pytest.mark.parametrize("average", AVERAGES)
def test_accumulators_in_shuffled_batches(corpus: Any, truth: Any, average: str) -> None:
    references, predictions = corpus
    order = np.random.default_rng(6).permutation(len(references)).tolist()
    parts = [mycelium.Accumulator(average=average) for _ in range(3)]
    for number, begin in enumerate(range(0, len(order), 37)):
        rows = order[begin : begin + 37]
        parts[number % 3].update([references[i] for i in rows], [predictions[i] for i in rows])
    whole = parts[2]
    whole.merge(parts[0])
    whole.add_state(parts[1].state())
    assert whole.compute().flat() == truth[average]


@pytest.mark.parametrize("average", AVERAGES)
def test_containers(corpus: Any, truth: Any, average: str) -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    references, predictions = corpus
    dicts = [[{"start": s, "end": e} for s, e in row] for row in references]
    for form in (mycelium.as_spans(references), pa.array(references), pd.Series(references), dicts):
        assert mycelium.evaluate(references=form, predictions=predictions, average=average).flat() == truth[average]


@pytest.mark.parametrize("average", AVERAGES)
def test_command_line(
    corpus: Any, truth: Any, average: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, side in zip(("references", "predictions"), corpus, strict=True):
        rows = [{"id": f"r{i}", "spans": row} for i, row in enumerate(side)]
        if name == "predictions":
            rows.reverse()
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(str(path))
    assert cli.main(["score", *files, "--average", average, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    flat = {(k if o == "score" else f"{k}_{o}"): v for k in DEFAULT for o, v in report[k].items()}
    assert flat == truth[average]


@pytest.mark.parametrize("average", AVERAGES)
def test_scikit_learn(corpus: Any, truth: Any, average: str) -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator

    from mycelium.sklearn import scorers, span_score

    references, predictions = corpus
    for key in DEFAULT:
        name = key if key == "iou" else f"{key}_f1"
        assert span_score(references, predictions, metric=key, average=average) == truth[average][name]

    class Told(BaseEstimator):
        """A detector that was told the predictions."""

        def predict(self, X: Any) -> Any:
            return [predictions[i] for i in X]

    given = scorers(average=average)
    X = list(range(len(references)))
    values = {name: scorer(Told(), X, references) for name, scorer in given.items()}
    assert len(values) == len(DEFAULT)
    assert {name: truth[average][name] for name in values} == values


LOAD = """
import json, os, sys
import evaluate, mycelium.hf
from mycelium.hf import path, register
evaluate.logging.set_verbosity_error()
register()
references, predictions = json.load(open(sys.argv[1]))
out = {}
for how, name in (("path", path()), ("name", "mycelium"), ("space", sys.argv[2])):
    for average in ("macro", "micro"):
        metric = evaluate.load(name, average=average)
        for begin in range(0, len(references), 200):
            part = slice(begin, begin + 200)
            metric.add_batch(references=references[part], predictions=predictions[part])
        out[f"{how} {average}"] = metric.compute()
print(json.dumps(out))
"""


def test_evaluate_module(corpus: Any, truth: Any, tmp_path: Path) -> None:
    pytest.importorskip("evaluate")
    pytest.importorskip("datasets")
    data = tmp_path / "corpus.json"
    data.write_text(json.dumps(corpus))
    space = Path(__file__).parent.parent / "hf_metric" / "mycelium.py"
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path / "home"),
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", LOAD, str(data), str(space)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert set(results) == {f"{how} {average}" for how in ("path", "name", "space") for average in AVERAGES}
    for name, result in results.items():
        assert result == truth[name.split()[1]], name


@pytest.fixture(scope="module")
def table(corpus: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"references": pa.array(corpus[0]), "predictions": pa.array(corpus[1])})


@pytest.mark.parametrize("average", AVERAGES)
def test_arrow_datasets_and_polars(table: Any, truth: Any, average: str) -> None:
    datasets = pytest.importorskip("datasets")
    polars = pytest.importorskip("polars")
    from mycelium import arrow

    datasets.disable_progress_bars()
    counted = [arrow.statistics(batch, average=average) for batch in table.to_batches(max_chunksize=64)]
    assert arrow.report(arrow.merge(counted)).flat() == truth[average]
    data = datasets.Dataset(table).shuffle(seed=1)
    mapped = data.with_format("arrow").map(
        arrow.statistics,
        batched=True,
        batch_size=100,
        fn_kwargs={"average": average},
        remove_columns=data.column_names,
    )
    assert arrow.report(arrow.merge(mapped)).flat() == truth[average]
    frames = polars.from_arrow(table).iter_slices(90)
    assert arrow.report(arrow.merge(arrow.statistics(f, average=average) for f in frames)).flat() == truth[average]


SPARK = """
import functools, json, sys
import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from mycelium import arrow

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.read.parquet(sys.argv[1]).repartition(5)
out = {}
for average in ("macro", "micro"):
    count = functools.partial(arrow.statistics, average=average)

    def score(batches):
        for batch in batches:
            yield from count(batch).to_batches()

    schema = from_arrow_schema(count(frame.limit(0).toArrow()).schema)
    out[average] = arrow.report(arrow.merge(frame.mapInArrow(score, schema).toArrow())).flat()
print(json.dumps(out))
"""


@pytest.mark.slow
def test_spark(table: Any, truth: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", SPARK, str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.strip().split("\n")[-1]) == truth


@pytest.mark.parametrize("average", AVERAGES)
def test_torchmetrics(corpus: Any, truth: Any, average: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from mycelium.torch import SpanMetric

    references, predictions = corpus
    parts = [SpanMetric(average=average) for _ in range(2)]
    for number, begin in enumerate(range(0, len(references), 100)):
        rows = slice(begin, begin + 100)
        parts[number % 2].update(preds=predictions[rows], target=references[rows])
    parts[0].merge_state(parts[1])
    assert {key: value.item() for key, value in parts[0].compute().items()} == truth[average]


@pytest.mark.parametrize("average", AVERAGES)
def test_trainer(corpus: Any, average: str) -> None:
    """A Trainer's metrics, on tokens of one character: its spans are unions, scored like any others."""
    from mycelium.trainer import SpanMetrics

    references, predictions = corpus
    length = 100
    marked = np.zeros((len(predictions), length), dtype=bool)
    for row, spans in zip(marked, predictions, strict=True):
        for start, end in spans:
            row[start:end] = True
    merged = mycelium.spans_from_mask(marked.tolist())
    logits = np.stack([~marked, marked], axis=-1).astype(np.float32) * 3
    features = {"offset_mapping": [[(i, i + 1) for i in range(length)]] * len(predictions)}
    metrics = SpanMetrics(
        features=features, examples=None, spans=references, average=average, metrics=list(DEFAULT), in_order=True
    )
    scores = metrics((logits, np.zeros(marked.shape, dtype=np.int64)))
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == merged.tolist()
    assert scores == mycelium.evaluate(references=references, predictions=merged.tolist(), average=average).flat()


# -- typed spans


#: Rules away from their defaults, so that an entrance that loses one of them shows it.
RULES: dict[str, Any] = {
    "types": TYPES[:2],
    "unknown_types": "ignore",
    "overlap_credit": 0.3,
    "min_overlap": 0.2,
    "overlap_base": "union",
    "absent_types": "zero",
    "undefined": 0.0,
}
SETTINGS: list[dict[str, Any]] = [
    {"types": TYPES, "average": "micro"},
    {"types": TYPES, "average": "macro"},
    {**RULES, "average": "micro"},
    {**RULES, "average": "macro"},
]
#: The metrics that stand in the registry: they need no list of types.
KEYS = ["strict", "strict_typed", "partial(overlap_credit=0.3)", "typed_partial(min_overlap=0.2)", "valid_cases"]
KEYS += ["muc_strict", "muc_exact", "muc_partial", "muc_type"]


@pytest.fixture(scope="module")
def typed_corpus() -> tuple[Rows, Rows]:
    return typed_rows(400, seed=8)


def typed_truth(corpus: tuple[Rows, Rows], **settings: Any) -> TypedReport:
    return evaluate_typed(references=corpus[0], predictions=corpus[1], **settings)


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_accumulators_in_shuffled_batches(typed_corpus: Any, settings: dict[str, Any]) -> None:
    references, predictions = typed_corpus
    order = np.random.default_rng(6).permutation(len(references)).tolist()
    parts = [TypedAccumulator(**settings) for _ in range(3)]
    for number, begin in enumerate(range(0, len(order), 37)):
        rows = order[begin : begin + 37]
        parts[number % 3].update([references[i] for i in rows], [predictions[i] for i in rows])
    whole = parts[2]
    whole.merge(parts[0])
    whole.add_state(parts[1].state())
    assert whole.compute() == typed_truth(typed_corpus, **settings)


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_containers(typed_corpus: Any, settings: dict[str, Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    references, predictions = typed_corpus
    dicts = [records(references, key) for key in ("label", "type", "label_type")]
    forms = [*dicts, mycelium.as_spans(references), pa.array(dicts[0]), pd.Series(references)]
    for form in forms:
        report = evaluate_typed(references=form, predictions=predictions, **settings)
        assert report == typed_truth(typed_corpus, **settings)


@pytest.mark.parametrize("average", AVERAGES)
def test_registered_typed_metrics(typed_corpus: Any, average: str) -> None:
    """The registry, intervals, comparisons and boards give what evaluate_typed gives."""
    references, predictions = typed_corpus
    report = mycelium.evaluate(references=references, predictions=predictions, metrics=KEYS, average=average)
    half = typed_truth(typed_corpus, average=average, overlap_credit=0.3, undefined=None)
    share = typed_truth(typed_corpus, average=average, min_overlap=0.2, undefined=None)
    outputs = ("precision", "recall", "f1")
    for key, leaf in (
        ("strict", half["strict"]),
        ("strict_typed", half["strict_typed"]),
        ("partial(overlap_credit=0.3)", half["partial"]),
        ("typed_partial(min_overlap=0.2)", share["typed_partial"]),
    ):
        assert report[key] == {output: leaf[output] for output in outputs}
    cases = ("clean", "caught", "localised")
    assert report["valid_cases"] == {name: half["valid_cases"][name] for name in cases}
    options: dict[str, Any] = {"metrics": KEYS, "average": average, "n_resamples": 20}
    given = mycelium.bootstrap(references=references, predictions=predictions, **options)
    assert given.scores == {key: report[key] for key in KEYS}
    systems = {"one": predictions, "none": [[] for _ in predictions]}
    comparison = mycelium.compare(references, systems, **options)
    key = "typed_partial(min_overlap=0.2)"
    assert comparison["systems"]["one"]["scores"][key]["f1"]["score"] == report[key]["f1"]
    board = mycelium.leaderboard(references, systems, metric=key, average=average, n_resamples=20)
    assert next(r["score"] for r in board["overall"] if r["system"] == "one") == report[key]["f1"]


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_intervals_and_slices(typed_corpus: Any, settings: dict[str, Any]) -> None:
    references, predictions = typed_corpus
    report = typed_truth(typed_corpus, **settings)
    intervals = report.confidence_intervals(n_resamples=20)
    names = {f"{key}_{output}": value for key, leaf in intervals.scores.items() for output, value in leaf.items()}
    assert names == report.flat()
    halves = ["a" if i % 2 else "b" for i in range(len(references))]
    for value, part in report.by(halves).items():
        rows = [i for i, half in enumerate(halves) if half == value]
        alone = typed_truth(([references[i] for i in rows], [predictions[i] for i in rows]), **settings)
        assert part.flat() == alone.flat()


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_command_line(
    typed_corpus: Any, settings: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, side in zip(("references", "predictions"), typed_corpus, strict=True):
        rows = [{"id": f"r{i}", "spans": row} for i, row in enumerate(side)]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in (rows if name == "references" else rows[::-1])))
        files.append(str(path))
    spelt = {**settings, "types": ",".join(settings["types"])}
    if "undefined" in spelt:
        spelt["undefined"] = "0"
    arguments = [part for name, value in spelt.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    assert cli.main(["score", *files, "--typed", *arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    report = typed_truth(typed_corpus, **settings)
    assert found["report"] == json.loads(json.dumps(report))
    assert found["signature"] == report.signature


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_scikit_learn(typed_corpus: Any, settings: dict[str, Any]) -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator

    import mycelium.sklearn as ms

    references, predictions = typed_corpus
    average = settings["average"]
    report = typed_truth(typed_corpus, average=average, undefined=None)
    for key in ("strict", "strict_typed", "partial", "typed_partial"):
        assert getattr(ms, f"{key}_f1_score")(references, predictions, average=average) == report[key]["f1"]

    class Told(BaseEstimator):
        """A detector that was told the predictions."""

        def predict(self, X: Any) -> Any:
            return [predictions[i] for i in X]

    X = list(range(len(references)))
    for name, scorer in ms.scorers(["strict", "typed_partial"], average=average).items():
        assert scorer(Told(), X, references) == report[name.removesuffix("_f1")]["f1"]
    options = {"zero_division" if name == "undefined" else name: value for name, value in settings.items()}
    found = ms.TypedReportScorer(**options)(Told(), X, references)
    assert found == typed_truth(typed_corpus, **settings).flat()


LOAD_TYPED = """
import json, sys
import evaluate
from mycelium.hf import path, register
evaluate.logging.set_verbosity_error()
register()
references, predictions, settings = json.load(open(sys.argv[1]))
out = []
for name in (path(), "mycelium", sys.argv[2]):
    for options in settings:
        metric = evaluate.load(name, "typed", **options)
        for begin in range(0, len(references), 150):
            part = slice(begin, begin + 150)
            metric.add_batch(references=references[part], predictions=predictions[part])
        out.append(metric.compute())
print(json.dumps(out))
"""


def test_typed_evaluate_module(typed_corpus: Any, tmp_path: Path) -> None:
    pytest.importorskip("evaluate")
    pytest.importorskip("datasets")
    data = tmp_path / "corpus.json"
    data.write_text(json.dumps([*typed_corpus, SETTINGS]))
    space = Path(__file__).parent.parent / "hf_metric" / "mycelium.py"
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path / "home"),
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", LOAD_TYPED, str(data), str(space)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [typed_truth(typed_corpus, **options).flat() for options in SETTINGS] * 3


@pytest.fixture(scope="module")
def typed_table(typed_corpus: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"references": records(typed_corpus[0]), "predictions": records(typed_corpus[1])})


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_arrow_datasets_and_polars(typed_corpus: Any, typed_table: Any, settings: dict[str, Any]) -> None:
    datasets = pytest.importorskip("datasets")
    polars = pytest.importorskip("polars")
    from mycelium import arrow

    datasets.disable_progress_bars()
    truth = typed_truth(typed_corpus, **settings)
    counted = [arrow.statistics(batch, **settings) for batch in typed_table.to_batches(max_chunksize=64)]
    assert arrow.report(arrow.merge(counted)) == truth
    data = datasets.Dataset(typed_table).shuffle(seed=1)
    mapped = data.with_format("arrow").map(
        arrow.statistics, batched=True, batch_size=100, fn_kwargs=settings, remove_columns=data.column_names
    )
    assert arrow.report(arrow.merge(mapped)) == truth
    frames = polars.from_arrow(typed_table).iter_slices(90)
    assert arrow.report(arrow.merge(arrow.statistics(frame, **settings) for frame in frames)) == truth


SPARK_TYPED = """
import functools, json, sys
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from mycelium import arrow

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.read.parquet(sys.argv[1]).repartition(5)
out = []
for settings in json.loads(sys.argv[2]):
    count = functools.partial(arrow.statistics, **settings)

    def score(batches):
        for batch in batches:
            yield from count(batch).to_batches()

    schema = from_arrow_schema(count(frame.limit(0).toArrow()).schema)
    out.append(arrow.report(arrow.merge(frame.mapInArrow(score, schema).toArrow())))
print(json.dumps(out))
"""


@pytest.mark.slow
def test_typed_spark(typed_corpus: Any, typed_table: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    import pyarrow.parquet

    pyarrow.parquet.write_table(typed_table, tmp_path / "rows.parquet")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", SPARK_TYPED, str(tmp_path / "rows.parquet"), json.dumps(SETTINGS)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [json.loads(json.dumps(typed_truth(typed_corpus, **settings))) for settings in SETTINGS]
    assert json.loads(done.stdout.strip().split("\n")[-1]) == expected


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_torchmetrics(typed_corpus: Any, settings: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torchmetrics")
    from mycelium.torch import SpanMetric

    references, predictions = typed_corpus
    parts = [SpanMetric(**settings) for _ in range(2)]
    for number, begin in enumerate(range(0, len(references), 100)):
        rows = slice(begin, begin + 100)
        parts[number % 2].update(preds=predictions[rows], target=references[rows])
    parts[0].merge_state(parts[1])
    found = {key: value.item() for key, value in parts[0].compute().items()}
    assert found == typed_truth(typed_corpus, **settings).flat()


@pytest.mark.parametrize("settings", SETTINGS)
def test_typed_trainer(typed_corpus: Any, settings: dict[str, Any]) -> None:
    """A Trainer's metrics, on tokens of one character: each has one type, so that the spans of a row do not overlap."""
    from mycelium.trainer import SpanMetrics

    references, predictions = typed_corpus
    length = 80
    tags = {2 * i + j: f"{tag}-{name}" for i, name in enumerate(TYPES) for j, tag in ((1, "B"), (2, "I"))}
    classes = np.zeros((len(predictions), length), dtype=np.int64)
    disjoint: Rows = []
    for row, spans in zip(classes, predictions, strict=True):
        disjoint.append([])
        for start, end, name in sorted(spans):
            # A blank between two, for those of one type that touch are one.
            if not row[max(0, start - 1) : end + 1].any():
                row[start:end] = 2 * TYPES.index(name) + 2
                row[start] = 2 * TYPES.index(name) + 1
                disjoint[-1].append([start, end, name])
    metrics = SpanMetrics(
        features={"offset_mapping": [[(i, i + 1) for i in range(length)]] * len(predictions)},
        examples=None,
        spans=references,
        positive=tags,
        in_order=True,
        **settings,
    )
    logits = np.eye(1 + len(tags), dtype=np.float32)[classes] * 6
    scores = metrics((logits, np.zeros(classes.shape, dtype=np.int64)))
    assert scores == typed_truth((references, disjoint), **settings).flat()
