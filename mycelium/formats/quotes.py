"""Spans from quotations: judges that return the faulty passages as strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mycelium.formats.containers import column_of, library
from mycelium.formats.raw import Problems, flatten, show, types_of
from mycelium.formats.texts import text_list
from mycelium.spans import SpanBatch, _offsets

__all__ = ["PlacedQuotes", "spans_from_quotes"]

OCCURRENCES = ("next", "first", "all", "error")


class PlacedQuotes(NamedTuple):
    """Where quotations stand.

    Attributes
    ----------
    spans : SpanBatch
        The places of the quotes that were found, in the order of the quotes.
    unplaced : list of (int, str)
        Row and quote of each that was not found.
    """

    spans: SpanBatch
    unplaced: list[tuple[int, str]]


def spans_from_quotes(text: Any, quotes: Any, occurrence: str = "next") -> PlacedQuotes:
    """Find quoted passages in their texts.

    A quote is found where the text holds exactly the same characters: case, white space and punctuation count.
    Places of one quote do not overlap, as in ``str.count``. Different quotes are looked up independently of each other,
    so that their order does not matter and their places may overlap.

    Parameters
    ----------
    text : sequence of n str, or str
        The texts. A single string, with a flat list of quotes, is a batch of one row.
    quotes : sequence of n sequences of str, or sequence of str
        The quotes from each text.
    occurrence : {"next", "first", "all", "error"}, default="next"
        Which place is meant where a text holds a quote several times.

        * ``"next"``: the first time a quote is given in a row, its first place; the second time its second, and so on.
          What is given more often than it occurs is unplaced.
        * ``"first"``: always the first place; a quote given twice gives two equal spans.
        * ``"all"``: every place, once for each different quote.
        * ``"error"``: a quote that does not occur exactly once is a ValueError (overlapping places count as two).

    Returns
    -------
    PlacedQuotes
        A named tuple ``(spans, unplaced)``. `spans` is a SpanBatch of n rows that knows the lengths of the texts;
        `unplaced` lists ``(row, quote)`` for quotes without a place. An empty quote has none.

    Raises
    ------
    TypeError
        When a text or quote is not a string, naming row and quote.
    ValueError
        When the numbers of rows differ, `occurrence` is unknown, or with ``"error"`` as said there.

    Examples
    --------
    >>> from mycelium.formats import spans_from_quotes
    >>> spans, unplaced = spans_from_quotes(["Ana saw Ana"], [["Ana", "Ana", "Eva"]])
    >>> spans.tolist(), unplaced
    ([[[0, 3], [8, 11]]], [(0, 'Eva')])
    """
    if occurrence not in OCCURRENCES:
        raise ValueError(f"occurrence must be one of {', '.join(map(repr, OCCURRENCES))}, got {occurrence!r}")
    if isinstance(text, str):
        text, quotes = [text], [quotes]
    texts = text_list(text)
    rows = _quote_rows(quotes)
    if len(rows) != len(texts):
        raise ValueError(f"quotes has {len(rows)} row{'s' * (len(rows) != 1)}, text has {len(texts)}")
    problems = Problems("quotes", "quote")
    counts: list[int] = []
    places: list[tuple[int, int]] = []
    unplaced: list[tuple[int, str]] = []
    for i, (content, row) in enumerate(zip(texts, rows, strict=True)):
        before = len(places)
        if occurrence == "error":
            _unique(content, row, i, problems)
        for quote, place in _placed(content, row, occurrence):
            if place < 0:
                unplaced.append((i, quote))
            else:
                places.append((place, place + len(quote)))
        counts.append(len(places) - before)
    problems.check()
    pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
    length = np.fromiter(map(len, texts), np.int64, len(texts))
    offsets = _offsets(np.array(counts, dtype=np.int64))
    return PlacedQuotes(SpanBatch(offsets, pairs[:, 0].copy(), pairs[:, 1].copy(), length=length), unplaced)


def _placed(text: str, quotes: Sequence[str], occurrence: str) -> Iterator[tuple[str, int]]:
    """Yield every quote with its place, -1 where it has none."""
    if occurrence == "all":
        for quote in dict.fromkeys(quotes):
            place = text.find(quote) if quote else -1
            yield quote, place
            while place >= 0:
                place = text.find(quote, place + len(quote))
                if place >= 0:
                    yield quote, place
        return
    reached: dict[str, int] = {}
    for quote in quotes:
        place = text.find(quote, reached.get(quote, 0)) if quote else -1
        yield quote, place
        if occurrence == "next":
            reached[quote] = len(text) if place < 0 else place + len(quote)


def _unique(text: str, quotes: Sequence[str], row: int, problems: Problems) -> None:
    for j, quote in enumerate(quotes):
        if not quote or quote not in text:
            problems.add(row, j, quote, "not in the text" if quote else "an empty quote", ValueError)
        elif text.find(quote, text.find(quote) + 1) >= 0:
            problems.add(row, j, quote, "more than once in the text", ValueError)


def _quote_rows(quotes: Any) -> Sequence[Sequence[str]]:
    column = column_of(quotes, "quotes", arrow_lists=False)
    if library(column) == "pyarrow":
        column = column.to_pylist()
    elif isinstance(column, np.ndarray):
        column = column.tolist()
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in column]
    problems = Problems("quotes", "quote")
    if not types_of(rows) <= {list, tuple}:
        for i, row in enumerate(rows):
            if not isinstance(row, (list, tuple)):
                problems.add(i, None, None, f"expected a list of strings, got {show(row)} ({type(row).__name__})")
        problems.check()
    if not types_of(flatten(rows)) <= {str}:
        for i, row in enumerate(rows):
            for j, quote in enumerate(row):
                if not isinstance(quote, str):
                    problems.add(i, j, quote, f"expected a string, got {type(quote).__name__}")
        problems.check()
    return rows
