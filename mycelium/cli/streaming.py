"""Two large files side by side: chunks of rows that belong together, scored in constant memory."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

from mycelium.cli.common import DataError, complain
from mycelium.cli.pairing import find_name, pair, plain
from mycelium.cli.pieces import TEXT, OtherTexts, Scored, Sums, read_piece, span_columns
from mycelium.formats.chunks import Chunks, Repeats, open_chunks
from mycelium.formats.files import Table
from mycelium.progress import progress

__all__ = ["score_in_step"]

#: Files that are smaller together (in bytes) are read as a whole, which finds all faults at once.
SMALL = 1 << 25
#: Rows of a chunk, and the bytes of the references at which it ends sooner.
ROWS, SIZE = 1 << 14, 1 << 26


class OutOfStep(Exception):
    """The files cannot be read side by side; the text says why."""


def score_in_step(args: argparse.Namespace) -> Scored | None:
    """Score large files whose rows stand in the same order; None for others, which are to be read as a whole.

    Raises
    ------
    DataError
        When the data cannot be scored. Rows that come after are not looked at then.
    """
    if args.per_example is not None:
        return None
    with ExitStack() as stack:
        files = []
        for source in (args.references, args.predictions):
            file = open_chunks(source)
            if file is None:
                return None
            files.append(stack.enter_context(file))
        if files[0].size + files[1].size < SMALL:
            return None
        if args.typed and args.types is None:
            complain("--types is not given, so all types must be known first: the files are read as a whole")
            return None
        run = _Run(args, *files)
        try:
            return run.scored()
        except OutOfStep as reason:
            complain(f"{reason}: the files are read as a whole")
            return None


class _Run:
    """Two files on their way through."""

    def __init__(self, args: argparse.Namespace, references: Chunks, predictions: Chunks) -> None:
        self._args = args
        self._references = references
        self._predictions = predictions
        self._sums = Sums(args)
        self._repeats = Repeats()
        self._other_texts = OtherTexts()
        self._known: tuple[dict[str, None], dict[str, None]] = {}, {}
        self._columns: list[Any] | None = None
        self._notes: tuple[str, ...] = ()
        self._rows = 0
        self._left_out = 0
        self._passed = 0

    def scored(self) -> Scored:
        """Read to the end, and return what is to be printed."""
        try:
            file, done = self._references, 0
            with progress(file.total, Path(file.path).name, file.unit) as advance:
                while len(ours := file.read(ROWS, SIZE)):
                    self._add(ours, self._predictions.read(len(ours)))
                    advance(file.done - done)
                    done = file.done
        except DataError as error:
            self._other_texts.complain()
            if self._references.done == self._references.total:
                raise
            raise DataError(*error.lines, f"rows after the first {self._rows:,} were not looked at") from None
        name, more = self._predictions.path, len(self._predictions.read(1))
        if more:
            raise OutOfStep(f"{name} has more rows than {self._references.path}")
        if self._repeats.found():
            raise OutOfStep("some ids may stand there twice")
        if self._passed < len(self._args.where):
            column, value = self._args.where[self._passed]
            raise DataError(f"{self._references.path}: no row is left where {column} is {value!r}")
        if not self._sums:
            raise OutOfStep("there are no rows")
        self._other_texts.complain()
        notes = list(self._notes)
        if self._left_out:
            notes.append(f"{name}: {self._left_out} rows are not scored, --where leaves theirs out")
        return Scored(self._sums.report(), self._sums.parts(), notes)

    def _add(self, ours: Table, theirs: Table) -> None:
        args = self._args
        self._rows += len(ours)
        if len(theirs) < len(ours):
            raise OutOfStep(f"{self._predictions.path} has fewer rows than {self._references.path}")
        ours, theirs = (_completed(table, names) for table, names in zip((ours, theirs), self._known, strict=True))
        columns = _columns(args, ours, theirs)
        # A column of a JSONL file is one that any record has.
        if "jsonl" in (ours.format, theirs.format) and (None in columns or columns != (self._columns or columns)):
            raise OutOfStep("not all columns are there from the first rows on")
        self._columns = columns
        id_name, pred_id_name = columns[:2]
        ids: list[Any] = []
        if id_name and pred_id_name:
            ids = plain(ours.columns[id_name])
            if ids != plain(theirs.columns[pred_id_name]):
                raise OutOfStep(f"the rows of {self._predictions.path} are not in the order of {self._references.path}")
        passed = _passed(ours, args.where)
        self._passed = max(self._passed, passed)
        # Without conditions, so that the ids of all rows are checked.
        everything = pair(ours, theirs, id_name=args.id, pred_id_name=args.pred_id)
        self._repeats.add(ids)
        if passed == len(args.where):
            pairing = everything
            if args.where:
                pairing = pair(ours, theirs, id_name=args.id, pred_id_name=args.pred_id, where=args.where)
            self._sums.add(read_piece(args, ours, theirs, pairing, self._other_texts))
            scored = len(pairing.references)
        else:
            scored = 0
        if ids:
            self._left_out += len(ids) - scored
        else:
            self._notes = everything.notes


def _completed(table: Table, known: dict[str, None]) -> Table:
    """Return the table with all columns that were seen so far, None where it has none of them."""
    known.update(dict.fromkeys(table.columns))
    if len(known) == len(table.columns):
        return table
    nothing = list(repeat(None, len(table)))
    return replace(table, columns={name: table.columns.get(name, nothing) for name in known})


def _columns(args: argparse.Namespace, ours: Table, theirs: Table) -> list[Any]:
    """Return the columns that are read: None stands for one that must be there and is not, "" for others not there."""

    def find(table: Table, wanted: str | None, candidates: tuple[str, ...], absent: str | None = None) -> str | None:
        if wanted is not None:
            return wanted if wanted in table.columns else None
        return next((name for name in candidates if name in table.columns), absent)

    found: list[Any] = [find(ours, args.id, ("id",), ""), find(theirs, args.pred_id or args.id, ("id",), "")]
    for _, name, pred_name, candidates, _, _ in span_columns(args):
        found += [find(ours, name, candidates), find(theirs, pred_name, candidates)]
    text = find(ours, args.text, TEXT, "")
    found += [text, text in theirs.columns]
    found += [find(ours, name, ()) for name, _ in args.where]
    found += [name in ours.columns or (True if name in theirs.columns else None) for name in args.by]
    return found


def _passed(table: Table, where: list[tuple[str, str]]) -> int:
    """Return how many of the conditions some row fulfils, counted from the first one on."""
    rows = list(range(len(table)))
    for i, (name, wanted) in enumerate(where):
        find_name(table, name)
        values = plain(table.columns[name])
        rows = [row for row in rows if str(values[row]) == wanted]
        if not rows:
            return i
    return len(where)
