"""Equal numbers of annotators: the average over subsets, against studies of each subset."""

from __future__ import annotations

import math
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium.annotators import as_annotations, equal_numbers, study, study_intervals, subsets
from mycelium.corpora import load_mushroom
from mycelium.metrics import get


def some_rows(sizes: list[int], seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {f"a{k}": [[int(s), int(s) + int(n)] for s, n in rng.integers(1, 9, (rng.integers(0, 3), 2))] for k in who}
        for who in (rng.permutation(8)[:size] for size in sizes)
    ]


ROWS = some_rows([3, 5, 2, 4, 6, 4], 8)
PARTS = [[dict(chosen) for chosen in combinations(row.items(), 3)] for row in ROWS]


def test_every_subset_stands_once_in_the_order_given() -> None:
    parts, item = equal_numbers(as_annotations(ROWS), 3)
    assert item.tolist() == [i for i, some in enumerate(PARTS) for _ in some]
    expected = as_annotations([part for some in PARTS for part in some])
    assert parts.marks.tolist() == expected.marks.tolist()
    assert parts.counts.tolist() == [3] * len(item)
    names = [parts.names[k] for k in parts.annotator]
    assert names == [expected.names[k] for k in expected.annotator]


def test_macro_averages_over_the_subsets_of_each_item() -> None:
    found = study(ROWS, n_annotators=3)
    assert (len(found.weights), found.skipped) == (5, 1)
    numbers = found.to_dict()
    for family in ("loo_majority", "loo_union", "one_char"):
        for key in ("iou", "deteval_1d"):
            each = [[study([part]).to_dict()["macro_f1"][family][key] for part in some] for some in PARTS if some]
            expected = math.fsum(math.fsum(own) / len(own) for own in each) / len(each)
            assert numbers["macro_f1"][family][key] == pytest.approx(expected, abs=1e-12)
    assert numbers["comparisons"]["loo_union"] == 3 * sum(map(len, PARTS))


def test_micro_and_pairs_weigh_an_item_once_however_many_subsets_it_has() -> None:
    numbers = study(ROWS, n_annotators=3).to_dict()
    total, nested, eligible = np.zeros(2), 0.0, 0.0
    for some in PARTS:
        for part in some:
            own = study([part], metrics=["iou"])
            total += own.families["loo_majority"].statistics[0].sum(axis=0) / len(some)
            nested += own.to_dict()["boundary_nested"]["nested"] / len(some)
            eligible += own.to_dict()["boundary_nested"]["eligible"] / len(some)
    expected = float(get("iou").value(total, 1.0)[0])
    assert numbers["micro_f1"]["majority"]["iou"] == pytest.approx(expected, abs=1e-12)
    assert numbers["boundary_nested"]["share"] == pytest.approx(nested / eligible, abs=1e-12)


def test_three_of_three_is_the_study_itself() -> None:
    rows = some_rows([3] * 6, 9)
    assert study(rows, n_annotators=3).to_dict() == study(rows).to_dict()


def test_random_subsets_are_seeded_and_of_the_item() -> None:
    notes = as_annotations(ROWS)
    parts, item = equal_numbers(notes, 3, 7, 1)
    # Four annotators have four subsets, which are all taken; five have ten, six twenty.
    assert np.bincount(item, minlength=6).tolist() == [1, 7, 0, 4, 7, 4]
    for at, mark in zip(np.repeat(item, 3).tolist(), parts.annotator.tolist(), strict=True):
        assert notes.names[mark] in ROWS[at]
    order = {name: place for row in ROWS[1:2] for place, name in enumerate(row)}
    for begin, end in zip(parts.offsets[:-1][item == 1], parts.offsets[1:][item == 1], strict=True):
        places = [order[notes.names[k]] for k in parts.annotator[begin:end]]
        assert places == sorted(set(places))
    # As many as there are: all of them, without repeats.
    assert equal_numbers(notes[1:2], 3, 10)[0].marks.equals(equal_numbers(notes[1:2], 3)[0].marks)
    again, other = equal_numbers(notes, 3, 7, 1)[0], equal_numbers(notes, 3, 7, 2)[0]
    assert again.annotator.tolist() == parts.annotator.tolist() != other.annotator.tolist()


def test_random_subsets_are_equally_likely() -> None:
    """Of the ten subsets of five annotators each comes up a tenth of the time: 5 standard deviations are allowed."""
    parts, _ = equal_numbers(as_annotations([{f"a{k}": [] for k in range(5)}]), 3, 9, 0)
    assert len(parts) == 9
    draws = np.concatenate(
        [equal_numbers(as_annotations([{f"a{k}": [] for k in range(5)}]), 3, 9, s)[0].annotator for s in range(300)]
    ).reshape(-1, 3)
    _, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts - 270).max() < 5 * math.sqrt(2700 * 0.1 * 0.9)


def test_intervals_resample_items_not_subsets() -> None:
    rows = some_rows([4] * 32, 10)
    got = study_intervals(study(rows, n_annotators=3), n_resamples=20, seed=3)
    drawn = np.random.default_rng(3).integers(0, 32, (20, 32)).tolist()
    each = [study([rows[i] for i in row], n_annotators=3).to_dict() for row in drawn]
    for family, path in (("macro_f1", "loo_majority"), ("micro_f1", "union")):
        expected = np.percentile([one[family][path]["iou"] for one in each], [2.5, 97.5]).tolist()
        assert got.intervals[family][path]["iou"] == pytest.approx(expected, abs=1e-12)
    assert got.meta["items"] == 32


def test_draws_of_annotators_weigh_subsets_as_the_scores_do() -> None:
    """Micro: each comparison counts as often as its item and its held-out annotator were drawn, over the subsets."""
    rows = [{f"b{(i + k) % 11}": [[k, k + 3 + i % 4]] for k in range(3 + i % 3)} for i in range(33)]
    found = study(rows, n_annotators=3, metrics=["iou"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = study_intervals(found, n_resamples=20, seed=4, resample="items_annotators")
    rng = np.random.default_rng(4)
    names = [found.annotations.names[k] for k in np.unique(found.annotations.annotator)]
    by_annotator, by_item = rng.integers(0, len(names), (20, len(names))), rng.integers(0, 33, (20, 33))
    family = found.families["loo_union"]
    values = []
    for annotators, items in zip(by_annotator.tolist(), by_item.tolist(), strict=True):
        both = either = 0.0
        for j, (shared, union) in enumerate(family.statistics[0].tolist()):
            i, who = int(family.item[j]), found.annotations.names[found.annotations.annotator[j]]
            weight = items.count(i) * annotators.count(names.index(who)) / math.comb(len(rows[i]), 3)
            both, either = both + weight * shared, either + weight * union
        values.append(both / either)
    expected = np.percentile(values, [2.5, 97.5]).tolist()
    assert got.intervals["micro_f1"]["union"]["iou"] == pytest.approx(expected, abs=1e-12)


def test_what_cannot_be_cut_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="none of the 6 rows has 7 annotators"):
        study(ROWS, n_annotators=7)
    for options, error, message in (
        ({"n_annotators": 1}, ValueError, "n_annotators must be at least 2"),
        ({"n_annotators": 2.5}, TypeError, "n_annotators must be an integer"),
        ({"n_annotators": 3, "subsets": 0}, ValueError, "subsets must be at least 1"),
        ({"n_annotators": 3, "subsets": "some"}, TypeError, "subsets must be 'all' or an integer"),
    ):
        with pytest.raises(error, match=message):
            study(ROWS, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(subsets, "MOST_SUBSETS", 19)
    with pytest.raises(ValueError, match="an item with 6 annotators has 20 subsets of 3"):
        study(ROWS, n_annotators=3)


@pytest.mark.corpora
def test_three_annotators_reverse_the_direction_of_iou_in_english(corpora: Path) -> None:
    corpus = load_mushroom(corpora / "mu_shroom", "en")
    whole, cut = (study(corpus, metrics=["iou"], **kw).to_dict()["macro_f1"] for kw in ({}, {"n_annotators": 3}))
    assert whole["loo_majority"]["iou"] > whole["loo_union"]["iou"] + 0.09
    assert cut["loo_majority"]["iou"] < cut["loo_union"]["iou"] - 0.06
    few = study(corpus, metrics=["iou"], n_annotators=3, subsets=20).to_dict()["macro_f1"]
    assert few["loo_majority"]["iou"] == pytest.approx(cut["loo_majority"]["iou"], abs=0.01)
