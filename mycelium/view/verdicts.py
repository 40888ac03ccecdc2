"""The verdicts that the views show when none are given."""

from __future__ import annotations

from typing import NamedTuple

from mycelium.errors import KINDS, judge
from mycelium.spans import SpanBatch

__all__ = ["KINDS", "Mark", "default_verdicts"]


class Mark(NamedTuple):
    """One span: characters ``[start, end)``, its type if it has one, and what became of it."""

    start: int
    end: int
    type: str | None
    verdict: str


def default_verdicts(references: SpanBatch, predictions: SpanBatch) -> list[list[list[str]]]:
    """Return for the references and for the predictions n lists with a verdict of :func:`mycelium.errors.judge`.

    Types count where every span of both sides has one; where any lacks one, boundaries only.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> default_verdicts(as_spans([[[0, 4, "A"], [6, 9, "A"]]]), as_spans([[[0, 4, "A"], [6, 9, "B"], [20, 22, "A"]]]))
    [[['exact', 'wrong type']], [['exact', 'wrong type', 'spurious']]]
    >>> default_verdicts(as_spans([[[0, 4, "A"], [6, 9, "A"]]]), as_spans([[[0, 4, "A"], [6, 9, "B"], [20, 22]]]))
    [[['exact', 'exact']], [['exact', 'exact', 'spurious']]]
    """
    sides = (references, predictions)
    typed = all(not len(side.start) or (side.label is not None and None not in side.label.tolist()) for side in sides)
    found = judge(references, predictions, typed=typed)
    out = []
    for side, kinds in zip(sides, (found.references, found.predictions), strict=True):
        words, cuts = [KINDS[i] for i in kinds.tolist()], side.offsets.tolist()
        out.append([words[cuts[i] : cuts[i + 1]] for i in range(len(side))])
    return out
