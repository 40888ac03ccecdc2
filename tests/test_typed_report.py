"""Intervals, slices, streams, weights, refusals and layouts of typed scores."""

from __future__ import annotations

import builtins
import json
import pickle
import random
import re
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import mycelium
from mycelium import Report, as_spans, metrics
from mycelium.metrics.by_type import TypeRules, confusion, macro_types, of_type, weighted_types
from mycelium.thresholds import best_threshold
from mycelium.typed import TYPES, TypedAccumulator, TypedReport, evaluate_typed
from mycelium.typed import report as report_module

PRF = ("precision", "recall", "f1")
MEASURES = ("strict", "strict_typed", "partial", "typed_partial", "character")
Rows = list[list[list[Any]]]


def corpus(n: int, seed: int = 0, types: str = "ABC") -> tuple[Rows, Rows]:
    """Return rows whose predictions are references that were found, moved, renamed, lost or made up."""
    rng = random.Random(seed)
    references, predictions = [], []
    for _ in range(n):
        row = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            start = rng.randrange(30)
            row.append([start, start + rng.randint(1, 9), rng.choice(types)])
        found = []
        for start, end, name in row:
            if rng.random() < 0.8:
                moved = rng.choice([0, 0, 1])
                found.append([start + moved, end + 2 * moved, rng.choice([name, name, rng.choice(types)])])
        if rng.random() < 0.3:
            found.append([40, 45, rng.choice(types)])
        references.append(row)
        predictions.append(found)
    return references, predictions


def bits(report: Report) -> str:
    return json.dumps(report)


def scores(report: TypedReport) -> dict[str, list[float]]:
    """Return all outputs by the keys of intervals."""
    out = {key: [report[key][o] for o in PRF] for key in (*MEASURES, "macro", "weighted")}
    out |= {f"by_type.{name}": [leaf[o] for o in PRF] for name, leaf in report["by_type"].items()}
    out["valid_cases"] = [report["valid_cases"][o] for o in ("clean", "caught", "localised")]
    return out


# -- intervals


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("absent", ["exclude", "zero"])
def test_replicates_are_evaluations_of_draws(average: str, absent: str) -> None:
    """Draw the rows as documented, score each draw alone, and compare every replicate of every output."""
    n, draws = 9, 120
    references, predictions = corpus(n, seed=3, types="ABCD")
    options: dict[str, Any] = {"types": [*"ABCDE"], "average": average, "absent_types": absent}
    report = evaluate_typed(references=references, predictions=predictions, **options)
    with pytest.warns(UserWarning, match="9 examples"):
        intervals = report.confidence_intervals(level=0.9, n_resamples=draws, seed=5)
    rng = np.random.default_rng(5)
    changed = 0
    by_key: dict[str, list[list[float]]] = {}
    for _ in range(draws):
        rows = rng.integers(0, n, size=n)
        alone = evaluate_typed(
            references=[references[i] for i in rows], predictions=[predictions[i] for i in rows], **options
        )
        wanted = scores(alone)
        # The mean is over the types of the whole data, those that the draw lacks included: their F1 is undefined, 1.
        if absent == "exclude":
            assert report["meta"]["macro_types"] == [*"ABCD"]
            changed += alone["meta"]["macro_types"] != report["meta"]["macro_types"]
            wanted["macro"] = [float(np.mean([alone["by_type"][name][o] for name in "ABCD"])) for o in PRF]
        for key, values in wanted.items():
            by_key.setdefault(key, []).append(values)
    assert changed or absent == "zero"
    assert set(intervals) == {*by_key, "meta"} == {*intervals.scores, "meta"}
    for key, values in by_key.items():
        np.testing.assert_allclose(intervals.replicates(key), values, rtol=1e-12, atol=1e-12)
        for column, (output, found) in enumerate(intervals[key].items()):
            wanted_ = np.quantile(np.array(values)[:, column], [0.05, 0.95])
            np.testing.assert_allclose(found, wanted_, rtol=1e-12, atol=1e-12, err_msg=f"{key}.{output}")
    assert {key: list(found.values()) for key, found in intervals.scores.items()} == scores(report)


def test_intervals_by_group_with_and_without_statistics() -> None:
    references, predictions = corpus(80, seed=1)
    groups = [i % 40 for i in range(80)]
    kept = evaluate_typed(references=references, predictions=predictions, groups=groups)
    sums = evaluate_typed(references=references, predictions=predictions, groups=groups, keep_statistics=False)
    stream = TypedAccumulator(types=[*"ABC"])
    stream.update(references[:30], predictions[:30], groups=groups[:30])
    stream.update(references[30:], predictions[30:], groups=groups[30:])
    first = kept.confidence_intervals(method="bca", n_resamples=200)
    assert first["meta"]["units"] == 40
    for other in (sums, stream.compute()):
        assert json.dumps(other.confidence_intervals(method="bca", n_resamples=200)) == json.dumps(first)
    assert first.signature.startswith(kept.signature + "|ci:bca")
    assert "by_type.A" in first.to_table()
    assert "valid_cases" in first.to_table("csv")
    with pytest.raises(ValueError, match="keep_statistics=True"):
        sums.by(groups)
    with pytest.raises(ValueError, match=r"evaluate_typed\(\) keeps up to 24,000,000 numbers"):
        sums.statistics("partial")


def test_registered_metrics_in_intervals_and_comparisons() -> None:
    references, predictions = corpus(40, seed=2)
    keys = ["partial", "typed_partial", "valid_cases"]
    typed = evaluate_typed(references=references, predictions=predictions).confidence_intervals(n_resamples=50)
    plain = mycelium.bootstrap(
        references=references, predictions=predictions, metrics=keys, average="micro", n_resamples=50
    )
    for key in keys:
        np.testing.assert_array_equal(plain.replicates(key), typed.replicates(key))
    found = mycelium.compare(
        references, {"one": predictions, "perfect": references}, metrics=["typed_partial"], n_resamples=50
    )
    assert found["systems"]["perfect"]["scores"]["typed_partial"]["f1"]["score"] == 1.0
    # A share of examples of one kind is divided once, under macro too: examples have pseudo-values.
    shares = mycelium.compare(
        references, {"one": predictions, "perfect": references}, metrics=["valid_cases"], n_resamples=50
    )
    shares_of = [shares["systems"][name]["scores"]["valid_cases"]["clean"]["score"] for name in ("one", "perfect")]
    valid = [found for row, found in zip(references, predictions, strict=True) if not row]
    assert shares_of == [sum(not found for found in valid) / len(valid), 1.0]
    of_examples = shares.differences("one", "perfect", "valid_cases", "clean")
    assert of_examples.mean() == pytest.approx(shares_of[0] - 1, abs=0.02)
    board = mycelium.leaderboard(
        references, {"one": predictions, "perfect": references}, metric="typed_partial", n_resamples=50
    )
    assert board["overall"][0]["system"] == "perfect"


# -- slices


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_slices_are_evaluations_of_their_examples(average: str) -> None:
    references, predictions = corpus(60, seed=4)
    values = ["xy"[i % 3 == 0 and not any(s[2] == "B" for s in references[i] + predictions[i])] for i in range(60)]
    options: dict[str, Any] = {"types": [*"ABCD"], "average": average, "sample_weight": None}
    report = evaluate_typed(references=references, predictions=predictions, **options)
    slices = report.by(values)
    assert list(slices) == ["x", "y"]
    for value, part in slices.items():
        rows = [i for i in range(60) if values[i] == value]
        alone = evaluate_typed(
            references=[references[i] for i in rows], predictions=[predictions[i] for i in rows], **options
        )
        assert isinstance(part, TypedReport)
        assert bits(part) == bits(alone)
        assert part.signature == alone.signature
        assert part.to_table() == alone.to_table()
    assert slices["y"]["meta"]["macro_types"] == ["A", "C"]
    assert report["meta"]["macro_types"] == ["A", "B", "C"]
    with pytest.warns(UserWarning, match="few examples"):
        each = report.confidence_intervals(by=values, n_resamples=20)
    for value, found in each.items():
        assert found.scores["macro"] == {o: slices[value]["macro"][o] for o in PRF}
    table = mycelium.report.slices_table(slices, name="slice", format="csv")
    assert (
        table.splitlines()[0]
        == "slice,examples,strict,strict_typed,partial,typed_partial,character,macro,weighted,valid_cases"
    )
    assert table.splitlines()[1].split(",")[4] == f"{slices['x']['partial']['f1']:.4f}"


def test_statistics_have_a_row_for_each_example() -> None:
    references, predictions = corpus(20, seed=5)
    report = evaluate_typed(references=references, predictions=predictions)
    counted = report.statistics("by_type.B")
    assert counted.shape == (20, 4)
    assert counted[:, 3].tolist() == [sum(span[2] == "B" for span in row) for row in references]
    matrix = report.statistics("confusion").reshape(20, 4, 4)
    assert matrix.sum(axis=0).tolist() == report["confusion"]["matrix"]
    assert matrix[:, :-1].sum(axis=(1, 2)).tolist() == [len(row) for row in references]
    assert report.statistics("types")[:, 4:8].tolist() == counted.tolist()
    with pytest.raises(KeyError, match=r"no metric .by_type\.E.; it has partial, .*types"):
        report.statistics("by_type.E")


# -- streams


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_pieces_make_the_whole(average: str) -> None:
    references, predictions = corpus(50, seed=6)
    whole = evaluate_typed(references=references, predictions=predictions, types=[*"ABC"], average=average)
    rng = random.Random(0)
    for _ in range(4):
        order = rng.sample(range(50), 50)
        cuts = [0, *sorted(rng.sample(range(1, 50), 3)), 50]
        parts = []
        for a, b in pairwise(cuts):
            part = TypedAccumulator(types=[*"ABC"], average=average)
            rows = order[a:b]
            for piece in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                part.update([references[i] for i in piece], [predictions[i] for i in piece])
            parts.append(part)
        states = [part.state() for part in parts]
        assert len(states[0]) == len(parts[0].state_names) == len(set(parts[0].state_names))
        from_states = TypedAccumulator(types=[*"ABC"], average=average)
        from_states.add_state(sum(states[1:], states[0]))
        assert bits(from_states.compute()) == bits(whole)
        first = pickle.loads(pickle.dumps(parts[0]))
        for other in parts[1:]:
            first.merge(pickle.loads(pickle.dumps(other)))
        assert bits(first.compute()) == bits(whole)
        assert first.compute().signature == whole.signature


def test_accumulators_with_other_conventions_do_not_merge() -> None:
    one = TypedAccumulator(types="causal")
    with pytest.raises(ValueError, match="different settings"):
        one.merge(TypedAccumulator(types=TYPES["causal"][::-1]))
    with pytest.raises(ValueError, match="different settings"):
        one.merge(TypedAccumulator(types="causal", overlap_credit=1.0))
    with pytest.raises(ValueError, match="different settings"):
        one.merge(mycelium.Accumulator(metrics=["partial"]))
    one.merge(TypedAccumulator(types=list(TYPES["causal"])))
    with pytest.raises(ValueError, match="shape"):
        one.add_state(np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="no examples"):
        one.compute()


def test_reports_survive_pickling() -> None:
    references, predictions = corpus(40, seed=7)
    report = evaluate_typed(references=references, predictions=predictions, average="macro")
    copy = pickle.loads(pickle.dumps(report))
    assert (bits(copy), copy.signature, copy.to_table()) == (bits(report), report.signature, report.to_table())
    one, other = (json.dumps(x.confidence_intervals(n_resamples=30)) for x in (report, copy))
    assert one == other


def test_metrics_for_a_list_of_types() -> None:
    rules = TypeRules(("A", "B"), overlap_credit=1.0)
    made = [of_type(rules, "B"), macro_types(rules), weighted_types(rules), confusion(rules)]
    again = TypeRules(("A", "B"), overlap_credit=1.0)
    assert made == [of_type(again, "B"), macro_types(again), weighted_types(again), confusion(again)]
    assert made == pickle.loads(pickle.dumps(made))
    assert macro_types(rules) != macro_types(TypeRules(("A",)))
    references, predictions = corpus(30, seed=8, types="AB")
    report = mycelium.evaluate(references=references, predictions=predictions, metrics=made[:3], average="macro")
    typed = evaluate_typed(references=references, predictions=predictions, overlap_credit=1.0)
    assert report["macro"] == {o: typed["macro"][o] for o in PRF}
    assert report["by_type.B"] == {o: typed["by_type"]["B"][o] for o in PRF}
    with pytest.raises(ValueError, match=r"references: 1 span with unknown types \('C'\).*row 1, span 0 \[0, 4\]"):
        macro_types(rules).statistics([[], [[0, 4, "C"]]], [[], []])
    with pytest.raises(ValueError, match="absent_types"):
        macro_types(rules, absent="no")


# -- weights


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_weight_two_is_the_row_twice(average: str) -> None:
    references, predictions = corpus(30, seed=9)
    weights = [i % 3 for i in range(30)]
    rows = [i for i, weight in enumerate(weights) for _ in range(weight)]
    options: dict[str, Any] = {"types": [*"ABCD"], "average": average}
    weighted = evaluate_typed(references=references, predictions=predictions, sample_weight=weights, **options)
    repeated = evaluate_typed(
        references=[references[i] for i in rows], predictions=[predictions[i] for i in rows], **options
    )
    for key in repeated:
        if key != "meta":
            assert json.dumps(weighted[key]) == json.dumps(repeated[key])
    half = evaluate_typed(
        references=references, predictions=predictions, sample_weight=[w / 4 for w in weights], **options
    )
    assert half["partial"]["f1"] == pytest.approx(weighted["partial"]["f1"], rel=1e-12)
    assert half["partial"]["correct"] == weighted["partial"]["correct"] / 4
    assert half["confusion"]["matrix"] == (weighted.confusion_matrix() / 4).tolist()
    assert "weights:yes" in half.signature


# -- types


def test_the_lists_by_name() -> None:
    assert TYPES["causal"] == ("ADD-PATH", "ADD-DEVICE", "NEG-FLIP", "LAT-FLIP", "CONTRA")
    assert set(TYPES["ragtruth"]) == {
        *("Evident Conflict", "Subtle Conflict", "Evident Baseless Info", "Subtle Baseless Info")
    }
    row = [[0, 4, "Evident Conflict"]]
    report = evaluate_typed(references=[row], predictions=[row], types="ragtruth")
    assert list(report["by_type"]) == list(TYPES["ragtruth"])
    assert "|types:ragtruth|" in report.signature
    named = evaluate_typed(references=[row], predictions=[row], types=TYPES["ragtruth"])
    assert named.signature == report.signature


@pytest.mark.corpora
def test_the_list_of_ragtruth_holds_the_labels_of_its_corpus(corpora: Any) -> None:
    from mycelium.corpora.ragtruth import load_ragtruth

    spans = load_ragtruth(corpora / "ragtruth", split="train+test").references
    assert spans.label is not None
    assert set(spans.label.tolist()) <= set(TYPES["ragtruth"])
    report = evaluate_typed(references=spans, predictions=spans, types="ragtruth")
    assert report["strict_typed"]["f1"] == report["macro"]["f1"] == 1.0
    assert report["partial"]["correct"] == len(spans.start)
    assert all(name in (corpora / "ragtruth" / "README.md").read_text(encoding="utf-8") for name in TYPES["ragtruth"])


def test_all_labels_of_the_data_in_their_order() -> None:
    report = evaluate_typed(references=[[0, 4, "b"]], predictions=[[0, 4, "a"], [6, 7, "c, d|e"]])
    assert list(report["by_type"]) == report["meta"]["types"] == ["a", "b", "c, d|e"]
    assert "|types:a,b,'c, d|e'|" in report.signature


@pytest.mark.parametrize(
    ("types", "error", "message"),
    [
        ("casual", ValueError, "no list named 'casual'; there are causal, ragtruth"),
        (["A", "A"], ValueError, "twice"),
        (["A", "none"], ValueError, "number 1 is 'none'"),
        (["A", " "], ValueError, "number 1"),
        (["A", 1], TypeError, "number 1 is 1"),
        ({"A", "B"}, TypeError, "order"),
        (5, TypeError, "list of names"),
        ([str(i) for i in range(201)], ValueError, "holds 201 types, expected at most 200"),
    ],
)
def test_wrong_lists(types: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TypedAccumulator(types=types)


def test_labels_that_are_no_types() -> None:
    texts = [[[0, 4, f"because {i}"]] for i in range(300)]
    with pytest.raises(ValueError, match="holds 300 types, expected at most 200: they make a matrix"):
        evaluate_typed(references=texts, predictions=texts)


def test_a_type_called_none_is_refused_in_data() -> None:
    with pytest.raises(ValueError, match="none"):
        evaluate_typed(references=[[0, 4, "none"]], predictions=[])


def test_unknown_types_raise_and_nothing_is_counted() -> None:
    scores = TypedAccumulator(types=["A", "B"])
    scores.update([[[0, 4, "A"]]], [[[0, 4, "A"]]])
    before = scores.state().tolist()
    message = (
        "predictions: 2 spans with unknown types ('X', 'Y'); the first is row 1, span 1 [6, 9] of type 'Y';"
        " the types are 'A', 'B'"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        scores.update([[[0, 4, "A"]], []], [[], [[0, 2, "B"], [6, 9, "Y"], [1, 2, "X"]]])
    assert scores.state().tolist() == before


def test_unknown_types_are_ignored_and_counted() -> None:
    references = [[[0, 4, "A"], [6, 9, "X"]], [[0, 2, "X"]]]
    predictions = [[[0, 4, "A"]], [[0, 2, "Y"], [0, 1, "Z"], [4, 6, "A"]]]
    report = evaluate_typed(references=references, predictions=predictions, types=["A"], unknown_types="ignore")
    without = evaluate_typed(
        references=[[[0, 4, "A"]], []], predictions=[[[0, 4, "A"]], [[4, 6, "A"]]], types=["A"], unknown_types="ignore"
    )
    assert report["meta"].pop("ignored") == {"references": 2, "predictions": 2}
    assert without["meta"].pop("ignored") == {"references": 0, "predictions": 0}
    assert bits(report) == bits(without)
    parts = [TypedAccumulator(types=["A"], unknown_types="ignore") for _ in range(3)]
    for part, r, p in zip(parts, references, predictions, strict=False):
        part.update([r], [p])
    parts[2].add_state(parts[0].state() + parts[1].state())
    parts[0].merge(parts[1])
    for part in (parts[0], parts[2]):
        assert part.compute()["meta"]["ignored"] == {"references": 2, "predictions": 2}
    assert "left out for their unknown types: 2 references and 2 predictions" in parts[0].compute().to_table()
    assert "unknown:ignore" in report.signature


def test_spans_without_a_type() -> None:
    message = r"references: 2 spans without a type; the first is row 1, span 1 \[3, 4\]"
    with pytest.raises(ValueError, match=message):
        evaluate_typed(references=[[], [[0, 2, "A"], [3, 4, None], {"start": 5, "end": 6}]], predictions=[[], []])
    with pytest.raises(ValueError, match=r"predictions: 1 span without a type; the first is row 0, span 0 \[0, 4\]"):
        evaluate_typed(references=[[0, 4, "A"]], predictions=[[0, 4]])
    with pytest.raises(ValueError, match=r"strict_typed reads types; references: 1 span "):
        mycelium.evaluate(references=[[0, 4]], predictions=[], metrics=["strict_typed"])
    with pytest.raises(ValueError, match=r"row 20001, span 0"):
        metrics.typed_partial.statistics([[]] * 20_001 + [[[0, 4]]], [[]] * 20_002)
    # Measures that do not read types do without.
    assert mycelium.evaluate(references=[[0, 4]], predictions=[[0, 3]], metrics=["partial"])["partial"]["f1"] == 0.5


# -- input


def test_forms_of_input() -> None:
    rows = [[[0, 4, "A"], [6, 9, "B"]], []]
    expected = bits(evaluate_typed(references=rows, predictions=rows))
    dicts = [[{"start": s, "end": e, "type": t} for s, e, t in row] for row in rows]
    columns = [{"start": [0, 6], "end": [4, 9], "label": ["A", "B"]}, {"start": [], "end": [], "label": []}]
    for form in (dicts, columns, as_spans(rows)):
        assert bits(evaluate_typed(references=form, predictions=rows)) == expected
        assert bits(evaluate_typed(references=rows, predictions=form)) == expected
    one = evaluate_typed(references=rows[0], predictions=rows[0], text="0123456789")
    assert one["meta"]["examples"] == 1
    assert one["strict_typed"]["correct"] == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"overlap_credit": 1.5}, ValueError, "overlap_credit must be between 0 and 1"),
        ({"overlap_credit": "half"}, TypeError, "overlap_credit"),
        ({"min_overlap": -0.1}, ValueError, "min_overlap"),
        ({"overlap_base": "gold"}, ValueError, "overlap_base must be one of reference, union, prediction"),
        ({"matching": "official"}, ValueError, "matching must be one of 'max_shared'"),
        ({"unknown_types": "drop"}, ValueError, "unknown_types must be one of 'raise', 'ignore'"),
        ({"absent_types": 0}, ValueError, "absent_types must be one of 'exclude', 'zero'"),
        ({"average": "weighted"}, ValueError, "average"),
        ({"undefined": 0.5}, ValueError, "undefined"),
        ({"keep_statistics": "yes"}, TypeError, "keep_statistics"),
        ({"text": "0123"}, ValueError, "text"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate_typed(references=[[0, 4, "A"]], predictions=[[0, 5, "A"]], **options)


def test_no_examples() -> None:
    with pytest.raises(ValueError, match="no examples"):
        evaluate_typed(references=as_spans([]), predictions=as_spans([]))


def test_the_signature_names_every_convention() -> None:
    row = [[0, 4, "A"]]
    plain = evaluate_typed(references=row, predictions=row)
    assert plain.signature == (
        f"mycelium|v:{mycelium.__version__}|avg:micro|undef:1|unit:char|invalid:raise|tol:0|typed|types:A"
        "|matching:max_shared|credit:0.5|min_overlap:0.0|base:reference|absent:exclude|unknown:raise"
    )
    others: list[dict[str, Any]] = [
        {"types": ["A", "B"]},
        {"average": "macro"},
        {"overlap_credit": 1.0},
        {"min_overlap": 0.1},
        {"overlap_base": "union"},
        {"unknown_types": "ignore"},
        {"absent_types": "zero"},
        {"undefined": None},
        {"sample_weight": 2},
    ]
    signatures = {evaluate_typed(references=row, predictions=row, **options).signature for options in others}
    assert len(signatures | {plain.signature}) == len(others) + 1


# -- layouts


def test_tables() -> None:
    report = evaluate_typed(
        references=[[[0, 10, "A"], [12, 20, "B<|&"]], []], predictions=[[[0, 10, "A"], [14, 22, "A"]], []]
    )
    lines = report.to_table().splitlines()
    assert lines[0].split() == [
        "measure",
        *("precision", "recall", "F1"),
        *("correct", "partial", "spurious", "missed", "references"),
    ]
    assert lines[3].split() == ["partial", "0.7500", "0.7500", "0.7500", "1", "1", "0", "0", "2"]
    assert lines[1].split() == ["strict", "0.5000", "0.5000", "0.5000", "1", "1", "1", "2"]
    assert lines[-3] == "1 valid case, 1.0000 kept clean; 1 invalid case, 1.0000 caught, 1.0000 localised"
    assert lines[-1] == report.signature
    assert report.to_table("csv").count("\n") == 9
    assert "B&lt;|&amp;" in report._repr_html_()
    for style in ("markdown", "latex", "html"):
        assert report.to_table(style) != report.confusion_table(style)
    assert [line.split() for line in report.confusion_table().splitlines()] == [
        ["reference", "A", "B<|&", "none"],
        ["A", "1", "0", "0"],
        ["B<|&", "1", "0", "0"],
        ["none", "0", "0", "0"],
    ]
    assert report.confusion_matrix().tolist() == report["confusion"]["matrix"]
    assert report.flat()["by_type.A_f1"] == report["by_type"]["A"]["f1"]
    assert len(report.flat()) == 3 * (5 + 2 + 2 + 1)


def test_everything_is_plain() -> None:
    references, predictions = corpus(20, seed=10)
    for options in ({}, {"average": "macro", "include_per_example": True}, {"sample_weight": [0.3] * 20}):
        report = evaluate_typed(references=references, predictions=predictions, **options)

        def plain(x: Any) -> bool:
            if isinstance(x, dict):
                return all(type(k) is str and plain(v) for k, v in x.items())
            return all(map(plain, x)) if isinstance(x, list) else type(x) in (int, float, str)

        assert plain(report)
        assert json.loads(report.to_json())["report"] == report


def test_the_picture() -> None:
    pytest.importorskip("sklearn")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    report = evaluate_typed(references=[[0, 10, "A"], [12, 20, "B"]], predictions=[[0, 10, "A"], [14, 22, "A"]])
    display = report.plot_confusion()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["A", "B", "none"]
    assert [[cell.get_text() for cell in row] for row in display.text_] == [["1", "0", "0"], ["1", "0", "0"], ["0"] * 3]
    assert display.ax_.get_ylabel() == "type of the reference"
    _, ax = pyplot.subplots()
    assert report.plot_confusion(ax=ax, cmap="Greens", colorbar=False).ax_ is ax
    pyplot.close("all")


def test_a_missing_library_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
        return real(name, *args, **kwargs)

    report = evaluate_typed(references=[[0, 10, "A"]], predictions=[])
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"mycelium-eval\[sklearn,plot\]"):
        report.plot_confusion()


def test_large_reports_keep_sums_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mycelium.typed.evaluation.CELLS_KEPT", 100)
    references, predictions = corpus(40, seed=11)
    groups = list(range(40))
    report = evaluate_typed(references=references, predictions=predictions, groups=groups, include_per_example=True)
    assert len(report["partial"]["per_example"]) == 40
    assert report_module.CELLS_KEPT == 24_000_000
    with pytest.raises(ValueError, match="the sums of groups"):
        report.statistics("partial")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert report.confidence_intervals(n_resamples=20)["meta"]["units"] == 40


def test_many_types() -> None:
    """Blocks of rows shrink, so that the confusion matrices of a block stay small."""
    names = [f"t{i:03}" for i in range(150)]
    scores = TypedAccumulator(types=names)
    assert scores._rows_at_once is not None
    assert scores._rows_at_once * 151**2 < 2**26
    references = [[[i, i + 2, name]] for i, name in enumerate(names)] * 20
    report = evaluate_typed(references=references, predictions=references[::-1][:3000][::-1], types=names)
    assert np.diag(report.confusion_matrix())[:-1].tolist() == [20] * 150
    assert report["meta"]["examples"] == 3000


# -- other entrances of the measures


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize(("metric", "output"), [("valid_cases", "clean"), ("partial", "f1")])
def test_thresholds_of_the_measures(metric: str, output: str, average: str) -> None:
    """Every threshold has the score of its spans alone, and shares of cases are divided once."""
    rng = random.Random(0)
    references, _ = corpus(12, seed=12)
    scores_ = [[rng.choice([0.1, 0.4, 0.6, 0.9]) for _ in range(40)] for _ in references]
    best = best_threshold(references, scores_, metric=metric, output=output, average=average)
    assert len(best.thresholds) == 5
    for threshold, score in zip(best.thresholds, best.scores, strict=True):
        found = [
            [[a, b] for a, b in mycelium.spans_from_probabilities([row], float(threshold))[0].tolist()]
            for row in scores_
        ]
        report = mycelium.evaluate(references=references, predictions=found, metrics=[metric], average=average)
        assert score == report[metric][output]


def test_a_share_of_cases_in_scikit_learns_terms() -> None:
    pytest.importorskip("sklearn")
    from mycelium.sklearn import span_score

    references, predictions = corpus(30, seed=13)
    report = evaluate_typed(references=references, predictions=predictions)
    for average in ("micro", "macro"):
        for zero_division in (1.0, float("nan")):
            found = span_score(
                references,
                predictions,
                metric="valid_cases",
                output="clean",
                average=average,
                zero_division=zero_division,
            )
            assert found == report["valid_cases"]["clean"]
