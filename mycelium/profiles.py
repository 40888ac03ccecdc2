"""Scoring defaults of benchmarks."""

from __future__ import annotations

__all__ = ["AVERAGES", "average_of", "profile_name"]

AVERAGES = ("macro", "micro")
_AVERAGE = {"mu_shroom": "macro", "ragtruth": "micro"}
_ALIASES = {"mu-shroom": "mu_shroom", "mushroom": "mu_shroom"}


def profile_name(profile: str | None) -> str | None:
    """Return the canonical name of a profile, e.g. ``"mu_shroom"`` for ``"mu-shroom"``.

    Raises
    ------
    ValueError
        When there is no such profile.
    """
    if profile is None:
        return None
    name = _ALIASES.get(profile, profile) if isinstance(profile, str) else profile
    if name not in _AVERAGE:
        raise ValueError(f"profile must be one of {', '.join(map(repr, _AVERAGE))}, got {profile!r}")
    return name


def average_of(profile: str | None) -> str:
    """Return the average that a benchmark reports: macro for Mu-SHROOM and by default, micro for RAGTruth."""
    return "macro" if profile is None else _AVERAGE[profile]
