"""The ten verdicts, what they count, and how each is repaired."""

from __future__ import annotations

__all__ = ["BOUNDARIES", "CODE", "COUNTED_ON", "ERRORS", "KINDS", "REPAIRS", "SIDES"]

SIDES = ("references", "predictions")

#: All verdicts, from good to bad; a verdict's number is its place here.
KINDS = (
    "exact",
    "too narrow",
    "too wide",
    "shifted",
    "split",
    "merged",
    "wrong type",
    "duplicate",
    "missed",
    "spurious",
)
#: Those that say that something is wrong.
ERRORS = KINDS[1:]
CODE = {kind: number for number, kind in enumerate(KINDS)}

#: What is repaired by giving the prediction the reference's boundaries and nothing more.
BOUNDARIES = ("too narrow", "too wide", "shifted")

#: The side on which cases are counted: a split is one case however many its pieces, a merger one whatever it covers.
COUNTED_ON = {kind: "predictions" if kind in ("merged", "duplicate", "spurious") else "references" for kind in KINDS}

#: How a kind is repaired: what becomes of the predictions.
REPAIRS = {
    "too narrow": "the prediction takes the reference's boundaries",
    "too wide": "the prediction takes the reference's boundaries",
    "shifted": "the prediction takes the reference's boundaries",
    "split": "the pieces become one prediction with the reference's boundaries",
    "merged": "the prediction becomes one prediction for each of the references",
    "wrong type": "the prediction takes the reference's type and keeps its boundaries",
    "duplicate": "the prediction is removed",
    "missed": "a prediction equal to the reference is added",
    "spurious": "the prediction is removed",
}
