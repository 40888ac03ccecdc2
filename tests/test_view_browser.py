"""The page in a real browser: what stands where, escaping, looks, and that it loads nothing."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import PROGRAM, Browser
from view_pages import (
    ALL,
    FAMILY,
    IDS,
    MARKED,
    NAMES,
    PREDICTIONS,
    REFERENCES,
    STATUS,
    TEXTS,
    facet,
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


# -- what stands where


def test_it_opens_without_complaint_and_loads_nothing(page: Browser, path: Path) -> None:
    assert page.errors() == []
    assert [url for url in page.requests() if not url.startswith("data:")] == [path.as_uri()]
    assert page.run(STATUS) == {"answers": 6, "references": 8, "predictions": 7}
    assert page.run("document.getElementById('signature').textContent") == "mycelium|v:0"


def test_every_span_lies_over_its_characters(page: Browser) -> None:
    marked = page.run(MARKED)
    for row, (text, spans) in enumerate(marked):
        assert text == TEXTS[row]
        for side, given in (("r", REFERENCES), ("p", PREDICTIONS)):
            for number, (start, end, _) in enumerate(given[row]):
                # The joiner inside the family cannot be drawn: the whole family is.
                wanted = FAMILY if (row, side, number) == (1, "p", 0) else TEXTS[row][start:end]
                assert spans[f"{side}{number}"] == wanted


def test_marks_lie_where_their_characters_are_drawn(page: Browser) -> None:
    # "fox" of "brown fox": the bar of [10, 15) begins where the 10th character does, at any width.
    for width in (1280, 390):
        page.look(width, 800)
        found = page.run(
            """(() => { const text = document.querySelector('.text');
            const mark = text.querySelector('[data-spans~="r2"]').getBoundingClientRect();
            const range = new Range(); let left = 10;
            for (const node of [...text.childNodes]) {
                const inner = node.firstChild || node;
                if (left < inner.data.length) { range.setStart(inner, left); range.setEnd(inner, left + 1); break; }
                left -= inner.data.length;
            }
            return [mark.left, range.getBoundingClientRect().left, range.toString()]; })()"""
        )
        assert found[2] == "b"
        assert found[0] == pytest.approx(found[1], abs=0.51)


def test_spans_of_one_side_that_overlap_get_lanes_of_their_own(page: Browser) -> None:
    mark = """(name => { const mark = [...document.querySelectorAll('.seg')].find(m => m.dataset.spans === name);
        return [mark.style.backgroundPosition, mark.style.backgroundImage]; })"""
    positions, images = page.run(f"{mark}('r0 r1 p0')")
    assert [place.split() for place in positions.split(", ")] == [
        ["left", "0px", "top", "8px"],
        ["left", "0px", "top", "1px"],
        ["left", "0px", "bottom", "1px"],
    ]
    # Types by number, sorted by name: "<b>T</b>", "A", "B".
    assert images == "var(--t1), var(--t2), var(--t2)"


def test_arabic_marks_end_at_their_left(page: Browser) -> None:
    sides = page.run(
        "[...document.querySelectorAll('article')][2].querySelectorAll('.seg').values()"
        ".map(m => [m.textContent, m.style.backgroundPosition.split(' ')[0]]).toArray()"
    )
    assert sides == [["كلمات ", "right"], ["with", "left"], [" E", "left"]]
    assert page.run("getComputedStyle(document.querySelectorAll('.text')[2]).direction") == "rtl"


def test_types_have_colours_and_patterns_of_their_own(browser: Browser, tmp_path: Path) -> None:
    types = [f"T{i:02}" for i in range(40)]
    spans = [[[i, i + 1, name] for i, name in enumerate(types)]]
    review_page(references=spans, predictions=spans, text=["x" * 40]).write(tmp_path / "t.html")
    browser.open(tmp_path / "t.html")
    images = browser.run(
        "(() => { const s = document.documentElement.style;"
        "return Array.from({length: 40}, (_, i) => s.getPropertyValue('--t' + i)); })()"
    )
    assert len(set(images)) == 40
    # Colour alone, and pattern alone, tell the first eight apart.
    assert len({re.search(r"--c\d", image)[0] for image in images[:8]}) == 8  # type: ignore[index]
    assert len({re.sub(r"--[cw]\d", "", image) for image in images[:8]}) == 8


def test_spans_are_told_in_words(page: Browser) -> None:
    assert page.run("document.querySelector('.seg').title") == "reference: merged, A [0, 19)"
    items = page.run(
        "[...document.querySelectorAll('article')][4].querySelectorAll('li').values().map(e => e.textContent).toArray()"
    )
    assert items == ["✓ exact B 東京 [0, 2)", "✓ exact B 東京 [0, 2)", "≈ duplicate B 東京 [0, 2)"]
    cut = page.run("[...document.querySelectorAll('li')].find(e => e.textContent.includes('[3, 4)')).title")
    assert cut == "prediction: too narrow, A [3, 4) (cuts a character, drawn to the whole of it)"
    assert "U+200D" in page.run(
        "[...document.querySelectorAll('li')].find(e => e.title.includes('[3, 4)')).textContent"
    )


# -- text that would be more than text


def test_markup_is_shown_and_not_run(page: Browser) -> None:
    assert page.run("document.title") == "<u>Six</u> answers"
    assert page.run("document.querySelector('h1').textContent") == "<u>Six</u> answers"
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('article script, article b, article i, aside b, aside i').length") == 0
    assert page.run(f"{IDS}[5]") == NAMES[5]
    assert page.run(f"{MARKED}[5][0]") == TEXTS[5]
    assert facet(page, "t") == {"<b>T</b>": 1, "A": 4, "B": 4}
    assert facet(page, "s.model") == {"<i>": 1, "x": 3, "y": 2}


def test_only_the_script_of_the_page_may_run(page: Browser) -> None:
    make = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    page.run(f"(() => {{ {make} }})()")
    assert page.run("typeof window.ran") == "undefined"
    assert page.run("fetch('data:,x').then(() => 'loaded', () => 'refused')") == "refused"


# -- how it looks


def test_light_dark_paper(page: Browser) -> None:
    seen = {}
    for name, options in (("light", {}), ("dark", {"dark": True}), ("paper", {"media": "print", "dark": True})):
        page.look(**options)
        seen[name] = page.run(
            "(s => [s.backgroundColor, s.color, s.getPropertyValue('--c0')])(getComputedStyle(document.body))"
        )
    assert all(dark != light for dark, light in zip(seen["dark"], seen["light"], strict=True))
    assert seen["paper"] == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", seen["light"][2]]
    assert page.run("getComputedStyle(document.getElementById('tools')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.seg')).printColorAdjust") == "exact"
    page.look()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_runs_out_of_the_window(page: Browser, tmp_path: Path, width: int) -> None:
    long = "Averylongword" * 60
    review_page(
        references=[[[3, 300, long]]], predictions=[[[0, 700]]], text=[long], ids=[long], slices={long: [long]},
        scores={"a_rather_long_name_of_a_score": [0.5], long[:200]: [0.5]}, title=long, signature=long,
    ).write(tmp_path / "w.html")  # fmt: skip
    page.look(width, 800)
    page.open(tmp_path / "w.html")
    assert page.run("document.documentElement.scrollWidth") <= width
    page.look()


def test_a_notebook_shows_it_in_a_frame_of_its_own(browser: Browser, tmp_path: Path) -> None:
    made = review_page(references=[[[0, 5, "<place>"]]], predictions=[[]], text=['Paris & "\u00e9" <b>'])
    (tmp_path / "n.html").write_text(f'<!doctype html><meta charset="utf-8"><p>cell</p>{made._repr_html_()}', "utf-8")
    browser.open(tmp_path / "n.html")
    assert browser.run("document.querySelectorAll('article').length") == 0
    assert browser.frame("document.querySelector('.text').textContent") == 'Paris & "\u00e9" <b>'
    browser.frame("document.querySelector('#facets input').click()")
    assert browser.frame(STATUS) == {"answers": 1, "references": 1, "predictions": 0}
    assert (
        browser.frame("(() => { try { return String(parent.document.title) } catch { return 'apart' } })()") == "apart"
    )


# -- hard answers


def test_thousands_of_spans_in_one_answer(browser: Browser, tmp_path: Path) -> None:
    text = "word " * 1000
    spans = [[[i, 5000 - i, "A"] for i in range(2000)]]
    review_page(references=spans, predictions=spans, text=[text]).write(tmp_path / "deep.html")
    browser.open(tmp_path / "deep.html")
    assert browser.run("document.querySelector('.text').textContent") == text
    assert browser.run("document.querySelector('.note').textContent").startswith(
        "3984 spans"
    )  # 8 layers a side are drawn
    assert browser.run("document.querySelectorAll('li').length") == 22
    browser.run("document.querySelector('.more').click()")
    assert browser.run("document.querySelectorAll('li').length") == 2011


@pytest.mark.corpora
@pytest.mark.parametrize("language", ["ar", "fa", "zh", "hi", "fi"])
def test_real_answers_in_many_scripts(browser: Browser, corpora: Path, tmp_path: Path, language: str) -> None:
    lines = (corpora / f"mu_shroom/test/mushroom.{language}-tst.v1.extra.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [row["model_output_text"] for row in rows]
    spans = [row["hard_labels"] for row in rows]
    soft = [[[s["start"], s["end"]] for s in row["soft_labels"]] for row in rows]
    review_page(references=spans, predictions=soft, text=texts).write(tmp_path / "real.html")
    browser.open(tmp_path / "real.html")
    browser.run(ALL)
    marked = browser.run(MARKED)
    checked = 0
    assert len(marked) == len(rows)
    for (shown, found), text, *sides in zip(marked, texts, spans, soft, strict=True):
        assert shown == text
        for side, given in zip("rp", sides, strict=True):
            for number, (start, end) in enumerate(given):
                piece = found[f"{side}{number}"]
                # Only where a boundary parts a letter from its marks or joiners is more drawn than was given.
                ragged = [text[at : at + 1] for at in (start, end)]
                if any(unicodedata.category(c)[0] == "M" or unicodedata.category(c) == "Cf" for c in ragged if c):
                    assert text[start:end] in piece
                    assert len(piece) < end - start + 12
                elif language == "hi":  # a conjunct is one letter too
                    assert text[start:end] in piece
                else:
                    assert piece == text[start:end]
                checked += 1
    assert checked > 100
    assert browser.errors() == []
