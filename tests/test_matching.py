"""One-to-one matching against the rule itself: every matching of small sets, and scipy on larger ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from mycelium import intervals
from mycelium.matching import (
    BASES,
    MEASURES,
    Matching,
    Spans,
    Stage,
    assignment,
    canonical_order,
    components,
    match,
    stages_of,
    ties,
)

Typed = tuple[int, int, int]
Edges = dict[tuple[int, int], int]
List = list[tuple[int, int]]

ANY = Stage("overlap", "any")

#: The ways in which a component can be settled; each must give the same pairs.
WAYS = ("as it comes", "solver", "solver of lists", "large integers", "small blocks of pairs", "small blocks of sums")


@contextlib.contextmanager
def settled(way: str) -> Iterator[None]:
    """Make the engine take one way for everything."""
    with contextlib.ExitStack() as stack:
        if way in ("solver", "solver of lists", "large integers"):
            stack.enter_context(mock.patch.object(components, "LARGEST_TABLE", 0))
        if way == "solver of lists":
            stack.enter_context(mock.patch.object(assignment, "CELLS", 0))
        if way == "large integers":
            stack.enter_context(mock.patch.object(assignment, "EXACT", 0))
        if way == "small blocks of sums":
            stack.enter_context(mock.patch.object(components, "SUMS_AT_ONCE", 1))
        if way == "small blocks of pairs":
            stack.enter_context(mock.patch.object(intervals, "PAIRS_AT_ONCE", 3))
        yield


def side(spans: list[Typed]) -> Spans:
    """Lay spans of one row out in canonical order."""
    array = np.array(sorted(spans), dtype=np.int64).reshape(-1, 3)
    return Spans(array[:, 0], array[:, 1], array[:, 2])


def blind(spans: list[tuple[int, int]]) -> Spans:
    """Lay spans without types out in canonical order."""
    array = np.array(sorted(spans), dtype=np.int64).reshape(-1, 2)
    return Spans(array[:, 0], array[:, 1])


def pairs(matching: Matching) -> List:
    """Return the list of pairs."""
    return list(zip(matching.reference.tolist(), matching.prediction.tolist(), strict=True))


# The rule, one span at a time ------------------------------------------------------------------------------------


def allowed(references: list[Typed], predictions: list[Typed], stage: Stage) -> Edges:
    """Return the characters shared by each pair that the stage allows, from sets of characters."""
    out = {}
    for r, (r_start, r_end, r_type) in enumerate(references):
        for p, (p_start, p_end, p_type) in enumerate(predictions):
            ours, theirs = set(range(r_start, r_end)), set(range(p_start, p_end))
            base = {"reference": ours, "prediction": theirs, "union": ours | theirs}[stage.base]
            both = ours & theirs
            good = ours == theirs if stage.boundaries == "exact" else both
            if good and len(both) / len(base) >= stage.min_overlap and (stage.types == "any" or r_type == p_type):
                out[r, p] = len(both)
    return out


def all_matchings(edges: Edges) -> Iterator[List]:
    """Yield every matching of these edges, each as a sorted list of pairs."""
    if not edges:
        yield []
        return
    first = min(edges)
    yield from all_matchings({pair: shared for pair, shared in edges.items() if pair != first})
    apart = {pair: shared for pair, shared in edges.items() if pair[0] != first[0] and pair[1] != first[1]}
    for rest in all_matchings(apart):
        yield sorted([first, *rest])


def by_rule(edges: Edges) -> List:
    """Return the matching that the rule names: most pairs, most shared, first list."""
    return min(all_matchings(edges), key=lambda made: (-len(made), -sum(edges[pair] for pair in made), made))


def by_rule_in_stages(references: list[Typed], predictions: list[Typed], stages: tuple[Stage, ...]) -> dict:
    """Return the number of the stage of each pair that the rule makes."""
    made: dict[tuple[int, int], int] = {}
    for number, stage in enumerate(stages):
        edges = allowed(references, predictions, stage)
        taken_r, taken_p = {r for r, _ in made}, {p for _, p in made}
        free = {(r, p): shared for (r, p), shared in edges.items() if r not in taken_r and p not in taken_p}
        made |= dict.fromkeys(by_rule(free), number)
    return dict(sorted(made.items()))


spans = st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(0, 1)).map(lambda x: (x[0], x[0] + x[1], x[2]))
sets = st.lists(spans, max_size=5).map(sorted)
stages = st.builds(
    Stage,
    st.just("overlap"),
    st.sampled_from(["any", "same"]),
    st.sampled_from([0.0, 0.25, 0.4, 0.5, 2 / 3, 1.0]),
    st.sampled_from(BASES),
)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=250)
@given(references=sets, predictions=sets, stage=stages)
def test_overlaps_follow_the_rule(way: str, references: list[Typed], predictions: list[Typed], stage: Stage) -> None:
    with settled(way):
        got = match(side(references), side(predictions), [stage])
    edges = allowed(references, predictions, stage)
    assert pairs(got) == by_rule(edges)
    assert got.shared.tolist() == [edges[pair] for pair in pairs(got)]


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=200)
@given(
    references=sets,
    predictions=sets,
    credit=st.sampled_from([0.5, 1.0]),
    least=st.sampled_from([0.0, 0.5]),
    base=st.sampled_from(BASES),
)
def test_measures_follow_the_rule_stage_by_stage(
    measure: str, references: list[Typed], predictions: list[Typed], credit: float, least: float, base: str
) -> None:
    plan = stages_of(measure, overlap_credit=credit, min_overlap=least, base=base)
    got = match(side(references), side(predictions), plan)
    wanted = by_rule_in_stages(references, predictions, plan)
    assert pairs(got) == list(wanted)
    assert got.stage.tolist() == list(wanted.values())
    assert got.exact.tolist() == [references[r][:2] == predictions[p][:2] for r, p in wanted]
    assert got.partner_r.tolist() == [dict(list(wanted)).get(r, -1) for r in range(len(references))]
    back = {p: r for r, p in wanted}
    assert got.partner_p.tolist() == [back.get(p, -1) for p in range(len(predictions))]


def forced(edges: Edges, rows: int, columns: int) -> List:
    """Return the matching that the rule names, by forcing pair after pair and asking scipy what can still be had."""
    bonus = 10_000

    def best(left: Edges) -> int:
        matrix = np.zeros((rows, columns))
        for (r, p), shared in left.items():
            matrix[r, p] = bonus + shared
        return int(matrix[linear_sum_assignment(matrix, maximize=True)].sum())

    goal, made = best(edges), []
    for r in range(rows):
        for p in range(columns):
            if (r, p) not in edges:
                continue
            left = {pair: shared for pair, shared in edges.items() if pair[0] != r and pair[1] != p}
            if bonus + edges[r, p] + best(left) == goal:
                made.append((r, p))
                goal -= bonus + edges[r, p]
                edges = left
                break
        else:
            edges = {pair: shared for pair, shared in edges.items() if pair[0] != r}
    return made


@pytest.mark.parametrize("way", ["as it comes", "solver of lists", "large integers"])
@pytest.mark.parametrize("longest", [2, 4, 9])
@pytest.mark.parametrize(("n", "m"), [(12, 12), (9, 16), (16, 9), (20, 20)])
def test_larger_components_follow_the_rule(n: int, m: int, longest: int, way: str) -> None:
    # Few positions and short spans: thousands of matchings are as good, in every way that a tie can come about.
    rng = np.random.default_rng(100 * n + longest)
    for _ in range(4):
        sides = []
        for size in (n, m):
            start = rng.integers(0, max(n, m) // 2, size)
            sides.append(
                sorted((int(a), int(a + b), 0) for a, b in zip(start, rng.integers(1, longest + 1, size), strict=True))
            )
        with settled(way):
            got = match(side(sides[0]), side(sides[1]), [ANY])
        assert pairs(got) == forced(allowed(sides[0], sides[1], ANY), n, m)


@settings(max_examples=1_000)
@given(
    edges=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    spare=st.sets(st.integers(0, 9)),
    data=st.data(),
)
def test_any_of_several_matchings_is_turned_into_the_first(
    edges: set[tuple[int, int]], spare: set[int], data: st.DataObject
) -> None:
    shared = dict.fromkeys(sorted(edges), 1)
    start = data.draw(st.sampled_from(list(all_matchings(shared))))
    # Who has no partner at the start may have none, and so may some others.
    without_r = {r for r in range(5) if r in spare} | set(range(5)) - {r for r, _ in start}
    without_p = {p for p in range(5) if p + 5 in spare} | set(range(5)) - {p for _, p in start}
    good = [
        [dict(made).get(r, 5) for r in range(5)]
        for made in all_matchings(shared)
        if set(range(5)) - {r for r, _ in made} <= without_r and set(range(5)) - {p for _, p in made} <= without_p
    ]
    row, column = np.array(list(shared), dtype=np.int64).T
    partner = np.array([dict(start).get(r, -1) for r in range(5)])
    spare_r, spare_p = (np.isin(np.arange(5), list(x)) for x in (without_r, without_p))
    got = ties.first_of(row, column, partner, spare_r, spare_p)
    assert np.where(got < 0, 5, got).tolist() == min(good)


def test_a_column_given_up_early_is_taken_up_later() -> None:
    # Row 0 can have 0 or 2, row 1 has 1 or 3, row 2 has 1 or 2; rows must have a partner, columns but 1 need not.
    # Row 0 leaves column 2 for 0, and only therefore can row 2 leave column 1 to row 1.
    row, column = np.array([(0, 0), (0, 2), (1, 1), (1, 3), (2, 1), (2, 2)]).T
    got = ties.first_of(row, column, np.array([2, 3, 1]), np.zeros(3, dtype=bool), np.array([True, False, True, True]))
    assert got.tolist() == [0, 1, 2]


# By hand ---------------------------------------------------------------------------------------------------------


def test_as_many_pairs_as_possible() -> None:
    # [0, 9) shares most with [0, 9), but [0, 3) has no other partner: two pairs of 3 + 3 beat one of 9.
    #   references   |--|         predictions  |--------|
    #                |--------|                      |------|
    assert pairs(match(blind([(0, 3), (0, 9)]), blind([(0, 9), (6, 13)]), [ANY])) == [(0, 0), (1, 1)]


def test_then_the_most_shared_characters() -> None:
    # Straight [0, 6) with [0, 2) and [1, 10) with [5, 10): 2 + 5. Crossed 1 + 1.
    assert pairs(match(blind([(0, 6), (1, 10)]), blind([(0, 2), (5, 10)]), [ANY])) == [(0, 0), (1, 1)]
    # Straight [0, 9) with [0, 2) and [1, 3) with [1, 8): 2 + 2. Crossed 7 + 1.
    assert pairs(match(blind([(0, 9), (1, 3)]), blind([(0, 2), (1, 8)]), [ANY])) == [(0, 1), (1, 0)]


def test_then_the_first_list_of_pairs() -> None:
    # Every pair shares two characters: the first reference with the first prediction, and the third goes without.
    assert pairs(match(blind([(0, 4), (1, 5), (2, 6)]), blind([(2, 4), (2, 4)]), [ANY])) == [(0, 0), (1, 1)]
    # A star: the first of two that share as much.
    assert pairs(match(blind([(0, 3), (5, 8)]), blind([(1, 7)]), [ANY])) == [(0, 0)]
    assert pairs(match(blind([(1, 7)]), blind([(0, 3), (5, 8)]), [ANY])) == [(0, 0)]
    # A chain r0 p0 r1 p1 r2: one reference goes without, the last.
    references, predictions = blind([(0, 4), (6, 10), (12, 16)]), blind([(2, 8), (8, 14)])
    assert pairs(match(references, predictions, [ANY])) == [(0, 0), (1, 1)]


def test_exact_pairs_first_and_with_multiplicity() -> None:
    references = blind([(0, 4), (0, 4), (0, 4), (9, 12)])
    predictions = blind([(0, 4), (0, 4), (2, 10), (9, 12)])
    got = match(references, predictions, stages_of("partial"))
    assert pairs(got) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert got.stage.tolist() == [0, 0, 1, 0]
    assert got.exact.tolist() == [True, True, False, True]
    # Where there is no third, a second prediction of one place is left over.
    got = match(blind([(0, 4)]), blind([(0, 4), (0, 4)]), stages_of("partial"))
    assert got.partner_p.tolist() == [0, -1]


def test_exact_first_may_cost_a_pair_and_full_credit_does_not() -> None:
    # Exact first leaves [0, 2) and [4, 6) without each other; at full credit two overlaps beat one exact pair.
    references, predictions = blind([(0, 2), (1, 5)]), blind([(1, 5), (4, 6)])
    assert pairs(match(references, predictions, stages_of("partial"))) == [(1, 0)]
    got = match(references, predictions, stages_of("partial", overlap_credit=1.0))
    assert pairs(got) == [(0, 0), (1, 1)]
    assert not got.exact.any()


def test_types_of_spans_in_one_place() -> None:
    # Blind to types, the first two of three types are taken, in their order.
    references, predictions = side([(0, 4, 5), (0, 4, 7)]), side([(0, 4, 1), (0, 4, 5), (0, 4, 7)])
    assert pairs(match(references, predictions, stages_of("strict"))) == [(0, 0), (1, 1)]
    assert pairs(match(references, predictions, stages_of("strict_typed"))) == [(0, 1), (1, 2)]
    # In the confusion, the same type is tried before any other.
    assert pairs(match(references, predictions, stages_of("confusion"))) == [(0, 1), (1, 2)]
    got = match(side([(0, 4, 0), (0, 4, 1)]), side([(0, 4, 1), (0, 4, 2), (1, 3, 0)]), stages_of("confusion"))
    assert pairs(got) == [(0, 1), (1, 0)]
    assert got.stage.tolist() == [1, 0]


def test_right_place_wrong_type() -> None:
    conflict, baseless = side([(0, 5, 0)]), side([(0, 5, 1)])
    assert len(match(conflict, baseless, stages_of("strict_typed"))) == 0
    assert len(match(conflict, baseless, stages_of("typed_partial"))) == 0
    assert len(match(conflict, baseless, stages_of("strict"))) == 1


def test_one_prediction_over_two_references() -> None:
    got = match(blind([(0, 4), (5, 9)]), blind([(0, 9)]), stages_of("partial"))
    assert (len(got), got.exact.sum(), got.shared.tolist()) == (1, 0, [4])


def test_two_spans_of_one_type() -> None:
    gold = side([(0, 4, 0), (10, 14, 0)])
    assert pairs(match(gold, gold, stages_of("strict_typed"))) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("codes", [(0, 1), (1, 0)])
def test_another_type_at_the_same_place_takes_nothing_away(codes: tuple[int, int]) -> None:
    x, y = codes
    predictions = side([(0, 2, y), (0, 2, x)])
    got = match(side([(0, 1, x)]), predictions, stages_of("typed_partial"))
    assert predictions.type is not None
    assert predictions.type[got.prediction].tolist() == [x]
    got = match(side([(0, 1, x)]), predictions, stages_of("confusion"))
    assert predictions.type[got.prediction].tolist() == [x]


@pytest.mark.parametrize(
    ("prediction", "least", "base", "made"),
    [
        ((0, 4), 0.5, "reference", 0),
        ((0, 4), 0.4, "reference", 1),
        ((0, 4), 0.5, "prediction", 1),
        ((0, 40), 0.5, "reference", 1),
        ((0, 40), 1.0, "reference", 1),
        ((0, 40), 0.5, "union", 0),
        ((0, 40), 0.25, "union", 1),
        ((0, 40), 0.25, "prediction", 1),
        ((0, 40), 0.26, "prediction", 0),
        ((9, 14), 0.1, "reference", 1),
        ((9, 14), 1 / 14, "union", 1),
        ((10, 14), 0.0, "reference", 0),
    ],
)
def test_least_share_of_each_base(prediction: tuple[int, int], least: float, base: str, made: int) -> None:
    assert len(match(blind([(0, 10)]), blind([prediction]), [Stage("overlap", "any", least, base)])) == made


def test_a_share_that_equals_the_threshold_is_enough() -> None:
    # 7 of 100 is 0.07 in doubles, while 0.07 times 100 is more than 7.
    assert 0.07 * 100 > 7
    assert len(match(blind([(0, 100)]), blind([(0, 7)]), [Stage("overlap", "any", 0.07)])) == 1


# Laws ------------------------------------------------------------------------------------------------------------

rows = st.lists(st.tuples(sets, sets), min_size=1, max_size=6)


def on_the_line(batch: list[tuple[list[Typed], list[Typed]]], stride: int = 11) -> list[Spans]:
    """Give each row a stretch of its own."""
    return [
        side([(a + i * stride, b + i * stride, c) for i, row in enumerate(batch) for a, b, c in row[which]])
        for which in (0, 1)
    ]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(batch=rows, measure=st.sampled_from(MEASURES), credit=st.sampled_from([0.5, 1.0]))
def test_a_batch_is_its_rows(way: str, batch: list, measure: str, credit: float) -> None:
    plan = stages_of(measure, overlap_credit=credit)
    with settled(way):
        whole = match(*on_the_line(batch), plan)
    at_r = at_p = 0
    wanted = []
    for references, predictions in batch:
        one = match(side(references), side(predictions), plan)
        wanted += [(r + at_r, p + at_p) for r, p in pairs(one)]
        at_r, at_p = at_r + len(references), at_p + len(predictions)
    assert pairs(whole) == wanted


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_one_shape_keep_their_own_pairs(way: str) -> None:
    straight = [(0, 6, 0), (1, 10, 0)], [(0, 2, 0), (5, 10, 0)]
    crossed = [(0, 9, 0), (1, 3, 0)], [(0, 2, 0), (1, 8, 0)]
    with settled(way):
        got = match(*on_the_line([straight, crossed, crossed, straight]), [ANY])
    assert got.prediction.tolist() == [0, 1, 3, 2, 5, 4, 6, 7]


@given(references=sets, predictions=sets, measure=st.sampled_from(MEASURES), data=st.data())
def test_input_order_does_not_matter(references: list, predictions: list, measure: str, data: st.DataObject) -> None:
    made = []
    for shuffled in (False, True):
        sides, given_ = [], []
        for spans_ in (references, predictions):
            spans_ = data.draw(st.permutations(spans_)) if shuffled else spans_
            array = np.array(spans_, dtype=np.int64).reshape(-1, 3)
            order = canonical_order(array[:, 0], array[:, 1], array[:, 2])
            sides.append(Spans(array[order, 0], array[order, 1], array[order, 2]))
            given_.append([spans_[i] for i in order])
        got = match(*sides, stages_of(measure))
        made.append([(given_[0][r], given_[1][p]) for r, p in pairs(got)])
    assert made[0] == made[1]


@given(references=sets, predictions=sets, stage=stages)
def test_exchanging_the_sides_keeps_the_totals(references: list, predictions: list, stage: Stage) -> None:
    base = {"reference": "prediction", "prediction": "reference", "union": "union"}[stage.base]
    there = match(side(references), side(predictions), [stage])
    back = match(side(predictions), side(references), [Stage("overlap", stage.types, stage.min_overlap, base)])
    assert (len(there), there.shared.sum()) == (len(back), back.shared.sum())


@given(references=sets, predictions=sets, measure=st.sampled_from(MEASURES[:2]))
def test_exchanging_the_sides_of_exact_pairs_exchanges_them(references: list, predictions: list, measure: str) -> None:
    there = match(side(references), side(predictions), stages_of(measure))
    back = match(side(predictions), side(references), stages_of(measure))
    assert pairs(there) == sorted((r, p) for p, r in pairs(back))


@given(references=sets, predictions=sets, stage=stages)
def test_mirroring_the_text_keeps_the_totals(references: list, predictions: list, stage: Stage) -> None:
    there = match(side(references), side(predictions), [stage])
    mirrored = [side([(20 - b, 20 - a, c) for a, b, c in spans_]) for spans_ in (references, predictions)]
    back = match(*mirrored, [stage])
    assert (len(there), there.shared.sum()) == (len(back), back.shared.sum())


@given(spans_=sets, measure=st.sampled_from(MEASURES), credit=st.sampled_from([0.5, 1.0]))
def test_a_set_matches_itself_whole(spans_: list, measure: str, credit: float) -> None:
    got = match(side(spans_), side(spans_), stages_of(measure, overlap_credit=credit))
    assert len(got) == len(spans_)
    if credit < 1:
        assert got.exact.all()


@given(references=sets, predictions=sets, measure=st.sampled_from(MEASURES), stretch=st.sampled_from([3, 2**44, 2**48]))
def test_far_and_long_spans_match_like_near_ones(
    references: list, predictions: list, measure: str, stretch: int
) -> None:
    # Stretched, the boundaries do not fit into one integer any more, nor the worth of a pair into a double.
    near = match(side(references), side(predictions), stages_of(measure))
    sides = [side([(a * stretch, b * stretch, c - 7) for a, b, c in x]) for x in (references, predictions)]
    for way in ("as it comes", "solver"):
        with settled(way):
            far = match(*sides, stages_of(measure))
        assert pairs(far) == pairs(near)
        assert far.shared.tolist() == [x * stretch for x in near.shared.tolist()]


def test_far_spans_in_one_place_keep_their_types() -> None:
    far = 2**45
    references, predictions = side([(far, 2 * far, 0), (far, 2 * far, 3)]), side([(far, 2 * far, 3), (far, 2 * far, 4)])
    assert pairs(match(references, predictions, stages_of("strict_typed"))) == [(1, 0)]
    assert pairs(match(references, predictions, stages_of("strict"))) == [(0, 0), (1, 1)]


def test_one_character_in_2_to_the_52_decides() -> None:
    # The tables add up in int64, far from its bound; doubles would lose the last digits of these sums.
    rng = np.random.default_rng(0)
    for _ in range(200):
        sides = []
        for _ in range(2):
            start, length = rng.integers(0, 3, 4), rng.integers(1, 4, 4)
            a, b = start * 2**50 + rng.integers(0, 3, 4), (start + length) * 2**50 + rng.integers(3, 6, 4)
            sides.append(blind(list(zip(a.tolist(), b.tolist(), strict=True))))
        near = match(*sides, [ANY])
        with settled("solver"):
            assert pairs(match(*sides, [ANY])) == pairs(near)


# Large rows ------------------------------------------------------------------------------------------------------


def crowd(n: int, text: int, longest: int, seed: int) -> Spans:
    """Return one row of n spans."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, text, n)
    end = start + rng.integers(1, longest + 1, n)
    order = canonical_order(start, end)
    return Spans(start[order], end[order])


def check_optimal(references: Spans, predictions: Spans) -> Matching:
    """Check one-to-one, the number of pairs and the shared total against scipy."""
    got = match(references, predictions, [ANY])
    shared = np.minimum(references.end[:, None], predictions.end) - np.maximum(
        references.start[:, None], predictions.start
    )
    assert len(np.unique(got.prediction)) == len(np.unique(got.reference)) == len(got)
    assert (got.shared == shared[got.reference, got.prediction]).all()
    assert (got.shared > 0).all()
    # One pair more weighs more than all characters that can be shared.
    bonus = len(references) * int(shared.max()) + 1
    worth = np.where(shared > 0, shared + bonus, 0).astype(np.float64)
    best = worth[linear_sum_assignment(worth, maximize=True)].sum()
    assert got.shared.sum() + len(got) * bonus == best
    return got


@pytest.mark.parametrize(("text", "longest"), [(300, 8), (2_000, 40), (10, 10)])
def test_hundreds_of_spans_in_a_row(text: int, longest: int) -> None:
    check_optimal(crowd(400, text, longest, 0), crowd(350, text, longest, 1))


def test_a_long_chain_of_ties() -> None:
    # Every pair shares five characters; each reference could have the prediction before or behind it. The first list
    # gives each the one before it where there is one more prediction, and the one behind it otherwise.
    at = np.arange(5_000) * 10
    behind = match(Spans(at, at + 10), Spans(at + 5, at + 15), [ANY])
    assert behind.prediction.tolist() == list(range(5_000))
    fewer = match(Spans(at, at + 10), Spans(at[:-1] + 5, at[:-1] + 15), [ANY])
    assert pairs(fewer) == [(i, i) for i in range(4_999)]
    before = match(Spans(at + 5, at + 15), Spans(at, at + 10), [ANY])
    assert before.prediction.tolist() == list(range(5_000))


def test_equal_spans_in_their_order() -> None:
    n = 300
    same = Spans(np.zeros(n, dtype=np.int64), np.full(n, 7))
    longer = Spans(np.zeros(n - 20, dtype=np.int64), np.full(n - 20, 9))
    assert pairs(match(same, longer, [ANY])) == [(i, i) for i in range(n - 20)]
    assert pairs(match(longer, same, [ANY])) == [(i, i) for i in range(n - 20)]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "longest"), [(30, 30), (10_000, 2_000), (200, 10)])
def test_thousands_of_spans_in_a_row(text: int, longest: int) -> None:
    check_optimal(crowd(2_000, text, longest, 0), crowd(2_000, text, longest, 1))


# Refusals --------------------------------------------------------------------------------------------------------


def test_nothing_to_match() -> None:
    empty = blind([])
    for sides in ((empty, empty), (empty, blind([(0, 3)])), (blind([(0, 3)]), empty)):
        for plan in (stages_of("partial"), stages_of("strict"), (ANY,), ()):
            got = match(*sides, plan)
            assert (len(got), got.partner_r.tolist(), got.partner_p.tolist()) == (
                0,
                [-1] * len(sides[0]),
                [-1] * len(sides[1]),
            )


def test_sides_out_of_order_are_refused() -> None:
    good = side([(0, 3, 0), (0, 3, 1)])
    for wrong in (
        Spans(np.array([4, 0]), np.array([5, 3]), np.array([0, 0])),
        Spans(np.array([0, 0]), np.array([5, 3]), np.array([0, 0])),
        Spans(np.array([0, 0]), np.array([3, 3]), np.array([1, 0])),
    ):
        with pytest.raises(ValueError, match="references: span 1 comes too late"):
            match(wrong, good, [ANY])
        with pytest.raises(ValueError, match="predictions: span 1 comes too late"):
            match(good, wrong, [ANY])
    # Later ends and types may fall where an earlier field has risen.
    match(side([(0, 9, 1), (1, 3, 0), (1, 4, 0)]), good, [ANY])


def test_other_refusals() -> None:
    good = blind([(0, 3)])
    with pytest.raises(ValueError, match="predictions: span 0 is empty"):
        match(good, Spans(np.array([3]), np.array([3])), [ANY])
    with pytest.raises(ValueError, match="references: start, end and type have 1, 2 values"):
        match(Spans(np.array([3]), np.array([4, 5])), good, [ANY])
    with pytest.raises(ValueError, match="stage 1 asks for the same type"):
        match(good, good, [ANY, Stage("overlap", "same")])
    for value in (50, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"min_overlap: .*between 0 and 1"):
            stages_of("partial", min_overlap=value)
    with pytest.raises(ValueError, match="base: 'gold', expected one of reference, union, prediction"):
        stages_of("partial", base="gold")
    with pytest.raises(ValueError, match="boundaries: 'near'"):
        Stage("near", "any")
    with pytest.raises(ValueError, match="types: 'other'"):
        Stage("exact", "other")
    with pytest.raises(ValueError, match="measure: 'exact', expected one of strict"):
        stages_of("exact")
