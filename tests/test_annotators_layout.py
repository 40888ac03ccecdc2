"""Tables of studies and of human levels: their cells, and the words that must stand below them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mycelium.annotators import human_level, human_levels_table, studies_table, study, study_intervals
from mycelium.tables import FORMATS

#: Three annotators of one item: [0, 4), [0, 8) and nothing, and of another who all agree.
ROWS: list[dict[str, Any]] = [{"a": [[0, 4]], "b": [[0, 8]], "c": []}, {"a": [[2, 4]], "b": [[2, 4]], "c": [[2, 4]]}]


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_a_study_by_hand() -> None:
    """Of the first item a scores 1/2 and b 1/2 against the union of the others, c nothing: 1/3; majorities give 0.

    The second item has 1 everywhere, so that the averages are 2/3 and 1/2. Nested are a in [0, 8) and only that:
    b covers [0, 4) from outside. One character of [0, 8) is 1/8 of it, of [2, 4) 1/2: both the share and the IoU.
    """
    lines = study(ROWS, metrics=["iou"]).to_table().split("\n")
    assert cells(lines[0]) == ["macro F1", "majority", "union", "union - majority", "nested", "partial",
                               "one character"]  # fmt: skip
    assert cells(lines[1]) == ["iou", "0.5000", "0.6667", "+0.1667", "0.5000", "-", "0.3125"]
    assert cells(lines[2]) == ["items", "2", "2", "1", "0", "2"]
    assert cells(lines[3]) == ["comparisons", "6", "6", "1", "0", "2"]
    notes = "\n".join(lines[4:])
    assert "which is 31.2 % of its characters" in notes
    # Of six pairs two hold an empty side and three are identical.
    assert "of those that differ and of which neither is empty: 1 of 1, 100.0 %." in notes
    assert "2 items, 3 annotators each, 3 distinct." in notes
    assert "With three annotators a majority of the other two is their intersection." in notes
    assert "resampled" not in notes


def test_what_was_left_out_is_counted() -> None:
    rows = [*ROWS, {"a": [[1, 2], [5, 5]]}, {"a": [[3, 3]], "b": []}]
    notes = study(rows).to_table()
    assert "Left out: 1 item with fewer than 2 annotators (undefined), 2 annotations of no length." in notes
    assert "intersection" not in notes  # the last has two
    assert "3 items, 2 to 3 annotators each" in notes
    cut = study(rows, n_annotators=3).to_table()
    assert "2 items, 3 annotators each" in cut
    assert "is empty: 100.0 %." in cut  # counts are those of all subsets, and have no place beside a mean over items
    drawn = study([{k: [[0, i + 1]] for i, k in enumerate("abcde")}], n_annotators=3, subsets=4, seed=6)
    assert "averaged over at most 4 random ones of its subsets (seed 6)." in drawn.to_table()
    level = human_level(
        [[[[0, 4]], [[0, 8]], []]], metrics=["iou"], n_annotators=2, subsets=2, seed=8, n_resamples=None
    )
    assert "cut to 2 annotators and averaged over at most 2 random ones of its subsets (seed 8)." in level.to_table()
    assert "Every item is cut to 3 annotators and averaged over all its subsets. With three annotators" in cut
    assert "Left out: 2 items with fewer than 3 annotators (undefined)" in cut


def test_intervals_stand_beside_the_numbers_and_say_for_what_they_hold() -> None:
    found = study(ROWS * 20, metrics=["iou"])
    intervals = study_intervals(found, n_resamples=60)
    lines = found.to_table(intervals=intervals, digits=2).split("\n")
    low, high = intervals.intervals["macro_f1"]["loo_union"]["iou"]
    assert f"0.67 [{low:.2f}, {high:.2f}]" in cells(lines[1])
    low, high = intervals.differences["macro_f1"]["iou"]
    assert f"+0.17 [{low:+.2f}, {high:+.2f}]" in cells(lines[1])
    assert cells(lines[1])[5] == "-"  # no partial overlap, no interval
    text = "\n".join(lines)
    assert f"95% intervals by percentile from 60 resamples, seed 0. {intervals.meta['condition']}" in text
    assert "partial: no item has any." in text
    assert "disjoint" not in text  # has no column


def test_no_interval_where_nobody_is_held_out() -> None:
    rows = [{f"w{(i + k) % 12}": [[k, 6 + i % 3]] for k in range(3)} for i in range(36)]
    found = study(rows, metrics=["iou"])
    text = found.to_table(intervals=study_intervals(found, n_resamples=60, resample="items_annotators"))
    assert cells(text.split("\n")[1])[-1].endswith(" -")
    assert "one character: nobody is held out: no interval for other annotators." in text
    assert "other items and other annotators like these" in text


@pytest.mark.parametrize("format", FORMATS)
def test_every_layout_holds_the_numbers(format: str) -> None:
    found = study(ROWS, metrics=["iou"])
    level = human_level(ROWS, [[[0, 4]], []], metrics=["iou"], n_resamples=None)
    for table in (found.to_table(format), studies_table({"x_y": found}, format)):
        assert "0.66" in table
    assert r"x\_y" in studies_table({"x_y": found}, "latex")
    for table in (level.to_table(format), human_levels_table({"x": level}, format)):
        assert "0.500" in table
    with pytest.raises(ValueError, match="format must be one of"):
        found.to_table("word")


def test_several_studies_in_rows() -> None:
    two = study([{"a": [[0, 4]], "b": [[0, 2], [3, 3]]}, {"a": []}], metrics=["iou"])
    three = study(ROWS, metrics=["iou"])
    lines = studies_table({"two": two, "three": three}, name="language").split("\n")
    assert cells(lines[0])[:5] == ["language", "items", "annotators per item", "distinct", "iou"]
    assert cells(lines[1])[:6] == ["two", "1", "2", "2", "0.500 / 0.500", "100.0 %"]
    assert cells(lines[2])[:6] == ["three", "2", "3", "3", "0.500 / 0.667", "100.0 %"]
    text = "\n".join(lines)
    assert "(1 of 2: three): a majority of the other two is their intersection." in text
    assert "Rows with other numbers of annotators are not comparable with these" in text
    assert "Left out: 1 annotation of no length (two 1)." in text
    assert "Left out: 1 item with fewer than 2 annotators (undefined) (two 1)." in text
    assert "not comparable" not in studies_table({"three": three})
    with pytest.raises(ValueError, match="found is empty"):
        studies_table({})


def test_differences_of_several_studies_are_a_second_table() -> None:
    found = {"one": study(ROWS * 20), "two": study(ROWS * 16)}
    intervals = {name: study_intervals(each, n_resamples=60) for name, each in found.items()}
    first, second = studies_table(found, intervals=intervals, metrics=["iou"]).split("\n\n")
    assert cells(first.split("\n")[0])[4] == "iou"
    lines = second.split("\n")
    assert cells(lines[0]) == ["union - majority, corpus", "iou"]
    low, high = intervals["two"].differences["macro_f1"]["iou"]
    assert cells(lines[2]) == ["two", f"+0.167 [{low:+.3f}, {high:+.3f}]"]


def test_notes_of_several_name_the_corpus() -> None:
    """All who mark agree: every resample is the same, in the first; in the second one item of 40 is disjoint."""
    same = {"a": [[0, 4]], "b": [[0, 4]]}
    found = {"one": study([same] * 40), "two": study([same] * 20 + ROWS * 10)}
    intervals = {name: study_intervals(each, n_resamples=60) for name, each in found.items()}
    notes = studies_table(found, intervals=intervals, metrics=["iou"])
    assert "one iou: all replicates are equal." in notes
    assert "two" not in notes.split("resamples, seed 0.")[1]
    apart = human_level([[[[0, 4]], [[6, 8]]]] * 29 + [[[[0, 4]], [[0, 4]]]], [[]] * 30, n_resamples=60)
    discarded = apart.meta["discarded"]["iou.relative_to_human"]
    assert discarded > 0
    notes = human_levels_table({"x": apart})
    assert f"Resamples without any value were discarded: x D / H {discarded}." in notes
    assert "exact_span" not in notes
    assert f"iou.relative_to_human {discarded}" in apart.to_table()


def test_a_human_level_by_hand() -> None:
    """Two mark [0, 4), one [0, 8), the detector [0, 4): H = (1 + 1/2 + 1) / 3 and D = 1, see the test of the level."""
    rows = [[[[0, 4]], [[0, 8]], [[0, 4]]], [[[0, 3]]]]
    level = human_level(rows, [[[0, 4]], []], metrics=["iou"], n_resamples=None)
    lines = level.to_table().split("\n")
    assert cells(lines[0]) == ["F1 or score", "human (H)", "detector (D)", "D - H", "D / H", "expected: detector",
                               "other humans", "consensus of others", "detector, full consensus"]  # fmt: skip
    # Expected: the detector against each human 1, 1/2, 1; humans against each other 3/4, 1/2, 3/4; as H the consensus.
    assert cells(lines[1]) == ["iou", "0.833", "1.000", "+0.167", "1.200", "0.833", "0.667", "0.833", "1.000"]
    text = "\n".join(lines)
    assert "H is a level, not a ceiling" in text
    assert "that number is not divided by it" in text
    assert "1 item, 3 annotators each." in text
    assert "Left out: 1 item with fewer than 2 annotators (undefined), 0 annotations of no length." in text
    row = cells(human_levels_table({"x": level}).split("\n")[1])
    assert row == ["x", "1", "3", "0.833", "1.000", "+0.167", "1.200", "1.000"]


def test_a_human_level_without_detector_or_ratio() -> None:
    level = human_level([[[[0, 4]], [[0, 8]]]], metrics=["iou"], n_resamples=None)
    text = level.to_table()
    assert cells(text.split("\n")[0]) == ["F1 or score", "human (H)", "other humans", "consensus of others"]
    assert "detector" not in text
    apart = human_level([[[[0, 4]], [[6, 8]]]] * 30, [[[0, 4]]] * 30, "union", metrics=["iou"], n_resamples=20)
    assert cells(apart.to_table().split("\n")[1])[:5] == [
        "iou", "0.000 [0.000, 0.000]", "0.500 [0.500, 0.500]", "+0.500 [+0.500, +0.500]", "-"
    ]  # fmt: skip
    assert "consensus (union)" in apart.to_table()
    assert apart.meta["condition"] in human_levels_table({"x": apart})
    shared = human_level([[[[0, 4]], [[0, 8]]]], consensus=0.5, undefined=None, metrics=["iou"], n_resamples=None)
    assert "consensus (a share of 0.5)" in shared.to_table()
    assert "counts its metric's own value" in shared.to_table()
    with pytest.raises(ValueError, match="found is empty"):
        human_levels_table({})
