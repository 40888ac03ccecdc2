"""How a study and the level of humans are laid out, with the words that must stand below their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mycelium.annotators.notes import (
    NOTHING,
    about_details,
    about_items,
    about_levels,
    about_resampling,
    about_studies,
    annotators_per_item,
    distinct,
    left_out,
    many,
    percent,
    range_of,
)
from mycelium.tables import render, with_notes

if TYPE_CHECKING:
    from mycelium.annotators.human import HumanLevel
    from mycelium.annotators.study import Study
    from mycelium.annotators.uncertainty import StudyIntervals

__all__ = ["human_levels_table", "human_table", "studies_table", "study_table"]

#: Families and subsets of the macro averages, and what their columns are called.
COLUMNS = {
    "loo_majority": "majority",
    "loo_union": "union",
    "nested_boundary": "nested",
    "partial_overlap": "partial",
    "one_char": "one character",
}
DIFFERENCE = "union - majority"
#: Where numbers of :class:`HumanLevel` stand, and what their columns are called.
LEVELS = {
    "human (H)": ("human",),
    "detector (D)": ("detector",),
    "D - H": ("difference",),
    "D / H": ("relative_to_human",),
}
YARDSTICKS = {
    "expected: detector": ("expected_score", "detector"),
    "other humans": ("expected_score", "other_humans"),
    "consensus of others": ("expected_score", "consensus_of_others"),
}
FULL = {"detector, full consensus": ("detector_against_full_consensus",)}


def study_table(found: Study, format: str, intervals: StudyIntervals | None, digits: int | None) -> str:
    """Lay out one study, see :meth:`Study.to_table`."""
    digits = _digits(digits, intervals)
    numbers = found.to_dict()
    macro: dict[str, Any] = numbers["macro_f1"]
    bounds: dict[str, Any] = {} if intervals is None else intervals.intervals["macro_f1"]
    difference: dict[str, Any] = {} if intervals is None else intervals.differences["macro_f1"]
    rows = []
    for key in macro["loo_union"]:
        cells = {
            name: _cell(macro[family][key], bounds.get(family, {}).get(key), digits, intervals is not None)
            for family, name in COLUMNS.items()
        }
        step = _less(macro["loo_union"][key], macro["loo_majority"][key])
        cells[DIFFERENCE] = _cell(step, difference.get(key), digits, intervals is not None, sign=True)
        rows.append([key, *(cells[name] for name in _ORDER)])
    for label, counts in (("items", found.items), ("comparisons", found.comparisons)):
        shown = {name: f"{counts[family]:,}" for family, name in COLUMNS.items()}
        rows.append([label, *(shown.get(name, "") for name in _ORDER)])
    table = render(["macro F1", *_ORDER], rows, format=format)
    pairs, kept = numbers["boundary_nested"], numbers["one_char_mean_share_of_reference_characters"]
    # With subsets pairs are counted in all of them, and shares weigh each item the same.
    of = "" if found.n_annotators is not None else f"{pairs['nested']:,} of {pairs['eligible']:,}, "
    pairs_note = (
        "Pairs of annotators that differ in boundaries only, of those that differ and of which neither is empty:"
        f" {of}{percent(pairs['share'])}."
    )
    notes = [
        "F1, of iou the score: the mean over items of each item's mean; a side with nothing to divide by counts 1.",
        "Each annotator is held out, as the prediction; the reference is what more than half of the others marked, or"
        " any of them (union).",
        "nested, partial: the comparisons with the union that lie so, averaged over the items that have any.",
        f"one character: one of each span of the union of all annotators, which is {percent(kept)} of its characters.",
        pairs_note,
        *about_items(found),
        *about_resampling(intervals),
        *about_details(intervals, _in_study),
    ]
    return with_notes(table, ["\n".join(notes)], format)


_ORDER = ("majority", "union", DIFFERENCE, "nested", "partial", "one character")


def studies_table(
    found: Mapping[str, Study],
    format: str = "text",
    intervals: Mapping[str, StudyIntervals] | None = None,
    *,
    name: str = "corpus",
    metrics: Sequence[str] | None = None,
    digits: int = 3,
) -> str:
    """Lay several studies out, a row for each, with its numbers of annotators.

    Parameters
    ----------
    found : dict of str to Study
        Studies of the same metrics by name: languages, say.
    format : {"text", "markdown", "html", "latex", "csv"}
        The layout; numbers are rounded in all of them.
    intervals : dict of str to StudyIntervals, optional
        With these, a second table has what the union makes of each metric less what the majority makes of it.
    name : str
        What the studies are, for the header.
    metrics : sequence of str, optional
        Which to show; all by default.
    digits : int, default=3
        Decimals.

    Examples
    --------
    >>> from mycelium.annotators import studies_table, study
    >>> found = {"one": study([{"ann": [[0, 6]], "bo": [[2, 6]], "cy": [[0, 6]]}], metrics=["iou"])}
    >>> print(studies_table(found).splitlines()[1])
    one         1                    3         3  0.667 / 0.889          100.0 %         16.7 %
    """
    if not found:
        raise ValueError("found is empty: there is no study to show")
    keys = list(next(iter(found.values())).to_dict()["macro_f1"]["loo_union"] if metrics is None else metrics)
    rows, steps = [], []
    for label, one in found.items():
        numbers = one.to_dict()
        macro = numbers["macro_f1"]
        rows.append(
            [
                label,
                f"{len(one.counts):,}",
                annotators_per_item(one.counts),
                f"{distinct(one)}",
                *(
                    " / ".join(_cell(macro[family][key], None, digits) for family in ("loo_majority", "loo_union"))
                    for key in keys
                ),
                percent(numbers["boundary_nested"]["share"]),
                percent(numbers["one_char_mean_share_of_reference_characters"]),
            ]
        )
        if intervals is not None:
            of = intervals[label].differences["macro_f1"]
            cells = [(_less(macro["loo_union"][key], macro["loo_majority"][key]), of[key]) for key in keys]
            steps.append([label, *(_cell(step, bounds, digits, True, sign=True) for step, bounds in cells)])
    header = [name, "items", "annotators per item", "distinct", *keys, "boundary-nested", "one character"]
    tables = [render(header, rows, format=format)]
    if steps:
        tables.append(render([f"{DIFFERENCE}, {name}", *keys], steps, format=format))
    notes = [
        "majority / union of the others as the reference, the held-out annotator as the prediction: macro F1, of iou"
        " the score.",
        "boundary-nested: the pairs of annotators that differ in boundaries only, of those that differ and of which"
        " neither is empty; one character: its share of the union of all.",
    ]
    notes += about_studies(found)
    if intervals:
        notes += about_resampling(next(iter(intervals.values())))
        for label, each in intervals.items():
            notes += about_details(each, partial(_in_steps, label, keys))
    return with_notes("\n\n".join(tables), ["\n".join(notes)], format)


def human_table(found: HumanLevel, format: str, digits: int) -> str:
    """Lay out one level of humans, see :meth:`HumanLevel.to_table`."""
    columns = _present({**LEVELS, **YARDSTICKS, **FULL}, found)
    rows = [
        [key, *(_level_cell(found, key, label, path, digits) for label, path in columns.items())]
        for key in found.scores
    ]
    table = render(["F1 or score", *columns], rows, format=format)
    meta = found.meta
    notes = [
        *about_levels(found),
        f"{many(meta['items'], 'item')}, {range_of(meta['annotators_per_item'])} annotators each.",
        left_out(meta["skipped"], meta["n_annotators"] or 2, meta["dropped"]),
        *about_resampling(found),
        *about_details(found, str),
    ]
    return with_notes(table, ["\n".join(notes)], format)


def human_levels_table(
    found: Mapping[str, HumanLevel],
    format: str = "text",
    *,
    metric: str = "iou",
    name: str = "corpus",
    digits: int = 3,
) -> str:
    """Lay several levels of humans out, a row for each, for one metric.

    Parameters
    ----------
    found : dict of str to HumanLevel
        Levels by name: languages, say.
    format : {"text", "markdown", "html", "latex", "csv"}
        The layout; numbers are rounded in all of them.
    metric : str, default="iou"
        Which of their metrics.
    name : str
        What the levels are of, for the header.
    digits : int, default=3
        Decimals.

    Examples
    --------
    >>> from mycelium.annotators import human_level, human_levels_table
    >>> notes = [{"ann": [[0, 4]], "bo": [[0, 8]], "cy": [[0, 4]]}]
    >>> level = human_level(notes, [[[0, 4]]], metrics=["iou"], n_resamples=None)
    >>> print(*human_levels_table({"one": level}).splitlines()[:2], sep=chr(10))
    iou, corpus  items  annotators per item  human (H)  detector (D)   D - H  D / H  detector, full consensus
    one              1                    3      0.833         1.000  +0.167  1.200                     1.000
    """
    if not found:
        raise ValueError("found is empty: there is no level to show")
    first = next(iter(found.values()))
    columns = _present(LEVELS, first)
    columns |= _present(FULL, first)
    rows = [
        [
            label,
            f"{one.meta['items']:,}",
            range_of(one.meta["annotators_per_item"]),
            *(_level_cell(one, metric, column, path, digits) for column, path in columns.items()),
        ]
        for label, one in found.items()
    ]
    table = render([f"{metric}, {name}", "items", "annotators per item", *columns], rows, format=format)
    skipped, dropped = (sum(one.meta[what] for one in found.values()) for what in ("skipped", "dropped"))
    notes = [
        *about_levels(first),
        left_out(skipped, first.meta["n_annotators"] or 2, dropped),
        *about_resampling(first),
    ]
    for label, one in found.items():
        notes += about_details(one, partial(_in_levels, label, metric))
    return with_notes(table, ["\n".join(notes)], format)


# -- cells


def _digits(digits: int | None, intervals: object) -> int:
    return (4 if intervals is None else 3) if digits is None else digits


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _cell(
    number: float | None, bounds: Sequence[float] | None, digits: int, wide: bool = False, sign: bool = False
) -> str:
    if number is None:
        return NOTHING
    form = f"{'+' if sign else ''}.{digits}f"
    if not wide:
        return format(number, form)
    return f"{number:{form}} " + (NOTHING if bounds is None else f"[{', '.join(format(end, form) for end in bounds)}]")


def _level_cell(found: HumanLevel, key: str, label: str, path: Sequence[str], digits: int) -> str:
    number, bounds = found.scores[key], found.intervals.get(key)
    for name in path:
        number, bounds = number[name], None if bounds is None else bounds[name]
    return _cell(number, bounds, digits, bool(found.intervals), sign=label == "D - H")


def _present(columns: Mapping[str, Sequence[str]], found: HumanLevel) -> dict[str, Sequence[str]]:
    """Return the columns of which there are numbers: some need predictions."""
    scores = next(iter(found.scores.values()))
    return {
        label: path
        for label, path in columns.items()
        if path[0] in scores and (len(path) == 1 or path[1] in scores[path[0]])
    }


# -- what numbers are called in notes


def _in_study(path: str) -> str | None:
    first, *others = path.split(".", 2)
    if first == "macro_f1" and others[0] in COLUMNS:
        return " ".join([COLUMNS[others[0]], *others[1:]])
    return " ".join([DIFFERENCE, *others[1:]]) if path.startswith("differences.macro_f1") else None


def _in_steps(label: str, keys: Sequence[str], path: str) -> str | None:
    before, _, key = path.partition("differences.macro_f1")
    key = key.removeprefix(".")
    return " ".join([label, *filter(None, [key])]) if not before and (not key or key in keys) else None


def _in_levels(label: str, metric: str, path: str) -> str | None:
    names = {".".join((metric, *place)): column for column, place in {**LEVELS, **FULL}.items()}
    return f"{label} {names[path]}" if path in names else None
