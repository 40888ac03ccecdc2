"""A tiny token classifier, its tokenizer and its data, and a program that evaluates them in one process or several."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mycelium.samples import read
from mycelium.trainer import SpanMetrics

METRICS = ["iou", "exact_span", "character"]


def examples() -> list[dict[str, Any]]:
    """Return the samples, and answers that are hard to tokenize."""
    rows = [
        {
            "id": row["id"],
            "question": row["model_input"][:20],
            "answer": row["model_output_text"],
            "gold": row["hard_labels"],
        }
        for row in read("mu_shroom.jsonl")
    ]
    hard = [
        "",
        " ",
        "🙂🙂 x",
        "  leading, and\ntrailing  \n",
        "東京は1943年に ",
        "e\u0301te\u0301 \u200bnoir",
        "word " * 40,
    ]
    for i, answer in enumerate(hard):
        gold = [[len(answer) // 3, len(answer) // 3 + 2]] if len(answer) > 4 else []
        rows.append({"id": f"hard-{i}", "question": "Why?", "answer": answer, "gold": gold})
    return rows


def tokenizer(kind: str = "bytes") -> Any:
    """Return a tokenizer trained on the spot: byte-level BPE with or without the blank in its offsets, or others."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>", "<unk>"]
    corpus = [text for row in examples() for text in (row["question"], row["answer"]) if "word word" not in text]
    options: dict[str, Any] = {"special_tokens": special, "show_progress": False}
    if kind in ("bytes", "bytes with blanks"):
        core = Tokenizer(models.BPE(unk_token="<unk>"))
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = decoders.ByteLevel()
        core.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=400, **options))
        core.post_processor = processors.RobertaProcessing(
            ("</s>", 2), ("<s>", 1), trim_offsets=kind == "bytes", add_prefix_space=False
        )
    else:
        if kind == "wordpiece":
            core = Tokenizer(models.WordPiece(unk_token="<unk>"))
            core.normalizer = normalizers.BertNormalizer(lowercase=True)
            core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            core.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=300, **options))
        else:
            core = Tokenizer(models.Unigram())
            core.pre_tokenizer = pre_tokenizers.Metaspace()
            core.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=200, unk_token="<unk>", **options))
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def tokenized(rows: list[dict[str, Any]], tok: Any, *, tags: bool = False, batch_size: int = 3) -> Any:
    """Return the features: windows of 40 tokens over question and answer, which overlap by 8."""
    import datasets

    def prepare(batch: dict[str, list[Any]]) -> Any:
        encoded = tok(
            batch["question"],
            batch["answer"],
            max_length=40,
            stride=8,
            truncation="only_second",
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        encoded["labels"] = []
        for i, example in enumerate(encoded["overflow_to_sample_mapping"]):
            parts = encoded.sequence_ids(i)
            offsets = [o if part == 1 else None for o, part in zip(encoded["offset_mapping"][i], parts, strict=True)]
            encoded["offset_mapping"][i] = offsets
            labels, inside = [], False
            for o in offsets:
                if o is None:
                    labels.append(-100)
                    continue
                hit = any(o[0] < end and start < o[1] for start, end in batch["gold"][example])
                labels.append((2 if inside else 1) if hit and tags else int(hit))
                inside = hit
            encoded["labels"].append(labels)
        return encoded

    table = datasets.Dataset.from_list(rows)
    return table.map(prepare, batched=True, batch_size=batch_size, remove_columns=table.column_names)


def model(kind: str = "bert", classes: int = 2, seed: int = 1) -> Any:
    """Return a tiny random model whose logits vary."""
    import torch
    import transformers as t

    torch.manual_seed(seed)
    size = {"vocab_size": 420, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    size |= {"intermediate_size": 16, "num_labels": classes, "initializer_range": 0.5, "pad_token_id": 0}
    if kind == "bert":
        return t.BertForTokenClassification(t.BertConfig(**size, max_position_embeddings=80)).eval()
    if kind == "modernbert":
        return t.ModernBertForTokenClassification(
            t.ModernBertConfig(**size, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
        ).eval()
    return t.Qwen2ForTokenClassification(t.Qwen2Config(**size, num_key_value_heads=1)).eval()


def plain_logits(net: Any, features: Any) -> Iterator[Any]:
    """Yield the logits of each feature alone, without any padding."""
    import torch

    for ids in features["input_ids"]:
        with torch.no_grad():
            yield net(input_ids=torch.tensor([list(ids)])).logits[0].double().numpy()


def trainer(net: Any, tok: Any, metrics: SpanMetrics, folder: Path, *, eval_dataset: Any = None, **options: Any) -> Any:
    """Return a Trainer with the metrics in all its places."""
    import transformers as t

    args = {"label_names": metrics.label_names, "per_device_eval_batch_size": 3, "per_device_train_batch_size": 8}
    args |= {"use_cpu": True, "report_to": [], "disable_tqdm": True, "save_strategy": "no", "seed": 1}
    places: dict[str, Any] = {"preprocess_logits_for_metrics": metrics.preprocess_logits_for_metrics}
    places |= {
        name: options.pop(name) for name in ("train_dataset", "preprocess_logits_for_metrics") if name in options
    }
    return t.Trainer(
        model=net,
        args=t.TrainingArguments(output_dir=str(folder), **{**args, **options}),
        data_collator=t.DataCollatorForTokenClassification(tok),
        eval_dataset=metrics.eval_dataset if eval_dataset is None else eval_dataset,
        processing_class=tok,
        compute_metrics=metrics,
        **places,
    )


def quiet() -> None:
    """Keep the libraries from drawing progress bars."""
    import datasets
    import transformers

    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


def usual_metrics() -> tuple[Any, SpanMetrics]:
    """Return the tokenizer and the metrics of the samples."""
    rows, tok = examples(), tokenizer()
    features = tokenized(rows, tok)
    return tok, SpanMetrics(features=features, examples=rows, spans="gold", text="answer", metrics=METRICS)


def evaluate_with_the_trainer(folder: Path) -> None:
    """Evaluate in each of several modes, and write what this process found."""
    tok, metrics = usual_metrics()
    modes: dict[str, dict[str, Any]] = {
        "plain": {},
        "batches": {"batch_eval_metrics": True},
        "apart": {"eval_do_concat_batches": False},
        "grouped": {"train_sampling_strategy": "group_by_length"},
        "grouped in batches": {"train_sampling_strategy": "group_by_length", "batch_eval_metrics": True},
        "accumulated": {"eval_accumulation_steps": 1},
    }
    found = {}
    for mode, options in modes.items():
        run = trainer(model(), tok, metrics, folder, ddp_backend="gloo", **options)
        scores = run.evaluate()
        assert metrics.predictions is not None
        assert metrics.report is not None
        found[mode] = {
            "scores": {key: scores[f"eval_{key}"] for key in metrics.report.flat()},
            "spans": metrics.predictions.tolist(),
            "processes": run.args.world_size,
        }
    predicted = run.predict(metrics.eval_dataset)
    found["predict"] = {"spans": metrics.decode(predicted).tolist(), "processes": run.args.world_size}
    (folder / f"{run.args.process_index}.json").write_text(json.dumps(found), encoding="utf-8")


def evaluate_with_a_loop(folder: Path) -> None:
    """Do as docs/trainer.md does without a Trainer, and write what this process found."""
    from transformers import DataCollatorForTokenClassification

    text = (Path(__file__).parent.parent / "docs" / "trainer.md").read_text(encoding="utf-8")
    (code,) = (
        code
        for code in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        if "gather_for_metrics" in code
    )
    tok, metrics = usual_metrics()
    names: dict[str, Any] = {"metrics": metrics, "tokenizer": tok, "model": model()}
    names["DataCollatorForTokenClassification"] = DataCollatorForTokenClassification
    exec(compile(code, "docs/trainer.md", "exec"), names)
    accelerator = names["accelerator"]
    assert metrics.predictions is not None
    found = {"scores": names["scores"], "spans": metrics.predictions.tolist(), "processes": accelerator.num_processes}
    (folder / f"{accelerator.process_index}.json").write_text(json.dumps({"loop": found}), encoding="utf-8")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    quiet()
    {"trainer": evaluate_with_the_trainer, "loop": evaluate_with_a_loop}[sys.argv[1]](Path(sys.argv[2]))
