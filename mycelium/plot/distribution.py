"""ScoreDistributionDisplay: the scores of supported and unsupported answers, and where the thresholds stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mycelium.detector.distributions import score_distributions
from mycelium.plot import frame
from mycelium.plot.rows import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import StepPatch

__all__ = ["ScoreDistributionDisplay"]


class ScoreDistributionDisplay:
    """Histograms of the scores of both classes, each as shares of its own class.

    Parameters
    ----------
    edges : sequence of n + 1 numbers
        The edges of the bins, rising.
    unsupported, supported : sequences of n numbers
        The share of the class in bin i.
    thresholds : sequence of float
        Where dotted lines stand.
    n_unsupported, n_supported : int, optional
        Answers of each class, written in the legend.
    name : str
        What the score is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    unsupported_, supported_ : matplotlib StepPatch
        The histograms.
    thresholds_ : list of matplotlib Line2D
        The dotted lines.

    Raises
    ------
    TypeError, ValueError
        When there is nothing to draw, edges do not rise or are not one more than the bins, or a value is not finite.

    Examples
    --------
    >>> from mycelium.plot import ScoreDistributionDisplay
    >>> display = ScoreDistributionDisplay([0, 0.5, 1], [0.2, 0.8], [0.9, 0.1], thresholds=[0.4])
    >>> display.edges
    [0.0, 0.5, 1.0]
    >>> display.plot().figure_.savefig("scores.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    unsupported_: StepPatch
    supported_: StepPatch
    thresholds_: list[Any]

    def __init__(
        self,
        edges: Iterable[float],
        unsupported: Iterable[float],
        supported: Iterable[float],
        *,
        thresholds: Iterable[float] = (),
        n_unsupported: int | None = None,
        n_supported: int | None = None,
        name: str = "score",
    ) -> None:
        (self.edges,) = frame.check_columns(edges=edges)
        self.unsupported, self.supported = frame.check_columns(unsupported=unsupported, supported=supported)
        if len(self.edges) != len(self.unsupported) + 1:
            raise ValueError(
                f"edges has {len(self.edges)} values, expected one more than the {len(self.supported)} bins"
            )
        falling = next((i for i, (low, high) in enumerate(pairwise(self.edges)) if low >= high), None)
        if falling is not None:
            raise ValueError(f"edges must rise: number {falling} is {self.edges[falling]!r}, the next no larger")
        self.thresholds = [float(value) for value in thresholds]
        self.n_unsupported = n_unsupported
        self.n_supported = n_supported
        self.name = name

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_score: Any, *, thresholds: Sequence[float] = (), **options: Any
    ) -> ScoreDistributionDisplay:
        """Count the scores; further arguments are those of :func:`mycelium.detector.score_distributions`."""
        found = score_distributions(y_true, y_score, **options)
        if found.histogram is None:
            raise ValueError("y_score: no row has a finite score")
        return cls(
            found.histogram["edges"],
            found.histogram["unsupported"],
            found.histogram["supported"],
            thresholds=thresholds,
            n_unsupported=found.n_unsupported,
            n_supported=found.n_supported,
        )

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> ScoreDistributionDisplay:
        """Take the histograms of the test rows and the chosen thresholds from an evaluation report.

        Raises
        ------
        ValueError
            When the report holds no histograms.
        """
        scores = frame.section_of(report, "curves", "scores")
        chosen = [p["threshold"] for p in report["operating_points"] if p["threshold"] is not None]
        return cls(
            **scores,
            thresholds=dict.fromkeys(chosen),
            n_unsupported=report["dataset"]["n_unsupported"],
            n_supported=report["dataset"]["n_supported"],
        )

    def plot(
        self, ax: Axes | None = None, *, size: tuple[float, float] | None = None, **kwargs: Any
    ) -> ScoreDistributionDisplay:
        """Draw both histograms and the thresholds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        size : (float, float), optional
            Inches of a new figure.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.stairs` for both histograms.

        Returns
        -------
        ScoreDistributionDisplay
            The display itself.
        """
        caption = [self.name] + (["dotted: chosen thresholds"] if self.thresholds else [])
        ax = frame.framed_axes(ax, caption, size)
        risky: dict[str, Any] = {"fill": True, "color": ORANGE, "alpha": 0.45, "linewidth": 0, "zorder": 2}
        safe: dict[str, Any] = {"color": BLUE, "linewidth": 1.8, "zorder": 3}
        names = [_named("unsupported", self.n_unsupported), _named("supported", self.n_supported)]
        self.unsupported_ = ax.stairs(self.unsupported, self.edges, label=names[0], **risky, **kwargs)
        self.supported_ = ax.stairs(self.supported, self.edges, label=names[1], **safe, **kwargs)
        self.thresholds_ = frame.mark_thresholds(ax, self.thresholds)
        ax.set_ylim(bottom=0)
        frame.name_y(ax, "share of the class")
        frame.shares(ax, x=False)
        frame.legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _named(name: str, n: int | None) -> str:
    return name if n is None else f"{name} ({n:,})"
