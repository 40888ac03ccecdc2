"""Intervals and permutation tests against scipy on the same draws, and their edges by hand."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest
from samples import approx
from scipy import stats

from mycelium.draws import draw, leave_one_out, replicate
from mycelium.resample import METHODS, Interval, interval, permutation_test

#: What scipy calls the source of its draws, a name that has changed.
RNG = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"


def seeded(seed: int) -> dict[str, Any]:
    return {RNG: np.random.default_rng(seed)}


# -- intervals


def of_mean(values: Any, level: float, method: str, n_resamples: int, seed: int) -> Interval:
    sums = values[:, np.newaxis]
    replicates = replicate(draw(np.random.default_rng(seed), len(values), n_resamples), sums, n_resamples)[:, 0]
    jackknife = leave_one_out(sums)[:, 0] / (len(values) - 1)
    return interval(values.mean(), replicates / len(values), level, method, jackknife)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_intervals_are_those_of_scipy(method: str, level: float) -> None:
    values = np.random.default_rng(1).exponential(size=37)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=800, confidence_level=level, method=method, **seeded(5)
    ).confidence_interval
    ours = of_mean(values, level, method, 800, 5)
    assert [ours.low, ours.high] == approx([theirs.low, theirs.high])
    assert (ours.method, ours.note) == (method, "")


def test_the_corrected_interval_differs() -> None:
    """Else the comparison with scipy would say nothing of the correction."""
    values = np.random.default_rng(1).exponential(size=37)
    percentile, bca, basic = (of_mean(values, 0.95, method, 800, 5) for method in METHODS)
    assert bca.low > percentile.low + 0.01  # skewed to the right: both ends move up
    assert bca.high > percentile.high + 0.01
    assert basic.high == approx(2 * values.mean() - percentile.low)
    assert basic.low == approx(2 * values.mean() - percentile.high)


def test_degenerate_replicates() -> None:
    jackknife = np.array([0.1, 0.2, 0.3])
    for method in METHODS:
        found = interval(0.5, np.full(9, 0.5), 0.95, method, jackknife)
        assert (found.low, found.high, found.note) == (0.5, 0.5, "all replicates are equal")
    for point in (-0.1, 1.1):
        found = interval(point, np.linspace(0, 1, 101), 0.9, "bca", jackknife)
        assert [found.low, found.high] == approx([0.05, 0.95])
        assert (found.method, found.note) == ("percentile", "all replicates lie on one side of the score")
    for same in (0.25, 0.2):  # the mean of three times 0.2 is not quite 0.2
        found = interval(0.5, np.linspace(0, 1, 101), 0.9, "bca", np.full(3, same))
        assert [found.low, found.high] == approx([0.05, 0.95])
        assert (found.method, found.note) == ("percentile", "no unit changes the score")
    with pytest.raises(ValueError, match="bca"):
        interval(0.5, np.linspace(0, 1, 101), 0.9, "bca")
    with pytest.raises(ValueError, match=r"percentile.*bca.*basic"):
        interval(0.5, np.linspace(0, 1, 101), 0.9, "normal")


def test_replicates_equal_to_the_score_lie_half_below() -> None:
    """Three below, four equal, three above: no bias; a jackknife without skew: no acceleration."""
    replicates = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.7, 0.8, 0.9])
    symmetric = np.array([0.4, 0.5, 0.6])
    bca = interval(0.5, replicates, 0.8, "bca", symmetric)
    percentile = interval(0.5, replicates, 0.8, "percentile")
    assert [bca.low, bca.high] == approx([percentile.low, percentile.high])
    assert bca.method == "bca"


# -- permutation tests


def differences(a: Any, b: Any, axis: int = -1) -> Any:
    return np.mean(a, axis=axis) - np.mean(b, axis=axis)


def of_pairs(a: Any, b: Any, n_resamples: int, seed: int, alternative: str) -> Any:
    gained = (b - a)[:, np.newaxis]

    def permuted(pattern: Any) -> Any:
        return (a.mean() - b.mean()) + 2 * (pattern @ gained) / len(a)

    observed = np.array([a.mean() - b.mean()])
    return permutation_test(observed, permuted, len(a), n_resamples, np.random.default_rng(seed), alternative)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize(("size", "n_resamples"), [(9, 600), (24, 500)])
def test_one_sided_p_values_are_those_of_scipy(alternative: str, size: int, n_resamples: int) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.3, 1, size), rng.normal(0, 1, size)
    theirs = stats.permutation_test(
        (a, b),
        differences,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        alternative=alternative,
        **seeded(4),
    )
    ours = of_pairs(a, b, n_resamples, 4, alternative)
    assert ours.p_values.tolist() == [theirs.pvalue]
    assert ours.exact == (2**size <= n_resamples)
    assert ours.n_permutations == (2**size if ours.exact else n_resamples)
    assert 0.02 < theirs.pvalue < 0.98


def test_two_sided_exact_p_values_count_both_signs() -> None:
    """The share of the 2**5 sign patterns whose mean is as far from 0 as that of 1, 2, 3, 4, -1 (9 of 11)."""
    a, b = np.array([1.0, 2.0, 3.0, 4.0, -1.0]), np.zeros(5)
    sums = [abs(sum(s * v for s, v in zip(signs, a, strict=True))) for signs in itertools.product([1, -1], repeat=5)]
    expected = sum(total >= 9 for total in sums) / 32
    found = of_pairs(a, b, 32, 0, "two-sided")
    assert (found.p_values.tolist(), found.exact, found.n_permutations) == ([expected], True, 32)
    assert expected == 6 / 32  # both signs of: as it is, the last turned (11), the first turned (the last is -1 too)


def test_equal_systems_have_p_one_and_random_p_values_are_never_zero() -> None:
    same = np.random.default_rng(0).random(40)
    for alternative in ("two-sided", "greater", "less"):
        assert of_pairs(same, same, 99, 0, alternative).p_values.tolist() == [1.0]
    assert of_pairs(same + 1, same, 99, 0, "two-sided").p_values.tolist() == [1 / 100]


def test_rounding_does_not_lower_a_p_value() -> None:
    """A permuted difference that is smaller by rounding only reaches the observed one."""
    observed = np.array([0.3])
    found = permutation_test(
        observed, lambda pattern: np.full((len(pattern), 1), 0.3 * (1 - 1e-14)), 20, 50, np.random.default_rng(0)
    )
    assert found.p_values.tolist() == [1.0]
    found = permutation_test(
        observed, lambda pattern: np.full((len(pattern), 1), 0.3 * (1 - 1e-9)), 20, 50, np.random.default_rng(0)
    )
    assert found.p_values.tolist() == [1 / 51]


def test_wrong_alternatives() -> None:
    with pytest.raises(ValueError, match=r"two-sided.*greater.*less"):
        of_pairs(np.ones(3), np.zeros(3), 9, 0, "both")
