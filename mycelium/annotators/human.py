"""What a human scores: each annotator against the others, and a detector against the same references.

It is a level, not a ceiling: a detector may exceed it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mycelium.annotators.comparisons import UNDEFINED, Comparisons, compared, held_out, macro
from mycelium.annotators.consensus import check_share
from mycelium.annotators.consensus import consensus as consensus_of
from mycelium.annotators.corpus import Annotations
from mycelium.annotators.layout import human_table
from mycelium.annotators.subsets import comparable, equal_numbers
from mycelium.draws import as_generator, check_level, check_resamples, draw, replicate
from mycelium.draws import leave_one_out as without_each
from mycelium.formats import read_spans
from mycelium.metrics import DEFAULT, Metric, get
from mycelium.reduce import ExactSum
from mycelium.resample import FEW, METHODS, interval
from mycelium.spans import FloatArray, SpanBatch

__all__ = ["HumanLevel", "human_level"]

#: Averages over items, with where they stand.
_HUMAN, _OTHERS, _CONSENSUS = ("human",), ("expected_score", "other_humans"), ("expected_score", "consensus_of_others")
_DETECTOR, _EXPECTED = ("detector",), ("expected_score", "detector")
_FULL = ("detector_against_full_consensus",)
#: What is made of two of them.
_DIFFERENCE, _RELATIVE = ("difference",), ("relative_to_human",)


class HumanLevel(NamedTuple):
    """What :func:`human_level` found.

    Attributes
    ----------
    scores : dict
        For each metric a dict of numbers; None where there is none (a ratio to 0).

        - ``human`` (H): the mean over items of the mean over held-out annotators h of the score of h against the
          consensus of the others;
        - ``detector`` (D): the same mean, of the same references, with the detector as the prediction;
        - ``difference`` (D - H) and ``relative_to_human`` (D / H), which may exceed 1;
        - ``detector_against_full_consensus``: the detector against the consensus of all. It is not comparable with H,
          whose references lack one annotator, and is never divided by it;
        - ``expected_score``: with one annotator h as the reference, the mean over h of the score of the ``detector``,
          of ``other_humans`` (each of the others) and of the ``consensus_of_others``.

        Without predictions only the numbers that need none.
    intervals : dict
        ``[low, high]`` in the same places, all from the same draws of items; empty where none were asked for.
    meta : dict
        ``consensus``, ``undefined``, ``items`` (with at least two annotators), ``skipped`` (others, which have no
        human level), ``dropped`` (annotations of no length), ``annotators_per_item`` (fewest and most),
        ``n_annotators``, ``subsets``, ``seed`` (None for a generator); with intervals ``level``, ``method``,
        ``n_resamples``, ``condition``, ``discarded`` and ``notes`` by place.
    """

    scores: dict[str, Any]
    intervals: dict[str, Any]
    meta: dict[str, Any]

    def to_table(self, format: str = "text", digits: int = 3) -> str:
        """Lay the numbers out, a row for each metric, with what they mean.

        Parameters
        ----------
        format : {"text", "markdown", "html", "latex", "csv"}
            The layout; numbers are rounded in all of them.
        digits : int, default=3
            Decimals.
        """
        return human_table(self, format, digits)


def human_level(
    annotations: Any,
    predictions: Any = None,
    consensus: str | float = "majority",
    *,
    metrics: Iterable[str] = DEFAULT,
    undefined: float | None = UNDEFINED,
    n_annotators: int | None = None,
    subsets: str | int = "all",
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int | None = 2000,
    seed: int | np.random.Generator = 0,
) -> HumanLevel:
    """Score annotators against each other, and a detector against the same references.

    Parameters
    ----------
    annotations : Corpus, Annotations, or whatever :func:`as_annotations` reads
        n items. Those with fewer than two annotators are left out and counted.
    predictions : batch of span sets, optional
        What a detector marks in each of the n items, taken as it is.
    consensus : {"majority", "union", "intersection"} or float, default="majority"
        As for :func:`consensus`. Spans of one annotator are merged where they touch or overlap.
    metrics : iterable of str
        Names of metrics that need no probabilities; their f1 or score is taken.
    undefined : float or None, default=1.0
        The value of a side with nothing to divide by; None takes each metric's own.
    n_annotators, subsets
        As for :func:`study`: cut every item to so many annotators, so that levels of corpora become comparable. What is
        called full consensus is that of the annotators who are left.
    level, method, seed
        As for :func:`study_intervals`; random subsets are drawn first.
    n_resamples : int or None, default=2000
        The number of draws of items; None asks for no intervals.

    Returns
    -------
    HumanLevel

    Raises
    ------
    ValueError, TypeError
        When no item has two annotators, there are not n predictions, or an option is unknown.

    Warns
    -----
    UserWarning
        For intervals from fewer than 30 items.

    Examples
    --------
    >>> from mycelium.annotators import human_level
    >>> notes = [{"ann": [[0, 4]], "bo": [[0, 8]], "cy": [[0, 4]]}]
    >>> found = human_level(notes, [[[0, 4]]], metrics=["iou"], n_resamples=None).scores["iou"]
    >>> round(found["human"], 4), round(found["detector"], 4), found["relative_to_human"]
    (0.8333, 1.0, 1.2)
    """
    check_share(consensus)
    level = check_level(level)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    rng = as_generator(seed)
    every, enough = comparable(annotations, n_annotators, subsets)
    notes = every[enough].merged()
    n, counts = len(notes), notes.counts
    detected = None if predictions is None else _read(predictions, every)[enough]
    item = np.arange(n, dtype=np.int64)
    if n_annotators is not None:
        notes, item = equal_numbers(notes, n_annotators, subsets, rng)
        detected = None if detected is None else detected[item]
    chosen = [get(name) for name in metrics]
    families = _families(notes, detected, consensus, chosen, undefined)
    families = {place: family._replace(item=item[family.item]) for place, family in families.items()}
    places = list(families)
    # Every item has comparisons of every kind: the number of items drawn is the only denominator.
    sums = np.concatenate([macro(family, n).sums[:, :-1] for family in families.values()], axis=1)
    total = ExactSum(sums.shape[1])
    total.add(sums)
    point = _outputs(total.totals() / n, places, len(chosen))
    outputs = [*places, *((_DIFFERENCE, _RELATIVE) if _DETECTOR in places else ())]
    keys = [metric.key for metric in chosen]
    meta: dict[str, Any] = {
        "consensus": consensus,
        "undefined": undefined,
        "items": n,
        "skipped": int((~enough).sum()),
        "dropped": every.dropped,
        "annotators_per_item": [int(counts.min()), int(counts.max())],
        "n_annotators": n_annotators,
        "subsets": subsets,
        "seed": None if isinstance(seed, np.random.Generator) else int(seed),
    }
    scores = _nested(keys, outputs, [None if value != value else value for value in point.tolist()])
    if n_resamples is None:
        return HumanLevel(scores, {}, meta)
    n_resamples = check_resamples(n_resamples)
    meta |= {"level": level, "method": method, "n_resamples": n_resamples}
    meta["condition"] = "Items are resampled: the intervals hold for other items, marked by these same annotators."
    meta |= {"discarded": {}, "notes": {}}
    replicates = _outputs(replicate(draw(rng, n, n_resamples, reuse=True), sums, n_resamples) / n, places, len(chosen))
    jackknife = None
    if method == "bca":
        jackknife = _outputs(without_each(sums) / max(n - 1, 1), places, len(chosen))
    bounds: list[list[float] | None] = []
    for j, (number, name) in enumerate(zip(point.tolist(), _names(keys, outputs), strict=True)):
        drawn = ~np.isnan(replicates[:, j])
        if number != number or not drawn.any():
            bounds.append(None)
            continue
        if not drawn.all():
            meta["discarded"][name] = int(n_resamples - drawn.sum())
        left = None if jackknife is None else jackknife[~np.isnan(jackknife[:, j]), j]
        found = interval(number, replicates[drawn, j], level, method, left)
        bounds.append([found.low, found.high])
        if found.note:
            meta["notes"][name] = found.note
    if n < FEW:
        warnings.warn(
            f"intervals from {n} items are likely too narrow: resampling needs at least {FEW} items, so read them as a"
            " lower bound of the uncertainty",
            UserWarning,
            stacklevel=2,
        )
    return HumanLevel(scores, _nested(keys, outputs, bounds), meta)


def _read(predictions: Any, every: Annotations) -> SpanBatch:
    batch, _ = read_spans(predictions, name="predictions", text=every.texts)
    if len(batch) != len(every):
        raise ValueError(f"numbers of rows differ: annotations has {len(every)}, predictions has {len(batch)}")
    return batch


def _families(
    notes: Annotations,
    detected: SpanBatch | None,
    consensus: str | float,
    metrics: Sequence[Metric],
    undefined: float | None,
) -> dict[tuple[str, ...], Comparisons]:
    """Return the comparisons behind each average."""
    human = held_out(notes, consensus, metrics, undefined)
    marks, item = notes.marks, notes.item
    others = human.references
    families = {_HUMAN: human, _CONSENSUS: compared(marks, others, item, metrics, undefined)}
    h, other = _ordered_pairs(notes)
    families[_OTHERS] = compared(marks[h], marks[other], item[h], metrics, undefined)
    if detected is not None:
        each = detected[item]
        families[_DETECTOR] = compared(others, each, item, metrics, undefined)
        families[_EXPECTED] = compared(marks, each, item, metrics, undefined)
        rows = np.arange(len(notes), dtype=np.int64)
        families[_FULL] = compared(consensus_of(notes, consensus), detected, rows, metrics, undefined)
    return families


def _ordered_pairs(notes: Annotations) -> tuple[Any, Any]:
    """Return the positions of all ordered pairs of different marks of an item."""
    counts = notes.counts[notes.item]
    h = np.repeat(np.arange(len(notes.marks), dtype=np.int64), counts)
    first = np.cumsum(counts) - counts
    other = np.arange(len(h), dtype=np.int64) - first[h] + notes.offsets[notes.item[h]]
    different = h != other
    return h[different], other[different]


def _outputs(averages: FloatArray, places: Sequence[tuple[str, ...]], metrics: int) -> FloatArray:
    """Add difference and ratio to averages (..., places * metrics)."""
    if _DETECTOR not in places:
        return averages
    parts = dict(zip(places, np.split(averages, len(places), axis=-1), strict=True))
    human, detector = parts[_HUMAN], parts[_DETECTOR]
    ratio = detector / np.where(human == 0, np.nan, human)
    return np.concatenate([averages, detector - human, ratio], axis=-1)


def _names(keys: Sequence[str], outputs: Sequence[tuple[str, ...]]) -> list[str]:
    return [".".join((key, *place)) for place in outputs for key in keys]


def _nested(keys: Sequence[str], outputs: Sequence[tuple[str, ...]], values: Sequence[Any]) -> dict[str, Any]:
    """Put values, place by place and metric by metric within, into a dict by metric."""
    out: dict[str, Any] = {key: {} for key in keys}
    at = iter(values)
    for place in outputs:
        for key in keys:
            into = out[key]
            for name in place[:-1]:
                into = into.setdefault(name, {})
            into[place[-1]] = next(at)
    return out
