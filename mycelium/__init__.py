"""The scorer for hallucination-span detection.

>>> from mycelium import evaluate
>>> evaluate(references=[[0, 10]], predictions=[[2, 8]])["iou"]
{'score': 0.6}
"""

from mycelium import formats, metrics
from mycelium._version import __version__
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
from mycelium.report import Report
from mycelium.scoring import Accumulator, evaluate
from mycelium.spans import InvalidCounts, SpanBatch

__all__ = [
    "Accumulator",
    "InvalidCounts",
    "Metric",
    "Report",
    "SpanBatch",
    "__version__",
    "as_spans",
    "evaluate",
    "formats",
    "metrics",
    "spans_from_mask",
    "spans_from_probabilities",
    "spans_from_quotes",
    "spans_from_tags",
    "spans_from_token_probabilities",
    "spans_from_tokens",
]
