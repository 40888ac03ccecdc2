"""evaluate_typed(): from typed spans to a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelium.draws import units_of
from mycelium.inputs import one_or_batch
from mycelium.kept import Keeper
from mycelium.typed.accumulator import TypedAccumulator
from mycelium.typed.report import CELLS_KEPT, TypedReport
from mycelium.typed.types import types_in

__all__ = ["evaluate_typed"]


def evaluate_typed(
    *,
    references: Any,
    predictions: Any,
    types: str | Sequence[str] | None = None,
    text: Any = None,
    average: str = "micro",
    overlap_credit: float = 0.5,
    min_overlap: float = 0.0,
    overlap_base: str = "reference",
    matching: str = "max_shared",
    unknown_types: str = "raise",
    absent_types: str = "exclude",
    include_per_example: bool = False,
    sample_weight: Any = None,
    undefined: float | None = 1.0,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
    groups: Any = None,
    keep_statistics: bool | None = None,
) -> TypedReport:
    """Score predicted spans and their types against reference spans and theirs.

    Spans are paired one to one, see :mod:`mycelium.matching`; what is left over is missed or spurious. An example
    without references is a valid case, whose right answer is no span at all: every span predicted for it is a false
    positive of every measure.

    Parameters
    ----------
    references, predictions : one set of typed spans, or a batch of n
        Spans ``[start, end, type]`` or dicts with ``start``, ``end`` and ``label`` (``type``, ``label_type``), rows as
        dicts of columns; otherwise as in :func:`mycelium.evaluate`. Every span needs a type.
    types : {"causal", "ragtruth"} or sequence of str, optional
        The types, in the order of the report; by default all that the data hold, sorted.
    text : str, or sequence of n str, optional
        The answers. Spans must end within them.
    average : {"micro", "macro"}
        For ``strict``, ``strict_typed``, ``partial``, ``typed_partial`` and ``character``: ``"micro"`` divides sums
        over all examples, ``"macro"`` is the mean over examples of each example's score. Counts, types, the confusion
        matrix and the valid cases are of all examples together in either.
    overlap_credit : float, default 0.5
        What a pair is worth whose boundaries differ, between 0 and 1. At 1 only the number of pairs counts.
    min_overlap : float, default 0.0
        Least share of its base that an overlap must have in order to count, between 0 and 1; equal passes. At 0 one
        shared character is enough.
    overlap_base : {"reference", "union", "prediction"}
        The length that the share is taken of; the union counts each character once.
    matching : {"max_shared"}
        The rule of pairing: exact pairs first, then as many overlapping pairs as possible, among these the most shared
        characters.
    unknown_types : {"raise", "ignore"}
        What happens to a span whose type is not among ``types``. Ignored, it is left out of everything, and counted in
        ``meta["ignored"]``.
    absent_types : {"exclude", "zero"}
        Whether a type that neither side has is left out of the mean over types, or counts 0.
    include_per_example : bool
        Add ``per_example`` to the five measures over all spans: precision, recall and F1 of each example.
    sample_weight : sequence of n floats, optional
        Multiplies rows (micro) or weighs the mean (macro). Weight 2 is the row twice.
    undefined : {0.0, 1.0}, optional
        Value of a side with nothing to divide by. None leaves each metric its own: 1, and 0 for ``character``.
    invalid, missing_rows, offsets, end
        As in :func:`mycelium.evaluate`.
    groups : sequence of n strings or numbers, optional
        Value i names the group of example i: what the report's intervals draw as a whole.
    keep_statistics : bool, optional
        Whether the report keeps the statistics of every example, for slices and intervals. By default it does for up
        to 24 million numbers (some 300,000 examples with five types). Where it does not, the sums of the groups serve
        for intervals.

    Returns
    -------
    TypedReport
        A dict with the keys ``strict``, ``strict_typed``, ``partial``, ``typed_partial``, ``character``, ``by_type``,
        ``macro``, ``weighted``, ``confusion``, ``valid_cases`` and ``meta``. In its intervals the scores of one type
        stand under ``"by_type.TYPE"``.

    Raises
    ------
    TypeError, ValueError
        When the input cannot be scored as it is; the message names the argument, the row and the span.

    Examples
    --------
    >>> from mycelium.typed import evaluate_typed
    >>> report = evaluate_typed(
    ...     references=[[[0, 10, "ADD-PATH"], [12, 20, "CONTRA"]], []],
    ...     predictions=[[[0, 10, "ADD-PATH"], [14, 22, "NEG-FLIP"]], []],
    ...     types="causal",
    ... )
    >>> report["partial"]["f1"], report["typed_partial"]["f1"], report["macro"]["f1"]
    (0.75, 0.5, 0.3333333333333333)
    >>> report["valid_cases"]["clean"], report["meta"]["macro_types"]
    (1.0, ['ADD-PATH', 'NEG-FLIP', 'CONTRA'])
    """
    options = {
        "average": average,
        "overlap_credit": overlap_credit,
        "min_overlap": min_overlap,
        "overlap_base": overlap_base,
        "matching": matching,
        "unknown_types": unknown_types,
        "absent_types": absent_types,
        "undefined": undefined,
        "invalid": invalid,
        "missing_rows": missing_rows,
        "offsets": offsets,
        "end": end,
    }
    scores = TypedAccumulator(types=() if types is None else types, **options)  # type: ignore[arg-type]
    if one_or_batch("references", references, "predictions", predictions, text) == "set":
        references, predictions = [references], [predictions]
        text = None if text is None else [text]
        if sample_weight is not None and np.ndim(sample_weight) == 0:
            sample_weight = [sample_weight]
        if groups is not None and np.ndim(groups) == 0:
            groups = [groups]
    batch = scores._read(references, predictions, text, sample_weight, None, None)
    rows = len(batch.references)
    if not rows:
        raise ValueError("references and predictions hold no examples")
    if types is None:
        found = types_in(batch.references, batch.predictions)
        scores = TypedAccumulator(types=found, **options)  # type: ignore[arg-type]
    if keep_statistics is None:
        keep_statistics = rows * scores.settings.columns <= CELLS_KEPT
    elif not isinstance(keep_statistics, bool):
        raise TypeError(f"keep_statistics must be None, True or False, got {keep_statistics!r}")
    scores._keeper = Keeper(scores.settings, keep_statistics or include_per_example)
    scores._add(batch, None if groups is None else units_of(groups, rows))
    report = scores._report(include_per_example)
    known, _ = scores._known(batch)
    report._keep(known.references, known.predictions, keep_statistics)
    return report
