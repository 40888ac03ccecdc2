"""``mycelium mu-shroom`` and ``mycelium check``: the benchmark's scorer, and what is wrong with a submission."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from mycelium.cli.common import Command, complain
from mycelium.formats.files import write_text
from mycelium.protocols import Problem, check_mu_shroom, score_mu_shroom

__all__ = ["COMMANDS", "hint"]


def hint(problems: Sequence[Problem]) -> str:
    """Say which option would go on in spite of the problems, where there is one."""
    kinds = {problem.kind for problem in problems}
    if "error" in kinds:
        return ""
    options = [
        text
        for kind, text in (
            ("invalid", "--invalid drop leaves invalid spans out"),
            ("missing", "--missing empty counts rows without a prediction as rows where nothing was found"),
        )
        if kind in kinds
    ]
    return "nothing was scored; " + "; ".join(options) if options else ""


def _score_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("references", metavar="REF.jsonl", help="the benchmark's labelled rows; '-' is standard input")
    parser.add_argument("predictions", metavar="PRED.jsonl", help="the submission; '-' is standard input")
    parser.add_argument("output", metavar="OUT.txt", nargs="?", help="write the two lines to this file too")
    parser.add_argument(
        "--invalid",
        choices=("raise", "drop"),
        default="raise",
        help="spans outside the text, empty spans and soft spans without prob: refuse them (default), or leave them "
        "out before anything is derived and say how many",
    )
    parser.add_argument(
        "--missing",
        choices=("raise", "empty"),
        default="raise",
        help="rows of REF without a prediction: refuse (default), or count them as rows where nothing was found",
    )


def _score(args: argparse.Namespace) -> int:
    if args.references == args.predictions == "-":
        args.parser.error("only one of REF.jsonl and PRED.jsonl can be standard input")
    score = score_mu_shroom(args.references, args.predictions, invalid=args.invalid, missing=args.missing)
    for note in score.notes():
        complain(note)
    if args.output is not None:
        write_text(args.output, f"{score}\n")
    print(score)
    return 0


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("predictions", metavar="PRED.jsonl", help="the submission; '-' is standard input")
    parser.add_argument(
        "--texts",
        metavar="REF.jsonl",
        required=True,
        help="the benchmark's rows with id and model_output_text; labels are not needed",
    )


def _check(args: argparse.Namespace) -> int:
    if args.predictions == args.texts == "-":
        args.parser.error("only one of PRED.jsonl and REF.jsonl can be standard input")
    found = check_mu_shroom(args.predictions, args.texts)
    for problem in found:
        print(problem)
    notes = len([problem for problem in found if problem.kind == "note"])
    problems = len(found) - notes
    name = "<stdin>" if args.predictions == "-" else args.predictions
    print(f"{name}: {_some(problems, 'problem')}, {_some(notes, 'note')}")
    return 1 if problems else 0


def _some(count: int, thing: str) -> str:
    return f"{count or 'no'} {thing}{'s' * (count != 1)}"


COMMANDS = (
    Command(
        "mu-shroom",
        "REF.jsonl PRED.jsonl [OUT.txt] [options]",
        "score a Mu-SHROOM submission exactly as its organisers do",
        """\
Score a Mu-SHROOM (SemEval-2025 task 3) submission as the organisers' own scorer
does, and print the same two lines: IoU and Cor, to 8 decimals.

Rows are paired by id. Missing or null hard_labels are derived from soft_labels
(prob > 0.5, sorted, joined where they touch), missing or null soft_labels from
hard_labels (prob 1); [] is present and says that nothing is marked.
Whatever is wrong with the files is refused, by file and line.""",
        """\
examples:
  mycelium mu-shroom mushroom.en-tst.v1.jsonl my-en.jsonl
  mycelium mu-shroom mushroom.en-tst.v1.jsonl my-en.jsonl scores.txt
  mycelium mu-shroom mushroom.en-tst.v1.jsonl my-en.jsonl --invalid drop
""",
        _score_arguments,
        _score,
    ),
    Command(
        "check",
        "PRED.jsonl --texts REF.jsonl",
        "list every problem of a Mu-SHROOM submission file",
        """\
List every problem of a submission file, as FILE:LINE: id: problem. Lines marked
'note' do not hinder scoring. No gold labels are needed, so participants can run
this before they submit.""",
        """\
example:
  mycelium check my-en.jsonl --texts mushroom.en-tst.v1.jsonl

exit status: 0 the file can be scored (notes at most); 1 it has problems
""",
        _check_arguments,
        _check,
    ),
)
