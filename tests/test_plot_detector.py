"""Pictures of detectors: what is drawn is what was measured."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mycelium.detector.contract import EvaluationContract
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.report import EvaluationReport
from mycelium.plot import (
    OperatingCurveDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreDistributionDisplay,
    detector_displays,
)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return evaluate_detector(
            column("unsupported"),
            column("prob"),
            contract=EvaluationContract(score_is_probability=True),
            split=column("split"),
            max_far=(0.05, 0.1),
            rules=("empirical", "upper_bound"),
            n_resamples=20,
        )


def test_operating_curve_of_predictions() -> None:
    labels, score = column("unsupported", "test"), column("score_a", "test")
    display = OperatingCurveDisplay.from_predictions(labels, score).plot()
    thresholds = sorted(set(score))
    risky = [s for s, x in zip(score, labels, strict=True) if x]
    safe = [s for s, x in zip(score, labels, strict=True) if not x]
    far = [sum(s <= t for s in risky) / 12 for t in thresholds]
    sar = [sum(s <= t for s in safe) / 18 for t in thresholds]
    assert display.observed_.get_xdata().tolist() == [0, *far]
    assert display.observed_.get_ydata().tolist() == [0, *sar]
    # Between two attainable points the budget buys what the first one does.
    assert display.observed_.get_drawstyle() == display.bound_.get_drawstyle() == "steps-post"
    assert display.bound_.get_xdata()[0] == digits(0.220922191946)
    assert len(display.bound_.get_xdata()) == len(thresholds)
    assert display.points_.get_xdata().tolist() == []
    assert display.ax_.get_xlabel().startswith("unsupported accepted (FAR)")
    assert "12 unsupported, 18 supported" in display.ax_.get_xlabel()


def test_lower_scores_riskier() -> None:
    labels, score = column("unsupported", "test"), [-s for s in column("score_a", "test")]
    display = OperatingCurveDisplay.from_predictions(labels, score, score_direction="lower_is_riskier")
    assert display.plot(against="threshold").ax_.get_xlabel().startswith("threshold; accepted: score >= threshold")
    assert display.thresholds == sorted(set(score), reverse=True)


def test_operating_curve_of_a_report(report: EvaluationReport) -> None:
    display = OperatingCurveDisplay.from_report(report).plot()
    # The two infeasible points of "upper_bound" have no marker, and a budget that two rules share has one line.
    chosen = [point for point in report["operating_points"] if point["feasible"]]
    assert len(chosen) == 2
    assert display.points_.get_xdata().tolist() == [point["eval_far"] for point in chosen]
    assert display.points_.get_ydata().tolist() == [point["supported_acceptance"] for point in chosen]
    budgets = [line.get_xdata()[0] for line in display.ax_.lines if line.get_linestyle() == ":"]
    assert budgets == [0.05, 0.1]
    segments = [segment.tolist() for c in display.ax_.collections for segment in c.get_segments()]
    wanted = [
        [[p["far_ci95"][0], p["supported_acceptance"]], [p["far_ci95"][1], p["supported_acceptance"]]] for p in chosen
    ]
    assert segments == wanted


def test_operating_curve_against_the_threshold(report: EvaluationReport) -> None:
    display = OperatingCurveDisplay.from_report(report).plot(against="threshold")
    curve = report["curves"]["operating"]
    assert display.observed_.get_xdata().tolist() == curve["threshold"]
    assert display.observed_.get_ydata().tolist() == curve["far"]
    assert display.bound_.get_ydata().tolist() == curve["far_upper95"]
    assert display.observed_.get_drawstyle() == display.bound_.get_drawstyle() == "steps-post"
    assert display.supported_ is not None
    assert display.supported_.get_ydata().tolist() == curve["sar"]
    assert "accepted: score <= threshold" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="against must be one of 'far', 'threshold', got 'sar'"):
        display.plot(against="sar")


def test_score_distribution(report: EvaluationReport) -> None:
    display = ScoreDistributionDisplay.from_report(report).plot()
    scores = report["curves"]["scores"]
    values, edges, _ = display.unsupported_.get_data()
    assert (values.tolist(), edges.tolist()) == (scores["unsupported"], scores["edges"])
    assert display.supported_.get_data()[0].tolist() == scores["supported"]
    chosen = [point["threshold"] for point in report["operating_points"] if point["threshold"] is not None]
    assert [line.get_xdata()[0] for line in display.thresholds_] == chosen
    labels, score = column("unsupported"), column("score_a")
    display = ScoreDistributionDisplay.from_predictions(labels, score, bins=4, thresholds=[0.5]).plot()
    counts = np.histogram([s for s, x in zip(score, labels, strict=True) if x], display.edges)[0]
    assert display.unsupported == [count / 27 for count in counts]
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["unsupported (27)", "supported (33)"]


def test_reliability(report: EvaluationReport) -> None:
    display = ReliabilityDisplay.from_report(report).plot()
    bins = report["probability"]["reliability"]
    assert display.points_.get_xdata().tolist() == [each["mean_probability"] for each in bins]
    assert display.points_.get_ydata().tolist() == [each["share_unsupported"] for each in bins]
    assert [s[:, 1].tolist() for s in display.intervals_.get_segments()] == [each["interval95"] for each in bins]
    assert [bar.get_height() for bar in display.counts_] == [each["n"] for each in bins]
    assert display.band_ is not None
    error = report["probability"]
    assert f"ECE {error['ece']:.3f}, by chance up to {error['ece_null_p95']:.3f}" in display.ax_.get_xlabel()
    # The bars keep to the foot of the picture.
    top = display.counts_[0].axes.get_ylim()[1]
    assert max(bar.get_height() for bar in display.counts_) < top / 4
    again = ReliabilityDisplay.from_predictions(column("unsupported", "test"), column("prob", "test"))
    assert again.observed == display.observed
    assert again.ece == error["ece"]
    four = ReliabilityDisplay.from_predictions(column("unsupported"), column("prob"), n_bins=4, confidence_level=0.9)
    assert len(four.counts) == 4
    assert four.plot().band_ is not None
    plain = ReliabilityDisplay([0.1], [0.2], [0.1], [0.3], [5]).plot()
    assert plain.band_ is None


def test_risk_coverage(report: EvaluationReport) -> None:
    display = RiskCoverageDisplay.from_report(report).plot()
    curve = report["curves"]["risk_coverage"]
    assert display.curve_.get_xdata().tolist() == curve["coverage"]
    assert display.curve_.get_ydata().tolist() == curve["risk"]
    assert set(display.all_.get_ydata()) == {12 / 30}
    assert f"30 answers, AURC {report['selective']['aurc']:.3f}" in display.ax_.get_xlabel()
    found = RiskCoverageDisplay.from_predictions(column("unsupported"), [-s for s in column("score_a")])
    assert found.aurc == digits(0.193039574654)
    assert found.risk[-1] == 27 / 60


def test_all_displays_of_a_report(report: EvaluationReport) -> None:
    assert list(detector_displays(report)) == ["operating", "scores", "risk_coverage", "reliability"]
    assert detector_displays(EvaluationReport.blank()) == {}
    for display in detector_displays(report).values():
        for size in ((3, 2.4), (6, 4), (12, 8)):
            drawn = display.plot(size=size)
            drawn.figure_.canvas.draw()
            assert drawn.figure_.get_size_inches().tolist() == list(size)


def test_drawing_changes_nothing_else(report: EvaluationReport) -> None:
    before, settings = report.to_json(), dict(plt.rcParams)
    for display in detector_displays(report).values():
        figure, ax = plt.subplots(layout="constrained")
        number = len(plt.get_fignums())
        drawn = display.plot(ax)
        figure.canvas.draw()
        assert drawn is display
        assert drawn.ax_ is ax
        assert drawn.figure_ is figure
        assert len(plt.get_fignums()) == number
        with pytest.raises(ValueError, match="size is that of a new figure"):
            display.plot(ax, size=(3, 3))
    assert report.to_json() == before
    assert dict(plt.rcParams) == settings


def test_texts_stay_inside_the_picture(report: EvaluationReport) -> None:
    for display in detector_displays(report).values():
        for size in ((3, 2.4), (7, 5)):
            drawn = display.plot(size=size)
            figure: Any = drawn.figure_
            figure.canvas.draw()
            width, height = figure.canvas.get_width_height()
            for text in (drawn.ax_.xaxis.label, drawn.ax_.yaxis.label, *drawn.ax_.get_legend().get_texts()):
                box = text.get_window_extent()
                # A pixel or two of rounding.
                assert box.x0 >= -2, (text.get_text(), size)
                assert box.x1 <= width + 2, (text.get_text(), size)
                assert box.y0 >= -2, (text.get_text(), size)
                assert box.y1 <= height + 2, (text.get_text(), size)


def test_colours_are_the_users(report: EvaluationReport) -> None:
    assert OperatingCurveDisplay.from_report(report).plot(color="black").observed_.get_color() == "black"
    assert RiskCoverageDisplay.from_report(report).plot(color="black").curve_.get_color() == "black"
    assert ReliabilityDisplay.from_report(report).plot(color="black").points_.get_color() == "black"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: OperatingCurveDisplay([], [], [], []), ValueError, "thresholds is empty"),
        (lambda: OperatingCurveDisplay([1], [0, 1], [1], [1]), ValueError, "far has 2 values, thresholds has 1"),
        (lambda: RiskCoverageDisplay([0.5], [float("nan")]), ValueError, "risk: row 0 is nan, expected a finite"),
        (lambda: RiskCoverageDisplay([0.5], ["a"]), TypeError, "risk: row 0 is 'a', expected a number"),
        (lambda: RiskCoverageDisplay("ab", [1]), TypeError, "coverage must be a sequence of numbers, got a str"),
        (lambda: ScoreDistributionDisplay([0, 1], [1, 1], [1, 1]), ValueError, "expected one more than the 2 bins"),
        (lambda: ScoreDistributionDisplay([0, 0], [1], [1]), ValueError, "edges must rise"),
        (
            lambda: ReliabilityDisplay([0.1], [0.1], [0], [1], [3], band_lows=[0]),
            TypeError,
            "give both band_lows and band_highs",
        ),
        (lambda: OperatingCurveDisplay.from_report(EvaluationReport.blank()), ValueError, "holds no curves.operating"),
        (lambda: ReliabilityDisplay.from_report(EvaluationReport.blank()), ValueError, "it was not measured"),
        (lambda: ScoreDistributionDisplay.from_predictions([1], [float("inf")]), ValueError, "no row has a finite"),
    ],
)
def test_refusals(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
