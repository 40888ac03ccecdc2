"""compare(): differences, intervals and p-values against scipy, other arithmetic, and cases worked out by hand."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from samples import approx, random_batch

from mycelium import as_spans, evaluate
from mycelium.formats.files import read_table
from mycelium.versus.comparison import compare
from mycelium.versus.runs import runs_of

#: The argument was named otherwise before, with the same draws.
RNG = "rng" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "random_state"
IOU: dict[str, Any] = {"metrics": ["iou"]}


def gold(n: int, length: int = 100) -> list[Any]:
    return [[[0, length]]] * n


def rows(scores: Any) -> list[Any]:
    """Return predictions whose IoU with ``[0, 100)`` are these hundredths."""
    return [[[0, int(k)]] if k else [] for k in scores]


def hundredths(n: int, systems: int = 2, seed: int = 0, gain: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    base = rng.integers(20, 80, n)
    return [np.clip(base + rng.integers(-20, 21, n) + gain * s, 0, 100) for s in range(systems)]


def millionths(n: int, lead: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of two systems without ties, where scipy's rounding decides otherwise."""
    rng = np.random.default_rng(seed)
    base = rng.integers(200_000, 800_000, n)
    return base + rng.integers(-200_000, 200_000, n), base + rng.integers(-200_000, 200_000, n) - lead


MILLION = 10**6


def named(*systems: Any) -> dict[str, Any]:
    return {"ABCDEF"[i]: rows(k) for i, k in enumerate(systems)}


def only(found: Any) -> Any:
    (pair,) = found["pairs"]
    return pair


# -- the numbers


def test_scores_are_those_of_evaluate_and_differences_are_theirs() -> None:
    batches = [random_batch(50, seed) for seed in (1, 2)]
    references = batches[0]["references"]
    systems = {"A": batches[0]["predictions"], "B": batches[1]["predictions"]}
    for options in ({}, {"average": "micro"}, {"undefined": 0.0}, {"sample_weight": [0.5, 2.25] * 25}):
        found = compare(references, systems, outputs="all", n_resamples=60, **options)
        reports = {name: evaluate(references=references, predictions=p, **options) for name, p in systems.items()}
        for name, report in reports.items():
            for key, scores in found["systems"][name]["scores"].items():
                assert {output: entry["score"] for output, entry in scores.items()} == report[key]
                assert all(entry["runs"] == [entry["score"]] for entry in scores.values())
                assert all(entry["sd"] is None for entry in scores.values())
        for pair in found["pairs"]:
            ours, theirs = (reports[name][pair["metric"]][pair["output"]] for name in "AB")
            assert pair["difference"] == ours - theirs
        assert len(found["pairs"]) == 5 * 3 + 1
        assert found.signature.startswith(reports["A"].signature + "|ci:percentile|")


def test_primary_outputs_are_f1_and_score() -> None:
    batch = random_batch(40)
    found = compare(batch["references"], {"A": batch["predictions"], "B": batch["references"]}, n_resamples=60)
    assert [(pair["metric"], pair["output"]) for pair in found["pairs"]] == [
        ("exact_span", "f1"),
        ("iou", "score"),
        ("character", "f1"),
        ("deteval_1d", "f1"),
        ("cleval_1d", "f1"),
        ("span_coverage", "f1"),
    ]


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("basic", "basic"), ("bca", "BCa")])
def test_intervals_are_those_of_scipy_with_the_same_generator(ours: str, theirs: str) -> None:
    a, b = millionths(70)
    found = compare(gold(70, MILLION), named(a, b), **IOU, method=ours, n_resamples=1200, level=0.9, seed=5)

    def of_scipy(data: Any, statistic: Any) -> list[float]:
        result = scipy.stats.bootstrap(
            data,
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=1200,
            confidence_level=0.9,
            method=theirs,
            **{RNG: np.random.default_rng(5)},
        )
        return list(result.confidence_interval)

    x, y = a / MILLION, b / MILLION
    assert only(found)["interval"] == approx(of_scipy((x, y), lambda x, y, axis: (x - y).mean(axis=axis)))
    for name, values in (("A", x), ("B", y)):
        assert found["systems"][name]["scores"]["iou"]["score"]["interval"] == approx(
            of_scipy((values,), lambda x, axis: x.mean(axis=axis))
        )
    assert found["meta"]["notes"] == {}


def test_micro_intervals_are_those_of_scipy_with_the_same_generator() -> None:
    # Micro IoU of these rows is the sum of the predicted lengths over the sum of the reference lengths.
    rng = np.random.default_rng(0)
    length = rng.integers(50, 500, 45)
    a, b = (length * share // 100 for share in (rng.integers(20, 90, 45), rng.integers(20, 90, 45)))
    found = compare([[[0, int(k)]] for k in length], named(a, b), **IOU, average="micro", n_resamples=800)

    def statistic(a: Any, b: Any, length: Any, axis: int) -> Any:
        return a.sum(axis=axis) / length.sum(axis=axis) - b.sum(axis=axis) / length.sum(axis=axis)

    result = scipy.stats.bootstrap(
        (a, b, length),
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=800,
        method="percentile",
        **{RNG: np.random.default_rng(0)},
    )
    assert only(found)["interval"] == approx(list(result.confidence_interval))
    assert only(found)["difference"] == approx(statistic(a, b, length, axis=0))


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_p_values_are_those_of_scipy_with_the_same_generator(alternative: str) -> None:
    a, b = millionths(40)
    result = scipy.stats.permutation_test(
        (a / MILLION, b / MILLION),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=2000,
        alternative=alternative,
        **{RNG: np.random.default_rng(7)},
    )
    found = compare(gold(40, MILLION), named(a, b), **IOU, alternative=alternative, n_resamples=2000, seed=7)
    assert only(found)["p_value"] == approx(result.pvalue)
    assert 0 < result.pvalue < 1


def test_the_two_sided_p_value_counts_sign_flips() -> None:
    a, b = hundredths(40, gain=2)
    d = a - b
    sign = np.where(np.random.default_rng(0).integers(0, 2**32, (3000, 40), dtype=np.uint32) % 2, 1, -1)
    reached = int((np.abs(sign @ d) >= abs(d.sum())).sum())
    found = compare(gold(40), named(a, b), **IOU, n_resamples=3000)
    assert only(found)["p_value"] == (reached + 1) / 3001
    assert 0.001 < only(found)["p_value"] < 0.999


def test_three_groups_by_hand() -> None:
    # The groups' sums of A - B are 40, 20 and -10 hundredths. The eight patterns give 70, 50, 30, 10, -10, -30, -50,
    # -70; the observed is 50: reached by four of them on either side, by two above, by seven below.
    systems = {"A": rows([90, 50, 60, 40, 80]), "B": rows([50, 50, 40, 50, 80])}
    groups = ["x", "x", "y", "z", "z"]
    for alternative, expected, smallest in (("two-sided", 4, 2), ("greater", 2, 1), ("less", 7, 1)):
        with pytest.warns(UserWarning, match="3 groups") as caught:
            found = compare(gold(5), systems, **IOU, groups=groups, alternative=alternative)
        assert {str(w.message).split(":")[0] for w in caught} == {
            "intervals from 3 groups are likely too narrow",
            "3 groups are too few for a test",
        }
        assert {w.filename for w in caught} == {__file__}
        pair = only(found)
        assert (pair["difference"], pair["p_value"]) == (approx(0.1), expected / 8)
        assert not pair["significant"]
        meta = found["meta"]
        assert (meta["exact"], meta["n_permutations"], meta["smallest_p"]) == (True, 8, smallest / 8)
        assert (meta["unit"], meta["units"], meta["examples"]) == ("group", 3, 5)
        assert "|units:3 groups|test:exact|" in found.signature
    # Each row for itself: d = 40, 0, 20, -10, 0 has 32 patterns, and the two zeros double each of the eight.
    with pytest.warns(UserWarning, match="5 examples"):
        assert only(compare(gold(5), systems, **IOU))["p_value"] == 4 / 8


def test_groups_swap_as_a_whole() -> None:
    # Six documents of ten rows each favour A or B throughout: 4 against 2. With rows swapped one by one 20 rows more
    # of 60 are far from chance; documents swapped as a whole are not: P(at least 4 of 6, or at most 2) = 44/64.
    a = np.repeat([60, 60, 40, 60, 60, 40], 10)
    b = 100 - a
    groups = np.repeat(list("uvwxyz"), 10)
    with pytest.warns(UserWarning, match="6 groups"):
        found = compare(gold(60), named(a, b), **IOU, groups=groups, n_resamples=64)
    assert only(found)["p_value"] == 44 / 64
    assert only(compare(gold(60), named(a, b), **IOU, n_resamples=999))["p_value"] < 0.05


# -- laws


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_the_order_of_rows_and_the_names_of_groups_change_nothing(average: str) -> None:
    n = 120
    batches = [random_batch(n, seed) for seed in (3, 4)]
    references, systems = batches[0]["references"], {"A": batches[0]["predictions"], "B": batches[1]["predictions"]}
    groups = [i // 3 for i in range(n)]
    options: dict[str, Any] = {"average": average, "n_resamples": 400, "outputs": "all"}
    one = compare(references, systems, groups=groups, **options)
    order = np.random.default_rng(0).permutation(n).tolist()
    moved = {name: [p[i] for i in order] for name, p in systems.items()}
    other = compare(
        [references[i] for i in order], moved, groups=[f"document {groups[i]:04}" for i in order], **options
    )
    for x, y in zip(one["pairs"], other["pairs"], strict=True):
        assert (x["difference"], x["p_value"]) == (y["difference"], y["p_value"])
        assert x["interval"] == approx(y["interval"])


def test_exchanging_the_systems_changes_the_sign() -> None:
    a, b = hundredths(50)
    options = {**IOU, "n_resamples": 500}
    forth, back = (only(compare(gold(50), {n: rows(k) for n, k in p}, **options)) for p in _both_orders(a, b))
    assert (forth["a"], back["a"]) == ("A", "B")
    assert forth["difference"] == -back["difference"] != 0
    assert forth["interval"] == approx([-bound for bound in reversed(back["interval"])])
    assert forth["p_value"] == back["p_value"]
    greater = only(compare(gold(50), named(a, b), **options, alternative="greater"))
    less = only(compare(gold(50), named(b, a), **options, alternative="less"))
    assert greater["p_value"] == less["p_value"] != forth["p_value"]


def _both_orders(a: Any, b: Any) -> list[Any]:
    return [(("A", a), ("B", b)), (("B", b), ("A", a))]


def test_a_larger_lead_has_a_smaller_p_value_and_a_higher_interval() -> None:
    a, b = hundredths(40, gain=0)
    b = np.clip(b, 0, 80)
    found = [only(compare(gold(40), named(b + lead, a), **IOU, n_resamples=2000)) for lead in (4, 8, 12, 16, 20)]
    p = [pair["p_value"] for pair in found]
    assert p == sorted(p, reverse=True)
    assert p[0] > 0.05 > p[-1]
    # The same draws, shifted.
    low = [pair["interval"][0] for pair in found]
    assert np.diff(low) == approx([0.04] * 4)


def test_twice_the_rows_of_each_group_are_the_same_evidence() -> None:
    a, b = hundredths(40, gain=2)
    one = only(compare(gold(40), named(a, b), **IOU, groups=range(40), n_resamples=500))
    twice = compare(gold(80), named(np.tile(a, 2), np.tile(b, 2)), **IOU, groups=[*range(40)] * 2, n_resamples=500)
    assert only(twice)["p_value"] == one["p_value"]
    assert only(twice)["interval"] == approx(one["interval"])
    # As rows of their own they would count as new evidence.
    alone = only(compare(gold(80), named(np.tile(a, 2), np.tile(b, 2)), **IOU, n_resamples=500))
    assert np.diff(alone["interval"])[0] < np.diff(one["interval"])[0]


def test_identical_systems() -> None:
    batch = random_batch(60)
    systems = {"A": batch["predictions"], "B": list(batch["predictions"]), "C": [batch["predictions"]] * 3}
    for average in ("macro", "micro"):
        for method in ("percentile", "bca", "basic"):
            found = compare(batch["references"], systems, average=average, method=method, outputs="all", n_resamples=99)
            for pair in found["pairs"]:
                assert (pair["difference"], pair["interval"], pair["p_value"]) == (0.0, [0.0, 0.0], 1.0)
                assert pair["p_adjusted"] == 1.0
                assert not pair["significant"]
            assert found["meta"]["notes"]["iou.score: A - C"] == "all replicates are equal"


def test_differences_that_cancel_out_have_p_1() -> None:
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ as sums of doubles.
    a, b = [10, 20, 30] * 12, [30, 20, 10] * 12
    pair = only(compare(gold(36), named(a, b), **IOU, n_resamples=200))
    assert (pair["difference"], pair["p_value"]) == (0.0, 1.0)


def test_repeated_calls_give_the_same_bits_and_leave_the_global_state_alone() -> None:
    a, b = hundredths(40)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    one, other = (compare(gold(40), named(a, b), **IOU, n_resamples=99) for _ in range(2))
    assert one == other
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_a_generator_draws_the_bootstrap_first_and_then_the_permutations() -> None:
    a, b = hundredths(40, gain=2)
    d = a - b
    rng = np.random.default_rng(21)
    drawn = d[rng.integers(0, 40, (700, 40))].mean(axis=1) / 100
    sign = np.where(rng.integers(0, 2**32, (700, 40), dtype=np.uint32) % 2, 1, -1)
    pair = only(compare(gold(40), named(a, b), **IOU, n_resamples=700, seed=np.random.default_rng(21)))
    assert pair["interval"] == approx(np.percentile(drawn, [2.5, 97.5]).tolist())
    assert pair["p_value"] == ((np.abs(sign @ d) >= abs(d.sum())).sum() + 1) / 701
    found = compare(gold(40), named(a, b), **IOU, n_resamples=99, seed=np.random.default_rng(21))
    assert found["meta"]["seed"] is None
    assert "|seed:generator|" in found.signature


# -- many comparisons


def test_families() -> None:
    systems = named(*hundredths(50, 4, gain=3))
    options: dict[str, Any] = {"metrics": ["iou", "character"], "outputs": "all", "n_resamples": 999}
    found = compare(gold(50), systems, **options, correction="bh")
    keys = [(pair["metric"], pair["output"]) for pair in found["pairs"]]
    assert keys == [(m, o) for m, o in (("iou", "score"), *(("character", x) for x in PRF)) for _ in range(6)]
    assert found["meta"]["family_size"] == 6
    for begin in range(0, 24, 6):
        members = found["pairs"][begin : begin + 6]
        expected = scipy.stats.false_discovery_control([pair["p_value"] for pair in members])
        assert [pair["p_adjusted"] for pair in members] == approx(expected.tolist())
    whole = compare(gold(50), systems, **options, correction="bh", family="all")
    assert whole["meta"]["family_size"] == 24
    expected = scipy.stats.false_discovery_control([pair["p_value"] for pair in whole["pairs"]])
    assert [pair["p_adjusted"] for pair in whole["pairs"]] == approx(expected.tolist())
    plain = compare(gold(50), systems, **options, correction="none")
    assert all(pair["p_adjusted"] == pair["p_value"] for pair in plain["pairs"])
    assert [p["p_value"] for p in plain["pairs"]] == [p["p_value"] for p in found["pairs"]]


PRF = ("precision", "recall", "f1")


def test_holm_by_hand_and_what_is_significant() -> None:
    found = compare(gold(50), named(*hundredths(50, 3, seed=8, gain=3)), **IOU, n_resamples=999)
    p = [pair["p_value"] for pair in found["pairs"]]
    assert len(set(p)) == 3
    low, middle, high = np.argsort(p).tolist()
    adjusted = [pair["p_adjusted"] for pair in found["pairs"]]
    assert adjusted[low] == approx(3 * p[low])
    assert adjusted[middle] == approx(max(2 * p[middle], 3 * p[low]))
    assert adjusted[high] == approx(max(p[high], 2 * p[middle], 3 * p[low]))
    assert [pair["significant"] for pair in found["pairs"]] == [value <= 0.05 for value in adjusted]
    assert {pair["significant"] for pair in found["pairs"]} == {True, False}


def test_a_p_value_equal_to_the_level_is_significant() -> None:
    # The smallest p-value of nine random permutations is 0.1, and 1 - 0.9 is less than 0.1 in doubles.
    a = [60] * 40
    found = compare(gold(40), named(a, [40] * 40), **IOU, n_resamples=9, level=0.9)
    assert (only(found)["p_value"], only(found)["significant"]) == (0.1, True)
    assert 1 - 0.9 < 0.1


def test_pairs_and_baseline() -> None:
    systems = named(*hundredths(40, 3))
    found = compare(gold(40), systems, **IOU, n_resamples=99)
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    against = compare(gold(40), systems, **IOU, n_resamples=99, baseline="B")
    assert [(pair["a"], pair["b"]) for pair in against["pairs"]] == [("A", "B"), ("C", "B")]
    assert against["meta"]["baseline"] == "B"
    assert against["meta"]["family_size"] == 2


def test_too_few_random_permutations_for_the_family() -> None:
    # Three comparisons: 3 / (B + 1) <= 0.05 needs B = 59.
    systems = named(*hundredths(40, 3))
    assert len(compare(gold(40), systems, **IOU, n_resamples=59)["pairs"]) == 3
    with pytest.raises(ValueError, match=r"n_resamples=58 is too small: with 3 comparisons .* take at least 59$"):
        compare(gold(40), systems, **IOU, n_resamples=58)
    # Two comparisons at 0.01: 2 / (B + 1) <= 0.01 needs B = 199; of two metrics, 399.
    with pytest.raises(ValueError, match=r"at least 199$"):
        compare(gold(40), systems, **IOU, n_resamples=198, level=0.99, baseline="A")
    options: dict[str, Any] = {"metrics": ["iou", "character"], "level": 0.99, "baseline": "A", "family": "all"}
    with pytest.raises(ValueError, match=r"with 4 comparisons .* at least 399$"):
        compare(gold(40), systems, **options, n_resamples=398)
    assert compare(gold(40), systems, **options, n_resamples=399)["meta"]["smallest_p"] == 1 / 400
    # Without adjustment one comparison does not know of the others.
    with pytest.raises(ValueError, match=r"with 1 comparison .* at least 19$"):
        compare(gold(40), systems, **IOU, n_resamples=18, correction="none")
    assert compare(gold(40), systems, **IOU, n_resamples=19, correction="none")["meta"]["smallest_p"] == 1 / 20


def test_few_units_are_warned_of_only_where_no_test_can_be_significant() -> None:
    # Six units: 2/64 = 0.031 reaches 0.05, alone. Of three comparisons it does not.
    a, b, c = hundredths(6, 3)
    for systems, expected in ((named(a, b), 1), (named(a, b, c), 2)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = compare(gold(6), systems, **IOU)
        assert len(caught) == expected
        assert found["meta"]["smallest_p"] == 2 / 64
    assert "with 3 comparisons in a family none can be 0.05 or less" in str(caught[0].message)


# -- runs


def test_runs_are_averaged_and_their_spread_is_shown() -> None:
    a1, a2, a3, b = hundredths(40, 4)
    found = compare(gold(40), {"A": [rows(a1), rows(a2), rows(a3)], "B": rows(b)}, **IOU, n_resamples=400)
    entry = found["systems"]["A"]["scores"]["iou"]["score"]
    means = [a.mean() / 100 for a in (a1, a2, a3)]
    assert found["systems"]["A"]["runs"] == 3
    assert entry["runs"] == approx(means)
    assert entry["score"] == approx(np.mean(means))
    # Standard deviation with two degrees of freedom.
    assert entry["sd"] == approx(math.sqrt(sum((m - np.mean(means)) ** 2 for m in means) / 2))
    d = (a1 + a2 + a3) / 300 - b / 100
    assert only(found)["difference"] == approx(d.mean())
    drawn = d[np.random.default_rng(0).integers(0, 40, (400, 40))].mean(axis=1)
    assert only(found)["interval"] == approx(np.percentile(drawn, [2.5, 97.5]).tolist())
    assert found.differences("A", "B", "iou") == approx(d.tolist())


def test_runs_under_micro_add_up() -> None:
    # Precision of A: 60 of 60 and 20 of 40 predicted characters are right in its runs, 80 of 100 together.
    filler = [[]] * 38
    one = [[[0, 60]], [], *filler]
    other = [[], [[90, 130]], *filler]  # ten of the forty lie on [0, 100)
    references = [[[0, 100]], [[0, 100], [200, 210]], *filler]
    found = compare(
        references, {"A": [one, other], "B": one}, metrics=["character"], average="micro", outputs="all", n_resamples=99
    )
    scores = found["systems"]["A"]["scores"]["character"]
    assert scores["precision"]["score"] == approx(70 / 100)
    assert scores["recall"]["score"] == approx(70 / 420)
    assert scores["precision"]["runs"] == [1.0, 0.25]


def test_one_run_in_a_list_is_that_run() -> None:
    a, b = hundredths(40)
    plain = compare(gold(40), named(a, b), **IOU, n_resamples=99)
    listed = compare(gold(40), {"A": [rows(a)], "B": (rows(b),)}, **IOU, n_resamples=99)
    assert listed == plain


BATCHES: list[Any] = [
    [[[0, 4]], []],
    [[], [[0, 4], [6, 9]]],
    [[(0, 4, "label")], []],
    [[{"start": 0, "end": 4}], []],
    [{"start": [0], "end": [4]}, {"start": [], "end": []}],
    [None, [[0, 4]]],
    [None, None],
    [[], []],
    [np.array([[0, 4]]), np.empty((0, 2), dtype=int)],
    [np.empty((0, 2), dtype=int), np.empty((0, 2), dtype=int)],
    as_spans([[[0, 4]], []]),
    np.array([[[0, 4]], [[2, 3]]]),
]


@pytest.mark.parametrize("batch", BATCHES, ids=range(len(BATCHES)))
def test_a_batch_is_told_from_a_list_of_runs(batch: Any) -> None:
    assert runs_of(batch, 2) == [batch]
    if isinstance(batch, list):
        assert runs_of(tuple(batch), 2) == [tuple(batch)]
    for runs in ([batch], [batch, batch, batch], (batch, batch, batch)):
        found = runs_of(runs, 2)
        assert len(found) == len(runs)
        assert all(one is batch for one in found)


def test_columns_of_libraries_are_batches() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = [[[0, 4]], []]
    for batch in (pd.Series(rows), pl.Series(rows), pa.array(rows), pa.chunked_array([rows])):
        (found,) = runs_of(batch, 2)
        assert found is batch
        assert len(runs_of([batch, batch], 2)) == 2


# -- weights


def test_whole_weights_repeat_rows() -> None:
    a, b = hundredths(40, gain=2)
    weight = np.arange(40) % 3 + 1
    groups = np.arange(40)
    for average in ("macro", "micro"):
        options = {**IOU, "n_resamples": 300, "average": average}
        one = compare(gold(40), named(a, b), **options, groups=groups, sample_weight=weight)
        repeated = np.repeat(groups, weight)
        many = compare(gold(len(repeated)), named(a[repeated], b[repeated]), **options, groups=repeated)
        assert only(one)["difference"] == only(many)["difference"]
        assert only(one)["p_value"] == only(many)["p_value"]
        assert only(one)["interval"] == approx(only(many)["interval"])
        assert "|weights:yes|" in one.signature


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_replicates_without_weight_are_discarded_and_counted(average: str) -> None:
    a, b = hundredths(30)
    weight = np.zeros(30)
    weight[[3, 7]] = 1
    with pytest.warns(UserWarning, match="drew nothing but weight 0"):
        found = compare(gold(30), named(a, b), **IOU, sample_weight=weight, n_resamples=500, average=average)
    drawn = np.random.default_rng(0).integers(0, 30, (500, 30))
    none = ~np.isin(drawn, [3, 7]).any(axis=1)
    assert found["meta"]["discarded"] == none.sum() > 25
    json.loads(found.to_json())
    assert f"({none.sum()} without weight discarded)" in found.to_table()
    alone = np.where(np.arange(30) == 3, 1, 0)
    with pytest.warns(UserWarning, match="drew nothing but weight 0"):
        found = compare(gold(30), named(a, b), **IOU, sample_weight=alone, n_resamples=500, average=average)
    assert only(found)["interval"] == approx([(a[3] - b[3]) / 100] * 2)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_bca_where_one_unit_has_all_the_weight(average: str) -> None:
    weight = [1] + [0] * 29
    options = {**IOU, "sample_weight": weight, "n_resamples": 99, "method": "bca", "average": average}
    with pytest.warns(UserWarning, match="drew nothing"):
        found = compare(gold(30), named([60] * 30, [40] * 30), **options)
    assert only(found)["interval"] == approx([0.2, 0.2])
    assert found["meta"]["notes"]["iou.score: A - B"] == "all replicates are equal"


def test_bca_where_it_is_not_defined() -> None:
    a, b = millionths(40)
    d = (a - b) / MILLION
    drawn = {seed: d[np.random.default_rng(seed).integers(0, 40, (2, 40))].mean(axis=1) for seed in range(20)}
    seed = next(seed for seed, values in drawn.items() if (values > d.mean()).all())
    found = compare(gold(40, MILLION), named(a, b), **IOU, n_resamples=2, level=0.5, method="bca", seed=seed)
    note = "all replicates lie on one side of the score, percentile instead of bca"
    assert found["meta"]["notes"]["iou.score: A - B"] == note
    assert f"iou.score: A - B: {note}" in found.to_table().split("\n")
    assert only(found)["interval"] == approx(np.percentile(drawn[seed], [25, 75]).tolist())


# -- the differences of examples


def test_differences_of_examples_average_to_the_difference() -> None:
    batches = [random_batch(40, seed) for seed in (5, 6)]
    systems = {"A": batches[0]["predictions"], "B": batches[1]["predictions"]}
    references = batches[0]["references"]
    found = compare(references, systems, n_resamples=60)
    for pair in found["pairs"]:
        d = found.differences("A", "B", pair["metric"])
        assert d.mean() == approx(pair["difference"])
        single = [
            evaluate(references=[references[i]], predictions=[systems["A"][i]])[pair["metric"]][pair["output"]]
            - evaluate(references=[references[i]], predictions=[systems["B"][i]])[pair["metric"]][pair["output"]]
            for i in range(40)
        ]
        assert d == approx(single)
    assert found.differences("B", "A", "character", "recall") == approx(
        (-found.differences("A", "B", "character", "recall")).tolist()
    )


@pytest.mark.parametrize("options", [{"average": "micro"}, {"sample_weight": [1.5, 0.25, 2] * 4}])
def test_differences_under_micro_and_with_weights_are_pseudo_values(options: dict[str, Any]) -> None:
    batches = [random_batch(12, seed) for seed in (7, 8)]
    systems = {"A": batches[0]["predictions"], "B": batches[1]["predictions"]}
    references = batches[0]["references"]
    with pytest.warns(UserWarning, match="12 examples"):
        found = compare(references, systems, metrics=["character"], n_resamples=60, **options)

    def difference(chosen: list[int]) -> float:
        some = {**options}
        if "sample_weight" in options:
            some["sample_weight"] = [options["sample_weight"][i] for i in chosen]
        a, b = (
            evaluate(references=[references[i] for i in chosen], predictions=[p[i] for i in chosen], **some)
            for p in systems.values()
        )
        return float(a["character"]["f1"] - b["character"]["f1"])

    everything = list(range(12))
    expected = [12 * difference(everything) - 11 * difference([j for j in everything if j != i]) for i in everything]
    assert found.differences("A", "B", "character") == approx(expected)


def test_differences_refuses_what_is_not_there() -> None:
    found = compare(gold(40), named(*hundredths(40)), **IOU, n_resamples=60)
    with pytest.raises(KeyError, match="no system 'C'; there are 'A', 'B'"):
        found.differences("A", "C", "iou")
    with pytest.raises(KeyError, match="no metric 'f1'; there are iou"):
        found.differences("A", "B", "f1")
    with pytest.raises(ValueError, match="output must be one of 'score', got 'f1'"):
        found.differences("A", "B", "iou", "f1")


# -- what a reader sees


#: 1/1000, and three times that.
PAIR = ["iou", "A - B", "+0.20", "[+0.20, +0.20]", "< 0.01", "< 0.01", "*"]


def test_tables() -> None:
    a, b, c = [60] * 40, [40] * 40, [60] * 39 + [58]
    found = compare(gold(40), named(a, b, c), **IOU, n_resamples=999)
    lines = found.to_table(digits=2).split("\n")
    assert lines[0].split() == ["metric", "system", "score", "95%", "interval"]
    assert lines[1].split() == ["iou", "A", "0.60", "[0.60,", "0.60]"]
    assert lines[4] == ""
    assert re.split(" {2,}", lines[5])[1:] == ["difference of", "difference", "95% interval", "p", "p adjusted"]
    assert re.split(" {2,}", lines[6]) == PAIR
    assert "*" not in lines[7]
    assert lines[9] == "40 examples, macro average; percentile intervals from 999 replicates"
    assert lines[10] == (
        "* p <= 0.05 after Holm's adjustment for 3 comparisons on one output of a metric;"
        " two-sided tests from 999 permutations"
    )
    assert lines[11].startswith("p tests whether a and b are exchangeable")
    assert lines[-1] == found.signature
    assert found.to_table(part="systems").count("\n") == 4 + len(found["meta"]["notes"]) + 1
    for format in ("markdown", "html", "latex"):
        text = found.to_table(format)
        assert "A - B" in text
        assert text.count("interval") >= 2
    assert found._repr_html_() == found.to_table("html")
    with pytest.raises(ValueError, match="part must be one of"):
        found.to_table(part="pair")
    with pytest.raises(ValueError, match="format must be one of"):
        found.to_table("pdf")


def test_csv_holds_unrounded_numbers_in_one_table() -> None:
    import csv
    import io

    found = compare(gold(40), named(*hundredths(40)), metrics=["iou", "character"], outputs="all", n_resamples=99)
    records = list(csv.DictReader(io.StringIO(found.to_table("csv"))))
    systems = [record for record in records if not record["b"]]
    pairs = [record for record in records if record["b"]]
    assert (len(systems), len(pairs)) == (8, 4)
    for record in systems:
        entry = found["systems"][record["a"]]["scores"][record["metric"]][record["output"]]
        assert (float(record["score"]), [float(record["low"]), float(record["high"])]) == (
            entry["score"],
            entry["interval"],
        )
        assert (record["p_value"], record["difference"], record["runs"]) == ("", "", "1")
    for record, pair in zip(pairs, found["pairs"], strict=True):
        assert [float(record[name]) for name in ("difference", "p_value", "p_adjusted")] == [
            pair[name] for name in ("difference", "p_value", "p_adjusted")
        ]
        assert record["significant"] == ("yes" if pair["significant"] else "no")


def test_a_tiny_p_value_is_not_shown_as_0() -> None:
    found = compare(gold(40), named([60] * 40, [40] * 40), **IOU, n_resamples=9999)
    assert only(found)["p_value"] == 1 / 10000
    assert "< 0.01" in found.to_table(digits=2)


def test_json_pickle_and_copies(tmp_path: Path) -> None:
    found = compare(gold(40), named(*hundredths(40)), average="micro", n_resamples=99)
    text = found.to_json(tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == text + "\n"
    assert json.loads(text) == {"comparison": dict(found), "signature": found.signature}
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert other == found
        assert other.signature == found.signature
        assert other.to_table() == found.to_table()
        assert other.differences("A", "B", "iou").tolist() == found.differences("A", "B", "iou").tolist()


def test_leniency_is_counted_for_each_system() -> None:
    bad = [[[-1, -1]], *rows([50] * 39)]
    found = compare(gold(40), {"A": [bad, bad], "B": rows([50] * 40)}, **IOU, invalid="drop", n_resamples=99)
    assert found["meta"]["leniency"]["systems"]["A"] == {"rows": 2, "dropped": 2, "clipped": 0, "missing": 0}
    assert found["meta"]["leniency"]["systems"]["B"]["dropped"] == 0
    assert found["meta"]["leniency"]["references"]["dropped"] == 0
    assert "leniency, A: rows 2, dropped 2" in found.to_table()


def test_the_signature_says_everything_that_decides() -> None:
    systems = named(*hundredths(40))
    changes: list[dict[str, Any]] = [
        {},
        {"level": 0.9},
        {"method": "basic"},
        {"n_resamples": 98},
        {"seed": 1},
        {"alternative": "greater"},
        {"correction": "bh"},
        {"family": "all"},
        {"average": "micro"},
        {"groups": [*range(20)] * 2, "n_resamples": 99},
        {"undefined": 0.0},
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {compare(gold(40), systems, **{**IOU, "n_resamples": 99, **change}).signature for change in changes}
    assert len(found) == len(changes)


def test_soft_predictions() -> None:
    soft = [[{"start": 0, "end": 50, "prob": 0.75}]] * 40
    other = [[{"start": 40, "end": 90, "prob": 0.5}]] * 40
    with pytest.raises(ValueError, match=r"system 'B': .* as many runs, got 1 and 2"):
        compare(
            gold(40),
            named([50] * 40, [40] * 40),
            metrics=["soft_correlation"],
            text=["x" * 100] * 40,
            soft_references=soft,
            soft_systems={"A": soft, "B": [other, soft]},
            n_resamples=99,
        )
    found = compare(
        gold(40),
        named([50] * 40, [40] * 40),
        metrics=["soft_correlation"],
        text=["x" * 100] * 40,
        soft_references=soft,
        soft_systems={"A": soft, "B": other},
        n_resamples=99,
    )
    assert found["systems"]["A"]["scores"]["soft_correlation"]["score"]["score"] == approx(1.0)
    assert only(found)["difference"] > 0


# -- refusals


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            {"systems": [rows([50] * 40)] * 2},
            TypeError,
            "systems must be a mapping from names to predictions, got list",
        ),
        ({"systems": {"A": rows([50] * 40)}}, ValueError, "at least two systems to compare, got 1"),
        ({"systems": {"A": rows([50] * 40), 2: rows([50] * 40)}}, TypeError, "names must be strings .* got 2"),
        (
            {"systems": {"A": rows([50] * 40), "": rows([50] * 40)}},
            TypeError,
            "names must be strings that are not empty",
        ),
        ({"baseline": "C"}, ValueError, "baseline must be one of the systems 'A', 'B', got 'C'"),
        ({"alternative": "larger"}, ValueError, "alternative must be one of 'two-sided', 'greater', 'less'"),
        ({"correction": "holmes"}, ValueError, "correction must be one of 'holm', 'bh', 'none'"),
        ({"family": "pair"}, ValueError, "family must be one of 'metric', 'all'"),
        ({"outputs": "f1"}, ValueError, "outputs must be one of 'primary', 'all'"),
        ({"method": "normal"}, ValueError, "method must be one of"),
        ({"level": 95}, ValueError, "level must lie between 0 and 1"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ({"seed": "0"}, TypeError, "seed must be an integer"),
        ({"groups": [1, 2]}, ValueError, "groups has 2 values, expected one for each of the 40 rows"),
        ({"span_coverage_detla": 2}, TypeError, "no option 'span_coverage_detla'"),
        ({"include_per_example": True}, TypeError, "no option 'include_per_example'"),
        ({"metrics": ["f1"]}, ValueError, "^(?!system).*f1"),
        ({"sample_weight": [1.0]}, ValueError, "^sample_weight must have shape"),
        ({"soft_systems": {"A": []}}, ValueError, "soft_systems must name the same systems, got 'A'"),
        ({"soft_systems": [1]}, TypeError, "soft_systems must be a mapping from names, got list"),
    ],
)
def test_refusals(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {"systems": named([50] * 40, [40] * 40), "metrics": ["iou"], "n_resamples": 99, **change}
    with pytest.raises(kind, match=message):
        compare(gold(40), **arguments)


def test_messages_name_the_system_and_the_run() -> None:
    good, bad, short = rows([50] * 40), [*rows([50] * 39), [[7, 3]]], rows([50] * 39)
    with pytest.raises(ValueError, match=r"^system 'B': predictions.* row 39"):
        compare(gold(40), {"A": good, "B": bad}, **IOU)
    with pytest.raises(ValueError, match=r"^system 'B', run 1: predictions.* row 39"):
        compare(gold(40), {"A": good, "B": [good, bad]}, **IOU)
    with pytest.raises(ValueError, match=r"^system 'B': .*39"):
        compare(gold(40), {"A": good, "B": short}, **IOU)
    with pytest.raises(TypeError, match=r"^system 'A': predictions"):
        compare(gold(40), {"A": "spans", "B": good}, **IOU)
    with pytest.raises(ValueError, match=r"^references: .*row 39"):
        compare(bad, {"A": good, "B": good}, **IOU)
    with pytest.raises(ValueError, match="references hold no examples"):
        compare([], {"A": [], "B": []}, **IOU)


# -- soundness


def _simulated(rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """Return two systems that are equally good, by 40 documents of 5 answers: each is better on some documents."""
    skill = rng.normal(0, 12, (2, 40, 1))
    a, b = np.clip(50 + skill + rng.normal(0, 12, (2, 40, 5)), 0, 100).astype(int).reshape(2, 200)
    return named(a, b), np.repeat(np.arange(40), 5)


@pytest.mark.slow
def test_the_size_of_the_test_under_dependence_by_group() -> None:
    rng = np.random.default_rng(5)
    simulations = 1500
    rejected = {"groups": 0, "rows": 0}
    for _ in range(simulations):
        systems, groups = _simulated(rng)
        for name, units in (("groups", groups), ("rows", None)):
            found = compare(gold(200), systems, **IOU, groups=units, n_resamples=199, seed=rng)
            rejected[name] += only(found)["significant"]
    size = {name: count / simulations for name, count in rejected.items()}
    error = math.sqrt(0.05 * 0.95 / simulations)
    print(size)
    assert abs(size["groups"] - 0.05) < 3 * error
    assert size["rows"] > 0.15


# -- published predictions


@pytest.mark.corpora
def test_two_systems_of_the_shared_task(corpora: Path) -> None:
    folder = corpora / "mu_shroom"
    table = read_table(str(folder / "test" / "mushroom.en-tst.v1.extra.jsonl")).columns
    ids, references, text = (list(table[name]) for name in ("id", "hard_labels", "model_output_text"))
    systems = {}
    for name in ("en", "en-new"):
        columns = read_table(str(folder / "predictions" / f"mushroom-{name}-tst-predicted.jsonl")).columns
        by_id = dict(zip(columns["id"], columns["hard_labels"], strict=True))
        systems[name] = [by_id[key] for key in ids]
    found = compare(references, systems, text=text, invalid="drop", metrics=["iou"])
    a, b = (
        evaluate(
            references=references, predictions=p, text=text, invalid="drop", metrics=["iou"], include_per_example=True
        )
        for p in systems.values()
    )
    d = np.array(a["iou"]["per_example"]) - np.array(b["iou"]["per_example"])
    pair = only(found)
    assert pair["difference"] == a["iou"]["score"] - b["iou"]["score"]
    n = len(ids)
    drawn = d[np.random.default_rng(0).integers(0, n, (10_000, n))].mean(axis=1)
    assert pair["interval"] == approx(np.percentile(drawn, [2.5, 97.5]).tolist())
    sign = np.where(np.random.default_rng(0).integers(0, 2**32, (10_000, n), dtype=np.uint32) % 2, 1, -1)
    reached = (np.abs(sign @ d) >= abs(d.sum()) * (1 - 1e-12)).sum()
    assert pair["p_value"] == (reached + 1) / 10_001
    # The two cannot be told apart.
    assert pair["interval"][0] < 0 < pair["interval"][1]
    assert not pair["significant"]
