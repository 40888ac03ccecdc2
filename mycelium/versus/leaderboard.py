"""leaderboard(): systems in order, how sure their order is, and what could not be ranked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from mycelium.additive import additive
from mycelium.draws import Units, as_generator, check_level, check_resamples, seed_name, swaps, units_of
from mycelium.metrics import Metric
from mycelium.resample import FEW, interval
from mycelium.spans import BoolArray
from mycelium.versus.boards import Leaderboard
from mycelium.versus.contest import Contest
from mycelium.versus.letters import letters
from mycelium.versus.multiplicity import CORRECTIONS, adjust
from mycelium.versus.submissions import Submissions

__all__ = ["Leaderboard", "leaderboard", "rank_systems"]

HYPOTHESIS = "the two systems of a pair are exchangeable: swapping their outputs on any units would have been as likely"


def leaderboard(
    references: Any,
    systems: Mapping[str, Any],
    *,
    by: Any = None,
    groups: Any = None,
    metric: str | Metric = "iou",
    output: str | None = None,
    average: str | None = None,
    profile: str | None = None,
    text: Any = None,
    undefined: float | None = None,
    tolerance: float = 0.0,
    invalid: str = "raise",
    missing_rows: str = "raise",
    offsets: str = "codepoint",
    end: str = "exclusive",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int | np.random.Generator = 0,
    correction: str = "holm",
) -> Leaderboard:
    """Rank systems on the same examples, and say how sure each rank is.

    Parameters
    ----------
    references : batch of n span sets
        Whatever :func:`mycelium.as_spans` reads; every row must be annotated.
    systems : mapping of str to batch of n span sets
        For each system its predictions; row i belongs to ``references[i]``, and None says that nothing was submitted
        for it. ``[]`` says that nothing was found.
    by : sequence of length n, optional
        Value i names the slice of example i, e.g. its language. Each slice gets a board of its own, and the overall
        score is the mean of a system's scores over the slices, which all count the same.
    groups : sequence of length n, optional
        Value i names the group of example i, e.g. its source document. Groups are drawn and swapped as a whole;
        within each slice for itself.
    metric : str or Metric
        The metric that ranks; with ``"soft_correlation"`` the spans of both sides carry probabilities.
    output : str, optional
        ``"precision"``, ``"recall"``, ``"f1"`` or ``"score"``: the output that ranks; F1, or the score, by default.
    average, profile, text, undefined, tolerance, invalid, offsets, end
        As in :func:`mycelium.evaluate`.
    missing_rows : {"raise", "empty"}
        What a system with some rows of a slice missing gets: refused there, or the missing rows counted as rows in
        which nothing was found. A slice of which a system has no row at all is never counted.
    level : float
        Level of the intervals, and 1 minus that of the tests.
    n_resamples : int
        Number of bootstrap replicates, and of permutations.
    seed : int or numpy.random.Generator
        Each board draws with the seed anew; a generator moves on from board to board.
    correction : {"holm", "bh", "none"}
        How the p-values of all pairs of a board are adjusted. With ``"holm"`` the probability that a board tells
        apart any two systems that do not differ is at most 1 - level, so that its rank intervals hold together.

    Returns
    -------
    Leaderboard
        A dict with ``overall``, ``slices``, ``refused``, ``missing`` and ``meta``. A row of a board has

        * ``rank``: 1 plus the number of systems with a better score; equal scores share a rank;
        * ``system``, ``score`` (the very number of :func:`mycelium.evaluate`), ``interval`` (percentile bootstrap);
        * ``ranks``: from 1 plus the number of systems that are significantly better, to the number of systems minus
          that of those that are significantly worse;
        * ``group``: letters; two systems share one if and only if they cannot be told apart.

        The overall board holds the systems that are scored in every slice. A system is refused where its rows are
        invalid or only some are there; it stays in the other slices, and other systems are not concerned.

    Raises
    ------
    TypeError, ValueError
        When references or options cannot be used, no system can be scored anywhere, or ``n_resamples`` is too small
        for any p-value to pass the adjusted level.

    Warns
    -----
    UserWarning
        Where a board has fewer than 30 units, or so few that no pair could differ significantly.

    Notes
    -----
    Two systems differ where a two-sided paired permutation test, which swaps their outputs on whole units, has an
    adjusted p-value of at most 1 - level.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across neighbourhoods and
    academic achievement across countries", Review of Economic Studies 91(1), 2024.

    Examples
    --------
    >>> from mycelium.versus.leaderboard import leaderboard
    >>> gold = [[[i, i + 10]] for i in range(40)]
    >>> systems = {
    ...     "exact": gold,
    ...     "near": [[[i, i + (8 if i % 2 else 10)]] for i in range(40)],
    ...     "also near": [[[i, i + (10 if i % 2 else 8)]] for i in range(40)],
    ... }
    >>> board = leaderboard(gold, systems)
    >>> for row in board["overall"]:
    ...     print(row["rank"], row["system"], row["score"], row["ranks"], row["group"])
    1 exact 1.0 [1, 1] a
    2 near 0.9 [2, 3] b
    2 also near 0.9 [2, 3] b
    """
    board = rank_systems(
        references,
        systems,
        by=by,
        groups=groups,
        metric=metric,
        output=output,
        average=average,
        profile=profile,
        text=text,
        undefined=undefined,
        tolerance=tolerance,
        invalid=invalid,
        missing_rows=missing_rows,
        offsets=offsets,
        end=end,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        correction=correction,
    )
    if not any([board["overall"], *board["slices"].values()]):
        reasons = [f"{record['system']}: {record['reason']}" for record in board["refused"]]
        reasons += [f"{record['system']}: every row is None" for record in board["missing"]]
        raise ValueError("no system can be scored: " + "; ".join(dict.fromkeys(reasons)))
    return board


def rank_systems(
    references: Any,
    systems: Mapping[str, Any],
    *,
    groups: Any,
    level: float,
    n_resamples: int,
    seed: int | np.random.Generator,
    correction: str,
    refused: Mapping[str, Mapping[str | None, str]] | None = None,
    **options: Any,
) -> Leaderboard:
    """Do what :func:`leaderboard` does, also where nothing can be scored.

    ``refused`` names systems that are refused from the outset in some slices, with the reason; the rest is as there.
    """
    level = check_level(level)
    n_resamples = check_resamples(n_resamples)
    as_generator(seed)
    if correction not in CORRECTIONS:
        raise ValueError(f"correction must be one of {', '.join(map(repr, CORRECTIONS))}, got {correction!r}")
    if not isinstance(systems, Mapping):
        raise TypeError(f"systems must be a mapping of names to predictions, got {type(systems).__name__}")
    if not systems:
        raise ValueError("systems is empty")
    for name in systems:
        if not isinstance(name, str):
            raise TypeError(f"systems: names must be strings, got {name!r} ({type(name).__name__})")
    submissions = Submissions(references, **options)
    if groups is not None:
        groups = _listed(groups, submissions.examples)
    for name, predictions in systems.items():
        submissions.add(name, predictions, (refused or {}).get(name, {}))
    rank = _Ranking(submissions, groups, level, n_resamples, seed, correction)
    return rank.board()


def _listed(groups: Any, rows: int) -> list[Any]:
    """Check the groups as a whole, so that messages name rows of the input, and return them as a list."""
    units = units_of(groups, rows)
    assert units.keys is not None
    return [units.keys[i] for i in units.index]


class _Ranking:
    """Boards of the slices and of all of them together."""

    def __init__(
        self,
        submissions: Submissions,
        groups: list[Any] | None,
        level: float,
        n_resamples: int,
        seed: int | np.random.Generator,
        correction: str,
    ) -> None:
        self.submissions = submissions
        self.level, self.n_resamples, self.seed, self.correction = level, n_resamples, seed, correction
        self.units = [
            units_of(None if groups is None else [groups[i] for i in members], len(members))
            for members in submissions.members
        ]
        #: The level of the tests: 1 - level, without the rounding of that.
        self.alpha = round(1 - level, 12)
        self.column = submissions.metric.outputs.index(submissions.output)

    def board(self) -> Leaderboard:
        found = self.submissions
        everywhere = list(range(len(found.slices)))
        sliced = found.slices != [None]
        chosen = {"overall": everywhere} | ({f"slice {found.slices[i]!r}": [i] for i in everywhere} if sliced else {})
        names = {
            title: [name for name in found.systems if all((i, name) in found.entries for i in numbers)]
            for title, numbers in chosen.items()
        }
        self._check({title: (len(names[title]), self._size(numbers)) for title, numbers in chosen.items()})
        boards = [self._rank(names[title], numbers) for title, numbers in chosen.items()]
        keys = [str(key) for key in found.slices] if sliced else []
        size = self._size(everywhere)
        settings = found.settings
        board = Leaderboard(
            {
                "overall": boards[0][0],
                "slices": dict(zip(keys, (rows for rows, _ in boards[1:]), strict=True)),
                "refused": found.refused,
                "missing": found.missing,
                "meta": {
                    "metric": found.key,
                    "output": found.output,
                    "greater_is_better": found.metric.greater_is_better,
                    "average": settings.average,
                    "profile": settings.profile,
                    "examples": found.examples,
                    "unit": self.units[0].kind,
                    "units": size,
                    "level": self.level,
                    "method": "percentile",
                    "n_resamples": self.n_resamples,
                    "seed": None if isinstance(self.seed, np.random.Generator) else int(self.seed),
                    "alpha": self.alpha,
                    "correction": self.correction,
                    "hypothesis": HYPOTHESIS,
                    "overall": boards[0][1],
                    "slices": dict(zip(keys, (meta for _, meta in boards[1:]), strict=True)),
                    "leniency": {name: counts._asdict() for name, counts in found.leniency.items()},
                },
            }
        )
        parts = [found.signature, "rank:permutation", f"adjust:{self.correction}", f"level:{self.level:g}"]
        parts += [f"resamples:{self.n_resamples}", f"seed:{seed_name(self.seed)}"]
        parts += [f"slices:{len(keys)}"] if sliced else []
        parts += [f"units:{size} {self.units[0].kind}{'s' * (size != 1)}"]
        board.signature = "|".join(parts)
        return board

    def _size(self, numbers: Sequence[int]) -> int:
        return sum(map(len, (self.units[i] for i in numbers)))

    def _check(self, boards: Mapping[str, tuple[int, int]]) -> None:
        """Check for each board of so many systems on so many units that a difference can show at all."""
        few, powerless, too_few = [], [], []
        for title, (systems, size) in boards.items():
            pairs = math.comb(systems, 2)
            family = min(pairs, 1) if self.correction == "none" else pairs
            exact, _ = swaps(np.random.default_rng(0), size, self.n_resamples)
            # In an exact test the observed pattern and its mirror image always reach the observed difference.
            smallest = 2 / 2**size if exact else 1 / (self.n_resamples + 1)
            within_reach = family * smallest <= self.alpha * (1 + 1e-9)
            if not exact and not within_reach:
                too_few.append((family, systems, title))
            if systems and size < FEW:
                few.append(f"{title} ({size})")
            if exact and not within_reach:
                powerless.append(f"{title} ({size})")
        if too_few:
            family, systems, title = max(too_few)
            raise ValueError(
                f"n_resamples={self.n_resamples} is too small for {systems} systems ({title}): with {family} pairs no"
                f" adjusted p-value can be {self.alpha:g} or less; take at least"
                f" {math.ceil(family / self.alpha - 1e-9) - 1}"
            )
        if few:
            warnings.warn(
                f"fewer than {FEW} {self.units[0].kind}s: intervals are too narrow in {', '.join(few)};"
                " collect more, or read them as a lower bound of the uncertainty",
                UserWarning,
                stacklevel=5,
            )
        if powerless:
            warnings.warn(
                f"so few {self.units[0].kind}s that no two systems could differ significantly in"
                f" {', '.join(powerless)}: equal letters say nothing there; collect more",
                UserWarning,
                stacklevel=5,
            )

    def _rank(self, systems: list[str], numbers: Sequence[int]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return the rows of one board, over one slice or several, and what must be known of it."""
        found = self.submissions
        k = len(systems)
        meta: dict[str, Any] = {
            "systems": k,
            "examples": sum(len(found.members[i]) for i in numbers),
            "units": self._size(numbers),
            "family_size": math.comb(k, 2),
            "n_permutations": 0,
            "exact": False,
        }
        if not k:
            return [], meta
        scores = [math.fsum(found.entries[i, name].score for i in numbers) / len(numbers) for name in systems]
        sign = 1 if found.metric.greater_is_better else -1
        order = sorted(range(k), key=lambda j: -sign * scores[j])
        systems, scores = [systems[j] for j in order], [scores[j] for j in order]
        contest = Contest(
            [[[self._additive(found.entries[i, name].statistics, self.units[i])] for name in systems] for i in numbers]
        )
        replicates = contest.replicates(self.n_resamples, self.seed)[:, :, self.column]
        different: BoolArray = np.zeros((k, k), dtype=bool)
        if k > 1:
            pairs = np.array(list(combinations(range(k), 2)), dtype=np.int64)
            tested = contest.test(pairs, self.n_resamples, self.seed)
            significant = adjust(tested.p_values[:, self.column], self.correction) <= self.alpha
            different[pairs[:, 0], pairs[:, 1]] = different[pairs[:, 1], pairs[:, 0]] = significant
            meta |= {"n_permutations": tested.n_permutations, "exact": tested.exact}
        groups = letters(different)
        rows = []
        for j in range(k):
            bounds = interval(scores[j], replicates[:, j], self.level, "percentile")
            rows.append(
                {
                    "rank": 1 + sum(sign * other > sign * scores[j] for other in scores),
                    "system": systems[j],
                    "score": scores[j],
                    "interval": [bounds.low, bounds.high],
                    # Systems that differ and stand above are better, those below are worse.
                    "ranks": [1 + int(different[j, :j].sum()), k - int(different[j, j + 1 :].sum())],
                    "group": groups[j],
                }
            )
        return rows, meta

    def _additive(self, statistics: Any, units: Units) -> Any:
        settings = self.submissions.settings
        return additive(self.submissions.metric, settings.average, settings.undefined, statistics, units)
