"""A comparison's draws: what is resampled and permuted, and what becomes of the results."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from mycelium.additive import Additive
from mycelium.confidence import MANY_DISCARDED, ROUNDING, Resampling
from mycelium.draws import Units, swaps
from mycelium.resample import FEW, Interval, Permuted, interval
from mycelium.spans import FloatArray, IntArray
from mycelium.versus.contest import Contest

__all__ = ["Found", "Plan"]


class Found(NamedTuple):
    """Intervals of each system (s, o) and of each pair (p, o), the tests, and replicates that weighed nothing."""

    systems: list[list[Interval]]
    pairs: list[list[Interval]]
    test: Permuted
    discarded: int


class Plan(NamedTuple):
    """How scores are resampled and tested."""

    units: Units
    resampling: Resampling
    alternative: str
    correction: str
    family: str

    @property
    def alpha(self) -> float:
        """The level of the tests: 1 - level, without the rounding of that."""
        return float(round(1 - self.resampling.level, 12))

    def smallest_p(self, family_size: int) -> float:
        """Return the smallest p-value there can be; raise or warn where, adjusted, it cannot reach the level."""
        n_resamples = self.resampling.n_resamples
        exact, _ = swaps(np.random.default_rng(0), len(self.units), n_resamples)
        hypotheses = 1 if self.correction == "none" else family_size
        if exact:
            # The pattern that swaps nothing, and with it the one that swaps everything where both signs count.
            smallest = min(1.0, math.ldexp(2.0 if self.alternative == "two-sided" else 1.0, -len(self.units)))
        else:
            smallest = 1 / (n_resamples + 1)
        if hypotheses * smallest <= self.alpha * (1 + 1e-9):
            return smallest
        what = f"{hypotheses} comparison{'s' * (hypotheses != 1)}"
        if not exact:
            needed = math.ceil(hypotheses / self.alpha - 1e-9) - 1
            raise ValueError(
                f"n_resamples={n_resamples} is too small: with {what} in a family no adjusted p-value can be"
                f" {self.alpha:g} or less; take at least {needed}"
            )
        warnings.warn(
            f"{self.units.describe()} are too few for a test: no p-value can be below {smallest:g}, and with {what} in"
            f" a family none can be {self.alpha:g} or less after adjustment; score more {self.units.kind}s",
            UserWarning,
            stacklevel=3,
        )
        return smallest

    def run(
        self, averages: list[list[Additive]], weighed: FloatArray | None, points: FloatArray, pairs: IntArray
    ) -> Found:
        """Draw, permute, and make intervals of what comes out.

        Parameters
        ----------
        averages : list of lists of Additive
            ``averages[s][i]`` is average i of system s on the units.
        weighed : float64 array of shape (u, 1), or None
            The weight of each unit, where examples have weights.
        points : float64 array of shape (systems, outputs)
            The scores of the data themselves.
        pairs : int64 array of shape (p, 2)
            The systems of each pair.
        """
        level, method, n_resamples, seed = self.resampling
        self._warn_of_few()
        contest = Contest([averages])
        if weighed is not None:
            # The weight of each replicate, as one more output: where it is 0 there is no score.
            averages = [[*parts, Additive(weighed, lambda totals: totals)] for parts in averages]
        replicates = (contest if weighed is None else Contest([averages])).replicates(n_resamples, seed)
        discarded = 0
        if weighed is not None:
            replicates = replicates[replicates[:, 0, -1] > 0, :, :-1]
            discarded = n_resamples - len(replicates)
            self._warn_of_discarded(discarded)
        # Where one unit has all the weight its absence leaves no score, but then all replicates are equal, too.
        jackknife = contest.jackknife() if method == "bca" else None

        def intervals(point: FloatArray, drawn: FloatArray, without: FloatArray | None) -> list[Interval]:
            found = []
            for o, value in enumerate(point.tolist()):
                column = drawn[:, o]
                column = np.where(np.abs(column - value) <= ROUNDING, value, column)
                found.append(interval(value, column, level, method, None if without is None else without[:, o]))
            return found

        systems = [
            intervals(points[s], replicates[:, s], None if jackknife is None else jackknife[:, s])
            for s in range(len(points))
        ]
        differences = [
            intervals(
                points[a] - points[b],
                replicates[:, a] - replicates[:, b],
                None if jackknife is None else jackknife[:, a] - jackknife[:, b],
            )
            for a, b in pairs.tolist()
        ]
        return Found(systems, differences, contest.test(pairs, n_resamples, seed, self.alternative), discarded)

    def _warn_of_few(self) -> None:
        if len(self.units) < FEW:
            kind = self.units.kind
            warnings.warn(
                f"intervals from {self.units.describe()} are likely too narrow: resampling needs at least {FEW}"
                f" {kind}s, so read them as a lower bound of the uncertainty or score more {kind}s",
                UserWarning,
                stacklevel=4,
            )

    def _warn_of_discarded(self, discarded: int) -> None:
        n_resamples = self.resampling.n_resamples
        if discarded == n_resamples:
            raise ValueError(
                f"sample_weight: all {discarded} resamples drew nothing but weight 0; give n_resamples more"
            )
        if discarded > MANY_DISCARDED * n_resamples:
            warnings.warn(
                f"{discarded:,} of {n_resamples:,} resamples drew nothing but weight 0 and were discarded: leave"
                f" {self.units.kind}s without weight out of the comparison",
                UserWarning,
                stacklevel=4,
            )

    def hypothesis(self) -> str:
        """Say what the p-values test, and why an interval may say otherwise."""
        unit = "an example" if self.units.kind == "example" else "a group"
        against = {"two-sided": "", "greater": ", against a above b", "less": ", against a below b"}[self.alternative]
        return (
            f"p tests whether a and b are exchangeable (what one did on {unit} might as well have come from the"
            f" other){against}; the interval is about the size of one difference, unadjusted: the two can disagree"
        )
