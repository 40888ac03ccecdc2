"""DifferenceDisplay: pairs, zero, p-values, and significance that is seen without colour."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mycelium.plot import DifferenceDisplay
from mycelium.versus.comparison import compare


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def comparison() -> dict[str, Any]:
    """Three systems, two metrics; A stands out in iou."""

    def pair(metric: str, output: str, a: str, b: str, numbers: tuple[float, ...]) -> dict[str, Any]:
        difference, low, high, p_value, p_adjusted = numbers
        return {
            **{"metric": metric, "output": output, "a": a, "b": b, "difference": difference, "interval": [low, high]},
            **{"p_value": p_value, "p_adjusted": p_adjusted, "significant": p_adjusted <= 0.05},
        }

    return {
        "systems": {},
        "pairs": [
            pair("iou", "score", "A", "B", (0.25, 0.125, 0.375, 0.0001, 0.0003)),
            pair("iou", "score", "A", "C", (0.1, 0.01, 0.2, 0.02, 0.04)),
            pair("iou", "score", "B", "C", (-0.0625, -0.25, 0.0625, 0.4, 0.4)),
            pair("character", "precision", "A", "B", (0.5, 0.4, 0.6, 0.01, 0.03)),
            pair("character", "f1", "A", "B", (0.3, 0.2, 0.4, 0.01, 0.0301)),
        ],
        "meta": {
            **{"level": 0.95, "alpha": 0.05, "units": 154, "unit": "example", "average": "macro"},
            **{"correction": "holm", "family_size": 3, "alternative": "two-sided"},
        },
    }


def drawn(display: DifferenceDisplay) -> dict[bool, list[tuple[str, float, float, float]]]:
    """Return label, difference, low and high of the filled rows (True) and of the open ones (False)."""
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    out = {}
    for filled, points, intervals in (
        (True, display.points_, display.intervals_),
        (False, display.open_points_, display.open_intervals_),
    ):
        xy = list(zip(points.get_xdata(), points.get_ydata(), strict=True))
        ends = [(low, high, y) for (low, y), (high, _) in intervals.get_segments()]
        out[filled] = [(names[y], x, low, high) for (x, y), (low, high, at) in zip(xy, ends, strict=True) if y == at]
        assert len(out[filled]) == len(xy)
    return out


def beside(display: DifferenceDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.texts]


def test_pairs_of_the_first_metric(comparison: dict[str, Any]) -> None:
    display = DifferenceDisplay.from_comparison(comparison).plot()
    assert drawn(display) == {
        True: [("A − B", 0.25, 0.125, 0.375), ("A − C", 0.1, 0.01, 0.2)],
        False: [("B − C", -0.0625, -0.25, 0.0625)],
    }
    assert beside(display) == ["<0.001", "0.040", "0.400", "p (Holm)"]
    assert [text.xy[1] for text in display.ax_.texts[:3]] == [0, 1, 2]
    assert list(display.zero_.get_xdata()) == [0, 0]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    assert display.ax_.get_xlabel() == (
        "difference in iou (macro), 95% interval\nfilled: significant at 0.05, open: not\n154 examples"
    )


def test_significance_is_seen_without_colour(comparison: dict[str, Any]) -> None:
    display = DifferenceDisplay.from_comparison(comparison).plot(color="black")
    assert display.points_.get_markerfacecolor() == "black"
    assert display.open_points_.get_markerfacecolor() == display.ax_.get_facecolor()
    (_, solid), (_, dashed) = display.intervals_.get_linestyle()[0], display.open_intervals_.get_linestyle()[0]
    assert solid is None
    assert dashed is not None


def test_a_metric_and_an_output(comparison: dict[str, Any]) -> None:
    display = DifferenceDisplay.from_comparison(comparison, "character")
    assert (display.labels, display.differences, display.lows, display.highs) == (["A − B"], [0.3], [0.2], [0.4])
    assert display.p_values == [0.0301]
    assert display.name == "difference in character F1 (macro)"
    display = DifferenceDisplay.from_comparison(comparison, "character", output="precision")
    assert display.differences == [0.5]


def test_against_a_baseline_rows_are_named_by_the_other(comparison: dict[str, Any]) -> None:
    comparison["pairs"] = [pair for pair in comparison["pairs"] if pair["b"] == "C"]
    comparison["meta"] |= {"correction": "none", "alternative": "greater"}
    display = DifferenceDisplay.from_comparison(comparison).plot()
    assert display.labels == ["A", "B"]
    assert display.name == "iou (macro) − that of C"
    assert display.note == "154 examples, one-sided (greater)"
    assert beside(display)[-1] == "p"


@pytest.mark.parametrize(("correction", "size", "header"), [("bh", 3, "p (BH)"), ("holm", 1, "p"), ("none", 3, "p")])
def test_the_header_says_how_p_values_are_adjusted(
    comparison: dict[str, Any], correction: str, size: int, header: str
) -> None:
    comparison["meta"] |= {"correction": correction, "family_size": size}
    assert DifferenceDisplay.from_comparison(comparison).p_name == header


def test_of_a_real_comparison() -> None:
    rng = random.Random(2)
    gold = [[[i % 7, i % 7 + 12]] for i in range(60)]
    systems = {
        name: [[[i % 7, i % 7 + rng.randint(least, 12)]] for i in range(60)] for name, least in (("A", 10), ("B", 2))
    }
    found = compare(gold, systems, metrics=["iou", "character"], outputs="all", n_resamples=999)
    display = DifferenceDisplay.from_comparison(found, "character", output="recall").plot()
    pair = next(p for p in found["pairs"] if p["metric"] == "character" and p["output"] == "recall")
    assert pair["significant"], "A is far better"
    assert drawn(display) == {True: [("A − B", pair["difference"], *pair["interval"])], False: []}
    assert beside(display) == [f"{pair['p_adjusted']:.3f}", "p"]
    assert display.note == "60 examples"


def test_plain_numbers() -> None:
    display = DifferenceDisplay(["x", "y"], [0.1, 0.0], [0.0, 0.0], [0.2, 0.0]).plot()
    assert drawn(display) == {True: [("x", 0.1, 0.0, 0.2), ("y", 0.0, 0.0, 0.0)], False: []}
    assert beside(display) == []
    assert display.ax_.get_xlabel() == "difference, interval"
    display = DifferenceDisplay(["x", "y"], [0.1, 0.0], [0.0, 0.0], [0.2, 0.0], significant=[False, True]).plot()
    assert {filled: [row[0] for row in rows] for filled, rows in drawn(display).items()} == {True: ["y"], False: ["x"]}


def test_drawing_changes_nothing_else(comparison: dict[str, Any]) -> None:
    import copy

    before, settings = copy.deepcopy(comparison), dict(plt.rcParams)
    figure, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    display = DifferenceDisplay.from_comparison(comparison).plot(ax, interval_kw={"linewidth": 2})
    figure.canvas.draw()
    assert comparison == before
    assert dict(plt.rcParams) == settings
    assert display.ax_ is ax
    assert figure.get_size_inches().tolist() == [4, 3]
    assert len(plt.get_fignums()) == 1


def test_refusals(comparison: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="comparison has no metric 'exact_span'; it has iou, character"):
        DifferenceDisplay.from_comparison(comparison, "exact_span")
    with pytest.raises(ValueError, match="character has no output 'recall' here; it has precision, f1"):
        DifferenceDisplay.from_comparison(comparison, "character", output="recall")
    with pytest.raises(ValueError, match="comparison holds no pairs"):
        DifferenceDisplay.from_comparison({**comparison, "pairs": []})
    with pytest.raises(ValueError, match="p_values has 1 values, expected one for each of the 2 labels"):
        DifferenceDisplay(["x", "y"], [0.1, 0.0], [0.0, 0.0], [0.2, 0.0], p_values=[0.1])
    with pytest.raises(ValueError, match="significant has 3 values"):
        DifferenceDisplay(["x", "y"], [0.1, 0.0], [0.0, 0.0], [0.2, 0.0], significant=[True] * 3)
    with pytest.raises(ValueError, match=r"lows: row 1 is 0\.5"):
        DifferenceDisplay(["x", "y"], [0.1, 0.0], [0.0, 0.5], [0.2, 0.0])
