"""Operating points in a report: on all test rows, at other prevalences, and within slices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelium.detector.auc import roc_auc_interval
from mycelium.detector.binomial import rate_interval, required_unsupported
from mycelium.detector.decisions import as_threshold, narrowed, read_decisions
from mycelium.detector.parts import Parts
from mycelium.detector.points import OperatingPoint, evaluate_operating_point
from mycelium.detector.precision import average_precision
from mycelium.detector.prevalence import prevalence_name, prevalence_stress
from mycelium.detector.rows import Place, Rows, put_auc, values_of, without_groups
from mycelium.detector.selection import ThresholdSelection
from mycelium.detector.structure import blank, pointer
from mycelium.detector.thresholds import select_threshold
from mycelium.spans import IntArray

__all__ = ["points", "risk_control", "slices", "stress"]


def points(
    content: dict[str, Any], rows: Rows, parts: Parts, budgets: Sequence[float], rules: Sequence[str]
) -> tuple[list[ThresholdSelection], list[OperatingPoint]]:
    """Choose thresholds on calibration rows and fill in what they do to test rows."""
    selections: list[ThresholdSelection] = []
    found_points: list[OperatingPoint] = []
    for budget in budgets:
        for rule in rules:
            assert parts.calibration is not None
            chosen = select_threshold(
                **rows.of(parts.calibration),
                max_far=budget,
                rule=rule,
                labelled=rows.labelled,
                # Rows are told apart by their numbers: labels and scores may be alike.
                row_ids=parts.calibration,
            )
            found = evaluate_operating_point(
                **rows.of(parts.test),
                threshold=chosen,
                labelled=rows.labelled,
                row_ids=parts.test,
                allow_resubstitution=parts.resubstitution,
            )
            selections.append(chosen)
            found_points.append(found)
            _add_point(content, chosen, found, parts.resubstitution)
    return selections, found_points


def _add_point(
    content: dict[str, Any], chosen: ThresholdSelection, found: OperatingPoint, resubstitution: bool
) -> None:
    """Add an operating point with what its choice rests on; the names are those of the two results."""
    place = pointer("operating_points", len(content["operating_points"]))
    values = {
        **{name: getattr(chosen, name) for name in ("controls", "approximate", "reason", "cutoff", "cal_sar")},
        "next_score": chosen.next_score,
        "n_calibration_false_accepts": chosen.n_accepted_unsupported,
        "required_unsupported": required_unsupported(chosen.max_far) if 0 < chosen.max_far < 1 else None,
        "bound_within_target": None if found.far_upper95 is None else found.far_upper95 <= chosen.max_far,
    }
    point = found.to_dict() | values | {"resubstitution": resubstitution}
    held = list(blank("operating_points"))
    content["operating_points"].append({name: point[name] for name in held})
    for name, reason in found.undefined.items():
        if name in held:
            content["undefined"][place + pointer(name)] = reason


def risk_control(content: dict[str, Any], selections: Sequence[ThresholdSelection]) -> None:
    """Fill in which rules guarantee something."""
    guarded = [chosen for chosen in selections if chosen.rule != "empirical"]
    if not guarded:
        return
    content["risk_control"].update(
        method=", ".join(dict.fromkeys(chosen.rule for chosen in guarded)),
        alpha=list(dict.fromkeys(chosen.max_far for chosen in guarded)),
        calibration_n_unsupported=guarded[0].n_unsupported,
        level=next((chosen.confidence_level for chosen in guarded if chosen.rule == "upper_bound"), None),
    )


def stress(
    content: dict[str, Any],
    rows: Rows,
    test: IntArray,
    points: Sequence[OperatingPoint],
    prevalences: Sequence[float],
) -> None:
    """Fill in what the operating points mean at other prevalences."""
    ranked = without_groups(rows.ranked(test))
    stressed = [prevalence_stress(point, prevalences) for point in points]
    names = [prevalence_name(prevalence) for prevalence in prevalences]
    for name, prevalence in zip(names, prevalences, strict=True):
        content["prevalence_stress"][name] = {"prevalence": float(prevalence), "operating_points": []}
        place = Place(content, "prevalence_stress", name)
        found = average_precision(**ranked, prevalence=float(prevalence))
        place.put("average_precision", found.estimate, found.undefined.get("estimate"))
        for i, (point, each) in enumerate(zip(points, stressed, strict=True)):
            place.section["operating_points"].append({"target_far": point.target_far, "rule": point.rule})
            inner = Place(content, "prevalence_stress", name, "operating_points", i)
            values = each[name]
            for field in (
                *("alert_precision", "alert_precision_lower95", "accepted_risk", "accepted_risk_upper95"),
                "acceptance_rate",
            ):
                inner.put(field, getattr(values, field), values.undefined.get(field))


def slices(content: dict[str, Any], rows: Rows, test: IntArray, selections: Sequence[ThresholdSelection]) -> None:
    """Fill in the values of each column of context."""
    if not rows.slices:
        return
    content["context_slices"] = {}
    for column, values in rows.slices.items():
        parts = values_of(values, test, column)
        content["context_slices"][column] = {}
        # All bounds of a column hold together, as the worst of them is what will be quoted.
        level = 1 - 0.05 / max(1, sum(bool(rows.labels[part].any()) for part in parts.values()))
        for value, part in parts.items():
            risky = int(rows.labels[part].sum())
            content["context_slices"][column][value] = {
                "n": len(part),
                "n_unsupported": risky,
                "n_supported": len(part) - risky,
                "n_groups": None if rows.groups is None else len({rows.groups[i] for i in part.tolist()}),
            }
            place = Place(content, "context_slices", column, value)
            found = roc_auc_interval(**rows.ranked(part)) if _any_scored(rows, part) else None
            if found is None:
                place.put("roc_auc", None, "no row has a score")
                place.put("roc_auc_ci95", None, "no row has a score")
                place.put("direction", None)
            else:
                put_auc(place, found)
                place.put("direction", found.direction)
            place.section["operating_points"] = []
            if found is not None:
                for i, chosen in enumerate(selections):
                    _slice_point(content, (column, value, i), rows, part, chosen, level)


def _slice_point(
    content: dict[str, Any],
    at: tuple[str, str, int],
    rows: Rows,
    part: IntArray,
    chosen: ThresholdSelection,
    level: float,
) -> None:
    column, value, i = at
    section = content["context_slices"][column][value]["operating_points"]
    section.append({"target_far": chosen.max_far, "rule": chosen.rule})
    place = Place(content, "context_slices", column, value, "operating_points", i)
    with warnings.catch_warnings():
        # That slices are small is said once, for all of them.
        warnings.simplefilter("ignore", UserWarning)
        found = evaluate_operating_point(
            **rows.of(part), threshold=chosen, labelled=rows.labelled, allow_resubstitution=True
        )
    place.put("far", found.eval_far, found.undefined.get("eval_far"))
    place.put("n_false_accepts", found.n_false_accepts)
    place.put("far_upper95", found.far_upper95, found.undefined.get("far_upper95"))
    place.put("sar", found.supported_acceptance, found.undefined.get("supported_acceptance"))
    if not found.feasible:
        place.put("far_upper_simultaneous", found.far_upper95)
        return
    scored = read_decisions(**rows.of(part))
    risky = narrowed(scored, scored.unsupported)
    accepted = risky.score <= as_threshold(chosen.threshold, rows.direction)
    bound = rate_interval(accepted, risky.units, risky.weight, alternative="less", confidence_level=level)
    place.put("far_upper_simultaneous", bound.high, bound.undefined.get("high"))


def _any_scored(rows: Rows, part: IntArray) -> bool:
    return rows.nan_policy != "omit" or not np.isnan(rows.score[part]).all()
