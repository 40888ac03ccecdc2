"""RankDisplay: ranks, how far they reach, and the letters of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mycelium.plot import RankDisplay
from mycelium.versus.leaderboard import leaderboard


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def drawn(display: RankDisplay) -> list[tuple[str, float, float, float, str]]:
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    points = dict(zip(display.points_.get_ydata(), display.points_.get_xdata(), strict=True))
    ends = {y: (low, high) for (low, y), (high, _) in display.intervals_.get_segments()}
    letters = {text.xy[1]: text.get_text() for text in display.ax_.texts if text.get_text()}
    bottom, top = display.ax_.get_ylim()
    assert bottom > top, "the first row is on top"
    return [(names[y], points[y], *ends[y], letters[y]) for y in sorted(points)]


@pytest.fixture(scope="module")
def board() -> dict[str, Any]:
    """In de the last two swap strengths from row to row, and nothing is sure; in fi "worse" is far behind."""
    gold = [[[i, i + 10]] for i in range(80)]
    systems = {
        "near": [[[i, i + (8 if i % 2 else 10)]] for i in range(80)],
        "exact": gold,
        "worse": [[[i, i + (10 if i % 2 else 8)]] for i in range(40)] + [[]] * 40,
        "late": [*gold[:40], *[None] * 40],
    }
    return leaderboard(gold, systems, by=["de"] * 40 + ["fi"] * 40, n_resamples=999)


def test_overall_and_slices(board: dict[str, Any]) -> None:
    display = RankDisplay.from_leaderboard(board).plot()
    # exact is 1 in every row; near 0.9 on average; worse 0.9 in de and 0 in fi.
    assert drawn(display) == [("exact", 1, 1, 1, "a"), ("near", 2, 2, 2, "b"), ("worse", 3, 3, 3, "c")]
    assert display.ax_.get_xlabel() == (
        "overall rank by iou, 95% interval\nsame letter: cannot be told apart\n80 examples"
    )
    display = RankDisplay.from_leaderboard(board, "de").plot()
    assert sorted(drawn(display)) == [
        *[("exact", 1, 1, 2, "a"), ("late", 1, 1, 2, "a")],
        *[("near", 3, 3, 4, "b"), ("worse", 3, 3, 4, "b")],
    ]
    assert display.name == "rank by iou in de"
    assert display.note == "40 examples"


def test_without_slices() -> None:
    gold = [[[0, 10]]] * 40
    display = RankDisplay.from_leaderboard(leaderboard(gold, {"one": gold}, n_resamples=99)).plot()
    assert drawn(display) == [("one", 1, 1, 1, "a")]
    assert display.name == "rank by iou"


def test_only_ranks_that_exist_are_marked() -> None:
    for systems in (1, 3, 14, 40):
        ranks = range(1, systems + 1)
        display = RankDisplay([f"system {i}" for i in ranks], ranks, [1] * systems, ranks).plot()
        ticks = display.ax_.get_xticks().tolist()
        assert ticks[0] == 1
        assert set(ticks) <= set(ranks)
        left, right = display.ax_.get_xlim()
        assert left < 1
        assert systems < right < systems + 1


def test_plain_numbers_without_groups() -> None:
    display = RankDisplay(["b", "a"], [1, 2], [1, 1], [2, 2], note="12 groups").plot(color="black")
    assert display.points_.get_xdata().tolist() == [1, 2]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["b", "a"]
    assert display.ax_.get_xlabel() == "rank, interval\n12 groups"
    assert len(display.ax_.texts) == 0


def test_drawing_changes_nothing_else(board: dict[str, Any]) -> None:
    import copy

    before, settings = copy.deepcopy(dict(board)), dict(plt.rcParams)
    figure, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    display = RankDisplay.from_leaderboard(board).plot(ax)
    figure.canvas.draw()
    assert dict(board) == before
    assert dict(plt.rcParams) == settings
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert figure.get_size_inches().tolist() == [4, 3]
    assert len(plt.get_fignums()) == 1


def test_refusals(board: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the leaderboard has no slice 'sv'; it has de, fi"):
        RankDisplay.from_leaderboard(board, "sv")
    with pytest.raises(ValueError, match="ranks no system overall; see its 'refused' and 'missing'"):
        RankDisplay.from_leaderboard({**board, "overall": []})
    with pytest.raises(ValueError, match="groups has 1 values, expected one for each of the 2 labels"):
        RankDisplay(["b", "a"], [1, 2], [1, 1], [2, 2], groups=["a"])
    with pytest.raises(ValueError, match="labels is empty"):
        RankDisplay([], [], [], [])
    with pytest.raises(ValueError, match="lows: row 0 is 3"):
        RankDisplay(["b", "a"], [1, 2], [3, 1], [2, 2])
