"""Contests against scipy on the same draws, and the adjustment of many p-values.

A contest of means is what scipy computes as well: the same generator must give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
from samples import approx

from mycelium.additive import Additive, mean
from mycelium.draws import Units, units_of
from mycelium.resample import interval
from mycelium.versus.contest import Contest
from mycelium.versus.multiplicity import adjust

#: The argument was named otherwise before, with the same draws.
RNG = "rng" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "random_state"


def means(values: np.ndarray, units: Units | None = None) -> Additive:
    """Return the mean of the values as an average over units."""
    units = units or units_of(None, len(values))
    sums = np.stack([np.bincount(units.index, column, len(units)) for column in (values, np.ones(len(values)))], axis=1)
    return Additive(sums, mean)


def contest(*systems: np.ndarray) -> Contest:
    return Contest([[[means(values)] for values in systems]])


def sample(n: int = 40, systems: int = 2, seed: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    base = rng.random(n)
    return [np.clip(base + rng.normal(0.03 * s, 0.15, n), 0, 1) for s in range(systems)]


PAIR = np.array([[0, 1]])


def difference(a: Any, b: Any, axis: int = -1) -> Any:
    return np.mean(a, axis=axis) - np.mean(b, axis=axis)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize(("n", "n_resamples"), [(40, 999), (8, 1000)])
def test_one_sided_p_values_are_those_of_scipy(alternative: str, n: int, n_resamples: int) -> None:
    a, b = sample(n)
    theirs = scipy.stats.permutation_test(
        (a, b),
        difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        alternative=alternative,
        **{RNG: np.random.default_rng(11)},
    )
    ours = contest(a, b).test(PAIR, n_resamples, np.random.default_rng(11), alternative)
    assert ours.exact == (2**n <= n_resamples)
    assert 0 < theirs.pvalue < 1
    assert ours.p_values.ravel() == approx([theirs.pvalue])


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_paired_intervals_are_those_of_scipy(ours: str, theirs: str) -> None:
    a, b = sample(60)
    found = scipy.stats.bootstrap(
        (a, b),
        difference,
        paired=True,
        vectorized=True,
        n_resamples=1500,
        confidence_level=0.9,
        method=theirs,
        **{RNG: np.random.default_rng(4)},
    )
    both = contest(a, b)
    scores, replicates, left = both.scores(), both.replicates(1500, np.random.default_rng(4)), both.jackknife()
    drawn = replicates[:, 0, 0] - replicates[:, 1, 0]
    assert drawn == approx(found.bootstrap_distribution)
    low, high, method, note = interval(scores[0, 0] - scores[1, 0], drawn, 0.9, ours, left[:, 0, 0] - left[:, 1, 0])
    assert (method, note) == (ours, "")
    assert [low, high] == approx(list(found.confidence_interval))


def test_three_groups_by_hand() -> None:
    # Sums of a - b in the groups: 4, 2, -1 (tenths); five rows, so that T = 0.5 / 5 = 0.1. The eight patterns give
    # +-4 +-2 +-1: 7, 5, 3, 1, -1, -3, -5, -7, of which the observed is 5.
    a, b = np.array([0.9, 0.5, 0.6, 0.4, 0.8]), np.array([0.5, 0.5, 0.4, 0.5, 0.8])
    units = units_of(["x", "x", "y", "z", "z"], 5)
    grouped = Contest([[[means(a, units)], [means(b, units)]]])
    found = {name: grouped.test(PAIR, 8, 0, name) for name in ("two-sided", "greater", "less")}
    assert all((one.exact, one.n_permutations) == (True, 8) for one in found.values())
    assert found["two-sided"].p_values.tolist() == [[4 / 8]]  # 7, 5, -5, -7
    assert found["greater"].p_values.tolist() == [[2 / 8]]  # 7, 5
    assert found["less"].p_values.tolist() == [[7 / 8]]  # all but 7
    # One pattern more than may be drawn, and they are drawn at random.
    assert not grouped.test(PAIR, 7, 0).exact


def test_all_pairs_and_outputs_share_the_patterns() -> None:
    a, b, c = sample(30, 3)
    together = contest(a, b, c).test(np.array([[0, 1], [0, 2], [2, 1]]), 500, 9)
    for i, (x, y) in enumerate([(a, b), (a, c), (c, b)]):
        assert contest(x, y).test(PAIR, 500, 9).p_values.tolist() == [together.p_values[i].tolist()]
    drawn = contest(a, b, c).replicates(300, 9)
    assert contest(a, c).replicates(300, 9) == approx(drawn[:, [0, 2]])


def test_strata_are_drawn_apart_and_averaged() -> None:
    (a1, b1), (a2, b2) = sample(12), sample(20, seed=8)
    both = Contest([[[means(a1)], [means(b1)]], [[means(a2)], [means(b2)]]])
    assert both.scores()[:, 0] == approx([(a1.mean() + a2.mean()) / 2, (b1.mean() + b2.mean()) / 2])
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 12, (200, 12)), rng.integers(0, 20, (200, 20))
    drawn = both.replicates(200, 2)
    assert drawn[:, 0, 0] == approx((a1[first].mean(axis=1) + a2[second].mean(axis=1)) / 2)
    # A pattern swaps a unit of one stratum or of the other: 2**32 patterns, 200 of them drawn.
    swapped = np.random.default_rng(2).integers(0, 2**32, (200, 32), dtype=np.uint32) % 2 == 0
    sign = np.where(swapped, -1, 1)
    moved = (sign[:, :12] @ (a1 - b1) / 12 + sign[:, 12:] @ (a2 - b2) / 20) / 2
    observed = ((a1 - b1).mean() + (a2 - b2).mean()) / 2
    expected = ((np.abs(moved) >= abs(observed) * (1 - 1e-12)).sum() + 1) / 201
    assert both.test(PAIR, 200, 2).p_values.tolist() == [[expected]]
    with pytest.raises(ValueError, match="one stratum"):
        both.jackknife()


def test_holm_by_hand() -> None:
    # Sorted: 0.005 * 4 = 0.02, 0.01 * 3 = 0.03, 0.03 * 2 = 0.06, 0.04 * 1 = 0.04, which may not be below 0.06.
    assert adjust(np.array([0.01, 0.04, 0.03, 0.005]), "holm") == approx([0.03, 0.06, 0.06, 0.02])
    # 0.6 * 2 is more than a probability can be.
    assert adjust(np.array([0.6, 0.7]), "holm") == approx([1.0, 1.0])


def test_benjamini_hochberg_by_hand_and_as_scipy_has_it() -> None:
    # Sorted: 0.005 * 4/1 = 0.02, 0.01 * 4/2 = 0.02, 0.03 * 4/3 = 0.04, 0.04 * 4/4 = 0.04.
    assert adjust(np.array([0.01, 0.04, 0.03, 0.005]), "bh") == approx([0.02, 0.04, 0.04, 0.02])
    p = np.random.default_rng(1).random(50) ** 3
    assert adjust(p, "bh") == approx(scipy.stats.false_discovery_control(p, method="bh"))


def test_without_correction_and_with_a_wrong_one() -> None:
    assert adjust(np.array([0.2, 0.1]), "none").tolist() == [0.2, 0.1]
    assert adjust(np.zeros(0), "holm").tolist() == []
    with pytest.raises(ValueError, match="correction must be one of 'holm', 'bh', 'none', got 'bonferroni'"):
        adjust(np.array([0.2]), "bonferroni")
