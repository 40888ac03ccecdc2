"""The oracle of the tests against the published cases: statistics and scores of every line."""

from __future__ import annotations

from typing import Any

import oracle
import pytest
from conftest import read_cases

TOLERANCE = 1e-12

CASES = read_cases("span_metrics.jsonl")
WHOLE = CASES.pop()
PARAMS = read_cases("span_metrics_params.jsonl")


def close(got: dict[str, float], expected: dict[str, float]) -> bool:
    return list(got) == list(expected) and all(abs(got[k] - expected[k]) <= TOLERANCE for k in expected)


def test_the_files_are_whole() -> None:
    assert len(CASES) == 626
    assert WHOLE["why"].startswith("whole batch")
    assert len(PARAMS) == 360


@pytest.mark.parametrize("metric", oracle.KEYS)
def test_cases(metric: str) -> None:
    for case in CASES:
        columns = oracle.statistics(metric, case["references"], case["predictions"])
        four = oracle.parts(metric, columns)
        assert four == pytest.approx(case["statistics"][metric], abs=TOLERANCE), case
        assert close(oracle.value(metric, four), case["scores"][metric]), case


def test_cases_with_parameters() -> None:
    for case in PARAMS:
        metric, parameters = case["metric"], dict(case["parameters"])
        undefined = parameters.pop("undefined", None)
        columns = oracle.statistics(metric, case["references"], case["predictions"], **parameters)
        four = oracle.parts(metric, columns, **parameters)
        assert four == pytest.approx(case["statistics"], abs=TOLERANCE), case
        assert close(oracle.value(metric, four, undefined), case["scores"]), case


@pytest.mark.parametrize("metric", oracle.KEYS)
def test_whole_batch(metric: str) -> None:
    rows = [case for case in CASES if case["why"] != "far offsets"]
    assert len(rows) == 625
    references: list[Any] = [row["references"] for row in rows]
    predictions: list[Any] = [row["predictions"] for row in rows]
    assert close(oracle.micro(metric, references, predictions), WHOLE["micro"][metric])
    assert close(oracle.macro(metric, references, predictions), WHOLE["macro"][metric])


def test_soft_vector_later_spans_overwrite() -> None:
    assert oracle.soft_vector([(0, 3, 0.9), (2, 5, 0.1)], 6) == [0.9, 0.9, 0.1, 0.1, 0.1, 0.0]
    assert oracle.soft_vector([(2, 5, 0.1), (0, 3, 0.9)], 6) == [0.9, 0.9, 0.9, 0.1, 0.1, 0.0]


def test_soft_correlation_by_hand() -> None:
    # Ranks of [1, 1, 0, 0] are 3.5 3.5 1.5 1.5; the mirrored vector has them the other way round.
    assert oracle.soft_correlation([(0, 2, 1.0)], [(0, 2, 0.3)], 4) == pytest.approx(1.0, abs=TOLERANCE)
    assert oracle.soft_correlation([(0, 2, 1.0)], [(2, 4, 0.3)], 4) == pytest.approx(-1.0, abs=TOLERANCE)
    # Ranks 3.5 3.5 1.5 1.5 against 4 2 2 2 (deviations 1 1 -1 -1 and 1.5 -.5 -.5 -.5):
    # covariance 1.5 - .5 + .5 + .5 = 2, sizes 2 and sqrt(3), so 1/sqrt(3).
    assert oracle.soft_correlation([(0, 2, 1.0)], [(0, 1, 0.3)], 4) == pytest.approx(3**-0.5, abs=TOLERANCE)
