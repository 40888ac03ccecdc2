"""docs/trainer.md and examples/trainer_callback.py run, on a tiny model."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mycelium import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parent.parent


def blocks() -> list[str]:
    text = (ROOT / "docs" / "trainer.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [code for code in found if not code.startswith("# needs the Hub")]


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for library in ("torch", "transformers", "accelerate", "datasets"):
        pytest.importorskip(library)
    import trainer_host

    trainer_host.quiet()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    tokenizer, model = trainer_host.tokenizer(), trainer_host.model()
    model.config.max_position_embeddings = 64
    names: dict[str, Any] = {"tokenizer": tokenizer, "model": model}
    for code in blocks():
        exec(compile(code, "docs/trainer.md", "exec"), names)
    metrics, examples = names["metrics"], names["examples"]
    printed = capsys.readouterr().out
    assert "mycelium|v:" in printed
    assert "0.5 " in printed
    # the loop of one's own found what the Trainer finds
    loop = metrics.predictions
    assert names["scores"] == {
        key: value for key, value in metrics.report.flat().items() if key.startswith(("iou", "span_coverage"))
    }
    assert loop.tolist() == metrics.decode(names["predicted"]).tolist()
    report = evaluate(references=list(examples["hard_labels"]), predictions=loop, metrics=["iou", "span_coverage"])
    assert names["scores"] == report.flat()


@pytest.mark.parametrize("source", ["samples", "corpora"])
def test_the_example_runs(source: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for library in ("torch", "transformers", "accelerate", "datasets"):
        pytest.importorskip(library)
    environment = {name: value for name, value in os.environ.items() if name != "MYCELIUM_DATA"}
    if source == "corpora":
        environment["MYCELIUM_DATA"] = str(request.getfixturevalue("corpora"))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "trainer_callback.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    header, *lines = done.stdout.rstrip("\n").split("\n")
    assert header.split() == ["epoch", "seen_iou", "seen_span_coverage_f1", "unseen_iou", "unseen_span_coverage_f1"]
    table = [[float(cell) for cell in line.split()] for line in lines]
    assert [row[0] for row in table] == list(range(1, 16))
    assert all(0 <= cell <= 1 and math.isfinite(cell) for row in table for cell in row[1:])
    assert table[-1][1] > table[0][1] + 0.2  # it learns what it sees


def test_the_example_is_short() -> None:
    assert len((ROOT / "examples" / "trainer_callback.py").read_text(encoding="utf-8").split("\n")) - 1 < 80
