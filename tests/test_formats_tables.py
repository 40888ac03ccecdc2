"""Columns of other libraries: pandas, polars, datasets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelium.formats import as_spans, read_spans, text_lengths

ROWS: list[Any] = [[[0, 4], [6, 9]], [], [[2, 8]]]
TEXTS = ["a", "", "🙂b"]
ROOT = Path(__file__).parents[1]


def test_nothing_heavy_is_imported_for_plain_input() -> None:
    code = (
        "import sys, numpy as np; from mycelium.formats import as_spans, spans_from_mask, spans_from_tokens\n"
        "as_spans([[[0, 4]]], text=['abcd'], offsets='utf16'); as_spans(np.array([[[0, 4]]]))\n"
        "spans_from_mask([[0, 1]]); spans_from_tokens([[(0, 1)]], [[1]])\n"
        "print([m for m in ('pandas', 'pyarrow', 'polars', 'datasets', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


class TestPandas:
    @property
    def pd(self) -> Any:
        return pytest.importorskip("pandas")

    def test_series(self) -> None:
        pd = self.pd
        dicts = [[{"start": s, "end": e} for s, e in row] for row in ROWS]
        for rows in (ROWS, dicts, [np.array(row) for row in ROWS], [tuple(row) for row in ROWS]):
            assert as_spans(pd.Series(rows)).tolist() == ROWS

    def test_rows_go_by_position(self) -> None:
        series = self.pd.Series(ROWS, index=[7, 0, 7])
        assert as_spans(series).tolist() == ROWS
        shuffled = self.pd.Series(ROWS).iloc[[2, 0, 1]]
        assert as_spans(shuffled).tolist() == [ROWS[2], ROWS[0], ROWS[1]]

    @pytest.mark.parametrize("gone", [None, float("nan"), "NA", "NaT"])
    def test_missing(self, gone: Any) -> None:
        gone = getattr(self.pd, gone) if isinstance(gone, str) else gone
        series = self.pd.Series([[[0, 4]], gone, []], dtype=object)
        batch, counts = read_spans(series, missing_rows="empty")
        assert batch.tolist() == [[[0, 4]], [], []]
        assert counts.missing == 1
        with pytest.raises(ValueError, match="1 row without annotation"):
            as_spans(series)

    def test_rectangular(self) -> None:
        for rows in ([[[0, 2]], [[3, 5]]], [[], []], [[[0, 2]]]):
            assert as_spans(self.pd.Series(rows)).tolist() == rows

    def test_arrow_dtype(self) -> None:
        pa = pytest.importorskip("pyarrow")
        dtype = self.pd.ArrowDtype(pa.list_(pa.list_(pa.int64())))
        series = self.pd.Series([ROWS[0], None, *ROWS], dtype=dtype)
        assert as_spans(series.iloc[2:]).tolist() == ROWS
        batch, counts = read_spans(series.iloc[::-1], missing_rows="empty")
        assert batch.tolist() == [*ROWS[::-1], [], ROWS[0]]
        assert counts.missing == 1
        texts = self.pd.Series(TEXTS, dtype=self.pd.ArrowDtype(pa.string()))
        assert text_lengths(texts).tolist() == [1, 0, 2]

    def test_parquet(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        dicts = [[{"start": s, "end": e, "label": "x"} for s, e in row] for row in ROWS]
        self.pd.DataFrame({"pairs": ROWS, "dicts": dicts}).to_parquet(tmp_path / "spans.parquet")
        frame = self.pd.read_parquet(tmp_path / "spans.parquet")
        assert as_spans(frame["pairs"]).tolist() == ROWS
        batch = as_spans(frame["dicts"])
        assert batch.tolist() == ROWS
        assert batch.label is not None
        assert batch.label.tolist() == ["x"] * 3

    def test_a_batch_as_a_column(self) -> None:
        frame = self.pd.DataFrame({"spans": as_spans(ROWS)})
        assert as_spans(frame["spans"]).tolist() == ROWS

    def test_texts(self) -> None:
        for dtype in (object, "string", None):
            assert text_lengths(self.pd.Series(TEXTS, dtype=dtype, index=[5, 5, 1])).tolist() == [1, 0, 2]
            with pytest.raises(TypeError, match="text: expected strings, row 1"):
                text_lengths(self.pd.Series(["a", None], dtype=dtype))

    def test_refusals(self) -> None:
        frame = self.pd.DataFrame({"spans": ROWS})
        with pytest.raises(TypeError, match="refs: expected a column, got a pandas DataFrame"):
            read_spans(frame, name="refs")
        with pytest.raises(TypeError, match=r"row 1, span 0 \[3.0, 5\]: start is 3.0"):
            as_spans(self.pd.Series([[[0, 4]], [[3.0, 5]]]))
        with pytest.raises(TypeError, match="row 0: expected the spans of one example"):
            as_spans(self.pd.Series([1, 2]))


class TestPolars:
    @property
    def pl(self) -> Any:
        return pytest.importorskip("polars")

    def test_series(self) -> None:
        pl = self.pl
        dicts = [[{"start": s, "end": e} for s, e in row] for row in ROWS]
        series = pl.Series([ROWS[0], None, *ROWS])
        assert as_spans(series[2:]).tolist() == ROWS
        assert read_spans(series, missing_rows="empty")[0].tolist() == [ROWS[0], [], *ROWS]
        assert as_spans(pl.Series(dicts)).tolist() == ROWS
        assert as_spans(pl.Series(ROWS, dtype=pl.List(pl.Array(pl.Int32, 2)))).tolist() == ROWS
        assert as_spans(pl.Series([np.array(row) for row in ROWS], dtype=pl.Object)).tolist() == ROWS
        rectangular = pl.Series([[[0, 2]], [[3, 5]]], dtype=pl.Array(pl.Array(pl.Int64, 2), 1))
        assert as_spans(rectangular).tolist() == [[[0, 2]], [[3, 5]]]

    def test_labels(self) -> None:
        rows = [
            [{"start": 0, "end": 4, "label": "x", "prob": 0.5}],
            [{"start": 1, "end": 2, "label": None, "prob": None}],
        ]
        for kind in (self.pl.String, self.pl.Categorical):
            pl = self.pl
            span = pl.Struct({"start": pl.Int64, "end": pl.Int64, "label": kind, "prob": pl.Float64})
            batch = as_spans(pl.Series(rows, dtype=pl.List(span)))
            assert batch.label is not None
            assert batch.label.tolist() == ["x", None]

    def test_texts(self) -> None:
        assert text_lengths(self.pl.Series(TEXTS)).tolist() == [1, 0, 2]
        with pytest.raises(TypeError, match="row 1 is"):
            text_lengths(self.pl.Series(["a", None]))

    def test_refusals(self) -> None:
        with pytest.raises(TypeError, match="got a polars DataFrame"):
            as_spans(self.pl.DataFrame({"spans": ROWS}))
        with pytest.raises(TypeError, match=r"row 0, span 0 .*expected integers"):
            as_spans(self.pl.Series([[[0.5, 1.0]]]))


class TestDatasets:
    @property
    def datasets(self) -> Any:
        return pytest.importorskip("datasets")

    def table(self) -> Any:
        rows = [[[i, i + 1]] * (i % 3) for i in range(20)]
        dicts = [[{"start": s, "end": e} for s, e in row] for row in rows]
        return self.datasets.Dataset.from_dict(
            {"id": range(20), "pairs": rows, "dicts": dicts, "text": ["é" * i + "abc" for i in range(20)]}
        )

    def test_columns(self) -> None:
        table = self.table()
        for column in ("pairs", "dicts"):
            assert as_spans(table[column]).tolist() == table["pairs"][:]
        assert text_lengths(table["text"]).tolist() == [i + 3 for i in range(20)]

    @pytest.mark.parametrize("way", ["shuffle", "select", "filter", "slice"])
    def test_rows_picked_without_being_copied(self, way: str) -> None:
        table = {
            "shuffle": lambda t: t.shuffle(seed=3),
            "select": lambda t: t.select([7, 2, 2, 11]),
            "filter": lambda t: t.filter(lambda row: row["id"] % 2 == 1),
            "slice": lambda t: t.select(range(5, 9)),
        }[way](self.table())
        expected = [[[i, i + 1]] * (i % 3) for i in table["id"]]
        assert table["id"][:] != list(range(20))
        for column in ("pairs", "dicts"):
            assert as_spans(table[column]).tolist() == expected
        assert text_lengths(table["text"]).tolist() == [i + 3 for i in table["id"]]

    def test_formats_and_transforms(self) -> None:
        table = self.table()
        for kind in ("numpy", "arrow", "pandas"):
            assert as_spans(table.with_format(kind)["pairs"]).tolist() == table["pairs"][:]
        moved = table.with_transform(
            lambda rows: {"pairs": [[[s + 1, e + 1] for s, e in row] for row in rows["pairs"]]}
        )
        assert as_spans(moved["pairs"]).tolist() == [[[s + 1, e + 1] for s, e in row] for row in table["pairs"]]

    def test_sequence_of_records(self) -> None:
        # Sequence({...}) comes back as a dict of lists.
        d = self.datasets
        features = d.Features(
            {"labels": d.Sequence({"start": d.Value("int64"), "end": d.Value("int64"), "type": d.Value("string")})}
        )
        rows = [
            {"start": [0, 6], "end": [4, 9], "type": ["conflict", "baseless"]},
            {"start": [], "end": [], "type": []},
        ]
        table = d.Dataset.from_dict({"labels": rows}, features=features)
        for column in (table["labels"], list(table["labels"])):
            batch = as_spans(column)
            assert batch.tolist() == [[[0, 4], [6, 9]], []]
            assert batch.label is not None
            assert batch.label.tolist() == ["conflict", "baseless"]

    def test_json(self) -> None:
        d = self.datasets
        if not hasattr(d, "Json"):
            pytest.skip("this version of datasets has no Json")
        rows = [[{"start": 0, "end": 4, "why": "a"}], [], [{"start": 1, "end": 2}]]
        for feature in (d.Json(), d.List(d.Json())):
            table = d.Dataset.from_dict({"spans": rows}, features=d.Features({"spans": feature}))
            assert as_spans(table["spans"]).tolist() == [[[0, 4]], [], [[1, 2]]]
            assert as_spans(table.select([2, 0])["spans"]).tolist() == [[[1, 2]], [[0, 4]]]

    def test_nested_and_streamed(self) -> None:
        d = self.datasets
        table = d.Dataset.from_dict({"answer": [{"spans": row} for row in ROWS]})
        if isinstance(table["answer"], list):
            pytest.skip("before datasets 4, columns are lists")
        assert as_spans(table["answer"]["spans"]).tolist() == ROWS
        assert as_spans(table.to_iterable_dataset()["answer"]["spans"]).tolist() == ROWS

    def test_missing(self) -> None:
        table = self.datasets.Dataset.from_dict({"spans": [[[0, 4]], None, []]})
        assert read_spans(table["spans"], missing_rows="empty")[1].missing == 1
        with pytest.raises(ValueError, match="row 1"):
            as_spans(table["spans"])

    def test_refusals(self) -> None:
        with pytest.raises(TypeError, match="got a datasets Dataset; choose one of its columns"):
            as_spans(self.table())
        with pytest.raises(TypeError, match="expected"):
            as_spans(self.table()["id"])
