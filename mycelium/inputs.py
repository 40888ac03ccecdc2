"""What the arguments of ``evaluate`` must fulfil together, beyond each side for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mycelium.spans import FloatArray, IntArray, SpanBatch

__all__ = ["check_scores", "common_length", "one_or_batch", "weights"]

#: Weights other than 0 lie within these bounds, so that products of weighted sums neither overflow nor vanish.
WEIGHTS = (1e-100, 1e100)


def one_or_batch(name: str, x: Any, other_name: str, other: Any, text: Any) -> str:
    """Tell whether the two sides are one span set each, or batches."""
    kinds = {name: _kind_of(x), other_name: _kind_of(other)}
    known = {kind for kind in kinds.values() if kind != "bare"}
    if len(known) == 2:
        described = " and ".join(f"{n} is {'one span set' if k == 'set' else 'a batch'}" for n, k in kinds.items())
        raise ValueError(f"{described}: both must be of one kind")
    kind = known.pop() if known else ("set" if text is None or isinstance(text, str) else "batch")
    if text is not None and isinstance(text, str) != (kind == "set"):
        wanted = "a string, since there is one span set" if kind == "set" else "a sequence of strings, one for each row"
        raise ValueError(f"text must be {wanted}, got {type(text).__name__}")
    return kind


def _kind_of(x: Any) -> str:
    if isinstance(x, np.ndarray):
        if x.ndim == 2 and x.shape[1] == 2:
            numbers = np.issubdtype(x.dtype, np.number) or (x.dtype == object and np.ndim(x.flat[0]) == 0)
            return "set" if not x.size or (numbers and not isinstance(x.flat[0], Mapping)) else "batch"
        if x.ndim != 1:
            return "batch"
    elif isinstance(x, Mapping):
        return "set"
    elif not isinstance(x, (list, tuple)):
        return "batch"
    if not len(x):
        return "bare"
    first = x[0]
    if isinstance(first, Mapping):
        # A span has numbers at start and end; a row as a dict of lists has lists there.
        return "batch" if any(np.ndim(first.get(key, 0)) for key in ("start", "end")) else "set"
    if isinstance(first, (list, tuple, np.ndarray)) and len(first) in (2, 3):
        inner = (list, tuple, dict, np.ndarray, type(None))
        return "batch" if any(isinstance(value, inner) for value in first[:2]) else "set"
    return "batch"


def common_length(sides: Mapping[str, SpanBatch]) -> IntArray | None:
    """Return the lengths of the texts, if any side knows them; all that do must agree."""
    known = [(name, batch.length) for name, batch in sides.items() if batch.length is not None]
    if not known:
        return None
    first, length = known[0]
    for name, other in known[1:]:
        differ = np.flatnonzero(length != other)
        if len(differ):
            row = int(differ[0])
            raise ValueError(
                f"row {row}: {first} speaks of a text of {length[row]} characters, {name} of one of {other[row]}"
            )
    return length


def weights(weight: Any, rows: int) -> IntArray | FloatArray:
    """Return the weights as integers where all are whole, which keeps sums exact, else as floats."""
    out = np.asarray(weight)
    if out.ndim != 1 or len(out) != rows:
        raise ValueError(f"sample_weight must have shape ({rows},), got {out.shape}")
    if out.dtype == bool or not np.issubdtype(out.dtype, np.number) or np.iscomplexobj(out):
        raise TypeError(f"sample_weight must hold numbers, got dtype {out.dtype}")
    real = out.astype(np.float64)
    low, high = WEIGHTS
    bad = np.flatnonzero(~((real >= low) & (real <= high)) & (real != 0))
    if len(bad):
        raise ValueError(
            f"sample_weight: row {bad[0]} is {real[bad[0]]}, expected 0 or a number between {low:g} and {high:g}"
        )
    whole = (real == np.floor(real)).all() and (not rows or real.max() < 2**31)
    return real.astype(np.int64) if whole else real


def check_scores(batch: SpanBatch, name: str) -> None:
    score = np.full(len(batch.start), np.nan) if batch.score is None else batch.score
    wrong = np.flatnonzero(~((score >= 0) & (score <= 1)))
    if len(wrong):
        j = int(wrong[0])
        row = int(batch.row[j])
        shown = "none" if np.isnan(score[j]) else f"{score[j]}"
        raise ValueError(
            f"{name}: {len(wrong)} span{'s' * (len(wrong) != 1)} without a probability between 0 and 1; the first is"
            f" row {row}, span {j - int(batch.offsets[row])} [{batch.start[j]}, {batch.end[j]}]: {shown}"
        )
