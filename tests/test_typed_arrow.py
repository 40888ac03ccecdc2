"""Typed spans where the data is: states by group, tables of statistics, and the settings that travel with them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from typed_rows import TYPES, records, typed_rows

import mycelium
from mycelium import metrics
from mycelium.accumulators import accumulator, options_of, result_names
from mycelium.states import count, count_groups, settled
from mycelium.typed import TypedAccumulator, evaluate_typed

pa = pytest.importorskip("pyarrow")

from mycelium import arrow  # noqa: E402

N = 120
REFERENCES, PREDICTIONS = typed_rows(N)
LANGUAGES = [["en", "fi", None][i % 3] for i in range(N)]
#: Every rule, away from its default.
RULES: dict[str, Any] = {
    "average": "macro",
    "overlap_credit": 0.25,
    "min_overlap": 0.3,
    "overlap_base": "union",
    "absent_types": "zero",
    "undefined": 0.0,
}


@pytest.fixture(scope="module")
def table() -> Any:
    return pa.table({"gold": records(REFERENCES), "found": records(PREDICTIONS, "label_type"), "lang": LANGUAGES})


def statistics(batch: Any, **options: Any) -> Any:
    return arrow.statistics(batch, references="gold", predictions="found", **options)


def whole(**options: Any) -> Any:
    return evaluate_typed(references=REFERENCES, predictions=PREDICTIONS, **options)


# -- states by group


@pytest.mark.parametrize("options", [{}, RULES, {"average": "macro", "undefined": None}])
@pytest.mark.parametrize("weighted", [False, True])
def test_states_of_groups_are_those_of_their_rows_alone(options: dict[str, Any], weighted: bool) -> None:
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 9, N)
    order, sizes = np.argsort(groups, kind="stable"), np.bincount(groups)
    scores = TypedAccumulator(types=TYPES, **options)
    columns: dict[str, Any] = {"references": REFERENCES, "predictions": PREDICTIONS}
    if weighted:
        columns["sample_weight"] = rng.integers(0, 4, N).tolist()
    states = count_groups(scores, columns, order, sizes)
    for group, state in enumerate(states):
        rows = np.flatnonzero(groups == group).tolist()
        alone = TypedAccumulator(types=TYPES, **options)
        alone.update(**{name: [column[i] for i in rows] for name, column in columns.items()})
        assert np.array_equal(state, alone.state())
    total = states.sum(axis=0, keepdims=True)
    assert np.array_equal(settled(scores, total)[0], count(scores, columns))


def test_ignored_spans_are_counted_in_their_group() -> None:
    # The third type is unknown: one reference of it in the first group, two predictions in the second.
    references = [[[0, 4, "A"], [5, 6, "C"]], [[0, 4, "B"]], []]
    predictions = [[], [[0, 4, "C"]], [[1, 2, "C"], [7, 9, "A"]]]
    scores = TypedAccumulator(types=["A", "B"], unknown_types="ignore")
    columns = {"references": references, "predictions": predictions}
    states = count_groups(scores, columns, np.array([0, 2, 1]), np.array([1, 2]))
    assert states[:, -2:].tolist() == [[1, 0], [0, 2]]
    scores.reset()
    scores.add_state(states.sum(axis=0))
    report = scores.compute()
    assert report["meta"]["ignored"] == {"references": 1, "predictions": 2}
    assert report["strict"]["references"] == 2
    assert report["strict"]["predictions"] == 1


def test_numbers_too_large_for_doubles_are_counted_one_by_one() -> None:
    rows = [[[0, 1 << 52, "A"]], [[0, 3, "A"], [5, (1 << 52) + 5, "B"]], []]
    scores = TypedAccumulator(types=["A", "B", "C"], unknown_types="ignore")
    columns = {"references": rows, "predictions": rows[::-1]}
    states = count_groups(scores, columns, np.array([0, 1, 2]), np.array([2, 1]))
    scores.reset()
    scores.add_state(states.sum(axis=0))
    report = evaluate_typed(references=rows, predictions=rows[::-1], types=["A", "B", "C"], unknown_types="ignore")
    assert scores.compute() == report


# -- tables


@pytest.mark.parametrize("options", [{}, RULES])
def test_the_bits_of_evaluate_typed(table: Any, options: dict[str, Any]) -> None:
    report = whole(types=TYPES, **options)
    for size in (1, 7, N):
        parts = [statistics(batch, types=TYPES, **options) for batch in table.to_batches(max_chunksize=size)]
        found = arrow.report(arrow.merge(parts))
        assert json.dumps(found) == json.dumps(report)
        assert found.signature == report.signature


def test_lists_with_labels_have_no_arrow_form(table: Any) -> None:
    """Lists of two kinds of things fit into no column; structs do, whatever their label is called."""
    with pytest.raises(pa.ArrowInvalid):
        pa.array([[[0, 4, "A"]]])
    columns = {
        name: pa.array(rows) for name, rows in (("gold", records(REFERENCES, "type")), ("found", table["found"]))
    }
    assert arrow.report(statistics(pa.table(columns), types=TYPES)) == whole(types=TYPES)


@pytest.mark.parametrize("options", [{}, RULES])
def test_slices_by_a_column(table: Any, options: dict[str, Any]) -> None:
    counted = statistics(table, by="lang", types=TYPES, **options)
    assert len(counted) == 3
    found = arrow.report(counted, by="lang")
    expected = whole(types=TYPES, **options).by(LANGUAGES)
    assert found.keys() == expected.keys()
    for value, report in expected.items():
        assert json.dumps(found[value]) == json.dumps(report), value


def test_leniency_and_unknown_types_are_counted_by_slice() -> None:
    gold = [[{"start": 0, "end": 4, "label": "A"}, {"start": 5, "end": 5, "label": "B"}], [], []]
    found = [[], [{"start": 2, "end": 3, "label": "X"}], []]
    batch = pa.table({"gold": gold, "found": found, "lang": ["en", "fi", "en"]})
    counted = statistics(batch, by="lang", types=["A", "B"], invalid="drop", unknown_types="ignore")
    reports = arrow.report(counted, by="lang")
    assert [report.invalid.dropped for report in reports.values()] == [1, 0]
    assert [report["meta"]["ignored"]["predictions"] for report in reports.values()] == [0, 1]
    assert arrow.report(counted)["meta"]["ignored"] == {"references": 0, "predictions": 1}


def test_settings_travel_with_the_numbers(table: Any) -> None:
    one = statistics(table, types=TYPES)
    text = one.column("mycelium")[0].as_py()
    assert json.loads(text)["types"] == TYPES
    with pytest.raises(ValueError, match=r"different settings cannot be added: .*types:.*base:reference.*base:union"):
        arrow.merge([one, statistics(table, types=TYPES, overlap_base="union")])
    with pytest.raises(ValueError, match="different settings"):
        arrow.merge([one, statistics(table, types=TYPES[::-1])])
    lost = one.drop_columns(["mycelium"])
    assert arrow.report(lost, types=TYPES) == arrow.report(one)


def test_a_named_list_is_its_types(table: Any) -> None:
    gold = records([[[0, 4, "CONTRA"]]])
    batch = pa.table({"gold": gold, "found": gold})
    named, spelt = (statistics(batch, types=t) for t in ("causal", list(mycelium.typed.TYPES["causal"])))
    assert named == spelt
    assert "types:causal|" in arrow.report(named).signature


def test_registered_metrics_need_no_list_of_types(table: Any) -> None:
    keys = ["strict", "strict_typed", "partial(overlap_credit=1.0)", "typed_partial", "valid_cases", "muc_type"]
    found = arrow.report(statistics(table, metrics=keys))
    assert found == mycelium.evaluate(references=REFERENCES, predictions=PREDICTIONS, metrics=keys)


# -- refusals


def test_what_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"column 'gold': \d+ spans? with unknown types \('none of it'\)"):
        statistics(table, types=TYPES[:2])
    with pytest.raises(ValueError, match=r"column 'gold'.*unknown types"):
        statistics(table, types=TYPES[:2], by="lang")
    with pytest.raises(TypeError, match="overlap_credit is an option of typed spans: give types too"):
        statistics(table, overlap_credit=1.0)
    with pytest.raises(TypeError, match="metrics is no option of typed spans"):
        statistics(table, types=TYPES, metrics=["iou"])
    with pytest.raises(TypeError, match=r"there is no option 'overlap_credits', did you mean 'overlap_credit'\?"):
        statistics(table, types=TYPES, overlap_credits=1.0)
    with pytest.raises(ValueError, match="no list named 'casual'"):
        statistics(table, types="casual")
    bare = pa.table({"gold": [[[0, 4]]], "found": [[[0, 4]]]})
    with pytest.raises(ValueError, match=r"column 'gold': 1 span without a type; the first is row 0, span 0 \[0, 4\]"):
        statistics(bare, types=TYPES)


# -- options


@pytest.mark.parametrize("options", [{}, RULES, {"invalid": "clip", "missing_rows": "empty", "end": "inclusive"}])
def test_options_survive_being_written(options: dict[str, Any]) -> None:
    scores = accumulator(types=TYPES, **options)
    written = json.loads(json.dumps(options_of(scores)))
    assert accumulator(**written).settings == scores.settings
    assert written == {"types": TYPES, **options}


def test_names_of_results() -> None:
    assert result_names(accumulator(types=TYPES)) == list(whole(types=TYPES).flat())
    assert result_names(accumulator(types=TYPES, unknown_types="ignore", average="macro")) == list(
        whole(types=TYPES).flat()
    )
    assert len(result_names(accumulator())) == len(metrics.DEFAULT) * 3 - 2


# -- engines


@pytest.mark.parametrize("options", [{}, RULES])
def test_datasets_and_polars(table: Any, options: dict[str, Any]) -> None:
    datasets = pytest.importorskip("datasets")
    polars = pytest.importorskip("polars")
    datasets.disable_progress_bars()
    report = whole(types=TYPES, **options)
    data = datasets.Dataset(table).shuffle(seed=2)
    mapped = data.with_format("arrow").map(
        arrow.statistics,
        batched=True,
        batch_size=50,
        fn_kwargs={"references": "gold", "predictions": "found", "types": TYPES, **options},
        remove_columns=data.column_names,
    )
    assert arrow.report(arrow.merge(mapped)) == report
    frames = polars.from_arrow(table).iter_slices(33)
    assert arrow.report(arrow.merge(statistics(frame, types=TYPES, **options) for frame in frames)) == report
