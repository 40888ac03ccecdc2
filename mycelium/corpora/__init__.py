"""Annotated corpora, from their published files or from the Hugging Face Hub, through ``datasets``."""

from mycelium.corpora.base import Corpus
from mycelium.corpora.mushroom import load_mushroom
from mycelium.corpora.ragtruth import load_ragtruth

__all__ = ["Corpus", "load_mushroom", "load_ragtruth"]
