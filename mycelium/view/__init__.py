"""Seeing it: references and predictions in their texts, as one page for the browser or as plain text."""

from mycelium.view.page import Page, review_page
from mycelium.view.terminal import text_view

__all__ = ["Page", "review_page", "text_view"]
