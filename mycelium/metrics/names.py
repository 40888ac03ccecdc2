"""Names of results outside a report."""

from __future__ import annotations

__all__ = ["flat_name"]


def flat_name(key: str, output: str) -> str:
    """Name one output of a metric where results are flat: ``"iou"``, ``"character_f1"``."""
    return key if output == "score" else f"{key}_{output}"
