"""A sweep over the marks of items: how many annotators mark each stretch of text.

The starts and ends of all marks of an item cut its text into *cells*, on each of which nobody changes their mind::

    ann     |-----------|
    bo            |-----------|
    cells   0     1     2     3        marked by 1, 2, 1 and 0 annotators

The last cell of an item begins where its last mark ends; nobody marks it. The cells of all items stand in one list.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mycelium.annotators.corpus import Annotations
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["Sweep", "runs", "sweeps"]

#: Cells, and entries of (mark, cell), that are held at once; all of one item, or of one mark, are.
CELLS_AT_ONCE = 1 << 20
_LIMIT = 2**62


class Sweep:
    """The cells of some items, whose marks must be merged.

    Attributes
    ----------
    offsets : int64 array of shape (n + 1,)
        Item ``i`` owns the cells ``offsets[i]`` to ``offsets[i + 1]``.
    start, end : int64 arrays of shape (c,)
        Where each cell lies in its text; the end of an item's last cell means nothing.
    count : int64 array of shape (c,)
        Number of annotators who mark the cell.
    """

    def __init__(self, notes: Annotations) -> None:
        marks, n = notes.marks, len(notes)
        stride = 1 + (int(marks.end.max()) if len(marks.end) else 0)
        base = np.repeat(notes.item * stride, marks.counts)
        points = np.concatenate([marks.start + base, marks.end + base])
        cuts, at = np.unique(points, return_inverse=True)
        # NumPy 2.0 gives the inverse the shape of its input, which is the same here.
        self._opens, self._closes = np.split(at.astype(np.int64), 2)
        item = cuts // stride
        self.offsets: IntArray = np.searchsorted(item, np.arange(n + 1)).astype(np.int64)
        self.start: IntArray = cuts - item * stride
        self.end: IntArray = np.append(self.start[1:], 0) if len(cuts) else self.start
        steps = np.bincount(self._opens, minlength=len(cuts)) - np.bincount(self._closes, minlength=len(cuts))
        self.count: IntArray = np.cumsum(steps)
        self._notes = notes

    def held_out(self) -> Iterator[tuple[slice, IntArray, IntArray, IntArray]]:
        """Tell for each mark, in blocks, how many of the others mark each cell of its item.

        Yields
        ------
        part : slice
            The marks of the block.
        offsets : int64 array
            Number ``j`` of these marks owns the entries ``offsets[j]`` to ``offsets[j + 1]``.
        cell, others : int64 arrays
            The cell of each entry, and the number of other annotators who mark it.
        """
        item, spans = self._notes.item, self._notes.marks
        first = self.offsets[:-1][item]
        cells = np.diff(self.offsets)[item]
        before = _offsets(cells)
        begin = 0
        while True:
            stop = int(np.searchsorted(before, before[begin] + CELLS_AT_ONCE, side="right")) - 1
            part = slice(begin, min(len(item), max(begin + 1, stop)))
            offsets = before[part.start : part.stop + 1] - before[begin]
            cell = np.arange(offsets[-1], dtype=np.int64) + np.repeat(first[part] - offsets[:-1], cells[part])
            # Merged marks neither touch nor overlap, so that each cell is opened and closed at most once.
            to_entry = np.repeat(offsets[:-1] - first[part], spans.counts[part])
            own = slice(spans.offsets[part.start], spans.offsets[part.stop])
            steps = np.bincount(self._opens[own] + to_entry, minlength=len(cell))
            steps -= np.bincount(self._closes[own] + to_entry, minlength=len(cell))
            yield part, offsets, cell, self.count[cell] - np.cumsum(steps)
            begin = part.stop
            if begin >= len(item):
                return


def sweeps(notes: Annotations) -> Iterator[tuple[slice, Sweep]]:
    """Sweep over blocks of items that fit onto a line of 62 bits, and into memory; yields each block's items too.

    Marks are merged on the way. Of no items one empty block is made.
    """
    notes = notes.merged()
    n, marks = len(notes), notes.marks
    longest = 1 + (int(marks.end.max()) if len(marks.end) else 0)
    before = 2 * marks.offsets[notes.offsets]
    most = max(1, _LIMIT // longest)
    begin = 0
    while True:
        stop = int(np.searchsorted(before, before[begin] + CELLS_AT_ONCE, side="right")) - 1
        part = slice(begin, min(n, max(begin + 1, min(stop, begin + most))))
        yield part, Sweep(notes if part == slice(0, n) else notes[part])
        begin = part.stop
        if begin >= n:
            return


def runs(
    sweep: Sweep,
    offsets: IntArray,
    cell: IntArray | slice,
    keep: BoolArray,
    value: FloatArray | None = None,
) -> SpanBatch:
    """Turn kept cells into spans, one row for each of the offsets' rows; neighbours join where their value is equal.

    Parameters
    ----------
    sweep : Sweep
        Where the cells lie.
    offsets : int64 array of shape (rows + 1,)
        Row ``i`` owns the entries ``offsets[i]`` to ``offsets[i + 1]``: all cells of one item, in order.
    cell : int64 array of shape (entries,), or slice
        The cell of each entry.
    keep : bool array of shape (entries,)
        Which to keep, never the last of a row.
    value : float64 array of shape (entries,), optional
        Becomes the score of the spans.
    """
    before = np.zeros(len(keep), dtype=bool)
    before[1:] = keep[:-1]
    after = np.zeros(len(keep), dtype=bool)
    after[:-1] = keep[1:]
    if value is not None:
        same = value[1:] == value[:-1]
        before[1:] &= same
        after[:-1] &= same
    opens, closes = keep & ~before, keep & ~after
    rows = _offsets(opens)[offsets]
    score = None if value is None else value[opens]
    return SpanBatch._trusted(rows, sweep.start[cell][opens], sweep.end[cell][closes], None, score, None)
