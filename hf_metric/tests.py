"""Cases for the page of the Space and for continuous integration."""

test_cases = [
    {
        "predictions": [[[0, 4], [6, 9]]],
        "references": [[[0, 4], [6, 9]]],
        "result": {"exact_span_f1": 1.0, "iou": 1.0, "character_f1": 1.0, "span_coverage_f1": 1.0},
    },
    {
        "predictions": [[[2, 8]], []],
        "references": [[[0, 10]], []],
        "result": {"exact_span_f1": 0.5, "iou": 0.8, "character_f1": 0.375, "span_coverage_f1": 1.0},
    },
    {
        "predictions": [[[0, 9]]],
        "references": [[[0, 4], [5, 9]]],
        "result": {"exact_span_f1": 0.0, "iou": 8 / 9, "character_f1": 16 / 17, "span_coverage_f1": 0.0},
    },
    {
        "predictions": [[], [[2, 3]]],
        "references": [[[0, 4]], []],
        "result": {"exact_span_f1": 0.0, "iou": 0.0, "character_f1": 0.0, "span_coverage_f1": 0.0},
    },
]
