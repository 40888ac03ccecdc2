"""How much room text and rows take: the only arithmetic of the pictures. Lengths are in inches, fonts in points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

__all__ = [
    "MINUS",
    "after_layout",
    "axes_width",
    "cap_area",
    "caption_in",
    "columns_in",
    "figure_height",
    "fitting",
    "label_room",
    "marker_size",
    "rank_ticks",
    "text_width",
    "ticks_in",
    "wrap",
]

#: Points to the inch.
POINTS = 72
#: Width of a column of text and height of a line, in units of the font's size (DejaVu Sans, the default, is wide).
COLUMN, LINE = 0.58, 1.3
#: The share of a picture's width that names of rows may take.
NAMES = 0.45
#: Least height of a row, and what is above and below all rows: a header, the numbers of the axis, its label's distance.
ROW, AROUND = 0.27, 0.75
#: What stands between text and axes, or text and the border.
GAP = 0.18
#: What stands between the two sides of a difference.
MINUS = " \N{MINUS SIGN} "
#: Where a line may be broken: after white space and after the joints of names.
PIECE = re.compile(r"[^\s\-_/.:,+]*[\s\-_/.:,+]+|[^\s\-_/.:,+]+")


def _columns(text: str) -> int:
    """Return how many columns a text takes: 2 for each wide East Asian character, none for combining marks."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def wrap(text: str, columns: int) -> str:
    """Break a text into the fewest lines of at most so many columns, all about as long as each other.

    Lines are broken between words or parts of names; within those only where one is longer than a line. A difference
    that does not fit into one line is broken after its minus sign.

    Examples
    --------
    >>> print(wrap("lab/deberta-v3-large-spans", 20))
    lab/deberta-
    v3-large-spans
    """
    first, minus, second = text.partition(MINUS)
    if minus and _columns(text) > columns:
        return wrap(first + minus.rstrip(), columns) + "\n" + wrap(second, columns)
    lines = _filled(text, columns)
    fewest = len(lines)
    while fewest > 1 and columns > 1:
        columns = max(map(_columns, lines)) - 1
        narrower = _filled(text, columns)
        if len(narrower) > fewest or max(map(_columns, narrower)) > columns:
            break
        lines = narrower
    return "\n".join(lines)


def _filled(text: str, columns: int) -> list[str]:
    lines, line = [], ""
    for piece in PIECE.findall(" ".join(text.split())):
        if line and _columns(line + piece.rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while _columns(line.rstrip()) > columns and len(line) > 1:  # a part that is longer than a line
            cut = next(i for i in range(len(line) - 1, 0, -1) if i == 1 or _columns(line[:i]) <= columns)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def columns_in(inches: float, font: float) -> int:
    """Return how many columns of text fit, at least 10."""
    return max(10, int(inches * POINTS / (font * COLUMN)))


def text_width(texts: Sequence[str], font: float) -> float:
    """Return the width of the widest line."""
    return max((_columns(line) for text in texts for line in text.split("\n")), default=0) * font * COLUMN / POINTS


def label_room(width: float, margin: float | None) -> float:
    """Return the width that names may take, given that of the picture and, where it is fixed, of the margin."""
    return width * NAMES if margin is None else min(width * NAMES, margin - GAP)


def axes_width(width: float, labels: Sequence[str], beside: Sequence[str], font: float) -> float:
    """Return what is left of a picture's width between (wrapped) names and what is written beside the axes."""
    return width - text_width(labels, font) - text_width(beside, font) - 2 * GAP


def caption_in(
    width: float, parts: Sequence[str], labels: Sequence[str], beside: Sequence[str], font: float, label_font: float
) -> tuple[str, Literal["center", "right"]]:
    """Return the caption below axes and where it stands: "center", or "right" where it needs the room below names.

    Parameters
    ----------
    width : float
        That of the axes, their names and what is written beside them.
    parts : sequence of str
        Each begins a line.
    labels, beside : sequences of str
        The names, already wrapped, and what is written to the right of the axes.
    font, label_font : float
        Those of the caption, and of labels and what is beside.
    """
    left, right = text_width(labels, label_font) + GAP, text_width(beside, label_font) + GAP
    room = columns_in(axes_width(width, labels, beside, label_font) + 2 * min(left, right), font)
    lines = [wrap(part, room) for part in parts]
    if not any("\n" in line for line in lines):
        return "\n".join(lines), "center"
    room = columns_in(width - right, font)
    return "\n".join(wrap(part, room) for part in parts), "right"


def figure_height(labels: Sequence[str], font: float, caption: str, caption_font: float) -> float:
    """Return the height of a figure for rows with (wrapped) labels and a caption below."""
    row = max(ROW, _tallest(labels) * font * LINE / POINTS + 0.06)
    return len(labels) * row + AROUND + (caption.count("\n") + 1) * caption_font * LINE / POINTS


def fitting(labels: Sequence[str], font: float, room: float, height: float) -> tuple[list[str], float]:
    """Return the names, wrapped, and the largest font up to the given one with which they fit into a height."""
    while True:
        names = [wrap(label, columns_in(room, font)) for label in labels]
        needed = len(names) * _tallest(names) * font * LINE / POINTS
        if needed <= height:
            return names, font
        font *= max(height / needed, 0.95)


def ticks_in(inches: float, columns: int, font: float) -> int:
    """Return how many numbers of so many columns may stand along an axis, at least 2."""
    return max(2, int(inches * POINTS / (font * (columns * COLUMN + 1))))


def rank_ticks(last: int, most: int) -> list[int]:
    """Return ranks to be written along an axis, the first among them, and about so many at most.

    Examples
    --------
    >>> rank_ticks(5, 10), rank_ticks(14, 10), rank_ticks(40, 10)
    ([1, 2, 3, 4, 5], [1, 3, 5, 7, 9, 11, 13], [1, 5, 10, 15, 20, 25, 30, 35, 40])
    """
    step = next(
        step for zeros in range(20) for step in (10**zeros, 2 * 10**zeros, 5 * 10**zeros) if last <= step * most
    )
    return list(range(1, last + 1, step)) if step < 3 else [1, *range(step, last + 1, step)]


def after_layout(width: float, height: float, caption: int, font: float) -> tuple[float, float]:
    """Return about what a layout engine will make of axes, given their size before it has run.

    Returns
    -------
    float
        The width of the axes and their names.
    float
        The height of the axes, above a caption of so many lines.
    """
    below = 0.45 + caption * font * LINE / POINTS
    return width * 1.15, max(height * 0.3, min(height, height * 1.2 - below))


def marker_size(font: float) -> float:
    """Return the size of markers that goes with names in a font."""
    return min(5.5, font * 0.6)


def cap_area(size: float) -> float:
    """Return the area of the caps of intervals that goes with markers of a size."""
    return (size * 1.1) ** 2


def _tallest(labels: Sequence[str]) -> int:
    return max(label.count("\n") + 1 for label in labels)
