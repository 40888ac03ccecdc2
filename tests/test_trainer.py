"""SpanMetrics with arrays standing for what a training loop hands back."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import token_oracle as oracle

import mycelium
from mycelium.trainer import SpanMetrics

METRICS = ["iou", "exact_span", "character"]


class Loop:
    """An evaluation set, and logits for it in the forms in which loops give them."""

    def __init__(self, seed: int, n: int = 6, classes: int = 2) -> None:
        rng, draw = random.Random(seed), np.random.default_rng(seed)
        self.texts = ["".join(rng.choice("ab é🙂 ") for _ in range(rng.randint(0, 30))) for _ in range(n)]
        self.gold = [
            sorted([a, min(len(t), a + rng.randint(1, 6))] for a in rng.sample(range(len(t)), min(len(t), 2)))
            for t in self.texts
        ]
        self.offsets: list[list[Any]] = []
        self.of: list[int] = []
        self.overflow: list[int] = []
        for example, text in enumerate(self.texts):
            tokens = [(i, min(i + 2, len(text))) for i in range(0, len(text), 2)]
            for begin in range(0, max(1, len(tokens) - 2), 3):
                self.offsets.append([None, None, *tokens[begin : begin + 5], None])
                self.of.append(example)
                self.overflow.append(example % 3)  # as batches of three examples count them
        self.labels = [[-100 if o is None else int(draw.integers(2)) for o in row] for row in self.offsets]
        # No two features alike, so that labels prove the order: a tail of the number in binary.
        for i, (row, tokens) in enumerate(zip(self.labels, self.offsets, strict=True)):
            bits = [int(bit) for bit in f"{i:06b}"]
            row += bits
            tokens += [(0, 0)] * len(bits)
        self.rows = [draw.normal(size=(len(row), classes)).astype(np.float32) for row in self.offsets]
        self.features = {
            "offset_mapping": self.offsets,
            "labels": self.labels,
            "example_id": [f"e{i}" for i in self.of],
        }
        self.examples = {"id": [f"e{i}" for i in range(n)], "gold": self.gold, "answer": self.texts}

    def metrics(self, **options: Any) -> SpanMetrics:
        tables = {"features": self.features, "examples": self.examples, "spans": "gold", "text": "answer"}
        return SpanMetrics(**{**tables, "metrics": METRICS, **options})

    def expected(self, positive: tuple[int, ...] = (1,), **options: Any) -> list[list[list[int]]]:
        values = []
        for row in self.rows:
            shares = [oracle.softmax(logits) for logits in row.astype(np.float64).tolist()]
            values.append([oracle.sum_in_order([share[c] for c in positive]) for share in shares])
        return oracle.decode(self.offsets, values, self.of, len(self.texts), text=self.texts, **options)

    def report(self, predictions: Any, **options: Any) -> dict[str, float]:
        report = mycelium.evaluate(
            references=self.gold, predictions=predictions, text=self.texts, metrics=METRICS, **options
        )
        return report.flat()

    def batch(self, which: Any, extra: int = 0, left: bool = False) -> tuple[Any, Any, Any]:
        """Return logits, labels and ids of some features, padded as a collator and a Trainer pad them."""
        which = list(which)
        width = max(len(self.labels[i]) for i in which)
        logits = np.full((len(which), width + extra, self.rows[0].shape[1]), -100, dtype=np.float32)
        labels = np.full((len(which), width + extra), -100)
        for j, i in enumerate(which):
            size = len(self.labels[i])
            begin = width - size if left else 0
            logits[j, :width] = 5.0  # what a model makes of padding in its own batch
            logits[j, begin : begin + size] = self.rows[i]
            labels[j, begin : begin + size] = self.labels[i]
        return logits, labels, np.array(which)

    def all(self, **options: Any) -> tuple[Any, Any, Any]:
        return self.batch(range(len(self.rows)), **options)


def prediction(values: Any, label_ids: Any) -> SimpleNamespace:
    return SimpleNamespace(predictions=values, label_ids=label_ids, inputs=None, losses=None)


@pytest.fixture(params=range(4))
def loop(request: pytest.FixtureRequest) -> Loop:
    return Loop(request.param)


# -- the same spans, however the rows come


def test_one_block(loop: Loop) -> None:
    metrics = loop.metrics()
    logits, labels, ids = loop.all(extra=2)
    expected = loop.expected()
    for values in (logits, (logits, [np.zeros(3)]), logits.astype(np.float64)):
        for label_ids in (labels, (labels, ids)):
            scores = metrics(prediction(values, label_ids))
            assert metrics.predictions is not None
            assert metrics.predictions.tolist() == expected
            assert scores == loop.report(expected)
    assert metrics((logits, labels)) == loop.report(expected)
    assert any(expected)
    assert metrics.report is not None
    assert (
        metrics.report.signature
        == mycelium.evaluate(references=loop.gold, predictions=expected, text=loop.texts, metrics=METRICS).signature
    )


@pytest.mark.parametrize("aggregate", ["mean", "max", "min"])
@pytest.mark.parametrize("threshold", [0.2, 0.7])
def test_options_of_the_decoding(loop: Loop, aggregate: str, threshold: float) -> None:
    metrics = loop.metrics(aggregate=aggregate, threshold=threshold, average="micro")
    logits, labels, _ = loop.all()
    expected = loop.expected(aggregate=aggregate, threshold=threshold)
    assert metrics((logits, labels)) == loop.report(expected, average="micro")
    assert metrics.decode(logits, threshold=0.5).tolist() == loop.expected(aggregate=aggregate)


def test_rows_in_another_order(loop: Loop) -> None:
    n = len(loop.rows)
    order = np.random.default_rng(1).permutation(n)
    logits, labels, ids = loop.batch(order)
    metrics = loop.metrics()
    metrics(prediction(logits, (labels, ids)))
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == loop.expected()
    for given in (labels, (labels,)):
        with pytest.raises(ValueError, match=r"its labels are not those of the feature .* or in another order; give"):
            metrics(prediction(logits, given))
        assert metrics.predictions is None
    # by an id and with the wrong labels: other features than those that the ids name
    with pytest.raises(ValueError, match="its labels are not those of the feature"):
        metrics(prediction(logits, (labels, np.arange(n))))


def test_batches(loop: Loop) -> None:
    n, metrics = len(loop.rows), loop.metrics()
    order = np.random.default_rng(2).permutation(n).tolist()
    for which, with_ids in ((list(range(n)), False), (list(range(n)), True), (order, True)):
        batches = [loop.batch(which[i : i + 4]) for i in range(0, n, 4)]
        values = [logits for logits, _, _ in batches]
        label_ids: list[Any] = [(labels, ids) if with_ids else labels for _, labels, ids in batches]
        expected = loop.report(loop.expected())
        # not concatenated
        assert metrics(prediction(values, label_ids)) == expected
        assert metrics(prediction([(v, [v]) for v in values], label_ids)) == expected
        # batch by batch, twice
        for _ in range(2):
            for i, parts in enumerate(zip(values, label_ids, strict=True)):
                got = metrics(prediction(*parts), compute_result=i == len(values) - 1)
                assert got == (expected if i == len(values) - 1 else {})
        # a loop of one's own
        if with_ids:
            for v, _, ids in batches:
                metrics.add(v, feature_id=ids)
            assert metrics.compute() == expected
            for _, _, ids in batches:
                metrics.add([loop.rows[i] for i in ids], ids.tolist())
            assert metrics.compute() == expected


def test_repeated_rows_of_a_distributed_sampler(loop: Loop) -> None:
    n, metrics = len(loop.rows), loop.metrics()
    logits, labels, ids = loop.batch([*range(n), 0, 1, 2])
    assert metrics(prediction(logits, (labels, ids))) == loop.report(loop.expected())
    with pytest.raises(ValueError, match=rf"{n + 3} rows were evaluated, the features are {n}; give TrainingArguments"):
        metrics(prediction(logits, labels))
    # of several rows of one feature the last counts
    logits, labels, ids = loop.batch([0, *range(n)])
    logits[0] *= -1
    assert metrics(prediction(logits, (labels, ids))) == loop.report(loop.expected())


def test_padding_at_the_left_is_found_by_the_labels(loop: Loop) -> None:
    metrics = loop.metrics()
    logits, labels, ids = loop.all(left=True, extra=1)
    for label_ids in (labels, (labels, ids)):
        assert metrics(prediction(logits, label_ids)) == loop.report(loop.expected())


def test_rows_with_few_labels_or_none() -> None:
    # one label; none, under a token; none, and no token
    features = {
        "offset_mapping": [[None, (0, 1), (1, 2)], [(0, 1)], [None]],
        "labels": [[-100, 1, -100], [-100], [-100]],
    }
    metrics = SpanMetrics(features=features, examples=None, spans=[[[0, 1]], [[0, 1]], []], metrics="exact_span")
    logits = np.zeros((3, 3, 2))
    logits[..., 0] = 1.0
    logits[0, 1] = logits[1, 0] = [0.0, 1.0]
    ids = np.arange(3)
    right = np.array([[-100, 1, -100], [-100] * 3, [-100] * 3])
    assert metrics((logits, (right, ids)))["exact_span_f1"] == 1.0
    # padded at the left, the row without tokens does no harm
    only = {name: [column[0], column[2]] for name, column in features.items()}
    left = np.array([[-100, -100, 1, -100], [-100] * 4])
    moved = np.pad(logits[[0, 2]], ((0, 0), (1, 0), (0, 0)))
    metrics = SpanMetrics(features=only, examples=None, spans=[[[0, 1]], []], metrics="exact_span")
    assert metrics((moved, (left, np.arange(2))))["exact_span_f1"] == 1.0
    # labels that were cut off
    with pytest.raises(ValueError, match="row 0: its labels are not those of the feature"):
        metrics((moved[:, 1:3], (left[:, 1:3], np.arange(2))))
    with pytest.raises(ValueError, match=r"\(no labels came back, 1 went in; 2 such rows\)"):
        metrics((moved, (left[:, :0], np.arange(2))))


def test_left_padding_without_labels_is_refused() -> None:
    features = {"offset_mapping": [[(0, 1)], [(0, 1), (1, 2)]], "labels": [[-100], [1, 0]]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[], []])
    labels = np.array([[-100, -100, -100], [-100, 1, 0]])
    with pytest.raises(ValueError, match="padded at the left, and feature 0 has no label"):
        metrics((np.zeros((2, 3, 2)), (labels, np.array([0, 1]))))


def test_gold_is_that_of_the_characters() -> None:
    # Tokens cannot say what the annotators marked: half of a token, and what truncation left out.
    features = {"offset_mapping": [[(0, 4), (5, 9)]], "labels": [[0, 1]]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[[7, 9], [20, 30]]], metrics="character")
    scores = metrics((np.array([[[1, 0], [0, 1]]], dtype=float), np.array([[0, 1]])))
    assert scores == {"character_precision": 0.5, "character_recall": 2 / 12, "character_f1": 4 / 16}


def test_pooled_over_batches_not_averaged() -> None:
    # TP 1; then FP 3 and FN 1.
    features = {
        "offset_mapping": [[(0, 1)], [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]],
        "labels": [[1], [0] * 6],
    }
    spans = [[[0, 1]], [[10, 11]]]
    metrics = SpanMetrics(features=features, examples=None, spans=spans, metrics="exact_span", average="micro")
    for _ in range(2):
        first = np.array([[[0.0, 1.0]]]), (np.array([[1]]), np.array([0]))
        second = np.zeros((1, 6, 2)), (np.array([[0] * 6]), np.array([1]))
        second[0][0, [0, 2, 4], 1] = 1
        second[0][0, [1, 3, 5], 0] = 1
        assert metrics(prediction(*first), compute_result=False) == {}
        assert metrics(prediction(*second), compute_result=True)["exact_span_f1"] == pytest.approx(1 / 3, abs=1e-15)


def test_padded_logits_are_not_class_0() -> None:
    long, short = [(i, i + 1) for i in range(6)], [(i, i + 1) for i in range(3)]
    features = {"offset_mapping": [long, short], "labels": [[0] * 6, [1] * 3]}
    logits = np.random.default_rng(0).normal(size=(2, 6, 2))
    logits[1, 3:] = -100
    metrics = SpanMetrics(features=features, examples=None, spans=[[], []], positive=(0,))
    values = [[oracle.softmax(logits[i, j].tolist())[0] for j in range(size)] for i, size in enumerate((6, 3))]
    expected = oracle.decode([long, short], values, [0, 1], 2)
    assert metrics.decode(logits).tolist() == expected
    metrics((logits, np.array([[0] * 6, [1, 1, 1, -100, -100, -100]])))
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == expected


def test_crossed_rows_are_never_scored() -> None:
    # Lengths 3 and 6, rows for 6 and 3.
    long, short = [(i, i + 1) for i in range(6)], [(i, i + 1) for i in range(3)]
    features = {"offset_mapping": [short, long], "labels": [[0] * 3, [0] * 6]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[], []], in_order=True)
    logits = np.ones((2, 6, 2))
    logits[1, 3:] = -100
    with pytest.raises(ValueError, match="row 0: its labels are not those of the feature"):
        metrics((logits, np.array([[0] * 6, [0, 0, 0, -100, -100, -100]])))
    with pytest.raises(ValueError, match="row 1: padding at token 3, the feature has 6 offsets: rows are in another"):
        metrics.decode(logits)
    with pytest.raises(ValueError, match="row 1: predictions for 3 tokens, the feature has 6 offsets"):
        metrics.decode(logits[:, :3])
    with pytest.raises(ValueError, match="5 rows were evaluated, the features are 2"):
        metrics.decode(np.ones((5, 6, 2)))


def test_order_that_labels_cannot_prove() -> None:
    features = {"offset_mapping": [[(0, 1)], [(0, 2)], [(0, 3)]], "labels": [[0], [0], [1]]}
    tables: dict[str, Any] = {"features": features, "examples": None, "spans": [[], [], []], "metrics": "iou"}
    logits, labels, ids = np.zeros((3, 1, 2)), np.array([[0], [0], [1]]), np.array([1, 0, 2])
    metrics = SpanMetrics(**tables)
    with pytest.raises(ValueError, match=r"nothing proves the order of the rows: 2 of 3 .*label_names=metrics"):
        metrics((logits, labels))
    assert metrics((logits, (labels, ids))) == {"iou": 0.0}
    assert SpanMetrics(**tables, in_order=True)((logits, labels)) == {"iou": 0.0}
    # nothing to compare at all
    for label_ids in (None, labels):
        only = {**features} if label_ids is None else {"offset_mapping": features["offset_mapping"]}
        with pytest.raises(ValueError, match="nothing proves the order of the rows: 3 of 3"):
            SpanMetrics(**{**tables, "features": only})((logits, label_ids))
    # windows without any token of the answer may change places
    harmless = {"offset_mapping": [[None], [None], [(0, 3)]], "labels": [[-100], [-100], [1]]}
    labels = np.array([[-100], [-100], [1]])
    assert SpanMetrics(**{**tables, "features": harmless})((logits, labels))["iou"] == 2 / 3


def test_missing_rows_are_named() -> None:
    loop = Loop(0)
    n, metrics = len(loop.rows), loop.metrics()
    logits, labels, ids = loop.batch([i for i in range(n) if i not in (1, 3)])
    with pytest.raises(ValueError, match=rf"2 of {n} features were not evaluated \(1, 3\)"):
        metrics(prediction(logits, (labels, ids)))
    with pytest.raises(ValueError, match=f"feature_id {n} belongs to no feature"):
        metrics(prediction(logits, (labels, ids + (ids == 0) * n)))
    with pytest.raises(ValueError, match="no rows were evaluated"):
        metrics.compute()


def test_an_evaluation_that_was_broken_off() -> None:
    loop = Loop(1)
    metrics, n = loop.metrics(), len(loop.rows)
    logits, labels, ids = loop.batch(range(n - 2))
    metrics(prediction(-logits, (labels, ids)), compute_result=False)  # and then nothing
    logits, labels, ids = loop.all()
    assert metrics(prediction(logits, (labels, ids)), compute_result=True) == loop.report(loop.expected())
    metrics(prediction(-logits, (labels, ids)), compute_result=False)
    assert metrics(prediction(logits, (labels, ids))) == loop.report(loop.expected())
    # without ids, refused once and then forgotten
    metrics(prediction(logits[:2], labels[:2]), compute_result=False)
    with pytest.raises(ValueError, match=f"{n + 2} rows were evaluated"):
        metrics(prediction(logits, labels), compute_result=True)
    assert metrics(prediction(logits, labels), compute_result=True) == loop.report(loop.expected())


def test_padding_is_no_value() -> None:
    # Only all classes at -100 are padding, and only where a token stands.
    features = {"offset_mapping": [[(0, 2), (0, 0), (2, 4)]], "labels": [[1, -100, 0]]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[[0, 2]]], metrics="iou")
    logits = np.array([[[-100.0, 5.0], [-100.0, -100.0], [5.0, -100.0]]])
    assert metrics((logits, np.array([[1, -100, 0]]))) == {"iou": 1.0}
    assert metrics.preprocess_logits_for_metrics((logits, [logits]), None) is logits
    assert metrics.preprocess_logits_for_metrics(logits, None) is logits


def test_a_single_row_needs_no_proof() -> None:
    metrics = SpanMetrics(features={"offset_mapping": [[(0, 2)]]}, examples=None, spans=[[[0, 2]]], metrics="iou")
    assert metrics((np.array([[[0.0, 1.0]]]), None)) == {"iou": 1.0}


def test_long_labels_are_shortened_in_messages() -> None:
    features = {"offset_mapping": [[(i, i + 1) for i in range(9)]], "labels": [[0] * 8 + [1]]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[]])
    with pytest.raises(
        ValueError, match=r"\(1 0 0 0 0 0 0 0 came back, 0 0 0 0 0 0 0 0 ... \(9 labels\) went in; 1 such"
    ):
        metrics((np.zeros((1, 9, 2)), np.array([[1] + [0] * 7 + [-100]])))


# -- several sets


def test_several_sets() -> None:
    loops = {"en": Loop(0, n=4), "fi": Loop(1, n=5), "same": Loop(0, n=4)}
    metrics = SpanMetrics(
        features={name: loop.features for name, loop in loops.items()},
        examples={name: loop.examples for name, loop in loops.items()},
        spans="gold",
        text="answer",
        metrics=METRICS,
    )
    assert list(metrics.eval_dataset) == list(loops)
    for name in ("fi", "same", "en"):
        loop = loops[name]
        logits, labels, _ = loop.all()
        ids = np.array([row["feature_id"] for row in metrics.eval_dataset[name]])
        assert metrics(prediction(logits, (labels, ids))) == loop.report(loop.expected())
        assert metrics.evaluated == name
        if name == "fi":
            assert metrics((logits, labels)) == loop.report(loop.expected())
            assert metrics.evaluated == "fi"
        else:
            with pytest.raises(ValueError, match=r"rows and labels fit several sets \(en, same\)"):
                metrics((logits, labels))
        assert metrics.decode(logits, name=name).tolist() == loop.expected()
    logits, labels, _ = loops["en"].all()
    with pytest.raises(ValueError, match=r"rows and labels fit several sets \(en, same\)"):
        metrics.decode(logits)
    with pytest.raises(ValueError, match="name must be one of 'en', 'fi', 'same', got 'de'"):
        metrics.decode(logits, name="de")
    both = [loops["en"].all(), loops["fi"].all()]
    begin = len(loops["en"].rows)
    with pytest.raises(ValueError, match="the rows belong to several of the sets"):
        metrics(prediction([b[0] for b in both], [(b[1], b[2] + i * begin) for i, b in enumerate(both)]))
    one, whole = loops["fi"].batch([0]), loops["en"].all()
    with pytest.raises(ValueError, match="the rows belong to several of the sets"):
        metrics(prediction([one[0], whole[0]], [(one[1], one[2] + begin), whole[1:]]))
    with pytest.raises(ValueError, match="spans must be one, with the name 'b'"):
        SpanMetrics(features={"a": GOOD["features"], "b": GOOD["features"]}, examples=None, spans={"a": [[], []]})


# -- classes


def test_tags_and_several_classes() -> None:
    loop = Loop(2, classes=3)
    logits, labels, _ = loop.all()
    pooled = loop.metrics(positive=(1, 2))
    pooled((logits, labels))
    assert pooled.predictions is not None
    assert pooled.predictions.tolist() == loop.expected(positive=(1, 2))
    id2label = {0: "O", 1: "B-conflict", 2: "I-conflict"}
    tagged = loop.metrics(positive=id2label)
    tagged((logits, labels))
    assert tagged.predictions is not None
    found = tagged.predictions.tolist()
    for example, text in enumerate(loop.texts):
        windows = [
            (loop.offsets[f], [oracle.softmax(row)[1:] for row in loop.rows[f].astype(np.float64).tolist()])
            for f in range(len(loop.rows))
            if loop.of[f] == example
        ]
        expected = oracle.decode_tagged(windows, 0.5, "mean", text, ["B-conflict", "I-conflict"])
        assert [[*span, "conflict"] for span in found[example]] == expected
    assert found != pooled.predictions.tolist()


def test_predictions_that_are_decided_already() -> None:
    features = {"offset_mapping": [[(0, 2), (2, 4), (5, 6)]], "labels": [[0, 1, 0]]}
    metrics = SpanMetrics(features=features, examples=None, spans=[[[2, 4]]], positive=(1, 2), threshold=0.6)
    label_ids = np.array([[0, 1, 0, -100]])
    assert metrics((np.array([[0, 2, 1, -100]]), label_ids))["iou"] == 0.5
    assert metrics((np.array([[0.5, 0.6, 0.7, -100]]), label_ids))["iou"] == 0.5
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == [[[2, 6]]]
    with pytest.raises(ValueError, match=r"row 0, token 1 \[nan, nan\]: expected a probability"):
        metrics((np.array([[[0.0, 1, 0], [np.nan, 1, 0], [1, 0, 0], [0, 0, 0]]]), label_ids))
    with pytest.raises(ValueError, match="2 classes, positive names 1, 2"):
        metrics((np.zeros((1, 4, 2)), label_ids))


def test_tokens_without_a_label_may_be_left_out() -> None:
    # A prompt whose tokens have offsets, counted from its own start.
    offsets, labels = [(0, 5), (6, 9), (0, 4), (5, 8)], [-100, -100, 0, 1]
    tables: dict[str, Any] = {"features": {"offset_mapping": [offsets], "labels": [labels]}, "examples": None}
    with pytest.raises(ValueError, match=r"run backwards .*tokens outside it \(special, of the prompt\) have None"):
        SpanMetrics(**tables, spans=[[]])
    metrics = SpanMetrics(**tables, spans=[[[5, 8]]], ignore_unlabelled=True)
    assert metrics((np.ones((1, 4, 2)), np.array([labels])))["iou"] == 3 / 8
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == [[[0, 8]]]


# -- the result


def test_results_are_flat_floats_with_stable_keys() -> None:
    features = {"offset_mapping": [[(0, 1)], [(0, 2), (2, 4)]], "labels": [[0], [1, 1]]}
    for gold in ([[], []], [[[0, 1]], []]):
        metrics = SpanMetrics(features=features, examples=None, spans=gold)
        keys = None
        for sign in (1, -1, 0):
            logits = np.zeros((2, 2, 2))
            logits[..., 1] = sign
            scores = metrics((logits, np.array([[0, -100], [1, 1]])))
            assert set(map(type, scores.values())) == {float}
            assert json.loads(json.dumps(scores, allow_nan=False)) == scores
            assert keys in (None, list(scores))
            keys = list(scores)
        assert keys is not None
        assert {"iou", "character_f1", "exact_span_f1"} <= set(keys)
        assert not any(key.startswith("eval_") for key in keys)


def test_leniency_is_counted() -> None:
    features = {"offset_mapping": [[(0, 3)], [(0, 3)]], "labels": [[0], [1]]}
    options: dict[str, Any] = {"spans": [[[1, 9]], None], "text": ["abc", "def"], "examples": None}
    with pytest.raises(ValueError, match=r"spans: 1 row without annotation"):
        SpanMetrics(features=features, **options)
    metrics = SpanMetrics(features=features, **options, invalid="clip", missing_rows="empty", metrics="iou")
    metrics((np.zeros((2, 1, 2)), np.array([[0], [1]])))
    assert metrics.report is not None
    assert metrics.report.invalid._asdict() == {"rows": 1, "dropped": 0, "clipped": 1, "missing": 1}
    assert metrics.report.signature.startswith(
        f"mycelium|v:{mycelium.__version__}|avg:macro|undef:default|unit:char|invalid:clip"
    )
    units = SpanMetrics(
        features={"offset_mapping": [[(0, 1), (1, 4)]], "labels": [[0, 1]]},
        examples=None,
        spans=[[[2, 5]]],
        text=["🙂abc"],
        offsets="utf16",
    )
    assert units((np.array([[[1.0, 0], [0, 1]]]), np.array([[0, 1]])))["iou"] == 1.0


# -- tables


def test_tables_of_any_kind() -> None:
    loop = Loop(3)
    logits, labels, ids = loop.all()
    expected = loop.report(loop.expected())
    rows = [dict(zip(loop.features, row, strict=True)) for row in zip(*loop.features.values(), strict=True)]
    examples = [dict(zip(loop.examples, row, strict=True)) for row in zip(*loop.examples.values(), strict=True)]
    metrics = loop.metrics(features=rows, examples=examples)
    assert metrics((logits, labels)) == expected
    assert [row["feature_id"] for row in metrics.eval_dataset] == ids.tolist()
    assert [{k: v for k, v in row.items() if k != "feature_id"} for row in metrics.eval_dataset] == rows
    assert loop.metrics().eval_dataset == metrics.eval_dataset
    again = loop.metrics(features=metrics.eval_dataset)
    assert again.eval_dataset == metrics.eval_dataset
    bare = loop.metrics(
        examples=None,
        spans=loop.gold,
        text=loop.texts,
        features=[
            {**r, "overflow_to_sample_mapping": o}
            for r, o in zip(
                [{k: v for k, v in r.items() if k != "example_id"} for r in rows], loop.overflow, strict=True
            )
        ],
    )
    assert bare((logits, labels)) == expected
    pd = pytest.importorskip("pandas")
    assert loop.metrics(features=pd.DataFrame(rows), examples=pd.DataFrame(examples))((logits, labels)) == expected


def test_datasets() -> None:
    datasets = pytest.importorskip("datasets")
    loop = Loop(3)
    logits, labels, ids = loop.all()
    expected = loop.report(loop.expected())
    as_lists = [[None if o is None else list(o) for o in row] for row in loop.offsets]
    features = datasets.Dataset.from_dict({**loop.features, "offset_mapping": as_lists})
    examples = datasets.Dataset.from_dict(loop.examples)
    metrics = loop.metrics(features=features, examples=examples)
    assert metrics((logits, labels)) == expected
    assert list(metrics.eval_dataset["feature_id"]) == ids.tolist()
    # shuffled: columns are read through the indices
    order = np.random.default_rng(0).permutation(len(features)).tolist()
    shuffled = loop.metrics(features=features.select(order), examples=examples.select([5, 4, 3, 2, 1, 0]))
    values, given, _ = loop.batch(order)
    assert shuffled((values, given)) == expected
    assert shuffled.predictions is not None
    assert shuffled.predictions.tolist() == loop.expected()[::-1]
    assert list(shuffled.eval_dataset["feature_id"]) == ids.tolist()
    assert list(shuffled.eval_dataset["labels"]) == [loop.labels[i] for i in order]
    sets = loop.metrics(
        features=datasets.DatasetDict({"a": features, "b": features}), examples={"a": examples, "b": examples}
    )
    assert list(sets.eval_dataset["b"]["feature_id"]) == [i + len(ids) for i in ids.tolist()]


# -- refusals at construction

OFFSETS: list[Any] = [[(0, 1), (1, 2)], [(0, 1)]]
GOOD: dict[str, Any] = {
    "features": {"offset_mapping": OFFSETS, "labels": [[0, 1], [0]]},
    "examples": None,
    "spans": [[], []],
}


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"features": {"input_ids": [[1]], "labels": [[0]]}}, ValueError, "no column 'offset_mapping': tokenize with"),
        ({"features": [{"labels": [0]}]}, ValueError, "no column 'offset_mapping'"),
        ({"features": {}}, ValueError, "features: an empty dict"),
        ({"features": 3}, TypeError, "features: expected a dataset, a list of dicts or a dict of columns, got int"),
        ({"features": [{"offset_mapping": []}, {}]}, ValueError, "features: row 1 has no 'offset_mapping'"),
        ({"spans": [[]]}, ValueError, "2 features for 1 examples: give the features a column 'example_id'"),
        ({"spans": "gold"}, ValueError, "examples have no column 'gold'"),
        ({"examples": {"a": [1]}, "spans": "gold"}, ValueError, "examples have no column 'gold'"),
        ({"spans": [[], [[3, 1]]]}, ValueError, r"spans: 1 invalid span in 1 row: row 1, span 0 \[3, 1\]: reversed"),
        ({"text": ["ab", "a"], "spans": [[], [[0, 2]]]}, ValueError, r"spans: .*past the end of the text"),
        (
            {"text": ["a", "a"]},
            ValueError,
            r"offsets: row 0, token 1 \(1, 2\): past the end of the text; offsets count",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "labels": [[0], [0]]}},
            ValueError,
            "offset_mapping has 2 tokens, labels has 1",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "labels": [[0, 1]]}},
            ValueError,
            "offset_mapping has 2 rows, labels has 1",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "input_ids": [[1, 2], [3, 4]]}},
            ValueError,
            "row 1: offset_mapping has 1 tokens, input_ids has 2",
        ),
        ({"features": {"offset_mapping": OFFSETS, "labels": [[0, "B"], [0]]}}, TypeError, "labels: expected integers"),
        (
            {"features": {"offset_mapping": OFFSETS}, "ignore_unlabelled": True},
            ValueError,
            "ignore_unlabelled needs the column",
        ),
        ({"positive": ()}, ValueError, "positive must name classes"),
        ({"positive": (True,)}, ValueError, "positive must name classes"),
        ({"positive": (1, 1)}, ValueError, "positive names a class twice"),
        ({"positive": {0: "supported", 1: "hallucinated"}}, ValueError, "tags: 'supported': expected B-type"),
        ({"threshold": 1.5}, ValueError, "threshold must be between 0 and 1"),
        ({"aggregate": "median"}, ValueError, "aggregate must be one of"),
        ({"metrics": "nothing"}, ValueError, "nothing"),
        ({"metrics": "soft_correlation"}, ValueError, "soft_correlation"),
        ({"average": "weighted"}, ValueError, "average must be one of"),
        ({"treshold": 0.5}, TypeError, "treshold"),
        (
            {"features": {"a": GOOD["features"]}},
            ValueError,
            "features are a dict of sets, so spans must be one, with the name 'a'",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "example_id": ["x", "y"]}},
            ValueError,
            "so examples need a column of ids",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "example_id": ["x", "z"]}, "examples": {"id": ["x", "y"]}},
            ValueError,
            "row 1: example_id 'z' is the id of no example",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "example_id": ["x", "x"]}, "examples": {"id": ["x", "x"]}},
            ValueError,
            "rows 0 and 1 have one id, 'x'; make",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "example_id": ["x", "x"]}, "examples": {"id": ["x", "y"]}},
            ValueError,
            r"1 of 2 have no feature \(row 1, for one\)",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "overflow_to_sample_mapping": [0, 0]}},
            ValueError,
            "belong to 1 examples, as far as",
        ),
        (
            {"features": {"offset_mapping": OFFSETS, "overflow_to_sample_mapping": [0, 2]}},
            ValueError,
            "row 1 is 2 after 0",
        ),
    ],
)
def test_refused_at_construction(changes: dict[str, Any], error: Any, match: str) -> None:
    SpanMetrics(**GOOD)
    with pytest.raises(error, match=match):
        SpanMetrics(**{**GOOD, **changes})


def test_a_set_is_named_by_its_errors() -> None:
    with pytest.raises(ValueError, match="fi: 2 features for 1 examples"):
        SpanMetrics(
            features={"en": GOOD["features"], "fi": GOOD["features"]}, examples=None, spans={"en": [[], []], "fi": [[]]}
        )


@pytest.mark.parametrize(
    ("values", "label_ids", "match"),
    [
        (np.zeros((2, 2, 2, 2)), None, r"expected numbers of shape \(features, tokens, classes\)"),
        (np.array([["a"]]), None, "expected numbers of shape"),
        ((), None, "an empty tuple"),
        ([np.zeros((2, 2, 2))], np.zeros((2, 2)), "a list of 1 batches, label_ids are not"),
        ([np.zeros((2, 2, 2))], [], "a list of 1 batches, label_ids are not"),
        (np.zeros((2, 2, 2)), (np.zeros((2, 2)), np.arange(2)), "labels: expected integers"),
        (
            np.zeros((2, 2, 2)),
            (np.zeros((2, 2), dtype=int), np.arange(3)),
            r"feature_id: expected integers of shape \(2,\)",
        ),
        (np.zeros((2, 2, 2)), (np.arange(2), np.arange(2)), r"got shapes \(2,\), \(2,\)"),
        ("logits", None, "expected an array or a tensor, got str"),
    ],
)
def test_refused_in_a_loop(values: Any, label_ids: Any, match: str) -> None:
    metrics = SpanMetrics(**GOOD)
    with pytest.raises((TypeError, ValueError), match=match):
        metrics((values, label_ids))


@pytest.mark.parametrize("rows", [[], [np.zeros((1, 2, 2))], [np.zeros((1, 2)), np.zeros((1, 3))]])
def test_refused_rows(rows: Any) -> None:
    with pytest.raises(ValueError, match="expected a list of arrays of shape"):
        SpanMetrics(**GOOD).add(rows, list(range(len(rows))))


def test_other_calls_are_refused() -> None:
    with pytest.raises(TypeError, match="expected an EvalPrediction or"):
        SpanMetrics(**GOOD)((1, 2, 3))
    with pytest.raises(TypeError, match="expected an EvalPrediction or"):
        SpanMetrics(**GOOD)([1, 2])
    with pytest.raises(TypeError, match="expected an EvalPrediction or"):
        SpanMetrics(**GOOD)(np.zeros(3))
    with pytest.raises(ValueError, match="a column 'feature_id' of other numbers"):
        SpanMetrics(**{**GOOD, "features": {**GOOD["features"], "feature_id": [7, 8]}}).eval_dataset  # noqa: B018
