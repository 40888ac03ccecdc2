"""The scorer for hallucination-span detection.

>>> from mycelium import evaluate
>>> evaluate(references=[[0, 10]], predictions=[[2, 8]])["iou"]
{'score': 0.6}
"""

from typing import TYPE_CHECKING, Any

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
from mycelium.report import Report
from mycelium.scoring import Accumulator, bootstrap, evaluate
from mycelium.spans import InvalidCounts, SpanBatch

if TYPE_CHECKING:
    from mycelium.planning import RequiredExamples, required_examples
    from mycelium.typed import TypedAccumulator, TypedReport, evaluate_typed
    from mycelium.versus.comparison import Comparison, compare
    from mycelium.versus.leaderboard import Leaderboard, leaderboard

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
    "TypedAccumulator",
    "TypedReport",
    "__version__",
    "as_spans",
    "bootstrap",
    "compare",
    "evaluate",
    "evaluate_typed",
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

#: Loaded when they are first asked for, so that importing the package stays light.
_LATER = {
    "Comparison": "versus",
    "Leaderboard": "versus",
    "RequiredExamples": "planning",
    "TypedAccumulator": "typed",
    "TypedReport": "typed",
    "compare": "versus",
    "evaluate_typed": "typed",
    "leaderboard": "versus",
    "required_examples": "planning",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'mycelium' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"mycelium.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
