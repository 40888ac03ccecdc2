"""Thresholds for each segment of the answers, and the worst of several slices under one threshold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelium.detector.binomial import required_unsupported
from mycelium.detector.curve import upper_bounds
from mycelium.detector.decisions import (
    digest_of,
    digest_of_ids,
    labels_warning,
    narrowed,
    read_decisions,
    say,
    share,
)
from mycelium.detector.inputs import Scored, as_scores, as_weights
from mycelium.detector.points import (
    OperatingPoint,
    budget_message,
    check_other_rows,
    point_of,
)
from mycelium.detector.selection import ThresholdSelection, inside_threshold
from mycelium.detector.thresholds import RULES, check_budget, selection_of
from mycelium.draws import check_level, check_resamples, units_of
from mycelium.spans import BoolArray, IntArray

__all__ = [
    "SegmentPoints",
    "SegmentThresholds",
    "SliceBound",
    "WorstSlice",
    "select_segment_thresholds",
    "worst_slice",
]


@dataclass(frozen=True)
class SegmentThresholds:
    """A threshold for each segment that has enough unsupported calibration rows, and the pooled one for the others.

    Attributes
    ----------
    segments : dict
        Segment -> its own selection. One that is large enough and infeasible stays so: nothing is accepted there.
    pooled : ThresholdSelection
        Chosen on all rows, for segments that are too small or were not seen.
    fallback : dict
        Segment -> why it takes the pooled threshold.
    min_unsupported : int
        Unsupported rows that a segment needs.
    warnings : tuple of str
        What was warned of.
    """

    segments: Mapping[Any, ThresholdSelection]
    pooled: ThresholdSelection
    fallback: Mapping[Any, str]
    min_unsupported: int
    warnings: tuple[str, ...] = ()

    def selection(self, segment: Any) -> ThresholdSelection:
        """Return what holds for a segment."""
        return self.segments.get(segment, self.pooled)

    def accepts(self, y_score: Any, segments: Any) -> BoolArray:
        """Return which answers are accepted, given their scores and segments (n,)."""
        out = self.pooled.accepts(y_score)
        units = units_of(segments, len(out), name="segments")
        for number, key in enumerate(units.keys or ()):
            if key in self.segments:
                out = np.where(units.index == number, self.segments[key].accepts(y_score), out)
        return out

    def evaluate(
        self,
        y_true: Any,
        y_score: Any,
        *,
        segments: Any,
        groups: Any = None,
        sample_weight: Any = None,
        pos_label: Hashable = None,
        nan_policy: str = "raise",
        labelled: str = "all",
        row_ids: Any = None,
        allow_resubstitution: bool = False,
    ) -> SegmentPoints:
        """Return what the thresholds do to rows that were not used to choose them.

        Parameters are those of :func:`mycelium.detector.points.evaluate_operating_point`, and the segment of each row.
        Segments that were not seen take the pooled threshold, and are listed.
        """
        direction = self.pooled.score_direction
        options = {"pos_label": pos_label, "nan_policy": nan_policy, "score_direction": direction}
        scored, of, keys = _with_segments(y_true, y_score, segments, groups, sample_weight, options)
        digest = digest_of(scored)
        again = self.pooled.is_of(digest, digest_of_ids(row_ids, len(as_scores(y_score))))
        check_other_rows(again, allow_resubstitution)
        messages = labels_warning(labelled)
        tau = np.array([inside_threshold(self.selection(key), direction) for key in keys])
        accepted = scored.score <= tau[of]
        said: dict[str, Any] = {"target_far": self.pooled.max_far, "score_direction": direction, "labelled": labelled}
        points, chosen = {}, self.segments
        for number, key in enumerate(keys):
            rows = of == number
            if not rows.any():
                continue
            own = self.selection(key)
            part = narrowed(scored, rows)
            points[key] = point_of(
                part,
                accepted[rows],
                tau=float(tau[number]),
                threshold=own.threshold,
                rule=own.rule,
                feasible=own.feasible,
                accept_all=own.accept_all,
                cal_far=own.cal_far,
                n_calibration_unsupported=own.n_unsupported,
                resubstitution=again,
                digest=digest_of(part),
                calibration_digest=own.digest,
                **said,
            )
        if again:
            messages.append("the thresholds were chosen on these very rows: rates are too good, and no bound holds")
        messages += budget_message(int(scored.unsupported.sum()), self.pooled.max_far)
        overall = point_of(
            scored,
            accepted,
            threshold=None,
            rule=self.pooled.rule,
            feasible=bool((tau > -np.inf).any()),
            accept_all=bool(len(keys)) and all(self.selection(key).accept_all for key in keys),
            cal_far=None,
            n_calibration_unsupported=self.pooled.n_unsupported,
            resubstitution=again,
            digest=digest,
            calibration_digest=self.pooled.digest,
            warnings=say(messages),
            **said,
        )
        overall = replace(overall, undefined={**overall.undefined, "threshold": "each segment has its own"})
        unseen = tuple(key for key in keys if key not in chosen and key not in self.fallback)
        return SegmentPoints(points, overall, unseen)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict; segments become strings."""
        return {
            "segments": {str(key): value.to_dict() for key, value in self.segments.items()},
            "pooled": self.pooled.to_dict(),
            "fallback": {str(key): why for key, why in self.fallback.items()},
            "min_unsupported": self.min_unsupported,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class SegmentPoints:
    """Operating points of each segment and of all rows together.

    Attributes
    ----------
    segments : dict
        Segment -> operating point. Each bound holds by itself.
    overall : OperatingPoint
        All rows, each at the threshold of its segment.
    unseen : tuple
        Segments that had no calibration row and took the pooled threshold.
    """

    segments: Mapping[Any, OperatingPoint]
    overall: OperatingPoint
    unseen: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict; segments become strings."""
        inner = {str(key): value.to_dict() for key, value in self.segments.items()}
        return {"segments": inner, "overall": self.overall.to_dict(), "unseen": [str(key) for key in self.unseen]}


@dataclass(frozen=True)
class SliceBound:
    """FAR of one slice, and its one-sided upper bound at a level that allows for the number of slices."""

    far: float | None
    far_upper: float | None
    n_unsupported: int
    n_false_accepts: int
    n_groups_unsupported: int | None
    reason: str | None = None


@dataclass(frozen=True)
class WorstSlice:
    """The slice with the highest bound.

    Attributes
    ----------
    slice : hashable or None
        Its name; None where no slice has an unsupported row.
    slices : dict
        Slice -> :class:`SliceBound`, all at ``confidence_level``: together they hold with 95%.
    confidence_level : float
        1 - 0.05 / S for S slices.
    """

    slice: Any
    slices: Mapping[Any, SliceBound]
    confidence_level: float

    @property
    def far_upper(self) -> float | None:
        """The bound of the worst slice, which is one for all of them."""
        return None if self.slice is None else self.slices[self.slice].far_upper

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict; slices become strings."""
        return {
            "slice": None if self.slice is None else str(self.slice),
            "far_upper": self.far_upper,
            "slices": {
                str(key): {name: getattr(value, name) for name in value.__dataclass_fields__}
                for key, value in self.slices.items()
            },
            "confidence_level": self.confidence_level,
        }


def select_segment_thresholds(
    y_true: Any,
    y_score: Any,
    *,
    segments: Any,
    max_far: float,
    rule: str = "empirical",
    min_unsupported: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
    confidence_level: float = 0.95,
    labelled: str = "all",
    row_ids: Any = None,
) -> SegmentThresholds:
    """Choose a threshold for each segment of the calibration rows, such as a domain or a language.

    Parameters
    ----------
    segments : sequence of length n
        The segment of each row; what is known of an answer before it is judged.
    min_unsupported : int, optional
        Unsupported rows a segment needs for a threshold of its own: as many as it takes to certify the budget without
        a false acceptance, by default, and no fewer than 1. Smaller ones take the pooled threshold, and are listed.
    y_true, y_score, max_far, rule, groups, sample_weight, pos_label, nan_policy, score_direction, labelled, row_ids
        As in :func:`mycelium.detector.thresholds.select_threshold`.
    confidence_level : float
        For "upper_bound". The guarantee of a rule holds for each segment by itself, and for those that take the pooled
        threshold only on average over all rows.

    Warns
    -----
    UserWarning
        When segments take the pooled threshold.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     chosen = select_segment_thresholds([1, 1, 1, 1], [0.2, 0.4, 0.6, 0.8], max_far=0.4, min_unsupported=3,
    ...                                        segments=["law", "law", "law", "news"])
    >>> chosen.segments["law"].threshold, chosen.pooled.threshold, chosen.fallback
    (0.2, 0.2, {'news': '1 unsupported row, fewer than 3'})
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {rule!r}")
    level, budget = check_level(confidence_level, "confidence_level"), check_budget(max_far)
    if min_unsupported is not None:
        needed = check_resamples(min_unsupported, "min_unsupported")
    else:
        needed = required_unsupported(budget, confidence_level=level) if 0 < budget < 1 else 1
    options = {"pos_label": pos_label, "nan_policy": nan_policy, "score_direction": score_direction}
    scored, of, keys = _with_segments(y_true, y_score, segments, groups, sample_weight, options)
    own, fallback = {}, {}
    for number, key in enumerate(keys):
        part = narrowed(scored, of == number)
        count = int(part.unsupported.sum())
        if count >= needed:
            own[key] = selection_of(part, budget, rule, level, score_direction)
        else:
            fallback[key] = f"{count:,} unsupported row{'s' * (count != 1)}, fewer than {needed:,}"
    messages = labels_warning(labelled)
    if fallback:
        named = ", ".join(f"{key!r} ({why})" for key, why in fallback.items())
        messages.append(
            f"segments with too few unsupported rows take the pooled threshold: {named}; label more of them, or lower"
            " min_unsupported"
        )
    warned = say(messages)
    ids = digest_of_ids(row_ids, len(as_scores(y_score)))
    pooled = selection_of(scored, budget, rule, level, score_direction, warned, ids)
    return SegmentThresholds(own, pooled, fallback, needed, warned)


def worst_slice(
    y_true: Any,
    y_score: Any,
    *,
    slices: Any,
    threshold: Any,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    score_direction: str = "higher_is_riskier",
    labelled: str = "all",
) -> WorstSlice:
    """Return the slice with the highest upper bound of FAR, at a level that allows for having looked at all of them.

    Parameters
    ----------
    slices : sequence of length n
        The slice of each row, such as what went wrong in it; None for rows in no slice. Only unsupported rows matter.
    y_true, y_score, threshold, groups, sample_weight, pos_label, nan_policy, score_direction, labelled
        As in :func:`mycelium.detector.points.evaluate_operating_point`.

    Returns
    -------
    WorstSlice
        Bounds at 1 - 0.05 / S, with S slices that have an unsupported row (those without have a bound of 1, and are
        not the worst). A bound that is not defined, all rows being in one group, is None and makes the slice the
        worst.

    Examples
    --------
    >>> worst = worst_slice([1] * 40, [9] * 39 + [1], slices=["a"] * 20 + ["b"] * 20, threshold=5)
    >>> worst.slice, worst.confidence_level, round(worst.far_upper, 4)
    ('b', 0.975, 0.2487)
    """
    options = {"pos_label": pos_label, "nan_policy": nan_policy, "score_direction": score_direction}
    say(labels_warning(labelled))
    named = list(slices.tolist() if hasattr(slices, "tolist") else slices)
    # A row in no slice still belongs somewhere until it is set aside.
    placed = [(True, value) if value is not None and value == value else (False, "") for value in named]
    scored, of, pairs = _with_segments(y_true, y_score, placed, groups, sample_weight, options)
    keys = [(number, key[1]) for number, key in enumerate(pairs) if key[0]]
    risky = {key: narrowed(scored, scored.unsupported & (of == number)) for number, key in keys}
    held = [key for key, rows in risky.items() if len(rows)]
    level = 1 - 0.05 / max(1, len(held))
    tau = inside_threshold(threshold, score_direction)
    found = {key: _bound(rows, tau, level) for key, rows in risky.items()}

    def badness(key: Any) -> tuple[float, float]:
        bound = found[key]
        return (2.0 if bound.far_upper is None else bound.far_upper, bound.far or 0.0)

    return WorstSlice(max(held, key=badness) if held else None, found, level)


def _bound(rows: Scored, tau: float, level: float) -> SliceBound:
    accepted = rows.score <= tau
    groups = None if rows.units.keys is None else len(np.unique(rows.units.index))
    upper: float | None = float(upper_bounds(rows, np.array([tau]), level)[0])
    reason = None if len(rows) else "there are no unsupported rows"
    if len(rows) and groups == 1:
        upper, reason = None, "all unsupported rows are in one group"
    return SliceBound(share(accepted, rows.weight), upper, len(rows), int(accepted.sum()), groups, reason)


def _with_segments(
    y_true: Any, y_score: Any, segments: Any, groups: Any, sample_weight: Any, options: dict[str, Any]
) -> tuple[Scored, IntArray, tuple[Any, ...]]:
    """Read rows; return them, the number of each row's segment, and the sorted segments."""
    score = as_scores(y_score)
    of = units_of(segments, len(score), name="segments")
    if of.keys is None:
        raise TypeError("segments must be a sequence with a value for each row, got None")
    scored = read_decisions(y_true, y_score, groups=groups, sample_weight=sample_weight, **options)
    weight = as_weights(sample_weight, len(score))
    kept = np.ones(len(score), dtype=np.bool_) if weight is None else weight > 0
    if options["nan_policy"] == "omit":
        kept &= ~np.isnan(score)
    return scored, of.index[kept], of.keys
