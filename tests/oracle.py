"""A slow oracle of the metrics: character sets and explicit loops, no numpy.

It shares nothing with the library. Every definition is spelled out as it is written down, one example at a time, so
that it can be compared with the text by eye. ``test_oracle.py`` holds it to the published cases.

A set of spans is a list of ``(start, end)``; a span is the set of its characters. Sums of shares are explicit loops of
``+=``: ``sum`` compensates rounding errors since Python 3.12 and would decide thresholds differently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

Spans = Sequence[Sequence[int]]

KEYS = ("exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage")
SINGLE = ("iou", "soft_correlation")

DEFAULTS: dict[str, dict[str, float]] = {
    "exact_span": {},
    "iou": {},
    "character": {},
    "deteval_1d": {"recall_threshold": 0.8, "precision_threshold": 0.4, "granularity_penalty": 0.8, "tolerance": 0.0},
    "cleval_1d": {"area_precision_threshold": 0.3, "granularity_penalty_weight": 1.0, "tolerance": 0.0},
    "span_coverage": {"delta": 0, "min_pred_len": 1},
    "response": {},
}

UNDEFINED = {"character": 0.0}


@lru_cache(maxsize=100_000)
def _characters(start: int, end: int) -> frozenset[int]:
    return frozenset(range(start, end))


def characters(span: Sequence[int]) -> frozenset[int]:
    return _characters(span[0], span[1])


def mask(spans: Spans) -> set[int]:
    out: set[int] = set()
    for span in spans:
        out |= characters(span)
    return out


def shared(a: Sequence[int], b: Sequence[int]) -> int:
    """Count the characters that two spans share."""
    return len(characters(a) & characters(b))


def ordered(spans: Spans) -> list[tuple[int, int]]:
    return sorted((span[0], span[1]) for span in spans)


# -- statistics of one example, in the library's columns


def exact_span(references: Spans, predictions: Spans) -> tuple[int, int, int]:
    matched = {tuple(span) for span in references} & {tuple(span) for span in predictions}
    return len(matched), len(predictions), len(references)


def iou(references: Spans, predictions: Spans) -> tuple[int, int]:
    r, p = mask(references), mask(predictions)
    return len(r & p), len(r | p)


def character(references: Spans, predictions: Spans) -> tuple[int, int, int]:
    r, p = mask(references), mask(predictions)
    return len(r & p), len(p), len(r)


def span_coverage(references: Spans, predictions: Spans, *, delta: int, min_pred_len: int) -> tuple[int, int, int, int]:
    long_enough = [p for p in predictions if p[1] - p[0] >= min_pred_len]
    contained = 0
    for p in long_enough:
        if any(characters(p) <= characters((g[0] - delta, g[1] + delta)) for g in references):
            contained += 1
    hit = 0
    for g in references:
        if any(characters(p) <= characters((g[0] - delta, g[1] + delta)) for p in long_enough):
            hit += 1
    return contained, len(long_enough), hit, len(references)


def deteval_1d(
    references: Spans,
    predictions: Spans,
    *,
    recall_threshold: float,
    precision_threshold: float,
    granularity_penalty: float,
    tolerance: float,
) -> tuple[int, int, int, int, int, int]:
    del granularity_penalty  # applied by parts()
    gs, ps = ordered(references), ordered(predictions)
    both = [[shared(g, p) for p in ps] for g in gs]
    sigma = [[both[i][j] / len(characters(gs[i])) for j in range(len(ps))] for i in range(len(gs))]
    tau = [[both[i][j] / len(characters(ps[j])) for j in range(len(ps))] for i in range(len(gs))]
    of_g = [[j for j in range(len(ps)) if both[i][j] > 0] for i in range(len(gs))]
    of_p = [[i for i in range(len(gs)) if both[i][j] > 0] for j in range(len(ps))]
    need_sigma, need_tau = recall_threshold - tolerance, precision_threshold - tolerance
    credit_g: dict[int, str] = {}
    credit_p: dict[int, str] = {}

    # One to one.
    for i in range(len(gs)):
        if len(of_g[i]) == 1:
            j = of_g[i][0]
            if of_p[j] == [i] and sigma[i][j] >= need_sigma and tau[i][j] >= need_tau:
                credit_g[i] = credit_p[j] = "full"
    # Split: one reference, several predictions.
    for i in range(len(gs)):
        if i in credit_g or len(of_g[i]) < 2:
            continue
        chosen = [j for j in of_g[i] if j not in credit_p and tau[i][j] >= need_tau]
        if len(chosen) == 1:
            if sigma[i][chosen[0]] >= need_sigma:
                credit_g[i] = credit_p[chosen[0]] = "full"
        elif len(chosen) > 1:
            total = 0.0
            for j in chosen:
                total += sigma[i][j]
            if total >= need_sigma:
                credit_g[i] = "shared"
                for j in chosen:
                    credit_p[j] = "shared"
    # Merge: one prediction, several references.
    for j in range(len(ps)):
        if j in credit_p or len(of_p[j]) < 2:
            continue
        chosen = [i for i in of_p[j] if i not in credit_g and sigma[i][j] >= need_sigma]
        if len(chosen) == 1:
            if tau[chosen[0]][j] >= need_tau:
                credit_p[j] = credit_g[chosen[0]] = "full"
        elif len(chosen) > 1:
            total = 0.0
            for i in chosen:
                total += tau[i][j]
            if total >= need_tau:
                credit_p[j] = "shared"
                for i in chosen:
                    credit_g[i] = "shared"

    def count(credits: dict[int, str], kind: str) -> int:
        return list(credits.values()).count(kind)

    return (
        count(credit_p, "full"),
        count(credit_p, "shared"),
        len(ps),
        count(credit_g, "full"),
        count(credit_g, "shared"),
        len(gs),
    )


def cleval_1d(
    references: Spans,
    predictions: Spans,
    *,
    area_precision_threshold: float,
    granularity_penalty_weight: float,
    tolerance: float,
) -> tuple[float, int, float, int]:
    gs, ps = ordered(references), ordered(predictions)
    both = [[shared(g, p) for p in ps] for g in gs]
    kept = []
    for j in range(len(ps)):
        total = 0.0
        for i in range(len(gs)):
            total += both[i][j] / len(characters(ps[j]))
        if total >= area_precision_threshold - tolerance:
            kept.append(j)
    correct = len(mask(gs) & mask([ps[j] for j in kept]))
    excess_p = 0
    for j in kept:
        excess_p += max(0, len([i for i in range(len(gs)) if both[i][j] > 0]) - 1)
    excess_g = 0
    for i in range(len(gs)):
        excess_g += max(0, len([j for j in kept if both[i][j] > 0]) - 1)
    return (
        max(0.0, correct - granularity_penalty_weight * excess_p),
        sum(len(characters(p)) for p in ps),
        max(0.0, correct - granularity_penalty_weight * excess_g),
        sum(len(characters(g)) for g in gs),
    )


def response(references: Spans, predictions: Spans) -> tuple[int, int, int]:
    r, p = len(references) > 0, len(predictions) > 0
    return int(r and p), int(p), int(r)


STATISTICS = {
    "exact_span": exact_span,
    "iou": iou,
    "character": character,
    "deteval_1d": deteval_1d,
    "cleval_1d": cleval_1d,
    "span_coverage": span_coverage,
    "response": response,
}


def statistics(metric: str, references: Spans, predictions: Spans, **parameters: Any) -> tuple[float, ...]:
    """Return the columns of one example; parameters that are not given have their defaults."""
    unknown = set(parameters) - set(DEFAULTS[metric])
    assert not unknown, unknown
    return STATISTICS[metric](references, predictions, **{**DEFAULTS[metric], **parameters})


# -- from columns to values


def parts(metric: str, columns: Sequence[Any], **parameters: Any) -> tuple[Any, ...]:
    """Return (precision part, its total, recall part, its total), or (part, total) of a metric with one score."""
    if metric == "iou":
        return tuple(columns)
    if metric in ("exact_span", "character", "response"):
        both, predicted, referenced = columns
        return both, predicted, both, referenced
    if metric == "deteval_1d":
        credit = {**DEFAULTS[metric], **parameters}["granularity_penalty"]
        full_p, shared_p, n_p, full_g, shared_g, n_g = columns
        return full_p + credit * shared_p, n_p, full_g + credit * shared_g, n_g
    return tuple(columns)


def divide(part: Any, total: Any, undefined: float) -> tuple[Any, Any]:
    """Return a side as a fraction; (undefined, 1) when there is nothing to divide by."""
    return (part, total) if total != 0 else (undefined, 1)


def value(metric: str, four: Sequence[Any], undefined: float | None = None) -> dict[str, float]:
    """Return the scores of (precision part, total, recall part, total), or of (part, total)."""
    empty = UNDEFINED.get(metric, 1.0) if undefined is None else undefined
    if len(four) == 2:
        a, b = divide(*four, empty)
        return {"score": float(a / b)}
    a, b = divide(four[0], four[1], empty)
    c, d = divide(four[2], four[3], empty)
    below = a * d + b * c
    return {
        "precision": float(a / b),
        "recall": float(c / d),
        "f1": float(2 * a * c / below) if below != 0 else 0.0,
    }


def example(
    metric: str, references: Spans, predictions: Spans, undefined: float | None = None, **parameters: Any
) -> dict[str, float]:
    columns = statistics(metric, references, predictions, **parameters)
    return value(metric, parts(metric, columns, **parameters), undefined)


def micro(
    metric: str,
    references: Sequence[Spans],
    predictions: Sequence[Spans],
    undefined: float | None = None,
    weights: Sequence[float] | None = None,
    **parameters: Any,
) -> dict[str, float]:
    """Sum the statistics over the examples in exact arithmetic, then divide."""
    weights = [1] * len(references) if weights is None else weights
    rows = [statistics(metric, r, p, **parameters) for r, p in zip(references, predictions, strict=True)]
    totals = [
        sum((Fraction(w) * Fraction(x) for w, x in zip(weights, column, strict=True)), Fraction(0))
        for column in zip(*rows, strict=True)
    ]
    return value(metric, parts(metric, [float(total) for total in totals], **parameters), undefined)


def macro(
    metric: str,
    references: Sequence[Spans],
    predictions: Sequence[Spans],
    undefined: float | None = None,
    weights: Sequence[float] | None = None,
    **parameters: Any,
) -> dict[str, float]:
    """Return the mean over the examples of the example's own scores."""
    weights = [1] * len(references) if weights is None else weights
    rows = [example(metric, r, p, undefined, **parameters) for r, p in zip(references, predictions, strict=True)]
    total = math.fsum(weights)
    return {name: math.fsum(w * row[name] for w, row in zip(weights, rows, strict=True)) / total for name in rows[0]}


# -- correlation of soft labels


def soft_vector(spans: Sequence[Sequence[float]], length: int) -> list[float]:
    """Return the probability of each character; of spans that overlap, the last one listed wins."""
    out = [0.0] * length
    for start, end, prob in spans:
        for i in range(int(start), int(end)):
            out[i] = float(prob)
    return out


def soft_correlation(
    references: Sequence[Sequence[float]], predictions: Sequence[Sequence[float]], length: int
) -> float:
    """Return the correlation of one example; spans are ``(start, end, probability)``."""
    from scipy.stats import spearmanr

    r, p = soft_vector(references, length), soft_vector(predictions, length)
    constant_r = len({round(x, 8) for x in r}) <= 1
    constant_p = len({round(x, 8) for x in p}) <= 1
    if constant_r or constant_p:
        return 1.0 if constant_r and constant_p else 0.0
    return float(spearmanr(r, p).statistic)
