"""The conventions under which a number was computed, checked once, and the signature that prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mycelium._version import __version__
from mycelium.formats.ingest import ENDS, MISSING_ROWS, UNITS
from mycelium.metrics import DEFAULT, Metric, get
from mycelium.profiles import AVERAGES, average_of, profile_name
from mycelium.spans import POLICIES

__all__ = ["Settings"]

#: The long-named parameters of ``evaluate``: each sets one parameter of one metric.
LONG_NAMES = {
    "span_coverage_delta": ("span_coverage", "delta"),
    "span_coverage_min_pred_len": ("span_coverage", "min_pred_len"),
    "deteval_recall_threshold": ("deteval_1d", "recall_threshold"),
    "deteval_precision_threshold": ("deteval_1d", "precision_threshold"),
    "deteval_granularity_penalty": ("deteval_1d", "granularity_penalty"),
    "cleval_area_precision_threshold": ("cleval_1d", "area_precision_threshold"),
    "cleval_granularity_penalty": ("cleval_1d", "granularity_penalty_weight"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that decides which number the same spans give.

    Attributes
    ----------
    metrics : tuple of (str, Metric)
        What is reported, each under its key.
    profile, average, undefined, tolerance, invalid, missing_rows, offsets, end
        As in :func:`mycelium.evaluate`.
    """

    metrics: tuple[tuple[str, Metric], ...]
    profile: str | None
    average: str
    undefined: float | None
    tolerance: float
    invalid: str
    missing_rows: str
    offsets: str
    end: str

    @classmethod
    def of(
        cls,
        *,
        metrics: Sequence[str | Metric] | str | Metric | None,
        profile: str | None,
        average: str | None,
        undefined: float | None,
        tolerance: float,
        invalid: str,
        missing_rows: str,
        offsets: str,
        end: str,
        long_named: dict[str, float],
    ) -> Settings:
        """Check the options and return them in canonical form."""
        profile = profile_name(profile)
        average = average_of(profile) if average is None else _choice("average", average, AVERAGES)
        if undefined is not None and (isinstance(undefined, bool) or undefined not in (0.0, 1.0)):
            raise ValueError(f"undefined must be None, 0.0 or 1.0, got {undefined!r}")
        return cls(
            metrics=_select(metrics, long_named, tolerance),
            profile=profile,
            average=average,
            undefined=None if undefined is None else float(undefined),
            tolerance=float(tolerance),
            invalid=_choice("invalid", invalid, POLICIES),
            missing_rows=_choice("missing_rows", missing_rows, MISSING_ROWS),
            offsets=_choice("offsets", offsets, UNITS),
            end=_choice("end", end, ENDS),
        )

    def signature(self, *, weighted: bool = False) -> str:
        """Return the conventions as one line; it changes whenever one of them could change a number."""
        parts = [
            "mycelium",
            f"v:{__version__}",
            f"avg:{self.average}",
            f"undef:{'default' if self.undefined is None else format(self.undefined, 'g')}",
            "unit:char",
            f"invalid:{self.invalid}",
            f"tol:{self.tolerance!r}" if self.tolerance else "tol:0",
        ]
        optional = (
            ("missing", self.missing_rows, "raise"),
            ("offsets", self.offsets, "codepoint"),
            ("end", self.end, "exclusive"),
            ("weights", "yes" if weighted else "no", "no"),
        )
        parts += [f"{name}:{value}" for name, value, default in optional if value != default]
        for _, metric in self.metrics:
            same = metric.values.get("tolerance") == self.tolerance
            parts.append(metric.name + metric.setting(*(["tolerance"] if same else [])))
        return "|".join(parts)


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def _select(
    metrics: Sequence[str | Metric] | str | Metric | None, long_named: dict[str, float], tolerance: float
) -> tuple[tuple[str, Metric], ...]:
    if metrics is None:
        metrics = DEFAULT
    elif isinstance(metrics, (str, Metric)):
        metrics = (metrics,)
    elif isinstance(metrics, (set, frozenset)):
        raise TypeError("metrics is a set, whose order is arbitrary; give a list")
    metrics = tuple(metrics)
    changed: dict[str, dict[str, float]] = {}
    for long_name, value in long_named.items():
        name, parameter = LONG_NAMES[long_name]
        try:
            metric = get(name).at(**{parameter: value})
        except (TypeError, ValueError) as error:
            raise type(error)(f"{long_name}: {error}") from None
        if metric.chosen:
            changed.setdefault(name, {})[parameter] = value
    selected: dict[str, Metric] = {}
    for choice in metrics:
        if isinstance(choice, Metric):
            key, metric = choice.key, choice
        elif choice in changed:
            key, metric = choice, get(choice).at(**changed[choice])
        else:
            metric = get(choice)
            key = metric.key
        if tolerance and any(p.name == "tolerance" for p in metric.parameters) and "tolerance" not in metric.chosen:
            metric = metric.at(tolerance=tolerance)
        if key in selected:
            raise ValueError(f"metrics holds {key!r} twice")
        selected[key] = metric
    if not selected:
        raise ValueError("metrics is empty")
    for name, parameters in changed.items():
        if name not in {choice for choice in metrics if isinstance(choice, str)}:
            long = next(k for k, v in LONG_NAMES.items() if v == (name, next(iter(parameters))))
            raise ValueError(f"{long} has no effect: {name!r} is not among the metrics chosen by key")
    get("deteval_1d").at(tolerance=tolerance)
    return tuple(selected.items())
