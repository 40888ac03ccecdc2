"""Corpora: what is loaded is what was published, from files and from the Hub's forms."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium import as_spans
from mycelium.corpora import Corpus, load_mushroom, load_ragtruth, mushroom
from mycelium.corpora import ragtruth as ragtruth_module

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
REAL_LOAD_DATASET = datasets.load_dataset

#: Rows of each language in the labelled test split.
ROWS = {
    **{"ar": 150, "ca": 100, "cs": 100, "de": 150, "en": 154, "es": 152, "eu": 99},
    **{"fa": 100, "fi": 150, "fr": 150, "hi": 150, "it": 150, "sv": 147, "zh": 150},
}


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8", newline="\n")
    return path


def row(id: Any = "tst-en-1", text: Any = " 0123456789\n", **more: Any) -> dict[str, Any]:
    base = {"id": id, "lang": "EN", "model_input": "?", "model_output_text": text, "model_id": "org/m"}
    labels: dict[str, Any] = {"soft_labels": [], "hard_labels": [], "annotations": {"a": []}}
    return {**base, **labels, **more}


def label(start: Any, end: Any, text: str | None = None, kind: str = "Evident Conflict", **more: Any) -> dict[str, Any]:
    base = {"start": start, "end": end, "text": text, "meta": "", "label_type": kind}
    return {**base, "implicit_true": False, "due_to_null": False, **more}


def response(id: Any, text: str, labels: Any, **more: Any) -> dict[str, Any]:
    base = {"id": id, "source_id": "s1", "model": "gpt-4", "temperature": 0.7, "labels": labels, "split": "test"}
    return {**base, "quality": "good", "response": text, **more}


def ragtruth(folder: Path, responses: list[dict[str, Any]]) -> Path:
    write(folder / "response.jsonl", responses)
    sources = dict.fromkeys(one["source_id"] for one in responses)
    infos = [{"source_id": s, "task_type": "QA", "source": "MARCO", "source_info": {"q": s}} for s in sources]
    write(folder / "source_info.jsonl", infos)
    return folder


# -- Mu-SHROOM, local

TWO = [
    row(
        "001",
        " e\u0301\u2028\U0001f642 x\r\n",
        soft_labels=[{"start": 4, "prob": 1, "end": 7}, {"start": 0, "prob": 0.25, "end": 2}],
        hard_labels=[[4, 7], [0, 5]],
        annotations={"x": [[0, 2], [3, 3], [0, 2]], "y": []},
    ),
    row("1344800117571260417", "nothing wrong", annotations={"z": []}, lang="EN", model_id="org/other"),
]


def test_mushroom_file_is_read_as_published(tmp_path: Path) -> None:
    corpus = load_mushroom(write(tmp_path / "x.jsonl", TWO))
    assert corpus.ids == ("001", "1344800117571260417")
    assert corpus.texts == (" e\u0301\u2028\U0001f642 x\r\n", "nothing wrong")
    assert corpus.references.tolist() == [[[4, 7], [0, 5]], []]
    assert corpus.references.length is not None
    # blank, e, accent, line separator, emoji, blank, x, carriage return, line feed
    assert corpus.references.length.tolist() == [9, 13]
    assert corpus.soft_labels is not None
    assert corpus.soft_labels.tolist() == [[[4, 7], [0, 2]], []]
    assert corpus.soft_labels.score is not None
    assert corpus.soft_labels.score.tolist() == [1.0, 0.25]
    assert corpus.annotators == ({"x": [[0, 2], [3, 3], [0, 2]], "y": []}, {"z": []})
    assert {name: column.tolist() for name, column in corpus.columns.items()} == {
        "language": ["en", "en"],
        "model": ["org/m", "org/other"],
        "input": ["?", "?"],
    }
    assert not corpus.columns["model"].flags.writeable
    assert (len(corpus), corpus.mismatched, corpus.invalid) == (2, (), (0, 0, 0, 0))


def test_ids_stay_distinct_strings_in_the_order_of_the_file(tmp_path: Path) -> None:
    ids = ["1344800117571260417", "18_19", "1", "001"]
    assert load_mushroom(write(tmp_path / "x.jsonl", [row(i) for i in ids])).ids == tuple(ids)
    assert load_mushroom(write(tmp_path / "y.jsonl", [row(i) for i in (19, 2**62)])).ids == ("19", str(2**62))


def named(folder: Path, language: str, split: str = "tst", version: str = "v1.extra") -> Path:
    return folder / f"mushroom.{language}-{split}.{version}.jsonl"


def test_mushroom_folder(tmp_path: Path) -> None:
    for code in ("sv", "en", "de"):
        write(named(tmp_path, code), [row(f"{code}-{i}", lang=code.upper()) for i in range(2)])
    write(named(tmp_path, "en", "val", "v2"), [row("val-en-1")])
    write(tmp_path / "mushroom-en-tst-predicted.jsonl", [row("pred")])
    assert load_mushroom(tmp_path).ids == ("de-0", "de-1", "en-0", "en-1", "sv-0", "sv-1")
    assert load_mushroom(str(tmp_path), ["sv", "DE"]).columns["language"].tolist() == ["sv", "sv", "de", "de"]
    assert load_mushroom(tmp_path, "EN").ids == ("en-0", "en-1")
    assert load_mushroom(tmp_path, split="validation").ids == load_mushroom(tmp_path, split="val").ids == ("val-en-1",)
    with pytest.raises(FileNotFoundError, match="no file of 'fr' in the split 'test', only de, en, sv"):
        load_mushroom(tmp_path, "fr")
    with pytest.raises(FileNotFoundError, match=r"no files of the split 'train', .* mushroom.en-train\.v1\.jsonl"):
        load_mushroom(tmp_path, split="train")
    with pytest.raises(ValueError, match="language must be"):
        load_mushroom(tmp_path, [])
    write(named(tmp_path, "en", version="v1"), [row("en-0")])
    with pytest.raises(ValueError, match=r"several files of 'en' .*: mushroom\.en-tst\.v1\.extra\.jsonl, "):
        load_mushroom(tmp_path)
    assert load_mushroom(tmp_path, "sv").ids == ("sv-0", "sv-1")


def test_mushroom_folder_of_folders(tmp_path: Path) -> None:
    write(named(tmp_path / "test", "en"), [row("tst-en-1")])
    write(named(tmp_path / "val", "en", "val", "v2.extra"), [row("val-en-1")])
    assert load_mushroom(tmp_path).ids == ("tst-en-1",)
    assert load_mushroom(tmp_path, "en", "val").ids == ("val-en-1",)


def test_languages_of_one_file_are_rows(tmp_path: Path) -> None:
    codes = ["EN", "SV", "EN", "DE"]
    path = write(tmp_path / "all.jsonl", [row(str(i), lang=c) for i, c in enumerate(codes)])
    assert load_mushroom(path, ["sv", "en"]).ids == ("1", "0", "2")
    with pytest.raises(ValueError, match="no rows of the language 'fr', languages there: de, en, sv"):
        load_mushroom(path, "fr")


@pytest.mark.parametrize("first", ["de", "sv"])
def test_files_without_a_single_label_load_in_both_orders(tmp_path: Path, first: str) -> None:
    full = {
        "hard_labels": [[0, 4]],
        "soft_labels": [{"start": 0, "prob": 0.9, "end": 4}],
        "annotations": {"q": [[0, 4]]},
    }
    for code in ("de", "sv"):
        labels = {"annotations": {}} if code == first else full
        write(named(tmp_path, code), [row(f"{code}-{i}", lang=code.upper(), **labels) for i in range(2)])
    corpus = load_mushroom(tmp_path)
    assert corpus.ids == ("de-0", "de-1", "sv-0", "sv-1")
    expected = [[], [], [[0, 4]], [[0, 4]]]
    assert corpus.references.tolist() == (expected if first == "de" else expected[::-1])
    assert corpus.soft_labels is not None
    assert corpus.soft_labels.tolist() == corpus.references.tolist()
    assert corpus.soft_labels.score is not None
    assert corpus.soft_labels.score.tolist() == [0.9, 0.9]


def test_fields_that_a_split_lacks_are_none(tmp_path: Path) -> None:
    keep = ("id", "lang", "model_output_text", "hard_labels")
    corpus = load_mushroom(write(tmp_path / "x.jsonl", [{k: one[k] for k in keep} for one in TWO]))
    assert corpus.soft_labels is None
    assert corpus.annotators is None
    assert list(corpus.columns) == ["language"]


def test_files_that_lack_what_others_have(tmp_path: Path) -> None:
    write(named(tmp_path, "en"), TWO)
    keep = ("lang", "model_output_text", "hard_labels", "soft_labels")
    write(named(tmp_path, "fr"), [{**{k: row()[k] for k in keep}, "id": "fr-1"}])
    corpus = load_mushroom(tmp_path)
    # Absent is not the same as nobody.
    assert corpus.annotators == (TWO[0]["annotations"], TWO[1]["annotations"], None)
    assert corpus.columns["model"].tolist() == ["org/m", "org/other", None]
    write(named(tmp_path, "fr"), [{**{k: row()[k] for k in keep[:3]}, "id": "fr-1"}])
    with pytest.raises(
        ValueError, match=r"mushroom\.fr-tst\.v1\.extra\.jsonl:1: no soft_labels, which other files have"
    ):
        load_mushroom(tmp_path)
    corpus = load_mushroom(tmp_path, missing_rows="empty")
    assert corpus.soft_labels is not None
    assert corpus.soft_labels.tolist() == [[[4, 7], [0, 2]], [], []]
    assert corpus.soft_labels.score is not None
    assert corpus.soft_labels.score.tolist() == [1.0, 0.25]
    assert corpus.invalid == (0, 0, 0, 1)


def test_unlabelled_rows_are_refused_unless_asked_for(tmp_path: Path) -> None:
    bare = [{"id": f"u{i}", "lang": "EN", "model_output_text": "abc"} for i in range(3)]
    path = write(tmp_path / "x.jsonl", bare)
    with pytest.raises(ValueError, match=r"x\.jsonl:1: \(id 'u0', .*hard_labels: 3 rows without annotation"):
        load_mushroom(path)
    corpus = load_mushroom(path, missing_rows="empty")
    assert corpus.references.tolist() == [[], [], []]
    assert corpus.invalid.missing == 3
    path = write(tmp_path / "y.jsonl", [row("1"), row("2", hard_labels=None)])
    with pytest.raises(ValueError, match=r"y\.jsonl:2: \(id '2', .*hard_labels: 1 row without annotation"):
        load_mushroom(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hard_labels": [[3.0, 5]]}, "hard_labels"),
        ({"hard_labels": [[3.7, 5]]}, "hard_labels"),
        ({"hard_labels": [["3", 5]]}, "hard_labels"),
        ({"hard_labels": [[True, 5]]}, "hard_labels"),
        ({"hard_labels": [[5, 3]]}, "hard_labels"),
        ({"hard_labels": [[3, 3]]}, "hard_labels"),
        ({"hard_labels": [[-1, -1]]}, "hard_labels"),
        ({"hard_labels": [[3, 13]]}, "past the end"),
        ({"hard_labels": "[[3, 4]"}, "not JSON"),
        ({"soft_labels": [{"start": 3.0, "end": 4, "prob": 1.0}]}, "soft_labels"),
        ({"soft_labels": [{"start": 3, "end": 4}]}, "without a number as prob"),
        ({"soft_labels": [{"start": 3, "end": 4, "prob": None}]}, "prob"),
        ({"soft_labels": [{"start": 3, "end": 4, "prob": "1"}]}, "prob"),
        ({"soft_labels": [{"start": 3, "end": 4, "prob": float("nan")}]}, "prob"),
        ({"soft_labels": [[3, 4]]}, "soft_labels must be objects"),
        ({"annotations": {"a": [[3.0, 4]]}}, "annotations of 'a' must be [start, end] pairs of integers"),
        ({"annotations": {"a": [[3]]}}, "annotations of 'a' must be [start, end] pairs of integers"),
        ({"annotations": {"a": [3, 4]}}, "annotations of 'a' must be [start, end] pairs of integers"),
        ({"annotations": [[3, 4]]}, "annotations must be an object"),
        ({"annotations": [{"annotator_id": "a", "labels": []}] * 2}, "annotations name an annotator twice"),
        ({"id": None}, "id must be a string, got None"),
        ({"id": 7}, "id must be a string, got 7"),
        ({"id": "first"}, "the id 'first' stands twice, first at"),
        ({"model_output_text": None}, "model_output_text must be a string, got None"),
        ({"model_output_text": "\ud83d"}, "half of a surrogate pair"),
        ({"lang": 3}, "lang must be a string, got 3"),
        ({"model_id": ["m"]}, "model_id must be a string, got ['m']"),
    ],
)
def test_faulty_mushroom_rows_are_named_by_line(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.jsonl"
    text = "\n\n".join(
        map(json.dumps, [row("first"), row("second", **fields) if "id" not in fields else row(**fields)])
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises((ValueError, TypeError)) as caught:
        load_mushroom(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert message in str(caught.value)


def test_files_without_what_a_corpus_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.jsonl: expected a column 'model_output_text', found id, text"):
        load_mushroom(write(tmp_path / "x.jsonl", [{"id": "1", "text": "a"}]))
    with pytest.raises(ValueError, match=r"y\.jsonl"):
        load_mushroom(write(tmp_path / "y.jsonl", []))


def test_leniency_is_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.jsonl", [row("1", hard_labels=[[3, 99], [1, 2], [4, 4]]), row("2", hard_labels=[[0, 1]])]
    )
    dropped, clipped = load_mushroom(path, invalid="drop"), load_mushroom(path, invalid="clip")
    assert (dropped.references.tolist(), dropped.invalid) == ([[[1, 2]], [[0, 1]]], (1, 2, 0, 0))
    assert (clipped.references.tolist(), clipped.invalid) == ([[[3, 12], [1, 2]], [[0, 1]]], (1, 1, 1, 0))
    path = write(tmp_path / "y.jsonl", [row("1", soft_labels=[{"start": 3, "end": 99, "prob": 0.5}])])
    assert load_mushroom(path, invalid="drop").invalid == (1, 1, 0, 0)
    write(named(tmp_path, "en"), [row("1", hard_labels=[[3, 99]])])
    write(named(tmp_path, "sv"), [row("2", hard_labels=[[3, 99], [3, 99]])])
    assert load_mushroom(tmp_path, invalid="drop").invalid == (2, 3, 0, 0)


# -- local or Hub


@pytest.mark.parametrize(
    "name",
    [
        "./x.jsonl",
        "x.jsonl",
        "a/b.JSONL",
        "data/x.parquet",
        "../a/b",
        "/no/where",
        "a/b/c",
        "~/nope-x",
        "folder/",
        "a\\b",
    ],
)
@pytest.mark.parametrize("load", [load_mushroom, load_ragtruth])
def test_what_can_only_be_a_path_never_reaches_the_hub(
    load: Callable[..., Corpus], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a request to the Hub")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets, "load_dataset", refuse)
    monkeypatch.setattr(datasets, "get_dataset_config_names", refuse)
    with pytest.raises(FileNotFoundError) as caught:
        load(name)
    assert name in str(caught.value)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "org" / "name")


def test_arguments_that_are_no_path() -> None:
    with pytest.raises(TypeError, match="path_or_hub must be"):
        load_mushroom(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="path_or_hub is empty"):
        load_ragtruth("")


def test_datasets_is_needed_only_when_something_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import mycelium.corpora, sys; print({'datasets', 'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    path = write(tmp_path / "x.jsonl", TWO)
    folder = ragtruth(tmp_path / "r", [response("1", "abc", [])])
    monkeypatch.setitem(sys.modules, "datasets", None)
    loads: list[Callable[[], Corpus]] = [lambda: load_mushroom(path), lambda: load_mushroom("a/b")]
    loads += [lambda: load_ragtruth(folder), lambda: load_ragtruth("a/b")]
    for load in loads:
        with pytest.raises(ImportError, match=r'pip install "mycelium-eval\[hf\]"'):
            load()


# -- Mu-SHROOM, Hub forms


class Hub:
    """Stands in for the Hub: keeps the arguments, loads local files with the real function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path, files: dict[Any, Any]) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.files, self.cache = files, str(cache)
        monkeypatch.setattr(datasets, "load_dataset", self.load_dataset)
        monkeypatch.setattr(datasets, "get_dataset_config_names", self.configs)

    def configs(self, name: str) -> list[str]:
        return [config for config in self.files if config is not None] or ["default"]

    def load_dataset(self, name: str, config: str | None = None, *, split: str) -> Any:
        self.calls.append((name, config, split))
        given = self.files[config]
        if not isinstance(given, Path):
            return given
        kind = "parquet" if given.suffix == ".parquet" else "json"
        return REAL_LOAD_DATASET(kind, data_files=str(given), split="train", cache_dir=self.cache)


def list_form(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def entries(marks: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"annotator_id": who, "labels": spans} for who, spans in marks.items()]

    return [{**one, "annotations": entries(one["annotations"])} for one in records]


def same(a: Corpus, b: Corpus) -> bool:
    soft = (a.soft_labels is None) == (b.soft_labels is None)
    if a.soft_labels is not None and b.soft_labels is not None:
        soft = a.soft_labels.equals(b.soft_labels)
    columns = {name: column.tolist() for name, column in a.columns.items()}
    return (
        soft
        and a.references.equals(b.references)
        and (a.ids, a.texts, a.annotators) == (b.ids, b.texts, b.annotators)
        and columns == {name: column.tolist() for name, column in b.columns.items()}
    )


#: Three rows whose annotators differ, so that one form fills in who was absent and the other writes JSON.
DIFFER = [
    row("1", annotations={"x": [[0, 2], [3, 3]], "y": []}, hard_labels=[[0, 2]]),
    row("2", annotations={"y": [[1, 2]]}, soft_labels=[{"start": 1, "prob": 1.0, "end": 2}]),
    row("3", annotations={"z": [], "x": [[4, 5]]}),
]


@pytest.mark.parametrize("form", ["dict", "list", "dict.parquet", "list.parquet"])
def test_mushroom_from_a_hub_with_language_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    swedish = [{**one, "id": f"sv-{one['id']}", "lang": "SV"} for one in DIFFER[::-1]]
    files: dict[Any, Any] = {}
    for code, records in (("sv", swedish), ("en", DIFFER)):
        path = write(tmp_path / f"{code}.jsonl", list_form(records) if form.startswith("list") else records)
        if form.endswith("parquet"):
            dataset = REAL_LOAD_DATASET("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
            path = tmp_path / f"{code}.parquet"
            dataset.to_parquet(str(path))
        files[code] = path
    hub = Hub(monkeypatch, tmp_path / "cache", files)
    write(named(tmp_path / "local", "en"), DIFFER)
    write(named(tmp_path / "local", "sv"), swedish)
    corpus = load_mushroom("Helsinki-NLP/mu-shroom", "en", split="test")
    assert hub.calls == [("Helsinki-NLP/mu-shroom", "en", "test")]
    assert corpus.annotators == ({"x": [[0, 2], [3, 3]], "y": []}, {"y": [[1, 2]]}, {"z": [], "x": [[4, 5]]})
    assert same(corpus, load_mushroom(tmp_path / "local", "en"))
    hub.calls.clear()
    corpus = load_mushroom("Helsinki-NLP/mu-shroom")
    assert hub.calls == [("Helsinki-NLP/mu-shroom", code, "test") for code in ("en", "sv")]
    assert same(corpus, load_mushroom(tmp_path / "local"))
    with pytest.raises(ValueError, match="no language 'fr', only en, sv"):
        load_mushroom("Helsinki-NLP/mu-shroom", "fr")
    if form.endswith("parquet"):
        assert same(load_mushroom(files["sv"]), load_mushroom(tmp_path / "local", "sv"))


def test_mushroom_from_a_hub_with_a_language_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [{**one, "lang": code} for one, code in zip(DIFFER, ("SV", "EN", "SV"), strict=True)]
    hub = Hub(monkeypatch, tmp_path / "cache", {None: write(tmp_path / "all.jsonl", list_form(records))})
    assert load_mushroom("org/all", split="validation").columns["language"].tolist() == ["sv", "en", "sv"]
    corpus = load_mushroom("org/all", "sv", "validation")
    assert (corpus.ids, hub.calls[-1]) == (("1", "3"), ("org/all", None, "validation"))
    assert corpus.annotators == (DIFFER[0]["annotations"], DIFFER[2]["annotations"])
    records[2]["hard_labels"] = [[0, 99]]
    hub.files[None] = write(tmp_path / "bad.jsonl", list_form(records))
    assert load_mushroom("org/all", "en").ids == ("2",)
    with pytest.raises(ValueError, match=r"org/all \(test\), row 2: \(id '3', .*past the end"):
        load_mushroom("org/all", "sv")


def test_selected_and_shuffled_datasets_are_read_in_their_own_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "x.jsonl", list_form(DIFFER))
    dataset = REAL_LOAD_DATASET("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
    Hub(monkeypatch, tmp_path, {None: dataset.select([2, 0])})
    corpus = load_mushroom("org/all")
    assert corpus.ids == ("3", "1")
    assert corpus.references.tolist() == [[], [[0, 2]]]


def test_sequences_of_dicts_that_come_back_as_dicts_of_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Sequence({...}) makes of a list of dicts.
    integer, string = datasets.Value("int64"), datasets.Value("string")
    features = datasets.Features(
        {
            **{"id": string, "model_output_text": string, "hard_labels": [[integer]]},
            "soft_labels": datasets.Sequence({"start": integer, "end": integer, "prob": datasets.Value("float32")}),
            "annotations": datasets.Sequence({"annotator_id": string, "labels": [[integer]]}),
        }
    )
    soft = [{"start": [0, 6], "end": [4, 9], "prob": [0.5, 0.25]}, {"start": [], "end": [], "prob": []}]
    marks = [{"annotator_id": ["x", "y"], "labels": [[[0, 4]], []]}, {"annotator_id": [], "labels": []}]
    rows = [
        {"id": str(i), "model_output_text": "0123456789", "hard_labels": [], "soft_labels": s, "annotations": a}
        for i, (s, a) in enumerate(zip(soft, marks, strict=True))
    ]
    dataset = datasets.Dataset.from_list(rows, features=features)
    assert pa.types.is_struct(dataset.data.column("soft_labels").type)
    Hub(monkeypatch, tmp_path, {None: dataset})
    corpus = load_mushroom("org/all")
    assert corpus.soft_labels is not None
    assert corpus.soft_labels.tolist() == [[[0, 4], [6, 9]], []]
    assert corpus.soft_labels.score is not None
    assert corpus.soft_labels.score.tolist() == [0.5, 0.25]
    assert corpus.annotators == ({"x": [[0, 4]], "y": []}, {})


@pytest.mark.parametrize("module", [mushroom, ragtruth_module])
def test_declared_features_can_be_saved_and_loaded(tmp_path: Path, module: Any) -> None:
    features = module._features()
    dataset = datasets.Dataset.from_dict({name: [None] for name in features}, features=features)
    dataset.save_to_disk(str(tmp_path / "saved"))
    loaded = datasets.load_from_disk(str(tmp_path / "saved"))
    assert loaded.features == features
    dataset.to_parquet(str(tmp_path / "x.parquet"))
    cache = str(tmp_path / "cache")
    loaded = REAL_LOAD_DATASET("parquet", data_files=str(tmp_path / "x.parquet"), split="train", cache_dir=cache)
    assert loaded.features == features


# -- RAGTruth


def test_ragtruth_folder_is_read_as_published(tmp_path: Path) -> None:
    folder = ragtruth(
        tmp_path,
        [
            response(
                "7", "0123456789", [label(6, 9, "678", "Subtle Conflict"), label(0, 8, "01234567", "Evident Conflict")]
            ),
            response("8", " \u2028x ", [], source_id="s2", model="m2", temperature=1, quality="truncated"),
            response("9", "abc", [], split="train"),
        ],
    )
    for path in (folder, str(folder), folder / "response.jsonl", folder / "source_info.jsonl"):
        corpus = load_ragtruth(path)
        assert corpus.ids == ("7", "8")
        assert corpus.texts == ("0123456789", " \u2028x ")
        assert corpus.references.tolist() == [[[6, 9], [0, 8]], []]
        assert corpus.references.label is not None
        assert corpus.references.label.tolist() == ["Subtle Conflict", "Evident Conflict"]
        assert corpus.references.score is None
        assert corpus.references.length is not None
        assert corpus.references.length.tolist() == [10, 4]
        assert (corpus.soft_labels, corpus.annotators, corpus.mismatched) == (None, None, ())
        assert {name: column.tolist() for name, column in corpus.columns.items()} == {
            "task_type": ["QA", "QA"],
            "source": ["MARCO", "MARCO"],
            "source_id": ["s1", "s2"],
            "model": ["gpt-4", "m2"],
            "temperature": [0.7, 1.0],
            "quality": ["good", "truncated"],
            "split": ["test", "test"],
        }
        assert corpus.columns["temperature"].dtype == np.float64
    assert load_ragtruth(folder, "train").ids == ("9",)
    assert load_ragtruth(folder, "train+test").columns["split"].tolist() == ["test", "test", "train"]
    with pytest.raises(ValueError, match=r"no rows of the split 'dev', splits there: \['test', 'train'\]"):
        load_ragtruth(folder, "dev")


def test_a_missing_second_file_names_the_expected_path(tmp_path: Path) -> None:
    folder = ragtruth(tmp_path, [response("1", "abc", [])])
    (folder / "source_info.jsonl").unlink()
    for path in (folder, folder / "response.jsonl"):
        with pytest.raises(FileNotFoundError) as caught:
            load_ragtruth(path)
        assert str(folder / "source_info.jsonl") in str(caught.value)


def test_labels_whose_text_is_elsewhere_are_reported(tmp_path: Path) -> None:
    # A browser counts the emoji as two: its [3, 6) is Python's [2, 5).
    text = "\U0001f642 bad fact"
    rows = [
        response("ok", text, [label(2, 5, "bad"), label(6, 10, None)]),
        response("js", text, [label(3, 6, "bad"), label(2, 5, "bad")]),
    ]
    folder = ragtruth(tmp_path, rows)
    with pytest.warns(UserWarning, match=r"the stored text of 1 label is not .*\(ids 'js'\)") as caught:
        corpus = load_ragtruth(folder)
    assert caught[0].filename == __file__
    assert corpus.mismatched == (("js", 3, 6),)
    assert corpus.references.tolist() == [[[2, 5], [6, 10]], [[3, 6], [2, 5]]]
    assert corpus[[0]].mismatched == ()
    assert corpus[[1]].mismatched == (("js", 3, 6),)
    ragtruth(tmp_path, [response("js", text, [label(3, 6, "bad")])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = load_ragtruth(folder, offsets="utf16")
    assert (corpus.references.tolist(), corpus.mismatched) == ([[[2, 5]]], ())
    ragtruth(tmp_path, [response(str(i), "abc", [label(0, 1, "z"), label(1, 2, "z")]) for i in range(7)])
    with pytest.warns(UserWarning, match="14 labels is not .*'0', '1', '2', '3', '4' and 2 more"):
        load_ragtruth(folder)


def test_texts_stay_with_their_labels_when_some_are_dropped(tmp_path: Path) -> None:
    labels = [label(5, 5, ""), label(0, 1, "a", implicit_true=True), label(1, 2, "b", "t1"), label(2, 3, "x", "t2")]
    folder = ragtruth(tmp_path, [response("0", "abc", []), response("1", "abc", labels)])
    with pytest.raises(ValueError, match=r"response\.jsonl:2: \(id '1', .*span 0 \[5, 5\]"):
        load_ragtruth(folder)
    with pytest.warns(UserWarning, match="1 label "):
        corpus = load_ragtruth(folder, invalid="drop", implicit_true="exclude")
    assert corpus.references.tolist() == [[], [[1, 2], [2, 3]]]
    assert corpus.references.label is not None
    assert corpus.references.label.tolist() == ["t1", "t2"]
    assert (corpus.mismatched, corpus.invalid) == ((("1", 2, 3),), (1, 1, 0, 0))


def test_implicit_labels_count_unless_excluded_at_both_levels(tmp_path: Path) -> None:
    rows = [
        response("A", "abc", [label(0, 1, "a", implicit_true=True)]),
        response("B", "abc", []),
        response("C", "abc", [label(1, 2, "b"), label(2, 3, "c", implicit_true=True)]),
    ]
    folder = ragtruth(tmp_path, rows)
    corpus = load_ragtruth(folder)
    assert (corpus.references.counts > 0).tolist() == [True, False, True]
    corpus = load_ragtruth(folder, implicit_true="exclude")
    assert corpus.references.tolist() == [[], [], [[1, 2]]]
    assert (corpus.references.counts > 0).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="implicit_true must be 'include' or 'exclude', got True"):
        load_ragtruth(folder, implicit_true=True)  # type: ignore[arg-type]


def test_every_span_keeps_its_own_type(tmp_path: Path) -> None:
    rows = [response("1", "x" * 30, [label(20, 25, None, "baseless"), label(0, 5, None, "conflict")])]
    corpus = load_ragtruth(ragtruth(tmp_path, rows))
    assert corpus.references.label is not None
    pairs = zip(corpus.references.start.tolist(), corpus.references.end.tolist(), corpus.references.label, strict=True)
    assert list(pairs) == [(20, 25, "baseless"), (0, 5, "conflict")]


@pytest.mark.parametrize("empty_first", [True, False])
def test_responses_without_a_single_label(tmp_path: Path, empty_first: bool) -> None:
    empty = [response(f"e{i}", "abc", []) for i in range(3)]
    full = [response("f", "abc", [label(0, 1, "a")])]
    corpus = load_ragtruth(ragtruth(tmp_path, empty + full if empty_first else full + empty))
    assert sorted(map(len, corpus.references.tolist())) == [0, 0, 0, 1]
    corpus = load_ragtruth(ragtruth(tmp_path, empty))
    assert corpus.references.tolist() == [[], [], []]


def test_fewer_fields_in_labels_are_enough(tmp_path: Path) -> None:
    rows = [response("1", "abc", [{"start": 0, "end": 1}]), response("2", "abc", {"start": [0, 1], "end": [1, 3]})]
    corpus = load_ragtruth(ragtruth(tmp_path, rows), implicit_true="exclude")
    assert corpus.references.tolist() == [[[0, 1]], [[0, 1], [1, 3]]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": [label(0.0, 1)]}, "labels"),
        ({"labels": [label("0", 1)]}, "labels"),
        ({"labels": [label(0, 9)]}, "past the end"),
        ({"labels": [label(0, 1, 5)]}, "text of a label must be a str, got 5"),  # type: ignore[arg-type]
        ({"labels": [label(0, 1, implicit_true="no")]}, "implicit_true of a label must be a bool, got 'no'"),
        ({"labels": [[0, 1]]}, "labels must be objects with start and end"),
        ({"labels": {"start": [0, 1], "end": [1]}}, "labels"),
        ({"labels": None}, "without annotation"),
        ({"temperature": "0.7"}, "temperature must be a number, got '0.7'"),
        ({"temperature": True}, "temperature must be a number, got True"),
        ({"quality": 1}, "quality must be a string, got 1"),
        ({"response": None}, "response must be a string, got None"),
        ({"id": "first"}, "the id 'first' stands twice"),
    ],
)
def test_faulty_ragtruth_rows_are_named_by_line(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    # The row of the other split shifts lines against rows.
    rows = [response("first", "abc", []), response("train", "abc", [], split="train")]
    rows.append({**response("second", "abc", []), **fields})
    with pytest.raises((ValueError, TypeError)) as caught:
        load_ragtruth(ragtruth(tmp_path, rows))
    assert str(caught.value).startswith(f"{tmp_path / 'response.jsonl'}:3: ")
    assert message in str(caught.value)


def test_responses_that_were_not_annotated(tmp_path: Path) -> None:
    folder = ragtruth(tmp_path, [response("1", "abc", None), response("2", "abc", [label(0, 1, "a")])])
    corpus = load_ragtruth(folder, missing_rows="empty")
    assert (corpus.references.tolist(), corpus.invalid.missing) == ([[], [[0, 1]]], 1)


def processed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the schema of the processed corpus on the Hub."""
    return [
        {
            **{"id": one["id"], "query": "?", "context": "c", "output": one["response"], "task_type": "QA"},
            **{"quality": one["quality"], "model": one["model"], "temperature": one["temperature"]},
            "hallucination_labels": json.dumps(one["labels"]),
            "hallucination_labels_processed": {"evident_conflict": 0, "baseless_info": len(one["labels"])},
            "input_str": "prompt",
        }
        for one in rows
    ]


def test_ragtruth_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        response("001", "\U0001f642 bad\u2028", [label(3, 6, "bad"), label(0, 5, "\U0001f642 bad", "Subtle Conflict")]),
        response("1", "clean", []),
        response("3", "abc", [label(0, 1, "a", implicit_true=True)]),
    ]
    path = write(tmp_path / "processed.jsonl", processed(rows))
    hub = Hub(monkeypatch, tmp_path / "cache", {None: path})
    with pytest.warns(UserWarning, match=r"wandb/RAGTruth-processed: the stored text of 1 label "):
        corpus = load_ragtruth("wandb/RAGTruth-processed", implicit_true="exclude")
    assert hub.calls == [("wandb/RAGTruth-processed", None, "test")]
    assert corpus.ids == ("001", "1", "3")
    assert corpus.texts == ("\U0001f642 bad\u2028", "clean", "abc")
    assert corpus.references.tolist() == [[[3, 6], [0, 5]], [], []]
    assert corpus.references.label is not None
    assert corpus.references.label.tolist() == ["Evident Conflict", "Subtle Conflict"]
    assert corpus.mismatched == (("001", 3, 6),)
    assert list(corpus.columns) == ["task_type", "model", "temperature", "quality", "query", "context"]
    assert corpus.columns["temperature"].tolist() == [0.7, 0.7, 0.7]
    parquet = tmp_path / "processed.parquet"
    REAL_LOAD_DATASET("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c")).to_parquet(
        str(parquet)
    )
    for local in (path, parquet):
        with pytest.warns(UserWarning, match="1 label "):
            assert same(load_ragtruth(local, implicit_true="exclude"), corpus)
    bad = processed(rows)
    bad[1]["hallucination_labels"] = "[{'start': 0}]"
    hub.files[None] = write(tmp_path / "bad.jsonl", bad)
    with pytest.raises(
        ValueError, match=r"wandb/RAGTruth-processed \(test\), row 1: column 'hallucination_labels': not JSON"
    ):
        load_ragtruth("wandb/RAGTruth-processed")
    bad[1]["hallucination_labels"] = '[{"start": 0.0, "end": 1}]'
    hub.files[None] = write(tmp_path / "bad2.jsonl", bad)
    with pytest.raises((TypeError, ValueError), match=r"wandb/RAGTruth-processed \(test\), row 1: \(id '1', "):
        load_ragtruth("wandb/RAGTruth-processed")


@pytest.mark.parametrize("labels", [[[], []], [[label(0, 1, "a")], []], [[{"start": 0, "end": 1}], [label(1, 2, "b")]]])
def test_ragtruth_labels_with_inferred_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: Any) -> None:
    # Inference makes null, a struct, or (rows with different keys, newer versions) JSON of a column.
    path = write(tmp_path / "x.jsonl", [response(str(i), "abc", one) for i, one in enumerate(labels)])
    Hub(monkeypatch, tmp_path / "cache", {None: path})
    expected = [[[span["start"], span["end"]] for span in one] for one in labels]
    corpus = load_ragtruth("org/inferred")
    assert corpus.references.tolist() == expected
    dataset = REAL_LOAD_DATASET("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
    dataset.to_parquet(str(tmp_path / "x.parquet"))
    assert load_ragtruth(tmp_path / "x.parquet", implicit_true="exclude").references.tolist() == expected
    with pytest.raises(ValueError, match="no rows of the split 'train'"):
        load_ragtruth(tmp_path / "x.parquet", "train")


def test_parquet_of_several_splits(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [response(str(i), "abc", [label(i % 3, 3)], split=("train", "test")[i % 2]) for i in range(4)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    corpus = load_ragtruth(tmp_path / "x.parquet")
    assert (corpus.ids, corpus.references.tolist()) == (("1", "3"), [[[1, 3]], [[0, 3]]])
    rows[3]["response"] = "ab"
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet, row 4: \(id '3', .*past the end"):
        load_ragtruth(tmp_path / "x.parquet")


# -- the corpus itself


def small() -> Corpus:
    texts = ("aaaa", "bbbbbb", "c")
    references = as_spans([[[0, 2]], [], [[0, 1], [0, 1]]], text=texts)
    marks: Any = ({"x": [[0, 2]]}, None, {"x": [], "y": [[0, 1]]})
    return Corpus(("1", "2", "3"), texts, references, references, marks, {"n": np.arange(3.0)}, (("3", 0, 1),))


@pytest.mark.parametrize(
    ("index", "rows"),
    [
        (slice(1, None), [1, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        (np.array([True, False, True]), [0, 2]),
        ([True, False, True], [0, 2]),
        ([2, 0, 2], [2, 0, 2]),
        ([-1], [2]),
        ([], []),
    ],
)
def test_a_corpus_is_indexed_by_rows(index: Any, rows: list[int]) -> None:
    whole = small()
    part = whole[index]
    assert whole.annotators is not None
    assert part.ids == tuple("123"[i] for i in rows)
    assert part.texts == tuple(whole.texts[i] for i in rows)
    assert part.references.tolist() == [whole.references.tolist()[i] for i in rows]
    assert part.soft_labels is not None
    assert part.soft_labels.tolist() == part.references.tolist()
    assert part.annotators == tuple(whole.annotators[i] for i in rows)
    assert part.columns["n"].tolist() == rows
    assert not part.columns["n"].flags.writeable
    assert part.mismatched == ((("3", 0, 1),) if 2 in rows else ())


@pytest.mark.parametrize("index", [1, np.int64(0), [5], [True], [[0, 1]], "x", [0.5]])
def test_other_indices_of_a_corpus_are_refused(index: Any) -> None:
    with pytest.raises(IndexError):
        small()[index]


def test_a_corpus_refuses_parts_that_do_not_fit() -> None:
    spans = as_spans([[], []], text=["a", "b"])
    with pytest.raises(ValueError, match="texts has 1 rows, ids has 2"):
        Corpus(("1", "2"), ("a",), spans)
    with pytest.raises(ValueError, match="references has 2 rows, ids has 1"):
        Corpus(("1",), ("a",), spans)
    with pytest.raises(ValueError, match=r"columns\['m'\] has 1 rows, ids has 2"):
        Corpus(("1", "2"), ("a", "b"), spans, columns={"m": np.zeros(1)})
    with pytest.raises(TypeError, match="ids must be a tuple of str"):
        Corpus((1, 2), ("a", "b"), spans)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        small().ids = ()  # type: ignore[misc]


def test_a_corpus_can_be_shown_and_pickled() -> None:
    corpus = small()
    assert repr(corpus) == "Corpus(rows=3, spans=3, soft_labels, annotators, columns=['n'])"
    assert same(pickle.loads(pickle.dumps(corpus)), corpus)


# -- the published files


def published(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").split("\n") if line]


@pytest.mark.corpora
@pytest.mark.parametrize("code", ROWS)
def test_each_published_language_alone(corpora: Path, code: str) -> None:
    corpus = load_mushroom(corpora / "mu_shroom" / "test", code)
    records = published(corpora / "mu_shroom" / "test" / f"mushroom.{code}-tst.v1.extra.jsonl")
    assert len(corpus) == len(records) == ROWS[code]
    assert list(corpus.ids) == [one["id"] for one in records]
    assert list(corpus.texts) == [one["model_output_text"] for one in records]
    assert corpus.references.tolist() == [one["hard_labels"] for one in records]
    assert corpus.references.length is not None
    assert corpus.references.length.tolist() == [len(one["model_output_text"]) for one in records]
    assert corpus.soft_labels is not None
    assert corpus.soft_labels.score is not None
    soft = [span for one in records for span in one["soft_labels"]]
    assert corpus.soft_labels.start.tolist() == [span["start"] for span in soft]
    assert corpus.soft_labels.score.tolist() == [span["prob"] for span in soft]
    assert corpus.annotators is not None
    assert list(corpus.annotators) == [one["annotations"] for one in records]
    assert corpus.columns["model"].tolist() == [one["model_id"] for one in records]
    assert set(corpus.columns["language"]) == {code}


@pytest.mark.corpora
def test_all_published_languages_together(corpora: Path) -> None:
    corpus = load_mushroom(corpora / "mu_shroom")
    codes, counts = np.unique(corpus.columns["language"].astype(str), return_counts=True)
    assert dict(zip(codes.tolist(), counts.tolist(), strict=True)) == ROWS
    assert len(corpus) == 1902
    files = sorted((corpora / "mu_shroom" / "test").iterdir())
    assert list(corpus.texts) == [one["model_output_text"] for file in files for one in published(file)]
    assert corpus.soft_labels is not None
    assert corpus.annotators is not None
    validation = load_mushroom(corpora / "mu_shroom", split="validation")
    assert (len(validation), validation.ids[0]) == (50, "val-en-1")
    english = [one for one in corpus[corpus.columns["language"] == "en"].annotators or () if one is not None]
    assert {len(one) for one in english} == {9, 10, 11, 12}


@pytest.mark.corpora
def test_all_published_languages_from_a_hub_form(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {code: corpora / "mu_shroom" / "test" / f"mushroom.{code}-tst.v1.extra.jsonl" for code in ROWS}
    Hub(monkeypatch, tmp_path / "cache", files)
    assert same(load_mushroom("Helsinki-NLP/mu-shroom"), load_mushroom(corpora / "mu_shroom"))


@pytest.mark.corpora
def test_the_published_ragtruth_rows(corpora: Path) -> None:
    corpus = load_ragtruth(corpora / "ragtruth")
    assert corpus.ids == ("728", "729", "730", "212", "854")
    assert corpus.references.tolist() == [
        [[91, 149], [150, 346], [347, 412]],
        [[157, 191]],
        [[258, 280]],
        [[144, 193]],
        [[147, 224]],
    ]
    assert corpus.texts[0][91:149] == "causing an explosion that released radiation into the air."
    assert set(corpus.references.label if corpus.references.label is not None else ()) == {"Evident Baseless Info"}
    assert corpus.mismatched == ()
    assert corpus.columns["source_id"].tolist() == ["15714", "15714", "15714", "15628", "15735"]
