"""Arguments that several commands have in common, and how their values are read."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mycelium.cli.common import complain, metric_list
from mycelium.cli.pieces import PLAIN, SPANS, TEXT, TYPED
from mycelium.metrics import partial
from mycelium.metrics.by_type import ABSENT
from mycelium.scoring import Accumulator
from mycelium.typed.settings import UNKNOWN
from mycelium.typed.types import TYPES, types_of

__all__ = [
    "INPUT_FORMATS",
    "add_columns",
    "add_resampling",
    "add_rows",
    "add_scoring",
    "add_spans",
    "add_typed",
    "check_metrics",
    "check_typed",
    "condition",
    "profile",
    "share",
    "tolerance",
    "type_list",
    "warnings_as_remarks",
    "whole",
]

#: The lengths that the share of an overlap can be taken of.
_BASES = next(parameter.choices for parameter in partial.parameters if parameter.name == "overlap_base")

INPUT_FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")


def add_scoring(parser: argparse.ArgumentParser) -> None:
    """Add what is scored: profile, metrics, average, undefined, tolerance."""
    # Of the commands that score, those that can score typed spans say so in add_typed.
    parser.set_defaults(typed=False)
    scoring = parser.add_argument_group("scoring")
    scoring.add_argument(
        "--profile", type=profile, metavar="NAME", help="defaults of a benchmark: mu_shroom (macro), ragtruth (micro)"
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
        "--tolerance", type=tolerance, default=0.0, metavar="X", help="subtracted from thresholds of shares (default 0)"
    )


def add_columns(parser: argparse.ArgumentParser, others: str) -> None:
    """Add the columns of ids, spans and texts; ``others`` is what the files of predictions are called."""
    columns = parser.add_argument_group("columns (of all files unless said otherwise)")
    columns.add_argument(
        "--id", metavar="NAME", help="pairs the rows; default: id, and the order where a file has none"
    )
    columns.add_argument("--spans", metavar="NAME", help=f"default: the first present of {', '.join(SPANS)}")
    columns.add_argument(
        "--text", metavar="NAME", help=f"the answers, in REFERENCES; default: the first present of {', '.join(TEXT)}"
    )
    columns.add_argument("--soft", metavar="NAME", help="spans with prob, for soft_correlation; default: soft_labels")
    columns.add_argument("--pred-id", metavar="NAME", help=f"id in {others}, if it is named differently there")
    columns.add_argument("--pred-spans", metavar="NAME", help=f"spans in {others}, if they are named differently there")


def add_rows(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add which rows are scored, and what happens to missing ones; return the group of arguments."""
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--where",
        action="append",
        default=[],
        type=condition,
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
    return rows


def add_spans(parser: argparse.ArgumentParser) -> None:
    """Add how offsets are read, and what happens to invalid spans."""
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


def add_typed(parser: argparse.ArgumentParser) -> None:
    """Add typed spans: the types, what an overlap is worth, and what happens to other types."""
    typed = parser.add_argument_group("typed spans")
    typed.add_argument(
        "--typed",
        action="store_true",
        help="every span has a type: score places, types and both; micro, and undefined 1, unless said otherwise",
    )
    typed.add_argument(
        "--types",
        type=type_list,
        metavar="NAMES",
        help=f"{', '.join(TYPES)}, or the types, separated by commas; default: all that the files hold",
    )
    typed.add_argument(
        "--overlap-credit", type=tolerance, metavar="X", help="worth of a pair with other boundaries (default 0.5)"
    )
    typed.add_argument(
        "--min-overlap",
        type=tolerance,
        metavar="X",
        help="least share of its base that an overlap needs (default 0)",
    )
    typed.add_argument("--overlap-base", choices=_BASES, help="the length that the share is of (default: reference)")
    typed.add_argument(
        "--unknown-types", choices=UNKNOWN, help="spans whose type is not in --types: refuse (default), or leave out"
    )
    typed.add_argument(
        "--absent-types", choices=ABSENT, help="types that neither side has: not in the mean (default), or 0 there"
    )


def check_typed(args: argparse.Namespace) -> None:
    """Refuse options of typed spans without --typed, and with it those that cannot go along."""
    names = (*PLAIN, "soft") if args.typed else TYPED
    given = next((name for name in names if getattr(args, name) not in (None, args.parser.get_default(name))), None)
    if given is not None:
        option = f"--{given.replace('_', '-')}"
        args.parser.error(
            f"{option} has no meaning with --typed, whose measures are fixed"
            if args.typed
            else f"{option} speaks of typed spans: it needs --typed"
        )


def add_resampling(parser: argparse.ArgumentParser, resamples: int = 10_000) -> argparse._ArgumentGroup:
    """Add groups, level, resamples, seed and the kind of interval; return the group of arguments."""
    sure = parser.add_argument_group("how sure")
    sure.add_argument(
        "--groups",
        metavar="COLUMN",
        help="rows that share a value, such as a source document, depend on each other and are drawn together",
    )
    sure.add_argument("--level", type=share, default=0.95, metavar="X", help="of the intervals (default 0.95)")
    sure.add_argument(
        "--resamples", type=whole(1), default=resamples, metavar="N", help=f"number of draws (default {resamples})"
    )
    sure.add_argument("--seed", type=whole(0), default=0, metavar="N", help="where the draws begin (default 0)")
    sure.add_argument(
        "--ci-method", choices=("percentile", "bca", "basic"), default="percentile", help="default: percentile"
    )
    return sure


def check_metrics(args: argparse.Namespace) -> None:
    """Refuse a metric that is named twice."""
    keys = [metric.key for metric in args.metrics or ()]
    if len(set(keys)) < len(keys):
        args.parser.error(f"argument --metrics: {next(k for k in keys if keys.count(k) > 1)!r} is named twice")


def profile(text: str) -> str | None:
    """Read the name of a profile."""
    try:
        return Accumulator(profile=text).settings.profile
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def tolerance(text: str) -> float:
    """Read a number from 0 to 1, both included."""
    value = _number(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text!r}")
    return value


def share(text: str) -> float:
    """Read a number between 0 and 1, neither included."""
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return value


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from the least on."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = -1
        if value < least:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} on, got {text!r}")
        return value

    return read


def type_list(text: str) -> list[str]:
    """Read a list of types: by its name, or the types, separated by commas."""
    try:
        return list(types_of(text if text in TYPES else [name.strip() for name in text.split(",")]))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def condition(text: str) -> tuple[str, str]:
    """Read a column and its value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must read COLUMN=VALUE, got {text!r}")
    return name, value


@contextmanager
def warnings_as_remarks() -> Iterator[None]:
    """Print warnings of the library as remarks of the command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        complain(str(warning.message))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
