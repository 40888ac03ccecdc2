"""SpanMetric: the bits of evaluate, whatever torchmetrics does with it.

What evaluate gives is tested elsewhere; here it is the expected value, of the same examples, cut and ordered otherwise.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import BATCH, random_batch, take

import mycelium

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

from mycelium.torch import SpanMetric  # noqa: E402

ONE = {"preds": [[[2, 8]]], "target": [[[0, 10]]]}


def sides(rows: dict[str, Any]) -> dict[str, Any]:
    return {"preds": rows["predictions"], "target": rows["references"]}


def floats(scores: dict[str, Any]) -> dict[str, float]:
    return {key: value.item() for key, value in scores.items()}


def fed(rows: dict[str, Any], size: int = 7, **options: Any) -> SpanMetric:
    """Return a metric that was given the rows in batches."""
    metric = SpanMetric(**options)
    for i in range(0, len(rows["references"]), size):
        metric.update(**sides(take(rows, range(i, min(i + size, len(rows["references"]))))))
    return metric


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": "micro"},
        {"profile": "ragtruth", "undefined": 1.0},
        {"metrics": ["span_coverage", "deteval_1d", "response"], "span_coverage_delta": 2, "tolerance": 1e-9},
    ],
)
def test_the_scores_are_those_of_evaluate(options: dict[str, Any]) -> None:
    rows = random_batch(50)
    computed = fed(rows, **options).compute()
    assert floats(computed) == mycelium.evaluate(**rows, **options).flat()
    assert all(value.shape == () and value.dtype == torch.float64 for value in computed.values())


def test_a_score_worked_out_by_hand() -> None:
    """6 of 10 characters; then 2 of 4 on the second row."""
    metric = SpanMetric(metrics=["iou"])
    metric.update([[[2, 8]]], [[[0, 10]]])
    metric.update([[[0, 2]]], [[[0, 4]]])
    assert metric.compute()["iou"].item() == (0.6 + 0.5) / 2
    assert metric.counts.dtype == torch.int64


def test_span_sets_may_be_tensors() -> None:
    expected = floats(fed({"references": [[[0, 4]], [[2, 3]]], "predictions": [[[1, 4]], [[0, 9]]]}).compute())
    metric = SpanMetric()
    metric.update(torch.tensor([[[1, 4]], [[0, 9]]]), [torch.tensor([[0, 4]]), torch.tensor([[2, 3]])])
    assert floats(metric.compute()) == expected
    metric = SpanMetric(metrics=["iou"])
    metric.update([torch.empty(0, 2), [[0, 4]]], (torch.tensor([]), torch.tensor([[0, 4]], dtype=torch.int32)))
    assert metric.compute()["iou"].item() == 1.0
    with pytest.raises(TypeError, match="preds"):
        metric.update([torch.tensor([[0.0, 4.0]])], [[]])


def test_texts_bound_the_spans() -> None:
    metric = SpanMetric(invalid="clip", metrics=["iou"])
    metric.update([[[0, 9]]], [[[0, 4]]], text=["four"])
    assert metric.compute()["iou"].item() == 1.0
    metric = SpanMetric()
    with pytest.raises(ValueError, match=r"^target: 1 invalid span in 1 row: row 0, span 0 \[0, 9\]: past the end"):
        metric.update([[[0, 4]]], [[[0, 9]]], text=["four"])
    with pytest.raises(ValueError, match=r"^preds: .*row 1, span 0"):
        metric.update([[], [[5, 2]]], [[], []])
    with pytest.raises(ValueError, match=r"^target has 1 row, text has 2"):
        metric.update([[]], [[]], text=["a", "b"])


def test_before_any_example_the_scores_are_nan() -> None:
    metric = SpanMetric(metrics=["iou", "character"])
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        computed = metric.compute()
    assert list(computed) == ["iou", "character_precision", "character_recall", "character_f1"]
    assert all(value.isnan() for value in computed.values())
    assert metric(preds=[], target=[])["iou"].isnan()
    metric.update(**ONE)
    assert metric.compute()["iou"].item() == 0.6


def test_forward_scores_the_batch_and_counts_it() -> None:
    rows = random_batch(40)
    metric = SpanMetric()
    for i in range(0, 40, 8):
        part = take(rows, range(i, i + 8))
        assert floats(metric(**sides(part))) == mycelium.evaluate(**part).flat()
    assert floats(metric.compute()) == mycelium.evaluate(**rows).flat()
    synced = SpanMetric(dist_sync_on_step=True)
    assert floats(synced(**sides(rows))) == floats(metric.compute())


def test_an_error_leaves_the_counts_as_they_were() -> None:
    metric = fed(random_batch(20))
    before = floats(metric.compute())
    bad = {"preds": [[[5, 2]]], "target": [[]]}
    for call in (metric.update, metric):
        with pytest.raises(ValueError, match="reversed"):
            call(**bad)
        assert floats(metric.compute()) == before
    metric(**ONE)
    rows = {side: values + BATCH[side][:1] for side, values in random_batch(20).items()}
    assert floats(metric.compute()) == mycelium.evaluate(**rows).flat()


def test_reset_and_clone() -> None:
    metric = fed(random_batch(20))
    copy = metric.clone()
    metric.reset()
    metric.update(**ONE)
    assert metric.compute()["iou"].item() == 0.6
    assert floats(copy.compute()) == mycelium.evaluate(**random_batch(20)).flat()


def test_pickle_and_state_dict() -> None:
    rows = random_batch(30)
    metric = fed(take(rows, range(10)), average="micro")
    other = pickle.loads(pickle.dumps(metric))
    other.update(**sides(take(rows, range(10, 30))))
    assert floats(other.compute()) == mycelium.evaluate(**rows, average="micro").flat()
    assert SpanMetric().state_dict() == {}
    other.persistent(True)
    loaded = SpanMetric(average="micro")
    loaded.persistent(True)
    loaded.update(**ONE)
    loaded.compute()
    loaded.load_state_dict(other.state_dict())
    assert floats(loaded.compute()) == floats(other.compute())
    strange = SpanMetric(average="macro")
    strange.persistent(True)
    with pytest.raises(RuntimeError, match="counts_"):
        strange.load_state_dict(other.state_dict())


def test_merge_state() -> None:
    rows = random_batch(30)
    metric, other = fed(take(rows, range(10))), fed(take(rows, range(10, 30)))
    metric.compute()
    metric.merge_state(other)
    assert floats(metric.compute()) == mycelium.evaluate(**rows).flat()
    for incoming in (metric, metric.metric_state):
        fresh = SpanMetric()
        fresh.merge_state(incoming)
        assert floats(fresh.compute()) == floats(metric.compute())  # without a warning
    with pytest.raises(ValueError, match="different settings"):
        metric.merge_state(SpanMetric(undefined=0.0))


@pytest.mark.parametrize(
    "convert",
    [
        lambda m: m.half(),
        lambda m: m.set_dtype(torch.float16),
        lambda m: m.set_dtype("torch.HalfTensor"),
        lambda m: m.to(torch.float16),
        lambda m: m.double(),
        lambda m: torch.nn.ModuleDict({"metric": m}).half()["metric"],
        lambda m: torchmetrics.MetricCollection({"m": m}).set_dtype(torch.float16)["m"],
    ],
)
def test_conversions_leave_the_counters_alone(convert: Any) -> None:
    """A sum of a million characters is infinite in half precision."""
    rows = {"references": [[[0, 10**6]]] * 30, "predictions": [[[0, 10**6 - 1]]] * 30}
    metric = fed(rows, average="micro")
    metric.compute()
    converted = convert(metric)
    assert floats(converted.compute()) == mycelium.evaluate(**rows, average="micro").flat()
    converted.update(**ONE)
    assert converted.counts.dtype == torch.int64
    more = {"references": [*rows["references"], [[0, 10]]], "predictions": [*rows["predictions"], [[2, 8]]]}
    assert floats(converted.compute()) == mycelium.evaluate(**more, average="micro").flat()


def test_a_collection_shares_states_of_equal_settings_only() -> None:
    """On the first batch both settings count the same; a shared state would score the second by the wrong one."""
    first, second = ONE, {"preds": [[[0, 3]]], "target": [[[1, 4]]]}
    collection = torchmetrics.MetricCollection(
        {
            "strict": SpanMetric(metrics=["span_coverage"]),
            "loose": SpanMetric(metrics=["span_coverage"], span_coverage_delta=1),
            "again": SpanMetric(metrics=["span_coverage"]),
        }
    )
    collection.update(**first)
    collection.update(**second)
    assert {tuple(sorted(names)) for names in collection.compute_groups.values()} == {("again", "strict"), ("loose",)}
    scores = floats(collection.compute())
    assert scores["loose_span_coverage_f1"] == 1.0
    assert scores["strict_span_coverage_f1"] == scores["again_span_coverage_f1"] == 0.5
    collection.update(**second)
    assert floats(collection.compute())["again_span_coverage_f1"] == pytest.approx(1 / 3)
    collection.reset()
    assert floats(collection(**second))["strict_span_coverage_f1"] == 0.0


def test_one_output_for_wrappers_that_compare() -> None:
    batches = [ONE, {"preds": [[[4, 7]], []], "target": [[[3, 7]], []]}, {"preds": [[[0, 3]]], "target": [[[1, 4]]]}]
    tracker = torchmetrics.MetricTracker(SpanMetric(metrics=["iou"], output="iou"))
    for batch in batches:
        tracker.increment()
        tracker.update(**batch)
    assert tracker.best_metric(return_step=True) == (0.875, 1)
    tracker = torchmetrics.MetricTracker(torchmetrics.MetricCollection([SpanMetric(metrics=["iou", "character"])]))
    for batch in batches:
        tracker.increment()
        tracker.update(**batch)
    assert tracker.compute_all()["iou"].tolist() == [0.6, 0.875, 0.5]
    extremes = torchmetrics.MinMaxMetric(SpanMetric(output="iou"))
    assert [floats(extremes(**batch)) for batch in batches][-1] == {"raw": 0.5, "max": 0.875, "min": 0.5}
    with pytest.raises(ValueError, match="no output 'f1'; there are iou"):
        SpanMetric(metrics=["iou"], output="f1")


def test_unknown_options_and_metrics_without_input_are_refused() -> None:
    with pytest.raises(ValueError, match="averages"):
        SpanMetric(averages="micro")
    with pytest.raises(ValueError, match="soft_correlation reads probabilities"):
        SpanMetric(metrics=["soft_correlation"])


WORKER = """
import json, sys, warnings
import torch, torch.distributed as dist
from torchmetrics import MetricCollection
from mycelium.torch import SpanMetric

rank, meeting, rows = int(sys.argv[1]), sys.argv[2], json.load(open(sys.argv[3]))
dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
warnings.simplefilter("ignore")
n = len(rows["references"])
out = {}

def given(metric, chosen, size=5):
    for i in range(0, len(chosen), size):
        part = chosen[i : i + size]
        metric.update(preds=[rows["predictions"][j] for j in part], target=[rows["references"][j] for j in part])
    return metric

for average in ("macro", "micro"):
    interleaved = list(range(rank, n, 2))
    uneven = list(range(3)) if rank == 0 else list(range(3, n))
    alone = [] if rank == 0 else list(range(n))
    new = lambda: SpanMetric(average=average)
    metrics = {"interleaved": given(new(), interleaved), "uneven": given(new(), uneven)}
    metrics["empty"] = given(new(), alone)
    if rank == 0:
        metrics["empty"].update([], [])
    metrics["never"] = given(new(), alone)
    half = given(new(), interleaved).half()
    half.set_dtype(torch.float16)
    metrics["half"] = half
    forward = new()
    for j in interleaved:
        forward([rows["predictions"][j]], [rows["references"][j]])
    metrics["forward"] = forward
    for name, metric in metrics.items():
        out[f"{average} {name}"] = {key: value.item() for key, value in metric.compute().items()}
        metric.update([[[2, 8]]], [[[0, 10]]])  # sums of this process alone go on
        out[f"{average} {name}, more"] = metric.compute()["iou"].item()
    shared = MetricCollection({"a": new(), "b": new()})
    given(shared, interleaved)
    found = shared.compute()
    out[f"{average} collection"] = {key[2:]: value.item() for key, value in found.items() if key.startswith("b_")}
print(json.dumps(out))
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_bits_of_one(tmp_path: Path) -> None:
    rows = random_batch(41, seed=4)
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(mycelium.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "meeting"), str(tmp_path / "rows.json")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        ended = [worker.communicate(timeout=120) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], ended
    found = [json.loads(out) for out, _ in ended]
    assert found[0] == found[1]
    assert len(found[0]) == 26
    twice = {side: values + 2 * BATCH[side][:1] for side, values in rows.items()}  # one more on each process
    for name, scores in found[0].items():
        average = name.split()[0]
        if name.endswith("more"):
            assert scores == mycelium.evaluate(**twice, average=average)["iou"]["score"], name
        else:
            assert scores == mycelium.evaluate(**rows, average=average).flat(), name
