"""What several annotators of the same answers say about metrics, references and detectors.

On the Mu-SHROOM test split: each annotator held out against majority and union of the others, what differing boundaries
do to each metric, the same in all languages with equal numbers of annotators, and how the published detector stands to
the level of humans. Writes tables (Markdown and LaTeX), and pictures if matplotlib is there.

python examples/mushroom_annotators.py            # MYCELIUM_DATA if it is set, else the shipped samples
python examples/mushroom_annotators.py results    # where to put tables and pictures; a temporary folder by default
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from mycelium import as_spans, samples
from mycelium.annotators import (
    HumanLevel,
    Study,
    StudyIntervals,
    human_level,
    human_levels_table,
    studies_table,
    study,
    study_intervals,
)
from mycelium.corpora import Corpus, load_mushroom
from mycelium.formats.files import read_jsonl
from mycelium.plot import ForestDisplay
from mycelium.plot.rows import BLUE, GREY, ORANGE, draw_rows, named_axes
from mycelium.resample import FEW

#: How many annotators every item has where languages are compared: what most of them have.
EQUAL = 3
#: Which language is looked at first.
FIRST = "en"
SHOWN = ("exact_span", "iou", "span_coverage")
MINUS = "\N{MINUS SIGN}"


class Studied(NamedTuple):
    """A study and its intervals."""

    study: Study
    intervals: StudyIntervals

    def values(self, family: str, keys: Sequence[str]) -> list[tuple[float, float, float]]:
        """Return score, low and high of each metric; NaN where there is none."""
        numbers, bounds = self.study.to_dict()["macro_f1"][family], self.intervals.intervals["macro_f1"][family]
        return [_known(numbers[key], bounds[key]) for key in keys]

    def difference(self, key: str) -> tuple[float, float, float]:
        """Return union less majority, with its interval."""
        macro = self.study.to_dict()["macro_f1"]
        bounds = self.intervals.differences["macro_f1"][key]
        return _known(macro["loo_union"][key] - macro["loo_majority"][key], bounds)


def _known(number: float | None, bounds: Sequence[float] | None) -> tuple[float, float, float]:
    nan = float("nan")
    low, high = bounds or (nan, nan)
    return (nan if number is None else number), low, high


# -- what is read


def published(folder: Path) -> tuple[dict[str, Corpus], dict[str, Any]]:
    """Read the corpora, and the last published predictions of each language that have all answers."""
    corpora = {
        path.name.split(".")[1][:2]: load_mushroom(path) for path in sorted((folder / "test").glob("mushroom.*.jsonl"))
    }
    predictions = {}
    for path in sorted((folder / "predictions").glob("*.jsonl"), key=lambda path: ("-new-" in path.name, path.name)):
        run = path.name.removeprefix("mushroom-").removesuffix("-tst-predicted.jsonl")
        corpus = corpora[run[:2]]
        rows = {row["id"]: row.get("hard_labels") for _, row in read_jsonl(path)}
        missing = sum(key not in rows for key in corpus.ids)
        if missing:
            print(f"{run} is left out: it lacks {missing} of {len(corpus)} answers, which need not be a random part")
            continue
        predictions[run[:2]] = as_spans([rows[key] for key in corpus.ids], text=corpus.texts, invalid="drop")
    return corpora, dict(sorted(predictions.items()))


def shipped() -> tuple[dict[str, Corpus], dict[str, Any]]:
    """Return the samples by language, and the baseline detector's spans."""
    print(
        "Twelve invented answers: they show the wiring, and what warnings look like; nothing can be learnt from them."
    )
    corpus = load_mushroom(samples.FOLDER / "mu_shroom.jsonl")
    rows = {row["id"]: row["hard_labels"] for row in samples.read("mu_shroom_baseline.jsonl")}
    languages = corpus.columns["language"]
    corpora = {name: corpus[languages == name] for name in sorted(set(languages.tolist()))}
    return corpora, {name: as_spans([rows[key] for key in part.ids]) for name, part in corpora.items()}


# -- what is found


def studied(corpus: Corpus, n_annotators: int | None = None) -> Studied:
    """Study a corpus, with intervals."""
    found = study(corpus, n_annotators=n_annotators)
    return Studied(found, study_intervals(found))


def directions(found: Mapping[str, Studied]) -> None:
    """Print of each metric where it goes from majority to union, and how much of that is more than noise."""
    for key in SHOWN:
        changes = {name: one.difference(key) for name, one in found.items()}
        falls = [name for name, (change, _, _) in changes.items() if change < 0]
        enough = [name for name in changes if len(found[name].study.counts) >= FEW]
        sure = [name for name in enough if changes[name][1] > 0 or changes[name][2] < 0]
        where = f" ({', '.join(falls)})" if 0 < len(falls) < len(changes) else ""
        print(
            f"  {key}: falls in {len(falls)} of {len(changes)}{where}; without 0 in the interval"
            f" {len(set(sure) & set(falls))} falls and {len(set(sure) - set(falls))} rises"
        )


def relative_to_human(found: Mapping[str, HumanLevel], metric: str = "iou") -> ForestDisplay:
    """Return D / H of each language as a display."""
    rows = {
        name: (one.scores[metric]["relative_to_human"], one.intervals[metric]["relative_to_human"])
        for name, one in found.items()
    }
    rows = {name: row for name, row in rows.items() if row[1] is not None}
    return ForestDisplay(
        list(rows),
        [ratio for ratio, _ in rows.values()],
        [bounds[0] for _, bounds in rows.values()],
        [bounds[1] for _, bounds in rows.values()],
        name=f"{metric} of the detector, relative to human (D / H)",
        level=0.95,
        reference=1,
        reference_name="a human, held out",
        note=f"{EQUAL} annotators for every item; items are resampled, annotators given",
    )


# -- what is drawn


def series(labels: Sequence[str], drawn: Mapping[str, Sequence[tuple[float, float, float]]], *caption: str) -> Any:
    """Draw several series with intervals side by side in named rows, told apart by marker and colour."""
    ax, font = named_axes(None, labels, caption=caption, width=6.4)
    figure = ax.figure
    # Rows hold more than one interval each.
    figure.set_figheight(figure.get_figheight() + len(labels) * 0.09 * len(drawn))
    looks = ({"marker": "o", "color": BLUE}, {"marker": "s", "color": ORANGE}, {"marker": "^", "color": GREY})
    step = 0.62 / len(drawn)
    for i, (name, values) in enumerate(drawn.items()):
        rows = [row + (i - (len(drawn) - 1) / 2) * step for row in range(len(labels))]
        points = {**looks[i], "label": name, "markerfacecolor": "none" if i == 1 else looks[i]["color"]}
        columns = list(zip(*values))
        draw_rows(ax, rows, *columns, font=font, line={}, points=points)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(drawn), frameon=False)
    return ax


def pictures(own: Mapping[str, Studied], equal: Mapping[str, Studied], levels: Mapping[str, HumanLevel]) -> Any:
    """Return what draws each picture, by name."""
    first = own.get(FIRST) or next(iter(own.values()))
    keys = list(first.study.to_dict()["macro_f1"]["loo_union"])
    given = "95% intervals: items are resampled, annotators given"

    def majority_union() -> Any:
        drawn = {"majority": first.values("loo_majority", keys), "union": first.values("loo_union", keys)}
        ax = series(keys, drawn, "macro F1 (iou: score) against majority and union of the others", given)
        ax.set_xlim(left=0)
        return ax

    def boundaries() -> Any:
        items = first.study.items
        drawn = {
            f"nested in the union ({items['nested_boundary']} items)": first.values("nested_boundary", keys),
            f"one character of it ({items['one_char']} items)": first.values("one_char", keys),
        }
        return series(keys, drawn, "macro F1 (iou: score)", given)

    def languages() -> Any:
        drawn = {key: [one.difference(key) for one in equal.values()] for key in SHOWN}
        ax = series(list(equal), drawn, f"union {MINUS} majority, {EQUAL} annotators for every item", given)
        ax.axvline(0, color="0.3", linewidth=0.8, zorder=1)
        return ax

    def equal_numbers() -> Any:
        labels = [f"{name} ({_most(one.study)})" for name, one in own.items()]
        drawn = {
            "all annotators": [one.difference("iou") for one in own.values()],
            f"cut to {EQUAL}": [one.difference("iou") for one in equal.values()],
        }
        ax = series(labels, drawn, f"iou, union {MINUS} majority; in brackets: annotators of an item, at most", given)
        ax.axvline(0, color="0.3", linewidth=0.8, zorder=1)
        return ax

    def human() -> Any:
        return relative_to_human(levels).plot(numbers=True, width=7.6).ax_

    made: dict[str, Callable[[], Any]] = {
        "majority_union": majority_union,
        "boundaries": boundaries,
        "languages": languages,
        "equal_numbers": equal_numbers,
        "human_level": human,
    }
    return made


def _most(found: Study) -> int:
    return int(found.counts.max())


# -- all of it


def main() -> None:
    """Write the tables, print what they say, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where to put tables and pictures")
    folder = parser.parse_args().folder
    data = os.environ.get("MYCELIUM_DATA")
    corpora, predictions = published(Path(data, "mu_shroom")) if data else shipped()
    place = Path(folder or tempfile.mkdtemp(prefix="mycelium-"))
    place.mkdir(parents=True, exist_ok=True)

    own = {name: studied(corpus) for name, corpus in corpora.items()}
    equal = {name: studied(corpus, EQUAL) for name, corpus in corpora.items()}
    levels, equal_levels = (
        {name: human_level(corpora[name], spans, metrics=SHOWN, n_annotators=n) for name, spans in predictions.items()}
        for n in (None, EQUAL)
    )
    first = own.get(FIRST) or next(iter(own.values()))
    tables: dict[str, Callable[[str], str]] = {
        "study": lambda format: first.study.to_table(format, first.intervals),
        "languages": lambda format: studies_table(
            {name: one.study for name, one in own.items()},
            format,
            {name: one.intervals for name, one in own.items()},
            name="language",
            metrics=SHOWN,
        ),
        "equal_numbers": lambda format: studies_table(
            {name: one.study for name, one in equal.items()},
            format,
            {name: one.intervals for name, one in equal.items()},
            name="language",
            metrics=SHOWN,
        ),
        "human_level": lambda format: "\n\n".join(
            human_levels_table(found, format, metric="iou", name="language") for found in (levels, equal_levels)
        ),
    }
    for name, table in tables.items():
        for suffix, format in (("md", "markdown"), ("tex", "latex")):
            (place / f"{name}.{suffix}").write_text(table(format) + "\n", encoding="utf-8", newline="\n")
    print(f"\n1. Each annotator against the others ({FIRST})\n\n{first.study.to_table()}")
    print("\n2. From majority to union, with the annotators that each language has")
    directions(own)
    print(f"   and with {EQUAL} for every item, where a majority of the other two is their intersection")
    directions(equal)
    print(f"\n3. The detector and the level of humans\n\n{human_levels_table(levels, name='language')}")
    print(f"\ntables: {', '.join(f'{name}.md, {name}.tex' for name in tables)} in {place}")
    if find_spec("matplotlib") is None:
        print('For pictures: pip install "mycelium-eval[plot]"')
        return
    made = pictures(own, equal, equal_levels)
    for name, draw in made.items():
        draw().figure.savefig(place / f"{name}.png", dpi=150)
    print(f"pictures: {', '.join(f'{name}.png' for name in made)} in {place}")


if __name__ == "__main__":
    main()
