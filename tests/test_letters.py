"""Compact letter displays, against the definition: all largest groups in which nobody differs, by brute force."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium.versus.letters import letters


def split(group: str) -> list[str]:
    """Take the letters of a group apart: each may carry a number."""
    found = re.findall(r"[A-Za-z]\d*", group)
    assert "".join(found) == group
    return found


def largest_groups(different: np.ndarray) -> set[frozenset[int]]:
    """Return every set of systems without two that differ which no further system could join."""
    size = len(different)
    sets = [
        frozenset(chosen)
        for k in range(1, size + 1)
        for chosen in combinations(range(size), k)
        if not any(different[i, j] for i, j in combinations(chosen, 2))
    ]
    return {one for one in sets if not any(one < other for other in sets)}


@st.composite
def relations(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.integers(1, 7))
    pairs = list(combinations(range(size), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    out = np.zeros((size, size), dtype=bool)
    for (i, j), differ in zip(pairs, chosen, strict=True):
        out[i, j] = out[j, i] = differ
    return out


@given(relations())
def test_letters_are_the_largest_groups_that_cannot_be_told_apart(different: np.ndarray) -> None:
    found = [split(group) for group in letters(different)]
    for i, j in combinations(range(len(different)), 2):
        assert bool(set(found[i]) & set(found[j])) == (not different[i, j])
    members: dict[str, set[int]] = {}
    for i, group in enumerate(found):
        assert len(set(group)) == len(group) > 0
        for letter in group:
            members.setdefault(letter, set()).add(i)
    groups = [frozenset(one) for one in members.values()]
    assert len(set(groups)) == len(groups)
    assert set(groups) == largest_groups(different)


@given(relations())
def test_the_first_system_has_the_first_letter_and_letters_follow_the_order(different: np.ndarray) -> None:
    found = [split(group) for group in letters(different)]
    assert found[0][0] == "a"
    first_seen = list(dict.fromkeys(letter for group in found for letter in group))
    assert first_seen == [chr(ord("a") + i) for i in range(len(first_seen))]
    assert all(group == sorted(group) for group in found)


@pytest.mark.parametrize(
    ("differ", "size", "expected"),
    [
        ([], 0, []),
        ([], 1, ["a"]),
        ([], 3, ["a", "a", "a"]),
        ([(0, 1)], 2, ["a", "b"]),
        # A chain: only neighbours cannot be told apart.
        ([(0, 2), (0, 3), (1, 3)], 4, ["a", "ab", "bc", "c"]),
        # Worse scores need not mean more differences: the last shares with both of two that differ.
        ([(0, 1)], 3, ["a", "b", "ab"]),
        # A square of systems, each like its two neighbours: four letters.
        ([(0, 2), (1, 3)], 4, ["ab", "ac", "cd", "bd"]),
    ],
)
def test_displays_worked_out_by_hand(differ: list[tuple[int, int]], size: int, expected: list[str]) -> None:
    different = np.zeros((size, size), dtype=bool)
    for i, j in differ:
        different[i, j] = different[j, i] = True
    assert letters(different) == expected


def test_the_alphabet_goes_on() -> None:
    found = letters(~np.eye(110, dtype=bool))
    assert found[:2] == ["a", "b"]
    assert found[25:28] == ["z", "A", "B"]
    assert found[51:54] == ["Z", "a1", "b1"]
    assert found[104:106] == ["a2", "b2"]
    assert len(set(found)) == 110
    assert all(split(group) == [group] for group in found)
