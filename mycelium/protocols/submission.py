"""What is wrong with a Mu-SHROOM submission: every fault of every row, with its place.

This is the slow and talkative half of the protocol. :func:`mycelium.protocols.score_mu_shroom` reads whole files at
once and comes here only when something does not fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from mycelium.formats.files import read_jsonl

__all__ = ["Problem", "Side", "SubmissionError", "check_mu_shroom", "find_problems", "is_key", "plain_row", "read_side"]

Records = str | os.PathLike[str] | Iterable[Mapping[str, Any]]

HARD, SOFT, TEXT = "hard_labels", "soft_labels", "model_output_text"
_NAMED = 5


@dataclass(frozen=True)
class Problem:
    """One finding about a submission.

    Attributes
    ----------
    place : str
        ``"FILE:LINE"``, or ``"predictions, row N"`` for records that come from no file.
    message : str
        What is wrong, with the id of the row.
    kind : {"error", "invalid", "missing", "note"}
        ``"invalid"`` is a span that ``invalid="drop"`` leaves out, ``"missing"`` a row that ``missing="empty"`` counts
        as empty, ``"note"`` something odd that does not hinder scoring, ``"error"`` all that is always refused.
    """

    place: str
    message: str
    kind: str = "error"

    def __str__(self) -> str:
        return f"{self.place}: {'note: ' if self.kind == 'note' else ''}{self.message}"


class SubmissionError(ValueError):
    """The files cannot be scored; ``problems`` holds all the reasons, the message names the first five."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        n = len(self.problems)
        named = "; ".join(map(str, self.problems[:_NAMED]))
        more = f"; and {n - _NAMED} more" if n > _NAMED else ""
        super().__init__(named if n == 1 else f"{n} problems: {named}{more}")

    def __reduce__(self) -> tuple[Any, ...]:
        return SubmissionError, (self.problems,)


class Side(NamedTuple):
    """The records of one file and where they stand."""

    name: str
    path: str | None
    records: list[Mapping[str, Any]]
    lines: list[int]

    def place(self, row: int) -> str:
        """Return ``"FILE:LINE"`` or ``"NAME, row N"``."""
        return f"{self.name}, row {row}" if self.path is None else f"{self.path}:{self.lines[row]}"

    @property
    def file(self) -> str:
        """What stands for the whole side in messages."""
        return self.path or self.name


def read_side(source: Records, name: str, problems: list[str] | None = None) -> Side:
    """Read a JSONL file, or take records as they are."""
    if isinstance(source, (str, os.PathLike)):
        numbered = read_jsonl(source, problems=problems)
        path = "<stdin>" if source == "-" else os.fspath(source)
        return Side(name, path, [record for _, record in numbered], [line for line, _ in numbered])
    if isinstance(source, Mapping):
        raise TypeError(f"{name} must be a path or a list of records, got one mapping ({type(source).__name__})")
    records = list(source)
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(f"{name}: row {row} must be a record (a mapping), got {type(record).__name__}")
    return Side(name, None, records, list(range(len(records))))


def check_mu_shroom(predictions: Records, texts: Records) -> list[Problem]:
    """Find every problem of a Mu-SHROOM submission.

    Parameters
    ----------
    predictions : path, ``"-"`` or iterable of mappings
        The submission: ``id`` with ``hard_labels`` (pairs ``[start, end)``), ``soft_labels`` (dicts with ``start``,
        ``end``, ``prob``) or both. Offsets count characters of the text, from 0.
    texts : path or iterable of mappings
        The benchmark's rows: ``id`` and ``model_output_text``. Labels are not needed and not looked at.

    Returns
    -------
    list of Problem
        Reading errors first, then in the order of the rows, then the ids without a row. Only notes, or nothing, means
        that the submission can be scored.

    Raises
    ------
    SubmissionError
        When `texts` itself cannot be used.

    Examples
    --------
    >>> from mycelium.protocols import check_mu_shroom
    >>> texts = [{"id": "a", "model_output_text": "0123456789"}]
    >>> for problem in check_mu_shroom([{"id": "a", "hard_labels": [[2, 12], [3, 4]]}], texts):
    ...     print(problem)
    predictions, row 0: id 'a': hard_labels, span 0 [2, 12]: past the end of the text (10 characters)
    predictions: note: 1 row without soft_labels: they are derived from hard_labels
    """
    reference = read_side(texts, "texts")
    # A text that cannot be read, or rows without a name, leave nothing to check against.
    if faults := _reference_problems(reference):
        raise SubmissionError(faults)
    unreadable: list[str] = []
    submission = read_side(predictions, "predictions", unreadable)
    found = [_unreadable(submission.file, message) for message in unreadable]
    return found + find_problems(reference, submission, labels=False, notes=True)


def _unreadable(path: str, message: str) -> Problem:
    # "PATH:LINE: reason"
    line, _, reason = message.removeprefix(f"{path}:").partition(": ")
    return Problem(f"{path}:{line}", reason)


def find_problems(references: Side, predictions: Side, *, labels: bool = True, notes: bool = False) -> list[Problem]:
    """Return all problems of a pair of files, those of the references first.

    Parameters
    ----------
    references, predictions : Side
        The two files.
    labels : bool
        Whether the references' labels are looked at too.
    notes : bool
        Whether to look for oddities that do not hinder scoring.
    """
    found = _reference_problems(references)
    if labels:
        for row, record in enumerate(references.records):
            text = record.get(TEXT)
            found += _label_problems(references, row, len(text) if isinstance(text, str) else None, "error")
    texts = {record["id"]: record.get(TEXT) for record in references.records if is_key(record.get("id"))}
    faults = _key_faults(predictions)
    seen = set()
    for row, record in enumerate(predictions.records):
        key, place, text = record.get("id"), predictions.place(row), None
        if row in faults:
            found.append(Problem(place, faults[row]))
        if is_key(key):
            seen.add(key)
            text = texts.get(key)
            if key not in texts:
                found.append(Problem(place, f"id {key!r}: unknown, {references.file} has no such row"))
        length = len(text) if isinstance(text, str) else None
        unsound = _label_problems(predictions, row, length, "missing")
        found += unsound
        if notes and isinstance(text, str):
            found += [Problem(place, f"id {key!r}: {note}", "note") for note in _notes(record, text, not unsound)]
    for row, record in enumerate(references.records):
        key = record.get("id")
        if is_key(key) and key not in seen:
            where = os.path.basename(references.place(row))
            found.append(Problem(predictions.file, f"id {key!r}: no prediction for this row ({where})", "missing"))
    if notes:
        found += _file_notes(predictions)
    return found


def _reference_problems(side: Side) -> list[Problem]:
    """Return the faults without which a reference names its rows and their lengths."""
    if not side.records:
        return [Problem(side.file, "holds no rows")]
    faults = _key_faults(side)
    found = []
    for row, record in enumerate(side.records):
        if row in faults:
            found.append(Problem(side.place(row), faults[row]))
        if not isinstance(record.get(TEXT), str):
            reason = f"{TEXT} must be a string, got {_kind(record.get(TEXT))}"
            found.append(Problem(side.place(row), _name(record) + reason))
    return found


def _file_notes(side: Side) -> Iterator[Problem]:
    for lacking, present in ((HARD, SOFT), (SOFT, HARD)):
        derived = sum(record.get(lacking) is None and record.get(present) is not None for record in side.records)
        if derived:
            rows = f"{derived} row{'s' * (derived != 1)}"
            yield Problem(side.file, f"{rows} without {lacking}: they are derived from {present}", "note")


def is_key(key: Any) -> bool:
    """Tell whether a value can be an id."""
    return isinstance(key, (str, int)) and not isinstance(key, bool)


def _name(record: Mapping[str, Any]) -> str:
    return f"id {record['id']!r}: " if is_key(record.get("id")) else ""


def _key_faults(side: Side) -> dict[int, str]:
    """Return the rows whose id is absent, no id at all, or that of an earlier row."""
    first: dict[str | int, int] = {}
    faults = {}
    for row, record in enumerate(side.records):
        key = record.get("id")
        if key is None:
            faults[row] = "has no id"
        elif not is_key(key):
            faults[row] = f"id must be a string or an integer, got {key!r}"
        elif first.setdefault(key, row) != row:
            faults[row] = f"id {key!r}: duplicate, it stands at {os.path.basename(side.place(first[key]))} already"
    return faults


def _label_problems(side: Side, row: int, length: int | None, lacking: str) -> list[Problem]:
    """Return the faults of the labels of one row; ``lacking`` is the kind of the fault "no labels at all"."""
    record = side.records[row]
    if record.get(HARD) is None and record.get(SOFT) is None:
        return [Problem(side.place(row), f"{_name(record)}neither {HARD} nor {SOFT}", lacking)]
    return [
        Problem(side.place(row), f"{_name(record)}{key}{where}: {reason}", kind)
        for key, one in ((HARD, _hard), (SOFT, _soft))
        for where, reason, kind in _row(record.get(key), one, length)
    ]


def _row(spans: Any, one: Any, length: int | None) -> Iterator[tuple[str, str, str]]:
    if spans is None:
        return
    spans = plain_row(spans)
    if not isinstance(spans, (list, tuple)):
        yield "", f"expected a list of spans, got {_kind(spans)}", "error"
        return
    for j, span in enumerate(spans):
        fault = one(span, length)
        if fault:
            shown = span
            if isinstance(span, Mapping):
                shown = [span.get("start"), span.get("end")]
            yield f", span {j} {_shorten(shown)}", *fault


def plain_row(spans: Any) -> Any:
    """Return the spans of a row as a list where they are an array or, as in `datasets`, a dict of lists."""
    if isinstance(spans, np.ndarray):
        return spans.tolist()
    if isinstance(spans, Mapping) and all(isinstance(v, (list, tuple, np.ndarray)) for v in spans.values()):
        columns = {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in spans.items()}
        if len({len(v) for v in columns.values()}) <= 1:
            return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return spans


Fault = tuple[str, str]


def _hard(span: Any, length: int | None) -> Fault | None:
    if not isinstance(span, (list, tuple)) or len(span) != 2:
        return "expected [start, end]", "error"
    return _bounds(span[0], span[1], length)


def _soft(span: Any, length: int | None) -> Fault | None:
    if not isinstance(span, Mapping) or "start" not in span or "end" not in span:
        return "expected an object with start, end and prob", "error"
    fault = _bounds(span["start"], span["end"], length)
    prob = span.get("prob")
    if fault and (fault[1] == "error" or prob is None):
        return fault
    if prob is None:
        return "has no prob", "invalid"
    if isinstance(prob, (bool, np.bool_)) or not isinstance(prob, Real):
        return f"prob is {prob!r} ({_kind(prob)}), expected a number", "error"
    if not np.isfinite(float(prob)):
        return f"prob is {prob!r}, expected a finite number", "error"
    if not 0 <= float(prob) <= 1:
        return f"prob is {prob!r}, expected a number from 0 to 1", "invalid"
    return fault


def _bounds(start: Any, end: Any, length: int | None) -> Fault | None:
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
            return f"{name} is {value!r} ({_kind(value)}), expected an integer", "error"
    if end < start:
        return "reversed", "error"
    if start < 0:
        return "negative", "invalid"
    if end == start:
        return "empty", "invalid"
    if length is not None and end > length:
        return f"past the end of the text ({length} characters)", "invalid"
    return None


def _notes(record: Mapping[str, Any], text: str, sound: bool) -> Iterator[str]:
    own = record.get(TEXT)
    if isinstance(own, str) and own != text:
        yield f"its {TEXT} is not the text of the benchmark's row"
    if not sound:
        return
    hard, soft = plain_row(record.get(HARD)), plain_row(record.get(SOFT))
    if hard is not None:
        ordered = sorted((int(start), int(end)) for start, end in hard)
        # With starts in order, a span overlaps an earlier one where it starts before the largest end so far.
        reach, overlaps = 0, 0
        for start, end in ordered:
            overlaps += start < reach
            reach = max(reach, end)
        if overlaps:
            yield f"{HARD} overlap ({overlaps} span{'s' * (overlaps != 1)}); their characters count once"
    if soft is not None:
        moved = [s for s in soft if isinstance(s.get("text"), str) and s["text"] != text[s["start"] : s["end"]]]
        if moved:
            first = moved[0]
            yield (
                f"{SOFT}: {len(moved)} of {len(soft)} spans carry a text that does not stand at their place, the first "
                f"[{first['start']}, {first['end']}] says {_shorten(first['text'])} and the text there is "
                f"{_shorten(text[first['start'] : first['end']])} (offsets count characters, not bytes or UTF-16 units)"
            )
    if hard is not None and soft is not None:
        marked = {i for start, end in hard for i in range(start, end)}
        implied = {i for s in soft if s["prob"] > 0.5 for i in range(s["start"], s["end"])}
        if marked != implied:
            yield (
                f"{HARD} mark {len(marked)} characters and {SOFT} with prob > 0.5 mark {len(implied)}, "
                f"{len(marked ^ implied)} of them on one side only; both are scored as given"
            )


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _shorten(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
