"""Scoring protocols of published benchmarks, rebuilt to the last printed digit."""

from mycelium.protocols.mu_shroom import MuShroomScore, score_mu_shroom
from mycelium.protocols.submission import Problem, SubmissionError, check_mu_shroom

__all__ = ["MuShroomScore", "Problem", "SubmissionError", "check_mu_shroom", "score_mu_shroom"]
