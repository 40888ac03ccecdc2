"""Windows of tokens over texts, laid out once, so that any number of predictions for them become spans quickly.

A long text goes through a model in several windows, which overlap by some tokens::

    text       The capital of France is Lyon .
    window 0   The capital of France
    window 1              of France is Lyon .
    places     |   |       |  |      |  |    |      each a stretch of text, under the tokens of one window or of more

Tokens of one text that cover the same characters are one *place*. Which token goes to which place depends on the
offsets alone, so it is worked out once; a prediction is then merged at each place, and runs of places become spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.formats.mapping import Mapping, read_mapping
from mycelium.formats.raw import Problems
from mycelium.formats.texts import text_list
from mycelium.formats.tokens import _SPACES
from mycelium.spans import BoolArray, FloatArray, IntArray, _offsets

__all__ = ["AGGREGATES", "TokenWindows", "renumber"]

#: How the probabilities of one place in several windows become one.
AGGREGATES = ("mean", "max", "min")

#: Characters that are looked at together when white space is searched.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False, slots=True)
class TokenWindows:
    """The offset mappings of ``n`` features over the texts of ``examples`` examples, sorted once.

    Build it with :meth:`read`. It may stand for `offsets` and `examples` in
    :func:`mycelium.formats.spans_from_token_probabilities`, where many predictions go to the same tokens: one for each
    epoch, say, or for each threshold.

    Attributes
    ----------
    rows : int
        Number of examples.
    counts : int64 array (n,)
        Number of offsets, and so of tokens, of each feature; whatever a prediction holds beyond is padding.
    feature, position : int64 arrays (m,)
        The feature of each token that covers characters, and its position there; features in order.
    cuts : int64 array (n + 1,)
        Feature ``i`` owns these tokens from ``cuts[i]`` to ``cuts[i + 1]``.
    order : int64 array (m,), or None
        These tokens by example, start, end and feature; None where that is their order.
    windows : int64 array (q,), or None
        Where in that order the tokens of each place in each window begin; None where each place has one in a window.
    places : int64 array (q,), or None
        The place of each of these; None where no place is in several windows.
    example, start, end : int64 arrays (p,)
        The example of each place, and the characters that it covers.
    bare_start, bare_end : int64 arrays (p,)
        The same without white space at either end, where the texts are known.
    length : int64 array (examples,), or None
        Number of characters of each text.

    Examples
    --------
    >>> from mycelium.formats import TokenWindows, spans_from_token_probabilities
    >>> windows = TokenWindows.read([[(0, 3), (3, 7)], [(3, 7), (7, 9)]], [0, 0])
    >>> for probabilities in ([[0.1, 0.4], [0.9, 0.8]], [[0.6, 0.4], [0.4, 0.8]]):
    ...     print(spans_from_token_probabilities(probabilities, windows).tolist())
    [[[3, 9]]]
    [[[0, 3], [7, 9]]]
    """

    rows: int
    counts: IntArray
    feature: IntArray
    position: IntArray
    cuts: IntArray
    order: IntArray | None
    windows: IntArray | None
    places: IntArray | None
    example: IntArray
    start: IntArray
    end: IntArray
    bare_start: IntArray
    bare_end: IntArray
    length: IntArray | None

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.counts)

    @classmethod
    def read(
        cls,
        offsets: Any,
        examples: Any = None,
        *,
        rows: int | None = None,
        text: Any = None,
        ignored: Any = None,
    ) -> TokenWindows:
        """Read offset mappings.

        Parameters
        ----------
        offsets : sequence of n features
            For each token its ``(start, end)`` in characters of the text of its example, or None for one outside
            (special, or of the prompt). Tokens of width zero, ``(0, 0)`` above all, cover nothing.
        examples : sequence of n int, optional
            The row of the example that each feature belongs to, counted from 0 over the whole data set. By default
            feature i belongs to example i.
        rows : int, optional
            Number of examples; by default that of the texts, or the largest of `examples` plus 1.
        text : sequence of str, optional
            The text of each example.
        ignored : bool array, optional
            For each token of all features in turn, whether to leave it out as if its offsets were None.

        Raises
        ------
        TypeError
            When offsets or examples are not integers.
        ValueError
            When a feature has no example or an example no text; when offsets are negative, reversed or past the text,
            or run backwards within a feature (see :func:`mycelium.formats.spans_from_tokens`).
        """
        texts = None if text is None else text_list(text)
        mapping = read_mapping(offsets, None)
        n = len(mapping.offsets) - 1
        of, rows = _examples(examples, n, rows, None if texts is None else len(texts))
        if texts is not None:
            mapping = mapping._replace(texts=[texts[i] for i in of.tolist()])
        if ignored is None:
            ignored = np.zeros(len(mapping.start), dtype=np.bool_)
        elif len(ignored) != len(mapping.start):
            raise ValueError(f"offsets has {len(mapping.start)} tokens in all, ignored has {len(ignored)}")
        return cls._laid_out(mapping, of, rows, texts, ignored)

    @classmethod
    def _laid_out(
        cls, mapping: Mapping, of: IntArray, rows: int, texts: Sequence[str] | None, ignored: BoolArray
    ) -> TokenWindows:
        tokens = mapping.covering(ignored)
        counts = np.diff(mapping.offsets)
        feature = np.repeat(np.arange(len(counts)), counts)[tokens]
        position = tokens - mapping.offsets[feature]
        example, start, end = of[feature], mapping.start[tokens], mapping.end[tokens]

        order: IntArray | None = None
        rising = example[1:] > example[:-1]
        same = example[1:] == example[:-1]
        rising |= same & ((start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (end[1:] >= end[:-1])))
        if not rising.all():
            order = np.lexsort((end, start, example)).astype(np.int64)  # stable, so that features stay in order
            example, start, end = example[order], start[order], end[order]
        by = feature if order is None else feature[order]

        new = np.ones(len(tokens), dtype=np.bool_)
        new[1:] = (example[1:] != example[:-1]) | (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        window = new.copy()
        window[1:] |= by[1:] != by[:-1]
        windows, first = np.flatnonzero(window), np.flatnonzero(new)
        example, start, end = example[first], start[first], end[first]
        bare_start, bare_end = (start, end) if texts is None else _bare(texts, example, start, end)
        return cls(
            rows=rows,
            counts=counts,
            feature=feature,
            position=position,
            cuts=_offsets(np.bincount(feature, minlength=len(counts))),
            order=order,
            windows=None if len(windows) == len(tokens) else windows,
            places=None if len(first) == len(windows) else np.cumsum(new[window]) - 1,
            example=example,
            start=start,
            end=end,
            bare_start=bare_start,
            bare_end=bare_end,
            length=None if texts is None else np.fromiter(map(len, texts), np.int64, len(texts)),
        )

    def take(self, values: NDArray[Any], *, features: IntArray, shift: IntArray | None = None) -> NDArray[Any]:
        """Return the values of the tokens that cover characters, out of rows that are padded.

        Parameters
        ----------
        values : array (b, t) or (b, t, c)
            One row for each of some features; its token j stands at ``shift + j``, and what is beyond is padding.
        features : int64 array (b,)
            The feature of each row, each but once.
        shift : int64 array (b,), optional
            How many elements of padding come before the tokens of each row.

        Returns
        -------
        array (m', ...)
            For all tokens of these features, in the order of the features given.
        """
        counts = np.diff(self.cuts)[features]
        begins = _offsets(counts)
        tokens = np.repeat(self.cuts[:-1][features] - begins[:-1], counts) + np.arange(begins[-1])
        ahead = np.arange(len(features)) * values.shape[1]
        at = np.repeat(ahead if shift is None else ahead + shift, counts) + self.position[tokens]
        flat = values.reshape(-1, *values.shape[2:])
        out: NDArray[Any] = np.take(flat, at, axis=0)
        return out

    def in_order(self, values: Sequence[NDArray[Any]], features: IntArray) -> NDArray[Any]:
        """Put together what :meth:`take` returned for parts of the features, each but once, in the features' order."""
        joined = values[0] if len(values) == 1 else np.concatenate(values)
        if (features[1:] > features[:-1]).all():
            return joined
        counts = np.diff(self.cuts)
        begins = np.empty(len(features), dtype=np.int64)
        begins[features] = _offsets(counts[features])[:-1]
        return np.take(joined, np.repeat(begins - self.cuts[:-1], counts) + np.arange(self.cuts[-1]), axis=0)

    def merged(self, values: FloatArray, aggregate: str, *, first: bool = False) -> FloatArray:
        """Return one value for each place (p,) out of one for each token (m,).

        Tokens of one window at one place are pieces of one character: the largest of them counts, or the first. Those
        of several windows are then aggregated; means add in the order of the windows.
        """
        if self.order is not None:
            values = values[self.order]
        if self.windows is not None:
            values = values[self.windows] if first else np.maximum.reduceat(values, self.windows)
        if self.places is None:
            return values
        if aggregate == "mean":
            means: FloatArray = np.bincount(self.places, weights=values) / np.bincount(self.places)
            return means
        extreme = np.maximum if aggregate == "max" else np.minimum
        out: FloatArray = extreme.reduceat(values, np.flatnonzero(np.diff(self.places, prepend=-1)))
        return out

    def refuse(self, tokens: IntArray, shown: Any, name: str, reason: str) -> None:
        """Raise for the tokens that a mask of the m tokens or an index array names, if any."""
        problems = Problems(name, "token")
        for i, value in zip(tokens.tolist(), shown, strict=True):
            problems.add(int(self.feature[i]), int(self.position[i]), value, reason, ValueError)
        problems.check()


def renumber(mapping: Any, rows: int, *, name: str) -> IntArray:
    """Return the example of each feature, counted over the whole data set.

    Tokenizers count the examples of each batch of ``Dataset.map`` from 0 again::

        mapping    0 0 1 2 2 | 0 1 1 | 0 1
        renumber   0 0 1 2 2   3 4 4   5 6

    Parameters
    ----------
    mapping : sequence of n int
        The column ``overflow_to_sample_mapping``.
    rows : int
        Number of examples.
    name : str
        What messages call it.

    Raises
    ------
    ValueError
        When features are missing or not in order, or when examples cannot be told apart, as where two batches of one
        example each follow one another.
    """
    number = _integers(mapping, name)
    cure = "add a column 'example_id' to the features when they are made: ids[i] for i in that mapping"
    step = np.diff(number, prepend=0)
    follows = (step == 0) | (step == 1) | (number == 0)
    follows[:1] = number[:1] == 0
    wrong = np.flatnonzero(~follows)
    if len(wrong):
        i = int(wrong[0])
        before = "at first" if i == 0 else f"after {int(number[i - 1])}"
        raise ValueError(
            f"{name}: row {i} is {int(number[i])} {before}: features are missing or were put into another order; {cure}"
        )
    out: IntArray = np.cumsum(step != 0).astype(np.int64)
    found = int(out[-1]) + 1 if len(out) else 0
    if found != rows:
        raise ValueError(
            f"{name}: the features belong to {found} examples, as far as their numbers tell, there are {rows}; {cure}"
        )
    return out


def _examples(examples: Any, n: int, rows: int | None, texts: int | None) -> tuple[IntArray, int]:
    """Return the example of each feature and the number of examples."""
    if rows is not None and texts is not None and rows != texts:
        raise ValueError(f"rows is {rows}, text has {texts}")
    of = np.arange(n, dtype=np.int64) if examples is None else _integers(examples, "examples")
    if len(of) != n:
        raise ValueError(f"offsets has {n} row{'s' * (n != 1)}, examples has {len(of)}")
    known = rows if rows is not None else texts
    if known is None:
        known = int(of.max()) + 1 if len(of) else 0
    elif examples is None and known != n:
        raise ValueError(
            f"offsets has {n} row{'s' * (n != 1)} for {known} examples: give examples, the row of the example that each"
            " feature belongs to"
        )
    wrong = np.flatnonzero((of < 0) | (of >= known))
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(f"examples: row {i} is {int(of[i])}, expected 0 <= row < {known}")
    return of, known


def _integers(values: Any, name: str) -> IntArray:
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    array = np.asarray(values if hasattr(values, "__array__") else list(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name}: expected one integer for each feature, got {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def _bare(texts: Sequence[str], example: IntArray, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first character of each place that is no white space, and the one after its last such."""
    bare_start, bare_end = np.empty_like(start), np.empty_like(end)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    places = _offsets(np.bincount(example, minlength=len(texts)))
    begin = 0
    while begin < len(texts):
        before = int(ends[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
        part = slice(int(places[begin]), int(places[stop]))
        codes = np.frombuffer("".join(texts[begin:stop]).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        solid = ~np.isin(codes, _SPACES)
        seen = _offsets(solid)  # solid characters before each
        where = np.append(np.flatnonzero(solid), len(codes))
        base = np.append(0, ends)[example[part]] - before
        bare_start[part] = where[seen[base + start[part]]] - base
        last = seen[base + end[part]] - 1
        bare_end[part] = np.where(last >= 0, where[last] + 1 - base, 0)
        begin = stop
    return bare_start, bare_end
