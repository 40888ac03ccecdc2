"""The simple verdicts, for when nobody gives better ones."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["KINDS", "Mark", "simple_verdicts"]

#: The order in which known verdicts are listed: from good to bad. Others follow by name.
KINDS = (
    "exact",
    "overlapping",
    "too narrow",
    "too wide",
    "shifted",
    "split",
    "merged",
    "wrong type",
    "duplicate",
    "missed",
    "spurious",
)


class Mark(NamedTuple):
    """One span: characters ``[start, end)``, its type if it has one, and what became of it."""

    start: int
    end: int
    type: str | None
    verdict: str


Span = tuple[int, int, str | None]


def simple_verdicts(references: Sequence[Span], predictions: Sequence[Span]) -> tuple[list[str], list[str]]:
    """Say of each span of one answer whether the other side has it too, touches it, or knows nothing of it.

    A span is ``"exact"`` when a span of the other side has the same boundaries and, where both have a type, the same
    type; ``"overlapping"`` when it shares a character with one; else ``"missed"`` (a reference) or ``"spurious"`` (a
    prediction). Nothing is paired one to one: two predictions on one reference can both be exact.

    Examples
    --------
    >>> simple_verdicts([(0, 4, "A"), (6, 9, "A"), (12, 14, None)], [(0, 4, "A"), (6, 9, "B"), (20, 22, None)])
    (['exact', 'overlapping', 'missed'], ['exact', 'overlapping', 'spurious'])
    """
    return _against(references, predictions, "missed"), _against(predictions, references, "spurious")


def _against(spans: Sequence[Span], others: Sequence[Span], alone: str) -> list[str]:
    types: dict[tuple[int, int], set[str | None]] = {}
    for start, end, label in others:
        types.setdefault((start, end), set()).add(label)
    ordered = sorted(types)
    starts = [start for start, _ in ordered]
    # Of the spans that start before a span ends, the one that reaches farthest tells whether any overlaps it.
    reach, farthest = [], 0
    for _, end in ordered:
        farthest = max(farthest, end)
        reach.append(farthest)
    found = []
    for start, end, label in spans:
        same = types.get((start, end))
        before = bisect_left(starts, end)
        if same is not None and (label is None or label in same or None in same):
            found.append("exact")
        else:
            found.append("overlapping" if before and reach[before - 1] > start else alone)
    return found
