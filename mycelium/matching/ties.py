"""Of several heaviest matchings of a component, the one whose list of pairs comes first."""

from __future__ import annotations

import numpy as np

from mycelium.spans import BoolArray, IntArray

__all__ = ["first_of"]


def first_of(row: IntArray, column: IntArray, partner: IntArray, spare_r: BoolArray, spare_p: BoolArray) -> IntArray:
    """Return the matching with the first list of pairs among those that are as good.

    Parameters
    ----------
    row, column : int64 arrays of shape (t,)
        The tight pairs, sorted by row and then column: as good are all matchings of tight pairs only that leave no
        span without a partner but spare ones.
    partner : int64 array of shape (rows,)
        One of these matchings: the column of each row, -1 for none.
    spare_r, spare_p : bool arrays of shape (rows,) and (columns,)
        The spans that may have no partner.
    """
    smaller = (column < partner.take(row)) | (partner.take(row) < 0)
    if not smaller.any():
        return partner
    return _Ties(row, column, partner, spare_r, spare_p).first()


class _Ties:
    """A matching that is turned, row by row, into the first one.

    Sets of rows are the bits of integers: thousands of rows are looked at in one operation. Those of a column are
    kept from its first row on, since the rows that can take it lie close together.
    """

    def __init__(
        self, row: IntArray, column: IntArray, partner: IntArray, spare_r: BoolArray, spare_p: BoolArray
    ) -> None:
        rows, columns = len(spare_r), len(spare_p)
        self.row, self.column = row, column
        self.bounds = np.searchsorted(row, np.arange(rows + 1)).tolist()
        self.partner: list[int] = partner.tolist()
        self.owner = np.full(columns, -1, dtype=np.int64)
        taken = np.flatnonzero(partner >= 0)
        self.owner[partner[taken]] = taken
        order = np.argsort(column, kind="stable")
        takers = np.split(row.take(order), np.searchsorted(column.take(order), np.arange(1, columns)))
        self.low = [int(x[0]) if len(x) else 0 for x in takers]
        self.takers = [_bits(x - low) if len(x) else 0 for x, low in zip(takers, self.low, strict=True)]
        self.spare_p: list[bool] = spare_p.tolist()
        self.spare_r = _bits(np.flatnonzero(spare_r))
        self.free = {int(p) for p in np.flatnonzero(self.owner < 0) if self.takers[p]}
        self.open = (1 << rows) - 1

    def first(self) -> IntArray:
        """Settle the rows in turn."""
        for i in range(len(self.partner)):
            wanted = self.column[self.bounds[i] : self.bounds[i + 1]]
            if self.partner[i] >= 0:
                wanted = wanted[: np.searchsorted(wanted, self.partner[i])]
            owner = self.owner.take(wanted)
            wanted = wanted[(owner < 0) | (owner > i)]
            if len(wanted):
                self._settle(i, wanted)
            self.open &= ~(1 << i)
        return np.array(self.partner, dtype=np.int64)

    def _settle(self, i: int, wanted: IntArray) -> None:
        """Give row i the first of the wanted columns that it can have.

        It can have those whose present owners can be served otherwise. This is looked up backwards, from the column
        that row i would leave: which rows could take that, and which could take what those would leave, and so on.
        Spare spans are linked by a hub, in which a place is lost and another one found:

        * a row that may be without a partner can give its column up if somewhere a place is lost;
        * a place is lost where a free row takes a column, or where a spare column is left by its owner.
        """
        via: dict[int, int] = {}  # the column that a row would move to, -1 for none
        hub: tuple[int, int] | None = None  # where a place is lost: (row, -1) or (-1, column)
        unseen = self.open & ~(1 << i)
        target = int(wanted[0])
        holder = int(self.owner[target])
        # Sets of rows that were found and not looked at yet, each with its first row and the column they would take.
        todo = [(1, i, self.partner[i])]
        while todo:
            found, low, to = todo.pop()
            last = found & -found
            x = low + last.bit_length() - 1
            if found != last:
                todo.append((found ^ last, low, to))
            via[x] = to
            leaves = self.partner[x]
            newly = [] if leaves < 0 else [leaves]
            if hub is None and (leaves < 0 or self.spare_p[leaves]):
                hub = (x, -1) if leaves < 0 else (-1, leaves)
                found = unseen & self.spare_r
                if found:
                    unseen ^= found
                    todo.append((found, 0, -1))
                newly.extend(self.free)
            for p in newly:
                found = (unseen >> self.low[p]) & self.takers[p]
                if found:
                    unseen ^= found << self.low[p]
                    todo.append((found, self.low[p], p))
            if holder >= 0 and not unseen >> holder & 1:
                via.setdefault(holder, next((p for rows, low, p in todo if rows << low >> holder & 1), -1))
                return self._turn(i, target, via, hub)
            if holder < 0 and hub is not None:
                return self._turn(i, target, via, hub)
        for p in wanted[1:].tolist():
            holder = int(self.owner[p])
            if holder in via or (holder < 0 and hub is not None):
                return self._turn(i, p, via, hub)

    def _turn(self, i: int, p: int, via: dict[int, int], hub: tuple[int, int] | None) -> None:
        """Give row i column p, and everybody on the way the column that was found for them."""
        moves = [(i, p)]
        x = int(self.owner[p])
        while x != i:
            if x < 0:
                assert hub is not None
                if hub[0] < 0:
                    x = int(self.owner[hub[1]])
                    continue
                x = hub[0]
                if x == i:
                    break
            moves.append((x, via[x]))
            x = int(self.owner[via[x]]) if via[x] >= 0 else -1
        left = {self.partner[x] for x, _ in moves} - {-1}
        for q in left:
            self.owner[q] = -1
        for x, q in moves:
            self.partner[x] = q
            if q >= 0:
                self.owner[q] = x
        new = {q for _, q in moves} - {-1}
        self.free -= new
        self.free |= left - new


def _bits(rows: IntArray) -> int:
    """Return the set of these rows."""
    if not len(rows):
        return 0
    flags = np.zeros(int(rows.max()) + 1, dtype=bool)
    flags[rows] = True
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
