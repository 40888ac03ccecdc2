"""The scorer for hallucination-span detection.

>>> from mycelium import evaluate
>>> evaluate(references=[[0, 10]], predictions=[[2, 8]])["iou"]
{'score': 0.6}
"""

from mycelium import formats, metrics
from mycelium._version import __version__
from mycelium.confidence import Intervals
from mycelium.formats import (
    as_spans,
    spans_from_mask,
    spans_from_probabilities,
    spans_from_quotes,
    spans_from_tags,
    spans_from_token_probabilities,
    spans_from_tokens,
)
from mycelium.metrics import Metric
from mycelium.planning import RequiredExamples, required_examples
from mycelium.report import Report
from mycelium.scoring import Accumulator, bootstrap, evaluate
from mycelium.spans import InvalidCounts, SpanBatch
from mycelium.versus import Comparison, Leaderboard, compare, leaderboard

__all__ = [
    "Accumulator",
    "Comparison",
    "Intervals",
    "InvalidCounts",
    "Leaderboard",
    "Metric",
    "Report",
    "RequiredExamples",
    "SpanBatch",
    "__version__",
    "as_spans",
    "bootstrap",
    "compare",
    "evaluate",
    "formats",
    "leaderboard",
    "metrics",
    "required_examples",
    "spans_from_mask",
    "spans_from_probabilities",
    "spans_from_quotes",
    "spans_from_tags",
    "spans_from_token_probabilities",
    "spans_from_tokens",
]
