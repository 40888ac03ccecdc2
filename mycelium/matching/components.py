r"""Which of the possible pairs are made: the graph of possible pairs, component by component.

::

    single        star at p          the rest
    r --- p       r   r   r          r   r   r
                   \  |  /           | \ |   |
                      p              p   p - p ...

Singles and stars are settled for the whole batch at once, small components of one shape together with a table of all
matchings of that shape, the others in turn.
"""

from __future__ import annotations

from functools import cache
from math import comb, factorial

import numpy as np

from mycelium.intervals import Pairs
from mycelium.matching.assignment import assign
from mycelium.spans import BoolArray, IntArray

__all__ = ["choose"]

#: Shapes with more matchings than this are solved in turn (5 by 5 has 1,546).
LARGEST_TABLE = 2_000
#: Sums of matchings that are held in memory at once.
SUMS_AT_ONCE = 1 << 18


def choose(pairs: Pairs) -> IntArray:
    """Return the positions of the pairs that are made, rising.

    Parameters
    ----------
    pairs : Pairs
        The possible pairs, sorted by major and then minor.
    """
    if not len(pairs.major):
        return np.zeros(0, dtype=np.int64)
    major, minor = pairs.major - pairs.major[0], pairs.minor - pairs.minor.min()
    degree_r, degree_p = np.bincount(major), np.bincount(minor)
    lone_r, lone_p = degree_r.take(major) == 1, degree_p.take(minor) == 1
    # A star: all the spans that compete for this one have no other possible partner.
    at_p = (np.bincount(minor[lone_r], minlength=len(degree_p)) == degree_p).take(minor)
    at_r = (np.bincount(major[lone_p], minlength=len(degree_r)) == degree_r).take(major)
    single = lone_r & lone_p
    chosen = [
        np.flatnonzero(single),
        _best(np.flatnonzero(at_p & ~single), minor, pairs.shared),
        _best(np.flatnonzero(at_r & ~single), major, pairs.shared),
    ]
    rest = np.flatnonzero(~(at_p | at_r))
    if len(rest):
        chosen.append(rest.take(_components(major.take(rest), minor.take(rest), pairs.shared.take(rest))))
    return np.sort(np.concatenate(chosen))


def _best(at: IntArray, centre: IntArray, shared: IntArray) -> IntArray:
    """Return for each star the pair that shares most; of equal ones the first."""
    of = centre.take(at)
    order = np.lexsort((-shared.take(at), of))
    of = of.take(order)
    first = np.ones(len(of), dtype=bool)
    np.not_equal(of[1:], of[:-1], out=first[1:])
    return at.take(order[first])


def _components(major: IntArray, minor: IntArray, shared: IntArray) -> IntArray:
    """Return the positions of the pairs that are made where several spans of both sides compete."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    r, p = _numbered(major), _numbered(minor)
    n_r, n_p = int(r[-1]) + 1, int(p.max()) + 1
    bounds = np.searchsorted(r, np.arange(n_r + n_p + 1))
    graph = csr_array((np.ones(len(r), dtype=np.int8), p + n_r, bounds), shape=(n_r + n_p, n_r + n_p))
    n, label = connected_components(graph, directed=False)
    rank_r, size_r = _ranks(label[:n_r], n)
    rank_p, size_p = _ranks(label[n_r:], n)
    of, row, column = label[:n_r].take(r), rank_r.take(r), rank_p.take(p)
    chosen = np.zeros(len(r), dtype=bool)
    shapes, shape = np.unique(size_r * (n_p + 1) + size_p, return_inverse=True)
    in_tables = np.zeros(n, dtype=bool)
    place = np.empty(n, dtype=np.int64)
    of_shape = shape.take(of)
    for number, code in enumerate(shapes.tolist()):
        a, b = divmod(code, n_p + 1)
        if _matchings(a, b) > LARGEST_TABLE:
            continue
        members = np.flatnonzero(shape == number)
        in_tables[members] = True
        place[members] = np.arange(len(members))
        at = np.flatnonzero(of_shape == number)
        chosen[at] = _by_table(a, b, place.take(of.take(at)), row.take(at), column.take(at), shared.take(at))
    at = np.flatnonzero(~in_tables.take(of))
    if len(at):
        at = at.take(np.argsort(of.take(at), kind="stable"))
        for block in np.split(at, np.flatnonzero(np.diff(of.take(at))) + 1):
            chosen[block] = assign(row.take(block), column.take(block), shared.take(block))
    return np.flatnonzero(chosen)


def _numbered(values: IntArray) -> IntArray:
    """Number the values that occur from 0, without gaps."""
    occurs = np.zeros(int(values.max()) + 1, dtype=np.int64)
    occurs[values] = 1
    number: IntArray = (np.cumsum(occurs) - 1).take(values)
    return number


def _ranks(label: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the place of each span within its component, and the number of spans of each component."""
    size = np.bincount(label, minlength=n)
    order = np.argsort(label, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(label)) - np.repeat(np.cumsum(size) - size, size)
    return rank, size


def _matchings(a: int, b: int) -> int:
    """Return the number of matchings of a spans with b, up to a bound."""
    if min(a, b) > 5:
        return LARGEST_TABLE + 1
    return sum(comb(a, k) * comb(b, k) * factorial(k) for k in range(min(a, b) + 1))


@cache
def _table(a: int, b: int) -> IntArray:
    """Return all matchings of a references with b predictions, those with the first list of pairs first.

    Returns
    -------
    int64 array of shape (matchings, a)
        The prediction of each reference, b for none.
    """
    rows: list[list[int]] = [[]]
    for _ in range(a):
        # To have a partner at all comes before having none: the list goes on with a smaller reference.
        rows = [[*row, p] for row in rows for p in range(b + 1) if p == b or p not in row]
    return np.array(rows, dtype=np.int64)


def _by_table(a: int, b: int, of: IntArray, row: IntArray, column: IntArray, shared: IntArray) -> BoolArray:
    """Tell of each possible pair whether it is made, for components of one shape; ``of`` numbers the components."""
    table = _table(a, b)
    n = int(of.max()) + 1
    # Having no partner counts and shares nothing; a pair that is not possible spoils the whole matching.
    worth = np.zeros((n, a, b + 1), dtype=np.int64)
    count = np.zeros((n, a, b + 1), dtype=np.int64)
    count[:, :, :b] = -a - 1
    worth[of, row, column] = shared
    count[of, row, column] = 1
    best = np.empty(n, dtype=np.int64)
    step = max(1, SUMS_AT_ONCE // len(table))
    for begin in range(0, n, step):
        part = slice(begin, begin + step)
        pairs, characters = _sums(count[part], table), _sums(worth[part], table)
        characters[pairs < pairs.max(axis=1, keepdims=True)] = -1
        best[part] = characters.argmax(axis=1)
    made: BoolArray = table[best.take(of), row] == column
    return made


def _sums(cells: IntArray, table: IntArray) -> IntArray:
    """Add up the cells (n, a, b + 1) of each matching of the table (t, a), shape (n, t)."""
    total = cells[:, 0].take(table[:, 0], axis=1)
    for r in range(1, table.shape[1]):
        total += cells[:, r].take(table[:, r], axis=1)
    return total
