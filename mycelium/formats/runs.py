"""Spans from values per character: masks and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelium.formats.ragged import read_flags, read_probabilities
from mycelium.formats.texts import same_lengths
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["join_runs", "mean_scores", "spans_from_mask", "spans_from_probabilities"]


def spans_from_mask(masks: Any, *, text: Any = None) -> SpanBatch:
    """Make a span of every unbroken run of flagged characters.

    Parameters
    ----------
    masks : sequence of n rows
        One bool, or integer 0 or 1, for each character of the text of the row: lists, one-dimensional arrays, an
        ``(n, k)`` array, or an Arrow list column. Row ``i`` of an ``(n, k)`` array stands for a text of k characters.
    text : sequence of n str, optional
        The texts, to check that each mask is as long as its text.

    Returns
    -------
    SpanBatch
        Sorted and disjoint spans; the lengths of the texts are those of the masks.

    Raises
    ------
    TypeError, ValueError
        When a value is neither bool nor 0 or 1, or a mask and its text differ in length, naming row and character.

    Examples
    --------
    >>> from mycelium.formats import spans_from_mask
    >>> spans_from_mask([[0, 1, 1, 0, 1], [], [True, True]]).tolist()
    [[[1, 3], [4, 5]], [], [[0, 2]]]
    """
    offsets, flags = read_flags(masks, name="masks", element="character")
    length = same_lengths(offsets, text, name="masks", element="character")
    spans, start, end = _runs(flags.astype(np.bool_), offsets)
    return SpanBatch(spans, start, end, length=length)


def spans_from_probabilities(
    probs: Any, threshold: float, min_length: int = 1, merge_gap: int = 0, *, text: Any = None
) -> SpanBatch:
    """Make spans of the characters whose probability reaches a threshold.

    A character is flagged when ``prob >= threshold``. First, runs of flagged characters with at most `merge_gap`
    characters between them are joined; then those shorter than `min_length` are left out::

        prob        .9 .1 .8 .1 .1 .7      threshold=0.5
        flagged      #     #        #
        merge_gap=1  #########      #      [0, 3) [5, 6)
        min_length=2 #########             [0, 3)

    Parameters
    ----------
    probs : sequence of n rows
        One probability for each character of the text of the row: lists, one-dimensional arrays, an ``(n, k)``
        array, or an Arrow list column.
    threshold : float
        The smallest probability that flags a character, between 0 and 1, or infinity, which flags nothing. Compared as
        doubles: a float32 0.7 is just below 0.7.
    min_length : int, default=1
        The smallest number of characters of a span, those of merged gaps included.
    merge_gap : int, default=0
        The largest number of characters between two runs that are joined.
    text : sequence of n str, optional
        The texts, to check that there is one probability for each character.

    Returns
    -------
    SpanBatch
        Sorted and disjoint spans. The score of a span is the mean probability of its characters, those of merged gaps
        included; the lengths of the texts are the numbers of probabilities.

    Raises
    ------
    TypeError, ValueError
        When a value is not a number between 0 and 1 (NaN is not), naming row and character; when `threshold`,
        `min_length` or `merge_gap` is out of range; when a row and its text differ in length.

    Examples
    --------
    >>> from mycelium.formats import spans_from_probabilities
    >>> batch = spans_from_probabilities([[0.9, 0.1, 0.8, 0.1, 0.1, 0.7]], 0.5, min_length=2, merge_gap=1)
    >>> batch.tolist(), batch.score.round(3).tolist()
    ([[[0, 3]]], [0.6])
    """
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.integer, np.floating)):
        raise TypeError(f"threshold must be a number, got {threshold!r}")
    if not (0 <= threshold <= 1 or threshold == np.inf):
        raise ValueError(f"threshold must be between 0 and 1, or infinity, got {threshold!r}")
    for option, value, least in (("min_length", min_length, 1), ("merge_gap", merge_gap, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{option} must be an integer, got {value!r}")
        if value < least:
            raise ValueError(f"{option} must be at least {least}, got {value}")
    offsets, values = read_probabilities(probs, name="probs", element="character")
    length = same_lengths(offsets, text, name="probs", element="character")
    spans, start, end = _runs(values >= float(threshold), offsets)
    runs = SpanBatch._trusted(spans, start, end, length=length)
    return mean_scores(join_runs(runs, min_length, merge_gap), values, offsets[:-1])


def join_runs(runs: SpanBatch, min_length: int, merge_gap: int) -> SpanBatch:
    """Join the runs of a row with at most ``merge_gap`` characters between them, then leave out the short ones."""
    row, start, end = runs.row, runs.start, runs.end
    first = np.ones(len(start), dtype=np.bool_)
    first[1:] = (row[1:] != row[:-1]) | (start[1:] - end[:-1] > merge_gap)
    row, start, end = row[first], start[first], end[np.append(first[1:], True)[: len(first)]]
    keep = end - start >= min_length
    counts = np.bincount(row[keep], minlength=len(runs))
    return SpanBatch._trusted(_offsets(counts), start[keep], end[keep], length=runs.length)


def mean_scores(spans: SpanBatch, values: FloatArray, origin: IntArray) -> SpanBatch:
    """Give each span the mean value of its characters; the values of the text of row i begin at ``origin[i]``."""
    length = spans.end - spans.start
    span = np.repeat(np.arange(len(length)), length)
    first = origin[spans.row] + spans.start - _offsets(length)[:-1]
    # Added up span by span, from the left: a running sum over the batch would let one row change another's last bit.
    total = np.bincount(span, weights=values[first[span] + np.arange(len(span))], minlength=len(length))
    score = total / np.maximum(length, 1)
    return SpanBatch._trusted(spans.offsets, spans.start, spans.end, spans.label, score, spans.length)


def _runs(flags: BoolArray, offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return span offsets (n + 1,), and starts and ends within the row, of the maximal runs of True in each row."""
    begins = offsets[:-1][np.diff(offsets) > 0]
    before = np.zeros(len(flags) + 1, dtype=np.bool_)
    before[1:] = flags
    after = before[1:].copy()
    before = before[:-1]
    before[begins] = False  # what precedes the first character of a row belongs to another
    opens = flags & ~before
    after[:-1] = flags[1:]
    after[-1:] = False
    after[begins[1:] - 1] = False
    closes = flags & ~after
    spans = _offsets(opens)[offsets]
    shift = np.repeat(offsets[:-1], np.diff(spans))
    return spans, np.flatnonzero(opens) - shift, np.flatnonzero(closes) + 1 - shift
