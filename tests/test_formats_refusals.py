"""What the reader of Python and NumPy containers refuses, and what it says then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mycelium import SpanBatch
from mycelium.formats import read_spans

ROWS = [[[0, 4], [6, 9]], [], [[2, 8]]]

# rows, kind of error, part of the message

FAULTS: dict[str, tuple[Any, type[Exception], str]] = {
    "float": (
        [[[0, 4]], [[3.7, 5]]],
        TypeError,
        "spans: row 1, span 0 [3.7, 5]: start is 3.7 (float), expected an integer",
    ),
    "whole float": (
        [[[0, 4], [3, 5.0]]],
        TypeError,
        "spans: row 0, span 1 [3, 5.0]: end is 5.0 (float), expected an integer",
    ),
    "string": ([[["3", 5]]], TypeError, "row 0, span 0 ['3', 5]: start is '3' (str)"),
    "bool": ([[[True, 5]]], TypeError, "start is True (bool)"),
    "bool as end": ([[[0, True]]], TypeError, "end is True (bool)"),
    "false": ([[[False, 5]]], TypeError, "start is False (bool)"),
    "NumPy bool": ([[[np.True_, 5]]], TypeError, "start is"),
    "NaN": ([[[float("nan"), 5]]], TypeError, "start is nan (float)"),
    "None": ([[[None, 5]]], TypeError, "start is None (NoneType)"),
    "NumPy float": ([[[np.float64(3), 5]]], TypeError, "(float64), expected an integer"),
    "too large": ([[[0, 2**63]]], ValueError, "end is 9223372036854775808, which does not fit 64 bits"),
    "large uint64": ([np.array([[0, 2**63]], dtype=np.uint64)], ValueError, "does not fit 64 bits"),
    "float in dict": ([[{"start": 3.0, "end": 5}]], TypeError, "start is 3.0 (float)"),
    "bool in dict": ([[{"start": True, "end": 5}]], TypeError, "start is True (bool)"),
    "no end": ([[{"start": 3}]], ValueError, "row 0, span 0 {'start': 3}: the span has no 'end'"),
    "no start": ([[{"end": 3}]], ValueError, "the span has no 'start'"),
    "one element": ([[[3]]], ValueError, "got 1 element"),
    "four elements": ([[[3, 4, "a", 0.5]]], ValueError, "got 4 elements"),
    "four integers": ([[[1, 2, 3, 4]]], ValueError, "got 4 elements"),
    "N-D large uint64": (np.array([[[0, 2**63]]], dtype=np.uint64), ValueError, "does not fit 64 bits"),
    "label number": ([[[3, 5, 7]]], TypeError, "label is 7 (int), expected a string or None"),
    "label number in dict": (
        [[{"start": 3, "end": 5, "type": 7}]],
        TypeError,
        "type is 7 (int), expected a string or None",
    ),
    "prob bool": ([[{"start": 3, "end": 5, "prob": True}]], TypeError, "prob is True (bool), expected a number"),
    "prob string": ([[{"start": 3, "end": 5, "score": "0.5"}]], TypeError, "score is '0.5' (str), expected a number"),
    "prob NaN": ([[{"start": 3, "end": 5, "prob": float("nan")}]], ValueError, "prob is nan, expected a finite number"),
    "prob infinite": (
        [[{"start": 3, "end": 5, "prob": float("inf")}]],
        ValueError,
        "prob is inf, expected a finite number",
    ),
    "prob NaN beside None": (
        [[{"start": 3, "end": 5, "prob": float("nan")}, {"start": 3, "end": 5, "prob": None}]],
        ValueError,
        "prob is nan",
    ),
    "set of pairs": ([{(0, 3)}], TypeError, "a set has no order"),
    "frozenset": ([frozenset([(0, 3)])], TypeError, "a set has no order"),
    "span as set": ([[{0, 3}]], TypeError, "row 0, span 0 {0, 3}: expected [start, end]"),
    "string row": (["ab"], TypeError, "row 0: expected the spans of one example"),
    "string of two": ([["ab"]], TypeError, "row 0, span 0 'ab': expected [start, end]"),
    "bytes of two": ([[b"ab"]], TypeError, "expected [start, end]"),
    "range": ([[range(0, 2)]], TypeError, "expected [start, end]"),
    "dict with other keys": ([[{0: 1, 2: 3}]], ValueError, "the span has no 'start'"),
    "number row": ([[[0, 4]], 3], TypeError, "row 1: expected the spans of one example"),
    "infinite row": ([float("inf")], TypeError, "row 0: expected the spans of one example"),
    "one set": ([[0, 4], [6, 9]], TypeError, "a batch is a list of rows, and a row a list of spans"),
    "batch in row": ([SpanBatch(*(np.array(x) for x in ([0, 1], [0], [4])))], TypeError, "row 0: expected the spans"),
    "unequal lists": (
        [{"start": [0, 6], "end": [4]}],
        ValueError,
        "row 0: the lists of a row must be equally long, got 2 for start, 1 for end",
    ),
    "unequal labels": ([{"start": [0], "end": [4], "label": ["a", "b"]}], ValueError, "2 for label"),
    "unequal labels, elsewhere equal": (
        [{"start": [0], "end": [4], "label": []}, {"start": [1, 2], "end": [4, 5], "label": ["a", "b", "c"]}],
        ValueError,
        "2 problems in 2 rows",
    ),
    "dict row without end": ([{"start": [0]}], ValueError, "'end' is not in"),
    "flat dict row": ([{"start": 0, "end": 4}], TypeError, "a row given as a dict holds lists, start is 0 (int)"),
    "floats in dict row": ([{"start": [0.0], "end": [4]}], TypeError, "start is 0.0 (float)"),
    "strings in dict row": ([{"start": "03", "end": "14"}], TypeError, "a row given as a dict holds lists"),
    "float array": ([np.array([[0.0, 4.0]])], TypeError, "row 0, span 0 [0.0, 4.0]: start is 0.0 (float)"),
    "float array among others": (
        [np.array([[0, 4]]), np.array([[0.5, 4.0]])],
        TypeError,
        "row 1, span 0 [0.5, 4.0]: start is 0.5",
    ),
    "bool array": ([np.array([[False, True]])], TypeError, "start is False (bool)"),
    "dates": ([np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]")], TypeError, "start is datetime.date"),
    "triples": ([np.array([[0, 4, 1]])], TypeError, "label is 1 (int)"),
    "one-dimensional": ([np.array([0, 4])], TypeError, "a row a list of spans"),
    "masked": ([np.ma.array([[0, 4]], mask=[[False, True]])], ValueError, "masked"),
    "N-D floats": (np.array([[[0.0, 4.0]]]), TypeError, "start is 0.0 (float)"),
    "N-D strings": (np.array([[["0", "4"]]]), TypeError, "start is '0' (str)"),
    "N-D bools": (np.array([[[False, True]]]), TypeError, "start is False (bool)"),
    "N-D masked": (np.ma.array([[[0, 4]]], mask=True), ValueError, "masked"),
    "one set as array": (
        np.array([[0, 4], [6, 9]]),
        TypeError,
        "shape (n, k, 2), got shape (2, 2); one set of spans goes in as [spans]",
    ),
    "integer triples": (np.array([[[0, 4, 1]]]), TypeError, "got shape (1, 1, 3)"),
    "no dimension": (np.array(3), TypeError, "without dimensions"),
    "text": ("abc", TypeError, "expected a batch, a list with one entry for each row, got str"),
    "flat dict": ({"start": [0], "end": [4]}, TypeError, "expected a batch"),
    "batch set": ({((0, 1),)}, TypeError, "expected a batch"),
    "generator": ((row for row in ROWS), TypeError, "expected a batch"),
    "None instead of a batch": (None, TypeError, "expected a batch"),
    "number": (3, TypeError, "expected a batch"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("invalid", ["raise", "drop", "clip"])
def test_wrong_types_raise_under_every_policy(fault: str, invalid: str) -> None:
    rows, error, message = FAULTS[fault]
    with pytest.raises(error) as caught:
        read_spans(rows, invalid=invalid)
    assert message in str(caught.value)
    assert str(caught.value).startswith("spans")


def test_all_problems_are_counted_and_five_named() -> None:
    rows = [[[0, 4], ["a", 1]], [[0.5, 1], [1, 2.0]], None, *[[[True, 2]]] * 4]
    with pytest.raises(TypeError) as caught:
        read_spans(rows, name="references", missing_rows="empty")
    message = str(caught.value)
    assert message.startswith("references: 7 problems in 6 rows: row 0, span 1 ['a', 1]: start is 'a' (str)")
    assert "row 1, span 0 [0.5, 1]" in message
    assert "row 4, span 0 [True, 2]" in message
    assert "row 5" not in message
    assert message.endswith("; and 2 more")
