"""Results in writing: JSON, and tables of strings as text, Markdown, CSV, HTML and LaTeX, and the notes below them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Collection, Sequence
from html import escape
from typing import Any

__all__ = ["FORMATS", "as_json", "render", "with_notes"]

FORMATS = ("text", "markdown", "csv", "html", "latex")


def render(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    format: str = "text",
    names: int | Collection[int] = 1,
) -> str:
    r"""Lay a table out.

    Parameters
    ----------
    header, rows : sequences of str
        The cells; every row is as long as the header.
    format : {"text", "markdown", "csv", "html", "latex"}
        The layout. LaTeX needs the package ``booktabs``; special characters of each format are escaped.
    names : int or collection of int
        The columns that hold names and stand to the left: the first so many, or those with these numbers. The others
        are numbers and stand to the right.

    Raises
    ------
    ValueError
        When there is no such format.

    Examples
    --------
    >>> print(render(["system", "score"], [["a_b", "0.5"]], format="latex"))
    \begin{tabular}{lr}
    \toprule
    system & score \\
    \midrule
    a\_b & 0.5 \\
    \bottomrule
    \end{tabular}
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {format!r}")
    left = [i < names if isinstance(names, int) else i in names for i in range(len(header))]
    if format == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        return out.getvalue().rstrip("\n")
    if format == "html":
        return _html(header, rows, left)
    if format == "latex":
        return _latex(header, rows, left)
    if format == "markdown":
        header, rows = _escaped(header), [_escaped(row) for row in rows]
    width = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
    if format == "markdown":
        width = [max(w, 3) for w in width]
    lines = [[_pad(cell, width[i], left[i]) for i, cell in enumerate(line)] for line in (header, *rows)]
    if format == "text":
        return "\n".join("  ".join(line).rstrip() for line in lines)
    rule = ["-" * w if left[i] else "-" * (w - 1) + ":" for i, w in enumerate(width)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def with_notes(table: str, notes: Sequence[str], format: str) -> str:
    """Put notes under a table: the first in words, the others (signatures) as code where the format has that.

    A note may have several lines. In LaTeX they are comments; CSV has no place for notes and is returned as it is.
    """
    if format == "csv" or not notes:
        return table
    if format == "html":
        style = "margin:.4em .7em;overflow-wrap:anywhere"
        lines = [line for note in notes for line in note.splitlines()]
        return table + "".join(f'<div style="{style}"><code>{escape(line)}</code></div>' for line in lines)
    if format == "latex":
        return "\n".join([table, *(f"% {line}" for note in notes for line in note.splitlines())])
    if format == "markdown":
        return "\n".join([table, "", notes[0], "", *(f"`{note}`" for note in notes[1:])])
    return "\n".join([table, *notes])


def _pad(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


def _escaped(cells: Sequence[str]) -> list[str]:
    # A "<" would begin a tag and vanish.
    return [re.sub(r"([\\|<])", r"\\\1", cell).replace("\n", " ") for cell in cells]


def _html(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    marked = [("th", header), *(("td", row) for row in rows)]
    cells = (
        "".join(
            f'<{tag} style="padding:.1em .7em;text-align:{"left" if left[i] else "right"}">{escape(cell)}</{tag}>'
            for i, cell in enumerate(line)
        )
        for tag, line in marked
    )
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


# -- LaTeX

#: Characters that LaTeX would read as commands, or print as others in its oldest font encoding.
_COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
_SPECIAL = re.compile("[" + re.escape("".join(_COMMANDS)) + "]")


def _latex(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    body = [_latex_row(row, left) for row in rows]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join('l' if name else 'r' for name in left)}}}",
            r"\toprule",
            _latex_row(header, left),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _latex_row(cells: Sequence[str], left: Sequence[bool]) -> str:
    shown = [_latex_cell(cell, name) for cell, name in zip(cells, left, strict=True)]
    # After the \\ of the row before, these two would be read as its arguments.
    if shown and shown[0].startswith(("[", "*")):
        shown[0] = f"{{{shown[0][0]}}}{shown[0][1:]}"
    return " & ".join(shown) + r" \\"


def _latex_cell(cell: str, name: bool) -> str:
    text = _SPECIAL.sub(lambda match: _COMMANDS[match[0]], " ".join(cell.split()))
    if not name:
        # A minus, not a hyphen.
        return re.sub(r"(?<![\w.])-(?=\d)", "$-$", text)
    # Two hyphens in a row would be joined to a dash.
    return re.sub("-(?=-)", "-{}", text)


def as_json(
    content: Any, path: str | os.PathLike[str] | None = None, *, default: Callable[[Any], Any] | None = None
) -> str:
    """Return a result as JSON, without NaN, and write it to ``path`` if given, with a line feed at the end."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False, default=default)
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")
    return text
