"""Annotations, what is made of them, and a benchmark's cleaning, against character sets and published labels."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import annotator_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import as_spans
from mycelium.annotators import (
    Annotations,
    as_annotations,
    cleaned,
    consensus,
    leave_one_out,
    merge,
    soft_labels,
    sweep,
)
from mycelium.corpora import Corpus, load_mushroom

LANGUAGES = ("ar", "ca", "cs", "de", "en", "es", "eu", "fa", "fi", "fr", "hi", "it", "sv", "zh")
SHARES: list[tuple[str | float, str | Fraction]] = [
    ("majority", "majority"),
    ("union", "union"),
    ("intersection", "intersection"),
    *((float(share), share) for share in (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(1))),
]

span = st.tuples(st.integers(0, 14), st.integers(0, 6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
span_set = st.lists(span, max_size=4)
items = st.lists(st.lists(st.one_of(st.none(), span_set), max_size=5), max_size=5)


def seen(item: list[Any]) -> list[Any]:
    return [spans for spans in item if spans is not None]


@pytest.fixture(params=[None, 3, 60])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once; each mark alone; blocks of items whose marks are held out in several blocks."""
    if request.param is not None:
        monkeypatch.setattr(sweep, "CELLS_AT_ONCE", request.param)


# -- reading


def test_absent_annotators_and_empty_marks_stay_apart() -> None:
    notes = as_annotations([{"a": [], "b": None, "c": [[1, 2]]}, None, {}, {"c": [[0, 3], [5, 6]], "a": [[2, 2]]}])
    assert notes.names == ("a", "c")
    assert notes.counts.tolist() == [2, 0, 0, 2]
    assert notes.annotator.tolist() == [0, 1, 1, 0]
    assert notes.marks.tolist() == [[], [[1, 2]], [[0, 3], [5, 6]], []]
    assert notes.item.tolist() == [0, 0, 3, 3]


def test_lists_name_annotators_by_position() -> None:
    notes = as_annotations([[None, [[0, 1]]], ([[4, 5]], None, [])])
    assert [notes.names[i] for i in notes.annotator] == [1, 0, 2]
    assert notes.marks.tolist() == [[[0, 1]], [[4, 5]], []]


def test_annotations_of_no_length_are_dropped_and_counted_wherever_they_lie() -> None:
    notes = as_annotations([{"a": [[3, 3], [0, 2], [-1, -1]], "b": [[9, 9]]}], text=["abc"])
    assert (notes.dropped, notes.marks.tolist()) == (3, [[[0, 2]], []])


@pytest.mark.parametrize(
    ("rows", "text", "error", "message"),
    [
        (
            [{"a": []}, {"a": [[0, 1]], "b": [[0, 1], [5, 2]]}],
            None,
            ValueError,
            r"row 1, annotator 'b', span 1 \[5, 2\]",
        ),
        ([{"a": [[-1, 3]]}], None, ValueError, r"row 0, annotator 'a', span 0 \[-1, 3\]"),
        ([{"a": [[0, 3], [1, 4]]}], ["abc"], ValueError, r"row 0, annotator 'a', span 1 \[1, 4\].*3 \(characters"),
        ([{"a": [[0, 2**53]]}], None, ValueError, r"annotator 'a', span 0 .*2\*\*53"),
        ([{"a": [[0, 9], [8, 9], [1, 2]]}], ["abc"], ValueError, r"span 0 .*and 1 more such span"),
        ([[[]], [[], [[0, 1], [2, 2.5]]]], None, TypeError, r"row 1, annotator 1: span 1 \[2, 2.5\]"),
        ([{"a": 3}], None, TypeError, "row 0, annotator 'a'"),
        ([{"a": float("nan")}], None, ValueError, "row 0, annotator 'a'.*None for who did not look"),
        ([3], None, TypeError, "row 0: expected a dict of annotator to spans"),
        ({"a": []}, None, TypeError, "sequence with the annotators of each item, got dict"),
        ("ab", None, TypeError, "got str"),
        ([{"a": []}], ["x", "y"], ValueError, "1 rows, text has 2"),
    ],
)
def test_what_cannot_be_read_is_named(rows: Any, text: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_annotations(rows, text=text)


def test_a_corpus_brings_annotators_and_texts() -> None:
    corpus = Corpus(("x", "y"), ("abcd", "efg"), as_spans([[], []]), annotators=({"a": [[0, 4], [1, 1]]}, None))
    notes = as_annotations(corpus)
    assert notes.texts == ("abcd", "efg")
    assert notes.marks.length is not None
    assert (notes.marks.length.tolist(), notes.dropped) == ([4], 1)
    assert as_annotations(notes) is notes
    with pytest.raises(ValueError, match="read already"):
        as_annotations(notes, text=("abcd", "efg"))
    with pytest.raises(ValueError, match="no annotators, only references"):
        as_annotations(Corpus(("x",), ("abcd",), as_spans([[]])))


def test_items_are_chosen_with_all_that_belongs_to_them() -> None:
    rows = [{"a": [[0, 1]], "b": []}, {"b": [[2, 3]]}, {}, {"c": [[1, 4]], "a": [[0, 2]]}]
    notes = as_annotations(rows, text=["abcd", "efgh", "ijkl", "mnop"])
    cases: list[tuple[Any, list[int]]] = [
        ([3, 0], [3, 0]),
        (np.array([True, False, True, True]), [0, 2, 3]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, -1), [3, 2, 1, 0]),
        ([-1, 1, 1], [3, 1, 1]),
        ([], []),
    ]
    for index, picks in cases:
        part = notes[index]
        assert isinstance(part, Annotations)
        assert part.texts == tuple(["abcd", "efgh", "ijkl", "mnop"][i] for i in picks)
        assert part.counts.tolist() == [len(rows[i]) for i in picks]
        assert [part.names[k] for k in part.annotator] == [who for i in picks for who in rows[i]]
        assert part.marks.tolist() == [spans for i in picks for spans in rows[i].values()]
    with pytest.raises(IndexError, match=r"\[2\]"):
        notes[2]


def test_annotations_are_read_only_and_picklable() -> None:
    notes = as_annotations([{"a": [[0, 1]]}, {"b": []}], text=["abcd", "efgh"])
    for array in (notes.offsets, notes.annotator, notes.marks.start):
        assert not array.flags.writeable
    again = pickle.loads(pickle.dumps(notes))
    assert again.marks.equals(notes.marks)
    assert (again.names, again.texts) == (notes.names, notes.texts)


@given(st.lists(span_set, max_size=5))
def test_merging_gives_the_runs_of_the_characters(rows: list[Any]) -> None:
    notes = as_annotations([rows])
    assert merge(notes.marks).tolist() == [oracle.connected(oracle.characters(spans)) for spans in rows]
    assert notes.merged().marks.tolist() == merge(notes.marks).tolist()


def test_far_offsets_do_not_run_into_each_other(blocks: None) -> None:
    far = 2**53 - 10
    rows = [{"a": [[0, 3]], "b": [[far, far + 9]], "c": [[far + 2, far + 5]]}] * 1500
    assert consensus(rows).tolist() == [[[far + 2, far + 5]]] * 1500
    assert leave_one_out(rows, "union").tolist()[-3:] == [
        [[far, far + 9]],
        [[0, 3], [far + 2, far + 5]],
        [[0, 3], [far, far + 9]],
    ]


# -- consensus


@pytest.mark.parametrize(("share", "exact"), SHARES, ids=lambda value: str(value))
@given(rows=items)
def test_the_consensus_is_that_of_character_sets(share: str | float, exact: str | Fraction, rows: list[Any]) -> None:
    expected = [oracle.consensus(seen(item), exact) for item in rows]
    assert consensus(rows, share, missing_rows="empty").tolist() == expected


@pytest.mark.parametrize(("share", "exact"), SHARES, ids=lambda value: str(value))
@given(rows=items)
def test_leaving_one_out_is_the_consensus_of_the_others(
    share: str | float, exact: str | Fraction, rows: list[Any]
) -> None:
    expected = []
    for item in map(seen, rows):
        expected += [oracle.consensus(item[:h] + item[h + 1 :], exact) for h in range(len(item))]
    assert leave_one_out(rows, share, missing_rows="empty").tolist() == expected


@given(rows=items)
def test_soft_labels_are_shares_per_character(rows: list[Any]) -> None:
    batch = soft_labels(rows, missing_rows="empty")
    assert batch.score is not None
    cuts = batch.offsets.tolist()
    for i, item in enumerate(rows):
        part = slice(cuts[i], cuts[i + 1])
        got = list(zip(batch.start[part].tolist(), batch.end[part].tolist(), batch.score[part].tolist(), strict=True))
        expected = oracle.soft_labels(seen(item)) if seen(item) else []
        assert got == [(start, end, float(share)) for start, end, share in expected]


def test_blocks_change_nothing(blocks: None) -> None:
    rng = np.random.default_rng(0)
    rows = [
        [[[int(s), int(s) + int(n)] for s, n in zip(rng.integers(0, 30, k), rng.integers(0, 9, k), strict=True)]
         for k in rng.integers(0, 4, rng.integers(2, 6))]
        for _ in range(40)
    ]  # fmt: skip
    assert consensus(rows).tolist() == [oracle.consensus(item, "majority") for item in rows]
    expected = [oracle.consensus(item[:h] + item[h + 1 :], "majority") for item in rows for h in range(len(item))]
    assert leave_one_out(rows).tolist() == expected
    assert soft_labels(rows).tolist() == [[[a, b] for a, b, _ in oracle.soft_labels(item)] for item in rows]


def test_the_side_of_equality() -> None:
    notes = [{"a": [[0, 4]], "b": [[2, 6]]}]
    assert consensus(notes, "majority").tolist() == [[[2, 4]]]
    assert consensus(notes, 0.5).tolist() == [[[0, 6]]]
    # One of the other two is half of them.
    assert leave_one_out([{"a": [[0, 4]], "b": [], "c": [[1, 2]]}]).tolist() == [[], [[1, 2]], []]
    assert leave_one_out([{"a": [[0, 4]], "b": [], "c": [[1, 2]]}], 0.5).tolist() == [[[1, 2]], [[0, 4]], [[0, 4]]]


def test_who_marks_a_character_twice_counts_once() -> None:
    notes = [{"a": [[0, 4], [2, 6], [2, 3]], "b": [], "c": []}]
    assert consensus(notes, "majority").tolist() == [[]]
    assert soft_labels(notes).score.tolist() == [1 / 3]  # type: ignore[union-attr]


def test_rows_without_a_consensus_are_refused_or_empty() -> None:
    notes = [{"a": [[0, 4]]}, {}, None]
    with pytest.raises(ValueError, match="rows 1, 2: no annotators, so there is no consensus"):
        consensus(notes)
    with pytest.raises(ValueError, match="row 0: one annotator and no others"):
        leave_one_out(notes)
    assert consensus(notes, missing_rows="empty").tolist() == [[[0, 4]], [], []]
    assert soft_labels(notes, missing_rows="empty").tolist() == [[[0, 4]], [], []]
    for share in ("majority", "union", "intersection", 0.1, 1):
        assert leave_one_out(notes, share, missing_rows="empty").tolist() == [[]]
    with pytest.raises(ValueError, match="missing_rows must be one of"):
        consensus(notes, missing_rows="drop")


def test_no_items_at_all() -> None:
    for batch in (consensus([]), leave_one_out([]), soft_labels([]), consensus([None], missing_rows="empty")):
        assert batch.tolist() in ([], [[]])


@pytest.mark.parametrize(
    ("share", "error"), [("most", ValueError), (0, ValueError), (1.5, ValueError), (float("nan"), ValueError),
                         (True, TypeError), (None, TypeError)]
)  # fmt: skip
def test_unknown_shares_are_refused(share: Any, error: type[Exception]) -> None:
    for function in (consensus, leave_one_out):
        with pytest.raises(error, match="share must"):
            function([{"a": [], "b": []}], share)


def test_lengths_of_texts_come_along() -> None:
    notes = as_annotations([{"a": [[0, 2]], "b": []}, {"c": [], "d": []}], text=["abc", "efghi"])
    assert consensus(notes).length.tolist() == [3, 5]  # type: ignore[union-attr]
    assert leave_one_out(notes).length.tolist() == [3, 3, 5, 5]  # type: ignore[union-attr]
    assert consensus([{"a": [[0, 2]]}]).length is None


# -- cleaning


@given(st.lists(st.tuples(st.text("ab ,.¿\u3000é\n", max_size=14), st.lists(span_set, max_size=3)), max_size=4))
def test_cleaning_follows_the_rule(rows: list[tuple[str, list[Any]]]) -> None:
    texts = [text for text, _ in rows]
    sets = [
        [[[min(a, len(text)), min(b, len(text))] for a, b in spans] for spans in item]
        for text, item in rows
    ]  # fmt: skip
    notes = cleaned(as_annotations(sets, text=texts), "mu_shroom")
    assert notes.marks.tolist() == [
        oracle.clean(text, spans) for text, item in zip(texts, sets, strict=True) for spans in item
    ]


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        # The start moves right past filling, the end past what follows it, and is then cut back.
        ("a, b. ", [[1, 4]], [[3, 4]]),
        # Two spans with filling between them become one; a third begins anew, a fourth joins the third.
        ("a b c d", [[0, 1], [2, 3]], [[0, 3]]),
        ("a b c d", [[0, 1], [2, 3], [4, 5]], [[0, 3], [4, 5]]),
        ("a b c d", [[0, 1], [2, 3], [4, 5], [6, 7]], [[0, 3], [4, 7]]),
        # Only what follows in the order given is joined.
        ("a b c d", [[2, 3], [0, 1]], [[2, 3], [0, 1]]),
        # Nothing but filling disappears, and what lies around it still meets.
        ("a . b", [[0, 1], [1, 4], [4, 5]], [[0, 5]]),
        ("...", [[0, 3]], []),
        ("", [], []),
        # A lone surrogate is a character like any other.
        ("\ud800 b", [[0, 2]], [[0, 1]]),
        # Filling by category: an ideographic full stop, a no-break space.
        ("x\u3002\u00a0y", [[0, 3]], [[0, 1]]),
    ],
)
def test_cleaning_by_hand(text: str, spans: Any, expected: Any) -> None:
    other = {"text": "zz", "spans": [[0, 2]]}
    notes = as_annotations([{"a": spans}, {"b": other["spans"]}], text=[text, other["text"]])
    assert cleaned(notes, "mu_shroom").marks.tolist() == [expected, other["spans"]]


def test_cleaning_stops_at_the_end_of_each_text() -> None:
    notes = as_annotations([{"a": [[0, 2]]}, {"a": [[0, 1]]}], text=["a.", ". b"])
    assert cleaned(notes, "mu_shroom").marks.tolist() == [[[0, 1]], []]


def test_cleaning_needs_a_known_name_and_texts() -> None:
    notes = as_annotations([{"a": [[0, 2]]}])
    assert cleaned(notes, None) is notes
    with pytest.raises(ValueError, match="give text"):
        consensus(notes, cleanup="mu_shroom")
    with pytest.raises(ValueError, match="cleanup must be None or one of 'mu_shroom'"):
        soft_labels(notes, cleanup="tidy")


@pytest.mark.corpora
@pytest.mark.parametrize("code", LANGUAGES)
def test_published_labels_come_out(corpora: Path, code: str) -> None:
    """No row of any language differs, in hard labels or in soft ones, which are published with ten digits."""
    folder = corpora / "mu_shroom" / "test"
    lines = (folder / f"mushroom.{code}-tst.v1.extra.jsonl").read_text(encoding="utf-8").split("\n")
    records = [json.loads(line) for line in lines if line]
    notes = as_annotations([r["annotations"] for r in records], text=[r["model_output_text"] for r in records])
    assert consensus(notes, cleanup="mu_shroom").tolist() == [r["hard_labels"] for r in records]
    soft = soft_labels(notes, cleanup="mu_shroom")
    assert soft.tolist() == [[[one["start"], one["end"]] for one in r["soft_labels"]] for r in records]
    assert np.round(soft.score, 10).tolist() == [one["prob"] for r in records for one in r["soft_labels"]]  # type: ignore[call-overload]


@pytest.mark.corpora
def test_all_languages_through_the_corpus(corpora: Path) -> None:
    corpus = load_mushroom(corpora / "mu_shroom")
    notes = as_annotations(corpus)
    assert (len(notes), notes.dropped) == (1902, 412)
    assert consensus(corpus, cleanup="mu_shroom").tolist() == corpus.references.tolist()
    assert corpus.soft_labels is not None
    assert soft_labels(notes, cleanup="mu_shroom").tolist() == corpus.soft_labels.tolist()
    # Without cleaning, many rows differ.
    assert consensus(corpus).tolist() != corpus.references.tolist()
