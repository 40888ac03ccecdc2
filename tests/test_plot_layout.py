"""Pictures of all sizes: nothing overlaps, nothing is cut off; and how text is broken into lines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest

from mycelium.plot import DifferenceDisplay, ForestDisplay, RankDisplay
from mycelium.plot.layout import columns_in, fitting, rank_ticks, wrap

LONG = "laboratory-{0:02d}/deberta-v3-large-finetuned-ragtruth-sentence-detector_v{0}"
ARABIC = "مقياس {0} نظام كشف الهلوسة في اللغة العربية"


def forest(labels: list[str]) -> ForestDisplay:
    n = len(labels)
    scores = [(i * 7 % 11) / 10 for i in range(n)]
    ends = [max(0, s - 0.08) for s in scores], [min(1, s + 0.05) for s in scores]
    return ForestDisplay(
        labels, scores, *ends, name="iou (macro)", level=0.95, reference=0.4, note="99 to 154 examples each"
    )


def differences(labels: list[str]) -> DifferenceDisplay:
    n = len(labels)
    values = [((i * 5 % 9) - 4) / 37 for i in range(n)]
    return DifferenceDisplay(
        [f"{a} − {b}" for a, b in zip(labels, labels[::-1], strict=True)],
        values,
        [value - 0.03 for value in values],
        [value + 0.03 for value in values],
        p_values=[0.0002, 0.041, 1.0] * (n // 3) + [0.5] * (n % 3),
        significant=[abs(value) > 0.03 for value in values],
        name="difference in iou (macro)",
        level=0.95,
        p_name="p (Holm)",
        alpha=0.05,
        note="154 examples",
    )


def ranks(labels: list[str]) -> RankDisplay:
    n = len(labels)
    places = range(1, n + 1)
    return RankDisplay(
        labels,
        places,
        [max(1, i - 2) for i in places],
        [min(n, i + 2) for i in places],
        groups=["ab"] * n,
        name="overall rank by iou",
        level=0.95,
        note="154 examples",
    )


MAKERS = [forest, differences, ranks]


@pytest.fixture
def plt() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def boxes(display: Any) -> list[tuple[str, Any]]:
    """Return every text of the picture with its box, in pixels."""
    figure = display.figure_
    figure.draw_without_rendering()
    axes = display.ax_
    (left, right), (bottom, top) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    texts = [label for at, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True) if left <= at <= right]
    # Of axes that share their rows only the outer ones show names.
    names = [label for label in axes.get_yticklabels() if label.get_visible()]
    texts += [label for label in names if bottom <= label.get_position()[1] <= top]
    texts += [*axes.texts, axes.xaxis.label]
    return [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]


def faults(display: Any) -> list[str]:
    """Return what overlaps, and what leaves the figure."""
    found = boxes(display)
    out = [
        f"{a!r} on {b!r}"
        for (a, one), (b, two) in combinations(found, 2)
        if min(one.x1, two.x1) - max(one.x0, two.x0) > 0 and min(one.y1, two.y1) - max(one.y0, two.y0) > 0
    ]
    # Between the axes' borders stand the intervals; texts leave them alone too.
    area = display.ax_.get_window_extent()
    out += [
        f"{a!r} on the axes"
        for a, box in found
        if min(box.x1, area.x1) - max(box.x0, area.x0) > 1 and min(box.y1, area.y1) - max(box.y0, area.y0) > 1
    ]
    width, height = display.figure_.bbox.width, display.figure_.bbox.height
    out += [
        f"{a!r} is cut off"
        for a, box in found
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    if area.width < 0.15 * width:
        out.append(f"the axes are {area.width / width:.0%} of the width")
    return out


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    ("name", "n", "width", "font"),
    [
        *[("{0}", n, *size) for n in (1, 3, 14) for size in ((None, 10), (3.3, 8))],
        *[("{0}", 40, None, 10), (LONG, 1, 3.3, 8), (LONG, 3, 3.3, 10), (LONG, 14, None, 10), (LONG, 40, 3.3, 8)],
        *[(LONG, 3, 10, 12), (ARABIC, 3, 3.3, 8)],
    ],
)
def test_nothing_overlaps_or_is_cut_off(
    plt: Any, make: Callable[[list[str]], Any], name: str, n: int, width: float | None, font: int
) -> None:
    with plt.rc_context({"font.size": font}):
        display = make([name.format(i) for i in range(n)]).plot(width=width)
        assert faults(display) == []


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["system {0}", "laboratory {0}, third detector"])
def test_axes_side_by_side(plt: Any, make: Callable[[list[str]], Any], name: str) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    displays = [make([name.format(i) for i in range(8)]).plot(ax) for ax in axes.flat]
    figure.canvas.draw()
    assert [fault for display in displays for fault in faults(display)] == []
    every = [box for display in displays for box in boxes(display)]
    for (a, one), (b, two) in combinations(every, 2):
        assert min(one.x1, two.x1) - max(one.x0, two.x0) <= 0 or min(one.y1, two.y1) - max(one.y0, two.y0) <= 0, (a, b)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_axes_that_share_their_rows(plt: Any, make: Callable[[list[str]], Any]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
    displays = [make(["one", "two", "three"]).plot(ax) for ax in (left, right)]
    figure.draw_without_rendering()
    assert len(left.get_yticklabels()) == 3
    assert [fault for display in displays for fault in faults(display)] == []


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_names_shrink_where_the_axes_are_low_and_that_is_said(plt: Any, make: Callable[[list[str]], Any]) -> None:
    _, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    with pytest.warns(UserWarning, match=r"40 rows in axes .* inches high: names are written in .* points"):
        display = make([f"s{i}" for i in range(40)]).plot(ax)
    assert faults(display) == []


def test_the_check_sees_faults(plt: Any) -> None:
    display = forest(["a", "b", "c"]).plot()
    assert faults(display) == []
    display.ax_.annotate("on a label", xy=(0, 0), xycoords=display.ax_.get_yaxis_transform(), ha="right")
    assert any("on 'a'" in fault or "'a' on" in fault for fault in faults(display))
    display = forest(["a", "b", "c"]).plot()
    display.ax_.text(0.4, 1, "in the axes")
    assert faults(display) == ["'in the axes' on the axes"]
    _, ax = plt.subplots(figsize=(2, 2))
    display = forest(["a name that has no room in such a figure", "b"]).plot(ax)
    assert any("is cut off" in fault for fault in faults(display))


# -- text


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("short", 10, "short"),
        ("  two \n words ", 20, "two words"),
        ("one two three four", 12, "one two\nthree four"),
        ("one two three", 7, "one two\nthree"),
        ("a/b-c_d.e", 4, "a/b-\nc_d.\ne"),
        ("abcdefghij", 4, "abcd\nefgh\nij"),
        ("system 0 − system 1", 19, "system 0 − system 1"),
        ("system 0 − system 1", 18, "system 0 −\nsystem 1"),
        ("a − b c d e f g h", 9, "a −\nb c d e\nf g h"),
        ("日本語の幻覚", 6, "日本語\nの幻覚"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("", 5, ""),
        ("日", 1, "日"),
    ],
)
def test_wrap(text: str, columns: int, expected: str) -> None:
    assert wrap(text, columns) == expected


def test_wrapping_loses_no_character() -> None:
    for text in (LONG.format(3), "日本語の幻覚検出器・基準線 number 1", "a" * 50 + " − " + "b-c" * 20):
        for columns in range(1, 60):
            assert wrap(text, columns).replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_fitting_takes_the_largest_font_that_fits() -> None:
    names, font = fitting(["a", "b"], 10, 2, 3)
    assert (names, font) == (["a", "b"], 10)
    names, font = fitting([LONG.format(i) for i in range(5)], 10, 1.5, 1)
    lines = max(name.count("\n") + 1 for name in names)
    assert font < 10
    assert 5 * lines * font * 1.3 / 72 <= 1
    assert all(len(line) <= columns_in(1.5, font) for name in names for line in name.split("\n"))


@pytest.mark.parametrize("most", [2, 5, 12])
@pytest.mark.parametrize("last", [1, 2, 7, 14, 40, 365])
def test_rank_ticks(last: int, most: int) -> None:
    ticks = rank_ticks(last, most)
    assert ticks[0] == 1
    assert ticks == sorted(set(ticks))
    assert ticks[-1] <= last
    assert len(ticks) <= most + 1


# -- the library that draws


def test_importing_loads_no_matplotlib() -> None:
    code = "import sys, mycelium.plot; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_without_matplotlib(make: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "matplotlib":
                raise ModuleNotFoundError("No module named 'matplotlib'", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without, *sys.meta_path])
    with pytest.raises(ImportError, match=r'mycelium.plot needs matplotlib: pip install "mycelium-eval\[plot\]"'):
        make(["a"]).plot()
