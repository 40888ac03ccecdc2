"""TypedAccumulator: typed spans as a stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mycelium.batch import Batch
from mycelium.draws import Units
from mycelium.metrics.by_type import check_types, unknown
from mycelium.scoring import Accumulator
from mycelium.spans import IntArray
from mycelium.typed.report import TypedReport
from mycelium.typed.settings import TypedSettings

__all__ = ["TypedAccumulator"]

_SIDES = ("references", "predictions")
#: Numbers that are counted at once.
_CELLS = 1 << 25


class TypedAccumulator(Accumulator):
    """Score a stream of batches of typed spans in constant memory.

    However the examples are cut into batches and on however many machines, the result has the same bits as one
    :func:`evaluate_typed` of all of them (with real-valued weights, to 1e-12). Batches come in by :meth:`update`,
    other accumulators by :meth:`merge`, and vectors of :meth:`state` by :meth:`add_state`.

    Parameters
    ----------
    types : str or sequence of str
        The types, which must be known before the data are; see :func:`evaluate_typed`.
    average, overlap_credit, min_overlap, overlap_base, matching, unknown_types, absent_types, undefined, invalid, \
missing_rows, offsets, end
        As in :func:`evaluate_typed`.
    keep_statistics : bool
        Keep the statistics of every example, so that reports have slices and intervals; memory grows with the examples.
        Without it the groups that updates name have their sums kept, which is enough for intervals.

    Examples
    --------
    >>> from mycelium.typed import TypedAccumulator
    >>> scores = TypedAccumulator(types=["conflict", "baseless"])
    >>> scores.update([[[0, 10, "conflict"]]], [[[2, 8, "conflict"]]])
    >>> scores.update([[[4, 7, "baseless"]]], [[[4, 7, "conflict"]]])
    >>> scores.compute()["partial"]["f1"], scores.compute()["typed_partial"]["f1"]
    (0.75, 0.25)
    """

    settings: TypedSettings

    def __init__(
        self,
        *,
        types: str | Sequence[str],
        average: str = "micro",
        overlap_credit: float = 0.5,
        min_overlap: float = 0.0,
        overlap_base: str = "reference",
        matching: str = "max_shared",
        unknown_types: str = "raise",
        absent_types: str = "exclude",
        undefined: float | None = 1.0,
        invalid: str = "raise",
        missing_rows: str = "raise",
        offsets: str = "codepoint",
        end: str = "exclusive",
        keep_statistics: bool = False,
    ) -> None:
        settings = TypedSettings.typed(
            types=types,
            average=average,
            overlap_credit=overlap_credit,
            min_overlap=min_overlap,
            overlap_base=overlap_base,
            matching=matching,
            unknown_types=unknown_types,
            absent_types=absent_types,
            undefined=undefined,
            invalid=invalid,
            missing_rows=missing_rows,
            offsets=offsets,
            end=end,
        )
        self._begin(settings, keep_statistics)
        self._rows_at_once = max(1, min(1 << 14, _CELLS // settings.columns))

    def reset(self) -> None:
        """Forget all examples."""
        super().reset()
        self._ignored = np.zeros(len(_SIDES), dtype=np.int64)

    def merge(self, other: Accumulator) -> None:
        """Add the examples of another accumulator with the same settings.

        Raises
        ------
        ValueError
            When the settings differ, or only one of the two names groups or keeps statistics.
        """
        super().merge(other)
        assert isinstance(other, TypedAccumulator)
        self._ignored = self._ignored + other._ignored

    def state(self) -> IntArray:
        """Return everything counted so far as one vector of 64-bit integers; see :meth:`mycelium.Accumulator.state`."""
        return np.concatenate([super().state(), self._ignored])

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the elements of :meth:`state`."""
        return (*super().state_names, *(f"ignored.{side}" for side in _SIDES))

    def _add_state(self, state: IntArray) -> None:
        super()._add_state(state[: -len(_SIDES)])
        self._ignored = self._ignored + state[-len(_SIDES) :]

    def compute(self) -> TypedReport:
        """Return the report over all examples added so far.

        Raises
        ------
        ValueError
            When there are none.
        """
        return self._report()

    def _report(self, per_example: bool = False) -> TypedReport:
        report = TypedReport._of(self.settings, self._totals, self._invalid, self._keeper.kept(), per_example)
        report["meta"]["ignored"] = dict(zip(_SIDES, self._ignored.tolist(), strict=True))
        return report

    def _add(self, batch: Batch, units: Units | None = None) -> None:
        batch, ignored = self._known(batch)
        super()._add(batch, units)
        self._ignored = self._ignored + ignored

    def _known(self, batch: Batch) -> tuple[Batch, IntArray]:
        """Return the batch without spans of unknown types, and how many these were on each side."""
        ignored = np.zeros_like(self._ignored)
        for number, side in enumerate(_SIDES):
            spans = getattr(batch, side)
            if self.settings.unknown_types == "raise":
                check_types(spans, side, self.settings.rules.types)
                continue
            strange = unknown(spans, self.settings.rules.types)
            if strange is not None:
                batch = batch._replace(**{side: spans._keep(~strange)})
                ignored[number] = strange.sum()
        return batch, ignored
