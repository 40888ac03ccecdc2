"""A slow oracle of the annotators' part: character sets, dictionaries and loops. It shares nothing with the library.

An item is a dict of annotator to a list of ``[start, end]``; a set of spans is the set of its characters.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

Spans = Sequence[Sequence[int]]


def characters(spans: Spans) -> set[int]:
    out: set[int] = set()
    for start, end in spans:
        out |= set(range(start, end))
    return out


def connected(marked: set[int]) -> list[list[int]]:
    """Return the runs of a set of characters."""
    out: list[list[int]] = []
    for c in sorted(marked):
        if out and out[-1][1] == c:
            out[-1][1] = c + 1
        else:
            out.append([c, c + 1])
    return out


def consensus(sets: Sequence[Spans], share: str | Fraction) -> list[list[int]]:
    masks = [characters(spans) for spans in sets]
    if not masks:
        return []
    kept = set()
    for c in set().union(*masks):
        count = sum(c in mask for mask in masks)
        if share == "majority":
            enough = count > len(masks) - count
        elif share == "union":
            enough = count >= 1
        elif share == "intersection":
            enough = all(c in mask for mask in masks)
        else:
            assert isinstance(share, Fraction)
            enough = Fraction(count, len(masks)) >= share
        if enough:
            kept.add(c)
    return connected(kept)


def soft_labels(sets: Sequence[Spans]) -> list[tuple[int, int, Fraction]]:
    masks = [characters(spans) for spans in sets]
    by_share: dict[Fraction, set[int]] = {}
    for c in set().union(*masks):
        by_share.setdefault(Fraction(sum(c in mask for mask in masks), len(masks)), set()).add(c)
    return sorted((start, end, share) for share, marked in by_share.items() for start, end in connected(marked))


def filling(character: str) -> bool:
    return (
        character in string.punctuation or character in string.whitespace or unicodedata.category(character)[0] in "PZ"
    )


def clean(text: str, spans: Spans) -> list[list[int]]:
    """Clean the spans of one annotator as the organisers of Mu-SHROOM did."""
    out: list[list[int]] = []
    open_for_joining = False
    for start, end in spans:
        while start < len(text) and filling(text[start]):
            start += 1
        while end < len(text) and filling(text[end]):
            end += 1
        if start >= end:
            continue
        if open_for_joining and out[-1][1] == start:
            out[-1][1] = end
            open_for_joining = False
        else:
            out.append([start, end])
            open_for_joining = True
    for span in out:
        while filling(text[span[1] - 1]):
            span[1] -= 1
    return out


def within(inner: Spans, outer: Spans) -> bool:
    """Tell whether each span lies within its counterpart, of as many spans."""
    return len(inner) == len(outer) and all(a[0] >= b[0] and a[1] <= b[1] for a, b in zip(inner, outer, strict=True))


def relation(prediction: Spans, reference: Spans) -> str:
    p, g = characters(prediction), characters(reference)
    if not p and not g:
        return "both_empty"
    if not p or not g:
        return "one_empty"
    if p == g:
        return "exact"
    if p < g:
        return "pred_nested" if within(connected(p), connected(g)) else "pred_inside_other"
    if g < p:
        return "gold_nested" if within(connected(g), connected(p)) else "gold_inside_other"
    return "partial" if p & g else "disjoint"
