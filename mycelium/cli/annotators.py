"""``mycelium annotators``: corpora with several annotators, how these agree, and what a human scores."""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from mycelium.annotators import (
    Annotations,
    HumanLevel,
    Study,
    StudyIntervals,
    as_annotations,
    human_level,
    human_levels_table,
    studies_table,
    study,
    study_intervals,
)
from mycelium.annotators.consensus import SHARES
from mycelium.annotators.notes import about_items
from mycelium.annotators.uncertainty import RESAMPLE
from mycelium.cli.arguments import check_metrics, share, whole
from mycelium.cli.common import Command, DataError, complain, metric_list
from mycelium.cli.compare import _short_names
from mycelium.cli.pairing import _ids, column, find_name, pair, plain, some
from mycelium.cli.pieces import SPANS, TEXT, OtherTexts, aligned, read_side
from mycelium.formats.files import FORMATS as SUFFIXES
from mycelium.formats.files import Table, read_table, write_text
from mycelium.metrics import DEFAULT
from mycelium.progress import progress
from mycelium.spans import SpanBatch

__all__ = ["COMMANDS"]

FORMATS = ("table", "markdown", "latex", "json")
ANNOTATIONS = ("annotations", "annotators")
LANGUAGE = ("lang", "language")
#: The options that need --bootstrap.
_OF_INTERVALS = ("level", "resample", "ci_method")


class _Found(NamedTuple):
    """What there is to say of one file."""

    study: Study
    intervals: StudyIntervals | None
    human: HumanLevel | None


def _arguments(parser: argparse.ArgumentParser) -> None:
    # What the shared reading of spans asks for and this command has no choice of.
    parser.set_defaults(offsets="codepoint", end="exclusive", missing_rows="raise", typed=False)
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="file with what each annotator marked, or a folder of such files"
    )

    scoring = parser.add_argument_group("study")
    scoring.add_argument(
        "--metrics",
        type=metric_list,
        action="extend",
        metavar="NAMES",
        help="comma or space separated (default: the six of the study)",
    )
    scoring.add_argument(
        "--annotators",
        type=whole(2),
        metavar="N",
        help="cut every item to N annotators and average over its subsets, so that files are comparable",
    )
    scoring.add_argument(
        "--subsets", type=whole(1), metavar="N", help="with --annotators: so many random subsets (default: all)"
    )

    sure = parser.add_argument_group("intervals")
    sure.add_argument("--bootstrap", type=whole(1), metavar="N", help="an interval for every number, from N resamples")
    sure.add_argument(
        "--resample",
        choices=RESAMPLE,
        help="what is drawn: items, the annotators being given (default), or annotators too, ten or more of them",
    )
    sure.add_argument("--level", type=share, metavar="X", help="of the intervals (default 0.95)")
    sure.add_argument("--ci-method", choices=("percentile", "bca", "basic"), help="default: percentile")
    sure.add_argument("--seed", type=whole(0), default=0, metavar="N", help="where the draws begin (default 0)")

    human = parser.add_argument_group("human level")
    human.add_argument(
        "--predictions",
        action="append",
        metavar="PRED",
        help="what a detector marks in FILE: adds what humans score, and the detector on the same references; once for "
        "each FILE, in their order",
    )
    human.add_argument(
        "--consensus",
        type=_consensus,
        metavar="SHARE",
        help="of the other annotators, as the reference: majority (default), union, intersection, or a share from 0 to"
        " 1; needs --predictions",
    )
    human.add_argument(
        "--missing",
        choices=("raise", "empty"),
        default="raise",
        help="ids without a prediction: refuse (default), or count them as rows where nothing was found",
    )
    human.add_argument(
        "--invalid",
        choices=("raise", "drop", "clip"),
        default="raise",
        help="predicted spans that are negative, empty or past the text: refuse (default), leave out, or cut",
    )

    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--annotations", metavar="NAME", help=f"default: the first present of {', '.join(ANNOTATIONS)}"
    )
    columns.add_argument("--text", metavar="NAME", help=f"default: the first present of {', '.join(TEXT)}")
    columns.add_argument("--id", metavar="NAME", help="default: id")
    columns.add_argument("--pred-id", metavar="NAME", help="id in PRED, if it is named differently there")
    columns.add_argument("--pred-spans", metavar="NAME", help=f"default: the first present of {', '.join(SPANS)}")

    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    output.add_argument("--output", metavar="FILE", help="write there instead of to standard output")


def _run(args: argparse.Namespace) -> int:
    _check(args)
    paths = _files(args.files)
    if args.predictions is not None and len(args.predictions) != len(paths):
        args.parser.error(f"--predictions is given {len(args.predictions)} times, and there are {len(paths)} files")
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        args.parser.error(f"{twice} is given twice")
    found: dict[str, _Found] = {}
    languages: dict[str, str | None] = {}
    other_texts = OtherTexts()
    with progress(len(paths), "files", "") as advance:
        for number, path in enumerate(paths):
            table = read_table(path)
            predicted = None if args.predictions is None else args.predictions[number]
            found[path] = _studied(args, table, predicted, other_texts)
            languages[path] = _language(table)
            advance(1)
    other_texts.complain()
    if args.format == "json":
        # There is no place for words in it.
        for path, one in found.items():
            complain(f"{path}: {' '.join(about_items(one.study))}")
    labels = _labels(languages)
    write_text(args.output, _layout(args, {labels[path]: one for path, one in found.items()}))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    check_metrics(args)
    given = next((name for name in _OF_INTERVALS if getattr(args, name) is not None), None)
    if given is not None and args.bootstrap is None:
        args.parser.error(f"--{given.replace('_', '-')} speaks of intervals: it needs --bootstrap")
    if args.subsets is not None and args.annotators is None:
        args.parser.error("--subsets speaks of equal numbers of annotators: it needs --annotators")
    if args.consensus is not None and args.predictions is None:
        args.parser.error("--consensus speaks of the human level: it needs --predictions")


def _files(given: list[str]) -> list[str]:
    """Return the files, those of folders by name."""
    paths: list[str] = []
    for name in given:
        if not Path(name).is_dir():
            paths.append(name)
            continue
        inside = sorted(str(path) for path in Path(name).iterdir() if path.suffix.lower() in SUFFIXES)
        if not inside:
            raise DataError(f"{name}: no file with a suffix of {', '.join(SUFFIXES)} in this folder")
        paths += inside
    return paths


def _studied(args: argparse.Namespace, table: Table, predicted: str | None, other_texts: OtherTexts) -> _Found:
    notes, texts = _annotations(args, table)
    predictions = None if predicted is None else _predictions(args, table, texts, read_table(predicted), other_texts)
    metrics = DEFAULT if args.metrics is None else [metric.key for metric in args.metrics]
    subsets: str | int = "all" if args.subsets is None else args.subsets
    resampling = {
        "level": 0.95 if args.level is None else args.level,
        "method": args.ci_method or "percentile",
        "seed": args.seed,
        "n_resamples": args.bootstrap,
    }
    intervals, human = None, None
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            done = study(notes, metrics=metrics, n_annotators=args.annotators, subsets=subsets, seed=args.seed)
            if args.bootstrap is not None:
                intervals = study_intervals(done, resample=args.resample or "items", **resampling)
            if predictions is not None:
                human = human_level(
                    notes,
                    predictions,
                    args.consensus or "majority",
                    metrics=metrics,
                    n_annotators=args.annotators,
                    subsets=subsets,
                    **resampling,
                )
    except ValueError as error:
        raise DataError(f"{table.path}: {str(error).removeprefix('annotations: ')}") from None
    for message in dict.fromkeys(str(warning.message) for warning in heard):
        complain(f"{table.path}: {message}")
    return _Found(done, intervals, human)


def _annotations(args: argparse.Namespace, table: Table) -> tuple[Annotations, list[str] | None]:
    """Return who marked what, and the texts."""
    if not len(table):
        raise DataError(f"{table.path}: holds no rows")
    name = find_name(table, args.id, ("id",), "id ")
    if name is not None:
        faults: list[str] = []
        _ids(table, name, faults)
        if faults:
            raise DataError(*some(faults))
    marks = plain(column(table, args.annotations, ANNOTATIONS, "annotation", "--annotations"))
    name = find_name(table, args.text, TEXT, "text ")
    texts = None if name is None else plain(table.columns[name])
    bad = [table.where(row) for row, text in enumerate(texts or ()) if not isinstance(text, str)]
    if bad:
        raise DataError(*some([f"{place}: {name} is no string" for place in bad]))
    try:
        return as_annotations(marks, text=texts, name=table.path), texts
    except (TypeError, ValueError) as error:
        raise DataError(_with_place(str(error), table)) from None


def _with_place(message: str, table: Table) -> str:
    """Name the place in the file where a message names a row."""
    rest = message.removeprefix(table.path)
    match = re.match(r": row (\d+)(?:, |: )", rest)
    return message if match is None else f"{table.where(int(match[1]))}: {rest[match.end() :]}"


def _predictions(
    args: argparse.Namespace, table: Table, texts: list[str] | None, predictions: Table, other_texts: OtherTexts
) -> SpanBatch:
    """Return the predictions in the order of the annotated rows."""
    pairing = pair(table, predictions, id_name=args.id, pred_id_name=args.pred_id, missing=args.missing)
    for note in pairing.notes:
        complain(note)
    values = column(predictions, args.pred_spans, SPANS, "span", "--pred-spans")
    theirs = None
    if texts is not None:
        text_of = dict(zip(pairing.order, texts, strict=True))
        theirs = [text_of[place] for place in range(len(pairing.predictions))]
        name = find_name(table, args.text, TEXT, "text ")
        if name in predictions.columns:
            own = plain(predictions.columns[name])
            pairs = zip(pairing.predictions, theirs, strict=True)
            other = [row for row, text in pairs if isinstance(own[row], str) and own[row] != text]
            other_texts.add(predictions, name, other)
    batch, counts = read_side(args, predictions, values, pairing.predictions, theirs, False)
    done = [f"{count} {what}" for what, count in counts._asdict().items() if count]
    if done:
        complain(f"{predictions.path}: leniency: {', '.join(done)}")
    return aligned(batch, pairing.order)


def _language(table: Table) -> str | None:
    """Return the one language of all rows."""
    name = find_name(table, None, LANGUAGE)
    values = [] if name is None else plain(table.columns[name])
    return values[0] if values and isinstance(values[0], str) and values.count(values[0]) == len(values) else None


def _labels(languages: dict[str, str | None]) -> dict[str, str]:
    """Return what each file is called: its language where each has another, else the shortest name of its own."""
    names = [name for name in languages.values() if name]
    if len(set(names)) == len(languages):
        return {path: name for path, name in languages.items() if name}
    return _short_names(list(languages))


def _layout(args: argparse.Namespace, found: dict[str, _Found]) -> str:
    if args.format == "json":
        content: Any = {label: _plain(one) for label, one in found.items()}
        if len(found) == 1:
            content = next(iter(content.values()))
        else:
            for label, one in found.items():
                counts = one.study.counts
                content[label]["annotators_per_item"] = [int(counts.min()), int(counts.max())]
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    format = "text" if args.format == "table" else args.format
    tables = []
    if len(found) == 1:
        one = next(iter(found.values()))
        tables.append(one.study.to_table(format, one.intervals))
        if one.human is not None:
            tables.append(one.human.to_table(format))
        return "\n\n".join(tables) + "\n"
    studies = {label: one.study for label, one in found.items()}
    intervals = {label: one.intervals for label, one in found.items() if one.intervals is not None}
    humans = {label: one.human for label, one in found.items() if one.human is not None}
    tables.append(studies_table(studies, format, intervals or None))
    if humans:
        keys = list(next(iter(humans.values())).scores)
        tables += [human_levels_table(humans, format, metric=key) for key in keys]
    return "\n\n".join(tables) + "\n"


def _plain(found: _Found) -> dict[str, Any]:
    content = found.study.to_dict()
    if found.intervals is not None:
        content["intervals"] = found.intervals.to_dict()
    if found.human is not None:
        content["human_level"] = found.human._asdict()
    return content


def _consensus(text: str) -> str | float:
    """Read the name of a consensus, or a share."""
    if text in SHARES:
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be {', '.join(SHARES)} or a share from 0 to 1, got {text!r}")
    return value


COMMANDS = (
    Command(
        "annotators",
        "FILE [FILE ...] [options]",
        "corpora with several annotators: how they agree, what a human scores",
        """\
Hold each annotator out in turn and score them, as a prediction, against what
more than half of the others marked and against what any of them marked. Shows
what the choice of the reference, and differing boundaries, do to each metric.
With several files: a row for each, with its numbers of annotators.

A row of FILE has annotations: an object of annotator to [start, end) pairs, in
characters of the text. An annotator with [] marked nothing; one who is null or
not there did not look. Pairs of no length are left out and counted.""",
        """\
examples:
  mycelium annotators mushroom.en-tst.v1.extra.jsonl --bootstrap 2000 --format json
  mycelium annotators test/ --annotators 3
  mycelium annotators en.jsonl --bootstrap 2000 --resample items_annotators
  mycelium annotators fi.jsonl --predictions detector-fi.jsonl --invalid drop

exit status: 0 fine; 1 the data cannot be used; 2 wrong usage
""",
        _arguments,
        _run,
    ),
)
