"""Reading a tokenized evaluation set, its examples and their annotated spans, from tables of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelium.formats import TokenWindows, read_spans
from mycelium.formats.containers import library
from mycelium.formats.evaluation_rows import EvaluationSet
from mycelium.formats.stored_labels import StoredLabels, row_counts, same_counts
from mycelium.formats.token_windows import renumber
from mycelium.scoring import Accumulator
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.trainer.tables import column, is_rows, length, listed, names_of, rows_of_columns
from mycelium.typed.settings import TypedSettings

__all__ = ["check_labels", "read_set", "with_ids"]

OFFSETS, LABELS, INPUTS = "offset_mapping", "labels", "input_ids"
FEATURE, EXAMPLE, OVERFLOW = "feature_id", "example_id", "overflow_to_sample_mapping"


def check_labels(scores: Accumulator, tags: Sequence[str] | None) -> None:
    """Refuse metrics that read types where the classes of tokens have none, or types that are not in their list.

    Raises
    ------
    ValueError
        When no prediction, or not every one, could be scored.
    """
    typed = [key for key, metric in scores.settings.metrics if "labels" in metric.needs]
    if typed and (tags is None or any(len(tag) < len("B-x") for tag in tags)):
        raise ValueError(
            f"{typed[0]} reads types, which predictions have where positive gives each class a tag with a type:"
            " positive={1: 'B-conflict', 2: 'I-conflict', ...}"
        )
    settings = scores.settings
    if isinstance(settings, TypedSettings) and settings.unknown_types == "raise":
        strange = [tag for tag in tags or () if tag[2:] not in settings.rules.types]
        if strange:
            raise ValueError(
                f"positive: the type of {strange[0]!r} is not among types, which are {', '.join(settings.rules.types)}"
            )


def read_set(
    name: str,
    first: int,
    features: Any,
    examples: Any,
    spans: Any,
    text: Any,
    *,
    id: str | None,
    ignore_unlabelled: bool,
    reading: dict[str, Any],
) -> tuple[EvaluationSet, tuple[SpanBatch, InvalidCounts]]:
    """Read one evaluation set and its annotated spans."""
    known = names_of(features, "features")
    if OFFSETS not in known:
        raise ValueError(
            f"features have no column {OFFSETS!r}: tokenize with return_offsets_mapping=True (with a fast"
            " tokenizer) and keep the column"
        )
    texts = column(examples, text, "examples") if isinstance(text, str) else text
    gold, invalid = read_spans(
        column(examples, spans, "examples") if isinstance(spans, str) else spans, name="spans", text=texts, **reading
    )
    of = _examples_of(features, known, examples, id, len(gold))
    labels = StoredLabels(column(features, LABELS, "features")) if LABELS in known else None
    if ignore_unlabelled and labels is None:
        raise ValueError(f"ignore_unlabelled needs the column {LABELS!r} of the features")
    try:
        windows = TokenWindows.read(
            column(features, OFFSETS, "features"),
            of,
            rows=len(gold),
            text=texts,
            ignored=labels.ignored if labels is not None and ignore_unlabelled else None,
        )
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{error}; offsets count characters of the example's text, and tokens outside it (special, of the prompt)"
            " have None"
        ) from None
    if labels is not None:
        same_counts(labels.counts, windows.counts, LABELS)
    if INPUTS in known:
        same_counts(row_counts(column(features, INPUTS, "features"), INPUTS), windows.counts, INPUTS)
    return EvaluationSet(name, first, windows, labels), (gold, invalid)


def _examples_of(features: Any, known: list[str], examples: Any, id: str | None, rows: int) -> list[int]:
    """Return the row of the example of each feature."""
    columns = [] if examples is None else names_of(examples, "examples")
    numbers: dict[Any, int] = {}
    if id is not None and id in columns:
        for row, key in enumerate(listed(column(examples, id, "examples"), id)):
            if numbers.setdefault(key, row) != row:
                raise ValueError(
                    f"examples: rows {numbers[key]} and {row} have one id, {key!r}; make the ids in column {id!r}"
                    " unique, or name another with id="
                )
    if EXAMPLE in known:
        if not numbers:
            raise ValueError(f"features have {EXAMPLE!r}, so examples need a column of ids: none called {id!r} (id=)")
        of = []
        for row, key in enumerate(listed(column(features, EXAMPLE, "features"), EXAMPLE)):
            if key not in numbers:
                raise ValueError(f"features: row {row}: {EXAMPLE} {key!r} is the id of no example")
            of.append(numbers[key])
    elif OVERFLOW in known:
        of = renumber(listed(column(features, OVERFLOW, "features"), OVERFLOW), rows, name=OVERFLOW).tolist()
    else:
        n = length(features, OFFSETS)
        if n != rows:
            raise ValueError(
                f"{n} features for {rows} examples: give the features a column {EXAMPLE!r}, or keep"
                f" {OVERFLOW!r}, which tokenizers return with return_overflowing_tokens=True"
            )
        of = list(range(n))
    without = sorted(set(range(rows)) - set(of))
    if without:
        raise ValueError(
            f"examples: {len(without)} of {rows} have no feature (row {without[0]}, for one), so that nothing could be"
            " predicted there; tokenize all of them, or leave them out of examples and spans"
        )
    return of


def with_ids(features: Any, one: EvaluationSet) -> Any:
    """Return the features as a dataset with a column of ids."""
    ids = list(range(one.first, one.first + len(one.windows)))
    if FEATURE in names_of(features, "features"):
        if listed(column(features, FEATURE, "features"), FEATURE) != ids:
            raise ValueError(f"features have a column {FEATURE!r} of other numbers; give them without it")
        return features
    if library(features) == "datasets":
        return features.add_column(FEATURE, ids)
    rows = features if is_rows(features) else rows_of_columns(features)
    return [{**rows[i], FEATURE: number} for i, number in enumerate(ids)]
