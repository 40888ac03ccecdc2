"""Rates, operating curves and operating points against published values, and by hand."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mycelium.detector.binomial import binomial_interval
from mycelium.detector.curve import operating_curve
from mycelium.detector.decisions import digest_of, read_decisions
from mycelium.detector.points import OperatingPoint, evaluate_operating_point
from mycelium.detector.prevalence import (
    accepted_risk,
    alert_precision,
    prevalence_name,
    prevalence_stress,
)
from mycelium.detector.rates import false_acceptance_rate, false_rejection_rate, supported_acceptance_rate
from mycelium.detector.segments import worst_slice
from mycelium.detector.thresholds import select_threshold

CALIBRATION = column("unsupported", "calibration"), column("score_a", "calibration")
TEST = column("unsupported", "test"), column("score_a", "test")
ALL = column("unsupported"), column("score_a")
BUDGETS = {"far05": 0.05, "far10": 0.1, "far20": 0.2}


def quiet(call: Any, *args: Any, **options: Any) -> Any:
    """Call without the warning that the fixture is small."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call(*args, **options)


def at(name: str, **options: Any) -> OperatingPoint:
    chosen = quiet(select_threshold, *CALIBRATION, max_far=BUDGETS[name])
    return quiet(evaluate_operating_point, *TEST, threshold=chosen, **options)


@pytest.mark.parametrize("name", BUDGETS)
def test_operating_points_of_the_fixture(name: str) -> None:
    point = at(name)

    def expected(key: str) -> Any:
        return digits(value("operating_points_a", name, key))

    assert point.threshold == value("operating_points_a", name, "threshold")
    assert point.target_far == BUDGETS[name]
    assert point.cal_far == expected("cal_far")
    assert point.eval_far == expected("eval_far")
    assert point.supported_acceptance == expected("eval_sar")
    assert point.false_rejection == expected("eval_frr")
    assert (point.n_unsupported, point.n_false_accepts, point.n_supported) == (
        value("operating_points_a", name, "n_unsupported"),
        value("operating_points_a", name, "n_accepted_unsupported"),
        value("operating_points_a", name, "n_supported"),
    )
    assert point.far_upper95 == expected("far_upper95")
    assert point.far_ci95 == (expected("far_ci95_low"), expected("far_ci95_high"))
    assert point.acceptance_rate == expected("acceptance_rate")
    assert point.review_rate == 0.0
    assert point.far_method == "clopper-pearson"
    assert point.n_groups is point.far_upper95_group_events is None


@pytest.mark.parametrize("name", BUDGETS)
def test_groups_of_the_fixture(name: str) -> None:
    point = at(name, groups=column("source_id", "test"))
    assert point.n_groups == value("split_audit", "n_groups_test") == 10
    assert point.n_groups_unsupported == value("operating_points_a", name, "n_groups_unsupported")
    assert point.n_groups_with_false_accept == value("operating_points_a", name, "n_groups_with_false_accept")
    assert point.far_upper95_group_events == digits(value("operating_points_a", name, "far_upper95_group_events"))
    assert point.far_upper95_rows == digits(value("operating_points_a", name, "far_upper95"))
    assert point.far_method == "korn-graubard"
    # Five sources: with no false acceptance the bound is that of five rows, and it cannot fall where one is accepted.
    assert point.far_upper95 == pytest.approx(1 - 0.05 ** (1 / 5), rel=1e-12)
    assert point.far_ci95 is not None
    assert point.far_ci95[1] == point.far_upper975 > point.far_upper95


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("p", [50, 5, 1])
def test_prevalences_of_the_fixture(name: str, p: int) -> None:
    found = prevalence_stress(at(name))[f"p_{p:02d}"]
    assert found.prevalence == p / 100
    assert found.alert_precision == digits(value("operating_points_a", name, f"alert_precision_p_{p:02d}"))
    assert found.accepted_risk == digits(value("operating_points_a", name, f"accepted_risk_p_{p:02d}"))


def test_the_alert_precision_of_the_text() -> None:
    assert alert_precision(0.2, 0.05, 0.01) == digits(value("document_examples", "alert_precision_1pct_80_5"))


def test_the_operating_table() -> None:
    curve = operating_curve(*CALIBRATION)
    table = [
        [tau, k, curve.n_unsupported, s, curve.n_supported]
        for tau, k, s in zip(
            curve.threshold.tolist(), curve.n_false_accepts.tolist(), curve.n_supported_accepted.tolist(), strict=True
        )
    ]
    assert table == value("operating_table_a_calibration", "rows")
    assert curve.far is not None
    assert curve.sar is not None
    assert curve.far.tolist() == [row[1] / 15 for row in table]
    assert curve.far_upper == digits([stats.beta.ppf(0.95, k + 1, 15 - k) if k < 15 else 1.0 for _, k, *_ in table])
    assert curve.acceptance_rate.tolist() == [(row[1] + row[3]) / 30 for row in table]


def test_clustered_bounds_on_all_rows() -> None:
    groups = column("source_id")
    curve = operating_curve(*ALL, groups=groups)
    upper = dict(zip(curve.threshold.tolist(), curve.far_upper.tolist(), strict=True))
    assert upper[0.51] == digits(value("clustered_far_a", "tau051_all_rows", "korn_graubard_upper95_capped"))
    # By itself the bound at 0.42 is lower than that of accepting none of the 11 sources: it would fall.
    alone = value("clustered_far_a", "tau042_all_rows", "korn_graubard_upper95_capped")
    assert upper[0.42] == pytest.approx(1 - 0.05 ** (1 / 11), rel=1e-12)
    assert upper[0.42] > alone
    point = evaluate_operating_point(*ALL, groups=groups, threshold=0.51)
    assert point.far_upper95 == upper[0.51]
    assert point.n_effective_unsupported is not None
    assert point.eval_far == digits(value("clustered_far_a", "tau051_all_rows", "far"))
    assert point.far_upper95_rows == digits(value("clustered_far_a", "tau051_all_rows", "row_clopper_pearson_upper95"))


def test_the_bound_with_groups_never_falls() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        y, s, g = rng.integers(0, 2, 80), rng.integers(0, 30, 80), rng.integers(0, 9, 80)
        curve = operating_curve(y, s, groups=g)
        assert (np.diff(curve.far_upper) >= 0).all()
        for tau, upper in zip(curve.threshold[::4].tolist(), curve.far_upper[::4].tolist(), strict=True):
            point = quiet(evaluate_operating_point, y, s, groups=g, threshold=tau)
            assert point.far_upper95 == pytest.approx(upper, rel=1e-12)
            groups = [np.flatnonzero((g == key) & (y == 1)) for key in range(9)]
            k = [int((s[i] <= tau).sum()) for i in groups]
            plain = binomial_interval(k, [len(i) for i in groups], alternative="less").high
            assert plain is not None
            assert upper >= plain - 1e-12


@pytest.mark.parametrize(("source", "target"), [("calibration", "test"), ("test", "calibration")])
def test_transfer_cells(source: str, target: str) -> None:
    halves = {"calibration": CALIBRATION, "test": TEST}
    expected = value("transfer_matrix_a_far10", "cells", f"{source}->{target}")
    chosen = quiet(select_threshold, *halves[source], max_far=0.1)
    point = quiet(evaluate_operating_point, *halves[target], threshold=chosen)
    assert point.threshold == expected["threshold"]
    assert point.eval_far == digits(expected["far"])
    assert point.supported_acceptance == digits(expected["sar"])


def test_slices_of_the_fixture() -> None:
    mechanism = [name or None for name in column("mechanism")]
    worst = worst_slice(*ALL, slices=mechanism, threshold=0.42)
    expected = value("slices_a_tau042_all_rows", "slices")
    assert set(worst.slices) == set(expected)
    for name, found in worst.slices.items():
        assert (found.n_unsupported, found.n_false_accepts) == (
            expected[name]["n_unsupported"],
            expected[name]["n_accepted"],
        )
        assert found.far == digits(expected[name]["far"])
        point = quiet(
            evaluate_operating_point,
            [y for y, m in zip(ALL[0], mechanism, strict=True) if m == name],
            [s for s, m in zip(ALL[1], mechanism, strict=True) if m == name],
            threshold=0.42,
        )
        assert point.far_upper95 == digits(expected[name]["far_upper95"])
    # Four slices: each bound at 1 - 0.05 / 4. The worst of them is one row of five.
    assert worst.confidence_level == 0.9875
    assert worst.slice == "quantity"
    assert worst.far_upper == pytest.approx(stats.beta.ppf(0.9875, 2, 4), rel=1e-12)


# -- orientation and ties


def test_the_names_of_the_rates() -> None:
    y, s = [1, 1, 1, 1, 0, 0, 0, 0, 0], [0.2, 0.5, 0.7, 0.9, 0.1, 0.2, 0.5, 0.6, 0.9]
    # Accepted at 0.5, ties too: two of four unsupported, three of five supported.
    assert false_acceptance_rate(y, s, threshold=0.5) == 0.5
    assert supported_acceptance_rate(y, s, threshold=0.5) == 0.6
    assert false_rejection_rate(y, s, threshold=0.5) == 0.4
    below = float(np.nextafter(0.5, 0))
    assert false_acceptance_rate(y, s, threshold=below) == 0.25
    assert false_rejection_rate(y, s, threshold=below) == 0.6


def test_scikit_learn_calls_them_otherwise() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, s = np.array(ALL[0]), np.array(ALL[1])
    for tau in (0.36, 0.42, 0.54):
        tn, fp, fn, tp = metrics.confusion_matrix(y, s > tau).ravel()
        assert false_acceptance_rate(y, s, threshold=tau) == fn / (fn + tp)
        assert false_rejection_rate(y, s, threshold=tau) == fp / (fp + tn)
        precision = alert_precision(fn / (fn + tp), fp / (fp + tn), float(y.mean()))
        assert precision == pytest.approx(metrics.precision_score(y, s > tau), rel=1e-12)


def test_single_precision_scores_are_compared_as_they_are() -> None:
    scores = np.array([0.1, 0.9], dtype=np.float32)
    # The float32 nearest to 0.1 is above the float64 nearest to it.
    assert false_acceptance_rate([1, 1], scores, threshold=0.1) == 0.0
    assert false_acceptance_rate([1, 1], scores, threshold=float(scores[0])) == 0.5


def test_lower_is_riskier() -> None:
    y, s = TEST
    trust = [1 - value for value in s]
    for tau in (0.42, 0.5):
        up = quiet(evaluate_operating_point, y, s, threshold=tau)
        down = quiet(evaluate_operating_point, y, trust, threshold=1 - tau, score_direction="lower_is_riskier")
        assert (down.n_false_accepts, down.n_supported_accepted) == (up.n_false_accepts, up.n_supported_accepted)
        assert down.threshold == 1 - tau
        assert down.accept_rule == "score >= threshold"
    curve = operating_curve([0, 1], [3, 0], score_direction="lower_is_riskier")
    assert curve.threshold.tolist() == [3.0, 0.0]
    assert str(curve.threshold[1]) == "0.0"
    assert curve.far is not None
    assert curve.far.tolist() == [0.0, 1.0]


def test_infinite_scores() -> None:
    y, s = [1, 1, 0, 0], [-np.inf, np.inf, np.inf, 2.0]
    point = quiet(evaluate_operating_point, y, s, threshold=np.inf)
    # Never accepted: +inf, even by a threshold of +inf; that of -inf accepts nothing, not even -inf.
    assert (point.n_false_accepts, point.n_supported_accepted) == (1, 1)
    assert evaluate_operating_point(y, s, threshold=-np.inf).n_accepted == 0
    json.dumps(point.to_dict(), allow_nan=False)
    assert operating_curve(y, s).threshold.tolist() == [-1.7976931348623157e308, 2.0]


def test_rows_without_a_score_are_counted_and_never_accepted() -> None:
    y, s = [1, 1, 0, 0], [0.1, np.nan, np.nan, 0.2]
    with pytest.raises(ValueError, match="row 1 has no score"):
        evaluate_operating_point(y, s, threshold=1)
    point = quiet(evaluate_operating_point, y, s, threshold=1, nan_policy="reject")
    assert (point.eval_far, point.supported_acceptance, point.n_unscored, point.n) == (0.5, 0.5, 2, 4)
    for direction in ("higher_is_riskier", "lower_is_riskier"):
        curve = operating_curve(y, s, nan_policy="reject", score_direction=direction)
        assert curve.far is not None
        assert curve.far[-1] == 0.5
        assert curve.n_unsupported == 2
    left = quiet(evaluate_operating_point, y, s, threshold=1, nan_policy="omit")
    assert (left.eval_far, left.n, left.n_unscored) == (1.0, 2, 2)


# -- undefined, infeasible, zero


def test_undefined_is_not_zero() -> None:
    point = evaluate_operating_point([0, 0], [0.1, 0.9], threshold=0.5)
    assert point.eval_far is None
    assert point.far_ci95 is None
    assert point.far_upper95 == 1.0
    assert point.undefined == dict.fromkeys(("eval_far", "far_ci95"), "there are no unsupported rows")
    point = evaluate_operating_point([1, 1], [0.1, 0.9], threshold=0.5)
    assert point.supported_acceptance is point.false_rejection is None
    assert point.sar_lower975 == 0.0
    assert set(point.undefined) == {"supported_acceptance", "false_rejection", "sar_ci95"}
    for far in prevalence_stress(point).values():
        assert far.accepted_risk is None
        assert far.undefined["accepted_risk"] == "there are no supported rows"
        assert far.accepted_risk_upper95 == 1.0
    curve = operating_curve([1, 1], [0.1, 0.9])
    assert curve.sar is None
    assert curve.to_dict()["undefined"] == {"sar": "there are no supported rows"}


def test_one_group_gives_no_bound() -> None:
    point = evaluate_operating_point([1, 1, 0], [0.1, 0.9, 0.1], groups=["a", "a", "b"], threshold=0.5)
    assert point.far_upper95 is None
    assert "one group" in point.undefined["far_upper95"]
    assert point.eval_far == 0.5
    # Whatever is None was not measured, or says why.
    silent = {"target_far", "rule", "cal_far", "n_calibration_unsupported", "calibration_digest"}
    assert {name for name, found in point.to_dict().items() if found is None} - set(point.undefined) == silent
    found = prevalence_stress(point)["p_50"]
    assert found.accepted_risk_upper95 is None
    assert "one group" in found.undefined["accepted_risk_upper95"]
    assert operating_curve([1, 1, 0], [0.1, 0.9, 0.1], groups=["a", "a", "b"]).far_upper.tolist() == [1.0, 1.0]


def test_accepting_nothing() -> None:
    point = evaluate_operating_point(*TEST, threshold=None)
    assert not point.feasible
    assert point.threshold is None
    assert (point.eval_far, point.supported_acceptance, point.false_rejection) == (0.0, 0.0, 1.0)
    assert (point.far_upper95, point.far_method) == (0.0, "accepts nothing")
    found = prevalence_stress(point)["p_05"]
    assert found.accepted_risk is None
    assert found.undefined["accepted_risk"] == "nothing is accepted"
    assert found.alert_precision == pytest.approx(0.05)
    assert accepted_risk(0, 0, 0.5) is None
    assert alert_precision(1, 0, 0.5) is None


def test_results_are_json() -> None:
    point = at("far10", groups=column("source_id", "test"))
    text = json.dumps(point.to_dict(), allow_nan=False)
    assert json.loads(text) == point.to_dict()
    # The threshold keeps all its digits.
    point = quiet(evaluate_operating_point, *TEST, threshold=0.1 + 0.2)
    assert json.loads(json.dumps(point.to_dict()))["threshold"] == 0.1 + 0.2
    json.dumps([operating_curve(*TEST).to_dict(), prevalence_stress(point)["p_50"].to_dict()], allow_nan=False)
    json.dumps(worst_slice(*TEST, slices=column("mechanism", "test"), threshold=0.4).to_dict(), allow_nan=False)


# -- prevalence


def test_the_bound_of_the_accepted_risk() -> None:
    point = at("far10")
    found = prevalence_stress(point)["p_05"]
    high, low = stats.beta.ppf(0.975, 2, 11), stats.beta.ppf(0.025, 8, 11)
    assert found.accepted_risk_upper95 == pytest.approx(0.05 * high / (0.05 * high + 0.95 * low), rel=1e-12)
    caught, false = 0.05 * (1 - high), 0.95 * (1 - low)
    assert found.alert_precision_lower95 == pytest.approx(caught / (caught + false), rel=1e-12)
    assert found.acceptance_rate == pytest.approx(0.05 / 12 + 0.95 * 8 / 18, rel=1e-12)


def test_names_of_prevalences() -> None:
    names = {0.5: "p_50", 0.05: "p_05", 0.01: "p_01", 0.07: "p_07", 0.001: "p_0_1", 0.125: "p_12_5", 0.29: "p_29"}
    assert {p: prevalence_name(p) for p in names} == names
    with pytest.raises(ValueError, match="twice"):
        prevalence_stress(at("far10"), [0.1, 0.1])
    with pytest.raises(ValueError, match="prevalence must lie between 0 and 1, both excluded, got 1"):
        accepted_risk(0.1, 0.2, 1)
    with pytest.raises(ValueError, match="far must lie between 0 and 1"):
        accepted_risk(1.5, 0.2, 0.5)


# -- weights


def test_weights_are_copies_in_the_rates() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.integers(0, 2, 60), rng.integers(0, 12, 60), rng.integers(0, 4, 60)
    light = quiet(evaluate_operating_point, y, s, threshold=5, sample_weight=w)
    heavy = quiet(evaluate_operating_point, np.repeat(y, w), np.repeat(s, w), threshold=5)
    for name in ("eval_far", "supported_acceptance", "false_rejection", "acceptance_rate"):
        assert getattr(light, name) == pytest.approx(getattr(heavy, name), rel=1e-12)
    assert light.n == int((w > 0).sum())
    assert light.weighted
    one, many = operating_curve(y, s, sample_weight=w), operating_curve(np.repeat(y, w), np.repeat(s, w))
    assert one.far == pytest.approx(many.far)
    assert one.sar == pytest.approx(many.sar)
    assert one.acceptance_rate == pytest.approx(many.acceptance_rate)


def test_weights_that_are_equal_change_nothing_and_unequal_ones_widen_the_bound() -> None:
    y, s = [1] * 40 + [0] * 5, [9.0] * 36 + [1.0] * 4 + [1.0] * 5
    plain = quiet(evaluate_operating_point, y, s, threshold=5)
    same = quiet(evaluate_operating_point, y, s, threshold=5, sample_weight=[7.0] * 45)
    assert same.eval_far == pytest.approx(plain.eval_far)
    # The variance of 40 equal weights is that of 40 groups, n / (n - 1) of the binomial one: 39 rows.
    assert same.far_upper95 == pytest.approx(stats.beta.ppf(0.95, 3.9 + 1, 39 - 3.9), rel=1e-9)
    uneven = quiet(evaluate_operating_point, y, s, threshold=5, sample_weight=[1.0, 3.0] * 20 + [1.0] * 5)
    assert uneven.eval_far == pytest.approx(0.1)
    assert uneven.far_upper95 > plain.far_upper95
    assert uneven.far_method == "korn-graubard"


# -- warnings


def test_too_few_rows_for_the_budget() -> None:
    with pytest.warns(UserWarning, match=r"12 unsupported rows cannot certify a false acceptance rate of 0\.1.*29"):
        point = evaluate_operating_point(*TEST, threshold=0.42, target_far=0.1)
    assert len(point.warnings) == 1
    many = [1] * 29 + [0], [0.9] * 29 + [0.1]
    point = evaluate_operating_point(*many, threshold=0.42, target_far=0.1)
    assert point.warnings == ()
    assert point.far_upper95 is not None
    assert point.far_upper95 <= 0.1
    with pytest.warns(UserWarning, match="28 unsupported"):
        point = evaluate_operating_point(many[0][1:], many[1][1:], threshold=0.42, target_far=0.1)
    assert point.far_upper95 is not None
    assert point.far_upper95 > 0.1


def test_labels_of_flagged_rows_only() -> None:
    with pytest.warns(UserWarning, match="only flagged answers have labels"):
        point = evaluate_operating_point(*TEST, threshold=0.5, labelled="flagged")
    assert point.labelled == "flagged"
    # Nobody said so, but no labelled row lies below the threshold.
    with pytest.warns(UserWarning, match="no labelled row is accepted"):
        evaluate_operating_point([1, 0, 1], [0.7, 0.8, 0.9], threshold=0.5)
    with pytest.warns(UserWarning, match="only flagged answers have labels"):
        operating_curve(*TEST, labelled="flagged")
    with pytest.warns(UserWarning, match="only flagged answers have labels"):
        worst_slice(*TEST, slices=["a"] * 30, threshold=0.5, labelled="flagged")
    with pytest.raises(ValueError, match="labelled must be 'all' or 'flagged'"):
        evaluate_operating_point(*TEST, threshold=0.5, labelled="some")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"threshold": np.nan}, ValueError, "threshold is NaN"),
        ({"threshold": "0.4"}, TypeError, "threshold must be a number, got '0.4'"),
        ({"threshold": True}, TypeError, "threshold must be a number"),
        ({"score_direction": "up"}, ValueError, "score_direction must be 'higher_is_riskier' or"),
        ({"sample_weight": [1.0] * 30}, None, ""),
        ({"sample_weight": [1.0]}, ValueError, "sample_weight has 1 values, expected one for each of the 30 rows"),
        ({"sample_weight": [-1.0] * 30}, ValueError, "sample_weight: row 0 is -1.0"),
        ({"groups": ["a"]}, ValueError, "groups has 1 values"),
    ],
)
def test_bad_input(change: dict[str, Any], error: type[Exception] | None, message: str) -> None:
    options = {"threshold": 0.42, **change}
    if error is None:
        evaluate_operating_point(*TEST, **options)
        return
    with pytest.raises(error, match=message):
        evaluate_operating_point(*TEST, **options)


# -- properties

scored = st.lists(st.tuples(st.booleans(), st.integers(-20, 20), st.integers(0, 5)), min_size=1, max_size=40)


@given(scored, st.integers(-22, 22))
def test_rates_of_any_rows(drawn: list[tuple[bool, int, int]], tau: int) -> None:
    y, s = [row[0] for row in drawn], [row[1] for row in drawn]
    risky = [score for label, score in zip(y, s, strict=True) if label]
    safe = [score for label, score in zip(y, s, strict=True) if not label]
    far = Fraction(sum(score <= tau for score in risky), len(risky)) if risky else None
    sar = Fraction(sum(score <= tau for score in safe), len(safe)) if safe else None
    assert false_acceptance_rate(y, s, threshold=tau) == (None if far is None else float(far))
    assert supported_acceptance_rate(y, s, threshold=tau) == (None if sar is None else float(sar))
    # A strictly rising change of scores and threshold changes no rate.
    moved = [float(np.sinh(score / 4)) for score in s]
    assert false_acceptance_rate(y, moved, threshold=float(np.sinh(tau / 4))) == (None if far is None else float(far))
    curve = operating_curve(y, s)
    for rates in (curve.far, curve.sar, curve.far_upper, curve.acceptance_rate):
        assert rates is None or (np.diff(rates) >= 0).all()
    if curve.far is not None:
        assert (curve.far_upper >= curve.far).all()
    if far is not None and sar is not None:
        # Joint events at the prevalence of the rows are those of the rows.
        p = len(risky) / len(y)
        accepted = sum(score <= tau for score in s)
        risk = accepted_risk(float(far), float(sar), p)
        assert risk is None if not accepted else risk == pytest.approx(sum(r <= tau for r in risky) / accepted)


@given(scored, st.randoms())
def test_the_order_of_rows_and_the_names_of_groups_do_not_matter(
    drawn: list[tuple[bool, int, int]], random: Any
) -> None:
    shuffled = random.sample(drawn, len(drawn))
    names = {number: f"{(number * 7) % 11}" for number in range(6)}
    one = quiet(
        evaluate_operating_point,
        [row[0] for row in drawn],
        [row[1] for row in drawn],
        groups=[row[2] for row in drawn],
        threshold=0,
    ).to_dict()
    other = quiet(
        evaluate_operating_point,
        [row[0] for row in shuffled],
        [row[1] for row in shuffled],
        groups=[names[row[2]] for row in shuffled],
        threshold=0,
    ).to_dict()
    for key, found in one.items():
        numbers = isinstance(found, float) or (key.endswith("ci95") and found is not None)
        assert other[key] == (pytest.approx(found, rel=1e-9) if numbers else found), key


def test_digests() -> None:
    one = digest_of(read_decisions([1, 0, 1], [0.1, 0.2, 0.3]))
    assert one == digest_of(read_decisions([1, 1, 0], [0.3, 0.1, 0.2], sample_weight=[1, 2, 3], groups=[1, 2, 3]))
    assert one != digest_of(read_decisions([1, 1, 0], [0.1, 0.2, 0.3]))
    assert one != digest_of(read_decisions([1, 0, 1], [0.1, 0.2, 0.4]))
    assert one == digest_of(read_decisions([1, 0, 1], [-0.1, -0.2, -0.3], score_direction="lower_is_riskier"))
