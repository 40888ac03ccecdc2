"""The library against the published cases: every statistic and every score to 1e-12."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest
from conftest import read_cases

import mycelium
from mycelium import metrics

TOLERANCE = 1e-12

CASES = read_cases("span_metrics.jsonl")
WHOLE = CASES.pop()
PARAMS = read_cases("span_metrics_params.jsonl")

LONG_NAMES = {
    ("span_coverage", "delta"): "span_coverage_delta",
    ("span_coverage", "min_pred_len"): "span_coverage_min_pred_len",
    ("deteval_1d", "recall_threshold"): "deteval_recall_threshold",
    ("deteval_1d", "precision_threshold"): "deteval_precision_threshold",
    ("deteval_1d", "granularity_penalty"): "deteval_granularity_penalty",
    ("cleval_1d", "area_precision_threshold"): "cleval_area_precision_threshold",
    ("cleval_1d", "granularity_penalty_weight"): "cleval_granularity_penalty",
}
OPTIONS = ("tolerance", "undefined")


def sides(cases: list[dict[str, Any]]) -> dict[str, Any]:
    return {side: [case[side] for case in cases] for side in ("references", "predictions")}


def approx(expected: Any) -> Any:
    return pytest.approx(expected, rel=0, abs=TOLERANCE)


def scores(report: dict[str, Any], key: str) -> dict[str, float]:
    return {name: value for name, value in report[key].items() if name != "per_example"}


def example(report: dict[str, Any], key: str, i: int) -> dict[str, float]:
    entry = report[key]["per_example"][i]
    return entry if isinstance(entry, dict) else {"score": entry}


def four(metric: metrics.Metric, row: Any) -> tuple[float, ...]:
    """Return a row of statistics as precision part and total, recall part and total (two numbers for IoU)."""
    return oracle.parts(metric.name, row.tolist(), **metric.values)


@pytest.fixture(scope="module")
def all_cases() -> mycelium.Report:
    return mycelium.evaluate(**sides(CASES), include_per_example=True)


def test_there_are_626_cases() -> None:
    assert len(CASES) == 626


@pytest.mark.parametrize("key", oracle.KEYS)
def test_statistics(key: str) -> None:
    metric = metrics.get(key)
    counted = metric.statistics(**sides(CASES))
    assert counted.shape == (626, len(metric.columns))
    for case, row in zip(CASES, counted, strict=True):
        assert four(metric, row) == approx(tuple(case["statistics"][key])), case


@pytest.mark.parametrize("key", oracle.KEYS)
def test_scores_of_each_example_of_a_batch(key: str, all_cases: mycelium.Report) -> None:
    assert len(all_cases[key]["per_example"]) == 626
    for i, case in enumerate(CASES):
        got = example(all_cases, key, i)
        assert list(got) == list(case["scores"][key])
        assert got == approx(case["scores"][key]), case


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_scores_of_each_case_alone(average: str) -> None:
    # Every 7th of the random cases, and all the others: 113 calls, each with one set.
    chosen = [case for i, case in enumerate(CASES) if not case["why"].startswith("random") or i % 7 == 0]
    assert len(chosen) > 100
    for case in chosen:
        report = mycelium.evaluate(references=case["references"], predictions=case["predictions"], average=average)
        for key, expected in case["scores"].items():
            assert report[key] == approx(expected), case


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_whole_batch(average: str) -> None:
    rows = [case for case in CASES if case["why"] != "far offsets"]
    report = mycelium.evaluate(**sides(rows), average=average)
    assert report["meta"]["examples"] == 625
    assert list(report)[:-1] == list(oracle.KEYS)
    for key, expected in WHOLE[average].items():
        assert report[key] == approx(expected)


@pytest.mark.parametrize("key", oracle.KEYS)
def test_a_metric_called(key: str) -> None:
    metric = metrics.get(key)
    for case in CASES[:26]:
        got = metric(case["references"], case["predictions"])
        assert got._asdict() == approx(case["scores"][key])
        assert all(type(x) is float for x in got)


def grouped() -> list[tuple[str, dict[str, float], list[dict[str, Any]]]]:
    groups: dict[str, tuple[str, dict[str, float], list[dict[str, Any]]]] = {}
    for case in PARAMS:
        name = f"{case['metric']} {case['parameters']}"
        groups.setdefault(name, (case["metric"], case["parameters"], []))[2].append(case)
    return list(groups.values())


GROUPS = grouped()
IDS = [f"{key}-{'-'.join(f'{k}={v}' for k, v in parameters.items())}" for key, parameters, _ in GROUPS]


def test_all_parameter_cases_are_used() -> None:
    assert sum(len(cases) for *_, cases in GROUPS) == len(PARAMS) == 360


@pytest.mark.parametrize(("key", "parameters", "cases"), GROUPS, ids=IDS)
def test_parameters_by_their_long_names(key: str, parameters: dict[str, float], cases: list[dict[str, Any]]) -> None:
    options = {name if name in OPTIONS else LONG_NAMES[key, name]: value for name, value in parameters.items()}
    report = mycelium.evaluate(**sides(cases), metrics=[key], include_per_example=True, **options)
    entry = next(iter(report))
    for i, case in enumerate(cases):
        assert example(report, entry, i) == approx(case["scores"]), case
    for average in ("micro", "macro"):
        report = mycelium.evaluate(**sides(cases), metrics=[key], average=average, **options)
        undefined = parameters.get("undefined")
        own = {k: v for k, v in parameters.items() if k != "undefined"}
        expected = getattr(oracle, average)(key, **sides(cases), undefined=undefined, **own)
        assert scores(report, entry) == approx(expected)


@pytest.mark.parametrize(
    ("key", "parameters", "cases"),
    [group for group in GROUPS if "undefined" not in group[1]],
    ids=[name for name in IDS if "undefined" not in name],
)
def test_parameters_by_variants(key: str, parameters: dict[str, float], cases: list[dict[str, Any]]) -> None:
    metric = metrics.get(key).at(**parameters)
    for case, row in zip(cases, metric.statistics(**sides(cases)), strict=True):
        assert four(metric, row) == approx(tuple(case["statistics"])), case
    report = mycelium.evaluate(**sides(cases), metrics=[metric], include_per_example=True)
    for i, case in enumerate(cases):
        assert example(report, metric.key, i) == approx(case["scores"]), case


def test_containers_of_the_cases_do_not_matter() -> None:
    rows = sides(CASES)
    expected = mycelium.evaluate(**rows)
    packed = {side: mycelium.as_spans(x) for side, x in rows.items()}
    assert mycelium.evaluate(**packed) == expected
    filled = {}
    for side, x in rows.items():
        filled[side] = np.empty(len(x), dtype=object)
        for i, row in enumerate(x):
            filled[side][i] = np.array(row, dtype=np.int32).reshape(-1, 2)
    assert mycelium.evaluate(**filled) == expected
    tuples = {side: tuple(tuple(map(tuple, row)) for row in x) for side, x in rows.items()}
    assert mycelium.evaluate(**tuples) == expected
