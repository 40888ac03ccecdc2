"""Folders of a shared task: reference files joined into one table, and what each system handed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mycelium.cli.common import DataError
from mycelium.cli.pairing import _ids, column, find_name, listed, plain, some
from mycelium.formats.files import FORMATS, Table, read_jsonl, read_table

__all__ = ["FILE", "Gold", "Submitted", "read_gold", "read_submitted", "submissions_in"]

#: The column that rows of a folder get: the name of their file without its suffix.
FILE = "file"
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Joined(Table):
    """Records of several files, one file after the other.

    Attributes
    ----------
    places : list of str
        Where each record stands.
    """

    places: Sequence[str] = ()

    def where(self, row: int) -> str:
        """Return the place of a record for messages."""
        return self.places[row]


@dataclass(frozen=True, eq=False)
class Gold:
    """The references.

    Attributes
    ----------
    table : Table
        All records.
    chosen : list of n ints
        The records that are scored; row i is record ``chosen[i]``.
    row_of : dict of id to int or None
        The row of each id; None for records that are not scored.
    ids : list of n ids
        The id of each row.
    slices : list of n str or None
        The slice of each row, None throughout where there are no slices.
    texts : list of n str, or None
        The answers.
    text_name : str or None
        The column they stand in.
    """

    table: Table
    chosen: list[int]
    row_of: dict[Any, int | None]
    ids: list[Any]
    slices: list[Any]
    texts: list[str] | None
    text_name: str | None

    def where(self, row: int) -> str:
        """Return the place of a row for messages."""
        return self.table.where(self.chosen[row])


@dataclass(eq=False)
class Submitted:
    """What a system handed in.

    Attributes
    ----------
    rows : list of n span sets
        Row i belongs to reference i; None where there is nothing.
    places : dict of int to str
        Where row i stands.
    refused : dict of slice to str
        Slices in which the system cannot be scored, and why.
    """

    rows: list[Any]
    places: dict[int, str] = field(default_factory=dict)
    refused: dict[Any, str] = field(default_factory=dict)


def read_gold(path: str, id_name: str | None) -> tuple[Table, list[Any]]:
    """Read the references from a file, or from all files of a folder; return also their ids.

    Raises
    ------
    DataError
        When the folder holds no file that can be read, there is no id, or ids are absent or repeated.
    """
    folder = Path(path)
    if not folder.is_dir() or (folder / "response.jsonl").is_file():
        table = read_table(path)
    else:
        files, _ = _files(folder)
        if not files:
            raise DataError(f"{path}: holds no file of references; known are {', '.join(FORMATS)}")
        table = _joined(path, [(file.stem, read_table(file)) for file in files])
    if not len(table):
        raise DataError(f"{path}: holds no rows")
    name = find_name(table, id_name, ("id",), "id ")
    if name is None:
        raise DataError(f"{path}: no column 'id'; it has {listed(table.columns)}: name one with --id")
    faults: list[str] = []
    ids = _ids(table, name, faults)
    if faults:
        raise DataError(*some(faults))
    return table, ids


def _joined(path: str, tables: Sequence[tuple[str, Table]]) -> Table:
    names = dict.fromkeys(name for _, table in tables for name in table.columns)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for _, table in tables:
        for name in names:
            columns[name] += plain(table.columns[name]) if name in table.columns else [None for _ in table.lines]
    if FILE not in names:
        columns[FILE] = [stem for stem, table in tables for _ in table.lines]
    places = [table.where(row) for _, table in tables for row in range(len(table))]
    format = "csv" if all(table.format in ("csv", "tsv") for _, table in tables) else "jsonl"
    return Joined(path, dict(columns), list(range(1, len(places) + 1)), format, places=places)


def _files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of a folder that can be read, and remarks on what else stands there."""
    files, remarks = [], []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_file() and entry.suffix.lower() in FORMATS:
            files.append(entry)
        else:
            remarks.append(
                f"{entry}: not read, {'a folder' if entry.is_dir() else 'no format is known for its suffix'}"
            )
    return files, remarks


def submissions_in(path: str) -> tuple[dict[str, list[Path]], list[str]]:
    """Return the files of each system in a folder, and remarks on what is not read.

    Raises
    ------
    DataError
        When there are none, or a file and a folder bear the name of one system.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(
            f"{path}: {'no folder' if folder.exists() else 'no such folder'}, expected one with the systems"
        )
    systems: dict[str, list[Path]] = {}
    alone, remarks = _files(folder)
    for entry in sorted(folder.iterdir()):
        if entry in alone:
            name, files = entry.stem, [entry]
        elif entry.is_dir() and not entry.name.startswith("."):
            name = entry.name
            files, more = _files(entry)
            remarks = [remark for remark in remarks if not remark.startswith(f"{entry}: ")] + more
            if not files:
                remarks.append(f"{entry}: holds no file of predictions")
        else:
            continue
        if name in systems:
            raise DataError(f"{entry}: there is another entry for the system {name!r}; rename one of them")
        systems[name] = files
    if not systems:
        raise DataError(f"{path}: holds no systems, neither SYSTEM.jsonl nor SYSTEM/ with files")
    return systems, remarks


def read_submitted(
    files: Iterable[Path],
    gold: Gold,
    *,
    id_name: str | None,
    spans: str | None,
    candidates: Sequence[str],
    missing: str,
) -> tuple[Submitted, list[tuple[Table, str, list[int]]]]:
    """Read the files of one system; faults refuse it in the slices concerned and nowhere else.

    Parameters
    ----------
    files : paths
        The files, joined by the ids of their rows.
    gold : Gold
        The references.
    id_name, spans : str or None
        Columns of ids and spans.
    candidates : sequence of str
        Columns that spans are looked for in otherwise.
    missing : {"raise", "empty"}
        Whether a slice of which some rows are missing is refused.

    Returns
    -------
    submitted : Submitted
        The predictions.
    other_texts : list of (Table, str, list of int)
        Records whose text is not that of the reference.
    """
    out = Submitted([None for _ in gold.ids])
    faults: list[tuple[list[str], set[Any]]] = []
    reasons: dict[Any, list[str]] = {}
    other_texts = []
    for file in files:
        table, found = _read(file)
        touched: set[Any] = set()
        if table is not None and len(table):
            try:
                name = find_name(table, id_name, ("id",), "id ")
                if name is None:
                    raise DataError(f"{file}: no column 'id'; it has {listed(table.columns)}")
                sets = plain(column(table, spans, candidates, "span", "--spans"))
            except (DataError, ValueError) as error:
                found += str(error).split("\n")
            else:
                keys = plain(table.columns[name])
                touched = _place(out, gold, table, keys, sets, found, reasons)
                other_texts += _other_texts(gold, table, keys)
        elif not found:
            found.append(f"{file}: holds no rows")
        if found:
            faults.append((found, touched))
    lacking: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    for row, spans_of in enumerate(out.rows):
        sizes[gold.slices[row]] = sizes.get(gold.slices[row], 0) + 1
        if spans_of is None:
            lacking.setdefault(gold.slices[row], []).append(row)
    for found, touched in faults:
        # A line that cannot be read, or an unknown id, stands for a row that is now missing.
        concerned = touched & set(lacking) or touched or set(lacking) or set(sizes)
        for key in concerned:
            reasons.setdefault(key, []).extend(found)
    for key, rows in lacking.items():
        if missing == "raise" and len(rows) < sizes[key]:
            first = rows[0]
            reasons.setdefault(key, []).append(
                f"{len(rows)} of {sizes[key]} rows {'has' if len(rows) == 1 else 'have'} no prediction,"
                f" the first is id {gold.ids[first]!r} ({gold.where(first)})"
            )
    out.refused = {key: _shortened(reasons[key]) for key in reasons}
    return out, other_texts


def _read(file: Path) -> tuple[Table | None, list[str]]:
    """Read a file as far as that can be done, and return what is wrong with it."""
    faults: list[str] = []
    try:
        if FORMATS[file.suffix.lower()] != "jsonl":
            return read_table(file), faults
        records = read_jsonl(file, problems=faults)
    except (OSError, ValueError) as error:
        return None, [str(error)]
    names = dict.fromkeys(key for _, record in records for key in record)
    columns = {name: [record.get(name) for _, record in records] for name in names}
    return Table(str(file), dict(columns), [number for number, _ in records]), faults


def _place(
    out: Submitted,
    gold: Gold,
    table: Table,
    keys: list[Any],
    sets: list[Any],
    faults: list[str],
    reasons: dict[Any, list[str]],
) -> set[Any]:
    """Put the rows of a file where they belong; return the slices they belong to."""
    touched = set()
    for i, (key, spans) in enumerate(zip(keys, sets, strict=True)):
        if type(key) not in (str, int) or key not in gold.row_of:
            what = f"id {key!r}: unknown, {gold.table.path} has no such row" if key not in (None, "") else "no id"
            if type(key) in (str, int) and {str(key), _number(key)} & set(gold.row_of):
                what += "; it differs from one in type only (numbers against strings)"
            faults.append(f"{table.where(i)}: {what}")
            continue
        row = gold.row_of[key]
        if row is None:
            continue
        touched.add(gold.slices[row])
        if row in out.places:
            reasons.setdefault(gold.slices[row], []).append(
                f"{table.where(i)}: id {key!r}: duplicate of {out.places[row]}"
            )
            continue
        out.places[row] = table.where(i)
        out.rows[row] = spans
    return touched


def _number(key: Any) -> Any:
    try:
        return int(key)
    except ValueError:
        return key


def _other_texts(gold: Gold, table: Table, keys: list[Any]) -> list[tuple[Table, str, list[int]]]:
    if gold.texts is None or gold.text_name is None or gold.text_name not in table.columns:
        return []
    own = plain(table.columns[gold.text_name])
    rows = [gold.row_of.get(key) if type(key) in (str, int) else None for key in keys]
    other = [
        i
        for i, (row, text) in enumerate(zip(rows, own, strict=True))
        if row is not None and isinstance(text, str) and text != gold.texts[row]
    ]
    return [(table, gold.text_name, other)] if other else []


def _shortened(reasons: list[str]) -> str:
    more = f"; and {len(reasons) - _NAMED} more" if len(reasons) > _NAMED else ""
    return "; ".join(reasons[:_NAMED]) + more
