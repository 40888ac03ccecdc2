"""Bins of probabilities, and what perfectly calibrated ones would look like in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.decisions import narrowed
from mycelium.detector.inputs import Scored, read_scored
from mycelium.draws import CELLS, as_generator, check_resamples
from mycelium.spans import FloatArray, IntArray

__all__ = ["CLOSED", "STRATEGIES", "Bins", "bins_of", "null_shares", "read_probabilities"]

STRATEGIES = ("uniform", "quantile")
#: Which edge belongs to a bin: (low, high] with 0 in the first, or [low, high) with 1 in the last.
CLOSED = ("right", "left")


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows in bins, of which only those that hold a row are kept.

    Attributes
    ----------
    edges : float64 array of shape (b + 1,)
        Of all bins.
    filled : int64 array of shape (f,)
        Numbers of the bins that hold a row.
    index : int64 array of shape (n,)
        Row i lies in bin ``filled[index[i]]``.
    weight : float64 array of shape (n,)
        How much each row counts.
    size, mean : float64 arrays of shape (f,)
        Sum of weights, and mean probability, of each bin.
    """

    edges: FloatArray
    filled: IntArray
    index: IntArray
    weight: FloatArray
    size: FloatArray
    mean: FloatArray

    def shares(self, event: Any) -> FloatArray:
        """Return the share (f,) of rows of each bin where something happened."""
        return np.asarray(np.bincount(self.index, self.weight * event, len(self.filled)) / self.size)

    def errors(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the largest distance of shares (..., f) from the mean probabilities."""
        apart = np.abs(shares - self.mean)
        return np.asarray((apart * self.size).sum(axis=-1) / self.size.sum()), np.asarray(apart.max(axis=-1))


def read_probabilities(
    y_true: Any, y_prob: Any, *, groups: Any, sample_weight: Any, pos_label: Any, nan_policy: str
) -> Scored:
    """Read labels and probabilities of "unsupported"; rows of weight 0 are left out.

    Raises
    ------
    TypeError, ValueError
        Also where a probability lies outside [0, 1]; the message names the row.
    """
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy must be 'raise' or 'omit' for probabilities, got {nan_policy!r}")
    read = read_scored(
        y_true, y_prob, groups=groups, sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    )
    bad = np.flatnonzero(~((read.score >= 0) & (read.score <= 1)))
    if len(bad):
        raise ValueError(
            f"y_prob: row {bad[0]} is {read.score[bad[0]]}, expected a probability from 0 to 1: a score that is not one"
            " can be ranked and cut, but not checked for calibration"
        )
    return read if read.weight is None or read.weight.all() else narrowed(read, read.weight > 0)


def bins_of(read: Scored, n_bins: int, strategy: str, closed: str) -> Bins:
    """Put rows into bins.

    Raises
    ------
    TypeError, ValueError
        For a number of bins below 1, or an unknown strategy or edge.
    """
    b = check_resamples(n_bins, "n_bins")
    for name, value, known in (("strategy", strategy, STRATEGIES), ("closed", closed, CLOSED)):
        if value not in known:
            raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}")
    p = read.score
    # Division gives the float nearest to each edge, so that 0.3 lies on the edge 3 / 10; steps of 1 / 10 would miss it.
    edges = np.arange(b + 1) / b if strategy == "uniform" else np.percentile(p, 100 * np.arange(b + 1) / b)
    place = np.searchsorted(edges, p, side="left" if closed == "right" else "right") - 1
    filled, index = np.unique(np.clip(place, 0, b - 1), return_inverse=True)
    weight = np.ones(len(p)) if read.weight is None else read.weight
    size: FloatArray = np.bincount(index, weight, len(filled)).astype(np.float64)
    mean = np.bincount(index, weight * p, len(filled)) / size
    return Bins(np.asarray(edges, dtype=np.float64), filled.astype(np.int64), index, weight, size, mean)


def null_shares(bins: Bins, p: FloatArray, n_resamples: int, seed: int | np.random.Generator) -> FloatArray:
    """Return the shares (B, f) of each bin if every row were unsupported with just its probability.

    Replicate i takes the next n numbers of the generator; row j is unsupported iff its number is below ``p[j]``.
    """
    total, rng = check_resamples(n_resamples), as_generator(seed)
    belongs = np.zeros((len(p), len(bins.filled)))
    belongs[np.arange(len(p)), bins.index] = bins.weight
    step = max(1, CELLS // len(p))
    out = np.empty((total, len(bins.filled)))
    for begin in range(0, total, step):
        block = out[begin : begin + step]
        block[:] = (rng.random((len(block), len(p))) < p) @ belongs / bins.size
    return out
