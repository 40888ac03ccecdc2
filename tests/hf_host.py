"""``evaluate`` with caches of its own, in this process and in others: nothing of the user's is read or written."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@functools.cache
def host() -> ModuleType:
    """Import ``evaluate`` (the test is skipped where there is none) and point it at a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluate = pytest.importorskip("evaluate")
    keep = tempfile.TemporaryDirectory(prefix="mycelium-hf-", ignore_cleanup_errors=True)
    host.keep = keep  # type: ignore[attr-defined]
    config = evaluate.config
    for name in ("HF_MODULES_CACHE", "HF_METRICS_CACHE", "HF_EVALUATE_CACHE"):
        setattr(config, name, Path(keep.name, name.lower()))
    config.HF_EVALUATE_OFFLINE = True
    return evaluate


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that finds this library, no network, and its caches below ``home``."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return {**ours, **offline, "HF_HOME": str(home), "PYTHONPATH": str(ROOT), **more}


def start(code: str, *arguments: str, home: Path, cwd: Path, **more: str) -> subprocess.Popen[str]:
    """Start Python on some code."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=environment(home, **more), stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Return what the process printed; it must have ended well."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()


def run(code: str, *, home: Path, cwd: Path, **more: str) -> str:
    """Run Python on some code and return what it printed."""
    return finish(start(code, home=home, cwd=cwd, **more))
