"""Offsets in other units: UTF-16 code units, UTF-8 bytes, inclusive ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import InvalidCounts
from mycelium.formats import as_spans, read_spans


def units(text: str, unit: str) -> list[int]:
    """Return the place of every character boundary, from Python's own encoders."""
    codec, size = {"utf16": ("utf-16-le", 2), "utf8": ("utf-8", 1)}[unit]
    return [len(text[:i].encode(codec, "surrogatepass")) // size for i in range(len(text) + 1)]


def test_a_label_from_a_browser_tool() -> None:
    # JavaScript counts the emoji as two.
    text = "🙂 bad fact"
    assert text[2:5] == "bad"
    batch = as_spans([[[3, 6]]], text=[text], offsets="utf16")
    assert batch.tolist() == [[[2, 5]]]
    assert batch.length is not None
    assert batch.length.tolist() == [10]
    assert as_spans([[[3, 6]]], text=[text]).tolist() == [[[3, 6]]]
    assert as_spans([[[3, 5]]], text=[text], offsets="utf16", end="inclusive").tolist() == [[[2, 5]]]
    assert as_spans([[[5, 8]]], text=[text], offsets="utf8").tolist() == [[[2, 5]]]


def test_units_need_the_text() -> None:
    for unit in ("utf16", "utf8"):
        with pytest.raises(ValueError, match=f"refs: offsets='{unit}' can only be converted with the texts"):
            read_spans([[[0, 1]]], offsets=unit, name="refs")


ALPHABET = st.sampled_from("ab \né東ß\u0301\u07ff\u0800\uffff\U00010000🙂\ud83d\udc00")
TEXTS = st.lists(st.text(ALPHABET, max_size=8), min_size=1, max_size=5)


@given(TEXTS, st.sampled_from(["utf16", "utf8"]), st.booleans(), st.data())
def test_conversion_against_the_encoders(texts: list[str], unit: str, inclusive: bool, data: st.DataObject) -> None:
    rows: list[Any] = []
    for text in texts:
        spans = []
        if text:
            for _ in range(data.draw(st.integers(0, 3))):
                start = data.draw(st.integers(0, len(text) - 1))
                spans.append((start, data.draw(st.integers(start + 1, len(text)))))
        rows.append(spans)
    given_rows = [
        [[units(text, unit)[s], units(text, unit)[e] - inclusive] for s, e in row]
        for text, row in zip(texts, rows, strict=True)
    ]
    end = "inclusive" if inclusive else "exclusive"
    batch, counts = read_spans(given_rows, text=texts, offsets=unit, end=end)
    assert batch.tolist() == [[list(span) for span in row] for row in rows]
    assert counts == InvalidCounts()


@given(TEXTS, st.sampled_from(["utf16", "utf8"]), st.sampled_from(["drop", "clip"]), st.data())
def test_leniency_against_a_slow_reading(texts: list[str], unit: str, invalid: str, data: st.DataObject) -> None:
    number = st.integers(-3, 30)
    pairs = st.tuples(number, number).map(sorted).map(list)
    rows = [data.draw(st.lists(pairs, max_size=3)) for _ in texts]
    expected, dropped, clipped, touched = [], 0, 0, set()
    for i, (text, row) in enumerate(zip(texts, rows, strict=True)):
        places = units(text, unit)
        kept = []
        for start, end in row:
            inside = any(0 <= offset <= places[-1] and offset not in places for offset in (start, end))
            valid = 0 <= start < end <= places[-1] and not inside
            low, high = max(start, 0), min(end, places[-1])
            if not valid:
                touched.add(i)
            if valid or (invalid == "clip" and not inside and low < high):
                kept.append([places.index(low), places.index(high)])
                clipped += not valid
            else:
                dropped += 1
        expected.append(kept)
    batch, counts = read_spans(rows, text=texts, offsets=unit, invalid=invalid)
    assert batch.tolist() == expected
    assert counts == InvalidCounts(rows=len(touched), dropped=dropped, clipped=clipped)


def test_offsets_inside_a_character() -> None:
    text = ["🙂 bad", "é"]
    rows = [[[1, 3], [0, 2]], [[0, 1]]]
    with pytest.raises(ValueError, match=r"refs: row 0, span 0 \[1, 3\]: begins or ends inside a character \(utf16"):
        read_spans(rows, text=text, offsets="utf16", name="refs")
    with pytest.raises(ValueError, match="refs: 3 problems in 2 rows: row 0, span 0"):
        read_spans(rows, text=text, offsets="utf8", name="refs")
    batch, counts = read_spans([[[1, 3], [0, 4]], [[0, 1]]], text=text, offsets="utf8", invalid="clip")
    assert batch.tolist() == [[[0, 1]], []]
    assert counts == InvalidCounts(rows=2, dropped=2)


def test_bounds_are_those_of_the_unit() -> None:
    # 5 characters, 6 UTF-16 units, 8 bytes
    text = ["🙂 bad"]
    for unit, length in (("codepoint", 5), ("utf16", 6), ("utf8", 8)):
        assert as_spans([[[0, length]]], text=text, offsets=unit).tolist() == [[[0, 5]]]
        with pytest.raises(ValueError, match="past the end of the text"):
            as_spans([[[0, length + 1]]], text=text, offsets=unit)
        clipped, counts = read_spans([[[0, length + 9]]], text=text, offsets=unit, invalid="clip")
        assert clipped.tolist() == [[[0, 5]]]
        assert counts == InvalidCounts(rows=1, clipped=1)


def test_labels_stay_with_their_spans() -> None:
    rows = [[[4, 6, "b"], [1, 2, "gone"], [0, 2, "a"]], [{"start": 0, "end": 1, "label": "c", "prob": 0.5}]]
    batch = as_spans(rows, text=["🙂 bad", "x"], offsets="utf16", invalid="drop")
    assert batch.tolist() == [[[3, 5], [0, 1]], [[0, 1]]]
    assert batch.label is not None
    assert batch.score is not None
    assert batch.label.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(batch.score, [np.nan, np.nan, 0.5])


def test_missing_rows_and_units() -> None:
    batch, counts = read_spans([None, [[0, 2]]], text=["🙂", "🙂"], offsets="utf16", missing_rows="empty")
    assert batch.tolist() == [[], [[0, 1]]]
    assert counts == InvalidCounts(missing=1)


@pytest.mark.parametrize("options", [{}, {"text": ["0123456789"]}, {"text": ["0123456789"], "offsets": "utf16"}])
def test_inclusive_ends(options: dict[str, Any]) -> None:
    assert as_spans([[[0, 9], [3, 3]]], end="inclusive", **options).tolist() == [[[0, 10], [3, 4]]]
    for invalid in ("raise", "drop", "clip"):
        # Reversed as given, although [5, 5) once the end is exclusive.
        with pytest.raises(ValueError, match=r"row 0, span 1 \[5, 4\]: reversed"):
            as_spans([[[0, 1], [5, 4]]], end="inclusive", invalid=invalid, **options)
    last = 2**63 - 1
    with pytest.raises(ValueError, match="past the end of the text" if options else "or more"):
        as_spans([[[5, last]]], end="inclusive", **options)


def test_inclusive_ends_and_policies() -> None:
    text = ["0123456789"]
    with pytest.raises(ValueError, match=r"row 0, span 0 \[5, 10\]: past the end"):
        as_spans([[[5, 10]]], text=text, end="inclusive")
    batch, counts = read_spans([[[5, 10], [-1, -1], [-1, 0]]], text=text, end="inclusive", invalid="clip")
    assert batch.tolist() == [[[5, 10], [0, 1]]]
    assert counts == InvalidCounts(rows=1, dropped=1, clipped=2)
    batch, counts = read_spans([[[5, 10], [-1, -1], [-1, 0]]], text=text, end="inclusive", invalid="drop")
    assert batch.tolist() == [[]]
    assert counts == InvalidCounts(rows=1, dropped=3)
