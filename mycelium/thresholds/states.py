"""The distinct predictions that thresholds draw from rows of scores.

A row gives another prediction only where the threshold passes one of the row's own values. Each such *state* of a row
is an example like any other, so that all of them are counted as one batch::

    scores      .2 .2 .9 .9 .4
    up to .2     #  #  #  #  #     state 0: [0, 5)
    up to .4           #  #  #     state 1: [2, 5)
    up to .9           #  #        state 2: [2, 4)
    above                          state 3: nothing
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["Segments", "States", "segments"]


class Segments(NamedTuple):
    """Neighbouring characters of a row that share a value, s such runs in the order of the texts.

    Attributes
    ----------
    first : int64 array of shape (n + 1,)
        Row offsets into the segments.
    row, start, stop : int64 arrays of shape (s,)
        The row of each, and its characters ``[start, stop)``.
    opens : bool array of shape (s,)
        Whether it is the first of its row.
    value : float64 array of shape (s,)
        The value.
    """

    first: IntArray
    row: IntArray
    start: IntArray
    stop: IntArray
    opens: BoolArray
    value: FloatArray


def segments(offsets: IntArray, values: FloatArray) -> Segments:
    """Cut n rows of values, given their offsets (n + 1,), where the value changes."""
    opens = np.zeros(len(values), dtype=np.bool_)
    opens[offsets[:-1][np.diff(offsets) > 0]] = True
    begins = opens.copy()
    begins[1:] |= values[1:] != values[:-1]
    at = np.flatnonzero(begins)
    first = np.searchsorted(at, offsets)
    row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(first))
    stop = np.append(at[1:], len(values))[: len(at)]
    return Segments(first, row, at - offsets[row], stop - offsets[row], opens[at], values[at])


class States:
    """The states of n rows of scores, row by row, thresholds rising, the empty prediction last.

    Parameters
    ----------
    cut : Segments
        The rows.
    reached : int64 array of shape (s,)
        The last of the thresholds that each segment reaches, -1 for none.
    thresholds : int
        Their number.

    Attributes
    ----------
    first : int64 array of shape (n + 1,)
        Row offsets into the states.
    row : int64 array of shape (r,)
        The row of each state.
    reached : int64 array of shape (r,)
        The last threshold that gives this state; the first one is that after the previous state's. The number of
        thresholds for the empty prediction.
    spans : int64 array of shape (r,)
        Number of runs of marked characters.
    """

    def __init__(self, cut: Segments, reached: IntArray, thresholds: int) -> None:
        n = len(cut.first) - 1
        self._cut = cut
        key = cut.row * (thresholds + 1) + reached
        some = reached >= 0
        states = np.concatenate([key[some], np.arange(n, dtype=np.int64) * (thresholds + 1) + thresholds])
        states.sort()
        new = np.ones(len(states), dtype=np.bool_)
        np.not_equal(states[1:], states[:-1], out=new[1:])
        states = states[new]
        self.row = states // (thresholds + 1)
        self.reached = states - self.row * (thresholds + 1)
        self.first = np.searchsorted(self.row, np.arange(n + 1))

        # A segment is marked in the states of its row up to its own. A span starts with it where the segment before
        # it is no longer marked, and stops with it where the one behind it is not.
        none = self.first[cut.row] - 1
        self._state = np.where(some, np.searchsorted(states, key), none)
        self._before, self._after = none.copy(), none
        inner = ~cut.opens[1:]
        self._before[1:][inner] = self._state[:-1][inner]
        self._after[:-1][inner] = self._state[1:][inner]
        starts = self._state > self._before
        change = np.bincount(self._before[starts] + 1, minlength=len(states) + 1)
        change -= np.bincount(self._state[starts] + 1, minlength=len(states) + 1)
        self.spans = np.cumsum(change[:-1])

    def __len__(self) -> int:
        return len(self.row)

    def predictions(self, begin: int, stop: int) -> SpanBatch:
        """Return the runs of marked characters in the states from ``begin`` up to ``stop``, one row for each."""
        cut = self._cut
        part = slice(cut.first[self.row[begin]], cut.first[self.row[stop - 1] + 1])
        width = int(cut.stop[part].max(initial=0)) + 1
        number = np.repeat(np.arange(stop - begin, dtype=np.int64) * width, self.spans[begin:stop])
        bounds = []
        for edge, beyond in ((cut.start, self._before), (cut.stop, self._after)):
            first = np.maximum(beyond[part] + 1, begin)
            count = np.maximum(np.minimum(self._state[part], stop - 1) - first + 1, 0)
            # One integer stands for (state, character): sorted, starts and stops of a state pair up.
            key = np.repeat((first - begin - (np.cumsum(count) - count)) * width + edge[part], count)
            key += np.arange(len(key), dtype=np.int64) * width
            key.sort()
            bounds.append(key - number)
        return SpanBatch._trusted(_offsets(self.spans[begin:stop]), bounds[0], bounds[1])

    def blocks(self, cost: IntArray, at_once: int) -> Iterator[tuple[int, int]]:
        """Cut the states into blocks whose costs (r,) add up to at most ``at_once``, or that hold a single state."""
        total = _offsets(cost)
        begin = 0
        while begin < len(self):
            stop = int(np.searchsorted(total, total[begin] + at_once, side="right")) - 1
            stop = max(begin + 1, stop)
            yield begin, stop
            begin = stop
