"""The command ``mycelium``: its parser, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from mycelium._version import __version__
from mycelium.cli import (
    annotators,
    compare,
    demo,
    detector,
    errors,
    gate,
    leaderboard,
    listing,
    mu_shroom,
    register,
    score,
    view,
)
from mycelium.cli.common import DataError, Formatter, add_command, complain, join_metrics
from mycelium.protocols import SubmissionError

__all__ = ["build_parser", "main"]

_EPILOG = """\
start here:
  mycelium demo                         see what is scored and how it looks
  mycelium score gold.jsonl pred.jsonl  score your own files
  mycelium score --help                 formats, options, examples

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
"""

#: What a shell reports of a program that ended because its reader did: 128 + SIGPIPE.
_BROKEN_PIPE = 141
_NAMED = 20


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="mycelium",
        description="The scorer for hallucination-span detection.",
        epilog=_EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument("--version", action="version", version=f"mycelium {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    modules = (
        score,
        compare,
        errors,
        annotators,
        detector,
        gate,
        view,
        mu_shroom,
        leaderboard,
        demo,
        listing,
        register,
    )
    for module in modules:
        for command in module.COMMANDS:
            add_command(commands, command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 fine, 1 the data cannot be used, 3 a gate or a check of a report does not pass, 141 the reader of the output
        went away. Wrong usage and ``--help`` leave by SystemExit, as argparse does.
    """
    _speak_utf8()
    try:
        args = build_parser().parse_args(join_metrics(sys.argv[1:] if argv is None else argv))
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Nobody reads any more. What is still buffered must not raise again when the interpreter ends.
        _forget_stdout()
        return _BROKEN_PIPE
    except SubmissionError as error:
        for problem in error.problems[:_NAMED]:
            complain(str(problem))
        if len(error.problems) > _NAMED:
            complain(f"... and {len(error.problems) - _NAMED} more problems, {len(error.problems)} in all")
        if hint := mu_shroom.hint(error.problems):
            complain(hint)
    except DataError as error:
        for line in error.lines:
            complain(line)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        complain(f"{place}{error.strerror}" if error.strerror else str(error))
    except (ImportError, TypeError, ValueError) as error:
        complain(str(error))
    return 1


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says: the samples and many texts would not print otherwise."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(encoding="utf-8")


def _forget_stdout() -> None:
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
