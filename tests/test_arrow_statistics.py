"""Statistics as Arrow tables: what goes in, what comes out, and that cutting the rows changes nothing."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from samples import random_batch

import mycelium

pa = pytest.importorskip("pyarrow")

from mycelium import arrow  # noqa: E402

GOLD = [[[0, 10]], [[4, 7]], [], [[0, 4]]]
FOUND = [[[2, 8]], [[4, 7]], [[1, 2]], []]
#: Characters in both masks over characters in either, row by row.
IOU = [0.6, 1.0, 0.0, 0.0]
TASKS = ["qa", "sum", None, "qa"]
BATCH = {"references": GOLD, "predictions": FOUND, "task": TASKS, "year": [1, 1, 2, 2]}


def table(**columns: Any) -> Any:
    return pa.table({**BATCH, **columns})


def corpus(n: int = 200) -> Any:
    rng = random.Random(1)
    return pa.table(
        {**random_batch(n, seed=2), "lang": rng.choices(["en", "fi", None], k=n), "k": rng.choices(range(4), k=n)}
    )


def evaluated(rows: Any, **options: Any) -> mycelium.Report:
    return mycelium.evaluate(references=rows["references"], predictions=rows["predictions"], **options)


def test_one_row_of_named_integers() -> None:
    """Three characters too few of ten, and one row without either: six of ten and two examples in all."""
    rows = {"references": [[[0, 10]], []], "predictions": [[[2, 8]], []]}
    counted = arrow.statistics(pa.table(rows), metrics=["iou"], average="micro")
    (row,) = counted.to_pylist()
    settings = json.loads(row.pop("mycelium"))
    assert settings == {"metrics": ["iou"], "average": "micro", "version": mycelium.__version__}
    present = {name: value for name, value in row.items() if value}
    assert present == {"examples": 2, "weight.0": 2, "iou.intersection.0": 6, "iou.union.0": 10}
    assert list(row) == list(mycelium.Accumulator(metrics=["iou"], average="micro").state_names)
    assert {str(field.type) for field in counted.schema if field.name != "mycelium"} == {"int64"}
    assert arrow.report(counted)["iou"] == {"score": 0.6}


def test_groups_worked_out_by_hand() -> None:
    counted = arrow.statistics(table(), by="task", metrics=["iou"])
    assert dict(zip(counted["task"].to_pylist(), counted["examples"].to_pylist(), strict=True)) == {
        "qa": 2, "sum": 1, None: 1,
    }  # fmt: skip
    reports = arrow.report(counted, by="task")
    assert list(reports) == [None, "qa", "sum"]
    assert {task: part["iou"]["score"] for task, part in reports.items()} == {"qa": 0.3, "sum": 1.0, None: 0.0}
    assert arrow.report(counted)["iou"]["score"] == sum(IOU) / 4


def test_several_keys_and_any_of_them() -> None:
    rows = corpus()
    counted = arrow.statistics(rows, by=["lang", "k"])
    assert counted.column_names[:3] == ["lang", "k", "mycelium"]
    assert len(counted) == 12
    pairs = list(zip(rows["lang"].to_pylist(), rows["k"].to_pylist(), strict=True))
    whole = evaluated(rows)
    assert arrow.report(counted) == whole
    assert arrow.report(counted).signature == whole.signature
    assert arrow.report(counted, by=["lang", "k"]) == whole.by(pairs)
    assert arrow.report(counted, by="k") == whole.by(rows["k"].to_pylist())
    assert arrow.report(counted, by=("k",)) == whole.by([(k,) for _, k in pairs])
    with pytest.raises(ValueError, match=r"by: 'task' is no key of the statistics; their keys are lang, k"):
        arrow.report(counted, by="task")
    with pytest.raises(ValueError, match="their keys are none"):
        arrow.report(arrow.statistics(rows), by="k")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": "micro"},
        {"profile": "ragtruth", "metrics": ["character", "response"]},
        {"metrics": ["deteval_1d", "span_coverage(delta=2)"], "tolerance": 1e-9, "deteval_granularity_penalty": 0.3},
    ],
)
def test_cuts_and_order_change_nothing(options: dict[str, Any]) -> None:
    rows = corpus()
    for by in ((), ["lang"], ["k", "lang"]):
        whole = arrow.merge(arrow.statistics(rows, by=by, **options))
        rng = random.Random(3)
        for _ in range(3):
            cuts = sorted(rng.sample(range(len(rows)), 9))
            parts = [
                arrow.statistics(rows.slice(a, b - a), by=by, **options)
                for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)
            ]
            rng.shuffle(parts)
            assert arrow.merge(parts) == whole
            assert arrow.merge([arrow.merge(parts[:4]), arrow.merge(parts[4:])]) == whole
            assert arrow.merge(pa.concat_tables(parts)) == whole
            assert arrow.merge(batch for part in parts for batch in part.to_batches()) == whole
        assert arrow.report(parts) == evaluated(rows, **options)
        assert arrow.report(whole).signature == evaluated(rows, **options).signature
        assert whole.schema.metadata is None


def test_many_parts_are_added_up_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    from mycelium.arrow import tables

    rows = corpus(400)
    whole = arrow.merge(arrow.statistics(rows, by=["k"]))
    monkeypatch.setattr(tables, "_AT_ONCE", 5)
    assert arrow.merge(arrow.statistics(rows.slice(i, 8), by=["k"]) for i in range(0, 400, 8)) == whole


def test_what_a_batch_may_be() -> None:
    rows = corpus(30)
    expected = arrow.statistics(rows, by="lang")
    assert arrow.statistics(rows.combine_chunks().to_batches()[0], by="lang") == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: rows[name].to_pylist() for name in rows.column_names})
    assert arrow.statistics(frame, by="lang") == expected
    for wrong, kind in (({"references": []}, "dict"), ([1], "list"), (None, "NoneType"), (rows["k"], "ChunkedArray")):
        with pytest.raises(TypeError, match=f"^batch: expected a pyarrow Table.*, got {kind}"):
            arrow.statistics(wrong)


def test_forms_of_spans_weights_and_probabilities() -> None:
    texts = ["0123456789"] * 4
    soft = [[{"start": s, "end": e, "prob": 0.5} for s, e in spans] for spans in GOLD]
    other = [[{"start": s, "end": e, "prob": 0.25} for s, e in spans] for spans in FOUND]
    structs = pa.array([[{"start": s, "end": e, "label": "x"} for s, e in spans] for spans in FOUND])
    rows = pa.table({"gold": GOLD, "found": structs, "said": texts, "w": [0.5, 2, 1, 0], "soft": soft, "heard": other})
    columns = {"references": "gold", "predictions": "found", "text": "said", "weight": "w"}
    options: dict[str, Any] = {"metrics": ["iou", "soft_correlation"]}
    counted = arrow.statistics(rows, **columns, soft_references="soft", soft_predictions="heard", **options)
    expected = mycelium.evaluate(
        references=GOLD, predictions=FOUND, text=texts, sample_weight=[0.5, 2, 1, 0],
        soft_references=soft, soft_predictions=other, **options,
    )  # fmt: skip
    assert arrow.report(counted) == expected
    assert "weights:yes" in arrow.report(counted).signature
    # (0.6 / 2 + 2) / 3.5
    assert arrow.report(counted)["iou"]["score"] == pytest.approx(2.3 / 3.5, abs=1e-15)


@pytest.mark.parametrize(
    "key",
    [
        ["a", "b", None, "a"],
        [1, 2, None, 1],
        [True, False, None, True],
        [0.5, float("nan"), None, 0.5],
        [None, None, None, None],
    ],
)
def test_keys_of_every_type(key: list[Any]) -> None:
    counted = arrow.statistics(table(key=key), by="key", metrics="iou")
    examples = dict(zip(map(str, counted["key"].to_pylist()), counted["examples"].to_pylist(), strict=True))
    assert examples == Counter(map(str, key))
    whole = arrow.report([counted, arrow.statistics(table(key=[None] * 4), by="key", metrics="iou")])
    assert whole["meta"]["examples"] == 8


def test_strings_are_one_kind_of_key() -> None:
    plain = pa.array(TASKS)
    merged = arrow.merge(
        arrow.statistics(table(task=column), by="task")
        for column in (plain, plain.cast(pa.large_string()), plain.dictionary_encode(), pa.array([None] * 4))
    )
    assert merged["task"].to_pylist() == ["qa", "sum", None]
    assert merged["examples"].to_pylist() == [6, 3, 7]
    with pytest.raises(TypeError, match="column 'references' cannot be a key of statistics, its type is list"):
        arrow.statistics(table(), by="references", predictions="references")


def test_an_empty_batch_adds_nothing() -> None:
    rows = corpus(20)
    nothing = rows.slice(0, 0)
    assert arrow.merge([arrow.statistics(nothing), arrow.statistics(rows)]) == arrow.statistics(rows)
    for by in ("lang", ["lang", "k"]):
        empty = arrow.statistics(nothing, by=by)
        counted = arrow.statistics(rows, by=by)
        assert (len(empty), empty.schema) == (0, counted.schema)
        assert arrow.merge([empty, counted, empty]) == arrow.merge(counted)
        assert arrow.merge([empty, empty]) == empty
    for nobody in (arrow.statistics(nothing), empty, [empty, empty]):
        with pytest.raises(ValueError, match="no examples to score"):
            arrow.report(nobody)
    with pytest.raises(ValueError, match="no tables"):
        arrow.merge([])


def test_leniency_is_counted_in_its_group() -> None:
    rows = table(predictions=[[[2, 8]], None, [[3, 3], [1, 2]], [[-1, 2]]])
    counted = arrow.statistics(rows, by="task", invalid="drop", missing_rows="empty")
    found = {task: part.invalid for task, part in arrow.report(counted, by="task").items()}
    assert found == {"qa": (1, 1, 0, 0), "sum": (0, 0, 0, 1), None: (1, 1, 0, 0)}
    assert (
        arrow.report(counted).invalid == evaluated(rows, invalid="drop", missing_rows="empty").invalid == (2, 2, 0, 1)
    )


def test_views_of_strings() -> None:
    """A layout that some engines hand out, and for which pyarrow has few functions."""
    if not hasattr(pa, "string_view"):
        pytest.skip("this pyarrow has no views")
    rows = table(text=["0123456789"] * 4, predictions=[[[2, 12]], [[4, 7]], [[1, 2]], []])
    views = rows
    for name in ("text", "task"):
        views = views.set_column(views.column_names.index(name), name, views[name].cast(pa.string_view()))
    options: dict[str, Any] = {"text": "text", "by": "task", "invalid": "clip"}
    assert arrow.statistics(views, **options) == arrow.statistics(rows, **options)


def test_errors_name_column_row_and_span() -> None:
    bad = table(predictions=[[], [[0, 1]], [[0, 1], [5, 2]], []])
    for by in ((), "task"):
        with pytest.raises(ValueError, match=r"^column 'predictions': 1 invalid span in 1 row: row 2, span 1 \[5, 2\]"):
            arrow.statistics(bad, by=by)
        with pytest.raises(TypeError, match=r"^column 'task': expected an Arrow column whose rows are a list"):
            arrow.statistics(table(), references="task", by=by)
        with pytest.raises(
            ValueError, match=r"^references: the batch has no column 'gold'; it has references, predict"
        ):
            arrow.statistics(table(), references="gold", by=by)
        with pytest.raises(ValueError, match=r"^column 'year': row 1 is -1"):
            arrow.statistics(table(year=[1, -1, 2, 2]), weight="year", by=by)
        with pytest.raises(TypeError, match=r"^column 'task'.* row 2"):
            arrow.statistics(table(), text="task", by=by)
    with pytest.raises(ValueError, match=r"^by: the batch has no column 'lang'"):
        arrow.statistics(table(), by="lang")
    with pytest.raises(ValueError, match=r"^by: the column 'task' is named twice"):
        arrow.statistics(table(), by=["task", "year", "task"])
    for name in ("mycelium", "examples"):
        with pytest.raises(ValueError, match=f"^by: statistics have a column '{name}' of their own"):
            arrow.statistics(table().rename_columns(["references", "predictions", "task", name]), by=name)
    twice = pa.table([GOLD, FOUND, FOUND], names=["references", "predictions", "predictions"])
    with pytest.raises(ValueError, match="two columns 'predictions'"):
        arrow.statistics(twice)
    with pytest.raises(TypeError, match="averages"):
        arrow.statistics(table(), averages="micro")


def test_statistics_of_different_settings_are_not_added() -> None:
    macro, micro = (arrow.statistics(table(), average=average) for average in ("macro", "micro"))
    with pytest.raises(ValueError, match=r"different settings cannot be added: mycelium\|.*avg:macro.*avg:micro"):
        arrow.merge([macro, micro])
    with pytest.raises(ValueError, match="different settings"):
        arrow.report(macro, average="micro")
    # The same columns, so that nothing but the settings tells them apart.
    strict, lenient = (arrow.statistics(table(), metrics="iou", invalid=how) for how in ("raise", "drop"))
    assert strict.column_names == lenient.column_names
    with pytest.raises(ValueError, match="different settings"):
        arrow.merge(pa.concat_tables([strict, lenient]))
    old = strict.set_column(0, "mycelium", pa.array(['{"metrics":["iou"],"version":"0.0.1"}']))
    with pytest.raises(ValueError, match=rf"of mycelium 0\.0\.1, this is {mycelium.__version__}"):
        arrow.merge(old)
    with pytest.raises(ValueError, match=r"different keys: none and task"):
        arrow.merge([macro, arrow.statistics(table(), by="task")])


def test_lost_settings_are_given_again() -> None:
    counted = arrow.statistics(table(), by="task", metrics=["iou"], average="micro")
    lost = counted.drop_columns(["mycelium"])
    with pytest.raises(ValueError, match="no column 'mycelium' with the settings; where it was lost, give the options"):
        arrow.merge(lost)
    assert arrow.merge(lost, metrics=["iou"], average="micro") == arrow.merge(counted)
    assert arrow.report(lost, metrics="iou", average="micro") == arrow.report(counted)
    default = arrow.statistics(table()).drop_columns(["mycelium"])
    assert arrow.report(default, metrics=None) == evaluated(table())
    with pytest.raises(ValueError, match=r"it lacks the column 'iou\.score\.0'"):
        arrow.merge(lost, metrics=["iou"])
    with pytest.raises(ValueError, match="two columns of the same name"):
        arrow.merge(counted.append_column("task", counted["task"]))
    partly = counted.set_column(1, "mycelium", pa.array([counted["mycelium"][0].as_py(), None, None]))
    with pytest.raises(ValueError, match="some rows have no settings"):
        arrow.merge(partly)


def test_sums_may_come_back_widened_but_not_rounded() -> None:
    counted = arrow.statistics(table(), metrics="iou")
    i = counted.column_names.index("iou.score.1")
    as_decimal = counted.set_column(i, "iou.score.1", counted["iou.score.1"].cast(pa.decimal128(38, 0)))
    assert arrow.merge(as_decimal) == counted
    as_double = counted.set_column(i, "iou.score.1", counted["iou.score.1"].cast(pa.float64()))
    with pytest.raises(TypeError, match=r"column 'iou\.score\.1' is of type double, expected 64-bit integers"):
        arrow.merge(as_double)
    as_null = counted.set_column(i, "iou.score.1", pa.array([None], pa.int64()))
    with pytest.raises(ValueError, match=r"column 'iou\.score\.1': a sum is null"):
        arrow.merge(as_null)


def test_a_column_that_was_added_is_a_key() -> None:
    parts = [arrow.statistics(table()).append_column("file", pa.array([name])) for name in ("b", "a", "b")]
    assert arrow.merge(parts)["examples"].to_pylist() == [4, 8]
    assert list(arrow.report(parts, by="file")) == ["a", "b"]
    assert arrow.report(parts)["meta"]["examples"] == 12
