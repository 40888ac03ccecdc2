"""Which record of the predictions belongs to which record of the references."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mycelium.cli.common import DataError
from mycelium.formats.files import Table, decode_column

__all__ = ["Pairing", "chosen_rows", "column", "find_name", "listed", "pair", "pick", "plain", "some", "with_lines"]

_NAMED = 10


@dataclass(frozen=True)
class Pairing:
    """The records that are scored, and how they belong together.

    Attributes
    ----------
    references : list of n ints
        Records of the references that are scored.
    predictions : list of m ints
        Records of the predictions that are read.
    order : list of n ints
        Index i names the place in ``predictions`` that belongs to ``references[i]``; m where there is none.
    ids : list or None
        The ids of the scored references.
    notes : tuple of str
        What the user should know of it.
    """

    references: list[int]
    predictions: list[int]
    order: list[int]
    ids: list[Any] | None
    notes: tuple[str, ...]

    @property
    def missing(self) -> int:
        """Number of references without a prediction."""
        return self.order.count(len(self.predictions))


def find_name(table: Table, wanted: str | None, candidates: Sequence[str] = (), kind: str = "") -> str | None:
    """Return the wanted column, or else the first candidate that the table has.

    Raises
    ------
    DataError
        When the wanted column is not there.
    """
    if wanted is not None:
        if wanted not in table.columns:
            raise DataError(f"{table.path}: no {kind}column {wanted!r}; it has {listed(table.columns)}")
        return wanted
    return next((name for name in candidates if name in table.columns), None)


def column(table: Table, wanted: str | None, candidates: Sequence[str], kind: str, option: str) -> Sequence[Any]:
    """Return the column that holds something, its JSON texts decoded.

    Raises
    ------
    DataError
        When there is none.
    """
    name = find_name(table, wanted, candidates, f"{kind} ")
    if name is None:
        expected = ", ".join(candidates)
        raise DataError(
            f"{table.path}: no {kind} column ({expected}); it has {listed(table.columns)}: name one with {option}"
        )
    return decode_column(table, name)


def listed(names: Mapping[str, Any]) -> str:
    """Return the first of the names for a message."""
    shown = list(names)[:_NAMED]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "") if shown else "no columns"


def plain(values: Sequence[Any]) -> list[Any]:
    """Return an Arrow column or a list as a list of Python values."""
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def pick(values: Sequence[Any], rows: list[int]) -> Sequence[Any]:
    """Return the values of some rows; all rows in order give the column itself, without a copy."""
    if rows == list(range(len(values))):
        return values
    if hasattr(values, "to_pylist") and hasattr(values, "take"):
        taken: Sequence[Any] = values.take(rows)
        return taken
    return list(map(values.__getitem__, rows))


def pair(
    references: Table,
    predictions: Table,
    *,
    id_name: str | None,
    pred_id_name: str | None,
    where: Sequence[tuple[str, str]] = (),
    missing: str = "raise",
) -> Pairing:
    """Pair by id where both have one, by order otherwise.

    Parameters
    ----------
    references, predictions : Table
        The records.
    id_name, pred_id_name : str or None
        Columns of the ids; the default is ``id``.
    where : sequence of (str, str)
        Columns of the references and the value that the scored records have there.
    missing : {"raise", "empty"}
        What to do with references that have no prediction.

    Raises
    ------
    DataError
        With a line for each problem: ids that are absent, no ids, repeated, unknown or without a prediction.
    """
    chosen = chosen_rows(references, where)
    name = find_name(references, id_name, ("id",), "id ")
    pred_name = find_name(predictions, pred_id_name or id_name, ("id",), "id ")
    if name is None or pred_name is None:
        if name is None and pred_name is None:
            lacking = "neither file has a column 'id'"
        else:
            lacking = f"{(references if name is None else predictions).path} has no column 'id'"
        return _by_order(references, predictions, chosen, lacking)
    faults: list[str] = []
    ours = _ids(references, name, faults)
    theirs = _ids(predictions, pred_name, faults)
    if faults:
        raise DataError(*some(faults))
    position = {key: row for row, key in enumerate(theirs)}
    scored = [ours[row] for row in chosen]
    known, asked = set(ours), set(scored)
    unknown = [row for row, key in enumerate(theirs) if key not in known]
    faults += some(
        [f"{predictions.where(row)}: id {theirs[row]!r}: unknown, {references.path} has no such row" for row in unknown]
    )
    absent = [row for row, key in zip(chosen, scored, strict=True) if key not in position]
    if unknown and absent and len(unknown) == len(theirs) and {str(key) for key in theirs} & {str(k) for k in known}:
        faults.append("the ids of the two files differ in type only (numbers against strings): make them the same")
    elif missing == "raise" and absent:
        faults += some(
            [f"{predictions.path}: id {ours[row]!r}: no prediction for {references.where(row)}" for row in absent]
        )
        faults.append("--missing empty counts rows without a prediction as rows where nothing was found")
    if faults:
        raise DataError(*faults)
    kept = [row for row, key in enumerate(theirs) if key in asked]
    place = {theirs[row]: i for i, row in enumerate(kept)}
    order = [place.get(key, len(kept)) for key in scored]
    notes = []
    if len(kept) < len(theirs):
        notes.append(f"{predictions.path}: {len(theirs) - len(kept)} rows are not scored, --where leaves theirs out")
    if absent:
        notes.append(f"counted {len(absent)} row{'s' * (len(absent) != 1)} without a prediction as empty")
    return Pairing(chosen, kept, order, scored, tuple(notes))


def chosen_rows(table: Table, where: Sequence[tuple[str, str]]) -> list[int]:
    """Return the records that have these values; a DataError where there are none."""
    if not len(table):
        raise DataError(f"{table.path}: holds no rows")
    rows = list(range(len(table)))
    for name, wanted in where:
        find_name(table, name)
        values = plain(table.columns[name])
        rows = [row for row in rows if _text(values[row]) == wanted]
        if not rows:
            raise DataError(f"{table.path}: no row is left where {name} is {wanted!r}")
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _by_order(references: Table, predictions: Table, chosen: list[int], lacking: str) -> Pairing:
    if len(references) != len(predictions):
        raise DataError(
            f"{lacking}, and rows cannot be paired by order:"
            f" {references.path} has {len(references)}, {predictions.path} has {len(predictions)}"
        )
    return Pairing(chosen, chosen, list(range(len(chosen))), None, (f"{lacking}: rows are paired by order",))


def _ids(table: Table, name: str, faults: list[str]) -> list[Any]:
    ids = plain(table.columns[name])
    first: dict[Any, int] = {}
    for row, key in enumerate(ids):
        if key is None or key == "":
            faults.append(f"{table.where(row)}: no {name}")
        elif type(key) is not str and type(key) is not int:
            faults.append(f"{table.where(row)}: {name} must be a string or an integer, got {key!r}")
        elif first.setdefault(key, row) != row:
            faults.append(f"{table.where(row)}: {name} {key!r}: duplicate of {table.where(first[key])}")
    return ids


def some(faults: list[str]) -> list[str]:
    """Return the first faults, and a line with the number of the others."""
    if len(faults) <= _NAMED:
        return faults
    return [*faults[:_NAMED], f"... and {len(faults) - _NAMED} more of this kind, {len(faults)} in all"]


_ROWS = re.compile(r"\brow(s?) (\d+(?:, \d+)*)")


def with_lines(message: str, table: Table, rows: list[int]) -> str:
    """Name lines of the file where a message of the library names rows of what it was given."""
    word = "row" if table.format == "parquet" else "line"

    def lines(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        if max(numbers) >= len(rows):
            return match[0]
        return f"{word}{match[1]} " + ", ".join(str(table.lines[rows[number]]) for number in numbers)

    path, reason = message[: len(table.path)], message[len(table.path) :]
    return path + _ROWS.sub(lines, reason).replace('missing_rows="empty"', "--missing-rows empty")
