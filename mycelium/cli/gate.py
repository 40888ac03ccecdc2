"""``mycelium report`` and ``gate``: a detector's report shown, checked, and held against a limit."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mycelium.cli.arguments import share, tolerance
from mycelium.cli.common import Command, DataError, complain
from mycelium.cli.detector import FORMATS, format_of, save, text_of
from mycelium.detector.gates import gate
from mycelium.detector.report import EvaluationReport
from mycelium.detector.thresholds import RULES
from mycelium.formats.files import write_text

__all__ = ["COMMANDS"]

#: What a gate that does not let pass, and a check that fails, return.
VIOLATED = 3
LETTERS = "ABCDEFGHIJK"


# -- report


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "check"), help="print the report, or check what it lacks")
    parser.add_argument("file", metavar="REPORT", help="JSON file that 'mycelium detector' wrote")
    parser.add_argument("--format", choices=FORMATS, help="of what is shown (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there: .json, .md or .html, or by --format")
    parser.add_argument(
        "--require",
        nargs="+",
        type=_letter,
        metavar="LETTER",
        help="parts of the minimum suite that must not be missing (default: A B C D)",
    )
    parser.add_argument("--complete", action="store_true", help="required parts must be complete, not only begun")


def _run_report(args: argparse.Namespace) -> int:
    if args.action == "show" and (args.require or args.complete):
        args.parser.error("--require and --complete belong to 'check'")
    if args.action == "check" and (args.format or args.output):
        args.parser.error("--format and --output belong to 'show'")
    report = EvaluationReport.from_json(args.file)
    if args.action == "show":
        if args.output is not None and args.format is None and format_of(args.output) is not None:
            save(report, args.output)
        else:
            write_text(args.output, text_of(report, args.format or "text"))
        return 0
    suite = report.minimum_suite()
    print(suite)
    required = args.require or list("ABCD")
    wanted = ("measured",) if args.complete else ("measured", "partial")
    failed = [letter for letter in dict.fromkeys(required) if suite[letter].state not in wanted]
    for letter in failed:
        part = suite[letter]
        complain(f"{args.file}: {letter}, {part.title}, is {part.state}: {'; '.join(part.missing)}")
    return VIOLATED if failed else 0


# -- gate


def _gate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="REPORT", help="JSON file that 'mycelium detector' wrote")
    parser.add_argument(
        "--max-far", type=share, required=True, metavar="X", help="what the upper bound of FAR must not exceed"
    )
    parser.add_argument(
        "--target", type=tolerance, metavar="X", help="budget of the operating point to look at (default: --max-far)"
    )
    parser.add_argument("--rule", choices=RULES, help="of the operating point, where the report has several")
    parser.add_argument(
        "--min-sar", type=tolerance, metavar="X", help="what the lower bound of SAR must reach (default: not looked at)"
    )
    parser.add_argument("--baseline", metavar="OLD", help="an older report, whose bounds must not be better")
    parser.add_argument(
        "--margin", type=tolerance, default=0.0, metavar="X", help="by more than this (default 0); with --baseline"
    )


def _run_gate(args: argparse.Namespace) -> int:
    if args.margin and args.baseline is None:
        args.parser.error("--margin speaks of an older report: it needs --baseline")
    report = EvaluationReport.from_json(args.file)
    baseline = None if args.baseline is None else EvaluationReport.from_json(args.baseline)
    try:
        found = gate(
            report,
            max_far=args.max_far,
            target_far=args.target,
            rule=args.rule,
            min_sar=args.min_sar,
            baseline=baseline,
            margin=args.margin,
        )
    except ValueError as error:
        raise DataError(f"{args.file}: {error}") from None
    for remark in found.remarks:
        complain(remark)
    for line in found.reasons:
        print(f"{'pass' if found.passed else 'fail'}: {line}")
    return 0 if found.passed else VIOLATED


def _letter(text: str) -> str:
    if text not in LETTERS or len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be a letter from A to K, got {text!r}")
    return text


_BOUNDS = """\
What counts is the bound, not the rate that was observed: few rows without a false
acceptance prove little, and do not pass."""

COMMANDS: Sequence[Command] = (
    Command(
        "report",
        "show|check REPORT [options]",
        "show a detector's report, or check what it lacks",
        """\
Show a report as text, Markdown (with pictures beside it), HTML or JSON; or check its
structure and whether required parts of the minimum suite, A to K, were measured.""",
        """\
examples:
  mycelium report show report.json
  mycelium report show report.json -o card.md
  mycelium report check report.json --require B C --complete

exit status: 0 fine; 1 this is no report; 2 wrong usage; 3 a required part is missing
""",
        _report_arguments,
        _run_report,
    ),
    Command(
        "gate",
        "REPORT --max-far X [--baseline OLD --margin X] [options]",
        "let a detector's report pass, or not",
        f"""\
Hold the upper bound of the false acceptance rate on the test rows against a limit, and
against an older report.

{_BOUNDS}""",
        """\
examples:
  mycelium gate report.json --max-far 0.05
  mycelium gate report.json --max-far 0.05 --target 0.02 --min-sar 0.5
  mycelium gate report.json --max-far 0.05 --baseline old.json --margin 0.01

exit status: 0 it passes; 1 the data cannot be used, or such a point was not measured;
2 wrong usage; 3 it does not pass, and why is printed
""",
        _gate_arguments,
        _run_gate,
    ),
)
