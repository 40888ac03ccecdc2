"""RankDisplay: the ranks of systems and how far they could lie apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mycelium.plot import rows as _rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["RankDisplay"]


class RankDisplay:
    """Ranks of systems with their intervals, and letters that tell which systems cannot be told apart.

    Parameters
    ----------
    labels : sequence of length n
        The systems; the first stands on top.
    ranks, lows, highs : sequences of n finite numbers
        Number i is the rank of system i, 1 being the best, and the two ends of its interval.
    groups : sequence of n str, optional
        Letters: systems that share one cannot be told apart.
    name : str
        What is drawn, written below the axis.
    level : float, optional
        That of the intervals, e.g. 0.95, to be written with it.
    note : str, optional
        A last line below the axis, such as the number of examples.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on; this and what follows is there after :meth:`plot`.
    figure_ : matplotlib Figure
        The figure that holds them.
    points_ : matplotlib Line2D
        The markers of the ranks.
    intervals_ : matplotlib LineCollection
        The intervals, one segment a row.

    Raises
    ------
    TypeError, ValueError
        When there is no row, a column has another length than ``labels``, or a value is not a finite number.

    Examples
    --------
    >>> from mycelium.plot import RankDisplay
    >>> from mycelium.versus.leaderboard import leaderboard
    >>> gold = [[[0, 10]]] * 40
    >>> board = leaderboard(gold, {"half": [[[0, 5]]] * 40, "exact": gold}, n_resamples=999)
    >>> display = RankDisplay.from_leaderboard(board)
    >>> display.labels, display.ranks, display.groups
    (['exact', 'half'], [1.0, 2.0], ['a', 'b'])
    >>> display.plot().figure_.savefig("ranks.png")  # doctest: +SKIP
    """

    ax_: Axes
    figure_: Figure | SubFigure
    points_: Line2D
    intervals_: LineCollection

    def __init__(
        self,
        labels: Iterable[object],
        ranks: Iterable[float],
        lows: Iterable[float],
        highs: Iterable[float],
        *,
        groups: Iterable[str] | None = None,
        name: str = "rank",
        level: float | None = None,
        note: str | None = None,
    ) -> None:
        self.labels, columns = _rows.check_rows(labels, ranks=ranks, lows=lows, highs=highs)
        self.ranks, self.lows, self.highs = columns
        _rows.check_order(self.lows, self.highs)
        self.groups = None if groups is None else [str(group) for group in groups]
        if self.groups is not None and len(self.groups) != len(self.labels):
            n = len(self.labels)
            raise ValueError(f"groups has {len(self.groups)} values, expected one for each of the {n} labels")
        self.name = name
        self.level = level
        self.note = note

    @classmethod
    def from_leaderboard(cls, board: Mapping[str, Any], slice: Any = None) -> RankDisplay:
        """Take the systems of a leaderboard, the best first.

        Parameters
        ----------
        board : Leaderboard
            What :func:`mycelium.leaderboard` returned.
        slice : optional
            One of its slices, e.g. a language; the overall ranks by default.

        Raises
        ------
        ValueError
            When there is no such slice, or no system is ranked there.
        """
        if slice is not None and slice not in board["slices"]:
            raise ValueError(f"the leaderboard has no slice {slice!r}; it has {', '.join(map(str, board['slices']))}")
        rows, meta = board["overall"] if slice is None else board["slices"][slice], board["meta"]
        where = "overall" if slice is None else f"in {slice}"
        by = f"rank by {_rows.measure(meta['metric'], meta['output'])}"
        if not rows:
            raise ValueError(f"the leaderboard ranks no system {where}; see its 'refused' and 'missing'")
        size = meta["overall"]["units"] if slice is None else meta["slices"][slice]["units"]
        return cls(
            [row["system"] for row in rows],
            [row["rank"] for row in rows],
            [row["ranks"][0] for row in rows],
            [row["ranks"][1] for row in rows],
            groups=[row["group"] for row in rows],
            name=by if not board["slices"] else f"overall {by}" if slice is None else f"{by} {where}",
            level=meta["level"],
            note=_rows.amount([size], meta["unit"]),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        width: float | None = None,
        interval_kw: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> RankDisplay:
        """Draw a marker at each rank, a line with caps for its interval, and write the groups beside.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure made to measure by default. Give axes of a figure with ``layout="constrained"``, so
            that names have room.
        width : float, optional
            The width of a new figure in inches; that of ``rcParams["figure.figsize"]`` by default.
        interval_kw : dict, optional
            Keyword arguments of :meth:`matplotlib.axes.Axes.hlines`, which draws the intervals.
        **kwargs
            Keyword arguments of :meth:`matplotlib.axes.Axes.plot`, which draws the markers. A colour holds for the
            intervals too.

        Returns
        -------
        RankDisplay
            The display itself.
        """
        caption = [f"{self.name}, {_rows.interval_name(self.level)}"]
        if self.groups is not None:
            caption.append("same letter: cannot be told apart")
        if self.note:
            caption.append(self.note)
        ax, font = _rows.named_axes(
            ax, self.labels, caption=caption, beside=self.groups or (), width=width, ranks=int(max(self.highs))
        )
        self.points_, self.intervals_ = _rows.draw_rows(
            ax,
            range(len(self.labels)),
            self.ranks,
            self.lows,
            self.highs,
            font=font,
            line=interval_kw or {},
            points=kwargs,
        )
        ax.set_xlim(0.5, max(self.highs) + 0.5)
        if self.groups is not None:
            _rows.write_beside(ax, self.groups, "", font)
        self.ax_, self.figure_ = ax, ax.figure
        return self
