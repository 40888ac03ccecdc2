"""One-to-one matching of references and predictions, over a whole batch at once.

The rule, in plain words:

1. Spans are taken in their *canonical order*: by start, then end, then type. Nothing depends on the order in which they
   were given; spans that agree in all three cannot be told apart, and it does not matter which of them is meant.
2. A matching is one to one: a reference has at most one prediction and a prediction at most one reference. What is left
   over on either side (a second prediction of one reference, say) has no partner and earns nothing.
3. It is made in *stages*, one after the other, each among the spans that the stages before left free and never taking
   back what they paired. A stage asks for equal boundaries or for an overlap, and for the same type or for any.
4. *Equal boundaries*: where r free references and p free predictions have the same start and end (and, if the stage
   asks for it, the same type), min(r, p) pairs are made: the first reference with the first prediction, the second with
   the second, ... in canonical order.
5. *Overlap*: two spans may be paired if they share at least one character, and if what they share is at least
   ``min_overlap`` of the base: the length of the reference, of the prediction, or of both together (each character
   once). The share is one division of doubles, and equality is enough.
6. Of all ways to pair the free spans so, one with as many pairs as possible is wanted; among these, one with the most
   shared characters in total; among these, the one whose list of (reference, prediction) pairs, sorted, comes first:
   the first reference that can be paired at all is, with the first prediction that can be its partner, and so on.
7. Each row is matched for itself. Rows lie apart on the number line (:mod:`mycelium.line`), and pairs across
   parts of the line that do not touch cannot influence each other, so the whole batch is one call.

Which stages make which measure is told by :func:`stages_of`.

How it is done: equal boundaries by looking sorted keys up; overlaps by components of the graph of possible pairs. Pairs
that compete with nothing, and stars (all compete for one span), are settled at once for the whole batch; small
components by tables of all their matchings, all components of one shape at once; larger ones one by one with an
assignment solver in exact integers (:mod:`mycelium.matching.assignment`), whose time grows with the third power of
their size at worst. Possible pairs are enumerated in blocks of
``intervals.PAIRS_AT_ONCE``, cut where no span lies across. What must be in memory at once are the possible pairs of
one connected stretch of a row, some 200 bytes for each (2,000 spans a side that all overlap: 4 million pairs, under
1 GiB).
"""

from __future__ import annotations

from mycelium.matching.engine import match
from mycelium.matching.stages import BASES, MEASURES, Matching, Spans, Stage, canonical_order, stages_of

__all__ = ["BASES", "MEASURES", "Matching", "Spans", "Stage", "canonical_order", "match", "stages_of"]
