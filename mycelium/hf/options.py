"""The options that the entrances of this package take: those of the core, checked by the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from mycelium.accumulators import OPTIONS, READING, TYPED_OPTIONS, accumulator, reading
from mycelium.scoring import Accumulator

__all__ = ["OPTIONS", "READING", "TYPED_OPTIONS", "check_options", "reading", "unknown"]


def check_options(options: Mapping[str, Any], typed: bool = False) -> Accumulator:
    """Return an accumulator under these options, of typed spans if asked for.

    Raises
    ------
    TypeError
        When there is no such option.
    ValueError
        When the value of one is refused.
    """
    for name in options:
        if name not in (known := TYPED_OPTIONS if typed else OPTIONS):
            raise TypeError(unknown("option", name, known))
    return accumulator(typed=typed, **options)


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    known = list(known)
    near = get_close_matches(name, known, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"there is no {kind} {name!r}{hint} (known: {', '.join(known)})"
