"""The accumulator that options ask for, of spans or of typed spans, and back: for entrances that take them by name."""

from __future__ import annotations

import inspect
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from mycelium.metrics import DEFAULT, REGISTRY
from mycelium.metrics.names import flat_name
from mycelium.scoring import Accumulator
from mycelium.settings import LONG_NAMES
from mycelium.typed import TypedAccumulator
from mycelium.typed.settings import TypedSettings

__all__ = ["OPTIONS", "READING", "TYPED_OPTIONS", "accumulator", "options_of", "reading", "result_names"]

#: The options of an accumulator, and of one of typed spans, in the order of their signatures.
OPTIONS = tuple(inspect.signature(Accumulator).parameters)
TYPED_OPTIONS = tuple(inspect.signature(TypedAccumulator).parameters)

#: Options that act on input as it is read.
READING = ("invalid", "missing_rows", "offsets", "end")
_SHARED = ("average", "undefined", "tolerance", *READING)


def accumulator(*, typed: bool | None = None, **options: Any) -> Accumulator:
    """Make an accumulator; of typed spans where there is a list of types.

    Parameters
    ----------
    typed : bool, optional
        Whether spans are typed; by default when ``types`` is among the options and not None. Without a list of types,
        typed spans have none that is known, which is enough to read and to check.
    **options
        Those of :class:`mycelium.Accumulator`, or of :class:`mycelium.TypedAccumulator`. None leaves an option its
        default.

    Raises
    ------
    TypeError, ValueError
        When there is no such option, or its value is refused.

    Examples
    --------
    >>> accumulator(metrics=["iou"], types=None).settings.metrics[0][0]
    'iou'
    >>> accumulator(types="ragtruth", metrics=None).settings.rules.types[0]
    'Evident Conflict'
    >>> accumulator(overlap_credit=1.0)
    Traceback (most recent call last):
    ...
    TypeError: overlap_credit is an option of typed spans: give types too
    """
    typed = options.get("types") is not None if typed is None else typed
    known, others = (TYPED_OPTIONS, OPTIONS) if typed else (OPTIONS, TYPED_OPTIONS)
    given = {name: value for name, value in options.items() if name in known or value is not None}
    for name in given:
        if name in known:
            continue
        if name in others:
            raise TypeError(
                f"{name} is no option of typed spans, whose measures are fixed"
                if typed
                else f"{name} is an option of typed spans: give types too"
            )
        near = get_close_matches(name, known, n=1)
        hint = f", did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"there is no option {name!r}{hint} (known: {', '.join(known)})")
    if not typed:
        return Accumulator(**given)
    for name in ("types", "average"):
        if given.get(name) is None:
            given.pop(name, None)
    return TypedAccumulator(**{"types": (), **given})


def options_of(scores: Accumulator) -> dict[str, Any]:
    """Return the options that are not the default, in JSON's types: they make an accumulator with equal settings.

    Raises
    ------
    ValueError
        When a metric is not registered, so that its name says nothing elsewhere.

    Examples
    --------
    >>> from mycelium import Accumulator
    >>> options_of(Accumulator(metrics=["iou", "span_coverage"], span_coverage_delta=2, profile="ragtruth"))
    {'metrics': ['iou', 'span_coverage'], 'profile': 'ragtruth', 'span_coverage_delta': 2}
    """
    settings = scores.settings
    if isinstance(settings, TypedSettings):
        return _typed_options(settings)
    strange = [key for key, metric in settings.metrics if REGISTRY.get(metric.name) != replace(metric, chosen={})]
    if strange:
        raise ValueError(
            f"{', '.join(strange)}: not a registered metric, so that other processes do not know it;"
            " see mycelium.metrics.register"
        )
    options: dict[str, Any] = {}
    keys = [key for key, _ in settings.metrics]
    if keys != list(DEFAULT):
        options["metrics"] = keys
    if settings.profile is not None:
        options["profile"] = settings.profile
    options |= _changed(settings, Accumulator(**options).settings, _SHARED)
    for long_name, (name, parameter) in LONG_NAMES.items():
        chosen = dict(settings.metrics)[name].chosen if name in keys else {}
        if parameter in chosen:
            options[long_name] = chosen[parameter]
    return options


def _typed_options(settings: TypedSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"types": list(settings.rules.types)}
    default = TypedAccumulator(types=options["types"]).settings
    rules = ("overlap_credit", "min_overlap", "overlap_base")
    own = ("average", "undefined", "matching", "unknown_types", "absent_types", *READING)
    return {**options, **_changed(settings, default, own), **_changed(settings.rules, default.rules, rules)}


def _changed(given: Any, default: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(given, name) for name in names if getattr(given, name) != getattr(default, name)}


def reading(scores: Accumulator) -> dict[str, Any]:
    """Return the options that the readers of input take."""
    return {name: getattr(scores.settings, name) for name in READING}


def result_names(scores: Accumulator) -> list[str]:
    """Return the keys of the results, as :meth:`mycelium.Report.flat` names them.

    Examples
    --------
    >>> from mycelium import Accumulator
    >>> result_names(Accumulator(metrics=["iou", "character"]))
    ['iou', 'character_precision', 'character_recall', 'character_f1']
    >>> result_names(accumulator(types=["A"]))[-4:]
    ['weighted_f1', 'valid_cases_clean', 'valid_cases_caught', 'valid_cases_localised']
    """
    if not isinstance(scores, TypedAccumulator):
        return [flat_name(key, output) for key, metric in scores.settings.metrics for output in metric.outputs]
    # The names of a typed report depend on the settings only: any report tells.
    empty = accumulator(**options_of(scores))
    empty.update([[]], [[]])
    return list(empty.compute().flat())
