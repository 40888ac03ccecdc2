"""AUC with its intervals, paired tests of it, and average precision."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from detector_ranking_oracle import (
    EXPECTED,
    FIXTURE,
    auc_covariance,
    average_precision,
    placements,
    same_12_digits,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from mycelium.detector import ranking
from mycelium.detector.binomial import binomial_interval
from mycelium.detector.placements import clusters_of, covariance, place
from mycelium.detector.quantiles import cdf, quantile
from mycelium.detector.ranking import (
    average_precision_at_prevalence_score,
    compare_roc_auc,
    roc_auc_interval,
)
from mycelium.draws import units_of

Y, A, B, SOURCE = FIXTURE.y, FIXTURE.a, FIXTURE.b, FIXTURE.source
RANKING = {name: item["value"] for name, item in EXPECTED["ranking"].items()}


def sample(rng: np.random.Generator, n: int = 24, groups: int = 7, values: int = 6) -> tuple[Any, ...]:
    """Return labels, two scores with ties, and groups of answers of both classes."""
    y = rng.permutation(np.arange(n) % 3 == 0).astype(int).tolist()
    a, b = (((rng.integers(0, values, n) + np.array(y) * 2) / 10).tolist() for _ in range(2))
    return y, a, b, rng.integers(0, groups, n).tolist()


# -- reference values


def test_reference_values_of_auc() -> None:
    found, linear = roc_auc_interval(Y, A), roc_auc_interval(Y, A, scale="linear")
    assert same_12_digits(found.estimate, RANKING["roc_auc_a"])
    assert found.estimate == 752 / 891
    assert same_12_digits(roc_auc_interval(Y, B).estimate, RANKING["roc_auc_b"])
    assert same_12_digits(found.standard_error**2, RANKING["delong_var_a"])
    assert same_12_digits(found.low, RANKING["delong_ci95_logit_low_a"])
    assert same_12_digits(found.high, RANKING["delong_ci95_logit_high_a"])
    assert same_12_digits(linear.low, RANKING["delong_ci95_wald_low_a"])
    assert same_12_digits(linear.high, RANKING["delong_ci95_wald_high_a"])
    assert (found.method, found.scale, found.df, found.n_groups) == ("delong", "logit", None, None)
    assert (found.n_unsupported, found.n_supported, found.direction) == (27, 33, "consistent")


def test_reference_values_of_clustered_auc() -> None:
    found = roc_auc_interval(Y, A, groups=SOURCE)
    assert found.estimate == 752 / 891
    assert same_12_digits(found.standard_error**2, RANKING["obuchowski_var_a"])
    assert same_12_digits(found.low, RANKING["obuchowski_logit_t_ci95_low_a"])
    assert same_12_digits(found.high, RANKING["obuchowski_logit_t_ci95_high_a"])
    ratio = found.standard_error / roc_auc_interval(Y, A).standard_error
    assert same_12_digits(ratio, RANKING["obuchowski_se_over_delong_se_a"])
    assert (found.method, found.df, found.n_groups) == ("obuchowski", 19, 20)
    assert (found.n_groups_unsupported, found.n_groups_supported) == (11, 16)
    single = roc_auc_interval(Y, A, groups=range(60))
    assert same_12_digits(single.standard_error**2, RANKING["obuchowski_reduces_to_delong"])


def test_reference_values_of_newcombe() -> None:
    found = roc_auc_interval(Y, A, method="newcombe")
    assert same_12_digits(found.low, RANKING["newcombe_ci95_low_a"])
    assert same_12_digits(found.high, RANKING["newcombe_ci95_high_a"])
    perfect = roc_auc_interval(Y, Y)
    assert same_12_digits(perfect.low, RANKING["newcombe_ci95_low_auc1_27_33"])
    assert (perfect.estimate, perfect.high, perfect.method) == (1, 1, "newcombe")


def test_reference_values_of_paired_tests() -> None:
    found = compare_roc_auc(Y, A, B)
    for value, name in (
        (found.variance_a, "delong_var_a"),
        (found.variance_b, "delong_var_b"),
        (found.covariance, "delong_cov_ab"),
        (found.difference, "delong_paired_diff"),
        (found.standard_error**2, "delong_paired_var_diff"),
        (found.statistic, "delong_paired_z"),
        (found.p_value, "delong_paired_p"),
        (found.low, "delong_paired_diff_ci95_low"),
        (found.high, "delong_paired_diff_ci95_high"),
    ):
        assert same_12_digits(value, RANKING[name]), name
    assert found.p_value_normal == found.p_value
    clustered = compare_roc_auc(Y, A, B, groups=SOURCE)
    assert same_12_digits(clustered.statistic, RANKING["clustered_paired_z"])
    assert same_12_digits(clustered.p_value_normal, RANKING["clustered_paired_p"])
    # The published p-value is normal; Student's with 19 degrees of freedom no longer tells the two apart.
    assert clustered.p_value == pytest.approx(2 * stats.t.sf(RANKING["clustered_paired_z"], 19), rel=1e-10)
    assert clustered.p_value > 0.05
    assert clustered.low < 0 < clustered.high
    wide = stats.t.ppf(0.975, 19) * clustered.standard_error
    assert clustered.high - clustered.difference == pytest.approx(wide, rel=1e-12)


def test_reference_values_of_average_precision() -> None:
    assert same_12_digits(ranking.average_precision(Y, A).estimate, RANKING["average_precision_a"])
    assert same_12_digits(ranking.average_precision(Y, B).estimate, RANKING["average_precision_b"])
    assert ranking.average_precision(Y, A).baseline == RANKING["ap_baseline_prevalence"]
    for name, prevalence in (("p_50", 0.5), ("p_05", 0.05), ("p_01", 0.01)):
        found = average_precision_at_prevalence_score(Y, A, prevalence=prevalence)
        assert same_12_digits(found, EXPECTED["prevalence_stress"][f"average_precision_a_{name}"]["value"])
        assert ranking.average_precision(Y, A, prevalence=prevalence).baseline == prevalence


def test_reference_values_of_slices_halves_and_counterfactuals() -> None:
    for mechanism, expected in EXPECTED["slices_a_tau042_all_rows"]["slices"].items():
        # A mechanism has no supported answers of its own.
        rows = [i for i in range(60) if not Y[i] or FIXTURE.mechanism[i] == mechanism]
        found = roc_auc_interval([Y[i] for i in rows], [A[i] for i in rows]).estimate
        assert same_12_digits(found, expected["auc_vs_all_supported"])
    cells = EXPECTED["transfer_matrix_a_far10"]["cells"]
    for half in ("calibration", "test"):
        rows = [i for i in range(60) if FIXTURE.split[i] == half]
        found = roc_auc_interval([Y[i] for i in rows], [A[i] for i in rows]).estimate
        assert same_12_digits(found, cells[f"{half}->{half}"]["roc_auc_dst"])
    found = roc_auc_interval(Y, FIXTURE.counterfactual).estimate
    assert same_12_digits(found, EXPECTED["counterfactual_a"]["auc_counterfactual"]["value"])


# -- against definitions and other programs


@pytest.mark.parametrize("seed", range(6))
def test_variances_are_those_of_the_definitions(seed: int) -> None:
    y, a, b, groups = sample(np.random.default_rng(seed))
    units = units_of(groups, len(y))
    clusters = clusters_of(np.array(y, dtype=bool), units)
    placed = [place(np.array(y, dtype=bool), np.array(s)) for s in (a, b)]
    assert placed[0].auc == float(placements(y, a)[0])
    for s, p in ((a, placed[0]), (b, placed[1])):
        for t, q in ((a, placed[0]), (b, placed[1])):
            expected = auc_covariance(y, s, t, groups)
            assert covariance(p, q, clusters) == pytest.approx(float(expected), rel=1e-12)
    rows = list(range(len(y)))
    assert roc_auc_interval(y, a).standard_error ** 2 == pytest.approx(float(auc_covariance(y, a, a, rows)), rel=1e-12)


def test_same_as_scikit_learn_and_scipy() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    y, s, w = rng.random(500) < 0.3, rng.integers(0, 40, 500) / 8, rng.random(500) + 0.1
    assert roc_auc_interval(y, s).estimate == pytest.approx(metrics.roc_auc_score(y, s), rel=1e-13)
    u = stats.mannwhitneyu(s[y], s[~y]).statistic / (y.sum() * (~y).sum())
    assert roc_auc_interval(y, s).estimate == pytest.approx(u, rel=1e-13)
    found = roc_auc_interval(y, s, sample_weight=w).estimate
    assert found == pytest.approx(metrics.roc_auc_score(y, s, sample_weight=w), rel=1e-12)
    for weight in (None, w):
        expected = metrics.average_precision_score(y, s, sample_weight=weight)
        assert ranking.average_precision(y, s, sample_weight=weight).estimate == pytest.approx(expected, rel=1e-12)
    share = np.average(y, weights=w)
    shifted = w * np.where(y, 0.02 / share, 0.98 / (1 - share))
    expected = metrics.average_precision_score(y, s, sample_weight=shifted)
    found = average_precision_at_prevalence_score(y, s, prevalence=0.02, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 10**6))
def test_average_precision_is_that_of_the_definition(seed: int) -> None:
    y, a, _, _ = sample(np.random.default_rng(seed), 15, values=4)
    assert ranking.average_precision(y, a).estimate == pytest.approx(float(average_precision(y, a)), rel=1e-13)
    weights = [Fraction(1, 20) / Fraction(5, 15) if label else Fraction(19, 20) / Fraction(10, 15) for label in y]
    found = average_precision_at_prevalence_score(y, a, prevalence=0.05)
    assert found == pytest.approx(float(average_precision(y, a, weights)), rel=1e-13)


@given(
    st.floats(0.01, 0.99) | st.sampled_from([0.0, 1.0]), st.integers(2, 400), st.integers(2, 400), st.floats(0.5, 0.99)
)
def test_newcombe_solves_its_equation(auc: float, m: int, n: int, level: float) -> None:
    z = special.ndtri((1 + level) / 2)

    def off(theta: float) -> float:
        more = (m + n) / 2 - 1
        bracket = 1 + more * (1 - theta) / (2 - theta) + more * theta / (1 + theta)
        return (auc - theta) ** 2 - z**2 * theta * (1 - theta) * bracket / (m * n)

    from mycelium.detector.ranked import newcombe

    low, high = newcombe(auc, m, n, level)
    if auc > 0:
        # Off 0 and 1, where the equation has roots of its own.
        expected = optimize.brentq(off, 0, auc - 1e-9 * auc, xtol=1e-15)
        assert low == pytest.approx(expected, rel=1e-6)
    else:
        assert low == 0
    flipped = newcombe(1 - auc, m, n, level)
    assert (low, high) == pytest.approx((1 - flipped[1], 1 - flipped[0]), abs=1e-12)
    assert 0 <= low <= auc <= high <= 1
    assert low < high


@pytest.mark.parametrize("df", [1, 2, 3, 19, 100, 10**5, None])
@pytest.mark.parametrize("q", [0.001, 0.3, 0.5, 0.6, 0.9, 0.975, 0.9995])
def test_quantiles_are_those_of_scipy(q: float, df: int | None) -> None:
    scipy = stats.norm if df is None else stats.t(df)
    # By the distribution itself: its inverse has fewer digits in older releases.
    assert scipy.cdf(quantile(q, df)) == pytest.approx(q, rel=1e-10)
    assert cdf(quantile(q, df), df) == pytest.approx(q, rel=1e-10)


def test_exact_where_products_leave_32_bits_and_floats() -> None:
    rng = np.random.default_rng(1)
    m = n = 20_000
    score = rng.integers(0, 5000, m + n) / 7
    unsupported = np.arange(m + n) < m
    score[unsupported] += 20
    exact_auc, exact_variance = whole_numbers(unsupported, score)
    found = roc_auc_interval(unsupported, score)
    assert found.estimate == float(exact_auc)
    assert found.standard_error**2 == pytest.approx(float(exact_variance), rel=1e-13)


def whole_numbers(unsupported: np.ndarray, score: np.ndarray) -> tuple[Fraction, Fraction]:
    """Return AUC and DeLong's variance of integers of any size, from counts of each distinct score."""
    high, low = score[unsupported].tolist(), score[~unsupported].tolist()
    m, n = len(high), len(low)

    def doubled(own: list[float], other: list[float]) -> list[int]:
        """Return for each own score twice the number of lower ones, and 1 for each equal one."""
        count: dict[float, int] = {}
        for value in other:
            count[value] = count.get(value, 0) + 1
        below, at = 0, {}
        for value in sorted({*own, *other}):
            at[value] = 2 * below + count.get(value, 0)
            below += count.get(value, 0)
        return [at[value] for value in own]

    wins = doubled(high, low)
    total = sum(wins)
    losses = [2 * m - value for value in doubled(low, high)]
    assert sum(losses) == total
    s10 = Fraction(sum((m * d - total) ** 2 for d in wins), (2 * m * n) ** 2 * (m - 1))
    s01 = Fraction(sum((n * d - total) ** 2 for d in losses), (2 * m * n) ** 2 * (n - 1))
    return Fraction(total, 2 * m * n), s10 / m + s01 / n


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [300, 10**9])
def test_exact_at_a_hundred_thousand_against_as_many(distinct: int) -> None:
    rng = np.random.default_rng(2)
    unsupported = np.arange(200_000) % 2 == 0
    score = (rng.integers(0, distinct, 200_000) + unsupported * (distinct // 3)).astype(np.float64)
    exact_auc, exact_variance = whole_numbers(unsupported, score)
    found = roc_auc_interval(unsupported, score)
    assert found.estimate == float(exact_auc)
    assert found.standard_error**2 == pytest.approx(float(exact_variance), rel=1e-13)
    single = roc_auc_interval(unsupported, score, groups=np.arange(200_000))
    assert single.standard_error == pytest.approx(found.standard_error, rel=1e-13)


# -- properties


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_what_must_not_matter(seed: int, grouped: bool) -> None:
    rng = np.random.default_rng(seed)
    y, a, b, groups = sample(rng)
    options: dict[str, Any] = {"groups": groups} if grouped else {}
    one, two = roc_auc_interval(y, a, **options), compare_roc_auc(y, a, b, **options)

    def close(found: Any, expected: Any) -> None:
        one, other = found.to_dict(), expected.to_dict()
        assert one.keys() == other.keys()
        for name, value in other.items():
            near = pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value
            assert one[name] == near, name

    # Strictly increasing transforms, not of the same kind for the two.
    close(roc_auc_interval(y, np.exp(a), **options), one)
    close(compare_roc_auc(y, np.arctan(a), [1e9 * x - 5 for x in b], **options), two)
    # The order of answers, and the names and order of groups.
    order = rng.permutation(len(y))
    moved: dict[str, Any] = {"groups": [f"g{97 * groups[i] % 31}" for i in order]} if grouped else {}
    yo, ao, bo = ([values[i] for i in order] for values in (y, a, b))
    close(roc_auc_interval(yo, ao, **moved), one)
    close(compare_roc_auc(yo, ao, bo, **moved), two)
    # The other score first, and the other class as the unsupported one.
    back = compare_roc_auc(y, b, a, **options)
    assert back.difference == -two.difference
    assert (back.low, back.high) == pytest.approx((-two.high, -two.low))
    assert back.p_value == pytest.approx(two.p_value)
    flipped = roc_auc_interval([1 - label for label in y], [-x for x in a], **options)
    assert (flipped.estimate, flipped.low, flipped.high) == pytest.approx((one.estimate, one.low, one.high))
    reversed_score = roc_auc_interval(y, [-x for x in a], **options)
    assert (reversed_score.low, reversed_score.high) == pytest.approx((1 - one.high, 1 - one.low))


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_groups_of_one_answer_are_answers(seed: int) -> None:
    y, a, b, _ = sample(np.random.default_rng(seed))
    keys = [f"row {i * 7 % 24:02}" for i in range(24)]
    one, single = roc_auc_interval(y, a), roc_auc_interval(y, a, groups=keys)
    assert single.standard_error == pytest.approx(one.standard_error, rel=1e-13)
    two, pairs = compare_roc_auc(y, a, b), compare_roc_auc(y, a, b, groups=keys)
    assert pairs.statistic == pytest.approx(two.statistic, rel=1e-12)
    assert pairs.p_value_normal == pytest.approx(two.p_value, rel=1e-10)
    assert pairs.p_value >= two.p_value


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_a_weight_of_two_is_two_copies_in_one_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, a, b, _ = sample(rng)
    weight = rng.integers(0, 4, len(y))
    weight[:2] = 1
    copies = np.repeat(np.arange(len(y)), weight)
    if len({y[i] for i in copies}) < 2 or min(sum(y[i] == c for i in set(copies.tolist())) for c in (0, 1)) < 2:
        return
    yc, ac, bc = ([values[i] for i in copies] for values in (y, a, b))
    one, many = roc_auc_interval(y, a, sample_weight=weight), roc_auc_interval(yc, ac, groups=copies)
    assert one.estimate == pytest.approx(many.estimate, rel=1e-12)
    if many.standard_error is None:
        assert one.standard_error is None
        return
    assert one.standard_error == pytest.approx(many.standard_error, rel=1e-10)
    assert one.weighted
    assert (one.n_unsupported, one.n_supported) == (
        sum(y[i] for i in set(copies)),
        many.n_groups - sum(y[i] for i in set(copies)),
    )
    two, pairs = compare_roc_auc(y, a, b, sample_weight=3 * weight), compare_roc_auc(yc, ac, bc, groups=copies)
    assert two.difference == pytest.approx(pairs.difference, abs=1e-12)
    assert two.p_value == pytest.approx(pairs.p_value_normal, rel=1e-8)


def test_equal_weights_change_nothing() -> None:
    plain, weighted = (roc_auc_interval(Y, A, groups=SOURCE, sample_weight=w) for w in (None, [2.5] * 60))
    assert weighted.low == pytest.approx(plain.low, rel=1e-12)
    assert weighted.high == pytest.approx(plain.high, rel=1e-12)


# -- pitfalls


def test_identical_scores_have_p_1() -> None:
    rng = np.random.default_rng(0)
    for options in ({}, {"groups": SOURCE}, {"sample_weight": rng.random(60)}):
        for other in (A, [math.exp(x) for x in A]):
            found = compare_roc_auc(Y, A, other, **options)
            assert (found.difference, found.p_value, found.p_value_normal) == (0, 1, 1)
            assert (found.low, found.high, found.statistic, found.standard_error) == (0, 0, 0, 0)
            assert not found.undefined
    for alternative in ("greater", "less"):
        assert compare_roc_auc(Y, A, A, alternative=alternative).p_value == 1
    # Two perfect scores are alike, whatever their values.
    assert compare_roc_auc(Y, Y, [x + 0.1 * i / 60 for i, x in enumerate(Y)]).p_value == 1


def test_a_difference_that_does_not_vary_is_no_test() -> None:
    for options in ({}, {"groups": SOURCE}, {"sample_weight": [0.3] * 60}):
        found = compare_roc_auc(Y, Y, [1 - y for y in Y], **options)
        assert (found.difference, found.p_value, found.low, found.statistic) == (1, None, None, None)
        assert "does not vary" in found.undefined["p_value"]
        assert {"low", "high", "statistic", "p_value", "p_value_normal"} == set(found.undefined)
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_perfect_score_is_not_sure() -> None:
    reverse = roc_auc_interval(Y, [-y for y in Y])
    assert (reverse.estimate, reverse.low) == (0, 0)
    assert reverse.high == pytest.approx(1 - RANKING["newcombe_ci95_low_auc1_27_33"])
    assert reverse.direction == "reversed"
    assert reverse.undefined == {"standard_error": "the variance is 0"}
    for options in ({"method": "delong"}, {"scale": "linear"}):
        assert roc_auc_interval(Y, Y, **options).low == roc_auc_interval(Y, Y).low < 1
    # A score that says nothing has AUC 0.5 and no variance.
    constant = roc_auc_interval(Y, [0.3] * 60)
    assert (constant.estimate, constant.method, constant.direction) == (0.5, "newcombe", "inconclusive")
    assert constant.low < 0.4 < 0.6 < constant.high


def test_a_perfect_score_of_groups_counts_groups() -> None:
    from mycelium.detector.ranked import newcombe

    found = roc_auc_interval(Y, Y, groups=SOURCE)
    assert (found.low, found.high) == newcombe(1.0, 11, 16, 0.95)
    assert found.low < roc_auc_interval(Y, Y).low
    weight = [4.0 if i % 2 else 1.0 for i in range(60)]
    weighted = roc_auc_interval(Y, Y, sample_weight=weight)
    assert weighted.estimate == 1
    kish = [
        sum(w for w, y in zip(weight, Y, strict=True) if y == c) ** 2
        / sum(w * w for w, y in zip(weight, Y, strict=True) if y == c)
        for c in (1, 0)
    ]
    assert weighted.low == pytest.approx(newcombe(1.0, *kish, 0.95)[0], rel=1e-12)


def test_errors_that_cancel_within_groups_are_no_variance() -> None:
    """Group k holds an unsupported answer just above a supported one: what one class wins the other loses."""
    y, s, groups = [1, 0] * 7, [2 * (i // 2) + (i % 2 == 0) for i in range(14)], [i // 2 for i in range(14)]
    assert auc_covariance(y, s, s, groups) == 0
    found = roc_auc_interval(y, s, groups=groups)
    assert (found.estimate, found.method, found.standard_error) == (4 / 7, "newcombe", None)
    assert found.low < 4 / 7 < found.high


@pytest.mark.parametrize("score", [[0.9, 0.1, 0.2, 0.3], [0.2, 0.1, 0.2, 0.3]])
def test_one_answer_of_a_class_has_no_interval(score: list[float]) -> None:
    for y in ([1, 0, 0, 0], [0, 1, 1, 1]):
        for method in ("auto", "newcombe"):
            found = roc_auc_interval(y, score, method=method)
            assert found.estimate == float(placements(y, score)[0])
            assert (found.low, found.high, found.standard_error) == (None, None, None)
            rare = "unsupported" if sum(y) == 1 else "supported"
            assert found.undefined["low"].startswith(f"1 {rare} answer: ")
            assert found.direction == "inconclusive"
        other = compare_roc_auc(y, score, score)
        assert (other.difference, other.p_value) == (0, None)
        json.dumps([found.to_dict(), other.to_dict()], allow_nan=False)


def test_one_group_of_a_class_has_no_interval() -> None:
    found = roc_auc_interval([1, 1, 0, 0, 0], [0.5, 0.4, 0.5, 0.1, 0.2], groups=["a", "a", "b", "a", "c"])
    assert found.estimate == 0.75
    assert (found.low, found.high) == (None, None)
    assert found.undefined["low"].startswith("all unsupported answers are in one group")


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_auc(label: int) -> None:
    found, other = roc_auc_interval([label] * 5, range(5)), compare_roc_auc([label] * 5, range(5), range(5))
    assert (found.estimate, found.low) == (None, None)
    assert (other.estimate_a, other.difference, other.p_value) == (None, None, None)
    reason = f"there are no {'supported' if label else 'unsupported'} answers"
    assert found.undefined == dict.fromkeys(("estimate", "low", "high", "standard_error"), reason)
    assert set(other.undefined.values()) == {reason}
    json.dumps([found.to_dict(), other.to_dict()], allow_nan=False)


def test_average_precision_without_unsupported_answers_is_undefined_not_0() -> None:
    found = ranking.average_precision([0, 0], [0.1, 0.2])
    assert (found.estimate, found.baseline) == (None, 0)
    assert found.undefined == {"estimate": "there are no unsupported answers"}
    assert average_precision_at_prevalence_score([0, 0], [0.1, 0.2], prevalence=0.1) is None
    everything = ranking.average_precision([1, 1], [0.1, 0.2])
    assert (everything.estimate, everything.baseline, everything.undefined) == (1, 1, {})
    assert ranking.average_precision([1, 1], [0.1, 0.2], prevalence=0.5).estimate is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_alternatives() -> None:
    for options, df in (({}, None), ({"groups": SOURCE}, 19)):
        two = compare_roc_auc(Y, A, B, **options)
        greater, less = (compare_roc_auc(Y, A, B, alternative=name, **options) for name in ("greater", "less"))
        assert greater.p_value == pytest.approx(two.p_value / 2)
        assert greater.p_value + less.p_value == pytest.approx(1)
        assert greater.p_value_normal == pytest.approx(stats.norm.sf(two.statistic))
        q = stats.norm.ppf(0.95) if df is None else stats.t.ppf(0.95, df)
        assert (greater.low, greater.high) == pytest.approx((two.difference - q * two.standard_error, 1))
        assert (less.low, less.high) == pytest.approx((-1, two.difference + q * two.standard_error))


def test_the_interval_and_the_test_agree() -> None:
    for alternative in ("two-sided", "greater", "less"):
        p = compare_roc_auc(Y, A, B, groups=SOURCE, alternative=alternative).p_value
        for level, outside in ((1 - p - 1e-9, True), (1 - p + 1e-9, False)):
            found = compare_roc_auc(Y, A, B, groups=SOURCE, alternative=alternative, confidence_level=level)
            assert (not found.low <= 0 <= found.high) == outside


def test_confidence_level() -> None:
    found = roc_auc_interval(Y, A, confidence_level=0.9, scale="linear")
    assert found.high - found.estimate == pytest.approx(stats.norm.ppf(0.95) * math.sqrt(RANKING["delong_var_a"]))
    found = roc_auc_interval(Y, A, confidence_level=0.9, groups=SOURCE)
    wide = stats.t.ppf(0.95, 19) * found.standard_error / (found.estimate * (1 - found.estimate))
    assert found.high == pytest.approx(special.expit(special.logit(found.estimate) + wide), rel=1e-12)
    y, s = [1, 1, 0, 0, 0], [0.9, 0.3, 0.4, 0.1, 0.2]
    assert roc_auc_interval(y, s, scale="linear").high == 1
    assert roc_auc_interval(y, [-x for x in s], scale="linear").low == 0
    assert compare_roc_auc(y, s, [-x for x in s]).high == 1
    assert compare_roc_auc(y, [-x for x in s], s).low == -1


def test_scores_become_float64_first() -> None:
    # As float32, 0.1 and 0.1 + 1e-9 are one number, and stay one as float64.
    close = np.array([0.1 + 1e-9, 0.1, 0.3, 0.05])
    assert roc_auc_interval([1, 0, 1, 0], close).estimate == 1
    assert roc_auc_interval([1, 0, 1, 0], close.astype(np.float32)).estimate == 0.875


def test_scores_that_are_missing_or_infinite() -> None:
    nan, inf = float("nan"), float("inf")
    y, a, b = [1, 0, 1, 0, 1, 0], [0.9, nan, 0.3, 0.2, inf, -inf], [0.9, 0.1, nan, 0.2, 0.5, 0.4]
    with pytest.raises(ValueError, match=r"y_score: row 1 has no score \(NaN\)"):
        roc_auc_interval(y, a)
    with pytest.raises(ValueError, match="y_score_b: row 2 has no score"):
        compare_roc_auc(y, [0.0] * 6, b)
    omitted, rejected = (roc_auc_interval(y, a, nan_policy=policy) for policy in ("omit", "reject"))
    assert (omitted.estimate, omitted.n_supported, omitted.n_unscored) == (1, 2, 1)
    # The supported answer without a score ties with infinity.
    assert (rejected.estimate, rejected.n_supported, rejected.n_unscored) == (6.5 / 9, 3, 1)
    both = compare_roc_auc(y, a, b, groups=list("aabbcc"), nan_policy="omit")
    assert (both.n_unsupported, both.n_supported, both.n_omitted) == (2, 2, 2)
    assert (both.n_unscored_a, both.n_unscored_b, both.n_groups) == (1, 1, 3)
    assert (both.estimate_a, both.estimate_b) == (1, 1)
    assert ranking.average_precision(y, a, nan_policy="omit").estimate == 1
    assert ranking.average_precision(y, a, nan_policy="reject").n_unscored == 1


def test_labels_may_be_words() -> None:
    words = ["unsupported" if label else "supported" for label in Y]
    assert roc_auc_interval(words, A) == roc_auc_interval(Y, A)
    assert roc_auc_interval([f"class {label}" for label in Y], A, pos_label="class 1") == roc_auc_interval(Y, A)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"method": "hanley"}, ValueError, "method must be one of"),
        ({"scale": "probit"}, ValueError, "scale must be one of"),
        ({"method": "obuchowski"}, ValueError, "needs groups"),
        ({"method": "delong", "groups": SOURCE}, ValueError, "takes answers as independent"),
        ({"method": "newcombe", "sample_weight": [1.0] * 60}, ValueError, "has no weights"),
        ({"confidence_level": 95}, ValueError, "confidence_level must lie"),
        ({"groups": SOURCE[1:]}, ValueError, "groups has 59 values"),
        ({"sample_weight": [-1.0] * 60}, ValueError, "sample_weight: row 0"),
        ({"nan_policy": "drop"}, ValueError, "nan_policy must be one of"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        roc_auc_interval(Y, A, **options)


def test_bad_comparisons() -> None:
    with pytest.raises(ValueError, match="y_score_b has 59 values"):
        compare_roc_auc(Y, A, B[1:])
    with pytest.raises(ValueError, match="alternative must be one of"):
        compare_roc_auc(Y, A, B, alternative="better")
    with pytest.raises(ValueError, match="y_true has no rows"):
        compare_roc_auc([], [], [])
    with pytest.raises(ValueError, match="prevalence must lie"):
        average_precision_at_prevalence_score(Y, A, prevalence=1)


# -- coverage


def clustered_scores(rng: np.random.Generator, groups: int, gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores and groups of one to seven answers that share what makes them risky."""
    size = rng.integers(1, 8, groups)
    group = np.repeat(np.arange(groups), size)
    y = rng.random(len(group)) < np.repeat(rng.beta(1, 1.2, groups), size)
    return y, rng.normal(size=len(group)) + np.repeat(rng.normal(size=groups), size) + gap * y, group


@pytest.mark.slow
@pytest.mark.parametrize("groups", [15, 40])
def test_clustered_intervals_cover(groups: int) -> None:
    """95 % intervals of answers in groups hold the true AUC; those of independent answers do not."""
    rng = np.random.default_rng(groups)
    gap, runs = 1.6, 600
    # Both scores have variance 2, and two answers of different groups are independent.
    truth = stats.norm.cdf(gap / 2)
    held = {"clustered": 0, "rows": 0}
    for _ in range(runs):
        y, s, group = clustered_scores(rng, groups, gap)
        clustered, rows = roc_auc_interval(y, s, groups=group), roc_auc_interval(y, s)
        held["clustered"] += clustered.low <= truth <= clustered.high
        held["rows"] += rows.low <= truth <= rows.high
    assert 0.915 <= held["clustered"] / runs <= 0.985
    assert held["rows"] < held["clustered"] - 0.03 * runs


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_paired_tests_reject_as_often_as_they_say(grouped: bool) -> None:
    """Two scores with one AUC: a test at 5 % rejects in about one sample of twenty."""
    rng = np.random.default_rng(11)
    runs, rejected = 600, 0
    for _ in range(runs):
        y, shared, group = clustered_scores(rng, 40, 1.0)
        a, b = (shared + rng.normal(size=len(y)) for _ in range(2))
        if not grouped:
            y = rng.random(120) < 0.4
            shared = rng.normal(size=120) + y
            a, b = (shared + rng.normal(size=120) for _ in range(2))
        rejected += compare_roc_auc(y, a, b, groups=group if grouped else None).p_value < 0.05
    assert 0.025 <= rejected / runs <= 0.08


@pytest.mark.slow
def test_intervals_of_weighted_answers_cover_where_those_without_weights_do_not() -> None:
    """Of answers with a clear score one in four is labelled: unweighted AUC is then that of the unclear ones."""
    rng = np.random.default_rng(4)
    truth, runs = stats.norm.cdf(1 / math.sqrt(2)), 500
    held = {"weighted": 0, "plain": 0}
    for _ in range(runs):
        y = rng.random(700) < 0.3
        s = rng.normal(size=700) + y
        chance = np.where(np.abs(s - 0.5) < 0.7, 1.0, 0.25)
        kept = rng.random(700) < chance
        for name, weight in (("weighted", 1 / chance[kept]), ("plain", None)):
            found = roc_auc_interval(y[kept], s[kept], sample_weight=weight)
            held[name] += found.low <= truth <= found.high
    assert 0.92 <= held["weighted"] / runs <= 0.98
    assert held["plain"] / runs < 0.75


def test_every_result_says_how_many() -> None:
    for result in (
        roc_auc_interval(Y, A, groups=SOURCE),
        compare_roc_auc(Y, A, B),
        ranking.average_precision(Y, A),
    ):
        plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert (plain["n_unsupported"], plain["n_supported"], plain["undefined"]) == (27, 33, {})
    assert roc_auc_interval(Y, A).to_dict()["direction"] == "consistent"
    assert binomial_interval(2, 27).to_dict()["n"] == 27
