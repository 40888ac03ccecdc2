"""Student's t and the normal distribution."""

from __future__ import annotations

import math

__all__ = ["cdf", "quantile"]


def quantile(q: float, df: int | None) -> float:
    """Return a quantile of Student's t, or of the normal distribution where df is None.

    Examples
    --------
    >>> round(quantile(0.975, 19), 6), round(quantile(0.975, None), 6)
    (2.093024, 1.959964)
    """
    from scipy.special import betaincinv, ndtri

    if df is None:
        return float(ndtri(q))
    # t^2 / (df + t^2) and what it lacks to 1 have beta distributions, whose inverse has more right digits than
    # that of Student's in older releases of scipy. The smaller of the two is used.
    tail = min(q, 1 - q)
    share = float(betaincinv(0.5, df / 2, 1 - 2 * tail))
    odds = share / (1 - share)
    if share > 0.5:
        rest = float(betaincinv(df / 2, 0.5, 2 * tail))
        odds = (1 - rest) / rest
    return math.copysign(math.sqrt(df * odds), q - 0.5)


def cdf(x: float, df: int | None) -> float:
    """Return the probability of x or less in Student's t, or in the normal distribution where df is None.

    Examples
    --------
    >>> round(cdf(-2.093024, 19), 6), round(cdf(-1.959964, None), 6)
    (0.025, 0.025)
    """
    from scipy.special import ndtr, stdtr

    return float(ndtr(x) if df is None else stdtr(df, x))
