"""``mycelium score`` on large files: what it prints is what it prints of the same rows read as a whole."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samples import random_batch

import mycelium
from mycelium.cli import main, pieces, streaming
from mycelium.formats.chunks import JsonlChunks, ParquetChunks, Repeats, open_chunks
from mycelium.formats.files import read_table

N = 150


def records(n: int = N, seed: int = 5) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rng = random.Random(seed)
    rows = random_batch(n, seed=seed)
    gold = [
        {
            "id": f"r{i}",
            "text": "x" * 60,
            "spans": spans,
            "task": rng.choice(["qa", "sum", None]),
            "year": rng.randrange(3),
        }
        for i, spans in enumerate(rows["references"])
    ]
    pred = [
        {"id": f"r{i}", "spans": spans, "system": rng.choice("ab")} for i, spans in enumerate(rows["predictions"])
    ]  # fmt: skip
    return gold, pred


def write(path: Path, rows: list[Any]) -> str:
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=40)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


class Ran:
    def __init__(self, status: Any, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"{self.status}\n{self.out}\n{self.err}"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on chunks of some rows; 0 reads the files as a whole."""

    def _run(*argv: str, rows: int = 0) -> Ran:
        monkeypatch.setattr(streaming, "SMALL", 0 if rows else 10**12)
        monkeypatch.setattr(streaming, "ROWS", rows)
        status = main(["score", *argv])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return _run


@pytest.fixture
def whole_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read as a whole."""
    seen: list[str] = []
    monkeypatch.setattr(pieces, "read_table", lambda source, **kw: seen.append(source) or read_table(source, **kw))
    return seen


OPTIONS = [
    [],
    ["--average", "micro", "--metrics", "iou, span_coverage(delta=2)"],
    ["--by", "task", "--by", "year"],
    ["--by", "system", "--by", "task", "--profile", "ragtruth"],
    ["--where", "year=1", "--by", "task", "--format", "csv"],
    ["--where", "year=1", "--where", "task=qa"],
    ["--where", "id=r77"],
    ["--undefined", "0", "--tolerance", "1e-9", "--missing-rows", "empty", "--missing", "empty"],
    ["--format", "json", "--by", "year"],
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("suffixes", [(".jsonl", ".jsonl"), (".parquet", ".parquet"), (".jsonl", ".parquet")])
def test_chunks_print_what_the_whole_prints(
    run: Any, whole_reads: list[str], tmp_path: Path, options: list[str], suffixes: tuple[str, str]
) -> None:
    gold, pred = records()
    files = [write(tmp_path / f"g{suffixes[0]}", gold), write(tmp_path / f"p{suffixes[1]}", pred)]
    expected = run(*files, *options)
    assert expected.status == 0
    assert whole_reads == files
    for rows in (1, 7, 64, N, 1000):
        assert run(*files, *options, rows=rows) == expected
    assert whole_reads == files  # and no more


def test_the_report_is_that_of_evaluate(run: Any, tmp_path: Path) -> None:
    gold, pred = records()
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    ran = run(*files, "--format", "json", "--by", "task", rows=11)
    report = mycelium.evaluate(
        references=[row["spans"] for row in gold],
        predictions=[row["spans"] for row in pred],
        text=[row["text"] for row in gold],
    )
    printed = json.loads(ran.out)
    assert printed["report"] == report
    tasks = report.by([json.dumps(row["task"]).strip('"') for row in gold])
    assert printed["slices"]["task"] == tasks


def test_soft_labels_texts_of_their_own_and_leniency(run: Any, tmp_path: Path) -> None:
    gold, pred = records()
    for row, other in zip(gold, pred, strict=True):
        row["soft_labels"] = [{"start": s, "end": e, "prob": 0.5} for s, e in row["spans"]]
        other["soft_labels"] = [{"start": s, "end": e, "prob": 0.25} for s, e in other["spans"]]
        other["text"] = row["text"]
    for i in (20, 90, 91):
        pred[i]["text"] = "something else"
    pred[33]["spans"] = [[-1, 4], [3, 99]]
    pred[140]["spans"] = None
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    options = ["--metrics", "iou soft_correlation", "--invalid", "clip", "--missing-rows", "empty", "--by", "task"]
    expected = run(*files, *options)
    assert expected.err.splitlines() == [
        f"mycelium: {files[1]}:21: text is not the text of the reference (and in 2 more rows); offsets are read in the"
        " reference's",
        "mycelium: leniency: 1 rows, 2 clipped, 1 missing (references and predictions together)",
    ]
    assert run(*files, *options, rows=13) == expected


def test_rows_without_ids(run: Any, whole_reads: list[str], tmp_path: Path) -> None:
    gold, pred = ([{k: v for k, v in row.items() if k != "id"} for row in side] for side in records())
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    for options in ([], ["--where", "year=2"]):
        expected = run(*files, *options)
        assert expected.err == "mycelium: neither file has a column 'id': rows are paired by order\n"
        whole_reads.clear()
        assert run(*files, *options, rows=9) == expected
        assert whole_reads == []


def fallback(ran: Any) -> tuple[str, str]:
    """Return what was said first, and the rest."""
    said, _, rest = ran.err.partition("\n")
    return said, rest


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda g, p: p.reverse(), "the rows of P are not in the order of G"),
        (lambda g, p: p.insert(120, p.pop(100)), "the rows of P are not in the order of G"),
        (lambda g, p: p.pop(), "P has fewer rows than G"),
        (lambda g, p: p.append({"id": "new", "spans": []}), "P has more rows than G"),
        (lambda g, p: (g[140].update(id="r3"), p[140].update(id="r3")), "some ids may stand there twice"),
        (lambda g, p: g[100].update(labels=[]), None),
        (lambda g, p: g[100].update(hard_labels=[]), None),
        (lambda g, p: p[100].update(text="x" * 60), "not all columns are there from the first rows on"),
        (lambda g, p: [row.update(text=None) or row.pop("text") for row in g[:50]], "not all columns"),
        (lambda g, p: [row.pop("spans") for row in p[:50]], "not all columns are there from the first rows on"),
    ],
)
def test_what_cannot_be_read_side_by_side_is_read_as_a_whole(
    run: Any, whole_reads: list[str], tmp_path: Path, change: Any, reason: str | None
) -> None:
    gold, pred = records()
    change(gold, pred)
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    options = ["--missing", "empty", "--missing-rows", "empty"]
    expected = run(*files, *options)
    whole_reads.clear()
    ran = run(*files, *options, rows=16)
    if reason is None:
        assert (ran, whole_reads) == (expected, [])
        return
    said, rest = fallback(ran)
    assert said.replace(files[0], "G").replace(files[1], "P").startswith(f"mycelium: {reason}")
    assert said.endswith(": the files are read as a whole")
    assert (ran.status, ran.out, rest) == (expected.status, expected.out, expected.err)
    assert whole_reads == files


def test_formats_and_outputs_that_need_all_rows(run: Any, whole_reads: list[str], tmp_path: Path) -> None:
    gold, pred = records(20)
    files = [write(tmp_path / "g.jsonl", gold), str(tmp_path / "p.json")]
    Path(files[1]).write_text(json.dumps(pred), encoding="utf-8")
    assert run(*files, rows=5) == run(*files)
    assert whole_reads == files * 2
    both = [files[0], write(tmp_path / "p.jsonl", pred)]
    out = tmp_path / "rows.jsonl"
    assert run(*both, "--per-example", str(out), rows=5).status == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g, p: p[100].update(spans=[[5, 2]]), "P: 1 invalid span in 1 row: line 101, span 0 [5, 2]: reversed"),
        (lambda g, p: g[100].update(spans=[[0, 61]]), "G: 1 invalid span in 1 row: line 101, span 0 [0, 61]: past the"),
        (lambda g, p: g[100].update(text=3), "G:101: text is no string"),
        (lambda g, p: p[100].update(spans=None), "P: 1 row without annotation (None): line 101;"),
        (lambda g, p: (g[100].update(id=None), p[100].update(id=None)), "G:101: no id"),
        (lambda g, p: (g[101].update(id="r100"), p[101].update(id="r100")), "G:102: id 'r100': duplicate of G:101"),
        (lambda g, p: g[100].update(task=[1]), "G: task cannot name slices, it holds lists such as '[1]'"),
        (
            lambda g, p: (g[3].update(task=1), g[100].update(task="1")),
            "G: task holds numbers and strings that look the",
        ),
    ],
)
def test_faults_are_named_by_their_place_in_the_file(run: Any, tmp_path: Path, change: Any, message: str) -> None:
    gold, pred = records()
    change(gold, pred)
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    ran = run(*files, "--by", "task", rows=16)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.replace(files[0], "G").replace(files[1], "P").startswith(f"mycelium: {message}")
    # Where one chunk holds the only fault, it is said in the words of the whole.
    lines = ran.err.splitlines()
    assert lines[-1] == "mycelium: rows after the first 112 were not looked at"
    assert lines[:-1] == run(*files, "--by", "task").err.splitlines()


def test_nothing_is_said_of_later_rows_where_there_are_none(run: Any, tmp_path: Path) -> None:
    gold, pred = records()
    pred[N - 1]["spans"] = [[5, 2]]
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    assert run(*files, rows=100) == run(*files)


def test_faults_of_parquet_files(run: Any, tmp_path: Path) -> None:
    gold, pred = records()
    files = [write(tmp_path / "g.parquet", gold), write(tmp_path / "p.parquet", pred)]
    for options in (
        ["--where", "year=7"],
        ["--where", "year=1", "--where", "task=other"],
        ["--where", "lang=en"],
        ["--by", "lang"],
        ["--spans", "other"],
        ["--text", "other"],
        ["--id", "key"],
    ):
        ran = run(*files, *options, rows=16)
        assert ran.status == 1
        assert ran.err.splitlines()[:1] == run(*files, *options).err.splitlines()
    pred[100]["spans"] = [[5, 2]]
    write(tmp_path / "p.parquet", pred)
    assert "row 101, span 0 [5, 2]: reversed" in run(*files, rows=16).err
    (tmp_path / "p.parquet").write_bytes(b"nonsense")
    assert f"{files[1]}: not Parquet" in run(*files, rows=16).err


def test_a_line_that_is_no_json_is_named(run: Any, tmp_path: Path) -> None:
    gold, pred = records()
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    lines = Path(files[1]).read_text(encoding="utf-8").split("\n")
    for line, reason in (("{", "not JSON"), ("[]", "expected a JSON object, got an array"), ('{"a":1,"a":2}', "twice")):
        Path(files[1]).write_text("\n".join([*lines[:90], line, *lines[90:]]), encoding="utf-8")
        ran = run(*files, rows=16)
        assert (ran.status, ran.err.startswith(f"mycelium: {files[1]}:91: "), reason in ran.err) == (1, True, True)
        assert ran == run(*files)


# -- the chunks


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("rows", [1, 30, 1000])
def test_chunks_hold_the_records_of_the_file(tmp_path: Path, suffix: str, rows: int, monkeypatch: Any) -> None:
    from mycelium.formats import chunks as module

    monkeypatch.setattr(module, "_BATCH", 17)
    path = write(tmp_path / f"g{suffix}", records()[0])
    whole = read_table(path)
    found: list[Any] = []
    with open_chunks(path) as file:
        assert isinstance(file, JsonlChunks if suffix == ".jsonl" else ParquetChunks)
        while len(table := file.read(rows)):
            assert (table.path, table.format, table.unit) == (whole.path, whole.format, whole.unit)
            found.append(table)
        assert file.done == file.total == (os.path.getsize(path) if suffix == ".jsonl" else N)
    assert [line for table in found for line in table.lines] == whole.lines
    assert {len(table) for table in found[:-1]} <= {rows}
    for name, column in whole.columns.items():
        assert [value for table in found for value in _plain(table.columns[name])] == _plain(column)


def _plain(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def test_chunks_end_where_they_grow_large(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    record = b'{"a": "%s"}\r\n' % ("\u2028".encode() * 50)
    path.write_bytes(b"\xef\xbb\xbf" + b"\n  \r\n" * 20 + record * 10)
    with open_chunks(str(path)) as file:
        # Blank lines of 100 bytes, and two records of 161.
        first = file.read(100, 400)
        assert first.lines == [41, 42]
        assert first.columns["a"][0] == "\u2028" * 50
        assert len(file.read(100)) == 8
        assert len(file.read(100)) == 0
    wide = write(tmp_path / "g.parquet", [{"a": "x" * 1000}] * 9000)
    with open_chunks(wide) as file:
        assert len(file.read(9000, 10**6)) == 2048
        assert len(file.read(9000)) == 9000 - 2048
    for other in ("-", str(tmp_path), str(tmp_path / "none.jsonl"), str(tmp_path / "g.csv")):
        assert open_chunks(other) is None


def test_repeats_are_found() -> None:
    repeats = Repeats()
    assert not repeats.found()
    for i in range(0, 1000, 10):
        repeats.add(f"{j:03}" for j in range(i, i + 10))
    assert not repeats.found()
    repeats.add(["x", "417"])
    assert repeats.found()


# -- memory and the terminal


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Four times the rows: read as a whole they take four times the memory."""
    code = """
import re, sys
from mycelium.cli import main, pieces, streaming
streaming.SMALL, streaming.ROWS = 0, 1000
assert main(["score", *sys.argv[1:], "--by", "task"]) == 0
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""
    peaks = []
    gold, pred = records(1000)
    for times in (10, 40):
        files = []
        for name, rows in (("g", gold), ("p", pred)):
            many = [{**row, "id": f"{row['id']} {i}", "note": "y" * 200} for i in range(times) for row in rows]
            files.append(write(tmp_path / f"{name}.jsonl", many))
        done = subprocess.run(
            [sys.executable, "-c", code, *files],
            env={**os.environ, "PYTHONPATH": str(Path(mycelium.__file__).parent.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"{times * 1000:,} examples" in done.stdout
        peaks.append(int(done.stderr.split()[-1]))
    # The files have grown by some 25 MB, their records in memory by three times as much.
    assert peaks[1] < peaks[0] + 8_000


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    pytest.importorskip("tqdm")
    import fcntl
    import pty
    import struct
    import termios

    gold, pred = records()
    files = [write(tmp_path / "g.jsonl", gold), write(tmp_path / "p.jsonl", pred)]
    code = """
import sys
from mycelium import progress
from mycelium.cli import main, pieces, streaming
progress.DELAY = 0.0
streaming.SMALL, streaming.ROWS = 0, 10
sys.exit(main(["score", *sys.argv[1:]]))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(mycelium.__file__).parent.parent)}
    command = [sys.executable, "-c", code, *files]
    quiet = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
    os.set_blocking(ours, False)
    screen = os.read(ours, 1 << 16).decode()
    for end in (ours, theirs):
        os.close(end)
    assert re.search(r"g\.jsonl: .*\d+%", screen)
    assert shown.stdout == quiet.stdout
