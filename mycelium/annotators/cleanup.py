"""Cleaning rules that benchmarks apply to the marks of annotators before they make labels of them."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence

import numpy as np

from mycelium.annotators.corpus import Annotations
from mycelium.formats.texts import text_lengths
from mycelium.spans import BoolArray, SpanBatch, _offsets

__all__ = ["CLEANUPS", "cleaned"]

CLEANUPS = ("mu_shroom",)


def cleaned(annotations: Annotations, cleanup: str | None) -> Annotations:
    """Return the annotations after a benchmark's cleaning.

    ``"mu_shroom"`` is what the organisers of Mu-SHROOM did before they counted shares. Call punctuation and white space
    *filling* (ASCII ``string.punctuation`` and ``string.whitespace``, and the Unicode categories P* and Z*). The spans
    of one mark are taken in the order given:

    1. the start moves right past filling, and the end past the filling that follows it; spans that became empty go;
    2. a span that begins exactly where the one before it ends is joined to it. Joins are of two: a span that was
       joined takes no third, which begins a span of its own;
    3. filling at the right edge of each span is cut off.

    Parameters
    ----------
    annotations : Annotations
        With texts.
    cleanup : {None, "mu_shroom"}
        None changes nothing.

    Returns
    -------
    Annotations

    Raises
    ------
    ValueError
        When the rule is unknown, or there are no texts.

    References
    ----------
    Vázquez et al. (2025). SemEval-2025 Task 3: Mu-SHROOM. The rule is what gives the published soft and hard labels of
    all 1,902 test items in 14 languages.

    Examples
    --------
    >>> from mycelium.annotators import as_annotations, cleaned
    >>> notes = as_annotations([{"ann": [[3, 7], [8, 12]], "bo": [[11, 13]]}], text=["It, is, bad. "])
    >>> cleaned(notes, "mu_shroom").marks.tolist()
    [[[4, 11]], []]
    """
    if cleanup is None:
        return annotations
    if cleanup not in CLEANUPS:
        raise ValueError(f"cleanup must be None or one of {', '.join(map(repr, CLEANUPS))}, got {cleanup!r}")
    if annotations.texts is None:
        raise ValueError(f"cleanup={cleanup!r} looks at the characters: give text with the annotations")
    return annotations.with_marks(_mu_shroom(annotations, annotations.texts))


def _mu_shroom(notes: Annotations, texts: Sequence[str]) -> SpanBatch:
    marks = notes.marks
    filling = _filling(texts)
    # All texts on one line: the next position from each that is not filling, and the one after the last before it.
    place = np.arange(len(filling) + 1)
    following = np.append(np.where(filling, len(filling), place[:-1]), len(filling))
    following = np.minimum.accumulate(following[::-1])[::-1]
    preceding = np.maximum.accumulate(np.append(0, np.where(filling, 0, place[1:])))
    stops = _offsets(text_lengths(texts))
    item = np.repeat(notes.item, marks.counts)
    base, stop = stops[:-1][item], stops[1:][item]
    # A start that runs on into the next text passes the end, and nothing is left.
    start = following[marks.start + base]
    end = np.minimum(following[marks.end + base], stop)
    kept = np.flatnonzero(start < end)
    start, end, base, row = start[kept], end[kept], base[kept], marks.row[kept]
    linked = np.zeros(len(start), dtype=bool)
    linked[1:] = (row[1:] == row[:-1]) & (start[1:] == end[:-1])
    # In a chain of linked spans every second one is joined to the one before it.
    number = np.arange(len(start))
    first = np.maximum.accumulate(np.where(linked, 0, number)) if len(start) else number
    joined = (number - first) % 2 == 1
    opens = np.flatnonzero(~joined)
    closes = np.append(opens[1:], len(start))[: len(opens)] - 1
    offsets = _offsets(np.bincount(row[opens], minlength=len(marks)))
    return SpanBatch._trusted(
        offsets, start[opens] - base[opens], preceding[end[closes]] - base[opens], None, None, marks.length
    )


def _filling(texts: Sequence[str]) -> BoolArray:
    """Tell for each character of the texts, one after the other, whether it is punctuation or white space."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    kinds, index = np.unique(codes, return_inverse=True)
    ascii_filling = string.punctuation + string.whitespace
    flags = [chr(code) in ascii_filling or unicodedata.category(chr(code))[0] in "PZ" for code in kinds.tolist()]
    return np.asarray(np.array(flags, dtype=bool)[index.reshape(-1)])
