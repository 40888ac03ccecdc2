"""What the rates of an operating point mean where unsupported answers are as common as they are in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelium.detector.points import OperatingPoint

__all__ = ["PrevalencePoint", "accepted_risk", "alert_precision", "prevalence_name", "prevalence_stress"]

#: Prevalences of an audit unless others are asked for.
PREVALENCES = (0.5, 0.05, 0.01)


@dataclass(frozen=True)
class PrevalencePoint:
    """An operating point at one prevalence.

    Attributes
    ----------
    prevalence : float
        Share of unsupported answers.
    alert_precision : float or None
        Share of flagged answers that are unsupported.
    alert_precision_lower95 : float or None
        Its lower bound, from the bounds of FAR and SAR at 97.5% each: both hold together with 95%.
    accepted_risk : float or None
        Share of accepted answers that are unsupported.
    accepted_risk_upper95 : float or None
        Its upper bound, made likewise.
    acceptance_rate : float or None
        Share of answers that are accepted.
    undefined : dict
        Why a field is None.
    """

    prevalence: float
    alert_precision: float | None
    alert_precision_lower95: float | None
    accepted_risk: float | None
    accepted_risk_upper95: float | None
    acceptance_rate: float | None
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON-safe dict."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "undefined": dict(self.undefined)}


def alert_precision(far: float, frr: float, prevalence: float) -> float | None:
    """Return the share of flagged answers that are unsupported.

    With prevalence p it is p (1 - FAR) / (p (1 - FAR) + (1 - p) FRR). False alarms come from *supported* answers, so
    FRR is in it, which is the false positive rate of a classifier whose positive class is "unsupported".

    Parameters
    ----------
    far, frr : float
        Rates from 0 to 1.
    prevalence : float
        Share of unsupported answers, strictly between 0 and 1.

    Returns
    -------
    float or None
        None where nothing is flagged.

    Examples
    --------
    >>> round(alert_precision(far=0.2, frr=0.05, prevalence=0.01), 4)
    0.1391
    """
    p = check_prevalence(prevalence)
    caught, false = p * (1 - _check_rate(far, "far")), (1 - p) * _check_rate(frr, "frr")
    return caught / (caught + false) if caught + false > 0 else None


def accepted_risk(far: float, sar: float, prevalence: float) -> float | None:
    """Return the share of accepted answers that are unsupported.

    With prevalence p it is p FAR / (p FAR + (1 - p) SAR).

    Parameters
    ----------
    far, sar : float
        Rates from 0 to 1.
    prevalence : float
        Share of unsupported answers, strictly between 0 and 1.

    Returns
    -------
    float or None
        None where nothing is accepted.

    Examples
    --------
    >>> accepted_risk(far=0.25, sar=0.75, prevalence=0.5)
    0.25
    """
    p = check_prevalence(prevalence)
    wrong, right = p * _check_rate(far, "far"), (1 - p) * _check_rate(sar, "sar")
    return wrong / (wrong + right) if wrong + right > 0 else None


def prevalence_stress(point: OperatingPoint, prevalences: Sequence[float] = PREVALENCES) -> dict[str, PrevalencePoint]:
    """Return what an operating point means at several prevalences.

    Parameters
    ----------
    point : OperatingPoint
        Rates do not depend on prevalence; what is made of them does.
    prevalences : sequence of float
        Shares of unsupported answers, strictly between 0 and 1.

    Returns
    -------
    dict
        Keys are percentages: "p_50", "p_05" for 0.05, "p_0_1" for 0.001.

    Examples
    --------
    >>> from mycelium.detector.points import evaluate_operating_point
    >>> point = evaluate_operating_point([1] * 4 + [0] * 4, [9, 9, 9, 1, 1, 1, 1, 9], threshold=5)
    >>> stress = prevalence_stress(point)
    >>> list(stress), round(stress["p_05"].alert_precision, 4), round(stress["p_05"].accepted_risk, 4)
    (['p_50', 'p_05', 'p_01'], 0.1364, 0.0172)
    """
    out = {}
    for prevalence in prevalences:
        name = prevalence_name(prevalence)
        if name in out:
            raise ValueError(f"prevalences holds {prevalence!r} twice")
        out[name] = _at(point, float(prevalence))
    return out


def prevalence_name(prevalence: float) -> str:
    """Return the name of a prevalence: its percentage with two digits, and with "_" for the decimal point."""
    percent = f"{round(check_prevalence(prevalence) * 100, 9):.12g}"
    return "p_" + (percent.zfill(2) if "." not in percent else percent.replace(".", "_"))


def check_prevalence(prevalence: Any, name: str = "prevalence") -> float:
    """Return a share strictly between 0 and 1, or raise a TypeError or ValueError."""
    value = _check_rate(prevalence, name)
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded, got {prevalence!r}")
    return value


def _check_rate(rate: Any, name: str) -> float:
    if isinstance(rate, bool) or not isinstance(rate, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number from 0 to 1, got {rate!r} ({type(rate).__name__})")
    if not 0 <= rate <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {rate!r}")
    return float(rate)


def _at(point: OperatingPoint, prevalence: float) -> PrevalencePoint:
    far, sar, frr = point.eval_far, point.supported_acceptance, point.false_rejection
    high, low = point.far_upper975, point.sar_lower975
    values: dict[str, float | None] = dict.fromkeys(
        ("alert_precision", "alert_precision_lower95", "accepted_risk", "accepted_risk_upper95", "acceptance_rate")
    )
    undefined = {}
    if far is not None and sar is not None and frr is not None:
        values["alert_precision"] = alert_precision(far, frr, prevalence)
        values["accepted_risk"] = accepted_risk(far, sar, prevalence)
        values["acceptance_rate"] = prevalence * far + (1 - prevalence) * sar
        undefined = {"alert_precision": "nothing is flagged", "accepted_risk": "nothing is accepted"}
    else:
        reason = point.undefined.get("eval_far") or point.undefined.get("supported_acceptance") or ""
        undefined = dict.fromkeys(("alert_precision", "accepted_risk", "acceptance_rate"), reason)
    if high is not None and low is not None:
        values["alert_precision_lower95"] = alert_precision(high, 1 - low, prevalence)
        values["accepted_risk_upper95"] = accepted_risk(high, low, prevalence)
    undefined["alert_precision_lower95"] = undefined["alert_precision"] if high == 1 else _why(point)
    undefined["accepted_risk_upper95"] = undefined["accepted_risk"] if high == 0 else _why(point)
    return PrevalencePoint(
        prevalence, **values, undefined={name: undefined[name] for name, value in values.items() if value is None}
    )


def _why(point: OperatingPoint) -> str:
    return point.undefined.get("far_upper975") or point.undefined.get("sar_lower975") or "a bound is not defined"
