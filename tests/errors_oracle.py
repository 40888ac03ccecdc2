"""The verdicts, one span at a time, from sets of characters and every possible matching."""

from __future__ import annotations

from collections.abc import Iterator

Span = tuple[int, int, str]
Edges = dict[tuple[int, int], int]


def characters(span: Span) -> set[int]:
    return set(range(span[0], span[1]))


def all_matchings(edges: Edges) -> Iterator[list[tuple[int, int]]]:
    if not edges:
        yield []
        return
    first = min(edges)
    yield from all_matchings({pair: shared for pair, shared in edges.items() if pair != first})
    apart = {pair: shared for pair, shared in edges.items() if pair[0] != first[0] and pair[1] != first[1]}
    for rest in all_matchings(apart):
        yield sorted([first, *rest])


def pairs_of(references: list[Span], predictions: list[Span], typed: bool) -> dict[int, int]:
    """Return the prediction of each reference that has one: exact before overlapping, same type before others."""
    made: dict[int, int] = {}
    rounds = [(True, True), (True, False), (False, True), (False, False)] if typed else [(True, False), (False, False)]
    for exact, same_type in rounds:
        edges: Edges = {}
        for r, ours in enumerate(references):
            for p, theirs in enumerate(predictions):
                if r in made or p in made.values() or (same_type and ours[2] != theirs[2]):
                    continue
                shared = len(characters(ours) & characters(theirs))
                if (ours[:2] == theirs[:2]) if exact else shared:
                    edges[r, p] = shared
        best = min(all_matchings(edges), key=lambda m: (-len(m), -sum(edges[pair] for pair in m), m))
        made |= dict(best)
    return made


def pieces(
    side: list[Span], others: list[Span], partner: dict[int, int], near: set[int], typed: bool
) -> list[set[int]]:
    """Return for each span of the others (by number) which spans of the side it consists of; an empty set for none.

    ``partner`` has the partner on the side of each of the others; ``near`` are those that can consist of pieces.
    """
    given: list[list[int]] = [[] for _ in others]
    for q, span in enumerate(side):
        if q in partner.values():
            continue
        shared = {
            g: len(characters(span) & characters(others[g])) for g in near if not typed or others[g][2] == span[2]
        }
        shared = {g: n for g, n in shared.items() if n}
        if shared:
            given[min(shared, key=lambda g: (-shared[g], g))].append(q)
    out: list[set[int]] = [set() for _ in others]
    for g in near:
        left = {partner[g], *given[g]}
        blocks: list[set[int]] = []
        while left:
            block = {min(left)}
            while True:
                ground = set().union(*(characters(side[q]) for q in block))
                more = {q for q in left if characters(side[q]) & ground} - block
                if not more:
                    break
                block |= more
            left -= block
            blocks.append(block)
        if len(blocks) > 1:
            for block in blocks:
                whole = characters(others[g])
                out[g].add(
                    partner[g]
                    if partner[g] in block
                    else min(block, key=lambda q: (-len(characters(side[q]) & whole), q))
                )
    return out


def verdicts(references: list[Span], predictions: list[Span], typed: bool) -> tuple[list[str], list[str]]:
    """Return the verdicts of spans in canonical order."""
    made = pairs_of(references, predictions, typed)
    back = {p: r for r, p in made.items()}
    ours = ["missed"] * len(references)
    theirs = [
        "duplicate" if any(characters(p) & characters(r) for r in references) else "spurious" for p in predictions
    ]
    near: dict[int, int] = {}
    for r, p in made.items():
        gold, found = characters(references[r]), characters(predictions[p])
        if typed and references[r][2] != predictions[p][2]:
            kind = "wrong type"
        elif gold == found:
            kind = "exact"
        else:
            kind = "too narrow" if found < gold else "too wide" if found > gold else "shifted"
            near[r] = p
        ours[r] = theirs[p] = kind
    splits = pieces(predictions, references, made, set(near), typed)
    mergers = pieces(references, predictions, back, set(near.values()), typed)
    for r, some in enumerate(splits):
        if some:
            # No pair is a piece of a split and of a merger.
            assert not mergers[made[r]]
            ours[r] = "split"
            for p in some:
                theirs[p] = "split"
    for p, some in enumerate(mergers):
        if some:
            theirs[p] = "merged"
            for r in some:
                ours[r] = "merged"
    return ours, theirs
