"""Risk and coverage against published values, and by the mean over all orders of ties."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from hypothesis import given
from hypothesis import strategies as st

from mycelium.detector.selective import augrc_score, aurc_score, excess_aurc_score, risk_coverage_curve

Y, S = column("unsupported"), column("score_a")
CONFIDENCE = [-s for s in S]


def test_areas_of_the_fixture() -> None:
    expected = {
        name: digits(value("risk_coverage_a", name)) for name in ("aurc", "e_aurc", "e_aurc_asymptotic", "augrc")
    }
    assert aurc_score(Y, CONFIDENCE) == expected["aurc"]
    assert excess_aurc_score(Y, CONFIDENCE) == expected["e_aurc"]
    assert excess_aurc_score(Y, CONFIDENCE, optimum="asymptotic") == expected["e_aurc_asymptotic"]
    assert augrc_score(Y, CONFIDENCE) == expected["augrc"]
    assert aurc_score(Y, CONFIDENCE) - excess_aurc_score(Y, CONFIDENCE) == digits(
        value("risk_coverage_a", "aurc_optimal")
    )


def test_the_stream_of_decisions() -> None:
    p = np.array(column("prob"))
    error = (p > 0.5) != np.array(Y)
    # Probabilities have two digits; 1 - p rounds, and would part what is tied.
    confidence = np.maximum(p, 1 - p).round(2)
    assert aurc_score(error, confidence) == digits(value("risk_coverage_prob", "aurc"))
    assert excess_aurc_score(error, confidence) == digits(value("risk_coverage_prob", "e_aurc"))


def test_the_curve_of_the_fixture() -> None:
    curve = risk_coverage_curve(Y, CONFIDENCE)
    points = [
        [-c, coverage, risk]
        for c, coverage, risk in zip(
            curve.confidence.tolist(), curve.coverage.tolist(), curve.risk.tolist(), strict=True
        )
    ]
    expected = value("risk_coverage_a", "curve_at_tie_boundaries", "points")
    assert len(points) == len(expected)
    for found, row in zip(points, expected, strict=True):
        assert found == digits(row)
    assert (int(curve.n_kept[-1]), int(curve.n_errors[-1]), curve.n) == (60, 27, 60)
    for risk, coverage in value("risk_coverage_a", "coverage_at_risk", "values").items():
        assert curve.coverage_at(float(risk)) == digits(coverage)
    json.dumps(curve.to_dict(), allow_nan=False)


def test_coverage_that_is_contiguous() -> None:
    # Risk 1, 1/2, 1/3, 1/4: never low enough on the way.
    curve = risk_coverage_curve([1, 0, 0, 0], [4, 3, 2, 1])
    assert curve.coverage_at(0.3) == 1.0
    assert curve.coverage_at(0.3, contiguous=True) == 0.0
    assert curve.coverage_at(0.1) == 0.0
    with pytest.raises(ValueError, match="max_risk must lie between 0 and 1"):
        curve.coverage_at(2)


rows = st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6)


def mean_over_orders(drawn: list[tuple[bool, int]], joint: bool) -> Fraction:
    """Return the mean area over all orders of rows that keep to their confidence."""
    areas = []
    n = len(drawn)
    for order in itertools.permutations(drawn):
        if all(a[1] >= b[1] for a, b in itertools.pairwise(order)):
            errors = itertools.accumulate(int(row[0]) for row in order)
            areas.append(sum(Fraction(e, n if joint else k) for k, e in enumerate(errors, 1)) / n)
    return Fraction(sum(areas), len(areas))


@given(rows)
def test_ties_are_the_mean_over_their_orders(drawn: list[tuple[bool, int]]) -> None:
    y, c = [row[0] for row in drawn], [row[1] for row in drawn]
    assert aurc_score(y, c) == pytest.approx(float(mean_over_orders(drawn, joint=False)), abs=1e-12)
    assert augrc_score(y, c) == pytest.approx(float(mean_over_orders(drawn, joint=True)), abs=1e-12)
    # The best order has the right rows first.
    best = mean_over_orders([(row[0], 0 if row[0] else 1) for row in drawn], joint=False)
    assert excess_aurc_score(y, c) == pytest.approx(aurc_score(y, c) - float(best), abs=1e-12)


@given(rows, st.randoms())
def test_the_order_of_rows_does_not_matter(drawn: list[tuple[bool, int]], random: Any) -> None:
    other = random.sample(drawn, len(drawn))
    for score in (aurc_score, augrc_score, excess_aurc_score):
        one = score([row[0] for row in drawn], [row[1] for row in drawn])
        assert score([row[0] for row in other], [np.exp(row[1]) for row in other]) == pytest.approx(one, abs=1e-12)


def test_augrc_by_auc() -> None:
    # Traub et al.: with error rate r and AUC of errors by low confidence, the limit is r (1 - AUC) (1 - r) + r^2 / 2.
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.3
    c = rng.normal(size=len(y)) - y
    # P(X - 1 < X') for standard normals.
    from scipy.stats import norm

    auc, r = norm.cdf(1 / np.sqrt(2)), 0.3
    assert augrc_score(y, c) == pytest.approx((1 - auc) * r * (1 - r) + r**2 / 2, abs=0.003)


def test_many_rows_without_ties() -> None:
    rng = np.random.default_rng(1)
    y, c = rng.random(50_000) < 0.2, rng.random(50_000)
    order = np.argsort(-c)
    k = np.arange(1, len(y) + 1)
    errors = np.cumsum(y[order])
    assert aurc_score(y, c) == pytest.approx(float((errors / k).mean()), rel=1e-11)
    assert augrc_score(y, c) == pytest.approx(float((errors / len(y)).mean()), rel=1e-11)


def test_weights_are_copies() -> None:
    rng = np.random.default_rng(2)
    y, c, w = rng.integers(0, 2, 40), rng.integers(0, 9, 40), rng.integers(0, 4, 40)
    for score in (aurc_score, augrc_score, excess_aurc_score):
        light, heavy = score(y, c, sample_weight=w), score(np.repeat(y, w), np.repeat(c, w))
        assert light == pytest.approx(heavy, rel=1e-11)
    one, many = risk_coverage_curve(y, c, sample_weight=w), risk_coverage_curve(np.repeat(y, w), np.repeat(c, w))
    assert one.confidence.tolist() == many.confidence.tolist()
    assert one.coverage == pytest.approx(many.coverage)
    assert one.risk == pytest.approx(many.risk)


def test_extremes() -> None:
    for optimum in ("discrete", "asymptotic"):
        assert excess_aurc_score([0, 0], [1, 2], optimum=optimum) == 0.0
        assert excess_aurc_score([1, 1], [1, 2], optimum=optimum) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(ValueError, match="optimum must be 'discrete' or 'asymptotic'"):
        excess_aurc_score([1], [1], optimum="best")


def test_rows_without_a_confidence() -> None:
    y, c = [0, 1, 0, 1], [0.9, 0.5, np.nan, np.nan]
    with pytest.raises(ValueError, match="confidence: row 2 has no score"):
        aurc_score(y, c)
    # Ranked last, tied: risks 0, 1/2, then (1 + 1/2) / 3 and 2 / 4.
    assert aurc_score(y, c, nan_policy="reject") == pytest.approx((0 + 1 / 2 + 1.5 / 3 + 2 / 4) / 4)
    curve = risk_coverage_curve(y, c, nan_policy="reject")
    assert (curve.coverage.tolist(), curve.n, curve.n_unscored) == ([0.25, 0.5], 4, 2)
    assert aurc_score(y, c, nan_policy="omit") == pytest.approx(0.25)
    none = risk_coverage_curve([1, 0], [None, None], nan_policy="reject")
    assert len(none.coverage) == 0
    assert none.coverage_at(1.0) == 0.0
    with pytest.raises(ValueError, match="y_error: row 0 is 2"):
        aurc_score([2, 0], [1, 2])
