"""``mycelium metrics``: what the registry holds."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from mycelium.cli.common import Command
from mycelium.metrics import available
from mycelium.metrics.base import DEFAULT, Metric
from mycelium.metrics.parameters import Parameter
from mycelium.tables import render

__all__ = ["COMMANDS"]

#: Upper ends past this are for machines; people read "at least".
_ENDLESS = 1e9


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="default: table")


def _run(args: argparse.Namespace) -> int:
    metrics = available()
    if args.format == "json":
        print(json.dumps([_record(metric) for metric in metrics], indent=2, ensure_ascii=False, allow_nan=False))
    elif args.format == "markdown":
        header = ["metric", "outputs", "default", "parameters", "definition", "reference"]
        rows = [
            [
                f"`{m.name}`",
                ", ".join(m.outputs),
                "yes" if m.name in DEFAULT else "no",
                "; ".join(f"`{p.name}` = {_default(p)} ({_range(p)}): {p.summary}" for p in m.parameters),
                m.summary,
                m.reference,
            ]
            for m in metrics
        ]
        print(render(header, rows, format="markdown", names=len(header)))
    else:
        print("\n\n".join(map(_paragraph, metrics)))
    return 0


def _paragraph(metric: Metric) -> str:
    low, high = metric.bounds
    facts = f"{', '.join(metric.outputs)}; {low:g} to {high:g}"
    if "soft" in metric.needs:
        facts += "; needs text and soft labels"
    lines = [f"{metric.name}{'' if metric.name in DEFAULT else '  (on request)'}"]
    lines += _wrap(metric.summary, 2)
    lines += _wrap(f"gives: {facts}", 2)
    for p in metric.parameters:
        lines += _wrap(f"{p.name} = {_default(p)} ({_range(p)}): {p.summary}", 4)
    return "\n".join([*lines, *_wrap(f"from: {metric.reference}", 2)])


def _wrap(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2))


def _default(parameter: Parameter) -> str:
    return parameter.default if isinstance(parameter.default, str) else f"{parameter.default:g}"


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return " or ".join(parameter.choices)
    kind = "integer" if parameter.integer else "number"
    if parameter.maximum >= _ENDLESS:
        return f"{kind}, at least {parameter.minimum:g}"
    return f"{kind} from {parameter.minimum:g} to {parameter.maximum:g}"


def _record(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "default": metric.name in DEFAULT,
        "summary": metric.summary,
        "outputs": list(metric.outputs),
        "bounds": list(metric.bounds),
        "greater_is_better": metric.greater_is_better,
        "undefined": metric.undefined,
        "needs": sorted(metric.needs),
        "statistics": list(metric.columns),
        "parameters": [
            {
                "name": p.name,
                "default": p.default,
                "minimum": p.minimum,
                "maximum": None if p.maximum == float("inf") else p.maximum,
                "integer": p.integer,
                **({"choices": list(p.choices)} if p.choices else {}),
                "summary": p.summary,
            }
            for p in metric.parameters
        ],
        "reference": metric.reference,
    }


COMMANDS = (
    Command(
        "metrics",
        "[--format table|json|markdown]",
        "list the metrics, their parameters and where they come from",
        "List the metrics: what they give, their parameters with default and range, and\nwhere they come from.",
        """\
A parameter is set by writing it behind the name:
  mycelium score gold.jsonl pred.jsonl --metrics "iou, span_coverage(delta=2)"
""",
        _arguments,
        _run,
    ),
)
