"""DifferenceDisplay: differences between systems, with their intervals and adjusted p-values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mycelium.metrics.names import main_output
from mycelium.plot import rows as _rows
from mycelium.plot.layout import MINUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["DifferenceDisplay"]

#: What corrections are called in a picture (Holm; Benjamini and Hochberg).
CORRECTED = {"holm": "Holm", "bh": "BH"}


class DifferenceDisplay:
    """Differences between pairs of systems, with a line at zero.

    Differences that are significant have a filled marker and a solid line, others an open marker and a dashed line; the
    p-values stand beside.

    Parameters
    ----------
    labels : sequence of length n
        The name of each pair; the first stands on top.
    differences, lows, highs : sequences of n finite numbers
        Number i is the difference of pair i and the two ends of its interval.
    p_values : sequence of n numbers, optional
        Those to be written, adjusted or not.
    significant : sequence of n bool, optional
        Whether each difference is. Without it all are drawn alike.
    name : str
        What is drawn, written below the axis.
    level : float, optional
        That of the intervals, e.g. 0.95, to be written with it.
    p_name : str
        What is written above the p-values.
    alpha : float, optional
        The level of the tests, e.g. 0.05, to be written below.
    note : str, optional
        A last line below the axis, such as the number of examples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    points_, open_points_ : matplotlib Line2D
        The filled markers and the open ones, either of which may hold none.
    intervals_, open_intervals_ : matplotlib LineCollection
        The intervals that belong to them, one segment a row.
    zero_ : matplotlib Line2D
        The line at zero.

    Raises
    ------
    TypeError, ValueError
        When there is no row, a column has another length than ``labels``, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium.plot import DifferenceDisplay
    >>> from mycelium.versus.comparison import compare
    >>> references = [[[0, 10]]] * 40
    >>> found = compare(references, {"long": [[[0, 8]]] * 40, "short": [[[0, 6]]] * 30 + [[]] * 10}, metrics=["iou"])
    >>> display = DifferenceDisplay.from_comparison(found)
    >>> display.labels, display.significant
    (['long − short'], [True])
    >>> display.plot().figure_.savefig("differences.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    points_: Line2D
    open_points_: Line2D
    intervals_: LineCollection
    open_intervals_: LineCollection
    zero_: Line2D

    def __init__(
        self,
        labels: Iterable[object],
        differences: Iterable[float],
        lows: Iterable[float],
        highs: Iterable[float],
        *,
        p_values: Iterable[float] | None = None,
        significant: Iterable[bool] | None = None,
        name: str = "difference",
        level: float | None = None,
        p_name: str = "p",
        alpha: float | None = None,
        note: str | None = None,
    ) -> None:
        optional = {"p_values": p_values, "significant": significant}
        given = {column: values for column, values in optional.items() if values is not None}
        self.labels, columns = _rows.check_rows(labels, differences=differences, lows=lows, highs=highs, **given)
        self.differences, self.lows, self.highs = columns[:3]
        _rows.check_order(self.lows, self.highs)
        extra = dict(zip(given, columns[3:], strict=True))
        self.p_values = extra.get("p_values")
        self.significant = [bool(value) for value in extra["significant"]] if "significant" in extra else None
        self.name = name
        self.level = level
        self.p_name = p_name
        self.alpha = alpha
        self.note = note

    @classmethod
    def from_comparison(
        cls, comparison: Mapping[str, Any], metric: str | None = None, *, output: str | None = None
    ) -> DifferenceDisplay:
        """Take the pairs of a comparison, in its order.

        Parameters
        ----------
        comparison : Comparison
            What :func:`mycelium.compare` returned. With a baseline the rows are named by the other systems.
        metric : str, optional
            The key of the metric to draw; the first by default.
        output : str, optional
            "precision", "recall", "f1" or "score"; by default the score, or else F1.

        Raises
        ------
        ValueError
            When the comparison lacks the metric or the output.
        """
        pairs, meta = comparison["pairs"], comparison["meta"]
        found: dict[str, list[str]] = {}
        for pair in pairs:
            found.setdefault(pair["metric"], []).append(pair["output"])
        if not found:
            raise ValueError("comparison holds no pairs: there is nothing to draw")
        metric = next(iter(found)) if metric is None else metric
        if metric not in found:
            raise ValueError(f"comparison has no metric {metric!r}; it has {', '.join(found)}")
        outputs = list(dict.fromkeys(found[metric]))
        output = main_output(outputs) if output is None else output
        if output not in outputs:
            raise ValueError(f"{metric} has no output {output!r} here; it has {', '.join(outputs)}")
        pairs = [pair for pair in pairs if pair["metric"] == metric and pair["output"] == output]
        seconds = {pair["b"] for pair in pairs}
        against = len(pairs) > 1 and len(seconds) == 1
        measured = f"{_rows.measure(metric, output)} ({meta['average']})"
        corrected = CORRECTED.get(meta["correction"]) if meta["family_size"] > 1 else None
        side = "" if meta["alternative"] == "two-sided" else f", one-sided ({meta['alternative']})"
        return cls(
            [pair["a"] if against else f"{pair['a']}{MINUS}{pair['b']}" for pair in pairs],
            [pair["difference"] for pair in pairs],
            [pair["interval"][0] for pair in pairs],
            [pair["interval"][1] for pair in pairs],
            p_values=[pair["p_adjusted"] for pair in pairs],
            significant=[pair["significant"] for pair in pairs],
            name=f"{measured}{MINUS}that of {pairs[0]['b']}" if against else f"difference in {measured}",
            level=meta["level"],
            p_name=f"p ({corrected})" if corrected else "p",
            alpha=meta["alpha"],
            note=_rows.amount([meta["units"]], meta["unit"]) + side,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        width: float | None = None,
        interval_kw: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> DifferenceDisplay:
        """Draw a marker at each difference, a line with caps for its interval, and write its p-value beside.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure made to measure by default. Give axes of a figure with ``layout="constrained"``, so
            that names have room.
        width : float, optional
            The width of a new figure in inches; that of ``rcParams["figure.figsize"]`` by default.
        interval_kw : dict, optional
            Keyword arguments of :meth:`matplotlib.axes.Axes.hlines`, which draws the intervals.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot`, which draws the markers. A colour holds for the
            intervals too.

        Returns
        -------
        DifferenceDisplay
            The display itself.
        """
        caption = [f"{self.name}, {_rows.interval_name(self.level)}"]
        if self.significant is not None:
            at = "" if self.alpha is None else f" at {self.alpha:g}"
            caption.append(f"filled: significant{at}, open: not")
        if self.note:
            caption.append(self.note)
        beside = [] if self.p_values is None else [_p_text(p) for p in self.p_values]
        header = [self.p_name] if beside else []
        ax, font = _rows.named_axes(ax, self.labels, caption=caption, beside=[*beside, *header], width=width)
        self.zero_ = ax.axvline(0, color=ax.xaxis.label.get_color(), linewidth=0.8, zorder=1)
        sure = [True for _ in self.labels] if self.significant is None else self.significant
        line = dict(interval_kw or {})
        self.points_, self.intervals_ = self._draw(ax, [row for row, yes in enumerate(sure) if yes], font, line, kwargs)
        self.open_points_, self.open_intervals_ = self._draw(
            ax,
            [row for row, yes in enumerate(sure) if not yes],
            font,
            {"linestyles": "--", "linewidth": 1.1, **line},
            {"color": _rows.GREY, "markerfacecolor": ax.get_facecolor(), **kwargs},
        )
        if beside:
            _rows.write_beside(ax, beside, self.p_name, font)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Axes, rows: list[int], font: float, line: dict[str, Any], points: dict[str, Any]) -> Any:
        columns = ([column[row] for row in rows] for column in (self.differences, self.lows, self.highs))
        return _rows.draw_rows(ax, rows, *columns, font=font, line=line, points=points)


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
