"""SpanMetrics in a real Trainer, on a tiny random model, against a plain decode of each feature by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import token_oracle as oracle

import mycelium
from mycelium.trainer import SpanMetrics

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parent.parent


class Setting(NamedTuple):
    rows: list[dict[str, Any]]
    tok: Any
    features: Any
    net: Any
    expected: list[list[list[int]]]

    def metrics(self, **options: Any) -> SpanMetrics:
        tables = {"features": self.features, "examples": self.rows, "spans": "gold", "text": "answer"}
        return SpanMetrics(**{**tables, "metrics": host().METRICS, **options})

    def scores(self, **options: Any) -> dict[str, float]:
        return mycelium.evaluate(
            references=[row["gold"] for row in self.rows],
            predictions=self.expected,
            text=[row["answer"] for row in self.rows],
            metrics=host().METRICS,
            **options,
        ).flat()

    def check(self, metrics: SpanMetrics, scores: dict[str, float], prefix: str = "eval_") -> None:
        assert metrics.predictions is not None
        assert metrics.predictions.tolist() == self.expected
        for key, value in self.scores().items():
            assert scores[prefix + key] == value


def host() -> Any:
    for library in ("torch", "transformers", "accelerate", "datasets", "tokenizers"):
        pytest.importorskip(library)
    import trainer_host

    return trainer_host


def setting(tokenizer: str = "bytes", model: str = "bert", tags: bool = False) -> Setting:
    h = host()
    h.quiet()
    rows, tok = h.examples(), h.tokenizer(tokenizer)
    net = h.model(model, classes=3 if tags else 2)
    features = h.tokenized(rows, tok, tags=tags)
    # Windows counted example by example, since the mapping that maps() returns starts again in each batch.
    of = [i for i, row in enumerate(rows) for _ in range(len(h.tokenized([row], tok)))]
    logits = [array.tolist() for array in h.plain_logits(net, features)]
    values = [[oracle.sum_in_order(oracle.softmax(row)[1:]) for row in part] for part in logits]
    texts = [row["answer"] for row in rows]
    expected = oracle.decode(features["offset_mapping"], values, of, len(rows), text=texts)
    assert len(of) == len(features) > len(rows)
    assert len(set(features["overflow_to_sample_mapping"])) == 3
    assert sum(map(len, expected)) > 10
    return Setting(rows, tok, features, net, expected)


@pytest.fixture(scope="module")
def usual() -> Setting:
    return setting()


@pytest.mark.parametrize("model", ["bert", "modernbert", "qwen2"])
@pytest.mark.parametrize("tokenizer", ["bytes", "bytes with blanks", "wordpiece", "unigram"])
def test_tokenizers_and_models(tokenizer: str, model: str, tmp_path: Path) -> None:
    one = setting(tokenizer, model)
    metrics = one.metrics()
    one.check(metrics, host().trainer(one.net, one.tok, metrics, tmp_path).evaluate())


MODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "batches": {"batch_eval_metrics": True},
    "apart": {"eval_do_concat_batches": False},
    "accumulated": {"eval_accumulation_steps": 1},
    "accumulated apart": {"eval_accumulation_steps": 2, "eval_do_concat_batches": False},
    "grouped": {"train_sampling_strategy": "group_by_length"},
    "grouped in batches": {"train_sampling_strategy": "group_by_length", "batch_eval_metrics": True},
    "labels alone": {"label_names": ["labels"]},
    "with inputs": {"include_for_metrics": ["inputs", "loss"], "batch_eval_metrics": True},
}


@pytest.mark.parametrize("hidden", [False, True], ids=["logits", "hidden states"])
@pytest.mark.parametrize("mode", MODES)
def test_modes(usual: Setting, mode: str, hidden: bool, tmp_path: Path) -> None:
    metrics = usual.metrics(in_order=mode == "labels alone")
    options = dict(MODES[mode])
    if hidden:
        options["preprocess_logits_for_metrics"] = None
    usual.net.config.output_hidden_states = hidden
    try:
        run = host().trainer(usual.net, usual.tok, metrics, tmp_path, **options)
        for _ in range(2):
            usual.check(metrics, run.evaluate())
    finally:
        usual.net.config.output_hidden_states = False
    predicted = run.predict(metrics.eval_dataset)
    assert metrics.decode(predicted).tolist() == usual.expected
    usual.check(metrics, predicted.metrics, prefix="test_")


def test_groups_without_ids_are_refused(usual: Setting, tmp_path: Path) -> None:
    for options in ({}, {"batch_eval_metrics": True}):
        metrics = usual.metrics(in_order=True)
        grouped = {"train_sampling_strategy": "group_by_length", "label_names": ["labels"], **options}
        run = host().trainer(usual.net, usual.tok, metrics, tmp_path, **grouped)
        with pytest.raises(ValueError, match="its labels are not those of the feature"):
            run.evaluate()
    metrics = usual.metrics()
    run = host().trainer(usual.net, usual.tok, metrics, tmp_path, label_names=["labels"])
    with pytest.raises(ValueError, match=r"nothing proves the order of the rows.*label_names=metrics\.label_names"):
        run.evaluate()


def test_a_part_of_the_set_is_refused(usual: Setting, tmp_path: Path) -> None:
    metrics = usual.metrics()
    run = host().trainer(usual.net, usual.tok, metrics, tmp_path)
    with pytest.raises(ValueError, match="1 of 28 features were not evaluated"):
        run.evaluate(metrics.eval_dataset.select(range(1, 28)))


def test_predictions_without_labels(usual: Setting, tmp_path: Path) -> None:
    metrics = usual.metrics()
    run = host().trainer(usual.net, usual.tok, metrics, tmp_path)
    predicted = run.predict(usual.features.remove_columns("labels"))
    assert predicted.label_ids is None
    assert metrics.decode(predicted).tolist() == usual.expected
    assert metrics.decode(predicted.predictions).tolist() == usual.expected


def test_rows_as_a_list(usual: Setting, tmp_path: Path) -> None:
    metrics = usual.metrics(features=list(usual.features))
    assert isinstance(metrics.eval_dataset, list)
    usual.check(metrics, host().trainer(usual.net, usual.tok, metrics, tmp_path).evaluate())


@pytest.mark.parametrize("mode", ["plain", "batches", "apart", "grouped in batches"])
def test_several_sets(usual: Setting, mode: str, tmp_path: Path) -> None:
    h = host()
    parts = {"first": usual.rows[:7], "second": usual.rows[7:]}
    metrics = SpanMetrics(
        features={name: h.tokenized(rows, usual.tok) for name, rows in parts.items()},
        examples=parts,
        spans="gold",
        text="answer",
        metrics="iou",
    )
    scores = h.trainer(usual.net, usual.tok, metrics, tmp_path, **MODES[mode]).evaluate()
    for name, rows, expected in (
        ("first", parts["first"], usual.expected[:7]),
        ("second", parts["second"], usual.expected[7:]),
    ):
        gold = [row["gold"] for row in rows]
        assert scores[f"eval_{name}_iou"] == mycelium.evaluate(references=gold, predictions=expected)["iou"]["score"]
    assert metrics.evaluated == "second"
    assert metrics.predictions is not None
    assert metrics.predictions.tolist() == usual.expected[7:]


def test_tags(tmp_path: Path) -> None:
    one = setting(tags=True)
    metrics = one.metrics(positive=(1, 2))
    one.check(metrics, host().trainer(one.net, one.tok, metrics, tmp_path).evaluate())
    tagged = one.metrics(positive={0: "O", 1: "B", 2: "I"})
    host().trainer(one.net, one.tok, tagged, tmp_path).evaluate()
    assert tagged.predictions is not None
    assert len(tagged.predictions.start) > sum(map(len, one.expected))


def test_padding_at_the_left(tmp_path: Path) -> None:
    one = setting(model="qwen2")
    one.tok.padding_side = "left"
    for mode in ("plain", "batches", "grouped"):
        metrics = one.metrics()
        one.check(metrics, host().trainer(one.net, one.tok, metrics, tmp_path, **MODES[mode]).evaluate())


def test_half_precision(usual: Setting, tmp_path: Path) -> None:
    found = []
    for options in ({}, {"batch_eval_metrics": True}):
        metrics = usual.metrics()
        run = host().trainer(host().model(), usual.tok, metrics, tmp_path, bf16_full_eval=True, **options)
        found.append({key: value for key, value in run.evaluate().items() if key[5:] in usual.scores()})
    assert found[0] == found[1]
    assert len(found[0]) == len(usual.scores())


@pytest.mark.parametrize("batches", [False, True])
def test_the_best_model_is_kept(usual: Setting, batches: bool, tmp_path: Path) -> None:
    metrics = usual.metrics(metrics=["iou", "character"], threshold=0.15)
    run = host().trainer(
        host().model(seed=3),
        usual.tok,
        metrics,
        tmp_path,
        train_dataset=usual.features,
        num_train_epochs=4,
        learning_rate=0.02,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="no",
        load_best_model_at_end=True,
        metric_for_best_model="character_f1",
        batch_eval_metrics=batches,
    )
    run.train()
    state = json.loads((tmp_path / f"checkpoint-{run.state.global_step}" / "trainer_state.json").read_text())
    curve = [entry["eval_character_f1"] for entry in state["log_history"] if "eval_character_f1" in entry]
    assert len(curve) == 4
    assert len(set(curve)) > 1
    assert state["best_metric"] == max(curve)
    assert run.evaluate()["eval_character_f1"] == max(curve)
    keys = [set(entry) for entry in state["log_history"]]
    assert all(one == keys[0] for one in keys)


@pytest.mark.parametrize("program", ["trainer", "loop"])
def test_two_processes(usual: Setting, program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "1",
    }
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "trainer_host.py"), program, str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for rank in (0, 1):
        found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert len(found) >= 1
        for mode, result in found.items():
            assert result["spans"] == usual.expected, (rank, mode)
            assert result["processes"] == 2
            assert result.get("scores", usual.scores()) == usual.scores(), (rank, mode)


def test_a_loop_of_ones_own(usual: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")
    host().evaluate_with_a_loop(tmp_path)
    (found,) = json.loads((tmp_path / "0.json").read_text()).values()
    assert found == {"spans": usual.expected, "scores": usual.scores(), "processes": 1}
    assert np.isfinite(list(found["scores"].values())).all()
