"""How the scores of supported and unsupported answers are spread, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelium.detector.inputs import read_scored
from mycelium.spans import FloatArray

__all__ = ["ScoreDistributions", "score_distributions"]

QUANTILES = {"minimum": 0.0, "quantile_05": 0.05, "quantile_25": 0.25, "median": 0.5}
QUANTILES |= {"quantile_75": 0.75, "quantile_95": 0.95, "maximum": 1.0}


@dataclass(frozen=True)
class ScoreDistributions:
    """Scores by class, of answers with a finite score.

    Attributes
    ----------
    unsupported, supported : dict or None
        n, mean, standard deviation ("sd", n - 1 in the denominator) and quantiles (linear between scores); None for a
        class without scores.
    mean_gap : float or None
        Mean of the unsupported scores less that of the supported ones.
    standardized_gap : float or None
        The gap over the pooled standard deviation (Cohen's d).
    histogram : dict or None
        "edges" (b + 1 numbers) and the share of each class in each bin, "unsupported" and "supported"; None where
        there is nothing to draw.
    n_unsupported, n_supported, n_infinite : int
        Finite scores of each class, and scores that are not finite.
    undefined : dict
        Why a field is None.
    """

    unsupported: Mapping[str, Any] | None
    supported: Mapping[str, Any] | None
    mean_gap: float | None
    standardized_gap: float | None
    histogram: Mapping[str, list[float]] | None
    n_unsupported: int
    n_supported: int
    n_infinite: int
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"undefined": dict(self.undefined)}


def score_distributions(
    y_true: Any,
    y_score: Any,
    *,
    bins: int | str = "auto",
    pos_label: Hashable = None,
    nan_policy: str = "raise",
) -> ScoreDistributions:
    """Describe the scores of both classes, unweighted.

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores.
    bins : int or str
        Bins of the histogram over all scores, as :func:`numpy.histogram_bin_edges` takes them; at most 60 are made.
    pos_label, nan_policy
        As everywhere; scores that are not finite are counted and left out.

    Examples
    --------
    >>> found = score_distributions([1, 1, 0, 0], [0.9, 0.5, 0.1, 0.3])
    >>> round(found.mean_gap, 6), round(found.standardized_gap, 4)
    (0.5, 2.2361)
    """
    scored = read_scored(y_true, y_score, pos_label=pos_label, nan_policy=nan_policy)
    finite = np.isfinite(scored.score)
    risky, safe = (scored.score[finite & mask] for mask in (scored.unsupported, ~scored.unsupported))
    undefined: dict[str, str] = {}
    described = {name: _described(values, name, undefined) for name, values in _named(risky, safe)}
    gap = standard = None
    if len(risky) and len(safe):
        gap = float(risky.mean() - safe.mean())
        if len(risky) > 1 and len(safe) > 1:
            squares = (len(risky) - 1) * float(risky.var(ddof=1)) + (len(safe) - 1) * float(safe.var(ddof=1))
            pooled = (squares / (len(risky) + len(safe) - 2)) ** 0.5
            # Equal scores have a mean that may differ from them by rounding.
            spread = max(float(np.ptp(risky)), float(np.ptp(safe)))
            standard = gap / pooled if spread else None
        if standard is None:
            undefined["standardized_gap"] = "the scores within the classes do not vary"
    else:
        undefined |= dict.fromkeys(("mean_gap", "standardized_gap"), "one class has no scores")
    return ScoreDistributions(
        described["unsupported"],
        described["supported"],
        gap,
        standard,
        _histogram(risky, safe, bins),
        len(risky),
        len(safe),
        int((~finite).sum()),
        undefined,
    )


def _named(risky: FloatArray, safe: FloatArray) -> tuple[tuple[str, FloatArray], ...]:
    return ("unsupported", risky), ("supported", safe)


def _described(values: FloatArray, name: str, undefined: dict[str, str]) -> dict[str, Any] | None:
    if not len(values):
        undefined[name] = f"there are no {name} scores"
        return None
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    if spread is None:
        undefined[f"{name}.sd"] = "a single score has no standard deviation"
    quantiles = np.quantile(values, list(QUANTILES.values())).tolist()
    return {
        "n": len(values),
        "mean": float(values.mean()),
        "sd": spread,
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


#: More bins than this are not seen on a picture, and fewer show nothing.
LEAST_BINS, MOST_BINS = 10, 60


def _histogram(risky: FloatArray, safe: FloatArray, bins: int | str) -> dict[str, list[float]] | None:
    both = np.concatenate([risky, safe])
    if not len(both) or not np.isfinite(np.ptp(both)):
        return None
    number = _count(both, bins) if isinstance(bins, str) else bins
    edges = np.histogram_bin_edges(both, number)
    out: dict[str, list[float]] = {"edges": edges.tolist()}
    for name, values in _named(risky, safe):
        counts = np.histogram(values, edges)[0]
        out[name] = (counts / max(len(values), 1)).tolist()
    return out


def _count(values: FloatArray, rule: str) -> int:
    """Return how many bins a rule asks for, within limits: one score far off would ask for endless ones."""
    if rule != "auto":
        return min(MOST_BINS, len(np.histogram_bin_edges(values, rule)) - 1)
    quarter = float(np.subtract(*np.percentile(values, [75, 25])))
    # Freedman and Diaconis; half of the scores may be equal.
    wanted = float(np.ptp(values)) / (2 * quarter / len(values) ** (1 / 3)) if quarter else 0.0
    return int(min(MOST_BINS, max(LEAST_BINS, np.ceil(wanted))))
