"""OperatingCurveDisplay: how many supported answers are accepted for the unsupported ones that slip through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mycelium.detector.curve import operating_curve
from mycelium.plot import frame
from mycelium.plot.rows import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["OperatingCurveDisplay"]

AGAINST = ("far", "threshold")


class OperatingCurveDisplay:
    """Supported answers accepted (SAR) against unsupported ones accepted (FAR), and what can be promised of FAR.

    The solid line is what was observed at each possible threshold, the dashed one the upper bound of FAR there. Chosen
    operating points have a marker with the interval of their FAR; a dotted line stands at each budget.

    Parameters
    ----------
    thresholds, far, upper, sar : sequences of length n
        At threshold i: the share of unsupported answers accepted, the upper bound of it, and the share of supported
        answers accepted.
    points : sequence of mapping, optional
        Operating points as in a report: ``target_far``, ``threshold``, ``eval_far``, ``far_ci95``,
        ``supported_acceptance``. Infeasible ones have nothing to draw but their budget.
    level : float
        That of the bounds.
    n_unsupported, n_supported : int, optional
        Answers behind the curves, written below.
    accept_rule : str
        Which answers are accepted, written below where the threshold is an axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    observed_, bound_ : matplotlib Line2D
        The two lines; against the threshold, FAR and its bound.
    supported_ : matplotlib Line2D or None
        SAR, where it is drawn against the threshold.
    points_ : matplotlib Line2D
        The markers of the operating points, which may be none.

    Raises
    ------
    TypeError, ValueError
        When there is nothing to draw, columns differ in length, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium.plot import OperatingCurveDisplay
    >>> display = OperatingCurveDisplay([0.2, 0.6], [0.0, 0.5], [0.3, 0.8], [0.5, 1.0], n_unsupported=10)
    >>> display.sar
    [0.5, 1.0]
    >>> display.plot().figure_.savefig("operating.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    observed_: Line2D
    bound_: Line2D
    supported_: Line2D | None
    points_: Line2D
    band_: FillBetweenPolyCollection | None

    def __init__(
        self,
        thresholds: Iterable[float],
        far: Iterable[float],
        upper: Iterable[float],
        sar: Iterable[float],
        *,
        points: Sequence[Mapping[str, Any]] = (),
        level: float = 0.95,
        n_unsupported: int | None = None,
        n_supported: int | None = None,
        accept_rule: str = "score <= threshold",
    ) -> None:
        columns = frame.check_columns(thresholds=thresholds, far=far, upper=upper, sar=sar)
        self.thresholds, self.far, self.upper, self.sar = columns
        self.points = [dict(point) for point in points]
        self.level = level
        self.n_unsupported = n_unsupported
        self.n_supported = n_supported
        self.accept_rule = accept_rule

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_score: Any, *, groups: Any = None, sample_weight: Any = None, **options: Any
    ) -> OperatingCurveDisplay:
        """Compute the curve of scored answers; the arguments are those of :func:`mycelium.detector.operating_curve`."""
        curve = operating_curve(y_true, y_score, groups=groups, sample_weight=sample_weight, **options)
        content = curve.to_dict()
        return cls(
            content["threshold"],
            content["far"],
            content["far_upper"],
            content["sar"],
            level=content["confidence_level"],
            n_unsupported=content["n_unsupported"],
            n_supported=content["n_supported"],
            accept_rule=content["accept_rule"],
        )

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> OperatingCurveDisplay:
        """Take the curve of the test rows and the operating points from an evaluation report.

        Raises
        ------
        ValueError
            When the report holds no curve.
        """
        curve = frame.section_of(report, "curves", "operating")
        return cls(
            curve["threshold"],
            curve["far"],
            curve["far_upper95"],
            curve["sar"],
            points=report["operating_points"],
            n_unsupported=report["dataset"]["n_unsupported"],
            n_supported=report["dataset"]["n_supported"],
            accept_rule=report["detector"]["accept_rule"] or "score <= threshold",
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        against: str = "far",
        size: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> OperatingCurveDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        against : {"far", "threshold"}
            What the x axis holds: the share of unsupported answers accepted, or the threshold.
        size : (float, float), optional
            Inches of a new figure.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.step` for the observed line.

        Returns
        -------
        OperatingCurveDisplay
            The display itself.
        """
        if against not in AGAINST:
            raise ValueError(f"against must be one of {', '.join(map(repr, AGAINST))}, got {against!r}")
        counts = [(self.n_unsupported, "unsupported"), (self.n_supported, "supported")]
        amount = ", ".join(f"{n:,} {name}" for n, name in counts if n is not None)
        caption = ["unsupported accepted (FAR)" if against == "far" else f"threshold; accepted: {self.accept_rule}"]
        if amount:
            caption.append(amount)
        if self.points and any(point.get("target_far") is not None for point in self.points):
            points = f"dotted: budgets; points with {self.level:.0%} intervals"
            caption.append(points if against == "far" else "dotted: chosen thresholds")
        ax = frame.framed_axes(ax, caption, size)
        self.band_ = None
        if against == "far":
            self._against_far(ax, kwargs)
        else:
            self._against_threshold(ax, kwargs)
        ax.set_ylim(-0.02, 1.02)
        frame.legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _against_far(self, ax: Axes, look: dict[str, Any]) -> None:
        self.supported_ = None
        # Nothing accepted is where every detector begins.
        far, upper, sar = ([start, *line] for start, line in ((0.0, self.far), (0.0, self.upper), (0.0, self.sar)))
        line: dict[str, Any] = {"where": "post", "color": BLUE, "linewidth": 1.8, "label": "observed", **look}
        self.observed_ = ax.step(far, sar, **line)[0]
        bound: dict[str, Any] = {"where": "post", "color": GREY, "linestyle": "--", "linewidth": 1.3}
        self.bound_ = ax.step(upper[1:], sar[1:], label=f"at its {self.level:.0%} bound", **bound)[0]
        for budget in dict.fromkeys(p["target_far"] for p in self.points if p.get("target_far") is not None):
            ax.axvline(budget, color=GREY, linestyle=":", linewidth=1.2, zorder=1)
        drawn = [p for p in self.points if p.get("eval_far") is not None and p.get("supported_acceptance") is not None]
        drawn = [p for p in drawn if p.get("feasible") is not False]
        x, y = [p["eval_far"] for p in drawn], [p["supported_acceptance"] for p in drawn]
        name: dict[str, Any] = {"label": "chosen"} if drawn else {}
        self.points_ = ax.plot(x, y, "o", color=ORANGE, markersize=6, zorder=4, clip_on=False, **name)[0]
        sure = [(p["far_ci95"], p["supported_acceptance"]) for p in drawn if p.get("far_ci95")]
        ax.hlines(
            [height for _, height in sure],
            [ends[0] for ends, _ in sure],
            [ends[1] for ends, _ in sure],
            colors=ORANGE,
            linewidth=1.6,
            zorder=3,
        )
        ax.set_xlim(-0.02, 1.02)
        frame.name_y(ax, "supported accepted (SAR)")
        frame.shares(ax)

    def _against_threshold(self, ax: Axes, look: dict[str, Any]) -> None:
        line: dict[str, Any] = {
            "where": "post",
            "color": ORANGE,
            "linewidth": 1.8,
            "label": "unsupported (FAR)",
            **look,
        }
        self.observed_ = ax.step(self.thresholds, self.far, **line)[0]
        bound: dict[str, Any] = {"where": "post", "color": ORANGE, "linestyle": "--", "linewidth": 1.1}
        self.bound_ = ax.step(self.thresholds, self.upper, label=f"its {self.level:.0%} bound", **bound)[0]
        self.band_ = ax.fill_between(
            self.thresholds, self.far, self.upper, step="post", color=ORANGE, alpha=0.12, linewidth=0
        )
        supported: dict[str, Any] = {"where": "post", "color": BLUE, "linestyle": "-.", "linewidth": 1.8}
        self.supported_ = ax.step(self.thresholds, self.sar, label="supported (SAR)", **supported)[0]
        chosen = [point["threshold"] for point in self.points if point.get("threshold") is not None]
        frame.mark_thresholds(ax, chosen)
        self.points_ = ax.plot([], [], "o", color=ORANGE)[0]
        frame.name_y(ax, "answers accepted")
        frame.shares(ax, x=False)
