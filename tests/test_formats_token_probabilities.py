"""Spans from probabilities per token, against a plain decode of one example at a time."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import token_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelium.formats import TokenWindows, spans_from_token_probabilities
from mycelium.formats.token_probabilities import class_probabilities
from mycelium.formats.token_windows import renumber
from mycelium.spans import SpanBatch

decode = spans_from_token_probabilities
AGGREGATES = ("mean", "max", "min")
#: Sums and means of these are exact, so that ties with a threshold are ties.
CHOICES = (0.0, 0.25, 0.5, 0.75, 1.0)


def tokenized(rng: random.Random) -> tuple[str, list[Any]]:
    """Return a text and the offsets that some tokenizer might give: gaps, leading blanks, pieces, merges, specials."""
    text = "".join(rng.choice("ab é🙂\n東") for _ in range(rng.randint(0, 14)))
    trimmed = rng.random() < 0.5
    offsets: list[Any] = []
    at = 0
    while at < len(text):
        end = min(len(text), at + rng.randint(1, 4))
        piece = text[at:end]
        start = at + (len(piece) - len(piece.lstrip()) if trimmed else 0)
        if start < end:
            offsets += [(start, end)] * (rng.randint(2, 3) if end - start == 1 and rng.random() < 0.4 else 1)
            if rng.random() < 0.15 and end - start > 1:
                offsets.append((end - 1, end))  # the rest of a character that the token before began
        if rng.random() < 0.1:
            offsets.append(rng.choice([(0, 0), None, (end, end)]))
        at = end
    return text, offsets


def corpus(seed: int) -> dict[str, Any]:
    """Return features of a few examples, in windows that overlap, with probabilities and padding."""
    rng = random.Random(seed)
    texts, offsets, examples = [], [], []
    for example in range(rng.randint(1, 4)):
        text, tokens = tokenized(rng)
        texts.append(text)
        size = rng.randint(1, 8)
        step = rng.randint(1, size)
        for begin in range(0, max(1, len(tokens) - size + step), step):
            offsets.append([None, *tokens[begin : begin + size], (0, 0)])
            examples.append(example)
    width = max(map(len, offsets)) + rng.randint(0, 3)
    values = [[rng.choice(CHOICES) for _ in row] for row in offsets]
    padded = [row + [rng.choice([-100.0, 9.0, float("nan")]) for _ in range(width - len(row))] for row in values]
    order = list(range(len(offsets)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    return {
        "text": texts,
        "offsets": [offsets[i] for i in order],
        "examples": [examples[i] for i in order],
        "values": [values[i] for i in order],
        "padded": np.array([padded[i] for i in order]),
    }


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0.25, 0.3, 0.5, 0.625, 1.0]), st.sampled_from(AGGREGATES), st.booleans())
def test_the_same_as_a_plain_decode(seed: int, threshold: float, aggregate: str, with_text: bool) -> None:
    case = corpus(seed)
    text = case["text"] if with_text else None
    options: dict[str, Any] = {"threshold": threshold, "aggregate": aggregate}
    expected = oracle.decode(case["offsets"], case["values"], case["examples"], len(case["text"]), text=text, **options)
    rows = None if with_text else len(case["text"])
    batch = decode(case["values"], case["offsets"], case["examples"], text=text, rows=rows, **options)
    assert batch.tolist() == expected
    windows = TokenWindows.read(case["offsets"], case["examples"], text=text, rows=rows)
    padded = decode(case["padded"], windows, **options)
    assert padded.equals(batch)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([("B", "I"), ("I",), ("B-x", "I-x", "I-y"), ("I-x", "B-y", "I-y")]))
def test_tags_are_the_same_as_a_plain_decode(seed: int, tags: tuple[str, ...]) -> None:
    case = corpus(seed)
    rng = random.Random(seed)
    shares = (0.0, 0.125, 0.25, 0.5)
    values = [[[rng.choice(shares) for _ in tags] for _ in row] for row in case["offsets"]]
    width = case["padded"].shape[1]
    array = np.array([row + [[np.nan] * len(tags)] * (width - len(row)) for row in values])
    aggregate, threshold = rng.choice(AGGREGATES), rng.choice([0.25, 0.5])
    text = case["text"]
    batch = decode(
        array, case["offsets"], case["examples"], text=text, threshold=threshold, aggregate=aggregate, tags=tags
    )
    labels = [None] * len(batch.start) if batch.label is None else batch.label.tolist()
    found = [
        [[*span, labels[j]] for j, span in zip(range(a, b), row, strict=True)]
        for row, a, b in zip(batch.tolist(), batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True)
    ]
    for example, spans in enumerate(found):
        windows = [(case["offsets"][f], values[f]) for f in range(len(values)) if case["examples"][f] == example]
        expected = oracle.decode_tagged(windows, threshold, aggregate, text[example], tags)
        # two spans at one place may come in either order
        assert sorted(spans, key=str) == sorted(expected, key=str)
        assert [span[:2] for span in spans] == sorted(span[:2] for span in spans)


# -- by hand


@pytest.mark.parametrize(
    ("flagged", "expected"), [([0, 0, 1, 0, 0], [[1, 2]]), ([0, 1, 1, 1, 0], [[1, 2]]), ([1, 1, 0, 0, 0], [[0, 2]])]
)
@pytest.mark.parametrize("text", [None, ["a🙂b"]])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_one_character_in_several_tokens(flagged: list[int], expected: Any, text: Any, aggregate: str) -> None:
    offsets = [[(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]]
    assert decode([flagged], offsets, text=text, aggregate=aggregate).tolist() == [expected]


def test_a_character_in_several_tokens_of_several_windows() -> None:
    # In either window the largest piece counts: 0.9 and 0.2.
    offsets = [[(1, 2), (1, 2)], [(1, 2), (1, 2), (1, 2)]]
    values = [[0.1, 0.9], [0.2, 0.1, 0.1]]
    for aggregate, reached in (("mean", 0.55), ("max", 0.9), ("min", 0.2)):
        at = {"aggregate": aggregate, "threshold": reached}
        assert decode(values, offsets, [0, 0], **at).tolist() == [[[1, 2]]]
        assert decode(values, offsets, [0, 0], aggregate=aggregate, threshold=reached + 1e-9).tolist() == [[]]


def test_padding_is_cut_by_number() -> None:
    short, long = [(0, 2), (2, 4), (4, 6)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    values = np.full((2, 6), 0.9)
    values[1, 1] = 0.1
    assert decode(values, [long, short]).tolist() == [[[0, 6]], [[0, 2], [4, 6]]]
    # softmax of padding with -100 everywhere is one half
    values[1, 3:] = 0.5
    assert decode(values, [long, short]).tolist() == [[[0, 6]], [[0, 2], [4, 6]]]


def test_special_tokens_anywhere() -> None:
    offsets, values = [[(0, 0), (0, 4), (0, 0), (5, 9), (0, 0)]], [[1.0] * 5]
    assert decode(values, offsets).tolist() == [[[0, 9]]]  # a run bridges what no token covers
    assert decode([[1.0, 0.9, 0.0, 0.9, 1.0]], offsets).tolist() == [[[0, 9]]]
    assert decode([[1.0, 0.9, 1.0, 0.0, 1.0]], offsets).tolist() == [[[0, 4]]]


def test_pre_split_words_are_refused_and_prompts_left_out() -> None:
    with pytest.raises(ValueError, match=r"offsets: row 0, token 1 \(0, 4\): the offsets run backwards"):
        decode([[1.0, 1.0]], [[(0, 3), (0, 4)]])
    answer = [(0, 4), (5, 8)]
    assert decode([[1.0] * 4], [[None, None, *answer]]).tolist() == [[[0, 8]]]
    assert decode([[1.0, 1.0, 1.0, 0.0]], [[None, None, *answer]]).tolist() == [[[0, 4]]]


def test_offsets_are_the_tokenizers() -> None:
    offsets, text = [[(0, 2), (2, 6), (7, 8), (8, 9), (10, 11)]], ["untrue 東京 x"]
    assert decode([[1, 1, 0, 0, 0]], offsets, text=text).tolist() == [[[0, 6]]]
    assert decode([[0, 0, 1, 1, 0]], offsets, text=text).tolist() == [[[7, 9]]]


def test_neighbours_of_one_type() -> None:
    offsets = [[(0, 3), (3, 6), (6, 9)]]

    def tagged(tags: tuple[str, ...], which: list[int]) -> SpanBatch:
        return decode(np.eye(len(tags))[which][np.newaxis], offsets, tags=tags)

    assert tagged(("B", "I"), [0, 1, 0]).tolist() == [[[0, 6], [6, 9]]]
    assert tagged(("B", "I"), [1, 1, 1]).tolist() == [[[0, 9]]]
    typed = tagged(("B-x", "I-x", "B-y", "I-y"), [0, 3, 3])
    assert typed.tolist() == [[[0, 3], [3, 9]]]
    assert typed.label is not None
    assert typed.label.tolist() == ["x", "y"]
    assert decode([[1, 1, 1]], offsets).tolist() == [[[0, 9]]]


def test_classes_add_up_and_only_then_meet_the_threshold() -> None:
    offsets = [[(0, 3), (3, 6)]]
    values = np.array([[[0.25, 0.25], [0.25, 0.125]]])
    assert decode(values, offsets).tolist() == [[[0, 3]]]
    assert decode(values, offsets, tags=["B-x", "I-x"]).label.tolist() == ["x"]  # type: ignore[union-attr]


def test_pieces_of_a_character_are_no_new_spans() -> None:
    offsets = [[(0, 1), (1, 2), (1, 2), (2, 3)]]
    every = np.eye(2)[[1, 0, 1, 1]][np.newaxis]  # I, B and I for one character, I
    assert decode(every, offsets, tags=["B", "I"]).tolist() == [[[0, 1], [1, 3]]]


def test_white_space_is_cut_off_at_the_ends_only() -> None:
    text = ["In  Paris \n, France "]
    offsets = [[(0, 2), (2, 9), (9, 11), (11, 12), (12, 20)]]
    assert decode([[0, 1, 1, 0, 0]], offsets, text=text).tolist() == [[[4, 9]]]
    assert decode([[0, 1, 1, 0, 0]], offsets).tolist() == [[[2, 11]]]
    assert decode([[1, 1, 1, 1, 1]], offsets, text=text).tolist() == [[[0, 19]]]
    assert decode([[0, 0, 1, 0, 0]], offsets, text=text).tolist() == [[]]
    # a bare blank overlapping the word, as Unigram tokenizers give it
    assert decode([[1, 0]], [[(0, 1), (0, 5)]], text=[" blue"]).tolist() == [[]]
    assert decode([[0, 1]], [[(0, 1), (0, 5)]], text=[" blue"]).tolist() == [[[1, 5]]]


def test_runs_that_touch_or_overlap_are_one() -> None:
    # Sorted, the token [2, 3) lies between and is not marked, yet what is left and right of it overlaps.
    offsets, examples = [[(0, 4)], [(2, 3)], [(4, 6)]], [0, 0, 0]
    assert decode([[1], [0], [1]], offsets, examples).tolist() == [[[0, 6]]]
    offsets[2] = [(5, 6)]
    assert decode([[1], [0], [1]], offsets, examples).tolist() == [[[0, 4], [5, 6]]]
    # and not over the border of two examples
    assert decode([[1], [1]], [[(0, 4)], [(4, 6)]]).tolist() == [[[0, 4]], [[4, 6]]]


def test_tokens_are_taken_by_start_and_then_end() -> None:
    # Two windows that were cut differently: [0, 2) marked, [0, 3) not, [3, 4) marked.
    assert decode([[0], [1, 1]], [[(0, 3)], [(0, 2), (3, 4)]], [0, 0]).tolist() == [[[0, 2], [3, 4]]]


def test_a_threshold_of_0_marks_everything() -> None:
    assert decode([[0.0, 0.0]], [[(0, 2), (3, 4)]], threshold=0).tolist() == [[[0, 4]]]


def test_rows_without_tokens() -> None:
    assert decode([[], [0.9]], [[], [None]], text=["", "x"]).tolist() == [[], []]
    assert decode(np.zeros((2, 0)), [[], []]).tolist() == [[], []]
    assert decode([[0.9]], [[(0, 1)]], [2], rows=4).tolist() == [[], [], [[0, 1]], []]
    assert len(decode([], [])) == 0
    batch = decode(np.zeros((0, 3)), [], text=[])
    assert len(batch) == 0
    assert batch.length is not None


def test_scores_are_means_over_marked_tokens() -> None:
    batch = decode([[0.5, 0.75, 0.0, 1.0]], [[(0, 1), (1, 4), (4, 5), (5, 6)]])
    assert batch.score is not None
    assert batch.score.tolist() == [0.625, 1.0]
    merged = decode([[1.0], [0.0], [0.5]], [[(0, 4)], [(2, 3)], [(4, 6)]], [0, 0, 0])
    assert merged.score is not None
    assert merged.score.tolist() == [0.75]


def test_other_containers() -> None:
    offsets = [[(0, 2), (2, 4)], [(0, 1)]]
    expected = [[[2, 4]], [[0, 1]]]
    ragged = [[0.1, 0.9], [0.8]]
    assert decode(ragged, offsets).tolist() == expected
    assert decode([np.array(row, dtype=np.float32) for row in ragged], offsets).tolist() == expected
    assert decode(tuple(map(tuple, ragged)), offsets).tolist() == expected
    assert decode([np.array(row)[:, np.newaxis] for row in ragged], offsets).tolist() == expected
    padded = np.array([[0.1, 0.9], [0.8, -100]])
    array = np.array([[(0, 2), (2, 4)], [(0, 1), (0, 0)]])
    with pytest.raises(ValueError, match="row 1, token 1 -100"):
        decode(padded, [[(0, 2), (2, 4)], [(0, 1), (1, 2)]])
    assert decode(padded, array).tolist() == expected
    assert decode(padded.astype(np.float16), array).tolist() == expected

    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return padded

    assert decode(Tensor(), array).tolist() == expected
    pa = pytest.importorskip("pyarrow")
    column = pa.array([[None, [0, 2], [2, 4]], [[0, 1], None, None]])
    assert decode([[1, 0.1, 0.9], [0.8, 1, 1]], column).tolist() == expected
    assert decode(pa.array(ragged), offsets, pa.array([0, 1])).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        (([[0.5, np.nan]], [[(0, 1), (1, 2)]]), {}, ValueError, r"row 0, token 1 nan: expected a probability between"),
        (([[0.5, 1.5]], [[(0, 1), (1, 2)]]), {}, ValueError, r"row 0, token 1 1\.5"),
        (([[0.5, "x"]], [[(0, 1), (1, 2)]]), {}, TypeError, r"row 0, token 1 'x': expected a probability, got str"),
        (([[0.5], ["x"]], [[(0, 1)], [(0, 1)]]), {}, TypeError, r"row 1, token 0 'x': expected a probability, got str"),
        (([[0.5]], [[(0, 1), (1, 2)]]), {}, ValueError, "row 0: offsets has 2 tokens, probabilities has 1$"),
        ((np.ones((1, 1)), [[(0, 1), (1, 2)]]), {}, ValueError, "row 0: offsets has 2 tokens, probabilities has 1$"),
        (([[0.5], [0.5]], [[(0, 1)]]), {}, ValueError, "offsets has 1 row, probabilities has 2$"),
        (([[], []], [[(0, 1)], [(0, 1)]]), {}, ValueError, r"row 0: .*, probabilities has 0 \(2 such rows\)"),
        (([np.ones((1, 2)), np.ones((1, 3))], [[], []]), {}, TypeError, "with the same classes in all"),
        (([np.ones((1, 2)), np.ones(1)], [[], []]), {}, TypeError, "with the same classes in all"),
        ((np.ones(3), [[(0, 1)]]), {}, TypeError, r"expected numbers of shape"),
        (([[0.5]], [[(0, 1)]], [1]), {"rows": 1}, ValueError, "examples: row 0 is 1, expected 0 <= row < 1"),
        (([[0.5]], [[(0, 1)]], [-1]), {}, ValueError, "examples: row 0 is -1"),
        (([[0.5]], [[(0, 1)]], [0, 0]), {}, ValueError, "offsets has 1 row, examples has 2"),
        (([[0.5]], [[(0, 1)]], ["a"]), {}, TypeError, "examples: expected one integer for each feature"),
        (([[0.5]], [[(0, 1)]]), {"text": ["a", "b"]}, ValueError, "1 row for 2 examples: give examples"),
        (([[0.5]], [[(0, 1)]]), {"text": ["a"], "rows": 2}, ValueError, "rows is 2, text has 1"),
        (([[0.5]], [[(0, 2)]]), {"text": ["a"]}, ValueError, r"row 0, token 0 \(0, 2\): past the end"),
        (([[0.5]], [[(0, 1)]]), {"threshold": 50}, ValueError, "threshold must be between 0 and 1, got 50"),
        (([[0.5]], [[(0, 1)]]), {"threshold": True}, TypeError, "threshold must be a number"),
        (([[0.5]], [[(0, 1)]]), {"aggregate": "sum"}, ValueError, "aggregate must be one of 'mean', 'max', 'min'"),
        (([[0.5]], [[(0, 1)]]), {"tags": ["S-x"]}, ValueError, "'S-x': expected B-type, I-type, B or I"),
        (([[0.5]], [[(0, 1)]]), {"tags": ["B", "I"]}, ValueError, "2 tags for 1 class"),
    ],
)
def test_refusals(arguments: Any, options: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        decode(*arguments, **options)


def test_windows_hold_their_texts() -> None:
    windows = TokenWindows.read([[(0, 1)]], text=["a"])
    with pytest.raises(ValueError, match="text is part of the TokenWindows"):
        decode([[0.5]], windows, text=["a"])
    assert len(windows) == 1


def test_white_space_over_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    from mycelium.formats import token_windows

    monkeypatch.setattr(token_windows, "_AT_ONCE", 5)
    texts = ["", " ", "a b ", "\u3000c\u2028d", "longer than five ", "\u200b", "🙂 "]
    offsets = [[(0, len(text))] if text else [] for text in texts]
    expected = [[], [], [[0, 3]], [[1, 4]], [[0, 16]], [[0, 1]], [[0, 1]]]
    assert decode([[1] * len(row) for row in offsets], offsets, text=texts).tolist() == expected


# -- numbers of examples


def test_renumbering_over_batches() -> None:
    assert renumber([0, 0, 1, 2, 2, 0, 1, 1, 0, 1], 7, name="m").tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5, 6]
    assert renumber(np.array([0, 1, 0]), 3, name="m").tolist() == [0, 1, 2]
    assert renumber([], 0, name="m").tolist() == []
    # two batches of one example each look like two windows of one
    with pytest.raises(ValueError, match="belong to 1 examples, as far as their numbers tell, there are 2; add a col"):
        renumber([0, 0], 2, name="m")
    with pytest.raises(ValueError, match="row 1 is 2 after 0: features are missing"):
        renumber([0, 2], 3, name="m")
    with pytest.raises(ValueError, match="row 0 is 1 at first"):
        renumber([1, 2], 3, name="m")
    with pytest.raises(ValueError, match="row 3 is 1 after 2"):
        renumber([0, 1, 2, 1], 9, name="m")


# -- logits


def test_softmax_is_that_of_the_oracle() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=4, size=(200, 5)).astype(np.float32)
    expected = [oracle.softmax(row) for row in logits.astype(np.float64).tolist()]
    assert class_probabilities(logits, [1]).tolist() == [row[1] for row in expected]
    assert class_probabilities(logits, [2, 4]).tolist() == [[row[2], row[4]] for row in expected]
    large = np.array([[1e4, -1e4], [-1e4, 1e4], [-np.inf, 0.0]])
    assert class_probabilities(large, [1]).tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(class_probabilities(np.array([[np.nan, 0.0], [np.inf, 0.0]]), [1])).all()


def test_decisions_and_probabilities_pass() -> None:
    assert class_probabilities(np.array([0, 1, 2]), [1, 2]).tolist() == [[0, 0], [1, 0], [0, 1]]
    assert class_probabilities(np.array([0.25, 1.0], dtype=np.float32), [1]).tolist() == [0.25, 1.0]
    assert class_probabilities(np.array([True, False]), [1]).tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="2 classes, positive names 2"):
        class_probabilities(np.zeros((1, 2)), [2])
    with pytest.raises(ValueError, match="1 class, positive names 0"):
        class_probabilities(np.zeros((1, 1)), [0])
    with pytest.raises(TypeError, match="expected logits in floats"):
        class_probabilities(np.zeros((1, 2), dtype=int), [1])
