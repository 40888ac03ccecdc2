"""The rates of a threshold, as plain numbers."""

from __future__ import annotations

from typing import Any

from mycelium.detector.decisions import read_decisions, share
from mycelium.detector.inputs import Scored
from mycelium.detector.selection import inside_threshold
from mycelium.spans import BoolArray

__all__ = ["false_acceptance_rate", "false_rejection_rate", "supported_acceptance_rate"]


def false_acceptance_rate(y_true: Any, y_score: Any, *, threshold: Any, **options: Any) -> float | None:
    """Return FAR, the share of unsupported answers that are accepted: P(score <= threshold | unsupported).

    It is the false *negative* rate of a classifier whose positive class is "unsupported".

    Parameters
    ----------
    y_true, y_score : sequences of length n
        Labels, 1 for unsupported, and scores.
    threshold : float, ThresholdSelection or None
        Accept iff ``score <= threshold``; None accepts nothing.
    **options
        ``sample_weight``, ``pos_label``, ``nan_policy``, ``score_direction``, as in :func:`evaluate_operating_point`.

    Returns
    -------
    float or None
        None where there are no unsupported rows.

    Examples
    --------
    >>> false_acceptance_rate([1, 1, 0, 0], [0.4, 0.8, 0.1, 0.6], threshold=0.4)
    0.5
    """
    rows, accepted = _read(y_true, y_score, threshold, options)
    return _rate(rows, accepted, rows.unsupported)


def supported_acceptance_rate(y_true: Any, y_score: Any, *, threshold: Any, **options: Any) -> float | None:
    """Return SAR, the share of supported answers that are accepted: P(score <= threshold | supported).

    Parameters and result are those of :func:`false_acceptance_rate`; None where there are no supported rows.

    Examples
    --------
    >>> supported_acceptance_rate([1, 1, 0, 0], [0.4, 0.8, 0.1, 0.6], threshold=0.1)
    0.5
    """
    rows, accepted = _read(y_true, y_score, threshold, options)
    return _rate(rows, accepted, ~rows.unsupported)


def false_rejection_rate(y_true: Any, y_score: Any, *, threshold: Any, **options: Any) -> float | None:
    """Return FRR, the share of supported answers that are flagged: P(score > threshold | supported) = 1 - SAR.

    It is the false *positive* rate of a classifier whose positive class is "unsupported". Parameters and result are
    those of :func:`false_acceptance_rate`; None where there are no supported rows.

    Examples
    --------
    >>> false_rejection_rate([1, 1, 0, 0], [0.4, 0.8, 0.1, 0.6], threshold=0.6)
    0.0
    """
    rows, accepted = _read(y_true, y_score, threshold, options)
    return _rate(rows, ~accepted, ~rows.unsupported)


def _read(y_true: Any, y_score: Any, threshold: Any, options: dict[str, Any]) -> tuple[Scored, BoolArray]:
    scored = read_decisions(y_true, y_score, **options)
    return scored, scored.score <= inside_threshold(threshold, options.get("score_direction", "higher_is_riskier"))


def _rate(scored: Scored, event: BoolArray, rows: BoolArray) -> float | None:
    return share(event[rows], None if scored.weight is None else scored.weight[rows])
