"""Exact binomial intervals, and those of rows in groups."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from detector_ranking_oracle import EXPECTED, FIXTURE, same_12_digits
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mycelium.detector.binomial import accepted_bounds, binomial_interval, rate_interval, required_unsupported
from mycelium.draws import units_of

UNSUPPORTED = [i for i, label in enumerate(FIXTURE.y) if label]
SCORE = np.array([FIXTURE.a[i] for i in UNSUPPORTED])
SOURCE = [FIXTURE.source[i] for i in UNSUPPORTED]


def by_group(event: np.ndarray, groups: list) -> tuple[list[int], list[int]]:
    keys = sorted(set(groups))
    k = [sum(bool(e) for e, g in zip(event, groups, strict=True) if g == key) for key in keys]
    return k, [groups.count(key) for key in keys]


@pytest.mark.parametrize(("k", "n"), [(0, 12), (1, 12), (0, 15), (1, 15), (0, 50), (0, 1000), (3, 40)])
def test_reference_values_of_independent_rows(k: int, n: int) -> None:
    expected = EXPECTED["clopper_pearson"]
    two, one = binomial_interval(k, n), binomial_interval(k, n, alternative="less")
    assert same_12_digits(one.high, expected[f"upper95_{k}_{n}"]["value"])
    assert one.low == 0
    assert same_12_digits(two.high, expected[f"ci95_high_{k}_{n}"]["value"])
    assert same_12_digits(two.low, expected[f"ci95_low_{k}_{n}"]["value"])
    assert (two.k, two.n, two.n_effective, two.n_groups, two.method) == (k, n, n, None, "clopper-pearson")
    assert two.estimate == k / n


@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from(["two-sided", "less", "greater"]),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
)
def test_same_as_scipy(case: tuple[int, int], alternative: str, level: float) -> None:
    k, n = case
    found = binomial_interval(k, n, alternative=alternative, confidence_level=level)
    expected = stats.binomtest(k, n, alternative=alternative).proportion_ci(level, "exact")
    assert found.low == pytest.approx(expected.low, rel=1e-10, abs=1e-13)
    assert found.high == pytest.approx(expected.high, rel=1e-10, abs=1e-13)


def test_nothing_seen_and_everything_seen() -> None:
    for n in (1, 12, 1000):
        assert binomial_interval(0, n, alternative="less").high == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-12)
        assert binomial_interval(n, n, alternative="less").high == 1
        assert binomial_interval(n, n, alternative="greater").low == pytest.approx(0.05 ** (1 / n), rel=1e-12)
        assert binomial_interval(n, n).high == 1
        assert binomial_interval(0, n).low == 0


def test_without_rows_the_rate_is_undefined_and_may_be_anything() -> None:
    for k, n in ((0, 0), ([], []), ([0, 0], [0, 0])):
        found = binomial_interval(k, n, alternative="less")
        assert (found.estimate, found.low, found.high) == (None, 0, 1)
        assert found.undefined == {"estimate": "there are no rows"}
        json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("tau", ["042", "051"])
def test_reference_values_of_rows_in_groups(tau: str) -> None:
    expected = {name: item["value"] for name, item in EXPECTED["clustered_far_a"][f"tau{tau}_all_rows"].items()}
    event = int(tau) / 100 >= SCORE
    found = binomial_interval(*by_group(event, SOURCE), alternative="less")
    assert same_12_digits(found.estimate, expected["far"])
    assert same_12_digits(found.high, expected["korn_graubard_upper95_capped"])
    assert same_12_digits(found.design_effect, expected["design_effect"])
    assert same_12_digits(found.n_effective, min(27, expected["n_eff_uncapped"]))
    p, n = found.estimate, found.n
    assert same_12_digits(found.design_effect * p * (1 - p) / n, expected["cluster_var"])
    assert (found.n_groups, found.n) == (11, 27)
    row = rate_interval(event, units_of(None, 27), alternative="less")
    assert same_12_digits(row.high, expected["row_clopper_pearson_upper95"])
    assert row.method == "clopper-pearson"
    assert rate_interval(event, units_of(SOURCE, 27), alternative="less") == found


def test_two_sided_groups_use_the_quantiles_of_both_ends() -> None:
    # One round of the published formula, with scipy's distributions.
    k, n = np.array([3, 0, 1, 2, 0]), np.array([4, 3, 5, 2, 1])
    p, groups, rows = k.sum() / n.sum(), len(n), n.sum()
    variance = groups / (groups - 1) * ((k - p * n) ** 2).sum() / rows**2
    shrink = (stats.t.ppf(0.975, rows - 1) / stats.t.ppf(0.975, groups - 1)) ** 2
    effective = min(rows, p * (1 - p) / variance * shrink)
    found = binomial_interval(k, n)
    assert found.n_effective == pytest.approx(effective, rel=1e-12)
    events = p * effective
    assert found.low == pytest.approx(stats.beta.ppf(0.025, events, effective - events + 1), rel=1e-11)
    assert found.high == pytest.approx(stats.beta.ppf(0.975, events + 1, effective - events), rel=1e-11)


def test_groups_without_an_event_or_with_nothing_else() -> None:
    nothing = binomial_interval([0, 0, 0], [5, 9, 4], alternative="less")
    assert (nothing.n_effective, nothing.design_effect) == (3, None)
    assert nothing.high == pytest.approx(1 - 0.05 ** (1 / 3), rel=1e-12)
    everything = binomial_interval([5, 9, 4], [5, 9, 4])
    assert (everything.estimate, everything.high) == (1, 1)
    assert everything.low == pytest.approx(0.025 ** (1 / 3), rel=1e-12)


def test_groups_that_do_not_vary_are_as_many_rows() -> None:
    found = binomial_interval([1, 2, 3], [2, 4, 6], alternative="less")
    assert found.n_effective == 12
    assert found.high == binomial_interval(6, 12, alternative="less").high


def test_one_group_says_nothing() -> None:
    found = binomial_interval([3, 0], [9, 0], alternative="less")
    assert (found.estimate, found.low, found.high, found.n_groups) == (3 / 9, None, None, 1)
    assert "one group" in found.undefined["high"]
    json.dumps(found.to_dict(), allow_nan=False)


@given(st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=9))
def test_never_below_the_bound_of_independent_rows(groups: list[tuple[int, int]]) -> None:
    k, n = zip(*groups, strict=True)
    found = binomial_interval(k, n, alternative="less")
    assert found.high >= binomial_interval(sum(k), sum(n), alternative="less").high - 1e-12
    assert found.estimate <= found.high <= 1
    # Neither the order of groups nor empty ones matter.
    assert binomial_interval([*k[::-1], 0], [*n[::-1], 0], alternative="less").high == pytest.approx(
        found.high, rel=1e-12
    )


def test_groups_of_one_row_are_independent_rows() -> None:
    event = np.array([True, False, False, True, False, False, False])
    alone = rate_interval(event, units_of(list("abcdefg"), 7), alternative="less")
    # G = n: both quantiles cancel, and n / (n - 1) is what is left of the variance.
    assert alone.n_effective == pytest.approx(6, rel=1e-12)
    nothing = np.zeros(7, dtype=bool)
    alone, rows = (rate_interval(nothing, units_of(keys, 7)) for keys in (list("abcdefg"), None))
    assert alone.high == rows.high


def test_weights() -> None:
    event, weight = np.array([True, False, True, False, False, True]), np.array([2.0, 1, 3, 1, 1, 0])
    units = units_of(list("aabbcc"), 6)
    found = rate_interval(event, units, weight, alternative="less")
    k, n = np.array([2, 3, 0]), np.array([3, 4, 1])
    p = 5 / 8
    variance = 3 / 2 * ((k - p * n) ** 2).sum() / 8**2
    # Five rows weigh something; their squares are 16 in all, as those of 4 equal ones would be.
    shrink = (stats.t.ppf(0.95, 4) / stats.t.ppf(0.95, 2)) ** 2
    effective = min(8**2 / 16, p * (1 - p) / variance * shrink)
    assert found.estimate == p
    assert found.n_effective == pytest.approx(effective, rel=1e-12)
    assert found.high == pytest.approx(stats.beta.ppf(0.95, p * effective + 1, (1 - p) * effective), rel=1e-11)
    # Scale does not matter; without groups each row is one.
    assert rate_interval(event, units, 7 * weight, alternative="less").high == pytest.approx(found.high, rel=1e-12)
    assert rate_interval(event, units_of(None, 6), weight).n_groups == 5
    nothing = rate_interval(~event & event, units_of(None, 6), weight, alternative="less")
    assert nothing.high == pytest.approx(1 - 0.05 ** (1 / 4), rel=1e-12)
    even = rate_interval(event, units, np.full(6, 2.5), alternative="less")
    assert even.high == pytest.approx(rate_interval(event, units, alternative="less").high, rel=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_bounds_at_all_thresholds_are_those_at_each(grouped: bool, weighted: bool, level: float) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 40):
        score = rng.integers(0, 9, n) / 8
        units = units_of(rng.integers(0, 6, n).tolist() if grouped else None, n)
        weight = rng.integers(0, 4, n) * 0.7 + 0.1 if weighted else None
        found = accepted_bounds(score, units, weight, confidence_level=level)
        assert found.threshold.tolist() == sorted(set(score.tolist()))
        top = 0.0
        for threshold, accepted, upper in zip(*found, strict=True):
            each = rate_interval(score <= threshold, units, weight, alternative="less", confidence_level=level)
            top = max(top, 1.0 if each.high is None else each.high)
            assert accepted == pytest.approx(each.k)
            assert upper == pytest.approx(top, rel=1e-9)


def test_bounds_never_fall_where_the_formula_does() -> None:
    # At 0.2 one group has two accepted rows and the other none; at 0.3 both have two of three.
    score, groups = np.array([0.1, 0.2, 0.9, 0.3, 0.3, 0.9]), list("aaabbb")
    units = units_of(groups, 6)
    formula = [rate_interval(score <= t, units, alternative="less").high for t in (0.1, 0.2, 0.3, 0.9)]
    assert formula[1] > formula[2]
    assert accepted_bounds(score, units).upper.tolist() == pytest.approx([*formula[:2], formula[1], 1.0])


def test_how_many_rows_certify_a_rate() -> None:
    expected = EXPECTED["clopper_pearson"]
    for alpha, name in ((0.05, "005"), (0.01, "001"), (0.001, "0001")):
        assert required_unsupported(alpha) == expected[f"min_n_zero_failures_alpha_{name}"]["value"]
        assert required_unsupported(alpha) == math.ceil(math.log(0.05) / math.log(1 - alpha))
    for alpha, k, level in ((0.1, 0, 0.9), (0.1, 3, 0.95), (0.5, 2, 0.75), (0.02, 5, 0.99), (0.9, 0, 0.95)):
        n = required_unsupported(alpha, n_false_accepts=k, confidence_level=level)
        assert stats.binomtest(k, n, alternative="less").proportion_ci(level, "exact").high <= alpha + 1e-12
        assert k == n - 1 or stats.binomtest(k, n - 1, alternative="less").proportion_ci(level, "exact").high > alpha
    # Exactly at the level, where 0.8 * 0.8 is a bit more than 1 - 0.36 in doubles.
    assert required_unsupported(0.5, confidence_level=0.75) == 2
    assert required_unsupported(0.2, confidence_level=0.36) == 2
    assert required_unsupported(0.9, confidence_level=0.99999) == 5


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((3, 2), ValueError, "k is 3, more than n, 2"),
        (([1, 3], [1, 2]), ValueError, "group 1: k is 3"),
        ((-1, 2), ValueError, "k must hold whole numbers from 0 on; it is -1"),
        ((0.5, 2), ValueError, "k must hold whole numbers"),
        ((1, float("nan")), ValueError, "n must hold whole numbers"),
        (("1", 2), TypeError, "k must be a whole number"),
        ((True, 2), TypeError, "k must be a whole number"),
        ((1, [2, 3]), ValueError, "two sequences of one length"),
        (([[1]], [[2]]), ValueError, "k must be a number or a sequence"),
    ],
)
def test_bad_counts(arguments: tuple, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        binomial_interval(*arguments)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="alternative must be one of"):
        binomial_interval(1, 2, alternative="upper")
    with pytest.raises(ValueError, match="confidence_level must lie"):
        binomial_interval(1, 2, confidence_level=95)
    with pytest.raises(ValueError, match="max_far must lie"):
        required_unsupported(0)
    with pytest.raises(TypeError, match="n_false_accepts must be a whole number, got"):
        required_unsupported(0.1, n_false_accepts="1")
    with pytest.raises(ValueError, match="n_false_accepts must be a number"):
        required_unsupported(0.1, n_false_accepts=[1])


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "icc", "far", "row_misses"), [(40, 0.3, 0.2, True), (40, 0.05, 0.05, False)])
def test_the_bound_of_groups_misses_less_often(groups: int, icc: float, far: float, row_misses: bool) -> None:
    """Beta-binomial groups of five: rows that hang together break the exact bound, and less so that of groups."""
    rng = np.random.default_rng(8)
    a = far * (1 - icc) / icc
    runs, missed_rows, missed_groups = 1500, 0, 0
    for k in rng.binomial(5, rng.beta(a, a * (1 - far) / far, (runs, groups))):
        missed_rows += binomial_interval(int(k.sum()), 5 * groups, alternative="less").high < far
        missed_groups += binomial_interval(k, [5] * groups, alternative="less").high < far
    assert missed_groups / runs <= 0.065
    assert missed_groups <= missed_rows
    assert (missed_rows / runs > 0.09) == row_misses
