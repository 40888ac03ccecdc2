"""What the commands share: their description, messages, and the metrics named on the command line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mycelium.metrics import Metric, get
from mycelium.metrics.base import REGISTRY

__all__ = ["Command", "DataError", "Formatter", "add_command", "complain", "join_metrics", "metric_list"]


class Command(NamedTuple):
    """A command: its name, its usage after that, one line, more lines, examples, its arguments and what it does."""

    name: str
    usage: str
    summary: str
    description: str
    epilog: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that keeps the line breaks of descriptions and examples, with a little more room for option names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)


class DataError(Exception):
    """The data cannot be used: one line for each problem."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def add_command(commands: Any, command: Command) -> None:
    """Add a command to the subparsers."""
    parser = commands.add_parser(
        command.name,
        help=command.summary,
        description=command.description,
        usage=f"mycelium {command.name} {command.usage}",
        epilog=command.epilog,
        formatter_class=Formatter,
    )
    command.arguments(parser)
    # The parser goes along, for wrong usage that shows only when several arguments are seen together.
    parser.set_defaults(run=command.run, parser=parser)


def complain(message: str) -> None:
    """Print one line to standard error."""
    print(f"mycelium: {message}", file=sys.stderr)


_SEPARATOR = re.compile(r"[,\s]+(?![^(]*\))")
_METRIC = re.compile(r"([A-Za-z_]\w*)(\([^()]*\))?,?")


def metric_list(text: str) -> list[Metric]:
    """Read metric names, separated by commas or spaces: ``"iou, span_coverage(delta=2)"``.

    Raises
    ------
    argparse.ArgumentTypeError
        When there is no such metric or parameter.
    """
    names = [name for name in _SEPARATOR.split(text.strip()) if name]
    if not names:
        raise argparse.ArgumentTypeError("no metric named")
    try:
        return [get(name) for name in names]
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def join_metrics(arguments: Sequence[str]) -> list[str]:
    """Make one argument of the metric names after ``--metrics``, which argparse would take for file names."""
    out: list[str] = []
    open_list = False
    for argument in arguments:
        match = _METRIC.fullmatch(argument)
        if open_list and out[-1] != "--metrics" and match and match[1] in REGISTRY:
            out[-1] = f"{out[-1]} {argument}"
            continue
        if argument == "--metrics" or argument.startswith("--metrics="):
            open_list = True
        elif out[-1:] != ["--metrics"]:
            open_list = False
        out.append(argument)
    return out
