"""A bar on a terminal, for what takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress"]

#: Seconds before the bar comes up.
DELAY = 1.0


@contextmanager
def progress(total: int | None, name: str, unit: str = "it") -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many steps are done since the last call.

    The bar needs tqdm and a terminal at standard error, and comes up after a second; without either nothing is shown.

    Examples
    --------
    >>> with progress(10, "replicates") as advance:
    ...     advance(10)
    """
    bar: Any = None
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            bar = tqdm(total=total, desc=name, unit=unit, unit_scale=True, leave=False, delay=DELAY)
    try:
        yield (lambda steps: None) if bar is None else bar.update
    finally:
        if bar is not None:
            bar.close()
