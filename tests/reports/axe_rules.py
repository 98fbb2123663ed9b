"""axe-core's rules (WCAG 2 and best practice) on a page that is open, in each mode in which it is read."""

from __future__ import annotations

from typing import Any

import pytest

MODES = [
    *((scheme, width, "screen") for width in (1280, 1920, 390) for scheme in ("light", "dark")),
    ("light", 794, "print"),
]
"""Colour scheme, width, medium: changed in place, for loading and drawing a page take longest."""
_SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_BROKEN = """async () => {
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}, ${help}: ${html.slice(0, 200)}`));
}"""


def broken_rules(page: Any, what: str) -> list[str]:
    """Rules that the page breaks in any mode, and where it is wider than the screen; it is left wide and light."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.evaluate(axe.Axe().axe_script)
    found = []
    for scheme, width, medium in MODES:
        page.emulate_media(color_scheme=scheme, media=medium)
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(_SETTLED)
        mode = f"{what}, {scheme}, {width} px, {medium}"
        found += [f"{mode}: {one}" for one in page.evaluate(_BROKEN)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{mode}: {wide} px wide"] if wide > width else []
    page.emulate_media(color_scheme="light", media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    return found
