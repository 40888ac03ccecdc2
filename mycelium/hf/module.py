"""The metric that ``evaluate.load`` returns. Only ``evaluate`` itself, or its user, imports this file."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Mapping
from typing import Any

import evaluate
from evaluate.module import CombinedEvaluations

from mycelium.formats import as_spans
from mycelium.hf.options import OPTIONS, READING, TYPED_OPTIONS, check_options, reading, unknown
from mycelium.hf.storage import INVALID, TEXT, Block, declared_features, stored_counts, stored_features
from mycelium.metrics import DEFAULT
from mycelium.report import Report
from mycelium.scoring import Accumulator
from mycelium.scoring import evaluate as score
from mycelium.spans import InvalidCounts
from mycelium.states import known_types
from mycelium.typed import TypedAccumulator, evaluate_typed

__all__ = ["CONFIGS", "Mycelium"]

#: The columns of each configuration.
CONFIGS = {
    "default": ("predictions", "references"),
    "texts": ("predictions", "references", TEXT),
    "soft": ("predictions", "references", TEXT, "soft_references", "soft_predictions"),
    "typed": ("predictions", "references"),
    "typed_texts": ("predictions", "references", TEXT),
}
#: The configurations in which every span has a type.
_TYPED = ("typed", "typed_texts")

_Host: Any = evaluate.Metric
_HOST_TAKES = tuple(inspect.signature(_Host).parameters)
#: What the core's reader takes, in its order; there is no column of weights.
_READ = ("references", "predictions", TEXT, "sample_weight", "soft_references", "soft_predictions")
_ABSENT: Any = ...
#: Up to so many rows stay in memory; then they go into the host's file.
_AT_ONCE = 1 << 20

_DESCRIPTION = """
Scores spans of characters, predicted to be hallucinated, against annotated ones: exact spans, IoU, character-level
precision, recall and F1, one-dimensional DetEval and CLEval, and Span Coverage. The numbers are those of
`mycelium.evaluate`, to the last bit.
"""

_CITATION = """
@misc{belikova2026mycelium,
  title = {Mycelium: A Meta-Study of Hallucination Detection Across Provenance, Typology, and Granularities},
  author = {Belikova and Rykov},
  year = {2026}
}
"""

_INPUTS = """
Columns:
    predictions, references: one span set for each example, in any form that `mycelium.as_spans` reads: lists or tuples
        of `[start, end]` or `[start, end, label]`, dicts with `start` and `end` (and a type and a probability), dicts
        of lists, arrays, Arrow columns, columns of a dataset. Offsets count characters, half-open.
        In the configurations "typed" and "typed_texts" every span has a type.
    text: the texts, in the configurations "texts", "soft" and "typed_texts". Spans must end within them.
    soft_references, soft_predictions: spans with probabilities, in the configuration "soft".
Options, at load for good and at compute for one call:
    profile, metrics, average, undefined, tolerance, span_coverage_delta, span_coverage_min_pred_len,
    deteval_recall_threshold, deteval_precision_threshold, deteval_granularity_penalty, cleval_area_precision_threshold,
    cleval_granularity_penalty, and for the reading of input invalid, missing_rows, offsets, end: as in
    `mycelium.evaluate`.
    In the configurations "typed" and "typed_texts": types, average, overlap_credit, min_overlap, overlap_base,
    matching, unknown_types, absent_types, undefined, invalid, missing_rows, offsets, end: as in
    `mycelium.evaluate_typed`.
Returns:
    a flat dict of floats: `iou`, and for each other metric `KEY_precision`, `KEY_recall`, `KEY_f1`; with `nested=True`
    the report of `mycelium.evaluate`. Of typed spans `_precision`, `_recall` and `_f1` of `strict`, `strict_typed`,
    `partial`, `typed_partial`, `character`, of `by_type.TYPE` for each type, of `macro` and `weighted` (means over the
    types), and the shares `valid_cases_clean`, `valid_cases_caught`, `valid_cases_localised`; with `nested=True` the
    report of `mycelium.evaluate_typed`. Keys are the same each time where `types` are given.
Example:
    >>> import evaluate, mycelium.hf
    >>> spans = evaluate.load(mycelium.hf.path(), metrics=["iou", "character"])
    >>> spans.compute(predictions=[[[2, 8]], []], references=[[[0, 10]], []])
    {'iou': 0.8, 'character_precision': 0.5, 'character_recall': 0.3, 'character_f1': 0.375}
    >>> typed = evaluate.load(mycelium.hf.path(), "typed", types="causal")
    >>> scores = typed.compute(predictions=[[[2, 8, "CONTRA"]], []], references=[[[0, 10, "CONTRA"]], []])
    >>> scores["partial_f1"], scores["typed_partial_f1"], scores["strict_f1"], scores["macro_f1"]
    (0.5, 0.5, 0.0, 0.5)
"""


class Mycelium(_Host):  # type: ignore[misc]
    """Scores of predicted spans, behind the interface of ``evaluate``.

    Get it by ``evaluate.load(mycelium.hf.path(), config_name, **options)``. Rows are checked when they are added, and a
    call that fails adds none.

    Parameters
    ----------
    config_name : {"default", "texts", "soft", "typed", "typed_texts"}
        Which columns an example has: predictions and references; these and ``text``; these and ``soft_references`` and
        ``soft_predictions``. ``"soft"`` adds ``soft_correlation`` to the default metrics. With ``"typed"`` and
        ``"typed_texts"``, which has ``text``, spans have types, and the report is that of
        :func:`mycelium.evaluate_typed`.
    **options
        The options of :class:`mycelium.Accumulator` under their names there (``profile``, ``metrics``, ``average``,
        the thresholds, ``undefined``, ...), or of :class:`mycelium.TypedAccumulator` (``types``, ``overlap_credit``,
        ...; without ``types`` they are those of the data); and what ``evaluate`` itself takes (``cache_dir``,
        ``num_process``, ...).

    Raises
    ------
    TypeError
        When there is no such option.
    ValueError
        When there is no such configuration, the value of an option is refused, or a metric or option needs columns that
        the configuration lacks.
    """

    # the host's
    data: Any
    writer: Any
    filelock: Any
    cache_file_name: Any

    def __init__(self, config_name: str | None = None, **options: Any) -> None:
        host = {name: options.pop(name) for name in _HOST_TAKES if name in options}
        config_name = config_name or "default"
        if config_name not in CONFIGS:
            raise ValueError(
                f"config_name must be one of {', '.join(map(repr, CONFIGS))}, got {config_name!r};"
                ' a profile is an option: profile="mu_shroom"'
            )
        self._columns = CONFIGS[config_name]
        self._typed = config_name in _TYPED
        if config_name == "soft" and options.get("metrics") is None:
            options["metrics"] = [*DEFAULT, "soft_correlation"]
        self._options = options
        self._scores = self._check(options)
        self._stored = stored_features(self._columns)
        self._schema = self._stored.arrow_schema
        self._block = Block(self._columns)
        super().__init__(config_name=config_name, **host)

    def _info(self) -> Any:
        info = evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=declared_features(self._columns),
        )
        # Refused by the constructor for features of this kind; set here, it hands over Arrow instead of Python lists.
        info.format = "arrow"
        return info

    @property
    def signature(self) -> str:
        """The conventions behind the numbers in one line, under the options of load."""
        return self._scores.settings.signature()

    def add(self, *, prediction: Any = _ABSENT, reference: Any = _ABSENT, **columns: Any) -> None:
        """Add one example.

        Parameters
        ----------
        prediction, reference : span set
            What :meth:`add_batch` takes as one row.
        **columns
            The other columns of the configuration, by their names.
        """
        if sys._getframe(1).f_code is CombinedEvaluations.add.__code__:
            # evaluate.combine hands on one example under the names of the columns. From anybody else that is a slip.
            prediction, reference = columns.pop("predictions"), columns.pop("references")
        names = ("prediction", "reference", *self._columns[2:])
        given = self._given({"prediction": prediction, "reference": reference, **columns}, names)
        rows = {column: [given[name]] for column, name in zip(self._columns, names, strict=True)}
        self._store(rows, self._scores)

    def add_batch(self, *, predictions: Any = _ABSENT, references: Any = _ABSENT, **columns: Any) -> None:
        """Add n examples.

        Parameters
        ----------
        predictions, references : batches of span sets
            Whatever :func:`mycelium.as_spans` reads, n rows each; another form in each call if need be.
        **columns
            The other columns of the configuration, by their names.
        """
        given = self._given({"predictions": predictions, "references": references, **columns}, self._columns)
        self._store(given, self._scores)

    def compute(
        self, *, predictions: Any = None, references: Any = None, nested: bool = False, **others: Any
    ) -> dict[str, Any] | None:
        """Score the examples added so far, and those given here.

        Parameters
        ----------
        predictions, references : batches of span sets, optional
            More examples, as in :meth:`add_batch`.
        nested : bool
            Return the report (:class:`mycelium.Report`, :class:`mycelium.TypedReport`), with signature and counts,
            instead of the flat dict.
        **others
            The other columns of the configuration; and options, which hold for this call instead of those of load.

        Returns
        -------
        dict or None
            None in all processes but the first.
        """
        columns = {"predictions": predictions, "references": references}
        columns |= {name: others.pop(name) for name in self._columns if name in others}
        columns = {name: column for name, column in columns.items() if column is not None}
        known = TYPED_OPTIONS if self._typed else OPTIONS
        for name in others:
            if name not in known:
                raise TypeError(unknown("column or option", name, (*self._columns, *known)))
        options = {**self._options, **others}
        scores = self._check(options) if others else self._scores
        begun = self._block.begun or self.writer is not None
        if begun:
            self._same_reading(scores)
        if columns:
            self._store(self._given(columns, self._columns), scores)
        elif not begun:
            raise ValueError("there are no examples: add some, or give predictions and references")
        if self.writer is None:
            block = self._emptied()
            return self._report(block.sides(), block.counts, options, nested)
        try:
            self._write()
            result: dict[str, Any] | None = super().compute(options=options, nested=nested)
        except BaseException:
            self._discard()
            raise
        finally:
            # Spent; with its locks kept the module could not be pickled.
            self.file_paths = self.filelocks = None
        return result

    def _compute(self, *, options: Mapping[str, Any], nested: bool, **columns: Any) -> dict[str, Any]:
        sides = {name: as_spans(column.combine_chunks(), name=name) for name, column in columns.items() if name != TEXT}
        if TEXT in columns:
            sides["references"] = sides["references"].with_length(columns[TEXT].to_numpy())
        return self._report(sides, stored_counts(self.data[INVALID][:]), options, nested)

    def _report(
        self, sides: Mapping[str, Any], counts: InvalidCounts, options: Mapping[str, Any], nested: bool
    ) -> dict[str, Any]:
        if self._typed:
            given = {name: value for name, value in options.items() if value is not None or name == "undefined"}
            report: Report = evaluate_typed(**sides, **given)
        else:
            report = score(**sides, **options)
        report.invalid = report.invalid.plus(counts)
        return report if nested else report.flat()

    def _check(self, options: Mapping[str, Any]) -> Accumulator:
        """Check options by the core, and against the columns there are."""
        scores = check_options(options, self._typed)
        soft = [key for key, metric in scores.settings.metrics if "soft" in metric.needs]
        if soft and "soft_references" not in self._columns:
            raise ValueError(f'{soft[0]} reads probabilities; load the module with config_name="soft"')
        if not soft and "soft_references" in self._columns:
            raise ValueError('no metric reads the columns of config_name="soft"; add "soft_correlation" to metrics')
        if scores.settings.offsets != "codepoint" and TEXT not in self._columns:
            raise ValueError(
                f'offsets="{scores.settings.offsets}" can only be converted with the texts; load the module with'
                f' config_name="{"typed_texts" if self._typed else "texts"}"'
            )
        return scores

    def _same_reading(self, scores: Accumulator) -> None:
        before = reading(self._scores)
        for name, value in reading(scores).items():
            if value != before[name]:
                raise ValueError(
                    f"{name}={value!r} comes too late for the rows that were added under {name}={before[name]!r};"
                    f" {', '.join(READING)} act when rows are added: give them at load"
                )

    def _given(self, columns: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        """Check the names of the columns, and that none is absent."""
        for name in columns:
            if name not in names:
                raise TypeError(unknown("column", name, names))
        absent = [name for name in names if columns.get(name, _ABSENT) is _ABSENT]
        if absent:
            raise TypeError(f"{' and '.join(absent)} must be given")
        return columns

    def _store(self, columns: dict[str, Any], scores: Accumulator) -> None:
        """Read and check rows, then write them."""
        added = len(self)
        try:
            batch = scores._read(*map(columns.get, _READ))
            if isinstance(scores, TypedAccumulator) and scores.settings.rules.types:
                known_types(scores, batch)
        except (TypeError, ValueError) as error:
            if not added:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error} (rows are numbered within this call; {added} were added before)") from None
        self._block.add(batch)
        # Several processes meet as soon as each begins to write; one alone writes only what does not fit.
        if len(self._block) > _AT_ONCE or self.num_process > 1:
            if self.writer is None:
                self.selected_feature_format = self._stored
                self._init_writer()
            if len(self._block) > _AT_ONCE:
                self._write()

    def _write(self) -> None:
        block = self._emptied()
        if len(block):
            self.writer.write_table(block.table(self._schema), writer_batch_size=len(block))

    def _emptied(self) -> Block:
        block, self._block = self._block, Block(self._columns)
        return block

    def __len__(self) -> int:
        """Return the number of examples added since the last compute."""
        return int(super().__len__()) + len(self._block)

    def _discard(self) -> None:
        """Forget all rows after an error: without it, locks and files would stay."""
        self.writer = self.data = self.buf_writer = None
        self._emptied()
        locks, paths = self.filelocks or [self.filelock], self.file_paths or [self.cache_file_name]
        for lock, path in zip(locks, paths, strict=True):
            with contextlib.suppress(OSError):
                if path is not None:
                    os.remove(path)
            if lock is not None:
                lock.release()
        self.filelock = self.cache_file_name = self.selected_feature_format = None

    def __getstate__(self) -> dict[str, Any]:
        if self.writer is not None:
            raise TypeError("the module holds rows that lie in a file of this process: compute before pickling it")
        return self.__dict__
