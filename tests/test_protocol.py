"""The Mu-SHROOM protocol against a plain implementation, character by character, and the published scores.

The oracle below follows the benchmark's description with lists and sets and takes Spearman's rho from SciPy. It is
itself checked against the numbers that the organisers' scorer prints for 12 published files.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DATA
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelium import as_spans
from mycelium.protocols import MuShroomScore, SubmissionError, check_mu_shroom, score_mu_shroom
from mycelium.protocols.mu_shroom import hard_from_soft

Record = dict[str, Any]


# -- the oracle


def oracle_hard(soft: list[Record]) -> list[list[int]]:
    hard: list[list[int]] = []
    before = None
    for span in sorted(soft, key=lambda s: (s["start"], s["end"])):
        if span["prob"] > 0.5:
            if span["start"] == before:
                hard[-1][1] = span["end"]
            else:
                hard.append([span["start"], span["end"]])
            before = span["end"]
    return hard


def oracle_labels(record: Record, length: int, drop: bool) -> tuple[list[Any], list[Any]]:
    hard, soft = record.get("hard_labels"), record.get("soft_labels")
    if drop:
        if hard is not None:
            hard = [s for s in hard if 0 <= s[0] < s[1] <= length]
        if soft is not None:
            soft = [s for s in soft if s.get("prob") is not None and 0 <= s["start"] < s["end"] <= length]
    if hard is None and soft is None:
        return [], []
    if hard is None:
        return oracle_hard(soft), soft
    if soft is None:
        return hard, [{"start": a, "end": b, "prob": 1.0} for a, b in hard]
    return hard, soft


def oracle_vector(soft: list[Record], length: int) -> list[float]:
    vector = [0.0] * length
    for span in soft:
        for i in range(span["start"], span["end"]):
            vector[i] = span["prob"]
    return vector


def oracle_row(reference: Record, prediction: Record, drop: bool) -> tuple[float, float]:
    from scipy.stats import spearmanr

    length = len(reference["model_output_text"])
    (hard_a, soft_a), (hard_b, soft_b) = (oracle_labels(r, length, drop) for r in (reference, prediction))
    a, b = ({i for start, end in hard for i in range(start, end)} for hard in (hard_a, hard_b))
    iou = len(a & b) / len(a | b) if a | b else 1.0
    x, y = oracle_vector(soft_a, length), oracle_vector(soft_b, length)
    constant = [len({round(value, 8) for value in vector}) <= 1 for vector in (x, y)]
    return iou, float(all(constant)) if any(constant) else float(spearmanr(x, y).statistic)


def oracle(references: list[Record], predictions: list[Record], drop: bool = False) -> list[tuple[float, float]]:
    found = {record["id"]: record for record in predictions}
    return [oracle_row(record, found.get(record["id"], {}), drop) for record in references]


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").split("\n") if line.strip()]


def write(path: Path, records: list[Any]) -> Path:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# -- the published numbers

OFFICIAL = list(csv.DictReader((DATA / "official_scores.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"))


def official_files(corpora: Path, entry: dict[str, str]) -> tuple[Path, Path]:
    language = entry["file"].split("-")[1].rstrip("2")
    folder = corpora / "mu_shroom"
    return folder / "test" / f"mushroom.{language}-tst.v1.extra.jsonl", folder / "predictions" / entry["file"]


def test_the_table_of_official_scores_is_whole() -> None:
    assert len(OFFICIAL) == 13
    assert [row["file"] for row in OFFICIAL if "refused" in row["official_IoU"]] == [
        "mushroom-de-new-tst-predicted.jsonl"
    ]


@pytest.mark.corpora
@pytest.mark.parametrize("entry", [r for r in OFFICIAL if "refused" not in r["official_IoU"]], ids=lambda r: r["file"])
def test_official_scores(corpora: Path, entry: dict[str, str]) -> None:
    reference, prediction = official_files(corpora, entry)
    published = (entry["official_IoU"], entry["official_Cor"])
    rows = oracle(read(reference), read(prediction), drop=True)
    assert (f"{np.mean([r[0] for r in rows]):.8f}", f"{np.mean([r[1] for r in rows]):.8f}") == published

    score = score_mu_shroom(reference, prediction, invalid="drop")
    assert str(score) == f"IoU: {published[0]}\nCor: {published[1]}"
    assert score.rows == int(entry["rows"]) == len(score.ids)
    np.testing.assert_allclose(score.row_iou, [r[0] for r in rows], rtol=0, atol=1e-12)
    np.testing.assert_allclose(score.row_correlation, [r[1] for r in rows], rtol=0, atol=1e-12)
    # Whatever else is wrong in a row of these files, one of its soft spans lacks its probability.
    lacking = int(entry["rows_with_soft_labels_lacking_prob"])
    assert score.predictions.rows == lacking
    assert score.references == (0, 0, 0, 0)
    if lacking:
        with pytest.raises(SubmissionError, match=rf"{prediction.name}:\d+: id 'tst-.*\[-1, -1\]: negative"):
            score_mu_shroom(reference, prediction)
    else:
        assert str(score_mu_shroom(reference, prediction)) == str(score)


@pytest.mark.corpora
def test_missing_rows_are_refused_by_name(corpora: Path) -> None:
    entry = next(row for row in OFFICIAL if "refused" in row["official_IoU"])
    reference, prediction = official_files(corpora, entry)
    absent = {r["id"] for r in read(reference)} - {r["id"] for r in read(prediction)}
    with pytest.raises(SubmissionError, match="18 problems") as caught:
        score_mu_shroom(reference, prediction, invalid="drop")
    assert len(caught.value.problems) == len(absent) == 18
    assert all(any(repr(key) in str(p) for p in caught.value.problems) for key in absent)

    score = score_mu_shroom(reference, prediction, missing="empty")
    assert set(score.missing) == absent
    assert score.predictions.missing == 18
    assert "counted 18 missing rows as empty" in "\n".join(score.notes())
    assert "missing:empty" in score.signature
    rows = oracle(read(reference), read(prediction))
    assert score.iou == pytest.approx(np.mean([r[0] for r in rows]), abs=1e-12)
    assert score.correlation == pytest.approx(np.mean([r[1] for r in rows]), abs=1e-12)


@pytest.mark.corpora
def test_published_references_are_consistent_with_the_derivation(corpora: Path) -> None:
    """The organisers' hard labels are those derived from their soft labels, in 1,902 rows of 14 languages."""
    files = sorted((corpora / "mu_shroom" / "test").glob("*.jsonl"))
    rows = [row for file in files for row in read(file)]
    assert len(rows) == 1902
    derived = hard_from_soft(as_spans([row["soft_labels"] for row in rows]))
    assert derived.tolist() == [sorted(row["hard_labels"]) for row in rows]


# -- derivations and definitions, on small input

TEXT = "0123456789"


def gold(**labels: Any) -> list[Record]:
    return [{"id": "a", "model_output_text": TEXT, **labels}]


def soft(*spans: tuple[int, int, float]) -> list[Record]:
    return [{"start": a, "end": b, "prob": p} for a, b, p in spans]


def score(references: list[Record], prediction: Record, **options: str) -> MuShroomScore:
    return score_mu_shroom(references, [{"id": "a", **prediction}], **options)


def test_hard_labels_are_derived_when_missing_or_null_but_not_when_empty() -> None:
    reference = gold(hard_labels=[[0, 4]], soft_labels=soft((0, 4, 1.0)))
    labels = soft((2, 4, 0.9), (0, 2, 0.6))
    for prediction in ({"soft_labels": labels}, {"soft_labels": labels, "hard_labels": None}):
        found = score(reference, prediction)
        assert (found.iou, found.derived_hard, found.derived_soft) == (1.0, 1, 0)
        assert "derived hard_labels from soft_labels" in found.notes()[0]
    found = score(reference, {"soft_labels": labels, "hard_labels": []})
    assert (found.iou, found.derived_hard) == (0.0, 0)


def test_soft_labels_are_derived_when_missing_or_null_but_not_when_empty() -> None:
    reference = gold(hard_labels=[[0, 4]], soft_labels=soft((0, 4, 0.3)))
    for prediction in ({"hard_labels": [[0, 4]]}, {"hard_labels": [[0, 4]], "soft_labels": None}):
        found = score(reference, prediction)
        assert (found.correlation, found.derived_soft) == (pytest.approx(1.0), 1)
    assert score(reference, {"hard_labels": [[0, 4]], "soft_labels": []}).correlation == 0.0


def test_the_threshold_is_strict_and_only_touching_neighbours_join() -> None:
    cases = [
        (soft((0, 4, 0.5)), []),
        (soft((0, 4, 0.5000001)), [[0, 4]]),
        (soft((4, 6, 0.9), (0, 4, 0.6)), [[0, 6]]),
        (soft((0, 4, 0.9), (5, 6, 0.9)), [[0, 4], [5, 6]]),
        # One below the threshold between two above: it does not bridge them.
        (soft((0, 2, 0.9), (2, 4, 0.2), (4, 6, 0.9)), [[0, 2], [4, 6]]),
        # "The previous" is the previous in sorted order, not the one that reaches farthest.
        (soft((0, 8, 0.9), (3, 5, 0.9), (5, 7, 0.9), (8, 9, 0.9)), [[0, 8], [3, 7], [8, 9]]),
        (soft((0, 3, 0.9), (2, 5, 0.9)), [[0, 3], [2, 5]]),
        ([], []),
    ]
    assert hard_from_soft(as_spans([spans for spans, _ in cases])).tolist() == [hard for _, hard in cases]


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 12), st.integers(1, 6), st.sampled_from([0.0, 0.3, 0.5, 0.51, 1.0])), max_size=6
        ),
        max_size=6,
    )
)
def test_derivation_equals_the_loop(rows: list[list[tuple[int, int, float]]]) -> None:
    labels = [soft(*((start, start + size, prob) for start, size, prob in row)) for row in rows]
    assert hard_from_soft(as_spans(labels)).tolist() == [oracle_hard(row) for row in labels]


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ([], [], 1.0),
        (soft((0, 3, 0.5), (3, 5, 0.9)), [], 0.0),
        # Both constant, at different heights: the protocol asks how many values there are, not which.
        ([], soft((0, 10, 0.7)), 1.0),
        (soft((0, 10, 0.2)), soft((0, 3, 0.5)), 0.0),
        # Differences below 8 decimals do not count.
        (soft((0, 5, 1e-10)), [], 1.0),
        # Spearman of 0000011111 and 1111100000.
        (soft((5, 10, 1.0)), soft((0, 5, 1.0)), -1.0),
    ],
)
def test_correlation_of_constant_vectors_is_defined(
    reference: list[Record], prediction: list[Record], expected: float
) -> None:
    found = score(gold(hard_labels=[], soft_labels=reference), {"hard_labels": [], "soft_labels": prediction})
    assert found.correlation == pytest.approx(expected, abs=1e-12)


def test_of_overlapping_soft_spans_the_later_in_the_list_counts() -> None:
    reference = gold(hard_labels=[], soft_labels=soft((0, 4, 0.2), (4, 8, 0.9)))
    first = score(reference, {"hard_labels": [], "soft_labels": soft((0, 8, 0.9), (0, 4, 0.2))})
    second = score(reference, {"hard_labels": [], "soft_labels": soft((0, 4, 0.2), (0, 8, 0.9))})
    assert first.correlation == pytest.approx(1.0)
    # By hand: the ranks are 1.5 (2), 4.5 (4), 8.5 (4) against 1.5 (2), 6.5 (8); rho = 32 / sqrt(32 + 4 + 36) / sqrt(40)
    # with centred ranks -4, -1, 3 and -4, 1, that is (32 - 4 + 12) / sqrt(72 * 40).
    assert second.correlation == pytest.approx(40 / np.sqrt(72 * 40))


def test_rows_are_means_over_the_reference_in_its_order() -> None:
    references = [{"id": key, "model_output_text": TEXT, "hard_labels": [[0, 4]]} for key in ("b", "a", "c")]
    predictions = [{"id": key, "hard_labels": labels} for key, labels in (("c", [[0, 2]]), ("a", []), ("b", [[0, 4]]))]
    found = score_mu_shroom(references, predictions)
    assert found.ids == ("b", "a", "c")
    assert found.row_iou.tolist() == [1.0, 0.0, 0.5]
    assert found.iou == 0.5
    assert str(found).startswith("IoU: 0.50000000\nCor: ")
    assert "avg:macro" in found.signature
    assert not found.row_iou.flags.writeable
    with pytest.raises(AttributeError):
        found.iou = 1.0  # type: ignore[misc]


LABELS = st.fixed_dictionaries(
    {},
    optional={
        "hard_labels": st.none()
        | st.lists(st.tuples(st.integers(-1, 11), st.integers(0, 5)).map(lambda s: [s[0], s[0] + s[1]]), max_size=4),
        "soft_labels": st.none()
        | st.lists(
            st.tuples(st.integers(-1, 11), st.integers(0, 5), st.sampled_from([None, 0.0, 0.25, 0.5, 0.75, 1.0])).map(
                lambda s: {"start": s[0], "end": s[0] + s[1], **({} if s[2] is None else {"prob": s[2]})}
            ),
            max_size=4,
        ),
    },
)


@settings(deadline=None)
@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=5))
def test_any_labels_score_as_the_oracle_says(pairs: list[tuple[Record, Record]]) -> None:
    references = [{"id": i, "model_output_text": TEXT, **a} for i, (a, _) in enumerate(pairs)]
    predictions = [{"id": i, **b} for i, (_, b) in enumerate(pairs)]
    if any(a.get("hard_labels") is None and a.get("soft_labels") is None for a, _ in pairs):
        with pytest.raises(SubmissionError, match=r"references.*neither"):
            score_mu_shroom(references, predictions, invalid="drop", missing="empty")
        return
    found = score_mu_shroom(references, predictions, invalid="drop", missing="empty")
    rows = oracle(references, predictions, drop=True)
    np.testing.assert_allclose(found.row_iou, [r[0] for r in rows], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.row_correlation, [r[1] for r in rows], rtol=0, atol=1e-12)
    # Refused by default exactly when something was left out or missing.
    if any(found.references) or any(found.predictions):
        with pytest.raises(SubmissionError):
            score_mu_shroom(references, predictions)
    else:
        assert score_mu_shroom(references, predictions).row_iou.tolist() == found.row_iou.tolist()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "end", "prob", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(JUNK, JUNK, st.sampled_from(["raise", "drop"]))
def test_whatever_is_refused_is_refused_with_its_place(hard: Any, soft_labels: Any, invalid: str) -> None:
    """The search row by row explains every refusal of the batch readers, and finds nothing in what they accept."""
    reference = gold(hard_labels=[])
    prediction = [{"id": "a", "hard_labels": hard, "soft_labels": soft_labels}]
    problems: tuple[Any, ...] | None = None
    try:
        score_mu_shroom(reference, prediction, invalid=invalid)
    except SubmissionError as error:
        problems = error.problems
    if problems is None:
        kinds = {problem.kind for problem in check_mu_shroom(prediction, reference)}
        assert kinds <= ({"note"} if invalid == "raise" else {"note", "invalid"})
    else:
        assert problems
        assert all(problem.place.startswith("predictions, row 0") for problem in problems)


# -- leniency


def test_dropping_comes_before_deriving() -> None:
    reference = gold(hard_labels=[[0, 2]], soft_labels=soft((0, 2, 1.0)))
    labels = [{"start": 2, "end": 4}, {"start": -1, "end": -1, "prob": 1.0}, *soft((0, 2, 0.9))]
    found = score(reference, {"soft_labels": labels}, invalid="drop")
    # The span without prob would have joined [0, 2) to [0, 4).
    assert (found.iou, found.predictions.dropped, found.predictions.rows) == (1.0, 2, 1)
    assert found.notes()[0] == "predictions: left out 2 invalid spans in 1 row"
    assert "invalid:drop" in found.signature
    with pytest.raises(SubmissionError, match=r"2 problems: .*\[2, 4\]: has no prob; .*\[-1, -1\]: negative"):
        score(reference, {"soft_labels": labels})


def test_hard_labels_that_are_all_dropped_are_present_and_empty() -> None:
    reference = gold(hard_labels=[], soft_labels=soft((0, 2, 1.0)))
    found = score(reference, {"hard_labels": [[-1, -1]], "soft_labels": soft((0, 2, 0.9))}, invalid="drop")
    assert (found.iou, found.correlation, found.derived_hard) == (1.0, pytest.approx(1.0), 0)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"hard_labels": [[5, 3]]}, r"hard_labels, span 0 \[5, 3\]: reversed"),
        ({"hard_labels": [["3", 5]]}, r"start is '3' \(str\), expected an integer"),
        ({"hard_labels": [[3, 5.0]]}, r"end is 5.0 \(float\), expected an integer"),
        ({"hard_labels": [[True, 5]]}, r"start is True \(bool\)"),
        ({"hard_labels": [[1, 2, 3]]}, r"expected \[start, end\]"),
        ({"hard_labels": [{"start": 1, "end": 2}]}, r"expected \[start, end\]"),
        ({"hard_labels": [3, 5]}, r"expected \[start, end\]"),
        ({"hard_labels": "[[3, 5]]"}, "expected a list of spans, got str"),
        ({"soft_labels": [[3, 5]]}, "expected an object with start, end and prob"),
        ({"soft_labels": [{"start": 3, "prob": 1.0}]}, "expected an object with start, end and prob"),
        ({"soft_labels": [{"start": 3, "end": 5, "prob": "1"}]}, r"prob is '1' \(str\), expected a number"),
        ({"soft_labels": [{"start": 3, "end": 5, "prob": True}]}, r"prob is True \(bool\)"),
        ({"soft_labels": [{"start": 3, "end": 5, "prob": float("nan")}]}, "expected a finite number"),
    ],
)
@pytest.mark.parametrize("invalid", ["raise", "drop"])
def test_wrong_types_are_refused_whatever_the_leniency(labels: Record, reason: str, invalid: str) -> None:
    with pytest.raises(SubmissionError, match=rf"predictions, row 0: id 'a': .*{reason}"):
        score(gold(hard_labels=[]), labels, invalid=invalid)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"hard_labels": [[8, 11]]}, r"\[8, 11\]: past the end of the text \(10 characters\)"),
        ({"hard_labels": [[3, 3]]}, "empty"),
        ({"hard_labels": [[-2, 3]]}, "negative"),
        ({"soft_labels": [{"start": 0, "end": 1, "prob": 1.2}]}, "prob is 1.2, expected a number from 0 to 1"),
        ({"soft_labels": [{"start": 0, "end": 1, "prob": None}]}, "has no prob"),
        # Readers elsewhere take these names for a probability; the benchmark does not.
        ({"soft_labels": [{"start": 0, "end": 1, "score": 0.9}]}, "has no prob"),
    ],
)
def test_invalid_spans_are_refused_or_dropped(labels: Record, reason: str) -> None:
    with pytest.raises(SubmissionError, match=reason):
        score(gold(hard_labels=[]), labels)
    found = score(gold(hard_labels=[]), labels, invalid="drop")
    assert (found.iou, found.correlation, found.predictions.dropped) == (1.0, 1.0, 1)


def test_a_score_beside_prob_is_ignored() -> None:
    span = {"start": 0, "end": 4, "prob": 0.2, "score": 0.9, "label": 7, "type": None}
    assert score(gold(hard_labels=[]), {"soft_labels": [span]}).iou == 1.0


# -- ids


def test_ids_stay_what_they_are() -> None:
    keys = ["001", "1", "18_19", "1344800117571260417"]
    references = [{"id": key, "model_output_text": TEXT, "hard_labels": [[0, i + 1]]} for i, key in enumerate(keys)]
    predictions = [{"id": key, "hard_labels": [[0, i + 1]]} for i, key in enumerate(keys)]
    found = score_mu_shroom(references, predictions[::-1])
    assert (found.iou, found.ids) == (1.0, tuple(keys))
    with pytest.raises(SubmissionError, match=r"predictions: id '1': no prediction for this row \(references, row 1\)"):
        score_mu_shroom(references, [predictions[0], *predictions[2:]])
    lenient = score_mu_shroom(references, [predictions[0], *predictions[2:]], missing="empty")
    assert (lenient.iou, lenient.missing, lenient.predictions.missing) == (0.75, ("1",), 1)
    assert "missing:empty" in lenient.signature
    assert "missing:" not in found.signature
    with pytest.raises(SubmissionError, match="id 1: unknown"):
        score_mu_shroom(references, [*predictions[:1], {"id": 1, "hard_labels": []}, *predictions[2:]])


@pytest.mark.parametrize("missing", ["raise", "empty"])
@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([{"id": "a", "hard_labels": []}, {"id": "a", "hard_labels": []}], "row 1: id 'a': duplicate.*row 0"),
        ([{"id": "a", "hard_labels": []}, {"id": "z", "hard_labels": []}], "row 1: id 'z': unknown"),
        ([{"hard_labels": []}], "row 0: has no id"),
        ([{"id": 1.5, "hard_labels": []}], "row 0: id must be a string or an integer, got 1.5"),
        ([{"id": ["a"], "hard_labels": []}], "row 0: id must be a string or an integer"),
    ],
)
def test_bad_ids_are_refused_whatever_the_leniency(records: list[Record], reason: str, missing: str) -> None:
    with pytest.raises(SubmissionError, match=f"predictions, {reason}"):
        score_mu_shroom(gold(hard_labels=[]), records, missing=missing)


def test_a_row_without_any_labels_is_a_missing_prediction() -> None:
    reference = gold(hard_labels=[[0, 4]])
    with pytest.raises(SubmissionError, match="id 'a': neither hard_labels nor soft_labels"):
        score(reference, {"hard_labels": None})
    found = score(reference, {"hard_labels": None}, missing="empty")
    assert (found.iou, found.missing, found.derived_hard, found.derived_soft) == (0.0, ("a",), 0, 0)


def test_clean_references_count() -> None:
    """A false alarm on an answer without annotation costs; see also the reference that is not annotated at all."""
    references = [
        {"id": "a", "model_output_text": TEXT, "hard_labels": []},
        {"id": "b", "model_output_text": TEXT, "hard_labels": [[0, 4]]},
    ]
    predictions = [{"id": "a", "hard_labels": [[0, 3]]}, {"id": "b", "hard_labels": [[0, 4]]}]
    assert score_mu_shroom(references, predictions).iou == 0.5
    references[0]["hard_labels"] = None
    with pytest.raises(SubmissionError, match="references, row 0: id 'a': neither"):
        score_mu_shroom(references, predictions, missing="empty", invalid="drop")


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        ([], "references: holds no rows"),
        (
            [{"id": "a", "hard_labels": []}],
            "references, row 0: id 'a': model_output_text must be a string, got nothing",
        ),
        ([*gold(hard_labels=[]), *gold(hard_labels=[])], "references, row 1: id 'a': duplicate"),
        (gold(hard_labels=[[4, 12]]), r"references, row 0: id 'a': hard_labels, span 0 \[4, 12\]: past the end"),
    ],
)
@pytest.mark.parametrize("missing", ["raise", "empty"])
def test_references_are_checked_too(references: list[Record], reason: str, missing: str) -> None:
    with pytest.raises(SubmissionError, match=reason):
        score_mu_shroom(references, [{"id": "a", "hard_labels": []}], missing=missing)


def test_options_and_kinds_of_input_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="invalid must be 'raise' or 'drop', got 'clip'"):
        score_mu_shroom(gold(hard_labels=[]), [], invalid="clip")
    with pytest.raises(ValueError, match="missing must be"):
        score_mu_shroom(gold(hard_labels=[]), [], missing="drop")
    with pytest.raises(TypeError, match="predictions must be a path or a list of records, got one mapping"):
        score_mu_shroom(gold(hard_labels=[]), {"id": "a"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="predictions: row 1 must be a record"):
        score_mu_shroom(gold(hard_labels=[]), [{"id": "a"}, 3])  # type: ignore[list-item]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        score_mu_shroom(tmp_path / "nowhere.jsonl", [])


def test_rows_as_arrays_and_dicts_of_lists() -> None:
    """What `datasets` and NumPy hand out for the same labels."""
    reference = gold(hard_labels=np.array([[0, 4]]), soft_labels={"start": [0], "end": [4], "prob": [0.9]})
    found = score(reference, {"soft_labels": {"start": [0, 2], "end": [2, 4], "prob": np.array([0.9, 0.8])}})
    assert found.iou == 1.0
    empty = score(gold(hard_labels=[]), {"soft_labels": {"start": [], "end": [], "prob": []}})
    assert (empty.iou, empty.correlation) == (1.0, 1.0)


# -- checking a file


def test_check_lists_every_problem_of_a_file(tmp_path: Path) -> None:
    keys = "abcdefghijk"
    texts = write(tmp_path / "texts.jsonl", [{"id": key, "model_output_text": TEXT} for key in keys])
    path = write(
        tmp_path / "pred.jsonl",
        [
            {"id": "a", "hard_labels": [[0, 4]], "soft_labels": soft((0, 4, 1.0))},
            "{not json",
            {"id": "b", "hard_labels": [[-1, -1], [8, 12]], "soft_labels": [{"start": 1, "end": 2}]},
            {"id": "c", "hard_labels": [[0, 4], [2, 6]]},
            {"id": "d", "hard_labels": [[0, 4]], "soft_labels": soft((0, 4, 0.4))},
            {"id": "a", "hard_labels": []},
            "",
            {"id": "z", "hard_labels": [["1", 2]]},
            {"hard_labels": []},
            {"id": "e"},
            {"id": "f", "model_output_text": "other", "hard_labels": [], "soft_labels": []},
            {"id": "g", "soft_labels": [{"start": 0, "end": 2, "prob": 1.0, "text": "99"}]},
            "[1]",
            {"id": "h", "hard_labels": [], "soft_labels": []},
        ],
    )
    found = check_mu_shroom(path, texts)
    lines = [str(problem).replace(str(tmp_path) + "/", "") for problem in found]
    expected = [
        r"pred.jsonl:2: not JSON",
        r"pred.jsonl:13: expected a JSON object",
        r"pred.jsonl:3: id 'b': hard_labels, span 0 [-1, -1]: negative",
        r"pred.jsonl:3: id 'b': hard_labels, span 1 [8, 12]: past the end of the text (10 characters)",
        r"pred.jsonl:3: id 'b': soft_labels, span 0 [1, 2]: has no prob",
        r"pred.jsonl:4: note: id 'c': hard_labels overlap (1 span)",
        r"pred.jsonl:5: note: id 'd': hard_labels mark 4 characters and soft_labels with prob > 0.5 mark 0, 4 of them",
        r"pred.jsonl:6: id 'a': duplicate, it stands at pred.jsonl:1 already",
        r"pred.jsonl:8: id 'z': unknown",
        r"pred.jsonl:8: id 'z': hard_labels, span 0 ['1', 2]: start is '1' (str), expected an integer",
        r"pred.jsonl:9: has no id",
        r"pred.jsonl:10: id 'e': neither hard_labels nor soft_labels",
        r"pred.jsonl:11: note: id 'f': its model_output_text is not the text of the benchmark's row",
        r"pred.jsonl:12: note: id 'g': soft_labels: 1 of 1 spans carry a text that does not stand at their place",
        r"pred.jsonl: id 'i': no prediction for this row (texts.jsonl:9)",
        r"pred.jsonl: id 'j': no prediction for this row (texts.jsonl:10)",
        r"pred.jsonl: id 'k': no prediction for this row (texts.jsonl:11)",
        r"pred.jsonl: note: 1 row without hard_labels: they are derived from soft_labels",
        r"pred.jsonl: note: 4 rows without soft_labels: they are derived from hard_labels",
    ]
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)


def test_check_finds_nothing_in_a_sound_file(tmp_path: Path) -> None:
    texts = [{"id": "a", "model_output_text": "🙂 bad fact"}]
    sound = [{"id": "a", "hard_labels": [[2, 5]], "soft_labels": [{"start": 2, "end": 5, "prob": 0.7, "text": "bad"}]}]
    assert check_mu_shroom(sound, texts) == []
    shifted = [
        {"id": "a", "hard_labels": [[3, 6]], "soft_labels": [{"start": 3, "end": 6, "prob": 0.7, "text": "bad"}]}
    ]
    (note,) = check_mu_shroom(shifted, texts)
    assert note.kind == "note"
    assert "[3, 6] says 'bad' and the text there is 'ad '" in note.message


@pytest.mark.parametrize(
    ("hard", "overlaps"),
    [
        ([[0, 10], [2, 4], [5, 6]], "2 spans"),
        ([[5, 6], [0, 10]], "1 span"),
        ([[0, 4], [0, 4]], "1 span"),
        ([[4, 8], [0, 4]], None),
    ],
)
def test_check_counts_overlaps_against_all_earlier_spans(hard: list[list[int]], overlaps: str | None) -> None:
    labels = [{"start": a, "end": b, "prob": 1.0} for a, b in hard]
    record = {"id": "a", "hard_labels": hard, "soft_labels": labels}
    notes = [problem.message for problem in check_mu_shroom([record], gold())]
    expected = [f"id 'a': hard_labels overlap ({overlaps}); their characters count once"] if overlaps else []
    assert notes == expected


def test_check_refuses_texts_that_it_cannot_use() -> None:
    with pytest.raises(SubmissionError, match="texts, row 0: id 'a': model_output_text must be a string"):
        check_mu_shroom([], [{"id": "a"}])
    with pytest.raises(SubmissionError, match="texts: holds no rows"):
        check_mu_shroom([], [])


@pytest.mark.corpora
@pytest.mark.parametrize("entry", OFFICIAL, ids=lambda r: r["file"])
def test_check_agrees_with_the_counts_of_the_published_files(corpora: Path, entry: dict[str, str]) -> None:
    reference, prediction = official_files(corpora, entry)
    found = check_mu_shroom(prediction, reference)
    places = {
        word: {problem.place for problem in found if word in problem.message}
        for word in ("hard_labels, span", "soft_labels, span", "hard_labels overlap", "no prediction")
    }
    # A row with an invalid span has no further notes, so overlaps are at most those of the table.
    assert len(places["hard_labels, span"]) <= int(entry["rows_with_invalid_spans"])
    assert len(places["soft_labels, span"]) == int(entry["rows_with_soft_labels_lacking_prob"])
    assert len(places["hard_labels overlap"]) <= int(entry["rows_with_overlapping_spans"])
    if not places["soft_labels, span"]:
        assert len(places["hard_labels overlap"]) == int(entry["rows_with_overlapping_spans"])


def test_problems_survive_pickling() -> None:
    import pickle

    with pytest.raises(SubmissionError) as caught:
        score(gold(hard_labels=[]), {"hard_labels": [[9, 99]]})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)
