"""Records from files, exactly as they stand there.

One reader for every entrance that takes a path: the command line, the corpora and the protocols. It changes nothing:
identifiers stay what the file says (``"001"`` is not 1, nineteen digits stay nineteen), text keeps its white space,
and a record of a JSONL file ends at a line feed only, because U+2028, U+0085 and their like are legal inside strings.
Whatever cannot be read is refused with the file and the line.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelium.formats.strict_json import DECODER, decode_cells, items, kind, line_of, reason, space

__all__ = ["FORMATS", "Table", "decode_column", "read_jsonl", "read_table", "write_text"]

Source = str | os.PathLike[str]

#: Formats that :func:`read_table` knows, by the suffix of a file.
FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class Table:
    """The records of a file, column by column.

    Attributes
    ----------
    path : str
        The file that messages name.
    columns : dict of str to sequence
        One entry for each record; None where the record lacks the key or holds a null. Lists for text formats, whose
        cells are strings in CSV and TSV; Arrow columns for Parquet.
    lines : list of int
        Line (from 1) on which each record begins, or its number where the format has no lines.
    format : str
        One of ``"jsonl"``, ``"json"``, ``"csv"``, ``"tsv"``, ``"parquet"``.
    unit : str
        What `lines` counts: ``"line"``, ``"row"`` of a Parquet file, ``"entry"`` of the lists in a JSON object.
    """

    path: str
    columns: dict[str, Sequence[Any]]
    lines: list[int]
    format: str = "jsonl"
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.lines)

    def where(self, row: int) -> str:
        """Return the place of a record for messages: ``"PATH:LINE"``, or ``"PATH, row N"`` where there are no lines."""
        number = self.lines[row]
        return f"{self.path}:{number}" if self.unit == "line" else f"{self.path}, {self.unit} {number}"


def read_jsonl(source: Source, *, problems: list[str] | None = None) -> list[tuple[int, dict[str, Any]]]:
    r"""Read a file of one JSON object a line.

    Parameters
    ----------
    source : path or "-"
        ``"-"`` is standard input. UTF-8, with or without a byte order mark. A record ends at ``"\n"`` only, a
        carriage return before it is white space; blank lines are skipped.
    problems : list of str, optional
        Given a list, every line that cannot be read adds one message to it and is left out, instead of the first one
        raising: for programs that report all faults of a file.

    Returns
    -------
    list of (int, dict)
        Line number, from 1, and record. Values are what :mod:`json` makes of them, the tokens NaN and Infinity
        included: they stand in fields that nobody scores (logits), and a span that holds one is refused later.

    Raises
    ------
    ValueError
        ``"PATH:LINE: reason"``, when a line is not UTF-8, not JSON, not an object, or gives a key twice in one object.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.jsonl")
    ...     _ = path.write_text('{"id": "001"}\n\n{"id": "1"}\n')
    ...     read_jsonl(path)
    [(1, {'id': '001'}), (3, {'id': '1'})]
    """
    path = _name(source)
    records: list[tuple[int, dict[str, Any]]] = []
    decode = DECODER.decode
    for number, line in enumerate(io.BytesIO(_read_bytes(source)), start=1):
        if not line.strip(b" \t\r\n"):
            continue
        try:
            # Without the line's own end, whose column in a message would be that of a next line.
            record = decode(line.rstrip(b"\r\n").decode("utf-8"))
            if type(record) is not dict:
                raise ValueError(f"expected a JSON object, got {kind(record)}")
        except (ValueError, RecursionError) as error:
            message = f"{path}:{number}: {reason(error)}"
            if problems is None:
                raise ValueError(message) from None
            problems.append(message)
        else:
            records.append((number, record))
    return records


def read_table(source: Source, *, format: str | None = None) -> Table:
    """Read the records of a file, or of a RAGTruth folder, into columns.

    Parameters
    ----------
    source : path or "-"
        * ``.jsonl``, ``.ndjson``: one object a line, see :func:`read_jsonl`;
        * ``.json``: a list of objects, or an object of lists of one length;
        * ``.csv``, ``.tsv``: a header, then records; every cell is a string, see :func:`decode_column` for those that
          hold JSON;
        * ``.parquet``: Arrow columns, needs pyarrow;
        * a folder: RAGTruth's ``response.jsonl``, with ``task_type`` and ``source`` joined from ``source_info.jsonl``
          by ``source_id``.
        ``"-"`` is standard input, JSONL unless `format` says otherwise.
    format : {"jsonl", "json", "csv", "tsv", "parquet"}, optional
        Overrides the suffix.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        When the file, or one of RAGTruth's two files, is missing; the message names the expected path.
    ValueError
        When the format is unknown or the content cannot be read; the message begins with the file and the line.
    ImportError
        For Parquet without pyarrow.
    """
    if format is not None and format not in FORMATS.values():
        raise ValueError(f"format must be one of {', '.join(map(repr, _names()))}, got {format!r}")
    if source != "-" and Path(source).is_dir():
        if format is not None:
            raise ValueError(f"{source}: a folder is read as RAGTruth's, it has no format {format!r}")
        return _read_ragtruth(Path(source))
    if format is None:
        suffix = Path(source).suffix.lower()
        format = "jsonl" if source == "-" else FORMATS.get(suffix)
        if format is None:
            _check_exists(source)
            raise ValueError(f"{source}: no format is known for the suffix {suffix!r}; known are {', '.join(FORMATS)}")
    if format == "jsonl":
        rows = read_jsonl(source)
        return Table(_name(source), _columns([record for _, record in rows]), [n for n, _ in rows], format)
    if format == "json":
        return _read_json(source)
    if format == "parquet":
        return _read_parquet(source)
    return _read_csv(source, format)


def decode_column(table: Table, name: str) -> Sequence[Any]:
    """Return a column with its JSON texts decoded.

    The span cells of CSV and TSV files hold JSON, and so do string columns of some published corpora in other formats.
    Cells that are no strings, as in JSONL and Parquet, are returned as they are.

    Parameters
    ----------
    table : Table
        The records.
    name : str
        A column of the table.

    Returns
    -------
    sequence
        The column itself when no cell is a string. An empty cell of CSV or TSV is None: not annotated. Arrow's JSON
        type, and lists of it, are decoded too.

    Raises
    ------
    KeyError
        When there is no such column.
    ValueError
        ``"PATH:LINE: column 'NAME': reason"``, when a cell is not JSON.
    """
    return decode_cells(table.columns[name], name, table.where, blank_is_none=table.format in ("csv", "tsv"))


def write_text(path: Source | None, text: str) -> None:
    """Write text as UTF-8 to a file, whole or not at all, or to standard output (None or ``"-"``)."""
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    target = Path(path)
    if target.is_symlink() or (target.exists() and not target.is_file()):
        # A pipe, a device or a link must stay what it is.
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


# -- JSON


def _read_json(source: Source) -> Table:
    path, text = _name(source), _read_text(source)
    begin = space(text, 0)
    if text[begin : begin + 1] == "[":
        records, lines = [], []
        for line, record in items(path, text, begin + 1):
            if type(record) is not dict:
                raise ValueError(f"{path}:{line}: expected a JSON object, got {kind(record)}")
            records.append(record)
            lines.append(line)
        return Table(path, _columns(records), lines, "json")
    try:
        columns = DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}:{line_of(error)}: {reason(error)}") from None
    if type(columns) is not dict:
        raise ValueError(f"{path}:1: expected a list of objects or an object of lists, got {kind(columns)}")
    for name, column in columns.items():
        if type(column) is not list:
            raise ValueError(f"{path}:1: expected a list of objects or an object of lists, {name!r} is {kind(column)}")
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        raise ValueError(f"{path}:1: the lists of an object of lists must have one length: {shown}")
    return Table(path, columns, list(range(1, max(sizes.values(), default=0) + 1)), "json", unit="entry")


def _columns(records: Sequence[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    names = dict.fromkeys(key for record in records for key in record)
    return {name: [record.get(name) for record in records] for name in names}


# -- CSV and TSV


def _read_csv(source: Source, format: str) -> Table:
    path, text = _name(source), _read_text(source)
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter="\t" if format == "tsv" else ",", strict=True)
    header: list[str] | None = None
    rows: list[list[str]] = []
    lines: list[int] = []
    # The module's limit of 131,072 characters a cell is global; contexts of retrieval corpora pass it.
    limit = csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)
    try:
        line = 1
        for row in reader:
            if header is None:
                header = _header(path, row, line) if row else None
            elif row:
                if len(row) != len(header):
                    raise ValueError(f"{path}:{line}: {len(row)} cells, the header has {len(header)}")
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: not {format.upper()}: {error}") from None
    finally:
        csv.field_size_limit(limit)
    names = header or []
    return Table(path, {name: [row[i] for row in rows] for i, name in enumerate(names)}, lines, format)


def _header(path: str, row: list[str], line: int) -> list[str]:
    for i, name in enumerate(row):
        if name in row[:i]:
            raise ValueError(f"{path}:{line}: the column {name!r} stands twice in the header")
    return row


# -- Parquet


def _read_parquet(source: Source) -> Table:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('reading Parquet needs pyarrow: pip install "mycelium-eval[arrow]"') from error
    data = io.BytesIO(_read_bytes(source)) if source == "-" else _check_exists(source)
    try:
        # Not parquet.read_table: it adds columns that it finds in the names of folders ("lang=en/").
        with pyarrow.parquet.ParquetFile(data) as file:
            table = file.read()
    except pyarrow.ArrowException as error:
        raise ValueError(f"{_name(source)}: not Parquet: {error}") from None
    names = table.column_names
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"{_name(source)}: the column {name!r} stands twice")
    return Table(
        _name(source),
        dict(zip(names, table.columns, strict=True)),
        list(range(1, len(table) + 1)),
        "parquet",
        unit="row",
    )


# -- RAGTruth


def _read_ragtruth(folder: Path) -> Table:
    responses, sources = folder / "response.jsonl", folder / "source_info.jsonl"
    for file in (responses, sources):
        if not file.is_file():
            raise FileNotFoundError(
                f"{file}: no such file; a folder is read as RAGTruth's, with {responses.name} and {sources.name}"
            )
    joined = ("task_type", "source")
    known: dict[Any, dict[str, Any]] = {}
    for number, record in read_jsonl(sources):
        key = _source_id(sources, number, record)
        if key in known:
            raise ValueError(f"{sources}:{number}: the source_id {key!r} stands twice")
        known[key] = {name: record.get(name) for name in joined}
    rows = read_jsonl(responses)
    merged = []
    for number, record in rows:
        key = _source_id(responses, number, record)
        if key not in known:
            raise ValueError(
                f"{responses}:{number}: the response with id {record.get('id')!r} has source_id {key!r}, "
                f"which {sources} lacks"
            )
        merged.append({**record, **known[key]})
    return Table(str(responses), _columns(merged), [number for number, _ in rows], "jsonl")


def _source_id(path: Path, number: int, record: dict[str, Any]) -> str | int:
    key = record.get("source_id")
    if type(key) is str or type(key) is int:
        return key
    raise ValueError(f"{path}:{number}: source_id must be a string or an integer, got {key!r}")


# -- bytes and names


def _name(source: Source) -> str:
    return "<stdin>" if source == "-" else os.fspath(source)


def _names() -> list[str]:
    return list(dict.fromkeys(FORMATS.values()))


def _check_exists(source: Source) -> str:
    path = os.fspath(source)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such file")
    return path


def _read_bytes(source: Source) -> bytes:
    if source == "-":
        data = sys.stdin.buffer.read()
    else:
        data = Path(_check_exists(source)).read_bytes()
    return data.removeprefix(_BOM)


def _read_text(source: Source) -> str:
    data = _read_bytes(source)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1)
        raise ValueError(f"{_name(source)}:{line}: not UTF-8: {error.reason} (byte {column + 1})") from None
