"""ForestDisplay: what is drawn is what was computed, and where."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mycelium import evaluate
from mycelium.plot import ForestDisplay
from mycelium.report import Report

LANGUAGES = ["fi", "de", "en"] * 40


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def report() -> Report:
    rng = random.Random(5)
    references = [[[i % 7, i % 7 + 12]] for i in range(120)]
    predictions = [[[i % 7, i % 7 + rng.randint(1, 12)]] for i in range(120)]
    return evaluate(references=references, predictions=predictions, metrics=["iou", "character"])


def drawn(display: Any) -> list[tuple[str, float, float, float]]:
    """Return label, value, low and high of each row of the picture, from top to bottom."""
    axes = display.ax_
    names = {tick: label.get_text() for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    values = dict(zip(display.points_.get_ydata(), display.points_.get_xdata(), strict=True))
    ends = {y: (low, high) for (low, y), (high, same) in display.intervals_.get_segments() if y == same}
    assert list(values) == list(ends)
    bottom, top = axes.get_ylim()
    assert bottom > top, "the first row is on top"
    return [(names[y], values[y], *ends[y]) for y in sorted(values)]


def test_rows_are_drawn_where_the_numbers_say() -> None:
    display = ForestDisplay(["b", "a", "c"], [0.5, 0.1 + 0.2, 1.0], [0.25, 0.0, 1 / 3], [0.6, 0.75, 1.0], reference=0.4)
    assert display.plot() is display
    assert drawn(display) == [("b", 0.5, 0.25, 0.6), ("a", 0.1 + 0.2, 0.0, 0.75), ("c", 1.0, 1 / 3, 1.0)]
    assert display.reference_ is not None
    assert list(display.reference_.get_xdata()) == [0.4, 0.4]
    caps = [tuple(xy) for part in display.ax_.collections[1:] for xy in part.get_offsets().tolist()]
    assert sorted(caps) == sorted([(0.25, 0), (0.0, 1), (1 / 3, 2), (0.6, 0), (0.75, 1), (1.0, 2)])
    assert display.figure_ is display.ax_.figure


def test_a_score_may_lie_outside_its_interval() -> None:
    display = ForestDisplay(["a"], [0.9], [0.2], [0.3]).plot()
    assert drawn(display) == [("a", 0.9, 0.2, 0.3)]
    low, high = display.ax_.get_xlim()
    assert low < 0.2
    assert high > 0.9


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_equal_scores_and_intervals_of_no_width(value: float) -> None:
    display = ForestDisplay(["a", "b", "c"], [value] * 3, [value] * 3, [value] * 3).plot()
    low, high = display.ax_.get_xlim()
    assert low < value < high


def test_from_report_by_slice(report: Report) -> None:
    display = ForestDisplay.from_report(report, by=LANGUAGES, metric="character", n_resamples=200, seed=3).plot()
    slices = report.by(LANGUAGES)
    intervals = report.confidence_intervals(by=LANGUAGES, n_resamples=200, seed=3)
    assert drawn(display) == [
        (key, slices[key]["character"]["f1"], *intervals[key]["character"]["f1"]) for key in ("de", "en", "fi")
    ]
    assert display.reference == report["character"]["f1"]
    assert display.ax_.get_xlabel() == (
        f"character F1 (macro), 95% interval\ndashed: overall, {report['character']['f1']:.3f}\n40 examples each"
    )


def test_from_report_hands_its_options_on(report: Report) -> None:
    groups = [i // 4 for i in range(120)]
    options = {"groups": groups, "level": 0.9, "method": "basic", "n_resamples": 150, "seed": 9}
    display = ForestDisplay.from_report(report, by=LANGUAGES, output="score", **options)
    intervals = report.confidence_intervals(by=LANGUAGES, **options)
    assert list(zip(display.lows, display.highs, strict=True)) == [
        tuple(intervals[key]["iou"]["score"]) for key in ("de", "en", "fi")
    ]
    assert (display.name, display.level, display.note) == ("iou (macro)", 0.9, "30 groups each")


def test_from_report_by_metric(report: Report) -> None:
    display = ForestDisplay.from_report(report, n_resamples=200).plot()
    intervals = report.confidence_intervals(n_resamples=200)
    assert drawn(display) == [
        ("iou", report["iou"]["score"], *intervals["iou"]["score"]),
        ("character F1", report["character"]["f1"], *intervals["character"]["f1"]),
    ]
    assert display.reference is None
    assert display.ax_.get_xlabel() == "score (macro), 95% interval\n120 examples"


def test_from_intervals_of_one_metric_and_of_one_output(report: Report) -> None:
    intervals = report.confidence_intervals(n_resamples=100)
    display = ForestDisplay.from_intervals(intervals, metric="character")
    assert display.labels == ["precision", "recall", "F1"]
    assert display.scores == [report["character"][o] for o in ("precision", "recall", "f1")]
    assert ForestDisplay.from_intervals(intervals, metric="character", output="recall").labels == ["recall"]


def test_from_intervals_of_systems(report: Report) -> None:
    other = evaluate(references=[[[0, 4]]] * 33, predictions=[[[0, 2]]] * 33, metrics=["character", "iou"])
    pair = {"long": report.confidence_intervals(n_resamples=100), "short": other.confidence_intervals(n_resamples=100)}
    display = ForestDisplay.from_intervals(pair, metric="iou", reference=0.25, reference_name="chance")
    assert display.labels == ["long", "short"]
    assert display.scores == [report["iou"]["score"], 0.5]
    assert display.note == "33 to 120 examples each"
    assert "dashed: chance, 0.25\n" in display.plot(digits=2).ax_.get_xlabel()


def test_numbers_beside(report: Report) -> None:
    display = ForestDisplay(["a", "b"], [0.5, 0.25], [0.4, 0.125], [0.6, 0.5]).plot(numbers=True, digits=2)
    texts = [text.get_text() for text in display.ax_.texts]
    assert [text for text in texts if text] == ["0.50 [0.40, 0.60]", "0.25 [0.12, 0.50]"]
    assert [text.xy[1] for text in display.ax_.texts[:2]] == [0, 1]


def test_drawing_changes_nothing_else(report: Report) -> None:
    intervals = report.confidence_intervals(by=LANGUAGES, n_resamples=100)
    before = {key: (dict(part), {k: dict(v) for k, v in part.scores.items()}) for key, part in intervals.items()}
    settings = dict(plt.rcParams)
    scores = [0.5, 0.2]
    display = ForestDisplay(["a", "b"], scores, [0.1, 0.1], [0.6, 0.6])
    kept = dict(vars(display))
    display.plot(color="red")
    ForestDisplay.from_intervals(intervals).plot()
    assert {key: (dict(part), part.scores) for key, part in intervals.items()} == before
    assert scores == [0.5, 0.2]
    assert {key: value for key, value in vars(display).items() if not key.endswith("_")} == kept
    assert dict(plt.rcParams) == settings


def test_given_axes_are_used_and_their_figure_keeps_its_size() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(5, 3), layout="constrained")
    open_figures = plt.get_fignums()
    display = ForestDisplay(["a", "b"], [0.5, 0.2], [0.1, 0.1], [0.6, 0.6]).plot(ax=right)
    figure.canvas.draw()
    assert display.ax_ is right
    assert display.figure_ is figure
    assert figure.get_size_inches().tolist() == [5, 3]
    assert plt.get_fignums() == open_figures
    assert not left.lines
    assert not left.collections
    with pytest.raises(ValueError, match="width is that of a new figure"):
        display.plot(ax=left, width=3)


def test_axes_of_a_subfigure_and_of_no_pyplot_figure() -> None:
    from matplotlib.figure import Figure

    inner = Figure(figsize=(6, 3), layout="constrained").subfigures(1, 2)[1]
    display = ForestDisplay(["a", "b"], [0.5, 0.2], [0.1, 0.1], [0.6, 0.6]).plot(ax=inner.subplots())
    assert display.figure_ is inner
    assert plt.get_fignums() == []


def test_looks_are_handed_on() -> None:
    display = ForestDisplay(["a", "b"], [0.5, 0.2], [0.1, 0.1], [0.6, 0.6])
    display.plot(c="red", marker="D", label="mine", interval_kw={"linestyles": ":", "linewidth": 3})
    assert display.points_.get_color() == "red"
    assert display.points_.get_marker() == "D"
    assert display.points_.get_label() == "mine"
    assert display.intervals_.get_linewidth().tolist() == [3]
    assert [tuple(color) for color in display.intervals_.get_color()] == [(1, 0, 0, 1)]
    assert display.plot(width=3.5).figure_.get_size_inches()[0] == 3.5


def test_names_are_no_formulas() -> None:
    display = ForestDisplay(["$\\alpha$ at $5", "under_score"], [0.5, 0.2], [0.1, 0.1], [0.6, 0.6], name="a$b$").plot()
    display.figure_.canvas.draw()
    assert not any(label.get_parse_math() for label in [*display.ax_.get_yticklabels(), display.ax_.xaxis.label])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labels": [], "scores": [], "lows": [], "highs": []}, ValueError, "labels is empty"),
        ({"labels": "ab"}, TypeError, "labels must be a sequence of names, got a str"),
        ({"scores": [0.5]}, ValueError, "scores has 1 values, expected one for each of the 2 labels"),
        ({"highs": [0.7, 0.7, 0.7]}, ValueError, "highs has 3 values"),
        ({"lows": [0.1, float("nan")]}, ValueError, "lows: row 1 is nan, expected a finite number"),
        ({"highs": [float("inf"), 1]}, ValueError, "highs: row 0 is inf"),
        ({"scores": [None, 0.5]}, TypeError, "scores: row 0 is None, expected a number"),
        ({"scores": 0.5}, TypeError, "scores must be a sequence of numbers, got a float"),
        ({"lows": [0.1, 0.8]}, ValueError, "lows: row 1 is 0.8, which lies above its high 0.7"),
    ],
)
def test_wrong_rows(change: dict[str, Any], error: type[Exception], message: str) -> None:
    rows: dict[str, Any] = {"labels": ["a", "b"], "scores": [0.5, 0.6], "lows": [0.1, 0.2], "highs": [0.6, 0.7]}
    with pytest.raises(error, match=message):
        ForestDisplay(**{**rows, **change})


def test_wrong_intervals(report: Report) -> None:
    intervals = report.confidence_intervals(n_resamples=100)
    with pytest.raises(ValueError, match="there is no metric 'exact'; there are iou, character"):
        ForestDisplay.from_intervals(intervals, metric="exact")
    with pytest.raises(ValueError, match="iou has no output 'f1'; it has score"):
        ForestDisplay.from_intervals({"a": intervals}, metric="iou", output="f1")
    with pytest.raises(ValueError, match="there is no metric 'exact'"):
        ForestDisplay.from_report(report, by=LANGUAGES, metric="exact")
    with pytest.raises(ValueError, match="intervals is empty"):
        ForestDisplay.from_intervals({})
    with pytest.raises(TypeError, match="must be Intervals or a dict of them, got a list"):
        ForestDisplay.from_intervals([intervals])
    with pytest.raises(TypeError, match=r"intervals\['a'\] must be Intervals, got a dict"):
        ForestDisplay.from_intervals({"a": {}})
    with pytest.raises(ValueError, match=r"differ in their level \(0.8, 0.95\)"):
        ForestDisplay.from_intervals({"a": intervals, "b": report.confidence_intervals(0.8, n_resamples=100)})
