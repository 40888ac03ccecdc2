"""Intervals: how far the scores of a report would move if other examples had been drawn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mycelium.additive import Additive, split
from mycelium.draws import Units, as_generator, check_level, check_resamples, draw, leave_one_out, replicate, seed_name
from mycelium.metrics import Metric
from mycelium.metrics.names import outputs_in_order
from mycelium.resample import FEW, METHODS, interval
from mycelium.spans import FloatArray
from mycelium.tables import as_json, render, with_notes

__all__ = ["Intervals", "Resampling", "caution", "interval_cell", "intervals"]

#: Scores lie within [-1, 1]; a replicate this close to the score differs from it by rounding only.
ROUNDING = 1e-12
#: Share of replicates without weight above which intervals need a warning.
MANY_DISCARDED = 0.05


class Intervals(dict[str, Any]):
    """Intervals of the scores of one evaluation: a plain dict of plain floats, and how they were computed.

    The keys are those of the metrics, in the order of the report; a metric holds ``[low, high]`` for each of its
    outputs. ``meta`` tells the ``level``, the ``method``, ``n_resamples``, the ``seed`` (None for a generator), the
    ``unit`` ("example" or "group") and the number of ``units`` and ``examples``, the ``average``, how many replicates
    were ``discarded`` because all they drew has weight 0, and ``notes``: for outputs such as ``"iou.score"`` why their
    interval is not quite what was asked for.

    Attributes
    ----------
    scores : dict
        ``{metric: {output: float}}``: the scores of the report.
    signature : str
        The signature of the report, and what one must know of the resampling.

    Examples
    --------
    >>> import mycelium
    >>> report = mycelium.evaluate(references=[[[0, 10]]] * 40, predictions=[[[2, 8]], [[0, 10]]] * 20, metrics=["iou"])
    >>> intervals = report.confidence_intervals()
    >>> print(intervals.to_table())  # doctest: +ELLIPSIS
    metric                    score
    iou     0.8000 [0.7400, 0.8600]
    95% intervals by percentile from 2,000 resamples of 40 examples, seed 0; 40 examples, macro average
    mycelium|...|iou|ci:percentile|level:0.95|resamples:2000|seed:0|units:40 examples
    """

    scores: dict[str, dict[str, float]]
    signature: str

    def __init__(self, values: Mapping[str, Any] = (), /) -> None:  # type: ignore[assignment]
        super().__init__(values)
        self.scores = {}
        self.signature = ""
        self._replicates: dict[str, FloatArray] = {}

    def replicates(self, key: str) -> FloatArray:
        """Return the replicated scores of one metric, shape (B, outputs).

        Row b is replicate b, columns are the outputs in the order of ``scores[key]``. B is ``n_resamples`` without
        those that were discarded.

        Raises
        ------
        KeyError
            When the metric is not there.
        """
        if key not in self._replicates:
            raise KeyError(f"there is no metric {key!r}; there are {', '.join(self._replicates)}")
        return self._replicates[key]

    def to_table(self, format: str = "text", *, digits: int = 4) -> str:
        """Return scores and intervals as a table.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. CSV has the bounds in columns of their own; all others end with the level, the method, the
            resamples, the seed, the number of units, notes and the signature.
        digits : int
            Decimals.
        """
        outputs = outputs_in_order(self.scores.values())
        if format == "csv":
            header = ["metric", *(name for o in outputs for name in (o, f"{o}_low", f"{o}_high"))]
            body = [
                [
                    key,
                    *(
                        f"{value:.{digits}f}" if value is not None else ""
                        for o in outputs
                        for value in self._of(key, o)
                    ),
                ]
                for key in self.scores
            ]
            return render(header, body, format=format)
        header = ["metric", *("F1" if output == "f1" else output for output in outputs)]
        body = [[key, *(interval_cell(*self._of(key, o), digits=digits) for o in outputs)] for key in self.scores]
        table = render(header, body, format=format)
        return with_notes(table, ["\n".join([self._summary(), *self._remarks()]), self.signature], format)

    def _of(self, key: str, output: str) -> tuple[float | None, float | None, float | None]:
        if output not in self.scores[key]:
            return None, None, None
        low, high = self[key][output]
        return self.scores[key][output], low, high

    def _summary(self) -> str:
        meta = self["meta"]
        seed = "a generator" if meta["seed"] is None else f"seed {meta['seed']}"
        return (
            f"{100 * meta['level']:g}% intervals by {meta['method']} from {_counted(meta['n_resamples'], 'resample')}"
            f" of {_counted(meta['units'], meta['unit'])}, {seed};"
            f" {_counted(meta['examples'], 'example')}, {meta['average']} average"
        )

    def _remarks(self) -> list[str]:
        same: dict[str, list[str]] = {}
        for name, note in self["meta"]["notes"].items():
            same.setdefault(note, []).append(name)
        remarks = [f"{', '.join(names)}: {note}" for note, names in same.items()]
        if self["meta"]["discarded"]:
            remarks.append(f"{_counted(self['meta']['discarded'], 'replicate')} without weight discarded")
        return remarks

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return ``{"intervals": ..., "scores": ..., "signature": ...}`` as JSON and write it to ``path`` if given."""
        return as_json({"intervals": self, "scores": self.scores, "signature": self.signature}, path)

    def _repr_html_(self) -> str:
        return self.to_table("html")


def interval_cell(score: float | None, low: float | None, high: float | None, *, digits: int) -> str:
    """Return a score and its interval as one cell of a table, nothing where there is none."""
    return "" if score is None else f"{score:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


class Resampling(NamedTuple):
    """How intervals are computed; :meth:`of` checks it."""

    level: float
    method: str
    n_resamples: int
    seed: int | np.random.Generator

    @classmethod
    def of(cls, level: object, method: object, n_resamples: object, seed: Any) -> Resampling:
        """Return the options in canonical form, or raise a TypeError or ValueError."""
        if not isinstance(method, str) or method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
        as_generator(seed)
        seed = seed if isinstance(seed, np.random.Generator) else int(seed)
        return cls(check_level(level), method, check_resamples(n_resamples), seed)

    def signature(self, units: Units) -> str:
        """Return what a signature says of it."""
        return (
            f"ci:{self.method}|level:{self.level!r}|resamples:{self.n_resamples}|seed:{seed_name(self.seed)}"
            f"|units:{units.describe()}"
        )


def intervals(
    scores: Mapping[str, Mapping[str, float]],
    metrics: Sequence[tuple[str, Metric]],
    parts: Sequence[Additive],
    sums: FloatArray,
    units: Units,
    resampling: Resampling,
    *,
    meta: Mapping[str, Any],
    signature: str,
) -> Intervals:
    """Return the intervals of all metrics and outputs, from one set of draws.

    Parameters
    ----------
    scores : mapping
        The scores of the data themselves, ``{metric: {output: float}}``.
    metrics : sequence of (str, Metric)
        The metrics under their keys.
    parts : sequence of Additive
        The average of each metric as a function of the columns of ``sums``.
    sums : float64 array of shape (u, k)
        What each unit adds: the columns of all metrics side by side, then the weight.
    units : Units
        The u units.
    resampling : Resampling
        How to draw, and what to make of it.
    meta : mapping
        The number of ``examples`` and their ``average``.
    signature : str
        The signature of the scores.
    """
    rng = as_generator(resampling.seed)
    totals = replicate(draw(rng, units.size, resampling.n_resamples, reuse=True), sums, resampling.n_resamples)
    weighed = totals[:, -1] > 0
    discarded = resampling.n_resamples - int(weighed.sum())
    if discarded == resampling.n_resamples:
        raise ValueError(f"sample_weight: all {discarded} resamples drew nothing but weight 0; give n_resamples more")
    replicated = split(totals[weighed] if discarded else totals, parts)
    without = _without_each(sums, parts) if resampling.method == "bca" and units.size > 1 else None
    out = Intervals()
    notes: dict[str, str] = {}
    for number, (key, metric) in enumerate(metrics):
        out.scores[key] = {output: scores[key][output] for output in metric.outputs}
        out[key] = {}
        values = replicated[number]
        for j, output in enumerate(metric.outputs):
            point, column = scores[key][output], values[:, j]
            column[np.abs(column - point) <= ROUNDING] = point
            method, reason = resampling.method, ""
            if method == "bca" and without is None and column.min() < column.max():
                method, reason = "percentile", "without some unit there is no weight left"
            found = interval(point, column, resampling.level, method, without[number][:, j] if without else None)
            reason = reason or found.note
            out[key][output] = [found.low, found.high]
            if reason:
                instead = resampling.method == "bca" and column.min() < column.max()
                notes[f"{key}.{output}"] = f"{reason}, percentile instead of bca" if instead else reason
        values.flags.writeable = False
        out._replicates[key] = values
    out["meta"] = {
        "level": resampling.level,
        "method": resampling.method,
        "n_resamples": resampling.n_resamples,
        "seed": resampling.seed if isinstance(resampling.seed, int) else None,
        "unit": units.kind,
        "units": units.size,
        **meta,
        "discarded": discarded,
        "notes": notes,
    }
    out.signature = f"{signature}|{resampling.signature(units)}"
    return out


def _without_each(sums: FloatArray, parts: Sequence[Additive]) -> list[FloatArray] | None:
    """Return for each metric its outputs without each unit (u, outputs); None where the others weigh nothing."""
    if not (leave_one_out(sums[:, -1:]) > 0).all():
        return None
    return [part.jackknife() for part in parts]


def caution(found: Mapping[Any, Intervals], stacklevel: int = 3) -> None:
    """Warn of intervals from few units or from many replicates without weight; keys name slices, None the whole."""
    few = {name: i["meta"] for name, i in found.items() if i["meta"]["units"] < FEW}
    if few:
        first = next(iter(few.values()))
        kind = first["unit"]
        if None in few:
            what = f"intervals from {_counted(first['units'], kind)}"
        else:
            named = [f"{name!s} ({meta['units']})" for name, meta in few.items()]
            more = f" and {len(named) - 5} more" if len(named) > 5 else ""
            what = f"intervals of slices with few {kind}s, {', '.join(named[:5])}{more},"
        warnings.warn(
            f"{what} are likely too narrow: resampling needs at least {FEW} {kind}s, so read them as a lower bound of"
            f" the uncertainty or score more {kind}s",
            UserWarning,
            stacklevel=stacklevel,
        )
    for name, intervals in found.items():
        meta = intervals["meta"]
        if meta["discarded"] > MANY_DISCARDED * meta["n_resamples"]:
            where = "" if name is None else f"{name!s}: "
            warnings.warn(
                f"{where}{meta['discarded']:,} of {meta['n_resamples']:,} resamples drew nothing but weight 0 and were"
                f" discarded: leave {meta['unit']}s without weight out of the evaluation",
                UserWarning,
                stacklevel=stacklevel,
            )
