"""``mycelium detector``: a detector's scores as decisions, from a file to a report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mycelium.cli.arguments import INPUT_FORMATS, condition, tolerance, warnings_as_remarks, whole
from mycelium.cli.common import Command, DataError, complain
from mycelium.cli.pairing import chosen_rows, find_name, plain, some
from mycelium.detector.card import html, summary
from mycelium.detector.contract import DIRECTIONS, EvaluationContract
from mycelium.detector.costs import CostVector
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.inputs import NAN_POLICIES
from mycelium.detector.parts import PARTS, rows_digest
from mycelium.detector.report import EvaluationReport
from mycelium.detector.thresholds import RULES
from mycelium.formats.files import Table, read_table, write_text
from mycelium.formats.strict_json import DECODER, reason

__all__ = ["COMMANDS", "FORMATS", "format_of", "save", "text_of"]

FORMATS = ("text", "markdown", "html", "json")
LABELS = ("unsupported", "label")
SCORES = ("score",)
_TRUTH = {"1": True, "true": True, "unsupported": True, "0": False, "false": False, "supported": False}
_EXIT = "exit status: 0 fine; 1 the data cannot be used; 2 wrong usage\n"


# -- detector


def _detector_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="SCORES", help="file with a row for each answer; '-' is stdin")

    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--label", metavar="NAME", help=f"1 for unsupported answers; default: the first present of {', '.join(LABELS)}"
    )
    columns.add_argument("--score", metavar="NAME", help="default: score")
    columns.add_argument("--split", metavar="NAME", help="which part each row belongs to")
    columns.add_argument("--groups", metavar="NAME", help="what depends on each other, such as the source document")
    columns.add_argument("--id", metavar="NAME", help="what each row is called; default: id, where there is one")
    columns.add_argument("--weight", metavar="NAME", help="how many answers of the population each row stands for")
    columns.add_argument(
        "--by", action="append", default=[], metavar="NAME", help="look at each value of this column; can be repeated"
    )
    columns.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="NAME",
        help="a simpler score to compare with; can be repeated",
    )
    columns.add_argument("--latency", metavar="NAME", help="milliseconds that each answer took")

    reading = parser.add_argument_group("reading")
    for name in PARTS:
        reading.add_argument(
            f"--{name}", metavar="VALUE", help=f"what the column of --split holds for {name} rows (default: {name})"
        )
    reading.add_argument(
        "--where",
        action="append",
        default=[],
        type=condition,
        metavar="COLUMN=VALUE",
        help="use only the rows that have this value; can be repeated",
    )
    reading.add_argument(
        "--pos-label", metavar="VALUE", help="what the column of --label holds for unsupported answers"
    )
    reading.add_argument(
        "--direction", choices=("higher", "lower"), help="which scores are riskier; a declaration, never guessed"
    )
    reading.add_argument("--probability", action="store_true", help="the score is the probability of unsupported")
    reading.add_argument(
        "--nan-policy",
        choices=NAN_POLICIES,
        default="raise",
        help="rows without a score: refuse (default), leave out, or count and never accept",
    )
    reading.add_argument(
        "--labelled",
        choices=("all", "flagged"),
        default="all",
        help="flagged: only answers that a detector in use had flagged were labelled",
    )
    reading.add_argument("--input-format", choices=INPUT_FORMATS, help="of standard input (default: jsonl)")

    deciding = parser.add_argument_group("deciding")
    deciding.add_argument(
        "--max-far",
        nargs="*",
        type=tolerance,
        default=[0.01, 0.05],
        metavar="X",
        help="budgets: shares of unsupported answers that may be accepted (default: 0.01 0.05)",
    )
    deciding.add_argument(
        "--rule", nargs="+", choices=RULES, default=["empirical"], help="how thresholds are chosen (default: empirical)"
    )
    deciding.add_argument(
        "--routing",
        nargs=2,
        type=_finite,
        metavar=("ACCEPT", "REVIEW"),
        help="two thresholds: accept up to the first, reject from the second on, review between",
    )
    deciding.add_argument("--capacity", type=_finite, metavar="N", help="reviews that can be done")
    deciding.add_argument("--volume", type=_finite, metavar="N", help="answers that come in the same time")
    deciding.add_argument(
        "--costs",
        nargs=4,
        type=_finite,
        metavar=("FA", "FR", "REVIEW", "COMPUTE"),
        help="of a false acceptance, a false rejection, a review, and of each answer",
    )
    deciding.add_argument(
        "--allow-resubstitution",
        action="store_true",
        help="choose and evaluate on the same rows where there are no others; the report is stamped",
    )

    telling = parser.add_argument_group("declaring")
    telling.add_argument("--contract", metavar="FILE", help="JSON file with the evaluation contract")
    telling.add_argument("--about", metavar="FILE", help="JSON file with what only you know, by section of the report")
    telling.add_argument("--name", metavar="TEXT", help="of the detector")
    telling.add_argument("--lock", metavar="DIGEST", help="refuse other test rows than those with this digest")
    telling.add_argument(
        "--print-lock", action="store_true", help="print the digest of the test rows and do nothing else"
    )

    sure = parser.add_argument_group("how sure")
    sure.add_argument("--resamples", type=whole(1), default=1000, metavar="N", help="of the bootstrap (default 1000)")
    sure.add_argument("--seed", type=whole(0), default=0, metavar="N", help="where the draws begin (default 0)")

    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write the report there: .json, .md (with pictures beside it) or .html; can be repeated",
    )
    output.add_argument("--format", choices=FORMATS, default="text", help="of what is printed (default: text)")


def _run_detector(args: argparse.Namespace) -> int:
    for path in args.output:
        if format_of(path) is None:
            args.parser.error(f"argument -o: {path}: expected a file that ends in .json, .md or .html")
    named = [name for name in PARTS if getattr(args, name) is not None]
    if named and args.split is None:
        args.parser.error(f"argument --{named[0]}: names a value of the column of --split, which is not given")
    table = read_table(args.file, format=args.input_format if args.file == "-" else None)
    kept = chosen_rows(table, args.where)
    columns = _Columns(table, kept)
    labels = columns.labels(args.label, args.pos_label)
    id_name = find_name(table, args.id, ("id",), "id ")
    ids = None if id_name is None else columns.values(id_name)
    # With names given, rows of other parts (such as the detector's training rows) are not used, and counted.
    split = None if args.split is None else columns.split(args.split, _names(args), only_these=not named)
    parts: dict[str, Any] = {}
    if split is not None:
        parts = {name: [i for i, part in enumerate(split) if part == name] or None for name in PARTS}
        if parts["test"] is None:
            raise DataError(f"{table.path}: no row is for the test: {args.split} never is {args.test or 'test'!r}")
        unused = split.count(None)
        if unused:
            complain(f"{table.path}: {unused} rows are in no part that is named, and not used")
    if args.print_lock:
        rows = list(range(len(kept))) if split is None else parts["test"]
        # Without ids the digest is of the numbers of rows among the test rows.
        print(rows_digest([labels[i] for i in rows], None if ids is None else [ids[i] for i in rows]))
        return 0
    contract = _contract(args)
    optional = {
        "groups": args.groups,
        "sample_weight": args.weight,
        "latency_ms": args.latency,
    }
    given: dict[str, Any] = {}
    for name, wanted in optional.items():
        if wanted is not None:
            given[name] = columns.values(wanted) if name == "groups" else columns.numbers(wanted)
    with warnings_as_remarks():
        report = evaluate_detector(
            labels,
            columns.numbers(find_name(table, args.score, SCORES, "score ") or "score"),
            contract=contract,
            **parts,
            ids=ids,
            slices={name: columns.values(name) for name in args.by},
            baselines={name: columns.numbers(name) for name in args.against},
            max_far=args.max_far,
            rules=args.rule,
            routing=None if args.routing is None else tuple(args.routing),
            review_capacity=args.capacity,
            volume=args.volume,
            costs=None if args.costs is None else CostVector(*args.costs),
            about=_about(args),
            test_lock=args.lock,
            nan_policy=args.nan_policy,
            labelled=args.labelled,
            n_resamples=args.resamples,
            seed=args.seed,
            allow_resubstitution=args.allow_resubstitution,
            **given,
        )
    for path in args.output:
        save(report, path)
    if not args.output or args.format != "text":
        write_text(None, text_of(report, args.format))
    else:
        write_text(None, summary(report) + "\n")
    return 0


class _Columns:
    """The columns of a table, for the chosen rows; cells of CSV files are read as what they stand for."""

    def __init__(self, table: Table, rows: list[int]) -> None:
        self._table, self._rows = table, rows
        self._cells = table.format in ("csv", "tsv")

    def values(self, name: str) -> list[Any]:
        find_name(self._table, name)
        found = plain(self._table.columns[name])
        return [None if self._cells and found[row] == "" else found[row] for row in self._rows]

    def numbers(self, name: str) -> list[float | None]:
        return self._read(name, _number, "a number")

    def labels(self, wanted: str | None, pos_label: str | None) -> list[bool]:
        name = find_name(self._table, wanted, LABELS, "label ")
        if name is None:
            raise DataError(f"{self._table.path}: no label column ({', '.join(LABELS)}): name one with --label")
        if pos_label is None:
            found = self._read(name, _label, "0 or 1, supported or unsupported; name the label with --pos-label")
        else:
            found = self._read(name, lambda value: _written(value) == pos_label, "a label")
            if not any(found):
                raise DataError(f"{self._table.path}: no row has {pos_label!r} in {name}")
        return found

    def split(self, name: str, names: Mapping[str, str], *, only_these: bool) -> list[str | None]:
        def read(value: Any) -> str | None:
            return names[_written(value)] if only_these else names.get(_written(value))

        return self._read(name, read, f"one of {', '.join(names)}")

    def _read(self, name: str, read: Callable[[Any], Any], expected: str) -> list[Any]:
        out, faults = [], []
        for row, value in zip(self._rows, self.values(name), strict=True):
            found, fault = _tried(read, value)
            if fault:
                faults.append(f"{self._table.where(row)}: {name} is {value!r}, expected {expected}")
            out.append(found)
        if faults:
            raise DataError(*some(faults))
        return out


def _tried(read: Callable[[Any], Any], value: Any) -> tuple[Any, bool]:
    try:
        return read(value), False
    except (KeyError, TypeError, ValueError):
        return None, True


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _label(value: Any) -> bool:
    return _TRUTH[_written(value).lower()]


def _written(value: Any) -> str:
    if value is None:
        raise TypeError
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _names(args: argparse.Namespace) -> dict[str, str]:
    """Return what each value of the column of parts stands for."""
    names = {getattr(args, name) or name: name for name in PARTS}
    if len(names) < len(PARTS):
        args.parser.error(f"--{', --'.join(PARTS)} must name three different values")
    return names


def _contract(args: argparse.Namespace) -> EvaluationContract | None:
    contract = None if args.contract is None else EvaluationContract.from_json(args.contract)
    declared: dict[str, Any] = {}
    if args.direction is not None:
        declared["score_direction"] = next(name for name in DIRECTIONS if name.startswith(args.direction))
    if args.probability:
        declared["score_is_probability"] = True
    if not declared:
        return contract
    contract = EvaluationContract() if contract is None else contract
    for name, value in declared.items():
        if getattr(contract, name) not in (None, value):
            raise DataError(f"{args.contract}: {name} is {getattr(contract, name)!r}, and the options say {value!r}")
    return replace(contract, **declared)


def _about(args: argparse.Namespace) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if args.about is not None:
        try:
            about = DECODER.decode(Path(args.about).read_text(encoding="utf-8"))
            if not isinstance(about, dict):
                raise ValueError("expected a JSON object")
        except (ValueError, RecursionError) as error:
            raise DataError(f"{args.about}: {reason(error)}") from None
    if args.name is not None:
        about["detector"] = {**about.get("detector", {}), "name": args.name}
    if args.groups is not None:
        about["split"] = {"group_key": args.groups, **about.get("split", {})}
    return about


# -- what is written


def format_of(path: str) -> str | None:
    return {".json": "json", ".md": "markdown", ".html": "html"}.get(Path(path).suffix.lower())


def text_of(report: EvaluationReport, format: str) -> str:
    if format == "json":
        return report.to_json() + "\n"
    if format == "markdown":
        return report.to_markdown()
    return (html(report) if format == "html" else summary(report)) + "\n"


def save(report: EvaluationReport, path: str) -> None:
    format = format_of(path) or "json"
    if format == "markdown":
        report.to_markdown(path)
    else:
        write_text(path, text_of(report, format))


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not float("-inf") < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}")
    return value


COMMANDS: Sequence[Command] = (
    Command(
        "detector",
        "SCORES --score NAME --split NAME [-o report.json] [options]",
        "evaluate a detector's scores as decisions",
        """\
Evaluate scores of answers as decisions: whether they rank unsupported answers
above supported ones, which thresholds keep a budget of false acceptance on
calibration rows, and what these do to test rows. With -o the whole report is
written, from which 'report' and 'gate' work.

An answer is accepted iff its score is at most the threshold; with
--direction lower, iff it is at least that.""",
        f"""\
examples:
  mycelium detector scores.csv --label unsupported --score energy --groups source_id \\
      --split part --max-far 0.01 0.05 -o report.json -o report.md
  mycelium detector scores.csv --split part --rule upper_bound crc --by language
  mycelium detector scores.csv --split part --id id --print-lock

{_EXIT}""",
        _detector_arguments,
        _run_detector,
    ),
)
