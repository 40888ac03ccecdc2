"""What the predictions would be were some kinds of errors repaired."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mycelium.errors.kinds import BOUNDARIES, CODE
from mycelium.errors.verdicts import Verdicts, relation
from mycelium.spans import BoolArray, IntArray, ObjectArray, SpanBatch

__all__ = ["repaired"]


def repaired(references: SpanBatch, predictions: SpanBatch, found: Verdicts, kinds: Collection[str]) -> SpanBatch:
    """Return the predictions with the errors of these kinds repaired as ``REPAIRS`` says.

    Where several kinds are repaired at once, a prediction of the wrong type that is also too narrow, too wide or
    shifted gets the boundaries too if that is among them. So all kinds together make the predictions the references.

    Returns
    -------
    SpanBatch
        In each row the predictions that are left, in their order, then what was added. Types as before, those of the
        references where a type was repaired or a span added, none where the predictions have none; no probabilities.
    """
    partner = found.partner_p
    paired = partner >= 0
    at = np.flatnonzero(paired)
    ours = partner.take(at)
    bounds = (references.start.take(ours), references.end.take(ours))
    kind = found.predictions.take(at)

    placed = _among(kind, [*BOUNDARIES, "split", "merged"], kinds)
    if "wrong type" in kinds:
        beside = relation(*bounds, predictions.start.take(at), predictions.end.take(at))
        placed |= (kind == CODE["wrong type"]) & _among(beside, BOUNDARIES, kinds)
    start, end = predictions.start.copy(), predictions.end.copy()
    start[at[placed]], end[at[placed]] = bounds[0][placed], bounds[1][placed]

    keep = np.flatnonzero(paired | ~_among(found.predictions, ["split", "duplicate", "spurious"], kinds))
    add = np.flatnonzero((found.partner_r < 0) & _among(found.references, ["missed", "merged"], kinds))
    label = None
    if predictions.label is not None or not len(predictions.start):
        label = _labels(predictions)
        if "wrong type" in kinds:
            wrong = at[kind == CODE["wrong type"]]
            label[wrong] = _labels(references)[partner.take(wrong)]
        label = np.concatenate([label[keep], _labels(references)[add]])

    row = np.concatenate([predictions.row.take(keep), references.row.take(add)])
    order = np.argsort(row, kind="stable")
    offsets = np.zeros(len(predictions) + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=len(predictions)), out=offsets[1:])
    return SpanBatch(
        offsets,
        np.concatenate([start.take(keep), references.start.take(add)]).take(order),
        np.concatenate([end.take(keep), references.end.take(add)]).take(order),
        None if label is None else label[order],
        None,
        predictions.length,
    )


def _among(kind: IntArray, candidates: Collection[str], kinds: Collection[str]) -> BoolArray:
    return np.isin(kind, [CODE[name] for name in candidates if name in kinds])


def _labels(batch: SpanBatch) -> ObjectArray:
    return np.full(len(batch.start), None, dtype=object) if batch.label is None else batch.label.copy()
