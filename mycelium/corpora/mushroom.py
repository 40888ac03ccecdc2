"""Mu-SHROOM: hallucination spans in the answers of language models, 14 languages (SemEval-2025 task 3)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mycelium.corpora.base import (
    Annotators,
    Corpus,
    Where,
    array_of,
    arrow_columns,
    datasets_library,
    declared_dataset,
    first_of,
    join,
    local_path,
    nested_rows,
    read_column,
    span_dicts,
    strings_of,
)
from mycelium.formats.files import Table, decode_column, read_table

__all__ = ["LANGUAGES", "load_mushroom"]

#: Languages of the labelled test split.
LANGUAGES = ("ar", "ca", "cs", "de", "en", "es", "eu", "fa", "fi", "fr", "hi", "it", "sv", "zh")

# "mushroom.en-tst.v1.extra.jsonl", "mushroom.en-train_nolabel.v1.jsonl"
_FILE = re.compile(r"mushroom\.([a-z]+)-([a-z]+)[._].*\.?(?:jsonl|ndjson|json|parquet)")
_SPLITS = {"test": ("tst", "test"), "validation": ("val", "validation"), "val": ("val", "validation")}


def load_mushroom(
    path_or_hub: str | os.PathLike[str],
    language: str | Iterable[str] | None = None,
    split: str = "test",
    *,
    invalid: str = "raise",
    missing_rows: str = "raise",
) -> Corpus:
    """Load Mu-SHROOM from the organisers' files or from the Hub.

    Parameters
    ----------
    path_or_hub : str or path
        A file as published (JSON Lines; Parquet, JSON and CSV of the same columns too), a folder that holds such files
        under their published names (``mushroom.en-tst.v1.extra.jsonl``) or in folders of its own, or the id of a
        dataset on the Hub (``"Helsinki-NLP/mu-shroom"``). What exists is local.
    language : str or iterable of str, optional
        ``"en"``, or several in the wanted order; all languages that are there, by name, when not given.
    split : str, default="test"
        ``"test"``, ``"validation"`` (``"val"`` for files), or another split as the Hub names it. Without effect on a
        single file.
    invalid, missing_rows : str
        As for :func:`mycelium.as_spans`. A row without hard labels is refused unless ``missing_rows="empty"``, which
        the unlabelled files need: their references then are empty, and counted in ``corpus.invalid.missing``. The same
        goes for soft labels, unless no row at all has any.

    Returns
    -------
    Corpus
        ``references`` are the hard labels, ``soft_labels`` the probabilities (None when no row has any),
        ``annotators`` the raw marks; ``columns`` are ``language`` (lower case, as in `language`), ``model`` and
        ``input`` (the question).

    Raises
    ------
    FileNotFoundError
        When the path, or a file for a language, is not there.
    ValueError
        When a record cannot be read, has no id or no text, or an id stands twice. The message names file and line.
    ImportError
        Without the ``datasets`` library.

    References
    ----------
    Vázquez et al. (2025). SemEval-2025 Task 3: Mu-SHROOM, the Multilingual Shared-task on Hallucinations and Related
    Observable Overgeneration Mistakes.

    Examples
    --------
    >>> from mycelium.corpora import load_mushroom
    >>> corpus = load_mushroom("Helsinki-NLP/mu-shroom", "en")  # doctest: +SKIP
    """
    languages = _languages(language)
    options = {"invalid": invalid, "missing_rows": missing_rows}
    path = local_path(path_or_hub)
    source = os.fspath(path_or_hub)
    parts: list[tuple[Corpus, Where]]
    if path is None:
        parts = _from_hub(source, languages, split, options)
    elif path.is_dir():
        files = _files(path, languages, split)
        parts = [_from_file(file, name, None, options) for name, file in files]
    else:
        parts = [_from_file(path, None, languages, options)]
    return join(parts, source, missing_rows)


def _languages(language: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if language is None:
        return None
    names = (language,) if isinstance(language, str) else tuple(language)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"language must be a code such as 'en', or several, got {language!r}")
    return tuple(dict.fromkeys(name.lower() for name in names))


# -- local


def _files(folder: Path, languages: Sequence[str] | None, split: str) -> list[tuple[str, Path]]:
    """Return the one file of each language, in the folder or else in the folders directly inside it."""
    wanted = _SPLITS.get(split, (split,))
    found: dict[str, list[Path]] = {}
    for pattern in ("*", "*/*"):
        for file in sorted(folder.glob(pattern)):
            match = _FILE.fullmatch(file.name)
            if match and match[2] in wanted:
                found.setdefault(match[1], []).append(file)
        if found:
            break
    if not found:
        raise FileNotFoundError(
            f"{folder}: no files of the split {split!r}, expected names such as mushroom.en-{wanted[0]}.v1.jsonl"
        )
    chosen = []
    for name in sorted(found) if languages is None else languages:
        if name not in found:
            raise FileNotFoundError(f"{folder}: no file of {name!r} in the split {split!r}, only {', '.join(found)}")
        if len(found[name]) > 1:
            shown = ", ".join(str(file.relative_to(folder)) for file in found[name])
            raise ValueError(f"{folder}: several files of {name!r} in the split {split!r}: {shown}; give the one meant")
        chosen.append((name, found[name][0]))
    return chosen


def _from_file(
    file: Path, named: str | None, languages: Sequence[str] | None, options: dict[str, str]
) -> tuple[Corpus, Where]:
    table = read_table(file)
    if table.format == "parquet":
        columns = table.columns
    else:
        columns = arrow_columns(declared_dataset(table, _records(table, options), _features()))
    return _corpus(columns, table.where, table.path, named, languages, options)


def _features() -> Any:
    # Lists of dicts written as lists: List is unknown to datasets 3, and a Sequence of a dict turns round.
    datasets = datasets_library()
    integer, string = datasets.Value("int64"), datasets.Value("string")
    return datasets.Features(
        {
            "id": string,
            "lang": string,
            "model_id": string,
            "model_input": string,
            "model_output_text": string,
            "hard_labels": [[integer]],
            "soft_labels": [{"start": integer, "end": integer, "prob": datasets.Value("float64")}],
            "annotations": [{"annotator_id": string, "labels": [[integer]]}],
        }
    )


def _records(table: Table, options: dict[str, str]) -> list[dict[str, Any]]:
    """Return the records with their types checked, annotations as a list: their keys differ from row to row."""
    n, where = len(table), table.where
    columns: dict[str, Sequence[Any]] = {}
    for name in ("id", "model_output_text", "lang", "model_id", "model_input"):
        required = name in ("id", "model_output_text")
        if required:
            first_of(table.columns, [name], table.path)
        columns[name] = strings_of(table.columns.get(name, [None] * n), name, where, optional=not required)
    for name in ("hard_labels", "soft_labels", "annotations"):
        columns[name] = decode_column(table, name) if name in table.columns else [None] * n
    for name in ("hard_labels", "soft_labels"):
        lenient = {**options, "missing_rows": "empty"}
        read_column(columns[name], name, columns["model_output_text"], columns["id"], where, **lenient)
    columns["soft_labels"] = [
        None if spans is None else [{key: span.get(key) for key in ("start", "end", "prob")} for span in spans]
        for spans in (span_dicts(one, "soft_labels", where(row)) for row, one in enumerate(columns["soft_labels"]))
    ]
    columns["annotations"] = [
        None if one is None else [{"annotator_id": who, "labels": spans} for who, spans in one.items()]
        for one in _annotators(columns["annotations"], where)
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# -- Hub


def _from_hub(
    source: str, languages: Sequence[str] | None, split: str, options: dict[str, str]
) -> list[tuple[Corpus, Where]]:
    datasets = datasets_library()
    configs = {config.lower(): config for config in datasets.get_dataset_config_names(source)}
    by_language = sorted(set(configs) & set(LANGUAGES))
    if not by_language:
        columns = arrow_columns(datasets.load_dataset(source, split=split))
        return [_corpus(columns, _hub_place(f"{source} ({split})"), source, None, languages, options)]
    parts = []
    for name in languages or by_language:
        if name not in configs:
            raise ValueError(f"{source}: no language {name!r}, only {', '.join(by_language)}")
        columns = arrow_columns(datasets.load_dataset(source, configs[name], split=split))
        parts.append(_corpus(columns, _hub_place(f"{source} ({name}, {split})"), source, name, None, options))
    return parts


def _hub_place(name: str) -> Where:
    return lambda row: f"{name}, row {row}"


# -- either


def _corpus(
    columns: Mapping[str, Any],
    where: Where,
    source: str,
    named: str | None,
    languages: Sequence[str] | None,
    options: dict[str, str],
) -> tuple[Corpus, Where]:
    """Turn Arrow columns of the local or a Hub form into a corpus of the wanted languages."""
    for name in ("id", "model_output_text"):
        first_of(columns, [name], source)
    n = len(columns["id"])
    known = columns["lang"].to_pylist() if "lang" in columns else [None] * n
    language = [named if code is None else code.lower() for code in strings_of(known, "lang", where, optional=True)]
    if languages is not None:
        rows = [row for name in languages for row, code in enumerate(language) if code == name]
        for name in languages:
            if name not in language:
                there = ", ".join(sorted({code for code in language if code is not None})) or "none named"
                raise ValueError(f"{source}: no rows of the language {name!r}, languages there: {there}")
        columns = {name: column.take(np.array(rows, dtype=np.int64)) for name, column in columns.items()}
        language = [language[row] for row in rows]
        where = _chosen(where, rows)
    ids = strings_of(columns["id"].to_pylist(), "id", where)
    texts = strings_of(columns["model_output_text"].to_pylist(), "model_output_text", where)

    def spans(name: str) -> Any:
        return nested_rows(columns[name], name, where) if name in columns else [None] * len(ids)

    references, counts = read_column(spans("hard_labels"), "hard_labels", texts, ids, where, **options)
    soft = None
    if "soft_labels" in columns and columns["soft_labels"].null_count < len(ids):
        soft, more = read_column(spans("soft_labels"), "soft_labels", texts, ids, where, **options)
        counts = counts.plus(more)
        score = np.full(len(soft.start), np.nan) if soft.score is None else soft.score
        if np.isnan(score).any():
            row = int(soft.row[np.isnan(score)][0])
            raise ValueError(f"{where(row)}: (id {ids[row]!r}) a soft label without a number as prob")
    annotators = None
    if "annotations" in columns and columns["annotations"].null_count < len(ids):
        marks = spans("annotations")
        annotators = _annotators(marks if isinstance(marks, list) else marks.to_pylist(), where)
    slices = {"language": np.array(language, dtype=object)}
    for name, published in (("model", "model_id"), ("input", "model_input")):
        column = array_of(columns[published]) if published in columns else None
        if column is not None:
            slices[name] = column
    slices["language"].flags.writeable = False
    return Corpus(ids, texts, references, soft, annotators, slices, (), counts), where


def _chosen(where: Where, rows: Sequence[int]) -> Where:
    return lambda row: where(rows[row])


def _annotators(rows: Sequence[Any], where: Where) -> tuple[Annotators | None, ...]:
    """Return for each row a dict of annotator to pairs, from any of the forms in which annotations are stored."""
    out: list[Annotators | None] = []
    for row, value in enumerate(rows):
        if value is None:
            out.append(None)
            continue
        if type(value) is dict and set(value) == {"annotator_id", "labels"}:
            pairs = list(zip(value["annotator_id"], value["labels"], strict=True))
        elif type(value) is dict:
            pairs = list(value.items())
        elif type(value) is list and all(type(one) is dict and {"annotator_id", "labels"} <= set(one) for one in value):
            pairs = [(one["annotator_id"], one["labels"]) for one in value]
        else:
            raise ValueError(f"{where(row)}: annotations must be an object of lists by annotator")
        # A struct column has every annotator in every row, null where the file has none.
        pairs = [(who, spans) for who, spans in pairs if spans is not None]
        marks = dict(pairs)
        if len(marks) != len(pairs):
            raise ValueError(f"{where(row)}: annotations name an annotator twice")
        for who, spans in pairs:
            if type(spans) is not list or not all(map(_is_pair, spans)):
                raise ValueError(f"{where(row)}: annotations of {who!r} must be [start, end] pairs of integers")
        out.append(marks)
    return tuple(out)


def _is_pair(span: Any) -> bool:
    return type(span) is list and len(span) == 2 and type(span[0]) is int and type(span[1]) is int
