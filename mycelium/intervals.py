"""Kernels on sorted intervals of the integer line.

All functions take int64 arrays of half-open intervals ``[start, end)`` sorted by ``start`` and know nothing of rows
but the offsets ``(n + 1,)`` that cut the arrays into rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.spans import BoolArray, IntArray

__all__ = ["PAIRS_AT_ONCE", "Pairs", "covered", "holds", "inside", "overlapping", "row_sums", "union"]

#: Pairs of spans that are held in memory at once; more are enumerated in blocks, again in each pass.
PAIRS_AT_ONCE = 1 << 20


def row_sums(values: NDArray[Any], offsets: IntArray) -> IntArray:
    """Sum integers (or count flags) within each row; empty rows give 0.

    Examples
    --------
    >>> import numpy as np
    >>> row_sums(np.array([3, 1, 5]), np.array([0, 2, 2, 3])).tolist()
    [4, 0, 5]
    """
    running = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=running[1:])
    at = running.take(offsets)
    return at[1:] - at[:-1]


def union(start: IntArray, end: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Merge the intervals that overlap or touch; rows lie apart, so that nothing merges across them.

    ::

        |---|            |--|
          |----|                    ->    |------|  |--|   |--|
                 |--|

    Returns
    -------
    start, end, offsets : int64 arrays
        The merged intervals and the row offsets into them.
    """
    if not len(start):
        return start, end, offsets
    reach = np.maximum.accumulate(end)
    opens = np.ones(len(start), dtype=bool)
    np.greater(start[1:], reach[:-1], out=opens[1:])
    number = np.zeros(len(start) + 1, dtype=np.int64)
    np.cumsum(opens, out=number[1:])
    first = np.flatnonzero(opens)
    return start.take(first), reach.take(np.append(first[1:], len(start)) - 1), number.take(offsets)


def covered(points: IntArray, start: IntArray, end: IntArray) -> IntArray:
    """Count the positions before each point that lie in one of the disjoint intervals."""
    before = np.zeros(len(start) + 1, dtype=np.int64)
    np.cumsum(end - start, out=before[1:])
    at = np.searchsorted(start, points, side="right")
    last = np.maximum(at - 1, 0)
    beyond = np.maximum(end[last] - points, 0) if len(end) else 0
    return np.where(at > 0, before[at] - beyond, 0)


def inside(start: IntArray, end: IntArray, outer_start: IntArray, outer_end: IntArray) -> BoolArray:
    """Tell for each interval whether a single one of the outer intervals contains it (boundaries included).

    Among the outer intervals that start no later, one that ends no earlier is wanted: the running maximum of the
    ends tells.
    """
    reach = np.empty(len(outer_end) + 1, dtype=np.int64)
    reach[0] = np.iinfo(np.int64).min
    np.maximum.accumulate(outer_end, out=reach[1:])
    return reach[np.searchsorted(outer_start, start, side="right")] >= end


def holds(start: IntArray, end: IntArray, inner_start: IntArray, inner_end: IntArray) -> BoolArray:
    """Tell for each interval whether it contains one of the inner intervals (boundaries included).

    Among the inner intervals that start no earlier, one that ends no later is wanted: the running minimum of the
    ends, from the right, tells.
    """
    least = np.empty(len(inner_end) + 1, dtype=np.int64)
    least[-1] = np.iinfo(np.int64).max
    least[:-1] = np.minimum.accumulate(inner_end[::-1])[::-1]
    return least[np.searchsorted(inner_start, start, side="left")] <= end


class Pairs(NamedTuple):
    """Pairs of overlapping intervals, ordered by ``major``, then by ``minor``.

    Attributes
    ----------
    major, minor : int64 arrays of shape (t,)
        Positions in the two sorted lists of intervals.
    shared : int64 array of shape (t,)
        Number of positions that the two have in common, at least 1.
    """

    major: IntArray
    minor: IntArray
    shared: IntArray


def overlapping(
    start: IntArray,
    end: IntArray,
    other_start: IntArray,
    other_end: IntArray,
    *,
    reach: IntArray | None = None,
    chosen: IntArray | None = None,
    at_once: int,
) -> Iterator[Pairs]:
    """Enumerate the pairs of an interval and one of the other intervals that share at least one position.

    Parameters
    ----------
    start, end : int64 arrays of shape (a,)
        The intervals that lead the order of the pairs.
    other_start, other_end : int64 arrays of shape (b,)
        Their possible partners.
    reach : int64 array of shape (b,), optional
        The running maximum of ``other_end``, if it is known.
    chosen : int64 array, optional
        Positions of the leading intervals to look at, rising; all by default.
    at_once : int
        Size of a block. All pairs of one leading interval are in one block, which may be larger for that.

    Yields
    ------
    Pairs
        A block of pairs; at least one block, which may be empty.
    """
    lead = np.arange(len(start), dtype=np.int64) if chosen is None else chosen
    if reach is None:
        reach = np.maximum.accumulate(other_end) if len(other_end) else other_end
    # Partners start before the interval ends, and the first one is the first to reach beyond its start.
    low = np.searchsorted(reach, start[lead], side="right")
    count = np.searchsorted(other_start, end[lead], side="left") - low
    np.maximum(count, 0, out=count)
    first = np.zeros(len(lead) + 1, dtype=np.int64)
    np.cumsum(count, out=first[1:])
    begin = 0
    while True:
        stop = len(lead)
        if first[-1] - first[begin] > at_once:
            stop = max(begin + 1, int(np.searchsorted(first, first[begin] + at_once, side="right")) - 1)
        n = count[begin:stop]
        major = np.repeat(lead[begin:stop], n)
        minor = np.repeat(low[begin:stop] - (first[begin:stop] - first[begin]), n)
        minor += np.arange(len(minor), dtype=np.int64)
        shared = np.minimum(end[major], other_end[minor])
        shared -= np.maximum(start[major], other_start[minor])
        real = shared > 0
        if real.all():
            yield Pairs(major, minor, shared)
        else:
            # A long partner earlier in the list hides shorter ones that end too soon.
            # Taking by positions is several times faster than by a mask.
            real = np.flatnonzero(real)
            yield Pairs(major.take(real), minor.take(real), shared.take(real))
        begin = stop
        if begin >= len(lead):
            return
