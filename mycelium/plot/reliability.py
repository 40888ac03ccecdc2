"""ReliabilityDisplay: whether answers that are called unsupported with probability 0.8 are so in 8 of 10 cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mycelium.detector.probability import expected_calibration_error, reliability_curve
from mycelium.plot import frame
from mycelium.plot.rows import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection, LineCollection
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay:
    """The share of unsupported answers in each bin of probabilities, with its interval and the number of answers.

    Parameters
    ----------
    probabilities, observed, lows, highs : sequences of length n
        Bin i: the mean probability of its answers, the share of them that is unsupported, and the interval of that
        share. Bins without answers are left out.
    counts : sequence of n int
        How many answers each bin has; grey bars.
    ece : float, optional
        The expected calibration error, written below.
    null_p95 : float, optional
        What that error exceeds in 5% of samples for a forecaster that is right, written with it.
    band_lows, band_highs : sequences of length n, optional
        Where the share of bin i would lie by chance if the probabilities were right; shaded.
    level : float
        That of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    points_ : matplotlib Line2D
        The markers of the bins.
    intervals_ : matplotlib LineCollection
        Their intervals.
    counts_ : matplotlib BarContainer
        The bars.
    band_ : matplotlib FillBetweenPolyCollection or None
        The shaded band.

    Raises
    ------
    TypeError, ValueError
        When there is no bin, columns differ in length, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium.plot import ReliabilityDisplay
    >>> display = ReliabilityDisplay([0.1, 0.7], [0.2, 0.6], [0.1, 0.4], [0.4, 0.8], [30, 20])
    >>> display.counts
    [30.0, 20.0]
    >>> display.plot().figure_.savefig("reliability.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    points_: Line2D
    intervals_: LineCollection
    counts_: BarContainer
    band_: FillBetweenPolyCollection | None

    def __init__(
        self,
        probabilities: Iterable[float],
        observed: Iterable[float],
        lows: Iterable[float],
        highs: Iterable[float],
        counts: Iterable[float],
        *,
        ece: float | None = None,
        null_p95: float | None = None,
        band_lows: Iterable[float] | None = None,
        band_highs: Iterable[float] | None = None,
        level: float = 0.95,
    ) -> None:
        columns = frame.check_columns(
            probabilities=probabilities, observed=observed, lows=lows, highs=highs, counts=counts
        )
        self.probabilities, self.observed, self.lows, self.highs, self.counts = columns
        self.ece = ece
        self.null_p95 = null_p95
        self.band_lows: list[float] | None = None
        self.band_highs: list[float] | None = None
        if (band_lows is None) != (band_highs is None):
            raise TypeError("give both band_lows and band_highs, or neither")
        if band_lows is not None and band_highs is not None:
            band = frame.check_columns(probabilities=self.probabilities, band_lows=band_lows, band_highs=band_highs)
            self.band_lows, self.band_highs = band[1:]
        self.level = level

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, **options: Any) -> ReliabilityDisplay:
        """Compute the bins; the arguments are those of :func:`mycelium.detector.reliability_curve`."""
        curve = reliability_curve(y_true, y_prob, **options).to_dict()
        # These say how the intervals of the bins are made, which the error has none of.
        options = {key: value for key, value in options.items() if key not in ("groups", "confidence_level")}
        error = expected_calibration_error(y_true, y_prob, **options)
        return cls(
            curve["mean_probability"],
            curve["share_unsupported"],
            curve["low"],
            curve["high"],
            curve["n"],
            ece=error.ece,
            null_p95=error.null_p95,
            band_lows=curve["band_low"],
            band_highs=curve["band_high"],
            level=curve["confidence_level"],
        )

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> ReliabilityDisplay:
        """Take the bins from an evaluation report.

        Raises
        ------
        ValueError
            When the report has none: the score was not declared a probability.
        """
        bins = frame.section_of(report, "probability", "reliability")
        bins = [each for each in bins if each["n"]]
        return cls(
            [each["mean_probability"] for each in bins],
            [each["share_unsupported"] for each in bins],
            [each["interval95"][0] for each in bins],
            [each["interval95"][1] for each in bins],
            [each["n"] for each in bins],
            ece=report["probability"]["ece"],
            null_p95=report["probability"]["ece_null_p95"],
            band_lows=[each["null_band95"][0] for each in bins],
            band_highs=[each["null_band95"][1] for each in bins],
        )

    def plot(
        self, ax: Axes | None = None, *, size: tuple[float, float] | None = None, **kwargs: Any
    ) -> ReliabilityDisplay:
        """Draw a marker and an interval for each bin, the diagonal, and bars for the numbers of answers.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        size : (float, float), optional
            Inches of a new figure.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot` for the markers.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        caption = [
            f"mean probability, {self.level:.0%} intervals",
            f"bars: {min(self.counts):,.0f} to {max(self.counts):,.0f} answers",
        ]
        if self.ece is not None:
            line = f"ECE {self.ece:.3f}"
            if self.null_p95 is not None:
                line += f", by chance up to {self.null_p95:.3f}"
            caption.append(line)
        ax = frame.framed_axes(ax, caption, size)
        ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1.2, label="right", zorder=1.5)
        self.band_ = None
        if self.band_lows is not None and self.band_highs is not None:
            look: dict[str, Any] = {"color": GREY, "alpha": 0.18, "linewidth": 0, "label": "by chance"}
            self.band_ = ax.fill_between(self.probabilities, self.band_lows, self.band_highs, **look)
        bars = ax.twinx()
        self.counts_ = bars.bar(self.probabilities, self.counts, width=0.025, color="0.8", zorder=0)
        # Four fifths of the height are margin: the bars stay at the foot of the picture.
        bars.set_ymargin(4)
        bars.autoscale()
        bars.set_ylim(bottom=0)
        bars.axis("off")
        ax.set_zorder(bars.get_zorder() + 1)
        ax.patch.set_visible(False)
        self.intervals_ = ax.vlines(self.probabilities, self.lows, self.highs, colors=BLUE, linewidth=1.5, zorder=2)
        look = {"color": BLUE, "linestyle": "-", "linewidth": 0.8, "markersize": 5.5, "zorder": 3}
        look = {**look, "marker": "o", "label": "detector", **kwargs}
        self.points_ = ax.plot(self.probabilities, self.observed, **look)[0]
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        frame.name_y(ax, "share that is unsupported")
        frame.legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
