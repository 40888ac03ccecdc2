"""The page in a real browser: filters, counts, orders, search and keys, also of thousands of answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import PROGRAM, Browser
from view_pages import (
    ALL,
    PREDICTIONS,
    REFERENCES,
    ROWS,
    STATUS,
    TEXTS,
    choose,
    facet,
    put,
    write_page,
)

from mycelium.view import review_page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="needs chromium")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    tab = Browser(tmp_path_factory.mktemp("profile"))
    yield tab
    tab.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(tmp_path_factory.mktemp("page") / "review.html")


@pytest.fixture
def page(browser: Browser, path: Path) -> Browser:
    browser.look()
    browser.open(path)
    browser.run(ALL)
    return browser


# -- filters


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ({"v": ["missed"]}, [0, 1, 5]),
        ({"v": ["missed", "duplicate"]}, [0, 1, 4, 5]),
        ({"v": ["no spans"]}, [3]),
        ({"t": ["B"]}, [0, 1, 2, 4]),
        # Verdict and type must hold of one span: the fox has a spurious A, and B, but no spurious B.
        ({"v": ["spurious"], "t": ["B"]}, []),
        ({"v": ["spurious"], "t": ["A"]}, [0, 5]),
        ({"s.model": ["x", "<i>"]}, [0, 2, 4, 5]),
        ({"v": ["missed"], "s.model": ["x"]}, [0]),
        ({"q": ["QUICK"]}, [0]),
        ({"q": ["tokyo"]}, [4]),
        ({"q": ["nowhere"]}, []),
        ({"v": ["unheard of"], "sort": ["unheard of"]}, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_filters_of_the_address(page: Browser, path: Path, asked: dict[str, list[str]], rows: list[int]) -> None:
    page.open(path, urlencode(asked, doseq=True))
    assert page.run(ROWS) == rows
    assert page.run(STATUS) == {
        "answers": len(rows),
        "references": sum(len(REFERENCES[row]) for row in rows),
        "predictions": sum(len(PREDICTIONS[row]) for row in rows),
    }
    assert page.run(
        "document.getElementById('answers').textContent.includes('No answer fits this choice.')"
    ) is not bool(rows)


def test_ticking_boxes_counts_on(page: Browser) -> None:
    assert facet(page, "v") == {
        "exact": 2, "too narrow": 1, "merged": 1, "wrong type": 1, "duplicate": 1, "missed": 3, "spurious": 2,
        "no spans": 1,
    }  # fmt: skip
    choose(page, "v", "missed")
    assert page.run(ROWS) == [0, 1, 5]
    # The own group goes on counting what a further tick would bring; others count what is left.
    assert facet(page, "v")["exact"] == 2
    assert facet(page, "s.model") == {"<i>": 1, "x": 1, "y": 1}
    assert facet(page, "t") == {"<b>T</b>": 1, "A": 1, "B": 1}
    choose(page, "s.model", "x")
    assert page.run(ROWS) == [0]
    assert facet(page, "v") == {
        "exact": 2, "too narrow": 0, "merged": 1, "wrong type": 1, "duplicate": 1, "missed": 1, "spurious": 1,
        "no spans": 0,
    }  # fmt: skip
    assert page.run("location.hash") == "#v=missed&s.model=x"
    page.run("document.getElementById('reset').click()")
    assert page.run(ROWS) == [0, 1, 2, 3, 4, 5]
    assert page.run("location.hash") == ""


def test_the_search_marks_what_it_found(page: Browser) -> None:
    put(page, "query", "BROWN F", "input")
    page.wait(f"{ROWS}.length === 1")
    assert page.run("[...CSS.highlights.get('found')].map(range => range.toString())") == ["brown f"]
    assert page.run("document.querySelector('.text').textContent") == TEXTS[0]


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ("sort=score.iou", [5, 1, 0, 4, 3, 2]),
        ("sort=score.iou&order=down", [3, 4, 0, 1, 5, 2]),  # no score comes last, both ways
        ("order=down", [5, 4, 3, 2, 1, 0]),
        ("sort=errors&order=down", [0, 1, 2, 5, 4, 3]),  # 3, 3, 2, 2, 1, 0 spans that are not exact
    ],
)
def test_orders(page: Browser, path: Path, asked: str, rows: list[int]) -> None:
    page.open(path, asked)
    assert page.run(ROWS) == rows


def test_the_direction_button_turns_the_order(page: Browser) -> None:
    put(page, "sort", "score.iou", "change")
    assert page.run(ROWS) == [5, 1, 0, 4, 3, 2]
    page.run("document.getElementById('direction').click()")
    assert page.run(ROWS) == [3, 4, 0, 1, 5, 2]
    assert page.run("document.getElementById('direction').getAttribute('aria-label')") == "Order: highest first"


# -- keys

CURRENT = "[...document.querySelectorAll('article[aria-current]')].map(e => Number(e.dataset.row))"


def test_keys_step_through(page: Browser) -> None:
    for key, row in (
        ("j", 0),
        ("j", 1),
        ("ArrowRight", 2),
        ("k", 1),
        ("ArrowLeft", 0),
        ("k", 0),
        ("End", 5),
        ("j", 5),
        ("Home", 0),
    ):
        page.press(key)
        assert page.run(CURRENT) == [row], key
        assert page.run("Number(document.activeElement.dataset.row)") == row
    assert page.run("document.activeElement.matches(':focus-visible')")
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.run("document.querySelectorAll('article[tabindex=\"0\"]').length") == 1


def test_other_keys(page: Browser) -> None:
    page.press("?")
    assert page.run("document.getElementById('keys').open")
    page.press("j")
    assert page.run(CURRENT) == []
    page.run("document.querySelector('#keys button').click()")
    page.press("s")
    assert page.run(ROWS) == [5, 4, 3, 2, 1, 0]
    page.press("/")
    assert page.run("document.activeElement.id") == "query"
    page.press("j")  # into the field, nowhere else
    assert page.run(CURRENT) == []
    page.wait(f"{ROWS}.length === 1")  # "jumps"
    page.press("Escape")
    page.press("x")
    assert len(page.run(ROWS)) == 6


# -- many answers


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    rng = random.Random(5)
    types, verdicts = ["A", "B", "C"], ["exact", "too wide", "missed", "spurious"]

    def spans(text: str) -> list[list[Any]]:
        cuts = [sorted(rng.sample(range(len(text)), 2)) for _ in range(rng.randrange(4))]
        return [[a, b, rng.choice(types)] for a, b in cuts]

    texts = [
        " ".join(rng.choice(["alpha", "beta", "gamma", "δέλτα", "ε"]) for _ in range(rng.randrange(5, 80)))
        for _ in range(5000)
    ]
    sides = [[spans(text) for text in texts] for _ in range(2)]
    return {
        "references": sides[0],
        "predictions": sides[1],
        "text": texts,
        "verdicts": tuple([[rng.choice(verdicts) for _ in row] for row in side] for side in sides),
        "scores": {"iou": [rng.random() for _ in texts]},
        "slices": {"model": [rng.choice("xyz") for _ in texts], "task": [rng.choice("qs") for _ in texts]},
    }


def test_five_thousand_answers(browser: Browser, many: dict[str, Any], tmp_path: Path) -> None:
    review_page(**many).write(tmp_path / "many.html")
    browser.look()
    browser.open(tmp_path / "many.html")
    browser.wait("document.querySelectorAll('article').length === 5000")
    drawn = "document.querySelectorAll('article > header').length"
    assert 4 <= browser.run(drawn) < 100
    # Every count against the plain reading, for choices in several groups.
    for chosen in ({}, {"v": "missed"}, {"v": "missed", "t": "B", "s.model": "x"}, {"t": "C", "s.task": "q"}):
        browser.open(tmp_path / "many.html", urlencode(chosen))
        assert browser.run("Number(document.getElementById('status').dataset.answers)") == len(matching(many, chosen))
        for key, names in (("v", ["exact", "missed"]), ("t", ["A", "B"]), ("s.model", ["x", "z"]), ("s.task", ["q"])):
            counts = facet(browser, key)
            assert {name: counts[name] for name in names} == {
                name: len(matching(many, {**chosen, key: name})) for name in names
            }, (chosen, key)
    browser.press("End")
    assert browser.run("Number(document.activeElement.dataset.row)") == matching(many, {"t": "C", "s.task": "q"})[-1]
    browser.open(tmp_path / "many.html", "sort=score.iou&order=down")
    browser.wait("document.querySelectorAll('article').length === 5000")
    scores = many["scores"]["iou"]
    assert browser.run(ROWS) == sorted(range(5000), key=lambda row: -scores[row])
    # The last can be gone to before all are in their places.
    at_once = "const key = new KeyboardEvent('keydown', {key: 'End', bubbles: true}); document.body.dispatchEvent(key);"
    last = "return Number(document.activeElement.dataset.row);"
    assert browser.run(f"(() => {{ document.getElementById('direction').click(); {at_once} {last} }})()") == max(
        range(5000), key=lambda row: scores[row]
    )
    # Scrolled to, an answer is drawn.
    browser.run("document.querySelectorAll('article')[2500].scrollIntoView()")
    browser.wait("document.querySelectorAll('article')[2500].firstChild !== null")
    assert browser.run(drawn) < 300
    assert browser.errors() == []


def matching(many: dict[str, Any], chosen: dict[str, str]) -> list[int]:
    """Return the rows that pass, by the plain reading of the rules."""
    out = []
    for row in range(len(many["text"])):
        spans = many["references"][row] + many["predictions"][row]
        words = many["verdicts"][0][row] + many["verdicts"][1][row]
        kinds = [(word, span[2]) for word, span in zip(words, spans, strict=True)] or [("no spans", "")]
        if any(chosen.get("v", v) == v and chosen.get("t", t) == t for v, t in kinds) and all(
            chosen.get(f"s.{name}", values[row]) == values[row] for name, values in many["slices"].items()
        ):
            out.append(row)
    return out
