"""Typed spans: each error has a place and a type, and the right answer for a valid case is "none"."""

from mycelium.typed.accumulator import TypedAccumulator
from mycelium.typed.evaluation import evaluate_typed
from mycelium.typed.report import TypedReport
from mycelium.typed.types import TYPES

__all__ = ["TYPES", "TypedAccumulator", "TypedReport", "evaluate_typed"]
