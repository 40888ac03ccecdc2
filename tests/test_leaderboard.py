"""Leaderboards against scipy on the same draws, plain loops, and boards worked out by hand."""

from __future__ import annotations

import csv
import html
import io
import json
import pickle
import re
import warnings
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mycelium import as_spans, evaluate
from mycelium.metrics import iou
from mycelium.versus.leaderboard import Leaderboard, leaderboard
from mycelium.versus.submissions import _blanked

N = 90
BY = ["b"] * 30 + ["a"] * 36 + ["c"] * 24
GOLD = [[[0, 10 + i % 7]] for i in range(N)]
FEWER = pytest.mark.filterwarnings("ignore:fewer than 30:UserWarning")


def detector(quality: float, seed: int) -> list[list[list[int]]]:
    """Return predictions that reach further into each reference the better the detector."""
    rng = np.random.default_rng(seed)
    out = []
    for ((start, end),) in GOLD:
        share = rng.random() ** (1 / quality)
        cut = round(start + share * (end - start))
        out.append([[start, cut]] if cut > start else [])
    return out


SYSTEMS = {"low": detector(0.8, 1), "best": detector(4.0, 2), "mid": detector(2.0, 3), "mid too": detector(2.1, 4)}


def by_example(predictions: Any, metric: str = "iou") -> np.ndarray:
    found = evaluate(references=GOLD, predictions=predictions, metrics=[metric], include_per_example=True)
    return np.array(found[metric]["per_example"])


def holm(p: list[float]) -> list[float]:
    """Multiply the smallest by m, the next by m - 1, and so on, never below one before it."""
    out, last = [0.0] * len(p), 0.0
    for turn, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        last = max(last, min(1.0, p[i] * (len(p) - turn)))
        out[i] = last
    return out


def expected_rows(values: dict[str, np.ndarray], strata: np.ndarray, draws: int, level: float) -> dict[str, Any]:
    """Return intervals and rank intervals of a board, from scipy's permutations and plain draws.

    A score is the mean over the strata of the means of their examples, so that example i weighs 1 / (strata * size).
    """
    names = list(values)
    keys = sorted(set(strata))
    order = np.concatenate([np.flatnonzero(strata == key) for key in keys])
    weight = np.concatenate([np.full((strata == key).sum(), 1 / (len(keys) * (strata == key).sum())) for key in keys])
    pairs = list(combinations(names, 2))
    p_values = []
    for a, b in pairs:
        found = stats.permutation_test(
            (values[a][order], values[b][order]),
            lambda x, y, axis=-1: ((x - y) * weight).sum(axis=axis),
            permutation_type="samples",
            n_resamples=draws,
            vectorized=True,
            rng=np.random.default_rng(0),
        )
        reached = np.abs(found.null_distribution) >= abs(found.statistic) * (1 - 1e-12)
        p_values.append((reached.sum() + 1) / (draws + 1))
    differ = {frozenset(pair): p <= 1 - level for pair, p in zip(pairs, holm(p_values), strict=True)}
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, (strata == key).sum(), (draws, (strata == key).sum())) for key in keys]
    out = {}
    for name in names:
        score = (values[name][order] * weight).sum()
        others = [other for other in names if other != name and differ[frozenset((name, other))]]
        better = [o for o in others if (values[o][order] * weight).sum() > score]
        replicates = sum(values[name][strata == key][d].mean(axis=1) for key, d in zip(keys, drawn, strict=True))
        tail = 100 * (1 - level) / 2
        out[name] = {
            "score": score,
            "ranks": [1 + len(better), len(names) - (len(others) - len(better))],
            "interval": np.percentile(replicates / len(keys), [tail, 100 - tail]).tolist(),
            "differs": set(others),
        }
    return out


def check_board(rows: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    assert {row["system"] for row in rows} == set(expected)
    for row in rows:
        wanted = expected[row["system"]]
        assert row["score"] == pytest.approx(wanted["score"], abs=1e-12)
        assert row["interval"] == pytest.approx(wanted["interval"], abs=1e-12)
        assert row["ranks"] == wanted["ranks"]
        assert row["rank"] == 1 + sum(other["score"] > wanted["score"] + 1e-9 for other in expected.values())
        for other in rows:
            shared = set(re.findall(r"[A-Za-z]\d*", row["group"])) & set(re.findall(r"[A-Za-z]\d*", other["group"]))
            assert bool(shared) == (other["system"] not in wanted["differs"])


# -- the numbers, from other programs


@FEWER
def test_boards_are_what_scipy_gives_on_the_same_draws() -> None:
    board = leaderboard(GOLD, SYSTEMS, by=BY, n_resamples=999)
    values = {name: by_example(predictions) for name, predictions in SYSTEMS.items()}
    strata = np.array(BY)
    check_board(board["overall"], expected_rows(values, strata, 999, 0.95))
    assert list(board["slices"]) == ["a", "b", "c"]
    for key, rows in board["slices"].items():
        chosen = strata == key
        check_board(rows, expected_rows({n: v[chosen] for n, v in values.items()}, strata[chosen], 999, 0.95))
    # The comparison means something: some pairs differ and some do not.
    assert len({row["group"] for row in board["overall"]}) > 1
    assert board["overall"][0]["ranks"] != [1, len(SYSTEMS)]
    assert any(row["ranks"][0] < row["ranks"][1] for row in board["overall"])


def test_without_slices_all_examples_count_the_same() -> None:
    board = leaderboard(GOLD, SYSTEMS, n_resamples=999, level=0.9)
    values = {name: by_example(predictions) for name, predictions in SYSTEMS.items()}
    check_board(board["overall"], expected_rows(values, np.array(["all"] * N), 999, 0.9))
    assert board["slices"] == {}
    bounds = stats.bootstrap(
        (values["mid"],),
        np.mean,
        n_resamples=999,
        method="percentile",
        confidence_level=0.9,
        rng=np.random.default_rng(0),
    ).confidence_interval
    row = next(row for row in board["overall"] if row["system"] == "mid")
    assert row["interval"] == pytest.approx([bounds.low, bounds.high], abs=1e-12)


def test_intervals_and_tests_are_those_of_the_output_that_ranks() -> None:
    board = leaderboard(GOLD, SYSTEMS, metric="character", output="recall", n_resamples=999)
    values = {}
    for name, predictions in SYSTEMS.items():
        found = evaluate(references=GOLD, predictions=predictions, metrics=["character"], include_per_example=True)
        values[name] = np.array([row["recall"] for row in found["character"]["per_example"]])
        # Precision, which is 1 wherever something was found, would give other intervals.
        assert found["character"]["precision"] != found["character"]["recall"]
    check_board(board["overall"], expected_rows(values, np.array(["all"] * N), 999, 0.95))


@FEWER
def test_groups_are_drawn_and_swapped_as_a_whole_within_their_slice() -> None:
    groups = [i // 3 for i in range(N)]
    board = leaderboard(GOLD, SYSTEMS, groups=groups, by=BY, n_resamples=999)
    assert board["meta"]["unit"] == "group"
    assert board["meta"]["units"] == 30
    assert [one["units"] for one in board["meta"]["slices"].values()] == [12, 10, 8]
    # Groups of equal size: means of group means are means, and scipy can draw the groups.
    values = {name: by_example(p).reshape(-1, 3).mean(axis=1) for name, p in SYSTEMS.items()}
    expected = expected_rows(values, np.array(BY[::3]), 999, 0.95)
    check_board(board["overall"], expected)
    # A group that spans two slices is one unit in each.
    split = leaderboard(GOLD, SYSTEMS, groups=[-1] * 15 + list(range(N - 15)), by=["x", "y"] * 45, n_resamples=999)
    assert [one["units"] for one in split["meta"]["slices"].values()] == [38, 39]


def test_names_of_groups_and_slices_do_not_matter() -> None:
    groups = [i // 2 for i in range(N)]
    board = leaderboard(GOLD, SYSTEMS, groups=groups, n_resamples=999)
    renamed = leaderboard(GOLD, SYSTEMS, groups=[f"doc {g:03}" for g in groups], n_resamples=999)
    assert renamed == board
    assert [row["score"] for row in board["overall"]] == [
        row["score"] for row in leaderboard(GOLD, SYSTEMS, n_resamples=999)["overall"]
    ]
    backwards = dict(reversed(SYSTEMS.items()))
    assert leaderboard(GOLD, backwards, groups=groups, n_resamples=999)["overall"] == board["overall"]


@FEWER
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize(("metric", "output"), [("iou", None), ("character", None), ("character", "recall")])
def test_scores_have_the_bits_of_evaluate(average: str, metric: str, output: str | None) -> None:
    board = leaderboard(GOLD, SYSTEMS, by=BY, metric=metric, output=output, average=average, n_resamples=999)
    output = output or ("score" if metric == "iou" else "f1")
    each: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    for key in "abc":
        rows = [i for i in range(N) if BY[i] == key]
        scores = {
            name: evaluate(
                references=[GOLD[i] for i in rows],
                predictions=[predictions[i] for i in rows],
                metrics=[metric],
                average=average,
            )[metric][output]
            for name, predictions in SYSTEMS.items()
        }
        assert {row["system"]: row["score"] for row in board["slices"][key]} == scores
        for name in SYSTEMS:
            each[name].append(scores[name])
    for row in board["overall"]:
        assert row["score"] == pytest.approx(np.mean(each[row["system"]]), abs=1e-15)
    whole = leaderboard(GOLD, SYSTEMS, metric=metric, output=output, average=average, n_resamples=999)
    for row in whole["overall"]:
        report = evaluate(references=GOLD, predictions=SYSTEMS[row["system"]], metrics=[metric], average=average)
        assert row["score"] == report[metric][output]


# -- boards by hand


def one_span(lengths: list[int]) -> list[list[list[int]]]:
    """Return a span of each length, inside a reference of 10 characters: IoU is a tenth of the length."""
    return [[[0, length]] if length else [] for length in lengths]


def test_an_exact_test_by_hand() -> None:
    # Twelve units; A is better than B on each, so that only 2 of the 4096 patterns reach the difference. B beats C on
    # 8 and loses on 4 by the same: the sum of 12 signs reaches 4 in absolute value in 2 * sum(C(12, k), k <= 4) =
    # 2 * (1 + 12 + 66 + 220 + 495) = 1588 patterns, p = 0.39. A beats C on 8 by 4 and equals it on 4: p = 2 / 2**8.
    gold = one_span([10] * 12)
    a, b, c = [8] * 12, [6] * 12, [4] * 8 + [8] * 4
    with pytest.warns(UserWarning, match=r"fewer than 30 examples.*overall \(12\)"):
        board = leaderboard(gold, {"C": one_span(c), "A": one_span(a), "B": one_span(b)})
    assert board["meta"]["overall"] == {
        "systems": 3,
        "examples": 12,
        "units": 12,
        "family_size": 3,
        "n_permutations": 4096,
        "exact": True,
    }
    shown = [(row["rank"], row["system"], row["score"], row["ranks"], row["group"]) for row in board["overall"]]
    assert shown == [
        (1, "A", 0.8, [1, 1], "a"),
        (2, "B", 0.6, [2, 3], "b"),
        (3, "C", pytest.approx(0.5333333333333333), [2, 3], "b"),
    ]
    # Holm: 3 * 2/4096, then 2 * 2/256 = 0.0156 for A against C. At a level of 0.99 the second no longer passes.
    with pytest.warns(UserWarning, match="fewer than 30"):
        strict = leaderboard(gold, {"C": one_span(c), "A": one_span(a), "B": one_span(b)}, level=0.99)
    assert [(row["ranks"], row["group"]) for row in strict["overall"]] == [([1, 2], "a"), ([2, 3], "b"), ([1, 3], "ab")]
    # Without correction 2/256 = 0.0078 passes 0.01.
    with pytest.warns(UserWarning, match="fewer than 30"):
        bare = leaderboard(gold, {"C": one_span(c), "A": one_span(a), "B": one_span(b)}, level=0.99, correction="none")
    assert [row["ranks"] for row in bare["overall"]] == [[1, 1], [2, 3], [2, 3]]


def test_equal_scores_share_a_rank_and_a_letter() -> None:
    gold = one_span([10] * 40)
    systems = {
        "x": one_span([6, 8] * 20),
        "y": one_span([8, 6] * 20),
        "z": one_span([9] * 40),
        "x again": one_span([6, 8] * 20),
        "w": one_span([1] * 40),
    }
    board = leaderboard(gold, systems)
    shown = [(row["rank"], row["system"], row["ranks"], row["group"]) for row in board["overall"]]
    assert shown == [
        (1, "z", [1, 1], "a"),
        (2, "x", [2, 4], "b"),
        (2, "y", [2, 4], "b"),
        (2, "x again", [2, 4], "b"),
        (5, "w", [5, 5], "c"),
    ]


def test_a_metric_where_less_is_better() -> None:
    distance = replace(iou, name="distance", greater_is_better=False)
    gold = one_span([10] * 40)
    systems = {"near": one_span([9] * 40), "far": one_span([5] * 40)}
    board = leaderboard(gold, systems, metric=distance)
    assert [(row["rank"], row["system"], row["ranks"]) for row in board["overall"]] == [
        (1, "far", [1, 1]),
        (2, "near", [2, 2]),
    ]
    assert board["meta"]["greater_is_better"] is False


def test_one_system_alone_needs_no_test() -> None:
    board = leaderboard(GOLD, {"mid": SYSTEMS["mid"]}, n_resamples=1)
    (row,) = board["overall"]
    assert (row["rank"], row["ranks"], row["group"]) == (1, [1, 1], "a")
    assert board["meta"]["overall"]["n_permutations"] == 0


def test_the_overall_score_is_the_mean_over_slices_however_large() -> None:
    gold = one_span([10] * 90)
    by = ["small"] * 30 + ["large"] * 60
    board = leaderboard(gold, {"s": one_span([10] * 30 + [5] * 60)}, by=by)
    assert board["overall"][0]["score"] == 0.75
    assert leaderboard(gold, {"s": one_span([10] * 30 + [5] * 60)})["overall"][0]["score"] == pytest.approx(2 / 3)


# -- what is not there, and what cannot be used

THREE = ["en"] * 30 + ["de"] * 30 + ["zh"] * 30


def outcome(board: Leaderboard) -> dict[str, str]:
    """Return for each system what became of it in en, de and zh: scored, refused or missing."""
    names = [row["system"] for rows in board["slices"].values() for row in rows]
    names += [one["system"] for key in ("refused", "missing") for one in board[key]]
    out = {}
    for name in dict.fromkeys(names):
        signs = ""
        for key in ("en", "de", "zh"):
            scored = name in [row["system"] for row in board["slices"][key]]
            refused = {"system": name, "slice": key} in [
                {"system": one["system"], "slice": one["slice"]} for one in board["refused"]
            ]
            missing = {"system": name, "slice": key} in board["missing"]
            assert scored + refused + missing == 1
            signs += "s" if scored else "r" if refused else "m"
        out[name] = signs
    return out


def test_systems_are_absent_or_refused_slice_by_slice() -> None:
    systems: dict[str, Any] = {
        "all": GOLD,
        "one language": GOLD[:30] + [None] * 60,
        "a hole": [*GOLD[:40], None, *GOLD[41:]],
        "reversed": [*GOLD[:70], [[5, 2]], *GOLD[71:]],
        "words": [["a"], *GOLD[1:]],
        "a hole and a fault": [None, *GOLD[1:30], *[None] * 30, [[3, 3]], *GOLD[61:]],
    }
    board = leaderboard(GOLD, systems, by=THREE, n_resamples=999)
    assert outcome(board) == {
        "all": "sss",
        "one language": "smm",
        "a hole": "srs",
        "reversed": "ssr",
        "words": "rss",
        "a hole and a fault": "rmr",
    }
    assert [row["system"] for row in board["overall"]] == ["all"]
    reasons = {(one["system"], one["slice"]): one["reason"] for one in board["refused"]}
    assert reasons["a hole", "de"] == "1 of 30 rows is None (not submitted), the first is row 40"
    with pytest.raises(ValueError) as error:
        evaluate(references=GOLD, predictions=systems["reversed"])
    assert reasons["reversed", "zh"] == str(error.value)
    assert "row 70, span 0 [5, 2]: reversed" in reasons["reversed", "zh"]
    assert "row 0" in reasons["words", "en"]
    assert "row 60, span 0 [3, 3]: empty" in reasons["a hole and a fault", "zh"]
    # What is refused elsewhere changes nothing for the others.
    alone = leaderboard(GOLD, {"all": GOLD}, by=THREE, n_resamples=999)
    assert alone["overall"] == board["overall"]


def test_without_slices_a_hole_refuses_the_system() -> None:
    board = leaderboard(GOLD, {"all": GOLD, "hole": [None, *GOLD[1:]], "nothing": [None] * N}, n_resamples=999)
    assert board["refused"] == [
        {"system": "hole", "slice": None, "reason": "1 of 90 rows is None (not submitted), the first is row 0"}
    ]
    assert board["missing"] == [{"system": "nothing", "slice": None}]
    assert [row["system"] for row in board["overall"]] == ["all"]


def test_missing_rows_can_count_as_nothing_found() -> None:
    systems = {"all": GOLD, "hole": [*[None] * 31, *GOLD[31:]]}
    board = leaderboard(GOLD, systems, by=THREE, missing_rows="empty", n_resamples=999)
    assert outcome(board) == {"all": "sss", "hole": "mss"}
    # 29 rows of 30 are found.
    assert {row["system"]: row["score"] for row in board["slices"]["de"]} == {"all": 1.0, "hole": 29 / 30}
    assert board["meta"]["leniency"] == {"hole": {"rows": 0, "dropped": 0, "clipped": 0, "missing": 1}}
    assert "missing:empty" in board.signature
    assert "hole: 1 rows without a prediction counted as nothing found" in board.to_table()


def test_invalid_spans_can_be_left_out_and_are_counted() -> None:
    systems = {"all": GOLD, "stray": [[[-1, 4], *GOLD[0]], *GOLD[1:]]}
    board = leaderboard(GOLD, systems, invalid="drop", n_resamples=999)
    assert board["refused"] == []
    assert board["meta"]["leniency"] == {"stray": {"rows": 1, "dropped": 1, "clipped": 0, "missing": 0}}
    assert [row["score"] for row in board["overall"]] == [1.0, 1.0]


def test_texts_bound_the_spans() -> None:
    text = ["x" * 20] * N
    board = leaderboard(GOLD, {"all": GOLD, "past": [*GOLD[:-1], [[0, 21]]]}, by=THREE, text=text, n_resamples=999)
    assert outcome(board) == {"all": "sss", "past": "ssr"}
    # A batch that was read before is checked against the texts too, and loses nothing on the way.
    read = as_spans([*GOLD[:-1], [{"start": 0, "end": 21, "prob": 0.5, "label": "x"}]])
    assert leaderboard(GOLD, {"all": GOLD, "past": read}, by=THREE, text=text, n_resamples=999) == board


def test_blanked_rows_leave_the_other_spans_as_they_are() -> None:
    batch = as_spans([[[0, 1]], [[2, 3, "x"], {"start": 4, "end": 6, "prob": 0.5}], [], [[7, 9]]])
    blanked = _blanked(batch, np.array([False, True, True, False]))
    assert blanked.tolist() == [[], [[2, 3], [4, 6]], [], []]
    assert blanked.label.tolist() == ["x", None]
    assert np.isnan(blanked.score[0])
    assert blanked.score[1] == 0.5
    assert _blanked([[[0, 1]], None, [[2, 3]]], np.array([True, True, False])) == [[[0, 1]], None, []]


def test_whatever_a_batch_may_be() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    predictions = SYSTEMS["mid"]
    kinds = {
        "list": predictions,
        "spans": as_spans(predictions),
        "series": pandas.Series(predictions),
        "arrow": arrow.array(predictions),
        "tuple": tuple(predictions),
    }
    board = leaderboard(as_spans(GOLD), kinds, n_resamples=999)
    assert len({row["score"] for row in board["overall"]}) == 1
    assert {row["rank"] for row in board["overall"]} == {1}
    holes = pandas.Series([None, float("nan"), *predictions[2:]])
    assert "2 of 90 rows are None" in leaderboard(GOLD, {"a": predictions, "b": holes})["refused"][0]["reason"]


def test_soft_correlation_reads_the_probabilities_of_both_sides() -> None:
    rng = np.random.default_rng(0)
    text = ["0123456789"] * 40

    def soft() -> list[Any]:
        return [
            [{"start": int(s), "end": int(s) + 3, "prob": float(p)}]
            for s, p in zip(rng.integers(0, 7, 40), rng.random(40), strict=True)
        ]

    gold, systems = soft(), {"x": soft(), "y": soft()}
    board = leaderboard(gold, {**systems, "no prob": [[[0, 3]]] * 40}, metric="soft_correlation", text=text)
    for row in board["overall"]:
        report = evaluate(
            references=gold,
            predictions=systems[row["system"]],
            soft_references=gold,
            soft_predictions=systems[row["system"]],
            text=text,
            metrics=["soft_correlation"],
        )
        assert row["score"] == report["soft_correlation"]["score"]
    assert "without a probability" in board["refused"][0]["reason"]


# -- what is refused as a whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"references": [[[0, 4]], None] * 45}, "references: 45 rows without annotation"),
        # Lenient as one may be with systems: what was not annotated cannot be scored against.
        ({"references": [[[0, 4]], None] * 45, "missing_rows": "empty"}, "references: 45 rows without annotation"),
        ({"references": [[[4, 0]]] * N}, "references: 90 invalid spans"),
        ({"references": []}, "references hold no examples"),
        ({"systems": {}}, "systems is empty"),
        ({"systems": [GOLD]}, "systems must be a mapping"),
        ({"systems": {1: GOLD}}, "names must be strings, got 1"),
        ({"systems": {"a": GOLD[1:]}}, "a: numbers of rows differ: references has 90, predictions has 89"),
        ({"systems": {"a": "text"}}, "a: predictions: expected a batch"),
        ({"systems": {"a": [None] * N}}, "no system can be scored: a: every row is None"),
        ({"by": BY[1:]}, "by has 89 values"),
        ({"by": [None, *BY[1:]]}, "by: row 0 has no value"),
        ({"groups": [*range(50), None, *range(39)]}, "groups: row 50 has no value"),
        ({"output": "f1"}, "output must be one of 'score' for the metric 'iou', got 'f1'"),
        ({"metric": "jaccard"}, "jaccard"),
        ({"correction": "bonferroni"}, "correction must be one of 'holm', 'bh', 'none'"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"n_resamples": 0}, "n_resamples must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"average": "median"}, "average must be one of"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"references": GOLD, "systems": SYSTEMS, **change}
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        leaderboard(arguments.pop("references"), arguments.pop("systems"), **arguments)


@pytest.mark.parametrize(
    ("correction", "enough"),
    # Six pairs: 6 / (B + 1) <= 0.05 from B = 119 on; one p-value alone passes from B = 19 on.
    [("holm", 119), ("bh", 119), ("none", 19)],
)
def test_too_few_resamples_are_an_error_that_says_how_many_do(correction: str, enough: int) -> None:
    with pytest.raises(ValueError, match=rf"n_resamples={enough - 1} is too small .* at least {enough}$"):
        leaderboard(GOLD, SYSTEMS, n_resamples=enough - 1, correction=correction)
    leaderboard(GOLD, SYSTEMS, n_resamples=enough, correction=correction)


def test_the_largest_board_decides_how_many_resamples_are_needed() -> None:
    # Three systems are everywhere, four in "zh": 3 pairs need 59, 6 need 119.
    systems = {**dict(list(SYSTEMS.items())[:3]), "zh only": [None] * 60 + GOLD[60:]}
    with pytest.raises(ValueError, match=r"4 systems \(slice 'zh'\).*at least 119$"):
        leaderboard(GOLD, systems, by=THREE, n_resamples=20)


def test_boards_on_which_nothing_can_differ_are_warned_of() -> None:
    gold = one_span([10] * 6)
    systems = {name: one_span([length] * 6) for name, length in (("x", 9), ("y", 5), ("z", 1))}
    # 2 / 2**6 = 0.031 for one pair, 0.094 after correction for three.
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        board = leaderboard(gold, systems)
    assert {row["group"] for row in board["overall"]} == {"a"}
    messages = [str(warning.message) for warning in heard]
    assert len(messages) == 2
    assert "no two systems could differ significantly in overall (6)" in messages[1]
    assert all(warning.filename == __file__ for warning in heard)
    with pytest.warns(UserWarning, match="fewer than 30") as heard:
        leaderboard(gold, {name: systems[name] for name in "xy"})
    assert len(heard) == 1


def test_a_generator_moves_on_and_a_seed_does_not() -> None:
    first, again = (leaderboard(GOLD, SYSTEMS, seed=5, n_resamples=999) for _ in range(2))
    assert first == again
    rng = np.random.default_rng(5)
    given = leaderboard(GOLD, SYSTEMS, seed=rng, n_resamples=999)
    assert given["meta"]["seed"] is None
    assert "|seed:generator|" in given.signature
    assert [row["interval"] for row in given["overall"]] == [row["interval"] for row in first["overall"]]
    moved = leaderboard(GOLD, SYSTEMS, seed=rng, n_resamples=999)
    assert [row["interval"] for row in moved["overall"]] != [row["interval"] for row in first["overall"]]
    assert [row["score"] for row in moved["overall"]] == [row["score"] for row in first["overall"]]


# -- the result

AWKWARD = "a_b & 50%|x<y>"


@pytest.fixture
def board() -> Leaderboard:
    systems = {
        AWKWARD: SYSTEMS["mid"],
        "best": SYSTEMS["best"],
        "hole": [None, *GOLD[1:]],
        "part": [None] * 30 + GOLD[30:],
    }
    return leaderboard(GOLD, systems, by=THREE, n_resamples=999)


def test_a_board_is_plain_and_goes_through_json(board: Leaderboard, tmp_path: Any) -> None:
    text = board.to_json(tmp_path / "board.json")
    content = json.loads(text)
    assert content == {"leaderboard": board, "signature": board.signature}
    assert json.loads((tmp_path / "board.json").read_text(encoding="utf-8")) == content
    copy = pickle.loads(pickle.dumps(board))
    assert copy == board
    assert copy.signature == board.signature
    assert list(board["overall"][0]) == ["rank", "system", "score", "interval", "ranks", "group"]
    assert list(board) == ["overall", "slices", "refused", "missing", "meta"]


def test_the_signature_names_what_decides_the_ranks(board: Leaderboard) -> None:
    head = evaluate(references=GOLD, predictions=GOLD, metrics=["iou"]).signature
    assert board.signature == (
        f"{head}|rank:permutation|adjust:holm|level:0.95|resamples:999|seed:0|slices:3|units:90 examples"
    )
    groups = [i // 2 for i in range(N)]
    other = leaderboard(GOLD, SYSTEMS, groups=groups, correction="bh", level=0.9, n_resamples=500, seed=3)
    assert other.signature.endswith("|adjust:bh|level:0.9|resamples:500|seed:3|units:45 groups")


def test_the_text_table_holds_everything(board: Leaderboard) -> None:
    parts = board.to_table().split("\n\n")
    assert len(parts) == 7
    assert [part.split("\n")[0] for part in parts[:6]] == [
        "Overall: mean of 3 slices",
        "de: 30 examples",
        "en: 30 examples",
        "zh: 30 examples",
        "Refused: 1",
        "Not submitted: 1",
    ]
    assert parts[0].split("\n")[1].split() == ["rank", "system", "iou", "95%", "interval", "ranks", "group"]
    first = board["overall"][0]
    assert re.split(r"\s{2,}", parts[0].split("\n")[2].strip()) == [
        "1",
        "best",
        f"{first['score']:.4f}",
        "[{:.4f}, {:.4f}]".format(*first["interval"]),
        "1",
        "a",
    ]
    assert parts[4].split("\n")[1].strip() == "hole, en: 1 of 30 rows is None (not submitted), the first is row 0"
    assert parts[5].split("\n")[1].strip() == "part: en (1 of 3)"
    assert "90 examples, macro average" in parts[6]
    assert "999 resamples, seed 0" in parts[6]
    assert parts[6].endswith(board.signature)


def test_parts_of_the_table(board: Leaderboard) -> None:
    assert "de: 30 examples" not in board.to_table(slices=False)
    english = board.to_table(slice="en")
    assert english.startswith("en: 30 examples\n")
    assert "Overall" not in english
    assert "part: en" in english
    assert "\n30 examples, macro average; intervals: percentile bootstrap of 30 examples;" in english
    assert "hole" not in board.to_table(slice="de").split("Refused")[-1].split("ranks and groups")[1]
    assert re.search(r"  0\.\d\d  \[0\.\d\d, 0\.\d\d\]", board.to_table(digits=2))
    with pytest.raises(ValueError, match="no slice 'fr'; there are 'de', 'en', 'zh'"):
        board.to_table(slice="fr")
    with pytest.raises(ValueError, match="format must be one of"):
        board.to_table("pdf")


def test_csv_has_a_line_for_each_system_and_slice(board: Leaderboard) -> None:
    rows = list(csv.DictReader(io.StringIO(board.to_table("csv"))))
    assert len(rows) == 2 + 4 + 2 + 4 + 2
    scored = [row for row in rows if row["status"] == "scored" and row["slice"] == ""]
    for row, wanted in zip(scored, board["overall"], strict=True):
        assert row["system"] == wanted["system"]
        assert float(row["score"]) == wanted["score"]
        assert [float(row["low"]), float(row["high"])] == wanted["interval"]
        assert [int(row["best_rank"]), int(row["worst_rank"])] == wanted["ranks"]
        assert row["group"] == wanted["group"]
    assert [(row["system"], row["slice"], row["status"]) for row in rows if row["status"] != "scored"] == [
        ("hole", "en", "refused"),
        ("part", "en", "not submitted"),
    ]
    assert {row["signature"] for row in rows} == {board.signature}
    assert AWKWARD in {row["system"] for row in rows}
    german = list(csv.DictReader(io.StringIO(board.to_table("csv", slice="de"))))
    assert [(row["slice"], row["status"]) for row in german] == [("de", "scored")] * 4


def test_the_other_formats_escape_names(board: Leaderboard) -> None:
    markdown = board.to_table("markdown")
    assert "| a_b & 50%\\|x\\<y> |" in markdown
    assert "**Overall: mean of 3 slices**\n\n| rank |" in markdown
    assert "- hole, en: 1 of 30 rows is None" in markdown
    latex = board.to_table("latex")
    assert "a\\_b \\& 50\\%\\textbar{}x\\textless{}y\\textgreater{} & 0." in latex
    assert latex.count("\\begin{tabular}{rlrlll}") == 4
    outside = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", latex, flags=re.DOTALL)
    assert all(not line or line.startswith("%") for line in outside.split("\n"))
    page = board._repr_html_()
    assert "x<y" not in page
    assert html.escape(AWKWARD) in page
    assert page.count("<table>") == 4
    assert board.signature in html.unescape(page)


def test_a_board_without_systems_says_so() -> None:
    board = leaderboard(GOLD, {"part": [None] * 30 + GOLD[30:]}, by=THREE, n_resamples=999)
    assert board["overall"] == []
    assert board["slices"]["en"] == []
    table = board.to_table()
    assert "Overall: mean of 3 slices; no system was scored in all 3 slices" in table
    assert "en: 30 examples; no system was scored here" in table


def test_slices_that_are_numbers_go_by_their_size() -> None:
    board = leaderboard(GOLD, {"all": GOLD}, by=[10] * 30 + [9] * 30 + [2] * 30, n_resamples=999)
    assert list(board["slices"]) == ["2", "9", "10"]
    assert board.to_table(slice=10).startswith("10: 30 examples")


@pytest.mark.corpora
def test_published_predictions(corpora: Any) -> None:
    """One team's two submissions: in Arabic and English they cannot be told apart."""
    gold, systems = [], {"base": [], "new": []}
    for lang, base in (("ar", "ar2"), ("en", "en"), ("it", "it")):
        rows = read(corpora / f"mu_shroom/test/mushroom.{lang}-tst.v1.extra.jsonl")
        gold += rows
        for name, file in (("base", base), ("new", f"{lang}-new")):
            found = {r["id"]: r for r in read(corpora / f"mu_shroom/predictions/mushroom-{file}-tst-predicted.jsonl")}
            systems[name] += [found[row["id"]]["hard_labels"] for row in rows]
    references, text = [row["hard_labels"] for row in gold], [row["model_output_text"] for row in gold]
    strata = np.array([row["lang"] for row in gold])
    board = leaderboard(
        references, systems, by=strata, text=text, profile="mu_shroom", invalid="drop", n_resamples=2000
    )
    values = {
        name: np.array(
            evaluate(
                references=references,
                predictions=predictions,
                text=text,
                metrics=["iou"],
                invalid="drop",
                include_per_example=True,
            )["iou"]["per_example"]
        )
        for name, predictions in systems.items()
    }
    check_board(board["overall"], expected_rows(values, strata, 2000, 0.95))
    for key, rows in board["slices"].items():
        chosen = strata == key
        check_board(rows, expected_rows({n: v[chosen] for n, v in values.items()}, strata[chosen], 2000, 0.95))
    for key in ("AR", "EN"):
        assert [row["ranks"] for row in board["slices"][key]] == [[1, 2], [1, 2]]


def read(path: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.slow
def test_rank_intervals_hold_together_among_equal_systems() -> None:
    """On boards of six exchangeable systems the first rank is right for all; percentiles of bootstrapped ranks miss it.

    The boards on which any interval misses are at most 5 %, within three standard errors of 200 boards.
    """
    boards, systems, n = 200, 6, 60
    missed = bootstrapped = 0
    for number in range(boards):
        rng = np.random.default_rng(number)
        hard = rng.random(n)
        lengths = np.clip(np.rint(10 * (hard + rng.normal(0, 0.3, (systems, n)))), 0, 10).astype(int)
        found = leaderboard(
            one_span([10] * n),
            {f"system {i}": one_span(lengths[i].tolist()) for i in range(systems)},
            n_resamples=999,
            seed=number,
        )
        missed += any(row["ranks"][0] > 1 for row in found["overall"])
        drawn = lengths[:, np.random.default_rng(number).integers(0, n, (999, n))].mean(axis=2)
        ranks = 1 + (drawn[None] > drawn[:, None]).sum(axis=1)
        bootstrapped += bool((np.percentile(ranks, 2.5, axis=1) > 1).any())
    assert missed / boards <= 0.05 + 3 * (0.05 * 0.95 / boards) ** 0.5
    # Not because nothing is ever found, and bootstrapped ranks do fail here.
    assert missed > 0
    assert bootstrapped / boards > 0.5
