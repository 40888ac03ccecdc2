"""Loading the evaluate module: by path from any folder, by name after registration, in several processes."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hf_host import ROOT, finish, host, run, start

import mycelium
from mycelium import hf
from mycelium.cli import main

pytest.importorskip("evaluate")

SPACE = ROOT / "hf_metric" / "mycelium.py"
SCORE = 'print(metric.compute(predictions=[[[2, 8]], []], references=[[[0, 10]], []])["iou"])'
#: No test may reach for the network; what tries to is named.
NO_NETWORK = """
import socket
def refuse(*address): raise AssertionError(f"a connection to {address}")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""


@pytest.fixture
def evaluate() -> ModuleType:
    return host()


@pytest.fixture
def cache(evaluate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which evaluate would cache the modules called mycelium."""
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", tmp_path / "modules")
    return tmp_path / "modules" / "evaluate_modules" / "metrics" / "evaluate-metric--mycelium"


# -- the script


def test_the_space_and_the_library_hold_the_same_script() -> None:
    assert SPACE.read_bytes() == Path(hf.path()).read_bytes()


def test_evaluate_reads_one_dependency_from_the_script(evaluate: ModuleType) -> None:
    from evaluate.loading import get_imports

    assert get_imports(hf.path()) == [("library", "mycelium", "mycelium-eval", None)]


def test_the_first_module_in_the_script_is_the_metric(evaluate: ModuleType) -> None:
    from mycelium.hf import mycelium as script

    found = [x for x in vars(script).values() if isinstance(x, type) and issubclass(x, evaluate.EvaluationModule)]
    assert [(x.__module__, x.__name__) for x in found] == [("mycelium.hf.module", "Mycelium")]


def test_loading_without_the_library_names_the_distribution(
    evaluate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mycelium", None)
    with pytest.raises(ImportError, match=r"pip install mycelium-eval\b"):
        evaluate.load(str(SPACE))


def test_a_script_that_outlived_the_library_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = hf.register()
    for name in ("mycelium", "mycelium.hf", "mycelium.hf.module"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as caught:
        runpy.run_path(left, run_name="evaluate_modules.metrics.left")
    assert 'pip install "mycelium-eval[hf]"' in str(caught.value)
    assert f"delete the folder that holds {left}" in str(caught.value)


def test_a_script_found_in_place_of_a_missing_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    with pytest.raises(ImportError, match=r"the library is not installed: pip install"):
        runpy.run_path(str(SPACE), run_name="mycelium")


def test_importing_the_adapter_is_light() -> None:
    code = "import sys, mycelium; old = set(sys.modules); import mycelium.hf; print(*(set(sys.modules) - old))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    foreign = {name.partition(".")[0] for name in out.split()} - set(sys.stdlib_module_names) - {"mycelium"}
    assert foreign == set()


# -- from which folder


def test_by_path_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "mycelium").mkdir()  # of somebody else
    (tmp_path / "mycelium" / "notes.txt").touch()
    load = f"{NO_NETWORK}\nimport evaluate\nmetric = evaluate.load(PATH)\n{SCORE}"
    places = {
        ROOT: '"hf_metric/mycelium.py"',
        ROOT / "hf_metric": '"mycelium.py"',
        tmp_path: "__import__('mycelium.hf', fromlist=['path']).path()",
    }
    # No switch for working offline is needed.
    online = dict.fromkeys(("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_DATASETS_OFFLINE"), "0")
    running = [
        start(load.replace("PATH", path), home=tmp_path / str(i), cwd=folder, **online)
        for i, (folder, path) in enumerate(places.items())
    ]
    assert [finish(process) for process in running] == ["0.8"] * 3


def test_by_name_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "mycelium").mkdir()  # of somebody else
    code = f"""{NO_NETWORK}
import evaluate, os
from mycelium import hf
def load():
    try:
        return evaluate.load("mycelium", metrics=["iou"])
    except FileNotFoundError:
        return None
assert load() is None
assert hf.register() == hf.register()
print(os.path.relpath(hf.register(), os.environ["HF_MODULES_CACHE"]).split(os.sep)[:3])
metric = load()
{SCORE}
print(evaluate.combine([metric, "mycelium"]).compute(predictions=[[[2, 8]]], references=[[[0, 10]]])["mycelium_0_iou"])
print(len(hf.unregister()), hf.unregister(), load())
"""
    out = run(code, home=tmp_path / "home", cwd=tmp_path, HF_MODULES_CACHE=str(tmp_path / "elsewhere"))
    assert out.split("\n") == [
        "['evaluate_modules', 'metrics', 'evaluate-metric--mycelium']",
        "0.8",
        "0.6",
        "1 [] None",
    ]
    assert not (tmp_path / "home" / "modules").exists()


# -- registration


def test_register_once_and_again(cache: Path) -> None:
    path = Path(hf.register())
    assert path.parent.parent == cache
    assert len(path.parent.name) == 64
    assert path.read_bytes() == SPACE.read_bytes()
    before = sorted(cache.rglob("*"))
    assert hf.register() == str(path)
    assert sorted(cache.rglob("*")) == before
    for folder in (path.parent, cache, cache.parent, cache.parent.parent, cache.parent.parent.parent):
        assert (folder / "__init__.py").exists()


def test_register_makes_a_damaged_cache_work(cache: Path) -> None:
    path = Path(hf.register())
    path.write_text("damaged")
    newer = cache / ("0" * 64)
    newer.mkdir()
    (newer / "mycelium.py").write_text("class Other: pass")
    os.utime(newer / "mycelium.py", (2**31, 2**31))
    (cache / ("1" * 64)).mkdir()  # without a script: evaluate would fail on all of them
    os.utime(path, (0, 0))
    assert hf.register() == str(path)
    assert path.read_bytes() == SPACE.read_bytes()
    assert path.stat().st_mtime > 2**30
    assert sorted(p.name for p in cache.iterdir()) == sorted(["0" * 64, path.parent.name, "__init__.py"])


def test_unregister_leaves_others_alone(cache: Path) -> None:
    assert hf.unregister() == []
    path = Path(hf.register())
    old = cache / ("2" * 64)
    old.mkdir()
    (old / "mycelium.py").write_text("# an older version\nfrom mycelium.hf.module import Mycelium\n")
    other = cache / ("3" * 64)
    other.mkdir()
    (other / "mycelium.py").write_text("class Other: pass")
    assert set(hf.unregister()) == {str(path), str(old / "mycelium.py")}
    assert sorted(p.name for p in cache.iterdir()) == ["3" * 64, "__init__.py"]


def test_registering_needs_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evaluate", None)
    with pytest.raises(ImportError, match=r'pip install "mycelium-eval\[hf\]"'):
        hf.register()


def test_the_command(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["register-evaluate"]) == 0
    path = capsys.readouterr().out.strip()
    assert path == hf.register()
    assert main(["register-evaluate", "--remove"]) == 0
    assert capsys.readouterr().out.strip() == path
    assert not Path(path).exists()
    assert main(["register-evaluate", "--remove"]) == 0
    assert capsys.readouterr().out.strip() == "nothing was registered"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_eight_processes_register_at_once(tmp_path: Path) -> None:
    code = """
import evaluate, os, sys, traceback
from pathlib import Path
from mycelium import hf
script = Path(hf.path()).read_bytes()
children = []
for _ in range(8):
    child = os.fork()
    if not child:
        try:
            for _ in range(25):
                path = Path(hf.register())
                assert path.read_bytes() == script
                for folder in path.parent.parent.iterdir():
                    assert len(folder.name) != 64 or (folder / "mycelium.py").exists(), folder
            metric = evaluate.load("mycelium")
            assert metric.compute(predictions=[[[2, 8]]], references=[[[0, 10]]])["iou"] == 0.6
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
assert not any([os.waitpid(child, 0)[1] for child in children])
print(*sorted(p.name for p in Path(hf.register()).parent.parent.iterdir() if len(p.name) != 64))
"""
    assert run(code, home=tmp_path, cwd=tmp_path).split() == ["__init__.py"]


# -- several processes


def test_two_processes_give_the_result_of_one(tmp_path: Path) -> None:
    rows = [([[i, i + 3]], [[i, i + 2 + i % 5]]) for i in range(31)] + [([[4, 4], [1, 2]], [[1, 2]]), ([], [[0, 1]])]
    code = """
import evaluate, json, sys
from mycelium import hf
rank, rows = int(sys.argv[1]), json.loads(sys.argv[2])
mine = {"uneven": rows[20:] if rank else rows[:20], "one empty": [] if rank else rows}
for name, part in mine.items():
    metric = evaluate.load(
        hf.path(), profile="ragtruth", invalid="drop",
        num_process=2, process_id=rank, experiment_id=name, cache_dir=sys.argv[3],
    )
    for i in range(0, max(len(part), 1), 7):
        metric.add_batch(predictions=[p for p, _ in part[i : i + 7]], references=[r for _, r in part[i : i + 7]])
    result = metric.compute(nested=True)
    print(json.dumps(None if result is None else [result, result.invalid]))
"""
    arguments = (json.dumps(rows), str(tmp_path / "shared"))
    processes = [start(code, str(rank), *arguments, home=tmp_path / f"{rank}", cwd=tmp_path) for rank in range(2)]
    first, second = [[json.loads(line) for line in finish(process).split("\n")] for process in processes]
    expected: Any = mycelium.evaluate(
        predictions=[p for p, _ in rows], references=[r for _, r in rows], profile="ragtruth", invalid="drop"
    )
    assert expected.invalid.dropped == 1
    assert first == [[expected, list(expected.invalid)]] * 2
    assert second == [None, None]
    assert not list((tmp_path / "shared").rglob("*.arrow"))
