"""Span metrics in a training loop: Hugging Face's Trainer, or any loop over logits.

``SpanMetrics`` knows where the tokens of an evaluation set stand in the texts. What the loop hands back becomes spans
of the original examples, and these are scored against the annotated characters, never against labels of tokens. Nothing
but NumPy is needed here: arrays and tensors are taken as they come.
"""

from mycelium.trainer.metrics import SpanMetrics

__all__ = ["SpanMetrics"]
