"""Errors: the dict that ``find_errors`` returns, its tables and the worst examples."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mycelium.errors import layout
from mycelium.errors.columns import slice_names
from mycelium.errors.excerpts import excerpt
from mycelium.errors.kinds import CODE, COUNTED_ON, ERRORS, KINDS, SIDES
from mycelium.errors.repair import repaired
from mycelium.errors.verdicts import Verdicts
from mycelium.metrics import Metric
from mycelium.metrics.names import flat_name
from mycelium.report import Report
from mycelium.settings import Settings
from mycelium.spans import FloatArray, IntArray, InvalidCounts, SpanBatch
from mycelium.tables import as_json

__all__ = ["Errors", "Judged"]


class Judged(NamedTuple):
    """n examples with verdicts, and what they are called."""

    references: SpanBatch
    predictions: SpanBatch
    found: Verdicts
    typed: bool
    text: list[str] | None
    ids: list[Any]
    slices: dict[str, list[str]]

    def kinds(self, side: str) -> IntArray:
        """Return the place in ``KINDS`` of the verdict of each span of a side."""
        return self.found.references if side == "references" else self.found.predictions

    def batch(self, side: str) -> SpanBatch:
        """Return the spans of a side."""
        return self.references if side == "references" else self.predictions


class Errors(dict[str, Any]):
    """What went wrong in one evaluation: a plain dict of plain values, and the spans behind it.

    ``counts`` holds for each of the ten verdicts the number of ``cases`` and of the ``references`` and ``predictions``
    that have it. ``scores`` holds the scores as they are, ``repaired`` for each kind of error that occurs what they
    would be were that kind alone repaired. ``slices`` holds for each column and slice its ``examples`` and
    ``counts``. ``meta`` holds what one must know of it.

    A case is a pair, one reference split into pieces, one prediction merging several references, or one span alone:
    the cases of merged, duplicate and spurious are predictions, all others are references.

    Attributes
    ----------
    signature : str
        The conventions in one line: the report's, and whether types count.
    invalid : InvalidCounts
        What leniency did to the input.
    counts : dict
        The entry ``counts``.
    """

    signature: str
    invalid: InvalidCounts

    def __init__(self, values: Mapping[str, Any] = (), /) -> None:  # type: ignore[assignment]
        super().__init__(values)
        self.signature = ""
        self.invalid = InvalidCounts()
        self._report: Report | None = None
        self._settings: Settings | None = None
        self._judged: Judged | None = None

    @classmethod
    def _of(
        cls,
        report: Report,
        settings: Settings,
        scores: dict[str, dict[str, float]],
        signature: str,
        judged: Judged,
    ) -> Errors:
        errors = cls()
        errors._report, errors._settings, errors._judged = report, settings, judged
        errors.invalid = report.invalid
        errors.signature = f"{signature}|errors:{'typed' if judged.typed else 'untyped'}"
        errors["counts"] = errors._by_slice(np.zeros(len(judged.ids), dtype=np.int64), 1)[0]
        errors["scores"] = scores
        errors["repaired"] = {}
        errors["slices"] = {name: errors._sliced(values) for name, values in judged.slices.items()}
        errors["meta"] = {
            "examples": len(judged.ids),
            "references": len(judged.references.start),
            "predictions": len(judged.predictions.start),
            "typed": judged.typed,
            "average": settings.average,
        }
        return errors

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """For each verdict its cases, references and predictions."""
        counts: dict[str, dict[str, int]] = self["counts"]
        return counts

    @cached_property
    def cases(self) -> IntArray:
        """Number of cases of each verdict in each example, shape (n, 10): row i is example i, columns as ``KINDS``."""
        judged = self._whole()
        out = np.zeros((len(judged.ids), len(KINDS)), dtype=np.int64)
        for side in SIDES:
            for number, kind in enumerate(KINDS):
                if COUNTED_ON[kind] == side:
                    batch = judged.batch(side)
                    out[:, number] = np.bincount(batch.row[judged.kinds(side) == number], minlength=len(out))
        return out

    @property
    def verdicts(self) -> tuple[list[list[str]], list[list[str]]]:
        """For the references and for the predictions n lists with a verdict for each span, in the order as read.

        :func:`mycelium.view.review_page` takes them as they are.
        """
        judged = self._whole()
        out = []
        for side in SIDES:
            words, cuts = [KINDS[i] for i in judged.kinds(side).tolist()], judged.batch(side).offsets.tolist()
            out.append([words[cuts[i] : cuts[i + 1]] for i in range(len(judged.ids))])
        return out[0], out[1]

    def repair(self, *kinds: str) -> SpanBatch:
        """Return the predictions with these kinds of errors repaired, all of them if none is named.

        Raises
        ------
        ValueError
            When a kind is none of ``ERRORS``.

        Examples
        --------
        >>> from mycelium.errors import find_errors
        >>> errors = find_errors(references=[[[0, 9], [20, 25]]], predictions=[[[1, 9], [40, 44]]])
        >>> errors.repair("too narrow").tolist(), errors.repair().tolist()
        ([[[0, 9], [40, 44]]], [[[0, 9], [20, 25]]])
        """
        for kind in kinds:
            if kind not in ERRORS:
                raise ValueError(f"kinds must be among {', '.join(map(repr, ERRORS))}, got {kind!r}")
        judged = self._whole()
        return repaired(judged.references, judged.predictions, judged.found, kinds or ERRORS)

    def worst(self, n: int = 10, *, metric: str | None = None, output: str | None = None) -> list[dict[str, Any]]:
        """Return the worst examples: lowest score first, of equal ones those with more errors, then by row.

        Examples without an error are left out, whatever their score.

        Parameters
        ----------
        n : int
            How many.
        metric : str, optional
            Key of the metric whose score of each example counts; by default IoU or ``partial`` if they are there, else
            the first. Where all metrics speak of all examples together only, there is no score.
        output : str, optional
            Its output; F1 or the score by default.

        Returns
        -------
        list of dict
            ``row``, ``id``, ``slices``, ``score``, ``errors`` (cases), and ``references`` and ``predictions``: for
            each span ``start``, ``end``, ``type``, ``verdict`` and, with texts, an ``excerpt`` in which the span
            stands between ``»`` and ``«``.

        Raises
        ------
        KeyError, ValueError
            When there is no such metric or output.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"n must be a whole number from 0 on, got {n!r}")
        judged = self._whole()
        _, score, sign = self._scored(metric, output)
        errors = self.cases[:, 1:].sum(axis=1)
        rows = np.flatnonzero(errors)
        low = np.zeros(len(rows)) if score is None else sign * score[rows]
        order = rows[np.lexsort((rows, -errors[rows], low))]
        return [
            {
                "row": row,
                "id": judged.ids[row],
                "slices": {name: values[row] for name, values in judged.slices.items()},
                "score": None if score is None else float(score[row]),
                "errors": int(errors[row]),
                **{side: self._spans(side, row) for side in SIDES},
            }
            for row in order[:n].tolist()
        ]

    # -- tables

    def to_table(self, format: str = "text", *, digits: int = 4) -> str:
        """Return a line for each verdict that occurs: its counts, and what repairing it alone adds to each score.

        The last line has all errors and the scores as they are: F1 or the score of each metric.

        Parameters
        ----------
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout. All but CSV end with notes. CSV has the counts of the slices too, and unrounded scores of all
            outputs: after the repair of each kind and, for all errors, as they are.
        digits : int
            Decimals.
        """
        return layout.main_table(self, format, digits)

    def table(self, by: Any, format: str = "text", *, count: str = "cases") -> str:
        """Return a line for each slice: its examples, and how often each verdict occurs there.

        Parameters
        ----------
        by : str, or sequence of length n
            A column of the slices that were given, or value i for example i.
        format : {"text", "markdown", "csv", "html", "latex"}
            The layout.
        count : {"cases", "references", "predictions"}
            What is counted.

        Raises
        ------
        KeyError, ValueError
            When there is no such column, or not a value for each example.
        """
        if count not in ("cases", *SIDES):
            raise ValueError(f"count must be one of 'cases', 'references', 'predictions', got {count!r}")
        if not isinstance(by, str):
            found = self._sliced(slice_names("by", by, len(self._whole().ids)))
            return layout.slices_table(self, "slice", found, format, count)
        if by not in self["slices"]:
            raise KeyError(f"there are no slices {by!r}; there are {', '.join(map(repr, self['slices'])) or 'none'}")
        return layout.slices_table(self, by, self["slices"][by], format, count)

    def worst_table(
        self, n: int = 10, format: str = "text", *, metric: str | None = None, output: str | None = None
    ) -> str:
        """Return the worst examples as a table with a line for each span; see :meth:`worst`."""
        judged = self._whole()
        name, _, _ = self._scored(metric, output)
        typed = any(batch.label is not None for batch in (judged.references, judged.predictions))
        return layout.worst_table(self.worst(n, metric=metric, output=output), list(judged.slices), name, typed, format)

    def to_json(self, path: str | os.PathLike[str] | None = None, *, worst: int = 0, metric: str | None = None) -> str:
        """Return ``{"errors": ..., "signature": ..., "invalid": ..., "worst": [...]}`` as JSON, for ``path`` if given.

        Parameters
        ----------
        path : path, optional
            The file.
        worst : int
            How many of the worst examples come along.
        metric : str, optional
            Their metric, see :meth:`worst`.
        """
        content = {
            "errors": self,
            "signature": self.signature,
            "invalid": self.invalid._asdict(),
            "worst": self.worst(worst, metric=metric) if worst else [],
        }
        return as_json(content, path, default=str)

    def _repr_html_(self) -> str:
        return self.to_table("html")

    # -- parts

    def _whole(self) -> Judged:
        if self._judged is None:
            raise ValueError("these errors hold no spans: they were not made by find_errors()")
        return self._judged

    def _by_slice(self, code: IntArray, slices: int) -> list[dict[str, dict[str, int]]]:
        """Count the verdicts of the examples of each slice, given the number of each example's."""
        judged = self._whole()
        out = []
        tables = {
            side: np.bincount(
                code.take(judged.batch(side).row) * len(KINDS) + judged.kinds(side), minlength=slices * len(KINDS)
            ).reshape(slices, len(KINDS))
            for side in SIDES
        }
        for i in range(slices):
            counted = {side: tables[side][i].tolist() for side in SIDES}
            out.append(
                {
                    kind: {"cases": counted[COUNTED_ON[kind]][CODE[kind]]}
                    | {side: counted[side][CODE[kind]] for side in SIDES}
                    for kind in KINDS
                }
            )
        return out

    def _sliced(self, values: list[str]) -> dict[str, Any]:
        names = sorted(set(values))
        number = {name: i for i, name in enumerate(names)}
        code = np.fromiter(map(number.__getitem__, values), dtype=np.int64, count=len(values))
        sizes = np.bincount(code, minlength=len(names)).tolist()
        parts = self._by_slice(code, len(names))
        return {name: {"examples": sizes[i], "counts": parts[i]} for i, name in enumerate(names)}

    def _chosen(self, metric: str | None, output: str | None) -> tuple[Metric, str, str] | None:
        """Return a metric that examples have scores in, its key and its output; None where none is wanted or there."""
        assert self._settings is not None
        metrics = {key: one for key, one in self._settings.metrics if key in self["scores"] and not one.pooled}
        if metric is None:
            metric = next((key for key in ("iou", "partial", *metrics) if key in metrics), None)
            if metric is None:
                return None
        if metric not in metrics:
            raise KeyError(
                f"there is no metric {metric!r} of single examples; there are {', '.join(metrics) or 'none'}"
            )
        chosen = metrics[metric]
        output = chosen.primary if output is None else output
        if output not in chosen.outputs:
            raise ValueError(f"output must be one of {', '.join(map(repr, chosen.outputs))}, got {output!r}")
        return chosen, metric, output

    def _scored(self, metric: str | None, output: str | None) -> tuple[str, FloatArray | None, int]:
        """Return the name of a score, its value for each example if there is one, and 1 if low is bad, else -1."""
        chosen = self._chosen(metric, output)
        if chosen is None:
            return "score", None, 1
        one, key, output = chosen
        assert self._report is not None
        assert self._settings is not None
        values = one.value(self._report.statistics(key), self._settings.undefined)
        return flat_name(key, output), values[:, one.outputs.index(output)], 1 if one.greater_is_better else -1

    def _spans(self, side: str, row: int) -> list[dict[str, Any]]:
        judged = self._whole()
        batch, kinds = judged.batch(side), judged.kinds(side)
        out = []
        for j in range(int(batch.offsets[row]), int(batch.offsets[row + 1])):
            start, end = int(batch.start[j]), int(batch.end[j])
            span = {
                "start": start,
                "end": end,
                "type": None if batch.label is None else batch.label[j],
                "verdict": KINDS[kinds[j]],
            }
            if judged.text is not None:
                span["excerpt"] = excerpt(judged.text[row], start, end)
            out.append(span)
        return sorted(out, key=lambda span: (span["start"], span["end"], span["type"] or "", span["verdict"]))
