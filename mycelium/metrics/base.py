"""What a metric is, the registry, and the one division that owns 0/0.

A metric is two plain functions: ``stats`` counts, on a whole batch at once, and ``value`` divides. Between them stand
additive columns, so that sums over any set of examples are meaningful and nothing else needs to know the metric.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.formats import read_spans
from mycelium.inputs import common_length
from mycelium.line import Line, check_labels, lines
from mycelium.metrics.names import main_output
from mycelium.metrics.parameters import Parameter, Setting, parse, show
from mycelium.spans import BoolArray, FloatArray, SpanBatch

__all__ = [
    "DEFAULT",
    "REGISTRY",
    "Metric",
    "Parameter",
    "available",
    "divide",
    "get",
    "precision_recall_f1",
    "register",
]

Statistics = NDArray[Any]
Stats = Callable[..., Statistics]
Value = Callable[..., FloatArray]


def columns(*statistics: NDArray[Any]) -> Statistics:
    """Put arrays of shape (n,) side by side as (n, k); each column stays contiguous."""
    joined: Statistics = np.stack(statistics).T
    return joined


def divide(numerator: NDArray[Any], denominator: NDArray[Any], undefined: float) -> FloatArray:
    """Divide element by element; where the denominator is 0 the result is ``undefined``.

    The numerator must be 0 wherever the denominator is: it counts a part of it.
    """
    a, b, _ = _defined(numerator, denominator, undefined)
    return np.asarray(a / b)


def _defined(
    numerator: NDArray[Any], denominator: NDArray[Any], undefined: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Replace 0/0 by undefined/1; returns both parts and where that happened."""
    a, b = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    nothing = b == 0
    # Adding a mask is several times faster than choosing by it.
    if undefined != undefined:
        a = np.where(nothing, undefined, a)
    elif undefined:
        a = a + (nothing if undefined == 1 else nothing * undefined)
    return a, b + nothing, nothing


def precision_recall_f1(
    precise: NDArray[Any],
    predicted: NDArray[Any],
    recalled: NDArray[Any],
    referenced: NDArray[Any],
    undefined: float,
    *,
    beta: float = 1.0,
) -> FloatArray:
    """Return precision, recall and F1 along a new last axis.

    With precision a/b and recall c/d, an undefined side replaced by (undefined, 1), F1 = 2ac / (ad + bc), and 0 when
    that denominator is 0. It is computed from the totals, so that no rounding of the two ratios enters, and a side
    that is defined and 0 makes it 0 whatever stands for the other.

    Parameters
    ----------
    precise, predicted : arrays of shape (...)
        Numerator and denominator of precision; where the denominator is 0, so is the numerator.
    recalled, referenced : arrays of shape (...)
        Numerator and denominator of recall, likewise.
    undefined : float
        The value of a side with nothing to divide by; NaN is allowed.
    beta : float
        How many times recall counts as much as precision: F-beta = (1 + beta**2)ac / (beta**2 ad + bc).

    Returns
    -------
    float64 array of shape (..., 3)
        Precision, recall, F1.
    """
    a, b, no_precision = _defined(precise, predicted, undefined)
    c, d, no_recall = _defined(recalled, referenced, undefined)
    out = np.empty((3, *b.shape))
    out[0] = a / b
    out[1] = c / d
    both = beta * beta * a * d + b * c
    out[2] = (1.0 + beta * beta) * a * c / (both + (both == 0))
    if undefined != undefined:
        out[2, (no_precision & (c == 0)) | (no_recall & (a == 0))] = 0.0
    return np.moveaxis(out, 0, -1)


def _always(**_: Setting) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: how to count, how to divide, and what one must know of it.

    Attributes
    ----------
    name : str
        Key in the registry, e.g. ``"span_coverage"``.
    summary : str
        One line for people.
    stats : callable
        ``stats(line, **values)`` counts on a :class:`~mycelium.line.Line` of n examples and returns an (n, k) array,
        int64 where ``integer`` says so, else float64. Row i speaks of example i.
    evaluate : callable
        ``evaluate(totals, undefined, **values)`` turns statistics of shape (..., k) into values of shape
        (..., outputs). It is the only place that divides.
    columns : tuple of str
        Names of the k additive statistics.
    outputs : tuple of str
        Names of the values, ``("precision", "recall", "f1")`` or ``("score",)``.
    reference : str
        Where the definition comes from.
    parameters : tuple of Parameter
        The numbers and choices it depends on.
    chosen : mapping of str to float or str
        Their values where they differ from the default; set by :meth:`at`.
    undefined : float
        Value of a side with nothing to divide by, unless the caller says otherwise.
    bounds : tuple of float
        Smallest and largest value.
    greater_is_better : bool
        Direction.
    needs : frozenset of str
        What it reads beside the boundaries of references and predictions: ``"soft"`` for probability spans and text
        lengths, ``"labels"`` for the type of every span.
    integer : callable
        ``integer(**values)`` tells whether the statistics are counts (int64).
    pooled : bool
        Whether it speaks of all examples together only, like a share of examples of one kind: it divides sums over all
        examples under either average.

    Examples
    --------
    Called, a metric scores one pair of sets:

    >>> from mycelium.metrics import span_coverage
    >>> span_coverage([[0, 10]], [[2, 8], [20, 21]])
    span_coverage(precision=0.5, recall=1.0, f1=0.6666666666666666)
    >>> span_coverage.at(delta=2).key
    'span_coverage(delta=2)'
    """

    name: str
    summary: str
    stats: Stats
    evaluate: Value
    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    reference: str
    parameters: tuple[Parameter, ...] = ()
    chosen: Mapping[str, Setting] = field(default_factory=dict)
    undefined: float = 1.0
    bounds: tuple[float, float] = (0.0, 1.0)
    greater_is_better: bool = True
    needs: frozenset[str] = frozenset()
    integer: Callable[..., bool] = field(default=_always)
    pooled: bool = False

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        # A registered metric is pickled by name: its functions belong to the code, not to the data.
        registered = REGISTRY.get(self.name)
        if registered is not None and replace(registered, chosen=self.chosen) == self:
            return _restore, (self.name, self.chosen)
        return Metric, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def values(self) -> dict[str, Setting]:
        """The values of all parameters."""
        return {p.name: self.chosen.get(p.name, p.default) for p in self.parameters}

    @property
    def key(self) -> str:
        """The name with the parameters that are not the default, e.g. ``"span_coverage(delta=2)"``."""
        return self.name + self.setting()

    def setting(self, *hidden: str) -> str:
        """Return the parameters that are not the default as ``"(name=value,...)"``, without the hidden ones."""
        shown = [f"{name}={show(value)}" for name, value in self.chosen.items() if name not in hidden]
        return f"({','.join(shown)})" if shown else ""

    @property
    def primary(self) -> str:
        """The output that stands for the metric where one number is wanted: ``"f1"`` or ``"score"``."""
        return main_output(self.outputs)

    def at(self, **parameters: Setting) -> Metric:
        """Return the metric with other parameters.

        Raises
        ------
        TypeError, ValueError
            When a parameter is unknown or outside its range.
        """
        known = {p.name: p for p in self.parameters}
        values = self.values
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{self.name} has no parameter {name!r}; it has {_names(known) or 'none'}")
            values[name] = known[name].check(value, self.name)
        chosen = {name: values[name] for name in known if values[name] != known[name].default}
        return replace(self, chosen=chosen)

    def count(self, line: Line) -> Statistics:
        """Return the (n, k) statistics of the examples on a line."""
        return self.stats(line, **self.values)

    def value(self, totals: Statistics, undefined: float | None = None) -> FloatArray:
        """Turn statistics, or sums of them, of shape (..., k) into values of shape (..., outputs)."""
        return self.evaluate(totals, self.undefined if undefined is None else undefined, **self.values)

    def statistics(
        self,
        references: Any,
        predictions: Any,
        *,
        text: Any = None,
        soft_references: Any = None,
        soft_predictions: Any = None,
    ) -> Statistics:
        """Count on a batch.

        Parameters
        ----------
        references, predictions : batches of span sets
            Whatever :func:`mycelium.as_spans` reads, n rows each.
        text : sequence of str, optional
            The n texts; bounds are checked against them.
        soft_references, soft_predictions : batches of spans with probabilities, optional
            For metrics that need them.

        Returns
        -------
        array of shape (n, k)
            Row i holds the statistics of example i, in the order of ``columns``.
        """
        given = {
            "references": references,
            "predictions": predictions,
            "soft_references": soft_references,
            "soft_predictions": soft_predictions,
        }
        sides = {
            name: read_spans(x, name=name, text=text)[0]
            for name, x in given.items()
            if x is not None or not name.startswith("soft")
        }
        check_rows(**sides)
        length = common_length(sides)
        check_needs([self], soft_references, soft_predictions, length is not None, sides)
        parts = [
            self.count(line)
            for line in lines(
                sides["references"],
                sides["predictions"],
                soft_references=sides.get("soft_references"),
                soft_predictions=sides.get("soft_predictions"),
                text_length=length,
            )
        ]
        if not parts:
            return np.zeros((0, len(self.columns)), dtype=np.int64 if self.integer(**self.values) else np.float64)
        return np.concatenate(parts)

    def __call__(
        self,
        references: Any,
        predictions: Any,
        *,
        text: str | None = None,
        undefined: float | None = None,
        soft_references: Any = None,
        soft_predictions: Any = None,
    ) -> Any:
        """Score one pair of span sets; returns a named tuple of plain floats with the outputs as fields."""
        counted = self.statistics(
            [references],
            [predictions],
            text=None if text is None else [text],
            soft_references=None if soft_references is None else [soft_references],
            soft_predictions=None if soft_predictions is None else [soft_predictions],
        )
        score = namedtuple(self.name, self.outputs)  # type: ignore[misc]
        return score(*self.value(counted, undefined)[0].tolist())


def _restore(name: str, chosen: dict[str, Setting]) -> Metric:
    return get(name).at(**chosen)


def check_rows(**sides: SpanBatch | None) -> int:
    """Return the common number of rows, or raise a ValueError that names the numbers."""
    rows = {name: len(side) for name, side in sides.items() if side is not None}
    if len(set(rows.values())) > 1:
        raise ValueError("numbers of rows differ: " + ", ".join(f"{name} has {n}" for name, n in rows.items()))
    return next(iter(rows.values()))


def check_needs(
    metrics: Iterable[Metric],
    soft_references: object,
    soft_predictions: object,
    has_text: bool,
    sides: Mapping[str, SpanBatch] | None = None,
) -> None:
    """Raise a ValueError when a metric lacks what it reads; types are looked for in the sides, if given."""
    chosen = list(metrics)
    typed = next((metric for metric in chosen if "labels" in metric.needs), None)
    if typed is not None and sides is not None:
        try:
            for name in ("references", "predictions"):
                check_labels(sides[name], name)
        except ValueError as error:
            raise ValueError(f"{typed.key} reads types; {error}") from None
    for metric in chosen:
        if "soft" not in metric.needs:
            continue
        lacking = [
            name
            for name, present in (
                ("soft_references", soft_references is not None),
                ("soft_predictions", soft_predictions is not None),
                ("text", has_text),
            )
            if not present
        ]
        if lacking:
            raise ValueError(f"{metric.key} needs {' and '.join(lacking)}")


#: All metrics by name, in the order in which they are reported.
REGISTRY: dict[str, Metric] = {}

#: What a report holds unless metrics are chosen.
DEFAULT = ("exact_span", "iou", "character", "deteval_1d", "cleval_1d", "span_coverage")


def register(metric: Metric) -> Metric:
    """Add a metric to the registry and return it.

    Raises
    ------
    ValueError
        When the name is taken or is not an identifier, or two columns, outputs or parameters share a name.
    """
    if not metric.name.isidentifier():
        raise ValueError(f"a metric's name must be an identifier, got {metric.name!r}")
    if metric.name in REGISTRY:
        raise ValueError(f"a metric named {metric.name!r} is registered already")
    for kind, names in (
        ("columns", metric.columns),
        ("outputs", metric.outputs),
        ("parameters", tuple(p.name for p in metric.parameters)),
    ):
        if len(set(names)) != len(names):
            raise ValueError(f"{metric.name}: {kind} must have distinct names, got {names}")
    REGISTRY[metric.name] = metric
    return metric


_VARIANT = re.compile(r"^(\w+)(?:\(([^()]*)\))?$")


def get(key: str) -> Metric:
    """Return a metric by key; ``"span_coverage(delta=2)"`` gives the variant.

    Raises
    ------
    ValueError
        When there is no such metric or parameter.

    Examples
    --------
    >>> from mycelium import metrics
    >>> metrics.get("span_coverage(delta=2)").values
    {'delta': 2, 'min_pred_len': 1}
    """
    match = _VARIANT.match(key.replace(" ", "")) if isinstance(key, str) else None
    if match is None or match[1] not in REGISTRY:
        raise ValueError(f"there is no metric {key!r}; there are {_names(REGISTRY)}")
    metric = REGISTRY[match[1]]
    if not match[2]:
        return metric
    parameters: dict[str, Setting] = {}
    for part in match[2].split(","):
        name, _, value = part.partition("=")
        try:
            parameters[name] = parse(value)
        except ValueError:
            raise ValueError(f"{key!r}: {part!r} should read name=value") from None
    return metric.at(**parameters)


def available() -> list[Metric]:
    """Return all registered metrics in the order of reports."""
    return list(REGISTRY.values())


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
