"""evaluate() and Accumulator: from spans to a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelium.batch import Batch, read_batch
from mycelium.confidence import Intervals, Resampling
from mycelium.draws import Units, units_of
from mycelium.inputs import one_or_batch
from mycelium.kept import Keeper
from mycelium.line import lines
from mycelium.metrics import Metric
from mycelium.reduce import Totals
from mycelium.report import ROWS_KEPT, Report
from mycelium.settings import Settings
from mycelium.spans import IntArray, InvalidCounts

__all__ = ["Accumulator", "bootstrap", "evaluate"]


class Accumulator:
    """Score a stream of batches in constant memory.

    However the examples are cut into batches, in whatever order they come and on however many machines, the result
    has the same bits as one :func:`evaluate` of all of them (with real-valued weights, to 1e-12).

    Parameters
    ----------
    metrics, profile, average, undefined, tolerance, invalid, missing_rows, offsets, end
        As in :func:`evaluate`.
    span_coverage_delta, span_coverage_min_pred_len, deteval_recall_threshold, deteval_precision_threshold, \
deteval_granularity_penalty, cleval_area_precision_threshold, cleval_granularity_penalty
        As in :func:`evaluate`.
    keep_statistics : bool
        Keep the statistics of every example, so that reports have slices and intervals; memory grows with the examples.
        Without it the groups that updates name have their sums kept, which is enough for intervals.

    Examples
    --------
    >>> from mycelium import Accumulator
    >>> scores = Accumulator(metrics=["iou"])
    >>> scores.update([[[0, 10]]], [[[2, 8]]])
    >>> other = Accumulator(metrics=["iou"])
    >>> other.update([[[4, 7]], []], [[[4, 7]], []])
    >>> scores.merge(other)
    >>> scores.compute()["iou"]
    {'score': 0.8666666666666667}
    """

    #: Rows whose statistics are counted at once; None for what fits most metrics.
    _rows_at_once: int | None = None

    def __init__(
        self,
        *,
        metrics: Sequence[str | Metric] | str | Metric | None = None,
        profile: str | None = None,
        average: str | None = None,
        span_coverage_delta: int = 0,
        span_coverage_min_pred_len: int = 1,
        deteval_recall_threshold: float = 0.8,
        deteval_precision_threshold: float = 0.4,
        deteval_granularity_penalty: float = 0.8,
        cleval_area_precision_threshold: float = 0.3,
        cleval_granularity_penalty: float = 1.0,
        undefined: float | None = None,
        tolerance: float = 0.0,
        invalid: str = "raise",
        missing_rows: str = "raise",
        offsets: str = "codepoint",
        end: str = "exclusive",
        keep_statistics: bool = False,
    ) -> None:
        settings = Settings.of(
            metrics=metrics,
            profile=profile,
            average=average,
            undefined=undefined,
            tolerance=tolerance,
            invalid=invalid,
            missing_rows=missing_rows,
            offsets=offsets,
            end=end,
            long_named={
                "span_coverage_delta": span_coverage_delta,
                "span_coverage_min_pred_len": span_coverage_min_pred_len,
                "deteval_recall_threshold": deteval_recall_threshold,
                "deteval_precision_threshold": deteval_precision_threshold,
                "deteval_granularity_penalty": deteval_granularity_penalty,
                "cleval_area_precision_threshold": cleval_area_precision_threshold,
                "cleval_granularity_penalty": cleval_granularity_penalty,
            },
        )
        self._begin(settings, keep_statistics)

    def _begin(self, settings: Settings, keep_statistics: object) -> None:
        self.settings = settings
        self._metrics = [metric for _, metric in settings.metrics]
        if not isinstance(keep_statistics, bool):
            raise TypeError(f"keep_statistics must be True or False, got {keep_statistics!r}")
        self._keep_statistics = keep_statistics
        self.reset()

    def reset(self) -> None:
        """Forget all examples."""
        self._totals = Totals(self._metrics, self.settings.average, self.settings.undefined)
        self._invalid = InvalidCounts()
        self._keeper = Keeper(self.settings, self._keep_statistics)

    def update(
        self,
        references: Any,
        predictions: Any,
        text: Any = None,
        sample_weight: Any = None,
        soft_references: Any = None,
        soft_predictions: Any = None,
        groups: Any = None,
    ) -> None:
        """Add a batch of examples.

        Parameters
        ----------
        references, predictions : batches of span sets
            Whatever :func:`mycelium.as_spans` reads, n rows each; row i of both belongs to example i. A single span
            set is not a batch.
        text : sequence of str, optional
            The n texts; bounds are checked against them.
        sample_weight : sequence of float, optional
            The n weights: 0, or between 1e-100 and 1e100.
        soft_references, soft_predictions : batches of spans with probabilities, optional
            For metrics that read them.
        groups : sequence of n strings or numbers, optional
            Value i names the group of example i, e.g. its source document, for intervals by group. All updates have
            groups, or none has.

        Raises
        ------
        TypeError, ValueError
            When the input cannot be used as it is; nothing of the batch is counted then.
        """
        batch = self._read(references, predictions, text, sample_weight, soft_references, soft_predictions)
        self._add(batch, None if groups is None else units_of(groups, len(batch.references)))

    def merge(self, other: Accumulator) -> None:
        """Add the examples of another accumulator with the same settings.

        Raises
        ------
        ValueError
            When the settings differ, or only one of the two names groups or keeps statistics.
        """
        if not isinstance(other, Accumulator):
            raise TypeError(f"other must be an Accumulator, got {type(other).__name__}")
        if other.settings != self.settings:
            raise ValueError(
                "accumulators with different settings cannot be merged:"
                f" {self.settings.signature()} and {other.settings.signature()}"
            )
        self._keeper.check_merge(other._keeper)
        self._keeper.merge(other._keeper)
        self._totals.merge(other._totals)
        self._invalid = self._invalid.plus(other._invalid)

    def state(self) -> IntArray:
        """Return everything counted so far as one vector of 64-bit integers.

        Vectors of accumulators with equal settings add up element by element, on whatever machine and in whatever
        order: the sum of up to 2**36 of them, given to :meth:`add_state`, is what merging the accumulators gives.

        Returns
        -------
        int64 array of shape (s,)
            Element i is named by ``state_names[i]``.

        Examples
        --------
        >>> from mycelium import Accumulator
        >>> one, other, whole = (Accumulator(metrics=["iou"]) for _ in range(3))
        >>> one.update([[[0, 10]]], [[[2, 8]]])
        >>> other.update([[[4, 7]], []], [[[4, 7]], []])
        >>> whole.add_state(one.state() + other.state())
        >>> whole.compute()["iou"]
        {'score': 0.8666666666666667}
        """
        return np.concatenate([np.array(self._invalid, dtype=np.int64), self._totals.state()])

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the elements of :meth:`state`, each a metric, one of its sums and the number of the limb."""
        keys = [key for key, _ in self.settings.metrics]
        return (*(f"invalid.{name}" for name in InvalidCounts._fields), *self._totals.state_names(keys))

    def add_state(self, state: IntArray) -> None:
        """Add a vector that :meth:`state` returned, or a sum of such vectors.

        Reports have neither slices nor intervals from then on: a state holds totals.

        Raises
        ------
        TypeError, ValueError
            When it is not an int64 vector of the length that these settings give.
        """
        size = len(self.state_names)
        if not isinstance(state, np.ndarray) or state.dtype != np.int64:
            raise TypeError(f"state must be an int64 array, got {getattr(state, 'dtype', type(state).__name__)}")
        if state.shape != (size,):
            raise ValueError(f"state must have shape ({size},) for these settings, got {state.shape}")
        self._add_state(state)

    def _add_state(self, state: IntArray) -> None:
        counts = len(InvalidCounts._fields)
        self._totals.add_state(state[counts:])
        self._keeper.add_state()
        self._invalid = self._invalid.plus(InvalidCounts(*state[:counts].tolist()))

    def compute(self) -> Report:
        """Return the report over all examples added so far.

        Raises
        ------
        ValueError
            When there are none.
        """
        return Report._of(self.settings, self._totals, self._invalid, self._keeper.kept())

    def _read(
        self, references: Any, predictions: Any, text: Any, weight: Any, soft_references: Any, soft_predictions: Any
    ) -> Batch:
        return read_batch(self.settings, references, predictions, text, weight, soft_references, soft_predictions)

    def _add(self, batch: Batch, units: Units | None = None) -> None:
        index = self._keeper.begin(len(batch.references), units, batch.weight)
        begin = 0
        for line in lines(
            batch.references,
            batch.predictions,
            soft_references=batch.soft_references,
            soft_predictions=batch.soft_predictions,
            text_length=batch.length,
            rows_at_once=self._rows_at_once,
        ):
            rows = slice(begin, begin + line.rows)
            counted = [metric.count(line) for metric in self._metrics]
            weight = None if batch.weight is None else batch.weight[rows]
            self._totals.add(counted, weight)
            self._keeper.add(counted, None if index is None else index[rows], weight)
            begin = rows.stop
        self._invalid = self._invalid.plus(batch.invalid)


def evaluate(
    *,
    references: Any,
    predictions: Any,
    text: Any = None,
    profile: str | None = None,
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    average: str | None = None,
    include_per_example: bool = False,
    span_coverage_delta: int = 0,
    span_coverage_min_pred_len: int = 1,
    deteval_recall_threshold: float = 0.8,
    deteval_precision_threshold: float = 0.4,
    deteval_granularity_penalty: float = 0.8,
    cleval_area_precision_threshold: float = 0.3,
    cleval_granularity_penalty: float = 1.0,
    sample_weight: Any = None,
    undefined: float | None = None,
    tolerance: float = 0.0,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
    soft_references: Any = None,
    soft_predictions: Any = None,
    groups: Any = None,
    keep_statistics: bool | None = None,
) -> Report:
    """Score predicted spans against reference spans.

    Parameters
    ----------
    references, predictions : one span set, or a batch of n
        Half-open ``[start, end)`` offsets in characters. One set is ``[]``, a list of pairs or of span dicts, a dict
        of lists, or an integer array of shape (k, 2); everything else is a batch, read by :func:`mycelium.as_spans`,
        whose row i belongs to example i. A bare ``[]`` takes the kind of the other side.
    text : str, or sequence of n str, optional
        The answers. Spans must end within them.
    profile : {"mu_shroom", "ragtruth"}, optional
        Scoring defaults of a benchmark: macro for Mu-SHROOM, micro for RAGTruth.
    metrics : sequence of str or Metric, optional
        Keys (``"iou"``, ``"span_coverage(delta=2)"``) or metrics. The default is the six of
        ``mycelium.metrics.DEFAULT``.
    average : {"macro", "micro"}, optional
        ``"macro"`` is the mean over examples of each example's score; ``"micro"`` divides sums over all examples.
        The default is the profile's, or macro.
    include_per_example : bool
        Add ``per_example`` to each metric: one dict of its outputs for each example, or one float for ``iou``.
    span_coverage_delta : int
        Characters by which each reference is widened on both sides.
    span_coverage_min_pred_len : int
        Shorter predictions are left out of Span Coverage.
    deteval_recall_threshold, deteval_precision_threshold : float
        Shares of a reference and of a prediction that must be covered; a share equal to the threshold passes.
    deteval_granularity_penalty : float
        Credit of a span that is part of a split or a merge.
    cleval_area_precision_threshold : float
        Share of a prediction that must lie on references for it to be kept; equal passes.
    cleval_granularity_penalty : float
        Characters lost by each surplus edge.
    sample_weight : sequence of n floats, optional
        Multiplies rows (micro) or weighs the mean (macro). Weight 2 is the row twice.
    undefined : {0.0, 1.0}, optional
        Value of a side with nothing to divide by, for all metrics. By default each metric's own: 1, and 0 for
        ``character``.
    tolerance : float
        Subtracted from the thresholds of shares; 0 compares plain doubles, as the published numbers do.
    invalid : {"raise", "drop", "clip"}
        What happens to spans that are negative, empty or past the text; see ``Report.invalid`` for the counts.
        Reversed spans and wrong types always raise.
    missing_rows : {"raise", "empty"}
        Whether a row that is None (not annotated) is an error or reads as empty.
    offsets : {"codepoint", "utf16", "utf8"}
        Unit of the offsets; all but code points need ``text``.
    end : {"exclusive", "inclusive"}
        Whether the end is the first character after the span, or its last.
    soft_references, soft_predictions : spans with probabilities, optional
        For ``soft_correlation``; same form as the other sides.
    groups : sequence of n strings or numbers, optional
        Value i names the group of example i, e.g. its source document: what the report's intervals draw as a whole.
    keep_statistics : bool, optional
        Whether the report keeps the statistics of every example, for slices and intervals. By default it does for up
        to a million examples. Where it does not, the sums of the groups serve for intervals.

    Returns
    -------
    Report
        A dict of plain floats with the keys of the metrics and ``meta``; its ``signature`` names the conventions.

    Raises
    ------
    TypeError, ValueError
        When the input cannot be scored as it is; the message names the argument, the row and the span.

    Examples
    --------
    >>> from mycelium import evaluate
    >>> report = evaluate(references=[[0, 10]], predictions=[[2, 8]], text="0123456789", profile="mu_shroom")
    >>> report["iou"], report["span_coverage"]
    ({'score': 0.6}, {'precision': 1.0, 'recall': 1.0, 'f1': 1.0})
    >>> evaluate(references=[[[0, 10]], []], predictions=[[[2, 8]], []], average="micro")["iou"]
    {'score': 0.6}
    """
    scores = Accumulator(
        metrics=metrics,
        profile=profile,
        average=average,
        span_coverage_delta=span_coverage_delta,
        span_coverage_min_pred_len=span_coverage_min_pred_len,
        deteval_recall_threshold=deteval_recall_threshold,
        deteval_precision_threshold=deteval_precision_threshold,
        deteval_granularity_penalty=deteval_granularity_penalty,
        cleval_area_precision_threshold=cleval_area_precision_threshold,
        cleval_granularity_penalty=cleval_granularity_penalty,
        undefined=undefined,
        tolerance=tolerance,
        invalid=invalid,
        missing_rows=missing_rows,
        offsets=offsets,
        end=end,
    )
    if one_or_batch("references", references, "predictions", predictions, text) == "set":
        references, predictions = [references], [predictions]
        soft_references = None if soft_references is None else [soft_references]
        soft_predictions = None if soft_predictions is None else [soft_predictions]
        text = None if text is None else [text]
        if sample_weight is not None and np.ndim(sample_weight) == 0:
            sample_weight = [sample_weight]
        if groups is not None and np.ndim(groups) == 0:
            groups = [groups]
    batch = scores._read(references, predictions, text, sample_weight, soft_references, soft_predictions)
    rows = len(batch.references)
    if not rows:
        raise ValueError("references and predictions hold no examples")
    if keep_statistics is None:
        keep_statistics = rows <= ROWS_KEPT
    elif not isinstance(keep_statistics, bool):
        raise TypeError(f"keep_statistics must be None, True or False, got {keep_statistics!r}")
    scores._keeper = Keeper(scores.settings, keep_statistics or include_per_example)
    scores._add(batch, None if groups is None else units_of(groups, rows))
    report = Report._of(scores.settings, scores._totals, scores._invalid, scores._keeper.kept(), include_per_example)
    report._keep(batch.references, batch.predictions, keep_statistics)
    return report


def bootstrap(
    *,
    references: Any,
    predictions: Any,
    groups: Any = None,
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 2000,
    seed: int | np.random.Generator = 0,
    **options: Any,
) -> Intervals:
    """Score predicted spans against reference spans, and say how sure the scores are.

    Parameters
    ----------
    references, predictions : batches of n span sets
        As in :func:`evaluate`.
    groups : sequence of n strings or numbers, optional
        Value i names the group of example i; examples of one group are drawn together. Without it each example is
        drawn by itself.
    level, method, n_resamples, seed
        As in :meth:`Report.confidence_intervals`.
    **options
        The other options of :func:`evaluate`.

    Returns
    -------
    Intervals
        A dict ``{metric: {output: [low, high]}}`` and ``meta``; its ``scores`` are those of :func:`evaluate`.

    Raises
    ------
    TypeError, ValueError
        When the input or an option cannot be used as it is.

    Examples
    --------
    >>> from mycelium.scoring import bootstrap
    >>> references, predictions = [[[0, 10]], [[0, 4]]] * 20, [[[2, 8]], [[0, 4]]] * 20
    >>> intervals = bootstrap(references=references, predictions=predictions, metrics=["iou"])
    >>> intervals.scores["iou"], [round(bound, 3) for bound in intervals["iou"]["score"]]
    ({'score': 0.8}, [0.74, 0.86])
    """
    Resampling.of(level, method, n_resamples, seed)
    if groups is None:
        options.setdefault("keep_statistics", True)
    report = evaluate(references=references, predictions=predictions, groups=groups, **options)
    return report.confidence_intervals(level, method=method, n_resamples=n_resamples, seed=seed)
