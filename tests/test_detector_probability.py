"""Calibration error, reliability, Brier score and log loss against published values, and by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mycelium.detector.probability import expected_calibration_error, probability_report, reliability_curve

Y, P = column("unsupported"), column("prob")


def test_proper_scores() -> None:
    pytest.importorskip("sklearn")
    report = probability_report(Y, P, score_is_probability=True)
    assert report.brier == digits(value("probability", "brier"))
    assert report.log_loss == digits(value("probability", "log_loss_clip_eps"))
    assert report.brier_skill == digits(value("probability", "brier_skill"))
    assert report.prevalence == digits(value("ranking", "ap_baseline_prevalence"))
    assert report.calibration is not None
    assert report.calibration.ece == digits(value("probability", "ece10_equal_width_right_closed"))
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.parametrize("closed", ["right", "left"])
def test_both_edges(closed: str) -> None:
    error = expected_calibration_error(Y, P, closed=closed, n_resamples=None)
    assert error.ece == digits(value("probability", f"ece10_equal_width_{closed}_closed"))
    assert error.mce == digits(value("probability", f"mce10_equal_width_{closed}_closed"))
    assert (error.n_bins, error.closed, error.strategy, error.n) == (10, closed, "uniform", 60)
    assert error.edges == tuple(i / 10 for i in range(11))


def test_equal_mass() -> None:
    error = expected_calibration_error(Y, P, strategy="quantile", n_resamples=None)
    assert error.ece == digits(value("probability", "ece10_equal_mass_quantile"))
    order = np.random.default_rng(0).permutation(60)
    shuffled = expected_calibration_error(np.array(Y)[order], np.array(P)[order], strategy="quantile", n_resamples=None)
    assert shuffled.ece == pytest.approx(error.ece, rel=1e-12)


def test_what_perfect_probabilities_would_show() -> None:
    error = expected_calibration_error(Y, P, n_resamples=2000, seed=0)
    assert error.null_mean == digits(value("probability", "ece10_equal_width_null_seed0", "mean"))
    assert error.null_p95 == digits(value("probability", "ece10_equal_width_null_seed0", "p95"))
    # The blocks of a large n take the same numbers as one block.
    y, p = np.tile(Y, 2000), np.tile(P, 2000)
    big = expected_calibration_error(y, p, n_resamples=6, seed=5)
    draws = (np.random.default_rng(5).random((6, len(p))) < p).astype(float)
    place = np.clip(np.ceil(p * 10 - 1e-9).astype(int) - 1, 0, 9)
    eces = [sum(abs((p - draw)[place == b].sum()) for b in range(10)) / len(p) for draw in draws]
    assert big.null_mean == pytest.approx(np.mean(eces), rel=1e-9)


def test_a_number_on_an_edge() -> None:
    # Each tenth lies on an edge: in the bin below it, or in the one above, never by rounding in another.
    tenths = [i / 10 for i in range(11)]
    right = reliability_curve([0] * 11, tenths, closed="right", n_resamples=1)
    assert right.n.tolist() == [2] + [1] * 9
    assert right.high_edge.tolist() == tenths[1:]
    left = reliability_curve([0] * 11, tenths, closed="left", n_resamples=1)
    assert left.n.tolist() == [1] * 9 + [2]
    assert left.low_edge.tolist() == tenths[:-1]


def test_libraries() -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    for strategy in ("uniform", "quantile"):
        curve = reliability_curve(Y, P, strategy=strategy, closed="right", n_resamples=10)
        true, predicted = calibration.calibration_curve(Y, P, n_bins=10, strategy=strategy)
        assert curve.share_unsupported == pytest.approx(true)
        assert curve.mean_probability == pytest.approx(predicted)


def test_counts_and_intervals_of_bins() -> None:
    curve = reliability_curve(Y, P, n_resamples=500)
    assert int(curve.n.sum()) == 60
    assert int(curve.n_unsupported.sum()) == 27
    for i in range(len(curve)):
        k, n = int(curve.n_unsupported[i]), int(curve.n[i])
        assert curve.low[i] == pytest.approx(stats.beta.ppf(0.025, k, n - k + 1) if k else 0.0)
        assert curve.high[i] == pytest.approx(stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1.0)
        assert curve.low_edge[i] <= curve.mean_probability[i] <= curve.high_edge[i]
        assert curve.band_low[i] <= curve.mean_probability[i] <= curve.band_high[i]
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["n"] == curve.n.tolist()


def test_the_null_band_is_that_of_a_binomial() -> None:
    # Rows of one probability: the number of unsupported ones is binomial.
    curve = reliability_curve([0] * 200, [0.3] * 200, n_resamples=20_000, confidence_level=0.9)
    low, high = stats.binom.ppf([0.05, 0.95], 200, 0.3) / 200
    assert curve.band_low[0] == pytest.approx(low, abs=0.0051)
    assert curve.band_high[0] == pytest.approx(high, abs=0.0051)


def test_empty_bins_are_counted() -> None:
    error = expected_calibration_error([0, 1, 1], [0.05, 0.95, 0.97], n_resamples=None)
    assert (error.n_bins, error.n_empty) == (10, 8)
    assert error.ece == pytest.approx((0.05 + 0.05 + 0.03) / 3)
    assert error.null_mean is error.null_p95 is error.seed is None


def test_weights_are_copies() -> None:
    rng = np.random.default_rng(1)
    y, p, w = rng.integers(0, 2, 50), rng.random(50).round(2), rng.integers(0, 4, 50)
    light = expected_calibration_error(y, p, sample_weight=w, n_resamples=None)
    heavy = expected_calibration_error(np.repeat(y, w), np.repeat(p, w), n_resamples=None)
    assert light.ece == pytest.approx(heavy.ece, rel=1e-12)
    pytest.importorskip("sklearn")
    one = probability_report(y, p, score_is_probability=True, sample_weight=w)
    many = probability_report(np.repeat(y, w), np.repeat(p, w), score_is_probability=True)
    for name in ("brier", "brier_skill", "log_loss", "prevalence"):
        assert getattr(one, name) == pytest.approx(getattr(many, name), rel=1e-12)


def test_groups_widen_the_intervals() -> None:
    plain = reliability_curve(Y, P, n_bins=2, n_resamples=1)
    groups = reliability_curve(Y, P, n_bins=2, n_resamples=1, groups=column("source_id"))
    assert (groups.high - groups.low > plain.high - plain.low).all()
    single = reliability_curve([0, 1], [0.1, 0.2], n_bins=1, n_resamples=1, groups=["a", "a"])
    assert (single.low.tolist(), single.high.tolist()) == ([0.0], [1.0])


def test_only_declared_probabilities() -> None:
    for said in (None, False):
        report = probability_report(Y, P, score_is_probability=said)
        assert report.brier is report.log_loss is report.brier_skill is report.calibration is None
        assert set(report.undefined) == {"brier", "brier_skill", "log_loss", "prevalence", "calibration"}
    energy = [3.0 * p for p in P]
    message = r"y_prob: row 0 is 2\.67, expected a probability from 0 to 1"
    calls: list[Callable[..., Any]] = [expected_calibration_error, reliability_curve]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call(Y, energy)
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match=message):
        probability_report(Y, energy, score_is_probability=True)


def test_one_class() -> None:
    pytest.importorskip("sklearn")
    report = probability_report([0, 0], [0.5, 0.5], score_is_probability=True)
    assert (report.brier, report.brier_skill, report.prevalence) == (0.25, None, 0.0)
    assert report.log_loss == pytest.approx(np.log(2))
    assert report.undefined == {"brier_skill": "there are no unsupported rows"}
    assert probability_report([1], [1.0], score_is_probability=True).undefined == {
        "brier_skill": "there are no supported rows"
    }


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_bins": 0}, ValueError, "n_bins must be at least 1"),
        ({"n_bins": 2.5}, TypeError, "n_bins must be an integer"),
        ({"strategy": "equal"}, ValueError, "strategy must be 'uniform' or 'quantile'"),
        ({"closed": "both"}, ValueError, "closed must be 'right' or 'left'"),
        ({"nan_policy": "reject"}, ValueError, "nan_policy must be 'raise' or 'omit'"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        expected_calibration_error(Y, P, **options)


rows = st.lists(st.tuples(st.booleans(), st.integers(0, 20)), min_size=1, max_size=40)


@given(rows, st.integers(1, 12), st.sampled_from(["right", "left"]))
def test_the_definition(drawn: list[tuple[bool, int]], n_bins: int, closed: str) -> None:
    total = 0.0
    for b in range(n_bins):
        # Whole numbers of twentieths: p = i / 20 lies in bin b iff b / n < i / 20 <= (b + 1) / n.
        if closed == "right":
            inside = [(y, i) for y, i in drawn if 20 * b < i * n_bins <= 20 * (b + 1) or (i == 0 and b == 0)]
        else:
            inside = [(y, i) for y, i in drawn if 20 * b <= i * n_bins < 20 * (b + 1) or (i == 20 and b == n_bins - 1)]
        total += abs(sum(i for _, i in inside) / 20 - sum(y for y, _ in inside))
    y, p = [row[0] for row in drawn], [row[1] / 20 for row in drawn]
    error = expected_calibration_error(y, p, n_bins=n_bins, closed=closed, n_resamples=None)
    assert error.ece == pytest.approx(total / len(drawn), abs=1e-12)
    assert error.mce >= error.ece - 1e-12
