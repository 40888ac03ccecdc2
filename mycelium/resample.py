"""Draws of units, and what is made of them: replicated sums, intervals, permutation tests. It knows no metric.

A *unit* is what is drawn as a whole: one example, or all examples of one group (a source document, an item). Sums of
each unit's rows stand in an array (u, k), and a replicate is the sum of the units that were drawn: ``counts @ sums``.

All draws of the project come from :func:`draw` and :func:`swaps`. They depend on nothing but the seed and the number
of units, which stand in the order of their sorted keys:

1. a bootstrap replicate is ``rng.integers(0, u, size=u)``, one after the other, as ``scipy.stats.bootstrap`` draws;
2. a permutation swaps unit i where number i of ``rng.integers(0, 2**32, size=u, dtype=np.uint32)`` is even, as
   ``scipy.stats.permutation_test(permutation_type="samples")`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycelium.progress import progress
from mycelium.spans import BoolArray, FloatArray, IntArray

__all__ = [
    "ALTERNATIVES",
    "FEW",
    "METHODS",
    "Interval",
    "Permuted",
    "Units",
    "as_generator",
    "check_level",
    "check_resamples",
    "draw",
    "interval",
    "leave_one_out",
    "permutation_test",
    "replicate",
    "seed_name",
    "sum_by_unit",
    "swaps",
    "units_of",
]

METHODS = ("percentile", "bca", "basic")
ALTERNATIVES = ("two-sided", "greater", "less")
#: With fewer units than this, intervals from resampling are known to be too narrow.
FEW = 30
#: Counts of one block of draws: they stay in the cache until they are multiplied.
CELLS = 1 << 17
#: A permuted difference that is smaller only by rounding counts as one that reaches the observed.
SLACK = 1e-12


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


def draw(rng: np.random.Generator, size: int, n_resamples: int, *, drawn: int | None = None) -> Iterator[FloatArray]:
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
    step = max(1, CELLS // max(size, drawn))
    for begin in range(0, n_resamples, step):
        b = min(step, n_resamples - begin)
        chosen = rng.integers(0, size, (b, drawn))
        chosen += (np.arange(b) * size)[:, np.newaxis]
        yield np.bincount(chosen.ravel(), minlength=b * size).reshape(b, size).astype(np.float64)


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


# -- intervals


class Interval(NamedTuple):
    """An interval, the method behind it, and why that is not the one asked for, or says nothing ("" if all is well)."""

    low: float
    high: float
    method: str
    note: str = ""


def interval(
    point: float, replicates: FloatArray, level: float, method: str, jackknife: FloatArray | None = None
) -> Interval:
    """Return the interval that replicates of a score give.

    Parameters
    ----------
    point : float
        The score of the data themselves.
    replicates : float64 array of shape (B,)
        The score of each replicate.
    level : float
        The share of samples whose interval should hold the true score, e.g. 0.95.
    method : {"percentile", "bca", "basic"}
        Quantiles of the replicates; the same with bias and acceleration corrected; quantiles reflected at the point.
    jackknife : float64 array of shape (u,), optional
        The score without each unit, for the acceleration of "bca".

    Returns
    -------
    Interval
        Where "bca" is not defined, "percentile" takes its place and the note says why: all replicates lie on one side
        of the point, or leaving out a unit changes nothing. Where all replicates are equal the interval is that point,
        and the note says so.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 14.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    low, high = (1 - level) / 2, 1 - (1 - level) / 2
    note = ""
    if replicates.min() == replicates.max():
        method, note = "percentile", "all replicates are equal"
    elif method == "bca":
        shares, note = _bca(point, replicates, (1 - level) / 2, jackknife)
        if note:
            method = "percentile"
        else:
            low, high = shares
    bounds = np.percentile(replicates, [100 * low, 100 * high]).tolist()
    if method == "basic":
        bounds = [2 * point - bounds[1], 2 * point - bounds[0]]
    return Interval(bounds[0], bounds[1], method, note)


def _bca(
    point: float, replicates: FloatArray, tail: float, jackknife: FloatArray | None
) -> tuple[tuple[float, float], str]:
    """Return the two quantiles of the corrected interval, or why there are none."""
    normal = NormalDist()
    nothing = (0.0, 0.0)
    # A replicate equal to the point lies half below it.
    share = float((replicates < point).sum() + (replicates <= point).sum()) / (2 * len(replicates))
    if not 0 < share < 1:
        return nothing, "all replicates lie on one side of the score"
    if jackknife is None:
        raise ValueError("the method 'bca' needs the scores without each unit")
    influence = (len(jackknife) - 1) * (jackknife.mean() - jackknife)
    spread = float((influence**2).sum())
    if not spread > 0:
        return nothing, "no unit changes the score"
    acceleration = float((influence**3).sum()) / (6 * spread**1.5)
    bias = normal.inv_cdf(share)
    out = []
    for z in (normal.inv_cdf(tail), -normal.inv_cdf(tail)):
        stretch = 1 - acceleration * (bias + z)
        if not stretch > 0:
            return nothing, "the acceleration is too large"
        out.append(normal.cdf(bias + (bias + z) / stretch))
    return (out[0], out[1]), ""


# -- permutation tests


class Permuted(NamedTuple):
    """P-values of shape (m,), whether all patterns were taken, and how many were."""

    p_values: FloatArray
    exact: bool
    n_permutations: int


def permutation_test(
    observed: FloatArray,
    permuted: Callable[[FloatArray], FloatArray],
    size: int,
    n_resamples: int,
    rng: np.random.Generator,
    alternative: str = "two-sided",
    *,
    width: int = 1,
) -> Permuted:
    """Test whether two systems are exchangeable, by swapping what they did on whole units.

    Parameters
    ----------
    observed : float64 array of shape (m,)
        The m differences between systems, first minus second.
    permuted : callable
        Gives the differences (b, m) under patterns (b, u), which hold 1 where a unit is swapped.
    size : int
        The number u of units.
    n_resamples : int
        The number B of random patterns; all ``2**u`` are taken instead where there are no more.
    rng : numpy.random.Generator
        Source of the patterns.
    alternative : {"two-sided", "greater", "less"}
        Whether large differences of either sign count against the hypothesis, or of one.
    width : int
        How many numbers ``permuted`` makes of each pattern; it bounds the memory.

    Returns
    -------
    Permuted
        Exact p-values are the share of all patterns that reach the observed difference, the observed one included;
        others are (b + 1) / (B + 1) with b of B random patterns, never 0. A difference reaches the observed one
        also where it is smaller by rounding only, a share of 1e-12.

    References
    ----------
    Phipson and Smyth, "Permutation p-values should never be zero", SAGMB 2010.
    """
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(map(repr, ALTERNATIVES))}, got {alternative!r}")
    exact, blocks = swaps(rng, size, n_resamples, width=width)
    total = 2**size if exact else n_resamples
    reached = np.zeros(len(observed), dtype=np.int64)
    with progress(total, "permutations", "") as advance:
        for pattern in blocks:
            reached += _reaches(permuted(pattern), observed, alternative).sum(axis=0)
            advance(len(pattern))
    return Permuted(reached / total if exact else (reached + 1) / (total + 1), exact, total)


def _reaches(moved: FloatArray, observed: FloatArray, alternative: str) -> BoolArray:
    slack = np.abs(observed) * SLACK
    if alternative == "two-sided":
        return np.asarray(np.abs(moved) >= np.abs(observed) - slack)
    return np.asarray(moved >= observed - slack if alternative == "greater" else moved <= observed + slack)
