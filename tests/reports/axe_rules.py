"""axe-core's rules (WCAG 2 and best practice) on a page that is open, in each mode in which it is read."""

from __future__ import annotations

from typing import Any

import pytest

ALL: dict[str, Any] = {}
ON_COLOURS: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"]}
MODES = [
    ("light", 1280, "screen", ALL),
    ("dark", 1280, "screen", ON_COLOURS),
    ("light", 390, "screen", ALL),
    ("dark", 390, "screen", ON_COLOURS),
    ("light", 1920, "screen", ON_COLOURS),
    ("light", 794, "print", ALL),
]
"""Colour scheme, width, medium: changed in place, for loading and drawing a page take longest. And the rules: a scheme
changes nothing but colours, and a page that is wider than wide shows what it showed before."""
_SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_BROKEN = """async (rules) => {
  const { violations } = await axe.run({ resultTypes: ["violations"], ...rules });
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}, ${help}: ${html.slice(0, 200)}`));
}"""


def broken_rules(page: Any, what: str) -> list[str]:
    """Rules that the page breaks in any mode, and where it is wider than the screen; it is left wide and light."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.evaluate(axe.Axe().axe_script)
    found = []
    for scheme, width, medium, rules in MODES:
        page.emulate_media(color_scheme=scheme, media=medium)
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(_SETTLED)
        mode = f"{what}, {scheme}, {width} px, {medium}"
        found += [f"{mode}: {one}" for one in page.evaluate(_BROKEN, rules)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{mode}: {wide} px wide"] if wide > width else []
    page.emulate_media(color_scheme="light", media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    return found
