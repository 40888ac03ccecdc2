"""MUC counts against nervaluate where the two define the same, and the places where they differ on purpose."""

from __future__ import annotations

import random
from importlib.metadata import version
from typing import Any

import pytest

import mycelium
from mycelium.typed import evaluate_typed

nervaluate = pytest.importorskip("nervaluate")
if tuple(map(int, version("nervaluate").split(".")[:3])) < (1, 2, 1):
    pytest.skip("needs nervaluate 1.2.1, for Python 3.11", allow_module_level=True)

SCHEMES = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")
Rows = list[list[tuple[int, int, str]]]


def theirs(references: Rows, predictions: Rows, types: list[str]) -> dict[str, Any]:
    """Return nervaluate's result; its ends are inclusive."""
    sides = [
        [[{"label": label, "start": start, "end": end - 1} for start, end, label in row] for row in side]
        for side in (references, predictions)
    ]
    evaluator = nervaluate.Evaluator(*sides, tags=types, loader="dict")
    found: dict[str, Any] = evaluator.evaluate()
    return found


def ours(references: Rows, predictions: Rows, scheme: str) -> tuple[list[int], dict[str, float]]:
    key = f"muc_{scheme}"
    report = mycelium.evaluate(
        references=references, predictions=predictions, metrics=[key], average="micro", undefined=0.0
    )
    return report.statistics(key).sum(axis=0).tolist(), report[key]


def disjoint(rng: random.Random, types: str) -> Rows:
    """Rows whose spans lie in cells of ten characters, at most one in each: no span meets two."""
    return [
        [
            (10 * cell + (left := rng.randint(0, 3)), 10 * cell + left + rng.randint(2, 4), rng.choice(types))
            for cell in range(6)
            if rng.random() < 0.6
        ]
        for _ in range(12)
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("types", ["A", "ABC"])
def test_disjoint_spans_have_the_same_counts(seed: int, types: str) -> None:
    rng = random.Random(seed)
    references, predictions = disjoint(rng, types), disjoint(rng, types)
    found = theirs(references, predictions, [*types])["overall"]
    for scheme, name in SCHEMES.items():
        counts, scores = ours(references, predictions, scheme)
        assert counts == [getattr(found[name], count) for count in COUNTS]
        assert counts[3] > 0
        assert counts[4] > 0
        for output, value in scores.items():
            assert value == pytest.approx(getattr(found[name], output), rel=1e-14)
    report = evaluate_typed(references=references, predictions=predictions)
    partial = report["partial"]
    assert [partial["correct"], partial["partial"]] == [found["partial"].correct, found["partial"].partial]
    assert partial["f1"] == pytest.approx(found["partial"].f1, rel=1e-14)
    assert report["strict_typed"]["f1"] == pytest.approx(found["strict"].f1, rel=1e-14)
    assert report["strict"]["f1"] == pytest.approx(found["exact"].f1, rel=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_disjoint_spans_have_the_same_scores_by_type(seed: int) -> None:
    rng = random.Random(100 + seed)
    references, predictions = disjoint(rng, "ABC"), disjoint(rng, "ABC")
    found = theirs(references, predictions, [*"ABC"])["entities"]
    report = evaluate_typed(references=references, predictions=predictions)
    for name, leaf in report["by_type"].items():
        of = found[name]["partial"]
        wanted = [of.correct, of.partial, of.missed, of.spurious]
        assert [leaf[key] for key in ("correct", "partial", "missed", "spurious")] == wanted
        assert leaf["f1"] == pytest.approx(of.f1, rel=1e-14)


def test_the_order_of_predictions_changes_theirs_and_not_ours() -> None:
    references, predictions = [[(0, 4, "A"), (5, 9, "A")]], [[(0, 9, "A"), (0, 4, "A")]]
    both = [predictions, [predictions[0][::-1]]]
    assert [theirs(references, each, ["A"])["overall"]["partial"].f1 for each in both] == [0.25, 0.75]
    assert [evaluate_typed(references=references, predictions=each)["partial"]["f1"] for each in both] == [0.75, 0.75]


def test_partners_are_taken_in_turn_there_and_as_many_as_possible_here() -> None:
    references, predictions = [[(0, 4, "A"), (5, 9, "A")]], [[(0, 9, "A"), (0, 3, "A")]]
    found = theirs(references, predictions, ["A"])["overall"]["partial"]
    assert (found.partial, found.missed, found.spurious) == (1, 1, 1)
    leaf = evaluate_typed(references=references, predictions=predictions)["partial"]
    assert (leaf["partial"], leaf["missed"], leaf["spurious"]) == (2, 0, 0)


def test_an_overlap_below_one_per_cent_counts_here() -> None:
    references, predictions = [[(0, 200, "A")]], [[(199, 300, "A")]]
    assert theirs(references, predictions, ["A"])["overall"]["partial"].partial == 0
    assert evaluate_typed(references=references, predictions=predictions)["partial"]["partial"] == 1
    assert evaluate_typed(references=references, predictions=predictions, min_overlap=0.01)["partial"]["partial"] == 0


def test_nothing_to_find_and_nothing_found() -> None:
    assert theirs([[]], [[]], ["A"])["overall"]["partial"].f1 == 0
    assert evaluate_typed(references=[[]], predictions=[[]])["partial"]["f1"] == 1.0


def test_unknown_types_vanish_there_and_raise_here() -> None:
    references, predictions = [[(0, 4, "A")]], [[(0, 4, "A"), (6, 9, "B")]]
    assert theirs(references, predictions, ["A"])["overall"]["partial"].f1 == 1.0
    with pytest.raises(ValueError, match="unknown types"):
        evaluate_typed(references=references, predictions=predictions, types=["A"])
    assert evaluate_typed(references=references, predictions=predictions)["partial"]["precision"] == 0.5


def test_a_type_scheme_with_as_many_right_types_as_possible() -> None:
    """Their type scheme gives the reference to the first prediction, whatever its type."""
    references, predictions = [[(0, 1, "x")]], [[(0, 2, "y"), (0, 2, "x")]]
    assert theirs(references, predictions, ["x", "y"])["overall"]["ent_type"].correct == 0
    assert ours(references, predictions, "type")[0] == [1, 0, 0, 0, 1]


def test_wrong_types_by_type() -> None:
    """There a wrong type is incorrect in the whole; by type it is a miss and a false alarm on both sides."""
    references, predictions = [[(0, 5, "C")]], [[(0, 5, "B")]]
    by_type = theirs(references, predictions, ["B", "C"])["entities"]
    assert (by_type["C"]["partial"].missed, by_type["B"]["partial"].spurious) == (1, 1)
    report = evaluate_typed(references=references, predictions=predictions)
    assert (report["by_type"]["C"]["missed"], report["by_type"]["B"]["spurious"]) == (1, 1)
    assert ours(references, predictions, "strict")[0] == [0, 1, 0, 0, 0]
    assert report["confusion"]["matrix"] == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
