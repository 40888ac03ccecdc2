"""A baseline detector that any real one should beat: words of the answer that the source does not contain.

No model, no training, no network. A word or number of the answer is *supported* when the source contains it, or a word
that begins alike ("filters", "filter"). What is not supported is marked, with a probability by kind:

=====================================  ===========
number                                 0.9
capitalised inside a sentence (names)  0.8
any other word                         0.6
=====================================  ===========

Words of up to three letters and common English function words are never marked. In scripts written without spaces
every character is a word. Hard labels are the marked words, joined over the white space between them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["SupportSpans", "lexical_support"]

# Han, Hiragana, Katakana: no spaces between words.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"(?P<number>\d+(?:[.,:]\d+)*)|(?P<character>[{_UNSPACED}])|(?P<word>(?:(?![{_UNSPACED}])[^\W\d_])+)"
)
_SENTENCE_END = re.compile(r"[.!?:。！？]\W*$")
_FUNCTION_WORDS = """
    about above after again against also although among another around because been before being below between both
    cannot could does doing down during each either every from have having here into itself just many more most much
    must near neither only other over same shall should since some such than that their them then there these they this
    those through under until upon very were what when where which while will with within without would your yours
"""
_UNMARKED = frozenset(_FUNCTION_WORDS.split())
_NUMBER, _NAME, _OTHER = 0.9, 0.8, 0.6
_SHORT, _STEM = 3, 4


class SupportSpans(NamedTuple):
    """What the detector marks in one answer, both kinds of labels of Mu-SHROOM's schema.

    Attributes
    ----------
    hard_labels : list of [start, end]
        Half-open, in characters.
    soft_labels : list of dict
        ``start``, ``end`` and ``prob``, one for each marked word.
    """

    hard_labels: list[list[int]]
    soft_labels: list[dict[str, float]]


def lexical_support(source: str, answer: str) -> SupportSpans:
    """Mark the words of an answer that its source does not support.

    Parameters
    ----------
    source : str
        What the answer should be based on.
    answer : str
        The text to mark; offsets count its characters.

    Returns
    -------
    SupportSpans

    Examples
    --------
    >>> from mycelium.baseline import lexical_support
    >>> found = lexical_support("The bridge opened in 1932.", "The bridge by Mara Lind opened in 1938.")
    >>> found.hard_labels
    [[14, 23], [34, 38]]
    >>> found.soft_labels[0]
    {'start': 14, 'end': 18, 'prob': 0.8}
    """
    words = {match[0].casefold() for match in _WORD.finditer(source)}
    stems = {word[:_STEM] for word in words if len(word) > _SHORT}
    soft: list[dict[str, float]] = []
    for match in _WORD.finditer(answer):
        folded = match[0].casefold()
        if folded in words:
            continue
        if match["number"]:
            prob = _NUMBER
        elif match["word"] and (len(folded) <= _SHORT or folded in _UNMARKED or folded[:_STEM] in stems):
            continue
        else:
            begins = not match.start() or _SENTENCE_END.search(answer, 0, match.start())
            prob = _NAME if match[0][0].isupper() and not begins else _OTHER
        soft.append({"start": match.start(), "end": match.end(), "prob": prob})
    hard: list[list[int]] = []
    for span in soft:
        start, end = int(span["start"]), int(span["end"])
        if hard and not answer[hard[-1][1] : start].strip():
            hard[-1][1] = end
        else:
            hard.append([start, end])
    return SupportSpans(hard, soft)
