"""Rows of typed spans with everything that is hard, and the files and tables that hold them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

TYPES = ["conflict", "baseless", "none of it"]
Rows = list[list[list[Any]]]


def typed_rows(n: int, seed: int = 3, types: list[str] = TYPES) -> tuple[Rows, Rows]:
    """Return references and predictions: valid cases, repeats, nesting, moved, renamed, lost and made-up spans."""
    rng = random.Random(seed)
    references: Rows = []
    predictions: Rows = []
    for _ in range(n):
        row: list[list[Any]] = []
        for _ in range(rng.choice([0, 0, 1, 2, 3, 5])):
            start = rng.randrange(40)
            row.append([start, start + rng.randint(1, 15), rng.choice(types)])
        if row and rng.random() < 0.2:
            row.append(list(row[0]))
        found: list[list[Any]] = []
        for start, end, name in row:
            for _ in range(rng.choice([0, 1, 1, 1, 2])):
                shift = rng.choice([0, 0, 0, 1, 3])
                found.append([start + shift, end + rng.choice([shift, 2 * shift]), rng.choice([name, name, *types])])
        if rng.random() < 0.3:
            found.append([50, 55, rng.choice(types)])
        rng.shuffle(found)
        references.append(row)
        predictions.append(found)
    return references, predictions


def records(spans: Rows, key: str = "label") -> list[list[dict[str, Any]]]:
    """Return the spans as objects, whose type has this name."""
    return [[{"start": start, "end": end, key: name} for start, end, name in row] for row in spans]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    """Write rows, one in each line, and return the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
