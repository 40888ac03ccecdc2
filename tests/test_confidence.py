"""Intervals of reports: against scipy with scores computed anew, what is kept for them, and their soundness."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import tracemalloc
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import BATCH, KEYS, approx, random_batch, take
from scipy import stats

from mycelium import Accumulator, Report, confidence, evaluate, scoring
from mycelium.confidence import Intervals, Resampling
from mycelium.draws import units_of
from mycelium.kept import averages, unit_sums
from mycelium.resample import METHODS
from mycelium.scoring import bootstrap

RNG = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
METRICS = [*KEYS, "response", "span_coverage(delta=2)"]

pytestmark = pytest.mark.filterwarnings("ignore:intervals .* are likely too narrow")


def bounds(intervals: Intervals) -> list[float]:
    """Return all bounds in a row."""
    return [b for key, outputs in intervals.items() if key != "meta" for pair in outputs.values() for b in pair]


def documents(n: int, of: int = 4) -> list[str]:
    """Return groups of up to `of` rows that are not in order and not of one size."""
    return [f"document {(7 * i) % max(1, n // of)}" for i in range(n)]


# -- against scipy: replicates are scored anew, from the spans


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["examples", "groups", "weights"])
def test_intervals_are_those_of_scores_computed_anew(average: str, method: str, kind: str) -> None:
    n, n_resamples = 33, 60
    batch = random_batch(n, seed=3)
    batch["predictions"][::5] = batch["references"][::5]  # some spans are met exactly
    groups = documents(n) if kind == "groups" else None
    weights = [(i % 4) / 2 + 0.25 for i in range(n)] if kind == "weights" else None
    names = sorted(set(groups)) if groups else list(range(n))
    rows_of = [[i for i in range(n) if groups[i] == name] for name in names] if groups else [[i] for i in range(n)]
    known: dict[tuple[int, ...], dict[str, float]] = {}

    def score(units: Any) -> dict[str, float]:
        rows = tuple(i for unit in units for i in rows_of[int(unit)])
        if rows not in known:
            of = None if weights is None else [weights[i] for i in rows]
            known[rows] = evaluate(**take(batch, rows), metrics=METRICS, average=average, sample_weight=of).flat()
        return known[rows]

    ours = evaluate(
        **batch, metrics=METRICS, average=average, sample_weight=weights, groups=groups
    ).confidence_intervals(0.9, method=method, n_resamples=n_resamples, seed=11)
    notes = ours["meta"]["notes"]
    assert ours["meta"]["units"] == len(names)
    for key, outputs in ours.scores.items():
        for output in outputs:
            flat = key if output == "score" else f"{key}_{output}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of degenerate distributions, which scipy leaves open
                theirs = stats.bootstrap(
                    (np.arange(len(names)),),
                    lambda units, flat=flat: score(units)[flat],
                    n_resamples=n_resamples,
                    confidence_level=0.9,
                    method="percentile" if f"{key}.{output}" in notes else method,
                    vectorized=False,
                    **{RNG: np.random.default_rng(11)},
                )
            assert ours.replicates(key)[:, list(outputs).index(output)].tolist() == approx(
                theirs.bootstrap_distribution.tolist()
            )
            expected = [theirs.confidence_interval.low, theirs.confidence_interval.high]
            assert ours[key][output] == pytest.approx(expected, rel=0, abs=1e-9), (key, output)
    assert not notes


def test_scores_are_those_of_the_report() -> None:
    report = evaluate(**random_batch(41), metrics=METRICS, average="micro")
    intervals = report.confidence_intervals(n_resamples=50)
    assert intervals.scores == {key: value for key, value in report.items() if key != "meta"}
    assert list(intervals) == list(report)
    for key, outputs in intervals.scores.items():
        assert intervals.replicates(key).shape == (50, len(outputs))
        assert not intervals.replicates(key).flags.writeable
    with pytest.raises(KeyError, match=r"soft_correlation.*exact_span"):
        intervals.replicates("soft_correlation")


def test_soft_spans() -> None:
    """Probabilities have no other treatment than counts."""
    soft = {"start": 0, "end": 4, "prob": 0.5}
    rows: dict[str, Any] = {
        "references": [[[0, 4]], [[0, 4]], [[0, 2]], []] * 10,
        "predictions": [[[0, 4]], [[1, 4]], [], []] * 10,
        "soft_references": [[soft], [soft], [{**soft, "end": 2}], []] * 10,
        "soft_predictions": [[soft], [{**soft, "start": 1}], [], []] * 10,
        "text": ["abcdefgh"] * 40,
    }
    intervals = bootstrap(**rows, metrics=["soft_correlation"], n_resamples=200)
    low, high = intervals["soft_correlation"]["score"]
    assert low < intervals.scores["soft_correlation"]["score"] < high


# -- what decides the draws


def test_singleton_groups_are_examples() -> None:
    report = evaluate(**random_batch(40))
    for method in METHODS:
        by_example = report.confidence_intervals(method=method, n_resamples=300)
        by_group = report.confidence_intervals(method=method, n_resamples=300, groups=range(40))
        assert bounds(by_group) == bounds(by_example)
        assert (by_example["meta"]["unit"], by_group["meta"]["unit"]) == ("example", "group")


def test_draws_depend_on_the_sorted_groups_only() -> None:
    batch, groups = random_batch(60, seed=2), documents(60)
    report = evaluate(**batch, groups=groups)
    wanted = report.confidence_intervals(n_resamples=200)
    # Other names in the same order.
    renamed = [name.replace("document", "paper") for name in groups]
    assert bounds(report.confidence_intervals(groups=renamed, n_resamples=200)) == bounds(wanted)
    # Rows in another order.
    order = np.random.default_rng(0).permutation(60).tolist()
    moved = evaluate(**take(batch, order), groups=[groups[i] for i in order])
    found = moved.confidence_intervals(n_resamples=200)
    assert bounds(found) == approx(bounds(wanted))
    assert found.scores == wanted.scores
    # Names in another order: the same units, drawn differently.
    other = report.confidence_intervals(groups=[name[::-1] for name in groups], n_resamples=200)
    assert other.scores == wanted.scores
    assert other["meta"] == wanted["meta"]


def test_groups_given_to_intervals_go_before_those_of_the_report() -> None:
    batch, groups = random_batch(60), documents(60)
    report = evaluate(**batch, groups=documents(60, 2))
    given_later = report.confidence_intervals(groups=groups)
    assert given_later == evaluate(**batch, groups=groups).confidence_intervals()
    assert given_later == evaluate(**batch).confidence_intervals(groups=groups)
    assert given_later == bootstrap(**batch, groups=groups)
    assert given_later["meta"]["units"] == 15
    assert report.confidence_intervals()["meta"]["units"] == 30


def test_seeds_are_explicit() -> None:
    report = evaluate(**random_batch(35))
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    first, again, other = (report.confidence_intervals(seed=seed, n_resamples=99) for seed in (1, 1, 2))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002
    assert first == again
    assert first["iou"] != other["iou"]
    rng = np.random.default_rng(1)
    one, two = (
        report.confidence_intervals(seed=rng, n_resamples=99),
        report.confidence_intervals(seed=rng, n_resamples=99),
    )
    assert bounds(one) == bounds(first)
    assert bounds(two) != bounds(first)  # the generator has moved on
    assert (first["meta"]["seed"], one["meta"]["seed"]) == (1, None)
    assert "|seed:generator|" in one.signature
    # The default is a seed too.
    assert report.confidence_intervals() == report.confidence_intervals(seed=0)


def test_all_scores_share_one_set_of_draws() -> None:
    """F1 of a replicate comes from the precision and recall of the same replicate."""
    report = evaluate(**random_batch(35), metrics=["character", "iou"], average="micro")
    precision, recall, f1 = report.confidence_intervals(n_resamples=99).replicates("character").T
    assert f1.tolist() == approx((2 * precision * recall / (precision + recall)).tolist())
    alone = evaluate(**random_batch(35), metrics=["iou"], average="micro").confidence_intervals(n_resamples=99)
    assert report.confidence_intervals(n_resamples=99)["iou"] == alone["iou"]


# -- weights


def test_weight_two_is_the_row_twice_in_its_group() -> None:
    batch = random_batch(40, seed=6)
    weights = [1 + i % 3 for i in range(40)]
    twice = [i for i in range(40) for _ in range(weights[i])]
    for average in ("macro", "micro"):
        weighted = evaluate(**batch, average=average, sample_weight=weights, groups=range(40))
        repeated = evaluate(**take(batch, twice), average=average, groups=twice)
        for method in METHODS:
            one, two = (r.confidence_intervals(method=method, n_resamples=100) for r in (weighted, repeated))
            assert bounds(one) == pytest.approx(bounds(two), rel=0, abs=1e-9)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_replicates_that_weigh_nothing_are_discarded(average: str) -> None:
    batch = {"references": [[[0, 4]], [[0, 4]], [[0, 9]]], "predictions": [[[0, 4]], [[0, 2]], [[0, 3]]]}
    report = evaluate(**batch, metrics=["iou"], average=average, sample_weight=[0, 0.5, 0])
    drawn = np.random.default_rng(0).integers(0, 3, (1000, 3))
    expected = int((drawn != 1).all(axis=1).sum())
    assert 200 < expected < 400  # (2/3)**3 of 1000
    with pytest.warns(UserWarning, match=rf"{expected} of 1,000 resamples drew nothing but weight 0"):
        intervals = report.confidence_intervals(n_resamples=1000)
    assert intervals["meta"]["discarded"] == expected
    assert intervals.replicates("iou").shape == (1000 - expected, 1)
    assert intervals["iou"]["score"] == [0.5, 0.5]
    assert f"{expected} replicates without weight discarded" in intervals.to_table()
    with pytest.raises(ValueError, match="weight 0; give n_resamples more"):
        report.confidence_intervals(n_resamples=1, seed=next(s for s in range(99) if all_miss(s)))


def all_miss(seed: int) -> bool:
    return 1 not in np.random.default_rng(seed).integers(0, 3, (1, 3))


def test_few_discarded_replicates_are_counted_without_a_warning() -> None:
    report = evaluate(**random_batch(4), sample_weight=[1, 1, 1, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = report.confidence_intervals(n_resamples=2000)
    assert 0 < found["meta"]["discarded"] < 100  # a quarter to the fourth: 8 of 2000
    assert [str(w.message)[:27] for w in caught] == ["intervals from 4 examples a"]


def test_bca_without_weight_beside_a_unit_falls_back() -> None:
    batch = {"references": [[[0, 4]]] * 3, "predictions": [[[0, 4]], [[0, 2]], [[0, 3]]]}
    report = evaluate(**batch, metrics=["iou"], sample_weight=[0, 1, 0], groups=["a", "b", "b"])
    with pytest.warns(UserWarning, match="nothing but weight 0"):
        assert report.confidence_intervals(method="bca", n_resamples=99)["iou"]["score"] == [0.5, 0.5]


def test_bca_falls_back_where_the_others_weigh_nothing_in_doubles() -> None:
    """Without the first example a weight of 1e-100 is left, which the sum of both has lost."""
    batch = {"references": [[[0, 4]]] * 2, "predictions": [[[0, 4]], [[0, 2]]]}
    report = evaluate(**batch, metrics=["iou"], sample_weight=[1e100, 1e-100])
    intervals = report.confidence_intervals(method="bca")
    assert set(intervals.replicates("iou").ravel().tolist()) == {0.5, 1.0}
    assert intervals["iou"]["score"] == [0.5, 1.0]
    assert intervals["meta"]["notes"] == {
        "iou.score": "without some unit there is no weight left, percentile instead of bca"
    }


# -- degenerate cases and warnings


@pytest.mark.parametrize("method", METHODS)
def test_equal_examples_have_an_interval_without_width(method: str) -> None:
    """Two thirds is no binary fraction: sums of it are rounded, and that must not show."""
    report = evaluate(references=[[[0, 9]]] * 35, predictions=[[[0, 6]]] * 35, metrics=["iou", "exact_span"])
    intervals = report.confidence_intervals(method=method)
    assert intervals["iou"]["score"] == [2 / 3, 2 / 3]
    assert intervals["exact_span"]["f1"] == [0.0, 0.0]
    assert intervals["meta"]["notes"] == dict.fromkeys(
        ["iou.score", "exact_span.precision", "exact_span.recall", "exact_span.f1"], "all replicates are equal"
    )
    line = "iou.score, exact_span.precision, exact_span.recall, exact_span.f1: all replicates are equal"
    assert line in intervals.to_table().split("\n")


def test_one_example_has_an_interval_without_width_and_a_warning() -> None:
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]], groups="x")
    with pytest.warns(UserWarning, match="from 1 group are likely too narrow.*at least 30 groups"):
        intervals = report.confidence_intervals(method="bca")
    assert intervals["iou"]["score"] == [0.6, 0.6]
    assert "resamples of 1 group, seed 0; 1 example, macro average" in intervals.to_table()


def test_bca_falls_back_and_says_so() -> None:
    """With two replicates it is likely that both lie above the score."""
    report = evaluate(**random_batch(30, seed=1), metrics=["iou"])
    point = report["iou"]["score"]
    for seed in range(50):
        intervals = report.confidence_intervals(method="bca", n_resamples=2, seed=seed)
        replicates = intervals.replicates("iou")
        one_side = bool((replicates > point).all() or (replicates < point).all())
        reason = "all replicates lie on one side of the score, percentile instead of bca"
        assert intervals["meta"]["notes"] == ({"iou.score": reason} if one_side else {})
        assert (f"\niou.score: {reason}\n" in intervals.to_table()) == one_side
        assert intervals["iou"]["score"] == approx(np.percentile(replicates, [2.5, 97.5]).tolist()) or not one_side


def test_few_units_are_warned_of() -> None:
    for n, few in ((29, True), (30, False)):
        report = evaluate(**random_batch(n))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            report.confidence_intervals(n_resamples=9)
        assert [str(w.message)[:31] for w in caught] == ["intervals from 29 examples are "] * few
        assert all(w.filename == __file__ for w in caught)
    report = evaluate(**random_batch(70))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report.confidence_intervals(n_resamples=9, by=["b"] * 10 + ["a"] * 20 + ["c"] * 40)
    assert len(caught) == 1
    assert "intervals of slices with few examples, a (20), b (10), are likely too narrow" in str(caught[0].message)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": 95}, ValueError, "level must lie between 0 and 1"),
        ({"method": "normal"}, ValueError, "method must be one of 'percentile', 'bca', 'basic'"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ({"n_resamples": 10.0}, TypeError, "n_resamples must be an integer"),
        ({"seed": None}, TypeError, "seed must be an integer"),
        ({"groups": ["a"] * 39}, ValueError, "groups has 39 values.*40 rows"),
        ({"groups": [None] * 40}, ValueError, "groups: row 0 has no value"),
        ({"by": ["a"] * 41}, ValueError, "by has 41 values.*40 examples"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    batch = random_batch(40)
    with pytest.raises(error, match=message):
        evaluate(**batch).confidence_intervals(**options)
    if "by" not in options:
        with pytest.raises(error, match=message):
            bootstrap(**batch, **options)


# -- slices


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_slices_are_what_they_are_alone(method: str, weighted: bool) -> None:
    n = 90
    # Some documents lie in both slices, some in one of them.
    batch, groups, by = (
        random_batch(n),
        [f"{i // 2:02}" for i in range(n)],
        [["sum", "qa", "qa"][i % 3] for i in range(n)],
    )
    weights = [0.5 + i % 4 for i in range(n)] if weighted else None
    options: dict[str, Any] = {"average": "micro", "metrics": METRICS}
    how: dict[str, Any] = {"level": 0.8, "method": method, "n_resamples": 150, "seed": 4}
    report = evaluate(**batch, **options, sample_weight=weights, groups=groups)
    for found in (
        report.confidence_intervals(**how, by=by),
        report.confidence_intervals(**how, by=np.array(by)),
        evaluate(**batch, **options, sample_weight=weights).confidence_intervals(**how, by=by, groups=groups),
        {value: part.confidence_intervals(**how) for value, part in report.by(by).items()},
    ):
        assert list(found) == ["qa", "sum"]
        for value, intervals in found.items():
            rows = [i for i in range(n) if by[i] == value]
            alone = evaluate(
                **take(batch, rows),
                **options,
                sample_weight=None if weights is None else [weights[i] for i in rows],
                groups=[groups[i] for i in rows],
            ).confidence_intervals(**how)
            assert intervals == alone
            assert intervals.scores == alone.scores
            assert intervals.signature == alone.signature


def test_slices_without_groups() -> None:
    batch, by = random_batch(70), [i % 2 for i in range(70)]
    found = evaluate(**batch).confidence_intervals(by=by)
    for value in (0, 1):
        assert found[value] == bootstrap(**take(batch, range(value, 70, 2)))
        assert found[value]["meta"]["unit"] == "example"


# -- what is kept


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_groups_give_the_intervals_of_rows(average: str, weighted: bool) -> None:
    batch, groups = random_batch(120, seed=9), documents(120)
    weights = [0.3 + (i % 5) / 7 for i in range(120)] if weighted else None
    options: dict[str, Any] = {"average": average, "metrics": METRICS, "undefined": 0.0}
    rows = evaluate(**batch, **options, groups=groups, sample_weight=weights)
    sums = evaluate(**batch, **options, groups=groups, sample_weight=weights, keep_statistics=False)
    with_rows = evaluate(
        **batch, **options, groups=groups, sample_weight=weights, keep_statistics=False, include_per_example=True
    )
    reports = [sums, with_rows]
    for keep in (False, True):
        one, other = (Accumulator(**options, keep_statistics=keep) for _ in range(2))
        for scores_, cuts in ((one, (0, 13, 13, 50)), (other, (50, 51, 120))):
            for begin, end in pairwise(cuts):
                scores_.update(
                    **take(batch, range(begin, end)),
                    groups=groups[begin:end],
                    sample_weight=None if weights is None else weights[begin:end],
                )
        one.merge(other)
        reports.append(one.compute())
        reports.append(pickle.loads(pickle.dumps(one)).compute())
    for method in METHODS:
        wanted = rows.confidence_intervals(method=method, n_resamples=200)
        for report in reports:
            found = report.confidence_intervals(method=method, n_resamples=200)
            assert bounds(found) == pytest.approx(bounds(wanted), rel=0, abs=1e-12 if method != "bca" else 1e-9)
            assert found.scores == wanted.scores
            assert found["meta"] == wanted["meta"]
            assert found.signature == wanted.signature


def test_many_rows_leave_sums_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, groups = random_batch(50), documents(50, 1)
    wanted = evaluate(**batch, groups=groups).confidence_intervals()
    monkeypatch.setattr(scoring, "ROWS_KEPT", 49)
    report = evaluate(**batch, groups=groups)
    assert bounds(report.confidence_intervals()) == approx(bounds(wanted))
    for call in (
        lambda: report.by(groups),
        lambda: report.statistics("iou"),
        lambda: report.confidence_intervals(by=groups),
        lambda: report.confidence_intervals(groups=groups),
    ):
        with pytest.raises(ValueError, match=r"keeps the sums of groups, but no statistics.*keep_statistics=True"):
            call()
    alone = evaluate(**batch)
    with pytest.raises(ValueError, match=r"keeps no statistics per example: evaluate.*keep_statistics=True.*groups"):
        alone.confidence_intervals()
    kept = evaluate(**batch, keep_statistics=True)
    assert kept.confidence_intervals(groups=groups) == wanted
    assert bootstrap(**batch) == kept.confidence_intervals()
    monkeypatch.setattr(scoring, "ROWS_KEPT", 50)
    assert evaluate(**batch).confidence_intervals(groups=groups) == wanted


def test_an_accumulator_keeps_statistics_on_request() -> None:
    batch = random_batch(40)
    weights = [2] * 10 + [1] * 30
    whole = evaluate(**batch, sample_weight=weights)
    stream = Accumulator(keep_statistics=True)
    stream.update(**take(batch, range(10)), sample_weight=weights[:10])
    early = stream.compute()
    stream.update(**take(batch, range(10, 40)))  # without weights: 1 each
    report = stream.compute()
    assert report.statistics("iou").tolist() == whole.statistics("iou").tolist()
    assert report.by(["a", "b"] * 20) == whole.by(["a", "b"] * 20)
    assert report.confidence_intervals() == whole.confidence_intervals()
    assert len(early.statistics("iou")) == 10  # what comes later does not change it
    stream.reset()
    stream.update(**take(batch, range(3)))
    assert len(stream.compute().statistics("iou")) == 3


def test_an_accumulator_that_keeps_nothing_says_what_to_do() -> None:
    stream = Accumulator()
    stream.update(**BATCH)
    for call in (stream.compute().confidence_intervals, lambda: stream.compute().by(["a"] * 5)):
        with pytest.raises(ValueError, match=r"keeps no statistics.*Accumulator keep_statistics=True.*groups"):
            call()
    for keep in (False, True):
        other = Accumulator(keep_statistics=keep)
        other.update(**BATCH, groups=range(5))
        other.add_state(stream.state())
        with pytest.raises(ValueError, match=r"keeps no statistics.*add_state.*totals only.*merge"):
            other.compute().confidence_intervals()
        merged = Accumulator(keep_statistics=keep)
        merged.merge(other)
        with pytest.raises(ValueError, match="add_state"):
            merged.compute().confidence_intervals()
        other.reset()
        other.update(**BATCH, groups=range(5))
        other.compute().confidence_intervals()


def test_groups_are_given_always_or_never() -> None:
    for keep in (False, True):
        grouped, plain = Accumulator(keep_statistics=keep), Accumulator(keep_statistics=keep)
        grouped.update(**BATCH, groups=list("abcab"))
        plain.update(**BATCH)
        before = grouped.state().tolist(), plain.state().tolist()
        for scores, other, groups, had in ((grouped, plain, None, "groups"), (plain, grouped, list("abcab"), "none")):
            with pytest.raises(ValueError, match=f"for all examples or for none: those before had {had}"):
                scores.update(**BATCH, groups=groups)
            with pytest.raises(ValueError, match=f"for all examples or for none: those before had {had}"):
                scores.merge(other)
        with pytest.raises(TypeError, match=r"sorted together \(int and str\)"):
            grouped.update(**BATCH, groups=[1, 2, 3, 4, 5])
        with pytest.raises(ValueError, match=r"groups has 4 values.*5 rows"):
            grouped.update(**BATCH, groups=list("abca"))
        assert (grouped.state().tolist(), plain.state().tolist()) == before
        # Without examples there is nothing to agree with.
        grouped.merge(Accumulator(keep_statistics=keep))
        grouped.update([], [])
        empty = Accumulator(keep_statistics=keep)
        empty.merge(grouped)
        empty.merge(empty)
        assert empty.compute()["meta"]["examples"] == 10
        assert empty.compute().confidence_intervals()["meta"]["units"] == 3


def test_accumulators_that_keep_and_do_not_keep_are_not_merged() -> None:
    one, other = Accumulator(keep_statistics=True), Accumulator()
    with pytest.raises(ValueError, match="only one of them has keep_statistics=True"):
        one.merge(other)
    for wrong in (None, 1, "yes"):
        with pytest.raises(TypeError, match="keep_statistics must be True or False"):
            Accumulator(keep_statistics=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="keep_statistics must be None, True or False"):
        evaluate(**BATCH, keep_statistics="yes")  # type: ignore[arg-type]


def test_groups_change_no_score() -> None:
    batch = random_batch(30)
    plain = evaluate(**batch)
    for keep in (None, False, True):
        grouped = evaluate(**batch, groups=documents(30), keep_statistics=keep)
        assert json.dumps(grouped) == json.dumps(plain)
        assert grouped.signature == plain.signature
        assert grouped.to_table() == plain.to_table()


def test_reports_with_groups_are_pickled() -> None:
    for keep in (True, False):
        report = evaluate(**random_batch(50), groups=documents(50), keep_statistics=keep)
        for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report), copy.copy(report)):
            assert isinstance(other, Report)
            assert other.confidence_intervals() == report.confidence_intervals()


def test_memory_with_many_groups() -> None:
    """100,000 rows in 20,000 groups, 2,000 replicates: counts in one piece would take 320 MB."""
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(0, 50, (2, 100_000, 1, 2)), axis=-1)
    pairs[..., 1] += 1
    groups = rng.integers(0, 20_000, 100_000).tolist()
    for keep in (True, False):
        report = evaluate(references=pairs[0], predictions=pairs[1], groups=groups, keep_statistics=keep)
        tracemalloc.start()
        intervals = report.confidence_intervals()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert intervals["meta"]["units"] == len(set(groups))
        assert peak < 50e6


# -- the object


def test_the_signature_holds_everything_in_order() -> None:
    report = evaluate(**random_batch(60))
    assert report.confidence_intervals().signature == (
        report.signature + "|ci:percentile|level:0.95|resamples:2000|seed:0|units:60 examples"
    )
    assert report.confidence_intervals(0.5, documents(60), "bca", 70, 3).signature == (
        report.signature + "|ci:bca|level:0.5|resamples:70|seed:3|units:15 groups"
    )


def test_meta() -> None:
    intervals = evaluate(**random_batch(60), average="micro", metrics=["iou"]).confidence_intervals(
        np.float64(0.9), documents(60), "basic", np.int64(70), np.int64(3)
    )
    assert intervals["meta"] == {
        "level": 0.9,
        "method": "basic",
        "n_resamples": 70,
        "seed": 3,
        "unit": "group",
        "units": 15,
        "examples": 60,
        "average": "micro",
        "discarded": 0,
        "notes": {},
    }


def test_json(tmp_path: Path) -> None:
    intervals = bootstrap(**random_batch(40), n_resamples=50, seed=np.random.default_rng(0))
    path = tmp_path / "out.json"
    written = json.loads(intervals.to_json(path))
    assert json.loads(path.read_text(encoding="utf-8")) == written
    assert written == {"intervals": intervals, "scores": intervals.scores, "signature": intervals.signature}
    assert all(type(bound) is float for bound in bounds(intervals))
    for other in (pickle.loads(pickle.dumps(intervals)), copy.deepcopy(intervals), copy.copy(intervals)):
        assert other == intervals
        assert other.to_table() == intervals.to_table()
        assert other.replicates("iou").tolist() == intervals.replicates("iou").tolist()


def test_tables() -> None:
    """IoU 0.6 and 1 by turns: the mean of 40 replicates' examples lies on a grid of hundredths."""
    intervals = bootstrap(
        references=[[[0, 10]]] * 40, predictions=[[[2, 8]], [[0, 10]]] * 20, metrics=["iou", "character"]
    )
    low, high = intervals["iou"]["score"]
    assert (low * 100) % 1 == approx(0)
    cell = f"0.8000 [{low:.4f}, {high:.4f}]"
    summary = "95% intervals by percentile from 2,000 resamples of 40 examples, seed 0; 40 examples, macro average"
    text = intervals.to_table().split("\n")
    assert text[0].split() == ["metric", "precision", "recall", "F1", "score"]
    assert text[1].endswith(cell)
    assert text[2].startswith("character  1.0000 [1.0000, 1.0000]  0.8000 [")
    assert len(text[2]) < len(text[1])
    assert text[3] == summary
    assert text[4] == "character.precision: all replicates are equal"
    assert text[5] == intervals.signature
    markdown = intervals.to_table("markdown")
    assert f"| {cell} |" in markdown
    assert summary in markdown
    assert f"`{intervals.signature}`" in markdown
    html = intervals._repr_html_()
    assert f">{cell}</td>" in html
    assert summary in html
    assert intervals.to_table("csv", digits=2).split("\n")[:2] == [
        "metric,precision,precision_low,precision_high,recall,recall_low,recall_high,f1,f1_low,f1_high,"
        "score,score_low,score_high",
        f"iou,,,,,,,,,,0.80,{low:.2f},{high:.2f}",
    ]
    assert f"0.80 [{low:.2f}, {high:.2f}]" in intervals.to_table(digits=2)
    generator = evaluate(**random_batch(40)).confidence_intervals(seed=np.random.default_rng(0))
    assert "from 2,000 resamples of 40 examples, a generator; 40 examples" in generator.to_table()
    with pytest.raises(ValueError, match=r"text.*markdown"):
        intervals.to_table("docx")


# -- laws


@st.composite
def evaluations(draw_: Any) -> tuple[dict[str, Any], list[int], list[float] | None, str]:
    n = draw_(st.integers(1, 12))
    span = st.tuples(st.integers(0, 12), st.integers(1, 8)).map(lambda p: [p[0], p[0] + p[1]])
    rows = st.lists(st.lists(span, max_size=3), min_size=n, max_size=n)
    batch = {"references": draw_(rows), "predictions": draw_(rows)}
    groups = draw_(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    weight = st.sampled_from([0.0, 0.25, 1.0, 3.0])
    weights = draw_(st.none() | st.lists(weight, min_size=n, max_size=n).filter(any))
    return batch, groups, weights, draw_(st.sampled_from(["macro", "micro"]))


@pytest.mark.filterwarnings("ignore:.* drew nothing but weight 0")
@given(evaluations(), st.integers(0, 5), st.sampled_from(METHODS))
def test_laws(example: tuple[Any, ...], seed: int, method: str) -> None:
    batch, groups, weights, average = example
    how: dict[str, Any] = {"method": method, "n_resamples": 60, "seed": seed}
    report = evaluate(**batch, average=average, sample_weight=weights, groups=groups)
    wide, narrow = (report.confidence_intervals(level, **how) for level in (0.9, 0.5))
    for key, outputs in wide.scores.items():
        for j, (output, point) in enumerate(outputs.items()):
            replicates = wide.replicates(key)[:, j]
            assert np.isfinite(replicates).all()
            assert 0 <= replicates.min() <= replicates.max() <= 1 + 1e-12
            low, high = wide[key][output]
            assert low <= narrow[key][output][0] <= narrow[key][output][1] <= high
            if method == "percentile":
                assert replicates.min() <= low <= high <= replicates.max()
            if method == "basic":
                assert 2 * point - replicates.max() <= low <= high <= 2 * point - replicates.min()
    # Sums of groups, and one slice of everything, give the same.
    sums = evaluate(**batch, average=average, sample_weight=weights, groups=groups, keep_statistics=False)
    assert bounds(sums.confidence_intervals(0.9, **how)) == pytest.approx(bounds(wide), rel=0, abs=1e-9)
    assert report.confidence_intervals(0.9, **how, by=["all"] * len(groups)) == {"all": wide}


def test_twice_the_corpus_has_narrower_intervals() -> None:
    """By the square root of two, as far as 4,000 replicates tell."""
    batch = random_batch(200, seed=12)
    one, two = (
        bootstrap(**take(batch, list(range(200)) * times), metrics=["iou"], n_resamples=4000)["iou"]["score"]
        for times in (1, 2)
    )
    assert (one[1] - one[0]) / (two[1] - two[0]) == pytest.approx(2**0.5, rel=0.06)


# -- coverage


def population(documents: int, seed: int) -> tuple[dict[str, Any], list[int]]:
    """Return answers on many documents, from which samples are drawn, and the document of each answer.

    A document has three to nine answers that are alike: it has its own chance that a span is there and that it is
    found, and its own distance at which ends are met.
    """
    rng = np.random.default_rng(seed)
    references: list[Any] = []
    predictions: list[Any] = []
    groups: list[int] = []
    for document in range(documents):
        there, found, slip = rng.beta(2, 2), rng.beta(1.5, 1.0), int(rng.integers(1, 12))
        for _ in range(int(rng.integers(3, 10))):
            gold = [[s, s + int(rng.integers(4, 16))] for s in (12, 52, 92) if rng.random() < there]
            seen = [span for span in gold if rng.random() < found]
            references.append(gold)
            predictions.append([[a - int(rng.integers(0, slip)), b + int(rng.integers(0, slip))] for a, b in seen])
            groups.append(document)
    return {"references": references, "predictions": predictions}, groups


def coverage(
    report: Report, by: list[int] | None, drawn: int, samples: int, *, ignored: bool = False, n_resamples: int = 1000
) -> dict[str, float]:
    """Return the share of samples whose 95% interval holds the score of the population, for each score.

    A sample consists of so many examples of the report, or of so many groups with all of their examples; where groups
    are `ignored` the intervals are made as if all examples were independent.
    """
    settings, rows = report._kept()
    statistics = [rows.statistics(i) for i in range(len(settings.metrics))]
    units = units_of(by, len(rows))
    members = [np.flatnonzero(units.index == unit) for unit in range(units.size)] if ignored else []
    sums = unit_sums(settings, statistics, units_of(None, len(rows)) if ignored else units, None)
    meta = {"examples": len(rows), "average": settings.average}
    rng = np.random.default_rng(20)
    held = {f"{key}.{output}": 0 for key, metric in settings.metrics for output in metric.outputs}
    for _ in range(samples):
        chosen = rng.integers(0, units.size, drawn)
        sample = sums[np.concatenate([members[i] for i in chosen]) if ignored else chosen]
        parts = averages(settings, sample)
        point = {
            key: dict(zip(metric.outputs, part.value(part.sums.sum(axis=0)).tolist(), strict=True))
            for (key, metric), part in zip(settings.metrics, parts, strict=True)
        }
        resampling = Resampling(0.95, "percentile", n_resamples, rng)
        found = confidence.intervals(
            point,
            settings.metrics,
            parts,
            sample,
            units_of(None, len(sample)),
            resampling,
            meta=meta,
            signature=report.signature,
        )
        for key, metric in settings.metrics:
            for output in metric.outputs:
                low, high = found[key][output]
                held[f"{key}.{output}"] += low <= report[key][output] <= high
    return {name: count / samples for name, count in held.items()}


@pytest.mark.slow
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_coverage_by_example(average: str) -> None:
    """With 300 independent examples; the Monte-Carlo error of 2,000 samples is 0.005."""
    batch, groups = population(6000, 1)
    first = np.flatnonzero(np.diff(groups, prepend=-1))  # one answer of each document: these are independent
    report = evaluate(**take(batch, first.tolist()), metrics=["iou", "character"], average=average)
    held = coverage(report, None, 300, 2000)
    assert all(0.93 <= share <= 0.96 for share in held.values()), held


@pytest.mark.slow
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_coverage_by_group(average: str) -> None:
    """With 150 documents of three to nine answers that are alike; ignoring the documents is visibly too sure."""
    batch, groups = population(4000, 2)
    report = evaluate(**batch, metrics=["iou", "character"], average=average)
    held = coverage(report, groups, 150, 2000)
    assert all(0.93 <= share <= 0.96 for share in held.values()), held
    ignored = coverage(report, groups, 150, 400, ignored=True, n_resamples=500)
    assert all(share < 0.88 for share in ignored.values()), ignored


@pytest.mark.slow
def test_coverage_of_the_public_function() -> None:
    """From spans to intervals, 600 times; the Monte-Carlo error is 0.009, so this finds gross faults only."""
    batch, groups = population(3000, 3)
    members = [np.flatnonzero(np.array(groups) == document) for document in range(3000)]
    truth = evaluate(**batch, metrics=["iou"])["iou"]["score"]
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(600):
        chosen = [members[document] for document in rng.integers(0, 3000, 100)]
        rows = np.concatenate(chosen).tolist()
        low, high = bootstrap(
            **take(batch, rows),
            groups=np.repeat(np.arange(100), [len(rows) for rows in chosen]),
            metrics=["iou"],
            n_resamples=1000,
            seed=rng,
        )["iou"]["score"]
        held += low <= truth <= high
    assert 0.92 <= held / 600 <= 0.97, held / 600
