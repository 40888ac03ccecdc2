"""EvaluationReport: the artifact from which an evaluation can be understood, checked and drawn again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mycelium.detector.structure import blank, faults, pointer
from mycelium.detector.suite import MinimumSuite, minimum_suite
from mycelium.formats.strict_json import DECODER, reason

__all__ = ["EvaluationReport"]

_NAMED = 5


class EvaluationReport(dict[str, Any]):
    """The report of a detector: a dict of plain values with every field always present.

    Four states are kept apart: a number; null, which was *not measured*; null with an entry in ``undefined``, which was
    measured and *has no value*, and why; and ``feasible: false`` of an operating point whose budget no threshold keeps.
    There is never a NaN. :func:`~mycelium.detector.evaluate_detector` makes reports.

    Parameters
    ----------
    content : mapping
        A whole report, as :meth:`to_json` writes it.

    Raises
    ------
    ValueError
        When a field is absent, unknown, or of the wrong kind; the message names its JSON pointer.

    Examples
    --------
    >>> report = EvaluationReport.blank()
    >>> report["ranking"]["roc_auc"] is None, report.minimum_suite()["B"].state
    (True, 'missing')
    >>> EvaluationReport(json.loads(report.to_json())) == report
    True
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        if not isinstance(content, Mapping):
            raise TypeError(f"content must be a report as a mapping, got {type(content).__name__}")
        wrong = faults(content)
        if wrong:
            more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
            raise ValueError(f"this is no report: {'; '.join(wrong[:_NAMED])}{more}")
        super().__init__(content)

    def __reduce__(self) -> tuple[Any, ...]:
        return EvaluationReport, (dict(self),)

    @classmethod
    def blank(cls) -> EvaluationReport:
        """Return a report in which nothing was measured."""
        return cls(blank())

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> EvaluationReport:
        """Read a report from a file.

        Raises
        ------
        ValueError
            When the file is not JSON or holds no report; the message begins with the path.
        """
        try:
            return cls(DECODER.decode(Path(path).read_text(encoding="utf-8")))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)}: {reason(error)}") from None

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as JSON, and write it if a path is given. Reading it back gives an equal report.

        Raises
        ------
        ValueError
            When a number is not finite.
        """
        text = json.dumps(self, indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")
        return text

    def missing(self) -> list[str]:
        """Return the JSON pointers of everything that was not measured or not told.

        Not among them are values that were measured and are undefined, thresholds that are no number (none keeps the
        budget, or all answers are accepted), and the contract's fields: see ``unanswered`` for those.
        """
        known = set(self["undefined"])
        for i, point in enumerate(self["operating_points"]):
            if point["feasible"] is False or point["accept_all"]:
                known.update(pointer("operating_points", i, name) for name in ("threshold", "next_score"))
        told = {name: section for name, section in self.items() if name != "contract"}
        lacking = [path for path in _nulls(told, "") if path not in known]
        return lacking if self["contract"] is not None else ["/contract", *lacking]

    def minimum_suite(self) -> MinimumSuite:
        """Return which parts of the minimum suite, A to K, are measured, partial or missing, and what is missing."""
        return minimum_suite(self)

    def operating_point(self, target_far: float, rule: str | None = None) -> dict[str, Any]:
        """Return the operating point of a budget.

        Parameters
        ----------
        target_far : float
            The budget of false acceptance.
        rule : str, optional
            How its threshold was chosen; needed where several rules were used.

        Raises
        ------
        ValueError
            When there is none, or more than one.
        """
        points: list[dict[str, Any]] = self["operating_points"]
        found = [p for p in points if p["target_far"] == target_far and rule in (None, p["rule"])]
        there = ", ".join(f"{p['target_far']} ({p['rule']})" for p in points) or "none"
        if not found:
            by = "" if rule is None else f" by the rule {rule!r}"
            raise ValueError(f"the report has no operating point for max_far {target_far}{by}; it has {there}")
        if len(found) > 1:
            raise ValueError(
                f"the report has several operating points for max_far {target_far}: name a rule of {there}"
            )
        return found[0]

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, pictures: bool = True) -> str:
        """Return the report as a page of Markdown for people, and write it if a path is given.

        Parameters
        ----------
        path : path, optional
            Where to write the page. Pictures are saved beside it, under its name.
        pictures : bool
            Draw pictures, where there is a path and matplotlib is installed.
        """
        from mycelium.detector.card import markdown

        drawn: dict[str, Path] = {}
        if path is not None and pictures and find_spec("matplotlib") is not None:
            from mycelium.plot import save_detector_displays

            drawn = save_detector_displays(self, Path(path))
        text = markdown(self, drawn)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8", newline="\n")
        return text

    def __repr__(self) -> str:
        name = self["detector"]["name"] or "detector"
        suite = self.minimum_suite()
        states = " ".join(f"{letter}:{part.state}" for letter, part in suite.items())
        return f"EvaluationReport({name!r}, n={self['dataset']['n']}, {states})"

    def _repr_html_(self) -> str:
        from mycelium.detector.card import html

        return html(self)


def _nulls(value: Any, place: str) -> Iterator[str]:
    if value is None:
        yield place
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _nulls(item, place + pointer(name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _nulls(item, place + pointer(i))
