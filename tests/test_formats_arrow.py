"""Reading spans and texts from Arrow columns, in every layout in which they can be stored."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import InvalidCounts
from mycelium.formats import as_spans, read_spans, text_lengths

pa = pytest.importorskip("pyarrow")

ROWS: list[Any] = [[[0, 4], [6, 9]], [], [[2, 8]]]
PAIR = pa.list_(pa.int64())
SPAN = pa.struct([("start", pa.int64()), ("end", pa.int64())])


def dicts(rows: Any) -> Any:
    return [None if row is None else [{"start": s, "end": e} for s, e in row] for row in rows]


def list_view(rows: Any) -> Any:
    """Build a list view whose rows stand in the values in falling order, so that offsets fall."""
    values = [span for row in reversed(rows) for span in row or []]
    sizes = [len(row or []) for row in rows]
    begins = [sum(sizes[i + 1 :]) for i in range(len(rows))]
    mask = pa.array([row is None for row in rows], pa.bool_())
    return pa.ListViewArray.from_arrays(
        pa.array(begins, pa.int32()), pa.array(sizes, pa.int32()), pa.array(values, PAIR), mask=mask
    )


class Spans(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.list_(PAIR), "mycelium.test.spans")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Spans:
        return cls()


LAYOUTS: dict[str, Any] = {
    "inferred": lambda rows: pa.array(rows, pa.list_(PAIR)),
    "large_list": lambda rows: pa.array(rows, pa.large_list(pa.large_list(pa.int64()))),
    "fixed_size_list": lambda rows: pa.array(rows, pa.list_(pa.list_(pa.int64(), 2))),
    "int32": lambda rows: pa.array(rows, pa.list_(pa.list_(pa.int32()))),
    "int16": lambda rows: pa.array(rows, pa.list_(pa.list_(pa.int16(), 2))),
    "uint8": lambda rows: pa.array(rows, pa.large_list(pa.list_(pa.uint8()))),
    "uint64": lambda rows: pa.array(rows, pa.list_(pa.list_(pa.uint64()))),
    "extension": lambda rows: pa.ExtensionArray.from_storage(Spans(), pa.array(rows, pa.list_(PAIR))),
    "struct": lambda rows: pa.array(dicts(rows), pa.list_(SPAN)),
    "struct, large_list": lambda rows: pa.array(dicts(rows), pa.large_list(SPAN)),
    "struct, int32, other order": lambda rows: pa.array(
        dicts(rows), pa.list_(pa.struct([("end", pa.int32()), ("text", pa.string()), ("start", pa.uint16())]))
    ),
    "struct of lists": lambda rows: pa.array(
        [None if row is None else {"start": [s for s, _ in row], "end": [e for _, e in row]} for row in rows],
        pa.struct([("start", pa.list_(pa.int32())), ("end", pa.large_list(pa.int64()))]),
    ),
}


if hasattr(pa, "ListViewArray"):
    LAYOUTS["list_view"] = list_view


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    column = LAYOUTS[layout](ROWS)
    batch, counts = read_spans(column)
    assert batch.tolist() == ROWS
    assert (batch.label, batch.score, counts) == (None, None, InvalidCounts())
    # slices, chunks
    assert as_spans(column[1:]).tolist() == ROWS[1:]
    assert as_spans(column[:1]).tolist() == ROWS[:1]
    assert as_spans(column[1:2]).tolist() == [[]]
    assert as_spans(column[3:]).tolist() == []
    chunks = pa.chunked_array([column[2:], column[:0], column, column[1:2]])
    assert as_spans(chunks).tolist() == [ROWS[2], *ROWS, ROWS[1]]
    assert len(as_spans(pa.chunked_array([], column.type))) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_null_rows_are_missing(layout: str) -> None:
    rows = [[[7, 9]], None, *ROWS, None]
    column = LAYOUTS[layout](rows)
    with pytest.raises(ValueError, match=r"refs: 2 rows without annotation \(None\): rows 1, 5"):
        read_spans(column, name="refs")
    for array, first in ((column, 0), (column[1:], 1), (column[2:], 2)):
        batch, counts = read_spans(array, missing_rows="empty")
        assert batch.tolist() == [row or [] for row in rows[first:]]
        assert counts.missing == rows[first:].count(None)
    batch, counts = read_spans(pa.chunked_array([column[:1], column[1:2], column[1:]]), missing_rows="empty")
    assert batch.tolist() == [row or [] for row in [rows[0], rows[1], *rows[1:]]]
    assert counts.missing == 3


def test_null_slots_hide_values() -> None:
    # A null row may own elements that are not part of the data.
    spans = pa.array([[0, 4], [6, 9], [2, 8]], PAIR)
    for kind, offset in ((pa.ListArray, pa.int32()), (pa.LargeListArray, pa.int64())):
        column = kind.from_arrays(pa.array([0, 1, 2, 3], offset), spans, mask=pa.array([False, True, False]))
        assert len(column.values) == 3
        assert column.null_count == 1
        for array, expected in ((column, [[[0, 4]], [], [[2, 8]]]), (column[1:], [[], [[2, 8]]])):
            assert as_spans(array, missing_rows="empty").tolist() == expected
    fixed = pa.FixedSizeListArray.from_arrays(spans, 1, mask=pa.array([False, True, False]))
    assert as_spans(fixed, missing_rows="empty").tolist() == [[[0, 4]], [], [[2, 8]]]
    assert as_spans(fixed[1:], missing_rows="empty").tolist() == [[], [[2, 8]]]


def test_rectangular_fixed_size_lists() -> None:
    column = pa.array([[[0, 2]], [[3, 5]], [[1, 7]]], pa.list_(pa.list_(pa.int64(), 2), 1))
    assert as_spans(column).tolist() == [[[0, 2]], [[3, 5]], [[1, 7]]]
    assert as_spans(column[1:]).tolist() == [[[3, 5]], [[1, 7]]]
    assert as_spans(pa.array([[], []], pa.list_(PAIR, 0))).tolist() == [[], []]


@pytest.mark.parametrize(
    "kind", [pa.null(), pa.float64(), pa.string(), PAIR, pa.list_(pa.null()), pa.list_(pa.float64()), SPAN]
)
def test_columns_without_spans_have_any_element_type(kind: Any) -> None:
    assert as_spans(pa.array([[], []], pa.list_(kind))).tolist() == [[], []]


def test_column_of_nulls() -> None:
    column = pa.nulls(2)
    assert len(as_spans(column[:0])) == 0
    assert read_spans(column, missing_rows="empty")[1].missing == 2
    with pytest.raises(ValueError, match="2 rows without annotation"):
        as_spans(column)
    chunks = pa.chunked_array([pa.nulls(1, pa.list_(PAIR)), pa.array([[[0, 4]]], pa.list_(PAIR))])
    assert as_spans(chunks, missing_rows="empty").tolist() == [[], [[0, 4]]]


LABEL_TYPES = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
if hasattr(pa, "string_view"):
    LABEL_TYPES.append(pa.string_view())


@pytest.mark.parametrize("kind", LABEL_TYPES, ids=str)
@pytest.mark.parametrize("keys", [("label", "prob"), ("type", "score"), ("label_type", "confidence")])
def test_labels_and_scores(kind: Any, keys: tuple[str, str]) -> None:
    label, score = keys
    span = pa.struct([("start", pa.int64()), (score, pa.float32()), ("end", pa.int64()), (label, kind)])
    rows = [[(20, 25, "baseless", 0.5), (0, 5, None, None)], [], [(1, 2, "conflict", 0.25)]]
    column = pa.array(
        [[dict(zip(("start", "end", label, score), span, strict=True)) for span in row] for row in rows], pa.list_(span)
    )
    for array, first, spans in ((column, [[20, 25], [0, 5]], slice(None)), (column[1:], [], slice(2, None))):
        batch = as_spans(array)
        assert batch.tolist()[0] == first
        assert batch.label is not None
        assert batch.score is not None
        assert batch.label.tolist() == ["baseless", None, "conflict"][spans]
        np.testing.assert_array_equal(batch.score, np.array([0.5, np.nan, 0.25])[spans])
    chunks = as_spans(pa.chunked_array([column[1:2], column[:1], column[2:]]))
    assert chunks.label is not None
    assert chunks.label.tolist() == ["baseless", None, "conflict"]


def test_chunks_of_which_some_have_no_labels() -> None:
    span = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("prob", pa.float64())])
    rows = [[{"start": 0, "end": 4}], [{"start": 1, "end": 2, "label": "a", "prob": 1.0}]]
    batch = as_spans(pa.chunked_array([pa.array(rows[:1], pa.list_(span)), pa.array(rows[1:], pa.list_(span))]))
    assert batch.label is not None
    assert batch.score is not None
    assert batch.label.tolist() == [None, "a"]
    np.testing.assert_array_equal(batch.score, [np.nan, 1.0])
    none = as_spans(pa.array(rows[:1], pa.list_(span)))
    assert (none.label, none.score) == (None, None)


def test_struct_of_lists_with_labels() -> None:
    rows = [
        {"start": [6, 0], "end": [9, 4], "label": ["b", None], "prob": [0.5, 1.0]},
        {"start": [], "end": [], "label": [], "prob": []},
    ]
    column = pa.array(rows)
    for array in (column, pa.array([None, *rows])[1:]):
        batch = as_spans(array)
        assert batch.tolist() == [[[6, 9], [0, 4]], []]
        assert batch.label is not None
        assert batch.score is not None
        assert batch.label.tolist() == ["b", None]
        assert batch.score.tolist() == [0.5, 1.0]


def test_scalars_of_an_arrow_column_are_rows() -> None:
    column = pa.array([[[0, 4]], None, []], pa.list_(PAIR))
    assert as_spans(list(column), missing_rows="empty").tolist() == [[[0, 4]], [], []]


def test_views_of_arrow_buffers() -> None:
    column = pa.array(dicts(ROWS), pa.large_list(SPAN))
    batch = as_spans(column)
    buffers = {b.address for b in column.buffers() if b is not None}
    for array in (batch.offsets, batch.start, batch.end):
        assert array.ctypes.data in buffers
        assert not array.flags.writeable


FAULTS: dict[str, tuple[Any, type[Exception], str]] = {
    "floats": (
        pa.array([[], [[3.7, 5.0]]]),
        TypeError,
        r"refs: row 1, span 0 \[3.7, 5.0\]: the offsets of type double, expected integers",
    ),
    "whole floats": (pa.array([[[3.0, 5.0]]]), TypeError, "of type double"),
    "strings": (pa.array([[["3", "5"]]]), TypeError, r"row 0, span 0 \['3', '5'\]: .*string"),
    "bools": (pa.array([[[False, True]]]), TypeError, "bool"),
    "float in struct": (
        pa.array([[{"start": 3.0, "end": 5}]]),
        TypeError,
        "row 0, span 0 .*: start of type double, expected integers",
    ),
    "null span": (
        pa.array([[[0, 4], None], [], [None]], pa.list_(PAIR)),
        TypeError,
        r"refs: 2 problems in 2 rows: row 0, span 1 None: the span is null; row 2, span 0",
    ),
    "null struct": (pa.array([[{"start": 0, "end": 4}, None]]), TypeError, "row 0, span 1 None: the span is null"),
    "null start": (
        pa.array([[], [[0, 4], [None, 4]]], pa.list_(PAIR)),
        TypeError,
        r"row 1, span 1 \[None, 4\]: start is null",
    ),
    "null end": (
        pa.array([[[0, None]]], pa.list_(pa.list_(pa.int64(), 2))),
        TypeError,
        r"row 0, span 0 \[0, None\]: end is null",
    ),
    "null in struct": (
        pa.array([[{"start": 0, "end": None}, {"start": 1, "end": 2}]]),
        TypeError,
        "row 0, span 0 .*: end is null",
    ),
    "one number": (pa.array([[[0, 4], [6]]]), ValueError, r"row 0, span 1 \[6\]: expected \[start, end\]"),
    "three numbers": (pa.array([[[0, 4, 6]]]), ValueError, r"row 0, span 0 \[0, 4, 6\]: expected \[start, end\]"),
    "two widths": (pa.array([[[0, 4, 6], [1]]]), ValueError, "2 problems in 1 row"),
    "no end": (pa.array([[{"start": 3}]]), ValueError, "refs: the spans have no field 'end'"),
    "no start": (pa.array([[{"end": 3}]]), ValueError, "refs: the spans have no field 'start'"),
    "large uint64": (
        pa.array([[[0, 4], [2**63, 2**63 + 2]]], pa.list_(pa.list_(pa.uint64()))),
        ValueError,
        "row 0, span 1 .*: an offset does not fit 64 bits",
    ),
    "flat numbers": (pa.array([[0, 4]]), TypeError, "got a list of int64"),
    "numbers": (pa.array([0, 4]), TypeError, "got int64"),
    "JSON": (pa.array(["[[0, 4]]"]), TypeError, "got string; decode JSON first"),
    "JSON spans": (pa.array([["[0, 4]"]]), TypeError, "got a list of string; decode JSON first"),
    "one set of structs": (
        pa.array([{"start": 0, "end": 4}]),
        TypeError,
        "a row given as a struct holds lists, its field start is int64",
    ),
    "unequal lists": (
        pa.array([None, {"start": [0], "end": [4]}, {"start": [0, 6], "end": [4]}]),
        ValueError,
        "row 2: the lists of a row must be equally long, got 2 for start, 1 for end",
    ),
    "null list": (
        pa.array([{"start": [0], "end": [4]}, {"start": [0], "end": None}]),
        ValueError,
        "row 1: the list end is null",
    ),
    "number labels": (
        pa.array([[{"start": 0, "end": 4, "label": 1}]]),
        TypeError,
        "expected strings in the field label, got int64",
    ),
    "string scores": (
        pa.array([[{"start": 0, "end": 4, "prob": "1"}]]),
        TypeError,
        "expected numbers in the field prob, got string",
    ),
    "bool scores": (
        pa.array([[{"start": 0, "end": 4, "prob": True}]]),
        TypeError,
        "expected numbers in the field prob, got bool",
    ),
    "NaN score": (
        pa.array([[{"start": 0, "end": 4, "prob": None}, {"start": 0, "end": 4, "prob": float("nan")}]]),
        ValueError,
        "row 0, span 1 .*: prob is not finite",
    ),
    "table": (pa.table({"spans": [[[0, 4]]]}), TypeError, "refs: expected a column, got a pyarrow Table"),
    "scalar": (pa.scalar([[0, 4]]), TypeError, "refs: expected a column, got a pyarrow ListScalar"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("invalid", ["raise", "drop", "clip"])
def test_faults(fault: str, invalid: str) -> None:
    column, error, message = FAULTS[fault]
    with pytest.raises(error, match=message):
        read_spans(column, name="refs", invalid=invalid, missing_rows="empty")


def test_faults_name_rows_of_the_whole_column() -> None:
    good = pa.array([[[0, 4]], None], pa.list_(PAIR))
    bad = pa.array([None, [[0, 1], [None, 4]]], pa.list_(PAIR))
    with pytest.raises(TypeError, match=r"row 3, span 1 \[None, 4\]: start is null"):
        as_spans(pa.chunked_array([good, bad]))
    with pytest.raises(ValueError, match=r"row 2, span 1 \[-1, 4\]: negative"):
        as_spans(pa.chunked_array([good[:1], pa.array([[], [[0, 1], [-1, 4]]], pa.list_(PAIR))]))


PAIRS = st.tuples(st.integers(0, 50), st.integers(51, 99)).map(list)
TABLES = st.lists(st.one_of(st.none(), st.lists(PAIRS, max_size=3)), max_size=7)


@given(TABLES, st.sampled_from(sorted(LAYOUTS)), st.lists(st.integers(0, 7), max_size=3))
def test_any_slices_of_any_layout(rows: Any, layout: str, cuts: list[int]) -> None:
    column = LAYOUTS[layout](rows)
    bounds = [*sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [slice(*pair) for pair in pairwise(bounds)]
    chunks, expected = [column[part] for part in parts], [row for part in parts for row in rows[part]]
    batch, counts = read_spans(pa.chunked_array(chunks, column.type), missing_rows="empty")
    assert batch.tolist() == [row or [] for row in expected]
    assert counts.missing == expected.count(None)


@pytest.mark.parametrize("kind", LABEL_TYPES, ids=str)
def test_text_lengths(kind: Any) -> None:
    texts = ["a", "", "🙂b", "e\u0301"]
    column = pa.array(texts, kind)
    assert text_lengths(column).tolist() == [1, 0, 2, 2]
    assert text_lengths(column[2:]).tolist() == [2, 2]
    assert text_lengths(pa.chunked_array([column, column[1:3]])).tolist() == [1, 0, 2, 2, 0, 2]
    assert text_lengths(column).dtype == np.int64
    with pytest.raises(TypeError, match="text: expected strings, row 1 is"):
        text_lengths(pa.array(["a", None, None], kind))


def test_texts_of_other_types() -> None:
    with pytest.raises(TypeError, match="row 0 is 3"):
        text_lengths(pa.array([3]))
    with pytest.raises(TypeError, match="row 0 is b'a'"):
        text_lengths(pa.array([b"a"]))
    assert text_lengths(pa.chunked_array([], pa.string())).tolist() == []


def test_text_and_units_from_arrow() -> None:
    batch = as_spans(pa.array([[[3, 6]]]), text=pa.array(["🙂 bad fact"]), offsets="utf16")
    assert batch.tolist() == [[[2, 5]]]
    assert batch.length is not None
    assert batch.length.tolist() == [10]
