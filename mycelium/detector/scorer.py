"""A scorer for scikit-learn's threshold tuning: as many supported answers as possible, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from mycelium.detector.inputs import as_labels, as_weights
from mycelium.detector.thresholds import check_budget

__all__ = ["max_far_scorer"]


def max_far_scorer(max_far: float, *, pos_label: Hashable = 1) -> Callable[..., float]:
    """Make a scorer for ``sklearn.model_selection.TunedThresholdClassifierCV``.

    Its value is SAR, the share of supported answers that are accepted, where FAR, the share of unsupported ones that
    are, is at most ``max_far``, and -FAR elsewhere. The best threshold is thus the one that accepts most supported
    answers within the budget, or failing that the one with the fewest false acceptances. It accepts as many supported
    answers as the rule "empirical" of :func:`mycelium.detector.thresholds.select_threshold`, and like that guarantees
    nothing for new ones.

    Parameters
    ----------
    max_far : float
        The budget, from 0 to 1.
    pos_label : hashable
        The label of unsupported answers, for the estimator and ``y_true`` alike.

    Returns
    -------
    callable
        The result of :func:`sklearn.metrics.make_scorer`. What the estimator predicts as ``pos_label`` is flagged,
        everything else is accepted. Scikit-learn flags iff ``score >= threshold``: give it
        ``thresholds=np.unique(scores)``, and the threshold here is the largest score below the one it finds.

    Raises
    ------
    ImportError
        Without scikit-learn.
    ValueError
        When a fold has no unsupported, or no supported, rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> flags_all = DummyClassifier(strategy="constant", constant=1).fit([[0]] * 4, [0, 0, 1, 1])
    >>> max_far_scorer(0.05)(flags_all, [[0]] * 4, [0, 0, 1, 1])
    0.0
    """
    try:
        from sklearn.metrics import make_scorer
    except ImportError as error:
        raise ImportError('max_far_scorer needs scikit-learn: pip install "mycelium-eval[sklearn]"') from error
    scorer: Callable[..., float] = make_scorer(_score, max_far=check_budget(max_far), pos_label=pos_label)
    return scorer


def _score(y_true: Any, y_pred: Any, *, max_far: float, pos_label: Hashable = 1, sample_weight: Any = None) -> float:
    unsupported = as_labels(y_true, pos_label=pos_label)
    accepted = np.asarray(y_pred) != pos_label
    weight = as_weights(sample_weight, len(unsupported))
    weight = np.ones(len(unsupported)) if weight is None else weight
    total = float(weight[unsupported].sum()), float(weight[~unsupported].sum())
    for name, rows in zip(("unsupported", "supported"), total, strict=True):
        if not rows:
            raise ValueError(f"y_true: there are no {name} rows: stratify the folds by the label")
    far = float(weight[unsupported & accepted].sum()) / total[0]
    return float(weight[~unsupported & accepted].sum()) / total[1] if far <= max_far else -far
