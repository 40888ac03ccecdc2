"""How far the study's numbers would move with other items, or with other items and other annotators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mycelium.annotators.comparisons import UNDEFINED, Comparisons
from mycelium.annotators.study import Section, Study
from mycelium.draws import as_generator, check_level, check_resamples, draw, replicate
from mycelium.resample import FEW, METHODS, interval
from mycelium.spans import BoolArray, FloatArray

__all__ = ["FEWEST_ANNOTATORS", "RESAMPLE", "StudyIntervals", "study_intervals"]

RESAMPLE = ("items", "items_annotators")
#: With fewer, a draw of annotators says nothing about others.
FEWEST_ANNOTATORS = 10
#: Share of replicates without any comparison above which intervals need a warning.
MANY_DISCARDED = 0.05
#: Weights of one block of replicates.
WEIGHTS_AT_ONCE = 1 << 19

CONDITIONS = {
    "items": "Items are resampled: the intervals hold for other items like these, marked by these same annotators.",
    "items_annotators": (
        "Items and annotators are resampled, and a comparison weighs the product of both draws, the annotator's being"
        " that of the one held out: the intervals hold for other items and other annotators like these. References"
        " stay those of the annotators who were there."
    ),
}


class StudyIntervals(NamedTuple):
    """Intervals of a study.

    Attributes
    ----------
    intervals : dict
        ``[low, high]`` under the path of each number in ``Study.to_dict()``, or None where there is no interval.
    meta : dict
        ``level``, ``method``, ``n_resamples``, ``seed`` (None for a generator), ``resample``, the number of ``items``
        and distinct ``annotators``, ``condition`` (a sentence: for what the intervals hold), ``discarded`` (path to
        the number of replicates in which nothing was drawn) and ``notes`` (path to why an interval is not quite what
        was asked for, or is missing).
    differences : dict
        ``[low, high]`` of what the union of the others makes of each metric, less what their majority makes of it,
        under ``"macro_f1"`` and ``"micro_f1"``; from the same draws.
    """

    intervals: dict[str, Any]
    meta: dict[str, Any]
    differences: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals, and under ``meta`` everything else."""
        return {**self.intervals, "meta": {**self.meta, "differences": self.differences}}


def study_intervals(
    found: Study,
    *,
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 2000,
    seed: int | np.random.Generator = 0,
    resample: str = "items",
) -> StudyIntervals:
    """Return intervals of a study's shares and scores.

    Parameters
    ----------
    found : Study
        What :func:`study` returned.
    level : float, default=0.95
        The share of samples whose interval should hold the true value.
    method : {"percentile", "bca", "basic"}, default="percentile"
        As in :func:`mycelium.resample.interval`; ``"bca"`` is for items only.
    n_resamples : int, default=2000
        The number B of replicates.
    seed : int or numpy.random.Generator, default=0
        Source of the draws.
    resample : {"items", "items_annotators"}, default="items"
        What is drawn with replacement: items, or items and, independently, annotators (the pigeonhole bootstrap). The
        second speaks about new annotators too. It gives no interval to numbers that hold nobody out.

    Returns
    -------
    StudyIntervals

    Raises
    ------
    ValueError, TypeError
        When an option is unknown, or annotators are to be drawn and fewer than 10 are there.

    Warns
    -----
    UserWarning
        With fewer than 30 items, and where more than 5 % of the replicates drew none of the comparisons of a number.

    References
    ----------
    Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1 (2007).

    Examples
    --------
    >>> from mycelium.annotators import study, study_intervals
    >>> found = study([{"ann": [[0, 6]], "bo": [[2, 6]]}, {"ann": [[0, 4]], "bo": [[0, 4]]}] * 20)
    >>> low, high = study_intervals(found).intervals["macro_f1"]["loo_union"]["iou"]
    >>> low < found.to_dict()["macro_f1"]["loo_union"]["iou"] < high
    True
    """
    if resample not in RESAMPLE:
        raise ValueError(f"resample must be one of {', '.join(map(repr, RESAMPLE))}, got {resample!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    level, n_resamples, rng = check_level(level), check_resamples(n_resamples), as_generator(seed)
    n, annotators = len(found.weights), len(np.unique(found.annotations.annotator))
    if resample == "items_annotators":
        if annotators < FEWEST_ANNOTATORS:
            raise ValueError(
                f'resample="items_annotators" needs at least {FEWEST_ANNOTATORS} distinct annotators, there are'
                f' {annotators}: resample="items" holds for these annotators'
            )
        if method == "bca":
            raise ValueError('method="bca" needs one kind of units, use "percentile" or "basic" with items_annotators')
        replicates = _of_both(found, rng, n_resamples)
    else:
        replicates = _of_items(found, rng, n_resamples)
    out: dict[str, Any] = {}
    meta: dict[str, Any] = {
        "level": level,
        "method": method,
        "n_resamples": n_resamples,
        "seed": None if isinstance(seed, np.random.Generator) else int(seed),
        "resample": resample,
        "items": n,
        "annotators": annotators,
        "condition": CONDITIONS[resample],
        "discarded": {},
        "notes": {},
    }
    parts = {
        section.path: _Part(section.names, point, values, section.additive.jackknife if method == "bca" else None)
        for section, point, values in zip(found.sections, found.points(), replicates, strict=True)
    }
    for section, (path, part) in zip(found.sections, parts.items(), strict=True):
        section.nest(out, _bounds(path, part, level, method, meta))
    differences = {}
    for average, prefix in (("macro_f1", "loo_"), ("micro_f1", "")):
        difference = parts[average, f"{prefix}union"].less(parts[average, f"{prefix}majority"])
        bounds = _bounds(("differences", average), difference, level, method, meta)
        differences[average] = dict(zip(difference.names, bounds, strict=True))
    if n < FEW:
        warnings.warn(
            f"intervals from {n} items are likely too narrow: resampling needs at least {FEW} items, so read them as a"
            " lower bound of the uncertainty",
            UserWarning,
            stacklevel=2,
        )
    many = [name for name, count in meta["discarded"].items() if count > MANY_DISCARDED * n_resamples]
    if many:
        warnings.warn(
            f"more than {MANY_DISCARDED:.0%} of the resamples drew no comparison of {', '.join(many)} and were"
            " discarded: too few items have any for an interval",
            UserWarning,
            stacklevel=2,
        )
    return StudyIntervals(out, meta, differences)


class _Part(NamedTuple):
    """Numbers that stand together: their values, replicates (B, outputs), and what leaves each item out once."""

    names: tuple[str, ...]
    point: FloatArray
    values: FloatArray | None
    jackknife: Callable[[], FloatArray] | None

    def less(self, other: _Part) -> _Part:
        """Return the differences between these numbers and others."""
        values, jackknife = None, None
        if self.values is not None and other.values is not None:
            values = self.values - other.values
        if self.jackknife is not None and other.jackknife is not None:
            ours, theirs = self.jackknife, other.jackknife
            jackknife = lambda: ours() - theirs()  # noqa: E731
        return _Part(self.names, self.point - other.point, values, jackknife)


def _bounds(
    keys: tuple[str, ...], part: _Part, level: float, method: str, meta: dict[str, Any]
) -> list[list[float] | None]:
    path, point, values = ".".join(keys), part.point, part.values
    nothing: list[list[float] | None] = [None] * len(point)
    if values is None:
        meta["notes"][path] = "nobody is held out: no interval for other annotators"
        return nothing
    if np.isnan(point).any():
        meta["notes"][path] = "no item has any"
        return nothing
    # Where no comparison was drawn, no output of the section has a value.
    drawn: BoolArray = np.logical_not(np.isnan(values).any(axis=1))
    if not drawn.all():
        meta["discarded"][path] = int(len(drawn) - drawn.sum())
    if not drawn.any():
        meta["notes"][path] = "no replicate has any"
        return nothing
    jackknife = None if part.jackknife is None else part.jackknife()
    if jackknife is not None:
        jackknife = jackknife[~np.isnan(jackknife).any(axis=1)]
    bounds: list[list[float] | None] = []
    for i, number in enumerate(point.tolist()):
        found = interval(number, values[drawn, i], level, method, None if jackknife is None else jackknife[:, i])
        bounds.append([found.low, found.high])
        if found.note:
            meta["notes"][".".join((path, *part.names[i : i + 1]))] = found.note
    return bounds


def _of_items(found: Study, rng: np.random.Generator, n_resamples: int) -> list[FloatArray | None]:
    """Return the replicates (B, outputs) of each section: one product of draws and sums."""
    parts = [section.additive for section in found.sections]
    sums = np.concatenate([part.sums for part in parts], axis=1)
    totals = replicate(draw(rng, len(sums), n_resamples, reuse=True), sums, n_resamples)
    out: list[FloatArray | None] = []
    begin = 0
    for part in parts:
        end = begin + part.sums.shape[1]
        out.append(part.value(totals[:, begin:end]))
        begin = end
    return out


# -- items and annotators


class _Table(NamedTuple):
    """Sums of comparisons by item and held-out annotator: (k, n, a), and how many comparisons there are: (n, a)."""

    sums: FloatArray
    counts: FloatArray


def _table(values: FloatArray, item: Any, annotator: Any, n: int, a: int) -> _Table:
    cell = item * a + annotator
    columns = [np.bincount(cell, column, n * a) for column in values.T]
    counts = np.bincount(cell, minlength=n * a).astype(np.float64)
    return _Table(np.reshape(columns, (len(columns), n, a)), counts.reshape(n, a))


def _of_both(found: Study, rng: np.random.Generator, n_resamples: int) -> list[FloatArray | None]:
    """Return the replicates (B, outputs) of each section that holds annotators out.

    Annotators are drawn first, for all replicates, then items.
    """
    notes = found.annotations
    names, annotator = np.unique(notes.annotator, return_inverse=True)
    n, a = len(found.weights), len(names)
    averages: list[Callable[[FloatArray, FloatArray], FloatArray] | None] = [
        _average(section, found, annotator.reshape(-1), n, a) for section in found.sections
    ]
    by_annotator = np.concatenate(list(draw(rng, a, n_resamples)))
    done: list[list[FloatArray]] = [[] for _ in averages]
    begin = 0
    for by_item in _small(draw(rng, n, n_resamples), max(1, WEIGHTS_AT_ONCE // n)):
        of = by_annotator[begin : begin + len(by_item)]
        begin += len(by_item)
        for average, blocks in zip(averages, done, strict=True):
            if average is not None:
                blocks.append(average(by_item, of))
    return [np.concatenate(blocks) if blocks else None for blocks in done]


def _small(blocks: Iterator[FloatArray], most: int) -> Iterator[FloatArray]:
    for block in blocks:
        for begin in range(0, len(block), most):
            yield block[begin : begin + most]


def _average(
    section: Section, found: Study, annotator: Any, n: int, a: int
) -> Callable[[FloatArray, FloatArray], FloatArray] | None:
    """Return what turns draws of items (b, n) and of annotators (b, a) into the section's numbers (b, outputs)."""
    kind, name = section.path[0], section.path[-1]
    where: BoolArray | None = None
    if kind == "micro_f1":
        return _micro(found.families[f"loo_{name}"], annotator, found.weights, a)
    if kind != "macro_f1" or name == "one_char":
        return None
    if name in found.subsets:
        name, where = "loo_union", found.subsets[name]
    family = found.families[name]
    keep = slice(None) if where is None else where
    table = _table(family.values[keep], family.item[keep], annotator[keep], n, a)

    def average(by_item: FloatArray, by_annotator: FloatArray) -> FloatArray:
        weight = by_annotator @ table.counts.T
        share = by_item / np.maximum(weight, 1)
        some = (by_item * (weight > 0)).sum(axis=1)
        sums = [(share * (by_annotator @ one.T)).sum(axis=1) for one in table.sums]
        return np.stack(sums, axis=1) / np.where(some > 0, some, np.nan)[:, np.newaxis]

    return average


def _micro(
    family: Comparisons, annotator: Any, weights: FloatArray, a: int
) -> Callable[[FloatArray, FloatArray], FloatArray]:
    tables = [_table(counted, family.item, annotator, len(weights), a) for counted in family.statistics]

    def average(by_item: FloatArray, by_annotator: FloatArray) -> FloatArray:
        by_item, out = by_item * weights, []
        for metric, table in zip(family.metrics, tables, strict=True):
            totals = [(by_item * (by_annotator @ one.T)).sum(axis=1) for one in table.sums]
            values = metric.value(np.stack(totals, axis=1), UNDEFINED)
            out.append(values[:, metric.outputs.index(metric.primary)])
        some = (by_item * (by_annotator @ tables[0].counts.T)).sum(axis=1)
        return np.where(some[:, np.newaxis] > 0, np.stack(out, axis=1), np.nan)

    return average
