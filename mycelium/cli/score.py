"""``mycelium score``: references and predictions from files, a report on the way out."""

from __future__ import annotations

import argparse

from mycelium.cli.arguments import (
    INPUT_FORMATS,
    add_columns,
    add_resampling,
    add_rows,
    add_scoring,
    add_spans,
    add_typed,
    check_metrics,
    check_typed,
    warnings_as_remarks,
)
from mycelium.cli.common import Command, complain
from mycelium.cli.output import FORMATS, layout, per_example_lines
from mycelium.cli.pieces import Scored, Sums, complain_of_leniency, options, read_whole, with_types
from mycelium.cli.streaming import score_in_step
from mycelium.formats.files import write_text
from mycelium.report import Report
from mycelium.scoring import evaluate
from mycelium.typed import evaluate_typed

__all__ = ["COMMANDS"]

#: The options that need --ci, and what the library calls them.
_OF_INTERVALS = {
    "groups": "groups",
    "level": "level",
    "resamples": "n_resamples",
    "seed": "seed",
    "ci_method": "method",
}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("references", metavar="REFERENCES", help="file with the annotated spans, or a RAGTruth folder")
    parser.add_argument("predictions", metavar="PREDICTIONS", help="file with the detector's spans; '-' is stdin")

    add_scoring(parser)
    add_typed(parser)
    add_columns(parser, "PREDICTIONS")
    add_rows(parser).add_argument(
        "--by", action="append", default=[], metavar="COLUMN", help="score each value of a column too; can be repeated"
    )
    add_spans(parser)
    sure = add_resampling(parser, resamples=2000)
    sure.add_argument("--ci", action="store_true", help="resample the rows: an interval for every score")
    # Given without --ci they are refused, so none has a value of its own here.
    parser.set_defaults(**dict.fromkeys(_OF_INTERVALS))

    output = parser.add_argument_group("input and output")
    output.add_argument("--input-format", choices=INPUT_FORMATS, help="of standard input (default: jsonl)")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    output.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    output.add_argument("--per-example", metavar="OUT.jsonl", help="write the scores of every row there")


def _run(args: argparse.Namespace) -> int:
    if args.references == args.predictions == "-":
        args.parser.error("only one of REFERENCES and PREDICTIONS can be standard input")
    if args.input_format and "-" not in (args.references, args.predictions):
        args.parser.error("--input-format speaks of standard input; files are known by their suffix")
    check_metrics(args)
    check_typed(args)
    if not args.ci:
        given = [name for name in _OF_INTERVALS if getattr(args, name) is not None]
        if given:
            args.parser.error(f"--{given[0].replace('_', '-')} speaks of intervals: it needs --ci")
    # Intervals need the statistics of all rows at once.
    found = None if args.ci else score_in_step(args)
    if found is None:
        found = _score_whole(args)
    for note in found.notes:
        complain(note)
    complain_of_leniency(found.report.invalid)
    ignored = found.report["meta"].get("ignored", {})
    if any(ignored.values()):
        spans = " and ".join(f"{count} {side}" for side, count in ignored.items() if count)
        complain(f"unknown types: {spans} left out")
    text = layout(found.report, found.parts, args.format, found.intervals, found.slice_intervals)
    if args.per_example is not None:
        write_text(args.per_example, per_example_lines(found.report, found.ids, found.slices or {}))
    write_text(args.output, text)
    return 0


def _score_whole(args: argparse.Namespace) -> Scored:
    """Read both files and score them."""
    _, _, pairing, piece = read_whole(args)
    args = with_types(args, piece)
    sums = Sums(args)
    if args.per_example is None and not args.ci:
        sums.add(piece)
        return Scored(sums.report(), sums.parts(), pairing.notes)
    report: Report = (evaluate_typed if args.typed else evaluate)(
        **piece.columns,
        groups=piece.groups,
        keep_statistics=True,
        include_per_example=args.per_example is not None,
        **options(args),
    )
    report.invalid = piece.counts
    if piece.slices:
        # Unlike slices of the report, these know what was left out of each.
        sums.add(piece)
    found = Scored(report, sums.parts(), pairing.notes, pairing.ids, piece.slices)
    if not args.ci:
        return found
    given = {name: getattr(args, name) for name in _OF_INTERVALS}
    drawing = {_OF_INTERVALS[name]: value for name, value in given.items() if value is not None and name != "groups"}
    with warnings_as_remarks():
        return found._replace(
            intervals=report.confidence_intervals(**drawing),
            slice_intervals={
                name: report.confidence_intervals(by=values, **drawing) for name, values in piece.slices.items()
            },
        )


COMMANDS = (
    Command(
        "score",
        "REFERENCES PREDICTIONS [options]",
        "score predicted spans against annotated ones",
        """\
Score predicted spans against annotated ones: six metrics, and the signature
that names the conventions behind them.

REFERENCES and PREDICTIONS are JSONL (.jsonl, .ndjson), JSON, CSV or TSV (span
cells hold JSON), Parquet (needs pyarrow), or a RAGTruth folder with
response.jsonl and source_info.jsonl. One of them can be '-', standard input.
A row's spans are a list of [start, end], [start, end, label] or objects with
start and end (and label, type or label_type). Offsets are half-open and count
Python characters.

Large JSONL and Parquet files whose rows stand in the same order are read side
by side, in constant memory; others, and for --per-example and --ci, as a whole.""",
        """\
examples:
  mycelium score gold.jsonl pred.jsonl
  mycelium score RAGTruth/dataset pred.jsonl --profile ragtruth \\
      --where split=test --by task_type
  mycelium score gold.jsonl pred.jsonl --metrics "iou, span_coverage(delta=2)"
  mycelium score gold.csv pred.csv --id row --spans marked --format json
  mycelium score gold.jsonl pred.jsonl --ci --groups source_id
  mycelium score gold.jsonl pred.jsonl --typed --types causal --by model
  detector answers.jsonl | mycelium score gold.jsonl - --per-example rows.jsonl

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
