"""The score functions of spans that are paired one to one, with and without their types."""

from __future__ import annotations

from typing import Any

from mycelium.sklearn.scores import span_score

__all__ = ["partial_f1_score", "strict_f1_score", "strict_typed_f1_score", "typed_partial_f1_score"]


def strict_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans paired one to one whose boundaries are equal.

    Types are not looked at. Other than in :func:`exact_span_f1_score`, a span that is listed twice needs two partners.

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

    Examples
    --------
    >>> from mycelium.sklearn import strict_f1_score
    >>> strict_f1_score([[[0, 4], [0, 4]]], [[[0, 4]]])
    0.6666666666666666
    """
    return span_score(
        y_true,
        y_pred,
        metric="strict",
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def strict_typed_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans paired one to one whose boundaries and types are equal.

    A right place with the wrong type is an error on both sides.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample, each with its type: ``[start, end, type]``, or dicts with
        ``start``, ``end`` and ``label``; see :func:`span_score`.

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

    Examples
    --------
    >>> from mycelium.sklearn import strict_typed_f1_score
    >>> y_true = [[[0, 4, "conflict"], [6, 9, "baseless"]]]
    >>> strict_typed_f1_score(y_true, [[[0, 4, "conflict"], [6, 9, "conflict"]]])
    0.5
    """
    return span_score(
        y_true,
        y_pred,
        metric="strict_typed",
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def partial_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    overlap_credit: float = 0.5,
    min_overlap: float = 0.0,
    overlap_base: str = "reference",
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans paired one to one: equal boundaries count 1, an overlap counts half.

    Types are not looked at. A second prediction of the same reference earns nothing.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample; see :func:`span_score`.

    overlap_credit : float, default=0.5
        What a pair is worth whose boundaries differ, between 0 and 1. At 1 only the number of pairs counts.

    min_overlap : float, default=0.0
        Least share of its base that an overlap must have in order to count; equal passes. At 0 one shared character
        is enough.

    overlap_base : {"reference", "union", "prediction"}, default="reference"
        The length that the share is taken of.

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

    Examples
    --------
    >>> from mycelium.sklearn import partial_f1_score
    >>> y_true, y_pred = [[[0, 10], [20, 30]]], [[[0, 10], [22, 34], [23, 29]]]
    >>> partial_f1_score(y_true, y_pred)
    0.6
    >>> partial_f1_score(y_true, y_pred, overlap_credit=1.0)
    0.8
    """
    return span_score(
        y_true,
        y_pred,
        metric="partial",
        overlap_credit=overlap_credit,
        min_overlap=min_overlap,
        overlap_base=overlap_base,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )


def typed_partial_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    overlap_credit: float = 0.5,
    min_overlap: float = 0.0,
    overlap_base: str = "reference",
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: float | None = None,
    texts: Any = None,
) -> float:
    """F1 of spans of the same type paired one to one: equal boundaries count 1, an overlap counts half.

    The joint measure of place and type.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Reference and predicted spans of each sample, each with its type: ``[start, end, type]``, or dicts with
        ``start``, ``end`` and ``label``; see :func:`span_score`.

    overlap_credit : float, default=0.5
        What a pair is worth whose boundaries differ, between 0 and 1. At 1 only the number of pairs counts.

    min_overlap : float, default=0.0
        Least share of its base that an overlap must have in order to count; equal passes. At 0 one shared character
        is enough.

    overlap_base : {"reference", "union", "prediction"}, default="reference"
        The length that the share is taken of.

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

    Examples
    --------
    >>> from mycelium.sklearn import typed_partial_f1_score
    >>> y_true = [[[0, 10, "conflict"], [20, 30, "baseless"]]]
    >>> typed_partial_f1_score(y_true, [[[2, 8, "conflict"], [20, 30, "conflict"]]])
    0.25
    """
    return span_score(
        y_true,
        y_pred,
        metric="typed_partial",
        overlap_credit=overlap_credit,
        min_overlap=min_overlap,
        overlap_base=overlap_base,
        average=average,
        sample_weight=sample_weight,
        zero_division=zero_division,
        texts=texts,
    )
