"""SpanEvaluator: detectors of all kinds in, scores out."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import mycelium
from mycelium.hf import EvaluatorReport, SpanEvaluator

TEXTS = ["Paris has two towers.", "Fine.", "It is 300 m high, in Rome."]
SPANS = [[[10, 13]], [], [[6, 11], [21, 25]]]
DATA = {"text": TEXTS, "spans": SPANS}


class FakePipeline:
    """What SpanEvaluator sees of a token-classification pipeline of transformers."""

    task = "token-classification"
    tokenizer = object()

    def __init__(
        self, found: dict[str, list[dict[str, Any]]], labels: tuple[str, ...] = ("O", "B-HAL", "I-HAL")
    ) -> None:
        self.found = found
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=dict(enumerate(labels))))
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def __call__(self, inputs: Any, **options: Any) -> Any:
        self.calls.append((inputs, options))
        assert isinstance(inputs, list)
        return [self.found.get(text, []) for text in inputs]


def entity(start: int | None, end: int | None, score: float = 0.9, group: str = "HAL") -> dict[str, Any]:
    return {"entity_group": group, "score": score, "word": "...", "start": start, "end": end}


FOUND = {TEXTS[0]: [entity(10, 13)], TEXTS[2]: [entity(6, 9, 0.8), entity(21, 25, 0.4), entity(0, 2, 0.3, "ODD")]}


def test_a_pipeline() -> None:
    pipeline = FakePipeline(FOUND, ("O", "B-HAL", "I-HAL", "B-ODD"))
    report = SpanEvaluator(metrics=["exact_span"], average="micro").compute(pipeline, DATA)
    # 2 of 4 predictions, and of 3 references, are right
    assert report["exact_span"] == {"precision": 0.5, "recall": 2 / 3, "f1": 4 / 7}
    assert isinstance(report, EvaluatorReport)
    assert report.predictions.tolist() == [[[10, 13]], [], [[6, 9], [21, 25], [0, 2]]]
    assert report.predictions.label.tolist() == ["HAL", "HAL", "HAL", "ODD"]
    assert report.predictions.score.tolist() == [0.9, 0.8, 0.4, 0.3]
    assert pipeline.calls == [(TEXTS, {})]


def test_the_report_is_that_of_the_library() -> None:
    report = SpanEvaluator(profile="ragtruth").compute(FakePipeline(FOUND), DATA)
    expected = mycelium.evaluate(
        references=SPANS,
        predictions=[[[10, 13]], [], [[6, 9], [21, 25], [0, 2]]],
        text=TEXTS,
        profile="ragtruth",
    )
    assert report == expected
    assert report.signature == expected.signature
    assert report.to_table() == expected.to_table()
    assert report.by(["a", "b", "a"])["a"] == expected.by(["a", "b", "a"])["a"]
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report
    assert copy.predictions.equals(report.predictions)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"labels": "HAL"}, [[6, 9], [21, 25]]),
        ({"labels": {"ODD"}}, [[0, 2]]),
        ({"threshold": 0.4}, [[6, 9], [21, 25]]),
        ({"threshold": 0.40000001}, [[6, 9]]),
        ({"labels": ["HAL", "ODD"], "threshold": 0.35}, [[6, 9], [21, 25]]),
    ],
)
def test_what_is_scored(options: dict[str, Any], expected: list[list[int]]) -> None:
    pipeline = FakePipeline(FOUND, ("O", "B-HAL", "B-ODD"))
    assert SpanEvaluator(**options).predict(pipeline, DATA).tolist()[2] == expected


def test_strip() -> None:
    text = " Paris  is\n big "
    found = {text: [entity(0, 6), entity(6, 8), entity(8, 12, 0.7)]}
    raw = SpanEvaluator().predict(FakePipeline(found), text=[text])
    assert raw.tolist() == [[[0, 6], [6, 8], [8, 12]]]
    stripped = SpanEvaluator(strip=True).predict(FakePipeline(found), text=[text])
    assert stripped.tolist() == [[[1, 6], [8, 10]]]
    assert stripped.score.tolist() == [0.9, 0.7]
    assert stripped.label.tolist() == ["HAL", "HAL"]


def test_empty_texts_are_not_handed_to_a_pipeline() -> None:
    pipeline = FakePipeline(FOUND)
    found = SpanEvaluator().predict(pipeline, text=["", TEXTS[0], ""])
    assert found.tolist() == [[], [[10, 13]], []]
    assert pipeline.calls == [([TEXTS[0]], {})]
    assert SpanEvaluator().predict(pipeline, text=[""]).tolist() == [[]]


def test_batch_size() -> None:
    pipeline = FakePipeline(FOUND)
    SpanEvaluator(batch_size=2).compute(pipeline, DATA)
    assert pipeline.calls == [(TEXTS, {"batch_size": 2})]
    sizes: list[int] = []

    def detector(texts: list[str]) -> list[Any]:
        sizes.append(len(texts))
        return [[[0, 1]] for _ in texts]

    assert SpanEvaluator(batch_size=2).compute(detector, DATA).predictions.tolist() == [[[0, 1]]] * 3
    assert sizes == [2, 1]
    with pytest.raises(ValueError, match="returned 1 rows for texts 0 to 1"):
        SpanEvaluator(batch_size=2).predict(lambda texts: [[]], DATA)
    with pytest.raises(ValueError, match="batch_size must be a positive integer, got 0"):
        SpanEvaluator(batch_size=0)


@pytest.mark.parametrize(
    "spans",
    [[[0, 2]], [(0, 2, "x")], [{"start": 0, "end": 2, "prob": 0.5}], {"start": [0], "end": [2]}],
    ids=["pairs", "typed", "dicts", "dict of lists"],
)
def test_callables_may_return_spans_in_any_form(spans: Any) -> None:
    assert SpanEvaluator().compute(lambda text: spans, DATA).predictions.tolist() == [[[0, 2]]] * 3


def test_a_callable_that_needs_more_than_the_text() -> None:
    rows = [
        {"answer": "Paris has 2 towers.", "context": "Paris has 1 tower.", "gold": [[10, 11]]},
        {"answer": "Rome has 7 hills.", "context": "Rome has 7 hills.", "gold": []},
    ]

    def digits(answer: str, context: str) -> list[list[int]]:
        return [[i, i + 1] for i, c in enumerate(answer) if c.isdigit() and c not in context]

    def first_digit(context: str) -> list[list[int]]:
        return [[i, i + 1] for i, c in enumerate(context) if c.isdigit()]

    columns = {"text": "answer", "references": "gold"}
    report = SpanEvaluator().compute(digits, rows, **columns, inputs=["answer", "context"])
    assert report.predictions.tolist() == [[[10, 11]], []]
    assert report["iou"]["score"] == 1.0
    report = SpanEvaluator().compute(first_digit, rows, **columns, inputs="context")
    assert report.predictions.tolist() == [[[10, 11]], [[9, 10]]]


def test_where_the_data_may_come_from() -> None:
    expected = SpanEvaluator().compute(FakePipeline(FOUND), DATA)
    rows = [dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)]
    assert SpanEvaluator().compute(FakePipeline(FOUND), rows) == expected
    assert SpanEvaluator().compute(FakePipeline(FOUND), text=TEXTS, references=SPANS) == expected
    frame = pytest.importorskip("pandas").DataFrame(DATA)
    assert SpanEvaluator().compute(FakePipeline(FOUND), frame) == expected
    dataset = pytest.importorskip("datasets").Dataset.from_dict(DATA)
    assert SpanEvaluator().compute(FakePipeline(FOUND), dataset) == expected
    backwards = dataset.select([2, 1, 0])
    assert SpanEvaluator().compute(FakePipeline(FOUND), backwards).predictions.tolist()[2] == [[10, 13]]


@pytest.mark.parametrize("kind", ["dict", "rows", "dataset"])
def test_a_missing_column_is_named(kind: str) -> None:
    data: Any = DATA
    if kind == "rows":
        data = [{"text": "", "spans": []}]
    elif kind == "dataset":
        data = pytest.importorskip("datasets").Dataset.from_dict(DATA)
    with pytest.raises(ValueError, match="references: the data has no column 'labels'; it has text, spans"):
        SpanEvaluator().compute(FakePipeline(FOUND), data, references="labels")
    if kind == "rows":
        with pytest.raises(ValueError, match="references: row 1 has no 'spans'"):
            SpanEvaluator().compute(FakePipeline(FOUND), [*data, {"text": ""}])
    with pytest.raises(ValueError, match="text='text' names a column, but there is no data"):
        SpanEvaluator().predict(FakePipeline(FOUND))


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match="'metric', did you mean 'metrics'"):
        SpanEvaluator(metric="iou")
    with pytest.raises(ValueError, match="profile must be one of"):
        SpanEvaluator(profile="rag")


@pytest.mark.parametrize(
    ("pipeline", "options", "error", "message"),
    [
        (FakePipeline(FOUND), {"labels": {"HALU"}}, ValueError, "the pipeline has no label HALU; it has HAL, O"),
        (
            FakePipeline({TEXTS[2]: [entity(0, 2, group="LABEL_0")]}, ("LABEL_0", "LABEL_1")),
            {},
            ValueError,
            "text 2: the pipeline marks LABEL_0.*labels=",
        ),
        (
            FakePipeline({TEXTS[1]: [{"entity": "B-HAL", "score": 0.5, "index": 1, "start": 0, "end": 2}]}),
            {},
            ValueError,
            'aggregation_strategy="simple"',
        ),
        (FakePipeline({TEXTS[1]: [entity(None, None)]}), {}, ValueError, "text 1: .*fast tokenizer"),
        (
            FakePipeline({TEXTS[1]: [entity(0, 6)]}),
            {},
            ValueError,
            r"predictions: 1 invalid span in 1 row: row 1, span 0 \[0, 6\]: past the end of the text \(5 characters\)",
        ),
    ],
    ids=["unknown label", "nameless label", "no aggregation", "no offsets", "past the text"],
)
def test_traps_of_pipelines(pipeline: Any, options: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        SpanEvaluator(**options).compute(pipeline, DATA)


def test_nameless_labels_can_be_chosen() -> None:
    found = {TEXTS[0]: [entity(0, 10, group="LABEL_0"), entity(10, 13, group="LABEL_1")]}
    pipeline = FakePipeline(found, ("LABEL_0", "LABEL_1"))
    assert SpanEvaluator(labels={"LABEL_1"}).predict(pipeline, DATA).tolist() == [[[10, 13]], [], []]


def test_what_no_detector_is() -> None:
    with pytest.raises(TypeError, match="a pipeline or a callable, got str"):
        SpanEvaluator().compute("model", DATA)
    other = FakePipeline({})
    other.task = "text-classification"
    with pytest.raises(TypeError, match="token-classification pipeline, got one for text-classification"):
        SpanEvaluator().compute(other, DATA)
    with pytest.raises(ValueError, match="without label"):
        SpanEvaluator(labels="HAL").compute(lambda text: [[0, 1]], DATA)
    with pytest.raises(ValueError, match="row 0 has a span without score"):
        SpanEvaluator(threshold=0.5).compute(lambda text: [[0, 1]], DATA)
    with pytest.raises(ValueError, match="a pipeline takes one column, inputs names text, spans"):
        SpanEvaluator().compute(FakePipeline({}), DATA, inputs=["text", "spans"])


def test_leniency_is_counted_on_both_sides() -> None:
    report = SpanEvaluator(invalid="drop", missing_rows="empty").compute(
        lambda text: [[0, 99]] if "Rome" in text else [], text=TEXTS, references=[None, [], [[3, 3]]]
    )
    assert report.invalid == mycelium.InvalidCounts(rows=2, dropped=2, missing=1)


def test_units_are_those_of_the_references() -> None:
    report = SpanEvaluator(end="inclusive").compute(lambda text: [[0, 2]], text=["abc"], references=[[[0, 1]]])
    assert report["exact_span"]["f1"] == 1.0
    report = SpanEvaluator(offsets="utf16").compute(lambda text: [[1, 2]], text=["🙂b"], references=[[[2, 3]]])
    assert report["exact_span"]["f1"] == 1.0


@pytest.mark.slow
def test_a_pipeline_of_transformers() -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={c: i for i, c in enumerate(sorted(alphabet))}, merges=[]))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="!")
    names = {0: "LABEL_0", 1: "LABEL_1"}
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(alphabet), id2label=names, **sizes)
    model = transformers.BertForTokenClassification(config).eval()
    texts = ["Paris has two towers.", "", "It is 300 m high."]
    expected = []
    for text in texts:
        flags = [0, 0]
        if text:  # one character, one token
            flags[1:1] = model(**tokenizer(text, return_tensors="pt")).logits[0].argmax(-1).tolist()
        edges = [i for i in range(len(flags) - 1) if flags[i] != flags[i + 1]]
        expected.append([list(span) for span in zip(edges[::2], edges[1::2], strict=True)])
    assert sum(map(len, expected)) > 1
    pipeline = transformers.pipeline(
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="simple"
    )
    report = SpanEvaluator(labels="LABEL_1").compute(pipeline, text=texts, references=expected)
    assert report.predictions.tolist() == expected
    assert report["exact_span"]["f1"] == 1.0
    with pytest.raises(ValueError, match="marks LABEL_"):
        SpanEvaluator().predict(pipeline, text=texts)
