"""Exact sums, checked against math.fsum and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelium.reduce import ExactSum

DOUBLES = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


def total(values: list[float], weights: list[int] | None = None) -> float:
    out = ExactSum(1)
    out.add(
        np.array(values, dtype=float)[:, np.newaxis], None if weights is None else np.array(weights, dtype=np.int64)
    )
    return float(out.totals()[0])


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(DOUBLES, max_size=30))
def test_real_sums_are_rounded_once(values: list[float]) -> None:
    assert total(values) == math.fsum(values)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2**31 - 1)), max_size=20))
def test_integer_weights_are_exact(rows: list[tuple[float, int]]) -> None:
    exact = sum((Fraction(value) * weight for value, weight in rows), Fraction(0))
    assert total([v for v, _ in rows], [w for _, w in rows]) == float(exact)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), max_size=40))
def test_integer_sums_do_not_overflow(values: list[int]) -> None:
    out = ExactSum(1)
    out.add(np.array(values, dtype=np.int64)[:, np.newaxis])
    assert out.exact()[0] >> 1126 == sum(values)
    assert out.totals()[0] == float(sum(values))


def test_the_mean_of_thirds_is_a_third() -> None:
    # 0.1 + 0.2 + 0.3 in doubles is above 0.6; their true sum, rounded once, is 0.6.
    sums, rows = ExactSum(1), ExactSum(1)
    sums.add(np.array([[0.1], [0.2], [0.3]]))
    rows.add(np.ones((3, 1), dtype=np.int64))
    assert sums.totals()[0] == 0.6
    assert sums.means(rows)[0] == float(sum(map(Fraction, (0.1, 0.2, 0.3))) / 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        total([0.5, value])


def test_merging_is_adding() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((1000, 2)) * 10.0 ** rng.integers(-20, 3, (1000, 1))
    whole, parts = ExactSum(2), ExactSum(2)
    whole.add(values)
    for cut in np.array_split(rng.permutation(values), 7):
        part = ExactSum(2)
        part.add(cut)
        parts.merge(part)
    assert whole.exact() == parts.exact()
