"""Shared fixtures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a fault, and what fails once must fail again.
settings.register_profile("mycelium", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mycelium")

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Return the folder of the published corpora; the test is skipped where there is none."""
    folder = os.environ.get("MYCELIUM_DATA")
    if not folder or not Path(folder).is_dir():
        if os.environ.get("MYCELIUM_DATA_REQUIRED"):
            pytest.fail(f"MYCELIUM_DATA is {folder!r}, which is no folder, and the tests on corpora must run here")
        pytest.skip("needs the published corpora: set MYCELIUM_DATA to their folder")
    return Path(folder).resolve()


def read_cases(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of cases in tests/data."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").split("\n") if line]
