"""From marked spans to one score for the whole answer, so that a span detector can be judged as a decision maker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelium.draws import check_level
from mycelium.formats.ingest import read_spans
from mycelium.formats.ragged import read_probabilities
from mycelium.intervals import row_sums, union
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch

__all__ = ["OF_PROBABILITIES", "OF_SPANS", "ResponseScores", "response_labels", "response_scores"]

#: What can be made of spans, and of a probability for each character or token.
OF_SPANS = (
    "longest_span",
    "marked_characters",
    "marked_share",
    "span_count",
    "max_probability",
    "noisy_or",
    "log_noisy_or",
)
OF_PROBABILITIES = ("max_probability", "mean_probability", "noisy_or", "log_noisy_or")
_UNIT = {
    "longest_span": "characters",
    "marked_characters": "characters",
    "marked_share": "share",
    "span_count": "spans",
    "log_noisy_or": "nats",
}
_WEIGHED = ("max_probability", "noisy_or", "log_noisy_or")
#: A probability this close to 1 is 1.
_LEAST = 2.0**-53


@dataclass(frozen=True, eq=False)
class ResponseScores:
    """One score for each answer, and the rule that made it.

    Pass it as ``y_score``: it is read like an array, and :func:`~mycelium.detector.evaluate_detector` records the rule.

    Attributes
    ----------
    values : float64 array of shape (n,)
        Higher means riskier; 0 where nothing is marked.
    rule : dict
        ``how``, ``of`` ("spans", or "probabilities" of a unit), the unit of the score, what happened to unusable
        spans, and how many answers have nothing marked.
    """

    values: FloatArray
    rule: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype=dtype, copy=True) if copy else np.asarray(self.values, dtype=dtype)

    def tolist(self) -> list[float]:
        """Return the scores as a list."""
        out: list[float] = self.values.tolist()
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return scores and rule as a JSON-safe dict."""
        return {"values": self.tolist(), "rule": dict(self.rule)}


def response_scores(
    predictions: Any = None,
    *,
    how: str,
    probabilities: Any = None,
    text: Any = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
    element: str = "character",
) -> ResponseScores:
    """Make one score of what was marked in each answer: the more, the riskier.

    Parameters
    ----------
    predictions : sequence of n rows of spans
        Anything that :func:`mycelium.as_spans` reads, in the order of the answers.
    how : str
        Of spans:

        * ``"longest_span"``: characters of the longest span, 0 without spans;
        * ``"marked_characters"``: characters that lie in any span, each counted once;
        * ``"marked_share"``: these as a share of the text, which must be given; 0 for an empty text;
        * ``"span_count"``: the number of spans;
        * ``"max_probability"``: the highest probability of a span (its ``prob``, ``score`` or ``confidence``);
        * ``"noisy_or"``: 1 - (1 - p1)(1 - p2)..., the probability that any span is right if they are independent;
        * ``"log_noisy_or"``: -ln(1 - p1) - ln(1 - p2)..., the same order without all that is close to 1 becoming 1; a
          probability of 1 counts as 1 - 2**-53.

        Of probabilities: ``"max_probability"``, ``"mean_probability"``, ``"noisy_or"`` and ``"log_noisy_or"`` over the
        characters (which are far from independent: ``"noisy_or"`` is 1 for most long answers).
    probabilities : sequence of n rows of numbers, optional
        Instead of spans, a probability for each character or token of the answer.
    text : sequence of n str, optional
        The answers.
    invalid, missing_rows : str
        As in :func:`mycelium.as_spans`.
    element : {"character", "token"}
        What each of the ``probabilities`` belongs to; it is recorded.

    Returns
    -------
    ResponseScores

    Raises
    ------
    TypeError, ValueError
        When spans or probabilities cannot be read, a span lacks the probability that the rule needs, or lies outside
        0 to 1; the message names argument and row.

    Examples
    --------
    >>> spans = [[[0, 4], [2, 9]], [], [[3, 5]]]
    >>> response_scores(spans, how="longest_span").tolist()
    [7.0, 0.0, 2.0]
    >>> response_scores(spans, how="marked_share", text=["x" * 10, "", "x" * 8]).tolist()
    [0.9, 0.0, 0.25]
    >>> sure = [[{"start": 0, "end": 4, "prob": 0.5}, {"start": 6, "end": 9, "prob": 0.5}]]
    >>> response_scores(sure, how="noisy_or").tolist()
    [0.75]
    """
    if (predictions is None) == (probabilities is None):
        raise TypeError("give either predictions (spans) or probabilities")
    if probabilities is not None:
        return _of_probabilities(probabilities, how, element)
    if how not in OF_SPANS:
        raise ValueError(f"how must be one of {', '.join(map(repr, OF_SPANS))} for spans, got {how!r}")
    if how == "marked_share" and text is None and getattr(predictions, "length", None) is None:
        raise ValueError("how='marked_share' needs the texts: give text")
    batch, counts = read_spans(predictions, text=text, invalid=invalid, missing_rows=missing_rows, name="predictions")
    values = _spans(batch, how)
    rule = {
        "how": how,
        "of": "spans",
        "unit": _UNIT.get(how, "probability"),
        "answers": len(batch),
        "without_spans": int((batch.counts == 0).sum()),
        "invalid": invalid,
        **{name: int(count) for name, count in counts._asdict().items() if count},
    }
    return ResponseScores(values, rule)


def response_labels(
    references: Any,
    *,
    min_marked: int = 1,
    min_share: float | None = None,
    text: Any = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
) -> BoolArray:
    """Call an answer unsupported when its annotation marks so much of it.

    Parameters
    ----------
    references : sequence of n rows of spans
        The annotated spans.
    min_marked : int
        The least number of annotated characters; 1 calls every answer with a span unsupported.
    min_share : float, optional
        The least share of the text's characters, too; needs the texts.
    text, invalid, missing_rows
        As in :func:`mycelium.as_spans`.

    Returns
    -------
    bool array of shape (n,)

    Examples
    --------
    >>> response_labels([[[0, 4]], [], [[2, 3]]]).tolist()
    [True, False, True]
    >>> response_labels([[[0, 4]], [[2, 3]]], min_share=0.5, text=["seven", "seven"]).tolist()
    [True, False]
    """
    if isinstance(min_marked, bool) or not isinstance(min_marked, (int, np.integer)) or min_marked < 1:
        raise ValueError(f"min_marked must be a whole number from 1 on, got {min_marked!r}")
    batch, _ = read_spans(references, text=text, invalid=invalid, missing_rows=missing_rows, name="references")
    marked = _marked(batch)
    enough = marked >= min_marked
    if min_share is not None:
        share = check_level(min_share, "min_share") if min_share != 1 else 1.0
        if batch.length is None:
            raise ValueError("min_share needs the texts: give text")
        enough &= marked >= share * batch.length
    return np.asarray(enough)


def _spans(batch: SpanBatch, how: str) -> FloatArray:
    if how in _WEIGHED:
        return _of_rows(_probabilities(batch), batch.offsets, how)
    if how == "span_count":
        return batch.counts.astype(np.float64)
    if how == "longest_span":
        return _largest((batch.end - batch.start).astype(np.float64), batch.offsets)
    marked = _marked(batch).astype(np.float64)
    if how == "marked_characters":
        return marked
    if batch.length is None:
        raise ValueError("how='marked_share' needs the texts: give text")
    return np.divide(marked, batch.length, out=np.zeros(len(batch)), where=batch.length > 0)


def _marked(batch: SpanBatch) -> IntArray:
    """Return the number of characters in any span of each row."""
    if not len(batch.start):
        return np.zeros(len(batch), dtype=np.int64)
    # All rows on one line, each past the end of the one before, and not touching it.
    ends = np.cumsum(_largest(batch.end.astype(np.float64), batch.offsets).astype(np.int64) + 1)
    shift = np.append(0, ends)[batch.row]
    order = np.argsort(batch.start + shift, kind="stable")
    start, end, offsets = union((batch.start + shift)[order], (batch.end + shift)[order], batch.offsets)
    return row_sums(end - start, offsets)


def _probabilities(batch: SpanBatch) -> FloatArray:
    if not len(batch.start):
        return np.zeros(0)
    score = np.full(len(batch.start), np.nan) if batch.score is None else batch.score
    bad = np.flatnonzero(~((score >= 0) & (score <= 1)))
    if len(bad):
        row, value = int(batch.row[bad[0]]), float(score[bad[0]])
        place = int(bad[0] - batch.offsets[row])
        said = "no probability (prob, score or confidence)" if np.isnan(value) else f"{value}, expected 0 to 1"
        raise ValueError(f"predictions: row {row}, span {place} has {said}, as have {len(bad)} spans")
    return score


def _of_probabilities(probabilities: Any, how: str, element: str) -> ResponseScores:
    if how not in OF_PROBABILITIES:
        raise ValueError(f"how must be one of {', '.join(map(repr, OF_PROBABILITIES))} for probabilities, got {how!r}")
    if element not in ("character", "token"):
        raise ValueError(f"element must be 'character' or 'token', got {element!r}")
    offsets, values = read_probabilities(probabilities, name="probabilities", element=element)
    rule = {
        "how": how,
        "of": f"{element} probabilities",
        "unit": _UNIT.get(how, "probability"),
        "answers": len(offsets) - 1,
    }
    rule["empty"] = int((np.diff(offsets) == 0).sum())
    return ResponseScores(_of_rows(values, offsets, how), rule)


def _of_rows(p: FloatArray, offsets: IntArray, how: str) -> FloatArray:
    if how == "max_probability":
        return _largest(p, offsets)
    counts = np.diff(offsets)
    if how == "mean_probability":
        sums = _sums(p, offsets)
        return np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)
    if how == "log_noisy_or":
        return _sums(-np.log(np.maximum(1 - p, _LEAST)), offsets) + 0.0
    # In logarithms, so that many small probabilities do not vanish; a probability of 1 is minus infinity there.
    with np.errstate(divide="ignore"):
        logs = np.log1p(-p)
    return np.asarray(-np.expm1(_sums(logs, offsets)) + 0.0)


def _sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    return _reduced(np.add, values, offsets)


def _largest(values: FloatArray, offsets: IntArray) -> FloatArray:
    return _reduced(np.maximum, values, offsets)


def _reduced(ufunc: np.ufunc, values: FloatArray, offsets: IntArray) -> FloatArray:
    """Reduce each row; 0 for rows without values, which reduceat would give their neighbour's."""
    out = np.zeros(len(offsets) - 1)
    held = np.flatnonzero(np.diff(offsets))
    if len(held):
        out[held] = ufunc.reduceat(values, offsets[held])
    return out
