"""Reading spans from Python and NumPy containers: every accepted form, every refusal."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import InvalidCounts
from mycelium.formats import as_spans, read_spans, text_lengths
from mycelium.formats import rows as rows_module
from mycelium.formats.careful import read_carefully
from mycelium.formats.rows import read_rows

ROWS = [[[0, 4], [6, 9]], [], [[2, 8]]]

Pair = collections.namedtuple("Pair", ["start", "end"])


def filled(rows: list[Any]) -> np.ndarray[Any, Any]:
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


FORMS = {
    "lists": ROWS,
    "tuples": tuple(tuple(tuple(span) for span in row) for row in ROWS),
    "named tuples": [[Pair(*span) for span in row] for row in ROWS],
    "NumPy integers": [[[np.int32(s), np.uint8(e)] for s, e in row] for row in ROWS],
    "(k, 2) arrays": [np.array(row, dtype=np.int64).reshape(-1, 2) for row in ROWS],
    "(k, 2) arrays of several integer types": [
        np.array(ROWS[0], dtype=np.int16),
        np.empty((0, 2), dtype=np.int64),
        np.array(ROWS[2], dtype=np.uint64),
    ],
    "np.array(row), float where empty": [np.array(row) for row in ROWS],
    "arrays and lists": [np.array(ROWS[0]), [], ROWS[2]],
    "lists of arrays": [[np.array(span) for span in row] for row in ROWS],
    "arrays of arrays, as pandas reads Parquet": [filled([np.array(span) for span in row]) for row in ROWS],
    "object arrays": [np.array(row, dtype=object) for row in ROWS],
    "an object array": filled(ROWS),
    "dicts": [[{"start": s, "end": e} for s, e in row] for row in ROWS],
    "dicts with more keys": [[{"text": "a", "end": e, "start": s, "meta": None} for s, e in row] for row in ROWS],
    "ordered dicts": [[collections.OrderedDict(start=s, end=e) for s, e in row] for row in ROWS],
    "dicts of lists": [{"start": [s for s, _ in row], "end": [e for _, e in row]} for row in ROWS],
    "dicts of arrays": [
        {"start": np.array([s for s, _ in row], dtype=np.int32), "end": np.array([e for _, e in row], dtype=np.int64)}
        for row in ROWS
    ],
    "dicts of float arrays where empty": [
        {"start": np.array([s for s, _ in row]), "end": np.array([e for _, e in row])} for row in ROWS
    ],
    "mixed": [[[0, 4], {"start": 6, "end": 9}], {"start": [], "end": []}, np.array([[2, 8]])],
    "mixed spans": [[(0, 4), np.array([6, 9])], (), [[2, 8]]],
    "another sequence": collections.UserList(ROWS),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    batch, counts = read_spans(FORMS[form])
    assert batch.tolist() == ROWS
    assert batch.offsets.tolist() == [0, 2, 2, 3]
    assert (batch.label, batch.score, batch.length) == (None, None, None)
    assert counts == InvalidCounts()
    assert batch.start.flags.c_contiguous
    assert batch.end.flags.c_contiguous


@pytest.mark.parametrize(
    ("rows", "shape"),
    [([[[0, 2]], [[3, 5]]], (2, 1, 2)), ([[], []], (2, 0)), ([[[0, 2]]], (1, 1, 2)), ([[[0, 2], [3, 5]]], (1, 2, 2))],
)
def test_rectangular_rows_stay_rows(rows: list[Any], shape: tuple[int, ...]) -> None:
    # NumPy turns lists of equal lengths into an N-D array, even with dtype=object.
    array = np.array(rows, dtype=object)
    assert array.shape == shape
    for container in (rows, array, np.array(rows, dtype=np.int64), np.array(rows, dtype=np.uint64), filled(rows)):
        assert as_spans(container).tolist() == rows


def test_rectangular_rows_of_dicts() -> None:
    rows = [[{"start": 0, "end": 2}], [{"start": 3, "end": 5}]]
    array = np.array(rows, dtype=object)
    assert array.shape == (2, 1)
    assert as_spans(array).tolist() == [[[0, 2]], [[3, 5]]]


@pytest.mark.parametrize(
    "empty", [[], (), np.empty(0), np.empty((0, 2)), np.empty((0, 3, 2)), np.empty(0, dtype=object)]
)
def test_no_rows(empty: Any) -> None:
    assert len(as_spans(empty)) == 0


@pytest.mark.parametrize("row", [[], (), np.empty(0), np.empty((0, 2)), np.empty((1, 0)), {"start": [], "end": []}])
def test_empty_rows(row: Any) -> None:
    assert as_spans([row, [[0, 1]], row]).tolist() == [[], [[0, 1]], []]
    assert as_spans([row, row]).tolist() == [[], []]


def test_one_row_as_dict_of_lists_with_types() -> None:
    # A row of datasets, an empty one, and a list of dicts in one batch.
    batch = as_spans(
        [
            {"start": [0, 6], "end": [4, 9], "type": ["conflict", "baseless"]},
            {"start": [], "end": []},
            [{"start": 0, "end": 4}],
        ]
    )
    assert batch.tolist() == [[[0, 4], [6, 9]], [], [[0, 4]]]
    assert batch.label is not None
    assert batch.label.tolist() == ["conflict", "baseless", None]


def test_dicts_of_lists_alone_with_types_and_scores() -> None:
    batch = as_spans(
        [
            {"start": [6, 0], "end": [9, 4], "label": ["b", None], "prob": [None, 0.25]},
            {"start": [], "end": [], "label": [], "prob": []},
        ]
    )
    assert batch.tolist() == [[[6, 9], [0, 4]], []]
    assert batch.label is not None
    assert batch.score is not None
    assert batch.label.tolist() == ["b", None]
    np.testing.assert_array_equal(batch.score, [np.nan, 0.25])


@pytest.mark.parametrize(
    "rows",
    [
        [[[20, 25, "baseless"], [0, 5, "conflict"]], [[1, 2, None]]],
        [[(20, 25, "baseless"), (0, 5, "conflict")], [(1, 2)]],
        [np.array([[20, 25, "baseless"], [0, 5, "conflict"]], dtype=object), [[1, 2]]],
        [
            [{"start": 20, "end": 25, "label": "baseless"}, {"start": 0, "end": 5, "label": "conflict"}],
            [{"start": 1, "end": 2}],
        ],
        [[{"start": 20, "end": 25, "type": "baseless"}, {"start": 0, "end": 5, "label_type": "conflict"}], [[1, 2]]],
        [
            [{"start": 20, "end": 25, "label_type": "baseless"}, [0, 5, "conflict"]],
            [{"start": 1, "end": 2, "label": None}],
        ],
    ],
)
def test_types_stay_with_their_spans(rows: list[Any]) -> None:
    batch = as_spans(rows)
    assert batch.tolist() == [[[20, 25], [0, 5]], [[1, 2]]]
    assert batch.label is not None
    assert batch.label.dtype == object
    assert batch.label.tolist() == ["baseless", "conflict", None]


@pytest.mark.parametrize("key", ["prob", "score", "confidence"])
def test_scores(key: str) -> None:
    batch = as_spans(
        [
            [
                {"start": 0, "end": 4, key: 0},
                {"start": 1, "end": 2, key: np.float32(0.5)},
                [3, 4],
                {"start": 5, "end": 6, key: None},
            ]
        ]
    )
    assert batch.score is not None
    np.testing.assert_array_equal(batch.score, [0.0, 0.5, np.nan, np.nan])
    regular = as_spans([[{"start": 0, "end": 4, key: 0.75}, {"start": 1, "end": 2, key: None}]])
    assert regular.score is not None
    np.testing.assert_array_equal(regular.score, [0.75, np.nan])


def test_no_label_or_score_at_all() -> None:
    batch = as_spans([[{"start": 0, "end": 4, "label": None, "prob": None}], [[1, 2, None]]])
    assert (batch.label, batch.score) == (None, None)
    batch = as_spans([[{"start": 0, "end": 4, "label": None, "prob": None}]])
    assert (batch.label, batch.score) == (None, None)


def test_the_first_of_several_names_is_read() -> None:
    span = {
        "confidence": 0.1,
        "label_type": "c",
        "type": "b",
        "label": "a",
        "score": 0.2,
        "prob": 0.3,
        "start": 0,
        "end": 4,
    }
    for rows in ([[span]], [[span, [4, 5]]]):
        batch = as_spans(rows)
        assert batch.label is not None
        assert batch.score is not None
        assert (batch.label[0], batch.score[0]) == ("a", 0.3)


@pytest.mark.parametrize(
    "span", [[0, 10], {"start": 0, "end": 10}, [np.int64(0), np.int64(10)], {"start": np.int64(0), "end": np.int64(10)}]
)
def test_a_start_of_zero_is_a_start(span: Any) -> None:
    assert as_spans([[span]], text=["0123456789"]).tolist() == [[[0, 10]]]


# -- missing rows


@pytest.mark.parametrize(
    "rows",
    [
        [None, [[0, 4]], None],
        [float("nan"), np.array([[0, 4]]), None],
        filled([None, [[0, 4]], np.nan]),
        [None, {"start": [0], "end": [4]}, None],
    ],
)
def test_missing_rows(rows: Any) -> None:
    with pytest.raises(
        ValueError, match=r'^refs: 2 rows without annotation \(None\): rows 0, 2; .*missing_rows="empty"'
    ):
        read_spans(rows, name="refs")
    batch, counts = read_spans(rows, missing_rows="empty")
    assert batch.tolist() == [[], [[0, 4]], []]
    assert counts == InvalidCounts(missing=2)


def test_many_missing_rows_are_counted() -> None:
    with pytest.raises(ValueError, match=r"7 rows without annotation .*: rows 0, 1, 2, 3, 4 and 2 more"):
        as_spans([None] * 7)


# -- ranges, text


def test_policies() -> None:
    rows = [[[-2, 3], [1, 1], [2, 4]], [[8, 12], [10, 11]]]
    text = ["0123456789"] * 2
    with pytest.raises(ValueError, match=r"references: 4 invalid spans in 2 rows: row 0, span 0 \[-2, 3\]: negative"):
        read_spans(rows, name="references", text=text)
    assert read_spans(rows, text=text, invalid="drop")[0].tolist() == [[[2, 4]], []]
    assert read_spans(rows, text=text, invalid="drop")[1] == InvalidCounts(rows=2, dropped=4)
    assert read_spans(rows, text=text, invalid="clip")[0].tolist() == [[[0, 3], [2, 4]], [[8, 10]]]
    assert read_spans(rows, text=text, invalid="clip")[1] == InvalidCounts(rows=2, dropped=2, clipped=2)


@pytest.mark.parametrize("invalid", ["raise", "drop", "clip"])
def test_reversed_spans_always_raise(invalid: str) -> None:
    with pytest.raises(ValueError, match=r"row 0, span 0 \[5, 3\]: reversed"):
        as_spans([[[5, 3]]], invalid=invalid)


def test_text_gives_lengths_in_characters() -> None:
    batch = as_spans([[[2, 5]], []], text=["🙂 bad fact", ""])
    assert batch.length is not None
    assert batch.length.tolist() == [10, 0]


@pytest.mark.parametrize("texts", [[], ["a"], ["a", "b", "c"]])
def test_other_number_of_texts(texts: list[str]) -> None:
    with pytest.raises(ValueError, match=f"references has 2 rows, text has {len(texts)}"):
        read_spans([[], []], text=texts, name="references")
    with pytest.raises(ValueError, match=f"references has 2 rows, text has {len(texts)}"):
        read_spans([[], []], text=texts, name="references", offsets="utf16")
    with pytest.raises(ValueError, match=f"references has 2 rows, text has {len(texts)}"):
        read_spans(as_spans([[], []]), text=texts, name="references")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("abc", "text: expected a batch"),
        ([None, "a"], "text: expected strings, row 0 is None"),
        (["a", 3, b"c"], r"row 1 is 3 \(int\); row 2 is b'c' \(bytes\)"),
        ([None] * 7, "and 2 more"),
        ([["a"]], "row 0 is"),
        (np.array([["a"]]), "shape"),
        ([float("nan")], "row 0 is nan"),
    ],
)
def test_texts_that_are_none(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        text_lengths(texts)


def test_text_lengths() -> None:
    expected = [1, 0, 2, 2]
    texts = ["a", "", "🙂b", "e\u0301"]
    for container in (texts, tuple(texts), np.array(texts), np.array(texts, dtype=object), [np.str_(t) for t in texts]):
        lengths = text_lengths(container)
        assert lengths.tolist() == expected
        assert lengths.dtype == np.int64


@pytest.mark.parametrize("option", ["invalid", "missing_rows", "offsets", "end"])
def test_unknown_options(option: str) -> None:
    for rows in (ROWS, as_spans(ROWS)):
        with pytest.raises(ValueError, match=f"{option} must be one of .*, got 'other'"):
            as_spans(rows, **{option: "other"})


# -- SpanBatch


def test_a_batch_is_returned_as_it_is() -> None:
    batch = as_spans([[[0, 4, "a"]], []], text=["abcd", ""])
    assert as_spans(batch) is batch
    assert as_spans(batch, offsets="utf16", end="inclusive") is batch


def test_a_batch_is_checked_again_with_text() -> None:
    batch = as_spans([[[0, 4, "a"], [6, 9, "b"]]])
    again = as_spans(batch, text=["0123456789"])
    assert again.length is not None
    assert again.length.tolist() == [10]
    with pytest.raises(ValueError, match=r"row 0, span 1 \[6, 9\]: past the end of the text"):
        as_spans(batch, text=["01234567"])
    clipped, counts = read_spans(batch, text=["01234567"], invalid="clip")
    assert clipped.tolist() == [[[0, 4], [6, 8]]]
    assert counts == InvalidCounts(rows=1, clipped=1)
    assert clipped.label is not None
    assert clipped.label.tolist() == ["a", "b"]


def test_input_is_neither_kept_nor_changed() -> None:
    array = np.array([[[0, 4]], [[2, 8]]])
    batch = as_spans(array)
    array[:] = 77
    assert batch.tolist() == [[[0, 4]], [[2, 8]]]
    array[:] = 1
    assert array.flags.writeable


# -- the quick and the careful way agree

LABELS = st.one_of(st.none(), st.sampled_from(["x", "y"]))
NUMBERS = st.one_of(
    st.integers(0, 5),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(),
    st.none(),
    st.just("1"),
    st.just(2**63),
    st.builds(np.int64, st.integers(0, 2)),
    st.builds(np.bool_, st.booleans()),
)
INTEGERS = st.integers(-3, 9)


def spans_of(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(numbers, numbers)
    return st.one_of(
        pair,
        pair.map(list),
        st.tuples(numbers, numbers, LABELS).map(list),
        st.fixed_dictionaries(
            {"start": numbers, "end": numbers}, optional={"label": LABELS, "prob": st.one_of(st.none(), st.floats())}
        ),
        pair.map(np.array),
    )


def rows_of(span: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.lists(span, max_size=3), max_size=4)


def outcome(read: Any, rows: Any) -> Any:
    try:
        raw = read(rows, "spans")
    except (TypeError, ValueError) as error:
        return str(error)
    label = None if raw.label is None else raw.label.tolist()
    score = None if raw.score is None else list(map(repr, raw.score.tolist()))
    return raw.offsets.tolist(), raw.start.tolist(), raw.end.tolist(), label, score


@given(
    st.one_of(
        [
            rows_of(form)
            for form in (
                spans_of(INTEGERS),
                spans_of(NUMBERS),
                st.tuples(NUMBERS, NUMBERS),
                st.tuples(INTEGERS, INTEGERS, LABELS),
                st.fixed_dictionaries(
                    {"start": INTEGERS, "end": INTEGERS},
                    optional={"label": LABELS, "score": st.one_of(st.none(), st.floats())},
                ),
            )
        ]
    )
)
def test_quick_and_careful_reading_agree(rows: list[Any]) -> None:
    assert outcome(read_rows, rows) == outcome(read_carefully, rows)


@given(rows_of(st.tuples(st.integers(0, 5), st.integers(6, 9), LABELS)))
def test_reading_loses_nothing(rows: list[Any]) -> None:
    batch = as_spans(rows)
    flat = [span for row in rows for span in row]
    labels = [None] * len(flat) if batch.label is None else batch.label.tolist()
    assert batch.counts.tolist() == [len(row) for row in rows]
    assert list(zip(batch.start.tolist(), batch.end.tolist(), labels, strict=True)) == flat


@pytest.mark.parametrize(
    "form",
    [
        "lists",
        "tuples",
        "NumPy integers",
        "(k, 2) arrays",
        "np.array(row), float where empty",
        "arrays and lists",
        "lists of arrays",
        "arrays of arrays, as pandas reads Parquet",
        "object arrays",
        "dicts",
        "dicts with more keys",
        "dicts of lists",
        "dicts of arrays",
    ],
)
def test_regular_forms_take_the_quick_way(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the careful way was taken")

    monkeypatch.setattr(rows_module, "read_carefully", refuse)
    assert as_spans(FORMS[form]).tolist() == ROWS
