"""The Space: its card, its cases, and what its page shows."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hf_host import ROOT, host, run

import mycelium
from mycelium import hf

SPACE = ROOT / "hf_metric"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CARD = (SPACE / "README.md").read_text(encoding="utf-8")


def by_path(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(SPACE), *sys.path])
    spec = importlib.util.spec_from_file_location(f"space_{name}", SPACE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Any:
    return by_path("app", monkeypatch)


def test_the_folder_holds_what_a_space_holds() -> None:
    here = {path.name for path in SPACE.iterdir() if not path.name.startswith("__")}
    assert here == {"README.md", "app.py", "mycelium.py", "requirements.txt", "tests.py"}
    wanted = (SPACE / "requirements.txt").read_text().split()
    assert "mycelium-eval[hf]" in wanted
    assert "mycelium" not in wanted  # the name belongs to another project


def test_front_matter() -> None:
    match = re.match(r"---\n(.*?)\n---\n", CARD, re.DOTALL)
    assert match
    yaml = pytest.importorskip("yaml")
    fields = yaml.safe_load(match[1])
    assert list(fields) == [
        *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "app_file", "pinned", "tags", "description")
    ]
    assert fields["title"] == "mycelium"
    assert fields["sdk"] == "gradio"
    assert fields["app_file"] == "app.py"
    assert fields["tags"] == ["evaluate", "metric"]
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {fields["colorFrom"], fields["colorTo"]} <= colours


def test_the_card_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = host()
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", tmp_path)
    found = BLOCK.findall(CARD)
    assert [language for language, _ in found] == ["bash", *["python", "text"] * 3]
    names: dict[str, Any] = {}
    for (_, code), (_, expected) in zip(found[1::2], found[2::2], strict=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), names)
        assert out.getvalue() == expected


def test_the_card_names_every_key_and_option() -> None:
    for key in mycelium.metrics.DEFAULT:
        assert f"`{key}`" in CARD
    for option in (
        "profile",
        "metrics",
        "average",
        "undefined",
        "tolerance",
        "invalid",
        "missing_rows",
        "offsets",
        "end",
    ):
        assert f"`{option}`" in CARD


def test_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = host()
    metric = evaluate.load(hf.path(), cache_dir=str(tmp_path))
    cases = by_path("tests", monkeypatch).test_cases
    assert len(cases) >= 4
    for case in cases:
        result = metric.compute(predictions=case["predictions"], references=case["references"])
        assert {key: result[key] for key in case["result"]} == pytest.approx(case["result"], abs=1e-12)


def test_the_page_imports_the_library_and_not_the_script(app: Any) -> None:
    assert str(SPACE) not in sys.path
    assert app.evaluate is mycelium.evaluate


def test_pieces(app: Any) -> None:
    marks = {"annotated": [(0, 4), (2, 6)], "predicted": [(5, 8)]}
    assert app.pieces("abcdefghij", marks) == [
        ("ab", "annotated"),
        ("cd", "annotated"),
        ("e", "annotated"),
        ("f", "annotated + predicted"),
        ("gh", "predicted"),
        ("ij", None),
    ]
    assert app.pieces("ab", {"annotated": []}) == [("ab", None)]
    assert app.pieces("", {"annotated": []}) == []


def test_the_page_shows_spans_and_scores(app: Any) -> None:
    compared, annotated, predicted, table, signature = app.show(
        "0123456789", "[[0, 10]]", '[{"start": 2, "end": 8, "label": "conflict"}]'
    )
    assert compared == [("01", "annotated"), ("234567", "annotated + predicted"), ("89", "annotated")]
    assert annotated == [("0123456789", "annotated")]
    assert predicted == [("01", None), ("234567", "conflict"), ("89", None)]
    assert [len(row) for row in table] == [len(app.COLUMNS)] * 6
    assert table[1] == ["iou", "", "", "", "0.6000"]
    assert table[2] == ["character", "1.0000", "0.6000", "0.7500", ""]
    assert signature.startswith("mycelium|v:")


def test_the_examples_of_the_page_work(app: Any) -> None:
    for example in app.EXAMPLES:
        pieces = app.show(*example)[0]
        assert "".join(piece for piece, _ in pieces) == example[0]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ("[[0, 4]", "references: no JSON"),
        ("[[0, 11]]", "references: 1 invalid span .* past the end of the text"),
        ("null", "references: 1 row without annotation"),
    ],
)
def test_the_page_says_what_is_wrong(app: Any, references: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        app.show("0123456789", references, "[]")


@pytest.mark.skipif(importlib.util.find_spec("gradio") is None, reason="needs gradio")
def test_the_page_can_be_built(tmp_path: Path) -> None:
    # As the Space runs it: in the folder with the script that is named like the library.
    code = "import app, gradio; print(isinstance(app.build(), gradio.Blocks))"
    assert run(code, home=tmp_path, cwd=SPACE, GRADIO_ANALYTICS_ENABLED="False") == "True"
