"""From annotators to references: what enough of them mark, and which share of them marks each character."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelium.annotators.cleanup import cleaned
from mycelium.annotators.corpus import as_annotations
from mycelium.annotators.sweep import runs, sweeps
from mycelium.spans import BoolArray, IntArray, SpanBatch, _offsets

__all__ = ["SHARES", "check_share", "consensus", "leave_one_out", "soft_labels"]

SHARES = ("majority", "union", "intersection")
MISSING_ROWS = ("raise", "empty")
_NAMED = 5

#: Tells of each cell, given how many of how many mark it, whether it belongs to the consensus.
Enough = Callable[[IntArray, IntArray], BoolArray]


def consensus(
    annotations: Any,
    share: str | float = "majority",
    *,
    cleanup: str | None = None,
    missing_rows: str = "raise",
) -> SpanBatch:
    """Return the characters of each item that enough annotators mark, as disjoint spans.

    Parameters
    ----------
    annotations : Corpus, Annotations, or whatever :func:`as_annotations` reads
        n items.
    share : {"majority", "union", "intersection"} or float, default="majority"
        Who must have marked a character: strictly more than half of the item's annotators, at least one, all, or at
        least this share of them (``count / annotators >= share``, between 0, excluded, and 1). So 0.5 takes a
        character that exactly half of them mark, and ``"majority"`` does not. Those who marked nothing count.
    cleanup : {None, "mu_shroom"}, default=None
        Clean the marks first, see :func:`cleaned`; it needs texts.
    missing_rows : {"raise", "empty"}, default="raise"
        Whether items without annotators, which have no consensus, are refused or get no spans.

    Returns
    -------
    SpanBatch of n rows
        Sorted, apart from each other. What one annotator marks twice counts once.

    Raises
    ------
    ValueError, TypeError
        For an unknown share or an item without annotators.

    Examples
    --------
    >>> from mycelium.annotators import consensus
    >>> notes = [{"ann": [[0, 6]], "bo": [[2, 8]], "cy": []}]
    >>> [consensus(notes, share).tolist() for share in ("majority", "union", "intersection", 1 / 3)]
    [[[[2, 6]]], [[[0, 8]]], [[]], [[[0, 8]]]]
    """
    enough = check_share(share)
    notes = cleaned(as_annotations(annotations), cleanup)
    _check_missing(notes.counts, 1, missing_rows, "no annotators")
    parts = []
    for items, sweep in sweeps(notes):
        of = np.repeat(notes.counts[items], np.diff(sweep.offsets))
        parts.append(runs(sweep, sweep.offsets, slice(None), enough(sweep.count, of)))
    return _joined(parts, notes.text_length)


def leave_one_out(
    annotations: Any,
    share: str | float = "majority",
    *,
    cleanup: str | None = None,
    missing_rows: str = "raise",
) -> SpanBatch:
    """Return for each mark the consensus of the other annotators of its item.

    Parameters
    ----------
    annotations, share, cleanup, missing_rows
        As for :func:`consensus`; here an item with one annotator is one without others.

    Returns
    -------
    SpanBatch of m rows
        Row ``j`` belongs to mark ``j``: with h its annotator, the characters of its item that enough of the others
        mark, h neither counted among those who mark nor among those who could.

    Examples
    --------
    >>> from mycelium.annotators import leave_one_out
    >>> leave_one_out([{"ann": [[0, 6]], "bo": [[2, 8]], "cy": [[0, 4]]}]).tolist()
    [[[2, 4]], [[0, 4]], [[2, 6]]]
    """
    enough = check_share(share)
    notes = cleaned(as_annotations(annotations), cleanup)
    _check_missing(np.where(notes.counts == 0, 2, notes.counts), 2, missing_rows, "one annotator and no others")
    parts = []
    for items, sweep in sweeps(notes):
        of = np.repeat(notes.counts[items] - 1, notes.counts[items])
        for marks, offsets, cell, others in sweep.held_out():
            parts.append(runs(sweep, offsets, cell, enough(others, np.repeat(of[marks], np.diff(offsets)))))
    length = notes.text_length
    return _joined(parts, None if length is None else np.repeat(length, notes.counts))


def soft_labels(annotations: Any, *, cleanup: str | None = None, missing_rows: str = "raise") -> SpanBatch:
    """Return the share of annotators who mark each character, as spans with that share as their score.

    Parameters
    ----------
    annotations, cleanup, missing_rows
        As for :func:`consensus`.

    Returns
    -------
    SpanBatch of n rows
        Sorted and disjoint; neighbours have different scores, and characters that nobody marks are in no span.

    Examples
    --------
    >>> from mycelium.annotators import soft_labels
    >>> batch = soft_labels([{"ann": [[0, 6]], "bo": [[2, 8]]}])
    >>> batch.tolist(), batch.score.tolist()
    ([[[0, 2], [2, 6], [6, 8]]], [0.5, 1.0, 0.5])
    """
    notes = cleaned(as_annotations(annotations), cleanup)
    _check_missing(notes.counts, 1, missing_rows, "no annotators")
    parts = []
    for items, sweep in sweeps(notes):
        of = np.repeat(notes.counts[items], np.diff(sweep.offsets))
        parts.append(runs(sweep, sweep.offsets, slice(None), sweep.count > 0, sweep.count / of))
    return _joined(parts, notes.text_length)


def check_share(share: object) -> Enough:
    """Return what decides which cells enough annotators mark, or raise a TypeError or ValueError."""
    if share == "majority":
        return lambda count, of: 2 * count > of
    if share == "union":
        return lambda count, of: count > 0
    if share == "intersection":
        return lambda count, of: (count == of) & (count > 0)
    if isinstance(share, str):
        raise ValueError(f"share must be one of {', '.join(map(repr, SHARES))} or a number, got {share!r}")
    if isinstance(share, (bool, np.bool_)) or not isinstance(share, (int, float, np.integer, np.floating)):
        raise TypeError(f"share must be a name or a number, got {share!r} ({type(share).__name__})")
    least = float(share)
    if not 0 < least <= 1:
        raise ValueError(f"share must lie between 0, excluded, and 1, got {share!r}")
    # Where nobody could mark, nobody does: 0 / 1.
    return lambda count, of: count / np.maximum(of, 1) >= least


def _check_missing(counts: IntArray, least: int, missing_rows: str, what: str) -> None:
    if missing_rows not in MISSING_ROWS:
        raise ValueError(f"missing_rows must be one of {', '.join(map(repr, MISSING_ROWS))}, got {missing_rows!r}")
    rows = np.flatnonzero(counts < least)
    if len(rows) and missing_rows == "raise":
        named = ", ".join(map(str, rows[:_NAMED].tolist()))
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        raise ValueError(
            f"annotations: row{'s' * (len(rows) > 1)} {named}{more}: {what}, so there is no consensus;"
            ' leave such rows out, or missing_rows="empty" to read them as rows without spans'
        )


def _joined(parts: list[SpanBatch], length: IntArray | None) -> SpanBatch:
    """Put the rows of blocks one after the other."""
    scores = [part.score for part in parts if part.score is not None]
    return SpanBatch._trusted(
        _offsets(np.concatenate([part.counts for part in parts])),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        None,
        np.concatenate(scores) if scores else None,
        length,
    )
