"""Records from files larger than memory: the tables of :mod:`mycelium.formats.files`, a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from mycelium.formats.files import FORMATS, Table
from mycelium.formats.strict_json import DECODER, kind, reason
from mycelium.spans import IntArray

__all__ = ["Chunks", "JsonlChunks", "ParquetChunks", "Repeats", "open_chunks"]

#: Rows of a Parquet file that are decoded at a time.
_BATCH = 1 << 11
#: Bytes of a short row; the file holds it compressed, often to a hundredth.
_ROW = 256
_BOM = b"\xef\xbb\xbf"


class Chunks:
    """The records of a file, a chunk at a time.

    Attributes
    ----------
    path : str
        The file.
    total, done : int
        How much of it there is, and how much was read, both in `unit`.
    unit : str
        ``"B"`` or ``"rows"``.
    size : int
        The bytes that its records take in memory, at the least.
    """

    unit = "B"

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = Path(path).stat().st_size
        self.total = self.size
        self.done = 0

    def read(self, rows: int, size: float = float("inf")) -> Table:
        """Return the next records: so many rows, or fewer where they reach a size in bytes or the file ends.

        Raises
        ------
        ValueError
            When they cannot be read; the message begins with the file and the place.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def __enter__(self) -> Chunks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class JsonlChunks(Chunks):
    """The records of a JSONL file; see :func:`mycelium.formats.files.read_jsonl` for what a record is."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._file = open(path, "rb")  # noqa: SIM115 -- closed by close()
        if self._file.read(len(_BOM)) != _BOM:
            self._file.seek(0)
        self.done = self._file.tell()
        self._line = 0

    def read(self, rows: int, size: float = float("inf")) -> Table:
        records: list[dict[str, Any]] = []
        lines: list[int] = []
        begin = self.done
        while len(records) < rows and (not records or self.done - begin < size) and (line := self._file.readline()):
            self._line += 1
            self.done += len(line)
            if line.strip(b" \t\r\n"):
                records.append(self._decode(line))
                lines.append(self._line)
        names = dict.fromkeys(key for record in records for key in record)
        return Table(self.path, {name: [record.get(name) for record in records] for name in names}, lines, "jsonl")

    def _decode(self, line: bytes) -> dict[str, Any]:
        try:
            record: dict[str, Any] = DECODER.decode(line.rstrip(b"\r\n").decode("utf-8"))
            if type(record) is not dict:
                raise ValueError(f"expected a JSON object, got {kind(record)}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.path}:{self._line}: {reason(error)}") from None
        return record

    def close(self) -> None:
        self._file.close()


class ParquetChunks(Chunks):
    """The rows of a Parquet file."""

    unit = "rows"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise ImportError('reading Parquet needs pyarrow: pip install "mycelium-eval[arrow]"') from error
        self._pa = pyarrow
        try:
            self._file = pyarrow.parquet.ParquetFile(path)
        except pyarrow.ArrowException as error:
            raise ValueError(f"{path}: not Parquet: {error}") from None
        self.total = self._file.metadata.num_rows
        self.size = max(self.size, self.total * _ROW)
        names = self._file.schema_arrow.names
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ValueError(f"{path}: the column {name!r} stands twice")
        self._waiting = self._file.schema_arrow.empty_table()
        self._batches: Iterator[Any] = self._file.iter_batches(batch_size=_BATCH)

    def read(self, rows: int, size: float = float("inf")) -> Table:
        parts = [self._waiting]
        held, filled = len(self._waiting), self._waiting.nbytes
        try:
            while held < rows and filled < size and (batch := next(self._batches, None)) is not None:
                parts.append(self._pa.Table.from_batches([batch]))
                held += len(batch)
                filled += batch.nbytes
        except self._pa.ArrowException as error:
            raise ValueError(f"{self.path}: not Parquet: {error}") from None
        table = self._pa.concat_tables(parts)
        self._waiting = table.slice(rows)
        table = table.slice(0, rows)
        first = self.done + 1
        self.done += len(table)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return Table(self.path, columns, list(range(first, self.done + 1)), "parquet", unit="row")

    def close(self) -> None:
        self._file.close()


def open_chunks(path: str) -> Chunks | None:
    """Open a file to be read in chunks; None where it is none, or its format is only read as a whole."""
    format = FORMATS.get(Path(path).suffix.lower())
    if path == "-" or format not in ("jsonl", "parquet") or not Path(path).is_file():
        return None
    return JsonlChunks(path) if format == "jsonl" else ParquetChunks(path)


class Repeats:
    """Tell whether a stream of values may hold one twice, in eight bytes for each.

    Examples
    --------
    >>> repeats = Repeats()
    >>> repeats.add(["a", "b"])
    >>> repeats.add(["c"])
    >>> repeats.found()
    False
    """

    def __init__(self) -> None:
        self._hashes: list[IntArray] = []

    def add(self, values: Iterable[Any]) -> None:
        """Add values that have a hash."""
        self._hashes.append(np.fromiter(map(hash, values), dtype=np.int64))

    def found(self) -> bool:
        """Return whether two hashes are equal: true whenever a value repeats, and hardly ever otherwise."""
        hashes = np.sort(np.concatenate(self._hashes)) if self._hashes else np.empty(0, dtype=np.int64)
        return bool((hashes[1:] == hashes[:-1]).any())
