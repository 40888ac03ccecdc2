"""What a matching is made of and asked for: spans, stages and the pairs that come out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mycelium.spans import BoolArray, IntArray

__all__ = ["BASES", "MEASURES", "Matching", "Spans", "Stage", "canonical_order", "stages_of"]

#: What the share of an overlap may be taken of.
BASES = ("reference", "union", "prediction")
#: The measures that :func:`stages_of` knows.
MEASURES = ("strict", "strict_typed", "partial", "typed_partial", "confusion")


@dataclass(frozen=True)
class Stage:
    """One round of pairing among the spans that are still free.

    Parameters
    ----------
    boundaries : {"exact", "overlap"}
        Whether partners must have equal boundaries or share at least one character.
    types : {"any", "same"}
        Whether partners must have the same type.
    min_overlap : float, default 0.0
        Least share of the base that partners must have in common, in [0, 1], equality included. For overlaps only:
        equal boundaries share everything.
    base : {"reference", "union", "prediction"}
        Length that the share is taken of; the union counts each character once.

    Raises
    ------
    ValueError
        If a value is none of these.
    """

    boundaries: str
    types: str
    min_overlap: float = 0.0
    base: str = "reference"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("boundaries", self.boundaries, ("exact", "overlap")),
            ("types", self.types, ("any", "same")),
            ("base", self.base, BASES),
        ):
            if value not in known:
                raise ValueError(f"{name}: {value!r}, expected one of {', '.join(known)}")
        if not 0.0 <= self.min_overlap <= 1.0:
            raise ValueError(f"min_overlap: {self.min_overlap!r}, expected a share between 0 and 1")


def stages_of(
    measure: str, *, overlap_credit: float = 0.5, min_overlap: float = 0.0, base: str = "reference"
) -> tuple[Stage, ...]:
    """Return the stages of a measure.

    =================  ==========================================================================
    ``strict``         equal boundaries
    ``strict_typed``   equal boundaries and type
    ``partial``        equal boundaries, then overlaps
    ``typed_partial``  equal boundaries and type, then overlaps of the same type
    ``confusion``      same type exact, other exact, overlaps of the same type, other overlaps
    =================  ==========================================================================

    Parameters
    ----------
    measure : str
        One of :data:`MEASURES`.
    overlap_credit : float, default 0.5
        What an overlap is worth. At 1.0 it is worth as much as equal boundaries, so that ``partial`` and
        ``typed_partial`` have one stage of overlaps and only the number of pairs counts. It changes nothing else.
    min_overlap, base
        See :class:`Stage`.

    Examples
    --------
    >>> stages_of("typed_partial", overlap_credit=1.0)
    (Stage(boundaries='overlap', types='same', min_overlap=0.0, base='reference'),)
    """
    if measure not in MEASURES:
        raise ValueError(f"measure: {measure!r}, expected one of {', '.join(MEASURES)}")
    same = "same" if "typed" in measure else "any"
    if measure.startswith("strict"):
        return (Stage("exact", same),)
    if measure == "confusion":
        return (
            Stage("exact", "same"),
            Stage("exact", "any"),
            Stage("overlap", "same", min_overlap, base),
            Stage("overlap", "any", min_overlap, base),
        )
    overlaps = Stage("overlap", same, min_overlap, base)
    return (overlaps,) if overlap_credit >= 1.0 else (Stage("exact", same), overlaps)


def canonical_order(start: IntArray, end: IntArray, type_: IntArray | None = None) -> IntArray:
    """Return the positions of the spans in canonical order: by start, then end, then type.

    Examples
    --------
    >>> import numpy as np
    >>> canonical_order(np.array([4, 0, 4]), np.array([9, 2, 6])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((end, start) if type_ is None else (type_, end, start))


@dataclass(frozen=True, eq=False)
class Spans:
    """One side of a batch on the number line, in canonical order.

    Parameters
    ----------
    start, end : int64 arrays of shape (m,)
        Half-open spans; those of different rows lie apart. ``start < end``.
    type : int64 array of shape (m,), optional
        Code of each span's type; needed by stages that ask for the same type. Where there are none, the order is by
        start and end.
    """

    start: IntArray
    end: IntArray
    type: IntArray | None = None

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def length(self) -> IntArray:
        """Number of characters of each span, shape (m,)."""
        return self.end - self.start

    def take(self, positions: IntArray) -> Spans:
        """Return the spans at these positions."""
        codes = None if self.type is None else self.type.take(positions)
        return Spans(self.start.take(positions), self.end.take(positions), codes)

    def check(self, name: str) -> None:
        """Refuse spans that are empty or out of canonical order."""
        fields = [self.start, self.end] if self.type is None else [self.start, self.end, self.type]
        if len({len(x) for x in fields}) > 1:
            raise ValueError(f"{name}: start, end and type have {', '.join(str(len(x)) for x in fields)} values")
        empty = np.flatnonzero(self.start >= self.end)
        if len(empty):
            raise ValueError(f"{name}: span {empty[0]} is empty, expected start < end")
        falls = np.zeros(max(len(self) - 1, 0), dtype=bool)
        for field in reversed(fields):
            before, after = field[:-1], field[1:]
            falls = (before > after) | ((before == after) & falls)
        wrong = np.flatnonzero(falls)
        if len(wrong):
            raise ValueError(f"{name}: span {wrong[0] + 1} comes too late, expected an order by start, end and type")


@dataclass(frozen=True, eq=False)
class Matching:
    """The pairs of a matching, in the order of the references.

    Attributes
    ----------
    reference, prediction : int64 arrays of shape (k,)
        Positions of the partners on their sides; ``reference`` rises.
    stage : int64 array of shape (k,)
        Number of the stage that made the pair, from 0.
    shared : int64 array of shape (k,)
        Characters that the two have in common.
    exact : bool array of shape (k,)
        Whether the two have equal boundaries.
    sizes : pair of int
        Number of references and of predictions, paired or not.
    """

    reference: IntArray
    prediction: IntArray
    stage: IntArray
    shared: IntArray
    exact: BoolArray
    sizes: tuple[int, int]

    def __len__(self) -> int:
        return len(self.reference)

    @cached_property
    def partner_r(self) -> IntArray:
        """Position of each reference's prediction, -1 where it has none, shape (references,)."""
        out = np.full(self.sizes[0], -1, dtype=np.int64)
        out[self.reference] = self.prediction
        return out

    @cached_property
    def partner_p(self) -> IntArray:
        """Position of each prediction's reference, -1 where it has none, shape (predictions,)."""
        out = np.full(self.sizes[1], -1, dtype=np.int64)
        out[self.prediction] = self.reference
        return out
