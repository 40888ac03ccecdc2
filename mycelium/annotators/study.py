"""The study of annotators: each against the others, under several metrics, and what differing boundaries do to them.

Every number is a function of sums over items, so that all of them can be replicated by one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mycelium.additive import Additive, mean
from mycelium.annotators.comparisons import Comparisons, held_out, macro, micro, one_character
from mycelium.annotators.corpus import Annotations
from mycelium.annotators.layout import study_table
from mycelium.annotators.relations import NESTED, RELATIONS, pairwise_relations, relation_codes
from mycelium.annotators.subsets import comparable, equal_numbers
from mycelium.metrics import DEFAULT, get
from mycelium.reduce import ExactSum
from mycelium.spans import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from mycelium.annotators.uncertainty import StudyIntervals

__all__ = ["SUBSETS", "Section", "Study", "study"]

#: Subsets of the comparisons with the union of the others, by how the prediction lies to it.
SUBSETS = {"nested_boundary": "pred_nested", "partial_overlap": "partial", "disjoint": "disjoint"}
#: Pairs of marks of which neither is empty and which differ.
ELIGIBLE = tuple(name for name in RELATIONS if name not in ("both_empty", "one_empty", "exact"))


class Section(NamedTuple):
    """Numbers of the study that stand together.

    Attributes
    ----------
    path : tuple of str
        The keys under which they stand.
    names : tuple of str
        The keys of the numbers themselves, in the order of the outputs; empty where it is one number.
    additive : Additive
        The numbers as a function of sums over the n items. NaN where no item has any.
    """

    path: tuple[str, ...]
    names: tuple[str, ...]
    additive: Additive

    def nest(self, into: dict[str, Any], values: Sequence[Any]) -> None:
        """Put values, one for each number, under the path."""
        for key in self.path[:-1]:
            into = into.setdefault(key, {})
        into[self.path[-1]] = dict(zip(self.names, values, strict=True)) if self.names else values[0]


class Study(NamedTuple):
    """What :func:`study` found.

    Attributes
    ----------
    annotations : Annotations
        The items that have at least two annotators, with merged marks; with ``n_annotators`` their subsets.
    item : int64 array
        The item, of n, that each item of ``annotations`` belongs to: itself, or the one it is a subset of.
    weights : float64 array of shape (n,)
        One over the number of subsets of each item, which micro averages and shares of pairs weigh it by.
    skipped : int
        Items with fewer annotators, about which nothing can be said.
    families : dict of str to Comparisons
        ``"loo_majority"`` and ``"loo_union"``, a comparison for each mark; ``"one_char"``, one for each item (or
        subset).
    subsets : dict of str to bool array
        Which comparisons of ``"loo_union"`` belong to each subset.
    relations : int64 array of shape (n, 9)
        Pairs of annotators of each item (of all its subsets) by relation, as :func:`pairwise_relations` counts them.
    sections : tuple of Section
        All numbers that are functions of sums over items.
    counts : int64 array of shape (n,)
        The annotators of each item, before any were cut.
    n_annotators : int or None
        To how many they were cut,
    n_subsets : "all" or int
        by how many subsets,
    seed : int or None
        and from which seed these were drawn; None for a generator.
    """

    annotations: Annotations
    item: IntArray
    weights: FloatArray
    skipped: int
    families: dict[str, Comparisons]
    subsets: dict[str, BoolArray]
    relations: IntArray
    sections: tuple[Section, ...]
    counts: IntArray
    n_annotators: int | None
    n_subsets: str | int
    seed: int | None

    @property
    def comparisons(self) -> dict[str, int]:
        """Number of comparisons of each family and subset."""
        counts = {name: len(self.families[name].item) for name in ("loo_majority", "loo_union")}
        counts |= {name: int(where.sum()) for name, where in self.subsets.items()}
        return counts | {"one_char": len(self.families["one_char"].item)}

    @property
    def items(self) -> dict[str, int]:
        """Number of items behind each macro average: those that have such comparisons."""
        counted = [section for section in self.sections if section.path[0] == "macro_f1"]
        return {section.path[-1]: int(section.additive.sums[:, -1].sum()) for section in counted}

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values; a number that no item has is None.

        Returns
        -------
        dict
            ``comparisons`` (how many), ``one_char_mean_share_of_reference_characters`` (over the items that have
            any), ``pairwise_relations``, ``boundary_nested`` (pairs of which one is nested, among those that differ
            and are not empty), ``macro_f1`` by family and subset, ``micro_f1`` of the two families.
        """
        totals = dict(zip(RELATIONS, self.relations.sum(axis=0).tolist(), strict=True))
        out: dict[str, Any] = {
            "comparisons": self.comparisons,
            "one_char_mean_share_of_reference_characters": None,
            "pairwise_relations": totals,
            "boundary_nested": {
                "nested": sum(totals[name] for name in NESTED),
                "eligible": sum(totals[name] for name in ELIGIBLE),
            },
        }
        for section, values in zip(self.sections, self.points(), strict=True):
            section.nest(out, [None if value != value else value for value in values.tolist()])
        return out

    def to_table(self, format: str = "text", intervals: StudyIntervals | None = None, digits: int | None = None) -> str:
        """Lay the macro averages out, a row for each metric, with what stands behind them.

        Parameters
        ----------
        format : {"text", "markdown", "html", "latex", "csv"}
            The layout; numbers are rounded in all of them.
        intervals : StudyIntervals, optional
            Those of this study, to be written beside its numbers.
        digits : int, optional
            Decimals; by default 4, or 3 with intervals.
        """
        return study_table(self, format, intervals, digits)

    def points(self) -> list[FloatArray]:
        """Return the numbers of each section, from exact sums over items."""
        return [section.additive.value(_total(section.additive.sums)) for section in self.sections]


def study(
    annotations: Any,
    *,
    metrics: Iterable[str] = DEFAULT,
    n_annotators: int | None = None,
    subsets: str | int = "all",
    seed: int | np.random.Generator = 0,
) -> Study:
    """Compare each annotator with the others.

    The held-out annotator is the prediction; the reference is what more than half of the others marked, or any of
    them. Spans of one annotator are merged where they touch or overlap. Every metric, ``character`` too, counts a side
    with nothing to divide by as 1.

    Parameters
    ----------
    annotations : Corpus, Annotations, or whatever :func:`as_annotations` reads
        Items with fewer than two annotators are left out and counted.
    metrics : iterable of str
        Names of metrics that need no probabilities; their f1 or score is taken.
    n_annotators : int, optional
        Cut every item to so many annotators, so that corpora become comparable: each item's numbers are averaged over
        its subsets of that size, and items with fewer annotators are left out and counted. Counts of comparisons and
        pairs are those of all subsets. With three, a majority of the other two is their intersection.
    subsets : "all" or int, default="all"
        With ``n_annotators``: average over all subsets, or over so many random ones where an item has more.
    seed : int or numpy.random.Generator, default=0
        Source of random subsets.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        When no item has two annotators.

    References
    ----------
    Belikova and Rykov (2026). Mycelium: A Meta-Study of Hallucination Detection Across Provenance, Typology, and
    Granularities, table 1.

    Examples
    --------
    >>> from mycelium.annotators import study
    >>> found = study([{"ann": [[0, 6]], "bo": [[2, 6]], "cy": [[0, 6]]}])
    >>> found.comparisons["loo_union"], found.to_dict()["boundary_nested"]
    (3, {'nested': 2, 'eligible': 2, 'share': 1.0})
    >>> round(found.to_dict()["macro_f1"]["loo_union"]["iou"], 4)
    0.8889
    """
    every, enough = comparable(annotations, n_annotators, subsets)
    notes = every[enough].merged()
    n = len(notes)
    item = np.arange(n, dtype=np.int64)
    if n_annotators is not None:
        notes, item = equal_numbers(notes, n_annotators, subsets, seed)
    chosen = [get(name) for name in metrics]
    families = {f"loo_{share}": held_out(notes, share, chosen) for share in ("majority", "union")}
    families["one_char"] = one_character(notes, chosen)
    families = {name: family._replace(item=item[family.item]) for name, family in families.items()}
    union = families["loo_union"]
    codes = relation_codes(union.predictions, union.references)
    where = {name: codes == RELATIONS.index(kind) for name, kind in SUBSETS.items()}
    relations = np.zeros((n, len(RELATIONS)), dtype=np.int64)
    np.add.at(relations, item, pairwise_relations(notes))
    weights = 1.0 / np.bincount(item, minlength=n)
    sections = _sections(families, where, relations, weights)
    skipped, counts = int((~enough).sum()), every.counts[enough]
    return Study(
        notes,
        item,
        weights,
        skipped,
        families,
        where,
        relations,
        tuple(sections),
        counts,
        n_annotators,
        subsets,
        None if isinstance(seed, np.random.Generator) else int(seed),
    )


def _sections(
    families: dict[str, Comparisons], subsets: dict[str, BoolArray], relations: IntArray, weights: FloatArray
) -> list[Section]:
    keys, n = tuple(metric.key for metric in families["loo_union"].metrics), len(weights)
    sections = [
        Section(("one_char_mean_share_of_reference_characters",), (), _kept_share(families["one_char"], n)),
        Section(("boundary_nested", "share"), (), _share(relations * weights[:, np.newaxis], NESTED, ELIGIBLE)),
    ]
    averages = {name: macro(families[name], n) for name in ("loo_majority", "loo_union")}
    averages |= {name: macro(families["loo_union"], n, where) for name, where in subsets.items()}
    averages["one_char"] = macro(families["one_char"], n)
    sections += [Section(("macro_f1", name), keys, additive) for name, additive in averages.items()]
    pooled = {name: micro(families[f"loo_{name}"], n, weights=weights) for name in ("union", "majority")}
    return sections + [Section(("micro_f1", name), keys, additive) for name, additive in pooled.items()]


def _kept_share(comparisons: Comparisons, items: int) -> Additive:
    """Return the mean share of an item's reference characters that its prediction keeps."""
    references, predictions = comparisons.references, comparisons.predictions
    characters = np.bincount(references.row, references.end - references.start, len(references))
    share = predictions.counts / np.maximum(characters, 1)
    return macro(comparisons._replace(values=share[:, np.newaxis]), items, characters > 0)


def _share(relations: FloatArray, part: Sequence[str], whole: Sequence[str]) -> Additive:
    """Return the share of pairs in some relations among those in others."""
    a, b = (relations[:, [RELATIONS.index(name) for name in names]].sum(axis=1) for names in (part, whole))
    return Additive(np.column_stack([a, b]), mean)


def _total(sums: FloatArray) -> FloatArray:
    total = ExactSum(sums.shape[1])
    total.add(sums)
    return total.totals()
