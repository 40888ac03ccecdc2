"""What the displays share: checked rows, axes with named rows, and intervals drawn on them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mycelium.plot import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "amount",
    "check_order",
    "check_rows",
    "draw_rows",
    "interval_name",
    "measure",
    "named_axes",
    "output_name",
    "write_beside",
]

# From the colours of Okabe and Ito; what they mean is always said by a shape or a line as well.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"
#: Names in a smaller font than this cannot be read in print.
SMALL = 5


# -- what is drawn


def check_rows(labels: Iterable[object], **columns: Iterable[float]) -> tuple[list[str], list[list[float]]]:
    """Return names and columns of finite numbers as lists of one length, or raise what names column and row."""
    if isinstance(labels, (str, bytes)):
        raise TypeError(f"labels must be a sequence of names, got a {type(labels).__name__}")
    names = [str(label) for label in labels]
    if not names:
        raise ValueError("labels is empty: there is nothing to draw")
    return names, [numbers(column, values, len(names)) for column, values in columns.items()]


def numbers(column: str, values: Iterable[float], rows: int | None = None) -> list[float]:
    """Return finite numbers, one for each row where there are rows, or raise what names column and row."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{column} must be a sequence of numbers, got a {type(values).__name__}")
    found = []
    for row, value in enumerate(values):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{column}: row {row} is {value!r}, expected a number") from None
        if not float("-inf") < number < float("inf"):
            raise ValueError(f"{column}: row {row} is {value!r}, expected a finite number")
        found.append(number)
    if rows is not None and len(found) != rows:
        raise ValueError(f"{column} has {len(found)} values, expected one for each of the {rows} labels")
    return found


def check_order(lows: Sequence[float], highs: Sequence[float]) -> None:
    """Raise a ValueError where an interval ends before it begins."""
    for row, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low > high:
            raise ValueError(f"lows: row {row} is {low!r}, which lies above its high {high!r}")


# -- what is written


def measure(key: str, output: str) -> str:
    """Return what a picture calls an output of a metric: "iou", "character F1"."""
    return key if output == "score" else f"{key} {output_name(output)}"


def output_name(output: str) -> str:
    """Return what a picture calls an output."""
    return "F1" if output == "f1" else output


def interval_name(level: float | None) -> str:
    """Return what a picture says of its intervals: "95% interval"."""
    return "interval" if level is None else f"{f'{level:.4%}'.rstrip('%').rstrip('0').rstrip('.')}% interval"


def amount(units: Sequence[int], kind: str) -> str:
    """Return how many units stand behind the rows: "154 examples", "99 to 154 examples each"."""
    few, many = min(units), max(units)
    if few != many:
        return f"{few:,} to {many:,} {kind}s each"
    return f"{few:,} {kind}{'' if few == 1 else 's'}{' each' if len(units) > 1 else ''}"


# -- drawing


def named_axes(
    ax: Axes | None,
    labels: Sequence[str],
    *,
    caption: Sequence[str],
    beside: Sequence[str] = (),
    width: float | None = None,
    ranks: int | None = None,
) -> tuple[Axes, float]:
    """Return axes with a named row for each label, the first on top, and the caption below; and the names' font size.

    Without ``ax`` a figure is made whose height follows from the rows. The figure of a given ``ax`` keeps its size;
    names are then written smaller where they would not fit. ``ranks`` is the last of the ranks along the x axis.
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.font_manager import FontProperties
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ImportError('mycelium.plot needs matplotlib: pip install "mycelium-eval[plot]"') from error

    font = FontProperties(size=plt.rcParams["axes.labelsize"]).get_size_in_points()
    small = FontProperties(size=plt.rcParams["ytick.labelsize"]).get_size_in_points()
    if ax is None:
        whole = plt.rcParams["figure.figsize"][0] if width is None else width
        columns = layout.columns_in(layout.label_room(whole, None), small)
        names = [layout.wrap(label, columns) for label in labels]
        text, where = layout.caption_in(whole, caption, names, beside, font, small)
        size = (whole, layout.figure_height(names, small, text, font))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    else:
        if width is not None:
            raise ValueError("width is that of a new figure; ax was given, and its figure keeps its size")
        box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        if ax.figure.get_layout_engine() is None:  # names have the margin that there is
            whole, height, margin = box.x1, box.height, box.x0
        else:  # the axes will be moved until names fit beside them, and the caption below
            whole, height = layout.after_layout(box.width, box.height, len(caption), font)
            margin = None
        names, small = layout.fitting(labels, small, layout.label_room(whole, margin), height)
        if small < SMALL:
            warnings.warn(
                f"{len(names)} rows in axes {height:.1f} inches high: names are written in {small:.1f} points; "
                "give higher axes, or no ax and a figure is made to measure",
                UserWarning,
                stacklevel=3,
            )
        text, where = layout.caption_in(whole, caption, names, beside, font, small)
    room = layout.axes_width(whole, names, beside, small)
    numbers = FontProperties(size=plt.rcParams["xtick.labelsize"]).get_size_in_points()
    if ranks is None:
        ax.xaxis.set_major_locator(MaxNLocator(layout.ticks_in(room, 5, numbers), steps=[1, 2, 5, 10]))
    else:
        ax.set_xticks(layout.rank_ticks(ranks, layout.ticks_in(room, 2, numbers)))
    ax.set_yticks(range(len(names)), labels=names, fontsize=small, parse_math=False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(text, loc=where, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="y", color="0.5", alpha=0.25, linewidth=0.6, linestyle="-")
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax, small


def draw_rows(
    ax: Axes,
    rows: Sequence[int],
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    *,
    font: float,
    line: Mapping[str, Any],
    points: Mapping[str, Any],
) -> tuple[Line2D, LineCollection]:
    """Draw intervals with caps, and a marker at each value, exactly where the numbers say."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    size = layout.marker_size(font)
    look: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": size, "zorder": 3}
    look |= cbook.normalize_kwargs(dict(points), Line2D)
    marked = ax.plot(values, rows, **look)[0]
    drawn = ax.hlines(rows, lows, highs, **{"colors": look["color"], "linewidth": 1.5, "zorder": 2, **line})
    caps: dict[str, Any] = {"color": drawn.get_colors(), "linewidths": drawn.get_linewidth()}
    for ends in (lows, highs):
        ax.scatter(ends, rows, marker="|", s=layout.cap_area(size), zorder=drawn.get_zorder(), **caps)
    return marked, drawn


def write_beside(ax: Axes, texts: Sequence[str], header: str, font: float) -> None:
    """Write a text to the right of each row, below a header."""
    look: dict[str, Any] = {"textcoords": "offset points", "fontsize": font, "annotation_clip": False}
    for row, text in enumerate(texts):
        place: dict[str, Any] = {"xy": (1, row), "xycoords": ax.get_yaxis_transform(), "xytext": (6, 0)}
        ax.annotate(text, **place, **look, va="center_baseline", parse_math=False)
    ax.annotate(header, xy=(1, 1), xycoords="axes fraction", xytext=(6, 2), **look, va="bottom", parse_math=False)
