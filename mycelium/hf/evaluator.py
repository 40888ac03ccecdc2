"""SpanEvaluator: from a detector and a data set to scores.

The stock ``evaluate.evaluator`` wants words and one label for each, and does not run with transformers 5; this one asks
for texts and spans, and needs neither of the two libraries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from mycelium.formats import as_spans, read_spans
from mycelium.formats.texts import text_list
from mycelium.hf.options import check_options, reading
from mycelium.report import Report
from mycelium.scoring import evaluate
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.typed import TypedReport, evaluate_typed

__all__ = ["EvaluatorReport", "SpanEvaluator", "TypedEvaluatorReport"]

_TASK = "token-classification"
#: Names that transformers invents where a model does not say what its classes mean.
_NAMELESS = re.compile(r"LABEL_\d+")


class EvaluatorReport(Report):
    """A report that keeps what was scored.

    Attributes
    ----------
    predictions : SpanBatch
        The spans of the detector, one row for each text.
    """

    predictions: SpanBatch


class TypedEvaluatorReport(TypedReport):
    """A report of typed spans that keeps what was scored.

    Attributes
    ----------
    predictions : SpanBatch
        The spans of the detector, one row for each text.
    """

    predictions: SpanBatch


class SpanEvaluator:
    """Run a detector over texts and score the spans it returns.

    Parameters
    ----------
    labels : str or collection of str, optional
        Score only spans with one of these labels, e.g. ``{"LABEL_1"}``. By default all spans count.
    threshold : float, optional
        Score only spans whose score is at least this.
    strip : bool, default=False
        Leave out the white space at both ends of the detector's spans, and spans that hold nothing else. The offsets of
        some tokenizers (byte-level BPE at the start of a text, SentencePiece) begin with the space before a word.
    batch_size : int, optional
        For a pipeline, its batch size. A callable gets one text at a time without it, and lists of this many with it.
    **options
        How to score: the options of :class:`mycelium.Accumulator` (``metrics``, ``profile``, ``average``, ...). Of
        these, `offsets` and `end` tell how the references count; detectors return characters, half-open. With ``types``
        the labels of spans are their types, and the options those of :class:`mycelium.TypedAccumulator`.

    Raises
    ------
    TypeError, ValueError
        When there is no such option, or its value is refused.

    Examples
    --------
    >>> from mycelium.hf import SpanEvaluator
    >>> def numbers(text):
    ...     return [[i, i + 1] for i, character in enumerate(text) if character.isdigit()]
    >>> data = {"text": ["Rome has 3 hills.", "No number."], "spans": [[[9, 10]], []]}
    >>> report = SpanEvaluator(metrics=["iou"]).compute(numbers, data)
    >>> report["iou"], report.predictions.tolist()
    ({'score': 1.0}, [[[9, 10]], []])
    """

    def __init__(
        self,
        *,
        labels: str | Collection[str] | None = None,
        threshold: float | None = None,
        strip: bool = False,
        batch_size: int | None = None,
        **options: Any,
    ) -> None:
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}")
        self.labels = None if labels is None else frozenset([labels] if isinstance(labels, str) else labels)
        self.threshold = threshold
        self.strip = strip
        self.batch_size = batch_size
        self.options = options
        self._typed = options.get("types") is not None
        self._reading = reading(check_options(options, self._typed))

    def predict(
        self,
        detector: Callable[..., Any],
        data: Any = None,
        *,
        text: str | Sequence[str] = "text",
        inputs: str | Sequence[str] | None = None,
    ) -> SpanBatch:
        """Return the spans that the detector finds, after `labels`, `threshold` and `strip`.

        Parameters are those of :meth:`compute`; so are the errors.
        """
        return self._predict(detector, data, text, inputs)[0]

    def compute(
        self,
        detector: Callable[..., Any],
        data: Any = None,
        *,
        text: str | Sequence[str] = "text",
        references: Any = "spans",
        inputs: str | Sequence[str] | None = None,
    ) -> EvaluatorReport | TypedEvaluatorReport:
        """Run the detector and score its spans.

        Parameters
        ----------
        detector : pipeline or callable
            A token-classification pipeline of transformers with an ``aggregation_strategy``; or a callable that
            returns a span set for a text, in any form that :func:`mycelium.as_spans` reads (with `batch_size`: a batch
            of them for a list of texts).
        data : Dataset, DataFrame, dict of columns, or list of dicts, optional
            The n examples.
        text : str or sequence of n str, default="text"
            The texts that spans point into, or the column of `data` that holds them.
        references : str or batch of n span sets, default="spans"
            The annotated spans, or their column.
        inputs : str or sequence of str, optional
            The columns handed to the detector, where it needs others than the text: one by position; several, such as
            ``["context", "answer"]``, by their names.

        Returns
        -------
        EvaluatorReport or TypedEvaluatorReport
            The report of :func:`mycelium.evaluate`, or with ``types`` of :func:`mycelium.evaluate_typed`, with the
            detector's spans as ``.predictions``.

        Raises
        ------
        TypeError
            When the detector is neither a pipeline of that kind nor a callable, or what it returns holds no spans.
        ValueError
            When a column is missing; the detector returns too few or too many rows, or spans past the text; a pipeline
            does not aggregate tokens, knows none of the `labels`, or has nameless classes and `labels` is not given.
        """
        wanted = _column(data, references, "references")
        predictions, counts, texts = self._predict(detector, data, text, inputs)
        sides = {"references": wanted, "predictions": predictions, "text": texts}
        report: Report = evaluate_typed(**sides, **self.options) if self._typed else evaluate(**sides, **self.options)
        result = TypedEvaluatorReport(report) if self._typed else EvaluatorReport(report)
        vars(result).update(vars(report))
        result.invalid = report.invalid.plus(counts)
        result.predictions = predictions
        return result

    def _predict(
        self, detector: Any, data: Any, text: Any, inputs: Any
    ) -> tuple[SpanBatch, InvalidCounts, Sequence[str]]:
        texts = text_list(_column(data, text, "text"))
        if _is_pipeline(detector):
            rows = self._run_pipeline(detector, texts, data, inputs)
        elif callable(detector):
            rows = self._run_callable(detector, texts, data, inputs)
        else:
            raise TypeError(f"the detector must be a pipeline or a callable, got {type(detector).__name__}")
        if len(rows) != len(texts):
            raise ValueError(f"the detector returned {len(rows)} rows for {len(texts)} texts")
        lenient = {name: self._reading[name] for name in ("invalid", "missing_rows")}
        batch, counts = read_spans(rows, name="predictions", text=texts, **lenient)
        return self._select(batch, texts), counts, texts

    def _run_pipeline(self, pipeline: Any, texts: Sequence[str], data: Any, inputs: Any) -> list[list[dict[str, Any]]]:
        names = _label_names(pipeline)
        if names and self.labels is not None and not self.labels <= names:
            unknown = ", ".join(sorted(self.labels - names))
            raise ValueError(f"the pipeline has no label {unknown}; it has {', '.join(sorted(names))}")
        if inputs is not None:
            if not isinstance(inputs, str):
                raise ValueError(f"a pipeline takes one column, inputs names {', '.join(inputs)}")
            texts = text_list(_column(data, inputs, "inputs"), name=inputs)
        # Nothing is found in an empty text, which some models do not survive.
        asked = [text for text in texts if text]
        found = pipeline(asked, **({} if self.batch_size is None else {"batch_size": self.batch_size})) if asked else []
        if len(found) != len(asked):
            raise ValueError(f"the pipeline returned {len(found)} rows for {len(asked)} texts")
        answers = iter(found)
        return [
            [self._entity(entity, row) for entity in next(answers)] if text else [] for row, text in enumerate(texts)
        ]

    def _entity(self, entity: Mapping[str, Any], row: int) -> dict[str, Any]:
        """Return one finding of a pipeline as a span."""
        if "entity_group" not in entity:
            raise ValueError('the pipeline returns single tokens; give it aggregation_strategy="simple" (or another)')
        if entity["start"] is None:
            raise ValueError(f"text {row}: the pipeline gives no character offsets; that takes a fast tokenizer")
        label = entity["entity_group"]
        if self.labels is None and _NAMELESS.fullmatch(label):
            raise ValueError(
                f"text {row}: the pipeline marks {label}, a name that says nothing, often of what is in order; tell"
                ' which labels are to be scored, e.g. labels={"LABEL_1"}'
            )
        return {"start": entity["start"], "end": entity["end"], "label": label, "score": float(entity["score"])}

    def _run_callable(self, detector: Any, texts: Sequence[str], data: Any, inputs: Any) -> list[Any]:
        if inputs is None or isinstance(inputs, str):
            columns = {"": list(texts if inputs is None else _column(data, inputs, "inputs"))}
        else:
            columns = {name: list(_column(data, name, "inputs")) for name in inputs}

        def call(arguments: dict[str, Any]) -> Any:
            return detector(arguments[""]) if "" in arguments else detector(**arguments)

        if self.batch_size is None:
            return [call({name: column[i] for name, column in columns.items()}) for i in range(len(texts))]
        rows: list[Any] = []
        for begin in range(0, len(texts), self.batch_size):
            part = slice(begin, min(begin + self.batch_size, len(texts)))
            found = call({name: column[part] for name, column in columns.items()})
            if len(found) != part.stop - part.start:
                raise ValueError(
                    f"the detector returned {len(found)} rows for texts {part.start} to {part.stop - 1};"
                    " with batch_size it is called with lists"
                )
            rows.extend(found)
        return rows

    def _select(self, batch: SpanBatch, texts: Sequence[str]) -> SpanBatch:
        """Apply labels, threshold and strip."""
        if self.labels is None and self.threshold is None and not self.strip:
            return batch
        rows: list[list[dict[str, Any]]] = [[] for _ in texts]
        for row, span in _spans(batch):
            if self.labels is not None:
                if span["label"] is None:
                    raise ValueError(
                        f"predictions: row {row} has a span without label; labels cannot choose among such"
                    )
                if span["label"] not in self.labels:
                    continue
            if self.threshold is not None:
                if span["score"] is None:
                    raise ValueError(f"predictions: row {row} has a span without score; threshold needs scores")
                if span["score"] < self.threshold:
                    continue
            if self.strip:
                piece = texts[row][span["start"] : span["end"]]
                span["start"] += len(piece) - len(piece.lstrip())
                span["end"] -= len(piece) - len(piece.rstrip())
                if not piece.strip():
                    continue
            rows[row].append(span)
        return as_spans(rows, text=texts, name="predictions")


def _spans(batch: SpanBatch) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every span with the row it belongs to."""
    nothing = [None for _ in batch.start]
    labels = nothing if batch.label is None else batch.label.tolist()
    scores = nothing if batch.score is None else [None if s != s else s for s in batch.score.tolist()]
    columns = (batch.row.tolist(), batch.start.tolist(), batch.end.tolist(), labels, scores)
    for row, start, end, label, score in zip(*columns, strict=True):
        yield row, {"start": start, "end": end, "label": label, "score": score}


def _is_pipeline(detector: Any) -> bool:
    """Tell whether this is a token-classification pipeline; another pipeline is refused."""
    task = getattr(detector, "task", None)
    if not isinstance(task, str) or not hasattr(detector, "tokenizer"):
        return False
    if task not in (_TASK, "ner"):
        raise TypeError(f"the detector must be a {_TASK} pipeline, got one for {task}")
    return True


def _label_names(pipeline: Any) -> set[str]:
    """Return the labels that a pipeline can give, without the B- and I- that aggregation takes off."""
    config = getattr(getattr(pipeline, "model", None), "config", None)
    names = (getattr(config, "id2label", None) or {}).values()
    return {name[2:] if name[:2] in ("B-", "I-") else name for name in names}


def _column(data: Any, column: Any, argument: str) -> Any:
    """Return a column of the data by name; what is no name is the column itself."""
    if not isinstance(column, str):
        return column
    if data is None:
        raise ValueError(f"{argument}={column!r} names a column, but there is no data")
    rows = isinstance(data, (list, tuple))
    first = (data[0] if len(data) else {column: None}) if rows else data
    known = list(getattr(first, "column_names", None) or first)
    if column not in known:
        raise ValueError(f"{argument}: the data has no column {column!r}; it has {', '.join(map(str, known))}")
    if not rows:
        return data[column]
    lacking = [i for i, row in enumerate(data) if column not in row]
    if lacking:
        raise ValueError(f"{argument}: row {lacking[0]} has no {column!r}")
    return [row[column] for row in data]
