"""``mycelium register-evaluate``: make ``evaluate.load("mycelium")`` find the library."""

from __future__ import annotations

import argparse

from mycelium.cli.common import Command

__all__ = ["COMMANDS"]


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--remove", action="store_true", help="undo the registration")


def _run(args: argparse.Namespace) -> int:
    from mycelium.hf import register, unregister

    if args.remove:
        print("\n".join(unregister()) or "nothing was registered")
    else:
        print(register())
    return 0


COMMANDS = (
    Command(
        "register-evaluate",
        "[--remove]",
        'make evaluate.load("mycelium") work',
        """\
Put the evaluate module into the cache of evaluate, so that evaluate.load("mycelium")
finds it, and print its path. Another HF_HOME or HF_MODULES_CACHE is another cache.
Without it, evaluate.load(mycelium.hf.path()) works everywhere.""",
        """\
Without a network, HF_EVALUATE_OFFLINE=1 saves the wait for the Hub. A folder that holds
mycelium/mycelium.py comes before the registered module when Python runs there.
""",
        _arguments,
        _run,
    ),
)
