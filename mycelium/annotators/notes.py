"""The words below the tables of a study and of a level of humans: what the numbers are, hold for, and leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelium.spans import IntArray

if TYPE_CHECKING:
    from mycelium.annotators.human import HumanLevel
    from mycelium.annotators.study import Study
    from mycelium.annotators.uncertainty import StudyIntervals

__all__ = [
    "THREE",
    "about_details",
    "about_items",
    "about_levels",
    "about_resampling",
    "about_studies",
    "annotators_per_item",
    "cut",
    "distinct",
    "left_out",
    "many",
    "percent",
    "range_of",
]

#: What stands for a number that there is not.
NOTHING = "-"
THREE = "With three annotators a majority of the other two is their intersection."


def about_items(found: Study) -> list[str]:
    """Return sentences on the items behind a study and on what was left out."""
    items = many(len(found.counts), "item")
    notes = [f"{items}, {annotators_per_item(found.counts)} annotators each, {distinct(found)} distinct."]
    if found.n_annotators is not None:
        notes.append(cut(found.n_annotators, found.n_subsets, found.seed))
    elif _all_three(found.counts):
        notes.append(THREE)
    return [*notes, left_out(found.skipped, found.n_annotators or 2, found.annotations.dropped)]


def about_studies(found: Mapping[str, Study]) -> list[str]:
    """Return sentences on the items behind several studies, on what was left out, and on what can be compared."""
    first, notes = next(iter(found.values())), []
    three = [label for label, one in found.items() if _all_three(one.counts)]
    if first.n_annotators is not None:
        notes.append(cut(first.n_annotators, first.n_subsets, first.seed))
    elif three:
        whose = "all" if len(three) == len(found) else f"{len(three)} of {len(found)}: {', '.join(three)}"
        notes.append(
            f"Exactly three annotators for every item ({whose}): a majority of the other two is their intersection."
        )
        if len(three) < len(found):
            notes.append(
                "Rows with other numbers of annotators are not comparable with these; cut to equal numbers to compare."
            )
    dropped = {label: one.annotations.dropped for label, one in found.items()}
    skipped = {label: one.skipped for label, one in found.items()}
    least = first.n_annotators or 2
    return [
        *notes,
        f"Left out: {many(sum(dropped.values()), 'annotation')} of no length{_whose(dropped)}.",
        f"Left out: {_undefined(sum(skipped.values()), least)}{_whose(skipped)}.",
    ]


def about_levels(found: HumanLevel) -> list[str]:
    """Return sentences on what H and D are."""
    meta = found.meta
    share = meta["consensus"] if isinstance(meta["consensus"], str) else f"a share of {meta['consensus']:g}"
    undefined = "its metric's own value" if meta["undefined"] is None else f"{meta['undefined']:g}"
    notes = [
        f"H: each annotator against the consensus ({share}) of the others, the mean over items of each item's mean; a"
        f" side with nothing to divide by counts {undefined}."
    ]
    if "detector" in next(iter(found.scores.values())):
        notes.append(
            "D: the detector against the same references. H is a level, not a ceiling: D / H may exceed 1. Against the"
            " full consensus the detector has other references than H, so that number is not divided by it."
        )
    if meta["n_annotators"] is not None:
        notes.append(cut(meta["n_annotators"], meta["subsets"], meta["seed"]))
    return notes


def about_resampling(found: StudyIntervals | HumanLevel | None) -> list[str]:
    """Return a sentence on how intervals were made and for what they hold, if there are any."""
    if found is None or not found.intervals:
        return []
    meta = found.meta
    return [
        f"{100 * meta['level']:g}% intervals by {meta['method']} from {meta['n_resamples']:,} resamples,"
        f" {_seed(meta['seed'])}. {meta['condition']}"
    ]


def about_details(found: StudyIntervals | HumanLevel | None, named: Callable[[str], str | None]) -> list[str]:
    """Return sentences on discarded resamples and on intervals that are not what they seem.

    Parameters
    ----------
    found : StudyIntervals or HumanLevel, optional
        Where they stand.
    named : callable
        What the number under a path is called in the table; None where it is not in it.
    """
    if found is None or not found.intervals:
        return []
    places = {path: named(path) for path in (*found.meta["discarded"], *found.meta["notes"])}
    discarded = [f"{places[path]} {count}" for path, count in found.meta["discarded"].items() if places[path]]
    whose: dict[str, list[str]] = {}
    for path, why in found.meta["notes"].items():
        if (place := places[path]) is not None:
            whose.setdefault(why, []).append(place)
    first = [f"Resamples without any value were discarded: {', '.join(discarded)}."] if discarded else []
    return first + [f"{', '.join(paths)}: {why}." for why, paths in whose.items()]


def annotators_per_item(counts: IntArray) -> str:
    """Return the number of annotators of an item, or from the fewest to the most.

    Examples
    --------
    >>> import numpy as np
    >>> annotators_per_item(np.array([3, 3])), annotators_per_item(np.array([12, 9]))
    ('3', '9 to 12')
    """
    return range_of([int(counts.min()), int(counts.max())])


def range_of(ends: Sequence[int]) -> str:
    """Return "3" or "9 to 12"."""
    least, most = ends
    return f"{least}" if least == most else f"{least} to {most}"


def distinct(found: Study) -> int:
    """Return how many different annotators there are."""
    return len(np.unique(found.annotations.annotator))


def cut(n_annotators: int, subsets: str | int, seed: int | None) -> str:
    """Say how every item was cut to a number of annotators."""
    how = "all its subsets" if subsets == "all" else f"at most {subsets} random ones of its subsets ({_seed(seed)})"
    three = " " + THREE if n_annotators == 3 else ""
    return f"Every item is cut to {n_annotators} annotators and averaged over {how}.{three}"


def left_out(skipped: int, least: int, dropped: int) -> str:
    """Say how many items and annotations were left out."""
    return f"Left out: {_undefined(skipped, least)}, {many(dropped, 'annotation')} of no length."


def many(count: int, what: str) -> str:
    """Return "1 item" or "2 items"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def percent(share: Any) -> str:
    """Return a share as a percentage."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def _seed(seed: int | None) -> str:
    return "a generator" if seed is None else f"seed {seed}"


def _all_three(counts: IntArray) -> bool:
    return bool((counts == 3).all())


def _whose(counts: Mapping[str, int]) -> str:
    named = ", ".join(f"{label} {count}" for label, count in counts.items() if count)
    return f" ({named})" if named else ""


def _undefined(count: int, least: int) -> str:
    return f"{many(count, 'item')} with fewer than {least} annotators (undefined)"
