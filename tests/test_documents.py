"""Every code block of the README and the docs runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hf_host import host

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Commands that set a machine up; continuous integration runs them as they stand.
SETUP = "python3 -m venv"
NEEDS = {
    "# needs datasets": "datasets",
    "# needs evaluate": "evaluate",
    "# needs matplotlib": "matplotlib",
    "# needs polars": "polars",
    "# needs pyarrow": "pyarrow",
    "# needs scikit-learn": "sklearn",
    "# needs torch": "torchmetrics",
    # Compiled only: what cannot be had offline, was run by hand, or has slow tests of its own.
    "# needs pyspark": None,
    "# needs ray": None,
    "# needs the Hub": None,
    "# needs transformers": None,
}


def blocks(path: Path) -> list[tuple[str, str, str | None]]:
    """Return (language, code, expected output or None) of each block that is to run."""
    found = [(m[1], m[2]) for m in BLOCK.finditer(path.read_text(encoding="utf-8"))]
    out = []
    for i, (language, code) in enumerate(found):
        if language != "text":
            after = found[i + 1][1] if i + 1 < len(found) and found[i + 1][0] == "text" else None
            out.append((language, code, after))
    return out


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    names: dict[str, object] = {}
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for language, code, expected in blocks(path):
        assert language in ("python", "bash"), f"a block in {language!r} is not run"
        if SETUP in code:
            continue
        if language == "bash":
            run = ["bash", "-euo", "pipefail", "-c", code]
            done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            printed = done.stdout
        else:
            need = NEEDS.get(code.split("\n", 1)[0], "")
            if need is None:
                compile(code, path.name, "exec")
                continue
            if need:
                if find_spec(need) is None:
                    continue
                if need == "evaluate":
                    host()
            out = io.StringIO()
            with inside(tmp_path), contextlib.redirect_stdout(out):
                exec(compile(code, path.name, "exec"), names)
            printed = out.getvalue()
        if expected is not None:
            assert printed == expected


def test_the_readme_has_the_two_commands() -> None:
    commands = [code for language, code, _ in blocks(ROOT / "README.md") if language == "bash" and SETUP in code]
    assert len(commands) == 2
    assert "mycelium demo" in commands[0]
    assert "pytest" in commands[1]


def test_the_docs_name_every_metric() -> None:
    from mycelium import metrics

    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for metric in metrics.available():
        assert f"### `{metric.name}`" in text
        assert f"| `{metric.name}` |" in readme
        assert all(f"`{p.name}`" in text for p in metric.parameters if p.name != "tolerance")
