"""What an evaluation declares before a number is computed, and which questions it leaves open."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from mycelium.formats.strict_json import DECODER, reason

__all__ = ["DIRECTIONS", "QUESTIONS", "EvaluationContract", "OpenQuestion", "plain"]

#: Which scores mean more risk.
DIRECTIONS = ("higher_is_riskier", "lower_is_riskier")
_OTHER_NAMES = {"higher_means_more_risky": "higher_is_riskier", "lower_means_more_risky": "lower_is_riskier"}

#: The questions that a contract answers, in order: what is asked, and the fields (or keys of fields) that answer it.
QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Which property does the detector claim to measure?", ("target_property",)),
    ("What is one evaluated unit?", ("unit",)),
    ("Which two classes does the benchmark have?", ("reference_classes.positive", "reference_classes.negative")),
    ("Does a higher or a lower score mean more risk?", ("score_direction",)),
    ("Where do the labels come from, and what do they mean?", ("label_definition", "reference_regime")),
    ("How are development, calibration and test rows kept apart?", ("data_separation",)),
    ("Which dependence must not leak from one part into another?", ("split_strategy.primary",)),
    ("How hard are the unsupported answers to tell from supported ones?", ("negative_difficulty",)),
    ("At which operating points will a policy decide?", ("operating_points",)),
    ("How is the uncertainty of those points computed?", ("uncertainty",)),
    ("Which changes must the detector survive?", ("transfer_tests",)),
    ("Which action follows from a score?", ("policy_mapping",)),
)


class OpenQuestion(NamedTuple):
    """A question that a contract leaves open: its number (from 1), what is asked, and the fields that answer it."""

    number: int
    question: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number}. {self.question} ({', '.join(self.fields)})"


@dataclass(frozen=True, kw_only=True)
class EvaluationContract:
    """What is evaluated, on what, and for which decision. None means: not declared. Nothing is ever filled in.

    An empty list says that there are none, and is an answer; an empty string is none and is refused.

    Parameters
    ----------
    target_property : str, optional
        What the detector claims to measure, e.g. "answer holds a span that the source does not support".
    unit : str, optional
        What one row is: "response", "claim_evidence_pair", ...
    reference_classes : mapping, optional
        ``{"positive": ..., "negative": ...}``; the positive class is the unsupported one.
    score_direction : {"higher_is_riskier", "lower_is_riskier"}, optional
        Scores for which lower is riskier are negated inside, and thresholds given back in their own scale.
    score_is_probability : bool, optional
        Whether the score claims to be the probability that the answer is unsupported. Only then is its calibration as
        a probability measured.
    reference_regime : str, optional
        What the labels compare with, e.g. "gold_evidence" or "world_knowledge".
    label_definition : str, optional
        When a row is called unsupported.
    data_separation : str, optional
        How rows for development, calibration and test are kept apart.
    split_strategy : mapping, optional
        ``{"primary": ..., "entity_overlap_max": ..., "semantic_cluster_holdout": ...}``: what must not leak.
    negative_difficulty : str or list of str, optional
        How the unsupported rows were made: natural answers, random mismatches, mined ones, ...
    prevalence_regimes : list of float, optional
        Shares of unsupported answers under which precision and risk are wanted.
    generator : mapping, optional
        Whose answers these are: model, model_version, temperature, top_p, seed.
    primary_metrics : list of str, optional
        E.g. ``["roc_auc", "average_precision"]``.
    operating_points : list of mapping, optional
        E.g. ``[{"max_false_accept_rate": 0.01}]``.
    risk_control : mapping, optional
        ``{"method": ..., "alpha": ..., "assumptions": ...}``.
    uncertainty : str, optional
        E.g. "clustered_95_ci" or "group_bootstrap_95_ci".
    adversarial_budget_sweep : list of int, optional
        Search budgets of an adversary.
    parametric_leakage_probe : str, optional
        E.g. "counterfactual_entity_swap".
    transfer_tests : list of str, optional
        What is changed between choosing a threshold and using it.
    policy_mapping : str or mapping, optional
        What is done with an answer, given its score.

    Raises
    ------
    TypeError, ValueError
        When a field cannot be what it should, or cannot be written as JSON.

    Examples
    --------
    >>> contract = EvaluationContract(target_property="unsupported span in the answer", unit="response",
    ...                               score_direction="higher_is_riskier")
    >>> [question.number for question in contract.unanswered()]
    [3, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> print(contract.unanswered()[-1])
    12. Which action follows from a score? (policy_mapping)
    """

    target_property: str | None = None
    unit: str | None = None
    reference_classes: Mapping[str, Any] | None = None
    score_direction: str | None = None
    score_is_probability: bool | None = None
    reference_regime: str | None = None
    label_definition: str | None = None
    data_separation: str | None = None
    split_strategy: Mapping[str, Any] | None = None
    negative_difficulty: str | Sequence[str] | None = None
    prevalence_regimes: Sequence[float] | None = None
    generator: Mapping[str, Any] | None = None
    primary_metrics: Sequence[str] | None = None
    operating_points: Sequence[Mapping[str, Any]] | None = None
    risk_control: Mapping[str, Any] | None = None
    uncertainty: str | None = None
    adversarial_budget_sweep: Sequence[int] | None = None
    parametric_leakage_probe: str | None = None
    transfer_tests: Sequence[str] | None = None
    policy_mapping: str | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = plain(getattr(self, field.name), field.name)
            if field.name == "score_direction":
                value = _direction(value)
            _check(field.name, value)
            object.__setattr__(self, field.name, value)

    def unanswered(self) -> list[OpenQuestion]:
        """Return the questions of :data:`QUESTIONS` that the contract leaves open, with the fields that are None."""
        found = []
        for number, (question, names) in enumerate(QUESTIONS, start=1):
            lacking = tuple(name for name in names if self._value(name) is None)
            if lacking:
                found.append(OpenQuestion(number, question, lacking))
        return found

    def _value(self, path: str) -> Any:
        name, _, key = path.partition(".")
        value = getattr(self, name)
        return value.get(key) if key and value is not None else value

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, those that are None too."""
        return {field.name: plain(getattr(self, field.name), field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EvaluationContract:
        """Read a contract from a mapping; fields that are not there are None.

        Raises
        ------
        ValueError
            When there is a field that no contract has.
        """
        names = [field.name for field in fields(cls)]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise ValueError(f"contract has no field {unknown[0]!r}; it has {', '.join(names)}")
        return cls(**values)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the contract as JSON, and write it if a path is given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8", newline="\n")
        return text

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> EvaluationContract:
        """Read a file that holds a contract as a JSON object."""
        try:
            values = DECODER.decode(Path(path).read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise ValueError("expected a JSON object")
            return cls.from_dict(values)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)}: {reason(error)}") from None


def plain(value: Any, name: str) -> Any:
    """Return a copy made of what JSON knows: dict with str keys, list, str, int, float, bool, None.

    Raises
    ------
    TypeError, ValueError
        When the value cannot be written as JSON; the message names the place.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        value = value.tolist()
        if value is None or isinstance(value, (str, bool)):
            return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}, which JSON cannot hold: leave it None")
        return float(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{name} has the key {key!r}, expected a string")
        return {key: plain(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{name} holds {value!r} ({type(value).__name__}), which JSON cannot hold")


#: What each field may be, where it is not None.
_TEXT: dict[type | tuple[type, ...], tuple[str, tuple[str, ...]]] = {
    str: (
        "a string",
        (
            "target_property",
            "unit",
            "reference_regime",
            "label_definition",
            "data_separation",
            "uncertainty",
            "parametric_leakage_probe",
        ),
    ),
    bool: ("True or False", ("score_is_probability",)),
    dict: ("a mapping", ("reference_classes", "split_strategy", "generator", "risk_control")),
    list: (
        "a list",
        (
            "prevalence_regimes",
            "primary_metrics",
            "operating_points",
            "adversarial_budget_sweep",
            "transfer_tests",
        ),
    ),
    (str, list): ("a string or a list", ("negative_difficulty",)),
    (str, dict): ("a string or a mapping", ("policy_mapping",)),
}
_KINDS = {name: (kind, said) for kind, (said, names) in _TEXT.items() for name in names}


def _check(name: str, value: Any) -> None:
    if value is None or name not in _KINDS:
        return
    kind, said = _KINDS[name]
    right = isinstance(value, kind)
    if not right:
        raise TypeError(f"{name} must be {said} or None, got {value!r}")
    if isinstance(value, str) and not value.strip():
        raise ValueError(f"{name} is an empty string: leave it None where it is not declared")
    if name == "prevalence_regimes":
        shares: list[Any] = value
        for i, share in enumerate(shares):
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
                raise ValueError(f"prevalence_regimes[{i}] is {share!r}, expected a number between 0 and 1")


def _direction(value: Any) -> str | None:
    if value is None:
        return None
    found = _OTHER_NAMES.get(value, value) if isinstance(value, str) else value
    if found not in DIRECTIONS:
        raise ValueError(f"score_direction must be {' or '.join(map(repr, DIRECTIONS))} or None, got {value!r}")
    return str(found)
