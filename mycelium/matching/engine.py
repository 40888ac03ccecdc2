"""The stages of a matching, each over the whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mycelium import intervals
from mycelium.intervals import Pairs
from mycelium.matching.components import choose
from mycelium.matching.stages import Matching, Spans, Stage
from mycelium.spans import BoolArray, IntArray

__all__ = ["match"]

_LIMIT = 2**62


def match(references: Spans, predictions: Spans, stages: Sequence[Stage]) -> Matching:
    """Pair references and predictions one to one, stage after stage.

    Parameters
    ----------
    references, predictions : Spans
        The two sides of a batch on the number line, each in canonical order.
    stages : sequence of Stage
        What to pair, in turn; see :func:`stages_of`.

    Returns
    -------
    Matching
        The pairs. The rule that picks them is at the top of :mod:`mycelium.matching`.

    Raises
    ------
    ValueError
        If a side is not in canonical order or has an empty span, or if a stage asks for types and there are none.

    Examples
    --------
    Both predictions could be the partner of the first reference, but then one pair would be lost:

    >>> import numpy as np
    >>> references = Spans(np.array([0, 6]), np.array([5, 9]))
    >>> predictions = Spans(np.array([0, 1]), np.array([7, 5]))
    >>> pairs = match(references, predictions, [Stage("overlap", "any")])
    >>> pairs.partner_r.tolist(), pairs.shared.tolist()
    ([1, 0], [4, 1])
    """
    references.check("references")
    predictions.check("predictions")
    free_r, free_p = np.arange(len(references)), np.arange(len(predictions))
    found: list[tuple[IntArray, IntArray, IntArray]] = []
    for number, stage in enumerate(stages):
        if stage.types == "same" and (references.type is None or predictions.type is None):
            raise ValueError(f"stages: stage {number} asks for the same type, and the spans have no types")
        first = number == 0
        sides = (references, predictions) if first else (references.take(free_r), predictions.take(free_p))
        r, p = (_equal if stage.boundaries == "exact" else _overlapping)(*sides, stage)
        found.append((free_r.take(r), free_p.take(p), np.full(len(r), number)))
        free_r, free_p = np.delete(free_r, r), np.delete(free_p, p)
    none = np.zeros(0, dtype=np.int64)
    reference, prediction, made = (
        np.concatenate([none, *parts]) for parts in (zip(*found, strict=True) if found else [(), (), ()])
    )
    order = np.argsort(reference)
    reference, prediction, made = reference.take(order), prediction.take(order), made.take(order)
    ours, theirs = references.take(reference), predictions.take(prediction)
    shared = np.minimum(ours.end, theirs.end) - np.maximum(ours.start, theirs.start)
    exact: BoolArray = (ours.length == shared) & (theirs.length == shared)
    return Matching(reference, prediction, made, shared, exact, (len(references), len(predictions)))


def _equal(references: Spans, predictions: Spans, stage: Stage) -> tuple[IntArray, IntArray]:
    """Pair the k-th reference of each place with its k-th prediction."""
    ours, theirs = _keys(references, predictions, stage.types == "same")
    first = np.searchsorted(theirs, ours, side="left")
    count = np.searchsorted(theirs, ours, side="right") - first
    place = np.arange(len(ours))
    opens = np.zeros(len(ours), dtype=np.int64)
    opens[1:] = np.where(ours[1:] != ours[:-1], place[1:], 0)
    place -= np.maximum.accumulate(opens)
    paired = np.flatnonzero(place < count)
    return paired, (first + place).take(paired)


def _keys(references: Spans, predictions: Spans, typed: bool) -> tuple[IntArray, IntArray]:
    """Return one integer for each span's boundaries (and type): equal for equal ones, and in canonical order."""
    sides = (references, predictions)
    width = 1 + max((int(side.length.max()) for side in sides if len(side)), default=0)
    last = 1 + max((int(side.start[-1]) for side in sides if len(side)), default=0)
    first = min((int(side.start[0]) for side in sides if len(side)), default=0)
    codes = [side.type if typed else None for side in sides]
    known = [(int(x.min()), int(x.max())) for x in codes if x is not None and len(x)]
    least, most = min((x[0] for x in known), default=0), max((x[1] for x in known), default=0)
    if first >= 0 and last * width * (most - least + 1) < _LIMIT:
        keys = [side.start * width + side.length for side in sides]
        if typed:
            keys = [key * (most - least + 1) + (x - least) for key, x in zip(keys, codes, strict=True) if x is not None]
        return keys[0], keys[1]
    # Too far out to be packed: number the places instead.
    columns = [np.concatenate([side.start for side in sides]), np.concatenate([side.end for side in sides])]
    if typed:
        columns.append(np.concatenate([x for x in codes if x is not None]))
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), dtype=np.int64)
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    key = np.empty_like(new)
    key[order] = np.cumsum(new)
    return key[: len(references)], key[len(references) :]


def _overlapping(references: Spans, predictions: Spans, stage: Stage) -> tuple[IntArray, IntArray]:
    """Pair overlapping spans: most pairs, then most shared characters, then the first list of pairs."""
    parts = [_chosen(pairs) for pairs in _edges(references, predictions, stage)]
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *(x[0] for x in parts)]), np.concatenate([none, *(x[1] for x in parts)])


def _chosen(pairs: Pairs) -> tuple[IntArray, IntArray]:
    chosen = choose(pairs)
    return pairs.major.take(chosen), pairs.minor.take(chosen)


def _edges(references: Spans, predictions: Spans, stage: Stage) -> Iterator[Pairs]:
    """Enumerate the pairs that the stage allows, in blocks none of whose spans has a pair in another block."""
    if not len(references) or not len(predictions):
        return
    reach = np.maximum.accumulate(predictions.end)
    at_most = np.searchsorted(predictions.start, references.end, side="left")
    at_most -= np.searchsorted(reach, references.start, side="right")
    before = np.zeros(len(references) + 1, dtype=np.int64)
    np.cumsum(np.maximum(at_most, 0), out=before[1:])
    if before[-1] <= intervals.PAIRS_AT_ONCE:
        yield _allowed(references, predictions, stage, reach, None)
        return
    # A block may end where no span of either side lies across the start of the next reference.
    earlier = np.searchsorted(predictions.start, references.start[1:], side="left")
    across = np.maximum.accumulate(references.end)[:-1] > references.start[1:]
    across |= (earlier > 0) & (reach.take(np.maximum(earlier - 1, 0)) > references.start[1:])
    cuts = np.concatenate([[0], np.flatnonzero(~across) + 1, [len(references)]])
    total = before.take(cuts)
    begin = 0
    while begin < len(cuts) - 1:
        stop = int(np.searchsorted(total, total[begin] + intervals.PAIRS_AT_ONCE, side="right")) - 1
        stop = max(stop, begin + 1)
        yield _allowed(references, predictions, stage, reach, np.arange(cuts[begin], cuts[stop]))
        begin = stop


def _allowed(references: Spans, predictions: Spans, stage: Stage, reach: IntArray, chosen: IntArray | None) -> Pairs:
    """Return the pairs of the chosen references that overlap enough and, if the stage asks for it, agree in type."""
    kept = []
    for pairs in intervals.overlapping(
        references.start,
        references.end,
        predictions.start,
        predictions.end,
        reach=reach,
        chosen=chosen,
        at_once=intervals.PAIRS_AT_ONCE,
    ):
        good = np.ones(len(pairs.shared), dtype=bool)
        if stage.types == "same" and references.type is not None and predictions.type is not None:
            good &= references.type.take(pairs.major) == predictions.type.take(pairs.minor)
        if stage.min_overlap > 0:
            good &= pairs.shared / _base(references, predictions, pairs, stage.base) >= stage.min_overlap
        if not good.all():
            at = np.flatnonzero(good)
            pairs = Pairs(pairs.major.take(at), pairs.minor.take(at), pairs.shared.take(at))
        kept.append(pairs)
    if len(kept) == 1:
        return kept[0]
    return Pairs(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def _base(references: Spans, predictions: Spans, pairs: Pairs, base: str) -> IntArray:
    """Return the length that the share of each pair is taken of."""
    if base == "reference":
        return references.length.take(pairs.major)
    if base == "prediction":
        return predictions.length.take(pairs.minor)
    return references.length.take(pairs.major) + predictions.length.take(pairs.minor) - pairs.shared
