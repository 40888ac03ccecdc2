"""Spans from quotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium.formats import spans_from_quotes

TEXT = "Ana saw Ana, ana and Eva."


@pytest.mark.parametrize(
    ("quotes", "occurrence", "expected", "unplaced"),
    [
        (["Ana", "Ana"], "next", [[0, 3], [8, 11]], []),
        (["Ana", "Eva", "Ana"], "next", [[0, 3], [21, 24], [8, 11]], []),
        (["Ana", "Ana", "Ana", "Ana"], "next", [[0, 3], [8, 11]], ["Ana", "Ana"]),
        (["Eva", "Ana"], "next", [[21, 24], [0, 3]], []),
        (["Ana saw", "Ana"], "next", [[0, 7], [0, 3]], []),
        (["Ana", "Ana"], "first", [[0, 3], [0, 3]], []),
        (["Bob", "Ana"], "first", [[0, 3]], ["Bob"]),
        (["Ana", "Eva"], "all", [[0, 3], [8, 11], [21, 24]], []),
        (["Ana", "Ana"], "all", [[0, 3], [8, 11]], []),
        (["Bob", ""], "all", [], ["Bob", ""]),
        (["", "EVA", "Ana "], "next", [[0, 4]], ["", "EVA"]),
        (["Eva", "saw"], "error", [[21, 24], [4, 7]], []),
        ([], "next", [], []),
    ],
)
def test_places(quotes: list[str], occurrence: str, expected: list[list[int]], unplaced: list[str]) -> None:
    for spans, missed in (
        spans_from_quotes([TEXT], [quotes], occurrence),
        spans_from_quotes(TEXT, quotes, occurrence=occurrence),
    ):
        assert spans.tolist() == [expected]
        assert missed == [(0, quote) for quote in unplaced]
        assert spans.length is not None
        assert spans.length.tolist() == [len(TEXT)]


def test_places_of_one_quote_do_not_overlap() -> None:
    assert spans_from_quotes("aaaaa", ["aa", "aa", "aa"]).spans.tolist() == [[[0, 2], [2, 4]]]
    assert spans_from_quotes("aaaaa", ["aa"], "all").spans.tolist() == [[[0, 2], [2, 4]]]


def test_rows() -> None:
    placed = spans_from_quotes(["🙂 bad fact", "", "fact"], [["bad", "no"], ["x"], ["fact"]])
    assert placed.spans.tolist() == [[[2, 5]], [], [[0, 4]]]
    assert placed.unplaced == [(0, "no"), (1, "x")]
    assert spans_from_quotes([], []).spans.tolist() == []


def test_containers() -> None:
    pa = pytest.importorskip("pyarrow")
    texts, quotes = ["ab", "cd"], [["b"], ["c"]]
    for given_texts, given_quotes in (
        (tuple(texts), tuple(map(tuple, quotes))),
        (np.array(texts), np.array(quotes)),
        (pa.array(texts), pa.array(quotes)),
        (texts, [np.array(row) for row in quotes]),
    ):
        assert spans_from_quotes(given_texts, given_quotes).spans.tolist() == [[[1, 2]], [[0, 1]]]


@pytest.mark.parametrize(
    ("quotes", "message"),
    [
        ([["saw"], ["Ana"]], "quotes: row 1, quote 0 'Ana': more than once in the text"),
        ([["saw", "Bob"], []], "row 0, quote 1 'Bob': not in the text"),
        (
            [["saw", ""], ["Bob"]],
            "quotes: 2 problems in 2 rows: row 0, quote 1 '': an empty quote; row 1, quote 0 'Bob'",
        ),
    ],
)
def test_error(quotes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spans_from_quotes([TEXT] * 2, quotes, "error")


def test_overlapping_places_are_two() -> None:
    with pytest.raises(ValueError, match="more than once"):
        spans_from_quotes("aaa", ["aa"], "error")


@pytest.mark.parametrize(
    ("text", "quotes", "error", "message"),
    [
        (["a"], [["a"], []], ValueError, "quotes has 2 rows, text has 1"),
        (["a", "b"], [["a"]], ValueError, "quotes has 1 row, text has 2"),
        (["a"], ["a"], TypeError, r"row 0: expected a list of strings, got 'a' \(str\)"),
        (["a"], [None], TypeError, "row 0: expected a list of strings, got None"),
        (["a", "b"], [["a"], ["b", 3]], TypeError, "quotes: row 1, quote 1 3: expected a string, got int"),
        (["a"], [[None]], TypeError, "got NoneType"),
        ([None], [[]], TypeError, "text: expected strings, row 0 is None"),
        ("a", "a", TypeError, "row 0: expected a list of strings"),
    ],
)
def test_refusals(text: Any, quotes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spans_from_quotes(text, quotes)


def test_unknown_occurrence() -> None:
    with pytest.raises(ValueError, match="occurrence must be one of 'next', 'first', 'all', 'error', got 'last'"):
        spans_from_quotes("a", ["a"], "last")


@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=1, max_size=3), max_size=6))
def test_every_quote_is_placed_or_reported(text: str, quotes: list[str]) -> None:
    placed = spans_from_quotes(text, quotes)
    found = [text[s:e] for s, e in placed.spans.tolist()[0]]
    assert sorted(found + [quote for _, quote in placed.unplaced]) == sorted(quotes)
    for quote in set(quotes):
        assert found.count(quote) == min(quotes.count(quote), text.count(quote))
