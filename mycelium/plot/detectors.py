"""All pictures that an evaluation report of a detector has something for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mycelium.plot.distribution import ScoreDistributionDisplay
from mycelium.plot.operating import OperatingCurveDisplay
from mycelium.plot.reliability import ReliabilityDisplay
from mycelium.plot.risk_coverage import RiskCoverageDisplay

__all__ = ["detector_displays", "save_detector_displays"]


def detector_displays(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a display, not yet drawn, for each picture that the report has data for.

    Parameters
    ----------
    report : EvaluationReport
        What :func:`mycelium.detector.evaluate_detector` returned.

    Returns
    -------
    dict
        "operating", "scores", "risk_coverage" and "reliability", as far as the report has them.
    """
    found: dict[str, Any] = {}
    curves = report["curves"]
    if curves["operating"] is not None:
        found["operating"] = OperatingCurveDisplay.from_report(report)
    if curves["scores"] is not None:
        found["scores"] = ScoreDistributionDisplay.from_report(report)
    if curves["risk_coverage"] is not None:
        found["risk_coverage"] = RiskCoverageDisplay.from_report(report)
    if report["probability"]["reliability"]:
        found["reliability"] = ReliabilityDisplay.from_report(report)
    return found


def save_detector_displays(report: Mapping[str, Any], page: Path) -> dict[str, Path]:
    """Save the pictures of a report beside its page, under the name of the page; return the files.

    Parameters
    ----------
    report : EvaluationReport
        What :func:`mycelium.detector.evaluate_detector` returned.
    page : path
        The page that will show them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    saved = {}
    for name, display in detector_displays(report).items():
        # A figure of its own: neither the user's figures nor their backend are touched.
        figure = Figure(figsize=(6, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        display.plot(figure.subplots())
        target = page.with_name(f"{page.stem}-{name}.png")
        figure.savefig(target, dpi=150)
        saved[name] = target
    return saved
