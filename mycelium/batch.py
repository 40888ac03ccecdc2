"""One batch of examples as it is counted: read, checked, and with all that one side tells of the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from mycelium.formats import read_spans
from mycelium.inputs import check_scores, common_length, weights
from mycelium.metrics.base import check_needs, check_rows
from mycelium.settings import Settings
from mycelium.spans import FloatArray, IntArray, InvalidCounts, SpanBatch, check_spans

__all__ = ["Batch", "read_batch"]


class Batch(NamedTuple):
    """The sides of n examples, the lengths of their texts, their weights, and what leniency did to them."""

    references: SpanBatch
    predictions: SpanBatch
    soft_references: SpanBatch | None
    soft_predictions: SpanBatch | None
    length: IntArray | None
    weight: IntArray | FloatArray | None
    invalid: InvalidCounts


def read_batch(
    settings: Settings,
    references: Any,
    predictions: Any,
    text: Any,
    weight: Any,
    soft_references: Any,
    soft_predictions: Any,
) -> Batch:
    """Read the arguments of :meth:`mycelium.Accumulator.update`.

    Raises
    ------
    TypeError, ValueError
        When they cannot be used as they are.
    """
    options = {
        "text": text,
        "invalid": settings.invalid,
        "missing_rows": settings.missing_rows,
        "offsets": settings.offsets,
        "end": settings.end,
    }
    counts = InvalidCounts()
    sides: dict[str, SpanBatch] = {}
    for name, side in (
        ("references", references),
        ("predictions", predictions),
        ("soft_references", soft_references),
        ("soft_predictions", soft_predictions),
    ):
        if side is not None or not name.startswith("soft"):
            sides[name], found = read_spans(side, name=name, **options)
            counts = counts.plus(found)
    rows = check_rows(**sides)
    length = common_length(sides)
    if length is not None:
        for name, batch in sides.items():
            if batch.length is None:
                sides[name], found = check_spans(batch.with_length(length), name=name, invalid=settings.invalid)
                counts = counts.plus(found)
    metrics = [metric for _, metric in settings.metrics]
    check_needs(metrics, soft_references, soft_predictions, length is not None, sides)
    for name in sides.keys() & {"soft_references", "soft_predictions"}:
        if not any("soft" in metric.needs for metric in metrics):
            raise ValueError(f"{name} has no effect: no metric reads it; add 'soft_correlation' to metrics")
        check_scores(sides[name], name)
    return Batch(
        **{name: sides.get(name) for name in ("soft_references", "soft_predictions")},
        references=sides["references"],
        predictions=sides["predictions"],
        length=length,
        weight=None if weight is None else weights(weight, rows),
        invalid=counts,
    )
