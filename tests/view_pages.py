"""A page of six answers, what tests ask of it, and its controls."""

from __future__ import annotations

import json
from pathlib import Path

from browser import Browser

from mycelium.view import review_page

#: Draws all answers, as printing does.
ALL = "dispatchEvent(new Event('beforeprint'))"
#: The ids of the answers in their order, and their rows.
IDS = "[...document.querySelectorAll('article h2')].map(e => e.textContent)"
ROWS = "[...document.querySelectorAll('article')].map(e => Number(e.dataset.row))"
STATUS = "Object.fromEntries(Object.entries(document.getElementById('status').dataset).map(([k, v]) => [k, Number(v)]))"
#: For each answer: its text, and for each span the text under its marks.
MARKED = """[...document.querySelectorAll('article')].map(article => {
    const spans = {};
    for (const mark of article.querySelectorAll('.seg'))
        for (const name of mark.dataset.spans.split(' ')) spans[name] = (spans[name] || '') + mark.textContent;
    return [article.querySelector('.text').textContent, spans];
})"""

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXTS = [
    "The quick brown fox jumps.",
    f"A {FAMILY} by the \U0001f3d6\ufe0f sea.",
    "كلمات with English وباقي",
    "Nobody marked this one.",
    "東京は日本の首都です。",
    "<script>document.title = 'owned'</script> </script> <!-- &amp; \u2028 {{data}}",
]
REFERENCES = [
    [[0, 19, "A"], [4, 9, "B"], [10, 15, "A"]],
    [[2, 7, "A"], [15, 17, "B"]],
    [[0, 10, "A"]],
    [],
    [[0, 2, "B"]],
    [[0, 8, "<b>T</b>"]],
]
PREDICTIONS = [
    [[4, 9, "B"], [20, 25, "A"]],
    [[3, 4, "A"]],
    [[6, 12, "B"]],
    [],
    [[0, 2, "B"], [0, 2, "B"]],
    [[10, 30, "A"]],
]
VERDICTS = (
    [["merged", "exact", "missed"], ["too narrow", "missed"], ["wrong type"], [], ["exact"], ["missed"]],
    [["exact", "spurious"], ["too narrow"], ["wrong type"], [], ["exact", "duplicate"], ["spurious"]],
)
SCORES = {"iou": [0.5, 0.25, None, 1.0, 0.75, 0.0]}
MODELS = ["x", "y", "x", "y", "x", "<i>"]
NAMES = ["fox", "family", "arabic", "clean", "tokyo", "<script>document.title = 'id'</script>"]


def write_page(path: Path) -> Path:
    """Write the page of six answers."""
    review_page(
        references=REFERENCES,
        predictions=PREDICTIONS,
        text=TEXTS,
        ids=NAMES,
        scores=SCORES,
        slices={"model": MODELS},
        verdicts=VERDICTS,
        title="<u>Six</u> answers",
        signature="mycelium|v:0",
    ).write(path)
    return path


def facet(browser: Browser, key: str) -> dict[str, int]:
    """Return the counts beside the choices of one group of filters."""
    code = f"""[...document.querySelectorAll('[data-facet={json.dumps(key)}]')].map(
        e => [e.dataset.name, Number(e.textContent.replace(',', ''))])"""
    return dict(browser.run(code))


def choose(browser: Browser, key: str, name: str) -> None:
    """Tick a box."""
    browser.run(
        f"[...document.querySelectorAll('[data-facet={json.dumps(key)}]')]"
        f".find(e => e.dataset.name === {json.dumps(name)}).closest('label').querySelector('input').click()"
    )


def put(browser: Browser, name: str, value: str, event: str) -> None:
    """Give a field a value, as its user would."""
    browser.run(
        f"(() => {{ const field = document.getElementById({json.dumps(name)}); field.value = {json.dumps(value)};"
        f" field.dispatchEvent(new Event({json.dumps(event)})); }})()"
    )
