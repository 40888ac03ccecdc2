"""The Space's page: one text, its annotated and predicted spans, and their scores.

It only shows; scoring is the library's.
"""

import json
import os
import sys
from itertools import pairwise

# This folder holds a script named like the library, which would be imported in its place.
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]

from mycelium import as_spans, evaluate  # noqa: E402

COLUMNS = ["metric", "precision", "recall", "F1", "score"]
EXAMPLES = [
    [
        "The bridge was opened in 1932 by the mayor, a year after the railway. It is 502 metres long.",
        "[[25, 29], [33, 42], [76, 79]]",
        "[[25, 29], [37, 68], [76, 86]]",
    ],
    [
        "Rabbits sleep for eight hours 🐇 and eat meat on Sundays.",
        '[[36, 44, "conflict"], [45, 55, "baseless"]]',
        '[{"start": 36, "end": 55, "label": "conflict"}]',
    ],
    ["Water boils at 100 degrees Celsius at sea level.", "[]", "[]"],
]


def show(text, references, predictions):
    """Return what the page shows: the text compared, annotated and predicted, the table of scores, the signature.

    The spans come as JSON, in any form the library reads. A ValueError or TypeError says what is wrong with them.
    """
    spans = {"references": _parse(references, "references"), "predictions": _parse(predictions, "predictions")}
    batches = {name: as_spans(rows, text=[text], name=name) for name, rows in spans.items()}
    report = evaluate(**spans, text=[text])
    annotated, predicted = batches["references"], batches["predictions"]
    table = [
        [metric, *(_digits(values.get(output)) for output in ("precision", "recall", "f1", "score"))]
        for metric, values in report.items()
        if metric != "meta"
    ]
    return (
        pieces(text, {"annotated": annotated.tolist()[0], "predicted": predicted.tolist()[0]}),
        pieces(text, _by_label(annotated, "annotated")),
        pieces(text, _by_label(predicted, "predicted")),
        table,
        report.signature,
    )


def pieces(text, marks):
    """Cut the text wherever a span begins or ends; each piece comes with the names of the spans over it, or None."""
    edges = {edge for spans in marks.values() for span in spans for edge in span}
    cuts = sorted({0, len(text)} | edges)
    out = []
    for begin, end in pairwise(cuts):
        names = [name for name, spans in marks.items() if any(s <= begin and end <= e for s, e in spans)]
        out.append((text[begin:end], " + ".join(names) or None))
    return out


def _parse(source, name):
    try:
        return [json.loads(source)]
    except ValueError as error:
        raise ValueError(f"{name}: no JSON ({error}); expected e.g. [[0, 4], [6, 9]]") from None


def _by_label(batch, default):
    labels = [None] * len(batch.start) if batch.label is None else batch.label.tolist()
    marks = {}
    for label, start, end in zip(labels, batch.start.tolist(), batch.end.tolist(), strict=True):
        marks.setdefault(label or default, []).append((start, end))
    return marks


def _digits(value):
    return "" if value is None else f"{value:.4f}"


def build():
    """Return the page."""
    import gradio as gr

    def run(*inputs):
        try:
            return show(*inputs)
        except (TypeError, ValueError) as error:
            raise gr.Error(str(error)) from None

    colours = {"annotated": "#f59e0b", "predicted": "#3b82f6", "annotated + predicted": "#16a34a"}
    with gr.Blocks(title="mycelium") as page:
        gr.Markdown(
            "# mycelium\nScores the characters that a detector takes for hallucinated against those that annotators"
            " marked. Spans are half-open, `[start, end)`, and count characters; each may have a type."
        )
        with gr.Row():
            with gr.Column():
                text = gr.Textbox(label="Text", lines=4)
                references = gr.Textbox(label="Annotated spans (JSON)", lines=2)
                predictions = gr.Textbox(label="Predicted spans (JSON)", lines=2)
                button = gr.Button("Score", variant="primary")
            with gr.Column():
                compared = gr.HighlightedText(label="Compared", color_map=colours, show_legend=True)
                annotated = gr.HighlightedText(label="Annotated", color_map=colours)
                predicted = gr.HighlightedText(label="Predicted", color_map=colours)
        table = gr.Dataframe(label="Scores", headers=COLUMNS, interactive=False)
        signature = gr.Textbox(label="Signature, to be quoted with the numbers", interactive=False)
        inputs, outputs = [text, references, predictions], [compared, annotated, predicted, table, signature]
        gr.Examples(EXAMPLES, inputs=inputs)
        button.click(run, inputs=inputs, outputs=outputs)
        page.load(lambda: (*EXAMPLES[0], *show(*EXAMPLES[0])), outputs=[*inputs, *outputs])
    return page


if __name__ == "__main__":
    build().launch()
