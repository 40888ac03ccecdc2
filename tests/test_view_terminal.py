"""Plain text: marks under their characters, however wide these are."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium.view import text_view
from mycelium.view.cells import cells, safe

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def view(text: str, references: list[Any], predictions: list[Any], **options: Any) -> list[str]:
    """Return the lines under the first."""
    return text_view(references=[references], predictions=[predictions], text=[text], **options).split("\n")[1:]


# What terminals draw (Unicode's east asian widths, and emoji sequences of two cells).
@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3), ("東京", 4), ("ｶﾅ", 2), ("Ａ", 2), ("e\u0301", 1), ("한", 2), ("\u1112\u1161\u11ab", 2),
        ("\U0001f642", 2), (FAMILY, 2), ("\U0001f44d\U0001f3fd", 2), ("\U0001f1eb\U0001f1f7", 2), ("\u2764\ufe0f", 2),
        ("नि", 2), ("a\u00adb", 3), ("\u200b", 0), ("ا", 1), ("", 0),
    ],
)  # fmt: skip
def test_widths(text: str, width: int) -> None:
    # The vowel sign of नि is a spacing mark: most terminals give it a cell.
    assert sum(cell.width for cell in cells(text)) == width


def test_nothing_steers_the_terminal() -> None:
    assert safe("a\x1b[31mb\rc\nd\te\x7f\x9b\u202e\u2066\u2028\ud800\x00") == "a␛[31mb↵c↵d⇥e␡····\ufffd␀"
    out = text_view(
        references=[[[0, 1, "\x1b[2J"]]], predictions=[[]], text=["a\x1b]0;x\x07"], ids=["\x1b[1m"],
        slices={"\x1b": ["\x1b"]}, scores={"\x1b": [1]}, verdicts=([["\x1b"]], [[]]),
    )  # fmt: skip
    assert "\x1b" not in out
    assert "\x07" not in out


def test_marks_stand_under_their_characters() -> None:
    assert view("The Lyon is far.", [[4, 8, "A"]], [[4, 11, "A"], [12, 15, "B"]]) == [
        "  The Lyon is far.",
        "      1^^^",
        "      1~~~~~~ 2~~",
        '  ^1 too wide  [4, 8)    A  "Lyon"',
        '  ~1 too wide  [4, 11)   A  "Lyon is"',
        '  ~2 spurious  [12, 15)  B  "far"',
    ]


def test_nested_spans_get_lines_of_their_own() -> None:
    assert view("abcdefghij", [[2, 4], [0, 9], [5, 10]], [])[:4] == [
        "  abcdefghij",
        "  2^^^^^^^^",
        "    1^ 3^^^^",
        '  ^1 missed  [2, 4)   "cd"',
    ]


def test_only_so_many_layers_are_drawn() -> None:
    lines = view("x" * 30, [[i, 30 - i] for i in range(10)], [[0, 30]])
    assert [line.lstrip()[0] for line in lines[1:10]] == [*"12345678", "1"]
    assert lines[10] == "  (2 spans in deeper layers are listed, not marked)"
    assert sum(line.startswith("  ^") for line in lines[11:]) == 10


def test_wide_characters_and_marks_without_width() -> None:
    assert view("東京は首都", [[2, 3]], [[3, 5]])[:3] == ["  東京は首都", "      1^", "        1~~~"]
    assert view(f"a{FAMILY}b", [[1, 6]], [[6, 7]])[:3] == [f"  a{FAMILY}b", "   1^", "     1"]
    # An accent alone stands in the cell of its letter, and goes by its number.
    assert view("cafe\u0301!", [[4, 5]], [[3, 5]]) == [
        "  cafe\u0301!",
        "     1",
        "     1",
        '  ^1 too wide  [4, 5)  "U+0301"',
        '  ~1 too wide  [3, 5)  "e\u0301"',
    ]


def test_lines_break_at_spaces_and_line_breaks() -> None:
    lines = view("one two three four five\nsix " + "x" * 30, [[4, 18], [20, 26]], [], width=20)
    assert lines[:9] == [
        "  one two three",
        "      1^^^^^^^^^",
        "  four five↵",
        "  ^^^^  2^^^",
        "  six",
        "  ^^",
        "  " + "x" * 18,
        "  " + "x" * 12,
        '  ^1 missed  [4, 18)   "two three four"',
    ]


def test_right_to_left_texts_are_listed() -> None:
    lines = view("ثلاثة كلمات", [[0, 5, "A"]], [])
    assert lines == [
        "  ثلاثة كلمات",
        "  (the text runs from right to left: its spans are listed, not marked)",
        '  ^1 missed  [0, 5)  A  "ثلاثة"',
    ]


def test_heads() -> None:
    out = text_view(
        references=[[], [[0, 1]]], predictions=[[], []], text=["", "a"], ids=["x", "y"],
        scores={"iou": [0.12345, None]}, slices={"model": ["m", "n"]},
    )  # fmt: skip
    assert out.split("\n") == [
        "x  model m  iou 0.123",
        "",
        "  (no span on either side)",
        "",
        "y  model n  iou -",
        "  a",
        "  1",
        '  ^1 missed  [0, 1)  "a"',
    ]


def test_long_heads_are_wrapped() -> None:
    slices = {f"s{i}": ["v" * 6] for i in range(4)}
    out = text_view(references=[[]], predictions=[[]], text=[""], slices=slices, width=22)
    assert out.split("\n")[:3] == ["0  s0 vvvvvv", "  s1 vvvvvv  s2 vvvvvv", "  s3 vvvvvv"]


def test_colours_change_nothing_else() -> None:
    given: dict[str, Any] = {"references": [[[0, 3, "A"]]], "predictions": [[[1, 5]]], "text": ["abcdef"]}
    coloured = text_view(**given, color=True)
    assert "\x1b[34m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == text_view(**given)
    assert "\x1b" not in text_view(**given)


@pytest.mark.parametrize(("width", "error"), [(19, ValueError), (80.0, TypeError), (True, TypeError)])
def test_widths_that_make_no_sense(width: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="width must be"):
        view("a", [], [], width=width)


ALPHABET = st.sampled_from("ab 東\u0301\u200d\U0001f642\n\t")


@given(st.text(ALPHABET, min_size=1, max_size=60), st.data())
def test_every_line_fits_and_marks_cover_what_they_mark(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    lines = view(text, [[start, end]], [], width=20)
    body = lines[: next(i for i, line in enumerate(lines) if line.startswith("  ^1 missed"))]
    marks = [line for line in body if line.strip() and not set(line) - set(" ^1")]
    shown = [line for line in body if line not in marks]
    assert all(sum(cell.width for cell in cells(line)) <= 20 for line in body)
    # All of the text is there, its line breaks and tabs as signs, spaces at the ends of lines apart.
    assert "".join("".join(shown).split()) == "".join(safe(text).split())
    wanted = sum(cell.width for cell in cells(text)[start:end])
    drawn = sum(len(line.strip()) for line in marks)
    assert max(1, wanted) <= drawn <= wanted + 2 + len(marks)
