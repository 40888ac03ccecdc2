"""The page: one file for the browser, with its script, its style and its data inside."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from mycelium.view.records import Records, read_records
from mycelium.view.verdicts import Mark

__all__ = ["Page", "review_page"]

_FOLDER = Path(__file__).parent
_SCRIPTS = ("choice.js", "drawing.js", "page.js")
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """A page of HTML that needs nothing but itself.

    Attributes
    ----------
    html : str
        The whole document. It loads nothing, and its content policy forbids it to.
    """

    html: str

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, as UTF-8."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} characters)"

    def _repr_html_(self) -> str:
        # Without allow-same-origin: what stands in the page cannot reach the notebook.
        return (
            '<iframe sandbox="allow-scripts" title="Review of spans" style="width:100%;height:720px;border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def review_page(
    *,
    references: Any,
    predictions: Any,
    text: Any,
    ids: Any = None,
    scores: Mapping[str, Any] | None = None,
    slices: Mapping[str, Any] | None = None,
    verdicts: Any = None,
    title: str | None = None,
    signature: str | None = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
) -> Page:
    """Show each answer with the reference spans above its text and the predicted ones below it.

    Parameters
    ----------
    references, predictions : batches of span sets
        Whatever :func:`mycelium.as_spans` reads, n rows each; row i of both belongs to answer i. Labels are the types.
    text : sequence of str
        The n answers; bounds are checked against them.
    ids : sequence of length n, optional
        What the answers are called; default: their row, counted from 0.
    scores : mapping of str to sequence of float, optional
        For each score the n values, by which the answers can be sorted. None and NaN stand for none.
    slices : mapping of str to sequence, optional
        For each column the n values, by which the answers can be filtered.
    verdicts : pair of n lists of str, optional
        For the references and for the predictions one word for each span, in the order of the spans that are left
        when ``invalid`` was applied. Default: the ten of :func:`mycelium.errors.judge`; types count where every span
        has one.
    title : str, optional
        The heading.
    signature : str, optional
        The conventions behind the scores; stands at the foot of the page.
    invalid, missing_rows, offsets, end
        As in :func:`mycelium.evaluate`.

    Returns
    -------
    Page
        With ``html``, ``write(path)``, and a view in notebooks.

    Raises
    ------
    ValueError, TypeError
        When something cannot be read, with the argument, the row and the reason.

    Examples
    --------
    >>> from mycelium.view import review_page
    >>> page = review_page(references=[[[0, 5, "place"]]], predictions=[[[3, 8, "place"]]], text=["Paris is big."])
    >>> page.html.startswith("<!doctype html>"), "place" in page.html
    (True, True)
    """
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
    style, script = _asset("page.css"), _script()
    parts = {
        "title": escape(_whole(title or "Review of spans")),
        "signature": escape(_whole(signature or "")),
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'",
        "style": style,
        "data": _json(_data(records)),
        "script": script,
    }
    # One pass: what stands in a part is never taken for a place of another.
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html")))


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _script() -> str:
    """Return the scripts as one, in a scope of its own."""
    return "\n".join(['"use strict";', "(() => {", *map(_asset, _SCRIPTS), "})();"])


def _digest(script: str) -> str:
    """Return what the content policy calls the one script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _whole(text: str) -> str:
    """Return the text with half surrogate pairs, which no file can hold, as replacement characters, one for one."""
    return _LONE.sub("\ufffd", text)


def _data(records: Records) -> dict[str, Any]:
    types, verdicts = records.types(), records.verdicts()
    type_number: dict[str | None, int] = {name: i for i, name in enumerate(types)}
    verdict_number = {name: i for i, name in enumerate(verdicts)}
    columns = {name: sorted(set(values)) for name, values in records.slices.items()}
    places = {name: {value: i for i, value in enumerate(values)} for name, values in columns.items()}

    def flat(marks: list[Mark]) -> list[int]:
        return [
            number
            for mark in marks
            for number in (mark.start, mark.end, type_number.get(mark.type, -1), verdict_number[mark.verdict])
        ]

    return {
        "types": types,
        "verdicts": verdicts,
        "scores": list(records.scores),
        "slices": [{"name": name, "values": values} for name, values in columns.items()],
        "rows": [
            [
                records.ids[i],
                records.texts[i],
                flat(records.references[i]),
                flat(records.predictions[i]),
                [values[i] for values in records.scores.values()],
                [places[name][values[i]] for name, values in records.slices.items()],
            ]
            for i in range(len(records))
        ],
    }


def _json(data: Any) -> str:
    """Return JSON that can stand in a script element: nothing in it ends the element or opens a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _whole(text)
