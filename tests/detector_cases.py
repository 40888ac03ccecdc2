"""The fixture of detectors and its published values, each found by two or more independent programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "data" / "detector"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "detector_expected.json").read_text(encoding="utf-8"))
with (FOLDER / "detector_fixture.csv").open(encoding="utf-8", newline="") as _file:
    ROWS = list(csv.DictReader(_file))


def rows(half: str = "all") -> list[dict[str, str]]:
    """Return the rows of "calibration", "test" or "all"."""
    return [row for row in ROWS if half in ("all", row["split"])]


def column(name: str, half: str = "all") -> list[Any]:
    """Return a column: text for ids and mechanisms, numbers for everything else."""
    texts = [row[name] for row in rows(half)]
    if name in ("row_id", "source_id", "split", "mechanism"):
        return texts
    return [int(text) if name in ("unsupported", "second_label") else float(text) for text in texts]


def digits(value: Any) -> Any:
    """Return what a number printed with 12 digits is compared with."""
    return pytest.approx(value, rel=5e-12, abs=1e-13)


def value(*path: str) -> Any:
    """Return a published value."""
    found: Any = EXPECTED
    for key in path:
        found = found[key]
    return found["value"] if isinstance(found, dict) and "value" in found else found
