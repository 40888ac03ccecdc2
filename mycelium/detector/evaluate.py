"""evaluate_detector: from labels and scores to the report, by way of development, calibration and locked test."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Hashable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from mycelium._version import __version__
from mycelium.detector.bridge import ResponseScores
from mycelium.detector.contract import EvaluationContract, plain
from mycelium.detector.decisions import accept_rule
from mycelium.detector.distrust import where_not_to_trust
from mycelium.detector.inputs import NAN_POLICIES, as_labels, as_scores, as_weights
from mycelium.detector.measures import measure_all
from mycelium.detector.parts import Parts, read_ids, read_parts, rows_digest, shared_groups
from mycelium.detector.report import EvaluationReport
from mycelium.detector.rows import Rows
from mycelium.detector.structure import blank, pointer
from mycelium.draws import check_resamples

__all__ = ["ABOUT", "evaluate_detector"]

#: Sections that the caller tells, and cannot be computed; other names go to "extra".
ABOUT = ("detector", "measurement", "generator", "dataset", "labeling", "selection", "split", "risk_control")
#: Fields of those that are computed, or come from the contract.
_COMPUTED = {
    "detector": ("score_direction", "score_is_probability", "accept_rule", "response_score", "extra"),
    "dataset": (
        *("n", "unsupported_prevalence", "n_unsupported", "n_supported", "n_groups", "n_unscored"),
        *("nan_policy", "weighted", "row_digest", "extra"),
    ),
    "selection": ("final_test_locked", "resubstitution", "disjoint_rows", "disjoint_groups", "parts", "extra"),
    "split": ("shared_groups", "regimes", "extra"),
    "risk_control": ("method", "alpha", "calibration_n_unsupported", "level"),
    "labeling": ("extra",),
    "measurement": ("extra",),
    "generator": ("extra",),
}


def evaluate_detector(
    y_true: Any,
    y_score: Any,
    *,
    contract: EvaluationContract | None = None,
    split: Any = None,
    development: Any = None,
    calibration: Any = None,
    test: Any = None,
    groups: Any = None,
    ids: Any = None,
    max_far: float | Sequence[float] = (0.01, 0.05),
    rules: str | Sequence[str] = "empirical",
    slices: Mapping[str, Any] | None = None,
    baselines: Mapping[str, Any] | None = None,
    routing: tuple[float, float] | None = None,
    review_capacity: float | None = None,
    volume: float | None = None,
    costs: Any = None,
    latency_ms: Any = None,
    about: Mapping[str, Mapping[str, Any]] | None = None,
    test_lock: str | None = None,
    sample_weight: Any = None,
    pos_label: Hashable = None,
    nan_policy: str = "raise",
    labelled: str = "all",
    prevalences: Sequence[float] = (0.5, 0.05, 0.01),
    n_resamples: int = 1000,
    seed: int = 0,
    allow_resubstitution: bool = False,
) -> EvaluationReport:
    """Evaluate a detector as a decision maker: whether its score ranks, and what its thresholds do to new answers.

    Development rows show whether a higher score means more risk; calibration rows choose the thresholds; everything
    else is measured on the test rows, once.

    Parameters
    ----------
    y_true : sequence of length n
        Labels: 1, True or "unsupported" for answers that are unsupported; others need ``pos_label``.
    y_score : sequence of length n, or ResponseScores
        The detector's scores. Those of :func:`response_scores` carry the rule that made them into the report.
    contract : EvaluationContract, optional
        What is declared. Its ``score_direction`` says which scores are riskier; without it higher is taken to be
        riskier, and the report says that this was not declared. Its ``score_is_probability`` decides whether
        calibration as a probability is measured.
    split : sequence of n str, optional
        "development", "calibration" or "test" for each row.
    development, calibration, test : bool array of shape (n,), or row numbers, optional
        The same as three sets of rows, instead of ``split``. Rows that are in none are not used; without any of these
        all rows are the test.
    groups : sequence of length n, optional
        What depends on each other, such as the source document. All intervals are then those of groups.
    ids : sequence of length n, optional
        What each row is called; no id may stand twice.
    max_far : float or sequence of float
        Budgets of false acceptance, one operating point for each; none where empty.
    rules : str or sequence of str
        How thresholds are chosen, see :func:`select_threshold`; each rule is tried with each budget.
    slices : mapping of str to sequence of length n, optional
        Columns of context, such as language or domain: their values are looked at one by one, both classes in each.
    baselines : mapping of str to sequence of length n, optional
        Simpler scores of the same rows, higher riskier, to be compared with.
    routing : (float, float), optional
        Thresholds for accepting and for rejecting; answers between them are reviewed.
    review_capacity, volume : float, optional
        Reviews that can be done and answers that come, in the same time.
    costs : CostVector, optional
        What false acceptance, false rejection and review cost; needs ``routing``.
    latency_ms : sequence of float, optional
        How long each answer took.
    about : mapping of section to mapping, optional
        What only the caller knows: ``{"detector": {"name": ..., "version": ...}, "dataset": {...}, ...}``. Fields of
        the report are filled in, others go to the section's "extra".
    test_lock : str, optional
        What :func:`rows_digest` said of the test rows before the detector was run; other rows are refused.
    sample_weight : sequence of length n, optional
        How many answers of the population each row stands for.
    pos_label : hashable, optional
        The label of unsupported rows.
    nan_policy : {"raise", "omit", "reject"}
        What becomes of rows without a score; "reject" counts them, never accepts them, and ranks them riskiest.
    labelled : {"all", "flagged"}
        "flagged" where only answers that a detector in use had flagged were labelled.
    prevalences : sequence of float
        Shares of unsupported answers at which precision and risk are computed.
    n_resamples, seed : int
        Of the group bootstrap.
    allow_resubstitution : bool
        Choose and evaluate thresholds on the same rows where there are no calibration rows; the report is stamped.

    Returns
    -------
    EvaluationReport

    Warns
    -----
    UserWarning
        Of parts that share groups, scores that run the other way, samples too small for a budget, and more; all
        warnings are in the report too.

    Raises
    ------
    TypeError, ValueError
        When a value cannot be used, parts overlap, thresholds would be chosen on the test rows, or these are not the
        rows that were locked.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> unsupported = rng.integers(0, 2, 600)
    >>> score = unsupported + rng.normal(0, 0.7, 600)
    >>> report = evaluate_detector(unsupported, score, split=["calibration"] * 300 + ["test"] * 300, max_far=[0.05])
    >>> point = report.operating_point(0.05)
    >>> point["feasible"], point["n_unsupported"], point["far_upper95"] > point["eval_far"]
    (True, 159, True)
    """
    rule_of_score = dict(y_score.rule) if isinstance(y_score, ResponseScores) else None
    labels = as_labels(y_true, pos_label=pos_label)
    n = len(labels)
    if not n:
        raise ValueError("y_true has no rows")
    if contract is not None and not isinstance(contract, EvaluationContract):
        raise TypeError(f"contract must be an EvaluationContract, got {type(contract).__name__}")
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy must be one of {', '.join(map(repr, NAN_POLICIES))}, got {nan_policy!r}")
    budgets = _several(max_far, "max_far")
    wanted = [str(rule) for rule in _several(rules, "rules")]
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise TypeError(f"seed must be a whole number from 0 on, which the report can name; got {seed!r}")
    parts = read_parts(
        n,
        split=split,
        development=development,
        calibration=calibration,
        test=test,
        needs_calibration=bool(budgets),
        allow_resubstitution=allow_resubstitution,
    )
    direction = None if contract is None else contract.score_direction
    rows = Rows(
        labels=labels,
        score=as_scores(y_score, n),
        groups=None if groups is None else _column(groups, n, "groups"),
        weight=as_weights(sample_weight, n),
        slices={name: _column(values, n, f"slices[{name!r}]") for name, values in (slices or {}).items()},
        baselines={name: as_scores(v, n, name=f"baselines[{name!r}]") for name, v in (baselines or {}).items()},
        latency=None if latency_ms is None else as_scores(latency_ms, n, name="latency_ms"),
        nan_policy=nan_policy,
        direction=direction or "higher_is_riskier",
        labelled=labelled,
    )
    names = None if ids is None else read_ids(ids, n)
    content = _told(contract, about, rule_of_score)
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        _selection(content, rows, parts, names, test_lock)
        measure_all(
            content,
            rows,
            parts,
            budgets=[float(budget) for budget in budgets],
            rules=wanted,
            is_probability=None if contract is None else contract.score_is_probability,
            prevalences=prevalences,
            routing=routing,
            costs=costs,
            review_capacity=review_capacity,
            volume=volume,
            n_resamples=check_resamples(n_resamples),
            seed=int(seed),
        )
    heard += list(dict.fromkeys(str(warning.message) for warning in caught))
    content["warnings"] = heard
    content["where_not_to_trust"] = where_not_to_trust(content)
    for message in heard:
        warnings.warn(message, UserWarning, stacklevel=2)
    return EvaluationReport(plain(content, "report"))


def _told(
    contract: EvaluationContract | None,
    about: Mapping[str, Mapping[str, Any]] | None,
    rule_of_score: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return a blank report with what was declared."""
    content: dict[str, Any] = blank()
    content["software"] = _software()
    direction = None
    if contract is not None:
        content["contract"] = contract.to_dict()
        content["unanswered"] = [question.number for question in contract.unanswered()]
        direction = contract.score_direction
        content["detector"]["score_is_probability"] = contract.score_is_probability
        content["dataset"]["label_definition"] = contract.label_definition
        content["labeling"]["reference_definition"] = contract.reference_regime
        if contract.split_strategy is not None:
            content["split"]["strategy"] = contract.split_strategy.get("primary")
        if contract.risk_control is not None:
            said = contract.risk_control.get("assumptions")
            content["risk_control"]["exchangeability_assumption"] = (
                "; ".join(map(str, said)) if isinstance(said, list) else said
            )
        _fill(content["generator"], contract.generator or {}, "contract.generator", ())
    content["detector"]["score_direction"] = direction
    content["detector"]["accept_rule"] = accept_rule(direction or "higher_is_riskier")
    content["detector"]["response_score"] = rule_of_score
    for name, values in (about or {}).items():
        if name not in ABOUT:
            raise ValueError(f"about has no section {name!r}; it has {', '.join(ABOUT)}")
        _fill(content[name], values, f"about[{name!r}]", _COMPUTED[name])
    return content


def _fill(section: dict[str, Any], values: Mapping[str, Any], name: str, computed: Sequence[str]) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a mapping, got {type(values).__name__}")
    for key, value in values.items():
        if key in computed:
            raise ValueError(f"{name}: {key!r} is computed, or declared in the contract")
        if key in section:
            section[key] = plain(value, f"{name}.{key}")
        elif "extra" in section:
            section["extra"][str(key)] = plain(value, f"{name}.{key}")
        else:
            raise ValueError(f"{name} has no field {key!r}; it has {', '.join(section)}")


def _software() -> dict[str, str]:
    found = {"mycelium": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn"):
        number = _version(name)
        if number is not None:
            found[name] = number
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _selection(
    content: dict[str, Any], rows: Rows, parts: Parts, names: list[str | int] | None, test_lock: str | None
) -> None:
    """Fill in which rows were used for what, and check that the test rows are those that were locked."""
    selection = content["selection"]
    digests = {}
    for name, index in parts.items():
        risky = int(rows.labels[index].sum())
        held = None if names is None else [names[i] for i in index.tolist()]
        digests[name] = rows_digest(rows.labels[index], held)
        selection["parts"][name] = {
            "n": len(index),
            "n_unsupported": risky,
            "n_supported": len(index) - risky,
            "n_groups": None if rows.groups is None else len({rows.groups[i] for i in index.tolist()}),
            "n_unscored": int(np.isnan(rows.score[index]).sum()),
            "digest": digests[name],
        }
        if f"{name}_split" in selection and selection[f"{name}_split"] is None:
            selection[f"{name}_split"] = name
    if test_lock is not None and test_lock != digests["test"]:
        raise ValueError(
            f"test_lock: the test rows are not those that were locked: their digest is {digests['test']}, locked was"
            f" {test_lock}"
        )
    selection["final_test_locked"] = None if test_lock is None else True
    selection["resubstitution"] = parts.resubstitution
    selection["disjoint_rows"] = not parts.resubstitution
    if rows.groups is not None:
        shared = shared_groups(parts, rows.groups)
        selection["disjoint_groups"] = not shared and not parts.resubstitution
        content["split"]["shared_groups"] = len(shared)
        if shared:
            warnings.warn(
                f"{len(shared)} groups, such as {shared[0]!r}, have rows in more than one part: what was chosen on"
                " their one half is tested on the other",
                UserWarning,
                stacklevel=2,
            )
    if parts.resubstitution:
        warnings.warn(
            "thresholds are chosen and evaluated on the same rows: their rates are too good, and no bound holds",
            UserWarning,
            stacklevel=2,
        )
    where = pointer("selection", "disjoint_groups")
    if rows.groups is not None and len(parts.items()) == 1:
        selection["disjoint_groups"] = None
        content["undefined"][where] = "there is only one part"


def _several(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, int, float, np.number)):
        return [values]
    found = list(values)
    twice = next((value for value in found if found.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"{name} holds {twice!r} twice")
    return found


def _column(values: Any, n: int, name: str) -> list[Any]:
    """Return a column as a list; a value may be missing in slices only."""
    if isinstance(values, (str, bytes, Mapping)):
        raise TypeError(f"{name} must be a sequence with a value for each row, got {type(values).__name__}")
    for convert in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, convert):
            found = list(getattr(values, convert)())
            break
    else:
        found = list(values)
    if len(found) != n:
        raise ValueError(f"{name} has {len(found)} values, expected one for each of the {n} rows")
    return found
