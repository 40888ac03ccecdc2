"""``mycelium demo``: the shipped samples, scored, with a look at one answer."""

from __future__ import annotations

import argparse
import json
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mycelium import samples
from mycelium.baseline import lexical_support
from mycelium.cli.common import Command, DataError
from mycelium.protocols import score_mu_shroom
from mycelium.report import slices_table
from mycelium.scoring import evaluate

__all__ = ["COMMANDS", "markers", "predict"]

_SHOWN = ("3", "8")
_NARROW = ["iou", "character", "span_coverage"]
_WIDTH = 78


def predict(schema: str) -> list[dict[str, Any]]:
    """Run the baseline on one of the samples and return the records of its prediction file.

    Parameters
    ----------
    schema : {"mu_shroom", "ragtruth"}
        Mu-SHROOM gets hard and soft labels, RAGTruth spans.
    """
    if schema == "mu_shroom":
        return [
            {"id": row["id"], **lexical_support(row["context"], row["model_output_text"])._asdict()}
            for row in samples.read("mu_shroom.jsonl")
        ]
    if schema != "ragtruth":
        raise ValueError(f"schema must be 'mu_shroom' or 'ragtruth', got {schema!r}")
    sources = {row["source_id"]: row["source_info"] for row in samples.read("ragtruth/source_info.jsonl")}
    return [
        {"id": row["id"], "spans": lexical_support(_flat(sources[row["source_id"]]), row["response"]).hard_labels}
        for row in samples.read("ragtruth/response.jsonl")
    ]


def _flat(source: Any) -> str:
    return source if isinstance(source, str) else json.dumps(source, ensure_ascii=False)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", metavar="DIR", help="copy the samples there, to try the commands on them")


def _run(args: argparse.Namespace) -> int:
    if args.write is not None:
        _copy(Path(args.write))
        return 0
    print("\n".join(_lines()))
    return 0


def _copy(folder: Path) -> None:
    targets = {name: folder.joinpath(name) for name in samples.FILES}
    taken = [target for target in targets.values() if target.exists()]
    if taken:
        raise DataError(*(f"{path}: exists already, nothing was written" for path in taken))
    for name, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(samples.FOLDER.joinpath(name).read_bytes())
    print(f"wrote samples to {folder}")


def _lines() -> Iterable[str]:
    answers = samples.read("ragtruth/response.jsonl")
    predictions = [row["spans"] for row in samples.read("ragtruth_baseline.jsonl")]
    task = {row["source_id"]: row["task_type"] for row in samples.read("ragtruth/source_info.jsonl")}
    spans: dict[str, Any] = {
        "references": [answer["labels"] for answer in answers],
        "predictions": predictions,
        "text": [answer["response"] for answer in answers],
    }
    gold, submission = samples.read("mu_shroom.jsonl"), samples.read("mu_shroom_baseline.jsonl")

    yield from textwrap.wrap(
        "Answers of language models, in which people marked what the source does not support, against what a detector "
        "marked. The samples are short and invented; the detector is a baseline without a model: it marks every word "
        "that the source does not contain.",
        _WIDTH,
    )
    yield from _heading(f"1  Two of {len(answers)} answers in RAGTruth's schema")
    first = True
    for answer, found in zip(answers, predictions, strict=True):
        if answer["id"] in _SHOWN:
            people = [(label["start"], label["end"]) for label in answer["labels"]]
            yield from () if first else ("",)
            yield from markers(answer["response"], {"people": ("^", people), "baseline": ("~", found)})
            first = False
    yield from _heading(f"2  All {len(answers)}, scored")
    yield evaluate(**spans, profile="ragtruth").to_table()
    yield ""
    yield "The line above is the signature. Quote it with the numbers: it names the"
    yield "conventions behind them."
    yield from _heading("3  By kind of task: F1, or the score of iou")
    narrow = evaluate(**spans, profile="ragtruth", metrics=_NARROW)
    yield slices_table(narrow.by([task[answer["source_id"]] for answer in answers]), name="task_type")
    yield from _heading(f"4  {len(gold)} answers in Mu-SHROOM's schema")
    yield evaluate(
        references=[row["hard_labels"] for row in gold],
        predictions=[row["hard_labels"] for row in submission],
        text=[row["model_output_text"] for row in gold],
        profile="mu_shroom",
    ).to_table()
    yield ""
    yield "and by the benchmark's own protocol, hard and soft labels:"
    yield ""
    yield str(score_mu_shroom(gold, submission))
    yield from _heading("From files: these commands print the numbers above")
    yield "mycelium demo --write samples"
    yield "mycelium score samples/ragtruth samples/ragtruth_baseline.jsonl \\"
    yield "    --profile ragtruth"
    yield "mycelium score samples/ragtruth samples/ragtruth_baseline.jsonl \\"
    yield f"    --profile ragtruth --metrics {','.join(_NARROW)} --by task_type"
    yield "mycelium score samples/mu_shroom.jsonl samples/mu_shroom_baseline.jsonl \\"
    yield "    --profile mu_shroom"
    yield "mycelium mu-shroom samples/mu_shroom.jsonl samples/mu_shroom_baseline.jsonl"
    yield ""
    yield "Put your own files in their place; 'mycelium score --help' has the formats."


def _heading(text: str) -> Iterable[str]:
    return "", text, "-" * len(text)


def markers(text: str, sides: dict[str, tuple[str, Sequence[Sequence[int]]]], width: int = _WIDTH) -> Iterable[str]:
    r"""Write a text with a line of markers under it for each side.

    Parameters
    ----------
    text : str
        The answer.
    sides : dict of str to (str, list of [start, end])
        For each side its sign and its spans; overlapping spans are marked once.
    width : int
        Columns of the terminal. East Asian characters and emoji take two of them, combining marks none.

    Examples
    --------
    >>> print("\n".join(markers("🙂 a bad fact", {"gold": ("^", [[4, 7]])})))
          🙂 a bad fact
    gold       ^^^
    """
    margin = max(map(len, sides)) + 2
    marked = {name: {i for start, end in spans for i in range(start, end)} for name, (_, spans) in sides.items()}
    for start, end in _rows(text, width - margin):
        yield (" " * margin + text[start:end]).rstrip()
        for name, (sign, _) in sides.items():
            signs = "".join(_wide(text[i]).replace("x", sign if i in marked[name] else " ") for i in range(start, end))
            if signs.strip():
                yield f"{name:<{margin}}{signs}".rstrip()


def _rows(text: str, width: int) -> Iterable[tuple[int, int]]:
    """Cut a text into stretches that fit the width, at white space where there is some."""
    start, space = 0, -1
    for i, character in enumerate(text):
        if not character.isspace() and len(_wide(text[start : i + 1])) > width:
            cut = space + 1 if space >= start else i
            yield start, cut
            start = cut
        if character.isspace():
            space = i
    if start < len(text):
        yield start, len(text)


def _wide(text: str) -> str:
    """Return an x for each column of the terminal that the text takes."""
    return "".join(
        "xx" if unicodedata.east_asian_width(character) in "WF" else "x"
        for character in text
        if unicodedata.category(character) not in ("Mn", "Me", "Cf")
    )


COMMANDS = (
    Command(
        "demo",
        "[--write DIR]",
        "score small shipped samples: see what it looks like, in seconds",
        """\
Score the samples that come with the package, in the schemas of RAGTruth and
Mu-SHROOM, with the output of a baseline detector, and show how to get the same
numbers from files.""",
        """\
examples:
  mycelium demo
  mycelium demo --write samples   copy the sample files to the folder 'samples'
""",
        _arguments,
        _run,
    ),
)
