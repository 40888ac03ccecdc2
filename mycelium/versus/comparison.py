"""Systems compared on the same examples: differences, their intervals, and paired permutation tests."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from mycelium.additive import Additive
from mycelium.confidence import Resampling
from mycelium.draws import sum_by_unit, units_of
from mycelium.formats import read_spans
from mycelium.metrics import Metric
from mycelium.resample import ALTERNATIVES, Interval
from mycelium.scoring import Accumulator, evaluate
from mycelium.spans import InvalidCounts
from mycelium.versus.multiplicity import CORRECTIONS, adjust
from mycelium.versus.paired import Found, Plan
from mycelium.versus.result import Comparison
from mycelium.versus.runs import Scored, score_system, weights_of

__all__ = ["Comparison", "compare"]

OUTPUTS = ("primary", "all")
FAMILIES = ("metric", "all")
#: Options of ``evaluate`` that are not passed on.
OWN = {"references", "predictions", "include_per_example", "soft_predictions", "groups", "keep_statistics"}


def compare(
    references: Any,
    systems: Mapping[str, Any],
    *,
    groups: Any = None,
    baseline: str | None = None,
    metrics: Any = None,
    outputs: str = "primary",
    average: str | None = None,
    profile: str | None = None,
    text: Any = None,
    sample_weight: Any = None,
    undefined: float | None = None,
    soft_references: Any = None,
    soft_systems: Mapping[str, Any] | None = None,
    level: float = 0.95,
    method: str = "percentile",
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
    alternative: str = "two-sided",
    correction: str = "holm",
    family: str = "metric",
    **options: Any,
) -> Comparison:
    """Compare systems on the same examples: each difference, its interval, and a paired test.

    The interval comes from a paired bootstrap: units (examples, or whole groups) are drawn with replacement, the same
    ones for all systems and metrics. The p-value comes from a paired permutation test: the two systems change places
    on randomly chosen units. It asks whether the systems are exchangeable, the interval how large the difference is,
    so that the two can disagree.

    Parameters
    ----------
    references : batch of n span sets
        Whatever :func:`mycelium.as_spans` reads.
    systems : mapping of str to batch, or to list of batches
        For each system its predictions, row i for example i. A list (or tuple) of such batches holds several runs,
        e.g. training seeds. They are told apart by what is inside: in a batch ``x[i][j]`` is a span, in a list of runs
        it is a row. A SpanBatch, an array, a Series or an Arrow column is always one batch.
    groups : sequence of length n, optional
        Value i names the group of example i, e.g. its source document; groups are drawn and swapped as a whole. By
        default each example is a unit of its own.
    baseline : str, optional
        Compare every other system against this one instead of all pairs.
    metrics, average, profile, text, sample_weight, undefined, soft_references
        As in :func:`mycelium.evaluate`.
    outputs : {"primary", "all"}
        Whether to compare F1 (or the score) only, or precision and recall too.
    soft_systems : mapping of str to batch, or to list of batches, optional
        The soft predictions of each system, for ``soft_correlation``.
    level : float
        Confidence level of the intervals; ``1 - level`` is the level of the tests.
    method : {"percentile", "bca", "basic"}
        How intervals are made of the replicates.
    n_resamples : int
        The number B of bootstrap replicates and of random permutations. All ``2**u`` patterns of u units are taken
        instead where there are no more than B.
    seed : int or numpy.random.Generator
        With an integer, bootstrap and permutations both start from it. A generator draws the bootstrap first, then
        the permutations.
    alternative : {"two-sided", "greater", "less"}
        Which differences count against the hypothesis: large ones of either sign, a above b, or a below b.
    correction : {"holm", "bh", "none"}
        How p-values are adjusted for the number of comparisons in their family.
    family : {"metric", "all"}
        What a family is: all pairs compared on one output of one metric, or all comparisons of the call.
    **options
        Other options of :func:`mycelium.evaluate`: ``invalid``, ``tolerance``, ``span_coverage_delta``, ...

    Returns
    -------
    Comparison
        A dict with ``systems``, ``pairs`` and ``meta``.

    Raises
    ------
    TypeError, ValueError
        When an argument cannot be used, or when ``n_resamples`` is too small for any adjusted p-value to reach
        ``1 - level``.

    Warns
    -----
    UserWarning
        Below 30 units, where intervals are too narrow; where so few units are swapped that no p-value can reach
        ``1 - level``; and where more than 5 % of the replicates weigh nothing.

    Notes
    -----
    With several runs, a system's statistics are averaged over its runs within each example: its macro score is the
    mean of its runs' scores, its micro score that of the averaged sums. What is tested is that average; the spread of
    the runs is shown beside it and is not part of the interval.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993. Phipson and Smyth, "Permutation p-values should
    never be zero", SAGMB 2010.

    Examples
    --------
    >>> from mycelium.versus.comparison import compare
    >>> references = [[[0, 10]]] * 40
    >>> found = compare(references, {"long": [[[0, 8]]] * 40, "short": [[[0, 6]]] * 30 + [[]] * 10}, metrics=["iou"])
    >>> found["systems"]["long"]["scores"]["iou"]["score"]["score"]
    0.8
    >>> pair = found["pairs"][0]
    >>> pair["a"], pair["b"], round(pair["difference"], 12), pair["significant"]
    ('long', 'short', 0.35, True)
    """
    resampling = Resampling.of(level, method, n_resamples, seed)
    _choice("alternative", alternative, ALTERNATIVES)
    _choice("correction", correction, CORRECTIONS)
    _choice("family", family, FAMILIES)
    _choice("outputs", outputs, OUTPUTS)
    names = _names(systems, soft_systems)
    pairs = _pairs(names, baseline)
    _check_options(options)

    options |= {"metrics": metrics, "average": average, "profile": profile, "undefined": undefined}
    settings = Accumulator(**options).settings
    reading = {name: getattr(settings, name) for name in ("invalid", "missing_rows", "offsets", "end")}
    read, leniency = read_spans(references, name="references", text=text, **reading)
    if not len(read):
        raise ValueError("references hold no examples")
    units = units_of(groups, len(read))
    chosen = _chosen(settings.metrics, outputs)
    plan = Plan(units, resampling, alternative, correction, family)
    size = len(pairs) * (len(chosen) if family == "all" else 1)
    smallest = plan.smallest_p(size)

    options |= {"text": text, "sample_weight": sample_weight, "soft_references": soft_references}
    scored = {
        name: score_system(name, read, systems[name], None if soft_systems is None else soft_systems[name], options)
        for name in names
    }
    weights = weights_of(scored[names[0]].reports[0])
    averages = [
        [Additive(sum_by_unit(part.sums, units, weights), part.value) for part in system.averages]
        for system in scored.values()
    ]
    weighed = None if weights is None else sum_by_unit(np.ones((len(read), 1)), units, weights)
    points = np.array(
        [[value for outputs in system.scores for value in outputs.values()] for system in scored.values()]
    )
    found = plan.run(averages, weighed, points, np.array(pairs, dtype=np.int64))

    notes: dict[str, str] = {}
    comparison = Comparison(
        {
            "systems": _systems(scored, chosen, found, method, notes),
            "pairs": _differences(names, pairs, scored, chosen, found, plan, notes),
        }
    )
    first = scored[names[0]].reports[0]
    comparison["meta"] = {
        "examples": len(read),
        "unit": units.kind,
        "units": len(units),
        "average": settings.average,
        "profile": settings.profile,
        "baseline": baseline,
        "level": resampling.level,
        "method": method,
        "n_resamples": resampling.n_resamples,
        "discarded": found.discarded,
        "seed": resampling.seed if isinstance(resampling.seed, int) else None,
        "alternative": alternative,
        "exact": found.test.exact,
        "n_permutations": found.test.n_permutations,
        "smallest_p": smallest,
        "correction": correction,
        "family": family,
        "family_size": size,
        "alpha": plan.alpha,
        "hypothesis": plan.hypothesis(),
        "leniency": _leniency(leniency, scored),
        "notes": notes,
    }
    comparison.signature = (
        f"{first.signature}|{resampling.signature(units)}|test:{'exact' if found.test.exact else 'permutation'}"
        f"|alternative:{alternative}|correction:{correction}|family:{family}"
    )
    comparison._sums = {
        name: {key: part.sums for (key, _), part in zip(settings.metrics, system.averages, strict=True)}
        for name, system in scored.items()
    }
    comparison._settings = settings
    comparison._weights = weights
    return comparison


class _Chosen(NamedTuple):
    """An output that is compared: its metric's key and place, its own name and its place among all outputs."""

    key: str
    metric: int
    output: str
    column: int


def _choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _check_options(options: Mapping[str, Any]) -> None:
    known = set(inspect.signature(evaluate).parameters) - OWN
    for name in options:
        if name not in known:
            raise TypeError(f"compare() has no option {name!r}, and passes none of that name on to evaluate()")


def _names(systems: Any, soft_systems: Any) -> list[str]:
    if not isinstance(systems, Mapping):
        raise TypeError(f"systems must be a mapping from names to predictions, got {type(systems).__name__}")
    names = list(systems)
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"systems: names must be strings that are not empty, got {name!r}")
    if len(names) < 2:
        raise ValueError(f"systems must hold at least two systems to compare, got {len(names)}")
    if soft_systems is not None:
        if not isinstance(soft_systems, Mapping):
            raise TypeError(f"soft_systems must be a mapping from names, got {type(soft_systems).__name__}")
        if set(soft_systems) != set(names):
            raise ValueError(f"soft_systems must name the same systems, got {', '.join(map(repr, soft_systems))}")
    return names


def _pairs(names: list[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    if baseline not in names:
        raise ValueError(f"baseline must be one of the systems {', '.join(map(repr, names))}, got {baseline!r}")
    b = names.index(baseline)
    return [(a, b) for a in range(len(names)) if a != b]


def _chosen(metrics: tuple[tuple[str, Metric], ...], outputs: str) -> list[_Chosen]:
    chosen, column = [], 0
    for number, (key, metric) in enumerate(metrics):
        for output in metric.outputs:
            if outputs == "all" or output == metric.primary:
                chosen.append(_Chosen(key, number, output, column))
            column += 1
    return chosen


def _systems(
    scored: Mapping[str, Scored], chosen: list[_Chosen], found: Found, method: str, notes: dict[str, str]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for s, (name, system) in enumerate(scored.items()):
        scores: dict[str, Any] = {}
        for one in chosen:
            runs = [report[one.key][one.output] for report in system.reports]
            scores.setdefault(one.key, {})[one.output] = {
                "score": system.scores[one.metric][one.output],
                "interval": _bounds(found.systems[s][one.column], method, f"{one.key}.{one.output}: {name}", notes),
                "runs": runs,
                "sd": float(np.std(runs, ddof=1)) if len(runs) > 1 else None,
            }
        out[name] = {"runs": len(system.reports), "scores": scores}
    return out


def _differences(
    names: list[str],
    pairs: list[tuple[int, int]],
    scored: Mapping[str, Scored],
    chosen: list[_Chosen],
    found: Found,
    plan: Plan,
    notes: dict[str, str],
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for one in chosen:
        for p, (a, b) in enumerate(pairs):
            score = [scored[names[i]].scores[one.metric][one.output] for i in (a, b)]
            difference = score[0] - score[1]
            # Nothing can be nearer to 0; permuted differences that are 0 but for rounding would count as nearer.
            equal = difference == 0 and plan.alternative == "two-sided"
            where = f"{one.key}.{one.output}: {names[a]} - {names[b]}"
            records.append(
                {
                    "metric": one.key,
                    "output": one.output,
                    "a": names[a],
                    "b": names[b],
                    "difference": difference,
                    "interval": _bounds(found.pairs[p][one.column], plan.resampling.method, where, notes),
                    "p_value": 1.0 if equal else float(found.test.p_values[p, one.column]),
                }
            )
    size = len(records) if plan.family == "all" else len(pairs)
    for begin in range(0, len(records), size):
        members = records[begin : begin + size]
        adjusted = adjust(np.array([record["p_value"] for record in members]), plan.correction)
        for record, p in zip(members, adjusted.tolist(), strict=True):
            record["p_adjusted"] = p
            record["significant"] = p <= plan.alpha
    return records


def _bounds(found: Interval, asked: str, where: str, notes: dict[str, str]) -> list[float]:
    if found.note:
        # Where all replicates are equal, every method gives the same.
        instead = found.method != asked and found.low < found.high
        notes[where] = found.note + (f", {found.method} instead of {asked}" if instead else "")
    return [found.low, found.high]


def _leniency(references: InvalidCounts, scored: Mapping[str, Scored]) -> dict[str, Any]:
    """Return what leniency did to the references, and to the predictions of each system in all its runs."""
    counts = {name: InvalidCounts() for name in scored}
    for name, system in scored.items():
        for report in system.reports:
            counts[name] = counts[name].plus(report.invalid)
    return {
        "references": references._asdict(),
        "systems": {name: found._asdict() for name, found in counts.items()},
    }
