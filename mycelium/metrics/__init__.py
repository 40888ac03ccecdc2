"""The metrics, each in its own file, and their registry.

Importing this package registers them in the order in which reports show them.
"""

from mycelium.metrics.base import DEFAULT, REGISTRY, Metric, Parameter, available, get, register
from mycelium.metrics.exact import exact_span
from mycelium.metrics.overlap import character, iou

from mycelium.metrics.deteval import deteval_1d  # isort: skip
from mycelium.metrics.cleval import cleval_1d  # isort: skip
from mycelium.metrics.coverage import span_coverage  # isort: skip
from mycelium.metrics.response import response  # isort: skip
from mycelium.metrics.soft import soft_correlation  # isort: skip
from mycelium.metrics.typed import partial, strict, strict_typed, typed_partial  # isort: skip
from mycelium.metrics.cases import valid_cases  # isort: skip
from mycelium.metrics.muc import muc_exact, muc_partial, muc_strict, muc_type  # isort: skip

__all__ = [
    "DEFAULT",
    "REGISTRY",
    "Metric",
    "Parameter",
    "available",
    "character",
    "cleval_1d",
    "deteval_1d",
    "exact_span",
    "get",
    "iou",
    "muc_exact",
    "muc_partial",
    "muc_strict",
    "muc_type",
    "partial",
    "register",
    "response",
    "soft_correlation",
    "span_coverage",
    "strict",
    "strict_typed",
    "typed_partial",
    "valid_cases",
]
