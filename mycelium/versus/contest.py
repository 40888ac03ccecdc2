"""Systems on the same units: their scores, the replicates of these, and tests of each pair.

A contest has one stratum or several (languages); a system's score is the mean of its scores over the strata. Units are
drawn within each stratum, and a permutation swaps two systems on whole units.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from mycelium.additive import Additive, split
from mycelium.draws import as_generator, draw, replicate
from mycelium.resample import Permuted, permutation_test
from mycelium.spans import FloatArray, IntArray

__all__ = ["Contest"]

#: One stratum: for each system its averages, the same ones in the same order for all, over the same units.
Stratum = Sequence[Sequence[Additive]]


class Contest:
    """Systems scored on the same units.

    Parameters
    ----------
    strata : sequence of strata
        ``strata[s][j][i]`` is average i (a metric) of system j on the units of stratum s.

    Attributes
    ----------
    systems : int
        The number of systems.
    sizes : list of int
        The number of units in each stratum.
    """

    def __init__(self, strata: Sequence[Stratum]) -> None:
        self._strata = [[list(averages) for averages in stratum] for stratum in strata]
        self.systems = len(self._strata[0])
        self.sizes = [len(stratum[0][0].sums) for stratum in self._strata]
        #: For each stratum the sums of its units: systems, units, columns of all averages side by side.
        self._sums = [
            np.stack([np.concatenate([part.sums for part in averages], axis=1) for averages in stratum])
            for stratum in self._strata
        ]

    def _values(self, totals: Sequence[FloatArray]) -> FloatArray:
        """Return scores (..., outputs of all averages) from the totals (..., columns) of each stratum."""
        each = [
            np.concatenate(split(part, stratum[0]), axis=-1) for part, stratum in zip(totals, self._strata, strict=True)
        ]
        return np.asarray(sum(each[1:], start=each[0]) / len(each))

    def scores(self) -> FloatArray:
        """Return the score of each system: shape (systems, outputs), the outputs of all averages side by side."""
        return self._values([sums.sum(axis=1) for sums in self._sums])

    def replicates(self, n_resamples: int, seed: int | np.random.Generator) -> FloatArray:
        """Return the scores of bootstrap replicates, shape (B, systems, outputs); all systems share the draws."""
        rng = as_generator(seed)
        totals = []
        for sums in self._sums:
            systems, units, columns = sums.shape
            side_by_side = sums.transpose(1, 0, 2).reshape(units, systems * columns)
            drawn = replicate(draw(rng, units, n_resamples, reuse=True), side_by_side, n_resamples)
            totals.append(drawn.reshape(n_resamples, systems, columns))
        return self._values(totals)

    def jackknife(self, stratum: int = 0) -> FloatArray:
        """Return the scores without each unit of a contest with one stratum, shape (units, systems, outputs)."""
        if len(self._sums) > 1:
            raise ValueError("scores without each unit are defined for one stratum")
        sums = self._sums[stratum]
        return self._values([(sums.sum(axis=1, keepdims=True) - sums).transpose(1, 0, 2)])

    def test(
        self,
        pairs: IntArray,
        n_resamples: int,
        seed: int | np.random.Generator,
        alternative: str = "two-sided",
    ) -> Permuted:
        """Test each pair of systems by permutation.

        Parameters
        ----------
        pairs : int64 array of shape (p, 2)
            The two systems of each pair; the difference is the first minus the second.
        n_resamples, seed, alternative
            As in :func:`mycelium.resample.permutation_test`.

        Returns
        -------
        Permuted
            ``p_values`` has shape (p, outputs).
        """
        first, second = pairs[:, 0], pairs[:, 1]
        scores = self.scores()
        observed = scores[first] - scores[second]
        totals = [sums.sum(axis=1) for sums in self._sums]
        # One product for each system, not for each pair: what a pair's systems exchange is the difference of theirs.
        flat = [np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(x.shape[1], -1) for x in self._sums]
        same = np.stack([(x[first] == x[second]).all(axis=(1, 2)) for x in self._sums])
        cuts = [0, *accumulate(self.sizes)]

        def permuted(pattern: FloatArray) -> FloatArray:
            ours, theirs = [], []
            for i, total in enumerate(totals):
                own = (pattern[:, cuts[i] : cuts[i + 1]] @ flat[i]).reshape(len(pattern), self.systems, -1)
                gained = own[:, second] - own[:, first]
                # Equal columns of a product may differ in their last bits.
                gained[:, same[i]] = 0.0
                ours.append(total[first] + gained)
                theirs.append(total[second] - gained)
            return (self._values(ours) - self._values(theirs)).reshape(len(pattern), -1)

        width = len(pairs) * max(x.shape[2] for x in self._sums)
        found = permutation_test(
            observed.ravel(), permuted, sum(self.sizes), n_resamples, as_generator(seed), alternative, width=width
        )
        return found._replace(p_values=found.p_values.reshape(observed.shape))
