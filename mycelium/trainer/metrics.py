"""SpanMetrics: what a training loop is handed to score the spans behind its logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mycelium.accumulators import READING, accumulator
from mycelium.formats.evaluation_rows import EvaluationSet, Rows, blocks_of, place, rows_of, split_labels, tokens_of
from mycelium.formats.token_probabilities import check_options, class_probabilities, read_tags, spans_of_tokens
from mycelium.report import Report
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.trainer.features import FEATURE, INPUTS, LABELS, OFFSETS, check_labels, read_set, with_ids

__all__ = ["SpanMetrics"]

ARGUMENTS = ("features", "examples", "spans", "text")


class SpanMetrics:
    """Score the spans behind a token classifier's logits, one number for each metric.

    Hand it to a Trainer, whole::

        metrics = SpanMetrics(features=tokenized, examples=examples, spans="hard_labels", text="model_output_text")
        trainer = Trainer(
            args=TrainingArguments(label_names=metrics.label_names, metric_for_best_model="iou", ...),
            eval_dataset=metrics.eval_dataset,
            compute_metrics=metrics,
            preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
            ...
        )

    Rows then carry their ``feature_id`` through the loop, so that grouping by length, several processes and repeated
    rows change nothing. Without it rows are recognised by their labels, and refused where these prove nothing.

    Parameters
    ----------
    features : dataset, list of dicts, or dict of columns, with n rows; or a dict of such
        The tokenized evaluation set, one row for each window. It needs the column ``offset_mapping`` (tokens that are
        special, or of the prompt: None or ``(0, 0)``), ``labels``, and, where an example has several windows,
        ``example_id`` or ``overflow_to_sample_mapping``, which is renumbered. A dict of names to sets (whose columns
        are in `examples` under the same names) stands for several evaluation sets.
    examples : dataset, list of dicts, dict of columns or DataFrame; or a dict of such; or None
        The examples before tokenization, in order. None where `spans` and `text` are given as they are.
    spans : str, or a batch of span sets
        The column of `examples` that holds the annotated spans, in characters, or the spans themselves, as
        :func:`mycelium.as_spans` reads them (with several sets, a dict of these).
    text : str, or sequence of str, optional
        The column of texts, or the texts. With them, offsets and spans are checked, and white space at the ends of
        predicted spans is cut off.
    positive : sequence of int, or dict of int to str, default=(1,)
        The classes of hallucinated tokens; their probabilities add up. A dict gives each class its tag, ``"B-type"``,
        ``"I-type"``, ``"B"`` or ``"I"`` (``"O"`` is not positive), as a model's ``id2label`` does; then a B opens a
        new span, and spans have types.
    threshold : float, default=0.5
        The smallest probability that marks a token.
    aggregate : {"mean", "max", "min"}, default="mean"
        How the probabilities of a token in several windows become one.
    metrics, average : optional
        As in :class:`mycelium.Accumulator`.
    id : str or None, default="id"
        The column of `examples` with their ids, to which ``example_id`` of the features refers. Ids may not repeat;
        None says that no column holds ids.
    ignore_unlabelled : bool, default=False
        Leave out tokens with the label -100. For features whose prompt tokens have offsets of their own; not for labels
        on the first piece of each word only.
    in_order : bool, default=False
        Say that rows without ``feature_id`` come in the order of the features, where labels cannot prove it.
    **options
        Other options of :class:`mycelium.Accumulator`; ``invalid``, ``missing_rows``, ``offsets`` and ``end`` say how
        the annotated spans are read. With ``types`` spans are typed, by tags in `positive`, and the options are those
        of :class:`mycelium.TypedAccumulator`.

    Attributes
    ----------
    label_names : list of str
        For ``TrainingArguments``: ``["labels", "feature_id"]``.
    eval_dataset : dataset, or dict of such
        The features with the column ``feature_id``.
    predictions : SpanBatch or None
        The spans of the last evaluation, one row for each example.
    report : Report or None
        The full report of the last evaluation, with its signature.
    evaluated : str
        The name of the set of the last evaluation; empty where there is only one.

    Raises
    ------
    TypeError, ValueError
        At construction when a column is missing or columns do not fit together, when two examples have one id, an
        example has no feature, or offsets are impossible; in a loop when rows are missing, too many, or not those of
        the features. The message says what to do.

    Notes
    -----
    Spans are made by :func:`mycelium.formats.spans_from_token_probabilities`; see there for the rule. Values are plain
    floats and never NaN: a side with nothing to divide by has the value that is printed in the signature (1, for
    ``character`` 0, unless ``undefined=`` says otherwise). Logits that are NaN or infinite are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from mycelium.trainer import SpanMetrics
    >>> features = {"offset_mapping": [[None, (0, 5), (5, 9), None]], "labels": [[-100, 0, 1, -100]]}
    >>> metrics = SpanMetrics(features=features, examples={"labels": [[[6, 9]]], "answer": ["It is red"]},
    ...                       spans="labels", text="answer", metrics=["iou", "exact_span"])
    >>> logits = np.array([[[0.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 0.0]]])
    >>> metrics((logits, np.array([[-100, 0, 1, -100]])))
    {'iou': 1.0, 'exact_span_precision': 1.0, 'exact_span_recall': 1.0, 'exact_span_f1': 1.0}
    >>> metrics.predictions.tolist()
    [[[6, 9]]]
    """

    def __init__(
        self,
        *,
        features: Any,
        examples: Any,
        spans: Any,
        text: Any = None,
        positive: Sequence[int] | Mapping[int, str] = (1,),
        threshold: float = 0.5,
        aggregate: str = "mean",
        metrics: Any = None,
        average: str | None = None,
        id: str | None = "id",
        ignore_unlabelled: bool = False,
        in_order: bool = False,
        **options: Any,
    ) -> None:
        check_options(threshold, aggregate)
        self.threshold = threshold
        self.aggregate = aggregate
        self.positive, self.tags = _classes(positive)
        self.in_order = in_order
        self.label_names = [LABELS, FEATURE]
        self._options: dict[str, Any] = {"metrics": metrics, "average": average, **options}
        check_labels(accumulator(**self._options), self.tags)
        self.predictions: SpanBatch | None = None
        self.report: Report | None = None
        self.evaluated = ""
        self._rows: list[Rows] = []
        self._sets: list[EvaluationSet] = []
        self._gold: list[tuple[SpanBatch, InvalidCounts]] = []
        self._features = features
        reading = {name: options[name] for name in READING if name in options}
        several = isinstance(features, Mapping) and not {OFFSETS, INPUTS} & set(features)
        if several and not features:
            raise ValueError("features: an empty dict")
        first = 0
        for name in features if several else ("",):
            parts = [features, examples, spans, text]
            if several:
                parts = [_of_set(part, name, what) for part, what in zip(parts, ARGUMENTS, strict=True)]
            try:
                one, gold = read_set(name, first, *parts, id=id, ignore_unlabelled=ignore_unlabelled, reading=reading)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}: {error}" if name else str(error)) from None
            self._sets.append(one)
            self._gold.append(gold)
            first += len(one.windows)
            self._scored(len(self._sets) - 1, gold[0])  # what cannot be scored at all is refused now

    @property
    def eval_dataset(self) -> Any:
        """The features with their ids in a column ``feature_id``; for several sets, a dict of these."""
        if not self._sets[0].name:
            return with_ids(self._features, self._sets[0])
        return {one.name: with_ids(self._features[one.name], one) for one in self._sets}

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """Keep the logits and let go of whatever else a model returns, hidden states for instance."""
        return logits[0] if isinstance(logits, (tuple, list)) else logits

    def __call__(self, prediction: Any, compute_result: bool | None = None) -> dict[str, float]:
        """Score an evaluation, or with ``batch_eval_metrics`` a batch of one.

        Parameters
        ----------
        prediction : EvalPrediction, or (predictions, label_ids)
            Predictions are logits of shape (rows, tokens, classes), or, without the last axis, classes as integers or
            probabilities as floats; arrays or tensors; a tuple that begins with them; or a list of batches. Labels
            come as ``label_names`` asks for them, or alone.
        compute_result : bool, optional
            False adds a batch and returns nothing yet; True adds the last one. By default rows are a whole evaluation.

        Returns
        -------
        dict of str to float
            The scores, flat (``Report.flat``), with the same keys each time.

        Raises
        ------
        ValueError
            When rows are missing or cannot be matched with the features. What was added is forgotten then.
        """
        if compute_result is None:
            self.reset()
        try:
            self._add(*_parts(prediction))
        except Exception:
            self.reset()
            raise
        return {} if compute_result is not None and not compute_result else self.compute()

    def add(self, predictions: Any, feature_id: Any = None, labels: Any = None) -> None:
        """Add a batch of rows, in a loop of one's own.

        Parameters
        ----------
        predictions : array or tensor (b, t, c), or list of b arrays (t, c)
            The logits of b features, or as in a call.
        feature_id : sequence of b int, optional
            Their ids: the column of `eval_dataset`. Rows may come in any order, and repeat.
        labels : array or tensor (b, t), optional
            Their labels, to be compared.
        """
        self._rows.append(rows_of(predictions, feature_id, labels))

    def compute(self) -> dict[str, float]:
        """Score the rows added so far, and forget them."""
        rows = self._rows
        self.reset()
        number, spans = self._decoded(rows, self._sets, self.in_order, self.threshold)
        report = self._scored(number, spans)
        self.predictions, self.report, self.evaluated = spans, report, self._sets[number].name
        return report.flat()

    def reset(self) -> None:
        """Forget rows that were added and not computed; the results of the last evaluation go too."""
        self._rows = []
        self.predictions = self.report = None
        self.evaluated = ""

    def decode(
        self, predictions: Any, label_ids: Any = None, *, name: str | None = None, threshold: float | None = None
    ) -> SpanBatch:
        """Return the spans of predictions, without scoring them.

        Parameters
        ----------
        predictions : PredictionOutput, or predictions as in a call
            What ``Trainer.predict`` returns, best as it is: its labels place the rows. Without labels, rows must be in
            the order of the features.
        label_ids : optional
            The labels that go with bare predictions.
        name : str, optional
            The set, where several have as many features.
        threshold : float, optional
            Another threshold than that of the metrics.

        Returns
        -------
        SpanBatch
            One row for each example.
        """
        if hasattr(predictions, "predictions"):
            predictions, label_ids = _parts(predictions)
        sets = [one for one in self._sets if name is None or one.name == name]
        if not sets:
            raise ValueError(f"name must be one of {', '.join(repr(one.name) for one in self._sets)}, got {name!r}")
        threshold = self.threshold if threshold is None else threshold
        trusted = self.in_order or label_ids is None
        return self._decoded(_read(predictions, label_ids), sets, trusted, threshold)[1]

    def _add(self, predictions: Any, label_ids: Any) -> None:
        self._rows.extend(_read(predictions, label_ids))

    def _decoded(
        self, rows: list[Rows], sets: list[EvaluationSet], trusted: bool, threshold: float
    ) -> tuple[int, SpanBatch]:
        number, where, shift = place(rows, sets, trusted=trusted)
        windows = sets[number].windows
        values = tokens_of(rows, where, shift, windows)
        spans = spans_of_tokens(
            class_probabilities(values, self.positive),
            windows,
            threshold=threshold,
            aggregate=self.aggregate,
            tags=self.tags,
        )
        return number, spans

    def _scored(self, number: int, spans: SpanBatch) -> Report:
        gold, invalid = self._gold[number]
        scores = accumulator(**self._options)
        scores.update(gold, spans)
        report = scores.compute()
        report.invalid = report.invalid.plus(invalid)
        return report


def _of_set(part: Any, name: str, what: str) -> Any:
    if part is None or isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or name not in part:
        raise ValueError(f"{what}: features are a dict of sets, so {what} must be one, with the name {name!r}")
    return part[name]


def _classes(positive: Any) -> tuple[list[int], list[str] | None]:
    """Return the positive classes, and their tags where these are given."""
    tags = None
    if isinstance(positive, Mapping):
        positive = {number: tag for number, tag in positive.items() if tag != "O"}
        tags = list(positive.values())
    classes = list(positive)
    if not classes or any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in classes):
        raise ValueError(f"positive must name classes by their numbers, e.g. (1,) or {{1: 'B', 2: 'I'}}: {positive!r}")
    if len(set(classes)) < len(classes):
        raise ValueError(f"positive names a class twice: {positive!r}")
    if tags is not None:
        read_tags(tags, len(classes))
    return classes, tags


def _parts(prediction: Any) -> tuple[Any, Any]:
    if hasattr(prediction, "predictions"):
        return prediction.predictions, prediction.label_ids
    if isinstance(prediction, tuple) and len(prediction) == 2:
        return prediction
    raise TypeError(f"expected an EvalPrediction or (predictions, label_ids), got {type(prediction).__name__}")


def _read(predictions: Any, label_ids: Any) -> list[Rows]:
    out = []
    for values, part in blocks_of(predictions, label_ids):
        labels, ids = split_labels(part)
        out.append(rows_of(values, ids, labels))
    return out
