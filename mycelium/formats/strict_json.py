"""JSON, read strictly: a key given twice in one object is an error, and errors carry their place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

__all__ = ["DECODER", "decode_cells", "items", "kind", "line_of", "reason", "space"]

_SPACE = re.compile(r"[ \t\r\n]*")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(names) if key in names[:i])
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return record


#: Raises ValueError for what is not JSON and for a key given twice, RecursionError for absurd nesting.
DECODER = json.JSONDecoder(object_pairs_hook=_object)


def reason(error: Exception) -> str:
    """Say in one line why something could not be decoded."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} (byte {error.start + 1})"
    if isinstance(error, RecursionError):
        return "not JSON that can be read: nested too deeply"
    return str(error)


def line_of(error: Exception, line: int = 1) -> int:
    """Return the line of a syntax error, and `line` for an error that does not know its own."""
    return error.lineno if isinstance(error, json.JSONDecodeError) else line


def kind(value: Any) -> str:
    """Name the JSON type of a value, with its article."""
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null", dict: "an object"}
    return names.get(type(value), "a number")


def space(text: str, position: int) -> int:
    """Return the position of the first character from `position` on that is not JSON white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def items(path: str, text: str, position: int) -> Iterator[tuple[int, Any]]:
    """Yield the items of the array whose ``[`` stands before `position`, each with the line on which it begins."""
    line, counted = 1, 0
    position = space(text, position)
    more = text[position : position + 1] != "]"
    try:
        while more:
            line, counted = line + text.count("\n", counted, position), position
            item, position = DECODER.raw_decode(text, position)
            yield line, item
            position = space(text, position)
            more = text[position : position + 1] == ","
            if more:
                position = space(text, position + 1)
            elif text[position : position + 1] != "]":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        position = space(text, position + 1)
        if position != len(text):
            raise json.JSONDecodeError("Extra data", text, position)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}:{line_of(error, line)}: {reason(error)}") from None


def decode_cells(column: Any, name: str, where: Callable[[int], str], *, blank_is_none: bool = False) -> Sequence[Any]:
    """Decode the strings of a column, or of the lists in an Arrow column; a column without strings is returned as is.

    Raises
    ------
    ValueError
        When a string is not JSON: ``where(row)``, the name of the column and the reason.
    """
    cells: Any = column
    nested = hasattr(column, "to_pylist")
    if nested:
        kind = _storage(column.type)
        if not _is_text(kind) and not _is_text(_storage(getattr(kind, "value_type", kind))):
            return cast(Sequence[Any], column)
        cells = column.to_pylist()
    elif str not in set(map(type, column)):
        return cast(Sequence[Any], column)
    out: list[Any] = []
    try:
        for cell in cells:
            if blank_is_none and cell == "":
                out.append(None)
            elif nested and type(cell) is list:
                out.append([_decode(one) for one in cell])
            else:
                out.append(_decode(cell))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where(len(out))}: column {name!r}: {reason(error)}") from None
    return out


def _decode(cell: Any) -> Any:
    if type(cell) is bytes:
        cell = cell.decode("utf-8")
    return DECODER.decode(cell) if type(cell) is str else cell


def _storage(kind: Any) -> Any:
    # Of an extension type, such as Arrow's JSON, what it is made of.
    return getattr(kind, "storage_type", kind)


def _is_text(kind: Any) -> bool:
    # A pyarrow that does not know the JSON type of a file reads it as bytes.
    return str(kind) in ("string", "large_string", "string_view", "binary", "large_binary")
