"""``mycelium view``: the answers with their spans, as a page for the browser or as text."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from mycelium.cli.arguments import INPUT_FORMATS, add_columns, add_rows, add_scoring, add_spans, check_metrics, whole
from mycelium.cli.common import Command, DataError, complain
from mycelium.cli.pairing import listed
from mycelium.cli.pieces import TEXT, complain_of_leniency, options, read_whole
from mycelium.formats.files import write_text
from mycelium.metrics.names import flat_name, main_output
from mycelium.report import Report
from mycelium.scoring import evaluate
from mycelium.view import review_page, text_view
from mycelium.view.verdicts import default_verdicts

__all__ = ["COMMANDS"]

FORMATS = ("html", "text")


def _arguments(parser: argparse.ArgumentParser) -> None:
    # What the shared reading of rows asks for and this command has no use for.
    parser.set_defaults(groups=None)
    parser.add_argument("references", metavar="REFERENCES", help="file with the annotated spans, or a RAGTruth folder")
    parser.add_argument("predictions", metavar="PREDICTIONS", help="file with the detector's spans; '-' is stdin")

    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    output.add_argument("--format", choices=FORMATS, help="default: html where FILE ends in .html, else text")
    output.add_argument("--title", metavar="TEXT", help="heading of the page (default: the names of the files)")
    output.add_argument(
        "--by", action="append", default=[], metavar="COLUMN", help="filter by the values of a column; can be repeated"
    )
    output.add_argument("--sort", metavar="SCORE", help="lowest first, by a score: iou, character_f1, ...")
    output.add_argument("--limit", type=whole(1), metavar="N", help="show the first N answers only, once sorted")
    output.add_argument("--width", type=whole(20), metavar="N", help="columns of the text (default: the terminal's)")

    output.add_argument("--input-format", choices=INPUT_FORMATS, help="of standard input (default: jsonl)")

    add_scoring(parser)
    add_columns(parser, "PREDICTIONS")
    add_rows(parser)
    add_spans(parser)


def _run(args: argparse.Namespace) -> int:
    if args.references == args.predictions == "-":
        args.parser.error("only one of REFERENCES and PREDICTIONS can be standard input")
    check_metrics(args)
    references, _, pairing, piece = read_whole(args)
    if piece.columns["text"] is None:
        raise DataError(
            f"{references.path}: no text column ({', '.join(TEXT)}); it has {listed(references.columns)}:"
            " name one with --text"
        )
    report = evaluate(**piece.columns, include_per_example=True, **options(args))
    for note in pairing.notes:
        complain(note)
    complain_of_leniency(piece.counts)
    scores = _scores(report)
    rows = _rows(args, scores)
    # Of all rows, so that it does not depend on which are shown whether types count.
    verdicts = default_verdicts(piece.columns["references"], piece.columns["predictions"])
    shown: dict[str, Any] = {
        "references": piece.columns["references"][rows],
        "predictions": piece.columns["predictions"][rows],
        "text": [piece.columns["text"][row] for row in rows],
        "ids": [row if pairing.ids is None else pairing.ids[row] for row in rows],
        "scores": {name: [values[row] for row in rows] for name, values in scores.items()},
        "slices": {name: [values[row] for row in rows] for name, values in piece.slices.items()},
        "verdicts": tuple([side[row] for row in rows] for side in verdicts),
    }
    if _format(args) == "html":
        title = args.title or " against ".join(Path(name).name for name in (args.predictions, args.references))
        write_text(args.output, review_page(**shown, title=title, signature=report.signature).html)
        return 0
    color = args.output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = args.width or max(20, shutil.get_terminal_size().columns)
    write_text(args.output, f"{text_view(**shown, width=width, color=color)}\n\n{report.signature}\n")
    return 0


def _scores(report: Report) -> dict[str, list[float]]:
    """Return the main output of each metric for every row."""
    out = {}
    for key, values in report.items():
        if key != "meta":
            output = main_output(name for name in values if name != "per_example")
            rows = values["per_example"]
            out[flat_name(key, output)] = [row[output] if isinstance(row, dict) else row for row in rows]
    return out


def _rows(args: argparse.Namespace, scores: dict[str, list[float]]) -> list[int]:
    """Return the rows that are shown, in their order."""
    rows = list(range(len(next(iter(scores.values())))))
    if args.sort is not None:
        if args.sort not in scores:
            raise DataError(f"--sort: no score {args.sort!r}; there are {', '.join(scores)}")
        rows.sort(key=scores[args.sort].__getitem__)
    return rows[: args.limit]


def _format(args: argparse.Namespace) -> str:
    if args.format is not None:
        return str(args.format)
    return "html" if args.output is not None and args.output.lower().endswith((".html", ".htm")) else "text"


COMMANDS = (
    Command(
        "view",
        "REFERENCES PREDICTIONS [-o review.html] [options]",
        "see the spans in their texts, in the browser or the terminal",
        """\
Show each answer with the annotated spans, the predicted ones and its scores. With
-o review.html this is one page for the browser that loads nothing: filters by
verdict, type and slice, a search, an order by any score, keys to step through.
Else it is text, with ^ under annotated spans and ~ under predicted ones.

Rows are paired and read as 'mycelium score' does; the texts are needed.""",
        """\
examples:
  mycelium view gold.jsonl pred.jsonl -o review.html
  mycelium view RAGTruth/dataset pred.jsonl -o review.html --where split=test --by model
  mycelium view gold.jsonl pred.jsonl --sort iou --limit 20 | less

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
