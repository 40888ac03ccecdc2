"""The score functions of the six metrics, each with the parameters of its own."""

from __future__ import annotations

from typing import Any

from mycelium.sklearn.scores import span_score

__all__ = [
    "character_f1_score",
    "cleval_f1_score",
    "deteval_f1_score",
    "exact_span_f1_score",
    "iou_score",
    "span_coverage_f1_score",
]


def exact_span_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans whose both boundaries are right.

    Precision is the share of predicted spans that are among the references; recall the share of references that were
    predicted. A span that is listed twice counts twice in the totals and is found once.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`.

    average : {"macro", "micro"}, default="macro"
        Mean of the F1 of each sample, or F1 of the counts of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Value of a side with nothing to divide by, 1 by default; NaN leaves it out of macro means.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    See Also
    --------
    span_precision_recall_fscore : Precision and recall as well, with ``metric="exact_span"``.

    Examples
    --------
    >>> from mycelium.sklearn import exact_span_f1_score
    >>> exact_span_f1_score([[[0, 4], [6, 9]], []], [[[0, 4]], []], average="micro")
    0.6666666666666666
    """
    return span_score(
        y_true,
        y_pred,
        metric="exact_span",
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def iou_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """Characters that both sides mark, over characters that either marks (Jaccard index; Mu-SHROOM's IoU).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`. Overlapping spans mark a character once.

    average : {"macro", "micro"}, default="macro"
        Mean of the score of each sample, or the score of the characters of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Score of a sample in which nothing is marked, 1 by default; NaN leaves it out of the macro mean.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    References
    ----------
    Vázquez et al., SemEval-2025 Task 3: Mu-SHROOM.

    Examples
    --------
    >>> from mycelium.sklearn import iou_score
    >>> iou_score([[[0, 10]], []], [[[2, 8]], []])
    0.8
    >>> iou_score([[[0, 10]], []], [[[2, 8]], []], zero_division=float("nan"))
    0.6
    """
    return span_score(
        y_true,
        y_pred,
        metric="iou",
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def character_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of marked characters (RAGTruth's span-level score, which is micro).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`. Overlapping spans mark a character once.

    average : {"macro", "micro"}, default="macro"
        Mean of the F1 of each sample, or F1 of the characters of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Value of a side with nothing to divide by, 0 by default, other than in the other metrics; NaN leaves it out of
        macro means.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    References
    ----------
    Niu et al., RAGTruth, ACL 2024; rebuilt from the description in the paper.

    Examples
    --------
    >>> from mycelium.sklearn import character_f1_score
    >>> character_f1_score([[[0, 10]], []], [[[2, 8]], []], average="micro")
    0.75
    >>> character_f1_score([[[0, 10]], []], [[[2, 8]], []])
    0.375
    """
    return span_score(
        y_true,
        y_pred,
        metric="character",
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def deteval_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    recall_threshold: float = 0.8,
    precision_threshold: float = 0.4,
    granularity_penalty: float = 0.8,
    tolerance: float = 0.0,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans that were found well enough: one to one, or split or merged at a discount (DetEval-1D).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`.

    recall_threshold : float, default=0.8
        Share of a reference that must be covered; a share equal to the threshold passes.

    precision_threshold : float, default=0.4
        Share of a prediction that must lie on references; equal passes.

    granularity_penalty : float, default=0.8
        Credit of a span that is part of a split or a merge.

    tolerance : float, default=0.0
        Subtracted from both thresholds. 0 compares plain doubles, as the published numbers do.

    average : {"macro", "micro"}, default="macro"
        Mean of the F1 of each sample, or F1 of the credits of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Value of a side with nothing to divide by, 1 by default; NaN leaves it out of macro means.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    References
    ----------
    Wolf and Jolion, IJDAR 2006; brought to one dimension in Belikova and Rykov, Mycelium, 2026.

    Examples
    --------
    >>> from mycelium.sklearn import deteval_f1_score
    >>> deteval_f1_score([[[0, 10]]], [[[0, 5], [5, 10]]], granularity_penalty=0.5)
    0.5
    >>> deteval_f1_score([[[0, 10]]], [[[0, 7]]]), deteval_f1_score([[[0, 10]]], [[[0, 8]]])
    (0.0, 1.0)
    """
    return span_score(
        y_true,
        y_pred,
        metric="deteval_1d",
        recall_threshold=recall_threshold,
        precision_threshold=precision_threshold,
        granularity_penalty=granularity_penalty,
        tolerance=tolerance,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def cleval_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    area_precision_threshold: float = 0.3,
    granularity_penalty_weight: float = 1.0,
    tolerance: float = 0.0,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of covered characters, less a penalty for each split and merge (CLEval-1D).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`.

    area_precision_threshold : float, default=0.3
        Share of a prediction that must lie on references for it to be kept; equal passes.

    granularity_penalty_weight : float, default=1.0
        Characters lost by each surplus pair of a kept prediction and a reference.

    tolerance : float, default=0.0
        Subtracted from the threshold. 0 compares plain doubles, as the published numbers do.

    average : {"macro", "micro"}, default="macro"
        Mean of the F1 of each sample, or F1 of the characters of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Value of a side with nothing to divide by, 1 by default; NaN leaves it out of macro means.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    References
    ----------
    Baek et al., CVPR-W 2020; brought to one dimension in Belikova and Rykov, Mycelium, 2026.

    Examples
    --------
    One character of ten is lost in recall, for the reference was split:

    >>> from mycelium.sklearn import cleval_f1_score
    >>> cleval_f1_score([[[0, 10]]], [[[0, 5], [5, 10]]])
    0.9473684210526315
    """
    return span_score(
        y_true,
        y_pred,
        metric="cleval_1d",
        area_precision_threshold=area_precision_threshold,
        granularity_penalty_weight=granularity_penalty_weight,
        tolerance=tolerance,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def span_coverage_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    delta: int = 0,
    min_pred_len: int = 1,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of predictions that lie wholly inside a reference and references that hold a prediction.

    It can be 1.0 with one character per reference: read it beside :func:`iou_score`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`.

    delta : int, default=0
        Characters by which each reference is widened on both sides.

    min_pred_len : int, default=1
        Predictions with fewer characters are left out.

    average : {"macro", "micro"}, default="macro"
        Mean of the F1 of each sample, or F1 of the counts of all samples.

    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights.

    zero_division : {0.0, 1.0, np.nan}, default=None
        Value of a side with nothing to divide by, 1 by default; NaN leaves it out of macro means.

    texts : array-like of shape (n_samples,), default=None
        The texts; spans must lie within them.

    Returns
    -------
    score : float
        Between 0 and 1; 1 is best.

    References
    ----------
    Belikova and Rykov, Mycelium, 2026.

    Examples
    --------
    >>> from mycelium.sklearn import span_coverage_f1_score
    >>> span_coverage_f1_score([[[0, 10]]], [[[2, 8], [9, 11]]])
    0.6666666666666666
    >>> span_coverage_f1_score([[[0, 10]]], [[[2, 8], [9, 11]]], delta=1)
    1.0
    """
    return span_score(
        y_true,
        y_pred,
        metric="span_coverage",
        delta=delta,
        min_pred_len=min_pred_len,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )
