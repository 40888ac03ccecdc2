"""Exact running sums: the sum over all rows at each threshold, with the bits that the sum alone would have."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import repeat
from operator import truediv
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.spans import FloatArray, IntArray

__all__ = ["running_quotients"]

#: Points whose sums are Python integers at the same time.
_AT_ONCE = 1 << 14


def running_quotients(
    column: NDArray[Any],
    weights: IntArray | FloatArray | None,
    first: IntArray,
    since: IntArray,
    points: int,
    divisor: Fraction,
) -> FloatArray:
    """Return at each point the sum of what the rows are worth there, over one number, rounded once.

    Parameters
    ----------
    column : int64 or float64 array of shape (r,)
        What the states are worth, row by row.
    weights : array of shape (r,), optional
        Their weights, the same for all states of a row: int64 counts a state that often, float64 multiplies its worth
        and rounds once.
    first : int64 array of shape (n,)
        Positions of the first states of the rows.
    since : int64 array of shape (r,)
        The point, at most p, from which on each state takes the place of the one before it; 0 for the first ones.
    points : int
        The number of points p.
    divisor : Fraction
        What the sums are divided by.

    Returns
    -------
    float64 array of shape (p,)

    Examples
    --------
    Two rows; the first is worth 5, then 3 from point 1 on, the second 1, then 0 from point 2 on:

    >>> import numpy as np
    >>> worth, first, since = np.array([5, 3, 1, 0]), np.array([0, 2]), np.array([0, 1, 0, 2])
    >>> running_quotients(worth, None, first, since, 3, Fraction(1)).tolist()
    [6.0, 4.0, 3.0]
    """
    if weights is not None and weights.dtype != np.int64:
        column, weights = column * weights, None
    # Integers of so many bits cannot overflow when all rows are added up.
    bits = max(1, 62 - (len(first) if weights is None else sum(weights[first].tolist())).bit_length())
    running = []
    for unit, part in _parts(column, bits):
        worth = part if weights is None else part * weights
        change = np.diff(worth, prepend=0)
        change[first] = worth[first]
        at = np.zeros(points + 1, dtype=np.int64)
        np.add.at(at, since, change)
        running.append((unit, np.cumsum(at[:points])))
    if len(running) == 1 and running[0][0] == 0 and divisor == 1:
        return running[0][1].astype(np.float64)
    quotients = [_quotients(running, slice(i, i + _AT_ONCE), divisor) for i in range(0, points, _AT_ONCE)]
    return np.concatenate(quotients)


def _quotients(running: list[tuple[int, IntArray]], part: slice, divisor: Fraction) -> FloatArray:
    """Put the parts of numbers together again and divide, as Python integers."""
    low = min((unit for unit, _ in running), default=0)
    total: Any = 0
    for unit, values in running:
        total = total + values[part].astype(object) * (1 << (unit - low))
    above, below = divisor.denominator << max(low, 0), divisor.numerator << max(-low, 0)
    return np.array(list(map(truediv, (total * above).tolist(), repeat(below))))


def _parts(column: NDArray[Any], bits: int) -> Iterator[tuple[int, IntArray]]:
    """Split numbers into integers of so many bits, times falling powers of two, that add up to them exactly."""
    largest = max(column.max(initial=0), -column.min(initial=0))
    if column.dtype == np.int64:
        unit = max(0, int(largest).bit_length() - bits)
        while True:
            part = column >> unit
            yield unit, part
            if unit == 0:
                return
            column = column - (part << unit)
            unit = max(0, unit - bits)
    if not largest < np.inf:
        raise ValueError("only finite values can be summed")
    unit = int(np.frexp(largest)[1])
    while True:
        unit -= bits
        near = np.rint(np.ldexp(column, -unit))
        yield unit, near.astype(np.int64)
        column = column - np.ldexp(near, unit)
        if not column.any():
            return
