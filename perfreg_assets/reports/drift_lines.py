"""What changes a little with every version, on the page of the latest one.

With each new version these lines move from the page before to its own. Of the page that they leave nothing else is
different, so they are taken out of its text: to load all that it shows would cost as much as another run.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perfreg_assets.reports.templating import render

_START, _END = "<!-- drifts -->", "<!-- end of drifts -->"
"""What the pages' texts hold around the lines; names and sentences are escaped, so nothing else can."""


def draw_drifts(lines: Sequence[str]) -> Markup:
    """The part of a version's page with these sentences; without any, only its place."""
    text = render("drift_lines.html.j2", {"lines": lines})
    return Markup(f"{_START}{text}{_END}")  # escaped by the template


def with_drifts(page: str, lines: Sequence[str]) -> str | None:
    """The text of a page with these lines instead of its own; None where it has no place for them."""
    before, start, rest = page.partition(_START)
    _, end, after = rest.partition(_END)
    return f"{before}{draw_drifts(lines)}{after}" if start and end else None
