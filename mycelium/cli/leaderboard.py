"""``mycelium leaderboard``: all systems of a shared task in order, and how sure that order is."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from mycelium.cli.arguments import condition, profile, share, whole
from mycelium.cli.common import Command, DataError, complain, metric_list
from mycelium.cli.folders import Gold, Submitted, read_gold, read_submitted, submissions_in
from mycelium.cli.output import slice_names
from mycelium.cli.pairing import chosen_rows, column, find_name, pick, plain, some
from mycelium.cli.pieces import SOFT, SPANS, TEXT, OtherTexts
from mycelium.formats.files import Table, write_text
from mycelium.metrics import Metric
from mycelium.progress import progress
from mycelium.versus.leaderboard import Leaderboard, rank_systems
from mycelium.versus.multiplicity import CORRECTIONS

__all__ = ["COMMANDS"]

FORMATS = ("table", "markdown", "csv", "latex", "html", "json")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("references", metavar="REF", help="file with the annotated spans, or a folder of such files")
    parser.add_argument(
        "systems", metavar="DIR", help="folder with SYSTEM.jsonl, or SYSTEM/ with files, for each system"
    )

    scoring = parser.add_argument_group("scoring")
    scoring.add_argument("--metric", type=_metric, default="iou", metavar="NAME", help="what ranks (default: iou)")
    scoring.add_argument(
        "--value", choices=("precision", "recall", "f1", "score"), help="of that metric (default: f1, or score)"
    )
    scoring.add_argument("--average", choices=("macro", "micro"), help="default: the profile's, or macro")
    scoring.add_argument("--profile", type=profile, metavar="NAME", help="defaults of a benchmark: mu_shroom, ragtruth")

    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--by",
        metavar="COLUMN",
        help="a board for each value of a column of REF, e.g. lang, and their mean overall; 'file' is the name of the "
        "file where REF is a folder",
    )
    rows.add_argument(
        "--groups", metavar="COLUMN", help="draw and swap rows with one value together, e.g. those of one document"
    )
    rows.add_argument(
        "--where",
        action="append",
        default=[],
        type=condition,
        metavar="COLUMN=VALUE",
        help="score only the rows of REF that have this value, e.g. lang=EN; can be repeated",
    )
    rows.add_argument(
        "--missing",
        choices=("raise", "empty"),
        default="raise",
        help="a system of which some rows of a slice are missing: refuse it there (default), or count them as rows "
        "where nothing was found",
    )
    rows.add_argument(
        "--invalid",
        choices=("raise", "drop", "clip"),
        default="raise",
        help="spans that are negative, empty or past the text: refuse the system in the slice (default), leave them "
        "out, or cut them; both are counted",
    )

    columns = parser.add_argument_group("columns")
    columns.add_argument("--id", metavar="NAME", help="pairs the rows (default: id)")
    columns.add_argument("--spans", metavar="NAME", help=f"default: the first present of {', '.join(SPANS)}")
    columns.add_argument("--text", metavar="NAME", help=f"in REF; default: the first present of {', '.join(TEXT)}")

    certainty = parser.add_argument_group("certainty")
    certainty.add_argument("--level", type=share, default=0.95, metavar="X", help="of the intervals (default: 0.95)")
    certainty.add_argument(
        "--resamples", type=whole(1), default=10_000, metavar="B", help="replicates, and permutations (default: 10000)"
    )
    certainty.add_argument("--seed", type=whole(0), default=0, metavar="N", help="default: 0")
    certainty.add_argument(
        "--correction", choices=CORRECTIONS, default="holm", help="for the number of pairs of a board (default: holm)"
    )

    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    output.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def _run(args: argparse.Namespace) -> int:
    gold, spans, groups = _references(args)
    files, remarks = submissions_in(args.systems)
    for remark in remarks:
        complain(remark)
    submitted: dict[str, Submitted] = {}
    other_texts = OtherTexts()
    with progress(len(files), "systems", "") as advance:
        for name, paths in files.items():
            submitted[name], others = read_submitted(
                paths,
                gold,
                id_name=args.id,
                spans=args.spans,
                candidates=_candidates(args),
                missing=args.missing,
            )
            for other in others:
                other_texts.add(*other)
            advance(1)
    other_texts.complain()
    board = _ranked(args, gold, spans, groups, submitted)
    for record in board["refused"]:
        place = "" if record["slice"] is None else f", {record['slice']}"
        complain(f"refused: {record['system']}{place}: {record['reason']}")
    if not any([board["overall"], *board["slices"].values()]):
        complain(f"{args.systems}: no system can be scored")
        return 1
    write_text(args.output, _layout(board, args.format))
    return 0


def _references(args: argparse.Namespace) -> tuple[Gold, list[Any], list[Any] | None]:
    """Return the references, their spans and their groups."""
    table, ids = read_gold(args.references, args.id)
    chosen = chosen_rows(table, args.where)
    row_of: dict[Any, int | None] = dict.fromkeys(ids)
    row_of |= {ids[record]: row for row, record in enumerate(chosen)}
    slices: list[Any] = [None for _ in chosen]
    if args.by is not None:
        slices = slice_names(_values(table, args.by, chosen), args.by, table.path)
    groups = None if args.groups is None else _values(table, args.groups, chosen)
    text_name = find_name(table, args.text, TEXT, "text ")
    texts = None if text_name is None else plain(pick(table.columns[text_name], chosen))
    gold = Gold(table, chosen, row_of, [ids[record] for record in chosen], slices, texts, text_name)
    bad = [gold.where(row) for row, text in enumerate(texts or ()) if not isinstance(text, str)]
    if bad:
        raise DataError(*some([f"{place}: {text_name} is no string" for place in bad]))
    spans = column(table, args.spans, _candidates(args), "span", "--spans")
    return gold, plain(pick(spans, chosen)), groups


def _candidates(args: argparse.Namespace) -> tuple[str, ...]:
    soft = isinstance(args.metric, Metric) and "soft" in args.metric.needs
    return SOFT if soft else SPANS


def _values(table: Table, name: str, chosen: list[int]) -> list[Any]:
    """Return a column that has a value in every row."""
    find_name(table, name)
    values = plain(pick(table.columns[name], chosen))
    bad = [table.where(record) for record, value in zip(chosen, values, strict=True) if value is None]
    if bad:
        raise DataError(*some([f"{place}: no {name}" for place in bad]))
    return values


def _ranked(
    args: argparse.Namespace,
    gold: Gold,
    spans: list[Any],
    groups: list[Any] | None,
    submitted: dict[str, Submitted],
) -> Leaderboard:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        try:
            board = rank_systems(
                spans,
                {name: one.rows for name, one in submitted.items()},
                refused={name: one.refused for name, one in submitted.items()},
                by=None if args.by is None else gold.slices,
                groups=groups,
                metric=args.metric,
                output=args.value,
                average=args.average,
                profile=args.profile,
                text=gold.texts,
                undefined=None,
                tolerance=0.0,
                invalid=args.invalid,
                missing_rows=args.missing,
                offsets="codepoint",
                end="exclusive",
                level=args.level,
                n_resamples=args.resamples,
                seed=args.seed,
                correction=args.correction,
            )
        except (TypeError, ValueError) as error:
            message = _places(str(error), gold.where).replace("n_resamples=", "--resamples ")
            raise DataError(message.removeprefix("references: ")) from None
    for warning in heard:
        complain(str(warning.message))
    for record in board["refused"]:
        places = submitted[record["system"]].places
        if record["slice"] not in submitted[record["system"]].refused:
            reason = _places(record["reason"], lambda row, places=places: places.get(row, f"row {row}"))  # type: ignore[misc]
            record["reason"] = re.sub(r"^(soft_)?predictions: ", "", reason)
    return board


def _places(message: str, where: Callable[[int], str]) -> str:
    """Name places in files where a message of the library names rows."""
    return re.sub(
        r"\brows? (\d+(?:, \d+)*)", lambda match: ", ".join(where(int(n)) for n in match[1].split(", ")), message
    )


def _layout(board: Leaderboard, format: str) -> str:
    if format == "json":
        return board.to_json() + "\n"
    if format == "html":
        title = escape(f"{board['meta']['metric']}: {len(board['overall'])} systems")
        head = f'<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{title}</title></head>'
        return f'{head}\n<body style="font-family:sans-serif">\n{board.to_table("html")}\n</body>\n</html>\n'
    return board.to_table("text" if format == "table" else format) + "\n"


def _metric(text: str) -> Metric:
    metrics = metric_list(text)
    if len(metrics) != 1:
        raise argparse.ArgumentTypeError(f"one metric ranks, got {len(metrics)}")
    return metrics[0]


COMMANDS = (
    Command(
        "leaderboard",
        "REF DIR [options]",
        "rank all systems of a shared task, with intervals and groups",
        """\
Score all systems of a folder on the same references and rank them. Beside each
rank stand the interval of the score, the ranks that the data leave possible, and
letters: systems that share one cannot be told apart.

REF is a file, or a folder whose files are joined (their names are the column
'file'). DIR holds SYSTEM.jsonl with all rows, or SYSTEM/ with several files, for
each system. Rows are paired by id. What cannot be used refuses a system in the
slices concerned, is listed with file and line, and leaves the others alone.""",
        """\
examples:
  mycelium leaderboard gold.jsonl systems
  mycelium leaderboard test systems --by lang --profile mu_shroom
  mycelium leaderboard test systems --by file --format latex --output table.tex
  mycelium leaderboard gold.jsonl systems --groups source_id --missing empty

exit status: 0 at least one system was scored; 1 none could be, or REF cannot be
used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
