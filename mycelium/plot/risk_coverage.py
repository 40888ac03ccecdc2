"""RiskCoverageDisplay: how wrong the answers are that are kept, when the least trusted ones are left to others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mycelium.detector.selective import aurc_score, risk_coverage_curve
from mycelium.plot import frame
from mycelium.plot.rows import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["RiskCoverageDisplay"]


class RiskCoverageDisplay:
    """Risk among the answers that are kept against the share that is kept.

    Parameters
    ----------
    coverage, risk : sequences of length n
        At distinct scores only: the share of answers kept, rising, and the share of those that is wrong.
    aurc : float, optional
        The area under the curve, written below.
    n : int, optional
        The number of answers, written below.
    risk_name : str
        What is wrong with a wrong answer.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    curve_ : matplotlib Line2D
        The curve.
    all_ : matplotlib Line2D
        The risk of keeping everything.

    Raises
    ------
    TypeError, ValueError
        When there is nothing to draw, columns differ in length, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium.plot import RiskCoverageDisplay
    >>> RiskCoverageDisplay([0.5, 1.0], [0.0, 0.3], aurc=0.1, n=20).plot().figure_.savefig("r.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    curve_: Line2D
    all_: Line2D

    def __init__(
        self,
        coverage: Iterable[float],
        risk: Iterable[float],
        *,
        aurc: float | None = None,
        n: int | None = None,
        risk_name: str = "unsupported among those accepted",
    ) -> None:
        self.coverage, self.risk = frame.check_columns(coverage=coverage, risk=risk)
        self.aurc = aurc
        self.n = n
        self.risk_name = risk_name

    @classmethod
    def from_predictions(cls, y_error: Any, confidence: Any, **options: Any) -> RiskCoverageDisplay:
        """Compute the curve; the arguments are those of :func:`mycelium.detector.risk_coverage_curve`."""
        curve = risk_coverage_curve(y_error, confidence, **options)
        content = curve.to_dict()
        aurc = aurc_score(y_error, confidence, **options)
        return cls(content["coverage"], content["risk"], aurc=aurc, n=curve.n, risk_name="wrong among those kept")

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> RiskCoverageDisplay:
        """Take the curve of the test rows from an evaluation report.

        Raises
        ------
        ValueError
            When the report holds no curve.
        """
        curve = frame.section_of(report, "curves", "risk_coverage")
        return cls(curve["coverage"], curve["risk"], aurc=report["selective"]["aurc"], n=report["dataset"]["n"])

    def plot(
        self, ax: Axes | None = None, *, size: tuple[float, float] | None = None, **kwargs: Any
    ) -> RiskCoverageDisplay:
        """Draw the curve, and a dashed line at the risk of keeping everything.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        size : (float, float), optional
            Inches of a new figure.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot` for the curve.

        Returns
        -------
        RiskCoverageDisplay
            The display itself.
        """
        caption = ["coverage: answers kept, least risky first"]
        facts = [] if self.n is None else [f"{self.n:,} answers"]
        facts += [] if self.aurc is None else [f"AURC {self.aurc:.3f}"]
        if facts:
            caption.append(", ".join(facts))
        ax = frame.framed_axes(ax, caption, size)
        self.all_ = ax.axhline(self.risk[-1], color=GREY, linestyle="--", linewidth=1.2, label="all kept", zorder=1)
        look: dict[str, Any] = {"color": BLUE, "linewidth": 1.8, "label": "detector", "zorder": 2, **kwargs}
        self.curve_ = ax.plot(self.coverage, self.risk, **look)[0]
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(bottom=0)
        frame.name_y(ax, self.risk_name)
        frame.shares(ax)
        frame.legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
