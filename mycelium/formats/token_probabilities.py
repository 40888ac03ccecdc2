"""Spans from probabilities per token, over overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.formats.ragged import flat_values
from mycelium.formats.raw import Problems, as_labels, types_of
from mycelium.formats.token_windows import AGGREGATES, TokenWindows
from mycelium.spans import BoolArray, FloatArray, IntArray, SpanBatch, _offsets

__all__ = ["class_probabilities", "spans_from_token_probabilities", "spans_of_tokens"]


def spans_from_token_probabilities(
    probabilities: Any,
    offsets: Any,
    examples: Any = None,
    *,
    threshold: float = 0.5,
    aggregate: str = "mean",
    text: Any = None,
    rows: int | None = None,
    tags: Sequence[str] | None = None,
) -> SpanBatch:
    """Make spans of the tokens whose probability reaches a threshold, window by window put together.

    The rule, for each example::

        tokens by (start, end)  [0,2) [2,5) [2,5) [5,9) [9,10)     [2,5) stands in two windows
        probability              .1    .6    .8    .9    .2
        merged                   .1    .7          .9    .2        aggregate="mean"
        reach the threshold            #           #               threshold=0.5
        span                          [2,          9)

    1. Tokens at the same offsets become one: within a window, where they are pieces of one character, the largest
       probability counts; over windows, what `aggregate` says.
    2. A run of such tokens that all reach the threshold is one span, from the first start to the last end, whatever
       stands in between that no token covers.
    3. Spans of one example that touch or overlap are one.
    4. With `text`, white space at either end is cut off, and spans of nothing else are left out.

    Parameters
    ----------
    probabilities : array of shape (n, t), or sequence of n rows
        For each token of each feature the probability that it is hallucinated. Rows may be longer than their offsets:
        the rest is padding, whatever it holds. With shape (n, t, k) there is one for each of k classes, of which the
        sum counts.
    offsets : sequence of n features, or TokenWindows
        For each token its ``(start, end)`` in characters of its example's text, as tokenizers return it
        (``offset_mapping``). None is a token outside the text (special, or of the prompt), and so is any of width zero,
        ``(0, 0)`` above all: these make no span and break no run. Offsets that serve many predictions are better read
        once, by :meth:`mycelium.formats.TokenWindows.read`.
    examples : sequence of n int, optional
        The row of the example that each feature belongs to. By default feature i is the one of example i.
    threshold : float, default=0.5
        The smallest probability of a token that is marked; compared as doubles.
    aggregate : {"mean", "max", "min"}, default="mean"
        How one token's probabilities in several windows become one. ``"max"`` marks what any window marks, ``"min"``
        what all mark.
    text : sequence of str, optional
        The text of each example.
    rows : int, optional
        Number of examples, where neither `text` nor the largest of `examples` tells.
    tags : sequence of k str, optional
        What the k classes stand for: ``"B-type"`` or ``"I-type"``, or ``"B"`` or ``"I"``. A marked token is of the
        class with the largest probability (the first of several). It opens a new span if its tag is a B, or if the
        marked token before has another type; so spans may touch, and have labels.

    Returns
    -------
    SpanBatch
        One row for each example, with spans in order. The score of a span is the mean probability of its marked tokens.
        Lengths are there with `text`.

    Raises
    ------
    TypeError
        When probabilities are not numbers or offsets not integers.
    ValueError
        When a probability of a token that counts is not between 0 and 1 (NaN is not), naming feature and token; when
        features, examples, texts or tokens do not agree in number; when offsets are impossible (see
        :meth:`mycelium.formats.TokenWindows.read`).

    See Also
    --------
    spans_from_tokens, spans_from_tags : The same from decisions instead of probabilities, one row for each text.

    Examples
    --------
    >>> from mycelium.formats import spans_from_token_probabilities
    >>> text = ["The capital of France is Lyon."]
    >>> offsets = [[None, (0, 3), (3, 11), (11, 14), (14, 21)], [None, (14, 21), (21, 24), (24, 29), (29, 30)]]
    >>> probabilities = [[0.9, 0.1, 0.2, 0.1, 0.7], [0.9, 0.1, 0.3, 0.8, 0.4]]
    >>> spans_from_token_probabilities(probabilities, offsets, [0, 0], text=text).tolist()
    [[[25, 29]]]
    >>> spans_from_token_probabilities(probabilities, offsets, [0, 0], text=text, aggregate="max").tolist()
    [[[15, 21], [25, 29]]]
    """
    if isinstance(offsets, TokenWindows):
        for name, value in (("examples", examples), ("text", text), ("rows", rows)):
            if value is not None:
                raise ValueError(f"{name} is part of the TokenWindows; give it when they are read")
        windows = offsets
    else:
        windows = TokenWindows.read(offsets, examples, rows=rows, text=text)
    return spans_of_tokens(
        _tokens(probabilities, windows), windows, threshold=threshold, aggregate=aggregate, tags=tags
    )


def spans_of_tokens(
    probabilities: NDArray[Any],
    windows: TokenWindows,
    *,
    threshold: float = 0.5,
    aggregate: str = "mean",
    tags: Sequence[str] | None = None,
) -> SpanBatch:
    """Do as :func:`spans_from_token_probabilities` does, from an array (m,) or (m, k) of the tokens alone.

    Row i belongs to the token ``windows.position[i]`` of the feature ``windows.feature[i]``.
    """
    check_options(threshold, aggregate)
    classes = probabilities.astype(np.float64, copy=False)
    wrong = ~((classes >= 0) & (classes <= 1))
    if wrong.any():
        tokens = np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))
        shown = [classes[i].tolist() for i in tokens[:5].tolist()]
        shown += [None] * (len(tokens) - len(shown))
        windows.refuse(tokens, shown, "probabilities", "expected a probability between 0 and 1")
    total = classes
    if classes.ndim == 2:
        total = classes[:, 0]
        for column in range(1, classes.shape[1]):
            total = total + classes[:, column]
    merged = windows.merged(total, aggregate)
    marked = np.flatnonzero(merged >= float(threshold))
    if tags is None:
        kinds = None
    else:
        if classes.ndim != 2:
            classes = classes[:, np.newaxis]
        kinds = _kinds(classes, windows, aggregate, marked, read_tags(tags, classes.shape[1]))
    return _spans(windows, marked, merged[marked], kinds)


def class_probabilities(values: NDArray[Any], positive: Sequence[int]) -> FloatArray:
    """Return the probabilities of the positive classes, in double precision.

    Parameters
    ----------
    values : array (m, c) or (m,)
        Logits of c classes, which go through a softmax; or decisions, the class of each token as an integer (or a bool
        for class 1); or, as floats, probabilities of being positive, as they are.
    positive : sequence of k int
        The classes.

    Returns
    -------
    float64 array (m, k) or (m,)
        NaN where logits are NaN or infinite.
    """
    kind = values.dtype.kind
    if values.ndim == 1:
        if kind == "f":
            return values.astype(np.float64)
        if kind not in "biu":
            raise TypeError(f"predictions: expected numbers, got {values.dtype}")
        return np.stack([values == c for c in positive], axis=-1).astype(np.float64)
    if kind != "f":
        raise TypeError(f"predictions: expected logits in floats, got {values.dtype}")
    c = values.shape[-1]
    if c < 2 or max(positive) >= c:
        raise ValueError(f"predictions: {c} class{'es' * (c != 1)}, positive names {', '.join(map(str, positive))}")
    logits = [values[:, j].astype(np.float64) for j in range(c)]
    with np.errstate(invalid="ignore"):
        largest = logits[0]
        for column in logits[1:]:
            largest = np.maximum(largest, column)
        for column in logits:
            np.exp(np.subtract(column, largest, out=column), out=column)
        whole = logits[0]
        for column in logits[1:]:
            whole = whole + column
        if len(positive) == 1:
            return logits[positive[0]] / whole
        return np.stack([logits[j] / whole for j in positive], axis=-1)


def check_options(threshold: Any, aggregate: Any) -> None:
    """Refuse a threshold that is no number between 0 and 1, and an unknown aggregate."""
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float, np.integer, np.floating)):
        raise TypeError(f"threshold must be a number, got {threshold!r}")
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be between 0 and 1, got {threshold!r}")
    if aggregate not in AGGREGATES:
        raise ValueError(f"aggregate must be one of {', '.join(map(repr, AGGREGATES))}, got {aggregate!r}")


class Tags(NamedTuple):
    """What classes, or marked places, are: whether they open a span, and the code of their type among the types."""

    opens: BoolArray
    type: IntArray
    types: list[str | None]


def read_tags(tags: Sequence[str], k: int) -> Tags:
    """Read the tags of k classes."""
    if isinstance(tags, str) or len(tags) != k:
        raise ValueError(f"tags has {len(tags)} tags for {k} class{'es' * (k != 1)}: {tags!r}")
    types: dict[str | None, int] = {}
    codes = []
    for tag in tags:
        if not isinstance(tag, str) or not (tag in ("B", "I") or (tag[:2] in ("B-", "I-") and len(tag) > 2)):
            raise ValueError(f"tags: {tag!r}: expected B-type, I-type, B or I")
        codes.append(types.setdefault(tag[2:] or None, len(types)))
    opens = np.array([tag[0] == "B" for tag in tags], dtype=np.bool_)
    return Tags(opens, np.array(codes, dtype=np.int64), list(types))


def _kinds(classes: FloatArray, windows: TokenWindows, aggregate: str, marked: IntArray, tags: Tags) -> Tags:
    # What kind of token a character's pieces are, the first of them tells: only that one is a B.
    columns = [windows.merged(np.ascontiguousarray(column), aggregate, first=True)[marked] for column in classes.T]
    best = np.argmax(np.stack(columns), axis=0)
    return Tags(tags.opens[best], tags.type[best], tags.types)


def _spans(windows: TokenWindows, marked: IntArray, probability: FloatArray, kinds: Tags | None) -> SpanBatch:
    """Make spans of the marked places (p',), which are in order."""
    if not len(marked):
        nothing, offsets = np.empty(0, dtype=np.int64), np.zeros(windows.rows + 1, dtype=np.int64)
        return SpanBatch(offsets, nothing, nothing, score=np.empty(0), length=windows.length)
    example = windows.example[marked]
    first = np.ones(len(marked), dtype=np.bool_)
    first[1:] = (marked[1:] != marked[:-1] + 1) | (example[1:] != example[:-1])
    if kinds is not None:
        first[1:] |= kinds.opens[1:] | (kinds.type[1:] != kinds.type[:-1])
    runs = np.flatnonzero(first)
    row, start, bare_start = example[runs], windows.start[marked[runs]], windows.bare_start[marked[runs]]
    end, bare_end = (np.maximum.reduceat(ends[marked], runs) for ends in (windows.end, windows.bare_end))

    # Runs that touch are one, on a line on which each example, and each type in it, has its own stretch.
    lane, order = row, np.arange(len(runs))
    if kinds is not None:
        lane = row * len(kinds.types) + kinds.type[runs]
        order = np.lexsort((start, lane))
    stretch = np.cumsum(np.diff(lane[order], prepend=lane[order[:1]]) != 0) * (int(end.max()) + 1)
    begins, reach = stretch + start[order], np.maximum.accumulate(stretch + end[order])
    new = np.ones(len(runs), dtype=np.bool_)
    new[1:] = begins[1:] > reach[:-1]
    if kinds is not None:
        new[1:] |= (begins[1:] == reach[:-1]) & kinds.opens[runs[order[1:]]]
    cuts = np.flatnonzero(new)
    spans = order[cuts]
    row, start, end = row[spans], bare_start[spans], np.maximum.reduceat(bare_end[order], cuts)

    of_run = np.empty_like(order)
    of_run[order] = np.cumsum(new) - 1
    of_place = of_run[np.cumsum(first) - 1]
    score = np.bincount(of_place, weights=probability) / np.bincount(of_place)

    kept = np.flatnonzero(start < end)  # white space alone is no span
    label = None
    if kinds is not None:
        kept = kept[np.lexsort((end[kept], start[kept], row[kept]))]
        label = as_labels([kinds.types[code] for code in kinds.type[runs[spans[kept]]].tolist()])
    counts = np.bincount(row[kept], minlength=windows.rows)
    return SpanBatch(_offsets(counts), start[kept], end[kept], label=label, score=score[kept], length=windows.length)


def _tokens(probabilities: Any, windows: TokenWindows) -> NDArray[Any]:
    """Return the probabilities of the tokens that cover characters, out of rows that may be padded."""
    n = len(windows)
    if not isinstance(probabilities, np.ndarray) and hasattr(probabilities, "__array__"):
        probabilities = np.asarray(probabilities)
    if isinstance(probabilities, np.ndarray) and probabilities.dtype != object:
        if probabilities.dtype.kind not in "fiub" or probabilities.ndim not in (2, 3):
            raise TypeError(
                "probabilities: expected numbers of shape (features, tokens) or (features, tokens, classes), got"
                f" {probabilities.dtype} of shape {probabilities.shape}"
            )
        _same_rows(len(probabilities), n)
        _enough(np.full(n, probabilities.shape[1]), windows)
        return windows.take(probabilities, features=np.arange(n))
    rows = list(probabilities)
    _same_rows(len(rows), n)
    if any(isinstance(row, np.ndarray) and row.ndim == 2 for row in rows):
        rows = [np.asarray(row) for row in rows]
        if {row.ndim for row in rows} != {2} or len({row.shape[1] for row in rows}) > 1:
            raise TypeError("probabilities: expected rows of shape (tokens, classes), with the same classes in all")
        cuts, flat = _offsets(np.array([len(row) for row in rows])), np.concatenate(rows)
    else:
        cuts, values = flat_values(rows, name="probabilities", element="token")
        flat = _numbers(cuts, values)
    _enough(np.diff(cuts), windows)
    chosen: NDArray[Any] = flat[cuts[windows.feature] + windows.position]
    return chosen


def _numbers(cuts: IntArray, values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray) or types_of(values) <= {float, int, np.float64, np.float32}:
        return np.asarray(values)
    problems = Problems("probabilities", "token")
    for i, value in enumerate(values):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (float, int, np.floating, np.integer)):
            row = int(np.searchsorted(cuts, i, side="right")) - 1
            problems.add(row, i - int(cuts[row]), value, f"expected a probability, got {type(value).__name__}")
    problems.check()
    return np.array(values, dtype=np.float64)


def _same_rows(given: int, n: int) -> None:
    if given != n:
        raise ValueError(f"offsets has {n} row{'s' * (n != 1)}, probabilities has {given}")


def _enough(given: IntArray, windows: TokenWindows) -> None:
    short = np.flatnonzero(given < windows.counts)
    if len(short):
        row = int(short[0])
        more = f" ({len(short)} such rows)" if len(short) > 1 else ""
        raise ValueError(
            f"row {row}: offsets has {int(windows.counts[row])} tokens, probabilities has {int(given[row])}{more}"
        )
