"""One component of any size: most pairs, then most shared characters, then the first list of pairs.

Three steps, all in exact integers:

1. A pair is worth its shared characters and a bonus larger than all that could ever be shared, so that the heaviest
   matching is one with most pairs. A solver of the assignment problem finds one; its doubles are exact because
   the integers are small enough, and where they are not, :func:`_improve` builds it up with Python's integers.
2. Prices of the spans that prove it heaviest (the dual of the assignment problem): no pair is worth more than its two
   spans cost, those that are made are worth just that, and spans without a partner cost nothing.
   *All* heaviest matchings consist of such *tight* pairs only, and give every span that costs something a partner.
3. Among the tight pairs, reference by reference, the first prediction is taken that leaves a heaviest matching: one to
   which the present matching can be turned along a closed path of tight pairs, made and not made in turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.matching.ties import first_of
from mycelium.spans import BoolArray, IntArray

__all__ = ["assign"]

#: Cells of the matrix of a component that is solved as a matrix; larger ones are solved as lists of pairs.
CELLS = 1 << 24
#: The solvers add and subtract less than ten worths: below this bound on a worth, doubles hold every sum exactly.
EXACT = 2**53 // 16


def assign(row: IntArray, column: IntArray, shared: IntArray) -> BoolArray:
    """Tell of each possible pair of a component whether it is made.

    Parameters
    ----------
    row, column, shared : int64 arrays of shape (t,)
        The possible pairs, sorted by row and then column, both numbered from 0 without gaps.
    """
    rows, columns = int(row[-1]) + 1, int(column.max()) + 1
    bonus = min(rows, columns) * int(shared.max()) + 1
    worth: NDArray[Any] = shared
    partner = np.full(rows, -1, dtype=np.int64)
    if bonus + int(shared.max()) < EXACT:
        worth = shared + bonus
        partner = _heaviest(rows, columns, row, column, worth)
    else:
        worth = shared.astype(object) + bonus
    bounds = np.searchsorted(row, np.arange(rows + 1))
    price_r, price_p = _improve(partner, bounds, column, worth, columns)
    tight = np.flatnonzero(price_r.take(row) + price_p.take(column) == worth)
    partner = first_of(row.take(tight), column.take(tight), partner, price_r == 0, price_p == 0)
    made: BoolArray = partner.take(row) == column
    return made


def _heaviest(rows: int, columns: int, row: IntArray, column: IntArray, worth: IntArray) -> IntArray:
    """Return the partner of each row in a heaviest matching, -1 for none."""
    partner = np.full(rows, -1, dtype=np.int64)
    if rows * columns <= CELLS:
        from scipy.optimize import linear_sum_assignment

        matrix = np.zeros((rows, columns))
        matrix[row, column] = worth
        r, p = linear_sum_assignment(matrix, maximize=True)
        real = matrix[r, p] > 0
    else:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        # Each row may also take a column of its own, which stands for no partner.
        own = np.arange(rows)
        values = np.concatenate([worth + 1, np.ones(rows, dtype=np.int64)]).astype(np.float64)
        places = np.concatenate([row, own]), np.concatenate([column, columns + own])
        r, p = min_weight_full_bipartite_matching(
            csr_array((values, places), shape=(rows, columns + rows)), maximize=True
        )
        real = p < columns
    partner[r[real]] = p[real]
    return partner


def _improve(
    partner: IntArray, bounds: IntArray, column: IntArray, worth: NDArray[Any], columns: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make a matching heaviest, in place, and return the prices of rows and columns that prove it.

    Parameters
    ----------
    partner : int64 array of shape (rows,)
        A matching that no other with as many pairs outweighs: none at all, or a heaviest one.
    bounds : int64 array of shape (rows + 1,)
        Where the pairs of each row begin in ``column`` and ``worth``.
    column, worth : arrays of shape (t,)
        The possible pairs, sorted by row, and what each is worth: int64, or Python's integers.
    columns : int
        Number of columns.
    """
    owner = np.full(columns, -1, dtype=np.int64)
    taken = np.flatnonzero(partner >= 0)
    owner[partner[taken]] = taken
    while True:
        price, via, loss = _prices(partner, owner, bounds, column, worth)
        open_ = np.flatnonzero(owner < 0)
        at = int(open_[price[open_].argmax()]) if len(open_) else -1
        if at < 0 or price[at] <= 0:
            break
        # The path that ends in this column gains: each row on it moves on by one column.
        while at >= 0:
            row = int(via[at])
            owner[at] = row
            at, partner[row] = int(partner[row]), at
    held = np.where(partner >= 0, price.take(np.maximum(partner, 0)), 0)
    return loss - held, price


def _prices(
    partner: IntArray, owner: IntArray, bounds: IntArray, column: IntArray, worth: NDArray[Any]
) -> tuple[NDArray[Any], IntArray, NDArray[Any]]:
    """Return what the best change gains that ends by taking each column, the row that takes it, and each row's worth.

    A free row takes a column and gains its worth; a row that gives its own column up loses what that was worth, and
    gains what a change that ends there gains. Rows are swept up and down, those whose column has risen: along a
    chain of spans a single sweep carries a change from one end to the other.
    """
    rows = len(partner)
    price: NDArray[Any] = np.zeros(len(owner), dtype=worth.dtype)
    via = np.full(len(owner), -1, dtype=np.int64)
    loss: NDArray[Any] = np.zeros(rows, dtype=worth.dtype)
    made = np.flatnonzero(column == np.repeat(partner, np.diff(bounds)))
    loss[partner >= 0] = worth[made]
    partners, edges, due = partner.tolist(), bounds.tolist(), [True] * rows
    order: range = range(rows)
    while True in due:
        for i in order:
            if not due[i]:
                continue
            due[i] = False
            part = slice(edges[i], edges[i + 1])
            offer = worth[part]
            if partners[i] >= 0:
                offer = offer + (price[partners[i]] - loss[i])
            to = column[part]
            higher = np.flatnonzero(offer > price.take(to))
            if len(higher):
                to = to.take(higher)
                price[to] = offer.take(higher)
                via[to] = i
                for other in owner.take(to).tolist():
                    if other >= 0:
                        due[other] = True
        order = order[::-1]
    return price, via, loss
