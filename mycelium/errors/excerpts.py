"""A span in a few words of its text."""

from __future__ import annotations

__all__ = ["excerpt"]

AROUND = 20
LONGEST = 60


def excerpt(text: str, start: int, end: int, *, around: int = AROUND, longest: int = LONGEST) -> str:
    """Return the span between ``»`` and ``«`` with a few characters before and after it, on one line.

    Examples
    --------
    >>> excerpt("The Eiffel Tower was built in 1899 in Lyon.", 30, 34)
    '… Tower was built in »1899« in Lyon.'
    """
    inside = text[start:end]
    if len(inside) > longest:
        half = longest // 2
        inside = f"{inside[:half]}…{inside[-half:]}"
    before, after = text[max(0, start - around) : start], text[end : end + around]
    shown = f"{'…' * (start > around)}{before}»{inside}«{after}{'…' * (end + around < len(text))}"
    # Whatever breaks a line, or is no character of one, is a space.
    return "".join(character if character.isprintable() else " " for character in shown)
