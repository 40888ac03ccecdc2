"""Probabilities: calibration with counts and what chance alone would show, Brier score and log loss.

All of this is about P(unsupported), and makes sense only for a score that is declared to be that probability.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelium.detector.binning import bins_of, null_shares, read_probabilities
from mycelium.detector.binomial import rate_interval
from mycelium.detector.decisions import narrowed, share
from mycelium.detector.points import NO_SUPPORTED, NO_UNSUPPORTED
from mycelium.draws import check_level, seed_name
from mycelium.spans import FloatArray, IntArray

__all__ = [
    "CalibrationError",
    "ProbabilityReport",
    "ReliabilityCurve",
    "expected_calibration_error",
    "probability_report",
    "reliability_curve",
]

NOT_A_PROBABILITY = "the score is not declared to be a probability"


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """How often answers of each bin of probabilities are unsupported. Only bins with a row are listed.

    Attributes
    ----------
    low_edge, high_edge : float64 arrays of shape (f,)
        Edges of each bin; ``closed`` says which of them belongs to it.
    n, n_unsupported : int64 arrays of shape (f,)
        Rows of each bin.
    mean_probability, share_unsupported : float64 arrays of shape (f,)
        Mean probability, and how many are unsupported.
    low, high : float64 arrays of shape (f,)
        Two-sided interval of the share: Clopper and Pearson's; Korn and Graubard's with groups or weights, [0, 1]
        where all rows of a bin are in one group.
    band_low, band_high : float64 arrays of shape (f,)
        Where the share would lie for perfectly calibrated probabilities and independent rows, at the same level.
    n_bins, strategy, closed : int and str
        The scheme.
    confidence_level : float
        Level of the intervals and of the band.
    n_resamples, seed : int and str
        Of the band.
    """

    low_edge: FloatArray
    high_edge: FloatArray
    n: IntArray
    n_unsupported: IntArray
    mean_probability: FloatArray
    share_unsupported: FloatArray
    low: FloatArray
    high: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    n_bins: int
    strategy: str
    closed: str
    confidence_level: float
    n_resamples: int
    seed: str

    def __len__(self) -> int:
        return len(self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict, arrays as lists."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}


@dataclass(frozen=True)
class CalibrationError:
    """Expected calibration error, with everything that must be said with it.

    Attributes
    ----------
    ece, mce : float
        Mean, weighted by rows, and largest distance between mean probability and share of unsupported rows of a bin.
    null_mean, null_p95 : float or None
        Mean and 95th percentile of the ECE that perfectly calibrated probabilities would show on as many independent
        rows. An ECE below the second is no evidence of miscalibration, and one below the first none of quality.
    n_bins, n_empty : int
        Bins, and those of them without a row.
    strategy, closed : str
        "uniform" or "quantile" edges, and which edge belongs to a bin.
    edges : tuple of float
        All n_bins + 1 of them.
    n : int
        Rows.
    n_resamples, seed : int and str, or None
        Of the null.
    """

    ece: float
    mce: float
    null_mean: float | None
    null_p95: float | None
    n_bins: int
    n_empty: int
    strategy: str
    closed: str
    edges: tuple[float, ...]
    n: int
    n_resamples: int | None
    seed: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "edges": list(self.edges)}


@dataclass(frozen=True)
class ProbabilityReport:
    """Scores of probabilities; all None where the score is not declared to be one.

    Attributes
    ----------
    brier, log_loss : float or None
        Mean squared error, and mean negative natural logarithm of the probability of what was the case, kept away from
        0 and 1 by the float64 epsilon.
    brier_skill : float or None
        1 - Brier / (p (1 - p)), p the share of unsupported rows: 0 for always saying p.
    prevalence : float or None
        Share of unsupported rows.
    calibration : CalibrationError or None
        See there.
    n : int
        Rows.
    undefined : dict
        Why a field is None.
    """

    brier: float | None
    brier_skill: float | None
    log_loss: float | None
    prevalence: float | None
    calibration: CalibrationError | None
    n: int
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        inner = None if self.calibration is None else self.calibration.to_dict()
        return out | {"calibration": inner, "undefined": dict(self.undefined)}


def reliability_curve(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    closed: str = "right",
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    seed: int | np.random.Generator = 0,
) -> ReliabilityCurve:
    """Return how often answers of each bin of probabilities are unsupported.

    Parameters
    ----------
    y_true, y_prob : sequences of length n
        Labels, 1 for unsupported, and probabilities of that.
    n_bins : int
        Number of bins.
    strategy : {"uniform", "quantile"}
        Bins of equal width, or edges at quantiles of the probabilities (linear; of rows, whatever their weights). Equal
        probabilities share a bin.
    closed : {"right", "left"}
        Bins (low, high] with 0 in the first, or [low, high) with 1 in the last.
    groups, sample_weight : sequences of length n, optional
        For the intervals of each bin; the band supposes independent rows.
    pos_label : hashable, optional
        The label of unsupported rows.
    nan_policy : {"raise", "omit"}
        What becomes of rows without a probability.
    confidence_level : float
        Of the intervals and the band.
    n_resamples, seed : int, and int or numpy.random.Generator
        Of the band.

    Raises
    ------
    TypeError, ValueError
        For input that cannot be used, such as a probability outside [0, 1]; the message names the row.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.2, 0.9], n_bins=2)
    >>> curve.n.tolist(), curve.n_unsupported.tolist(), curve.mean_probability.round(4).tolist()
    ([3, 1], [1, 1], [0.1667, 0.9])
    """
    level = check_level(confidence_level, "confidence_level")
    read = read_probabilities(
        y_true, y_prob, groups=groups, sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    )
    bins = bins_of(read, n_bins, strategy, closed)
    ends = []
    for i in range(len(bins.filled)):
        rows = narrowed(read, bins.index == i)
        found = rate_interval(rows.unsupported, rows.units, rows.weight, confidence_level=level)
        ends.append((0.0 if found.low is None else found.low, 1.0 if found.high is None else found.high))
    name = seed_name(seed)
    tails = [50 * (1 - level), 50 * (1 + level)]
    band = np.percentile(null_shares(bins, read.score, n_resamples, seed), tails, axis=0)
    count = np.bincount(bins.index, minlength=len(bins.filled))
    wrong = np.bincount(bins.index[read.unsupported], minlength=len(bins.filled))
    return ReliabilityCurve(
        bins.edges[bins.filled],
        bins.edges[bins.filled + 1],
        count.astype(np.int64),
        wrong.astype(np.int64),
        bins.mean,
        bins.shares(read.unsupported),
        np.array([low for low, _ in ends]),
        np.array([high for _, high in ends]),
        band[0],
        band[1],
        int(n_bins),
        strategy,
        closed,
        level,
        int(n_resamples),
        name,
    )


def expected_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: str = "uniform",
    closed: str = "right",
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    n_resamples: int | None = 2000,
    seed: int | np.random.Generator = 0,
) -> CalibrationError:
    """Return the expected calibration error of P(unsupported), and that of perfectly calibrated probabilities.

    Parameters
    ----------
    y_true, y_prob, n_bins, strategy, closed, sample_weight, pos_label, nan_policy, seed
        As in :func:`reliability_curve`.
    n_resamples : int, optional
        Replicates of the null; None for none.

    Returns
    -------
    CalibrationError
        The error depends on bins, edges and n, which are part of the result: compare only what agrees in them.

    Examples
    --------
    >>> error = expected_calibration_error([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], seed=0)
    >>> round(error.ece, 4), error.ece < error.null_mean
    (0.15, True)
    """
    read = read_probabilities(
        y_true, y_prob, groups=None, sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    )
    bins = bins_of(read, n_bins, strategy, closed)
    ece, mce = bins.errors(bins.shares(read.unsupported))
    null, name = None, None
    if n_resamples is not None:
        name = seed_name(seed)
        null = bins.errors(null_shares(bins, read.score, n_resamples, seed))[0]
    return CalibrationError(
        float(ece),
        float(mce),
        None if null is None else float(null.mean()),
        None if null is None else float(np.percentile(null, 95)),
        int(n_bins),
        int(n_bins) - len(bins.filled),
        strategy,
        closed,
        tuple(bins.edges.tolist()),
        len(read),
        None if n_resamples is None else int(n_resamples),
        name,
    )


def probability_report(
    y_true: Any,
    y_score: Any,
    *,
    score_is_probability: bool | None,
    n_bins: int = 10,
    strategy: str = "uniform",
    closed: str = "right",
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    n_resamples: int = 2000,
    seed: int | np.random.Generator = 0,
) -> ProbabilityReport:
    """Return Brier score, skill, log loss and calibration error, if the score is declared to be a probability.

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores.
    score_is_probability : bool or None
        Whether the score is meant to be P(unsupported). Numbers from 0 to 1 are not proof of it: it is never guessed.
    n_bins, strategy, closed, sample_weight, pos_label, nan_policy, n_resamples, seed
        As in :func:`expected_calibration_error`.

    Raises
    ------
    ImportError
        Without scikit-learn.

    Examples
    --------
    >>> report = probability_report([0, 1], [0.25, 0.75], score_is_probability=True)
    >>> report.brier, report.brier_skill, round(report.log_loss, 4)
    (0.0625, 0.75, 0.2877)
    >>> probability_report([0, 1], [0.25, 0.75], score_is_probability=None).undefined["brier"]
    'the score is not declared to be a probability'
    """
    if not score_is_probability:
        names = ("brier", "brier_skill", "log_loss", "prevalence", "calibration")
        rows = len(y_true)
        return ProbabilityReport(None, None, None, None, None, rows, dict.fromkeys(names, NOT_A_PROBABILITY))
    try:
        from sklearn.metrics import brier_score_loss, log_loss
    except ImportError as error:
        raise ImportError('probability_report needs scikit-learn: pip install "mycelium-eval[sklearn]"') from error
    read = read_probabilities(
        y_true, y_score, groups=None, sample_weight=sample_weight, pos_label=pos_label, nan_policy=nan_policy
    )
    labels = read.unsupported.astype(np.int64)
    brier = float(brier_score_loss(labels, read.score, sample_weight=read.weight, pos_label=1))
    loss = float(log_loss(labels, read.score, sample_weight=read.weight, labels=[0, 1]))
    p = share(read.unsupported, read.weight) or 0.0
    single = NO_UNSUPPORTED if p == 0 else NO_SUPPORTED if p == 1 else None
    calibration = expected_calibration_error(
        read.unsupported,
        read.score,
        n_bins=n_bins,
        strategy=strategy,
        closed=closed,
        sample_weight=read.weight,
        n_resamples=n_resamples,
        seed=seed,
    )
    skill = None if single else 1 - brier / (p * (1 - p))
    return ProbabilityReport(brier, skill, loss, p, calibration, len(read), {"brier_skill": single} if single else {})
