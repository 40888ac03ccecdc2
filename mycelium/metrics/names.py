"""Names of results outside a report, and the order in which tables show them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["flat_name", "main_output", "outputs_in_order"]

_KNOWN = ("precision", "recall", "f1", "score")


def flat_name(key: str, output: str) -> str:
    """Name one output of a metric where results are flat: ``"iou"``, ``"character_f1"``."""
    return key if output == "score" else f"{key}_{output}"


def main_output(outputs: Iterable[str]) -> str:
    """Return the output that stands for a metric where there is room for one: F1, the score, or else the first."""
    outputs = list(outputs)
    return next((output for output in ("f1", "score") if output in outputs), outputs[0])


def outputs_in_order(metrics: Iterable[Iterable[str]]) -> list[str]:
    """Return the outputs of all metrics as columns of a table: precision, recall, F1, score, then others as they come.

    Examples
    --------
    >>> outputs_in_order([["score"], ["precision", "recall", "f1"], ["clean", "caught"]])
    ['precision', 'recall', 'f1', 'score', 'clean', 'caught']
    """
    found = dict.fromkeys(output for outputs in metrics for output in outputs if output != "per_example")
    return sorted(found, key=lambda output: _KNOWN.index(output) if output in _KNOWN else len(_KNOWN))
