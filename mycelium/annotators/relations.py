"""How two span sets lie to each other, as sets of characters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium import intervals
from mycelium.annotators.corpus import as_annotations
from mycelium.formats import read_spans
from mycelium.line import Line, lines
from mycelium.metrics.base import check_rows
from mycelium.spans import IntArray, SpanBatch

__all__ = ["NESTED", "RELATIONS", "pairwise_relations", "relation", "relation_codes"]

#: All relations; codes are positions here.
RELATIONS = (
    "both_empty",
    "one_empty",
    "exact",
    "pred_nested",
    "gold_nested",
    "pred_inside_other",
    "gold_inside_other",
    "partial",
    "disjoint",
)
#: The boundaries of one set lie within those of the other.
NESTED = ("pred_nested", "gold_nested")
#: Pairs of marks that are compared at once.
PAIRS_AT_ONCE = 1 << 18


def relation(predictions: Any, references: Any) -> NDArray[np.str_]:
    """Tell how the predicted characters of each example lie to those of its reference.

    Parameters
    ----------
    predictions, references : batches of span sets
        Whatever :func:`mycelium.as_spans` reads, n rows each. Spans that touch or overlap count as one: sets are
        compared by their characters.

    Returns
    -------
    array of str of shape (n,)
        Element i is the first that holds of example i:

        - ``"both_empty"``, ``"one_empty"``: no span on both sides, on one of them;
        - ``"exact"``: the same characters;
        - ``"pred_nested"``: the prediction lies strictly inside the reference, has as many connected spans, and each
          lies within its counterpart, both sorted: only boundaries differ;
        - ``"gold_nested"``: the same with the sides exchanged;
        - ``"pred_inside_other"``, ``"gold_inside_other"``: strictly inside, in any other way;
        - ``"partial"``: they share characters, and each has some of its own;
        - ``"disjoint"``: they share none.

    Examples
    --------
    >>> from mycelium.annotators import relation
    >>> relation([[[2, 4]], [[0, 2], [4, 6]], [[0, 4]]], [[[0, 6]], [[0, 6]], [[2, 6]]]).tolist()
    ['pred_nested', 'pred_inside_other', 'partial']
    """
    sides = {
        "predictions": read_spans(predictions, name="predictions")[0],
        "references": read_spans(references, name="references")[0],
    }
    check_rows(**sides)
    return np.array(RELATIONS)[relation_codes(sides["predictions"], sides["references"])]


def relation_codes(predictions: SpanBatch, references: SpanBatch) -> IntArray:
    """Return the relation of each row as a position in RELATIONS, shape (n,)."""
    parts = [_codes(line) for line in lines(references, predictions)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _codes(line: Line) -> IntArray:
    gold, pred = line.references.union(), line.predictions.union()
    both = line.intersection
    pred_within, gold_within = both == pred.total, both == gold.total
    # Where both sides have the same number of spans, the k-th of one stands beside the k-th of the other.
    paired = pred.count == gold.count
    same, of_gold = pred.of_rows(np.flatnonzero(paired))[0], gold.of_rows(np.flatnonzero(paired))[0]
    each_pred, each_gold = np.zeros(line.rows, dtype=bool), np.zeros(line.rows, dtype=bool)
    for flags, inner, outer in ((each_pred, same, of_gold), (each_gold, of_gold, same)):
        outside = (inner.start < outer.start) | (inner.end > outer.end)
        flags[paired] = intervals.row_sums(outside, inner.offsets) == 0
    empty = (pred.total == 0).astype(np.int64) + (gold.total == 0)
    conditions = {
        "both_empty": empty == 2,
        "one_empty": empty == 1,
        "exact": pred_within & gold_within,
        "pred_nested": pred_within & each_pred,
        "gold_nested": gold_within & each_gold,
        "pred_inside_other": pred_within,
        "gold_inside_other": gold_within,
        "partial": both > 0,
    }
    codes = [RELATIONS.index(name) for name in conditions]
    return np.select(list(conditions.values()), codes, RELATIONS.index("disjoint")).astype(np.int64)


def pairwise_relations(annotations: Any) -> IntArray:
    """Count how the marks of each two annotators of an item lie to each other.

    Parameters
    ----------
    annotations : Corpus, Annotations, or whatever :func:`as_annotations` reads
        n items.

    Returns
    -------
    int64 array of shape (n, 9)
        Row i counts the pairs of annotators of item i in each of the relations, in the order of ``RELATIONS``. Pairs
        are taken in the order given, the earlier annotator as the prediction. Items with fewer than two have none.

    Examples
    --------
    >>> from mycelium.annotators import RELATIONS, pairwise_relations
    >>> counts = pairwise_relations([{"ann": [[2, 4]], "bo": [[0, 6]], "cy": []}])
    >>> {name: int(n) for name, n in zip(RELATIONS, counts.sum(axis=0)) if n}
    {'one_empty': 2, 'pred_nested': 1}
    """
    notes = as_annotations(annotations).merged()
    m, n = len(notes.marks), len(notes)
    number, item = np.arange(m, dtype=np.int64), notes.item
    later = notes.offsets[1:][item] - number - 1
    before = np.zeros(m + 1, dtype=np.int64)
    np.cumsum(later, out=before[1:])
    counts = np.zeros(n * len(RELATIONS), dtype=np.int64)
    for begin in range(0, int(before[-1]), PAIRS_AT_ONCE):
        pair = np.arange(begin, min(begin + PAIRS_AT_ONCE, int(before[-1])), dtype=np.int64)
        first = np.searchsorted(before, pair, side="right") - 1
        second = pair - before[first] + first + 1
        codes = relation_codes(notes.marks[first], notes.marks[second])
        counts += np.bincount(item[first] * len(RELATIONS) + codes, minlength=len(counts))
    return counts.reshape(n, len(RELATIONS))
