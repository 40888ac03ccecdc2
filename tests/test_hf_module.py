"""The evaluate module: the numbers of the core, whatever goes in and however it comes."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import read_cases
from hf_host import host

import mycelium
from mycelium import hf

pytest.importorskip("evaluate")

KEYS = [
    *("exact_span_precision", "exact_span_recall", "exact_span_f1", "iou"),
    *("character_precision", "character_recall", "character_f1"),
    *("deteval_1d_precision", "deteval_1d_recall", "deteval_1d_f1"),
    *("cleval_1d_precision", "cleval_1d_recall", "cleval_1d_f1"),
    *("span_coverage_precision", "span_coverage_recall", "span_coverage_f1"),
]


@pytest.fixture(scope="module")
def evaluate() -> ModuleType:
    return host()


@pytest.fixture(params=["memory", "file"])
def kept_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where rows wait until compute. Small ones wait in memory; for "file" all count as large."""
    if request.param == "file":
        monkeypatch.setattr("mycelium.hf.module._AT_ONCE", 0)
    return str(request.param)


@pytest.fixture
def load(evaluate: ModuleType, kept_in: str, tmp_path: Path) -> Any:
    def load(config: str | None = None, **options: Any) -> Any:
        return evaluate.load(hf.path(), config, cache_dir=str(tmp_path), **options)

    return load


def batch(predictions: Any, references: Any) -> dict[str, Any]:
    return {"predictions": predictions, "references": references}


# -- the numbers


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_published_cases(load: Any, average: str) -> None:
    *cases, whole = read_cases("span_metrics.jsonl")
    cases = [case for case in cases if case["why"] != "far offsets"]
    metric = load(average=average)
    half = len(cases) // 2
    for part in (cases[:half], cases[half:]):
        metric.add_batch(**batch([case["predictions"] for case in part], [case["references"] for case in part]))
    result = metric.compute()
    for key, outputs in whole[average].items():
        for output, value in outputs.items():
            name = key if output == "score" else f"{key}_{output}"
            assert result.pop(name) == pytest.approx(value, rel=0, abs=1e-12), name
    assert not result


def test_results_are_flat_floats_under_the_same_keys(load: Any) -> None:
    metric = load()
    for rows in ([[]], [[[0, 4]]], [[], [[2, 3]]]):
        for other in ([[] for _ in rows], rows):
            result = metric.compute(**batch(rows, other))
            assert list(result) == KEYS
            assert all(type(value) is float for value in result.values())
            json.dumps(result, allow_nan=False)


def test_nested_is_the_report_of_the_library(load: Any) -> None:
    sides = batch([[[2, 8]], [[4, 7]]], [[[0, 10]], []])
    report = load(profile="ragtruth").compute(**sides, nested=True)
    expected = mycelium.evaluate(**sides, profile="ragtruth")
    assert report == expected
    assert isinstance(report, mycelium.Report)
    assert report.signature == expected.signature
    # 6 characters in both; 10 and 3 in either
    assert report["iou"]["score"] == 6 / 13
    assert report.by(["a", "b"])["a"]["iou"]["score"] == 0.6


def test_the_signature_tells_settings_apart(load: Any) -> None:
    two = load(metrics=["span_coverage", "span_coverage(delta=2)"])
    result = two.compute(**batch([[[0, 6]]], [[[2, 6]]]))
    assert result["span_coverage_f1"] == 0.0
    assert result["span_coverage(delta=2)_f1"] == 1.0
    assert load().signature != load(average="micro").signature
    assert load().signature == mycelium.evaluate(**batch([[]], [[]])).signature


# -- what goes in


def rows_as(kind: str, rows: list[list[list[int]]]) -> Any:
    if kind == "lists":
        return rows
    if kind == "tuples":
        return tuple(tuple(tuple(span) for span in row) for row in rows)
    if kind == "dicts":
        return [[{"start": a, "end": b, "text": "ignored"} for a, b in row] for row in rows]
    if kind == "dicts of lists":
        return [{"start": [a for a, _ in row], "end": [b for _, b in row]} for row in rows]
    if kind == "typed":
        return [[[a, b, "conflict"] for a, b in row] for row in rows]
    if kind == "arrays":
        return [np.array(row).reshape(-1, 2) for row in rows]
    if kind == "object array":
        out = np.empty(len(rows), dtype=object)
        out[:] = rows
        return out
    if kind == "SpanBatch":
        return mycelium.as_spans(rows)
    if kind == "Series":
        return pytest.importorskip("pandas").Series(rows, index=range(7, 7 + len(rows)))
    if kind == "Arrow":
        return pytest.importorskip("pyarrow").array(rows)
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"spans": rows[::-1]})
    return table.select(range(len(rows) - 1, -1, -1))["spans"]


KINDS = [
    *("lists", "tuples", "dicts", "dicts of lists", "typed", "arrays", "object array", "SpanBatch", "Series", "Arrow"),
    "dataset",
]
REFERENCES = [[], [[0, 10]], [[4, 7], [9, 12]], []]
PREDICTIONS = [[[1, 2]], [[2, 8]], [[4, 7]], []]
#: By hand: 0, 6/10, 3/6, and 1 where both are empty.
IOU = (0 + 0.6 + 0.5 + 1) / 4


@pytest.mark.parametrize("kind", KINDS)
def test_forms(load: Any, kind: str) -> None:
    metric = load()
    sides = batch(rows_as(kind, PREDICTIONS), rows_as(kind, REFERENCES))
    at_once = metric.compute(**sides)
    assert at_once["iou"] == pytest.approx(IOU, abs=1e-15)
    metric.add_batch(**sides)
    assert len(metric) == 4
    assert metric.compute() == at_once == mycelium.evaluate(**sides).flat()


def test_rows_are_read_when_they_are_added(load: Any) -> None:
    metric = load(metrics=["iou"])
    row, rows, array = [[0, 4]], [[[0, 4]]], np.array([[[0, 4]]])
    metric.add(prediction=row, reference=[[0, 4]])
    metric.add_batch(predictions=rows, references=array)
    row.append([9, 10])
    rows[0][0] = [7, 8]
    array += 20
    assert metric.compute() == {"iou": 1.0}


def test_rectangular_arrays_are_batches(load: Any) -> None:
    for array in (np.array([[[0, 2]], [[3, 5]]]), np.array([[[0, 2]], [[3, 5]]], dtype=object)):
        assert load().compute(**batch(array, array), nested=True)["meta"]["examples"] == 2
    nothing = np.empty((3, 0))
    assert load().compute(**batch(nothing, nothing), nested=True)["meta"]["examples"] == 3


@pytest.mark.parametrize("spans", [[[0, 4]], [{"start": 0, "end": 4}], {"start": [0], "end": [4]}, ((0, 4, "x"),)])
def test_the_first_batch_decides_nothing(load: Any, spans: Any) -> None:
    metric = load(average="micro")
    metric.add_batch(predictions=[[], []], references=[[], []])
    metric.add_batch(predictions=[spans], references=[[[0, 4]]])
    report = metric.compute(nested=True)
    assert report["meta"]["examples"] == 3
    assert report["exact_span"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}


def test_one_by_one(load: Any) -> None:
    metric = load(average="micro")
    metric.add(prediction=[[0, 4]], reference=[])
    metric.add(prediction=[], reference=[[2, 3]])
    assert len(metric) == 2
    assert metric.compute()["exact_span_f1"] == 0.0
    assert len(metric) == 0


def test_one_by_one_equals_at_once(load: Any) -> None:
    metric = load()
    for prediction, reference in zip(PREDICTIONS, REFERENCES, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute() == metric.compute(**batch(PREDICTIONS, REFERENCES))


@pytest.mark.parametrize("at_once", [0, 3, 100])
def test_rows_keep_their_order_over_blocks(load: Any, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycelium.hf.module._AT_ONCE", at_once)
    metric = load(invalid="drop")
    rows = [[[i, i + 1 + i % 3]] for i in range(10)]
    wrong = [[[i, i + 1]] if i else [[0, 0]] for i in range(10)]
    for i in range(0, 10, 2):
        metric.add_batch(predictions=wrong[i : i + 2], references=rows[i : i + 2])
    metric.add(prediction=[[5, 5]], reference=[])
    assert len(metric) == 11
    report = metric.compute(nested=True)
    # row i shares 1 of 1 + i % 3 characters; the first loses its span, the last pair is empty
    shares = [0.0, *(1 / (1 + i % 3) for i in range(1, 10)), 1.0]
    assert [a / b for a, b in report.statistics("iou").tolist() if b] == shares[:-1]
    assert report.invalid == mycelium.InvalidCounts(rows=2, dropped=2)


def test_types_and_scores_survive(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def watch(**sides: Any) -> mycelium.Report:
        seen.update(sides)
        return mycelium.evaluate(**sides)

    monkeypatch.setattr("mycelium.hf.module.score", watch)
    metric = load()
    typed = [{"start": 20, "end": 25, "type": "baseless"}, {"start": 0, "end": 5, "type": "conflict", "prob": 0.25}]
    metric.add_batch(predictions=[[[0, 5]]], references=[typed])
    metric.add_batch(predictions=[[[0, 5]]], references=[[[1, 2]]])
    metric.compute()
    expected = mycelium.as_spans([typed, [[1, 2]]])
    assert seen["references"].equals(expected)
    assert seen["references"].label.tolist() == ["baseless", "conflict", None]
    assert seen["predictions"].label is None


# -- what is refused


def test_errors_name_the_row(load: Any) -> None:
    metric = load()
    with pytest.raises(ValueError, match=r"predictions: 1 invalid span in 1 row: row 1, span 0 \[6, 4\]: reversed"):
        metric.compute(predictions=[[], [[6, 4]]], references=[[], []])
    with pytest.raises(TypeError, match=r"references: row 0, span 0 \[0, 3\.7\]") as caught:
        metric.add_batch(predictions=[[]], references=[[[0, 3.7]]])
    assert "rows are numbered" not in str(caught.value)
    with pytest.raises(ValueError, match="references: 1 row without annotation"):
        metric.add_batch(predictions=[[], []], references=[[], None])
    assert len(metric) == 0


def test_later_errors_say_where_rows_are_counted_from(load: Any) -> None:
    metric = load()
    metric.add_batch(predictions=[[], []], references=[[], []])
    within = r"row 0, span 0 \[6, 4\].*\(rows are numbered within this call; 2 were added before\)"
    with pytest.raises(ValueError, match=within):
        metric.add(prediction=[[6, 4]], reference=[])
    with pytest.raises(ValueError, match=within):
        metric.add_batch(predictions=[[[6, 4]]], references=[[]])
    with pytest.raises(ValueError, match=within):
        metric.compute(predictions=[[[6, 4]]], references=[[]])


@pytest.mark.parametrize(("predictions", "references"), [(3, 2), (2, 3)])
def test_numbers_of_rows_must_agree(load: Any, predictions: int, references: int) -> None:
    metric = load("texts")
    message = f"references has {references}, predictions has {predictions}"
    with pytest.raises(ValueError, match=message):
        load().compute(predictions=[[]] * predictions, references=[[]] * references)
    with pytest.raises(ValueError, match="references has 2 rows, text has 3"):
        metric.compute(predictions=[[]] * 2, references=[[]] * 2, text=["a"] * 3)


@pytest.mark.parametrize(
    ("call", "columns", "hint"),
    [
        ("add", {"predictions": [[0, 4]], "references": [[0, 4]]}, "did you mean 'prediction'?"),
        ("add", {"references": [[0, 4]]}, "did you mean 'reference'?"),
        ("add", {"prediction": [[0, 4]], "references": [[0, 4]]}, "did you mean 'reference'?"),
        ("add_batch", {"prediction": [[[0, 4]]], "reference": [[[0, 4]]]}, "did you mean 'predictions'?"),
        ("add_batch", {"predictions": [[[0, 4]]], "reference": [[[0, 4]]]}, "did you mean 'references'?"),
        ("compute", {"predictions": [[[0, 4]]], "reference": [[[0, 4]]]}, "did you mean 'references'?"),
        ("compute", {"predictions": [[]], "references": [[]], "averag": "micro"}, "did you mean 'average'?"),
        ("compute", {"predictions": [[]], "references": [[]], "text": ["a"]}, "no column or option 'text'"),
        ("add_batch", {"predictions": [[]], "references": [[]], "average": "micro"}, "no column 'average'"),
        ("add", {"prediction": []}, "reference must be given"),
        ("add_batch", {"references": [[]]}, "predictions must be given"),
        ("add_batch", {}, "predictions and references must be given"),
        ("compute", {"references": [[]]}, "predictions must be given"),
    ],
)
def test_slips(load: Any, call: str, columns: dict[str, Any], hint: str) -> None:
    metric = load()
    with pytest.raises(TypeError, match=re.escape(hint)):
        getattr(metric, call)(**columns)
    assert len(metric) == 0


def test_a_typo_at_load_names_the_options(load: Any) -> None:
    with pytest.raises(TypeError, match=r"'profil', did you mean 'profile'\?.*span_coverage_delta"):
        load(profil="ragtruth")
    with pytest.raises(TypeError, match="no option 'beam'"):
        load(beam=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "rag"}, "profile must be one of"),
        ({"average": "median"}, "average must be one of"),
        ({"metrics": ["f1"]}, "there is no metric 'f1'"),
        ({"undefined": 0.5}, "undefined must be"),
        ({"deteval_recall_threshold": 80}, "deteval_recall_threshold"),
        ({"invalid": "ignore"}, "invalid must be one of"),
        ({"metrics": ["soft_correlation"]}, 'config_name="soft"'),
        ({"offsets": "utf16"}, 'config_name="texts"'),
    ],
)
def test_values_are_checked_at_load_and_at_compute(load: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(**options)
    metric = load()
    metric.add(prediction=[], reference=[])
    with pytest.raises(ValueError, match=message):
        metric.compute(**options)
    assert metric.compute()["iou"] == 1.0


def test_configurations_are_checked(load: Any) -> None:
    with pytest.raises(ValueError, match=r"config_name must be one of 'default', .*'typed_texts', got 'mu_shroom'"):
        load("mu_shroom")
    with pytest.raises(ValueError, match="no metric reads the columns"):
        load("soft", metrics=["iou"])


def test_there_must_be_examples(load: Any) -> None:
    metric = load()
    with pytest.raises(ValueError, match="there are no examples"):
        metric.compute()
    metric.add_batch(predictions=[], references=[])
    with pytest.raises(ValueError, match="no examples"):
        metric.compute()
    with pytest.raises(ValueError, match="no examples"):
        metric.compute(predictions=[], references=[])


# -- options


WIDE = batch([[[0, 6]], []], [[[0, 10]], [[3, 4]]])


@pytest.mark.parametrize(
    ("options", "key", "default", "changed"),
    [
        # 6 of 10 and 0 of 1 characters
        ({"average": "micro"}, "iou", 0.3, 6 / 11),
        ({"profile": "ragtruth"}, "iou", 0.3, 6 / 11),
        # 0.6 of the reference is covered, 0.8 are asked for
        ({"deteval_recall_threshold": 0.5}, "deteval_1d_recall", 0.0, 0.5),
        # nothing is predicted in the second example
        ({"undefined": 0.0}, "cleval_1d_precision", 1.0, 0.5),
    ],
)
def test_options_hold(
    evaluate: ModuleType, load: Any, options: dict[str, Any], key: str, default: float, changed: float
) -> None:
    at_load = load(**options)
    assert at_load.compute(**WIDE)[key] == changed
    at_load.add_batch(**WIDE)
    assert at_load.compute()[key] == changed
    assert evaluate.combine([at_load]).compute(**WIDE)[key] == changed
    for_once = load()
    assert for_once.compute(**WIDE, **options)[key] == changed
    assert for_once.compute(**WIDE)[key] == default
    for_once.add_batch(**WIDE)
    assert for_once.compute(**options)[key] == changed
    assert evaluate.combine([for_once]).compute(**WIDE, **options)[key] == changed


def test_options_at_compute_go_before_those_of_load(load: Any) -> None:
    metric = load(average="micro", undefined=0.0)
    result = metric.compute(**WIDE, average="macro")
    assert result["iou"] == 0.3
    assert result["cleval_1d_precision"] == 0.5


def test_leniency_is_counted(load: Any) -> None:
    metric = load(invalid="drop", missing_rows="empty")
    metric.add_batch(predictions=[[[-1, -1], [0, 4]], None], references=[[[0, 4]], []])
    metric.add(prediction=[[7, 7]], reference=None)
    report = metric.compute(nested=True)
    assert report.invalid == mycelium.InvalidCounts(rows=2, dropped=2, clipped=0, missing=2)
    assert report["iou"]["score"] == 1.0
    assert "invalid:drop" in report.signature
    assert metric.compute(predictions=[[]], references=[[]], nested=True).invalid == mycelium.InvalidCounts()


def test_reading_options_act_on_the_rows_of_the_call(load: Any) -> None:
    metric = load()
    rows = batch([[[5, 5], [0, 4]]], [[[0, 4]]])
    assert metric.compute(**rows, invalid="drop")["exact_span_f1"] == 1.0
    with pytest.raises(ValueError, match="empty"):
        metric.compute(**rows)
    metric.add_batch(predictions=[[]], references=[[]])
    with pytest.raises(ValueError, match=r"invalid='drop' comes too late.*invalid='raise'.*give them at load"):
        metric.compute(invalid="drop")
    # the rows are still there
    assert metric.compute(nested=True)["meta"]["examples"] == 1


def test_inclusive_ends_and_what_is_a_batch_already(load: Any) -> None:
    metric = load(end="inclusive", metrics=["exact_span"])
    result = metric.compute(predictions=mycelium.as_spans([[[0, 4]]]), references=[[[0, 3]]])
    assert result["exact_span_f1"] == 1.0


# -- configurations


def test_texts_bound_the_spans(load: Any) -> None:
    metric = load("texts")
    with pytest.raises(ValueError, match=r"row 1, span 0 \[0, 5\]: past the end of the text \(4 characters\)"):
        metric.add_batch(predictions=[[], [[0, 5]]], references=[[], []], text=["", "fact"])
    metric.add_batch(predictions=[[], [[0, 2]]], references=[[], [[0, 4]]], text=["", "fact"])
    metric.add(prediction=[[0, 1]], reference=[[0, 1]], text="🙂")
    assert metric.compute()["iou"] == (1 + 0.5 + 1) / 3
    with pytest.raises(TypeError, match="'texts', did you mean 'text'"):
        metric.add_batch(predictions=[[]], references=[[]], texts=["a"])
    with pytest.raises(TypeError, match="text must be given"):
        metric.compute(predictions=[[]], references=[[]])
    lenient = load("texts", invalid="clip")
    report = lenient.compute(predictions=[[[2, 9]]], references=[[[2, 4]]], text=["fact"], nested=True)
    assert report["exact_span"]["f1"] == 1.0
    assert report.invalid.clipped == 1


def test_lengths_that_a_batch_knows_bound_the_other_side(load: Any) -> None:
    references = mycelium.as_spans([[[0, 4]]], text=["fact"])
    with pytest.raises(ValueError, match="past the end of the text"):
        load().compute(predictions=[[[0, 5]]], references=references)


def test_other_units(load: Any) -> None:
    metric = load("texts", offsets="utf16")
    result = metric.compute(
        predictions=mycelium.as_spans([[[2, 5]]]), references=[[[3, 6]]], text=["🙂 bad fact"], nested=True
    )
    assert result["exact_span"]["f1"] == 1.0
    assert "offsets:utf16" in result.signature


def test_a_text_that_is_no_unicode(load: Any) -> None:
    # half an emoji, as truncated JSON holds it
    assert load("texts").compute(predictions=[[[0, 2]]], references=[[[0, 2]]], text=["a\ud83d"])["iou"] == 1.0


SOFT = {
    "predictions": [[[0, 2]], []],
    "references": [[[0, 2]], []],
    "text": ["abcd", "abc"],
    "soft_predictions": [[{"start": 0, "end": 2, "prob": 0.9}], []],
    "soft_references": [[{"start": 0, "end": 2, "prob": 0.6}], [{"start": 0, "end": 1, "prob": 0.5}]],
}


def test_soft_labels(load: Any) -> None:
    metric = load("soft")
    result = metric.compute(**SOFT)
    assert list(result) == [*KEYS, "soft_correlation"]
    # the first pair ranks alike; of the second one side is constant
    assert result["soft_correlation"] == 0.5
    metric.add_batch(**SOFT)
    metric.add(prediction=[], reference=[], **{k: SOFT[k][1] for k in ("text", "soft_predictions", "soft_references")})
    assert metric.compute(metrics="soft_correlation") == {"soft_correlation": pytest.approx(1 / 3, abs=1e-15)}
    with pytest.raises(ValueError, match=r"soft_references: 1 spans? without a probability.*row 0"):
        metric.add_batch(**{**SOFT, "soft_references": [[[0, 2]], []]})


# -- the life of a module


def test_save(evaluate: ModuleType, load: Any, tmp_path: Path) -> None:
    result = load().compute(**WIDE)
    file = evaluate.save(tmp_path / "result.json", **result)
    saved = json.loads(Path(file).read_text())
    assert {key: saved[key] for key in KEYS} == result


def test_combine(evaluate: ModuleType, load: Any) -> None:
    macro, micro = load(metrics=["iou"]), load(metrics=["iou"], average="micro")
    both = evaluate.combine({"macro": macro, "micro": micro}, force_prefix=True)
    expected = {"macro_iou": 0.3, "micro_iou": 6 / 11}
    assert both.compute(**WIDE) == expected
    both.add_batch(**WIDE)
    assert both.compute() == expected
    for prediction, reference in zip(WIDE["predictions"], WIDE["references"], strict=True):
        both.add(prediction=prediction, reference=reference)
    assert both.compute() == expected


def test_two_side_by_side(load: Any) -> None:
    one, other = load(metrics=["iou"]), load(metrics=["iou"])
    one.add_batch(predictions=[[[0, 1]]], references=[[[0, 2]]])
    other.add_batch(predictions=[[[0, 1]]], references=[[[0, 4]]])
    one.add_batch(predictions=[[]], references=[[]])
    assert (other.compute()["iou"], one.compute()["iou"]) == (0.25, 0.75)


def test_in_memory(load: Any) -> None:
    metric = load(keep_in_memory=True)
    metric.add_batch(**WIDE)
    assert metric.compute() == load().compute(**WIDE) == metric.compute(**WIDE)
    with pytest.raises(ValueError, match="no examples"):
        metric.compute(predictions=[], references=[])
    assert metric.compute(**WIDE)["iou"] == 0.3


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies(load: Any, kept_in: str, copied: Any) -> None:
    metric = load("texts", average="micro")
    sides = {**WIDE, "text": ["0123456789", "abcd"]}
    for _ in range(2):  # fresh, and used
        other = copied(metric)
        assert other.signature == metric.signature
        assert other.compute(**sides)["iou"] == metric.compute(**sides)["iou"] == 6 / 11
    metric.add_batch(**sides)
    if kept_in == "file":
        with pytest.raises(TypeError, match="compute before pickling"):
            copied(metric)
    else:
        assert copied(metric).compute()["iou"] == 6 / 11
    assert metric.compute()["iou"] == 6 / 11


def test_use_after_errors(load: Any, tmp_path: Path) -> None:
    metric = load(metrics=["iou"])
    metric.add_batch(**WIDE)
    with pytest.raises(ValueError, match="reversed"):
        metric.add_batch(predictions=[[], [[4, 2]]], references=[[], []])
    with pytest.raises(ValueError, match="reversed"):
        metric.compute(predictions=[[[4, 2]]], references=[[]])
    assert metric.compute()["iou"] == 0.3
    for _ in range(2):
        with pytest.raises(ValueError, match="no examples"):
            metric.compute(predictions=[], references=[])
        assert metric.compute(**WIDE)["iou"] == 0.3
    assert not list(tmp_path.rglob("*.arrow"))


def test_an_error_while_scoring_leaves_nothing(
    load: Any, kept_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = load(metrics=["iou"])

    def broken(**_: Any) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr("mycelium.hf.module.score", broken)
        with pytest.raises(RuntimeError):
            metric.compute(**WIDE)
    assert len(metric) == 0
    assert not list(tmp_path.rglob("*.arrow"))
    metric.add_batch(**WIDE)
    # the lock is free: the same file is taken again at once
    written = ["default_experiment-1-0.arrow"] if kept_in == "file" else []
    assert [path.name for path in tmp_path.rglob("*.arrow")] == written
    assert metric.compute()["iou"] == 0.3


def test_the_documentation_of_the_module(load: Any, capsys: pytest.CaptureFixture[str]) -> None:
    metric = load()
    assert metric.name == "mycelium"
    assert metric.module_type == "metric"
    assert list(metric.features) == ["predictions", "references"]
    assert list(load("soft").features) == ["predictions", "references", "text", "soft_references", "soft_predictions"]
    assert "nested" in metric.compute.__doc__
    code = re.findall(r"^    >>> (.*)$", metric.inputs_description, re.MULTILINE)
    names: dict[str, Any] = {}
    exec("\n".join(code[:-1]), names)
    shown = metric.inputs_description.rstrip().split("\n")[-1].strip()
    assert repr(eval(code[-1], names)) == shown
