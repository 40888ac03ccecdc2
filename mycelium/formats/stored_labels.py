"""The labels that features went in with, to recognise the rows that come back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelium.formats.ragged import flat_values
from mycelium.formats.tokens import IGNORED
from mycelium.spans import BoolArray, IntArray

__all__ = ["StoredLabels", "row_counts", "same_counts", "show_labels"]


class StoredLabels:
    """Labels of the tokens of each feature, to be compared with those that come back.

    Parameters
    ----------
    column : sequence of n rows of int
        The column ``labels``.
    """

    def __init__(self, column: Any) -> None:
        self.cuts, values = flat_values(column, name="labels", element="token")
        flat = np.asarray(values)
        if flat.size and flat.dtype.kind not in "iu":
            raise TypeError(f"labels: expected integers, got {flat.dtype}")
        self.flat = flat.astype(np.int64)
        n = len(self)
        row = np.repeat(np.arange(n), self.counts)
        labelled = np.flatnonzero(self.flat != IGNORED)
        self._labels = np.bincount(row[labelled], minlength=n)
        first = np.full(n, -1, dtype=np.int64)
        first[row[labelled[::-1]]] = labelled[::-1]  # of several, the last one assigned stays: the first in the row
        self._first = np.where(first >= 0, first - self.cuts[:-1], 0)

    def __len__(self) -> int:
        return len(self.cuts) - 1

    @property
    def counts(self) -> IntArray:
        """Number of labels of each feature (n,)."""
        return np.diff(self.cuts)

    @property
    def ignored(self) -> BoolArray:
        """Which tokens have the label -100."""
        ignored: BoolArray = self.flat == IGNORED
        return ignored

    def compare(self, labels: IntArray, features: IntArray) -> tuple[IntArray, BoolArray]:
        """Find the stored labels in rows that came back.

        Parameters
        ----------
        labels : int64 array (b, t)
            Labels with -100 before and after.
        features : int64 array (b,)
            The feature that each row is said to be.

        Returns
        -------
        shift : int64 array (b,)
            How much padding stands before the labels of each row; -1 where a row without labels does not tell.
        differ : bool array (b,)
            The rows that are not those features.
        """
        width = labels.shape[1]
        counts = self.counts[features]
        if not width:
            return np.full(len(features), -1, dtype=np.int64), counts > 0
        seen = labels != IGNORED
        some = self._labels[features] > 0
        shift = np.where(some, seen.argmax(axis=1) - self._first[features], 0)
        differ = (seen.sum(axis=1) != self._labels[features]) | (shift < 0) | (shift + counts > width)
        rows = np.flatnonzero(~differ)
        sizes = counts[rows]
        begins = np.cumsum(sizes) - sizes
        within = np.arange(int(sizes.sum())) - np.repeat(begins, sizes)
        came = labels.reshape(-1)[np.repeat(rows * width + shift[rows], sizes) + within]
        stored = self.flat[np.repeat(self.cuts[:-1][features[rows]], sizes) + within]
        differ[np.repeat(rows, sizes)[came != stored]] = True
        return np.where(some, shift, -1), differ

    def alike(self, matter: BoolArray) -> list[int]:
        """Return the features that share their labels with another, of which one at least matters."""
        groups: dict[bytes, list[int]] = {}
        cuts = self.cuts.tolist()
        for i in range(len(self)):
            groups.setdefault(self.flat[cuts[i] : cuts[i + 1]].tobytes(), []).append(i)
        return [i for group in groups.values() if len(group) > 1 and matter[group].any() for i in group]

    def shown(self, feature: int) -> str:
        """Return the labels of a feature as messages show them."""
        return show_labels(self.flat[self.cuts[feature] : self.cuts[feature + 1]])


def row_counts(column: Any, name: str) -> IntArray:
    """Return the number of values in each row (n,)."""
    return np.diff(flat_values(column, name=name, element="token")[0])


def same_counts(given: IntArray, counts: IntArray, name: str) -> None:
    """Refuse a column whose rows are not as long as the offsets are many."""
    if len(given) != len(counts):
        raise ValueError(f"offset_mapping has {len(counts)} rows, {name} has {len(given)}")
    uneven = np.flatnonzero(given != counts)
    if len(uneven):
        row = int(uneven[0])
        raise ValueError(
            f"row {row}: offset_mapping has {int(counts[row])} tokens, {name} has {int(given[row])}"
            f" ({len(uneven)} such rows)"
        )


def show_labels(labels: IntArray) -> str:
    """Return labels without padding, shortened."""
    seen = labels[labels != IGNORED].tolist()
    text = " ".join(map(str, seen[:8]))
    return f"{text} ... ({len(seen)} labels)" if len(seen) > 8 else text or "no labels"
