"""Intervals of the study: the study of resampled items, and loops over draws of items and annotators."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium.annotators import study, study_intervals, uncertainty
from mycelium.annotators.study import Study
from mycelium.corpora import load_mushroom

B = 60


def some_rows(items: int = 35, annotators: int = 12, seed: int = 3) -> list[dict[str, Any]]:
    """Return items that two to six of the annotators saw."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(items):
        who = rng.permutation(annotators)[: rng.integers(2, 7)]
        marks = [[[int(s), int(s) + int(n)] for s, n in rng.integers(1, 12, (rng.integers(0, 3), 2))] for _ in who]
        rows.append({f"annotator {k}": spans for k, spans in zip(who, marks, strict=True)})
    return rows


ROWS = some_rows()


@pytest.fixture(scope="module")
def found() -> Study:
    return study(ROWS)


def test_replicates_are_studies_of_the_items_drawn(found: Study) -> None:
    got = study_intervals(found, n_resamples=B, seed=7, level=0.9)
    drawn = np.random.default_rng(7).integers(0, len(ROWS), (B, len(ROWS)))
    numbers = [study([ROWS[i] for i in row]).to_dict() for row in drawn.tolist()]
    paths = [("one_char_mean_share_of_reference_characters",), ("boundary_nested", "share")]
    paths += [("macro_f1", family, "iou") for family in ("loo_majority", "loo_union", "partial_overlap", "one_char")]
    paths += [("micro_f1", family, metric) for family in ("union", "majority") for metric in ("iou", "deteval_1d")]
    for path in paths:
        values, bounds = [], got.intervals
        for number in numbers:
            value: Any = number
            for key in path:
                value = value[key]
            values.append(value)
        for key in path:
            bounds = bounds[key]
        assert bounds == pytest.approx(np.percentile(values, [5, 95]).tolist(), abs=1e-12), path


def test_draws_of_both_weigh_each_comparison_by_their_product(found: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertainty, "WEIGHTS_AT_ONCE", 100)
    with warnings.catch_warnings():
        # Some draws may hold none of the few disjoint comparisons.
        warnings.simplefilter("ignore")
        got = study_intervals(found, n_resamples=B, seed=5, resample="items_annotators")
    rng = np.random.default_rng(5)
    names = found.annotations.names
    by_annotator = rng.integers(0, len(names), (B, len(names)))
    by_item = rng.integers(0, len(ROWS), (B, len(ROWS)))
    family = found.families["loo_majority"]
    comparisons = [(i, names.index(who)) for i, row in enumerate(ROWS) for who in row]
    iou = family.values[:, [m.key for m in family.metrics].index("iou")].tolist()
    counts = family.statistics[[m.key for m in family.metrics].index("iou")].tolist()
    macro, micro = [], []
    for r in range(B):
        annotator, item = Counter(by_annotator[r].tolist()), Counter(by_item[r].tolist())
        above = below = shared = either = 0.0
        for i in range(len(ROWS)):
            own = [(annotator[who], value) for (at, who), value in zip(comparisons, iou, strict=True) if at == i]
            weight = sum(w for w, _ in own)
            if weight:
                above += item[i] * sum(w * value for w, value in own) / weight
                below += item[i]
        for (at, who), (both, union) in zip(comparisons, counts, strict=True):
            shared += item[at] * annotator[who] * both
            either += item[at] * annotator[who] * union
        macro.append(above / below)
        micro.append(shared / either)
    assert got.intervals["macro_f1"]["loo_majority"]["iou"] == pytest.approx(np.percentile(macro, [2.5, 97.5]).tolist())
    assert got.intervals["micro_f1"]["majority"]["iou"] == pytest.approx(np.percentile(micro, [2.5, 97.5]).tolist())
    assert got.intervals["macro_f1"]["one_char"]["iou"] is None
    assert "nobody is held out" in got.meta["notes"]["macro_f1.one_char"]
    assert "other annotators" in got.meta["condition"]


def test_numbers_are_in_the_order_of_names_not_of_appearance(found: Study) -> None:
    """Which annotator is which makes no difference to a draw of items."""
    again = study([dict(reversed(row.items())) for row in ROWS])
    a, b = (study_intervals(one, n_resamples=B).intervals["macro_f1"]["loo_union"] for one in (found, again))
    for key in a:
        assert a[key] == pytest.approx(b[key], abs=1e-12)


def test_differences_come_from_the_same_draws(found: Study) -> None:
    got = study_intervals(found, n_resamples=B, seed=7, level=0.9)
    drawn = np.random.default_rng(7).integers(0, len(ROWS), (B, len(ROWS)))
    numbers = [study([ROWS[i] for i in row]).to_dict() for row in drawn.tolist()]
    for metric in ("iou", "span_coverage"):
        macro = [one["macro_f1"]["loo_union"][metric] - one["macro_f1"]["loo_majority"][metric] for one in numbers]
        micro = [one["micro_f1"]["union"][metric] - one["micro_f1"]["majority"][metric] for one in numbers]
        for average, values in (("macro_f1", macro), ("micro_f1", micro)):
            assert got.differences[average][metric] == pytest.approx(np.percentile(values, [5, 95]).tolist(), abs=1e-12)
    assert got.to_dict() == {**got.intervals, "meta": {**got.meta, "differences": got.differences}}


def test_differences_by_bca_are_those_of_scipy(found: Study) -> None:
    """A difference of macro averages is the mean of the items' own differences."""
    stats = pytest.importorskip("scipy.stats")
    own = []
    for row in ROWS:
        macro = study([row], metrics=["iou"]).to_dict()["macro_f1"]
        own.append(macro["loo_union"]["iou"] - macro["loo_majority"]["iou"])
    expected = stats.bootstrap(
        (own,), np.mean, n_resamples=200, method="BCa", rng=np.random.default_rng(2), vectorized=True, axis=-1
    ).confidence_interval
    got = study_intervals(found, n_resamples=200, seed=2, method="bca").differences["macro_f1"]["iou"]
    assert got == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_meta_says_how(found: Study) -> None:
    meta = study_intervals(found, n_resamples=B, level=0.8, method="bca").meta
    assert (meta["level"], meta["method"], meta["n_resamples"], meta["seed"]) == (0.8, "bca", B, 0)
    assert (meta["resample"], meta["items"], meta["annotators"]) == ("items", 35, 12)
    assert "these same annotators" in meta["condition"]
    assert study_intervals(found, n_resamples=B, seed=np.random.default_rng(0)).meta["seed"] is None


def test_what_no_item_has_gets_no_interval() -> None:
    same = study([{"a": [[0, 4]], "b": [[0, 4]]}] * 30)
    got = study_intervals(same, n_resamples=B)
    assert got.intervals["macro_f1"]["disjoint"]["iou"] is None
    assert got.intervals["macro_f1"]["loo_union"]["iou"] == [1.0, 1.0]
    assert got.intervals["boundary_nested"]["share"] is None


def test_replicates_without_a_comparison_are_discarded_and_counted() -> None:
    rows = [{"a": [[0, 4]], "b": [[0, 4]]}] * 39 + [{"a": [[0, 4]], "b": [[6, 8]]}]
    with pytest.warns(UserWarning, match="macro_f1.disjoint"):
        got = study_intervals(study(rows), n_resamples=B, seed=1)
    drawn = np.random.default_rng(1).integers(0, 40, (B, 40))
    assert got.meta["discarded"]["macro_f1.disjoint"] == int((drawn != 39).all(axis=1).sum()) > 0
    assert got.intervals["macro_f1"]["disjoint"]["iou"] == [0.0, 0.0]


def test_few_items_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="29 items are likely too narrow"):
        study_intervals(study([{"a": [[0, 4]], "b": [[0, 2]]}] * 29), n_resamples=B)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": "annotators"}, "resample must be one of"),
        ({"method": "normal"}, "method must be one of"),
        ({"level": 1.0}, "level"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"resample": "items_annotators", "method": "bca"}, "bca"),
    ],
)
def test_unknown_options_are_refused(found: Study, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study_intervals(found, **options)


def test_fewer_than_ten_annotators_cannot_be_drawn() -> None:
    few = study([{f"a{k}": [[0, k]] for k in range(1, 10)}] * 30)
    with pytest.raises(ValueError, match="at least 10 distinct annotators, there are 9"):
        study_intervals(few, resample="items_annotators")
    ten = study([{f"a{k}": [[0, k]] for k in range(1, 11)}] * 30)
    study_intervals(ten, resample="items_annotators", n_resamples=B)


@pytest.mark.corpora
def test_other_annotators_widen_the_published_intervals(corpora: Path) -> None:
    found = study(load_mushroom(corpora / "mu_shroom", "en"))
    width = {}
    for resample in uncertainty.RESAMPLE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            low, high = study_intervals(found, resample=resample).intervals["macro_f1"]["loo_majority"]["span_coverage"]
        width[resample] = high - low
    # What was announced of these two, .064 and .112, is one draw of 2,000 replicates: chance leaves a few percent.
    assert width["items"] == pytest.approx(0.064, rel=0.07)
    assert width["items_annotators"] == pytest.approx(0.112, rel=0.07)
