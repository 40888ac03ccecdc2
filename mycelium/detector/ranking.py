"""Ranking: AUC with its interval, two AUCs against each other, and average precision at any prevalence."""

from __future__ import annotations

from mycelium.detector.auc import RocAucInterval, roc_auc_interval
from mycelium.detector.paired import RocAucComparison, compare_roc_auc
from mycelium.detector.precision import AveragePrecision, average_precision, average_precision_at_prevalence_score

__all__ = [
    "AveragePrecision",
    "RocAucComparison",
    "RocAucInterval",
    "average_precision",
    "average_precision_at_prevalence_score",
    "compare_roc_auc",
    "roc_auc_interval",
]
