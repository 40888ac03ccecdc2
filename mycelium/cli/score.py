"""``mycelium score``: references and predictions from files, a report on the way out."""

from __future__ import annotations

import argparse

from mycelium.cli.common import Command, complain, metric_list
from mycelium.cli.output import FORMATS, layout, per_example_lines
from mycelium.cli.pairing import pair
from mycelium.cli.pieces import SPANS, TEXT, OtherTexts, Scored, Sums, options, read_piece
from mycelium.cli.streaming import score_in_step
from mycelium.formats.files import read_table, write_text
from mycelium.metrics import Metric
from mycelium.scoring import Accumulator, evaluate

__all__ = ["COMMANDS"]

INPUT_FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("references", metavar="REFERENCES", help="file with the annotated spans, or a RAGTruth folder")
    parser.add_argument("predictions", metavar="PREDICTIONS", help="file with the detector's spans; '-' is stdin")

    scoring = parser.add_argument_group("scoring")
    scoring.add_argument(
        "--profile", type=_profile, metavar="NAME", help="defaults of a benchmark: mu_shroom (macro), ragtruth (micro)"
    )
    scoring.add_argument(
        "--metrics",
        type=metric_list,
        action="extend",
        metavar="NAMES",
        help='comma or space separated, with parameters if wanted: "iou, span_coverage(delta=2)"; '
        "'mycelium metrics' lists them",
    )
    scoring.add_argument("--average", choices=("macro", "micro"), help="default: the profile's, or macro")
    scoring.add_argument(
        "--undefined",
        choices=("0", "1"),
        help="value of a precision or recall with nothing to divide by, for all metrics (default: each metric's own)",
    )
    scoring.add_argument(
        "--tolerance",
        type=_tolerance,
        default=0.0,
        metavar="X",
        help="subtracted from thresholds of shares (default 0)",
    )

    columns = parser.add_argument_group("columns (of both files unless said otherwise)")
    columns.add_argument(
        "--id", metavar="NAME", help="pairs the rows; default: id, and the order where a file has none"
    )
    columns.add_argument("--spans", metavar="NAME", help=f"default: the first present of {', '.join(SPANS)}")
    columns.add_argument(
        "--text", metavar="NAME", help=f"the answers, in REFERENCES; default: the first present of {', '.join(TEXT)}"
    )
    columns.add_argument("--soft", metavar="NAME", help="spans with prob, for soft_correlation; default: soft_labels")
    columns.add_argument("--pred-id", metavar="NAME", help="id in PREDICTIONS, if it is named differently there")
    columns.add_argument(
        "--pred-spans", metavar="NAME", help="spans in PREDICTIONS, if they are named differently there"
    )

    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--by", action="append", default=[], metavar="COLUMN", help="score each value of a column too; can be repeated"
    )
    rows.add_argument(
        "--where",
        action="append",
        default=[],
        type=_condition,
        metavar="COLUMN=VALUE",
        help="score only the rows of REFERENCES that have this value, e.g. split=test; can be repeated",
    )
    rows.add_argument(
        "--missing",
        choices=("raise", "empty"),
        default="raise",
        help="ids without a prediction: refuse (default), or count them as rows where nothing was found",
    )
    rows.add_argument(
        "--missing-rows",
        choices=("raise", "empty"),
        default="raise",
        help="rows whose spans are null, that is not annotated: refuse (default), or read as empty",
    )

    spans = parser.add_argument_group("spans")
    spans.add_argument(
        "--invalid",
        choices=("raise", "drop", "clip"),
        default="raise",
        help="spans that are negative, empty or past the text: refuse (default), leave out, or cut; both are counted",
    )
    spans.add_argument(
        "--offsets",
        choices=("codepoint", "utf16", "utf8"),
        default="codepoint",
        help="what offsets count: Python characters (default), JavaScript's UTF-16 units, or UTF-8 bytes",
    )
    spans.add_argument(
        "--end",
        choices=("exclusive", "inclusive"),
        default="exclusive",
        help="is the end the character after the span?",
    )

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
    metrics: list[Metric] | None = args.metrics
    keys = [metric.key for metric in metrics or ()]
    if len(set(keys)) < len(keys):
        args.parser.error(f"argument --metrics: {next(k for k in keys if keys.count(k) > 1)!r} is named twice")
    found = score_in_step(args)
    if found is None:
        found = _score_whole(args)
    for note in found.notes:
        complain(note)
    if any(found.report.invalid):
        done = [f"{count} {what}" for what, count in found.report.invalid._asdict().items() if count]
        complain(f"leniency: {', '.join(done)} (references and predictions together)")
    text = layout(found.report, found.parts, args.format)
    if args.per_example is not None:
        write_text(args.per_example, per_example_lines(found.report, found.ids, found.slices or {}))
    write_text(args.output, text)
    return 0


def _score_whole(args: argparse.Namespace) -> Scored:
    """Read both files and score them."""
    references, predictions = (
        read_table(source, format=args.input_format if source == "-" else None)
        for source in (args.references, args.predictions)
    )
    pairing = pair(
        references,
        predictions,
        id_name=args.id,
        pred_id_name=args.pred_id,
        where=args.where,
        missing=args.missing,
    )
    other_texts = OtherTexts()
    try:
        piece = read_piece(args, references, predictions, pairing, other_texts)
    finally:
        other_texts.complain()
    if args.per_example is None:
        sums = Sums(args)
        sums.add(piece)
        return Scored(sums.report(), sums.parts(), pairing.notes)
    report = evaluate(**piece.columns, include_per_example=True, **options(args))
    report.invalid = piece.counts
    parts = {name: report.by(values, name=name) for name, values in piece.slices.items()}
    return Scored(report, parts, pairing.notes, pairing.ids, piece.slices)


def _profile(text: str) -> str | None:
    try:
        return Accumulator(profile=text).settings.profile
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text!r}")
    return value


def _condition(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must read COLUMN=VALUE, got {text!r}")
    return name, value


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
start and end. Offsets are half-open and count Python characters.

Large JSONL and Parquet files whose rows stand in the same order are read side
by side, in constant memory; others, and for --per-example, as a whole.""",
        """\
examples:
  mycelium score gold.jsonl pred.jsonl
  mycelium score RAGTruth/dataset pred.jsonl --profile ragtruth \\
      --where split=test --by task_type
  mycelium score gold.jsonl pred.jsonl --metrics "iou, span_coverage(delta=2)"
  mycelium score gold.csv pred.csv --id row --spans marked --format json
  detector answers.jsonl | mycelium score gold.jsonl - --per-example rows.jsonl

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
