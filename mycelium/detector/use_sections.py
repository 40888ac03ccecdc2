"""What a report says of use: probabilities, selective prediction, curves, routing, cost and latency."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelium.detector.costs import expected_cost
from mycelium.detector.curve import operating_curve
from mycelium.detector.probability import expected_calibration_error, probability_report, reliability_curve
from mycelium.detector.routing import route, routing_report
from mycelium.detector.rows import Place, Rows
from mycelium.detector.selective import augrc_score, aurc_score, excess_aurc_score, risk_coverage_curve
from mycelium.spans import IntArray

__all__ = ["curve", "latency", "probability", "routing", "selective"]

#: Points of a curve that are kept for pictures.
DRAWN = 301
NOT_A_PROBABILITY = "the score is not declared to be a probability"
LATENCIES = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99}


def probability(content: dict[str, Any], rows: Rows, test: IntArray, is_probability: bool | None, seed: int) -> None:
    """Fill in how good the probabilities are, if they are declared to be some."""
    place = Place(content, "probability")
    if not is_probability:
        for name in place.section:
            place.put(name, None, NOT_A_PROBABILITY)
        return
    if rows.direction != "higher_is_riskier":
        raise ValueError("contract: a score that is the probability of unsupported answers is higher for riskier ones")
    # A row without a probability cannot be scored as one, whatever becomes of it as a decision.
    options: dict[str, Any] = {"nan_policy": "raise" if rows.nan_policy == "raise" else "omit", "seed": seed}
    weight = None if rows.weight is None else rows.weight[test]
    labels, score = rows.labels[test], rows.score[test]
    found = probability_report(labels, score, score_is_probability=True, sample_weight=weight, **options)
    place.put("brier_score", found.brier, found.undefined.get("brier"))
    place.put("brier_skill", found.brier_skill, found.undefined.get("brier_skill"))
    place.put("log_loss", found.log_loss, found.undefined.get("log_loss"))
    error = expected_calibration_error(labels, score, sample_weight=weight, **options)
    place.section.update(
        ece=error.ece,
        ece_scheme=error.strategy,
        ece_closed=error.closed,
        ece_n_bins=error.n_bins,
        ece_null_mean=error.null_mean,
        ece_null_p95=error.null_p95,
    )
    curve = reliability_curve(labels, score, **rows.dependence(test), **options)
    columns = (
        *(curve.low_edge, curve.high_edge, curve.n, curve.mean_probability, curve.share_unsupported),
        *(curve.low, curve.high, curve.band_low, curve.band_high),
    )
    place.section["reliability"] = [
        {
            "low": low,
            "high": high,
            "n": n,
            "mean_probability": mean,
            "share_unsupported": share,
            "interval95": [begin, end],
            "null_band95": [least, most],
        }
        for low, high, n, mean, share, begin, end, least, most in zip(*(c.tolist() for c in columns), strict=True)
    ]


def selective(content: dict[str, Any], rows: Rows, test: IntArray) -> None:
    """Fill in what leaving the riskiest answers to others brings."""
    options: dict[str, Any] = {
        "sample_weight": None if rows.weight is None else rows.weight[test],
        "nan_policy": rows.nan_policy,
    }
    wrong, confidence = rows.labels[test], -rows.risk(test)
    content["selective"].update(
        aurc=aurc_score(wrong, confidence, **options),
        excess_aurc=excess_aurc_score(wrong, confidence, **options),
        augrc=augrc_score(wrong, confidence, **options),
    )
    curve = risk_coverage_curve(wrong, confidence, **options)
    kept = _thinned(len(curve.coverage))
    content["curves"]["risk_coverage"] = {
        "coverage": curve.coverage[kept].tolist(),
        "risk": curve.risk[kept].tolist(),
        "n_distinct": len(curve.coverage),
    }


def curve(content: dict[str, Any], rows: Rows, test: IntArray) -> None:
    """Fill in the operating curve of the test rows."""
    curve = operating_curve(**rows.of(test))
    place = Place(content, "curves")
    if curve.far is None or curve.sar is None:
        place.put("operating", None, "one class has no rows")
        return
    if not len(curve):
        place.put("operating", None, "no row has a finite score")
        return
    kept = _thinned(len(curve))
    place.section["operating"] = {
        "threshold": curve.threshold[kept].tolist(),
        "n_false_accepts": curve.n_false_accepts[kept].tolist(),
        "far": curve.far[kept].tolist(),
        "far_upper95": curve.far_upper[kept].tolist(),
        "sar": curve.sar[kept].tolist(),
        "acceptance": curve.acceptance_rate[kept].tolist(),
        "n_distinct": len(curve),
    }


def routing(
    content: dict[str, Any],
    rows: Rows,
    test: IntArray,
    routing: tuple[float, float] | None,
    costs: Any,
    review_capacity: float | None,
    volume: float | None,
) -> None:
    """Fill in what becomes of answers under two thresholds, and what that costs."""
    if routing is None:
        given = {"costs": costs, "review_capacity": review_capacity, "volume": volume}
        lonely = next((name for name, value in given.items() if value is not None), None)
        if lonely is not None:
            raise ValueError(f"{lonely} speaks of answers that go three ways: it needs routing=(accept, review)")
        return
    accept, review = routing
    values = rows.of(test)
    del values["nan_policy"]
    found = routing_report(
        **values, accept_threshold=accept, review_threshold=review, review_capacity=review_capacity, volume=volume
    )
    place = Place(content, "routing")
    for name in place.section:
        place.put(name, getattr(found, name), found.undefined.get(name))
    operations = Place(content, "operations")
    operations.section.update(
        auto_accept_coverage=found.accept_rate,
        auto_decision_coverage=found.auto_decision_rate,
        review_rate=found.review_rate,
        review_capacity=review_capacity,
        capacity_utilisation=found.capacity_utilisation,
    )
    if costs is not None:
        ways = route(rows.score[test], accept_threshold=accept, review_threshold=review, score_direction=rows.direction)
        cost = expected_cost(rows.labels[test], ways, costs=costs, sample_weight=values["sample_weight"])
        operations.put("expected_cost", cost.cost, cost.undefined.get("cost"))
        operations.put("costs", costs.to_dict())


def latency(content: dict[str, Any], rows: Rows, test: IntArray) -> None:
    """Fill in how long answers took."""
    if rows.latency is None:
        return
    took = rows.latency[test]
    took = took[~np.isnan(took)]
    bad = np.flatnonzero(~((rows.latency >= 0) & (rows.latency < np.inf)) & ~np.isnan(rows.latency))
    if len(bad):
        raise ValueError(f"latency_ms: row {bad[0]} is {rows.latency[bad[0]]}, expected a finite number from 0 on")
    place = Place(content, "operations")
    for name, share in LATENCIES.items():
        # A latency that was observed, not one between two.
        value = float(np.quantile(took, share, method="inverted_cdf")) if len(took) else None
        place.put(name, value, "no test row has a latency")


def _thinned(n: int) -> IntArray:
    """Return which of n points are kept: the first, the last, and evenly many between."""
    return np.unique(np.linspace(0, n - 1, min(n, DRAWN)).round().astype(np.int64))
