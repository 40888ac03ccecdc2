"""Lists of types: those of benchmarks by name, and any other."""

from __future__ import annotations

from collections.abc import Sequence

from mycelium.metrics.by_type import NONE
from mycelium.spans import SpanBatch

__all__ = ["TYPES", "types_in", "types_of"]

#: The official types of benchmarks, in the order of their papers.
TYPES = {
    "causal": ("ADD-PATH", "ADD-DEVICE", "NEG-FLIP", "LAT-FLIP", "CONTRA"),
    "ragtruth": ("Evident Conflict", "Subtle Conflict", "Evident Baseless Info", "Subtle Baseless Info"),
}
#: Types whose confusion matrix is counted without a thought; labels that are sentences make more.
MOST = 200


def types_of(types: str | Sequence[str]) -> tuple[str, ...]:
    """Return a list of types by name, or the list itself once it is checked.

    Raises
    ------
    TypeError, ValueError
        When there is no list of that name, a type is not a word or stands twice, or one is called "none", which
        means that there is no span.

    Examples
    --------
    >>> types_of("causal")
    ('ADD-PATH', 'ADD-DEVICE', 'NEG-FLIP', 'LAT-FLIP', 'CONTRA')
    """
    if isinstance(types, str):
        if types not in TYPES:
            raise ValueError(
                f"types: there is no list named {types!r}; there are {', '.join(TYPES)}, or give a list of types"
            )
        return TYPES[types]
    if isinstance(types, (set, frozenset, dict)) or not hasattr(types, "__iter__"):
        raise TypeError(f"types must be a list of names, whose order is that of the report, got {type(types).__name__}")
    names = tuple(types)
    if len(names) > MOST:
        raise ValueError(f"types holds {len(names):,} types, expected at most {MOST}: they make a matrix")
    for number, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"types: number {number} is {name!r} ({type(name).__name__}), expected a string")
        if not name.strip() or name == NONE:
            raise ValueError(f"types: number {number} is {name!r}, which cannot name a type")
        if name in names[:number]:
            raise ValueError(f"types holds {name!r} twice")
    return tuple(str(name) for name in names)


def types_in(*sides: SpanBatch) -> tuple[str, ...]:
    """Return the types that occur in the data, sorted."""
    found = set()
    for side in sides:
        if side.label is not None:
            found |= set(side.label.tolist())
    return types_of(sorted(found))
