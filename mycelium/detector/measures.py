"""What evaluate_detector measures, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelium.detector import point_sections, score_sections, use_sections
from mycelium.detector.parts import Parts
from mycelium.detector.rows import Rows

__all__ = ["measure_all"]


def measure_all(
    content: dict[str, Any],
    rows: Rows,
    parts: Parts,
    *,
    budgets: Sequence[float],
    rules: Sequence[str],
    is_probability: bool | None,
    prevalences: Sequence[float],
    routing: tuple[float, float] | None,
    costs: Any,
    review_capacity: float | None,
    volume: float | None,
    n_resamples: int,
    seed: int,
) -> None:
    """Fill in every section of a report that the rows allow."""
    test = parts.test
    scored = test if rows.nan_policy != "omit" else test[~np.isnan(rows.score[test])]
    if not len(scored):
        raise ValueError("y_score: no test row has a score")
    score_sections.dataset(content, rows, test, scored)
    score_sections.direction(content, rows, parts)
    score_sections.distributions(content, rows, test)
    score_sections.baselines(content, rows, test)
    score_sections.ranking(content, rows, test, n_resamples, seed)
    selections, points = point_sections.points(content, rows, parts, budgets, rules)
    point_sections.risk_control(content, selections)
    point_sections.stress(content, rows, test, points, prevalences)
    use_sections.probability(content, rows, test, is_probability, seed)
    use_sections.selective(content, rows, test)
    point_sections.slices(content, rows, test, selections)
    use_sections.curve(content, rows, test)
    use_sections.routing(content, rows, test, routing, costs, review_capacity, volume)
    use_sections.latency(content, rows, test)
