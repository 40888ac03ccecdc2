"""A report as a page for people: what was measured, where not to trust it, and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mycelium.detector.suite import minimum_suite
from mycelium.tables import render

__all__ = ["html", "markdown", "summary"]

#: Pictures and what is written below them, in order.
PICTURES = {
    "operating": "Supported answers accepted against unsupported ones accepted, on the test rows.",
    "scores": "Scores of both classes.",
    "risk_coverage": "Risk among the answers accepted, if the riskiest are left to others.",
    "reliability": "Probabilities against what was observed.",
}


def markdown(report: Mapping[str, Any], pictures: Mapping[str, Path] | None = None) -> str:
    """Return the page; ``pictures`` are files that it shows, by name, in the folder of the page."""
    return "\n".join(_page(report, pictures or {})).rstrip() + "\n"


def summary(report: Mapping[str, Any]) -> str:
    """Return the tables and where not to trust the detector as plain text, for a terminal."""
    parts = [_title(report), "\n".join(line.replace("**", "").replace("`", "") for line in _facts(report))]
    for title, header, rows, names in _tables(report):
        parts.append(f"{title}\n{render(header, rows, names=names)}")
    parts.append("\n".join(["Where not to trust it", *(f"- {line}" for line in report["where_not_to_trust"])]))
    return "\n\n".join(parts)


def html(report: Mapping[str, Any]) -> str:
    """Return what a notebook shows: the main tables and where not to trust the detector."""
    from html import escape

    parts = [f"<h3>{escape(_title(report))}</h3>"]
    for title, header, rows, names in _tables(report):
        parts.append(f"<h4>{escape(title)}</h4>" + render(header, rows, format="html", names=names))
    items = "".join(f"<li>{escape(line)}</li>" for line in report["where_not_to_trust"])
    parts.append(f"<h4>Where not to trust it</h4><ul>{items}</ul>")
    return "".join(parts)


def _title(report: Mapping[str, Any]) -> str:
    detector = report["detector"]
    return (
        f"{detector['name'] or 'Detector'}{' ' + detector['version'] if detector['version'] else ''}: evaluation report"
    )


def _page(report: Mapping[str, Any], pictures: Mapping[str, Path]) -> Iterator[str]:
    yield f"# {_plain(_title(report))}"
    yield ""
    yield from _facts(report)
    yield ""
    yield "## Where not to trust it"
    yield ""
    for line in report["where_not_to_trust"] or ["Nothing was measured."]:
        yield f"- {_plain(line)}"
    yield ""
    for title, header, rows, names in _tables(report):
        yield f"## {_plain(title)}"
        yield ""
        yield render(header, rows, format="markdown", names=names)
        yield ""
        if title == "Operating points":
            yield _small(
                "Budget: share of unsupported answers that may be accepted (FAR). Bounds are one-sided, 95% for FAR and"
                " 97.5% for SAR. Thresholds were chosen on calibration rows; everything else is of test rows."
            )
            yield ""
    for name, target in pictures.items():
        yield f"![{PICTURES[name]}]({quote(target.name)})"
        yield ""
    if report["undefined"]:
        yield "## Measured, and without a value"
        yield ""
        for reason, places in _by_reason(report["undefined"]).items():
            yield f"- {_plain(reason)}: {_places(places)}"
        yield ""
    if report["warnings"]:
        yield "## Warnings"
        yield ""
        for line in report["warnings"]:
            yield f"- {_plain(line)}"
        yield ""
    versions = ", ".join(f"{name} {number}" for name, number in report["software"].items())
    yield _small(f"Computed by {versions}." if versions else "Nothing was computed.")


def _facts(report: Mapping[str, Any]) -> Iterator[str]:
    dataset, detector = report["dataset"], report["detector"]
    if dataset["n"] is not None:
        groups = "" if dataset["n_groups"] is None else f" in {dataset['n_groups']:,} groups"
        yield (
            f"- Test: {dataset['n']:,} answers{groups}, {dataset['n_unsupported']:,} of them unsupported"
            f" ({_number(dataset['unsupported_prevalence'])})."
        )
    parts = report["selection"]["parts"]
    for name in ("development", "calibration"):
        if parts[name] is not None:
            yield f"- {name.capitalize()}: {parts[name]['n']:,} answers, {parts[name]['n_unsupported']:,} unsupported."
    rule = f"accepted iff {detector['accept_rule']}" if detector["accept_rule"] else "no accept rule"
    said = detector["score_direction"]
    yield f"- Score: {rule}; direction {'not declared' if said is None else 'declared as ' + said.replace('_', ' ')}."
    if detector["response_score"] is not None:
        yield f"- Made of {detector['response_score'].get('of')} by the rule `{detector['response_score'].get('how')}`."
    contract = report["contract"]
    if contract is not None and contract.get("target_property"):
        yield f"- Claims to measure: {_plain(contract['target_property'])}."
    ranking = report["ranking"]
    if ranking["roc_auc"] is not None:
        yield (
            f"- AUC {_number(ranking['roc_auc'])} {_ends(ranking['roc_auc_ci95'])} ({ranking['ci_method']});"
            f" average precision {_number(ranking['average_precision'])} {_ends(ranking['average_precision_ci95'])},"
            f" where chance has {_number(ranking['ap_baseline_prevalence'])}."
        )
    if report["selection"]["resubstitution"]:
        yield "- **Thresholds were chosen on the test rows: no bound holds.**"


Table = tuple[str, list[str], list[list[str]], int]


def _tables(report: Mapping[str, Any]) -> Iterator[Table]:
    points = report["operating_points"]
    if points:
        header = ["budget", "rule", "threshold", "FAR", "at most", "of", "SAR", "at least", "of", "within budget"]
        yield "Operating points", header, [_point(point) for point in points], 2
    stress = {name: each for name, each in report["prevalence_stress"].items() if each is not None}
    if points and stress:
        header = ["budget", "rule", *(f"{100 * each['prevalence']:g}%" for each in stress.values())]
        rows = [
            [_budget(p), p["rule"], *(_stressed(each["operating_points"][i]) for each in stress.values())]
            for i, p in enumerate(points)
        ]
        yield "Share unsupported of flagged / accepted answers, by prevalence", header, rows, 2
    for column, values in (report["context_slices"] or {}).items():
        header = [column, "answers", "unsupported", "AUC", "95% interval"]
        header += [f"FAR at {_budget(p)} ({p['rule']})" for p in points]
        rows = [
            [
                value,
                str(each["n"]),
                str(each["n_unsupported"]),
                _number(each["roc_auc"]),
                _ends(each["roc_auc_ci95"]),
                *(_rate(p["far"], p["far_upper_simultaneous"]) for p in each["operating_points"]),
                *["-"] * (len(points) - len(each["operating_points"])),
            ]
            for value, each in values.items()
        ]
        yield f"By {column}", header, rows, 1
    if report["sanity"]["baselines"]:
        header = ["score", "AUC", "95% interval", "detector's AUC less this", "95% interval ", "p"]
        rows = [
            [
                name,
                *(_number(each["roc_auc"]), _ends(each["roc_auc_ci95"])),
                *(_number(each["difference"]), _ends(each["difference_ci95"]), _p_value(each["p_value"])),
            ]
            for name, each in report["sanity"]["baselines"].items()
        ]
        yield "Simpler scores", header, rows, 1
    suite = minimum_suite(report)
    rows = [[p.letter, p.title, p.state, "; ".join(p.missing)] for p in suite.values()]
    yield "Minimum suite", ["", "part", "state", "missing"], rows, 4


def _point(point: Mapping[str, Any]) -> list[str]:
    threshold = "infeasible" if point["feasible"] is False else "-"
    if point["accept_all"]:
        threshold = "accepts all"
    elif point["threshold"] is not None:
        # In full: a threshold that is copied must decide as the one that was evaluated.
        threshold = repr(point["threshold"])
    within = {True: "yes", False: "not shown", None: "-"}[point["bound_within_target"]]
    return [
        *(_budget(point), point["rule"] or "-", threshold),
        *(_number(point["eval_far"]), _number(point["far_upper95"])),
        f"{_count(point['n_false_accepts'])}/{_count(point['n_unsupported'])}",
        *(_number(point["supported_acceptance"]), _number(point["sar_lower975"])),
        f"{_count(point['n_supported_accepted'])}/{_count(point['n_supported'])}",
        "infeasible" if point["feasible"] is False else within,
    ]


def _stressed(point: Mapping[str, Any]) -> str:
    return f"{_number(point['alert_precision'])} / {_rate(point['accepted_risk'], point['accepted_risk_upper95'])}"


def _budget(point: Mapping[str, Any]) -> str:
    return "-" if point["target_far"] is None else f"{100 * point['target_far']:g}%"


def _rate(value: float | None, bound: float | None) -> str:
    return "-" if value is None else f"{_number(value)} (up to {_number(bound)})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _p_value(value: float | None) -> str:
    return "<0.001" if value is not None and value < 0.001 else _number(value)


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value}"


def _ends(ends: Sequence[float] | None) -> str:
    return "[-]" if ends is None else f"[{ends[0]:.3f}, {ends[1]:.3f}]"


def _by_reason(undefined: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for place, reason in undefined.items():
        found.setdefault(reason, []).append(place)
    return found


def _places(places: Sequence[str]) -> str:
    shown = ", ".join(f"`{place}`" for place in places[:3])
    return shown + (f" and {len(places) - 3} more" if len(places) > 3 else "")


def _plain(text: str) -> str:
    """Return text that Markdown takes for text."""
    for character in "\\`*_<|[":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def _small(text: str) -> str:
    return f"<sub>{text}</sub>"
