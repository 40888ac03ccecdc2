"""What comes with the spans: texts, ids and slices, one for each example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mycelium.formats.texts import text_list

__all__ = ["column", "slice_names", "texts"]


def texts(text: Any, n: int) -> list[str]:
    """Return the texts as strings."""
    out = [str(answer) for answer in text_list(text)]
    if len(out) != n:
        raise ValueError(f"text has {len(out)} values, references have {n} rows")
    return out


def column(name: str, values: Any, n: int, against: str = "references have {} rows") -> list[Any]:
    """Return n values as a plain list; ``against`` is what a message says of the number expected."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a sequence of {n} values, one for each row, got {type(values).__name__}")
    plain = next((getattr(values, how) for how in ("tolist", "to_list", "to_pylist") if hasattr(values, how)), None)
    out = list(values) if plain is None else list(plain())
    if len(out) != n:
        raise ValueError(f"{name} has {len(out)} values, {against.format(n)}")
    return out


def slice_names(name: str, values: Any, n: int, against: str = "references have {} rows") -> list[str]:
    """Return the names of the slices, numbers and others as JSON writes them."""
    given = column(name, values, n, against)
    names = [value if isinstance(value, str) else json.dumps(value, default=str) for value in given]
    kinds: dict[str, type] = {}
    for row, (shown, value) in enumerate(zip(names, given, strict=True)):
        if kinds.setdefault(shown, type(value)) is not type(value):
            raise ValueError(f"{name}: row {row} is {value!r}, which looks the same as a value of another type")
    return names
