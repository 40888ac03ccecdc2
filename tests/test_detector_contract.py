"""EvaluationContract: what is declared, what is open, and that nothing is filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium.detector.contract import QUESTIONS, EvaluationContract

#: A contract as a paper prints it: some fields None, and no word on three of the questions.
PRINTED: dict[str, Any] = {
    "target_property": "embedding_subspace_containment",
    "unit": "claim_evidence_pair",
    "reference_classes": {"positive": "unsupported", "negative": "supported"},
    "score_direction": "higher_means_more_risky",
    "reference_regime": "gold_or_resolved_evidence",
    "label_definition": None,
    "split_strategy": {
        "primary": "source_document_grouped",
        "entity_overlap_max": None,
        "semantic_cluster_holdout": False,
    },
    "prevalence_regimes": [0.50, 0.05, 0.01],
    "generator": {"model": None, "model_version": None, "temperature": None, "top_p": None},
    "primary_metrics": ["roc_auc", "average_precision"],
    "operating_points": [{"max_false_accept_rate": 0.01}, {"max_false_accept_rate": 0.05}],
    "risk_control": {"method": None, "alpha": None, "assumptions": None},
    "uncertainty": "group_bootstrap_95_ci",
    "adversarial_budget_sweep": [1, 4, 16, 64, 256],
    "parametric_leakage_probe": "counterfactual_entity_swap",
    "transfer_tests": ["source", "domain"],
    "policy_mapping": None,
}


def numbers(contract: EvaluationContract) -> list[int]:
    return [question.number for question in contract.unanswered()]


def test_a_printed_contract_leaves_four_questions_open() -> None:
    contract = EvaluationContract.from_dict(PRINTED)
    assert numbers(contract) == [5, 6, 8, 12]
    assert contract.unanswered()[0].fields == ("label_definition",)
    assert str(contract.unanswered()[-1]) == "12. Which action follows from a score? (policy_mapping)"
    assert contract.score_direction == "higher_is_riskier"


def test_nothing_is_declared_by_default() -> None:
    contract = EvaluationContract()
    assert set(contract.to_dict().values()) == {None}
    assert numbers(contract) == list(range(1, 13))
    assert len(QUESTIONS) == 12


@pytest.mark.parametrize(
    ("field", "value", "answers"),
    [
        ("transfer_tests", [], 11),
        ("operating_points", [], 9),
        ("policy_mapping", {"accept": "publish"}, 12),
        ("negative_difficulty", ["mined", "random"], 8),
        ("score_direction", "lower_is_riskier", 4),
    ],
)
def test_one_declaration_answers_one_question(field: str, value: Any, answers: int) -> None:
    contract = EvaluationContract(**{field: value})
    assert numbers(contract) == [n for n in range(1, 13) if n != answers]


def test_half_an_answer_is_none() -> None:
    contract = EvaluationContract(reference_classes={"positive": "unsupported"}, split_strategy={"primary": None})
    found = {question.number: question.fields for question in contract.unanswered()}
    assert found[3] == ("reference_classes.negative",)
    assert found[7] == ("split_strategy.primary",)


def test_round_trips(tmp_path: Path) -> None:
    contract = EvaluationContract.from_dict(PRINTED)
    text = contract.to_json(tmp_path / "contract.json")
    again = EvaluationContract.from_json(tmp_path / "contract.json")
    assert again == contract
    assert again.to_json() == text
    assert json.loads(text)["policy_mapping"] is None
    assert contract.to_dict() == {**EvaluationContract().to_dict(), **PRINTED, "score_direction": "higher_is_riskier"}


def test_values_become_plain_and_are_copied() -> None:
    given = [np.float64(0.5), np.float32(0.25)]
    contract = EvaluationContract(prevalence_regimes=given, adversarial_budget_sweep=np.array([1, 4]))
    given.append(np.float64(0.1))
    assert contract.prevalence_regimes == [0.5, 0.25]
    assert contract.adversarial_budget_sweep == [1, 4]
    assert type(contract.adversarial_budget_sweep[0]) is int


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"score_direction": "higher"}, "score_direction must be 'higher_is_riskier' or 'lower_is_riskier' or None"),
        ({"unit": " "}, "unit is an empty string: leave it None"),
        ({"prevalence_regimes": [0.5, 1.0]}, r"prevalence_regimes\[1\] is 1.0, expected a number between 0 and 1"),
        ({"generator": {"temperature": float("nan")}}, "generator.temperature is nan, which JSON cannot hold"),
    ],
)
def test_values_that_cannot_be(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EvaluationContract(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unit": 3}, "unit must be a string or None, got 3"),
        ({"transfer_tests": "domain"}, "transfer_tests must be a list or None"),
        ({"score_is_probability": 1}, "score_is_probability must be True or False or None"),
        ({"generator": {1: "a"}}, "generator has the key 1, expected a string"),
        ({"policy_mapping": {"a": {1, 2}}}, "policy_mapping.a holds {1, 2}"),
    ],
)
def test_values_of_the_wrong_kind(values: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        EvaluationContract(**values)


def test_files_that_are_no_contract(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    for text, message in (
        ('{"unit": "a", "unit": "b"}', "stands twice"),
        ("[]", "expected a JSON object"),
        ('{"target": "a"}', "contract has no field 'target'; it has target_property, unit"),
        ('{"unit": 1}', "unit must be a string"),
        ("{", "not JSON"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{path}: .*{message}"):
            EvaluationContract.from_json(path)
