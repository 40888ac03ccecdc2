"""Intervals from resampled answers and groups of them."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
from detector_ranking_oracle import EXPECTED, FIXTURE, average_precision, placements, same_12_digits
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mycelium.detector.bootstrap import BootstrapInterval, bootstrap_interval
from mycelium.detector.kernels import Sorted
from mycelium.detector.ranking import average_precision_at_prevalence_score, roc_auc_interval
from mycelium.draws import Units, units_of

Y, A, B, SOURCE = FIXTURE.y, FIXTURE.a, FIXTURE.b, FIXTURE.source
RNG = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
few = pytest.mark.filterwarnings("ignore:intervals from 20 groups are likely too narrow")


def answers(seed: int, n: int = 240, groups: int = 40, values: int = 15) -> tuple[Any, ...]:
    """Return labels, two scores with ties, groups and weights."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.2 + 0.4 * (group % 2)).astype(int)
    a, b = ((rng.integers(0, values, n) + 4 * y) / 8 for _ in range(2))
    return y, a, b, [f"document {i:03}" for i in group], rng.random(n) + 0.1


# -- reference values


@few
@pytest.mark.parametrize("seed", [0, 1, 42])
@pytest.mark.parametrize("kind", ["group", "row"])
def test_reference_values_of_auc(kind: str, seed: int) -> None:
    expected = EXPECTED["bootstrap_auc_a"]["runs"][f"{kind}_seed{seed}"]
    found = bootstrap_interval("roc_auc", Y, A, groups=SOURCE if kind == "group" else None, n_resamples=2000, seed=seed)
    assert same_12_digits(found.low, expected["ci95_low"])
    assert same_12_digits(found.high, expected["ci95_high"])
    assert same_12_digits(found.high - found.low, expected["width"])
    assert same_12_digits(found.standard_error, expected["se_ddof1"])
    assert same_12_digits(float(found.replicates.mean()), expected["mean"])
    assert (found.n_discarded, found.estimate) == (expected["n_skipped_single_class"], 752 / 891)
    assert (found.unit, found.n_units) == (("group", 20) if kind == "group" else ("example", 60))


@few
def test_reference_values_of_standard_errors_and_widths() -> None:
    expected = EXPECTED["bootstrap_auc_a"]
    assert same_12_digits(roc_auc_interval(Y, A).standard_error, expected["se_delong_row"])
    assert same_12_digits(roc_auc_interval(Y, A, groups=SOURCE).standard_error, expected["se_obuchowski_group"])
    for seed, ratio in expected["width_ratio_group_over_row"].items():
        group, row = (
            bootstrap_interval("roc_auc", Y, A, groups=groups, n_resamples=2000, seed=int(seed))
            for groups in (SOURCE, None)
        )
        # Made of widths that were rounded to twelve digits.
        assert (group.high - group.low) / (row.high - row.low) == pytest.approx(ratio, rel=1e-11)


@few
def test_reference_values_of_average_precision_and_of_a_difference() -> None:
    found = bootstrap_interval("average_precision", Y, A, groups=SOURCE, n_resamples=2000)
    low, high = EXPECTED["bootstrap_ap_a_group_seed0"]["ci95"]
    assert same_12_digits(found.low, low)
    assert same_12_digits(found.high, high)
    both = bootstrap_interval("roc_auc", Y, A, B, groups=SOURCE, n_resamples=2000)
    low, high = EXPECTED["bootstrap_auc_diff_group_seed0"]["ci95"]
    assert same_12_digits(both.differences[0, 1].low, low)
    assert same_12_digits(both.differences[0, 1].high, high)
    # Paired draws: each score has the interval that it has alone.
    assert both.scores[0] == bootstrap_interval("roc_auc", Y, A, groups=SOURCE, n_resamples=2000).scores[0]
    assert both.scores[1] == bootstrap_interval("roc_auc", Y, B, groups=SOURCE, n_resamples=2000).scores[0]


# -- kernels


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=14))
def test_kernels_are_the_metrics_of_copied_answers(rows: list[tuple[bool, int, int]]) -> None:
    y, s, counts = ([row[i] for row in rows] for i in range(3))
    kernel = Sorted(np.array(y), np.array(s, dtype=float), units_of(None, len(rows)))
    drawn = np.array(counts, dtype=float)
    yc, sc = ([values[i] for i, count in enumerate(counts) for _ in range(count)] for values in (y, s))
    if not any(yc) or all(yc):
        assert kernel.roc_auc(drawn) is None
        assert kernel.average_precision(drawn) is None
        return
    assert kernel.roc_auc(drawn) == float(placements(yc, sc)[0])
    assert kernel.average_precision(drawn) == pytest.approx(float(average_precision(yc, sc)), rel=1e-13)
    expected = average_precision_at_prevalence_score(yc, sc, prevalence=0.1)
    assert kernel.average_precision(drawn, 0.1) == pytest.approx(expected, rel=1e-12)
    # Nothing of a call is left for the next one.
    assert kernel.roc_auc(drawn) == float(placements(yc, sc)[0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_replicates_are_those_of_a_loop_over_scikit_learn(metric: str, weighted: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    y, a, b, groups, weight = answers(7)
    found = bootstrap_interval(
        metric, y, a, b, groups=groups, sample_weight=weight if weighted else None, n_resamples=60, seed=3
    )
    rng = np.random.default_rng(3)
    keys = sorted(set(groups))
    of = [[i for i, group in enumerate(groups) if group == key] for key in keys]
    score = getattr(metrics, f"{metric}_score")
    for replicate in found.replicates:
        rows = [i for unit in rng.integers(0, len(keys), size=len(keys)) for i in of[unit]]
        w = weight[rows] if weighted else None
        assert replicate[0] == pytest.approx(score(y[rows], a[rows], sample_weight=w), rel=1e-12)
        assert replicate[1] == pytest.approx(score(y[rows], b[rows], sample_weight=w), rel=1e-12)


def test_point_and_replicates_come_from_one_rule() -> None:
    y, a, *_ = answers(2)
    ones = Sorted(y.astype(bool), a, units_of(None, len(y))).roc_auc(np.ones(len(y)))
    assert ones == roc_auc_interval(y, a).estimate == bootstrap_interval("roc_auc", y, a, n_resamples=2).estimate


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
def test_same_interval_as_scipy(method: str) -> None:
    y, a, _, groups, _ = answers(4, n=90, groups=35)
    keys = sorted(set(groups))
    of = [[i for i, group in enumerate(groups) if group == key] for key in keys]

    def auc(units: Any) -> float:
        rows = [i for unit in units for i in of[unit]]
        return float(placements(y[rows].tolist(), a[rows].tolist())[0])

    theirs = stats.bootstrap(
        (np.arange(len(keys)),),
        auc,
        vectorized=False,
        n_resamples=99,
        method=method,
        confidence_level=0.9,
        **{RNG: np.random.default_rng(6)},
    )
    ours = bootstrap_interval(
        "roc_auc", y, a, groups=groups, n_resamples=99, method=method, confidence_level=0.9, seed=6
    )
    assert ours.low == pytest.approx(theirs.confidence_interval.low, rel=1e-10)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, rel=1e-10)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=1e-10)
    assert (ours.only.method, ours.only.note) == (method, "")


def test_a_difference_is_one_number_to_bca() -> None:
    """Its bias and acceleration are its own, which the difference as a metric of the joint data confirms."""
    y, a, b, groups, _ = answers(4, groups=32)
    both = bootstrap_interval("roc_auc", y, a, b, groups=groups, n_resamples=200, method="bca")

    def difference(labels: Any, index: Any) -> float:
        rows = index.astype(int)
        first, second = (float(roc_auc_interval(y[rows], s[rows]).estimate) for s in (a, b))
        assert (labels == y[rows]).all()
        return first - second

    alone = bootstrap_interval(difference, y, np.arange(len(y)), groups=groups, n_resamples=200, method="bca")
    assert both.differences[0, 1].low == pytest.approx(alone.low, rel=1e-10)
    assert both.differences[0, 1].high == pytest.approx(alone.high, rel=1e-10)
    assert both.differences[0, 1].method == "bca"


# -- callables


@pytest.mark.parametrize("weighted", [False, True])
def test_a_callable_sees_the_same_resamples(weighted: bool) -> None:
    y, a, b, groups, weight = answers(5)
    options = {"groups": groups, "sample_weight": weight if weighted else None, "n_resamples": 40, "seed": 9}

    def auc(labels: Any, scores: Any, sample_weight: Any = None) -> float | None:
        assert (sample_weight is not None) == weighted
        return roc_auc_interval(labels, scores, sample_weight=sample_weight).estimate

    looped, fast = bootstrap_interval(auc, y, a, b, **options), bootstrap_interval("roc_auc", y, a, b, **options)
    assert looped.replicates == pytest.approx(fast.replicates, rel=1e-12)
    assert looped.metric == "auc"
    assert looped.differences[0, 1].low == pytest.approx(fast.differences[0, 1].low, rel=1e-10)


def test_a_metric_of_one_class_needs_no_other() -> None:
    """E.g. the rate of false acceptance, of unsupported answers only; and 0 of 40 gives [0, 0], hence exact bounds."""
    found = bootstrap_interval(lambda y, s: np.mean(s <= 0.5), [1] * 40, np.linspace(0.2, 1, 40), n_resamples=50)
    assert found.n_discarded == 0
    assert found.low < found.estimate < found.high
    never = bootstrap_interval(lambda y, s: np.mean(s <= 0.1), [1] * 40, np.linspace(0.2, 1, 40), n_resamples=50)
    assert (never.low, never.high, never.only.note) == (0, 0, "all replicates are equal")


def test_what_is_no_number_is_discarded() -> None:
    found = bootstrap_interval(lambda y, s: None, [0, 1] * 20, range(40), n_resamples=5)
    assert (found.estimate, found.low, found.n_discarded) == (None, None, 0)
    assert "not a finite number" in found.undefined["estimate"]

    calls = []

    def rare(y: Any, s: Any) -> float:
        calls.append(1)
        return float("nan") if len(calls) == 3 else float(np.mean(s))

    found = bootstrap_interval(rare, [0, 1] * 20, range(40), n_resamples=50)
    assert (found.n_discarded, len(found.replicates), len(calls)) == (1, 49, 51)


# -- what must not matter


@few
def test_order_and_names_of_groups_and_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(60)
    expected = bootstrap_interval("roc_auc", Y, A, B, groups=SOURCE, n_resamples=100)
    moved = bootstrap_interval(
        "roc_auc",
        *([values[i] for i in order] for values in (Y, A, B)),
        groups=[int(SOURCE[i][1:]) * 10 for i in order],
        n_resamples=100,
    )
    assert (moved.replicates == expected.replicates).all()
    assert moved.to_dict() == expected.to_dict()


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_groups_of_one_answer_are_answers(metric: str) -> None:
    rows = bootstrap_interval(metric, Y, A, n_resamples=200)
    single = bootstrap_interval(metric, Y, A, groups=[f"{i:02}" for i in range(60)], n_resamples=200)
    assert (rows.replicates == single.replicates).all()
    assert (single.unit, single.n_units) == ("group", 60)


def test_increasing_transforms_and_equal_weights() -> None:
    y, a, *_ = answers(0)
    for metric in ("roc_auc", "average_precision"):
        expected = bootstrap_interval(metric, y, a, n_resamples=50)
        transformed = bootstrap_interval(metric, y, np.exp(3 * a), n_resamples=50)
        assert (transformed.replicates == expected.replicates).all()
        weighted = bootstrap_interval(metric, y, a, sample_weight=np.full(len(y), 0.37), n_resamples=50)
        assert weighted.replicates == pytest.approx(expected.replicates, rel=1e-12)


def test_seeds() -> None:
    y, a, *_ = answers(0)
    one, same, other, generator = (
        bootstrap_interval("roc_auc", y, a, n_resamples=20, seed=seed) for seed in (1, 1, 2, np.random.default_rng(1))
    )
    assert (one.replicates == same.replicates).all()
    assert not (one.replicates == other.replicates).all()
    assert (one.replicates == generator.replicates).all()
    assert (one.seed, generator.seed) == (1, None)


def test_prevalence() -> None:
    y, a, *_ = answers(0)
    found = bootstrap_interval("average_precision", y, a, prevalence=0.01, n_resamples=30, seed=2)
    rng = np.random.default_rng(2)
    assert found.estimate == pytest.approx(average_precision_at_prevalence_score(y, a, prevalence=0.01))
    for replicate in found.replicates[:, 0]:
        rows = rng.integers(0, len(y), len(y))
        expected = average_precision_at_prevalence_score(y[rows], a[rows], prevalence=0.01)
        assert replicate == pytest.approx(expected, rel=1e-12)


# -- what resampling cannot do


def test_resamples_of_one_class_are_discarded_and_counted() -> None:
    y = [1] + [0] * 39
    with pytest.warns(UserWarning, match=r"of 400 resamples drew a single class.*discarded"):
        found = bootstrap_interval("roc_auc", y, np.arange(40) % 7, n_resamples=400)
    rng = np.random.default_rng(0)
    missed = sum(0 not in rng.integers(0, 40, size=40) for _ in range(400))
    assert found.n_discarded == missed > 20
    assert len(found.replicates) == 400 - missed
    assert found.low <= found.high


def test_a_few_discarded_resamples_are_counted_without_a_warning() -> None:
    y = [1] * 5 + [0] * 35
    found = bootstrap_interval("average_precision", y, np.arange(40) % 7, n_resamples=3000)
    rng = np.random.default_rng(0)
    assert found.n_discarded == sum(rng.integers(0, 40, size=40).min() >= 5 for _ in range(3000)) > 0


def test_fewer_than_30_units_bring_a_warning() -> None:
    with pytest.warns(UserWarning, match="intervals from 20 groups are likely too narrow"):
        bootstrap_interval("roc_auc", Y, A, groups=SOURCE, n_resamples=5)


def test_what_is_undefined() -> None:
    one_class = bootstrap_interval("roc_auc", [0] * 40, range(40), n_resamples=5)
    assert one_class.undefined == dict.fromkeys(("estimate", "interval"), "there are no unsupported answers")
    assert (one_class.estimate, one_class.low, one_class.n_discarded) == (None, None, 0)
    one_group = bootstrap_interval("roc_auc", [0, 1] * 20, range(40), range(40), groups=["a"] * 40, n_resamples=5)
    assert one_group.scores[0].estimate is not None
    assert (one_group.scores[0].low, one_group.differences[0, 1].estimate) == (None, 0)
    assert one_group.undefined["interval"].startswith("there is 1 group")
    with pytest.warns(UserWarning, match="likely too narrow"), pytest.warns(UserWarning, match="discarded"):
        lost = bootstrap_interval("roc_auc", [0, 1], [0.1, 0.2], n_resamples=1)
    assert (lost.estimate, lost.low, lost.n_discarded) == (1, None, 1)
    assert lost.undefined == {"interval": "all resamples were discarded"}
    for found in (one_class, one_group, lost):
        json.dumps(found.to_dict(), allow_nan=False)


def test_bca_gives_way_where_a_unit_cannot_be_left_out() -> None:
    y = [1] + [0] * 39
    with pytest.warns(UserWarning, match="discarded"):
        found = bootstrap_interval("roc_auc", y, np.arange(40) % 7, n_resamples=100, method="bca")
    assert found.only.method == "percentile"
    assert found.only.note == "the metric without one of the units is not a number"
    assert found.method == "bca"


def test_scores_that_are_missing() -> None:
    y, a, b, *_ = answers(0)
    a[3], b[5] = np.nan, np.nan
    kept = [i for i in range(len(y)) if i not in (3, 5)]
    found = bootstrap_interval("roc_auc", y, a, b, n_resamples=5, nan_policy="omit")
    expected = bootstrap_interval("roc_auc", y[kept], a[kept], b[kept], n_resamples=5)
    assert (found.replicates == expected.replicates).all()
    assert (found.n_unscored, found.n_omitted) == ((1, 1), 2)
    with pytest.raises(ValueError, match=r"y_scores\[0\]: row 3 has no score"):
        bootstrap_interval("roc_auc", y, a, b)
    assert bootstrap_interval("roc_auc", y, a, n_resamples=5, nan_policy="reject").n_unscored == (1,)


def test_several_scores_have_no_single_interval() -> None:
    y, a, b, *_ = answers(0)
    found = bootstrap_interval("roc_auc", y, a, b, a, n_resamples=5)
    assert isinstance(found, BootstrapInterval)
    assert list(found.differences) == [(0, 1), (0, 2), (1, 2)]
    assert found.differences[0, 2].high == 0
    with pytest.raises(ValueError, match="there are 3 scores"):
        _ = found.low


@pytest.mark.parametrize(
    ("metric", "scores", "options", "error", "match"),
    [
        ("auc", (A,), {}, ValueError, "metric must be callable or one of"),
        ("roc_auc", (), {}, TypeError, "at least one sequence of scores"),
        ("roc_auc", (A,), {"method": "t"}, ValueError, "method must be one of"),
        ("roc_auc", (A,), {"prevalence": 0.1}, ValueError, "'average_precision' only"),
        ("average_precision", (A,), {"prevalence": 1.5}, ValueError, "prevalence must lie"),
        ("roc_auc", (A,), {"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ("roc_auc", (A,), {"seed": None}, TypeError, "seed must be an integer"),
        ("roc_auc", (A, B[1:]), {}, ValueError, r"y_scores\[1\] has 59 values"),
        ("roc_auc", (A,), {"confidence_level": 1}, ValueError, "confidence_level must lie"),
    ],
)
def test_bad_arguments(
    metric: str, scores: tuple[Any, ...], options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        bootstrap_interval(metric, Y, *scores, **options)


def test_no_answers_are_sorted_or_copied_per_replicate() -> None:
    """A unit that holds many answers is looked up, so that its draws stay as many as there are units."""
    units = Units(np.zeros(5, dtype=np.int64), 1, ("all",))
    kernel = Sorted(np.array([True, False, True, False, False]), np.array([5.0, 4, 3, 2, 1]), units)
    assert kernel.roc_auc(np.array([3.0])) == kernel.roc_auc(np.array([1.0])) == 5 / 6


@pytest.mark.slow
def test_intervals_of_average_precision_cover() -> None:
    """Nominal 95 % intervals from 60 groups hold the average precision of a large sample in at least 90 % of cases."""
    rng = np.random.default_rng(5)

    def sampled(groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        group = np.repeat(np.arange(groups), 5)
        y = rng.random(5 * groups) < np.repeat(rng.beta(2, 4, groups), 5)
        return y, rng.normal(size=5 * groups) + np.repeat(rng.normal(size=groups), 5) + 1.5 * y, group

    y, s, _ = sampled(200_000)
    truth = bootstrap_interval("average_precision", y, s, n_resamples=2).estimate
    held, runs = 0, 250
    for seed in range(runs):
        y, s, group = sampled(60)
        found = bootstrap_interval("average_precision", y, s, groups=group, n_resamples=300, seed=seed)
        held += found.low <= truth <= found.high
    assert 0.88 <= held / runs <= 0.99
