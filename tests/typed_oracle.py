"""Typed scores one span at a time: every matching of small sets is tried, and everything is counted in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from test_matching import by_rule_in_stages

from mycelium.matching import Stage, stages_of

Span = tuple[int, int, str]
Row = list[Span]


def pairs_of(references: Row, predictions: Row, stages: Sequence[Stage]) -> list[tuple[Span, Span, int]]:
    """Return (reference, prediction, stage) of each pair that the rule makes."""
    names = sorted({label for *_, label in references + predictions})
    ours, theirs = (sorted((s, e, names.index(t)) for s, e, t in row) for row in (references, predictions))

    def named(span: tuple[int, int, int]) -> Span:
        return span[0], span[1], names[span[2]]

    made = by_rule_in_stages(ours, theirs, tuple(stages))
    return [(named(ours[r]), named(theirs[p]), stage) for (r, p), stage in made.items()]


def ratio(a: float, b: float, undefined: float) -> float:
    return a / b if b else undefined


def scores(earned: float, predictions: int, references: int, undefined: float = 1.0) -> dict[str, float]:
    """Precision, recall and F1 by their definitions: F1 is the harmonic mean, 0 where that is 0/0."""
    precision, recall = ratio(earned, predictions, undefined), ratio(earned, references, undefined)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def leaf(exact: int, partial: int, predictions: int, references: int, credit: float) -> dict[str, float]:
    out: dict[str, float] = {"correct": exact, "partial": partial}
    out |= {"spurious": predictions - exact - partial, "missed": references - exact - partial}
    out |= {"predictions": predictions, "references": references}
    return {**scores(exact + credit * partial, predictions, references), **out}


def expected(
    references: Sequence[Row],
    predictions: Sequence[Row],
    types: Sequence[str],
    *,
    credit: float = 0.5,
    least: float = 0.0,
    base: str = "reference",
) -> dict[str, Any]:
    """Return what ``evaluate_typed`` must say, micro averaged."""
    options: dict[str, Any] = {"overlap_credit": credit, "min_overlap": least, "base": base}
    n_r, n_p = (sum(map(len, side)) for side in (references, predictions))
    rows = list(zip(references, predictions, strict=True))
    out: dict[str, Any] = {}
    for measure in ("strict", "strict_typed", "partial", "typed_partial"):
        made = [pair for r, p in rows for pair in pairs_of(r, p, stages_of(measure, **options))]
        exact = sum(ours[:2] == theirs[:2] for ours, theirs, _ in made)
        out[measure] = leaf(exact, len(made) - exact, n_p, n_r, credit)
        if measure.startswith("strict"):
            assert out[measure].pop("partial") == 0
        if measure == "typed_partial":
            out["by_type"] = {}
            for name in types:
                own = [(ours, theirs) for ours, theirs, _ in made if ours[2] == name]
                exact = sum(ours[:2] == theirs[:2] for ours, theirs in own)
                count_p, count_r = (
                    sum(s[2] == name for row in side for s in row) for side in (predictions, references)
                )
                out["by_type"][name] = {**leaf(exact, len(own) - exact, count_p, count_r, credit), "support": count_r}
    marked_r = [{c for s, e, _ in row for c in range(s, e)} for row in references]
    marked_p = [{c for s, e, _ in row for c in range(s, e)} for row in predictions]
    both = sum(len(a & b) for a, b in zip(marked_r, marked_p, strict=True))
    counts = {"intersection": both, "predicted": sum(map(len, marked_p)), "referenced": sum(map(len, marked_r))}
    out["character"] = {**scores(both, counts["predicted"], counts["referenced"]), **counts}

    labels = [*types, "none"]
    matrix = [[0] * len(labels) for _ in labels]
    for r, p in rows:
        made = pairs_of(r, p, stages_of("confusion", **options))
        left_r, left_p = list(r), list(p)
        for ours, theirs, _ in made:
            matrix[labels.index(ours[2])][labels.index(theirs[2])] += 1
            left_r.remove(ours)
            left_p.remove(theirs)
        for *_, name in left_r:
            matrix[labels.index(name)][-1] += 1
        for *_, name in left_p:
            matrix[-1][labels.index(name)] += 1
    out["confusion"] = {"labels": labels, "matrix": matrix}

    overlap = [bool(a & b) for a, b in zip(marked_r, marked_p, strict=True)]
    valid = [(r, p) for r, p in rows if not r]
    invalid = [(r, p, o) for (r, p), o in zip(rows, overlap, strict=True) if r]
    cases = {
        "valid": len(valid),
        "clean": sum(not p for _, p in valid),
        "invalid": len(invalid),
        "caught": sum(bool(p) for _, p, _ in invalid),
        "localised": sum(o for *_, o in invalid),
    }
    out["valid_cases"] = {
        "clean": ratio(cases["clean"], cases["valid"], 1.0),
        "caught": ratio(cases["caught"], cases["invalid"], 1.0),
        "localised": ratio(cases["localised"], cases["invalid"], 1.0),
        "counts": cases,
    }
    return out
