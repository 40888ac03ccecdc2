"""docs/annotators.md: what it says of the published corpora is what comes out of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from mycelium import as_spans
from mycelium.annotators import (
    Study,
    StudyIntervals,
    as_annotations,
    human_level,
    human_levels_table,
    studies_table,
    study,
    study_intervals,
)
from mycelium.corpora import Corpus, load_mushroom
from mycelium.corpora.mushroom import LANGUAGES
from mycelium.formats.files import read_jsonl

DOCUMENT = Path(__file__).parent.parent / "docs" / "annotators.md"
RUNS = {"ar": "ar-new", "ca": "ca-new", "de": "de", "en": "en-new", "es": "es2", "fi": "fi", "it": "it-new"}
NAMES = {
    "ar": "Arabic", "ca": "Catalan", "cs": "Czech", "de": "German", "en": "English", "es": "Spanish", "fa": "Farsi",
    "fi": "Finnish", "hi": "Hindi", "it": "Italian", "sv": "Swedish", "zh": "Chinese",
}  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(corpora: Path) -> dict[str, Corpus]:
    return {name: load_mushroom(corpora / "mu_shroom", name) for name in LANGUAGES}


@pytest.fixture(scope="module")
def own(read: dict[str, Corpus]) -> dict[str, Study]:
    return {name: study(corpus) for name, corpus in read.items()}


@pytest.fixture(scope="module")
def equal(read: dict[str, Corpus]) -> dict[str, Study]:
    return {name: study(corpus, n_annotators=3) for name, corpus in read.items()}


def bounds(found: Study, **options: Any) -> StudyIntervals:
    with warnings.catch_warnings():
        # Few items have disjoint comparisons, which nobody asks for here.
        warnings.simplefilter("ignore")
        return study_intervals(found, **options)


def body(table: str, rows: int) -> str:
    return "\n".join(table.split("\n")[: rows + 1])


def change(found: Study, key: str, average: str = "macro_f1", prefix: str = "loo_") -> float:
    numbers = found.to_dict()[average]
    return float(numbers[f"{prefix}union"][key] - numbers[f"{prefix}majority"][key])


@pytest.mark.corpora
def test_tables(text: str, own: dict[str, Study], equal: dict[str, Study]) -> None:
    assert body(own["en"].to_table(intervals=bounds(own["en"])), 8) in text
    for found in (own, equal):
        assert body(studies_table({name.upper(): one for name, one in found.items()}), 14) in text


@pytest.mark.corpora
def test_what_is_said_of_directions(text: str, own: dict[str, Study], equal: dict[str, Study]) -> None:
    one_line = " ".join(text.split())
    for found in (own, equal):
        assert all(change(one, "exact_span") < 0 < change(one, "span_coverage") for one in found.values())
    falls, rises, unsure = [], [], []
    for name, one in own.items():
        intervals = bounds(one).differences["macro_f1"]
        assert intervals["span_coverage"][0] > 0
        low, high = intervals["iou"]
        (falls if high < 0 else rises if low > 0 else []).append(name)
        if intervals["exact_span"][1] >= 0:
            unsure.append(name)
    assert unsure == ["ca", "it"]
    assert "In Catalan and Italian the 95% interval of the change holds 0" in one_line
    six = [name for name, one in own.items() if change(one, "iou") < 0]
    assert f"it falls in six ({', '.join(NAMES[name] for name in six)})" in (one_line)
    assert ([NAMES[name] for name in falls], [NAMES[name] for name in rises]) == (
        ["English", "Spanish", "Farsi"],
        ["German", "Finnish", "Italian", "Swedish", "Chinese"],
    )
    assert "it falls in English, Spanish and Farsi, and rises in German, Finnish, Italian, Swedish and Chinese" in (
        one_line
    )
    four = [name for name, one in equal.items() if change(one, "iou") < 0]
    assert [name for name in four if bounds(equal[name]).differences["macro_f1"]["iou"][1] < 0] == ["fa"]
    assert len(four) == 4
    for name in ("en", "es"):
        a, b = (found[name].to_dict()["macro_f1"] for found in (own, equal))
        for numbers in (a, b):
            assert f"{numbers['loo_majority']['iou']:.3f} to {numbers['loo_union']['iou']:.3f}" in one_line
    for key, sign in (("iou", 1), ("exact_span", -1), ("span_coverage", 1)):
        assert all(sign * change(one, key, "micro_f1", "") > 0 for one in own.values())
    low, high = bounds(own["en"]).differences["micro_f1"]["iou"]
    micro = own["en"].to_dict()["micro_f1"]
    assert f"it is {micro['majority']['iou']:.3f} and {micro['union']['iou']:.3f}" in one_line
    assert f"[{low:.3f}, {high:.3f}], holds 0" in one_line


@pytest.mark.corpora
def test_what_is_said_of_other_annotators(text: str, own: dict[str, Study]) -> None:
    widths = []
    for resample in ("items", "items_annotators"):
        found = bounds(own["en"], resample=resample).intervals["macro_f1"]["loo_majority"]["span_coverage"]
        widths.append(f"{found[1] - found[0]:.3f}")
    assert f"widens from {widths[0]} by items to {widths[1]} by both" in " ".join(text.split())


@pytest.mark.corpora
def test_what_is_said_of_humans(text: str, read: dict[str, Corpus], corpora: Path) -> None:
    one_line = " ".join(text.split())
    detected = {}
    for name, run in RUNS.items():
        rows = {
            row["id"]: row["hard_labels"]
            for _, row in read_jsonl(corpora / "mu_shroom" / "predictions" / f"mushroom-{run}-tst-predicted.jsonl")
        }
        detected[name] = as_spans([rows[key] for key in read[name].ids], text=read[name].texts, invalid="drop")
    levels = {name: human_level(read[name], spans, metrics=["iou"]) for name, spans in detected.items()}
    assert body(human_levels_table(levels, name="language"), 7) in text
    assert [name for name, one in levels.items() if one.intervals["iou"]["difference"][1] >= 0] == ["de"]
    assert all(one.scores["iou"]["difference"] < 0 for one in levels.values())
    finnish = levels["fi"].scores["iou"]
    wrong = finnish["detector_against_full_consensus"] / finnish["human"]
    assert f"Finnish would stand at {wrong:.3f} of a human" in one_line
    assert f"like against like it is {finnish['relative_to_human']:.3f}" in one_line
    expected = levels["en"].scores["iou"]["expected_score"]
    assert f"expected score is {expected['detector']:.3f}, that of another human {expected['other_humans']:.3f}" in (
        one_line
    )
    assert f"consensus of the others, {expected['consensus_of_others']:.3f}" in one_line
    assert levels["en"].scores["iou"]["human"] == pytest.approx(expected["consensus_of_others"], abs=1e-12)
    for name in ("en", "es"):
        cut = human_level(read[name], detected[name], metrics=["iou"], n_annotators=3, n_resamples=None)
        before, after = (one.scores["iou"]["relative_to_human"] for one in (levels[name], cut))
        assert f"{NAMES[name]} from {before:.3f} to {after:.3f}" in one_line


@pytest.mark.corpora
def test_what_is_said_of_the_corpora(text: str, read: dict[str, Corpus]) -> None:
    counts = {name: as_annotations(corpus).counts for name, corpus in read.items()}
    assert sum(bool((each == 3).all()) for each in counts.values()) == 11
    assert "Eleven languages have exactly three annotators for every item." in " ".join(text.split())
    assert [name for name, each in counts.items() if not (each == 3).all()] == ["en", "es", "zh"]
