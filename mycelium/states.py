"""Counting for hosts that keep the sums themselves: what leaves a process, and comes back, is a vector of integers.

A torchmetrics state, a row of an Arrow table and a line of a cluster's shuffle hold the same thing, the vector of
:meth:`mycelium.Accumulator.state`. Here it is counted for one batch, or for many groups of a batch at once.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.batch import Batch
from mycelium.line import Line, lines
from mycelium.reduce import LIMB_BITS, LIMBS
from mycelium.scoring import Accumulator
from mycelium.spans import BoolArray, FloatArray, IntArray, InvalidCounts
from mycelium.typed import TypedAccumulator

__all__ = ["ARGUMENTS", "count", "count_groups", "grouping", "known_types", "settled"]

#: What :meth:`mycelium.Accumulator.update` takes.
ARGUMENTS = ("references", "predictions", "text", "sample_weight", "soft_references", "soft_predictions")

_FIRST = len(InvalidCounts._fields)
#: After the counts of invalid input, the number of examples and the mark of weights come the limbs of sums.
_LIMBS_FROM = _FIRST + 2
#: The last elements of a typed state: spans of unknown types that were left out, of either side.
_IGNORED = 2
#: Messages begin with the argument that they are about, or with who reads it.
_ARGUMENT = re.compile(rf"(?:^|(?<=reads types; ))(?:{'|'.join(ARGUMENTS)})\b")
#: Sums of doubles that are whole stay exact below this bound.
_EXACT = 2.0**53
_SAFE = 1 << 62
_LIMB = 2.0**LIMB_BITS


def count(scores: Accumulator, columns: Mapping[str, Any], names: Mapping[str, str] | None = None) -> IntArray:
    """Return the state that a batch alone gives.

    Parameters
    ----------
    scores : Accumulator
        The settings; it is emptied.
    columns : mapping of str to columns
        The arguments of :meth:`mycelium.Accumulator.update`.
    names : mapping of str to str, optional
        What messages call the arguments.

    Returns
    -------
    int64 array of shape (s,)

    Raises
    ------
    TypeError, ValueError
        When the batch cannot be used as it is.

    Examples
    --------
    >>> state = count(Accumulator(metrics=["iou"]), {"references": [[[0, 9]]], "predictions": [[[0, 9]]]})
    >>> scores = Accumulator(metrics=["iou"])
    >>> scores.add_state(state + state)
    >>> scores.compute()["meta"]["examples"]
    2
    """
    scores.reset()
    with _named(names or {}):
        scores.update(**columns)
    return scores.state()


def count_groups(
    scores: Accumulator,
    columns: Mapping[str, Any],
    order: IntArray,
    sizes: IntArray,
    names: Mapping[str, str] | None = None,
) -> IntArray:
    """Return the state of each group of the rows of a batch, counted in one go.

    Parameters
    ----------
    scores : Accumulator
        The settings.
    columns : mapping of str to columns of n rows
        The arguments of :meth:`mycelium.Accumulator.update`, lists or Arrow columns.
    order : int64 array of shape (n,)
        The rows, group after group.
    sizes : int64 array of shape (g,)
        The number of rows in each group.
    names : mapping of str to str, optional
        What messages call the arguments.

    Returns
    -------
    int64 array of shape (g, s)
        Row i is what :func:`count` gives for the rows of group i alone.

    Raises
    ------
    TypeError, ValueError
        When the batch cannot be used as it is.

    Examples
    --------
    >>> columns = {"references": [[[0, 9]], [], [[2, 4]]], "predictions": [[[0, 9]], [[3, 4]], []]}
    >>> states = count_groups(Accumulator(metrics=["iou"]), columns, np.array([0, 2, 1]), np.array([2, 1]))
    >>> states[:, 4].tolist()  # the element "examples"
    [2, 1]
    """
    given = {name: columns.get(name) for name in ARGUMENTS}
    with _named(names or {}):
        batch, ignored = known_types(scores, scores._read(*given.values()))
    states = np.zeros((len(sizes), len(scores.state_names)), dtype=np.int64)
    sums_end = states.shape[1] - ignored.shape[1]
    if len(order):
        # Group after group, so that each block of rows meets few groups.
        arranged = _part(batch, order)
        sums = _sums(scores, arranged, sizes, sums_end)
        states[:, _FIRST:sums_end] = _one_by_one(scores, arranged, sizes, sums_end) if sums is None else sums
        if ignored.any():
            np.add.at(states[:, sums_end:], np.repeat(np.arange(len(sizes)), sizes), ignored[order])
    if any(batch.invalid):
        states[:, :_FIRST] = _invalid(scores, given, batch.invalid, order, sizes)
    return states


def grouping(keys: Iterable[Hashable]) -> tuple[list[Any], IntArray, IntArray]:
    """Group rows by their keys, for :func:`count_groups`.

    Returns
    -------
    keys : list of length g
        The distinct keys, in the order in which they occur first.
    order : int64 array of shape (n,)
        The rows, group after group.
    sizes : int64 array of shape (g,)
        The number of rows in each group.

    Examples
    --------
    >>> grouping(["b", "a", "b"])
    (['b', 'a'], array([0, 2, 1]), array([2, 1]))
    """
    numbers: dict[Any, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    return list(numbers), np.argsort(group, kind="stable"), np.bincount(group, minlength=len(numbers))


def known_types(scores: Accumulator, batch: Batch) -> tuple[Batch, IntArray]:
    """Return a batch without the spans whose types are ignored, and how many those are in each row.

    Returns
    -------
    batch : Batch
        The spans that are counted.
    ignored : int64 array of shape (n, 2), or (n, 0)
        Those left out of references and of predictions; no columns where types are not fixed.

    Raises
    ------
    ValueError
        When a type is unknown and not ignored.
    """
    if not isinstance(scores, TypedAccumulator):
        return batch, np.zeros((len(batch.references), 0), dtype=np.int64)
    known, _ = scores._known(batch)
    lost = [batch.references.counts - known.references.counts, batch.predictions.counts - known.predictions.counts]
    return known, np.stack(lost, axis=1)


def settled(scores: Accumulator, states: IntArray) -> IntArray:
    """Return sums of states in the one form that :meth:`mycelium.Accumulator.state` gives.

    Parameters
    ----------
    scores : Accumulator
        The settings.
    states : int64 array of shape (g, s)
        Sums of up to 2**36 states each.

    Raises
    ------
    ValueError
        When a sum does not fit into a state.
    """
    out: IntArray = states.copy()
    np.minimum(out[:, _FIRST + 1], 1, out=out[:, _FIRST + 1])
    limbs = out[:, _LIMBS_FROM : out.shape[1] - (_IGNORED if isinstance(scores, TypedAccumulator) else 0)]
    _carry(limbs.reshape(len(out), limbs.shape[1] // (1 + LIMBS), 1 + LIMBS))  # a view, carried in place
    return out


def _part(batch: Batch, rows: Any) -> Batch:
    """Return the rows that a slice or an index array names, without the counts of invalid input."""
    parts: list[Any] = [None if part is None else part[rows] for part in batch[:-1]]
    return Batch._make([*parts, InvalidCounts()])


def _lines(batch: Batch, rows_at_once: int | None) -> Iterator[Line]:
    return lines(
        batch.references,
        batch.predictions,
        soft_references=batch.soft_references,
        soft_predictions=batch.soft_predictions,
        text_length=batch.length,
        rows_at_once=rows_at_once,
    )


def _sums(scores: Accumulator, batch: Batch, sizes: IntArray, end: int) -> IntArray | None:
    """Return the sums in the states (g, s), which end there; None where doubles cannot hold them."""
    settings, metrics = scores.settings, scores._metrics
    group = np.repeat(np.arange(len(sizes)), sizes)
    weight = batch.weight
    terms = float(len(group))
    if weight is not None and weight.dtype == np.int64:
        terms *= max(float(weight.max()), 1.0)
    limbs = np.zeros((len(sizes), (end - _LIMBS_FROM) // (1 + LIMBS), 1 + LIMBS), dtype=np.int64)
    begin = 0
    for line in _lines(batch, scores._rows_at_once):
        rows = slice(begin, begin + line.rows)
        begin = rows.stop
        columns = [np.ones(line.rows)]
        for metric in metrics:
            counted = metric.count(line)
            means = settings.average == "macro" and not metric.pooled
            columns.extend((metric.value(counted, settings.undefined) if means else counted).T)
        first, last = int(group[rows.start]), int(group[rows.stop - 1]) + 1
        for j, column in enumerate(columns):
            of = None if weight is None else weight[rows]
            if not _add_up(column, of, terms, group[rows] - first, limbs[first:last, j]):
                return None
    _carry(limbs)
    weighted = np.full(len(sizes), weight is not None)
    return np.column_stack([sizes, weighted, limbs.reshape(len(sizes), -1)])


def _add_up(
    column: NDArray[Any], weight: IntArray | FloatArray | None, terms: float, group: IntArray, limbs: IntArray
) -> bool:
    """Add the weighted values to the limbs (g, 1 + LIMBS) of their groups; False if `terms` such are too many."""
    rest = np.array(column, dtype=np.float64)
    if weight is not None and weight.dtype != np.int64:
        rest *= weight
        weight = None
    # Not "at least": NaN must not pass.
    if not (np.abs(rest).max() * terms < _EXACT and _LIMB * terms < _EXACT):
        return False
    for i in range(1 + LIMBS):
        part = np.trunc(rest)
        rest -= part
        if weight is not None:
            part *= weight
        limbs[:, i] += np.bincount(group, part, len(limbs)).astype(np.int64)
        if not rest.any():
            return True
        rest *= _LIMB
    return False


def _one_by_one(scores: Accumulator, batch: Batch, sizes: IntArray, end: int) -> IntArray:
    """Return what :func:`_sums` does, for numbers of any size."""
    states = []
    cuts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    for rows in map(slice, cuts[:-1], cuts[1:]):
        scores.reset()
        scores._add(_part(batch, rows), None)
        states.append(scores.state()[_FIRST:end])
    return np.stack(states)


def _carry(limbs: IntArray) -> None:
    """Bring limbs (..., 1 + LIMBS) into the range of their bits, in place."""
    for i in range(LIMBS, 0, -1):
        limbs[..., i - 1] += limbs[..., i] >> LIMB_BITS
        limbs[..., i] &= (1 << LIMB_BITS) - 1
    if limbs.size and not -_SAFE < limbs[..., 0].min() <= limbs[..., 0].max() < _SAFE:
        raise ValueError("a sum does not fit into a state of 64-bit integers")


def _invalid(
    scores: Accumulator, columns: Mapping[str, Any], whole: InvalidCounts, order: IntArray, sizes: IntArray
) -> IntArray:
    """Return the counts of invalid input (g, 4) of each group, given those of the whole."""
    out = np.zeros((len(sizes), _FIRST), dtype=np.int64)
    sides = [column for name, column in columns.items() if name.endswith(("references", "predictions"))]
    missing = np.stack([_missing(side) for side in sides if side is not None]).sum(axis=0)[order]
    if whole == InvalidCounts(missing=int(missing.sum())):
        out[:, -1] = np.bincount(np.repeat(np.arange(len(sizes)), sizes), missing, len(sizes))
        return out
    # Which rows were dropped or clipped is not known: halve the groups for as long as there are any.
    cuts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    arranged = [_take(column, order) for column in columns.values()]

    def look(first: int, last: int) -> None:
        rows = slice(cuts[first], cuts[last])
        found = scores._read(*(None if column is None else column[rows] for column in arranged)).invalid
        if last - first == 1:
            out[first] = found
        elif any(found):
            middle = (first + last) // 2
            look(first, middle)
            look(middle, last)

    look(0, len(sizes))
    return out


def _missing(column: Any) -> BoolArray:
    """Tell which rows are None, as far as the container says."""
    if isinstance(column, (list, tuple)):
        return np.array([row is None for row in column], dtype=np.bool_)
    return np.asarray(column.is_null(), dtype=np.bool_)


def _take(column: Any, rows: IntArray) -> Any:
    if column is None:
        return None
    return [column[row] for row in rows.tolist()] if isinstance(column, (list, tuple)) else column.take(rows)


@contextmanager
def _named(names: Mapping[str, str]) -> Iterator[None]:
    """Let messages of the core call its arguments what the caller calls them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_ARGUMENT.sub(lambda match: names.get(match[0], match[0]), str(error))) from None
