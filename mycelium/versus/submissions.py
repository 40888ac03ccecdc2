"""What each system handed in, slice by slice: scored, not submitted, or refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.draws import units_of
from mycelium.formats import read_spans
from mycelium.formats.containers import column_of
from mycelium.metrics import Metric, get
from mycelium.report import Report
from mycelium.scoring import evaluate
from mycelium.settings import Settings
from mycelium.spans import BoolArray, IntArray, InvalidCounts, SpanBatch

__all__ = ["Entry", "Submissions"]

#: Options of reading that ``evaluate`` has too.
_READING = ("invalid", "missing_rows", "offsets", "end")


class Entry(NamedTuple):
    """What a system has in one slice: its score, and the statistics (n, k) of the examples."""

    score: float
    statistics: NDArray[Any]


class Submissions:
    """Systems read and scored against the same references.

    Parameters
    ----------
    references : batch of n span sets
        Every row must be annotated.
    by : sequence of length n, or None
        Value i names the slice of example i.
    metric : str or Metric
        The one metric that ranks.
    output : str, optional
        Its output that ranks; F1, or the score, by default.
    text : sequence of n str, optional
        The texts.
    options
        Options of :func:`mycelium.evaluate`.

    Attributes
    ----------
    slices : list of str, or [None]
        The sorted names of the slices; None where all examples are one.
    members : list of int64 arrays
        The examples of each slice.
    entries : dict of (int, str) to Entry
        For the number of a slice and the name of a system what is scored.
    refused, missing : lists of dicts
        ``{"system", "slice", "reason"}`` and ``{"system", "slice"}``.
    leniency : dict of str to InvalidCounts
        For each system what leniency did to its predictions, where it did something.
    """

    def __init__(
        self,
        references: Any,
        *,
        by: Any,
        metric: str | Metric,
        output: str | None,
        text: Any,
        **options: Any,
    ) -> None:
        self._text = text
        self._options = {"metrics": [metric], **options}
        self._needs = (get(metric) if isinstance(metric, str) else metric).needs
        reading = {key: options[key] for key in _READING}
        # A reference that is None was not annotated: there is nothing to score against.
        self.references, _ = read_spans(
            references, name="references", text=text, **{**reading, "missing_rows": "raise"}
        )
        self.examples = len(self.references)
        if not self.examples:
            raise ValueError("references hold no examples")
        # Whatever is wrong with the options or the references shows here, not as a refusal of every system.
        report = self._evaluate(self.references)
        assert report._settings is not None
        self.settings: Settings = report._settings
        self.signature = report.signature
        ((self.key, self.metric),) = self.settings.metrics
        self.output = self.metric.primary if output is None else output
        if self.output not in self.metric.outputs:
            outputs = ", ".join(map(repr, self.metric.outputs))
            raise ValueError(f"output must be one of {outputs} for the metric {self.key!r}, got {output!r}")
        self.slices: list[str | None] = [None]
        self.members: list[IntArray] = [np.arange(self.examples)]
        self._slice_of: IntArray = np.zeros(self.examples, dtype=np.int64)
        if by is not None:
            units = units_of(by, self.examples, name="by")
            self._slice_of = units.index
            self.slices = [str(key) for key in units.keys or ()]
            self.members = [np.flatnonzero(units.index == number) for number in range(len(units))]
        self.systems: list[str] = []
        self.entries: dict[tuple[int, str], Entry] = {}
        self.refused: list[dict[str, Any]] = []
        self.missing: list[dict[str, Any]] = []
        self.leniency: dict[str, InvalidCounts] = {}

    def add(self, name: str, predictions: Any, refused: Mapping[str | None, str]) -> None:
        """Read and score a system.

        Parameters
        ----------
        name : str
            The system.
        predictions : batch of n span sets
            None where it handed in nothing.
        refused : mapping of slice to str
            Slices in which it is refused from the outset, and why.
        """
        self.systems.append(name)
        reasons = {number: refused[key] for number, key in enumerate(self.slices) if key in refused}
        missing: list[int] = []
        try:
            rows = self._rows(predictions)
        except (TypeError, ValueError) as error:
            reasons = {number: reasons.get(number, str(error)) for number in range(len(self.slices))}
        else:
            given = _given(rows)
            candidates = []
            for number, members in enumerate(self.members):
                lacking = members[~given[members]]
                if number in reasons:
                    continue
                if len(lacking) == len(members):
                    missing.append(number)
                elif len(lacking) and self._options["missing_rows"] == "raise":
                    reasons[number] = (
                        f"{len(lacking)} of {len(members)} rows {'is' if len(lacking) == 1 else 'are'} None"
                        f" (not submitted), the first is row {lacking[0]}"
                    )
                else:
                    candidates.append(number)
            self._score(name, rows, candidates, reasons)
        self.refused += [
            {"system": name, "slice": self.slices[number], "reason": reasons[number]} for number in sorted(reasons)
        ]
        self.missing += [{"system": name, "slice": self.slices[number]} for number in missing]

    def _rows(self, predictions: Any) -> Any:
        """Return the predictions as a list or a SpanBatch of the right length."""
        if not isinstance(predictions, SpanBatch):
            column = column_of(predictions, "predictions", arrow_lists=True)
            for convert in ("to_pylist", "tolist"):
                if hasattr(column, convert):
                    column = getattr(column, convert)()
                    break
            predictions = list(column)
        if len(predictions) != self.examples:
            raise ValueError(
                f"numbers of rows differ: references has {self.examples}, predictions has {len(predictions)}"
            )
        return predictions

    def _score(self, name: str, rows: Any, candidates: list[int], reasons: dict[int, str]) -> None:
        """Score the slices that can be scored; add the reasons of the others."""
        first = self._attempt(rows, candidates)
        if isinstance(first, str):
            alone = {number: self._attempt(rows, [number]) for number in candidates}
            reasons |= {number: found for number, found in alone.items() if isinstance(found, str)}
            candidates = [number for number in candidates if number not in reasons]
            first = self._attempt(rows, candidates)
            assert not isinstance(first, str)
        report, counts = first
        if any(counts):
            self.leniency[name] = counts
        parts = report.by(self._slice_of)
        for number in candidates:
            part = parts[number]
            self.entries[number, name] = Entry(part[self.key][self.output], part.statistics(self.key))

    def _attempt(self, rows: Any, chosen: list[int]) -> tuple[Report, InvalidCounts] | str:
        """Evaluate the rows of some slices, the others read as empty; return the reason where that cannot be done."""
        keep = np.isin(self._slice_of, chosen)
        if not keep.all():
            rows = _blanked(rows, keep)
        reading = {key: self._options[key] for key in _READING}
        try:
            batch, counts = read_spans(rows, name="predictions", text=self._text, **reading)
            return self._evaluate(batch), counts
        except (TypeError, ValueError) as error:
            return str(error)

    def _evaluate(self, predictions: SpanBatch) -> Report:
        soft: dict[str, Any] = {}
        if "soft" in self._needs:
            soft = {"soft_references": self.references, "soft_predictions": predictions}
        return evaluate(
            references=self.references,
            predictions=predictions,
            text=self._text,
            keep_statistics=True,
            **soft,
            **self._options,
        )


def _given(rows: Any) -> BoolArray:
    """Tell which rows are there; None, and NaN or NA where pandas puts it, are not."""
    if isinstance(rows, SpanBatch):
        return np.ones(len(rows), dtype=bool)
    gone = [
        row is None or type(row).__name__ in ("NAType", "NaTType") or (isinstance(row, float) and row != row)
        for row in rows
    ]
    return ~np.array(gone, dtype=bool)


def _blanked(rows: Any, keep: BoolArray) -> Any:
    """Return the rows with nothing in those that are not kept, under the same numbers."""
    if not isinstance(rows, SpanBatch):
        return [row if kept else [] for row, kept in zip(rows, keep.tolist(), strict=True)]
    spans = keep[rows.row]
    offsets = np.concatenate([[0], np.cumsum(np.where(keep, rows.counts, 0))]).astype(np.int64)
    label = None if rows.label is None else rows.label[spans]
    score = None if rows.score is None else rows.score[spans]
    return SpanBatch(offsets, rows.start[spans], rows.end[spans], label, score, rows.length)
