"""The Mu-SHROOM protocol (SemEval-2025 task 3), to the digits that the organisers' scorer prints.

1. Rows are paired by ``id``; the reference's ``model_output_text`` gives the number of characters.
2. ``hard_labels`` that are missing or null are derived: the soft spans with prob > 0.5, sorted by (start, end), joined
   where one starts at the end of the one before. ``soft_labels`` that are missing or null are the hard ones with
   prob 1. An empty list is present: it says that nothing is marked.
3. *IoU* of a row: characters in both hard masks / characters in either, 1 when both are empty.
4. *Cor* of a row: Spearman's correlation of the two vectors of probabilities over the characters, 0 where no soft span
   lies; of overlapping soft spans the later one in the list counts. If a vector is constant, 1 when both are, else 0.
5. Both numbers are means over the rows of the reference.

Where this differs from the organisers' program:

1. Invalid input is refused. That program takes spans past the end of the text into the union (lower IoU) and wraps
   negative offsets around, or stops. ``invalid="drop"`` leaves such spans out before anything is derived, and says how
   many; the scores published for files with faults come out of this.
2. Rows without a prediction are refused, as there; ``missing="empty"`` counts them as rows where nothing was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mycelium.formats import read_spans
from mycelium.protocols.submission import (
    HARD,
    SOFT,
    TEXT,
    Records,
    Side,
    SubmissionError,
    find_problems,
    is_key,
    plain_row,
    read_side,
)
from mycelium.scoring import evaluate
from mycelium.spans import BoolArray, FloatArray, IntArray, InvalidCounts, SpanBatch, _offsets

__all__ = ["MuShroomScore", "hard_from_soft", "score_mu_shroom", "soft_from_hard"]

_THRESHOLD = 0.5


@dataclass(frozen=True, eq=False)
class MuShroomScore:
    """The two numbers of the benchmark, and what stands behind them.

    Attributes
    ----------
    iou, correlation : float
        The official IoU and Cor. ``str(score)`` gives the two lines that the organisers' scorer prints.
    rows : int
        Number of rows of the reference, over which both are means.
    ids : tuple
        The ids of the rows, in the order of the reference.
    row_iou, row_correlation : float64 arrays of shape (rows,)
        Index i speaks of ``ids[i]``.
    references, predictions : InvalidCounts
        What ``invalid="drop"`` left out on each side; ``missing`` counts the rows taken as empty.
    missing : tuple
        The ids that had no prediction and were counted as empty.
    derived_hard, derived_soft : int
        Rows of the prediction whose labels were derived from the other kind.
    signature : str
        The conventions behind the numbers.
    """

    iou: float
    correlation: float
    rows: int
    ids: tuple[str | int, ...]
    row_iou: FloatArray
    row_correlation: FloatArray
    references: InvalidCounts
    predictions: InvalidCounts
    missing: tuple[str | int, ...]
    derived_hard: int
    derived_soft: int
    signature: str

    def __str__(self) -> str:
        return f"IoU: {self.iou:.8f}\nCor: {self.correlation:.8f}"

    def notes(self) -> list[str]:
        """Say in words what leniency and derivation did, one line each; nothing done, nothing said."""
        out = []
        for name in ("references", "predictions"):
            counts: InvalidCounts = getattr(self, name)
            if counts.dropped:
                out.append(f"{name}: left out {_some(counts.dropped, 'invalid span')} in {_some(counts.rows, 'row')}")
        if self.missing:
            named = ", ".join(map(repr, self.missing[:5])) + (", ..." if len(self.missing) > 5 else "")
            out.append(f"predictions: counted {_some(len(self.missing), 'missing row')} as empty: {named}")
        if self.derived_hard:
            out.append(f"predictions: derived {HARD} from {SOFT} (prob > 0.5) in {_some(self.derived_hard, 'row')}")
        if self.derived_soft:
            out.append(f"predictions: derived {SOFT} from {HARD} (prob 1) in {_some(self.derived_soft, 'row')}")
        return out


def score_mu_shroom(
    references: Records, predictions: Records, *, invalid: str = "raise", missing: str = "raise"
) -> MuShroomScore:
    """Score a submission as the organisers of Mu-SHROOM do.

    Parameters
    ----------
    references : path or iterable of mappings
        JSONL file or records with ``id``, ``model_output_text`` and ``hard_labels`` and/or ``soft_labels``. Offsets
        are half-open and count characters (Python code points).
    predictions : path, ``"-"`` or iterable of mappings
        The same without the text; other keys are ignored.
    invalid : {"raise", "drop"}
        What to do with spans that break ``0 <= start < end <= length`` and with soft spans whose ``prob`` is absent or
        outside [0, 1]. ``"drop"`` leaves them out, before anything is derived, and counts them. Wrong types, reversed
        spans and a ``prob`` that is not finite always raise.
    missing : {"raise", "empty"}
        What to do with rows of the reference that have no prediction, or one with neither kind of labels. ``"empty"``
        takes them as rows where nothing was found. Unknown and repeated ids always raise.

    Returns
    -------
    MuShroomScore

    Raises
    ------
    SubmissionError
        A ValueError whose ``problems`` holds every fault with file and line.

    References
    ----------
    Vazquez et al., "SemEval-2025 Task 3: Mu-SHROOM", SemEval 2025.

    Examples
    --------
    >>> from mycelium.protocols import score_mu_shroom
    >>> gold = [{"id": "a", "model_output_text": "0123456789", "hard_labels": [[0, 4]]}]
    >>> print(score_mu_shroom(gold, [{"id": "a", "soft_labels": [{"start": 2, "end": 4, "prob": 0.8}]}]))
    IoU: 0.50000000
    Cor: 0.61237244
    """
    if invalid not in ("raise", "drop"):
        raise ValueError(f"invalid must be 'raise' or 'drop', got {invalid!r}")
    if missing not in ("raise", "empty"):
        raise ValueError(f"missing must be 'raise' or 'empty', got {missing!r}")
    gold, submitted = read_side(references, "references"), read_side(predictions, "predictions")
    try:
        ids, records = _pair(gold, submitted, missing)
        texts = [record[TEXT] for record in gold.records]
        ours = _read_labels(gold.records, texts, "references", invalid)
        theirs = _read_labels(records, texts, "predictions", invalid)
        if ours.absent.any() or (missing == "raise" and theirs.absent.any()):
            raise ValueError("rows without labels")
    except (KeyError, TypeError, ValueError):
        # The batch readers stop at the first kind of fault; the search row by row finds all, with their lines.
        forgiven = ("invalid" if invalid == "drop" else "", "missing" if missing == "empty" else "")
        problems = [p for p in find_problems(gold, submitted) if p.kind not in forgiven]
        if problems:
            raise SubmissionError(problems) from None
        raise
    report = evaluate(
        references=ours.hard,
        predictions=theirs.hard,
        text=texts,
        soft_references=ours.soft,
        soft_predictions=theirs.soft,
        profile="mu_shroom",
        metrics=["iou", "soft_correlation"],
        include_per_example=True,
        # Both are settled by now; passed on, they stand in the signature.
        invalid=invalid,
        missing_rows=missing,
    )
    absent = theirs.absent
    return MuShroomScore(
        iou=report["iou"]["score"],
        correlation=report["soft_correlation"]["score"],
        rows=len(ids),
        ids=tuple(ids),
        row_iou=_frozen(report["iou"]["per_example"]),
        row_correlation=_frozen(report["soft_correlation"]["per_example"]),
        references=ours.counts,
        predictions=theirs.counts._replace(missing=int(absent.sum())),
        missing=tuple(ids[i] for i in np.flatnonzero(absent).tolist()),
        derived_hard=int((~theirs.has_hard & theirs.has_soft).sum()),
        derived_soft=int((theirs.has_hard & ~theirs.has_soft).sum()),
        signature=report.signature,
    )


def hard_from_soft(soft: SpanBatch) -> SpanBatch:
    """Derive hard labels: spans with a score above 0.5, sorted, joined where one starts at the end of the one before.

    Parameters
    ----------
    soft : SpanBatch
        n rows of spans with scores. A score of exactly 0.5 is not above it.

    Returns
    -------
    SpanBatch
        n rows of spans without scores.

    Examples
    --------
    >>> from mycelium import as_spans
    >>> probs = {(4, 6): 0.9, (0, 4): 0.6, (7, 9): 0.5}
    >>> soft = as_spans([[{"start": start, "end": end, "prob": prob} for (start, end), prob in probs.items()]])
    >>> hard_from_soft(soft).tolist()
    [[[0, 6]]]
    """
    if soft.score is None:
        return soft._keep(np.zeros(len(soft.start), dtype=np.bool_))
    chosen = soft._keep(soft.score > _THRESHOLD)
    row = chosen.row
    order = np.lexsort((chosen.end, chosen.start, row))
    start, end = chosen.start[order], chosen.end[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (row[1:] != row[:-1]) | (start[1:] != end[:-1])
    counts = np.bincount(row[first], minlength=len(soft))
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = first[1:]
    return SpanBatch._trusted(_offsets(counts), start[first], end[last], length=soft.length)


def soft_from_hard(hard: SpanBatch) -> SpanBatch:
    """Derive soft labels: every hard span with probability 1."""
    return SpanBatch._trusted(
        hard.offsets, hard.start, hard.end, score=np.ones(len(hard.start), dtype=np.float64), length=hard.length
    )


@dataclass(frozen=True)
class _Labels:
    hard: SpanBatch
    soft: SpanBatch
    has_hard: BoolArray
    has_soft: BoolArray
    counts: InvalidCounts

    @property
    def absent(self) -> BoolArray:
        return ~(self.has_hard | self.has_soft)


def _pair(gold: Side, submitted: Side, missing: str) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """Return the ids of the reference and the records of the prediction in that order, an empty one for each absent."""
    ids = [record["id"] for record in gold.records]
    theirs = [record["id"] for record in submitted.records]
    if not ids or not (set(map(type, chain(ids, theirs))) <= {str, int} or all(map(is_key, chain(ids, theirs)))):
        raise ValueError("rows without ids")
    position = dict(zip(theirs, range(len(theirs)), strict=True))
    known = set(ids)
    if len(known) < len(ids) or len(position) < len(theirs) or not known.issuperset(position):
        raise ValueError("duplicate or unknown ids")
    if missing == "raise" and len(position) < len(ids):
        raise ValueError("missing ids")
    return ids, [submitted.records[j] if (j := position.get(key)) is not None else {} for key in ids]


def _read_labels(records: Sequence[Mapping[str, Any]], texts: list[str], name: str, invalid: str) -> _Labels:
    """Read both kinds of labels of one side, leave out what is invalid, then derive what is absent."""
    columns = [_plain([record.get(key) for record in records]) for key in (HARD, SOFT)]
    has_hard, has_soft = (np.array([row is not None for row in column], dtype=np.bool_) for column in columns)
    hard_rows, soft_rows = ([() if row is None else row for row in column] for column in columns)
    hard_spans, soft_spans = list(chain.from_iterable(hard_rows)), list(chain.from_iterable(soft_rows))
    if not set(map(type, hard_spans)) <= {list, tuple} or not set(map(len, hard_spans)) <= {2}:
        raise TypeError(f"{name}: {HARD} must be pairs")
    if not all(issubclass(kind, Mapping) for kind in set(map(type, soft_spans))):
        raise TypeError(f"{name}: {SOFT} must be objects")
    if not _OTHER_SCORES.isdisjoint(chain.from_iterable(soft_spans)):
        # Readers take a score under several names; in this format only prob counts.
        soft_rows = [[{key: s[key] for key in s.keys() - _OTHER_SCORES} for s in row] for row in soft_rows]
    hard, _ = read_spans(hard_rows, name=f"{name}: {HARD}", text=texts, invalid=invalid)
    soft, _ = read_spans(soft_rows, name=f"{name}: {SOFT}", text=texts, invalid=invalid)
    score = np.full(len(soft.start), np.nan) if soft.score is None else soft.score
    sound = (score >= 0) & (score <= 1)
    if not sound.all():
        if invalid == "raise":
            raise ValueError(f"{name}: {SOFT} without prob")
        soft = soft._keep(sound)
    lost = [_lengths(given) - kept.counts for given, kept in ((hard_rows, hard), (soft_rows, soft))]
    counts = InvalidCounts(rows=int(((lost[0] > 0) | (lost[1] > 0)).sum()), dropped=int(lost[0].sum() + lost[1].sum()))
    return _Labels(
        _either(hard, hard_from_soft(soft), has_hard),
        _either(soft, soft_from_hard(hard), has_soft),
        has_hard,
        has_soft,
        counts,
    )


_OTHER_SCORES = frozenset({"score", "confidence", "label", "type", "label_type"})


def _plain(column: list[Any]) -> list[Any]:
    return column if set(map(type, column)) <= {list, type(None)} else list(map(plain_row, column))


def _lengths(rows: Sequence[Any]) -> IntArray:
    return np.fromiter(map(len, rows), np.int64, len(rows))


def _either(given: SpanBatch, derived: SpanBatch, has: BoolArray) -> SpanBatch:
    """Return the rows of ``given`` where the mask is set and those of ``derived`` elsewhere."""
    if has.all():
        return given
    n, m = len(given), len(given.start)
    score = None
    if given.score is not None or derived.score is not None:
        parts = [b.score if b.score is not None else np.zeros(len(b.start)) for b in (given, derived)]
        score = np.concatenate(parts)
    both = SpanBatch._trusted(
        np.concatenate([given.offsets, derived.offsets[1:] + m]),
        np.concatenate([given.start, derived.start]),
        np.concatenate([given.end, derived.end]),
        score=score,
    )
    rows = np.arange(n, dtype=np.int64)
    taken = both._take(np.where(has, rows, rows + n))
    return SpanBatch._trusted(taken.offsets, taken.start, taken.end, score=taken.score, length=given.length)


def _frozen(values: list[float]) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _some(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'s' * (count != 1)}"
