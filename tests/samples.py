"""Rows and small functions that several test modules share."""

from __future__ import annotations

import random
from typing import Any

import pytest

ONE = {"precision": 1.0, "recall": 1.0, "f1": 1.0}
ZERO = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
KEYS = ["exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage"]

REFERENCES = [[[0, 10]], [], [[2, 8], [12, 15]], [[0, 3]], []]
PREDICTIONS = [[[2, 8]], [], [[2, 5], [5, 8], [12, 15]], [], [[4, 6]]]
BATCH: dict[str, Any] = {"references": REFERENCES, "predictions": PREDICTIONS}


def approx(x: Any) -> Any:
    """Compare to 1e-12, without a relative part."""
    return pytest.approx(x, rel=0, abs=1e-12)


def scores(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a report holds of each metric."""
    return [value for key, value in report.items() if key != "meta"]


def random_row(rng: random.Random, base: int = 0) -> list[list[int]]:
    """Return up to five spans of up to twenty characters that may overlap, nest and repeat."""
    row = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        start = base + rng.randrange(40)
        row.append([start, start + rng.randint(1, 20)])
    return row


def random_batch(n: int, seed: int = 0) -> dict[str, Any]:
    """Return references and predictions of n rows as arguments of evaluate."""
    rng = random.Random(seed)
    return {side: [random_row(rng) for _ in range(n)] for side in ("references", "predictions")}


def take(rows: dict[str, Any], chosen: Any) -> dict[str, Any]:
    """Return the arguments with the chosen rows only."""
    return {side: [values[i] for i in chosen] for side, values in rows.items()}
