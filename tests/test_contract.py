"""The contract of a metric, checked on every one in the registry, and on broken ones that must fail it.

Each ``check_*`` takes a metric and raises AssertionError where the metric breaks the promise of its name.
"""

from __future__ import annotations

import json
import math
import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import mycelium
from mycelium import Accumulator, metrics
from mycelium.metrics import Metric

AVERAGES = ("micro", "macro")
OUTPUTS = (("precision", "recall", "f1"), ("score",), ("clean", "caught", "localised"))


@dataclass
class Sample:
    """Rows for any metric: hard spans with types, soft spans and texts."""

    references: list[list[list[Any]]]
    predictions: list[list[list[Any]]]
    text: list[str]
    soft_references: list[list[dict[str, Any]]]
    soft_predictions: list[list[dict[str, Any]]]

    def __len__(self) -> int:
        return len(self.references)

    def take(self, rows: Sequence[int]) -> Sample:
        return Sample(*([side[i] for i in rows] for side in vars(self).values()))

    def arguments(self, metric: Metric) -> dict[str, Any]:
        names = [
            "references",
            "predictions",
            *(["text", "soft_references", "soft_predictions"] if "soft" in metric.needs else []),
        ]
        return {name: getattr(self, name) for name in names}

    def report(self, metric: Metric, **options: Any) -> mycelium.Report:
        return mycelium.evaluate(**self.arguments(metric), metrics=[metric], **options)

    def bits(self, metric: Metric, **options: Any) -> str:
        """Return the values of both averages as text that shows every bit."""
        return json.dumps([self.report(metric, average=average, **options)[metric.key] for average in AVERAGES])


LENGTH = 60


def random_sample(seed: int, rows: int) -> Sample:
    rng, types = random.Random(seed), random.Random(seed)

    def spans() -> list[list[Any]]:
        row = []
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 6])):
            start = rng.randrange(LENGTH - 1)
            row.append([start, min(LENGTH, start + rng.randint(1, 17)), types.choice("AB")])
        return row + row[: rng.choice([0, 0, 0, 1])]

    def soft(row: list[list[Any]]) -> list[dict[str, Any]]:
        return [{"start": s, "end": e, "prob": rng.choice([0.1, 0.3, 1 / 3, 0.7, 1.0])} for s, e, _ in row]

    references = [spans() for _ in range(rows)]
    predictions = [
        rng.sample(row, len(row)) if row and rng.random() < 0.3 else [*spans(), *row[: rng.choice([0, 1])]]
        for row in references
    ]
    return Sample(
        references,
        predictions,
        ["." * LENGTH] * rows,
        [soft(spans()) for _ in range(rows)],
        [soft(spans()) for _ in range(rows)],
    )


def disjoint_sample(seed: int, rows: int) -> Sample:
    """Rows with one to five spans of four to eight characters, no two sharing one; both sides are the same."""
    rng = random.Random(seed)
    references = []
    for _ in range(rows):
        starts = rng.sample(range(0, LENGTH, 10), rng.randint(1, 5))
        references.append([[start, start + rng.randint(4, 8), "AB"[start // 10 % 2]] for start in starts])
    soft = [[{"start": s, "end": e, "prob": (i + 1) / 10} for i, (s, e, _) in enumerate(row)] for row in references]
    return Sample(references, [row[::-1] for row in references], ["." * LENGTH] * rows, soft, soft)


SAMPLE = random_sample(1, 40)
SMALL = random_sample(2, 7)


# -- the contract


def check_statistics(metric: Metric) -> None:
    """Statistics have the declared columns and dtype; values have the declared outputs on every leading shape."""
    counted = metric.statistics(**SAMPLE.arguments(metric))
    k, outputs = len(metric.columns), len(metric.outputs)
    assert counted.shape == (len(SAMPLE), k)
    assert counted.dtype == (np.int64 if metric.integer(**metric.values) else np.float64)
    assert np.isfinite(counted).all()
    rows = metric.value(counted)
    assert rows.shape == (len(SAMPLE), outputs)
    assert rows.dtype == np.float64
    one = metric.value(counted[0])
    assert one.shape == (outputs,)
    assert one.tolist() == rows[0].tolist()
    block = metric.value(counted[:24].reshape(2, 3, 4, k))
    assert block.shape == (2, 3, 4, outputs)
    assert block.reshape(24, outputs).tolist() == rows[:24].tolist()
    assert metric.value(counted[:0]).shape == (0, outputs)
    assert metric.statistics(**SAMPLE.take([]).arguments(metric)).shape == (0, k)
    # What value was given is not what it may write on.
    before = counted.copy()
    metric.value(counted)
    assert (counted == before).all()
    assert tuple(metric.outputs) in OUTPUTS
    entry = SAMPLE.report(metric)[metric.key]
    assert list(entry) == list(metric.outputs)


def check_rows_are_independent(metric: Metric) -> None:
    """The statistics of an example do not depend on the examples beside it, nor does its score."""
    together = metric.statistics(**SAMPLE.arguments(metric)).tolist()
    alone = [metric.statistics(**SAMPLE.take([i]).arguments(metric)).tolist()[0] for i in range(len(SAMPLE))]
    assert alone == together
    per_example = SAMPLE.report(metric, include_per_example=True)[metric.key]["per_example"]
    assert per_example == [
        SAMPLE.take([i]).report(metric, include_per_example=True)[metric.key]["per_example"][0]
        for i in range(len(SAMPLE))
    ]


def check_row_order(metric: Metric) -> None:
    """The order of the examples changes no bit."""
    expected = SAMPLE.bits(metric)
    rng = random.Random(3)
    for _ in range(5):
        assert SAMPLE.take(rng.sample(range(len(SAMPLE)), len(SAMPLE))).bits(metric) == expected


def check_span_order(metric: Metric) -> None:
    """The order of references and predictions inside an example changes no bit."""
    expected = SAMPLE.bits(metric)
    counted = metric.statistics(**SAMPLE.arguments(metric)).tolist()
    rng = random.Random(4)
    for _ in range(5):
        shuffled = replace(
            SAMPLE,
            references=[rng.sample(row, len(row)) for row in SAMPLE.references],
            predictions=[rng.sample(row, len(row)) for row in SAMPLE.predictions],
        )
        assert shuffled.bits(metric) == expected
        assert metric.statistics(**shuffled.arguments(metric)).tolist() == counted


def check_split_and_merge(metric: Metric) -> None:
    """Accumulators over parts of the batch, updated in pieces and merged in any order, give the same bits."""
    rng = random.Random(5)
    for average in AVERAGES:
        expected = json.dumps(SAMPLE.report(metric, average=average))
        for _ in range(5):
            order = rng.sample(range(len(SAMPLE)), len(SAMPLE))
            cuts = [0, *sorted(rng.sample(range(1, len(SAMPLE)), 4)), len(SAMPLE)]
            parts = []
            for a, b in pairwise(cuts):
                part = Accumulator(metrics=[metric], average=average)
                middle = rng.randint(a, b)
                for piece in (order[a:middle], order[middle:b]):
                    if piece:
                        part.update(**SAMPLE.take(piece).arguments(metric))
                parts.append(part)
            rng.shuffle(parts)
            left = parts[0]
            left.merge(parts[1])
            right = parts[2]
            right.merge(parts[3])
            right.merge(parts[4])
            left.merge(right)
            assert json.dumps(left.compute()) == expected


def check_weights(metric: Metric) -> None:
    """Weight 2 is the row twice, weight 0 the row left out; whole weights change no bit."""
    rng = random.Random(6)
    for weights in ([2] * len(SMALL), [rng.choice([0, 1, 2, 3]) for _ in range(len(SMALL))], [0, 0, 1, 0, 0, 0, 2]):
        repeated = SMALL.take([i for i, w in enumerate(weights) for _ in range(w)])
        assert SMALL.bits(metric, sample_weight=weights) == repeated.bits(metric)
        assert SMALL.bits(metric, sample_weight=[float(w) for w in weights]) == repeated.bits(metric)
    assert SMALL.bits(metric, sample_weight=[1.0] * len(SMALL)) == SMALL.bits(metric)


def check_identity(metric: Metric) -> None:
    """Disjoint spans scored against themselves are perfect."""
    sample = disjoint_sample(7, 12)
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    for average in AVERAGES:
        report = sample.report(metric, average=average, include_per_example=True)[metric.key]
        rows = report.pop("per_example")
        values = [*report.values(), *(x for row in rows for x in (row.values() if isinstance(row, dict) else [row]))]
        # A correlation is a quotient of roots.
        assert all(abs(x - best) <= (1e-12 if "soft" in metric.needs else 0.0) for x in values)


def check_bounds(metric: Metric) -> None:
    """No value leaves the declared bounds."""
    low, high = metric.bounds
    assert low < high
    for sample in (SAMPLE, SMALL, disjoint_sample(8, 10)):
        values = metric.value(metric.statistics(**sample.arguments(metric)))
        assert (values >= low).all()
        assert (values <= high).all()
        for average in AVERAGES:
            assert all(low <= x <= high for x in sample.report(metric, average=average)[metric.key].values())


def plain(value: object) -> bool:
    if type(value) is dict or isinstance(value, mycelium.Report):
        return all(type(k) is str and plain(v) for k, v in value.items())
    if type(value) is list:
        return all(plain(x) for x in value)
    return value is None or type(value) in (float, int, str)


def check_plain(metric: Metric) -> None:
    """Reports hold Python's own floats, ints and strings and can be written as strict JSON."""
    empty = Sample([[]], [[]], ["..."], [[]], [[]])
    silent = Sample([[[0, 2, "A"]]], [[]], ["..."], [[{"start": 0, "end": 2, "prob": 0.9}]], [[]])
    for sample in (SAMPLE, empty, silent):
        for average in AVERAGES:
            report = sample.report(metric, average=average, include_per_example=True)
            assert plain(report)
            assert all(type(x) is float for k, x in report[metric.key].items() if k != "per_example")
            assert json.loads(json.dumps(report, allow_nan=False)) == report


def check_undefined(metric: Metric) -> None:
    """Where there is nothing to divide by, the values are what ``undefined`` says, the metric's own by default."""
    zero = np.zeros((2, len(metric.columns)), dtype=np.int64 if metric.integer(**metric.values) else np.float64)
    assert metric.value(zero).tolist() == [[metric.undefined] * len(metric.outputs)] * 2
    for value in (0.0, 1.0, 0.5):
        assert metric.value(zero, value).tolist() == [[value] * len(metric.outputs)] * 2
    assert np.isnan(metric.value(zero, math.nan)).all()


def check_parameters(metric: Metric) -> None:
    """Parameters outside their range, of another type, or unknown, are refused."""
    for parameter in metric.parameters:
        if parameter.choices:
            assert parameter.default in parameter.choices
            for choice in parameter.choices:
                assert metric.at(**{parameter.name: choice}).values[parameter.name] == choice
            for wrong in ("no such choice", None, True, 1, ["union"]):
                refused(metric, {parameter.name: wrong})
            continue
        assert parameter.minimum <= parameter.default <= parameter.maximum
        if not parameter.integer:
            assert metric.at(**{parameter.name: parameter.minimum}).values[parameter.name] == parameter.minimum
        for value in (parameter.minimum - 1, math.nan, math.inf, -math.inf):
            refused(metric, {parameter.name: value})
        if math.isfinite(parameter.maximum):
            refused(metric, {parameter.name: 2 * parameter.maximum + 1})
        for wrong in ("1", None, True, [1]):
            refused(metric, {parameter.name: wrong})
        if parameter.integer:
            refused(metric, {parameter.name: 1.5})
    refused(metric, {"no_such_parameter": 1})


def refused(metric: Metric, parameters: dict[str, Any]) -> None:
    message = ""
    try:
        metric.at(**parameters)
    except (TypeError, ValueError) as error:
        message = str(error)
    assert next(iter(parameters)) in message, f"{metric.key} takes {parameters}: {message or 'no error'}"


def check_description(metric: Metric) -> None:
    """What tables, the command line and the docs print is there; a metric survives pickling."""
    assert metric.name.isidentifier()
    assert metric.summary
    assert metric.reference
    assert len(set(metric.columns)) == len(metric.columns) > 0
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.key == metric.key
    assert copy.values == metric.values
    assert SMALL.bits(copy) == SMALL.bits(metric)


CONTRACT: dict[str, Callable[[Metric], None]] = {
    name.removeprefix("check_"): check for name, check in globals().items() if name.startswith("check_")
}

GOOD = [
    *metrics.available(),
    metrics.get("span_coverage").at(delta=2, min_pred_len=2),
    metrics.get("deteval_1d").at(recall_threshold=0.5, granularity_penalty=0.3),
    metrics.get("deteval_1d").at(tolerance=1e-9, precision_threshold=0.0),
    metrics.get("cleval_1d").at(granularity_penalty_weight=0.1),
    metrics.get("cleval_1d").at(granularity_penalty_weight=3, area_precision_threshold=0.0),
    metrics.get("partial").at(overlap_credit=0.3, min_overlap=0.5),
    metrics.get("typed_partial").at(overlap_credit=1.0, min_overlap=0.2, overlap_base="union"),
    metrics.get("muc_type").at(min_overlap=0.5, overlap_base="prediction"),
]


@pytest.mark.parametrize("metric", GOOD, ids=lambda metric: metric.key)
@pytest.mark.parametrize("check", CONTRACT.values(), ids=CONTRACT)
def test_contract(check: Callable[[Metric], None], metric: Metric) -> None:
    check(metric)


def test_the_contract_is_whole() -> None:
    assert set(CONTRACT) == {
        "statistics",
        "rows_are_independent",
        "row_order",
        "span_order",
        "split_and_merge",
        "weights",
        "identity",
        "bounds",
        "plain",
        "undefined",
        "parameters",
        "description",
    }
    assert {metric.name for metric in GOOD} == set(metrics.REGISTRY)


def test_the_samples_are_hard_enough() -> None:
    """The promises would be cheap on rows that no metric finds difficult."""
    for metric in metrics.available():
        rows = metric.value(metric.statistics(**SAMPLE.arguments(metric)))
        assert len({tuple(row) for row in rows.tolist()}) >= 3
    assert any(len(row) > len({tuple(span) for span in row}) for row in SAMPLE.references)
    assert any(not r and not p for r, p in zip(SAMPLE.references, SAMPLE.predictions, strict=True))
    assert any(r and not p for r, p in zip(SAMPLE.references, SAMPLE.predictions, strict=True))
    assert any(p and not r for r, p in zip(SAMPLE.references, SAMPLE.predictions, strict=True))


# -- broken metrics

exact = metrics.get("exact_span")


def broken(name: str, **changes: Any) -> Metric:
    return replace(exact, name=name, **changes)


def counts_by_place(line: Any, **values: Any) -> Any:
    """Weigh a row by its place in the batch."""
    counted = exact.stats(line, **values)
    return counted * (1 + np.arange(len(counted)))[:, None]


def counts_by_share(line: Any, **values: Any) -> Any:
    """Hand out shares of the batch instead of counts: sums over batches mean nothing."""
    counted = exact.stats(line, **values)
    return counted / max(1, len(counted))


def counts_by_previous_row(line: Any, **values: Any) -> Any:
    """Let a row see the one before it."""
    counted = exact.stats(line, **values)
    counted[1:, 0] = np.minimum(counted[1:, 0] + counted[:-1, 0], counted[1:, 1])
    return counted


class CountsByOrder:
    """Count something else at every second call: an order that the metric remembers."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, line: Any, **values: Any) -> Any:
        self.calls += 1
        counted = exact.stats(line, **values)
        counted[:, 0] *= self.calls % 2
        return counted


def ratio(change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda totals, undefined, **values: change(exact.evaluate(totals, undefined, **values))


def ignores_undefined(totals: Any, undefined: float, **values: Any) -> Any:
    return exact.evaluate(totals, 1.0, **values)


def writes_on_its_input(totals: Any, undefined: float, **values: Any) -> Any:
    result = exact.evaluate(totals, undefined, **values)
    totals[...] = 0
    return result


def not_a_number(totals: Any, undefined: float, **values: Any) -> Any:
    return exact.evaluate(totals, math.nan, **values)


class NoLimit(metrics.Parameter):
    """A parameter that takes anything."""

    def check(self, value: Any, metric: str) -> Any:
        return value


def real(**values: Any) -> bool:
    return False


BROKEN: list[tuple[str, Metric]] = [
    ("row_order", broken("row_order", stats=counts_by_place)),
    ("rows_are_independent", broken("row_order", stats=counts_by_place)),
    ("weights", broken("row_order", stats=counts_by_place)),
    ("split_and_merge", broken("row_order", stats=counts_by_place)),
    ("split_and_merge", broken("not_additive", stats=counts_by_share, integer=real)),
    ("rows_are_independent", broken("not_additive", stats=counts_by_share, integer=real)),
    ("rows_are_independent", broken("previous", stats=counts_by_previous_row)),
    ("row_order", broken("previous", stats=counts_by_previous_row)),
    ("span_order", broken("span_order", stats=CountsByOrder())),
    ("bounds", broken("too_large", evaluate=ratio(lambda x: 1.5 * x))),
    ("bounds", broken("negative", evaluate=ratio(lambda x: x - 0.5))),
    ("bounds", broken("not_a_number", evaluate=not_a_number)),
    ("identity", broken("too_small", evaluate=ratio(lambda x: 0.5 * x))),
    ("identity", broken("almost", evaluate=ratio(lambda x: np.nextafter(x, 0)))),
    ("identity", broken("upside_down", evaluate=ratio(lambda x: 1.0 - x))),
    ("undefined", broken("ignores_undefined", evaluate=ignores_undefined)),
    ("undefined", broken("another_default", undefined=0.25, evaluate=ignores_undefined)),
    ("statistics", broken("one_column_more", columns=("matched", "predictions", "references", "more"))),
    ("statistics", broken("one_output_less", outputs=("score",))),
    ("statistics", broken("wrong_dtype", integer=real)),
    ("statistics", broken("wrong_numbers", stats=lambda line, **v: exact.stats(line, **v) * 1.0)),
    ("statistics", broken("writes", evaluate=writes_on_its_input)),
    ("parameters", broken("no_limit", parameters=(NoLimit("limit", 1.0),))),
    ("description", broken("silent", summary="")),
    ("description", broken("no_source", reference="")),
]


@pytest.mark.parametrize(("check", "metric"), BROKEN, ids=[f"{metric.name}-{check}" for check, metric in BROKEN])
def test_broken_metrics_fail_the_contract(check: str, metric: Metric) -> None:
    with pytest.raises(AssertionError):
        CONTRACT[check](metric)


@pytest.mark.parametrize("check", [name for name in CONTRACT if name not in ("description",)])
def test_the_same_metric_unbroken_passes(check: str) -> None:
    """What the broken ones are made of is not what fails."""
    CONTRACT[check](broken("sound"))


# -- the registry


def test_keys_find_their_metrics() -> None:
    assert [metric.key for metric in metrics.available()] == list(metrics.REGISTRY)
    assert list(metrics.REGISTRY)[:6] == list(metrics.DEFAULT)
    assert metrics.DEFAULT == ("exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage")
    assert {"response", "soft_correlation"} <= set(metrics.REGISTRY)
    for metric in metrics.available():
        assert metrics.get(metric.key) is metric
        assert getattr(metrics, metric.name) is metric
    for metric in GOOD:
        found = metrics.get(metric.key)
        assert found == metric
        assert found.key == metric.key


def test_names_of_columns() -> None:
    columns = {metric.name: metric.columns for metric in metrics.available()}
    assert columns == {
        "exact_span": ("matched", "predictions", "references"),
        "iou": ("intersection", "union"),
        "character": ("intersection", "predicted", "referenced"),
        "deteval_1d": (
            "full_predictions",
            "shared_predictions",
            "predictions",
            "full_references",
            "shared_references",
            "references",
        ),
        "cleval_1d": ("precision_part", "predicted", "recall_part", "referenced"),
        "span_coverage": ("contained", "predictions", "hit", "references"),
        "response": ("matched", "predictions", "references"),
        "soft_correlation": ("correlation", "rows"),
        "strict": ("correct", "predictions", "references"),
        "strict_typed": ("correct", "predictions", "references"),
        "partial": ("correct", "partial", "predictions", "references"),
        "typed_partial": ("correct", "partial", "predictions", "references"),
        "valid_cases": ("kept_clean", "valid", "caught", "localised", "invalid"),
        **dict.fromkeys(
            ["muc_strict", "muc_exact", "muc_partial", "muc_type"],
            ("correct", "incorrect", "partial", "missed", "spurious"),
        ),
    }


@pytest.mark.parametrize("name", list(metrics.REGISTRY))
def test_duplicates_are_refused(name: str) -> None:
    before = dict(metrics.REGISTRY)
    with pytest.raises(ValueError, match=name):
        metrics.register(replace(exact, name=name))
    assert before == metrics.REGISTRY


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "two words"},
        {"name": ""},
        {"name": "span_coverage(delta=2)"},
        {"name": "twice", "columns": ("a", "a", "b")},
        {"name": "twice", "outputs": ("f1", "f1", "recall")},
        {"name": "twice", "parameters": (metrics.Parameter("a", 1.0), metrics.Parameter("a", 2.0))},
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    before = dict(metrics.REGISTRY)
    with pytest.raises(ValueError):
        metrics.register(replace(exact, **changes))
    assert before == metrics.REGISTRY


def test_a_metric_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.base, "REGISTRY", dict(metrics.REGISTRY))
    mine = metrics.register(broken("mine", summary="my own"))
    assert metrics.get("mine") is mine
    report = mycelium.evaluate(references=[[0, 4]], predictions=[[0, 4]], metrics=["mine"])
    assert report["mine"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}


@pytest.mark.parametrize(
    "key",
    [
        "no_such_metric",
        "",
        "span_coverage(",
        "span_coverage(delta)",
        "span_coverage(delta=)",
        "span_coverage(delta=two)",
        "span_coverage(delta=-1)",
        "span_coverage(delta=1.5)",
        "span_coverage(delta=2))",
        "span_coverage(granularity=2)",
        "exact_span(delta=2)",
        "deteval_1d(recall_threshold=1.5)",
        "deteval_1d(recall_threshold=nan)",
    ],
)
def test_wrong_keys(key: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        metrics.get(key)


def test_a_wrong_key_names_the_choices() -> None:
    with pytest.raises(ValueError) as caught:
        metrics.get("f1")
    for name in metrics.REGISTRY:
        assert name in str(caught.value)
    with pytest.raises(ValueError, match=r"gamma.*delta.*min_pred_len"):
        metrics.get("span_coverage").at(gamma=1)


def test_keys_of_variants() -> None:
    coverage = metrics.get("span_coverage")
    assert coverage.key == "span_coverage"
    assert coverage.at(delta=2).key == "span_coverage(delta=2)"
    assert coverage.at(min_pred_len=3, delta=2).key == "span_coverage(delta=2,min_pred_len=3)"
    # The default, written out, is the metric itself; a variant of a variant keeps what it had.
    assert coverage.at(delta=0) == coverage
    assert coverage.at(delta=2).at(min_pred_len=3).key == coverage.at(delta=2, min_pred_len=3).key
    assert coverage.at(delta=2).at(delta=0) == coverage
    assert coverage.at(delta=np.int64(2)).key == "span_coverage(delta=2)"
    assert (
        metrics.get("cleval_1d").at(granularity_penalty_weight=3).key
        == metrics.get("cleval_1d(granularity_penalty_weight=3)").key
    )
    assert metrics.get(" span_coverage( delta = 2 ) ").key == "span_coverage(delta=2)"
    assert metrics.get("deteval_1d(recall_threshold=0.1)").values["recall_threshold"] == 0.1
