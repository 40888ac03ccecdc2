"""required_examples(): against the textbook's formula, power counted directly, and the permutation test itself."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from mycelium.planning import RequiredExamples, required_examples


def pilot(mean: float, sd: float, n: int = 400, seed: int = 0) -> np.ndarray:
    """Return normal differences with exactly that mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=n)
    return (values - values.mean()) / values.std() * sd + mean


def formula(mean: float, sd: float, power: float = 0.8, alpha: float = 0.05, sides: int = 2) -> float:
    z = NormalDist().inv_cdf
    return ((z(1 - alpha / sides) + z(power)) * sd / mean) ** 2


@pytest.mark.parametrize(
    ("options", "sides"),
    [
        ({}, 2),
        ({"power": 0.9}, 2),
        ({"alpha": 0.01}, 2),
        ({"alternative": "greater"}, 1),
        ({"power": 0.95, "alpha": 0.1, "alternative": "greater"}, 1),
    ],
)
def test_the_textbook_formula(options: dict[str, Any], sides: int) -> None:
    found = required_examples(pilot(0.02, 0.2), **options, n_simulations=4000)
    plain = {k: v for k, v in options.items() if k != "alternative"}
    expected = formula(0.02, 0.2, sides=sides, **plain)
    assert found.examples == pytest.approx(expected, rel=0.06)
    assert found.groups == found.examples
    assert found.power >= options.get("power", 0.8)
    assert found.effect == pytest.approx(0.02)


def test_an_effect_shifts_the_pilot() -> None:
    # The pilot's own mean is of no consequence then, its spread is.
    shifted = [required_examples(pilot(mean, 0.2), effect=0.03) for mean in (0.0, 0.02, -0.5)]
    assert {found.examples for found in shifted} == {shifted[0].examples}
    assert shifted[0].examples == pytest.approx(formula(0.03, 0.2), rel=0.06)
    assert all(found.effect == 0.03 for found in shifted)


def test_twice_the_effect_needs_a_quarter_of_the_examples() -> None:
    small, large = (required_examples(pilot(0.0, 0.2), effect=effect).examples for effect in (0.01, 0.02))
    assert small / large == pytest.approx(4, rel=0.08)


def test_the_scale_of_the_metric_is_of_no_consequence() -> None:
    assert required_examples(100 * pilot(0.02, 0.2)).examples == required_examples(pilot(0.02, 0.2)).examples


def test_signs() -> None:
    values = pilot(0.03, 0.2)
    assert required_examples(values).examples == required_examples(-values).examples
    assert (
        required_examples(values, alternative="greater").examples
        == required_examples(-values, alternative="less").examples
        < required_examples(values).examples
    )


def test_groups_that_go_together_need_more_examples() -> None:
    # Five equal differences in each of 80 groups tell as much as one: five times the examples.
    one = pilot(0.05, 0.2, n=80)
    five = required_examples(np.repeat(one, 5), groups=np.repeat(np.arange(80), 5))
    single = required_examples(one)
    assert (five.groups, five.examples) == (single.groups, 5 * single.examples)
    assert (five.unit, single.unit, five.group_size) == ("group", "example", 5.0)
    # Taken for rows of their own, a fifth of that would seem to do.
    assert required_examples(np.repeat(one, 5)).examples < five.examples / 4


def test_what_cancels_out_within_groups_is_of_no_consequence() -> None:
    one = pilot(0.05, 0.2, n=80)
    pairs = np.column_stack([one + 0.5, one - 0.5]).ravel()
    found = required_examples(pairs, groups=np.repeat(np.arange(80), 2))
    assert found.groups == required_examples(one).groups
    assert required_examples(pairs).examples > 3 * found.examples


def test_the_size_of_groups() -> None:
    # Groups of one and of three: two on average.
    values = pilot(0.05, 0.2, n=80)
    groups = [i // 4 * 2 + (i % 4 > 0) for i in range(80)]
    found = required_examples(values, groups=groups)
    assert found.group_size == 2.0
    assert found.examples == 2 * found.groups
    assert found.signature == (
        "planning|pilot:40 groups|effect:0.05|power:0.8|alpha:0.05|alternative:two-sided|simulations:2000|seed:0"
    )


def test_power_counted_directly() -> None:
    values = pilot(0.06, 0.2, n=50)
    found = required_examples(values, n_simulations=500, seed=3)
    for point in found.curve:
        drawn = values[np.random.default_rng(3).integers(0, 50, (500, int(point["groups"])))]
        z = drawn.sum(axis=1) / np.sqrt((drawn**2).sum(axis=1))
        assert point["power"] == (np.abs(z) >= 1.959963984540054).mean()
    (own,) = [point for point in found.curve if point["groups"] == found.groups]
    assert own["power"] == found.power >= 0.8
    sizes = [point["groups"] for point in found.curve]
    assert sizes == sorted(sizes)
    assert sizes[0] < found.groups < sizes[-1]


@pytest.mark.parametrize("seed", range(5))
def test_one_group_less_has_less_power(seed: int) -> None:
    values = pilot(0.06, 0.2, n=50)
    found = required_examples(values, n_simulations=500, seed=seed)
    drawn = values[np.random.default_rng(seed).integers(0, 50, (500, found.groups - 1))]
    assert (np.abs(drawn.sum(axis=1)) >= 1.959963984540054 * np.sqrt((drawn**2).sum(axis=1))).mean() < 0.8


def test_never_fewer_groups_than_a_permutation_test_needs() -> None:
    # 2 / 2**5 = 0.0625 is above 0.05, 2 / 2**6 is not; 1 / 2**5 is not.
    assert required_examples([0.5, 0.5, 0.5]).examples == 6
    assert required_examples([0.5, 0.5, 0.5], alternative="greater").examples == 5
    assert required_examples([0.5, 0.5, 0.5], alpha=0.0625).examples == 5
    assert required_examples([0.5, 0.5, 0.5]).power == 1.0


def test_rare_differences() -> None:
    # Most pairs of systems agree on most examples: a draw in which all do finds nothing.
    values = np.zeros(200)
    values[:6] = 1.0
    found = required_examples(values)
    # The test needs about four differences, all of one sign: P(Poisson(m) >= 4) = 0.8 at m = 5.52, for 3% of examples.
    assert found.examples == pytest.approx(5.52 / 0.03, rel=0.06)
    # A quarter of that: P(Poisson(1.38) >= 4) = 0.05. A draw without any difference, of 0.25, is no finding.
    assert found.curve[0]["power"] == pytest.approx(0.05, abs=0.02)


def test_the_same_call_gives_the_same_answer() -> None:
    values = pilot(0.03, 0.2)
    assert required_examples(values) == required_examples(values)
    assert required_examples(values, seed=1).curve != required_examples(values).curve
    rngs = [np.random.default_rng(4) for _ in range(2)]
    one, other = (required_examples(values, seed=rng) for rng in rngs)
    assert one == other
    assert one.signature.endswith("|seed:generator")
    assert one.curve != required_examples(values, seed=rngs[0]).curve


def test_describe() -> None:
    found = required_examples([0.5, 0.5, 0.5])
    assert isinstance(found, RequiredExamples)
    assert found.describe() == (
        "6 examples: a mean difference of +0.5 is then found by a two-sided paired permutation test at level 0.05 with"
        " power 1.000 (at least 0.8 was asked for; 2,000 simulated studies, standard error 0.000)"
    )
    grouped = required_examples([0.5] * 6, groups=[1, 1, 2, 2, 3, 3])
    assert grouped.describe().startswith("12 examples in 6 groups of 2 on average: a mean difference")


@pytest.mark.parametrize(
    ("differences", "options", "kind", "message"),
    [
        ([], {}, ValueError, "differences are empty"),
        ([[0.1]], {}, ValueError, r"one dimension.*\(1, 1\)"),
        (["a"], {}, TypeError, "differences must hold numbers"),
        ([True, False], {}, TypeError, "differences must hold numbers"),
        ([0.1, math.nan], {}, ValueError, "row 1 is nan"),
        ([0.0, 0.0], {}, ValueError, "all differences are 0"),
        ([0.0, 0.0], {"effect": 0.1}, ValueError, "all differences are 0"),
        ([0.1, -0.1], {}, ValueError, "the mean difference is 0"),
        ([0.1, 0.2, -0.3], {}, ValueError, "the mean difference is 0"),
        ([0.1, 0.2], {"effect": 0}, ValueError, "effect must be a number other than 0"),
        ([0.1, 0.2], {"effect": math.inf}, ValueError, "effect must be a number other than 0"),
        ([0.1, 0.2], {"effect": "0.1"}, TypeError, "effect must be a number"),
        ([0.1, 0.2], {"alternative": "less"}, ValueError, "never found by a test with alternative='less'"),
        ([0.1, 0.2], {"alternative": "greater", "effect": -1}, ValueError, "never found"),
        ([0.1, 0.2], {"alternative": "more"}, ValueError, "alternative must be one of"),
        ([0.1, 0.2], {"power": 1.0}, ValueError, "power must lie between 0 and 1"),
        ([0.1, 0.2], {"alpha": 0}, ValueError, "alpha must lie between 0 and 1"),
        ([0.1, 0.2], {"n_simulations": 0}, ValueError, "n_simulations must be at least 1"),
        ([0.1, 0.2], {"max_examples": 5}, ValueError, "max_examples=5 is too small: with fewer than 6 examples"),
        ([0.1, 0.2], {"groups": [1]}, ValueError, "groups has 1 values"),
        ([0.1, 0.2], {"seed": -1}, ValueError, "seed must be at least 0"),
        ([0.1, 0.2], {"seed": True}, TypeError, "seed must be an integer"),
        ([0.3, -0.2], {"max_examples": 10}, ValueError, r"max_examples=10 have power 0\.\d+ only, not 0.8"),
        ([0.3, -0.3], {"effect": 1e-300, "max_examples": 10}, ValueError, "max_examples=10 have power"),
    ],
)
def test_refusals(differences: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        required_examples(differences, **options)


@pytest.mark.slow
def test_the_normal_form_has_the_power_of_the_permutation_test() -> None:
    # Studies of the proposed size, each tested by 999 permutations of its own.
    rng = np.random.default_rng(2)
    values = np.clip(pilot(0.08, 0.3, n=60), -1, 1) * (rng.random(60) < 0.6)
    groups = np.repeat(np.arange(20), 3)
    found = required_examples(values, groups=groups, n_simulations=10_000)
    sums = np.bincount(groups, values)
    significant = 0
    for _ in range(1500):
        d = sums[rng.integers(0, 20, found.groups)]
        sign = rng.choice([-1.0, 1.0], (999, found.groups))
        p = ((np.abs(sign @ d) >= abs(d.sum()) * (1 - 1e-12)).sum() + 1) / 1000
        significant += p <= 0.05
    # Two simulations differ by their errors, 0.004 and 0.0104, and the size that was chosen is a lucky one.
    assert significant / 1500 == pytest.approx(found.power, abs=0.004 + 3 * math.hypot(0.004, 0.0104))
