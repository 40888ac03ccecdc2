"""Offset mappings of tokenizers: where each token stands in its text, and whether that can be believed.

What occurs in practice, with the text ``"a🙂b c"``::

    token      <s>     a      🙂(1)  🙂(2)   b      c     </s>
    offsets   (0, 0) (0, 1) (1, 2) (1, 2) (2, 3) (4, 5) (0, 0)

Tokens of width zero are special tokens or lost white space and cover no character. Byte-level tokenizers cut a
character into several tokens, which then share it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mycelium.formats.containers import column_of, library
from mycelium.formats.ingest import read_raw
from mycelium.formats.raw import Problems, Raw, flatten, types_of
from mycelium.formats.texts import text_list
from mycelium.spans import BoolArray, IntArray

__all__ = ["Mapping", "read_mapping"]


class Mapping(NamedTuple):
    """Tokens of n rows, in order, as read from an offset mapping.

    Attributes
    ----------
    offsets : int64 array (n + 1,)
        Row ``i`` owns the tokens ``offsets[i]`` to ``offsets[i + 1]``.
    start, end : int64 arrays (m,)
        The characters that each token covers.
    absent : bool array (m,)
        Tokens given as None: outside the text that the offsets count.
    texts : sequence of n str, or None
        The texts.
    """

    offsets: IntArray
    start: IntArray
    end: IntArray
    absent: BoolArray
    texts: Sequence[str] | None

    @property
    def length(self) -> IntArray | None:
        """Number of characters of each text (n,)."""
        return None if self.texts is None else np.fromiter(map(len, self.texts), np.int64, len(self.texts))

    def covering(self, ignored: BoolArray) -> IntArray:
        """Return the tokens that cover characters, after checking that these run through the text from left to right.

        Parameters
        ----------
        ignored : bool array (m,)
            Tokens to leave out unchecked.

        Raises
        ------
        ValueError
            When a token is negative, reversed or past the text, or when tokens run backwards.
        """
        used = ~(ignored | self.absent)
        row = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        reasons = {"reversed": used & (self.end < self.start), "negative": used & (self.start < 0)}
        length = self.length
        if length is not None:
            reasons["past the end of the text"] = used & (self.end > length[row])
        for reason, wrong in reasons.items():
            self._refuse(np.flatnonzero(wrong), row, reason)
        tokens = np.flatnonzero(used & (self.end > self.start))
        start, end, of = self.start[tokens], self.end[tokens], row[tokens]
        same = of[1:] == of[:-1]
        backwards = same & ((start[1:] < start[:-1]) | (end[1:] < end[:-1]))
        # Two tokens may be pieces of one character, so they may share one.
        suspects = np.flatnonzero(same & ~backwards & (start[1:] < end[:-1] - 1))
        if self.texts is not None:
            texts = self.texts
            suspects = np.array(
                [i for i in suspects.tolist() if not _one_character(texts[of[i]][start[i + 1] : end[i]])],
                dtype=np.int64,
            )
        wrong_at = np.union1d(np.flatnonzero(backwards), suspects).astype(np.int64)
        self._refuse(
            tokens[wrong_at + 1],
            row,
            "the offsets run backwards (before the end of the token before; are they counted per word or segment?)",
        )
        return tokens

    def _refuse(self, tokens: IntArray, row: IntArray, reason: str) -> None:
        problems = Problems("offsets", "token")
        for i in tokens.tolist():
            place = i - int(self.offsets[row[i]])
            problems.add(int(row[i]), place, (int(self.start[i]), int(self.end[i])), reason, ValueError)
        problems.check()


def _one_character(piece: str) -> bool:
    # What a normaliser may have composed before the tokenizer cut it: "e" + accent, the parts of a Hangul syllable.
    return len(unicodedata.normalize("NFC", piece)) == 1 or all(
        unicodedata.category(character).startswith("M") for character in piece[1:]
    )


def read_mapping(offsets: Any, text: Any) -> Mapping:
    """Read an offset mapping: rows of ``(start, end)`` pairs, of which any may be None."""
    column = column_of(offsets, "offsets", arrow_lists=True)
    if library(column) == "pyarrow":
        try:
            raw = read_raw(column, "offsets")
        except TypeError:  # null tokens, or a fault that is described below
            column = column.to_pylist()
    absent: BoolArray | None = None
    if isinstance(column, np.ndarray) and column.dtype == object:
        column = column.tolist()
    if isinstance(column, (list, tuple)):
        raw, absent = _read_rows(column)
    elif isinstance(column, np.ndarray):
        raw = read_raw(column, "offsets")
    if raw.missing is not None and raw.missing.any():
        raise TypeError(f"offsets: row {int(np.flatnonzero(raw.missing)[0])} is None")
    texts = None if text is None else text_list(text)
    n = len(raw.offsets) - 1
    if texts is not None and len(texts) != n:
        raise ValueError(f"offsets has {n} row{'s' * (n != 1)}, text has {len(texts)}")
    if absent is None:
        absent = np.zeros(len(raw.start), dtype=np.bool_)
    return Mapping(raw.offsets, raw.start, raw.end, absent, texts)


def _read_rows(rows: Sequence[Any]) -> tuple[Raw, BoolArray | None]:
    if types_of(rows) <= {list, tuple}:
        tokens = flatten(rows)
        if type(None) in types_of(tokens):
            absent = np.fromiter((token is None for token in tokens), np.bool_, len(tokens))
            filled = [[(0, 0) if token is None else token for token in row] for row in rows]
            return read_raw(filled, "offsets", "token"), absent
    return read_raw(rows, "offsets", "token"), None
