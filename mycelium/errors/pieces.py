r"""Which spans without a partner are pieces of a span that has one.

The same for splits (predictions are the pieces, the whole is a reference) and for mergers (the other way round)::

    whole     |--------------------|        |--------------------|
    partner   |------|                         |---------|
    others             |---|  |----|               |---------|
    blocks    |------| |---|  |----|           |-------------|
              three: pieces                 one: no piece

A span is given to the whole with which it shares most. The spans given to a whole and its partner fall into *blocks*
that share no character with each other. Of two or more blocks each has one piece: the partner in its own, in the
others the span that shares most with the whole. So what repeats a piece is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mycelium import intervals
from mycelium.spans import BoolArray, IntArray

__all__ = ["Lone", "Side", "lone_spans"]


class Side(NamedTuple):
    """The spans of one side in canonical order on the number line.

    Attributes
    ----------
    start, end : int64 arrays of shape (m,)
        The spans.
    type : int64 array of shape (m,) or None
        Their types, where types count.
    partner : int64 array of shape (m,)
        Their partners, -1 for none.
    open : bool array of shape (m,)
        Whether a span has a partner of which it can be a piece or a whole.
    """

    start: IntArray
    end: IntArray
    type: IntArray | None
    partner: IntArray
    open: BoolArray


class Lone(NamedTuple):
    """What became of the spans without a partner of one side.

    Attributes
    ----------
    touching : int64 array
        Those that share a character with any span of the other side.
    pieces : int64 array
        Spans that are pieces, partners included.
    wholes : int64 array
        Spans of the other side that consist of pieces.
    """

    touching: IntArray
    pieces: IntArray
    wholes: IntArray


def lone_spans(side: Side, others: Side) -> Lone:
    """Find the pieces among the spans of a side that have no partner, and their partners."""
    lone = np.flatnonzero(side.partner < 0)
    touching, given, whole, shared = _given(side, others, lone)
    if not len(given):
        return Lone(touching, given, whole)
    # Each whole comes with its partner, which stands for its block whatever it shares.
    wholes = np.unique(whole)
    member = np.concatenate([given, others.partner.take(wholes)])
    of = np.concatenate([whole, wholes])
    worth = np.concatenate([shared, np.full(len(wholes), np.iinfo(np.int64).max)])
    order = np.lexsort((member, of))
    member, of, worth = member.take(order), of.take(order), worth.take(order)
    block = np.cumsum(_opens_block(side.start.take(member), side.end.take(member), of)) - 1
    blocks = np.bincount(np.searchsorted(wholes, of[_firsts(block)]), minlength=len(wholes))
    # The first of those that share most, in each block.
    order = np.lexsort((member, -worth, block))
    best = order[_firsts(block.take(order))]
    best = best[blocks.take(np.searchsorted(wholes, of.take(best))) > 1]
    return Lone(touching, member.take(best), wholes[blocks > 1])


def _given(side: Side, others: Side, lone: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return which spans touch any, and those that are given to a whole, their wholes and what they share."""
    none = np.zeros(0, dtype=np.int64)
    touching, given = [none], [(none, none, none)]
    if len(lone) and len(others.start):
        for major, minor, shared in intervals.overlapping(
            side.start, side.end, others.start, others.end, chosen=lone, at_once=intervals.PAIRS_AT_ONCE
        ):
            touching.append(np.unique(major))
            good = others.open.take(minor)
            if side.type is not None and others.type is not None:
                good &= side.type.take(major) == others.type.take(minor)
            at = np.flatnonzero(good)
            major, minor, shared = major.take(at), minor.take(at), shared.take(at)
            # All pairs of a span are in one block.
            order = np.lexsort((minor, -shared, major))
            best = order[_firsts(major.take(order))]
            given.append((major.take(best), minor.take(best), shared.take(best)))
    columns = [np.concatenate(column) for column in zip(*given, strict=True)]
    return np.concatenate(touching), columns[0], columns[1], columns[2]


def _opens_block(start: IntArray, end: IntArray, of: IntArray) -> BoolArray:
    """Tell of each span, sorted by whole and start, whether it shares nothing with those before it."""
    group = np.cumsum(_firsts_mask(of)) - 1
    ends, rank = np.unique(end, return_inverse=True)
    # The farthest end so far in each group: groups rise, so that one running maximum serves all.
    reach = ends.take(np.maximum.accumulate(group * len(ends) + rank.reshape(-1)) - group * len(ends))
    opens = _firsts_mask(of)
    opens[1:] |= start[1:] >= reach[:-1]
    return opens


def _firsts_mask(values: IntArray) -> BoolArray:
    """Tell of sorted values which differ from the one before."""
    out = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=out[1:])
    return out


def _firsts(values: IntArray) -> IntArray:
    return np.flatnonzero(_firsts_mask(values))
