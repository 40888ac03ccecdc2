"""The evaluate module with typed spans, and the evaluator: the numbers of evaluate_typed."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hf_host import host
from typed_rows import TYPES, records, typed_rows

import mycelium
from mycelium import hf
from mycelium.typed import TypedReport, evaluate_typed

pytest.importorskip("evaluate")

REFERENCES, PREDICTIONS = typed_rows(60)
RULES: dict[str, Any] = {
    "average": "macro",
    "overlap_credit": 0.25,
    "min_overlap": 0.3,
    "overlap_base": "prediction",
    "absent_types": "zero",
    "undefined": 0.0,
}


@pytest.fixture(scope="module")
def evaluate() -> ModuleType:
    return host()


@pytest.fixture(params=["memory", "file"])
def load(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, evaluate: ModuleType, tmp_path: Path) -> Any:
    """Load the module; rows wait in memory, or for "file" in a file, as large ones do."""
    if request.param == "file":
        monkeypatch.setattr("mycelium.hf.module._AT_ONCE", 0)

    def load(config: str = "typed", **options: Any) -> Any:
        return evaluate.load(hf.path(), config, cache_dir=str(tmp_path), **options)

    return load


def whole(**options: Any) -> dict[str, float]:
    return evaluate_typed(references=REFERENCES, predictions=PREDICTIONS, **options).flat()


# -- the numbers


@pytest.mark.parametrize("options", [{}, {"types": TYPES}, {"types": TYPES, **RULES}])
def test_the_numbers_of_evaluate_typed(load: Any, options: dict[str, Any]) -> None:
    metric = load(**options)
    for begin in range(0, 60, 25):
        rows = slice(begin, begin + 25)
        metric.add_batch(predictions=PREDICTIONS[rows], references=REFERENCES[rows])
    assert metric.compute() == whole(**options)


def test_keys_are_the_same_each_time(load: Any) -> None:
    metric = load(types=["A", "B"])
    expected = [f"{key}_{o}" for key in ("strict", "strict_typed", "partial", "typed_partial", "character",
                                         "by_type.A", "by_type.B", "macro", "weighted") for o in
                ("precision", "recall", "f1")]  # fmt: skip
    expected += [f"valid_cases_{share}" for share in ("clean", "caught", "localised")]
    for rows in ([[]], [[[0, 4, "A"]]], [[[0, 4, "B"], [0, 4, "B"]], []]):
        result = metric.compute(predictions=rows, references=[[] for _ in rows])
        assert list(result) == expected
        assert all(type(value) is float for value in result.values())
        json.dumps(result, allow_nan=False)


def test_forms_of_typed_spans(load: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("datasets")
    pd = pytest.importorskip("pandas")
    columns = [
        {
            name: [span[i] for span in row]
            for i, name in enumerate(("start", "end", "label"))
        }
        for row in REFERENCES
    ]  # fmt: skip
    forms = {
        "lists": REFERENCES,
        "tuples": [[tuple(span) for span in row] for row in REFERENCES],
        "dicts": records(REFERENCES),
        "other key": records(REFERENCES, "label_type"),
        "dicts of columns": columns,
        "arrow": pa.array(records(REFERENCES)),
        "dataset": datasets.Dataset.from_dict({"gold": records(REFERENCES)})["gold"],
        "series": pd.Series(REFERENCES),
        "spans": mycelium.as_spans(REFERENCES),
    }
    metric = load(types=TYPES)
    for name, form in forms.items():
        assert metric.compute(references=form, predictions=PREDICTIONS) == whole(types=TYPES), name


def test_one_example_at_a_time(load: Any) -> None:
    metric = load(types=TYPES)
    for reference, prediction in zip(REFERENCES, PREDICTIONS, strict=True):
        metric.add(reference=reference, prediction=prediction)
    assert metric.compute() == whole(types=TYPES)


def test_the_nested_report(load: Any) -> None:
    metric = load(types=TYPES)
    report = metric.compute(predictions=PREDICTIONS, references=REFERENCES, nested=True)
    assert isinstance(report, TypedReport)
    assert report == evaluate_typed(predictions=PREDICTIONS, references=REFERENCES, types=TYPES)
    assert report.signature == metric.signature
    assert report.confusion_matrix().shape == (4, 4)


def test_options_at_compute_hold_for_one_call(load: Any) -> None:
    metric = load(types=TYPES)
    given = {"predictions": PREDICTIONS, "references": REFERENCES}
    for name, value in RULES.items():
        assert metric.compute(**given, **{name: value}) == whole(types=TYPES, **{name: value}), name
    assert metric.compute(**given, types=TYPES[::-1]) == whole(types=TYPES[::-1])
    assert metric.compute(**given) == whole(types=TYPES)
    assert metric.compute(**given, types=None) == whole()


def test_none_is_the_default(load: Any) -> None:
    given = {"predictions": PREDICTIONS, "references": REFERENCES}
    assert load(types=None, average=None).compute(**given) == whole()
    # Of these None is a value: each measure has its own.
    assert load(undefined=None).compute(predictions=[[]], references=[[]])["character_f1"] == 0.0


def test_types_left_out(load: Any) -> None:
    metric = load(types=TYPES[:2], unknown_types="ignore")
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    report = metric.compute(nested=True)
    expected = evaluate_typed(references=REFERENCES, predictions=PREDICTIONS, types=TYPES[:2], unknown_types="ignore")
    assert report == expected
    assert report["meta"]["ignored"]["references"] == sum(s[2] == TYPES[2] for row in REFERENCES for s in row)


def test_combined_with_another_module(load: Any, evaluate: ModuleType) -> None:
    both = evaluate.combine(
        {"half": load(types=TYPES), "full": load(types=TYPES, overlap_credit=1.0)}, force_prefix=True
    )
    both.add_batch(predictions=PREDICTIONS[:20], references=REFERENCES[:20])
    both.add(predictions=PREDICTIONS[20], references=REFERENCES[20])
    found = both.compute(predictions=PREDICTIONS[21:], references=REFERENCES[21:])
    for prefix, options in (("half", {}), ("full", {"overlap_credit": 1.0})):
        for name, value in whole(types=TYPES, **options).items():
            assert found[f"{prefix}_{name}"] == value


def test_copies_and_pickles_keep_the_options(load: Any) -> None:
    metric = load(types=TYPES, **RULES)
    for other in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert other.signature == metric.signature
        assert other.compute(predictions=PREDICTIONS, references=REFERENCES) == whole(types=TYPES, **RULES)


# -- texts


def test_texts_bound_the_spans(load: Any) -> None:
    metric = load("typed_texts", types=["A"], offsets="utf16")
    found = metric.compute(predictions=[[[0, 2, "A"]]], references=[[[0, 3, "A"]]], text=["🙂b"])
    assert found["typed_partial_f1"] == 0.5
    assert found["character_recall"] == 0.5  # one of two characters, not two of three units
    with pytest.raises(ValueError, match="past the end"):
        metric.compute(predictions=[[[0, 9, "A"]]], references=[[]], text=["🙂b"])
    with pytest.raises(ValueError, match='config_name="typed_texts"'):
        load(types=["A"], offsets="utf16")


# -- refusals


def test_rows_are_checked_when_they_are_added(load: Any) -> None:
    metric = load(types=TYPES)
    metric.add_batch(predictions=PREDICTIONS[:5], references=REFERENCES[:5])
    with pytest.raises(ValueError, match=r"reads types; predictions: 1 span without a type; the first is row 0"):
        metric.add_batch(predictions=[[[0, 4]]], references=[[]])
    with pytest.raises(ValueError, match=r"references: 1 span with unknown types \('X'\).*row 1, .*5 were added"):
        metric.add_batch(predictions=[[], []], references=[[], [[0, 4, "X"]]])
    metric.add_batch(predictions=PREDICTIONS[5:], references=REFERENCES[5:])
    assert metric.compute() == whole(types=TYPES)


def test_options_are_checked_at_load_and_at_compute(load: Any) -> None:
    with pytest.raises(ValueError, match="no list named 'casual'"):
        load(types="casual")
    with pytest.raises(ValueError, match="unknown_types must be one of 'raise', 'ignore', got 'drop'"):
        load(unknown_types="drop")
    with pytest.raises(ValueError, match="overlap_base must be one of"):
        load(overlap_base="references")
    with pytest.raises(TypeError, match=r"there is no option 'metrics' \(known: types, average"):
        load(metrics=["iou"])
    with pytest.raises(TypeError, match="there is no option 'types'"):
        load("default", types=TYPES)
    metric = load(types=TYPES)
    with pytest.raises(TypeError, match="there is no column or option 'min_overlaps', did you mean 'min_overlap'"):
        metric.compute(predictions=[[]], references=[[]], min_overlaps=0.5)
    with pytest.raises(ValueError, match="overlap_credit"):
        metric.compute(predictions=[[]], references=[[]], overlap_credit=2)


def test_other_configurations_take_typed_metrics(load: Any) -> None:
    keys = ["strict", "typed_partial", "partial(overlap_credit=1.0)", "valid_cases"]
    found = load("default", metrics=keys).compute(predictions=PREDICTIONS, references=REFERENCES)
    assert found == mycelium.evaluate(references=REFERENCES, predictions=PREDICTIONS, metrics=keys).flat()


# -- the evaluator


def test_an_evaluator_of_typed_spans() -> None:
    data = {"text": ["Rome has 3 hills.", "None here.", "7 and x"], "spans": [[[9, 10, "digit"]], [], [[0, 7, "word"]]]}

    def detector(text: str) -> Any:
        return [[i, i + 1, "digit"] for i, character in enumerate(text) if character.isdigit()]

    report = hf.SpanEvaluator(types=["digit", "word"], overlap_credit=0.25).compute(detector, data)
    predictions = [[[9, 10, "digit"]], [], [[0, 1, "digit"]]]
    expected = evaluate_typed(
        references=data["spans"], predictions=predictions, types=["digit", "word"], overlap_credit=0.25
    )
    assert report == expected
    assert isinstance(report, TypedReport)
    assert report.predictions.tolist() == [[[9, 10]], [], [[0, 1]]]
    assert report["partial"]["f1"] == 1.25 / 2
    assert report["typed_partial"]["f1"] == 0.5
    assert report.by(["a", "b", "b"])["b"]["strict"] == expected.by(["a", "b", "b"])["b"]["strict"]
    with pytest.raises(TypeError, match="there is no option 'metrics'"):
        hf.SpanEvaluator(types=["digit"], metrics=["iou"])
    with pytest.raises(ValueError, match="without a type"):
        hf.SpanEvaluator(types=["digit"]).compute(lambda text: np.array([[0, 1]]), {"text": ["a"], "spans": [[]]})
