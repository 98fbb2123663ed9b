"""Every kind of page against axe-core's rules (WCAG 2 and best practice), in both colour schemes, wide and narrow."""

from __future__ import annotations

import pytest

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

VERSIONS = [f"versions/com.example.notes@1.{number}.0.html" for number in range(3)]
RUNS = [*(f"runs/notes-00{number}.html" for number in ("00", "14", "16", "20")), "runs/quarantined-5f3a.html"]
STILL = ["benchmarks.html", "energy.html", *VERSIONS]
DRAWN = ["index.html", "omega.html", *RUNS]
"""By their own scripts, which say when they are done."""
MODES = {
    "light, wide": ("light", 1280, None),
    "dark, phone": ("dark", 390, None),
    "dark, very wide": ("dark", 1920, None),
    "on paper": ("light", 794, "print"),
}
FEW = ("index.html", "omega.html", "runs/notes-0016.html", VERSIONS[2])
"""In the two modes that differ least."""

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("mode", MODES)
def test_no_rule_is_broken(browser, sample_site, mode):
    scheme, width, media = MODES[mode]
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.emulate_media(media=media)
    broken = []
    families = [str(one.relative_to(sample_site[1])) for one in (sample_site[1] / "benchmarks").glob("*.html")]
    assert families
    for name in FEW if width == 1920 or media else (*STILL, *families, *DRAWN):
        page.goto((sample_site[1] / name).as_uri())
        if name in DRAWN:
            page.wait_for_selector("body[data-ready=yes]", timeout=120_000)
        broken += [
            f"{name}: {rule['id']}, {rule['help']}: {node['html'][:200]}"
            for rule in axe.Axe().run(page).response["violations"]
            for node in rule["nodes"]
        ]
        wide = page.evaluate("document.documentElement.scrollWidth")
        broken += [f"{name}: {wide} px wide on a screen of {width}"] if wide > width else []
    context.close()
    assert not broken, "\n".join(broken)
