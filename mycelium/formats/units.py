"""Converting offsets at the door: UTF-16 units and UTF-8 bytes to characters, inclusive ends to exclusive ones.

The text ``"🙂 bad"`` in the three units; the emoji takes two UTF-16 units and four bytes::

    characters   0    1    2    3    4    5
                 |🙂  |' ' |b   |a   |d   |
    utf16        0    2    3    4    5    6
    utf8         0    4    5    6    7    8

An offset between two of these places (utf16 1; utf8 1, 2, 3) lies inside a character and belongs to none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mycelium.formats.raw import Problems, Raw
from mycelium.spans import BoolArray, IntArray, InvalidCounts, SpanBatch, _offsets, check_spans

__all__ = ["convert", "exclusive_ends"]

_INT_MAX = 2**63 - 1


def exclusive_ends(raw: Raw, name: str) -> IntArray:
    """Return inclusive ends as exclusive ones.

    Raises
    ------
    ValueError
        When an end as given lies before its start: ``[5, 4]`` is reversed, not an empty span at 5.
    """
    reversed_ = np.flatnonzero(raw.end < raw.start)
    if len(reversed_):
        problems = Problems(name)
        for row, span, shown in _places(raw, reversed_):
            problems.add(row, span, shown, "reversed (the end is inclusive)", ValueError)
        problems.check()
    # The largest integer stays where it is: it is refused as an offset anyhow.
    return raw.end + (raw.end < _INT_MAX)


def convert(
    raw: Raw, texts: Sequence[str], *, unit: str, name: str, invalid: str, inclusive: bool
) -> tuple[SpanBatch, InvalidCounts]:
    """Check the spans in the unit in which they were given, and convert them to characters.

    Parameters
    ----------
    raw : Raw
        Spans of n rows, in units.
    texts : sequence of n str
        The text of each row.
    unit : {"utf16", "utf8"}
        What the offsets count.
    name : str
        The argument that messages name.
    invalid : {"raise", "drop", "clip"}
        What to do with spans past the ends of the text or with an offset inside a character; the latter are dropped by
        ``"clip"`` too.
    inclusive : bool
        Whether the end names the last unit of the span.

    Returns
    -------
    batch : SpanBatch
        Valid spans, in characters.
    counts : InvalidCounts
        What was dropped and clipped.
    """
    end = exclusive_ends(raw, name) if inclusive else raw.end
    length = np.fromiter(map(len, texts), np.int64, len(texts))
    # Where all characters are of one unit there is nothing to convert; isascii only reads a flag.
    wide = ~np.fromiter(map(str.isascii, texts), np.bool_, len(texts)) & (np.diff(raw.offsets) > 0)
    table = _Table([texts[row] for row in np.flatnonzero(wide).tolist()], unit)
    units = length.copy()
    units[wide] = table.units

    given = SpanBatch._trusted(raw.offsets, raw.start, end, raw.label, raw.score, units)
    # Raises what is invalid under "raise", and what is reversed under any policy.
    checked, counts = check_spans(given, name=name, invalid=invalid, inclusive=inclusive, unit=f"{unit} units")
    inside = table.inside(given, wide)
    if inside.any():
        if invalid == "raise":
            problems = Problems(name)
            for row, span, shown in _places(raw, np.flatnonzero(inside)):
                problems.add(row, span, shown, f"begins or ends inside a character ({unit} units)", ValueError)
            problems.check()
        # Once more without these, for the counts: a span is dropped once, a row is counted once.
        checked, counts = check_spans(
            given._keep(~inside), name=name, invalid=invalid, inclusive=inclusive, unit=f"{unit} units"
        )
        bad = inside | (given.start < 0) | (given.end <= given.start) | (given.end > np.repeat(units, given.counts))
        counts = counts._replace(rows=len(np.unique(given.row[bad])), dropped=counts.dropped + int(inside.sum()))
    start, end = table.characters(checked, wide)
    return SpanBatch._trusted(checked.offsets, start, end, checked.label, checked.score, length), counts


class _Table:
    """The place of every character of some texts, in units, all texts laid end to end."""

    def __init__(self, texts: Sequence[str], unit: str) -> None:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        widths = np.ones(len(codes), dtype=np.int8)
        for bound in (0x10000,) if unit == "utf16" else (0x80, 0x800, 0x10000):
            widths += codes >= bound
        self.begins = _offsets(widths)
        self.characters_before = _offsets(np.fromiter(map(len, texts), np.int64, len(texts)))
        self.units_before = self.begins[self.characters_before]
        self.units = np.diff(self.units_before)

    def inside(self, batch: SpanBatch, wide: BoolArray) -> BoolArray:
        """Tell which spans have an offset inside a character; offsets past either end of the text have not."""
        out = np.zeros(len(batch.start), dtype=np.bool_)
        spans, texts = self._spans(batch, wide)
        for offsets in (batch.start[spans], batch.end[spans]):
            known = (offsets >= 0) & (offsets <= self.units[texts])
            places = self.units_before[texts[known]] + offsets[known]
            hit = self.begins[np.searchsorted(self.begins, places)] == places
            out[spans[known][~hit]] = True
        return out

    def characters(self, batch: SpanBatch, wide: BoolArray) -> tuple[IntArray, IntArray]:
        """Return starts and ends in characters; every offset must be one of a character."""
        spans, texts = self._spans(batch, wide)
        converted = []
        for offsets in (batch.start, batch.end):
            out = offsets.copy()
            places = self.units_before[texts] + offsets[spans]
            out[spans] = np.searchsorted(self.begins, places) - self.characters_before[texts]
            converted.append(out)
        return converted[0], converted[1]

    @staticmethod
    def _spans(batch: SpanBatch, wide: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the spans of the wide rows, and the number of the text of each among the wide ones."""
        rows = batch.row
        spans = np.flatnonzero(wide[rows])
        return spans, (np.cumsum(wide) - 1)[rows[spans]]


def _places(raw: Raw, spans: IntArray) -> list[tuple[int, int, list[int]]]:
    """Return row, place in the row, and offsets as given, of each of the spans."""
    rows = np.searchsorted(raw.offsets, spans, side="right") - 1
    return [
        (row, span - int(raw.offsets[row]), [int(raw.start[span]), int(raw.end[span])])
        for row, span in zip(rows.tolist(), spans.tolist(), strict=True)
    ]
