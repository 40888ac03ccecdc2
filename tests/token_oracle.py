"""Decoding one example at a time with dicts and lists, as slowly and plainly as the rule reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Offsets = Sequence[Any]


def softmax(logits: Sequence[float]) -> list[float]:
    largest = max(logits)
    powers = [float(np.exp(x - largest)) for x in logits]
    whole = 0.0
    for power in powers:
        whole += power
    return [power / whole for power in powers]


def merged(values: list[float], aggregate: str) -> float:
    if aggregate == "max":
        return max(values)
    if aggregate == "min":
        return min(values)
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def cells_of(windows: list[tuple[Offsets, Sequence[Any]]]) -> list[tuple[tuple[int, int], list[list[Any]]]]:
    """Return the distinct offsets of one example, sorted, each with its values window by window."""
    cells: dict[tuple[int, int], list[list[Any]]] = {}
    for offsets, values in windows:
        here: dict[tuple[int, int], list[Any]] = {}
        for j, offset in enumerate(offsets):
            if offset is None or offset[0] == offset[1]:
                continue
            here.setdefault((int(offset[0]), int(offset[1])), []).append(values[j])
        for cell, pieces in here.items():
            cells.setdefault(cell, []).append(pieces)
    return sorted(cells.items())


def bare(spans: list[list[Any]], text: str | None) -> list[list[Any]]:
    out = []
    for span in spans:
        start, end = span[:2]
        if text is not None:
            while start < end and text[start].isspace():
                start += 1
            while end > start and text[end - 1].isspace():
                end -= 1
        if start < end:
            out.append([start, end, *span[2:]])
    return out


def decode_one(
    windows: list[tuple[Offsets, Sequence[float]]], threshold: float, aggregate: str, text: str | None
) -> list[list[int]]:
    runs: list[list[int]] = []
    open_run = False
    for (start, end), values in cells_of(windows):
        if merged([max(pieces) for pieces in values], aggregate) >= threshold:
            if open_run:
                runs[-1][1] = max(runs[-1][1], end)
            else:
                runs.append([start, end])
            open_run = True
        else:
            open_run = False
    joined: list[list[int]] = []
    for start, end in sorted(runs):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return bare(joined, text)


def decode(
    offsets: Sequence[Offsets],
    values: Sequence[Sequence[float]],
    examples: Sequence[int],
    n: int,
    *,
    threshold: float = 0.5,
    aggregate: str = "mean",
    text: Sequence[str] | None = None,
) -> list[list[list[int]]]:
    """Return the spans of each of n examples."""
    out = []
    for example in range(n):
        windows = [(offsets[f], values[f]) for f in range(len(offsets)) if examples[f] == example]
        out.append(decode_one(windows, threshold, aggregate, None if text is None else text[example]))
    return out


def decode_tagged(
    windows: list[tuple[Offsets, Sequence[Sequence[float]]]],
    threshold: float,
    aggregate: str,
    text: str | None,
    tags: Sequence[str],
) -> list[list[Any]]:
    """Return ``[start, end, type]`` of one example whose tokens have one probability for each tag."""
    runs: list[list[Any]] = []
    last: tuple[str | None] | None = None
    for (start, end), values in cells_of(windows):
        total = merged([max(sum_in_order(piece) for piece in pieces) for pieces in values], aggregate)
        if total < threshold:
            last = None
            continue
        scores = [merged([float(pieces[0][k]) for pieces in values], aggregate) for k in range(len(tags))]
        tag = tags[scores.index(max(scores))]
        kind = tag[2:] or None
        if tag[0] == "I" and last == (kind,):
            runs[-1][1] = max(runs[-1][1], end)
        else:
            runs.append([start, end, kind, tag[0]])
        last = (kind,)
    joined: list[list[Any]] = []
    for kind in {run[2] for run in runs}:
        first = len(joined)
        for start, end, _, letter in sorted((run for run in runs if run[2] == kind), key=lambda run: run[0]):
            if len(joined) > first and (start < joined[-1][1] or (start == joined[-1][1] and letter == "I")):
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end, kind])
    return sorted(bare(joined, text), key=lambda span: span[:2])


def sum_in_order(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += float(value)
    return total
