"""ForestDisplay: scores and their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mycelium.confidence import Intervals
from mycelium.metrics.names import main_output
from mycelium.plot import rows as _rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

    from mycelium.report import Report

__all__ = ["ForestDisplay"]


class ForestDisplay:
    """Scores with their intervals: a row for each slice, system or metric.

    Make one by :meth:`from_report` or :meth:`from_intervals`, or from numbers of your own.

    Parameters
    ----------
    labels : sequence of length n
        The name of each row; the first stands on top.
    scores, lows, highs : sequences of n finite numbers
        Number i is the score of row i and the two ends of its interval. A score may lie outside its interval (that of
        a bootstrap may), an end must not lie on the wrong side of the other.
    name : str
        What is drawn, written below the axis.
    level : float, optional
        That of the intervals, e.g. 0.95, to be written with it.
    reference : float, optional
        Where to draw a dashed line.
    reference_name : str
        What that line is.
    note : str, optional
        A last line below the axis, such as the number of examples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    points_ : matplotlib Line2D
        The markers of the scores.
    intervals_ : matplotlib LineCollection
        The intervals, one segment a row.
    reference_ : matplotlib Line2D or None
        The dashed line.

    Raises
    ------
    TypeError, ValueError
        When there is no row, a column has another length than ``labels``, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium import evaluate
    >>> from mycelium.plot import ForestDisplay
    >>> references, predictions = [[[0, 10]], [[0, 4]]] * 40, [[[2, 8]], [[0, 4]]] * 40
    >>> report = evaluate(references=references, predictions=predictions, metrics=["iou"])
    >>> display = ForestDisplay.from_report(report, by=["de", "en"] * 40)
    >>> display.labels, display.scores, display.reference, display.note
    (['de', 'en'], [0.6, 1.0], 0.8, '40 examples each')
    >>> display.plot().figure_.savefig("languages.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    points_: Line2D
    intervals_: LineCollection
    reference_: Line2D | None

    def __init__(
        self,
        labels: Iterable[object],
        scores: Iterable[float],
        lows: Iterable[float],
        highs: Iterable[float],
        *,
        name: str = "score",
        level: float | None = None,
        reference: float | None = None,
        reference_name: str = "overall",
        note: str | None = None,
    ) -> None:
        self.labels, columns = _rows.check_rows(labels, scores=scores, lows=lows, highs=highs)
        self.scores, self.lows, self.highs = columns
        _rows.check_order(self.lows, self.highs)
        self.name = name
        self.level = level
        self.reference = reference
        self.reference_name = reference_name
        self.note = note

    @classmethod
    def from_intervals(
        cls,
        intervals: Intervals | Mapping[Any, Intervals],
        *,
        metric: str | None = None,
        output: str | None = None,
        reference: float | None = None,
        reference_name: str = "overall",
    ) -> ForestDisplay:
        """Take the rows from intervals.

        Parameters
        ----------
        intervals : Intervals, or dict of them
            With a dict, each is a row, under its key: slices, or systems. One alone has a row for each metric, or, with
            ``metric``, for each output of that metric.
        metric : str, optional
            The key of the metric to draw; from a dict the first by default.
        output : str, optional
            "precision", "recall", "f1" or "score"; by default the score, or else F1.
        reference, reference_name
            As in :class:`ForestDisplay`.

        Raises
        ------
        ValueError
            When intervals lack the metric or the output, or differ in level or average.
        """
        if isinstance(intervals, Intervals):
            name, picked = _of_one(intervals, metric, output)
            metas = [intervals["meta"]]
        else:
            name, picked = _of_each(intervals, metric, output)
            metas = [each["meta"] for each in intervals.values()]
        for what in ("level", "average", "unit"):
            values = {meta[what] for meta in metas}
            if len(values) > 1:
                raise ValueError(f"intervals differ in their {what} ({', '.join(map(str, sorted(values)))})")
        return cls(
            [row.label for row in picked],
            [row.score for row in picked],
            [row.low for row in picked],
            [row.high for row in picked],
            name=f"{name} ({metas[0]['average']})",
            level=metas[0]["level"],
            reference=reference,
            reference_name=reference_name,
            note=_rows.amount([meta["units"] for meta in metas], metas[0]["unit"]),
        )

    @classmethod
    def from_report(
        cls,
        report: Report,
        *,
        by: Sequence[Any] | None = None,
        metric: str | None = None,
        output: str | None = None,
        groups: Sequence[Any] | None = None,
        level: float = 0.95,
        method: str = "percentile",
        n_resamples: int = 2000,
        seed: Any = 0,
    ) -> ForestDisplay:
        """Take the rows from a report: its slices, or its metrics.

        Parameters
        ----------
        report : Report
            What :func:`mycelium.evaluate` returned.
        by : sequence of length n, optional
            Value i names the slice of example i, e.g. its language. There is a row for each slice, and a dashed line
            at the score of all examples. Without it there is a row for each metric.
        metric, output
            As in :meth:`from_intervals`.
        groups, level, method, n_resamples, seed
            As in :meth:`mycelium.Report.confidence_intervals`.

        Raises
        ------
        TypeError, ValueError
            When the report lacks the metric or the output, or its method refuses an option.
        """
        options = {"groups": groups, "level": level, "method": method, "n_resamples": n_resamples, "seed": seed}
        found = report.confidence_intervals(by=by, **options)
        if by is None:
            return cls.from_intervals(found, metric=metric, output=output)
        metric = next(iter(report)) if metric is None else metric
        output = _wanted(report, metric, output)
        return cls.from_intervals(found, metric=metric, output=output, reference=report[metric][output])

    def plot(
        self,
        ax: Axes | None = None,
        *,
        numbers: bool = False,
        digits: int = 3,
        width: float | None = None,
        interval_kw: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> ForestDisplay:
        """Draw a marker at each score and a line with caps for its interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure made to measure by default. Give axes of a figure with ``layout="constrained"``, so
            that names have room.
        numbers : bool
            Write score and interval beside each row.
        digits : int
            Decimals of these.
        width : float, optional
            The width of a new figure in inches; that of ``rcParams["figure.figsize"]`` by default.
        interval_kw : dict, optional
            Keyword arguments of :meth:`matplotlib.axes.Axes.hlines`, which draws the intervals.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot`, which draws the markers. A colour holds for the
            intervals too.

        Returns
        -------
        ForestDisplay
            The display itself.
        """
        caption = [f"{self.name}, {_rows.interval_name(self.level)}"]
        if self.reference is not None:
            caption.append(f"dashed: {self.reference_name}, {self.reference:.{digits}f}")
        if self.note:
            caption.append(self.note)
        texts = [
            f"{score:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
            for score, low, high in zip(self.scores, self.lows, self.highs, strict=True)
        ]
        ax, font = _rows.named_axes(ax, self.labels, caption=caption, beside=texts if numbers else (), width=width)
        self.reference_ = None
        if self.reference is not None:
            self.reference_ = ax.axvline(self.reference, color=_rows.ORANGE, linestyle="--", linewidth=1.2, zorder=1)
        self.points_, self.intervals_ = _rows.draw_rows(
            ax, range(len(texts)), self.scores, self.lows, self.highs, font=font, line=interval_kw or {}, points=kwargs
        )
        if numbers:
            _rows.write_beside(ax, texts, "", font)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class _Row(NamedTuple):
    label: object
    score: float
    low: float
    high: float


def _of_one(intervals: Intervals, metric: str | None, output: str | None) -> tuple[str, list[_Row]]:
    """Return the name and the rows of one evaluation: its metrics, or the outputs of one metric."""
    if metric is None:
        keys = [(key, _wanted(intervals, key, output)) for key in intervals if key != "meta"]
        return "score", [_row(intervals, _rows.measure(key, o), key, o) for key, o in keys]
    wanted = list(_outputs(intervals, metric)) if output is None else [_wanted(intervals, metric, output)]
    return metric, [_row(intervals, _rows.output_name(o), metric, o) for o in wanted]


def _of_each(intervals: Mapping[Any, Intervals], metric: str | None, output: str | None) -> tuple[str, list[_Row]]:
    """Return the name and the rows of several evaluations: one output of one metric."""
    if not isinstance(intervals, Mapping):
        raise TypeError(f"intervals must be Intervals or a dict of them, got a {type(intervals).__name__}")
    if not intervals:
        raise ValueError("intervals is empty: there is nothing to draw")
    for label, each in intervals.items():
        if not isinstance(each, Intervals):
            raise TypeError(f"intervals[{label!r}] must be Intervals, got a {type(each).__name__}")
    first = next(iter(intervals.values()))
    metric = next(iter(first)) if metric is None else metric
    output = _wanted(first, metric, output)
    for each in intervals.values():
        _wanted(each, metric, output)
    return _rows.measure(metric, output), [_row(each, label, metric, output) for label, each in intervals.items()]


def _row(intervals: Intervals, label: object, metric: str, output: str) -> _Row:
    low, high = intervals[metric][output]
    return _Row(label, intervals.scores[metric][output], low, high)


def _outputs(holder: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    keys = [key for key in holder if key != "meta"]
    if metric not in keys:
        raise ValueError(f"there is no metric {metric!r}; there are {', '.join(keys)}")
    found: Mapping[str, Any] = holder[metric]
    return found


def _wanted(holder: Mapping[str, Any], metric: str, output: str | None) -> str:
    outputs = _outputs(holder, metric)
    if output is None:
        return main_output(outputs)
    if output not in outputs:
        raise ValueError(f"{metric} has no output {output!r}; it has {', '.join(outputs)}")
    return output
