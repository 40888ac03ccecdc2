"""Pieces of two files that belong together: their spans, texts and slices, and the sums of many pieces."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mycelium.accumulators import accumulator
from mycelium.cli.common import DataError, complain
from mycelium.cli.output import slice_names
from mycelium.cli.pairing import Pairing, column, find_name, listed, pair, pick, plain, some, with_lines
from mycelium.confidence import Intervals
from mycelium.formats import read_spans
from mycelium.formats.files import Table, read_table
from mycelium.line import check_labels
from mycelium.metrics.by_type import check_types
from mycelium.report import Report
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.states import count_groups, grouping
from mycelium.typed.types import types_in

__all__ = [
    "PLAIN",
    "SOFT",
    "SPANS",
    "TEXT",
    "TYPED",
    "OtherTexts",
    "Piece",
    "Scored",
    "Sums",
    "Together",
    "aligned",
    "complain_of_leniency",
    "options",
    "read_piece",
    "read_side",
    "read_whole",
    "span_columns",
    "with_types",
]

#: Options of scoring besides the average, with --typed and without.
TYPED = ("types", "overlap_credit", "min_overlap", "overlap_base", "unknown_types", "absent_types")
PLAIN = ("profile", "metrics", "tolerance")

SPANS = ("spans", "hard_labels", "labels", "hallucination_labels")
TEXT = ("text", "model_output_text", "response", "output")
SOFT = ("soft_labels",)


@dataclass(frozen=True)
class Piece:
    """What is to be scored.

    Attributes
    ----------
    columns : dict
        The arguments of :meth:`mycelium.Accumulator.update`, n rows each.
    counts : InvalidCounts
        What leniency did when they were read.
    slices : dict of str to list of n str
        For each column of ``--by`` the names of the slices.
    values : dict of str to (str, dict)
        For each such column the file it is from, and the value behind each name.
    groups : list of length n or None
        The group of each row, where a column of groups is named.
    """

    columns: dict[str, Any]
    counts: InvalidCounts
    slices: dict[str, list[str]]
    values: dict[str, tuple[str, dict[str, Any]]]
    groups: list[Any] | None = None


class Scored(NamedTuple):
    """What is to be printed: report, slices, notes; for scores of single rows their ids and slices; intervals."""

    report: Report
    parts: dict[str, dict[Any, Report]]
    notes: Sequence[str]
    ids: list[Any] | None = None
    slices: dict[str, list[str]] | None = None
    intervals: Intervals | None = None
    slice_intervals: dict[str, dict[Any, Intervals]] | None = None


class Together(NamedTuple):
    """Two files read as a whole."""

    references: Table
    predictions: Table
    pairing: Pairing
    piece: Piece


class OtherTexts:
    """Rows of the predictions whose text is not that of the reference: one remark on all of them."""

    def __init__(self) -> None:
        self._first = ""
        self._rows = 0

    def add(self, table: Table, name: str, rows: Sequence[int]) -> None:
        """Note rows of a table."""
        if rows and not self._rows:
            self._first = f"{table.where(rows[0])}: {name} is not the text of the reference"
        self._rows += len(rows)

    def complain(self) -> None:
        """Print the remark, if there is anything to say."""
        if self._rows:
            more = f" (and in {self._rows - 1} more rows)" if self._rows > 1 else ""
            complain(f"{self._first}{more}; offsets are read in the reference's")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of an accumulator, of typed spans with --typed."""
    scoring: dict[str, Any] = {name: getattr(args, name) for name in ("average", *(TYPED if args.typed else PLAIN))}
    scoring["undefined"] = None if args.undefined is None else float(args.undefined)
    if args.typed:
        # Where nothing is said, these have defaults of their own.
        scoring = {name: value for name, value in scoring.items() if value is not None}
    return {
        **scoring,
        # Pieces hold spans that are read and checked by now; passed on, the rules stand in the signature.
        "invalid": args.invalid,
        "missing_rows": "empty" if "empty" in (args.missing, args.missing_rows) else "raise",
        "offsets": args.offsets,
        "end": args.end,
    }


def with_types(args: argparse.Namespace, piece: Piece) -> argparse.Namespace:
    """Return the arguments with the types, which are all those of the data unless they are given."""
    if not args.typed or args.types is not None:
        return args
    types = list(types_in(piece.columns["references"], piece.columns["predictions"]))
    return argparse.Namespace(**{**vars(args), "types": types})


def span_columns(args: argparse.Namespace) -> list[tuple[str, str | None, str | None, tuple[str, ...], str, str]]:
    """Return for hard, and if needed for soft spans: prefix, column wanted of each file, candidates, kind, option."""
    wanted: list[tuple[str, str | None, str | None, tuple[str, ...], str, str]] = [
        ("", args.spans, args.pred_spans or args.spans, SPANS, "span", "--spans")
    ]
    if any("soft" in metric.needs for metric in args.metrics or ()):
        wanted.append(("soft_", args.soft, args.soft, SOFT, "soft label", "--soft"))
    return wanted


def read_piece(
    args: argparse.Namespace, references: Table, predictions: Table, pairing: Pairing, other_texts: OtherTexts
) -> Piece:
    """Read the paired records of two tables.

    Raises
    ------
    DataError
        When a column is not there, or what it holds cannot be scored.
    """
    slices, values = {}, {}
    for name in args.by:
        table, _, given = _values(name, "--by", references, predictions, pairing)
        slices[name] = slice_names(given, name, table.path)
        values[name] = table.path, dict(zip(slices[name], given, strict=True))
    texts = _texts(args, references, predictions, pairing, other_texts)
    counts = InvalidCounts(missing=pairing.missing)
    columns: dict[str, Any] = {"text": texts[0]}
    for prefix, name, pred_name, candidates, kind, option in span_columns(args):
        ours = column(references, name, candidates, kind, option)
        theirs = column(predictions, pred_name, candidates, kind, option)
        batch, found = read_side(args, references, ours, pairing.references, texts[0], bool(prefix))
        columns[f"{prefix}references"] = batch
        counts = counts.plus(found)
        batch, found = read_side(args, predictions, theirs, pairing.predictions, texts[1], bool(prefix))
        columns[f"{prefix}predictions"] = aligned(batch, pairing.order)
        counts = counts.plus(found)
    groups = None if args.groups is None else _groups(args.groups, references, predictions, pairing)
    return Piece(columns, counts, slices, values, groups)


def read_whole(args: argparse.Namespace) -> Together:
    """Read both files and pair their rows.

    Raises
    ------
    DataError
        When they cannot be read, paired or scored.
    """
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
    return Together(references, predictions, pairing, piece)


def complain_of_leniency(counts: InvalidCounts) -> None:
    """Say what leniency did, if it did anything."""
    if any(counts):
        done = [f"{count} {what}" for what, count in counts._asdict().items() if count]
        complain(f"leniency: {', '.join(done)} (references and predictions together)")


def _texts(
    args: argparse.Namespace, references: Table, predictions: Table, pairing: Pairing, other_texts: OtherTexts
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
        pairs = zip(pairing.predictions, own, theirs, strict=True)
        other_texts.add(predictions, own_name, [row for row, a, b in pairs if isinstance(a, str) and a != b])
    return texts, theirs


def read_side(
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
        if not soft:
            _check_types(args, batch, table.path)
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


def _check_types(args: argparse.Namespace, batch: SpanBatch, name: str) -> None:
    if args.typed or any("labels" in metric.needs for metric in args.metrics or ()):
        check_labels(batch, name)
    if args.typed and args.types is not None and args.unknown_types != "ignore":
        check_types(batch, name, args.types)


def aligned(batch: SpanBatch, order: list[int]) -> SpanBatch:
    """Return the predictions in the order of the references, an empty row where there is none."""
    last = len(batch)
    offsets = batch.offsets.take([*range(last + 1), last])
    with_empty = SpanBatch(offsets, batch.start, batch.end, batch.label, batch.score)
    return with_empty[order]


def _values(
    name: str, option: str, references: Table, predictions: Table, pairing: Pairing
) -> tuple[Table, list[int], list[Any]]:
    """Return the values of a column for the scored rows, the table that has it, and the rows there."""
    if name in references.columns:
        table, rows = references, pairing.references
    elif name in predictions.columns and not pairing.missing:
        table, rows = predictions, [pairing.predictions[j] for j in pairing.order]
    else:
        raise DataError(f"{references.path}: no column {name!r} for {option}; it has {listed(references.columns)}")
    return table, rows, plain(pick(table.columns[name], rows))


def _groups(name: str, references: Table, predictions: Table, pairing: Pairing) -> list[Any]:
    table, rows, values = _values(name, "--groups", references, predictions, pairing)
    faults = [
        f"{table.where(row)}: no {name}, and every row needs a group"
        for row, value in zip(rows, values, strict=True)
        # NaN, the one number that differs from itself, is what some files have in the place of nothing.
        if value is None or value != value
    ]
    faults = faults or [
        f"{table.where(row)}: {name} must be a string or an integer, got {value!r}"
        for row, value in zip(rows, values, strict=True)
        if not isinstance(value, (str, int))
    ]
    if faults:
        raise DataError(*some(faults))
    if len({isinstance(value, str) for value in values}) > 1:
        raise DataError(f"{table.path}: {name} holds strings and numbers: give all groups one type")
    return values


class Sums:
    """The sums of pieces, of each slice for itself."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._scores = accumulator(typed=args.typed, **options(args))
        self._by: list[str] = list(dict.fromkeys(args.by))
        self._values: dict[str, dict[str, Any]] = {name: {} for name in self._by}
        self._states: dict[tuple[str, ...], Any] = {}
        self._counts = InvalidCounts()

    def add(self, piece: Piece) -> None:
        """Add a piece.

        Raises
        ------
        DataError
            When slices go by names that other values had before.
        """
        for name, (path, values) in piece.values.items():
            for slice_name, value in values.items():
                before = self._values[name].setdefault(slice_name, value)
                if type(before) is not type(value):
                    slice_names([before, value], name, path)
        rows = range(len(piece.columns["references"]))
        keys = zip(*(piece.slices[name] for name in self._by), strict=True) if self._by else (() for _ in rows)
        found, order, sizes = grouping(keys)
        states = count_groups(self._scores, piece.columns, order, sizes)
        for key, state in zip(found, states, strict=True):
            self._states[key] = self._states[key] + state if key in self._states else state
        self._counts = self._counts.plus(piece.counts)

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self._states)

    def report(self) -> Report:
        """Return the report of everything."""
        report = self._report(list(self._states))
        report.invalid = self._counts
        return report

    def parts(self) -> dict[str, dict[str, Report]]:
        """Return for each column of ``--by`` the reports of its slices."""
        out: dict[str, dict[str, Report]] = {}
        for i, name in enumerate(self._by):
            members: dict[str, list[tuple[str, ...]]] = {}
            for key in self._states:
                members.setdefault(key[i], []).append(key)
            out[name] = {value: self._report(members[value]) for value in sorted(members)}
        return out

    def _report(self, keys: list[tuple[str, ...]]) -> Report:
        self._scores.reset()
        for key in keys:
            self._scores.add_state(self._states[key])
        return self._scores.compute()
