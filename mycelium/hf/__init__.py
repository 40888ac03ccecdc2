"""At home in Hugging Face: the ``evaluate`` module, its registration, and an evaluator for pipelines.

``evaluate.load(mycelium.hf.path())`` gives the metric; importing this package loads neither ``evaluate`` nor
``datasets``.
"""

from mycelium.hf.evaluator import EvaluatorReport, SpanEvaluator
from mycelium.hf.registration import path, register, unregister

__all__ = ["EvaluatorReport", "SpanEvaluator", "path", "register", "unregister"]
