"""How a report and its slices are laid out; no number is computed here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mycelium.cli.common import DataError
from mycelium.confidence import Intervals
from mycelium.metrics.names import outputs_in_order
from mycelium.report import Report, slices_table
from mycelium.tables import render
from mycelium.typed import TypedReport

__all__ = ["FORMATS", "layout", "per_example_lines", "slice_names"]

FORMATS = ("table", "json", "markdown", "csv")
_OUTPUTS = ("precision", "recall", "f1", "score")

Slices = Mapping[str, Mapping[str, Report]]


def layout(
    report: Report,
    slices: Slices,
    format: str,
    intervals: Intervals | None = None,
    slice_intervals: Mapping[str, Mapping[str, Intervals]] | None = None,
) -> str:
    """Return the report and its slices, with intervals if given, as text that ends with a line feed."""
    of_slices = slice_intervals or {}
    if format == "json":
        content: dict[str, Any] = {
            "report": _without_rows(report),
            "signature": report.signature if intervals is None else intervals.signature,
        }
        if intervals is not None:
            content["intervals"] = intervals
        content["slices"] = {
            name: {value: _without_rows(part) for value, part in parts.items()} for name, parts in slices.items()
        }
        if intervals is not None:
            content["slice_intervals"] = of_slices
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return _csv(report, slices, intervals, of_slices)
    style = "markdown" if format == "markdown" else "text"
    parts = [report.to_table(style) if intervals is None else intervals.to_table(style)]
    if isinstance(report, TypedReport):
        parts += ["confusion of types", report.confusion_table(style)]
    for name, reports in slices.items():
        table = slices_table(reports, name=name, format=style, intervals=of_slices.get(name))
        parts += [f"F1 or score by {name}", table]
    return "\n\n".join(parts) + "\n"


def per_example_lines(report: Report, ids: Sequence[Any] | None, slices: Mapping[str, Sequence[str]]) -> str:
    """Return one JSON object a line: id, slices, and the scores of each metric."""
    keys = [key for key, scores in report.items() if _has_rows(scores)]
    lines = []
    for i in range(report["meta"]["examples"]):
        record: dict[str, Any] = {"id": i if ids is None else ids[i]}
        if slices:
            record["by"] = {name: values[i] for name, values in slices.items()}
        record["scores"] = {key: report[key]["per_example"][i] for key in keys}
        lines.append(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    return "".join(lines)


def slice_names(values: Sequence[Any], name: str, path: str) -> list[str]:
    """Return the values of a column as names of slices, written as JSON writes them.

    Raises
    ------
    DataError
        When the column holds lists or objects, or values of two types that would share a name.
    """
    bad = next((value for value in values if isinstance(value, (list, dict))), None)
    if bad is not None:
        raise DataError(f"{path}: {name} cannot name slices, it holds {type(bad).__name__}s such as {str(bad)[:40]!r}")
    names = [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]
    if len(set(names)) != len({(type(value), value) for value in values}):
        raise DataError(f"{path}: {name} holds numbers and strings that look the same")
    return names


def _has_rows(scores: Mapping[str, Any]) -> bool:
    # A type may have the name, and is a dict then.
    return isinstance(scores.get("per_example"), list)


def _without_rows(report: Report) -> dict[str, Any]:
    return {
        key: {name: value for name, value in scores.items() if not (name == "per_example" and _has_rows(scores))}
        for key, scores in report.items()
    }


def _scores(report: Report) -> Mapping[str, Mapping[str, Any]]:
    if isinstance(report, TypedReport):
        return report._flat()
    return {key: scores for key, scores in report.items() if key != "meta"}


def _csv(
    report: Report,
    slices: Slices,
    intervals: Intervals | None,
    slice_intervals: Mapping[str, Mapping[str, Intervals]],
) -> str:
    # The first columns are always there.
    shown = outputs_in_order([_OUTPUTS, *_scores(report).values()])
    outputs: list[str] = []
    for output in shown:
        outputs += [output] if intervals is None else [output, f"{output}_low", f"{output}_high"]
    units = [] if intervals is None else ["units"]
    header = ["by", "value", "examples", *units, "average", "metric", *outputs, "signature"]
    rows = list(_csv_rows("", "", report, intervals, shown))
    for name, parts in slices.items():
        for value, part in parts.items():
            of_slice = slice_intervals[name][value] if intervals is not None else None
            rows += _csv_rows(name, value, part, of_slice, shown)
    return render(header, rows, format="csv") + "\n"


def _csv_rows(
    name: str, value: str, report: Report, intervals: Intervals | None, shown: Sequence[str]
) -> list[list[str]]:
    meta = report["meta"]
    rows = []
    for key, scores in _scores(report).items():
        cells: list[str] = []
        for output in shown:
            numbers = [scores.get(output)]
            if intervals is not None:
                numbers += intervals[key].get(output, [None, None])
            cells += ["" if number is None else repr(number) for number in numbers]
        units = [] if intervals is None else [str(intervals["meta"]["units"])]
        signature = report.signature if intervals is None else intervals.signature
        rows.append([name, value, str(meta["examples"]), *units, meta["average"], key, *cells, signature])
    return rows
