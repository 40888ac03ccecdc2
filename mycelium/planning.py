"""Planning: how many examples must be annotated to tell two systems apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from mycelium.draws import Units, as_generator, check_level, check_resamples, draw, seed_name, sum_by_unit, units_of
from mycelium.progress import progress
from mycelium.resample import ALTERNATIVES
from mycelium.spans import FloatArray

__all__ = ["RequiredExamples", "required_examples"]

#: The curve is drawn at these shares of the groups that are required.
SHARES = (0.25, 0.5, 0.75, 1.0, 1.25)
#: The search ends at this share of the number of groups: more exactly than the simulation knows it.
FINE = 200


@dataclass(frozen=True)
class RequiredExamples:
    """What a study needs to tell two systems apart.

    Attributes
    ----------
    examples : int
        How many examples to annotate: the groups times their mean size in the pilot.
    groups : int
        How many groups to draw; the number of examples where each is a unit of its own.
    power : float
        The share of simulated studies of that size whose test was significant.
    effect : float
        The mean difference that was assumed.
    curve : tuple of dict
        The power of smaller and larger studies: ``groups``, ``examples`` and ``power`` of each.
    unit : str
        What is drawn: "example" or "group".
    group_size : float
        Mean number of examples of a group.
    wanted, alpha, alternative, n_simulations
        What was asked for.
    signature : str
        All of it in one line.
    """

    examples: int
    groups: int
    power: float
    effect: float
    curve: tuple[dict[str, float], ...]
    unit: str
    group_size: float
    wanted: float
    alpha: float
    alternative: str
    n_simulations: int
    signature: str

    def describe(self) -> str:
        """Return the answer as a sentence."""
        size = f"{self.examples:,} example{'s' * (self.examples != 1)}"
        if self.unit == "group":
            size += f" in {self.groups:,} group{'s' * (self.groups != 1)} of {self.group_size:.3g} on average"
        error = math.sqrt(self.power * (1 - self.power) / self.n_simulations)
        return (
            f"{size}: a mean difference of {self.effect:+.4g} is then found by a {self.alternative} paired permutation"
            f" test at level {self.alpha:g} with power {self.power:.3f} (at least {self.wanted:g} was asked for;"
            f" {self.n_simulations:,} simulated studies, standard error {error:.3f})"
        )


def required_examples(
    differences: Any,
    *,
    groups: Any = None,
    effect: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: str = "two-sided",
    n_simulations: int = 2000,
    seed: int | np.random.Generator = 0,
    max_examples: int = 100_000,
) -> RequiredExamples:
    """Return how many examples must be annotated to tell two systems apart.

    A pilot's differences stand for those of all examples: studies of a given size are simulated by drawing the pilot's
    examples (or whole groups) with replacement, and each is tested as :func:`mycelium.compare` would.

    Parameters
    ----------
    differences : sequence of n floats
        Value i is the difference of the two systems on example i, e.g. ``Comparison.differences(a, b, metric)``.
    groups : sequence of length n, optional
        Value i names the group of example i. Groups are then drawn and tested as a whole.
    effect : float, optional
        The mean difference to be found, e.g. the smallest that would matter: the pilot's differences are shifted so
        that this is their mean. By default the pilot's own mean, which is as uncertain as the pilot is small.
    power : float
        The share of studies that should find it.
    alpha : float
        Level of the test.
    alternative : {"two-sided", "greater", "less"}
        As in :func:`mycelium.compare`.
    n_simulations : int
        Studies simulated for each size.
    seed : int or numpy.random.Generator
        With an integer, the studies of every size start from it. A generator gives one integer, which is that seed.
    max_examples : int
        The search ends there.

    Returns
    -------
    RequiredExamples
        The number of examples and groups, the power they have, and that of other sizes.

    Raises
    ------
    TypeError, ValueError
        When an argument cannot be used; when all differences are 0, or their mean is 0 and no effect is given, or has
        the sign that a one-sided test does not look for; when ``max_examples`` have too little power.

    Notes
    -----
    *The test.* With d the sum of the differences of each group, the test swaps the systems of each group with
    probability one half, under which the sum of d has mean 0 and variance sum(d**2). A simulated study is significant
    when z = sum(d) / sqrt(sum(d**2)) reaches the quantile of the normal distribution: the permutation test in the
    limit of many groups. Fewer groups than can give a p-value of alpha at all (6 for a two-sided test at 0.05) are
    never proposed.

    *The search.* From the number that the normal formula ``((z_alpha + z_power) * sd / mean)**2`` gives, sizes are
    doubled or halved until one has the power and one has not; then the gap is halved until it is one group, or half a
    percent of the size. Simulated power rises with the size but for its own error (0.009 at power 0.8 with 2,000
    simulations), so that the answer is exact to some three percent; and as the smallest size that passes is also a
    lucky one, its true power lies on average about one such error below. More simulations make both smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from mycelium.planning import required_examples
    >>> pilot = np.random.default_rng(0).normal(0.05, 0.2, size=100)
    >>> found = required_examples(pilot, effect=0.05)
    >>> 100 < found.examples < 150, found.power >= 0.8
    (True, True)
    """
    values = _differences(differences)
    units = units_of(groups, len(values))
    power, alpha = check_level(power, "power"), check_level(alpha, "alpha")
    n_simulations = check_resamples(n_simulations, "n_simulations")
    max_examples = check_resamples(max_examples, "max_examples")
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(map(repr, ALTERNATIVES))}, got {alternative!r}")
    rng = as_generator(seed)
    start = int(rng.integers(2**63)) if isinstance(seed, np.random.Generator) else int(seed)
    mean = float(values.mean())
    effect = _effect(effect, mean, values, alternative)
    sums = sum_by_unit((values + (effect - mean))[:, np.newaxis], units)[:, 0]
    studies = _Studies(sums, alpha, alternative, n_simulations, start)
    size = len(values) / len(units)
    least = studies.least()
    most = math.floor(max_examples / size)
    if most < least:
        raise ValueError(
            f"max_examples={max_examples} is too small: with fewer than {least} {units.kind}s no test is significant at"
            f" level {alpha:g}"
        )
    with progress(None, "studies", "") as advance:
        found = _search(studies, power, least, most, advance)
        if found is None:
            raise ValueError(
                f"max_examples={max_examples} have power {studies.power(most):.3f} only, not {power:g}: raise it, or"
                " look for a larger effect"
            )
        chosen = sorted({max(least, min(most, math.ceil(share * found))) for share in SHARES} | {found})
        curve = tuple(
            {"groups": g, "examples": math.ceil(g * size), "power": studies.power(g, advance)} for g in chosen
        )
    return RequiredExamples(
        examples=math.ceil(found * size),
        groups=found,
        power=studies.power(found),
        effect=effect,
        curve=curve,
        unit=units.kind,
        group_size=size,
        wanted=power,
        alpha=alpha,
        alternative=alternative,
        n_simulations=n_simulations,
        signature=_signature(units, effect, power, alpha, alternative, n_simulations, seed_name(seed)),
    )


class _Studies:
    """Simulated studies of any number of groups."""

    def __init__(self, sums: FloatArray, alpha: float, alternative: str, n_simulations: int, seed: int) -> None:
        self._sums = np.column_stack([sums, sums**2])
        self._two_sided = alternative == "two-sided"
        self._sign = -1.0 if alternative == "less" else 1.0
        self._alpha = alpha
        self._quantile = NormalDist().inv_cdf(1 - (alpha / 2 if self._two_sided else alpha))
        self._n_simulations = n_simulations
        self._seed = seed
        self._known: dict[int, float] = {}

    def least(self) -> int:
        """Return the smallest number of groups with which a permutation test can be significant."""
        return max(1, math.ceil(math.log2((2 if self._two_sided else 1) / self._alpha) - 1e-9))

    def formula(self, power: float) -> float:
        """Return the number of groups that the normal formula gives."""
        total, squares = self._sums.mean(axis=0).tolist()
        spread = math.sqrt(max(squares - total**2, 0.0))
        root = max(self._quantile + NormalDist().inv_cdf(power), 0.0) * spread
        # An effect that vanishes beside the spread needs more examples than there are.
        return float((root / abs(total)) ** 2) if abs(total) > 1e-9 * root else 1e18

    def power(self, groups: int, advance: Any = None) -> float:
        """Return the share of studies of that many groups that are significant."""
        if groups not in self._known:
            significant = 0
            rng = as_generator(self._seed)
            for counts in draw(rng, len(self._sums), self._n_simulations, drawn=groups):
                total, squares = (counts @ self._sums).T
                reached = np.abs(total) if self._two_sided else self._sign * total
                # Where all that was drawn is 0, nothing was found.
                significant += int(((reached >= self._quantile * np.sqrt(squares)) & (squares > 0)).sum())
                if advance is not None:
                    advance(len(counts))
            self._known[groups] = significant / self._n_simulations
        return self._known[groups]


def _search(studies: _Studies, power: float, least: int, most: int, advance: Any) -> int | None:
    """Return the smallest number of groups with the power, None where ``most`` have not."""

    def enough(groups: int) -> bool:
        return studies.power(groups, advance) >= power

    high = max(least, min(most, math.ceil(studies.formula(power))))
    while not enough(high):
        if high == most:
            return None
        low, high = high, min(most, 2 * high)
    else:
        low = high
        while low > least and enough(low):
            high, low = low, max(least, low // 2)
        if enough(low):
            return low
    while high - low > max(1, high // FINE):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _differences(differences: Any) -> FloatArray:
    values = np.asarray(differences)
    if values.ndim != 1:
        raise ValueError(f"differences must have one dimension, one value for each example, got shape {values.shape}")
    if not (np.issubdtype(values.dtype, np.integer) or np.issubdtype(values.dtype, np.floating)):
        raise TypeError(f"differences must hold numbers, got dtype {values.dtype}")
    if not len(values):
        raise ValueError("differences are empty")
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        raise ValueError(f"differences: row {lost[0]} is {values[lost[0]]}, expected a finite number")
    if not values.any():
        raise ValueError("all differences are 0: the pilot does not tell how much the systems differ on an example")
    return values.astype(np.float64)


def _effect(effect: float | None, mean: float, values: FloatArray, alternative: str) -> float:
    if effect is None:
        # The mean of values that cancel out is 0 but for rounding.
        if abs(mean) <= 1e-12 * float(np.abs(values).max()):
            raise ValueError("the mean difference is 0, and no number of examples finds that: give an effect")
        effect = mean
    elif isinstance(effect, bool) or not isinstance(effect, (int, float, np.integer, np.floating)):
        raise TypeError(f"effect must be a number, got {effect!r}")
    elif not math.isfinite(effect) or effect == 0:
        raise ValueError(f"effect must be a number other than 0, got {effect!r}")
    if (alternative == "greater" and effect < 0) or (alternative == "less" and effect > 0):
        raise ValueError(f"a mean difference of {effect:g} is never found by a test with alternative={alternative!r}")
    return float(effect)


def _signature(
    units: Units, effect: float, power: float, alpha: float, alternative: str, n_simulations: int, seed: str
) -> str:
    parts = [
        "planning",
        f"pilot:{units.describe()}",
        f"effect:{effect:g}",
        f"power:{power:g}",
        f"alpha:{alpha:g}",
        f"alternative:{alternative}",
        f"simulations:{n_simulations}",
        f"seed:{seed}",
    ]
    return "|".join(parts)
