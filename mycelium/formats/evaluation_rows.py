"""Rows that an evaluation loop hands back, and the features that they belong to.

A loop gives positions only: no ids, no offsets, and in an order that is that of the data set unless rows are grouped by
length or spread over processes. So each row is placed by an id that went through the model's inputs, or by its labels,
which are known; what can be placed by neither is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.formats.containers import library
from mycelium.formats.stored_labels import StoredLabels, show_labels
from mycelium.formats.token_windows import TokenWindows
from mycelium.formats.tokens import IGNORED
from mycelium.spans import IntArray

__all__ = ["EvaluationSet", "Rows", "blocks_of", "place", "rows_of", "split_labels", "tokens_of"]

_NAMED = 5


class Rows(NamedTuple):
    """Some rows as they were handed back, padded at the end (and perhaps before).

    Attributes
    ----------
    values : array (b, t) or (b, t, c)
        Predictions.
    ids : int64 array (b,), or None
        The feature of each row.
    labels : int64 array (b, t), or None
        The labels that went in with it.
    """

    values: NDArray[Any]
    ids: IntArray | None
    labels: IntArray | None


class EvaluationSet(NamedTuple):
    """The features of one data set.

    Attributes
    ----------
    name : str
        What messages call it; empty where there is only one set.
    first : int
        The id of its first feature; the others follow.
    windows : TokenWindows
        Where its tokens stand.
    labels : StoredLabels or None
        What comes back as labels.
    """

    name: str
    first: int
    windows: TokenWindows
    labels: StoredLabels | None


def as_array(x: Any, name: str) -> NDArray[Any]:
    """Return what a framework calls a tensor as an array; bfloat16, which NumPy does not know, as float32."""
    if library(x) == "torch":
        x = x.detach().cpu()
        if str(x.dtype) == "torch.bfloat16":
            x = x.float()
        return np.asarray(x.numpy())
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__array__"):
        return np.asarray(x)
    raise TypeError(f"{name}: expected an array or a tensor, got {type(x).__name__}")


def blocks_of(predictions: Any, label_ids: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of predictions and labels of each batch: of many where a loop did not join them, or one."""
    if not isinstance(predictions, list):
        return [(predictions, label_ids)]
    if label_ids is None:
        return [(part, None) for part in predictions]
    if not isinstance(label_ids, list) or len(label_ids) != len(predictions):
        raise ValueError(f"predictions are a list of {len(predictions)} batches, label_ids are not")
    return list(zip(predictions, label_ids, strict=True))


def rows_of(values: Any, ids: Any, labels: Any) -> Rows:
    """Read one batch.

    Parameters
    ----------
    values : array or tensor (b, t, c) or (b, t), a tuple that begins with it, or a list of b arrays (t, c)
        The predictions of b features.
    ids : array, tensor or list (b,), optional
        Their ids.
    labels : array or tensor (b, t), optional
        Their labels.
    """
    if isinstance(values, tuple):  # logits, then hidden states or whatever else the model returns
        if not values:
            raise ValueError("predictions: an empty tuple")
        values = values[0]
    if isinstance(values, list):
        values = _padded([as_array(row, "predictions") for row in values])
    array = as_array(values, "predictions")
    if array.ndim not in (2, 3) or array.dtype.kind not in "biuf":
        raise TypeError(
            "predictions: expected numbers of shape (features, tokens, classes) or (features, tokens), got"
            f" {array.dtype} of shape {array.shape}"
        )
    found: dict[str, IntArray | None] = {"feature_id": None, "labels": None}
    for name, value, ndim in (("feature_id", ids, 1), ("labels", labels, 2)):
        if value is not None:
            part = np.asarray(value) if isinstance(value, (list, tuple)) else as_array(value, name)
            if part.ndim != ndim or (part.size and part.dtype.kind not in "iu") or len(part) != len(array):
                expected = f"({len(array)},)" if ndim == 1 else f"({len(array)}, tokens)"
                raise ValueError(f"{name}: expected integers of shape {expected}, got {part.dtype} of {part.shape}")
            found[name] = part.astype(np.int64)
    return Rows(array, found["feature_id"], found["labels"])


def split_labels(label_ids: Any) -> tuple[Any, Any]:
    """Tell the labels (b, t) and the ids (b,) apart in what came back under ``label_names``."""
    parts = label_ids if isinstance(label_ids, tuple) else (label_ids,)
    arrays = [as_array(part, "label_ids") for part in parts if part is not None]
    flat, wide = ([array for array in arrays if array.ndim == ndim] for ndim in (1, 2))
    if len(flat) > 1 or len(wide) > 1:
        raise ValueError(
            "label_ids: expected labels of shape (features, tokens) and ids of shape (features,), got shapes"
            f" {', '.join(str(array.shape) for array in arrays)}"
        )
    return (wide[0] if wide else None), (flat[0] if flat else None)


def place(blocks: Sequence[Rows], sets: Sequence[EvaluationSet], *, trusted: bool) -> tuple[int, IntArray, IntArray]:
    """Find the set that the rows belong to, and the row of each of its features.

    Parameters
    ----------
    blocks : sequence of Rows
        All rows of one evaluation. Of several rows of one feature the last counts: samplers of several processes repeat
        rows, and an evaluation that was broken off may have left some.
    sets : sequence of EvaluationSet
        The sets that they may belong to.
    trusted : bool
        Whether rows without ids are in the order of the features, where labels do not disprove it.

    Returns
    -------
    number : int
        Which of the sets.
    rows : int64 array (n,)
        For each feature of the set, its row among those of all blocks.
    shift : int64 array (n,)
        The padding before the tokens of each feature.

    Raises
    ------
    ValueError
        When features are missing, rows are not those of any set, or nothing tells which row is which feature.
    """
    if not blocks:
        raise ValueError("no rows were evaluated")
    with_ids = [block.ids is not None for block in blocks]
    if any(with_ids) and not all(with_ids):
        raise ValueError("some rows have ids and some have none")
    return _by_id(blocks, sets) if all(with_ids) else _by_labels(blocks, sets, trusted)


def _by_id(blocks: Sequence[Rows], sets: Sequence[EvaluationSet]) -> tuple[int, IntArray, IntArray]:
    ids = np.concatenate([block.ids for block in blocks if block.ids is not None])
    if not len(ids):
        raise ValueError("no rows were evaluated")
    starts = np.array([one.first for one in sets])
    number = int(np.searchsorted(starts, ids[-1], side="right")) - 1
    last = sets[-1]
    known = (ids >= sets[0].first) & (ids < last.first + len(last.windows))
    if not known.all():
        wrong = int(ids[~known][0])
        raise ValueError(f"feature_id {wrong} belongs to no feature: were other features evaluated than eval_dataset?")
    chosen = sets[number]
    n = len(chosen.windows)
    if ((ids < chosen.first) | (ids >= chosen.first + n)).any():
        raise ValueError(
            "the rows belong to several of the sets, which are evaluated one at a time (after an evaluation that was"
            " broken off, reset() forgets its rows)"
        )
    rows = np.full(n, -1, dtype=np.int64)
    rows[ids - chosen.first] = np.arange(len(ids))  # of several, the last one assigned stays
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        named = ", ".join(map(str, missing[:_NAMED])) + (", ..." if len(missing) > _NAMED else "")
        raise ValueError(
            f"{_of(chosen)}{len(missing)} of {n} features were not evaluated ({named}): an evaluation needs the whole"
            " eval_dataset; make another SpanMetrics for a part of it"
        )
    shift, differ = _shifts(blocks, chosen, rows)
    if differ:
        raise ValueError(differ)
    return number, rows, shift


def _by_labels(blocks: Sequence[Rows], sets: Sequence[EvaluationSet], trusted: bool) -> tuple[int, IntArray, IntArray]:
    given = sum(len(block.values) for block in blocks)
    cure = (
        "; give TrainingArguments(label_names=metrics.label_names) and evaluate metrics.eval_dataset, so that rows are"
        " placed by their feature_id"
    )
    fitting = [i for i, one in enumerate(sets) if len(one.windows) == given]
    if not fitting:
        known = ", ".join(f"{_of(one)}{len(one.windows)}" for one in sets)
        raise ValueError(f"{given} rows were evaluated, the features are {known}{cure}")
    rows = np.arange(given)
    compared = {i: _shifts(blocks, sets[i], rows) for i in fitting}
    shifts = {i: shift for i, (shift, differ) in compared.items() if not differ}
    if not shifts:
        raise ValueError(f"{compared[fitting[0]][1]}{cure}")
    names = [sets[i].name for i in shifts]
    if len(shifts) > 1:
        raise ValueError(f"rows and labels fit several sets ({', '.join(names)}){cure}")
    ((number, shift),) = shifts.items()
    if not trusted:
        chosen = sets[number]
        covers = np.bincount(chosen.windows.feature, minlength=given) > 0
        unseen = chosen.labels is None or any(block.labels is None for block in blocks)
        alike = list(range(given)) if chosen.labels is None or unseen else chosen.labels.alike(covers)
        if alike and given > 1:
            raise ValueError(
                f"{_of(chosen)}nothing proves the order of the rows: {len(alike)} of {given} features have no labels to"
                f" compare, or those of another feature (feature {alike[0]}, for one){cure}, or say in_order=True where"
                " the sampler keeps the features' order (that of the Trainer does, unless it groups by length)"
            )
    return number, rows, shift


def _shifts(blocks: Sequence[Rows], one: EvaluationSet, rows: IntArray) -> tuple[IntArray, str]:
    """Compare the labels of the rows with those of their features.

    Returns
    -------
    shift : int64 array (n,)
        The padding before the tokens of each feature.
    differ : str
        How they differ; empty where they do not.
    """
    n = len(one.windows)
    shift = np.zeros(n, dtype=np.int64)
    for block, here, local in _each(blocks, rows):
        if block.labels is None or one.labels is None:
            continue
        shift[here], differ = one.labels.compare(block.labels[local], here)
        if differ.any():
            i = int(np.flatnonzero(differ)[0])
            feature, came = int(here[i]), show_labels(block.labels[local[i]])
            return shift, (
                f"{_of(one)}row {feature}: its labels are not those of the feature ({came} came back,"
                f" {one.labels.shown(feature)} went in; {int(differ.sum())} such rows): other features were evaluated,"
                " or in another order"
            )
    if (shift > 0).any():
        covers = np.bincount(one.windows.feature, minlength=n) > 0
        lost = np.flatnonzero((shift < 0) & covers)
        if len(lost):
            return shift, (
                f"{_of(one)}rows are padded at the left, and feature {int(lost[0])} has no label to find its place by"
                f" ({len(lost)} such features); pad at the right"
            )
    return np.maximum(shift, 0), ""


def tokens_of(blocks: Sequence[Rows], rows: IntArray, shift: IntArray, windows: TokenWindows) -> NDArray[Any]:
    """Return the predictions for the tokens that cover characters, (m,) or (m, c), in the features' order.

    Raises
    ------
    ValueError
        When a row is shorter than its feature, or padded where that still has tokens.
    """
    parts, features = [], []
    for block, here, local in _each(blocks, rows):
        width = block.values.shape[1]
        short = here[shift[here] + windows.counts[here] > width]
        if len(short):
            raise ValueError(
                f"row {int(short[0])}: predictions for {width} tokens, the feature has {int(windows.counts[short[0]])}"
                f" offsets ({len(short)} such rows): other features were evaluated, or in another order"
            )
        whole = len(local) == len(block.values) and bool((local[1:] > local[:-1]).all())
        values = block.values if whole else block.values[local]
        parts.append(windows.take(values, features=here, shift=shift[here] if shift.any() else None))
        features.append(here)
    if len({part.shape[1:] for part in parts}) > 1:
        raise ValueError("predictions: batches differ in their number of classes")
    flat = windows.in_order(parts, np.concatenate(features))
    columns = [flat] if flat.ndim == 1 else list(flat.T)
    padded = np.flatnonzero(columns[0] == IGNORED)
    for column in columns[1:]:
        padded = padded[column[padded] == IGNORED]
    if len(padded):
        token = int(padded[0])
        feature, position = int(windows.feature[token]), int(windows.position[token])
        raise ValueError(
            f"row {feature}: padding at token {position}, the feature has {int(windows.counts[feature])} offsets: rows"
            " are in another order, or padded at the left"
        )
    return flat


def _each(blocks: Sequence[Rows], rows: IntArray) -> Iterator[tuple[Rows, IntArray, IntArray]]:
    """Yield each block that is used, the features that are in it, in order, and their rows there."""
    features = np.argsort(rows)
    begins = np.cumsum([0, *(len(block.values) for block in blocks)])
    cuts = np.searchsorted(rows[features], begins)
    for number, block in enumerate(blocks):
        here = np.sort(features[cuts[number] : cuts[number + 1]])
        if len(here):
            yield block, here, rows[here] - begins[number]


def _padded(rows: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack rows of different lengths."""
    if not rows or any(row.ndim not in (1, 2) or row.shape[1:] != rows[0].shape[1:] for row in rows):
        raise ValueError("predictions: expected a list of arrays of shape (tokens, classes), with the same classes")
    dtype = np.result_type(*rows)
    out = np.full((len(rows), max(map(len, rows)), *rows[0].shape[1:]), IGNORED, dtype=dtype)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def _of(one: EvaluationSet) -> str:
    return f"{one.name}: " if one.name else ""
