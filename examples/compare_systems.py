"""Is the new version of a detector better, and is any language's lead more than noise?

On the Mu-SHROOM predictions that one team published in two versions each: scores by language with intervals, paired
tests of new against old, and differences between languages. Prints tables, draws pictures if matplotlib is there.

python examples/compare_systems.py            # MYCELIUM_DATA if it is set, else the shipped samples
python examples/compare_systems.py pictures   # where to put the pictures; a temporary folder by default
"""

from __future__ import annotations

import argparse
import os
import tempfile
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mycelium import compare, evaluate, leaderboard, samples
from mycelium.corpora import load_mushroom
from mycelium.formats.files import read_jsonl
from mycelium.plot import DifferenceDisplay, ForestDisplay, RankDisplay
from mycelium.resample import FEW
from mycelium.tables import render
from mycelium.versus.multiplicity import adjust

ALPHA = 0.05
#: Ends of intervals this close to 0 hang on the draws.
EDGE = 0.005
SCORING: dict[str, Any] = {"profile": "mu_shroom", "invalid": "drop"}


class Language(NamedTuple):
    """The answers of one language, and what each version of the detector marked in them."""

    references: list[Any]
    texts: list[str]
    versions: dict[str, list[Any]]  # the old one first


def published(folder: Path) -> dict[str, Language]:
    """Read the published predictions; a file that lacks answers is named and left out."""
    languages: dict[str, Language] = {}
    for path in sorted((folder / "predictions").glob("*.jsonl"), key=lambda path: ("-new-" in path.name, path.name)):
        run = path.name.removeprefix("mushroom-").removesuffix("-tst-predicted.jsonl")
        corpus = load_mushroom(next((folder / "test").glob(f"mushroom.{run[:2]}-tst*.jsonl")))
        rows = {row["id"]: row.get("hard_labels") for _, row in read_jsonl(path)}
        missing = sum(key not in rows for key in corpus.ids)
        if missing:
            print(f"{run} is left out: it lacks {missing} of {len(corpus)} answers, which need not be a random part")
            continue
        found = Language(corpus.references.tolist(), list(corpus.texts), {})
        languages.setdefault(run[:2], found).versions[run] = [rows[key] for key in corpus.ids]
    return dict(sorted(languages.items()))


def shipped() -> dict[str, Language]:
    """Return the samples, marked by the baseline detector, and by the same with each span 3 characters longer."""
    print(
        "Twelve invented answers: they show the wiring, and what warnings look like; nothing can be learnt from them."
    )
    corpus = load_mushroom(samples.FOLDER / "mu_shroom.jsonl")
    rows = {row["id"]: row["hard_labels"] for row in samples.read("mu_shroom_baseline.jsonl")}
    languages: dict[str, Language] = {}
    for key, text, spans, language in zip(
        corpus.ids, corpus.texts, corpus.references.tolist(), corpus.columns["language"]
    ):
        found = languages.setdefault(language, Language([], [], {f"{language}-wide": [], language: []}))
        found.references.append(spans)
        found.texts.append(text)
        found.versions[language].append(rows[key])
        found.versions[f"{language}-wide"].append([[a, min(b + 3, len(text))] for a, b in rows[key]])
    return languages


def by_language(languages: dict[str, Language]) -> dict[str, Any]:
    """Print the score of each language's last version, with its interval; return the intervals."""
    # One generator for all, which moves on: the languages' replicates are independent of each other.
    rng = np.random.default_rng(0)
    found = {}
    for language in languages.values():
        run, predictions = list(language.versions.items())[-1]
        report = evaluate(
            references=language.references, predictions=predictions, text=language.texts, metrics=["iou"], **SCORING
        )
        found[run] = report.confidence_intervals(n_resamples=20_000, seed=rng)
    body = [
        [run, f"{i['meta']['units']}", f"{i.scores['iou']['score']:.4f}", *(f"{x:.4f}" for x in i["iou"]["score"])]
        for run, i in found.items()
    ]
    print("\n1. IoU of each language, in the last complete version\n")
    print(render(["run", "answers", "iou", "low", "high"], body))
    print("Each interval holds for its own language. That two of them overlap does not mean that nothing differs.")
    return found


def new_against_old(languages: dict[str, Language]) -> DifferenceDisplay:
    """Test the two versions in each language on the same answers, adjust over languages, and say what that shows."""
    pairs, hypotheses = {}, set()
    for language in languages.values():
        if len(language.versions) == 2:
            old, new = language.versions
            texts, versions = language.texts, language.versions
            found = compare(language.references, versions, baseline=old, metrics=["iou"], text=texts, **SCORING)
            pairs[f"{new} \N{MINUS SIGN} {old}"] = found["pairs"][0]
            hypotheses.add(found["meta"]["hypothesis"])
    p_values = adjust(np.array([pair["p_value"] for pair in pairs.values()]), "holm")
    body = [
        [name, *(f"{x:+.4f}" for x in (p["difference"], *p["interval"])), f"{p['p_value']:.4f}", f"{adjusted:.4f}"]
        for (name, p), adjusted in zip(pairs.items(), p_values)
    ]
    print("\n2. Is the new version different? Both on the same answers; p by paired permutation\n")
    print(render(["versions", "difference", "low", "high", "p", "p (Holm)"], body))
    sure = [name for name, p in zip(pairs, p_values) if p <= ALPHA]
    print(*hypotheses, sep="\n")
    print(f"Different at {ALPHA:g}, Holm over {len(pairs)} languages: {', '.join(sure) or 'none'}.")
    same = [name for name, p in pairs.items() if p["interval"] == [0, 0]]
    if same:
        print(f"No answer is scored differently: {', '.join(same)}.")
    widest = max(abs(end) for p in pairs.values() for end in p["interval"])
    print(f"Where nothing was shown the versions need not be equal: these intervals reach up to {widest:.3f} from 0.")
    return DifferenceDisplay(
        list(pairs),
        [p["difference"] for p in pairs.values()],
        [p["interval"][0] for p in pairs.values()],
        [p["interval"][1] for p in pairs.values()],
        p_values=p_values,
        significant=p_values <= ALPHA,
        name="difference in iou (macro)",
        level=0.95,
        p_name="p (Holm)",
        alpha=ALPHA,
        note=f"Holm over {len(pairs)} languages; intervals are not adjusted",
    )


def over_languages(languages: dict[str, Language]) -> RankDisplay:
    """Rank old and new by their mean over the languages that have both."""
    both = {name: language for name, language in languages.items() if len(language.versions) == 2}
    parts = [list(language.versions.values()) for language in both.values()]
    board = leaderboard(
        [spans for language in both.values() for spans in language.references],
        {name: [spans for part in parts for spans in part[i]] for i, name in enumerate(("old", "new"))},
        by=[name for name, language in both.items() for _ in language.texts],
        text=[text for language in both.values() for text in language.texts],
        **SCORING,
    )
    print("\n   All languages at once, each with the same weight\n")
    body = [
        [f"{row['rank']}", row["system"], *(f"{x:.4f}" for x in (row["score"], *row["interval"])), row["group"]]
        for row in board["overall"]
    ]
    print(render(["rank", "version", "iou", "low", "high", "group"], body, names=2))
    print("Versions that share a letter cannot be told apart.")
    return RankDisplay.from_leaderboard(board)


def between_languages(found: dict[str, Any]) -> DifferenceDisplay:
    """Return all differences between languages, which have no answers in common, at one joint level."""
    pairs = list(combinations(sorted(found, key=lambda run: -found[run].scores["iou"]["score"]), 2))
    level = 1 - ALPHA / len(pairs)
    rows = []
    for a, b in pairs:
        difference = found[a].scores["iou"]["score"] - found[b].scores["iou"]["score"]
        replicates = found[a].replicates("iou")[:, 0] - found[b].replicates("iou")[:, 0]
        low, high = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2]).tolist()
        rows.append((f"{a} \N{MINUS SIGN} {b}", difference, low, high))
    enough = [min(found[a]["meta"]["units"], found[b]["meta"]["units"]) >= FEW for a, b in pairs]
    apart = [many and (low > 0 or high < 0) for many, (_, _, low, high) in zip(enough, rows)]
    print("\n3. Does any language lead? Differences of independent samples, no pairing\n")
    body = [[name, *(f"{x:+.4f}" for x in row), "*" * beyond] for (name, *row), beyond in zip(rows, apart)]
    print(render(["languages", "difference", "low", "high", "beyond noise"], body))
    print(f"The leader was picked by looking, so all {len(pairs)} pairs are held to a joint level of {1 - ALPHA:.0%}")
    print(f"(Bonferroni: each interval at {level:.2%}). Beyond noise: {sum(apart)} of {len(pairs)}.")
    if not all(enough):
        print(f"Nothing is said of pairs with fewer than {FEW} answers in a language, {enough.count(False)} of them.")
    edge = [row[0] for many, row in zip(enough, rows) if many and min(map(abs, row[2:])) < EDGE]
    if edge:
        print(f"An end within {EDGE} of 0 could fall on its other side with other draws: {', '.join(edge)}.")
    leader = pairs[0][0]
    even = ", ".join(b for (a, b), beyond in zip(pairs, apart) if a == leader and not beyond)
    print(f"{leader} {f'cannot be told apart from {even}' if even else 'leads all others beyond noise'}.")
    print("A lead is one on these test sets. They differ in questions, models and annotators, so it does not say that")
    print("the detector knows one language better than another.")
    return DifferenceDisplay(
        *zip(*rows),
        significant=apart,
        name="difference in iou (macro)",
        level=round(level, 4),
        note=f"all {len(pairs)} intervals together at {1 - ALPHA:.0%}",
    )


def main() -> None:
    """Print the three answers, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where to put the pictures")
    folder = parser.parse_args().folder
    data = os.environ.get("MYCELIUM_DATA")
    languages = published(Path(data, "mu_shroom")) if data else shipped()
    found = by_language(languages)
    displays = {
        "languages": ForestDisplay.from_intervals(found),
        "new_against_old": new_against_old(languages),
        "ranks": over_languages(languages),
        "between_languages": between_languages(found),
    }
    if find_spec("matplotlib") is None:
        print('\nFor pictures: pip install "mycelium-eval[plot]"')
        return
    place = Path(folder or tempfile.mkdtemp(prefix="mycelium-"))
    place.mkdir(parents=True, exist_ok=True)
    for name, display in displays.items():
        display.plot().figure_.savefig(place / f"{name}.png", dpi=150)
    print(f"\npictures: {', '.join(f'{name}.png' for name in displays)} in {place}")


if __name__ == "__main__":
    main()
