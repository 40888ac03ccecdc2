"""Where a report says not to trust the detector: sentences that follow from its own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mycelium.detector.suite import minimum_suite

__all__ = ["where_not_to_trust"]

#: Below this many unsupported rows a slice shows little about its false acceptances.
FEW_ROWS = 30
#: So many slices are named; the rest is counted.
NAMED = 6


def where_not_to_trust(report: Mapping[str, Any]) -> list[str]:
    """Return what a reader must not conclude, worst first; what was not tested comes last."""
    return [
        *_stamps(report),
        *_direction(report),
        *_simpler(report),
        *_points(report),
        *_prevalence(report),
        *_slices(report),
        *_rows(report),
        *_untested(report),
    ]


def _stamps(report: Mapping[str, Any]) -> Iterator[str]:
    selection = report["selection"]
    if selection["resubstitution"]:
        yield "All operating points: thresholds were chosen on the test rows, so their rates are too good."
    if any(point["labelled"] == "flagged" for point in report["operating_points"]):
        yield "All rates of false acceptance: only flagged answers were labelled, so they are too low and unbounded."
    if selection["disjoint_groups"] is False and not selection["resubstitution"]:
        yield (
            f"New sources: {report['split']['shared_groups']} groups have rows in more than one part, so the test says"
            " little about sources that were never seen."
        )


def _direction(report: Mapping[str, Any]) -> Iterator[str]:
    direction = report["sanity"]["direction"]
    verdict = direction["verdict"]
    if verdict == "reversed":
        yield f"Everywhere: on {direction['rows']} rows the score runs the wrong way (AUC {direction['roc_auc']:.3f})."
    elif verdict == "inconclusive":
        yield (
            f"Direction: {direction['n']} {direction['rows']} rows do not show that a higher risk score means more"
            " unsupported answers."
        )
    for column, verdicts in (direction["slices"] or {}).items():
        wrong = [value for value, each in verdicts.items() if each == "reversed"]
        if wrong and verdict != "reversed":
            where = f"on {direction['rows']} rows"
            yield f"{column} {_list(wrong)}: the score runs the wrong way there {where}, which no threshold repairs."


def _simpler(report: Mapping[str, Any]) -> Iterator[str]:
    for name, each in (report["sanity"]["baselines"] or {}).items():
        ends = each["difference_ci95"]
        if ends is None or ends[0] > 0:
            continue
        own, other = report["ranking"]["roc_auc"], each["roc_auc"]
        said = "ranks better" if ends[1] < 0 else "is not shown to rank worse"
        yield f"Worth: the simpler score {name!r} {said} on the same rows (AUC {other:.3f}, the detector's {own:.3f})."


def _points(report: Mapping[str, Any]) -> Iterator[str]:
    for point in report["operating_points"]:
        name = f"FAR budget {_percent(point['target_far'])} ({point['rule']})"
        if point["feasible"] is False:
            why = point["reason"]
            yield f"{name}: infeasible, no threshold keeps it on the calibration rows ({why}); nothing is accepted."
            continue
        seen = f"{point['n_false_accepts']} of {point['n_unsupported']} unsupported test answers accepted"
        bound = point["far_upper95"]
        if bound is None or point["eval_far"] is None:
            yield f"{name}: not shown, {seen}, and no bound is defined."
        elif point["bound_within_target"] is False:
            observed = f"{seen} ({_percent(point['eval_far'])}), up to {_percent(bound)} is possible"
            few = point["required_unsupported"]
            more = ""
            if few is not None and point["n_unsupported"] < few:
                more = f"; even without one it takes {few:,} to show it"
            yield f"{name}: not shown to be kept: {observed}{more}."


def _prevalence(report: Mapping[str, Any]) -> Iterator[str]:
    rare = [each for each in report["prevalence_stress"].values() if each is not None]
    if not rare:
        return
    rarest = min(rare, key=lambda each: float(each["prevalence"]))
    # Where nothing may be accepted, everything is flagged, which says nothing of the score.
    pairs = zip(rarest["operating_points"], report["operating_points"], strict=True)
    used = [each for each, point in pairs if point["feasible"]]
    precisions = [each["alert_precision"] for each in used if each["alert_precision"] is not None]
    if precisions and max(precisions) < 0.5:
        yield (
            f"Rare errors: where {_percent(rarest['prevalence'])} of answers are unsupported, at most"
            f" {_percent(max(precisions))} of the flagged ones are."
        )


def _slices(report: Mapping[str, Any]) -> Iterator[str]:
    for column, values in (report["context_slices"] or {}).items():
        few = {value: each["n_unsupported"] for value, each in values.items() if each["n_unsupported"] < FEW_ROWS}
        if few:
            shown = [f"{value} ({n})" for value, n in sorted(few.items(), key=lambda item: (item[1], item[0]))]
            yield f"{column} {_list(shown)}: fewer than {FEW_ROWS} unsupported test answers, too few to judge alone."
        blind = [
            f"{value} (AUC {each['roc_auc']:.2f})"
            for value, each in values.items()
            if each["roc_auc"] is not None and (each["roc_auc_ci95"] is None or each["roc_auc_ci95"][0] <= 0.5)
        ]
        if blind:
            yield f"{column} {_list(blind)}: the score is not shown to rank better than chance there."
        yield from _worst(column, values, report["operating_points"])


def _worst(column: str, values: Mapping[str, Any], points: list[Mapping[str, Any]]) -> Iterator[str]:
    for i, point in enumerate(points):
        rates = {
            value: each["operating_points"][i]
            for value, each in values.items()
            if len(each["operating_points"]) > i and each["operating_points"][i]["far"] is not None
        }
        if len(rates) < 2 or point["feasible"] is False:
            continue
        value, worst = max(rates.items(), key=lambda item: (float(item[1]["far"]), item[0]))
        bound = worst["far_upper_simultaneous"]
        if worst["far"] > point["target_far"] and point["eval_far"] is not None and worst["far"] > point["eval_far"]:
            upto = "no bound is defined" if bound is None else f"up to {_percent(bound)} is possible"
            yield (
                f"{column} {value}: FAR is {_percent(worst['far'])} there at the threshold for"
                f" {_percent(point['target_far'])} ({point['rule']}), {_percent(point['eval_far'])} overall; {upto},"
                f" allowing for {len(rates)} values."
            )


def _rows(report: Mapping[str, Any]) -> Iterator[str]:
    dataset = report["dataset"]
    if dataset["n_unscored"]:
        policy = dataset["nan_policy"]
        yield f"Answers without a score: {dataset['n_unscored']} test answers had none (nan_policy {policy!r})."
    if dataset["n_supported"] is not None and dataset["n_supported"] < FEW_ROWS:
        few = dataset["n_supported"]
        yield f"Usefulness: with {few} supported test answers it is open how many of them would be accepted."
    if dataset["n_groups"] is None:
        yield "Dependence: no groups were given; bounds take answers as independent, too narrow if they are not."
    if report["selection"]["final_test_locked"] is None:
        yield "Selection: the test rows were not locked beforehand; how often they were looked at cannot be checked."
    if report["labeling"]["estimated_label_noise"] is None:
        yield "Labels: their own error rate is not known, and bounds any statement here."


def _untested(report: Mapping[str, Any]) -> Iterator[str]:
    if report["unanswered"]:
        numbers = ", ".join(map(str, report["unanswered"]))
        yield f"Not declared: {len(report['unanswered'])} of 12 questions of the contract ({numbers})."
    elif report["contract"] is None:
        yield "Not declared: there is no contract, so it is open what the score claims to measure."
    yield from _promised(report)
    lacking = [f"{part.letter} {part.title}" for part in minimum_suite(report).values() if part.state == "missing"]
    if lacking:
        yield f"Not tested at all: {', '.join(lacking)}."


def _promised(report: Mapping[str, Any]) -> Iterator[str]:
    """Say which budgets and prevalences the contract declares and the report has not."""
    contract = report["contract"] or {}
    declared = [p.get("max_false_accept_rate") for p in contract.get("operating_points") or [] if isinstance(p, dict)]
    there = {point["target_far"] for point in report["operating_points"]}
    open_ = [_percent(budget) for budget in declared if isinstance(budget, float) and budget not in there]
    if open_:
        yield f"Declared and not measured: a FAR budget of {_list(open_)}."
    shares = {each["prevalence"] for each in report["prevalence_stress"].values() if each is not None}
    open_ = [_percent(share) for share in contract.get("prevalence_regimes") or [] if share not in shares]
    if open_:
        yield f"Declared and not measured: a share of unsupported answers of {_list(open_)}."


def _list(values: list[str]) -> str:
    more = f" and {len(values) - NAMED} more" if len(values) > NAMED else ""
    return ", ".join(values[:NAMED]) + more


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"
