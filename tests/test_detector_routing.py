"""Accept, review, reject, and what it costs, against published values and by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from test_detector_points import CALIBRATION, TEST, quiet

from mycelium.detector.costs import CostVector, expected_cost
from mycelium.detector.routing import route, routing_report
from mycelium.detector.thresholds import select_threshold

COSTS = CostVector(false_accept=10, false_reject=1, review=0.5, compute=0.01)
POLICIES = {"t036_054": (0.36, 0.54), "t042_060": (0.42, 0.60)}


@pytest.mark.parametrize("name", POLICIES)
def test_three_ways(name: str) -> None:
    low, high = POLICIES[name]
    report = routing_report(*TEST, accept_threshold=low, review_threshold=high)

    def expected(key: str) -> Any:
        return digits(value("three_way_a", name, key))

    assert report.accept_rate == expected("auto_accept_coverage")
    assert report.reject_rate == expected("auto_reject_rate")
    assert report.review_rate == expected("review_rate")
    assert report.auto_decision_rate == expected("auto_decision_coverage")
    assert report.p_false_accept == expected("p_false_accept_joint")
    assert report.p_false_reject == expected("p_false_reject_joint")
    decisions = route(TEST[1], accept_threshold=low, review_threshold=high)
    assert expected_cost(TEST[0], decisions, costs=COSTS).cost == expected("expected_cost")
    assert expected_cost(TEST[0], decisions, costs=COSTS, prevalence=0.05).cost == expected("expected_cost_p005")


def test_the_cheaper_policy_depends_on_prevalence() -> None:
    cost = {}
    for name, (low, high) in POLICIES.items():
        decisions = route(TEST[1], accept_threshold=low, review_threshold=high)
        for prevalence in (None, 0.05):
            cost[name, prevalence] = expected_cost(TEST[0], decisions, costs=COSTS, prevalence=prevalence).cost
    assert cost["t036_054", None] < cost["t042_060", None]
    assert cost["t036_054", 0.05] > cost["t042_060", 0.05]


def test_boundaries() -> None:
    scores = [0.3, 0.4, 0.5, 0.6, 0.7, np.nan, None, np.inf, -np.inf]
    ways = ["accept", "accept", "review", "reject", "reject", "review", "review", "reject", "accept"]
    assert route(scores, accept_threshold=0.4, review_threshold=0.6).tolist() == ways
    # At a common boundary accepting wins.
    assert route([0.4, 0.5, 0.6], accept_threshold=0.5, review_threshold=0.5).tolist() == ["accept", "accept", "reject"]
    assert route([-1e9, 0.7], accept_threshold=None, review_threshold=0.6).tolist() == ["review", "reject"]
    flipped = [None if s is None else -s for s in scores]
    down = route(flipped, accept_threshold=-0.4, review_threshold=-0.6, score_direction="lower_is_riskier")
    assert down.tolist() == ways
    with pytest.raises(
        ValueError, match=r"accept_threshold \(0.7\) lies on the riskier side of review_threshold \(0.6\)"
    ):
        route([0.1], accept_threshold=0.7, review_threshold=0.6)
    with pytest.raises(TypeError, match="review_threshold must be a number, got None"):
        route([0.1], accept_threshold=0.7, review_threshold=None)
    chosen = quiet(select_threshold, *CALIBRATION, max_far=0.1)
    with pytest.raises(ValueError, match="accept_threshold was chosen for scores"):
        route([0.1], accept_threshold=chosen, review_threshold=0.6, score_direction="lower_is_riskier")


def test_the_report_by_hand() -> None:
    y, s = [1, 1, 1, 0, 0, 0, 0, 1, 0], [0.1, 0.5, 0.9, 0.1, 0.2, 0.5, 0.9, np.nan, np.inf]
    report = routing_report(y, s, accept_threshold=0.2, review_threshold=0.8, review_capacity=100, volume=400)
    assert (report.n_accept, report.n_review, report.n_reject, report.n_unscored) == (3, 3, 3, 1)
    assert (report.far, report.false_reject_rate) == (0.25, 0.4)
    assert report.far_upper95 == pytest.approx(stats.beta.ppf(0.95, 2, 3))
    assert (report.n_false_accepts, report.n_false_rejects) == (1, 2)
    assert report.capacity_utilisation == pytest.approx(400 / 3 / 100)
    assert report.over_capacity
    # At prevalence 0.1: of unsupported rows 1/4 are accepted and 2/4 reviewed, of supported ones 2/5 and 1/5.
    shifted = routing_report(
        y, s, accept_threshold=0.2, review_threshold=0.8, review_capacity=100, volume=400, prevalence=0.1
    )
    assert shifted.review_rate == pytest.approx(0.1 * 0.5 + 0.9 * 0.2)
    assert shifted.p_false_accept == pytest.approx(0.1 * 0.25)
    assert shifted.p_false_reject == pytest.approx(0.9 * 0.4)
    assert shifted.far == report.far
    assert not shifted.over_capacity
    json.dumps([report.to_dict(), shifted.to_dict()], allow_nan=False)


def test_routing_with_a_selection_and_groups() -> None:
    chosen = quiet(select_threshold, *CALIBRATION, max_far=0.1)
    report = routing_report(*TEST, accept_threshold=chosen, review_threshold=0.6, groups=column("source_id", "test"))
    assert report.accept_threshold == 0.42
    assert report.accept_rate == digits(value("three_way_a", "t042_060", "auto_accept_coverage"))
    assert report.far_upper95 is not None
    with pytest.raises(ValueError, match="give both review_capacity and volume"):
        routing_report(*TEST, accept_threshold=0.1, review_threshold=0.6, volume=10)
    with pytest.raises(ValueError, match="volume must be a finite number above 0"):
        routing_report(*TEST, accept_threshold=0.1, review_threshold=0.6, volume=0, review_capacity=1)


def test_a_class_without_rows() -> None:
    report = routing_report(
        [0, 0], [0.1, 0.9], accept_threshold=0.2, review_threshold=0.8, prevalence=0.1, volume=1, review_capacity=1
    )
    reason = "there are no unsupported rows"
    assert report.review_rate is report.capacity_utilisation is report.far is None
    for name in ("review_rate", "auto_decision_rate", "capacity_utilisation", "over_capacity", "far"):
        assert report.undefined[name] == reason
    cost = expected_cost([0, 0], ["accept", "reject"], costs=COSTS, prevalence=0.1)
    assert (cost.cost, cost.undefined["cost"], cost.undefined["p_review"]) == (None, reason, reason)
    here = expected_cost([0, 0], ["accept", "reject"], costs=COSTS)
    assert here.cost == pytest.approx(0.5 * 1 + 0.01)
    json.dumps([report.to_dict(), cost.to_dict()], allow_nan=False)


def test_admissible_is_not_supported() -> None:
    y, ways = [1, 1, 0, 0], ["accept", "reject", "accept", "reject"]
    plain = expected_cost(y, ways, costs=COSTS)
    assert (plain.p_false_accept, plain.p_false_reject) == (0.25, 0.25)
    # The first may go out as a hypothesis; the third is supported by a source that is not admitted.
    other = expected_cost(y, ways, costs=COSTS, admissible=[True, False, False, False])
    assert (other.p_false_accept, other.p_false_reject) == (0.25, 0.0)
    # Weighted by the class of support all the same: 0.1 * 0 + 0.9 * 1/2.
    shifted = expected_cost(y, ways, costs=COSTS, admissible=[True, False, False, False], prevalence=0.1)
    assert shifted.p_false_accept == pytest.approx(0.45)


def test_weights_are_copies() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 2, 50), rng.random(50).round(1), rng.integers(0, 4, 50)
    options: dict[str, Any] = {"accept_threshold": 0.3, "review_threshold": 0.7}
    for prevalence in (None, 0.1):
        light = routing_report(y, s, sample_weight=w, prevalence=prevalence, **options)
        heavy = routing_report(np.repeat(y, w), np.repeat(s, w), prevalence=prevalence, **options)
        for name in ("accept_rate", "review_rate", "reject_rate", "far", "false_reject_rate", "p_false_accept"):
            assert getattr(light, name) == pytest.approx(getattr(heavy, name), rel=1e-12)
        assert light.n == int((w > 0).sum())
        ways = route(s, **options)
        one = expected_cost(y, ways, costs=COSTS, sample_weight=w, prevalence=prevalence).cost
        many = expected_cost(np.repeat(y, w), np.repeat(ways, w), costs=COSTS, prevalence=prevalence).cost
        assert one == pytest.approx(many, rel=1e-12)


rows = st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=1, max_size=30)


@given(rows, st.integers(-1, 11), st.integers(0, 5))
def test_joint_events_at_the_prevalence_of_the_rows(drawn: list[tuple[bool, int]], low: int, width: int) -> None:
    y, s = [row[0] for row in drawn], [row[1] for row in drawn]
    report = routing_report(y, s, accept_threshold=low, review_threshold=low + width)
    assert report.n_accept + report.n_review + report.n_reject == len(drawn)
    assert report.p_false_accept == sum(label and score <= low for label, score in drawn) / len(drawn)
    rejected = [score >= low + width and score > low for _, score in drawn]
    assert report.p_false_reject == sum(r and not label for r, (label, _) in zip(rejected, drawn, strict=True)) / len(
        drawn
    )
    p = sum(y) / len(y)
    if 0 < p < 1:
        shifted = routing_report(y, s, accept_threshold=low, review_threshold=low + width, prevalence=p)
        for name in ("accept_rate", "review_rate", "reject_rate", "p_false_accept", "p_false_reject"):
            assert getattr(shifted, name) == pytest.approx(getattr(report, name), abs=1e-12)
        assert report.far is not None
        assert report.p_false_accept == pytest.approx(p * report.far)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: CostVector(-1, 0), ValueError, "false_accept must be a finite number from 0 on, got -1"),
        (lambda: CostVector(1, "2"), TypeError, "false_reject must be a number"),  # type: ignore[arg-type]
        (lambda: expected_cost([1], ["accept"], costs={"review": 1}), TypeError, "costs must be a CostVector"),  # type: ignore[arg-type]
        (lambda: expected_cost([1, 0], ["accept", "keep"], costs=COSTS), ValueError, "decisions: row 1 is 'keep'"),
        (lambda: expected_cost([1, 0], ["accept"], costs=COSTS), ValueError, "decisions has shape"),
        (lambda: expected_cost([], [], costs=COSTS), ValueError, "y_true has no rows"),
        (lambda: expected_cost([1], ["accept"], costs=COSTS, admissible=[1, 0]), ValueError, "admissible has 2 values"),
        (lambda: expected_cost([1], ["accept"], costs=COSTS, prevalence=1), ValueError, "prevalence must lie between"),
    ],
)
def test_bad_input(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
