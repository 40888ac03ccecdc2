"""One detector, one call, both halves: the spans it marks, and the decisions that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from mycelium.detector.bridge import response_labels, response_scores
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.parts import read_parts
from mycelium.detector.report import EvaluationReport
from mycelium.formats.ingest import as_spans
from mycelium.report import Report
from mycelium.scoring import evaluate

__all__ = ["BothReports", "evaluate_both"]


class BothReports(NamedTuple):
    """The report on spans and the report on decisions, of the same test rows."""

    spans: Report
    detector: EvaluationReport


def evaluate_both(
    references: Any,
    predictions: Any,
    *,
    how: str,
    text: Any = None,
    min_marked: int = 1,
    min_share: float | None = None,
    invalid: str = "raise",
    missing_rows: str = "raise",
    split: Any = None,
    development: Any = None,
    calibration: Any = None,
    test: Any = None,
    groups: Any = None,
    spans: Mapping[str, Any] | None = None,
    **options: Any,
) -> BothReports:
    """Evaluate marked spans twice: where they lie, and what follows from how much is marked.

    Parameters
    ----------
    references, predictions : sequences of n rows of spans
        What is annotated and what a detector marks, as :func:`mycelium.evaluate` reads them.
    how : str
        How one score is made of the spans of an answer, see :func:`response_scores`.
    text : sequence of n str, optional
        The answers.
    min_marked, min_share
        How much of an answer must be annotated for it to be called unsupported, see :func:`response_labels`.
    invalid, missing_rows : str
        As in :func:`mycelium.as_spans`, for both.
    split, development, calibration, test, groups
        As in :func:`evaluate_detector`. Spans are scored on the test rows, like everything else.
    spans : mapping, optional
        Options of :func:`mycelium.evaluate`, such as metrics or profile.
    **options
        Options of :func:`evaluate_detector`.

    Returns
    -------
    BothReports
        ``.spans``, a :class:`mycelium.Report`, and ``.detector``, an :class:`EvaluationReport`.

    Examples
    --------
    >>> gold = [[[0, 6]], [], [[2, 9]], []] * 30
    >>> marked = [[[0, 5]], [[3, 4]], [[2, 8]], []] * 30
    >>> found = evaluate_both(gold, marked, how="longest_span", split=["calibration", "test"] * 30 + ["test"] * 60,
    ...                       max_far=(), spans={"metrics": ["iou"]})
    >>> round(found.spans["iou"]["score"], 4), found.detector["ranking"]["roc_auc"]
    (0.6151, 1.0)
    """
    marked = as_spans(predictions, text=text, invalid=invalid, missing_rows=missing_rows, name="predictions")
    gold = as_spans(references, text=text, invalid=invalid, missing_rows=missing_rows, name="references")
    labels = response_labels(gold, min_marked=min_marked, min_share=min_share)
    scores = response_scores(marked, how=how)
    wanted = {"split": split, "development": development, "calibration": calibration, "test": test}
    budgets = options.get("max_far", (0.01, 0.05))
    rows = read_parts(
        len(labels),
        **wanted,
        needs_calibration=isinstance(budgets, float) or bool(budgets),
        allow_resubstitution=bool(options.get("allow_resubstitution")),
    ).test
    report = evaluate(references=gold[rows], predictions=marked[rows], **(spans or {}))
    return BothReports(report, evaluate_detector(labels, scores, groups=groups, **wanted, **options))
