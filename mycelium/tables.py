"""Tables of strings as text, Markdown, CSV and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape

__all__ = ["FORMATS", "render"]

FORMATS = ("text", "markdown", "csv", "html")


def render(header: Sequence[str], rows: Sequence[Sequence[str]], *, format: str = "text", names: int = 1) -> str:
    """Lay a table out; the first ``names`` columns are names and stand to the left, the others are numbers.

    Raises
    ------
    ValueError
        When there is no such format.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {format!r}")
    if format == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        return out.getvalue().rstrip("\n")
    if format == "html":
        marked = [("th", header), *(("td", row) for row in rows)]
        cells = (
            "".join(
                f'<{tag} style="padding:.1em .7em;text-align:{"left" if i < names else "right"}">{escape(cell)}</{tag}>'
                for i, cell in enumerate(line)
            )
            for tag, line in marked
        )
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"
    if format == "markdown":
        header, rows = _escaped(header), [_escaped(row) for row in rows]
    width = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    if format == "markdown":
        width = [max(w, 3) for w in width]
    lines = [[_pad(cell, width[i], i < names) for i, cell in enumerate(line)] for line in (header, *rows)]
    if format == "text":
        return "\n".join("  ".join(line).rstrip() for line in lines)
    rule = ["-" * w if i < names else "-" * (w - 1) + ":" for i, w in enumerate(width)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def _pad(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def _escaped(cells: Sequence[str]) -> list[str]:
    return [cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells]
