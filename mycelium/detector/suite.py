"""The minimum suite: what is to be measured before a detector is relied on, in eleven parts, A to K."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mycelium.detector.structure import resolve

__all__ = ["PARTS", "STATES", "MinimumSuite", "SuitePart", "minimum_suite"]

STATES = ("measured", "partial", "missing")

Item = tuple[str, Callable[[Mapping[str, Any]], bool]]


@dataclass(frozen=True)
class SuitePart:
    """One part of the suite.

    Attributes
    ----------
    letter, title : str
        "A" to "K", and what the part is about.
    state : str
        "measured": all of its items are there; "missing": none is; "partial": some are.
    items : dict of str to bool
        Each item, and whether the report has it.
    """

    letter: str
    title: str
    state: str
    items: Mapping[str, bool]

    @property
    def missing(self) -> list[str]:
        """The items that are not there."""
        return [name for name, there in self.items.items() if not there]


class MinimumSuite(dict[str, SuitePart]):
    """The parts by letter, "A" to "K"; printed as a table."""

    def __str__(self) -> str:
        width = max(len(part.title) for part in self.values())
        lines = []
        for part in self.values():
            lacking = f"  missing: {'; '.join(part.missing)}" if part.missing else ""
            lines.append(f"{part.letter}  {part.title:<{width}}  {part.state:<8}{lacking}".rstrip())
        return "\n".join(lines)


def minimum_suite(report: Mapping[str, Any]) -> MinimumSuite:
    """Return which parts of the suite a report holds; a value that was measured and is undefined counts as measured."""
    found = MinimumSuite()
    for letter, (title, items) in PARTS.items():
        there = {name: bool(holds(report)) for name, holds in items}
        state = "measured" if all(there.values()) else "partial" if any(there.values()) else "missing"
        found[letter] = SuitePart(letter, title, state, there)
    return found


def _field(*paths: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return a test of whether all of these places were measured."""

    def holds(report: Mapping[str, Any]) -> bool:
        undefined = report["undefined"]
        return all(_measured(report, path, undefined) for path in paths)

    return holds


def _measured(report: Mapping[str, Any], path: str, undefined: Mapping[str, str]) -> bool:
    try:
        value = resolve(report, path)
    except KeyError:
        return False
    return (value is not None and value != {}) or path in undefined


def _points(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return a test of whether every operating point has these fields."""

    def holds(report: Mapping[str, Any]) -> bool:
        points = report["operating_points"]
        places = [f"/operating_points/{i}/{name}" for i in range(len(points)) for name in names]
        return bool(points) and all(_measured(report, place, report["undefined"]) for place in places)

    return holds


def _thresholds(report: Mapping[str, Any]) -> bool:
    points = report["operating_points"]
    # An infeasible budget and a threshold that accepts everything have no number, and are both results.
    return bool(points) and all(
        point["threshold"] is not None or point["feasible"] is False or point["accept_all"] for point in points
    )


def _budgets(report: Mapping[str, Any]) -> bool:
    return len({point["target_far"] for point in report["operating_points"]}) > 1


def _separate(name: str) -> Callable[[Mapping[str, Any]], bool]:
    def holds(report: Mapping[str, Any]) -> bool:
        selection = report["selection"]
        return selection["parts"][name] is not None and selection["resubstitution"] is False

    return holds


def _declared(report: Mapping[str, Any]) -> bool:
    contract = report["contract"]
    return contract is not None and contract.get("target_property") is not None


def _grouped(report: Mapping[str, Any]) -> bool:
    regimes = report["split"]["regimes"] or {}
    return "grouped_source" in regimes or report["selection"]["disjoint_groups"] is True


def _keys(path: str, *keys: str) -> Iterator[Item]:
    for key in keys:
        yield key.replace("_", " "), _field(f"{path}/{key}")


#: What each part asks for.
PARTS: dict[str, tuple[str, tuple[Item, ...]]] = {
    "A": (
        "measurement sanity",
        (
            ("target property declared", _declared),
            ("score direction declared", _field("/detector/score_direction")),
            ("score direction verified on data", _field("/sanity/direction/verdict")),
            ("simpler scores on the same rows", _field("/sanity/baselines")),
            ("score distributions by class", _field("/sanity/distributions/unsupported/n")),
        ),
    ),
    "B": (
        "ranking",
        (
            ("ROC-AUC", _field("/ranking/roc_auc")),
            ("average precision", _field("/ranking/average_precision")),
            ("prevalence", _field("/ranking/ap_baseline_prevalence")),
            ("confidence intervals", _field("/ranking/roc_auc_ci95", "/ranking/average_precision_ci95")),
        ),
    ),
    "C": (
        "operating points",
        (
            ("several budgets", _budgets),
            ("threshold", _thresholds),
            ("FAR", _points("eval_far")),
            ("FAR interval and upper bound", _points("far_ci95", "far_upper95")),
            ("number of unsupported rows", _points("n_unsupported")),
            ("SAR and FRR", _points("supported_acceptance", "false_rejection")),
            ("review rate", _points("review_rate")),
        ),
    ),
    "D": (
        "selection discipline",
        (
            ("development rows of their own", _separate("development")),
            ("calibration rows of their own", _separate("calibration")),
            ("locked test rows", lambda report: report["selection"]["final_test_locked"] is True),
            ("number of choices made", _field("/selection/n_selection_decisions")),
        ),
    ),
    "E": (
        "split robustness",
        (("random rows", _field("/split/regimes/random_row")), ("grouped by source", _grouped)),
    ),
    "F": (
        "difficulty ladder",
        tuple(
            _keys(
                "/stress_tests/negative_difficulty",
                *("unrelated", "dataset_mismatch", "same_domain", "semantic_neighbor", "metric_aware", "structural"),
            )
        ),
    ),
    "G": (
        "mechanism slices",
        tuple(
            _keys(
                "/slices",
                *("novel_entity", "unsupported_event", "relation_inversion", "negation"),
                *("quantity", "temporal", "recombination"),
            )
        ),
    ),
    "H": ("adversarial budget", tuple(_keys("/stress_tests", "adversarial_budgets", "adversarial_decay"))),
    "I": (
        "transfer",
        (
            ("held-out domain", _field("/stress_tests/held_out_domain")),
            *_keys("/stress_tests/transfer", "embedder", "generator", "decoding", "segmentation", "hyperparameters"),
        ),
    ),
    "J": (
        "pipeline diagnostics",
        tuple(
            _keys(
                "/pipeline",
                *("extraction_recall", "retrieval_recall_at_k", "attribution_accuracy", "support_accuracy"),
                *("provenance_accuracy", "failure_stage_counts"),
            )
        ),
    ),
    "K": (
        "operations",
        (
            ("latency", _field("/operations/latency_p95_ms")),
            ("cost", _field("/operations/cost_per_1000_claims")),
            ("throughput", _field("/operations/throughput_per_second")),
            ("auto-accept coverage", _field("/operations/auto_accept_coverage")),
            ("auto-decision coverage", _field("/operations/auto_decision_coverage")),
            ("review burden", _field("/operations/review_rate")),
            ("review capacity", _field("/operations/review_capacity")),
        ),
    ),
}
