"""What is kept of examples beyond their totals: the statistics of each, or the sums of each group, for resampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.additive import Additive, Rows, additive
from mycelium.draws import Units, sum_by_unit
from mycelium.settings import Settings
from mycelium.spans import FloatArray, IntArray

__all__ = ["Keeper", "Kept", "averages", "unit_sums"]

FROM_STATES = "what add_state() adds has totals only; update one accumulator, or merge several"
FROM_UPDATES = "give Accumulator keep_statistics=True; for intervals it is enough that its updates name groups"
_NOBODY = np.empty(0, dtype=np.int64)


class Kept(NamedTuple):
    """What a report holds of its examples.

    Attributes
    ----------
    rows : Rows or None
        The statistics of every example.
    units : Units or None
        The groups that were named. With ``rows`` its index tells the group of each, with ``sums`` it is empty.
    sums : float64 array of shape (u, k) or None
        Where there are no rows, what each group adds to the averages: columns as in :func:`unit_sums`.
    reason : str
        What a message says where rows are lacking: what would keep them.
    """

    rows: Rows | None = None
    units: Units | None = None
    sums: FloatArray | None = None
    reason: str = FROM_UPDATES

    def without_rows(self, settings: Settings, reason: str) -> Kept:
        """Return the same with the sums of groups in the place of rows."""
        if self.rows is None or self.units is None:
            return Kept(None, self.units, self.sums, reason)
        statistics = [self.rows.statistics(number) for number in range(len(settings.metrics))]
        sums = unit_sums(settings, statistics, self.units, self.rows.weights)
        return Kept(None, Units(_NOBODY, self.units.size, self.units.keys), sums, reason)

    def of_metrics(self, settings: Settings, numbers: Sequence[int]) -> Kept:
        """Return what is kept of some of the metrics."""
        if self.rows is not None:
            rows = Rows()
            rows.blocks = [[block[number] for number in numbers] for block in self.rows.blocks]
            rows.weights = self.rows.weights
            return self._replace(rows=rows)
        if self.sums is None:
            return self
        parts = [average.sums for average in averages(settings, self.sums)]
        return self._replace(sums=np.concatenate([*(parts[number] for number in numbers), self.sums[:, -1:]], axis=1))

    def part(
        self, chosen: IntArray, statistics: Sequence[NDArray[Any]]
    ) -> tuple[Kept, list[NDArray[Any]], IntArray | FloatArray | None]:
        """Return what is kept of some rows, their statistics and their weights, given the statistics of all rows."""
        assert self.rows is not None
        rows = Rows()
        rows.blocks = [[counted[chosen] for counted in statistics]]
        rows.weights = None if self.rows.weights is None else self.rows.weights[chosen]
        units = self.units
        if units is not None and units.keys is not None:
            present, index = np.unique(units.index[chosen], return_inverse=True)
            units = Units(index.reshape(-1), len(present), tuple(units.keys[i] for i in present.tolist()))
        return Kept(rows, units, None, self.reason), rows.blocks[0], rows.weights


def unit_sums(
    settings: Settings, statistics: Sequence[NDArray[Any]], units: Units, weights: IntArray | FloatArray | None
) -> FloatArray:
    """Return the sums (u, k) from which all averages are replicated: those of each metric side by side, and weights.

    Parameters
    ----------
    settings : Settings
        The metrics and the average.
    statistics : sequence of arrays of shape (n, k)
        The statistics of the n examples, one array for each metric.
    units : Units
        Which examples are drawn together.
    weights : array of shape (n,) or None
        The weights of the examples. The last column has their sum, or the number of examples.
    """
    parts = [
        additive(metric, settings.average, settings.undefined, counted, units, weights).sums
        for (_, metric), counted in zip(settings.metrics, statistics, strict=True)
    ]
    ones = np.ones((len(statistics[0]), 1))
    return np.concatenate([*parts, sum_by_unit(ones, units, weights)], axis=1)


def averages(settings: Settings, sums: FloatArray) -> list[Additive]:
    """Return the averages of the metrics, given what :func:`unit_sums` returned."""
    out: list[Additive] = []
    begin = 0
    nothing = Units(_NOBODY, 0)
    for _, metric in settings.metrics:
        none = np.zeros((0, len(metric.columns)), dtype=np.int64)
        average = additive(metric, settings.average, settings.undefined, none, nothing)
        end = begin + average.sums.shape[1]
        out.append(average._replace(sums=sums[:, begin:end]))
        begin = end
    return out


class Keeper:
    """Keeps what comes in, update after update.

    Parameters
    ----------
    settings : Settings
        The metrics and the average.
    rows : bool
        Whether to keep the statistics of every example. Otherwise the sums of groups are kept, where groups are named.
    """

    def __init__(self, settings: Settings, rows: bool) -> None:
        self._settings = settings
        self._keeps_rows = rows
        self._blocks: list[list[NDArray[Any]]] = []
        self._weights: list[tuple[int, IntArray | FloatArray | None]] = []
        #: Each group has a number, in the order in which they come.
        self._numbers: dict[Any, int] = {}
        self._index: list[IntArray] = []
        self._sums: FloatArray | None = None
        #: Whether groups are named; None as long as there are no examples.
        self._grouped: bool | None = None
        self._from_states = False

    def begin(self, rows: int, units: Units | None, weights: IntArray | FloatArray | None) -> IntArray | None:
        """Begin an update; return the number of each row's group.

        Raises
        ------
        TypeError, ValueError
            When groups are named now and were not before, or the other way round, or cannot be sorted with those.
        """
        if not rows:
            return None
        self._check_same(units is not None, units.keys if units is not None else None)
        self._grouped = units is not None
        if self._keeps_rows:
            self._weights.append((rows, weights))
        if units is None:
            return None
        index = self._numbered(units.keys or ())[units.index]
        if self._keeps_rows:
            self._index.append(index)
        return index

    def add(
        self, statistics: list[NDArray[Any]], index: IntArray | None, weights: IntArray | FloatArray | None
    ) -> None:
        """Keep what there is to keep of a block of the rows of the update that was begun."""
        if self._keeps_rows:
            self._blocks.append(statistics)
        elif index is not None:
            present, local = np.unique(index, return_inverse=True)
            units = Units(local.reshape(-1), len(present), ())
            self._add_sums(present, unit_sums(self._settings, statistics, units, weights))

    def add_state(self) -> None:
        """Take note of examples of which there are only totals."""
        self._from_states = True

    def merge(self, other: Keeper) -> None:
        """Add what another has kept; :meth:`check_merge` says whether it can be."""
        self._from_states |= other._from_states
        if other._grouped is None:
            return
        self._grouped = other._grouped
        self._blocks = [*self._blocks, *other._blocks]
        self._weights = [*self._weights, *other._weights]
        if other._grouped:
            place = self._numbered(tuple(other._numbers))
            self._index = [*self._index, *(place[index] for index in other._index)]
            if other._sums is not None:
                self._add_sums(place, other._sums[: len(place)])

    def check_merge(self, other: Keeper) -> None:
        """Raise a TypeError or ValueError when what another has kept cannot be added."""
        if self._keeps_rows != other._keeps_rows:
            raise ValueError("accumulators cannot be merged when only one of them has keep_statistics=True")
        if other._grouped is not None:
            self._check_same(other._grouped, tuple(other._numbers))

    def kept(self) -> Kept:
        """Return what has been kept so far."""
        if self._from_states:
            return Kept(reason=FROM_STATES)
        rows = None
        if self._keeps_rows:
            rows = Rows()
            rows.blocks = list(self._blocks)
            if any(weights is not None for _, weights in self._weights):
                rows.weights = np.concatenate(
                    [np.ones(n, dtype=np.int64) if weights is None else weights for n, weights in self._weights]
                )
        if not self._grouped:
            return Kept(rows)
        keys = tuple(sorted(self._numbers))
        order = np.array([self._numbers[key] for key in keys], dtype=np.int64)
        if rows is None:
            assert self._sums is not None
            return Kept(None, Units(_NOBODY, len(keys), keys), self._sums[order])
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys))
        return Kept(rows, Units(place[np.concatenate(self._index)], len(keys), keys))

    def _check_same(self, grouped: bool, keys: tuple[Any, ...] | None) -> None:
        if self._grouped is None:
            return
        if grouped != self._grouped:
            raise ValueError(
                "groups must be given for all examples or for none:"
                f" those before had {'groups' if self._grouped else 'none'}"
            )
        known = next(iter(self._numbers), None)
        other: Any = None
        try:
            for other in keys or ():
                known < other  # noqa: B015
        except TypeError:
            kinds = " and ".join(sorted({type(known).__name__, type(other).__name__}))
            raise TypeError(f"groups holds values that cannot be sorted together ({kinds})") from None

    def _numbered(self, keys: tuple[Any, ...]) -> IntArray:
        numbers = self._numbers
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def _add_sums(self, groups: IntArray, sums: FloatArray) -> None:
        """Add sums to those of some groups, none of them twice."""
        have = 0 if self._sums is None else len(self._sums)
        if len(self._numbers) > have:
            # Twice the room that is needed, so that growing takes time in proportion to what there is.
            grown = np.zeros((2 * len(self._numbers), sums.shape[1]))
            if self._sums is not None:
                grown[:have] = self._sums
            self._sums = grown
        assert self._sums is not None
        self._sums[groups] += sums
