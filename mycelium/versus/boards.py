"""Leaderboard: the dict that ``leaderboard`` returns, and how it is laid out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from mycelium.tables import FORMATS, as_json, render, with_notes

__all__ = ["Leaderboard"]

_CORRECTIONS = {
    "holm": "Holm's correction within each board",
    "bh": "Benjamini and Hochberg's correction within each board",
    "none": "no correction for the number of pairs",
}


class Leaderboard(dict[str, Any]):
    """Systems in order: a plain dict of plain values, and what one must know of them.

    ``overall`` is a list of rows, best first, and ``slices`` has such a list for each slice; a row has ``rank``,
    ``system``, ``score``, ``interval`` ([low, high]), ``ranks`` ([best, worst]) and ``group``. ``refused`` lists
    ``{"system", "slice", "reason"}`` and ``missing`` ``{"system", "slice"}``; the slice is None where there are none.
    ``meta`` holds the settings and the sizes of the boards.

    Attributes
    ----------
    signature : str
        The conventions in one line, to be quoted with the ranks.

    Examples
    --------
    >>> from mycelium.versus.leaderboard import leaderboard
    >>> gold = [[[i, i + 10]] for i in range(40)]
    >>> board = leaderboard(gold, {"exact": gold, "near": [[[i, i + 8]] for i in range(40)]}, n_resamples=999)
    >>> print(board.to_table())
    rank  system     iou  95% interval      ranks  group
       1  exact   1.0000  [1.0000, 1.0000]  1      a
       2  near    0.8000  [0.8000, 0.8000]  2      b
    <BLANKLINE>
    40 examples, macro average; intervals: percentile bootstrap of 40 examples;
    ranks and groups: paired permutation tests at 0.05, Holm's correction within each board; 999 resamples, seed 0
    mycelium|v:0.1.0|avg:macro|undef:default|unit:char|invalid:raise|tol:0|iou|rank:permutation|adjust:holm|level:0.95\
|resamples:999|seed:0|units:40 examples
    """

    signature: str

    def __init__(self, values: Mapping[str, Any] = (), /) -> None:  # type: ignore[assignment]
        super().__init__(values)
        self.signature = ""

    def to_table(self, format: str = "text", slice: Any = None, *, slices: bool = True, digits: int = 4) -> str:
        """Return the boards as tables.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. CSV is one table with a line for each system and slice, refused and missing ones included, and
            holds all digits. LaTeX needs the package ``booktabs``; what is not a table stands there as a comment.
        slice : optional
            The board of this slice alone.
        slices : bool
            Whether the boards of the slices follow the overall board.
        digits : int
            Decimals.

        Raises
        ------
        ValueError
            When there is no such format or slice.
        """
        if format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {format!r}")
        if slice is not None and str(slice) not in self["slices"]:
            known = ", ".join(map(repr, self["slices"])) or "none"
            raise ValueError(f"there is no slice {slice!r}; there are {known}")
        wanted: list[str | None] = [None] if slice is None else [str(slice)]
        if slice is None and slices:
            wanted += list(self["slices"])
        if format == "csv":
            return self._csv(wanted)
        parts = [self._board(name, format, digits) for name in wanted]
        every = slice is None
        refused = [record for record in self["refused"] if every or record["slice"] == str(slice)]
        missing = [record for record in self["missing"] if every or record["slice"] == str(slice)]
        parts += _list(f"Refused: {len(refused)}", [_refusal(record) for record in refused], format)
        parts += _list(f"Not submitted: {len(missing)}", self._absent(missing), format)
        lenient = [f"{name}: {_counts(counts)}" for name, counts in self["meta"]["leniency"].items()]
        parts += _list("Leniency", lenient, format)
        gap = "" if format == "html" else "\n\n"
        return with_notes(
            gap.join(parts) + ("\n" if format == "text" else ""), [self._notes(slice), self.signature], format
        )

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return ``{"leaderboard": ..., "signature": ...}`` as JSON and write it to ``path`` if given."""
        return as_json({"leaderboard": self, "signature": self.signature}, path)

    def _repr_html_(self) -> str:
        return self.to_table("html")

    # -- parts

    @property
    def _label(self) -> str:
        output = self["meta"]["output"]
        return str(self["meta"]["metric"]) + ("" if output == "score" else f" {'F1' if output == 'f1' else output}")

    def _board(self, name: str | None, format: str, digits: int) -> str:
        meta = self["meta"]
        rows = self["overall"] if name is None else self["slices"][name]
        number = len(self["slices"])
        if name is not None:
            about = meta["slices"][name]
            title = f"{name}: {_sizes(about['examples'], about['units'], meta['unit'])}"
        else:
            title = f"Overall: mean of {number} slice{'s' * (number != 1)}" if number else ""
        if not rows:
            nobody = "no system was scored here" if name is not None else f"no system was scored in all {number} slices"
            return _titled(f"{title}; {nobody}" if title else nobody, "", format)
        header = ["rank", "system", self._label, f"{100 * meta['level']:g}% interval", "ranks", "group"]
        body = [
            [
                str(row["rank"]),
                row["system"],
                f"{row['score']:.{digits}f}",
                f"[{row['interval'][0]:.{digits}f}, {row['interval'][1]:.{digits}f}]",
                _range(row["ranks"]),
                row["group"],
            ]
            for row in rows
        ]
        return _titled(title, render(header, body, format=format, names=(1, 3, 4, 5)), format)

    def _absent(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        slices: dict[str, list[str]] = {}
        for record in records:
            slices.setdefault(record["system"], []).extend([] if record["slice"] is None else [record["slice"]])
        number = len(self["slices"])
        return [
            name + (f": {', '.join(absent)} ({len(absent)} of {number})" if absent else "")
            for name, absent in slices.items()
        ]

    def _notes(self, slice: Any) -> str:
        meta = self["meta"]
        about = meta if slice is None else meta["slices"][str(slice)]
        seed = "a generator" if meta["seed"] is None else meta["seed"]
        units = _plural(about["units"], meta["unit"])
        return (
            f"{_plural(about['examples'], 'example')}, {meta['average']} average;"
            f" intervals: percentile bootstrap of {units};\n"
            f"ranks and groups: paired permutation tests at {meta['alpha']:g}, {_CORRECTIONS[meta['correction']]};"
            f" {meta['n_resamples']:,} resamples, seed {seed}"
        )

    def _csv(self, wanted: Sequence[str | None]) -> str:
        header = ["slice", "status", "rank", "system", "score", "low", "high", "best_rank", "worst_rank", "group"]
        out = []
        for name in wanted:
            for row in self["overall"] if name is None else self["slices"][name]:
                numbers = [row["score"], *row["interval"], *row["ranks"]]
                status = "scored"
                out.append([name or "", status, str(row["rank"]), row["system"], *map(repr, numbers), row["group"], ""])
        for status, key in (("refused", "refused"), ("not submitted", "missing")):
            for record in self[key]:
                if record["slice"] in wanted:
                    blanks = [""] * 6
                    reason = record.get("reason", "")
                    out.append([record["slice"] or "", status, "", record["system"], *blanks, reason])
        return render([*header, "reason", "signature"], [[*row, self.signature] for row in out], format="csv")


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _sizes(examples: int, units: int, unit: str) -> str:
    return _plural(examples, "example") + ("" if unit == "example" else f" in {_plural(units, unit)}")


def _range(ranks: Sequence[int]) -> str:
    low, high = ranks
    return f"{low}" if low == high else f"{low}-{high}"


def _refusal(record: Mapping[str, Any]) -> str:
    place = "" if record["slice"] is None else f", {record['slice']}"
    return f"{record['system']}{place}: {record['reason']}"


def _counts(counts: Mapping[str, int]) -> str:
    words = {
        "rows": "rows with invalid spans",
        "dropped": "spans left out",
        "clipped": "spans cut",
        "missing": "rows without a prediction counted as nothing found",
    }
    return ", ".join(f"{counts[key]:,} {text}" for key, text in words.items() if counts[key])


def _titled(title: str, table: str, format: str) -> str:
    if not title:
        return table
    if format == "html":
        return f'<div style="margin:.8em .7em .2em"><strong>{escape(title)}</strong></div>{table}'
    if format == "latex":
        title = f"% {' '.join(title.split())}"
    elif format == "markdown":
        title = f"**{_plain(title)}**"
    between = "\n\n" if format == "markdown" else "\n"
    return between.join([title, table]) if table else title


def _list(title: str, items: Sequence[str], format: str) -> list[str]:
    """Return a titled list, or nothing where it is empty."""
    if not items:
        return []
    items = [" ".join(item.split()) for item in items]
    if format == "html":
        style = "margin:.2em .7em;overflow-wrap:anywhere"
        return [
            _titled(title, f'<ul style="{style}">' + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>", format)
        ]
    if format == "markdown":
        return [_titled(title, "\n".join(f"- {_plain(item)}" for item in items), format)]
    sign = "%  " if format == "latex" else " "
    return [_titled(title, "\n".join(f"{sign} {item}" for item in items), format)]


def _plain(text: str) -> str:
    """Escape what Markdown would read as its own."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
