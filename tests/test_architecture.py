"""The direction of imports, the weight of importing, and adapters that do not calculate."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mycelium"

#: What each part may import of the others. A part is a module of the package or one of its folders.
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "spans": set(),
    "tables": set(),
    "profiles": set(),
    "intervals": {"spans"},
    "line": {"spans", "intervals", "matching"},
    "formats": {"spans"},
    "corpora": {"spans", "formats"},
    "metrics": {"spans", "intervals", "line", "matching", "formats", "inputs"},
    "reduce": {"spans"},
    "settings": {"_version", "spans", "formats", "metrics", "profiles"},
    "progress": set(),
    "plot": {"confidence", "detector", "metrics", "report", "versus"},
    "confidence": {"spans", "additive", "draws", "metrics", "resample", "tables"},
    "planning": {"spans", "draws", "progress", "resample"},
    "kept": {"spans", "additive", "draws", "settings"},
    "batch": {"spans", "formats", "inputs", "metrics", "settings"},
    "matching": {"spans", "intervals"},
    "view": {"spans", "errors", "formats"},
    "errors": {
        "spans",
        "batch",
        "formats",
        "intervals",
        "matching",
        "metrics",
        "report",
        "scoring",
        "settings",
        "tables",
    },
    "typed": {
        "spans",
        "batch",
        "confidence",
        "draws",
        "errors",
        "inputs",
        "kept",
        "line",
        "metrics",
        "reduce",
        "report",
        "scoring",
        "settings",
        "tables",
    },
    "detector": {
        "_version",
        "spans",
        "draws",
        "formats",
        "inputs",
        "intervals",
        "plot",  # when a card with pictures is asked for
        "progress",
        "report",
        "resample",
        "scoring",
        "tables",
    },
    "annotators": {
        "spans",
        "additive",
        "corpora",
        "draws",
        "formats",
        "intervals",
        "line",
        "metrics",
        "reduce",
        "resample",
        "tables",
    },
    "draws": {"spans", "progress"},
    "resample": {"spans", "draws", "progress"},
    "additive": {"spans", "draws", "metrics"},
    "report": {"spans", "additive", "confidence", "draws", "errors", "kept", "metrics", "reduce", "settings", "tables"},
    "inputs": {"spans"},
    "versus": {
        "spans",
        "additive",
        "confidence",
        "draws",
        "formats",
        "inputs",
        "metrics",
        "report",
        "resample",
        "scoring",
        "settings",
        "tables",
    },
    "scoring": {
        "spans",
        "additive",
        "batch",
        "confidence",
        "draws",
        "formats",
        "inputs",
        "kept",
        "line",
        "metrics",
        "reduce",
        "report",
        "settings",
    },
    "protocols": {"spans", "formats", "scoring", "report"},
    "samples": {"formats", "baseline"},
    "baseline": {"spans", "formats"},
    # Adapters stand on top: they convert, call and rename.
    "cli": {
        "_version",
        "spans",
        "formats",
        "corpora",
        "metrics",
        "scoring",
        "report",
        "settings",
        "profiles",
        "tables",
        "protocols",
        "samples",
        "baseline",
        "hf",
        "states",
        "accumulators",
        "line",
        "progress",
        "confidence",
        "versus",
        "view",
        "annotators",
        "errors",
        "typed",
        "detector",
        "plot",
    },
    "pooling": {"spans", "formats", "inputs", "line", "metrics", "profiles", "reduce", "scoring", "typed"},
    "thresholds": {"spans", "formats", "inputs", "line", "metrics", "pooling", "reduce"},
    "sklearn": {"spans", "formats", "metrics", "pooling", "thresholds"},
    "states": {"spans", "batch", "line", "metrics", "reduce", "scoring", "typed"},
    "accumulators": {"metrics", "scoring", "settings", "typed"},
    "arrow": {"_version", "spans", "accumulators", "formats", "metrics", "report", "scoring", "settings", "states"},
    "torch": {"accumulators", "metrics", "scoring", "states"},
    "trainer": {"spans", "accumulators", "formats", "metrics", "report", "scoring", "settings", "typed"},
    "hf": {"__init__", "spans", "accumulators", "formats", "metrics", "report", "scoring", "states", "typed"},
    "__main__": {"cli"},
    "__init__": {
        "_version",
        "spans",
        "confidence",
        "formats",
        "metrics",
        "planning",
        "report",
        "scoring",
        "typed",
        "versus",
    },
}
ADAPTERS = {"arrow", "cli", "hf", "plot", "sklearn", "torch", "trainer"}

#: Files of adapters that calculate, and what: never a score.
CALCULATE = {"plot/layout.py"}  # inches and characters of a drawing

#: Files that are themselves imported inside functions only, and may import their library at the top.
AT_TOP = {
    "formats/arrow.py": {"pyarrow"},
    "arrow/__init__.py": {"pyarrow"},
    "arrow/batches.py": {"pyarrow"},
    "arrow/functions.py": {"pyarrow"},
    "arrow/tables.py": {"pyarrow"},
    "hf/module.py": {"evaluate"},
    "sklearn/detector.py": {"sklearn"},
    "sklearn/scorers.py": {"sklearn"},
    "hf/storage.py": {"datasets", "pyarrow"},
}

#: Modules outside the standard library that a part may import inside its functions.
OPTIONAL: dict[str, set[str]] = {
    "formats": {"pyarrow", "pandas", "polars", "datasets"},
    "corpora": {"pyarrow", "datasets"},
    "detector": {"scipy", "sklearn"},
    "matching": {"scipy"},
    "plot": {"matplotlib"},
    "progress": {"tqdm"},
    "typed": {"matplotlib", "sklearn"},
    "hf": {"evaluate"},
    "sklearn": {"sklearn"},
    "torch": {"torch", "torchmetrics"},
}


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield each imported module and whether the import stands at the top of the file."""
    top = {id(node) for node in ast.iter_child_nodes(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            if node.module == "mycelium":
                for alias in node.names:
                    yield f"mycelium.{alias.name}", id(node) in top
            else:
                yield node.module, id(node) in top


def wrong_imports(part: str, tree: ast.AST, at_top_allowed: set[str] | None = None) -> list[str]:
    """Return what the file imports against the tables."""
    wrong = []
    for module, at_top in imports(tree):
        root, _, rest = module.partition(".")
        if root == "mycelium":
            target = rest.partition(".")[0]
            if target not in MAY_IMPORT:
                target = "__init__"  # a public name, imported from the top of the package
            if target != part and target not in MAY_IMPORT[part]:
                wrong.append(f"{part} imports {module}")
        elif root in sys.stdlib_module_names or root == "numpy" or root in (at_top_allowed or ()):
            continue
        elif at_top or root not in OPTIONAL.get(part, set()):
            wrong.append(f"{part} imports {module}{' at its top' if at_top else ''}")
    return wrong


def arithmetic(tree: ast.AST) -> list[str]:
    """Return the places where an adapter calculates: numpy, sums, products and quotients."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Pow, ast.Mult, ast.MatMult)):
            sides = (node.left, node.right)
            text = any(isinstance(s, ast.Constant) and isinstance(s.value, str) for s in sides)
            if not (text and isinstance(node.op, (ast.Mult, ast.Div))):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"sum", "round", "pow"}:
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            if {name.partition(".")[0] for name in names} & {"numpy", "math", "statistics", "scipy"}:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    allowed = AT_TOP.get(path.relative_to(PACKAGE).as_posix())
    assert wrong_imports(part_of(path), ast.parse(path.read_text(encoding="utf-8")), allowed) == []


@pytest.mark.parametrize(
    "path",
    [p for p in sources() if part_of(p) in ADAPTERS and p.relative_to(PACKAGE).as_posix() not in CALCULATE],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_adapters_do_not_calculate(path: Path) -> None:
    assert arithmetic(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("spans", "from mycelium.metrics import iou"),
        ("metrics", "from mycelium import reduce"),
        ("reduce", "import mycelium.metrics.exact"),
        ("scoring", "import pandas"),
        ("formats", "import pyarrow"),
        ("scoring", "def f():\n    import pyarrow"),
        ("report", "from mycelium import evaluate"),
    ],
)
def test_the_import_check_sees_wrong_imports(part: str, code: str) -> None:
    assert wrong_imports(part, ast.parse(code))


@pytest.mark.parametrize("code", ["a / b", "2 * x", "sum(xs)", "import numpy as np", "from statistics import mean"])
def test_the_arithmetic_check_sees_arithmetic(code: str) -> None:
    assert arithmetic(ast.parse(code))


def test_every_part_is_in_the_table() -> None:
    assert {part_of(path) for path in sources()} == set(MAY_IMPORT)


def test_no_file_holds_too_much() -> None:
    long = {
        str(p.relative_to(PACKAGE)): n for p in sources() if (n := len(p.read_text(encoding="utf-8").split("\n"))) > 450
    }
    assert not long


def test_importing_loads_numpy_and_nothing_heavier() -> None:
    code = "import sys, numpy; before = set(sys.modules); import mycelium; print(*sorted(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    foreign = {name.partition(".")[0] for name in out} - set(sys.stdlib_module_names) - {"numpy", "mycelium"}
    assert "mycelium.scoring" in out
    assert foreign == set()
