"""Selective prediction: how wrong is what is kept, when only the most confident part is kept.

Ties are never broken: within a block of equal confidence errors come as they would on average over all orders, so no
number depends on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelium.detector.inputs import as_scores, read_scored
from mycelium.spans import FloatArray, IntArray

__all__ = ["RiskCoverageCurve", "augrc_score", "aurc_score", "excess_aurc_score", "risk_coverage_curve"]


@dataclass(frozen=True, eq=False)
class RiskCoverageCurve:
    """Coverage and risk at every distinct confidence, from the highest down.

    Attributes
    ----------
    confidence : float64 array of shape (t,)
        Row i is about keeping every answer with at least ``confidence[i]``.
    coverage : float64 array of shape (t,)
        Share of answers kept.
    risk : float64 array of shape (t,)
        Share of the kept ones that are wrong. It may rise and fall: no threshold is to be chosen by it with a
        guarantee that supposes otherwise.
    n_kept, n_errors : int64 arrays of shape (t,)
        Rows kept, and the wrong ones among them.
    n, n_unscored : int
        All rows, and those without a confidence, which are never kept.
    """

    confidence: FloatArray
    coverage: FloatArray
    risk: FloatArray
    n_kept: IntArray
    n_errors: IntArray
    n: int
    n_unscored: int

    def coverage_at(self, max_risk: float, *, contiguous: bool = False) -> float:
        """Return the largest coverage whose risk is at most ``max_risk``; 0 where there is none.

        With ``contiguous`` every smaller coverage has to keep to it as well.
        """
        if not 0 <= max_risk <= 1:
            raise ValueError(f"max_risk must lie between 0 and 1, got {max_risk!r}")
        within = self.risk <= max_risk
        if contiguous:
            within = np.logical_and.accumulate(within)
        return float(self.coverage[within].max(initial=0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict, arrays as lists; infinite confidences as None."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        out = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
        out["confidence"] = [value if np.isfinite(value) else None for value in out["confidence"]]
        return out


@dataclass(frozen=True, eq=False)
class Blocks:
    """Tied rows: those of equal confidence, most confident first."""

    risk: FloatArray
    rows: IntArray
    wrong_rows: IntArray
    weight: FloatArray
    wrong: FloatArray
    n: int
    n_unscored: int


def risk_coverage_curve(
    y_error: Any, confidence: Any, *, sample_weight: Any = None, nan_policy: str = "raise"
) -> RiskCoverageCurve:
    """Return coverage and risk at every distinct confidence.

    Parameters
    ----------
    y_error : sequence of length n
        1 where keeping the answer is an error. For the stream of accepted answers that is "unsupported".
    confidence : sequence of length n
        Higher is kept first; for a score of risk, its negative.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for.
    nan_policy : {"raise", "omit", "reject"}
        "reject" counts rows without a confidence among all rows, and never keeps them.

    Raises
    ------
    TypeError, ValueError
        For input that cannot be used; the message names the row.

    Examples
    --------
    >>> curve = risk_coverage_curve([0, 1, 0, 1], [0.9, 0.5, 0.5, 0.1])
    >>> curve.coverage.tolist(), curve.risk.round(4).tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.3333, 0.5])
    """
    blocks = _read(y_error, confidence, sample_weight, nan_policy)
    kept, wrong = np.cumsum(blocks.weight), np.cumsum(blocks.wrong)
    # Those without a confidence are tied at the end, and are no threshold.
    use = slice(0, len(kept) - (blocks.risk[-1] == np.inf))
    return RiskCoverageCurve(
        -blocks.risk[use] + 0.0,
        kept[use] / kept[-1],
        wrong[use] / kept[use],
        np.cumsum(blocks.rows)[use],
        np.cumsum(blocks.wrong_rows)[use],
        blocks.n,
        blocks.n_unscored,
    )


def aurc_score(y_error: Any, confidence: Any, *, sample_weight: Any = None, nan_policy: str = "raise") -> float:
    """Return the area under the risk-coverage curve: the mean over k = 1 .. n of the risk of the k most confident.

    Parameters are those of :func:`risk_coverage_curve`. Ties count as the mean over their orders; a row of weight w
    counts as w rows. Rows without a confidence ("reject") come last.

    References
    ----------
    Geifman, Uziel and El-Yaniv, "Bias-reduced uncertainty estimation for deep neural classifiers", ICLR 2019.

    Examples
    --------
    >>> aurc_score([0, 1], [0.9, 0.1]), aurc_score([0, 1], [0.5, 0.5]), aurc_score([1, 0], [0.5, 0.5])
    (0.25, 0.5, 0.5)
    """
    return _aurc(_read(y_error, confidence, sample_weight, nan_policy))


def excess_aurc_score(
    y_error: Any,
    confidence: Any,
    *,
    optimum: str = "discrete",
    sample_weight: Any = None,
    nan_policy: str = "raise",
) -> float:
    """Return how far AURC lies above that of the best possible order, all errors last.

    Parameters
    ----------
    y_error, confidence, sample_weight, nan_policy
        As in :func:`risk_coverage_curve`.
    optimum : {"discrete", "asymptotic"}
        The best AURC of this many rows, or the limit r + (1 - r) ln(1 - r) for an error rate r. They differ on few
        rows: name the one you publish.

    Examples
    --------
    >>> excess_aurc_score([0, 1], [0.9, 0.1]), excess_aurc_score([1, 0], [0.9, 0.1])
    (0.0, 0.5)
    """
    if optimum not in ("discrete", "asymptotic"):
        raise ValueError(f"optimum must be 'discrete' or 'asymptotic', got {optimum!r}")
    blocks = _read(y_error, confidence, sample_weight, nan_policy)
    total, wrong = float(blocks.weight.sum()), float(blocks.wrong.sum())
    if optimum == "discrete":
        best = (wrong - (total - wrong) * float(_harmonic(np.array([total - wrong]), np.array([wrong]))[0])) / total
    else:
        rate = wrong / total
        best = rate + ((1 - rate) * float(np.log1p(-rate)) if rate < 1 else 0.0)
    return _aurc(blocks) - best


def augrc_score(y_error: Any, confidence: Any, *, sample_weight: Any = None, nan_policy: str = "raise") -> float:
    """Return the area under the generalised risk-coverage curve.

    The mean over k = 1 .. n of the errors among the k most confident, divided by n: the share of *all* answers that
    are kept and wrong. Parameters are those of :func:`risk_coverage_curve`.

    References
    ----------
    Traub et al., "Overcoming common flaws in the evaluation of selective classification systems", NeurIPS 2024.

    Examples
    --------
    >>> augrc_score([0, 1], [0.9, 0.1]), augrc_score([0, 1], [0.5, 0.5])
    (0.25, 0.375)
    """
    blocks = _read(y_error, confidence, sample_weight, nan_policy)
    m, e = blocks.weight, blocks.wrong
    before = np.cumsum(e) - e
    return float((m * before + e * (m + 1) / 2).sum() / m.sum() ** 2)


def _aurc(blocks: Blocks) -> float:
    m, e = blocks.weight, blocks.wrong
    kept, wrong = np.cumsum(m) - m, np.cumsum(e) - e
    # The i-th row of a block finds (wrong + e i / m) errors among kept + i rows, on average over its orders.
    return float((e + (wrong - e * kept / m) * _harmonic(kept, m)).sum() / m.sum())


def _harmonic(start: FloatArray, length: FloatArray) -> FloatArray:
    """Return 1 / (start + 1) + ... + 1 / (start + length), also where these are not whole numbers."""
    from scipy.special import digamma

    return np.asarray(digamma(start + length + 1) - digamma(start + 1))


def _read(y_error: Any, confidence: Any, sample_weight: Any, nan_policy: str) -> Blocks:
    risk = -as_scores(confidence, name="confidence") + 0.0
    try:
        read = read_scored(y_error, risk, sample_weight=sample_weight, nan_policy=nan_policy)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("y_true", "y_error").replace("y_score", "confidence")) from None
    weight = np.ones(len(read)) if read.weight is None else read.weight
    held = weight > 0
    values, index = np.unique(read.score[held], return_inverse=True)
    wrong = read.unsupported[held]
    return Blocks(
        values,
        np.bincount(index, minlength=len(values)).astype(np.int64),
        np.bincount(index[wrong], minlength=len(values)).astype(np.int64),
        np.bincount(index, weight[held], len(values)).astype(np.float64),
        np.bincount(index[wrong], weight[held][wrong], len(values)).astype(np.float64),
        int(held.sum()),
        read.n_unscored,
    )
