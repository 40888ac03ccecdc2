"""TypedReport: the dict that ``evaluate_typed`` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.confidence import Intervals, Resampling
from mycelium.kept import Kept
from mycelium.metrics.by_type import COUNTS as BY_TYPE
from mycelium.metrics.by_type import NONE, present, type_key
from mycelium.metrics.names import flat_name
from mycelium.reduce import Totals
from mycelium.report import Report
from mycelium.settings import Settings
from mycelium.spans import IntArray, InvalidCounts
from mycelium.tables import render, with_notes
from mycelium.typed.settings import COUNTS, MEASURES, TypedSettings

__all__ = ["CELLS_KEPT", "TypedReport"]

#: Statistics that a report keeps unless it is told to keep all.
CELLS_KEPT = 24 * 10**6
TOO_MANY = (
    f"evaluate_typed() keeps up to {CELLS_KEPT:,} numbers, of more examples and types with keep_statistics=True;"
    " for intervals it is enough to give it groups"
)
_PRF = ("precision", "recall", "f1")
_SHOWN = ("correct", "partial", "spurious", "missed")


class TypedReport(Report):
    """Scores of typed spans: a plain dict of plain numbers, and what one must know of them.

    ``strict``, ``strict_typed``, ``partial`` (the primary measure: quote its ``f1``), ``typed_partial`` (the joint
    measure) and ``character`` hold ``precision``, ``recall``, ``f1`` and counts, where

    * correct + partial + spurious = predictions,
    * correct + partial + missed = references.

    ``by_type`` holds the same for each type, with its ``support``, the number of its references; ``macro`` and
    ``weighted`` are means over the types. ``confusion`` holds ``labels``, the types and "none", and ``matrix``, whose
    row i and column j count references of type i whose prediction has type j; missed references stand in the last
    column, spurious predictions in the last row. ``valid_cases`` holds the shares of valid cases left ``clean`` and of
    invalid cases ``caught`` and ``localised``, and ``meta`` the conventions.

    Attributes
    ----------
    signature : str
        The conventions in one line, to be quoted with the number.
    invalid : InvalidCounts
        What leniency did to the input. Spans left out because of an unknown type are counted in ``meta["ignored"]``.

    Examples
    --------
    >>> from mycelium.typed import evaluate_typed
    >>> report = evaluate_typed(references=[[0, 10, "A"]], predictions=[[2, 8, "A"], [20, 22, "B"]])
    >>> report["typed_partial"]["f1"], report["by_type"]["B"]["spurious"]
    (0.3333333333333333, 1)
    >>> print(report.confusion_table())
    reference  A  B  none
    A          1  0     0
    B          0  0     0
    none       0  1     0
    """

    _settings: TypedSettings | None

    @classmethod
    def _of(
        cls, settings: Settings, totals: Totals, invalid: InvalidCounts, kept: Kept, per_example: bool = False
    ) -> TypedReport:
        assert isinstance(settings, TypedSettings)
        values = {key: v.tolist() for (key, _), v in zip(settings.metrics, totals.values(), strict=True)}
        counts = _counts(settings, totals)
        types = settings.rules.types
        of_types = [dict(zip(BY_TYPE, counts["types"][i : i + 4], strict=True)) for i in range(0, 4 * len(types), 4)]
        there = present(np.array(counts["types"]).reshape(len(types), len(BY_TYPE)))
        included = (there | True) if settings.absent_types == "zero" else there
        settings = settings.for_types(included.tolist())
        metrics = dict(settings.metrics)
        # Where this is a slice, the set was that of the whole until now.
        over_types = metrics["types"].value(totals.sums(settings.number("types")), settings.undefined).tolist()
        *each, macro, weighted = (dict(zip(_PRF, over_types[i:], strict=False)) for i in range(0, len(over_types), 3))
        report = cls()
        for key in MEASURES:
            scores = dict(zip(_PRF, values[key], strict=True))
            report[key] = _leaf(scores, dict(zip(metrics[key].columns, counts[key], strict=True)))
            if per_example:
                assert kept.rows is not None
                metric = metrics[key]
                rows = metric.value(kept.rows.statistics(settings.number(key)), settings.undefined)
                report[key]["per_example"] = [dict(zip(_PRF, row, strict=True)) for row in rows.tolist()]
        report["by_type"] = {
            name: {**_leaf(scores, counted), "support": counted["references"]}
            for name, scores, counted in zip(types, each, of_types, strict=True)
        }
        report["macro"] = {**macro, "types": int(included.sum())}
        report["weighted"] = {**weighted, "support": sum(counted["references"] for counted in of_types)}
        labels = [*types, NONE]
        cells = counts["confusion"]
        rows_ = [cells[i : i + len(labels)] for i in range(0, len(cells), len(labels))]
        report["confusion"] = {"labels": labels, "matrix": rows_}
        shares = dict(zip(metrics["valid_cases"].outputs, values["valid_cases"], strict=True))
        kept_clean, valid, caught, localised, invalid_cases = counts["valid_cases"]
        report["valid_cases"] = {
            **shares,
            "counts": {
                "valid": valid,
                "clean": kept_clean,
                "invalid": invalid_cases,
                "caught": caught,
                "localised": localised,
            },
        }
        report["meta"] = {
            "examples": totals.examples,
            "average": settings.average,
            "offset_convention": "half-open [start, end)",
            "types": list(types),
            "macro_types": [name for name, taken in zip(types, included.tolist(), strict=True) if taken],
            "absent_types": settings.absent_types,
            "unknown_types": settings.unknown_types,
            "ignored": {"references": 0, "predictions": 0},
            "matching": settings.matching,
            "overlap_credit": settings.rules.overlap_credit,
            "min_overlap": settings.rules.min_overlap,
            "overlap_base": settings.rules.overlap_base,
        }
        report.signature = settings.signature(weighted=totals.weighted)
        report.invalid = invalid
        report._settings = settings
        report._holds = kept
        return report

    def _forget_rows(self) -> None:
        assert self._settings is not None
        self._holds = self._holds.without_rows(self._settings, TOO_MANY)

    def statistics(self, key: str) -> NDArray[Any]:
        """Return the statistics of one measure, shape (n, k): row i is example i.

        Keys are those of the measures over all spans, ``"by_type.TYPE"`` (correct, partial, predictions, references),
        ``"types"`` (these four for every type), ``"confusion"`` (the cells of the matrix, row by row) and
        ``"valid_cases"``.

        Raises
        ------
        KeyError
            When there is no such measure.
        ValueError
            When the report keeps no statistics; the message says what would keep them.
        """
        keys = [type_key(name) for name in self["by_type"]]
        if key not in keys:
            return super().statistics(key)
        begin = keys.index(key) * len(BY_TYPE)
        return super().statistics("types")[:, begin : begin + len(BY_TYPE)]

    def _flat(self) -> dict[str, dict[str, float]]:
        """Return the scores without counts, those of a type as ``by_type.TYPE``."""
        found = {key: self[key] for key in MEASURES}
        found |= {type_key(name): leaf for name, leaf in self["by_type"].items()}
        found |= {key: self[key] for key in ("macro", "weighted")}
        flat = {key: {output: leaf[output] for output in _PRF} for key, leaf in found.items()}
        shares = ("clean", "caught", "localised")
        return {**flat, "valid_cases": {output: self["valid_cases"][output] for output in shares}}

    def _scores(self) -> Mapping[str, Mapping[str, float]]:
        """Return the outputs of every metric of the settings."""
        flat = self._flat()
        types = {f"{key}.{output}": value for key, leaf in flat.items() for output, value in leaf.items()}
        return {**flat, "types": types}

    def _keys(self) -> list[str]:
        return [*MEASURES, "macro", "weighted", "valid_cases"]

    def _intervals(self, resampling: Resampling, groups: Any) -> Intervals:
        # Counts have no intervals, and resampling them would take most of the time.
        assert self._settings is not None
        metrics = self._settings.metrics
        numbers = [number for number, (_, metric) in enumerate(metrics) if metric.outputs]
        scored = TypedReport(self)
        scored.signature = self.signature
        scored._settings = replace(self._settings, metrics=tuple(metrics[number] for number in numbers))
        scored._holds = self._holds.of_metrics(self._settings, numbers)
        return _by_key(super(TypedReport, scored)._intervals(resampling, groups), list(self._flat()))

    def flat(self) -> dict[str, float]:
        """Return the scores, without counts, as one flat dict of floats.

        Names are ``partial_f1``, ``by_type.ADD-PATH_f1``, ``macro_f1``, ``valid_cases_clean`` and so on.
        """
        return {flat_name(key, output): value for key, leaf in self._flat().items() for output, value in leaf.items()}

    def confusion_matrix(self) -> IntArray:
        """Return the confusion matrix, shape (types + 1, types + 1): references along rows, "none" last.

        Counts are whole numbers unless examples have weights that are not.
        """
        return np.array(self["confusion"]["matrix"])

    def confusion_table(self, format: str = "text", *, digits: int = 4) -> str:
        """Return the confusion matrix as a table: rows are types of references, columns those of predictions.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout.
        digits : int
            Decimals, where weights make fractions.
        """
        labels = self["confusion"]["labels"]
        body = [
            [name, *(_number(cell, digits) for cell in row)]
            for name, row in zip(labels, self["confusion"]["matrix"], strict=True)
        ]
        return render(["reference", *labels], body, format=format)

    def plot_confusion(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the confusion matrix with scikit-learn's display.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        **options
            Passed on to ``ConfusionMatrixDisplay.plot``, e.g. ``cmap`` and ``values_format``.

        Returns
        -------
        sklearn.metrics.ConfusionMatrixDisplay
            With ``ax_``, ``figure_`` and ``text_``.

        Raises
        ------
        ImportError
            When scikit-learn or matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
            from sklearn.metrics import ConfusionMatrixDisplay
        except ImportError as error:
            raise ImportError(
                f'plot_confusion needs {error.name}: pip install "mycelium-eval[sklearn,plot]"', name=error.name
            ) from error
        display = ConfusionMatrixDisplay(self.confusion_matrix(), display_labels=self["confusion"]["labels"])
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained")
        display.plot(ax=ax, **{"cmap": "Blues", "xticks_rotation": 45, "values_format": "g", **options})
        display.ax_.set(xlabel="type of the prediction", ylabel="type of the reference")
        return display

    def to_table(self, format: str = "text", *, digits: int = 4) -> str:
        """Return the scores as a table: the measures, each type, and the means over types, with counts.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. All but CSV end with the valid cases, the number of examples, the average and the signature.
        digits : int
            Decimals.
        """
        named = [(key, self[key]) for key in MEASURES]
        named += list(self["by_type"].items())
        named += [(f"{key} over types", self[key]) for key in ("macro", "weighted")]
        body = [
            [
                name,
                *(f"{leaf[output]:.{digits}f}" for output in _PRF),
                *(_number(leaf.get(count), digits) for count in (*_SHOWN, "references")),
            ]
            for name, leaf in named
        ]
        header = ["measure", "precision", "recall", "F1", *_SHOWN, "references"]
        table = render(header, body, format=format)
        if format == "csv":
            return table
        return with_notes(table, ["\n".join([self._cases(digits), self._summary()]), self.signature], format)

    def _cases(self, digits: int) -> str:
        shares = self["valid_cases"]
        counts = shares["counts"]
        valid, invalid = (
            f"{_number(counts[kind], digits)} {kind} case{'s' * (counts[kind] != 1)}" for kind in ("valid", "invalid")
        )
        return (
            f"{valid}, {shares['clean']:.{digits}f} kept clean; {invalid}, {shares['caught']:.{digits}f} caught,"
            f" {shares['localised']:.{digits}f} localised"
        )

    def _summary(self) -> str:
        ignored = self["meta"]["ignored"]
        text = super()._summary()
        if any(ignored.values()):
            spans = " and ".join(f"{count} {side}" for side, count in ignored.items() if count)
            text += f"; left out for their unknown types: {spans}"
        return text


def _counts(settings: TypedSettings, totals: Totals) -> dict[str, list[Any]]:
    """Return the sums of the counts of each metric; whole numbers unless weights are not."""
    sums = {key: totals.sums(number) for number, (key, _) in enumerate(settings.metrics)}
    if COUNTS in sums:
        # The averages are means over examples: the counts of these measures were summed on their own.
        begin = 0
        for key, metric in settings.metrics:
            if key in MEASURES:
                end = begin + len(metric.columns)
                sums[key] = sums[COUNTS][begin:end]
                begin = end
    whole = all((values == np.floor(values)).all() for values in sums.values())
    return {key: [int(x) if whole else x for x in values.tolist()] for key, values in sums.items()}


def _leaf(scores: dict[str, float], counts: dict[str, Any]) -> dict[str, Any]:
    """Return scores and counts; what has no partner is the rest."""
    if "correct" not in counts:
        return {**scores, **counts}
    paired = counts["correct"] + counts.get("partial", 0)
    rest = {"spurious": counts["predictions"] - paired, "missed": counts["references"] - paired}
    return {**scores, **{key: counts[key] for key in ("correct", "partial") if key in counts}, **rest, **counts}


def _by_key(found: Intervals, keys: Sequence[str]) -> Intervals:
    """Return intervals with the outputs of all types, ``types: {by_type.TYPE.f1: ...}``, under keys of their own."""
    bounds, scores, replicates = found["types"], found.scores["types"], found.replicates("types")
    out = Intervals()
    out.signature = found.signature
    for key in keys:
        if key in found:
            out[key], out.scores[key], out._replicates[key] = found[key], found.scores[key], found.replicates(key)
            continue
        names = {output: f"{key}.{output}" for output in _PRF}
        out[key] = {output: bounds[name] for output, name in names.items()}
        out.scores[key] = {output: scores[name] for output, name in names.items()}
        begin = list(scores).index(names[_PRF[0]])
        out._replicates[key] = replicates[:, begin : begin + len(_PRF)]
    meta = found["meta"]
    out["meta"] = {**meta, "notes": {name.removeprefix("types."): note for name, note in meta["notes"].items()}}
    return out


def _number(value: Any, digits: int) -> str:
    return "" if value is None else str(value) if isinstance(value, int) else f"{value:.{digits}f}"
