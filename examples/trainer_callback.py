"""Train a tiny token classifier and watch two span metrics, on rows it is trained on and on others.

    python examples/trainer_callback.py            # Mu-SHROOM below MYCELIUM_DATA, or else the shipped samples
    python examples/trainer_callback.py --hub      # English Mu-SHROOM from the Hugging Face Hub

Needs ``pip install "mycelium-eval[trainer]"``. Tokenizer and model are made on the spot and learn for seconds: look at
the wiring, not at the detector. With matplotlib, the curve goes into trainer_curve.png too.
"""

import os
import sys
import tempfile
from importlib.util import find_spec

import transformers as t
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from mycelium.corpora import load_mushroom
from mycelium.samples import FOLDER
from mycelium.trainer import SpanMetrics

data = os.environ.get("MYCELIUM_DATA")
place = "Helsinki-NLP/mu-shroom" if "--hub" in sys.argv else f"{data}/mu_shroom" if data else None
corpus = load_mushroom(place, "en", "validation") if place else load_mushroom(FOLDER / "mu_shroom.jsonl")
parts = {"seen": corpus[:24][0::2], "unseen": corpus[:24][1::2]}

bpe = Tokenizer(models.BPE())
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
options = {"vocab_size": 500, "special_tokens": ["<pad>"], "show_progress": False}
bpe.train_from_iterator(corpus.texts, trainers.BpeTrainer(**options))
tokenizer = t.PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>")


def tokenize(part):
    """Cut the answers into windows. Labels are for the loss alone: the metrics read the annotated characters."""
    options = {"return_overflowing_tokens": True, "truncation": True, "max_length": 64, "stride": 16}
    rows = tokenizer(list(part.texts), return_offsets_mapping=True, **options).data
    spans = part.references.tolist()
    pairs = zip(rows["offset_mapping"], rows["overflow_to_sample_mapping"], strict=True)
    rows["labels"] = [[int(any(a < q and p < b for p, q in spans[i])) for a, b in offsets] for offsets, i in pairs]
    return Dataset.from_dict(rows)


features = {name: tokenize(part) for name, part in parts.items()}
spans = {name: part.references for name, part in parts.items()}
texts = {name: part.texts for name, part in parts.items()}
metrics = SpanMetrics(features=features, examples=None, spans=spans, text=texts, metrics=["iou", "span_coverage"])
size = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
options = {"num_train_epochs": 15, "learning_rate": 3e-3, "eval_strategy": "epoch", "save_strategy": "no"}
options |= {"report_to": [], "disable_tqdm": True, "use_cpu": True}
t.set_seed(0)
with tempfile.TemporaryDirectory() as folder:
    trainer = t.Trainer(
        t.BertForTokenClassification(t.BertConfig(vocab_size=500, max_position_embeddings=64, **size)),
        t.TrainingArguments(folder, label_names=metrics.label_names, **options),
        t.DataCollatorForTokenClassification(tokenizer),
        train_dataset=features["seen"],
        eval_dataset=metrics.eval_dataset,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
    )
    trainer.remove_callback(t.PrinterCallback)
    trainer.train()

names, log = [f"{part}_{key}" for part in parts for key in ("iou", "span_coverage_f1")], trainer.state.log_history
curves = {name: [entry[f"eval_{name}"] for entry in log if f"eval_{name}" in entry] for name in names}
print("epoch", *names, sep="  ")
for epoch, row in enumerate(zip(*curves.values(), strict=True), 1):
    print(f"{epoch:5}", *(f"{value:{len(name)}.4f}" for name, value in zip(names, row, strict=True)), sep="  ")
if find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    for name, curve in curves.items():
        color, style = "C1" if "coverage" in name else "C0", "--" if "unseen" in name else "-"
        plt.plot(range(1, len(curve) + 1), curve, color + style, label=name.replace("_", " "))
    plt.gca().set(xlabel="epoch", ylabel="score", ylim=(0, 1), xticks=range(0, 16, 5))
    plt.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    plt.savefig("trainer_curve.png", dpi=150)
