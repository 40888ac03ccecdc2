"""Thresholds on the scores of characters: all of them at the cost of a few."""

from mycelium.thresholds.best import BestThreshold, best_threshold

__all__ = ["BestThreshold", "best_threshold"]
