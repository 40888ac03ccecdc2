"""Report: the dict that ``evaluate`` returns, with the conventions that produced it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.additive import Rows
from mycelium.metrics import Metric
from mycelium.metrics.names import flat_name
from mycelium.reduce import Totals
from mycelium.settings import Settings
from mycelium.spans import InvalidCounts
from mycelium.tables import render

__all__ = ["Report", "slices_table"]

OFFSET_CONVENTION = "half-open [start, end)"
#: Rows whose statistics a report keeps, for slices.
ROWS_KEPT = 10**6


class Report(dict[str, Any]):
    """Scores of one evaluation: a plain dict of plain floats, and what one must know of them.

    The keys are those of the metrics, in the order in which they were asked for, then ``meta``. A metric holds
    ``precision``, ``recall`` and ``f1``, or ``score``; with ``include_per_example`` also ``per_example``.

    Attributes
    ----------
    signature : str
        The conventions in one line, to be quoted with the number.
    invalid : InvalidCounts
        What leniency did to the input: rows with invalid spans, spans dropped, spans clipped, missing rows read as
        empty; references and predictions together.

    Examples
    --------
    >>> import mycelium
    >>> report = mycelium.evaluate(references=[[0, 10]], predictions=[[2, 8]], metrics=["iou", "character"])
    >>> report["character"]
    {'precision': 1.0, 'recall': 0.6, 'f1': 0.75}
    >>> print(report.to_table())
    metric     precision  recall      F1   score
    iou                                   0.6000
    character     1.0000  0.6000  0.7500
    1 example, macro average
    mycelium|v:0.1.0|avg:macro|undef:default|unit:char|invalid:raise|tol:0|iou|character
    """

    signature: str
    invalid: InvalidCounts

    def __init__(self, values: Mapping[str, Any] = (), /) -> None:  # type: ignore[assignment]
        super().__init__(values)
        self.signature = ""
        self.invalid = InvalidCounts()
        self._settings: Settings | None = None
        self._rows: Rows | None = None

    @classmethod
    def _of(
        cls, settings: Settings, totals: Totals, invalid: InvalidCounts, rows: Rows | None, per_example: bool = False
    ) -> Report:
        report = cls()
        for number, ((key, metric), values) in enumerate(zip(settings.metrics, totals.values(), strict=True)):
            report[key] = dict(zip(metric.outputs, values.tolist(), strict=True))
            if per_example:
                assert rows is not None
                report[key]["per_example"] = _per_example(metric, rows.statistics(number), settings.undefined)
        report["meta"] = {
            "examples": totals.examples,
            "average": settings.average,
            "offset_convention": OFFSET_CONVENTION,
            "profile": settings.profile,
        }
        report.signature = settings.signature(weighted=totals.weighted)
        report.invalid = invalid
        report._settings = settings
        report._rows = rows
        return report

    def statistics(self, key: str) -> NDArray[Any]:
        """Return the statistics of one metric, shape (n, k): row i is example i, columns as ``Metric.columns``.

        Raises
        ------
        KeyError
            When the report does not hold the metric.
        ValueError
            When the report keeps no statistics: an accumulator's, or one of more than a million examples.
        """
        settings, rows = self._kept()
        keys = [name for name, _ in settings.metrics]
        if key not in keys:
            raise KeyError(f"the report has no metric {key!r}; it has {', '.join(keys)}")
        return rows.statistics(keys.index(key))

    def by(self, values: Sequence[Any] | NDArray[Any], *, name: str = "values") -> dict[Any, Report]:
        """Return a report for each slice of the examples.

        Parameters
        ----------
        values : sequence of length n
            Value i names the slice of example i, e.g. a language or a task type.
        name : str
            What messages call the values.

        Returns
        -------
        dict
            A report for each distinct value, sorted by its text. Each equals the evaluation of its examples alone, but
            for ``invalid``: what leniency did is counted in the whole report only.
        """
        settings, rows = self._kept()
        n = len(rows)
        if len(values) != n:
            raise ValueError(f"{name} has {len(values)} values, the report has {n} examples")
        members: dict[Any, list[int]] = {}
        for i, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
            members.setdefault(value, []).append(i)
        metrics = [metric for _, metric in settings.metrics]
        statistics = [rows.statistics(number) for number in range(len(metrics))]
        out: dict[Any, Report] = {}
        for value in sorted(members, key=str):
            chosen = np.array(members[value])
            part = Rows()
            part.blocks = [[counted[chosen] for counted in statistics]]
            part.weights = None if rows.weights is None else rows.weights[chosen]
            totals = Totals(metrics, settings.average, settings.undefined)
            totals.add(part.blocks[0], part.weights)
            out[value] = Report._of(settings, totals, InvalidCounts(), part)
        return out

    def _kept(self) -> tuple[Settings, Rows]:
        if self._settings is None or self._rows is None:
            raise ValueError(
                f"this report keeps no statistics per example; evaluate() keeps those of up to {ROWS_KEPT:,} examples"
            )
        return self._settings, self._rows

    def flat(self) -> dict[str, float]:
        """Return the scores as one flat dict of floats, for training loops and tables of experiments.

        A metric with one output keeps its key, others get ``_precision``, ``_recall`` and ``_f1``.

        Examples
        --------
        >>> import mycelium
        >>> mycelium.evaluate(references=[[0, 10]], predictions=[[2, 8]], metrics=["iou", "character"]).flat()
        {'iou': 0.6, 'character_precision': 1.0, 'character_recall': 0.6, 'character_f1': 0.75}
        """
        return {
            flat_name(key, output): value
            for key in self
            if key != "meta"
            for output, value in self[key].items()
            if output != "per_example"
        }

    def to_table(self, format: str = "text", *, digits: int = 4) -> str:
        """Return the scores as a table.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html"}
            The layout. All but CSV end with the number of examples, the average and the signature.
        digits : int
            Decimals.
        """
        keys = [key for key in self if key != "meta"]
        outputs = [o for o in ("precision", "recall", "f1", "score") if any(o in self[key] for key in keys)]
        header = ["metric", *("F1" if output == "f1" else output for output in outputs)]
        body = [[key, *(_cell(self[key].get(output), digits) for output in outputs)] for key in keys]
        table = render(header, body, format=format)
        if format == "csv" or "meta" not in self:
            return table
        return _with_notes(table, [self._summary(), self.signature], format)

    def _summary(self) -> str:
        n = self["meta"]["examples"]
        text = f"{n:,} example{'s' * (n != 1)}, {self['meta']['average']} average"
        changed = [f"{name} {count}" for name, count in zip(InvalidCounts._fields, self.invalid, strict=True) if count]
        return text + (f"; leniency: {', '.join(changed)}" if changed else "")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return ``{"report": ..., "signature": ..., "invalid": ...}`` as JSON and write it to ``path`` if given."""
        text = json.dumps(
            {"report": self, "signature": self.signature, "invalid": self.invalid._asdict()},
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
        )
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text + "\n")
        return text

    def _repr_html_(self) -> str:
        return self.to_table("html")


def slices_table(slices: Mapping[Any, Report], *, name: str, format: str = "text", digits: int = 4) -> str:
    """Return one row for each slice: its examples and the main output of each metric."""
    reports = list(slices.values())
    keys = [key for key in reports[0] if key != "meta"] if reports else []
    header = [name, "examples", *keys]
    body = [
        [
            str(value),
            str(report["meta"]["examples"]),
            *(_cell(report[key].get("f1", report[key].get("score")), digits) for key in keys),
        ]
        for value, report in slices.items()
    ]
    return render(header, body, format=format)


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _with_notes(table: str, notes: list[str], format: str) -> str:
    if format == "html":
        style = "margin:.4em .7em;overflow-wrap:anywhere"
        return table + "".join(f'<div style="{style}"><code>{escape(note)}</code></div>' for note in notes)
    if format == "markdown":
        return "\n".join([table, "", notes[0], "", *(f"`{note}`" for note in notes[1:])])
    return "\n".join([table, *notes])


def _per_example(metric: Metric, statistics: NDArray[Any], undefined: float | None) -> list[Any]:
    values = metric.value(statistics, undefined).tolist()
    if metric.outputs == ("score",):
        return [value for (value,) in values]
    return [dict(zip(metric.outputs, row, strict=True)) for row in values]
