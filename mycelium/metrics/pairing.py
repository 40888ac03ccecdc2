"""One-to-one matchings of a line, made once for all metrics that ask for the same, and counts of what came of them."""

from __future__ import annotations

import numpy as np

from mycelium.intervals import row_sums
from mycelium.line import Line, Side
from mycelium.matching import BASES, Matching, Spans, Stage, match, stages_of
from mycelium.metrics.parameters import Parameter
from mycelium.spans import BoolArray, IntArray

__all__ = ["CREDIT", "OVERLAP", "Outcomes", "matching_of", "measure_of", "rows_of"]

#: What an overlap is worth.
CREDIT = Parameter("overlap_credit", 0.5, 0.0, 1.0, summary="what an overlap is worth; equal boundaries are worth 1")
#: What counts as an overlap.
OVERLAP = (
    Parameter("min_overlap", 0.0, 0.0, 1.0, summary="least share of the base that partners share; equal passes"),
    Parameter("overlap_base", "reference", choices=BASES, summary="length that the share is taken of"),
)


def measure_of(
    line: Line, measure: str, *, overlap_credit: float = 0.5, min_overlap: float = 0.0, overlap_base: str = "reference"
) -> Matching:
    """Return the matching of a measure; see :func:`mycelium.matching.stages_of`."""
    stages = stages_of(measure, overlap_credit=overlap_credit, min_overlap=min_overlap, base=overlap_base)
    return matching_of(line, stages)


def matching_of(line: Line, stages: tuple[Stage, ...]) -> Matching:
    """Return the matching that the stages make; where no stage asks for types, none are read.

    Positions are those of the spans of ``line.typed`` where a stage asks for types, else of ``line.references`` and
    ``line.predictions``; the two differ at most among spans with equal boundaries.
    """
    found: Matching | None = line.memo.get(stages)
    if found is None:
        found = _beginning(line, stages)
    if found is None:
        if _reads_types(stages):
            references, predictions, _ = line.typed
        else:
            references, predictions = (Spans(side.start, side.end) for side in (line.references, line.predictions))
        found = match(references, predictions, stages)
    line.memo[stages] = found
    return found


def _reads_types(stages: tuple[Stage, ...]) -> bool:
    return any(stage.types == "same" for stage in stages)


def _beginning(line: Line, stages: tuple[Stage, ...]) -> Matching | None:
    """Return the matching that a longer one has begun with: no stage takes back what those before have paired."""
    for longer, known in line.memo.items():
        if not isinstance(known, Matching) or not isinstance(longer, tuple):
            continue
        if longer[: len(stages)] == stages and _reads_types(longer) == _reads_types(stages):
            at = np.flatnonzero(known.stage < len(stages))
            return Matching(
                known.reference.take(at),
                known.prediction.take(at),
                known.stage.take(at),
                known.shared.take(at),
                known.exact.take(at),
                known.sizes,
            )
    return None


class Outcomes:
    """What became of the spans of each row under a matching.

    Parameters
    ----------
    line : Line
        The n rows.
    matching : Matching
        Partners on it.
    """

    def __init__(self, line: Line, matching: Matching) -> None:
        self.line = line
        self.matching = matching

    def pairs(self, which: BoolArray) -> IntArray:
        """Count the pairs that the mask names in each row, shape (n,)."""
        flags = np.zeros(len(self.line.references), dtype=bool)
        flags[self.matching.reference[which]] = True
        return row_sums(flags, self.line.references.offsets)

    @property
    def exact(self) -> IntArray:
        """Number of pairs with equal boundaries in each row, shape (n,)."""
        return self.pairs(self.matching.exact)

    @property
    def overlapping(self) -> IntArray:
        """Number of pairs with other boundaries in each row, shape (n,)."""
        return self.pairs(~self.matching.exact)

    @property
    def missed(self) -> IntArray:
        """Number of references without a partner in each row, shape (n,)."""
        return row_sums(self.matching.partner_r < 0, self.line.references.offsets)

    @property
    def spurious(self) -> IntArray:
        """Number of predictions without a partner in each row, shape (n,)."""
        return row_sums(self.matching.partner_p < 0, self.line.predictions.offsets)


def rows_of(side: Side) -> IntArray:
    """Return the row of each span of a side, shape (m,)."""
    rows: IntArray = np.repeat(np.arange(len(side.count), dtype=np.int64), side.count)
    return rows
