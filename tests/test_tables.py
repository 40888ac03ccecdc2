"""Tables of strings: every layout by hand, and LaTeX read back by a reader of its own."""

from __future__ import annotations

import csv
import html
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelium import evaluate
from mycelium.tables import FORMATS, render, with_notes

HEADER = ["rank", "system", "score", "group"]
ROWS = [["1", "a_b & 50%|x<y>", "0.5", "a"], ["12", "c", "-0.25", "ab"]]
LEFT = (1, 3)


def test_text_and_markdown() -> None:
    assert render(HEADER, ROWS, names=LEFT) == (
        "rank  system          score  group\n   1  a_b & 50%|x<y>    0.5  a\n  12  c               -0.25  ab"
    )
    assert render(HEADER, ROWS, format="markdown", names=LEFT) == (
        "| rank | system           | score | group |\n"
        "| ---: | ---------------- | ----: | ----- |\n"
        "|    1 | a_b & 50%\\|x\\<y> |   0.5 | a     |\n"
        "|   12 | c                | -0.25 | ab    |"
    )


def test_the_first_columns_are_names_unless_said_otherwise() -> None:
    assert render(["x", "y"], [["long", "1"], ["s", "10"]]) == "x      y\nlong   1\ns     10"
    assert render(["x", "y"], [["long", "1"], ["s", "10"]], names=2) == "x     y\nlong  1\ns     10"
    assert render(["x", "y"], [["a", "1"], ["bc", "10"]], names=()) == " x   y\n a   1\nbc  10"


def test_csv_reads_back() -> None:
    assert list(csv.reader(io.StringIO(render(HEADER, ROWS, format="csv")))) == [HEADER, *ROWS]


def test_html_escapes_and_aligns() -> None:
    table = render(HEADER, ROWS, format="html", names=LEFT)
    cells = re.findall(r"<t[hd] style=\"[^\"]*text-align:(\w+)\">(.*?)</t[hd]>", table)
    assert [html.unescape(text) for _, text in cells] == [*HEADER, *ROWS[0], *ROWS[1]]
    assert [side for side, _ in cells] == ["right", "left", "right", "left"] * 3
    assert "x<y" not in table


def test_latex_by_hand() -> None:
    assert render(HEADER, ROWS, format="latex", names=LEFT) == (
        "\\begin{tabular}{rlrl}\n"
        "\\toprule\n"
        "rank & system & score & group \\\\\n"
        "\\midrule\n"
        "1 & a\\_b \\& 50\\%\\textbar{}x\\textless{}y\\textgreater{} & 0.5 & a \\\\\n"
        "12 & c & $-$0.25 & ab \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}"
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("\\", "\\textbackslash{}"),
        ("{}", "\\{\\}"),
        ("$#&%_", "\\$\\#\\&\\%\\_"),
        ("~^", "\\textasciitilde{}\\textasciicircum{}"),
        ("<|>", "\\textless{}\\textbar{}\\textgreater{}"),
        ('"', "\\char34{}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("two\nlines", "two lines"),
        # Right after the line before, these would be taken for arguments of its \\.
        ("[0.1, 0.2]", "{[}0.1, 0.2]"),
        ("*best", "{*}best"),
        ("é漢", "é漢"),
    ],
)
def test_latex_escapes_names(cell: str, expected: str) -> None:
    lines = render(["x", "y"], [[cell, "1"]], format="latex").split("\n")
    assert lines[4] == f"{expected} & 1 \\\\"


def test_latex_numbers_have_a_minus_and_ranges_a_hyphen() -> None:
    row = render(["x", "y", "z"], [["-1", "[-0.5, -0.25]", "2-3"]], format="latex", names=1).split("\n")[4]
    assert row == "-1 & [$-$0.5, $-$0.25] & 2-3 \\\\"


LETTERS = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
LETTERS |= {"textbar": "|", "char34": '"'}


def typeset(source: str) -> list[str]:
    """Read a row of a tabular as TeX would: commands, groups, alignment marks; anything else special is an error."""
    cells, i = [""], 0
    while i < len(source):
        if source.startswith("\\\\", i):
            assert i + 2 == len(source)
            return [cell.strip(" ") for cell in cells]
        if match := re.compile(r"\\([a-z]+\d*)\{\}").match(source, i):
            cells[-1] += LETTERS[match[1]]
            i = match.end()
        elif source[i] == "\\":
            assert source[i + 1] in "&%$#_{}", source
            cells[-1] += source[i + 1]
            i += 2
        elif source[i] in "{}":
            i += 1
        elif source[i] == "&":
            cells.append("")
            i += 1
        else:
            assert source[i] not in "%$#_^~", source
            assert not source.startswith("--", i), source
            cells[-1] += source[i]
            i += 1
    raise AssertionError(f"no end of line: {source}")


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"])), min_size=1, max_size=3))
def test_latex_prints_what_it_was_given(cells: list[str]) -> None:
    line = render(cells, [cells], format="latex", names=len(cells)).split("\n")[4]
    assert typeset(line) == cells
    assert not line.startswith(("[", "*"))


def test_notes_stand_below() -> None:
    notes = ["3 examples", "a|b"]
    assert with_notes("T", notes, "text") == "T\n3 examples\na|b"
    assert with_notes("T", notes, "markdown") == "T\n\n3 examples\n\n`a|b`"
    assert with_notes("T", ["one\ntwo", "a|b"], "latex") == "T\n% one\n% two\n% a|b"
    assert with_notes("T", notes, "csv") == "T"
    assert html.unescape(re.sub("<.*?>", " ", with_notes("T", ["a < b"], "html"))).split() == ["T", "a", "<", "b"]
    assert with_notes("T", [], "html") == "T"


def test_unknown_formats_are_refused() -> None:
    assert FORMATS == ("text", "markdown", "csv", "html", "latex")
    with pytest.raises(ValueError, match=r"format must be one of .*'latex', got 'pdf'"):
        render(HEADER, ROWS, format="pdf")


def test_a_report_goes_into_a_paper() -> None:
    report = evaluate(references=[[0, 10]], predictions=[[2, 8]], metrics=["iou", "exact_span"])
    table = report.to_table("latex")
    assert "exact\\_span & 0.0000 & 0.0000 & 0.0000 &  \\\\" in table
    assert f"% {report.signature}" in table
