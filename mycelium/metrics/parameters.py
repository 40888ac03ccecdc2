"""What a metric depends on: numbers with a range, and choices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import numpy as np

__all__ = ["Parameter", "Setting", "parse", "show"]

#: The value of a parameter.
Setting = float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number, or a choice, that a metric depends on.

    Attributes
    ----------
    name : str
        Its name in ``Metric.at``.
    default : float, int or str
        The published value.
    minimum, maximum : float
        The range, both ends included.
    integer : bool
        Whether only whole numbers are accepted.
    choices : tuple of str
        The words to choose from; empty for numbers.
    summary : str
        One line for people.
    """

    name: str
    default: Setting
    minimum: float = 0.0
    maximum: float = float("inf")
    integer: bool = False
    summary: str = ""
    choices: tuple[str, ...] = ()

    def check(self, value: object, metric: str) -> Setting:
        """Return the value as a plain number or word, or raise an error that says what was expected."""
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise ValueError(f"{metric}: {self.name} must be one of {', '.join(self.choices)}, got {value!r}")
            return value
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole and (self.integer or not isinstance(value, (float, np.floating))):
            wanted = "an integer" if self.integer else "a number"
            raise TypeError(f"{metric}: {self.name} must be {wanted}, got {value!r} ({type(value).__name__})")
        number: float = int(cast(int, value)) if self.integer else float(cast(float, value))
        if not self.minimum <= number <= self.maximum or number == float("inf"):
            bound = f"at least {self.minimum:g}" if self.maximum == float("inf") else "between "
            bound += "" if self.maximum == float("inf") else f"{self.minimum:g} and {self.maximum:g}"
            raise ValueError(f"{metric}: {self.name} must be {bound}, got {value!r}")
        return number


def show(value: Setting) -> str:
    """Return a value as keys and signatures show it."""
    return value if isinstance(value, str) else f"{value:d}" if isinstance(value, int) else f"{value!r}"


def parse(text: str) -> Setting:
    """Read a value as :func:`show` writes it.

    Raises
    ------
    ValueError
        When it is neither a number nor a word.
    """
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if re.fullmatch(r"[A-Za-z_]\w*", text) and text.lower() not in ("nan", "inf", "infinity"):
        return text
    return float(text)
