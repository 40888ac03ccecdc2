"""``mycelium errors``: what went wrong, from files."""

from __future__ import annotations

import argparse
from html import escape

from mycelium.cli.arguments import INPUT_FORMATS, add_columns, add_rows, add_scoring, add_spans, check_metrics, whole
from mycelium.cli.common import Command, DataError, complain
from mycelium.cli.pieces import complain_of_leniency, options, read_whole
from mycelium.errors import Errors, find_errors
from mycelium.formats.files import write_text

__all__ = ["COMMANDS"]

FORMATS = ("table", "markdown", "csv", "html", "json")
TYPES = {"auto": None, "compare": True, "ignore": False}


def _arguments(parser: argparse.ArgumentParser) -> None:
    # What the shared reading of rows asks for and this command has no use for.
    parser.set_defaults(groups=None)
    parser.add_argument("references", metavar="REFERENCES", help="file with the annotated spans, or a RAGTruth folder")
    parser.add_argument("predictions", metavar="PREDICTIONS", help="file with the detector's spans; '-' is stdin")

    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--by", action="append", default=[], metavar="COLUMN", help="count each value of a column too; can be repeated"
    )
    shown.add_argument("--top", type=whole(0), default=10, metavar="N", help="the N worst answers (default 10)")
    shown.add_argument(
        "--worst-by",
        metavar="METRIC",
        help="by which they are worst (default: iou or partial if scored, else the first)",
    )
    shown.add_argument(
        "--types",
        choices=tuple(TYPES),
        default="auto",
        help="auto: types count unless a file has none (default); compare: they count; ignore: boundaries only",
    )
    shown.add_argument("--no-repair", action="store_true", help="count only, and leave out what repairs would add")

    output = parser.add_argument_group("input and output")
    output.add_argument("--input-format", choices=INPUT_FORMATS, help="of standard input (default: jsonl)")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    output.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")

    add_scoring(parser)
    add_columns(parser, "PREDICTIONS")
    add_rows(parser)
    add_spans(parser)


def _run(args: argparse.Namespace) -> int:
    if args.references == args.predictions == "-":
        args.parser.error("only one of REFERENCES and PREDICTIONS can be standard input")
    if args.input_format and "-" not in (args.references, args.predictions):
        args.parser.error("--input-format speaks of standard input; files are known by their suffix")
    check_metrics(args)
    soft = [metric.key for metric in args.metrics or () if "soft" in metric.needs]
    if soft:
        args.parser.error(f"argument --metrics: {soft[0]!r} reads probabilities, which repaired spans do not have")
    _, _, pairing, piece = read_whole(args)
    errors = find_errors(
        **piece.columns,
        ids=pairing.ids,
        slices=piece.slices,
        typed=TYPES[args.types],
        repair=not args.no_repair,
        **options(args),
    )
    # Spans were read, and leniency counted, file by file.
    errors.invalid = piece.counts
    for note in pairing.notes:
        complain(note)
    complain_of_leniency(piece.counts)
    try:
        errors.worst(0, metric=args.worst_by)
    except KeyError as error:
        raise DataError(f"--worst-by: {error.args[0]}") from None
    write_text(args.output, _layout(args, errors))
    return 0


def _layout(args: argparse.Namespace, errors: Errors) -> str:
    """Return everything that is shown as text that ends with a line feed."""
    if args.format == "json":
        return errors.to_json(worst=args.top, metric=args.worst_by) + "\n"
    format = "text" if args.format == "table" else args.format
    if format == "csv":
        return errors.to_table(format) + "\n"
    parts = [("", errors.to_table(format))]
    parts += [(f"cases by {name}", errors.table(name, format)) for name in errors["slices"]]
    if args.top:
        parts.append(("the worst answers", errors.worst_table(args.top, format, metric=args.worst_by)))
    if format == "html":
        return "".join(f"<h2>{escape(title)}</h2>\n{table}\n" if title else f"{table}\n" for title, table in parts)
    return "\n\n".join(part for title, table in parts for part in (title, table) if part) + "\n"


COMMANDS = (
    Command(
        "errors",
        "REFERENCES PREDICTIONS [options]",
        "what went wrong: kinds of errors, what each costs, the worst answers",
        """\
Give each span one verdict: exact, too narrow, too wide, shifted, split, merged,
wrong type, duplicate, missed or spurious. Count them, say what each kind alone
takes from the scores, and list the worst answers.

Rows are paired and read as 'mycelium score' does. Types count where every span
has one. CSV holds the counts, those of the slices too, and the scores after
each repair; JSON everything.""",
        """\
examples:
  mycelium errors gold.jsonl pred.jsonl
  mycelium errors RAGTruth/dataset pred.jsonl --where split=test --by model --top 20
  mycelium errors gold.jsonl pred.jsonl --types ignore --metrics iou character
  mycelium errors gold.jsonl pred.jsonl --format json --output errors.json

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
