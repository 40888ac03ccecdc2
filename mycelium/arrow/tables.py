"""Tables of statistics: keys, the settings, and sums as 64-bit integers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from mycelium._version import __version__
from mycelium.accumulators import accumulator, options_of
from mycelium.arrow.batches import aggregate, key_column
from mycelium.report import Report
from mycelium.scoring import Accumulator
from mycelium.states import settled

__all__ = ["SETTINGS", "Sums", "add_up", "reports", "settings_of", "sum_names", "table_of"]

#: The column of the settings.
SETTINGS = "mycelium"
#: So many rows are gathered before they are added up.
_AT_ONCE = 1 << 14


def settings_of(scores: Accumulator) -> str:
    """Write down what makes an equal accumulator; equal settings give equal text."""
    return json.dumps({"version": __version__, **options_of(scores)}, sort_keys=True, separators=(",", ":"))


@lru_cache(maxsize=64)
def sum_names(settings: str) -> tuple[str, ...]:
    """Return the names of the sums under these settings."""
    return _scores(settings).state_names


def table_of(keys: Mapping[str, Any], settings: str, states: Any) -> pa.Table:
    """Return the table of states (g, s) and their keys."""
    columns = {**keys, SETTINGS: pa.repeat(settings, len(states))}
    return pa.table(columns | dict(zip(sum_names(settings), map(pa.array, states.T), strict=True)))


def add_up(table: pa.Table, keys: Sequence[str], names: Sequence[str]) -> pa.Table:
    """Add up the rows with the same keys."""
    if not len(table):
        return table
    found, sums = aggregate(table.select(keys), {name: table.column(name) for name in names}, "sum")
    return pa.table(found | dict(zip(names, sums, strict=True)))


def reports(table: pa.Table, settings: str) -> list[Report]:
    """Return the report of each row of sums."""
    scores = _scores(settings)
    out = []
    for state in _matrix(table, scores.state_names):
        scores.reset()
        scores.add_state(state)
        out.append(scores.compute())
    return out


class Sums:
    """The running sum of tables of statistics, which must agree in settings and keys.

    Parameters
    ----------
    settings : str, optional
        The settings; by default those that the first table brings along.
    """

    def __init__(self, settings: str | None) -> None:
        self._settings = settings
        self._keys: list[str] | None = None
        self._parts: list[pa.Table] = []
        self._waiting = 0
        self._empty: pa.Table | None = None

    def add(self, table: pa.Table) -> None:
        """Add the rows of a table.

        Raises
        ------
        TypeError, ValueError
            When they are no statistics, or none of these settings and keys.
        """
        settings = self._find_settings(table)
        if settings is None:
            self._empty = table
            return
        part = self._checked(table, settings)
        self._parts.append(part)
        self._waiting += len(part)
        if self._waiting > _AT_ONCE + len(self._parts[0]):
            self._parts = [self._added(settings)]
            self._waiting = 0

    def total(self) -> pa.Table:
        """Return the sums for each key, sorted.

        Raises
        ------
        ValueError
            When no table was added.
        """
        if self._settings is None or self._keys is None:
            if self._empty is None:
                raise ValueError("there are no tables to merge")
            return self._empty
        summed = self._added(self._settings)
        if self._keys:
            summed = summed.sort_by([(name, "ascending") for name in self._keys])
        keys = {name: summed.column(name) for name in self._keys}
        states = _matrix(summed, sum_names(self._settings))
        return table_of(keys, self._settings, settled(_scores(self._settings), states))

    def _find_settings(self, table: pa.Table) -> str | None:
        """Return the settings; None where there are no rows that could tell."""
        if SETTINGS in table.column_names:
            for found in table.column(SETTINGS).unique().to_pylist():
                if found is None:
                    raise ValueError(f"column {SETTINGS!r}: some rows have no settings")
                if self._settings is not None and found != self._settings:
                    here, there = (_scores(settings).settings.signature() for settings in (self._settings, found))
                    raise ValueError(f"statistics of different settings cannot be added: {here} and {there}")
                self._settings = found
        elif self._settings is None:
            raise ValueError(
                f"there is no column {SETTINGS!r} with the settings; where it was lost, give the options again"
                " (metrics=None for the default)"
            )
        return self._settings

    def _checked(self, table: pa.Table, settings: str) -> pa.Table:
        """Return keys and sums, in the types that they have here."""
        names = sum_names(settings)
        present = table.column_names
        there = set(present)
        lacking = [name for name in names if name not in there]
        if lacking:
            raise ValueError(f"the table holds no statistics of these settings: it lacks the column {lacking[0]!r}")
        if len(there) < len(present):
            raise ValueError("the table has two columns of the same name")
        known = {SETTINGS, *names}
        keys = [name for name in present if name not in known]
        if self._keys is None:
            self._keys = keys
        if sorted(keys) != sorted(self._keys):
            shown = " and ".join(", ".join(some) or "none" for some in (self._keys, keys))
            raise ValueError(f"the tables have different keys: {shown}")
        columns = {name: key_column(table.column(name), name) for name in self._keys}
        return pa.table(columns | {name: _integers(table.column(name), name) for name in names})

    def _added(self, settings: str) -> pa.Table:
        assert self._keys is not None
        # Permissive: a key may be null in a whole table, or of 32 bits in one and of 64 in another.
        together = pa.concat_tables(self._parts, promote_options="permissive")
        return add_up(together, self._keys, sum_names(settings))


def _scores(settings: str) -> Accumulator:
    options = json.loads(settings)
    version = options.pop("version")
    if version != __version__:
        raise ValueError(
            f"the statistics are of mycelium {version}, this is {__version__}: count again with one version"
        )
    return accumulator(**options)


def _integers(column: Any, name: str) -> Any:
    if column.null_count:
        raise ValueError(f"column {name!r}: a sum is null")
    if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.int64())  # some engines widen sums
    raise TypeError(f"column {name!r} is of type {column.type}, expected 64-bit integers")


def _matrix(table: pa.Table, names: Sequence[str]) -> Any:
    """Return the sums as an integer array, one row for each of the table."""
    columns = [table.column(name).combine_chunks() for name in names]
    return pa.concat_arrays(columns).to_numpy().reshape(len(names), -1).T
