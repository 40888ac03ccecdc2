"""Reading and converting: everything that is not yet a :class:`~mycelium.SpanBatch` becomes one here."""

from mycelium.formats.ingest import as_spans, read_spans
from mycelium.formats.quotes import PlacedQuotes, spans_from_quotes
from mycelium.formats.runs import spans_from_mask, spans_from_probabilities
from mycelium.formats.texts import text_lengths
from mycelium.formats.token_probabilities import spans_from_token_probabilities
from mycelium.formats.token_windows import TokenWindows
from mycelium.formats.tokens import spans_from_tags, spans_from_tokens

__all__ = [
    "PlacedQuotes",
    "TokenWindows",
    "as_spans",
    "read_spans",
    "spans_from_mask",
    "spans_from_probabilities",
    "spans_from_quotes",
    "spans_from_tags",
    "spans_from_token_probabilities",
    "spans_from_tokens",
    "text_lengths",
]
