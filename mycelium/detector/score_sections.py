"""What the score itself is like: its direction, its distribution, how it ranks, and against simpler ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mycelium.detector.auc import roc_auc_interval
from mycelium.detector.bootstrap import bootstrap_interval
from mycelium.detector.distributions import score_distributions
from mycelium.detector.paired import compare_roc_auc
from mycelium.detector.parts import Parts
from mycelium.detector.precision import average_precision
from mycelium.detector.rows import Place, Rows, interval_of, put_auc, values_of, without_groups
from mycelium.detector.structure import pointer
from mycelium.spans import IntArray

__all__ = ["baselines", "dataset", "direction", "distributions", "ranking"]


def dataset(content: dict[str, Any], rows: Rows, test: IntArray, scored: IntArray) -> None:
    """Fill in the counts of the test rows."""
    place = Place(content, "dataset")
    risky = int(rows.labels[scored].sum())
    found = average_precision(**without_groups(rows.ranked(test)))
    place.section.update(
        n=len(scored),
        n_unsupported=risky,
        n_supported=len(scored) - risky,
        n_groups=None if rows.groups is None else len({rows.groups[i] for i in scored.tolist()}),
        n_unscored=int(np.isnan(rows.score[test]).sum()),
        nan_policy=rows.nan_policy,
        weighted=rows.weight is not None,
        row_digest=content["selection"]["parts"]["test"]["digest"],
        unsupported_prevalence=found.baseline,
    )


def direction(content: dict[str, Any], rows: Rows, parts: Parts) -> None:
    """Fill in whether a higher score means more risk, on rows that are not the test's. Nothing is turned round."""
    if parts.development is not None:
        name, index = "development", parts.development
    elif parts.calibration is not None:
        name, index = "calibration", parts.calibration
    else:
        return
    place = Place(content, "sanity", "direction")
    found = roc_auc_interval(**rows.ranked(index))
    put_auc(place, found)
    place.section.update(rows=name, n=len(index), verdict=found.direction)
    by_slice: dict[str, dict[str, str]] = {}
    for column in rows.slices:
        by_slice[column] = {
            value: roc_auc_interval(**rows.ranked(part)).direction
            for value, part in values_of(rows.slices[column], index, column).items()
        }
    place.section["slices"] = by_slice or None
    if found.direction == "reversed":
        warnings.warn(
            f"on {name} rows a higher risk means fewer unsupported answers (AUC {found.estimate:.3f}): is"
            f" score_direction, {rows.direction!r} here, the right way round? Nothing was turned round",
            UserWarning,
            stacklevel=2,
        )


def distributions(content: dict[str, Any], rows: Rows, test: IntArray) -> None:
    """Fill in the scores of both classes, in the scale of the caller."""
    found = score_distributions(rows.labels[test], rows.score[test], nan_policy="omit")
    place = Place(content, "sanity", "distributions")
    for name in ("unsupported", "supported", "mean_gap", "standardized_gap"):
        place.put(name, getattr(found, name), found.undefined.get(name))
    for name in ("unsupported", "supported"):
        if f"{name}.sd" in found.undefined:
            content["undefined"][pointer(*place.path, name, "sd")] = found.undefined[f"{name}.sd"]
    content["curves"]["scores"] = found.histogram


def baselines(content: dict[str, Any], rows: Rows, test: IntArray) -> None:
    """Fill in simpler scores on the same rows."""
    if not rows.baselines:
        return
    content["sanity"]["baselines"] = {}
    for name, score in rows.baselines.items():
        content["sanity"]["baselines"][name] = {}
        place = Place(content, "sanity", "baselines", name)
        ranked = rows.ranked(test)
        # The same rows for both: those that lack one score are left out of both, or ranked riskiest by it.
        found = compare_roc_auc(
            ranked["y_true"],
            ranked["y_score"],
            score[test],
            groups=ranked["groups"],
            sample_weight=ranked["sample_weight"],
            nan_policy=rows.nan_policy,
        )
        alone = roc_auc_interval(**{**ranked, "y_score": score[test]})
        place.put("roc_auc", found.estimate_b, found.undefined.get("estimate_b"))
        place.put("roc_auc_ci95", interval_of(alone), alone.undefined.get("low"))
        place.put("difference", found.difference, found.undefined.get("difference"))
        ends = None if found.low is None or found.high is None else [found.low, found.high]
        place.put("difference_ci95", ends, found.undefined.get("low"))
        place.put("p_value", found.p_value, found.undefined.get("p_value"))
        place.put("n", found.n_unsupported + found.n_supported)


def ranking(content: dict[str, Any], rows: Rows, test: IntArray, n_resamples: int, seed: int) -> None:
    """Fill in AUC and average precision with their intervals."""
    place = Place(content, "ranking")
    ranked = rows.ranked(test)
    found = roc_auc_interval(**ranked)
    put_auc(place, found)
    place.section["ci_method"] = f"{found.method}, {found.scale}" + (
        "" if found.df is None else f", t with {found.df} df"
    )
    precision = average_precision(**without_groups(ranked))
    place.put("average_precision", precision.estimate, precision.undefined.get("estimate"))
    place.put("ap_baseline_prevalence", precision.baseline)
    labels, score = ranked.pop("y_true"), ranked.pop("y_score")
    discarded = 0
    for metric, name in (("roc_auc", "roc_auc_bootstrap_ci95"), ("average_precision", "average_precision_ci95")):
        drawn = bootstrap_interval(metric, labels, score, n_resamples=n_resamples, seed=seed, **ranked)
        ends = None if drawn.low is None or drawn.high is None else [drawn.low, drawn.high]
        place.put(name, ends, drawn.undefined.get("interval"))
        discarded = max(discarded, drawn.n_discarded)
        content["uncertainty"].update(
            resampling_unit="row" if drawn.unit == "example" else "group",
            n_units=drawn.n_units,
            n_resamples=n_resamples,
            seed=seed,
            method=drawn.method,
            n_discarded=discarded,
        )
