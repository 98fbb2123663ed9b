"""axe-core's rules (WCAG 2 and best practice) on a page that is open, in each mode in which it is read."""

from __future__ import annotations

from typing import Any

import pytest

MODES = [
    ("light", 1280, "screen", True),
    ("dark", 1280, "screen", False),
    ("light", 390, "screen", True),
    ("dark", 390, "screen", False),
    ("light", 1920, "screen", None),
    ("light", 794, "print", True),
]
"""Colour scheme, width, medium: changed in place, for loading and drawing a page take longest. And the rules: all;
False: those on colours, as a scheme changes nothing else; None: none but that all fits, as a wider page shows what a
narrow one does."""
_SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_BROKEN = """async (rules) => {
  const { violations } = await axe.run({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}, ${help}: ${html.slice(0, 200)}`));
}"""
_ON_COLOURS = ["color-contrast", "link-in-text-block"]


def broken_rules(page: Any, what: str) -> list[str]:
    """Rules that the page breaks in any mode, and where it is wider than the screen; it is left wide and light."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.evaluate(axe.Axe().axe_script)
    found = []
    for scheme, width, medium, with_all in MODES:
        page.emulate_media(color_scheme=scheme, media=medium)
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(_SETTLED)
        mode = f"{what}, {scheme}, {width} px, {medium}"
        if with_all is not None:
            found += [f"{mode}: {one}" for one in page.evaluate(_BROKEN, None if with_all else _ON_COLOURS)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{mode}: {wide} px wide"] if wide > width else []
    page.emulate_media(color_scheme="light", media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    return found
