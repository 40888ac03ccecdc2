"""Spans from decisions per token: flags, and the tags of the BIO family."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelium.formats.mapping import Mapping, read_mapping
from mycelium.formats.ragged import flat_values, read_flags
from mycelium.formats.raw import Problems, as_labels, types_of
from mycelium.spans import BoolArray, IntArray, SpanBatch, _offsets

__all__ = ["spans_from_tags", "spans_from_tokens"]

#: The label of tokens that are to be left out, as torch's cross-entropy and the Trainer know it.
IGNORED = -100

_SPACES = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)


def spans_from_tokens(offsets: Any, flags: Any, text: Any = None, bridge: bool = True) -> SpanBatch:
    """Make spans of the characters under flagged tokens.

    A character is flagged when any of the tokens that cover it is. Flagged characters that touch are one span,
    so the pieces of one character are one. Over what no token covers, spans are joined only if `bridge` allows it::

        text      T h e   b a d   f a c t .
        tokens    [0,3)   [4,7)   [8,12)  [12,13)
        flags       0       1       1       0
        spans             [4,          12)             with text; [4, 7) and [8, 12) without

    Parameters
    ----------
    offsets : sequence of n rows
        For each token its ``(start, end)`` in characters, as tokenizers return it (``offset_mapping``). Tokens of width
        zero, ``(0, 0)`` above all, are special: they cover nothing and never break a run. None stands for a token
        outside the text (of the prompt, say); it makes no span and breaks no run either.
    flags : sequence of n rows
        For each token True or 1, False or 0, or -100 for one to be ignored as if its offsets were None.
    text : sequence of n str, optional
        The texts; needed for bridging.
    bridge : bool, default=True
        Join the spans on both sides of a gap that holds white space only and that no token covers, flagged or not.
        Without `text` nothing is known about gaps, and none is bridged.

    Returns
    -------
    SpanBatch
        Sorted and disjoint spans, with the lengths of the texts where these are given. White space that belongs to a
        token (``" Paris"``) stays in its span.

    Raises
    ------
    TypeError
        When an offset is not an integer or a flag not one of the above.
    ValueError
        When rows or tokens differ in number; when a token is negative, reversed or past its text; when tokens run
        backwards, as those of text split into words beforehand do, where each word starts at 0 again. Two tokens in a
        row may share one character; more than that only with `text`, if it composes to one (a letter and its accent).

    Examples
    --------
    >>> from mycelium.formats import spans_from_tokens
    >>> mapping = [[(0, 0), (0, 3), (4, 7), (8, 12), (12, 13), (0, 0)]]
    >>> spans_from_tokens(mapping, [[1, 0, 1, 1, 0, 1]], text=["The bad fact."]).tolist()
    [[[4, 12]]]
    >>> spans_from_tokens(mapping, [[1, 0, 1, 1, 0, 1]]).tolist()
    [[[4, 7], [8, 12]]]
    """
    mapping = read_mapping(offsets, text)
    cuts, values = read_flags(flags, name="flags", element="token", ignored=True)
    _same_tokens(mapping, cuts, "flags")
    tokens = mapping.covering(values == IGNORED)
    start, end = mapping.start[tokens], mapping.end[tokens]
    row = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))[tokens]
    flagged = np.flatnonzero(values[tokens] == 1)
    if not len(flagged):
        return _batch(mapping, row[:0], start[:0], end[:0])
    left, right = flagged[:-1], flagged[1:]
    same = row[left] == row[right]
    joined = same & (start[right] <= end[left])
    if bridge and mapping.texts is not None:
        # Starts and ends rise within a row, so the last token that starts before the right one reaches furthest.
        new = np.ones(len(tokens), dtype=np.bool_)
        new[1:] = (row[1:] != row[:-1]) | (start[1:] != start[:-1])
        first_here = np.maximum.accumulate(np.where(new, np.arange(len(tokens)), 0))
        previous = first_here[right] - 1
        gaps = np.flatnonzero(same & ~joined & (end[previous] <= end[left]))
        blank = _blank(mapping.texts, row[left[gaps]], end[left[gaps]], start[right[gaps]])
        joined[gaps[blank]] = True
    opens = np.append(True, ~joined)
    closes = np.append(~joined, True)
    return _batch(mapping, row[flagged[opens]], start[flagged[opens]], end[flagged[closes]])


def spans_from_tags(tags: Any, offsets: Any, text: Any = None) -> SpanBatch:
    """Make spans of BIO, IOB2 or IO tags, or of binary labels, of tokens.

    ``B-x`` opens a span of type x. ``I-x`` continues the span of the token before if that has type x, and else opens
    one: after ``O``, at the start of a row, or after another type (such tags are read leniently, not refused). So a run
    of ``I-x`` without any ``B`` (the IO scheme) is one span. A span reaches from the start of its first token to the
    end of its last, whatever stands between them::

        tags      B-x  I-x  B-x  O  I-y  I-x
        spans     x-------  x--     y--  x--

    Parameters
    ----------
    tags : sequence of n rows
        For each token ``"O"``, ``"B-type"`` or ``"I-type"``, ``"B"`` or ``"I"`` without a type, or 0 and 1 (bools
        too), where 1 is read as ``"I"``; -100 is a token to be ignored.
    offsets : sequence of n rows
        For each token its ``(start, end)`` in characters, or None for one outside the text. Tokens of width zero,
        ``(0, 0)`` above all, are special. None of these, nor ignored tokens, makes or breaks a span.
    text : sequence of n str, optional
        The texts, to check that no token lies past the end.

    Returns
    -------
    SpanBatch
        The spans in order, with their types as labels where tags have types. Neighbouring spans of one type that share
        a character (pieces of it with a ``B`` each) are one.

    Raises
    ------
    TypeError
        When a tag is neither a string nor 0, 1 or -100, or an offset is not an integer.
    ValueError
        When a tag has another form (``"S-x"``), and as in :func:`spans_from_tokens`.

    Examples
    --------
    >>> from mycelium.formats import spans_from_tags
    >>> batch = spans_from_tags([["B-x", "I-y", "I-y"]], [[(0, 3), (3, 6), (6, 9)]])
    >>> batch.tolist(), batch.label.tolist()
    ([[[0, 3], [3, 9]]], ['x', 'y'])
    >>> spans_from_tags([["B", "I", "B"]], [[(0, 3), (3, 6), (6, 9)]]).tolist()
    [[[0, 6], [6, 9]]]
    """
    mapping = read_mapping(offsets, text)
    cuts, prefix, kind, types = _read_tags(tags)
    _same_tokens(mapping, cuts, "tags")
    tokens = mapping.covering(prefix == IGNORED)
    start, end, prefix, kind = mapping.start[tokens], mapping.end[tokens], prefix[tokens], kind[tokens]
    row = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))[tokens]
    goes_on = np.zeros(len(tokens), dtype=np.bool_)
    goes_on[1:] = (prefix[1:] == _I) & (prefix[:-1] != _O) & (kind[1:] == kind[:-1]) & (row[1:] == row[:-1])
    tagged = np.flatnonzero(prefix != _O)
    if not len(tagged):
        return _batch(mapping, row[:0], start[:0], end[:0])
    left, right = tagged[:-1], tagged[1:]
    shared = (row[left] == row[right]) & (kind[left] == kind[right]) & (start[right] < end[left])
    joined = goes_on[right] | shared
    opens = np.append(True, ~joined)
    closes = np.append(~joined, True)
    first = tagged[opens]
    return _batch(
        mapping, row[first], start[first], end[tagged[closes]], [types[code] for code in kind[first].tolist()]
    )


_O, _B, _I = 0, 1, 2


def _read_tags(tags: Any) -> tuple[IntArray, IntArray, IntArray, list[str | None]]:
    """Return row offsets, prefix and type of each token, and the types that their codes stand for."""
    cuts, values = flat_values(tags, name="tags", element="token")
    if isinstance(values, np.ndarray):
        values = values.tolist()
    codes: dict[Any, tuple[int, int]] = {}
    types: dict[str | None, int] = {None: 0}
    wrong: dict[Any, tuple[str, type[TypeError] | type[ValueError]]] = {}
    keys = values
    if not types_of(values) <= {str, int, bool}:
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        # 1.0 == 1 in a dict, so whatever is no str, int or bool is told apart by its type.
        keys = [value if isinstance(value, (str, int)) else (type(value), repr(value)) for value in values]
    for key in dict.fromkeys(keys):
        if isinstance(key, tuple):
            wrong[key] = f"expected a string, 0, 1 or -100, got {key[0].__name__}", TypeError
        elif key in (0, 1, IGNORED):
            codes[key] = {0: _O, 1: _I}.get(key, IGNORED), 0
        elif key in ("O", "B", "I"):
            codes[key] = "OBI".index(key), 0
        elif isinstance(key, str) and key[:2] in ("B-", "I-") and len(key) > 2:
            codes[key] = "OBI".index(key[0]), types.setdefault(key[2:], len(types))
        else:
            wrong[key] = "expected O, B-type, I-type, B, I, 0, 1 or -100", ValueError
    if wrong:
        problems = Problems("tags", "token")
        for i, key in enumerate(keys):
            if key in wrong:
                row = int(np.searchsorted(cuts, i, side="right")) - 1
                problems.add(row, i - int(cuts[row]), values[i], *wrong[key])
        problems.check()
    pairs = np.array(list(map(codes.__getitem__, keys)), dtype=np.int64).reshape(-1, 2)
    return cuts, pairs[:, 0], pairs[:, 1], list(types)


def _same_tokens(mapping: Mapping, cuts: IntArray, name: str) -> None:
    n, m = len(mapping.offsets) - 1, len(cuts) - 1
    if n != m:
        raise ValueError(f"offsets has {n} row{'s' * (n != 1)}, {name} has {m}")
    given, other = np.diff(mapping.offsets), np.diff(cuts)
    uneven = np.flatnonzero(given != other)
    if len(uneven):
        row = int(uneven[0])
        more = f" ({len(uneven)} such rows)" if len(uneven) > 1 else ""
        raise ValueError(f"row {row}: offsets has {int(given[row])} tokens, {name} has {int(other[row])}{more}")


def _batch(
    mapping: Mapping, row: IntArray, start: IntArray, end: IntArray, labels: list[str | None] | None = None
) -> SpanBatch:
    offsets = _offsets(np.bincount(row, minlength=len(mapping.offsets) - 1))
    return SpanBatch(offsets, start, end, label=as_labels(labels or []), length=mapping.length)


def _blank(texts: Any, row: IntArray, start: IntArray, end: IntArray) -> BoolArray:
    """Tell which of the stretches of text hold white space only."""
    rows, which = np.unique(row, return_inverse=True)
    used = [texts[i] for i in rows.tolist()]
    codes = np.frombuffer("".join(used).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    spaces = _offsets(np.isin(codes, _SPACES))
    begins = _offsets(np.fromiter(map(len, used), np.int64, len(used)))[:-1][which]
    out: BoolArray = spaces[begins + end] - spaces[begins + start] == end - start
    return out
