"""Large, dense and far batches: what Hypothesis would not draw, against the oracle or values in closed form."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import oracle
import pytest
from samples import approx, random_row

import mycelium
from mycelium import metrics

Row = list[list[int]]


@pytest.mark.parametrize("base", [0, 2**52], ids=["near", "far"])
def test_many_rows(base: int) -> None:
    """Two thousand rows whose stretches would not fit on one line of 64 bits when they lie far out."""
    rng = random.Random(20)
    references = [random_row(rng, base) for _ in range(2000)]
    predictions = [random_row(rng, base) for _ in range(2000)]
    report = mycelium.evaluate(references=references, predictions=predictions, include_per_example=True)
    for key in oracle.KEYS:
        got = report[key].pop("per_example")
        expected = [oracle.example(key, r, p) for r, p in zip(references, predictions, strict=True)]
        assert [x if isinstance(x, dict) else {"score": x} for x in got] == [approx(x) for x in expected]
        assert report[key] == approx(oracle.macro(key, references, predictions))


def test_more_rows_than_are_laid_out_at_once() -> None:
    rng = random.Random(21)
    references = [random_row(rng, 0) for _ in range(500)]
    predictions = [random_row(rng, 0) for _ in range(500)]
    once = mycelium.evaluate(references=references, predictions=predictions, average="micro")
    often = mycelium.evaluate(references=references * 150, predictions=predictions * 150, average="micro")
    # 150 copies have the same ratios; the division sees the same fraction, so nothing but the number of rows differs.
    for key in oracle.KEYS:
        assert often[key] == approx(once[key])
        assert once[key] == approx(oracle.micro(key, references, predictions))
    assert often["meta"]["examples"] == 75_000


def test_sums_beyond_64_bits() -> None:
    """4,096 rows of 2**52 characters are 2**64 characters in all."""
    report = mycelium.evaluate(references=[[[0, 2**52]]] * 4096, predictions=[[[0, 2**51]]] * 4096, average="micro")
    assert report["character"] == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
    assert report["iou"] == {"score": 0.5}
    assert report["cleval_1d"] == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}


def test_sums_beyond_64_bits_in_one_row() -> None:
    """2,049 times the same 2**52 characters are more than 2**63; a refusal will do, a wrong number will not."""
    row, one = [[0, 2**52]] * 2049, [[0, 2**52]]
    for references, predictions in ((row, one), (one, row), (row, row)):
        try:
            report = mycelium.evaluate(
                references=references, predictions=predictions, metrics=["cleval_1d"], cleval_granularity_penalty=0.0
            )
        except (ValueError, OverflowError):
            continue
        precision, recall = (1 / len(side) for side in (predictions, references))
        f1 = 2 / (len(references) + len(predictions))
        assert report["cleval_1d"] == approx({"precision": precision, "recall": recall, "f1": f1})


def test_many_overlapping_spans_in_one_row() -> None:
    """1,200 spans a side, each overlapping all others: 1.4 million pairs."""
    n = 1200
    row = [[i, 2 * n + i] for i in range(n)]
    chosen = ["exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage"]
    report = mycelium.evaluate(
        references=[row], predictions=[row[::-1]], metrics=chosen, cleval_granularity_penalty=0.0
    )
    one = {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert report["exact_span"] == report["character"] == report["span_coverage"] == one
    assert report["iou"] == {"score": 1.0}
    # Each pair shares at least half of either span, so the first reference is split among all the predictions (their
    # shares of it add up to far more than 0.8); nothing is left for any other reference.
    assert report["deteval_1d"] == approx({"precision": 0.8, "recall": 0.8 / n, "f1": 2 * 0.8 / (n + 1)})
    # The union has 3n - 1 characters, the lengths add up to 2n * n.
    part = (3 * n - 1) / (2 * n * n)
    assert report["cleval_1d"] == approx({"precision": part, "recall": part, "f1": part})
    # With the penalty, n (n - 1) surplus edges take more than all of it.
    zero = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert mycelium.evaluate(references=[row], predictions=[row])["cleval_1d"] == zero


def dense(rng: random.Random, n: int, window: int, longest: int) -> Row:
    row = []
    for _ in range(n):
        start = rng.randrange(window)
        row.append([start, start + rng.randint(1, longest)])
    return row


@pytest.mark.parametrize(
    ("rows", "n", "window", "longest"),
    [
        (1, 150, 60, 40),
        (1, 150, 400, 12),
        (1, 200, 40, 300),
        (3, 90, 20, 10),
        (30, 12, 30, 20),
        pytest.param(220, 90, 60, 30, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("thresholds", [(0.8, 0.4), (0.3, 0.9), (0.1, 0.1), (1.0, 0.7)])
def test_dense_rows(rows: int, n: int, window: int, longest: int, thresholds: tuple[float, float]) -> None:
    """Rows in which nearly every span meets many others, so that credits hang on each other in long chains."""
    rng = random.Random(rows * n)
    references = [dense(rng, n, window, longest) for _ in range(rows)]
    # Predictions that are shorter or longer than the references, so that both splits and merges happen.
    predictions = [dense(rng, n + 10, window, max(2, longest // (1 + i % 3))) for i in range(rows)]
    values: dict[str, dict[str, float]] = {
        "deteval_1d": {"recall_threshold": thresholds[0], "precision_threshold": thresholds[1]},
        "cleval_1d": {"area_precision_threshold": thresholds[0], "granularity_penalty_weight": 0.01},
        "span_coverage": {"delta": 3, "min_pred_len": 2},
    }
    for key in oracle.KEYS:
        own_values = values.get(key, {})
        for left, right in ((references, predictions), (predictions, references)):
            counted = metrics.get(key).at(**own_values).statistics(left, right).tolist()
            expected = [list(oracle.statistics(key, r, p, **own_values)) for r, p in zip(left, right, strict=True)]
            assert counted == [approx(row) for row in expected], key


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library works in blocks of rows, of pairs and of painted segments; here they are tiny."""
    rng = random.Random(8)
    references = [dense(rng, rng.choice([0, 1, 2, 9]), 30, 20) for _ in range(60)]
    predictions = [dense(rng, rng.choice([0, 1, 2, 9]), 30, 20) for _ in range(60)]
    soft = [[[s, e, rng.choice([0.1, 0.5, 0.9])] for s, e in row] for side in (references, predictions) for row in side]
    dicts = [[{"start": s, "end": e, "prob": p} for s, e, p in row] for row in soft]

    def check() -> None:
        for average in ("macro", "micro"):
            report = mycelium.evaluate(
                references=references,
                predictions=predictions,
                soft_references=dicts[:60],
                soft_predictions=dicts[60:],
                text=["." * 50] * 60,
                metrics=[*oracle.KEYS, "soft_correlation"],
                average=average,
            )
            for key in oracle.KEYS:
                assert report[key] == approx(getattr(oracle, average)(key, references, predictions))
            rows = [oracle.soft_correlation(r, p, 50) for r, p in zip(soft[:60], soft[60:], strict=True)]
            assert report["soft_correlation"]["score"] == approx(math.fsum(rows) / 60)

    check()
    monkeypatch.setattr("mycelium.intervals.PAIRS_AT_ONCE", 5)
    check()
    monkeypatch.setattr("mycelium.metrics.soft._PAINT_AT_ONCE", 3)
    monkeypatch.setattr("mycelium.line.ROWS_AT_ONCE", 7)
    check()
    # A line of so few positions holds a row or two, and no packed number fits.
    monkeypatch.setattr("mycelium.line._LIMIT", 64)
    check()


def test_many_predictions_in_one_reference() -> None:
    n = 2000
    report = mycelium.evaluate(
        references=[[[0, n]], [[i, i + 1] for i in range(n)]],
        predictions=[[[i, i + 1] for i in range(n)], [[0, n]]],
        include_per_example=True,
    )
    # A split in n pieces: every piece counts wholly in it, n shares of 1/n reach 0.8; the mirrored row is a merge.
    credit = {"precision": 0.8, "recall": 0.8, "f1": 0.8}
    assert report["deteval_1d"]["per_example"] == [approx(credit)] * 2
    assert report["iou"]["per_example"] == [1.0, 1.0]
    # Either way one span has n edges, so one side loses n - 1 of its n characters and the other loses none.
    assert report["cleval_1d"]["per_example"] == [
        approx({"precision": 1.0, "recall": 1 / n, "f1": 2 / (n + 1)}),
        approx({"precision": 1 / n, "recall": 1.0, "f1": 2 / (n + 1)}),
    ]


def test_the_largest_penalty_takes_everything() -> None:
    """The penalty times the number of surplus edges must not leave 64 bits and come back as a gain."""
    parameter = next(p for p in metrics.get("cleval_1d").parameters if p.name == "granularity_penalty_weight")
    largest = parameter.maximum if math.isfinite(parameter.maximum) else 1e300
    for n in (3, 1025, 2049, 3000):
        pieces = [[2 * i, 2 * i + 1] for i in range(n)]
        report = mycelium.evaluate(
            references=pieces, predictions=[[0, 2 * n]], cleval_granularity_penalty=largest, metrics=["cleval_1d"]
        )
        assert report["cleval_1d"] == {"precision": 0.0, "recall": 1.0, "f1": 0.0}


def test_shares_are_added_one_after_the_other() -> None:
    # 2/15 + 10/15 is just under 0.8 in doubles: the split fails by default and passes with a tolerance.
    assert 2 / 15 + 10 / 15 < 0.8
    case: dict[str, Any] = {"references": [[0, 15]], "predictions": [[0, 2], [3, 13]], "metrics": ["deteval_1d"]}
    assert mycelium.evaluate(**case)["deteval_1d"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    exact = mycelium.evaluate(**case, tolerance=1e-9)
    assert next(iter(exact.values())) == approx({"precision": 0.8, "recall": 0.8, "f1": 0.8})


def plain_sum(shares: list[float]) -> float:
    total = 0.0
    for x in shares:
        total += x
    return total


def tie(rng: random.Random, low: int, high: int) -> tuple[list[int], int]:
    """Return lengths of pieces, and a whole of which they are 4/5 exactly when they stand one apart."""
    while True:
        pieces = [rng.randint(4, 12) for _ in range(rng.randint(low, high))]
        whole, remainder = divmod(sum(pieces) * 5, 4)
        if not remainder and sum(pieces) + len(pieces) <= whole:
            return pieces, whole


def place(pieces: list[int]) -> Row:
    starts = [sum(pieces[:i]) + i for i in range(len(pieces))]
    return [[start, start + n] for start, n in zip(starts, pieces, strict=True)]


def test_the_order_in_which_shares_are_added() -> None:
    """Splits whose shares make 4/5 exactly: the sum in doubles, and the decision, hang on the order of adding."""
    rng = random.Random(3)
    cases = [tie(rng, 2, 40) for _ in range(300)]
    references = [[[0, whole]] for _, whole in cases]
    predictions = [rng.sample(place(pieces), len(pieces)) for pieces, _ in cases]
    sums = [[piece / whole for piece in pieces] for pieces, whole in cases]
    decisions = [plain_sum(shares) >= 0.8 for shares in sums]
    assert 50 < sum(decisions) < 250
    for other in (math.fsum, np.sum, lambda shares: plain_sum(shares[::-1])):
        assert sum((other(shares) >= 0.8) != yes for shares, yes in zip(sums, decisions, strict=True)) > 20
    got = metrics.get("deteval_1d").statistics(references, predictions).tolist()
    for row, r, p, yes in zip(got, references, predictions, decisions, strict=True):
        assert row == [0, len(p) * yes, len(p), 0, int(yes), 1]
        assert row == list(oracle.statistics("deteval_1d", r, p))
    # The mirrored rows are merges: the same sums decide against the other threshold.
    mirrored = metrics.get("deteval_1d").at(precision_threshold=0.8, recall_threshold=0.4)
    got = mirrored.statistics(predictions, references).tolist()
    for row, p, yes in zip(got, predictions, decisions, strict=True):
        assert row == [0, int(yes), 1, 0, len(p) * yes, len(p)]
    # Read exactly, they are all splits.
    exact = metrics.get("deteval_1d").at(tolerance=1e-9).statistics(references, predictions)
    assert exact[:, 4].tolist() == [1] * 300


def test_the_order_of_shares_in_crowded_rows() -> None:
    """The same beside a hundred long references that claim the same pieces and never get them."""
    rng = random.Random(4)
    cases = [tie(rng, 60, 90) for _ in range(40)]
    references = [[[0, whole], *([1, 10 * whole + k] for k in range(100))] for _, whole in cases]
    predictions = [place(pieces) for pieces, _ in cases]
    sums = [[piece / whole for piece in pieces] for pieces, whole in cases]
    decisions = [plain_sum(shares) >= 0.8 for shares in sums]
    assert sum((np.sum(shares) >= 0.8) != yes for shares, yes in zip(sums, decisions, strict=True)) > 5
    together = metrics.get("deteval_1d").statistics(references, predictions).tolist()
    for row, r, p, yes in zip(together, references, predictions, decisions, strict=True):
        assert row == [0, len(p) * yes, len(p), 0, int(yes), 101]
        assert metrics.get("deteval_1d").statistics([r], [p]).tolist() == [row]


def test_a_delta_of_any_size() -> None:
    """However wide the references become, they stay in their own row."""
    references = [[[2**52, 2**52 + 3]], [], [[0, 1]], []]
    predictions = [[[0, 1]], [[4, 5]], [[2**52, 2**52 + 9]], []]
    for delta in (2**53, 2**62, 2**63 - 1, 2**63, 2**80):
        counted = metrics.get("span_coverage").at(delta=delta).statistics(references, predictions)
        assert counted.tolist() == [[1, 1, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
    for least in (2**53, 2**63, 2**80):
        counted = metrics.get("span_coverage").at(min_pred_len=least).statistics(references, predictions)
        assert counted.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_lengths_known_to_one_side_bound_the_other() -> None:
    known = mycelium.as_spans([[[0, 4]], [[6, 9]]], text=["abcd", "abcdefghi"])
    with pytest.raises(ValueError, match=r"predictions: .* row 1, span 0 \[6, 12\]: past the end of the text \(9 char"):
        mycelium.evaluate(references=known, predictions=[[[0, 4]], [[6, 12]]])
    clipped = mycelium.evaluate(references=known, predictions=[[[0, 4]], [[6, 12]]], invalid="clip")
    assert clipped["iou"] == {"score": 1.0}
    assert clipped.invalid == (1, 0, 1, 0)


def test_texts_of_other_lengths_are_refused() -> None:
    known = mycelium.as_spans([[[0, 4]], [[6, 9]]], text=["abcd", "abcdefghi"])
    other = mycelium.as_spans([[[0, 4]], [[6, 9]]], text=["abcd", "abcdefghijk"])
    with pytest.raises(ValueError, match=r"row 1: references .* of 9 characters, predictions of one of 11"):
        mycelium.evaluate(references=known, predictions=other)
    with pytest.raises(ValueError, match=r"references: row 1 was read with a text of 9 characters, text has 11"):
        mycelium.evaluate(references=known, predictions=[[], []], text=["abcd", "abcdefghijk"])
