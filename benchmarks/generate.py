"""Random corpora for the benchmarks."""

from __future__ import annotations

import numpy as np

from mycelium.spans import SpanBatch


def batch(rows: int, *, most: int = 2, text: int = 600, overlap: bool = False, seed: int = 0) -> SpanBatch:
    """Return rows with 0 to ``most`` spans each, disjoint unless ``overlap``, in texts of the given length."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most + 1, rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    width = text if overlap else text // most
    begin = 0 if overlap else place * width
    start = begin + rng.integers(0, width - 60, offsets[-1])
    end = start + rng.integers(1, 61, offsets[-1])
    return SpanBatch(offsets, start, end)


def shifted(references: SpanBatch, *, seed: int = 1) -> SpanBatch:
    """Return a detector's answer to the references: moved by a few characters, a fifth of them lost."""
    rng = np.random.default_rng(seed)
    start = np.maximum(references.start + rng.integers(-5, 6, len(references.start)), 0)
    end = np.maximum(references.end + rng.integers(-5, 6, len(references.end)), start + 1)
    return SpanBatch(references.offsets, start, end)._keep(rng.random(len(start)) < 0.8)
