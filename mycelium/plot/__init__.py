"""Pictures of scores and how sure they are, in the manner of scikit-learn's displays.

Each class is made by a ``from_*`` constructor, or from plain sequences, and drawn by ``plot(ax=None)``; the axes are
then in ``ax_`` and the figure in ``figure_``. Drawing changes neither the data nor matplotlib's settings, and shows
nothing: that is left to ``plt.show()`` or ``display.figure_.savefig(...)``. Needs matplotlib
(``pip install "mycelium-eval[plot]"``), which is imported when a picture is drawn.
"""

from mycelium.plot.detectors import detector_displays, save_detector_displays
from mycelium.plot.differences import DifferenceDisplay
from mycelium.plot.distribution import ScoreDistributionDisplay
from mycelium.plot.forest import ForestDisplay
from mycelium.plot.operating import OperatingCurveDisplay
from mycelium.plot.ranks import RankDisplay
from mycelium.plot.reliability import ReliabilityDisplay
from mycelium.plot.risk_coverage import RiskCoverageDisplay

__all__ = [
    "DifferenceDisplay",
    "ForestDisplay",
    "OperatingCurveDisplay",
    "RankDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "ScoreDistributionDisplay",
    "detector_displays",
    "save_detector_displays",
]
