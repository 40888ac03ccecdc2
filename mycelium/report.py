"""Report: the dict that ``evaluate`` returns, with the conventions that produced it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from mycelium.additive import Rows
from mycelium.confidence import Intervals, Resampling, caution, interval_cell, intervals
from mycelium.draws import Units, units_of
from mycelium.kept import Kept, averages, unit_sums
from mycelium.metrics import Metric
from mycelium.metrics.names import flat_name, main_output, outputs_in_order
from mycelium.reduce import Totals
from mycelium.settings import Settings
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.tables import as_json, render, with_notes

if TYPE_CHECKING:
    from mycelium.errors.result import Errors

__all__ = ["Report", "slices_table"]

OFFSET_CONVENTION = "half-open [start, end)"
#: Rows whose statistics a report keeps, for slices and intervals.
ROWS_KEPT = 10**6
TOO_MANY = (
    f"evaluate() keeps those of up to {ROWS_KEPT:,} examples, of more with keep_statistics=True;"
    " for intervals it is enough to give it groups"
)


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
        self._holds = Kept()
        self._spans: tuple[SpanBatch, SpanBatch] | None = None

    @property
    def _rows(self) -> Rows | None:
        return self._holds.rows

    @classmethod
    def _of(
        cls, settings: Settings, totals: Totals, invalid: InvalidCounts, kept: Kept, per_example: bool = False
    ) -> Report:
        report = cls()
        for number, ((key, metric), values) in enumerate(zip(settings.metrics, totals.values(), strict=True)):
            report[key] = dict(zip(metric.outputs, values.tolist(), strict=True))
            if per_example:
                assert kept.rows is not None
                report[key]["per_example"] = _per_example(metric, kept.rows.statistics(number), settings.undefined)
        report["meta"] = {
            "examples": totals.examples,
            "average": settings.average,
            "offset_convention": OFFSET_CONVENTION,
            "profile": settings.profile,
        }
        report.signature = settings.signature(weighted=totals.weighted)
        report.invalid = invalid
        report._settings = settings
        report._holds = kept
        return report

    def _keep(self, references: SpanBatch, predictions: SpanBatch, statistics: bool) -> None:
        """Keep the spans beside the statistics of examples, or neither."""
        if statistics:
            self._spans = references, predictions
        else:
            self._forget_rows()

    def _forget_rows(self) -> None:
        """Keep the sums of groups in the place of the statistics of examples."""
        assert self._settings is not None
        self._holds = self._holds.without_rows(self._settings, TOO_MANY)

    def statistics(self, key: str) -> NDArray[Any]:
        """Return the statistics of one metric, shape (n, k): row i is example i, columns as ``Metric.columns``.

        Raises
        ------
        KeyError
            When the report does not hold the metric.
        ValueError
            When the report keeps no statistics; the message says what would keep them.
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
        return self._cut(values, name, self._holds.units)

    @overload
    def confidence_intervals(
        self,
        level: float = ...,
        groups: Any = ...,
        method: str = ...,
        n_resamples: int = ...,
        seed: int | np.random.Generator = ...,
        by: None = ...,
    ) -> Intervals: ...

    @overload
    def confidence_intervals(
        self,
        level: float = ...,
        groups: Any = ...,
        method: str = ...,
        n_resamples: int = ...,
        seed: int | np.random.Generator = ...,
        *,
        by: Sequence[Any] | NDArray[Any],
    ) -> dict[Any, Intervals]: ...

    def confidence_intervals(
        self,
        level: float = 0.95,
        groups: Any = None,
        method: str = "percentile",
        n_resamples: int = 2000,
        seed: int | np.random.Generator = 0,
        by: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Intervals | dict[Any, Intervals]:
        """Return an interval for every score, by resampling examples or groups of them.

        A replicate is the score of as many units as there are, drawn with replacement. All metrics and outputs share
        the draws. They depend on the seed and on the number of units in the order of their sorted groups, on nothing
        else.

        Parameters
        ----------
        level : float
            The share of samples whose interval should hold the score of the whole population.
        groups : sequence of length n, optional
            Value i names the group of example i: examples that are not independent of each other, such as answers on
            one source document, are drawn together. By default the groups that the evaluation was given; without any,
            each example is drawn by itself.
        method : {"percentile", "bca", "basic"}
            Quantiles of the replicates; the same with bias and acceleration corrected, the latter from the scores
            without each unit; quantiles reflected at the score. Where "bca" is not defined "percentile" takes its
            place, and ``meta["notes"]`` says so.
        n_resamples : int
            The number of replicates.
        seed : int or numpy.random.Generator
            Where draws begin. No other state is used or changed; a generator moves on.
        by : sequence of length n, optional
            Value i names the slice of example i.

        Returns
        -------
        Intervals, or with ``by`` a dict of them
            A dict ``{metric: {output: [low, high]}}`` and ``meta``. With ``by`` one for each slice, sorted by its
            text: what the slice evaluated alone gives, with its own groups and the same seed.

        Warns
        -----
        UserWarning
            With fewer than 30 units, or where more than 5% of the replicates drew nothing but weight 0.

        Raises
        ------
        TypeError, ValueError
            When an option cannot be used, or the report keeps neither statistics nor sums of groups.

        References
        ----------
        Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 14; Davison and Hinkley,
        "Bootstrap Methods and their Application", 1997, section 3.8, on drawing groups.

        Examples
        --------
        >>> import mycelium
        >>> references, predictions = [[[0, 10]], [[0, 4]]] * 20, [[[2, 8]], [[0, 4]]] * 20
        >>> report = mycelium.evaluate(references=references, predictions=predictions, metrics=["iou"])
        >>> [round(bound, 3) for bound in report.confidence_intervals(seed=1)["iou"]["score"]]
        [0.74, 0.86]
        """
        resampling = Resampling.of(level, method, n_resamples, seed)
        if by is None:
            found = self._intervals(resampling, groups)
            caution({None: found})
            return found
        _, rows = self._kept()
        parts = self._cut(by, "by", self._holds.units if groups is None else units_of(groups, len(rows)))
        each = {value: part._intervals(resampling, None) for value, part in parts.items()}
        caution(each)
        return each

    def _intervals(self, resampling: Resampling, groups: Any) -> Intervals:
        if groups is None and self._settings is not None and self._holds.sums is not None:
            assert self._holds.units is not None
            settings, units, sums = self._settings, self._holds.units, self._holds.sums
        else:
            settings, rows = self._kept()
            n = len(rows)
            units = self._holds.units if groups is None and self._holds.units is not None else units_of(groups, n)
            statistics = [rows.statistics(number) for number in range(len(settings.metrics))]
            sums = unit_sums(settings, statistics, units, rows.weights)
        meta = {name: self["meta"][name] for name in ("examples", "average")}
        return intervals(
            self._scores(),
            settings.metrics,
            averages(settings, sums),
            sums,
            units,
            resampling,
            meta=meta,
            signature=self.signature,
        )

    def _cut(self, values: Sequence[Any] | NDArray[Any], name: str, units: Units | None) -> dict[Any, Report]:
        """Return a report for each value, that remembers its part of the units."""
        settings, rows = self._kept()
        n = len(rows)
        if len(values) != n:
            raise ValueError(f"{name} has {len(values)} values, the report has {n} examples")
        members: dict[Any, list[int]] = {}
        for i, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
            members.setdefault(value, []).append(i)
        metrics = [metric for _, metric in settings.metrics]
        statistics = [rows.statistics(number) for number in range(len(metrics))]
        kept = self._holds._replace(units=units)
        out: dict[Any, Report] = {}
        for value in sorted(members, key=str):
            part, counted, weights = kept.part(np.array(members[value]), statistics)
            totals = Totals(metrics, settings.average, settings.undefined)
            totals.add(counted, weights)
            out[value] = type(self)._of(settings, totals, InvalidCounts(), part)
        return out

    def _scores(self) -> Mapping[str, Mapping[str, float]]:
        """Return the outputs of every metric of the settings."""
        return self

    def _keys(self) -> list[str]:
        """Return the metrics that have a column in a table of slices."""
        return [key for key in self if key != "meta"]

    def errors(
        self,
        *,
        text: Any = None,
        ids: Any = None,
        slices: Mapping[str, Any] | None = None,
        typed: bool | None = None,
        repair: bool = True,
    ) -> Errors:
        """Say of each span what is wrong with it, and what the scores would be without each kind of error.

        Parameters
        ----------
        text, ids, slices, typed, repair
            As in :func:`mycelium.errors.find_errors`.

        Returns
        -------
        Errors
            Counts, repaired scores and the worst examples.

        Raises
        ------
        TypeError, ValueError
            When an argument cannot be used, or the report keeps no spans, as slices and those of an accumulator do.

        Examples
        --------
        >>> import mycelium
        >>> report = mycelium.evaluate(references=[[[0, 10]], []], predictions=[[[2, 8]], [[4, 6]]], metrics=["iou"])
        >>> report.errors().verdicts
        ([['too narrow'], []], [['too narrow'], ['spurious']])
        """
        from mycelium.errors.find import errors_of

        return errors_of(self, text=text, ids=ids, slices=slices, typed=typed, repair=repair)

    def _kept(self) -> tuple[Settings, Rows]:
        if self._settings is None or self._holds.rows is None:
            what = "the sums of groups, but no statistics" if self._holds.sums is not None else "no statistics"
            raise ValueError(f"this report keeps {what} per example: {self._holds.reason}")
        return self._settings, self._holds.rows

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
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. All but CSV end with the number of examples, the average and the signature.
        digits : int
            Decimals.
        """
        keys = self._keys()
        outputs = outputs_in_order(self[key] for key in keys)
        header = ["metric", *("F1" if output == "f1" else output for output in outputs)]
        body = [[key, *(_cell(self[key].get(output), digits) for output in outputs)] for key in keys]
        table = render(header, body, format=format)
        if format == "csv" or "meta" not in self:
            return table
        return with_notes(table, [self._summary(), self.signature], format)

    def _summary(self) -> str:
        n = self["meta"]["examples"]
        text = f"{n:,} example{'s' * (n != 1)}, {self['meta']['average']} average"
        changed = [f"{name} {count}" for name, count in zip(InvalidCounts._fields, self.invalid, strict=True) if count]
        return text + (f"; leniency: {', '.join(changed)}" if changed else "")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return ``{"report": ..., "signature": ..., "invalid": ...}`` as JSON and write it to ``path`` if given."""
        return as_json({"report": self, "signature": self.signature, "invalid": self.invalid._asdict()}, path)

    def _repr_html_(self) -> str:
        return self.to_table("html")


def slices_table(
    slices: Mapping[Any, Report],
    *,
    name: str,
    format: str = "text",
    digits: int = 4,
    intervals: Mapping[Any, Intervals] | None = None,
) -> str:
    """Return one row for each slice: its examples and the main output of each metric, with its interval if given."""
    reports = list(slices.values())
    keys = reports[0]._keys() if reports else []
    header = [name, "examples", *([] if intervals is None else ["units"]), *keys]
    body = []
    for value, report in slices.items():
        row = [str(value), str(report["meta"]["examples"])]
        if intervals is not None:
            row.append(str(intervals[value]["meta"]["units"]))
        for key in keys:
            output = main_output(report[key])
            score = report[key].get(output)
            if intervals is None:
                row.append(_cell(score, digits))
            else:
                row.append(interval_cell(score, *intervals[value][key][output], digits=digits))
        body.append(row)
    return render(header, body, format=format)


def _cell(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _per_example(metric: Metric, statistics: NDArray[Any], undefined: float | None) -> list[Any]:
    values = metric.value(statistics, undefined).tolist()
    if metric.outputs == ("score",):
        return [value for (value,) in values]
    return [dict(zip(metric.outputs, row, strict=True)) for row in values]
