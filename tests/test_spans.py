"""SpanBatch as a container: what scikit-learn, pandas, numpy and pickle need of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from mycelium.spans import MAX_OFFSET, InvalidCounts, SpanBatch, check_spans

ROWS = [[[0, 4], [6, 9]], [], [[2, 8]], [[5, 6], [0, 1], [5, 6]]]


def build(rows: list[list[list[int]]] = ROWS, **more: Any) -> SpanBatch:
    pairs = np.array([span for row in rows for span in row], dtype=np.int64).reshape(-1, 2)
    offsets = np.array([0, *np.cumsum([len(row) for row in rows])], dtype=np.int64)
    return SpanBatch(offsets, pairs[:, 0].copy(), pairs[:, 1].copy(), **more)


def full() -> SpanBatch:
    return build(
        label=np.array(["a", "b", "c", "d", None, "f"], dtype=object),
        score=np.array([0.1, 0.2, np.nan, 0.4, 0.5, 0.6]),
        length=np.array([9, 0, 8, 30]),
    )


def test_is_a_one_dimensional_array_of_rows() -> None:
    batch = build()
    assert len(batch) == 4
    assert batch.shape == (4,)
    assert batch.ndim == 1
    assert batch.dtype == np.dtype(object)
    assert batch.tolist() == ROWS
    assert batch.counts.tolist() == [2, 0, 1, 3]
    assert batch.row.tolist() == [0, 0, 2, 3, 3, 3]


def test_iterates_over_rows() -> None:
    rows = list(build())
    assert [row.tolist() for row in rows] == ROWS
    assert all(row.ndim == 2 and row.shape[1] == 2 and row.dtype == np.int64 for row in rows)


@pytest.mark.parametrize("index", [0, 2, 3, -1, -4, np.int64(2), np.int32(-1)])
def test_an_integer_gives_one_row(index: int) -> None:
    row = build()[index]
    assert isinstance(row, np.ndarray)
    assert row.tolist() == ROWS[index]


def test_an_empty_row_keeps_two_columns() -> None:
    assert build()[1].shape == (0, 2)


@pytest.mark.parametrize("index", [4, -5, 10**9])
def test_an_integer_past_the_rows_raises(index: int) -> None:
    with pytest.raises(IndexError):
        build()[index]


@pytest.mark.parametrize(
    "index",
    [
        slice(None),
        slice(1, 3),
        slice(2, None),
        slice(-2, None),
        slice(3, 1),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(100, 200),
    ],
)
def test_a_slice_gives_a_batch(index: slice) -> None:
    part = build()[index]
    assert isinstance(part, SpanBatch)
    assert part.tolist() == ROWS[index]


def test_masks_and_index_arrays_give_a_batch() -> None:
    batch = build()
    for index, rows in [
        (np.array([True, False, False, True]), [0, 3]),
        ([True, False, False, True], [0, 3]),
        (np.array([3, 0, 0]), [3, 0, 0]),
        ([2, 1], [2, 1]),
        (np.array([-1, -4], dtype=np.int32), [3, 0]),
        (np.array([], dtype=np.int64), []),
        ([], []),
        (np.zeros(4, dtype=bool), []),
    ]:
        for one in (index, (index, Ellipsis)):
            part = batch[one]
            assert isinstance(part, SpanBatch)
            assert part.tolist() == [ROWS[i] for i in rows]


def test_index_with_ellipsis_for_integers_and_slices() -> None:
    assert build()[0, ...].tolist() == ROWS[0]
    assert build()[1:3, ...].tolist() == ROWS[1:3]


@pytest.mark.parametrize(
    "index",
    [
        np.array([True, False]),
        np.array([0, 4]),
        np.array([-5]),
        np.array([0.0, 1.0]),
        np.array([[0, 1]]),
        "0",
        (0, 1),
        (0, Ellipsis, 1),
        None,
        True,
    ],
    ids=repr,
)
def test_wrong_indices_raise(index: object) -> None:
    with pytest.raises(IndexError):
        build()[index]


def test_selection_takes_labels_scores_and_lengths_along() -> None:
    batch = full()
    for part in (batch[[3, 0]], batch[np.array([3, 0])], batch[-1::-3]):
        assert part.tolist() == [ROWS[3], ROWS[0]]
        assert part.label is not None
        assert part.score is not None
        assert part.length is not None
        assert part.label.tolist() == ["d", None, "f", "a", "b"]
        assert part.score.tolist() == [0.4, 0.5, 0.6, 0.1, 0.2]
        assert part.length.tolist() == [30, 9]
    tail = batch[2:]
    assert tail.label is not None
    assert tail.length is not None
    assert tail.label.tolist() == ["c", "d", None, "f"]
    assert tail.length.tolist() == [8, 30]
    assert tail.offsets.tolist() == [0, 1, 4]


def test_becomes_an_object_array_of_rows() -> None:
    # Two rows of one span each are the case that numpy would turn into a (2, 1, 2) array.
    for rows in (ROWS, [[[0, 2]], [[3, 5]]], [[], []], []):
        array = np.asarray(build(rows))
        assert array.dtype == object
        assert array.shape == (len(rows),)
        assert [row.tolist() for row in array] == rows
    assert np.asarray(build(), dtype=object).shape == (4,)
    with pytest.raises(TypeError):
        np.asarray(build(), dtype=np.int64)


def arrays(batch: SpanBatch) -> list[np.ndarray]:
    values = [getattr(batch, f.name) for f in dataclasses.fields(batch)]
    return [value for value in values if value is not None]


def test_is_read_only_also_after_unpickling_and_copying() -> None:
    batch = full()
    for one in (
        batch,
        pickle.loads(pickle.dumps(batch)),
        copy.copy(batch),
        copy.deepcopy(batch),
        batch[1:],
        batch[[0, 2]],
        batch[np.array([True, True, False, False])],
    ):
        assert len(arrays(one)) == 6
        for array in arrays(one):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.start = batch.end  # type: ignore[misc]


def test_does_not_freeze_the_arrays_of_the_caller() -> None:
    start, end = np.array([0]), np.array([3])
    batch = SpanBatch(np.array([0, 1]), start, end)
    assert not batch.start.flags.writeable
    assert start.flags.writeable
    assert end.flags.writeable


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    for batch in (build(), full(), build([]), build([[], []])):
        assert pickle.loads(pickle.dumps(batch, protocol)).equals(batch)


def test_equals() -> None:
    batch = full()
    assert batch.equals(full())
    assert not batch.equals(build())
    assert not build().equals(batch)
    assert not batch.equals(batch[::-1])
    assert not batch.equals(dataclasses.replace(batch, length=np.array([9, 0, 8, 31])))
    assert not batch.equals(dataclasses.replace(batch, score=np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])))
    assert not batch.equals(dataclasses.replace(batch, label=np.array(list("abcdef"), dtype=object)))
    # The same spans in other rows.
    assert not build([[[0, 1]], []]).equals(build([[], [[0, 1]]]))


def test_repr_is_short() -> None:
    assert "rows=4" in repr(full())
    assert "spans=6" in repr(full())
    assert len(repr(build([[[0, 1]] * 1000] * 100))) < 200


@pytest.mark.parametrize("copied", [None, True])
def test_array_protocol_copies(copied: bool | None) -> None:
    array = build().__array__(copy=copied)
    assert array[0].tolist() == ROWS[0]
    with pytest.raises(ValueError):
        build().__array__(copy=False)


# -- hosts


def test_pandas_takes_it_as_a_column() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(build())
    assert len(series) == 4
    assert [np.asarray(row).tolist() for row in series] == ROWS
    frame = pd.DataFrame({"i": range(4), "spans": build()})
    assert frame["spans"].iloc[3].tolist() == ROWS[3]


def test_scikit_learn_keeps_it_packed() -> None:
    pytest.importorskip("sklearn")
    from sklearn.model_selection import KFold, train_test_split
    from sklearn.utils import _safe_indexing, check_consistent_length, indexable

    batch = build()
    check_consistent_length(batch, [0, 1, 2, 3])
    assert indexable(batch)[0] is batch
    for index in (np.array([3, 1]), [3, 1]):
        part = _safe_indexing(batch, index)
        assert isinstance(part, SpanBatch)
        assert part.tolist() == [ROWS[3], ROWS[1]]
    mask = np.array([False, True, False, True])
    assert _safe_indexing(batch, mask).tolist() == [ROWS[1], ROWS[3]]
    left, right = train_test_split(batch, test_size=0.25, shuffle=False)
    assert isinstance(left, SpanBatch)
    assert left.tolist() == ROWS[:3]
    assert right.tolist() == ROWS[3:]
    for train, test in KFold(2).split(np.zeros(4), batch):
        assert _safe_indexing(batch, train).tolist() == [ROWS[i] for i in train]
        assert _safe_indexing(batch, test).tolist() == [ROWS[i] for i in test]


# -- construction


def i64(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("offsets", "start", "end", "more", "error"),
    [
        (i64(), i64(), i64(), {}, ValueError),
        (i64(1, 1), i64(0), i64(3), {}, ValueError),
        (i64(0, 2), i64(0), i64(3), {}, ValueError),
        (i64(0, 1, 0, 1), i64(0), i64(3), {}, ValueError),
        (i64(0, 1), i64(0, 1), i64(3, 4), {}, ValueError),
        (i64(0, 1), i64(0), i64(3, 4), {}, TypeError),
        (i64(0, 1), np.array([0.0]), i64(3), {}, TypeError),
        (i64(0, 1), np.array([0], dtype=np.int32), i64(3), {}, TypeError),
        (i64(0, 1), [0], i64(3), {}, TypeError),
        (i64(0, 1), i64(0).reshape(1, 1), i64(3), {}, TypeError),
        (i64(0, 1), i64(3), i64(0), {}, ValueError),
        (i64(0, 1), i64(3), i64(3), {}, ValueError),
        (i64(0, 1), i64(-1), i64(3), {}, ValueError),
        (i64(0, 1), i64(0), i64(MAX_OFFSET), {}, ValueError),
        (i64(0, 1), i64(0), i64(3), {"length": i64(2)}, ValueError),
        (i64(0, 1), i64(0), i64(3), {"length": i64(3, 3)}, ValueError),
        (i64(0, 1), i64(0), i64(3), {"length": [3]}, TypeError),
        (i64(0, 1), i64(0), i64(3), {"label": ["a"]}, TypeError),
        (i64(0, 1), i64(0), i64(3), {"label": np.array(["a", "b"], dtype=object)}, TypeError),
        (i64(0, 1), i64(0), i64(3), {"score": np.array([0.5, 0.5])}, TypeError),
        (i64(0, 1), i64(0), i64(3), {"score": np.array([1])}, TypeError),
    ],
)
def test_invalid_construction(offsets: Any, start: Any, end: Any, more: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        SpanBatch(offsets, start, end, **more)


def test_the_largest_offset_is_allowed() -> None:
    batch = SpanBatch(i64(0, 1), i64(0), i64(MAX_OFFSET - 1))
    assert batch.tolist() == [[[0, MAX_OFFSET - 1]]]
    assert SpanBatch(i64(0, 1), i64(0), i64(3), length=i64(3)).tolist() == [[[0, 3]]]


# -- the rule about valid spans


def unchecked(rows: list[list[list[int]]], length: list[int] | None = None) -> SpanBatch:
    pairs = np.array([span for row in rows for span in row], dtype=np.int64).reshape(-1, 2)
    offsets = np.array([0, *np.cumsum([len(row) for row in rows])], dtype=np.int64)
    n = None if length is None else np.array(length, dtype=np.int64)
    return SpanBatch._trusted(offsets, pairs[:, 0], pairs[:, 1], None, None, n)


BAD = [[[0, 4], [-1, 3]], [], [[2, 12], [10, 14]], [[5, 5], [-3, -1], [1, 2]]]
LENGTH = [10, 10, 10, 10]


def test_raise_counts_all_and_names_the_first_five() -> None:
    with pytest.raises(ValueError) as caught:
        check_spans(unchecked(BAD, LENGTH), name="predictions")
    message = str(caught.value)
    assert message.startswith("predictions: 5 invalid spans in 3 rows")
    for piece in ("row 0, span 1 [-1, 3]", "row 2, span 0 [2, 12]", "row 2, span 1 [10, 14]", "row 3, span 0 [5, 5]"):
        assert piece in message
    with pytest.raises(ValueError, match=r"7 invalid spans in 1 row: (.*; ){5}and 2 more") as caught:
        check_spans(unchecked([[[-1, 1]] * 7]), name="references")
    assert str(caught.value).count("row 0, span ") == 5


def test_drop_leaves_out_whole_spans() -> None:
    batch, counts = check_spans(unchecked(BAD, LENGTH), name="x", invalid="drop")
    assert batch.tolist() == [[[0, 4]], [], [], [[1, 2]]]
    assert counts == InvalidCounts(rows=3, dropped=5, clipped=0)


def test_clip_cuts_at_zero_and_at_the_end_of_the_text() -> None:
    batch, counts = check_spans(unchecked(BAD, LENGTH), name="x", invalid="clip")
    # [-1, 3] becomes [0, 3] and [2, 12] becomes [2, 10]; [10, 14], [5, 5] and [-3, -1] have nothing left.
    assert batch.tolist() == [[[0, 4], [0, 3]], [], [[2, 10]], [[1, 2]]]
    assert counts == InvalidCounts(rows=3, dropped=3, clipped=2)


@pytest.mark.parametrize("invalid", ["raise", "drop", "clip"])
def test_reversed_spans_and_huge_offsets_always_raise(invalid: str) -> None:
    with pytest.raises(ValueError, match=r"row 1, span 1 \[5, 2\]: reversed"):
        check_spans(unchecked([[[0, 1]], [[0, 1], [5, 2]]]), name="x", invalid=invalid)
    with pytest.raises(ValueError, match=r"row 0, span 0"):
        check_spans(unchecked([[[0, MAX_OFFSET]]]), name="x", invalid=invalid)


def test_valid_spans_pass_untouched() -> None:
    for invalid in ("raise", "drop", "clip"):
        batch, counts = check_spans(build(), name="x", invalid=invalid)
        assert batch.tolist() == ROWS
        assert counts == InvalidCounts()


def test_unknown_policy() -> None:
    with pytest.raises(ValueError, match=r"'raise', 'drop', 'clip'.*'skip'"):
        check_spans(build(), name="x", invalid="skip")


def test_counts_add_up() -> None:
    assert InvalidCounts(1, 2, 3, 4).plus(InvalidCounts(10, 20, 30, 40)) == InvalidCounts(11, 22, 33, 44)
