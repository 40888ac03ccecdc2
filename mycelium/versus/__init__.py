"""Systems against each other: differences with intervals, paired tests, leaderboards."""

from mycelium.versus.comparison import Comparison, compare
from mycelium.versus.leaderboard import Leaderboard, leaderboard

__all__ = ["Comparison", "Leaderboard", "compare", "leaderboard"]
