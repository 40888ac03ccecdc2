"""The options that the entrances of this package take: those of the core, checked by the core."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from mycelium.scoring import Accumulator

__all__ = ["OPTIONS", "READING", "check_options", "reading", "unknown"]

#: Every option, in the order of the core's signature.
OPTIONS = tuple(inspect.signature(Accumulator).parameters)

#: Those that act on input as it is read, and so on the rows handed over in the same call.
READING = ("invalid", "missing_rows", "offsets", "end")


def check_options(options: Mapping[str, Any]) -> Accumulator:
    """Return an accumulator under these options.

    Raises
    ------
    TypeError
        When there is no such option.
    ValueError
        When the value of one is refused.
    """
    for name in options:
        if name not in OPTIONS:
            raise TypeError(unknown("option", name, OPTIONS))
    return Accumulator(**options)


def reading(scores: Accumulator) -> dict[str, Any]:
    """Return the options that the readers of input take."""
    return {name: getattr(scores.settings, name) for name in READING}


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not among the known ones."""
    known = list(known)
    near = get_close_matches(name, known, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    return f"there is no {kind} {name!r}{hint} (known: {', '.join(known)})"
