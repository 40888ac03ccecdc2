"""Units and draws of them, and the replicated sums that draws make. It knows no metric.

A *unit* is what is drawn as a whole: one example, or all examples of one group (a source document, an item). Sums of
each unit's rows stand in an array (u, k), and a replicate is the sum of the units that were drawn: ``counts @ sums``.

All draws of the project come from :func:`draw` and :func:`swaps`. They depend on nothing but the seed and the number
of units, which stand in the order of their sorted keys:

1. a bootstrap replicate is ``rng.integers(0, u, size=u)``, one after the other, as ``scipy.stats.bootstrap`` draws;
2. a permutation swaps unit i where number i of ``rng.integers(0, 2**32, size=u, dtype=np.uint32)`` is even, as
   ``scipy.stats.permutation_test(permutation_type="samples")`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mycelium.progress import progress
from mycelium.spans import FloatArray, IntArray

__all__ = [
    "Units",
    "as_generator",
    "check_level",
    "check_resamples",
    "draw",
    "leave_one_out",
    "replicate",
    "seed_name",
    "sum_by_unit",
    "swaps",
    "units_of",
]

#: Counts of a block of draws. Fewer would make many small products, whose threads wait for each other.
CELLS = 1 << 19
#: Draws that are made at once: they stay in the cache until they are counted.
COUNTED = 1 << 17


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """Which rows are drawn together.

    Attributes
    ----------
    index : int64 array of shape (n,)
        Row i belongs to unit ``index[i]``.
    size : int
        The number u of units.
    keys : tuple of length u, or None
        The sorted keys of groups; None where each row is a unit of its own.
    """

    index: IntArray
    size: int
    keys: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def kind(self) -> str:
        """What a unit is: "example" or "group"."""
        return "example" if self.keys is None else "group"

    def describe(self) -> str:
        """Return the number of units in words."""
        return f"{self.size:,} {self.kind}{'s' * (self.size != 1)}"


def units_of(groups: Any, rows: int, *, name: str = "groups") -> Units:
    """Return the units that groups make of rows; without groups each row is one.

    Parameters
    ----------
    groups : sequence of length n, or None
        Value i names the group of row i: strings, integers, or whatever else can be hashed and sorted.
    rows : int
        The number n of rows.
    name : str
        What messages call the groups.

    Raises
    ------
    TypeError, ValueError
        When there are not n values, one is missing, or they cannot be sorted.

    Examples
    --------
    >>> units = units_of(["doc b", "doc a", "doc b"], 3)
    >>> units.keys, units.index.tolist()
    (('doc a', 'doc b'), [1, 0, 1])
    """
    if groups is None:
        return Units(np.arange(rows, dtype=np.int64), rows)
    if isinstance(groups, (str, bytes, dict)):
        raise TypeError(f"{name} must be a sequence with a value for each row, got {type(groups).__name__}")
    for convert in ("to_pylist", "tolist", "to_list"):
        if hasattr(groups, convert):
            groups = getattr(groups, convert)()
            break
    values = list(groups)
    if len(values) != rows:
        raise ValueError(f"{name} has {len(values)} values, expected one for each of the {rows} rows")
    numbers: dict[Any, int] = {}
    try:
        index = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    except TypeError:
        row = next(i for i, value in enumerate(values) if not _hashable(value))
        raise TypeError(f"{name}: row {row} is a {type(values[row]).__name__}, expected a string or a number") from None
    # NaN is the one value that differs from itself.
    missing = [value is None or value != value for value in numbers]
    if any(missing):
        row = next(i for i, value in enumerate(values) if value is None or value != value)
        raise ValueError(f"{name}: row {row} has no value ({values[row]!r})")
    try:
        keys = sorted(numbers)
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in numbers}))
        raise TypeError(f"{name} holds values that cannot be sorted together ({kinds}): give them one type") from None
    place = np.empty(len(keys), dtype=np.int64)
    place[[numbers[key] for key in keys]] = np.arange(len(keys))
    return Units(place[index] if rows else index, len(keys), tuple(keys))


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def sum_by_unit(values: NDArray[Any], units: Units, weights: IntArray | FloatArray | None = None) -> FloatArray:
    """Return the sums (u, k) of the rows (n, k) of each unit, each row times its weight of shape (n,)."""
    if weights is not None:
        values = values * weights[:, np.newaxis]
    if units.keys is None:
        return np.asarray(values, dtype=np.float64)
    sums = [np.bincount(units.index, column, len(units)) for column in values.T]
    return np.stack(sums, axis=-1, dtype=np.float64) if sums else np.zeros((len(units), 0))


# -- draws


def as_generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator behind a seed; a generator is used as it is, and moves on.

    Raises
    ------
    TypeError, ValueError
        When the seed is neither an integer from 0 on nor a ``numpy.random.Generator``.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed must be an integer or a numpy.random.Generator, got {seed!r} ({type(seed).__name__})")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    return np.random.default_rng(int(seed))


def seed_name(seed: int | np.random.Generator) -> str:
    """Return what a signature says of a seed: the number, or that a generator was given."""
    return "generator" if isinstance(seed, np.random.Generator) else str(int(seed))


def check_resamples(n_resamples: object, name: str = "n_resamples") -> int:
    """Return the number of resamples, or raise a TypeError or ValueError."""
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {n_resamples!r} ({type(n_resamples).__name__})")
    if n_resamples < 1:
        raise ValueError(f"{name} must be at least 1, got {n_resamples}")
    return int(n_resamples)


def check_level(level: object, name: str = "level") -> float:
    """Return a share strictly between 0 and 1, or raise a TypeError or ValueError."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number between 0 and 1, got {level!r} ({type(level).__name__})")
    if not 0 < level < 1:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded, got {level!r}")
    return float(level)


def draw(
    rng: np.random.Generator, size: int, n_resamples: int, *, drawn: int | None = None, reuse: bool = False
) -> Iterator[FloatArray]:
    """Draw units with replacement; yield how often each was drawn, in blocks of replicates.

    Parameters
    ----------
    rng : numpy.random.Generator
        Moves on by ``n_resamples * drawn`` integers, however the blocks are cut.
    size : int
        The number u of units.
    n_resamples : int
        The number B of replicates.
    drawn : int, optional
        How many units make a replicate; as many as there are by default.
    reuse : bool
        Give each block in the memory of the one before, which is faster for callers that are done with it by then.

    Yields
    ------
    float64 array of shape (b, u)
        Row i holds the counts of one replicate; all blocks together have B rows.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.concatenate(list(draw(np.random.default_rng(0), 4, 2)))
    >>> counts.tolist(), np.random.default_rng(0).integers(0, 4, size=(2, 4)).tolist()
    ([[0.0, 1.0, 2.0, 1.0], [3.0, 1.0, 0.0, 0.0]], [[3, 2, 2, 1], [1, 0, 0, 0]])
    """
    if not size:
        raise ValueError("there are no units to draw from")
    drawn = size if drawn is None else drawn
    step, few = (max(1, cells // max(size, drawn)) for cells in (CELLS, COUNTED))
    block = np.empty((min(step, n_resamples), size))
    for begin in range(0, n_resamples, step):
        if begin and not reuse:
            block = np.empty_like(block)
        block = block[: n_resamples - begin]
        for first in range(0, len(block), few):
            part = block[first : first + few]
            # One at a time: the counts of a single replicate stay in the cache.
            for counts, units in zip(part, rng.integers(0, size, (len(part), drawn)), strict=True):
                counts[:] = np.bincount(units, minlength=size)
        yield block


def swaps(
    rng: np.random.Generator, size: int, n_resamples: int, *, width: int = 1
) -> tuple[bool, Iterator[FloatArray]]:
    """Decide for each unit whether its two systems change places.

    Parameters
    ----------
    rng : numpy.random.Generator
        Not used where all patterns are taken.
    size : int
        The number u of units.
    n_resamples : int
        The number B of random patterns. Where there are no more than B patterns in all, each is taken once.
    width : int
        How many numbers will be made of each pattern; blocks are cut so that those fit into memory.

    Returns
    -------
    exact : bool
        Whether all ``2**u`` patterns are taken; the first is then the one that swaps nothing.
    blocks : iterator of float64 arrays of shape (b, u)
        1 where a unit is swapped, 0 where it is not.
    """
    if not size:
        raise ValueError("there are no units to swap")
    exact = size < 63 and 2**size <= n_resamples
    step = max(1, CELLS // max(size, width))
    return exact, (_all_swaps(size, step) if exact else _random_swaps(rng, size, n_resamples, step))


def _all_swaps(size: int, step: int) -> Iterator[FloatArray]:
    for begin in range(0, 2**size, step):
        pattern = np.arange(begin, min(begin + step, 2**size))[:, np.newaxis]
        yield ((pattern >> np.arange(size)) & 1).astype(np.float64)


def _random_swaps(rng: np.random.Generator, size: int, n_resamples: int, step: int) -> Iterator[FloatArray]:
    for begin in range(0, n_resamples, step):
        bits = rng.integers(0, 2**32, (min(step, n_resamples - begin), size), dtype=np.uint32)
        yield (1 - (bits & 1)).astype(np.float64)


def replicate(blocks: Iterator[FloatArray], sums: FloatArray, n_resamples: int, name: str = "replicates") -> FloatArray:
    """Return the sums (B, k) of each replicate, given blocks of counts (b, u) and the sums (u, k) of each unit."""
    out = np.empty((n_resamples, sums.shape[1]))
    done = 0
    with progress(n_resamples, name, "") as advance:
        for counts in blocks:
            np.matmul(counts, sums, out=out[done : done + len(counts)])
            done += len(counts)
            advance(len(counts))
    return out


def leave_one_out(sums: FloatArray) -> FloatArray:
    """Return the sums (u, k) of all units but one, given those of each."""
    return np.asarray(sums.sum(axis=0) - sums)
