"""Many comparisons at once: p-values adjusted within a family."""

from __future__ import annotations

import numpy as np

from mycelium.spans import FloatArray

__all__ = ["CORRECTIONS", "adjust"]

CORRECTIONS = ("holm", "bh", "none")


def adjust(p_values: FloatArray, correction: str) -> FloatArray:
    """Adjust the p-values of one family of hypotheses.

    Parameters
    ----------
    p_values : float64 array of shape (m,)
        One for each hypothesis.
    correction : {"holm", "bh", "none"}
        Holm's step-down procedure bounds the probability of even one false rejection; Benjamini and Hochberg's
        step-up procedure bounds the expected share of false ones among the rejections.

    Returns
    -------
    float64 array of shape (m,)
        Value i belongs to ``p_values[i]``: hypothesis i is rejected at every level that is at least that.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", 1979. Benjamini and Hochberg, "Controlling the
    false discovery rate", 1995.

    Examples
    --------
    >>> import numpy as np
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm").round(12).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust(np.array([0.01, 0.04, 0.03]), "bh").round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"correction must be one of {', '.join(map(repr, CORRECTIONS))}, got {correction!r}")
    m = len(p_values)
    out = np.array(p_values, dtype=np.float64)
    if correction == "none" or not m:
        return out
    order = np.argsort(out, kind="stable")
    ranked = out[order]
    if correction == "holm":
        steps = np.maximum.accumulate(ranked * np.arange(m, 0, -1))
    else:
        steps = np.minimum.accumulate((ranked * m / np.arange(1, m + 1))[::-1])[::-1]
    out[order] = np.minimum(steps, 1.0)
    return out
