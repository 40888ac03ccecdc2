"""Which rows are for development, for calibration and for the test, that they are different rows, and their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mycelium.detector.inputs import as_labels
from mycelium.spans import IntArray

__all__ = ["PARTS", "Parts", "read_parts", "rows_digest", "shared_groups"]

PARTS = ("development", "calibration", "test")
_SHORT = {"dev": "development", "cal": "calibration"}


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows of each part, and whether the test rows are those on which thresholds are chosen.

    Attributes
    ----------
    development, calibration, test : int64 array or None
        Rows, rising. None where there is no such part; the test part is always there.
    resubstitution : bool
        Whether calibration and test are the same rows.
    """

    development: IntArray | None
    calibration: IntArray | None
    test: IntArray
    resubstitution: bool

    def items(self) -> list[tuple[str, IntArray]]:
        """Return the names and rows of the parts that are there."""
        found = [(name, getattr(self, name)) for name in PARTS]
        return [(name, rows) for name, rows in found if rows is not None]


def read_parts(
    n: int,
    *,
    split: Any = None,
    development: Any = None,
    calibration: Any = None,
    test: Any = None,
    needs_calibration: bool = True,
    allow_resubstitution: bool = False,
) -> Parts:
    """Read which of n rows belong to which part.

    Parameters
    ----------
    n : int
        The number of rows.
    split : sequence of n str, optional
        "development" ("dev"), "calibration" ("cal") or "test" for each row.
    development, calibration, test : bool array of shape (n,), or sequence of row numbers, optional
        The rows of each part; instead of ``split``.
    needs_calibration : bool
        Whether thresholds will be chosen.
    allow_resubstitution : bool
        Whether thresholds may be chosen on the test rows where there are no calibration rows.

    Raises
    ------
    TypeError, ValueError
        When a row is in two parts, there are no test rows, or thresholds would be chosen on them and this is not
        allowed.
    """
    given = {"development": development, "calibration": calibration, "test": test}
    masks: dict[str, IntArray | None]
    if split is not None:
        named = next((name for name, rows in given.items() if rows is not None), None)
        if named is not None:
            raise TypeError(f"give either split or {named}")
        masks = _of_column(split, n)
    else:
        masks = {name: None if rows is None else _rows(rows, n, name) for name, rows in given.items()}
        if all(rows is None for rows in masks.values()):
            masks["test"] = np.arange(n, dtype=np.int64)
    last = masks["test"]
    if last is None or not len(last):
        raise ValueError("there are no test rows: name them with split or test")
    chosen = masks["calibration"]
    same = chosen is not None and np.array_equal(chosen, last)
    if needs_calibration and (chosen is None or same):
        if not allow_resubstitution:
            what = "calibration and test are the same rows" if same else "there are no calibration rows"
            raise ValueError(
                f"{what}: a threshold that is chosen and evaluated on the same rows looks better than it is. Name"
                " calibration rows with split or calibration; or say allow_resubstitution=True, which stamps the"
                " report; or max_far=() for a report without operating points"
            )
        masks["calibration"] = last
    resubstitution = needs_calibration and masks["calibration"] is not None and (chosen is None or same)
    found = Parts(masks["development"], masks["calibration"], last, resubstitution)
    for (one, rows), (other, others) in combinations(found.items(), 2):
        if resubstitution and {one, other} == {"calibration", "test"}:
            continue
        both = np.intersect1d(rows, others)
        if len(both):
            raise ValueError(
                f"row {both[0]} is in {one} and in {other}, as are {len(both)} rows: parts must be disjoint"
            )
    return found


def rows_digest(y_true: Any, ids: Any = None) -> str:
    """Return a digest of ids and labels, to be kept before a test and compared with what was tested on.

    Scores are not part of it, so that it can be taken before the detector is run. With ids the order of rows is not
    either.

    Parameters
    ----------
    y_true : sequence of length n
        Labels, as :func:`~mycelium.detector.evaluate_detector` reads them.
    ids : sequence of length n, optional
        What each row is called; its number from 0 on by default.

    Returns
    -------
    str
        "sha256:" and 64 digits.

    Examples
    --------
    >>> rows_digest([1, 0], ["a", "b"]) == rows_digest([0, 1], ["b", "a"])
    True
    >>> rows_digest([1, 0], ["a", "b"]) == rows_digest([1, 1], ["a", "b"])
    False
    """
    labels = as_labels(y_true).tolist()
    names = list(range(len(labels))) if ids is None else read_ids(ids, len(labels))
    lines = sorted(json.dumps([name, label], ensure_ascii=True) for name, label in zip(names, labels, strict=True))
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_ids(ids: Any, n: int) -> list[str | int]:
    """Return ids, each a string or a whole number, no two alike.

    Raises
    ------
    TypeError, ValueError
        When one is not, or stands twice.
    """
    values = ids.tolist() if hasattr(ids, "tolist") else ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)
    if len(values) != n:
        raise ValueError(f"ids has {len(values)} values, expected one for each of the {n} rows")
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise TypeError(f"ids: row {row} is {value!r}, expected a string or a whole number")
        if first.setdefault(value, row) != row:
            raise ValueError(
                f"ids: {value!r} stands in rows {first[value]} and {row}: the same answer would count twice"
            )
    return values


def shared_groups(parts: Parts, groups: Sequence[Any]) -> list[Any]:
    """Return the groups that have rows in more than one part, in the order in which they are met."""
    held = {name: {groups[i] for i in rows.tolist()} for name, rows in parts.items()}
    if parts.resubstitution:
        del held["calibration"]
    seen: dict[Any, None] = {}
    for one, other in combinations(held.values(), 2):
        seen.update(dict.fromkeys(group for group in one if group in other))
    return sorted(seen, key=str)


def _of_column(split: Any, n: int) -> dict[str, IntArray | None]:
    values = split.tolist() if hasattr(split, "tolist") else list(split)
    if len(values) != n:
        raise ValueError(f"split has {len(values)} values, expected one for each of the {n} rows")
    names = [_SHORT.get(value, value) if isinstance(value, str) else value for value in values]
    for row, name in enumerate(names):
        if name not in PARTS:
            raise ValueError(f"split: row {row} is {values[row]!r}, expected {', '.join(map(repr, PARTS))}")
    kinds = np.array(names, dtype=object)
    found = {name: np.flatnonzero(kinds == name).astype(np.int64) for name in PARTS}
    return {name: rows if len(rows) else None for name, rows in found.items()}


def _rows(rows: Any, n: int, name: str) -> IntArray:
    array = np.asarray(rows)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a mask or a sequence of row numbers, got shape {array.shape}")
    if array.dtype == np.bool_:
        if len(array) != n:
            raise ValueError(f"{name} has {len(array)} values, expected one for each of the {n} rows")
        found = np.flatnonzero(array)
    elif not len(array):
        found = np.zeros(0, dtype=np.int64)
    elif np.issubdtype(array.dtype, np.integer):
        if array.min() < 0 or array.max() >= n:
            raise ValueError(f"{name} names rows {array.min()} to {array.max()} of {n}")
        found = np.unique(array)
        if len(found) != len(array):
            raise ValueError(f"{name} names a row twice")
    else:
        raise TypeError(f"{name} must be a mask or a sequence of row numbers, got dtype {array.dtype}")
    if not len(found):
        raise ValueError(f"{name} has no rows: leave it None")
    return found.astype(np.int64)
