"""Score functions, scorers, a detector and its threshold, in the manner of scikit-learn.

``y_true`` and ``y_pred`` are batches of span sets in any container that :func:`mycelium.as_spans` reads; scikit-learn
cuts lists, object arrays, rectangular arrays, Series, Arrow arrays and SpanBatches into folds alike.

>>> from mycelium.sklearn import character_f1_score
>>> character_f1_score([[[0, 10]], [[4, 7]]], [[[2, 8]], [[4, 7]]])
0.875
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ImportError('mycelium.sklearn needs scikit-learn: pip install "mycelium-eval[sklearn]"') from error

from mycelium.sklearn.detector import SpanThresholdDetector, best_threshold
from mycelium.sklearn.functions import (
    character_f1_score,
    cleval_f1_score,
    deteval_f1_score,
    exact_span_f1_score,
    iou_score,
    span_coverage_f1_score,
)
from mycelium.sklearn.scorers import PooledScorer, ReportScorer, TypedReportScorer, scorers, span_scorer
from mycelium.sklearn.scores import span_precision_recall_fscore, span_score
from mycelium.sklearn.typed_functions import (
    partial_f1_score,
    strict_f1_score,
    strict_typed_f1_score,
    typed_partial_f1_score,
)

__all__ = [
    "PooledScorer",
    "ReportScorer",
    "SpanThresholdDetector",
    "TypedReportScorer",
    "best_threshold",
    "character_f1_score",
    "cleval_f1_score",
    "deteval_f1_score",
    "exact_span_f1_score",
    "iou_score",
    "partial_f1_score",
    "scorers",
    "span_coverage_f1_score",
    "span_precision_recall_fscore",
    "span_score",
    "span_scorer",
    "strict_f1_score",
    "strict_typed_f1_score",
    "typed_partial_f1_score",
]
