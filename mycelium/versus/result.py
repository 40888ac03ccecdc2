"""Comparison: the dict that ``compare`` returns, its tables, and the differences of single examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mycelium.additive import additive
from mycelium.draws import leave_one_out, units_of
from mycelium.metrics import Metric
from mycelium.settings import Settings
from mycelium.spans import FloatArray, IntArray
from mycelium.tables import as_json, render, with_notes

__all__ = ["Comparison"]

#: Columns of a CSV, in this order.
CSV = (
    *("metric", "output", "a", "b", "score", "difference", "low", "high"),
    *("sd", "runs", "p_value", "p_adjusted", "significant"),
)
CORRECTED = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


class Comparison(dict[str, Any]):
    """Systems compared on the same examples: a plain dict of plain values, and what one must know of them.

    ``systems`` holds for each system the number of ``runs`` and its ``scores``: for each metric and output the
    ``score``, its ``interval``, the score of each of its ``runs`` and their standard deviation ``sd`` (None for one).
    ``pairs`` holds a dict for each comparison: ``metric``, ``output``, ``a``, ``b``, ``difference`` (a minus b), its
    ``interval``, ``p_value``, ``p_adjusted`` and ``significant``, which is ``p_adjusted <= 1 - level``. ``meta`` holds
    everything that decided about these numbers.

    Attributes
    ----------
    signature : str
        The conventions in one line, to be quoted with the numbers.

    Examples
    --------
    >>> from mycelium.versus.comparison import compare
    >>> references = [[[0, 10]]] * 40
    >>> found = compare(references, {"long": [[[0, 8]]] * 40, "short": [[[0, 6]]] * 40}, metrics=["iou"])
    >>> print(found.to_table("csv", part="pairs").splitlines()[0])
    metric,output,a,b,difference,low,high,p_value,p_adjusted,significant
    """

    signature: str

    def __init__(self, values: Mapping[str, Any] = (), /) -> None:  # type: ignore[assignment]
        super().__init__(values)
        self.signature = ""
        #: For each system and metric what each example adds to the average, shape (n, k).
        self._sums: dict[str, dict[str, FloatArray]] = {}
        self._settings: Settings | None = None
        self._weights: IntArray | FloatArray | None = None

    def differences(self, a: str, b: str, metric: str, output: str | None = None) -> FloatArray:
        """Return what each example adds to a difference, e.g. for :func:`mycelium.required_examples`.

        Parameters
        ----------
        a, b : str
            Two systems; the difference is a minus b.
        metric : str
            Key of the metric.
        output : str, optional
            Its output; F1 or the score by default. Any output will do, compared or not.

        Returns
        -------
        float64 array of shape (n,)
            Value i is the difference of the scores of example i, averaged over runs. Under micro, or with weights, an
            example has no score that would average to the system's, and value i is its jackknife pseudo-value: n times
            the difference, minus n - 1 times the difference without example i. For a plain mean that is the same.

        Raises
        ------
        KeyError
            When there is no such system or metric.
        ValueError
            When there is no such output, or without one of the examples no weight is left.
        """
        for name in (a, b):
            if name not in self._sums:
                raise KeyError(f"there is no system {name!r}; there are {', '.join(map(repr, self._sums))}")
        metrics = self._metrics()
        if metric not in metrics:
            raise KeyError(f"there is no metric {metric!r}; there are {', '.join(metrics)}")
        chosen = metrics[metric]
        output = chosen.primary if output is None else output
        if output not in chosen.outputs:
            raise ValueError(f"output must be one of {', '.join(map(repr, chosen.outputs))}, got {output!r}")
        column = chosen.outputs.index(output)
        value = self._value(chosen)
        sums = [self._sums[name][metric] for name in (a, b)]
        if self["meta"]["average"] == "macro" and not chosen.pooled and self._weights is None:
            first, second = (value(part)[:, column] for part in sums)
            return np.asarray(first - second)
        if self._weights is not None:
            sums = [part * self._weights[:, np.newaxis] for part in sums]
        whole = [float(value(part.sum(axis=0))[column]) for part in sums]
        without = [value(leave_one_out(part))[:, column] for part in sums]
        n = self["meta"]["examples"]
        values = n * (whole[0] - whole[1]) - (n - 1) * (without[0] - without[1])
        lost = np.flatnonzero(np.isnan(values))
        if len(lost):
            raise ValueError(f"without example {lost[0]} no weight is left, so that it has no pseudo-value")
        return np.asarray(values)

    def _metrics(self) -> dict[str, Metric]:
        return {} if self._settings is None else dict(self._settings.metrics)

    def _value(self, metric: Metric) -> Callable[[FloatArray], FloatArray]:
        """Return what turns sums into outputs; made anew, for functions cannot be pickled."""
        assert self._settings is not None
        nothing = np.zeros((0, len(metric.columns)), dtype=np.int64)
        return additive(metric, self._settings.average, self._settings.undefined, nothing, units_of(None, 0)).value

    def to_table(self, format: str = "text", *, part: str = "both", digits: int = 4) -> str:
        """Return the scores of the systems and the differences of the pairs as tables.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. All but CSV end with notes: the number of units, what the tests test, and the signature. CSV
            holds unrounded numbers, the systems' rows first, and the cells that a row has no use for are empty.
        part : {"both", "systems", "pairs"}
            Which of the tables.
        digits : int
            Decimals.
        """
        if part not in ("both", "systems", "pairs"):
            raise ValueError(f"part must be one of 'both', 'systems', 'pairs', got {part!r}")
        if format == "csv":
            return self._csv(part)
        tables = []
        if part != "pairs":
            tables.append(render(*self._systems_table(digits), format=format, names=2))
        if part != "systems":
            tables.append(render(*self._pairs_table(digits), format=format, names=2))
        return with_notes("\n\n".join(tables), self._notes(part), format)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return ``{"comparison": ..., "signature": ...}`` as JSON and write it to ``path`` if given."""
        return as_json({"comparison": self, "signature": self.signature}, path)

    def _repr_html_(self) -> str:
        return self.to_table("html")

    def _label(self, key: str, output: str) -> str:
        return key if output == self._metrics()[key].primary else f"{key} {output}"

    def _scores(self) -> list[tuple[str, str, str, dict[str, Any]]]:
        """Return metric, output, system and its entry, metric by metric."""
        return [
            (key, output, name, self["systems"][name]["scores"][key][output])
            for key, found in next(iter(self["systems"].values()))["scores"].items()
            for output in found
            for name in self["systems"]
        ]

    def _systems_table(self, digits: int) -> tuple[list[str], list[list[str]]]:
        spread = any(system["runs"] > 1 for system in self["systems"].values())
        header = ["metric", "system", "score", f"{100 * self['meta']['level']:g}% interval"]
        rows = [
            [self._label(key, output), name, f"{entry['score']:.{digits}f}", _interval(entry["interval"], digits)]
            + (["" if entry["sd"] is None else f"{entry['sd']:.{digits}f}", str(len(entry["runs"]))] if spread else [])
            for key, output, name, entry in self._scores()
        ]
        return header + (["sd of runs", "runs"] if spread else []), rows

    def _pairs_table(self, digits: int) -> tuple[list[str], list[list[str]]]:
        meta = self["meta"]
        adjusted = meta["correction"] in CORRECTED and meta["family_size"] > 1
        header = ["metric", "difference of", "difference", f"{100 * meta['level']:g}% interval", "p"]
        marked = any(pair["significant"] for pair in self["pairs"])
        rows = []
        for pair in self["pairs"]:
            cells = [
                self._label(pair["metric"], pair["output"]),
                f"{pair['a']} - {pair['b']}",
                f"{pair['difference']:+.{digits}f}",
                _interval(pair["interval"], digits, sign="+"),
                _p_value(pair["p_value"], digits),
            ]
            if adjusted:
                cells.append(_p_value(pair["p_adjusted"], digits))
            rows.append(cells + (["*" if pair["significant"] else ""] if marked else []))
        return header + (["p adjusted"] if adjusted else []) + ([""] if marked else []), rows

    def _notes(self, part: str) -> list[str]:
        meta = self["meta"]
        n, units = meta["examples"], meta["units"]
        size = f"{n:,} example{'s' * (n != 1)}"
        if meta["unit"] == "group":
            size += f" in {units:,} group{'s' * (units != 1)}"
        first = f"{size}, {meta['average']} average; {meta['method']} intervals from {meta['n_resamples']:,} replicates"
        if meta["discarded"]:
            first += f" ({meta['discarded']:,} without weight discarded)"
        notes = [first]
        if part != "systems":
            patterns = (
                f"{meta['n_permutations']:,} {'permutations, all there are' if meta['exact'] else 'permutations'}"
            )
            m, alpha = meta["family_size"], f"{meta['alpha']:g}"
            if meta["correction"] in CORRECTED and m > 1:
                where = "in all" if meta["family"] == "all" else "on one output of a metric"
                marks = f"* p <= {alpha} after {CORRECTED[meta['correction']]}'s adjustment for {m} comparisons {where}"
            else:
                marks = f"* p <= {alpha}"
                if len(self["pairs"]) > 1:
                    one = meta["correction"] in CORRECTED
                    marks += f", {'one comparison on each output of a metric' if one else 'not adjusted'}"
            notes += [f"{marks}; {meta['alternative']} tests from {patterns}", meta["hypothesis"]]
        leniency = meta["leniency"]
        # None where those of the references were counted with each system's.
        with_references = "references and " * (leniency["references"] is None)
        for who, counts in (("references", leniency["references"] or {}), *leniency["systems"].items()):
            done = [f"{name} {count}" for name, count in counts.items() if count]
            if done:
                notes.append(f"leniency, {with_references}{who}: {', '.join(done)}")
        notes += [f"{where}: {why}" for where, why in meta["notes"].items()]
        return [*notes, self.signature]

    def _csv(self, part: str) -> str:
        scores = [
            {
                "metric": key,
                "output": output,
                "a": name,
                "score": repr(entry["score"]),
                "low": repr(entry["interval"][0]),
                "high": repr(entry["interval"][1]),
                "sd": "" if entry["sd"] is None else repr(entry["sd"]),
                "runs": str(len(entry["runs"])),
            }
            for key, output, name, entry in self._scores()
        ]
        pairs = [
            {
                **{name: pair[name] for name in ("metric", "output", "a", "b")},
                "low": repr(pair["interval"][0]),
                "high": repr(pair["interval"][1]),
                **{name: repr(pair[name]) for name in ("difference", "p_value", "p_adjusted")},
                "significant": "yes" if pair["significant"] else "no",
            }
            for pair in self["pairs"]
        ]
        rows = (scores if part != "pairs" else []) + (pairs if part != "systems" else [])
        columns = [name for name in CSV if any(name in row for row in rows)]
        return render(columns, [[row.get(name, "") for name in columns] for row in rows], format="csv")


def _interval(bounds: list[float], digits: int, sign: str = "") -> str:
    low, high = (f"{bound:{sign}.{digits}f}" for bound in bounds)
    return f"[{low}, {high}]"


def _p_value(p: float, digits: int) -> str:
    """Write a p-value so that it is never shown as 0."""
    least = 10.0**-digits
    return f"< {least:.{digits}f}" if p < least / 2 else f"{p:.{digits}f}"
