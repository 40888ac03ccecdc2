"""``mycelium score``: references and predictions from files, a report on the way out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mycelium.cli.common import Command, DataError, complain, metric_list
from mycelium.cli.output import FORMATS, layout, per_example_lines, slice_names
from mycelium.cli.pairing import Pairing, column, find_name, listed, pair, pick, plain, some, with_lines
from mycelium.formats import read_spans
from mycelium.formats.files import Table, read_table, write_text
from mycelium.metrics import Metric
from mycelium.report import Report
from mycelium.scoring import Accumulator, evaluate
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = ["COMMANDS"]

SPANS = ("spans", "hard_labels", "labels", "hallucination_labels")
TEXT = ("text", "model_output_text", "response", "output")
SOFT = ("soft_labels",)
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
    slices = {name: _slice_values(name, references, predictions, pairing) for name in args.by}
    report = _report(args, references, predictions, pairing)
    parts = {name: report.by(values, name=name) for name, values in slices.items()}
    for note in pairing.notes:
        complain(note)
    if any(report.invalid):
        done = [f"{count} {what}" for what, count in report.invalid._asdict().items() if count]
        complain(f"leniency: {', '.join(done)} (references and predictions together)")
    text = layout(report, parts, args.format)
    if args.per_example is not None:
        write_text(args.per_example, per_example_lines(report, pairing.ids, slices))
    write_text(args.output, text)
    return 0


def _report(args: argparse.Namespace, references: Table, predictions: Table, pairing: Pairing) -> Report:
    texts = _texts(args, references, predictions, pairing)
    counts = InvalidCounts()
    sides: dict[str, Any] = {"soft_references": None, "soft_predictions": None}
    wanted: list[tuple[str, str | None, str | None, tuple[str, ...], str]] = [
        ("", args.spans, args.pred_spans or args.spans, SPANS, "span")
    ]
    if any("soft" in metric.needs for metric in args.metrics or ()):
        wanted.append(("soft_", args.soft, args.soft, SOFT, "soft label"))
    for prefix, name, pred_name, candidates, kind in wanted:
        option = "--soft" if prefix else "--spans"
        ours = column(references, name, candidates, kind, option)
        theirs = column(predictions, pred_name, candidates, kind, option)
        sides[f"{prefix}references"], found = _spans(args, references, ours, pairing.references, texts[0], bool(prefix))
        counts = counts.plus(found)
        batch, found = _spans(args, predictions, theirs, pairing.predictions, texts[1], bool(prefix))
        counts = counts.plus(found)
        sides[f"{prefix}predictions"] = _aligned(batch, pairing.order)
    missing_rows = "empty" if "empty" in (args.missing, args.missing_rows) else "raise"
    report = evaluate(
        **sides,
        text=texts[0],
        profile=args.profile,
        metrics=args.metrics,
        average=args.average,
        include_per_example=args.per_example is not None,
        undefined=None if args.undefined is None else float(args.undefined),
        tolerance=args.tolerance,
        # The spans are read and checked by now; passed on, the rules stand in the signature.
        invalid=args.invalid,
        missing_rows=missing_rows,
        offsets=args.offsets,
        end=args.end,
    )
    report.invalid = counts._replace(missing=counts.missing + pairing.missing)
    return report


def _texts(
    args: argparse.Namespace, references: Table, predictions: Table, pairing: Pairing
) -> tuple[list[str] | None, list[str] | None]:
    """Return the answers in the order of the scored references, and in the order in which predictions are read."""
    name = find_name(references, args.text, TEXT, "text ")
    if name is None:
        return None, None
    texts = plain(pick(references.columns[name], pairing.references))
    bad = [i for i, text in enumerate(texts) if not isinstance(text, str)]
    if bad:
        places = [references.where(pairing.references[i]) for i in bad]
        raise DataError(*some([f"{place}: {name} is no string" for place in places]))
    text_of = dict(zip(pairing.order, texts, strict=True))
    theirs = [text_of[j] for j in range(len(pairing.predictions))]
    own_name = find_name(predictions, None, (name,))
    if own_name is not None:
        own = plain(pick(predictions.columns[own_name], pairing.predictions))
        differ = [j for j, (a, b) in enumerate(zip(own, theirs, strict=True)) if isinstance(a, str) and a != b]
        if differ:
            first = predictions.where(pairing.predictions[differ[0]])
            complain(
                f"{first}: {own_name} is not the text of the reference"
                + (f" (and in {len(differ) - 1} more rows)" if len(differ) > 1 else "")
                + "; offsets are read in the reference's"
            )
    return texts, theirs


def _spans(
    args: argparse.Namespace, table: Table, values: Sequence[Any], rows: list[int], texts: list[str] | None, soft: bool
) -> tuple[SpanBatch, InvalidCounts]:
    try:
        batch, counts = read_spans(
            pick(values, rows),
            name=table.path,
            text=texts,
            invalid=args.invalid,
            missing_rows=args.missing_rows,
            offsets=args.offsets,
            end=args.end,
        )
    except (TypeError, ValueError) as error:
        raise DataError(with_lines(str(error), table, rows)) from None
    if soft and len(batch.start):
        # NaN, the one number that differs from itself, stands for a span without prob.
        lacking = batch.row if batch.score is None else batch.row[batch.score != batch.score]
        if len(lacking):
            raise DataError(
                *some([f"{table.where(rows[i])}: soft label without prob" for i in dict.fromkeys(lacking.tolist())])
            )
    return batch, counts


def _aligned(batch: SpanBatch, order: list[int]) -> SpanBatch:
    """Return the predictions in the order of the references, an empty row where there is none."""
    last = len(batch)
    offsets = batch.offsets.take([*range(last + 1), last])
    with_empty = SpanBatch(offsets, batch.start, batch.end, batch.label, batch.score)
    return with_empty[order]


def _slice_values(name: str, references: Table, predictions: Table, pairing: Pairing) -> list[str]:
    if name in references.columns:
        table, rows = references, pairing.references
    elif name in predictions.columns and not pairing.missing:
        table, rows = predictions, [pairing.predictions[j] for j in pairing.order]
    else:
        raise DataError(f"{references.path}: no column {name!r} for --by; it has {listed(references.columns)}")
    return slice_names(plain(pick(table.columns[name], rows)), name, table.path)


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
start and end. Offsets are half-open and count Python characters.""",
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
