"""Measure the decoding of an evaluation set: ratios within one run, medians of several.

    python benchmarks/bench_trainer.py                  # 3,000 features of 512 tokens
    python benchmarks/bench_trainer.py --features 300   # fewer
    python benchmarks/bench_trainer.py --check 3        # fail when decoding takes more than 3 passes

The pass that everything is measured in is the softmax over the same logits, as everybody writes it in NumPy::

    e = np.exp(logits - logits.max(axis=-1, keepdims=True)); e / e.sum(axis=-1, keepdims=True)

in single precision, since that is what logits come in. A pass of ``argmax``, which reads the logits and gives up the
probabilities, is printed beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mycelium.formats import TokenWindows, spans_from_token_probabilities
from mycelium.trainer import SpanMetrics

TOKENS, STRIDE, WINDOWS, CLASSES = 512, 128, 3, 2


def seconds(call: Callable[[], Any], runs: int = 9) -> float:
    """Return the median time of a call."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def evaluation_set(features: int) -> dict[str, Any]:
    """Return features in windows of three to an example, with the offsets of words of four letters."""
    examples = np.repeat(np.arange(-(-features // WINDOWS)), WINDOWS)[:features]
    inner = TOKENS - 2
    word = np.arange(inner) + (np.arange(features) % WINDOWS)[:, np.newaxis] * (inner - STRIDE)
    start = np.pad(word * 5, ((0, 0), (1, 1)))
    end = np.pad(word * 5 + 4, ((0, 0), (1, 1)))
    n = int(examples[-1]) + 1
    words = int(word.max()) + 1
    return {"offsets": np.stack([start, end], axis=-1), "examples": examples, "text": ["word " * words] * n}


def logits_for(features: int, kind: str) -> Any:
    """Return logits: of runs of tokens, as a trained model gives them, or pure noise."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(features, TOKENS, CLASSES)).astype(np.float32)
    if kind == "noise":
        return noise
    marked = np.where(rng.random((features, TOKENS // 8)) < 0.1, 2, -2).repeat(8, axis=1)
    return (np.stack([-marked, marked], axis=-1) + 0.3 * noise).astype(np.float32)


def softmax(logits: Any) -> Any:
    """Return the softmax, as everybody writes it."""
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def main() -> int:
    """Print the table, and return 1 when a ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=3_000)
    parser.add_argument("--check", type=float, default=None, metavar="RATIO")
    args = parser.parse_args()
    n = args.features

    made = evaluation_set(n)
    begin = time.perf_counter()
    windows = TokenWindows.read(made["offsets"], made["examples"], text=made["text"])
    read = time.perf_counter() - begin
    features = {"offset_mapping": made["offsets"], "example_id": made["examples"]}
    ids = np.arange(len(made["text"]))
    begin = time.perf_counter()
    metrics = SpanMetrics(
        features=features,
        examples={"id": ids, "text": made["text"], "gold": [[[0, 4]]] * len(ids)},
        spans="gold",
        text="text",
        metrics=["iou", "character"],
    )
    built = time.perf_counter() - begin
    print(f"{n:,} features of {TOKENS} tokens, {len(ids):,} examples, {len(windows.start):,} different tokens")
    print(f"once: offsets read in {read * 1e3:.0f} ms; SpanMetrics built in {built * 1e3:.0f} ms")

    worst = 0.0
    for kind in ("runs", "noise"):
        logits = logits_for(n, kind)
        one_pass = seconds(lambda logits=logits: softmax(logits))
        probabilities = softmax(logits)[..., 1]
        calls: dict[str, Callable[[], Any]] = {
            "argmax": lambda logits=logits: logits.argmax(axis=-1),
            "SpanMetrics.decode(logits)": lambda logits=logits: metrics.decode(logits),
            "spans_from_token_probabilities(p, windows)": lambda p=probabilities: spans_from_token_probabilities(
                p, windows
            ),
            "SpanMetrics, spans and scores": scoring(metrics, logits),
        }
        spans = metrics.decode(logits)
        print(f"\n{kind}: {len(spans.start):,} spans; one pass of softmax {one_pass * 1e3:.1f} ms")
        for name, call in calls.items():
            taken = seconds(call)
            print(f"  {name:<44} {taken * 1e3:6.1f} ms  {taken / one_pass:5.2f} passes")
            if name == "SpanMetrics.decode(logits)":
                worst = max(worst, taken / one_pass)
    if args.check is not None and worst > args.check:
        print(f"decoding took {worst:.2f} passes, more than {args.check}")
        return 1
    return 0


def scoring(metrics: SpanMetrics, logits: Any) -> Callable[[], Any]:
    """Return a call that adds all rows with their ids and scores them."""
    ids = np.arange(len(logits))

    def call() -> Any:
        metrics.add(logits, feature_id=ids)
        return metrics.compute()

    return call


if __name__ == "__main__":
    sys.exit(main())
