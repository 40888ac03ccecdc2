"""What both views show: the answers, their marks, scores and slices, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mycelium.errors.columns import column, slice_names
from mycelium.formats import read_spans
from mycelium.formats.texts import text_list
from mycelium.spans import SpanBatch
from mycelium.view.verdicts import KINDS, Mark, default_verdicts

__all__ = ["Records", "read_records"]

#: What a message says of the number of values that was expected.
OF_TEXTS = "text has {}"


@dataclass(frozen=True)
class Records:
    """n answers.

    Attributes
    ----------
    ids, texts : list of n str
        The answers.
    references, predictions : list of n lists of Mark
        Their spans, in the order in which they were given.
    scores : dict of str to list of n (float or None)
        None where a score is undefined.
    slices : dict of str to list of n str
        The names of the slices that an answer belongs to.
    """

    ids: list[str]
    texts: list[str]
    references: list[list[Mark]]
    predictions: list[list[Mark]]
    scores: dict[str, list[float | None]]
    slices: dict[str, list[str]]

    def __len__(self) -> int:
        return len(self.texts)

    def marks(self) -> list[Mark]:
        """Return all spans of both sides."""
        return [mark for side in (self.references, self.predictions) for row in side for mark in row]

    def types(self) -> list[str]:
        """Return the types by name."""
        return sorted({mark.type for mark in self.marks() if mark.type is not None})

    def verdicts(self) -> list[str]:
        """Return the verdicts that occur: those that are known from good to bad, then the others by name."""
        found = {mark.verdict for mark in self.marks()}
        return [kind for kind in KINDS if kind in found] + sorted(found.difference(KINDS))


def read_records(
    *,
    references: Any,
    predictions: Any,
    text: Any,
    ids: Any,
    scores: Mapping[str, Any] | None,
    slices: Mapping[str, Any] | None,
    verdicts: Any,
    invalid: str,
    missing_rows: str,
    offsets: str,
    end: str,
) -> Records:
    """Read and check the arguments that :func:`mycelium.view.review_page` documents."""
    if isinstance(text, str):
        raise TypeError("text must be a sequence of strings, one for each row, got one string")
    texts = [str(answer) for answer in text_list(text)]
    n = len(texts)
    batches = []
    for name, given in (("references", references), ("predictions", predictions)):
        batch, _ = read_spans(
            given, name=name, text=texts, invalid=invalid, missing_rows=missing_rows, offsets=offsets, end=end
        )
        batches.append(batch)
    sides = [_spans(batch) for batch in batches]
    words = default_verdicts(*batches) if verdicts is None else _verdicts(verdicts, sides)
    marks = [
        [[Mark(*span, word) for span, word in zip(*row, strict=True)] for row in zip(side, given, strict=True)]
        for side, given in zip(sides, words, strict=True)
    ]
    return Records(
        [str(i) for i in column("ids", range(n) if ids is None else ids, n, OF_TEXTS)],
        texts,
        marks[0],
        marks[1],
        {str(name): _scores(f"scores[{name!r}]", values, n) for name, values in (scores or {}).items()},
        {str(name): slice_names(f"slices[{name!r}]", values, n, OF_TEXTS) for name, values in (slices or {}).items()},
    )


def _spans(batch: SpanBatch) -> list[list[tuple[int, int, str | None]]]:
    labels = [None] * len(batch.start) if batch.label is None else batch.label.tolist()
    flat = list(zip(batch.start.tolist(), batch.end.tolist(), labels, strict=True))
    cuts = batch.offsets.tolist()
    return [flat[cuts[i] : cuts[i + 1]] for i in range(len(batch))]


def _scores(name: str, values: Any, n: int) -> list[float | None]:
    out: list[float | None] = []
    for row, value in enumerate(column(name, values, n, OF_TEXTS)):
        if value is None:
            out.append(None)
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: row {row} must be a number or None, got {value!r}") from None
        if math.isinf(number):
            raise ValueError(f"{name}: row {row} is {number}, expected a finite number, or None or NaN for none")
        out.append(None if math.isnan(number) else number)
    return out


def _verdicts(given: Any, sides: list[list[list[tuple[int, int, str | None]]]]) -> list[list[list[str]]]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise TypeError("verdicts must be a pair, (for the references, for the predictions), each n lists of strings")
    out = []
    for name, words, side in zip(("references", "predictions"), given, sides, strict=True):
        rows = [list(row) for row in column(f"verdicts of the {name}", words, len(side), OF_TEXTS)]
        for row, (some, spans) in enumerate(zip(rows, side, strict=True)):
            if len(some) != len(spans):
                raise ValueError(f"verdicts: row {row} has {len(some)} for the {name}, which hold {len(spans)} spans")
            bad = next((word for word in some if not isinstance(word, str) or not word), None)
            if bad is not None:
                raise TypeError(f"verdicts: row {row} of the {name} must hold words such as 'missed', got {bad!r}")
        out.append(rows)
    return out
