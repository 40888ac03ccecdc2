"""EvaluationReport and evaluate_detector: the structure, the published values, the discipline, the gate."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from detector_cases import column, digits, value
from scipy import stats

from mycelium.detector.contract import EvaluationContract
from mycelium.detector.costs import CostVector
from mycelium.detector.distributions import score_distributions
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.gates import gate
from mycelium.detector.parts import rows_digest
from mycelium.detector.report import EvaluationReport
from mycelium.detector.structure import blank, faults, report_schema, resolve

#: The fields of a defensible artifact, as the chapter prints them.
FIELDS = {
    "detector": "name version score_direction",
    "measurement": "embedder embedder_version segmentation rank",
    "generator": "model model_version temperature top_p seed",
    "dataset": "name version label_definition n unsupported_prevalence",
    "labeling": "reference_definition annotation_procedure label_version estimated_label_noise",
    "selection": "development_split calibration_split final_test_locked hyperparameter_selection_data",
    "split": "strategy group_key entity_overlap seed",
    "ranking": "roc_auc roc_auc_ci95 average_precision ap_baseline_prevalence",
    "risk_control": "method alpha calibration_n_unsupported exchangeability_assumption",
    "prevalence_stress": "p_50 p_05 p_01",
    "stress_tests": "adversarial_budgets adversarial_decay structural_adversaries counterfactual_entity_swap"
    " held_out_domain",
    "slices": "relation_inversion negation quantity temporal recombination",
    "pipeline": "extraction_recall retrieval_recall_at_k attribution_accuracy support_accuracy failure_stage_counts",
    "uncertainty": "resampling_unit n_resamples training_seed_sweep",
    "operations": "latency_p95_ms cost_per_1000_claims review_rate review_capacity",
}
POINT = [
    *("target_far", "threshold", "eval_far", "far_ci95", "far_upper95", "n_unsupported"),
    *("supported_acceptance", "false_rejection"),
]


def quiet(*arguments: Any, **options: Any) -> EvaluationReport:
    """Evaluate without a word; what is warned of is in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return evaluate_detector(*arguments, **options)


def fixture(**options: Any) -> EvaluationReport:
    given: dict[str, Any] = {
        "split": column("split"),
        "groups": column("source_id"),
        "ids": column("row_id"),
        "max_far": (0.05, 0.1),
        "n_resamples": 100,
        **options,
    }
    return quiet(column("unsupported"), given.pop("score", column("score_a")), **given)


@pytest.fixture(scope="module")
def full() -> EvaluationReport:
    """As much as one call can fill in."""
    contract = EvaluationContract(
        target_property="support", score_direction="higher_is_riskier", score_is_probability=True
    )
    return fixture(
        score=column("prob"),
        contract=contract,
        rules=("empirical", "upper_bound", "crc"),
        baselines={"b": column("score_b")},
        slices={"mechanism": column("mechanism")},
        routing=(0.36, 0.54),
        costs=CostVector(10, 1, 0.5, 0.01),
        review_capacity=100,
        volume=1000,
        latency_ms=column("latency_ms"),
        about={"detector": {"name": "a", "version": "1", "owner": "lab"}, "selection": {"n_selection_decisions": 3}},
    )


def paths(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*place, key)
        yield from paths(child, (*place, key))


# -- structure


def test_every_field_is_there_from_the_start(full: EvaluationReport) -> None:
    for report in (EvaluationReport.blank(), full):
        for section, names in FIELDS.items():
            assert set(names.split()) <= set(report[section]), section
    empty = EvaluationReport.blank()
    for section, names in FIELDS.items():
        assert all(empty[section][name] is None for name in names.split()), section
    assert set(POINT) <= set(blank("operating_points"))
    assert empty["operating_points"] == []
    for point in full["operating_points"]:
        assert set(POINT) <= set(point)
    # Tests that are no part of one evaluation are null, and not absent.
    assert set(full["slices"].values()) == set(full["pipeline"].values()) == {None}
    assert set(full["stress_tests"].values()) == {None}


def test_round_trips(full: EvaluationReport, tmp_path: Path) -> None:
    text = full.to_json(tmp_path / "report.json")
    again = EvaluationReport.from_json(tmp_path / "report.json")
    assert again == full
    assert type(again) is EvaluationReport
    assert again.to_json() == text
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == text + "\n"
    assert pickle.loads(pickle.dumps(full)) == copy.deepcopy(full) == full


def test_the_schema_is_a_schema_that_both_checks_agree_on(full: EvaluationReport) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(full.to_json())
    for curve in document["curves"].values():
        curve.update({name: values[:2] for name, values in curve.items() if isinstance(values, list)})
    for good in (document, blank()):
        assert validator.is_valid(good)
        assert faults(good) == []
    rng = np.random.default_rng(0)
    everything = list(paths(document))
    verdicts = set()
    for _ in range(250):
        broken = copy.deepcopy(document)
        # Contradictions with "undefined" are beyond the schema.
        broken["undefined"] = {}
        *place, last = everything[int(rng.integers(len(everything)))]
        node = broken
        for key in place:
            if not isinstance(node, (dict, list)) or (isinstance(node, dict) and key not in node):
                break
            node = node[key]
        else:
            if isinstance(node, dict) and last not in node:
                continue
            replacement = ([], {}, "x", 3, -1, 1.5, True, None, "delete", "add")[int(rng.integers(10))]
            if replacement == "delete":
                del node[last]
            elif replacement == "add" and isinstance(node, dict):
                node["another"] = 1
            else:
                node[last] = replacement
            verdict = validator.is_valid(broken)
            assert (faults(broken) == []) == verdict, (place, last, replacement, faults(broken))
            verdicts.add(verdict)
    assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        ("/ranking/roc_auc", float("nan"), "/ranking/roc_auc is nan, expected a finite number or null"),
        ("/ranking/roc_auc", float("-inf"), "is -inf"),
        ("/ranking/roc_auc", 1.5, "is 1.5, expected at least 0 and at most 1"),
        ("/ranking/roc_auc", "0.8", "is '0.8', expected number or null"),
        ("/ranking/roc_auc_ci95", [0.1], "/ranking/roc_auc_ci95 has 1 items, expected 2"),
        ("/dataset/n", True, "/dataset/n is True, expected integer or null"),
        ("/dataset/n", -1, "at least 0"),
        ("/detector/score_direction", "up", "expected one of"),
        ("/schema_version", "2", "/schema_version is '2', expected '1'"),
        ("/undefined", {"/ranking/auc": "no"}, "'/ranking/auc' names no place of the report"),
        ("/undefined", {"/dataset/n_unscored": "no"}, "/dataset/n_unscored holds 0, and 'undefined' says"),
    ],
)
def test_what_breaks_a_report(place: str, wrong: Any, message: str, full: EvaluationReport) -> None:
    content = copy.deepcopy(dict(full))
    *parents, last = place.split("/")[1:]
    node = content
    for key in parents:
        node = node[key]
    node[last] = wrong
    with pytest.raises(ValueError, match="this is no report") as caught:
        EvaluationReport(content)
    assert message in str(caught.value)


def test_absent_and_unknown_fields(full: EvaluationReport, tmp_path: Path) -> None:
    content = copy.deepcopy(dict(full))
    del content["pipeline"]["ceiling"]
    content["extra"] = 1
    with pytest.raises(ValueError, match=r"/pipeline/ceiling is absent: what was not measured stands there as null"):
        EvaluationReport(content)
    with pytest.raises(ValueError, match="/extra is no field of a report"):
        EvaluationReport(content)
    path = tmp_path / "r.json"
    path.write_text('{"detector": NaN}')
    with pytest.raises(ValueError, match=f"{path}: "):
        EvaluationReport.from_json(path)
    report = EvaluationReport.blank()
    report["ranking"]["roc_auc"] = float("nan")
    with pytest.raises(ValueError, match="JSON"):
        report.to_json()


# -- published values


def test_ranking_of_all_rows() -> None:
    report = quiet(
        column("unsupported"), column("score_a"), groups=column("source_id"), max_far=(), n_resamples=2000, seed=0
    )
    ranking = report["ranking"]
    assert ranking["roc_auc"] == digits(value("ranking", "roc_auc_a"))
    low, high = (value("ranking", f"obuchowski_logit_t_ci95_{end}_a") for end in ("low", "high"))
    assert ranking["roc_auc_ci95"] == [digits(low), digits(high)]
    assert ranking["ci_method"] == "obuchowski, logit, t with 19 df"
    assert ranking["roc_auc_bootstrap_ci95"] == [digits(0.675990166028), digits(0.972810821697)]
    assert ranking["average_precision"] == digits(value("ranking", "average_precision_a"))
    assert ranking["average_precision_ci95"] == digits(value("bootstrap_ap_a_group_seed0", "ci95"))
    assert ranking["ap_baseline_prevalence"] == 27 / 60
    for name in ("p_50", "p_05", "p_01"):
        found = report["prevalence_stress"][name]["average_precision"]
        assert found == digits(value("prevalence_stress", f"average_precision_a_{name}"))
    assert report["uncertainty"]["resampling_unit"] == "group"
    assert report["uncertainty"]["n_units"] == 20
    distributions = report["sanity"]["distributions"]
    assert distributions["mean_gap"] == digits(value("ranking", "mean_gap_a"))
    assert distributions["standardized_gap"] == digits(value("ranking", "cohens_d_a"))
    selective = report["selective"]
    assert selective["aurc"] == digits(0.193039574654)
    assert selective["excess_aurc"] == digits(0.0681292776208)
    assert selective["augrc"] == digits(0.143611111111)
    # Without calibration rows there is nothing to say of thresholds, and nothing is made up.
    assert report["operating_points"] == []
    assert report["sanity"]["direction"]["verdict"] is None
    rows = quiet(column("unsupported"), column("score_a"), max_far=(), n_resamples=10)["ranking"]
    ends = [value("ranking", f"delong_ci95_logit_{end}_a") for end in ("low", "high")]
    assert rows["roc_auc_ci95"] == [digits(end) for end in ends]


def test_operating_points_of_the_test_half() -> None:
    first, second = fixture()["operating_points"]
    assert (first["threshold"], first["cal_far"]) == (0.36, 0)
    assert (first["n_false_accepts"], first["n_unsupported"]) == (0, 12)
    assert (first["supported_acceptance"], first["false_rejection"]) == (5 / 18, 13 / 18)
    assert first["far_upper95_rows"] == digits(0.220922191946)
    assert (second["threshold"], second["cal_far"]) == (0.42, 1 / 15)
    assert (second["eval_far"], second["supported_acceptance"]) == (1 / 12, 8 / 18)
    assert second["far_upper95_rows"] == digits(0.338680668434)
    # Rows of one source are not independent: the bound is wider, never narrower.
    assert second["far_upper95"] > second["far_upper95_rows"]
    assert second["far_method"] == "korn-graubard"
    assert any("with 18 supported test answers it is open" in line for line in fixture()["where_not_to_trust"])
    alone = fixture(groups=None)["operating_points"]
    assert [point["far_upper95"] for point in alone] == [digits(0.220922191946), digits(0.338680668434)]
    assert alone[0]["far_ci95"] == [0, digits(value("clopper_pearson", "ci95_high_0_12"))]
    assert {point["review_rate"] for point in alone} == {0}
    assert [point["required_unsupported"] for point in alone] == [59, 29]
    assert {point["bound_within_target"] for point in alone} == {False}


def test_rules_with_a_guarantee() -> None:
    report = fixture(groups=None, rules=["upper_bound"], max_far=[0.1, 0.2, 0.3])
    points = report["operating_points"]
    assert [(point["feasible"], point["threshold"]) for point in points] == [(False, None), (True, 0.36), (True, 0.42)]
    nothing = points[0]
    assert (nothing["eval_far"], nothing["supported_acceptance"], nothing["acceptance_rate"]) == (0, 0, 0)
    assert nothing["reason"]
    assert report["risk_control"]["method"] == "upper_bound"
    assert report["risk_control"]["alpha"] == [0.1, 0.2, 0.3]
    assert report["risk_control"]["calibration_n_unsupported"] == 15
    assert report["risk_control"]["level"] == 0.95
    # An assumption is stated by people.
    assert report["risk_control"]["exchangeability_assumption"] is None
    crc = fixture(groups=None, rules=["crc"], max_far=[0.05, 0.1, 0.2])["operating_points"]
    assert [point["threshold"] for point in crc] == [None, 0.36, 0.45]
    assert [point["cutoff"] for point in crc] == [None, 0.42, 0.51]


def test_infeasible_is_neither_missing_nor_undefined() -> None:
    report = fixture(groups=None, rules=["upper_bound"], max_far=[0.1])
    assert "/operating_points/0/threshold" not in report.missing()
    assert "/operating_points/0/threshold" not in report["undefined"]
    assert report["undefined"]["/prevalence_stress/p_50/operating_points/0/accepted_risk"] == "nothing is accepted"
    assert report.minimum_suite()["C"].items["threshold"]


def test_prevalence_stress() -> None:
    report = fixture()
    wanted = {"p_50": 0.622641509434, "p_05": 0.0799031476998, "p_01": 0.016393442623}
    for name, precision in wanted.items():
        point = report["prevalence_stress"][name]["operating_points"][1]
        assert point["alert_precision"] == digits(precision)
        p = report["prevalence_stress"][name]["prevalence"]
        far, sar = 1 / 12, 8 / 18
        assert point["accepted_risk"] == digits(p * far / (p * far + (1 - p) * sar))
        assert point["accepted_risk_upper95"] > point["accepted_risk"]
    assert report["prevalence_stress"]["p_05"]["prevalence"] == 0.05
    assert set(fixture(prevalences=[0.2])["prevalence_stress"]) == {"p_50", "p_05", "p_01", "p_20"}


def test_probability_only_where_it_is_declared() -> None:
    options: dict[str, Any] = {"max_far": (), "n_resamples": 10}
    labels, prob = column("unsupported"), column("prob")
    declared = EvaluationContract(score_is_probability=True)
    found = quiet(labels, prob, contract=declared, **options)["probability"]
    assert found["brier_score"] == digits(0.165728333333)
    assert found["log_loss"] == digits(0.502850010487)
    assert found["brier_skill"] == digits(0.330390572391)
    assert found["ece"] == digits(0.0861666666667)
    assert (found["ece_scheme"], found["ece_n_bins"], found["ece_closed"]) == ("uniform", 10, "right")
    assert found["ece"] < found["ece_null_p95"]
    assert sum(each["n"] for each in found["reliability"]) == 60
    for contract in (None, EvaluationContract(), EvaluationContract(score_is_probability=False)):
        report = quiet(labels, prob, contract=contract, **options)
        assert set(report["probability"].values()) == {None}
        assert report["undefined"]["/probability/brier_score"] == "the score is not declared to be a probability"
        assert "/probability/brier_score" not in report.missing()
    wrong = EvaluationContract(score_is_probability=True, score_direction="lower_is_riskier")
    with pytest.raises(ValueError, match="higher for riskier"):
        quiet(labels, prob, contract=wrong, **options)


def test_routing_cost_and_latency() -> None:
    report = fixture(
        groups=None,
        max_far=(),
        routing=(0.36, 0.54),
        costs=CostVector(10, 1, 0.5, 0.01),
        review_capacity=50,
        volume=300,
        n_resamples=10,
    )
    operations = report["operations"]
    assert operations["auto_accept_coverage"] == digits(1 / 6)
    assert operations["review_rate"] == digits(1 / 3)
    assert operations["auto_decision_coverage"] == digits(2 / 3)
    assert operations["expected_cost"] == digits(0.376666666667)
    assert operations["capacity_utilisation"] == digits(2)
    assert report["routing"]["over_capacity"] is True
    assert operations["latency_p95_ms"] is None
    timed = quiet(column("unsupported"), column("score_a"), max_far=(), latency_ms=column("latency_ms"), n_resamples=10)
    operations = timed["operations"]
    took = sorted(column("latency_ms"))
    # The smallest latency that so many of the 60 do not exceed.
    assert operations["latency_p50_ms"] == took[29]
    assert operations["latency_p95_ms"] == took[56] == 49.7
    assert operations["latency_p99_ms"] == took[59]
    with pytest.raises(ValueError, match="costs speaks of answers that go three ways"):
        quiet([0, 1], [0.1, 0.9], max_far=(), costs=CostVector(1, 1))
    with pytest.raises(ValueError, match=r"latency_ms: row 1 is -1.0"):
        quiet([0, 1], [0.1, 0.9], max_far=(), latency_ms=[1, -1])


# -- direction


def test_a_score_that_runs_the_wrong_way_is_reported_and_never_turned_round() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    score = -labels + rng.normal(0, 0.5, 400)
    split = ["development"] * 100 + ["calibration"] * 100 + ["test"] * 200
    domain = ["x" if i % 4 < 2 else "y" for i in range(400)]
    score[[i for i, d in enumerate(domain) if d == "y"]] *= -1
    one = np.array(domain) == "x"
    with pytest.warns(UserWarning, match="a higher risk means fewer unsupported answers"):
        report = evaluate_detector(labels[one], score[one], split=np.array(split)[one], max_far=(), n_resamples=10)
    assert report["sanity"]["direction"]["verdict"] == "reversed"
    assert report["sanity"]["direction"]["rows"] == "development"
    assert report["ranking"]["roc_auc"] < 0.1
    mixed = quiet(labels, score, split=split, slices={"domain": domain}, max_far=(), n_resamples=10)
    direction = mixed["sanity"]["direction"]
    assert direction["verdict"] == "inconclusive"
    assert direction["slices"] == {"domain": {"x": "reversed", "y": "consistent"}}
    assert any(
        "domain x: the score runs the wrong way there on development rows" in line
        for line in mixed["where_not_to_trust"]
    )


def test_the_direction_is_looked_at_before_the_test() -> None:
    labels = np.arange(120) % 2
    score = np.where(np.arange(120) < 40, -labels, labels) + (np.arange(120) % 7) / 100
    part = np.repeat(["development", "calibration", "test"], 40)
    direction = quiet(labels, score, split=part, n_resamples=5)["sanity"]["direction"]
    assert (direction["rows"], direction["verdict"], direction["n"]) == ("development", "reversed", 40)
    later = np.where(part == "development", "calibration", part)
    flipped = quiet(labels[40:], score[40:], split=later[40:], n_resamples=5)["sanity"]["direction"]
    assert (flipped["rows"], flipped["verdict"]) == ("calibration", "consistent")


def test_labels_of_flagged_answers_only() -> None:
    report = fixture(labelled="flagged")
    assert {point["labelled"] for point in report["operating_points"]} == {"flagged"}
    assert "only flagged answers were labelled" in report["where_not_to_trust"][0]
    assert any("only flagged answers have labels" in line for line in report["warnings"])


def test_lower_is_riskier_decides_alike_in_its_own_scale() -> None:
    higher = fixture(contract=EvaluationContract(score_direction="higher_is_riskier"), rules=("empirical", "crc"))
    lower = fixture(
        score=[-s for s in column("score_a")],
        contract=EvaluationContract(score_direction="lower_is_riskier"),
        rules=("empirical", "crc"),
    )
    assert lower["detector"]["accept_rule"] == "score >= threshold"
    assert lower["ranking"] == higher["ranking"]
    assert lower["selective"] == higher["selective"]
    assert lower["prevalence_stress"] == higher["prevalence_stress"]
    own = ("threshold", "cutoff", "next_score")
    for one, other in zip(higher["operating_points"], lower["operating_points"], strict=True):
        assert {k: v for k, v in one.items() if k not in own} == {k: v for k, v in other.items() if k not in own}
        for name in own:
            assert other[name] == (None if one[name] is None else -one[name])
    assert lower["curves"]["operating"]["far"] == higher["curves"]["operating"]["far"]
    assert lower["sanity"]["distributions"]["mean_gap"] == -higher["sanity"]["distributions"]["mean_gap"]


def test_assumptions_are_those_that_people_state() -> None:
    said = {"assumptions": ["same documents", "same model"]}
    for contract, wanted in (
        (EvaluationContract(risk_control=said), "same documents; same model"),
        (EvaluationContract(risk_control={"assumptions": "exchangeable"}), "exchangeable"),
    ):
        found = fixture(contract=contract, rules=["crc"], n_resamples=5)["risk_control"]
        assert found["exchangeability_assumption"] == wanted


def test_what_was_declared_and_not_measured() -> None:
    budgets = [{"max_false_accept_rate": budget} for budget in (0.05, 0.02, 0.001)]
    contract = EvaluationContract(operating_points=budgets, prevalence_regimes=[0.5, 0.2])
    said = fixture(contract=contract)["where_not_to_trust"]
    assert "Declared and not measured: a FAR budget of 2%, 0.1%." in said
    assert "Declared and not measured: a share of unsupported answers of 20%." in said
    kept = fixture(contract=contract, max_far=(0.05, 0.02, 0.001), prevalences=(0.5, 0.2))["where_not_to_trust"]
    assert not any(line.startswith("Declared and not") for line in kept)


def test_an_undeclared_direction_stays_undeclared() -> None:
    report = fixture()
    assert report["detector"]["score_direction"] is None
    assert report["contract"] is None
    assert not report.minimum_suite()["A"].items["score direction declared"]
    assert report["detector"]["accept_rule"] == "score <= threshold"
    assert fixture(contract=EvaluationContract())["unanswered"] == list(range(1, 13))


# -- discipline


def test_choosing_on_the_test_rows_is_refused_or_stamped() -> None:
    labels, score = column("unsupported"), column("score_a")
    for options in ({}, {"calibration": [True] * 60, "test": [True] * 60}):
        with pytest.raises(ValueError, match="chosen and evaluated on the same rows"):
            quiet(labels, score, n_resamples=10, **options)
        report = quiet(labels, score, allow_resubstitution=True, n_resamples=10, **options)
        assert report["selection"]["resubstitution"] is True
        assert {point["resubstitution"] for point in report["operating_points"]} == {True}
        assert not report.minimum_suite()["D"].items["calibration rows of their own"]
        assert "thresholds were chosen on the test rows" in report["where_not_to_trust"][0]
        assert any("on the same rows" in message for message in report["warnings"])
    assert fixture(allow_resubstitution=True)["selection"]["resubstitution"] is False


def test_parts_by_column_by_mask_and_by_number() -> None:
    split = column("split")
    masks = {name: [value == name for value in split] for name in ("calibration", "test")}
    rows = {name: np.flatnonzero(mask) for name, mask in masks.items()}
    wanted = fixture()
    for options in (masks, rows):
        assert fixture(split=None, **options) == wanted
    assert fixture(split=[{"calibration": "cal"}.get(v, v) for v in split]) == wanted


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"split": ["train"] * 60}, ValueError, "split: row 0 is 'train', expected 'development', 'calibration'"),
        ({"split": ["test"] * 59}, ValueError, "split has 59 values, expected one for each of the 60 rows"),
        ({"split": ["calibration"] * 60}, ValueError, "there are no test rows"),
        ({"calibration": [0, 1], "test": [1, 2]}, ValueError, "row 1 is in calibration and in test, as are 1 rows"),
        ({"development": [0], "calibration": [1], "test": [0, 2]}, ValueError, "row 0 is in development and in test"),
        ({"calibration": [0, 0], "test": [1]}, ValueError, "calibration names a row twice"),
        ({"calibration": [0, 60], "test": [1]}, ValueError, "calibration names rows 0 to 60 of 60"),
        ({"calibration": [0.5], "test": [1]}, TypeError, "calibration must be a mask or a sequence of row numbers"),
        ({"calibration": [], "test": [1]}, ValueError, "calibration has no rows: leave it None"),
        ({"split": ["test"] * 60, "test": [1]}, TypeError, "give either split or test"),
        ({"test": [True] * 3}, ValueError, "test has 3 values"),
        ({"ids": ["a"] * 60}, ValueError, "ids: 'a' stands in rows 0 and 1: the same answer would count twice"),
        ({"ids": [None] * 60}, TypeError, "ids: row 0 is None"),
        ({"max_far": (0.1, 0.1)}, ValueError, "max_far holds 0.1 twice"),
        ({"seed": np.random.default_rng(0)}, TypeError, "seed must be a whole number"),
        ({"about": {"ranking": {}}}, ValueError, "about has no section 'ranking'; it has detector, measurement"),
        ({"about": {"dataset": {"n": 3}}}, ValueError, "'n' is computed, or declared in the contract"),
        ({"contract": {"unit": "a"}}, TypeError, "contract must be an EvaluationContract"),
        ({"slices": {"a": [1, "1"] * 30}}, ValueError, r"slices\['a'\] holds values of two types"),
        ({"slices": {"a": [1]}}, ValueError, r"slices\['a'\] has 1 values"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[Exception], message: str) -> None:
    given = {"split": column("split")} if not {"split", "calibration", "test"} & set(options) else {}
    with pytest.raises(error, match=message):
        quiet(column("unsupported"), column("score_a"), **{"n_resamples": 10, **given, **options})


def test_halves_that_look_alike_are_not_the_same_rows() -> None:
    report = quiet([1, 0] * 40, [0.9, 0.1] * 40, split=["calibration"] * 40 + ["test"] * 40, max_far=[0.1])
    assert report["operating_points"][0]["resubstitution"] is False
    assert report["operating_points"][0]["n_unsupported"] == 20


def test_the_lock_of_the_test_rows() -> None:
    labels, ids = [bool(x) for x in column("unsupported", "test")], column("row_id", "test")
    lines = sorted(json.dumps([name, label]) for name, label in zip(ids, labels, strict=True))
    wanted = "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert rows_digest(labels, ids) == rows_digest(labels[::-1], ids[::-1]) == wanted
    report = fixture(test_lock=wanted)
    assert report["selection"]["final_test_locked"] is True
    assert report["dataset"]["row_digest"] == report["selection"]["parts"]["test"]["digest"] == wanted
    # It does not depend on the scores, and does on every label.
    assert fixture(score=column("score_b"))["dataset"]["row_digest"] == wanted
    assert fixture()["selection"]["final_test_locked"] is None
    with pytest.raises(ValueError, match="test_lock: the test rows are not those that were locked"):
        fixture(test_lock=rows_digest([not labels[0], *labels[1:]], ids))


def test_parts_that_share_groups() -> None:
    assert fixture()["selection"]["disjoint_groups"] is True
    assert fixture()["split"]["shared_groups"] == 0
    groups = [f"g{i % 7}" for i in range(60)]
    report = fixture(groups=groups, max_far=(), n_resamples=10)
    assert any("7 groups, such as 'g0', have rows in more than one part" in line for line in report["warnings"])
    assert report["selection"]["disjoint_groups"] is False
    assert report["split"]["shared_groups"] == 7
    assert any(line.startswith("New sources: 7 groups") for line in report["where_not_to_trust"])
    assert fixture(groups=None)["selection"]["disjoint_groups"] is None


def test_counts_of_the_parts() -> None:
    report = fixture()
    parts = report["selection"]["parts"]
    assert parts["development"] is None
    for name in ("calibration", "test"):
        labels, sources = column("unsupported", name), column("source_id", name)
        found = parts[name]
        assert (found["n"], found["n_unsupported"], found["n_groups"]) == (30, sum(labels), len(set(sources)))
    assert (report["dataset"]["n"], report["dataset"]["unsupported_prevalence"]) == (30, 12 / 30)


# -- answers without a score, single classes, weights


def test_answers_without_a_score() -> None:
    score = column("score_a")
    chosen = [i for i, name in enumerate(column("split")) if name == "test"][:3]
    holes = [None if i in chosen else s for i, s in enumerate(score)]
    with pytest.raises(ValueError, match="has no score"):
        fixture(score=holes)
    rejected = fixture(score=holes, nan_policy="reject", slices={"row": [str(i in chosen) for i in range(60)]})
    infinite = fixture(score=[float("inf") if i in chosen else s for i, s in enumerate(score)])
    assert rejected["dataset"]["n_unscored"] == 3
    assert rejected["dataset"]["n"] == 30
    for one, other in zip(rejected["operating_points"], infinite["operating_points"], strict=True):
        assert one == other
    assert rejected["ranking"] == infinite["ranking"]
    omitted = fixture(score=holes, nan_policy="omit", slices={"row": [str(i in chosen) for i in range(60)]})
    assert (omitted["dataset"]["n"], omitted["dataset"]["n_unscored"]) == (27, 3)
    assert omitted["undefined"]["/context_slices/row/True/roc_auc"] == "no row has a score"
    for report in (rejected, omitted):
        assert any("3 test answers had none" in line for line in report["where_not_to_trust"])


def test_a_test_part_with_one_class() -> None:
    labels = [0, 1] * 20 + [0] * 20
    score = np.linspace(0, 1, 60)
    report = quiet(labels, score, split=["calibration"] * 40 + ["test"] * 20, max_far=[0.1], n_resamples=10)
    assert report["ranking"]["roc_auc"] is None
    assert report["undefined"]["/ranking/roc_auc"] == "there are no unsupported answers"
    assert report["ranking"]["average_precision"] is None
    point = report["operating_points"][0]
    assert point["eval_far"] is None
    assert point["far_upper95"] == 1
    assert report["undefined"]["/operating_points/0/eval_far"] == "there are no unsupported rows"
    assert "/ranking/roc_auc" not in report.missing()
    assert report.minimum_suite()["B"].items["ROC-AUC"]
    assert report["curves"]["operating"] is None
    assert report.to_markdown()
    assert report._repr_html_()


def test_weights_count_as_copies_in_every_rate() -> None:
    weight = [1 + i % 3 for i in range(60)]
    copies = [i for i, w in enumerate(weight) for _ in range(w)]
    weighted = fixture(sample_weight=weight, groups=column("row_id"), ids=None)
    again = quiet(
        [column("unsupported")[i] for i in copies],
        [column("score_a")[i] for i in copies],
        split=[column("split")[i] for i in copies],
        groups=[column("row_id")[i] for i in copies],
        max_far=(0.05, 0.1),
        n_resamples=100,
    )
    assert weighted["dataset"]["weighted"] is True
    for one, other in zip(weighted["operating_points"], again["operating_points"], strict=True):
        for name in ("threshold", "eval_far", "supported_acceptance", "acceptance_rate", "cal_far"):
            assert one[name] == pytest.approx(other[name], rel=1e-12), name
    for name in ("roc_auc", "average_precision", "ap_baseline_prevalence"):
        assert weighted["ranking"][name] == pytest.approx(again["ranking"][name], rel=1e-12)
    assert weighted["dataset"]["unsupported_prevalence"] == pytest.approx(again["dataset"]["unsupported_prevalence"])


# -- slices, baselines


def test_slices_by_hand() -> None:
    parity = [int(name[1:]) % 2 for name in column("row_id")]
    report = fixture(slices={"parity": parity}, groups=None)
    assert list(report["context_slices"]["parity"]) == ["0", "1"]
    test = [i for i, name in enumerate(column("split")) if name == "test"]
    for value_ in (0, 1):
        rows = [i for i in test if parity[i] == value_]
        labels = [column("unsupported")[i] for i in rows]
        score = [column("score_a")[i] for i in rows]
        found = report["context_slices"]["parity"][str(value_)]
        assert (found["n"], found["n_unsupported"]) == (len(rows), sum(labels))
        pairs = [
            (a > b) + (a == b) / 2
            for a, x in zip(score, labels, strict=True)
            if x
            for b, y in zip(score, labels, strict=True)
            if not y
        ]
        assert found["roc_auc"] == pytest.approx(sum(pairs) / len(pairs))
        for point, threshold in zip(found["operating_points"], (0.36, 0.42), strict=True):
            k = sum(s <= threshold and bool(x) for s, x in zip(score, labels, strict=True))
            n = sum(labels)
            assert (point["n_false_accepts"], point["far"]) == (k, k / n)
            assert point["far_upper95"] == pytest.approx(stats.beta.ppf(0.95, k + 1, n - k))
            # Two values: each bound at 1 - 0.05 / 2, so that both hold together.
            assert point["far_upper_simultaneous"] == pytest.approx(stats.beta.ppf(0.975, k + 1, n - k))
    assert any("parity 0 (6), 1 (6): fewer than 30" in line for line in report["where_not_to_trust"])


def test_a_mechanism_is_a_slice_with_one_class(full: EvaluationReport) -> None:
    found = full["context_slices"]["mechanism"]["negation"]
    assert found["n_supported"] == 0
    assert found["roc_auc"] is None
    assert full["undefined"]["/context_slices/mechanism/negation/roc_auc"] == "there are no supported answers"
    assert found["operating_points"][0]["far"] is not None


def test_simpler_scores_on_the_same_rows() -> None:
    report = quiet(
        column("unsupported"),
        column("score_a"),
        groups=column("source_id"),
        max_far=(),
        baselines={"b": column("score_b"), "itself": column("score_a")},
        n_resamples=10,
    )
    found = report["sanity"]["baselines"]
    assert found["b"]["difference"] == digits(value("ranking", "delong_paired_diff"))
    assert found["b"]["roc_auc"] == digits(value("ranking", "roc_auc_b"))
    # Student's t with 19 degrees of freedom, two-sided.
    z = value("ranking", "clustered_paired_z")
    assert found["b"]["p_value"] == pytest.approx(2 * stats.t.sf(z, 19), rel=1e-9)
    assert (found["itself"]["difference"], found["itself"]["p_value"]) == (0, 1)
    assert "Worth: the simpler score 'itself' is not shown to rank worse" in "\n".join(report["where_not_to_trust"])
    plain = quiet(
        column("unsupported"), column("score_a"), max_far=(), baselines={"b": column("score_b")}, n_resamples=10
    )["sanity"]["baselines"]["b"]
    assert plain["p_value"] == digits(value("ranking", "delong_paired_p"))


def test_distributions_of_few_scores() -> None:
    found = score_distributions([1, 0, 0], [0.5, 0.25, 0.25])
    assert found.unsupported is not None
    assert (found.unsupported["n"], found.unsupported["sd"]) == (1, None)
    assert found.undefined["unsupported.sd"] == "a single score has no standard deviation"
    assert (found.mean_gap, found.standardized_gap) == (0.25, None)
    constant = score_distributions([1, 1, 0, 0], [0.1, 0.1, 0.1, 0.1])
    assert (constant.mean_gap, constant.standardized_gap) == (0, None)
    one = score_distributions([0, 0], [1, float("inf")])
    assert (one.unsupported, one.n_infinite, one.mean_gap) == (None, 1, None)
    rng = np.random.default_rng(0)
    score, labels = rng.normal(size=500), rng.random(500) < 0.3
    found = score_distributions(labels, score)
    assert found.supported is not None
    assert found.supported["sd"] == pytest.approx(np.std(score[~labels], ddof=1))
    assert found.supported["quantile_95"] == pytest.approx(np.percentile(score[~labels], 95))
    assert found.histogram is not None
    assert sum(found.histogram["supported"]) == pytest.approx(1)
    assert len(found.histogram["edges"]) == len(found.histogram["unsupported"]) + 1
    # One score far away does not ask for thousands of bins.
    wide = score_distributions([1, *labels], [1e9, *score])
    assert wide.histogram is not None
    assert len(wide.histogram["edges"]) == 61


# -- suite


def test_the_minimum_suite(full: EvaluationReport) -> None:
    suite = full.minimum_suite()
    assert "".join(suite) == "ABCDEFGHIJK"
    assert {letter: part.state for letter, part in suite.items()} == {
        **dict.fromkeys("ABC", "measured"),
        **dict.fromkeys("DEK", "partial"),
        **dict.fromkeys("FGHIJ", "missing"),
    }
    assert suite["D"].missing == ["development rows of their own", "locked test rows"]
    assert {part.state for part in EvaluationReport.blank().minimum_suite().values()} == {"missing"}
    assert "F  difficulty ladder     missing" in str(suite)
    one = fixture(max_far=[0.05]).minimum_suite()["C"]
    assert (one.state, one.missing) == ("partial", ["several budgets"])
    content = copy.deepcopy(dict(full))
    content["slices"] = {name: {"far": 0.1} for name in content["slices"]}
    content["stress_tests"]["transfer"] = {"embedder": {"roc_auc": 0.7}}
    later = EvaluationReport(content).minimum_suite()
    assert (later["G"].state, later["I"].state) == ("measured", "partial")


def test_what_was_not_measured_and_not_told(full: EvaluationReport) -> None:
    lacking = full.missing()
    assert "/pipeline/ceiling" in lacking
    assert "/labeling/estimated_label_noise" in lacking
    assert not set(lacking) & set(full["undefined"])
    assert all(resolve(full, place) is None for place in lacking)
    assert not any(place.startswith("/contract") for place in lacking)
    assert "/contract" in EvaluationReport.blank().missing()
    assert full["detector"]["extra"] == {"owner": "lab"}
    assert full["selection"]["n_selection_decisions"] == 3


def test_operating_point_by_budget(full: EvaluationReport) -> None:
    assert full.operating_point(0.05, "crc") is full["operating_points"][2]
    with pytest.raises(ValueError, match=r"several operating points for max_far 0.05: name a rule"):
        full.operating_point(0.05)
    with pytest.raises(ValueError, match=r"no operating point for max_far 0.02; it has 0.05 \(empirical\)"):
        full.operating_point(0.02)


def test_the_same_seed_the_same_report() -> None:
    assert fixture() == fixture()
    assert fixture(seed=1)["ranking"] != fixture()["ranking"]
    order = np.random.default_rng(0).permutation(60)
    moved = quiet(
        [column("unsupported")[i] for i in order],
        [column("score_a")[i] for i in order],
        split=[column("split")[i] for i in order],
        groups=[column("source_id")[i] for i in order],
        ids=[column("row_id")[i] for i in order],
        max_far=(0.05, 0.1),
        n_resamples=100,
    )
    one, other = json.loads(moved.to_json()), json.loads(fixture().to_json())
    for document in (one, other):
        # Sums in another order may differ by rounding.
        for name in ("selective", "sanity", "curves"):
            del document[name]
    assert one == other


# -- gate


def separated(n: int = 200, budget: float = 0.05, **options: Any) -> EvaluationReport:
    """Return a report of n unsupported and n supported test answers that lie apart, without a false acceptance."""
    labels = [1, 0] * (2 * n)
    score = [label + (i % 7) / 100 for i, label in enumerate(labels)]
    split = ["calibration"] * (2 * n) + ["test"] * (2 * n)
    return quiet(labels, score, split=split, max_far=[budget], n_resamples=10, **options)


def test_the_gate_holds_the_bound_and_not_the_rate() -> None:
    report = separated(20, rules=["empirical"])
    assert report["operating_points"][0]["eval_far"] == 0
    bound = 1 - 0.05 ** (1 / 20)
    found = gate(report, max_far=0.05)
    assert not found.passed
    assert f"FAR may be as high as {bound:.4f} (0 of 20 unsupported answers accepted" in found.reasons[0]
    assert "more unsupported test answers are needed" in found.reasons[0]
    assert gate(report, max_far=0.14, target_far=0.05).passed
    assert not gate(report, max_far=0.139, target_far=0.05).passed
    assert gate(separated(59), max_far=0.05).passed
    assert not gate(separated(58), max_far=0.05).passed


def test_the_gate_names_the_rate_where_it_is_too_high() -> None:
    report = fixture(max_far=[0.3])
    assert "more unsupported test answers" not in gate(report, max_far=0.01, target_far=0.3).reasons[0]


def test_the_gate_stops_what_cannot_be_relied_on() -> None:
    infeasible = fixture(groups=None, rules=["upper_bound"], max_far=[0.1])
    assert "is infeasible" in gate(infeasible, max_far=0.1).reasons[0]
    stamped = quiet([1, 0] * 100, [1.0, 0.0] * 100, max_far=[0.05], allow_resubstitution=True, n_resamples=10)
    found = gate(stamped, max_far=0.05)
    assert not found.passed
    assert "chosen on the test rows themselves" in found.reasons[0]
    content = copy.deepcopy(dict(separated()))
    content["selection"]["final_test_locked"] = False
    assert "not those that had been locked" in gate(EvaluationReport(content), max_far=0.05).reasons[0]


def test_the_gate_on_supported_answers() -> None:
    report = separated(100)
    low = stats.beta.ppf(0.025, 100, 1)
    assert gate(report, max_far=0.05, min_sar=float(low) - 1e-6).passed
    found = gate(report, max_far=0.05, min_sar=float(low) + 1e-4)
    assert not found.passed
    assert f"SAR may be as low as {low:.4f} (1.0000 observed" in found.reasons[0]


def test_the_gate_against_an_older_report() -> None:
    old = separated()
    assert gate(old, max_far=0.05, baseline=old).passed

    def changed(field: str, by: float) -> EvaluationReport:
        content = copy.deepcopy(dict(old))
        content["operating_points"][0][field] += by
        return EvaluationReport(content)

    worse = changed("far_upper95", 0.01)
    found = gate(worse, max_far=0.05, baseline=old, margin=0.005)
    assert not found.passed
    assert "the upper bound of FAR is 0.0249, and 0.0149 in the baseline: worse by more than" in found.reasons[0]
    assert gate(worse, max_far=0.05, baseline=old, margin=0.01).passed
    less = changed("sar_lower975", -0.02)
    assert "the lower bound of SAR" in gate(less, max_far=0.05, baseline=old, margin=0.01).reasons[0]
    assert gate(less, max_far=0.05, baseline=old, margin=0.02).passed
    assert gate(changed("far_upper95", -0.01), max_far=0.05, baseline=old).passed
    content = copy.deepcopy(dict(old))
    content["ranking"]["roc_auc_ci95"][0] -= 0.1
    assert "interval of AUC" in gate(EvaluationReport(content), max_far=0.05, baseline=old).reasons[0]
    other = separated(150)
    assert "different test rows" in gate(other, max_far=0.05, baseline=old, margin=0.5).remarks[0]


def test_what_the_gate_cannot_judge(full: EvaluationReport) -> None:
    with pytest.raises(ValueError, match=r"the report has several operating points for a budget of 0.05"):
        gate(full, max_far=0.05)
    with pytest.raises(ValueError, match=r"the report has no operating point for a budget of 0.2"):
        gate(full, max_far=0.2, rule="crc")
    with pytest.raises(ValueError, match="max_far must be a number from 0 to 1, got 5"):
        gate(full, max_far=5)
    with pytest.raises(ValueError, match="the baseline has no operating point"):
        gate(separated(), max_far=0.05, baseline=EvaluationReport.blank())
    content = copy.deepcopy(dict(separated()))
    content["operating_points"][0]["far_upper95"] = None
    with pytest.raises(ValueError, match=r"the upper bound of FAR at a budget of 0.05 is null in the report"):
        gate(EvaluationReport(content), max_far=0.05)


# -- page


def test_the_page(full: EvaluationReport, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    text = full.to_markdown(tmp_path / "my card.md")
    assert (tmp_path / "my card.md").read_text(encoding="utf-8") == text
    for name in ("operating", "scores", "risk_coverage", "reliability"):
        assert f"(my%20card-{name}.png)" in text
        assert (tmp_path / f"my card-{name}.png").stat().st_size > 1000
    assert plt.get_fignums() == before
    assert text.startswith("# a 1: evaluation report\n")
    for heading in ("Where not to trust it", "Operating points", "By mechanism", "Simpler scores", "Minimum suite"):
        assert f"## {heading}\n" in text
    assert "| 5%     | upper_bound | infeasible |" in text
    for line in full["where_not_to_trust"]:
        assert line.replace("_", "\\_") in text
    assert full.to_markdown() == full.to_markdown(tmp_path / "no.md", pictures=False)
    assert not list(tmp_path.glob("no-*.png"))
    assert "my%20card" not in full.to_markdown()


def test_names_are_text_on_the_page() -> None:
    report = fixture(
        about={"detector": {"name": "<b>*x*</b>", "version": None}}, slices={"l<i>": ["a|b"] * 60}, n_resamples=10
    )
    assert "<b>" not in report._repr_html_()
    assert "&lt;b&gt;*x*" in report._repr_html_()
    assert "l<i>" not in report._repr_html_()
    text = report.to_markdown()
    assert text.startswith("# \\<b>\\*x\\*\\</b>: evaluation report")
    assert "a\\|b" in text
    assert "By l\\<i>" in text


def test_an_empty_page() -> None:
    empty = EvaluationReport.blank()
    assert "Nothing was measured." in empty.to_markdown()
    assert "Minimum suite" in empty._repr_html_()
    assert repr(empty).startswith("EvaluationReport('detector', n=None, A:missing")


def test_thresholds_are_printed_in_full() -> None:
    labels, score = [0, 1] * 200, [(i % 2) + 1 / (3 + i) for i in range(400)]
    report = quiet(
        labels, score, split=["calibration", "calibration", "test", "test"] * 100, max_far=[0.1], n_resamples=5
    )
    threshold = report["operating_points"][0]["threshold"]
    assert f"| {threshold!r} |" in report.to_markdown()
    assert json.loads(report.to_json())["operating_points"][0]["threshold"] == threshold


def test_values_are_plain(full: EvaluationReport) -> None:
    def check(node: Any) -> None:
        assert type(node) in (dict, list, str, int, float, bool, type(None)), type(node)
        children = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
        for child in children:
            check(child)

    check(dict(full))
