"""How many cells of a terminal each character of a text takes, and what is printed for it."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

__all__ = ["Cell", "cells", "is_rtl", "safe"]

_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_SKIN = range(0x1F3FB, 0x1F400)
#: Vowels and final consonants of Hangul that stand in the cell of the consonant before them.
_JAMO = range(0x1160, 0x1200)
_LINE_BREAKS = "\n\r"


class Cell(NamedTuple):
    """What is printed for one character, and the cells that it takes: 0, 1 or 2."""

    shown: str
    width: int


def cells(text: str) -> list[Cell]:
    r"""Return a cell for each character (code point) of a text.

    East Asian wide characters and emoji take two cells, combining marks none; what follows a joiner stands in the
    cell of what precedes it. Tabs and line breaks are shown as signs, other control characters by their pictures:
    nothing in a text can steer the terminal.

    Examples
    --------
    >>> [cell.width for cell in cells("a東e\u0301")]
    [1, 2, 1, 0]
    >>> "".join(cell.shown for cell in cells("a\tb\x1b[31m"))
    'a⇥b␛[31m'
    """
    out: list[Cell] = []
    joined = False
    for character in text:
        cell = _cell(character)
        if joined or (ord(character) in _SKIN and out and out[-1].width == 2):
            cell = Cell(cell.shown, 0)
        elif character == _EMOJI_STYLE and out and out[-1].width == 1:
            # The sign before it is drawn as an emoji, two cells wide; the second is counted here.
            cell = Cell(cell.shown, 1)
        joined = character == _JOINER
        out.append(cell)
    return out


def safe(text: str) -> str:
    """Return a text for one line of a terminal: nothing in it breaks the line or steers the terminal."""
    return "".join(cell.shown for cell in cells(text))


def is_rtl(text: str) -> bool:
    """Tell whether a text holds characters that run from right to left."""
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)


def _cell(character: str) -> Cell:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return Cell(character, 1)
    if character in _LINE_BREAKS:
        return Cell("↵", 1)
    if character == "\t":
        return Cell("⇥", 1)
    if code < 0x20:
        return Cell(chr(0x2400 + code), 1)
    if code == 0x7F:
        return Cell("␡", 1)
    category = unicodedata.category(character)
    # Among the format characters, those that turn the direction of a line would move the marks beneath it.
    if category in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(character) in _TURNS:
        return Cell("·", 1)
    if category == "Cs":
        return Cell("\ufffd", 1)
    if category in ("Mn", "Me") or (category == "Cf" and code != 0xAD) or code in _JAMO:
        return Cell(character, 0)
    return Cell(character, 2 if unicodedata.east_asian_width(character) in "WF" else 1)


_TURNS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
