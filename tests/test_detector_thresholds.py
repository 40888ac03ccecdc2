"""Choosing thresholds: the rules against published values, their properties, and refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from test_detector_points import ALL, CALIBRATION, TEST, quiet

from mycelium.detector.points import evaluate_operating_point
from mycelium.detector.rates import false_acceptance_rate, supported_acceptance_rate
from mycelium.detector.scorer import max_far_scorer
from mycelium.detector.segments import select_segment_thresholds, worst_slice
from mycelium.detector.selection import ThresholdSelection
from mycelium.detector.thresholds import RULES, select_threshold

LARGEST = 1.7976931348623157e308


def select(y: Any, s: Any, **options: Any) -> ThresholdSelection:
    chosen: ThresholdSelection = quiet(select_threshold, y, s, **options)
    return chosen


# -- published values


@pytest.mark.parametrize(("name", "budget"), [("far05", 0.05), ("far10", 0.1), ("far20", 0.2)])
def test_empirical(name: str, budget: float) -> None:
    chosen = select(*CALIBRATION, max_far=budget)
    assert chosen.threshold == value("operating_points_a", name, "threshold")
    assert chosen.next_score == value("operating_points_a", name, "threshold_supremum_open")
    assert chosen.cal_far == digits(value("operating_points_a", name, "cal_far"))
    assert (chosen.n_unsupported, chosen.feasible, chosen.rule) == (15, True, "empirical")


@pytest.mark.parametrize("budget", ["0.1", "0.2", "0.3"])
def test_upper_bound(budget: str) -> None:
    chosen = select(*CALIBRATION, max_far=float(budget), rule="upper_bound")
    assert chosen.threshold == value("operating_points_a", f"ucb_rule_{budget}", "threshold")
    assert chosen.feasible == (budget != "0.1")
    assert not chosen.approximate


def test_upper_bound_is_the_binomial_test_in_fixed_sequence() -> None:
    y, s = np.array(CALIBRATION[0]), np.array(CALIBRATION[1])
    for budget in np.linspace(0.02, 0.98, 40).tolist():
        passing = []
        for tau in np.unique(s).tolist():
            k = int((s[y == 1] <= tau).sum())
            if stats.binom.cdf(k, 15, budget) > 0.05:
                break
            passing.append(tau)
        chosen = select(y, s, max_far=budget, rule="upper_bound")
        assert chosen.threshold == (passing[-1] if passing else None), budget


@pytest.mark.parametrize("budget", ["0.05", "0.1", "0.125", "0.2", "0.25"])
def test_crc(budget: str) -> None:
    expected = value("crc_a", f"alpha_{budget}")
    chosen = select(*CALIBRATION, max_far=float(budget), rule="crc")
    assert chosen.n_unsupported == expected["n"]
    assert chosen.bound == digits(expected["crc_bound"])
    if budget == "0.05":
        # Published as -inf, which has no place in JSON.
        assert (chosen.cutoff, chosen.threshold, chosen.feasible) == (None, None, False)
        assert chosen.reason == "15 unsupported calibration rows allow no budget below 0.0625"
        assert false_acceptance_rate(*TEST, threshold=chosen) == expected["test_far"] == 0
    else:
        assert (chosen.cutoff, chosen.threshold) == (expected["cutoff_strict"], expected["threshold_le"])
        assert chosen.next_score == chosen.cutoff
        # The rates published are those of the strict cutoff.
        strict = chosen.strict_threshold
        assert strict == np.nextafter(expected["cutoff_strict"], -np.inf)
        assert false_acceptance_rate(*TEST, threshold=strict) == digits(expected["test_far"])
        assert supported_acceptance_rate(*TEST, threshold=strict) == digits(expected["test_sar"])


def test_crc_of_the_whole_mixture() -> None:
    chosen = select(*CALIBRATION, max_far=0.1, rule="crc_joint")
    assert chosen.cutoff == value("crc_a", "unconditional_alpha_0.1", "cutoff_strict")
    assert chosen.n == value("crc_a", "unconditional_alpha_0.1", "n")
    # Two unsupported rows lie below 0.51: (2 + 1) / (30 + 1).
    assert chosen.bound == pytest.approx(3 / 31, rel=1e-12)


@pytest.mark.parametrize("q", [5, 10])
def test_an_interpolated_percentile_breaks_its_own_budget(q: int) -> None:
    y, s = np.array(CALIBRATION[0]), np.array(CALIBRATION[1])
    tau = float(np.percentile(s[y == 1], q))
    assert tau == digits(value("operating_points_a", f"percentile_rule_p{q}", "threshold"))
    assert false_acceptance_rate(y, s, threshold=tau) == digits(
        value("operating_points_a", f"percentile_rule_p{q}", "cal_far")
    )
    assert value("operating_points_a", f"percentile_rule_p{q}", "cal_far") > q / 100
    far = select(y, s, max_far=q / 100).cal_far
    assert far is not None
    assert far <= q / 100


# -- conformal risk control


def test_nineteen_scores() -> None:
    chosen = select([1] * 19, range(1, 20), max_far=0.1, rule="crc")
    assert (chosen.cutoff, chosen.threshold, chosen.next_score) == (2.0, 1.0, 2.0)
    assert chosen.n_accepted_unsupported == 1
    few = select([1] * 8, range(1, 9), max_far=0.1, rule="crc")
    assert not few.feasible
    assert few.threshold is few.cutoff is None
    nine = select([1] * 9, range(1, 10), max_far=0.1, rule="crc")
    # The first of nine: nothing lies below it, but whatever will may be accepted.
    assert (nine.cutoff, nine.threshold, nine.feasible) == (1.0, float(np.nextafter(1, 0)), True)


def test_counts_are_compared_by_division() -> None:
    # 0.29 * 100 is 28.999999999999996, so its floor is a row too few.
    assert select([1] * 99, range(1, 100), max_far=0.29, rule="crc").cutoff == 29
    assert select([1] * 100, range(1, 101), max_far=0.29).threshold == 29


def test_groups_are_exchangeable_units() -> None:
    y, s = [1, 1, 1, 1, 1, 1, 0], [1, 5, 2, 6, 3, 7, 0]
    g = ["a", "a", "b", "b", "c", "c", "d"]
    # Three groups with unsupported rows: (1/2 + 1) / 4 below 2, (2/2 + 1) / 4 below 3, (3/2 + 1) / 4 below 5.
    for budget, cutoff in ((0.3, 1.0), (0.375, 2.0), (0.5, 3.0), (0.625, 5.0), (0.7, 5.0), (0.75, 6.0)):
        chosen = select(y, s, groups=g, max_far=budget, rule="crc")
        assert (chosen.cutoff, chosen.n_groups_unsupported) == (cutoff, 3), budget
        assert "average over groups" in chosen.controls
    assert not select(y, s, groups=g, max_far=0.24, rule="crc").feasible
    # Of all four groups: (1/2 + 1) / 5 below 2.
    assert select(y, s, groups=g, max_far=0.3, rule="crc_joint").cutoff == 2.0
    # Groups of one row are rows.
    for budget in (0.05, 0.1, 0.125, 0.2, 0.25, 0.5):
        for rule in ("crc", "crc_joint"):
            one = select(*CALIBRATION, max_far=budget, rule=rule)
            same = select(*CALIBRATION, max_far=budget, rule=rule, groups=range(30))
            assert (one.cutoff, one.threshold) == (same.cutoff, same.threshold)


def test_shares_add_up() -> None:
    # Ten groups of three, a third accepted in each: ten times 1/3 is more than 10/3 in floats, and (10/3 + 1) / 11
    # is within a budget of 13/33 all the same.
    y, g = [1] * 30, [i // 3 for i in range(30)]
    s = [i // 3 if i % 3 == 0 else 50 + i for i in range(30)]
    assert select(y, s, groups=g, max_far=13 / 33, rule="crc").cutoff == 51.0
    assert select(y, s, groups=g, max_far=0.39, rule="crc").cutoff == 9.0


def test_everything_may_be_accepted() -> None:
    y, s = [0] * 30 + [1] * 2, list(range(32))
    # Both unsupported rows accepted: (2 + 1) / (32 + 1).
    chosen = select(y, s, max_far=0.1, rule="crc_joint")
    assert (chosen.accept_all, chosen.threshold, chosen.cutoff, chosen.feasible) == (True, LARGEST, None, True)
    assert chosen.accepts([1e300, np.nan, np.inf]).tolist() == [True, False, False]
    for rule in RULES:
        assert select(*CALIBRATION, max_far=1, rule=rule).accept_all
        assert not select(*CALIBRATION, max_far=0.5, rule=rule).accept_all
    json.dumps(chosen.to_dict(), allow_nan=False)


# -- properties

scored = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=1, max_size=40)
budgets = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 0.9])


@given(scored, budgets)
def test_rules_in_order(drawn: list[tuple[bool, int]], budget: float) -> None:
    y, s = [row[0] for row in drawn], [row[1] for row in drawn]
    found = {rule: select(y, s, max_far=budget, rule=rule) for rule in RULES}
    tau = {rule: -np.inf if chosen.threshold is None else chosen.threshold for rule, chosen in found.items()}
    assert tau["upper_bound"] <= tau["empirical"]
    # Where nothing was observed below the cutoff, numbers that nobody has seen may be accepted; no row is.
    assert found["crc"].n_accepted_unsupported <= found["empirical"].n_accepted_unsupported
    assert tau["crc"] <= tau["empirical"] or found["crc"].n_accepted_unsupported == 0
    for chosen in found.values():
        json.dumps(chosen.to_dict(), allow_nan=False)
        assert chosen.feasible == (chosen.threshold is not None) == (chosen.reason is None)
        k = sum(label and score <= tau[chosen.rule] for label, score in drawn)
        assert chosen.n_accepted_unsupported == k
        ahead = [score for label, score in drawn if label and score > tau[chosen.rule]]
        assert chosen.next_score == min(ahead, default=None)
        assert chosen.accepts(s).tolist() == [score <= tau[chosen.rule] for score in s]


@given(scored, budgets)
def test_rules_by_their_definition(drawn: list[tuple[bool, int]], budget: float) -> None:
    y, s = [row[0] for row in drawn], [row[1] for row in drawn]
    risky = sorted(score for label, score in drawn if label)
    n = len(risky)
    within = [t for t in sorted(set(s)) if n and sum(score <= t for score in risky) / n <= budget]
    assert select(y, s, max_far=budget).threshold == (within[-1] if within else None)
    j = max(i for i in range(n + 1) if i / (n + 1) <= budget)
    # Ties: what lies below the j-th score only.
    assert select(y, s, max_far=budget, rule="crc").cutoff == (risky[j - 1] if j else None)
    joint = max(i for i in range(n + 2) if i / (len(s) + 1) <= budget)
    chosen = select(y, s, max_far=budget, rule="crc_joint")
    assert chosen.cutoff == (risky[joint - 1] if 0 < joint <= n else None)
    assert chosen.accept_all == (joint == n + 1)


@given(scored, budgets, st.sampled_from(RULES))
def test_rising_transforms_and_lower_is_riskier(drawn: list[tuple[bool, int]], budget: float, rule: str) -> None:
    y, s = [row[0] for row in drawn], np.array([row[1] for row in drawn], dtype=np.float64)
    plain = select(y, s, max_far=budget, rule=rule)
    moved = select(y, np.exp(s), max_far=budget, rule=rule)
    assert moved.accepts(np.exp(s)).tolist() == plain.accepts(s).tolist()
    down = select(y, -s, max_far=budget, rule=rule, score_direction="lower_is_riskier")
    assert down.accepts(-s).tolist() == plain.accepts(s).tolist()
    for name in ("threshold", "cutoff", "next_score", "strict_threshold"):
        one, other = getattr(plain, name), getattr(down, name)
        assert other == (None if one is None else -one)
        assert str(other) != "-0.0"
    assert down.accept_rule == "score >= threshold"


def test_thresholds_of_weighted_rows() -> None:
    y, s = [1, 1, 1, 1, 0], [1, 2, 3, 4, 2.5]
    # Weights 1, 1, 2, 6 of 10: 10% below 2, 20% up to 2.5, 40% up to 3.
    w = [1, 1, 2, 6, 1]
    assert select(y, s, max_far=0.2, sample_weight=w).threshold == 2.5
    assert select(y, s, max_far=0.4, sample_weight=w).threshold == 3
    assert select(y, s, max_far=0.39, sample_weight=w).threshold == 2.5
    # A new answer may weigh as much as the heaviest: (lost + 6) / (10 + 6).
    assert not select(y, s, max_far=0.37, sample_weight=w, rule="crc").feasible
    assert select(y, s, max_far=0.375, sample_weight=w, rule="crc").cutoff == 1
    assert select(y, s, max_far=0.5, sample_weight=w, rule="crc").cutoff == 3
    assert select(y, s, max_far=0.625, sample_weight=w, rule="crc").cutoff == 4
    # Weights that are all equal change nothing, and weight 0 is no row.
    for rule in RULES:
        if rule != "upper_bound":
            one = select(*CALIBRATION, max_far=0.2, rule=rule)
            same = select(
                [*CALIBRATION[0], 1], [*CALIBRATION[1], 0.0], max_far=0.2, rule=rule, sample_weight=[3.0] * 30 + [0]
            )
            assert (one.threshold, one.cutoff, one.n) == (same.threshold, same.cutoff, same.n)
    assert select(*CALIBRATION, max_far=0.5, rule="upper_bound", sample_weight=[3.0] * 30).approximate


def test_bounds_of_grouped_rows() -> None:
    groups = column("source_id")
    plain = select(*ALL, max_far=0.5, rule="upper_bound")
    grouped = select(*ALL, max_far=0.5, rule="upper_bound", groups=groups)
    # By the published bounds: 7 of 27 in 11 sources 0.5415 at 0.51, over the budget.
    assert grouped.threshold == 0.48
    assert plain.threshold == 0.51 or plain.threshold == 0.54
    assert grouped.approximate
    assert grouped.n_groups_unsupported == 11
    assert select(*ALL, max_far=0.5416, rule="upper_bound", groups=groups).threshold == 0.51


# -- explicit infeasibility


def test_selections_go_through_json() -> None:
    y, s = CALIBRATION
    for budget in (0.05, 0.1, 1):
        for rule in RULES:
            # Thirds have no short decimals: printed with fewer digits they would move rows.
            chosen = select(y, [value / 3 for value in s], max_far=budget, rule=rule)
            assert ThresholdSelection.from_dict(json.loads(json.dumps(chosen.to_dict(), allow_nan=False))) == chosen


def test_infeasible_says_why() -> None:
    chosen = select([1, 1, 0], [1, 2, 3], max_far=0.1)
    assert chosen.reason == "at the safest calibration score the false acceptance rate is 0.5"
    assert (chosen.cal_far, chosen.cal_sar, chosen.next_score) == (0.0, 0.0, 1.0)
    assert select([0, 0], [1, 2], max_far=0.1).reason == "there are no unsupported rows"
    assert select([0, 0], [1, 2], max_far=0.1, rule="upper_bound").reason == (
        "the upper bound is 1 even where nothing is accepted"
    )
    assert not select([0, 0], [1, 2], max_far=0.1, rule="crc").feasible
    with pytest.warns(UserWarning, match="15 unsupported rows cannot certify"):
        chosen = select_threshold(*CALIBRATION, max_far=0.1, rule="upper_bound")
    assert chosen.accepts([-1e9, -np.inf, None]).tolist() == [False] * 3
    point = quiet(evaluate_operating_point, *TEST, threshold=chosen)
    assert (point.feasible, point.threshold, point.eval_far, point.supported_acceptance) == (False, None, 0.0, 0.0)
    one_group = select(*CALIBRATION, max_far=0.5, rule="upper_bound", groups=["a"] * 30)
    assert not one_group.feasible


def test_rows_without_a_score_count_in_the_choice() -> None:
    y, s = [1, 1, 1, 1, 0], [1, 2, np.nan, np.nan, 1]
    chosen = select(y, s, max_far=0.25, nan_policy="reject")
    assert (chosen.threshold, chosen.cal_far, chosen.n_unscored, chosen.next_score) == (1.0, 0.25, 2, 2.0)
    everything = select(y, s, max_far=0.5, nan_policy="reject")
    assert (everything.accept_all, everything.next_score, everything.cal_far) == (True, None, 0.5)
    crc = select(y, s, max_far=0.6, nan_policy="reject", rule="crc")
    assert (crc.accept_all, crc.cutoff, crc.cal_far) == (True, None, 0.5)


# -- choosing and evaluating


def test_the_rows_of_the_choice_are_refused() -> None:
    chosen = select(*CALIBRATION, max_far=0.1)
    backwards = [list(reversed(part)) for part in CALIBRATION]
    for rows in (CALIBRATION, backwards):
        with pytest.raises(ValueError, match=r"chosen on these very rows.*allow_resubstitution=True"):
            evaluate_operating_point(*rows, threshold=chosen)
        point = quiet(evaluate_operating_point, *rows, threshold=chosen, allow_resubstitution=True)
        assert point.resubstitution
        assert point.digest == point.calibration_digest == chosen.digest
        assert any("too good" in message for message in point.warnings)
    point = quiet(evaluate_operating_point, *TEST, threshold=chosen)
    assert not point.resubstitution
    assert point.digest != point.calibration_digest


def test_ids_tell_rows_apart_that_look_alike() -> None:
    y, s = [1, 0] * 40, [0.9, 0.1] * 40
    chosen = select(y, s, max_far=0.1, row_ids=range(80))
    with pytest.raises(ValueError, match="row_ids tell rows apart"):
        evaluate_operating_point(y, s, threshold=chosen)
    assert not evaluate_operating_point(y, s, threshold=chosen, row_ids=range(80, 160)).resubstitution
    # The same rows in another order, and with another score.
    with pytest.raises(ValueError, match="these very rows"):
        evaluate_operating_point(y, [0.8, 0.2] * 40, threshold=chosen, row_ids=range(79, -1, -1))
    by_segment = quiet(
        select_segment_thresholds, y, s, segments=["a"] * 80, max_far=0.1, row_ids=range(80), min_unsupported=1
    )
    with pytest.raises(ValueError, match="these very rows"):
        by_segment.evaluate(y, s, segments=["a"] * 80)
    assert not by_segment.evaluate(y, s, segments=["a"] * 80, row_ids=range(1, 81)).overall.resubstitution
    with pytest.raises(ValueError, match=r"row_ids: row 2 is 'x', as is an earlier one"):
        select([1, 1, 0], [1, 2, 3], max_far=0.5, row_ids=["x", "y", "x"])
    with pytest.raises(ValueError, match="row_ids has 1 values"):
        evaluate_operating_point(y, s, threshold=chosen, row_ids=["x"])


def test_the_direction_of_the_choice_must_be_that_of_the_rows() -> None:
    chosen = select(*CALIBRATION, max_far=0.1)
    with pytest.raises(ValueError, match="threshold was chosen for scores with score_direction='higher_is_riskier'"):
        evaluate_operating_point(*TEST, threshold=chosen, score_direction="lower_is_riskier")


def test_what_is_said_of_guarantees() -> None:
    said = {rule: select(*CALIBRATION, max_far=0.3, rule=rule).controls for rule in RULES}
    assert "nothing on new ones" in said["empirical"]
    assert "for 0.95 of calibration sets" in said["upper_bound"]
    assert "on average over calibration sets" in said["crc"]
    assert "unsupported and accepted" in said["crc_joint"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_far": 0.1, "rule": "best"}, ValueError, "rule must be one of 'empirical', 'upper_bound'"),
        ({"max_far": 1.1}, ValueError, "max_far must lie between 0 and 1, got 1.1"),
        ({"max_far": True}, TypeError, "max_far must be a number"),
        ({"max_far": 0.1, "confidence_level": 95}, ValueError, "confidence_level must lie between 0 and 1"),
        ({"max_far": 0.1, "labelled": "no"}, ValueError, "labelled must be"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        select_threshold(*CALIBRATION, **options)


def test_labels_of_flagged_rows_only() -> None:
    with pytest.warns(UserWarning, match="only flagged answers have labels"):
        select_threshold([1] * 40, range(40), max_far=0.1, labelled="flagged")


# -- segments


def segments_of(n: int = 80) -> tuple[list[int], list[float], list[str]]:
    """Return rows of two large segments, whose scores differ by 10, and a small one."""
    y = [i % 2 for i in range(n)]
    s = [float(i // 2) + (100 if i >= n // 2 else 0) for i in range(n)]
    where = ["law" if i < n // 2 else "news" for i in range(n)]
    return [*y, 1, 1], [*s, 5.0, 6.0], [*where, "web", "web"]


def test_thresholds_of_segments() -> None:
    y, s, where = segments_of()
    with pytest.warns(UserWarning, match=r"pooled threshold: 'web' \(2 unsupported rows, fewer than 10\)"):
        chosen = select_segment_thresholds(y, s, segments=where, max_far=0.1, min_unsupported=10)
    # 20 unsupported rows of each: two of them, and the supported row after the second.
    assert {key: found.threshold for key, found in chosen.segments.items()} == {"law": 1.0, "news": 121.0}
    alone = select(y[:40], s[:40], max_far=0.1)
    assert chosen.segments["law"].threshold == alone.threshold
    assert chosen.pooled.threshold == select(y, s, max_far=0.1).threshold == 3.0
    assert chosen.fallback == {"web": "2 unsupported rows, fewer than 10"}
    assert chosen.accepts([1, 2, 121, 122, 3, 4], ["law", "law", "news", "news", "web", "new"]).tolist() == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]
    json.dumps(chosen.to_dict(), allow_nan=False)
    with pytest.raises(ValueError, match="these very rows"):
        chosen.evaluate(y, s, segments=where)
    tested = quiet(
        chosen.evaluate,
        [1, 0, 1, 1, 0, 1],
        [1, 2, 121, 122, 3, 4],
        segments=["law"] * 2 + ["news"] * 2 + ["web", "new"],
    )
    assert tested.unseen == ("new",)
    assert tested.segments["law"].eval_far == 1.0
    assert tested.segments["news"].eval_far == 0.5
    assert tested.segments["news"].threshold == 121.0
    assert tested.segments["web"].supported_acceptance == 1.0
    assert (tested.overall.eval_far, tested.overall.n_false_accepts, tested.overall.n_unsupported) == (0.5, 2, 4)
    assert tested.overall.undefined["threshold"] == "each segment has its own"
    json.dumps(tested.to_dict(), allow_nan=False)


def test_segments_and_their_rows_stay_together() -> None:
    y, s, where = segments_of()
    s[0], s[41] = np.nan, np.nan
    weight = np.ones(82)
    weight[1] = 0
    options: dict[str, Any] = {"segments": where, "max_far": 0.1, "min_unsupported": 10, "sample_weight": weight}
    for policy, unscored in (("omit", 0), ("reject", 1)):
        chosen = quiet(select_segment_thresholds, y, s, nan_policy=policy, **options)
        # Row 1 weighs nothing, so the first two unsupported rows of "law" are rows 3 and 5: 1.9 of 19 allowed, 1 taken.
        assert chosen.segments["law"].n_unsupported == 19
        assert chosen.segments["law"].threshold == 1.0
        assert chosen.segments["news"].n_unsupported == 19 + unscored
    with pytest.raises(TypeError, match="segments must be a sequence"):
        select_segment_thresholds(y, s, segments=None, max_far=0.1)


def test_a_large_segment_that_is_infeasible_stays_so() -> None:
    y, s, where = segments_of()
    for i, place in enumerate(where):
        if place == "news" and y[i] == 1:
            s[i] = -1.0
    chosen = quiet(select_segment_thresholds, y, s, segments=where, max_far=0.1, min_unsupported=10)
    assert not chosen.segments["news"].feasible
    assert "news" not in chosen.fallback
    assert not chosen.accepts([-5.0], ["news"])[0]


def test_the_smallest_segment_by_default() -> None:
    y, s, where = segments_of(160)
    with pytest.warns(UserWarning, match="pooled"):
        chosen = select_segment_thresholds(y, s, segments=where, max_far=0.1)
    assert (chosen.min_unsupported, sorted(chosen.segments)) == (29, ["law", "news"])


def test_the_worst_slice() -> None:
    y, s = [1] * 60 + [0] * 5, [9.0] * 60 + [1.0] * 5
    s[0] = s[20] = s[21] = 1.0
    slices = ["a"] * 20 + ["b"] * 30 + ["c"] * 10 + ["d"] * 5
    worst = worst_slice(y, s, slices=slices, threshold=5)
    # "d" has no unsupported row: three slices. Of 1 / 20, 2 / 30 and 0 / 10 the third has the highest bound.
    level = 1 - 0.05 / 3
    assert worst.confidence_level == level
    bounds = {
        name: stats.beta.ppf(level, k + 1, n - k) for name, (k, n) in {"a": (1, 20), "b": (2, 30), "c": (0, 10)}.items()
    }
    for name, bound in bounds.items():
        assert worst.slices[name].far_upper == pytest.approx(bound, rel=1e-12)
    assert worst.slice == max(bounds, key=lambda name: float(bounds[name])) == "c"
    assert (worst.slices["d"].far, worst.slices["d"].far_upper) == (None, 1.0)
    nothing = worst_slice(y, s, slices=[None] * 65, threshold=5)
    assert (nothing.slice, nothing.far_upper, dict(nothing.slices)) == (None, None, {})
    one = worst_slice(y, s, slices=slices, threshold=5, groups=[0] * 20 + list(range(45)))
    assert one.slice == "a"
    assert one.far_upper is None


# -- scikit-learn


def test_the_scorer_finds_the_empirical_threshold() -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.model_selection import TunedThresholdClassifierCV

    class Given(ClassifierMixin, BaseEstimator):
        """A detector whose score is its only feature."""

        def fit(self, X: Any, y: Any) -> Given:
            self.classes_ = np.array([0, 1])
            return self

        def decision_function(self, X: Any) -> Any:
            return np.asarray(X)[:, 0]

        def predict(self, X: Any) -> Any:
            return (self.decision_function(X) >= 0.5).astype(int)

    y, s = np.array(CALIBRATION[0]), np.array(CALIBRATION[1])
    for budget in (0.05, 0.1, 0.2):
        tuned = TunedThresholdClassifierCV(
            Given().fit(s[:, None], y),
            scoring=max_far_scorer(budget),
            cv="prefit",
            refit=False,
            thresholds=np.unique(s),
            response_method="decision_function",
        ).fit(s[:, None], y)
        ours = select(y, s, max_far=budget)
        # It flags from its threshold upwards; ours is the largest score below.
        assert s[s < tuned.best_threshold_].max() == ours.threshold
        assert tuned.best_score_ == pytest.approx(ours.cal_sar)
    # Where unsupported rows lie between two supported ones, it may stop before them: no less is accepted for that.
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 200), rng.random(200).round(2)
    scorer = max_far_scorer(0.25)._score_func
    best = max(scorer(y, (s >= t).astype(int), max_far=0.25) for t in np.unique(s))
    assert best == pytest.approx(select(y, s, max_far=0.25).cal_sar)


def test_the_score_of_the_scorer() -> None:
    pytest.importorskip("sklearn")
    from sklearn.dummy import DummyClassifier

    X, y = [[0]] * 6, ["bad", "bad", "good", "good", "good", "good"]
    accepts_all = DummyClassifier(strategy="constant", constant="good").fit(X, y)
    scorer = max_far_scorer(0.5, pos_label="bad")
    assert scorer(accepts_all, X, y) == -1.0
    assert max_far_scorer(1.0, pos_label="bad")(accepts_all, X, y) == 1.0
    with pytest.raises(ValueError, match="there are no supported rows"):
        scorer(accepts_all, X[:2], y[:2])
    with pytest.raises(ValueError, match="max_far must lie"):
        max_far_scorer(2)


# -- guarantees


def population(rng: np.random.Generator, sets: int, n: int, ties: int | None) -> tuple[Any, Any]:
    """Return unsupported scores (sets, n), and the true FAR of accepting strictly below each of them."""
    if ties is None:
        s = rng.random((sets, n))
        return s, lambda c: c
    s = rng.integers(0, ties, (sets, n)).astype(float)
    return s, lambda c: np.clip(c, 0, ties) / ties


@pytest.mark.slow
@pytest.mark.parametrize("ties", [None, 9])
@pytest.mark.parametrize(("budget", "n"), [(0.1, 15), (0.125, 15), (0.2, 24)])
def test_crc_holds_on_average_over_calibration_sets(ties: int | None, budget: float, n: int) -> None:
    rng = np.random.default_rng(1)
    sets, strict = population(rng, 1500, n, ties)
    far, naive = [], []
    for s in sets:
        chosen = select(np.ones(n, dtype=int), s, max_far=budget, rule="crc")
        cutoff = -1.0 if chosen.cutoff is None else chosen.cutoff
        far.append(float(strict(max(cutoff, 0.0))))
        naive.append(float(strict(cutoff + 1)) if ties and cutoff >= 0 else float(strict(max(cutoff, 0.0))))
    error = float(np.std(far) / np.sqrt(len(far)))
    assert np.mean(far) <= budget + 3 * error
    if ties is None:
        # j of n + 1, exactly, for scores without ties.
        assert np.mean(far) == pytest.approx(int(budget * (n + 1) + 1e-9) / (n + 1), abs=4 * error)
    else:
        # Accepting the cutoff itself would break the promise.
        assert np.mean(naive) > budget


@pytest.mark.slow
def test_crc_of_groups_holds_on_average() -> None:
    rng = np.random.default_rng(2)
    budget, found, rows = 0.2, [], []
    for _ in range(600):
        size = rng.integers(1, 9, 20)
        # A group of many rows lies low: its rows count little in the average over groups.
        centre = rng.normal(size=20) - size / 3
        g = np.repeat(np.arange(20), size)
        s = centre[g] + 0.3 * rng.normal(size=len(g))
        chosen = select(np.ones(len(g), dtype=int), s, groups=g, max_far=budget, rule="crc")
        cutoff = -np.inf if chosen.cutoff is None else chosen.cutoff
        fresh = rng.integers(1, 9, 400)
        z = (cutoff - (rng.normal(size=400) - fresh / 3)) / 0.3
        share = stats.norm.cdf(z)
        found.append(float(share.mean()))
        rows.append(float((share * fresh).sum() / fresh.sum()))
    assert np.mean(found) <= budget + 3 * np.std(found) / np.sqrt(600)
    assert np.mean(found) > budget - 0.06
    # It is the average over groups that is held, not over rows.
    assert np.mean(rows) > budget


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "n"), [(0.1, 60), (0.2, 40)])
def test_the_bound_holds_for_most_calibration_sets(budget: float, n: int) -> None:
    rng = np.random.default_rng(3)
    sets = 1500
    broken = {"upper_bound": 0, "empirical": 0}
    for s in rng.random((sets, n)):
        for rule in broken:
            chosen = select(np.ones(n, dtype=int), s, max_far=budget, rule=rule)
            # Scores are uniform: the FAR of a threshold is the threshold.
            broken[rule] += bool(chosen.threshold is not None and chosen.threshold > budget)
    assert broken["upper_bound"] / sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)
    assert broken["empirical"] / sets > 0.3


@pytest.mark.slow
def test_the_bound_of_groups_holds_where_that_of_rows_does_not() -> None:
    rng = np.random.default_rng(4)
    sets, group = 500, np.repeat(np.arange(60), 5)
    broken = {"rows": 0, "groups": 0}
    for _ in range(sets):
        s = np.sqrt(0.6) * rng.normal(size=60)[group] + np.sqrt(0.4) * rng.normal(size=300)
        for name, groups in (("rows", None), ("groups", group)):
            chosen = select(np.ones(300, dtype=int), s, max_far=0.2, rule="upper_bound", groups=groups)
            assert chosen.threshold is not None
            broken[name] += bool(stats.norm.cdf(chosen.threshold) > 0.2)
    error = np.sqrt(0.05 * 0.95 / sets)
    assert broken["groups"] / sets <= 0.05 + 3 * error
    assert broken["rows"] / sets > 0.05 + 3 * error


def test_budgets_as_fractions() -> None:
    for n in range(1, 60):
        s = list(range(1, n + 1))
        for k in range(n):
            chosen = select([1] * n, s, max_far=k / n)
            assert chosen.n_accepted_unsupported == k
            exact = Fraction(k + 1, n + 1)
            assert select([1] * n, s, max_far=float(exact), rule="crc").cutoff == k + 1
