"""Reading records from files: nothing is changed, everything unreadable is refused with its place."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from mycelium.formats.files import decode_column, read_jsonl, read_table, write_text

IDS = ["001", "1", "18_19", "1344800117571260417"]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))


# -- JSONL


def test_records_end_at_line_feeds_only(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x1ce"
    path = put(tmp_path, "x.jsonl", '{"t": "' + text.replace("\x1c", "\\u001c") + '"}\r\n \t\r\n{"t": "\\n"}')
    assert read_jsonl(path) == [(1, {"t": text}), (3, {"t": "\n"})]


def test_a_lone_carriage_return_is_white_space(tmp_path: Path) -> None:
    assert read_jsonl(put(tmp_path, "x.jsonl", '{"a":\r1}\n')) == [(1, {"a": 1})]


def test_a_byte_order_mark_is_no_part_of_the_first_record(tmp_path: Path) -> None:
    assert read_jsonl(put(tmp_path, "x.jsonl", b'\xef\xbb\xbf{"a": 1}\n')) == [(1, {"a": 1})]


def test_text_is_kept_byte_for_byte(tmp_path: Path) -> None:
    texts = [" lead and trail \n", "e\u0301 vs \u00e9", "\U0001f642\ufeff\u200b", "\x00\t"]
    path = put(tmp_path, "x.jsonl", "\n".join(json.dumps({"t": t}, ensure_ascii=False) for t in texts))
    assert [record["t"] for _, record in read_jsonl(path)] == texts
    assert read_table(path).columns["t"] == texts


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{'a': 1}", "not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (b'{"a": 1} {"a": 2}', "not JSON: Extra data (column 10)"),
        (b'{"a": 1', "not JSON: Expecting ',' delimiter (column 8)"),
        (b'{"a": 1\n', "not JSON: Expecting ',' delimiter (column 8)"),
        (b"[1, 2]", "expected a JSON object, got an array"),
        (b'"x"', "expected a JSON object, got a string"),
        (b"3", "expected a JSON object, got a number"),
        (b"true", "expected a JSON object, got a boolean"),
        (b"null", "expected a JSON object, got null"),
        (b'{"id": 1, "spans": [], "id": 2}', "the key 'id' stands twice in one object"),
        (b'{"spans": [{"start": 1, "end": 2, "start": 0}]}', "the key 'start' stands twice in one object"),
        (b'{"a": "\xe9"}', "not UTF-8: invalid continuation byte (byte 8)"),
        (b"[" * 100_000, "not JSON that can be read: nested too deeply"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = put(tmp_path, "x.jsonl", b'{"ok": 1}\n\n' + line + b"\n")
    with pytest.raises(ValueError) as caught:
        read_jsonl(path)
    # The wording after "not JSON" is the standard library's and differs a little between versions.
    assert str(caught.value).startswith(f"{path}:3: {reason[:9]}")
    assert str(caught.value) == f"{path}:3: {reason}" or reason.startswith("not ")


def test_all_problems_of_a_file_can_be_collected(tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", '[]\n{"a": 1}\n{"a": 1, "a": 1}\n{"b": 2}\nnull\n')
    problems: list[str] = []
    assert read_jsonl(path, problems=problems) == [(2, {"a": 1}), (4, {"b": 2})]
    assert problems == [
        f"{path}:1: expected a JSON object, got an array",
        f"{path}:3: the key 'a' stands twice in one object",
        f"{path}:5: expected a JSON object, got null",
    ]


def test_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("no.jsonl", "no.json", "no.csv", "no.parquet", "no.txt"):
        with pytest.raises(FileNotFoundError, match="no such file") as caught:
            read_table(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, '{"t": "\u00e9\u2028"}\n'.encode())
    table = read_table("-")
    assert (table.path, table.columns, table.lines) == ("<stdin>", {"t": ["\u00e9\u2028"]}, [1])
    feed(monkeypatch, b"t\nx\n")
    assert read_table("-", format="csv").columns == {"t": ["x"]}
    feed(monkeypatch, b"nope")
    with pytest.raises(ValueError, match=r"^<stdin>:1: not JSON"):
        read_table("-")


# -- tables


def test_columns_hold_none_where_a_record_lacks_a_key(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "x.ndjson", '{"a": 1}\n\n{"b": null, "c": []}\n'))
    assert table.columns == {"a": [1, None], "b": [None, None], "c": [None, []]}
    assert list(table.columns) == ["a", "b", "c"]
    assert (len(table), table.lines, table.where(1)) == (2, [1, 3], f"{tmp_path / 'x.ndjson'}:3")


def test_json_list_of_objects_knows_its_lines(tmp_path: Path) -> None:
    text = json.dumps([{"id": i, "spans": [[0, 4]]} for i in IDS], indent=1)
    path = put(tmp_path, "x.json", "\n" + text + "\n")
    table = read_table(path)
    assert table.columns == {"id": IDS, "spans": [[[0, 4]]] * 4}
    # The first record begins on the third line; json.dumps(indent=1) writes each one on nine lines.
    assert [path.read_text().split("\n")[n - 1].strip() for n in table.lines] == ["{"] * 4
    assert table.where(0) == f"{path}:3"
    assert read_table(put(tmp_path, "empty.json", " [ ] ")).columns == {}


def test_json_object_of_lists(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "x.json", json.dumps({"id": IDS, "spans": [[], [[0, 1]], None, []]})))
    assert table.columns == {"id": IDS, "spans": [[], [[0, 1]], None, []]}
    assert (len(table), table.where(2)) == (4, f"{tmp_path / 'x.json'}, entry 3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1},\n{"a": 2, "a": 3}]', ":2: the key 'a' stands twice in one object"),
        ('[{"a": 1},\n\n3]', ":3: expected a JSON object, got a number"),
        ('[{"a": 1}\n{"a": 2}]', ":2: not JSON: Expecting ',' delimiter (column 1)"),
        ('[{"a": 1}]\n{"a": 2}', ":2: not JSON: Extra data (column 1)"),
        ('{"a": 1}\n{"a": 2}', ":2: not JSON: Extra data (column 1)"),
        ('{"a": [1], "b": [1, 2]}', "'a' has 1, 'b' has 2"),
        ('{"a": [1], "b": "x"}', "'b' is a string"),
        ('"x"', ":1: expected a list of objects or an object of lists, got a string"),
        ("[", ":1: not JSON: "),
        ("[1,]", ":1: "),
        ("", ":1: not JSON: "),
        ("[" * 100_000, ":1: not JSON that can be read: nested too deeply"),
    ],
)
def test_json_that_is_no_table(tmp_path: Path, text: str, message: str) -> None:
    path = put(tmp_path, "x.json", text)
    with pytest.raises(ValueError) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_csv_cells_are_strings_and_span_cells_hold_json(tmp_path: Path, suffix: str, delimiter: str) -> None:
    spans = [[[0, 4], [6, 9]], [], None, [{"start": 0, "end": 1, "label": 'a,"b"\t'}]]
    texts = ['said "yes", then\nleft', " x\r\ny ", "", "\u2028\x85"]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(["id", "text", "spans"])
    for row in zip(IDS, texts, ["" if s is None else json.dumps(s) for s in spans], strict=True):
        writer.writerow(row)
    path = put(tmp_path, f"x.{suffix}", "\ufeff" + buffer.getvalue())
    table = read_table(path)
    assert table.columns["id"] == IDS
    assert table.columns["text"] == texts
    assert table.columns["spans"][0] == "[[0, 4], [6, 9]]"
    assert decode_column(table, "spans") == spans
    assert table.lines == [2, 4, 6, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n\n1,2,3\n", ":4: 3 cells, the header has 2"),
        ("a,b\n1\n", ":2: 1 cells, the header has 2"),
        ("a,b,a\n", ":1: the column 'a' stands twice in the header"),
        ('a\n"x"y\n', ":2: not CSV: "),
        ('a\n"x\n', ":2: not CSV: "),
        ("a\nx\ry\n", ":2: not CSV: "),
    ],
)
def test_malformed_csv_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = put(tmp_path, "x.csv", text)
    with pytest.raises(ValueError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_long_cells_are_read_and_the_global_limit_is_left_alone(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert read_table(put(tmp_path, "x.csv", f"a\n{long}\n")).columns == {"a": [long]}
    with pytest.raises(ValueError):
        read_table(put(tmp_path, "y.csv", 'a\n"x'))
    assert csv.field_size_limit() == limit


def test_cells_that_are_not_json_are_named(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "x.csv", "id,spans\n1,[]\n2,\"[{'start': 0}]\"\n"))
    with pytest.raises(ValueError, match=r"x\.csv:3: column 'spans': not JSON"):
        decode_column(table, "spans")
    with pytest.raises(KeyError):
        decode_column(table, "labels")


def test_json_strings_are_decoded_in_jsonl_too(tmp_path: Path) -> None:
    table = read_table(put(tmp_path, "x.jsonl", '{"a": "[[0, 1]]", "b": []}\n{"a": [], "b": [[0, 1]]}\n{"a": null}'))
    assert decode_column(table, "a") == [[[0, 1]], [], None]
    assert decode_column(table, "b") is table.columns["b"]
    table = read_table(put(tmp_path, "y.jsonl", '{"a": ""}'))
    with pytest.raises(ValueError, match=r"y\.jsonl:1: column 'a': not JSON"):
        decode_column(table, "a")


def test_parquet_columns_stay_arrow(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    spans = pa.array([[[0, 4]], [], None, []], type=pa.list_(pa.list_(pa.int64())))
    table = pa.table({"id": IDS, "spans": spans, "json": ["[[1, 2]]", None, "[]", "[]"]})
    folder = tmp_path / "lang=en"
    folder.mkdir()
    parquet.write_table(table, folder / "x.parquet")
    read = read_table(folder / "x.parquet")
    assert list(read.columns) == ["id", "spans", "json"], "no column out of the folder's name"
    assert read.columns["spans"].type.value_type.value_type == pa.int64()
    assert read.columns["spans"].to_pylist() == spans.to_pylist()
    assert read.columns["id"].to_pylist() == IDS
    assert decode_column(read, "spans") is read.columns["spans"]
    assert decode_column(read, "json") == [[[1, 2]], None, [], []]
    assert (len(read), read.where(1)) == (4, f"{folder / 'x.parquet'}, row 2")
    with pytest.raises(ValueError, match=r"bad\.parquet: not Parquet"):
        read_table(put(tmp_path, "bad.parquet", "id\n"))


def test_json_columns_of_arrow_are_decoded(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    if not hasattr(pa, "json_"):
        pytest.skip("this pyarrow has no JSON type")
    texts = pa.array(['[{"start": 0, "end": 4}]', None, "[]"])
    lists = pa.array([['{"start": 0}', None], None, []], type=pa.list_(pa.string()))
    table = pa.table({"json": texts.cast(pa.json_()), "lists": lists.cast(pa.list_(pa.json_())), "plain": [1, None, 2]})
    parquet.write_table(table, tmp_path / "x.parquet")
    read = read_table(tmp_path / "x.parquet")
    assert decode_column(read, "json") == [[{"start": 0, "end": 4}], None, []]
    assert decode_column(read, "lists") == [[{"start": 0}, None], None, []]
    assert decode_column(read, "plain") is read.columns["plain"]
    # What a pyarrow without that type makes of such a file.
    parquet.write_table(pa.table({"json": [b'[{"start": 0}]', b"[]"]}), tmp_path / "old.parquet")
    assert decode_column(read_table(tmp_path / "old.parquet"), "json") == [[{"start": 0}], []]
    parquet.write_table(pa.table({"json": ["[]", "[" * 3]}), tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match=r"bad\.parquet, row 2: column 'json': not JSON"):
        decode_column(read_table(tmp_path / "bad.parquet"), "json")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "mycelium-eval\[arrow\]"'):
        read_table(put(tmp_path, "x.parquet", ""))


def test_formats(tmp_path: Path) -> None:
    path = put(tmp_path, "x.txt", '{"a": 1}')
    with pytest.raises(ValueError, match=r"x\.txt: no format is known for the suffix '\.txt'"):
        read_table(path)
    assert read_table(path, format="jsonl").columns == {"a": [1]}
    assert read_table(put(tmp_path, "x.JSONL", '{"a": 1}')).columns == {"a": [1]}
    with pytest.raises(ValueError, match="format must be one of 'jsonl', 'json', 'csv', 'tsv', 'parquet', got 'xml'"):
        read_table(path, format="xml")


# -- a RAGTruth folder


def ragtruth(folder: Path, responses: list[dict[str, object]], sources: list[dict[str, object]] | None) -> Path:
    put(folder, "response.jsonl", "\n".join(map(json.dumps, responses)))
    if sources is not None:
        put(folder, "source_info.jsonl", "\n".join(map(json.dumps, sources)))
    return folder


def test_ragtruth_folder_is_joined(tmp_path: Path) -> None:
    ragtruth(
        tmp_path,
        [{"id": "2", "source_id": "b", "labels": []}, {"id": "1", "source_id": "a"}, {"id": "3", "source_id": "b"}],
        [
            {"source_id": "a", "task_type": "QA", "source": "MARCO", "prompt": "?"},
            {"source_id": "b", "task_type": "Summary", "source": "CNN/DM"},
        ],
    )
    table = read_table(tmp_path)
    assert table.columns == {
        "id": ["2", "1", "3"],
        "source_id": ["b", "a", "b"],
        "labels": [[], None, None],
        "task_type": ["Summary", "QA", "Summary"],
        "source": ["CNN/DM", "MARCO", "CNN/DM"],
    }
    assert table.where(2) == f"{tmp_path / 'response.jsonl'}:3"


def test_ragtruth_folder_faults_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_table(tmp_path)
    assert str(tmp_path / "response.jsonl") in str(caught.value)
    ragtruth(tmp_path, [{"id": "1", "source_id": "a"}, {"id": "2", "source_id": 7}], None)
    with pytest.raises(FileNotFoundError) as caught:
        read_table(tmp_path)
    assert str(tmp_path / "source_info.jsonl") in str(caught.value)
    put(tmp_path, "source_info.jsonl", '{"source_id": "a"}\n{"source_id": "7"}')
    with pytest.raises(ValueError, match=r"response\.jsonl:2: the response with id '2' has source_id 7, which .*lacks"):
        read_table(tmp_path)
    put(tmp_path, "source_info.jsonl", '{"source_id": "a"}\n\n{"source_id": "a"}')
    with pytest.raises(ValueError, match=r"source_info\.jsonl:3: the source_id 'a' stands twice"):
        read_table(tmp_path)
    put(tmp_path, "source_info.jsonl", '{"source_id": ["a"]}')
    with pytest.raises(ValueError, match=r"source_info\.jsonl:1: source_id must be a string or an integer"):
        read_table(tmp_path)


@pytest.mark.corpora
def test_the_published_ragtruth_rows(corpora: Path) -> None:
    table = read_table(corpora / "ragtruth")
    assert table.columns["id"] == ["728", "729", "730", "212", "854"]
    assert table.columns["task_type"] == ["Summary"] * 5
    assert [len(labels) for labels in table.columns["labels"]] == [3, 1, 1, 1, 1]


# -- writing


def test_write_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.txt"
    for text in ("IoU: 0.5\n\u2028", "second\n"):
        write_text(target, text)
        assert target.read_bytes() == text.encode("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    write_text(None, "a")
    write_text("-", "b\n")
    assert capsys.readouterr().out == "ab\n"
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "no" / "out.txt", "x")


def test_write_text_leaves_links_and_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"

    def full(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="disk full"):
        write_text(real, "lost")
    assert real.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.txt", "real.txt"]
