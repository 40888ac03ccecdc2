"""The verdict of each span: by hand with drawings, and against the rule on small sets."""

from __future__ import annotations

import random
import re
from collections import Counter
from unittest import mock

import errors_oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelium import as_spans, intervals
from mycelium.errors import ERRORS, KINDS, REPAIRS, Errors, find_errors, judge, repaired, verdicts
from mycelium.errors.kinds import COUNTED_ON
from mycelium.matching import match, stages_of
from mycelium.spans import SpanBatch

Span = tuple[int, int, str]


def drawn(*lines: str) -> list[Span]:
    """Read spans from a drawing: a run of one letter is a span, the letter its type."""
    return [(run.start(), run.end(), run[1]) for line in lines for run in re.finditer(r"([A-Z])\1*", line)]


def batch(*rows: list[Span]) -> SpanBatch:
    return as_spans([[list(span) for span in row] for row in rows])


def said(references: list[Span], predictions: list[Span], typed: bool = True) -> tuple[list[str], list[str]]:
    found = judge(batch(references), batch(predictions), typed=typed)
    return [KINDS[i] for i in found.references], [KINDS[i] for i in found.predictions]


# By hand ---------------------------------------------------------------------------------------------------------

#: References, predictions, verdicts of both in the order in which they are drawn: line by line, left to right.
DRAWINGS: dict[str, tuple[list[str], list[str], list[str], list[str]]] = {
    "exact": (
        ["AAAA"],
        ["AAAA"],
        ["exact"],
        ["exact"],
    ),
    "too narrow": (
        ["AAAAAA"],
        [" AAAA "],
        ["too narrow"],
        ["too narrow"],
    ),
    "too narrow, one end": (
        ["AAAAAA"],
        ["AAAA  "],
        ["too narrow"],
        ["too narrow"],
    ),
    "too wide": (
        [" AAAA "],
        ["AAAAAA"],
        ["too wide"],
        ["too wide"],
    ),
    "shifted": (
        ["AAAA  "],
        ["  AAAA"],
        ["shifted"],
        ["shifted"],
    ),
    "split, pieces that touch": (
        ["AAAAAAAA"],
        ["AAAA", "    AAAA"],
        ["split"],
        ["split", "split"],
    ),
    "split, one piece ends outside": (
        ["AAAAAAAA    "],
        ["AA   AAAAAA "],
        ["split"],
        ["split", "split"],
    ),
    "split, a piece twice": (
        ["AAAAAAAAAA"],
        ["AAAAA AAA", "       AA"],
        ["split"],
        ["split", "split", "duplicate"],
    ),
    "second prediction overlaps the first": (
        ["AAAAAAAAAA"],
        ["AAAAAAA", "     AAAAA"],
        ["too narrow"],
        ["too narrow", "duplicate"],
    ),
    "linked by a third": (
        ["AAAAAAAAAAAA"],
        ["AAAAA  AA   ", "    AAAA    "],
        ["too narrow"],
        ["too narrow", "duplicate", "duplicate"],
    ),
    "merged": (
        ["AAA   AAA"],
        ["AAAAAAAAA"],
        ["merged", "merged"],
        ["merged"],
    ),
    "merged three": (
        ["AA AA  AA "],
        [" AAAAAAAAA"],
        ["merged", "merged", "merged"],
        ["merged"],
    ),
    "overlapping references are no merger": (
        ["AAAAAA   ", "   AAAAAA"],
        ["AAAAAAAAA"],
        ["too wide", "missed"],
        ["too wide"],
    ),
    "each has a partner": (
        ["AAAA  AAAA"],
        ["AAAAAAA AA"],
        ["too wide", "too narrow"],
        ["too wide", "too narrow"],
    ),
    "wrong type": (
        ["AAAA"],
        ["BBBB"],
        ["wrong type"],
        ["wrong type"],
    ),
    "wrong type and boundaries": (
        ["AAAA  "],
        ["  BBBB"],
        ["wrong type"],
        ["wrong type"],
    ),
    "right type first": (
        ["AAAA  "],
        ["BBBB  ", "   AAA"],
        ["wrong type"],
        ["wrong type", "duplicate"],
    ),
    "right type first among overlaps": (
        ["AAAA  "],
        ["BBB   ", "   AAA"],
        ["shifted"],
        ["duplicate", "shifted"],
    ),
    "a piece of another type is none": (
        ["AAAAAAAA"],
        ["AAAA BBB"],
        ["too narrow"],
        ["too narrow", "duplicate"],
    ),
    "a reference of another type is not merged": (
        ["AAA   BBB"],
        ["AAAAAAAAA"],
        ["too wide", "missed"],
        ["too wide"],
    ),
    "two of another type": (
        ["AAAAAAAA"],
        ["BBBB BBB"],
        ["wrong type"],
        ["wrong type", "duplicate"],
    ),
    "duplicate, equal": (
        ["AAAA"],
        ["AAAA", "AAAA"],
        ["exact"],
        ["exact", "duplicate"],
    ),
    "duplicate, inside": (
        ["AAAA"],
        ["AAAA", " AA "],
        ["exact"],
        ["exact", "duplicate"],
    ),
    "one prediction, two equal references": (
        ["AAAA", "AAAA"],
        ["AAAA"],
        ["exact", "missed"],
        ["exact"],
    ),
    "missed and spurious": (
        ["AAAA    "],
        ["    AAAA"],
        ["missed"],
        ["spurious"],
    ),
    "nothing": ([], [], [], []),
    "only references": (["AA BB"], [], ["missed", "missed"], []),
    "only predictions": ([], ["AA BB"], [], ["spurious", "spurious"]),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings(name: str) -> None:
    ours, theirs, said_r, said_p = DRAWINGS[name]
    references, predictions = drawn(*ours), drawn(*theirs)
    found_r, found_p = said(references, predictions)
    assert Counter(zip(references, found_r, strict=True)) == Counter(zip(references, said_r, strict=True))
    assert Counter(zip(predictions, found_p, strict=True)) == Counter(zip(predictions, said_p, strict=True))


def test_every_kind_is_drawn() -> None:
    assert {kind for _, _, ours, theirs in DRAWINGS.values() for kind in ours + theirs} == set(KINDS)


@pytest.mark.parametrize(
    ("ours", "theirs", "said_r", "said_p"),
    [
        (["AAAA"], ["BBBB"], ["exact"], ["exact"]),
        (["AAAAAAAA"], ["AAAA BBB"], ["split"], ["split", "split"]),
        (["AAA   BBB"], ["AAAAAAAAA"], ["merged", "merged"], ["merged"]),
        (["AAAA  "], ["  BBBB"], ["shifted"], ["shifted"]),
    ],
)
def test_without_types_all_are_of_one(ours: list[str], theirs: list[str], said_r: list[str], said_p: list[str]) -> None:
    assert said(drawn(*ours), drawn(*theirs), typed=False) == (said_r, said_p)


def test_a_piece_goes_where_it_shares_most() -> None:
    # The third prediction, [8, 13), shares 2 characters with the first reference and 3 with the second.
    references = [(0, 10, "A"), (10, 20, "A")]
    assert said(references, [(0, 5, "A"), (8, 13, "A"), (15, 20, "A")]) == (
        ["too narrow", "split"],
        ["too narrow", "split", "split"],
    )


# Against the rule ------------------------------------------------------------------------------------------------

spans = st.tuples(st.integers(0, 7), st.integers(1, 6), st.sampled_from("ABC")).map(lambda x: (x[0], x[0] + x[1], x[2]))
sets = st.lists(spans, max_size=5).map(sorted)


@settings(max_examples=1500)
@given(sets, sets, st.booleans())
def test_the_rule(references: list[Span], predictions: list[Span], typed: bool) -> None:
    # Without types the oracle must not see any: they would change the canonical order.
    if not typed:
        references, predictions = ([(s, e, "A") for s, e, _ in side] for side in (references, predictions))
    assert said(references, predictions, typed) == errors_oracle.verdicts(references, predictions, typed)


@given(sets, sets)
def test_without_types_labels_are_of_no_consequence(references: list[Span], predictions: list[Span]) -> None:
    bare = [[(start, end, "A") for start, end, _ in side] for side in (references, predictions)]
    for given_spans, stripped, ours, theirs in zip(
        (references, predictions), bare, said(references, predictions, False), said(*bare, False), strict=True
    ):
        assert Counter(zip([span[:2] for span in given_spans], ours, strict=True)) == Counter(
            zip([span[:2] for span in stripped], theirs, strict=True)
        )


def test_ties_go_by_the_name_of_the_type() -> None:
    # C could be either's partner; A comes first, whatever was given first.
    for references in ([(0, 4, "A"), (0, 4, "B")], [(0, 4, "B"), (0, 4, "A")]):
        found = dict(zip(references, said(references, [(1, 3, "C")])[0], strict=True))
        assert found == {(0, 4, "A"): "wrong type", (0, 4, "B"): "missed"}


long = st.tuples(st.integers(0, 24), st.integers(1, 16), st.just("A")).map(lambda x: (x[0], x[0] + x[1], x[2]))
small = st.tuples(st.integers(0, 38), st.integers(1, 4), st.just("A")).map(lambda x: (x[0], x[0] + x[1], x[2]))


@settings(max_examples=700)
@given(st.lists(long, max_size=3).map(sorted), st.lists(small, max_size=6).map(sorted), st.booleans())
def test_the_rule_on_splits_and_mergers(few: list[Span], many: list[Span], turned: bool) -> None:
    sides = (many, few) if turned else (few, many)
    assert said(*sides) == errors_oracle.verdicts(*sides, True)


rows = st.lists(st.tuples(sets, sets), min_size=1, max_size=5)


def words(references: SpanBatch, predictions: SpanBatch, typed: bool) -> list[list[Counter[tuple[object, ...]]]]:
    """Return for each side and row how often each span has each verdict."""
    found = judge(references, predictions, typed=typed)
    out = []
    for side, kinds in ((references, found.references), (predictions, found.predictions)):
        assert side.label is not None or not len(side.start)
        label = [] if side.label is None else side.label.tolist()
        counted: list[Counter[tuple[object, ...]]] = [Counter() for _ in range(len(side))]
        columns = (side.row.tolist(), side.start.tolist(), side.end.tolist(), label, kinds.tolist())
        for row, *what in zip(*columns, strict=True):
            counted[row][tuple(what)] += 1
        out.append(counted)
    return out


@given(rows, st.booleans(), st.randoms(use_true_random=False))
def test_order_is_of_no_consequence(
    examples: list[tuple[list[Span], list[Span]]], typed: bool, rng: random.Random
) -> None:
    ours, theirs = ([example[i] for example in examples] for i in (0, 1))
    expected = words(batch(*ours), batch(*theirs), typed)
    mixed = [[rng.sample(row, len(row)) for row in side] for side in (ours, theirs)]
    assert words(batch(*mixed[0]), batch(*mixed[1]), typed) == expected
    order = rng.sample(range(len(examples)), len(examples))
    turned = words(batch(*(ours[i] for i in order)), batch(*(theirs[i] for i in order)), typed)
    assert turned == [[side[i] for i in order] for side in expected]


@given(rows, st.booleans())
def test_both_sides_agree(examples: list[tuple[list[Span], list[Span]]], typed: bool) -> None:
    references, predictions = (batch(*(example[i] for example in examples)) for i in (0, 1))
    found = judge(references, predictions, typed=typed)
    at = np.flatnonzero(found.partner_p >= 0)
    np.testing.assert_array_equal(found.partner_r[found.partner_p[at]], at)
    np.testing.assert_array_equal(found.references[found.partner_p[at]], found.predictions[at])
    # A partner is in the same row.
    np.testing.assert_array_equal(references.row[found.partner_p[at]], predictions.row[at])
    alone_r = {KINDS[i] for i in found.references[found.partner_r < 0]}
    alone_p = {KINDS[i] for i in found.predictions[found.partner_p < 0]}
    assert alone_r <= {"missed", "merged"}
    assert alone_p <= {"duplicate", "spurious", "split"}
    assert not {KINDS[i] for i in found.references} & {"duplicate", "spurious"}
    assert "missed" not in {KINDS[i] for i in found.predictions}
    for kind in ("split", "merged"):
        number = KINDS.index(kind)
        n_r, n_p = (found.references == number).sum(), (found.predictions == number).sum()
        assert (n_r < n_p if kind == "split" else n_p < n_r) or n_r == n_p == 0


@given(sets, sets)
def test_wrong_types_are_those_of_the_confusion(references: list[Span], predictions: list[Span]) -> None:
    """Off the diagonal of the confusion matrix, but for "none", stand as many pairs as have the wrong type."""
    from mycelium.matching import Spans

    sides = []
    for side in (references, predictions):
        array = np.array([(s, e, "ABC".index(label)) for s, e, label in side], dtype=np.int64).reshape(-1, 3)
        sides.append(Spans(array[:, 0], array[:, 1], array[:, 2]))
    pairs = match(*sides, stages_of("confusion"))
    types = [side.type for side in sides]
    assert types[0] is not None
    assert types[1] is not None
    off = (types[0][pairs.reference] != types[1][pairs.prediction]).sum()
    assert said(references, predictions)[0].count("wrong type") == off


@given(rows, st.booleans())
def test_blocks_change_nothing(examples: list[tuple[list[Span], list[Span]]], typed: bool) -> None:
    references, predictions = (batch(*(example[i] for example in examples)) for i in (0, 1))
    expected = judge(references, predictions, typed=typed)
    with mock.patch.object(intervals, "PAIRS_AT_ONCE", 2), mock.patch.object(verdicts, "_LIMIT", 40):
        found = judge(references, predictions, typed=typed)
    for name in ("references", "predictions"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_offsets_far_out() -> None:
    far = 2**52
    references = as_spans([[[0, 10]], [[far, far + 10]], [[5, far]]] * 2000)
    predictions = as_spans([[[0, 10]], [[far, far + 9]], [[6, far]]] * 2000)
    found = judge(references, predictions, typed=False)
    assert [KINDS[i] for i in found.references] == ["exact", "too narrow", "too narrow"] * 2000
    assert found.predictions.tolist() == found.references.tolist()


def test_spans_without_types_among_others() -> None:
    # Types do not count, and which of two equal places is meant does not depend on the order.
    mixed = [[0, 4, "A"], [0, 4], [0, 4, "B"]]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        found = judge(as_spans([[[0, 4]]]), as_spans([[mixed[i] for i in order]]), typed=False)
        assert KINDS[found.predictions[order.index(1)]] == "exact"
        assert sorted(KINDS[i] for i in found.predictions) == ["duplicate", "duplicate", "exact"]


def test_the_tables_are_whole() -> None:
    assert set(REPAIRS) == set(ERRORS) == set(KINDS) - {"exact"}
    assert set(COUNTED_ON) == set(KINDS)


# Repairs ---------------------------------------------------------------------------------------------------------


def listed(side: SpanBatch) -> list[list[tuple[object, ...]]]:
    label = [None] * len(side.start) if side.label is None else side.label.tolist()
    flat = list(zip(side.start.tolist(), side.end.tolist(), label, strict=True))
    cuts = side.offsets.tolist()
    return [sorted(flat[cuts[i] : cuts[i + 1]]) for i in range(len(side))]


REPAIRED: dict[str, tuple[list[str], list[str], list[str]]] = {
    "too narrow": (["AAAAAA   AA"], [" AAAA   AAAA"], ["AAAAAA  AAAA"]),
    "too wide": ([" AAAA   AA"], ["AAAAAA   A"], [" AAAA    A"]),
    "shifted": (["AAAA    AA"], ["  AAAA   A"], ["AAAA     A"]),
    "split": (["AAAAAAAA  A"], [" AA AAA   AAA"], ["AAAAAAAA  AAA"]),
    "merged": (["AAA   AAA  A"], ["AAAAAAA    AA"], ["AAA   AAA  AA"]),
    "wrong type": (["AAAA AAAA  A"], ["BBBB   BBB AA"], ["AAAA   AAA AA"]),
    "duplicate": (["AAAA  "], ["AAAA B", " AAA  "], ["AAAA B"]),
    "missed": (["AAAA BB AA"], ["     BBB"], ["AAAA BBB", "        AA"]),
    "spurious": (["AAAA  "], [" AAA BB"], [" AAA   "]),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_repairs_by_hand(kind: str) -> None:
    ours, theirs, after = REPAIRED[kind]
    references, predictions = batch([], drawn(*ours)), batch([], drawn(*theirs))
    found = judge(references, predictions, typed=True)
    better = repaired(references, predictions, found, [kind])
    assert listed(better) == [[], sorted(drawn(*after))]
    assert listed(predictions) == [[], sorted(drawn(*theirs))]


def test_a_wrong_type_keeps_its_boundaries_unless_these_are_repaired_too() -> None:
    errors = find_errors(references=[[[0, 8, "A"]]], predictions=[[[2, 6, "B"]]], metrics=["iou"])
    assert listed(errors.repair("wrong type")) == [[(2, 6, "A")]]
    assert listed(errors.repair("too narrow")) == [[(2, 6, "B")]]
    assert listed(errors.repair("wrong type", "too wide")) == [[(2, 6, "A")]]
    assert listed(errors.repair("wrong type", "too narrow")) == [[(0, 8, "A")]]


@given(rows, st.booleans())
def test_repairing_everything_gives_the_references(examples: list[tuple[list[Span], list[Span]]], typed: bool) -> None:
    references, predictions = (batch(*(example[i] for example in examples)) for i in (0, 1))
    errors = find_errors(references=references, predictions=predictions, typed=typed, metrics=["iou"], repair=False)
    better = errors.repair()
    if typed:
        assert listed(better) == listed(references)
    else:
        assert [sorted(row) for row in better.tolist()] == [sorted(row) for row in references.tolist()]
    again = find_errors(references=references, predictions=better, typed=typed, metrics=["iou"])
    assert again["scores"] == {"iou": {"score": 1.0}}
    assert again["repaired"] == {}
    assert sum(again.counts[kind]["cases"] for kind in ERRORS) == 0


@given(rows, st.sampled_from(ERRORS))
def test_a_repair_touches_its_kind_only(examples: list[tuple[list[Span], list[Span]]], kind: str) -> None:
    """Predictions of other kinds are still there, in number; nothing of the kind is lost for the references."""
    references, predictions = (batch(*(example[i] for example in examples)) for i in (0, 1))
    found = judge(references, predictions, typed=True)
    better = repaired(references, predictions, found, [kind])
    number = KINDS.index(kind)
    for row in range(len(references)):
        before, after = (Counter(listed(side)[row]) for side in (predictions, better))
        of_kind = ((found.predictions == number) & (predictions.row == row)).sum()
        places = found.references[references.row == row] == number
        own = slice(*references.offsets[row : row + 2])
        bounds = zip(references.start[own], references.end[own], places, strict=True)
        ours = Counter((int(start), int(end), "A") for start, end, wanted in bounds if wanted)
        assert sum((before - after).values()) <= of_kind
        if kind in ("too narrow", "too wide", "shifted", "split", "merged", "missed"):
            assert sum(after.values()) == sum(before.values()) - of_kind + sum(ours.values())
            blind = Counter((start, end, "A") for start, end, _ in after.elements())
            assert not ours - blind


def test_errors_without_spans() -> None:
    with pytest.raises(ValueError, match="hold no spans"):
        Errors().repair()
