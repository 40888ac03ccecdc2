"""The conventions of typed scores, and the metrics they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelium.line import Line
from mycelium.metrics import Metric, character, partial, strict, strict_typed, typed_partial, valid_cases
from mycelium.metrics.base import Statistics
from mycelium.metrics.by_type import ABSENT, TypeRules, confusion, type_scores
from mycelium.metrics.parameters import show
from mycelium.settings import Settings
from mycelium.spans import FloatArray
from mycelium.typed.types import TYPES, types_of

__all__ = ["COUNTS", "MATCHINGS", "MEASURES", "UNKNOWN", "TypedSettings"]

#: The measures over all spans, in the order of reports.
MEASURES = ("strict", "strict_typed", "partial", "typed_partial", "character")
#: Rules by which spans become partners.
MATCHINGS = ("max_shared",)
#: What happens to a span whose type is not in the list.
UNKNOWN = ("raise", "ignore")
#: The key of the sums of counts, where a macro average keeps means instead.
COUNTS = "counts"


@dataclass(frozen=True)
class TypedSettings(Settings):
    """Everything that decides which number the same typed spans give.

    Attributes
    ----------
    rules : TypeRules
        The types, and how their spans are paired.
    matching, unknown_types, absent_types
        As in :func:`mycelium.evaluate_typed`.
    """

    rules: TypeRules
    matching: str
    unknown_types: str
    absent_types: str

    @classmethod
    def typed(
        cls,
        *,
        types: str | Sequence[str],
        average: str,
        overlap_credit: float,
        min_overlap: float,
        overlap_base: str,
        matching: str,
        unknown_types: str,
        absent_types: str,
        undefined: float | None,
        invalid: str,
        missing_rows: str,
        offsets: str,
        end: str,
    ) -> TypedSettings:
        """Check the options and return them in canonical form."""
        for name, value, known in (
            ("matching", matching, MATCHINGS),
            ("unknown_types", unknown_types, UNKNOWN),
            ("absent_types", absent_types, ABSENT),
        ):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
        joint = typed_partial.at(overlap_credit=overlap_credit, min_overlap=min_overlap, overlap_base=overlap_base)
        parameters = joint.values
        # The matchings of the strict measures are what those of the others begin with, so that these come first.
        measures = (partial.at(**parameters), joint, strict, strict_typed, character)
        base = Settings.of(
            metrics=measures,
            profile=None,
            average=average,
            undefined=undefined,
            tolerance=0.0,
            invalid=invalid,
            missing_rows=missing_rows,
            offsets=offsets,
            end=end,
            long_named={},
        )
        rules = TypeRules(types_of(types), **parameters)  # type: ignore[arg-type]
        metrics = [
            *((metric.name, metric) for metric in measures),
            ("types", type_scores(rules, absent=absent_types)),
            ("confusion", confusion(rules)),
            ("valid_cases", valid_cases),
        ]
        if base.average == "macro":
            metrics.append((COUNTS, _pooled_counts(metrics[: len(measures)])))
        shared = {name: getattr(base, name) for name in Settings.__dataclass_fields__ if name != "metrics"}
        return cls(
            metrics=tuple(metrics),
            **shared,
            rules=rules,
            matching=matching,
            unknown_types=unknown_types,
            absent_types=absent_types,
        )

    def for_types(self, included: Sequence[bool]) -> TypedSettings:
        """Return the settings with the set of types over which the mean is taken, where absent types are left out."""
        types = type_scores(self.rules, absent=self.absent_types, included=tuple(included))
        metrics = tuple((key, types if key == "types" else metric) for key, metric in self.metrics)
        return replace(self, metrics=metrics)

    def number(self, key: str) -> int:
        """Return the place of a metric."""
        return [name for name, _ in self.metrics].index(key)

    @property
    def columns(self) -> int:
        """Number of statistics of an example."""
        return sum(len(metric.columns) for _, metric in self.metrics)

    def signature(self, *, weighted: bool = False) -> str:
        """Return the conventions as one line; it changes whenever one of them could change a number."""
        common = replace(self, metrics=())
        return "|".join(
            [
                Settings.signature(common, weighted=weighted),
                "typed",
                f"types:{_types_name(self.rules.types)}",
                f"matching:{self.matching}",
                f"credit:{show(self.rules.overlap_credit)}",
                f"min_overlap:{show(self.rules.min_overlap)}",
                f"base:{self.rules.overlap_base}",
                f"absent:{self.absent_types}",
                f"unknown:{self.unknown_types}",
            ]
        )


def _types_name(types: tuple[str, ...]) -> str:
    """Return the name of a list of types, or its types, those with strange characters in quotes."""
    for name, known in TYPES.items():
        if types == known:
            return name
    return ",".join(name if all(c.isalnum() or c in " -_." for c in name) else repr(name) for name in types)


@dataclass(frozen=True)
class _Counter:
    """Count what several metrics count, side by side."""

    metrics: tuple[Metric, ...]

    def __call__(self, line: Line, **_: Any) -> Statistics:
        return np.concatenate([metric.count(line) for metric in self.metrics], axis=1)


@dataclass(frozen=True)
class _Nothing:
    """There is nothing to divide."""

    def __call__(self, totals: Statistics, undefined: float, **_: Any) -> FloatArray:
        return np.zeros((*totals.shape[:-1], 0))


def _pooled_counts(metrics: Sequence[tuple[str, Metric]]) -> Metric:
    return Metric(
        name=COUNTS,
        summary="counts over all examples",
        stats=_Counter(tuple(metric for _, metric in metrics)),
        evaluate=_Nothing(),
        columns=tuple(f"{key}.{column}" for key, metric in metrics for column in metric.columns),
        outputs=(),
        reference="the metrics that are counted",
        pooled=True,
    )
