"""The page as a document: what is in it, what is refused, and the verdicts where none are given."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import as_spans, samples
from mycelium.errors import find_errors
from mycelium.view import Page, review_page
from mycelium.view.verdicts import default_verdicts

ONE: dict[str, Any] = {"references": [[[0, 5]]], "predictions": [[[3, 8]]], "text": ["Paris is big."]}


def data_of(page: Page) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))


def test_what_travels() -> None:
    page = review_page(
        references=[[[0, 5, "place"], [9, 12, "size"]], []],
        predictions=[[{"start": 3, "end": 8}], [[0, 2, "size"]]],
        text=["Paris is big.", "So."],
        ids=["a", 7],
        scores={"iou": np.array([0.25, np.nan]), "f": [None, 1]},
        slices={"model": ["y", None], "n": [10, 9]},
        verdicts=([["shifted", "missed"], []], [["shifted"], ["weird"]]),
    )
    data = data_of(page)
    assert data["types"] == ["place", "size"]
    assert data["verdicts"] == ["shifted", "missed", "weird"]
    assert data["scores"] == ["iou", "f"]
    assert data["slices"] == [{"name": "model", "values": ["null", "y"]}, {"name": "n", "values": ["10", "9"]}]
    assert data["rows"] == [
        ["a", "Paris is big.", [0, 5, 0, 0, 9, 12, 1, 1], [3, 8, -1, 0], [0.25, None], [1, 0]],
        ["7", "So.", [], [0, 2, 1, 2], [None, 1.0], [0, 1]],
    ]


def test_ids_are_rows_by_default() -> None:
    page = review_page(references=[[], []], predictions=[[], []], text=["a", "b"])
    assert [row[0] for row in data_of(page)["rows"]] == ["0", "1"]


NASTY = [
    "</script><script>alert(1)</script>",
    "<!--",
    "]]>",
    "&lt;",
    "\u2028\u2029",
    "{{script}}",
    "\x00\r\n",
    "\ud83d",
]


@pytest.mark.parametrize("text", NASTY)
def test_nothing_ends_the_data(text: str) -> None:
    page = review_page(
        references=[[[0, 1, text]]], predictions=[[]], text=[text], ids=[text], slices={text: [text]},
        scores={text: [1]}, title=text, signature=text,
    )  # fmt: skip
    whole = text.replace("\ud83d", "\ufffd")  # half a pair is no text that a file can hold
    data = data_of(page)
    assert data["rows"][0][:2] == [whole, whole]
    assert data["types"] == [whole]
    assert data["slices"] == [{"name": whole, "values": [whole]}]
    assert page.html.count("<script") == 2
    assert page.html.count("</script>") == 2
    assert not set("\u2028\u2029\x00") & set(page.html[page.html.index('id="data"') :])
    page.html.encode()


@given(st.text(st.characters()))
def test_every_text_comes_back(text: str) -> None:
    whole = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    page = review_page(references=[[]], predictions=[[]], text=[text])
    assert data_of(page)["rows"][0][1] == whole
    assert len(whole) == len(text)


def test_it_names_no_other_place_and_one_script() -> None:
    page = review_page(**ONE)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", page.html)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.html)
    script = re.search(r"</script>\n<script>(.*?)</script>", page.html, re.DOTALL)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "img-src data:",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_it_is_written_as_utf8(tmp_path: Path) -> None:
    page = review_page(references=[[]], predictions=[[]], text=["東京\n"], title="é\ud800")
    page.write(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_bytes() == page.html.encode()
    assert "<title>é\ufffd</title>" in page.html
    assert repr(page) == f"Page({len(page.html):,} characters)"


def test_a_notebook_gets_a_frame_that_cannot_reach_out() -> None:
    frame = review_page(**ONE)._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" ')
    assert frame.count('"') == 8  # four attributes: no quotation mark of the page ends one
    assert "<script" not in frame


def test_spans_are_read_as_everywhere() -> None:
    given: dict[str, Any] = {
        "references": [[[0, 9]], None],
        "predictions": [[[0, 2], [-1, -1]], []],
        "text": ["abcd", "e"],
    }
    with pytest.raises(ValueError, match=r"references: .*missing_rows"):
        review_page(**given)
    with pytest.raises(ValueError, match=r"references: 1 invalid span in 1 row: row 0, span 0 \[0, 9\]: past the end"):
        review_page(**given, missing_rows="empty")
    rows = data_of(review_page(**given, missing_rows="empty", invalid="drop"))["rows"]
    assert [row[2:4] for row in rows] == [[[], [0, 2, -1, 0]], [[], []]]
    units = review_page(
        references=[[[1, 3]]], predictions=[[]], text=["a\U0001f642b"], offsets="utf16", end="exclusive"
    )
    assert data_of(units)["rows"][0][2] == [1, 2, -1, 0]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"text": "Paris is big."}, TypeError, "text must be a sequence of strings, one for each row, got one string"),
        ({"text": ["Paris is big.", ""]}, ValueError, "references has 1 row"),
        ({"predictions": [[], []]}, ValueError, "predictions has 2 row"),
        ({"ids": ["a", "b"]}, ValueError, "ids has 2 values, text has 1"),
        ({"ids": "a"}, TypeError, "ids must be a sequence of 1 values"),
        ({"scores": {"iou": [1, 2]}}, ValueError, r"scores\['iou'\] has 2 values, text has 1"),
        ({"scores": {"iou": ["x"]}}, TypeError, r"scores\['iou'\]: row 0 must be a number or None, got 'x'"),
        ({"scores": {"iou": [float("inf")]}}, ValueError, r"scores\['iou'\]: row 0 is inf"),
        ({"slices": {"m": ["a", "b"]}}, ValueError, r"slices\['m'\] has 2 values, text has 1"),
        ({"verdicts": [["exact"]]}, TypeError, "verdicts must be a pair"),
        ({"verdicts": ([["exact"]], [])}, ValueError, "verdicts of the predictions has 0 values, text has 1"),
        (
            {"verdicts": ([["exact", "missed"]], [["exact"]])},
            ValueError,
            "verdicts: row 0 has 2 for the references, which hold 1 spans",
        ),
        ({"verdicts": ([["exact"]], [[1]])}, TypeError, "verdicts: row 0 of the predictions must hold words"),
    ],
)
def test_refusals_name_what_is_wrong(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        review_page(**{**ONE, **change})


def test_slices_that_look_alike_are_refused() -> None:
    with pytest.raises(ValueError, match=r"slices\['m'\]: row 1 is '1', which looks the same"):
        review_page(references=[[], []], predictions=[[], []], text=["", ""], slices={"m": [1, "1"]})


# -- the verdicts, where none are given

SPAN = st.tuples(st.integers(0, 6), st.integers(1, 4), st.sampled_from(["A", "B"]))
SPANS = st.lists(SPAN.map(lambda s: [s[0], s[0] + s[1], s[2]]), max_size=4)


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=3), st.booleans())
def test_the_verdicts_are_those_of_find_errors(rows: list[Any], typed: bool) -> None:
    references, predictions = [row[0] for row in rows], [row[1] for row in rows]
    if not typed:
        # One span without a type, and types do not count.
        predictions[0] = [*predictions[0], [0, 1]]
    errors = find_errors(references=references, predictions=predictions, typed=typed, repair=False)
    assert default_verdicts(as_spans(references), as_spans(predictions)) == [*errors.verdicts]


def test_the_samples_can_be_seen() -> None:
    rows = samples.read("mu_shroom.jsonl")
    found = samples.read("mu_shroom_baseline.jsonl")
    assert [row["id"] for row in rows] == [row["id"] for row in found]
    page = review_page(
        references=[row["hard_labels"] for row in rows],
        predictions=[row["hard_labels"] for row in found],
        text=[row["model_output_text"] for row in rows],
    )
    assert len(data_of(page)["rows"]) == len(rows)
