"""Spans from decisions per token: flags and tags."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium.formats import spans_from_tags, spans_from_tokens

EMOJI = [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]


@pytest.mark.parametrize("text", [None, ["a🙂b"]])
@pytest.mark.parametrize(
    ("flags", "expected"), [([0, 0, 1, 0, 0], [1, 2]), ([0, 1, 1, 1, 0], [1, 2]), ([1, 1, 0, 0, 0], [0, 2])]
)
def test_one_character_in_several_tokens(flags: list[int], expected: list[int], text: Any) -> None:
    assert spans_from_tokens([EMOJI], [flags], text=text).tolist() == [[expected]]


def test_special_tokens_anywhere() -> None:
    offsets, flags = [[(0, 0), (0, 4), (0, 0), (5, 9), (0, 0)]], [[1] * 5]
    assert spans_from_tokens(offsets, flags).tolist() == [[[0, 4], [5, 9]]]
    assert spans_from_tokens(offsets, flags, text=["this fact"]).tolist() == [[[0, 9]]]
    assert spans_from_tokens(offsets, flags, text=["this-fact"]).tolist() == [[[0, 4], [5, 9]]]
    assert spans_from_tokens(offsets, flags, text=["this fact"], bridge=False).tolist() == [[[0, 4], [5, 9]]]
    # not flagged, they do not break a run either
    assert spans_from_tokens(offsets, [[0, 1, 0, 1, 0]], text=["this fact"]).tolist() == [[[0, 9]]]
    assert spans_from_tokens([[(0, 2), (2, 2), (2, 4)]], [[1, 0, 1]]).tolist() == [[[0, 4]]]
    assert spans_from_tokens([[(0, 0)]], [[1]]).tolist() == [[]]


def test_words_split_beforehand_are_refused() -> None:
    with pytest.raises(ValueError, match=r"offsets: row 1, token 1 \(0, 4\): the offsets run backwards"):
        spans_from_tokens([[(0, 3)], [(0, 3), (0, 4)]], [[1], [1, 1]])
    for text in (None, ["bad sad"]):
        with pytest.raises(ValueError, match="run backwards"):
            spans_from_tokens([[(0, 3), (0, 3)]], [[0, 0]], text=text)
    assert spans_from_tokens([[(0, 3), (4, 8)]], [[1, 1]], text=["bad fact"]).tolist() == [[[0, 8]]]


def test_prompt_tokens_make_no_spans() -> None:
    # The prompt's offsets count from the prompt's own start.
    pairs = [(0, 5), (6, 9), (0, 4), (5, 8)]
    answer = ["this bad"]
    for offsets, flags in (
        ([[None, None, *pairs[2:]]], [[1] * 4]),
        ([pairs], [[-100, -100, 1, 1]]),
        ([[None, pairs[1], *pairs[2:]]], [[1, -100, 1, 1]]),
    ):
        assert spans_from_tokens(offsets, flags).tolist() == [[[0, 4], [5, 8]]]
        assert spans_from_tokens(offsets, flags, text=answer).tolist() == [[[0, 8]]]
    with pytest.raises(ValueError, match=r"row 0, token 1 \(6, 9\): past the end of the text"):
        spans_from_tokens([pairs], [[1] * 4], text=answer)
    with pytest.raises(ValueError, match="run backwards"):
        spans_from_tokens([pairs], [[1] * 4])


def test_offsets_are_the_tokenizers() -> None:
    offsets = [[(0, 2), (2, 6), (7, 8), (8, 9), (10, 11)]]
    text = ["untrue 東京 x"]
    assert spans_from_tokens(offsets, [[1, 1, 0, 0, 0]], text=text).tolist() == [[[0, 6]]]
    assert spans_from_tokens(offsets, [[0, 0, 1, 1, 0]], text=text).tolist() == [[[7, 9]]]
    assert spans_from_tokens(offsets, [[1, 1, 1, 1, 1]], text=text).tolist() == [[[0, 11]]]
    assert spans_from_tokens(offsets, [[1, 1, 1, 1, 1]], text=text, bridge=False).tolist() == [
        [[0, 6], [7, 9], [10, 11]]
    ]


def test_bridges_cross_blanks_only() -> None:
    offsets = [[(0, 1), (3, 4)]]
    for gap in ("  ", " \n", "\t\u00a0", "\u3000\u2028"):
        assert spans_from_tokens(offsets, [[1, 1]], text=[f"a{gap}b"]).tolist() == [[[0, 4]]]
    for gap in (" .", "xy", "\u200b "):
        assert spans_from_tokens(offsets, [[1, 1]], text=[f"a{gap}b"]).tolist() == [[[0, 1], [3, 4]]]
    # A blank that is a token of its own, and not flagged, parts the two.
    assert spans_from_tokens([[(0, 1), (1, 2), (2, 3)]], [[1, 0, 1]], text=["a b"]).tolist() == [[[0, 1], [2, 3]]]
    assert spans_from_tokens([[(0, 1), (1, 2), (3, 4)]], [[1, 0, 1]], text=["a  b"]).tolist() == [[[0, 1], [3, 4]]]
    # Blanks that belong to a token stay in its span.
    assert spans_from_tokens([[(0, 2), (2, 8)]], [[0, 1]], text=["In Paris"]).tolist() == [[[2, 8]]]


def test_no_bridge_between_rows() -> None:
    offsets = [[(0, 1)], [(2, 3)], [], [(0, 1), (2, 3)]]
    batch = spans_from_tokens(offsets, [[1], [1], [], [1, 1]], text=["a  ", "  b", " ", "a b"])
    assert batch.tolist() == [[[0, 1]], [[2, 3]], [], [[0, 3]]]
    assert batch.length is not None
    assert batch.length.tolist() == [3, 3, 1, 3]
    assert spans_from_tokens([[(0, 1)], []], [[0], []]).tolist() == [[], []]
    assert spans_from_tokens([], []).tolist() == []


def test_tokens_that_share_a_character() -> None:
    offsets = [[(0, 3), (2, 5), (5, 6)]]
    for flags, expected in (([1, 1, 0], [[0, 5]]), ([1, 0, 1], [[0, 3], [5, 6]]), ([0, 1, 1], [[2, 6]])):
        assert spans_from_tokens(offsets, [flags]).tolist() == [expected]
    with pytest.raises(ValueError, match="run backwards"):
        spans_from_tokens([[(0, 3), (1, 5)]], [[1, 1]])


def test_pieces_of_a_composed_character() -> None:
    # A normaliser composes e + accent and three Hangul letters before a byte-level tokenizer cuts the result.
    for text, size in (("e\u0301", 2), ("\u1112\u1161\u11ab", 3), ("a\u0316\u0301", 3)):
        offsets = [[(0, size), (0, size), (size, size + 1)]]
        assert spans_from_tokens(offsets, [[0, 1, 1]], text=[text + "x"]).tolist() == [[[0, size + 1]]]
        with pytest.raises(ValueError, match="run backwards"):
            spans_from_tokens(offsets, [[0, 1, 1]])


def test_a_token_that_ends_before_the_one_before() -> None:
    with pytest.raises(ValueError, match=r"token 1 \(0, 2\): the offsets run backwards"):
        spans_from_tokens([[(0, 3), (0, 2)]], [[1, 1]], text=["a\u0316\u0301"])


def test_ignored_tokens_are_not_checked() -> None:
    assert spans_from_tokens([[(9, 7), (0, 2)]], [[-100, 1]], text=["ab"]).tolist() == [[[0, 2]]]


def test_containers_of_mappings() -> None:
    offsets = [[(0, 0), (0, 3), (4, 8)], [(0, 0), (1, 2), (0, 0)]]
    flags = [[0, 1, 1], [0, 1, 0]]
    expected = [[[0, 3], [4, 8]], [[1, 2]]]
    for given_offsets in (
        offsets,
        np.array(offsets),
        [np.array(row) for row in offsets],
        [[list(pair) for pair in row] for row in offsets],
    ):
        for given_flags in (flags, np.array(flags), [np.array(row, dtype=bool) for row in flags]):
            assert spans_from_tokens(given_offsets, given_flags).tolist() == expected


def test_arrow_mappings() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = [[[0, 0], [0, 3]], [], [None, [0, 4], [5, 8]]]
    flags = pa.array([[1, 1], [], [1, 1, 0]])
    assert spans_from_tokens(pa.array(rows), flags).tolist() == [[[0, 3]], [], [[0, 4]]]
    assert spans_from_tokens(pa.array(rows[:2]), flags[:2]).tolist() == [[[0, 3]], []]
    with pytest.raises(TypeError, match=r"offsets: row 0, token 0 .*start is 0\.5"):
        spans_from_tokens(pa.array([[[0.5, 1.0]]]), [[1]])


@pytest.mark.parametrize(
    ("offsets", "flags", "text", "error", "message"),
    [
        ([[(4, 2)]], [[0]], None, ValueError, r"offsets: row 0, token 0 \(4, 2\): reversed"),
        ([[(0, 1)], [(-1, 2)]], [[0], [0]], None, ValueError, r"row 1, token 0 \(-1, 2\): negative"),
        ([[(0, 5)]], [[0]], ["abcd"], ValueError, r"row 0, token 0 \(0, 5\): past the end of the text"),
        (
            [[(0, 3), (4, 6), (2, 5)]],
            [[0, 0, 0]],
            None,
            ValueError,
            r"row 0, token 2 \(2, 5\): the offsets run backwards",
        ),
        ([[(0, 1.0)]], [[0]], None, TypeError, r"offsets: row 0, token 0 \(0, 1.0\): end is 1.0 \(float\)"),
        ([[0, 1]], [[0]], None, TypeError, "offsets: 2 problems in 1 row: row 0, token 0"),
        ([None], [[0]], None, TypeError, "offsets: row 0 is None"),
        ([[(0, 1)]], [[2]], None, ValueError, "flags: row 0, token 0 2: expected 0 or 1, or -100"),
        ([[(0, 1)]], [[0.7]], None, TypeError, "flags: row 0, token 0 0.7: expected 0 or 1, .*got float"),
        ([[(0, 1)]], [["B"]], None, TypeError, "got str"),
        ([[(0, 1)]], [[0], [1]], None, ValueError, "offsets has 1 row, flags has 2"),
        ([[(0, 1)], [(0, 1), (1, 2)]], [[0], [1]], None, ValueError, "row 1: offsets has 2 tokens, flags has 1"),
        ([[(0, 1)]], [[0]], ["a", "b"], ValueError, "offsets has 1 row, text has 2"),
    ],
)
def test_degenerate_mappings(offsets: Any, flags: Any, text: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spans_from_tokens(offsets, flags, text=text)


def mapping(rng: random.Random) -> tuple[str, list[Any], list[int]]:
    """Draw a text, tokens as tokenizers produce them, and flags."""
    text = "".join(rng.choices("ab. \n", [3, 3, 1, 4, 1], k=rng.randint(0, 12)))
    tokens: list[Any] = []
    place = 0
    while place < len(text):
        kind = rng.choice(["special", "gap", "gap", "shared", "next", "next", "next"])
        end = rng.randint(place + 1, min(place + 4, len(text)))
        if kind == "special":
            tokens.append(rng.choice([(0, 0), None, (place, place)]))
        elif kind == "gap":
            place += 1
        elif kind == "next" or (tokens and tokens[-1] and tokens[-1][0] < tokens[-1][1] == place):
            # a shared token begins with the last character of the one before
            tokens.append((place - (kind == "shared"), end))
            place = end
    return text, tokens, [rng.choice([0, 1, 1]) for _ in tokens]


def slow(text: str, tokens: list[Any], flags: list[int], bridge: bool) -> list[list[int]]:
    """Flag characters; then fill blanks between flagged ones that no token covers."""
    state = [" "] * len(text)
    for mark in (0, 1):
        for token, flag in zip(tokens, flags, strict=True):
            if token and flag == mark:
                state[token[0] : token[1]] = ".#"[flag] * (token[1] - token[0])
    line = "".join(state)
    spans: list[list[int]] = []
    for i, mark in enumerate(line):
        if mark != "#":
            continue
        between = slice(spans[-1][1], i) if spans else slice(0)
        blank = bridge and text[between].isspace() and line[between].isspace()
        if spans and (spans[-1][1] == i or blank):
            spans[-1][1] = i + 1
        else:
            spans.append([i, i + 1])
    return spans


def test_tokens_against_characters() -> None:
    rng = random.Random(5)
    bridged = 0
    for _ in range(1000):
        rows = [mapping(rng) for _ in range(rng.randint(0, 4))]
        texts, offsets, flags = ([row[i] for row in rows] for i in range(3))
        parted = [slow(*row, False) for row in rows]
        assert spans_from_tokens(offsets, flags).tolist() == parted
        assert spans_from_tokens(offsets, flags, text=texts, bridge=False).tolist() == parted
        joined = [slow(*row, True) for row in rows]
        assert spans_from_tokens(offsets, flags, text=texts).tolist() == joined
        bridged += joined != parted
    assert bridged > 50


# -- tags

THREE = [(0, 3), (3, 6), (6, 9)]


@pytest.mark.parametrize(
    ("tags", "expected", "labels"),
    [
        (["B", "I", "B"], [[0, 6], [6, 9]], None),
        (["I", "I", "I"], [[0, 9]], None),
        (["B-x", "I-y", "I-y"], [[0, 3], [3, 9]], ["x", "y"]),
        ([1, 1, 1], [[0, 9]], None),
        ([True, False, True], [[0, 3], [6, 9]], None),
        (["O", "I-x", "I-x"], [[3, 9]], ["x"]),
        (["B-x", "O", "I-x"], [[0, 3], [6, 9]], ["x", "x"]),
        (["B-x", "B-x", "I-x"], [[0, 3], [3, 9]], ["x", "x"]),
        (["I-x", "I-x", "I-y"], [[0, 6], [6, 9]], ["x", "y"]),
        (["B-x", "I", "I"], [[0, 3], [3, 9]], ["x", None]),
        (["B-x-y", "I-x-y", "O"], [[0, 6]], ["x-y"]),
        (["O", "O", "O"], [], None),
        ([-100, "B-x", -100], [[3, 6]], ["x"]),
        (["B-x", -100, "I-x"], [[0, 9]], ["x"]),
        ([np.int64(1), np.bool_(True), np.str_("I")], [[0, 9]], None),
    ],
)
def test_tags(tags: list[Any], expected: list[list[int]], labels: list[str | None] | None) -> None:
    batch = spans_from_tags([tags, ["O"]], [THREE, [(0, 1)]])
    assert batch.tolist() == [expected, []]
    assert (None if batch.label is None else batch.label.tolist()) == labels


def test_tags_and_special_tokens() -> None:
    offsets = [[(0, 0), (0, 3), (0, 0), (4, 7), None, (8, 9)]]
    batch = spans_from_tags([["O", "B-x", "O", "I-x", "O", "I-x"]], offsets, text=["bad fact."])
    assert batch.tolist() == [[[0, 9]]]
    assert batch.length is not None
    assert batch.length.tolist() == [9]


def test_tags_do_not_run_into_the_next_row() -> None:
    batch = spans_from_tags([["B-x"], ["I-x"], [], ["I-x", "I-x"]], [[(0, 3)], [(0, 3)], [], [(0, 1), (2, 3)]])
    assert batch.tolist() == [[[0, 3]], [[0, 3]], [], [[0, 3]]]


def test_pieces_of_one_character_with_tags() -> None:
    for tags in (
        ["O", "B-x", "B-x", "B-x", "O"],
        ["O", "B-x", "I-x", "I-x", "O"],
        ["O", "O", "B-x", "O", "O"],
        ["O", "B-x", "O", "I-x", "O"],
    ):
        batch = spans_from_tags([tags], [EMOJI])
        assert batch.tolist() == [[[1, 2]]]
        assert batch.label is not None
        assert batch.label.tolist() == ["x"]


def test_two_types_that_share_a_character() -> None:
    batch = spans_from_tags([["B-x", "B-y", "B-y"]], [[(0, 3), (2, 5), (4, 6)]])
    assert batch.tolist() == [[[0, 3], [2, 6]]]
    assert batch.label is not None
    assert batch.label.tolist() == ["x", "y"]


def test_arrays_of_tags() -> None:
    offsets = [THREE, THREE]
    for tags in (
        np.array([[1, 1, 0], [0, 0, 1]]),
        np.array([["I", "I", "O"], ["O", "O", "B"]]),
        [np.array([1, 1, 0]), np.array([False, False, True])],
    ):
        assert spans_from_tags(tags, offsets).tolist() == [[[0, 6]], [[6, 9]]]
    pa = pytest.importorskip("pyarrow")
    assert spans_from_tags(pa.array([["I", "I", "O"], ["O", "O", "B"]]), pa.array(offsets)).tolist() == [
        [[0, 6]],
        [[6, 9]],
    ]


@pytest.mark.parametrize(
    ("tags", "error", "message"),
    [
        (["S-x", "O", "O"], ValueError, r"tags: row 0, token 0 'S-x': expected O, B-type, I-type"),
        (["O", "B-", "o"], ValueError, "tags: 2 problems in 1 row: row 0, token 1 'B-'"),
        (["O", "x", "O"], ValueError, "row 0, token 1 'x'"),
        ([0, 2, 0], ValueError, "row 0, token 1 2: expected"),
        ([0, 1.0, 1], TypeError, "row 0, token 1 1.0: expected a string, 0, 1 or -100, got float"),
        ([None, "O", "O"], TypeError, "row 0, token 0 None: .*got NoneType"),
        (["O", "O"], ValueError, "row 0: offsets has 3 tokens, tags has 2"),
    ],
)
def test_other_tags(tags: list[Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        spans_from_tags([tags], [THREE])


def test_tags_with_degenerate_mappings() -> None:
    with pytest.raises(ValueError, match="run backwards"):
        spans_from_tags([["O", "O"]], [[(0, 3), (0, 4)]])
    with pytest.raises(ValueError, match="past the end of the text"):
        spans_from_tags([["O", "O", "O"]], [THREE], text=["12345678"])


def conll(tags: list[str]) -> list[tuple[int, int, str]]:
    """Return chunks as (first token, one after the last, type), by walking through the tags."""
    chunks: list[tuple[int, int, str]] = []
    begin, kind = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, this = tag.partition("-")
        if kind and (prefix != "I" or this != kind):
            chunks.append((begin, i, kind))
            kind = ""
        if prefix != "O" and not kind:
            begin, kind = i, this
    return chunks


@given(st.lists(st.lists(st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y"]), max_size=8), max_size=4))
def test_tags_against_a_walk(rows: list[list[str]]) -> None:
    # tokens of two characters with a blank between them
    offsets = [[(3 * i, 3 * i + 2) for i in range(len(row))] for row in rows]
    chunks = [conll(row) for row in rows]
    batch = spans_from_tags(rows, offsets)
    assert batch.tolist() == [[[3 * a, 3 * b - 1] for a, b, _ in row] for row in chunks]
    labels = [kind for row in chunks for _, _, kind in row]
    assert ([] if batch.label is None else batch.label.tolist()) == labels
