"""Equal numbers of annotators: every item as several items, each with a subset of those who saw it.

A majority of ten annotators and a majority of two are different references, and the second is their intersection.
Scores of corpora are comparable when their items have equally many.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mycelium.annotators.corpus import Annotations, as_annotations
from mycelium.draws import as_generator
from mycelium.spans import BoolArray, IntArray

__all__ = ["check_subsets", "comparable", "equal_numbers"]

#: Subsets of one item; more are only drawn.
MOST_SUBSETS = 10_000


def comparable(annotations: Any, n_annotators: int | None, subsets: str | int) -> tuple[Annotations, BoolArray]:
    """Return the annotations, and which rows have as many annotators as are asked for: two by default.

    Raises
    ------
    TypeError, ValueError
        When an argument cannot be used, or no row has enough.
    """
    every = as_annotations(annotations)
    if n_annotators is not None:
        check_subsets(n_annotators, subsets)
    least = n_annotators or 2
    enough = every.counts >= least
    if not enough.any():
        wanted = "two annotators to compare" if least == 2 else f"{least} annotators"
        raise ValueError(f"annotations: none of the {len(every)} rows has {wanted}")
    return every, enough


def equal_numbers(
    notes: Annotations, n_annotators: int, subsets: str | int = "all", seed: int | np.random.Generator = 0
) -> tuple[Annotations, IntArray]:
    """Return each item once for each subset of so many of its annotators.

    Parameters
    ----------
    notes : Annotations
        n items. Those with fewer annotators do not come back.
    n_annotators : int
        The size of the subsets, at least 2.
    subsets : "all" or int, default="all"
        All subsets, or for items that have more subsets so many random ones.
    seed : int or numpy.random.Generator, default=0
        Source of the random subsets.

    Returns
    -------
    parts : Annotations
        The subsets, item by item, annotators in the order given, without texts.
    item : int64 array
        The item of each subset, rising.

    Examples
    --------
    >>> from mycelium.annotators import as_annotations, equal_numbers
    >>> notes = as_annotations([{"a": [[0, 1]], "b": [[2, 3]], "c": []}, {"a": []}])
    >>> parts, item = equal_numbers(notes, 2)
    >>> parts.marks.tolist(), item.tolist()
    ([[[0, 1]], [[2, 3]], [[0, 1]], [], [[2, 3]], []], [0, 0, 0])
    """
    check_subsets(n_annotators, subsets)
    rng = as_generator(seed)
    marks, items = [np.zeros((0, n_annotators), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for size in np.unique(notes.counts[notes.counts >= n_annotators]).tolist():
        at = np.flatnonzero(notes.counts == size)
        if subsets == "all" or comb(size, n_annotators) <= int(subsets):
            if comb(size, n_annotators) > MOST_SUBSETS:
                raise ValueError(
                    f"subsets='all': an item with {size} annotators has {comb(size, n_annotators):,} subsets of"
                    f" {n_annotators}; give a number of subsets to draw, such as subsets=20"
                )
            chosen = np.array(list(combinations(range(size), n_annotators)), dtype=np.int64)
            members = np.tile(chosen, (len(at), 1))
        else:
            # The first places of a random order are a random subset.
            order = rng.random((len(at) * int(subsets), size)).argsort(axis=1)
            members = np.sort(order[:, :n_annotators], axis=1)
        item = np.repeat(at, len(members) // len(at))
        marks.append(members + notes.offsets[item][:, np.newaxis])
        items.append(item)
    item = np.concatenate(items)
    order = np.argsort(item, kind="stable")
    rows = np.concatenate(marks)[order].ravel()
    offsets = np.arange(len(item) + 1, dtype=np.int64) * n_annotators
    parts = Annotations(notes.marks[rows], offsets, notes.annotator[rows], notes.names, None, notes.dropped)
    return parts, item[order]


def check_subsets(n_annotators: object, subsets: object) -> None:
    """Raise a TypeError or ValueError where the size or the number of subsets is none."""
    for name, value, least in (("n_annotators", n_annotators, 2), ("subsets", subsets, 1)):
        if name == "subsets" and value == "all":
            continue
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            more = "'all' or " if name == "subsets" else ""
            raise TypeError(f"{name} must be {more}an integer, got {value!r} ({type(value).__name__})")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
