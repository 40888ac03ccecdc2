"""The answers as plain text: marks of the references and of the predictions under the lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mycelium.view.cells import Cell, cells, is_rtl, safe
from mycelium.view.records import read_records
from mycelium.view.verdicts import Mark

__all__ = ["text_view"]

MARKS = ("^", "~")
_QUOTED = 40
_FEW = 5
_DEEPEST = 8
_NARROWEST = 20
_COLOURS = {"^": "\x1b[34m", "~": "\x1b[33m", "bad": "\x1b[31m", "good": "\x1b[32m", "bold": "\x1b[1m"}
_PLAIN = "\x1b[0m"


class _Span(NamedTuple):
    """A mark, the sign it is drawn with, and its number among those of its side."""

    mark: Mark
    sign: str
    number: int


def text_view(
    *,
    references: Any,
    predictions: Any,
    text: Any,
    ids: Any = None,
    scores: Mapping[str, Any] | None = None,
    slices: Mapping[str, Any] | None = None,
    verdicts: Any = None,
    width: int = 80,
    color: bool = False,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
) -> str:
    """Return the answers as text, with ``^`` under reference spans, ``~`` under predicted ones, and all spans listed.

    Overlapping spans of one side get lines of their own. The number at the start of a mark is that of the list. Wide
    characters and combining marks are counted as terminals draw them. Where a text runs from right to left, terminals
    differ too much for marks; its spans are listed only.

    Parameters
    ----------
    references, predictions, text, ids, scores, slices, verdicts, invalid, missing_rows, offsets, end
        As in :func:`mycelium.view.review_page`.
    width : int, default=80
        Columns of the terminal, at least 20.
    color : bool, default=False
        Whether to colour marks and verdicts with ANSI sequences.

    Returns
    -------
    str
        The text, without a line feed at its end.

    Raises
    ------
    ValueError, TypeError
        As :func:`mycelium.view.review_page`, and when the width is below 20.

    Examples
    --------
    >>> from mycelium.view import text_view
    >>> print(text_view(references=[[[4, 9, "place"]]], predictions=[[[4, 12], [20, 24]]],
    ...                 text=["The Lyon is far from here."], scores={"iou": [0.3846]}))
    0  iou 0.385
      The Lyon is far from here.
          1^^^^
          1~~~~~~~        2~~~
      ^1 too wide  [4, 9)    place  "Lyon "
      ~1 too wide  [4, 12)          "Lyon is "
      ~2 spurious  [20, 24)         " her"
    """
    if isinstance(width, bool) or not isinstance(width, int):
        raise TypeError(f"width must be an integer, got {width!r}")
    if width < _NARROWEST:
        raise ValueError(f"width must be at least {_NARROWEST}, got {width}")
    records = read_records(
        references=references,
        predictions=predictions,
        text=text,
        ids=ids,
        scores=scores,
        slices=slices,
        verdicts=verdicts,
        invalid=invalid,
        missing_rows=missing_rows,
        offsets=offsets,
        end=end,
    )
    blocks = []
    for i in range(len(records)):
        head = [safe(records.ids[i])]
        head += [f"{safe(name)} {safe(values[i])}" for name, values in records.slices.items()]
        for name, numbers in records.scores.items():
            value = numbers[i]
            head.append(f"{safe(name)} {'-' if value is None else format(value, '.3f')}")
        spans = [
            _Span(mark, sign, number)
            for sign, marks in zip(MARKS, (records.references[i], records.predictions[i]), strict=True)
            for number, mark in enumerate(marks, 1)
        ]
        body = _drawn(records.texts[i], spans, width - 2, color)
        lines = [*_wrapped(head, width), *(f"  {line}" for line in body), *_listed(records.texts[i], spans, color)]
        lines[0] = _coloured(head[0], "bold", color) + lines[0][len(head[0]) :]
        blocks.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(blocks)


def _wrapped(parts: Sequence[str], width: int) -> list[str]:
    """Put parts into lines, none of them cut."""
    lines = [parts[0]]
    for part in parts[1:]:
        if _width(lines[-1]) + 2 + _width(part) > width:
            lines.append(f"  {part}")
        else:
            lines[-1] += f"  {part}"
    return lines


def _drawn(text: str, spans: Sequence[_Span], width: int, color: bool) -> Iterator[str]:
    shown = cells(text)
    turned = is_rtl(text)
    layers, hidden = _layers(spans)
    for begin, stop in _lines(text, shown, width):
        yield "".join(cell.shown for cell in shown[begin:stop])
        if turned:
            continue
        column, columns = 0, []
        for cell in shown[begin:stop]:
            columns.append(column)
            column += cell.width
        columns.append(column)
        for layer in layers:
            here = [span for span in layer if span.mark.start < stop and span.mark.end > begin]
            if here:
                yield _coloured(_marked(here, begin, stop, columns), here[0].sign, color)
    if hidden and not turned:
        yield f"({hidden} spans in deeper layers are listed, not marked)"
    if turned and spans:
        yield "(the text runs from right to left: its spans are listed, not marked)"


def _layers(spans: Sequence[_Span]) -> tuple[list[list[_Span]], int]:
    """Put spans into layers of one side whose spans do not overlap, and count those that would lie too deep.

    The longest of the spans that start together comes first.
    """
    layers: list[list[_Span]] = []
    hidden = 0
    for sign in MARKS:
        side = sorted((span for span in spans if span.sign == sign), key=lambda span: (span.mark.start, -span.mark.end))
        of_side: list[list[_Span]] = []
        for span in side:
            layer = next((layer for layer in of_side if layer[-1].mark.end <= span.mark.start), None)
            if layer is not None:
                layer.append(span)
            elif len(of_side) < _DEEPEST:
                of_side.append([span])
            else:
                hidden += 1
        layers += of_side
    return layers, hidden


def _lines(text: str, shown: Sequence[Cell], width: int) -> Iterator[tuple[int, int]]:
    """Cut a text into lines: after line breaks, else after the last space that leaves the line narrow enough."""
    begin = at = 0
    used, space = 0, None
    while at < len(text):
        if used + shown[at].width > width and at > begin:
            # A mark without a width stays with the character before it.
            stop = at if space is None else space
            yield begin, stop
            begin, space = stop, None
            used = sum(cell.width for cell in shown[begin:at])
            continue
        used += shown[at].width
        at += 1
        if text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n"):
            yield begin, at
            begin, used, space = at, 0, None
        elif text[at - 1] in " \t\u3000":
            space = at
    if begin < len(text) or not text:
        yield begin, len(text)


def _marked(spans: Sequence[_Span], begin: int, stop: int, columns: Sequence[int]) -> str:
    line = [" "] * (columns[-1] + 1)
    for span in spans:
        first = columns[max(span.mark.start, begin) - begin]
        last = columns[min(span.mark.end, stop) - begin]
        if last <= first:
            # Only combining marks: they stand in the cell of the character before them.
            first = max(0, first - 1)
            last = first + 1
        line[first:last] = span.sign * (last - first)
        name = str(span.number)
        if span.mark.start >= begin and len(name) <= last - first:
            line[first : first + len(name)] = name
    return "".join(line).rstrip()


def _listed(text: str, spans: Sequence[_Span], color: bool) -> Iterator[str]:
    if not spans:
        yield "  (no span on either side)"
        return
    names = [f"{span.sign}{span.number}" for span in spans]
    words = [safe(span.mark.verdict) for span in spans]
    places = [f"[{span.mark.start}, {span.mark.end})" for span in spans]
    types = [safe(span.mark.type or "") for span in spans]
    pads = [max(map(_width, column)) for column in (names, words, places, types)]
    for span, *cells_of in zip(spans, names, words, places, types, strict=True):
        kind = "good" if span.mark.verdict == "exact" else "bad" if span.mark.verdict in ("missed", "spurious") else ""
        name, word, place, label = (cell + " " * (pad - _width(cell)) for cell, pad in zip(cells_of, pads, strict=True))
        quote = _quoted(text[span.mark.start : span.mark.end])
        label = f"{label}  " if pads[3] else ""
        yield f'  {_coloured(name, span.sign, color)} {_coloured(word, kind, color)}  {place}  {label}"{quote}"'


def _quoted(text: str) -> str:
    """Return the first characters; those that cannot stand alone go by their numbers."""
    if not _width(text[:_QUOTED]):
        return " ".join(f"U+{ord(character):04X}" for character in text[:_FEW]) + (" ..." if len(text) > _FEW else "")
    return safe(text) if len(text) <= _QUOTED else safe(text[: _QUOTED - 3]) + "..."


def _width(text: str) -> int:
    return sum(cell.width for cell in cells(text))


def _coloured(text: str, name: str, color: bool) -> str:
    return f"{_COLOURS[name]}{text}{_PLAIN}" if color and name in _COLOURS else text
