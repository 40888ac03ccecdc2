"""How errors are laid out as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mycelium.errors.kinds import ERRORS, KINDS, SIDES
from mycelium.metrics.names import main_output
from mycelium.tables import render, with_notes

if TYPE_CHECKING:
    from mycelium.errors.result import Errors

__all__ = ["main_table", "slices_table", "worst_table"]

#: The line of all errors together, with the scores before any repair.
ALL = "as it is"
COLUMNS = ("cases", *SIDES)


def main_table(errors: Errors, format: str, digits: int) -> str:
    """Return a line for each verdict that occurs, and one for all errors."""
    names = [kind for kind in KINDS if errors.counts[kind]["cases"]]
    counts: dict[str, dict[str, int]] = {kind: errors.counts[kind] for kind in names}
    counts[ALL] = {column: sum(errors.counts[kind][column] for kind in ERRORS) for column in COLUMNS}
    if format == "csv":
        return _csv(errors, counts)
    scores, repaired = errors["scores"], errors["repaired"]
    primary = {key: main_output(outputs) for key, outputs in scores.items()}
    body = []
    for name, count in counts.items():
        cells = [name, *(str(count[column]) for column in COLUMNS)]
        for key, output in primary.items():
            now = scores[key][output]
            if name == ALL:
                cells.append(f"{now:.{digits}f}")
            else:
                cells.append(f"{repaired[name][key][output] - now:+.{digits}f}" if name in repaired else "")
        body.append(cells)
    return with_notes(render(["verdict", *COLUMNS, *scores], body, format=format), _notes(errors), format)


def _notes(errors: Errors) -> list[str]:
    meta = errors["meta"]
    n, references, predictions = (meta[name] for name in ("examples", *SIDES))
    first = (
        f"{n:,} example{'s' * (n != 1)}, {references:,} references, {predictions:,} predictions,"
        f" {'types count' if meta['typed'] else 'boundaries only'}; {meta['average']} average"
    )
    changed = [f"{name} {count}" for name, count in errors.invalid._asdict().items() if count]
    first += f"; leniency: {', '.join(changed)}" if changed else ""
    if errors["repaired"]:
        first += "\nwith a sign: what repairing this kind alone adds to the score below; these need not add up"
    return [first, errors.signature]


def _csv(errors: Errors, counts: Mapping[str, Mapping[str, int]]) -> str:
    scores = errors["scores"]
    outputs = [(key, output) for key in scores for output in scores[key]]
    body = []
    for name, count in counts.items():
        after = scores if name == ALL else errors["repaired"].get(name)
        values = ["" if after is None else repr(after[key][output]) for key, output in outputs]
        body.append(["", "", name, *(str(count[column]) for column in COLUMNS), *values, errors.signature])
    for name, parts in errors["slices"].items():
        for value, part in parts.items():
            for kind in counts:
                if kind != ALL:
                    cells = [str(part["counts"][kind][column]) for column in COLUMNS]
                    body.append([name, value, kind, *cells, *("" for _ in outputs), errors.signature])
    header = ["by", "value", "verdict", *COLUMNS, *(f"{key}.{output}" for key, output in outputs), "signature"]
    return render(header, body, format="csv")


def slices_table(errors: Errors, name: str, parts: Mapping[str, Any], format: str, count: str) -> str:
    """Return a line for each slice, a column for each verdict that occurs anywhere."""
    kinds = [kind for kind in KINDS if errors.counts[kind][count]]
    body = [
        [value, str(part["examples"]), *(str(part["counts"][kind][count]) for kind in kinds)]
        for value, part in parts.items()
    ]
    return render([name, "examples", *kinds], body, format=format)


def worst_table(
    examples: Sequence[Mapping[str, Any]], slices: Sequence[str], score: str, typed: bool, format: str
) -> str:
    """Return a line for each span; what speaks of the example stands in its first line only, but for CSV."""
    header = ["id", *slices, score, "errors"]
    numbers = {len(header) - 2, len(header) - 1}
    quoted = any("excerpt" in span for example in examples for side in SIDES for span in example[side])
    header += ["side", "verdict", "span", *(["type"] if typed else []), *(["excerpt"] if quoted else [])]
    body = []
    for example in examples:
        score_cell = "" if example["score"] is None else f"{example['score']:.4f}"
        head = [str(example["id"]), *example["slices"].values(), score_cell, str(example["errors"])]
        for side in SIDES:
            for span in example[side]:
                cells = [side[:-1], span["verdict"], f"[{span['start']}, {span['end']})"]
                cells += [span["type"] or ""] if typed else []
                body.append([*head, *cells, *([span["excerpt"]] if quoted else [])])
                if format != "csv":
                    head = ["" for _ in head]
    return render(header, body, format=format, names=set(range(len(header))) - numbers)
