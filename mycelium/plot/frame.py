"""What the displays of detectors share: axes with a caption below, checked columns, and how shares are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mycelium.plot import layout
from mycelium.plot.rows import GREY, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_columns", "framed_axes", "legend_above", "mark_thresholds", "name_y", "section_of", "shares"]


def check_columns(**columns: Iterable[float]) -> list[list[float]]:
    """Return columns of finite numbers as lists of one length, or raise what names column and row."""
    found: list[list[float]] = []
    first = next(iter(columns))
    for name, values in columns.items():
        column = numbers(name, values)
        if found and len(column) != len(found[0]):
            raise ValueError(f"{name} has {len(column)} values, {first} has {len(found[0])}")
        found.append(column)
    if not found[0]:
        raise ValueError(f"{first} is empty: there is nothing to draw")
    return found


def section_of(report: Mapping[str, Any], *path: str) -> Any:
    """Return a section of an evaluation report, or say that it was not measured."""
    value: Any = report
    for name in path:
        value = value[name]
    if value is None:
        raise ValueError(f"the report holds no {'.'.join(path)}: it was not measured")
    return value


def framed_axes(ax: Axes | None, caption: Sequence[str], size: tuple[float, float] | None = None) -> Axes:
    """Return axes with a light grid and the caption below, of a new figure where none are given.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Axes of a figure with ``layout="constrained"`` make room for the caption.
    caption : sequence of str
        Each begins a line; long ones are broken.
    size : (float, float), optional
        Inches of a new figure; ``rcParams["figure.figsize"]`` by default.
    """
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ImportError('mycelium.plot needs matplotlib: pip install "mycelium-eval[plot]"') from error

    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    elif size is not None:
        raise ValueError("size is that of a new figure; ax was given, and its figure keeps its size")
    columns = layout.columns_in(_width(ax), _font("axes.labelsize"))
    ax.set_xlabel("\n".join(layout.wrap(line, columns) for line in caption), parse_math=False)
    ax.grid(True, color="0.5", alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def mark_thresholds(ax: Axes, thresholds: Sequence[float]) -> list[Any]:
    """Draw a dotted line at each threshold."""
    return [ax.axvline(value, color=GREY, linestyle=":", linewidth=1.3, zorder=1.5) for value in thresholds]


def shares(ax: Axes, x: bool = True, y: bool = True) -> None:
    """Write the numbers of axes as percentages."""
    for axis, wanted in ((ax.xaxis, x), (ax.yaxis, y)):
        if wanted:
            axis.set_major_formatter(_percent)


def _percent(value: float, _: object = None) -> str:
    return f"{f'{value:.4%}'.rstrip('%').rstrip('0').rstrip('.')}%"


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, where it hides nothing: in one line where it fits."""
    names = ax.get_legend_handles_labels()[1]
    inches, font = _width(ax), _font("legend.fontsize")
    # A handle and the distance to the next take about eight characters.
    wide = layout.text_width(["        ".join(["", *names])], font) > inches
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    look: dict[str, Any] = {"frameon": False, "handlelength": 1.6, "columnspacing": 1.2, "labelspacing": 0.2}
    ax.legend(ncols=1 if wide else len(names), **place, **look)


def name_y(ax: Axes, name: str) -> None:
    """Write what the y axis holds, in as many lines as it takes."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    columns = layout.columns_in(box.height, _font("axes.labelsize"))
    ax.set_ylabel(layout.wrap(name, columns), parse_math=False)


def _width(ax: Axes) -> float:
    return float(ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted()).width)


def _font(setting: str) -> float:
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties

    settings: Any = mpl.rcParams
    return float(FontProperties(size=settings[setting]).get_size_in_points())
