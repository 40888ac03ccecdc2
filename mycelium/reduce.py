"""Exact sums: the order of rows, their batching and the machine cannot change a bit.

Counts and doubles alike add up as integers, in units of 2**-1126, of which every double is a whole number. So a sum
has no rounding error, the mean of scores is the true mean rounded once, and the mean of one score is that score.
Totals are Python integers, so that nothing overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.spans import FloatArray, IntArray

__all__ = ["ExactSum", "Totals"]

#: The smallest double is 2**-1074, and its mantissa is read as 53 bits.
_BITS = 1126
_HALF = 2.0**52
_SAFE = 2.0**62
#: Sums that leave the process have the bits after the point in so many integers of so many bits.
LIMBS, LIMB_BITS = 8, 26
#: A sum of this many integers up to 2**53 fits into 63 bits.
_AT_ONCE = 1 << 9


class ExactSum:
    """The running sum of the rows of (n, k) arrays.

    Parameters
    ----------
    columns : int
        The number k of columns.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = ExactSum(1), ExactSum(1)
    >>> a.add(np.array([[0.1], [0.2], [0.3]])); b.add(np.array([[0.3], [0.2]])); b.add(np.array([[0.1]]))
    >>> a.totals() == b.totals()
    array([ True])
    """

    __slots__ = ("_totals",)

    def __init__(self, columns: int, totals: Sequence[int] | None = None) -> None:
        self._totals = [0] * columns if totals is None else list(totals)

    def add(self, values: NDArray[Any], weights: IntArray | FloatArray | None = None) -> None:
        """Add the rows of an array of shape (n, k), each times its weight of shape (n,).

        Integer weights count a row that often, exactly; real weights multiply it and round once.
        """
        for j, total in enumerate(self._totals):
            self._totals[j] = total + column_sum(values[:, j], weights)

    def merge(self, other: ExactSum) -> None:
        """Add the totals of another sum of the same columns."""
        self._totals = [a + b for a, b in zip(self._totals, other._totals, strict=True)]

    def totals(self) -> FloatArray:
        """Return the k sums, each rounded once."""
        return np.array([total / 2**_BITS for total in self._totals])

    def means(self, weight: ExactSum) -> FloatArray:
        """Return the k sums over the sum of one column, each rounded once."""
        return np.array([total / weight._totals[0] for total in self._totals])

    def limbs(self) -> IntArray:
        """Return the k sums as 64-bit integers, shape (k, 9), that add up element by element.

        The first is the whole part, the others are the 208 bits after the point, 26 in each. Sums of up to 2**36 such
        arrays do not overflow. What lies below 2**-208 is rounded away.

        Raises
        ------
        ValueError
            When a whole part does not fit into 62 bits.
        """
        out = np.empty((len(self._totals), 1 + LIMBS), dtype=np.int64)
        for row, total in zip(out, self._totals, strict=True):
            rest = (total + (1 << (_BITS - LIMBS * LIMB_BITS - 1))) >> (_BITS - LIMBS * LIMB_BITS)
            for i in range(LIMBS, 0, -1):
                row[i] = rest & ((1 << LIMB_BITS) - 1)
                rest >>= LIMB_BITS
            if not -_SAFE < rest < _SAFE:
                raise ValueError(f"a sum of {rest:.3g} does not fit into a state of 64-bit integers")
            row[0] = rest
        return out

    def add_limbs(self, limbs: IntArray) -> None:
        """Add sums that :meth:`limbs` returned, or sums of such arrays."""
        for j, row in enumerate(limbs.tolist()):
            for i, limb in enumerate(row):
                self._totals[j] += limb << (_BITS - i * LIMB_BITS)

    def exact(self) -> tuple[int, ...]:
        """Return the k sums as integers in units of 2**-1126."""
        return tuple(self._totals)


def column_sum(column: NDArray[Any], weights: IntArray | FloatArray | None) -> int:
    """Return the exact sum of a column in units of 2**-1126."""
    if weights is not None and weights.dtype != np.int64:
        return _sum_real(column * weights, None)
    if column.dtype == np.int64:
        return _sum_integer(column, weights) << _BITS
    return _sum_real(column, weights)


def _sum_integer(column: IntArray, weights: IntArray | FloatArray | None) -> int:
    if not len(column):
        return 0
    size = float(np.abs(column).max()) * len(column)
    if weights is None:
        return int(column.sum()) if size < _SAFE else sum(column.tolist())
    if size * max(float(weights.max()), 1.0) < _SAFE:
        return int(column @ weights)
    return sum(a * b for a, b in zip(column.tolist(), weights.tolist(), strict=True))


def _sum_real(column: FloatArray, weights: IntArray | FloatArray | None) -> int:
    if not len(column):
        return 0
    largest = max(float(column.max()), -float(column.min()))
    if not largest < np.inf:
        raise ValueError("only finite values can be summed")
    if largest <= 1.0:
        # Two halves of 52 bits: the nearest multiple of 2**-52, and what is left of it.
        scaled = column * _HALF
        upper = np.rint(scaled)
        scaled -= upper
        scaled *= _HALF
        lower = np.rint(scaled)
        if np.array_equal(lower, scaled):
            total = (_sum_units(upper.astype(np.int64), weights) << 52) + _sum_units(lower.astype(np.int64), weights)
            return total << (_BITS - 104)
    # Values below 2**-52 or above 1: mantissas of one exponent add up as integers.
    mantissa, exponent = np.frexp(column)
    units = (mantissa * 2.0**53).astype(np.int64)
    total = 0
    for e in np.unique(exponent).tolist():
        same = exponent == e
        total += _sum_units(units[same], None if weights is None else weights[same]) << (_BITS - 53 + e)
    return total


def _sum_units(units: IntArray, weights: IntArray | FloatArray | None) -> int:
    """Sum integers of up to 53 bits."""
    if weights is None:
        return sum(np.add.reduceat(units, np.arange(0, len(units), _AT_ONCE)).tolist())
    upper = units >> 26
    return (_sum_integer(upper, weights) << 26) + _sum_integer(units - (upper << 26), weights)


class Totals:
    """Sums of the statistics of several metrics over examples, under one average.

    Micro sums the statistics; macro sums each example's values. Weights multiply rows (micro) or weigh the mean
    (macro).

    Parameters
    ----------
    metrics : sequence of metrics
        Anything with ``columns``, ``outputs``, ``pooled`` and ``value(totals, undefined)``.
    average : {"macro", "micro"}
        Which of the two; pooled metrics are summed under either.
    undefined : float or None
        Passed on to ``value``.
    """

    __slots__ = ("_average", "_metrics", "_sums", "_undefined", "_weight", "examples", "weighted")

    def __init__(self, metrics: Sequence[Any], average: str, undefined: float | None) -> None:
        self._metrics = tuple(metrics)
        self._average = average
        self._undefined = undefined
        width = [len(self._summed(m)) for m in self._metrics]
        self._sums = [ExactSum(n) for n in width]
        self._weight = ExactSum(1)
        self.examples = 0
        self.weighted = False

    def add(self, statistics: Sequence[NDArray[Any]], weights: IntArray | FloatArray | None = None) -> None:
        """Add the (n, k) statistics of the same n examples, one array for each metric."""
        rows = len(statistics[0]) if statistics else 0
        for metric, counted, total in zip(self._metrics, statistics, self._sums, strict=True):
            total.add(metric.value(counted, self._undefined) if self._means(metric) else counted, weights)
        self.examples += rows
        self.weighted |= weights is not None
        self._weight.add((np.ones(rows, dtype=np.int64) if weights is None else weights)[:, np.newaxis])

    def merge(self, other: Totals) -> None:
        """Add the sums of other examples under the same metrics and average."""
        for mine, theirs in zip(self._sums, other._sums, strict=True):
            mine.merge(theirs)
        self._weight.merge(other._weight)
        self.examples += other.examples
        self.weighted |= other.weighted

    def state(self) -> IntArray:
        """Return the sums as one vector of 64-bit integers; vectors of other examples add up element by element."""
        sums = [total.limbs().ravel() for total in (self._weight, *self._sums)]
        return np.concatenate([np.array([self.examples, int(self.weighted)]), *sums])

    def state_names(self, keys: Sequence[str]) -> list[str]:
        """Name the elements of the state, given a key for each metric."""
        names = ["weight"]
        for key, metric in zip(keys, self._metrics, strict=True):
            names += [f"{key}.{name}" for name in self._summed(metric)]
        return ["examples", "weighted", *(f"{name}.{i}" for name in names for i in range(1 + LIMBS))]

    def add_state(self, state: IntArray) -> None:
        """Add a vector that :meth:`state` returned, or a sum of such vectors."""
        self.examples += int(state[0])
        self.weighted |= bool(state[1])
        rest = state[2:].reshape(-1, 1 + LIMBS)
        for total in (self._weight, *self._sums):
            k = len(total.exact())
            total.add_limbs(rest[:k])
            rest = rest[k:]

    def values(self) -> list[FloatArray]:
        """Return for each metric its averaged outputs.

        Raises
        ------
        ValueError
            When there are no examples, or their weights add up to 0.
        """
        if not self.examples:
            raise ValueError("there are no examples to score")
        if not self._weight.exact()[0]:
            raise ValueError("the weights of all examples are 0")
        return [
            s.means(self._weight) if self._means(m) else m.value(s.totals(), self._undefined)
            for m, s in zip(self._metrics, self._sums, strict=True)
        ]

    def sums(self, number: int) -> FloatArray:
        """Return what has been summed of one metric, shape (k,): its statistics, or under macro its values."""
        return self._sums[number].totals()

    def _means(self, metric: Any) -> bool:
        return self._average == "macro" and not metric.pooled

    def _summed(self, metric: Any) -> tuple[str, ...]:
        """Return the names of what is summed of a metric."""
        names: tuple[str, ...] = metric.outputs if self._means(metric) else metric.columns
        return names
