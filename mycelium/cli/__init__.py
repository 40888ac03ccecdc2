"""The command line: it reads, calls the library and prints; every number comes from :mod:`mycelium`.

Exit status: 0 when all went well, 1 when the data cannot be used (one line for each problem on standard error), 2 for
wrong usage.
"""

from mycelium.cli.entry import main

__all__ = ["main"]
