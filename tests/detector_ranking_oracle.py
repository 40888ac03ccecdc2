"""The fixture of scored answers, and AUC and its variances by definition, in fractions."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "detector"


class Fixture:
    """Sixty answers of two detectors, by column."""

    def __init__(self) -> None:
        with (DATA / "detector_fixture.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.y = [int(row["unsupported"]) for row in rows]
        self.a = [float(row["score_a"]) for row in rows]
        self.b = [float(row["score_b"]) for row in rows]
        self.source = [row["source_id"] for row in rows]
        self.split = [row["split"] for row in rows]
        self.mechanism = [row["mechanism"] for row in rows]
        self.counterfactual = [float(row["score_a_counterfactual"]) for row in rows]


FIXTURE = Fixture()
EXPECTED: dict[str, Any] = json.loads((DATA / "detector_expected.json").read_text(encoding="utf-8"))


def placements(y: list[int], s: list[float]) -> tuple[Fraction, dict[int, Fraction]]:
    """Return AUC, and the placement of each answer, by comparing all pairs."""
    high = [i for i, label in enumerate(y) if label]
    low = [i for i, label in enumerate(y) if not label]

    def wins(i: int, j: int) -> Fraction:
        return Fraction(1) if s[i] > s[j] else Fraction(1, 2) if s[i] == s[j] else Fraction(0)

    out = {i: sum((wins(i, j) for j in low), Fraction(0)) / len(low) for i in high}
    out |= {j: sum((wins(i, j) for i in high), Fraction(0)) / len(high) for j in low}
    return sum((out[i] for i in high), Fraction(0)) / len(high), out


def auc_covariance(y: list[int], s: list[float], t: list[float], groups: list[Any]) -> Fraction:
    """Return the clustered covariance of two AUCs: Obuchowski 1997, equations for S10, S01 and S11."""
    m, n = sum(y), len(y) - sum(y)
    (auc_s, v), (auc_t, w) = placements(y, s), placements(y, t)
    keys = sorted(set(groups))
    of = {key: [i for i, group in enumerate(groups) if group == key] for key in keys}

    def total(values: dict[int, Fraction], auc: Fraction, key: Any, label: int) -> Fraction:
        return sum((values[i] - auc for i in of[key] if y[i] == label), Fraction(0))

    i10 = sum(any(y[i] for i in of[key]) for key in keys)
    i01 = sum(any(not y[i] for i in of[key]) for key in keys)
    s10 = Fraction(i10, (i10 - 1) * m) * sum(total(v, auc_s, k, 1) * total(w, auc_t, k, 1) for k in keys)
    s01 = Fraction(i01, (i01 - 1) * n) * sum(total(v, auc_s, k, 0) * total(w, auc_t, k, 0) for k in keys)
    s11 = Fraction(len(keys), len(keys) - 1) * sum(total(v, auc_s, k, 1) * total(w, auc_t, k, 0) for k in keys)
    s11_other = Fraction(len(keys), len(keys) - 1) * sum(total(w, auc_t, k, 1) * total(v, auc_s, k, 0) for k in keys)
    return s10 / m + s01 / n + (s11 + s11_other) / (m * n)


def average_precision(y: list[int], s: list[float], w: list[Fraction] | None = None) -> Fraction:
    """Return average precision by walking down the distinct scores."""
    w = [Fraction(1)] * len(y) if w is None else w
    positives = sum((w[i] for i, label in enumerate(y) if label), Fraction(0))
    out, before = Fraction(0), Fraction(0)
    for threshold in sorted(set(s), reverse=True):
        flagged = sum((w[i] for i, score in enumerate(s) if score >= threshold), Fraction(0))
        hits = sum((w[i] for i, score in enumerate(s) if score >= threshold and y[i]), Fraction(0))
        out += (hits - before) / positives * (hits / flagged if flagged else 0)
        before = hits
    return out


def same_12_digits(value: float | None, expected: float) -> bool:
    """Whether a value rounds to the twelve digits of an expected one."""
    if value is None or not expected:
        return value == expected
    return abs(value - expected) <= 0.501 * 10.0 ** (math.floor(math.log10(abs(expected))) - 11)
