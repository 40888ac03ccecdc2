"""``mycelium compare``: systems against each other, from files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mycelium.cli.arguments import (
    add_columns,
    add_resampling,
    add_rows,
    add_scoring,
    add_spans,
    check_metrics,
    warnings_as_remarks,
)
from mycelium.cli.common import Command, complain
from mycelium.cli.pairing import find_name, pair
from mycelium.cli.pieces import OtherTexts, Piece, options, read_piece
from mycelium.formats.files import read_table, write_text
from mycelium.progress import progress
from mycelium.spans import InvalidCounts
from mycelium.versus.comparison import Comparison, compare
from mycelium.versus.multiplicity import CORRECTIONS

__all__ = ["COMMANDS"]

FORMATS = ("table", "markdown", "csv", "latex", "html", "json")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("references", metavar="REFERENCES", help="file with the annotated spans, or a RAGTruth folder")
    parser.add_argument(
        "systems",
        nargs="+",
        metavar="[NAME=]SYSTEM",
        help="file with a system's spans, called after the file; files of one NAME are runs of one system",
    )
    add_scoring(parser)
    parser.add_argument(
        "--outputs",
        choices=("primary", "all"),
        default="primary",
        help="compare F1 or the score only (default), or precision and recall too",
    )
    add_columns(parser, "the systems' files")
    add_rows(parser)
    add_spans(parser)
    sure = add_resampling(parser)
    sure.add_argument("--baseline", metavar="NAME", help="compare all others with this system (default: all pairs)")
    sure.add_argument(
        "--alternative",
        choices=("two-sided", "greater", "less"),
        default="two-sided",
        help="which differences count: of either sign (default), first above second, or first below second",
    )
    sure.add_argument(
        "--correction", choices=CORRECTIONS, default="holm", help="for the number of comparisons (default: holm)"
    )
    sure.add_argument(
        "--family",
        choices=("metric", "all"),
        default="metric",
        help="correct for the comparisons on one output of a metric (default), or for all together",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    output.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    # What the reading of pieces asks for and this command has no use for.
    parser.set_defaults(by=[])


def _run(args: argparse.Namespace) -> int:
    check_metrics(args)
    systems = _named(args)
    if len(systems) < 2:
        args.parser.error("at least two systems must be given")
    if args.baseline is not None and args.baseline not in systems:
        args.parser.error(f"argument --baseline: must be one of {', '.join(systems)}, got {args.baseline!r}")
    pieces, notes = _read(args, systems)
    for note in notes:
        complain(note)
    found = _compared(args, pieces)
    write_text(args.output, _layout(found, args.format))
    return 0


def _named(args: argparse.Namespace) -> dict[str, list[str]]:
    """Return the files of each system, in the order in which systems are first named."""
    given: list[tuple[str | None, str]] = []
    for text in args.systems:
        name, equals, path = text.partition("=")
        # A file may have the sign in its name.
        given.append((name, path) if equals and name and path and not Path(text).exists() else (None, text))
    paths = [path for _, path in given]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        args.parser.error(f"{twice} is given twice")
    if "-" in paths:
        args.parser.error("systems are read from files, not from standard input")
    short = _short_names([path for name, path in given if name is None])
    systems: dict[str, list[str]] = {}
    for name, path in given:
        own = short[path] if name is None else name
        if name is None and own in systems:
            args.parser.error(f"{path} would be called {own!r}, as another system is: name it, NAME={path}")
        systems.setdefault(own, []).append(path)
    alone = {short[path] for name, path in given if name is None}
    for name, path in given:
        if name in alone:
            args.parser.error(f"{path} is named {name!r}, as another system is called: give that a name too")
    return systems


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return for each path the shortest end of it that no other has, without the suffix of the file if possible."""
    names: dict[str, str] = {}
    for path in paths:
        ends, others = _ends(path), [_ends(other) for other in paths if other != path]
        names[path] = next((end for end in ends if not any(end in other for other in others)), path)
    return names


def _ends(path: str) -> list[str]:
    parts = Path(path).with_suffix("").parts
    return ["/".join(parts[begin:]) for begin in reversed(range(len(parts)))]


def _read(args: argparse.Namespace, systems: dict[str, list[str]]) -> tuple[dict[str, list[Piece]], list[str]]:
    """Return the pieces of each system, one for each run, and what the user should know."""
    references = read_table(args.references)
    if args.groups is not None:
        find_name(references, args.groups)
    pieces: dict[str, list[Piece]] = {}
    notes: list[str] = []
    other_texts = OtherTexts()
    files = [(name, path) for name, paths in systems.items() for path in paths]
    try:
        with progress(len(files), "systems", "") as advance:
            for name, path in files:
                table = read_table(path)
                pairing = pair(
                    references,
                    table,
                    id_name=args.id,
                    pred_id_name=args.pred_id,
                    where=args.where,
                    missing=args.missing,
                )
                piece = read_piece(args, references, table, pairing, other_texts)
                pieces.setdefault(name, []).append(piece)
                notes += [note if path in note else f"{path}: {note}" for note in pairing.notes]
                done = [f"{count} {what}" for what, count in piece.counts._asdict().items() if count]
                if done:
                    notes.append(f"{path}: leniency: {', '.join(done)} (references and predictions together)")
                advance(1)
    finally:
        other_texts.complain()
    return pieces, notes


def _compared(args: argparse.Namespace, pieces: dict[str, list[Piece]]) -> Comparison:
    first = next(iter(pieces.values()))[0]
    soft: dict[str, Any] = {}
    if "soft_references" in first.columns:
        soft = {
            "soft_references": first.columns["soft_references"],
            "soft_systems": {name: [run.columns["soft_predictions"] for run in runs] for name, runs in pieces.items()},
        }
    with warnings_as_remarks():
        found = compare(
            first.columns["references"],
            {name: [run.columns["predictions"] for run in runs] for name, runs in pieces.items()},
            text=first.columns["text"],
            groups=first.groups,
            baseline=args.baseline,
            outputs=args.outputs,
            level=args.level,
            method=args.ci_method,
            n_resamples=args.resamples,
            seed=args.seed,
            alternative=args.alternative,
            correction=args.correction,
            family=args.family,
            **soft,
            **options(args),
        )
    # Spans were read, and leniency counted, file by file: those of the references come along with each.
    counts = {name: InvalidCounts() for name in pieces}
    for name, runs in pieces.items():
        for run in runs:
            counts[name] = counts[name].plus(run.counts)
    found["meta"]["leniency"] = {
        "references": None,
        "systems": {name: count._asdict() for name, count in counts.items()},
    }
    return found


def _layout(found: Comparison, format: str) -> str:
    if format == "json":
        return found.to_json() + "\n"
    return found.to_table("text" if format == "table" else format) + "\n"


COMMANDS = (
    Command(
        "compare",
        "REFERENCES [NAME=]SYSTEM [NAME=]SYSTEM ... [options]",
        "compare systems: differences, intervals, paired tests",
        """\
Compare systems on the same rows: the score of each with its interval, and for
every pair the difference, its interval, and how surprising it would be if the
two systems were exchangeable.

Rows and files are read as 'mycelium score' reads them. A system is called after
its file, or as NAME=FILE says; several files of one NAME are runs of one
system (training seeds, say) and are averaged row by row.""",
        """\
examples:
  mycelium compare gold.jsonl small.jsonl large.jsonl
  mycelium compare gold.jsonl ours.jsonl others/*.jsonl --baseline ours \\
      --groups source_id --metrics iou
  mycelium compare gold.jsonl large=seed1.jsonl large=seed2.jsonl small.jsonl
  mycelium compare gold.jsonl a.jsonl b.jsonl --format latex --output table.tex

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
