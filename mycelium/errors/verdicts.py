"""One verdict for each span of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mycelium.errors.kinds import BOUNDARIES, CODE
from mycelium.errors.pieces import Side, lone_spans
from mycelium.matching import Matching, Spans, canonical_order, match, stages_of
from mycelium.spans import IntArray, SpanBatch

__all__ = ["Verdicts", "judge", "relation"]

_LIMIT = 2**62


class Verdicts(NamedTuple):
    """The verdicts on both sides of a batch, in the order of its spans.

    Attributes
    ----------
    references, predictions : int64 arrays of shape (m,)
        For each span the place of its verdict in ``KINDS``.
    partner_r, partner_p : int64 arrays of shape (m,)
        For each span the place of its partner among the spans of the other side, -1 where it has none.
    """

    references: IntArray
    predictions: IntArray
    partner_r: IntArray
    partner_p: IntArray


def judge(references: SpanBatch, predictions: SpanBatch, *, typed: bool) -> Verdicts:
    """Return a verdict for each span: the first line of the table that holds.

    Pairs are made one to one by :mod:`mycelium.matching` in the order same-type exact, other exact, same-type overlap,
    other overlap (without types: exact, overlap); an overlap is one shared character. Then

    1. *exact*: a pair with equal boundaries and the same type.
    2. *wrong type*: a pair of two types, whatever its boundaries.
    3. *split*: a pair whose reference has at least one more piece: a prediction without a partner, of the reference's
       type, that neither shares a character with the partner nor is linked to it by such predictions. The reference,
       its partner and one prediction of each further block of predictions are split.
    4. *merged*: the same with the sides exchanged.
    5. *too narrow*, *too wide*, *shifted*: any other pair: the prediction lies inside the reference, holds it, or
       neither.
    6. *duplicate*: a prediction without a partner that shares a character with a reference, which has one then.
    7. *spurious*, *missed*: all other predictions, all other references.

    Parameters
    ----------
    references, predictions : SpanBatch
        n rows each.
    typed : bool
        Whether types count; every span must have one then. Otherwise all spans are of one type.

    Returns
    -------
    Verdicts
        The same for spans in any order; which of several equal ones is meant is of no consequence.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> from mycelium.errors.kinds import KINDS
    >>> found = judge(as_spans([[[0, 9], [20, 25]]]), as_spans([[[0, 4], [5, 9], [22, 23], [40, 44]]]), typed=False)
    >>> [KINDS[i] for i in found.references], [KINDS[i] for i in found.predictions]
    (['split', 'too narrow'], ['split', 'split', 'too narrow', 'spurious'])
    """
    codes_r, codes_p = _type_codes(references, predictions)
    stride = 1 + max((int(batch.end.max()) for batch in (references, predictions) if len(batch.end)), default=0)
    step = max(1, _LIMIT // stride)
    out = Verdicts(*(np.full(len(batch.start), -1, dtype=np.int64) for batch in (references, predictions) * 2))
    for begin in range(0, len(references), step):
        stop = min(begin + step, len(references))
        ours, at_r = _laid_out(references, codes_r, begin, stop, stride)
        theirs, at_p = _laid_out(predictions, codes_p, begin, stop, stride)
        pairs = match(ours, theirs, stages_of("confusion" if typed else "partial"))
        kinds = _kinds(ours, theirs, pairs, typed)
        out.references[at_r], out.predictions[at_p] = kinds
        out.partner_r[at_r.take(pairs.reference)] = at_p.take(pairs.prediction)
        out.partner_p[at_p.take(pairs.prediction)] = at_r.take(pairs.reference)
    return out


def _type_codes(references: SpanBatch, predictions: SpanBatch) -> tuple[IntArray, IntArray]:
    """Return a number for each span's type, by name; 0 for none."""
    labels = [[] if batch.label is None else batch.label.tolist() for batch in (references, predictions)]
    names = sorted(set(labels[0]).union(labels[1]) - {None})
    code = {None: 0, **{name: number for number, name in enumerate(names, 1)}}
    ours, theirs = (
        np.fromiter(map(code.__getitem__, some), dtype=np.int64, count=len(some))
        if batch.label is not None
        else np.zeros(len(batch.start), dtype=np.int64)
        for batch, some in zip((references, predictions), labels, strict=True)
    )
    return ours, theirs


def _laid_out(batch: SpanBatch, codes: IntArray, begin: int, stop: int, stride: int) -> tuple[Spans, IntArray]:
    """Return some rows on one number line, in canonical order, and the places of the spans in the batch."""
    first, last = int(batch.offsets[begin]), int(batch.offsets[stop])
    base = np.repeat(np.arange(stop - begin, dtype=np.int64) * stride, np.diff(batch.offsets[begin : stop + 1]))
    start, end, type_ = base + batch.start[first:last], base + batch.end[first:last], codes[first:last]
    order = canonical_order(start, end, type_)
    return Spans(start.take(order), end.take(order), type_.take(order)), first + order


def _kinds(ours: Spans, theirs: Spans, pairs: Matching, typed: bool) -> tuple[IntArray, IntArray]:
    r, p = pairs.reference, pairs.prediction
    kind = relation(ours.start.take(r), ours.end.take(r), theirs.start.take(p), theirs.end.take(p))
    type_r, type_p = (ours.type, theirs.type) if typed else (None, None)
    if type_r is not None and type_p is not None:
        kind[type_r.take(r) != type_p.take(p)] = CODE["wrong type"]
    open_r, open_p = np.zeros(len(ours), dtype=bool), np.zeros(len(theirs), dtype=bool)
    open_r[r] = open_p[p] = np.isin(kind, [CODE[name] for name in BOUNDARIES])
    side_r = Side(ours.start, ours.end, type_r, pairs.partner_r, open_r)
    side_p = Side(theirs.start, theirs.end, type_p, pairs.partner_p, open_p)
    splits, mergers = lone_spans(side_p, side_r), lone_spans(side_r, side_p)
    found_r, found_p = np.full(len(ours), CODE["missed"]), np.full(len(theirs), CODE["spurious"])
    found_p[splits.touching] = CODE["duplicate"]
    found_r[r] = found_p[p] = kind
    # No pair is both: a spare piece of the one and a spare piece of the other would have made two pairs of it.
    found_p[splits.pieces] = found_r[splits.wholes] = CODE["split"]
    found_r[mergers.pieces] = found_p[mergers.wholes] = CODE["merged"]
    return found_r, found_p


def relation(start: IntArray, end: IntArray, other_start: IntArray, other_end: IntArray) -> IntArray:
    """Return for pairs whether the other one, a prediction, is exact, too narrow, too wide or shifted."""
    inside = (start <= other_start) & (other_end <= end)
    around = (other_start <= start) & (end <= other_end)
    kind = np.full(len(start), CODE["shifted"], dtype=np.int64)
    kind[inside] = CODE["too narrow"]
    kind[around] = CODE["too wide"]
    kind[inside & around] = CODE["exact"]
    return kind
