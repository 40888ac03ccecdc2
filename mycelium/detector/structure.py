"""The structure of a report: the JSON Schema that is shipped, a blank report made from it, and what breaks it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

__all__ = ["blank", "faults", "pointer", "report_schema", "resolve"]


@lru_cache(maxsize=1)
def _schema() -> dict[str, Any]:
    text = files("mycelium.detector").joinpath("schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of reports, a copy.

    Examples
    --------
    >>> report_schema()["properties"]["schema_version"]
    {'type': 'string', 'const': '1'}
    """
    copy: dict[str, Any] = json.loads(json.dumps(_schema()))
    return copy


def blank(section: str | None = None) -> Any:
    """Return a report in which nothing was measured, or one section of it; an item where the section is a list."""
    schema = _schema()
    if section is None:
        return _blank(schema)
    found = _resolved(schema["properties"][section])
    return _blank(found["items"] if found.get("type") == "array" else found)


def _blank(schema: Any) -> Any:
    schema = _resolved(schema)
    if "const" in schema:
        return schema["const"]
    kinds = _kinds(schema)
    if "null" in kinds or None in schema.get("enum", ()):
        return None
    if "object" in kinds:
        return {name: _blank(schema["properties"][name]) for name in schema.get("required", ())}
    return []


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of a place.

    Examples
    --------
    >>> pointer("operating_points", 0, "eval_far"), pointer("a/b")
    ('/operating_points/0/eval_far', '/a~1b')
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def resolve(document: Any, path: str) -> Any:
    """Return what stands at a JSON pointer.

    Raises
    ------
    KeyError
        When nothing does.
    """
    if path and not path.startswith("/"):
        raise KeyError(path)
    value = document
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise KeyError(path)
    return value


def faults(document: Any) -> list[str]:
    """Return what is wrong with the structure of a report, a line for each fault; none where all is well.

    Checks the schema, that numbers are finite, and that each entry of ``undefined`` names a place that holds null.
    """
    found = list(_faults(document, _schema(), ""))
    if found:
        return found
    for path, why in document["undefined"].items():
        found += _contradicted(document, path, why)
    return found


def _contradicted(document: Any, path: str, why: str) -> list[str]:
    try:
        value = resolve(document, path)
    except KeyError:
        return [f"/undefined: {path!r} names no place of the report"]
    return [] if value is None else [f"{path} holds {_shown(value)}, and 'undefined' says that it has no value ({why})"]


def _faults(value: Any, schema: Any, place: str) -> Iterator[str]:
    schema = _resolved(schema)
    where = place or "the report"
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value!r}, expected a finite number or null"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value!r}, expected {schema['const']!r}"
        return
    if "enum" in schema and not any(
        value is one or (type(value) is type(one) and value == one) for one in schema["enum"]
    ):
        yield f"{where} is {value!r}, expected one of {', '.join(map(json.dumps, schema['enum']))}"
        return
    kinds = _kinds(schema)
    if kinds and _kind(value) not in kinds and not (_kind(value) == "integer" and "number" in kinds):
        yield f"{where} is {_shown(value)}, expected {' or '.join(kinds)}"
        return
    if isinstance(value, Mapping):
        yield from _of_object(value, schema, place)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            yield f"{where} has {len(value)} items, expected {schema['minItems']}"
        for i, item in enumerate(value):
            yield from _faults(item, schema.get("items", True), place + pointer(i))
    elif _kind(value) in ("integer", "number") and not _within(value, schema):
        limits = [f"{words} {schema[key]}" for key, words in _LIMITS.items() if key in schema]
        yield f"{where} is {value!r}, expected {' and '.join(limits)}"


def _within(value: float, schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


_LIMITS = {"minimum": "at least", "maximum": "at most"}


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place}{pointer(name)} is absent: what was not measured stands there as null"
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _faults(item, properties[name], place + pointer(name))
        elif others is False:
            yield f"{place}{pointer(name)} is no field of a report"
        else:
            yield from _faults(item, others, place + pointer(name))


def _resolved(schema: Any) -> Any:
    if schema is True:
        return {}
    while "$ref" in schema:
        schema = resolve(_schema(), schema["$ref"].removeprefix("#"))
    return schema


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    names = {str: "string", list: "array", dict: "object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), type(value).__name__)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
