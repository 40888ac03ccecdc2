"""Small samples in the two schemas, with the output of the baseline detector.

``mu_shroom.jsonl`` and the folder ``ragtruth`` hold short answers that were written and annotated for this package:
labels that overlap, a character outside the basic plane before a span, answers without any label, other scripts.
``mu_shroom_baseline.jsonl`` and ``ragtruth_baseline.jsonl`` hold what :func:`mycelium.baseline.lexical_support` marks
in them, as written by :func:`mycelium.cli.demo.predict`. The places and people are invented.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelium.formats.files import read_jsonl

__all__ = ["FILES", "FOLDER", "read"]

FOLDER = Path(__file__).parent

#: What ``mycelium demo --write`` copies, relative to the folder.
FILES = (
    "mu_shroom.jsonl",
    "mu_shroom_baseline.jsonl",
    "ragtruth/response.jsonl",
    "ragtruth/source_info.jsonl",
    "ragtruth_baseline.jsonl",
)


def read(name: str) -> list[dict[str, Any]]:
    """Return the records of one of the files."""
    return [record for _, record in read_jsonl(FOLDER / name)]
