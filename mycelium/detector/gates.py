"""Whether a report may pass: its bounds against a budget, and against an older report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Gate", "gate"]


@dataclass(frozen=True)
class Gate:
    """What a gate found.

    Attributes
    ----------
    passed : bool
        Whether nothing was violated.
    reasons : tuple of str
        A sentence for each rule that was violated; where none was, what was found.
    remarks : tuple of str
        What does not decide, and should be known.
    """

    passed: bool
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def gate(
    report: Mapping[str, Any],
    *,
    max_far: float,
    target_far: float | None = None,
    rule: str | None = None,
    min_sar: float | None = None,
    baseline: Mapping[str, Any] | None = None,
    margin: float = 0.0,
) -> Gate:
    """Hold the upper bound of a report's false acceptance rate against a budget.

    What counts is the bound, not the rate that happened to be observed: a handful of rows without a false acceptance
    proves little, and does not pass.

    Parameters
    ----------
    report : EvaluationReport
        The report to let pass or not.
    max_far : float
        The one-sided 95% upper bound of FAR on the test rows must not exceed this.
    target_far : float, optional
        The budget of the operating point to look at, where it differs from ``max_far``: thresholds chosen for 0.02
        are likelier to be shown to keep 0.05.
    rule : str, optional
        The rule of the operating point, where the report has several.
    min_sar : float, optional
        The one-sided 97.5% lower bound of the share of supported answers that are accepted must reach this.
    baseline : EvaluationReport, optional
        An older report. The bounds of FAR and SAR of the same operating point, and the lower end of the interval of
        AUC, must not be worse than there by more than ``margin``.
    margin : float
        What bounds may lose against the baseline.

    Returns
    -------
    Gate

    Raises
    ------
    ValueError
        When a report has no such operating point, or a bound was not measured.
    """
    for name, value in (("max_far", max_far), ("margin", margin), ("min_sar", 0.0 if min_sar is None else min_sar)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")
    target = max_far if target_far is None else target_far
    point = _point(report, target, rule, "the report")
    wrong: list[str] = []
    selection = report["selection"]
    if selection["resubstitution"]:
        wrong.append("the threshold was chosen on the test rows themselves, so that no bound holds")
    if selection["final_test_locked"] is False:
        wrong.append("the test rows are not those that had been locked")
    name = f"the operating point for a budget of {target:g}"
    bound = _bound(point, "far_upper95", "the upper bound of FAR", "the report")
    seen = f"{point['n_false_accepts']} of {point['n_unsupported']} unsupported answers accepted"
    if point["feasible"] is False:
        wrong.append(f"{name} is infeasible: no threshold keeps the budget on the calibration rows")
    elif bound > max_far:
        said = f"FAR may be as high as {bound:.4f} ({seen}, 95% upper bound), which is above {max_far:g}"
        wrong.append(said + _hint(point, max_far))
    if min_sar is not None:
        low = _bound(point, "sar_lower975", "the lower bound of SAR", "the report")
        if low < min_sar:
            wrong.append(
                f"SAR may be as low as {low:.4f} ({point['supported_acceptance']:.4f} observed, 97.5% lower bound),"
                f" which is below {min_sar:g}"
            )
    remarks: list[str] = []
    if baseline is not None:
        _against(report, baseline, point, target, rule, margin, wrong, remarks)
    if wrong:
        return Gate(False, tuple(wrong), tuple(remarks))
    return Gate(True, (f"FAR is at most {bound:.4f} ({seen}, 95% upper bound), within {max_far:g}",), tuple(remarks))


def _hint(point: Mapping[str, Any], max_far: float) -> str:
    """Say whether it is the sample that is too small."""
    if point["eval_far"] is None or point["eval_far"] > max_far:
        return ""
    return f": {point['eval_far']:.4f} was observed, and more unsupported test answers are needed to show it"


def _point(report: Mapping[str, Any], target: float, rule: str | None, where: str) -> Mapping[str, Any]:
    points: list[Mapping[str, Any]] = report["operating_points"]
    found = [p for p in points if p["target_far"] == target and rule in (None, p["rule"])]
    there = ", ".join(f"{p['target_far']:g} ({p['rule']})" for p in points) or "none"
    if len(found) != 1:
        what = "no operating point" if not found else "several operating points"
        by = "" if rule is None else f" by the rule {rule!r}"
        raise ValueError(f"{where} has {what} for a budget of {target:g}{by}; it has {there}")
    return found[0]


def _bound(point: Mapping[str, Any], field: str, name: str, where: str) -> float:
    value = point[field]
    if value is None:
        raise ValueError(f"{name} at a budget of {point['target_far']:g} is null in {where} ({field})")
    return float(value)


def _against(
    report: Mapping[str, Any],
    baseline: Mapping[str, Any],
    point: Mapping[str, Any],
    target: float,
    rule: str | None,
    margin: float,
    wrong: list[str],
    remarks: list[str],
) -> None:
    old = _point(baseline, target, rule or point["rule"], "the baseline")
    if report["dataset"]["row_digest"] != baseline["dataset"]["row_digest"]:
        remarks.append("the two reports are of different test rows: a difference may be that of the rows")
    pairs = [
        ("the upper bound of FAR", "far_upper95", -1.0),
        ("the lower bound of SAR", "sar_lower975", 1.0),
    ]
    for name, field, sign in pairs:
        new_value = _bound(point, field, name, "the report")
        old_value = _bound(old, field, name, "the baseline")
        # Written as 0.1 + 0.02, a margin may miss by the last digit.
        if sign * (new_value - old_value) < -margin - 1e-12:
            wrong.append(_worse(name, new_value, old_value, margin))
    ends = [each["ranking"]["roc_auc_ci95"] for each in (report, baseline)]
    if None in ends:
        remarks.append("AUC is not compared: a report has no interval of it")
    elif ends[0][0] - ends[1][0] < -margin - 1e-12:
        wrong.append(_worse("the lower end of the interval of AUC", ends[0][0], ends[1][0], margin))


def _worse(name: str, new: float, old: float, margin: float) -> str:
    return f"{name} is {new:.4f}, and {old:.4f} in the baseline: worse by more than the margin of {margin:g}"
