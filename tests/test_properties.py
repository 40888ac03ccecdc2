"""Hypothesis: the library against the oracle on random ragged batches, parameters drawn too."""

from __future__ import annotations

import math
from itertools import pairwise

import oracle
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from samples import approx

import mycelium
from mycelium import metrics

Row = list[list[int]]

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
QUICK = settings(max_examples=400, deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS)
LONG = settings(max_examples=6000, deadline=None, derandomize=True, database=None, suppress_health_check=CHECKS)

BASES = [0, 0, 0, 1, 2**31 - 20, 2**32 - 7, 2**40]
SHARES = [0.0, 0.1, 0.2, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.8, 0.9, 1.0]


@st.composite
def free(draw: st.DrawFn) -> Row:
    """Spans anywhere: they overlap, nest, touch and repeat."""
    spans = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 15)), max_size=6))
    row = [[start, start + length] for start, length in spans]
    if row:
        row += draw(st.lists(st.sampled_from(row), max_size=2))
    return row


@st.composite
def disjoint(draw: st.DrawFn) -> Row:
    """Spans without a common character; some touch."""
    cuts = sorted(draw(st.lists(st.integers(0, 45), max_size=16, unique=True)))
    row = [[a, b] for a, b in pairwise(cuts) if draw(st.booleans())]
    return draw(st.permutations(row[:8]))


@st.composite
def example(draw: st.DrawFn) -> tuple[Row, Row]:
    """References and predictions, sometimes derived from each other: equal, shifted, split, merged."""
    kind = st.one_of(st.just([]), free(), disjoint())
    references = draw(kind)
    how = draw(st.sampled_from(["own", "own", "jitter", "split", "merge"]))
    if how == "own" or not references:
        predictions = draw(kind)
    elif how == "jitter":
        predictions = []
        for start, end in references:
            a, b = start + draw(st.integers(-2, 2)), end + draw(st.integers(-2, 2))
            if 0 <= a < b:
                predictions.append([a, b])
    elif how == "split":
        predictions = []
        for start, end in references:
            middle = draw(st.integers(start, end))
            predictions += [[a, b] for a, b in ([start, middle], [middle, end]) if a < b]
        predictions = predictions[:8]
    else:
        ordered = sorted(references)
        predictions = [[a[0], max(a[1], b[1])] for a, b in zip(ordered[:-1:2], ordered[1::2], strict=False)]
    if draw(st.booleans()):
        references, predictions = predictions, references
    base = draw(st.sampled_from(BASES))
    return tuple([[start + base, end + base] for start, end in side] for side in (references, predictions))


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    rows = draw(st.lists(example(), min_size=1, max_size=6))
    return [r for r, _ in rows], [p for _, p in rows]


share = st.one_of(st.sampled_from(SHARES), st.floats(0, 1))
tolerance = st.sampled_from([0.0, 0.0, 1e-9, 0.05])
undefined = st.sampled_from([None, None, 0.0, 1.0])
#: Parameters under the names that the metrics (and the oracle) use.
parameters = st.fixed_dictionaries(
    {},
    optional={
        "deteval_1d": st.fixed_dictionaries(
            {}, optional={"recall_threshold": share, "precision_threshold": share, "granularity_penalty": share}
        ),
        "cleval_1d": st.fixed_dictionaries(
            {},
            optional={
                "area_precision_threshold": share,
                "granularity_penalty_weight": st.one_of(st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.floats(0, 10)),
            },
        ),
        "span_coverage": st.fixed_dictionaries(
            {}, optional={"delta": st.integers(0, 5), "min_pred_len": st.integers(1, 8)}
        ),
    },
)

LONG_NAMES = {
    "delta": "span_coverage_delta",
    "min_pred_len": "span_coverage_min_pred_len",
    "recall_threshold": "deteval_recall_threshold",
    "precision_threshold": "deteval_precision_threshold",
    "granularity_penalty": "deteval_granularity_penalty",
    "area_precision_threshold": "cleval_area_precision_threshold",
    "granularity_penalty_weight": "cleval_granularity_penalty",
}


def own(key: str, chosen: dict[str, dict[str, float]], tol: float) -> dict[str, float]:
    """Return the parameters of one metric."""
    values = dict(chosen.get(key, {}))
    if "tolerance" in oracle.DEFAULTS[key]:
        values["tolerance"] = tol
    return values


def compare(
    batch: tuple[list[Row], list[Row]],
    chosen: dict[str, dict[str, float]],
    tol: float,
    undef: float | None,
    weights: list[float] | None,
) -> None:
    references, predictions = batch
    options = {LONG_NAMES[name]: value for group in chosen.values() for name, value in group.items()}
    keys = [*oracle.KEYS, "response"]
    for average in ("macro", "micro"):
        report = mycelium.evaluate(
            references=references,
            predictions=predictions,
            metrics=keys,
            average=average,
            include_per_example=True,
            tolerance=tol,
            undefined=undef,
            sample_weight=weights,
            **options,
        )
        assert report["meta"]["examples"] == len(references)
        entries = [entry for name, entry in report.items() if name != "meta"]
        for key, entry in zip(keys, entries, strict=True):
            values = own(key, chosen, tol)
            whole = getattr(oracle, average)(key, references, predictions, undef, weights, **values)
            assert {name: x for name, x in entry.items() if name != "per_example"} == approx(whole), key
            rows = [oracle.example(key, r, p, undef, **values) for r, p in zip(references, predictions, strict=True)]
            if key == "iou":
                rows = [row["score"] for row in rows]  # type: ignore[misc]
            assert len(entry["per_example"]) == len(rows)
            for got, row in zip(entry["per_example"], rows, strict=True):
                assert got == approx(row), key
    for key in keys:
        values = own(key, chosen, tol)
        counted = metrics.get(key).at(**values).statistics(references, predictions).tolist()
        for got, r, p in zip(counted, references, predictions, strict=True):
            assert got == approx(list(oracle.statistics(key, r, p, **values))), key


weights_of_rows = st.one_of(
    st.none(), st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 7.25]), min_size=6, max_size=6)
)


def cut(batch: tuple[list[Row], list[Row]], weights: list[float] | None) -> list[float] | None:
    if weights is None:
        return None
    weights = weights[: len(batch[0])]
    assume(sum(weights) > 0)
    return weights


@QUICK
@given(batches(), parameters, tolerance, undefined, weights_of_rows)
def test_library_equals_oracle(
    batch: tuple[list[Row], list[Row]],
    chosen: dict[str, dict[str, float]],
    tol: float,
    undef: float | None,
    weights: list[float] | None,
) -> None:
    compare(batch, chosen, tol, undef, cut(batch, weights))


@pytest.mark.slow
@LONG
@given(batches(), parameters, tolerance, undefined, weights_of_rows)
def test_library_equals_oracle_long(
    batch: tuple[list[Row], list[Row]],
    chosen: dict[str, dict[str, float]],
    tol: float,
    undef: float | None,
    weights: list[float] | None,
) -> None:
    compare(batch, chosen, tol, undef, cut(batch, weights))


@settings(QUICK, max_examples=150)
@given(batches(), st.sampled_from([1, 3, 2**20, 2**33, 2**45]))
def test_long_spans(batch: tuple[list[Row], list[Row]], unit: int) -> None:
    """Stretch every character to ``unit`` characters: shares stay, so do decisions, and lengths grow by the factor."""
    near = [[[s % 64, s % 64 + e - s] for s, e in row] for side in batch for row in side]
    references, predictions = near[: len(batch[0])], near[len(batch[0]) :]
    # The penalty of CLEval counts characters; it may be 1e9 of them at most.
    weight = 1.0 if unit < 10**9 else 0.0
    wide = [[[s * unit, e * unit] for s, e in row] for row in near]
    report = mycelium.evaluate(
        references=wide[: len(batch[0])],
        predictions=wide[len(batch[0]) :],
        span_coverage_delta=2 * unit,
        span_coverage_min_pred_len=3 * unit,
        cleval_granularity_penalty=float(weight * unit),
        average="micro",
    )
    for key, entry in zip(oracle.KEYS, report.values(), strict=False):
        values = {"delta": 2, "min_pred_len": 3} if key == "span_coverage" else {}
        if key == "cleval_1d":
            values = {"granularity_penalty_weight": weight}
        assert entry == approx(oracle.micro(key, references, predictions, **values)), key


# -- correlation of soft labels


@st.composite
def soft_rows(draw: st.DrawFn) -> tuple[int, list[list[float]], list[list[float]]]:
    length = draw(st.integers(1, 24))
    prob = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 1e-9, 1 / 3]), st.floats(0, 1))
    sides = []
    for _ in range(2):
        side = []
        for _ in range(draw(st.integers(0, 5))):
            start = draw(st.integers(0, length - 1))
            side.append([start, draw(st.integers(start + 1, length)), draw(prob)])
        if draw(st.integers(0, 4)) == 0:
            side = [[0, length, draw(prob)], *side[:2]]
        sides.append(side)
    return length, sides[0], sides[1]


def compare_soft(rows: list[tuple[int, list[list[float]], list[list[float]]]]) -> None:
    report = mycelium.evaluate(
        references=[[] for _ in rows],
        predictions=[[] for _ in rows],
        text=["x" * length for length, *_ in rows],
        soft_references=[[{"start": s, "end": e, "prob": p} for s, e, p in r] for _, r, _ in rows],
        soft_predictions=[[{"start": s, "end": e, "prob": p} for s, e, p in r] for *_, r in rows],
        metrics=["soft_correlation"],
        include_per_example=True,
    )
    expected = [oracle.soft_correlation(r, p, length) for length, r, p in rows]
    assert report["soft_correlation"]["per_example"] == approx(expected)
    assert report["soft_correlation"]["score"] == approx(math.fsum(expected) / len(expected))


@settings(QUICK, max_examples=200)
@given(st.lists(soft_rows(), min_size=1, max_size=5))
def test_soft_correlation_equals_scipy(rows: list[tuple[int, list[list[float]], list[list[float]]]]) -> None:
    compare_soft(rows)


@pytest.mark.slow
@settings(LONG, max_examples=2000)
@given(st.lists(soft_rows(), min_size=1, max_size=5))
def test_soft_correlation_equals_scipy_long(rows: list[tuple[int, list[list[float]], list[list[float]]]]) -> None:
    compare_soft(rows)
