"""How two span sets lie to each other, against character sets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import annotator_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import line
from mycelium.annotators import RELATIONS, as_annotations, pairwise_relations, relation, relations
from mycelium.corpora import load_mushroom

span = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
span_set = st.lists(span, max_size=4)


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        ([], [], "both_empty"),
        ([], [[0, 1]], "one_empty"),
        ([[0, 1]], [], "one_empty"),
        # Spans that touch, overlap, repeat or stand in another order make the same characters.
        ([[5, 8], [0, 2], [2, 4], [1, 3], [5, 8]], [[0, 4], [5, 8]], "exact"),
        # Only boundaries differ, strictly somewhere.
        ([[1, 3], [6, 8]], [[0, 4], [6, 8]], "pred_nested"),
        ([[0, 4], [6, 8]], [[0, 4], [6, 7]], "gold_nested"),
        ([[6, 8], [1, 2], [2, 3]], [[5, 9], [0, 4]], "pred_nested"),
        # Inside, but with another number of spans.
        ([[0, 1], [3, 4]], [[0, 4]], "pred_inside_other"),
        ([[0, 1]], [[0, 1], [3, 4]], "pred_inside_other"),
        ([[0, 4]], [[0, 1], [3, 4]], "gold_inside_other"),
        # As many spans, inside as characters, but not each in its own: two in the first, none in the second.
        ([[0, 1], [3, 4]], [[0, 4], [6, 8]], "pred_inside_other"),
        ([[0, 4], [6, 8]], [[0, 1], [3, 4]], "gold_inside_other"),
        ([[0, 4]], [[3, 6]], "partial"),
        ([[0, 4], [8, 9]], [[0, 4], [6, 7]], "partial"),
        # Touching is not sharing.
        ([[0, 4]], [[4, 6]], "disjoint"),
    ],
)
def test_relations_by_hand(prediction: Any, reference: Any, expected: str) -> None:
    assert oracle.relation(prediction, reference) == expected
    assert relation([prediction], [reference]).tolist() == [expected]
    mirrored = {"pred": "gold", "gold": "pred"}
    head, _, tail = expected.partition("_")
    turned = f"{mirrored[head]}_{tail}" if head in mirrored else expected
    assert relation([reference], [prediction]).tolist() == [turned]


def test_all_pairs_of_small_sets() -> None:
    """Every two subsets of six characters: 4,096 pairs, in each of which exactly one relation holds."""
    subsets = [oracle.connected({c for c in range(6) if bits >> c & 1}) for bits in range(64)]
    pairs = list(product(subsets, subsets))
    got = relation([p for p, _ in pairs], [g for _, g in pairs]).tolist()
    assert got == [oracle.relation(p, g) for p, g in pairs]
    assert set(got) == set(RELATIONS)


@given(st.lists(st.tuples(span_set, span_set), max_size=6))
def test_relations_are_those_of_character_sets(rows: list[Any]) -> None:
    got = relation([p for p, _ in rows], [g for _, g in rows])
    assert got.tolist() == [oracle.relation(p, g) for p, g in rows]


def test_numbers_of_rows_must_agree() -> None:
    with pytest.raises(ValueError, match="predictions has 2, references has 1"):
        relation([[], []], [[]])
    assert relation([], []).tolist() == []


@given(st.lists(st.lists(span_set, max_size=5), max_size=4))
def test_pairs_of_annotators_in_the_order_given(rows: list[Any]) -> None:
    counts = pairwise_relations(rows)
    assert counts.shape == (len(rows), 9)
    for item, row in zip(rows, counts.tolist(), strict=True):
        expected = Counter(oracle.relation(earlier, later) for earlier, later in combinations(item, 2))
        assert dict(zip(RELATIONS, row, strict=True)) == {name: expected[name] for name in RELATIONS}


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = [[[[int(s), int(s) + 3] for s in rng.integers(0, 20, 2)] for _ in range(6)] for _ in range(20)]
    expected = pairwise_relations(rows)
    monkeypatch.setattr(relations, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(line, "ROWS_AT_ONCE", 3)
    assert np.array_equal(pairwise_relations(rows), expected)


def test_absent_annotators_make_no_pairs() -> None:
    assert pairwise_relations([{"a": [], "b": None, "c": []}, {"a": [[0, 1]]}, None]).sum(axis=1).tolist() == [1, 0, 0]


@pytest.mark.corpora
def test_published_pairs(corpora: Path) -> None:
    """Each pair of annotators of the English test split, one by one."""
    notes = as_annotations(load_mushroom(corpora / "mu_shroom", "en"))
    marks, cuts = notes.marks.tolist(), notes.offsets.tolist()
    expected = [
        Counter(oracle.relation(earlier, later) for earlier, later in combinations(marks[a:b], 2))
        for a, b in pairwise(cuts)
    ]
    assert pairwise_relations(notes).tolist() == [[one[name] for name in RELATIONS] for one in expected]
