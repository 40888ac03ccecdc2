"""Groups of systems that cannot be told apart, as letters (a compact letter display)."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

from mycelium.spans import BoolArray

__all__ = ["letters"]


def letters(different: BoolArray | Sequence[Sequence[bool]]) -> list[str]:
    """Return the letters of each system; two systems share a letter if and only if they cannot be told apart.

    The letters stand for the largest groups without two systems that differ, found by inserting the differences one
    after the other and absorbing groups that are part of others. The relation need not be transitive: the first may
    differ from the last while neither differs from the middle, which then has the letters of both.

    Parameters
    ----------
    different : bool array of shape (K, K)
        Whether systems i and j differ; symmetric. Systems stand from the best to the worst.

    Returns
    -------
    list of K str
        Letters in the order of the alphabet, lower case before upper case, then ``"a1"``, ``"b1"`` and so on. The
        first system has ``"a"``.

    References
    ----------
    Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", Journal of Computational and
    Graphical Statistics 13(2), 2004.

    Examples
    --------
    >>> letters([[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    size = len(different)
    groups = [frozenset(range(size))] if size else []
    for i in range(size):
        for j in range(i + 1, size):
            if different[i][j]:
                groups = _insert(groups, i, j)
    groups.sort(key=sorted)
    names = [_name(number) for number in range(len(groups))]
    return ["".join(name for name, group in zip(names, groups, strict=True) if i in group) for i in range(size)]


def _insert(groups: list[frozenset[int]], i: int, j: int) -> list[frozenset[int]]:
    """Split the groups that hold both systems, and leave out what is then part of another group."""
    kept = [group for group in groups if not (i in group and j in group)]
    halves = {group - {system} for group in groups if i in group and j in group for system in (i, j)}
    # No other inclusion is possible: groups are no part of each other, hence neither are halves that lack the same
    # system, and halves that lack different ones hold each other's.
    return kept + [half for half in halves if not any(half <= group for group in kept)]


def _name(number: int) -> str:
    turn, place = divmod(number, len(ascii_letters))
    return ascii_letters[place] + (str(turn) if turn else "")
