"""The study of annotators: loops over items, annotators and characters, and the published table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import annotator_oracle
import numpy as np
import oracle
import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mycelium.annotators import as_annotations, comparisons, study
from mycelium.corpora import load_mushroom
from mycelium.metrics import DEFAULT

span = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
items = st.lists(st.lists(st.lists(span, max_size=3), min_size=2, max_size=5), min_size=1, max_size=5)

#: The relation, of the held-out annotator to the union of the others, behind each subset.
SUBSETS = {"nested_boundary": "pred_nested", "partial_overlap": "partial", "disjoint": "disjoint"}


def primary(metric: str, scores: dict[str, float]) -> float:
    return scores["score"] if metric == "iou" else scores["f1"]


def merged(spans: Any) -> list[list[int]]:
    return annotator_oracle.connected(annotator_oracle.characters(spans))


def by_hand(rows: list[Any]) -> dict[str, Any]:
    """Return the study of rows with at least two annotators each, by loops."""
    pairs: dict[str, list[list[tuple[Any, Any]]]] = {
        name: [] for name in ("loo_majority", "loo_union", *SUBSETS, "one_char")
    }
    shares = []
    for item in rows:
        for sides in pairs.values():
            sides.append([])
        for h, spans in enumerate(item):
            others = item[:h] + item[h + 1 :]
            mark = merged(spans)
            pairs["loo_majority"][-1].append((annotator_oracle.consensus(others, "majority"), mark))
            union = annotator_oracle.consensus(others, "union")
            pairs["loo_union"][-1].append((union, mark))
            for name, kind in SUBSETS.items():
                if annotator_oracle.relation(mark, union) == kind:
                    pairs[name][-1].append((union, mark))
        reference = annotator_oracle.consensus(item, "union")
        kept = [[(start + end - 1) // 2, (start + end - 1) // 2 + 1] for start, end in reference]
        pairs["one_char"][-1].append((reference, kept))
        if reference:
            shares.append(len(kept) / len(annotator_oracle.characters(reference)))
    kinds = [
        annotator_oracle.relation(item[i], item[j])
        for item in rows
        for i in range(len(item))
        for j in range(i + 1, len(item))
    ]
    macro: dict[str, dict[str, float | None]] = {}
    for name, by_item in pairs.items():
        macro[name] = {}
        for metric in DEFAULT:
            means = [
                math.fsum(primary(metric, oracle.example(metric, r, p, 1.0)) for r, p in sides) / len(sides)
                for sides in by_item
                if sides
            ]
            macro[name][metric] = math.fsum(means) / len(means) if means else None
    micro = {
        share: {
            metric: primary(
                metric,
                oracle.micro(
                    metric,
                    [r for sides in pairs[f"loo_{share}"] for r, _ in sides],
                    [p for sides in pairs[f"loo_{share}"] for _, p in sides],
                    1.0,
                ),
            )
            for metric in DEFAULT
        }
        for share in ("union", "majority")
    }
    nested = sum(kind in ("pred_nested", "gold_nested") for kind in kinds)
    eligible = sum(kind not in ("both_empty", "one_empty", "exact") for kind in kinds)
    names = ("both_empty", "one_empty", "exact", "pred_nested", "gold_nested", "pred_inside_other",
             "gold_inside_other", "partial", "disjoint")  # fmt: skip
    return {
        "comparisons": {name: sum(map(len, by_item)) for name, by_item in pairs.items()},
        "one_char_mean_share_of_reference_characters": math.fsum(shares) / len(shares) if shares else None,
        "pairwise_relations": {name: kinds.count(name) for name in names},
        "boundary_nested": {
            "nested": nested, "eligible": eligible, "share": nested / eligible if eligible else None
        },
        "macro_f1": macro,
        "micro_f1": micro,
    }  # fmt: skip


def assert_close(got: Any, expected: Any, tolerance: float, path: str = "") -> None:
    if isinstance(expected, dict):
        assert set(got) == set(expected), path
        for key, value in expected.items():
            assert_close(got[key], value, tolerance, f"{path}.{key}")
    elif expected is None or isinstance(expected, int):
        assert got == expected, path
        assert type(got) is type(expected), path
    else:
        assert type(got) is float, path
        assert got == pytest.approx(expected, abs=tolerance), path


@given(rows=items)
@hypothesis_settings(max_examples=60)
def test_the_study_is_what_loops_find(rows: list[Any]) -> None:
    assert_close(study(rows).to_dict(), by_hand(rows), 1e-12)


def test_a_study_by_hand() -> None:
    """Three annotators of one item: [0, 4), [0, 8) and nothing.

    Others of a: majority is more than half of (b, c), nobody; union [0, 8): IoU 4/8. Others of b: majority nothing,
    union [0, 4): 4/8. Others of c: majority [0, 4), union [0, 8): 0. So the union's mean is 1/3, and under the
    majority all three are 0. The one character kept of [0, 8) is [3, 4).
    """
    found = study([{"a": [[0, 4]], "b": [[0, 8]], "c": []}])
    numbers = found.to_dict()
    assert numbers["macro_f1"]["loo_union"]["iou"] == pytest.approx(1 / 3)
    assert numbers["macro_f1"]["loo_majority"]["iou"] == 0
    assert numbers["macro_f1"]["nested_boundary"]["iou"] == 0.5
    assert numbers["macro_f1"]["disjoint"]["iou"] is None
    assert numbers["one_char_mean_share_of_reference_characters"] == 1 / 8
    assert numbers["boundary_nested"] == {"nested": 1, "eligible": 1, "share": 1.0}
    # 4 + 4 + 0 shared characters of 8 + 8 + 8.
    assert numbers["micro_f1"]["union"]["iou"] == pytest.approx(1 / 3)
    assert found.items["nested_boundary"] == 1
    assert found.items["disjoint"] == 0
    middles = comparisons.middles(found.families["one_char"].references)
    assert middles.tolist() == [[[3, 4]]]


def test_an_item_weighs_the_same_however_many_annotators_it_has() -> None:
    two = {"a": [[0, 4]], "b": [[0, 4]]}
    five = {name: [[2 * i, 2 * i + 1]] for i, name in enumerate("abcde")}
    # Every annotator of the first agrees with the other; of the second none does.
    assert study([two, five]).to_dict()["macro_f1"]["loo_union"]["iou"] == 0.5
    assert study([two, five]).to_dict()["micro_f1"]["union"]["iou"] < 0.5


def test_subsets_average_over_the_items_present_in_them() -> None:
    nested = {"a": [[1, 3]], "b": [[0, 4]]}
    same = {"a": [[0, 4]], "b": [[0, 4]]}
    found = study([nested, same, same])
    assert found.items["nested_boundary"] == 1
    assert found.to_dict()["macro_f1"]["nested_boundary"]["iou"] == 0.5


def test_items_without_two_annotators_are_left_out_and_counted() -> None:
    rows = [{"a": [[0, 4]], "b": [[0, 2]]}, {"a": [[0, 9]]}, None, {"a": [], "b": []}]
    found = study(rows)
    assert found.skipped == 2
    assert found.to_dict() == study([rows[0], rows[3]]).to_dict()
    with pytest.raises(ValueError, match="none of the 2 rows has two annotators"):
        study(rows[1:3])


def test_an_undefined_side_is_one_for_every_metric() -> None:
    """Nobody marks anything: nothing is claimed wrongly, nothing missed, under ``character`` too."""
    numbers = study([[[], []]]).to_dict()
    assert set(numbers["macro_f1"]["loo_union"].values()) == {1.0}
    assert set(numbers["micro_f1"]["majority"].values()) == {1.0}
    assert numbers["boundary_nested"]["share"] is None


def test_who_marks_in_pieces_is_merged_first() -> None:
    whole, pieces = [[0, 6]], [[3, 6], [0, 2], [1, 3]]
    assert study([[whole, [[0, 6]]]]).to_dict() == study([[pieces, [[0, 6]]]]).to_dict()


def test_totals_over_items_do_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(2)
    rows = [[[[int(s), int(s) + int(n)]] for s, n in rng.integers(1, 9, (4, 2))] for _ in range(50)]
    assert study(rows).to_dict() == study(rows[::-1]).to_dict()


def test_metrics_can_be_chosen() -> None:
    assert list(study([[[[0, 4]], [[0, 2]]]], metrics=["iou"]).to_dict()["micro_f1"]["union"]) == ["iou"]


@pytest.mark.corpora
def test_the_published_table_comes_out(corpora: Path) -> None:
    """Every value of table 1, to six digits, and the counts."""
    published = json.loads((DATA / "mu_shroom_table1.json").read_text(encoding="utf-8"))
    digits = published.pop("published_3_digits")
    published.pop("source")
    assert published.pop("boundary_nested").startswith("1403 of 6280 pairs")
    found = study(load_mushroom(corpora / "mu_shroom" / "test" / "mushroom.en-tst.v1.extra.jsonl"))
    numbers = found.to_dict()
    assert numbers.pop("boundary_nested") == {"nested": 1403, "eligible": 6280, "share": 1403 / 6280}
    assert_close(numbers, published, 5.0e-7)
    for family, values in digits.items():
        assert {key: round(numbers["macro_f1"][family][key], 3) for key in values} == values
    assert (len(found.annotations), found.skipped) == (154, 0)


@pytest.mark.corpora
def test_every_language_has_a_study(corpora: Path) -> None:
    notes = as_annotations(load_mushroom(corpora / "mu_shroom"))
    found = study(notes)
    assert found.skipped == 0
    assert found.comparisons["loo_union"] == len(notes.marks)
